// SPDX-License-Identifier: MIT
/*
 * sys_io.c - system calls that move bytes: read, write, sendfile, getdents64, sync, fadvise64.
 *
 * THEORY      A call builds a struct uio that describes the program's buffers, and calls file_read() or
 *             file_write() once.  As on Linux, one call moves at most MAX_RW bytes.  Calls with one buffer
 *             are frequent, so they keep their only iovec on the stack.
 * SEE ALSO    x86/uaccess.h (uio), vfs/file.h
 */
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "sys/path.h"
#include "sys/sys.h"
#include "pages/pageout.h"
#include "stat/trace.h"

enum { IOV_MAX = 1024, IOV_STACK = 8, SENDFILE_CHUNK = 65536 };
#define MAX_RW 0x7ffff000ul /* maximum number of bytes that one call moves */

/*
 * Moves bytes between a file and a program's buffer.  off -1: at the file's position.  file_read() and
 * file_write() check the open mode, the kind of file, and O_PATH.
 */
static inline long read_or_write_file(struct file *f, struct uio *uio, loff_t off)
{
    return uio->dir == UIO_READ ? file_read(f, uio, off) : file_write(f, uio, off);
}

/* Counts a call that has moved n bytes, or has failed.  Returns n. */
static inline long count_rw(enum uio_dir dir, long n)
{
    struct io_counts *io = &curlwp()->io;
    uint64_t moved = n > 0 ? (uint64_t)n : 0;

    if (dir == UIO_READ) {
        io->syscr++;
        io->rchar += moved;
    } else {
        io->syscw++;
        io->wchar += moved;
    }
    return n;
}

static inline long move_one_buffer(struct regs *r, enum uio_dir dir, loff_t off)
{
    struct iovec v = {.base = r->arg[1], .len = r->arg[2]};
    struct uio uio = {.iov = &v, .niov = 1, .dir = dir, .user = true};
    struct file *f;
    long n;

    if (unlikely(v.len > MAX_RW)) {
        if ((int64_t)v.len < 0)
            return -EINVAL;
        v.len = MAX_RW;
    }
    uio.resid = v.len;
    f = fd_file_or_path(r->arg[0]);
    if (unlikely(f == NULL))
        return -EBADF;
    n = count_rw(dir, read_or_write_file(f, &uio, off));
    file_release(f);
    return n;
}

long sys_read(struct regs *r)
{
    return move_one_buffer(r, UIO_READ, -1);
}

long sys_write(struct regs *r)
{
    return move_one_buffer(r, UIO_WRITE, -1);
}

long sys_pread64(struct regs *r)
{
    return (loff_t)r->arg[3] < 0 ? -EINVAL : move_one_buffer(r, UIO_READ, (loff_t)r->arg[3]);
}

long sys_pwrite64(struct regs *r)
{
    return (loff_t)r->arg[3] < 0 ? -EINVAL : move_one_buffer(r, UIO_WRITE, (loff_t)r->arg[3]);
}

/* Copies `n` iovecs to v[] and checks them.  Cuts their total length at MAX_RW and stores it in *total. */
static int copy_in_iovec(struct iovec *v, uint64_t uiov, size_t n, size_t *total)
{
    size_t sum = 0;
    int err = copy_in(v, uiov, n * sizeof *v);

    if (err != 0)
        return err;
    for (size_t i = 0; i < n; i++) {
        if ((int64_t)v[i].len < 0)
            return -EINVAL;
        v[i].len = min_of(v[i].len, MAX_RW - sum);
        if (v[i].len > 0 && (v[i].base >= USER_TOP || v[i].len > USER_TOP - v[i].base))
            return -EFAULT;
        sum += v[i].len;
    }
    *total = sum;
    return 0;
}

