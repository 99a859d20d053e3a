// SPDX-License-Identifier: MIT
/*
 * place.c - chooses the lgroup and the memory node of a new page.
 *
 * THEORY      Each policy chooses one lgroup.  A random policy chooses from a set of lgroups with memory; each
 *             is equally likely.  If a policy cannot be used, another takes its place.  This happens for first
 *             touch by a thread without a home, and for RANDOM_PROC and RANDOM_PSET if their set of lgroups is
 *             empty or has no memory.
 *             The node of the lgroup is a second, separate choice: each of its nodes is equally likely.
 * LOCKING     The functions take no locks.
 * SEE ALSO    place.h, docs/lgroups.md, tests/host/test_place.c
 */
#include "lgrp/place.h"

/* LAB placement-choose: begin */
/*
 * Returns a random member of `set` (not empty).  All members are equally likely if `rnd` is a
 * uniform 32-bit number.
 */
static unsigned draw_random_member(uint64_t set, uint32_t rnd)
{
    unsigned skip = (unsigned)(((uint64_t)rnd * bit_count(set)) >> 32);

    while (skip-- > 0)
        set &= set - 1;
    return bit_first(set);
}

/* Memory of a set of lgroups, in bytes. */
static uint64_t memory_of_lgrps(const struct lgrp_topo *t, uint64_t lgrps)
{
    uint64_t bytes = 0;

    for (; lgrps != 0; lgrps &= lgrps - 1)
        for (uint64_t n = t->lgrp_nodes[bit_first(lgrps)]; n != 0; n &= n - 1)
            bytes += t->node_bytes[bit_first(n)];
    return bytes;
}

/*
 * With lgrp_mem_pset_aware, changes a random policy to RANDOM_PSET if the segment is smaller than the memory of
 * the processor set.  In the default set (pset_lgrps 0), changes nothing.
 */
static enum lgrp_mem_policy narrow_to_pset(enum lgrp_mem_policy policy,
                                           const struct lgrp_mem_in *in)
{
    bool random = policy == LGRP_MEM_POLICY_RANDOM || policy == LGRP_MEM_POLICY_RANDOM_PROC;

    if (random && lgrp_mem_pset_aware != 0 && in->pset_lgrps != 0 &&
        in->seg_bytes < memory_of_lgrps(in->topo, in->pset_lgrps))
        return LGRP_MEM_POLICY_RANDOM_PSET;
    return policy;
}

/* The lgroup `steps` places after `home` among the lgroups with memory, wrapping around. */
static unsigned round_robin_lgrp(const struct lgrp_topo *t, unsigned home, uint64_t steps)
{
    uint64_t set = t->mem_lgrps;
    uint64_t below = home < LGRP_MAX ? set & ((1ull << home) - 1) : 0;
    unsigned n = bit_count(set);
    uint64_t skip = (bit_count(below) + steps % n) % n;

    while (skip-- > 0)
        set &= set - 1;
    return bit_first(set);
}

unsigned lgrp_mem_choose(enum lgrp_mem_policy *policy, const struct lgrp_mem_in *in)
{
    const struct lgrp_topo *t = in->topo;
    uint64_t set = t->mem_lgrps;

    if (*policy == LGRP_MEM_POLICY_NEXT && in->home == LGRP_NONE)
        *policy = LGRP_MEM_POLICY_RANDOM;
    *policy = narrow_to_pset(*policy, in);

    switch (*policy) {
    case LGRP_MEM_POLICY_NEXT:
        return in->home;
    case LGRP_MEM_POLICY_NEXT_CPU:
        return in->cpu_lgrp;
    case LGRP_MEM_POLICY_ROUNDROBIN:
        return round_robin_lgrp(t, in->home, in->index);
    case LGRP_MEM_POLICY_RANDOM_PROC:
        set &= in->proc_lgrps;
        break;
    case LGRP_MEM_POLICY_RANDOM_PSET:
        set &= in->pset_lgrps;
        break;
    default:
        *policy = LGRP_MEM_POLICY_RANDOM;
        break;
    }
    if (set == 0) {
        *policy = LGRP_MEM_POLICY_RANDOM;
        set = t->mem_lgrps;
    }
    return draw_random_member(set, in->rnd);
}

unsigned lgrp_mem_node_slow(const struct lgrp_topo *t, unsigned lgrp, uint32_t rnd)
{
    for (unsigned i = 0; i < t->nlgrps; i++) {
        uint64_t nodes = t->lgrp_nodes[t->near[lgrp][i]];

        if (nodes != 0)
            return draw_random_member(nodes, rnd);
    }
    return 0;
}
/* LAB placement-choose: end */
