// SPDX-License-Identifier: MIT
/*
 * driver.c - the lab "journal": a disk in memory, and the journal on it, for the grader.
 *
 * The grader writes the blocks of a disk, has its journal replayed or a transaction committed, and reads the
 * blocks back.
 * The file system and the journal are only the fields that this uses, filled in as jnl_load() does it.
 */
#include "fs/ext/journal.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "labs/sandbox.h"
#include "mem/kmem.h"
#include "stat/panic.h"

/* The part beyond; NULL if the student has not written it. */
__attribute__((weak)) int write_log_with_checksum(struct journal *j, struct txn *t, size_t n);

enum { DISK_BYTES = 64 << 20, HEAP_BYTES = 64 << 20, PIECES_MAX = 8, ALL = 1 << 30 };

static struct disk disk = {.fail_after = -1};
static struct ext_fs fs;
static struct journal j;
static struct extent map[PIECES_MAX];
static _Alignas(8) uint8_t super[4096];
static struct ext_super fs_super; /* for the error mark after a failed commit */

/* The bytes of n blocks of the disk; panics if it has not so many. */
static uint8_t *blocks_at(uint64_t block, uint64_t n)
{
    uint64_t has = disk.sectors / fs.spb;

    if (block > has || n > has - block)
        panic("the disk has no block %llu", (unsigned long long)block);
    return disk.mem + block * fs.bsize;
}

/*
 * disk: bytes of a block, blocks of the file system, its first block; then first block and length of each piece of the
 * journal.  All blocks are zero.  Of a large file system the disk has only the first DISK_BYTES.
 */
static void make_disk(const uint64_t *arg, size_t n)
{
    memset(disk.mem, 0, disk.sectors * SECTOR_SIZE);
    disk.sectors = min_of(arg[0] * arg[1], (uint64_t)DISK_BYTES) / SECTOR_SIZE;
    bufs_destroy(&fs);
    memset(&fs, 0, sizeof fs);
    fs.disk = &disk;
    fs.bsize = (uint32_t)arg[0];
    fs.bshift = (uint32_t)__builtin_ctz(fs.bsize);
    fs.spb = fs.bsize / SECTOR_SIZE;
    fs.blocks = (uint32_t)arg[1];
    fs.first_block = (uint32_t)arg[2];
    fs.sb = &fs_super;
    if (bufs_init(&fs) != 0)
        panic("no memory for the buffers");
    fs.journalled = true;
    memset(&j, 0, sizeof j);
    j.map = map;
    for (size_t i = 3; i + 1 < n && j.nmap < PIECES_MAX; i += 2)
        map[j.nmap++] = (struct extent){(uint32_t)arg[i], (uint32_t)arg[i + 1]};
}

/* write: a block, and its bytes as numbers of 8 bytes */
static void write_block(const uint64_t *arg, size_t n)
{
    memcpy(blocks_at(arg[0], 1), arg + 1, fs.bsize);
}

/* read: the first block, and how many.  Answers their bytes as numbers of 8 bytes. */
static void read_blocks(const uint64_t *arg, size_t n)
{
    const uint64_t *v = (const uint64_t *)blocks_at(arg[0], arg[1]);

    for (uint64_t i = 0; i < arg[1] * fs.bsize / 8; i++)
        sandbox_answer(v[i]);
}

/* The journal of the disk, as jnl_load() leaves it. */
static void load_journal(void)
{
    const struct jbd_super *s = (const struct jbd_super *)super;

    memcpy(super, blocks_at(map[0].start, 1), fs.bsize);
    j.fs = &fs;
    j.log = true;
    j.next_tid = 2;
    j.committed = 1;
    mutex_init(&j.lock, SLEEP_JOURNAL);
    mutex_init(&j.super_lock, SLEEP_JOURNAL_SUPER);
    list_init(&j.done);
    j.super = super;
    j.maxlen = be32(s->maxlen);
    j.first = be32(s->first);
    j.seq = be32(s->sequence);
    fs.jnl = &j;
}

/* From now on `good_io` reads and writes succeed, and no more; 0: all succeed.  Writes and flushes are recorded. */
static void record_writes(uint64_t good_io)
{
    disk.record = true;
    disk.fail_after = good_io != 0 ? (long)good_io : -1;
}

/* Answers, for each write to the disk, its block plus 1, and 0 for each flush. */
static void answer_writes(void)
{
    for (size_t i = 0; i < disk.nlog; i++) {
        sandbox_answer(disk.log[i].n != 0 ? disk.log[i].sector / fs.spb + 1 : 0);
        free(disk.log[i].data);
    }
    disk.nlog = 0;
    disk.record = false;
    disk.fail_after = -1;
    disk.fail_flush = 0;
    disk.nbad = 0;
}

/* fail_flush: which flush of the next operation fails, from 1 on. */
static void fail_flush(const uint64_t *arg, size_t n)
{
    disk.fail_flush = (unsigned)arg[0];
}

/* bad_block: which block cannot be read or written in the next operation. */
static void bad_block(const uint64_t *arg, size_t n)
{
    disk.bad = arg[0] * fs.spb;
    disk.nbad = fs.spb;
}

