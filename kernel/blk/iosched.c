// SPDX-License-Identifier: MIT
/*
 * iosched.c - the order in which a disk's requests are carried out: a pure policy.
 *
 * THEORY      A disk with a moving arm needs milliseconds to reach a sector and much less to transfer it.  So
 *             the order of the requests decides how much the disk achieves, and also how long each process
 *             waits.  The tunable disk_sched selects one of three orders.
 *
 *             0 fifo      Requests are carried out in the order of their arrival, one command each.  With
 *                         disk_coalesce, a command also takes the queued requests that follow and
 *                         begin where it ends.
 *
 *             1 elevator  The arm sweeps over the disk in one direction: the request with the next higher
 *                         sector comes next.  Requests behind the arm wait for the next sweep (C-LOOK).
 *                         Requests for adjacent sectors become one command.  Sorting makes them neighbours in
 *                         the queue, even if they did not arrive in this order.
 *                         A read that has waited for disk_read_expire ms comes next, or a write that has waited
 *                         for disk_write_expire ms.  After each such command the sweep continues for one
 *                         command.  (Linux's mq-deadline has the same default times.)
 *
 *             2 fair      There are two kinds of requests.  A process waits for its reads and for the writes
 *                         of an fsync: these requests are the flow of the process.  All other writes are the
 *                         background: no process waits for these writes, and one process alone can fill the
 *                         queue with them.  Flows take turns of one command each.  A flow has at most
 *                         FLOW_RUNNING commands at the device.  The background is served in sorted sweeps while
 *                         no flow has requests.  If a flow has had a request in the last disk_fair_linger ms,
 *                         the background gets only one command at a time, and this command is small.  It has at
 *                         most as many sectors as the disk carries out in disk_fair_slice us, but at least
 *                         disk_fair_sectors.  The command of a flow has the same limit while other flows wait.
 *                         The times for positioning and for each sector are measured: struct disk_cost.
 *
 *             Holding     A program that reads at random places requests its next block shortly after it has
 *                         got the last block.  If the arm went back to the background in this
 *                         pause, each read of the program would wait for a command of the
 *                         background.  So the disk is held, that is, kept idle, for a flow if at
 *                         least half of its latest pauses were short.  A pause is short if it is
 *                         not longer than the positioning time that a command of the background
 *                         would cost.  The disk is held for that time, at most disk_fair_hold us
 *                         (Iyer and Druschel, "Anticipatory scheduling", SOSP 2001).  The requests
 *                         of an fsync have such pauses: its data, the log and the commit block
 *                         follow each other.
 *
 *             Starvation  The background gets one command when the flows have used the disk for
 *                         disk_fair_turns us, and after disk_fair_starve ms in any case.  Inside the
 *                         background, and inside a flow, no request starves either: a sweep takes no request
 *                         that arrives more than disk_fair_starve ms after the sweep began (FSCAN takes only
 *                         requests that were queued at the beginning).  So a stream of writes cannot keep the
 *                         arm in one place.
 *                         When a process begins to wait for a request of the background, the request moves to
 *                         the flow of the process (sched_hurry()).
 *
 *             Classes     Priorities (ioprio_set(2)) make four classes: real time; best effort, which are the
 *                         processes described above; the background; idle.  A class waits while a
 *                         more important class has requests or commands, or while the disk is held
 *                         for that class.  A class that waits still gets single commands, by the
 *                         rule for the background (Starvation).  Class idle gets only one command
 *                         each disk_fair_idle ms.  Each level of real time is one flow.  All
 *                         requests of class idle, including the writes that no process waits for,
 *                         are one flow.
 *
 *             Turns       The flows of a class are sorted by tags.  A flow that takes its place in the line
 *                         gets the tag of the flow that had the latest turn, plus STRIDE / weight.  Level n
 *                         has the weight 8 - n (self-clocked fair queueing, Golestani, INFOCOM 1994).  With
 *                         equal weights the new place is the end of the line.  The processes of one user
 *                         share the weight of one process, so a user with many processes does not get more
 *                         than a user with one process.  The disk is held for a flow of the same class only
 *                         if that flow would come before the next flow in line.
 *
 *             Overlapping requests that are queued at the same time are carried out in any order.  The
 *             submitters (the page cache, the buffers of a file system, a program with O_DIRECT) must wait
 *             for the end of one such request before they submit the next.
 * INVARIANTS  I1  a waiting request is in exactly one queue: fifo, or the queue of one flow
 *             I2  a flow is in the line of its class exactly if its queue is not empty
 *             I3  fair: each request is taken in the sweep that is in progress when it arrives, or
 *                 in the next sweep
 * LOCKING     The caller holds the lock of the disk.
 * TUNABLES    disk_sched, disk_coalesce, disk_read_expire, disk_write_expire, disk_fair_hold,
 *             disk_fair_starve, disk_fair_turns, disk_fair_linger, disk_fair_slice, disk_fair_sectors,
 *             disk_fair_idle
 * SEE ALSO    tests/host/test_sched.c, docs/disks.md
 */
