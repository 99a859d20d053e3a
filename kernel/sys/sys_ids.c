// SPDX-License-Identifier: MIT
/*
 * sys_ids.c - system calls about identity (users, groups, sessions) and resources (limits, usage).
 *
 * THEORY      A process has a real id (its user), an effective id (its permissions) and a saved id, to which
 *             the effective id can return.  The set*id calls follow Linux, but where Linux tests CAP_SETUID,
 *             they test for effective uid 0.  The superuser can set any id; other users can only choose among
 *             their real, effective and saved ids.  When the effective id changes, the id for file access
 *             changes, too.  Each call changes a copy of the credentials and installs the copy at the end.
 * SEE ALSO    proc/cred.c, proc/limits.c, proc/pgrp.c
 */
#include "sys/sys.h"

#include "lib/errno.h"
#include "proc/proc.h"
#include "sys/rusage.h"
#include "x86/uaccess.h"

#define KEEP UINT32_MAX /* the argument -1: leave this id unchanged */

long sys_getuid(struct regs *r)
{
    (void)r;
    return curcred()->uid;
}

long sys_geteuid(struct regs *r)
{
    (void)r;
    return curcred()->euid;
}

long sys_getgid(struct regs *r)
{
    (void)r;
    return curcred()->gid;
}

long sys_getegid(struct regs *r)
{
    (void)r;
    return curcred()->egid;
}

/* The user ids or the group ids of a process: the rules for both are the same. */
struct cred_ids {
    uint32_t real, effective, saved, fs;
};

static struct cred_ids get_cred_ids(const struct cred *c, bool group)
{
    return group ? (struct cred_ids){c->gid, c->egid, c->sgid, c->fsgid}
                 : (struct cred_ids){c->uid, c->euid, c->suid, c->fsuid};
}

/*
 * Installs credentials with user ids (or group ids) `n`.  A new effective id makes the process undumpable, and ends
 * PR_SET_PDEATHSIG.
 */
static long set_cred_ids(bool group, struct cred_ids n)
{
    struct cred *c = cred_dup(curcred());
    int err;

    if (c == NULL)
        return -ENOMEM;
    if (group) {
        c->gid = n.real;
        c->egid = n.effective;
        c->sgid = n.saved;
        c->fsgid = n.fs;
    } else {
        c->uid = n.real;
        c->euid = n.effective;
        c->suid = n.saved;
        c->fsuid = n.fs;
    }
    if (n.effective != get_cred_ids(curcred(), group).effective) {
        curproc()->dumpable = false;
        proc_set_death_signal(0);
    }
    err = cred_install(c);
    if (err != 0)
        cred_release(c);
    return err;
}

static bool is_own_id(uint32_t id, struct cred_ids i)
{
    return id == i.real || id == i.effective || id == i.saved;
}

static long do_setid(bool group, uint32_t id)
{
    struct cred_ids i = get_cred_ids(curcred(), group);

    if (id == KEEP)
        return -EINVAL;
    if (cred_superuser(curcred()))
        i.real = i.saved = id;
    else if (id != i.real && id != i.saved)
        return -EPERM;
    i.effective = i.fs = id;
    return set_cred_ids(group, i);
}

static long do_setreid(bool group, uint32_t real, uint32_t eff)
{
    struct cred_ids i = get_cred_ids(curcred(), group), n = i;

    if (!cred_superuser(curcred())) {
        if (real != KEEP && real != i.real && real != i.effective)
            return -EPERM;
        if (eff != KEEP && !is_own_id(eff, i))
            return -EPERM;
    }
    if (real != KEEP)
        n.real = real;
    if (eff != KEEP)
        n.effective = eff;
    if (real != KEEP || (eff != KEEP && eff != i.real))
        n.saved = n.effective;
    n.fs = n.effective;
    return set_cred_ids(group, n);
}

static long do_setresid(bool group, uint32_t real, uint32_t eff, uint32_t saved)
{
    struct cred_ids i = get_cred_ids(curcred(), group), n = i;

    if (!cred_superuser(curcred()) &&
        ((real != KEEP && !is_own_id(real, i)) || (eff != KEEP && !is_own_id(eff, i)) ||
         (saved != KEEP && !is_own_id(saved, i))))
        return -EPERM;
    if (real != KEEP)
        n.real = real;
    if (eff != KEEP)
        n.effective = eff;
    if (saved != KEEP)
        n.saved = saved;
    n.fs = n.effective;
    return set_cred_ids(group, n);
}

