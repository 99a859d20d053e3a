// SPDX-License-Identifier: MIT
/*
 * test_buddy.c - frames and kernel memory compared with a simple model, on a simulated machine of three boards.
 *
 * THEORY      Board 0 has the hole below 1 MiB.  Its border with board 1 cuts a 4 MiB block in two.  Board 2 has CPUs
 *             but no memory.  Before mem_init() the memory of the descriptors is all ones, as a loader may leave it.
 *             The model is the owner of each frame.  At the end of each test all blocks have merged into those of its
 *             beginning.
 */
#include "tests/host/check.h"
#include "tests/host/machine.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cpu.h"
#include "mem/color.h"
#include "mem/mem_init.h"
#include "mem/kmem.h"
#include "mem/percpu.h"
#include "stat/cpustat.h"
#include "stat/panic.h"

#define MIB           (1ul << 20)
#define ARCHIVE       (83 * MIB) /* like the initramfs: whole blocks of 4 MiB, freed later */
#define ARCHIVE_BYTES (9 * MIB)

enum { NODES = 3, FRAMES = 96 * 256, NOWHERE = NODE_MAX - 1, BLOCKS_MAX = 30000 };

static struct cpu_counted cpu[NODES];
static struct mem_cpu magazines[NODES];
static uint8_t owner[FRAMES]; /* 0: free; 1: not available; 2: allocated */

static const struct mem_range range[] = {
    {0, 0x9f000, 0}, {1 * MIB, 49 * MIB + 0x3000, 0}, {50 * MIB + 0x3000, 46 * MIB - 0x3000, 1}};

struct cpu *cpus[CPU_MAX];
unsigned ncpu = NODES;

static struct {
    struct page *pg;
    unsigned order;
} block[BLOCKS_MAX];
static unsigned nblocks;

void spin_bad_sleep(void)
{
    panic("an allocation that may sleep, with %lx", cpu_context());
}

void panic(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    abort();
}

/* ---- the machine ---- */

static void own(paddr_t base, uint64_t len, uint8_t who)
{
    for (paddr_t pa = base; pa < base + len; pa += PAGE_SIZE) {
        CHECK(pa >> PAGE_SHIFT < FRAMES);
        owner[pa >> PAGE_SHIFT] = who;
    }
}

void mmu_init(const struct mem_range *r, unsigned n, mmu_alloc_fn alloc)
{
    for (unsigned i = 0; i < 5; i++) { /* page tables */
        paddr_t pa = alloc(0, PAGE_SIZE);

        CHECK_EQ(owner[pa >> PAGE_SHIFT], 0);
        own(pa, PAGE_SIZE, 1);
    }
    /* descriptors: the test has its own, but allocates as many frames */
    for (unsigned i = 0; i < n; i++) {
        paddr_t pa = alloc(r[i].node, HUGE_SIZE);

        CHECK_EQ(pa % HUGE_SIZE, 0);
        CHECK_EQ(phys_node(pa), (int)r[i].node);
        own(pa, HUGE_SIZE, 1);
    }
}

/* The test continues as a CPU of board `node`. */
static void run_on(unsigned node)
{
    static const struct machine_ops none;

    machine_start(&cpu[node], &none);
}

