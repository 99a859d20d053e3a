// SPDX-License-Identifier: MIT
/*
 * target.h - the LWP that a scheduling call is about.
 */
#ifndef SYS_TARGET_H
#define SYS_TARGET_H

#include "lib/errno.h"
#include "proc/proc.h"

struct target {
    struct lwp *lwp;
    bool locked; /* proc_lock is held, and keeps the LWP from going away */
};

/*
 * target_find - the LWP with machine-wide id `tid`, 0 for the caller; `change`: the caller
 * wants to change it. -ESRCH, -EPERM.  Leaves proc_lock held until target_done().
 */
static inline int target_find(struct target *tg, int tid, bool change)
{
    if (tid < 0)
        return -EINVAL;
    spin_lock(&proc_lock);
    tg->lwp = tid == 0 ? curlwp() : lwp_find(tid);
    tg->locked = true;
    if (tg->lwp != NULL && (!change || proc_owned(curcred(), tg->lwp->proc)))
        return 0;
    spin_unlock(&proc_lock);
    return tg->lwp == NULL ? -ESRCH : -EPERM;
}

/* target_unlock_self - before a change that may move the caller to another CPU. */
static inline void target_unlock_self(struct target *tg)
{
    if (tg->lwp == curlwp()) {
        spin_unlock(&proc_lock);
        tg->locked = false;
    }
}

static inline void target_done(struct target *tg)
{
    if (tg->locked)
        spin_unlock(&proc_lock);
}

#endif
