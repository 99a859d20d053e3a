// SPDX-License-Identifier: MIT
/*
 * thread.h - kernel threads: the unit that the dispatcher runs.
 *
 * THEORY      A struct thread is what runs on a CPU: a kernel stack, a priority, a home.  A user thread is a
 *             struct lwp (proc/lwp.h) that embeds one.  A thread sleeps by queueing itself somewhere under that
 *             place's lock, setting its state, and calling swtch(); thread_wake() makes it runnable again.
 * INVARIANTS  I1  t->state changes only under t->lock, and the lock is held over the switch away from t
 *             I2  a RUNNABLE thread is on exactly one run queue, or about to be put there by the CPU leaving it
 *             I3  an ONPROC thread is curthread of t->cpu
 * LOCKING     [t] t->lock (RANK_THREAD)  [o] only the thread itself  [a] atomic  [c] constant  [q] run-queue lock
 */
#ifndef DISP_THREAD_H
#define DISP_THREAD_H

#include "lgrp/load.h"
#include "lgrp/mempolicy.h"
#include "lib/cpumask.h"
#include "lib/list.h"
#include "lib/spinlock.h"
#include "lib/types.h"

struct cpu;
struct disp_queue;
struct modelled;
struct regs;
struct cpupart;

enum thread_state { TS_SLEEP, TS_RUNNABLE, TS_ONPROC, TS_ZOMBIE };

/* Bits of thread.ast: what to do before the thread returns to user mode. */
enum { AST_RESCHED = 1, AST_SIGNAL = 2, AST_ALARM = 4, AST_LIFTED = 8 };

/* Global priorities.  Real time has a level for each of POSIX's 99 priorities. */
enum {
    PRI_MIN = 0,
    PRI_USER_MAX = 59,
    PRI_SYS = 60,
    PRI_RT = 100,
    RT_LEVELS = 99,
    NPRI = PRI_RT + RT_LEVELS
};

enum sched_class { CLASS_TS, CLASS_IA, CLASS_FX, CLASS_FSS, CLASS_RT, CLASS_SYS };

/*
 * What class FSS knows of one user: all its threads have one.  The clock decays `usage` and alone writes seen and
 * second; threads on all CPUs add to it.
 */
struct fss {
    _Atomic uint32_t
        usage; /* [a] recent use of CPU by its threads in class FSS, microseconds, decaying */
    _Atomic uint16_t
        shares;      /* [a] 1 ..; the superuser sets them                                         */
    uint32_t seen;   /* the look in which it was counted last                                     */
    uint64_t second; /* up to which usage has decayed                                             */
};
enum { FSS_SHARES = 1 }; /* of a user whom nobody has given any */