static void start(void)
{
    static bool done;
    static uint8_t near[3][2] = {{0, 1}, {1, 0}, {1, 0}};

    if (done)
        return;
    done = true;
    for (unsigned i = 0; i < NODES; i++) {
        cpus[i] = &cpu[i].cpu;
        *cpus[i] = (struct cpu){
            .self = cpus[i], .id = i, .node = i, .stat = &cpu[i].stat, .mem = &magazines[i]};
    }
    run_on(0);
    machine_map(DIRECT_BASE, FRAMES * PAGE_SIZE);
    machine_map(VMEMMAP_BASE, FRAMES * sizeof(struct page));
    for (unsigned i = 0; i < FRAMES; i++) /* stands for the contents before a reset: free blocks */
        vmemmap[i] = (struct page){.flags = PG_FREE, .node = i >= 51 * 256};
    memset(owner, 1, sizeof owner);
    for (unsigned i = 0; i < array_size(range); i++)
        own(range[i].base, range[i].len, 0);
    own(0, 0x10000, 1);
    mem_reserve(1 * MIB, 3 * MIB + 123);
    own(1 * MIB, 3 * MIB + PAGE_SIZE, 1);
    mem_reserve(60 * MIB + 4, 8);
    own(60 * MIB, PAGE_SIZE, 1);
    mem_reserve(80 * MIB, MIB);
    own(80 * MIB, MIB, 1);
    mem_reserve(ARCHIVE, ARCHIVE_BYTES);
    own(ARCHIVE, ARCHIVE_BYTES, 1);
    mem_init(range, array_size(range));
    for (unsigned i = 0; i < NODES; i++)
        mem_set_near(i, near[i], 2);
    kmem_init();
    mem_unreserve(ARCHIVE, ARCHIVE_BYTES);
    own(ARCHIVE, ARCHIVE_BYTES, 0);
}

static unsigned frames_free(unsigned node)
{
    unsigned n = 0;

    for (unsigned i = 0; i < FRAMES; i++)
        n += owner[i] == 0 && phys_node((paddr_t)i << PAGE_SHIFT) == (int)node;
    return n;
}

/* The number of free blocks of each order of a board. */
struct shape {
    unsigned n[2][MAX_ORDER + 1];
};

static struct shape shape_now(void)
{
    struct shape s = {0};

    for (unsigned node = 0; node < 2; node++)
        for (unsigned o = 0; o <= MAX_ORDER; o++) {
            struct page *pg;

            LIST_FOREACH (pg, &mem_nodes[node].free[o], link) {
                CHECK_EQ(pg->flags & ~(uint32_t)(o == MAX_ORDER ? PG_HEAD_ONLY : 0), PG_FREE);
                CHECK_EQ(pg->order, o);
                CHECK_EQ(pg->node, node);
                for (unsigned i = 0; i < 1u << o; i++)
                    CHECK_EQ(owner[pg - vmemmap + i], 0);
                s.n[node][o]++;
            }
            CHECK_EQ(mem_nodes[node].free_mask >> o & 1, s.n[node][o] > 0);
        }
    return s;
}

static struct page *take(unsigned node, unsigned order, unsigned flags)
{
    struct page *pg = page_alloc(node, order, flags);
    uint64_t pfn;

    if (pg == NULL)
        return NULL;
    pfn = (uint64_t)(pg - vmemmap);
    CHECK_EQ(pfn % (1u << order), 0);
    CHECK_EQ(pg->refs, 1);
    CHECK_EQ(pg->order, order);
    CHECK_EQ(pg->flags, order > 0 ? PG_HEAD : 0);
    CHECK_EQ(phys_node(page_to_phys(pg)), pg->node);
    for (unsigned i = 0; i < 1u << order; i++) {
        CHECK_EQ(owner[pfn + i], 0);
        owner[pfn + i] = 2;
        CHECK_EQ(phys_node((pfn + i) << PAGE_SHIFT), pg->node);
    }
    CHECK(nblocks < BLOCKS_MAX);
    block[nblocks].pg = pg;
    block[nblocks++].order = order;
    return pg;
}

/* A frame of board `node` for `color`; the caller checks which one it is. */
static struct page *take_colored(unsigned node, unsigned color, unsigned flags)
{
    struct page *pg = page_alloc_colored(node, color, flags);

    if (pg == NULL)
        return NULL;
    CHECK_EQ(pg->refs, 1);
    CHECK_EQ(pg->order, 0);
    CHECK_EQ(pg->flags, 0);
    CHECK_EQ(phys_node(page_to_phys(pg)), pg->node);
    CHECK_EQ(owner[pg - vmemmap], 0);
    owner[pg - vmemmap] = 2;
    CHECK(nblocks < BLOCKS_MAX);
    block[nblocks].pg = pg;
    block[nblocks++].order = 0;
    return pg;
}

