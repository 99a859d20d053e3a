// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * model.c - clocks, slices, doorbells and the shared page.
 *
 * THEORY      QEMU runs one CPU after another, each for a while (a slice), but the modelled CPUs run at the same time.
 *             So their clocks must stay close together.  A CPU is active while it runs user code.  Its first user
 *             instruction after a pause, a halt or a switch makes it active.  If its clock is then behind that of the
 *             slowest active CPU, it is set to that clock.  An active CPU can run until it is skew_ps ahead of the
 *             slowest other active CPU.  Then its slice ends, and QEMU runs the next CPU.  After a CPU has used the
 *             interconnect, its slice already ends when it is order_ps ahead.  So transfers come nearly in the order of
 *             modelled time, and CPUs that contend get equal shares.
 *             The other CPUs' clocks stand still during a slice, so the limit is computed once per slice.
 *             The guest's arguments are copied from the page once and checked; nothing else is read from the page.
 * INVARIANTS  M1, M5 of model.h; I1, I2 of include/uapi/fireplane.h
 * SEE ALSO    docs/fireplane.md
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#define INACTIVE   (~0ull)
/* shortest modelled time between two publications, because a slice can be much shorter */
#define PUBLISH_PS 1000000

static struct fp_header *header(struct fp_model *m)
{
    return (struct fp_header *)m->page;
}

static struct fp_cpu *shared(const struct fp_cpu_state *c)
{
    return FP_CPU(c->model->page, c->id);
}

static void write_header(struct fp_model *m, const char *params_text)
{
    struct fp_header *h = header(m);

    h->version = FP_VERSION;
    h->ncpus = m->p.ncpus;
    h->nboards = m->p.nboards;
    h->clock_ps = m->p.clock_ps;
    h->ecache_bytes = m->p.ecache_kib << 10;
    h->ecache_ways = (uint32_t)m->p.ecache_ways;
    h->skew_ps = m->p.skew_ps;
    strncpy(h->params, params_text, sizeof h->params - 1);
    for (unsigned i = 0; i < m->p.ncpus; i++)
        shared(&m->cpu[i])->board = m->cpu[i].board;
    __atomic_store_n(&h->magic, FP_MAGIC, __ATOMIC_RELEASE);
}

struct fp_model *fp_create(const struct fp_params *p, void *page, const char *params_text)
{
    struct fp_model *m = calloc(1, sizeof *m);

    if (m == NULL)
        return NULL;
    m->p = *p;
    m->page = page;
    memset(page, 0, FP_SHARED_BYTES);
    m->cpu = aligned_alloc(64, p->ncpus * sizeof *m->cpu);
    if (m->cpu == NULL) {
        fp_destroy(m);
        return NULL;
    }
    memset(m->cpu, 0, p->ncpus * sizeof *m->cpu);
    for (unsigned i = 0; i < FP_MAX_CPUS; i++)
        m->seen[i] = INACTIVE;
    for (unsigned i = 0; i < p->ncpus; i++) {
        struct fp_cpu_state *c = &m->cpu[i];

        c->model = m;
        c->id = i;
        c->board = p->board[i];
        c->seat = p->seat[i];
        c->gen = FP_GENERATION;
        c->mine = (i + 1) | FP_DIRTY;
    }
    if (fp_wire_create(m) != 0 || fp_crossbar_create(m) != 0 || fp_caches_create(m) != 0) {
        fp_destroy(m);
        return NULL;
    }
    write_header(m, params_text);
    return m;
}

void fp_destroy(struct fp_model *m)
{
    fp_heat_end(m);
    if (m->cpu)
        fp_caches_destroy(m);
    free(m->cpu);
    free(m->bucket);
    free(m->ports);
    free(m);
}

void fp_publish(struct fp_cpu_state *c)
{
    struct fp_model *m = c->model;
    uint64_t accesses = c->n.loads + c->n.stores;
    volatile uint64_t *to = (volatile uint64_t *)&shared(c)->counts;
    const uint64_t *from = (const uint64_t *)&c->n;

    c->n.time_ps = c->clock;
    c->n.fp_stall_ps = c->clock - c->skipped - c->n.stall_ps - c->n.instr * m->p.clock_ps;
    /* the guest can pass this value to FP_OP_SWITCH, which refuses times after m->latest */
    if (c->clock > m->latest)
        m->latest = c->clock;
#pragma GCC unroll 32
    for (size_t i = 0; i < sizeof c->n / sizeof *from; i++)
        to[i] = from[i];
    shared(c)->active = m->seen[c->id] != INACTIVE;
    m->accesses += accesses - c->published;
    c->published = accesses;
    header(m)->accesses = m->accesses;
}

