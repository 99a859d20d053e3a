// SPDX-License-Identifier: MIT
/*
 * reserve.c - reservation: the kernel promises memory only if there is enough.
 *
 * THEORY      If the kernel promises more memory than there is, a program fails at a store, where it cannot
 *             handle the error.  Private writable memory, stacks, and shared memory without a file
 *             can need a frame or a swap slot for each page.  Such memory is reserved when it is
 *             mapped.  Then mmap, brk, fork or the growth of a stack fails, and a store to promised
 *             memory does not.
 *             MAP_NORESERVE requests no promise for private memory.  Shared memory is always promised,
 *             because it belongs to no process that could be ended to free it.
 *             The limit of all promises is swap, plus the memory that the kernel and tmpfs do not use, minus
 *             desfree (Solaris: availrmem less tune_t_minarmem, and free swap).  The last part below the limit
 *             is for the superuser only.  Once the rest is promised, an ordinary user gets no page tables
 *             beyond those that promised memory needs, and no kernel buffers (mem/usermem.h).
 *             tmpfs takes memory only if it is not promised.  The kernel takes what it needs.  Each promise
 *             takes the present use by the kernel into account.  Otherwise processes with small
 *             reservations, for which the kernel needs much memory, could take the last part.
 *             A space reserves some pages more than it needs, so that most changes touch only its own
 *             counter.
 * INVARIANTS  I1  need_pages of a space is the sum of what its segments need (seg.c); outside of changes it is
 *                 <= pages
 *             I2  `promised` is the sum of `pages`, RESERVE_TABLES and `charged_tables` of all
 *                 spaces, plus the pages of shared objects; fits_commit_limit() adds the page
 *                 tables that these pages need
 * LOCKING     The caller holds the lock of the space for writing.  `promised` and `pageable` are atomic.
 * SEE ALSO    docs/memory.md, docs/pageout.md
 */
#include "pages/reserve.h"

#include "lib/errno.h"
#include "mem/page.h"
#include "mem/usermem.h"
#include "pages/pageout.h"
#include "pages/swap.h"
#include "stat/panic.h"
#include "x86/mmu.h"

static _Atomic int64_t promised; /* pages */
/* The limit in pages of memory and swap, before mem_unpageable() is subtracted. */
static _Atomic int64_t pageable = INT64_MAX;

/* Pages that can be promised; may be below 0. */
static int64_t commit_limit(void)
{
    return atomic_load_explicit(&pageable, memory_order_relaxed) - (int64_t)mem_unpageable();
}

/*
 * The number of pages that are promised only to the superuser, for a login and for commands that
 * end processes (Linux: admin_reserve_kbytes).
 */
static int64_t admin_reserve(int64_t lim)
{
    return min_of(lim / 16, (int64_t)((8ul << 20) / PAGE_SIZE));
}

/*
 * Whether `total` pages and the page tables for them can be promised, if the last pages of `total`
 * are for the caller.
 */
static bool fits_commit_limit(int64_t total)
{
    int64_t lim = commit_limit(), all = total + total / PT_ENTRIES;

    return all <= lim - admin_reserve(lim) || (all <= lim && proc_is_superuser());
}

void reserve_recount(void)
{
    uint64_t swap, free;

    swap_total(&swap, &free);
    atomic_store(&pageable, (int64_t)(pageout_promisable() + swap));
}

bool reserve_spares(uint64_t pages)
{
    return pages < INT64_MAX / 2 &&
           fits_commit_limit(atomic_load_explicit(&promised, memory_order_relaxed) +
                             (int64_t)pages);
}

int reserve_pages(uint64_t pages)
{
    int64_t before = atomic_load_explicit(&promised, memory_order_relaxed);

    if (pages > INT64_MAX / 2)
        return -ENOMEM;
    /* `promised` never counts what is refused: other threads would be refused because of it */
    do
        if (unlikely(!fits_commit_limit(before + (int64_t)pages)))
            return -ENOMEM;
    while (!atomic_compare_exchange_weak(&promised, &before, before + (int64_t)pages));
    return 0;
}

int reserve_space(struct reservation *r)
{
    *r = (struct reservation){.tables = 1};
    return reserve_pages(RESERVE_TABLES);
}

void reserve_end(struct reservation *r)
{
    ASSERT(r->tables == 1 && r->charged_tables == 0, "I2");
    reserve_return(r->pages + RESERVE_TABLES);
    *r = (struct reservation){0};
}

bool reserve_table(struct reservation *r)
{
    int n = atomic_fetch_add_explicit(&r->tables, 1, memory_order_relaxed) + 1;

    if (likely(n <= RESERVE_TABLES + (int)min_of(r->pages / PT_ENTRIES, (uint64_t)INT32_MAX / 2)))
        return true;
    if (reserve_pages(1) != 0) {
        atomic_fetch_sub_explicit(&r->tables, 1, memory_order_relaxed);
        return false;
    }
    atomic_fetch_add_explicit(&r->charged_tables, 1, memory_order_relaxed);
    return true;
}

void reserve_table_gone(struct reservation *r)
{
    int n = atomic_load_explicit(&r->charged_tables, memory_order_relaxed);

    atomic_fetch_sub_explicit(&r->tables, 1, memory_order_relaxed);
    while (n > 0)
        if (atomic_compare_exchange_weak(&r->charged_tables, &n, n - 1)) {
            reserve_return(1);
            return;
        }
}

void reserve_return(uint64_t pages)
{
    atomic_fetch_sub_explicit(&promised, (int64_t)pages, memory_order_relaxed);
}

int reserve_slow(struct reservation *r, uint64_t pages)
{
    uint64_t more = r->need_pages + pages - r->pages, extra = RESERVE_SLACK / 4;

    if (pages > INT64_MAX / 2)
        return -ENOMEM;
    if (reserve_pages(more + extra) != 0) {
        extra = 0;
        if (reserve_pages(more) != 0)
            return -ENOMEM;
    }
    r->pages += more + extra;
    return 0;
}

void reserve_give(struct reservation *r, uint64_t keep)
{
    reserve_return(r->pages - r->need_pages - keep);
    r->pages = r->need_pages + keep;
}

void reserve_state(uint64_t *out, uint64_t *lim)
{
    *out = (uint64_t)max_of(atomic_load(&promised), (int64_t)0);
    *lim = (uint64_t)max_of(commit_limit(), (int64_t)0);
}