struct thread {
    struct spinlock lock;
    _Atomic uint32_t ast; /* [a] AST_* bits; its and ksp's offsets are known to entry.S         */
    uint32_t tid;         /* [c] machine-wide id                                               */
    uint64_t ksp;         /* [o] saved stack pointer while not ONPROC                          */
    uint8_t state;        /* [t] enum thread_state                                             */
    uint8_t cls;          /* [t] enum sched_class                                              */
    bool sleep_sig;       /* [t] the sleep ends when a signal arrives                          */
    bool fifo;            /* [t] class RT: equals get its CPU only when it sleeps or yields    */
    bool at_front;        /* [t] it is to be queued before its equals                          */
    bool lifted;          /* [t] above all programs, until it goes to user mode: class.c       */
    bool exiting;         /* [o]                                                               */
    bool
        disk_kernel_pri; /* [o] blk_use_kernel_pri(): its disk requests have the kernel's priority      */
    uint16_t ts_dispwait; /* [t] TS/IA: seconds since it used up a slice, slept or was lifted    */
    int16_t pri;          /* [t] global priority now, inheritance included                     */
    int16_t base_pri;     /* [t] what its class gives                                          */
    int16_t inherit_pri;  /* [t] highest priority waiting for a lock it holds, or -1           */
    int16_t upri;         /* [t] user priority or nice within the class; RT: 0 .. RT_LEVELS-1 */
    int16_t ts_level;     /* [t] TS/IA: level in the dispatch table                            */
    _Atomic uint32_t
        n_contended;       /* [a] contended mutexes it holds                                    */
    struct fss *fss;       /* [t] its user's shares and usage; NULL: a kernel thread, or it ends */
    struct list runq_link; /* [q]                                                               */
    struct disp_queue
        *_Atomic queued_on;  /* [q] the run queue it is on, NULL: none; read under t->lock too */
    uint64_t uticks, sticks; /* [o] clock ticks seen in user mode and in the kernel              */
    uint64_t uticks_base, sticks_base; /* [o] the CPU's tick counters when it came there         */
    struct cpu *cpu;         /* [t] CPU it runs on or last ran on                                 */
    int bound_cpu;           /* [t] processor_bind: CPU id or -1                                  */
    struct cpupart *part;    /* [t] processor set it belongs to                                   */
    struct cpumask affinity; /* [t] sched_setaffinity mask; used when `restricted`                */
    bool restricted;         /* [t] not every CPU is in `affinity`; other CPUs read both unlocked */
    uint64_t slice_left;     /* [t] TSC cycles of its time slice, when it last ran; 0: a new one  */
    uint64_t slice_whole;    /* [t] the same when it began                                        */
    uint64_t last_ran;       /* [t] clock tick at which it last left a CPU                        */
    uint64_t oncpu_since;    /* [t] TSC up to which runtime_tsc counts, while it runs             */
    uint64_t runtime_tsc;    /* [t] TSC cycles it has run                                         */
    uint64_t second_tsc;     /* [t] runtime_tsc at the clock's last look, once a second           */
    uint64_t
        lately_tsc; /* [t] what it ran before that, decaying by a quarter each second; others read it */
    uint64_t alarm_tsc;    /* [t] runtime_tsc from which AST_ALARM is set; UINT64_MAX: never     */
    struct lgrp_thread lg; /* [t] its home (lg.home, LGRP_NONE: kernel thread) and load         */
    uint8_t *lgrp_aff;     /* [cpupart_lock] affinity by lgroup: 0, 1 weak, 2 strong; NULL: none */

    uint8_t *kstack;    /* [c] lowest byte of the kernel stack; a guard word lies there      */
    uint64_t fsbase;    /* [o] user TLS base                                                 */
    uint64_t gsbase;    /* [o] user GS base                                                  */
    void *fpu;          /* [o] 512-byte FXSAVE area, 16-aligned; NULL for kernel threads     */
    struct as *as;      /* [o] address space; NULL for kernel threads                        */
    struct regs *uregs; /* [o] user registers at the top of the kernel stack                 */

    const char *wait_what;   /* [o] what it sleeps on, for people ("pipe read")                   */
    void *wait_chan;         /* [o] address of the cv or lock it sleeps on, for people            */
    uint64_t disk_waits;     /* [o] times it has slept in cv_wait_disk()                          */
    uint64_t minflt, majflt; /* [o] page faults, without such a sleep and with one                */
    struct mutex
        *blocked_on; /* [t] mutex it waits for (priority inheritance); NULL: none         */
    struct modelled
        *modelled;          /* [t] its modelled time; NULL: kernel thread, or no model            */
    struct lwp *lwp;        /* [c] NULL for kernel threads                                       */
    char name[16];          /* [a] for people (PR_SET_NAME)                                      */
    struct list all_link;   /* list of all threads (disp/thread.c)                               */
    uint64_t n_dispatch;    /* [t] times put on a CPU                                            */
    uint64_t n_remote;      /* [t] of these, outside its home lgroup                             */
    uint64_t nvcsw, nivcsw; /* [t] context switches, voluntary and not                           */
    void (*entry)(void *);  /* [c] kernel threads: the function it runs                          */
    void *entry_arg;
#ifdef HR_TEST
#define SLEEP_HELD_MAX 16
    struct sleep_held {
        const void *what; /* NULL: nothing */
        enum sleeprank rank;
    } sleep_held
        [SLEEP_HELD_MAX]; /* [o] sleeping locks held                                           */
#endif
    struct mempolicy
        mempolicy; /* [o] set_mempolicy(2); MPOL_DEFAULT unless lg.has_mempolicy               */
};

