// SPDX-License-Identifier: MIT
/*
 * disp.h - private to the dispatcher: the state of each CPU, and the functions that its files share.
 *
 * LOCKING  [r] q.lock (RANK_RUNQ)  [a] atomic  [c] constant  [o] only by its own CPU, interrupts off
 */
#ifndef DISP_DISP_H
#define DISP_DISP_H

#include "disp/pset.h"
#include "disp/thread.h"
#include "disp/timer.h"
#include "intr/intr.h"
#include "lib/cpu.h"
#include "stat/trace.h"

struct disp_cpu {
    struct disp_queue q;    /* threads that wait for this CPU */
    uint16_t nsteal;        /* [r] threads on q that another CPU may steal (not bound) */
    _Atomic int16_t runpri; /* [a] priority of the running thread; -1: idle */
    /* [a] priority of the real-time thread to which this CPU is promised; -1: none */
    _Atomic int16_t promised;
    struct thread *idle_thread; /* [c] */
    /*
     * [a] this CPU is idle and not halted, so it sees a change of the idle thread's `ast` without
     * an IPI
     */
    _Atomic bool polls;
    /*
     * [o] for the idle loop: another CPU has requested that this CPU steals, by clearing its bit in
     * cpu_idle_mask (runq.c)
     */
    bool steal_requested;
    struct spinlock timer_lock; /* RANK_TIMER */
    struct timer *timers; /* [timer_lock] the earliest armed timer: root of a heap (timerq.h) */
    /* [timer_lock] deadline of `timers`, ns; UINT64_MAX: none.  Its own CPU reads it unlocked. */
    _Atomic uint64_t first_ns;
    struct timer *running_timer; /* [timer_lock] the timer whose function is running; NULL: none */
    /* [timer_lock] CPU that keeps the timers armed on this CPU; normally this CPU itself */
    struct cpu *_Atomic timer_cpu;
    /* [cpu_lock] processor set of this CPU, also while the CPU is off-line; may be read unlocked */
    struct cpupart *_Atomic part;
    uint64_t quantum_end; /* [o] TSC at which the running thread's time slice ends */
    /* [o] clock tick at which disp_balance() last took a thread for this CPU */
    uint64_t balanced;
    uint64_t timer_set_for;     /* [o] TSC for which the hardware timer is set; UINT64_MAX: off */
    _Atomic uint32_t ndiskwait; /* [a] threads in cv_wait_disk() that went to sleep on this CPU */
    uint8_t state;              /* [a] P_ONLINE, P_OFFLINE, P_NOINTR */
    int64_t state_since;        /* [a] time of the last change of `state`, seconds since 1970 */
};

/* [a] CPUs in their idle loop that were not yet called to steal a thread */
extern struct cpumask cpu_idle_mask;
extern struct cpumask cpu_queued_mask; /* [a] CPUs with queued threads that may be stolen */
extern uint32_t halt_fenced_cpus;      /* tunable, read without a lock */
extern struct cpumask cpu_online_mask; /* [a] CPUs that run threads */

/* runq.c */
/*
 * disp_enqueue - queue RUNNABLE thread `t` (t->lock held) where the policy decides, and poke a CPU if needed.
 * @how  why `t` is queued: t has slept, t is new, or t ran or waited elsewhere.  The trace records
 *       the reason.  A new thread has no warm cache on any CPU.
 */
enum queue_how { QUEUE_WOKEN, QUEUE_NEW = TRACE_WAKE_NEW, QUEUE_AGAIN = TRACE_WAKE_AGAIN };
void disp_enqueue(struct thread *t, enum queue_how how);
/*
 * disp_dequeue - take a RUNNABLE thread off its queue (t->lock held); false: t was no longer on a
 * queue.
 */
bool disp_dequeue(struct thread *t);
/*
 * disp_set_pri - change the global priority of `t` (t->lock held), in any state.  A waiting thread stays on
 * its queue, unless it is unbound and its old or new priority is real-time: then it is queued anew.
 */
void disp_set_pri(struct thread *t, int pri);
/* disp_requeue_behind_rt - `t` (t->lock held) has waited long; if its CPU runs a real-time thread, queue t anew. */
void disp_requeue_behind_rt(struct thread *t);
/*
 * disp_may_run - whether `t` may run on CPU `c`.  If t is bound to a CPU, only the binding counts.  Otherwise c
 * must be in t's set and affinity mask.  A mask without an on-line CPU of the set is ignored.  Without t->lock
 * the answer may be out of date.  After each change of the answer, the CPU that t runs on is poked.
 */
bool disp_may_run(const struct thread *t, const struct cpu *c);
/*
 * disp_allowed - the CPUs that `t` may run on by the rule of disp_may_run(), but without the
 * binding of t; never empty.
 */
