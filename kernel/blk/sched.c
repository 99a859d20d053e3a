// SPDX-License-Identifier: MIT
/*
 * sched.c - the order in which a disk's requests are carried out: a pure policy.
 *
 * THEORY      0 fifo      In order of arrival, each by itself; or, with disk_coalesce, together with those behind it
 *                         that continue it.
 *             1 elevator  The arm sweeps in one direction: the request with the next higher sector comes next, and
 *                         what lies behind the arm waits for the next sweep (C-LOOK).  Requests that touch become
 *                         one command. Sorting makes them neighbours in the queue, whichever of them came first.
 *             2 fair      Two kinds of requests are told apart.  A process waits for its reads, and for the writes
 *                         of an fsync: these are its flow.  What is written because it is to be written some time is
 *                         the background; nobody waits for it, and one process alone can fill the queue with it.
 *                         Flows take turns, one command each; none has more than FLOW_RUNNING at the device.  The
 *                         background is served in sorted sweeps when no flow has anything to do; and while one had
 *                         until disk_fair_linger ms ago, one command at a time, as large as the disk carries out in
 *                         disk_fair_slice us, but disk_fair_sectors at least.
 *                         A program that reads here and there asks for the next block shortly after it has got the
 *                         last. If the arm went back to the background in this pause, the program would wait for a
 *                         command of the background at each of its reads.  So the disk is held for a flow whose last
 *                         pause was short: for the time of a command, disk_fair_hold us at most (Iyer and Druschel,
 *                         "Anticipatory scheduling", SOSP 2001).
 *                         The background gets one command after disk_fair_turns of the flows, and after
 *                         disk_fair_starve ms in any case.  Within it nothing starves: a sweep takes only what was
 *                         there when it began (FSCAN), so that a stream of writes cannot keep the arm at its place.
 *             Overlapping requests that are queued at the same time are carried out in any order: whoever submits them
 *             (the page cache, the buffers of a file system, a program with O_DIRECT) has at most one at a time.
 * INVARIANTS  I1  a request is in one of: fifo, heap, the reqs of one flow
 *             I2  a flow is on `turns` exactly if its reqs are not empty
 *             I3  each request of the background is taken in the sweep after the one that went on when it came
 * LOCKING     the disk's
 * TUNABLES    disk_sched, disk_coalesce, disk_fair_hold, disk_fair_starve, disk_fair_turns, disk_fair_linger,
 *             disk_fair_slice, disk_fair_sectors
 * SEE ALSO    tests/host/test_sched.c, docs/disks.md
 */
#include "blk/sched.h"

#include "stat/tunable.h"

enum { FLOW_RUNNING = 4, BACK_RUNNING = 2, NS_PER_US = 1000, NS_PER_MS = 1000000 };

unsigned disk_sched = SCHED_ELEVATOR;
TUNABLE(disk_sched, 0, SCHED_MODES - 1,
        "default 1; order of disk requests: 0 fifo, 1 elevator, 2 fair; read for each request");
unsigned disk_coalesce = 0;
TUNABLE(disk_coalesce, 0, 1 << 20,
        "default 0 bytes; fifo: requests that continue each other are one command of so much at most");
unsigned disk_fair_hold = 20000;
TUNABLE(disk_fair_hold, 0, 1000000,
        "default 20000 us; a disk is held no longer for a process that reads in quick succession");
unsigned disk_fair_starve = 100;
TUNABLE(disk_fair_starve, 0, 60000, "default 100 ms; one background write at least in this time, whatever waits");
unsigned disk_fair_turns = 4;
TUNABLE(disk_fair_turns, 0, 1000, "default 4; commands of processes that wait before one background write");
unsigned disk_fair_linger = 200;
TUNABLE(disk_fair_linger, 0, 60000,
        "default 200 ms; after a process's request, background writes go one at a time for so long");
