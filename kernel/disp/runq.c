// SPDX-License-Identifier: MIT
/*
 * runq.c - run queues: where a runnable thread waits, and which thread a CPU runs next.
 *
 * THEORY      There are more threads that can run than CPUs, so most of them wait.  Each CPU has its own run
 *             queue: one list per global priority, and a bitmap of the lists that are not empty.  choose.c
 *             decides which CPU's queue a thread joins, and from which CPU an idle CPU steals; this file is
 *             the mechanism.
 *             A real-time thread that is not bound to a CPU joins the queue of its processor set instead.
 *             Each CPU of the set looks at that queue before its own.  The thread is promised one CPU that is
 *             idle or runs a thread of lower priority, and that CPU is interrupted.  A promised CPU counts as
 *             busy at the thread's priority, so the next thread is promised another one.  If the promised CPU
 *             cannot run the thread, or takes another, it finds a CPU for a thread that still waits
 *             (disp_rt_call).
 *             To make a CPU look at its queue, another CPU sends it a reschedule IPI ("pokes" it).  Idle CPUs
 *             halt.  So when a thread must wait behind another one, an idle CPU is poked to steal the waiting
 *             thread: it is "called".  A CPU that looks for work does not steal a thread if an idle
 *             CPU is nearer to the thread's home.
 *             With halt_fenced_cpus=0, a CPU without interrupts (no-intr) polls while idle, and needs no IPI.
 * INVARIANTS  I1  nrun == number of threads on the queue; mask bit p set iff queue[p] is not empty
 *             I2  maxpri == highest queued priority, -1 when nrun == 0
 *             I3  a thread leaves a queue under that queue's lock.  If it is dispatched, it becomes ONPROC
 *                 under the same hold, before queued_on becomes NULL: a holder of t->lock that sees NULL also
 *                 sees ONPROC
 *             I4  once all poked CPUs have looked at their queues, no thread waits on a queue while an idle CPU
 *                 of its set may run it, unless its affinity excludes some CPUs of the set
 *             I5  once all poked CPUs have looked at their queues, no thread waits on a set's queue while a CPU
 *                 that it may run on runs a thread of lower priority
 *             I6  an unbound thread is on its set's queue iff its priority is PRI_RT or more
 *             I7  a CPU stores runpri before it reads disp_rt_active and its set's queue.  A thread is
 *                 counted there and joins that queue before its CPU reads the runpris.  So at least one of
 *                 the two sees the other
 *             I8  disp_rt_active >= threads on sets' queues + CPUs with a promise
 * LOCKING     q->lock (RANK_RUNQ), taken after t->lock.  A CPU holds at most one.
 * SEE ALSO    docs/dispatcher.md, tests/test_dispatch.py
 */
#include "disp/choose.h"
#include "disp/disp.h"
#include "lgrp/lgrp.h"
#include "stat/cpustat.h"
#include "stat/panic.h"
#include "uapi/homeroom.h"

struct cpumask cpu_idle_mask, cpu_queued_mask, cpu_online_mask;
_Atomic uint32_t disp_rt_active;

void disp_queue_init(struct disp_queue *q, struct cpu *c)
{
    spin_init(&q->lock, RANK_RUNQ);
    q->cpu = c;
    q->maxpri = -1;
    for (unsigned i = 0; i < NPRI; i++)
        list_init(&q->queue[i]);
}

/* The highest queued priority below `pri`; -1: none. */
static inline int highest_queued_below(const struct disp_queue *q, unsigned pri)
{
    unsigned w = pri / 64;
    uint64_t m = q->mask[w] & ((1ull << (pri % 64)) - 1);

    while (m == 0 && w > 0)
        m = q->mask[--w];
    return m != 0 ? (int)(w * 64 + 63) - __builtin_clzll(m) : -1;
}

/*
 * runq_insert, runq_remove - put `t` on queue `q`, or take it off; q->lock is held.  nsteal counts the
 * threads on a CPU's queue that other CPUs may steal: those that are not bound.
 */
