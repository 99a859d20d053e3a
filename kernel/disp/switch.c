// SPDX-License-Identifier: MIT
/*
 * switch.c - the switch from one thread to the next.
 *
 * THEORY      A context switch saves the registers of one thread on its kernel stack and continues another
 *             thread on its own stack.  The thread that leaves takes its own lock before the switch, and the
 *             next thread, on the same CPU, releases that lock in finish_switch_unlock().  So no other CPU can
 *             run the thread while this CPU still uses its stack.
 * INVARIANTS  thread.h I1-I3
 *             I4  the guard word at the bottom of a kernel stack is intact when the thread leaves its CPU
 * LOCKING     t->lock (RANK_THREAD), then run-queue locks
 * SEE ALSO    preempt.c and idle.c, which switch, too; docs/dispatcher.md
 */
#include "disp/switch.h"

#include "disp/context.h"
#include "disp/disp.h"
#include "disp/runtime.h"
#include "mem/kstack.h"
#include "stat/cpustat.h"
#include "stat/modelled.h"
#include "stat/panic.h"
#include "x86/asm.h"
#include "x86/trap.h"

/* The second half of a switch, in the new thread: queues `prev` if it is runnable, and releases its lock. */
static inline void finish_switch_unlock(struct thread *prev)
{
    if (prev->state == TS_RUNNABLE)
        disp_enqueue(prev, QUEUE_AGAIN);
    spin_unlock(&prev->lock);
}

/*
 * The time slice, in TSC cycles, of `t`, which is being dispatched.  The slice is the rest of the
 * last slice of t or a new slice, and is not longer than the level of t allows.
 */
static inline uint64_t choose_slice_length(struct thread *t)
{
    t->slice_whole = class_quantum(t);
    return t->slice_left != 0 ? min_of(t->slice_left, t->slice_whole) : t->slice_whole;
}

void switch_to(struct thread *prev, struct thread *next)
{
    struct cpu *c = this_cpu();
    struct disp_cpu *d = c->disp;
    struct cpu_stat *stat = c->stat;
    uint64_t irq_flags = c->irq_flags;
    uint64_t now = rdtsc();
    bool to_idle = next == d->idle_thread;

    ASSERT(c->nlock == 1 && *(uint64_t *)prev->kstack == STACK_GUARD, "I4");
    charge_runtime(prev, now);
    prev->uticks += stat->usr_ticks - prev->uticks_base;
    prev->sticks += stat->sys_ticks - prev->sticks_base;
    prev->last_ran = lbolt;
    prev->slice_left = slice_rest(d, now);
    if (prev->slice_left == 0 && prev->state != TS_RUNNABLE)
        prev->slice_left = 1; /* the slice has just ended: a short sleep must not begin a new one */
    stat->csw++;

    next->oncpu_since = now;
    next->uticks_base = stat->usr_ticks;
    next->sticks_base = stat->sys_ticks;
    atomic_fetch_and_explicit(&next->ast, ~(uint32_t)AST_RESCHED, memory_order_relaxed);
    if (to_idle)
        d->runpri = -1; /* otherwise put_on_cpu() has set runpri */
    /* If a thread was queued since `next` was chosen, the CPU that queued it may have read prev's priority. */
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
    this_cpu()->irq_flags = irq_flags;
    finish_switch_unlock(prev);
}

/* The first C function of every new thread; `prev` is the thread that the new thread has replaced on this CPU. */
void thread_begin(struct thread *prev)
{
    struct thread *t = curthread;

    this_cpu()->irq_flags = RFLAGS_IF;
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

void thread_exit_switch(void)
{
    struct thread *t = curthread;

    spin_lock(&t->lock);
    t->state = TS_ZOMBIE;
    t->nvcsw++;
    switch_to(t, disp_next(this_cpu()));
    panic("a thread that had ended was dispatched");
}
