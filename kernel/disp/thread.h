// SPDX-License-Identifier: MIT
/*
 * thread.h - kernel threads: the unit that the dispatcher runs.
 *
 * THEORY      A thread is one flow of execution: it has a kernel stack, a priority and a home lgroup.  A CPU
 *             runs one thread at a time and switches between them.  A user thread is a struct lwp
 *             (proc/proc.h) that embeds a struct thread; a kernel thread is a struct thread alone.
 *             To sleep, a thread locks a list of waiters, puts itself on the list, sets its state, and calls
 *             swtch().  thread_wake() makes the thread runnable again.
 * INVARIANTS  I1  t->state changes only under t->lock, and the lock is held during the switch away from t
 *             I2  a RUNNABLE thread is on exactly one run queue, or the CPU that it leaves is about to put it
 *                 there
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
struct observe_thread;

enum thread_state { TS_SLEEP, TS_RUNNABLE, TS_ONPROC, TS_ZOMBIE };

/*
 * Bits of thread.ast: work to do before the thread returns to user mode ("asynchronous system trap").  AST_REGS: the
 * system call has changed saved registers, so all of them must be loaded (entry.S).
 */
enum { AST_RESCHED = 1, AST_SIGNAL = 2, AST_ALARM = 4, AST_LIFTED = 8, AST_REGS = 16 };

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
 * The record of one user in class FSS, shared by all threads of that user.  Threads on all CPUs add to
 * `usage`, and the clock decays it.  Only the clock reads and writes `seen` and `second`.
 */
struct fss {
    /*
     * [a] recent CPU time of the user's threads in class FSS, microseconds; decays by a quarter
     * each second
     */
    _Atomic uint32_t usage;
    _Atomic uint16_t shares; /* [a] 1 or more; the superuser sets it */
    uint32_t seen;           /* number of the last pass of class_fss_update() that counted it */
    uint64_t second;         /* seconds since boot up to which usage has decayed */
};
enum { FSS_SHARES = 1 }; /* default shares of a user */

struct thread {
    _Alignas(16) struct spinlock lock; /* the low bits of the address: struct sleeplock */
    _Atomic uint32_t ast; /* [a] AST_* bits; entry.S knows the offsets of ast and ksp */
    uint32_t tid;         /* [c] machine-wide id */
    uint64_t ksp;         /* [o] saved stack pointer while not ONPROC */
    uint8_t state;        /* [t] enum thread_state */
    uint8_t cls;          /* [t] enum sched_class */
    bool sleep_sig;       /* [t] the sleep ends when a signal arrives */
    /* [t] class RT: threads of equal priority wait until this thread sleeps or yields */
    bool fifo;
    bool at_front; /* [t] when next queued, the thread goes before others of its priority */
    /* [t] the priority is PRI_SYS or more until the thread returns to user mode */
    bool lifted;
    bool exiting; /* [o] */
    /* [o] set by blk_use_kernel_pri(): disk requests of the thread have the kernel's priority */
    bool disk_kernel_pri;
    /* [t] TS, IA: seconds since the thread used up a slice, slept or was lifted */
    uint16_t ts_dispwait;
    int16_t pri;      /* [t] global priority now, inheritance and lift included */
    int16_t base_pri; /* [t] global priority that the class gives the thread */
    /* [t] priority lent by threads that wait for a mutex of this thread; -1: none */
    int16_t inherit_pri;
    int16_t upri;     /* [t] user priority or nice within the class; RT: 0 .. RT_LEVELS-1 */
    int16_t ts_level; /* [t] TS/IA: level in the dispatch table */
    _Atomic uint32_t
        n_contended; /* [a] locks that this thread holds for writing and others wait for */
    /* [t] FSS record of the thread's user; NULL: kernel thread, or exiting */
    struct fss *fss;
    struct list runq_link; /* [q] */
    /* [q] the run queue on which the thread is; NULL: none.  Also read under t->lock. */
    struct disp_queue *_Atomic queued_on;
    uint64_t uticks, sticks; /* [o] clock ticks seen in user mode and in the kernel */
    /* [o] the CPU's tick counters when the thread was last dispatched */
    uint64_t uticks_base, sticks_base;
    struct cpu *cpu;         /* [t] CPU on which the thread runs or last ran */
    int bound_cpu;           /* [t] CPU to which processor_bind() bound the thread; -1: none */
    struct cpupart *part;    /* [t] processor set of the thread */
    struct cpumask affinity; /* [t] sched_setaffinity mask; used when `restricted` */
    bool restricted;         /* [t] not every CPU is in `affinity`; other CPUs read both unlocked */
    /* [t] rest of the time slice when the thread last ran, TSC cycles; 0: none */
    uint64_t slice_left;
    uint64_t slice_whole; /* [t] whole length of the time slice, TSC cycles */
    uint64_t last_ran;    /* [t] clock tick at which the thread last left a CPU */
    uint64_t oncpu_since; /* [t] while the thread runs: TSC up to which runtime_tsc counts */
    uint64_t runtime_tsc; /* [t] TSC cycles that the thread has run */
    uint64_t second_tsc;  /* [t] runtime_tsc when it was last aged (class.c) */
    /*
     * [t] TSC cycles run until it was last aged, decaying by a quarter each second; other
     * CPUs read this field unlocked
     */
    uint64_t lately_tsc;
    /* [t] AST_ALARM is set when runtime_tsc reaches this value; UINT64_MAX: never */
    uint64_t alarm_tsc;
    /*
     * [cpupart_lock] home of the thread (lg.home; LGRP_NONE: kernel thread) and its load; run
     * queues read the home unlocked
     */
    struct lgrp_thread lg;
    uint8_t *lgrp_aff; /* [cpupart_lock] affinity by lgroup: 0, 1 weak, 2 strong; NULL: none */

