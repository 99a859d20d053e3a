// SPDX-License-Identifier: MIT
/*
 * timerfd.c - a timer that is an open file.
 *
 * THEORY      A read waits until the timer has expired, and returns how often it has since the last read.  So a
 *             thread can wait in poll() or epoll for a time and for files at once.
 *             The timer's function only marks the timer as expired.  A read counts the intervals that have passed,
 *             and arms the timer for the next one (ctimer.c).  Before that it waits for the end of the timer's
 *             function (timer_cancel).  Otherwise a thread that reads quickly could arm the timer again and again on
 *             the CPU on which this function runs, and keep that CPU in its interrupt handler.
 * INVARIANTS  I1  the timer is armed only while `set` and not `expired`
 *             I2  a read whose copy fails reports nothing
 * LOCKING     tf->lock, a mutex: one read or change of the setting at a time.  tf->state (RANK_EVENT) is taken after
 *             it, and in interrupt context; it guards `ct`, `expired` and `canceled`.  poll reads the two flags without
 *             it.
 * SEE ALSO    eventfd.c, timerfd_create(2) of Linux's manual, user/test/t_event.c
 */
#include "ipc/event.h"

#include "disp/sync.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "mem/usermem.h"

struct timerfd {
    struct clock_timer ct;
    struct mutex lock;
    struct spinlock state;
    enum ctimer_clock clock; /* [c] */
    bool cancel;             /* TFD_TIMER_CANCEL_ON_SET */
    bool expired, canceled;  /* since the last read */
    struct cv cv;
    struct pollhead ph;
    struct usermem *payer; /* [c] */
};

static const struct fileops timerfd_ops;

static void wake_timerfd(struct timerfd *tf)
{
    cv_broadcast(&tf->cv);
    poll_wake(&tf->ph);
}

/* The timer's function. */
static void expire_timerfd(struct timer *t)
{
    struct timerfd *tf = container_of(t, struct timerfd, ct.timer);

    spin_lock(&tf->state);
    tf->expired = ctimer_passed(&tf->ct) != 0;
    if (tf->ct.set && !tf->expired)
        ctimer_arm(&tf->ct, expire_timerfd, 0); /* the time of day was just set back */
    spin_unlock(&tf->state);
    wake_timerfd(tf);
}

/* clock_timer.clock_set: the deadline has another place on the clock that does not jump. */
static void move_timerfd(struct clock_timer *ct)
{
    struct timerfd *tf = container_of(ct, struct timerfd, ct);
    bool wake;

    spin_lock(&tf->state);
    if (ct->set && !tf->expired)
        ctimer_arm(ct, expire_timerfd, 0);
    wake = tf->cancel;
    tf->canceled |= wake;
    spin_unlock(&tf->state);
    if (wake)
        wake_timerfd(tf);
}

/*
 * Reports expiries to the reader.  8; 0: there is nothing to report; -ECANCELED, -EFAULT.  The caller holds tf->lock,
 * so the deadline of an expired timer does not change.
 */
static long report_expiries(struct timerfd *tf, struct uio *uio)
{
    uint64_t n;
    bool canceled;

    spin_lock(&tf->state);
    canceled = tf->canceled;
    if (canceled) { /* as on Linux, an expiry is forgotten too, and a periodic timer that had expired ends */
        tf->ct.set = tf->ct.set && !tf->expired;
        tf->canceled = tf->expired = false;
    }
    spin_unlock(&tf->state);
    if (canceled)
        return -ECANCELED;
    if (!tf->expired)
        return 0;
    timer_cancel(&tf->ct.timer); /* not armed (I1), but its function may still run */
    n = max_of(ctimer_passed(&tf->ct),
               (uint64_t)1); /* 0: the time of day was set back after the expiry */
    if (uio_move(&n, sizeof n, uio) != 0)
        return -EFAULT; /* I2 */
    spin_lock(&tf->state);
    tf->expired = false;
    if (tf->ct.interval_ns != 0) {
        tf->ct.deadline_ns += n * tf->ct.interval_ns;
        ctimer_arm(&tf->ct, expire_timerfd, 0);
    } else {
        tf->ct.set = false;
    }
    spin_unlock(&tf->state);
    return sizeof n;
}

