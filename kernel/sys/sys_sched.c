// SPDX-License-Identifier: MIT
/*
 * sys_sched.c - Linux's scheduling calls, mapped to Solaris's classes: affinity, policies, nice, ioprio.
 *
 * THEORY      SCHED_OTHER and SCHED_BATCH are class TS.  SCHED_IDLE is TS at the lowest user priority.
 *             SCHED_FIFO and SCHED_RR are class RT, which has one level for each of Linux's priorities 1 ..
 *             99.  The LWP keeps Linux's policy and priority, so that they can be queried.  The nice value
 *             belongs to the process.  Every call finds its LWP under proc_lock.  The affinity of the calling LWP
 *             itself is set without this lock, because this can move the caller to another CPU.
 *             The priority of disk requests (ioprio_set) is kept in the LWP and copied to each request.
 * SEE ALSO    disp/thread.h, sys_solaris.c (priocntl), docs/dispatcher.md
 */
#include "blk/blk.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "proc/proc.h"
#include "sys/sys.h"
#include "sys/target.h"
#include "sys/utime.h"

enum { TS_UPRI_LOWEST = -60 };
enum { NICE_MIN = -20, NICE_MAX = 19 };

long sys_sched_yield(struct regs *r)
{
    thread_yield();
    return 0;
}

/* Like target_find(), but -ESRCH for a negative tid: the other calls of this file then fail with -EINVAL. */
static int affinity_target(struct target *tg, int tid, bool change)
{
    return tid < 0 ? -ESRCH : target_find(tg, tid, change);
}

/* sched_setaffinity(tid, size, mask): bytes of the mask beyond the kernel's own size are ignored. */
long sys_sched_setaffinity(struct regs *r)
{
    struct cpumask mask = {0};
    struct target tg;
    int err = copy_in(&mask, r->arg[2], min_of(r->arg[1], sizeof mask));

    if (err == 0)
        err = affinity_target(&tg, (int)r->arg[0], true);
    if (err != 0)
        return err;
    target_unlock_self(&tg);
    err = thread_set_affinity(&tg.lwp->t, &mask);
    target_done(&tg);
    return err;
}

/* Returns the number of bytes written: enough for all CPUs, in multiples of 8. */
long sys_sched_getaffinity(struct regs *r)
{
    size_t need = round_up(ncpu, 64u) / 8;
    struct cpumask mask;
    struct target tg;
    int err;

    if (r->arg[1] < need || (r->arg[1] & 7) != 0)
        return -EINVAL;
    err = affinity_target(&tg, (int)r->arg[0], false);
    if (err != 0)
        return err;
    thread_get_affinity(&tg.lwp->t, &mask);
    target_done(&tg);
    err = copy_out(r->arg[2], &mask, need);
    return err != 0 ? err : (long)need;
}

static bool is_rt_policy(int policy)
{
    return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* Returns 0 if `policy` exists and `prio` is legal for it; else -EINVAL. */
static int check_sched_policy(int policy, int prio)
{
    if (is_rt_policy(policy))
        return prio >= 1 && prio <= RT_LEVELS ? 0 : -EINVAL;
    if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE)
        return -EINVAL;
    return prio == 0 ? 0 : -EINVAL;
}

/*
 * Gives `l` the class of a checked policy and priority.  The caller holds proc_lock until it has stored both, so that
 * they are those of the class even if two LWPs set them at the same time.  0 or an error of thread_set_class().
 */
static int put_policy_in_force(struct lwp *l, int policy, int prio)
{
    int err;

    if (is_rt_policy(policy))
        return thread_set_class(&l->t, CLASS_RT, prio - 1, policy == SCHED_FIFO);
    if (policy == SCHED_IDLE)
        return thread_set_class(&l->t, CLASS_TS, TS_UPRI_LOWEST, false);
    err = thread_set_class(&l->t, CLASS_TS, 0, false);
    if (err == 0)
        thread_set_nice(&l->t, l->proc->nice);
    return err;
}

/*
 * Sets policy and priority of LWP `tid` (0: the caller).  policy -1: keep it; uparam: user address of the
 * priority.  0, -EFAULT, -EINVAL, -ESRCH, -EPERM.
 */
static long set_sched_policy(int tid, int policy, uint64_t uparam)
{
    struct target tg;
    int prio, err = copy_in(&prio, uparam, sizeof prio);

    if (err == 0)
        err = target_find(&tg, tid, true);
    if (err != 0)
        return err;
    if (policy < 0)
        policy = tg.lwp->sched_policy;
    err = check_sched_policy(policy, prio);
    if (err == 0 && is_rt_policy(policy) && !cred_superuser(curcred()) &&
        (uint64_t)prio > limit(RLIMIT_RTPRIO))
        err = -EPERM;
    if (err == 0 && tg.lwp->t.cls == CLASS_FSS && !cred_superuser(curcred()))
        err = -EPERM; /* only the superuser can take an LWP out of FSS: see sys_priocntl() */
    if (err == 0)
        err = put_policy_in_force(tg.lwp, policy, prio);
    if (err == 0) {
        tg.lwp->sched_policy = (uint8_t)policy;
        tg.lwp->sched_prio = (uint8_t)prio;
    }
    target_done(&tg);
    return err;
}

