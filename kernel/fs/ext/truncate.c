// SPDX-License-Identifier: MIT
/*
 * truncate.c - making a file shorter: freeing its blocks.
 *
 * THEORY      A large file has too many blocks for one transaction.  The tree of pointers is walked from the
 *             first block to free.  A run of blocks is freed and the pointers to it are cleared in the same
 *             handle.  When the credits of the handle run low, the inode is put on the orphan list, the
 *             handle ends, and a new handle continues at the same place.  After a crash in between,
 *             the next mount continues with the orphan.
 *             A block of pointers is freed after all blocks that it points to.
 *             A file is cut in these steps:
 *               1  in one handle: store the new size in the table, put the inode on the orphan list
 *               2  wait for a commit that began before step 1 and still has to write the file's data
 *               3  drop the pages beyond the new size
 *               4  free the blocks
 *             So every transaction has either the old size, with all its data on the disk, or the new size
 *             and an orphan.
 *             The page that contains the new end stays.  After step 2, write-back leaves out the blocks of this
 *             page beyond the end (`cutting`).  Step 3 waits for a write that began earlier.
 * INVARIANTS  I1  a pointer is zeroed in the handle that frees its block
 *             I2  map_lock is released during a restart, because a commit can need it
 * LOCKING     The caller holds vn->lock for writing, so other threads do not use the blocks beyond the size.
 * SEE ALSO    bmap.c, orphan.c
 */
#include "fs/ext/ext.h"

#include "stat/panic.h"

#define META_RUN     4 /* most blocks of metadata in one run */
/* one run: bitmap and descriptor of two groups, the block of pointers, META_RUN freed blocks */
#define STEP_CREDITS 9
#define STEP_REVOKES (META_RUN + 1) /* blocks of one run, and the block of attributes at the end */
/* inode, superblock, previous orphan of the list, one spare credit */
#define END_CREDITS  4
#define CUT_CREDITS  32  /* credits of each handle */
#define RUNS_PER_TXN 512 /* most runs in one handle */

/* The state of a walk that frees blocks. */
struct cut {
    struct handle *h;
    struct ext_inode *i;
    unsigned runs; /* runs that were freed in this handle so far */
};

/*
 * Makes sure that the handle has credits for one more run.  The caller holds map_lock, which is released during a
 * restart (I2).
 */
static int refill_credits(struct cut *c)
{
    int err;

    if (c->h->credits >= STEP_CREDITS + END_CREDITS && c->h->revokes >= STEP_REVOKES &&
        c->runs++ < RUNS_PER_TXN)
        return 0;
    c->runs = 0;
    mutex_exit(&c->i->map_lock);
    ext_orphan_add(c->h, c->i);
    ext_iwrite(c->h, c->i);
    err = jnl_restart(c->h, CUT_CREDITS);
    mutex_enter(&c->i->map_lock);
    return err;
}

static void subtract_block_count(struct ext_inode *i, uint32_t blocks)
{
    uint32_t n = blocks * i->fs->spb;

    i->nsectors -= min_of(n, i->nsectors);
}

/* Frees the blocks to which v[from..to) point.  v is in buffer b, or in the inode (NULL). */
static int free_leaf_blocks(struct cut *c, struct buf *b, uint32_t *v, uint32_t from, uint32_t to)
{
    /* the blocks of a directory or of a long symbolic link are metadata: they were in the journal */
    bool meta = c->i->vn.type != VREG;

    for (uint32_t k = from; k < to;) {
        uint32_t n = 1;
        int err;

        if (v[k] == 0) {
            k++;
            continue;
        }
        err = refill_credits(c);
        if (err != 0)
            return err;
        while (k + n < to && v[k + n] == v[k] + n && !(meta && n == META_RUN))
            n++;
        err = meta ? ext_bfree_meta(c->h, v[k], n) : ext_bfree(c->h, v[k], n);
        if (err != 0)
            return err;
        if (b != NULL)
            jnl_access(c->h, b);
        for (uint32_t m = 0; m < n; m++)
            v[k + m] = 0;
        subtract_block_count(c->i, n);
        k += n;
    }
    return 0;
}

/* Frees the block of pointers to which *slot points.  *slot is in buffer `owner`, or in the inode (NULL). */
static int free_indirect_block(struct cut *c, uint32_t *slot, struct buf *owner)
{
    uint32_t block = *slot;
    int err = refill_credits(c);

    if (err == 0)
        err = ext_bfree_meta(c->h, block, 1);
    if (err != 0)
        return err;
    if (owner != NULL)
        jnl_access(c->h, owner);
    *slot = 0;
    subtract_block_count(c->i, 1);
    return 0;
}

