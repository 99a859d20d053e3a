// SPDX-License-Identifier: MIT
/*
 * sigio.h - SIGIO when a file may have become ready.
 */
#ifndef PROC_SIGIO_H
#define PROC_SIGIO_H

#include "vfs/file.h"

/*
 * All may sleep.
 *
 * sigio_set - O_ASYNC, FIOASYNC: begin or end to send SIGIO to the owner of `f`.  0; -ENOTTY: such a file never waits;
 *             -ENOMEM, also when the user's limit of kernel memory is reached.
 * sigio_set_owner - F_SETOWN: the owner is process `id`, the group -id, or none (0).  The user ids of the caller
 *                   decide, as for kill(2), whether the owner gets the signal.  0, -ESRCH, -EINVAL, -ENOMEM.
 * sigio_owner - F_GETOWN: *id as it was set.  0, or -EINVAL: this kernel lacks these functions.
 * sigio_init - at boot, before the first program.
 */
int sigio_set(struct file *f, bool on);
int sigio_set_owner(struct file *f, int id);
int sigio_owner(struct file *f, int *id);
void sigio_init(void);

#endif
