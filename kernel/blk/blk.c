// SPDX-License-Identifier: MIT
/*
 * blk.c - from requests to commands: submitting, starting and ending them.
 *
 * THEORY      A file system submits requests; the driver gives commands to the device.  One command can carry
 *             several requests, and a large request can need several commands.
 *             A submitted request goes into the queue of its disk.  As long as the driver has room, the
 *             scheduling policy (iosched.c) chooses the next requests, and they become one command.  When a
 *             command ends, its requests end and the next commands are started, in the same interrupt.
 *             A flush does not wait for other requests: it is started before all requests in the queue.
 *             The commands are allocated when the disk is attached: as many as the device can carry out at the
 *             same time.  So submitting a request allocates no memory, and pages can be written out when memory
 *             is exhausted.
 * INVARIANTS  those of blk.h;
 *             I3  a request is in the queue, in one command, or done
 * LOCKING     d->lock (RANK_BLK)
 * SEE ALSO    iosched.c (order), disks.c (list of disks), drivers/disk.h, docs/disks.md, tests/test_disk.py
 */
#include "blk/blkpriv.h"

#include "disp/sync.h"
#include "disp/thread.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "stat/iocount.h"
#include "stat/panic.h"
#include "stat/trace.h"
#include "stat/tunable.h"
#include "x86/mmu.h"

struct command {
    struct disk_cmd c;
    struct list reqs; /* the requests that the command carries out, in the order of their sectors */
    int flow;         /* argument of sched_done(); FLUSH: a flush, unknown to iosched.c */
    uint64_t begun_ns;
};

enum { FLUSH = -2 };

static unsigned disk_depth; /* most commands at a time; 0: as many as the disk accepts */
TUNABLE(
    disk_depth, 0, 1024,
    "default 0; commands that a disk is given at a time, 0: as many as it takes; read for each");

static struct command *command_of(struct disk_cmd *c)
{
    return container_of(c, struct command, c);
}

/*
 * Adds the memory of the unfinished part of `r` to the command, up to `most` sectors and the device's limit
 * of segments.  Pieces that are adjacent in memory become one segment.
 */
static void add_request_segments(struct disk *d, struct disk_cmd *c, const struct blk_req *r,
                                 uint32_t most)
{
    uint64_t skip = (uint64_t)r->sdone * SECTOR_SIZE;

    for (unsigned i = 0; i < r->nvecs && c->nsect < most; i++) {
        const struct blk_vec *v = &r->vec[i];
        struct disk_seg *last = c->nsegs > 0 ? &c->seg[c->nsegs - 1] : NULL;
        paddr_t pa = page_to_phys(v->pg) + v->off + skip;
        uint32_t len;

        if (skip >= v->len) {
            skip -= v->len;
            continue;
        }
        len = min_of((uint32_t)(v->len - skip), (most - c->nsect) * SECTOR_SIZE);
        skip = 0;
        if (last != NULL && last->pa + last->len == pa)
            last->len += len;
        else if (c->nsegs < d->dev.max_segs)
            c->seg[c->nsegs++] = (struct disk_seg){pa, len};
        else
            break;
        c->nsect += len / SECTOR_SIZE;
        if (r->split)
            break;
    }
}

/* Called when the command with the next piece of `r` has failed.  Marks that piece bad and skips it. */
static void fail_next_piece(struct blk_req *r)
{
    uint32_t end = 0;

    for (unsigned i = 0; i < r->nvecs; i++) {
        end += r->vec[i].len / SECTOR_SIZE;
        if (end > r->sdone) {
            r->bad |= 1ull << i;
            r->sdone = end;
            return;
        }
    }
}

/*
 * Records in `r` that a command of `nsect` sectors, which carried `r`, has ended with `error`.
 * Returns whether `r` must be queued again.
 * @several  the command also carried other requests
 * The device does not report which part of a command has failed.  So after an error, each request of the
 * command is tried again in a separate command.  If that fails, too, each piece of the request is tried alone.
 */
