// SPDX-License-Identifier: MIT
/*
 * around.h - how many neighbours of the needed page a fault reads.
 *
 * THEORY      A disk needs several milliseconds to reach a page, and a fraction of a millisecond to
 *             transfer it.  So a fault that must read a page also reads its neighbours, if they are likely
 *             to be touched.
 *             The decision uses the part of the recently read neighbours that was touched.  The disk transfers
 *             `worth` pages in the time that it needs to reach one.  Each neighbour that is read costs one
 *             transfer.  Each neighbour that is then touched saves one seek and one transfer.  So reading
 *             around has paid off if touched * (worth + 1) >= read.  If it has, the next window is twice as
 *             long; otherwise it is half as long.  Both counts are halved when `read` exceeds AROUND_MEMORY, so
 *             that the latest reads count most.  A window of one page grows when a fault lies next
 *             to the page of the last fault.
 *             A fault next to the pages that the last fault read extends them in the same
 *             direction.  Any other fault reads the aligned block that contains its page.
 *             A page that was read around is not mapped before its first touch, so that the touch is
 *             noticed.
 * LOCKING     The functions are pure and take no locks.  An error in the history only causes a needless read.
 * SEE ALSO    pcache_read.c, swap.c, docs/paging.md, tests/host/test_around.c
 */
#ifndef PAGES_AROUND_H
#define PAGES_AROUND_H

#include "pages/cluster.h"

/* History of the faults on a segment, or on a file; all zero at first. */
struct around {
    struct page_run last;   /* pages read at the last miss; n 0: no miss yet */
    uint32_t window;        /* length in pages that was chosen at the last miss */
    uint32_t read, touched; /* neighbours that were read, and touched, up to the last miss */
    _Atomic uint32_t used;  /* neighbours touched since the last miss */
};
#define AROUND_MEMORY 128u /* pages */

/* around_used - count the first touch of a page that was read around. */
static inline void around_used(struct around *a)
{
    atomic_fetch_add_explicit(&a->used, 1, memory_order_relaxed);
}

/*
 * around_miss - choose the pages to read because page `index` is absent.
 * @first  pages to read at the very first miss, at least 1; the neighbours among them count as
 *         touched at once
 * @limit  longest window in pages, at least 1
 * @worth  pages that the disk transfers in the time in which it reaches one
 * Returns the pages to read, `index` among them.  The caller leaves out pages that cannot be read, and
 * calls around_got().
 */
struct page_run around_miss(struct around *a, uint64_t index, uint64_t first, uint64_t limit,
                            uint64_t worth);
/*
 * around_advised - like around_miss(), but follow the advice of a program (enum read_advice, cluster.h).
 * RANDOM reads the page alone and changes no history; SEQUENTIAL reads `limit` pages from `index` on.
 */
struct page_run around_advised(struct around *a, uint64_t index, uint64_t first, uint64_t limit,
                               uint64_t worth, unsigned advice);
/*
 * around_got - record that `run`, a part of a window of more than one page, was read, and the number of
 * neighbours of the needed page in it.
 */
void around_got(struct around *a, struct page_run run, uint64_t neighbours);

#endif