static void give(unsigned k)
{
    for (unsigned i = 0; i < 1u << block[k].order; i++)
        owner[block[k].pg - vmemmap + i] = 0;
    page_release(block[k].pg);
    block[k] = block[--nblocks];
}

static void give_all(void)
{
    while (nblocks > 0)
        give((unsigned)check_below(nblocks));
}

/* ---- frames ---- */

TEST(free_at_start)
{
    start();
    for (unsigned node = 0; node < 2; node++)
        CHECK_EQ(mem_free_pages(node), frames_free(node));
    CHECK_EQ(mem_total_pages(), (range[0].len + range[1].len + range[2].len) >> PAGE_SHIFT);
    (void)shape_now();
    CHECK_EQ(phys_node(0x9f000), -1);
    CHECK_EQ(phys_node(0x9efff), 0);
    CHECK_EQ(phys_node(50 * MIB + 0x2fff), 0);
    CHECK_EQ(phys_node(50 * MIB + 0x3000), 1);
    CHECK_EQ(phys_node(96 * MIB), -1);
}

TEST(random_blocks_merge_back)
{
    struct shape before, after;

    start();
    run_on(2); /* uses the magazines of neither board */
    before = shape_now();
    for (unsigned i = 0; i < 20000; i++) {
        if (nblocks < 2000 && check_below(2) == 0)
            (void)take((unsigned)check_below(2),
                       (unsigned)check_below(check_below(8) == 0 ? MAX_ORDER + 1 : 4),
                       ALLOC_STRICT);
        else if (nblocks > 0)
            give((unsigned)check_below(nblocks));
        if (i % 5000 == 0)
            (void)shape_now();
    }
    give_all();
    after = shape_now();
    CHECK(memcmp(&before, &after, sizeof before) == 0);
}

TEST(every_frame_once_then_none)
{
    struct shape before, after;
    struct mem_counts c0, c1;
    unsigned n0, n1, got = 0;

    start();
    run_on(2);
    before = shape_now();
    n0 = frames_free(0);
    n1 = frames_free(1);
    mem_node_counts_clear(0);
    mem_node_counts_clear(1);
    while (take(0, 0, ALLOC_STRICT) != NULL)
        got++;
    CHECK_EQ(got, n0);
    CHECK_EQ(mem_free_pages(0), 0);
    while (take(0, 0, ALLOC_NEAR) != NULL) /* then frames of the nearest other board */
        got++;
    CHECK_EQ(got, n0 + n1);
    CHECK(page_alloc(1, 0, ALLOC_NEAR) == NULL);
    CHECK(page_alloc(2, 3, ALLOC_NEAR) == NULL);
    CHECK(kmem_alloc(100000) == NULL);
    mem_node_counts(0, &c0);
    mem_node_counts(1, &c1);
    CHECK_EQ(c0.local, n0);
    CHECK_EQ(c0.fallback, n1);
    CHECK_EQ(c1.foreign, n1);
    CHECK_EQ(c1.local, 0);
    give_all();
    after = shape_now();
    CHECK(memcmp(&before, &after, sizeof before) == 0);
}

TEST(magazines)
{
    struct mem_counts c;
    uint64_t free0, free1;

    start();
    run_on(1);
    free0 = mem_free_pages(0);
    free1 = mem_free_pages(1);
    mem_node_counts_clear(1);
    for (unsigned i = 0; i < 300; i++)
        CHECK_EQ(take(1, 0, ALLOC_NEAR)->node, 1);
    mem_node_counts(1, &c);
    CHECK_EQ(c.local, 300);
    for (unsigned i = 0; i < 300; i++)
        CHECK_EQ(take(0, 0, ALLOC_NEAR)->node, 0);
    CHECK_EQ(mem_free_pages(1), free1 - 300);
    CHECK_EQ(mem_free_pages(0), free0 - 300);
    run_on(0);
    give_all(); /* each frame returns to its own board */
    CHECK_EQ(mem_free_pages(1), free1);
    CHECK_EQ(mem_free_pages(0), free0);
    CHECK(magazines[0].npages <= PAGE_MAG && magazines[1].npages <= PAGE_MAG);
}

