// SPDX-License-Identifier: MIT
/*
 * commit.c - commits and checkpoints: writing transactions into the log, and their blocks to their places.
 *
 * THEORY      The log is a ring of blocks on the disk.  A transaction is first written into the log (commit).
 *             Some time later its blocks are written to the places where they belong (checkpoint).  Then its
 *             part of the log is free again.
 *             The steps of a commit:
 *               1  let no new handle begin; wait until the open handles end
 *               2  copy every buffer; handles may begin again, in the next transaction
 *               3  write the data of ordered files and wait
 *               4  write revoke records, descriptors and copies into the log; wait; flush the disk
 *               5  write the commit block; flush the disk: now the transaction has happened
 *             A checkpoint writes the committed buffers to their places, except those that the running
 *             transaction has changed.  Then it flushes the disk and moves the log's tail.  If no transaction
 *             is running, it empties the log.
 *             Without a journal, steps 4 and 5 write the copies directly to their places.
 * INVARIANTS  I1  the log's tail moves past a transaction only after each of its buffers has been written to its
 *                 place or with a later transaction, and after the disk was flushed after these writes
 *             I2  blocks of the log behind the tail are not reused before the journal's superblock on the
 *                 disk has the new tail
 * LOCKING     The caller has set `busy`.
 * SEE ALSO    journal.c
 */
#include "fs/ext/journal.h"

#include "disp/timer.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"
#include "stat/trace.h"

uint32_t jnl_log_block(const struct journal *j, uint32_t i)
{
    const struct extent *x = j->map;

    while (i >= x->len) {
        i -= x->len;
        x++;
    }
    return x->start + i;
}

/*
 * The number of blocks that one descriptor describes.  The header and a UUID take the rest of the
 * descriptor's space.
 */
static unsigned tags_in_block(const struct journal *j)
{
    return (j->fs->bsize - (unsigned)sizeof(struct jbd_header) - 16) /
           (unsigned)sizeof(struct jbd_tag);
}

uint32_t jnl_log_need(const struct journal *j, unsigned n)
{
    return n + n / tags_in_block(j) + 2 + REVOKE_BLOCKS;
}

uint32_t jnl_log_free(const struct journal *j)
{
    uint32_t len = j->maxlen - j->first;

    return len - 1 - (j->head + len - j->tail) % len;
}

/* Writes the journal's superblock, between two flushes.  The caller holds super_lock. */
static int write_jnl_super_locked(struct journal *j)
{
    int err = blk_flush(j->fs->disk);

    if (err == 0)
        err = ext_io_one(j->fs, BLK_WRITE, jnl_log_block(j, 0), j->super);
    return err != 0 ? err : blk_flush(j->fs->disk);
}

int jnl_write_super(struct journal *j, uint32_t start, uint32_t seq)
{
    struct jbd_super *s = (struct jbd_super *)j->super;
    int err;

    mutex_enter(&j->super_lock);
    s->start = be32(start);
    s->sequence = be32(seq);
    err = write_jnl_super_locked(j);
    mutex_exit(&j->super_lock);
    return err;
}

int jnl_note_error(struct ext_fs *fs, bool failed)
{
    struct journal *j = fs->jnl;
    struct jbd_super *s;
    int err = 0;

    if (j == NULL || j->super == NULL) /* no journal, or the error is in the journal's inode */
        return 0;
    mutex_enter(&j->super_lock);
    s = (struct jbd_super *)j->super;
    if ((s->err != 0) != failed) {
        s->err = failed ? (int32_t)be32((uint32_t)-EIO) : 0;
        err = write_jnl_super_locked(j);
    }
    mutex_exit(&j->super_lock);
    return err;
}

/* ---- writing one transaction --------------------------------------------------------------------- */

/* The blocks for the log that have been laid out so far, in j->out. */
struct layout {
    struct journal *j;
    size_t nout;     /* blocks in j->out */
    unsigned nspare; /* blocks of j->spare in use */
    uint32_t seq;
};

/* Makes `data` the content of the next block of the log. */
static void append_log_block(struct layout *l, void *data)
{
    struct journal *j = l->j;

    j->out[l->nout++] = (struct ioblock){jnl_log_block(j, j->head), data, NULL};
    if (++j->head == j->maxlen)
        j->head = j->first;
}

