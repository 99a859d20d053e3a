// SPDX-License-Identifier: MIT
/*
 * pages.c - moving a file's pages between the page cache and the disk.
 *
 * THEORY      The page cache reads and writes runs of pages.  This file looks up their blocks.  Pieces that
 *             are consecutive on the disk become one request, and a page is done when its last piece is done.
 *             If blocks are smaller than pages, a page can need several pieces.  A part of a page without a
 *             block (a hole) needs no piece, and reading it gives zeros.
 *             If there is no memory for requests, the pages are moved block by block.  So dirty pages can be
 *             written, and their memory freed, when memory is exhausted.
 *             A program can store bytes beyond the end of a file that it has mapped, up to the end of the
 *             page.  These bytes must not get to the disk, so such a page is written from a copy
 *             that has zeros beyond the end.  The page itself is not changed, because at the same
 *             time a write(2) can be filling the page before it moves the end of the file.
 *             Write-back that finds no memory fails only if a thread waits for it; otherwise it is postponed.
 * INVARIANTS  I1  object_read_done/object_write_done is called once for each page of a run that was accepted
 *             I2  the bytes of a page beyond the end of the file are zero when it has been read (vnode.h)
 *             I3  a file's last block on the disk has zeros beyond the end of the file
 *             I4  the bytes of a page below the end of the file are zero where there is no block (pcache.c,
 *                 I2)
 * LOCKING     The look-up takes map_lock.  Requests end in interrupt context.
 * SEE ALSO    vnops.c, pages/pcache.c
 */
#include "fs/ext/vnops.h"

#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"

struct page_transfer;

/* What a transfer is for. */
enum page_io { READ_PAGES, WRITE_PAGES, WRITE_PAGES_SYNC, WRITE_PAGES_RECLAIM };

static enum page_io page_io_of(enum write_why why)
{
    if (why == WRITE_SYNC)
        return WRITE_PAGES_SYNC;
    if (why == WRITE_RECLAIM)
        return WRITE_PAGES_RECLAIM;
    return WRITE_PAGES;
}

/* One request of a transfer. */
struct page_part {
    struct blk_req r;
    struct page_transfer *t;
    struct page_part *next;
    struct blk_vec vec[BLK_MAX_VECS];
};

/* A run of pages that is being read or written. */
struct page_transfer {
    struct ext_inode *i;
    enum page_io io;
    unsigned n;
    uint64_t first; /* index of page[0], copied because that page can be reused before the end */
    _Atomic unsigned left; /* number of requests that have not ended, plus 1 for the submitter */
    struct page_part *parts;
    struct page_part part; /* the first of `parts`: most transfers need no other */
    /* copy of the last page that is written instead of the page (I3), or NULL */
    struct page *clean;
    struct {
        struct page *pg;
        _Atomic uint16_t left; /* number of pieces that have not ended, plus 1 for the submitter */
        _Atomic bool failed;
    } page[];
};

/* The number of bytes of the page that belong to the file or to a write in progress. */
static size_t bytes_in_file(const struct ext_inode *i, const struct page *pg)
{
    uint64_t end = max_of(i->vn.size, atomic_load(&i->writing)), at = pg->index << PAGE_SHIFT;

    return end > at ? min_of(end - at, PAGE_SIZE) : 0;
}

/* The number of the n blocks from lblk on that stay in the file after the truncation in progress, if there is one. */
static uint32_t blocks_left_by_truncate(const struct ext_inode *i, uint64_t lblk, uint32_t n)
{
    uint64_t cut = atomic_load(&i->cutting), end = (cut + i->fs->bsize - 1) >> i->fs->bshift;

    if (cut == 0)
        return n;
    return end > lblk ? (uint32_t)min_of(end - lblk, (uint64_t)n) : 0;
}

/* Whether one of the bytes k .. end-1 of the page is not zero. */
static bool has_nonzero_bytes(const struct page *pg, size_t k, size_t end)
{
    const uint8_t *bytes = page_to_virt((struct page *)(uintptr_t)pg);

    for (size_t step; k < end; k += step) {
        step = k % 8 == 0 && end - k >= 8 ? 8 : 1;
        if (step == 8 ? *(const uint64_t *)(bytes + k) != 0 : bytes[k] != 0)
            return true;
    }
    return false;
}

/* Whether the page has bytes other than zero beyond the end of the file (I3). */
static bool has_bytes_beyond_eof(const struct ext_inode *i, const struct page *pg)
{
    return has_nonzero_bytes(pg, bytes_in_file(i, pg), PAGE_SIZE);
}

