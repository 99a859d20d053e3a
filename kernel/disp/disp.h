// SPDX-License-Identifier: MIT
/*
 * disp.h - the dispatcher's own: run queues and what its files share.
 *
 * LOCKING  [r] q.lock (RANK_RUNQ)  [a] atomic  [c] constant  [o] by its own CPU, interrupts off
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
    struct disp_queue q;        /* threads that wait for this CPU                                */
    uint16_t nsteal;            /* [r] of these, threads that another CPU may take               */
    _Atomic int16_t runpri;     /* [a] priority of the running thread; -1: idle                  */
    _Atomic int16_t promised;   /* [a] of a real-time thread that it was poked for; -1: none     */
    struct thread *idle_thread; /* [c]                                                           */
    _Atomic bool polls;   /* [a] it is idle and does not halt: the idle thread's ast is enough */
    bool steal_requested; /* [o] in its idle loop: it was called to steal, or woken; runq.c */
    struct spinlock timer_lock; /* RANK_TIMER                                                    */
    struct timer *timers; /* [timer_lock] the earliest armed timer: root of a heap (timerq.h) */
    _Atomic uint64_t
        first_ns; /* [timer_lock] deadline of timers, UINT64_MAX: none; its CPU reads unlocked */
    struct timer *running_timer; /* [timer_lock] whose function is being called                   */
    struct cpu
        *_Atomic timer_cpu; /* [timer_lock] who keeps what is armed here: itself, as a rule      */
    struct cpupart
        *_Atomic part;      /* [cpu_lock] the set it belongs to, off-line too; read without it */
    uint64_t quantum_end;   /* [o] TSC at which the running thread's time slice ends          */
    uint64_t balanced;      /* [o] clock tick at which it last took another CPU's thread      */
    uint64_t timer_set_for; /* [o] TSC the hardware timer is set for; UINT64_MAX: off         */
    _Atomic uint32_t ndiskwait; /* [a] threads that went to sleep here for a disk                */
    uint8_t state;              /* [a] P_ONLINE, P_OFFLINE, P_NOINTR                             */
    int64_t state_since;        /* [a] seconds since 1970                                        */
};

extern struct cpumask
    cpu_idle_mask; /* [a] CPUs in their idle loop                                   */
extern struct cpumask
    cpu_queued_mask; /* [a] CPUs with threads queued that may be stolen               */
extern uint32_t halt_fenced_cpus; /* tunable, read without a lock                                 */
extern struct cpumask
    cpu_online_mask; /* [a] CPUs that run threads                                     */

/* runq.c */
/*
 * disp_enqueue - queue RUNNABLE thread `t` (t->lock held) on the CPU that policy names, and poke that CPU.  `how`, for
 * the trace: it slept, it is new, it ran or waited on another queue.
 */
enum queue_how { QUEUE_WOKEN, QUEUE_NEW = TRACE_WAKE_NEW, QUEUE_AGAIN = TRACE_WAKE_AGAIN };
void disp_enqueue(struct thread *t, enum queue_how how);
/* disp_dequeue - take a RUNNABLE thread off its queue (t->lock held); false: it was not there any more. */
bool disp_dequeue(struct thread *t);
/*
 * disp_set_pri - change the global priority of `t` (t->lock held) wherever it is: a thread that waits stays on the
 * queue of the CPU it waits for.
 */
void disp_set_pri(struct thread *t, int pri);
/* disp_requeue_behind_rt - `t` (t->lock held) waits behind a real-time thread on its CPU: choose its CPU anew. */
void disp_requeue_behind_rt(struct thread *t);
/*
 * disp_may_run - whether `t` may run on CPU `c`: its binding; else its set and affinity, which does not count while it
 * has no CPU of the set on-line.  Without a lock the answer may be old; whoever changes it interrupts the CPU that t
 * runs on.
 */
bool disp_may_run(const struct thread *t, const struct cpu *c);
/* disp_allowed - the CPUs that `t` may run on while it is not bound, by the same rule; never empty. */
struct cpumask disp_allowed(const struct thread *t);
/*
 * disp_nearer_idle - an idle CPU that `t` may use and that is nearer to its home than CPU `c`; CPU_MAX: none.  Takes no
 * lock: a hint.
 */
unsigned disp_nearer_idle(const struct thread *t, const struct cpu *c);
/*
 * disp_next - what this CPU runs next: best queued, stolen, or idle.  Interrupts are off; it is ONPROC from now on.
 * disp_next_above - the best queued, if its priority is at least `floor`; NULL: there is none.
 */
struct thread *disp_next(struct cpu *c);
struct thread *disp_next_above(struct cpu *c, int floor);
/*
 * disp_take_from - takes from the queue of `victim` the best thread that CPU `c` may run, of priority `floor` at least;
 * it is ONPROC there from now on.  @lately  UINT64_MAX: the first; else the one with the lowest lately_tsc, if that is
 * lower than this, and only if c is in its home.  NULL: there is none.
 */
