// SPDX-License-Identifier: MIT
/*
 * around.h - how many neighbours of the needed page a fault reads.
 *
 * THEORY      A disk needs several milliseconds to reach a page and a fraction of one to transfer it.  So a fault that
 *             has to read a page reads its neighbours too, if they are likely to be touched.  The best guide is what
 *             became of the neighbours that were read lately.  Let the disk transfer `worth` pages in the time that it
 *             needs to reach one.  A neighbour that is read costs one transfer; one that is touched has saved reaching
 *             it and a transfer.  So reading around has paid off if touched * (worth + 1) >= read: then the next window
 *             is twice as long, and else half as long.  Both numbers are halved when `read` is over AROUND_MEMORY, so
 *             that what was lately counts most.  From a window of one page it grows when a fault lies beside the last.
 *             A fault beside the last run reads on in the same direction; any other one reads the aligned block of its
 *             page.
 *             A touch is seen because a page that was read around is not mapped before its first touch.
 * LOCKING     none: a wrong guess costs a wrong read; pure
 * SEE ALSO    pcache_read.c, swap.c, docs/paging.md, tests/host/test_around.c
 */
#ifndef PAGES_AROUND_H
#define PAGES_AROUND_H

#include "pages/cluster.h"

/* What is remembered of the faults on a segment, or on a file; all zero at first. */
struct around {
    struct page_run last;   /* what was read; n 0: nothing yet                    */
    uint32_t window;        /* pages that were to be read then                    */
    uint32_t read, touched; /* neighbours, as of the last miss                    */
    _Atomic uint32_t used;  /* touched since                                      */
};
#define AROUND_MEMORY 128u /* pages */

/* around_used - a page that was read around is touched for the first time. */
static inline void around_used(struct around *a)
{
    atomic_fetch_add_explicit(&a->used, 1, memory_order_relaxed);
}

/*
 * around_miss - page `index` has to be read.
 * @first  pages to read at the very first miss, at least 1; the others count as touched in advance
 * @limit  longest window, at least 1
 * @worth  pages that the disk transfers while it reaches one
 * Returns the pages to read, `index` among them; the caller leaves out what is not there to be read, and says so.
 */
struct page_run around_miss(struct around *a, uint64_t index, uint64_t first, uint64_t limit,
                            uint64_t worth);
/*
 * around_advised - the same where the program has said how it goes on (enum read_advice, cluster.h): RANDOM reads the
 * page alone and remembers nothing; SEQUENTIAL reads `limit` pages from `index` on; else as around_miss().
 */
struct page_run around_advised(struct around *a, uint64_t index, uint64_t first, uint64_t limit,
                               uint64_t worth, unsigned advice);
/* around_got - of a window of more than one page `run` could be read, and in it so many pages but the needed one. */
void around_got(struct around *a, struct page_run run, uint64_t neighbours);

#endif
