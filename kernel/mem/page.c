// SPDX-License-Identifier: MIT
/*
 * page.c - the frame allocator: it chooses the node and the source of a frame, and waits if there is none.
 *
 * THEORY      See page.h for the idea.  A single frame of the CPU's own node comes from the CPU's magazine
 *             (magazine.c), every other block from the free lists of a node (buddy.c).  If a node has no free
 *             block left, free frames in its bins by colour return to the lists (color.c); then the next
 *             nearest node is tried.
 *             While few frames of a node are free, an allocation first asks pages/ to free some, and freed
 *             frames bypass the magazine.
 * INVARIANTS  page.h I1-I3
 * LOCKING     node->lock (RANK_BUDDY); a CPU never holds the locks of two nodes.  Magazines are used with
 *             interrupts off.
 * SEE ALSO    docs/memory.md, tests/host/test_buddy.c
 */
#include "mem/page.h"

#include "lib/cpu.h"
#include "lib/string.h"
#include "mem/color.h"
#include "mem/magazine.h"
#include "mem/page_setup.h"
#include "stat/cpustat.h"
#include "stat/panic.h"

/* LAB frames-nearest: begin */
/*
 * Takes a block from the lists of a node; NULL: there is none.
 * @asked  the caller requested this node; if false, the node is a fallback
 */
static struct page *alloc_from_node(unsigned node, unsigned order, bool asked)
{
    struct mem_node *n = &mem_nodes[node];
    struct page *pg;

    spin_lock(&n->lock);
    pg = block_take_or_bins(n, order);
    if (pg != NULL && asked)
        n->n_local++;
    else if (pg != NULL)
        n->n_foreign++;
    spin_unlock(&n->lock);
    return pg;
}

/*
 * Takes a block from the CPU's magazine, which is filled if necessary, or from the lists of
 * `node`.  If `node` has no block, and ALLOC_STRICT is not set, takes a block from the nearest node
 * that has one.  *from is the node of the block.  NULL: no node has a block.
 */
static struct page *alloc_block_once(unsigned node, unsigned order, unsigned flags, unsigned *from)
{
    struct page *pg = NULL;

    irq_push();
    if (order == 0 && node == this_cpu()->node) {
        struct mem_cpu *m = this_cpu()->mem;

        if (m->npages > 0 || magazine_fill(m, node))
            pg = magazine_pop(m);
    } else {
        pg = alloc_from_node(node, order, true);
    }
    irq_pop();
    *from = node;
    if (unlikely(pg == NULL) && !(flags & ALLOC_STRICT)) {
        struct mem_node *n = &mem_nodes[node];

        for (unsigned i = 0; i < n->nnear && pg == NULL; i++) {
            *from = n->near[i];
            if (*from != node)
                pg = alloc_from_node(*from, order, false);
        }
        if (pg != NULL)
            atomic_fetch_add_explicit(&n->n_fallback, 1, memory_order_relaxed);
    }
    return pg;
}
/* LAB frames-nearest: end */

/* Must the running thread leave the last free frames of the node to other threads? */
static bool is_alloc_refused(const struct mem_node *n)
{
    return is_node_scarce(n) && !pageout_may_take();
}

enum { BLOCK_TRIES = 16 }; /* retries for a block of several frames */

/*
 * The part of page_alloc() for the case that the magazine is empty or cannot be used.  The function
 * does not wait for ever for a block of several frames, because perhaps only single frames become
 * free.
 */
static __attribute__((noinline)) struct page *alloc_slow(unsigned node, unsigned order,
                                                         unsigned flags, unsigned *from)
{
    const struct mem_node *n = &mem_nodes[node];
    struct mem_need need = {.node = node,
                            .tries = order == 0 ? UINT32_MAX : BLOCK_TRIES,
                            .may_sleep = (flags & ALLOC_WAIT) != 0};
    struct page *pg;
    bool refused;

    if (need.may_sleep)
        spin_check_sleep(0);
    if (is_node_scarce(n))
        mem_wait(&need);
    need.failed = true;
    do {
        refused = is_alloc_refused(n);
        pg = refused ? NULL : alloc_block_once(node, order, flags, from);
    } while (unlikely(pg == NULL) && (need.may_sleep || refused) && mem_wait(&need) == MEM_FREED);
    return pg;
}

struct page *page_alloc(unsigned node, unsigned order, unsigned flags)
{
    struct page *pg = NULL;
    unsigned from = node;
    struct cpu *c;

#ifdef HR_TEST
    if ((flags & ALLOC_WAIT) != 0)
        spin_check_sleep(0);
#endif
    irq_push();
    c = this_cpu();
    if (order == 0 && node == c->node && likely(c->mem->npages > 0))
        pg = magazine_pop(c->mem);
    irq_pop();
    if (unlikely(pg == NULL)) {
        pg = alloc_slow(node, order, flags, &from);
        if (pg == NULL)
            return NULL;
    }
    page_setup(pg, from, order, flags);
    return pg;
}

void page_free(struct page *pg)
{
    unsigned node = pg->node, order = pg->order;

    ASSERT(pg->refs <= 1 && !(pg->flags & (PG_FREE | PG_CACHED | PG_WRITEBACK)) &&
               pg->mapcount == 0,
           "page.h I2");
    if (unlikely((pg->flags & (PG_SWAPPED | PG_SLOT | PG_AHEAD | PG_UNPAGEABLE)) != 0)) {
        uint32_t flags = pg->flags;

        if ((flags & (PG_SWAPPED | PG_SLOT)) != 0)
            swap_free_slot(pg);
        if ((flags & PG_SWAPPED) != 0) /* swap_free_slot() has freed the descriptor, too */
            return;
        if ((flags & PG_UNPAGEABLE) != 0)
            mem_unpageable_add(-(1 << order));
        if ((flags & PG_AHEAD) != 0)
            CPUSTAT_INC(around_wasted);
    }
    pg->flags = 0;
    pg->refs = 0;
    /* LAB frames-free: begin */
    irq_push();
    if (order == 0 && node == this_cpu()->node && !is_node_scarce(&mem_nodes[node])) {
        magazine_push(this_cpu()->mem, node, pg);
    } else {
        spin_lock(&mem_nodes[node].lock);
        block_give(&mem_nodes[node], pg, order);
        spin_unlock(&mem_nodes[node].lock);
    }
    irq_pop();
    /* LAB frames-free: end */
}

void page_zero(struct page *pg, unsigned order)
{
    CPUSTAT_INC(zero_pages);
    memset(page_to_virt(pg), 0, PAGE_SIZE << order);
}

void page_drop_code(struct page *pg, unsigned order)
{
    for (unsigned i = 0; i < 1u << order; i++)
        if (!pg[i].no_code) {
            memset(page_to_virt(&pg[i]), 0, PAGE_SIZE);
            pg[i].no_code = true;
        }
}

void page_copy(struct page *dst, struct page *src, unsigned order)
{
    memcpy(page_to_virt(dst), page_to_virt(src), PAGE_SIZE << order);
}
