// SPDX-License-Identifier: MIT
/*
 * thread.c - threads: creation, context switch, sleep and wake-up, end.
 *
 * THEORY      See thread.h.  A context switch saves the registers of one thread on its kernel stack and
 *             continues another thread on its own stack.  The thread that leaves takes its own lock before
 *             the switch, and the next thread, on the same CPU, releases that lock in finish_switch_unlock().
 *             So no other CPU can run the thread while this CPU still uses its stack.
 * INVARIANTS  thread.h I1-I3
 *             I4  the guard word at the bottom of a kernel stack is intact when the thread leaves its CPU
 * LOCKING     t->lock (RANK_THREAD), then partition, run-queue and lgroup locks
 */
#include "disp/disp.h"

#include "disp/context.h"
#include "lgrp/lgrp.h"
#include "lgrp/place.h"
#include "lgrp/lgrpstat.h"
#include "lib/errno.h"
#include "lib/rng.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/kstack.h"
#include "mem/page.h"
#include "stat/cpustat.h"
#include "stat/modelled.h"
#include "stat/panic.h"
#include "stat/tunable.h"
#include "uapi/homeroom.h"
#include "x86/asm.h"
#include "x86/trap.h"

#define STACK_GUARD 0x57acc0de57acc0deull

struct thread *context_switch(struct thread *prev, struct thread *next);
void context_begin(void);
void thread_begin(struct thread *prev);

struct list all_threads = LIST_INIT(all_threads);
struct spinlock all_threads_lock = SPINLOCK_INIT(RANK_VM_TLB);

static struct kmem_cache *fpu_cache;
static _Atomic uint32_t next_tid = 1u << 22; /* kernel threads; programs' ids come from proc */

/* ---- switching ---- */

/* The second half of a switch, in the new thread: queues `prev` if it can run, and releases its lock. */
static void finish_switch_unlock(struct thread *prev)
{
    if (prev->state == TS_RUNNABLE)
        disp_enqueue(prev, QUEUE_AGAIN);
    spin_unlock(&prev->lock);
}

/* Charges `t` (its lock held) for the TSC cycles from oncpu_since to `now`. */
static void charge_runtime(struct thread *t, uint64_t now)
{
    t->runtime_tsc += now - t->oncpu_since;
    if (unlikely(t->runtime_tsc >= t->alarm_tsc))
        atomic_fetch_or(&t->ast, AST_ALARM);
    class_charge(t, now - t->oncpu_since);
    t->oncpu_since = now;
}

/*
 * Time slice of `t`, which is being dispatched, in TSC cycles: the rest of its last one, or a new one; not
 * more than its level allows.
 */
static inline uint64_t choose_slice_length(struct thread *t)
{
    t->slice_whole = class_quantum(t);
    return t->slice_left != 0 ? min_of(t->slice_left, t->slice_whole) : t->slice_whole;
}

/* Rest of the running thread's slice at TSC `now`, in cycles; 0: it is over, and a new one begins. */
static inline uint64_t slice_rest(const struct disp_cpu *d, uint64_t now)
{
    return d->quantum_end > now ? d->quantum_end - now : 0;
}

/*
 * Switches from curthread `prev` (its lock held, and no other) to `next`, which is ONPROC here.  Returns when
 * prev runs again, with its lock released.
 */
