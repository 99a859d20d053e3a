// SPDX-License-Identifier: MIT
/*
 * sys_numa.c - Linux's calls about memory nodes: set_mempolicy(2), get_mempolicy(2).
 *
 * THEORY      A memory policy determines on which node a new page is placed.  Homeroom has Solaris's policies
 *             (docs/lgroups.md): each segment or object has a policy, which madvise(MADV_ACCESS_*) or memcntl()
 *             sets.  If no advice was given, the policy of the thread that first touches the page is used.
 *             set_mempolicy() sets the policy of a thread, mbind() that of a range (sys_mbind.c).  For a range with
 *             Solaris's advice, get_mempolicy() returns MPOL_DEFAULT.  A thread can use all nodes (there are no
 *             cpusets).
 * SEE ALSO    lgrp/mempolicy.h, fs/sysfs/sysfs_node.c, docs/lgroups.md, t_sys's memory_policy, t_numa,
 *             tests/test_dynamic.py
 */
#include "lgrp/lgrp.h"
#include "lib/errno.h"
#include "proc/proc.h"
#include "sys/nodemask.h"
#include "sys/sys.h"
#include "x86/uaccess.h"

enum { MPOL_F_NODE = 1, MPOL_F_ADDR = 2, MPOL_F_MEMS_ALLOWED = 4 };

/*
 * Copies a set of nodes to a program's mask of `maxnode` - 1 bits (Linux counts one more), and clears the
 * bits above the highest node.  0; -EINVAL: the mask is too short or longer than a page; -EFAULT.
 */
static int copy_out_nodes(uint64_t uaddr, uint64_t maxnode, uint64_t set)
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

int copy_in_nodes(uint64_t uaddr, uint64_t maxnode, uint64_t *set)
{
    uint64_t bits = maxnode - 1, word;

    *set = 0;
    if (bits == 0 || uaddr == 0)
        return 0;
    if (bits > PAGE_SIZE * 8)
        return -EINVAL;
    for (uint64_t at = 0; at < bits; at += 64) {
        int err = copy_in(&word, uaddr + at / 8, sizeof word);

        if (err != 0)
            return err;
        if (bits - at < 64)
            word &= (1ull << (bits - at)) - 1;
        if (at == 0)
            *set = word;
        else if (word != 0)
            return -EINVAL;
    }
    return 0;
}

/* set_mempolicy(mode | flags, const unsigned long *nodes, maxnode) */
long sys_set_mempolicy(struct regs *r)
{
    unsigned how = (unsigned)r->arg[0];
    struct mempolicy mp;
    uint64_t asked;
    int err = copy_in_nodes(r->arg[1], r->arg[2], &asked);

    if (err == 0)
        err = mempolicy_make(&mp, (int)(how & ~(unsigned)MPOL_MODE_FLAGS), how & MPOL_MODE_FLAGS,
                             asked, lgrp_topo.nmem);
    if (err == 0)
        thread_set_mempolicy(&mp);
    return err;
}

/*
 * The node of the page at an address of the caller.  Faults the page in; -EFAULT: the page cannot
 * be read.
 */
static int node_of_user_page(uint64_t addr)
{
    struct as_page_info pi;
    uint8_t byte;
    int node;

    do {
        if (copy_in(&byte, addr, sizeof byte) != 0)
            return -EFAULT;
        as_query(curproc()->as, &addr, 1, &pi);
    } while (!pi.present); /* the page was reclaimed before as_query(): try again */
    node = lgrp_phys_node(&lgrp_topo, pi.phys);
    return node >= 0 ? node : -EFAULT;
}

/* The nodes of a policy, and in *mode its mode and flags, as the program that has set it sees them. */
static uint64_t mempolicy_reported(const struct mempolicy *mp, int *mode)
{
    *mode = mp->mode | mp->flags;
    return mp->flags != 0 ? mp->asked : mp->nodes;
}

/* get_mempolicy(int *mode, unsigned long *nodes, maxnode, addr, flags) */
long sys_get_mempolicy(struct regs *r)
{
    uint64_t umode = r->arg[0], unodes = r->arg[1], addr = r->arg[3], flags = r->arg[4], nodes = 0;
    int mode = MPOL_DEFAULT, err = 0;
    const struct mempolicy *mp = &curthread->mempolicy;

    if ((flags & ~(uint64_t)(MPOL_F_NODE | MPOL_F_ADDR | MPOL_F_MEMS_ALLOWED)) != 0)
        return -EINVAL;
    if (flags & MPOL_F_MEMS_ALLOWED) {
        if (flags != MPOL_F_MEMS_ALLOWED)
            return -EINVAL;
        nodes = nodes_with_memory();
    } else if (flags & MPOL_F_ADDR) {
        struct mempolicy of_range;

        err = as_policy_at(curproc()->as, addr, &of_range);
        if (err != 0)
            return err;
        nodes = mempolicy_reported(&of_range, &mode);
        if (flags & MPOL_F_NODE)
            mode = node_of_user_page(addr);
        if (mode < 0)
            return mode;
    } else if (addr != 0 || ((flags & MPOL_F_NODE) && mp->mode != MPOL_INTERLEAVE)) {
        return -EINVAL; /* only a thread whose policy is MPOL_INTERLEAVE has a next node */
    } else {
        nodes = mempolicy_reported(mp, &mode);
        if (flags & MPOL_F_NODE)
            mode = (int)mempolicy_next(mp);
    }
    if (umode != 0)
        err = copy_out(umode, &mode, sizeof mode);
    if (err == 0 && unodes != 0)
        err = copy_out_nodes(unodes, r->arg[2], nodes);
    return err;
}
