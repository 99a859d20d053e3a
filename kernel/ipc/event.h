// SPDX-License-Identifier: MIT
/*
 * event.h - eventfd and timerfd: open files that become readable when something has happened.
 */
#ifndef IPC_EVENT_H
#define IPC_EVENT_H

#include "ipc/ctimer.h"
#include "vfs/file.h"

/*
 * eventfd_create - eventfd(2): *out is a new open file with the counter `count`.
 * @semaphore  a read takes 1 from the counter; otherwise it takes the whole counter
 * @flags      O_NONBLOCK or 0
 * 0; -ENFILE: no memory, or the user's limit is reached.
 */
int eventfd_create(uint64_t count, bool semaphore, unsigned flags, struct file **out);

/* A setting of a timerfd, as timerfd_settime(2) and timerfd_gettime(2) have it. */
struct timerfd_setting {
    uint64_t value_ns;    /* when it expires; 0: not set */
    uint64_t interval_ns; /* 0: only once */
};
/*
 * timerfd_create - timerfd_create(2): *out is a new open file; flags: O_NONBLOCK or 0.  0 or -ENFILE, as above.
 * timerfd_set - set the timer of `f`, and store the former setting in *old.
 *   @absolute  new->value_ns is a time of the clock; otherwise it counts from now
 *   @cancel    reads fail with -ECANCELED when the time of day was set (TFD_TIMER_CANCEL_ON_SET)
 * timerfd_get - store the setting, with the time that is left.
 * Both: 0; -EINVAL: `f` is no timerfd.
 */
int timerfd_create(enum ctimer_clock clock, unsigned flags, struct file **out);
int timerfd_set(struct file *f, bool absolute, bool cancel, const struct timerfd_setting *new,
                struct timerfd_setting *old);
int timerfd_get(struct file *f, struct timerfd_setting *now);

#endif
