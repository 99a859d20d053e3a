// SPDX-License-Identifier: MIT
/*
 * ext.h - the journalled file system ext3 (and ext2, which has no journal): its types and internal functions.
 *
 * THEORY      A file system stores files in the blocks of a disk.  The blocks with the contents of files are
 *             its data.  The blocks that describe the files (inodes, directories, bitmaps of free space) are
 *             its metadata.  One operation changes several blocks of metadata, and a crash between two writes
 *             would leave them inconsistent.  So changes are first written to a log, the journal, as
 *             transactions.  After a crash, the next mount replays the log.  Then each transaction has happened
 *             completely or not at all.
 *             Layers, from the disk up:
 *               io.c, buf.c          many blocks at a time; blocks of metadata in memory
 *               journal.c            transactions; commit.c writes them, recover.c replays them after a crash
 *               balloc.c, ialloc.c   free blocks and free inodes
 *               bmap.c, truncate.c   the blocks of a file
 *               inode.c, icache.c    the inode table, the inodes in memory; orphan.c: inodes without a name
 *               dir.c, htree.c       directories; hash.c: the hash of a name; namei.c: operations on names
 *               super.c              mounting, features, errors
 *               vnops.c, pages.c, mount.c   the kernel's side: vnodes, page cache, commit thread
 *             All files except those of the last line use nothing above blk.h.  They are also built and tested
 *             as a host program.
 *             A change of metadata is made in a handle (journal.h): first jnl_access(), then the change of
 *             the bytes.
 * INVARIANTS  I1  a block number read from the disk is checked (ext_block_ok) before it is used
 *             I2  a buffer's bytes change only in an open handle, after jnl_access()
 *             I3  a freed block is not allocated again before the transaction that freed it is on the disk
 *             I4  a file has no blocks beyond its size on the disk, unless it is on the orphan list
 * LOCKING     vn->lock -> handle -> inode cache -> map_lock -> group lock -> orphan_lock -> journal lock ->
 *             spin locks (RANK_BUF).
 *             A thread that holds a map_lock or a group lock must not wait for a new handle, because a commit
 *             can need these locks.
 *             A thread that holds one of these locks, except for the spin locks, is allowed to wait for memory.
 *             The reason is that the pageout daemon never waits for them: it only tries to take a map_lock, and
 *             takes none of the other locks.
 * SEE ALSO    docs/ext.md, tests/host/test_ext.c
 */
#ifndef FS_EXT_EXT_H
#define FS_EXT_EXT_H

#include "blk/blk.h"
#include "disp/sync.h"
#include "fs/ext/format.h"
#include "vfs/vnode.h"
#include "lib/errno.h"
#include "lib/spinlock.h"

#ifndef EUCLEAN
#define EUCLEAN 117
#endif

struct ext_fs;
struct ext_inode;
struct txn;
struct journal;

/* ---- buffers (buf.c) ---- */
enum {
    BUF_UPTODATE = 1,    /* `data` is the content of the block */
    BUF_CHECKED = 2,     /* directory block: the entries of the block are well formed */
    BUF_REFERENCED = 4,  /* used since try_evict_buf() last checked the buffer */
    BUF_FREED = 8,       /* the buffer's transaction has freed the block: do not write the block */
    BUF_COMMITTING = 16, /* the buffer belongs to the committing transaction */
    /* the buffer's transaction has allocated the block: the log has no later version */
    BUF_NEW = 32
};

/*
 * A block of metadata in memory.
 * Lock key: [h] hash bucket's lock  [j] journal lock  [a] atomic  [c] constant
 */
struct buf {
    struct buf *hnext;      /* [h] next in the hash chain */
    uint32_t block;         /* [c] block number */
    _Atomic uint32_t refs;  /* [a] grows from 0 only under [h] */
    _Atomic uint32_t flags; /* [a] BUF_* */
    uint8_t *data;          /* [c] the content: memory of one block */
    struct txn *txn;        /* [j] the running transaction that has changed the buffer, or NULL */
    struct list link;       /* [j] in txn->bufs */
    /* [j] last committed transaction that changed the buffer; NULL after the checkpoint */
    struct txn *ckpt;
    struct list clink; /* [j] in ckpt->ckpts */
    struct list all;   /* in fs->bufs, under fs->buf_lock */
};

/*
 * buf_read - get a block with a reference; reads it if necessary.  -EIO -ENOMEM.
 * buf_new - get a block that has just been allocated, zeroed instead of read, with a reference.  -ENOMEM.
 * buf_cached - get a block with a reference if it is in memory; else NULL.
 * buf_put - drop a reference; NULL is allowed.
 * buf_hold - take one more reference; the caller already has one.
 * buf_keep - take a reference, for the journal, to a buffer that only a transaction or a checkpoint keeps in
 *            memory.  Must be called before the transaction or checkpoint releases the buffer.
 * bufs_init, bufs_destroy - at mount and unmount.  bufs_destroy frees all buffers; none may be in use.
 * bufs_shrink - free some unused buffers.  Returns whether there were any.
 */