struct thread *disp_take_from(struct cpu *victim, struct cpu *c, int floor, uint64_t lately);
/*
 * disp_balance - what CPU `c` is to run instead of its thread `t`, whose time slice has ended, t->lock held; NULL: it
 * need not change.  balance.c
 */
struct thread *disp_balance(struct cpu *c, const struct thread *t);
/* Threads on the real-time queues of all sets, and CPUs promised to one: 0 as a rule, and then no CPU looks. */
extern _Atomic uint32_t disp_rt_active;
/* disp_waiting - the highest priority that waits for CPU `c`, or for any CPU of its set; -1: none. */
static inline int disp_waiting(const struct cpu *c)
{
    int own = atomic_load_explicit(&c->disp->q.maxpri, memory_order_relaxed);

    return likely(disp_rt_active == 0) ? own
                                       : max_of(own, (int)atomic_load(&c->disp->part->rt.maxpri));
}
/* disp_rt_call - make a CPU look for the first thread on the real-time queue of `part` for which there is one. */
void disp_rt_call(struct cpupart *part);
void disp_queue_init(struct disp_queue *q, struct cpu *c);
/* disp_poke - make CPU `c` look at its queue, and at whether its thread may stay, at the next chance. */
void disp_poke(struct cpu *c, enum intr_poke why);
/* disp_poked - another CPU has poked this one; in interrupt context. */
void disp_poked(void);

/* cpu.c; cpu_lock is held */
/*
 * disp_cpu_leave - CPU `c`, already out of the mask of set `from`, leaves its load records; nothing is queued there any
 * more.  disp_cpu_enter - it joins the records and the mask of set `to`.
 */
void disp_cpu_leave(struct cpu *c, struct cpupart *from);
void disp_cpu_enter(struct cpu *c, struct cpupart *to);
/* disp_cpu_unbind - wait until no thread is bound to CPU `c`; `forced` unbinds.  -EBUSY after BOUND_TRIES looks. */
int disp_cpu_unbind(struct cpu *c, bool forced);

/* A level of time sharing: ts_dptbl(4) of Solaris. */
struct ts_dpent {
    uint8_t quantum;  /* ms that a thread at this level may run                                   */
    uint8_t tqexp;    /* level of one that has used this up                                       */
    uint8_t slpret;   /* level of one that has slept                                              */
    uint16_t maxwait; /* one that has done neither for more seconds than this gets                */
    uint8_t lwait;    /* this level                                                               */
};
extern const struct ts_dpent ts_dptbl[PRI_USER_MAX + 1];

/* class.c: scheduling classes. */
void class_init_thread(struct thread *t, const struct thread *creator);
void class_recompute(struct thread *t);         /* base_pri and pri from class data; t->lock held */
uint64_t class_quantum(const struct thread *t); /* in TSC cycles */
void class_quantum_expired(struct thread *t);   /* t->lock held */
void class_yield(struct thread *t);             /* t->lock held */
void class_slept(struct thread *t);             /* it wakes from a sleep; t->lock held */
void class_second(void);                        /* once a second, by the clock: ageing */
void class_lifted(struct thread *t);            /* curthread goes to user mode with AST_LIFTED */
void class_fss_update(void);                    /* ten times a second, by the clock: shares */
void class_charge(struct thread *t, uint64_t tsc); /* it ran so long; t->lock held */

/* timer.c */
void timer_cpu_init(struct cpu *c);
void timer_interrupt(void);        /* in interrupt context */
void timer_program(struct cpu *c); /* set the hardware for the earlier of heap and quantum */
/*
 * timer_leave - CPU `c` keeps no timers from now on; `to`, which does, has those it had and gets those armed there.
 * timer_return - it keeps its own again.
 */
void timer_leave(struct cpu *c, struct cpu *to);
void timer_return(struct cpu *c);
void clock_calibrate(uint16_t pm_port, unsigned pm_bits);
uint64_t clock_tsc_per_ms(void);

/* clock.c */
void clock_start(void);

/*
 * thread_choose_home - `t`, counted in some record, chooses its home in set `part` anew, by its affinities first;
 * cpupart_lock is held.  thread_follow_affinity - it does so if it has any, and is counted.  Takes cpupart_lock.
 */
void thread_choose_home(struct thread *t, struct cpupart *part);
void thread_follow_affinity(struct thread *t);

/* thread_inherit - lend `t` (t->lock held) the priority of a waiter (-1: take it back). */
void thread_inherit(struct thread *t, int pri);
/* thread_leave_cpu - curthread may no longer run here: queue it where it may. */
void thread_leave_cpu(void);

/* cpu.c */
bool disp_cpu_online(const struct cpu *c);

/* thread.c: all threads, for the clock and the debugger. */
extern struct list all_threads;
extern struct spinlock all_threads_lock;

/* sync.c: priority inheritance; t->lock held. */
static inline int thread_effective_pri(const struct thread *t)
{
    int pri = t->inherit_pri > t->base_pri ? t->inherit_pri : t->base_pri;

    return t->lifted ? max_of(pri, (int)PRI_SYS) : pri;
}

#endif