/* readv(2), writev(2) and their variants.  off -1: at the file's position. */
static long move_vec(struct regs *r, enum uio_dir dir, loff_t off)
{
    struct iovec few[IOV_STACK], *v = few;
    struct uio uio = {.dir = dir, .user = true};
    size_t n = r->arg[2];
    struct file *f;
    long ret;

    if (n > IOV_MAX)
        return -EINVAL;
    f = fd_file_or_path(r->arg[0]);
    if (f == NULL)
        return -EBADF;
    if (n > IOV_STACK)
        v = kmem_alloc(n * sizeof *v);
    if (v == NULL) {
        file_release(f);
        return -ENOMEM;
    }
    uio.iov = v;
    uio.niov = (unsigned)n;
    ret = copy_in_iovec(v, r->arg[1], n, &uio.resid);
    if (ret == 0)
        ret = count_rw(dir, read_or_write_file(f, &uio, off));
    if (v != few)
        kmem_free(v);
    file_release(f);
    return ret;
}

long sys_readv(struct regs *r)
{
    return move_vec(r, UIO_READ, -1);
}

long sys_writev(struct regs *r)
{
    return move_vec(r, UIO_WRITE, -1);
}

/* preadv, pwritev: arg[3] is the 64-bit position; arg[4], its high half on 32-bit machines, is ignored. */
long sys_preadv(struct regs *r)
{
    return (loff_t)r->arg[3] < 0 ? -EINVAL : move_vec(r, UIO_READ, (loff_t)r->arg[3]);
}

long sys_pwritev(struct regs *r)
{
    return (loff_t)r->arg[3] < 0 ? -EINVAL : move_vec(r, UIO_WRITE, (loff_t)r->arg[3]);
}

/* preadv2, pwritev2: position -1 means the file's position.  No RWF_* flag is supported. */
static long move_vec2(struct regs *r, enum uio_dir dir)
{
    if (r->arg[5] != 0)
        return -EOPNOTSUPP;
    return (loff_t)r->arg[3] < -1 ? -EINVAL : move_vec(r, dir, (loff_t)r->arg[3]);
}

long sys_preadv2(struct regs *r)
{
    return move_vec2(r, UIO_READ);
}

long sys_pwritev2(struct regs *r)
{
    return move_vec2(r, UIO_WRITE);
}

long copy_between_files(struct file *in, loff_t *pos, struct file *out, loff_t *out_pos,
                        size_t count)
{
    char *buf = kmem_alloc(SENDFILE_CHUNK);
    size_t done = 0;
    long n = 0;

    if (buf == NULL)
        return -ENOMEM;
    while (done < count && !proc_is_ending()) {
        struct iovec v;
        struct uio uio;
        size_t put = 0, got;

        uio_init_kernel(&uio, &v, buf, min_of(count - done, (size_t)SENDFILE_CHUNK), UIO_READ);
        n = file_read(in, &uio, *pos);
        if (n <= 0)
            break;
        got = (size_t)n;
        while (put < got) {
            uio_init_kernel(&uio, &v, buf + put, got - put, UIO_WRITE);
            n = file_write(out, &uio, out_pos != NULL ? *out_pos + (loff_t)put : -1);
            if (n <= 0)
                break;
            put += (size_t)n;
        }
        *pos += (loff_t)put;
        if (out_pos != NULL)
            *out_pos += (loff_t)put;
        done += put;
        if (put < got)
            break;
    }
    kmem_free(buf);
    (void)count_rw(UIO_READ, (long)done);
    (void)count_rw(UIO_WRITE, (long)done);
    /* can be 0 if the process is being killed; then no program sees the result */
    return done > 0 ? (long)done : n;
}