/* setfsuid(2), setfsgid(2): return the old id, even if the change is refused. */
static long do_setfsid(bool group, uint32_t id)
{
    struct cred_ids i = get_cred_ids(curcred(), group);
    uint32_t old = i.fs;

    if (id != KEEP && id != old && (cred_superuser(curcred()) || is_own_id(id, i))) {
        i.fs = id;
        set_cred_ids(group, i);
    }
    return old;
}

static long do_getresid(bool group, struct regs *r)
{
    struct cred_ids i = get_cred_ids(curcred(), group);

    if (user_store32(r->arg[0], i.real) != 0 || user_store32(r->arg[1], i.effective) != 0 ||
        user_store32(r->arg[2], i.saved) != 0)
        return -EFAULT;
    return 0;
}

long sys_setuid(struct regs *r)
{
    return do_setid(false, (uint32_t)r->arg[0]);
}

long sys_setgid(struct regs *r)
{
    return do_setid(true, (uint32_t)r->arg[0]);
}

long sys_setreuid(struct regs *r)
{
    return do_setreid(false, (uint32_t)r->arg[0], (uint32_t)r->arg[1]);
}

long sys_setregid(struct regs *r)
{
    return do_setreid(true, (uint32_t)r->arg[0], (uint32_t)r->arg[1]);
}

long sys_setresuid(struct regs *r)
{
    return do_setresid(false, (uint32_t)r->arg[0], (uint32_t)r->arg[1], (uint32_t)r->arg[2]);
}

long sys_setresgid(struct regs *r)
{
    return do_setresid(true, (uint32_t)r->arg[0], (uint32_t)r->arg[1], (uint32_t)r->arg[2]);
}

long sys_getresuid(struct regs *r)
{
    return do_getresid(false, r);
}

long sys_getresgid(struct regs *r)
{
    return do_getresid(true, r);
}

long sys_setfsuid(struct regs *r)
{
    return do_setfsid(false, (uint32_t)r->arg[0]);
}

long sys_setfsgid(struct regs *r)
{
    return do_setfsid(true, (uint32_t)r->arg[0]);
}

long sys_getgroups(struct regs *r)
{
    const struct cred *c = curcred();
    int n = (int)r->arg[0];

    if (n < 0 || (n > 0 && (uint32_t)n < c->ngroups))
        return -EINVAL;
    if (n > 0 && c->ngroups > 0 &&
        copy_out(r->arg[1], c->groups, c->ngroups * sizeof c->groups[0]) != 0)
        return -EFAULT;
    return c->ngroups;
}

long sys_setgroups(struct regs *r)
{
    struct cred *c;
    uint64_t n = (uint32_t)r->arg[0];
    int err;

    if (!cred_superuser(curcred()))
        return -EPERM;
    if (n > NGROUPS_MAX)
        return -EINVAL;
    c = cred_dup(curcred());
    if (c == NULL)
        return -ENOMEM;
    c->ngroups = (uint32_t)n;
    err = n > 0 ? copy_in(c->groups, r->arg[1], n * sizeof c->groups[0]) : 0;
    if (err == 0)
        err = cred_install(c);
    if (err != 0)
        cred_release(c);
    return err;
}

/* ---- groups and sessions ---- */

enum want { WANT_PGRP, WANT_SESSION };

static long get_pgid_or_sid(int pid, enum want want)
{
    struct proc *p;
    long id = -ESRCH;

    spin_lock(&proc_lock);
    p = pid == 0 ? curproc() : proc_find(pid);
    if (p != NULL)
        id = want == WANT_PGRP ? p->pgrp->pgid : p->pgrp->session->sid;
    spin_unlock(&proc_lock);
    return id;
}

long sys_getpgrp(struct regs *r)
{
    (void)r;
    return get_pgid_or_sid(0, WANT_PGRP);
}

long sys_getpgid(struct regs *r)
{
    return get_pgid_or_sid((int)r->arg[0], WANT_PGRP);
}

long sys_getsid(struct regs *r)
{
    return get_pgid_or_sid((int)r->arg[0], WANT_SESSION);
}

long sys_setsid(struct regs *r)
{
    (void)r;
    return proc_setsid();
}

long sys_setpgid(struct regs *r)
{
    return proc_setpgid((int)r->arg[0], (int)r->arg[1]);
}

/* ---- limits ---- */

/*
 * Sets p's limit to *new and stores the old limit in *old; both can be NULL.  The caller has a reference to p.
 * 0, -EINVAL, -EPERM.
 */
