// SPDX-License-Identifier: MIT
/*
 * pty.c - pseudo-terminals: a terminal whose line is another program.
 *
 * THEORY      A program such as a terminal emulator or sshd needs a terminal without hardware.  Opening
 *             /dev/ptmx makes a pair: a terminal, /dev/pts/N, and the open file itself, which is called the
 *             master.  Bytes written to the master are input of the terminal.  Output of programs to the
 *             terminal goes into a ring, from which the master reads.
 *             When the master is closed, the terminal is gone: its session gets SIGHUP, and reads of its files
 *             return end of file.  When the last file of the terminal is closed, reads of the master return -EIO.
 *             The master is one of the terminal's holds (tty->opens).  The pair is freed when the last hold is
 *             dropped.
 *             The device files are those of a small file system, "devpts", which shows the pairs that exist.
 *             A device file belongs to one pair and has the owner of that pair.  When the pair is freed, the
 *             file cannot be opened any more, even if a new pair has the same number.
 * INVARIANTS  Y1  tty.opens == open files of the terminal + 1 while the master is open
 * LOCKING     A thread that allocates or frees a pair holds pty_lock (RANK_VNODE), which is taken before tty->lock.
 *             [y] guarded by tty->lock (the ring)  [c] constant
 * SEE ALSO    tty.h, pts(4), tests/test_tty.py
 */
#include "vfs/pseudo.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "proc/proc.h"
#include "tty/tty.h"

enum {
    PTY_MAX = 64,
    PTY_ROOT = 8 /* number of pairs that only the superuser can make */,
    OUT_RING = 8192,
    IN_RING = 4096,
    COPY = 256
};
enum { PTS_MAJOR = 136 };

struct pty {
    struct tty tty;
    bool locked;         /* the terminal cannot be opened before unlockpt() */
    bool ever_opened;    /* [pty_lock] the terminal has been opened before */
    uint32_t uid, gid;   /* [c] of the file in /dev/pts                        */
    uint64_t serial;     /* [c] unique for each pair: pseudo_arg.a */
    uint32_t head, tail; /* [y] out: bytes tail .. head-1                      */
    char *out;           /* [c] */
    bool told;           /* [y] the master was woken because of `out` and has not read after that */
    struct cv master_cv; /* the master waits for output or for space */
    struct pollhead master_poll;
};

static struct spinlock pty_lock = SPINLOCK_INIT(RANK_VNODE);
static struct pty *ptys[PTY_MAX]; /* [pty_lock] */
static uint64_t last_serial;      /* [pty_lock] */

static struct pty *pty_of(struct tty *t)
{
    return container_of(t, struct pty, tty);
}

static void wake_master(struct pty *y)
{
    cv_broadcast(&y->master_cv);
    poll_wake(&y->master_poll);
}

/* ---- the driver: operations of the terminal on its line ---------------------------------------------- */

static void pty_write(struct tty *t, const char *buf, size_t n)
{
    struct pty *y = pty_of(t);

    for (size_t i = 0; i < n; i++)
        y->out[y->head++ % OUT_RING] = buf[i];
    if (n > 0 && !y->told) {
        /* wake the master once per read, because a wake-up wakes all pollers */
        y->told = true;
        wake_master(y);
    }
}

static size_t pty_pending(struct tty *t)
{
    return pty_of(t)->head - pty_of(t)->tail;
}

static size_t pty_room(struct tty *t)
{
    return t->stopped ? 0 : OUT_RING - pty_pending(t);
}

static void pty_discard(struct tty *t)
{
    pty_of(t)->tail = pty_of(t)->head;
    pty_of(t)->told = false;
}

static void pty_stop(struct tty *t, bool stop)
{
    /* room() is 0 while output is stopped; the master can still read the bytes in the ring */
}

static void pty_resume_input(struct tty *t)
{
    wake_master(pty_of(t));
}

static void pty_closed(struct tty *t)
{
    /* if the closed file was the last one, reads of the master return -EIO */
    wake_master(pty_of(t));
}

static void pty_release(struct tty *t)
{
    struct pty *y = pty_of(t);

    spin_lock(&pty_lock);
    ptys[t->rdev & 0xff] = NULL;
    spin_unlock(&pty_lock);
    kmem_free(t->ring);
    kmem_free(y->out);
    kmem_free(y);
}