/* Makes a copy of the page that has zeros beyond the end of the file (I3); NULL: no memory. */
static struct page *copy_with_zeroed_tail(const struct ext_inode *i, struct page *pg)
{
    struct page *copy = page_alloc(pg->node, 0, ALLOC_WHOLE);
    size_t n = bytes_in_file(i, pg);
    uint8_t *to;

    if (copy == NULL)
        return NULL;
    to = page_to_virt(copy);
    memcpy(to, page_to_virt(pg), n);
    memset(to + n, 0, PAGE_SIZE - n);
    copy->index = pg->index;
    return copy;
}

/* Establishes I2 for a page that has been read. */
static void zero_beyond_eof(struct ext_inode *i, struct page *pg)
{
    uint64_t size = i->vn.size, at = pg->index << PAGE_SHIFT;

    if (size < at + PAGE_SIZE) {
        uint64_t in = size > at ? size - at : 0;

        memset((uint8_t *)page_to_virt(pg) + in, 0, PAGE_SIZE - in);
    }
}

static void page_write_done(struct ext_inode *i, struct page *pg, int err)
{
    if (unlikely(err != 0 && err != -EAGAIN))
        atomic_fetch_add(&i->fs->n_write_errors, 1);
    object_write_done(pg, err);
}

/*
 * Called when a piece of page k has ended, and when all pieces are submitted.  The last call
 * completes the page.
 */
static void page_piece_done(struct page_transfer *t, unsigned k, bool ok)
{
    struct page *pg = t->page[k].pg;

    if (!ok)
        t->page[k].failed = true;
    if (atomic_fetch_sub(&t->page[k].left, 1) != 1)
        return;
    if (t->io != READ_PAGES) {
        page_write_done(t->i, pg, t->page[k].failed ? -EIO : 0);
    } else {
        zero_beyond_eof(t->i, pg);
        object_read_done(pg, t->page[k].failed ? -EIO : 0);
    }
}

/*
 * Called when a request of the transfer has ended, and once when all requests are submitted.  The
 * last call frees the transfer.
 */
static void release_transfer(struct page_transfer *t)
{
    if (atomic_fetch_sub(&t->left, 1) != 1)
        return;
    if (t->clean != NULL)
        page_release(t->clean);
    kmem_free(t);
}

/* Gets memory for one more request of the transfer; NULL: no memory. */
static struct page_part *part_alloc(struct page_transfer *t)
{
    return t->parts == NULL ? &t->part : kmem_alloc(sizeof(struct page_part));
}

static void part_free(struct page_part *p)
{
    if (p != &p->t->part)
        kmem_free(p);
}

static void transfer_part_done(struct blk_req *r)
{
    struct page_part *p = container_of(r, struct page_part, r);
    struct page_transfer *t = p->t;
    unsigned k[BLK_MAX_VECS], n = r->nvecs;

    /*
     * read all indices before the first page_piece_done(), because a page that is done can be
     * reused
     */
    for (unsigned v = 0; v < n; v++)
        k[v] = (unsigned)(p->vec[v].pg->index - t->first);
    for (unsigned v = 0; v < n; v++)
        page_piece_done(t, k[v], (r->bad >> v & 1) == 0);
    part_free(p);
    release_transfer(t);
}

/* Adds a piece of page k to the last request, or to a new one.  -ENOMEM. */
static int add_page_piece(struct page_transfer *t, struct page_part **last, unsigned k,
                          uint32_t off, uint32_t block)
{
    struct ext_fs *fs = t->i->fs;
    struct page *pg = t->clean != NULL && k == t->n - 1 ? t->clean : t->page[k].pg;
    struct page_part *p = *last;
    uint64_t sector = (uint64_t)block * fs->spb;
    struct blk_vec *v;

    if (p == NULL || p->r.sector + p->r.nsect != sector || p->r.nvecs == BLK_MAX_VECS) {
        p = part_alloc(t);
        if (p == NULL)
            return -ENOMEM;
        memset(&p->r, 0, sizeof p->r);
        p->r.disk = fs->disk;
        p->r.op = t->io != READ_PAGES ? BLK_WRITE : BLK_READ;
        p->r.sector = sector;
        p->r.vec = p->vec;
        p->r.file = t->i->vn.ino;
        p->r.sync = t->io == READ_PAGES || t->io == WRITE_PAGES_SYNC;
        p->r.by = blk_current_owner();
        p->r.done = transfer_part_done;
        list_init(&p->r.link);
        p->t = t;
        p->next = t->parts;
        t->parts = p;
        *last = p;
    }
    v = p->r.nvecs != 0 ? &p->vec[p->r.nvecs - 1] : NULL;
    if (v != NULL && v->pg == pg && v->off + v->len == off) { /* no hole in between */
        v->len += fs->bsize;
    } else {
        p->vec[p->r.nvecs++] = (struct blk_vec){pg, off, fs->bsize};
        t->page[k].left++;
    }
    p->r.nsect += fs->spb;
    return 0;
}

