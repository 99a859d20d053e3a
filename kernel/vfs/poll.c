// SPDX-License-Identifier: MIT
/*
 * poll.c - waiting until one of several files is ready.
 *
 * THEORY      A server with many connections cannot sleep in read() on one of them, because data may come on
 *             another.  poll(2) waits for several files at once, until one of them is ready
 *             to be read or written.
 *             A file that can become ready has a pollhead, the list of its pollers; poll_wake() wakes them.
 *             poll_files() first checks all files once.  If no file is ready and the deadline is not 0, it puts a
 *             poller on the list of each file, checks again, and sleeps until a wake-up, the deadline or a signal.
 *             select(2) is built on poll_files().  epoll.c makes pollers with a wake function of its own.
 *             A wake-up visits all pollers of the file with interrupts off.  So an ordinary user cannot add a poller to
 *             a list that has USER_POLLERS; otherwise its wake-ups could delay the real-time threads of other users.
 *             But one user can fill the list of a FIFO or a terminal that others use, too.  So each user may have
 *             USER_SHARE pollers in any case.  A `common` list has no limit, because all users of the machine have
 *             pollers there.
 * INVARIANTS  I1  no wake-up is lost.  The thread that makes a file ready changes the file's state, then looks
 *                 for pollers.  The thread that polls puts its poller on the list, then looks at the state.
 *                 Each thread has a full fence between its two steps, so at least one of them sees the
 *                 other's first step
 *             I2  an entry is taken off its pollhead before the reference to its file is dropped
 * LOCKING     pollhead.lock (RANK_POLL) is held when wake() is called.  waiting.lock (RANK_POLLER) is taken
 *             after pollhead.lock.
 * SEE ALSO    pipe.c, epoll.c
 */
#include "vfs/filepriv.h"

#include "disp/thread.h"
#include "disp/timer.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "mem/usermem.h"

enum { ALWAYS = POLLERR | POLLHUP | POLLNVAL }; /* events that are reported even if not requested */

enum {
    USER_POLLERS = 1024, /* a wake-up of so many takes a fraction of a millisecond */
    USER_SHARE = 32
};

#define NINLINE 10u /* entries on the stack: most callers wait for few files */

/* One thread in poll_files(). */
struct poll_wait {
    struct poller p;
    struct spinlock lock; /* guards `woken` */
    struct cv cv;
    bool woken;
    struct file **held; /* the file of each struct pollfd, with a reference, or NULL */
    struct poll_entry entry0[NINLINE];
    struct file *held0[NINLINE];
};

void pollhead_init(struct pollhead *ph)
{
    spin_init(&ph->lock, RANK_POLL);
    list_init(&ph->pollers);
    ph->npollers = 0;
    ph->common = false;
}

/* Whether an ordinary user may add a poller to a list, which the caller has locked. */
static bool poll_room(const struct pollhead *ph, uint32_t uid)
{
    const struct poll_entry *e;
    unsigned n = 0;

    if (ph->npollers < USER_POLLERS || ph->common)
        return true;
    LIST_FOREACH (e, &ph->pollers, link)
        if (e->uid == uid && ++n == USER_SHARE)
            return false;
    return true;
}

void poll_register(struct poller *p, struct pollhead *ph)
{
    struct poll_entry *e;
    bool room;

    if (p->n == p->size) {
        p->nomem = true;
        return;
    }
    e = &p->entry[p->n];
    e->ph = ph;
    e->poller = p;
    e->uid = proc_cred()->euid;
    spin_lock(&ph->lock);
    room = poll_room(ph, e->uid) || proc_is_superuser();
    if (room) {
        list_push_back(&ph->pollers, &e->link);
        ph->npollers++;
    }
    spin_unlock(&ph->lock);
    p->n += room;
    p->nomem |= !room;
    atomic_thread_fence(memory_order_seq_cst); /* I1 */
}

/* poller.wake of a thread in poll_files(). */
static void wake_polling_thread(struct poller *p)
{
    struct poll_wait *w = container_of(p, struct poll_wait, p);

    spin_lock(&w->lock);
    w->woken = true;
    cv_signal(&w->cv);
    spin_unlock(&w->lock);
}

static __attribute__((noinline)) void wake_pollers(struct pollhead *ph)
{
    struct poll_entry *e;

    spin_lock(&ph->lock);
    LIST_FOREACH (e, &ph->pollers, link)
        e->poller->wake(e->poller);
    spin_unlock(&ph->lock);
}

void poll_wake(struct pollhead *ph)
{
    atomic_thread_fence(memory_order_seq_cst); /* I1 */
    if (unlikely(__atomic_load_n(&ph->pollers.next, __ATOMIC_RELAXED) != &ph->pollers))
        wake_pollers(ph);
}

