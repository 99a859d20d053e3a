// SPDX-License-Identifier: MIT
/*
 * runq.c - run queues: where a runnable thread waits, and what a CPU runs next.
 *
 * THEORY      Each CPU has a queue per global priority and a bitmap of those that are not empty.  Which CPU's queue a
 *             thread joins, and from which CPU an idle one steals, is decided by choose.c; here is the mechanism.  A
 *             CPU that is to look at its queue is interrupted ("poked"); idle CPUs halt, so one of them is poked also
 *             when a thread has to wait behind another: it is called, to come and steal.  A CPU that happens to look
 *             leaves the thread to one that is idle nearer to the thread's home.  With halt_fenced_cpus=0 those
 *             without interrupts do not halt, and are told without one.
 * INVARIANTS  I1  nrun == number of threads on the queues; mask bit p set iff queue[p] is not empty
 *             I2  maxpri == highest queued priority, -1 when nrun == 0
 *             I3  a thread leaves a queue under that queue's lock, and becomes ONPROC under the same hold and before
 *                 queued_on says that it left: who holds t->lock and finds it on no queue sees it ONPROC
 *             I4  once CPUs that were poked have come, no thread waits on a queue that an idle CPU of its set may run,
 *                 unless its affinity keeps it from some CPUs of the set
 * LOCKING     rq->lock (RANK_RUNQ), one at a time, below t->lock
 * SEE ALSO    docs/dispatcher.md, tests/test_dispatch.py
 */
#include "disp/choose.h"
#include "disp/disp.h"
#include "lgrp/lgrp.h"
#include "stat/cpustat.h"
#include "stat/panic.h"
#include "uapi/homeroom.h"

#include <limits.h>

struct cpumask cpu_idle_mask, cpu_queued_mask, cpu_online_mask;

/* The highest priority queued, -1: none. */
static int top_queued(const struct disp_cpu *d)
{
    for (int w = 2; w >= 0; w--)
        if (d->mask[w] != 0)
            return w * 64 + 63 - __builtin_clzll(d->mask[w]);
    return -1;
}

static void steal_mask_update(const struct cpu *c)
{
    const struct disp_cpu *d = c->disp;

    if (d->nsteal > 0 && !cpumask_test(&cpu_queued_mask, c->id))
        cpumask_set_atomic(&cpu_queued_mask, c->id);
    else if (d->nsteal == 0 && cpumask_test(&cpu_queued_mask, c->id))
        cpumask_clear_atomic(&cpu_queued_mask, c->id);
}

static void queue_remove(struct cpu *c, struct thread *t)
{
    struct disp_cpu *d = c->disp;

    list_remove(&t->runq_link);
    if (list_empty(&d->queue[t->pri]))
        d->mask[t->pri / 64] &= ~(1ull << (t->pri % 64));
    d->nrun--;
    if (t->bound_cpu < 0)
        d->nsteal--;
    atomic_store_explicit(&t->queued_on, NULL, memory_order_release); /* last: I3 */
    d->maxpri = (int16_t)top_queued(d);
    steal_mask_update(c);
}

static void queue_insert(struct cpu *c, struct thread *t)
{
    struct disp_cpu *d = c->disp;

    atomic_store_explicit(&t->queued_on, c, memory_order_relaxed);
    list_push_back(&d->queue[t->pri], &t->runq_link);
    d->mask[t->pri / 64] |= 1ull << (t->pri % 64);
    d->nrun++;
    if (t->bound_cpu < 0)
        d->nsteal++;
    if (t->pri > d->maxpri)
        d->maxpri = t->pri;
    steal_mask_update(c);
}

static int cpu_level(unsigned cpu)
{
    const struct cpu *c = cpus[cpu];

    if (!disp_cpu_online(c))
        return INT_MAX;
    return max_of(c->disp->runpri, c->disp->maxpri);
}

static unsigned queue_length(unsigned cpu, int pri)
{
    struct disp_cpu *d = cpus[cpu]->disp;
    unsigned         n = 0;
    struct list     *e;

    /* Unlocked: a hint.  Bounded, since the list may change under our feet. */
    if (!(d->mask[pri / 64] >> (pri % 64) & 1))
        return 0;
    spin_lock(&d->lock);
    for (e = d->queue[pri].next; e != &d->queue[pri] && n < 8; e = e->next)
        n++;
    spin_unlock(&d->lock);
    return n;
}

/* Tell an idle CPU that does not halt.  Returns whether it was one: idle_wait(). */
static bool tell_idle(struct cpu *c)
{
    if (!c->idle)
        return false;
    atomic_fetch_or(&c->disp->idle_thread->ast, AST_RESCHED);
    return atomic_load(&c->disp->polls);
}

void disp_poke(struct cpu *c, enum intr_poke why)
{
    if (c == this_cpu()) {
        atomic_fetch_or_explicit(&c->thread->ast, AST_RESCHED, memory_order_relaxed);
    } else if (halt_fenced_cpus != 0 || !tell_idle(c)) {
        CPUSTAT_INC(pokes);
        intr_poke(c->id, why);
    }
}

