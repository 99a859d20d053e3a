// SPDX-License-Identifier: MIT
/*
 * sys_time.c - clocks, sleeps, alarms.
 *
 * THEORY      There is one clock: the time since boot.  The time of day is this clock plus an offset, which
 *             changes only when the time is set.  Linux's coarse and raw clocks are the same two clocks under
 *             other names.  A CPU-time clock belongs to the caller, or to the process or LWP whose id is part
 *             of the clock's number.  A signal can interrupt a relative sleep.  If no handler runs, the sleep
 *             continues until the deadline that was computed when it began; otherwise it ends with -EINTR.
 *             A sleep until a time of day uses a condition variable with that deadline.  When the time is set, all
 *             these threads are woken, and compute their deadlines again.
 * LOCKING     day_lock guards day_cv, so that no thread begins to sleep between a new time and the wake-up.
 * SEE ALSO    kernel/proc/itimer.c, kernel/disp/timer.h, kernel/proc/vdso/vdso_user.c
 */
#include "disp/sync.h"
#include "disp/timer.h"
#include "lib/errno.h"
#include "proc/proc.h"
#include "proc/itimer.h"
#include "sys/sys.h"
#include "sys/utime.h"

enum {
    CLOCK_REALTIME = 0,
    CLOCK_MONOTONIC = 1,
    CLOCK_PROCESS_CPUTIME_ID = 2,
    CLOCK_THREAD_CPUTIME_ID = 3,
    CLOCK_MONOTONIC_RAW = 4,
    CLOCK_REALTIME_COARSE = 5,
    CLOCK_MONOTONIC_COARSE = 6,
    CLOCK_BOOTTIME = 7,
    TIMER_ABSTIME = 1,
};

static struct spinlock day_lock = SPINLOCK_INIT(RANK_EVENT);
static struct cv day_cv; /* threads that sleep until a time of day */

void time_init(void)
{
    cv_init(&day_cv);
}

/*
 * CPU time of a process or LWP.  A clock number below 0 is ~id << 3, plus 4 for an LWP of the caller's
 * process, plus the kind of time in bits 0 and 1.  Kinds 0, 1 and 2 are treated alike; kind 3 gives -EINVAL.
 * id 0: the caller.
 */
static int read_cpu_clock(int clock, uint64_t *ns)
{
    int id = ~(clock >> 3), err = 0;
    struct proc *p;
    struct lwp *l;

    if ((clock & 3) == 3)
        return -EINVAL;
    spin_lock(&proc_lock);
    if (clock & 4) {
        l = id == 0 ? curlwp() : lwp_find(id);
        if (l == NULL || l->proc != curproc())
            err = -EINVAL;
        else
            *ns = thread_runtime_ns(&l->t);
    } else {
        p = id == 0 ? curproc() : proc_find(id);
        if (p == NULL)
            err = -EINVAL;
        else
            *ns = proc_cpu_ns(p);
    }
    spin_unlock(&proc_lock);
    return err;
}

static int clock_now(int clock, uint64_t *ns)
{
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        *ns = clock_real_ns();
        return 0;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
        *ns = clock_mono_ns();
        return 0;
    case CLOCK_PROCESS_CPUTIME_ID:
        spin_lock(&proc_lock);
        *ns = proc_cpu_ns(curproc());
        spin_unlock(&proc_lock);
        return 0;
    case CLOCK_THREAD_CPUTIME_ID:
        *ns = thread_runtime_ns(curthread);
        return 0;
    default:
        return clock < 0 ? read_cpu_clock(clock, ns) : -EINVAL;
    }
}

static long put_timespec(uint64_t uaddr, uint64_t ns)
{
    struct ktime t = ns_to_ktime(ns);

    return copy_out(uaddr, &t, sizeof t);
}

long sys_clock_gettime(struct regs *r)
{
    uint64_t ns;
    int err = clock_now((int)r->arg[0], &ns);

    return err != 0 ? err : put_timespec(r->arg[1], ns);
}

long sys_clock_getres(struct regs *r)
{
    uint64_t ns;
    int err = clock_now((int)r->arg[0], &ns); /* called only to check that the clock exists */

    if (err != 0 || r->arg[1] == 0)
        return err;
    return put_timespec(r->arg[1], 1);
}

/* Sets the time of day to `ns` since 1970.  0, -EINVAL; -EPERM: the caller is not the superuser. */
static long set_time_of_day(int64_t ns)
{
    if (!cred_superuser(curcred()))
        return -EPERM;
    if ((uint64_t)ns < clock_mono_ns())
        return -EINVAL; /* the time of boot would be before 1970 */
    clock_set_real((uint64_t)ns);
    spin_lock(&day_lock);
    cv_broadcast(&day_cv);
    spin_unlock(&day_lock);
    clock_was_set();
    return 0;
}

long sys_clock_settime(struct regs *r)
{
    int64_t ns;
    int err;

    if ((int)r->arg[0] != CLOCK_REALTIME)
        return -EINVAL;
    err = timespec_in(r->arg[1], &ns);
    return err != 0 ? err : set_time_of_day(ns);
}

