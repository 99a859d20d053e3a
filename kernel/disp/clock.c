// SPDX-License-Identifier: MIT
/*
 * clock.c - the 100 Hz clock, which one CPU keeps for all.
 *
 * THEORY      A timer on one CPU expires 100 times a second.  Each tick adds 1 to lbolt.  Then it looks at
 *             every CPU and charges the tick to the state of that CPU: user, kernel, idle, or waiting for a
 *             disk.  While samples are traced, it takes them (sample.c).  Every tenth of a second it updates
 *             the load of the lgroups, and every five seconds the load averages.  Both are kept per processor
 *             set.  The other CPUs take no tick.  When the CPU that keeps the clock goes off-line or becomes
 *             no-intr, the clock moves to another CPU, like any timer.
 *             If the host has fewer CPUs than the machine, ticks come late, and those between are lost.  The
 *             scheduler counts ticks all the same, because threads run less often, too.  What users see as time
 *             (load averages, times(2)) is of clock_mono_ns().
 *             The watchdog: while a thread can run, the counts of context switches, system calls, faults and
 *             user ticks must grow.  If they do not for watchdog_s seconds, the machine counts as hung.
 * LOCKING     The tick runs in interrupt context and reads the fields of other CPUs without locks.
 * SEE ALSO    docs/dispatcher.md; chapter "Load averages" of docs/lgroups.md
 */
#include "disp/clock.h"

#include "disp/disp.h"
#include "disp/loadavg.h"
#include "lgrp/lgrp.h"
#include "lib/string.h"
#include "stat/cpustat.h"
#include "stat/panic.h"

_Atomic uint64_t lbolt;
_Atomic uint64_t clock_ns;
unsigned watchdog_s; /* seconds without progress that count as hung; 0: off */

static struct timer clock_timer;
static uint64_t progress_last, progress_at;
static uint64_t averaged_ns; /* time up to which the load averages are made */

#define AVERAGES_NS   (5 * 1000000000ul) /* time between two updates of the load averages */
#define AVERAGES_MOST (60 * 60 / 5ul)    /* updates after which the averages are of the present */

/*
 * Counts, per set and lgroup, the threads that run or wait: those queued on CPUs of the lgroup, and those
 * that run anywhere and are at home there.  Threads on a set's real-time queue count for the set, but for no
 * lgroup.  Returns the number of all such threads of the machine.
 */
static unsigned sample_loads(void)
{
    unsigned total = 0;

    for (unsigned i = 0; i < cpupart_end; i++)
        if (cpuparts[i] != NULL) {
            memset(cpuparts[i]->runnable, 0, sizeof cpuparts[i]->runnable);
            cpuparts[i]->counting = cpuparts[i]->rt.nrun;
        }
    CPUMASK_FOREACH (i, &cpu_online_mask) {
        struct cpu *c = cpus[i];
        struct thread *t = c->thread;
        struct cpupart *p = c->disp->part;
        unsigned home;

        p->runnable[c->lgrp] = (uint16_t)(p->runnable[c->lgrp] + c->disp->q.nrun);
        p->counting += c->disp->q.nrun;
        if (!c->idle) {
            p->counting++;
            home = t->lg.home;
            if (home < LGRP_MAX)
                p->runnable[home]++;
        }
    }
    for (unsigned i = 0; i < cpupart_end; i++)
        if (cpuparts[i] != NULL) {
            /* In one step, because other CPUs read nrunnable at any time. */
            cpuparts[i]->nrunnable = cpuparts[i]->counting;
            total += cpuparts[i]->counting;
        }
    return total;
}

/* Updates the loads of the lgroups. */
static void update_lgrps(void)
{
    sample_loads();
    spin_lock(&cpupart_lock);
    for (unsigned i = 0; i < cpupart_end; i++)
        if (cpuparts[i] != NULL && cpuparts[i]->live)
            lgrp_part_update(&cpuparts[i]->lgrps, cpuparts[i]->runnable);
    spin_unlock(&cpupart_lock);
}

/* Updates the load averages `steps` times. */
static void update_averages(uint64_t steps)
{
    unsigned total = sample_loads();

    spin_lock(&cpupart_lock);
    for (; steps > 0; steps--) {
        for (unsigned i = 0; i < cpupart_end; i++)
            if (cpuparts[i] != NULL && cpuparts[i]->live)
                loadavg_update(cpuparts[i]->loadavg, cpuparts[i]->nrunnable);
        loadavg_update(loadavg, total);
    }
    spin_unlock(&cpupart_lock);
}

unsigned clock_runnable_now(const struct lgrp_part *part, unsigned lgrp)
{
    const struct cpupart *set = container_of(part, struct cpupart, lgrps);
    unsigned n = 0;

    CPUMASK_FOREACH (i, &set->cpus) {
        const struct cpu *c = cpus[i];

        if (c->lgrp == lgrp)
            n += c->disp->q.nrun;
        if (!c->idle && c->thread->lg.home == lgrp)
            n++;
    }
    return n;
}

/* A number that grows while programs make progress. */
static uint64_t count_progress(void)
{
    uint64_t n = 0;

    CPUMASK_FOREACH (i, &cpu_online_mask) {
        const struct cpu_stat *s = cpus[i]->stat;

        n += s->csw + s->syscl + s->minf + s->usr_ticks;
    }
    return n;
}

static void check_watchdog(void)
{
    uint64_t now = count_progress();

    verdict("@alive %lu", now);
    if (now != progress_last || disp_runnable() == 0) {
        progress_last = now;
        progress_at = lbolt;
    } else if (lbolt - progress_at > (uint64_t)watchdog_s * HZ) {
        for (unsigned i = 0; i < ncpu; i++)
            if (cpus[i] != this_cpu() && !cpus[i]->idle)
                kprintf("watchdog: CPU %u runs %s\n", i, cpus[i]->thread->name);
        disp_report();
        verdict("@hung %u seconds without progress", watchdog_s);
        machine_exit(EXIT_WATCHDOG);
    }
}

static void clock_tick(struct timer *t)
{
    uint64_t now = ++lbolt, now_ns = clock_mono_ns();

    clock_ns = now_ns;
    timer_arm(t, max_of(t->deadline_ns + 1000000000 / HZ, now_ns + 1000000), clock_tick);
    CPUMASK_FOREACH (i, &cpu_online_mask) {
        struct cpu *c = cpus[i];

        if (c->idle && c->disp->ndiskwait != 0)
            c->stat->wt_ticks++;
        else if (c->idle)
            c->stat->idl_ticks++;
        else if (c->in_user || (c == this_cpu() && c->user_interrupted))
            c->stat->usr_ticks++;
        else
            c->stat->sys_ticks++;
    }
    if (unlikely((trace_enable & TRACE_SAMPLES) != 0))
        trace_sample(now);
    if (now % (HZ / 10) == 0)
        update_lgrps();
    if (now_ns - averaged_ns >= AVERAGES_NS) {
        update_averages(min_of((now_ns - averaged_ns) / AVERAGES_NS, AVERAGES_MOST));
        averaged_ns = now_ns / AVERAGES_NS * AVERAGES_NS;
    }
    class_fss_update(now % (HZ / 10) == 0);
    class_tick(now % HZ == 0);
    if (now % HZ == 0 && watchdog_s > 0)
        check_watchdog();
}

void clock_start(void)
{
    timer_arm(&clock_timer, clock_mono_ns() + 1000000000 / HZ, clock_tick);
}
