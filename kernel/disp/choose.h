// SPDX-License-Identifier: MIT
/*
 * choose.h - which CPU a thread is queued on, and from whom an idle CPU steals: pure policy.
 *
 * THEORY      Home first.  A woken thread goes back to the CPU it last ran on while its cache
 *             is warm; else the CPUs are searched level by level, home lgroup first, then by
 *             distance.  At each level any idle CPU will do; else the least busy one if the
 *             thread outranks it; else the search widens.  If nothing is found the thread
 *             queues on the least busy CPU of its home: it leaves home only to run at once.
 *             An idle CPU steals from the nearest level that has something, the highest
 *             priority there; priorities are never compared across levels.
 * COST        Finding an idle CPU is one mask intersection per level; a CPU's priority is asked
 *             for only on the levels that have none.
 * LOCKING     none: a snapshot by nature; callers re-check under the run queue's lock
 * TUNABLES    rechoose_interval
 * SEE ALSO    docs/dispatcher.md, tests/host/test_choose.c
 */
#ifndef DISP_CHOOSE_H
#define DISP_CHOOSE_H

#include "lgrp/lgrp.h"
#include "lib/cpumask.h"

struct disp_pick {
    const struct lgrp_topo *topo;
    const struct cpumask *allowed; /* on-line CPUs of the thread's partition (and affinity) */
    const struct cpumask *idle;    /* idle CPUs, any partition */
    int (*level)(unsigned cpu);    /* max(running, top queued, promised priority); idle: -1;
                                      going off-line: INT_MAX */
    int bound;                     /* CPU the thread is bound to, or -1 */
    unsigned last;                 /* CPU it last ran on */
    uint64_t ticks_since;          /* clock ticks since it last ran */
    unsigned home;                 /* its lgroup; LGRP_NONE: no locality (real time, kernel) */
    int pri;                       /* its global priority */
    bool is_current;               /* it is the thread now running on `last` (preempted) */
};

/* disp_pick_cpu - the CPU to queue a runnable thread on.  `allowed` must not be empty. */
unsigned disp_pick_cpu(const struct disp_pick *p);

/*
 * disp_search_cpu - the search alone, level by level from lgroup `from` (home, or the lgroup of
 * `last` for threads without one).
 */
unsigned disp_search_cpu(const struct disp_pick *p, unsigned from);

/*
 * disp_rt_cpu - for a real-time thread, which has no home: a CPU where it can run at once, its last
 * if that is one of them; CPU_MAX: there is none, and *least is the least busy one.
 */
unsigned disp_rt_cpu(const struct disp_pick *p, unsigned *least);

/*
 * disp_balance_cpu - for a thread put at the back of a queue: the next CPU of the same lgroup
 * when its queue at this priority is clearly shorter, else `cpu`.  qlen(cpu, pri): queued
 * threads of that priority.  Never leaves the home lgroup unless the home has one CPU or is
 * LGRP_NONE.
 */
unsigned disp_balance_cpu(const struct disp_pick *p, unsigned cpu,
                          unsigned (*qlen)(unsigned cpu, int pri));

/*
 * disp_steal_cpu - the CPU that idle CPU `thief` of lgroup `lgrp` should take a thread from, or
 * -1. busy: CPUs of the partition with queued threads.  best(cpu): highest priority of an
 * unbound thread there that may be taken, or -1.
 */
int disp_steal_cpu(const struct lgrp_topo *t, unsigned thief, unsigned lgrp,
                   const struct cpumask *busy, int (*best)(unsigned cpu));

extern uint32_t rechoose_interval;

#endif
