// SPDX-License-Identifier: MIT
/*
 * page.c - the frame allocator: a buddy system per memory node, magazines per CPU.
 *
 * THEORY      See page.h for the idea.  A node's free blocks are on lists by order (buddy system, Knowlton
 *             1965).  If there is no free block of the wanted order, a larger one is split into halves.
 *             Freeing a block merges it with its buddy, the block whose number differs in one bit.
 *             Only the head of a free block is marked as free, and merging reads only heads.  So
 *             descriptors need no initialisation at boot, except in the 4 MiB blocks that are partly in
 *             use: there a buddy may be a frame that was never freed.
 *             Single frames go through the CPU's magazine, which holds frames of the CPU's own node.  While
 *             few frames of the node are free, freed frames bypass the magazine.  The reason: every thread
 *             on that CPU may take a frame from the magazine, and no thread on another CPU can.
 *             If there is no free block left, free frames in the bins by colour return to the lists
 *             (color.c).
 * INVARIANTS  page.h I1-I3
 * LOCKING     node->lock (RANK_BUDDY); magazines with interrupts off.  Never two nodes' locks at once.
 * SEE ALSO    docs/memory.md, tests/host/test_buddy.c
 */
#include "mem/page.h"

#include "lib/cpu.h"
#include "lib/string.h"
#include "mem/color.h"
#include "mem/mem_init.h"
#include "mem/percpu.h"
#include "stat/cpustat.h"
#include "stat/panic.h"

struct mem_node mem_nodes[NODE_MAX];
unsigned nnodes;
struct mem_cpu mem_boot_cpu;

enum { RANGES_MAX = 321, RESERVED_MAX = 32 + 4 * NODE_MAX }; /* tables lie on each node */
static struct mem_range ranges[RANGES_MAX];
static unsigned nranges;
static struct mem_range device; /* len 0: none */
static struct {
    paddr_t base, end;
} reserved[RESERVED_MAX];
static unsigned nreserved;

/* Initialises the descriptor of a frame that was never allocated. */
static inline void clear_descriptor(struct page *pg)
{
    pg->flags = 0;
    pg->no_code = false;
}

struct page *block_take(struct mem_node *n, unsigned order)
{
    uint64_t usable = n->free_mask >> order << order;
    unsigned o;
    struct page *pg;

    if (usable == 0)
        return NULL;
    o = (unsigned)__builtin_ctzll(usable);
    pg = list_pop(&n->free[o], struct page, link);
    if (list_empty(&n->free[o]))
        n->free_mask &= ~(1ull << o);
    if (unlikely((pg->flags & PG_HEAD_ONLY) != 0)) /* now every descriptor must be valid */
        for (unsigned i = 1; i < 1u << o; i++)
            clear_descriptor(&pg[i]);
    while (o > order) { /* keep the first half, free the second */
        struct page *half = pg + (1ul << --o);

        half->flags = PG_FREE;
        half->node = pg->node;
        half->order = (uint8_t)o;
        list_push_front(&n->free[o], &half->link);
        n->free_mask |= 1ull << o;
    }
    pg->flags = 0; /* under the lock: its buddy, if freed, must not merge with it */
    n->nfree_pages -= 1ull << order;
    return pg;
}

void block_give(struct mem_node *n, struct page *pg, unsigned order)
{
    uint64_t pfn = (uint64_t)(pg - vmemmap);
    uint8_t node = (uint8_t)(n - mem_nodes);

    n->nfree_pages += 1ull << order;
    while (order < MAX_ORDER) {
        struct page *buddy = vmemmap + (pfn ^ (1ull << order));

        /*
         * A buddy on another node must not be merged, and this lock does not guard its fields.  They may be
         * stale, but with PG_FREE set `node` is right, because it is written first.
         */
        if (!(buddy->flags & PG_FREE) || buddy->order != order || buddy->node != node)
            break;
        list_remove(&buddy->link);
        if (list_empty(&n->free[order]))
            n->free_mask &= ~(1ull << order);
        buddy->flags = 0;
        pfn &= ~(1ull << order);
        order++;
    }
    pg = vmemmap + pfn;
    pg->node = node; /* before the flag: code that frees the buddy on another node may read it */
    pg->order = (uint8_t)order;
    pg->flags = PG_FREE;
    list_push_front(&n->free[order], &pg->link);
    n->free_mask |= 1ull << order;
}

