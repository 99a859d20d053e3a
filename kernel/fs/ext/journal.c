// SPDX-License-Identifier: MIT
/*
 * journal.c - handles and transactions.
 *
 * THEORY      An operation such as creating a file changes several blocks.  A crash must not leave some of
 *             them changed and others not.  So all changes between two commits form one transaction: after a
 *             crash the disk has all of them or none.
 *             A handle is the part of a transaction that one operation makes.  At its start it
 *             announces the largest number of blocks that it will change (credits), so that a
 *             transaction never becomes larger than the log.
 *             There are at most two unfinished transactions.  New handles join the running transaction.
 *             Meanwhile the transaction before it, the committing transaction, is written.
 *             A thread that needs a commit does the commit itself, unless another thread is already doing so.
 *             Such a thread can be the thread that commits every five seconds, a thread in fsync,
 *             or a thread whose new handle finds no room.
 *             A commit copies all changed blocks at a moment when no handle is open.  After that the
 *             buffers belong to the next transaction, so bytes of the next transaction cannot get
 *             into the committing transaction.
 * INVARIANTS  I1  nbufs + reserved <= max for the running transaction, and nrevoked + may_revoke <=
 *                 max_revoked
 *             I2  a thread that waits for a commit or for a handle has no open handle
 *             I3  when there is no running and no committing transaction, no buffer has txn set
 * LOCKING     journal.lock guards the fields marked [j] in journal.h.  `busy` acts as a second lock, which a
 *             thread holds while the disk works.
 * SEE ALSO    commit.c, recover.c, docs/ext.md; the format: JBD2
 */
#include "fs/ext/journal.h"

#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"

static struct txn *txn_new(struct journal *j)
{
    struct txn *t = ext_alloc(j->fs, sizeof *t);

    if (t == NULL)
        return NULL;
    list_init(&t->bufs);
    list_init(&t->ordered);
    list_init(&t->ckpts);
    list_init(&t->freed);
    list_init(&t->link);
    t->tid = j->next_tid++;
    return t;
}

/* Whether the log has room for a new transaction of the largest size, in addition to the committing one. */
static bool log_has_room(struct journal *j)
{
    uint32_t need = jnl_log_need(j, j->max);

    if (!j->log)
        return true;
    if (j->committing != NULL)
        need += jnl_log_need(j, j->max);
    return jnl_log_free(j) >= need;
}

/* Empties the log.  The caller holds j->lock, which is released meanwhile; `busy` is not set.  0 or -EIO. */
static int checkpoint_whole_log(struct journal *j)
{
    int err;

    j->busy = true;
    mutex_exit(&j->lock);
    err = jnl_checkpoint(j);
    mutex_enter(&j->lock);
    j->busy = false;
    cv_broadcast(&j->cv);
    return err;
}

/* Sets the error mark on the disk and aborts, after a write to the journal has failed and changes are lost. */
static void abort_on_write_error(struct ext_fs *fs)
{
    ext_note_error(fs);
    jnl_abort(fs);
}

static bool txn_is_full(const struct journal *j, const struct txn *t, unsigned credits)
{
    return t->nbufs + t->reserved + credits > j->max ||
           t->nrevoked + t->may_revoke + credits > j->max_revoked;
}

int jnl_start(struct ext_fs *fs, unsigned credits, struct handle *h)
{
    struct journal *j = fs->jnl;
    struct txn *t;
    uint32_t tid;
    int err = 0;

    sleeprank_enter(h, SLEEP_HANDLE);
    mutex_enter(&j->lock);
    for (;;) {
        if (unlikely(fs->rdonly || j->aborted)) {
            err = -EROFS;
            break;
        }
        if (unlikely(j->locking)) {
            cv_wait(&j->cv, &j->lock, "transaction");
            continue;
        }
        t = j->running;
        if (t == NULL) {
            if (!log_has_room(j)) {
                if (j->busy)
                    cv_wait(&j->cv, &j->lock, "journal space");
                else if (checkpoint_whole_log(j) != 0)
                    abort_on_write_error(fs);
                continue;
            }
            t = txn_new(j);
            if (t == NULL) {
                err = -ENOMEM;
                break;
            }
            j->running = t;
        }
        ASSERT(credits < j->max, "I1");
        if (likely(!txn_is_full(j, t, credits)))
            break;
        tid = t->tid; /* after mutex_exit() another thread can commit and free t */
        mutex_exit(&j->lock);
        sleeprank_exit(h);
        jnl_commit(fs, tid);
        sleeprank_enter(h, SLEEP_HANDLE);
        mutex_enter(&j->lock);
    }
    if (err == 0) {
        t->updates++;
        t->reserved += credits;
        t->may_revoke += credits;
        *h = (struct handle){fs, t, (int)credits, credits};
    } else {
        sleeprank_exit(h);
    }
    mutex_exit(&j->lock);
    return err;
}

