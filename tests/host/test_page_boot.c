// SPDX-License-Identifier: MIT
/*
 * test_page_boot.c - how the memory of a machine gets to the buddy system, on one machine of random ranges.
 *
 * THEORY      Two nodes have many ranges of random sizes, with holes between some of them.  Random parts are reserved,
 *             some more than once.  The buddy system is a map that records each frame given to it.  Before mem_init()
 *             all descriptors look like free blocks, as a loader may leave them.
 */
#include "tests/host/check.h"
#include "tests/host/machine.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cpu.h"
#include "mem/buddy.h"
#include "mem/mem_init.h"
#include "mem/page_setup.h"
#include "stat/cpustat.h"
#include "stat/panic.h"

enum { RANGES = 120, RESERVED = 60, FRAMES = 1 << 18, DEVICE_FRAMES = 3, FIRST = 16 };
enum state { HOLE, USABLE, TAKEN, GIVEN, DEVICE }; /* of a frame */

struct mem_node mem_nodes[NODE_MAX];
unsigned nnodes;

static struct cpu_counted cpu;
static struct mem_range range[RANGES];
static uint8_t state[FRAMES], node_of[FRAMES];
static unsigned nblocks, nfreed;
static bool booted;

void panic(const char *fmt, ...)
{
    fprintf(stderr, "panic: %s\n", fmt);
    abort();
}

/* ---- what page_boot.c calls ---- */

void buddy_init(struct mem_node *n)
{
    spin_init(&n->lock, RANK_BUDDY);
}

/* Whether the block of 2^order frames that contains `pfn` is usable, of one range, and not yet given. */
static bool is_whole_block(uint64_t pfn, unsigned order)
{
    uint64_t first = pfn >> order << order;

    if (first + (1u << order) > FRAMES)
        return false;
    for (uint64_t i = first; i < first + (1u << order); i++)
        if ((state[i] != USABLE && state[i] != GIVEN) || node_of[i] != node_of[pfn])
            return false;
    return true;
}

void block_give(struct mem_node *n, struct page *pg, unsigned order)
{
    uint64_t pfn = (uint64_t)(pg - vmemmap);

    CHECK(order <= MAX_ORDER);
    CHECK_EQ(pfn & ((1u << order) - 1), 0);
    CHECK_EQ(pg->flags, 0);
    CHECK(!pg->no_code);
    for (uint64_t i = pfn; i < pfn + (1u << order); i++) {
        CHECK_EQ(state[i], USABLE);
        CHECK_EQ(node_of[i], n - mem_nodes);
        state[i] = GIVEN;
    }
    /* merging may read it: it must be free, or not the head of a free block */
    for (unsigned o = order; o < MAX_ORDER; o++) {
        const struct page *buddy = vmemmap + ((pfn >> o << o) ^ (1ull << o));

        CHECK((buddy->flags & PG_FREE) == 0 || state[buddy - vmemmap] == GIVEN);
    }
    pg->flags = PG_FREE;
    pg->order = (uint8_t)order;
    nblocks++;
}

void page_free(struct page *pg)
{
    CHECK_EQ(pg->refs, 1);
    CHECK(!pg->no_code);
    CHECK_EQ(state[pg - vmemmap], TAKEN);
    CHECK_EQ(pg->node, node_of[pg - vmemmap]);
    state[pg - vmemmap] = GIVEN;
    nfreed++;
}

void page_zero(struct page *pg, unsigned order)
{
    panic("a frame is zeroed");
}

void page_drop_code(struct page *pg, unsigned order)
{
    panic("a frame is zeroed");
}

void mem_unpageable_publish(void)
{
}

void mmu_init(const struct mem_range *r, unsigned n, mmu_alloc_fn alloc)
{
    CHECK_EQ(n, RANGES + 1);
    CHECK_EQ(r[RANGES].len, DEVICE_FRAMES * PAGE_SIZE);
    for (unsigned i = 0; i < 40; i++) {
        uint64_t pfn = alloc(0, PAGE_SIZE) >> PAGE_SHIFT;

        CHECK_EQ(state[pfn], USABLE);
        state[pfn] = TAKEN;
    }
    for (unsigned i = 0; i < 10; i++) {
        unsigned node = i % 2;
        paddr_t pa = alloc(node, HUGE_SIZE);

        CHECK_EQ(pa % HUGE_SIZE, 0);
        for (uint64_t k = pa >> PAGE_SHIFT; k < (pa + HUGE_SIZE) >> PAGE_SHIFT; k++) {
            CHECK_EQ(state[k], USABLE);
            CHECK_EQ(node_of[k], node);
            state[k] = TAKEN;
        }
    }
}

/* ---- the machine ---- */

static void reserve(uint64_t pfn, uint64_t n)
{
    mem_reserve((pfn << PAGE_SHIFT) + check_below(PAGE_SIZE), (n - 1) * PAGE_SIZE + 1);
    for (uint64_t i = pfn; i < pfn + n; i++)
        if (state[i] == USABLE)
            state[i] = TAKEN;
}

static void make_ranges(void)
{
    uint64_t pfn = 0;

    for (unsigned i = 0; i < RANGES; i++) {
        uint64_t n = 1 + check_below(check_below(2) == 0 ? 20 : 4000);

        pfn += check_below(3) == 0 ? check_below(50) : 0;
        range[i] = (struct mem_range){pfn << PAGE_SHIFT, n << PAGE_SHIFT, (uint32_t)check_below(2)};
        CHECK(pfn + n < FRAMES - DEVICE_FRAMES);
        for (uint64_t k = pfn; k < pfn + n; k++) {
            state[k] = k < FIRST ? TAKEN : USABLE;
            node_of[k] = (uint8_t)range[i].node;
        }
        pfn += n;
    }
    for (unsigned i = 0; i < DEVICE_FRAMES; i++)
        state[FRAMES - DEVICE_FRAMES + i] = DEVICE;
    mem_device((FRAMES - DEVICE_FRAMES) * PAGE_SIZE, DEVICE_FRAMES * PAGE_SIZE);
}