/* Takes a block of node `n`, after emptying the bins if necessary; NULL: there is none.  n->lock is held. */
static struct page *take_block_or_bins(struct mem_node *n, unsigned order)
{
    struct page *pg = block_take(n, order);

    if (unlikely(pg == NULL) && n->nbinned > 0) {
        bins_empty(n);
        pg = block_take(n, order);
    }
    return pg;
}

static _Atomic int64_t unpageable; /* frames, without those in the counts of CPUs */

/* Adds the count of this CPU to `unpageable`. */
static __attribute__((noinline)) void publish_unpageable(void)
{
    irq_push();
    atomic_fetch_add_explicit(&unpageable, this_cpu()->unpageable, memory_order_relaxed);
    this_cpu()->unpageable = 0;
    irq_pop();
}

/* Adds n frames to the count of this CPU: one instruction, because an interrupt may add some, too. */
static inline void unpageable_add(int n)
{
    int known;

    __asm__ volatile("addl %1, %%gs:%c0" ::"i"(offsetof(struct cpu, unpageable)), "r"(n)
                     : "memory", "cc");
    known = this_cpu()->unpageable;
    if (unlikely(known >= UNPAGEABLE_BATCH || known <= -UNPAGEABLE_BATCH))
        publish_unpageable();
}

void page_count(struct page *pg)
{
    atomic_fetch_or_explicit(&pg->flags, PG_UNPAGEABLE, memory_order_relaxed);
    unpageable_add(1 << pg->order);
}

/* Are fewer than low_pages frames of the node free? */
static bool is_node_scarce(const struct mem_node *n)
{
    return unlikely(n->nfree_pages < n->low_pages);
}

/* Fills the magazine of the running CPU from its node; interrupts are off.  Returns whether it holds a frame now. */
static bool fill_page_magazine(struct mem_cpu *m, unsigned node)
{
    struct mem_node *n = &mem_nodes[node];
    unsigned want = is_node_scarce(n) ? 1 : PAGE_MAG_BATCH;

    spin_lock(&n->lock);
    while (m->npages < want) {
        struct page *pg = take_block_or_bins(n, 0);

        if (pg == NULL)
            break;
        m->page[m->npages++] = pg;
    }
    spin_unlock(&n->lock);
    return m->npages > 0;
}

/* Moves frames from the magazine to the lists of its node until `keep` are left; interrupts are off. */
static void drain_page_magazine(struct mem_cpu *m, unsigned node, unsigned keep)
{
    struct mem_node *n = &mem_nodes[node];

    spin_lock(&n->lock);
    while (m->npages > keep)
        block_give(n, m->page[--m->npages], 0);
    spin_unlock(&n->lock);
}

/*
 * Takes a block from the lists of a node; NULL: there is none.
 * @asked  the caller requested this node, else it is a fallback
 */
static struct page *alloc_from_node(unsigned node, unsigned order, bool asked)
{
    struct mem_node *n = &mem_nodes[node];
    struct page *pg;

    spin_lock(&n->lock);
    pg = take_block_or_bins(n, order);
    if (pg != NULL && asked)
        n->n_local++;
    else if (pg != NULL)
        n->n_foreign++;
    spin_unlock(&n->lock);
    return pg;
}

/*
 * Takes a block from the CPU's magazine, filled if necessary, or from the node; else, without ALLOC_STRICT,
 * from the nearest node that has one.  *from is the node.  NULL: there is none.
 */
static struct page *alloc_block_once(unsigned node, unsigned order, unsigned flags, unsigned *from)
{
    struct page *pg = NULL;

