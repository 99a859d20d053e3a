// SPDX-License-Identifier: MIT
/*
 * filecache.c - read and write of files on a disk, one page at a time.
 *
 * THEORY      A disk is thousands of times slower than memory.  So the pages of a file are a cache (the page
 *             cache): a read copies from a page in memory when there is one, and a write only changes the
 *             page and marks it dirty.  The page goes to the disk later.  The difficulty is the order of the
 *             steps, because a write may need new disk blocks and the disk may be full.
 *             Bytes that make the file longer are copied into the page first.  Then the file system allocates
 *             blocks for them (pager_ops.prepare_write), and the page becomes dirty.  So the size on the disk never
 *             covers bytes that were not written.  Inside the file, blocks are allocated first, so that a
 *             write for which there is no room changes nothing.
 *             A page is not read from the disk if it has its blocks and is written as a whole, or if it lies
 *             beyond the end.  Its new frame is filled before it goes into the tree, where other threads
 *             could see it.  During the copy the writer may fault, even on the same page of the
 *             same file; at that time it holds no lock except the file's (vn->lock).
 *             Write-behind: a write that completes a block of MAXBSIZE bytes also causes the block to be
 *             written to the disk.
 *             Blocks that follow each other are gathered and written with one transfer (pages/cluster.h).
 *             Free-behind: a program that reads a file from start to end rarely reads it again soon.  When
 *             memory is short, the pages that it has passed are freed first (freebehind).
 *             If the disk has no room for bytes beyond the end, they are zeroed again, and a page
 *             without other bytes is dropped.  A mapping may have shown these bytes for a short
 *             time.
 * INVARIANTS  I1  a page that these functions make dirty has blocks for all of its bytes below the end of its
 *                 file
 * TUNABLES    freebehind, smallfile, maxcontig
 * LOCKING     The caller of cache_write() holds the file's lock for writing.  Reads take no lock.
 * SEE ALSO    vfs/rdwr.c, pcache.c, docs/pagecache.md
 */
#include "pages/filecache.h"

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

int cache_page_get(struct vm_object *o, uint64_t off, const struct uio *uio, struct page **pg)
{
    uint64_t want = ((off & (PAGE_SIZE - 1)) + uio->resid + PAGE_SIZE - 1) >> PAGE_SHIFT;
    struct read_how how = {uio->ra, uio->advice};
    int err;

    if (o->io == NULL)
        return object_page_get(o, off >> PAGE_SHIFT, pg);
    *pg = NULL;
    err = object_page_read(o, off >> PAGE_SHIFT, want, NULL, &how, pg);
    return err == -ENXIO ? 0 : err;
}

void cache_read_end(struct vm_object *o, const struct readahead *ra, uint64_t off, size_t n)
{
    if (freebehind != 0 && o->io != NULL && off > smallfile && off >= PAGE_SIZE && n != 0)
        object_free_behind(o, ra, (off - n) >> PAGE_SHIFT, (off >> PAGE_SHIFT) - 1);
}

/* The number of pages that write-behind gathers before it writes them. */
static uint64_t max_cluster_pages(void)
{
    return max_of(min_of((uint64_t)maxcontig * (MAXBSIZE >> PAGE_SHIFT), pcache_cluster()),
                  (uint64_t)(MAXBSIZE >> PAGE_SHIFT));
}

/*
 * Called after a write up to byte `end` of the file (exclusive).  If the write has completed a block, gathers
 * or writes the block.
 */
static void write_behind(struct vm_object *o, uint64_t end)
{
    uint64_t first = (end - 1) / MAXBSIZE * (MAXBSIZE >> PAGE_SHIFT);
    struct page_run run;

    if (end % MAXBSIZE != 0)
        return;
    run = writebehind_put(&o->io->wb, first, MAXBSIZE >> PAGE_SHIFT, max_cluster_pages());
    if (run.n != 0) /* if the write fails, the next fsync returns the error */
        object_writeback(o, run.first, run.first + run.n - 1, WRITE_BEHIND);
}

/* The address of the bytes of the step in the page. */
static uint8_t *step_bytes(const struct file_write *w, struct page *pg)
{
    return (uint8_t *)page_to_virt(pg) + (w->off & (PAGE_SIZE - 1));
}

/*
 * Fills a new frame with the bytes of the step and zeros around them, and puts it into the tree: w->pg.
 * @beyond  the page lies beyond the end of the file: insert it even if not all bytes could be copied
 * 0, -EFAULT, -ENOMEM, -EIO; w->pg stays NULL if the page is not in the tree.
 */
