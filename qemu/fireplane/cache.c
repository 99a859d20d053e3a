// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cache.c - the caches of each CPU, and what keeps them coherent.
 *
 * THEORY      Level 1: the data cache, 64 KB with four ways and lines of 32 bytes, and the prefetch cache, 2 KB with
 *             lines of 64 bytes, which only floating-point loads can use; both by virtual address, in a set first in,
 *             first out.  Stores do not bring lines into them.  In front of them, for speed, a filter of lines that
 *             were used lately (model.h): what it forgets costs no modelled time.  External cache: physical lines,
 *             set-associative, least recently used first out.  Each line of memory has a coherence word: a version, the
 *             CPU that has it alone (or the owner of a modified line that others read: MOESI's O), whether others may
 *             have copies, whether memory is stale.  A cached line is valid while its version is the line's; so to
 *             invalidate all copies is to count the version up.
 *             A load that misses: from the owner's cache if memory is stale, else from memory.  If it continues
 *             one of the CPU's streams of misses it is as if prefetched: it takes one of the CPU's misses in
 *             flight, and the CPU waits only for a free one; it is in the prefetch cache then, and a load of an
 *             integer waits for the external cache.  Else the CPU waits for the data.
 *             A store that misses goes to the write cache (2 KB, 4 ways, 64-byte lines; white paper, appendix B).
 *             A line that gets complete there is written to memory in one transaction, as block stores do, unread.
 *             One that must leave before, or that is loaded from, is read for ownership into the external cache.
 *             Stores become visible in the order of the program (SPARC V9, TSO), so such reads, and what makes other
 *             copies stale, go one after the other, and the stores behind them wait in the store queue.  The CPU goes
 *             on until that is full.
 *             With write_allocate = "always" every store miss reads for ownership.
 * INVARIANTS  M2, M3, M4 of model.h
 * SEE ALSO    docs/fireplane.md
 */
#include "level1.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t nothing; /* what an empty line of the filter points to */

static void *reserve_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Zeroes whole pages by mapping them afresh. */
static void renew(void *p, size_t bytes)
{
    if (mmap(p, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != p)
        abort(); /* only if the host has no memory for a page table */
}

static void clear_level1(struct fp_cpu_state *c)
{
    for (unsigned i = 0; i < FP_RECENT; i++)
        c->recent[i] = (struct fp_recent){.wordp = &nothing};
    memset(c->page, 0, sizeof c->page);
    memset(c->d_tag, 0, sizeof c->d_tag);
    memset(c->p_tag, 0, sizeof c->p_tag);
}

int fp_caches_create(struct fp_model *m)
{
    unsigned long page = 4096;

    /* Memory may lie above the hole below 4 GB, and QEMU starts it anew at 4 GB. */
    m->nlines = (m->p.memory_mib + 4096) << 20 >> FP_LINE_SHIFT;
    m->ec_sets = (uint32_t)(m->p.ecache_kib * 16 / m->p.ecache_ways);
    m->ec_bytes = (m->p.ecache_kib * 16 * sizeof(struct fp_ec) + page - 1) / page * page;
    m->word = reserve_memory(m->nlines * sizeof *m->word);
    m->home = reserve_memory(m->nlines >> (12 - FP_LINE_SHIFT));
    if (m->word == NULL || m->home == NULL)
        return -1;
    for (unsigned i = 0; i < m->p.ncpus; i++) {
        if ((m->cpu[i].ec = reserve_memory(m->ec_bytes)) == NULL)
            return -1;
        clear_level1(&m->cpu[i]);
    }
    return 0;
}

void fp_caches_destroy(struct fp_model *m)
{
    if (m->word)
        munmap(m->word, m->nlines * sizeof *m->word);
    if (m->home)
        munmap(m->home, m->nlines >> (12 - FP_LINE_SHIFT));
    for (unsigned i = 0; i < m->p.ncpus; i++)
        if (m->cpu[i].ec)
            munmap(m->cpu[i].ec, m->ec_bytes);
}

void fp_caches_clear(struct fp_model *m)
{
    renew(m->word, m->nlines * sizeof *m->word);
    for (unsigned i = 0; i < m->p.ncpus; i++) {
        struct fp_cpu_state *c = &m->cpu[i];

        renew(c->ec, m->ec_bytes);
        clear_level1(c);
        memset(c->wc_line, 0, sizeof c->wc_line);
        memset(c->wc, 0, sizeof c->wc);
        memset(c->stream, 0, sizeof c->stream);
        c->nqueued = 0;
        c->store_limit = ~0ull;
    }
}

void fp_flush_tlb(struct fp_model *m, unsigned cpu)
{
    struct fp_cpu_state *c = &m->cpu[cpu];

    c->gen += FP_GENERATION;
    if (c->gen >= FP_ABSENT(0)) {
        c->gen = FP_GENERATION;
        clear_level1(c);
    }
}

static unsigned home_of(const struct fp_model *m, uint32_t line)
{
    return m->home[line >> (12 - FP_LINE_SHIFT)] - 1u;
}

/* Asks QEMU for the page behind a virtual address; NULL: it cannot say. */
__attribute__((noinline))
static struct fp_page *learn_page(struct fp_cpu_state *c, struct fp_page *pg, uint64_t tag, uint64_t virt,
                                  uint32_t info)
{
    struct fp_model *m = c->model;
    uint64_t raw;

    if (!m->translate(info, virt, &raw))
        return NULL;
    *pg = (struct fp_page){.tag = tag};
    for (unsigned i = 0; i < m->nranges; i++) {
        const struct fp_range *r = &m->range[i];

        if (raw - r->raw < r->length) {
            pg->line = (uint32_t)((r->physical + (raw - r->raw)) >> 12 << (12 - FP_LINE_SHIFT));
            pg->home = (uint8_t)home_of(m, pg->line);
            pg->known = 1;
        }
    }
    return pg;
}

static inline struct fp_page *page_of(struct fp_cpu_state *c, uint64_t virt, uint32_t info)
{
    uint64_t tag = virt >> 12 | c->gen;
    struct fp_page *pg = &c->page[(tag ^ tag >> 10) % FP_PAGES];

    return pg->tag == tag ? pg : learn_page(c, pg, tag, virt, info);
}

static inline void count_miss(struct fp_cpu_state *c, unsigned home, bool load)
{
    c->n.ec_ref++;
    if (home == c->board) {
        c->n.miss_local++;
        c->n.load_miss_local += load;
    } else {
        c->n.miss_remote++;
        c->n.load_miss_remote += load;
    }
}

/*
 * A transfer of which n may be in flight, *f: it begins at or after t, when one of them is free.  Slots are a ring in
 * the order of time; mostly the new one is the last, and takes the place of the first.  Returns when it is done.
 */
static inline uint64_t fly(struct fp_cpu_state *c, struct fp_flights *f, unsigned n, uint32_t line, unsigned home,
                           const struct fp_cpu_state *owner, enum fp_move move, uint64_t t)
{
    unsigned i = f->first, before;
    uint64_t done = fp_transfer(c, line, home, owner, move, f->slot[i] > t ? f->slot[i] : t);

    f->first = i + 1 < n ? i + 1 : 0;
    for (; i != f->first; i = before) {
        before = i != 0 ? i - 1 : n - 1;
        if (f->slot[before] <= done)
            break;
        f->slot[i] = f->slot[before];
    }
    f->slot[i] = done;
    return done;
}

/* A transfer the CPU does not wait for, unless all that may be in flight are. */
static inline void post_one(struct fp_cpu_state *c, struct fp_flights *f, unsigned n, uint32_t line, unsigned home,
                            const struct fp_cpu_state *owner, enum fp_move move)
{
    fp_stall(c, f->slot[f->first]);
    fly(c, f, n, line, home, owner, move, c->clock);
}

static inline void post(struct fp_cpu_state *c, uint32_t line, unsigned home, const struct fp_cpu_state *owner,
                        enum fp_move move)
{
    post_one(c, &c->misses, (unsigned)c->model->p.misses_in_flight, line, home, owner, move);
}

/* ---- store queue --------------------------------------------------------------------------- */

/* The first of the stores that wait has left the queue when the CPU goes on; so have those behind it that are done. */
static void leave_queue(struct fp_cpu_state *c)
{
    fp_stall(c, c->queued[c->oldest].done);
    while (c->nqueued != 0 && c->queued[c->oldest].done <= c->clock) {
        c->oldest = (c->oldest + 1) % FP_MAX_FLIGHTS;
        c->nqueued--;
    }
    c->store_limit = c->nqueued ? c->queued[c->oldest].number + c->model->p.store_queue : ~0ull;
}

__attribute__((noinline)) void fp_queue_full(struct fp_cpu_state *c)
{
    while (c->n.stores >= c->store_limit)
        leave_queue(c);
}

/* A store that must own its line first, which others have to see in order: it and those behind it wait in the queue. */
static inline void post_store(struct fp_cpu_state *c, uint32_t line, unsigned home, const struct fp_cpu_state *owner,
                              enum fp_move move)
{
    struct fp_queued *last;
    uint64_t done;

    if (c->nqueued == FP_MAX_FLIGHTS) /* stores across two lines need two each */
        leave_queue(c);
    done = fly(c, &c->stores, (unsigned)c->model->p.stores_in_flight, line, home, owner, move, c->clock);
    if (c->nqueued == 0) {
        c->store_limit = c->n.stores + c->model->p.store_queue;
    } else {
        last = &c->queued[(c->oldest + c->nqueued - 1) % FP_MAX_FLIGHTS];
        done = done > last->done ? done : last->done;
    }
    c->queued[(c->oldest + c->nqueued++) % FP_MAX_FLIGHTS] = (struct fp_queued){c->n.stores, done};
}

/* A load whose line is not in level 1 asks the external cache. */
static inline void await_ecache(struct fp_cpu_state *c)
{
    fp_stall(c, c->clock + c->model->p.ecache_latency * c->model->p.clock_ps);
}

/* The CPU goes on when the line is there. */
static inline void await(struct fp_cpu_state *c, uint32_t line, unsigned home, const struct fp_cpu_state *owner)
{
    fp_stall(c, fp_transfer(c, line, home, owner, FP_READ, c->clock));
}

/* The CPU whose cache must supply the line, or NULL: memory does. */
static const struct fp_cpu_state *supplier(const struct fp_cpu_state *c, uint64_t word)
{
    return word & FP_DIRTY ? &c->model->cpu[(word & FP_OWNER) - 1] : NULL;
}

/* ---- external cache ------------------------------------------------------------------------ */

static struct fp_ec *ec_set(struct fp_cpu_state *c, uint32_t line)
{
    return &c->ec[(line & (c->model->ec_sets - 1)) * c->model->p.ecache_ways];
}

/* The line's entry in its set, now the most recently used; NULL: not there, or stale. */
static inline struct fp_ec *ec_find(const struct fp_model *m, struct fp_ec *set, uint32_t line)
{
    unsigned ways = (unsigned)m->p.ecache_ways, i = 0;
    struct fp_ec found;

    while (set[i].line != line + 1)
        if (++i == ways)
            return NULL;
    found = set[i];
    if ((found.version & ~FP_WROTE) != version_of(m->word[line]))
        return NULL; /* a line has one entry */
    for (; i > 0; i--)
        set[i] = set[i - 1];
    set[0] = found;
    return set;
}

/* A line that this CPU has written leaves its external cache: it is written back if memory is stale (M3). */
__attribute__((noinline)) static void ec_evict(struct fp_cpu_state *c, struct fp_ec out)
{
    uint32_t line = out.line - 1;
    uint64_t *word = &c->model->word[line];

    if (version_of(*word) != (out.version & ~FP_WROTE) || !(*word & FP_DIRTY) || (*word & FP_OWNER) != c->id + 1)
        return;
    *word &= ~(FP_OWNER | FP_DIRTY);
    c->n.writeback++;
    post_one(c, &c->writebacks, (unsigned)c->model->p.writebacks_in_flight, line, home_of(c->model, line), NULL,
             FP_WRITE);
}

/* Put the line into its set, `wrote`: FP_WROTE or 0; the least recently used one leaves. */
static inline void ec_insert(struct fp_cpu_state *c, struct fp_ec *set, uint32_t line, uint32_t wrote)
{
    unsigned i = 0, last = (unsigned)c->model->p.ecache_ways - 1;
    struct fp_ec out;

    while (i < last && set[i].line != 0 && set[i].line != line + 1)
        i++;
    out = set[i];
    for (; i > 0; i--)
        set[i] = set[i - 1];
    set[0] = (struct fp_ec){line + 1, version_of(c->model->word[line]) | wrote};
    if (out.line != 0 && out.line != line + 1 && (out.version & FP_WROTE))
        ec_evict(c, out);
}

/* Read the line to own it: all other copies are stale, memory too. */
__attribute__((noinline)) static void read_to_own(struct fp_cpu_state *c, uint32_t line, bool wait)
{
    uint64_t *word = &c->model->word[line];
    unsigned home = home_of(c->model, line);

    count_miss(c, home, false);
    if (wait) { /* a load from a line that is not complete: after the stores before it */
        await_ecache(c);
        for (unsigned i = 0; i < c->model->p.stores_in_flight; i++)
            fp_stall(c, c->stores.slot[i]);
        await(c, line, home, supplier(c, *word));
    } else {
        post_store(c, line, home, supplier(c, *word), FP_READ);
    }
    *word = (*word & ~FP_STATE) + FP_VERSION_STEP + c->mine;
    ec_insert(c, ec_set(c, line), line, FP_WROTE);
}

/* The CPU has made all other copies of the line stale, not those of its level 1. */
static void keep_in_level1(struct fp_cpu_state *c, uint64_t vline, uint32_t before, uint32_t version)
{
    int i = l1_find(prefetch_cache(c), vline | c->gen);

    if (i >= 0 && c->p_version[i] == before)
        c->p_version[i] = version;
    for (unsigned half = 0; half < 2; half++)
        if ((i = l1_find(data_cache(c), half_tag(vline, half, c->gen))) >= 0 && c->d_version[i] == before)
            c->d_version[i] = version;
}

/* A store to a line that is in the external cache. */
__attribute__((noinline))
static void ec_own(struct fp_cpu_state *c, uint32_t line, struct fp_ec *entry, uint64_t vline)
{
    uint64_t *word = &c->model->word[line], owner = *word & FP_OWNER;
    uint32_t before = version_of(*word);

    if ((*word & FP_SHARED) || (owner != 0 && owner != c->id + 1)) {
        post_store(c, line, home_of(c->model, line), NULL, FP_ADDRESS);
        *word += FP_VERSION_STEP;
        keep_in_level1(c, vline, before, version_of(*word));
    }
    entry->version = version_of(*word) | FP_WROTE;
    *word = (*word & ~FP_STATE) | c->mine;
}

/* Does this miss continue one of the CPU's streams?  Remember it either way. */
static bool in_stream(struct fp_cpu_state *c, uint64_t vline)
{
    unsigned n = (unsigned)c->model->p.streams, oldest = 0, i = c->last_stream;

    c->tick++;
    for (unsigned k = 0; k < n; k++, i = i + 1 < n ? i + 1 : 0)
        if (vline - c->stream[i] + 1 <= 2 && vline != c->stream[i]) {
            c->stream[i] = vline;
            c->stream_age[i] = c->tick;
            c->last_stream = i;
            return true;
        }
    for (i = 1; i < n; i++)
        if (c->stream_age[i] < c->stream_age[oldest])
            oldest = i;
    c->stream[oldest] = vline;
    c->stream_age[oldest] = c->tick;
    return false;
}

/* Returns whether the line came by the prefetch cache, for a floating-point load. */
static inline bool load_miss(struct fp_cpu_state *c, struct fp_ec *set, uint32_t line, unsigned home, uint64_t vline,
                             bool floating)
{
    uint64_t *word = &c->model->word[line], owner = *word & FP_OWNER;
    bool prefetched = in_stream(c, vline);

    count_miss(c, home, true);
    if (prefetched)
        post(c, line, home, supplier(c, *word), FP_READ);
    if (!prefetched || !floating)
        await_ecache(c);
    if (!prefetched)
        await(c, line, home, supplier(c, *word));
    if (owner != 0 && owner != c->id + 1)
        *word |= FP_SHARED;
    else if (!(*word & FP_SHARED))
        *word |= c->id + 1;
    ec_insert(c, set, line, 0);
    return prefetched && floating;
}

/* ---- write cache --------------------------------------------------------------------------- */

static inline struct fp_wc *wc_find(struct fp_cpu_state *c, uint32_t line)
{
    unsigned first = line % FP_WC_SETS * FP_WC_WAYS;

    for (unsigned i = 0; i < FP_WC_WAYS; i++)
        if (c->wc_line[first + i] == line + 1)
            return &c->wc[first + i];
    return NULL;
}

/* Empty the entry, so that no line of the filter leads to it. */
static inline uint32_t wc_take(struct fp_cpu_state *c, struct fp_wc *w)
{
    uint32_t *tag = &c->wc_line[w - c->wc], line = *tag - 1;

    if (w->at->wordp == &w->need)
        *w->at = (struct fp_recent){.wordp = &nothing};
    *tag = 0;
    return line;
}

/* All bytes are there: the line goes to memory, and nobody's copy is good any more. */
static void wc_complete(struct fp_cpu_state *c, struct fp_wc *w)
{
    uint32_t line = wc_take(c, w);
    uint64_t *word = &c->model->word[line];

    count_miss(c, w->home, false);
    c->n.writeback++;
    post(c, line, w->home, NULL, FP_WRITE);
    *word = (*word & ~FP_STATE) + FP_VERSION_STEP;
}

static void wc_store(struct fp_cpu_state *c, struct fp_wc *w, struct fp_recent *l, uint64_t tag, uint64_t bytes)
{
    w->need &= ~bytes;
    if (w->need == 0) {
        wc_complete(c, w);
        return;
    }
    w->age = ++c->tick;
    w->at = l;
    c->used[1] = l;
    c->used[2] = w;
    *l = (struct fp_recent){.tag = tag | FP_FILLING, .wordp = &w->need};
}

/* Room for one more line; what leaves incomplete is read for ownership. */
static inline struct fp_wc *wc_insert(struct fp_cpu_state *c, struct fp_recent *l, uint32_t line, unsigned home)
{
    unsigned first = line % FP_WC_SETS * FP_WC_WAYS, way = 0;
    uint32_t *tag = &c->wc_line[first];
    struct fp_wc *w = &c->wc[first];

    for (unsigned i = 0; i < FP_WC_WAYS && tag[way] != 0; i++)
        if (tag[i] == 0 || w[i].age < w[way].age)
            way = i;
    w += way;
    if (tag[way] != 0)
        read_to_own(c, wc_take(c, w), false);
    tag[way] = line + 1;
    w->need = ~0ull;
    w->at = l;
    w->home = home;
    return w;
}

/* May an active CPU go on? */
static inline void look_at_clock(struct fp_cpu_state *c)
{
    if (c->clock > (c->moved ? c->near : c->limit) && c->limit != 0)
        fp_slice(c);
}

/* ---- all together -------------------------------------------------------------------------- */

/* An access within one line, a load within a half of it. */
__attribute__((always_inline))
static inline void reference_line(struct fp_cpu_state *c, uint64_t virt, unsigned size, bool store, uint32_t info)
{
    struct fp_page *pg = page_of(c, virt, info & ~FP_FLOATING);
    uint64_t vline = virt >> FP_LINE_SHIFT, tag = vline | c->gen, away;
    uint64_t bytes = fp_bytes(virt % FP_LINE_BYTES, size);
    struct fp_recent *l = fp_recent_at(c, tag);
    unsigned half = virt >> FP_HALF_SHIFT & 1;
    bool floating = info & FP_FLOATING, current;
    uint32_t line;
    uint64_t *word;
    struct fp_wc *w;
    struct fp_ec *set, *entry;

    if (pg == NULL || !pg->known)
        return;
    line = pg->line + vline % (4096 / FP_LINE_BYTES);
    word = &c->model->word[line];
    set = ec_set(c, line);
    /* A stream comes by here next, if not at a table's end; the tables are larger than the host's caches. */
    __builtin_prefetch(word + 8);
    __builtin_prefetch(set + 4 * c->model->p.ecache_ways);
    __builtin_prefetch(l + 2);
    current = (l->tag & ~FP_BOTH_ABSENT) == tag && *l->wordp == l->word;
    if (current && (store ? (l->word & FP_STATE) == c->mine : !(l->tag & FP_ABSENT(half))))
        return; /* a part of an access that crosses two lines, or the two halves of one */
    w = wc_find(c, line);
    if (store && w != NULL) {
        wc_store(c, w, l, tag, bytes);
        return;
    }
    away = absent(c, vline, version_of(*word));
    if (w != NULL) {
        read_to_own(c, wc_take(c, w), true);
        away = FP_BOTH_ABSENT;
    } else if (!store && !(away & FP_ABSENT(half))) {
        /* the filter had forgotten it */
    } else if ((entry = ec_find(c->model, set, line)) != NULL) {
        c->n.ec_ref++;
        c->n.ec_hit++;
        if (store)
            ec_own(c, line, entry, vline);
        else
            await_ecache(c);
    } else if (!store) {
        if (load_miss(c, set, line, pg->home, vline, floating)) {
            fill_prefetch_cache(c, vline, version_of(*word));
            away = 0;
        }
    } else if (c->model->p.write_allocate) {
        read_to_own(c, line, false);
        away = FP_BOTH_ABSENT;
    } else {
        wc_store(c, wc_insert(c, l, line, pg->home), l, tag, bytes);
        return;
    }
    if (!store && (away & FP_ABSENT(half))) {
        fill_data_cache(c, vline, half, version_of(*word));
        away &= ~FP_ABSENT(half);
    }
    c->used[store] = l;
    *l = (struct fp_recent){.tag = tag | away, .wordp = word, .word = *word};
}

__attribute__((always_inline))
static inline void reference(struct fp_cpu_state *c, uint64_t virt, unsigned size, bool store, uint32_t info)
{
    unsigned unit = store ? FP_LINE_BYTES : FP_HALF_BYTES;

    if (size > FP_LINE_BYTES)
        size = FP_LINE_BYTES;
    for (unsigned part; size != 0; virt += part, size -= part) {
        part = unit - (unsigned)(virt % unit);
        if (part > size)
            part = size;
        reference_line(c, virt, part, store, info);
    }
    look_at_clock(c);
}

/* Not inlined, nor are the next two: what the quick paths seldom call must not make them save registers. */
__attribute__((noinline))
void fp_reference_load(struct fp_cpu_state *c, uint64_t virt, unsigned size, uint32_t info)
{
    reference(c, virt, size, false, info);
}

__attribute__((noinline))
void fp_reference_store(struct fp_cpu_state *c, uint64_t virt, unsigned size, uint32_t info)
{
    reference(c, virt, size, true, info);
}

__attribute__((noinline))
void fp_line_complete(struct fp_cpu_state *c, uint64_t *need)
{
    wc_complete(c, (struct fp_wc *)((char *)need - offsetof(struct fp_wc, need)));
    look_at_clock(c);
}