static void switch_to(struct thread *prev, struct thread *next)
{
    struct cpu *c = this_cpu();
    struct disp_cpu *d = c->disp;
    bool irq = c->irq_was_on;
    uint64_t now = rdtsc();
    bool to_idle = next == d->idle_thread;

    ASSERT(c->nlock == 1 && *(uint64_t *)prev->kstack == STACK_GUARD, "I4");
    charge_runtime(prev, now);
    prev->uticks += c->stat->usr_ticks - prev->uticks_base;
    prev->sticks += c->stat->sys_ticks - prev->sticks_base;
    prev->last_ran = lbolt;
    prev->slice_left = slice_rest(d, now);
    if (prev->slice_left == 0 && prev->state != TS_RUNNABLE)
        prev->slice_left = 1; /* the slice has just ended: a short sleep must not begin a new one */
    c->stat->csw++;

    next->oncpu_since = now;
    next->uticks_base = c->stat->usr_ticks;
    next->sticks_base = c->stat->sys_ticks;
    atomic_fetch_and_explicit(&next->ast, ~(uint32_t)AST_RESCHED, memory_order_relaxed);
    if (to_idle)
        d->runpri = -1; /* else put_on_cpu() has set it */
    /* If a thread was queued since `next` was chosen, the CPU that did so may have seen prev's priority. */
    if (disp_waiting(c) > d->runpri)
        atomic_fetch_or_explicit(&next->ast, AST_RESCHED, memory_order_relaxed);
    if (to_idle || c->idle) {
        c->idle = to_idle;
        if (to_idle)
            cpumask_set_atomic(&cpu_idle_mask, c->id);
        else
            cpumask_clear_atomic(&cpu_idle_mask, c->id);
    }
    d->quantum_end = to_idle ? UINT64_MAX : now + choose_slice_length(next);
    if (d->quantum_end < d->timer_set_for)
        timer_program(c);

    if (TRACE_ON(SWITCH))
        trace_put(TRACE_SWITCH, next->tid, prev->state, trace_name(next->name),
                  trace_name_rest(next->name));
    modelled_switch(prev->modelled, next->modelled);
    if (prev->fpu != NULL)
        fpu_save(prev->fpu);
    if (next->fpu != NULL) {
        fpu_load(next->fpu);
        wrmsr(MSR_FSBASE, next->fsbase);
        wrmsr(MSR_KGSBASE, next->gsbase);
    }
    as_activate(next);
    c->thread = next;
    trap_set_kstack((uint64_t)next->kstack + KSTACK_SIZE);
    prev = context_switch(prev, next);
    this_cpu()->irq_was_on = irq;
    finish_switch_unlock(prev);
}

/* The first C function of every new thread; `prev` is the thread that it has replaced on this CPU. */
void thread_begin(struct thread *prev)
{
    struct thread *t = curthread;

    this_cpu()->irq_was_on = true;
    finish_switch_unlock(prev);
    t->entry(t->entry_arg);
    thread_exit_switch();
}

void swtch(void)
{
    struct thread *t = curthread;

    t->nvcsw++;
    switch_to(t, disp_next(this_cpu()));
}

/*
 * Gives the CPU to a queued thread of priority >= floor, if there is one.  curthread then waits before the
 * threads of its priority (`at_front`) or behind them.  Returns whether it switched.
 */
static bool switch_if_above(int floor, bool at_front)
{
    struct thread *t = curthread, *next;
    struct cpu *c;

    spin_lock(&t->lock);
    c = this_cpu();
    if ((c->disp->q.maxpri < floor && disp_rt_active == 0) || t == c->disp->idle_thread ||
        (next = disp_next_above(c, floor)) == NULL) {
        spin_unlock(&t->lock);
        return false;
    }
    t->state = TS_RUNNABLE;
    t->at_front = at_front;
    switch_to(t, next);
    return true;
}

static void count_involuntary_switch(bool switched)
{
    if (switched) {
        curthread->nivcsw++;
        CPUSTAT_INC(icsw);
    }
}

void disp_preempt(void)
{
    struct thread *t = curthread, *next;
    bool away;

    if (t == this_cpu()->disp->idle_thread)
        return; /* it looks at its queue next; idle_wait() needs the ast */
    atomic_fetch_and(&t->ast, ~(uint32_t)AST_RESCHED);
    if (!disp_may_run(t, this_cpu())) {
        thread_leave_cpu();
        return;
    }
    if (rdtsc() >= this_cpu()->disp->quantum_end) {
        spin_lock(&t->lock);
        charge_runtime(t, rdtsc());
        class_quantum_expired(t);
        t->slice_whole = class_quantum(t);
        this_cpu()->disp->quantum_end = rdtsc() + t->slice_whole;
        timer_program(this_cpu());
        away = disp_nearer_idle(t, this_cpu()) != CPU_MAX;
        if (!away && (next = disp_balance(this_cpu(), t)) != NULL) {
            t->state = TS_RUNNABLE;
            switch_to(t, next);
            count_involuntary_switch(true);
            return;
        }
        spin_unlock(&t->lock);
        if (away) {
            count_involuntary_switch(true);
            thread_leave_cpu();
        } else {
            count_involuntary_switch(switch_if_above(t->fifo ? t->pri + 1 : t->pri, t->fifo));
        }
        return;
    }
    count_involuntary_switch(switch_if_above(t->pri + 1, true));
}

