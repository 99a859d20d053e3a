// SPDX-License-Identifier: MIT
/*
 * sys_lgrp.c - system calls about locality groups: homes, affinities, topology.
 *
 * THEORY      A program can tell the kernel near which memory an LWP should run.  Each LWP has an affinity to
 *             each lgroup: none, weak or strong.  When an affinity is set, the kernel chooses the home lgroup of
 *             the LWP again, by affinity first (lgrp/home.h).  If the new affinity is none, it chooses by load.
 *             An LWP that is bound to a CPU keeps the lgroup of that CPU as its home.
 * SEE ALSO    lgrp/load.h, include/uapi/homeroom.h, docs/lgroups.md; liblgrp(3LIB) of Solaris
 */
#include "disp/pset.h"
#include "disp/thread.h"
#include "lgrp/lgrp.h"
#include "lib/errno.h"
#include "mem/page.h"
#include "proc/proc.h"
#include "sys/solaris.h"
#include "sys/sys.h"
#include "uapi/homeroom.h"
#include "lgrp/lgrpstat.h"

long sys_gethomelgroup(struct regs *r)
{
    return curthread->lg.home;
}

/* LGRP_OP_INFO: copies a struct hr_lgrp_info of lgroup `id` to ubuf.  0, -EINVAL, -EFAULT. */
static long copy_out_lgrp_info(int id, uint64_t ubuf)
{
    const struct lgrp_topo *t = &lgrp_topo;
    struct hr_lgrp_info in = {.id = id};

    if (id < 0 || (unsigned)id >= t->nlgrps)
        return -EINVAL;
    CPUMASK_FOREACH (cpu, &t->lgrp_cpus[id])
        if (disp_cpu_state(cpu, NULL) != P_OFFLINE) {
            in.cpus[cpu / 64] |= 1ul << (cpu % 64);
            in.ncpus++;
        }
    BITS_FOREACH(node, t->lgrp_nodes[id])
    {
        in.mem_installed += mem_nodes[node].ninstalled_pages * PAGE_SIZE;
        in.mem_free += mem_free_pages((unsigned)node) * PAGE_SIZE;
    }
    for (unsigned i = 0; i < t->nranges; i++)
        if (t->node_lgrp[t->range_node[i]] == id) {
            uint64_t end = t->range[i].base + t->range[i].len;

            if (in.mem_bound == 0 || t->range[i].base < in.mem_base)
                in.mem_base = t->range[i].base;
            in.mem_bound = max_of((uint64_t)in.mem_bound, end);
        }
    in.load = pset_lgrp_load((unsigned)id);
    for (unsigned i = 0; i < t->nlgrps; i++)
        in.latency[i] = t->lat[id][i];
    return copy_out(ubuf, &in, sizeof in);
}

/* Argument of get_lgrp_affinity() and set_lgrp_affinity(). */
struct affinity {
    unsigned lgrp;
    /* 0 none, 1 weak, 2 strong; result of get_lgrp_affinity(), argument of set_lgrp_affinity() */
    int level;
};

static int get_lgrp_affinity(struct lwp *l, void *arg)
{
    struct affinity *a = arg;

    a->level = (int)thread_lgrp_affinity(&l->t, a->lgrp);
    return 0;
}

static int set_lgrp_affinity(struct lwp *l, void *arg)
{
    const struct affinity *a = arg;

    return thread_set_lgrp_affinity(&l->t, a->lgrp, (unsigned)a->level);
}

static int get_home_lgrp(struct lwp *l, void *arg)
{
    *(int *)arg = l->t.lg.home;
    return 0;
}

/* The affinities of the user ABI, indexed by level. */
static const int levels[] = {LGRP_AFF_NONE, LGRP_AFF_WEAK, LGRP_AFF_STRONG};

/* The level of an affinity of the ABI, or -EINVAL. */
static int affinity_to_level(int affinity)
{
    for (int i = 0; i < (int)array_size(levels); i++)
        if (levels[i] == affinity)
            return i;
    return -EINVAL;
}

