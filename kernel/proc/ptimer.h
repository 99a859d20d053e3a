// SPDX-License-Identifier: MIT
/*
 * ptimer.h - timers of processes that send a signal, made by timer_create(2).
 */
#ifndef PROC_PTIMER_H
#define PROC_PTIMER_H

#include "ipc/ctimer.h"
#include "proc/itimer.h"

enum { SIGEV_SIGNAL = 0, SIGEV_NONE = 1, SIGEV_THREAD = 2, SIGEV_THREAD_ID = 4 };

/* What a timer does when it expires. */
struct ptimer_event {
    int notify;     /* SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD_ID */
    int signo, tid; /* tid: the LWP that gets the signal, 0: any */
    uint64_t value; /* siginfo's si_value */
    bool value_is_id;
};

/*
 * All functions are about the calling process, take p->mutex, and may sleep.  -EINVAL: there is no timer with this id.
 *
 * ptimer_create - make a timer that is not set.  Returns its id, -EAGAIN: the user has RLIMIT_SIGPENDING signals and
 *                 timers; -ENOMEM; -EINVAL: `tid` is no LWP of the process.
 * ptimer_set - set the timer; `absolute`: the value is a time of the timer's clock.  A signal of the timer that is
 *              pending is discarded.  *old: as from ptimer_get().
 * ptimer_get - the time that is left, and the interval.
 * ptimer_overrun - the number of expiries that the signal that was delivered last stood for, less one.
 * ptimer_delete - delete the timer.
 */
int ptimer_create(enum ctimer_clock clock, const struct ptimer_event *ev);
int ptimer_set(int id, bool absolute, const struct itimer_setting *new, struct itimer_setting *old);
int ptimer_get(int id, struct itimer_setting *now);
int ptimer_overrun(int id);
int ptimer_delete(int id);
/*
 * ptimer_delete_all - delete the timers of the calling process, which has one LWP: in exec, and at the end of the
 * process.  Takes p->mutex.
 */
void ptimer_delete_all(void);

#endif