void disp_poked(void)
{
    struct cpu *c = this_cpu();

    atomic_fetch_or(&c->thread->ast, AST_RESCHED);
    if (c->disp->state == P_NOINTR)
        timer_program(c);
}

/* A thread waits behind another on CPU `c`, which has no interrupts: from now on time slices end (timer_program()). */
static void begin_slices(struct cpu *c)
{
    if (c == this_cpu())
        timer_program(c);
    else
        disp_poke(c, POKE_SLICE);
}

/* Idle CPU `cpu` is to come and steal. */
static void call(unsigned cpu)
{
    cpumask_clear_atomic(&cpu_idle_mask, cpu); /* the next that waits calls another; the idle loop sets it */
    disp_poke(cpus[cpu], POKE_STEAL);
}

/* A thread that may run on `allowed` waits on a CPU of lgroup `lgrp`: the nearest idle CPU that may is called. */
static void poke_thief(unsigned lgrp, const struct cpumask *allowed)
{
    if (cpumask_empty(&cpu_idle_mask))
        return;
    for (unsigned k = 0; k < lgrp_topo.nlevels[lgrp]; k++) {
        struct cpumask m = cpumask_and(&lgrp_topo.level_cpus[lgrp][k], &cpu_idle_mask);
        unsigned       cpu;

        m = cpumask_and(&m, allowed);
        cpu = cpumask_next(&m, 0);
        if (cpu != CPU_MAX) {
            call(cpu);
            return;
        }
    }
}

bool disp_may_run(const struct thread *t, const struct cpu *c)
{
    if (t->bound_cpu >= 0)
        return t->bound_cpu == (int)c->id;
    return cpumask_test(&t->part->cpus, c->id) &&
           (!t->restricted || cpumask_test(&t->affinity, c->id) || !cpumask_intersects(&t->affinity, &t->part->cpus));
}

unsigned disp_nearer_idle(const struct thread *t, const struct cpu *c)
{
    unsigned home = t->cls == CLASS_RT ? LGRP_NONE : t->lg.home, cpu = CPU_MAX;

    if (home == LGRP_NONE || home == c->lgrp || t->bound_cpu >= 0)
        return CPU_MAX;
    for (unsigned k = 0; cpu == CPU_MAX && k < lgrp_topo.nlevels[home]; k++) {
        struct cpumask m = cpumask_and(&lgrp_topo.level_cpus[home][k], &cpu_idle_mask);

        if (cpumask_test(&lgrp_topo.level_cpus[home][k], c->id))
            break;
        m = cpumask_and(&m, &t->part->cpus);
        if (t->restricted)
            m = cpumask_and(&m, &t->affinity);
        cpu = cpumask_next(&m, 0);
    }
    return cpu;
}

void disp_enqueue(struct thread *t, enum queue_how how)
{
    struct cpumask   both;
    struct disp_pick p = {
        .topo = &lgrp_topo, .allowed = &t->part->cpus, .idle = &cpu_idle_mask, .level = cpu_level,
        .bound = t->bound_cpu, .last = t->cpu->id, .ticks_since = lbolt - t->last_ran,
        .home = t->cls == CLASS_RT ? LGRP_NONE : t->lg.home, .pri = t->pri, .is_current = t == curthread};
    struct cpu      *c;
    struct disp_cpu *d;
    bool             idle, called;

    if (t->restricted) {
        both = cpumask_and(&t->affinity, p.allowed);
        if (!cpumask_empty(&both))
            p.allowed = &both;
    }
    c = cpus[disp_pick_cpu(&p)];
    if (c->disp->maxpri >= t->pri && t->bound_cpu < 0)
        c = cpus[disp_balance_cpu(&p, c->id, queue_length)];
    TRACE(WAKE, c->id, t->tid, (unsigned)how | (this_cpu()->irq_depth > 0 ? TRACE_WAKE_INTR : 0));
    d = c->disp;
    spin_lock(&d->lock);
    queue_insert(c, t);
    spin_unlock(&d->lock);

    idle = c->idle;
    called = idle && !cpumask_test(&cpu_idle_mask, c->id);
    if (idle)
        cpumask_clear_atomic(&cpu_idle_mask, c->id);
    if (idle || t->pri > d->runpri) {
        disp_poke(c, POKE_WAKEUP);
        if (called || d->nrun > 1) /* it has not begun yet what it was called for, here or elsewhere: one will wait */
            poke_thief(c->lgrp, &t->part->cpus);
    } else {
        if (unlikely(d->state == P_NOINTR))
            begin_slices(c);
        if (t->bound_cpu < 0)
            poke_thief(c->lgrp, p.allowed);
    }
}

bool disp_dequeue(struct thread *t)
{
    struct cpu *c = atomic_load_explicit(&t->queued_on, memory_order_acquire);
    bool        there;

    if (c == NULL)
        return false;
    spin_lock(&c->disp->lock);
    there = t->queued_on == c;
    if (there)
        queue_remove(c, t);
    spin_unlock(&c->disp->lock);
    return there;
}

