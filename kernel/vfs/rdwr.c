// SPDX-License-Identifier: MIT
/*
 * rdwr.c - read and write of files whose data is the pages of their object.
 *
 * THEORY      A file's bytes have one copy, in the pages that mmap also maps.  So read and write only copy
 *             between these pages and the program's buffer, one page after the other.
 *             A read takes no lock: it checks the size before each page, and holds a reference to the frame
 *             while it copies bytes from the frame.  A read that runs at the same time as a write can
 *             therefore see only a part of the written data, as on Linux.  Writers hold vn->lock.
 *             Copying to and from a program's memory may fault, and so sleep; no spin lock is
 *             held during the copy.
 *             A new page beyond the end of the file that will be overwritten entirely is not zeroed first.
 *             The old contents of its frame stay invisible: readers and faults stop at the size, which grows
 *             only after the copy.
 *             A file on a disk is read and written page by page through filecache.c.
 * INVARIANTS  I2 of vnode.h: bytes of the last page beyond the size are zero, and no page lies beyond the
 *             last page
 * LOCKING     vn->lock is held for writing around every change of size or data.
 * SEE ALSO    docs/files.md, tests/test_fs.py
 */
#include "vfs/file.h"

#include "pages/filecache.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "vm/vm.h"

#define SIZE_LIMIT (INT64_MAX & PAGE_MASK)

static void dirty_inode(struct vnode *vn)
{
    if (vn->op->dirty_inode != NULL)
        vn->op->dirty_inode(vn);
}

/* A read of a hole returns these bytes. */
static const uint8_t zeros[PAGE_SIZE] __attribute__((aligned(4096)));

long vn_read_pages(struct vnode *vn, struct uio *uio, loff_t off, int oflags)
{
    size_t start = uio->resid, n;
    uint64_t at = (uint64_t)off, in, size;
    int err = 0;

    vn_note_read(vn, (unsigned)oflags);
    while (uio->resid != 0 && at < atomic_load_explicit(&vn->size, memory_order_acquire)) {
        struct page *pg;
        const void *bytes = zeros;

        if (likely(vn->holes))
            pg = object_page_find(&vn->obj, at >> PAGE_SHIFT);
        else
            err = cache_page_get(&vn->obj, at, uio, &pg);
        if (unlikely(err != 0))
            break;
        if (likely(pg != NULL))
            bytes = page_to_virt(pg);
        /*
         * If the file was truncated meanwhile, the page can be a new one that a write has not filled yet.  The size
         * read now does not include such bytes: a write first fills the page.
         */
        size = atomic_load_explicit(&vn->size, memory_order_acquire);
        in = at & (PAGE_SIZE - 1);
        n = min_of(PAGE_SIZE - in, at < size ? size - at : 0);
        n = min_of(n, uio->resid);
        err = uio_move((char *)(uintptr_t)bytes + in, n, uio);
        if (likely(pg != NULL))
            page_release(pg);
        if (unlikely(err != 0))
            break;
        at += n;
    }
    start -= uio->resid;
    if (!vn->holes)
        cache_read_end(&vn->obj, uio->ra, at, start);
    return start != 0 ? (long)start : err;
}

/* The rest of vn_note_read(), if the access time is not later than the last modification. */
void vn_update_atime(struct vnode *vn, unsigned oflags)
{
    if (vn->vfs->readonly || (vn->vfs->flags & MS_NOATIME) != 0 || (oflags & O_NOATIME) != 0)
        return;
    vn_times_now(vn, VA_ATIME);
    dirty_inode(vn);
}

/*
 * Reduces *n to the number of bytes that the limits allow at `off`.  -EFBIG: no byte is allowed; if
 * RLIMIT_FSIZE is the reason, also sends SIGXFSZ.
 */
static int check_write_limits(loff_t off, size_t *n)
{
    uint64_t limit = min_of(SIZE_LIMIT, proc_fsize_limit());

    if ((uint64_t)off >= limit) {
        if (limit != SIZE_LIMIT)
            proc_signal_self(SIGXFSZ);
        return -EFBIG;
    }
    *n = min_of(*n, limit - (uint64_t)off);
    return 0;
}