/*
 * Like ext_map(), but the pageout daemon gets -EAGAIN if map_lock is not free.  The daemon must not
 * wait for the lock, because the thread that holds the lock can be waiting for memory.
 */
static int map_blocks_for_io(struct ext_inode *i, uint64_t lblk, uint32_t max, enum page_io io,
                             uint32_t *pblk, uint32_t *n)
{
    return io == WRITE_PAGES_RECLAIM ? ext_map_now(i, lblk, max, pblk, n)
                                     : ext_map(i, lblk, max, pblk, n);
}

/*
 * Looks up all blocks and makes the requests.  0, -ENOMEM, -EIO, or the error of map_blocks_for_io().  A
 * write leaves out the blocks that a truncation will free, because afterwards they can belong to another file
 * (drop_inode_pages).
 */
static int build_transfer_requests(struct page_transfer *t)
{
    struct ext_fs *fs = t->i->fs;
    unsigned per = (unsigned)(PAGE_SIZE >> fs->bshift);
    uint64_t lblk = t->first * per;
    uint32_t total = t->n * per, pblk = 0, run = 0;
    struct page_part *last = NULL;
    /* read before the map, because a file gets its blocks before its size grows */
    uint64_t size = t->i->vn.size;
    int err = 0;

    if (t->io != READ_PAGES)
        total = blocks_left_by_truncate(t->i, lblk, total);
    for (uint32_t b = 0; b < total; b++, run--) {
        if (run == 0)
            err = map_blocks_for_io(t->i, lblk + b, total - b, t->io, &pblk, &run);
        if (err != 0)
            return err;
        if (pblk == 0) {
            size_t off = (size_t)(b % per) << fs->bshift;
            uint64_t at = (lblk + b) << fs->bshift;

            if (t->io == READ_PAGES)
                memset((uint8_t *)page_to_virt(t->page[b / per].pg) + off, 0, fs->bsize);
            else if (at < size && has_nonzero_bytes(t->page[b / per].pg, off,
                                                    off + min_of(size - at, (uint64_t)fs->bsize)))
                return -EIO; /* I4 is broken: data would be lost without an error */
            continue;
        }
        err = add_page_piece(t, &last, b / per, b % per << fs->bshift, pblk);
        if (err != 0)
            return err;
        pblk++;
    }
    return 0;
}

/* Allocates memory for one block; waits for it if necessary.  Returns NULL in the same cases as ext_alloc(). */
static uint8_t *alloc_block_may_wait(struct ext_fs *fs)
{
    struct mem_need need = mem_need();
    uint8_t *p;

    do
        p = ext_block_alloc(fs);
    while (p == NULL && ext_make_room(fs, &need));
    return p;
}

/*
 * Writes a block whose first n bytes belong to the file; the rest of the block is zeros (I3).  0 or an error.
 */
static int write_file_block(struct ext_fs *fs, uint32_t pblk, uint8_t *at, size_t n)
{
    uint8_t *copy;
    int err;

    if (n >= fs->bsize)
        return ext_io_one(fs, BLK_WRITE, pblk, at);
    copy = alloc_block_may_wait(fs);
    if (copy == NULL)
        return -ENOMEM;
    memcpy(copy, at, n);
    memset(copy + n, 0, fs->bsize - n);
    err = ext_io_one(fs, BLK_WRITE, pblk, copy);
    ext_block_free(fs, copy);
    return err;
}

/* Reads or writes one page block by block, and waits.  0 or an error. */
static int transfer_page_blocks(struct ext_inode *i, struct page *pg, enum page_io io)
{
    struct ext_fs *fs = i->fs;
    bool write = io != READ_PAGES;
    unsigned per = (unsigned)(PAGE_SIZE >> fs->bshift);
    size_t bytes = bytes_in_file(i, pg);

    for (unsigned b = 0; b < per; b++) {
        size_t off = (size_t)b << fs->bshift;
        uint8_t *at = (uint8_t *)page_to_virt(pg) + off;
        uint32_t pblk, n;
        int err;

        if (write && blocks_left_by_truncate(i, pg->index * per + b, 1) == 0)
            break;
        err = map_blocks_for_io(i, pg->index * per + b, 1, io, &pblk, &n);
        if (err != 0)
            return err;
        if (pblk != 0 && write)
            err = write_file_block(fs, pblk, at, bytes > off ? bytes - off : 0);
        else if (pblk != 0)
            err = ext_io_one(fs, BLK_READ, pblk, at);
        else if (!write)
            memset(at, 0, fs->bsize);
        if (err != 0)
            return err;
    }
    if (!write)
        zero_beyond_eof(i, pg);
    return 0;
}

