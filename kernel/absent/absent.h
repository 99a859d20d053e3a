// SPDX-License-Identifier: MIT
/*
 * absent.h - stand-ins for the parts that a kernel is built without.
 *
 * THEORY      The rest of the kernel calls a part by a few functions.  Where the part is absent (kernel/profile.mk),
 *             no_net.c and the like define these.  They find nothing, refuse, or do nothing because there is
 *             nothing to do.
 *             What cannot happen without the part panics.
 */
#ifndef ABSENT_ABSENT_H
#define ABSENT_ABSENT_H

#include "sys/sys.h"

/* A handler of a system call that this kernel does not have: -ENOSYS, counted under its name. */
#define ABSENT_CALL(name)                                                                          \
    long sys_##name(struct regs *r)                                                                \
    {                                                                                              \
        return syscall_absent(r);                                                                  \
    }

#endif