static void set_vnode_size(struct vnode *vn, uint64_t size)
{
    atomic_store_explicit(&vn->obj.size_pages, (size + PAGE_SIZE - 1) >> PAGE_SHIFT,
                          memory_order_release);
    atomic_store_explicit(&vn->size, size, memory_order_release);
}

/*
 * Clears the set-id bits before the contents change, so that a program cannot run changed contents with them.  [W]
 */
static void clear_setid(struct vnode *vn)
{
    if ((vn->mode & 06000) == 0 || (proc_cred()->fsuid == 0))
        return;
    vn->mode = vn_mode_without_setid(vn, vn->mode);
    vn_times_now(vn, 0);
    dirty_inode(vn);
}

/*
 * One step of a write to a file in memory: up to the end of the page.  A new page that lies beyond the end and
 * will be overwritten entirely is not zeroed.  Arguments and result are those of cache_write().
 */
static int write_memory_page(struct vnode *vn, struct file_write *w)
{
    uint64_t index = w->off >> PAGE_SHIFT, in = w->off & (PAGE_SIZE - 1);
    size_t n = min_of(w->left, PAGE_SIZE - in), before = w->uio->resid;
    bool fresh = n == PAGE_SIZE && w->off >= w->size;
    struct page *pg;
    int err;

    w->done = 0;
    if (fresh && vn->op->reserve != NULL) {
        err = vn->op->reserve(vn, 1);
        if (err != 0)
            return err;
    }
    err =
        fresh ? object_page_get_overwrite(w->obj, index, &pg) : object_page_get(w->obj, index, &pg);
    if (unlikely(err != 0))
        return err;
    err = uio_move((uint8_t *)page_to_virt(pg) + in, n, w->uio);
    w->done = before - w->uio->resid;
    if (unlikely(fresh && w->done < n))
        memset((uint8_t *)page_to_virt(pg) + w->done, 0, PAGE_SIZE - w->done);
    object_dirty(w->obj, pg);
    page_release(pg);
    return err;
}

/*
 * Called before the file grows to `size`: zeroes the last page from the old end up to the new end.  A program
 * can have stored bytes there through a mapping, and they must not become part of the file.  The disk has
 * zeros there, so after this the page is equal to the disk and does not become dirty.  [W]
 */
static void zero_last_page_tail(struct vnode *vn, uint64_t size)
{
    uint64_t from = vn->size, to = min_of(size, round_up(from, PAGE_SIZE));
    struct page *pg;

    pg = from < to ? object_page_find(&vn->obj, from >> PAGE_SHIFT) : NULL;
    if (pg == NULL)
        return;
    memset((uint8_t *)page_to_virt(pg) + (from & (PAGE_SIZE - 1)), 0, to - from);
    page_release(pg);
}

/* Whether the calling process is ending.  A long system call must then stop early. */
static bool call_must_end(void)
{
    return unlikely(proc_is_ending());
}

/*
 * Frees the blocks, then the pages, beyond the end of the file.  Called after a failed change that
 * should have made the file longer.
 */
static void drop_pages_beyond_end(struct vnode *vn)
{
    if (vn->op->trim != NULL)
        vn->op->trim(vn);
    object_truncate(&vn->obj, vn->obj.size_pages);
    if (vn->op->reserve != NULL)
        vn->op->reserve(vn, 0);
}

/*
 * Makes the steps of a write, at least one.  0: all bytes are written; otherwise the reason why some bytes are
 * not written.  [W]
 */
static int write_steps(struct vnode *vn, struct file_write *w)
{
    for (;;) {
        int err = vn->obj.io != NULL ? cache_write(w) : write_memory_page(vn, w);

        w->left -= w->done;
        w->off += w->done;
        if (w->off > w->size && w->done != 0)
            set_vnode_size(vn, w->size = w->off);
        if (err != 0 || w->left == 0)
            return err;
        if (call_must_end())
            return -EINTR;
    }
}

