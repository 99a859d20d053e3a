// SPDX-License-Identifier: MIT
/*
 * sys_poll.c - wait for several descriptors at once: poll, ppoll, select, pselect6, epoll.
 *
 * THEORY      poll, ppoll, select and pselect6 all call poll_files() with a kernel array of struct pollfd.
 *             select's three bit sets are converted to an array with one entry for each descriptor that is in
 *             any of them; the result is converted back.
 *             A call that a signal ends returns -ERESTARTNOHAND.  Then the call is restarted if no handler has run.
 *             The signal mask of ppoll and pselect6 is in force only during the call.  If a handler must run,
 *             the mask stays in force until the old mask is in the handler's frame (sig_mask_push in proc.h).
 * SEE ALSO    vfs/poll.c, ipc/epoll.c
 */
#include "ipc/ipc.h"
#include "disp/timer.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "sys/path.h"
#include "sys/sys.h"
#include "sys/utime.h"

enum { POLL_STACK = 32, NFDS_MAX = 1 << 16 };

/*
 * Returns the deadline `ns` nanoseconds from now, for poll_files().  If ns is 0, returns 0: do not
 * wait.
 */
static uint64_t deadline_after(int64_t ns)
{
    uint64_t at;

    if (ns == 0)
        return 0;
    if (__builtin_add_overflow(clock_mono_ns(), (uint64_t)ns, &at))
        return NO_DEADLINE;
    return at;
}

/*
 * Calls poll_files() for the `n` entries at user address `ufds`.  Returns the number of descriptors
 * that are ready, or -errno.
 */
static long poll_user_fds(uint64_t ufds, uint64_t n, uint64_t deadline)
{
    struct pollfd few[POLL_STACK], *fds = few;
    size_t size = n * sizeof *fds;
    long ready;

    if (n > min_of(limit(RLIMIT_NOFILE), (uint64_t)NFDS_MAX))
        return -EINVAL;
    if (n > POLL_STACK)
        fds = kmem_alloc(size);
    if (fds == NULL)
        return -ENOMEM;
    ready = copy_in(fds, ufds, size);
    if (ready == 0)
        ready = poll_files(curproc()->files, fds, (unsigned)n, deadline);
    if (ready >= 0 && copy_out(ufds, fds, size) != 0)
        ready = -EFAULT;
    if (fds != few)
        kmem_free(fds);
    return ready == -EINTR ? -ERESTARTNOHAND : ready;
}

long sys_poll(struct regs *r)
{
    int ms = (int)r->arg[2];

    return poll_user_fds(r->arg[0], r->arg[1] & UINT32_MAX,
                         ms < 0 ? NO_DEADLINE : deadline_after(ms * NSEC_PER_MSEC));
}

/*
 * Puts the signal mask at user address `umask` (0: none) in force until pop_user_sigmask().  *pushed tells whether
 * there was a mask.  0, -EINVAL (wrong size), -EFAULT.
 */
static int push_user_sigmask(uint64_t umask, uint64_t size, bool *pushed)
{
    sigset_t set;
    int err;

    *pushed = false;
    if (umask == 0)
        return 0;
    if (size != sizeof set)
        return -EINVAL;
    err = copy_in(&set, umask, sizeof set);
    if (err != 0)
        return err;
    sig_mask_push(set);
    *pushed = true;
    return 0;
}

/* Restores the old mask, unless a handler can run first.  `result` is the return value of the system call. */
static void pop_user_sigmask(bool pushed, long result)
{
    if (pushed && result != -ERESTARTNOHAND)
        sig_mask_pop();
}

/* Stores the time until `deadline` as a struct timespec (unit 1) or timeval (1000).  A fault is ignored. */
static void copy_out_time_left(uint64_t uaddr, uint64_t deadline, int64_t unit_ns)
{
    uint64_t now = clock_mono_ns();
    struct ktime left = ns_to_ktime(deadline > now ? deadline - now : 0);

    left.nsec /= unit_ns;
    if (copy_out(uaddr, &left, sizeof left) != 0)
        return;
}

