// SPDX-License-Identifier: MIT
/*
 * sys_stat.c - system calls that read the attributes of a file: stat, statx, statfs, access.
 *
 * SEE ALSO    vfs/vnode.h (vn_getattr), sys_attr.c (changes)
 */
#include "lib/errno.h"
#include "sys/path.h"
#include "sys/sys.h"

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

/* File type bits of st_mode, indexed by enum vtype. */
static const uint16_t type_bits[] = {
    [VREG] = 0100000, [VDIR] = 0040000,  [VLNK] = 0120000,  [VCHR] = 0020000,
    [VBLK] = 0060000, [VFIFO] = 0010000, [VSOCK] = 0140000, [VANON] = 0,
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
static bool is_user_path_empty(uint64_t upath)
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
    if ((flags & AT_EMPTY_PATH) && dirfd != AT_FDCWD && is_user_path_empty(r->arg[1]))
        return stat_fd(dirfd, r->arg[2]);
    return stat_path(dirfd, r->arg[1], flags & AT_EMPTY_PATH, flags & AT_SYMLINK_NOFOLLOW,
                     r->arg[2]);
}

/* Linux's struct statx; the fields in `spare` are not filled in. */
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

/* statx(dirfd, path, flags, mask, buf): always returns all basic statistics, for any mask. */
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
    if ((flags & AT_EMPTY_PATH) && (int)r->arg[0] != AT_FDCWD && is_user_path_empty(r->arg[1])) {
        f = fd_file_or_path(r->arg[0]);
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

/* The number that Linux gives the file system of a vnode; file_new_vnode()'s are of no file system of ours. */
static uint32_t magic_of(const struct vnode *vn)
{
    enum { ANON_INODE_FS = 0x09041934, PIPE_FS = 0x50495045, SOCK_FS = 0x534f434b };

    if (vn->vfs->magic != 0)
        return vn->vfs->magic;
    if (vn->type == VANON)
        return ANON_INODE_FS;
    return vn->type == VSOCK ? SOCK_FS : PIPE_FS;
}

/* Releases vn. */
static long put_statfs(uint64_t ubuf, struct vnode *vn)
{
    enum { ST_RDONLY = 1, ST_VALID = 0x20 };
    struct vfs *vfs = vn->vfs;
    struct user_statfs sf = {
        .type = magic_of(vn),
        .bsize = PAGE_SIZE,
        .frsize = PAGE_SIZE,
        .namelen = 255,
        .fsid = {(uint32_t)vfs->dev, (uint32_t)(vfs->dev >> 32)},
        .flags = ST_VALID | (vfs->readonly ? ST_RDONLY : 0),
    };

    if (vfs->op != NULL && vfs->op->statfs != NULL)
        vfs->op->statfs(vfs, &sf.blocks, &sf.bfree, &sf.files, &sf.ffree);
    sf.bavail = sf.bfree;
    vn_release(vn);
    return copy_out(ubuf, &sf, sizeof sf);
}

long sys_statfs(struct regs *r)
{
    struct vnode *vn;
    long err = at_vnode(AT_FDCWD, r->arg[0], false, false, &vn);

    return err != 0 ? err : put_statfs(r->arg[1], vn);
}

long sys_fstatfs(struct regs *r)
{
    struct file *f = fd_file_or_path(r->arg[0]);
    struct vnode *vn;

    if (f == NULL)
        return -EBADF;
    vn = file_vnode(f);
    file_release(f);
    return vn != NULL ? put_statfs(r->arg[1], vn) : -ENOMEM;
}

/* access(2) checks with the real ids, AT_EACCESS with the effective ids.  mode 0: only check that the file exists. */
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
