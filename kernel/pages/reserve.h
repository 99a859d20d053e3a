// SPDX-License-Identifier: MIT
/*
 * reserve.h - reservation of anonymous memory: memory is promised when it is mapped, if there is enough.  See
 * reserve.c.
 */
#ifndef PAGES_RESERVE_H
#define PAGES_RESERVE_H

#include "lib/types.h"

#define RESERVE_SLACK 64u /* pages that a space may keep reserved for later */

/*
 * What is promised to one address space.  Lock key: [r] the lock of the space, held for writing  [a] atomic
 */
struct reservation {
    uint64_t need_pages;        /* [r] pages that the space needs now                     */
    uint64_t pages;             /* [r] pages reserved for the space                       */
    _Atomic int tables;         /* [a] page tables of the space                           */
    _Atomic int charged_tables; /* [a] page tables that were reserved one by one: reserve.c */
};

/*
 * reserve_grow - reserve `pages` more pages, which the caller then adds to r->need_pages.  0, or -ENOMEM: the
 * pages cannot be promised, or only to the superuser.
 */
int reserve_slow(struct reservation *r, uint64_t pages);
static inline int reserve_grow(struct reservation *r, uint64_t pages)
{
    return likely(r->need_pages + pages <= r->pages) ? 0 : reserve_slow(r, pages);
}
/* reserve_settle - give back the reservation of pages that the space does not need any more. */
void reserve_give(struct reservation *r, uint64_t keep);
static inline void reserve_settle(struct reservation *r)
{
    if (unlikely(r->pages > r->need_pages + RESERVE_SLACK))
        reserve_give(r, RESERVE_SLACK / 4);
}
/*
 * reserve_space - make the reservation of a new space, which has one page table.  0 or -ENOMEM.
 * reserve_end - give back the whole reservation; that page table is the only one left.
 */
int reserve_space(struct reservation *r);
void reserve_end(struct reservation *r);
/*
 * reserve_pages, reserve_return - reserve pages that belong to no space (shared objects), and give them back.
 * 0 or -ENOMEM.
 */
int reserve_pages(uint64_t pages);
void reserve_return(uint64_t pages);
/*
 * reserve_table - count one more page table of the space; false: it cannot be promised.
 * reserve_table_gone - count one page table less.
 * RESERVE_TABLES are promised before they are made: one at the top, three for the program, up to four for
 * mappings and the stack.  Otherwise many new processes, which have touched nothing yet, could take the
 * superuser's part.  The tables for promised memory, if it is contiguous, are promised with it.  Further
 * tables are charged one by one.
 */
enum { RESERVE_TABLES = 8 };
bool reserve_table(struct reservation *r);
void reserve_table_gone(struct reservation *r);

/* reserve_state - pages that are promised, and pages that can be promised: memory for programs, plus swap. */
void reserve_state(uint64_t *promised, uint64_t *limit);
/*
 * reserve_recount - compute the limit again, after swap was added or removed, or after frames became
 * permanently used.  A change of mem_unpageable() needs no call, because it is read for each promise.
 */
void reserve_recount(void);

#endif
