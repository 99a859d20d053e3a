// SPDX-License-Identifier: MIT
/*
 * color.c - frames by colour, for caches with physical addresses.
 *
 * THEORY      Frames that lie in the same places of a way of the external cache have the same colour: their number
 *             modulo the pages of a way.  Kernels colour user pages so that pages in a row do not meet in the cache,
 *             and so that a program finds the same places each time it runs (Kessler and Hill, "Page Placement
 *             Algorithms for Large Real-Indexed Caches", ACM TOCS 10, 1992).  Who wants a page names the colour:
 *             vm/placement.c.
 *             A block as large as all colours has a frame of each.  A colour whose bin is empty opens one; its other
 *             frames wait in their bins.  Freed frames go to the buddy system, and merge there but for those of their
 *             block that wait.  So the bins are emptied into it when they hold more than BINNED_MAX of each colour on
 *             average, or it has no such block, or nothing at all, left.  Where memory is short colours do not count.
 *             What the bins give up is lost for colours while other frames of its blocks are in use, and arrays that
 *             grow at the same time want one colour more often than another by about the root of their pages: so
 *             BINNED_MAX is large, and bounds only how long it takes to empty the bins.
 * INVARIANTS  I1  a frame in a bin is not PG_FREE: its buddy does not merge with it
 *             I2  nbinned is the number of frames in a node's bins; nfree_pages counts them too
 * LOCKING     node->lock (RANK_BUDDY)
 * TUNABLES    use_page_coloring; page_colors (read only)
 * SEE ALSO    page.h, docs/memory.md, tests/host/test_buddy.c
 */
#include "mem/color.h"

#include "stat/tunable.h"

enum { BINNED_MAX = 64 };

uint32_t use_page_coloring = 1;
uint32_t page_colors = 1;
TUNABLE_BOOT(use_page_coloring, 0, 1,
             "0: frames have no colours, whatever the caches are; read at boot; color.c");
TUNABLE_RO(page_colors,
           "colours of frames: pages in a way of the external cache; 1: none; color.c");

void bins_empty(struct mem_node *n)
{
    n->nfree_pages -= n->nbinned;
    for (unsigned color = 0; color < page_colors; color++)
        while (!list_empty(&n->bin[color]))
            block_give(n, list_pop(&n->bin[color], struct page, link), 0);
    n->nbinned = 0;
}

/* A frame of a colour; NULL: there is none, nor a block to open. */
static struct page *take_colored_frame(struct mem_node *n, unsigned color)
{
    unsigned order = (unsigned)__builtin_ctz(page_colors);
    struct list *bin = &n->bin[color];
    struct page *pg = NULL;

    if (!list_empty(bin)) {
        n->nbinned--;
        n->nfree_pages--;
        return list_pop(bin, struct page, link);
    }
    if (n->nbinned <= (BINNED_MAX - 1) * page_colors)
        pg = block_take(n, order);
    if (pg == NULL) {
        bins_empty(n);
        pg = block_take(n, order);
    }
    if (pg == NULL)
        return NULL;
    for (unsigned i = 0; i < page_colors; i++) {
        pg[i].flags = 0;
        pg[i].node = (uint8_t)(n - mem_nodes);
        if (i != color)
            list_push_front(&n->bin[i], &pg[i].link);
    }
    n->nbinned += page_colors - 1;
    n->nfree_pages += page_colors - 1;
    return pg + color;
}

struct page *page_alloc_colored(unsigned node, unsigned color, unsigned flags)
{
    struct mem_node *n = &mem_nodes[node];
    struct page *pg = NULL;

    if (n->bin != NULL &&
        n->nfree_pages >= n->low_pages) { /* else page_alloc() may have to wake the pageout */
        spin_lock(&n->lock);
        pg = take_colored_frame(n, color);
        n->n_local += pg != NULL;
        spin_unlock(&n->lock);
    }
    if (unlikely(pg == NULL))
        return page_alloc(node, 0, flags);
    page_setup(pg, node, 0, flags);
    return pg;
}

void page_coloring_init(unsigned colors)
{
    unsigned order = 0;

    colors = min_of(colors, 1u << MAX_ORDER);
    if (use_page_coloring == 0 || colors <= 1 || (colors & (colors - 1)) != 0)
        return;
    while (PAGE_SIZE << order < colors * sizeof(struct list))
        order++;
    page_colors = colors;
    for (unsigned node = 0; node < nnodes; node++) {
        struct page *pg = page_alloc(node, order, ALLOC_NEAR);

        if (pg == NULL)
            continue; /* its frames have no colours */
        mem_nodes[node].bin = page_to_virt(pg);
        for (unsigned i = 0; i < colors; i++)
            list_init(&mem_nodes[node].bin[i]);
    }
}
