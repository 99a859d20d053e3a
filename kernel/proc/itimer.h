// SPDX-License-Identifier: MIT
/*
 * time.h - sleeping, CPU-time clocks, interval timers of processes.
 */
#ifndef PROC_ITIMER_H
#define PROC_ITIMER_H

#include "lib/types.h"

struct proc;
struct thread;

/* time_init - fills in the call-ups of proc.h; once at boot, after proc_init(). */
void time_init(void);

/* sleep_until - sleep to a point of clock_mono_ns().  0, or -EINTR: a signal came first. */
int sleep_until(uint64_t deadline_ns);

/* proc_cpu_ns - CPU time of all LWPs of `p`, living and dead.  Caller holds proc_lock. */
uint64_t proc_cpu_ns(struct proc *p);

/* The three interval timers of setitimer(2), by its numbers. */
enum { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };
struct itimer_setting {
    uint64_t value_ns;    /* until the next signal; 0: off             */
    uint64_t interval_ns; /* between the following ones; 0: just one   */
};
/*
 * itimer_get, itimer_set - of the calling process.  `new` NULL: only ask.  *old is what was
 * left. -EINVAL (no such timer), -ENOMEM.
 */
int itimer_set(int which, const struct itimer_setting *new, struct itimer_setting *old);
/* itimer_cpu_runs - the caller, an LWP of `p`, goes to user mode and had AST_ALARM: its CPU time counts on. */
void itimer_cpu_runs(struct proc *p);
/* itimer_taken - `p` has taken a SIGALRM, p->sig->lock held: an interval begins its next turn. */
void itimer_taken(struct proc *p);

#endif
