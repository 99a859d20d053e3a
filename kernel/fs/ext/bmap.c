// SPDX-License-Identifier: MIT
/*
 * bmap.c - where a file's blocks lie, and giving it more.
 *
 * THEORY      An inode names 12 blocks itself; a thirteenth pointer leads to a block of pointers, a fourteenth to a
 *             block of those, a fifteenth to a block of those again.  A look-up tells a whole run of blocks that
 *             follow each other, and the last run is remembered, so that sequential work seldom reads pointers.
 *             Bytes are in the page cache when ext_prepare() gives them blocks; a file that grows gets its new size
 *             on the disk in the same handle, so that no commit shows blocks beyond the size.
 * INVARIANTS  I1  a pointer is followed only after ext_block_ok(); depth bounds the walk, so loops cannot hold it up
 * LOCKING     map_lock
 * SEE ALSO    truncate.c (the way back), docs/ext.md
 */
#include "fs/ext/ext.h"

#include "lib/string.h"
#include "stat/panic.h"

#define CHUNK 32u /* blocks given in one handle */

/* The way to a block: index into the inode's pointers, then into each block of pointers. */
struct path {
    unsigned depth;
    uint32_t at[4];
};

static bool block_to_path(const struct ext_fs *fs, uint64_t lblk, struct path *p)
{
    unsigned s = fs->apb_shift;

    if (lblk < EXT_NDIR) {
        *p = (struct path){1, {(uint32_t)lblk}};
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

/* The leaf that holds the pointer: an array of *n pointers from the wanted one on.  Held in *b (NULL: the inode). */
static int walk_indirect_blocks(struct ext_inode *i, const struct path *p, unsigned *missing,
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
        if ((err = buf_read(fs, block, b)) != 0)
            return err;
        ptr = (uint32_t *)(*b)->data + p->at[k];
    }
    *v = ptr;
    return 0;
}

/* How many of v[0..n) follow the first: consecutive blocks, or holes. */
static uint32_t count_consecutive_pointers(const uint32_t *v, uint32_t n)
{
    uint32_t k = 1;

    while (k < n && v[k] == (v[0] == 0 ? 0 : v[0] + k))
        k++;
    return k;
}

static int map_blocks_locked(struct ext_inode *i, uint64_t lblk, uint32_t max, uint32_t *pblk,
                             uint32_t *n)
{
    struct path p;
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
    if ((err = walk_indirect_blocks(i, &p, &missing, &v, &room, &b)) != 0)
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

/* ---- giving blocks ------------------------------------------------------------------------------- */

unsigned ext_map_credits(struct ext_fs *fs, uint32_t n)
{
    uint32_t ind = n / fs->apb + 5; /* blocks of pointers, new or changed */

    return ind + min_of(2 * fs->ngroups, 2 * (n + ind)) + 3;
}

/* One block of metadata for `i`, zeroed. */
static int alloc_indirect_block(struct handle *h, struct ext_inode *i, uint32_t group,
                                uint32_t goal, struct buf **b)
{
    uint32_t start, got;
    int err = ext_balloc(h, group, goal, 1, &start, &got);

    if (err != 0)
        return err;
    if ((err = buf_new(h->fs, start, b)) != 0) {
        ext_bfree(h, start, 1);
        return err;
    }
    jnl_access(h, *b);
    i->last_alloc = start;
    return 0;
}

/* Allocates `missing` blocks of pointers and up to n of data, and links them in at v (in *leaf, or the inode). */
static int alloc_block_branch(struct handle *h, struct ext_inode *i, const struct path *p,
                              unsigned missing, uint32_t *v, struct buf *leaf, uint32_t goal,
                              uint32_t n, uint32_t *pblk, uint32_t *got)
{
    struct ext_fs *fs = i->fs;
    uint32_t group = ((uint32_t)i->vn.ino - 1) / fs->ipg, *ptr;
    struct buf *ind[3] = {NULL, NULL, NULL};
    unsigned k;
    int err = 0;

    for (k = 0; k < missing && err == 0; k++)
        if ((err = alloc_indirect_block(h, i, group, goal, &ind[k])) == 0)
            goal = i->last_alloc + 1;
    if (err == 0)
        err = ext_balloc(h, group, goal, n, pblk, got);
    if (err != 0) {
        for (k = 0; k < missing && ind[k] != NULL; k++) {
            ext_bfree_meta(h, ind[k]->block);
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
    struct path p;
    struct buf *b;
    uint32_t *v, room, goal;
    unsigned missing;
    int err;

    *fresh = false;
    if (!block_to_path(i->fs, lblk, &p))
        return -EFBIG;
    mutex_enter(&i->map_lock);
    if ((err = walk_indirect_blocks(i, &p, &missing, &v, &room, &b)) == 0) {
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
 * Blocks for lblk .. lblk+n-1, n at most CHUNK, in one handle.
 * @end  where the write ends, in bytes; 0: a store to a mapping, which does not make the file longer
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
                continue; /* what was freed may be used now */
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
