// SPDX-License-Identifier: MIT
/*
 * page_setup.h - initialises the descriptor of a block that is being allocated.
 */
#ifndef MEM_PAGE_SETUP_H
#define MEM_PAGE_SETUP_H

#include "mem/count.h"
#include "mem/page.h"
#include "stat/modelled.h"

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
    modelled_new_frames(page_to_phys(pg), PAGE_SIZE << order);
    if (unlikely((flags & ALLOC_UNPAGEABLE) != 0)) {
        atomic_fetch_or_explicit(&pg->flags, PG_UNPAGEABLE, memory_order_relaxed);
        mem_unpageable_add(1 << pg->order);
    }
    if (flags & ALLOC_ZERO) {
        /* set only for the head: after a split, the other frames may be zeroed again */
        pg->no_code = true;
        page_zero(pg, order);
    } else if (!(flags & ALLOC_WHOLE) && unlikely(!pg->no_code || order > 0))
        page_drop_code(pg, order);
}

#endif
