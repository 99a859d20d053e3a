// SPDX-License-Identifier: MIT
/*
 * placement.c - chooses the board for a new page.
 *
 * THEORY      A CPU reaches memory on its own board faster than memory on other boards.  So the kernel places
 *             a new page near the threads that will use it.  A policy chooses the board (lgrp/place.h).  The
 *             usual policy is *first touch*: the page goes to the home of the thread that touches it first,
 *             even while that thread runs elsewhere.
 *             Private memory has its policy in the segment (segplace.c).  Shared memory has it in the object, so
 *             that it holds for all mappings (advice.h).  First touch is decided here; lgrp/place.c decides the
 *             other policies.
 *             If a thread has requested nodes itself (lgrp/mempolicy.h), its pages come from them, except
 *             where advice was given, or where mbind() has set nodes for the range (rangepolicy.h).
 *             Where frames have colours (mem/page.h), the page's number chooses one, so that consecutive
 *             pages use different places of the external cache.  The tunable consistent_coloring selects one
 *             of two ways to choose, as in Solaris (Solaris Tunable Parameters Reference Manual, "sun4u
 *             Specific").  Solaris's third way, bin hopping in the order of touch, is missing.  With way 0 the
 *             colours shift by one after each cache way, which has one page of every colour.
 * TUNABLES    consistent_coloring
 * SEE ALSO    docs/memory.md, docs/lgroups.md, lgrp/place.h
 */
#include "pages/placement.h"

#include "disp/pset.h"
#include "disp/thread.h"
#include "lgrp/lgrpstat.h"
#include "lib/rng.h"
#include "pages/cachelist.h"
#include "stat/trace.h"
#include "stat/tunable.h"
#include "pages/advice.h"
#include "pages/rangepolicy.h"

enum { RECLAIM_BATCH = 64 }; /* pages of the cache list that are freed at once */

uint32_t consistent_coloring = 0;
TUNABLE(
    consistent_coloring, 0, 1,
    "color of a page by its address: 0: shifted by one each cache way; 1: as it is; placement.c");

struct placement place_of_object(struct vm_object *o, uint64_t index)
{
    unsigned policy = object_policy(o, index);

    return (struct placement){policy != LGRP_MEM_POLICY_DEFAULT ? policy : LGRP_MEM_POLICY_NEXT,
                              PAGE_SIZE, index, policy != LGRP_MEM_POLICY_DEFAULT};
}

static const uint8_t policy_stat[LGRP_MEM_POLICY_COUNT] = {
    [LGRP_MEM_POLICY_DEFAULT] = LGRP_STAT_DEFAULT,
    [LGRP_MEM_POLICY_NEXT] = LGRP_STAT_NEXT,
    [LGRP_MEM_POLICY_RANDOM_PROC] = LGRP_STAT_PROC,
    [LGRP_MEM_POLICY_RANDOM_PSET] = LGRP_STAT_PSET,
    [LGRP_MEM_POLICY_RANDOM] = LGRP_STAT_RANDOM,
    [LGRP_MEM_POLICY_ROUNDROBIN] = LGRP_STAT_ROUNDROBIN,
    [LGRP_MEM_POLICY_NEXT_CPU] = LGRP_STAT_NEXT,
};

/* Like place_lgrp(), but for any policy. */
static unsigned place_by_policy(const struct placement *pl)
{
    struct thread *t = curthread;
    enum lgrp_mem_policy policy = pl->policy;
    struct lgrp_mem_in in = {
        .topo = &lgrp_topo,
        .home = t->lg.home,
        .cpu_lgrp = this_cpu()->lgrp,
        .proc_lgrps = t->lg.proc != NULL ? t->lg.proc->bitmap : 0,
        .pset_lgrps = t->part != &cpupart_default ? t->part->lgrps.lgrps : 0,
        .seg_bytes = pl->bytes,
        .index = pl->index,
        .rnd = (uint32_t)rng_next(),
    };
    unsigned lgrp;

    if (is_range_policy(pl->policy))
        return lgrp_topo.node_lgrp[range_policy_node(pl->policy, pl->index, &lgrp)];
    lgrp = lgrp_mem_choose(&policy, &in);
    lgrp_count(lgrp, policy_stat[policy], 1);
    return lgrp;
}

unsigned place_lgrp(const struct placement *pl)
{
    unsigned home = curthread->lg.touch;

    if (unlikely(pl->policy != LGRP_MEM_POLICY_NEXT || home == LGRP_NONE))
        return place_by_policy(pl);
    lgrp_count(home, LGRP_STAT_NEXT, 1);
    return home;
}

/* Why a page is not in `lgrp`: a name for the trace. */
static const char *why_elsewhere(const struct page *pg, unsigned lgrp)
{
    if (pg == NULL)
        return "none";
    if (lgrp_topo.lgrp_nodes[lgrp] == 0)
        return "memless";
    return pg->order != 0 ? "block" : "full";
}

/*
 * A page was placed for curthread: counts it if it is not in `lgrp`, and records it.  Returns the page.
 * @policy  by which `lgrp` was chosen; TRACE_NODES: the nodes of mbind() or set_mempolicy()
 * @index   number of the page in its object
 */
