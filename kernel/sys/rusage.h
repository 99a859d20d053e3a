// SPDX-License-Identifier: MIT
/*
 * rusage.h - copies resource usage to a program: for wait4, waitid and getrusage.
 */
#ifndef SYS_RUSAGE_H
#define SYS_RUSAGE_H

#include "proc/proc.h"

/*
 * rusage_copy_out - store Linux's struct rusage at user address `to`; does nothing if `to` is 0.  0
 * or -EFAULT.
 */
int rusage_copy_out(uint64_t to, const struct rusage_kernel *ru);

#endif
