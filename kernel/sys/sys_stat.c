// SPDX-License-Identifier: MIT
/*
 * sys_stat.c - system calls that tell or change what a file is: stat, statfs, access, modes,
 * owners, times, sizes.
 *
 * SEE ALSO    fs/vnode.h (vn_getattr, vn_setattr: the rules)
 */
#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "sys/path.h"
#include "sys/sys.h"
#include "sys/utime.h"

/* Linux's struct stat on x86-64. */
struct user_stat {
    uint64_t dev, ino, nlink;
    uint32_t mode, uid, gid, pad0;
    uint64_t rdev;
    int64_t size, blksize, blocks;
    struct ktime atime, mtime, ctime;
    int64_t unused[3];
};
_Static_assert(sizeof(struct user_stat) == 144, "Linux's struct stat");

/* File type bits of st_mode by enum vtype. */
static const uint16_t type_bits[] = {
    [VREG] = 0100000, [VDIR] = 0040000,  [VLNK] = 0120000,  [VCHR] = 0020000,
    [VBLK] = 0060000, [VFIFO] = 0010000, [VSOCK] = 0140000,
};

static long put_stat(uint64_t ubuf, const struct vattr *va)
{
    struct user_stat st;

    st.dev = va->dev;
    st.ino = va->ino;
    st.nlink = va->nlink;
    st.mode = va->mode | type_bits[va->type];
    st.uid = va->uid;
    st.gid = va->gid;
    st.pad0 = 0;
    st.rdev = va->rdev;
    st.size = (int64_t)va->size;
    st.blksize = va->blksize;
    st.blocks = (int64_t)va->blocks;
    st.atime = va->atime;
    st.mtime = va->mtime;
    st.ctime = va->ctime;
    st.unused[0] = st.unused[1] = st.unused[2] = 0;
    return copy_out(ubuf, &st, sizeof st);
}

static long stat_fd(int fd, uint64_t ubuf)
{
    struct file *f = fd_get(curproc()->files, fd);
    struct vattr va;
    long err;

    if (f == NULL)
        return -EBADF;
    file_getattr(f, &va);
    err = put_stat(ubuf, &va);
    file_release(f);
    return err;
}

static long stat_path(int dirfd, uint64_t upath, bool empty_ok, bool nofollow, uint64_t ubuf)
{
    struct vnode *vn;
    struct vattr va;
    int err = at_vnode(dirfd, upath, empty_ok, nofollow, &vn);

    if (err != 0)
        return err;
    vn_getattr(vn, &va);
    vn_release(vn);
    return put_stat(ubuf, &va);
}

long sys_stat(struct regs *r)
{
    return stat_path(AT_FDCWD, r->arg[0], false, false, r->arg[1]);
}

long sys_lstat(struct regs *r)
{
    return stat_path(AT_FDCWD, r->arg[0], false, true, r->arg[1]);
}

long sys_fstat(struct regs *r)
{
    return stat_fd((int)r->arg[0], r->arg[1]);
}

/* Whether the user string at `upath` is empty. */
static bool path_empty(uint64_t upath)
{
    char c;

    return copy_in(&c, upath, 1) == 0 && c == '\0';
}

long sys_newfstatat(struct regs *r)
{
    const unsigned known = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | 0x800 /* AT_NO_AUTOMOUNT */;
    unsigned flags = (unsigned)r->arg[3];
    int dirfd = (int)r->arg[0];

    if (flags & ~known)
        return -EINVAL;
    if ((flags & AT_EMPTY_PATH) && dirfd != AT_FDCWD && path_empty(r->arg[1]))
        return stat_fd(dirfd, r->arg[2]);
    return stat_path(dirfd, r->arg[1], flags & AT_EMPTY_PATH, flags & AT_SYMLINK_NOFOLLOW,
                     r->arg[2]);
}

/* Linux's struct statx, as far as it is filled. */
struct user_statx {
    uint32_t mask, blksize;
    uint64_t attributes;
    uint32_t nlink, uid, gid;
    uint16_t mode, pad;
    uint64_t ino, size, blocks, attributes_mask;
    struct {
        int64_t sec;
        uint32_t nsec, pad;
    } atime, btime, ctime, mtime;
    uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
    uint64_t spare[14];
};
_Static_assert(sizeof(struct user_statx) == 256, "Linux's struct statx");