    irq_push();
    if (order == 0 && node == this_cpu()->node) {
        struct mem_cpu *m = this_cpu()->mem;

        if (m->npages > 0 || fill_page_magazine(m, node)) {
            pg = m->page[--m->npages];
            m->n_local++;
        }
    } else {
        pg = alloc_from_node(node, order, true);
    }
    irq_pop();
    *from = node;
    if (unlikely(pg == NULL) && !(flags & ALLOC_STRICT)) {
        struct mem_node *n = &mem_nodes[node];

        for (unsigned i = 0; i < n->nnear && pg == NULL; i++) {
            *from = n->near[i];
            if (*from != node)
                pg = alloc_from_node(*from, order, false);
        }
        if (pg != NULL)
            atomic_fetch_add_explicit(&n->n_fallback, 1, memory_order_relaxed);
    }
    return pg;
}

/* Must the running thread leave the last frames of the node to others? */
static bool is_alloc_refused(const struct mem_node *n)
{
    return is_node_scarce(n) && !pageout_may_take();
}

enum { BLOCK_TRIES = 16 }; /* retries for a block of several frames */

/*
 * page_alloc() if the magazine is empty or cannot be used.  It does not wait for ever for a block of
 * several frames, because perhaps only single frames become free.
 */
static __attribute__((noinline)) struct page *alloc_slow(unsigned node, unsigned order,
                                                         unsigned flags, unsigned *from)
{
    const struct mem_node *n = &mem_nodes[node];
    bool wait = (flags & ALLOC_WAIT) != 0, none;
    unsigned tries = 0;
    struct page *pg;

    if (wait)
        spin_check_sleep(0);
    if (is_node_scarce(n))
        pageout_low_memory(node, wait, false);
    do {
        none = is_alloc_refused(n);
        pg = none ? NULL : alloc_block_once(node, order, flags, from);
    } while (unlikely(pg == NULL) && (wait || none) && (order == 0 || tries++ < BLOCK_TRIES) &&
             pageout_low_memory(node, wait, true));
    return pg;
}

uint64_t mem_unpageable(void)
{
    return (uint64_t)max_of(atomic_load_explicit(&unpageable, memory_order_relaxed), (int64_t)0);
}

struct page *page_alloc(unsigned node, unsigned order, unsigned flags)
{
    struct page *pg = NULL;
    unsigned from = node;
    struct cpu *c;

#ifdef HR_TEST
    if ((flags & ALLOC_WAIT) != 0)
        spin_check_sleep(0);
#endif
    irq_push();
    c = this_cpu();
    if (order == 0 && node == c->node && likely(c->mem->npages > 0)) {
        pg = c->mem->page[--c->mem->npages];
        c->mem->n_local++;
    }
    irq_pop();
    if (unlikely(pg == NULL)) {
        pg = alloc_slow(node, order, flags, &from);
        if (pg == NULL)
            return NULL;
    }
    page_setup(pg, from, order, flags);
    return pg;
}

void page_free(struct page *pg)
{
    unsigned node = pg->node, order = pg->order;

    ASSERT(pg->refs <= 1 && !(pg->flags & (PG_FREE | PG_CACHED | PG_WRITEBACK)) &&
               pg->mapcount == 0,
           "page.h I2");
    if (unlikely((pg->flags & (PG_SWAPPED | PG_SLOT | PG_AHEAD | PG_UNPAGEABLE)) != 0)) {
        uint32_t flags = pg->flags;

        if ((flags & (PG_SWAPPED | PG_SLOT)) != 0)
            swap_free_slot(pg);
        if ((flags & PG_SWAPPED) != 0) /* swap_free_slot() has freed the descriptor, too */
            return;
        if ((flags & PG_UNPAGEABLE) != 0)
            unpageable_add(-(1 << order));
        if ((flags & PG_AHEAD) != 0)
            CPUSTAT_INC(around_wasted);
    }
    pg->flags = 0;
    pg->refs = 0;
    irq_push();
    if (order == 0 && node == this_cpu()->node && !is_node_scarce(&mem_nodes[node])) {
        struct mem_cpu *m = this_cpu()->mem;

        if (m->npages == PAGE_MAG)
            drain_page_magazine(m, node, PAGE_MAG - PAGE_MAG_BATCH);
        m->page[m->npages++] = pg;
    } else {
        spin_lock(&mem_nodes[node].lock);
        block_give(&mem_nodes[node], pg, order);
        spin_unlock(&mem_nodes[node].lock);
    }
    irq_pop();
}