struct cpumask disp_allowed(const struct thread *t);
/*
 * disp_nearer_idle - an idle CPU that `t` may use and that is nearer to t's home than CPU `c`; CPU_MAX: none.
 * Takes no lock: the result is a hint.
 */
unsigned disp_nearer_idle(const struct thread *t, const struct cpu *c);
/*
 * disp_next - the thread that this CPU runs next: the best queued, else a stolen one, else the idle thread.
 * disp_next_above - the best queued thread whose priority is at least `floor`; NULL: there is
 * none.  For both, interrupts must be off.  The result is already in state ONPROC, so the caller
 * must switch to it.
 */
struct thread *disp_next(struct cpu *c);
struct thread *disp_next_above(struct cpu *c, int floor);
/*
 * disp_take_from - take from the queue of `victim` the unbound thread of the highest priority, at least
 * `floor`, that CPU `c` may run.  The thread becomes ONPROC on c.  NULL: there is none.
 * @lately  UINT64_MAX: takes the first thread for which no idle CPU is nearer to the thread's home
 *          than c.  Otherwise, of the threads at home in c's lgroup, the one with the lowest
 *          lately_tsc (TSC cycles), if that is lower than `lately`.
 */
struct thread *disp_take_from(struct cpu *victim, struct cpu *c, int floor, uint64_t lately);
/*
 * disp_balance - take a thread from a busier CPU of the lgroup.  CPU `c` must run it instead of its thread `t`,
 * whose time slice has ended.  t->lock is held.  Returns NULL if there is none; the result becomes ONPROC on c.
 */
struct thread *disp_balance(struct cpu *c, const struct thread *t);
/*
 * Number of threads on the real-time queues of all sets, plus number of CPUs promised to such a thread.
 * While it is 0, which is the normal case, no CPU looks at those queues.
 */
extern _Atomic uint32_t disp_rt_active;
/* disp_waiting - the highest priority queued on CPU `c` or on the real-time queue of its set; -1: none. */
static inline int disp_waiting(const struct cpu *c)
{
    int own = atomic_load_explicit(&c->disp->q.maxpri, memory_order_relaxed);

    return likely(disp_rt_active == 0) ? own
                                       : max_of(own, (int)atomic_load(&c->disp->part->rt.maxpri));
}
/*
 * disp_rt_call - promise a CPU to the best thread on the real-time queue of `part` that can run at once
 * somewhere, and poke that CPU.  Nothing happens if there is no such thread.
 */
void disp_rt_call(struct cpupart *part);
/* disp_queue_init - make an empty queue for CPU `c`; c NULL: the real-time queue of a set. */
void disp_queue_init(struct disp_queue *q, struct cpu *c);
/*
 * disp_poke - make CPU `c` check soon whether another thread must run.  CPU c then looks at its
 * queue, and checks whether its running thread is still allowed to run there.  Sends a reschedule
 * IPI, unless c is this CPU or polls while idle.
 */
void disp_poke(struct cpu *c, enum intr_poke why);
/* disp_poked - handle a reschedule IPI; in interrupt context. */
void disp_poked(void);

/* sample.c */
enum { TRACE_SAMPLES = 1 << TRACE_MEMORY | 1 << TRACE_MISSES | 1 << TRACE_LINK };
/* trace_sample - record the values that are on of TRACE_SAMPLES; called by the clock at each tick, number `tick`. */
void trace_sample(uint64_t tick);

/* cpu.c; cpu_lock is held */
/*
 * disp_cpu_leave - remove CPU `c`, which is already out of the mask of set `from`, from the set's load records.
 * The unbound threads on its queue move to the queues of other CPUs.  If c was the set's last CPU in its
 * lgroup, the threads of the set at home there get new homes.
 * disp_cpu_enter - add `c` to the load records and the mask of set `to`.
 */
void disp_cpu_leave(struct cpu *c, struct cpupart *from);
void disp_cpu_enter(struct cpu *c, struct cpupart *to);
/*
 * disp_recheck_affinities - CPUs of `part` have come or gone.  A thread's affinity mask counts only while it
 * contains a CPU of the set (disp_may_run).  So a mask that did not count may count now, and the
 * reverse.  Moves each thread that is on a CPU where it must not run any more.
 */
void disp_recheck_affinities(struct cpupart *part);
/*
 * disp_cpu_unbind - wait until no thread is bound to CPU `c`; with `forced`, unbind all.  0, or -EBUSY: some
 * thread is still bound after BOUND_TRIES waits of BOUND_WAIT_NS.  Sleeps.
 */
int disp_cpu_unbind(struct cpu *c, bool forced);

