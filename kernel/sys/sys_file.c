// SPDX-License-Identifier: MIT
/*
 * sys_file.c - system calls on descriptors: open, close, dup, fcntl, lseek, pipe, ioctl.
 *
 * SEE ALSO    vfs/file.h (files and descriptor tables), sys_io.c (moving bytes), sys_poll.c
 */
#include "ipc/ipc.h"
#include "lib/errno.h"
#include "proc/sigio.h"
#include "sys/path.h"
#include "sys/sys.h"

enum {
    F_DUPFD = 0,
    F_GETFD = 1,
    F_SETFD = 2,
    F_GETFL = 3,
    F_SETFL = 4,
    F_GETLK = 5,
    F_SETLK = 6,
    F_SETLKW = 7,
    F_SETOWN = 8,
    F_GETOWN = 9,
    F_GETOWN_EX = 16,
    F_DUPFD_CLOEXEC = 1030,
    F_SETPIPE_SZ = 1031,
    F_GETPIPE_SZ = 1032,
};
enum { CLOSE_RANGE_CLOEXEC = 4 };
enum { LOCK_SH = 1, LOCK_EX = 2, LOCK_NB = 4, LOCK_UN = 8 };

/* The soft limit on descriptors, as an argument of fd_install(). */
static unsigned fd_limit(void)
{
    return (unsigned)min_of(limit(RLIMIT_NOFILE), (uint64_t)INT32_MAX);
}

int fd_give(struct file *f, bool cloexec)
{
    int fd = fd_install(curproc()->files, f, 0, cloexec ? FD_CLOEXEC : 0, fd_limit());

    if (fd < 0)
        file_release(f);
    return fd;
}

static long do_open(int dirfd, uint64_t upath, int oflags, uint64_t mode)
{
    struct at_path ap;
    struct file *f;
    int err;

    if ((oflags & (O_CREAT | O_TRUNC)) != 0 && fd_full(curproc()->files, fd_limit()))
        return -EMFILE; /* checked before a file is created or truncated */
    err = at_begin(&ap, dirfd, upath);
    if (err != 0)
        return err;
    err = file_open(&ap.ctx, ap.at, ap.path, oflags & ~O_CLOEXEC,
                    (uint32_t)mode & 07777 & ~curproc()->fs->umask, &f);
    at_end(&ap);
    if (err != 0)
        /* EINTR: a signal came while the open of a FIFO waited for the other end */
        return err == -EINTR ? -ERESTARTSYS : err;
    return fd_give(f, (oflags & O_CLOEXEC) != 0);
}

long sys_open(struct regs *r)
{
    return do_open(AT_FDCWD, r->arg[0], (int)r->arg[1], r->arg[2]);
}

long sys_openat(struct regs *r)
{
    return do_open((int)r->arg[0], r->arg[1], (int)r->arg[2], r->arg[3]);
}

long sys_creat(struct regs *r)
{
    return do_open(AT_FDCWD, r->arg[0], O_CREAT | O_WRONLY | O_TRUNC, r->arg[1]);
}

long sys_close(struct regs *r)
{
    return fd_close(curproc()->files, (int)r->arg[0]);
}

/* close_range(first, last, flags) */
long sys_close_range(struct regs *r)
{
    struct fdtable *t = curproc()->files;
    unsigned last = (unsigned)r->arg[1];
    int fd;

    if ((unsigned)r->arg[0] > last || (r->arg[2] & ~(uint64_t)CLOSE_RANGE_CLOEXEC) != 0)
        return -EINVAL;
    if ((unsigned)r->arg[0] > INT32_MAX)
        return 0;
    for (fd = fd_next(t, (int)r->arg[0]); fd >= 0 && (unsigned)fd <= last;
         fd = fd_next(t, fd + 1)) {
        if (r->arg[2] & CLOSE_RANGE_CLOEXEC)
            fd_set_flags(t, fd, FD_CLOEXEC);
        else
            fd_close(t, fd);
    }
    return 0;
}