/* sendfile(out, in, *offset, count) */
long sys_sendfile(struct regs *r)
{
    struct file *out = fd_file(r->arg[0]), *in = fd_file(r->arg[1]);
    size_t count = min_of(r->arg[3], MAX_RW);
    loff_t pos = 0;
    long n = 0;

    if (in == NULL || out == NULL || (atomic_load(&in->flags) & O_ACCMODE) == O_WRONLY ||
        (atomic_load(&out->flags) & O_ACCMODE) == O_RDONLY)
        n = -EBADF;
    else if (!in->seekable || (atomic_load(&out->flags) & O_APPEND))
        n = -EINVAL;
    else if (r->arg[2] != 0)
        n = copy_in(&pos, r->arg[2], sizeof pos);
    else
        pos = in->off;
    if (n == 0 && pos < 0)
        n = -EINVAL;
    if (n == 0) {
        n = copy_between_files(in, &pos, out, NULL, count);
        if (r->arg[2] == 0) {
            mutex_enter(&in->off_lock);
            in->off = pos;
            mutex_exit(&in->off_lock);
        } else if (n > 0 && copy_out(r->arg[2], &pos, sizeof pos) != 0) {
            n = -EFAULT;
        }
    }
    if (in != NULL)
        file_release(in);
    if (out != NULL)
        file_release(out);
    return n;
}

/*
 * The buffer in which getdents64 collects entries; the buffer is copied to the program when it is
 * full or the directory ends.
 */
struct dirents {
    char *buf;
    size_t size, used;
    bool full; /* an entry did not fit into the rest of `buf` */
};

struct user_dirent {
    uint64_t ino;
    int64_t off;
    uint16_t reclen;
    uint8_t type;
    char name[];
} __attribute__((packed));

/* file_readdir()'s callback: appends an entry.  If the entry does not fit, returns 1, which ends the reading. */
static int put_dirent(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type,
                      uint64_t next_off)
{
    static const uint8_t dt[] = {
        [VREG] = 8, [VDIR] = 4, [VLNK] = 10, [VCHR] = 2, [VBLK] = 6, [VFIFO] = 1, [VSOCK] = 12};
    struct dirents *d = arg;
    size_t need = round_up(offsetof(struct user_dirent, name) + len + 1, 8ul);
    struct user_dirent *e = (struct user_dirent *)(d->buf + d->used);

    if (need > d->size - d->used) {
        d->full = true;
        return 1;
    }
    e->ino = ino;
    e->off = (int64_t)next_off;
    e->reclen = (uint16_t)need;
    e->type = type < sizeof dt ? dt[type] : 0;
    memcpy(e->name, name, len);
    memset(e->name + len, 0, need - offsetof(struct user_dirent, name) - len);
    d->used += need;
    return 0;
}

/* getdents64(fd, buf, size): bytes stored, 0 at the end; -EINVAL if the buffer is too small for one entry. */
long sys_getdents64(struct regs *r)
{
    enum { DIRENTS_MAX = 32768 };
    struct dirents d = {.size = min_of(r->arg[2] & UINT32_MAX, (uint64_t)DIRENTS_MAX)};
    struct file *f = fd_file(r->arg[0]);
    long n;

    if (f == NULL)
        return -EBADF;
    d.buf = kmem_alloc(max_of(d.size, 64ul));
    if (d.buf == NULL) {
        n = -ENOMEM;
    } else {
        n = file_readdir(f, put_dirent, &d);
        if (n == 0 && d.used == 0 && d.full)
            n = -EINVAL;
        if (n == 0)
            n = copy_out(r->arg[1], d.buf, d.used);
        if (n == 0)
            n = (long)d.used;
        kmem_free(d.buf);
    }
    file_release(f);
    return n;
}

static long do_fsync(uint64_t fd, bool data_only)
{
    struct file *f = fd_file(fd);
    long err;

    if (f == NULL)
        return -EBADF;
    if (f->vn == NULL || (f->vn->type != VREG && f->vn->type != VDIR && f->vn->type != VBLK)) {
        err = -EINVAL;
    } else {
        TRACE_SELF(FSYNC, data_only, trace_name(vn_disk_name(f->vn)), (uintptr_t)&f->vn->obj);
        err = vn_fsync(f->vn, data_only);
        TRACE_SELF(FSYNC, data_only | TRACE_ENDS, (uint64_t)-err, (uintptr_t)&f->vn->obj);
    }
    file_release(f);
    return err;
}

long sys_fsync(struct regs *r)
{
    return do_fsync(r->arg[0], false);
}

