// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wire.c - the interconnect: the waits of a transfer for each resource, and its latency.
 *
 * THEORY      A bus or a memory can move only so many bytes per second, so transfers that need it at the same time must
 *             wait.  The model divides the time of each resource into buckets of bucket_ps.  Each bucket has space for
 *             a number of lines.  A transfer that comes at time t takes space in the first bucket at or after t that is
 *             not full.  It starts when the lines before it in this bucket have been moved, so CPUs that contend get
 *             equal shares.
 *             In the bucket of t itself it can start order_ps earlier, because the clocks of the CPUs that came before
 *             it can be so far ahead.  So a CPU whose clock is behind does not queue behind transfers that are in the
 *             future for its clock (the history-list queue of the Graphite and Sniper simulators).
 *             A line crosses its resources one after the other; then the pin-to-pin latency of Table B-2 begins.  The
 *             data of a read go
 *                 address bus -> home's memory (or the owner's port) -> data crossbar (crossbar.c) -> CPU's port
 *             The data of a write go the other way.  The crossbar is used only between boards.
 *             In a mid-range server there is one address bus for all boards.  In a high-end server each board has its
 *             own; a transfer uses those of the home, of the owner's board and of the requester ("the requesting agent
 *             reruns the address transaction on the requester's address bus").  There the request crosses the address
 *             crossbar to the home, and from there to the owner's board if this is another board.  The response crosses
 *             the response crossbar.
 *             Each address transaction, request and response counts as one line of 64 bytes.
 *             A bucket is one word: the time at which it begins (ps), plus the number of lines that it holds.  This
 *             works because a bucket has space for fewer lines than it has picoseconds (params.c).
 *             Buckets of one time are adjacent in memory, because a transfer uses those of several resources.
 * INVARIANTS  W1  no bucket holds more lines than its capacity
 *             W2  a transfer never ends before t + its latency
 * SEE ALSO    docs/fireplane.md, white paper appendix B (Tables B-2, B-3)
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

int fp_wire_create(struct fp_model *m)
{
    const struct fp_params *p = &m->p;
    const struct {
        unsigned count;
        uint64_t mbps;
    } kinds[FP_RES_BUCKETS] = {
        [FP_RES_PORT] = {p->ncpus, p->port_mbps},
        [FP_RES_MEMORY] = {p->nboards, p->memory_mbps},
        [FP_RES_BUS] = {p->nboards, p->bus_mbps},
        [FP_RES_REQUEST] = {2 * p->nboards, p->request_mbps},
        [FP_RES_RESPONSE] = {2 * p->nboards, p->response_mbps},
    };

    for (size_t k = 0; k < FP_RES_BUCKETS; k++) {
        m->kind[k] =
            (struct fp_kind){m->row, kinds[k].mbps * p->bucket_ps / 1000000 / FP_LINE_BYTES,
                             FP_LINE_BYTES * 1000000 / kinds[k].mbps};
        m->row += kinds[k].count;
    }
    m->bucket = calloc((size_t)FP_BUCKETS * m->row, sizeof *m->bucket);
    m->bucket_end = m->bucket + (size_t)FP_BUCKETS * m->row;
    m->hint.row = m->bucket;
    return m->bucket ? 0 : -1;
}

/* Moves *at to the following buckets. */
static void next(const struct fp_model *m, struct fp_buckets *at)
{
    at->ps += m->p.bucket_ps;
    at->row += m->row;
    if (at->row == m->bucket_end)
        at->row = m->bucket;
}

/* Sets m->hint to the buckets of time t.  Usually these are the buckets that follow the present ones. */
static __attribute__((noinline)) void seek(struct fp_model *m, uint64_t t)
{
    uint64_t length = m->p.bucket_ps;

    if (t - m->hint.ps < 2 * length) {
        next(m, &m->hint);
    } else {
        m->hint.ps = t / length * length;
        m->hint.row = &m->bucket[t / length % FP_BUCKETS * m->row];
    }
}

/*
 * The slow path of reserve(): the bucket is full, or its word is from another time.  In a later bucket the transfer
 * starts after the lines that are already in that bucket.
 */
static __attribute__((noinline)) uint64_t reserve_later(const struct fp_model *m,
                                                        struct fp_buckets *at,
                                                        const struct fp_kind *k, unsigned i,
                                                        uint64_t t)
{
    struct fp_buckets b = *at;
    uint64_t used;

    while ((used = b.row[i] > b.ps ? b.row[i] - b.ps : 0) >= k->lines) { /* W1 */
        /* the word is of a later time: t is too long ago, and the transfer does not wait */
        if (used >= m->p.bucket_ps)
            return t;
        next(m, &b);
    }
    b.row[i] = b.ps + used + 1;
    if (b.ps == at->ps)
        return t;
    *at = b;
    return b.ps + used * k->line_ps;
}

/* Reserves space for a line at or after t.  *at: in, the buckets of t; out, those used.  Returns the start, ps. */
static inline uint64_t reserve(const struct fp_model *m, struct fp_buckets *at,
                               enum fp_resource kind, unsigned i, uint64_t t)
{
    const struct fp_kind *k = &m->kind[kind];
    uint64_t *word = &at->row[k->first + i], used = *word - at->ps, turn;

    if (__builtin_expect(used >= k->lines, 0)) /* also true if the word is of another time */
        return reserve_later(m, at, k, k->first + i, t);
    *word += 1;
    turn = at->ps + used * k->line_ps;
    return turn > t + m->p.order_ps ? turn - m->p.order_ps : t;
}