#include "blk/iosched.h"

#include "stat/tunable.h"

enum {
    FLOW_RUNNING = 4,
    BACK_RUNNING = 2,
    NS_PER_US = 1000,
    NS_PER_MS = 1000000,
    QUICK_ALL = 256,
    STRIDE = 840
};

unsigned disk_sched = IOSCHED_FAIR;
TUNABLE(disk_sched, 0, IOSCHED_MODES - 1,
        "default 2; order of disk requests: 0 fifo, 1 elevator, 2 fair; read for each request");
unsigned disk_coalesce = 0;
TUNABLE(
    disk_coalesce, 0, 1 << 20,
    "default 0 bytes; fifo: requests that continue each other are one command of so much at most");
unsigned disk_read_expire = 500;
TUNABLE(disk_read_expire, 0, 60000,
        "default 500 ms; elevator: a read that has waited so long comes next; 0: never");
unsigned disk_write_expire = 5000;
TUNABLE(disk_write_expire, 0, 60000,
        "default 5000 ms; elevator: a write that has waited so long comes next; 0: never");
unsigned disk_fair_hold = 20000;
TUNABLE(disk_fair_hold, 0, 1000000,
        "default 20000 us; a disk is held no longer for a process that reads in quick succession");
unsigned disk_fair_starve = 100;
TUNABLE(
    disk_fair_starve, 0, 60000,
    "default 100 ms; one background write at least in this time; and a sweep takes nothing that comes later");
unsigned disk_fair_turns = 25000;
TUNABLE(disk_fair_turns, 0, 10000000,
        "default 25000 us; what processes that wait have of a disk before one background write");
unsigned disk_fair_linger = 200;
TUNABLE(
    disk_fair_linger, 0, 60000,
    "default 200 ms; after a process's request, background writes go one at a time for so long");
unsigned disk_fair_sectors = 32;
TUNABLE(disk_fair_sectors, 8, 2048,
        "default 32 sectors; least size of a command while others wait or lately did");
unsigned disk_fair_slice = 25000;
TUNABLE(disk_fair_slice, 0, 1000000,
        "default 25000 us; such a command is as large as the disk carries out in this time");
unsigned disk_fair_idle = 500;
TUNABLE(disk_fair_idle, 0, 60000,
        "default 500 ms; one command of class idle at least in this time");

/* ---- a heap of requests ---------------------------------------------------------------------- */

/*
 * A pairing heap (Fredman, Sedgewick, Sleator, Tarjan, "The pairing heap", Algorithmica 1986).  r->child is
 * the first child of r, and r->next is the next sibling of r.  r->prev is the previous sibling or, for a
 * first child, the parent.
 */
static bool request_precedes(const struct blk_req *a, const struct blk_req *b)
{
    return a->pass != b->pass ? a->pass < b->pass : a->lba + a->sdone < b->lba + b->sdone;
}

static struct blk_req *heap_meld(struct blk_req *a, struct blk_req *b)
{
    struct blk_req *top = a, *low = b;

    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    if (request_precedes(b, a)) {
        top = b;
        low = a;
    }
    low->next = top->child;
    if (low->next != NULL)
        low->next->prev = low;
    low->prev = top;
    top->child = low;
    return top;
}

/*
 * Queues `r`.  The request waits for the next sweep if it lies behind the arm, or if the current
 * sweep is older than `open_ns`.  The rest of a request that was carried out in part stays in the
 * current sweep.
 */