    uint8_t *kstack;    /* [c] lowest byte of the kernel stack; a guard word lies there */
    uint64_t fsbase;    /* [o] user TLS base */
    uint64_t gsbase;    /* [o] user GS base */
    void *fpu;          /* [o] 512-byte FXSAVE area, 16-aligned; NULL for kernel threads */
    struct as *as;      /* [o] address space; NULL for kernel threads */
    struct regs *uregs; /* [o] user registers at the top of the kernel stack */

    const char *wait_what; /* [o] name of what the thread sleeps on ("pipe read"), for reports */
    /* [o] address of the cv or lock on which the thread sleeps, for reports */
    void *wait_chan;
    uint64_t disk_waits;     /* [o] number of sleeps in cv_wait_disk() */
    uint64_t minflt, majflt; /* [o] page faults without and with a sleep in cv_wait_disk() */
    /* [lock of that lock] mutex or rwlock for which the thread waits (priority inheritance); NULL: none */
    struct sleeplock *blocked_on;
    struct modelled
        *modelled;          /* [t] modelled time of the thread; NULL: kernel thread, or no model */
    struct lwp *lwp;        /* [c] NULL for kernel threads */
    char name[16];          /* [a] for reports; programs set it (PR_SET_NAME) */
    struct list all_link;   /* list of all threads (disp/thread.c) */
    uint64_t n_dispatch;    /* [t] times that the thread was put on a CPU */
    uint64_t n_remote;      /* [t] of these times, those on a CPU outside the home lgroup */
    uint64_t nvcsw, nivcsw; /* [t] context switches, voluntary and not */
    void (*entry)(void *);  /* [c] the function in which the thread starts */
    void *entry_arg;
#ifdef HR_TEST
#define SLEEP_HELD_MAX 16
    struct sleep_held {
        const void *what; /* NULL: nothing */
        enum sleeprank rank;
    } sleep_held[SLEEP_HELD_MAX]; /* [o] sleeping locks held */
#endif
    struct mempolicy mempolicy; /* [o] set_mempolicy(2); MPOL_DEFAULT unless lg.has_mempolicy */
    struct observe_thread
        *observed; /* [o] the thread's sampled touches (vm/observe.c); NULL: none */
};

/*
 * thread_init - give a prepared thread a kernel stack from the memory of its home.  On this stack the thread
 * will start in `entry(arg)`.  A thread of an lwp (t->lwp set) already has its home, and also gets
 * an FPU area.  The state stays TS_SLEEP: thread_start() makes it run.  0 or -ENOMEM.
 */
int thread_init(struct thread *t, const char *name, void (*entry)(void *), void *arg);
/*
 * thread_destroy - free the kernel stack and FPU area of a thread that was never started, or that has ended.
 * In the second case, first wait until the thread has left its CPU.
 */
void thread_destroy(struct thread *t);
/* thread_start - put a new thread on a run queue. */
void thread_start(struct thread *t);
/* kthread_create - make and start a kernel thread of class SYS at priority `pri`.  NULL: no memory. */
struct thread *kthread_create(const char *name, int pri, void (*fn)(void *), void *arg);

/*
 * disp_report - print the threads that wait for a CPU, and those in a sleep that no signal ends.  Called when
 * the machine hangs.
 */
void disp_report(void);

/*
 * swtch - run another thread on this CPU.  The caller has set its own state under its thread lock, and holds
 * that lock and no other spin lock.  Returns when the caller runs again, with the lock released and the
 * previous interrupt state.
 */
void swtch(void);
/*
 * disp_preempt - handle AST_RESCHED of curthread, when no spin lock is held: end its time slice if the slice is
 * over, and switch to another thread if that thread must run first.
 */
