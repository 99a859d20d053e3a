// SPDX-License-Identifier: MIT
/*
 * reserve.h - anonymous memory is reserved when it is mapped, only as long as there is some.  See reserve.c.
 */
#ifndef PAGES_RESERVE_H
#define PAGES_RESERVE_H

#include "vm/as.h"

#define RESERVE_SLACK 64u /* pages that a space may keep reserved for later */

/*
 * reserve_grow - `pages` more are going to be added to as->need_pages.  0 or -ENOMEM: nobody could promise them, or
 * only to the superuser.
 * as->lock is held for writing, or nobody else knows the space.
 */
int reserve_slow(struct as *as, uint64_t pages);
static inline int reserve_grow(struct as *as, uint64_t pages)
{
    return likely(as->need_pages + pages <= as->resv_pages) ? 0 : reserve_slow(as, pages);
}
/* reserve_settle - give back what the space does not need any more.  Likewise. */
void reserve_give(struct as *as, uint64_t keep);
static inline void reserve_settle(struct as *as)
{
    if (unlikely(as->resv_pages > as->need_pages + RESERVE_SLACK))
        reserve_give(as, RESERVE_SLACK / 4);
}
/* reserve_pages, reserve_return - the same for memory of no space: shared objects.  0 or -ENOMEM. */
int reserve_pages(uint64_t pages);
void reserve_return(uint64_t pages);
/*
 * reserve_table - a page table of the space more; false: it cannot be promised.  reserve_table_gone - one fewer.
 * RESERVE_TABLES are promised before they are made, so that a crowd of young processes, which have touched nothing yet,
 * cannot take what is the superuser's: one at the top, three for the program, up to four for mappings and the stack.
 * What promised memory needs, if it lies together, is promised with it.  More are charged as they come.
 */
enum { RESERVE_TABLES = 8 };
bool reserve_table(struct as *as);
void reserve_table_gone(struct as *as);

/* reserve_state - pages promised, and how many can be: those of memory that programs may have, and of swap. */
void reserve_state(uint64_t *promised, uint64_t *limit);
/* reserve_recount - what the limit depends on has changed, besides mem_unpageable(). */
void reserve_recount(void);

#endif
