// SPDX-License-Identifier: MIT
/*
 * vnops.c - the vnode operations.
 *
 * THEORY      An inode in memory contains its vnode, so most operations only call functions of namei.c and
 *             inode.c.  Data goes through the page cache (pages.c).
 *             fsync writes the file's dirty pages and waits for them.  Then it stores the inode in the table
 *             and commits the transaction that holds its last change.  If that transaction is already
 *             committed, a flush of the disk is enough.
 *             A page whose write fails stays dirty.  So each fsync tries to write it again, and fails as long
 *             as the write fails.
 * LOCKING     vnode.h lists the locks of each operation.
 * SEE ALSO    ext.h, pages.c, mount.c
 */
#include "fs/ext/vnops.h"

#include "vfs/file.h"
#include "lib/string.h"
#include "stat/panic.h"
#include "pages/busy.h"

#define S_ISGID 02000u

static int ext_vn_lookup(struct vnode *dir, const char *name, size_t len, struct vnode **out)
{
    struct ext_inode *i;
    int err = ext_lookup(ext_i(dir), name, len, &i);

    if (err == 0)
        *out = &i->vn;
    return err;
}

static int ext_vn_create(struct vnode *dir, const char *name, size_t len, enum vtype type,
                         uint32_t mode, const struct cred *cr, uint64_t rdev, const char *target,
                         struct vnode **out)
{
    struct ext_inode *i;
    uint32_t gid = dir->mode & S_ISGID ? dir->gid : cr->fsgid;
    int err = ext_create(ext_i(dir), name, len, type, mode, cr->fsuid, gid, rdev, target, &i);

    if (err == 0)
        *out = &i->vn;
    return err;
}

static int ext_vn_link(struct vnode *dir, const char *name, size_t len, struct vnode *target)
{
    return ext_link(ext_i(dir), name, len, ext_i(target));
}

static int ext_vn_unlink(struct vnode *dir, const char *name, size_t len, struct vnode *victim)
{
    return ext_unlink(ext_i(dir), name, len, ext_i(victim));
}

static int ext_vn_rename(struct vnode *odir, const char *oname, size_t olen, struct vnode *ndir,
                         const char *nname, size_t nlen, struct vnode *moved,
                         struct vnode *replaced)
{
    return ext_rename(ext_i(odir), oname, olen, ext_i(ndir), nname, nlen, ext_i(moved),
                      replaced != NULL ? ext_i(replaced) : NULL);
}

static int ext_vn_readdir(struct vnode *dir, uint64_t off, dirent_fn fn, void *arg)
{
    return ext_readdir(ext_i(dir), off, fn, arg);
}

static int ext_vn_readlink(struct vnode *vn, char *buf, size_t size)
{
    return ext_readlink(ext_i(vn), buf, size);
}

static int ext_vn_parent(struct vnode *vn, struct vnode **parent, char *buf, size_t size)
{
    struct ext_inode *up;
    int n = ext_parent(ext_i(vn), parent != NULL ? &up : NULL, buf, size);

    if (n >= 0 && parent != NULL)
        *parent = &up->vn;
    return n;
}

static uint64_t ext_vn_blocks(struct vnode *vn)
{
    return ext_i(vn)->nsectors;
}

static int ext_vn_bmap(struct vnode *vn, uint64_t index, struct disk **disk, uint64_t *sector)
{
    struct ext_fs *fs = ext_i(vn)->fs;
    uint32_t pblk;
    int err = ext_page_block(ext_i(vn), index, &pblk);

    if (err != 0)
        return err;
    *disk = fs->disk;
    *sector = (uint64_t)pblk * fs->spb;
    return pblk != 0 ? 0 : -ENOENT;
}

/* Makes the file longer or shorter.  [W]  0 or an error. */
static int resize_file(struct vnode *vn, uint64_t size)
{
    struct ext_inode *i = ext_i(vn);
    uint64_t old = vn->size;
    int err;

    if (size > ext_max_size(i->fs))
        return -EFBIG;
    if (i->fs->rdonly)
        return -EROFS;
    err = ext_vn_fill_page(vn, size);
    if (err == 0)
        err = vn_truncate_pages(vn, size);
    if (err == 0 || vn->size != old) {
        vn_times_now(vn, VA_MTIME);
        ext_idirty(i);
    } else {
        ext_trim(i);
    }
    return err;
}

static int ext_vn_setattr(struct vnode *vn, unsigned mask, const struct vattr *va)
{
    struct handle h;
    int err = 0;

    if (mask & VA_SIZE)
        err = resize_file(vn, va->size);
    if (err == 0)
        err = jnl_start(ext_i(vn)->fs, 2, &h);
    if (err != 0)
        return err;
    vn_setattr_default(vn, mask, va);
    vn->atime_ns = ext_time_fits(ext_i(vn), vn->atime_ns);
    vn->mtime_ns = ext_time_fits(ext_i(vn), vn->mtime_ns);
    ext_iwrite(&h, ext_i(vn));
    jnl_stop(&h);
    return 0;
}