void disp_preempt(void);
/* thread_yield - let threads of equal or higher priority run (sched_yield). */
void thread_yield(void);
/* thread_exit_switch - leave the CPU for good: state ZOMBIE.  Another thread frees the lwp. */
noreturn void thread_exit_switch(void);

/*
 * thread_wake - make a sleeping thread runnable; does nothing if the thread does not sleep.
 * Returns whether the thread was asleep.  Takes t->lock, then run-queue locks.
 * @from  the waker's thread, whose modelled time `t` takes over (stat/modelled.h); NULL: none
 */
bool thread_wake(struct thread *t, struct thread *from);
/*
 * thread_interrupt - set AST_SIGNAL, then wake `t` up if its sleep is interruptible.  If `t` runs
 * on another CPU, poke that CPU.  Takes t->lock.
 */
void thread_interrupt(struct thread *t);

/* signal_pending - whether curthread has a reason to leave an interruptible sleep. */
static inline bool signal_pending(void)
{
    return (atomic_load_explicit(&curthread->ast, memory_order_relaxed) & AST_SIGNAL) != 0;
}

/*
 * thread_set_class - set class, user priority and `fifo`.  0, or -EINVAL: `upri` is out of the range of the
 * class, or the class is SYS.  Takes t->lock.
 * @fifo  class RT: the thread gives its CPU to threads of equal priority only when it sleeps or yields
 *        (SCHED_FIFO), not at the end of a time slice
 */
int thread_set_class(struct thread *t, enum sched_class cls, int upri, bool fifo);
/*
 * class_rt_from_solaris, class_rt_to_solaris - convert user priorities of class RT.  Ours are 0 ..
 * RT_LEVELS-1, those of Solaris 0 .. 59.  A Solaris priority converted to ours and back is unchanged.
 */
int class_rt_from_solaris(int upri);
int class_rt_to_solaris(int upri);
void thread_set_nice(struct thread *t, int nice); /* -20..19, TS/IA/FSS */
/*
 * thread_set_fss - in class FSS, count the CPU time of `t` for the user of `fss` (NULL: for no user).  Takes
 * t->lock.
 */
void thread_set_fss(struct thread *t, struct fss *fss);
/*
 * thread_bind - processor_bind: make `t` run only on CPU `cpu`; the home of t becomes the lgroup of
 * that CPU.  If `cpu` is -1, unbind t.  0, or -EINVAL: no such CPU, or the CPU is off-line or of
 * another set.  Takes t->lock and cpupart_lock.  If t is curthread, the call may switch threads, so
 * the caller must hold no spin lock.
 */
int thread_bind(struct thread *t, int cpu);
/*
 * thread_set_affinity - sched_setaffinity.  0, or -EINVAL: no on-line CPU of its set is in the mask.  Takes
 * t->lock.  If t is curthread, the call may switch threads, so the caller must hold no spin lock.
 * thread_get_affinity - the on-line CPUs of the thread's set on which the thread is allowed to
 * run.  The binding of the thread is ignored.
 */
int thread_set_affinity(struct thread *t, const struct cpumask *m);
void thread_get_affinity(struct thread *t, struct cpumask *m);
/* thread_new_program - exec: end the promises made for threads that the old program created (lgrp/load.h). */
void thread_new_program(struct thread *t);
/*
 * thread_follow - give a new thread, not started yet, the set and binding that its creator has
 * now.  Set and binding may have changed since thread_prepare().  Takes t->lock and cpupart_lock.
 */
void thread_follow(struct thread *t, const struct thread *creator);
/* thread_rehome - move the home of `t` to `lgrp`, the lgroup of a CPU to which t was bound.  Takes cpupart_lock. */
void thread_rehome(struct thread *t, unsigned lgrp);
/*
 * thread_is_placed - whether a program or the administrator has chosen where `t` runs or takes memory from: by a
 * binding, an affinity or a memory policy.  A snapshot.
 * thread_follow_pages - whether `t` may have `lgrp` as its home, because its pages are there: it is not placed, and
 * lgrp has room (observe_has_room() of lgrp/observe.h).  With `move`, make lgrp the home, if it may.
 * Takes cpupart_lock.
 */
bool thread_is_placed(const struct thread *t);
bool thread_follow_pages(struct thread *t, unsigned lgrp, bool move);
/*
 * thread_set_lgrp_affinity - set the affinity of `t` to one lgroup: 0 none, 1 weak, 2 strong.
 * Unless t is bound to a CPU, the home of t is chosen again.  0 or -ENOMEM.  Takes cpupart_lock.
 * thread_lgrp_affinity - read the affinity.  Takes cpupart_lock.
 */