unsigned disk_fair_sectors = 32;
TUNABLE(disk_fair_sectors, 8, 2048, "default 32 sectors; least size of a command while others wait or lately did");
unsigned disk_fair_slice = 10000;
TUNABLE(disk_fair_slice, 0, 1000000,
        "default 10000 us; such a command is as large as the disk carries out in this time");

/* ---- a heap of requests ---------------------------------------------------------------------- */

/*
 * A pairing heap (Fredman, Sedgewick, Sleator, Tarjan, "The pairing heap", Algorithmica 1986): r->child is the first of
 * those below r, r->next the next beside it.
 */
static bool before(const struct blk_req *a, const struct blk_req *b)
{
    return a->pass != b->pass ? a->pass < b->pass : a->lba + a->sdone < b->lba + b->sdone;
}

static struct blk_req *meld(struct blk_req *a, struct blk_req *b)
{
    struct blk_req *top = a, *low = b;

    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    if (before(b, a)) {
        top = b;
        low = a;
    }
    low->next = top->child;
    top->child = low;
    return top;
}

static void heap_add(struct sched *s, struct blk_req *r)
{
    r->child = r->next = NULL;
    s->heap = meld(s->heap, r);
    s->nback++;
}

/* Takes the first away: what was below it is melded in pairs from the left, then all from the right. */
static struct blk_req *heap_pop(struct sched *s)
{
    struct blk_req *first = s->heap, *r = first->child, *pairs = NULL;

    while (r != NULL) {
        struct blk_req *a = r, *b = r->next, *m;

        r = b != NULL ? b->next : NULL;
        a->next = NULL;
        if (b != NULL)
            b->next = NULL;
        m = meld(a, b);
        m->next = pairs;
        pairs = m;
    }
    s->heap = NULL;
    while (pairs != NULL) {
        struct blk_req *m = pairs;

        pairs = m->next;
        m->next = NULL;
        s->heap = meld(s->heap, m);
    }
    s->nback--;
    return first;
}

/* ---- queueing -------------------------------------------------------------------------------- */

void sched_init(struct sched *s)
{
    *s = (struct sched){.mode = SCHED_FIFO};
    list_init(&s->fifo);
    list_init(&s->turns);
    for (unsigned i = 0; i < SCHED_FLOWS; i++) {
        list_init(&s->flow[i].reqs);
        list_init(&s->flow[i].turn);
    }
}

static bool is_flow(const struct blk_req *r)
{
    return r->op == BLK_READ || r->sync;
}

/*
 * How long the disk is held for a flow that pauses: as long as the command would take that is begun instead.  Who waits
 * so long and is wrong has lost no more than by not waiting when that had been right.
 */
static uint64_t hold_ns(const struct sched *s)
{
    uint64_t most = (uint64_t)disk_fair_hold * NS_PER_US;

    return s->service_ns != 0 ? min_of(most, s->service_ns) : most;
}

static bool within(uint64_t since, uint64_t span, uint64_t now)
{
    return since != 0 && now - since < span;
}

static void flow_add(struct sched *s, struct blk_req *r, uint64_t now)
{
    struct sched_flow *f = &s->flow[r->pid % SCHED_FLOWS];

    if (r->sdone != 0) {
        list_push_front(&f->reqs, &r->link);
    } else {
        if (f->idle_ns != 0)
            f->quick = within(f->idle_ns, hold_ns(s), now);
        list_push_back(&f->reqs, &r->link);
    }
    f->idle_ns = 0;
    if (list_empty(&f->turn))
        list_push_back(&s->turns, &f->turn);
}

static void queue(struct sched *s, struct blk_req *r, uint64_t now)
{
    if (s->mode == SCHED_FIFO) {
        if (r->sdone != 0)
            list_push_front(&s->fifo, &r->link);
        else
            list_push_back(&s->fifo, &r->link);
    } else if (s->mode == SCHED_FAIR && is_flow(r)) {
        flow_add(s, r, now);
    } else {
        if (s->nback == 0)
            s->back_ns = now;
        if (r->sdone != 0)
            r->pass = s->pass;
        else
            r->pass = s->pass + (s->mode == SCHED_FAIR || r->lba < s->head);
        heap_add(s, r);
    }
}