void thread_leave_cpu(void)
{
    struct thread *t = curthread;
    struct cpu *c;

    spin_lock(&t->lock);
    c = this_cpu();
    t->state = TS_RUNNABLE;
    switch_to(t, disp_next(c));
}

void thread_yield(void)
{
    struct thread *t = curthread;

    spin_lock(&t->lock);
    class_yield(t);
    spin_unlock(&t->lock);
    (void)switch_if_above(t->pri, false);
}

uint32_t halt_fenced_cpus = 1;
TUNABLE(halt_fenced_cpus, 0, 1,
        "1: a CPU without interrupts halts when idle; 0: it looks for work all the time; thread.c");

/*
 * The idle thread waits until there may be a thread to run.  Interrupts are off on entry and on afterwards.
 * A CPU that sets the idle thread's ast and then reads `polls` as true need not send an IPI.  Either the loop
 * below sees the ast, or the loop has ended.  In that case the idle thread looks at its queue after it set
 * `polls` to false, and so after the ast was set.
 */
static void idle_wait(struct cpu *c, struct thread *idle)
{
    if (likely(halt_fenced_cpus != 0 || c->disp->state != P_NOINTR)) {
        sti_hlt();
        return;
    }
    atomic_store(&c->disp->polls, true);
    irq_enable();
    while (atomic_load_explicit(&idle->ast, memory_order_relaxed) == 0 && halt_fenced_cpus == 0 &&
           c->disp->state == P_NOINTR)
        cpu_pause();
    atomic_store(&c->disp->polls, false);
}

void disp_idle_loop(void)
{
    struct cpu *c = this_cpu();
    struct thread *idle = c->disp->idle_thread;

    irq_disable();
    c->idle = true;
    cpumask_set_atomic(&cpu_idle_mask, c->id);
    for (;;) {
        struct thread *next;

        irq_disable();
        /* Before the look at the queue: a CPU that polls must not lose a notification (idle_wait()). */
        atomic_store(&idle->ast, 0);
        c->disp->steal_requested = !cpumask_test(&cpu_idle_mask, c->id);
        if (c->disp->steal_requested)
            cpumask_set_atomic(&cpu_idle_mask, c->id);
        next = disp_next(c);
        if (next == idle) {
            idle_wait(c, idle);
            continue;
        }
        spin_lock(&idle->lock);
        switch_to(idle, next);
        irq_enable();
    }
}

/* ---- sleep and waking ---- */

bool thread_wake(struct thread *t, struct thread *from)
{
    spin_lock(&t->lock);
    if (from != NULL) /* even if it does not sleep yet: it continues because of this wake-up */
        modelled_pass(from->modelled, t->modelled);
    if (t->state != TS_SLEEP) {
        spin_unlock(&t->lock);
        return false;
    }
    t->state = TS_RUNNABLE;
    class_slept(t);
    disp_enqueue(t, QUEUE_WOKEN);
    spin_unlock(&t->lock);
    return true;
}

void thread_interrupt(struct thread *t)
{
    struct cpu *c = NULL;

    atomic_fetch_or(&t->ast, AST_SIGNAL);
    spin_lock(&t->lock);
    if (t->state == TS_SLEEP && t->sleep_sig) {
        modelled_pass(curthread->modelled, t->modelled);
        t->state = TS_RUNNABLE;
        class_slept(t);
        disp_enqueue(t, QUEUE_WOKEN);
    } else if (t->state == TS_ONPROC && t != curthread) {
        c = t->cpu;
    }
    spin_unlock(&t->lock);
    if (c != NULL)
        disp_poke(c, POKE_SIGNAL); /* it checks its ast on the way back to user mode */
}