void jnl_stop(struct handle *h)
{
    struct journal *j = h->fs->jnl;
    struct txn *t = h->txn;

    sleeprank_exit(h);
    mutex_enter(&j->lock);
    t->reserved -= (unsigned)h->credits;
    t->may_revoke -= h->revokes;
    if (--t->updates == 0 && j->locking)
        cv_broadcast(&j->cv);
    mutex_exit(&j->lock);
    h->txn = NULL;
}

int jnl_restart(struct handle *h, unsigned credits)
{
    struct ext_fs *fs = h->fs;

    jnl_stop(h);
    return jnl_start(fs, credits, h);
}

uint32_t jnl_tid(const struct handle *h)
{
    return h->txn->tid;
}

/* Puts b into the handle's transaction and uses up one credit.  The caller holds j->lock. */
static void add_buf_to_txn(struct journal *j, struct handle *h, struct buf *b)
{
    struct txn *t = h->txn;

    if (b->txn == t)
        return;
    ASSERT(b->txn == NULL, "I3");
    b->txn = t;
    list_push_back(&t->bufs, &b->link);
    t->nbufs++;
    if (likely(h->credits > 0)) {
        h->credits--;
        t->reserved--;
    } else {
        atomic_fetch_add(&j->overruns, 1);
    }
}

/*
 * Takes b out of the handle's transaction, as if b had not been changed, and gives the credit back.  No
 * older transaction must contain b.  The caller holds j->lock.
 */
static void remove_buf_from_txn(struct handle *h, struct buf *b)
{
    struct txn *t = h->txn;

    ASSERT(b->txn == t, "I3");
    list_remove(&b->link);
    b->txn = NULL;
    t->nbufs--;
    t->reserved++;
    h->credits++;
}

void jnl_access_slow(struct handle *h, struct buf *b)
{
    struct journal *j = h->fs->jnl;

    mutex_enter(&j->lock);
    add_buf_to_txn(j, h, b);
    if (b->flags & BUF_FREED)
        atomic_fetch_and(&b->flags, ~(uint32_t)BUF_FREED);
    mutex_exit(&j->lock);
}

/*
 * Makes room in t->revoked for all blocks that open handles may still revoke.  0 or -ENOMEM.  The caller holds
 * j->lock.
 */
static int grow_revoked(struct ext_fs *fs, struct txn *t)
{
    unsigned need = t->nrevoked + t->may_revoke, cap = max_of(need, 2 * t->revoked_cap);
    uint32_t *v;

    if (need <= t->revoked_cap)
        return 0;
    v = ext_alloc(fs, cap * sizeof *v);
    if (v == NULL)
        return -ENOMEM;
    if (t->nrevoked != 0)
        memcpy(v, t->revoked, t->nrevoked * sizeof *v);
    kmem_free(t->revoked);
    t->revoked = v;
    t->revoked_cap = cap;
    return 0;
}

int jnl_reserve_revokes(struct handle *h)
{
    struct journal *j = h->fs->jnl;
    int err = 0;

    mutex_enter(&j->lock);
    if (j->log)
        err = grow_revoked(h->fs, h->txn);
    mutex_exit(&j->lock);
    return err;
}

void jnl_forget(struct handle *h, uint32_t block)
{
    struct journal *j = h->fs->jnl;
    struct txn *t = h->txn;
    struct buf *b;
    /* the log has an older version that is needed until this transaction is committed */
    bool logged;
    /* the log has no version of the block, except revoked versions of an earlier use */
    bool fresh;

    mutex_enter(&j->lock);
    b = buf_cached(h->fs, block);
    logged = b != NULL && (b->ckpt != NULL || (b->flags & BUF_COMMITTING));
    fresh = b != NULL && b->txn == t && (b->flags & BUF_NEW) && !logged;
    if (j->log && !fresh) {
        ASSERT(h->revokes != 0 && t->nrevoked < t->revoked_cap, "I1");
        t->revoked[t->nrevoked++] = block;
        h->revokes--;
        t->may_revoke--;
        h->fs->n_revokes++;
    }
    if (logged) {
        add_buf_to_txn(j, h, b);
        atomic_fetch_or(&b->flags, BUF_FREED);
    } else if (b != NULL && b->txn != NULL) {
        remove_buf_from_txn(h, b);
    }
    if (b != NULL)
        buf_put(b);
    mutex_exit(&j->lock);
}

