// SPDX-License-Identifier: MIT
/*
 * sys_name.c - system calls that create, remove and look up names.
 *
 * A call without a directory argument is its *at variant with AT_FDCWD.  vfs/nameop.c implements the rules.
 *
 * SEE ALSO    vfs/vnode.h, user/test/t_sys.c
 */
#include "lib/errno.h"
#include "lib/string.h"
#include "sys/path.h"
#include "sys/sys.h"

enum {
    S_IFMT = 0170000,
    S_IFIFO = 0010000,
    S_IFCHR = 0020000,
    S_IFBLK = 0060000,
    S_IFREG = 0100000,
    S_IFSOCK = 0140000
};

/* The permission bits of a new file: `mode` without the bits in the umask. */
static uint32_t apply_umask(uint64_t mode)
{
    return (uint32_t)mode & 07777 & ~curproc()->fs->umask;
}

static long create_name_at(int dirfd, uint64_t upath, enum vtype type, uint32_t mode, uint64_t rdev,
                           const char *target)
{
    struct at_path ap;
    int err = at_begin(&ap, dirfd, upath);

    if (err != 0)
        return err;
    err = name_create(&ap.ctx, ap.at, ap.path, type, mode, rdev, target);
    at_end(&ap);
    return err;
}

long sys_mkdirat(struct regs *r)
{
    return create_name_at((int)r->arg[0], r->arg[1], VDIR, apply_umask(r->arg[2]) & 01777, 0, NULL);
}

long sys_mkdir(struct regs *r)
{
    return create_name_at(AT_FDCWD, r->arg[0], VDIR, apply_umask(r->arg[1]) & 01777, 0, NULL);
}

static long do_mknod(int dirfd, uint64_t upath, uint64_t mode, uint64_t rdev)
{
    enum vtype type;

    switch (mode & S_IFMT) {
    case 0:
    case S_IFREG:
        type = VREG;
        break;
    case S_IFIFO:
        type = VFIFO;
        break;
    case S_IFSOCK:
        type = VSOCK;
        break;
    case S_IFCHR:
        type = VCHR;
        break;
    case S_IFBLK:
        type = VBLK;
        break;
    default:
        return -EINVAL;
    }
    if ((type == VCHR || type == VBLK) && !cred_superuser(curcred()))
        return -EPERM;
    return create_name_at(dirfd, upath, type, apply_umask(mode), rdev, NULL);
}

long sys_mknodat(struct regs *r)
{
    return do_mknod((int)r->arg[0], r->arg[1], r->arg[2], r->arg[3]);
}

long sys_mknod(struct regs *r)
{
    return do_mknod(AT_FDCWD, r->arg[0], r->arg[1], r->arg[2]);
}

static long do_symlink(uint64_t utarget, int dirfd, uint64_t upath)
{
    char *target;
    long err = path_get(utarget, &target);

    if (err != 0)
        return err;
    err = target[0] == '\0' ? -ENOENT : create_name_at(dirfd, upath, VLNK, 0777, 0, target);
    path_put(target);
    return err;
}

long sys_symlinkat(struct regs *r)
{
    return do_symlink(r->arg[0], (int)r->arg[1], r->arg[2]);
}

long sys_symlink(struct regs *r)
{
    return do_symlink(r->arg[0], AT_FDCWD, r->arg[1]);
}