/*
 * Frees the tree below *slot, which has `level` levels of blocks of pointers, from its block number `from`
 * on.  If `from` is 0, *slot itself is freed, too.
 */
static int free_indirect_tree(struct cut *c, unsigned level, uint32_t *slot, struct buf *owner,
                              uint64_t from)
{
    struct ext_fs *fs = c->i->fs;
    unsigned shift = (level - 1) * fs->apb_shift;
    struct buf *b;
    uint32_t *v;
    int err;

    if (*slot == 0)
        return 0;
    if (!ext_block_ok(fs, *slot, 1))
        return ext_error(fs, "inode %u: indirect block %u", (uint32_t)c->i->vn.ino, *slot);
    err = buf_read(fs, *slot, &b);
    if (err != 0)
        return err;
    v = (uint32_t *)b->data;
    if (level == 1) {
        err = free_leaf_blocks(c, b, v, (uint32_t)from, fs->apb);
    } else {
        uint32_t first = (uint32_t)(from >> shift);

        for (uint32_t k = first; k < fs->apb && err == 0; k++)
            err = free_indirect_tree(c, level - 1, &v[k], b,
                                     k == first ? from & ((1ull << shift) - 1) : 0);
    }
    buf_put(b);
    return err == 0 && from == 0 ? free_indirect_block(c, slot, owner) : err;
}

int ext_free_blocks(struct handle *h, struct ext_inode *i, uint64_t size)
{
    struct ext_fs *fs = i->fs;
    struct cut c = {h, i, 0};
    uint64_t from = (size + fs->bsize - 1) >> fs->bshift;
    int err = 0;

    if (i->vn.type == VLNK && i->nsectors == (i->file_acl != 0 ? fs->spb : 0))
        return 0; /* a short symbolic link, which has its target in place of pointers */
    mutex_enter(&i->map_lock);
    i->map_len = 0;
    i->last_alloc = 0;
    if (from < EXT_NDIR)
        err = free_leaf_blocks(&c, NULL, i->block, (uint32_t)from, EXT_NDIR);
    from = from < EXT_NDIR ? 0 : from - EXT_NDIR;
    for (unsigned level = 1; level <= 3 && err == 0; level++) {
        uint64_t n = 1ull << level * fs->apb_shift;

        if (from < n)
            err = free_indirect_tree(&c, level, &i->block[EXT_NDIR + level - 1], NULL, from);
        from = from < n ? 0 : from - n;
    }
    i->map_len = 0; /* a reader of the last page can have set map_len during a restart (I2) */
    mutex_exit(&i->map_lock);
    return err;
}

/* Step 1 of a truncation.  0; or an error (-EROFS -ENOMEM), after which nothing has changed. */
static int shrink_inode_size(struct ext_inode *i, uint64_t size)
{
    struct handle h;
    int err = jnl_start(i->fs, ORPHAN_CREDITS, &h);

    if (err != 0)
        return err;
    i->growing = 0;
    atomic_store(&i->writing, 0);
    atomic_store_explicit(&i->vn.obj.size_pages, (size + PAGE_SIZE - 1) >> PAGE_SHIFT,
                          memory_order_release);
    atomic_store_explicit(&i->vn.size, size, memory_order_release);
    /* the last block must be written with zeros beyond the new end */
    if (i->vn.type == VREG && size % i->fs->bsize != 0)
        jnl_order(&h, i, size, size + 1);
    ext_orphan_add(&h, i);
    ext_iwrite(&h, i);
    ASSERT(i->disksize == size && i->growing == 0, "ext.h: nobody else makes the file longer");
    jnl_stop(&h);
    return 0;
}

int ext_truncate(struct ext_inode *i, uint64_t size)
{
    struct handle h;
    int err = shrink_inode_size(i, size);

    if (err != 0)
        return err;
    if (i->vn.type == VREG) {
        jnl_wait_committing(i);
        atomic_store(&i->cutting, size);
        i->fs->up->drop_pages(i, size);
    }
    err = jnl_start(i->fs, CUT_CREDITS, &h);
    if (err == 0) {
        err = ext_free_blocks(&h, i, size);
        if (h.txn != NULL) {
            if (err == 0)
                ext_orphan_del(&h, i);
            ext_iwrite(&h, i);
            jnl_stop(&h);
        }
    }
    atomic_store(&i->cutting, 0);
    if (err != 0)
        ext_orphan_set_undone(i, UNDONE_CUT);
    return err;
}
