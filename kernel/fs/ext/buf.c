// SPDX-License-Identifier: MIT
/*
 * buf.c - the buffer cache: blocks of metadata in memory.
 *
 * THEORY      Metadata blocks are used again and again, so they are kept in memory, in buffers.  A hash table
 *             finds the buffer of a block number.  Each bucket has its own spin lock, so that look-ups of
 *             different blocks do not contend.
 *             When there are too many buffers, some are evicted by the second-chance rule.  A hand goes
 *             around the list of all buffers.  It clears the mark BUF_REFERENCED and frees the buffers that
 *             do not have the mark.  It skips the buffers that a transaction or a checkpoint still needs.  So
 *             the number of buffers can exceed the limit by the number of buffers that the journal pins.
 *             If there is no memory for a new buffer, a thread frees unused buffers before it waits for
 *             memory.
 *             A thread that reads a block holds one of a few sleeping locks, chosen by block number.  So if two
 *             threads need the same block, only one of them reads it.
 * INVARIANTS  I1  a buffer in use is in the hash table and, except while the hand looks at it, on fs->bufs
 *             I2  a thread needs the bucket's lock to increase refs from 0, and to remove a buffer from the
 *                 hash table; a buffer that is removed has refs 0
 *             I3  txn == NULL and ckpt == NULL: the bytes are those on the disk
 * LOCKING     The locks buf_hash_lock[] guard the hash chains, and buf_lock guards the list.  Both
 *             have RANK_BUF, and a thread never holds two of them.
 * TUNABLES    ext_buf_percent: largest share of memory, in percent, for the metadata of one file system
 * SEE ALSO    journal.c
 */
#include "fs/ext/ext.h"

#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/tunable.h"

#define READ_LOCKS 16
#define MIN_BUFS   256
#define MAX_HASH   16384
#define SHRINK     16 /* buffers that bufs_shrink() frees at a time */

static uint32_t ext_buf_percent = 5;
TUNABLE(ext_buf_percent, 1, 50,
        "default 5 %: share of memory for one file system's metadata; read when it is mounted");

static inline uint32_t buf_hash_index(const struct ext_fs *fs, uint32_t block)
{
    return (block * 0x9e3779b1u >> 12) & fs->buf_mask;
}

/* The kmem cache for blocks of 1 or 2 KiB, aligned to their size; NULL: a block is a whole page. */
static void *get_block_cache(uint32_t size)
{
    static struct kmem_cache *cache[2];
    unsigned k = size / 2048;

    if (k < 2 && cache[k] == NULL)
        cache[k] = kmem_cache_create("ext_block", size, size);
    return k < 2 ? cache[k] : NULL;
}