void disp_set_pri(struct thread *t, int pri)
{
    struct cpu *c = atomic_load_explicit(&t->queued_on, memory_order_acquire);

    if (t->pri == pri)
        return;
    if (c != NULL) {
        spin_lock(&c->disp->lock);
        if (t->queued_on == c) { /* it waits: same queue, other priority */
            queue_remove(c, t);
            t->pri = (int16_t)pri;
            queue_insert(c, t);
            spin_unlock(&c->disp->lock);
            if (pri > c->disp->runpri)
                disp_poke(c, POKE_PRIORITY);
            return;
        }
        spin_unlock(&c->disp->lock);
    }
    t->pri = (int16_t)pri;
    if (t->state == TS_ONPROC) {
        t->cpu->disp->runpri = (int16_t)pri;
        if (t->cpu->disp->maxpri > pri)
            disp_poke(t->cpu, POKE_PRIORITY);
    }
}

static void put_on_cpu(struct cpu *c, struct thread *t)
{
    t->state = TS_ONPROC; /* I3 */
    if (t->cpu != c) {
        TRACE(MIGRATE, t->cpu->id, t->tid, 0);
        t->cpu = c;
        c->stat->migr++;
    }
    t->n_dispatch++;
    if (t->lg.home == LGRP_NONE)
        return;
    if (c->lgrp == t->lg.home) {
        c->stat->disp_home++;
    } else {
        c->stat->disp_remote++;
        t->n_remote++;
    }
}

static int steal_best(unsigned cpu)
{
    struct disp_cpu *d = cpus[cpu]->disp;

    /* An idle CPU with one thread is about to run it. */
    return d->nsteal == 0 || (cpus[cpu]->idle && d->nrun == 1) ? -1 : d->maxpri;
}

/*
 * Takes from `victim` the best thread that CPU c may run, or NULL.  One with an idle CPU nearer to its home is left: if
 * c was called, it calls that CPU; else another was called, or that CPU has looked since.
 */
static struct thread *take_from(struct cpu *victim, struct cpu *c)
{
    struct disp_cpu *d = victim->disp;
    struct thread   *t, *found = NULL;
    unsigned         nearer = CPU_MAX;

    spin_lock(&d->lock);
    for (int w = 2; w >= 0 && found == NULL; w--)
        for (uint64_t m = d->mask[w]; m != 0 && found == NULL;) {
            int bit = 63 - __builtin_clzll(m);

            m &= ~(1ull << bit);
            LIST_FOREACH(t, &d->queue[w * 64 + bit], runq_link) {
                if (t->bound_cpu >= 0 || !disp_may_run(t, c))
                    continue;
                nearer = disp_nearer_idle(t, c);
                if (nearer == CPU_MAX) {
                    found = t;
                    break;
                }
            }
        }
    if (found != NULL) {
        put_on_cpu(c, found);
        queue_remove(victim, found);
    }
    spin_unlock(&d->lock);
    if (nearer != CPU_MAX && c->idle && c->disp->called)
        call(nearer);
    return found;
}

/* CPU c has stolen a thread, perhaps not the one it was called for: if one waits still, the next idle CPU is called. */
static void call_next(const struct cpu *c)
{
    const struct cpumask *part = &c->disp->part->cpus;
    struct cpumask        busy = cpumask_and(&cpu_queued_mask, part);

    if (cpumask_empty(&busy) || disp_steal_cpu(&lgrp_topo, c->id, c->lgrp, &busy, steal_best) < 0)
        return;
    cpumask_clear_atomic(&cpu_idle_mask, c->id); /* it is not idle any more */
    poke_thief(c->lgrp, part);
}

static struct thread *steal(struct cpu *c)
{
    struct cpumask busy = cpumask_and(&cpu_queued_mask, &c->disp->part->cpus);
    struct thread *t = NULL;

    if (!disp_cpu_online(c))
        return NULL;
    while (!cpumask_empty(&busy)) {
        int victim = disp_steal_cpu(&lgrp_topo, c->id, c->lgrp, &busy, steal_best);

        if (victim < 0)
            break;
        t = take_from(cpus[victim], c);
        if (t != NULL) {
            c->stat->steals++;
            call_next(c);
            break;
        }
        cpumask_clear(&busy, (unsigned)victim);
    }
    return t;
}

struct thread *disp_next(struct cpu *c)
{
    struct disp_cpu *d = c->disp;
    struct thread   *t;

    if (d->maxpri >= 0) {
        spin_lock(&d->lock);
        if (d->maxpri >= 0) {
            t = list_first(&d->queue[d->maxpri], struct thread, runq_link);
            put_on_cpu(c, t);
            queue_remove(c, t);
            spin_unlock(&d->lock);
            return t;
        }
        spin_unlock(&d->lock);
    }
    if (!cpumask_empty(&cpu_queued_mask) && (t = steal(c)) != NULL)
        return t;
    return d->idle_thread;
}