static long dup_to_lowest_free(int fd, int min, unsigned fdflags)
{
    struct file *f = fd_get(curproc()->files, fd);
    int err;

    if (f == NULL)
        return -EBADF;
    err = fd_install(curproc()->files, f, min, fdflags, fd_limit());
    if (err < 0)
        file_release(f);
    return err;
}

long sys_dup(struct regs *r)
{
    return dup_to_lowest_free((int)r->arg[0], 0, 0);
}

static long dup_onto_fd(int fd, int to, unsigned fdflags)
{
    struct file *f;
    int err;

    if (to < 0 || (unsigned)to >= fd_limit())
        return -EBADF;
    f = fd_get(curproc()->files, fd);
    if (f == NULL)
        return -EBADF;
    err = fd_install_at(curproc()->files, f, to, fdflags);
    if (err < 0)
        file_release(f);
    return err;
}

long sys_dup2(struct regs *r)
{
    int fd = (int)r->arg[0];

    if (fd == (int)r->arg[1]) {
        int err = fd_get_flags(curproc()->files, fd);

        return err < 0 ? err : fd;
    }
    return dup_onto_fd(fd, (int)r->arg[1], 0);
}

long sys_dup3(struct regs *r)
{
    if ((int)r->arg[0] == (int)r->arg[1] || (r->arg[2] & ~(uint64_t)O_CLOEXEC) != 0)
        return -EINVAL;
    return dup_onto_fd((int)r->arg[0], (int)r->arg[1], r->arg[2] != 0 ? FD_CLOEXEC : 0);
}

static long do_pipe(uint64_t ufds, unsigned flags)
{
    struct fdtable *t = curproc()->files;
    unsigned fdflags = flags & O_CLOEXEC ? FD_CLOEXEC : 0;
    struct file *rd, *wr;
    int fd[2], err;

    if (flags & ~(unsigned)(O_CLOEXEC | O_NONBLOCK)) /* packet mode (O_DIRECT) is not supported */
        return -EINVAL;
    err = pipe_create(&rd, &wr, flags & ~(unsigned)O_CLOEXEC);
    if (err != 0)
        return err;
    fd[0] = fd_install(t, rd, 0, fdflags, fd_limit());
    if (fd[0] < 0) {
        file_release(rd);
        file_release(wr);
        return fd[0];
    }
    fd[1] = fd_install(t, wr, 0, fdflags, fd_limit());
    if (fd[1] < 0) {
        file_release(wr);
        fd_close(t, fd[0]);
        return fd[1];
    }
    err = copy_out(ufds, fd, sizeof fd);
    if (err != 0) {
        fd_close(t, fd[0]);
        fd_close(t, fd[1]);
    }
    return err;
}

long sys_pipe(struct regs *r)
{
    return do_pipe(r->arg[0], 0);
}

long sys_pipe2(struct regs *r)
{
    return do_pipe(r->arg[0], (unsigned)r->arg[1]);
}

/*
 * F_SETFL: changes only the flags in `may`.  The other flags are set once, by open(2).  0, -EINVAL,
 * -EPERM.
 */
static int set_status_flags(struct file *f, unsigned flags)
{
    const unsigned may = O_APPEND | O_NONBLOCK | O_DIRECT | O_NOATIME;
    unsigned old = atomic_load(&f->flags);

    if ((flags & O_DIRECT) && (f->vn == NULL || f->vn->type != VBLK))
        return -EINVAL;
    if (f->vn != NULL && (f->vn->attr & VN_APPEND) && (old & ~flags & O_APPEND))
        return -EPERM;
    while (!atomic_compare_exchange_weak(&f->flags, &old, (old & ~may) | (flags & may)))
        ;
    return 0;
}