/* ---- slices -------------------------------------------------------------------------------- */

/* Sets the clock to the later time t.  No thread is charged for the time between. */
static void skip_to(struct fp_cpu_state *c, uint64_t t)
{
    c->skipped += t - c->clock;
    c->clock = t;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * The clock of the slowest active CPU other than c; INACTIVE: there is none.  The other clocks do not change while c
 * runs, so this is computed once per slice.  The loop has four independent minima, which the host computes in parallel.
 */
static uint64_t slowest_other(struct fp_cpu_state *c)
{
    struct fp_model *m = c->model;
    uint64_t least[4] = {INACTIVE, INACTIVE, INACTIVE, INACTIVE}, mine = m->seen[c->id];

    if (m->runs == c)
        return m->others;
    m->seen[c->id] = INACTIVE;
    for (unsigned i = 0; i < m->p.ncpus; i += 4) /* the entries beyond the last CPU are INACTIVE */
        for (unsigned k = 0; k < 4; k++)
            least[k] = lesser(least[k], m->seen[i + k]);
    m->seen[c->id] = mine;
    m->runs = c;
    m->others = lesser(lesser(least[0], least[1]), lesser(least[2], least[3]));
    return m->others;
}

/* Makes the CPU inactive until fp_slice() activates it again.  Meanwhile other CPUs do not wait for it. */
static void deactivate(struct fp_cpu_state *c)
{
    fp_see(c, INACTIVE);
    c->limit = 0;
    fp_publish(c);
}

/*
 * Prefetches the state of the next CPU into the host's caches, because the other CPUs' state has displaced it there.
 * QEMU runs CPUs in the order of their numbers.  If it runs another CPU next, only the prefetch is wasted.
 */
static void prefetch_next(const struct fp_cpu_state *c)
{
    const struct fp_model *m = c->model;
    const struct fp_cpu_state *next = &m->cpu[c->id + 1 < m->p.ncpus ? c->id + 1 : 0];
    const char *end = (const char *)&next->misses.slot[m->p.misses_in_flight];

    for (const char *p = (const char *)next; p < end; p += 64)
        __builtin_prefetch(p);
    __builtin_prefetch(&next->stores);
    __builtin_prefetch(&next->writebacks);
    __builtin_prefetch(next->stream);
    __builtin_prefetch(next->stream_age);
    for (unsigned i = 0; i < 3; i++)
        __builtin_prefetch(next->used[i]);
}

void fp_slice(struct fp_cpu_state *c)
{
    struct fp_model *m = c->model;
    bool goes_on = c->limit != 0, ends;
    uint64_t others;

    if (!m->armed) { /* the rest of a block of code that was translated while armed */
        c->limit = ~0ull;
        return;
    }
    others = slowest_other(c);
    if (c->limit == 0 && others != INACTIVE && others > c->clock)
        skip_to(c, others);
    m->seen[c->id] = c->clock;
    if (lesser(others, c->clock) > m->progress)
        m->progress = lesser(others, c->clock);
    c->limit = (others == INACTIVE ? c->clock : others) + m->p.skew_ps;
    c->near = others == INACTIVE ? c->limit : others + m->p.order_ps;
    /* The only active CPU ends its slice, too, because a CPU that was just woken up is inactive until it runs. */
    ends = others == INACTIVE ? goes_on : c->clock > (c->moved ? c->near : c->limit);
    c->moved = false;
    if (!goes_on || (ends && c->clock - c->n.time_ps >= PUBLISH_PS))
        fp_publish(c);
    if (ends) {
        prefetch_next(c);
        m->yield(c->id);
    }
}

void fp_pause(struct fp_model *m, unsigned cpu)
{
    struct fp_cpu_state *c = &m->cpu[cpu];

    if (m->armed && c->limit != 0)
        deactivate(c);
}

void fp_idle(struct fp_model *m, unsigned cpu)
{
    fp_pause(m, cpu);
}

/* ---- doorbells ----------------------------------------------------------------------------- */

static void arm(struct fp_model *m)
{
    for (unsigned i = 0; i < m->p.ncpus; i++)
        if (m->cpu[i].clock > m->latest)
            m->latest = m->cpu[i].clock;
    fp_caches_clear(m);
    fp_heat_clear(m);
    for (unsigned i = 0; i < m->p.ncpus; i++) {
        struct fp_cpu_state *c = &m->cpu[i];

        skip_to(c, m->latest);
        deactivate(c);
    }
    m->progress = m->latest;
    m->armed = true;
    header(m)->armed = 1;
}

static void disarm(struct fp_model *m)
{
    for (unsigned i = 0; i < m->p.ncpus; i++) {
        fp_drain(&m->cpu[i]);
        deactivate(&m->cpu[i]);
    }
    m->armed = false;
    header(m)->armed = 0;
    header(m)->disarmed++;
}

/* The doorbells about page heat.  The arguments are read once. */
static void on_heat(struct fp_model *m, struct fp_cpu_state *c, unsigned op)
{
    struct fp_cpu *slot = shared(c);
    uint64_t address = *(volatile uint64_t *)&slot->arg[0];

    if (op == FP_OP_HEAT)
        slot->ret[0] = fp_heat_read(m, address, FP_HEAT(m->page, c->id));
    else
        fp_heat_forget(m, address, *(volatile uint64_t *)&slot->arg[1]);
}

enum fp_ask fp_doorbell(struct fp_model *m, unsigned cpu, unsigned op)
{
    struct fp_cpu_state *c;
    bool before = m->armed;
    uint64_t thread;

    if (cpu >= m->p.ncpus)
        return FP_NOTHING;
    c = &m->cpu[cpu];
    switch (op) {
    case FP_OP_SYNC:
        fp_publish(c);
        break;
    case FP_OP_ARM:
        if (!m->armed)
            arm(m);
        break;
    case FP_OP_DISARM:
        if (m->armed)
            disarm(m);
        break;
    case FP_OP_SWITCH:
        thread = *(volatile uint64_t *)&shared(c)->arg[0];
        if (m->armed)
            fp_drain(c);
        shared(c)->ret[0] = c->clock;
        deactivate(c);
        /* a thread's time is never later than m->latest */
        if (thread > c->clock && thread <= m->latest)
            skip_to(c, thread);
        break;
    case FP_OP_PROBE:
        for (unsigned i = 0; i < 4; i++)
            c->probe[i] = *(volatile uint64_t *)&shared(c)->arg[i];
        shared(c)->ret[0] = 1;
        break;
    case FP_OP_NEW_FRAMES:
    case FP_OP_HEAT:
        on_heat(m, c, op);
        break;
    case FP_OP_PROVEN:
    case FP_OP_BROKEN:
        if (m->tested != FP_UNTESTED)
            break;
        header(m)->tested = m->tested = op == FP_OP_PROVEN ? FP_PROVEN : FP_BROKEN;
        if (op == FP_OP_BROKEN)
            return FP_GIVE_UP;
        break;
    default:
        break;
    }
    return m->armed != before ? FP_REWATCH : FP_NOTHING;
}

void fp_probe(struct fp_model *m, unsigned cpu, uint64_t raw)
{
    struct fp_cpu_state *c = &m->cpu[cpu];
    uint64_t at = c->probe[0], base = c->probe[1], length = c->probe[2], board = c->probe[3];
    uint64_t limit = m->nlines << FP_LINE_SHIFT, boards = 0;
    struct fp_range *r = &m->range[m->nranges];

    if (length == 0 || length > limit || base > limit - length || (base | length) % 4096 ||
        at - base >= length)
        return;
    if (board >= m->p.nboards || raw < at - base || (raw - (at - base)) % 4096)
        return;
    *r = (struct fp_range){raw - (at - base), length, base, (unsigned)board};
    for (unsigned i = 0; i < m->nranges; i++) {
        const struct fp_range *o = &m->range[i];

        if (r->raw == o->raw && r->length == o->length && r->physical == o->physical &&
            r->board == o->board) {
            shared(c)->ret[0] = 0; /* probed before */
            return;
        }
        if ((r->raw < o->raw + o->length && o->raw < r->raw + r->length) ||
            (r->physical < o->physical + o->length && o->physical < r->physical + r->length))
            return;
    }
    if (m->nranges == sizeof m->range / sizeof m->range[0] - 1)
        return;
    m->nranges++;
    memset(&m->home[base >> 12], (int)board + 1, length >> 12);
    for (unsigned i = 0; i < m->nranges; i++)
        boards |= 1ull << m->range[i].board;
    header(m)->boards_known = (uint32_t)__builtin_popcountll(boards);
    for (unsigned i = 0; i < m->p.ncpus; i++)
        memset(m->cpu[i].page, 0, sizeof m->cpu[i].page);
    shared(c)->ret[0] = 0;
}
