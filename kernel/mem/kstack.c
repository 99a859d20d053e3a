// SPDX-License-Identifier: MIT
/*
 * kstack.c - kernel stacks: single frames, mapped at consecutive addresses above guard pages.
 *
 * THEORY      Each thread has a stack for its work in the kernel.  A stack lies in a slot of the window at
 *             KSTACK_BASE: first guard pages, then KSTACK_PAGES pages.  Its frames need not be adjacent, so a
 *             thread can be created even if memory is fragmented.  A thread that uses up its stack hits the
 *             guard.  That causes a double fault; without a guard the thread would overwrite other memory.  A
 *             freed stack keeps its frames, and stays on the list of its node for the next thread there.
 *             If memory is short, or many stacks are unused, the pageout daemon frees them all: it removes
 *             their translations, flushes the TLBs of all CPUs once for many stacks, and frees frames and
 *             slots.  So neither making nor ending a thread needs a flush.
 * INVARIANTS  I1  a slot is used again only after all CPUs have invalidated the old translations of the slot
 *             I2  the guard pages of a slot are never mapped
 * LOCKING     The lock of a node's list (RANK_SLAB), or slots_lock (RANK_SLAB).  A CPU never holds both.
 * SEE ALSO    x86/layout.h, x86/mmu.h, docs/boot.md (Address space), tests/test_protection.py
 */
#include "mem/kstack.h"

#include "lib/list.h"
#include "lib/spinlock.h"
#include "mem/page.h"
#include "x86/mmu.h"

enum { SLOT_PAGES = 8, SLOT_GUARD = SLOT_PAGES - KSTACK_PAGES, KSTACK_MAX = 65536 };
#define SLOT_SIZE (SLOT_PAGES * PAGE_SIZE)

/* An unused stack; this struct lies at the stack's lowest address. */
struct spare {
    struct list link;
};

static struct spares {
    struct spinlock lock;
    struct list list; /* struct spare */
} cacheline_aligned spares[NODE_MAX];

_Atomic uint64_t kstack_tables;
static _Atomic int32_t nspares; /* can be slightly out of date */
static struct spinlock slots_lock = SPINLOCK_INIT(RANK_SLAB);
/* bitmap: a bit is set while the slot is in use or waits for the flush of I1 */
static uint64_t slots[KSTACK_MAX / 64];
static unsigned slot_next; /* no slot below this one is free */

void kstack_init(void)
{
    for (unsigned i = 0; i < NODE_MAX; i++) {
        spin_init(&spares[i].lock, RANK_SLAB);
        list_init(&spares[i].list);
    }
}

static void *stack_of_slot(unsigned slot)
{
    return (void *)(KSTACK_BASE + slot * SLOT_SIZE + SLOT_GUARD * PAGE_SIZE);
}

static unsigned kstack_slot_of(const void *stack)
{
    return (unsigned)(((uint64_t)stack - KSTACK_BASE) / SLOT_SIZE);
}

/* Takes the lowest free slot; KSTACK_MAX: all are in use. */
static unsigned take_stack_slot(void)
{
    unsigned slot = KSTACK_MAX;

    spin_lock(&slots_lock);
    for (unsigned w = slot_next / 64; w < KSTACK_MAX / 64 && slot == KSTACK_MAX; w++)
        if (slots[w] != ~0ull)
            slot = w * 64 + (unsigned)__builtin_ctzll(~slots[w]);
    if (slot != KSTACK_MAX) {
        slots[slot / 64] |= 1ull << slot % 64;
        slot_next = slot + 1;
    }
    spin_unlock(&slots_lock);
    return slot;
}

static void free_stack_slot(unsigned slot)
{
    spin_lock(&slots_lock);
    slots[slot / 64] &= ~(1ull << slot % 64);
    slot_next = min_of(slot_next, slot);
    spin_unlock(&slots_lock);
}

/* Removes the translations of a stack's first n pages; their frames go onto `freed`. */
static void unmap_stack_pages(void *stack, unsigned n, struct list *freed)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t *e = mmu_window_entry((uint64_t)stack + i * PAGE_SIZE, NULL);
        struct page *pg = phys_to_page(*e & PTE_ADDR);

        __atomic_store_n(e, 0, __ATOMIC_RELAXED);
        list_push_back(freed, &pg->link);
    }
}

static void free_stack_frames(struct list *freed)
{
    struct page *pg;

    while ((pg = list_pop(freed, struct page, link)) != NULL)
        page_release(pg);
}

