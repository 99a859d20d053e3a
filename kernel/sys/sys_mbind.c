// SPDX-License-Identifier: MIT
/*
 * sys_mbind.c - Linux's calls about the nodes of ranges and of pages: mbind(2), set_mempolicy_home_node(2),
 * move_pages(2), migrate_pages(2).
 *
 * THEORY      mbind() sets a policy for a range, and can move the pages that exist.  move_pages() moves single pages,
 *             migrate_pages() all pages of a process from some nodes to others.  Both work on other processes of the
 *             same user, and for the superuser on all.  Arguments are checked in the order in which Linux checks them.
 * LOCKING     proc_lock while a process is looked up
 * SEE ALSO    sys_numa.c, vm/mbind.c, vm/movepages.c, docs/lgroups.md; t_numa
 */
#include "lib/errno.h"
#include "proc/proc.h"
#include "sys/nodemask.h"
#include "sys/sys.h"
#include "x86/uaccess.h"

enum { MPOL_MF_VALID = MPOL_MF_STRICT | MPOL_MF_MOVE | MPOL_MF_MOVE_ALL };

/* mbind(addr, len, mode | mode flags, const unsigned long *nodes, maxnode, flags) */
long sys_mbind(struct regs *r)
{
    unsigned how = (unsigned)r->arg[2], mode = how & ~(unsigned)MPOL_MODE_FLAGS,
             flags = (unsigned)r->arg[5];
    struct mempolicy mp;
    uint64_t asked;
    int err;

    if (mode >= MPOL_COUNT || (how & MPOL_F_NUMA_BALANCING) != 0 ||
        (how & MPOL_MODE_FLAGS) == (MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES))
        return -EINVAL;
    err = copy_in_nodes(r->arg[3], r->arg[4], &asked);
    if (err != 0)
        return err;
    if ((flags & ~(unsigned)MPOL_MF_VALID) != 0)
        return -EINVAL;
    if ((flags & MPOL_MF_MOVE_ALL) != 0 && !cred_superuser(curcred()))
        return -EPERM;
    if (r->arg[0] % PAGE_SIZE == 0 && round_up(r->arg[1], PAGE_SIZE) == 0)
        return 0;
    err = mempolicy_make(&mp, (int)mode, how & MPOL_MODE_FLAGS, asked, lgrp_topo.nmem);
    return err == 0 ? as_mbind(curproc()->as, r->arg[0], r->arg[1], &mp, flags) : err;
}

/* set_mempolicy_home_node(addr, len, node, flags) */
long sys_set_mempolicy_home_node(struct regs *r)
{
    uint64_t node = r->arg[2];

    if (r->arg[0] % PAGE_SIZE != 0 || r->arg[3] != 0 || node >= lgrp_topo.nnodes)
        return -EINVAL;
    return as_set_home_node(curproc()->as, r->arg[0], r->arg[1], (unsigned)node);
}

/* Whether the caller has the ids that Linux demands of it (ptrace(2), "access mode checking"). */
static bool may_move_pages_of(const struct lwp *l)
{
    const struct cred *me = curcred(), *c = l->cred;

    if (l->proc == curproc() || cred_superuser(me))
        return true;
    return l->proc->dumpable && me->uid == c->uid && me->uid == c->euid && me->uid == c->suid &&
           me->gid == c->gid && me->gid == c->egid && me->gid == c->sgid;
}

/*
 * The process of thread `tid` (0: the caller's), with a reference.  0, -ESRCH, -EPERM, or -EINVAL: it has ended, and
 * its parent has not waited for it.
 */
static int hold_moved_proc(int tid, struct proc **p)
{
    struct lwp *l;
    int err = -ESRCH;

    spin_lock(&proc_lock);
    l = tid == 0 ? curlwp() : lwp_find(tid);
    if (l != NULL)
        err = may_move_pages_of(l) ? 0 : -EPERM;
    else if (tid > 0 && proc_find(tid) != NULL)
        err = -EINVAL;
    if (err == 0) {
        *p = l->proc;
        proc_hold(*p);
    }
    spin_unlock(&proc_lock);
    return err;
}

/* The address space of that process, with a reference.  The errors of hold_moved_proc(); -EINVAL: it has none. */
static int hold_space_of(int tid, struct as **as)
{
    struct proc *p;
    int err = hold_moved_proc(tid, &p);

    if (err != 0)
        return err;
    *as = proc_as_hold(p);
    proc_release(p);
    if (*as == NULL)
        return -EINVAL;
    err = hold_moved_proc(tid,
                          &p); /* again, because a set-user-id program can have begun meanwhile */
    if (err == 0)
        proc_release(p);
    else
        as_release(*as);
    return err;
}

