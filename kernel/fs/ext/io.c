// SPDX-License-Identifier: MIT
/*
 * io.c - moving many blocks at a time between memory and the disk.
 *
 * THEORY      A commit or a checkpoint writes tens to thousands of blocks.  Consecutive blocks of the disk
 *             become one request.  All requests are submitted before the caller sleeps until the last one has
 *             ended.
 * LOCKING     iowait.lock (RANK_BUF) guards the number of requests that have not ended.
 * SEE ALSO    commit.c, blk/blk.h
 */
#include "fs/ext/ext.h"

#include "lib/string.h"
#include "mem/kmem.h"

/* What the caller of ext_io() waits for. */
struct iowait {
    struct spinlock lock;
    struct cv cv;
    unsigned pending; /* requests that have not ended */
    int error;        /* error of a request; 0: no request has failed */
};

struct ioreq {
    struct blk_req r;
    struct blk_vec vec[BLK_MAX_VECS];
};

static void ext_io_request_done(struct blk_req *r)
{
    struct iowait *w = r->arg;
    int err = r->error;

    kmem_free(container_of(r, struct ioreq, r));
    spin_lock(&w->lock);
    if (err != 0)
        w->error = err;
    if (--w->pending == 0)
        cv_broadcast(&w->cv);
    spin_unlock(&w->lock);
}

void *ext_block_alloc(struct ext_fs *fs)
{
    struct page *pg;

    if (fs->bsize < PAGE_SIZE)
        return kmem_cache_alloc(fs->buf_cache);
    pg = page_alloc(this_cpu()->node, 0, ALLOC_NEAR);
    return pg == NULL ? NULL : page_to_virt(pg);
}

void ext_block_free(struct ext_fs *fs, void *p)
{
    if (p == NULL)
        return;
    if (fs->bsize < PAGE_SIZE)
        kmem_cache_free(fs->buf_cache, p);
    else
        page_free(virt_to_page(p));
}

bool ext_make_room(struct ext_fs *fs, struct mem_need *need)
{
    return bufs_shrink(fs) || mem_wait(need) == MEM_FREED;
}

void *ext_alloc(struct ext_fs *fs, size_t size)
{
    struct mem_need need = mem_need();
    void *p;

    do
        p = kmem_zalloc(size);
    while (unlikely(p == NULL) && ext_make_room(fs, &need));
    return p;
}

int ext_io_one(struct ext_fs *fs, enum blk_op op, uint32_t block, void *data)
{
    bool was = blk_use_kernel_pri(true);
    int err = blk_rw(fs->disk, op, (uint64_t)block * fs->spb, data, fs->bsize);

    blk_use_kernel_pri(was);
    return err;
}

/* The number of blocks from v[0] on, at most n, that are consecutive on the disk and fit into one request. */
static size_t count_request_blocks(const struct ioblock *v, size_t n)
{
    size_t k = 1;

    while (k < n && k < BLK_MAX_VECS && v[k].block == v[k - 1].block + 1)
        k++;
    return k;
}

static void submit_block_run(struct ext_fs *fs, enum blk_op op, const struct ioblock *v, size_t n,
                             struct iowait *w, struct ioreq *q)
{
    memset(&q->r, 0, sizeof q->r);
    for (size_t i = 0; i < n; i++)
        q->vec[i] = (struct blk_vec){virt_to_page(v[i].data),
                                     (uint32_t)((uintptr_t)v[i].data & (PAGE_SIZE - 1)), fs->bsize};
    q->r.disk = fs->disk;
    q->r.op = (uint8_t)op;
    q->r.sync = true;
    q->r.sector = (uint64_t)v[0].block * fs->spb;
    q->r.nsect = (uint32_t)n * fs->spb;
    q->r.nvecs = (unsigned)n;
    q->r.vec = q->vec;
    q->r.done = ext_io_request_done;
    q->r.arg = w;
    list_init(&q->r.link);
    spin_lock(&w->lock);
    w->pending++;
    spin_unlock(&w->lock);
    blk_submit(&q->r);
}

int ext_io(struct ext_fs *fs, enum blk_op op, struct ioblock *v, size_t n)
{
    struct iowait w = {.pending = 0, .error = 0};

    spin_init(&w.lock, RANK_BUF);
    cv_init(&w.cv);
    for (size_t i = 0, k; i < n; i += k) {
        struct ioreq *q = kmem_alloc(sizeof *q);

        if (q != NULL) {
            k = count_request_blocks(v + i, n - i);
            submit_block_run(fs, op, v + i, k, &w, q);
        } else { /* no memory for a request: move one block and wait */
            int err = ext_io_one(fs, op, v[i].block, v[i].data);

            k = 1;
            spin_lock(&w.lock);
            if (err != 0)
                w.error = err;
            spin_unlock(&w.lock);
        }
    }
    spin_lock(&w.lock);
    while (w.pending != 0)
        cv_wait_disk(&w.cv, &w.lock, "disk");
    spin_unlock(&w.lock);
    return w.error;
}

/* A step of heap sort.  Heap sort works in place, without recursion, and is never quadratic. */
static void sift_down_ioblock(struct ioblock *v, size_t i, size_t n)
{
    for (size_t c; (c = 2 * i + 1) < n; i = c) {
        struct ioblock t;

        if (c + 1 < n && v[c + 1].block > v[c].block)
            c++;
        if (v[i].block >= v[c].block)
            return;
        t = v[i];
        v[i] = v[c];
        v[c] = t;
    }
}

void ext_io_sort(struct ioblock *v, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down_ioblock(v, i, n);
    while (n > 1) {
        struct ioblock t = v[0];

        v[0] = v[--n];
        v[n] = t;
        sift_down_ioblock(v, 0, n);
    }
}