static void heap_add(struct sched_queue *q, struct blk_req *r, uint64_t now, uint64_t open_ns)
{
    struct list *arrived = &q->arrived[r->op != BLK_READ];

    r->pass = q->pass + (r->sdone == 0 && (r->lba < q->head || now - q->pass_ns > open_ns));
    r->child = r->next = r->prev = NULL;
    q->heap = heap_meld(q->heap, r);
    q->n++;
    if (r->sdone != 0)
        list_push_front(arrived, &r->link);
    else
        list_push_back(arrived, &r->link);
}

/*
 * Melds the children of a request that is removed into one heap.  `r` is the first child.  First
 * melds pairs from the left, then melds all pairs from the right.
 */
static struct blk_req *heap_meld_pairs(struct blk_req *r)
{
    struct blk_req *pairs = NULL, *all = NULL;

    while (r != NULL) {
        struct blk_req *a = r, *b = r->next, *m;

        r = b != NULL ? b->next : NULL;
        a->next = NULL;
        if (b != NULL)
            b->next = NULL;
        m = heap_meld(a, b);
        m->next = pairs;
        pairs = m;
    }
    while (pairs != NULL) {
        struct blk_req *m = pairs;

        pairs = m->next;
        m->next = NULL;
        all = heap_meld(all, m);
    }
    return all;
}

static void heap_remove(struct sched_queue *q, struct blk_req *r)
{
    struct blk_req *below = heap_meld_pairs(r->child);

    if (r == q->heap) {
        q->heap = below;
    } else {
        if (r->prev->child == r)
            r->prev->child = r->next;
        else
            r->prev->next = r->next;
        if (r->next != NULL)
            r->next->prev = r->prev;
        q->heap = heap_meld(q->heap, below);
    }
    q->n--;
    list_remove(&r->link);
}

static struct blk_req *heap_pop(struct sched_queue *q)
{
    struct blk_req *first = q->heap;

    heap_remove(q, first);
    return first;
}

/* ---- queueing -------------------------------------------------------------------------------- */

static void sched_queue_init(struct sched_queue *q)
{
    list_init(&q->arrived[0]);
    list_init(&q->arrived[1]);
}

static uint8_t class_of_flow(unsigned flow)
{
    if (flow == FLOW_IDLE)
        return IO_IDLE;
    if (flow == FLOW_BACK)
        return IO_BACK;
    return flow >= FLOW_RT ? IO_RT : IO_BE;
}

void sched_init(struct sched *s)
{
    *s = (struct sched){.mode = IOSCHED_FIFO};
    list_init(&s->fifo);
    for (unsigned i = 0; i < SCHED_FLOWS; i++) {
        sched_queue_init(&s->flow[i].q);
        list_init(&s->flow[i].turn);
        s->flow[i].cls = class_of_flow(i);
    }
    for (unsigned c = 0; c < IO_CLASSES; c++)
        list_init(&s->line[c].turns);
}

static unsigned ioprio_level_of(const struct blk_req *r)
{
    return r->by.prio == 0 ? IOPRIO_NORMAL : r->by.prio % IOPRIO_LEVELS;
}

/*
 * Finds the flow of a process, or assigns one to it.  The search begins at index pid modulo FLOW_RT and takes
 * the first free flow.  If no flow is free, or if the user already has FLOW_USER flows in use, the
 * process shares a flow, if possible with a process of the same user.
 */
static struct sched_flow *flow_of_process(struct sched *s, struct blk_owner by)
{
    struct sched_flow *own = NULL, *shared = NULL;
    unsigned of_user = 0;

    for (unsigned i = 0; i < FLOW_RT; i++) {
        struct sched_flow *f = &s->flow[(by.pid + i) % FLOW_RT];

        if (f->pid == by.pid && f->user == by.user)
            return f;
        if (f->q.heap == NULL && f->running == 0) {
            own = own != NULL ? own : f;
        } else if (f->user == by.user) {
            shared = shared != NULL ? shared : f;
            of_user++;
        }
    }
    if (own == NULL || of_user >= FLOW_USER)
        return shared != NULL ? shared : &s->flow[by.pid % FLOW_RT];
    if (s->last == own)
        s->last = NULL;
    own->pid = by.pid;
    own->user = by.user;
    own->quick = 0;
    own->idle_ns = 0;
    return own;
}