static const struct tty_driver pty_driver = {
    .write = pty_write,
    .room = pty_room,
    .pending = pty_pending,
    .discard = pty_discard,
    .stop = pty_stop,
    .resume_input = pty_resume_input,
    .closed = pty_closed,
    .release = pty_release,
};

/* ---- the master's file ------------------------------------------------------------------------------- */

/* Whether the terminal was opened and has no open file now.  The caller holds t->lock. */
static bool is_terminal_closed(const struct pty *y)
{
    return y->ever_opened && y->tty.opens == 1; /* Y1 */
}

static long master_read(struct file *f, struct uio *uio, loff_t off)
{
    struct pty *y = f->data;
    char buf[COPY];
    size_t n;
    int err = 0;

    spin_lock(&y->tty.lock);
    while (pty_pending(&y->tty) == 0 && err == 0) {
        if (is_terminal_closed(y))
            err = -EIO;
        else if (atomic_load(&f->flags) & O_NONBLOCK)
            err = -EAGAIN;
        else
            err = cv_wait_sig_spin(&y->master_cv, &y->tty.lock, NO_DEADLINE, "pty read");
    }
    if (err != 0) {
        spin_unlock(&y->tty.lock);
        return err == -EINTR ? -ERESTARTSYS : err;
    }
    n = min_of(min_of(pty_pending(&y->tty), uio->resid), sizeof buf);
    for (size_t i = 0; i < n; i++)
        buf[i] = y->out[y->tail++ % OUT_RING];
    y->told = false;
    spin_unlock(&y->tty.lock);
    tty_writable(&y->tty);
    err = uio_move(buf, n, uio);
    return err != 0 ? err : (long)n;
}

static long master_write(struct file *f, struct uio *uio, loff_t off)
{
    struct pty *y = f->data;
    size_t done = 0;
    char buf[COPY];
    int err = 0;

    while (uio->resid > 0 && err == 0) {
        size_t n = 0;

        spin_lock(&y->tty.lock);
        while (err == 0 && (n = tty_input_room(&y->tty)) == 0) {
            y->tty.paused = true;
            if (atomic_load(&f->flags) & O_NONBLOCK)
                err = -EAGAIN;
            else
                err = cv_wait_sig_spin(&y->master_cv, &y->tty.lock, NO_DEADLINE, "pty write");
        }
        spin_unlock(&y->tty.lock);
        n = min_of(min_of(n, uio->resid), sizeof buf);
        if (err == 0)
            err = uio_move(buf, n, uio);
        if (err != 0)
            break;
        tty_receive(&y->tty, buf, n);
        done += n;
    }
    if (done > 0)
        return (long)done;
    return err == -EINTR ? -ERESTARTSYS : err;
}

static unsigned master_poll(struct file *f, struct poller *p)
{
    struct pty *y = f->data;
    unsigned ev = 0;

    if (p != NULL)
        poll_register(p, &y->master_poll);
    spin_lock(&y->tty.lock);
    if (pty_pending(&y->tty) > 0)
        ev |= POLLIN | POLLRDNORM;
    if (is_terminal_closed(y))
        ev |= POLLHUP;
    if (tty_input_room(&y->tty) > 0)
        ev |= POLLOUT | POLLWRNORM;
    spin_unlock(&y->tty.lock);
    return ev;
}

static long master_ioctl(struct file *f, unsigned cmd, uint64_t arg)
{
    enum { TIOCSPTLCK = 0x40045431 };
    const unsigned TIOCGPTN = 0x80045430;
    struct pty *y = f->data;
    int n;

    if (cmd == TIOCGPTN) {
        n = (int)(y->tty.rdev & 0xff);
        return copy_out(arg, &n, sizeof n);
    }
    if (cmd == TIOCSPTLCK) {
        if (copy_in(&n, arg, sizeof n) != 0)
            return -EFAULT;
        y->locked = n != 0;
        return 0;
    }
    return tty_ioctl(&y->tty, f, cmd, arg);
}

static void master_close(struct file *f)
{
    struct pty *y = f->data;

    spin_lock(&y->tty.lock);
    y->tty.gone = true;
    spin_unlock(&y->tty.lock);
    tty_session_hangup(&y->tty);
    tty_hangup(&y->tty);
    tty_drop(&y->tty);
}

static const struct fileops master_ops = {
    .read = master_read,
    .write = master_write,
    .poll = master_poll,
    .ioctl = master_ioctl,
    .close = master_close,
};