/* Adds and returns a block of the journal's own (descriptor, revoke record, commit): a header and zeros. */
static uint8_t *append_control_block(struct layout *l, uint32_t type)
{
    struct journal *j = l->j;
    uint8_t *p = j->spare + (size_t)l->nspare++ * j->fs->bsize;

    ASSERT(l->nspare <= j->nspare, "I1");
    memset(p, 0, j->fs->bsize);
    *(struct jbd_header *)p = (struct jbd_header){be32(JBD_MAGIC), be32(type), be32(l->seq)};
    append_log_block(l, p);
    return p;
}

/* LAB journal-commit: begin */
static void append_revoke_records(struct layout *l, const struct txn *t)
{
    unsigned per = (l->j->fs->bsize - (unsigned)sizeof(struct jbd_revoke)) / 4;

    for (unsigned i = 0; i < t->nrevoked;) {
        struct jbd_revoke *r = (struct jbd_revoke *)append_control_block(l, JBD_REVOKE);
        uint32_t *v = (uint32_t *)(r + 1);
        unsigned n = 0;

        while (n < per && i < t->nrevoked)
            v[n++] = be32(t->revoked[i++]);
        r->count = be32((uint32_t)sizeof *r + n * 4);
    }
}

/*
 * Adds the n copies.  A descriptor with the block numbers of the following copies precedes each run
 * of copies.
 */
static void append_logged_buffers(struct layout *l, size_t n)
{
    struct journal *j = l->j;
    unsigned per = tags_in_block(j), k = per;
    struct jbd_tag *tag = NULL;
    uint8_t *p = NULL;

    for (size_t i = 0; i < n; i++) {
        uint8_t *data = j->ents[i].data;
        uint16_t flags = 0;

        if (data == NULL) /* the transaction has freed the block */
            continue;
        if (k == per) {
            if (tag != NULL)
                tag->flags |= be16(JBD_TAG_LAST);
            p = append_control_block(l, JBD_DESCRIPTOR) + sizeof(struct jbd_header);
            k = 0;
        }
        /*
         * escape a block that looks like a control block of the journal; `data` is a copy
         * (copy_txn_buffers)
         */
        if (*(uint32_t *)data == be32(JBD_MAGIC)) {
            *(uint32_t *)data = 0;
            flags |= JBD_TAG_ESCAPE;
        }
        tag = (struct jbd_tag *)p;
        p += sizeof *tag;
        if (k++ == 0) {
            memcpy(p, ((struct jbd_super *)j->super)->uuid, 16);
            p += 16;
        } else {
            flags |= JBD_TAG_SAME_UUID;
        }
        *tag = (struct jbd_tag){be32(j->ents[i].b->block), 0, be16(flags)};
        append_log_block(l, data);
    }
    if (tag != NULL)
        tag->flags |= be16(JBD_TAG_LAST);
}

/* Steps 4 and 5.  0 or -EIO. */
static int write_log(struct journal *j, struct txn *t, size_t n)
{
    struct layout l = {j, 0, 0, j->seq};
    struct jbd_commit *c;
    uint64_t now = clock_real_ns();
    int err;

    t->seq = j->seq;
    t->log_start = j->head;
    append_revoke_records(&l, t);
    append_logged_buffers(&l, n);
    if (l.nout == 0)
        return blk_flush(j->fs->disk);
    err = ext_io(j->fs, BLK_WRITE, j->out, l.nout);
    if (err == 0)
        err = blk_flush(j->fs->disk);
    if (err != 0)
        return err;
    l.nout = 0;
    l.nspare = 0;
    c = (struct jbd_commit *)append_control_block(&l, JBD_COMMIT);
    c->sec = be64(now / 1000000000);
    c->nsec = be32((uint32_t)(now % 1000000000));
    j->seq++;
    err = ext_io(j->fs, BLK_WRITE, j->out, 1);
    if (err != 0)
        return err;
    return blk_flush(j->fs->disk);
}
/* LAB journal-commit: end */

/* Steps 4 and 5 without a journal: writes all buffers to their places.  0 or -EIO. */
static int write_in_place(struct journal *j, size_t n)
{
    size_t m = 0;
    int err;

    for (size_t i = 0; i < n; i++)
        if (j->ents[i].data != NULL)
            j->out[m++] = (struct ioblock){j->ents[i].b->block, j->ents[i].data, NULL};
    ext_io_sort(j->out, m);
    err = m != 0 ? ext_io(j->fs, BLK_WRITE, j->out, m) : 0;
    return err != 0 ? err : blk_flush(j->fs->disk);
}

