// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cache.c - the caches of each CPU, and their coherence.
 *
 * THEORY      A cache keeps copies of lines of memory near a CPU.  When one CPU writes a line, all other copies of the
 *             line become invalid.  Coherence means that no CPU uses an invalid copy.
 *             Level 1 is the data cache (64 KB, four ways, lines of 32 bytes) and the prefetch cache (2 KB, four ways,
 *             lines of 64 bytes): level1.h.  Stores do not bring lines into them.  For speed, a filter in front of them
 *             keeps lines that were used lately (model.h).  If it forgets a line, this costs no modelled time.
 *             The external cache has physical tags, is set-associative, and replaces the least recently used line.
 *             Each line of memory has a coherence word.  It contains a version, the owner (the CPU with the only copy,
 *             or the CPU with a modified line that others have read: state O of MOESI), whether other CPUs can have
 *             copies, and whether memory is stale.  A cached line is valid while it has the version of its coherence
 *             word.  So a new version in the word invalidates all copies.
 *             A load that misses gets its line from the owner's cache if memory is stale, else from memory.  The CPU
 *             waits for the line, unless the load continues one of the CPU's streams of misses.  Then it counts as
 *             prefetched: it takes one of the CPU's slots for misses in flight, and the CPU waits only for a free slot.
 *             A load of a floating-point register then finds the line in the prefetch cache; a load of an integer
 *             register waits for the external cache.
 *             A store that misses goes to the write cache (2 KB, 4 ways, 64-byte lines; white paper, appendix B).
 *             When all bytes of a line have been written there, the line goes to memory in one transaction, without a
 *             read, as with block stores.  If a line must leave the write cache earlier, or a load needs it, it is read
 *             for ownership into the external cache.
 *             Other CPUs see stores in program order (SPARC V9, TSO).  So reads for ownership and invalidations go
 *             one after the other, and later stores wait behind them in the store queue.  The CPU continues until the
 *             queue is full.
 *             With write_allocate = "always" every store miss reads for ownership.
 * INVARIANTS  M2, M3, M4 of model.h
 * SEE ALSO    docs/fireplane.md
 */
#include "level1.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t nothing; /* wordp of an empty filter entry */

