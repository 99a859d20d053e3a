// SPDX-License-Identifier: MIT
/*
 * tty.c - terminals as open files: reading, writing, polling, hanging up.
 *
 * THEORY      A read waits until the line discipline has input for it.  In canonical mode this
 *             input is a line; in raw mode it is VMIN bytes, or the bytes that came before VTIME
 *             expired.  The read copies the input in pieces through a small buffer, because user
 *             memory must not be accessed under a spin lock.  A write processes bytes while the
 *             driver has space, and sleeps when the driver has no space.
 *             A hang-up makes all open files of the terminal dead.  Each file has the terminal's
 *             generation in f->off (a terminal has no file position).  A file of an earlier
 *             generation reads end of file.
 * LOCKING     as in tty.h
 * SEE ALSO    tty.h, docs/devices.md
 */
#include "tty/tty.h"
#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "proc/proc.h"

enum { COPY = 256, VTIME_UNIT_NS = 100000000, HOLD_CELLS = 4096 };

static const uint8_t default_cc[NCCS] = {
    [VINTR] = 3,     [VQUIT] = 28,   [VERASE] = 127, [VKILL] = 21, [VEOF] = 4,
    [VMIN] = 1,      [VSTART] = 17,  [VSTOP] = 19,   [VSUSP] = 26, [VREPRINT] = 18,
    [VDISCARD] = 15, [VWERASE] = 23, [VLNEXT] = 22,
};

void tty_setup(struct tty *t, const struct tty_driver *drv, void *data, uint64_t rdev,
               uint16_t *ring, uint32_t size, bool raw)
{
    memset(t, 0, sizeof *t);
    spin_init(&t->lock, RANK_TTY);
    t->drv = drv;
    t->drv_data = data;
    t->rdev = rdev;
    t->ring = ring;
    t->size = size;
    t->win = (struct winsize){.rows = 24, .cols = 80};
    t->tio.cflag = B115200 | CS8 | CREAD | HUPCL | CLOCAL;
    memcpy(t->tio.cc, default_cc, sizeof default_cc);
    if (!raw) {
        t->tio.iflag = ICRNL | IXON | IUTF8;
        t->tio.oflag = OPOST | ONLCR;
        t->tio.lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN;
    }
    cv_init(&t->readers);
    cv_init(&t->writers);
    pollhead_init(&t->poll);
}

static struct tty *tty_of(struct file *f)
{
    return f->data;
}

int tty_hold(struct tty *t)
{
    int err = 0;

    spin_lock(&t->lock);
    if (t->gone)
        err = -EIO;
    else
        t->opens++;
    spin_unlock(&t->lock);
    return err;
}

bool tty_refuses(const struct tty *t)
{
    return t->exclusive && !cred_superuser(curcred());
}

/* Whether the terminal was hung up since `f` was opened.  The caller holds t->lock. */
static bool is_hung_up(struct tty *t, struct file *f)
{
    return t->gone || (f->off != TTY_IMMORTAL && f->off != t->generation);
}

void tty_receive(struct tty *t, const char *buf, size_t n)
{
    while (n > 0) {
        /* cells that editing has visited: limits the time with interrupts off */
        uint32_t walked = 0;
        int sig = 0;

        spin_lock(&t->lock);
        while (n > 0 && sig == 0 && walked < HOLD_CELLS) {
            walked += t->head - t->canon;
            sig = tty_input_byte(t, (uint8_t)*buf++);
            n--;
        }
        if (tty_input_ready(t) > 0 || sig != 0) {
            cv_broadcast(&t->readers);
            poll_wake(&t->poll);
        }
        spin_unlock(&t->lock);
        if (sig != 0)
            tty_signal(t, sig);
    }
}

void tty_writable(struct tty *t)
{
    spin_lock(&t->lock);
    cv_broadcast(&t->writers);
    poll_wake(&t->poll);
    spin_unlock(&t->lock);
}

void tty_hangup(struct tty *t)
{
    spin_lock(&t->lock);
    t->generation++;
    t->exclusive = false;
    tty_input_discard(t);
    if (t->gone)
        tty_output_discard(t); /* no reader is left; if the line still works, the output is sent */
    tty_set_stopped(t, false);
    cv_broadcast(&t->readers);
    cv_broadcast(&t->writers);
    poll_wake(&t->poll);
    spin_unlock(&t->lock);
}

/*
 * Wait until there is input.  The caller holds t->lock.  `deadline` is the end of VTIME, or NO_DEADLINE.
 * Returns 1: there is input; 0: end of file or time-out; -EAGAIN, -EINTR, or an error of tty_check_read().
 */
static int wait_input(struct tty *t, struct file *f, uint64_t deadline)
{
    int err;

    while (tty_input_ready(t) == 0) {
        if (is_hung_up(t, f))
            return 0;
        if (atomic_load(&f->flags) & O_NONBLOCK)
            return -EAGAIN;
        err = cv_wait_sig_spin(&t->readers, &t->lock, deadline, "tty read");
        if (err == -ETIMEDOUT)
            return tty_input_ready(t) > 0;
        if (err != 0)
            return err;
        /* The caller's group was perhaps put in the background while the caller slept. */
        spin_unlock(&t->lock);
        err = tty_check_read(t);
        spin_lock(&t->lock);
        if (err != 0)
            return err;
    }
    return 1;
}