/* The arrays of move_pages(): user addresses. */
struct page_arrays {
    uint64_t pages, nodes, status;
};

/*
 * Moves page `i` of the arrays, or only looks at it if there are no nodes.  0; 1: it did not move now, and could
 * later; -EFAULT; -ENODEV: there is no memory on the requested node.
 */
static int move_listed_page(struct as *as, const struct page_arrays *a, uint64_t i, bool all)
{
    uint64_t addr;
    int node, result, err = copy_in(&addr, a->pages + i * sizeof addr, sizeof addr);

    if (err != 0)
        return err;
    if (a->nodes == 0) {
        result = as_page_node(as, addr);
    } else {
        err = copy_in(&node, a->nodes + i * sizeof node, sizeof node);
        if (err != 0)
            return err;
        if (node < 0 || (unsigned)node >= lgrp_topo.nmem)
            return -ENODEV;
        result = as_move_page(as, addr, (unsigned)node, all);
    }
    err = copy_out(a->status + i * sizeof result, &result, sizeof result);
    if (err != 0)
        return err;
    return result == -EBUSY || result == -ENOMEM;
}

/* move_pages(pid, count, void **pages, const int *nodes, int *status, flags) */
long sys_move_pages(struct regs *r)
{
    struct page_arrays a = {r->arg[2], r->arg[3], r->arg[4]};
    unsigned flags = (unsigned)r->arg[5];
    long left = 0;
    struct as *as;
    int err;

    if ((flags & ~(unsigned)(MPOL_MF_MOVE | MPOL_MF_MOVE_ALL)) != 0)
        return -EINVAL;
    if ((flags & MPOL_MF_MOVE_ALL) != 0 && !cred_superuser(curcred()))
        return -EPERM;
    err = hold_space_of((int)r->arg[0], &as);
    if (err != 0)
        return err;
    for (uint64_t i = 0; i < r->arg[1] && err == 0; i++) {
        int one = proc_is_ending() ? -EINTR
                                   : move_listed_page(as, &a, i, (flags & MPOL_MF_MOVE_ALL) != 0);

        if (one < 0)
            err = one;
        else
            left += one;
    }
    as_release(as);
    return err != 0 ? err : left;
}

/* The member of `to` that takes the place of member `node` of `from`: the one with the same position, in a circle. */
static unsigned counterpart_node(unsigned node, uint64_t from, uint64_t to)
{
    unsigned skip = bit_count(from & ((1ull << node) - 1)) % bit_count(to);

    while (skip-- > 0)
        to &= to - 1;
    return bit_first(to);
}

/*
 * Sets map[n] to the node to which pages of node n move.  As in Linux, the nodes of `to` take the places of those of
 * `from`, in order.  If the sets differ in size, pages that are already on a node of `to` stay.
 */
static void map_nodes(uint8_t *map, uint64_t from, uint64_t to)
{
    for (unsigned n = 0; n < NODE_MAX; n++) {
        bool stays =
            (from >> n & 1) == 0 || (bit_count(from) != bit_count(to) && (to >> n & 1) != 0);

        map[n] = (uint8_t)(stays ? n : counterpart_node(n, from, to));
    }
}

/* migrate_pages(pid, maxnode, const unsigned long *from, const unsigned long *to): the number of pages that stay */
long sys_migrate_pages(struct regs *r)
{
    uint64_t from, to, failed = 0;
    uint8_t map[NODE_MAX];
    bool root = cred_superuser(curcred());
    struct as *as;
    int err = copy_in_nodes(r->arg[2], r->arg[1], &from);

    if (err == 0)
        err = copy_in_nodes(r->arg[3], r->arg[1], &to);
    if (err == 0)
        err = hold_space_of((int)r->arg[0], &as);
    if (err != 0)
        return err;
    if ((to & ~nodes_with_memory()) != 0 && !root)
        err = -EPERM;
    to &= nodes_with_memory();
    if (err == 0 && to == 0)
        err = -EINVAL;
    if (err == 0) {
        map_nodes(map, from, to);
        err = as_move_pages(as, map, root, &failed);
    }
    as_release(as);
    return err != 0 ? err : (long)failed;
}