long sys_gettimeofday(struct regs *r)
{
    static const int32_t greenwich[2];
    struct ktime t = ns_to_ktime(clock_real_ns());
    int err = 0;

    t.nsec /= NSEC_PER_USEC;
    if (r->arg[0] != 0)
        err = copy_out(r->arg[0], &t, sizeof t);
    if (err == 0 && r->arg[1] != 0)
        err = copy_out(r->arg[1], greenwich, sizeof greenwich);
    return err;
}

/* settimeofday(tv, tz): the time zone is ignored, because C libraries handle time zones. */
long sys_settimeofday(struct regs *r)
{
    int64_t ns;
    int err;

    if (r->arg[0] == 0)
        return cred_superuser(curcred()) ? 0 : -EPERM;
    err = timeval_in(r->arg[0], &ns);
    return err != 0 ? err : set_time_of_day(ns);
}

long sys_time(struct regs *r)
{
    int64_t sec = (int64_t)(clock_real_ns() / NSEC_PER_SEC);
    int err = 0;

    if (r->arg[0] != 0)
        err = copy_out(r->arg[0], &sec, sizeof sec);
    return err != 0 ? err : sec;
}

/*
 * Sleeps until the deadline restart.arg[0].  If a signal ends the sleep, stores the rest of the
 * time at user address restart.arg[1].
 */
static long sleep_restartable(struct lwp *l)
{
    uint64_t deadline = l->restart.arg[0], now;
    int err = sleep_until(deadline);

    if (err == 0)
        return 0;
    if (l->restart.arg[1] != 0) {
        now = clock_mono_ns();
        err = (int)put_timespec(l->restart.arg[1], deadline > now ? deadline - now : 0);
        if (err == -EFAULT)
            return err;
    }
    l->restart.fn = sleep_restartable;
    return -ERESTART_RESTARTBLOCK;
}

static long sleep_for(int64_t ns, uint64_t uleft)
{
    struct lwp *l = curlwp();

    l->restart.arg[0] = clock_mono_ns() + (uint64_t)ns;
    l->restart.arg[1] = uleft;
    return sleep_restartable(l);
}

long sys_nanosleep(struct regs *r)
{
    int64_t ns;
    int err = timespec_in(r->arg[0], &ns);

    return err != 0 ? err : sleep_for(ns, r->arg[1]);
}

/* Sleeps until the time of day is `ns` since 1970.  0, or -EINTR: a signal came first. */
static int sleep_until_day(uint64_t ns)
{
    int err = 0;

    spin_lock(&day_lock);
    while (err != -EINTR && clock_real_ns() < ns)
        err = cv_wait_sig_spin(&day_cv, &day_lock, real_to_mono(ns), "sleep");
    spin_unlock(&day_lock);
    return err == -EINTR ? err : 0;
}

/* clock_nanosleep(clock, flags, time, left) */
long sys_clock_nanosleep(struct regs *r)
{
    int clock = (int)r->arg[0];
    int64_t ns;
    int err;

    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
        return clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID ? -EOPNOTSUPP : -EINVAL;
    err = timespec_in(r->arg[2], &ns);
    if (err != 0)
        return err;
    if (!(r->arg[1] & TIMER_ABSTIME))
        return sleep_for(ns, r->arg[3]);
    err = clock == CLOCK_REALTIME ? sleep_until_day((uint64_t)ns) : sleep_until((uint64_t)ns);
    return err == 0 ? 0 : -ERESTARTNOHAND;
}

/* Linux's struct itimerval. */
struct user_itimerval {
    struct {
        int64_t sec, usec;
    } interval, value;
};

static int64_t round_up_to_us(uint64_t ns)
{
    return (int64_t)((ns + NSEC_PER_USEC - 1) / NSEC_PER_USEC);
}

static long put_itimer(uint64_t uaddr, const struct itimer_setting *s)
{
    int64_t value = round_up_to_us(s->value_ns), interval = round_up_to_us(s->interval_ns);
    struct user_itimerval u = {
        .interval = {interval / USEC_PER_SEC, interval % USEC_PER_SEC},
        .value = {value / USEC_PER_SEC, value % USEC_PER_SEC},
    };

    return copy_out(uaddr, &u, sizeof u);
}

long sys_getitimer(struct regs *r)
{
    struct itimer_setting old;
    int err = itimer_set((int)r->arg[0], NULL, &old);

    return err != 0 ? err : put_itimer(r->arg[1], &old);
}

long sys_setitimer(struct regs *r)
{
    struct itimer_setting new = {0}, old;
    int64_t interval, value;
    int err = 0;

    if (r->arg[1] != 0) {
        err = timeval_in(r->arg[1], &interval);
        if (err == 0)
            err = timeval_in(r->arg[1] + 16, &value);
        if (err != 0)
            return err;
        new.interval_ns = (uint64_t)interval;
        new.value_ns = (uint64_t)value;
    }
    err = itimer_set((int)r->arg[0], &new, &old);
    if (err != 0 || r->arg[2] == 0)
        return err;
    return put_itimer(r->arg[2], &old);
}

long sys_alarm(struct regs *r)
{
    struct itimer_setting new = {.value_ns = (r->arg[0] & UINT32_MAX) * (uint64_t)NSEC_PER_SEC};
    struct itimer_setting old;

    (void)itimer_set(ITIMER_REAL, &new, &old);
    return (long)((old.value_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC);
}
