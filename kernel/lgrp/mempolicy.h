// SPDX-License-Identifier: MIT
/*
 * mempolicy.h - the memory policy of a thread, as in Linux: the nodes from which its new pages come.
 *
 * THEORY      A program may know better than the kernel where its memory should be.  With set_mempolicy(2) a
 *             thread names nodes.  Pages that it then touches first come from these nodes, unless the segment
 *             or object has advice of its own.  If there are several nodes, the one nearest to the thread's
 *             home is tried first.  With interleaving, the nodes are used in turn.  New threads and child
 *             processes inherit the policy.
 * LOCKING     There are no locks: only the thread itself uses its policy.
 * SEE ALSO    pages/placement.c, sys/sys_numa.c, docs/lgroups.md, tests/host/test_mempolicy.c
 */
#ifndef LGRP_MEMPOLICY_H
#define LGRP_MEMPOLICY_H

#include "lgrp/lgrp.h"

/* The numbers are those of Linux. */
enum {
    MPOL_DEFAULT,   /* the policy of the segment (lgrp/place.h) */
    MPOL_PREFERRED, /* one node; if it is full, the node nearest to it */
    MPOL_BIND,      /* only these nodes */
    /* these nodes in turn, a page each; if one is full, the node nearest to it */
    MPOL_INTERLEAVE,
    MPOL_LOCAL,          /* the home lgroup of the thread, for segments of any size */
    MPOL_PREFERRED_MANY, /* these nodes; if they are full, the nearest other node */
    MPOL_COUNT
};
enum {
    MPOL_F_NUMA_BALANCING = 1 << 13,
    MPOL_F_RELATIVE_NODES = 1 << 14,
    MPOL_F_STATIC_NODES = 1 << 15
};

struct mempolicy {
    uint8_t mode;
    uint8_t last;   /* interleaving: the node of the last page */
    uint16_t flags; /* MPOL_F_* of the call */
    uint64_t asked; /* set of nodes in the call */
    uint64_t nodes; /* the nodes with memory that result from `asked` */
};

/*
 * mempolicy_make - set *mp to the meaning of set_mempolicy(mode | flags, asked) on a machine where nodes 0 ..
 * nmem-1 have memory.  With MPOL_F_RELATIVE_NODES, node n means node n modulo nmem.  0, or -EINVAL: there is no
 * such mode or combination of flags; or nodes are given to a mode that takes none; or no node with memory is
 * given to a mode that needs one.
 */
int mempolicy_make(struct mempolicy *mp, int mode, unsigned flags, uint64_t asked, unsigned nmem);
/* mempolicy_next - the node for the next interleaved page; does not change *mp. */
unsigned mempolicy_next(const struct mempolicy *mp);
/*
 * mempolicy_node - the node to try first for a new page of a thread whose home is `home`.  Must not be called
 * for MPOL_DEFAULT.  With interleaving, each call advances to the next node.
 */
unsigned mempolicy_node(struct mempolicy *mp, const struct lgrp_topo *t, unsigned home);
/*
 * mempolicy_nearest - the member of `nodes` with memory that is nearest to lgroup `lgrp`; 0: there is none.
 */
unsigned mempolicy_nearest(const struct lgrp_topo *t, unsigned lgrp, uint64_t nodes);

#endif
