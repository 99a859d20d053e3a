// SPDX-License-Identifier: MIT
/*
 * sys_xattr.c - system calls on extended attributes, which no file system of this kernel stores.
 *
 * The calls check their arguments, the path and the permissions, in Linux's order.  Then the list of attributes is
 * empty, and all else fails with -EOPNOTSUPP, as on a file system of Linux without attributes.  Programs such as
 * `ls -l` and `cp -a` ask for attributes of each file, and take this as the answer that there are none.
 *
 * SEE ALSO    xattr(7) of Linux's manual, user/test/t_linux.c
 */
#include "lib/errno.h"
#include "lib/string.h"
#include "sys/path.h"
#include "sys/sys.h"

enum { XATTR_NAME_MAX = 255, XATTR_SIZE_MAX = 65536 };
enum { XATTR_CREATE = 1, XATTR_REPLACE = 2 };
enum { MAY_READ = 4, MAY_WRITE = 2 };

/* How the first argument of a call names the file. */
enum named { BY_PATH, BY_LINK, BY_FD };

/* Stores the file that `arg` names in *out, with a reference; NULL: an open file without a vnode.  0 or an error. */
static int find_named_vnode(enum named how, uint64_t arg, struct vnode **out)
{
    struct file *f;

    if (how != BY_FD)
        return at_vnode(AT_FDCWD, arg, false, how == BY_LINK, out);
    f = fd_file(arg);
    if (f == NULL)
        return -EBADF;
    *out = f->vn;
    if (f->vn != NULL)
        vn_hold(f->vn);
    file_release(f);
    return 0;
}

/*
 * The permissions for attribute `name`, as Linux checks them; mask: MAY_READ or MAY_WRITE.  Always an
 * error; -EOPNOTSUPP if the access is allowed.
 */
static int refuse_attribute(struct vnode *vn, const char *name, unsigned mask)
{
    int denied = mask == MAY_WRITE ? -EPERM : -ENODATA, err;

    if (vn != NULL && mask == MAY_WRITE) {
        if (vn->vfs->readonly)
            return -EROFS;
        if ((vn->attr & (VN_IMMUTABLE | VN_APPEND)) != 0)
            return -EPERM;
    }
    if (strncmp(name, "security.", 9) == 0 || strncmp(name, "system.", 7) == 0)
        return -EOPNOTSUPP;
    if (strncmp(name, "trusted.", 8) == 0)
        return cred_superuser(curcred()) ? -EOPNOTSUPP : denied;
    if (strncmp(name, "user.", 5) == 0 && (vn == NULL || (vn->type != VREG && vn->type != VDIR)))
        return denied;
    err = vn != NULL ? vn_access(vn, mask, curcred()) : 0;
    return err != 0 ? err : -EOPNOTSUPP;
}

static int attribute_name_in(uint64_t uname, char *name)
{
    long len = copy_in_str(name, uname, XATTR_NAME_MAX + 1);

    if (len == 0 || len == -ENAMETOOLONG)
        return -ERANGE;
    return len < 0 ? (int)len : 0;
}

/* A call on one attribute: reads the name and finds the file. */
static long refuse_named_attribute(enum named how, struct regs *r, unsigned mask)
{
    char name[XATTR_NAME_MAX + 1];
    struct vnode *vn;
    int err = attribute_name_in(r->arg[1], name);

    if (err == 0)
        err = find_named_vnode(how, r->arg[0], &vn);
    if (err != 0)
        return err;
    err = refuse_attribute(vn, name, mask);
    if (vn != NULL)
        vn_release(vn);
    return err;
}

/* Touches all of a value that the program passes.  0 or -EFAULT. */
static int check_value(uint64_t uvalue, uint64_t size)
{
    char piece[256];

    for (uint64_t at = 0; at < size; at += sizeof piece)
        if (copy_in(piece, uvalue + at, min_of(size - at, sizeof piece)) != 0)
            return -EFAULT;
    return 0;
}

/* setxattr(file, name, value, size, flags) */
static long do_setxattr(enum named how, struct regs *r)
{
    char name[XATTR_NAME_MAX + 1];
    int err;

    if (((unsigned)r->arg[4] & ~(unsigned)(XATTR_CREATE | XATTR_REPLACE)) != 0)
        return -EINVAL;
    err = attribute_name_in(r->arg[1], name);
    if (err == 0 && r->arg[3] > XATTR_SIZE_MAX)
        err = -E2BIG;
    if (err == 0)
        err = check_value(r->arg[2], r->arg[3]);
    return err != 0 ? err : refuse_named_attribute(how, r, MAY_WRITE);
}

static long do_listxattr(enum named how, struct regs *r)
{
    struct vnode *vn;
    int err = find_named_vnode(how, r->arg[0], &vn);

    if (err == 0 && vn != NULL)
        vn_release(vn);
    return err;
}

long sys_setxattr(struct regs *r)
{
    return do_setxattr(BY_PATH, r);
}

long sys_lsetxattr(struct regs *r)
{
    return do_setxattr(BY_LINK, r);
}

long sys_fsetxattr(struct regs *r)
{
    return do_setxattr(BY_FD, r);
}

long sys_getxattr(struct regs *r)
{
    return refuse_named_attribute(BY_PATH, r, MAY_READ);
}

long sys_lgetxattr(struct regs *r)
{
    return refuse_named_attribute(BY_LINK, r, MAY_READ);
}

long sys_fgetxattr(struct regs *r)
{
    return refuse_named_attribute(BY_FD, r, MAY_READ);
}

long sys_listxattr(struct regs *r)
{
    return do_listxattr(BY_PATH, r);
}

long sys_llistxattr(struct regs *r)
{
    return do_listxattr(BY_LINK, r);
}

long sys_flistxattr(struct regs *r)
{
    return do_listxattr(BY_FD, r);
}

long sys_removexattr(struct regs *r)
{
    return refuse_named_attribute(BY_PATH, r, MAY_WRITE);
}

long sys_lremovexattr(struct regs *r)
{
    return refuse_named_attribute(BY_LINK, r, MAY_WRITE);
}

long sys_fremovexattr(struct regs *r)
{
    return refuse_named_attribute(BY_FD, r, MAY_WRITE);
}