/* Adds blocks to *f, the last part of t->freed.  false: *f is full. */
static bool add_freed_extent(struct freed *f, uint32_t start, uint32_t len)
{
    struct extent *last = &f->e[f->n - 1];

    if (last->start + last->len == start)
        last->len += len;
    else if (f->n < array_size(f->e))
        f->e[f->n++] = (struct extent){start, len};
    else
        return false;
    return true;
}

int jnl_add_freed(struct handle *h, uint32_t start, uint32_t len)
{
    struct journal *j = h->fs->jnl;
    struct list *l = &h->txn->freed;
    struct freed *f;
    int err = 0;

    mutex_enter(&j->lock);
    if (list_empty(l) || !add_freed_extent(list_entry(l->prev, struct freed, link), start, len)) {
        f = ext_alloc(h->fs, sizeof *f);
        if (f != NULL) {
            f->e[f->n++] = (struct extent){start, len};
            list_push_back(l, &f->link);
        } else {
            err = -ENOMEM;
        }
    }
    mutex_exit(&j->lock);
    return err;
}

void jnl_order(struct handle *h, struct ext_inode *i, uint64_t lo, uint64_t hi)
{
    struct journal *j = h->fs->jnl;
    struct ext_bytes *b;

    mutex_enter(&j->lock);
    if (i->otxn == NULL) {
        i->otxn = h->txn;
        list_push_back(&h->txn->ordered, &i->olink);
    }
    ASSERT(i->otxn == h->txn || i->otxn == j->committing, "ext.h: states of otxn");
    /* `again`: the bytes in `ordered` still belong to the committing transaction */
    b = i->otxn == h->txn ? &i->ordered : &i->again;
    *b = b->hi == 0 ? (struct ext_bytes){lo, hi}
                    : (struct ext_bytes){min_of(b->lo, lo), max_of(b->hi, hi)};
    mutex_exit(&j->lock);
}

/*
 * Sleeps until the committing transaction has written the pages of i.  The caller holds j->lock, which is released
 * meanwhile.
 */
static void wait_for_ordered_data(struct journal *j, const struct ext_inode *i)
{
    while (i->otxn != NULL && i->otxn == j->committing)
        cv_wait(&j->cv, &j->lock, "ordered data");
}

void jnl_wait_committing(struct ext_inode *i)
{
    struct journal *j = i->fs->jnl;

    mutex_enter(&j->lock);
    wait_for_ordered_data(j, i);
    mutex_exit(&j->lock);
}

void jnl_unorder(struct ext_inode *i)
{
    struct journal *j = i->fs->jnl;

    if (i->otxn == NULL || j == NULL)
        return;
    mutex_enter(&j->lock);
    wait_for_ordered_data(j, i);
    if (i->otxn != NULL)
        list_remove(&i->olink);
    i->otxn = NULL;
    i->ordered = (struct ext_bytes){0};
    mutex_exit(&j->lock);
}

uint32_t jnl_tid_of(struct ext_fs *fs, const struct buf *b)
{
    struct journal *j = fs->jnl;
    uint32_t tid;

    mutex_enter(&j->lock);
    if (b->txn != NULL)
        tid = b->txn->tid;
    else if (j->committing != NULL && (b->flags & BUF_COMMITTING))
        tid = j->committing->tid;
    else
        tid = j->committed;
    mutex_exit(&j->lock);
    return tid;
}

bool jnl_committed(struct ext_fs *fs, uint32_t tid)
{
    return (int32_t)(fs->jnl->committed - tid) >= 0;
}

int jnl_commit(struct ext_fs *fs, uint32_t tid)
{
    struct journal *j = fs->jnl;
    bool was;
    int err = 0;

    /* checks the lock order, because a commit waits for handles */
    sleeprank_enter(&tid, SLEEP_HANDLE);
    sleeprank_exit(&tid);
    mutex_enter(&j->lock);
    while (!jnl_committed(fs, tid)) {
        if (j->aborted) {
            err = -EIO;
            break;
        }
        if (j->busy) {
            cv_wait(&j->cv, &j->lock, "commit");
            continue;
        }
        if (j->running == NULL)
            break;
        j->busy = true;
        was = blk_use_kernel_pri(true); /* because other threads can also wait for this commit */
        err = jnl_commit_running(j);
        blk_use_kernel_pri(was);
        j->busy = false;
        cv_broadcast(&j->cv);
        if (err != 0) {
            abort_on_write_error(fs);
            break;
        }
    }
    mutex_exit(&j->lock);
    return err;
}