/*
 * recover: reads and writes that succeed, of allocations one in how many fails; 0: all succeed.
 * Answers the error, the transactions that were replayed (twice: *replayed, n_replayed), the number of the next
 * transaction, whether there is a reason, the pieces of memory that were not freed; then the writes.
 */
static void recover(const uint64_t *arg, size_t n)
{
    unsigned replayed = ~0u;
    long memory = host_kmem;
    int err;

    load_journal();
    fs.n_replayed = 0;
    fs.reason[0] = 0;
    record_writes(arg[0]);
    host_allocs = 0;
    host_alloc_fails = (unsigned)arg[1];
    err = jnl_recover(&fs, &replayed);
    host_alloc_fails = 0;
    sandbox_answer((uint64_t)-err);
    sandbox_answer(replayed);
    sandbox_answer(fs.n_replayed);
    sandbox_answer(j.seq);
    sandbox_answer(fs.reason[0] != 0);
    sandbox_answer((uint64_t)(host_kmem - memory));
    answer_writes();
}

/* open: the first block of the log to write.  Answers the error. */
static void open_journal(const uint64_t *arg, size_t n)
{
    int err;

    load_journal();
    err = jnl_open(&fs);
    j.head = j.tail = (uint32_t)arg[0];
    sandbox_answer((uint64_t)-err);
}

/* change: a block, and its new bytes as numbers of 8 bytes.  Answers the error. */
static void change_block(const uint64_t *arg, size_t n)
{
    struct handle h;
    struct buf *b;
    int err = jnl_start(&fs, 1, &h);

    if (err == 0) {
        err = buf_read(&fs, (uint32_t)arg[0], &b);
        if (err == 0) {
            jnl_access(&h, b);
            memcpy(b->data, arg + 1, fs.bsize);
            buf_put(b);
        }
        jnl_stop(&h);
    }
    sandbox_answer((uint64_t)-err);
}

/* forget: blocks, which are freed.  Answers the last error. */
static void forget_blocks(const uint64_t *arg, size_t n)
{
    int err = 0;

    for (size_t i = 0; i < n && err == 0; i++) {
        struct handle h;

        err = jnl_start(&fs, 1, &h);
        if (err != 0)
            break;
        err = jnl_reserve_revokes(&h);
        if (err == 0)
            jnl_forget(&h, (uint32_t)arg[i]);
        jnl_stop(&h);
    }
    sandbox_answer((uint64_t)-err);
}

/* unrevoke: the running transaction has no blocks to revoke. */
static void drop_revoked_blocks(const uint64_t *arg, size_t n)
{
    j.running->nrevoked = 0;
}

/* Begins a transaction if none runs, which then has nothing to log. */
static void begin_transaction(void)
{
    struct handle h;

    if (jnl_start(&fs, 1, &h) == 0)
        jnl_stop(&h);
}

/* commit: reads and writes that succeed; 0: all.  Answers the error, the next block of the log, and the writes. */
static void commit(const uint64_t *arg, size_t n)
{
    begin_transaction();
    record_writes(arg[0]);
    sandbox_answer((uint64_t)-jnl_commit_all(&fs));
    sandbox_answer(j.head);
    answer_writes();
}

/* checkpoint: answers the error, and the writes. */
static void checkpoint(const uint64_t *arg, size_t n)
{
    record_writes(0);
    sandbox_answer((uint64_t)-jnl_checkpoint(&j));
    answer_writes();
}

/*
 * checksummed: reads and writes that succeed; 0: all.  The part beyond commits.  Answers the error, the next block of
 * the log, the number of the next transaction, and the writes; nothing if the part is not written.
 */
static void commit_checksummed(const uint64_t *arg, size_t n)
{
    struct buf *b;
    size_t nbufs = 0;
    int err;

    if (write_log_with_checksum == NULL)
        return;
    begin_transaction();
    LIST_FOREACH (b, &j.running->bufs, link) {
        uint8_t *data = (b->flags & BUF_FREED) != 0 ? NULL : ext_block_alloc(&fs);

        if (data != NULL)
            memcpy(data, b->data, fs.bsize);
        j.ents[nbufs++] = (struct ioblock){0, data, b};
    }
    record_writes(arg[0]);
    err = write_log_with_checksum(&j, j.running, nbufs);
    sandbox_answer((uint64_t)-err);
    sandbox_answer(j.head);
    sandbox_answer(j.seq);
    answer_writes();
}

void sandbox_prepare(void)
{
    void *heap;

    disk.mem = mmap(NULL, DISK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (disk.mem == MAP_FAILED)
        panic("no memory for the disk");
    host_quiet = true;
    /* the heap gets its memory now, and keeps it: it can make no system calls later */
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, ALL);
    heap = malloc(HEAP_BYTES);
    if (heap == NULL)
        panic("no memory for the heap");
    free(heap);
}

const struct sandbox_op sandbox_ops[] = {
    {"disk", make_disk},
    {"write", write_block},
    {"read", read_blocks},
    {"fail_flush", fail_flush},
    {"bad_block", bad_block},
    {"recover", recover},
    {"open", open_journal},
    {"change", change_block},
    {"forget", forget_blocks},
    {"unrevoke", drop_revoked_blocks},
    {"commit", commit},
    {"checkpoint", checkpoint},
    {"checksummed", commit_checksummed},
    {NULL, NULL},
};