long vn_write_pages(struct vnode *vn, struct uio *uio, loff_t *offp)
{
    struct file_write w;
    size_t total = uio->resid;
    uint64_t off;
    int err;

    rw_enter_write(&vn->lock);
    if (vn->obj.io != NULL)
        object_throttle(&vn->obj);
    off = *offp == -1 ? vn->size : (uint64_t)*offp;
    err = total == 0 ? 0 : check_write_limits((loff_t)off, &total);
    w = (struct file_write){
        .obj = &vn->obj, .uio = uio, .off = off, .left = total, .size = vn->size};
    if (total != 0 && err == 0) {
        clear_setid(vn);
        zero_last_page_tail(vn, off);
        err = write_steps(vn, &w);
    }
    if (unlikely(err != 0))
        drop_pages_beyond_end(vn); /* a page beyond the end may have been made and not filled */
    if (w.left != total) {
        vn_times_now(vn, VA_MTIME);
        dirty_inode(vn);
        *offp = (loff_t)w.off;
    }
    rw_exit_write(&vn->lock);
    return w.left != total ? (long)(total - w.left) : err;
}

/*
 * Zeroes the bytes from .. to-1 of a file, which lie in one page.  Does nothing if the page is a hole
 * (tmpfs).  On a disk, a page of a hole reads as zeros and must not become dirty, because it has no block.
 * So the function does not change bytes that are already zero.  If blocks of the page can be missing, the function
 * writes the page to the disk immediately.  Then the page is clean, so a later store to it allocates these blocks.
 */
static int zero_within_page(struct vnode *vn, uint64_t from, uint64_t to)
{
    struct page *pg;
    uint8_t *bytes;
    bool whole = true;
    int err = 0;

    if (from >= to)
        return 0;
    if (vn->holes)
        pg = object_page_find(&vn->obj, from >> PAGE_SHIFT);
    else
        err = object_page_get(&vn->obj, from >> PAGE_SHIFT, &pg);
    if (err != 0 || pg == NULL)
        return err;
    if (vn->obj.io != NULL)
        object_prepare_begin(pg); /* also waits for an allocation that still uses the old size */
    bytes = (uint8_t *)page_to_virt(pg) + (from & (PAGE_SIZE - 1));
    if (vn->obj.io == NULL || memcmp(bytes, zeros, to - from) != 0) {
        whole = vn->obj.io == NULL || (pg->flags & PG_DIRTY) != 0 ||
                cache_has_blocks(&vn->obj, pg->index);
        memset(bytes, 0, to - from);
        object_dirty(&vn->obj, pg);
    }
    if (vn->obj.io != NULL)
        object_prepare_end(&vn->obj, pg, whole ? 0 : -ENOSPC);
    page_release(pg);
    return 0;
}

int vn_truncate_pages(struct vnode *vn, uint64_t size)
{
    uint64_t old = vn->size;
    int err = 0, zeroed;

    if (size > SIZE_LIMIT)
        return -EFBIG;
    /*
     * For a file on a disk, zero while the old size is still set.  With the new size, a page that is read
     * shows zeros beyond the end, and the kernel would not notice that the block on the
     * disk holds other bytes.
     */
    if (size < old && vn->obj.io != NULL) {
        err = zero_within_page(vn, size, min_of(round_up(size, PAGE_SIZE), old));
        if (err != 0)
            return err;
    }
    if (size >= old) {
        zero_last_page_tail(vn, size);
        set_vnode_size(vn, size);
        return 0;
    }
    if (vn->op->shrink != NULL) {
        err = vn->op->shrink(vn, size);
        if (err != 0 && vn->size != size)
            return err;
    } else {
        set_vnode_size(vn, size);
        object_truncate(&vn->obj, vn->obj.size_pages);
    }
    as_drop_private(&vn->obj, vn->obj.size_pages, (old - 1) >> PAGE_SHIFT);
    zeroed = zero_within_page(vn, size, round_up(size, PAGE_SIZE));
    return err != 0 ? err : zeroed;
}

/* Makes bytes from .. to-1 zero: frees the whole pages among them, and zeroes the parts of pages.  [W] */
static int punch_hole(struct vnode *vn, uint64_t from, uint64_t to)
{
    uint64_t first = round_up(from, PAGE_SIZE), last = round_down(to, PAGE_SIZE);
    int err;

    if (first > last)
        return zero_within_page(vn, from, to);
    err = zero_within_page(vn, from, first);
    if (err != 0)
        return err;
    if (first < last)
        object_punch(&vn->obj, first >> PAGE_SHIFT, (last >> PAGE_SHIFT) - 1);
    return zero_within_page(vn, last, to);
}