TEST(zeroed)
{
    struct page *pg;

    start();
    run_on(0);
    pg = take(0, 2, ALLOC_STRICT);
    memset(page_to_virt(pg), 0x5a, PAGE_SIZE * 4);
    give_all();
    pg = take(0, 2, ALLOC_STRICT | ALLOC_ZERO);
    for (unsigned i = 0; i < PAGE_SIZE * 4; i++)
        CHECK_EQ(((uint8_t *)page_to_virt(pg))[i], 0);
    give_all();
}

/* For each frame of the block of four at `pg`, a bit that is set if its first byte is not 0. */
static unsigned frames_with_data(struct page *pg)
{
    unsigned mask = 0;

    for (unsigned i = 0; i < 4; i++)
        mask |= (*(uint8_t *)page_to_virt(pg + i) != 0 ? 1u : 0) << i;
    return mask;
}

/*
 * A frame that may have held code is zeroed once, before it is used for something that does not overwrite the whole
 * frame.
 */
TEST(code_is_dropped)
{
    struct page *pg, *again;

    start();
    run_on(0);
    pg = take(0, 2, ALLOC_STRICT | ALLOC_WHOLE);
    page_has_code(pg, 4); /* as for frames used before the kernel */
    memset(page_to_virt(pg), 0x5a, PAGE_SIZE * 4);
    give_all();
    again = take(0, 2, ALLOC_STRICT | ALLOC_WHOLE);
    CHECK(again == pg);
    CHECK_EQ(frames_with_data(pg), 15);
    give_all();
    CHECK(take(0, 2, ALLOC_STRICT) == pg);
    CHECK_EQ(frames_with_data(pg), 0);
    memset(page_to_virt(pg), 0x5a, PAGE_SIZE * 4);
    give_all();
    CHECK(take(0, 2, ALLOC_STRICT) == pg);
    CHECK_EQ(frames_with_data(pg), 15);
    page_has_code(pg + 2, 1); /* one frame of a block runs code */
    give_all();
    CHECK(take(0, 2, ALLOC_STRICT) == pg);
    CHECK_EQ(frames_with_data(pg), 11);
    give_all();
    for (unsigned i = 0; i < 4; i++) /* the same for single frames */
        CHECK(take(0, 0, ALLOC_STRICT)->no_code);
    page_has_code(block[0].pg, 1);
    memset(page_to_virt(block[0].pg), 0x5a, PAGE_SIZE);
    again = block[0].pg;
    give(0);
    CHECK(take(0, 0, ALLOC_STRICT) == again);
    CHECK_EQ(*(uint8_t *)page_to_virt(again), 0);
    give_all();
}

/* ---- kernel memory ---- */

enum { OBJECTS = 1500 };
static struct {
    uint8_t *p;
    size_t size;
    uint8_t fill;
} object[OBJECTS];

static void object_free(unsigned i)
{
    for (size_t k = 0; k < object[i].size; k++)
        CHECK_EQ(object[i].p[k], object[i].fill);
    kmem_free(object[i].p);
    object[i].p = NULL;
}

TEST(kmem_random)
{
    uint64_t live, most;

    start();
    run_on(0);
    live = kmem_live_objects();
    most = mem_free_pages(0) + mem_free_pages(1);
    for (unsigned round = 0; round < 30000; round++) {
        unsigned i = (unsigned)check_below(OBJECTS);

        if (round % 50 == 0)
            run_on((unsigned)check_below(NODES));
        if (object[i].p != NULL) {
            object_free(i);
            continue;
        }
        object[i].size = 1 + check_below(check_below(50) == 0  ? 40000
                                         : check_below(4) == 0 ? 8192
                                                               : 300);
        object[i].fill = (uint8_t)check_random();
        object[i].p = check_below(2) == 0
                          ? kmem_alloc(object[i].size)
                          : kmem_alloc_node(object[i].size, (unsigned)check_below(NODES));
        CHECK(object[i].p != NULL);
        CHECK_EQ((uintptr_t)object[i].p % 16, 0);
        memset(object[i].p, object[i].fill, object[i].size);
    }
    for (unsigned i = 0; i < OBJECTS; i++)
        if (object[i].p != NULL)
            object_free(i);
    CHECK_EQ(kmem_live_objects(), live);
    /* the other frames are in magazines and slabs */
    CHECK(mem_free_pages(0) + mem_free_pages(1) > most - 1500);
    kmem_free(NULL);
}

