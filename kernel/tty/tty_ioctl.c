// SPDX-License-Identifier: MIT
/*
 * tty_ioctl.c - the settings of a terminal, for termios(3) and shells.
 *
 * THEORY      A process that changes settings from the background gets SIGTTOU, which stops it, unless it
 *             blocks or ignores the signal.
 *             TCSETSW and TCSETSF wait until all output has been sent; TCSETSF also discards input.
 * LOCKING     t->lock guards the settings.  User memory is copied without a lock.
 * SEE ALSO    tty.h, ioctl_tty(2)
 */
#include "lib/errno.h"
#include "lib/string.h"
#include "proc/proc.h"
#include "tty/tty.h"

enum {
    TCGETS = 0x5401,
    TCSETS = 0x5402,
    TCSETSW = 0x5403,
    TCSETSF = 0x5404,
    TCSBRK = 0x5409,
    TCXONC = 0x540a,
    TCFLSH = 0x540b,
    TIOCEXCL = 0x540c,
    TIOCNXCL = 0x540d,
    TIOCOUTQ = 0x5411,
    TIOCSTI = 0x5412,
    TIOCGWINSZ = 0x5413,
    TIOCSWINSZ = 0x5414,
    TIOCMGET = 0x5415,
    FIONREAD = 0x541b,
    FIONBIO = 0x5421,
    TIOCGETD = 0x5424,
    TCSBRKP = 0x5425,
    TIOCVHANGUP = 0x5437,
    TCIFLUSH = 0,
    TCOFLUSH = 1,
    TCIOFLUSH = 2,
    TCOOFF = 0,
    TCOON = 1,
    TCIOFF = 2,
    TCION = 3,
    TIOCM_LINES = 0x166, /* DTR RTS CTS CD DSR: the line is connected */
};

/* Wait until all output has been sent.  0 or -ERESTARTSYS. */
static int drain_tty_output(struct tty *t)
{
    int err = 0;

    spin_lock(&t->lock);
    while (err == 0 && !t->gone && t->drv->pending(t) > 0)
        err = cv_wait_sig_spin(&t->writers, &t->lock, NO_DEADLINE, "tty drain");
    spin_unlock(&t->lock);
    return err == -EINTR ? -ERESTARTSYS : err;
}

static long set_termios(struct tty *t, unsigned cmd, uint64_t arg)
{
    struct termios tio;
    uint32_t changed;
    int err = tty_check_change(t);

    if (err == 0)
        err = copy_in(&tio, arg, sizeof tio);
    if (err == 0 && cmd != TCSETS)
        err = drain_tty_output(t);
    if (err != 0)
        return err;
    spin_lock(&t->lock);
    changed = t->tio.lflag ^ tio.lflag;
    t->tio = tio;
    if (cmd == TCSETSF)
        tty_input_discard(t);
    if (changed & ICANON)
        tty_input_mode_changed(t);
    if (!(tio.iflag & IXON))
        tty_set_stopped(t, false);
    cv_broadcast(&t->readers); /* sleeping readers check again under the new settings */
    poll_wake(&t->poll);
    spin_unlock(&t->lock);
    return 0;
}

static long set_winsize(struct tty *t, uint64_t arg)
{
    struct winsize win;
    int err = copy_in(&win, arg, sizeof win);
    bool differs;

    if (err != 0)
        return err;
    spin_lock(&t->lock);
    differs = memcmp(&t->win, &win, sizeof win) != 0;
    t->win = win;
    spin_unlock(&t->lock);
    if (differs)
        tty_signal(t, SIGWINCH);
    return 0;
}

static long flush_tty_queues(struct tty *t, uint64_t what)
{
    int err = tty_check_change(t);

    if (err != 0)
        return err;
    if (what > TCIOFLUSH)
        return -EINVAL;
    spin_lock(&t->lock);
    if (what != TCOFLUSH) {
        tty_input_discard(t);
    }
    if (what != TCIFLUSH)
        tty_output_discard(t);
    spin_unlock(&t->lock);
    return 0;
}

static long control_tty_flow(struct tty *t, uint64_t what)
{
    int err = tty_check_change(t);

    if (err != 0)
        return err;
    if (what > TCION)
        return -EINVAL;
    spin_lock(&t->lock);
    if (what == TCOOFF || what == TCOON)
        tty_set_stopped(t, what == TCOOFF);
    else
        tty_out(t, (char *)&t->tio.cc[what == TCIOFF ? VSTOP : VSTART], 1);
    spin_unlock(&t->lock);
    return 0;
}

/* The ioctls that return one number: TIOCMGET, TIOCGETD, FIONREAD, TIOCOUTQ. */
static int query_tty_number(struct tty *t, unsigned cmd)
{
    size_t n;

    switch (cmd) {
    case TIOCMGET:
        return TIOCM_LINES;
    case TIOCGETD:
        return 0; /* N_TTY */
    default:
        spin_lock(&t->lock);
        n = cmd == FIONREAD ? tty_input_ready(t) : t->drv->pending(t);
        spin_unlock(&t->lock);
        return (int)n;
    }
}

long tty_ioctl(struct tty *t, struct file *f, unsigned cmd, uint64_t arg)
{
    struct termios tio;
    struct winsize win;
    int n;

    switch (cmd) {
    case TCGETS:
        spin_lock(&t->lock);
        tio = t->tio;
        spin_unlock(&t->lock);
        return copy_out(arg, &tio, sizeof tio);
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
        return set_termios(t, cmd, arg);
    case TIOCGWINSZ:
        spin_lock(&t->lock);
        win = t->win;
        spin_unlock(&t->lock);
        return copy_out(arg, &win, sizeof win);
    case TIOCSWINSZ:
        return set_winsize(t, arg);
    case FIONREAD:
    case TIOCOUTQ:
    case TIOCMGET:
    case TIOCGETD:
        n = query_tty_number(t, cmd);
        return copy_out(arg, &n, sizeof n);
    case FIONBIO:
        if (copy_in(&n, arg, sizeof n) != 0)
            return -EFAULT;
        if (n != 0)
            atomic_fetch_or(&f->flags, O_NONBLOCK);
        else
            atomic_fetch_and(&f->flags, ~(uint32_t)O_NONBLOCK);
        return 0;
    case TCSBRK:
    case TCSBRKP:
        n = tty_check_change(t);
        return n != 0 ? n : drain_tty_output(t);
    case TCXONC:
        return control_tty_flow(t, arg);
    case TCFLSH:
        return flush_tty_queues(t, arg);
    case TIOCEXCL:
    case TIOCNXCL:
        t->exclusive = cmd == TIOCEXCL;
        return 0;
    case TIOCSTI:
        return -EIO; /* as on Linux where simulated input is not allowed */
    case TIOCVHANGUP:
        if (!cred_superuser(curcred()))
            return -EPERM;
        tty_hangup(t);
        return 0;
    default:
        return tty_job_ioctl(t, cmd, arg);
    }
}