static long do_lgrp_affinity(struct procset *who, int lgrp, int affinity, bool set)
{
    struct affinity a = {.lgrp = (unsigned)lgrp, .level = 0};
    int err;

    if (!ids_valid(who) || lgrp < 0 || (unsigned)lgrp >= lgrp_topo.nlgrps)
        return -EINVAL;
    if (set) {
        a.level = affinity_to_level(affinity);
        if (a.level < 0)
            return -EINVAL;
    }
    who->change = set;
    err = ids_apply(who, set ? set_lgrp_affinity : get_lgrp_affinity, &a);
    if (err != 0)
        return err;
    return set ? 0 : levels[a.level];
}

/*
 * LGRP_OP_LWP_*, for plgrp: calls fn under proc_lock for one LWP of any process.  `change`: the
 * caller needs permission to change the LWP.  Returns the result of fn, or -ESRCH, -EPERM.
 */
static long apply_to_lwp(int pid, int lwpid, lwp_fn fn, void *arg, bool change)
{
    int err = -ESRCH;
    struct proc *p;
    struct lwp *l;

    spin_lock(&proc_lock);
    p = proc_find(pid);
    if (p != NULL && p->state == PROC_LIVE) {
        if (change && !sig_permitted(curcred(), p, 0)) {
            err = -EPERM;
        } else {
            LIST_FOREACH (l, &p->lwps, proc_link)
                if (l->lwpid == lwpid)
                    err = fn(l, arg);
        }
    }
    spin_unlock(&proc_lock);
    return err;
}

static long set_lwp_lgrp_affinity(int pid, int lwpid, int lgrp, int affinity)
{
    struct affinity a = {.lgrp = (unsigned)lgrp, .level = affinity_to_level(affinity)};

    if (lgrp < 0 || (unsigned)lgrp >= lgrp_topo.nlgrps || a.level < 0)
        return -EINVAL;
    return apply_to_lwp(pid, lwpid, set_lgrp_affinity, &a, true);
}

static long get_lwp_lgrp_affinity(int pid, int lwpid, int lgrp)
{
    struct affinity a = {.lgrp = (unsigned)lgrp};
    long err;

    if (lgrp < 0 || (unsigned)lgrp >= lgrp_topo.nlgrps)
        return -EINVAL;
    err = apply_to_lwp(pid, lwpid, get_lgrp_affinity, &a, false);
    return err != 0 ? err : levels[a.level];
}

/* lgrp(op, ...): include/uapi/homeroom.h lists the operations and their arguments. */
long sys_lgrp(struct regs *r)
{
    struct procset who = {.type = (int)r->arg[1], .id = (int)r->arg[2]};
    int home = 0, err;

    switch (r->arg[0]) {
    case LGRP_OP_COUNT:
        return lgrp_topo.nlgrps;
    case LGRP_OP_INFO:
        return copy_out_lgrp_info((int)r->arg[1], r->arg[2]);
    case LGRP_OP_HOME:
        err = ids_valid(&who) ? ids_apply(&who, get_home_lgrp, &home) : -EINVAL;
        return err != 0 ? err : home;
    case LGRP_OP_AFF_GET:
        return do_lgrp_affinity(&who, (int)r->arg[3], 0, false);
    case LGRP_OP_AFF_SET:
        return do_lgrp_affinity(&who, (int)r->arg[3], (int)r->arg[4], true);
    case LGRP_OP_GEN:
        return atomic_load(&lgrp_generation);
    case LGRP_OP_LWP_HOME:
        err = (int)apply_to_lwp((int)r->arg[1], (int)r->arg[2], get_home_lgrp, &home, false);
        return err != 0 ? err : home;
    case LGRP_OP_LWP_SET:
        return set_lwp_lgrp_affinity((int)r->arg[1], (int)r->arg[2], (int)r->arg[3],
                                     (int)r->arg[4]);
    case LGRP_OP_LWP_GET:
        return get_lwp_lgrp_affinity((int)r->arg[1], (int)r->arg[2], (int)r->arg[3]);
    default:
        return -EINVAL;
    }
}
