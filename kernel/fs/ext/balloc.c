// SPDX-License-Identifier: MIT
/*
 * balloc.c - allocating and freeing blocks.
 *
 * THEORY      Each block group has a bitmap with one bit per block; a set bit means that the block is in use.
 *             A file that grows has a goal, the block after its last block.  If the goal is free,
 *             the file gets the goal.  If not, the file gets the first of eight consecutive free
 *             blocks.  So the blocks of files that grow at the same time alternate in runs of
 *             eight, not one by one.  If there are no eight such blocks, the file gets the next
 *             free block.
 *             A file without a goal starts at the next free block after the group's last allocation of this
 *             kind (block_hint).  So small files lie side by side and are written together.
 *             A group whose count of free blocks is 0 is skipped without a look at its bitmap.
 *             A freed block is clear in the bitmap, but set in `pending` until the transaction that freed it
 *             is on the disk.  Until then it must not be reused, because a crash would bring back the old
 *             file, which needs its old data.
 * INVARIANTS  I1  a bit set in `pending` is clear in the bitmap
 *             I2  the bitmap's bits for the group's own metadata are set (checked when the bitmap
 *                 is first read)
 * LOCKING     group.lock guards the bitmap, `pending` and the counts of a group.
 * SEE ALSO    ext.h (I3), docs/ext.md
 */
#include "fs/ext/bits.h"
#include "fs/ext/ext.h"

#include "lib/string.h"
#include "mem/kmem.h"

static inline uint32_t group_first_block(const struct ext_fs *fs, uint32_t g)
{
    return fs->first_block + g * fs->bpg;
}

/* Checks I2, once for each group. */
static int check_block_bitmap(struct ext_fs *fs, uint32_t g, const struct ext_gdesc *d,
                              const uint8_t *map)
{
    uint32_t start = group_first_block(fs, g);
    uint32_t head = ext_has_super(fs, g) ? 1 + fs->gdt_blocks + fs->reserved_gdt : 0;

    if (!bits_all(map, 0, head) || !bit_get(map, d->block_bitmap - start) ||
        !bit_get(map, d->inode_bitmap - start) ||
        !bits_all(map, d->inode_table - start, fs->table_blocks))
        return ext_error(fs, "group %u: its own blocks are free in its bitmap", g);
    fs->groups[g].block_checked = true;
    return 0;
}

/* Gets the bitmap of group g, checked, with a reference.  The caller holds the group's lock. */
static int read_block_bitmap(struct ext_fs *fs, uint32_t g, struct buf **out)
{
    struct buf *db;
    struct ext_gdesc *d = ext_gdesc(fs, g, &db);
    int err = buf_read(fs, d->block_bitmap, out);

    if (err != 0 || fs->groups[g].block_checked)
        return err;
    err = check_block_bitmap(fs, g, d, (*out)->data);
    if (err != 0)
        buf_put(*out);
    return err;
}

/*
 * Searches a group of n blocks with the function `next`: first from block `from` to the end, then the blocks before
 * `from`.  Returns what `next` finds, or n if it finds nothing.
 */
static uint32_t
search_group_map(uint32_t (*next)(const uint8_t *, const uint8_t *, uint32_t, uint32_t),
                 const struct ext_group *grp, const uint8_t *map, uint32_t from, uint32_t n)
{
    uint32_t i = next(map, grp->pending, from, n);

    if (i < n)
        return i;
    i = next(map, grp->pending, 0, from);
    return i < from ? i : n;
}

/*
 * Chooses a free block of the group, which has n blocks, by the rules of THEORY.  Returns n if no
 * block is free.
 * @from   where the search starts, counted from the first block of the group
 * @grows  the file has a goal
 * @exact  the goal lies in this group, at `from`
 */
static uint32_t choose_first_block(struct ext_group *grp, const uint8_t *map, uint32_t from,
                                   bool grows, bool exact, uint32_t n)
{
    uint32_t i;

    if (exact && bits_next_clear(map, grp->pending, from, from + 1) == from)
        return from;
    if (grows) {
        i = search_group_map(bits_next_byte, grp, map, from, n);
        if (i < n)
            return i;
    }
    return search_group_map(bits_next_clear, grp, map, from, n);
}

/* The length of the run of free blocks that begins with block i, at most `most`.  Block i must be free. */
static uint32_t count_free_run(const struct ext_group *grp, const uint8_t *map, uint32_t i,
                               uint32_t most)
{
    uint32_t k = 1;

    while (k < most && bits_next_clear(map, grp->pending, i + k, i + k + 1) == i + k)
        k++;
    return k;
}

