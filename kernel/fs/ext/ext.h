// SPDX-License-Identifier: MIT
/*
 * ext.h - the journalled file system, as its own files know it.
 *
 * THEORY      Layers, from the disk up:
 *               buf.c      blocks of metadata in memory
 *               journal.c  transactions over them; commit.c writes them down, recover.c reads them after a crash
 *               balloc.c, ialloc.c, bmap.c, inode.c, icache.c, orphan.c, dir.c, htree.c, namei.c  what the blocks mean
 *               super.c    mounting, features, errors
 *               vnops.c, pages.c  the kernel's side: vnodes, the page cache, the thread that commits
 *             All but the last line is plain code over blk.h, and is built and tested as a host program too.
 *             A change of metadata is made in a handle (journal.h): jnl_access() first, then the bytes.
 * INVARIANTS  I1  a block number read from the disk is checked (ext_block_ok) before it is used
 *             I2  a buffer's bytes change only in an open handle, after jnl_access()
 *             I3  no free bit is handed out again before the transaction that freed it is on the disk
 *             I4  a file's blocks never lie beyond its size on the disk, unless it is on the orphan list
 * LOCKING     vn->lock -> handle -> inode map_lock -> group lock -> journal lock -> spin locks (RANK_BUF).
 *             Nothing waits for a new handle while it holds a map_lock or a group lock: a commit may need them.
 *             Whoever needs memory may wait for it with any of these held but the spin locks: the pageout daemon takes
 *             a map_lock only if it is free, and none of the others.
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
    BUF_UPTODATE = 1,
    BUF_CHECKED = 2 /* directory block: its entries are well formed */,
    BUF_REFERENCED = 4,
    BUF_FREED = 8 /* in the transaction as freed: not to be written */,
    BUF_COMMITTING = 16 /* the transaction that is being written holds it */,
    BUF_NEW = 32 /* the transaction that holds it allocated it: the log has nothing of it since */
};

/* Lock key: [h] hash bucket's lock  [j] journal lock  [a] atomic  [c] constant */
struct buf {
    struct buf *hnext;      /* [h] */
    uint32_t block;         /* [c] */
    _Atomic uint32_t refs;  /* [a] grows from 0 only under [h] */
    _Atomic uint32_t flags; /* [a] BUF_* */
    uint8_t *data;          /* [c] one block */
    struct txn *txn;        /* [j] the running transaction that has changed it, or NULL */
    struct list link;       /* [j] txn->bufs */
    struct txn
        *ckpt; /* [j] the last committed transaction that holds it, while it is not in its place */
    struct list clink; /* [j] ckpt->ckpts */
    struct list all;   /* fs->bufs, under fs->buf_lock */
};

/*
 * buf_read - the block, with a reference.  -EIO -ENOMEM.  buf_new - the block zeroed, for a use that is new: not read.
 * buf_cached - only if it is in memory, else NULL.  buf_put - give the reference back.
 * buf_hold - one more reference, by who has one; buf_keep - by the journal, for a buffer that a transaction or a
 * checkpoint holds, and may be about to let go.
 * bufs_shrink - free some that nobody needs; whether there were any.
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
void bufs_destroy(struct ext_fs *fs); /* drops all; nobody uses one */

/* One block to move, for ext_io(): sorted by `block`, neighbours become one request. */
struct ioblock {
    uint32_t block;
    void *data;
    struct buf *b; /* the caller's */
};
/* ext_io - read or write all of v[n] and wait.  0 or -EIO -ENOMEM. */
int ext_io(struct ext_fs *fs, enum blk_op op, struct ioblock *v, size_t n);
int ext_io_one(struct ext_fs *fs, enum blk_op op, uint32_t block, void *data);
void ext_io_sort(struct ioblock *v, size_t n);
/*
 * ext_block_alloc - memory for one block, aligned to its size.  ext_block_free: NULL is allowed.
 * ext_alloc - zeroed memory, which kmem_free takes.  When there is none, buffers are given up, and then it waits.  NULL
 *             only to the pageout daemon, and when waiting has been in vain.
 * ext_make_room - an allocation has failed so many times: whether to try again, likewise.
 */
