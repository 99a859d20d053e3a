// SPDX-License-Identifier: MIT
/*
 * tty_job.c - job control: which session owns a terminal, and which of its processes may use it.
 *
 * THEORY      A session has at most one controlling terminal, and a terminal has at most one session.  One
 *             process group of the session is in the foreground.  The characters of ISIG send their signals
 *             to this group, and only processes of this group can read.
 *             If a process in the background reads, its whole group gets SIGTTIN.  If the process
 *             changes settings (or writes, with TOSTOP), the group gets SIGTTOU.  The call then
 *             ends with -ERESTARTSYS: the process stops, and when it continues in the foreground,
 *             the call is repeated.
 *             A group gets -EIO instead if it is orphaned, because no shell could put it in the foreground
 *             again.  A reader that blocks or ignores SIGTTIN gets -EIO, too.
 *             The terminal stores only the id of the foreground group.  If that group no longer exists, the
 *             search for the id finds no group.
 * INVARIANTS  J1  t->session == s  iff  s->tty == t
 *             J2  a terminal with a session is not freed: when its other end closes, `gone` is set and the
 *                 session is removed before the hold is dropped; a terminal with `gone` set gets no session
 * LOCKING     [p] proc_lock guards the relations; tty->lock or the lock of the signal handlers is taken under it
 * SEE ALSO    tty.h, credentials(7), tests/test_tty.py
 */
#include "lib/errno.h"
#include "proc/proc.h"
#include "tty/tty.h"

enum {
    TIOCSCTTY = 0x540e,
    TIOCGPGRP = 0x540f,
    TIOCSPGRP = 0x5410,
    TIOCNOTTY = 0x5422,
    TIOCGSID = 0x5429,
};

/*
 * The foreground group of t; NULL: t has no foreground group, or the group no longer exists.  The
 * caller holds proc_lock.
 */
static struct pgrp *foreground_pgrp(struct tty *t)
{
    struct pgrp *pg = t->fg_pgid != 0 ? pgrp_find(t->fg_pgid) : NULL;

    return pg != NULL && pg->session == t->session ? pg : NULL;
}

void tty_signal(struct tty *t, int sig)
{
    struct pgrp *pg;

    spin_lock(&proc_lock);
    pg = foreground_pgrp(t);
    if (pg != NULL)
        sig_send_pgrp(pg, sig, NULL);
    spin_unlock(&proc_lock);
}

/* Whether the caller blocks or ignores `sig`. */
static bool signal_refused(int sig)
{
    struct sighand *sh = curproc()->sig;
    bool r;

    spin_lock(&sh->lock);
    r = (curlwp()->sigmask & SIGBIT(sig)) != 0 || sh->act[sig - 1].handler == SIG_IGN;
    spin_unlock(&sh->lock);
    return r;
}

/*
 * Returns 0 if the caller is in the foreground group of t, or t is not the caller's terminal.
 * Otherwise sends `sig` to the caller's group and returns -ERESTARTSYS.  `refused_err` is the
 * result if the caller blocks or ignores `sig`.
 * -EIO: the caller's group is orphaned.
 */
static int check_foreground(struct tty *t, int sig, int refused_err)
{
    struct proc *p = curproc();
    int err = 0;

    spin_lock(&proc_lock);
    if (p->pgrp->session->tty == t && t->fg_pgid != 0 && p->pgrp->pgid != t->fg_pgid) {
        if (signal_refused(sig)) {
            err = refused_err;
        } else if (pgrp_orphaned(p->pgrp)) {
            err = -EIO;
        } else {
            sig_send_pgrp(p->pgrp, sig, NULL);
            err = -ERESTARTSYS;
        }
    }
    spin_unlock(&proc_lock);
    return err;
}

int tty_check_read(struct tty *t)
{
    return check_foreground(t, SIGTTIN, -EIO);
}

int tty_check_change(struct tty *t)
{
    return check_foreground(t, SIGTTOU, 0);
}

struct tty *tty_controlling(void)
{
    struct tty *t;

    spin_lock(&proc_lock);
    t = curproc()->pgrp->session->tty;
    if (t != NULL && tty_hold(t) != 0)
        t = NULL;
    spin_unlock(&proc_lock);
    return t;
}

