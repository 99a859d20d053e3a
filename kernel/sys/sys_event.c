// SPDX-License-Identifier: MIT
/*
 * sys_event.c - system calls that make open files of events: eventfd, timerfd, signalfd.
 *
 * SEE ALSO    ipc/eventfd.c, ipc/timerfd.c, proc/signalfd.c
 */
#include "ipc/event.h"
#include "lib/errno.h"
#include "proc/signalfd.h"
#include "sys/path.h"
#include "sys/sys.h"
#include "sys/utime.h"

enum { CLOCK_REALTIME = 0, CLOCK_MONOTONIC = 1, CLOCK_BOOTTIME = 7 };
enum { TFD_TIMER_ABSTIME = 1, TFD_TIMER_CANCEL_ON_SET = 2 };
enum { EFD_SEMAPHORE = 1, SIGSET_BYTES = 8 };

/* Linux's struct itimerspec. */
struct user_itimerspec {
    struct ktime interval, value;
};

/* ---- eventfd ---- */

static long do_eventfd(unsigned count, unsigned flags)
{
    struct file *f;
    int err;

    if (flags & ~(unsigned)(EFD_SEMAPHORE | O_NONBLOCK | O_CLOEXEC))
        return -EINVAL;
    err = eventfd_create(count, (flags & EFD_SEMAPHORE) != 0, flags & O_NONBLOCK, &f);
    return err != 0 ? err : fd_give(f, (flags & O_CLOEXEC) != 0);
}

long sys_eventfd(struct regs *r)
{
    return do_eventfd((unsigned)r->arg[0], 0);
}

long sys_eventfd2(struct regs *r)
{
    return do_eventfd((unsigned)r->arg[0], (unsigned)r->arg[1]);
}

/* ---- timerfd ---- */

/* timerfd_create(clock, flags) */
long sys_timerfd_create(struct regs *r)
{
    int clock = (int)r->arg[0], err;
    unsigned flags = (unsigned)r->arg[1];
    struct file *f;

    if ((flags & ~(unsigned)(O_NONBLOCK | O_CLOEXEC)) != 0 ||
        (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME))
        return -EINVAL;
    err =
        timerfd_create(clock == CLOCK_REALTIME ? CTIMER_REAL : CTIMER_MONO, flags & O_NONBLOCK, &f);
    return err != 0 ? err : fd_give(f, (flags & O_CLOEXEC) != 0);
}

static long put_timerfd_setting(uint64_t uaddr, const struct timerfd_setting *s)
{
    struct user_itimerspec u = {ns_to_ktime(s->interval_ns), ns_to_ktime(s->value_ns)};

    return copy_out(uaddr, &u, sizeof u);
}

/* timerfd_settime(fd, flags, new, old) */
long sys_timerfd_settime(struct regs *r)
{
    unsigned flags = (unsigned)r->arg[1];
    struct timerfd_setting new, old;
    int64_t interval, value;
    struct file *f;
    long err;

    err = timespec_in(r->arg[2], &interval);
    if (err == 0)
        err = timespec_in(r->arg[2] + sizeof(struct ktime), &value);
    if (err == 0 && (flags & ~(unsigned)(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)) != 0)
        err = -EINVAL;
    if (err != 0)
        return err;
    f = fd_file(r->arg[0]);
    if (f == NULL)
        return -EBADF;
    new = (struct timerfd_setting){(uint64_t)value, (uint64_t)interval};
    err = timerfd_set(f, (flags & TFD_TIMER_ABSTIME) != 0, (flags & TFD_TIMER_CANCEL_ON_SET) != 0,
                      &new, &old);
    file_release(f);
    return err == 0 && r->arg[3] != 0 ? put_timerfd_setting(r->arg[3], &old) : err;
}

/* timerfd_gettime(fd, now) */
long sys_timerfd_gettime(struct regs *r)
{
    struct file *f = fd_file(r->arg[0]);
    struct timerfd_setting now;
    long err;

    if (f == NULL)
        return -EBADF;
    err = timerfd_get(f, &now);
    file_release(f);
    return err != 0 ? err : put_timerfd_setting(r->arg[1], &now);
}

/* ---- signalfd ---- */

/* fd -1: makes a signalfd; otherwise changes the signals of this one, and `flags` have no effect. */
static long do_signalfd(int fd, uint64_t umask, uint64_t size, unsigned flags)
{
    struct file *f;
    sigset_t mask;
    long err;

    if (size != SIGSET_BYTES || (flags & ~(unsigned)(O_NONBLOCK | O_CLOEXEC)) != 0)
        return -EINVAL;
    if (copy_in(&mask, umask, sizeof mask) != 0)
        return -EFAULT;
    if (fd == -1) {
        err = signalfd_create(mask, flags & O_NONBLOCK, &f);
        return err != 0 ? err : fd_give(f, (flags & O_CLOEXEC) != 0);
    }
    f = fd_file((uint64_t)fd);
    if (f == NULL)
        return -EBADF;
    err = signalfd_set_mask(f, mask);
    file_release(f);
    return err != 0 ? err : fd;
}

long sys_signalfd(struct regs *r)
{
    return do_signalfd((int)r->arg[0], r->arg[1], r->arg[2], 0);
}

long sys_signalfd4(struct regs *r)
{
    return do_signalfd((int)r->arg[0], r->arg[1], r->arg[2], (unsigned)r->arg[3]);
}
