// SPDX-License-Identifier: MIT
/*
 * victims.h - pages on their way out of memory, for the pageout daemon and madvise(MADV_PAGEOUT).  See
 * victims.c.
 */
#ifndef PAGES_VICTIMS_H
#define PAGES_VICTIMS_H

#include "pages/mapping.h"
#include "pages/scan.h"
#include "pages/swap.h"

#define VICTIMS SWAP_CLUSTER

/* Pages that are unmapped and busy and wait for the TLB flush.  Each has a reference. */
struct victims {
    unsigned nfile, nanon;
    /* anon[] has room for one more cluster */
    struct page *file[VICTIMS], *anon[VICTIMS + SWAP_CLUSTER];
    struct page_owner owner[VICTIMS + SWAP_CLUSTER]; /* owner[i]: owner of anon[i] */
    struct tlb_batch tlb;
};

static inline void victims_init(struct victims *v)
{
    v->nfile = v->nanon = 0;
    tlb_batch_init(&v->tlb);
}

/*
 * victims_full - whether victims_finish() must be called now.  If not, there is room for one more cluster
 * of anonymous pages.
 */
static inline bool victims_full(const struct victims *v)
{
    return v->nfile >= VICTIMS || v->nanon >= VICTIMS;
}

/*
 * victims_take_file - take a page of a file that is clean and not busy.  The caller has locked the page's
 * object; the function unlocks it.
 */
void victims_take_file(struct victims *v, const struct scan_page *sp);
/*
 * victims_take_anon - take an anonymous page that is not busy.  The caller has locked the page's owner.  false:
 * the page's object is being freed.
 */
bool victims_take_anon(struct victims *v, const struct scan_page *sp);
/*
 * victims_finish - flush TLBs, free clean pages, start writing the rest.  Returns how many pages were freed and
 * how many are being written; `freed` also counts file pages.  Does not sleep; the caller must hold no spin
 * lock.
 */
struct swap_out_result victims_finish(struct victims *v);

/*
 * page_referenced - whether the page was touched.  The caller has locked its owner.
 * @clear  clear the reference bits; this is complete after the batch is flushed
 */
bool page_referenced(const struct scan_page *sp, bool clear, struct tlb_batch *b);
/* page_seen_now - get the state of a page without changing it.  The caller has locked its owner. */
struct page_seen page_seen_now(const struct scan_page *sp, struct tlb_batch *b);

#endif