static void runq_insert(struct disp_queue *q, struct thread *t)
{
    unsigned pri = (uint16_t)t->pri;

    atomic_store_explicit(&t->queued_on, q, memory_order_relaxed);
    if (unlikely(t->at_front))
        list_push_front(&q->queue[pri], &t->runq_link);
    else
        list_push_back(&q->queue[pri], &t->runq_link);
    t->at_front = false;
    q->mask[pri / 64] |= 1ull << (pri % 64);
    q->nrun++;
    if (t->pri > q->maxpri)
        q->maxpri = t->pri;
    if (q->cpu != NULL && t->bound_cpu < 0 && q->cpu->disp->nsteal++ == 0)
        cpumask_set_atomic(&cpu_queued_mask, q->cpu->id);
}

static void runq_remove(struct disp_queue *q, struct thread *t)
{
    unsigned pri = (uint16_t)t->pri;

    if (q->cpu != NULL && t->bound_cpu < 0 && --q->cpu->disp->nsteal == 0)
        cpumask_clear_atomic(&cpu_queued_mask, q->cpu->id);
    if (unlikely(q->cpu == NULL))
        disp_rt_active--;
    list_remove(&t->runq_link);
    q->nrun--;
    if (list_empty(&q->queue[pri])) {
        q->mask[pri / 64] &= ~(1ull << (pri % 64));
        if ((int)pri == q->maxpri)
            q->maxpri = q->nrun == 0 ? -1 : (int16_t)highest_queued_below(q, pri);
    }
    /* last, so that a reader that sees NULL also sees ONPROC (I3) */
    atomic_store_explicit(&t->queued_on, NULL, memory_order_release);
}

/* disp_pick.level: the highest of running, promised and queued priority; INT32_MAX: the CPU is off-line. */
static int cpu_highest_priority(unsigned cpu)
{
    const struct cpu *c = cpus[cpu];

    if (!disp_cpu_online(c))
        return INT32_MAX;
    return max_of((int)c->disp->runpri, max_of((int)c->disp->promised, (int)c->disp->q.maxpri));
}

/* Returns the number of threads queued on `cpu` at priority `pri`, but at most 8. */
static unsigned runq_length_at(unsigned cpu, int pri)
{
    struct disp_queue *q = &cpus[cpu]->disp->q;
    unsigned n = 0;
    struct list *e;

    if (!(q->mask[pri / 64] >> (pri % 64) & 1)) /* unlocked: a hint */
        return 0;
    spin_lock(&q->lock);
    for (e = q->queue[pri].next; e != &q->queue[pri] && n < 8; e = e->next)
        n++;
    spin_unlock(&q->lock);
    return n;
}

