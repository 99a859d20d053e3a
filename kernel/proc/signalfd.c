// SPDX-License-Identifier: MIT
/*
 * signalfd.c - open files from which a program reads its pending signals.
 *
 * THEORY      A program blocks signals and reads them from a signalfd, so that it can wait in poll() or epoll for
 *             signals and for files at once.  As on Linux, the file has only a set of signals.  A read takes signals
 *             that are pending for the calling LWP or for its process.  It does not matter which process made the file.
 *             A read waits like sigtimedwait(2).  A poller must be woken when a signal becomes pending for its process.
 *             It cannot be on a list in the process, because an epoll can exist longer than the process that has added
 *             the file.  So the pollers of all processes are on a few lists that exist for ever, and the address of the
 *             signal handlers chooses the list.  A poller that is woken for another process finds nothing.
 * LOCKING     `mask` is atomic.  Pending signals are guarded by [S].
 * SEE ALSO    signal.c, signalfd(2) of Linux's manual, user/test/t_event.c
 */
#include "proc/signalfd.h"

#include "lib/errno.h"
#include "mem/kmem.h"
#include "mem/usermem.h"
#include "proc/proc_impl.h"
#include "vfs/filepriv.h"

enum { LISTS = 64, SI_QUEUE = -1 };

struct signalfd {
    _Atomic sigset_t mask;
    struct usermem *payer; /* [c] */
};

/* Linux's struct signalfd_siginfo. */
struct signalfd_siginfo {
    uint32_t signo;
    int32_t err, code;
    uint32_t pid, uid;
    int32_t fd;
    uint32_t tid, band, overrun, trapno;
    int32_t status, value_int;
    uint64_t value, utime, stime, addr;
    uint16_t addr_lsb;
    uint8_t pad[46];
};
_Static_assert(sizeof(struct signalfd_siginfo) == 128, "struct signalfd_siginfo");

static struct pollhead heads[LISTS];
static _Atomic unsigned signalfds; /* that exist; while it is 0, nothing polls one */

static const struct fileops signalfd_ops;

static struct pollhead *signal_pollhead(const struct proc *p)
{
    return &heads[((uintptr_t)p->sig / sizeof *p->sig) % LISTS];
}

void signalfd_wake(struct proc *p)
{
    if (unlikely(atomic_load_explicit(&signalfds, memory_order_relaxed) != 0))
        poll_wake(signal_pollhead(p));
}

/* The members that Linux fills in for this kind of signal. */
static void fill_signalfd_siginfo(struct signalfd_siginfo *out, const struct siginfo *in)
{
    *out =
        (struct signalfd_siginfo){.signo = (uint32_t)in->signo, .err = in->err, .code = in->code};
    if (in->code == SI_TIMER) {
        out->tid = (uint32_t)in->timer.tid;
        out->overrun = (uint32_t)in->timer.overrun;
        out->value = in->timer.value;
        out->value_int = (int32_t)in->timer.value;
    } else if (in->code <= 0) {
        out->pid = (uint32_t)in->rt.pid;
        out->uid = in->rt.uid;
        if (in->code <= SI_QUEUE && in->code != SI_TKILL) {
            out->value = in->rt.value;
            out->value_int = (int32_t)in->rt.value;
        }
    } else if (in->code != SI_KERNEL && in->signo == SIGCHLD) {
        out->pid = (uint32_t)in->child.pid;
        out->uid = in->child.uid;
        out->status = in->child.status;
        out->utime = (uint64_t)in->child.utime;
        out->stime = (uint64_t)in->child.stime;
    } else if (in->code != SI_KERNEL) {
        out->addr = in->fault.addr;
        out->addr_lsb = (uint16_t)in->fault.lsb;
    }
}

/* Makes a signal that the caller has taken pending again for its process. */
static void put_signal_back(int sig, const struct siginfo *info)
{
    struct lwp *l = curlwp();
    struct proc *p = l->proc;

    spin_lock(&proc_lock);
    spin_lock(&p->sig->lock);
    sig_requeue(l, &p->pending, sig, info);
    sig_recalc_locked(l);
    sig_retarget(p, l);
    spin_unlock(&p->sig->lock);
    spin_unlock(&proc_lock);
}

/* Reads as many whole records as fit; waits only for the first. */
static long signalfd_read(struct file *f, struct uio *uio, loff_t off)
{
    struct signalfd *s = f->data;
    struct signalfd_siginfo out;
    struct siginfo info;
    long done = 0;

    if (uio->resid < sizeof out)
        return -EINVAL;
    while (uio->resid >= sizeof out) {
        bool wait = done == 0 && (f->flags & O_NONBLOCK) == 0;
        int sig = sig_wait(s->mask, wait ? NO_DEADLINE : 0, &info);

        if (sig < 0 && done == 0)
            return sig == -EINTR ? -ERESTARTSYS : -EAGAIN;
        if (sig < 0)
            break;
        fill_signalfd_siginfo(&out, &info);
        if (uio_move(&out, sizeof out, uio) != 0) {
            put_signal_back(sig, &info);
            return done > 0 ? done : -EFAULT;
        }
        done += (long)sizeof out;
    }
    return done;
}

static unsigned signalfd_poll(struct file *f, struct poller *p)
{
    struct signalfd *s = f->data;
    struct lwp *l = curlwp();
    sigset_t pending;

    if (p != NULL)
        poll_register(p, signal_pollhead(l->proc));
    spin_lock(&l->proc->sig->lock);
    pending = l->pending.set | l->proc->pending.set;
    spin_unlock(&l->proc->sig->lock);
    return (pending & s->mask) != 0 ? POLLIN | POLLRDNORM : 0;
}

static void signalfd_close(struct file *f)
{
    struct signalfd *s = f->data;

    atomic_fetch_sub(&signalfds, 1);
    usermem_return(s->payer, sizeof *s);
    kmem_free(s);
}

static const struct fileops signalfd_ops = {
    .read = signalfd_read,
    .poll = signalfd_poll,
    .close = signalfd_close,
    .kind = "anon_inode:[signalfd]",
    .type = VANON,
};

static sigset_t readable_signals(sigset_t mask)
{
    return mask & ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP));
}

int signalfd_create(sigset_t mask, unsigned flags, struct file **out)
{
    struct usermem *payer = usermem_charge(sizeof(struct signalfd));
    struct signalfd *s;

    if (payer == NULL)
        return -ENFILE;
    s = kmem_zalloc(sizeof *s);
    *out = s != NULL ? file_alloc(&signalfd_ops, NULL, O_RDWR | flags) : NULL;
    if (*out == NULL) {
        usermem_return(payer, sizeof *s);
        kmem_free(s);
        return -ENFILE;
    }
    s->mask = readable_signals(mask);
    s->payer = payer;
    (*out)->data = s;
    atomic_fetch_add(&signalfds, 1);
    return 0;
}

int signalfd_set_mask(struct file *f, sigset_t mask)
{
    struct signalfd *s = f->data;

    if (f->ops != &signalfd_ops)
        return -EINVAL;
    s->mask = readable_signals(mask);
    signalfd_wake(curproc()); /* signals that are pending may have become readable */
    return 0;
}

void signalfd_init(void)
{
    for (unsigned i = 0; i < LISTS; i++) {
        pollhead_init(&heads[i]);
        heads[i].common = true;
    }
}