/* ---- making and ending ---- */

void thread_prepare(struct thread *t, struct thread *creator)
{
    memset(t, 0, sizeof *t);
    spin_init(&t->lock, RANK_THREAD);
    list_init(&t->runq_link);
    list_init(&t->all_link);
    t->state = TS_SLEEP;
    t->inherit_pri = -1;
    t->bound_cpu = -1;
    t->cpu = this_cpu();
    t->part = &cpupart_default;
    t->lg.home = t->lg.touch = LGRP_NONE;
    t->alarm_tsc = ALARM_NEVER;
    if (creator != NULL) {
        if (unlikely(creator->lg.has_mempolicy)) {
            t->mempolicy = creator->mempolicy;
            t->lg.has_mempolicy = true;
        }
        spin_lock(&creator->lock);
        t->part = creator->part;
        t->bound_cpu = creator->bound_cpu;
        t->affinity = creator->affinity;
        t->restricted = creator->restricted;
        class_init_thread(t, creator);
        /* The child continues its parent's slice; a new one for each child would be unfair (class.c). */
        t->oncpu_since = rdtsc();
        t->slice_left = max_of(slice_rest(this_cpu()->disp, t->oncpu_since), 1ul);
        t->slice_whole = curthread->slice_whole;
        spin_unlock(&creator->lock);
    } else {
        class_init_thread(t, NULL);
    }
}

/* The memory node from which to take a thread's kernel memory; `home`: its home lgroup, or LGRP_NONE. */
static unsigned home_node(unsigned home)
{
    return home == LGRP_NONE ? this_cpu()->node
                             : lgrp_mem_node(&lgrp_topo, home, (uint32_t)rng_next());
}

int thread_init(struct thread *t, const char *name, void (*entry)(void *), void *arg)
{
    unsigned node = home_node(t->lg.home);
    void *stack = kstack_alloc(node);
    uint64_t *sp;

    if (stack == NULL)
        return -ENOMEM;
    if (t->lwp != NULL) {
        t->fpu = kmem_cache_alloc_node(fpu_cache, node);
        if (t->fpu == NULL && (t->fpu = kmem_cache_alloc_wait(fpu_cache)) == NULL) {
            kstack_free(stack);
            return -ENOMEM;
        }
        thread_fpu_init(t);
        if (modelled_page != NULL && (t->modelled = kmem_zalloc(sizeof *t->modelled)) == NULL) {
            kmem_cache_free(fpu_cache, t->fpu);
            kstack_free(stack);
            return -ENOMEM;
        }
    }
    str_copy(t->name, name, sizeof t->name);
    t->kstack = stack;
    *(uint64_t *)t->kstack = STACK_GUARD;
    t->entry = entry;
    t->entry_arg = arg;
    t->uregs = thread_regs(t);
    if (t->tid == 0)
        t->tid = next_tid++;
    sp = (uint64_t *)t->uregs;
    *--sp = 0; /* keeps the stack aligned as after a call */
    *--sp = (uint64_t)context_begin;
    sp -= 6; /* the registers that context_switch pops; frame pointer 0 ends back traces */
    memset(sp, 0, 6 * sizeof *sp);
    t->ksp = (uint64_t)sp;
    spin_lock(&all_threads_lock);
    list_push_back(&all_threads, &t->all_link);
    spin_unlock(&all_threads_lock);
    return 0;
}

void thread_start(struct thread *t)
{
    spin_lock(&t->lock);
    if (t->bound_cpu >= 0 && !disp_cpu_online(cpus[t->bound_cpu]))
        t->bound_cpu = -1; /* inherited from its creator, whose binding was just removed (cpu.c) */
    modelled_pass(curthread->modelled, t->modelled);
    t->state = TS_RUNNABLE;
    t->last_ran = lbolt; /* class_second() counts its waiting time from now on */
    disp_enqueue(t, QUEUE_NEW);
    spin_unlock(&t->lock);
}

