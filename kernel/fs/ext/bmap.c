// SPDX-License-Identifier: MIT
/*
 * bmap.c - the block map of a file: which blocks of the disk it has, and allocating further blocks.
 *
 * THEORY      A file is an array of blocks, but its blocks can lie anywhere on the disk.  Its inode has 15
 *             pointers (block numbers):
 *               0 .. 11  point to the first 12 blocks of the file
 *               12       points to a block of pointers (an indirect block)
 *               13       points to a block of pointers to indirect blocks
 *               14       points to a block with one more level
 *             A look-up returns a whole run of consecutive blocks.  The last run is remembered in the inode,
 *             so a sequential reader seldom needs the pointers.
 *             When ext_prepare() allocates blocks, the bytes for these blocks are already in the page cache.
 *             When a file grows, the same handle stores its new size and its new blocks.  So no committed
 *             transaction has blocks beyond the size.
 * INVARIANTS  I1  a pointer is followed only after ext_block_ok(); the depth bounds the walk, so it ends even
 *                 if pointers form a loop
 * LOCKING     map_lock guards the pointers of a file.
 * SEE ALSO    truncate.c (freeing the blocks), docs/ext.md
 */
#include "fs/ext/ext.h"

#include "lib/string.h"
#include "stat/panic.h"

#define CHUNK 32u /* most blocks of the file in one handle of ext_prepare() */

/*
 * The path to a block: at[0] is an index into the inode's pointers; the other elements are indices into blocks
 * of pointers.
 */
struct block_path {
    unsigned depth;
    uint32_t at[4];
};

/* false: the block number is too large for the block map. */
static bool block_to_path(const struct ext_fs *fs, uint64_t lblk, struct block_path *p)
{
    unsigned s = fs->apb_shift;

    if (lblk < EXT_NDIR) {
        *p = (struct block_path){1, {(uint32_t)lblk}};
        return true;
    }
    lblk -= EXT_NDIR;
    for (unsigned d = 1; d <= 3; d++) {
        if (lblk >> d * s == 0) {
            p->depth = d + 1;
            p->at[0] = EXT_NDIR + d - 1;
            for (unsigned k = 1; k <= d; k++)
                p->at[k] = (uint32_t)(lblk >> (d - k) * s) & (fs->apb - 1);
            return true;
        }
        lblk -= 1ull << d * s;
    }
    return false;
}

uint64_t ext_max_size(struct ext_fs *fs)
{
    uint64_t apb = fs->apb, n = EXT_NDIR + apb + apb * apb + apb * apb * apb;
    uint64_t most = ((1ull << 32) - 1) * 512; /* i_blocks counts sectors in 32 bits */

    return min_of(n << fs->bshift, most - ((most >> fs->bshift) / apb + apb) * fs->bsize);
}

/*
 * Finds the pointer that `p` leads to: *v is an array of *n pointers that begins with this pointer.  The array is
 * in buffer *b, for which the caller gets a reference, or in the inode (*b is NULL).  If blocks of pointers do not
 * exist, *missing is the number of missing levels, and *v is the zero pointer to the first missing block.
 * The caller holds map_lock.
 */
static int walk_indirect_blocks(struct ext_inode *i, const struct block_path *p, unsigned *missing,
                                uint32_t **v, uint32_t *n, struct buf **b)
{
    struct ext_fs *fs = i->fs;
    uint32_t *ptr = &i->block[p->at[0]];
    int err;

    *b = NULL;
    *missing = 0;
    *n = p->depth == 1 ? EXT_NDIR - p->at[0] : fs->apb - p->at[p->depth - 1];
    for (unsigned k = 1; k < p->depth; k++) {
        uint32_t block = *ptr;

        if (block == 0) {
            *missing = p->depth - k;
            break;
        }
        buf_put(*b);
        *b = NULL;
        if (!ext_block_ok(fs, block, 1))
            return ext_error(fs, "inode %u: indirect block %u", (uint32_t)i->vn.ino, block);
        err = buf_read(fs, block, b);
        if (err != 0)
            return err;
        ptr = (uint32_t *)(*b)->data + p->at[k];
    }
    *v = ptr;
    return 0;
}

/* The length of the run that begins with v[0], at most n: consecutive blocks, or holes. */
static uint32_t count_consecutive_pointers(const uint32_t *v, uint32_t n)
{
    uint32_t k = 1;

    while (k < n && v[k] == (v[0] == 0 ? 0 : v[0] + k))
        k++;
    return k;
}

