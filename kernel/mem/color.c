// SPDX-License-Identifier: MIT
/*
 * color.c - frames by colour, for caches with physical addresses.
 *
 * THEORY      A cache that uses physical addresses stores a line at a place that depends on the address.  Frames
 *             that occupy the same places of a way of the external cache have the same colour.  The colour of a
 *             frame is its number modulo the number of pages of a way.  Kernels colour user pages for two
 *             reasons: consecutive pages then do not evict each other from the cache, and a program has the
 *             same conflicts in every run (Kessler and Hill, "Page Placement Algorithms for Large Real-Indexed
 *             Caches", ACM TOCS 10, 1992).  The caller chooses the colour of a page: pages/placement.c.
 *             A block of as many frames as there are colours has one frame of each colour.  If the bin of a
 *             colour is empty, such a block is split: the frame of that colour is allocated, and the other
 *             frames go to their bins.
 *             Freed frames go to the buddy system, not to the bins.  There they merge, but not with frames of
 *             their block that are still in bins.  So all bins are emptied into the buddy system in two cases:
 *             if they would hold more than BINNED_MAX frames of each colour on average, and if the buddy system
 *             has no large enough block left.  If memory is short, the allocator ignores colours.  A frame that
 *             has returned from its bin to the buddy system cannot be chosen by colour while other frames of
 *             its block are in use.  So bins should be emptied rarely.  Arrays that grow at the same time need
 *             one colour more often than another, by about the square root of their number of pages.  Therefore
 *             BINNED_MAX is large; it only limits the time to empty the bins.
 * INVARIANTS  I1  a frame in a bin is not PG_FREE, so its buddy does not merge with it
 *             I2  nbinned is the number of frames in a node's bins; nfree_pages includes them
 * LOCKING     node->lock (RANK_BUDDY)
 * TUNABLES    use_page_coloring; page_colors (read only)
 * SEE ALSO    page.h, docs/memory.md, tests/host/test_buddy.c
 */
#include "mem/color.h"

#include "mem/page_setup.h"
#include "stat/tunable.h"

enum { BINNED_MAX = 64 }; /* frames of each colour, on average */

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

/*
 * Takes a frame of a colour from the bin of that colour, or else from a new block.  NULL: there is
 * neither.  The caller holds n->lock.
 */
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

    /* if the node has no colours or few frames, page_alloc() takes a frame of any colour */
    if (n->bin != NULL && !is_node_scarce(n)) {
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
            continue; /* frames of this node have no colours */
        mem_nodes[node].bin = page_to_virt(pg);
        for (unsigned i = 0; i < colors; i++)
            list_init(&mem_nodes[node].bin[i]);
    }
}