/* Linux's struct flock. */
struct user_flock {
    int16_t type, whence;
    int32_t pad;
    int64_t start, len;
    int32_t pid, pad2;
};

/* Converts whence, start and len of `u` to the first and last byte.  0, -EINVAL, -EOVERFLOW. */
static int decode_flock_range(struct file *f, const struct user_flock *u, struct lock_range *lr)
{
    struct vattr va;
    int64_t base = 0;

    if (u->whence == 1) {
        base = f->off;
    } else if (u->whence == 2) {
        file_getattr(f, &va);
        base = (int64_t)va.size;
    } else if (u->whence != 0) {
        return -EINVAL;
    }
    if (__builtin_add_overflow(base, u->start, &lr->start))
        return -EOVERFLOW;
    lr->end = INT64_MAX;
    if (u->len > 0 && __builtin_add_overflow(lr->start, u->len - 1, &lr->end))
        return -EOVERFLOW;
    if (lr->start < 0)
        return -EINVAL;
    if (u->len < 0) {
        lr->end = lr->start - 1;
        lr->start += u->len; /* this does not overflow, because start was not negative */
    }
    return lr->start < 0 ? -EINVAL : 0;
}

static long fcntl_lock(struct file *f, int fd, int cmd, uint64_t uarg)
{
    struct fdtable *t = curproc()->files;
    struct lock_range lr = {.pid = curproc()->pid};
    struct user_flock u;
    int err, acc;

    err = copy_in(&u, uarg, sizeof u);
    if (err == 0)
        err = decode_flock_range(f, &u, &lr);
    if (err != 0)
        return err;
    if (u.type < F_RDLCK || u.type > F_UNLCK || (u.type == F_UNLCK && cmd == F_GETLK))
        return -EINVAL;
    lr.type = u.type;
    if (cmd == F_GETLK) {
        file_lock_test(f, t, &lr);
        u.type = (int16_t)lr.type;
        if (lr.type != F_UNLCK) {
            u.whence = 0;
            u.start = lr.start;
            u.len = lr.end == INT64_MAX ? 0 : lr.end - lr.start + 1;
            u.pid = lr.pid;
        }
        return copy_out(uarg, &u, sizeof u);
    }
    acc = (int)(atomic_load(&f->flags) & O_ACCMODE);
    if ((u.type == F_RDLCK && acc == O_WRONLY) || (u.type == F_WRLCK && acc == O_RDONLY))
        return -EBADF;
    err = file_lock(f, t, &lr, cmd == F_SETLKW);
    if (err == 0 && lr.type != F_UNLCK)
        err = fd_check_lock(t, fd, f);
    return err == -EINTR ? -ERESTARTSYS : err;
}

/* F_GETOWN_EX: stores type and id of the owner, so that a group is not taken for an error. */
static long get_owner_ex(struct file *f, uint64_t uaddr)
{
    enum { F_OWNER_PID = 1, F_OWNER_PGRP = 2 };
    struct {
        int32_t type, id;
    } u;
    int id, err = sigio_owner(f, &id);

    if (err != 0)
        return err;
    u.type = id < 0 ? F_OWNER_PGRP : F_OWNER_PID;
    u.id = id < 0 ? -id : id;
    return copy_out(uaddr, &u, sizeof u);
}