TEST(kmem_comes_from_the_node)
{
    start();
    for (unsigned node = 0; node < 2; node++)
        for (unsigned size = 16; size <= 8192; size *= 2) {
            void *p[40];

            run_on(node);
            for (unsigned i = 0; i < 40; i++) {
                p[i] = i % 2 ? kmem_alloc(size) : kmem_alloc_node(size, 1 - node);
                CHECK_EQ(phys_node(virt_to_phys(p[i])), i % 2 ? (int)node : 1 - (int)node);
            }
            run_on(2);
            for (unsigned i = 0; i < 40; i++)
                kmem_free(p[i]);
        }
}

/* Without two free frames in a row there is memory for objects that fit into one frame, and for no larger ones. */
TEST(kmem_with_memory_in_pieces)
{
    enum { MANY = 400 };
    uint64_t free0, free1;
    void *p[MANY];

    start();
    run_on(2);
    while (take(0, 0, ALLOC_NEAR) != NULL)
        ;
    for (unsigned i = 0; i < nblocks;)
        if ((block[i].pg - vmemmap) % 2 == 0)
            give(i);
        else
            i++;
    free0 = mem_free_pages(0);
    free1 = mem_free_pages(1);
    CHECK(free0 > MANY && free1 > MANY);
    for (unsigned i = 0; i < MANY; i++) {
        p[i] = kmem_alloc_node(2048, i % 2);
        CHECK(p[i] != NULL);
        memset(p[i], (int)i, 2048);
    }
    CHECK(mem_free_pages(0) < free0 - MANY / 2 + 50 && mem_free_pages(1) < free1 - MANY / 2 + 50);
    CHECK(kmem_alloc(10000) == NULL);
    for (unsigned i = 0; i < MANY; i++) {
        CHECK_EQ(((uint8_t *)p[i])[2047], i & 0xff);
        kmem_free(p[i]);
    }
    CHECK(mem_free_pages(0) > free0 - 50 && mem_free_pages(1) > free1 - 50);
    give_all();
}

static bool may_take = true;

bool pageout_may_take(void)
{
    return may_take;
}

/* Unpageable allocations are counted, whichever CPU frees them, with an error of at most one batch for each CPU. */
TEST(unpageable_frames_are_counted)
{
    enum { BLOCKS = 100, ORDER = 2, FRAMES_TAKEN = 165, ERROR = 2 * (UNPAGEABLE_BATCH - 1) };
    struct page *pg[BLOCKS];
    int64_t before, taken, left;

    start();
    run_on(0);
    before = (int64_t)mem_unpageable();
    for (unsigned i = 0; i < BLOCKS; i++) {
        pg[i] =
            page_alloc(0, i % 2 * ORDER, i % 3 == 0 ? ALLOC_NEAR : ALLOC_NEAR | ALLOC_UNPAGEABLE);
        CHECK(pg[i] != NULL && ((pg[i]->flags & PG_UNPAGEABLE) != 0) == (i % 3 != 0));
    }
    taken = (int64_t)mem_unpageable() - before - FRAMES_TAKEN;
    CHECK(taken <= ERROR && taken >= -ERROR);
    run_on(2);
    for (unsigned i = 0; i < BLOCKS; i++)
        page_free(pg[i]);
    left = (int64_t)mem_unpageable() - before;
    CHECK(left <= 2 * ERROR && left >= -2 * ERROR);
}

