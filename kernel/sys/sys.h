// SPDX-License-Identifier: MIT
/*
 * sys.h - the system-call layer: its entry points, and what the handlers share.
 *
 * A handler is `long sys_NAME(struct regs *r)`.  Its arguments are r->arg[0..5]; it returns a non-negative
 * number or -errno.  Handlers copy data between user memory and the kernel, so that most of the kernel uses
 * only kernel copies.
 */
#ifndef SYS_SYS_H
#define SYS_SYS_H

#include "sys/syscalls.tbl.h"
#include "x86/regs.h"

/*
 * syscall_init - create the caches and statistics of this directory and the timers of processes.  Called once
 * at boot, after kmem_init().
 */
void syscall_init(void);
void path_init(void);
void shm_init(void);
void sem_init(void);
void time_init(void);

#define X(number, name) long sys_##name(struct regs *r);
SYSCALLS(X)
#undef X

/*
 * syscall_absent - the handler of every call that this kernel does not have: count it under its name (kstat
 * unix:0:enosys).  -ENOSYS.  Takes enosys_lock.
 */
long syscall_absent(struct regs *r);

/* truss_call - carry out a call of a traced process, and record the call (truss.c). */
long truss_call(struct regs *r, long (*handler)(struct regs *));
/* truss_init - called once at boot, before the first process exists. */
void truss_init(void);

#endif
