// SPDX-License-Identifier: MIT
/*
 * filecache.c - read and write of files on a disk, one page at a time.
 *
 * THEORY      What makes the file longer is copied into the page first; then the file system gives it blocks
 *             (prepare_write), and it is dirty: the disk never shows a size before the bytes.  Where the file has
 *             bytes, blocks come first: a write for which there is no room changes nothing.
 *             A page that has its blocks and is written as a whole, or lies beyond the end, is never read: its frame
 *             is filled before it goes into the tree, where others could see it.  While it is filled the writer may
 *             fault, even on the same page of the same file; nothing is locked then but vn->lock.
 *             A write that completes a block of MAXBSIZE bytes hands it to write-behind: blocks that follow each other
 *             are gathered and written as one (pages/cluster.h).
 *             Who reads a file from one end to the other hardly reads it again soon: when memory is short, what he has
 *             passed is freed first (freebehind).
 *             If there is no room for bytes behind the end, they become zeros, and a page that has no others is thrown
 *             away; mappings have shown them for a moment.
 * INVARIANTS  I1  a page that becomes dirty here has blocks for all of its bytes below the end of the file
 * TUNABLES    freebehind, smallfile
 * LOCKING     vn->lock for writing round cache_write; reads take none
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

#define MAXBSIZE 8192u /* bytes: UFS's block, the piece that write-behind gathers */

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

/* Pages that write-behind gathers. */
static uint64_t max_cluster_pages(void)
{
    return max_of(min_of((uint64_t)maxcontig * (MAXBSIZE >> PAGE_SHIFT), pcache_cluster()),
                  (uint64_t)(MAXBSIZE >> PAGE_SHIFT));
}

/* A write of the page is done up to byte `end` of the file: write what has been completed. */
static void write_behind(struct vnode *vn, uint64_t end)
{
    uint64_t first = (end - 1) / MAXBSIZE * (MAXBSIZE >> PAGE_SHIFT);
    struct page_run run;

    if (end % MAXBSIZE != 0)
        return;
    run = writebehind_put(&vn->obj.io->wb, first, MAXBSIZE >> PAGE_SHIFT, max_cluster_pages());
    if (run.n != 0) /* an error is told to fsync */
        object_writeback(&vn->obj, run.first, run.first + run.n - 1, false);
}

/*
 * Fills a new frame with the n bytes from the program, and zeros where `beyond` (it lies at the end of the file), and
 * puts it into the tree.  *out is the page then, held.
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
    /* Somebody has read the page meanwhile, or not all of it was filled: the bytes go where they belong. */
    if (insert == -EEXIST)
        insert = object_page_read(o, index, 1, NULL, NULL, &there);
    if (insert == 0) {
        memcpy((uint8_t *)page_to_virt(there) + in, bytes + in, *done);
        *out = there;
    }
    page_release(pg);
    return insert != 0 ? insert : err;
}

/* Gives bytes off .. off + n - 1, which are the page's, blocks. */
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

/* The same for bytes that the page holds already; then it is dirty. */
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

/* Writes into a page that is in the tree, held: all of it where the file has bytes, or all behind its end. */
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
        memset(
            to, 0,
            *done); /* behind the end; what else the page holds stays, and may be newer than the disk */
        *done = 0;
    }
    return prepared != 0 ? prepared : err;
}

/* Writes a page that is not in the tree and need not be read: it has its blocks, or lies beyond the end. */
static int write_absent_page(struct vnode *vn, struct uio *uio, uint64_t off, size_t n, bool beyond,
                             size_t *done)
{
    struct page *pg = NULL;
    int err, prepared = 0;

    if (!beyond && vn->op->prepare_write != NULL && (err = vn->op->prepare_write(vn, off, n)) != 0)
        return err; /* before the page shows bytes that the disk will not get */
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
    if (off < vn->size) /* what makes it longer comes in a second step */
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
