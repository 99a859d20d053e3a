// SPDX-License-Identifier: MIT
/*
 * file.c - open files: opening, reading, writing, seeking, the last close.
 *
 * THEORY      open(2) finds or makes a vnode, checks the caller's permissions, and makes a struct file.  The
 *             O_* flags of the struct file record what was permitted, so permissions are checked only once.  A
 *             later change of the mode does not affect files that are already open.
 *             Regular files and directories use vnode_fileops; devices and pipes have
 *             operations of their own.
 *             A read or write without an offset uses the file's position and moves it.  Files that cannot
 *             seek have no position, and their reads and writes take no off_lock.
 * INVARIANTS  I1  each file that is open for writing on a regular vnode counts in vn->writers until its last
 *                 close
 * LOCKING     See file.h.  off_lock is taken before vnode locks.
 * SEE ALSO    fdtable.c, rdwr.c, pipe.c, docs/files.md
 */
#include "vfs/file.h"

#include "vfs/bdev.h"
#include "vfs/filepriv.h"
#include "vfs/name.h"
#include "lib/errno.h"
#include "lib/number.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/usermem.h"

/* Bytes that a user is charged for an open file: the struct, its slot, and what it keeps in memory. */
enum { FILE_COST = 512 };

/* Flags of open(2) that f->flags does not keep. */
#define OPEN_ONLY (O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC)

static struct kmem_cache *file_cache;

/* The access that the O_* flags request: 4 read, 2 write. */
static unsigned acc_mode(unsigned flags)
{
    static const uint8_t mask[4] = {4, 2, 6, 6};

    return mask[flags & O_ACCMODE];
}

struct file *file_alloc(const struct fileops *ops, struct vnode *vn, unsigned flags)
{
    struct usermem *payer = usermem_charge(FILE_COST);
    struct file *f;

    if (payer == NULL)
        return NULL;
    /* wait for memory, because the caller may already have created a file */
    f = kmem_cache_alloc_wait(file_cache);
    if (f == NULL) {
        usermem_return(payer, FILE_COST);
        return NULL;
    }
    f->refs = 1;
    f->payer = payer;
    f->flags = flags;
    f->ops = ops;
    f->vn = vn;
    mutex_init(&f->off_lock, SLEEP_FILE);
    f->off = 0;
    f->data = NULL;
    f->seekable = ops->seek != NULL;
    f->locked = false;
    f->advice = 0;
    f->ra = (struct readahead){0};
    f->watched = NULL;
    f->sigio = NULL;
    f->ino = 0;
    f->uid = proc_cred()->fsuid;
    f->gid = proc_cred()->fsgid;
    return f;
}

void file_release(struct file *f)
{
    struct vnode *vn = f->vn;

    if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (unlikely(f->watched != NULL))
        epoll_file_gone(f);
    if (unlikely(f->sigio != NULL))
        sigio_file_gone(f);
    if (f->ops->close != NULL)
        f->ops->close(f);
    if (vn != NULL) {
        if (unlikely(f->locked))
            filelocks_flock_closed(f);
        if (vn->type == VREG && (acc_mode(f->flags) & 2) && !(f->flags & O_PATH))
            vn_count_write(vn, -1);
        vn_release(vn);
    }
    usermem_return(f->payer, FILE_COST);
    kmem_cache_free(file_cache, f);
}

/* ---- files that are vnodes ------------------------------------------------------------------- */

static long vnode_read(struct file *f, struct uio *uio, loff_t off)
{
    struct vnode *vn = f->vn;

    if (unlikely(vn->type != VREG))
        return vn->type == VDIR ? -EISDIR : -EINVAL;
    if (vn->op->read != NULL)
        return vn->op->read(vn, uio, off, (int)f->flags);
    return vn_read_pages(vn, uio, off, (int)f->flags);
}

static long vnode_write(struct file *f, struct uio *uio, loff_t off)
{
    struct vnode *vn = f->vn;
    bool moves = off == -1;
    loff_t at = f->flags & O_APPEND ? -1 : off;
    long n;

    if (vn->type != VREG)
        return -EINVAL;
    if (vn->op->write != NULL)
        return vn->op->write(vn, uio, moves ? f->off : off, (int)f->flags);
    n = vn_write_pages(vn, uio, &at);
    if (moves && n > 0)
        f->off = at;
    if (n > 0 && ((f->flags & O_DSYNC) != 0 || (vn->vfs->flags & MS_SYNCHRONOUS) != 0)) {
        int err = vn_fsync(vn, (f->flags & O_SYNC) == O_DSYNC);

        if (err != 0)
            return err;
    }
    return n;
}