int buf_read(struct ext_fs *fs, uint32_t block, struct buf **out);
int buf_new(struct ext_fs *fs, uint32_t block, struct buf **out);
struct buf *buf_cached(struct ext_fs *fs, uint32_t block);
static inline void buf_put(struct buf *b)
{
    if (b != NULL)
        atomic_fetch_sub_explicit(&b->refs, 1, memory_order_release);
}
static inline void buf_hold(struct buf *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}
void buf_keep(struct ext_fs *fs, struct buf *b);
int bufs_init(struct ext_fs *fs);
bool bufs_shrink(struct ext_fs *fs);
void bufs_destroy(struct ext_fs *fs);

/* One block to read or write with ext_io(). */
struct ioblock {
    uint32_t block;
    void *data;
    struct buf *b; /* for the use of the caller */
};
/*
 * ext_io - read or write the blocks v[0..n) and wait.  Consecutive blocks that follow each other in v become
 *          one request.  0 or -EIO.
 * ext_io_one - the same for one block.  ext_io_sort - sort by block number.
 */
int ext_io(struct ext_fs *fs, enum blk_op op, struct ioblock *v, size_t n);
int ext_io_one(struct ext_fs *fs, enum blk_op op, uint32_t block, void *data);
void ext_io_sort(struct ioblock *v, size_t n);
/*
 * ext_block_alloc - memory for one block, aligned to its size; NULL: no memory.
 * ext_block_free - free the memory of a block; NULL is allowed.
 * ext_alloc - zeroed memory, to be freed with kmem_free().  If there is no memory, the function
 *             frees unused buffers, and then waits for memory.  NULL only for the pageout daemon,
 *             and if the wait did not help.
 * ext_make_room - to be called after an allocation has failed: free or wait for memory like ext_alloc().  Returns
 *                 whether the caller should try again.
 */
void *ext_block_alloc(struct ext_fs *fs);
void *ext_alloc(struct ext_fs *fs, size_t size);
bool ext_make_room(struct ext_fs *fs, struct mem_need *need);
void ext_block_free(struct ext_fs *fs, void *p);

/* ---- the journal (journal.c, commit.c, recover.c) ---- */
struct extent {
    uint32_t start, len;
};

/* A handle: the part of a transaction that one operation makes.  See journal.c. */
struct handle {
    struct ext_fs *fs;
    struct txn *txn; /* NULL: not open */
    int credits;     /* buffers that the handle can still add to the transaction */
    /* blocks of metadata that the handle can still free; initially equal to credits */
    unsigned revokes;
};

/*
 * jnl_start - open a handle that will change at most `credits` blocks.  Waits for a commit if the transaction
 *             or the log is full.  -EROFS: the file system is or has become read-only.  -ENOMEM.
 * jnl_stop - close the handle.
 * jnl_restart - close and reopen the handle, so that a long change can become several transactions.
 *               After an error the handle is closed.  -EROFS -ENOMEM.
 * jnl_access - announce that the bytes of b will change.  Clears BUF_CHECKED, because on a damaged disk the block
 *              can also belong to a directory.
 * jnl_access_entries - like jnl_access(), for a change after which the block is still a valid chain
 *                      of directory entries.
 * jnl_reserve_revokes - reserve space for the blocks that the handle can still free.  Must be called before the
 *                       handle frees the first block; then jnl_forget() cannot fail.  -ENOMEM.
 * jnl_forget - stop the writing of metadata block `block`, which has been freed.  A replay will not write it
 *              either.
 * jnl_order - note that bytes lo .. hi-1 of i must reach the disk before the transaction does.  The bytes between
 *             these and the bytes of earlier calls are included.
 * jnl_wait_committing - wait until no committing transaction needs the pages of i.  After that, the caller is
 *             allowed to drop the pages beyond the size that the running transaction shows.  The caller must have
 *             no open handle.
 * jnl_unorder - do what jnl_wait_committing() does, and remove i from the running transaction,
 *             because i leaves memory.
 * jnl_add_freed - record that blocks were freed, so that they are not used again until the transaction is on the
 *             disk.  -ENOMEM.
 * jnl_tid - the transaction of the handle.  jnl_tid_of - the last transaction that holds a change of b.
 * jnl_commit - return when transaction `tid` and all earlier ones are on the disk.  0 -EIO.
 * jnl_sync - like jnl_commit(); also all data that was written before the call is on stable
 *            storage.  The function flushes the disk, unless a commit that it has made has flushed
 *            the disk.  0 -EIO.
 * jnl_commit_all - commit the running transaction, or wait for the committing one.  0 -EIO.
 * jnl_committed - whether transaction `tid` is on the disk.
 */