unsigned file_events(struct file *f, struct poller *p)
{
    if (f->ops->poll != NULL)
        return f->ops->poll(f, p);
    if (atomic_load_explicit(&f->flags, memory_order_relaxed) & O_PATH)
        return POLLNVAL;
    return POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM; /* a regular file is always ready */
}

void poller_leave(struct poller *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        struct poll_entry *e = &p->entry[i];

        spin_lock(&e->ph->lock);
        list_remove(&e->link);
        e->ph->npollers--;
        spin_unlock(&e->ph->lock);
    }
    p->n = 0;
}

/* Takes the entries off their pollheads and drops the files (I2). */
static void release_polled_files(struct poll_wait *w, unsigned nheld)
{
    poller_leave(&w->p);
    for (unsigned i = 0; i < nheld; i++)
        if (w->held[i] != NULL)
            file_release(w->held[i]);
}

/*
 * Checks every file once, and returns the number of ready files.  If w is not NULL, also registers
 * w's poller with each file, and keeps a reference to each file in w->held.  If w is NULL, the
 * files of a private table need no references, because only this thread could close them.
 */
static long scan_pollfds(struct fdtable *t, struct pollfd *fds, unsigned n, struct poll_wait *w)
{
    bool own = w == NULL && fdtable_private(t);
    long ready = 0;

    for (unsigned i = 0; i < n; i++) {
        struct file *f = NULL;
        unsigned r = 0;

        if (fds[i].fd >= 0) {
            f = own ? fd_peek(t, fds[i].fd) : fd_get(t, fds[i].fd);
            if (f == NULL)
                r = POLLNVAL;
            else
                r = file_events(f, w != NULL ? &w->p : NULL) & ((unsigned)fds[i].events | ALWAYS);
        }
        fds[i].revents = (int16_t)r;
        ready += r != 0;
        if (w != NULL)
            w->held[i] = f;
        else if (!own && f != NULL)
            file_release(f);
    }
    return ready;
}

/* Checks the files in w->held again after a wake-up.  Returns the number of ready files. */
static long rescan_pollfds(struct pollfd *fds, unsigned n, struct poll_wait *w)
{
    long ready = 0;

    for (unsigned i = 0; i < n; i++) {
        if (w->held[i] == NULL)
            continue;
        fds[i].revents =
            (int16_t)(file_events(w->held[i], NULL) & ((unsigned)fds[i].events | ALWAYS));
        ready += fds[i].revents != 0;
    }
    return ready;
}

/* Sleeps until woken.  0, -EINTR, -ETIMEDOUT. */
static int sleep_until_polled(struct poll_wait *w, uint64_t deadline)
{
    int err = 0;

    spin_lock(&w->lock);
    while (!w->woken && err == 0)
        err = cv_wait_sig_spin(&w->cv, &w->lock, deadline, "poll");
    w->woken = false;
    spin_unlock(&w->lock);
    return err;
}

/* The part of poll_files() that may sleep; w is initialised. */
static long wait_for_pollfds(struct fdtable *t, struct pollfd *fds, unsigned n, uint64_t deadline,
                             struct poll_wait *w)
{
    long ready = scan_pollfds(t, fds, n, w);
    int err = w->p.nomem ? -ENOMEM : 0;

    while (ready == 0 && err == 0) {
        err = sleep_until_polled(w, deadline);
        ready = rescan_pollfds(fds, n, w);
    }
    release_polled_files(w, n);
    if (ready != 0)
        return ready;
    return err == -ETIMEDOUT ? 0 : err;
}

long poll_files(struct fdtable *t, struct pollfd *fds, unsigned n, uint64_t deadline)
{
    struct poll_wait w;
    long ready = scan_pollfds(t, fds, n, NULL);

    if (ready != 0 || deadline == 0)
        return ready;
    w.p = (struct poller){.wake = wake_polling_thread, .size = NINLINE, .entry = w.entry0};
    spin_init(&w.lock, RANK_POLLER);
    cv_init(&w.cv);
    w.woken = false;
    w.held = w.held0;
    if (n <= NINLINE / 2) /* each file may need two entries */
        return wait_for_pollfds(t, fds, n, deadline, &w);
    w.p.size = 2 * n;
    w.p.entry = kmem_alloc(w.p.size * sizeof *w.p.entry);
    w.held = kmem_alloc(n * sizeof *w.held);
    ready =
        w.p.entry == NULL || w.held == NULL ? -ENOMEM : wait_for_pollfds(t, fds, n, deadline, &w);
    kmem_free(w.p.entry);
    kmem_free(w.held);
    return ready;
}
