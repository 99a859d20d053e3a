// SPDX-License-Identifier: MIT
/*
 * cpu.c - processor states, bindings and affinities: which thread may run on which CPU.
 *
 * THEORY      An off-line CPU runs no threads.  When a CPU goes off-line it leaves the mask of its set and
 *             the CPU count of its lgroup, its queued threads are queued on other CPUs, and its running
 *             thread leaves at the next interrupt.  If it was the last CPU of its lgroup in the set, the
 *             threads of the set at home there get new homes.  It still belongs to its set.  When it comes
 *             back on-line, no home changes.
 *             A no-intr CPU runs threads, but takes neither device interrupts nor timers (and so not the
 *             clock).  Nor does an off-line CPU.  What still interrupts a no-intr CPU: cross-calls and pokes
 *             of other CPUs, and its own timer, which ends the time slices of threads that compete for it
 *             (timer.c).
 *             Binding a thread to a CPU of another lgroup moves its home there.  Unbinding leaves the home
 *             there, unless the thread has lgroup affinities.  In that case they decide its home again.
 * INVARIANTS  I1  at least one CPU is P_ONLINE, so at least one takes interrupts
 * LOCKING     cpu_lock serialises changes of state.  Under it, thread locks and cpupart_lock are taken.
 * SEE ALSO    pset.c; p_online(2), processor_bind(2) of Solaris 9; docs/psets.md, docs/dispatcher.md,
 *             tests/host/test_pset.c
 */
#include "disp/disp.h"
#include "disp/sync.h"
#include "lgrp/lgrp.h"
#include "lib/errno.h"
#include "stat/panic.h"
#include "uapi/homeroom.h"

struct mutex cpu_lock = {{.lock = SPINLOCK_INIT(RANK_CV),
                          .waiters = LIST_INIT(cpu_lock.l.waiters),
                          .rank = SLEEP_CPU_STATE}};

bool disp_cpu_online(const struct cpu *c)
{
    return c->disp->state != P_OFFLINE;
}

void disp_cpu_enter(struct cpu *c, struct cpupart *to)
{
    spin_lock(&cpupart_lock);
    lgrp_part_cpu(&to->lgrps, c->lgrp, 1);
    spin_unlock(&cpupart_lock);
    cpumask_set_atomic(&to->cpus, c->id);
}

void disp_cpu_join(struct cpu *c)
{
    c->disp->state = P_ONLINE;
    c->disp->state_since = (int64_t)(clock_real_ns() / 1000000000);
    disp_cpu_enter(c, c->disp->part);
    cpumask_set_atomic(&cpu_online_mask, c->id);
    timer_return(c);
    intr_cpu_enable(c->id);
}

int disp_cpu_state(unsigned cpu, long *since)
{
    if (cpu >= ncpu)
        return -EINVAL;
    if (since != NULL)
        *since = cpus[cpu]->disp->state_since;
    return cpus[cpu]->disp->state;
}

/* Sets the binding of `t` (t->lock held).  If t is queued, queues it anew: nsteal depends on the binding. */
static void set_thread_binding(struct thread *t, int cpu)
{
    bool queued = t->state == TS_RUNNABLE && disp_dequeue(t);

    t->bound_cpu = cpu;
    if (queued)
        disp_enqueue(t, QUEUE_AGAIN);
    else if (t->state == TS_ONPROC)
        disp_poke(t->cpu, POKE_MOVE);
}

/* Returns whether a thread is bound to `cpu`.  With `unbind`, unbinds all such threads and returns false. */
static bool find_or_unbind_threads(unsigned cpu, bool unbind)
{
    struct thread *t;
    bool any = false;

    spin_lock(&all_threads_lock);
    LIST_FOREACH (t, &all_threads, all_link) {
        if (t == cpus[cpu]->disp->idle_thread)
            continue;
        spin_lock(&t->lock);
        if (t->bound_cpu == (int)cpu && t->state != TS_ZOMBIE) {
            if (unbind)
                set_thread_binding(t, -1);
            else
                any = true;
        }
        spin_unlock(&t->lock);
    }
    spin_unlock(&all_threads_lock);
    return any;
}