long sys_fdatasync(struct regs *r)
{
    return do_fsync(r->arg[0], true);
}

long sys_sync_file_range(struct regs *r)
{
    return do_fsync(r->arg[0], true);
}

long sys_sync(struct regs *r)
{
    vfs_sync_all();
    return 0;
}

long sys_syncfs(struct regs *r)
{
    struct file *f = fd_file(r->arg[0]);

    long err;

    if (f == NULL)
        return -EBADF;
    err = f->vn != NULL ? vfs_sync_one(f->vn->vfs) : 0;
    file_release(f);
    return err;
}

enum {
    FADV_NORMAL,
    FADV_RANDOM,
    FADV_SEQUENTIAL,
    FADV_WILLNEED,
    FADV_DONTNEED,
    FADV_NOREUSE,
    FADV_LAST = FADV_NOREUSE,
};

/*
 * FADV_DONTNEED: frees the clean cached pages that lie completely in the range.  The last page is freed even if the
 * range does not include the part of it after the end of the file.  off and len are in bytes; len 0: to the end of
 * the file.
 */
static void forget_cached_range(struct vnode *vn, uint64_t off, uint64_t len)
{
    uint64_t end = len == 0 || off + len < off ? UINT64_MAX : off + len;
    uint64_t first = (off + PAGE_SIZE - 1) >> PAGE_SHIFT;
    uint64_t last = end >= vn->size ? UINT64_MAX : end >> PAGE_SHIFT;

    if (vn->type == VREG && vn->obj.io != NULL && first < last)
        object_forget_clean(&vn->obj, first, last == UINT64_MAX ? last : last - 1);
}

/* FADV_WILLNEED: starts reading all pages that overlap the range (in bytes; len 0: to the end of the file). */
static void read_ahead_range(struct vnode *vn, uint64_t off, uint64_t len)
{
    uint64_t end = len == 0 || off + len < off ? UINT64_MAX : off + len;
    uint64_t budget = pageout_spare_pages();

    if (vn->type == VREG && vn->obj.io != NULL)
        object_read_ahead(&vn->obj, off >> PAGE_SHIFT, (end - 1) >> PAGE_SHIFT, &budget);
}

/* Stores the advice in the open file.  As on Linux, the range is ignored, and RANDOM replaces SEQUENTIAL. */
static void set_read_advice(struct file *f, unsigned advice)
{
    uint8_t was = atomic_load(&f->advice), now;

    do {
        switch (advice) {
        case FADV_RANDOM:
            now = (uint8_t)((was & ~READ_SEQUENTIAL) | READ_RANDOM);
            break;
        case FADV_SEQUENTIAL:
            now = (uint8_t)((was & ~READ_RANDOM) | READ_SEQUENTIAL);
            break;
        case FADV_NOREUSE:
            now = was | READ_ONCE;
            break;
        default:
            now = 0;
        }
    } while (!atomic_compare_exchange_weak(&f->advice, &was, now));
}

/*
 * posix_fadvise(fd, off, len, advice): WILLNEED starts reading, DONTNEED frees clean cached pages.  Other advice
 * is stored in the open file, and later reads use it.
 */
long sys_fadvise64(struct regs *r)
{
    struct file *f = fd_file(r->arg[0]);
    long err = 0;

    if (f == NULL)
        return -EBADF;
    if (file_is_pipe(f))
        err = -ESPIPE;
    else if ((int64_t)r->arg[2] < 0 || r->arg[3] > FADV_LAST)
        err = -EINVAL;
    else if (r->arg[3] != FADV_WILLNEED && r->arg[3] != FADV_DONTNEED)
        set_read_advice(f, (unsigned)r->arg[3]);
    else if (r->arg[3] == FADV_DONTNEED && f->vn != NULL)
        forget_cached_range(f->vn, r->arg[1], r->arg[2]);
    else if (f->vn != NULL)
        read_ahead_range(f->vn, r->arg[1], r->arg[2]);
    file_release(f);
    return err;
}