/* statx(dirfd, path, flags, mask, buf): all the basic statistics, always. */
long sys_statx(struct regs *r)
{
    enum { STATX_BASIC_STATS = 0x7ff };
    unsigned flags = (unsigned)r->arg[2];
    struct file *f = NULL;
    struct vnode *vn = NULL;
    struct vattr va;
    struct user_statx sx = {0};
    long err;

    if ((int32_t)r->arg[3] < 0)
        return -EINVAL;
    if ((flags & AT_EMPTY_PATH) && (int)r->arg[0] != AT_FDCWD && path_empty(r->arg[1])) {
        f = fd_file(r->arg[0]);
        if (f == NULL)
            return -EBADF;
        file_getattr(f, &va);
        file_release(f);
    } else {
        err = at_vnode((int)r->arg[0], r->arg[1], flags & AT_EMPTY_PATH,
                       flags & AT_SYMLINK_NOFOLLOW, &vn);
        if (err != 0)
            return err;
        vn_getattr(vn, &va);
        vn_release(vn);
    }
    sx.mask = STATX_BASIC_STATS;
    sx.blksize = va.blksize;
    sx.nlink = va.nlink;
    sx.uid = va.uid;
    sx.gid = va.gid;
    sx.mode = (uint16_t)(va.mode | type_bits[va.type]);
    sx.ino = va.ino;
    sx.size = va.size;
    sx.blocks = va.blocks;
    sx.atime.sec = va.atime.sec;
    sx.atime.nsec = (uint32_t)va.atime.nsec;
    sx.mtime.sec = va.mtime.sec;
    sx.mtime.nsec = (uint32_t)va.mtime.nsec;
    sx.ctime.sec = va.ctime.sec;
    sx.ctime.nsec = (uint32_t)va.ctime.nsec;
    sx.rdev_major = (uint32_t)(va.rdev >> 8);
    sx.rdev_minor = (uint32_t)(va.rdev & 0xff);
    sx.dev_major = (uint32_t)(va.dev >> 8);
    sx.dev_minor = (uint32_t)(va.dev & 0xff);
    return copy_out(r->arg[4], &sx, sizeof sx);
}

/* Linux's struct statfs. */
struct user_statfs {
    uint64_t type, bsize, blocks, bfree, bavail, files, ffree;
    uint32_t fsid[2];
    uint64_t namelen, frsize, flags, spare[4];
};
_Static_assert(sizeof(struct user_statfs) == 120, "Linux's struct statfs");

static long put_statfs(uint64_t ubuf, struct vfs *vfs)
{
    enum { ST_RDONLY = 1, ST_VALID = 0x20 };
    struct user_statfs sf = {
        .type = vfs->magic,
        .bsize = PAGE_SIZE,
        .frsize = PAGE_SIZE,
        .namelen = 255,
        .fsid = {(uint32_t)vfs->dev, (uint32_t)(vfs->dev >> 32)},
        .flags = ST_VALID | (vfs->readonly ? ST_RDONLY : 0),
    };

    if (vfs->op != NULL && vfs->op->statfs != NULL)
        vfs->op->statfs(vfs, &sf.blocks, &sf.bfree, &sf.files, &sf.ffree);
    sf.bavail = sf.bfree;
    return copy_out(ubuf, &sf, sizeof sf);
}

long sys_statfs(struct regs *r)
{
    struct vnode *vn;
    long err = at_vnode(AT_FDCWD, r->arg[0], false, false, &vn);

    if (err == 0) {
        err = put_statfs(r->arg[1], vn->vfs);
        vn_release(vn);
    }
    return err;
}

long sys_fstatfs(struct regs *r)
{
    struct file *f = fd_file(r->arg[0]);
    long err;

    if (f == NULL)
        return -EBADF;
    err = f->vn != NULL ? put_statfs(r->arg[1], f->vn->vfs) : -ENOSYS;
    file_release(f);
    return err;
}