static int change_limit(struct proc *p, unsigned which, const struct rlimit *new,
                        struct rlimit *old)
{
    struct as_limits lim;
    struct as *as = NULL;
    int err = 0;

    mutex_enter(&p->mutex);
    if (old != NULL)
        *old = p->rlim[which];
    if (new != NULL) {
        if (new->cur > new->max)
            err = -EINVAL;
        else if (new->max > p->rlim[which].max && !cred_superuser(curcred()))
            err = -EPERM;
        else
            p->rlim[which] = *new;
        lim = (struct as_limits){p->rlim[RLIMIT_AS].cur, p->rlim[RLIMIT_DATA].cur,
                                 p->rlim[RLIMIT_STACK].cur};
        if (err == 0 && (which == RLIMIT_AS || which == RLIMIT_DATA || which == RLIMIT_STACK))
            as = p->as;
        if (as != NULL)
            as_hold(as);
    }
    mutex_exit(&p->mutex);
    if (new != NULL && err == 0 && which == RLIMIT_CPU)
        limit_cpu_changed(p);
    if (as != NULL) {
        as_set_limits(as, &lim);
        as_release(as);
    }
    return err;
}

static long do_prlimit(int pid, unsigned which, uint64_t unew, uint64_t uold)
{
    struct proc *p = curproc();
    struct rlimit new, old;
    int err = 0;

    if (which >= RLIM_NLIMITS)
        return -EINVAL;
    if (unew != 0 && copy_in(&new, unew, sizeof new) != 0)
        return -EFAULT;
    spin_lock(&proc_lock);
    if (pid != 0)
        p = proc_find(pid);
    if (p == NULL)
        err = -ESRCH;
    else if (!proc_may_change_limits(curcred(), p))
        err = -EPERM;
    else
        proc_hold(p);
    spin_unlock(&proc_lock);
    if (err != 0)
        return err;
    err = change_limit(p, which, unew != 0 ? &new : NULL, &old);
    proc_release(p);
    if (err == 0 && uold != 0)
        err = copy_out(uold, &old, sizeof old);
    return err;
}

long sys_getrlimit(struct regs *r)
{
    return r->arg[1] == 0 ? -EFAULT : do_prlimit(0, (unsigned)r->arg[0], 0, r->arg[1]);
}

long sys_setrlimit(struct regs *r)
{
    return r->arg[1] == 0 ? -EFAULT : do_prlimit(0, (unsigned)r->arg[0], r->arg[1], 0);
}

long sys_prlimit64(struct regs *r)
{
    return do_prlimit((int)r->arg[0], (unsigned)r->arg[1], r->arg[2], r->arg[3]);
}

/* ---- usage ---- */

long sys_getrusage(struct regs *r)
{
    enum { RUSAGE_SELF = 0, RUSAGE_CHILDREN = -1, RUSAGE_THREAD = 1 };
    struct rusage_kernel ru;
    int who = (int)r->arg[0];

    if (who != RUSAGE_SELF && who != RUSAGE_CHILDREN && who != RUSAGE_THREAD)
        return -EINVAL;
    if (who == RUSAGE_THREAD) {
        spin_lock(&proc_lock);
        rusage_lwp(curlwp(), &ru);
        spin_unlock(&proc_lock);
    } else {
        spin_lock(&proc_lock);
        if (who == RUSAGE_SELF)
            rusage_collect(curproc(), &ru);
        else
            ru = curproc()->waited;
        spin_unlock(&proc_lock);
    }
    if (who != RUSAGE_CHILDREN) {
        struct as_usage u;

        as_usage(curproc()->as, &u);
        ru.maxrss_kb =
            max_of(who == RUSAGE_SELF ? ru.maxrss_kb : 0, u.peak_rss_pages * (PAGE_SIZE / 1024));
    }
    return r->arg[1] == 0 ? -EFAULT : rusage_copy_out(r->arg[1], &ru);
}

long sys_times(struct regs *r)
{
    struct rusage_kernel self, waited;
    uint64_t t[4];
    const uint64_t tick = 1000000 / HZ;

    spin_lock(&proc_lock);
    rusage_collect(curproc(), &self);
    waited = curproc()->waited;
    spin_unlock(&proc_lock);
    t[0] = self.utime_us / tick;
    t[1] = self.stime_us / tick;
    t[2] = waited.utime_us / tick;
    t[3] = waited.stime_us / tick;
    if (r->arg[0] != 0 && copy_out(r->arg[0], t, sizeof t) != 0)
        return -EFAULT;
    return (long)(clock_mono_ns() / (1000000000 / HZ));
}