long sys_sched_setscheduler(struct regs *r)
{
    enum { SCHED_RESET_ON_FORK = 0x40000000 };
    int policy = (int)r->arg[1];

    if (policy < 0 || (policy & SCHED_RESET_ON_FORK))
        return -EINVAL;
    return set_sched_policy((int)r->arg[0], policy, r->arg[2]);
}

long sys_sched_setparam(struct regs *r)
{
    return set_sched_policy((int)r->arg[0], -1, r->arg[1]);
}

long sys_sched_getscheduler(struct regs *r)
{
    struct target tg;
    int policy, err = target_find(&tg, (int)r->arg[0], false);

    if (err != 0)
        return err;
    policy = tg.lwp->sched_policy;
    target_done(&tg);
    return policy;
}

long sys_sched_getparam(struct regs *r)
{
    struct target tg;
    int prio, err = target_find(&tg, (int)r->arg[0], false);

    if (err != 0)
        return err;
    prio = tg.lwp->sched_prio;
    target_done(&tg);
    return copy_out(r->arg[1], &prio, sizeof prio);
}

/*
 * Returns rt_bound for a real-time policy, 0 for any other policy, -EINVAL if there is no such
 * policy.
 */
static long priority_bound(int policy, int rt_bound)
{
    if (is_rt_policy(policy))
        return rt_bound;
    return check_sched_policy(policy, 0);
}

long sys_sched_get_priority_max(struct regs *r)
{
    return priority_bound((int)r->arg[0], RT_LEVELS);
}

long sys_sched_get_priority_min(struct regs *r)
{
    return priority_bound((int)r->arg[0], 1);
}

/*
 * Stores the time slice: always 100 ms, although TS slices vary; 0 for SCHED_FIFO, which has no
 * time slice.
 */
long sys_sched_rr_get_interval(struct regs *r)
{
    enum { SLICE_NS = 100000000 };
    struct ktime t = {0};
    struct target tg;
    int err = target_find(&tg, (int)r->arg[0], false);

    if (err != 0)
        return err;
    t.nsec = tg.lwp->sched_policy == SCHED_FIFO ? 0 : SLICE_NS;
    target_done(&tg);
    return copy_out(r->arg[1], &t, sizeof t);
}

/* Returns the real user id of p; UINT32_MAX if p has no LWP.  The caller holds proc_lock. */
static uint32_t real_uid(struct proc *p)
{
    return list_empty(&p->lwps) ? UINT32_MAX
                                : list_first(&p->lwps, struct lwp, proc_link)->cred->uid;
}

/*
 * Calls fn(p, l, arg) under proc_lock for each process p that (which, who) of getpriority(2) names.  l is the
 * LWP named, or NULL: all LWPs of p.  0; -ESRCH: no process; -EINVAL: no such `which`.
 */
static int each_process(int which, int who, void (*fn)(struct proc *, struct lwp *, void *),
                        void *arg)
{
    enum { PRIO_PROCESS, PRIO_PGRP, PRIO_USER };
    struct proc *p;
    bool any = false;

    if (which == PRIO_USER) {
        uint32_t uid = who != 0 ? (uint32_t)who : curcred()->uid;

        for (int pid = proc_next(1); pid != 0; pid = proc_next(pid + 1)) {
            spin_lock(&proc_lock);
            p = proc_find(pid);
            if (p != NULL && p->state == PROC_LIVE && real_uid(p) == uid) {
                fn(p, NULL, arg);
                any = true;
            }
            spin_unlock(&proc_lock);
        }
        return any ? 0 : -ESRCH;
    }
    spin_lock(&proc_lock);
    if (which == PRIO_PROCESS) {
        struct lwp *l = who != 0 ? lwp_find(who) : curlwp();

        if (l != NULL) {
            fn(l->proc, l, arg);
            any = true;
        }
    } else if (which == PRIO_PGRP) {
        struct pgrp *pg = who != 0 ? pgrp_find(who) : curproc()->pgrp;

        if (pg != NULL)
            LIST_FOREACH (p, &pg->members, pgrp_link) {
                fn(p, NULL, arg);
                any = true;
            }
    }
    spin_unlock(&proc_lock);
    if (which < PRIO_PROCESS || which > PRIO_USER)
        return -EINVAL;
    return any ? 0 : -ESRCH;
}

static void find_best_nice(struct proc *p, struct lwp *named, void *arg)
{
    int *best = arg;

    *best = min_of(*best, p->nice);
}