/*
 * The error for object_read_done() or object_write_done().  A lack of memory is an error of a write only if a thread
 * waits for the write.
 */
static int page_io_errno(int err, enum page_io io)
{
    if (io == READ_PAGES || (err != -ENOMEM && err != -EAGAIN))
        return err != 0 ? -EIO : 0;
    return io == WRITE_PAGES_SYNC ? -ENOMEM : -EAGAIN;
}

/* Like transfer_pages(), but page by page and with little memory. */
static int transfer_pages_slowly(struct ext_inode *i, struct page **pages, unsigned n,
                                 enum page_io io)
{
    for (unsigned k = 0; k < n; k++) {
        int err = page_io_errno(transfer_page_blocks(i, pages[k], io), io);

        if (io == READ_PAGES)
            object_read_done(pages[k], err);
        else
            page_write_done(i, pages[k], err);
    }
    return 0;
}

/* Frees a transfer whose requests have not been submitted. */
static void discard_transfer(struct page_transfer *t)
{
    struct page_part *p;

    while ((p = t->parts) != NULL) {
        t->parts = p->next;
        part_free(p);
    }
    release_transfer(t);
}

/*
 * Starts to read or write n pages with consecutive indices.  0: each page has been or will be completed (I1).  After
 * an error, no page is completed.
 */
static int transfer_pages(struct ext_inode *i, struct page **pages, unsigned n, enum page_io io)
{
    struct page_transfer *t = kmem_zalloc(sizeof *t + n * sizeof t->page[0]);
    struct page_part *p, *next;
    int err = 0;

    if (t == NULL)
        return transfer_pages_slowly(i, pages, n, io);
    t->i = i;
    t->io = io;
    t->n = n;
    t->first = pages[0]->index;
    t->left = 1;
    for (unsigned k = 0; k < n; k++) {
        t->page[k].pg = pages[k];
        t->page[k].left = 1;
    }
    if (io != READ_PAGES && unlikely(has_bytes_beyond_eof(i, pages[n - 1]))) {
        t->clean = copy_with_zeroed_tail(i, pages[n - 1]);
        if (t->clean == NULL)
            err = -ENOMEM;
    }
    if (err == 0)
        err = build_transfer_requests(t);
    if (err != 0) {
        discard_transfer(t);
        if (err == -ENOMEM)
            return transfer_pages_slowly(i, pages, n, io);
        return page_io_errno(err, io);
    }
    for (p = t->parts; p != NULL; p = p->next)
        atomic_fetch_add(&t->left, 1);
    for (p = t->parts; p != NULL; p = next) {
        next = p->next;
        blk_submit(&p->r);
    }
    for (unsigned k = 0; k < n; k++)
        page_piece_done(t, k, true);
    release_transfer(t);
    return 0;
}

static int ext_getpage(struct vm_object *obj, struct page *pg)
{
    int err = transfer_page_blocks(ext_i(obj->owner), pg, READ_PAGES);

    return err == 0 ? 0 : -EIO;
}

static int ext_readpages(struct vm_object *obj, struct page **pages, unsigned n)
{
    return transfer_pages(ext_i(obj->owner), pages, n, READ_PAGES);
}

static int ext_writepages(struct vm_object *obj, struct page **pages, unsigned n,
                          enum write_why why)
{
    struct ext_inode *i = ext_i(obj->owner);
    int err = transfer_pages(i, pages, n, page_io_of(why));

    if (unlikely(err != 0 && err != -EAGAIN))
        atomic_fetch_add(&i->fs->n_write_errors, 1);
    return err;
}

/* Marks the pages of new blocks dirty, before the transaction can be committed (ext_prepare). */
static void dirty_new_block_pages(void *arg, uint64_t lblk, uint32_t n)
{
    struct ext_inode *i = arg;
    unsigned shift = PAGE_SHIFT - i->fs->bshift;

    object_dirty_range(&i->vn.obj, lblk >> shift, (lblk + n - 1) >> shift);
}

