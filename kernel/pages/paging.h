// SPDX-License-Identifier: MIT
/*
 * paging.h - when pages are taken away, how fast, and which: the decisions of the pageout daemon.
 *
 * THEORY      Solaris's pageout is a clock with two hands (Babaoglu and Joy, SOSP 1981): the front hand clears the
 *             reference bit of a page, the back hand, handspreadpages behind it, takes the page if nobody has touched
 *             it meanwhile.  It runs when less than lotsfree is free, four times a second, the faster the less there
 *             is. Three generations of policy, pageout_policy:
 *               0  before Solaris 7: all pages compete.
 *               1  Solaris 7: with cachefree above lotsfree the scanner starts there, and between the two takes
 *                  only plain file pages: not those of files that are executed, not anonymous ones.
 *               2  Solaris 8: clean file pages that nobody maps are on a cache list that counts as free and is used
 *                  up, oldest first, before the scanner has to run.
 * SOURCES     Solaris Tunable Parameters Reference Manual; Mauro and McDougall, Solaris Internals, chapters 5 and 14;
 *             schedpaging(), pageout_scanner() and checkpage() of vm_pageout.c.  Between lotsfree and cachefree the
 *             speed is interpolated with cachefree in the role of lotsfree (not found in a source).
 * LOCKING     none; pure
 * SEE ALSO    pageout.c, docs/pageout.md, tests/host/test_paging.c
 */
#ifndef PAGES_PAGING_H
#define PAGES_PAGING_H

#include "lib/types.h"

enum { PAGING_HZ = 4 }; /* scanner's rounds in a second */

/* All in pages, but as noted.  0 before paging_setup(): the default. */
struct paging {
    uint64_t lotsfree, desfree, minfree, throttlefree, pageout_reserve, cachefree;
    uint64_t fastscan, slowscan, handspreadpages; /* pages a second, pages a second, pages */
    uint64_t maxpgio;                             /* page-outs started in a second         */
    uint64_t min_percent_cpu, max_percent_cpu;    /* of one CPU, for the scanner           */
    uint64_t priority_paging;                     /* 0 or 1; policy 1                      */
    uint64_t physmem;                             /* pages of memory                       */
    unsigned policy;                              /* 0, 1, 2                               */
};

/*
 * paging_setup - defaults where a value is 0 or does not fit physmem and the other values.  page_size in bytes.  Then
 * reserve < throttlefree < desfree < lotsfree <= 30 % of physmem, and min_percent_cpu <= max_percent_cpu.
 */
void paging_setup(struct paging *p, uint64_t page_size);

/* paging_mark - free pages below which the scanner runs: cachefree by policy 1, else lotsfree. */
static inline uint64_t paging_mark(const struct paging *p)
{
    return p->policy == 1 && p->cachefree > p->lotsfree ? p->cachefree : p->lotsfree;
}

/*
 * paging_goal - pages to examine in one round (a quarter of a second).
 * @free     pages
 * @deficit  pages that are going to be wanted soon
 * @waiting  threads wait for memory: as fast as can be
 */
uint64_t paging_goal(const struct paging *p, uint64_t free, uint64_t deficit, bool waiting);
/* paging_percent - of one CPU that the scanner may take in this round. */
uint64_t paging_percent(const struct paging *p, uint64_t free);

enum page_kind { KIND_FILE, KIND_EXEC, KIND_ANON };

/* What a hand finds. */
struct page_seen {
    enum page_kind kind;
    bool busy;       /* kernel's, free, locked, being written     */
    bool referenced; /* since the front hand was here             */
    bool dirty;      /* or anonymous: has to be written           */
    uint32_t spaces; /* that map it                               */
};
enum hand { FRONT, BACK };
enum page_verdict {
    PAGE_SKIP,  /* counts as scanned, not against the round's pages */
    PAGE_CLEAR, /* clear its reference bits                         */
    PAGE_KEEP,  /* it is in use                                     */
    PAGE_FREE,  /* take it                                          */
    PAGE_PUSH,  /* write it, then take it                           */
};
/* paging_spares - whether priority paging passes over all pages of a kind while so many are free. */
static inline bool paging_spares(const struct paging *p, enum page_kind kind, uint64_t free)
{
    return p->policy == 1 && free >= p->lotsfree && kind != KIND_FILE;
}
/* paging_judge - what to do with a page; @free pages, @po_share spaces that may share it. */
enum page_verdict paging_judge(const struct paging *p, const struct page_seen *s, enum hand hand,
                               uint64_t free, uint32_t po_share);

#define PO_SHARE_MIN 8u /* spaces */
#define PO_SHARE_MAX (8u << 24)
/* paging_share - the limit for the next round: doubled after two rounds round the clock that found nothing. */
static inline uint32_t paging_share(uint32_t po_share, unsigned fruitless, bool plenty)
{
    if (plenty && po_share > PO_SHARE_MIN)
        return po_share / 2;
    return fruitless >= 2 && po_share < PO_SHARE_MAX ? po_share * 2 : po_share;
}

/* fsflush: each wake-up looks at so many of all pages that each is seen once in autoup seconds; and these are valid. */
struct fsflush {
    int64_t autoup, interval; /* seconds: autoup, tune_t_fsflushr */
};
/* fsflush_setup - defaults 30 and 5 for values <= 0, and interval at most autoup.  Returns whether it changed one. */
bool fsflush_setup(struct fsflush *f);
static inline uint64_t fsflush_pages(const struct fsflush *f, uint64_t total)
{
    return (total * (uint64_t)f->interval + (uint64_t)f->autoup - 1) / (uint64_t)f->autoup;
}

#endif