static struct sched_flow *flow_of_request(struct sched *s, const struct blk_req *r)
{
    unsigned cls = r->by.prio >> IOPRIO_SHIFT;

    if (s->mode == IOSCHED_ELEVATOR)
        return &s->flow[FLOW_BACK];
    if (cls == IOPRIO_IDLE)
        return &s->flow[FLOW_IDLE];
    if (r->op == BLK_WRITE && !r->sync)
        return &s->flow[FLOW_BACK];
    return cls == IOPRIO_RT ? &s->flow[FLOW_RT + ioprio_level_of(r)] : flow_of_process(s, r->by);
}

/* ---- the cost of commands -------------------------------------------------------------------- */

/* A moving average with weight 1/16 for the new value, in fixed point with 8 fraction bits. */
static void update_average(uint64_t *avg, uint64_t value)
{
    *avg = *avg == 0 ? value << 8 : *avg - *avg / 16 + (value << 8) / 16;
}

void disk_cost_learn(struct disk_cost *c, uint32_t n, uint64_t took_ns)
{
    uint64_t square, product;

    update_average(&c->n, n);
    update_average(&c->t, took_ns);
    update_average(&c->nn, (uint64_t)n * n);
    update_average(&c->nt, n * took_ns);
    square = c->n * c->n >> 8;
    product = c->n * c->t >> 8;
    if (c->nn > square + square / 16 &&
        c->nt > product) /* commands of only one length do not define a line */
        c->sector_ns = (c->nt - product) / (c->nn - square);
    if (c->sector_ns == 0 || c->n * c->sector_ns > c->t)
        c->sector_ns = c->t / c->n;
    c->position_ns = (c->t - c->n * c->sector_ns) >> 8;
}

/*
 * The number of sectors that a command transfers in `ns`, including positioning; 0 if the cost is
 * not known.
 */
static uint64_t sectors_within(const struct disk_cost *c, uint64_t ns)
{
    return c->sector_ns == 0 ? 0 : (ns - min_of(ns, c->position_ns)) / c->sector_ns;
}

/* ---- flows ----------------------------------------------------------------------------------- */

/*
 * How long (ns) the disk is held for a flow that pauses: as long as one positioning takes.  Waiting this long
 * in vain costs no more than the positioning that a useful wait saves.
 */
static uint64_t flow_hold_ns(const struct sched *s)
{
    uint64_t most = (uint64_t)disk_fair_hold * NS_PER_US;

    return s->cost.position_ns != 0 ? min_of(most, s->cost.position_ns) : most;
}

static uint64_t starve_ns(void)
{
    return (uint64_t)disk_fair_starve * NS_PER_MS;
}

/* Whether `now` is less than `span` after `since`; false if `since` is 0, which means never. */
static bool is_within_span(uint64_t since, uint64_t span, uint64_t now)
{
    return since != 0 && now - since < span;
}

/*
 * Puts a flow that has requests into the line of its class, after the flows with the same tag.  For best
 * effort, the stride grows with the number of flows of the same user that are in line.
 */
static void enqueue_flow(struct sched *s, struct sched_flow *f)
{
    struct sched_line *l = &s->line[f->cls];
    struct list *at = l->turns.prev;
    struct sched_flow *other;
    unsigned of_user = 1;

    if (f->cls == IO_BE)
        LIST_FOREACH (other, &l->turns, turn)
            of_user += other->user == f->user;
    f->stride = of_user * STRIDE / (IOPRIO_LEVELS - ioprio_level_of(f->q.heap));
    f->tag = l->tag + f->stride;
    while (at != &l->turns && list_entry(at, struct sched_flow, turn)->tag > f->tag)
        at = at->prev;
    list_push_front(at, &f->turn);
}

static void flow_add_request(struct sched *s, struct blk_req *r, uint64_t now)
{
    struct sched_flow *f = flow_of_request(s, r);
    struct sched_line *l = &s->line[f->cls];

    if (f->idle_ns != 0)
        f->quick +=
            (is_within_span(f->idle_ns, flow_hold_ns(s), now) ? QUICK_ALL / 4 : 0) - f->quick / 4;
    f->idle_ns = 0;
    if (list_empty(&l->turns))
        l->since_ns = now;
    heap_add(&f->q, r, now, s->mode == IOSCHED_FAIR ? starve_ns() : UINT64_MAX);
    if (list_empty(&f->turn))
        enqueue_flow(s, f);
}

