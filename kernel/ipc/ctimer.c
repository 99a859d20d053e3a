// SPDX-License-Identifier: MIT
/*
 * ctimer.c - timers on one of Linux's clocks, with an interval.
 *
 * THEORY      A timer of the kernel (disp/timer.h) expires once, at a time since boot.  Programs also want to be told
 *             of a time of day, which can be set, and periodically.
 *             A deadline that is a time of day is converted when the timer is armed.  When the time of day is set,
 *             clock_was_set() calls the owner of each such timer, which arms it again.
 *             A periodic timer is not armed again when it expires, but when its owner reports the expiry to the
 *             program.  Then the owner reports how many expiries there were.  So a program cannot keep a CPU busy
 *             with the interrupts of a short interval.  Linux does the same.
 * LOCKING     The lock of the owner guards a timer.  watch_mutex guards the list of watched timers, and is held while
 *             clock_set() is called.  It is taken before that lock.
 * SEE ALSO    timerfd.c, proc/ptimer.c
 */
#include "ipc/ctimer.h"

#include "disp/sync.h"

static struct mutex watch_mutex;
static struct list watched = LIST_INIT(watched);

static uint64_t ctimer_now(const struct clock_timer *ct)
{
    return ct->real ? clock_real_ns() : clock_mono_ns();
}

void ctimer_set(struct clock_timer *ct, enum ctimer_clock clock, bool absolute, uint64_t value_ns,
                uint64_t interval_ns)
{
    ct->set = value_ns != 0;
    ct->real = absolute && clock == CTIMER_REAL;
    ct->deadline_ns = absolute ? value_ns : clock_mono_ns() + value_ns;
    ct->interval_ns = interval_ns;
}

uint64_t ctimer_passed(const struct clock_timer *ct)
{
    uint64_t now = ctimer_now(ct);

    if (!ct->set || now < ct->deadline_ns)
        return 0;
    return ct->interval_ns != 0 ? (now - ct->deadline_ns) / ct->interval_ns + 1 : 1;
}

uint64_t ctimer_left(const struct clock_timer *ct)
{
    uint64_t now = ctimer_now(ct);

    if (!ct->set)
        return 0;
    if (now < ct->deadline_ns)
        return ct->deadline_ns - now;
    return ct->interval_ns != 0 ? ct->interval_ns - (now - ct->deadline_ns) % ct->interval_ns : 0;
}

void ctimer_arm(struct clock_timer *ct, void (*fn)(struct timer *), uint64_t delay_ns)
{
    uint64_t at = ct->deadline_ns, offset = clock_params.real_offset_ns;

    if (ct->real)
        at = at > offset ? at - offset : 0;
    timer_arm(&ct->timer, max_of(at, clock_mono_ns() + delay_ns), fn);
}

void ctimer_watch(struct clock_timer *ct)
{
    mutex_enter(&watch_mutex);
    if (list_empty(&ct->watch))
        list_push_back(&watched, &ct->watch);
    mutex_exit(&watch_mutex);
}

void ctimer_unwatch(struct clock_timer *ct)
{
    mutex_enter(&watch_mutex);
    list_remove(&ct->watch);
    mutex_exit(&watch_mutex);
}

void clock_was_set(void)
{
    struct clock_timer *ct;

    mutex_enter(&watch_mutex);
    LIST_FOREACH (ct, &watched, watch)
        ct->clock_set(ct);
    mutex_exit(&watch_mutex);
}

void ctimer_init(void)
{
    mutex_init(&watch_mutex, SLEEP_CLOCK_WATCH);
}