/* disk_sched was changed: what waits moves over. */
static void change_mode(struct sched *s, uint64_t now)
{
    struct list     all = LIST_INIT(all);
    struct blk_req *r;

    while ((r = list_pop(&s->fifo, struct blk_req, link)) != NULL)
        list_push_back(&all, &r->link);
    while (s->heap != NULL)
        list_push_back(&all, &heap_pop(s)->link);
    for (unsigned i = 0; i < SCHED_FLOWS; i++) {
        while ((r = list_pop(&s->flow[i].reqs, struct blk_req, link)) != NULL)
            list_push_back(&all, &r->link);
        list_remove(&s->flow[i].turn);
    }
    s->mode = (uint8_t)disk_sched;
    while ((r = list_pop(&all, struct blk_req, link)) != NULL)
        queue(s, r, now);
}

void sched_add(struct sched *s, struct blk_req *r, uint64_t now)
{
    if (s->mode != disk_sched)
        change_mode(s, now);
    queue(s, r, now);
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Whether `b` continues `a`, which ends the batch, and the command still has room for it. */
static bool joins(const struct blk_req *a, const struct blk_req *b, const struct sched_room *room, uint32_t sectors,
                  unsigned vecs)
{
    return a->op == b->op && !a->alone && !b->alone && a->lba + a->nsect == b->lba && b->sdone == 0 &&
           sectors + b->nsect <= room->sectors && vecs + b->nvecs <= room->vecs;
}

/* Starts a batch with `r`; the arm will be behind it. */
static void begin(struct sched *s, struct blk_req *r, const struct sched_room *room, int flow, struct sched_batch *out)
{
    list_init(&out->reqs);
    list_push_back(&out->reqs, &r->link);
    out->sectors = room->sectors;
    out->flow = flow;
    s->seq++;
    s->head = r->lba + min_of(r->nsect, r->sdone + room->sectors);
}

static void take_heap(struct sched *s, const struct sched_room *room, struct sched_batch *out)
{
    struct blk_req *last = heap_pop(s);
    uint32_t        sectors = last->nsect - last->sdone;
    unsigned        vecs = last->nvecs;

    s->pass = max_of(s->pass, last->pass);
    begin(s, last, room, -1, out);
    while (s->heap != NULL && s->heap->pass <= s->pass && joins(last, s->heap, room, sectors, vecs)) {
        last = heap_pop(s);
        sectors += last->nsect;
        vecs += last->nvecs;
        list_push_back(&out->reqs, &last->link);
        s->head = last->lba + last->nsect;
    }
}

/* The first of `reqs`, and those behind it that continue it, as long as all are no more than `most` sectors. */
static void take_list(struct sched *s, struct list *reqs, const struct sched_room *room, uint32_t most, int flow,
                      struct sched_batch *out)
{
    struct sched_room joined = {min_of(room->sectors, most), room->vecs};
    struct blk_req   *last = list_pop(reqs, struct blk_req, link);
    uint32_t          sectors = last->nsect - last->sdone;
    unsigned          vecs = last->nvecs;

    begin(s, last, room, flow, out);
    while (!list_empty(reqs) && joins(last, list_first(reqs, struct blk_req, link), &joined, sectors, vecs)) {
        last = list_pop(reqs, struct blk_req, link);
        sectors += last->nsect;
        vecs += last->nvecs;
        list_push_back(&out->reqs, &last->link);
        s->head = last->lba + last->nsect;
    }
}

static void take_flow(struct sched *s, struct sched_flow *f, const struct sched_room *room, struct sched_batch *out)
{
    take_list(s, &f->reqs, room, room->sectors, (int)(f - s->flow), out);
    list_remove(&f->turn); /* to the end of the line */
    if (!list_empty(&f->reqs))
        list_push_back(&s->turns, &f->turn);
    f->running++;
    s->running_flows++;
}

/* The next flow that may have a command; NULL: none. */
static struct sched_flow *next_flow(struct sched *s)
{
    struct sched_flow *f;

    LIST_FOREACH (f, &s->turns, turn)
        if (f->running < FLOW_RUNNING)
            return f;
    return NULL;
}

/* Until when the disk is held for the flow that was served last and pauses; 0: it is not. */
static uint64_t held_until(const struct sched *s, uint64_t now)
{
    uint64_t hold = hold_ns(s);

    return s->last != NULL && s->last->quick && within(s->last->idle_ns, hold, now) ? s->last->idle_ns + hold : 0;
}

/* Whether the background is to wait; *again: until when, if it may be that nothing happens before. */
static bool back_waits(const struct sched *s, bool flows_wait, uint64_t now, uint64_t *again)
{
    uint64_t starved = s->back_ns + (uint64_t)disk_fair_starve * NS_PER_MS, until;

    if (now >= starved || s->turns_since_back >= disk_fair_turns)
        return false;
    if (flows_wait || s->running_flows > 0)
        return true; /* a command will end */
    if ((until = held_until(s, now)) == 0)
        return false;
    *again = until;
    return true;
}

/* Sectors of a command while somebody may wait for its end. */
static uint32_t small_sectors(const struct sched *s, uint32_t most)
{
    uint64_t fit = s->sector_ns != 0 ? (uint64_t)disk_fair_slice * NS_PER_US / s->sector_ns : 0;

    return (uint32_t)min_of(max_of(fit, (uint64_t)disk_fair_sectors), (uint64_t)most);
}

static bool take_fair(struct sched *s, const struct sched_room *room, uint64_t now, struct sched_batch *out,
                      uint64_t *again)
{
    struct sched_room  small = {small_sectors(s, room->sectors), room->vecs};
    struct sched_flow *f = next_flow(s);
    uint64_t           linger = (uint64_t)disk_fair_linger * NS_PER_MS;
    bool               lively = f != NULL || s->running_flows > 0 || within(s->flow_ns, linger, now);

    if (s->nback > 0 && s->running_back < (lively ? 1u : BACK_RUNNING) && !back_waits(s, f != NULL, now, again)) {
        s->back_ns = now;
        s->turns_since_back = 0;
        s->running_back++;
        take_heap(s, lively ? &small : room, out);
        return true;
    }
    if (f == NULL)
        return false;
    s->turns_since_back += s->nback > 0;
    take_flow(s, f, s->nback > 0 || s->turns.next != s->turns.prev ? &small : room, out);
    return true;
}

bool sched_take(struct sched *s, const struct sched_room *room, uint64_t now, struct sched_batch *out,
                uint64_t *again)
{
    *again = UINT64_MAX;
    if (s->mode == SCHED_FAIR)
        return take_fair(s, room, now, out, again);
    if (s->mode == SCHED_ELEVATOR && s->heap != NULL)
        take_heap(s, room, out);
    else if (s->mode == SCHED_FIFO && !list_empty(&s->fifo))
        take_list(s, &s->fifo, room, disk_coalesce / SECTOR_SIZE, -1, out);
    else
        return false;
    return true;
}

static uint64_t average(uint64_t old, uint64_t value)
{
    return old == 0 ? value : old - old / 8 + value / 8;
}

void sched_done(struct sched *s, int flow, uint32_t sectors, uint64_t begun, uint64_t now)
{
    struct sched_flow *f = &s->flow[flow < 0 ? 0 : flow];
    uint64_t           took = now - max_of(begun, s->done_ns);

    s->done_ns = now;
    s->service_ns = average(s->service_ns, took);
    s->sector_ns = average(s->sector_ns, took / max_of(sectors, 1u));
    if (flow < 0) {
        s->running_back -= s->running_back > 0;
        return;
    }
    f->running--;
    s->running_flows--;
    s->last = f;
    s->flow_ns = now;
    if (f->running == 0 && list_empty(&f->reqs))
        f->idle_ns = now;
}
