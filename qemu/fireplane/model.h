// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * model.h - the Fireplane interconnect model: caches, coherence, resources and clocks, without QEMU.
 *
 * THEORY      The Fireplane interconnect connects the boards of Sun's UltraSPARC III servers.  QEMU runs programs
 *             correctly, but gives all memory the same latency and has no caches.  The model watches each memory
 *             access and computes how long it would take on the real machine.  It changes no result of a program, only
 *             a modelled clock and counters for each CPU.
 *             An access passes a filter of lines that were used lately, then level 1, the external cache and the
 *             interconnect, and the CPU's clock advances by the time it must wait.  The host program (the QEMU plugin,
 *             or a test) calls fp_run() for instructions, fp_load() and fp_store() for accesses, fp_doorbell() for the
 *             guest's requests.  It provides two functions: `translate` (virtual to physical address; called rarely)
 *             and `yield` (end this CPU's slice).
 *             Files: model.c (clocks, doorbells), level1.h and cache.c (caches, coherence), wire.c (resources,
 *             latency), crossbar.c (the data crossbar), heat.c (misses of each page), params.c (parameters).
 * INVARIANTS  M1  clocks and counters never decrease
 *             M2  loads + stores >= ec_ref = ec_hit + miss_local + miss_remote
 *             M3  a line's word has FP_DIRTY only while its owner's external cache holds that version, modified
 *             M4  a line is in a CPU's write cache or valid in its external cache, never both
 *             M5  an active CPU is ahead of the slowest active CPU by at most skew_ps and one block of code; before it
 *                 uses the interconnect a second time in its slice, by at most order_ps
 * LOCKING     None: all CPUs run in one host thread.
 * SEE ALSO    docs/fireplane.md, tests/host/test_fireplane.c
 */
#ifndef FIREPLANE_MODEL_H
#define FIREPLANE_MODEL_H

#include "params.h"

#define FP_LINE_SHIFT 6
#define FP_LINE_BYTES 64
#define FP_HALF_SHIFT 5 /* a line of level 1 is half a line of memory */
#define FP_HALF_BYTES 32
#define FP_D_WAYS     4 /* data cache: 64 KB, 4 ways, 32-byte lines */
#define FP_D_LINES    2048
#define FP_P_WAYS     4 /* prefetch cache: 2 KB, 4 ways, 64-byte lines */
#define FP_P_LINES    32
#define FP_RECENT     1024 /* entries of the filter */
#define FP_STEP       617  /* odd: shift, in entries, for each 64 KB of address */
#define FP_PAGES      4096 /* translations remembered for each CPU */
#define FP_WC_SETS    8    /* write cache: 2 KB, 4 ways, 64-byte lines */
#define FP_WC_WAYS    4
#define FP_WC_LINES   (FP_WC_SETS * FP_WC_WAYS)
#define FP_BUCKETS    1024 /* buckets kept for each resource */
#define FP_SLOTS      4096 /* slots kept for each port of the data crossbar */

/* The coherence word of a line of memory: its version in bits 33-63, and these bits. */
#define FP_OWNER        0x1ffull /* CPU number + 1 of the last CPU with the only copy; 0: none */
#define FP_SHARED       0x200ull /* other CPUs can have copies of this version */
#define FP_DIRTY        0x400ull /* memory is stale; the owner's cache supplies the line */
#define FP_STATE        0x7ffull
#define FP_VERSION_STEP (2ull << 32)

/* Virtual tags contain a generation number.  A new generation makes all tags of a CPU invalid at once. */
#define FP_GENERATION (1ull << 44)

/* Tag bits of a filter entry: this half of the line is not in level 1, so the filter does not handle loads of it. */
#define FP_ABSENT(half) (1ull << 61 << (half))
#define FP_BOTH_ABSENT  (FP_ABSENT(0) | FP_ABSENT(1))

/* Tag bit of a filter entry whose line is in the write cache: the entry handles stores, which clear bits of *wordp. */
#define FP_FILLING (1ull << 63)

/*
 * An entry of the filter.  It handles an access, so that the access costs no time, if the tag matches and the coherence
 * word has not changed.  For a load, the half of the line must also be in level 1; for a store, this CPU must also own
 * the line.
 */
struct fp_recent {
    uint64_t tag;    /* virtual line | generation | FP_ABSENT, 0: empty */
    uint64_t word;   /* the value of *wordp when the entry was made */
    uint64_t *wordp; /* never NULL: the coherence word, or with FP_FILLING fp_wc.need */
    uint64_t unused;
};

struct fp_page {
    uint64_t tag;  /* virtual page | generation, 0: empty */
    uint32_t line; /* first physical line */
    uint8_t home;  /* board */
    uint8_t known; /* the page is in a probed range */
};

/* A line in the write cache. */
struct fp_wc {
    uint64_t need;        /* bit i: byte i of the line is not written yet */
    struct fp_recent *at; /* the filter entry that handles its stores */
    uint64_t age;         /* larger: used later */
    unsigned home;        /* board of the line */
};

/*
 * An entry of the external cache, valid while its version is the line's.  Bit 0 of a line's version is always 0.  In an
 * entry this bit is FP_WROTE: the CPU has written the line.  A line without it is dropped without reading its word.
 */
#define FP_WROTE 1u
struct fp_ec {
    uint32_t line; /* physical line + 1, 0: empty */
    uint32_t version;
};

/* A kind of resource that has buckets (wire.c), in the order of enum fp_resource.  Resources of one kind are equal. */
#define FP_RES_BUCKETS FP_RES_CROSSBAR
struct fp_kind {
    unsigned first;   /* index of its first resource in a row of buckets */
    uint64_t lines;   /* capacity of a bucket, in lines */
    uint64_t line_ps; /* time that a line occupies the resource, ps */
};

/* The buckets of one interval of modelled time, one for each resource. */
struct fp_buckets {
    uint64_t ps; /* start of the interval */
    uint64_t *row;
};

/*
 * The times at which the transfers in flight of one kind end, ps: a ring in ascending order from slot[first] on.  A
 * parameter (misses_in_flight ...) is the number of slots in use.
 */
struct fp_flights {
    unsigned first;
    uint64_t slot[FP_MAX_FLIGHTS];
};

/* A store in the store queue that waits until its CPU owns the line.  Stores leave the queue in order. */
struct fp_queued {
    uint64_t number; /* of the store: n.stores */
    uint64_t done;   /* time at which it leaves the queue, ps */
};

struct fp_model;

/* A CPU.  Before its slice begins, prefetch_next() makes the host fetch the members before the tables. */
struct fp_cpu_state {
    uint64_t clock;     /* ps: instructions, both kinds of stall, and skipped time */
    uint64_t limit;     /* a clock after this needs fp_slice(); 0: inactive */
    uint64_t near;      /* the same, after the CPU has used the interconnect */
    bool moved;         /* it has used the interconnect since the last fp_slice() */
    uint32_t heat_left; /* misses until heat.c counts the next one; here, where it takes no room */
    uint64_t gen;       /* current generation of virtual tags, as part of a tag */
    uint64_t mine;      /* state bits of a line that this CPU can write */
    struct fp_counts n; /* n.time_ps and n.fp_stall_ps are set only when published */
    struct fp_model *model;
    struct fp_ec *ec;
    /* table entries that the last load, store, write-cache fill used: to prefetch */
    const void *used[3];
    uint64_t tick;      /* the current age in wc[] and stream_age[] */
    uint64_t published; /* loads + stores already in the header's count */
    uint64_t skipped;   /* sum of the times skipped while no thread ran here, ps */
    unsigned id, board, seat;
    struct fp_flights misses, stores, writebacks; /* in flight */
    /* number of the first store that finds the store queue full; ~0: queue empty */
    uint64_t store_limit;
    struct fp_queued queued[FP_MAX_FLIGHTS]; /* the store queue: a ring from `oldest` on */
    unsigned oldest, nqueued;
    uint64_t stream[16]; /* the virtual line of each stream's last miss */
    uint64_t stream_age[16];
    unsigned last_stream;          /* the stream that continued last: in_stream() tests it first */
    unsigned cdc;                  /* remainder of the share of directory-cache hits, percent */
    uint64_t probe[4];             /* arguments of FP_OP_PROBE, for the load that follows */
    uint32_t wc_line[FP_WC_LINES]; /* write cache, set by set: physical line + 1, 0: empty */
    struct fp_wc wc[FP_WC_LINES];  /* the rest of each entry */
    struct fp_recent recent[FP_RECENT]; /* the filter */
    struct fp_page page[FP_PAGES];      /* translations */
    /* Level 1: virtual tags with the generation, 0: empty; versions of the lines; the way of a set to replace next. */
    uint64_t d_tag[FP_D_LINES], p_tag[FP_P_LINES];
    uint32_t d_version[FP_D_LINES], p_version[FP_P_LINES];
    uint8_t d_next[FP_D_LINES / FP_D_WAYS], p_next[FP_P_LINES / FP_P_WAYS];
    uint64_t heat_random; /* state of the generator of heat.c */
} __attribute__((aligned(64)));

/* A range of memory on one board.  The raw address is the one that QEMU uses, the physical address the guest's. */
struct fp_range {
    uint64_t raw, length; /* of its first byte; bytes */
    uint64_t physical;    /* of its first byte */
    unsigned board;
};

struct fp_model {
    struct fp_params p;
    struct fp_cpu_state *cpu;
    char *page;     /* the shared page */
    uint64_t *word; /* coherence word of each line of physical memory */
    uint8_t *home;  /* board of each page of physical memory, plus 1 */
    uint64_t nlines;
    uint32_t ec_sets;
    size_t ec_bytes;
    uint64_t seen[FP_MAX_CPUS]; /* clocks of active CPUs; ~0: inactive */
    /* the only CPU whose clock in seen[] has changed since `others` was computed */
    const struct fp_cpu_state *runs;
    uint64_t others;   /* the lowest clock in seen[], without that of `runs` */
    uint64_t latest;   /* the highest clock published so far, ps */
    uint64_t progress; /* the highest value so far of the slowest active CPU's clock, ps */
    uint64_t accesses; /* loads + stores published */
    bool armed;
    enum fp_tested tested;
    struct fp_range range[2 * FP_MAX_BOARDS];
    unsigned nranges;
    struct fp_kind kind[FP_RES_BUCKETS];
    unsigned row;     /* number of resources of all kinds */
    uint64_t *bucket; /* [FP_BUCKETS][row]: start of the bucket, ps, plus the lines that it holds */
    uint64_t *bucket_end;
    struct fp_buckets hint; /* the buckets of the last transfer's start */
    struct fp_port *ports;  /* of the data crossbar, one for each board */
    uint64_t slot_ps;       /* time of a line on a port's wires, ps */
    struct fp_heat *heat;   /* the table of page heat; NULL: off */
    uint64_t heat_every;    /* one of so many misses is counted */
    uint8_t *heated;        /* for each page of memory, whether its row of `heat` has counts */
    /* Set by the host program.  translate: the raw address of a virtual one; false: not known. */
    bool (*translate)(uint32_t info, uint64_t virt, uint64_t *raw);
    void (*yield)(unsigned cpu);
};

/* The action that the host program must take after a doorbell. */
enum fp_ask { FP_NOTHING, FP_REWATCH, FP_GIVE_UP };

/*
 * fp_create - make a model with parameters *p, and write the header of the shared page of FP_SHARED_BYTES at `page`.
 * Returns NULL if there is no memory.  fp_destroy() frees the model.
 */
struct fp_model *fp_create(const struct fp_params *p, void *page, const char *params_text);
void fp_destroy(struct fp_model *m);

/*
 * fp_doorbell - carry out doorbell `op` (enum fp_op) of a CPU.  Returns FP_REWATCH: m->armed has changed, so translate
 * the code again; FP_GIVE_UP: end QEMU; FP_NOTHING.
 */
enum fp_ask fp_doorbell(struct fp_model *m, unsigned cpu, unsigned op);

/* fp_probe - the load after FP_OP_PROBE has read raw address `raw`.  The result is in the CPU's ret[0]. */
void fp_probe(struct fp_model *m, unsigned cpu, uint64_t raw);

/*
 * fp_pause - called when the CPU executes `pause`; fp_idle - called when it halts.  The CPU becomes inactive until it
 * runs user code again: its clock does not advance, and other CPUs do not wait for it.
 */
void fp_pause(struct fp_model *m, unsigned cpu);
void fp_idle(struct fp_model *m, unsigned cpu);

/* fp_flush_tlb - forget all translations of the CPU's virtual addresses, because they have perhaps changed. */
void fp_flush_tlb(struct fp_model *m, unsigned cpu);

/* fp_publish - write a CPU's counters to the shared page. */
void fp_publish(struct fp_cpu_state *c);

/* fp_slice - activate the CPU if it is inactive, else end its slice.  Called when the clock has passed the limit. */
void fp_slice(struct fp_cpu_state *c);

/*
 * fp_reference_load, fp_reference_store - an access that the filter has not handled.  FP_FLOATING in info: a load of a
 * floating-point register.  Only such loads bring lines into the prefetch cache.
 */
#define FP_FLOATING (1u << 31)
void fp_reference_load(struct fp_cpu_state *c, uint64_t virt, unsigned size, uint32_t info);
void fp_reference_store(struct fp_cpu_state *c, uint64_t virt, unsigned size, uint32_t info);

/* fp_queue_full - wait until store number n.stores has a place in the store queue. */
void fp_queue_full(struct fp_cpu_state *c);

/* fp_line_complete - called when all bytes of a line in the write cache are written.  `need`: its fp_wc.need. */
void fp_line_complete(struct fp_cpu_state *c, uint64_t *need);

/* ---- wire.c -------------------------------------------------------------------------------- */
/* fp_wire_create, fp_crossbar_create, fp_caches_create - allocate each file's tables.  0; -1: no memory. */
int fp_wire_create(struct fp_model *m);
/* fp_reserve - reserve space for one line in resource i of a kind, at or after t.  Returns the line's start, ps. */
uint64_t fp_reserve(struct fp_model *m, enum fp_resource kind, unsigned i, uint64_t t);
enum fp_move { FP_READ, FP_WRITE, FP_ADDRESS }; /* ADDRESS: an address transaction without data */
/*
 * fp_transfer - move a line, requested at time t, between CPU c and its home board.  If `owner` is not NULL, a read
 * gets the line from that CPU's cache.  Returns the end of the transfer, ps.  Adds waits to c->n.queue_ps and bytes to
 * the traffic table.
 */
uint64_t fp_transfer(struct fp_cpu_state *c, uint32_t line, unsigned home,
                     const struct fp_cpu_state *owner, enum fp_move move, uint64_t t);
/* fp_drain - wait for all misses, stores and write-backs in flight. */
void fp_drain(struct fp_cpu_state *c);
/* fp_stall - make the CPU wait for memory until t: its clock becomes t, if t is later. */
void fp_stall(struct fp_cpu_state *c, uint64_t t);

/* ---- crossbar.c ---------------------------------------------------------------------------- */
int fp_crossbar_create(struct fp_model *m);
/* fp_crossbar - send a line from one board to another, at or after t.  Returns the time at which it is received, ps. */
uint64_t fp_crossbar(struct fp_model *m, unsigned from, unsigned to, uint64_t t);

/* ---- cache.c ------------------------------------------------------------------------------- */
int fp_caches_create(struct fp_model *m);
void fp_caches_clear(struct fp_model *m);
void fp_caches_destroy(struct fp_model *m);

/* ---- heat.c -------------------------------------------------------------------------------- */
/* fp_heat_bytes - the size of the table of page heat of a machine with these parameters. */
uint64_t fp_heat_bytes(const struct fp_params *p);
/*
 * fp_heat_begin - count one of `every` misses (1 to 2^31) in `table`, which is zeroed memory of fp_heat_bytes().
 * `seed` determines which misses.  Called once, before the model is armed.  0; -1: no memory.
 */
int fp_heat_begin(struct fp_model *m, struct fp_heat *table, uint64_t every, uint64_t seed);
/* fp_heat_end - free what fp_heat_begin() has allocated; the table is the caller's. */
void fp_heat_end(struct fp_model *m);
/* fp_heat_clear - forget the heat of all pages. */
void fp_heat_clear(struct fp_model *m);
/* fp_heat_forget - forget the heat of the pages in a range of physical memory; ignores a range that is not memory. */
void fp_heat_forget(struct fp_model *m, uint64_t base, uint64_t bytes);
/* fp_heat_read - copy the heat of the page at a physical address.  Returns m->heat_every; 0: off, or no such page. */
uint64_t fp_heat_read(const struct fp_model *m, uint64_t address, uint32_t heat[FP_MAX_BOARDS]);
/* fp_heat_count - count a miss of the CPU on the page of a line, and choose the next miss to count. */
void fp_heat_count(struct fp_cpu_state *c, uint32_t line);

/* fp_see - set c's clock, as the other CPUs' limits see it, to t; ~0: c is inactive. */
static inline void fp_see(struct fp_cpu_state *c, uint64_t t)
{
    struct fp_model *m = c->model;

    m->seen[c->id] = t;
    if (m->runs != c)
        m->runs = NULL;
}

/* ---- the quick paths ----------------------------------------------------------------------- */

/*
 * fp_ran - n user instructions ran.  `ps`: a clock cycle for each, plus their waits for floating-point results.
 * Returns whether the caller must call fp_slice().  fp_run - the same, and calls it if needed.
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

/* A mask of `size` bits from bit `at` on: the bytes of a line that an access covers.  at + size <= 64. */
static inline uint64_t fp_bytes(unsigned at, unsigned size)
{
    return ~0ull >> (FP_LINE_BYTES - size) << at;
}

static inline struct fp_recent *fp_recent_at(struct fp_cpu_state *c, uint64_t tag)
{
    return &c->recent[(tag + (tag / FP_RECENT) * FP_STEP) % FP_RECENT];
}

/* fp_load, fp_store - an access of `size` bytes to user address virt.  `info` is passed to translate(). */
static inline void fp_load(struct fp_cpu_state *c, uint64_t virt, unsigned size, uint32_t info)
{
    uint64_t tag = virt >> FP_LINE_SHIFT | c->gen, other = FP_ABSENT(~virt >> FP_HALF_SHIFT & 1);
    struct fp_recent *l = fp_recent_at(c, tag);

    c->n.loads++;
    if (__builtin_expect((l->tag | other) != (tag | other) || *l->wordp != l->word ||
                             virt % FP_HALF_BYTES + size > FP_HALF_BYTES,
                         0))
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