int thread_set_lgrp_affinity(struct thread *t, unsigned lgrp, unsigned level);
unsigned thread_lgrp_affinity(struct thread *t, unsigned lgrp);
/* thread_set_mempolicy - set curthread's memory policy.  Takes cpupart_lock. */
void thread_set_mempolicy(const struct mempolicy *mp);
/* thread_get_mempolicy - copy the memory policy of a thread, which cannot end meanwhile.  Takes cpupart_lock. */
void thread_get_mempolicy(struct thread *t, struct mempolicy *out);
/*
 * thread_home_new - choose the home of a new thread by lgroup load (lgrp/load.h) and charge it there.
 * @p        the process's record (struct lgrp_proc embedded in struct proc; bitmap p->bitmap)
 * @creator  the thread that creates t, or NULL; a creator in another process is ignored
 * Returns the home.  The caller has set t->part, and calls thread_init() afterwards, because the stack's memory
 * comes from the home.
 * thread_unhome - stop counting the thread in the load records, at its exit.  Both take cpupart_lock
 * (RANK_PART).
 */
unsigned thread_home_new(struct thread *t, struct lgrp_proc *p, struct thread *creator);
void thread_unhome(struct thread *t);
/*
 * thread_prepare - zero `t` and set what a new thread inherits from its creator (NULL: none): class,
 * priority, set, binding, affinity, memory policy and the rest of the time slice.  Takes creator->lock.
 */
void thread_prepare(struct thread *t, struct thread *creator);
/* thread_runtime_ns - CPU time used, up to now, ns.  Takes t->lock. */
uint64_t thread_runtime_ns(struct thread *t);
/*
 * thread_recent_share - the share of a CPU that `t` has used lately, in units of 1/RECENT_ALL.  The time used decays by
 * a quarter each second.  Takes t->lock.
 */
enum { RECENT_ALL = 10000 };
unsigned thread_recent_share(struct thread *t);

/*
 * thread_set_alarm - request that AST_ALARM is set when `t` has used another `ms` milliseconds of CPU time, at
 * most ALARM_MAX_MS.  The flag is set at the end of the time slice in which t reaches that time.  ALARM_NEVER:
 * not at all.  Takes t->lock.
 */
enum { ALARM_MAX_MS = 86400000 };
#define ALARM_NEVER UINT64_MAX
void thread_set_alarm(struct thread *t, uint64_t ms);

/*
 * disp_cpu_set_state - p_online(2): CPU `cpu` becomes P_ONLINE, P_OFFLINE or P_NOINTR; `forced` unbinds
 * threads from a CPU that goes off-line.  Returns the old state, or:
 * -EINVAL: no such CPU or state;
 * -EBUSY: threads are bound to the CPU, it is the last CPU of its set or the last P_ONLINE one, or one of its
 * interrupts cannot move to another CPU.
 * Sleeps; takes cpu_lock.
 */
int disp_cpu_set_state(unsigned cpu, int state, bool forced);
/* disp_cpu_state - P_* of CPU `cpu`; *since, unless NULL: seconds since 1970.  -EINVAL: no such CPU. */
int disp_cpu_state(unsigned cpu, long *since);
/*
 * disp_cpu_join - CPU `c` joins its set and takes work and interrupts; called at boot, and when c
 * comes on-line.
 */
void disp_cpu_join(struct cpu *c);
/* A CPU or set is to go away, but has bound threads: wait BOUND_TRIES times for BOUND_WAIT_NS, then return -EBUSY. */
enum { BOUND_TRIES = 5, BOUND_WAIT_NS = 10000000 };
extern _Atomic uint32_t lgrp_generation; /* +1 at each change of the CPUs on-line */

/*
 * disp_cpu_init - make the run queue and idle thread of CPU `c`, in memory of the node of c; called
 * before c runs.
 */
void disp_cpu_init(struct cpu *c);
/* disp_idle_loop - enter the idle loop of this CPU, which runs threads from now on. */
noreturn void disp_idle_loop(void);
/*
 * disp_stats_init - register the kstats of CPUs and memory nodes; called when all CPUs have their
 * data.
 */
void disp_stats_init(void);
/*
 * disp_init - make the cache of FPU areas.  Called on the boot CPU, before the first thread exists.
 */
void disp_init(void);

/* Clock: 100 ticks a second, kept by one CPU. */
#define HZ 100
extern _Atomic uint64_t lbolt; /* ticks since boot */

/* ---- implemented by vm/ ---- */
/*
 * as_activate - load the address space of `next` on this CPU.  If `next` has none, the loaded space stays
 *               loaded, lazily (vm/tlb.c).  Interrupts must be off.  exec() sets curthread->as and calls this
 *               function for curthread.
 */
void as_activate(struct thread *next);

/* ---- implemented by proc/ ---- */
/* sig_deliver - act on pending signals and push frames of handlers, before a return to user mode with registers *r. */
void sig_deliver(struct regs *r);

#endif
