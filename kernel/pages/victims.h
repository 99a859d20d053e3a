// SPDX-License-Identifier: MIT
/*
 * victims.h - pages on their way out of memory: shared by the pageout daemon and madvise(MADV_PAGEOUT).  See victims.c.
 */
#ifndef PAGES_VICTIMS_H
#define PAGES_VICTIMS_H

#include "pages/scan.h"
#include "pages/swap.h"
#include "vm/tlb.h"

#define VICTIMS SWAP_CLUSTER

/* Pages that have been unmapped and are busy, held, and wait for the flush of translations. */
struct victims {
    unsigned nfile, nanon;
    struct page *file[VICTIMS], *anon[VICTIMS + SWAP_CLUSTER]; /* a whole cluster comes at once */
    struct swap_owner owner[VICTIMS + SWAP_CLUSTER];           /* of anon[]                     */
    struct tlb_batch tlb;
};

static inline void victims_init(struct victims *v)
{
    v->nfile = v->nanon = 0;
    tlb_batch_init(&v->tlb);
}

/* victims_full - is it time for victims_finish()?  Until then one cluster of anonymous pages has room. */
static inline bool victims_full(const struct victims *v)
{
    return v->nfile >= VICTIMS || v->nanon >= VICTIMS;
}

/* victims_take_file - a file's page, which is clean and not busy.  Its object is locked, and released. */
void victims_take_file(struct victims *v, const struct scan_page *sp);
/* victims_take_anon - an anonymous page, which is not busy.  Its owner is locked.  false: it is about to go. */
bool victims_take_anon(struct victims *v, const struct scan_page *sp);
/*
 * victims_finish - flush translations, free what is clean, start writing the rest.  Returns what became of the pages;
 * `freed` counts those of files, too.  Does not sleep; no spin lock may be held.
 */
struct swap_out_result victims_finish(struct victims *v);

/* page_referenced - has the page been touched?  @clear: and forget it, once the batch is done.  Its owner is locked. */
bool page_referenced(const struct scan_page *sp, bool clear, struct tlb_batch *b);
/* page_seen_now - what the page is; nothing is changed.  Its owner is locked. */
struct page_seen page_seen_now(const struct scan_page *sp, struct tlb_batch *b);

#endif