static void flow_remove_request(struct sched_flow *f, struct blk_req *r)
{
    heap_remove(&f->q, r);
    if (f->q.heap == NULL)
        list_remove(&f->turn);
}

static void enqueue_request(struct sched *s, struct blk_req *r, uint64_t now)
{
    if (s->mode == IOSCHED_FIFO) {
        if (r->sdone != 0)
            list_push_front(&s->fifo, &r->link);
        else
            list_push_back(&s->fifo, &r->link);
    } else {
        flow_add_request(s, r, now);
    }
}

/* Moves all waiting requests to the queues of the new order, after the tunable disk_sched was changed. */
static void change_sched_mode(struct sched *s, uint64_t now)
{
    struct list all = LIST_INIT(all);
    struct blk_req *r;

    while ((r = list_pop(&s->fifo, struct blk_req, link)) != NULL)
        list_push_back(&all, &r->link);
    for (unsigned i = 0; i < SCHED_FLOWS; i++) {
        while (s->flow[i].q.heap != NULL)
            list_push_back(&all, &heap_pop(&s->flow[i].q)->link);
        list_remove(&s->flow[i].turn);
    }
    s->mode = (uint8_t)disk_sched;
    while ((r = list_pop(&all, struct blk_req, link)) != NULL)
        enqueue_request(s, r, now);
}

void sched_add(struct sched *s, struct blk_req *r, uint64_t now)
{
    if (s->mode != disk_sched)
        change_sched_mode(s, now);
    enqueue_request(s, r, now);
}

/* ---- taking ---------------------------------------------------------------------------------- */

/*
 * Whether `b` can follow `a`, the last request of the batch, in the same command.  The batch has `sectors`
 * sectors and `vecs` pieces so far.
 */
static bool can_back_merge(const struct blk_req *a, const struct blk_req *b,
                           const struct sched_room *room, uint32_t sectors, unsigned vecs)
{
    return a->op == b->op && !a->alone && !b->alone && a->lba + a->nsect == b->lba &&
           b->sdone == 0 && sectors + b->nsect <= room->sectors && vecs + b->nvecs <= room->vecs;
}

/* Begins a batch with `r`, which the caller has removed from its queue. */
static void begin_batch(struct sched *s, struct blk_req *r, const struct sched_room *room, int flow,
                        struct sched_batch *out)
{
    list_init(&out->reqs);
    list_push_back(&out->reqs, &r->link);
    out->sectors = room->sectors;
    out->flow = flow;
    s->seq++;
}

/* Elevator: finds a request that has expired, reads first; NULL: none has expired. */
static struct blk_req *find_expired_request(const struct sched *s, uint64_t now)
{
    const unsigned limit_ms[2] = {disk_read_expire, disk_write_expire};

    for (unsigned i = 0; i < 2; i++) {
        const struct list *arrived = &s->flow[FLOW_BACK].q.arrived[i];
        struct blk_req *r = list_first(arrived, struct blk_req, link);

        if (limit_ms[i] != 0 && !list_empty(arrived) &&
            now >= r->submitted_ns + (uint64_t)limit_ms[i] * NS_PER_MS)
            return r;
    }
    return NULL;
}

/* Takes the next request of the sweep and the requests that continue it, and advances q->head past them. */
static void take_sweep_batch(struct sched *s, struct sched_queue *q, const struct sched_room *room,
                             uint64_t now, int flow, struct sched_batch *out)
{
    struct blk_req *last = heap_pop(q);
    uint32_t sectors = last->nsect - last->sdone;
    unsigned vecs = last->nvecs;

    if (last->pass > q->pass) {
        q->pass = last->pass;
        q->pass_ns = now;
    }
    q->head = last->lba + min_of(last->nsect, last->sdone + room->sectors);
    begin_batch(s, last, room, flow, out);
    while (q->heap != NULL && q->heap->pass <= q->pass &&
           can_back_merge(last, q->heap, room, sectors, vecs)) {
        last = heap_pop(q);
        sectors += last->nsect;
        vecs += last->nvecs;
        list_push_back(&out->reqs, &last->link);
        q->head = last->lba + last->nsect;
    }
}