/* getpriority(2) returns 20 - nice, which is positive and so cannot be taken for an error. */
long sys_getpriority(struct regs *r)
{
    int best = NICE_MAX + 1;
    int err = each_process((int)r->arg[0], (int)r->arg[1], find_best_nice, &best);

    return err != 0 ? err : 20 - best;
}

struct nice_change {
    int nice, err;
    const struct cred *cr;
    uint64_t limit; /* RLIMIT_NICE: the caller can lower nice to 20 - limit */
};

static void set_process_nice(struct proc *p, struct lwp *named, void *arg)
{
    struct nice_change *nc = arg;
    struct lwp *l;

    if (!proc_may_change_sched(nc->cr, p)) {
        nc->err = -EPERM;
        return;
    }
    if (nc->nice < p->nice && !cred_superuser(nc->cr) && (uint64_t)(20 - nc->nice) > nc->limit) {
        nc->err = -EACCES;
        return;
    }
    p->nice = nc->nice;
    LIST_FOREACH (l, &p->lwps, proc_link)
        if (l->sched_policy == SCHED_OTHER || l->sched_policy == SCHED_BATCH)
            thread_set_nice(&l->t, nc->nice);
}

long sys_setpriority(struct regs *r)
{
    struct nice_change nc = {
        .nice = max_of(min_of((int)r->arg[2], (int)NICE_MAX), (int)NICE_MIN),
        .cr = curcred(),
        .limit = limit(RLIMIT_NICE),
    };
    int err = each_process((int)r->arg[0], (int)r->arg[1], set_process_nice, &nc);

    return err != 0 ? err : nc.err;
}

enum { IOPRIO_WHO_PROCESS = 1 }; /* `which` of ioprio_set(2) is that of getpriority(2) plus 1 */

struct ioprio_change {
    uint16_t prio;
    /*
     * -ESRCH: no LWP was found so far; 0: all LWPs so far were changed; -EPERM: one change was
     * refused, and the other LWPs are skipped
     */
    int err;
    const struct cred *cr;
};

static void set_process_ioprio(struct proc *p, struct lwp *named, void *arg)
{
    struct ioprio_change *ch = arg;
    struct lwp *l;

    LIST_FOREACH (l, &p->lwps, proc_link) {
        uint32_t uid = l->cred->uid;

        if ((named != NULL && l != named) || ch->err == -EPERM)
            continue;
        ch->err = cred_superuser(ch->cr) || ch->cr->euid == uid || ch->cr->uid == uid ? 0 : -EPERM;
        if (ch->err == 0)
            l->ioprio = ch->prio;
    }
}

/*
 * ioprio_set(which, who, prio): 0; -EINVAL: no such class, level or `which`; -EPERM: another user's LWP, or
 * class RT and the caller is not the superuser; -ESRCH.
 */
long sys_ioprio_set(struct regs *r)
{
    struct ioprio_change ch = {.prio = (uint16_t)r->arg[2], .err = -ESRCH, .cr = curcred()};
    uint32_t cls = (uint32_t)r->arg[2] >> IOPRIO_SHIFT,
             data = (uint32_t)r->arg[2] - (cls << IOPRIO_SHIFT);
    int err;

    if (cls == IOPRIO_RT && !cred_superuser(ch.cr))
        return -EPERM;
    if (cls > IOPRIO_IDLE || (cls == IOPRIO_NONE && data != 0) ||
        (cls != IOPRIO_IDLE && data >= IOPRIO_LEVELS))
        return -EINVAL;
    err = each_process((int)(r->arg[0] - IOPRIO_WHO_PROCESS), (int)r->arg[1], set_process_ioprio,
                       &ch);
    return err != 0 ? err : ch.err;
}

static void find_best_ioprio(struct proc *p, struct lwp *named, void *arg)
{
    int *best = arg;
    struct lwp *l;

    if (named != NULL)
        *best = named->ioprio; /* the value that was set, not the effective priority */
    else
        LIST_FOREACH (l, &p->lwps, proc_link)
            *best = min_of(*best, (int)lwp_ioprio(l));
}

/*
 * ioprio_get(which, who): returns the highest priority (the lowest number) of the named LWPs;
 * -EINVAL: no such `which`; -ESRCH.
 */
long sys_ioprio_get(struct regs *r)
{
    int best = INT32_MAX;
    int err = each_process((int)(r->arg[0] - IOPRIO_WHO_PROCESS), (int)r->arg[1], find_best_ioprio,
                           &best);

    if (err != 0)
        return err;
    return best == INT32_MAX ? -ESRCH : best;
}

long sys_getcpu(struct regs *r)
{
    struct cpu *c = this_cpu();
    uint32_t cpu = c->id, node = c->node;
    int err = 0;

    if (r->arg[0] != 0)
        err = copy_out(r->arg[0], &cpu, sizeof cpu);
    if (err == 0 && r->arg[1] != 0)
        err = copy_out(r->arg[1], &node, sizeof node);
    return err;
}