/*
 * Below low_pages a thread that may not take the last frames gets none.  A thread that may gets one, and above
 * low_pages the question is not asked.
 */
TEST(last_frames_are_reserved)
{
    unsigned n = 0;

    start();
    run_on(2);
    mem_nodes[1].low_pages = mem_nodes[1].nfree_pages - 10;
    may_take = false;
    while (take(1, 2, ALLOC_STRICT) != NULL)
        n++;
    may_take = true;
    CHECK_EQ(n, 3);
    CHECK(take(1, 2, ALLOC_STRICT) != NULL);
    give_all();
    mem_nodes[1].low_pages = 0;
}

/*
 * The last frames bypass the magazines in both directions: a frame that was granted to one thread must not become
 * available to all threads of its CPU.
 */
TEST(last_frames_are_not_kept)
{
    uint64_t free1;

    start();
    run_on(1);
    while (magazines[1].npages > 0)
        (void)take(1, 0, ALLOC_STRICT);
    free1 = mem_nodes[1].nfree_pages;
    mem_nodes[1].low_pages = free1 + 1;
    CHECK(take(1, 0, ALLOC_STRICT) != NULL);
    CHECK_EQ(mem_nodes[1].nfree_pages, free1 - 1);
    CHECK_EQ(magazines[1].npages, 0);
    may_take = false;
    CHECK(take(1, 0, ALLOC_STRICT) == NULL);
    give(nblocks - 1);
    CHECK_EQ(mem_nodes[1].nfree_pages, free1);
    CHECK_EQ(magazines[1].npages, 0);
    may_take = true;
    mem_nodes[1].low_pages = 0;
    give_all();
}

TEST(kmem_without_memory)
{
    uint64_t live;
    void **chain = NULL, **p;

    start();
    run_on(1);
    live = kmem_live_objects();
    while ((p = kmem_alloc(2048)) != NULL) {
        *p = chain;
        chain = p;
    }
    CHECK(kmem_alloc(5 * MIB) == NULL);
    while (chain != NULL) {
        p = chain;
        chain = *p;
        kmem_free(p);
    }
    p = kmem_zalloc(8192);
    CHECK(p != NULL && p[0] == NULL && p[1023] == NULL);
    kmem_free(p);
    CHECK_EQ(kmem_live_objects(), live);
}

/* ---- colours; these tests come last, because the lists of the bins stay ---- */

enum { COLORS = 32 };

static void start_colors(void)
{
    start();
    run_on(2);
    if (page_colors > 1)
        return;
    page_coloring_init(24); /* not a power of two */
    CHECK_EQ(page_colors, 1);
    page_coloring_init(COLORS);
    CHECK_EQ(page_colors, COLORS);
    for (unsigned node = 0; node < 2; node++)
        own(virt_to_phys(mem_nodes[node].bin), PAGE_SIZE, 1);
}

static void empty_bins(void)
{
    for (unsigned node = 0; node < 2; node++) {
        spin_lock(&mem_nodes[node].lock);
        bins_empty(&mem_nodes[node]);
        spin_unlock(&mem_nodes[node].lock);
        CHECK_EQ(mem_nodes[node].nbinned, 0);
    }
}

TEST(colors_in_turn)
{
    struct shape before, after;
    uint64_t free0;

    start_colors();
    empty_bins();
    before = shape_now();
    free0 = mem_free_pages(0);
    for (unsigned i = 0; i < 2000; i++) {
        struct page *pg = take_colored(0, i % COLORS, ALLOC_STRICT);

        CHECK_EQ(page_color(pg), i % COLORS);
        CHECK_EQ(pg->node, 0);
        CHECK_EQ(mem_free_pages(0), free0 - i - 1);
        CHECK(mem_nodes[0].nbinned < COLORS); /* no more blocks are open than needed */
    }
    give_all();
    empty_bins();
    after = shape_now();
    CHECK(memcmp(&before, &after, sizeof before) == 0);
}

