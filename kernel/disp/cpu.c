// SPDX-License-Identifier: MIT
/*
 * cpu.c - processor states, bindings and affinities: who may run where.
 *
 * THEORY      An off-line CPU runs no threads: it leaves the partition's mask and its lgroup's count, what was queued
 *             on it is queued elsewhere, and what it ran leaves at the next interrupt.  When it was the last of its
 *             lgroup, the threads at home there choose new homes.  Coming back moves nobody.
 *             Binding a thread to a CPU of another lgroup moves its home there, and unbinding leaves it there.
 * LOCKING     cpu_lock serialises changes of state; then thread and partition locks
 * SEE ALSO    p_online(2), processor_bind(2) of Solaris 9; docs/dispatcher.md
 */
#include "disp/clock.h"
#include "disp/disp.h"
#include "disp/sync.h"
#include "lgrp/lgrp.h"
#include "lgrp/stats.h"
#include "lib/errno.h"
#include "lib/rng.h"
#include "stat/panic.h"
#include "uapi/homeroom.h"

struct cpupart cpupart_default = {.id = -1, .lock = SPINLOCK_INIT(RANK_PART)};

static struct mutex cpu_lock = {
    .lock = SPINLOCK_INIT(RANK_CV), .waiters = LIST_INIT(cpu_lock.waiters), .name = "cpu state"};

bool disp_cpu_online(const struct cpu *c)
{
    return c->disp->state != P_OFFLINE;
}

/* A CPU joins the default set and takes work; called for each CPU at boot and when it comes on-line. */
void disp_cpu_join(struct cpu *c)
{
    c->disp->state = P_ONLINE;
    c->disp->state_since = (int64_t)(clock_real_ns() / 1000000000);
    spin_lock(&cpupart_default.lock);
    lgrp_part_cpu(&cpupart_default.lgrps, c->lgrp, 1);
    spin_unlock(&cpupart_default.lock);
    cpumask_set_atomic(&cpupart_default.cpus, c->id);
    cpumask_set_atomic(&cpu_online_mask, c->id);
}

int disp_cpu_state(unsigned cpu, long *since)
{
    if (cpu >= ncpu)
        return -EINVAL;
    if (since != NULL)
        *since = cpus[cpu]->disp->state_since;
    return cpus[cpu]->disp->state;
}

/* Sets the binding of `t` (t->lock held), which may wait on a queue: nsteal counts by the binding. */
static void set_binding(struct thread *t, int cpu)
{
    bool queued = t->state == TS_RUNNABLE && disp_dequeue(t);

    t->bound_cpu = cpu;
    if (queued)
        disp_enqueue(t, false);
    else if (t->state == TS_ONPROC)
        disp_poke(t->cpu);
}

/* Whether a thread is bound to `cpu`; with `unbind` they are released instead. */
static bool bound_threads(unsigned cpu, bool unbind)
{
    struct thread *t;
    bool           any = false;

    spin_lock(&all_threads_lock);
    LIST_FOREACH(t, &all_threads, all_link) {
        if (t == cpus[cpu]->disp->idle_thread)
            continue;
        spin_lock(&t->lock);
        if (t->bound_cpu == (int)cpu && t->state != TS_ZOMBIE) {
            if (unbind)
                set_binding(t, -1);
            else
                any = true;
        }
        spin_unlock(&t->lock);
    }
    spin_unlock(&all_threads_lock);
    return any;
}

/* Threads at home in lgroup `g`, which has no CPU left, choose again. */
static void rehome_all(unsigned g)
{
    struct thread *t;

    spin_lock(&all_threads_lock);
    LIST_FOREACH(t, &all_threads, all_link) {
        spin_lock(&t->part->lock);
        if (t->lg.part != NULL && t->lg.home == g)
            lgrp_count_rehome(g, lgrp_thread_rehome(&t->part->lgrps, &t->lg, NULL, clock_mono_ns(),
                                                    (uint32_t)rng_step(&t->part->rng)));
        spin_unlock(&t->part->lock);
    }
    spin_unlock(&all_threads_lock);
}

/* Queues everything that waits on `c` elsewhere. */
static void drain(struct cpu *c)
{
    struct thread *t;

    spin_lock(&all_threads_lock);
    LIST_FOREACH(t, &all_threads, all_link) {
        spin_lock(&t->lock);
        if (t->state == TS_RUNNABLE && t->queued_on == c && t->bound_cpu < 0 && disp_dequeue(t))
            disp_enqueue(t, false);
        spin_unlock(&t->lock);
    }
    spin_unlock(&all_threads_lock);
}

