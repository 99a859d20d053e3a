// SPDX-License-Identifier: MIT
/*
 * preempt.c - when the running thread gives its CPU to another thread although it could go on.
 *
 * THEORY      An interrupt or another CPU sets AST_RESCHED, and the thread calls disp_preempt() at the end of the
 *             interrupt or on its way to user mode.  If the thread may not run on its CPU any more,
 *             it leaves the CPU.  If a thread of higher priority waits, that thread runs.  At the
 *             end of the time slice, threads of equal priority run, too.
 * LOCKING     t->lock (RANK_THREAD), then run-queue locks
 * SEE ALSO    class.c, which ends time slices; balance.c; docs/dispatcher.md, tests/host/test_runq.c
 */
#include "disp/disp.h"
#include "disp/runtime.h"
#include "disp/switch.h"
#include "stat/cpustat.h"

/*
 * Gives the CPU to a queued thread of priority >= floor, if there is one.  curthread is then queued before the
 * threads of its priority (`at_front`) or behind them.  Returns whether it switched.
 */
static bool switch_if_above(int floor, bool at_front)
{
    struct thread *t = curthread, *next = NULL;
    struct cpu *c;

    spin_lock(&t->lock);
    c = this_cpu();
    if ((c->disp->q.maxpri >= floor || disp_rt_active != 0) && t != c->disp->idle_thread)
        next = disp_next_above(c, floor);
    if (next == NULL) {
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
        return; /* the idle thread looks at its queue next, and idle_wait() needs the ast */
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
        next = away ? NULL : disp_balance(this_cpu(), t);
        if (next != NULL) {
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
