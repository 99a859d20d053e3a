// SPDX-License-Identifier: MIT
/*
 * wait.c - wait for children that end, stop or continue.
 *
 * THEORY      A child has at most one event of each kind to report: it has ended (until a wait takes it), it
 *             has stopped, or it continues.  The parent scans the children for which it waits.  If none has an event,
 *             the parent sleeps on its child_cv, which notify_parent() wakes.  Every LWP of a process waits for all
 *             children of the process, and for the LWPs that it traces (ptrace.h).
 * LOCKING     A waiting LWP holds proc_lock from the scan until it has taken a zombie, so two waiting LWPs
 *             never get the same zombie.
 */
#include "proc/proc_impl.h"

#include "lib/errno.h"
#include "proc/ptrace.h"

/* Whether argument `pid` of a wait4(2) by process `me` includes child c of `me` [P]. */
static bool wait_pid_covers(const struct proc *c, const struct proc *me, int pid)
{
    if (pid > 0)
        return c->pid == pid;
    if (pid == 0)
        return c->pgrp == me->pgrp;
    return pid == -1 || c->pgrp->pgid == -pid;
}

/* Whether wait4(pid, options) by process `me` includes child c of `me` [P]. */
static bool is_eligible_child(const struct proc *c, const struct proc *me, int pid,
                              unsigned options)
{
    if (!wait_pid_covers(c, me, pid))
        return false;
    return (options & W_ALL) || (c->exit_signal != SIGCHLD) == ((options & W_CLONE) != 0);
}

static void rusage_add(struct rusage_kernel *to, const struct rusage_kernel *add)
{
    to->utime_us += add->utime_us;
    to->stime_us += add->stime_us;
    to->minflt += add->minflt;
    to->majflt += add->majflt;
    to->nvcsw += add->nvcsw;
    to->nivcsw += add->nivcsw;
    to->maxrss_kb = max_of(to->maxrss_kb, add->maxrss_kb);
}

/* Whether `me` traces c, so that stops are reported as events of the tracee and not of the child [P]. */
static bool traces_child(const struct proc *c, const struct proc *me)
{
    const struct lwp *l;

    if (list_empty(&c->lwps))
        return false;
    l = list_first(&c->lwps, struct lwp, proc_link);
    return l->pt != NULL && l->pt->tracer == me;
}

/*
 * Whether c has an event of a kind in `options`.  If so, fills *res and clears the event, unless WNOWAIT [P].
 */
static bool take_news(struct proc *c, unsigned options, struct wait_result *res)
{
    bool take = !(options & WNOWAIT);

    if (c->state == PROC_ZOMBIE && !c->withheld && (options & WEXITED)) {
        res->status = c->exit_status;
        res->code = wait_code(c->exit_status);
    } else if (c->stopped && !c->stop_reported && (options & WSTOPPED) &&
               !traces_child(c, c->parent)) {
        res->status = c->stop_sig << 8 | 0x7f;
        res->code = CLD_STOPPED;
        c->stop_reported = take;
    } else if (c->cont_pending && (options & WCONTINUED)) {
        res->status = 0xffff;
        res->code = CLD_CONTINUED;
        c->cont_pending = !take;
    } else {
        return false;
    }
    res->uid = proc_uid(c);
    rusage_collect(c, &res->ru);
    rusage_add(&res->ru, &c->waited);
    return true;
}

/* The next child of `me` after c (NULL: the first) that wait4(pid, options) includes; NULL: none [P]. */
static struct proc *next_eligible_child(struct proc *me, struct proc *c, int pid, unsigned options)
{
    struct list *l = c == NULL ? me->children.next : c->sibling.next;

    if (pid > 0) { /* only one child; `me` may have thousands */
        c = c == NULL ? proc_find(pid) : NULL;
        return c != NULL && c->parent == me && is_eligible_child(c, me, pid, options) ? c : NULL;
    }
    for (; l != &me->children; l = l->next) {
        c = list_entry(l, struct proc, sibling);
        if (is_eligible_child(c, me, pid, options))
            return c;
    }
    return NULL;
}

long proc_wait(int pid, unsigned options, struct wait_result *res)
{
    struct proc *me = curproc(), *c;
    struct io_counts io;
    bool any;

    spin_lock(&proc_lock);
    for (;;) {
        any = false;
        for (c = NULL; (c = next_eligible_child(me, c, pid, options)) != NULL;) {
            any = true;
            if (!take_news(c, options, res))
                continue;
            pid = c->pid;
            if (c->state != PROC_ZOMBIE || (options & WNOWAIT)) {
                spin_unlock(&proc_lock);
                return pid;
            }
            rusage_add(&me->waited, &res->ru);
            io_collect(c, &io);
            io_counts_add(&me->io_dead, &io);
            proc_unlink(c);
            spin_unlock(&proc_lock);
            proc_release(c);
            return pid;
        }
        if (!list_empty(&me->tracees)) {
            int tid = ptrace_take_news(me, pid, options, res, &any);

            if (tid != 0) {
                spin_unlock(&proc_lock);
                return tid;
            }
        }
        if (!any || (options & WNOHANG)) {
            spin_unlock(&proc_lock);
            return any ? 0 : -ECHILD;
        }
        if (cv_wait_sig_spin(&me->child_cv, &proc_lock, NO_DEADLINE, "wait") != 0) {
            spin_unlock(&proc_lock);
            return -ERESTARTSYS;
        }
    }
}