static int ext_vn_shrink(struct vnode *vn, uint64_t size)
{
    return ext_truncate(ext_i(vn), size);
}

static void ext_vn_dirty_inode(struct vnode *vn)
{
    ext_idirty(ext_i(vn));
}

static int ext_vn_fsync(struct vnode *vn, bool data_only)
{
    struct ext_inode *i = ext_i(vn);
    /* write only the pages that exist now, so that fsync does not wait for later appends */
    uint64_t last = vn->size == 0 ? 0 : (vn->size - 1) >> PAGE_SHIFT;
    int err = vn->type == VREG ? object_sync(&vn->obj, 0, last) : 0, e;

    if (i->fs->rdonly)
        return err == 0 && i->fs->failed ? -EIO : err;
    if (!data_only || vn->size != i->disksize) {
        e = ext_iflush_one(i);
        if (e != 0 && err == 0)
            err = e == -EROFS ? -EIO : e;
    }
    e = jnl_sync(i->fs, i->tid);
    return err != 0 ? err : e;
}

const struct vnodeops ext_ops = {
    .lookup = ext_vn_lookup,
    .create = ext_vn_create,
    .link = ext_vn_link,
    .unlink = ext_vn_unlink,
    .rename = ext_vn_rename,
    .readdir = ext_vn_readdir,
    .readlink = ext_vn_readlink,
    .parent = ext_vn_parent,
    .blocks = ext_vn_blocks,
    .bmap = ext_vn_bmap,
    .setattr = ext_vn_setattr,
    .shrink = ext_vn_shrink,
    .trim = ext_vn_trim,
    .dirty_inode = ext_vn_dirty_inode,
    .fsync = ext_vn_fsync,
    .inactive = ext_inactive,
};

/* ---- the functions of struct ext_up -------------------------------------------------------------- */

static int write_inode_data(struct ext_inode *i, struct ext_bytes b, bool wait)
{
    uint64_t first = b.lo >> PAGE_SHIFT, last = (b.hi - 1) >> PAGE_SHIFT;

    if (object_is_clean(&i->vn.obj)) /* the usual case: fsync has written the pages */
        return 0;
    return wait ? object_sync(&i->vn.obj, first, last)
                : object_writeback(&i->vn.obj, first, last, WRITE_SYNC);
}

static void drop_inode_pages(struct ext_inode *i, uint64_t size)
{
    struct vm_object *o = &i->vn.obj;
    struct page *pg;

    if (unlikely(i->fs->leaving && i->io.ndirty != 0))
        warn("%s: %u pages of inode %u could not be written and are lost", i->fs->name,
             i->io.ndirty, (uint32_t)i->vn.ino);
    object_truncate(o, (size + PAGE_SIZE - 1) >> PAGE_SHIFT);
    pg = size % PAGE_SIZE != 0 ? object_page_find(o, size >> PAGE_SHIFT) : NULL;
    if (pg == NULL)
        return;
    /* I/O that began before `cutting` was set can use blocks that will be freed */
    page_wait(pg, PG_WRITEBACK | PG_MKWRITE);
    page_release(pg);
}

/*
 * At unmount (`leaving`), an inode with dirty pages can be evicted if the writes of these pages have failed, but not
 * if only memory was short.  The counts `nwriteback` and `ndirty` are read under one lock, because
 * a page whose write fails moves from the first to the second.
 */
static bool may_evict_inode(struct ext_inode *i)
{
    struct vm_object *o = &i->vn.obj;
    bool refused, idle;

    if (o->io == NULL || i->fs->rdonly)
        return true;
    spin_lock(&o->lock);
    refused = i->fs->leaving && i->io.error != 0 && i->io.error != -ENOMEM;
    idle = i->io.nwriteback == 0 && (i->io.ndirty == 0 || refused);
    spin_unlock(&o->lock);
    return idle;
}

static bool may_use_reserved_blocks(void)
{
    return proc_cred()->fsuid == 0;
}

const struct ext_up ext_kernel_up = {
    .ops = &ext_ops,
    .pager = &ext_pager,
    .write_data = write_inode_data,
    .drop_pages = drop_inode_pages,
    .may_evict = may_evict_inode,
    .privileged = may_use_reserved_blocks,
};

static bool is_inode_behind(struct ext_inode *i)
{
    return object_is_behind(&i->vn.obj);
}

void ext_wait_written(struct ext_fs *fs)
{
    struct ext_inode *some[16];
    unsigned n, at = 0;

    while ((n = icache_hold_some(fs, &at, is_inode_behind, some, 16)) != 0)
        while (n > 0) {
            object_sync(&some[--n]->vn.obj, 0, UINT64_MAX);
            ext_iput(some[n]);
        }
}
