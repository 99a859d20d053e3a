// SPDX-License-Identifier: MIT
/*
 * solaris.h - Solaris's way to name processes and LWPs, for the calls that take (idtype, id).
 */
#ifndef SYS_SOLARIS_H
#define SYS_SOLARIS_H

#include "proc/proc.h"

struct ids {
    int type;    /* HR_P_PID, HR_P_LWPID */
    int id;      /* P_MYID: the caller   */
    int pid;     /* HR_P_LWPID: of this process, 0: the caller's */
    bool change; /* to be changed: needs permission, and concerns all LWPs of a process */
};

/* ids_valid - whether type and id exist as kinds (-EINVAL otherwise). */
bool ids_valid(const struct ids *who);

/*
 * ids_apply - call fn for each LWP named; only the first if !change.  fn runs under proc_lock,
 * but for the caller's own LWP when it changes it.  -ESRCH, -EPERM, or the last error of fn.
 */
typedef int (*lwp_fn)(struct lwp *l, void *arg);
int ids_apply(const struct ids *who, lwp_fn fn, void *arg);

#endif