/* Returns the page-table entry of an address, and makes missing tables.  NULL: no memory. */
static uint64_t *make_stack_entry(uint64_t va, unsigned node)
{
    paddr_t fresh = 0;
    uint64_t *e;

    while ((e = mmu_window_entry(va, &fresh)) == NULL) {
        struct page *pg =
            page_alloc(node, 0, ALLOC_NEAR | ALLOC_ZERO | ALLOC_WAIT | ALLOC_UNPAGEABLE);

        if (pg == NULL)
            return NULL;
        fresh = page_to_phys(pg);
        kstack_tables++;
    }
    if (fresh != 0) { /* another CPU has made the table */
        page_release(phys_to_page(fresh));
        kstack_tables--;
    }
    return e;
}

/* Allocates and maps the frames of a new stack.  false: no memory, and no frame is mapped. */
static bool map_stack_frames(void *stack, unsigned node)
{
    struct list freed = LIST_INIT(freed);
    unsigned i;

    for (i = 0; i < KSTACK_PAGES; i++) {
        uint64_t *e = make_stack_entry((uint64_t)stack + i * PAGE_SIZE, node);
        struct page *pg =
            e != NULL ? page_alloc(node, 0, ALLOC_NEAR | ALLOC_WAIT | ALLOC_UNPAGEABLE) : NULL;

        if (pg == NULL)
            break;
        __atomic_store_n(e, page_to_phys(pg) | PTE_P | PTE_W | PTE_NX, __ATOMIC_RELEASE);
    }
    if (i == KSTACK_PAGES)
        return true;
    unmap_stack_pages(stack, i, &freed);
    /* I1: no thread has used the stack, but a CPU may have loaded translations speculatively */
    tlb_flush_kernel();
    free_stack_frames(&freed);
    return false;
}

void *kstack_alloc(unsigned node)
{
    struct spare *s;
    unsigned slot;

    spin_lock(&spares[node].lock);
    s = list_pop(&spares[node].list, struct spare, link);
    spin_unlock(&spares[node].lock);
    if (likely(s != NULL)) {
        atomic_fetch_sub_explicit(&nspares, 1, memory_order_relaxed);
        return s;
    }
    slot = take_stack_slot();
    if (slot == KSTACK_MAX)
        return NULL;
    if (map_stack_frames(stack_of_slot(slot), node))
        return stack_of_slot(slot);
    free_stack_slot(slot);
    return NULL;
}

void kstack_free(void *stack)
{
    unsigned node = phys_to_page(*mmu_window_entry((uint64_t)stack, NULL) & PTE_ADDR)->node;
    struct spare *s = stack;

    spin_lock(&spares[node].lock);
    list_push_front(&spares[node].list, &s->link);
    spin_unlock(&spares[node].lock);
    atomic_fetch_add_explicit(&nspares, 1, memory_order_relaxed);
}

/*
 * Unmaps up to `max` unused stacks of a node.  Their frames go onto `freed`, their slots into slot[];
 * returns how many.
 */
static unsigned dismantle_spares(struct spares *sp, unsigned *slot, unsigned max,
                                 struct list *freed)
{
    unsigned n = 0;

    for (; n < max; n++) {
        struct spare *s;

        spin_lock(&sp->lock);
        s = list_pop(&sp->list, struct spare, link);
        spin_unlock(&sp->lock);
        if (s == NULL)
            break;
        atomic_fetch_sub_explicit(&nspares, 1, memory_order_relaxed);
        slot[n] = kstack_slot_of(s);
        unmap_stack_pages(s, KSTACK_PAGES, freed);
    }
    return n;
}

bool kstack_many(void)
{
    enum { SPARES = 64 }; /* unused stacks for each node, on average; their frames are 1 MiB */

    return atomic_load_explicit(&nspares, memory_order_relaxed) > (int)(SPARES * nnodes);
}

unsigned kstack_reap(void)
{
    enum { BATCH = 64 }; /* stacks that one TLB flush covers */
    unsigned slot[BATCH], n, total = 0;

    do {
        struct list freed = LIST_INIT(freed);

        n = 0;
        for (unsigned i = 0; i < nnodes && n < BATCH; i++)
            n += dismantle_spares(&spares[i], slot + n, BATCH - n, &freed);
        if (n == 0)
            break;
        tlb_flush_kernel(); /* before the slots are used again (I1) */
        free_stack_frames(&freed);
        for (unsigned i = 0; i < n; i++)
            free_stack_slot(slot[i]);
        total += n;
    } while (n == BATCH);
    return total * KSTACK_PAGES;
}