TEST(colors_at_random_among_blocks)
{
    struct shape before, after;

    start_colors();
    empty_bins();
    before = shape_now();
    for (unsigned i = 0; i < 20000; i++) {
        unsigned what = (unsigned)check_below(4), color = (unsigned)check_below(COLORS);

        if (what == 0 && nblocks < 2000)
            (void)take((unsigned)check_below(2), (unsigned)check_below(6), ALLOC_STRICT);
        else if (what == 1 && nblocks < 2000)
            CHECK_EQ(page_color(take_colored((unsigned)check_below(2), color, ALLOC_STRICT)),
                     color);
        else if (nblocks > 0)
            give((unsigned)check_below(nblocks));
        if (i % 5000 == 0)
            (void)shape_now();
    }
    give_all();
    empty_bins();
    after = shape_now();
    CHECK(memcmp(&before, &after, sizeof before) == 0);
}

/*
 * One colour alone: the rest of its blocks is available for others.  When there are no more frames of the colour, other
 * colours are used.
 */
TEST(one_color_alone)
{
    struct shape before, after;
    unsigned want, right = 0, got = 0;
    struct page *pg;

    start_colors();
    empty_bins();
    before = shape_now();
    want = (unsigned)mem_free_pages(0) - magazines[0].npages;
    while ((pg = take_colored(0, 5, ALLOC_STRICT)) != NULL) {
        right += page_color(pg) == 5;
        got++;
        CHECK(mem_nodes[0].nbinned <= 64 * COLORS);
        CHECK_EQ(mem_free_pages(0) - magazines[0].npages, want - got);
    }
    CHECK_EQ(got, want);
    /* all frames of the colour, except for incomplete blocks */
    CHECK(right >= want / COLORS - 10 && right <= want / COLORS + 10);
    CHECK_EQ(take_colored(0, 5, ALLOC_NEAR)->node, 1);
    give_all();
    empty_bins();
    after = shape_now();
    CHECK(memcmp(&before, &after, sizeof before) == 0);
}

/*
 * Arrays that grow at the same time, each starting with a different colour, get their colours from two thirds of a
 * node: frames that one leaves in its blocks wait for another array.
 */
TEST(colors_of_growing_arrays)
{
    enum { ARRAYS = 56 };
    unsigned next[ARRAYS], want;

    start_colors();
    empty_bins();
    want = (unsigned)(mem_free_pages(0) - magazines[0].npages) * 2 / 3;
    for (unsigned i = 0; i < ARRAYS; i++)
        next[i] = (unsigned)check_below(COLORS);
    for (unsigned i = 0; i < want; i++) {
        unsigned color = next[check_below(ARRAYS)]++ % COLORS;

        CHECK_EQ(page_color(take_colored(0, color, ALLOC_STRICT)), color);
    }
    give_all();
    empty_bins();
}

/* Users of only half of the colours get them from half of all frames, and blocks that are returned are used again. */
TEST(half_of_the_colors)
{
    unsigned want;

    start_colors();
    empty_bins();
    /* incomplete blocks */
    want = (unsigned)(mem_free_pages(0) - magazines[0].npages) / 2 - 5 * COLORS;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < want; i++) {
            unsigned color = COLORS / 2 + i % (COLORS / 2);

            CHECK_EQ(page_color(take_colored(0, color, ALLOC_STRICT)), color);
            CHECK(mem_nodes[0].nbinned <= 64 * COLORS);
        }
        give_all();
    }
    empty_bins();
}

TEST(bins_give_way_to_blocks)
{
    unsigned want, got = 0;

    start_colors();
    empty_bins();
    want = (unsigned)mem_free_pages(0) - magazines[0].npages;
    (void)take_colored(0, 0, ALLOC_STRICT);
    CHECK(mem_nodes[0].nbinned > 0);
    while (take(0, 0, ALLOC_STRICT) != NULL)
        got++;
    CHECK_EQ(got, want - 1);
    CHECK_EQ(mem_nodes[0].nbinned, 0);
    give_all();
}
