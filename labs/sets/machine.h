// SPDX-License-Identifier: MIT
/*
 * machine.h - the floor below the lab "sets": the functions that the kernel's files call, and CPUs that take pokes.
 *
 * THEORY      The CPUs are those of dispmachine.c, and all code runs on CPU 0, because strict mode does not allow a
 *             change of the GS base.  What another CPU does when a poke arrives there, CPU 0 does for it.  Only a
 *             poke makes a CPU look at its running thread and its queue.
 * SEE ALSO    labs/sets/driver.c, tests/host/dispmachine.h, tests/host/test_pset.c
 */
#ifndef LABS_SETS_MACHINE_H
#define LABS_SETS_MACHINE_H

#include "tests/host/dispmachine.h"

enum { WAKES = -2 };

extern struct calls {
    unsigned kstats;    /* kstats that are registered */
    unsigned sleeps;    /* calls of thread_sleep_ns() */
    unsigned enters;    /* calls of mutex_enter() */
    unsigned bad_locks; /* uses of locks that would hang the kernel or make it panic */
    unsigned bad_order; /* spin locks taken against their ranks */
    unsigned unguarded; /* changes of load records, `live` or a thread's set without the lock */
    unsigned stranded;  /* 1 + a thread whose set had no CPU when another CPU could look; 0: none */
    bool has_cpu_lock;
    /* at the sleep with number `at`, `t` is bound to `cpu` (-1: its binding ends), with this result; 0: at none */
    struct {
        unsigned at;
        struct thread *t;
        int cpu, result; /* `cpu` is WAKES: t wakes up */
    } meanwhile;
} calls;

extern struct intr_cpu intr_counts[CPUS];

/* settle - poked CPUs look at their threads and queues, beginning with CPU `first`, until none is poked any more. */
void settle(unsigned first);
/* locks_compare - adds to calls.unguarded: has a thing changed since its lock was released, or since the last call? */
void locks_compare(void);

#endif