/* Takes the request that arrived first, and the requests behind it that continue it, up to disk_coalesce bytes. */
static void take_fifo_batch(struct sched *s, const struct sched_room *room, struct sched_batch *out)
{
    struct sched_room joined = {min_of(room->sectors, disk_coalesce / SECTOR_SIZE), room->vecs};
    struct blk_req *last = list_pop(&s->fifo, struct blk_req, link);
    uint32_t sectors = last->nsect - last->sdone;
    unsigned vecs = last->nvecs;

    begin_batch(s, last, room, -1, out);
    while (!list_empty(&s->fifo) && can_back_merge(last, list_first(&s->fifo, struct blk_req, link),
                                                   &joined, sectors, vecs)) {
        last = list_pop(&s->fifo, struct blk_req, link);
        sectors += last->nsect;
        vecs += last->nvecs;
        list_push_back(&out->reqs, &last->link);
    }
}

/* Takes a batch of `f` and gives the flow its next place in line. */
static void take_flow_batch(struct sched *s, struct sched_flow *f, const struct sched_room *room,
                            uint64_t now, struct sched_batch *out)
{
    struct sched_line *l = &s->line[f->cls];

    take_sweep_batch(s, &f->q, room, now, (int)(f - s->flow), out);
    l->tag = max_of(l->tag, f->tag);
    l->since_ns = now;
    l->above_ns = 0;
    l->running++;
    f->running++;
    list_remove(&f->turn);
    if (f->q.heap != NULL)
        enqueue_flow(s, f);
}

/*
 * The first flow in line with fewer than `most_running` commands at the device; NULL: there is no
 * such flow.
 */
static struct sched_flow *next_flow(struct sched_line *l, unsigned most_running)
{
    struct sched_flow *f;

    LIST_FOREACH (f, &l->turns, turn)
        if (f->running < most_running)
            return f;
    return NULL;
}

/* Whether a flow other than `f` has requests; class idle does not count. */
static bool others_have_requests(struct sched *s, const struct sched_flow *f)
{
    struct sched_flow *other;

    for (unsigned c = 0; c <= IO_BACK; c++)
        LIST_FOREACH (other, &s->line[c].turns, turn)
            if (other != f)
                return true;
    return false;
}

/* Whether the class has waiting requests or running commands. */
static bool is_class_busy(const struct sched_line *l)
{
    return !list_empty(&l->turns) || l->running > 0;
}

/*
 * The time (ns) until which the disk is held for the flow that was served last.  0: the disk is not
 * held, because that flow does not pause, its pauses are usually long, or it does not come before
 * `f`.
 */
static uint64_t disk_held_until(const struct sched *s, const struct sched_flow *f, uint64_t now)
{
    const struct sched_flow *last = s->last;
    uint64_t hold = flow_hold_ns(s);

    if (last == NULL || last->quick < QUICK_ALL / 2 || !is_within_span(last->idle_ns, hold, now) ||
        last->cls > f->cls || (last->cls == f->cls && s->line[f->cls].tag + last->stride >= f->tag))
        return 0;
    return last->idle_ns + hold;
}

/*
 * Whether `f`, the next flow of its class, must wait.  If `f` waits because the disk is held,
 * *again becomes the time (ns) when the hold ends.  Otherwise the end of a running command ends the
 * wait.
 */
static bool flow_must_wait(const struct sched *s, const struct sched_flow *f, uint64_t now,
                           uint64_t *again)
{
    const struct sched_line *l = &s->line[f->cls];
    bool idle = f->cls == IO_IDLE;
    uint64_t until;

    if (now >= l->since_ns + (idle ? (uint64_t)disk_fair_idle * NS_PER_MS : starve_ns()) ||
        (!idle && l->above_ns >= (uint64_t)disk_fair_turns * NS_PER_US))
        return false;
    for (unsigned c = 0; c < f->cls; c++)
        if (is_class_busy(&s->line[c]))
            return true; /* the next end of a command calls sched_take() again */
    until = disk_held_until(s, f, now);
    if (until == 0)
        return false;
    *again = until;
    return true;
}

