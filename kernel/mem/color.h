// SPDX-License-Identifier: MIT
/*
 * color.h - what the buddy system (page.c) and the bins of frames by colour (color.c) want of each other.
 *
 * LOCKING  node->lock is held for all but page_setup()
 */
#ifndef MEM_COLOR_H
#define MEM_COLOR_H

#include "mem/page.h"

/* block_take - a block of 2^order frames out of the buddy system, or NULL; its head's flags are 0. */
struct page *block_take(struct mem_node *n, unsigned order);
/* block_give - the reverse; it merges with its buddies. */
void block_give(struct mem_node *n, struct page *pg, unsigned order);
/* page_setup - the descriptor of a block that was just taken. */
void page_setup(struct page *pg, unsigned node, unsigned order);
/* bins_empty - all frames of the bins go to the buddy system. */
void bins_empty(struct mem_node *n);

#endif
