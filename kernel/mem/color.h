// SPDX-License-Identifier: MIT
/*
 * color.h - interface between the buddy system (page.c) and the bins of frames by colour (color.c).
 *
 * LOCKING     node->lock is held, except for page_setup() and page_count()
 */
#ifndef MEM_COLOR_H
#define MEM_COLOR_H

#include "mem/page.h"

/* block_take - take a block of 2^order frames out of the buddy system, or NULL; its head's flags are 0. */
struct page *block_take(struct mem_node *n, unsigned order);
/* block_give - give a block to the buddy system, where it merges with its buddies. */
void block_give(struct mem_node *n, struct page *pg, unsigned order);
/* page_count - mark the block PG_UNPAGEABLE, and add its frames to the count of mem_unpageable(). */
void page_count(struct page *pg);
/* page_setup - initialise a block that was just taken, as `flags` (enum alloc_flags) require. */
static inline void page_setup(struct page *pg, unsigned node, unsigned order, unsigned flags)
{
    atomic_store_explicit(&pg->flags, unlikely(order > 0) ? PG_HEAD : 0, memory_order_relaxed);
    pg->node = (uint8_t)node;
    pg->order = (uint8_t)order;
    pg->pt_live = 0;
    atomic_store_explicit(&pg->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&pg->mapcount, 0, memory_order_relaxed);
    pg->priv = 0;
    pg->index = 0;
    atomic_store_explicit(&pg->nsharers, 0, memory_order_relaxed);
    list_init(&pg->link);
    if (unlikely((flags & ALLOC_UNPAGEABLE) != 0))
        page_count(pg);
    if (flags & ALLOC_ZERO) {
        pg->no_code = true; /* only of the head: the others may be zeroed once more after a split */
        page_zero(pg, order);
    } else if (!(flags & ALLOC_WHOLE) && unlikely(!pg->no_code || order > 0))
        page_drop_code(pg, order);
}
/* bins_empty - move all frames of the bins to the buddy system. */
void bins_empty(struct mem_node *n);

#endif