int disp_cpu_unbind(struct cpu *c, bool forced)
{
    for (int tries = 0; find_or_unbind_threads(c->id, forced); tries++) {
        if (tries == BOUND_TRIES)
            return -EBUSY;
        thread_sleep_ns(BOUND_WAIT_NS);
    }
    return 0;
}

/* Chooses new homes for the threads of `part` whose home is lgroup `g`.  The set has no CPU there any more. */
static void rehome_threads(struct cpupart *part, unsigned g)
{
    struct thread *t;

    spin_lock(&all_threads_lock);
    LIST_FOREACH (t, &all_threads, all_link) {
        spin_lock(&cpupart_lock);
        if (t->lg.part == &part->lgrps && t->lg.home == g)
            thread_choose_home(t, part);
        spin_unlock(&cpupart_lock);
    }
    spin_unlock(&all_threads_lock);
}

/* Moves the unbound runnable threads from the queue of CPU `c` to the queues of other CPUs. */
static void drain_cpu_queue(struct cpu *c)
{
    struct thread *t;

    spin_lock(&all_threads_lock);
    LIST_FOREACH (t, &all_threads, all_link) {
        spin_lock(&t->lock);
        if (t->state == TS_RUNNABLE && t->queued_on == &c->disp->q && t->bound_cpu < 0 &&
            disp_dequeue(t))
            disp_enqueue(t, QUEUE_AGAIN);
        spin_unlock(&t->lock);
    }
    spin_unlock(&all_threads_lock);
}

void disp_recheck_affinities(struct cpupart *part)
{
    struct disp_queue *q;
    struct thread *t;

    spin_lock(&all_threads_lock);
    LIST_FOREACH (t, &all_threads, all_link) {
        if (!t->restricted || t->part != part)
            continue;
        spin_lock(&t->lock);
        q = t->queued_on;
        if (t->state == TS_RUNNABLE && q != NULL && q->cpu != NULL && !disp_may_run(t, q->cpu) &&
            disp_dequeue(t))
            disp_enqueue(t, QUEUE_AGAIN);
        else if (t->state == TS_ONPROC && !disp_may_run(t, t->cpu))
            disp_poke(t->cpu, POKE_MOVE);
        spin_unlock(&t->lock);
    }
    spin_unlock(&all_threads_lock);
    disp_rt_call(part);
}

void disp_cpu_leave(struct cpu *c, struct cpupart *from)
{
    bool last;

    spin_lock(&cpupart_lock);
    lgrp_part_cpu(&from->lgrps, c->lgrp, -1);
    last = from->lgrps.lpl[c->lgrp].ncpus == 0;
    spin_unlock(&cpupart_lock);
    if (last)
        rehome_threads(from, c->lgrp);
    drain_cpu_queue(c);
    disp_recheck_affinities(from);
}

/* The nearest CPU other than `c` that takes interrupts; NULL: there is none. */
static struct cpu *nearest_intr_cpu(const struct cpu *c)
{
    for (unsigned k = 0; k < lgrp_topo.nlevels[c->lgrp]; k++)
        CPUMASK_FOREACH (i, &lgrp_topo.level_cpus[c->lgrp][k])
            if (cpus[i] != c && cpus[i]->disp->state == P_ONLINE)
                return cpus[i];
    return NULL;
}

/*
 * Makes CPU `c`, P_ONLINE until now, stop taking device interrupts and timers.  0, or -EBUSY: c is the last
 * P_ONLINE CPU, or one of its interrupts cannot go to any other CPU.
 */
static int fence_cpu_intr(struct cpu *c)
{
    struct cpu *other = nearest_intr_cpu(c);

    if (other == NULL || intr_cpu_disable(c->id) != 0)
        return -EBUSY;
    c->disp->state = P_NOINTR;
    timer_leave(c, other);
    return 0;
}

/* Makes CPU `c`, which is P_NOINTR or about to go on-line, take device interrupts and timers again. */
static void unfence_cpu_intr(struct cpu *c)
{
    c->disp->state = P_ONLINE;
    timer_return(c);
    intr_cpu_enable(c->id);
}

