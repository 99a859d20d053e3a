// SPDX-License-Identifier: MIT
/*
 * filecache.c - read and write of files on a disk, one page at a time.
 *
 * THEORY      A disk is thousands of times slower than memory.  So the pages of a file are a cache (the page
 *             cache): a read copies from a page in memory when there is one, and a write only changes the
 *             page and marks it dirty.  The page goes to the disk later.  The difficulty is the order of the
 *             steps, because a write may need new disk blocks and the disk may be full.
 *             Bytes that make the file longer are copied into the page first.  Then the file system allocates
 *             blocks for them (prepare_write), and the page becomes dirty.  So the size on the disk never
 *             covers bytes that were not written.  Inside the file, blocks are allocated first, so that a
 *             write for which there is no room changes nothing.
 *             A page is not read from the disk if it has its blocks and is written as a whole, or if it lies
 *             beyond the end.  Its new frame is filled before it goes into the tree, where other threads
 *             could see it.  During the copy the writer may fault, even on the same page of the same file; it
 *             then holds no lock but vn->lock.
 *             Write-behind: a write that completes a block of MAXBSIZE bytes hands it over for writing.
 *             Blocks that follow each other are gathered and written with one transfer (pages/cluster.h).
 *             Free-behind: a program that reads a file from start to end rarely reads it again soon.  When
 *             memory is short, the pages that it has passed are freed first (freebehind).
 *             If there is no room for bytes beyond the end, they are zeroed again, and a page without other
 *             bytes is dropped.  A mapping may have shown these bytes for a moment.
 * INVARIANTS  I1  a page that becomes dirty here has blocks for all of its bytes below the end of the file
 * TUNABLES    freebehind, smallfile, maxcontig
 * LOCKING     vn->lock is held for writing around cache_write(); reads take no lock
 * SEE ALSO    rdwr.c, pages/pcache.c, docs/pagecache.md
 */
#include "vfs/filecache.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "stat/tunable.h"
#include "pages/pcache.h"

static uint32_t freebehind = 1, smallfile = 32768;
TUNABLE_M("ufs", freebehind, 0, 1,
          "default 1: sequential readers free what they leave behind when memory is short");
TUNABLE_M("ufs", smallfile, 0, INT32_MAX,
          "default 32768 bytes: the beginning of a file that free-behind leaves alone");

#define MAXBSIZE 8192u /* bytes of the blocks that write-behind gathers; UFS's block size */

static uint32_t maxcontig = 16;
TUNABLE_M("ufs", maxcontig, 1, 32,
          "default 16 blocks of 8 KiB: what write-behind gathers, up to maxphys; read at each");

int cache_page_get(struct vnode *vn, uint64_t off, const struct uio *uio, struct page **pg)
{
    uint64_t want = ((off & (PAGE_SIZE - 1)) + uio->resid + PAGE_SIZE - 1) >> PAGE_SHIFT;
    struct read_how how = {uio->ra, uio->advice};
    int err;

    if (vn->obj.io == NULL)
        return object_page_get(&vn->obj, off >> PAGE_SHIFT, true, pg);
    *pg = NULL;
    err = object_page_read(&vn->obj, off >> PAGE_SHIFT, want, NULL, &how, pg);
    return err == -ENXIO ? 0 : err;
}

void cache_read_end(struct vnode *vn, const struct readahead *ra, uint64_t off, size_t n)
{
    if (freebehind != 0 && vn->obj.io != NULL && off > smallfile && off >= PAGE_SIZE && n != 0)
        object_free_behind(&vn->obj, ra, (off - n) >> PAGE_SHIFT, (off >> PAGE_SHIFT) - 1);
}

/* The number of pages that write-behind gathers before it writes them. */
static uint64_t max_cluster_pages(void)
{
    return max_of(min_of((uint64_t)maxcontig * (MAXBSIZE >> PAGE_SHIFT), pcache_cluster()),
                  (uint64_t)(MAXBSIZE >> PAGE_SHIFT));
}

/* A write has ended before byte `end` of the file: if it has completed a block, gathers or writes it. */
static void write_behind(struct vnode *vn, uint64_t end)
{
    uint64_t first = (end - 1) / MAXBSIZE * (MAXBSIZE >> PAGE_SHIFT);
    struct page_run run;

    if (end % MAXBSIZE != 0)
        return;
    run = writebehind_put(&vn->obj.io->wb, first, MAXBSIZE >> PAGE_SHIFT, max_cluster_pages());
    if (run.n != 0) /* the next fsync returns an error of this */
        object_writeback(&vn->obj, run.first, run.first + run.n - 1, false);
}

/*
 * Fills a new frame with n bytes from the program and zeros around them, and puts it into the tree.
 * @beyond  the page lies beyond the end of the file: put it there even if fewer than n bytes could be copied
 * *done is the number of bytes copied.  *out is the page in the tree, held; it stays as it is if there is
 * none.  0, -EFAULT, -ENOMEM, -EIO.
 */
