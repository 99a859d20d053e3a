// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wire.c - the interconnect: what a transfer takes of each resource, and how long it lasts.
 *
 * THEORY      A resource has a capacity per bucket of modelled time.  A transfer that comes at time t takes its bytes
 *             from the first bucket at or after t that has room, and starts when those before it in the bucket are through,
 *             so that CPUs which contend get equal shares; in the bucket of t itself it may be ahead of its turn by
 *             the skew, since that is how far the clocks of those before it may be ahead.  So CPUs whose clocks have
 *             drifted apart do not queue behind each other's future (the history-list queue of the Graphite and
 *             Sniper simulators).  A line crosses its resources one after the other; when it has them all, the
 *             pin-to-pin latency of Table B-2 begins.  The data of a read go
 *                 address bus -> home's memory (or the owner's port) -> out -> centerplane -> in -> CPU's port
 *             those of a write the other way.  Out, centerplane and in only between boards.  In a high-end server each
 *             board has an address bus, and the requester's too is used by a remote transaction ("the requesting agent
 *             reruns the address transaction on the requester's address bus", white paper, appendix B).  In a
 *             mid-range server there is one bus for all and no centerplane.  Every address transaction counts as the 64
 *             bytes it could start.
 *             Bus, memory, out, in: one state per board (a single bus is board 0's); port: per CPU.
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
    unsigned nb = p->nboards, n = p->ncpus + 4 * nb + 1;
    struct fp_resource_state *r = calloc(n, sizeof *r);
    struct {
        struct fp_resource_state **place;
        unsigned count;
        uint64_t mbps;
    } kinds[] = {
        {&m->port, p->ncpus, p->port_mbps},
        {&m->memory, nb, p->memory_mbps},
        {&m->bus, nb, p->bus_mbps},
        {&m->out, nb, p->out_mbps},
        {&m->in, nb, p->in_mbps},
        {&m->centerplane, 1, p->centerplane_mbps * nb / (p->double_pumped ? 2 : 1)},
    };

    if (r == NULL)
        return -1;
    m->resources = r;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        *kinds[k].place = r;
        for (unsigned i = 0; i < kinds[k].count; i++, r++)
            *r = (struct fp_resource_state){.capacity = kinds[k].mbps * p->bucket_ps / 1000000,
                                            .line_ps = FP_LINE_BYTES * 1000000 / kinds[k].mbps};
    }
    return 0;
}

/* Number of the bucket that t is in; CPUs are close together, so it is mostly the last one asked for. */
static uint64_t bucket_of(struct fp_model *m, uint64_t t)
{
    if (t - m->hint_ps >= m->p.bucket_ps) {
        m->hint = t / m->p.bucket_ps;
        m->hint_ps = m->hint * m->p.bucket_ps;
    }
    return m->hint;
}

uint64_t fp_reserve(struct fp_model *m, struct fp_resource_state *r, uint64_t t, unsigned bytes)
{
    for (uint64_t b = bucket_of(m, t);; b++) {
        uint64_t *word = &r->bucket[b % FP_BUCKETS], epoch = *word >> USED_BITS;
        uint64_t used = epoch == b ? *word & USED_MASK : 0;

        if (epoch > b) /* forgotten long ago: nobody waits for what was then */
            return t;
        if (used + bytes <= r->capacity) { /* W1 */
            uint64_t turn = b * m->p.bucket_ps + used * r->line_ps / FP_LINE_BYTES;

            *word = b << USED_BITS | (used + bytes);
            if (b != m->hint)
                return turn;
            return turn > t + m->p.skew_ps ? turn - m->p.skew_ps : t;
        }
    }
}

static uint64_t cross(struct fp_cpu_state *c, enum fp_resource kind, struct fp_resource_state *r, uint64_t t)
{
    uint64_t start = fp_reserve(c->model, r, t, FP_LINE_BYTES);

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
    t = cross(c, FP_RES_OUT, &m->out[from], t);
    if (m->p.bus_per_board)
        t = cross(c, FP_RES_CENTERPLANE, m->centerplane, t);
    return cross(c, FP_RES_IN, &m->in[to], t);
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
    unsigned controls;

    if (home != c->board || (owner && owner->board != c->board))
        return remote_latency(c);
    if (c->seat == FP_SEAT_MAXCPU || p->board_cpus[home] == 0)
        return p->expander_ps;
    controls = line % p->board_cpus[home];
    return controls == c->seat ? p->own_ps : controls / 2 == c->seat / 2 ? p->pair_ps : p->board_ps;
}

uint64_t fp_transfer(struct fp_cpu_state *c, uint32_t line, unsigned home, const struct fp_cpu_state *owner,
                     enum fp_move move, uint64_t t)
{
    struct fp_model *m = c->model;
    bool each = m->p.bus_per_board;

    t = cross(c, FP_RES_BUS, &m->bus[each ? home : 0], t);
    if (each && home != c->board)
        t = cross(c, FP_RES_BUS, &m->bus[c->board], t);
    if (move == FP_READ) {
        if (owner)
            t = cross(c, FP_RES_PORT, &m->port[owner->id], t);
        else
            t = cross(c, FP_RES_MEMORY, &m->memory[home], t);
        t = between(c, owner ? owner->board : home, c->board, t);
        t = cross(c, FP_RES_PORT, &m->port[c->id], t);
    } else if (move == FP_WRITE) {
        t = cross(c, FP_RES_PORT, &m->port[c->id], t);
        t = between(c, c->board, home, t);
        t = cross(c, FP_RES_MEMORY, &m->memory[home], t);
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
