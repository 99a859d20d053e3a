// SPDX-License-Identifier: MIT
/*
 * bdev.c - disks as files: /dev/vda, /dev/vda1.
 *
 * THEORY      A program such as fsck or mkfs opens a disk like a file (/dev/vda) and reads and
 *             writes its raw bytes.
 *             A disk that was opened has a vnode of its own, which is not one of the vnodes of the names in
 *             /dev; no directory entry leads to it.  The object of this vnode caches the disk's bytes.  All
 *             open files of the disk, under any name, read and write through this cache.
 *             The last close writes the dirty pages to the disk and drops all pages.  Dropping the
 *             pages is necessary because a file system on the disk has buffers of its own.
 *             Programs and file systems see each other's changes only through the disk.
 *             With O_DIRECT, bytes move between program and disk through a buffer of the kernel, of at most
 *             PIECE bytes.  If a write covers only a part of a sector, the sector is read first.
 *             A read beyond the end of the disk returns 0 (end of file); a write there fails with -ENOSPC.
 * INVARIANTS  I1  a disk that is not open has no pages
 * LOCKING     open_lock is held during opening and closing.  vn->lock is held for writing during each write,
 *             cached or direct, and while pages are dropped.
 * SEE ALSO    devfs.c (names), kernel/blk/blk.h, docs/disks.md
 */
#include "vfs/bdev.h"

#include "blk/blk.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/iocount.h"

enum { PIECE_ORDER = 4 };
#define PIECE (PAGE_SIZE << PIECE_ORDER)

enum { /* requests of ioctl, as in Linux */
       BLKROGET = 0x125e,
       BLKGETSIZE = 0x1260,
       BLKFLSBUF = 0x1261,
       BLKSSZGET = 0x1268,
       BLKPBSZGET = 0x127b,
};
#define BLKBSZGET    0x80081270u
#define BLKGETSIZE64 0x80081272u

struct bdev {
    struct vnode vn;
    struct object_io io;
    struct disk *disk;
    unsigned nopen; /* [open_lock] open files */
};

static struct mutex open_lock;

/* ---- pages ----------------------------------------------------------------------------------- */

struct bdev_transfer { /* one request for some pages; exists until the request has ended */
    struct blk_req req;
    struct page *page[PCACHE_CLUSTER_MAX];
    struct blk_vec vec[PCACHE_CLUSTER_MAX];
};

/* blk_req.done: ends the transfer of each page.  Interrupt context. */
static void bdev_pages_done(struct blk_req *r)
{
    struct bdev_transfer *t = container_of(r, struct bdev_transfer, req);

    for (unsigned i = 0; i < r->nvecs; i++) {
        int err = r->bad >> i & 1 ? -EIO : 0;

        if (r->op == BLK_READ)
            object_read_done(t->page[i], err);
        else
            object_write_done(t->page[i], err);
    }
    kmem_free(t);
}

/*
 * The number of bytes of page `index` that exist on the disk; less than PAGE_SIZE only in the last
 * page.
 */
static uint32_t disk_bytes_in_page(const struct disk *d, uint64_t index)
{
    return (uint32_t)min_of(PAGE_SIZE, disk_sectors(d) * SECTOR_SIZE - (index << PAGE_SHIFT));
}

static int bdev_submit_pages(struct vm_object *o, struct page **pages, unsigned n, enum blk_op op,
                             bool sync)
{
    struct bdev *b = container_of((struct vnode *)o->owner, struct bdev, vn);
    struct bdev_transfer *t = kmem_alloc(sizeof *t);
    uint64_t first = pages[0]->index;

    if (t == NULL)
        return -ENOMEM;
    t->req = (struct blk_req){.disk = b->disk,
                              .op = (uint8_t)op,
                              .sync = sync,
                              .nvecs = n,
                              .vec = t->vec,
                              .sector = first * (PAGE_SIZE / SECTOR_SIZE),
                              .file = (uintptr_t)b,
                              .by = blk_current_owner(),
                              .done = bdev_pages_done};
    for (unsigned i = 0; i < n; i++) {
        uint32_t len = disk_bytes_in_page(b->disk, first + i);

        if (len < PAGE_SIZE && op == BLK_READ)
            memset((uint8_t *)page_to_virt(pages[i]) + len, 0, PAGE_SIZE - len);
        t->page[i] = pages[i];
        t->vec[i] = (struct blk_vec){pages[i], 0, len};
        t->req.nsect += len / SECTOR_SIZE;
    }
    blk_submit(&t->req);
    return 0;
}

/*
 * Transfers n pages with one request.  If there is no memory for the request, transfers the
 * pages one by one, and waits for each of them.
 */
static int bdev_transfer_pages(struct vm_object *o, struct page **pages, unsigned n, enum blk_op op,
                               bool sync)
{
    struct bdev *b = container_of((struct vnode *)o->owner, struct bdev, vn);

    if (bdev_submit_pages(o, pages, n, op, sync) == 0)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t index = pages[i]->index;
        uint32_t len = disk_bytes_in_page(b->disk, index);
        uint8_t *at = page_to_virt(pages[i]);
        int err = blk_rw(b->disk, op, index * (PAGE_SIZE / SECTOR_SIZE), at, len);

        if (op == BLK_READ) {
            memset(at + len, 0, PAGE_SIZE - len);
            object_read_done(pages[i], err);
        } else {
            object_write_done(pages[i], err);
        }
    }
    return 0;
}