int bufs_init(struct ext_fs *fs)
{
    uint64_t max = mem_total_pages() * ext_buf_percent / 100 * (PAGE_SIZE / fs->bsize);
    uint32_t n = 64;

    fs->buf_cache = get_block_cache(fs->bsize);
    list_init(&fs->bufs);
    spin_init(&fs->buf_lock, RANK_BUF);
    fs->max_bufs = (uint32_t)min_of(max_of(max, (uint64_t)MIN_BUFS), (uint64_t)1 << 24);
    while (n < fs->max_bufs / 2 && n < MAX_HASH)
        n *= 2;
    fs->buf_mask = n - 1;
    fs->buf_hash = kmem_zalloc(n * sizeof *fs->buf_hash);
    fs->buf_hash_lock = kmem_zalloc(n * sizeof *fs->buf_hash_lock);
    fs->buf_read_lock = kmem_zalloc(READ_LOCKS * sizeof *fs->buf_read_lock);
    if (fs->buf_hash == NULL || fs->buf_hash_lock == NULL || fs->buf_read_lock == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        spin_init(&fs->buf_hash_lock[i], RANK_BUF);
    for (uint32_t i = 0; i < READ_LOCKS; i++)
        mutex_init(&fs->buf_read_lock[i], SLEEP_EXT_READ);
    return 0;
}

static void buf_free(struct ext_fs *fs, struct buf *b)
{
    ext_block_free(fs, b->data);
    kmem_free(b);
    atomic_fetch_sub(&fs->nbufs, 1);
}

void bufs_destroy(struct ext_fs *fs)
{
    struct buf *b;

    if (fs->bufs.next != NULL)
        while ((b = list_pop(&fs->bufs, struct buf, all)) != NULL)
            buf_free(fs, b);
    kmem_free(fs->buf_hash);
    kmem_free(fs->buf_hash_lock);
    kmem_free(fs->buf_read_lock);
    fs->buf_hash = NULL;
    fs->buf_hash_lock = NULL;
    fs->buf_read_lock = NULL;
}

void buf_keep(struct ext_fs *fs, struct buf *b)
{
    struct spinlock *l = &fs->buf_hash_lock[buf_hash_index(fs, b->block)];

    spin_lock(l); /* I2: unhash_unused_buf() looks at refs, txn and ckpt, one after the other */
    buf_hold(b);
    spin_unlock(l);
}

/*
 * Takes b out of the hash table if b is unused.  Returns whether b was unused.  While refs is 0 and
 * this thread holds the bucket's lock, txn and ckpt do not change.
 */
static bool unhash_unused_buf(struct ext_fs *fs, struct buf *b)
{
    uint32_t k = buf_hash_index(fs, b->block);
    struct buf **p;
    bool free;

    spin_lock(&fs->buf_hash_lock[k]);
    free = b->refs == 0 && b->txn == NULL && b->ckpt == NULL;
    if (free) {
        for (p = &fs->buf_hash[k]; *p != b; p = &(*p)->hnext)
            ;
        *p = b->hnext;
    }
    spin_unlock(&fs->buf_hash_lock[k]);
    return free;
}

/* One step of the hand: frees the first buffer of the list (returns true), or moves it to the end. */
static bool try_evict_buf(struct ext_fs *fs)
{
    struct buf *b;

    spin_lock(&fs->buf_lock);
    /* taken off the list, so that no other thread frees the buffer */
    b = list_pop(&fs->bufs, struct buf, all);
    spin_unlock(&fs->buf_lock);
    if (b == NULL)
        return false;
    if (!(atomic_fetch_and(&b->flags, ~(uint32_t)BUF_REFERENCED) & BUF_REFERENCED) &&
        unhash_unused_buf(fs, b)) {
        buf_free(fs, b);
        return true;
    }
    spin_lock(&fs->buf_lock);
    list_push_back(&fs->bufs, &b->all);
    spin_unlock(&fs->buf_lock);
    return false;
}

bool bufs_shrink(struct ext_fs *fs)
{
    unsigned freed = 0;

    /* two rounds, because the first round can find BUF_REFERENCED on every buffer */
    for (uint32_t left = 2 * fs->nbufs; left > 0 && freed < SHRINK; left--)
        freed += try_evict_buf(fs);
    return freed != 0;
}

/*
 * The buffer of `block`, with a reference; NULL: the buffer is not in memory.  The caller holds the
 * lock of bucket k.
 */
static struct buf *find_buf_in_bucket(struct ext_fs *fs, uint32_t block, uint32_t k)
{
    struct buf *b;

    for (b = fs->buf_hash[k]; b != NULL && b->block != block; b = b->hnext)
        ;
    if (b != NULL) {
        buf_hold(b);
        if (!(b->flags & BUF_REFERENCED))
            atomic_fetch_or_explicit(&b->flags, BUF_REFERENCED, memory_order_relaxed);
    }
    return b;
}

struct buf *buf_cached(struct ext_fs *fs, uint32_t block)
{
    uint32_t k = buf_hash_index(fs, block);
    struct buf *b;

    spin_lock(&fs->buf_hash_lock[k]);
    b = find_buf_in_bucket(fs, block, k);
    spin_unlock(&fs->buf_hash_lock[k]);
    return b;
}

/* A new buffer that is not in the hash table or a list; NULL: no memory. */
static struct buf *alloc_buf(struct ext_fs *fs)
{
    struct buf *b = ext_alloc(fs, sizeof *b);
    struct mem_need need = mem_need();

    if (b == NULL)
        return NULL;
    do
        b->data = ext_block_alloc(fs);
    while (unlikely(b->data == NULL) && ext_make_room(fs, &need));
    if (b->data == NULL) {
        kmem_free(b);
        return NULL;
    }
    list_init(&b->link);
    list_init(&b->clink);
    return b;
}

/* The buffer of `block`, created if necessary, with a reference; NULL: no memory. */
static struct buf *find_or_alloc_buf(struct ext_fs *fs, uint32_t block)
{
    uint32_t k = buf_hash_index(fs, block);
    struct buf *b = buf_cached(fs, block), *other;

    if (likely(b != NULL))
        return b;
    for (unsigned i = 0; i < 8 && fs->nbufs >= fs->max_bufs; i++)
        try_evict_buf(fs);
    b = alloc_buf(fs);
    if (b == NULL)
        return NULL;
    b->block = block;
    b->refs = 1;
    b->flags = BUF_REFERENCED;
    atomic_fetch_add(&fs->nbufs, 1);
    spin_lock(&fs->buf_hash_lock[k]);
    other = find_buf_in_bucket(fs, block, k);
    if (other == NULL) {
        b->hnext = fs->buf_hash[k];
        fs->buf_hash[k] = b;
    }
    spin_unlock(&fs->buf_hash_lock[k]);
    if (other != NULL) {
        buf_free(fs, b);
        return other;
    }
    spin_lock(&fs->buf_lock);
    list_push_back(&fs->bufs, &b->all);
    spin_unlock(&fs->buf_lock);
    return b;
}

int buf_read(struct ext_fs *fs, uint32_t block, struct buf **out)
{
    struct buf *b = find_or_alloc_buf(fs, block);
    int err = 0;

    *out = NULL;
    if (unlikely(b == NULL))
        return -ENOMEM;
    if (unlikely(!(atomic_load_explicit(&b->flags, memory_order_acquire) & BUF_UPTODATE))) {
        struct mutex *m = &fs->buf_read_lock[block % READ_LOCKS];

        mutex_enter(m);
        if (!(b->flags & BUF_UPTODATE)) {
            err = ext_io_one(fs, BLK_READ, block, b->data);
            fs->n_buf_reads++;
            if (err == 0)
                atomic_fetch_or(&b->flags, BUF_UPTODATE);
        }
        mutex_exit(m);
        if (err != 0) {
            buf_put(b);
            return err;
        }
    }
    *out = b;
    return 0;
}

int buf_new(struct ext_fs *fs, uint32_t block, struct buf **out)
{
    struct buf *b = find_or_alloc_buf(fs, block);
    struct mutex *m = &fs->buf_read_lock[block % READ_LOCKS];

    *out = b;
    if (b == NULL)
        return -ENOMEM;
    mutex_enter(m); /* waits for a thread that reads the old content into the buffer */
    memset(b->data, 0, fs->bsize);
    atomic_fetch_and(&b->flags, ~(uint32_t)BUF_CHECKED);
    atomic_fetch_or(&b->flags, BUF_UPTODATE | BUF_NEW);
    mutex_exit(m);
    return 0;
}