/* One level of time sharing: ts_dptbl(4) of Solaris. */
struct ts_dpent {
    uint8_t quantum; /* time slice at this level, ms */
    uint8_t tqexp;   /* new level of a thread that has used up its slice */
    uint8_t slpret;  /* new level of a thread that has slept */
    /* seconds; a thread that has not used up a slice or slept for longer gets level lwait */
    uint16_t maxwait;
    uint8_t lwait;
};
extern const struct ts_dpent ts_dptbl[PRI_USER_MAX + 1];

/* class.c: scheduling classes. */
/* class_init_thread - give new thread `t` the class and priority of `creator` (its lock held); NULL: SYS. */
void class_init_thread(struct thread *t, const struct thread *creator);
void class_recompute(struct thread *t);         /* base_pri and pri from class data; t->lock held */
uint64_t class_quantum(const struct thread *t); /* length of the time slice of t, TSC cycles */
void class_quantum_expired(struct thread *t);   /* t has used up its time slice; t->lock held */
void class_yield(struct thread *t);             /* t->lock held */
void class_slept(struct thread *t);             /* t wakes up from a sleep; t->lock held */
/*
 * class_tick - called at each tick of the clock.  Each thread ages once a second; at most AT_ONCE threads, or the
 * hundredth part of all, do so at one tick, because interrupts are off.
 * @second  a second begins
 */
void class_tick(bool second);
/* The fields lately_tsc and second_tsc of a thread that runs all the time.  The clock sets them in class_tick(). */
struct class_always {
    _Atomic uint64_t lately_tsc, second_tsc; /* [a] TSC cycles */
};
extern struct class_always class_always;
void class_lifted(struct thread *t); /* curthread returns to user mode with AST_LIFTED */
/*
 * class_fss_update - called at each tick of the clock: computes the shares of users.  Looks at a part of the threads,
 * as many as class_tick().
 * @begin  a tenth of a second begins: begin a new pass over all threads, unless one is under way
 * class_forget_thread_locked - `t` leaves the list of all threads; the caller holds all_threads_lock.
 */
void class_fss_update(bool begin);
void class_forget_thread_locked(struct thread *t);
void class_charge(struct thread *t, uint64_t tsc); /* t has run `tsc` more cycles; t->lock held */

/* timer.c */
void timer_cpu_init(struct cpu *c);
void timer_interrupt(void); /* call expired timers, end the time slice; interrupt context */
/* timer_program - set the hardware timer of `c`, this CPU, for the first deadline or the end of the slice. */
void timer_program(struct cpu *c);
/*
 * timer_leave - move the timers of CPU `c` to CPU `to`, which keeps timers.  Timers armed on c later also go to
 * `to`.
 * timer_return - make c keep its own timers again; timers that have moved stay where they are.
 */
void timer_leave(struct cpu *c, struct cpu *to);
void timer_return(struct cpu *c);
/*
 * clock_calibrate - measure the TSC and the local APIC's timer against the power-management timer, a counter
 * of `pm_bits` bits at I/O port `pm_port`.  Takes 4 ms.  Panics if pm_port is 0 (the machine has no such
 * timer).
 */
void clock_calibrate(uint16_t pm_port, unsigned pm_bits);
uint64_t clock_tsc_per_ms(void);

/* clock.c */
void clock_start(void);

/* thread_home.c */
/*
 * thread_choose_home - choose the home of `t` in set `part` again; the lgroup affinities of t
 * decide first.  A load record must already count t, and the caller holds cpupart_lock.
 * thread_follow_affinity - the same in the present set of t, if t has lgroup affinities and a load
 * record counts t.  Takes cpupart_lock.
 */
void thread_choose_home(struct thread *t, struct cpupart *part);
void thread_follow_affinity(struct thread *t);

/* class.c */
/* thread_inherit - lend `t` (t->lock held) the priority `pri` of a waiter; -1: take the priority back. */
void thread_inherit(struct thread *t, int pri);

/* preempt.c */
/* thread_leave_cpu - leave this CPU and queue curthread anew, because another CPU must run curthread. */
void thread_leave_cpu(void);

/* cpu.c */
bool disp_cpu_online(const struct cpu *c);

/* thread.c: all threads, for the clock and the debugger. */
extern struct list all_threads;
extern unsigned all_threads_count; /* length of the list; all_threads_lock */
extern struct spinlock all_threads_lock;

/* thread_effective_pri - global priority of `t`, including the lent priority and the lift; t->lock is held. */
static inline int thread_effective_pri(const struct thread *t)
{
    int pri = t->inherit_pri > t->base_pri ? t->inherit_pri : t->base_pri;

    return t->lifted ? max_of(pri, (int)PRI_SYS) : pri;
}

#endif