static bool blk_update_request(struct blk_req *r, bool several, uint32_t nsect, int error)
{
    if (r->op == BLK_FLUSH) {
        r->error = error;
        return false;
    }
    if (error != 0 && several)
        return r->alone = true;
    if (error != 0 && !r->split && r->nvecs > 1)
        return r->split = r->alone = true;
    if (error != 0)
        fail_next_piece(r);
    else
        r->sdone = several ? r->nsect : r->sdone + nsect;
    r->error = r->bad != 0 ? -EIO : 0;
    return r->sdone < r->nsect;
}

/*
 * Counts the start of `r`.  `ahead`: commands that were running when `r` was submitted, or have been started
 * since.
 */
static void count_request_begin(struct disk *d, const struct blk_req *r, uint64_t now)
{
    uint64_t ahead = d->sched.seq - 1 - r->seq;

    io_waitq_exit(&d->stats, now);
    io_runq_enter(&d->stats, now);
    if (r->op == BLK_READ && r->sdone == 0) {
        d->stats.rahead += ahead;
        d->stats.raheadmax = max_of(d->stats.raheadmax, ahead);
    }
}

/*
 * Makes the next command.  NULL: no request should start now, or the maximum number of commands is
 * running.
 * *again: see sched_take().  The caller holds the lock.
 */
static struct command *make_next_command(struct disk *d, uint64_t now, uint64_t *again)
{
    struct sched_room room = {d->dev.max_sectors, d->dev.max_segs};
    struct command *cmd = list_first(&d->free, struct command, c.link);
    struct sched_batch batch;
    struct blk_req *r;

    if (list_empty(&d->free) || (disk_depth != 0 && d->running >= disk_depth))
        return NULL;
    cmd->c.nsect = cmd->c.nsegs = 0;
    r = list_pop(&d->flushes, struct blk_req, link);
    if (r != NULL) {
        cmd->flow = FLUSH;
        list_push_back(&cmd->reqs, &r->link);
        io_waitq_exit(&d->stats, now);
        io_runq_enter(&d->stats, now);
    } else if (sched_take(&d->sched, &room, now, &batch, again)) {
        cmd->flow = batch.flow;
        while ((r = list_pop(&batch.reqs, struct blk_req, link)) != NULL) {
            count_request_begin(d, r, now);
            list_push_back(&cmd->reqs, &r->link);
            add_request_segments(d, &cmd->c, r, batch.sectors);
        }
    } else {
        return NULL;
    }
    r = list_first(&cmd->reqs, struct blk_req, link);
    cmd->c.op = r->op;
    cmd->c.sector = r->lba + r->sdone;
    list_remove(&cmd->c.link);
    cmd->begun_ns = now;
    d->running++;
    return cmd;
}

/* Packs a command into one argument of a TRACE() record: sector, operation, error flag. */
static uint64_t encode_trace_io(const struct disk_cmd *c, int error)
{
    return c->sector | (uint64_t)c->op << 56 | (error != 0 ? TRACE_IO_ERROR : 0);
}

static void dispatch_from_timer(struct timer *t);

/* Starts commands until no request should start or the driver has no room.  The caller holds the lock. */
static void dispatch_commands(struct disk *d, uint64_t now)
{
    struct command *cmd;
    uint64_t again = UINT64_MAX;

    while ((cmd = d->stalled) != NULL || (cmd = make_next_command(d, now, &again)) != NULL) {
        d->stalled = NULL;
        if (!d->dev.start(d->dev.soft, &cmd->c)) {
            d->stalled = cmd;
            break;
        }
        TRACE(IO, cmd->c.nsect, encode_trace_io(&cmd->c, 0), trace_name(d->name));
    }
    if (again != UINT64_MAX && !timer_armed(&d->again))
        timer_arm(&d->again, again, dispatch_from_timer);
}

