// SPDX-License-Identifier: MIT
/*
 * nodemask.h - sets of memory nodes as arguments of Linux's calls.
 */
#ifndef SYS_NODEMASK_H
#define SYS_NODEMASK_H

#include "lgrp/lgrp.h"
#include "lgrp/mempolicy.h"

enum { MPOL_MODE_FLAGS = MPOL_F_NUMA_BALANCING | MPOL_F_RELATIVE_NODES | MPOL_F_STATIC_NODES };

/*
 * copy_in_nodes - read a program's mask of `maxnode` - 1 bits; none if `uaddr` is 0.  0; -EINVAL: too long, or a bit
 * above 63 is set; -EFAULT.
 */
int copy_in_nodes(uint64_t uaddr, uint64_t maxnode, uint64_t *set);

/* nodes_with_memory - these have the lowest numbers. */
static inline uint64_t nodes_with_memory(void)
{
    return (2ull << (lgrp_topo.nmem - 1)) - 1;
}

#endif