void *ext_block_alloc(struct ext_fs *fs);
void *ext_alloc(struct ext_fs *fs, size_t size);
bool ext_make_room(struct ext_fs *fs, unsigned tries);
void ext_block_free(struct ext_fs *fs, void *p);

/* ---- the journal (journal.c, commit.c, recover.c) ---- */
struct extent {
    uint32_t start, len;
};

struct handle {
    struct ext_fs *fs;
    struct txn *txn;
    int credits;      /* buffers that it may still add to the transaction */
    unsigned revokes; /* blocks of metadata that it may still free; at first as many as credits */
};

/*
 * jnl_start - open a handle that will change at most `credits` blocks.  Waits for a commit when the transaction or the
 *             log is full.  -EROFS: the file system has become read-only.
 * jnl_stop - close it.  jnl_restart - close and open, so that a long change becomes several transactions.
 * jnl_access - the bytes of b are about to change.  If it has been a directory's block (on a damaged disk), it will be
 *              checked again.  jnl_access_entries - the same for a change after which it is still a chain of entries.
 * jnl_forget - metadata block `block` was freed: it is not written any more, and a replay leaves it alone.
 * jnl_order - bytes lo .. hi-1 of i reach the disk before the transaction does, and all that lies between them and
 *             those of earlier calls.  jnl_settle - returns when no commit under way needs i's pages any more: what
 *             the running transaction does not show may be thrown away.  Without an open handle.
 *             jnl_unorder - the same, and the running one forgets i, which goes away.
 * jnl_freed - blocks were freed: not to be used again until the transaction is on the disk.  -ENOMEM.
 * jnl_commit - transaction `tid` and all before are on the disk when it returns.  0 -EIO.
 * jnl_tid_of - the last transaction that holds a change of b.
 * jnl_sync - and so is all that was written before the call: a flush, if no commit came after it.
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
int jnl_forget(struct handle *h, uint32_t block);
void jnl_order(struct handle *h, struct ext_inode *i, uint64_t lo, uint64_t hi);
void jnl_settle(struct ext_inode *i);
void jnl_unorder(struct ext_inode *i);
int jnl_freed(struct handle *h, uint32_t start, uint32_t len);
uint32_t jnl_tid(const struct handle *h);
uint32_t jnl_tid_of(struct ext_fs *fs, const struct buf *b);
int jnl_commit(struct ext_fs *fs, uint32_t tid);
int jnl_sync(struct ext_fs *fs, uint32_t tid);
int jnl_commit_all(struct ext_fs *fs);
bool jnl_committed(struct ext_fs *fs, uint32_t tid);

/*
 * jnl_load - read the journal's superblock and find its blocks; jnl_recover - replay what it holds (*replayed:
 * transactions); jnl_open - make it ready for handles (without a journal: transactions are written in place);
 * jnl_close - everything into its place, the journal empty; jnl_free - its memory.  -EUCLEAN -EIO -ENOMEM -EOPNOTSUPP.
 * jnl_note_error - the journal's superblock on the disk says, or says no longer, that the file system has an error: a
 *             replay may bring back a superblock of the file system from before the error was noted there.  0 -EIO.
 *             Takes super_lock.  jnl_has_error - whether it says so; nothing without a journal.
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
/* Lock key: [g] the group's lock  [c] constant */
struct ext_group {
    struct mutex lock;
    uint32_t block_hint, inode_hint;   /* [g] no free bit lies before it      */
    uint32_t npending;                 /* [g] bits set in `pending`             */
    uint8_t *pending;                  /* [g] freed, not yet on the disk (I3); NULL: none ever */
    bool block_checked, inode_checked; /* [g] the bitmaps have been validated */
};

/* Bytes lo .. hi-1 of a file; hi 0: none. */
struct ext_bytes {
    uint64_t lo, hi;
};

/* What the core asks of the kernel's side. */
struct ext_up {
    const struct vnodeops *ops;
    const struct pager_ops *pager;
    /* Write dirty pages; with `wait`, and wait for them.  0 or -EIO. */
    int (*write_data)(struct ext_inode *i, struct ext_bytes b, bool wait);
    void (*drop_pages)(struct ext_inode *i, uint64_t size); /* pages beyond `size` bytes go */
    bool (*may_evict)(struct ext_inode *i);                 /* no dirty pages, no I/O */
    bool (*privileged)(void);                               /* may use the reserved blocks */
    bool (*make_room)(unsigned tries); /* no memory: wait for some; whether to try again */
};