/* The deadline of a raw read that has `done` bytes, in ns of clock_mono_ns(); 0: the read does not wait. */
static uint64_t raw_deadline(const struct tty *t, size_t done)
{
    uint64_t vtime = t->tio.cc[VTIME], vmin = t->tio.cc[VMIN];

    if (vmin > 0 && (vtime == 0 || done == 0))
        return NO_DEADLINE;
    return vtime == 0 ? 0 : clock_mono_ns() + vtime * VTIME_UNIT_NS;
}

static long tty_read(struct file *f, struct uio *uio, loff_t off)
{
    struct tty *t = tty_of(f);
    size_t done = 0;
    char buf[COPY];
    int err = tty_check_read(t);

    if (err != 0)
        return err;
    spin_lock(&t->lock);
    while (uio->resid > 0) {
        bool canon = (t->tio.lflag & ICANON) != 0, last;
        uint64_t deadline = canon ? NO_DEADLINE : raw_deadline(t, done);
        size_t n;

        if (is_hung_up(t, f))
            break;
        if (tty_input_ready(t) == 0) {
            if (done > 0 && (canon || done >= t->tio.cc[VMIN]))
                break;
            err = deadline == 0 ? 0 : wait_input(t, f, deadline);
            if (err <= 0)
                break;
        }
        n = tty_input_take(t, buf, min_of(uio->resid, sizeof buf), &last);
        tty_resume_input(t);
        spin_unlock(&t->lock);
        err = uio_move(buf, n, uio);
        if (err != 0)
            return err;
        done += n;
        spin_lock(&t->lock);
        if (last)
            break;
    }
    spin_unlock(&t->lock);
    if (done > 0 || err >= 0)
        return (long)done;
    return err == -EINTR ? -ERESTARTSYS : err;
}

static long tty_write(struct file *f, struct uio *uio, loff_t off)
{
    struct tty *t = tty_of(f);
    size_t done = 0;
    char buf[COPY];
    bool only_foreground;
    int err = 0;

    spin_lock(&t->lock);
    only_foreground = (t->tio.lflag & TOSTOP) != 0;
    spin_unlock(&t->lock);
    if (only_foreground)
        err = tty_check_change(t);
    if (err != 0)
        return err;
    while (uio->resid > 0 && err == 0) {
        size_t n = min_of(uio->resid, sizeof buf), used = 0;

        err = uio_move(buf, n, uio);
        if (err != 0)
            break;
        spin_lock(&t->lock);
        for (;;) {
            if (is_hung_up(t, f)) {
                err = -EIO;
                break;
            }
            used += tty_output(t, buf + used, n - used);
            if (used == n)
                break;
            if (atomic_load(&f->flags) & O_NONBLOCK) {
                err = -EAGAIN;
                break;
            }
            err = cv_wait_sig_spin(&t->writers, &t->lock, NO_DEADLINE, "tty write");
            if (err != 0)
                break;
        }
        spin_unlock(&t->lock);
        done += used;
    }
    if (done > 0)
        return (long)done;
    return err == -EINTR ? -ERESTARTSYS : err;
}

static unsigned tty_poll(struct file *f, struct poller *p)
{
    struct tty *t = tty_of(f);
    unsigned ev = 0;
    uint32_t want;

    if (p != NULL)
        poll_register(p, &t->poll);
    spin_lock(&t->lock);
    want = t->tio.lflag & ICANON || t->tio.cc[VTIME] != 0 ? 1 : max_of(t->tio.cc[VMIN], (uint8_t)1);
    if (tty_input_ready(t) >= want)
        ev |= POLLIN | POLLRDNORM;
    if (!t->stopped && t->drv->room(t) >= COPY)
        ev |= POLLOUT | POLLWRNORM;
    if (is_hung_up(t, f))
        ev |= POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLERR | POLLHUP;
    spin_unlock(&t->lock);
    return ev;
}

static long tty_file_ioctl(struct file *f, unsigned cmd, uint64_t arg)
{
    struct tty *t = tty_of(f);
    bool is_dead;

    spin_lock(&t->lock);
    is_dead = is_hung_up(t, f);
    spin_unlock(&t->lock);
    return is_dead ? -EIO : tty_ioctl(t, f, cmd, arg);
}

void tty_drop(struct tty *t)
{
    bool last;

    spin_lock(&t->lock);
    last = --t->opens == 0;
    if (last)
        t->exclusive = false;
    if (t->drv->closed != NULL)
        t->drv->closed(t);
    spin_unlock(&t->lock);
    if (last && t->drv->release != NULL)
        t->drv->release(t);
}

static void tty_close(struct file *f)
{
    tty_drop(tty_of(f));
}

static const struct fileops tty_fileops = {
    .read = tty_read,
    .write = tty_write,
    .poll = tty_poll,
    .ioctl = tty_file_ioctl,
    .close = tty_close,
};

void tty_file_open(struct tty *t, struct file *f, int oflags, bool console)
{
    spin_lock(&t->lock);
    f->off = console ? TTY_IMMORTAL : t->generation;
    spin_unlock(&t->lock);
    f->ops = &tty_fileops;
    f->data = t;
    f->seekable = false;
    if (!(oflags & O_NOCTTY) && !console)
        (void)tty_acquire(t, false); /* only a session leader without a terminal gets t */
}