void thread_destroy(struct thread *t)
{
    bool gone;

    /*
     * It may still be leaving its CPU, with interrupts off.  That CPU releases t->lock once it does not use
     * the stack of t any more.
     */
    do {
        spin_lock(&t->lock);
        gone = t->state == TS_ZOMBIE || t->state == TS_SLEEP;
        ASSERT(gone || (t->state == TS_ONPROC && t->exiting),
               "destroyed after it ended or before it began");
        spin_unlock(&t->lock);
        if (!gone)
            cpu_pause();
    } while (!gone);
    spin_lock(&all_threads_lock);
    list_remove(&t->all_link);
    spin_unlock(&all_threads_lock);
    if (t->fpu != NULL)
        kmem_cache_free(fpu_cache, t->fpu);
    if (t->modelled != NULL)
        kmem_free(t->modelled);
    kstack_free(t->kstack);
}

void thread_exit_switch(void)
{
    struct thread *t = curthread;

    spin_lock(&t->lock);
    t->state = TS_ZOMBIE;
    t->nvcsw++;
    switch_to(t, disp_next(this_cpu()));
    panic("a thread that had ended was dispatched");
}

struct thread *kthread_create(const char *name, int pri, void (*fn)(void *), void *arg)
{
    struct thread *t = kmem_alloc(sizeof *t);

    if (t == NULL)
        return NULL;
    thread_prepare(t, NULL);
    t->base_pri = t->pri = (int16_t)pri;
    if (thread_init(t, name, fn, arg) != 0) {
        kmem_free(t);
        return NULL;
    }
    thread_start(t);
    return t;
}

/* ---- homes ---- */

unsigned thread_home_new(struct thread *t, struct lgrp_proc *p, struct thread *creator)
{
    struct cpupart *part = t->part;
    uint64_t now = clock_mono_ns();

    spin_lock(&cpupart_lock);
    if (t->bound_cpu >= 0) {
        t->lg.proc = p;
        lgrp_thread_join(&part->lgrps, &t->lg, cpus[t->bound_cpu]->lgrp, now);
    } else {
        lgrp_thread_home(&part->lgrps, &t->lg, p, creator != NULL ? &creator->lg : NULL, now,
                         (uint32_t)rng_step(&part->rng));
    }
    spin_unlock(&cpupart_lock);
    return t->lg.home;
}

void thread_unhome(struct thread *t)
{
    struct lgrp_proc *p = t->lg.proc;

    spin_lock(&cpupart_lock);
    lgrp_thread_leave(&t->lg, clock_mono_ns());
    if (p != NULL && p->bitmap == 0) /* it was the last thread of the process */
        lgrp_proc_exit(p);
    spin_unlock(&cpupart_lock);
}

void thread_new_program(struct thread *t)
{
    spin_lock(&cpupart_lock);
    if (t->lg.proc != NULL)
        lgrp_proc_exit(t->lg.proc);
    spin_unlock(&cpupart_lock);
}

void thread_rehome(struct thread *t, unsigned lgrp)
{
    spin_lock(&cpupart_lock);
    if (t->lg.part != NULL && t->lg.home != lgrp) {
        lgrp_count_rehome(t->lg.home, lgrp);
        lgrp_thread_leave(&t->lg, clock_mono_ns());
        lgrp_thread_join(&t->part->lgrps, &t->lg, lgrp, clock_mono_ns());
    }
    spin_unlock(&cpupart_lock);
}

void thread_choose_home(struct thread *t, struct cpupart *part)
{
    unsigned old = t->lg.home;

    lgrp_count_rehome(old, lgrp_thread_rehome(&part->lgrps, &t->lg, t->lgrp_aff, clock_mono_ns(),
                                              (uint32_t)rng_step(&part->rng)));
}