/* Allocates blocks in group g.  1: *start and *got are set; 0: the group has no free block; or an error. */
static int alloc_blocks_in_group(struct handle *h, uint32_t g, uint32_t goal, uint32_t want,
                                 uint32_t *start, uint32_t *got)
{
    struct ext_fs *fs = h->fs;
    struct ext_group *grp = &fs->groups[g];
    struct buf *db, *mb;
    struct ext_gdesc *d = ext_gdesc(fs, g, &db);
    uint32_t n = ext_group_blocks(fs, g), base = group_first_block(fs, g), from, i, k;
    bool exact = goal != 0 && goal >= base && goal < base + n;
    int err = 0;

    mutex_enter(&grp->lock);
    if (d->free_blocks != 0)
        err = read_block_bitmap(fs, g, &mb);
    if (d->free_blocks == 0 || err != 0) {
        mutex_exit(&grp->lock);
        return err;
    }
    from = grp->block_hint < n ? grp->block_hint : 0;
    if (exact)
        from = goal - base;
    i = choose_first_block(grp, mb->data, from, goal != 0, exact, n);
    if (i < n) {
        k = count_free_run(grp, mb->data, i, min_of(min_of(want, (uint32_t)d->free_blocks), n - i));
        jnl_access(h, mb);
        jnl_access(h, db);
        bits_set(mb->data, i, k);
        d->free_blocks = (uint16_t)(d->free_blocks - k);
        atomic_fetch_sub_explicit(&fs->free_blocks, k, memory_order_relaxed);
        if (!exact)
            grp->block_hint = i + k;
        *start = base + i;
        *got = k;
    }
    mutex_exit(&grp->lock);
    buf_put(mb);
    if (i >= n)
        return 0;
    if (unlikely(!ext_block_ok(fs, *start, *got)))
        return ext_error(fs, "blocks %u, %u long, are the file system's own and free in the bitmap",
                         *start, *got);
    return 1;
}

int ext_balloc(struct handle *h, uint32_t group, uint32_t goal, uint32_t want, uint32_t *start,
               uint32_t *got)
{
    struct ext_fs *fs = h->fs;
    int64_t spare = fs->free_blocks;
    int r;

    if (spare <= fs->sb->r_blocks_count && !fs->up->privileged())
        return -ENOSPC;
    if (goal < fs->first_block || goal >= fs->blocks)
        goal = 0;
    if (goal != 0)
        group = (goal - fs->first_block) / fs->bpg;
    for (uint32_t k = 0, g = group; k < fs->ngroups; k++) {
        r = alloc_blocks_in_group(h, g, k == 0 ? goal : 0, want, start, got);
        if (r != 0)
            return r < 0 ? r : 0;
        if (++g == fs->ngroups)
            g = 0;
    }
    return -ENOSPC;
}

/* Frees bits first .. first+n-1 of group g. */
static int free_blocks_in_group(struct handle *h, uint32_t g, uint32_t first, uint32_t n)
{
    struct ext_fs *fs = h->fs;
    struct ext_group *grp = &fs->groups[g];
    struct buf *db, *mb;
    struct ext_gdesc *d = ext_gdesc(fs, g, &db);
    int err;

    mutex_enter(&grp->lock);
    err = read_block_bitmap(fs, g, &mb);
    if (err == 0) {
        if (grp->pending == NULL)
            grp->pending = ext_alloc(fs, fs->bsize);
        if (grp->pending == NULL)
            err = -ENOMEM;
        else if (!bits_all(mb->data, first, n) || d->free_blocks + n > ext_group_blocks(fs, g))
            err = ext_error(fs, "a block at %u, %u long, is freed that is free",
                            group_first_block(fs, g) + first, n);
        else
            err = jnl_add_freed(h, group_first_block(fs, g) + first, n);
        if (err == 0) {
            jnl_access(h, mb);
            jnl_access(h, db);
            bits_clear(mb->data, first, n);
            bits_set(grp->pending, first, n);
            grp->npending += n;
            d->free_blocks = (uint16_t)(d->free_blocks + n);
            atomic_fetch_add_explicit(&fs->free_blocks, n, memory_order_relaxed);
        }
        buf_put(mb);
    }
    mutex_exit(&grp->lock);
    return err;
}

int ext_bfree(struct handle *h, uint32_t start, uint32_t n)
{
    struct ext_fs *fs = h->fs;

    if (!ext_block_ok(fs, start, n))
        return ext_error(fs, "blocks %u, %u long, cannot be a file's", start, n);
    while (n != 0) {
        uint32_t g = (start - fs->first_block) / fs->bpg,
                 first = (start - fs->first_block) % fs->bpg;
        uint32_t k = min_of(n, fs->bpg - first);
        int err = free_blocks_in_group(h, g, first, k);

        if (err != 0)
            return err;
        start += k;
        n -= k;
    }
    return 0;
}

int ext_bfree_meta(struct handle *h, uint32_t start, uint32_t n)
{
    int err = jnl_reserve_revokes(h);

    if (err == 0)
        err = ext_bfree(h, start, n);
    /*
     * only after success: a block that could not be freed must stay in the transaction with its
     * contents
     */
    for (uint32_t k = 0; k < n && err == 0; k++)
        jnl_forget(h, start + k);
    return err;
}

void ext_release_pending(struct ext_fs *fs, uint32_t start, uint32_t n)
{
    while (n != 0) {
        uint32_t g = (start - fs->first_block) / fs->bpg,
                 first = (start - fs->first_block) % fs->bpg;
        uint32_t k = min_of(n, fs->bpg - first);
        struct ext_group *grp = &fs->groups[g];

        mutex_enter(&grp->lock);
        bits_clear(grp->pending, first, k);
        grp->npending -= k;
        mutex_exit(&grp->lock);
        start += k;
        n -= k;
    }
}
