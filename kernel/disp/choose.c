// SPDX-License-Identifier: MIT
/*
 * choose.c - on which CPU a thread is queued, and from which CPU an idle CPU steals.
 *
 * THEORY      See choose.h.  For threads without locality (real time, kernel threads) the whole processor set
 *             is one level.  Within a level the search begins at the thread's last CPU and wraps around.  So
 *             threads that must leave different boards do not all arrive on the same CPU.
 * LOCKING     none
 * SEE ALSO    choose.h, docs/dispatcher.md, tests/host/test_choose.c
 */
#include "disp/choose.h"

#include "stat/tunable.h"

enum {
    LOW_PRI = 16,      /* priorities below LOW_PRI are low */
    LOW_PRI_DIFF = 1,  /* threads by which the other queue must be shorter, at low priorities */
    HIGH_PRI_DIFF = 3, /* the same number at all other priorities */
};

uint32_t rechoose_interval = 3;
TUNABLE(rechoose_interval, 0, 1000,
        "ticks (10 ms): a thread that ran longer ago has a cold cache; 3; choose.c");

/* The first member of `m` at or after `from`, wrapping around; CPU_MAX if the mask is empty. */
static unsigned next_cpu_wrap(const struct cpumask *m, unsigned from)
{
    unsigned cpu = cpumask_next(m, from);

    return cpu != CPU_MAX ? cpu : cpumask_next(m, 0);
}

/* The least busy CPU of `m` (not empty); among equal CPUs, the first after `from`.  *low is its priority. */
static unsigned find_least_busy_cpu(const struct disp_pick *p, const struct cpumask *m,
                                    unsigned from, int *low)
{
    unsigned first = next_cpu_wrap(m, from), best = first, cpu = first;

    *low = p->level(first);
    for (;;) {
        cpu = next_cpu_wrap(m, cpu + 1);
        if (cpu == first)
            return best;
        int level = p->level(cpu);

        if (level < *low) {
            *low = level;
            best = cpu;
        }
    }
}

/*
 * One level of the search: a CPU of `m` where the thread can run at once.  CPU_MAX: there is none, and
 * *fallback is the least busy CPU of the first such level.
 */
static unsigned search_lgrp_level(const struct disp_pick *p, const struct cpumask *m,
                                  unsigned *fallback)
{
    struct cpumask idle = cpumask_and(m, p->idle);
    unsigned cpu = next_cpu_wrap(&idle, p->last);
    int low;

    if (cpu != CPU_MAX)
        return cpu;
    cpu = find_least_busy_cpu(p, m, p->last, &low);
    if (p->pri > low)
        return cpu;
    if (*fallback == CPU_MAX)
        *fallback = cpu;
    return CPU_MAX;
}

unsigned disp_search_cpu(const struct disp_pick *p, unsigned from)
{
    unsigned fallback = CPU_MAX, cpu;

    if (from == LGRP_NONE) {
        cpu = search_lgrp_level(p, p->allowed, &fallback);
        return cpu != CPU_MAX ? cpu : fallback;
    }
    for (unsigned k = 0; k < p->topo->nlevels[from]; k++) {
        struct cpumask m = cpumask_and(&p->topo->level_cpus[from][k], p->allowed);

        if (cpumask_empty(&m))
            continue;
        cpu = search_lgrp_level(p, &m, &fallback);
        if (cpu != CPU_MAX)
            return cpu;
    }
    return fallback;
}

unsigned disp_rt_cpu(const struct disp_pick *p, unsigned *least)
{
    *least = CPU_MAX;
    return search_lgrp_level(p, p->allowed, least);
}

unsigned disp_balance_cpu(const struct disp_pick *p, unsigned cpu,
                          unsigned (*qlen)(unsigned cpu, int pri))
{
    struct cpumask m = *p->allowed;
    unsigned next, here, there, diff;

    if (p->home != LGRP_NONE) {
        struct cpumask home = cpumask_and(&p->topo->lgrp_cpus[p->home], p->allowed);

        if (!cpumask_test(&home, cpu))
            return cpu; /* the thread already runs outside its home, or its home has no CPU */
        if (cpumask_weight(&home) > 1)
            m = home;
    }
    next = next_cpu_wrap(&m, cpu + 1);
    if (next == CPU_MAX || next == cpu)
        return cpu;
    here = qlen(cpu, p->pri);
    there = qlen(next, p->pri);
    diff = p->pri < LOW_PRI ? LOW_PRI_DIFF : HIGH_PRI_DIFF;
    return here >= there + diff ? next : cpu;
}

int disp_steal_cpu(const struct lgrp_topo *t, unsigned thief, unsigned lgrp,
                   const struct cpumask *busy, int (*best)(unsigned cpu))
{
    for (unsigned k = 0; k < t->nlevels[lgrp]; k++) {
        struct cpumask m = cpumask_and(&t->level_cpus[lgrp][k], busy);
        int victim = -1, highest = -1;

        cpumask_clear(&m, thief);
        if (cpumask_empty(&m))
            continue;
        unsigned first = next_cpu_wrap(&m, thief), cpu = first;

        do {
            int pri = best(cpu);

            if (pri > highest) {
                highest = pri;
                victim = (int)cpu;
            }
            cpu = next_cpu_wrap(&m, cpu + 1);
        } while (cpu != first);
        if (victim >= 0)
            return victim;
    }
    return -1;
}
