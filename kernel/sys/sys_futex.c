// SPDX-License-Identifier: MIT
/*
 * sys_futex.c - futex(2): commands, timeouts, restarts.
 *
 * SEE ALSO    kernel/ipc/futex.c
 */
#include "disp/sync.h"
#include "disp/timer.h"
#include "lib/errno.h"
#include "ipc/futex.h"
#include "proc/proc.h"
#include "sys/sys.h"
#include "sys/utime.h"

enum {
    FUTEX_WAIT = 0,
    FUTEX_WAKE = 1,
    FUTEX_REQUEUE = 3,
    FUTEX_CMP_REQUEUE = 4,
    FUTEX_WAKE_OP = 5,
    FUTEX_WAIT_BITSET = 9,
    FUTEX_WAKE_BITSET = 10,
    FUTEX_CMD = 0x7f,
    FUTEX_PRIVATE = 0x80,
    FUTEX_REALTIME = 0x100,
};

/*
 * A restart function (restart.fn): continues an interrupted FUTEX_WAIT that has a timeout, with the
 * original deadline.
 */
static long restart_futex_wait(struct lwp *l)
{
    int err = futex_wait(l->restart.arg[0], (uint32_t)l->restart.arg[1], FUTEX_ANY,
                         (bool)l->restart.arg[2], l->restart.arg[3]);

    if (err != -EINTR)
        return err;
    l->restart.fn = restart_futex_wait;
    return -ERESTART_RESTARTBLOCK;
}

/* FUTEX_WAIT without a timeout. */
static inline long wait_without_timeout(uint64_t uaddr, uint32_t val, bool priv)
{
    int err = futex_wait(uaddr, val, FUTEX_ANY, priv, NO_DEADLINE);

    return err == -EINTR ? -ERESTARTSYS : err;
}

/* FUTEX_WAIT.  utime: user address of the relative timeout. */
static long wait_with_timeout(uint64_t uaddr, uint32_t val, bool priv, uint64_t utime)
{
    struct lwp *l = curlwp();
    uint64_t deadline;
    int64_t ns;
    int err = timespec_in(utime, &ns);

    if (err != 0)
        return err;
    deadline = clock_mono_ns() + (uint64_t)ns;
    err = futex_wait(uaddr, val, FUTEX_ANY, priv, deadline);
    if (err != -EINTR)
        return err;
    l->restart.fn = restart_futex_wait;
    l->restart.arg[0] = uaddr;
    l->restart.arg[1] = val;
    l->restart.arg[2] = priv;
    l->restart.arg[3] = deadline;
    return -ERESTART_RESTARTBLOCK;
}

/* FUTEX_WAIT_BITSET.  utime: user address of the absolute deadline, or 0; `real`: on CLOCK_REALTIME. */
static long do_futex_wait_bitset(uint64_t uaddr, uint32_t val, bool priv, uint64_t utime, bool real,
                                 uint32_t bitset)
{
    uint64_t deadline = NO_DEADLINE;
    int64_t ns;
    int err;

    if (bitset == 0)
        return -EINVAL;
    if (utime != 0) {
        err = timespec_in(utime, &ns);
        if (err != 0)
            return err;
        deadline = real ? real_to_mono((uint64_t)ns) : (uint64_t)ns;
    }
    err = futex_wait(uaddr, val, bitset, priv, deadline);
    return err == -EINTR ? -ERESTARTSYS : err;
}

/* The less frequent operations. */
static __attribute__((noinline)) long other_futex_op(const struct regs *r, unsigned op,
                                                     uint32_t val, bool priv)
{
    uint32_t val3 = (uint32_t)r->arg[5];

    if ((op & FUTEX_REALTIME) != 0 && (op & FUTEX_CMD) != FUTEX_WAIT_BITSET)
        return -ENOSYS;
    switch (op & FUTEX_CMD) {
    case FUTEX_WAIT:
        return wait_with_timeout(r->arg[0], val, priv, r->arg[3]);
    case FUTEX_WAIT_BITSET:
        return do_futex_wait_bitset(r->arg[0], val, priv, r->arg[3], op & FUTEX_REALTIME, val3);
    case FUTEX_WAKE_BITSET:
        return val3 == 0 ? -EINVAL : futex_wake(r->arg[0], val, priv, val3);
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
        if ((int32_t)val < 0 || (int32_t)r->arg[3] < 0)
            return -EINVAL;
        return futex_requeue(r->arg[0], r->arg[4], val, (unsigned)r->arg[3], priv,
                             (op & FUTEX_CMD) == FUTEX_CMP_REQUEUE ? &val3 : NULL);
    case FUTEX_WAKE_OP:
        return futex_wake_op(r->arg[0], r->arg[4], val, (unsigned)r->arg[3], priv, val3);
    default:
        return -ENOSYS;
    }
}

/* futex(uaddr, op, val, timeout or val2, uaddr2, val3) */
long sys_futex(struct regs *r)
{
    unsigned op = (unsigned)r->arg[1];
    uint32_t val = (uint32_t)r->arg[2];
    bool priv = (op & FUTEX_PRIVATE) != 0;

    if ((op & ~FUTEX_PRIVATE) == FUTEX_WAKE)
        return futex_wake(r->arg[0], val, priv, FUTEX_ANY);
    if ((op & ~FUTEX_PRIVATE) == FUTEX_WAIT && r->arg[3] == 0)
        return wait_without_timeout(r->arg[0], val, priv);
    return other_futex_op(r, op, val, priv);
}
