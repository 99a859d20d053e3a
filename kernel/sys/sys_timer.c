// SPDX-License-Identifier: MIT
/*
 * sys_timer.c - system calls on the timers of timer_create(2).
 *
 * SEE ALSO    proc/ptimer.c
 */
#include "lib/errno.h"
#include "lib/signo.h"
#include "proc/proc.h"
#include "proc/ptimer.h"
#include "sys/sys.h"
#include "sys/utime.h"

enum {
    CLOCK_REALTIME = 0,
    CLOCK_MONOTONIC = 1,
    CLOCK_LAST_KNOWN = 6, /* clocks 2 .. 6 can be read, but not waited for */
    CLOCK_BOOTTIME = 7,
    TIMER_ABSTIME = 1,
};

/* Linux's struct sigevent, without padding at its end. */
struct user_sigevent {
    uint64_t value;
    int32_t signo, notify, tid;
};

struct user_timer_setting {
    struct ktime interval, value;
};

/* Reads the struct sigevent at uaddr; 0: SIGALRM, and the timer's id as the value.  0, -EFAULT, -EINVAL. */
static int event_in(uint64_t uaddr, struct ptimer_event *ev)
{
    struct user_sigevent u;

    *ev = (struct ptimer_event){.notify = SIGEV_SIGNAL, .signo = SIGALRM, .value_is_id = true};
    if (uaddr == 0)
        return 0;
    if (copy_in(&u, uaddr, sizeof u) != 0)
        return -EFAULT;
    *ev = (struct ptimer_event){u.notify, u.signo, u.tid, u.value, false};
    switch (u.notify) {
    case SIGEV_NONE:
        return 0;
    case SIGEV_THREAD: /* a thread of the C library waits for the signal; the kernel only sends it */
        ev->notify = SIGEV_SIGNAL;
        break;
    case SIGEV_SIGNAL:
    case SIGEV_THREAD_ID:
        break;
    default:
        return -EINVAL;
    }
    return u.signo >= 1 && u.signo <= NSIG ? 0 : -EINVAL;
}

/* timer_create(clock, event, *id) */
long sys_timer_create(struct regs *r)
{
    int clock = (int)r->arg[0], id, err;
    struct ptimer_event ev;

    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
        return clock <= CLOCK_LAST_KNOWN ? -EOPNOTSUPP : -EINVAL;
    err = event_in(r->arg[1], &ev);
    if (err != 0)
        return err;
    id = ptimer_create(clock == CLOCK_REALTIME ? CTIMER_REAL : CTIMER_MONO, &ev);
    if (id < 0)
        return id;
    err = copy_out(r->arg[2], &id, sizeof id);
    if (err != 0)
        (void)ptimer_delete(id);
    return err;
}

static long put_timer_setting(uint64_t uaddr, const struct itimer_setting *s)
{
    struct user_timer_setting u = {ns_to_ktime(s->interval_ns), ns_to_ktime(s->value_ns)};

    return copy_out(uaddr, &u, sizeof u);
}

/* timer_settime(id, flags, new, old) */
long sys_timer_settime(struct regs *r)
{
    struct itimer_setting new, old;
    int64_t interval, value;
    int err;

    if (r->arg[2] == 0)
        return -EINVAL;
    err = timespec_in(r->arg[2], &interval);
    if (err == 0)
        err = timespec_in(r->arg[2] + sizeof(struct ktime), &value);
    if (err != 0)
        return err;
    new = (struct itimer_setting){(uint64_t)value, (uint64_t)interval};
    err = ptimer_set((int)r->arg[0], (r->arg[1] & TIMER_ABSTIME) != 0, &new, &old);
    return err == 0 && r->arg[3] != 0 ? put_timer_setting(r->arg[3], &old) : err;
}

/* timer_gettime(id, now) */
long sys_timer_gettime(struct regs *r)
{
    struct itimer_setting now;
    int err = ptimer_get((int)r->arg[0], &now);

    return err != 0 ? err : put_timer_setting(r->arg[1], &now);
}

long sys_timer_getoverrun(struct regs *r)
{
    return ptimer_overrun((int)r->arg[0]);
}

long sys_timer_delete(struct regs *r)
{
    return ptimer_delete((int)r->arg[0]);
}
