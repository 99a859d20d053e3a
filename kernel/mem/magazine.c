// SPDX-License-Identifier: MIT
/*
 * magazine.c - the magazines of single free frames.
 *
 * THEORY      Most allocations are of one frame on the CPU's own node.  They go through the CPU's magazine,
 *             a short stack of free frames that needs no lock.  An empty magazine is filled to half its size,
 *             and half of a full one is emptied.  So a thread that allocates and frees in turn takes the node's
 *             lock at most once in PAGE_MAG_BATCH times.
 *             While few frames of the node are free, a magazine is filled with only one frame, and freed frames
 *             bypass it (page.c).  The reason: only threads on the magazine's CPU can take frames from it.
 * INVARIANTS  I1  a magazine holds at most PAGE_MAG frames, all of its CPU's node
 * LOCKING     Interrupts are off.  Then node->lock (RANK_BUDDY) is taken.
 * SEE ALSO    docs/memory.md, tests/host/test_magazine.c
 */
#include "mem/magazine.h"

#include "mem/buddy.h"
#include "mem/color.h"
#include "mem/mem_init.h"

struct mem_cpu mem_boot_cpu;

/* LAB frames-magazine: begin */
bool magazine_fill(struct mem_cpu *m, unsigned node)
{
    struct mem_node *n = &mem_nodes[node];
    unsigned want = is_node_scarce(n) ? 1 : PAGE_MAG_BATCH;

    spin_lock(&n->lock);
    while (m->npages < want) {
        /* Taken one by one, these frames would come from the same block, in the same order. */
        unsigned fits = 31 - (unsigned)__builtin_clz(want - m->npages);
        unsigned least = n->free_mask != 0 ? (unsigned)__builtin_ctzll(n->free_mask) : 0;
        unsigned o = min_of(least, fits);
        struct page *pg = block_take_or_bins(n, o);

        if (pg == NULL)
            break;
        for (unsigned i = 0; i < 1u << o; i++)
            m->page[m->npages++] = pg + i;
    }
    spin_unlock(&n->lock);
    return m->npages > 0;
}

void magazine_drain(struct mem_cpu *m, unsigned node, unsigned keep)
{
    struct mem_node *n = &mem_nodes[node];

    spin_lock(&n->lock);
    while (m->npages > keep)
        block_give(n, m->page[--m->npages], 0);
    spin_unlock(&n->lock);
}
/* LAB frames-magazine: end */