static long timerfd_read(struct file *f, struct uio *uio, loff_t off)
{
    struct timerfd *tf = f->data;
    long n = 0;

    if (uio->resid < sizeof(uint64_t))
        return -EINVAL;
    while (n == 0) {
        int err = 0;

        spin_lock(&tf->state);
        while (!tf->expired && !tf->canceled && err == 0) {
            if (f->flags & O_NONBLOCK)
                err = -EAGAIN;
            else if (cv_wait_sig_spin(&tf->cv, &tf->state, NO_DEADLINE, "timerfd") != 0)
                err = -ERESTARTSYS;
        }
        spin_unlock(&tf->state);
        if (err != 0)
            return err;
        mutex_enter(&tf->lock);
        n = report_expiries(tf, uio);
        mutex_exit(&tf->lock);
    }
    return n;
}

static unsigned timerfd_poll(struct file *f, struct poller *p)
{
    struct timerfd *tf = f->data;

    if (p != NULL)
        poll_register(p, &tf->ph);
    return tf->expired || tf->canceled ? POLLIN | POLLRDNORM : 0;
}

/* Stops the timer, so that nothing arms it.  The caller holds tf->lock, or is the last user of tf. */
static void stop_timerfd(struct timerfd *tf)
{
    spin_lock(&tf->state);
    tf->ct.set = tf->cancel = false;
    spin_unlock(&tf->state);
    ctimer_unwatch(&tf->ct);
    timer_cancel(&tf->ct.timer);
}

static void read_timerfd_setting(struct timerfd *tf, struct timerfd_setting *s)
{
    spin_lock(&tf->state);
    s->value_ns = ctimer_left(&tf->ct);
    s->interval_ns = tf->ct.interval_ns;
    spin_unlock(&tf->state);
}

int timerfd_set(struct file *f, bool absolute, bool cancel, const struct timerfd_setting *new,
                struct timerfd_setting *old)
{
    struct timerfd *tf = f->data;
    struct clock_timer *ct = &tf->ct;

    if (f->ops != &timerfd_ops)
        return -EINVAL;
    mutex_enter(&tf->lock);
    read_timerfd_setting(tf, old);
    stop_timerfd(tf);
    if (new->value_ns != 0 && absolute && tf->clock == CTIMER_REAL)
        ctimer_watch(ct); /* before it is armed, so that no change of the time of day is missed */
    spin_lock(&tf->state);
    tf->expired = tf->canceled = false;
    ctimer_set(ct, tf->clock, absolute, new->value_ns, new->interval_ns);
    tf->cancel = cancel && ct->set && ct->real;
    if (ct->set)
        ctimer_arm(ct, expire_timerfd, 0);
    spin_unlock(&tf->state);
    mutex_exit(&tf->lock);
    return 0;
}

int timerfd_get(struct file *f, struct timerfd_setting *now)
{
    if (f->ops != &timerfd_ops)
        return -EINVAL;
    read_timerfd_setting(f->data, now);
    return 0;
}

static void timerfd_close(struct file *f)
{
    struct timerfd *tf = f->data;

    stop_timerfd(tf);
    usermem_return(tf->payer, sizeof *tf);
    kmem_free(tf);
}

static const struct fileops timerfd_ops = {
    .read = timerfd_read,
    .poll = timerfd_poll,
    .close = timerfd_close,
    .kind = "anon_inode:[timerfd]",
    .type = VANON,
};

int timerfd_create(enum ctimer_clock clock, unsigned flags, struct file **out)
{
    struct usermem *payer = usermem_charge(sizeof(struct timerfd));
    struct timerfd *tf;

    if (payer == NULL)
        return -ENFILE;
    tf = kmem_zalloc(sizeof *tf);
    *out = tf != NULL ? file_alloc(&timerfd_ops, NULL, O_RDWR | flags) : NULL;
    if (*out == NULL) {
        usermem_return(payer, sizeof *tf);
        kmem_free(tf);
        return -ENFILE;
    }
    mutex_init(&tf->lock, SLEEP_EVENT);
    spin_init(&tf->state, RANK_EVENT);
    cv_init(&tf->cv);
    pollhead_init(&tf->ph);
    list_init(&tf->ct.watch);
    tf->ct.clock_set = move_timerfd;
    tf->clock = clock;
    tf->payer = payer;
    (*out)->data = tf;
    return 0;
}