loff_t file_size_seek(struct file *f, loff_t off, int whence)
{
    enum { FROM_START, FROM_HERE, FROM_END, NEXT_DATA, NEXT_HOLE };
    loff_t size = (loff_t)f->vn->size;

    switch (whence) {
    case FROM_START:
        break;
    case FROM_HERE:
        off += f->off;
        break;
    case FROM_END:
        off += size;
        break;
    case NEXT_DATA: /* the whole file counts as data, with a hole at its end; Linux permits this */
        if (off < 0 || off >= size)
            return -ENXIO;
        break;
    case NEXT_HOLE:
        if (off < 0 || off >= size)
            return -ENXIO;
        off = size;
        break;
    default:
        return -EINVAL;
    }
    if (off < 0)
        return -EINVAL;
    return off;
}

loff_t file_text_seek(struct file *f, loff_t off, int whence)
{
    if (whence == 1)
        off += f->off;
    return whence < 0 || whence > 1 || off < 0 ? -EINVAL : off;
}

struct readdir_state {
    struct file *f;
    dirent_fn fn;
    void *arg;
};

/*
 * The dirent_fn that vnode_readdir() passes to the file system.  Passes each entry to the caller's dirent_fn, and
 * moves f->off past each entry that the caller's function accepts.
 */
static int emit_dir_entry(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type,
                          uint64_t next)
{
    struct readdir_state *s = arg;
    int stop = s->fn(s->arg, name, len, ino, type, next);

    if (stop == 0)
        s->f->off = (loff_t)next;
    return stop;
}

static int vnode_readdir(struct file *f, dirent_fn fn, void *arg)
{
    struct readdir_state s = {f, fn, arg};
    struct vnode *vn = f->vn;
    int err;

    if (vn->type != VDIR || vn->op->readdir == NULL)
        return -ENOTDIR;
    rw_enter_read(&vn->lock);
    err = vn->op->readdir(vn, (uint64_t)f->off, emit_dir_entry, &s);
    rw_exit_read(&vn->lock);
    vn_note_read(vn, f->flags);
    return err;
}

const struct fileops vnode_fileops = {
    .read = vnode_read,
    .write = vnode_write,
    .seek = file_size_seek,
    .readdir = vnode_readdir,
};

/* For O_PATH: such an open file only names a file of the tree, so it has no operations. */
static const struct fileops path_fileops;

/* ---- opening --------------------------------------------------------------------------------- */

/*
 * Finds the file at the end of the walk or, with O_CREAT, makes it.  *made is set if the file is new.  The mode
 * of a new file is not checked, because it does not restrict the open that makes the file.
 */
static int open_lookup(struct walk *w, int oflags, uint32_t mode, struct vnode **out, bool *made)
{
    bool follow = !(oflags & O_NOFOLLOW);
    int err;

    *made = false;
    *out = NULL;
    if (!(oflags & O_CREAT))
        return walk_all(w, (follow ? NAME_FOLLOW : 0) | (oflags & O_DIRECTORY ? NAME_DIR : 0), out);
    for (;;) {
        struct vnode *link;

        err = walk_parent(w);
        if (err != 0)
            return err;
        if (name_is_special(w->last, w->len) || w->slash)
            return -EISDIR;
        while ((err = dir_lookup(w->ctx, w->dir, w->last, w->len, out)) == -ENOENT) {
            err = dir_create(w->ctx, w->dir, w->last, w->len, VREG, mode, 0, NULL, out);
            if (err == 0)
                *made = true;
            if (err != -EEXIST || (oflags & O_EXCL))
                return err; /* another thread has made the file: look again */
        }
        if (err != 0)
            return err;
        if (oflags & O_EXCL) {
            vn_release(*out);
            return -EEXIST;
        }
        if ((*out)->type != VLNK || !follow)
            return 0;
        link = *out;
        err = walk_follow(w, link, "", out);
        vn_release(link);
        if (err != 0 || *out != NULL)
            return err;
    }
}

/* Checks permissions for a file that existed before the open.  O_TRUNC counts as writing. */
static int open_check(const struct fs_ctx *ctx, struct vnode *vn, int oflags)
{
    unsigned acc = acc_mode((unsigned)oflags) | (oflags & O_TRUNC ? 2 : 0);

    if (vn->type == VLNK)
        return -ELOOP;
    if ((oflags & O_DIRECTORY) && vn->type != VDIR)
        return -ENOTDIR;
    if (vn->type == VDIR && ((acc & 2) || (oflags & O_CREAT)))
        return -EISDIR;
    if ((vn->type == VCHR || vn->type == VBLK) && (vn->vfs->flags & MS_NODEV) != 0)
        return -EACCES;
    if ((oflags & O_NOATIME) && ctx->cred->fsuid != 0 && ctx->cred->fsuid != vn->uid)
        return -EPERM;
    if ((vn->attr & VN_APPEND) && (acc & 2) && (oflags & (O_APPEND | O_TRUNC)) != O_APPEND)
        return -EPERM;
    return vn_access(vn, acc, ctx->cred);
}