/* Like ext_map(), for a caller that holds map_lock. */
static int map_blocks_locked(struct ext_inode *i, uint64_t lblk, uint32_t max, uint32_t *pblk,
                             uint32_t *n)
{
    struct block_path p;
    struct buf *b;
    uint32_t *v, room;
    unsigned missing;
    int err;

    if (lblk - i->map_lblk < i->map_len) {
        uint32_t skip = (uint32_t)(lblk - i->map_lblk);

        *pblk = i->map_pblk + skip;
        *n = min_of(i->map_len - skip, max);
        return 0;
    }
    if (!block_to_path(i->fs, lblk, &p))
        return -EFBIG;
    err = walk_indirect_blocks(i, &p, &missing, &v, &room, &b);
    if (err != 0)
        return err;
    room = min_of(room, max);
    *pblk = missing != 0 ? 0 : v[0];
    *n = missing != 0 ? room : count_consecutive_pointers(v, room);
    buf_put(b);
    if (*pblk == 0)
        return 0;
    if (!ext_block_ok(i->fs, *pblk, *n))
        return ext_error(i->fs, "inode %u: block %u at %llu", (uint32_t)i->vn.ino, *pblk,
                         (unsigned long long)lblk);
    i->map_lblk = (uint32_t)lblk;
    i->map_pblk = *pblk;
    i->map_len = *n;
    return 0;
}

int ext_map(struct ext_inode *i, uint64_t lblk, uint32_t max, uint32_t *pblk, uint32_t *n)
{
    int err;

    mutex_enter(&i->map_lock);
    err = map_blocks_locked(i, lblk, max, pblk, n);
    mutex_exit(&i->map_lock);
    return err;
}

int ext_map_now(struct ext_inode *i, uint64_t lblk, uint32_t max, uint32_t *pblk, uint32_t *n)
{
    int err;

    if (!mutex_tryenter(&i->map_lock))
        return -EAGAIN;
    err = map_blocks_locked(i, lblk, max, pblk, n);
    mutex_exit(&i->map_lock);
    return err;
}

int ext_mapped(struct ext_inode *i, uint64_t off, uint64_t len)
{
    uint64_t lblk = off >> i->fs->bshift, end = (off + len + i->fs->bsize - 1) >> i->fs->bshift;
    int err = 0;
    uint32_t pblk, n;

    mutex_enter(&i->map_lock);
    while (lblk < end && (err = map_blocks_locked(i, lblk, (uint32_t)min_of(end - lblk, 1ull << 30),
                                                  &pblk, &n)) == 0) {
        if (pblk == 0)
            break;
        lblk += n;
    }
    mutex_exit(&i->map_lock);
    return err != 0 ? err : lblk >= end;
}

/* ---- allocating blocks --------------------------------------------------------------------------- */

unsigned ext_map_credits(struct ext_fs *fs, uint32_t n)
{
    uint32_t ind = n / fs->apb + 5; /* blocks of pointers, new or changed */

    return ind + min_of(2 * fs->ngroups, 2 * (n + ind)) + 3;
}

/*
 * Allocates a zeroed block of pointers for `i`, and makes the block part of the handle's
 * transaction.
 */
static int alloc_indirect_block(struct handle *h, struct ext_inode *i, uint32_t group,
                                uint32_t goal, struct buf **b)
{
    uint32_t start, got;
    int err = ext_balloc(h, group, goal, 1, &start, &got);

    if (err != 0)
        return err;
    err = buf_new(h->fs, start, b);
    if (err != 0) {
        ext_bfree(h, start, 1);
        return err;
    }
    jnl_access(h, *b);
    i->last_alloc = start;
    return 0;
}

/*
 * Allocates `missing` blocks of pointers and 1 .. n data blocks, and stores the pointer to the first new block at
 * *v, which is in buffer `leaf`, or in the inode if `leaf` is NULL.  *pblk is the first data block, and *got is the
 * number of data blocks.  The caller holds map_lock.
 */
static int alloc_block_branch(struct handle *h, struct ext_inode *i, const struct block_path *p,
                              unsigned missing, uint32_t *v, struct buf *leaf, uint32_t goal,
                              uint32_t n, uint32_t *pblk, uint32_t *got)
{
    struct ext_fs *fs = i->fs;
    uint32_t group = ((uint32_t)i->vn.ino - 1) / fs->ipg, *ptr;
    struct buf *ind[3] = {NULL, NULL, NULL};
    unsigned k;
    int err = 0;

    for (k = 0; k < missing && err == 0; k++) {
        err = alloc_indirect_block(h, i, group, goal, &ind[k]);
        if (err == 0)
            goal = i->last_alloc + 1;
    }
    if (err == 0)
        err = ext_balloc(h, group, goal, n, pblk, got);
    if (err != 0) {
        for (k = 0; k < missing && ind[k] != NULL; k++) {
            ext_bfree_meta(h, ind[k]->block, 1);
            buf_put(ind[k]);
        }
        return err;
    }
    if (leaf != NULL)
        jnl_access(h, leaf);
    ptr = v;
    for (k = 0; k < missing; k++) {
        *ptr = ind[k]->block;
        ptr = (uint32_t *)ind[k]->data + p->at[p->depth - missing + k];
    }
    for (uint32_t m = 0; m < *got; m++)
        ptr[m] = *pblk + m;
    for (k = 0; k < missing; k++)
        buf_put(ind[k]);
    i->last_alloc = *pblk + *got - 1;
    i->nsectors += (*got + missing) * fs->spb;
    return 0;
}