long sys_ppoll(struct regs *r)
{
    uint64_t deadline = NO_DEADLINE;
    int64_t ns;
    bool pushed;
    long n = 0;

    if (r->arg[2] != 0) {
        n = timespec_in(r->arg[2], &ns);
        if (n != 0)
            return n;
        deadline = deadline_after(ns);
    }
    n = push_user_sigmask(r->arg[3], r->arg[4], &pushed);
    if (n != 0)
        return n;
    n = poll_user_fds(r->arg[0], r->arg[1] & UINT32_MAX, deadline);
    pop_user_sigmask(pushed, n);
    if (r->arg[2] != 0)
        copy_out_time_left(r->arg[2], deadline, 1);
    return n;
}

/*
 * The three sets of select(2) for read, write and except: in[] comes from the program, out[] is the
 * result.
 */
struct fdsets {
    uint64_t *in[3], *out[3];
    size_t words; /* size of each set, in 64-bit words */
};

static const int16_t select_events[3] = {POLLIN, POLLOUT, POLLPRI};
static const int16_t select_ready[3] = {POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI};

static bool is_fd_in_set(const uint64_t *set, unsigned fd)
{
    return (set[fd / 64] >> (fd % 64)) & 1;
}

/* Fills in fds[] for all descriptors below n that are in a set; returns the number of entries. */
static unsigned sets_to_pollfds(const struct fdsets *s, unsigned n, struct pollfd *fds)
{
    unsigned count = 0;

    for (unsigned fd = 0; fd < n; fd++) {
        int16_t events = 0;

        for (int k = 0; k < 3; k++)
            if (is_fd_in_set(s->in[k], fd))
                events |= select_events[k];
        if (events != 0)
            fds[count++] = (struct pollfd){.fd = (int)fd, .events = events};
    }
    return count;
}

/*
 * Sets the bits of the result from fds[]; returns the number of bits set, or -EBADF if a descriptor
 * was not open.
 */
static long pollfds_to_sets(struct fdsets *s, const struct pollfd *fds, unsigned count)
{
    long bits = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned fd = (unsigned)fds[i].fd;

        if (fds[i].revents & POLLNVAL)
            return -EBADF;
        for (int k = 0; k < 3; k++)
            if (is_fd_in_set(s->in[k], fd) && (fds[i].revents & select_ready[k])) {
                s->out[k][fd / 64] |= 1ull << (fd % 64);
                bits++;
            }
    }
    return bits;
}

/* select(2).  uset[]: user addresses of the sets, or 0. */
static long do_select(int nfds, const uint64_t uset[3], uint64_t deadline)
{
    struct fdsets s;
    struct pollfd *fds;
    uint64_t *mem;
    unsigned count;
    size_t bytes;
    long n = 0;

    if (nfds < 0)
        return -EINVAL;
    nfds = (int)min_of((uint64_t)nfds, min_of(limit(RLIMIT_NOFILE), (uint64_t)NFDS_MAX));
    s.words = ((size_t)nfds + 63) / 64;
    bytes = s.words * 8;
    mem = kmem_zalloc(6 * bytes + (size_t)nfds * sizeof *fds + 8);
    if (mem == NULL)
        return -ENOMEM;
    for (int k = 0; k < 3; k++) {
        s.in[k] = mem + (size_t)k * s.words;
        s.out[k] = mem + (size_t)(k + 3) * s.words;
        if (n == 0 && uset[k] != 0)
            n = copy_in(s.in[k], uset[k], bytes);
    }
    if (n == 0) {
        fds = (struct pollfd *)(mem + 6 * s.words);
        count = sets_to_pollfds(&s, (unsigned)nfds, fds);
        n = poll_files(curproc()->files, fds, count, deadline);
        if (n >= 0)
            n = pollfds_to_sets(&s, fds, count);
        for (int k = 0; k < 3 && n >= 0; k++)
            if (uset[k] != 0 && copy_out(uset[k], s.out[k], bytes) != 0)
                n = -EFAULT;
    }
    kmem_free(mem);
    return n == -EINTR ? -ERESTARTNOHAND : n;
}

long sys_select(struct regs *r)
{
    uint64_t deadline = NO_DEADLINE;
    int64_t ns;
    long n;

    if (r->arg[4] != 0) {
        n = timeval_in(r->arg[4], &ns);
        if (n != 0)
            return n;
        deadline = deadline_after(ns);
    }
    n = do_select((int)r->arg[0], &r->arg[1], deadline);
    if (r->arg[4] != 0)
        copy_out_time_left(r->arg[4], deadline, NSEC_PER_USEC);
    return n;
}