/*
 * thread_init - give a prepared and homed thread (an lwp's) a kernel stack from its home's memory, on which it will
 * start at `entry(arg)`, and an FPU area when it belongs to an lwp (t->lwp set).  State TS_SLEEP: thread_start() makes
 * it run.  -ENOMEM.
 */
int thread_init(struct thread *t, const char *name, void (*entry)(void *), void *arg);
/* thread_destroy - free the kernel stack and FPU area of a ZOMBIE thread that has left its CPU (waits for that). */
void thread_destroy(struct thread *t);
/* thread_start - put a new thread on a run queue. */
void thread_start(struct thread *t);
/* kthread_create - make and start a kernel thread of class SYS at priority `pri`.  NULL when there is no memory. */
struct thread *kthread_create(const char *name, int pri, void (*fn)(void *), void *arg);

/* disp_report - print what threads wait for, as far as no signal would end it.  For the end of a machine that hangs. */
void disp_report(void);

/*
 * swtch - give the CPU away.  The caller has set its own state under t->lock and holds that lock with no other spin
 * lock; returns with the lock released and the previous interrupt state.
 */
void swtch(void);
/* disp_preempt - interrupts are about to be enabled in a thread whose CPU is wanted: put it back on a queue, switch. */
void disp_preempt(void);
/* thread_yield - let threads of equal or higher priority run (sched_yield). */
void thread_yield(void);
/* thread_exit_switch - leave the CPU for good: state ZOMBIE.  The lwp or kthread is freed by somebody else. */
noreturn void thread_exit_switch(void);

/*
 * thread_wake - make a sleeping thread runnable; harmless if it is not asleep.  `from` is the waker's thread or NULL:
 * modelled time travels along.  Returns whether it was asleep.  Takes t->lock, then run-queue locks.
 */
bool thread_wake(struct thread *t, struct thread *from);
/* thread_interrupt - wake it only if its sleep is interruptible; sets AST_SIGNAL first. */
void thread_interrupt(struct thread *t);

/* signal_pending - whether curthread has a reason to leave an interruptible sleep. */
static inline bool signal_pending(void)
{
    return (atomic_load_explicit(&curthread->ast, memory_order_relaxed) & AST_SIGNAL) != 0;
}

/*
 * Scheduling parameters; each takes t->lock.  -EINVAL on a value out of the class's range.
 * @fifo  class RT: its equals get its CPU only when it sleeps or yields (SCHED_FIFO), not at the end of a time slice
 */
int thread_set_class(struct thread *t, enum sched_class cls, int upri, bool fifo);
/*
 * class_rt_from_solaris, class_rt_to_solaris - user priorities of class RT: ours are 0 .. RT_LEVELS-1, Solaris's are
 * 0 .. 59.  What comes from Solaris goes back unchanged.
 */
int class_rt_from_solaris(int upri);
int class_rt_to_solaris(int upri);
void thread_set_nice(struct thread *t, int nice); /* -20..19, TS/IA/FSS */
/* thread_set_fss - from now on `t` counts as `fss`'s in class FSS (NULL: nobody's).  Takes t->lock. */
void thread_set_fss(struct thread *t, struct fss *fss);
/*
 * thread_bind - processor_bind: only CPU `cpu`, or -1 for none; re-homes.  -EINVAL: no such CPU, or it is off-line or
 * of another set.  Takes t->lock and the partition's; for curthread it may switch: no spin lock may be held.
 */
int thread_bind(struct thread *t, int cpu);
/*
 * thread_set_affinity - sched_setaffinity; -EINVAL when no on-line CPU of its set is in the mask.  As thread_bind().
 * thread_get_affinity - the on-line CPUs of its set that it may run on, its binding left aside.
 */
int thread_set_affinity(struct thread *t, const struct cpumask *m);
void thread_get_affinity(struct thread *t, struct cpumask *m);
/* thread_new_program - exec: what the old program's creation of threads was promised no longer counts. */
void thread_new_program(struct thread *t);
/*
 * thread_follow - give a new thread that is not started yet the set and binding that its creator has now; they may have
 * changed since thread_prepare().  Takes t->lock.
 */
