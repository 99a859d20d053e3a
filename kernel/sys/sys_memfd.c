// SPDX-License-Identifier: MIT
/*
 * sys_memfd.c - system calls on the contents of files that only Debian's programs use: memfd_create, copy_file_range.
 *
 * SEE ALSO    fs/tmpfs/memfd.c, sys_io.c
 */
#include "fs/tmpfs/tmpfs.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "sys/path.h"
#include "sys/sys.h"
#include "x86/uaccess.h"

enum { MFD_CLOEXEC = 1, MFD_NAME_MAX = 249 };

/* memfd_create(name, flags).  Seals and huge pages are not supported: -EINVAL. */
long sys_memfd_create(struct regs *r)
{
    char name[MFD_NAME_MAX + 1];
    struct file *f;
    long n;

    if (((unsigned)r->arg[1] & ~(unsigned)MFD_CLOEXEC) != 0)
        return -EINVAL;
    n = copy_in_str(name, r->arg[0], sizeof name);
    if (n < 0)
        return n == -ENAMETOOLONG ? -EINVAL : n;
    n = memfd_create(name, &f);
    return n != 0 ? n : fd_give(f, (r->arg[1] & MFD_CLOEXEC) != 0);
}

/* One side of a copy_file_range(2). */
struct copy_side {
    struct file *f;
    uint64_t upos; /* user address of the position; 0: the file's position */
    loff_t pos;
};

/* Finds the file and the position.  0, -EBADF, -EFAULT. */
static int copy_side_in(struct copy_side *s, uint64_t fd, uint64_t upos)
{
    int err = 0;

    s->upos = upos;
    s->f = fd_file(fd);
    if (s->f == NULL)
        return -EBADF;
    if (upos != 0)
        err = copy_in(&s->pos, upos, sizeof s->pos);
    else
        s->pos = s->f->off;
    return err;
}

/* Only files whose data are pages can be copied.  -EISDIR: a directory; -EINVAL. */
static int check_copy_type(const struct file *f)
{
    if (f->vn != NULL && f->vn->type == VDIR)
        return -EISDIR;
    return f->vn != NULL && f->vn->type == VREG && f->vn->op->read == NULL && f->seekable ? 0
                                                                                          : -EINVAL;
}

/* Checks in Linux's order, and reduces *count to what `in` has.  0, -EISDIR -EINVAL -EBADF -EOVERFLOW. */
static int check_copy(const struct copy_side *in, const struct copy_side *out, uint64_t *count)
{
    uint64_t from = (uint64_t)in->pos, to = (uint64_t)out->pos;
    int err = check_copy_type(in->f);

    if (err == 0)
        err = check_copy_type(out->f);
    if (err != 0)
        return err;
    if ((in->f->flags & O_ACCMODE) == O_WRONLY || (out->f->flags & O_ACCMODE) == O_RDONLY ||
        (out->f->flags & O_APPEND) != 0)
        return -EBADF;
    if (from + *count < from || to + *count < to)
        return -EOVERFLOW;
    if (in->pos < 0 || out->pos < 0)
        return -EINVAL;
    *count = from < in->f->vn->size ? min_of(*count, in->f->vn->size - from) : 0;
    return in->f->vn == out->f->vn && from + *count > to && to + *count > from ? -EINVAL : 0;
}

/* Stores the new position.  0 or -EFAULT. */
static int copy_side_out(const struct copy_side *s)
{
    if (s->upos != 0)
        return copy_out(s->upos, &s->pos, sizeof s->pos);
    mutex_enter(&s->f->off_lock);
    s->f->off = s->pos;
    mutex_exit(&s->f->off_lock);
    return 0;
}

/* copy_file_range(in, *in_pos, out, *out_pos, count, flags) */
long sys_copy_file_range(struct regs *r)
{
    struct copy_side in = {0}, out = {0};
    uint64_t count = min_of(r->arg[4], (uint64_t)INT32_MAX & PAGE_MASK);
    long n;

    if ((unsigned)r->arg[5] != 0)
        return -EINVAL;
    n = copy_side_in(&in, r->arg[0], r->arg[1]);
    if (n == 0)
        n = copy_side_in(&out, r->arg[2], r->arg[3]);
    if (n == 0)
        n = check_copy(&in, &out, &count);
    if (n == 0 && count != 0)
        n = copy_between_files(in.f, &in.pos, out.f, &out.pos, count);
    if (n > 0 && (copy_side_out(&in) != 0 || copy_side_out(&out) != 0))
        n = -EFAULT;
    if (in.f != NULL)
        file_release(in.f);
    if (out.f != NULL)
        file_release(out.f);
    return n;
}
