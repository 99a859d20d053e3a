// SPDX-License-Identifier: MIT
/*
 * no_sem.c - a kernel without System V semaphores: their calls do not exist, and their files in /proc are empty.
 *
 * SEE ALSO    kernel/profile.mk
 */
#include "absent/absent.h"
#include "proc/proc.h"
#include "procfs/procfs.h"

ABSENT_CALL(semget)
ABSENT_CALL(semop)
ABSENT_CALL(semctl)
ABSENT_CALL(semtimedop)

void sem_init(void)
{
}

int sem_undo_share(struct proc *from, struct proc *to)
{
    (void)from, (void)to;
    return 0;
}

void sem_undo_release(struct proc *p)
{
    (void)p;
}

PROCFS_SHOW(procfs_show_sem)
{
    (void)n, (void)arg, (void)out;
    return 0;
}