int jnl_sync(struct ext_fs *fs, uint32_t tid)
{
    struct journal *j = fs->jnl;
    bool begun;
    int err;

    mutex_enter(&j->lock);
    /*
     * if the commit of `tid` has begun or ended, the last data was perhaps written after the
     * commit's flushes
     */
    begun = j->running == NULL || (int32_t)(j->running->tid - tid) > 0;
    mutex_exit(&j->lock);
    err = jnl_commit(fs, tid);
    return err == 0 && begun ? blk_flush(fs->disk) : err;
}

int jnl_commit_all(struct ext_fs *fs)
{
    struct journal *j = fs->jnl;
    uint32_t tid;

    mutex_enter(&j->lock);
    if (j->running != NULL)
        tid = j->running->tid;
    else
        tid = j->committing != NULL ? j->committing->tid : j->committed;
    mutex_exit(&j->lock);
    return jnl_commit(fs, tid);
}

void jnl_abort(struct ext_fs *fs)
{
    if (fs->jnl != NULL && !fs->jnl->aborted) {
        fs->jnl->aborted = true;
        warn("%s: journal aborted, read-only from now on", fs->name);
    }
    fs->rdonly = true;
    fs->failed = true;
    if (fs->vfs != NULL)
        fs->vfs->readonly = true;
    if (fs->jnl != NULL)
        cv_broadcast(&fs->jnl->cv);
}

void txn_free(struct txn *t)
{
    struct freed *f;

    while ((f = list_pop(&t->freed, struct freed, link)) != NULL)
        kmem_free(f);
    kmem_free(t->revoked);
    kmem_free(t);
}

int jnl_open(struct ext_fs *fs)
{
    struct journal *j = fs->jnl;
    unsigned tags = (fs->bsize - 28) / sizeof(struct jbd_tag);
    size_t n;

    j->max = j->log ? min_of((j->maxlen - j->first) / 4, JNL_MAX_TXN) : 512;
    j->max_revoked = REVOKE_BLOCKS * ((fs->bsize - 16) / 4);
    n = j->max + 8;
    j->nspare = max_of((unsigned)n / tags + 4 + REVOKE_BLOCKS, CKPT_BATCH);
    if (j->ents == NULL) {
        j->ents = kmem_alloc(n * sizeof *j->ents);
        j->copies = kmem_zalloc(n * sizeof *j->copies);
        j->out = kmem_alloc((n + j->nspare) * sizeof *j->out);
        j->spare = kmem_alloc((size_t)j->nspare * fs->bsize);
    }
    if (j->ents == NULL || j->copies == NULL || j->out == NULL || j->spare == NULL)
        return -ENOMEM;
    if (j->log)
        ((struct jbd_super *)j->super)->incompat |= be32(JBD_INCOMPAT_REVOKE);
    j->head = j->tail = j->first;
    return j->log ? jnl_write_super(j, j->head, j->seq) : 0;
}

int jnl_close(struct ext_fs *fs)
{
    struct journal *j = fs->jnl;
    int err = jnl_commit_all(fs);

    if (err != 0 || !j->log)
        return err;
    mutex_enter(&j->lock);
    while (j->busy)
        cv_wait(&j->cv, &j->lock, "journal");
    err = checkpoint_whole_log(j);
    if (err == 0)
        err = jnl_write_super(j, 0, j->seq);
    mutex_exit(&j->lock);
    return err;
}

bool jnl_has_error(struct ext_fs *fs)
{
    return fs->jnl != NULL && fs->jnl->log && ((struct jbd_super *)fs->jnl->super)->err != 0;
}

void jnl_free(struct ext_fs *fs)
{
    struct journal *j = fs->jnl;
    struct txn *t;

    if (j == NULL)
        return;
    if (j->running != NULL)
        txn_free(j->running);
    if (j->done.next != NULL)
        while ((t = list_pop(&j->done, struct txn, link)) != NULL)
            txn_free(t);
    ext_block_free(fs, j->super);
    kmem_free(j->map);
    kmem_free(j->ents);
    kmem_free(j->copies);
    kmem_free(j->out);
    kmem_free(j->spare);
    kmem_free(j);
    fs->jnl = NULL;
}
