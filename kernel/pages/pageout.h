// SPDX-License-Identifier: MIT
/*
 * pageout.h - the pageout daemon and fsflush.  See pageout.c.
 */
#ifndef PAGES_PAGEOUT_H
#define PAGES_PAGEOUT_H

#include "pages/paging.h"

/*
 * pageout_start - set the thresholds from the tunables and start the threads.  Called when threads and file
 * systems work.
 */
void pageout_start(void);
/* freemem - pages that can be allocated at once: free frames, and pages of the cache list. */
uint64_t freemem(void);
/*
 * pageout_spare - whether `n` pages can be used for a guess (read-ahead) without making a thread wait for
 * memory.  If not, wake up the daemon.  Can be called in any context, with locks below RANK_CV.
 */
bool pageout_spare(uint64_t n);
/* pageout_spare_pages - an estimate of the pages that can be used for a guess; 0: none.  Takes no locks. */
uint64_t pageout_spare_pages(void);
/* pageout_is_short - whether so little memory of all nodes together is free that the scanner runs. */
bool pageout_is_short(void);
/*
 * pageout_low_file_memory - whether memory is so short that a sequential reader should free pages that it
 * has passed.
 */
bool pageout_low_file_memory(void);
/* pageout_kick - run the scanner now.  Can be called in any context, with locks below RANK_CV. */
void pageout_kick(void);
/*
 * pageout_freed - wake up the threads that wait for memory, because pages have become free.  Can be called in
 * any context, with locks below RANK_CV.
 */
void pageout_freed(void);
/*
 * pageout_quiesce - wait until no scanner is about to lock an object, family or address space that is being
 * destroyed.  Called when no page names that object any more, before its memory is freed.  Spins for at most
 * some dozens of instructions.
 */
void pageout_quiesce(void);
/*
 * pageout_now - get the thresholds in force; *share: po_share; *waiting: number of threads that wait for
 * memory.
 */
struct paging pageout_now(uint64_t *share, uint64_t *waiting);
/* pageout_stats_init - register the kstats unix:0:system_pages and unix:0:swap. */
void pageout_stats_init(void);
/*
 * pageout_promisable - the number of frames, minus desfree, minus the frames that can never be freed and that
 * mem_unpageable() does not count.  The caller subtracts mem_unpageable().
 */
uint64_t pageout_promisable(void);

#endif