static bool tty_gone(struct tty *t)
{
    bool gone;

    spin_lock(&t->lock);
    gone = t->gone;
    spin_unlock(&t->lock);
    return gone;
}

int tty_acquire(struct tty *t, bool steal)
{
    struct proc *p = curproc();
    struct session *s;
    int err = 0;

    spin_lock(&proc_lock);
    s = p->pgrp->session;
    if (s->leader == p && s->tty == t) {
        /* the session has this terminal already */
    } else if (s->leader != p || s->tty != NULL || (t->session != NULL && !steal)) {
        err = -EPERM;
    } else if (tty_gone(t)) {
        err = -EIO; /* J2 */
    } else {
        if (t->session != NULL)
            t->session->tty = NULL;
        s->tty = t; /* J1 */
        t->session = s;
        t->fg_pgid = p->pgrp->pgid;
    }
    spin_unlock(&proc_lock);
    return err;
}

/* Separate t from its session, and send SIGHUP and SIGCONT to the foreground group.  The caller holds proc_lock. */
static void detach_tty_session(struct tty *t)
{
    struct pgrp *pg = foreground_pgrp(t);

    if (pg != NULL) {
        sig_send_pgrp(pg, SIGHUP, NULL);
        sig_send_pgrp(pg, SIGCONT, NULL);
    }
    t->session->tty = NULL; /* J1 */
    t->session = NULL;
    t->fg_pgid = 0;
}

void tty_session_hangup(struct tty *t)
{
    struct session *s;

    spin_lock(&proc_lock);
    s = t->session;
    if (s != NULL) {
        if (s->leader != NULL) {
            sig_send_proc(s->leader, SIGHUP, NULL);
            sig_send_proc(s->leader, SIGCONT, NULL);
        }
        detach_tty_session(t);
    }
    spin_unlock(&proc_lock);
}

void tty_leader_exit(struct session *s)
{
    struct tty *t;

    spin_lock(&proc_lock);
    t = s->tty;
    if (t != NULL) {
        detach_tty_session(t);
        if (tty_hold(t) != 0)
            t = NULL; /* master_close() hangs up the terminal */
    }
    spin_unlock(&proc_lock);
    if (t != NULL) {
        tty_hangup(t);
        tty_drop(t);
    }
}

/*
 * tcsetpgrp(3): make group `pgid` the foreground group.  0, -EINVAL, -ENOTTY, -ESRCH, -EPERM, or an error of
 * tty_check_change().
 */
static int set_foreground(struct tty *t, int pgid)
{
    const struct pgrp *pg;
    int err = tty_check_change(t);

    if (err != 0)
        return err;
    if (pgid < 0)
        return -EINVAL;
    spin_lock(&proc_lock);
    pg = pgrp_find(pgid);
    if (curproc()->pgrp->session->tty != t)
        err = -ENOTTY;
    else if (pg == NULL)
        err = -ESRCH;
    else if (pg->session != t->session)
        err = -EPERM;
    else
        t->fg_pgid = pgid;
    spin_unlock(&proc_lock);
    return err;
}

long tty_job_ioctl(struct tty *t, unsigned cmd, uint64_t arg)
{
    struct session *s;
    int32_t id = -1;
    bool leader;

    switch (cmd) {
    case TIOCSCTTY:
        return tty_acquire(t, arg == 1 && cred_superuser(curcred()));
    case TIOCSPGRP:
        return copy_in(&id, arg, sizeof id) != 0 ? -EFAULT : set_foreground(t, id);
    case TIOCGPGRP:
    case TIOCGSID:
        spin_lock(&proc_lock);
        s = curproc()->pgrp->session;
        if (s->tty == t)
            id = cmd == TIOCGSID ? s->sid : t->fg_pgid;
        spin_unlock(&proc_lock);
        return id < 0 ? -ENOTTY : copy_out(arg, &id, sizeof id);
    case TIOCNOTTY:
        spin_lock(&proc_lock);
        s = curproc()->pgrp->session;
        leader = s->leader == curproc() && s->tty == t;
        if (leader)
            detach_tty_session(t);
        spin_unlock(&proc_lock);
        return leader ? 0 : -ENOTTY;
    default:
        return -ENOTTY;
    }
}
