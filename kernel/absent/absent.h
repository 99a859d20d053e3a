// SPDX-License-Identifier: MIT
/*
 * absent.h - replacements (stubs) for the parts that a kernel is built without.
 *
 * THEORY      The rest of the kernel calls only a few functions of a part.  If a kernel is built without the part
 *             (kernel/profile.mk), the file of kernel/absent/ that is named after the part defines these functions:
 *             they find nothing, return an error, or do nothing.  A function that cannot be called without the part
 *             panics.
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
