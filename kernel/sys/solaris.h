// SPDX-License-Identifier: MIT
/*
 * solaris.h - processes and LWPs named by (idtype, id), as in Solaris's system calls.
 */
#ifndef SYS_SOLARIS_H
#define SYS_SOLARIS_H

#include "proc/proc.h"

struct procset {
    int type;    /* HR_P_PID, HR_P_LWPID */
    int id;      /* P_MYID: the caller */
    int pid;     /* HR_P_LWPID: the process of the LWP; 0: the caller's process */
    bool change; /* the call changes LWPs: needs permission, and applies to all LWPs named */
};

/* ids_valid - whether type, id and pid have legal values.  If not, the system call must return -EINVAL. */
bool ids_valid(const struct procset *who);

/*
 * ids_apply - call fn for each LWP that is named; if !change, only for the first.  fn runs under proc_lock, with one
 * exception: to change the caller's own LWP, fn runs last and without the lock.  0, -ESRCH, -EPERM, or the
 * last error of fn.
 */
typedef int (*lwp_fn)(struct lwp *l, void *arg);
int ids_apply(const struct procset *who, lwp_fn fn, void *arg);

#endif
