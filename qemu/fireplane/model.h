// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * model.h - the Fireplane interconnect model: caches, directory, resources and clocks, without QEMU.
 *
 * THEORY      A CPU's accesses pass a filter of lines that were used lately, then level 1, the external cache and
 *             the interconnect, which makes its modelled clock advance.  The host program (the
 *             QEMU plugin, or a test) calls fp_run() for instructions, fp_load()/fp_store() for accesses,
 *             fp_doorbell() for the guest's requests.  It gives two functions: `translate` (virtual to
 *             physical address; asked rarely) and `yield` (end this CPU's slice).
 *             Files: model.c (clocks, doorbells), cache.c (caches, coherence), wire.c (resources, latency),
 *             crossbar.c (the data crossbar),
 *             params.c (parameters).
 * INVARIANTS  M1  clocks and counters never go back
 *             M2  loads + stores >= ec_ref = ec_hit + miss_local + miss_remote
 *             M3  a line's word says dirty only while its owner's external cache holds that version, dirty
 *             M4  a line is in a CPU's write cache or valid in its external cache, never both
 *             M5  an active CPU is ahead of the slowest active one by at most the skew and one block of code; before it
 *                 uses the interconnect a second time in its slice, by at most order_ps
 * LOCKING     None: all CPUs run in one host thread.
 * SEE ALSO    docs/fireplane.md, tests/host/test_fireplane.c
 */
#ifndef FIREPLANE_MODEL_H
#define FIREPLANE_MODEL_H

#include "params.h"

#define FP_LINE_SHIFT 6
#define FP_LINE_BYTES 64
#define FP_HALF_SHIFT 5    /* a line of level 1 is half a line of memory           */
#define FP_HALF_BYTES 32
#define FP_D_WAYS     4    /* data cache: 64 KB, 4 ways, 32-byte lines             */
#define FP_D_LINES    2048
#define FP_P_WAYS     4    /* prefetch cache: 2 KB, 4 ways, 64-byte lines          */
#define FP_P_LINES    32
#define FP_RECENT     1024 /* lines that the filter knows                          */
#define FP_STEP       617  /* odd: lines so many further for each 64 KB of address */
#define FP_PAGES      4096 /* translations remembered for each CPU                 */
#define FP_WC_SETS    8    /* write cache: 2 KB, 4 ways, 64-byte lines             */
#define FP_WC_WAYS    4
#define FP_WC_LINES   (FP_WC_SETS * FP_WC_WAYS)
#define FP_BUCKETS    1024 /* buckets kept for each resource                       */
#define FP_SLOTS      4096 /* slots kept for each port of the data crossbar        */

/* The coherence word of a line of memory: version in bits 33-63, and these. */
#define FP_OWNER  0x1ffull /* CPU number + 1 of the last to have it alone; 0: nobody  */
#define FP_SHARED 0x200ull /* others may have copies of this version                 */
#define FP_DIRTY  0x400ull /* memory is stale; the owner's cache supplies the line   */
#define FP_STATE  0x7ffull
#define FP_VERSION_STEP (2ull << 32)

/* Virtual tags carry a generation, so that a new address space makes all of them old at once. */
#define FP_GENERATION (1ull << 44)

/* Tag bits of a line of the filter: its first or second half is not in level 1, so that a load must ask further. */
#define FP_ABSENT(half) (1ull << 61 << (half))
#define FP_BOTH_ABSENT  (FP_ABSENT(0) | FP_ABSENT(1))

/* Tag bit of a line of the filter that is in the write cache: stores only, *word counts down. */
#define FP_FILLING (1ull << 63)

/*
 * A line of the filter.  An access that it settles needs the tag, and that the coherence word is still what it was; a
 * load also that its half is in level 1, a store that the line is this CPU's own.
 */
struct fp_recent {
    uint64_t tag;  /* virtual line | generation | FP_ABSENT, 0: nothing           */
    uint64_t word; /* what *wordp was                                             */
    uint64_t *wordp; /* never NULL: the coherence word, or with FP_FILLING the bytes still to come */
    uint64_t unused;
};

struct fp_page {
    uint64_t tag;  /* virtual page | generation, 0: nothing */
    uint32_t line; /* first physical line                   */
    uint8_t home;  /* board       */
    uint8_t known; /* to the model */
};

struct fp_wc {
    uint64_t need; /* bit i: byte i of the line is not written yet */
    struct fp_recent *at; /* where it is being filled             */
    uint64_t age;  /* larger: used later                           */
    unsigned home; /* board of the line                            */
};

/*
 * An entry of the external cache, valid while version is the line's.  Bit 0 of the version is free: FP_WROTE there says
 * that the CPU has written the line; one that it has only read leaves without a look at the line's word.
 */
#define FP_WROTE 1u
struct fp_ec {
    uint32_t line; /* physical line + 1, 0: nothing */
    uint32_t version;
};

/* A kind of resource that has buckets, in the order of enum fp_resource; all of a kind are equal. */
#define FP_RES_BUCKETS FP_RES_CROSSBAR
struct fp_kind {
    unsigned first;   /* place of its first one in a row of buckets */
    uint64_t lines;   /* that a bucket has room for                 */
    uint64_t line_ps; /* what a line takes                          */
};

/* The buckets of one time, one for each resource. */
struct fp_buckets {
    uint64_t ps; /* when they begin */
    uint64_t *row;
};

/* Transfers in flight of one kind: when each ends, in order from `first` round; as many slots are used as may be. */
struct fp_flights {
    unsigned first;
    uint64_t slot[FP_MAX_FLIGHTS];
};

/* Stores that must own a line first leave the store queue in order; those behind the first wait. */
struct fp_queued {
    uint64_t number; /* of the store: n.stores        */
    uint64_t done;   /* when it has left the queue, ps */
};

struct fp_model;

/* A CPU.  What is used of what comes before the tables the host fetches before the CPU's slice begins: fp_slice(). */
struct fp_cpu_state {
    uint64_t clock;      /* ps: instructions, both kinds of stall, and what was skipped  */
    uint64_t limit;      /* fp_slice() is due beyond this; 0 while the CPU is inactive  */
    uint64_t near;       /* and beyond this when the CPU has used the interconnect      */
    bool moved;          /* it has, since fp_slice() looked                             */
    uint64_t gen;        /* generation of virtual tags, in place: a new address space   */
    uint64_t mine;       /* state bits of a line that this CPU may write                */
    struct fp_counts n;  /* n.time_ps and n.fp_stall_ps: only when published            */
    struct fp_model *model;
    struct fp_ec *ec;
    const void *used[3]; /* in the tables: what the last load, store and write-cache fill used */
    uint64_t tick;       /* for ages                                                    */
    uint64_t published;  /* loads + stores already in the header's count                */
    uint64_t skipped;    /* what the clock jumped while no thread ran here, ps          */
    unsigned id, board, seat;
    struct fp_flights misses, stores, writebacks; /* in flight */
    uint64_t store_limit; /* the number of the store that finds the store queue full; ~0: none waits */
    struct fp_queued queued[FP_MAX_FLIGHTS]; /* a ring from `oldest` on */
    unsigned oldest, nqueued;
    uint64_t stream[16]; /* virtual line that would continue each stream                */
    uint64_t stream_age[16];
    unsigned last_stream; /* that was continued last: looked at first */
    unsigned cdc;        /* remainder of the share of directory-cache hits              */
    uint64_t probe[4];   /* the doorbell's arguments, for the load that follows         */
    uint32_t wc_line[FP_WC_LINES];  /* write cache, set by set: physical line + 1, 0: nothing */
    struct fp_wc wc[FP_WC_LINES];   /* and the rest                                          */
    struct fp_recent recent[FP_RECENT];
    struct fp_page page[FP_PAGES];
    /* Level 1: virtual tags with the generation, 0: nothing, the version of the line; which way of a set goes next. */
    uint64_t d_tag[FP_D_LINES], p_tag[FP_P_LINES];
    uint32_t d_version[FP_D_LINES], p_version[FP_P_LINES];
    uint8_t d_next[FP_D_LINES / FP_D_WAYS], p_next[FP_P_LINES / FP_P_WAYS];
} __attribute__((aligned(64)));

struct fp_range {
    uint64_t raw, length; /* raw address of its first byte, bytes */
    uint64_t physical;
    unsigned board;
};

struct fp_model {
    struct fp_params p;
    struct fp_cpu_state *cpu;
    char *page;     /* the shared page                                       */
    uint64_t *word; /* coherence word of each line of physical memory         */
    uint8_t *home;  /* board of each page of physical memory, plus 1          */
    uint64_t nlines;
    uint32_t ec_sets;
    size_t ec_bytes;
    uint64_t seen[FP_MAX_CPUS]; /* clocks of active CPUs; ~0: inactive         */
    const struct fp_cpu_state *runs; /* the only CPU whose clock in seen[] has changed since `others` was found */
    uint64_t others;            /* the least of the other clocks in seen[]    */
    uint64_t latest;            /* of all clocks, ever                        */
    uint64_t progress;          /* the slowest active CPU's clock was there   */
    uint64_t accesses;          /* loads + stores published                   */
    bool armed;
    enum fp_tested tested;
    struct fp_range range[2 * FP_MAX_BOARDS];
    unsigned nranges;
    struct fp_kind kind[FP_RES_BUCKETS];
    unsigned row; /* resources in all */
    uint64_t *bucket; /* [FP_BUCKETS][row]: when it begins, ps, plus the lines that took room */
    uint64_t *bucket_end;
    struct fp_buckets hint; /* where the last transfer began */
    struct fp_port *ports;  /* of the data crossbar, one for each board */
    uint64_t slot_ps;       /* what a line takes on a port's wires      */
    /* Given by the host program. */
    bool (*translate)(uint32_t info, uint64_t virt, uint64_t *raw);
    void (*yield)(unsigned cpu);
};

/* What a doorbell asks the host program to do. */
enum fp_ask { FP_NOTHING, FP_REWATCH, FP_GIVE_UP };

/*
 * fp_create - a model with parameters *p over the shared page of FP_SHARED_BYTES, whose header is written.
 * Returns NULL if there is no memory.  fp_destroy() frees it.
 */
struct fp_model *fp_create(const struct fp_params *p, void *page, const char *params_text);
void fp_destroy(struct fp_model *m);

/* fp_doorbell - CPU `cpu` rings; FP_REWATCH: armed has changed, instrument accordingly; FP_GIVE_UP: end the run. */
enum fp_ask fp_doorbell(struct fp_model *m, unsigned cpu, unsigned op);

/* fp_probe - the load after FP_OP_PROBE read raw address `raw`.  Answers in ret[0]. */
void fp_probe(struct fp_model *m, unsigned cpu, uint64_t raw);

/* fp_pause - the CPU spins; fp_idle - it halts.  It neither charges nor holds others back until it runs again. */
void fp_pause(struct fp_model *m, unsigned cpu);
void fp_idle(struct fp_model *m, unsigned cpu);

/* fp_flush_tlb - the CPU's virtual addresses may mean something else now. */
void fp_flush_tlb(struct fp_model *m, unsigned cpu);

/* fp_publish - write a CPU's counters to the shared page. */
void fp_publish(struct fp_cpu_state *c);

/* fp_slice - the clock is past the limit: activate the CPU, or end its slice. */
void fp_slice(struct fp_cpu_state *c);

/*
 * fp_reference_load, _store - an access that the filter did not settle.  FP_FLOATING in info: it loads a
 * floating-point register, which alone can be done from the prefetch cache.
 */
#define FP_FLOATING (1u << 31)
void fp_reference_load(struct fp_cpu_state *c, uint64_t virt, unsigned size, uint32_t info);
void fp_reference_store(struct fp_cpu_state *c, uint64_t virt, unsigned size, uint32_t info);

/* fp_queue_full - the store with number n.stores has to wait for a place in the store queue. */
void fp_queue_full(struct fp_cpu_state *c);

/* fp_line_complete - all bytes of a line in the write cache are there; `need` is its count. */
void fp_line_complete(struct fp_cpu_state *c, uint64_t *need);

/* ---- wire.c -------------------------------------------------------------------------------- */
int fp_wire_create(struct fp_model *m);
/* fp_reserve - the time at or after t at which resource i of a kind can move one more line; takes that of it. */
uint64_t fp_reserve(struct fp_model *m, enum fp_resource kind, unsigned i, uint64_t t);
enum fp_move { FP_READ, FP_WRITE, FP_ADDRESS };
/*
 * fp_transfer - move a line between CPU c and its home (from cpu `owner`'s cache unless that is NULL), asked for
 * at time t.  Returns when it is done; queueing is counted, bytes are added to the traffic table.
 */
uint64_t fp_transfer(struct fp_cpu_state *c, uint32_t line, unsigned home, const struct fp_cpu_state *owner,
                     enum fp_move move, uint64_t t);
/* fp_drain - wait for all misses, stores and write-backs in flight. */
void fp_drain(struct fp_cpu_state *c);
/* fp_stall - the clock becomes t, if that is later. */
void fp_stall(struct fp_cpu_state *c, uint64_t t);

/* ---- crossbar.c ---------------------------------------------------------------------------- */
int fp_crossbar_create(struct fp_model *m);
/* fp_crossbar - a line goes from one board to another, at or after t.  Returns when the receiver's wires take it. */
uint64_t fp_crossbar(struct fp_model *m, unsigned from, unsigned to, uint64_t t);

/* ---- cache.c ------------------------------------------------------------------------------- */
int fp_caches_create(struct fp_model *m);
void fp_caches_clear(struct fp_model *m);
void fp_caches_destroy(struct fp_model *m);

/* fp_see - the clock that others see of c becomes t; ~0: c is inactive. */
static inline void fp_see(struct fp_cpu_state *c, uint64_t t)
{
    struct fp_model *m = c->model;

    m->seen[c->id] = t;
    if (m->runs != c)
        m->runs = NULL;
}

/* ---- the quick paths ----------------------------------------------------------------------- */

/*
 * fp_ran - n user instructions, ps long in all: a clock each, and what they wait for floating-point results.  Returns
 * whether fp_slice() is due.  fp_run - the same, and does it.
 */
static inline bool fp_ran(struct fp_cpu_state *c, uint64_t n, uint64_t ps)
{
    c->n.instr += n;
    c->clock += ps;
    return c->clock > c->limit;
}

static inline void fp_run(struct fp_cpu_state *c, uint64_t n, uint64_t ps)
{
    if (__builtin_expect(fp_ran(c, n, ps), 0))
        fp_slice(c);
}

/* Bits at .. at+size-1; at + size <= 64. */
static inline uint64_t fp_bytes(unsigned at, unsigned size)
{
    return ~0ull >> (FP_LINE_BYTES - size) << at;
}

static inline struct fp_recent *fp_recent_at(struct fp_cpu_state *c, uint64_t tag)
{
    return &c->recent[(tag + (tag / FP_RECENT) * FP_STEP) % FP_RECENT];
}

/* fp_load, fp_store - an access of `size` bytes to user address virt; translate() is given `info`. */
static inline void fp_load(struct fp_cpu_state *c, uint64_t virt, unsigned size, uint32_t info)
{
    uint64_t tag = virt >> FP_LINE_SHIFT | c->gen, other = FP_ABSENT(~virt >> FP_HALF_SHIFT & 1);
    struct fp_recent *l = fp_recent_at(c, tag);

    c->n.loads++;
    if (__builtin_expect((l->tag | other) != (tag | other) || *l->wordp != l->word ||
                         virt % FP_HALF_BYTES + size > FP_HALF_BYTES, 0))
        fp_reference_load(c, virt, size, info);
}

static inline void fp_store(struct fp_cpu_state *c, uint64_t virt, unsigned size, uint32_t info)
{
    uint64_t tag = virt >> FP_LINE_SHIFT | c->gen;
    struct fp_recent *l = fp_recent_at(c, tag);
    unsigned at = virt % FP_LINE_BYTES;

    c->n.stores++;
    if (__builtin_expect(c->n.stores >= c->store_limit, 0))
        fp_queue_full(c);
    if (__builtin_expect(at + size > FP_LINE_BYTES, 0)) {
        fp_reference_store(c, virt, size, info);
    } else if ((l->tag & ~FP_BOTH_ABSENT) == tag) {
        if (__builtin_expect(*l->wordp != l->word || (l->word & FP_STATE) != c->mine, 0))
            fp_reference_store(c, virt, size, info);
    } else if (__builtin_expect((l->tag ^ tag) != FP_FILLING, 0)) {
        fp_reference_store(c, virt, size, info);
    } else {
        uint64_t need = *l->wordp & ~fp_bytes(at, size);

        if (__builtin_expect(need == 0, 0))
            fp_line_complete(c, l->wordp);
        else
            *l->wordp = need;
    }
}

#endif
