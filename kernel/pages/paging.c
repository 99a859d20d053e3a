// SPDX-License-Identifier: MIT
/*
 * paging.c - when pages are reclaimed, how fast, and which ones; see paging.h.
 */
#include "pages/paging.h"

#define LOTSFREE_MIN (512ul << 10) /* bytes */
/* % of memory, as the manual advises; a higher value leaves too little memory for programs */
#define LOTSFREE_MAX 30u
#define FASTSCAN_MAX (64ul << 20) /* bytes a second */
#define SLOWSCAN_MAX 100u         /* pages a second */
#define MAXPGIO      40u          /* two thirds of a disk's 60 revolutions a second */
#define PERCENT_MIN  4u
#define PERCENT_MAX  80u

/* LAB paging-clock: begin */
void paging_setup(struct paging *p, uint64_t page_size)
{
    if (p->lotsfree == 0 || p->lotsfree > p->physmem * LOTSFREE_MAX / 100)
        p->lotsfree = max_of(p->physmem / 64, LOTSFREE_MIN / page_size);
    if (p->desfree == 0 || p->desfree >= p->lotsfree)
        p->desfree = p->lotsfree / 2;
    if (p->minfree == 0 || p->minfree >= p->desfree)
        p->minfree = p->desfree / 2;
    if (p->throttlefree == 0 || p->throttlefree >= p->desfree)
        p->throttlefree = p->minfree;
    if (p->pageout_reserve == 0 || p->pageout_reserve >= p->throttlefree)
        p->pageout_reserve = p->throttlefree / 2;
    if (p->cachefree == 0 || p->cachefree >= p->physmem)
        p->cachefree = p->priority_paging != 0 ? 2 * p->lotsfree : p->lotsfree;
    if (p->cachefree < p->lotsfree)
        p->cachefree = p->lotsfree;
    if (p->fastscan == 0)
        p->fastscan = min_of(FASTSCAN_MAX / page_size, p->physmem / 2);
    p->fastscan = min_of(p->fastscan, p->physmem / 2);
    if (p->slowscan == 0)
        p->slowscan = min_of(p->fastscan / 10, (uint64_t)SLOWSCAN_MAX);
    p->slowscan = max_of(min_of(p->slowscan, p->fastscan / 2), 1ul);
    if (p->handspreadpages == 0)
        p->handspreadpages = p->fastscan;
    if (p->handspreadpages >= p->physmem)
        p->handspreadpages = p->physmem - 1;
    if (p->maxpgio == 0)
        p->maxpgio = MAXPGIO;
    if (p->min_percent_cpu == 0)
        p->min_percent_cpu = PERCENT_MIN;
    if (p->max_percent_cpu == 0)
        p->max_percent_cpu = PERCENT_MAX;
    p->max_percent_cpu = max_of(p->max_percent_cpu, p->min_percent_cpu);
}

/* Free pages minus `deficit`, but within 0 .. mark. */
static uint64_t net_free_pages(uint64_t mark, uint64_t free, uint64_t deficit)
{
    return free > deficit ? min_of(free - deficit, mark) : 0;
}

uint64_t paging_goal(const struct paging *p, uint64_t free, uint64_t deficit, bool waiting)
{
    uint64_t mark = paging_mark(p), v = net_free_pages(mark, free, deficit);

    if (waiting)
        return p->fastscan / PAGING_HZ;
    return (p->slowscan * v + p->fastscan * (mark - v)) / mark / PAGING_HZ;
}

uint64_t paging_percent(const struct paging *p, uint64_t free)
{
    uint64_t mark = paging_mark(p), v = net_free_pages(mark, free, 0);

    return p->min_percent_cpu + (p->max_percent_cpu - p->min_percent_cpu) * (mark - v) / mark;
}

enum page_verdict paging_judge(const struct paging *p, const struct page_seen *s, enum hand hand,
                               uint64_t free, uint32_t po_share)
{
    if (s->busy || s->spaces > po_share || paging_spares(p, s->kind, free))
        return PAGE_SKIP;
    if (s->referenced)
        return hand == FRONT ? PAGE_CLEAR : PAGE_KEEP;
    return s->dirty ? PAGE_PUSH : PAGE_FREE;
}
/* LAB paging-clock: end */

bool fsflush_setup(struct fsflush *f)
{
    struct fsflush was = *f;

    if (f->autoup <= 0)
        f->autoup = 30;
    if (f->interval <= 0)
        f->interval = 5;
    f->interval = min_of(f->interval, f->autoup);
    return was.autoup != f->autoup || was.interval != f->interval;
}
