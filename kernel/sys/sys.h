// SPDX-License-Identifier: MIT
/*
 * sys.h - the system-call edge: what the assembly calls, and what the handlers share.
 *
 * A handler is `long sys_NAME(struct regs *r)`; its arguments are r->arg[0..5], its result is a
 * non-negative number or -errno. Handlers turn user addresses into kernel copies; nothing below
 * this room sees a user pointer.
 */
#ifndef SYS_SYS_H
#define SYS_SYS_H

#include "sys/syscalls.tbl.h"
#include "x86/regs.h"

/*
 * syscall_init - caches and statistics of this room, timers of processes.  Once at boot, after kmem_init().
 */
void syscall_init(void);
void path_init(void);
void shm_init(void);

#define X(number, name) long sys_##name(struct regs *r);
SYSCALLS(X)
#undef X

/* truss_call - carry out a call of a process that is being traced (truss.c). */
long truss_call(struct regs *r, long (*handler)(struct regs *));

#endif