#define ICACHE_PARTS 16
struct icache_part {
    struct mutex lock;
    struct ext_inode **hash;
    uint32_t count;
    struct list clock; /* hand at its front */
};

struct ext_fs {
    struct disk *disk;
    struct vfs *vfs;
    char name[32];
    const struct ext_up *up;

    /* [c] from the superblock */
    uint32_t bsize, bshift, spb; /* bytes, log2, sectors of 512 bytes  */
    uint32_t blocks, first_block, bpg, ipg, inodes, ngroups, isize, ipb, first_ino, table_blocks;
    uint32_t apb, apb_shift; /* block numbers in a block           */
    uint32_t gdt_blocks, reserved_gdt;
    bool journalled, index_dirs, filetype, unsigned_hash;
    uint8_t errors;      /* EXT_ERRORS_*                       */
    _Atomic bool rdonly; /* no change may be made              */
    _Atomic bool failed; /* an error was found                 */
    bool leaving;        /* being unmounted, and nobody uses it */
    char reason[160];    /* why the mount was refused          */

    struct buf *sb_buf;
    struct ext_super *sb; /* in sb_buf                          */
    struct buf **gdt;     /* pinned                             */
    struct ext_group *groups;
    _Atomic int64_t free_blocks, free_inodes, ndirs;
    _Atomic uint32_t next_generation;

    struct journal *jnl;
    struct mutex orphan_lock;
    struct list orphans;        /* under orphan_lock: last added first */
    struct spinlock dirty_lock; /* RANK_BUF */
    struct list dirty;          /* under dirty_lock: inodes changed in memory only, oldest first */
    _Atomic uint32_t ndirty;    /* how many; changed under dirty_lock */

    struct buf **buf_hash;
    struct spinlock *buf_hash_lock;
    struct mutex *buf_read_lock; /* BUF_LOCKS of each                  */
    uint32_t buf_mask;
    struct spinlock buf_lock; /* RANK_BUF: list of all              */
    struct list bufs;
    _Atomic uint32_t nbufs;
    uint32_t max_bufs;
    void *buf_cache; /* kmem cache of blocks               */

    struct icache_part part[ICACHE_PARTS];
    uint32_t max_inodes;       /* per part                           */
    void *thread;              /* the kernel side's                  */
    _Atomic uint32_t nrefused; /* writes of pages that failed so far */
    _Atomic uint64_t n_commits, n_revokes, n_checkpoints, n_replayed, n_buf_reads, n_ordered;
};

static inline struct ext_gdesc *ext_gdesc(struct ext_fs *fs, uint32_t g, struct buf **b)
{
    uint32_t per = fs->bsize / 32;

    *b = fs->gdt[g / per];
    return (struct ext_gdesc *)(*b)->data + g % per;
}

/* ---- super.c ---- */
/*
 * ext_mount - read and check the file system on `disk`, replay its journal, end what the orphans need.
 * @rdonly  no change is made, but for the replay
 * 0 and *out; else an error, and `reason` (size bytes) says what is wrong: -EINVAL (not this format), -EUCLEAN,
 * -EOPNOTSUPP (feature), -EROFS (the disk cannot be written, and there is a journal to replay), -EIO -ENOMEM.
 */
int ext_mount(struct disk *disk, const char *name, bool rdonly, struct vfs *vfs,
              const struct ext_up *up, struct ext_fs **out, char *reason, size_t size);