static void start(void)
{
    static const struct machine_ops none;

    if (booted)
        return;
    booted = true;
    cpu.cpu = (struct cpu){.self = &cpu.cpu, .stat = &cpu.stat};
    machine_start(&cpu, &none);
    machine_map(VMEMMAP_BASE, FRAMES * sizeof(struct page));
    for (unsigned i = 0; i < FRAMES; i++)
        vmemmap[i] = (struct page){
            .flags = PG_FREE, .order = (uint8_t)(i % 11), .node = i % 2, .no_code = true};
    make_ranges();
    for (unsigned i = 0; i < RESERVED; i++)
        reserve(check_below(FRAMES / 2), 1 + check_below(check_below(3) == 0 ? 3000 : 5));
    mem_init(range, RANGES);
}

/* ---- tests ---- */

/* Each usable frame is given once, and no other frame: block_give() checks the rest. */
TEST(all_that_is_usable_is_given)
{
    uint64_t avail[2] = {0}, installed[2] = {0};

    start();
    for (unsigned i = 0; i < FRAMES; i++) {
        CHECK(state[i] != USABLE);
        if (state[i] == GIVEN)
            avail[node_of[i]]++;
        if (state[i] == GIVEN || state[i] == TAKEN)
            installed[node_of[i]]++;
    }
    CHECK_EQ(nnodes, 2);
    for (unsigned node = 0; node < 2; node++) {
        CHECK_EQ(mem_nodes[node].navail_pages, avail[node]);
        CHECK_EQ(mem_nodes[node].ninstalled_pages, installed[node]);
    }
}

/* Only whole blocks of 4 MiB have descriptors that were not written. */
TEST(whole_blocks_are_marked)
{
    unsigned whole = 0;

    start();
    for (unsigned i = 0; i < FRAMES; i++)
        if (state[i] == GIVEN && (vmemmap[i].flags & PG_HEAD_ONLY) != 0) {
            CHECK_EQ(vmemmap[i].order, MAX_ORDER);
            whole++;
        }
    CHECK(whole > 0 && whole < nblocks);
    for (unsigned i = 0; i < FRAMES; i += 1u << MAX_ORDER)
        if (!is_whole_block(i, MAX_ORDER))
            for (unsigned k = i; k < i + (1u << MAX_ORDER); k++)
                CHECK(state[k] != GIVEN || (vmemmap[k].flags & PG_HEAD_ONLY) == 0);
}

TEST(the_node_of_each_address)
{
    start();
    for (unsigned i = 0; i < FRAMES; i++) {
        int node = state[i] == HOLE || state[i] == DEVICE ? -1 : node_of[i];

        CHECK_EQ(phys_node((paddr_t)i << PAGE_SHIFT), node);
        CHECK_EQ(phys_node(((paddr_t)i << PAGE_SHIFT) + PAGE_SIZE - 1), node);
    }
    CHECK_EQ(phys_node((paddr_t)FRAMES << PAGE_SHIFT), -1);
}

/* The frames of a device have descriptors in use and cannot be allocated. */
TEST(a_device_has_descriptors)
{
    start();
    for (unsigned i = FRAMES - DEVICE_FRAMES; i < FRAMES; i++) {
        CHECK_EQ(vmemmap[i].refs, 1);
        CHECK_EQ(vmemmap[i].flags, 0);
    }
}

static unsigned frames_in_stretches(void)
{
    struct mem_stretch s;
    unsigned n = 0;

    for (unsigned i = 0; mem_stretch(i, &s); i++)
        for (struct page *pg = s.first; pg < s.end; pg++) {
            CHECK_EQ(state[pg - vmemmap], GIVEN);
            n++;
        }
    return n;
}

/* mem_stretch() returns each frame of the allocator once, also a frame that was reserved at first. */
TEST(stretches)
{
    uint64_t before[2], given, taken = 0;
    unsigned at;

    start();
    given = mem_nodes[0].navail_pages + mem_nodes[1].navail_pages;
    CHECK_EQ(frames_in_stretches(), given);
    do
        at = FIRST + (unsigned)check_below(FRAMES - FIRST);
    while (state[at] != TAKEN);
    for (unsigned node = 0; node < 2; node++)
        before[node] = mem_nodes[node].navail_pages;
    mem_unreserve(((paddr_t)at << PAGE_SHIFT) + 17, 1);
    CHECK_EQ(nfreed, 1);
    CHECK_EQ(state[at], GIVEN);
    CHECK_EQ(mem_nodes[node_of[at]].navail_pages, before[node_of[at]] + 1);
    CHECK_EQ(mem_nodes[1 - node_of[at]].navail_pages, before[1 - node_of[at]]);
    CHECK_EQ(frames_in_stretches(), given + 1);
    for (unsigned i = 0; i < FRAMES; i++) /* holes are skipped */
        taken += state[i] == TAKEN;
    CHECK(taken > 0);
    for (unsigned i = 0; i < FRAMES; i++)
        if (state[i] == HOLE)
            mem_unreserve((paddr_t)i << PAGE_SHIFT, PAGE_SIZE);
    CHECK_EQ(nfreed, 1);
}
