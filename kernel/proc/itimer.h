// SPDX-License-Identifier: MIT
/*
 * itimer.h - sleeping, CPU-time clocks, interval timers of processes.
 */
#ifndef PROC_ITIMER_H
#define PROC_ITIMER_H

#include "lib/types.h"

struct proc;
struct thread;

/* itimer_cancel_all - cancel the timers of `p`, which ends (I1).  Takes p->mutex. */
void itimer_cancel_all(struct proc *p);

/* sleep_until - sleep until `deadline_ns` of clock_mono_ns().  0, or -EINTR: a signal came first. */
int sleep_until(uint64_t deadline_ns);

/* proc_cpu_ns - CPU time of all LWPs of `p`, living and dead, in ns.  Caller holds proc_lock. */
uint64_t proc_cpu_ns(struct proc *p);

/* The three interval timers, by setitimer(2)'s numbers. */
enum { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };
struct itimer_setting {
    uint64_t value_ns;    /* until the next signal; 0: off             */
    uint64_t interval_ns; /* between later signals; 0: only one signal */
};
/*
 * itimer_set - set an interval timer of the calling process.  If `new` is NULL, only read it.  *old is the previous
 * setting, with the time that was left.  0, -EINVAL (no such timer), -ENOMEM.
 */
int itimer_set(int which, const struct itimer_setting *new, struct itimer_setting *old);
/*
 * itimer_cpu_runs - arm p's parked CPU-time timers.  The caller is an LWP of `p` that had AST_ALARM and returns to
 * user mode.  Takes p->mutex and proc_lock.
 */
void itimer_cpu_runs(struct proc *p);
/*
 * itimer_real_rearm - arm ITIMER_REAL of `p` again if it has an interval, after `p` has taken a SIGALRM.  The caller
 * holds p->sig->lock.
 */
void itimer_real_rearm(struct proc *p);

#endif
