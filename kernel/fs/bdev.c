// SPDX-License-Identifier: MIT
/*
 * bdev.c - disks as files: /dev/vda, /dev/vda1.
 *
 * THEORY      Bytes move between the program and the disk through a piece of the kernel's memory, at most PIECE bytes
 *             at a time; where a write covers a part of a sector, the sector is read first.  Positions beyond the end
 *             read as the end of the file and are -ENOSPC for a write.
 * LOCKING     none of its own: two writers of one sector are ordered by the disk, as if there were two machines
 * SEE ALSO    devfs.c (names), kernel/blk/blk.h
 */
#include "fs/bdev.h"

#include "blk/blk.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/page.h"

enum { PIECE_ORDER = 4 };
#define PIECE (PAGE_SIZE << PIECE_ORDER)

enum { /* requests of ioctl, as in Linux */
    BLKROGET = 0x125e, BLKGETSIZE = 0x1260, BLKFLSBUF = 0x1261, BLKSSZGET = 0x1268, BLKPBSZGET = 0x127b,
};
#define BLKBSZGET    0x80081270u
#define BLKGETSIZE64 0x80081272u

static uint64_t size_of(const struct disk *d)
{
    return disk_sectors(d) * SECTOR_SIZE;
}

/* Moves up to a piece at `off` of the disk; returns bytes done or an error. */
static long move_piece(struct disk *d, uint8_t *buf, struct uio *uio, uint64_t off)
{
    uint64_t first = off / SECTOR_SIZE, head = off % SECTOR_SIZE;
    size_t   n = min_of(min_of(uio->resid, size_of(d) - off), PIECE - head);
    size_t   sectors = (head + n + SECTOR_SIZE - 1) / SECTOR_SIZE, before = uio->resid;
    bool     whole = head == 0 && n % SECTOR_SIZE == 0;
    int      err = 0;

    if (uio->dir == UIO_READ || !whole)
        err = blk_rw(d, BLK_READ, first, buf, sectors * SECTOR_SIZE);
    if (err == 0)
        err = uio_move(buf + head, n, uio);
    if (err == 0 && uio->dir == UIO_WRITE)
        err = blk_rw(d, BLK_WRITE, first, buf, sectors * SECTOR_SIZE);
    return err != 0 ? err : (long)(before - uio->resid);
}

static long transfer(struct file *f, struct uio *uio, loff_t off)
{
    struct disk *d = f->data;
    uint64_t     at = (uint64_t)off;
    struct page *pg;
    long         n = 0, done = 0;

    if (off < 0)
        return -EINVAL;
    if (at >= size_of(d) || uio->resid == 0)
        return uio->dir == UIO_READ || uio->resid == 0 ? 0 : -ENOSPC;
    if ((pg = page_alloc(this_cpu()->node, PIECE_ORDER, ALLOC_NEAR)) == NULL)
        return -ENOMEM;
    while (uio->resid > 0 && at < size_of(d) && (n = move_piece(d, page_to_virt(pg), uio, at)) > 0) {
        at += (uint64_t)n;
        done += n;
    }
    page_release(pg);
    return done > 0 ? done : n;
}

static loff_t bdev_seek(struct file *f, loff_t off, int whence)
{
    if (whence == 1)
        off += f->off;
    else if (whence == 2)
        off += (loff_t)size_of(f->data);
    if (whence > 2 || whence < 0 || off < 0)
        return -EINVAL;
    return f->off = off;
}

static long bdev_ioctl(struct file *f, unsigned cmd, uint64_t arg)
{
    struct disk *d = f->data;
    uint64_t     bytes = size_of(d), sectors = disk_sectors(d);
    uint32_t     word = SECTOR_SIZE;

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
        return blk_flush(d);
    default:
        return -ENOTTY;
    }
}

static const struct fileops bdev_ops = {.read = transfer, .write = transfer, .seek = bdev_seek, .ioctl = bdev_ioctl};

int bdev_open(struct vnode *vn, int oflags, struct file *f)
{
    struct disk *d = disk_by_dev(vn->rdev);

    if (d == NULL)
        return -ENXIO;
    if (disk_readonly(d) && (oflags & O_ACCMODE) != O_RDONLY)
        return -EROFS;
    f->ops = &bdev_ops;
    f->data = d;
    return 0;
}

int bdev_fsync(uint64_t rdev)
{
    struct disk *d = disk_by_dev(rdev);

    return d != NULL ? blk_flush(d) : -ENXIO;
}