/* The part of opening that depends on the file's type.  `f` already owns the reference to vn. */
static int open_by_type(struct vnode *vn, int oflags, struct file *f)
{
    switch (vn->type) {
    case VCHR:
        return cdev_open(vn, oflags, f);
    case VFIFO:
        return fifo_open(vn, oflags, f);
    case VBLK:
        return bdev_open(vn, oflags, f);
    case VSOCK:
    case VANON:
        return -ENXIO;
    }
    return vn->op->open != NULL ? vn->op->open(vn, oflags, f) : 0;
}

int vnode_open(struct vnode *vn, int oflags, struct file **out)
{
    unsigned kept = (unsigned)(oflags & ~OPEN_ONLY);
    bool writes = vn->type == VREG && (acc_mode((unsigned)oflags) & 2);
    struct file *f;
    int err;

    /* Only disks support O_DIRECT: files are always cached, and pipes have no packet mode. */
    if ((oflags & O_DIRECT) && vn->type != VBLK) {
        vn_release(vn);
        return -EINVAL;
    }
    if (writes) {
        err = vn_get_write(vn);
        if (err != 0) {
            vn_release(vn);
            return err;
        }
    }
    f = file_alloc(&vnode_fileops, vn, kept | O_LARGEFILE); /* which F_GETFL shows, as on Linux */
    if (f == NULL) {
        if (writes)
            vn_count_write(vn, -1);
        vn_release(vn);
        return -ENFILE;
    }
    f->seekable = vn->type != VCHR; /* a device's open function may set `seekable` */
    err = open_by_type(vn, oflags, f);
    if (err != 0) {
        f->ops = &vnode_fileops; /* without a close function */
        file_release(f);
        return err;
    }
    f->seekable = f->seekable && f->ops->seek != NULL;
    *out = f;
    return 0;
}

int file_open(const struct fs_ctx *ctx, struct vnode *at, const char *path, int oflags,
              uint32_t mode, struct file **out)
{
    struct vnode *vn;
    struct walk w;
    bool made;
    int err;

    if (oflags & O_PATH)
        oflags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if ((oflags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY))
        return -EINVAL;
    err = walk_start(&w, ctx, at, path);
    if (err == 0)
        err = open_lookup(&w, oflags, mode, &vn, &made);
    walk_end(&w);
    if (err != 0)
        return err;
    if (oflags & O_PATH) {
        *out = file_alloc(&path_fileops, vn, (unsigned)(oflags & ~OPEN_ONLY));
        if (*out == NULL)
            vn_release(vn);
        return *out != NULL ? 0 : -ENFILE;
    }
    if (!made) {
        err = open_check(ctx, vn, oflags);
        if (err != 0) {
            vn_release(vn);
            return err;
        }
    }
    err = vnode_open(vn, oflags, out);
    if (err == 0 && (oflags & O_TRUNC) && vn->type == VREG && vn->op->setattr != NULL && !made) {
        struct vattr va = {.size = 0};

        err = vn_setattr(vn, VA_SIZE, &va, ctx->cred, true);
        if (err != 0)
            file_release(*out);
    }
    return err;
}

/* ---- using ----------------------------------------------------------------------------------- */

/* read(2) and write(2) of a seekable file, at its position. */
static __attribute__((noinline)) long read_at_position(struct file *f, struct uio *uio)
{
    long n;

    mutex_enter(&f->off_lock);
    n = f->ops->read(f, uio, f->off);
    if (n > 0)
        f->off += n;
    mutex_exit(&f->off_lock);
    return n;
}

static __attribute__((noinline)) long write_at_position(struct file *f, struct uio *uio)
{
    loff_t at;
    long n;

    mutex_enter(&f->off_lock);
    at = f->flags & O_APPEND ? -1 : f->off;
    n = f->ops->write(f, uio, at);
    if (n > 0 && at != -1)
        f->off = at + n;
    mutex_exit(&f->off_lock);
    return n;
}

