// SPDX-License-Identifier: MIT
/*
 * page_boot.c - gives the machine's memory to the buddy system, at boot.
 *
 * THEORY      The firmware's map of memory consists of ranges.  Each range belongs to one node, and parts of it
 *             can be reserved: the kernel's image, tables of the firmware, the initramfs.  Frame descriptors
 *             and page tables are taken from the other parts, before there is an allocator.  The rest is freed
 *             in the largest aligned blocks that fit.
 *             Writing all descriptors would take long on a machine with much memory.  For a whole free block of
 *             4 MiB, only the head's descriptor is written (PG_HEAD_ONLY).  In blocks that are partly in use
 *             all descriptors are cleared, because the buddy of a free block must not look free by chance.
 * LOCKING     There are no locks: only the boot CPU calls these functions, before the first program runs.
 * SEE ALSO    mem_init.h, docs/boot.md, tests/host/test_page_boot.c
 */
#include "mem/mem_init.h"

#include "lib/string.h"
#include "mem/buddy.h"
#include "mem/page_setup.h"
#include "stat/panic.h"

/* 4 for each node, because tables lie on each node */
enum { RANGES_MAX = 321, RESERVED_MAX = 32 + 4 * NODE_MAX };
static struct mem_range ranges[RANGES_MAX];
static unsigned nranges;
static struct mem_range device; /* memory of a device (mem_device); len 0: none */
static struct {
    paddr_t base, end;
} reserved[RESERVED_MAX];
static unsigned nreserved;
static struct mem_stretch stretches[RANGES_MAX + RESERVED_MAX];
static unsigned nstretches;

void mem_reserve(paddr_t base, uint64_t len)
{
    paddr_t end = round_up(base + len, PAGE_SIZE);
    unsigned i = nreserved;

    if (nreserved == RESERVED_MAX)
        panic("more than %u reserved memory ranges", RESERVED_MAX);
    base = round_down(base, PAGE_SIZE);
    for (; i > 0 && reserved[i - 1].base > base; i--)
        reserved[i] = reserved[i - 1];
    reserved[i].base = base;
    reserved[i].end = end;
    nreserved++;
}

/* The end of the first reservation that overlaps [a, a + len); 0: none does. */
static paddr_t end_of_reservation(paddr_t a, uint64_t len)
{
    for (unsigned i = 0; i < nreserved; i++)
        if (reserved[i].base < a + len && a < reserved[i].end)
            return reserved[i].end;
    return 0;
}

/*
 * Reserves memory for page tables and frame descriptors before the allocator works: see mmu_init().  The
 * boot page tables map only the first 4 GiB.
 */
static paddr_t boot_alloc(unsigned node, size_t len)
{
    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < nranges; i++) {
            paddr_t a = round_up(max_of(ranges[i].base, (paddr_t)0x10000), len), past;

            if (pass == 0 && (len > PAGE_SIZE) && ranges[i].node != node)
                continue;
            while ((past = end_of_reservation(a, len)) != 0)
                a = round_up(past, len);
            if (a + len <= ranges[i].base + ranges[i].len &&
                (len > PAGE_SIZE || a + len <= 1ul << 32)) {
                /* extend a reservation that ends where the new one begins */
                for (unsigned k = 0; k < nreserved; k++)
                    if (reserved[k].end == a) {
                        reserved[k].end = a + len;
                        return a;
                    }
                mem_reserve(a, len);
                return a;
            }
        }
    panic("no memory for the kernel's own tables");
}

/* Adds [base, end) to the ranges that mem_stretch() returns. */
static void add_mem_stretch(paddr_t base, paddr_t end)
{
    struct mem_stretch s = {phys_to_page(base), phys_to_page(end)};

    if (nstretches > 0 && stretches[nstretches - 1].end == s.first)
        stretches[nstretches - 1].end = s.end;
    else if (nstretches < sizeof stretches / sizeof stretches[0])
        stretches[nstretches++] = s;
}

bool mem_stretch(unsigned i, struct mem_stretch *out)
{
    if (i >= nstretches)
        return false;
    *out = stretches[i];
    return true;
}