static void dispatch_from_timer(struct timer *t)
{
    struct disk *d = container_of(t, struct disk, again);

    spin_lock(&d->lock);
    dispatch_commands(d, clock_mono_ns());
    spin_unlock(&d->lock);
}

static void count_request_end(struct disk *d, const struct blk_req *r, uint64_t now)
{
    struct io_stats *s = &d->stats;

    switch (r->op) {
    case BLK_READ:
        s->reads++;
        s->nread += (uint64_t)r->nsect * SECTOR_SIZE;
        s->rerrors += r->error != 0;
        s->rns += now - r->submitted_ns;
        break;
    case BLK_WRITE:
        s->writes++;
        s->nwritten += (uint64_t)r->nsect * SECTOR_SIZE;
        s->werrors += r->error != 0;
        s->wns += now - r->submitted_ns;
        break;
    default:
        s->flushes++;
        s->fns += now - r->submitted_ns;
        s->ferrors += r->error != 0;
    }
}

/* The driver calls this function in interrupt context when a command has ended. */
static void command_done(struct disk_cmd *c, int error)
{
    struct command *cmd = command_of(c);
    struct disk *d = c->arg;
    struct list ended = LIST_INIT(ended);
    struct blk_req *r;
    bool several;
    uint64_t now = clock_mono_ns();

    spin_lock(&d->lock);
    TRACE(IODONE, c->nsect, encode_trace_io(c, error), trace_name(d->name));
    several = cmd->reqs.next != cmd->reqs.prev;
    if (cmd->flow != FLUSH)
        sched_done(&d->sched, cmd->flow, c->nsect, cmd->begun_ns, now);
    while ((r = list_pop(&cmd->reqs, struct blk_req, link)) != NULL) {
        io_runq_exit(&d->stats, now);
        if (blk_update_request(r, several, c->nsect, error)) {
            io_waitq_enter(&d->stats, now);
            sched_add(&d->sched, r, now);
            continue;
        }
        count_request_end(d, r, now);
        /* all requests of the command except the last count as merged */
        if (error == 0 && !list_empty(&cmd->reqs))
            *(r->op == BLK_READ ? &d->stats.rmerged : &d->stats.wmerged) += 1;
        list_push_back(&ended, &r->link);
    }
    d->running--;
    list_push_front(&d->free, &c->link);
    dispatch_commands(d, now);
    spin_unlock(&d->lock);
    while ((r = list_pop(&ended, struct blk_req, link)) != NULL)
        r->done(r);
}

/* Whether the request is valid for disk or partition `d`; sets r->lba, and r->nsect of a flush. */
static bool validate_request(const struct disk *d, struct blk_req *r)
{
    uint64_t bytes = 0;

    if (r->op == BLK_FLUSH) {
        r->nsect = 0;
        return true;
    }
    for (unsigned i = 0; i < r->nvecs; i++)
        bytes += r->vec[i].len;
    r->lba = d->start + r->sector;
    return r->nvecs <= BLK_MAX_VECS && r->nsect > 0 && bytes == (uint64_t)r->nsect * SECTOR_SIZE &&
           r->sector < d->sectors && r->nsect <= d->sectors - r->sector &&
           !(r->op == BLK_WRITE && d->readonly);
}

void blk_submit(struct blk_req *r)
{
    struct disk *d = disk_whole(r->disk);
    bool sound = validate_request(r->disk, r);

    r->error = sound ? 0 : -EIO;
    r->bad = sound ? 0 : UINT64_MAX;
    r->sdone = 0;
    r->alone = r->split = false;
    if (!sound || (r->op == BLK_FLUSH && (!d->dev.cached || d->readonly))) {
        r->done(r);
        return;
    }
    if (r->op == BLK_READ)
        io_count_disk((uint64_t)r->nsect * SECTOR_SIZE, 0, 0);
    r->submitted_ns = clock_mono_ns();
    spin_lock(&d->lock);
    io_waitq_enter(&d->stats, r->submitted_ns);
    if (r->op == BLK_FLUSH)
        list_push_back(&d->flushes, &r->link);
    else
        sched_add(&d->sched, r, r->submitted_ns);
    r->seq = d->sched.seq - d->running;
    dispatch_commands(d, r->submitted_ns);
    spin_unlock(&d->lock);
}