int ext_vn_fill_page(struct vnode *vn, uint64_t size)
{
    struct ext_inode *i = ext_i(vn);
    uint64_t old = vn->size, at = round_down(old, PAGE_SIZE);
    struct page *pg;
    int err;

    if (likely(i->fs->bsize == PAGE_SIZE) || at == old || size <= old)
        return 0;
    /* the bytes of the page are the content of the new blocks */
    err = object_page_get(&vn->obj, at >> PAGE_SHIFT, &pg);
    if (err != 0)
        return err;
    object_prepare_begin(pg);
    err = ext_prepare(i, at, min_of(PAGE_SIZE, size - at), true, dirty_new_block_pages, i);
    object_prepare_end(&vn->obj, pg, err);
    page_release(pg);
    return err;
}

/*
 * Restores I3 after a write that has failed: writes the last page again, because it was perhaps written up to the
 * end of the failed write.
 */
static void rewrite_last_page(struct ext_inode *i)
{
    struct vm_object *o = &i->vn.obj;
    struct page *pg;

    if (i->vn.size % i->fs->bsize == 0 || object_page_get(o, i->vn.size >> PAGE_SHIFT, &pg) != 0)
        return;
    object_prepare_begin(pg);
    object_dirty(o, pg);
    object_prepare_end(o, pg,
                       -ENOSPC); /* write it now, because it can lack blocks; then it is clean */
    page_release(pg);
}

void ext_vn_trim(struct vnode *vn)
{
    struct ext_inode *i = ext_i(vn);
    bool failed = atomic_load(&i->writing) > vn->size;

    ext_trim(i);
    if (failed) /* the bytes that were written lie beyond the end, where I3 must hold */
        rewrite_last_page(i);
}

int ext_page_block(struct ext_inode *i, uint64_t index, uint32_t *pblk)
{
    uint32_t per = (uint32_t)(PAGE_SIZE >> i->fs->bshift), n;

    if (ext_map(i, index * per, per, pblk, &n) != 0)
        return -EIO;
    if (n < per)
        *pblk = 0;
    return 0;
}

static bool ext_has_blocks(struct vm_object *obj, uint64_t index)
{
    uint32_t pblk;

    return ext_page_block(ext_i(obj->owner), index, &pblk) == 0 && pblk != 0;
}

static int ext_prepare_write(struct vm_object *obj, uint64_t off, uint64_t len)
{
    struct vnode *vn = obj->owner;
    struct ext_inode *i = ext_i(vn);
    uint64_t from = off, end = off + len;
    int err;

    if (i->fs->rdonly)
        return -EROFS;
    if (end > vn->size)
        atomic_store(&i->writing, end); /* before the dirty page can be written up to `end` */
    /* all bytes of the file in these pages need blocks, because later stores to a dirty page do not fault */
    if (unlikely(i->fs->bsize < PAGE_SIZE)) {
        from = round_down(off, PAGE_SIZE);
        end = max_of(end, min_of(round_up(end, PAGE_SIZE), vn->size));
        if (from > vn->size) {
            err = ext_vn_fill_page(vn, from);
            if (err != 0)
                return err;
        }
    }
    err = ext_prepare(i, from, end - from, true, dirty_new_block_pages, i);
    ASSERT(off + len <= max_of(vn->size, atomic_load(&i->writing)),
           "ext.h: the bytes count as the file's until trim");
    return err;
}

static int ext_page_mkwrite(struct vm_object *obj, struct page *pg)
{
    struct vnode *vn = obj->owner;
    struct ext_inode *i = ext_i(vn);
    uint64_t size = vn->size, at = pg->index << PAGE_SHIFT;
    int err;

    if (at >= size)
        return -EIO; /* the file has become shorter meanwhile */
    err = i->fs->rdonly
              ? -EROFS
              : ext_prepare(i, at, min_of(PAGE_SIZE, size - at), false, dirty_new_block_pages, i);
    if (err == 0) {
        vn_times_now(vn, VA_MTIME);
        ext_idirty(i);
    }
    return err;
}

static void ext_hurry(struct vm_object *obj, bool write)
{
    const struct ext_inode *i = ext_i(obj->owner);

    blk_hurry(i->fs->disk, i->vn.ino, write);
}

const struct pager_ops ext_pager = {
    .getpage = ext_getpage,
    .page_mkwrite = ext_page_mkwrite,
    .prepare_write = ext_prepare_write,
    .has_blocks = ext_has_blocks,
    .readpages = ext_readpages,
    .writepages = ext_writepages,
    .hurry = ext_hurry,
};
