// SPDX-License-Identifier: MIT
/*
 * rusage.h - resource usage on its way out to a program: shared by wait4, waitid and getrusage.
 */
#ifndef SYS_RUSAGE_H
#define SYS_RUSAGE_H

#include "proc/proc.h"

/* rusage_copy_out - Linux's struct rusage to user address `to` (0: not wanted).  0 or -EFAULT. */
int rusage_copy_out(uint64_t to, const struct rusage_kernel *ru);

#endif
