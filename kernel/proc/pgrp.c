// SPDX-License-Identifier: MIT
/*
 * pgrp.c - process groups and sessions, which decide which processes get a terminal's signals.
 *
 * THEORY      A session is the set of processes that one login has started; a process group is one job of it.
 *             A group exists as long as it has members, a session as long as it has groups.
 *             A group is orphaned if no member has a parent in another group of the same session.  Then there
 *             is no shell that could continue the group after a stop.  Therefore the group cannot be stopped
 *             from the keyboard, and stopped members get SIGHUP and SIGCONT when it becomes orphaned (POSIX).
 * INVARIANTS  I7  every process in the tables is in exactly one group, every group in exactly one session
 * LOCKING     proc_lock
 */
#include "proc/proc_impl.h"

#include "lib/errno.h"

struct session *session_new(int sid)
{
    struct session *s = kmem_alloc(sizeof *s);

    if (s != NULL) {
        *s = (struct session){.sid = sid};
        id_hold(sid);
    }
    return s;
}

static void session_drop(struct session *s)
{
    if (--s->refs == 0) {
        id_drop(s->sid);
        kmem_free(s);
    }
}

struct pgrp *pgrp_new(int pgid, struct session *s)
{
    struct pgrp *pg = kmem_alloc(sizeof *pg);

    if (pg == NULL)
        return NULL;
    *pg = (struct pgrp){.pgid = pgid, .session = s};
    s->refs++;
    list_init(&pg->members);
    id_hold(pgid);
    pgrp_hash_add(pg);
    return pg;
}

void pgrp_join(struct proc *p, struct pgrp *pg)
{
    pg->refs++;
    p->pgrp = pg;
    list_push_back(&pg->members, &p->pgrp_link);
}

void pgrp_leave(struct proc *p)
{
    struct pgrp *pg = p->pgrp;

    list_remove(&p->pgrp_link);
    p->pgrp = NULL;
    if (--pg->refs == 0) {
        list_remove(&pg->hash_link);
        session_drop(pg->session);
        id_drop(pg->pgid);
        kmem_free(pg);
    }
}

/*
 * Whether p keeps its group from being orphaned: the parent of p is in another group of the same
 * session [P].
 */
static bool links_group(const struct proc *p)
{
    return p->parent != NULL && p->parent->pgrp != NULL && p->parent->pgrp != p->pgrp &&
           p->parent->pgrp->session == p->pgrp->session;
}

/* Whether pg is orphaned if its member `but` is ignored [P]. */
static bool orphaned_without(struct pgrp *pg, const struct proc *but)
{
    struct proc *p;

    LIST_FOREACH (p, &pg->members, pgrp_link)
        if (p != but && p->state == PROC_LIVE && links_group(p))
            return false;
    return true;
}

bool pgrp_orphaned(struct pgrp *pg)
{
    return orphaned_without(pg, NULL);
}

/* Send SIGHUP and SIGCONT to pg if a member is stopped [P]. */
static void hang_up_if_stopped(struct pgrp *pg)
{
    struct proc *p;

    LIST_FOREACH (p, &pg->members, pgrp_link)
        if (p->stopped && p->state == PROC_LIVE) {
            sig_send_pgrp(pg, SIGHUP, NULL);
            sig_send_pgrp(pg, SIGCONT, NULL);
            return;
        }
}

void pgrp_check_orphans(struct proc *p)
{
    struct proc *c;

    if (links_group(p) && orphaned_without(p->pgrp, p))
        hang_up_if_stopped(p->pgrp);
    LIST_FOREACH (c, &p->children, sibling)
        if (c->pgrp != NULL && c->pgrp != p->pgrp && links_group(c)) {
            bool linked = false;
            struct proc *m;

            LIST_FOREACH (m, &c->pgrp->members, pgrp_link)
                linked |= m->parent != p && m->state == PROC_LIVE && links_group(m);
            if (!linked)
                hang_up_if_stopped(c->pgrp);
        }
}

/* Makes p the leader of a new session with one group.  The session's id, or -ENOMEM [P]. */
static long lead_new_session(struct proc *p)
{
    struct session *s = session_new(p->pid);
    struct pgrp *pg;

    if (s == NULL)
        return -ENOMEM;
    s->refs++; /* this reference is dropped below; the group has a reference of its own */
    pg = pgrp_new(p->pid, s);
    if (pg != NULL) {
        s->leader = p;
        pgrp_check_orphans(p);
        pgrp_leave(p);
        pgrp_join(p, pg);
    }
    session_drop(s);
    return pg != NULL ? p->pid : -ENOMEM;
}

long proc_setsid(void)
{
    struct proc *p = curproc();
    long ret;

    spin_lock(&proc_lock);
    ret = pgrp_find(p->pid) != NULL ? -EPERM : lead_new_session(p);
    spin_unlock(&proc_lock);
    return ret;
}

/* Move p to group `pgid`.  If `pgid` is p's pid, make the group.  0, -ESRCH, -EACCES, -EPERM, -ENOMEM [P]. */
static int setpgid_locked(struct proc *me, struct proc *p, int pgid)
{
    struct pgrp *pg;

    if (p == NULL || p->state != PROC_LIVE || (p != me && p->parent != me))
        return -ESRCH;
    if (p != me && p->has_execed)
        return -EACCES;
    if (p->pgrp->session->leader == p || p->pgrp->session != me->pgrp->session)
        return -EPERM;
    pg = pgrp_find(pgid);
    if (pg == NULL && pgid != p->pid)
        return -EPERM;
    if (pg != NULL && pg->session != p->pgrp->session)
        return -EPERM;
    if (pg == p->pgrp)
        return 0;
    if (pg == NULL)
        pg = pgrp_new(pgid, p->pgrp->session);
    if (pg == NULL)
        return -ENOMEM;
    pgrp_check_orphans(p);
    pgrp_leave(p);
    pgrp_join(p, pg);
    return 0;
}

int proc_setpgid(int pid, int pgid)
{
    struct proc *me = curproc();
    int ret;

    if (pgid < 0)
        return -EINVAL;
    if (pid == 0)
        pid = me->pid;
    spin_lock(&proc_lock);
    ret = setpgid_locked(me, pid == me->pid ? me : proc_find(pid), pgid == 0 ? pid : pgid);
    spin_unlock(&proc_lock);
    return ret;
}

int sig_send_pgrp(struct pgrp *pg, int sig, const struct siginfo *info)
{
    struct proc *p;
    int n = 0;

    LIST_FOREACH (p, &pg->members, pgrp_link)
        if (p->state == PROC_LIVE) {
            sig_send_proc(p, sig, info);
            n++;
        }
    return n;
}
