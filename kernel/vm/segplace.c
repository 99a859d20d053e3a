// SPDX-License-Identifier: MIT
/*
 * segplace.c - chooses the board for a new page of a segment.
 *
 * THEORY      Private memory has its placement policy in the segment.  Shared memory has it in the object, so that
 *             it holds for all mappings.  Without advice, the policy depends on the kind and size of the memory
 *             (lgrp_mem_default).  The colours of each address space begin at a different colour.
 *             Almost every new page is private and goes to the home of the thread that touches it first (*first
 *             touch*).  That is decided here, in a few instructions; pages/placement.c decides the rest.
 * LOCKING     The fields of a segment are locked as described in as.h.
 * SEE ALSO    placement.c, docs/memory.md
 */
#include "vm/segplace.h"

#include "disp/thread.h"
#include "pages/advice.h"

/* LAB placement-segment: begin */
struct placement place_of_seg(struct seg *s, uint64_t addr)
{
    unsigned policy = seg_shared(s) ? object_policy(s->obj, seg_index(s, addr)) : s->policy;

    bool advised = policy != LGRP_MEM_POLICY_DEFAULT;

    if (!advised)
        policy = lgrp_mem_default(seg_shared(s), s->size);
    return (struct placement){policy, s->size, (addr - s->n.start) >> PAGE_SHIFT, advised};
}
/* LAB placement-segment: end */

/* The uncommon cases: other policies, a thread without a home, a home of several nodes, colours, the trace. */
static __attribute__((noinline)) struct page *place_private_slow(struct seg *s, uint64_t addr,
                                                                 unsigned order, unsigned flags)
{
    struct placement pl = place_of_seg(s, addr);

    return place_page_colored(&pl, order, flags, addr >> PAGE_SHIFT, s->as->color_start);
}

struct page *place_private(struct seg *s, uint64_t addr, unsigned order, unsigned flags)
{
    unsigned home = curthread->lg.touch, node;
    unsigned policy = s->policy != 0 ? s->policy : lgrp_mem_default(false, s->size);

    if (unlikely(policy != LGRP_MEM_POLICY_NEXT || home == LGRP_NONE || page_colors > 1 ||
                 place_traced()))
        return place_private_slow(s, addr, order, flags);
    node = lgrp_topo.sole_node[home];
    if (unlikely(node == LGRP_NONE))
        return place_private_slow(s, addr, order, flags);
    lgrp_count(home, LGRP_STAT_NEXT, 1);
    return place_count_missed(page_alloc(node, order, flags | ALLOC_WHOLE), home);
}