static int write_new_page(struct file_write *w, bool beyond)
{
    uint64_t index = w->off >> PAGE_SHIFT, in = w->off & (PAGE_SIZE - 1);
    size_t before = w->uio->resid;
    struct page *pg = object_page_new(w->obj, index);
    int err, insert;

    if (pg == NULL)
        return -ENOMEM;
    err = uio_move(step_bytes(w, pg), w->n, w->uio);
    w->done = before - w->uio->resid;
    if (w->n < PAGE_SIZE || w->done < w->n) {
        memset(page_to_virt(pg), 0, in);
        memset(step_bytes(w, pg) + w->done, 0, PAGE_SIZE - in - w->done);
    }
    insert = w->done == w->n || beyond ? object_page_insert(w->obj, index, pg) : -EEXIST;
    if (insert == 0) {
        w->pg = pg;
        return err;
    }
    /*
     * Another thread has inserted a page meanwhile, or not all bytes of the new page could be
     * filled.  In both cases, copy the bytes into the page of the tree, which is read if it is
     * absent.
     */
    if (insert == -EEXIST)
        insert = object_page_read(w->obj, index, 1, NULL, NULL, &w->pg);
    if (insert == 0)
        memcpy(step_bytes(w, w->pg), step_bytes(w, pg), w->done);
    page_release(pg);
    return insert != 0 ? insert : err;
}

/* Allocates blocks for n bytes from `off` on, which lie in page `pg`. */
static int prepare_page_write(struct vm_object *o, struct page *pg, uint64_t off, uint64_t n)
{
    int err;

    if (o->ops->prepare_write == NULL)
        return 0;
    object_prepare_begin(pg);
    err = o->ops->prepare_write(o, off, n);
    object_prepare_end(o, pg, err);
    return err;
}

/* Allocates blocks for bytes that are already in the page, and marks the page dirty. */
static int prepare_and_dirty(struct vm_object *o, struct page *pg, uint64_t off, uint64_t n)
{
    int err = prepare_page_write(o, pg, off, n);

    if (err == 0)
        object_dirty(o, pg);
    return err;
}

int cache_page_allocate(struct vm_object *o, uint64_t index, size_t n, struct page **pg)
{
    int err = object_page_read(o, index, 1, NULL, NULL, pg);

    if (err == -ENXIO) { /* beyond the end */
        *pg = object_page_new(o, index);
        if (*pg == NULL)
            return -ENOMEM;
        page_zero(*pg, 0);
        err = object_page_insert(o, index, *pg);
        if (err != 0)
            page_release(*pg);
    }
    if (err != 0)
        return err;
    err = prepare_and_dirty(o, *pg, index << PAGE_SHIFT, n);
    if (err != 0)
        page_release(*pg);
    return err;
}

/* Writes to page w->pg, which is in the tree.  All bytes lie inside the file, or all lie beyond its end. */
static int write_present_page(struct file_write *w)
{
    bool longer = w->off >= w->size;
    size_t before = w->uio->resid;
    int err = longer ? 0 : prepare_page_write(w->obj, w->pg, w->off, w->n), prepared = 0;

    if (err != 0)
        return err;
    err = uio_move(step_bytes(w, w->pg), w->n, w->uio);
    w->done = before - w->uio->resid;
    if (w->done != 0 && longer)
        prepared = prepare_and_dirty(w->obj, w->pg, w->off, w->done);
    else if (w->done != 0)
        object_dirty(w->obj, w->pg);
    if (prepared == 0)
        return err;
    /*
     * Zero the bytes beyond the end.  The page's other bytes stay, because they may be newer than
     * the disk.
     */
    memset(step_bytes(w, w->pg), 0, w->done);
    w->done = 0;
    return prepared;
}

/* Writes to a page that is not in the tree and need not be read: see THEORY. */
static int write_absent_page(struct file_write *w, bool beyond)
{
    const struct pager_ops *ops = w->obj->ops;
    int err, prepared = 0;

    if (!beyond && ops->prepare_write != NULL) {
        err = ops->prepare_write(w->obj, w->off, w->n);
        if (err != 0)
            return err; /* before readers of the page see bytes that cannot reach the disk */
    }
    err = write_new_page(w, beyond);
    if (w->pg != NULL && w->done != 0 && beyond)
        prepared = prepare_and_dirty(w->obj, w->pg, w->off, w->done);
    else if (w->pg != NULL && w->done != 0)
        object_dirty(w->obj, w->pg);
    if (w->pg == NULL || prepared != 0)
        w->done = 0;
    return prepared != 0 ? prepared : err;
}

bool cache_has_blocks(struct vm_object *o, uint64_t index)
{
    return o->ops->prepare_write == NULL ||
           (o->ops->has_blocks != NULL && o->ops->has_blocks(o, index));
}

int cache_write(struct file_write *w)
{
    uint64_t index = w->off >> PAGE_SHIFT;
    bool beyond = round_down(w->off, PAGE_SIZE) >= w->size;
    int err = 0;

    w->pg = object_page_find(w->obj, index);
    w->done = 0;
    w->n = min_of(w->left, PAGE_SIZE - (w->off & (PAGE_SIZE - 1)));
    if (w->off < w->size) /* the next call writes the bytes beyond the end */
        w->n = min_of(w->n, w->size - w->off);
    if (w->pg == NULL && (beyond || (w->n == PAGE_SIZE && cache_has_blocks(w->obj, index)))) {
        err = write_absent_page(w, beyond);
    } else {
        if (w->pg == NULL)
            err = object_page_read(w->obj, index, 1, NULL, NULL, &w->pg);
        if (err == 0)
            err = write_present_page(w);
    }
    if (w->pg != NULL)
        page_release(w->pg);
    if (w->done != 0)
        write_behind(w->obj, w->off + w->done);
    return err;
}