void thread_follow_affinity(struct thread *t)
{
    spin_lock(&cpupart_lock);
    if (t->lg.part != NULL && t->lgrp_aff != NULL)
        thread_choose_home(t, t->part);
    spin_unlock(&cpupart_lock);
}

int thread_set_lgrp_affinity(struct thread *t, unsigned lgrp, unsigned level)
{
    uint8_t *spare = level != 0 ? kmem_zalloc(LGRP_MAX) : NULL;
    unsigned any = 0;

    if (level != 0 && spare == NULL)
        return -ENOMEM;
    spin_lock(&cpupart_lock);
    if (t->lgrp_aff == NULL) {
        t->lgrp_aff = spare;
        spare = NULL;
    }
    if (t->lgrp_aff != NULL) {
        t->lgrp_aff[lgrp] = (uint8_t)level;
        for (unsigned i = 0; i < LGRP_MAX; i++)
            any |= t->lgrp_aff[i];
        if (any == 0) {
            spare = t->lgrp_aff;
            t->lgrp_aff = NULL;
        }
        if (t->lg.part != NULL && t->bound_cpu < 0)
            thread_choose_home(t, t->part);
    }
    spin_unlock(&cpupart_lock);
    kmem_free(spare);
    return 0;
}

unsigned thread_lgrp_affinity(struct thread *t, unsigned lgrp)
{
    unsigned level;

    spin_lock(&cpupart_lock);
    level = t->lgrp_aff != NULL ? t->lgrp_aff[lgrp] : 0;
    spin_unlock(&cpupart_lock);
    return level;
}

void thread_set_mempolicy(const struct mempolicy *mp)
{
    struct thread *t = curthread;

    spin_lock(&cpupart_lock); /* the home must not change between read and write */
    t->mempolicy = *mp;
    t->lg.has_mempolicy = mp->mode != MPOL_DEFAULT;
    t->lg.touch = t->lg.has_mempolicy ? LGRP_NONE : t->lg.home;
    spin_unlock(&cpupart_lock);
}

/* TSC cycles that `t`, whose lock is held, has run up to now. */
static uint64_t runtime_now(const struct thread *t)
{
    return t->runtime_tsc + (t->state == TS_ONPROC ? rdtsc() - t->oncpu_since : 0);
}

uint64_t thread_runtime_ns(struct thread *t)
{
    uint64_t tsc;

    spin_lock(&t->lock);
    tsc = runtime_now(t);
    spin_unlock(&t->lock);
    return tsc_to_ns(tsc);
}

void thread_set_alarm(struct thread *t, uint64_t ms)
{
    spin_lock(&t->lock);
    t->alarm_tsc = ms == ALARM_NEVER ? ALARM_NEVER : runtime_now(t) + ms * clock_tsc_per_ms();
    spin_unlock(&t->lock);
}

/* ---- start-up ---- */

void disp_cpu_init(struct cpu *c)
{
    struct disp_cpu *d = kmem_alloc_node(sizeof *d, c->node);
    struct thread *t = kmem_alloc_node(sizeof *t, c->node);

    if (d == NULL || t == NULL)
        panic("no memory for the run queue of CPU %u", c->id);
    memset(d, 0, sizeof *d);
    disp_queue_init(&d->q, c);
    d->runpri = d->promised = -1;
    d->quantum_end = d->timer_set_for = UINT64_MAX;
    c->disp = d;
    d->part = &cpupart_default;
    timer_cpu_init(c);
    thread_prepare(t, NULL);
    if (thread_init(t, "idle", NULL, NULL) != 0)
        panic("no memory for the idle thread of CPU %u", c->id);
    t->cls = CLASS_SYS;
    t->base_pri = t->pri = -1;
    t->state = TS_ONPROC;
    t->cpu = c;
    t->bound_cpu = (int)c->id;
    d->idle_thread = t;
    c->thread = t;
    c->kstack_top = (uint64_t)t->kstack + KSTACK_SIZE;
}

void disp_init(void)
{
    fpu_cache = kmem_cache_create("fpu", FPU_SIZE, 16);
}
