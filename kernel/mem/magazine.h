// SPDX-License-Identifier: MIT
/*
 * magazine.h - the magazines of single free frames: one for each CPU, all of the CPU's own node.
 *
 * LOCKING     Interrupts are off, and the magazine is that of the running CPU.  The functions take the lock of
 *             its node.
 */
#ifndef MEM_MAGAZINE_H
#define MEM_MAGAZINE_H

#include "mem/percpu.h"

/*
 * magazine_fill - take frames from `node`, the CPU's own, into the empty magazine.  Returns whether the
 * magazine now holds a frame.
 */
bool magazine_fill(struct mem_cpu *m, unsigned node);
/* magazine_drain - give frames of the magazine back to `node`, the CPU's own, until `keep` are left. */
void magazine_drain(struct mem_cpu *m, unsigned node, unsigned keep);

/* magazine_pop - take a frame from a magazine that holds one, and count the allocation. */
static inline struct page *magazine_pop(struct mem_cpu *m)
{
    m->n_local++;
    return m->page[--m->npages];
}

/* magazine_push - put a free frame of `node`, the CPU's own, into the magazine.  A full one is drained first. */
static inline void magazine_push(struct mem_cpu *m, unsigned node, struct page *pg)
{
    if (unlikely(m->npages == PAGE_MAG))
        magazine_drain(m, node, PAGE_MAG - PAGE_MAG_BATCH);
    m->page[m->npages++] = pg;
}

#endif
