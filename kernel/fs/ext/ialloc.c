// SPDX-License-Identifier: MIT
/*
 * ialloc.c - allocating and freeing inodes, and the choice of a group for a new inode.
 *
 * THEORY      Files that are used together should lie close together on the disk, but unrelated trees should
 *             be spread over the disk.  The rule is a simple form of Orlov's, which FreeBSD and
 *             Linux use.
 *               directory in the root   the group with the most free inodes among the groups with at least an
 *                                       average share of free blocks
 *               other directory         the group of its parent, if that group has at least an average share of
 *                                       free inodes and of free blocks; else as in the root
 *               file                    the group of its directory
 *             If the chosen group has no free inode, the next group that has one is used.
 * INVARIANTS  I1  inodes before first_ino are never allocated or freed
 * LOCKING     group.lock guards the bitmap and the counts of a group.
 * SEE ALSO    balloc.c
 */
#include "fs/ext/bits.h"
#include "fs/ext/ext.h"

#include "lib/string.h"

/* Gets the inode bitmap of group g, with a reference; for group 0, checks I1.  The caller holds the group's lock. */
static int read_inode_bitmap(struct ext_fs *fs, uint32_t g, struct buf **out)
{
    struct buf *db;
    struct ext_gdesc *d = ext_gdesc(fs, g, &db);
    int err = buf_read(fs, d->inode_bitmap, out);

    if (err == 0 && g == 0 && !bits_all((*out)->data, 0, fs->first_ino - 1)) {
        buf_put(*out);
        err = ext_error(fs, "reserved inodes are free in the bitmap");
    }
    return err;
}

/* Whether group g has at least the average number of free inodes and of free blocks. */
static bool group_has_fair_share(struct ext_fs *fs, uint32_t g)
{
    struct buf *b;
    struct ext_gdesc *d = ext_gdesc(fs, g, &b);

    return d->free_inodes != 0 && (int64_t)d->free_inodes * fs->ngroups >= fs->free_inodes &&
           (int64_t)d->free_blocks * fs->ngroups >= fs->free_blocks;
}

static uint32_t choose_inode_group(struct ext_fs *fs, const struct ext_inode *dir, bool is_dir)
{
    uint32_t parent = ((uint32_t)dir->vn.ino - 1) / fs->ipg, best = parent, most = 0;

    if (!is_dir || (dir->vn.ino != EXT_ROOT_INO && group_has_fair_share(fs, parent)))
        return parent;
    for (uint32_t g = 0; g < fs->ngroups; g++) {
        struct buf *b;
        struct ext_gdesc *d = ext_gdesc(fs, g, &b);

        if ((int64_t)d->free_blocks * fs->ngroups >= fs->free_blocks && d->free_inodes > most) {
            best = g;
            most = d->free_inodes;
        }
    }
    return best;
}

/* Allocates an inode of group g.  1: *ino is set; 0: the group has no free inode; or an error. */
static int alloc_inode_in_group(struct handle *h, uint32_t g, bool is_dir, uint32_t *ino)
{
    struct ext_fs *fs = h->fs;
    struct ext_group *grp = &fs->groups[g];
    struct buf *db, *mb = NULL;
    struct ext_gdesc *d = ext_gdesc(fs, g, &db);
    uint32_t first = g == 0 ? fs->first_ino - 1 : 0, i = fs->ipg;
    int err = 0;

    mutex_enter(&grp->lock);
    if (d->free_inodes != 0) {
        err = read_inode_bitmap(fs, g, &mb);
        if (err == 0)
            i = bits_next_clear(mb->data, NULL, max_of(first, grp->inode_hint), fs->ipg);
    }
    if (i < fs->ipg) {
        jnl_access(h, mb);
        jnl_access(h, db);
        bits_set(mb->data, i, 1);
        d->free_inodes--;
        if (is_dir) {
            d->used_dirs++;
            atomic_fetch_add_explicit(&fs->ndirs, 1, memory_order_relaxed);
        }
        atomic_fetch_sub_explicit(&fs->free_inodes, 1, memory_order_relaxed);
        grp->inode_hint = i + 1;
        *ino = g * fs->ipg + i + 1;
    } else if (err == 0 && d->free_inodes != 0) {
        grp->inode_hint = fs->ipg; /* the descriptor's count is wrong: no inode is free */
    }
    mutex_exit(&grp->lock);
    buf_put(mb);
    return err != 0 ? err : i < fs->ipg;
}

int ext_ialloc(struct handle *h, struct ext_inode *dir, bool is_dir, uint32_t *ino)
{
    struct ext_fs *fs = h->fs;
    uint32_t g = choose_inode_group(fs, dir, is_dir);

    for (uint32_t k = 0; k < fs->ngroups; k++) {
        int r = alloc_inode_in_group(h, g, is_dir, ino);

        if (r != 0)
            return r < 0 ? r : 0;
        if (++g == fs->ngroups)
            g = 0;
    }
    return -ENOSPC;
}

int ext_ifree(struct handle *h, uint32_t ino, bool is_dir)
{
    struct ext_fs *fs = h->fs;
    uint32_t g = (ino - 1) / fs->ipg, i = (ino - 1) % fs->ipg;
    struct ext_group *grp = &fs->groups[g];
    struct buf *db, *mb;
    struct ext_gdesc *d = ext_gdesc(fs, g, &db);
    int err;

    if (ino < fs->first_ino || ino > fs->inodes)
        return ext_error(fs, "inode %u is freed", ino);
    mutex_enter(&grp->lock);
    err = read_inode_bitmap(fs, g, &mb);
    if (err == 0) {
        if (!bit_get(mb->data, i) || d->free_inodes >= fs->ipg || (is_dir && d->used_dirs == 0)) {
            err = ext_error(fs, "inode %u is freed that is free", ino);
        } else {
            jnl_access(h, mb);
            jnl_access(h, db);
            bits_clear(mb->data, i, 1);
            d->free_inodes++;
            if (is_dir) {
                d->used_dirs--;
                atomic_fetch_sub_explicit(&fs->ndirs, 1, memory_order_relaxed);
            }
            atomic_fetch_add_explicit(&fs->free_inodes, 1, memory_order_relaxed);
            grp->inode_hint = min_of(grp->inode_hint, i);
        }
        buf_put(mb);
    }
    mutex_exit(&grp->lock);
    return err;
}

int ext_ino_used(struct ext_fs *fs, uint32_t ino)
{
    uint32_t g = (ino - 1) / fs->ipg;
    struct ext_group *grp = &fs->groups[g];
    struct buf *mb;
    int r;

    mutex_enter(&grp->lock);
    r = read_inode_bitmap(fs, g, &mb);
    if (r == 0) {
        r = bit_get(mb->data, (ino - 1) % fs->ipg);
        buf_put(mb);
    }
    mutex_exit(&grp->lock);
    return r;
}