/*
 * Step 2: copies all buffers of the transaction and takes the buffers out of the transaction.
 * Returns their number.  If memory is short, some buffers get no copy.  Then *all is false, and
 * these buffers themselves are written.
 * Up to several MiB are copied without j->lock, because no handle is open or can begin.
 */
static size_t copy_txn_buffers(struct journal *j, struct txn *t, bool *all)
{
    struct buf *b;
    size_t n = 0;

    *all = true;
    while (!list_empty(&t->bufs)) {
        bool magic, freed;
        void *data;

        b = list_first(&t->bufs, struct buf, link);
        magic = *(uint32_t *)b->data == be32(JBD_MAGIC);
        freed = (b->flags & BUF_FREED) != 0;
        j->copies[n] = freed ? NULL : ext_block_alloc(j->fs);
        if (j->copies[n] == NULL && !freed) {
            *all = false;
            /* a block that needs JBD_TAG_ESCAPE must have a copy: wait for memory; this is rare */
            while (magic && (j->copies[n] = ext_block_alloc(j->fs)) == NULL)
                thread_sleep_ns(10000000);
        }
        if (j->copies[n] != NULL)
            memcpy(j->copies[n], b->data, j->fs->bsize);
        data = j->copies[n] != NULL ? j->copies[n] : b->data;
        j->ents[n] = (struct ioblock){0, freed ? NULL : data, b};
        n++;
        buf_keep(j->fs, b);
        atomic_fetch_and(&b->flags, ~(uint32_t)BUF_NEW);
        atomic_fetch_or(&b->flags, BUF_COMMITTING);
        list_remove(&b->link);
        b->txn = NULL;
    }
    return n;
}

/*
 * Step 3.  Starts the writes of all files before it waits for the first, so that the disk can merge and sort the
 * requests.  The caller holds j->lock, which is released during the writes.  The list stays valid, because only
 * the committing thread removes inodes from the list of its transaction.
 */
static void write_ordered(struct journal *j, struct txn *t)
{
    struct ext_inode *f;

    LIST_FOREACH (f, &t->ordered, olink) {
        struct ext_bytes bytes = f->ordered;

        mutex_exit(&j->lock);
        j->fs->up->write_data(f, bytes, false);
        mutex_enter(&j->lock);
    }
    while (!list_empty(&t->ordered)) {
        struct ext_inode *i = list_first(&t->ordered, struct ext_inode, olink);
        struct ext_bytes bytes = i->ordered;
        struct txn *next;

        mutex_exit(&j->lock);
        /* after an error the page stays dirty, and each fsync of the file fails until the page can be written */
        j->fs->up->write_data(i, bytes, true);
        j->fs->n_ordered++;
        mutex_enter(&j->lock);
        list_remove(&i->olink);
        next = i->again.hi != 0 ? j->running : NULL;
        ASSERT(i->otxn == t && (i->again.hi == 0 || next != NULL), "ext.h: states of otxn");
        i->ordered = i->again;
        i->again = (struct ext_bytes){0};
        if (next != NULL)
            list_push_back(&next->ordered, &i->olink);
        atomic_thread_fence(memory_order_release);
        i->otxn = next; /* if NULL, the inode can be evicted from now on */
        cv_broadcast(&j->cv);
    }
}

/*
 * After step 5: queues the n buffers for a checkpoint, and removes buffers of freed blocks from the queue.  The
 * caller holds j->lock.
 */
static void queue_for_checkpoint(struct journal *j, struct txn *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct buf *b = j->ents[i].b;

        atomic_fetch_and(&b->flags, ~(uint32_t)BUF_COMMITTING);
        if (b->ckpt != NULL)
            list_remove(&b->clink);
        b->ckpt = NULL;
        if (j->log && j->ents[i].data != NULL) {
            b->ckpt = t;
            list_push_back(&t->ckpts, &b->clink);
        }
        buf_put(b);
    }
}

/* Makes the blocks that t has freed available for allocation. */
static void release_freed_blocks(struct journal *j, struct txn *t)
{
    struct freed *f;

    LIST_FOREACH (f, &t->freed, link)
        for (unsigned i = 0; i < f->n; i++)
            ext_release_pending(j->fs, f->e[i].start, f->e[i].len);
}