int ext_map_alloc(struct handle *h, struct ext_inode *i, uint64_t lblk, uint32_t n, uint32_t *pblk,
                  uint32_t *got, bool *fresh)
{
    struct block_path p;
    struct buf *b;
    uint32_t *v, room, goal;
    unsigned missing;
    int err;

    *fresh = false;
    if (!block_to_path(i->fs, lblk, &p))
        return -EFBIG;
    mutex_enter(&i->map_lock);
    err = walk_indirect_blocks(i, &p, &missing, &v, &room, &b);
    if (err == 0) {
        room = min_of(room, n);
        *pblk = missing != 0 ? 0 : v[0];
        *got = missing != 0 ? room : count_consecutive_pointers(v, room);
        if (*pblk != 0) {
            if (!ext_block_ok(i->fs, *pblk, *got))
                err = ext_error(i->fs, "inode %u: block %u", (uint32_t)i->vn.ino, *pblk);
        } else {
            goal = missing == 0 && p.at[p.depth - 1] != 0 && v[-1] != 0 ? v[-1] + 1 : 0;
            if (goal == 0 && i->last_alloc != 0)
                goal = i->last_alloc + 1;
            err = alloc_block_branch(h, i, &p, missing, v, b, goal, *got, pblk, got);
            *fresh = err == 0;
        }
        buf_put(b);
    }
    if (err == 0 && lblk - i->map_lblk == i->map_len && *pblk == i->map_pblk + i->map_len &&
        i->map_len != 0) {
        i->map_len += *got;
    } else if (err == 0) {
        i->map_lblk = (uint32_t)lblk;
        i->map_pblk = *pblk;
        i->map_len = *got;
    }
    mutex_exit(&i->map_lock);
    return err;
}

/*
 * Allocates the missing blocks of lblk .. lblk+n-1, n at most CHUNK, in one handle.
 * @end  the byte where the write ends; 0: a store to a mapping, which does not make the file longer
 */
static int prepare_chunk(struct ext_inode *i, uint64_t lblk, uint32_t n, uint64_t end,
                         void (*fresh)(void *, uint64_t, uint32_t), void *arg)
{
    struct ext_fs *fs = i->fs;
    struct handle h;
    uint64_t last = lblk + n;
    int err = jnl_start(fs, ext_map_credits(fs, n), &h);

    if (err != 0)
        return err;
    while (err == 0 && lblk < last) {
        uint32_t pblk, got;
        bool is_new;

        err = ext_map_alloc(&h, i, lblk, (uint32_t)(last - lblk), &pblk, &got, &is_new);
        if (err != 0)
            break;
        lblk += got;
        if (is_new) {
            uint64_t to = min_of(lblk << fs->bshift, end);

            jnl_order(&h, i, (lblk - got) << fs->bshift, lblk << fs->bshift);
            if (to > i->vn.size) /* under vn->lock */
                i->growing = to;
            ext_iwrite(&h, i);
            ASSERT(end == 0 || i->disksize >= to, "ext.h: I4");
            if (fresh != NULL)
                fresh(arg, lblk - got, got);
        }
    }
    jnl_stop(&h);
    return err;
}

int ext_prepare(struct ext_inode *i, uint64_t off, uint64_t len, bool grow,
                void (*fresh)(void *, uint64_t, uint32_t), void *arg)
{
    struct ext_fs *fs = i->fs;
    uint64_t lblk = off >> fs->bshift, end = (off + len + fs->bsize - 1) >> fs->bshift;
    unsigned tries = 0;
    int err = 0;

    if (off + len > ext_max_size(fs))
        return -EFBIG;
    while (lblk < end) {
        uint32_t n = (uint32_t)min_of(end - lblk, (uint64_t)CHUNK);

        err = ext_mapped(i, lblk << fs->bshift, (uint64_t)n << fs->bshift);
        if (err == 0) {
            err = prepare_chunk(i, lblk, n, grow ? off + len : 0, fresh, arg);
            if (err == -ENOSPC && fs->free_blocks > 0 && tries++ < 2 && jnl_commit_all(fs) == 0)
                continue; /* the commit has made freed blocks available */
        }
        if (err < 0)
            return err;
        lblk += n;
    }
    return 0;
}

int ext_trim(struct ext_inode *i)
{
    atomic_store(&i->writing, 0);
    return i->growing > i->vn.size ? ext_truncate(i, i->vn.size) : 0;
}