static int bdev_readpages(struct vm_object *o, struct page **pages, unsigned n)
{
    return bdev_transfer_pages(o, pages, n, BLK_READ, true);
}

static int bdev_writepages(struct vm_object *o, struct page **pages, unsigned n, enum write_why why)
{
    return bdev_transfer_pages(o, pages, n, BLK_WRITE, why == WRITE_SYNC);
}

static void bdev_hurry(struct vm_object *o, bool write)
{
    struct bdev *b = o->owner;

    blk_hurry(b->disk, (uintptr_t)b, write);
}

static const struct pager_ops bdev_pager = {
    .readpages = bdev_readpages, .writepages = bdev_writepages, .hurry = bdev_hurry};

/* ---- the vnode ------------------------------------------------------------------------------- */

/* never called, because the first reference is never dropped */
static void bdev_inactive(struct vnode *vn)
{
}

static const struct vnodeops bdev_vnodeops = {.inactive = bdev_inactive};
static struct vfs bdev_vfs = {.type = "bdev", .readonly = true}; /* no access times are set */

/* Returns the disk's vnode; the first open makes the vnode.  NULL: no memory.  The caller holds open_lock. */
static struct bdev *bdev_find_or_create(struct disk *d)
{
    struct bdev *b = disk_owner(d);

    if (b != NULL)
        return b;
    b = kmem_zalloc(sizeof *b);
    if (b == NULL)
        return NULL;
    b->disk = d;
    vn_init(&b->vn, &bdev_vfs, VREG, &bdev_vnodeops, &bdev_pager);
    b->vn.size = disk_sectors(d) * SECTOR_SIZE;
    b->vn.obj.size_pages = (b->vn.size + PAGE_SIZE - 1) >> PAGE_SHIFT;
    object_io_init(&b->vn.obj, &b->io, d);
    disk_set_owner(d, b);
    return b;
}

static int sync_disk(struct bdev *b)
{
    int err = object_sync(&b->vn.obj, 0, UINT64_MAX);
    int flush = blk_flush(b->disk);

    return err != 0 ? err : flush;
}

/*
 * Writes the dirty pages, then drops all pages.  If writing a page fails, all pages stay, so that fsync returns
 * the error.
 * @last  the last open file is being closed: drop the pages even after an error
 */
static int flush_and_invalidate(struct bdev *b, bool last)
{
    int err;

    rw_enter_write(&b->vn.lock);
    err = sync_disk(b);
    if (err == 0 || last)
        object_truncate(&b->vn.obj, 0);
    rw_exit_write(&b->vn.lock);
    return err;
}

/* ---- reading and writing --------------------------------------------------------------------- */

/* Moves at most PIECE bytes at `off` through the buffer `buf`.  Returns the bytes moved, or an error. */
static long move_direct_piece(struct bdev *b, uint8_t *buf, struct uio *uio, uint64_t off)
{
    uint64_t first = off / SECTOR_SIZE, head = off % SECTOR_SIZE;
    size_t n = min_of(min_of(uio->resid, b->vn.size - off), PIECE - head);
    size_t sectors = (head + n + SECTOR_SIZE - 1) / SECTOR_SIZE, before = uio->resid;
    bool whole = head == 0 && n % SECTOR_SIZE == 0;
    int err = 0;

    if (uio->dir == UIO_READ || !whole)
        err = blk_rw(b->disk, BLK_READ, first, buf, sectors * SECTOR_SIZE);
    if (err == 0)
        err = uio_move(buf + head, n, uio);
    if (err == 0 && uio->dir == UIO_WRITE)
        err = blk_rw(b->disk, BLK_WRITE, first, buf, sectors * SECTOR_SIZE);
    if (err == 0 && uio->dir == UIO_WRITE)
        io_count_disk(0, sectors * SECTOR_SIZE, 0);
    return err != 0 ? err : (long)(before - uio->resid);
}

/*
 * Reads or writes at `at` without the cache.  First writes the dirty pages of the range, so that the disk is
 * up to date.  After a write, drops the pages of the range, because they are out of date.
 */
static long move_direct(struct bdev *b, struct uio *uio, uint64_t at)
{
    struct page *pg = page_alloc(this_cpu()->node, PIECE_ORDER, ALLOC_NEAR);
    uint64_t last = (at + uio->resid - 1) >> PAGE_SHIFT, first = at >> PAGE_SHIFT;
    bool write = uio->dir == UIO_WRITE, synced;
    long n = 0, done = 0;

    if (pg == NULL)
        return -ENOMEM;
    if (write)
        rw_enter_write(&b->vn.lock);
    if (b->io.ndirty + b->io.nwriteback > 0)
        n = object_sync(&b->vn.obj, first, last);
    synced = n == 0;
    while (synced && uio->resid > 0 && at < b->vn.size &&
           (n = move_direct_piece(b, page_to_virt(pg), uio, at)) > 0) {
        at += (uint64_t)n;
        done += n;
    }
    if (write && synced) /* dirty pages whose write failed stay */
        object_punch(&b->vn.obj, first, last);
    if (write)
        rw_exit_write(&b->vn.lock);
    page_release(pg);
    return done > 0 ? done : n;
}

