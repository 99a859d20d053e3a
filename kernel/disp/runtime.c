// SPDX-License-Identifier: MIT
/*
 * runtime.c - the CPU time of threads, in TSC cycles, and the alarm when a thread has used a given time.
 *
 * THEORY      A thread is charged when it leaves its CPU and when its time slice ends (runtime.h).  A reader in
 *             between gets the charged time plus the time since the last charge.
 *             Recent time decays by a quarter at each full second of the clock (age_thread() in class.c).  A reader in
 *             between subtracts the part of this quarter that belongs to the ticks that have passed.  The recent time
 *             of a thread that always runs (class_always) decays alike, and is the whole of which a thread has a
 *             share: so the share is right when the clock of a machine on a busy host loses ticks.  With more threads
 *             than the clock ages in one tick, some are aged later in a second, and then have too large a share.
 * LOCKING     t->lock
 */
#include "disp/runtime.h"

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

/* What is left now of recent time that was `tsc` cycles at the last full second. */
static uint64_t decay_recent_time(uint64_t tsc)
{
    return tsc - tsc / 4 / HZ * (lbolt % HZ);
}

unsigned thread_recent_share(struct thread *t)
{
    uint64_t run, recent, all;

    spin_lock(&t->lock);
    run = runtime_now(t);
    recent = decay_recent_time(t->lately_tsc) + run - t->second_tsc;
    spin_unlock(&t->lock);
    recent =
        min_of(recent, run); /* a new thread has inherited lately_tsc, but not the time (class.c) */
    all = decay_recent_time(class_always.lately_tsc) + rdtsc() - class_always.second_tsc;
    return (unsigned)min_of(recent * RECENT_ALL / max_of(all, 1ul), (uint64_t)RECENT_ALL);
}

void thread_set_alarm(struct thread *t, uint64_t ms)
{
    spin_lock(&t->lock);
    t->alarm_tsc = ms == ALARM_NEVER ? ALARM_NEVER : runtime_now(t) + ms * clock_tsc_per_ms();
    spin_unlock(&t->lock);
}
