// SPDX-License-Identifier: MIT
/*
 * runtime.c - the CPU time of threads, in TSC cycles, and the alarm when a thread has used a given time.
 *
 * THEORY      A thread is charged when it leaves its CPU and when its time slice ends (runtime.h).  A reader in
 *             between gets the charged time plus the time since the last charge.
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

void thread_set_alarm(struct thread *t, uint64_t ms)
{
    spin_lock(&t->lock);
    t->alarm_tsc = ms == ALARM_NEVER ? ALARM_NEVER : runtime_now(t) + ms * clock_tsc_per_ms();
    spin_unlock(&t->lock);
}