/*
 * The most sectors of a command that delays other requests, at most `most`: see disk_fair_slice,
 * disk_fair_sectors.
 */
static uint32_t small_command_sectors(const struct sched *s, uint32_t most)
{
    uint64_t fit = sectors_within(&s->cost, (uint64_t)disk_fair_slice * NS_PER_US);

    return (uint32_t)min_of(max_of(fit, (uint64_t)disk_fair_sectors), (uint64_t)most);
}

static bool take_fair_batch(struct sched *s, const struct sched_room *room, uint64_t now,
                            struct sched_batch *out, uint64_t *again)
{
    struct sched_room small = {small_command_sectors(s, room->sectors), room->vecs};
    uint64_t linger = (uint64_t)disk_fair_linger * NS_PER_MS;
    bool lively = is_class_busy(&s->line[IO_RT]) || is_class_busy(&s->line[IO_BE]) ||
                  is_within_span(s->flow_ns, linger, now);

    /*
     * begin with the last class: a class that has waited for its full time comes before more
     * important classes
     */
    for (unsigned c = IO_CLASSES; c-- > 0;) {
        bool waited_for = c <= IO_BE, delays = lively;
        unsigned most_running = lively ? 1 : BACK_RUNNING;
        struct sched_flow *f;

        if (waited_for)
            most_running = FLOW_RUNNING;
        f = next_flow(&s->line[c], most_running);
        if (f != NULL && !flow_must_wait(s, f, now, again)) {
            if (waited_for)
                delays = others_have_requests(s, f);
            take_flow_batch(s, f, delays ? &small : room, now, out);
            return true;
        }
    }
    return false;
}

bool sched_take(struct sched *s, const struct sched_room *room, uint64_t now,
                struct sched_batch *out, uint64_t *again)
{
    struct sched_flow *all = &s->flow[FLOW_BACK];
    struct blk_req *late = NULL;

    *again = UINT64_MAX;
    if (s->mode == IOSCHED_FAIR)
        return take_fair_batch(s, room, now, out, again);
    if (s->mode == IOSCHED_ELEVATOR && !s->late)
        late = find_expired_request(s, now);
    if (late != NULL) {
        /* q.head does not change: the sweep then continues from there */
        flow_remove_request(all, late);
        begin_batch(s, late, room, -1, out);
    } else if (s->mode == IOSCHED_ELEVATOR && all->q.heap != NULL)
        take_flow_batch(s, all, room, now, out);
    else if (s->mode == IOSCHED_FIFO && !list_empty(&s->fifo))
        take_fifo_batch(s, room, out);
    else
        return false;
    s->late = late != NULL;
    return true;
}

void sched_hurry(struct sched *s, uint64_t file, bool write, struct blk_owner by, uint64_t now)
{
    struct list mine = LIST_INIT(mine);
    struct blk_req *r, *next;

    if (s->mode != IOSCHED_FAIR || by.prio >> IOPRIO_SHIFT == IOPRIO_IDLE)
        return;
    for (unsigned i = FLOW_BACK; i <= FLOW_IDLE; i++)
        LIST_FOREACH_SAFE (r, next, &s->flow[i].q.arrived[write], link)
            if (r->file == file) {
                flow_remove_request(&s->flow[i], r);
                list_push_back(&mine, &r->link);
            }
    while ((r = list_pop(&mine, struct blk_req, link)) != NULL) {
        r->sync = true;
        r->by = by;
        enqueue_request(s, r, now);
    }
}

void sched_done(struct sched *s, int flow, uint32_t sectors, uint64_t begun, uint64_t now)
{
    struct sched_flow *f;
    uint64_t took = now - max_of(begun, s->done_ns);

    s->done_ns = now;
    if (sectors > 0)
        disk_cost_learn(&s->cost, sectors, took);
    if (flow < 0)
        return;
    f = &s->flow[flow];
    for (unsigned c = f->cls + 1u; c < IO_CLASSES; c++)
        if (!list_empty(&s->line[c].turns))
            s->line[c].above_ns += took;
    f->running--;
    s->line[f->cls].running--;
    if (f->cls > IO_BE)
        return;
    s->last = f;
    s->flow_ns = now;
    if (f->running == 0 && f->q.heap == NULL)
        f->idle_ns = now;
}