/*
 * Makes pages for all bytes from .. to-1, after checking that there is space for them.  After an error, frees
 * all pages beyond the end of the file.  0, -ENOSPC (also if memory is short), -EINTR, -EIO.  [W]
 */
static int preallocate_pages(struct vnode *vn, uint64_t from, uint64_t to)
{
    uint64_t pages = to > from ? (to >> PAGE_SHIFT) - (from >> PAGE_SHIFT) : 0;

    if (pages > vn->obj.npages && vn->op->reserve != NULL) {
        if (vn->op->reserve(vn, pages - vn->obj.npages) != 0)
            return -ENOSPC;
        vn->op->reserve(vn, 0);
    }
    for (uint64_t i = from >> PAGE_SHIFT; i << PAGE_SHIFT < to; i++) {
        struct page *pg;
        size_t n = min_of(PAGE_SIZE, to - (i << PAGE_SHIFT));
        int err;

        if (call_must_end())
            err = -EINTR;
        else if (vn->obj.io != NULL)
            err = cache_page_allocate(&vn->obj, i, n, &pg);
        else
            err = object_page_get(&vn->obj, i, &pg);
        if (err != 0) {
            drop_pages_beyond_end(vn);
            return err == -ENOMEM ? -ENOSPC : err;
        }
        page_release(pg);
    }
    return 0;
}

int vn_fallocate(struct vnode *vn, int mode, loff_t off, loff_t len)
{
    uint64_t from = (uint64_t)off, to = from + (uint64_t)len;
    bool keep = (mode & FALLOC_KEEP_SIZE) != 0;
    int err = 0;

    if (vn->type != VREG || vn->op->read != NULL)
        return vn->type == VFIFO ? -ESPIPE : -ENODEV;
    if (to > SIZE_LIMIT)
        return -EFBIG;
    if (!keep && to > vn->size && to > proc_fsize_limit()) {
        proc_signal_self(SIGXFSZ);
        return -EFBIG;
    }
    if (vn->obj.io != NULL && mode != 0)
        return -EOPNOTSUPP; /* on a disk, only truncation frees blocks */
    rw_enter_write(&vn->lock);
    clear_setid(vn);
    /* Zero the tail first: a block that is allocated for the last page is written with the page's bytes. */
    if (!keep)
        zero_last_page_tail(vn, to);
    switch (mode & ~FALLOC_KEEP_SIZE) {
    case FALLOC_PUNCH_HOLE:
        err = punch_hole(vn, from, min_of(to, vn->size));
        break;
    case FALLOC_ZERO_RANGE:
        err = from < vn->size ? punch_hole(vn, from, min_of(to, vn->size)) : 0;
        break;
    default:
        err = keep && to > vn->size ? -EOPNOTSUPP : preallocate_pages(vn, from, to);
    }
    if (err == 0) {
        if (!keep && to > vn->size)
            set_vnode_size(vn, to);
        vn_times_now(vn, VA_MTIME);
        dirty_inode(vn);
    }
    if (vn->op->reserve != NULL)
        vn->op->reserve(vn, 0);
    rw_exit_write(&vn->lock);
    return err;
}

long vn_read_kernel(struct vnode *vn, void *buf, size_t n, loff_t off)
{
    struct iovec one;
    struct uio uio;

    uio_init_kernel(&uio, &one, buf, n, UIO_READ);
    if (vn->op->read != NULL)
        return vn->op->read(vn, &uio, off, O_RDONLY);
    return vn_read_pages(vn, &uio, off, O_RDONLY);
}

long vn_write_kernel(struct vnode *vn, const void *buf, size_t n, loff_t off)
{
    struct iovec one;
    struct uio uio;

    uio_init_kernel(&uio, &one, (void *)(uintptr_t)buf, n, UIO_WRITE);
    return vn->op->write != NULL ? vn->op->write(vn, &uio, off, O_WRONLY)
                                 : vn_write_pages(vn, &uio, &off);
}