long file_read(struct file *f, struct uio *uio, loff_t off)
{
    unsigned flags = atomic_load_explicit(&f->flags, memory_order_relaxed);

    if (unlikely(!(acc_mode(flags) & 4) || (flags & O_PATH)))
        return -EBADF;
    if (unlikely(f->ops->read == NULL))
        return off != -1 && f->ops->seek == NULL ? -ESPIPE : -EINVAL;
    uio->advice = atomic_load_explicit(&f->advice, memory_order_relaxed);
    uio->ra = &f->ra;
    if (off == -1)
        return f->seekable ? read_at_position(f, uio) : f->ops->read(f, uio, 0);
    return likely(f->ops->seek != NULL) ? f->ops->read(f, uio, off) : -ESPIPE;
}

long file_write(struct file *f, struct uio *uio, loff_t off)
{
    unsigned flags = atomic_load_explicit(&f->flags, memory_order_relaxed);

    if (unlikely(!(acc_mode(flags) & 2) || (flags & O_PATH)))
        return -EBADF;
    if (unlikely(f->ops->write == NULL))
        return off != -1 && f->ops->seek == NULL ? -ESPIPE : -EINVAL;
    if (off == -1)
        return f->seekable ? write_at_position(f, uio) : f->ops->write(f, uio, 0);
    return likely(f->ops->seek != NULL) ? f->ops->write(f, uio, off) : -ESPIPE;
}

loff_t file_seek(struct file *f, loff_t off, int whence)
{
    enum { WHENCE_MAX = 4 }; /* the last value that Linux knows */
    loff_t r;

    if (f->flags & O_PATH)
        return -EBADF;
    if (f->ops->type == VANON) /* has no position, but lseek(2) succeeds, as on Linux */
        return whence >= 0 && whence <= WHENCE_MAX ? 0 : -EINVAL;
    if (f->ops->seek == NULL)
        return -ESPIPE;
    mutex_enter(&f->off_lock);
    r = f->ops->seek(f, off, whence);
    if (r >= 0)
        f->off = r;
    mutex_exit(&f->off_lock);
    return r;
}

int file_readdir(struct file *f, dirent_fn fn, void *arg)
{
    int err;

    if (f->flags & O_PATH)
        return -EBADF;
    if (f->ops->readdir == NULL)
        return -ENOTDIR;
    mutex_enter(&f->off_lock);
    err = f->ops->readdir(f, fn, arg);
    mutex_exit(&f->off_lock);
    return err;
}

bool file_is_pipe(const struct file *f)
{
    return f->vn != NULL ? f->vn->type == VFIFO : f->ops->type == 0;
}

static const struct vfs_ops anon_vfs_ops;
/* Of the vnodes of file_new_vnode(), so that link(2) gives none of them a name in another file system. */
static struct vfs anon_vfs = {.op = &anon_vfs_ops, .type = "anon"};

struct vnode *file_new_vnode(struct file *f, const struct vnodeops *ops)
{
    struct vnode *vn = kmem_alloc(sizeof *vn);
    struct vattr va;

    if (vn == NULL)
        return NULL;
    file_getattr(f, &va);
    vn_init(vn, &anon_vfs, va.type, ops, NULL);
    vn->mode = va.mode;
    vn->uid = va.uid;
    vn->gid = va.gid;
    vn->ino = va.ino;
    return vn;
}

static void free_anon_vnode(struct vnode *vn)
{
    kmem_free(vn);
}

static int refuse_setattr(struct vnode *vn, unsigned mask, const struct vattr *va)
{
    return -EOPNOTSUPP;
}

/* Of a vnode for a socket, an eventfd or the like. */
static const struct vnodeops anon_vnode_ops = {.setattr = refuse_setattr,
                                               .inactive = free_anon_vnode};

struct vnode *file_vnode(struct file *f)
{
    if (f->vn == NULL)
        return file_is_pipe(f) ? pipe_vnode(f) : file_new_vnode(f, &anon_vnode_ops);
    vn_hold(f->vn);
    return f->vn;
}

uint64_t file_ino(struct file *f)
{
    static _Atomic uint64_t last;

    return number_at(&f->ino, &last);
}

void file_getattr(struct file *f, struct vattr *va)
{
    if (f->vn != NULL) {
        vn_getattr(f->vn, va);
        return;
    }
    *va = (struct vattr){.type = VFIFO, .mode = 0600, .nlink = 1, .blksize = PAGE_SIZE};
    if (f->ops->type != 0)
        va->type = f->ops->type;
    if (va->type == VSOCK)
        va->mode = 0777;
    va->ino = file_ino(f);
    if (va->type == VANON)
        return; /* it belongs to root: on Linux all of these files have one inode, which the kernel has made */
    va->uid = f->uid;
    va->gid = f->gid;
}

void file_init(void)
{
    file_cache = kmem_cache_create("file", sizeof(struct file), 64);
}