int jnl_start(struct ext_fs *fs, unsigned credits, struct handle *h);
void jnl_stop(struct handle *h);
int jnl_restart(struct handle *h, unsigned credits);
void jnl_access_slow(struct handle *h, struct buf *b);
static inline void jnl_access_entries(struct handle *h, struct buf *b)
{
    if (b->txn != h->txn)
        jnl_access_slow(h, b);
}
static inline void jnl_access(struct handle *h, struct buf *b)
{
    if (b->flags & BUF_CHECKED)
        atomic_fetch_and(&b->flags, ~(uint32_t)BUF_CHECKED);
    jnl_access_entries(h, b);
}
int jnl_reserve_revokes(struct handle *h);
void jnl_forget(struct handle *h, uint32_t block);
void jnl_order(struct handle *h, struct ext_inode *i, uint64_t lo, uint64_t hi);
void jnl_wait_committing(struct ext_inode *i);
void jnl_unorder(struct ext_inode *i);
int jnl_add_freed(struct handle *h, uint32_t start, uint32_t len);
uint32_t jnl_tid(const struct handle *h);
uint32_t jnl_tid_of(struct ext_fs *fs, const struct buf *b);
int jnl_commit(struct ext_fs *fs, uint32_t tid);
int jnl_sync(struct ext_fs *fs, uint32_t tid);
int jnl_commit_all(struct ext_fs *fs);
bool jnl_committed(struct ext_fs *fs, uint32_t tid);

/*
 * jnl_load - read the journal's superblock and find its blocks.  -EUCLEAN -EIO -ENOMEM -EOPNOTSUPP.
 * jnl_recover - replay the transactions in the log; *replayed becomes the number of replayed
 * transactions.  -EUCLEAN -EIO -ENOMEM.
 * jnl_open - prepare for handles.  Without a journal, transactions will be written in place.  -EIO -ENOMEM.
 * jnl_close - commit, write all blocks to their places and mark the journal empty.  0 -EIO.
 * jnl_free - free the memory of the journal.
 * jnl_note_error - set or clear the error mark in the journal's superblock, on the disk.  This mark is needed
 *                  because a replay can overwrite the file system's superblock with a version that lacks the
 *                  mark.  0 -EIO.  Takes super_lock.  Does nothing without a journal.
 * jnl_has_error - whether the journal's superblock has the error mark; false without a journal.
 * jnl_abort - make the file system read-only until it is unmounted, after an error.  Waiting threads get -EROFS
 *             or -EIO.
 */
int jnl_load(struct ext_fs *fs);
int jnl_recover(struct ext_fs *fs, unsigned *replayed);
int jnl_open(struct ext_fs *fs);
int jnl_close(struct ext_fs *fs);
int jnl_note_error(struct ext_fs *fs, bool failed);
bool jnl_has_error(struct ext_fs *fs);
void jnl_free(struct ext_fs *fs);
void jnl_abort(struct ext_fs *fs);

/* ---- one mounted file system ---- */
/* A block group: a part of the disk with its own bitmaps and inodes.  Lock key: [g] the group's lock */
struct ext_group {
    struct mutex lock;
    uint32_t block_hint, inode_hint; /* [g] where searches start; no free inode before inode_hint */
    uint32_t npending;               /* [g] bits set in `pending` */
    /* [g] bitmap of blocks that were freed by a transaction not yet on the disk (I3); or NULL */
    uint8_t *pending;
    bool block_checked, inode_checked; /* [g] the bitmaps have been validated */
};

/* Bytes lo .. hi-1 of a file; hi 0: no bytes. */
struct ext_bytes {
    uint64_t lo, hi;
};

/* The functions of the kernel's side (vnops.c, pages.c) that the core calls. */
struct ext_up {
    const struct vnodeops *ops;
    const struct pager_ops *pager;
    /* Start writing the dirty pages of these bytes; with `wait`, also wait for the end.  0 or -EIO. */
    int (*write_data)(struct ext_inode *i, struct ext_bytes b, bool wait);
    /* Remove the pages beyond `size` bytes. */
    void (*drop_pages)(struct ext_inode *i, uint64_t size);
    bool (*may_evict)(struct ext_inode *i); /* whether the inode has neither dirty pages nor I/O */
    bool (*privileged)(void);               /* whether the caller can use the reserved blocks */
};

/* A part of the inode cache, with its own lock. */
#define ICACHE_PARTS 16
struct icache_part {
    struct mutex lock;
    struct ext_inode **hash;
    uint32_t count;
    struct list clock; /* all inodes of the part; the next candidate for eviction is first */
};

struct ext_fs {
    struct disk *disk;
    struct vfs *vfs;
    char name[32];
    const struct ext_up *up;

    /* [c] from the superblock */
    /* size of a block: in bytes, log2 of the bytes, in sectors of 512 bytes */
    uint32_t bsize, bshift, spb;
    /* bpg, ipg: blocks and inodes of a group; isize: bytes of an inode; ipb: inodes of a block */
    uint32_t blocks, first_block, bpg, ipg, inodes, ngroups, isize, ipb, first_ino, table_blocks;
    uint32_t apb, apb_shift; /* block numbers in a block of pointers; log2 of apb */
    /* blocks of group descriptors; blocks reserved for further ones */
    uint32_t gdt_blocks, reserved_gdt;
    bool journalled, index_dirs, filetype, unsigned_hash;
    uint8_t errors;      /* EXT_ERRORS_* */
    _Atomic bool rdonly; /* the file system must not be changed */
    _Atomic bool failed; /* an error was found */
    bool leaving;        /* being unmounted, and no inode is in use */
    char reason[160];    /* why the mount was refused */

