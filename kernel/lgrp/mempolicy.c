// SPDX-License-Identifier: MIT
/*
 * mempolicy.c - the memory policy of a thread, as in Linux: see mempolicy.h.
 *
 * SEE ALSO    set_mempolicy(2) in the manual of Linux
 */
#include "lgrp/mempolicy.h"

#include "lib/errno.h"

/* LAB placement-mempolicy: begin */
/* Replaces each member n of `nodes` by n modulo nmem. */
static uint64_t fold_node_set(uint64_t nodes, unsigned nmem)
{
    uint64_t set = 0;

    for (; nodes != 0; nodes &= nodes - 1)
        set |= 1ull << bit_first(nodes) % nmem;
    return set;
}

int mempolicy_make(struct mempolicy *mp, int mode, unsigned flags, uint64_t asked, unsigned nmem)
{
    uint64_t all = (2ull << (nmem - 1)) - 1, nodes;
    bool none = mode == MPOL_DEFAULT || mode == MPOL_LOCAL;

    if (mode < 0 || mode >= MPOL_COUNT ||
        (flags & ~(unsigned)(MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES)) != 0 ||
        flags == (MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES))
        return -EINVAL;
    if (mode == MPOL_PREFERRED && asked == 0) {
        mode = MPOL_LOCAL;
        none = true;
    }
    if (none && (asked != 0 || (mode == MPOL_LOCAL && flags != 0)))
        return -EINVAL;
    nodes = (flags & MPOL_F_RELATIVE_NODES) != 0 ? fold_node_set(asked, nmem) : asked & all;
    if (!none && nodes == 0)
        return -EINVAL;
    if (mode == MPOL_PREFERRED)
        nodes = 1ull << bit_first(nodes);
    *mp =
        (struct mempolicy){(uint8_t)mode, NODE_MAX - 1, (uint16_t)(none ? 0 : flags), asked, nodes};
    return 0;
}

unsigned mempolicy_next(const struct mempolicy *mp)
{
    uint64_t above = mp->nodes & ~((2ull << mp->last) - 1);

    return bit_first(above != 0 ? above : mp->nodes);
}

unsigned mempolicy_nearest(const struct lgrp_topo *t, unsigned lgrp, uint64_t nodes)
{
    for (unsigned i = 0; i < t->nlgrps; i++) {
        uint64_t here = t->lgrp_nodes[t->near[lgrp][i]] & nodes;

        if (here != 0)
            return bit_first(here);
    }
    return 0;
}

unsigned mempolicy_node(struct mempolicy *mp, const struct lgrp_topo *t, unsigned home)
{
    if (mp->mode == MPOL_INTERLEAVE)
        return mp->last = (uint8_t)mempolicy_next(mp);
    return mempolicy_nearest(t, home, mp->mode == MPOL_LOCAL ? ~0ull : mp->nodes);
}
/* LAB placement-mempolicy: end */
