// SPDX-License-Identifier: MIT
/*
 * sys_attr.c - system calls that change the attributes of a file: mode, owner, times, size.
 *
 * SEE ALSO    vfs/vnode.h (vn_setattr checks the permissions), sys_stat.c
 */
#include "lib/errno.h"
#include "sys/path.h"
#include "sys/sys.h"
#include "sys/utime.h"

static long chmod_path(int dirfd, uint64_t upath, uint64_t mode)
{
    struct vattr va = {.mode = (uint32_t)mode & 07777};
    struct vnode *vn;
    long err = at_vnode(dirfd, upath, false, false, &vn);

    if (err == 0) {
        err = vn_setattr(vn, VA_MODE, &va, curcred(), false);
        vn_release(vn);
    }
    return err;
}

long sys_chmod(struct regs *r)
{
    return chmod_path(AT_FDCWD, r->arg[0], r->arg[1]);
}

long sys_fchmodat(struct regs *r)
{
    return chmod_path((int)r->arg[0], r->arg[1], r->arg[2]);
}

/*
 * Calls vn_setattr() for the file of a descriptor.  -EBADF; -EOPNOTSUPP if the file has no vnode (a
 * pipe, for example).
 */
static long setattr_fd(uint64_t fd, unsigned mask, const struct vattr *va)
{
    struct file *f = fd_file(fd);
    long err;

    if (f == NULL)
        return -EBADF;
    err = f->vn != NULL ? vn_setattr(f->vn, mask, va, curcred(), false) : -EOPNOTSUPP;
    file_release(f);
    return err;
}

long sys_fchmod(struct regs *r)
{
    struct vattr va = {.mode = (uint32_t)r->arg[1] & 07777};

    return setattr_fd(r->arg[0], VA_MODE, &va);
}

/*
 * Returns VA_UID, VA_GID or both, for the ids that chown(2) changes.  An argument of -1 leaves the
 * id unchanged.
 */
static unsigned chown_mask(const struct vattr *va)
{
    return (va->uid != UINT32_MAX ? VA_UID : 0) | (va->gid != UINT32_MAX ? VA_GID : 0);
}

