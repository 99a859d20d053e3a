// SPDX-License-Identifier: MIT
/*
 * buddy.h - the free blocks of a memory node (struct mem_node).
 *
 * LOCKING     The callers of block_take() and block_give() hold node->lock.
 */
#ifndef MEM_BUDDY_H
#define MEM_BUDDY_H

#include "mem/page.h"

/* buddy_init - initialise the lock and the empty free lists of a node. */
void buddy_init(struct mem_node *n);
/* block_take - take a block of 2^order frames; NULL: there is none.  The flags of the block's head are 0. */
struct page *block_take(struct mem_node *n, unsigned order);
/* block_give - give a block back to its node `n`, and merge it with its free buddies. */
void block_give(struct mem_node *n, struct page *pg, unsigned order);

/* is_node_scarce - whether fewer than low_pages frames of the node are free.  Without the lock it is a hint. */
static inline bool is_node_scarce(const struct mem_node *n)
{
    return unlikely(n->nfree_pages < n->low_pages);
}

/* clear_descriptor - initialise the descriptor of a frame that was never allocated.  Takes no lock. */
static inline void clear_descriptor(struct page *pg)
{
    pg->flags = 0;
    pg->no_code = false;
}

#endif
