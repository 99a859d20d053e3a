// SPDX-License-Identifier: MIT
/*
 * timer.h - the time of day, and timers: functions called at a given time.
 *
 * A timer's function runs in interrupt context, with interrupts off and no lock held.  It runs on the CPU that
 * armed the timer, or on another one if that CPU takes no timers (no-intr, off-line).  The function can take
 * spin locks and wake up threads.
 */
#ifndef DISP_TIMER_H
#define DISP_TIMER_H

#include "lib/types.h"
#include "stat/trace.h" /* clock_mono_ns() */

struct timer {
    uint64_t deadline_ns; /* of clock_mono_ns() */
    void (*fn)(struct timer *);
    /*
     * CPU on which the timer is, or was last, armed; NULL: never.  Set under the timer_lock of that
     * CPU
     */
    struct cpu *cpu;
    struct timer *child, *next; /* links in the heap of the CPU's armed timers (timerq.h) */
    /* the pointer in the heap that points to this timer; NULL: not armed */
    struct timer **link;
};

/* clock_real_ns - nanoseconds since 1970. */
uint64_t clock_real_ns(void);
/* clock_set_real - settimeofday: set clock_real_ns(). */
void clock_set_real(uint64_t ns);
/*
 * The clock: monotonic ns = base_ns + ((tsc - base_tsc) * mult >> shift); real_offset_ns more since 1970.
 * The vDSO and /proc/cpuinfo read it.
 */
struct clock_params {
    uint64_t base_tsc, base_ns, real_offset_ns;
    uint32_t mult, shift;
};
extern struct clock_params clock_params;
uint64_t tsc_to_ns(uint64_t cycles);

/*
 * timer_arm - call fn(t) at `deadline_ns` of clock_mono_ns(); a timer that is already armed is moved to the new
 * deadline.  O(log n).  Takes a lock of RANK_TIMER.  timer_arm() does not wait for a running fn, so
 * the caller may hold a lock that fn takes.
 */
void timer_arm(struct timer *t, uint64_t deadline_ns, void (*fn)(struct timer *));
/*
 * timer_cancel - disarm `t`; returns whether t was armed.  After the return, fn is not running, and
 * t is not armed even if fn has armed t.  The function waits for fn, so the caller must hold no
 * spin lock.  No other thread may arm t at the same time.
 */
bool timer_cancel(struct timer *t);
static inline bool timer_armed(const struct timer *t)
{
    return t->link != NULL;
}

/* ---- implemented by ipc/ ---- */
/* clock_was_set - clock_set_real() was called: move the timers that wait for a time of day.  May sleep. */
void clock_was_set(void);

/* ---- implemented by proc/ ---- */
/* vdso_update - the wall clock was set: copy clock_params to the vDSO, if there is one yet. */
void vdso_update(void);

#endif
