// SPDX-License-Identifier: MIT
/*
 * sys_numa.c - what Linux's programs ask about memory nodes: get_mempolicy(2).
 *
 * THEORY      Placement is Solaris's here (docs/lgroups.md): a policy belongs to a segment or an object and is set
 *             by madvise(MADV_ACCESS_*) or memcntl().  A thread has no policy of its own in Linux's sense, so the
 *             answer to "which?" is always MPOL_DEFAULT, which is true: the home's node, then the nearest.  All memory
 *             is allowed.
 *             set_mempolicy(2) and mbind(2) are absent, and numactl says so when it is asked to bind.
 * SEE ALSO    fs/sysfs_node.c, docs/lgroups.md, tests/test_dynamic.py
 */
#include "lgrp/lgrp.h"
#include "lib/errno.h"
#include "proc/proc.h"
#include "sys/sys.h"
#include "x86/uaccess.h"

enum { MPOL_DEFAULT = 0 };
enum { MPOL_F_NODE = 1, MPOL_F_ADDR = 2, MPOL_F_MEMS_ALLOWED = 4 };

/* A set of nodes into a program's mask of `maxnode` - 1 bits, as Linux counts them; what is beyond ours is cleared. */
static int put_nodes(uint64_t uaddr, uint64_t maxnode, uint64_t set)
{
    uint64_t bytes = round_up(maxnode - 1, 64) / 8, word = set;

    if (maxnode < lgrp_topo.nnodes || bytes > PAGE_SIZE)
        return -EINVAL;
    for (uint64_t at = 0; at < bytes; at += sizeof word, word = 0) {
        int err = copy_out(uaddr + at, &word, sizeof word);

        if (err != 0)
            return err;
    }
    return 0;
}

/* The node of the page at an address of the caller, which is brought in; -EFAULT if it cannot be read. */
static int node_at(uint64_t addr)
{
    struct as_page_info pi;
    uint8_t             byte;
    int                 node;

    do {
        if (copy_in(&byte, addr, sizeof byte) != 0)
            return -EFAULT;
        as_query(curproc()->as, &addr, 1, &pi);
    } while (!pi.present); /* taken again before we looked */
    node = lgrp_phys_node(&lgrp_topo, pi.phys);
    return node >= 0 ? node : -EFAULT;
}

/* get_mempolicy(int *mode, unsigned long *nodes, maxnode, addr, flags) */
long sys_get_mempolicy(struct regs *r)
{
    uint64_t umode = r->arg[0], unodes = r->arg[1], addr = r->arg[3], flags = r->arg[4], nodes = 0;
    int      mode = MPOL_DEFAULT, err = 0;

    if ((flags & ~(uint64_t)(MPOL_F_NODE | MPOL_F_ADDR | MPOL_F_MEMS_ALLOWED)) != 0)
        return -EINVAL;
    if (flags & MPOL_F_MEMS_ALLOWED) {
        if (flags != MPOL_F_MEMS_ALLOWED)
            return -EINVAL;
        nodes = (2ull << (lgrp_topo.nmem - 1)) - 1; /* nodes with memory come first */
    } else if (flags & MPOL_F_ADDR) {
        struct as_page_info pi;

        as_query(curproc()->as, &addr, 1, &pi);
        if (!pi.mapped)
            return -EFAULT;
        if ((flags & MPOL_F_NODE) && (mode = node_at(addr)) < 0)
            return mode;
    } else if (addr != 0 || (flags & MPOL_F_NODE)) {
        return -EINVAL; /* the next node is told of interleaving threads only */
    }
    if (umode != 0)
        err = copy_out(umode, &mode, sizeof mode);
    if (err == 0 && unodes != 0)
        err = put_nodes(unodes, r->arg[2], nodes);
    return err;
}
