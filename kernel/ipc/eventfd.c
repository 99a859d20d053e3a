// SPDX-License-Identifier: MIT
/*
 * eventfd.c - a counter that is an open file.
 *
 * THEORY      Threads wake each other with it, and a thread can wait in poll() or epoll for such a wake-up and for
 *             other files at once.  A write adds a number to the counter; it waits while the counter would reach
 *             UINT64_MAX.  A read waits until the counter is not 0, and takes all of it, or 1 from a semaphore.
 * INVARIANTS  I1  count <= COUNT_MAX
 *             I2  a read or write whose copy fails does not change the counter
 * LOCKING     e->lock guards `count`.  It is a mutex because copying from and to programs can fault.  poll reads
 *             `count` without it.
 * SEE ALSO    timerfd.c, eventfd(2) of Linux's manual, user/test/t_event.c
 */
#include "ipc/event.h"

#include "disp/sync.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "mem/usermem.h"

#define COUNT_MAX (UINT64_MAX - 1)

struct eventfd {
    struct mutex lock;
    _Atomic uint64_t count;
    bool semaphore; /* [c] */
    struct cv rcv, wcv;
    struct pollhead ph;
    struct usermem *payer; /* [c] */
};

/* Waits on cv, with e->lock.  0: woken; -EAGAIN: f is non-blocking; -ERESTARTSYS: a signal came. */
static int wait_for_eventfd(struct eventfd *e, struct file *f, struct cv *cv)
{
    if (f->flags & O_NONBLOCK)
        return -EAGAIN;
    return cv_wait_sig(cv, &e->lock, NO_DEADLINE, "eventfd") != 0 ? -ERESTARTSYS : 0;
}

static long eventfd_read(struct file *f, struct uio *uio, loff_t off)
{
    struct eventfd *e = f->data;
    uint64_t n;
    int err = 0;

    if (uio->resid < sizeof n)
        return -EINVAL;
    mutex_enter(&e->lock);
    while (e->count == 0 && err == 0)
        err = wait_for_eventfd(e, f, &e->rcv);
    n = e->semaphore ? 1 : e->count;
    if (err == 0)
        err = uio_move(&n, sizeof n, uio);
    if (err == 0)
        e->count -= n;
    mutex_exit(&e->lock);
    if (err != 0)
        return err;
    cv_broadcast(&e->wcv);
    poll_wake(&e->ph);
    return sizeof n;
}

static long eventfd_write(struct file *f, struct uio *uio, loff_t off)
{
    struct eventfd *e = f->data;
    uint64_t n;
    int err;

    if (uio->resid < sizeof n)
        return -EINVAL;
    err = uio_move(&n, sizeof n, uio);
    if (err != 0)
        return err;
    if (n > COUNT_MAX)
        return -EINVAL;
    mutex_enter(&e->lock);
    while (n > COUNT_MAX - e->count && err == 0)
        err = wait_for_eventfd(e, f, &e->wcv);
    if (err == 0)
        e->count += n; /* I1 */
    mutex_exit(&e->lock);
    if (err != 0)
        return err;
    cv_broadcast(&e->rcv);
    poll_wake(&e->ph);
    return sizeof n;
}

static unsigned eventfd_poll(struct file *f, struct poller *p)
{
    struct eventfd *e = f->data;
    uint64_t n;

    if (p != NULL)
        poll_register(p, &e->ph);
    n = e->count;
    return (n != 0 ? POLLIN | POLLRDNORM : 0) | (n < COUNT_MAX ? POLLOUT | POLLWRNORM : 0);
}

static void eventfd_close(struct file *f)
{
    struct eventfd *e = f->data;

    usermem_return(e->payer, sizeof *e);
    kmem_free(e);
}

static const struct fileops eventfd_ops = {
    .read = eventfd_read,
    .write = eventfd_write,
    .poll = eventfd_poll,
    .close = eventfd_close,
    .kind = "anon_inode:[eventfd]",
    .type = VANON,
};

int eventfd_create(uint64_t count, bool semaphore, unsigned flags, struct file **out)
{
    struct usermem *payer = usermem_charge(sizeof(struct eventfd));
    struct eventfd *e;

    if (payer == NULL)
        return -ENFILE;
    e = kmem_zalloc(sizeof *e);
    *out = e != NULL ? file_alloc(&eventfd_ops, NULL, O_RDWR | flags) : NULL;
    if (*out == NULL) {
        usermem_return(payer, sizeof *e);
        kmem_free(e);
        return -ENFILE;
    }
    mutex_init(&e->lock, SLEEP_EVENT);
    cv_init(&e->rcv);
    cv_init(&e->wcv);
    pollhead_init(&e->ph);
    e->count = count;
    e->semaphore = semaphore;
    e->payer = payer;
    (*out)->data = e;
    return 0;
}
