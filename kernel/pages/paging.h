// SPDX-License-Identifier: MIT
/*
 * paging.h - the decisions of the pageout daemon: when it reclaims pages, how fast, and which ones.
 *
 * THEORY      When memory fills, the kernel must reclaim pages of programs and files.  It should reclaim those
 *             that were not used lately, but the hardware only sets a reference bit when a page is touched.
 *             Solaris's pageout is a clock with two hands (Babaoglu and Joy, SOSP 1981).  Both hands move
 *             around the circle of all frames.  The front hand clears the reference bit of a page.  The
 *             back hand, handspreadpages behind it, takes the page if it has not been touched since.  The
 *             scanner, which moves the hands, runs four times a second while fewer than lotsfree pages are
 *             free.  The fewer are free, the faster it moves.
 *             The tunable pageout_policy selects one of three versions of the policy:
 *               0  before Solaris 7: all pages compete.
 *               1  Solaris 7: if cachefree is above lotsfree, the scanner already starts below cachefree.
 *                  Between the two it takes only plain file pages: no pages of executed files, and no
 *                  anonymous pages.
 *               2  Solaris 8: clean file pages that are not mapped are on a cache list, which counts as
 *                  free.  They are reused, oldest first, before the scanner has to run.
 * SOURCES     Solaris Tunable Parameters Reference Manual; Mauro and McDougall, Solaris Internals, chapters
 *             5 and 14; schedpaging(), pageout_scanner() and checkpage() of vm_pageout.c.  Between lotsfree
 *             and cachefree the speed is interpolated with cachefree in the role of lotsfree (not found in
 *             a source).
 * LOCKING     The functions are pure and take no locks.
 * SEE ALSO    pageout.c, docs/pageout.md, tests/host/test_paging.c
 */
#ifndef PAGES_PAGING_H
#define PAGES_PAGING_H

#include "lib/types.h"

enum { PAGING_HZ = 4 }; /* rounds of the scanner in a second */

/* In pages unless noted otherwise.  paging_setup() replaces a value of 0 by the default. */
struct paging {
    uint64_t lotsfree, desfree, minfree, throttlefree, pageout_reserve, cachefree;
    uint64_t fastscan, slowscan, handspreadpages; /* pages a second, pages a second, pages */
    uint64_t maxpgio;                             /* page-outs started in a second         */
    uint64_t min_percent_cpu, max_percent_cpu;    /* time of the scanner, in % of one CPU   */
    uint64_t priority_paging;                     /* 0 or 1; policy 1                      */
    uint64_t physmem;                             /* size of the memory                     */
    unsigned policy;                              /* 0, 1, 2                               */
};

/*
 * paging_setup - replace a value by its default if it is 0, or does not fit physmem and the other values.
 * Afterwards pageout_reserve < throttlefree < desfree < lotsfree <= 30 % of physmem, and min_percent_cpu <=
 * max_percent_cpu.
 * @page_size  bytes
 */
void paging_setup(struct paging *p, uint64_t page_size);

/* paging_mark - the scanner runs while fewer pages than this are free: cachefree with policy 1, else lotsfree. */
static inline uint64_t paging_mark(const struct paging *p)
{
    return p->policy == 1 && p->cachefree > p->lotsfree ? p->cachefree : p->lotsfree;
}

/*
 * paging_goal - pages to examine in one round (a quarter of a second).
 * @free     free pages
 * @deficit  pages that will be needed soon
 * @waiting  threads wait for memory: scan at full speed
 */
uint64_t paging_goal(const struct paging *p, uint64_t free, uint64_t deficit, bool waiting);
/* paging_percent - per cent of one CPU that the scanner may use in this round. */
uint64_t paging_percent(const struct paging *p, uint64_t free);

enum page_kind { KIND_FILE, KIND_EXEC, KIND_ANON };

/* State of a page under a hand. */
struct page_seen {
    enum page_kind kind;
    bool busy;       /* in I/O, in use, on the cache list, or SHM_LOCK */
    bool referenced; /* touched since the front hand passed the page   */
    bool dirty;      /* must be written before it is freed; always set for an anonymous page */
    uint32_t spaces; /* page-table entries that map the page           */
};
enum hand { FRONT, BACK };
enum page_verdict {
    PAGE_SKIP,  /* pass over the page; it does not count as examined (paging_goal) */
    PAGE_CLEAR, /* clear the reference bits of the page             */
    PAGE_KEEP,  /* keep the page, because it is in use              */
    PAGE_FREE,  /* free the page                                    */
    PAGE_PUSH,  /* write the page, then free it                     */
};
/* paging_spares - whether priority paging passes over all pages of a kind while `free` pages are free. */
static inline bool paging_spares(const struct paging *p, enum page_kind kind, uint64_t free)
{
    return p->policy == 1 && free >= p->lotsfree && kind != KIND_FILE;
}
/*
 * paging_judge - decide what to do with a page.
 * @free      free pages
 * @po_share  pages with more mappings are passed over
 */
enum page_verdict paging_judge(const struct paging *p, const struct page_seen *s, enum hand hand,
                               uint64_t free, uint32_t po_share);

#define PO_SHARE_MIN 8u /* mappings */
#define PO_SHARE_MAX (8u << 24)
/*
 * paging_share - po_share for the next round.  It is doubled if at least two rounds in a row took
 * no page.  It is halved if `plenty` is set: many pages are free.
 * @fruitless  rounds in a row that took no page
 */
static inline uint32_t paging_share(uint32_t po_share, unsigned fruitless, bool plenty)
{
    if (plenty && po_share > PO_SHARE_MIN)
        return po_share / 2;
    return fruitless >= 2 && po_share < PO_SHARE_MAX ? po_share * 2 : po_share;
}

/*
 * Each time fsflush wakes up, it looks at a part of all pages, so that it sees each page once in autoup
 * seconds.
 */
struct fsflush {
    int64_t autoup, interval; /* seconds: autoup, tune_t_fsflushr */
};
/*
 * fsflush_setup - an autoup <= 0 becomes 30, an interval <= 0 becomes 5; interval becomes at most
 * autoup.  Returns whether it changed a value.
 */
bool fsflush_setup(struct fsflush *f);
/* fsflush_pages - how many of `total` pages to look at in one wake-up. */
static inline uint64_t fsflush_pages(const struct fsflush *f, uint64_t total)
{
    return (total * (uint64_t)f->interval + (uint64_t)f->autoup - 1) / (uint64_t)f->autoup;
}

#endif