/* pselect6: the sixth argument is the address of {mask address, mask size}, or 0. */
long sys_pselect6(struct regs *r)
{
    uint64_t deadline = NO_DEADLINE, mask[2] = {0, 0};
    int64_t ns;
    bool pushed;
    long n = 0;

    if (r->arg[5] != 0)
        n = copy_in(mask, r->arg[5], sizeof mask);
    if (n != 0)
        return n;
    if (r->arg[4] != 0) {
        n = timespec_in(r->arg[4], &ns);
        if (n != 0)
            return n;
        deadline = deadline_after(ns);
    }
    n = push_user_sigmask(mask[0], mask[1], &pushed);
    if (n != 0)
        return n;
    n = do_select((int)r->arg[0], &r->arg[1], deadline);
    pop_user_sigmask(pushed, n);
    if (r->arg[4] != 0)
        copy_out_time_left(r->arg[4], deadline, 1);
    return n;
}

/* ---- epoll ---- */

static long do_epoll_create(unsigned flags)
{
    struct file *f;
    int err;

    if (flags & ~(unsigned)O_CLOEXEC)
        return -EINVAL;
    err = epoll_create(&f);
    return err != 0 ? err : fd_give(f, (flags & O_CLOEXEC) != 0);
}

long sys_epoll_create(struct regs *r)
{
    return (int)r->arg[0] <= 0 ? -EINVAL : do_epoll_create(0);
}

long sys_epoll_create1(struct regs *r)
{
    return do_epoll_create((unsigned)r->arg[0]);
}

/* epoll_ctl(epfd, op, fd, event) */
long sys_epoll_ctl(struct regs *r)
{
    struct epoll_event ev = {0};
    struct file *epf, *f;
    long err = 0;

    if ((int)r->arg[1] != EPOLL_CTL_DEL)
        err = copy_in(&ev, r->arg[3], sizeof ev);
    if (err != 0)
        return err;
    epf = fd_file(r->arg[0]);
    f = fd_file(r->arg[2]);
    err = epf == NULL || f == NULL ? -EBADF
                                   : epoll_change(epf, (int)r->arg[1], f, (int)r->arg[2], &ev);
    if (epf != NULL)
        file_release(epf);
    if (f != NULL)
        file_release(f);
    return err;
}

/*
 * epoll_wait(epfd, events, max, ms).  If the events cannot be stored (-EFAULT), these events are
 * lost: an edge-triggered event is not reported again.
 */
static long do_epoll_wait(struct regs *r)
{
    enum { EPOLL_STACK = 16, EPOLL_MOST = 4096 };
    struct epoll_event few[EPOLL_STACK], *out = few;
    int max = (int)r->arg[2], ms = (int)r->arg[3];
    unsigned n = (unsigned)min_of(max, EPOLL_MOST);
    struct file *f;
    long got;

    if (max <= 0)
        return -EINVAL;
    if (r->arg[1] >= USER_TOP || n * sizeof *out > USER_TOP - r->arg[1])
        return -EFAULT;
    f = fd_file(r->arg[0]);
    if (f == NULL)
        return -EBADF;
    if (n > EPOLL_STACK)
        out = kmem_alloc(n * sizeof *out);
    if (out == NULL) {
        file_release(f);
        return -ENOMEM;
    }
    got = epoll_take(f, out, n, ms < 0 ? NO_DEADLINE : deadline_after(ms * NSEC_PER_MSEC));
    if (got > 0 && copy_out(r->arg[1], out, (size_t)got * sizeof *out) != 0)
        got = -EFAULT;
    if (out != few)
        kmem_free(out);
    file_release(f);
    return got;
}

long sys_epoll_wait(struct regs *r)
{
    return do_epoll_wait(r);
}

long sys_epoll_pwait(struct regs *r)
{
    bool pushed;
    long n = push_user_sigmask(r->arg[4], r->arg[5], &pushed);

    if (n != 0)
        return n;
    n = do_epoll_wait(r);
    if (n == -EINTR && pushed)
        n = -ERESTARTNOHAND; /* the new mask stays until the old mask is in the handler's frame */
    pop_user_sigmask(pushed, n);
    return n;
}
