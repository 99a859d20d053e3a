// SPDX-License-Identifier: MIT
/*
 * orphan.c - inodes without a name, and deleting an inode.
 *
 * THEORY      A program can use an open file after its last name was removed.  If the machine then crashes,
 *             the file must be deleted at the next mount, because no name leads to it.  The orphan list on
 *             the disk contains the inodes that must be repaired after a crash: inodes without links, and
 *             inodes with blocks beyond their size.  The superblock has the number of the first inode, and the
 *             dtime field of each inode has the number of the next inode of the list.
 *             After the last reference to an inode without links is dropped, its blocks, its attributes and
 *             the inode itself are freed.  The last transaction of this work takes the inode off the list.
 *             If memory is short or the disk has an error, freeing fails.  Then the inode stays on the list, in
 *             memory and on the disk, and the next commit tries again.  The same holds for a truncation.
 * INVARIANTS  I1  the orphan list on the disk is fs->orphans in its order, in the transaction's view
 *             I2  an inode without links is on the list until its last reference is gone
 * LOCKING     orphan_lock guards the list.  A thread that changes the list on the disk has an open handle.
 * SEE ALSO    inode.c, truncate.c, docs/ext.md
 */
#include "fs/ext/ext.h"

#include "disp/timer.h"
#include "stat/panic.h"

#define NS 1000000000

int ext_orphan_add(struct handle *h, struct ext_inode *i)
{
    struct ext_fs *fs = h->fs;

    mutex_enter(&fs->orphan_lock);
    if (!i->orphaned) {
        i->orphaned = true;
        jnl_access(h, fs->sb_buf);
        i->dtime = fs->sb->last_orphan;
        fs->sb->last_orphan = (uint32_t)i->vn.ino;
        list_push_front(&fs->orphans, &i->orphan);
        ext_iwrite(h, i);
    }
    mutex_exit(&fs->orphan_lock);
    return 0;
}

int ext_orphan_del(struct handle *h, struct ext_inode *i)
{
    struct ext_fs *fs = h->fs;

    mutex_enter(&fs->orphan_lock);
    /* For I2: drop_inode_link() sets nlink to 0 before it calls ext_orphan_add(). */
    if (i->orphaned && (i->vn.nlink != 0 || i->vn.refs == 0)) {
        if (i->orphan.prev == &fs->orphans) {
            jnl_access(h, fs->sb_buf);
            fs->sb->last_orphan = i->dtime;
        } else {
            struct ext_inode *prev = list_entry(i->orphan.prev, struct ext_inode, orphan);
            struct ext_dinode *d = (struct ext_dinode *)(prev->ibuf->data + prev->ioff);

            jnl_access(h, prev->ibuf);
            spin_lock(&prev->table_lock); /* another thread may be writing this inode */
            prev->dtime = i->dtime;
            d->dtime = i->dtime;
            spin_unlock(&prev->table_lock);
        }
        list_remove(&i->orphan);
        i->orphaned = false;
        i->undone = UNDONE_NOTHING;
        i->dtime = 0;
        ext_iwrite(h, i);
    }
    mutex_exit(&fs->orphan_lock);
    return 0;
}

int ext_orphans_end(struct ext_fs *fs, unsigned *n)
{
    int err = 0;

    *n = 0;
    for (uint32_t left = fs->inodes; err == 0 && fs->sb->last_orphan != 0; left--) {
        uint32_t ino = fs->sb->last_orphan;
        struct ext_inode *i;
        struct handle h;
        int used = 0;

        if (left != 0 && ino >= fs->first_ino && ino <= fs->inodes)
            used = ext_ino_used(fs, ino);
        if (used != 1)
            return used < 0 ? used : ext_error(fs, "the orphan list leads to inode %u", ino);
        err = ext_iload(fs, ino, &i);
        if (err != 0)
            break;
        i->orphaned = true;
        mutex_enter(&fs->orphan_lock);
        list_push_front(&fs->orphans, &i->orphan);
        mutex_exit(&fs->orphan_lock);
        ++*n;
        if (i->vn.nlink != 0) {
            err = i->vn.type == VREG || i->vn.type == VDIR || i->vn.type == VLNK
                      ? ext_truncate(i, i->vn.size)
                      : 0;
            if (err == 0)
                err = jnl_start(fs, ORPHAN_CREDITS, &h);
            if (err == 0) {
                ext_orphan_del(&h, i);
                jnl_stop(&h);
            }
        }
        ext_iput(i); /* deletes the inode if it has no links */
        if (err == 0 && fs->sb->last_orphan == ino)
            err = fs->rdonly ? -EIO : ext_error(fs, "orphan inode %u cannot be deleted", ino);
    }
    return err;
}

/* ---- deleting an inode --------------------------------------------------------------------------- */

/*
 * Drops the inode's reference to its block of extended attributes.  Several inodes can share such a
 * block.  Frees the block if the inode had the last reference.
 */
static int release_attr_block(struct handle *h, struct ext_inode *i)
{
    struct ext_fs *fs = h->fs;
    struct buf *b;
    uint32_t *hd, block = i->file_acl;
    int err;

    if (block == 0)
        return 0;
    err = buf_read(fs, block, &b);
    if (err != 0)
        return err;
    hd = (uint32_t *)b->data; /* magic number, number of inodes that use the block */
    if (hd[0] != ATTR_MAGIC || hd[1] == 0) {
        err = ext_error(fs, "inode %u: its attribute block %u is none", (uint32_t)i->vn.ino, block);
    } else if (hd[1] == 1) {
        err = ext_bfree_meta(h, block, 1);
    } else {
        jnl_access(h, b);
        hd[1]--;
    }
    buf_put(b);
    if (err == 0)
        i->file_acl = 0;
    return err;
}

