// SPDX-License-Identifier: MIT
/*
 * timer.h - time, and functions called later.
 *
 * Callbacks run in interrupt context on the CPU that armed them, or on another if that one takes no timers (no-intr,
 * off-line), interrupts off, with no lock held; they may take spin locks of any rank but RANK_TIMER and wake threads.
 */
#ifndef DISP_TIMER_H
#define DISP_TIMER_H

#include "lib/types.h"
#include "stat/trace.h" /* clock_mono_ns() */

struct timer {
    uint64_t deadline_ns; /* of clock_mono_ns() */
    void (*fn)(struct timer *);
    struct cpu *cpu; /* where it is, or was last, armed; changes under both CPUs' locks */
    struct timer *child, *next; /* its place in the CPU's heap: timerq.h */
    struct timer **link;        /* what points at it there; NULL: not armed */
};

/* clock_real_ns - nanoseconds since 1970. */
uint64_t clock_real_ns(void);
/* clock_set_real - settimeofday. */
void clock_set_real(uint64_t ns);
/* The conversion for the vDSO: ns = base_ns + ((tsc - base_tsc) * mult >> shift). */
struct clock_params {
    uint64_t base_tsc, base_ns, real_offset_ns;
    uint32_t mult, shift;
};
extern struct clock_params clock_params;
uint64_t tsc_to_ns(uint64_t cycles);

/*
 * timer_arm - call t->fn at deadline; re-arms if already armed.  O(log n).  Takes RANK_TIMER, and does not wait for an
 * fn that runs: the caller may hold a lock that fn takes.
 */
void timer_arm(struct timer *t, uint64_t deadline_ns, void (*fn)(struct timer *));
/*
 * timer_cancel - returns whether it was still armed.  After it returns fn is not running, and the timer is not armed
 * even if fn arms it.  It waits for fn, so the caller holds no spin lock.  Nobody else arms the timer meanwhile.
 */
bool timer_cancel(struct timer *t);
static inline bool timer_armed(const struct timer *t)
{
    return t->link != NULL;
}

/* ---- implemented by proc/ ---- */
/* vdso_update - the wall clock was set: copy clock_params to the vDSO, if there is one yet. */
void vdso_update(void);

#endif
