// SPDX-License-Identifier: MIT
/*
 * buddy.c - a buddy system per memory node.
 *
 * THEORY      A node's free blocks are on lists by order (buddy system, Knowlton 1965).  If there is no free
 *             block of the wanted order, a larger one is split into halves.  Freeing a block merges it with
 *             its buddy, the block whose number differs in one bit.
 *             Only the head of a free block is marked as free, and merging reads only heads.  So descriptors
 *             need no initialisation at boot, except in the 4 MiB blocks that are partly in use.  In these a
 *             buddy may be a frame that was never freed (page_boot.c).
 * INVARIANTS  page.h I1, I3
 * LOCKING     node->lock (RANK_BUDDY).  A CPU never holds the locks of two nodes.
 * SEE ALSO    docs/memory.md, tests/host/test_buddy.c
 */
#include "mem/buddy.h"

struct mem_node mem_nodes[NODE_MAX];
unsigned nnodes;

void buddy_init(struct mem_node *n)
{
    spin_init(&n->lock, RANK_BUDDY);
    for (unsigned o = 0; o <= MAX_ORDER; o++)
        list_init(&n->free[o]);
}

/* LAB frames-buddy: begin */
struct page *block_take(struct mem_node *n, unsigned order)
{
    uint64_t usable = n->free_mask >> order << order;
    unsigned o;
    struct page *pg;

    if (usable == 0)
        return NULL;
    o = (unsigned)__builtin_ctzll(usable);
    pg = list_pop(&n->free[o], struct page, link);
    if (list_empty(&n->free[o]))
        n->free_mask &= ~(1ull << o);
    /* from now on every descriptor of the block must be valid */
    if (unlikely((pg->flags & PG_HEAD_ONLY) != 0))
        for (unsigned i = 1; i < 1u << o; i++)
            clear_descriptor(&pg[i]);
    while (o > order) { /* keep the first half, free the second */
        struct page *half = pg + (1ul << --o);

        half->flags = PG_FREE;
        half->node = pg->node;
        half->order = (uint8_t)o;
        list_push_front(&n->free[o], &half->link);
        n->free_mask |= 1ull << o;
    }
    /* cleared while the lock is held, so that a freed buddy does not merge with this block */
    pg->flags = 0;
    n->nfree_pages -= 1ull << order;
    return pg;
}

void block_give(struct mem_node *n, struct page *pg, unsigned order)
{
    uint64_t pfn = (uint64_t)(pg - vmemmap);
    uint8_t node = (uint8_t)(n - mem_nodes);

    n->nfree_pages += 1ull << order;
    while (order < MAX_ORDER) {
        struct page *buddy = vmemmap + (pfn ^ (1ull << order));

        /*
         * A buddy on another node must not be merged.  This lock does not guard the fields of that
         * buddy, so they may be out of date.  But if PG_FREE is set, `node` is correct, because it
         * is written before PG_FREE.
         */
        if (!(buddy->flags & PG_FREE) || buddy->order != order || buddy->node != node)
            break;
        list_remove(&buddy->link);
        if (list_empty(&n->free[order]))
            n->free_mask &= ~(1ull << order);
        buddy->flags = 0;
        pfn &= ~(1ull << order);
        order++;
    }
    pg = vmemmap + pfn;
    /* set before the flag, because a CPU that frees the buddy on another node may read `node` */
    pg->node = node;
    pg->order = (uint8_t)order;
    pg->flags = PG_FREE;
    list_push_front(&n->free[order], &pg->link);
    n->free_mask |= 1ull << order;
}
/* LAB frames-buddy: end */
