// SPDX-License-Identifier: MIT
/*
 * mempolicy.h - Linux's memory policy of a thread: from which nodes its new pages come.
 *
 * THEORY      A thread may ask for nodes (set_mempolicy(2)); what it then touches first comes from there, unless a
 *             segment or an object has advice of its own.  Where several nodes are asked for, the nearest to the
 *             thread's home is first, or, to interleave, each in turn.  Its children and threads inherit it.
 * LOCKING     none: it is the thread's own
 * SEE ALSO    vm/placement.c, sys/sys_numa.c, docs/lgroups.md, tests/host/test_mempolicy.c
 */
#ifndef LGRP_MEMPOLICY_H
#define LGRP_MEMPOLICY_H

#include "lgrp/lgrp.h"

/* Linux's numbers. */
enum {
    MPOL_DEFAULT,        /* as segments say (lgrp/place.h)                             */
    MPOL_PREFERRED,      /* one node, then the nearest to it                           */
    MPOL_BIND,           /* these nodes and no others                                  */
    MPOL_INTERLEAVE,     /* these in turn, a page each; what they lack, the nearest    */
    MPOL_LOCAL,          /* the home, whatever the segment's size                      */
    MPOL_PREFERRED_MANY, /* these nodes, then the nearest                              */
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
    uint16_t flags; /* MPOL_F_* that it was asked with         */
    uint64_t asked; /* nodes, as they were asked for           */
    uint64_t nodes; /* of these, nodes with memory             */
};

/*
 * mempolicy_make - what set_mempolicy(mode | flags, asked) means where nodes 0 .. nmem-1 have memory.  With
 * MPOL_F_RELATIVE_NODES node n is the n-th of these, round and round.  0, or -EINVAL: no such mode or flags, nodes
 * where there must be none, none with memory where there must be one.
 */
int mempolicy_make(struct mempolicy *mp, int mode, unsigned flags, uint64_t asked, unsigned nmem);
/* mempolicy_next - the node whose turn it is, of those that pages interleave on. */
unsigned mempolicy_next(const struct mempolicy *mp);
/* mempolicy_node - the node to try first for a page of a thread whose home is `home`.  Not for MPOL_DEFAULT. */
unsigned mempolicy_node(struct mempolicy *mp, const struct lgrp_topo *t, unsigned home);
/* mempolicy_nearest - the member of `nodes` (some have memory) nearest to lgroup `lgrp`. */
unsigned mempolicy_nearest(const struct lgrp_topo *t, unsigned lgrp, uint64_t nodes);

#endif