static long chown_path(int dirfd, uint64_t upath, uint64_t uid, uint64_t gid, unsigned flags)
{
    struct vattr va = {.uid = (uint32_t)uid, .gid = (uint32_t)gid};
    struct vnode *vn;
    long err;

    if (flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    err = at_vnode(dirfd, upath, flags & AT_EMPTY_PATH, flags & AT_SYMLINK_NOFOLLOW, &vn);
    if (err == 0) {
        err = vn_setattr(vn, chown_mask(&va), &va, curcred(), false);
        vn_release(vn);
    }
    return err;
}

long sys_chown(struct regs *r)
{
    return chown_path(AT_FDCWD, r->arg[0], r->arg[1], r->arg[2], 0);
}

long sys_lchown(struct regs *r)
{
    return chown_path(AT_FDCWD, r->arg[0], r->arg[1], r->arg[2], AT_SYMLINK_NOFOLLOW);
}

long sys_fchownat(struct regs *r)
{
    return chown_path((int)r->arg[0], r->arg[1], r->arg[2], r->arg[3], (unsigned)r->arg[4]);
}

long sys_fchown(struct regs *r)
{
    struct vattr va = {.uid = (uint32_t)r->arg[1], .gid = (uint32_t)r->arg[2]};

    return setattr_fd(r->arg[0], chown_mask(&va), &va);
}

/*
 * Decodes one time of utimensat(2).  UTIME_OMIT changes nothing; UTIME_NOW adds va_now to *mask; any other
 * time is stored in *out and adds `va` to *mask.  0 or -EINVAL.
 */
static int decode_utime(const struct ktime *t, struct ktime *out, unsigned va, unsigned va_now,
                        unsigned *mask)
{
    enum { UTIME_NOW = 0x3fffffff, UTIME_OMIT = 0x3ffffffe };

    if (t->nsec == UTIME_OMIT)
        return 0;
    if (t->nsec == UTIME_NOW) {
        *mask |= va_now;
        return 0;
    }
    if (t->nsec < 0 || t->nsec >= NSEC_PER_SEC)
        return -EINVAL;
    *out = *t;
    *mask |= va;
    return 0;
}

/*
 * Sets access and modification time; times NULL: set both to the present time.  If upath is 0, the
 * file is that of descriptor dirfd.
 */
static long do_utimes(int dirfd, uint64_t upath, const struct ktime *times, unsigned flags)
{
    struct vattr va = {0};
    unsigned mask = 0;
    struct vnode *vn;
    long err = 0;

    if (flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    if (times == NULL) {
        mask = VA_ATIME_NOW | VA_MTIME_NOW;
    } else {
        err = decode_utime(&times[0], &va.atime, VA_ATIME, VA_ATIME_NOW, &mask);
        if (err == 0)
            err = decode_utime(&times[1], &va.mtime, VA_MTIME, VA_MTIME_NOW, &mask);
        if (err != 0)
            return err;
    }
    if (upath == 0)
        return setattr_fd((uint64_t)dirfd, mask, &va);
    err = at_vnode(dirfd, upath, flags & AT_EMPTY_PATH, flags & AT_SYMLINK_NOFOLLOW, &vn);
    if (err != 0)
        return err;
    err = vn_setattr(vn, mask, &va, curcred(), false);
    vn_release(vn);
    return err;
}

long sys_utimensat(struct regs *r)
{
    struct ktime times[2];
    int err = 0;

    if (r->arg[2] != 0)
        err = copy_in(times, r->arg[2], sizeof times);
    if (err != 0)
        return err;
    return do_utimes((int)r->arg[0], r->arg[1], r->arg[2] != 0 ? times : NULL, (unsigned)r->arg[3]);
}

/* futimesat, utimes: pairs of seconds and microseconds. */
static long do_utimes_usec(int dirfd, uint64_t upath, uint64_t utimes)
{
    struct ktime times[2];
    int err;

    if (utimes == 0)
        return do_utimes(dirfd, upath, NULL, 0);
    err = copy_in(times, utimes, sizeof times);
    if (err != 0)
        return err;
    for (int i = 0; i < 2; i++) {
        if (times[i].nsec < 0 || times[i].nsec >= USEC_PER_SEC)
            return -EINVAL;
        times[i].nsec *= 1000;
    }
    return do_utimes(dirfd, upath, times, 0);
}

long sys_futimesat(struct regs *r)
{
    return do_utimes_usec((int)r->arg[0], r->arg[1], r->arg[2]);
}

long sys_utimes(struct regs *r)
{
    return do_utimes_usec(AT_FDCWD, r->arg[0], r->arg[1]);
}

long sys_utime(struct regs *r)
{
    struct ktime times[2] = {0};
    int64_t sec[2];
    int err;

    if (r->arg[1] == 0)
        return do_utimes(AT_FDCWD, r->arg[0], NULL, 0);
    err = copy_in(sec, r->arg[1], sizeof sec);
    if (err != 0)
        return err;
    times[0].sec = sec[0];
    times[1].sec = sec[1];
    return do_utimes(AT_FDCWD, r->arg[0], times, 0);
}

long sys_truncate(struct regs *r)
{
    struct vattr va = {.size = r->arg[1]};
    struct vnode *vn;
    long err;

    if ((loff_t)r->arg[1] < 0)
        return -EINVAL;
    err = at_vnode(AT_FDCWD, r->arg[0], false, false, &vn);
    if (err == 0) {
        err = vn_setattr(vn, VA_SIZE, &va, curcred(), false);
        vn_release(vn);
    }
    return err;
}

long sys_ftruncate(struct regs *r)
{
    struct vattr va = {.size = r->arg[1]};
    struct file *f = fd_file(r->arg[0]);
    long err;

    if (f == NULL)
        return -EBADF;
    if ((loff_t)r->arg[1] < 0 || f->vn == NULL || f->vn->type != VREG ||
        (atomic_load(&f->flags) & O_ACCMODE) == O_RDONLY)
        err = -EINVAL;
    else
        err = vn_setattr(f->vn, VA_SIZE, &va, curcred(), true);
    file_release(f);
    return err;
}

/* Whether a file can have an fallocate(2) of this mode. */
static bool can_fallocate(int mode)
{
    switch (mode & ~FALLOC_KEEP_SIZE) {
    case 0:
    case FALLOC_ZERO_RANGE:
        return true;
    default:
        return mode == (FALLOC_PUNCH_HOLE | FALLOC_KEEP_SIZE);
    }
}

/* fallocate(fd, mode, off, len).  As on Linux, arguments that no file can have are refused first. */
long sys_fallocate(struct regs *r)
{
    struct file *f = fd_file(r->arg[0]);
    long err;

    if (f == NULL)
        return -EBADF;
    if ((loff_t)r->arg[2] < 0 || (loff_t)r->arg[3] <= 0)
        err = -EINVAL;
    else if (!can_fallocate((int)r->arg[1]))
        err = -EOPNOTSUPP;
    else if ((atomic_load(&f->flags) & O_ACCMODE) == O_RDONLY)
        err = -EBADF;
    else if (f->vn == NULL)
        err = file_is_pipe(f) ? -ESPIPE : -ENODEV;
    else
        err = vn_changed(f->vn, (atomic_load(&f->flags) & O_DSYNC) != 0,
                         vn_fallocate(f->vn, (int)r->arg[1], (loff_t)r->arg[2], (loff_t)r->arg[3]));
    file_release(f);
    return err;
}