/* How many CPUs other than `c` take device interrupts. */
static unsigned interruptible_without(const struct cpu *c)
{
    unsigned n = 0;

    CPUMASK_FOREACH(i, &cpu_online_mask)
        n += cpus[i] != c && cpus[i]->disp->state == P_ONLINE;
    return n;
}

/* `c` no longer keeps the clock; the caller does not run on it. */
static void leave_clock(const struct cpu *c)
{
    if (clock_cpu() == c->id)
        clock_move_here();
}

static int take_offline(struct cpu *c, bool forced)
{
    uint8_t old = c->disp->state;

    if (cpumask_weight(&cpupart_default.cpus) < 2 || interruptible_without(c) < 1)
        return -EBUSY;
    /* First the state, then the look: thread_bind() looks at the state under the lock of the thread that it binds. */
    c->disp->state = P_OFFLINE;
    for (int tries = 0; bound_threads(c->id, forced); tries++) {
        if (tries == 5) {
            c->disp->state = old;
            return -EBUSY;
        }
        thread_sleep_ns(10000000);
    }
    cpumask_clear_atomic(&cpupart_default.cpus, c->id);
    cpumask_clear_atomic(&cpu_online_mask, c->id);
    spin_lock(&cpupart_default.lock);
    lgrp_part_cpu(&cpupart_default.lgrps, c->lgrp, -1);
    spin_unlock(&cpupart_default.lock);
    if (cpupart_default.lgrps.lpl[c->lgrp].ncpus == 0)
        rehome_all(c->lgrp);
    drain(c);
    disp_poke(c);
    if (this_cpu() == c)
        thread_leave_cpu();
    leave_clock(c);
    return 0;
}

int disp_cpu_set_state(unsigned cpu, int state, bool forced)
{
    struct cpu *c;
    int         old, err = 0;

    if (cpu >= ncpu || (state != P_ONLINE && state != P_OFFLINE && state != P_NOINTR))
        return -EINVAL;
    c = cpus[cpu];
    mutex_enter(&cpu_lock);
    old = c->disp->state;
    if (state != old) {
        if (state == P_OFFLINE) {
            err = curthread->bound_cpu == (int)cpu ? -EBUSY : take_offline(c, forced);
        } else if (state == P_NOINTR && interruptible_without(c) < 1) {
            err = -EBUSY;
        } else if (old == P_OFFLINE) {
            disp_cpu_join(c);
        }
        if (err == 0) {
            c->disp->state = (uint8_t)state;
            c->disp->state_since = (int64_t)(clock_real_ns() / 1000000000);
            atomic_fetch_add(&lgrp_generation, 1);
        }
    }
    mutex_exit(&cpu_lock);
    return err != 0 ? err : old;
}

_Atomic uint32_t lgrp_generation;

int thread_bind(struct thread *t, int cpu)
{
    if (cpu >= 0 && ((unsigned)cpu >= ncpu || !cpumask_test(&t->part->cpus, (unsigned)cpu)))
        return -EINVAL;
    spin_lock(&t->lock);
    if (cpu >= 0 && !disp_cpu_online(cpus[cpu])) {
        spin_unlock(&t->lock);
        return -EINVAL;
    }
    set_binding(t, cpu);
    spin_unlock(&t->lock);
    if (cpu >= 0)
        thread_rehome(t, cpus[cpu]->lgrp);
    if (t == curthread && !disp_may_run(t, this_cpu()))
        thread_leave_cpu();
    return 0;
}

int thread_set_affinity(struct thread *t, const struct cpumask *m)
{
    struct cpumask usable = cpumask_and(m, &t->part->cpus);

    if (cpumask_empty(&usable))
        return -EINVAL;
    spin_lock(&t->lock);
    t->affinity = *m;
    t->restricted = cpumask_weight(&usable) < cpumask_weight(&t->part->cpus);
    if (t->state == TS_RUNNABLE && disp_dequeue(t))
        disp_enqueue(t, false);
    else if (t->state == TS_ONPROC)
        disp_poke(t->cpu);
    spin_unlock(&t->lock);
    if (t == curthread && !disp_may_run(t, this_cpu()))
        thread_leave_cpu();
    return 0;
}

void thread_get_affinity(struct thread *t, struct cpumask *m)
{
    spin_lock(&t->lock);
    *m = t->restricted ? t->affinity : cpu_online_mask;
    spin_unlock(&t->lock);
}
