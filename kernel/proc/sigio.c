// SPDX-License-Identifier: MIT
/*
 * sigio.c - SIGIO when a file may have become ready.
 *
 * THEORY      An old way to wait for several files: the program sets an owner for each file (F_SETOWN) and O_ASYNC, and
 *             the owner gets SIGIO when there is data or room.  nginx still uses it between its processes.
 *             It works with each file for which poll() can wait, because a record is a poller (vfs/poll.c).  A wake-up
 *             comes with locks held under which no signal can be sent.  So it arms a timer, whose function sends the
 *             signal.  The timer's delay also limits the signals to one in DELAY_NS for all wake-ups of a file.
 *             A wake-up says that the file may be ready, not for what.  So SIGIO can come although nothing is ready,
 *             and carries no information; F_SETSIG, which asks for some, fails.
 *             The owner is stored as a number.  The process's start time shows whether the number is still that
 *             process's.
 * INVARIANTS  I1  the poller is registered only while `on`
 * LOCKING     sigio_mutex guards f->sigio and `on`; s->lock (RANK_POLLER) the owner and the arming of the timer, and is
 *             taken under a pollhead's lock.  The timer's function takes proc_lock after it has released s->lock.
 * SEE ALSO    fcntl(2) of Linux's manual, user/test/t_linux.c
 */
#include "proc/sigio.h"

#include "lib/errno.h"
#include "mem/kmem.h"
#include "mem/usermem.h"
#include "proc/proc.h"
#include "vfs/filepriv.h"

enum { DELAY_NS = 100000 };

struct sigio_owner {
    int id; /* a process, or -1 times a group; 0: none */
    uint64_t start_ns;
    uint32_t uid, euid; /* of the thread that has set the owner */
};

struct sigio {
    struct poller p;
    struct poll_entry entry[2];
    struct timer timer;
    struct spinlock lock;
    struct sigio_owner owner;
    bool on;
    struct usermem *payer; /* [c] */
};

static struct mutex sigio_mutex;

/* Sends SIGIO to p if the owner was set by a thread that may do that.  The caller holds proc_lock. */
static void send_sigio(struct proc *p, const struct sigio_owner *o)
{
    const struct cred *to;

    if (p->state != PROC_LIVE || list_empty(&p->lwps))
        return;
    to = list_first(&p->lwps, struct lwp, proc_link)->cred;
    if (o->euid == 0 || o->euid == to->uid || o->euid == to->suid || o->uid == to->uid ||
        o->uid == to->suid)
        (void)sig_send_proc(p, SIGIO, NULL);
}

/* The timer's function. */
static void fire_sigio(struct timer *t)
{
    struct sigio *s = container_of(t, struct sigio, timer);
    struct sigio_owner o;
    struct pgrp *pg;
    struct proc *p;

    spin_lock(&s->lock);
    o = s->owner;
    spin_unlock(&s->lock);
    spin_lock(&proc_lock);
    if (o.id > 0) {
        p = proc_find(o.id);
        if (p != NULL && p->start_ns == o.start_ns)
            send_sigio(p, &o);
    } else if (o.id < 0) {
        pg = pgrp_find(-o.id);
        if (pg != NULL)
            LIST_FOREACH (p, &pg->members, pgrp_link)
                send_sigio(p, &o);
    }
    spin_unlock(&proc_lock);
}

/* poller.wake; the caller holds the pollhead's lock. */
static void wake_sigio(struct poller *p)
{
    struct sigio *s = container_of(p, struct sigio, p);

    spin_lock(&s->lock);
    if (s->owner.id != 0 && !timer_armed(&s->timer))
        timer_arm(&s->timer, clock_mono_ns() + DELAY_NS, fire_sigio);
    spin_unlock(&s->lock);
}

/*
 * The record of f, which is made if there is none.  NULL: no memory, or the user's limit.  The caller holds
 * sigio_mutex.
 */
static struct sigio *get_sigio(struct file *f)
{
    struct usermem *payer;
    struct sigio *s = f->sigio;

    if (s != NULL)
        return s;
    payer = usermem_charge(sizeof *s);
    if (payer == NULL)
        return NULL;
    s = kmem_zalloc(sizeof *s);
    if (s == NULL) {
        usermem_return(payer, sizeof *s);
        return NULL;
    }
    s->payer = payer;
    s->p = (struct poller){.wake = wake_sigio, .size = array_size(s->entry), .entry = s->entry};
    spin_init(&s->lock, RANK_POLLER);
    f->sigio = s;
    return s;
}

/* Begins or ends the watching of f.  The caller holds sigio_mutex. */
static void switch_sigio(struct file *f, struct sigio *s, bool on)
{
    if (s->on == on)
        return;
    s->on = on;
    if (on) {
        atomic_fetch_or(&f->flags, O_ASYNC);
        (void)file_events(f, &s->p);
    } else {
        atomic_fetch_and(&f->flags, ~(uint32_t)O_ASYNC);
        poller_leave(&s->p);
        timer_cancel(&s->timer);
    }
}

int sigio_set(struct file *f, bool on)
{
    struct sigio *s;

    if (f->ops->poll == NULL)
        return -ENOTTY;
    if (!on && f->sigio == NULL)
        return 0;
    mutex_enter(&sigio_mutex);
    s = get_sigio(f);
    if (s != NULL)
        switch_sigio(f, s, on);
    mutex_exit(&sigio_mutex);
    return s != NULL ? 0 : -ENOMEM;
}

/* Fills in *o for owner `id` and the calling thread.  0, -ESRCH, -EINVAL. */
static int find_sigio_owner(int id, struct sigio_owner *o)
{
    int err = 0;
    struct proc *p;

    *o = (struct sigio_owner){.id = id, .uid = curcred()->uid, .euid = curcred()->euid};
    if (id == INT32_MIN)
        return -EINVAL;
    spin_lock(&proc_lock);
    if (id > 0) {
        p = proc_find(id);
        err = p != NULL ? 0 : -ESRCH;
        if (p != NULL)
            o->start_ns = p->start_ns;
    } else if (id < 0) {
        err = pgrp_find(-id) != NULL ? 0 : -ESRCH;
    }
    spin_unlock(&proc_lock);
    return err;
}

int sigio_set_owner(struct file *f, int id)
{
    struct sigio_owner o;
    struct sigio *s;
    int err = find_sigio_owner(id, &o);

    if (err != 0)
        return err;
    mutex_enter(&sigio_mutex);
    s = get_sigio(f);
    if (s != NULL) {
        spin_lock(&s->lock);
        s->owner = o;
        spin_unlock(&s->lock);
    }
    mutex_exit(&sigio_mutex);
    return s != NULL ? 0 : -ENOMEM;
}

int sigio_owner(struct file *f, int *id)
{
    mutex_enter(&sigio_mutex);
    *id = f->sigio != NULL ? f->sigio->owner.id : 0;
    mutex_exit(&sigio_mutex);
    return 0;
}

void sigio_file_gone(struct file *f)
{
    struct sigio *s = f->sigio;

    poller_leave(&s->p);
    timer_cancel(&s->timer);
    usermem_return(s->payer, sizeof *s);
    kmem_free(s);
}

void sigio_init(void)
{
    mutex_init(&sigio_mutex, SLEEP_SIGIO);
}
