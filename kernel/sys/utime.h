// SPDX-License-Identifier: MIT
/*
 * utime.h - times as system-call arguments.
 */
#ifndef SYS_UTIME_H
#define SYS_UTIME_H

#include "disp/timer.h"
#include "vfs/vnode.h"
#include "lib/errno.h"
#include "x86/uaccess.h"

#define NSEC_PER_SEC  1000000000ll
#define NSEC_PER_MSEC 1000000ll
#define NSEC_PER_USEC 1000ll
#define USEC_PER_SEC  1000000ll

/* ktime_to_ns - convert a time to ns; INT64_MAX (292 years): the time does not fit. */
static inline int64_t ktime_to_ns(const struct ktime *t)
{
    int64_t ns;

    if (__builtin_mul_overflow(t->sec, NSEC_PER_SEC, &ns) ||
        __builtin_add_overflow(ns, t->nsec, &ns))
        return INT64_MAX;
    return ns;
}

static inline struct ktime ns_to_ktime(uint64_t ns)
{
    return (struct ktime){.sec = (int64_t)(ns / (uint64_t)NSEC_PER_SEC),
                          .nsec = (int64_t)(ns % (uint64_t)NSEC_PER_SEC)};
}

/* real_to_mono - the value of clock_mono_ns() when the time of day is `ns` (since 1970). */
static inline uint64_t real_to_mono(uint64_t ns)
{
    uint64_t offset = clock_params.real_offset_ns;

    return ns > offset ? ns - offset : 0;
}

/*
 * timespec_in - read a struct timespec at a user address as ns.  -EFAULT, -EINVAL.
 */
static inline int timespec_in(uint64_t uaddr, int64_t *ns)
{
    struct ktime t;
    int err = copy_in(&t, uaddr, sizeof t);

    if (err != 0)
        return err;
    if (t.sec < 0 || (uint64_t)t.nsec >= (uint64_t)NSEC_PER_SEC)
        return -EINVAL;
    *ns = ktime_to_ns(&t);
    return 0;
}

/* timeval_in - the same for a struct timeval. */
static inline int timeval_in(uint64_t uaddr, int64_t *ns)
{
    struct ktime t;
    int err = copy_in(&t, uaddr, sizeof t);

    if (err != 0)
        return err;
    if (t.sec < 0 || (uint64_t)t.nsec >= (uint64_t)USEC_PER_SEC)
        return -EINVAL;
    t.nsec *= NSEC_PER_USEC;
    *ns = ktime_to_ns(&t);
    return 0;
}

#endif