static long do_link(int ofd, uint64_t uold, int nfd, uint64_t unew, unsigned flags)
{
    struct at_path ap;
    struct vnode *vn;
    int err;

    if (flags & ~(unsigned)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    if ((flags & AT_EMPTY_PATH) && !cred_superuser(curcred()))
        return -ENOENT;
    err = at_vnode(ofd, uold, flags & AT_EMPTY_PATH, !(flags & AT_SYMLINK_FOLLOW), &vn);
    if (err != 0)
        return err;
    err = at_begin(&ap, nfd, unew);
    if (err == 0) {
        err = name_link(&ap.ctx, vn, ap.at, ap.path);
        at_end(&ap);
    }
    vn_release(vn);
    return err;
}

long sys_linkat(struct regs *r)
{
    return do_link((int)r->arg[0], r->arg[1], (int)r->arg[2], r->arg[3], (unsigned)r->arg[4]);
}

long sys_link(struct regs *r)
{
    return do_link(AT_FDCWD, r->arg[0], AT_FDCWD, r->arg[1], 0);
}

static long do_unlink(int dirfd, uint64_t upath, bool rmdir)
{
    struct at_path ap;
    int err = at_begin(&ap, dirfd, upath);

    if (err != 0)
        return err;
    err = name_unlink(&ap.ctx, ap.at, ap.path, rmdir);
    at_end(&ap);
    return err;
}

long sys_unlinkat(struct regs *r)
{
    if (r->arg[2] & ~(uint64_t)AT_REMOVEDIR)
        return -EINVAL;
    return do_unlink((int)r->arg[0], r->arg[1], r->arg[2] != 0);
}

long sys_unlink(struct regs *r)
{
    return do_unlink(AT_FDCWD, r->arg[0], false);
}

long sys_rmdir(struct regs *r)
{
    return do_unlink(AT_FDCWD, r->arg[0], true);
}

static long do_rename(int ofd, uint64_t uold, int nfd, uint64_t unew, unsigned flags)
{
    struct at_path from, to;
    int err;

    if (flags & ~(unsigned)RENAME_NOREPLACE)
        return -EINVAL;
    err = at_begin(&from, ofd, uold);
    if (err != 0)
        return err;
    err = at_begin(&to, nfd, unew);
    if (err == 0) {
        err = name_rename(&from.ctx, from.at, from.path, to.at, to.path, flags);
        at_end(&to);
    }
    at_end(&from);
    return err;
}

long sys_renameat2(struct regs *r)
{
    return do_rename((int)r->arg[0], r->arg[1], (int)r->arg[2], r->arg[3], (unsigned)r->arg[4]);
}

long sys_renameat(struct regs *r)
{
    return do_rename((int)r->arg[0], r->arg[1], (int)r->arg[2], r->arg[3], 0);
}

long sys_rename(struct regs *r)
{
    return do_rename(AT_FDCWD, r->arg[0], AT_FDCWD, r->arg[1], 0);
}

static long do_readlink(int dirfd, uint64_t upath, uint64_t ubuf, uint64_t size)
{
    struct vnode *vn;
    char *buf;
    long n;
    int err;

    if ((int64_t)size <= 0)
        return -EINVAL;
    err = at_vnode(dirfd, upath, true, true, &vn);
    if (err != 0)
        return err;
    n = path_alloc(&buf);
    if (n == 0) {
        n = vn_readlink(vn, buf, PATH_MAX);
        if (n > 0) {
            n = (long)min_of((uint64_t)n, size);
            err = copy_out(ubuf, buf, (size_t)n);
            n = err != 0 ? err : n;
        }
        path_put(buf);
    }
    vn_release(vn);
    return n;
}

long sys_readlinkat(struct regs *r)
{
    return do_readlink((int)r->arg[0], r->arg[1], r->arg[2], r->arg[3]);
}

long sys_readlink(struct regs *r)
{
    return do_readlink(AT_FDCWD, r->arg[0], r->arg[1], r->arg[2]);
}

/* Makes `vn` the working or root directory, *which.  Takes over the caller's reference to `vn`, also on error. */
static long set_process_dir(struct vnode *vn, struct vnode **which)
{
    struct fsinfo *fs = curproc()->fs;
    struct vnode *old = vn;
    int err;

    rw_enter_read(&vn->lock);
    err = vn->type == VDIR ? vn_access(vn, 1, curcred()) : -ENOTDIR;
    rw_exit_read(&vn->lock);
    if (err == 0) {
        mutex_enter(&fs->lock);
        old = *which;
        *which = vn;
        mutex_exit(&fs->lock);
    }
    vn_release(old);
    return err;
}

long sys_chdir(struct regs *r)
{
    struct vnode *vn;
    int err = at_vnode(AT_FDCWD, r->arg[0], false, false, &vn);

    return err != 0 ? err : set_process_dir(vn, &curproc()->fs->cwd);
}

long sys_fchdir(struct regs *r)
{
    struct file *f = fd_file_or_path(r->arg[0]);
    long err;

    if (f == NULL)
        return -EBADF;
    if (f->vn == NULL) {
        err = -ENOTDIR;
    } else {
        vn_hold(f->vn);
        err = set_process_dir(f->vn, &curproc()->fs->cwd);
    }
    file_release(f);
    return err;
}

long sys_chroot(struct regs *r)
{
    struct vnode *vn;
    int err = at_vnode(AT_FDCWD, r->arg[0], false, false, &vn);

    if (err != 0)
        return err;
    if (!cred_superuser(curcred())) {
        vn_release(vn);
        return -EPERM;
    }
    return set_process_dir(vn, &curproc()->fs->root);
}

/* getcwd(2): returns the length including the NUL; -ERANGE if the buffer is too small. */
long sys_getcwd(struct regs *r)
{
    struct fs_ctx ctx;
    char *buf;
    long n, err = path_alloc(&buf);

    if (err != 0)
        return err;
    fs_context(&ctx);
    n = name_of(&ctx, ctx.cwd, buf, PATH_MAX);
    fs_context_done(&ctx);
    if (n >= 0) {
        n++;
        err = (uint64_t)n > r->arg[1] ? -ERANGE : copy_out(r->arg[0], buf, (size_t)n);
        if (err != 0)
            n = err;
    }
    path_put(buf);
    return n;
}

long sys_umask(struct regs *r)
{
    struct fsinfo *fs = curproc()->fs;
    uint32_t old;

    mutex_enter(&fs->lock);
    old = fs->umask;
    fs->umask = (uint32_t)r->arg[0] & 0777;
    mutex_exit(&fs->lock);
    return (long)old;
}

/* mount(source, target, type, flags, data): superuser only.  Type NULL is -EINVAL, except for a remount. */
long sys_mount(struct regs *r)
{
    struct vnode *dir;
    char *source = NULL, *type = NULL, *options = NULL;
    int err = 0;

    if (!cred_superuser(curcred()))
        return -EPERM;
    if (r->arg[2] != 0)
        err = path_get(r->arg[2], &type);
    else if (!((unsigned)r->arg[3] & MS_REMOUNT))
        err = -EINVAL;
    if (err == 0 && r->arg[0] != 0)
        err = path_get(r->arg[0], &source);
    if (err == 0 && r->arg[4] != 0)
        err = path_get(r->arg[4], &options);
    if (err == 0)
        err = at_vnode(AT_FDCWD, r->arg[1], false, false, &dir);
    if (err == 0) {
        if (dir->type != VDIR)
            err = -ENOTDIR;
        else
            err = vfs_mount(dir, type != NULL ? type : "", source != NULL ? source : "none",
                            options != NULL ? options : "", (unsigned)r->arg[3]);
        vn_release(dir);
    }
    if (type != NULL)
        path_put(type);
    if (source != NULL)
        path_put(source);
    if (options != NULL)
        path_put(options);
    return err;
}

long sys_umount2(struct regs *r)
{
    struct vnode *root;
    int err;

    if (!cred_superuser(curcred()))
        return -EPERM;
    err = at_vnode(AT_FDCWD, r->arg[0], false, (r->arg[1] & UMOUNT_NOFOLLOW) != 0, &root);
    if (err != 0)
        return err;
    err = vfs_unmount(root, (unsigned)r->arg[1]);
    if (err != 0)
        vn_release(root);
    return err;
}