static long do_fcntl(struct file *f, int fd, int cmd, uint64_t arg)
{
    struct fdtable *t = curproc()->files;
    int err, id;

    if ((atomic_load(&f->flags) & O_PATH) && cmd != F_DUPFD && cmd != F_DUPFD_CLOEXEC &&
        cmd != F_GETFD && cmd != F_SETFD && cmd != F_GETFL)
        return -EBADF;
    switch (cmd) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        if ((int)arg < 0 || (unsigned)arg >= fd_limit())
            return -EINVAL;
        return dup_to_lowest_free(fd, (int)arg, cmd == F_DUPFD_CLOEXEC ? FD_CLOEXEC : 0);
    case F_GETFD:
        return fd_get_flags(t, fd);
    case F_SETFD:
        err = fd_set_flags(t, fd, (unsigned)arg & FD_CLOEXEC);
        return err;
    case F_GETFL:
        return (long)atomic_load(&f->flags);
    case F_SETFL:
        err = set_status_flags(f, (unsigned)arg);
        if (err == 0)
            err = sigio_set(f, (arg & O_ASYNC) != 0);
        /* as on Linux, O_ASYNC has no effect on a file that never waits */
        return err == -ENOTTY ? 0 : err;
    case F_SETOWN:
        return sigio_set_owner(f, (int)arg);
    case F_GETOWN:
        err = sigio_owner(f, &id);
        return err != 0 ? err : id;
    case F_GETOWN_EX:
        return get_owner_ex(f, arg);
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
        return fcntl_lock(f, fd, cmd, arg);
    case F_GETPIPE_SZ:
        return pipe_size(f);
    case F_SETPIPE_SZ:
        return pipe_set_size(f, (uint32_t)arg);
    default:
        return -EINVAL;
    }
}

long sys_fcntl(struct regs *r)
{
    struct file *f = fd_file_or_path(r->arg[0]);
    long n;

    if (f == NULL)
        return -EBADF;
    n = do_fcntl(f, (int)r->arg[0], (int)r->arg[1], r->arg[2]);
    file_release(f);
    return n;
}

/* flock(2): a lock on the whole file.  The open file owns the lock, not the process. */
long sys_flock(struct regs *r)
{
    struct file *f;
    int type, err;

    switch (r->arg[1] & ~(uint64_t)LOCK_NB) {
    case LOCK_SH:
        type = F_RDLCK;
        break;
    case LOCK_EX:
        type = F_WRLCK;
        break;
    case LOCK_UN:
        type = F_UNLCK;
        break;
    default:
        return -EINVAL;
    }
    f = fd_file(r->arg[0]);
    if (f == NULL)
        return -EBADF;
    err = file_flock(f, type, !(r->arg[1] & LOCK_NB));
    file_release(f);
    return err == -EINTR ? -ERESTARTSYS : err;
}

long sys_lseek(struct regs *r)
{
    struct file *f = fd_file(r->arg[0]);
    loff_t n;

    if (f == NULL)
        return -EBADF;
    n = file_seek(f, (loff_t)r->arg[1], (int)r->arg[2]);
    file_release(f);
    return n;
}

/* ioctl(2): only the file's own operation knows the meaning of most requests and of their argument. */
long sys_ioctl(struct regs *r)
{
    enum { FIONBIO = 0x5421, FIONCLEX = 0x5450, FIOCLEX = 0x5451, FIOASYNC = 0x5452 };
    struct file *f = fd_file(r->arg[0]);
    unsigned cmd = (unsigned)r->arg[1];
    int on;
    long n;

    if (f == NULL)
        return -EBADF;
    switch (cmd) {
    case FIOCLEX:
    case FIONCLEX:
        n = fd_set_flags(curproc()->files, (int)r->arg[0], cmd == FIOCLEX ? FD_CLOEXEC : 0);
        break;
    case FIONBIO:
        n = copy_in(&on, r->arg[2], sizeof on);
        if (n == 0) {
            unsigned flags = atomic_load(&f->flags) & ~(unsigned)O_NONBLOCK;

            n = set_status_flags(f, flags | (on ? O_NONBLOCK : 0));
        }
        break;
    case FIOASYNC:
        n = copy_in(&on, r->arg[2], sizeof on);
        if (n == 0)
            n = sigio_set(f, on != 0);
        break;
    default:
        n = f->ops->ioctl != NULL ? f->ops->ioctl(f, cmd, r->arg[2]) : -ENOTTY;
        if (n == -EINTR)
            n = -ERESTARTSYS;
    }
    file_release(f);
    return n;
}