/* Whether the inode has blocks in addition to the block of its attributes. */
static bool has_blocks(const struct ext_inode *i)
{
    return i->nsectors > (i->file_acl != 0 ? i->fs->spb : 0) &&
           (i->vn.type == VREG || i->vn.type == VDIR || i->vn.type == VLNK);
}

/*
 * Frees the inode's memory, and first takes the inode off the list in memory, on which it can still
 * be after an error.  On the disk, the inode stays on the list.
 */
static void unlist_and_free_inode(struct ext_inode *i)
{
    struct ext_fs *fs = i->fs;

    mutex_enter(&fs->orphan_lock);
    list_remove(&i->orphan);
    mutex_exit(&fs->orphan_lock);
    ext_inode_free(i);
}

int ext_delete(struct ext_inode *i)
{
    struct ext_fs *fs = i->fs;
    struct handle h;
    int err = jnl_start(fs, 2 * DELETE_CREDITS, &h);

    if (err != 0)
        return err;
    i->vn.size = 0;
    if (has_blocks(i))
        err = ext_free_blocks(&h, i, 0);
    if (err == 0 && h.credits < DELETE_CREDITS) {
        ext_iwrite(&h, i);
        err = jnl_restart(&h, DELETE_CREDITS);
        if (err != 0)
            return err;
    }
    if (h.txn == NULL)
        return err;
    if (err == 0)
        err = release_attr_block(&h, i);
    if (err == 0) {
        ext_orphan_del(&h, i);
        i->dtime = (uint32_t)(clock_real_ns() / NS);
        i->nsectors = 0;
        ext_iwrite(&h, i); /* before ext_ifree(), after which another file can get the inode */
        err = ext_ifree(&h, (uint32_t)i->vn.ino, i->vn.type == VDIR);
        if (err != 0)
            ext_orphan_add(&h, i);
    } else {
        ext_iwrite(&h, i); /* because some blocks have been freed */
    }
    jnl_stop(&h);
    return err;
}

void ext_orphan_set_undone(struct ext_inode *i, uint8_t what)
{
    struct ext_fs *fs = i->fs;

    mutex_enter(&fs->orphan_lock);
    ASSERT(i->orphaned, "ext.h: only an orphan has something undone");
    i->undone = what;
    mutex_exit(&fs->orphan_lock);
}

/* Finds an orphan with an undone operation, *what, which the caller must now do.  NULL: there is none. */
static struct ext_inode *take_undone_orphan(struct ext_fs *fs, uint8_t *what)
{
    struct ext_inode *i, *found = NULL;

    mutex_enter(&fs->orphan_lock);
    LIST_FOREACH (i, &fs->orphans, orphan)
        if (i->undone == UNDONE_DELETE || (i->undone == UNDONE_CUT && ext_itryhold(i))) {
            found = i;
            *what = i->undone;
            i->undone = UNDONE_NOTHING;
            break;
        }
    mutex_exit(&fs->orphan_lock);
    return found;
}

/* Truncates the inode again, and drops the caller's reference. */
static int retry_truncate(struct ext_inode *i)
{
    int err;

    rw_enter_write(&i->vn.lock);
    err = ext_truncate(i, i->vn.size);
    rw_exit_write(&i->vn.lock);
    ext_iput(i);
    return err;
}

/*
 * Deletes an inode without links after the last reference was dropped, and frees its memory.  If
 * there is an error and a later try can succeed, the inode stays in memory for ext_orphans_retry().
 */
static int delete_unlinked_inode(struct ext_inode *i)
{
    int err = ext_delete(i);

    if (err != 0 && i->orphaned && !i->fs->rdonly)
        ext_orphan_set_undone(i, UNDONE_DELETE);
    else
        unlist_and_free_inode(i);
    return err;
}

bool ext_orphans_used(struct ext_fs *fs)
{
    struct ext_inode *i;
    bool used = false;

    mutex_enter(&fs->orphan_lock);
    LIST_FOREACH (i, &fs->orphans, orphan)
        used |= !i->hashed && i->undone != UNDONE_DELETE;
    mutex_exit(&fs->orphan_lock);
    return used;
}

void ext_orphans_retry(struct ext_fs *fs)
{
    struct ext_inode *i;
    uint8_t what;
    int err = 0;

    while (err == 0 && (i = take_undone_orphan(fs, &what)) != NULL)
        err = what == UNDONE_CUT ? retry_truncate(i) : delete_unlinked_inode(i);
}

void ext_inactive(struct vnode *vn)
{
    struct ext_inode *i = ext_i(vn);
    struct ext_fs *fs = i->fs;

    if (i->dirty)
        ext_iundirty(i);
    jnl_unorder(i); /* before drop_pages(): a commit can still have to write the pages */
    if (vn->type == VREG)
        fs->up->drop_pages(i, 0);
    if (vn->nlink == 0 && !fs->rdonly)
        delete_unlinked_inode(i);
    else
        unlist_and_free_inode(i);
}
