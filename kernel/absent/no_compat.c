// SPDX-License-Identifier: MIT
/*
 * no_compat.c - a kernel without the calls of Linux that the programs of this system do not need.
 *
 * SEE ALSO    kernel/profile.mk
 */
#include "absent/absent.h"
#include "fs/tmpfs/tmpfs.h"
#include "ipc/ctimer.h"
#include "lib/errno.h"
#include "proc/ptimer.h"
#include "proc/sigio.h"
#include "proc/signalfd.h"
#include "stat/panic.h"
#include "vfs/filepriv.h"

/* ---- events and timers ---- */

ABSENT_CALL(eventfd)
ABSENT_CALL(eventfd2)
ABSENT_CALL(timerfd_create)
ABSENT_CALL(timerfd_settime)
ABSENT_CALL(timerfd_gettime)
ABSENT_CALL(signalfd)
ABSENT_CALL(signalfd4)
ABSENT_CALL(timer_create)
ABSENT_CALL(timer_settime)
ABSENT_CALL(timer_gettime)
ABSENT_CALL(timer_getoverrun)
ABSENT_CALL(timer_delete)

/* ---- files ---- */

ABSENT_CALL(memfd_create)
ABSENT_CALL(copy_file_range)

void memfd_init(void)
{
}

/* ---- extended attributes ---- */

ABSENT_CALL(setxattr)
ABSENT_CALL(lsetxattr)
ABSENT_CALL(fsetxattr)
ABSENT_CALL(getxattr)
ABSENT_CALL(lgetxattr)
ABSENT_CALL(fgetxattr)
ABSENT_CALL(listxattr)
ABSENT_CALL(llistxattr)
ABSENT_CALL(flistxattr)
ABSENT_CALL(removexattr)
ABSENT_CALL(lremovexattr)
ABSENT_CALL(fremovexattr)

void ctimer_init(void)
{
}

void clock_was_set(void)
{
}

void signalfd_init(void)
{
}

void signalfd_wake(struct proc *p)
{
    (void)p;
}

void sigio_init(void)
{
}

int sigio_set(struct file *f, bool on)
{
    (void)f;
    return on ? -ENOTTY : 0;
}

int sigio_set_owner(struct file *f, int id)
{
    (void)f, (void)id;
    return -EINVAL;
}

int sigio_owner(struct file *f, int *id)
{
    (void)f, (void)id;
    return -EINVAL;
}

void sigio_file_gone(struct file *f)
{
    panic("file %p sends SIGIO, which this kernel lacks", f);
}

void ptimer_delete_all(void)
{
}
