// SPDX-License-Identifier: MIT
/*
 * ctimer.h - timers on one of Linux's clocks, with an interval: what timerfd and timer_create(2) share.
 */
#ifndef IPC_CTIMER_H
#define IPC_CTIMER_H

#include "disp/timer.h"
#include "lib/list.h"

/*
 * A clock timer expires at a deadline and, if it has an interval, after each further interval.  Its owner has a lock
 * for it, a spin lock that may be held in interrupt context; the functions need that lock, except as noted.
 */
struct clock_timer {
    struct timer timer;
    bool set;  /* a deadline is set; a timer without an interval stays set when it has expired */
    bool real; /* `deadline_ns` is a time of day, which can be set; otherwise of clock_mono_ns() */
    uint64_t deadline_ns; /* the first expiry that was not reported yet */
    uint64_t interval_ns; /* 0: expires only once */
    /* called without a lock after the time of day was set, while the timer is watched */
    void (*clock_set)(struct clock_timer *ct);
    struct list watch; /* [watch_mutex] the owner initialises it, and clock_set */
};

enum ctimer_clock { CTIMER_REAL, CTIMER_MONO };

/*
 * ctimer_set - set deadline and interval, in ns; arms nothing.  value_ns 0: the timer is not set.
 * @absolute  `value_ns` is a time of `clock`; otherwise it counts from now, and setting the time of day does not matter
 */
void ctimer_set(struct clock_timer *ct, enum ctimer_clock clock, bool absolute, uint64_t value_ns,
                uint64_t interval_ns);
/* ctimer_passed - the number of expiries up to now that were not reported; 0: the deadline lies in the future. */
uint64_t ctimer_passed(const struct clock_timer *ct);
/* ctimer_left - ns until the next expiry; 0: the timer is not set, or has expired for the last time. */
uint64_t ctimer_left(const struct clock_timer *ct);
/* ctimer_arm - let fn be called at the deadline, but not earlier than `delay_ns` from now. */
void ctimer_arm(struct clock_timer *ct, void (*fn)(struct timer *), uint64_t delay_ns);
/*
 * ctimer_watch - from now on call ct->clock_set when the time of day was set.  Does nothing if `ct` is watched.
 * ctimer_unwatch - undo it; after the return, clock_set is not running.  Both need no lock, and may sleep.
 */
void ctimer_watch(struct clock_timer *ct);
void ctimer_unwatch(struct clock_timer *ct);
/* ctimer_init - at boot, before the first program. */
void ctimer_init(void);

#endif
