// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wire.c - the interconnect: what a transfer takes of each resource, and how long it lasts.
 *
 * THEORY      A resource has a capacity per bucket of modelled time.  A transfer that comes at time t takes its bytes
 *             from the first bucket at or after t that has room, and starts when those before it in the bucket
 *             are through, so that CPUs which contend get equal shares; in the bucket of t itself it may be ahead
 *             of its turn by the skew, since that is how far the clocks of those before it may be ahead.  So CPUs
 *             whose clocks have drifted apart do not queue behind each other's future (the history-list queue of
 *             the Graphite and Sniper simulators).
 *             A line crosses its resources one after the other; when it has them all, the pin-to-pin latency of
 *             Table B-2 begins.  The data of a read go
 *                 address bus -> home's memory (or the owner's port) -> out -> centerplane -> in -> CPU's port
 *             those of a write the other way.  Out, centerplane and in only between boards.  In a high-end server
 *             each board has an address bus, and the requester's too is used by a remote transaction ("the
 *             requesting agent reruns the address transaction on the requester's address bus").  In a mid-range
 *             server there is one bus for all and no centerplane.  Every address transaction counts as the 64
 *             bytes it could start.
 *             Buckets of one time lie side by side, because a transfer uses those of several resources.
 * INVARIANTS  W1  no bucket holds more than its capacity
 *             W2  a transfer is never done before t + its latency
 * SEE ALSO    docs/fireplane.md, white paper appendix B (Tables B-2, B-3)
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#define USED_BITS 24
#define USED_MASK ((1ull << USED_BITS) - 1)

int fp_wire_create(struct fp_model *m)
{
    const struct fp_params *p = &m->p;
    const struct {
        unsigned count;
        uint64_t mbps;
    } kinds[FP_RES_COUNT] = {
        [FP_RES_PORT] = {p->ncpus, p->port_mbps},
        [FP_RES_MEMORY] = {p->nboards, p->memory_mbps},
        [FP_RES_BUS] = {p->nboards, p->bus_mbps},
        [FP_RES_OUT] = {p->nboards, p->out_mbps},
        [FP_RES_IN] = {p->nboards, p->in_mbps},
        [FP_RES_CENTERPLANE] = {1, p->centerplane_mbps * p->nboards / (p->double_pumped ? 2 : 1)},
    };

    for (size_t k = 0; k < FP_RES_COUNT; k++) {
        m->kind[k] = (struct fp_kind){m->row, kinds[k].mbps * p->bucket_ps / 1000000,
                                      FP_LINE_BYTES * 1000000 / kinds[k].mbps};
        m->row += kinds[k].count;
    }
    m->bucket = calloc((size_t)FP_BUCKETS * m->row, sizeof *m->bucket);
    m->hint_row = m->bucket;
    return m->bucket ? 0 : -1;
}

/* m->hint becomes the bucket that t is in: mostly the one that it is, or a neighbour. */
static void seek(struct fp_model *m, uint64_t t)
{
    uint64_t length = m->p.bucket_ps;

    if (t - m->hint_ps < length)
        return;
    if (t - m->hint_ps < 2 * length) {
        m->hint++;
        m->hint_ps += length;
    } else if (m->hint_ps - t <= length) {
        m->hint--;
        m->hint_ps -= length;
    } else {
        m->hint = t / length;
        m->hint_ps = m->hint * length;
    }
    m->hint_row = &m->bucket[m->hint % FP_BUCKETS * m->row];
}

/* The first bucket after m->hint with room; a transfer waits for its beginning, and for those before it there. */
static uint64_t reserve_later(struct fp_model *m, const struct fp_kind *k, unsigned i, uint64_t t)
{
    for (uint64_t b = m->hint + 1;; b++) {
        uint64_t *word = &m->bucket[b % FP_BUCKETS * m->row + i], epoch = *word >> USED_BITS;
        uint64_t used = epoch == b ? *word & USED_MASK : 0;

        if (epoch > b) /* forgotten long ago: nobody waits for what was then */
            return t;
        if (used + FP_LINE_BYTES > k->capacity) /* W1 */
            continue;
        *word = b << USED_BITS | (used + FP_LINE_BYTES);
        return b * m->p.bucket_ps + used / FP_LINE_BYTES * k->line_ps;
    }
}