/* Notifies CPU `c` without an IPI.  Returns whether that is enough: c is idle and polls (idle_wait()). */
static bool notify_polling_idle(struct cpu *c)
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
        /*
         * The ast is checked at the end of an interrupt, and when a user thread returns to its program.  A
         * kernel thread outside an interrupt reaches neither check, so this CPU interrupts itself.
         */
        if (c->thread->lwp == NULL && c->irq_depth == 0)
            intr_poke(c->id, why);
    } else if (halt_fenced_cpus != 0 || !notify_polling_idle(c)) {
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

/* A thread waits behind another on no-intr CPU `c`, so time slices on c must end by an interrupt (timer_program()). */
static void begin_slices(struct cpu *c)
{
    if (c == this_cpu())
        timer_program(c);
    else
        disp_poke(c, POKE_SLICE);
}

/* Makes idle CPU `cpu` come and steal. */
static void call_thief(unsigned cpu)
{
    /*
     * Clear the bit, so that the next waiting thread calls another CPU.  The idle loop sets it
     * again.
     */
    cpumask_clear_atomic(&cpu_idle_mask, cpu);
    disp_poke(cpus[cpu], POKE_STEAL);
}

/*
 * A thread that can run on the CPUs of `allowed` waits in lgroup `lgrp`.  Calls the idle CPU of
 * `allowed` that is nearest to `lgrp`.
 */
static void call_nearest_thief(unsigned lgrp, const struct cpumask *allowed)
{
    if (cpumask_empty(&cpu_idle_mask))
        return;
    for (unsigned k = 0; k < lgrp_topo.nlevels[lgrp]; k++) {
        struct cpumask m = cpumask_and(&lgrp_topo.level_cpus[lgrp][k], &cpu_idle_mask);
        unsigned cpu;

        m = cpumask_and(&m, allowed);
        cpu = cpumask_next(&m, 0);
        if (cpu != CPU_MAX) {
            call_thief(cpu);
            return;
        }
    }
}

bool disp_may_run(const struct thread *t, const struct cpu *c)
{
    if (t->bound_cpu >= 0)
        return t->bound_cpu == (int)c->id;
    return cpumask_test(&t->part->cpus, c->id) &&
           (!t->restricted || cpumask_test(&t->affinity, c->id) ||
            !cpumask_intersects(&t->affinity, &t->part->cpus));
}

struct cpumask disp_allowed(const struct thread *t)
{
    struct cpumask both;

    if (likely(!t->restricted))
        return t->part->cpus;
    both = cpumask_and(&t->affinity, &t->part->cpus);
    return cpumask_empty(&both) ? t->part->cpus : both;
}

unsigned disp_nearer_idle(const struct thread *t, const struct cpu *c)
{
    unsigned home = t->pri >= PRI_RT ? LGRP_NONE : t->lg.home, cpu = CPU_MAX;

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

/* ---- real time ---- */

/*
 * Promises `t`, which is on its set's queue, a CPU where it can run at once.  NULL: there is none, and *least
 * is the least busy CPU (choose.h).  The caller holds the lock of the set's queue.
 */
static struct cpu *promise_rt_cpu(const struct thread *t, unsigned *least)
{
    struct cpumask allowed;
    struct disp_pick p = {.allowed = &t->part->cpus,
                          .idle = &cpu_idle_mask,
                          .level = cpu_highest_priority,
                          .last = t->cpu->id,
                          .pri = t->pri};
    unsigned cpu;

    if (t->restricted) {
        allowed = disp_allowed(t);
        p.allowed = &allowed;
    }
    cpu = disp_rt_cpu(&p, least);
    if (cpu == CPU_MAX)
        return NULL;
    if (atomic_exchange(&cpus[cpu]->disp->promised, t->pri) < 0)
        disp_rt_active++;
    if (cpus[cpu]->idle)
        /*
         * Clear the bit, so that the next thread is promised another CPU.  The idle loop sets it
         * again.
         */
        cpumask_clear_atomic(&cpu_idle_mask, cpu);
    return cpus[cpu];
}

/*
 * Sends the wake-up interrupt to CPU `c`, which was taken out of cpu_idle_mask to run a thread that was just
 * queued.  `c` can be this CPU, when it switches to its idle thread: the interrupt arrives after the switch.
 */
static void poke_promised_cpu(struct cpu *c)
{
    if (c == this_cpu())
        intr_poke(c->id, POKE_WAKEUP);
    else
        disp_poke(c, POKE_WAKEUP);
}

/* The part of disp_enqueue() for an unbound real-time thread. */
static __attribute__((noinline)) void rt_enqueue(struct thread *t, enum queue_how how)
{
    struct disp_queue *q = &t->part->rt;
    unsigned least = CPU_MAX;
    struct cpu *c;

    disp_rt_active++; /* before the runpris of other CPUs are read: I7 */
    spin_lock(&q->lock);
    runq_insert(q, t);
    c = promise_rt_cpu(t, &least);
    spin_unlock(&q->lock);
    TRACE(WAKE, c != NULL ? c->id : least, t->tid,
          (unsigned)how | (this_cpu()->irq_depth > 0 ? TRACE_WAKE_INTR : 0));
    if (c != NULL)
        poke_promised_cpu(c);
    else if (unlikely(cpus[least]->disp->state == P_NOINTR))
        begin_slices(cpus[least]);
}

void disp_rt_call(struct cpupart *part)
{
    struct disp_queue *q = &part->rt;
    struct cpu *c = NULL;
    struct thread *t;
    unsigned least;

    spin_lock(&q->lock);
    for (int pri = q->maxpri; pri >= 0 && c == NULL; pri = highest_queued_below(q, (unsigned)pri))
        LIST_FOREACH (t, &q->queue[pri], runq_link) {
            c = promise_rt_cpu(t, &least);
            if (c != NULL)
                break;
        }
    spin_unlock(&q->lock);
    if (c != NULL)
        poke_promised_cpu(c);
}

/* ---- queues ---- */

/* The part of disp_enqueue() for all other threads: queues `t` on the CPU that choose.c chooses. */
static void enqueue_near_home(struct thread *t, enum queue_how how)
{
    struct cpumask allowed;
    struct disp_pick p = {.topo = &lgrp_topo,
                          .allowed = &t->part->cpus,
                          .idle = &cpu_idle_mask,
                          .level = cpu_highest_priority,
                          .bound = t->bound_cpu,
                          .last = t->cpu->id,
                          .ticks_since = how == QUEUE_NEW ? UINT64_MAX : lbolt - t->last_ran,
                          .home = t->lg.home,
                          .pri = t->pri,
                          .is_current = t == curthread};
    struct cpu *c;
    struct disp_cpu *d;
    bool idle, called;

    if (t->restricted) {
        allowed = disp_allowed(t);
        p.allowed = &allowed;
    }
    c = cpus[disp_pick_cpu(&p)];
    if (c->disp->q.maxpri >= t->pri && t->bound_cpu < 0 && !t->at_front)
        c = cpus[disp_balance_cpu(&p, c->id, runq_length_at)];
    TRACE(WAKE, c->id, t->tid, (unsigned)how | (this_cpu()->irq_depth > 0 ? TRACE_WAKE_INTR : 0));
    d = c->disp;
    spin_lock(&d->q.lock);
    runq_insert(&d->q, t);
    spin_unlock(&d->q.lock);

    idle = c->idle;
    called = idle && !cpumask_test(&cpu_idle_mask, c->id);
    if (idle)
        cpumask_clear_atomic(&cpu_idle_mask, c->id);
    if (idle || t->pri > d->runpri) {
        disp_poke(c, POKE_WAKEUP);
        /*
         * c must also run or steal another thread, so one of the two threads must wait.  Another
         * CPU can steal that thread.
         */
        if (called || d->q.nrun > 1)
            call_nearest_thief(c->lgrp, &t->part->cpus);
    } else {
        if (unlikely(d->state == P_NOINTR))
            begin_slices(c);
        if (t->bound_cpu < 0)
            call_nearest_thief(c->lgrp, p.allowed);
    }
}

void disp_enqueue(struct thread *t, enum queue_how how)
{
    if (unlikely(t->pri >= PRI_RT) && t->bound_cpu < 0)
        rt_enqueue(t, how);
    else
        enqueue_near_home(t, how);
}

bool disp_dequeue(struct thread *t)
{
    struct disp_queue *q = atomic_load_explicit(&t->queued_on, memory_order_acquire);
    bool there;

    if (q == NULL)
        return false;
    spin_lock(&q->lock);
    there = t->queued_on == q;
    if (there)
        runq_remove(q, t);
    spin_unlock(&q->lock);
    return there;
}

void disp_set_pri(struct thread *t, int pri)
{
    struct disp_queue *q = atomic_load_explicit(&t->queued_on, memory_order_acquire);
    struct cpu *c;

    if (t->pri == pri)
        return;
    if (q != NULL && max_of((int)t->pri, pri) >= PRI_RT &&
        t->bound_cpu < 0) { /* queue t anew (I5, I6) */
        if (disp_dequeue(t)) {
            t->pri = (int16_t)pri;
            disp_enqueue(t, QUEUE_AGAIN);
            return;
        }
    } else if (q != NULL) {
        spin_lock(&q->lock);
        /* if t still waits on q, it keeps its queue and gets the new priority */
        if (t->queued_on == q) {
            c = q->cpu;
            runq_remove(q, t);
            t->pri = (int16_t)pri;
            runq_insert(q, t);
            spin_unlock(&q->lock);
            if (pri > c->disp->runpri)
                disp_poke(c, POKE_PRIORITY);
            return;
        }
        spin_unlock(&q->lock);
    }
    t->pri = (int16_t)pri;
    if (t->state == TS_ONPROC) {
        t->cpu->disp->runpri = (int16_t)pri;
        if (disp_waiting(t->cpu) > pri)
            disp_poke(t->cpu, POKE_PRIORITY);
    }
}

void disp_requeue_behind_rt(struct thread *t)
{
    struct disp_queue *q = atomic_load_explicit(&t->queued_on, memory_order_acquire);

    if (q != NULL && q->cpu != NULL && q->cpu->disp->runpri >= PRI_RT && disp_dequeue(t))
        disp_enqueue(t, QUEUE_AGAIN);
}

/* `t`, still on a queue whose lock is held, is the next thread of CPU `c`: sets state, CPU and counters. */
static void put_on_cpu(struct cpu *c, struct thread *t)
{
    c->disp->runpri = t->pri; /* the queue's lock orders this store against disp_set_pri(); I7 */
    t->state = TS_ONPROC;     /* before the thread leaves the queue (I3) */
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

/* For disp_steal_cpu(): priority of the best thread on `cpu`; -1: none to steal.  A hint, read without a lock. */
static int stealable_priority(unsigned cpu)
{
    struct disp_cpu *d = cpus[cpu]->disp;

    /* An idle CPU with one queued thread is about to run that thread. */
    return d->nsteal == 0 || (cpus[cpu]->idle && d->q.nrun == 1) ? -1 : d->q.maxpri;
}

/*
 * Leaves a thread on the queue if an idle CPU is nearer to the thread's home than c.  If c was called to steal,
 * c then calls that nearer CPU.  Otherwise no call is needed: another CPU was called for the thread, or the
 * nearer CPU has looked since.
 */
struct thread *disp_take_from(struct cpu *victim, struct cpu *c, int floor, uint64_t lately)
{
    struct disp_queue *q = &victim->disp->q;
    struct thread *t, *found = NULL;
    unsigned nearer = CPU_MAX;

    spin_lock(&q->lock);
    for (int pri = q->maxpri; pri >= floor && found == NULL;
         pri = highest_queued_below(q, (unsigned)pri))
        LIST_FOREACH (t, &q->queue[pri], runq_link) {
            if (t->bound_cpu >= 0 || !disp_may_run(t, c))
                continue;
            if (lately != UINT64_MAX) {
                if (t->lg.home == c->lgrp && t->lately_tsc < lately) {
                    found = t;
                    lately = t->lately_tsc;
                }
                continue;
            }
            nearer = disp_nearer_idle(t, c);
            if (nearer == CPU_MAX) {
                found = t;
                break;
            }
        }
    if (found != NULL) {
        put_on_cpu(c, found);
        runq_remove(q, found);
    }
    spin_unlock(&q->lock);
    if (nearer != CPU_MAX && c->idle && c->disp->steal_requested)
        call_thief(nearer);
    return found;
}

/*
 * CPU `c` has stolen a thread, perhaps not the one for which it was called.  Calls another CPU if a thread
 * still waits.
 */
static void call_next_thief(const struct cpu *c)
{
    const struct cpumask *part = &c->disp->part->cpus;
    struct cpumask busy = cpumask_and(&cpu_queued_mask, part);

    if (cpumask_empty(&busy) ||
        disp_steal_cpu(&lgrp_topo, c->id, c->lgrp, &busy, stealable_priority) < 0)
        return;
    cpumask_clear_atomic(&cpu_idle_mask, c->id); /* c is not idle any more */
    call_nearest_thief(c->lgrp, part);
}

/* Takes a thread from the queue of another CPU of the set; it becomes ONPROC on `c`.  NULL: there is none. */
static __attribute__((noinline)) struct thread *steal_thread(struct cpu *c)
{
    struct cpumask busy = cpumask_and(&cpu_queued_mask, &c->disp->part->cpus);
    struct thread *t = NULL;

    if (!disp_cpu_online(c))
        return NULL;
    while (!cpumask_empty(&busy)) {
        int victim = disp_steal_cpu(&lgrp_topo, c->id, c->lgrp, &busy, stealable_priority);

        if (victim < 0)
            break;
        t = disp_take_from(cpus[victim], c, 0, UINT64_MAX);
        if (t != NULL) {
            c->stat->steals++;
            call_next_thief(c);
            break;
        }
        cpumask_clear(&busy, (unsigned)victim);
    }
    return t;
}

/* Takes from set queue `q` the best thread of priority >= `floor` that CPU `c` may run; NULL: none. */
static struct thread *take_rt_thread(struct disp_queue *q, struct cpu *c, int floor)
{
    struct thread *t, *found = NULL;

    spin_lock(&q->lock);
    for (int pri = q->maxpri; pri >= floor && found == NULL;
         pri = highest_queued_below(q, (unsigned)pri))
        LIST_FOREACH (t, &q->queue[pri], runq_link)
            if (disp_may_run(t, c)) {
                found = t;
                break;
            }
    if (found != NULL) {
        put_on_cpu(c, found);
        runq_remove(q, found);
    }
    spin_unlock(&q->lock);
    return found;
}

/*
 * Takes the best thread from the queue of c's set, if its priority is at least `floor` and at least that of c's
 * own queue.  NULL: there is none.  Ends the promise of CPU `c`.  If a real-time thread still waits, promises
 * that thread another CPU.
 */
static __attribute__((noinline)) struct thread *next_rt_thread(struct cpu *c, int floor)
{
    struct cpupart *part = c->disp->part;
    bool promised = atomic_exchange(&c->disp->promised, -1) >= 0;
    struct thread *t =
        take_rt_thread(&part->rt, c, max_of(max_of(floor, 0), (int)c->disp->q.maxpri));

    if (t != NULL)
        cpumask_clear_atomic(&cpu_idle_mask, c->id); /* c is not idle any more */
    if (promised)
        disp_rt_active--;
    if (promised && part->rt.maxpri >= 0)
        disp_rt_call(part);
    return t;
}

/* The implementation of disp_next_above(). */
static inline struct thread *take_queued_thread(struct cpu *c, int floor)
{
    struct disp_queue *q = &c->disp->q;
    struct thread *t = NULL;

    if (unlikely(disp_rt_active != 0)) {
        t = next_rt_thread(c, floor);
        if (t != NULL)
            return t;
    }
    if (q->maxpri >= floor) {
        spin_lock(&q->lock);
        if (q->maxpri >= floor) {
            t = list_first(&q->queue[q->maxpri], struct thread, runq_link);
            put_on_cpu(c, t);
            runq_remove(q, t);
        }
        spin_unlock(&q->lock);
    }
    return t;
}

struct thread *disp_next_above(struct cpu *c, int floor)
{
    return take_queued_thread(c, floor);
}

struct thread *disp_next(struct cpu *c)
{
    struct thread *t = take_queued_thread(c, 0);

    if (t == NULL && !cpumask_empty(&cpu_queued_mask))
        t = steal_thread(c);
    return t != NULL ? t : c->disp->idle_thread;
}
