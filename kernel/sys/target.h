// SPDX-License-Identifier: MIT
/*
 * target.h - find and lock the LWP that a scheduling call names.
 */
#ifndef SYS_TARGET_H
#define SYS_TARGET_H

#include "lib/errno.h"
#include "proc/proc.h"

struct target {
    struct lwp *lwp;
    bool locked; /* the caller holds proc_lock, so the LWP cannot end */
};

/*
 * target_find - find the LWP with machine-wide id `tid`; 0: the caller.
 * @change  check that the caller is allowed to change the LWP
 * Returns 0; then the caller holds proc_lock until target_done().  After an error (-EINVAL: tid < 0; -ESRCH, -EPERM)
 * the caller does not hold it.
 */
static inline int target_find(struct target *tg, int tid, bool change)
{
    if (tid < 0)
        return -EINVAL;
    spin_lock(&proc_lock);
    tg->lwp = tid == 0 ? curlwp() : lwp_find(tid);
    tg->locked = true;
    if (tg->lwp != NULL && (!change || proc_may_change_sched(curcred(), tg->lwp->proc)))
        return 0;
    spin_unlock(&proc_lock);
    return tg->lwp == NULL ? -ESRCH : -EPERM;
}

/*
 * target_unlock_self - release proc_lock if the LWP is the caller.  Must be called before a change that can move the
 * LWP to another CPU, because the caller must not move while it holds a spin lock.
 */
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