void thread_follow(struct thread *t, const struct thread *creator);
/* thread_rehome - move the home to `lgrp` (a CPU that it is bound to).  Takes the partition's lock. */
void thread_rehome(struct thread *t, unsigned lgrp);
/*
 * thread_set_lgrp_affinity - its affinity to one lgroup: 0 none, 1 weak, 2 strong.  Unless it is bound to a CPU it
 * chooses its home again.  -ENOMEM.  Takes the partition's lock.  thread_lgrp_affinity - what it is.
 */
int thread_set_lgrp_affinity(struct thread *t, unsigned lgrp, unsigned level);
unsigned thread_lgrp_affinity(struct thread *t, unsigned lgrp);
/* thread_set_mempolicy - the caller's memory policy.  Takes cpupart_lock. */
void thread_set_mempolicy(const struct mempolicy *mp);
/*
 * thread_home_new - choose the home of a new thread of a process by lgroup load (lgrp/load.h) and charge it there.
 * @p        the process's record (struct lgrp_proc embedded in struct proc; bitmap p->bitmap)
 * @creator  the thread that creates it; only a thread of the same process matters
 * Call after t->part is set and before thread_init() (the stack's memory comes from the home).  Returns the home.
 * thread_unhome - stop counting it, at exit.  Both take the partition's lock (RANK_PART).
 */
unsigned thread_home_new(struct thread *t, struct lgrp_proc *p, struct thread *creator);
void thread_unhome(struct thread *t);
/*
 * thread_prepare - zero `t` and set what a new thread takes from its creator (NULL: none): class, priority, set,
 * binding, affinity.  Takes creator->lock.
 */
void thread_prepare(struct thread *t, struct thread *creator);
/* thread_runtime_ns - CPU time used, the current stay on a CPU included. */
uint64_t thread_runtime_ns(struct thread *t);

/*
 * thread_set_alarm - AST_ALARM once `t` has run for another `ms` of CPU time, of at most a day, or at the end of the
 * time slice in which it has; ALARM_NEVER: not at all.  Takes t->lock.
 */
enum { ALARM_MAX_MS = 86400000 };
#define ALARM_NEVER UINT64_MAX
void thread_set_alarm(struct thread *t, uint64_t ms);

/* Processor states (p_online(2)); see disp/cpu.c. */
int disp_cpu_set_state(unsigned cpu, int state, bool forced);
int disp_cpu_state(unsigned cpu, long *since);
void disp_cpu_join(struct cpu *c);
enum {
    BOUND_TRIES = 5,
    BOUND_WAIT_NS = 10000000
}; /* how often, and how long apart, one looks for bound threads */
extern _Atomic uint32_t lgrp_generation; /* +1 at each change of the CPUs on-line */

/* disp_cpu_init - run queue and idle thread of a CPU, in its node's memory; before the CPU runs. */
void disp_cpu_init(struct cpu *c);
/* disp_idle_loop - enter the idle loop of the running CPU: it takes part in dispatching from now on. */
noreturn void disp_idle_loop(void);
/* disp_stats_init - register the kstats of CPUs and memory nodes; once all CPUs have their data. */
void disp_stats_init(void);
/* disp_init - caches, the clock; boot CPU. */
void disp_init(void);

/* Clock: 100 ticks a second, kept by one CPU. */
#define HZ 100
extern _Atomic uint64_t lbolt; /* ticks since boot */

/* ---- implemented by vm/ ---- */
/*
 * as_activate - load the address space of `next` on this CPU.  If `next` has none, the loaded space stays loaded,
 *               lazily (vm/tlb.c).  Interrupts are off.  exec() sets curthread->as and calls it for curthread.
 */
void as_activate(struct thread *next);

/* ---- implemented by proc/ ---- */
/* sig_deliver - before a return to user mode with registers *r: act on pending signals, push frames of handlers. */
void sig_deliver(struct regs *r);

#endif