static inline uint64_t reserve(struct fp_model *m, enum fp_resource kind, unsigned i, uint64_t t)
{
    const struct fp_kind *k = &m->kind[kind];
    uint64_t *word, epoch, used, turn;

    seek(m, t);
    i += k->first;
    word = &m->hint_row[i];
    epoch = *word >> USED_BITS;
    if (epoch > m->hint)
        return t;
    used = epoch == m->hint ? *word & USED_MASK : 0;
    if (used + FP_LINE_BYTES > k->capacity)
        return reserve_later(m, k, i, t);
    *word = m->hint << USED_BITS | (used + FP_LINE_BYTES);
    turn = m->hint_ps + used / FP_LINE_BYTES * k->line_ps;
    return turn > t + m->p.skew_ps ? turn - m->p.skew_ps : t;
}

uint64_t fp_reserve(struct fp_model *m, enum fp_resource kind, unsigned i, uint64_t t)
{
    return reserve(m, kind, i, t);
}

static inline uint64_t cross(struct fp_cpu_state *c, enum fp_resource kind, unsigned i, uint64_t t)
{
    uint64_t start = reserve(c->model, kind, i, t);

    c->n.queue_ps[kind] += start - t;
    return start;
}

static uint64_t between(struct fp_cpu_state *c, unsigned from, unsigned to, uint64_t t)
{
    struct fp_model *m = c->model;

    m->traffic[from][to] += FP_LINE_BYTES;
    FP_TRAFFIC(m->page)[from][to] = m->traffic[from][to];
    if (from == to)
        return t;
    t = cross(c, FP_RES_OUT, from, t);
    if (m->p.bus_per_board)
        t = cross(c, FP_RES_CENTERPLANE, 0, t);
    return cross(c, FP_RES_IN, to, t);
}

/* A remote access: a fixed share finds its line in the home's coherency directory cache, evenly spread. */
static uint64_t remote_latency(struct fp_cpu_state *c)
{
    const struct fp_params *p = &c->model->p;

    c->cdc += (unsigned)p->cdc_hit_percent;
    if (c->cdc < 100)
        return p->remote_miss_ps;
    c->cdc -= 100;
    return p->remote_ps;
}

static uint64_t latency(struct fp_cpu_state *c, uint32_t line, unsigned home, const struct fp_cpu_state *owner)
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

uint64_t fp_transfer(struct fp_cpu_state *c, uint32_t line, unsigned home, const struct fp_cpu_state *owner,
                     enum fp_move move, uint64_t t)
{
    bool each = c->model->p.bus_per_board;

    t = cross(c, FP_RES_BUS, each ? home : 0, t);
    if (each && home != c->board)
        t = cross(c, FP_RES_BUS, c->board, t);
    if (move == FP_READ) {
        if (owner)
            t = cross(c, FP_RES_PORT, owner->id, t);
        else
            t = cross(c, FP_RES_MEMORY, home, t);
        t = between(c, owner ? owner->board : home, c->board, t);
        t = cross(c, FP_RES_PORT, c->id, t);
    } else if (move == FP_WRITE) {
        t = cross(c, FP_RES_PORT, c->id, t);
        t = between(c, c->board, home, t);
        t = cross(c, FP_RES_MEMORY, home, t);
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
        c->model->seen[c->id] = t;
}

void fp_drain(struct fp_cpu_state *c)
{
    for (unsigned i = 0; i < c->model->p.misses_in_flight; i++)
        fp_stall(c, c->slot[i]);
}
