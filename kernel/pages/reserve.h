// SPDX-License-Identifier: MIT
/*
 * reserve.h - anonymous memory is promised when it is mapped, as long as there is some.  See reserve.c.
 */
#ifndef PAGES_RESERVE_H
#define PAGES_RESERVE_H

#include "vm/as.h"

#define RESERVE_SLACK 64u /* pages that a space may keep reserved for later */

/*
 * reserve_grow - reserve `pages` more pages, which the caller then adds to as->need_pages.  0, or -ENOMEM:
 * they cannot be promised, or only to the superuser.
 * as->lock is held for writing, or the space is not published yet.
 */
int reserve_slow(struct as *as, uint64_t pages);
static inline int reserve_grow(struct as *as, uint64_t pages)
{
    return likely(as->need_pages + pages <= as->resv_pages) ? 0 : reserve_slow(as, pages);
}
/* reserve_settle - end the reservation of pages that the space does not need any more.  Same locks. */
void reserve_give(struct as *as, uint64_t keep);
static inline void reserve_settle(struct as *as)
{
    if (unlikely(as->resv_pages > as->need_pages + RESERVE_SLACK))
        reserve_give(as, RESERVE_SLACK / 4);
}
/*
 * reserve_pages, reserve_return - reserve pages that belong to no space (shared objects), and end that.  0
 * or -ENOMEM.
 */
int reserve_pages(uint64_t pages);
void reserve_return(uint64_t pages);
/*
 * reserve_table - count one more page table of the space; false: it cannot be promised.  reserve_table_gone -
 * one less.
 * RESERVE_TABLES are promised before they are made: one at the top, three for the program, up to four for
 * mappings and the stack.  Otherwise many new processes, which have touched nothing yet, could take the
 * superuser's part.  The tables for promised memory, if it is contiguous, are promised with it.  Further
 * tables are charged one by one.
 */
enum { RESERVE_TABLES = 8 };
bool reserve_table(struct as *as);
void reserve_table_gone(struct as *as);

/* reserve_state - pages that are promised, and pages that can be: memory that programs may have, and swap. */
void reserve_state(uint64_t *promised, uint64_t *limit);
/*
 * reserve_recount - compute the limit again, after swap was added or removed or frames became permanently
 * used.  mem_unpageable() is read for each promise and needs no call.
 */
void reserve_recount(void);

#endif