static inline struct fp_buckets buckets_of(struct fp_model *m, uint64_t t)
{
    if (__builtin_expect(t - m->hint.ps >= m->p.bucket_ps, 0))
        seek(m, t);
    return m->hint;
}

uint64_t fp_reserve(struct fp_model *m, enum fp_resource kind, unsigned i, uint64_t t)
{
    struct fp_buckets at = buckets_of(m, t);

    return reserve(m, &at, kind, i, t);
}

/* Like reserve(), but also adds the wait to the CPU's queue_ps. */
static inline uint64_t cross(struct fp_cpu_state *c, struct fp_buckets *at, enum fp_resource kind,
                             unsigned i, uint64_t t)
{
    uint64_t start = reserve(c->model, at, kind, i, t);

    if (start != t)
        c->n.queue_ps[kind] += start - t;
    return start;
}

/* Moves a line over the data crossbar to another board, or within a board without a wait.  Returns the start, ps. */
static inline uint64_t between(struct fp_cpu_state *c, unsigned from, unsigned to, uint64_t t)
{
    struct fp_model *m = c->model;
    uint64_t start;

    FP_TRAFFIC(m->page)[from][to] += FP_LINE_BYTES;
    if (from == to)
        return t;
    start = fp_crossbar(m, from, to, t);
    c->n.queue_ps[FP_RES_CROSSBAR] += start - t;
    return start;
}

/* Sends a request or a response between boards of a high-end server.  A board has a link to the crossbar, and back. */
static inline uint64_t message(struct fp_cpu_state *c, struct fp_buckets *at, enum fp_resource kind,
                               unsigned from, unsigned to, uint64_t t)
{
    if (from == to)
        return t;
    t = cross(c, at, kind, 2 * from, t);
    return cross(c, at, kind, 2 * to + 1, t);
}

/* The latency of a remote access, ps.  A fixed share of these accesses hits in the home's coherency directory cache. */
static uint64_t remote_latency(struct fp_cpu_state *c)
{
    const struct fp_params *p = &c->model->p;

    c->cdc += (unsigned)p->cdc_hit_percent;
    if (c->cdc < 100)
        return p->remote_miss_ps;
    c->cdc -= 100;
    return p->remote_ps;
}

/* The latency of a transfer, ps.  It depends on the places of the CPU and of the CPU that controls the memory. */
static uint64_t latency(struct fp_cpu_state *c, uint32_t line, unsigned home,
                        const struct fp_cpu_state *owner)
{
    const struct fp_params *p = &c->model->p;
    unsigned n = p->board_cpus[home], controls;

    if (home != c->board || (owner && owner->board != c->board))
        return remote_latency(c);
    if (c->seat == FP_SEAT_MAXCPU || n == 0)
        return p->expander_ps;
    controls = (n & (n - 1)) == 0 ? line & (n - 1) : line % n;
    return controls == c->seat ? p->own_ps : controls / 2 == c->seat / 2 ? p->pair_ps : p->board_ps;
}

uint64_t fp_transfer(struct fp_cpu_state *c, uint32_t line, unsigned home,
                     const struct fp_cpu_state *owner, enum fp_move move, uint64_t t)
{
    struct fp_buckets at = buckets_of(c->model, t);
    bool each = c->model->p.bus_per_board;
    unsigned supplier = owner ? owner->board : home;

    c->moved = true;
    if (each) {
        t = message(c, &at, FP_RES_REQUEST, c->board, home, t);
        t = message(c, &at, FP_RES_REQUEST, home, supplier, t);
    }
    t = cross(c, &at, FP_RES_BUS, each ? home : 0, t);
    if (each && home != c->board)
        t = cross(c, &at, FP_RES_BUS, c->board, t);
    if (each && supplier != home && supplier != c->board)
        t = cross(c, &at, FP_RES_BUS, supplier, t);
    if (each)
        t = message(c, &at, FP_RES_RESPONSE, supplier, c->board, t);
    if (move == FP_READ) {
        if (owner)
            t = cross(c, &at, FP_RES_PORT, owner->id, t);
        else
            t = cross(c, &at, FP_RES_MEMORY, home, t);
        t = between(c, supplier, c->board, t);
        t = cross(c, &at, FP_RES_PORT, c->id, t);
    } else if (move == FP_WRITE) {
        t = cross(c, &at, FP_RES_PORT, c->id, t);
        t = between(c, c->board, home, t);
        t = cross(c, &at, FP_RES_MEMORY, home, t);
    }
    return t + latency(c, line, home, owner);
}

void fp_stall(struct fp_cpu_state *c, uint64_t t)
{
    if (t <= c->clock)
        return;
    c->n.stall_ps += t - c->clock;
    c->clock = t;
    if (c->limit != 0)
        fp_see(c, t);
}

void fp_drain(struct fp_cpu_state *c)
{
    for (unsigned i = 0; i < c->model->p.misses_in_flight; i++)
        fp_stall(c, c->misses.slot[i]);
    for (unsigned i = 0; i < c->model->p.stores_in_flight; i++)
        fp_stall(c, c->stores.slot[i]);
    for (unsigned i = 0; i < c->model->p.writebacks_in_flight; i++)
        fp_stall(c, c->writebacks.slot[i]);
}