static void bring_cpu_online(struct cpu *c)
{
    disp_cpu_join(c);
    disp_recheck_affinities(c->disp->part);
    disp_poke(c, POKE_STEAL); /* a thread may wait on another CPU */
}

/*
 * Takes CPU `c` off-line.  0, or -EBUSY: c is the last CPU of its set, or threads are bound to it,
 * or fence_cpu_intr() fails.
 */
static int take_cpu_offline(struct cpu *c, bool forced)
{
    struct cpupart *part = c->disp->part;
    uint8_t old = c->disp->state;
    int err;

    if (cpumask_weight(&part->cpus) < 2 || nearest_intr_cpu(c) == NULL)
        return -EBUSY;
    if (old == P_ONLINE) {
        err = fence_cpu_intr(c);
        if (err != 0)
            return err;
    }
    /*
     * The state must change before the search for bound threads.  thread_bind() checks the state under the
     * lock of the thread that it binds, and the search takes that lock, so one of the two sees the other.
     */
    c->disp->state = P_OFFLINE;
    err = disp_cpu_unbind(c, forced);
    if (err != 0) {
        c->disp->state = old;
        if (old == P_ONLINE)
            unfence_cpu_intr(c);
        disp_poke(c, POKE_STEAL); /* c did not steal while its state was P_OFFLINE */
        return err;
    }
    cpumask_clear_atomic(&part->cpus, c->id);
    cpumask_clear_atomic(&cpu_online_mask, c->id);
    disp_cpu_leave(c, part);
    disp_poke(c, POKE_MOVE);
    if (this_cpu() == c)
        thread_leave_cpu();
    return 0;
}

int disp_cpu_set_state(unsigned cpu, int state, bool forced)
{
    struct cpu *c;
    int old, err = 0;

    if (cpu >= ncpu || (state != P_ONLINE && state != P_OFFLINE && state != P_NOINTR))
        return -EINVAL;
    c = cpus[cpu];
    mutex_enter(&cpu_lock);
    old = c->disp->state;
    if (state != old) {
        if (state == P_OFFLINE) {
            err = curthread->bound_cpu == (int)cpu ? -EBUSY : take_cpu_offline(c, forced);
        } else {
            if (old == P_OFFLINE)
                bring_cpu_online(c);
            else if (state == P_ONLINE)
                unfence_cpu_intr(c);
            if (state == P_NOINTR)
                err = fence_cpu_intr(c);
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
    bool unbound;

    if (cpu >= 0 && (unsigned)cpu >= ncpu)
        return -EINVAL;
    spin_lock(&t->lock);
    if (cpu >= 0 && (!cpumask_test(&t->part->cpus, (unsigned)cpu) || !disp_cpu_online(cpus[cpu]))) {
        spin_unlock(&t->lock);
        return -EINVAL;
    }
    unbound = cpu < 0 && t->bound_cpu >= 0;
    set_thread_binding(t, cpu);
    spin_unlock(&t->lock);
    if (cpu >= 0)
        thread_rehome(t, cpus[cpu]->lgrp);
    else if (unbound)
        thread_follow_affinity(t);
    if (t == curthread && !disp_may_run(t, this_cpu()))
        thread_leave_cpu();
    return 0;
}

int thread_set_affinity(struct thread *t, const struct cpumask *m)
{
    bool all = true;

    if (!cpumask_intersects(m, &t->part->cpus))
        return -EINVAL;
    /* off-line CPUs count, too, because they may come back on-line */
    for (unsigned i = 0; i < ncpu; i++)
        all = all && cpumask_test(m, i);
    spin_lock(&t->lock);
    t->affinity = *m;
    t->restricted = !all;
    if (t->state == TS_RUNNABLE && disp_dequeue(t))
        disp_enqueue(t, QUEUE_AGAIN);
    else if (t->state == TS_ONPROC)
        disp_poke(t->cpu, POKE_MOVE);
    spin_unlock(&t->lock);
    if (t == curthread && !disp_may_run(t, this_cpu()))
        thread_leave_cpu();
    return 0;
}

void thread_get_affinity(struct thread *t, struct cpumask *m)
{
    spin_lock(&t->lock);
    *m = disp_allowed(t);
    spin_unlock(&t->lock);
}