int jnl_commit_running(struct journal *j)
{
    struct txn *t = j->running;
    uint64_t tid = t->tid;
    bool all;
    size_t n;
    int err;

    TRACE_SELF(COMMIT, 0, tid, trace_name(disk_name(j->fs->disk)));
    j->locking = true;
    while (t->updates != 0)
        cv_wait(&j->cv, &j->lock, "open handles");
    mutex_exit(&j->lock);
    n = copy_txn_buffers(j, t, &all);
    mutex_enter(&j->lock);
    j->running = NULL;
    j->committing = t;
    j->locking = !all;
    cv_broadcast(&j->cv);
    write_ordered(j, t);
    mutex_exit(&j->lock);
    err = j->log ? write_log(j, t, n) : write_in_place(j, n);
    for (size_t i = 0; i < n; i++)
        ext_block_free(j->fs, j->copies[i]);
    if (err == 0)
        release_freed_blocks(j, t);
    mutex_enter(&j->lock);
    if (err == 0) /* after an error the buffers stay in memory, with their contents */
        queue_for_checkpoint(j, t, n);
    j->committing = NULL;
    j->locking = false;
    j->fs->n_commits++;
    if (err == 0)
        j->committed = t->tid;
    if (j->log && err == 0 && t->seq + 1 == j->seq)
        list_push_back(&j->done, &t->link);
    else
        txn_free(t);
    cv_broadcast(&j->cv);
    TRACE_SELF(COMMIT, TRACE_ENDS, tid, n);
    if (err == 0 && j->log && jnl_log_free(j) < (j->maxlen - j->first) / 2) {
        mutex_exit(&j->lock);
        err = jnl_checkpoint(j);
        mutex_enter(&j->lock);
    }
    return err;
}

/* ---- checkpoints --------------------------------------------------------------------------------- */

/* Copies up to CKPT_BATCH buffers that can be written now to j->spare, for j->out.  Takes j->lock. */
static size_t copy_checkpoint_batch(struct journal *j)
{
    struct txn *t;
    struct buf *b;
    size_t n = 0;

    mutex_enter(&j->lock);
    LIST_FOREACH (t, &j->done, link) {
        LIST_FOREACH (b, &t->ckpts, clink) {
            uint8_t *copy = j->spare + n * j->fs->bsize;

            if (b->txn != NULL) /* the buffer has bytes that are not committed */
                continue;
            if (n == CKPT_BATCH)
                goto out;
            memcpy(copy, b->data, j->fs->bsize);
            buf_keep(j->fs, b);
            j->out[n++] = (struct ioblock){b->block, copy, b};
        }
    }
out:
    mutex_exit(&j->lock);
    return n;
}

/* Takes the n buffers of the batch off their checkpoint lists, after they have been written to their places. */
static void finish_checkpoint_batch(struct journal *j, size_t n)
{
    mutex_enter(&j->lock);
    for (size_t i = 0; i < n; i++) {
        struct buf *b = j->out[i].b;

        list_remove(&b->clink);
        b->ckpt = NULL;
        buf_put(b);
    }
    mutex_exit(&j->lock);
}

int jnl_checkpoint(struct journal *j)
{
    struct txn *t;
    bool moved = false;
    size_t n;
    int err;

    if (!j->log)
        return 0;
    while ((n = copy_checkpoint_batch(j)) != 0) {
        ext_io_sort(j->out, n);
        err = ext_io(j->fs, BLK_WRITE, j->out, n);
        if (err != 0) {
            for (size_t i = 0; i < n; i++)
                buf_put(j->out[i].b);
            return err;
        }
        finish_checkpoint_batch(j, n);
    }
    mutex_enter(&j->lock);
    while (!list_empty(&j->done)) {
        t = list_first(&j->done, struct txn, link);
        if (!list_empty(&t->ckpts))
            break;
        list_remove(&t->link);
        txn_free(t);
        moved = true;
    }
    t = list_empty(&j->done) ? NULL : list_first(&j->done, struct txn, link);
    mutex_exit(&j->lock);
    if (!moved)
        return 0;
    j->tail = t != NULL ? t->log_start : j->head;
    j->fs->n_checkpoints++;
    return jnl_write_super(j, j->tail, t != NULL ? t->seq : j->seq);
}