static int ptmx_open(struct vnode *vn, int oflags, struct file *f)
{
    struct pty *y = kmem_zalloc(sizeof *y);
    uint16_t *ring = kmem_alloc(IN_RING * sizeof *ring);
    char *out = kmem_alloc(OUT_RING);
    unsigned i, end = cred_superuser(curcred()) ? PTY_MAX : PTY_MAX - PTY_ROOT;

    if (y == NULL || ring == NULL || out == NULL) {
        kmem_free(out);
        kmem_free(ring);
        kmem_free(y);
        return -ENOMEM;
    }
    tty_setup(&y->tty, &pty_driver, NULL, 0, ring, IN_RING, false);
    cv_init(&y->master_cv);
    pollhead_init(&y->master_poll);
    y->tty.opens = 1; /* Y1 */
    y->out = out;
    y->locked = true;
    y->uid = curcred()->fsuid;
    y->gid = curcred()->fsgid;
    spin_lock(&pty_lock);
    for (i = 0; i < end && ptys[i] != NULL; i++)
        ;
    if (i < end) {
        y->tty.rdev = makedev(PTS_MAJOR, i);
        y->serial = ++last_serial;
        ptys[i] = y;
    }
    spin_unlock(&pty_lock);
    if (i == end) {
        kmem_free(out);
        kmem_free(ring);
        kmem_free(y);
        return -ENOSPC;
    }
    f->ops = &master_ops;
    f->data = y;
    return 0;
}

/* ---- the terminal's device, and /dev/pts ------------------------------------------------------------- */

/* The pair of a file in /dev/pts; NULL: the pair has been freed.  The caller holds pty_lock. */
static struct pty *pty_find(const struct pseudo_arg *arg)
{
    struct pty *y = ptys[arg->b & 0xff];

    return y != NULL && y->serial == arg->a ? y : NULL;
}

static int pts_open(struct vnode *vn, int oflags, struct file *f)
{
    const struct pseudo_arg *arg = pseudo_arg(vn);
    struct pty *y;
    int err = -EIO;

    if (arg == NULL) /* a device file outside devpts has no pair, as on Linux */
        return err;
    spin_lock(&pty_lock);
    y = pty_find(arg);
    if (y != NULL && !y->locked) {
        err = tty_refuses(&y->tty) ? -EBUSY : tty_hold(&y->tty);
        if (err == 0)
            y->ever_opened = true;
    }
    spin_unlock(&pty_lock);
    if (err == 0)
        tty_file_open(&y->tty, f, oflags, false);
    return err;
}

static const struct pseudo_node pts_entry;

static int pts_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                    struct pseudo_entry *e)
{
    uint64_t serial = 0;

    spin_lock(&pty_lock);
    while (from < PTY_MAX && ptys[from] == NULL)
        from++;
    if (from < PTY_MAX)
        serial = ptys[from]->serial;
    spin_unlock(&pty_lock);
    if (from >= PTY_MAX)
        return -ENOENT;
    *e = (struct pseudo_entry){
        .key = from, .node = &pts_entry, .arg = {serial, makedev(PTS_MAJOR, from)}};
    snprintf(e->name, sizeof e->name, "%lu", from);
    return 0;
}

static void pts_owner(const struct pseudo_node *n, struct pseudo_arg arg, uint32_t *uid,
                      uint32_t *gid)
{
    struct pty *y;

    spin_lock(&pty_lock);
    y = pty_find(&arg);
    if (y != NULL) {
        *uid = y->uid;
        *gid = y->gid;
    }
    spin_unlock(&pty_lock);
}

static const struct pseudo_node pts_entry = {.type = VCHR, .mode = 0620, .owner = pts_owner};

static const struct pseudo_node root = {.type = VDIR, .mode = 0755, .prefix = "", .next = pts_next};

static int mount_devpts(const char *source, const char *options, unsigned flags, struct vfs **out)
{
    return pseudo_mount("devpts", source, 0x1cd1, &root, out);
}

void pty_init(void)
{
    static struct vfs_type type = {.name = "devpts", .mount = mount_devpts};
    static struct cdev ptmx = {
        .name = "ptmx", .rdev = makedev(5, 2), .mode = 0666, .open = ptmx_open};
    static struct cdev pts[PTY_MAX];

    vfs_register_type(&type);
    cdev_register(&ptmx);
    for (unsigned i = 0; i < PTY_MAX; i++) {
        pts[i] = (struct cdev){.rdev = makedev(PTS_MAJOR, i), .open = pts_open};
        cdev_register(&pts[i]);
    }
}
