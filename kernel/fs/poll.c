// SPDX-License-Identifier: MIT
/*
 * poll.c - waiting until one of several files is ready.
 *
 * THEORY      A file that can become ready has a pollhead; poll_wake() on it wakes the pollers queued there.
 *             poll_files() looks at all files once; if none is ready and it may wait, it queues a poller at each,
 *             looks again and sleeps until it is woken, the deadline or a signal.  select(2) is built on it.
 * INVARIANTS  I1  who makes a file ready changes its state, then looks for pollers; who polls queues itself, then
 *                 looks at the state: with a fence between the two steps on both sides one sees the other
 *             I2  an entry is taken off its pollhead before its file's reference is dropped
 * LOCKING     pollhead.lock (RANK_POLL), then poller.lock (RANK_POLLER).
 * SEE ALSO    pipe.c
 */
#include "fs/filepriv.h"

#include "disp/thread.h"
#include "disp/timer.h"
#include "lib/errno.h"
#include "mem/kmem.h"

#define NINLINE 10u /* files that need no memory: most callers have few */

struct poll_entry {
    struct list link; /* on ph->pollers */
    struct pollhead *ph;
    struct poller *poller;
};

struct poller {
    struct spinlock lock; /* guards `woken` */
    struct cv cv;
    bool woken, nomem;
    unsigned n, size; /* entries used, entries there are */
    struct poll_entry *entry;
    struct file **held;
    struct poll_entry entry0[NINLINE];
    struct file *held0[NINLINE];
};

void pollhead_init(struct pollhead *ph)
{
    spin_init(&ph->lock, RANK_POLL);
    list_init(&ph->pollers);
}

void poll_register(struct poller *p, struct pollhead *ph)
{
    struct poll_entry *e;

    if (p->n == p->size) {
        p->nomem = true;
        return;
    }
    e = &p->entry[p->n++];
    e->ph = ph;
    e->poller = p;
    spin_lock(&ph->lock);
    list_push_back(&ph->pollers, &e->link);
    spin_unlock(&ph->lock);
    atomic_thread_fence(memory_order_seq_cst); /* I1 */
}

static void poller_wake(struct poller *p)
{
    spin_lock(&p->lock);
    p->woken = true;
    cv_signal(&p->cv);
    spin_unlock(&p->lock);
}

void poll_wake(struct pollhead *ph)
{
    struct poll_entry *e;

    atomic_thread_fence(memory_order_seq_cst); /* I1 */
    if (likely(__atomic_load_n(&ph->pollers.next, __ATOMIC_RELAXED) == &ph->pollers))
        return;
    spin_lock(&ph->lock);
    LIST_FOREACH (e, &ph->pollers, link)
        poller_wake(e->poller);
    spin_unlock(&ph->lock);
}

static unsigned file_events(struct file *f, struct poller *p)
{
    if (f->ops->poll != NULL)
        return f->ops->poll(f, p);
    return POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM; /* files never keep anybody waiting */
}

/* Takes the entries off their pollheads and drops the files (I2). */
static void poller_leave(struct poller *p, unsigned nheld)
{
    for (unsigned i = 0; i < p->n; i++) {
        struct poll_entry *e = &p->entry[i];

        spin_lock(&e->ph->lock);
        list_remove(&e->link);
        spin_unlock(&e->ph->lock);
    }
    p->n = 0;
    for (unsigned i = 0; i < nheld; i++)
        if (p->held[i] != NULL)
            file_release(p->held[i]);
}

/*
 * One look at every file; with `p` the files are held in p->held and the poller is queued at them.  Ready count.
 * A table that nobody else uses keeps its files open by itself: no reference is needed to look.
 */
static long look(struct fdtable *t, struct pollfd *fds, unsigned n, struct poller *p)
{
    bool own = p == NULL && fdtable_private(t);
    long ready = 0;

    for (unsigned i = 0; i < n; i++) {
        struct file *f = NULL;
        unsigned r = 0;

        if (fds[i].fd >= 0) {
            f = own ? fd_peek(t, fds[i].fd) : fd_get(t, fds[i].fd);
            if (f == NULL)
                r = POLLNVAL;
            else
                r = file_events(f, p) & ((unsigned)fds[i].events | POLLERR | POLLHUP);
        }
        fds[i].revents = (int16_t)r;
        ready += r != 0;
        if (p != NULL)
            p->held[i] = f;
        else if (!own && f != NULL)
            file_release(f);
    }
    return ready;
}

/* The files that `p` holds once more, after a wake-up. */
static long look_again(struct pollfd *fds, unsigned n, struct poller *p)
{
    long ready = 0;

    for (unsigned i = 0; i < n; i++) {
        if (p->held[i] == NULL)
            continue;
        fds[i].revents = (int16_t)(file_events(p->held[i], NULL) &
                                   ((unsigned)fds[i].events | POLLERR | POLLHUP));
        ready += fds[i].revents != 0;
    }
    return ready;
}

/* Sleeps until woken.  0, -EINTR, -ETIMEDOUT. */
static int poller_sleep(struct poller *p, uint64_t deadline)
{
    int err = 0;

    spin_lock(&p->lock);
    while (!p->woken && err == 0)
        err = cv_wait_sig_spin(&p->cv, &p->lock, deadline, "poll");
    p->woken = false;
    spin_unlock(&p->lock);
    return err;
}

static long wait_for(struct fdtable *t, struct pollfd *fds, unsigned n, uint64_t deadline,
                     struct poller *p)
{
    long ready = look(t, fds, n, p);
    int err = p->nomem ? -ENOMEM : 0;

    while (ready == 0 && err == 0) {
        err = poller_sleep(p, deadline);
        ready = look_again(fds, n, p);
    }
    poller_leave(p, n);
    if (ready != 0)
        return ready;
    return err == -ETIMEDOUT ? 0 : err;
}

long poll_files(struct fdtable *t, struct pollfd *fds, unsigned n, uint64_t deadline)
{
    struct poller p;
    long ready = look(t, fds, n, NULL);

    if (ready != 0 || deadline == 0)
        return ready;
    spin_init(&p.lock, RANK_POLLER);
    cv_init(&p.cv);
    p.woken = p.nomem = false;
    p.n = 0;
    p.size = NINLINE;
    p.entry = p.entry0;
    p.held = p.held0;
    if (n <= NINLINE / 2) /* a file may have two pollheads */
        return wait_for(t, fds, n, deadline, &p);
    p.size = 2 * n;
    p.entry = kmem_alloc(p.size * sizeof *p.entry);
    p.held = kmem_alloc(n * sizeof *p.held);
    ready = p.entry == NULL || p.held == NULL ? -ENOMEM : wait_for(t, fds, n, deadline, &p);
    kmem_free(p.entry);
    kmem_free(p.held);
    return ready;
}