static long move_cached(struct bdev *b, struct uio *uio, loff_t at, unsigned flags)
{
    size_t beyond = uio->resid - min_of(uio->resid, b->vn.size - (uint64_t)at);
    long n;
    int err;

    if (uio->dir == UIO_READ)
        return vn_read_pages(&b->vn, uio, at, O_NOATIME);
    uio->resid -= beyond; /* a disk does not grow */
    n = vn_write_pages(&b->vn, uio, &at);
    uio->resid += beyond;
    if (n > 0 && (flags & O_DSYNC)) {
        err = sync_disk(b);
        if (err != 0)
            return err;
    }
    return n;
}

static long bdev_rdwr(struct file *f, struct uio *uio, loff_t off)
{
    struct bdev *b = f->data;
    unsigned flags = atomic_load_explicit(&f->flags, memory_order_relaxed);
    bool appends = off < 0;
    long n;

    if (appends)
        off = f->off; /* a disk has no end to append to: O_APPEND has no effect */
    if (uio->resid == 0)
        return 0;
    if ((uint64_t)off >= b->vn.size)
        return uio->dir == UIO_READ ? 0 : -ENOSPC;
    n = flags & O_DIRECT ? move_direct(b, uio, (uint64_t)off) : move_cached(b, uio, off, flags);
    if (appends && n > 0)
        f->off = off + n;
    return n;
}

static loff_t bdev_seek(struct file *f, loff_t off, int whence)
{
    if (whence == 1)
        off += f->off;
    else if (whence == 2)
        off += (loff_t)((struct bdev *)f->data)->vn.size;
    if (whence > 2 || whence < 0 || off < 0)
        return -EINVAL;
    return off;
}

static long bdev_ioctl(struct file *f, unsigned cmd, uint64_t arg)
{
    struct bdev *b = f->data;
    struct disk *d = b->disk;
    uint64_t bytes = b->vn.size, sectors = disk_sectors(d);
    uint32_t word = SECTOR_SIZE;

    switch (cmd) {
    case BLKGETSIZE64:
        return copy_out(arg, &bytes, sizeof bytes);
    case BLKGETSIZE:
        return copy_out(arg, &sectors, sizeof sectors);
    case BLKBSZGET:
    case BLKSSZGET:
    case BLKPBSZGET:
        return copy_out(arg, &word, sizeof word);
    case BLKROGET:
        word = disk_readonly(d);
        return copy_out(arg, &word, sizeof word);
    case BLKFLSBUF:
        return flush_and_invalidate(b, false);
    default:
        return -ENOTTY;
    }
}

/* The last close writes the dirty pages and drops all pages (I1). */
static void bdev_close(struct file *f)
{
    struct bdev *b = f->data;

    mutex_enter(&open_lock);
    if (--b->nopen == 0)
        flush_and_invalidate(b, true); /* no open file is left to return an error to */
    mutex_exit(&open_lock);
}

static const struct fileops bdev_ops = {
    .read = bdev_rdwr,
    .write = bdev_rdwr,
    .seek = bdev_seek,
    .ioctl = bdev_ioctl,
    .close = bdev_close,
};

const char *vn_disk_name(const struct vnode *vn)
{
    const struct disk *d = vn->type == VBLK ? disk_by_dev(vn->rdev) : vn->vfs->disk;

    return d != NULL ? disk_name(d) : "";
}

int bdev_open(struct vnode *vn, int oflags, struct file *f)
{
    struct disk *d = disk_by_dev(vn->rdev);
    struct bdev *b;

    if (d == NULL)
        return -ENXIO;
    if (disk_readonly(d) && (oflags & O_ACCMODE) != O_RDONLY)
        return -EROFS;
    mutex_enter(&open_lock);
    b = bdev_find_or_create(d);
    if (b != NULL)
        b->nopen++;
    mutex_exit(&open_lock);
    if (b == NULL)
        return -ENOMEM;
    f->ops = &bdev_ops;
    f->data = b;
    return 0;
}

int bdev_fsync(uint64_t rdev)
{
    struct disk *d = disk_by_dev(rdev);
    struct bdev *b = d != NULL ? disk_owner(d) : NULL;

    return b != NULL ? sync_disk(b) : 0;
}

void bdev_sync_all(void)
{
    struct disk *d = NULL;

    while ((d = disk_next(d)) != NULL)
        if (disk_owner(d) != NULL)
            sync_disk(disk_owner(d));
}

void bdev_init(void)
{
    mutex_init(&open_lock, SLEEP_DISK_OPEN);
}
