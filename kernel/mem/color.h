// SPDX-License-Identifier: MIT
/*
 * color.h - the bins of free frames by colour, between the buddy system and the page allocator.
 *
 * LOCKING     The caller holds node->lock.
 */
#ifndef MEM_COLOR_H
#define MEM_COLOR_H

#include "mem/buddy.h"

/* bins_empty - move all frames of the bins to the buddy system. */
void bins_empty(struct mem_node *n);

/* block_take_or_bins - like block_take(), but if the buddy system has no block, empty the bins and try again. */
static inline struct page *block_take_or_bins(struct mem_node *n, unsigned order)
{
    struct page *pg = block_take(n, order);

    if (unlikely(pg == NULL) && n->nbinned > 0) {
        bins_empty(n);
        pg = block_take(n, order);
    }
    return pg;
}

#endif