/* Maps zeroed memory, which the host allocates page by page at first use.  NULL: no address space. */
static void *reserve_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Zeroes memory from reserve_memory() by mapping it again, which also frees its pages. */
static void renew(void *p, size_t bytes)
{
    if (mmap(p, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != p)
        abort(); /* happens only if the host has no memory for a page table */
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

    /* Below 4 GB QEMU leaves a hole for devices: memory continues at 4 GB, and its end is up to 4 GB higher. */
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

/* The board whose memory contains the line.  The line must be in a probed range. */
static unsigned home_of(const struct fp_model *m, uint32_t line)
{
    return m->home[line >> (12 - FP_LINE_SHIFT)] - 1u;
}

/* Asks QEMU for the translation of a virtual page and stores it in *pg.  NULL: QEMU does not know the page. */
static __attribute__((noinline)) struct fp_page *
learn_page(struct fp_cpu_state *c, struct fp_page *pg, uint64_t tag, uint64_t virt, uint32_t info)
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

/* The translation of a virtual address; NULL: not known.  pg->known: the page is in a probed range. */
static inline struct fp_page *page_of(struct fp_cpu_state *c, uint64_t virt, uint32_t info)
{
    uint64_t tag = virt >> 12 | c->gen;
    struct fp_page *pg = &c->page[(tag ^ tag >> 10) % FP_PAGES];

    return pg->tag == tag ? pg : learn_page(c, pg, tag, virt, info);
}

static inline void count_miss(struct fp_cpu_state *c, uint32_t line, unsigned home, bool load)
{
    if (__builtin_expect(--c->heat_left == 0, 0))
        fp_heat_count(c, line);
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
 * Starts a transfer at t, or when a slot of *f becomes free.  At most n transfers of this kind can be in flight.
 * Returns the time at which it ends, ps.  The slots are a ring in ascending order of the end.  The new transfer takes
 * the first slot, which becomes the last of the ring, and moves before the transfers that end later.  Usually there
 * are none.
 */
static inline uint64_t fly(struct fp_cpu_state *c, struct fp_flights *f, unsigned n, uint32_t line,
                           unsigned home, const struct fp_cpu_state *owner, enum fp_move move,
                           uint64_t t)
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

/* Starts a transfer for which the CPU does not wait.  If all n slots are in use, the CPU first waits for one. */
static inline void post_one(struct fp_cpu_state *c, struct fp_flights *f, unsigned n, uint32_t line,
                            unsigned home, const struct fp_cpu_state *owner, enum fp_move move)
{
    fp_stall(c, f->slot[f->first]);
    fly(c, f, n, line, home, owner, move, c->clock);
}

static inline void post(struct fp_cpu_state *c, uint32_t line, unsigned home,
                        const struct fp_cpu_state *owner, enum fp_move move)
{
    post_one(c, &c->misses, (unsigned)c->model->p.misses_in_flight, line, home, owner, move);
}

/* ---- store queue --------------------------------------------------------------------------- */

/* Makes the CPU wait until the oldest store leaves the queue.  All stores that have ended by then leave it, too. */
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

/*
 * Starts the transfer of a store whose CPU must first own the line.  Other CPUs must see stores in order, so this store
 * and the stores behind it wait in the store queue.
 */
static inline void post_store(struct fp_cpu_state *c, uint32_t line, unsigned home,
                              const struct fp_cpu_state *owner, enum fp_move move)
{
    struct fp_queued *last;
    uint64_t done;

    /* possible, because a store across two lines takes two entries */
    if (c->nqueued == FP_MAX_FLIGHTS)
        leave_queue(c);
    done = fly(c, &c->stores, (unsigned)c->model->p.stores_in_flight, line, home, owner, move,
               c->clock);
    if (c->nqueued == 0) {
        c->store_limit = c->n.stores + c->model->p.store_queue;
    } else {
        last = &c->queued[(c->oldest + c->nqueued - 1) % FP_MAX_FLIGHTS];
        done = done > last->done ? done : last->done;
    }
    c->queued[(c->oldest + c->nqueued++) % FP_MAX_FLIGHTS] = (struct fp_queued){c->n.stores, done};
}

/* A load that misses level 1 waits for the external cache. */
static inline void await_ecache(struct fp_cpu_state *c)
{
    fp_stall(c, c->clock + c->model->p.ecache_latency * c->model->p.clock_ps);
}

/* Transfers the line; the CPU waits until the line has arrived. */
static inline void await(struct fp_cpu_state *c, uint32_t line, unsigned home,
                         const struct fp_cpu_state *owner)
{
    fp_stall(c, fp_transfer(c, line, home, owner, FP_READ, c->clock));
}

/* The CPU whose cache supplies the line; NULL: memory supplies it. */
static const struct fp_cpu_state *supplier(const struct fp_cpu_state *c, uint64_t word)
{
    return word & FP_DIRTY ? &c->model->cpu[(word & FP_OWNER) - 1] : NULL;
}

/* ---- external cache ------------------------------------------------------------------------ */

static struct fp_ec *ec_set(struct fp_cpu_state *c, uint32_t line)
{
    return &c->ec[(line & (c->model->ec_sets - 1)) * c->model->p.ecache_ways];
}

/* Finds the line in its set and makes it the most recently used.  NULL: it is not there, or its version is old. */
static inline struct fp_ec *ec_find(const struct fp_model *m, struct fp_ec *set, uint32_t line)
{
    unsigned ways = (unsigned)m->p.ecache_ways, i = 0;
    struct fp_ec found;

    while (set[i].line != line + 1)
        if (++i == ways)
            return NULL;
    found = set[i];
    if ((found.version & ~FP_WROTE) != version_of(m->word[line]))
        return NULL; /* a line has at most one entry */
    for (; i > 0; i--)
        set[i] = set[i - 1];
    set[0] = found;
    return set;
}

/* A line that this CPU has written leaves its external cache.  Writes it back if memory is stale (M3). */
static __attribute__((noinline)) void ec_evict(struct fp_cpu_state *c, struct fp_ec out)
{
    uint32_t line = out.line - 1;
    uint64_t *word = &c->model->word[line];

    if (version_of(*word) != (out.version & ~FP_WROTE) || !(*word & FP_DIRTY) ||
        (*word & FP_OWNER) != c->id + 1)
        return;
    *word &= ~(FP_OWNER | FP_DIRTY);
    c->n.writeback++;
    post_one(c, &c->writebacks, (unsigned)c->model->p.writebacks_in_flight, line,
             home_of(c->model, line), NULL, FP_WRITE);
}

/* Inserts the line into its set, in place of the least recently used one.  `wrote`: FP_WROTE or 0. */
static inline void ec_insert(struct fp_cpu_state *c, struct fp_ec *set, uint32_t line,
                             uint32_t wrote)
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

/*
 * Reads the line for ownership: all other copies become invalid, and memory stale.  If `wait` is set (for a load), the
 * CPU waits until the line has arrived; else the transfer goes through the store queue.
 */
static __attribute__((noinline)) void read_to_own(struct fp_cpu_state *c, uint32_t line, bool wait)
{
    uint64_t *word = &c->model->word[line];
    unsigned home = home_of(c->model, line);

    count_miss(c, line, home, false);
    if (wait) { /* a load from a line in the write cache: the stores before it must end first */
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

/*
 * Gives the CPU's own level 1 copies of a line the new version, so that they stay valid.  Called after the CPU has
 * invalidated all other copies by changing the line's version from `before` to `version`.
 */
static void keep_in_level1(struct fp_cpu_state *c, uint64_t vline, uint32_t before,
                           uint32_t version)
{
    int i = l1_find(prefetch_cache(c), vline | c->gen);

    if (i >= 0 && c->p_version[i] == before)
        c->p_version[i] = version;
    for (unsigned half = 0; half < 2; half++)
        if ((i = l1_find(data_cache(c), half_tag(vline, half, c->gen))) >= 0 &&
            c->d_version[i] == before)
            c->d_version[i] = version;
}

/* A store to a line in the CPU's own external cache: invalidates other copies, if there can be any. */
static __attribute__((noinline)) void ec_own(struct fp_cpu_state *c, uint32_t line,
                                             struct fp_ec *entry, uint64_t vline)
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

/*
 * Whether this miss continues one of the CPU's streams, that is, whether its line is adjacent to the line of a stream's
 * last miss, in either direction.  If not, the miss begins a new stream, which replaces the oldest.
 */
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

/* A load that misses the external cache.  Returns whether the line goes into the prefetch cache. */
static inline bool load_miss(struct fp_cpu_state *c, struct fp_ec *set, uint32_t line,
                             unsigned home, uint64_t vline, bool floating)
{
    uint64_t *word = &c->model->word[line], owner = *word & FP_OWNER;
    bool prefetched = in_stream(c, vline);

    count_miss(c, line, home, true);
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

/* The line's entry in the write cache, or NULL. */
static inline struct fp_wc *wc_find(struct fp_cpu_state *c, uint32_t line)
{
    unsigned first = line % FP_WC_SETS * FP_WC_WAYS;

    for (unsigned i = 0; i < FP_WC_WAYS; i++)
        if (c->wc_line[first + i] == line + 1)
            return &c->wc[first + i];
    return NULL;
}

/* Empties the entry, and the filter entry that points to it.  Returns the line of the entry. */
static inline uint32_t wc_take(struct fp_cpu_state *c, struct fp_wc *w)
{
    uint32_t *tag = &c->wc_line[w - c->wc], line = *tag - 1;

    if (w->at->wordp == &w->need)
        *w->at = (struct fp_recent){.wordp = &nothing};
    *tag = 0;
    return line;
}

/* Writes a line to memory after all its bytes have been written.  All copies of the line become invalid. */
static void wc_complete(struct fp_cpu_state *c, struct fp_wc *w)
{
    uint32_t line = wc_take(c, w);
    uint64_t *word = &c->model->word[line];

    count_miss(c, line, w->home, false);
    c->n.writeback++;
    post(c, line, w->home, NULL, FP_WRITE);
    *word = (*word & ~FP_STATE) + FP_VERSION_STEP;
}

/* Stores `bytes` (a mask) in an entry.  If the line is still incomplete, filter entry *l handles the next stores. */
static void wc_store(struct fp_cpu_state *c, struct fp_wc *w, struct fp_recent *l, uint64_t tag,
                     uint64_t bytes)
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

/* Makes an empty entry for the line.  The least recently used line of a full set is read for ownership. */
static inline struct fp_wc *wc_insert(struct fp_cpu_state *c, struct fp_recent *l, uint32_t line,
                                      unsigned home)
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

/* Ends the slice of an active CPU that is too far ahead. */
static inline void look_at_clock(struct fp_cpu_state *c)
{
    if (c->clock > (c->moved ? c->near : c->limit) && c->limit != 0)
        fp_slice(c);
}

/* ---- all together -------------------------------------------------------------------------- */

/* An access within one line; a load within one half of it. */
static __attribute__((always_inline)) inline void
reference_line(struct fp_cpu_state *c, uint64_t virt, unsigned size, bool store, uint32_t info)
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
    /* A stream of accesses uses these entries next.  Prefetch them, because the tables exceed the host's caches. */
    __builtin_prefetch(word + 8);
    __builtin_prefetch(set + 4 * c->model->p.ecache_ways);
    __builtin_prefetch(l + 2);
    current = (l->tag & ~FP_BOTH_ABSENT) == tag && *l->wordp == l->word;
    if (current && (store ? (l->word & FP_STATE) == c->mine : !(l->tag & FP_ABSENT(half))))
        return; /* the filter handles this part of an access that crosses lines or halves */
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
        /* the line is in level 1, but the filter had forgotten it */
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

static __attribute__((always_inline)) inline void
reference(struct fp_cpu_state *c, uint64_t virt, unsigned size, bool store, uint32_t info)
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

/* These three are not inlined, because the quick paths (model.h) would have to save registers for these rare calls. */
__attribute__((noinline)) void fp_reference_load(struct fp_cpu_state *c, uint64_t virt,
                                                 unsigned size, uint32_t info)
{
    reference(c, virt, size, false, info);
}

__attribute__((noinline)) void fp_reference_store(struct fp_cpu_state *c, uint64_t virt,
                                                  unsigned size, uint32_t info)
{
    reference(c, virt, size, true, info);
}

__attribute__((noinline)) void fp_line_complete(struct fp_cpu_state *c, uint64_t *need)
{
    wc_complete(c, (struct fp_wc *)((char *)need - offsetof(struct fp_wc, need)));
    look_at_clock(c);
}