    struct buf *sb_buf;
    struct ext_super *sb; /* the superblock, in the data of sb_buf */
    struct buf **gdt;     /* blocks of group descriptors, pinned */
    struct ext_group *groups;
    _Atomic int64_t free_blocks, free_inodes, ndirs;
    _Atomic uint32_t next_generation;

    struct journal *jnl;
    struct mutex orphan_lock;
    struct list orphans;        /* under orphan_lock: inodes, the one added last is first */
    struct spinlock dirty_lock; /* RANK_BUF */
    struct list dirty;          /* under dirty_lock: inodes changed in memory only, oldest first */
    _Atomic uint32_t ndirty;    /* length of `dirty`; changed under dirty_lock */

    struct buf **buf_hash;          /* buf_mask + 1 chains */
    struct spinlock *buf_hash_lock; /* one lock for each chain of buf_hash */
    struct mutex *buf_read_lock;    /* READ_LOCKS of buf.c */
    uint32_t buf_mask;
    struct spinlock buf_lock; /* RANK_BUF: guards `bufs` */
    struct list bufs;         /* all buffers */
    _Atomic uint32_t nbufs;
    uint32_t max_bufs;
    void *buf_cache; /* kmem cache of blocks smaller than a page */

    struct icache_part part[ICACHE_PARTS];
    uint32_t max_inodes;             /* of each part */
    _Atomic uint32_t n_write_errors; /* writes of pages that have failed so far */
    _Atomic uint64_t n_commits, n_revokes, n_checkpoints, n_replayed, n_buf_reads, n_ordered;
};

/*
 * ext_gdesc - the descriptor of group g; *b becomes the buffer of the descriptor, without a
 * reference.
 */
static inline struct ext_gdesc *ext_gdesc(struct ext_fs *fs, uint32_t g, struct buf **b)
{
    uint32_t per = fs->bsize / 32;

    *b = fs->gdt[g / per];
    return (struct ext_gdesc *)(*b)->data + g % per;
}

/* ---- super.c ---- */
/*
 * ext_mount - read and check the file system on `disk` and replay its journal; if writable, also delete or
 *             truncate the orphans.
 * @rdonly  change nothing on the disk, except by the replay
 * Returns 0 and *out; or an error, with the reason as text in reason[size]: -EINVAL (not this format),
 * -EUCLEAN, -EOPNOTSUPP (unknown feature), -EROFS (the disk cannot be written, but `rdonly` is false or the journal
 * must be replayed), -EIO -ENOMEM.
 */
int ext_mount(struct disk *disk, const char *name, bool rdonly, struct vfs *vfs,
              const struct ext_up *up, struct ext_fs **out, char *reason, size_t size);
/*
 * ext_writable - make a read-only file system writable.  -EROFS: not allowed.  -EUCLEAN -EIO -ENOMEM.
 * ext_quiesce - write all changes to the disk, mark the file system clean and make it read-only.  0 or an
 *               error.
 * ext_unmount - quiesce and free all memory; no inode may be in use.
 * ext_sync - write dirty inodes to the table and commit.  0 or an error.
 */
int ext_writable(struct ext_fs *fs);
int ext_quiesce(struct ext_fs *fs);
int ext_unmount(struct ext_fs *fs);
int ext_sync(struct ext_fs *fs);
/*
 * ext_note_error - set the error mark on the disk, in the file system's superblock and in the journal's.  Takes
 *                  super_lock.
 */
void ext_note_error(struct ext_fs *fs);
/*
 * ext_error - the disk is corrupt: print why, set the error mark, become read-only (errors=).  Returns
 *             -EUCLEAN.
 */
