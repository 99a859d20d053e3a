// SPDX-License-Identifier: MIT
/*
 * choose.h - on which CPU a thread is queued, and from which CPU an idle CPU steals: pure policy.
 *
 * THEORY      A thread runs fastest where its cache is warm and its memory is near.  So a thread that wakes
 *             up goes back to the CPU on which it last ran, while the cache of that CPU is warm.  Otherwise
 *             the CPUs are searched level by level: first the home lgroup, then the others by distance.  At
 *             each level an idle CPU is chosen.  If there is none, the least busy CPU is chosen, provided that
 *             the thread's priority is higher than that CPU's.  Otherwise the search continues at the next
 *             level.  If no level has such a CPU, the thread queues on the least busy CPU of its home: a thread
 *             leaves its home only if it can run at once.
 *             An idle CPU steals from the nearest level that has a thread to steal, and takes the one of the
 *             highest priority there.  Priorities are never compared across levels.
 * COST        Finding an idle CPU is one mask intersection per level.  The priorities of CPUs are read only
 *             on levels without an idle CPU.
 * LOCKING     The functions take no locks and read a snapshot.  Callers check again under the run queue's lock.
 * TUNABLES    rechoose_interval
 * SEE ALSO    docs/dispatcher.md, tests/host/test_choose.c
 */
#ifndef DISP_CHOOSE_H
#define DISP_CHOOSE_H

#include "lgrp/lgrp.h"
#include "lib/cpumask.h"

struct disp_pick {
    const struct lgrp_topo *topo;
    /* on-line CPUs of the thread's processor set that are in its affinity mask */
    const struct cpumask *allowed;
    const struct cpumask *idle; /* idle CPUs of all sets */
    /*
     * the highest of three priorities of a CPU: running, queued, promised.  -1: the CPU is idle.
     * INT_MAX: the CPU is going off-line
     */
    int (*level)(unsigned cpu);
    int bound;            /* CPU the thread is bound to; -1: none */
    unsigned last;        /* CPU on which the thread last ran */
    uint64_t ticks_since; /* clock ticks since the thread last ran */
    /* home lgroup of the thread; LGRP_NONE: no locality (real time, kernel) */
    unsigned home;
    int pri; /* global priority of the thread */
    /* the thread is still the running thread of `last`, which is preempting it */
    bool is_current;
};

/*
 * disp_search_cpu - like disp_pick_cpu() below, but do only the search by levels, starting at lgroup
 * `from` (the thread's home).  LGRP_NONE: all allowed CPUs are one level.
 */
unsigned disp_search_cpu(const struct disp_pick *p, unsigned from);

extern uint32_t rechoose_interval; /* tunable, clock ticks */

/* disp_pick_cpu - the CPU to queue a runnable thread on.  `allowed` must not be empty. */
static inline unsigned disp_pick_cpu(const struct disp_pick *p)
{
    if (p->bound >= 0)
        return (unsigned)p->bound;
    if (!cpumask_test(p->allowed, p->last))
        return disp_search_cpu(p, p->home);
    if (!p->is_current && p->ticks_since > rechoose_interval)
        return disp_search_cpu(p, p->home);
    if (p->home != LGRP_NONE && p->topo->cpu_lgrp[p->last] != p->home)
        return disp_search_cpu(p, p->home);
    return p->last;
}

/*
 * disp_rt_cpu - choose a CPU where a real-time thread can run at once; the home of the thread is
 * ignored.  Idle CPUs are preferred, and among these the CPU on which the thread last ran.
 * CPU_MAX: there is none, and *least is the least busy CPU.
 */
unsigned disp_rt_cpu(const struct disp_pick *p, unsigned *least);

/*
 * disp_balance_cpu - choose a CPU for a thread that would go to the back of the queue of `cpu`.
 * Returns the next CPU of the thread's home lgroup, if the queue of that CPU at the thread's
 * priority is clearly shorter; otherwise `cpu`.  All allowed CPUs count if the home has only one
 * CPU or is LGRP_NONE.
 * @qlen  number of threads queued on a CPU at a priority
 */
unsigned disp_balance_cpu(const struct disp_pick *p, unsigned cpu,
                          unsigned (*qlen)(unsigned cpu, int pri));

/*
 * disp_steal_cpu - the CPU from which CPU `thief` of lgroup `lgrp` should take a thread; -1: none.
 * @busy  CPUs of the thief's set that have queued threads
 * @best  how good it is to steal from a CPU, for instance the highest priority of a thread that can
 *        be stolen there; -1: there is none
 */
int disp_steal_cpu(const struct lgrp_topo *t, unsigned thief, unsigned lgrp,
                   const struct cpumask *busy, int (*best)(unsigned cpu));

#endif
