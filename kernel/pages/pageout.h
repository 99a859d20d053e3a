// SPDX-License-Identifier: MIT
/*
 * pageout.h - the pageout daemon and fsflush.  See pageout.c.
 */
#ifndef PAGES_PAGEOUT_H
#define PAGES_PAGEOUT_H

#include "pages/paging.h"

/* pageout_start - thresholds from the tunables, and the threads; once there are threads and file systems. */
void pageout_start(void);
/* freemem - pages that can be had at once: free frames and the cache list. */
uint64_t freemem(void);
/*
 * pageout_spare - may `n` pages be taken for a guess?  Then no thread has to wait for memory because of them.
 * If not, the daemon is woken, so that there are some soon.  Any context, locks below RANK_CV.
 */
bool pageout_spare(uint64_t n);
/* pageout_spare_pages - so many at most; 0: none.  A guess, no locks. */
uint64_t pageout_spare_pages(void);
/* pageout_is_short - is so little free, of all memory together, that the scanner runs? */
bool pageout_is_short(void);
/* pageout_low_file_memory - is memory so short that a sequential reader should free what it leaves behind? */
bool pageout_low_file_memory(void);
/*
 * pageout_make_room - the kernel could not get memory for itself: frees some, or waits until some is free.  Returns
 * whether to try again.  The caller holds no spin lock and has tried so many times already; 0 at first.
 */
bool pageout_make_room(unsigned tries);
/* pageout_is_caller - is this the daemon?  It must wait for nothing that may itself be waiting for memory. */
bool pageout_is_caller(void);
/* pageout_kick - run the scanner now.  Any context, locks below RANK_CV. */
void pageout_kick(void);
/* pageout_freed - pages have become free: wake those who wait for some.  Likewise. */
void pageout_freed(void);
/*
 * pageout_quiesce - before the memory of an object, family or address space that pages led to is freed: wait until no
 * scanner is about to lock it.  Its pages are gone.  Spins for some instructions at most.
 */
void pageout_quiesce(void);
/* pageout_now - the thresholds in force; *share: po_share; *waiting: threads that wait for memory. */
struct paging pageout_now(uint64_t *share, uint64_t *waiting);
/* pageout_stats_init - the kstats unix:0:system_pages and unix:0:swap. */
void pageout_stats_init(void);
/* pageout_promisable - frames but for desfree, and for those that stay and that mem_unpageable() does not count. */
uint64_t pageout_promisable(void);

#endif