/* Gives [base, end) to the allocator, in the largest aligned blocks that fit. */
static void free_boot_range(unsigned node, paddr_t base, paddr_t end)
{
    uint64_t pfn = base >> PAGE_SHIFT, last = end >> PAGE_SHIFT;

    add_mem_stretch(base, end);
    mem_nodes[node].navail_pages += last - pfn;

    while (pfn < last) {
        unsigned order =
            pfn == 0 ? MAX_ORDER : min_of((unsigned)__builtin_ctzll(pfn), (unsigned)MAX_ORDER);

        while (pfn + (1ull << order) > last)
            order--;
        clear_descriptor(&vmemmap[pfn]);
        block_give(&mem_nodes[node], vmemmap + pfn, order);
        /* the descriptors of smaller blocks are cleared by clear_block_descriptors() */
        if (order == MAX_ORDER)
            vmemmap[pfn].flags |= PG_HEAD_ONLY;
        pfn += 1ull << order;
    }
}

/*
 * Clears the descriptors of the 4 MiB blocks that [base, end) overlaps, because old contents of that memory
 * must not look like a free buddy.  All these descriptors exist, because descriptors are mapped in units of 2
 * MiB, and one unit describes 128 MiB of RAM.
 */
static void clear_block_descriptors(paddr_t base, paddr_t end)
{
    const uint64_t block = PAGE_SIZE << MAX_ORDER;

    for (paddr_t at = round_down(base, block); at < round_up(end, block); at += PAGE_SIZE)
        clear_descriptor(phys_to_page(at));
}

/*
 * Gives the unreserved parts of a range to the allocator.  With clear_only, only clears the
 * descriptors that must be cleared.
 */
static void add_boot_range(const struct mem_range *r, bool clear_only)
{
    paddr_t at = r->base, end = r->base + r->len;

    for (unsigned i = 0; at < end; i++) {
        paddr_t stop = i < nreserved ? max_of(min_of(reserved[i].base, end), at) : end;
        paddr_t next = i < nreserved ? max_of(stop, min_of(reserved[i].end, end)) : end;

        /* at both ends, buddies of the free blocks may lie outside the range */
        if (stop > at && clear_only) {
            clear_block_descriptors(at, at + 1);
            clear_block_descriptors(stop - 1, stop);
        } else if (stop > at) {
            free_boot_range(r->node, at, stop);
        }
        if (next > stop && clear_only) /* mem_unreserve() may free the reserved range later */
            clear_block_descriptors(stop, next);
        at = next;
    }
}

void mem_device(paddr_t base, uint64_t len)
{
    device = (struct mem_range){base, len, 0};
}

void mem_init(const struct mem_range *r, unsigned n)
{
    ASSERT(n > 0 && n < RANGES_MAX, "at least one memory range");
    for (unsigned i = 0; i < NODE_MAX; i++)
        buddy_init(&mem_nodes[i]);
    memcpy(ranges, r, n * sizeof *r);
    nranges = n;
    for (unsigned i = 0; i < n; i++) {
        mem_nodes[r[i].node].ninstalled_pages += r[i].len >> PAGE_SHIFT;
        nnodes = max_of(nnodes, r[i].node + 1);
    }
    mem_reserve(0, 0x10000); /* BIOS data, and the page where other CPUs start */
    ranges[n] = device;
    mmu_init(ranges, n + (device.len > 0), boot_alloc);
    for (unsigned i = 0; i < n; i++)
        add_boot_range(&r[i], true);
    for (unsigned i = 0; i < n; i++)
        add_boot_range(&r[i], false);
    for (paddr_t a = device.base; a < device.base + device.len; a += PAGE_SIZE)
        page_setup(phys_to_page(a), device.node, 0, ALLOC_WHOLE);
}

void mem_set_near(unsigned node, const uint8_t *near, unsigned nnear)
{
    memcpy(mem_nodes[node].near, near, nnear);
    mem_nodes[node].nnear = nnear;
}

void mem_unreserve(paddr_t base, uint64_t len)
{
    paddr_t end = round_up(base + len, PAGE_SIZE);

    for (base = round_down(base, PAGE_SIZE); base < end; base += PAGE_SIZE) {
        struct page *pg = phys_to_page(base);
        int node = phys_node(base);

        if (node < 0)
            continue;
        add_mem_stretch(base, base + PAGE_SIZE);
        mem_nodes[node].navail_pages++;
        page_setup(pg, (unsigned)node, 0, ALLOC_WHOLE);
        pg->no_code = false;
        page_free(pg);
    }
}

int phys_node(paddr_t pa)
{
    unsigned lo = 0, hi = nranges;

    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;

        if (pa < ranges[mid].base)
            hi = mid;
        else if (pa - ranges[mid].base >= ranges[mid].len)
            lo = mid + 1;
        else
            return (int)ranges[mid].node;
    }
    return -1;
}