static struct page *note_placed_page(struct page *pg, unsigned lgrp, unsigned policy,
                                     uint64_t index)
{
    unsigned node = pg != NULL ? pg->node : (unsigned)TRACE_NO_NODE;

    TRACE(TOUCH, lgrp | policy << 8, index << PAGE_SHIFT, node);
    if (pg == NULL || lgrp_topo.node_lgrp[node] != lgrp)
        TRACE(FALLBACK, lgrp | node << 8, index << PAGE_SHIFT, trace_name(why_elsewhere(pg, lgrp)));
    return place_count_missed(pg, lgrp);
}

/*
 * Allocates a frame with the colour of page `index`; `start` is the colour offset of the object or
 * address space.
 */
static struct page *alloc_colored(unsigned node, unsigned flags, uint64_t index, unsigned start)
{
    uint64_t color = index + start + (consistent_coloring == 0 ? index / page_colors : 0);

    return page_alloc_colored(node, (unsigned)color & (page_colors - 1), flags);
}

static struct page *alloc_on_node(unsigned node, unsigned order, unsigned flags, uint64_t index,
                                  unsigned start)
{
    flags |= ALLOC_WHOLE;
    return page_colors > 1 && order == 0 ? alloc_colored(node, flags, index, start)
                                         : page_alloc(node, order, flags);
}

/*
 * Allocates a block from the nodes `left` of MPOL_BIND: from `node` first, then from the nodes nearest to
 * lgroup `near`.  NULL: no node has a free block.
 */
static struct page *alloc_bound_once(uint64_t left, unsigned node, unsigned near, unsigned order,
                                     unsigned flags, uint64_t index, unsigned start)
{
    struct page *pg;

    flags = (flags & ~(unsigned)ALLOC_WAIT) | ALLOC_STRICT;
    for (;;) {
        do
            pg = alloc_on_node(node, order, flags, index, start);
        while (pg == NULL && cachelist_reclaim(node, RECLAIM_BATCH) != 0);
        if (pg != NULL)
            return pg;
        left &= ~(1ull << node);
        if (left == 0)
            return NULL;
        node = mempolicy_nearest(&lgrp_topo, near, left);
    }
}

/*
 * Like place_page_colored(), but from the nodes that the range (mbind(2)) or the thread (set_mempolicy(2))
 * has requested.
 */
static struct page *alloc_by_mempolicy(const struct placement *pl, unsigned order, unsigned flags,
                                       uint64_t index, unsigned start)
{
    struct thread *t = curthread;
    const struct mempolicy *mp = &t->mempolicy;
    unsigned near = t->lg.home != LGRP_NONE ? t->lg.home : this_cpu()->lgrp, node, lgrp;
    struct mem_need need = mem_need();
    struct page *pg;

    if (is_range_policy(pl->policy)) {
        mp = &range_policy_of(pl->policy)->mp;
        node = range_policy_node(pl->policy, index >> order, &near);
    } else {
        node = mempolicy_node(&t->mempolicy, &lgrp_topo, near);
    }
    lgrp = lgrp_topo.node_lgrp[node];
    lgrp_count(lgrp, mp->mode == MPOL_INTERLEAVE ? LGRP_STAT_ROUNDROBIN : LGRP_STAT_NEXT, 1);
    if (mp->mode != MPOL_BIND)
        return note_placed_page(alloc_on_node(node, order, flags, index, start), lgrp, TRACE_NODES,
                                index);
    do
        pg = alloc_bound_once(mp->nodes, node, near, order, flags, index, start);
    while (pg == NULL && order == 0 && (flags & ALLOC_WAIT) != 0 && mem_wait(&need) == MEM_FREED);
    return note_placed_page(pg, lgrp, TRACE_NODES, index);
}

struct page *place_page_colored(const struct placement *pl, unsigned order, unsigned flags,
                                uint64_t index, unsigned start)
{
    unsigned lgrp, node;

    if (unlikely(is_range_policy(pl->policy) || (curthread->lg.has_mempolicy && !pl->advised)))
        return alloc_by_mempolicy(pl, order, flags, index, start);
    lgrp = place_lgrp(pl);
    node = lgrp_topo.sole_node[lgrp];
    if (unlikely(node == LGRP_NONE))
        node = lgrp_mem_node(&lgrp_topo, lgrp, (uint32_t)rng_next());
    return note_placed_page(alloc_on_node(node, order, flags, index, start), lgrp, pl->policy,
                            index);
}

struct page *place_page(const struct placement *pl, unsigned order, unsigned flags, uint64_t index)
{
    return place_page_colored(pl, order, flags, index, 0);
}

struct page *place_on_node(unsigned node, const struct page *like)
{
    unsigned flags =
        ALLOC_STRICT | ALLOC_WHOLE | (like->flags & PG_UNPAGEABLE ? ALLOC_UNPAGEABLE : 0);

    if (page_colors > 1 && like->order == 0)
        return page_alloc_colored(node, page_color(like), flags);
    return page_alloc(node, like->order, flags);
}

struct page *place_strict(unsigned lgrp, const struct page *like)
{
    struct page *pg = NULL;

    for (uint64_t nodes = lgrp_topo.lgrp_nodes[lgrp]; nodes != 0 && pg == NULL; nodes &= nodes - 1)
        pg = place_on_node(bit_first(nodes), like);
    return pg;
}