static int write_new_page(struct vnode *vn, struct uio *uio, uint64_t off, size_t n, bool beyond,
                          size_t *done, struct page **out)
{
    struct vm_object *o = &vn->obj;
    uint64_t index = off >> PAGE_SHIFT, in = off & (PAGE_SIZE - 1);
    size_t before = uio->resid;
    struct page *pg = object_page_new(o, index), *there;
    uint8_t *bytes;
    int err, insert;

    if (pg == NULL)
        return -ENOMEM;
    bytes = page_to_virt(pg);
    err = uio_move(bytes + in, n, uio);
    *done = before - uio->resid;
    if (n < PAGE_SIZE || *done < n) {
        memset(bytes, 0, in);
        memset(bytes + in + *done, 0, PAGE_SIZE - in - *done);
    }
    insert = *done == n || beyond ? object_page_insert(o, index, pg) : -EEXIST;
    if (insert == 0) {
        *out = pg;
        return err;
    }
    /*
     * Another thread has read the page meanwhile, or not all of it was filled: copy the
     * bytes into the old page.
     */
    if (insert == -EEXIST)
        insert = object_page_read(o, index, 1, NULL, NULL, &there);
    if (insert == 0) {
        memcpy((uint8_t *)page_to_virt(there) + in, bytes + in, *done);
        *out = there;
    }
    page_release(pg);
    return insert != 0 ? insert : err;
}

/* Allocates blocks for bytes off .. off+n-1, which lie in page `pg`. */
static int prepare_page_write(struct vnode *vn, uint64_t off, uint64_t n, struct page *pg)
{
    int err;

    if (vn->op->prepare_write == NULL)
        return 0;
    object_prepare_begin(pg);
    err = vn->op->prepare_write(vn, off, n);
    object_prepare_end(&vn->obj, pg, err);
    return err;
}

/* The same for bytes that are in the page already; marks the page dirty. */
static int prepare_and_dirty(struct vnode *vn, uint64_t off, uint64_t n, struct page *pg)
{
    int err = prepare_page_write(vn, off, n, pg);

    if (err == 0)
        object_dirty(&vn->obj, pg);
    return err;
}

int cache_page_allocate(struct vnode *vn, uint64_t index, size_t n, struct page **pg)
{
    int err = object_page_read(&vn->obj, index, 1, NULL, NULL, pg);

    if (err == -ENXIO) { /* beyond the end */
        *pg = object_page_new(&vn->obj, index);
        if (*pg == NULL)
            return -ENOMEM;
        page_zero(*pg, 0);
        err = object_page_insert(&vn->obj, index, *pg);
        if (err != 0)
            page_release(*pg);
    }
    if (err == 0 && (err = prepare_and_dirty(vn, index << PAGE_SHIFT, n, *pg)) != 0)
        page_release(*pg);
    return err;
}

/*
 * Writes n bytes into page `pg`, which is in the tree.  They lie all inside the file, or all beyond its end.
 */
static int write_present_page(struct vnode *vn, struct uio *uio, uint64_t off, size_t n,
                              size_t *done, struct page *pg)
{
    bool longer = off >= vn->size;
    size_t before = uio->resid;
    uint8_t *to = (uint8_t *)page_to_virt(pg) + (off & (PAGE_SIZE - 1));
    int err = longer ? 0 : prepare_page_write(vn, off, n, pg), prepared = 0;

    if (err != 0)
        return err;
    err = uio_move(to, n, uio);
    *done = before - uio->resid;
    if (*done != 0 && longer)
        prepared = prepare_and_dirty(vn, off, *done, pg);
    else if (*done != 0)
        object_dirty(&vn->obj, pg);
    if (prepared != 0) {
        /* Zero what lies beyond the end.  The page's other bytes stay; they may be newer than the disk. */
        memset(to, 0, *done);
        *done = 0;
    }
    return prepared != 0 ? prepared : err;
}

/* Writes n bytes of a page that is not in the tree and need not be read: see THEORY. */
static int write_absent_page(struct vnode *vn, struct uio *uio, uint64_t off, size_t n, bool beyond,
                             size_t *done)
{
    struct page *pg = NULL;
    int err, prepared = 0;

    if (!beyond && vn->op->prepare_write != NULL && (err = vn->op->prepare_write(vn, off, n)) != 0)
        return err; /* fail before the page shows bytes that cannot reach the disk */
    err = write_new_page(vn, uio, off, n, beyond, done, &pg);
    if (pg != NULL && *done != 0 && beyond)
        prepared = prepare_and_dirty(vn, off, *done, pg);
    else if (pg != NULL && *done != 0)
        object_dirty(&vn->obj, pg);
    if (pg != NULL)
        page_release(pg);
    if (pg == NULL || prepared != 0)
        *done = 0;
    return prepared != 0 ? prepared : err;
}

bool cache_has_blocks(struct vnode *vn, uint64_t index)
{
    struct disk *disk;
    uint64_t sector;

    return vn->op->prepare_write == NULL ||
           (vn->op->bmap != NULL && vn->op->bmap(vn, index, &disk, &sector) == 0);
}

int cache_write(struct vnode *vn, struct uio *uio, loff_t at, size_t n, size_t *done)
{
    uint64_t off = (uint64_t)at, index = off >> PAGE_SHIFT;
    bool beyond = round_down(off, PAGE_SIZE) >= vn->size;
    struct page *pg = NULL;
    int err = object_page_get(&vn->obj, index, false, &pg);

    *done = 0;
    if (off < vn->size) /* bytes beyond the end are left to the next call */
        n = min_of(n, vn->size - off);
    if (err == 0 && pg == NULL && (beyond || (n == PAGE_SIZE && cache_has_blocks(vn, index)))) {
        err = write_absent_page(vn, uio, off, n, beyond, done);
    } else {
        if (err == 0 && pg == NULL)
            err = object_page_read(&vn->obj, index, 1, NULL, NULL, &pg);
        if (err == 0)
            err = write_present_page(vn, uio, off, n, done, pg);
        if (pg != NULL)
            page_release(pg);
    }
    if (*done != 0)
        write_behind(vn, off + *done);
    return err;
}