int ext_error(struct ext_fs *fs, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * ext_block_ok - whether blocks start .. start+n-1 lie in the file system and outside its fixed metadata.
 * ext_has_super - whether the group has a copy of the superblock and of the group descriptors.
 * ext_group_blocks - number of blocks of the group; the last group may be shorter.
 */
bool ext_block_ok(struct ext_fs *fs, uint32_t start, uint32_t n);
bool ext_has_super(struct ext_fs *fs, uint32_t group);
uint32_t ext_group_blocks(struct ext_fs *fs, uint32_t group);

/* ---- balloc.c ---- */
/*
 * ext_balloc - allocate 1 .. want consecutive blocks near block `goal` (0: anywhere in or after `group`).
 *              *start is the first of them, *got their number.  -ENOSPC -EIO -EUCLEAN -ENOMEM.  Takes the group's
 *              lock.
 * ext_bfree - free data blocks start .. start+n-1.  -EUCLEAN -EIO -ENOMEM.
 * ext_bfree_meta - like ext_bfree(), for blocks of metadata.  After they are free in the bitmap,
 *                  the journal forgets them.
 * ext_release_pending - allow that freed blocks are allocated again, because the transaction that
 *                       freed them is on the disk.
 */
int ext_balloc(struct handle *h, uint32_t group, uint32_t goal, uint32_t want, uint32_t *start,
               uint32_t *got);
int ext_bfree(struct handle *h, uint32_t start, uint32_t n);
int ext_bfree_meta(struct handle *h, uint32_t start, uint32_t n);
void ext_release_pending(struct ext_fs *fs, uint32_t start, uint32_t n);

/* ---- ialloc.c ---- */
/*
 * ext_ialloc - allocate an inode number for a new entry of `dir`.  -ENOSPC -EUCLEAN -EIO -ENOMEM.
 * ext_ifree - free an inode number.  -EUCLEAN -EIO -ENOMEM.
 * ext_ino_used - whether the bitmap shows the inode as in use: 1, 0 or an error.
 */
int ext_ialloc(struct handle *h, struct ext_inode *dir, bool is_dir, uint32_t *ino);
int ext_ifree(struct handle *h, uint32_t ino, bool is_dir);
int ext_ino_used(struct ext_fs *fs, uint32_t ino);

/* ---- inode.c, icache.c, orphan.c ---- */
/*
 * The fields of an inode that connect it with the journal.  "In a handle" means that the running transaction
 * cannot be committed between the store and the end of the handle, because all open handles are in one
 * transaction.
 *
 * field     written by                      lock         when it changes; what its value means
 * disksize  ext_iwrite, load_inode_fields   table_lock   in a handle: the size that the table now has
 * growing   prepare_chunk;                  vn.lock W    in a handle; beyond vn.size only during a write
 *           shrink_inode_size (0)
 * writing   ext_prepare_write;              vn.lock W    before the page is dirty: the bytes before this offset
 *           ext_trim, shrink_inode_size (0)              count as part of the file
 * cutting   ext_truncate                    vn.lock W    no commit needs the blocks after this offset, and they
 *                                                        will be freed: write-back leaves them out
 * tid       ext_iwrite, ext_iflush_one,     one store    in a handle, before disksize; never decreases while
 *           ext_iload                                    the inode is in memory
 * dirty     ext_idirty, ext_iundirty        dirty_lock   vn is newer than the table.  Cleared after the store
 *                                                        of tid and before ext_iwrite: a clean inode is in a
 *                                                        transaction up to tid
 * orphaned  ext_orphan_add, ext_orphan_del  orphan_lock  in a handle: the inode is on the orphan lists in memory
 *                                                        and on the disk
 * undone    ext_orphan_set_undone,              orphan_lock  only while orphaned; with UNDONE_DELETE, refs is 0
 *           take_undone_orphan
 * otxn      jnl_order, write_ordered,       journal.lock the transaction whose list `ordered` contains the inode
 *           jnl_unorder
 * ordered   like otxn                       journal.lock hi is 0 exactly if otxn is NULL
 * again     like otxn                       journal.lock bytes for the next transaction: only while otxn is
 *                                                        committing
 *
 * States of otxn: NULL -> running (jnl_order) -> committing (jnl_commit_running) -> NULL, or running if `again` is not
 * empty (write_ordered).
 * Pages with bytes in `ordered` must not be dropped while otxn is committing (jnl_wait_committing), or while they
 * lie within the size of the file in the running transaction.
 * An inode is evicted from memory only if it is not dirty, not orphaned, and otxn is NULL.
 */
/*
 * An inode in memory.  Lock key: [m] map_lock  [W] vn.lock  [o] orphan_lock  [d] dirty_lock  [j] journal lock
 * [p] lock of the icache part  [t] table_lock (spin lock, RANK_BUF)  [c] constant
 */
struct ext_inode {
    struct vnode vn;     /* must be first; has the mode, owner, links, size and times */
    struct object_io io; /* for the pages of a regular file */
    struct ext_fs *fs;   /* [c] */
    struct mutex map_lock;
    uint32_t block[15];         /* [m] block pointers, or the target of a short symbolic link */
    uint32_t nsectors;          /* [m] i_blocks, in sectors of 512 bytes */
    struct spinlock table_lock; /* held while the inode is copied into the table */
    uint32_t flags, generation, file_acl, crtime, crtime_extra;
    uint32_t dtime; /* changed under [o] and [t]; orphan: next inode of the list on the disk */
    uint16_t extra_isize;
    uint64_t disksize; /* [t] size on the disk, in the view of the running transaction */
    /*
     * [c] the block of the inode table that holds this inode; the inode has a reference to the
     * buffer
     */
    struct buf *ibuf;
    uint32_t ioff;                        /* [c] byte offset of the inode in ibuf */
    uint32_t map_lblk, map_pblk, map_len; /* [m] the run of blocks that was looked up last */
    /* [m] block that was allocated last; the next block should follow it */
    uint32_t last_alloc;
    _Atomic uint64_t writing; /* changed under [W]: end of a write beyond the size, or 0 */
    _Atomic uint64_t cutting; /* changed under [W]: size to which the file is being cut, or 0 */
    uint64_t growing;         /* [W] size that the current write will give the file, or 0 */
    /*
     * [W of parent] inode number of the parent: for a directory its "..", for a file the directory
     * where the file was last found; 0: not known
     */
    uint32_t parent;
    _Atomic uint32_t tid; /* last transaction that holds a change of the inode */
    struct list orphan;   /* [o] in fs->orphans */
    bool orphaned;        /* [o] */
    uint8_t undone; /* [o] UNDONE_*: operation that failed and that the next commit tries again */
    bool dirty;     /* [d] the inode is in fs->dirty */
    struct list dirty_link; /* [d] in fs->dirty */
    struct txn *otxn;  /* [j] transaction before whose commit the bytes `ordered` must be written */
    struct list olink; /* [j] in otxn->ordered */
    struct ext_bytes ordered, again; /* [j] bytes for otxn; bytes for the next transaction */
    struct ext_inode *hnext;         /* [p] next in the hash chain */
    struct list clock;               /* [p] in icache_part.clock */
    bool hashed, referenced; /* [p] in the cache; used since the last check of trim_icache_part() */
    /* [W] directory: number of a block; all blocks before this block are full */
    uint32_t dir_hint;
};
static inline struct ext_inode *ext_i(struct vnode *vn)
{
    return (struct ext_inode *)vn;
}

/*
 * ext_iget - get an inode, with a reference, from the cache or the table.  -EUCLEAN (also: the
 * inode is free) -EIO
 *            -ENOMEM.
 * ext_iput - drop a reference.
 * ext_itryhold - take a reference, unless the last one has been dropped.  Returns whether it took one.
 * ext_ihash - put a new inode into the cache.  ext_iforget - take an inode without links out of the cache.
 * ext_inode_new - allocate an inode in memory, with one reference; NULL: no memory.
 * ext_inode_free - free an inode in memory to which no references are left.
 * ext_iload - read an inode from the table, without the cache, with one reference.  -EUCLEAN -EIO -ENOMEM.
 * ext_ibuf - set i->ibuf and i->ioff from the inode number.  -EIO -ENOMEM.
 * ext_time_fits - the time (ns since 1970) nearest to t that the inode can store.
 * ext_iwrite - copy the attributes into the inode table.  Credits: 1.
 * ext_idirty - note that the attributes have changed in memory; the next commit copies them into the table.
 * ext_iundirty - undo ext_idirty.
 * ext_iflush_one - copy the inode into the table if it is dirty.  -EROFS -ENOMEM.
 * ext_iflush - call ext_iflush_one() for all inodes that are dirty at the time of the call.
 * ext_inactive - vnode operation, after the last reference has been dropped; deletes a file without links.
 */
int ext_iget(struct ext_fs *fs, uint32_t ino, struct ext_inode **out);
void ext_iput(struct ext_inode *i);
bool ext_itryhold(struct ext_inode *i);
void ext_ihash(struct ext_inode *i);
void ext_iforget(struct ext_inode *i);
struct ext_inode *ext_inode_new(struct ext_fs *fs, enum vtype type);
int ext_iload(struct ext_fs *fs, uint32_t ino, struct ext_inode **out);
int ext_ibuf(struct ext_inode *i);
int64_t ext_time_fits(const struct ext_inode *i, int64_t t);
void ext_iwrite(struct handle *h, struct ext_inode *i);
void ext_idirty(struct ext_inode *i);
void ext_iundirty(struct ext_inode *i);
void ext_inode_free(struct ext_inode *i);
int ext_iflush_one(struct ext_inode *i);
int ext_iflush(struct ext_fs *fs);
void ext_inactive(struct vnode *vn);
int icache_init(struct ext_fs *fs);
/* icache_drop - evict all inodes that can be evicted; returns the number of those that stay. */
unsigned icache_drop(struct ext_fs *fs);
void icache_destroy(struct ext_fs *fs);
/*
 * icache_hold_some - put up to `max` inodes for which want() is true into out[], each with a reference, and return
 *               their number; 0: no more.  *at is the place to continue; it must be 0 at the first call.  Before the
 *               next call the caller must drop the references, and must make want() false for these inodes.
 * icache_count - the number of inodes in the cache for which want() is true.
 */
unsigned icache_hold_some(struct ext_fs *fs, unsigned *at, bool (*want)(struct ext_inode *i),
                          struct ext_inode **out, unsigned max);
unsigned icache_count(struct ext_fs *fs, bool (*want)(struct ext_inode *i));
/*
 * ext_orphan_add - put the inode on the orphan list.  Returns 0.
 * ext_orphan_del - take the inode off the list; an open file without links stays on the list.  Returns 0.
 * ext_orphans_end - at mount: delete or truncate all inodes that a crash left on the list; *n
 *                   becomes their number.  -EUCLEAN -EIO -ENOMEM -EROFS.
 */
int ext_orphan_add(struct handle *h, struct ext_inode *i);
int ext_orphan_del(struct handle *h, struct ext_inode *i);
int ext_orphans_end(struct ext_fs *fs, unsigned *n);
/*
 * ext_orphan_set_undone - note that operation `what` on an orphan has failed.
 * ext_orphans_retry - try all noted operations again, up to the first that fails.
 */
enum {
    UNDONE_NOTHING,
    UNDONE_CUT,
    UNDONE_DELETE /* no references are left; the inode stays in memory for the next try */
};
void ext_orphan_set_undone(struct ext_inode *i, uint8_t what);
void ext_orphans_retry(struct ext_fs *fs);
/* ext_orphans_used - whether a file without a name is open, or being deleted. */
bool ext_orphans_used(struct ext_fs *fs);
/*
 * ext_delete - free the blocks, the attributes and the number of an inode without links and references.
 *              After an error the inode can still be on the orphan list.
 */
int ext_delete(struct ext_inode *i);
enum { ORPHAN_CREDITS = 3, DELETE_CREDITS = 8 };
extern const uint8_t ext_dirent_type[]; /* by enum vtype */
enum vtype ext_vtype(uint32_t mode);

/* ---- bmap.c, truncate.c ---- */
/*
 * ext_map - find where block `lblk` of the file lies: *pblk is its block on the disk (0: a hole).  *n, at
 *           most `max`, is the length of the run: *n consecutive blocks, or *n blocks of a hole.  -EUCLEAN
 *           -EIO -ENOMEM -EFBIG.  Takes map_lock.
 * ext_map_now - like ext_map(), but returns -EAGAIN instead of waiting for map_lock.
 * ext_map_alloc - like ext_map() for at most n blocks, but allocates blocks for a hole.  *got is
 *                 the length of the run.  If it is less than n, the caller must repeat the call.
 *                 If *fresh, the blocks are new and the caller must call ext_iwrite.  Credits:
 *                 ext_map_credits(fs, n).  Also -ENOSPC.
 */
int ext_map(struct ext_inode *i, uint64_t lblk, uint32_t max, uint32_t *pblk, uint32_t *n);
int ext_map_now(struct ext_inode *i, uint64_t lblk, uint32_t max, uint32_t *pblk, uint32_t *n);
int ext_map_alloc(struct handle *h, struct ext_inode *i, uint64_t lblk, uint32_t n, uint32_t *pblk,
                  uint32_t *got, bool *fresh);
unsigned ext_map_credits(struct ext_fs *fs, uint32_t n);
/*
 * ext_prepare - allocate blocks for bytes off .. off+len-1, in as many handles as necessary.  If `grow`, the
 *               size on the disk grows in the same handles (I4), and the caller holds vn->lock for writing.
 *               fresh(arg, lblk, n) is called for new blocks while the handle is open, so the transaction
 *               cannot be committed before it returns.  -ENOSPC -EFBIG -EROFS -EUCLEAN -EIO -ENOMEM.
 * ext_mapped - whether all bytes off .. off+len-1 have blocks: 1, 0 or an error.
 */
int ext_prepare(struct ext_inode *i, uint64_t off, uint64_t len, bool grow,
                void (*fresh)(void *arg, uint64_t lblk, uint32_t n), void *arg);
int ext_mapped(struct ext_inode *i, uint64_t off, uint64_t len);
/*
 * ext_trim - free the blocks beyond vn.size, after a write has ended early.
 * ext_truncate - make the file shorter: its size in memory and on the disk, its pages, its blocks.  `size` is
 *                at most the present size.  Opens its own handles.  If the first handle cannot be opened,
 *                nothing has changed (-EROFS -ENOMEM).  After any other error the size has changed, there can be
 *                blocks beyond the new size, and the inode stays on the orphan list.
 * ext_free_blocks - free the blocks beyond `size` bytes, in a handle that the function may restart.  After an
 *                   error h->txn is NULL if a restart has failed.
 * ext_max_size - the largest size of a file, in bytes.
 */
int ext_trim(struct ext_inode *i);
int ext_truncate(struct ext_inode *i, uint64_t size);
int ext_free_blocks(struct handle *h, struct ext_inode *i, uint64_t size);
uint64_t ext_max_size(struct ext_fs *fs);

/* ---- dir.c, htree.c, namei.c ---- */
/* The position of a directory entry: the buffer of its block, with a reference, and its record. */
struct dirpos {
    struct buf *b;
    struct ext_dirent *e, *prev; /* prev: the record before `e` in the block, or NULL */
};
/*
 * ext_dir_read - get block `lblk` of the directory, checked, with a reference.  The caller must hold vn->lock,
 *                so that the entries do not change.  -EUCLEAN -EIO -ENOMEM.
 * ext_dir_block - like ext_dir_read(), but the block is not checked.
 * ext_dir_append - add an empty block to the end of the directory: *out, with a reference, is block *lblk.
 *                  Also -ENOSPC.
 * ext_dir_find - find the entry of a name: *pos.  The caller must drop the reference to the block of *pos with
 *                buf_put().  -ENOENT -EUCLEAN -EIO -ENOMEM.
 * ext_dir_add - add an entry; the caller has checked that the name does not exist.  -ENOSPC -EUCLEAN -EIO
 *               -ENOMEM.
 * ext_dir_remove - remove the entry at *pos.
 * ext_dir_empty - whether the directory has no entries except "." and "..": 1, 0 or an error.
 */
int ext_dir_read(struct ext_inode *dir, uint32_t lblk, struct buf **out);
int ext_dir_block(struct ext_inode *dir, uint32_t lblk, struct buf **out);
int ext_dir_append(struct handle *h, struct ext_inode *dir, struct buf **out, uint32_t *lblk);
int ext_dir_find(struct ext_inode *dir, const char *name, size_t len, struct dirpos *pos);
int ext_dir_add(struct handle *h, struct ext_inode *dir, const char *name, size_t len, uint32_t ino,
                enum vtype type);
void ext_dir_remove(struct handle *h, struct ext_inode *dir, struct dirpos *pos);
int ext_dir_empty(struct ext_inode *dir);
/*
 * dirent_at - the entry at byte `off` of a block of entries.  NULL: the end, or a record that does not fit.
 * Each step is checked, because on a damaged disk the block can also be in use for another purpose, and then
 * another thread can change it under another lock.
 */
static inline struct ext_dirent *dirent_at(const struct ext_fs *fs, const uint8_t *data,
                                           uint32_t off)
{
    struct ext_dirent *e = (struct ext_dirent *)(uintptr_t)(data + off);

    if (off > fs->bsize - 12 || e->rec_len < 12 || e->rec_len > fs->bsize - off ||
        e->rec_len % 4 != 0 || (e->name_len + 8u > e->rec_len && e->ino != 0))
        return NULL;
    return e;
}
/*
 * dirblock_ok - whether block `lblk` of the directory is a chain of valid entries; block 0 begins with "."
 *               and "..".
 * dirblock_dotdot - the entry ".." in the first block of a directory; NULL: the block has no such entry.
 * dirblock_find - the entry of a name in one block, and *prev as in struct dirpos; NULL: not there.
 * dirblock_add - add an entry to one block; false: the block has no space.
 */
bool dirblock_ok(struct ext_fs *fs, struct ext_inode *dir, const struct buf *b, uint32_t lblk);
struct ext_dirent *dirblock_dotdot(struct ext_fs *fs, const struct buf *b);
struct ext_dirent *dirblock_find(struct ext_fs *fs, struct buf *b, const char *name, size_t len,
                                 struct ext_dirent **prev);
bool dirblock_add(struct handle *h, struct ext_inode *dir, struct buf *b, const char *name,
                  size_t len, uint32_t ino, enum vtype type);
/*
 * htree_find, htree_add - like ext_dir_find and ext_dir_add, with the index; 1: this code cannot use the index.
 * htree_make - give a directory of one block an index.  -ENOSPC -EUCLEAN -EIO -ENOMEM.
 */
int htree_find(struct ext_inode *dir, const char *name, size_t len, struct dirpos *pos);
int htree_add(struct handle *h, struct ext_inode *dir, const char *name, size_t len, uint32_t ino,
              enum vtype type);
int htree_make(struct handle *h, struct ext_inode *dir);
/*
 * htree_readdir - ext_readdir in the order of hashes, for a directory that has an index or only one block.
 *                 1: this code cannot use the index.  The position of "." is 0, and of ".." 1.  The position
 *                 of any other name is 2 + 2^32 * (hash / 2) + minor hash.  So a name keeps its position when
 *                 blocks are split and when the directory gets an index.
 * ext_hash - the hash of a name, by which the index is ordered.  *minor, if not NULL, gets a second hash,
 *            which is not stored on the disk.
 */
int htree_readdir(struct ext_inode *dir, uint64_t off, dirent_fn fn, void *arg);
uint32_t ext_hash(const struct ext_super *sb, unsigned version, const char *name, size_t len,
                  uint32_t *minor);
enum { DIR_ADD_CREDITS_BASE = 10 };

/* The bodies of vnode operations; vnode.h describes them and the locks that the caller holds. */
int ext_lookup(struct ext_inode *dir, const char *name, size_t len, struct ext_inode **out);
int ext_create(struct ext_inode *dir, const char *name, size_t len, enum vtype type, uint32_t mode,
               uint32_t uid, uint32_t gid, uint64_t rdev, const char *target,
               struct ext_inode **out);
int ext_link(struct ext_inode *dir, const char *name, size_t len, struct ext_inode *i);
int ext_unlink(struct ext_inode *dir, const char *name, size_t len, struct ext_inode *victim);
int ext_rename(struct ext_inode *od, const char *on, size_t ol, struct ext_inode *nd,
               const char *nn, size_t nl, struct ext_inode *moved, struct ext_inode *replaced);
/*
 * ext_readdir - call fn() for the entries from position `off` on, until fn() returns non-zero.  A name that
 *               exists all the time is passed exactly once, even if other names are added or removed between
 *               two calls.
 * ext_dir_scan - like ext_readdir(), in the order of the blocks; the position of a name can change.
 * ext_dirent_vtype - the type of the file of an entry; reads the inode if the entry does not have the type.
 * ext_readdir() and ext_dir_scan() return 0, -EUCLEAN -EIO -ENOMEM.
 */
int ext_readdir(struct ext_inode *dir, uint64_t off, dirent_fn fn, void *arg);
int ext_dir_scan(struct ext_inode *dir, uint64_t off, dirent_fn fn, void *arg);
enum vtype ext_dirent_vtype(struct ext_fs *fs, const struct ext_dirent *e);
int ext_readlink(struct ext_inode *i, char *buf, size_t size);
int ext_parent(struct ext_inode *i, struct ext_inode **parent, char *buf, size_t size);

#endif
