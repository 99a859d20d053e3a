// SPDX-License-Identifier: MIT
/*
 * signalfd.h - open files from which a program reads its pending signals.
 */
#ifndef PROC_SIGNALFD_H
#define PROC_SIGNALFD_H

#include "proc/proc.h"

/*
 * signalfd_create - signalfd(2): *out is a new open file for the signals in `mask`; flags: O_NONBLOCK or 0.
 * 0; -ENFILE: no memory, or the user's limit is reached.
 * signalfd_set_mask - change the signals of `f`.  0; -EINVAL: `f` is no signalfd.
 */
int signalfd_create(sigset_t mask, unsigned flags, struct file **out);
int signalfd_set_mask(struct file *f, sigset_t mask);
/* signalfd_wake - a signal is pending for p or one of its LWPs: wake the pollers of signalfds [S]. */
void signalfd_wake(struct proc *p);
/* signalfd_init - at boot, before the first program. */
void signalfd_init(void);

#endif