/* ext_writable - from read-only to writable.  -EROFS: it must not.  ext_quiesce - all changes to the disk, clean. */
int ext_writable(struct ext_fs *fs);
int ext_quiesce(struct ext_fs *fs);
/* ext_unmount - quiesce and free everything; nobody uses an inode. */
int ext_unmount(struct ext_fs *fs);
int ext_sync(struct ext_fs *fs);
/* ext_note_error - the superblock and the journal's, on the disk, say that there was an error.  Takes super_lock. */
void ext_note_error(struct ext_fs *fs);
/* ext_error - the disk is corrupt: say so, mark it, go read-only (errors=).  Returns -EUCLEAN. */
int ext_error(struct ext_fs *fs, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* ext_block_ok - whether file data or an indirect block may lie in start .. start+n-1. */
bool ext_block_ok(struct ext_fs *fs, uint32_t start, uint32_t n);
bool ext_has_super(struct ext_fs *fs, uint32_t group);
uint32_t ext_group_blocks(struct ext_fs *fs, uint32_t group);

/* ---- balloc.c ---- */
/*
 * ext_balloc - take 1 .. want consecutive blocks near `goal` (0: anywhere in or after `group`); *got tells how many.
 *              -ENOSPC -EIO -EUCLEAN.  Takes the group's lock.
 * ext_bfree - free start .. start+n-1 (data).  ext_bfree_meta - free one block of metadata.
 */
int ext_balloc(struct handle *h, uint32_t group, uint32_t goal, uint32_t want, uint32_t *start,
               uint32_t *got);
int ext_bfree(struct handle *h, uint32_t start, uint32_t n);
int ext_bfree_meta(struct handle *h, uint32_t block);
void ext_release_pending(struct ext_fs *fs, uint32_t start, uint32_t n);

/* ---- ialloc.c ---- */
int ext_ialloc(struct handle *h, struct ext_inode *dir, bool is_dir, uint32_t *ino);
int ext_ifree(struct handle *h, uint32_t ino, bool is_dir);
/* ext_ino_used - whether the bitmap says so; 1, 0 or an error. */
int ext_ino_used(struct ext_fs *fs, uint32_t ino);

/* ---- inode.c, icache.c, orphan.c ---- */
/*
 * An inode's state towards the journal.  "In a handle" means that the running transaction cannot be committed between
 * the store and the handle's end; all open handles are in one transaction.
 *
 * field     written by                         under           when; what it means to others
 * disksize  ext_iwrite, load_inode_fields                table_lock      in a handle: the size that the table now has
 * growing   prepare_chunk; shrink (0)          vn.lock W       in a handle; beyond vn.size only during a write
 * writing   ext_vn_prepare; shrink, trim (0)   vn.lock W       before the page is dirty: its bytes count as the file's
 * cutting   ext_truncate                       vn.lock W       no commit needs the blocks behind it any more, and they
 *                                                              are about to be freed: write-back leaves them alone
 * tid       ext_iwrite, ext_iflush_one, iload  one store       in a handle, before disksize; never goes back in memory
 * dirty     ext_idirty, ext_iundirty           dirty_lock      vn is newer than the table; cleared before ext_iwrite,
 *                                                              after tid: what is clean is in a transaction up to tid
 * orphaned  ext_orphan_add, ext_orphan_del     orphan_lock     in a handle: it is on the list here and on the disk
 * undone    ext_orphan_undone, take_undone_orphan     orphan_lock     only while orphaned; UNDONE_DELETE: refs is 0
 * otxn      jnl_order, write_ordered, unorder  journal.lock    the transaction on whose list it is
 * ordered   as otxn                            journal.lock    hi is 0 exactly if otxn is NULL
 * again     as otxn                            journal.lock    of the next transaction: only while otxn is committing
 *
 * States of otxn: NULL -> running (jnl_order) -> committing (jnl_write) -> NULL, or running if `again` (write_ordered).
 * Pages of bytes in `ordered` may be dropped only when otxn is not committing (jnl_settle) and the running transaction
 * does not show them.  An inode leaves memory (evict) only clean: not dirty, not orphaned, otxn NULL.
 */
/* Lock key: [m] map_lock  [W] vn.lock  [o] orphan_lock  [d] dirty_lock  [j] journal lock  [p] icache part
 *           [t] table_lock: spin lock, RANK_BUF */
struct ext_inode {
    struct vnode vn;     /* first; mode, owner, links, size and times are its        */
    struct object_io io; /* of a regular file's pages                                */
    struct ext_fs *fs;   /* [c]                                                      */
    struct mutex map_lock;
    uint32_t block[15];         /* [m]; a fast link's target                               */
    uint32_t nsectors;          /* [m] of 512 bytes: i_blocks                              */
    struct spinlock table_lock; /* round storing into the table                          */
    uint32_t flags, generation, file_acl, crtime, crtime_extra;
    uint32_t dtime; /* [o] and [t] to change it; orphans: the next one          */
    uint16_t extra_isize;
    uint64_t disksize; /* [t] size on the disk, in the running transaction's view      */
    struct buf *ibuf;  /* [c] its block of the inode table, held                   */
    uint32_t ioff;     /* [c] byte offset there                                    */
    uint32_t map_lblk, map_pblk, map_len; /* [m] the last mapping looked up         */
    uint32_t last_alloc;      /* [m] goal for the next block                            */
    _Atomic uint64_t writing; /* [W] changed; where the write under way ends, if beyond the size */
    _Atomic uint64_t cutting; /* [W] changed; where the file is being cut, or 0 */
    uint64_t growing;         /* [W] size that the write under way will give, or 0       */
    uint32_t parent; /* [W of parent] a directory's: its ".."; else the last dir it was found in */
    _Atomic uint32_t tid; /* last transaction that holds a change of it              */
    struct list orphan;   /* [o]                                                     */
    bool orphaned;        /* [o]                                                     */
    uint8_t undone;       /* [o] UNDONE_*: what has failed, and is tried again at the next commit */
    bool dirty;           /* [d] on fs->dirty                                        */
    struct list dirty_link;          /* [d]                                                    */
    struct txn *otxn;                /* [j] ordered in                                          */
    struct list olink;               /* [j]                                                     */
    struct ext_bytes ordered, again; /* [j] in that transaction, and in the next            */
    struct ext_inode *hnext;         /* [p]                                                     */
    struct list clock;               /* [p]                                                     */
    bool hashed, referenced;         /* [p]                                            */
    uint32_t dir_hint;               /* [W] directory: block where room was found last          */
};
static inline struct ext_inode *ext_i(struct vnode *vn)
{
    return (struct ext_inode *)vn;
}

/*
 * ext_iget - the inode, with a reference.  -EUCLEAN -ESTALE(-ENOENT: it is free) -EIO -ENOMEM.
 * ext_iwrite - its attributes into the table.  Credits: 1.
 * ext_idirty - they changed in memory; the table learns at the next commit.  ext_iundirty - it need not any more.
 * ext_iflush - the table learns of all that have changed until the call, ext_iflush_one - of one.
 * ext_ifree_mem - its memory, when nobody has it.
 * ext_inactive - vnode operation: the last reference is gone; deletes a file without links.
 * ext_iforget - take it out of the cache (no links left).
 */
int ext_iget(struct ext_fs *fs, uint32_t ino, struct ext_inode **out);
void ext_iput(struct ext_inode *i);
bool ext_itryhold(struct ext_inode *i); /* a reference, unless the last one has gone */
void ext_ihash(struct ext_inode *i);
void ext_iforget(struct ext_inode *i);
struct ext_inode *ext_ialloc_mem(struct ext_fs *fs, enum vtype type);
int ext_iload(struct ext_fs *fs, uint32_t ino, struct ext_inode **out); /* past the cache */
int ext_ibuf(struct ext_inode *i);
int64_t ext_time_fits(const struct ext_inode *i,
                      int64_t t); /* the nearest time that the inode has room for */
void ext_iwrite(struct handle *h, struct ext_inode *i);
void ext_idirty(struct ext_inode *i);
void ext_iundirty(struct ext_inode *i);
void ext_ifree_mem(struct ext_inode *i);
int ext_iflush_one(struct ext_inode *i);
int ext_iflush(struct ext_fs *fs);
void ext_inactive(struct vnode *vn);
int icache_init(struct ext_fs *fs);
/* icache_drop - free all inodes but the root; the number in use. */
unsigned icache_drop(struct ext_fs *fs);
void icache_destroy(struct ext_fs *fs);
/*
 * icache_some - hold up to `max` inodes in memory for which want() is true into out[], from *at (at first 0) on; how
 *               many: 0 when there are no more.  Those of out[] must be put, and unwanted, before the next call.
 * icache_count - how many there are for which want() is true.
 */
unsigned icache_some(struct ext_fs *fs, unsigned *at, bool (*want)(struct ext_inode *i),
                     struct ext_inode **out, unsigned max);
unsigned icache_count(struct ext_fs *fs, bool (*want)(struct ext_inode *i));
/* ext_orphan_add - onto the orphan list.  ext_orphan_del - from it; an open file without links stays there. */
int ext_orphan_add(struct handle *h, struct ext_inode *i);
int ext_orphan_del(struct handle *h, struct ext_inode *i);
int ext_orphans_end(struct ext_fs *fs, unsigned *n);
/* ext_orphan_undone - of an orphan, `what` has failed.  ext_orphans_retry - tries all that has; they may fail again. */
enum {
    UNDONE_NOTHING,
    UNDONE_CUT,
    UNDONE_DELETE /* nobody has a reference; it stays in memory for this */
};
void ext_orphan_undone(struct ext_inode *i, uint8_t what);
void ext_orphans_retry(struct ext_fs *fs);
/* ext_orphans_used - whether a file without a name is open, or being deleted. */
bool ext_orphans_used(struct ext_fs *fs);
int ext_delete(struct ext_inode *i);
enum { ORPHAN_CREDITS = 3, DELETE_CREDITS = 8 };
extern const uint8_t ext_dirent_type[]; /* by enum vtype */
enum vtype ext_vtype(uint32_t mode);

/* ---- bmap.c, truncate.c ---- */
/*
 * ext_map - where block `lblk` of the file lies: *pblk (0: a hole), and *n blocks after it likewise (at most `max`).
 *           -EUCLEAN -EIO -ENOMEM -EFBIG.  Takes map_lock.  ext_map_now: -EAGAIN instead of waiting for it.
 * ext_map_alloc - give the blocks lblk .. lblk+n-1 that have none some; each call does as many as lie together.
 *           *pblk, *got; *fresh: they are new, and the caller writes the inode.  Credits: MAP_CREDITS(fs, n).
 * ext_truncate - make the file `size` bytes long, which is no longer than it is: its size here and on the disk, its
 *                pages, its blocks; opens handles of its own.  An error: the size has changed unless it is that of the
 *                first handle (-EROFS -EIO -ENOMEM); blocks beyond it may be left, and it stays on the orphan list.
 */
int ext_map(struct ext_inode *i, uint64_t lblk, uint32_t max, uint32_t *pblk, uint32_t *n);
int ext_map_now(struct ext_inode *i, uint64_t lblk, uint32_t max, uint32_t *pblk, uint32_t *n);
int ext_map_alloc(struct handle *h, struct ext_inode *i, uint64_t lblk, uint32_t n, uint32_t *pblk,
                  uint32_t *got, bool *fresh);
unsigned ext_map_credits(struct ext_fs *fs, uint32_t n);
/*
 * ext_prepare - blocks for bytes off .. off+len-1, in as many handles as it takes; if `grow`, under vn->lock for
 *               writing, with them the size on the disk grows (I4).  fresh(arg, lblk, n) is told of new blocks while
 *               the handle is open: the transaction cannot be committed before it returns.
 * ext_mapped - whether all of them have blocks: 1, 0 or an error.
 */
int ext_prepare(struct ext_inode *i, uint64_t off, uint64_t len, bool grow,
                void (*fresh)(void *arg, uint64_t lblk, uint32_t n), void *arg);
int ext_mapped(struct ext_inode *i, uint64_t off, uint64_t len);
/* ext_trim - a write ended early: back to vn.size. */
int ext_trim(struct ext_inode *i);
int ext_truncate(struct ext_inode *i, uint64_t size);
int ext_free_blocks(struct handle *h, struct ext_inode *i,
                    uint64_t size); /* in a handle, which it may restart */
uint64_t ext_max_size(struct ext_fs *fs);

/* ---- dir.c, htree.c, namei.c ---- */
/* Where an entry is: its block, held, and the record. */
struct dirpos {
    struct buf *b;
    struct ext_dirent *e, *prev; /* prev: the record before it in the block, or NULL */
};
/*
 * ext_dir_read - a block of the directory, checked: with vn->lock, for its entries may change meanwhile.
 * ext_dir_block - the same, not checked.  0, -EUCLEAN -EIO -ENOMEM.
 */
int ext_dir_read(struct ext_inode *dir, uint32_t lblk, struct buf **out);
int ext_dir_block(struct ext_inode *dir, uint32_t lblk, struct buf **out);
int ext_dir_append(struct handle *h, struct ext_inode *dir, struct buf **out, uint32_t *lblk);
int ext_dir_find(struct ext_inode *dir, const char *name, size_t len, struct dirpos *pos);
int ext_dir_add(struct handle *h, struct ext_inode *dir, const char *name, size_t len, uint32_t ino,
                enum vtype type);
void ext_dir_remove(struct handle *h, struct ext_inode *dir, struct dirpos *pos);
int ext_dir_empty(struct ext_inode *dir); /* 1, 0 or an error */
/*
 * dirent_at - the entry at byte `off` of a block of entries.  NULL: the end, or a record that does not fit.  On a
 * damaged disk the block may also be in use as something else, which other locks guard: so each step is checked.
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
bool dirblock_ok(struct ext_fs *fs, struct ext_inode *dir, const struct buf *b, uint32_t lblk);
/* dirblock_dotdot - ".." in a directory's first block; NULL: that has become something else. */
struct ext_dirent *dirblock_dotdot(struct ext_fs *fs, const struct buf *b);
struct ext_dirent *dirblock_find(struct ext_fs *fs, struct buf *b, const char *name, size_t len,
                                 struct ext_dirent **prev);
bool dirblock_add(struct handle *h, struct ext_inode *dir, struct buf *b, const char *name,
                  size_t len, uint32_t ino, enum vtype type);
int htree_find(struct ext_inode *dir, const char *name, size_t len,
               struct dirpos *pos); /* 1: not usable */
int htree_add(struct handle *h, struct ext_inode *dir, const char *name, size_t len, uint32_t ino,
              enum vtype type);
int htree_make(struct handle *h, struct ext_inode *dir);
/*
 * htree_readdir - ext_readdir in the order of hashes, of a directory that has an index or one block.  1: not usable.
 *                 Positions: 0 ".", 1 "..", then 2 + 2^32 * (hash / 2) + the second hash: a name keeps its position
 *                 when blocks are split, and when the first index is made.
 * ext_hash - the hash of a name, by which the index is ordered; *minor, if not NULL: another, which is not on the disk.
 */
int htree_readdir(struct ext_inode *dir, uint64_t off, dirent_fn fn, void *arg);
uint32_t ext_hash(const struct ext_super *sb, unsigned version, const char *name, size_t len,
                  uint32_t *minor);
enum { DIR_ADD_CREDITS_BASE = 10 };

int ext_lookup(struct ext_inode *dir, const char *name, size_t len, struct ext_inode **out);
int ext_create(struct ext_inode *dir, const char *name, size_t len, enum vtype type, uint32_t mode,
               uint32_t uid, uint32_t gid, uint64_t rdev, const char *target,
               struct ext_inode **out);
int ext_link(struct ext_inode *dir, const char *name, size_t len, struct ext_inode *i);
int ext_unlink(struct ext_inode *dir, const char *name, size_t len, struct ext_inode *victim);
int ext_rename(struct ext_inode *od, const char *on, size_t ol, struct ext_inode *nd,
               const char *nn, size_t nl, struct ext_inode *moved, struct ext_inode *replaced);
/*
 * ext_readdir - the entries from position `off` on, until fn() wants no more.  Names that stay are told exactly once,
 *               however many come and go between two calls.  ext_dir_scan - in the order of the blocks, where a name's
 *               position may change.  0, -EUCLEAN -EIO -ENOMEM.
 */
int ext_readdir(struct ext_inode *dir, uint64_t off, dirent_fn fn, void *arg);
int ext_dir_scan(struct ext_inode *dir, uint64_t off, dirent_fn fn, void *arg);
enum vtype ext_dirent_vtype(struct ext_fs *fs, const struct ext_dirent *e);
int ext_readlink(struct ext_inode *i, char *buf, size_t size);
int ext_parent(struct ext_inode *i, struct ext_inode **parent, char *buf, size_t size);

#endif