void blk_hurry(struct disk *d, uint64_t file, bool write)
{
    uint64_t now = clock_mono_ns();

    d = disk_whole(d);
    spin_lock(&d->lock);
    sched_hurry(&d->sched, file, write, blk_current_owner(), now);
    dispatch_commands(d, now);
    spin_unlock(&d->lock);
}

uint32_t disk_seek_blocks(struct disk *d, uint32_t sectors)
{
    struct disk_cost c = disk_whole(d)->sched.cost;

    if (c.sector_ns == 0)
        return DISK_SEEK_BLOCKS;
    return (uint32_t)min_of(c.position_ns / (c.sector_ns * sectors), (uint64_t)UINT32_MAX);
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct waiter {
    struct spinlock lock;
    struct cv cv;
    bool done;
};

static void wake_submitter(struct blk_req *r)
{
    struct waiter *w = r->arg;

    spin_lock(&w->lock);
    w->done = true;
    cv_signal(&w->cv);
    spin_unlock(&w->lock);
}

static int submit_and_wait(struct blk_req *r)
{
    struct waiter w = {.done = false};

    spin_init(&w.lock, RANK_POLL);
    cv_init(&w.cv);
    r->sync = true;
    r->by = blk_current_owner();
    r->done = wake_submitter;
    r->arg = &w;
    blk_submit(r);
    spin_lock(&w.lock);
    while (!w.done)
        cv_wait_disk(&w.cv, &w.lock, "disk");
    spin_unlock(&w.lock);
    return r->error;
}

int blk_rw(struct disk *d, enum blk_op op, uint64_t sector, void *buf, size_t len)
{
    struct blk_vec vec = {virt_to_page(buf), (uint32_t)((uintptr_t)buf & (PAGE_SIZE - 1)),
                          (uint32_t)len};
    struct blk_req r = {.disk = d,
                        .op = (uint8_t)op,
                        .sector = sector,
                        .nsect = (uint32_t)(len / SECTOR_SIZE),
                        .nvecs = 1,
                        .vec = &vec};

    ASSERT(!mmu_on_stack(buf), "blk: a disk is not given a stack");
    if (len > BLK_MAX_VECS * PAGE_SIZE)
        return -EIO;
    return submit_and_wait(&r);
}

int blk_flush(struct disk *d)
{
    struct blk_req r = {.disk = d, .op = BLK_FLUSH};
    int err;

    TRACE(FLUSH, 0, 0, trace_name(d->name));
    err = submit_and_wait(&r);
    TRACE(FLUSH, TRACE_ENDS, (uint64_t)-err, trace_name(d->name));
    return err;
}

bool blk_use_kernel_pri(bool on)
{
    bool was = curthread->disk_kernel_pri;

    curthread->disk_kernel_pri = on;
    return was;
}

/* ---- attaching a disk ------------------------------------------------------------------------ */

int blk_open_queue(struct disk *d)
{
    spin_init(&d->lock, RANK_BLK);
    sched_init(&d->sched);
    list_init(&d->flushes);
    list_init(&d->free);
    for (unsigned i = 0; i < d->dev.depth; i++) {
        struct command *cmd = kmem_zalloc(sizeof *cmd);

        if (cmd == NULL)
            return i > 0 ? 0 : -ENOMEM;
        list_init(&cmd->reqs);
        cmd->c.done = command_done;
        cmd->c.arg = d;
        list_push_back(&d->free, &cmd->c.link);
    }
    return 0;
}