void page_zero(struct page *pg, unsigned order)
{
    CPUSTAT_INC(zero_pages);
    memset(page_to_virt(pg), 0, PAGE_SIZE << order);
}

void page_drop_code(struct page *pg, unsigned order)
{
    for (unsigned i = 0; i < 1u << order; i++)
        if (!pg[i].no_code) {
            memset(page_to_virt(&pg[i]), 0, PAGE_SIZE);
            pg[i].no_code = true;
        }
}

void page_copy(struct page *dst, struct page *src, unsigned order)
{
    memcpy(page_to_virt(dst), page_to_virt(src), PAGE_SIZE << order);
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

uint64_t mem_free_pages(unsigned node)
{
    uint64_t n = mem_nodes[node].nfree_pages;

    for (unsigned i = 0; i < ncpu; i++)
        if (cpus[i] != NULL && cpus[i]->mem != NULL && cpus[i]->node == node)
            n += cpus[i]->mem->npages;
    return n;
}

void mem_node_counts(unsigned node, struct mem_counts *out)
{
    const struct mem_node *n = &mem_nodes[node];

    *out = (struct mem_counts){n->n_local, n->n_fallback, n->n_foreign};
    for (unsigned i = 0; i < ncpu; i++)
        if (cpus[i] != NULL && cpus[i]->mem != NULL && cpus[i]->node == node)
            out->local += cpus[i]->mem->n_local;
}

void mem_node_counts_clear(unsigned node)
{
    struct mem_node *n = &mem_nodes[node];

    n->n_local = 0;
    n->n_fallback = 0;
    n->n_foreign = 0;
    for (unsigned i = 0; i < ncpu; i++)
        if (cpus[i] != NULL && cpus[i]->mem != NULL && cpus[i]->node == node)
            cpus[i]->mem->n_local = 0;
}

uint64_t mem_total_pages(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < nnodes; i++)
        n += mem_nodes[i].ninstalled_pages;
    return n;
}

/* ---- boot ---- */

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
                for (unsigned k = 0; k < nreserved; k++) /* extend an adjacent reservation */
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

static struct mem_stretch stretches[RANGES_MAX + RESERVED_MAX];
static unsigned nstretches;

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
        if (order == MAX_ORDER) /* others: clear_block_descriptors() */
            vmemmap[pfn].flags |= PG_HEAD_ONLY;
        pfn += 1ull << order;
    }
}

/*
 * Clears the descriptors of the 4 MiB blocks that [base, end) overlaps, because old contents of that memory
 * must not look like a free buddy.  All these descriptors exist, because they are mapped in units of 2 MiB,
 * which describe 128 MiB of RAM.
 */
static void clear_block_descriptors(paddr_t base, paddr_t end)
{
    const uint64_t block = PAGE_SIZE << MAX_ORDER;

    for (paddr_t at = round_down(base, block); at < round_up(end, block); at += PAGE_SIZE)
        clear_descriptor(phys_to_page(at));
}

/*
 * Gives the parts of a range that are not reserved to the allocator.  With clear_only, only clears the
 * descriptors that need it.
 */
static void add_boot_range(const struct mem_range *r, bool clear_only)
{
    paddr_t at = r->base, end = r->base + r->len;

    for (unsigned i = 0; at < end; i++) {
        paddr_t stop = i < nreserved ? max_of(min_of(reserved[i].base, end), at) : end;
        paddr_t next = i < nreserved ? max_of(stop, min_of(reserved[i].end, end)) : end;

        if (stop > at && clear_only) { /* both ends: buddies of free blocks may lie outside */
            clear_block_descriptors(at, at + 1);
            clear_block_descriptors(stop - 1, stop);
        } else if (stop > at) {
            free_boot_range(r->node, at, stop);
        }
        if (next > stop && clear_only) /* mem_unreserve() may free it later */
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
    for (unsigned i = 0; i < NODE_MAX; i++) {
        spin_init(&mem_nodes[i].lock, RANK_BUDDY);
        for (unsigned o = 0; o <= MAX_ORDER; o++)
            list_init(&mem_nodes[i].free[o]);
    }
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