/* access(2) asks with the real ids; faccessat2 with AT_EACCESS asks with the effective ones. */
static long do_access(int dirfd, uint64_t upath, unsigned mode, unsigned flags)
{
    const struct cred *cr = curcred();
    struct cred *dup = NULL;
    struct vnode *vn;
    long err;

    if ((mode & ~7u) || (flags & ~(unsigned)(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)))
        return -EINVAL;
    err = at_vnode(dirfd, upath, flags & AT_EMPTY_PATH, flags & AT_SYMLINK_NOFOLLOW, &vn);
    if (err != 0)
        return err;
    if (!(flags & AT_EACCESS) && (cr->uid != cr->fsuid || cr->gid != cr->fsgid)) {
        dup = cred_dup(cr);
        if (dup == NULL) {
            vn_release(vn);
            return -ENOMEM;
        }
        dup->euid = dup->fsuid = dup->uid;
        dup->egid = dup->fsgid = dup->gid;
        cr = dup;
    }
    if (mode != 0) {
        rw_enter_read(&vn->lock);
        err = vn_access(vn, mode, cr);
        rw_exit_read(&vn->lock);
    }
    vn_release(vn);
    if (dup != NULL)
        cred_release(dup);
    return err;
}

long sys_access(struct regs *r)
{
    return do_access(AT_FDCWD, r->arg[0], (unsigned)r->arg[1], 0);
}

long sys_faccessat(struct regs *r)
{
    return do_access((int)r->arg[0], r->arg[1], (unsigned)r->arg[2], 0);
}

long sys_faccessat2(struct regs *r)
{
    return do_access((int)r->arg[0], r->arg[1], (unsigned)r->arg[2], (unsigned)r->arg[3]);
}

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

/* vn_setattr() on the file behind a descriptor; -EINVAL for a pipe without a name. */
static long setattr_fd(uint64_t fd, unsigned mask, const struct vattr *va)
{
    struct file *f = fd_file(fd);
    long err;

    if (f == NULL)
        return -EBADF;
    err = f->vn != NULL ? vn_setattr(f->vn, mask, va, curcred(), false) : -EINVAL;
    file_release(f);
    return err;
}

long sys_fchmod(struct regs *r)
{
    struct vattr va = {.mode = (uint32_t)r->arg[1] & 07777};

    return setattr_fd(r->arg[0], VA_MODE, &va);
}

/* Which of the two ids chown(2) is to change: -1 leaves one as it is. */
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

/* One of the two times of utimensat(2): an instant, UTIME_NOW or UTIME_OMIT. */
static int time_arg(const struct ktime *t, struct ktime *out, unsigned va, unsigned va_now,
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

/* Sets times; `times` NULL: both now.  upath 0: of the file dirfd itself. */
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
        err = time_arg(&times[0], &va.atime, VA_ATIME, VA_ATIME_NOW, &mask);
        if (err == 0)
            err = time_arg(&times[1], &va.mtime, VA_MTIME, VA_MTIME_NOW, &mask);
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
    int err;

    if (r->arg[2] != 0 && (err = copy_in(times, r->arg[2], sizeof times)) != 0)
        return err;
    return do_utimes((int)r->arg[0], r->arg[1], r->arg[2] != 0 ? times : NULL,
                     (unsigned)r->arg[3]);
}

/* futimesat, utimes: pairs of seconds and microseconds. */
static long utimes_us(int dirfd, uint64_t upath, uint64_t utimes)
{
    struct ktime times[2];
    int err;

    if (utimes == 0)
        return do_utimes(dirfd, upath, NULL, 0);
    if ((err = copy_in(times, utimes, sizeof times)) != 0)
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
    return utimes_us((int)r->arg[0], r->arg[1], r->arg[2]);
}

long sys_utimes(struct regs *r)
{
    return utimes_us(AT_FDCWD, r->arg[0], r->arg[1]);
}

long sys_utime(struct regs *r)
{
    struct ktime times[2] = {0};
    int64_t sec[2];
    int err;

    if (r->arg[1] == 0)
        return do_utimes(AT_FDCWD, r->arg[0], NULL, 0);
    if ((err = copy_in(sec, r->arg[1], sizeof sec)) != 0)
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

long sys_fallocate(struct regs *r)
{
    struct file *f = fd_file(r->arg[0]);
    long err;

    if (f == NULL)
        return -EBADF;
    if ((atomic_load(&f->flags) & O_ACCMODE) == O_RDONLY)
        err = -EBADF;
    else if (f->vn == NULL || f->vn->type == VFIFO)
        err = -ESPIPE;
    else
        err = vn_fallocate(f->vn, (int)r->arg[1], (loff_t)r->arg[2], (loff_t)r->arg[3]);
    file_release(f);
    return err;
}
