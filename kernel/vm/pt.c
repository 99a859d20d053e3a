// SPDX-License-Identifier: MIT
/*
 * pt.c - page tables of the user half.  pt.h describes which locks protect them.
 *
 * THEORY      An operation on a range visits one leaf table at a time.  Where a table is missing it skips the
 *             2 MiB, 1 GiB or 512 GiB that the table would cover.
 *             Clearing a table takes 512 stores.  But when a table is freed, all its entries are zero again.  So
 *             each CPU keeps a few freed tables and uses them again without clearing.  It also keeps top-level
 *             tables, because their kernel half is always the same.
 * INVARIANTS  those of pt.h
 * LOCKING     See pt.h.
 * SEE ALSO    docs/memory.md
 */
#include "vm/pt.h"
#include "disp/thread.h"
#include "lib/string.h"
#include "stat/panic.h"

#define KERNEL_HALF 256u /* first top-level entry of the kernel */

/* ---- tables ---------------------------------------------------------------------------------- */

/* Allocates a table of zeroes, from this CPU's cache or from a new frame; NULL: no memory. */
static uint64_t *pt_table_alloc(void)
{
    struct vm_cpu *v;
    uint64_t *table = NULL;
    struct page *pg;
    unsigned node;

    irq_push();
    v = this_cpu()->vm;
    node = this_cpu()->node;
    if (v->ntables > 0)
        table = v->tables[--v->ntables];
    irq_pop();
    if (table != NULL)
        return table;
    pg = page_alloc(node, 0, ALLOC_ZERO);
    if (pg == NULL)
        return NULL;
    atomic_store_explicit(&pg->flags, PG_PT, memory_order_relaxed);
    return page_to_virt(pg);
}

static void pt_table_free(uint64_t *table)
{
    struct vm_cpu *v;

    ASSERT(pt_page(table)->pt_live == 0, "pt I1");
    irq_push();
    v = this_cpu()->vm;
    if (v->ntables < PT_CACHE) {
        v->tables[v->ntables++] = table;
        table = NULL;
    }
    irq_pop();
    if (table != NULL)
        page_release(pt_page(table));
}

uint64_t *pt_top(void)
{
    struct vm_cpu *v;
    uint64_t *top = NULL;

    irq_push();
    v = this_cpu()->vm;
    if (v->ntops > 0)
        top = v->tops[--v->ntops];
    irq_pop();
    if (top != NULL)
        return top;
    top = pt_table_alloc();
    if (top != NULL)
        memcpy(top + KERNEL_HALF, (uint64_t *)phys_to_virt(kernel_pml4) + KERNEL_HALF,
               (PT_ENTRIES - KERNEL_HALF) * sizeof *top);
    return top;
}

void pt_top_free(uint64_t *top)
{
    struct vm_cpu *v;

    ASSERT(pt_page(top)->pt_live == 0, "pt I1");
    irq_push();
    v = this_cpu()->vm;
    if (v->ntops < PT_TOPS) {
        v->tops[v->ntops++] = top;
        top = NULL;
    }
    irq_pop();
    if (top != NULL)
        page_release(pt_page(top));
}

uint64_t vm_cached_tables(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < CPU_MAX; i++)
        if (cpus[i] != NULL && cpus[i]->vm != NULL)
            n += cpus[i]->vm->ntables + cpus[i]->vm->ntops;
    return n;
}

/* ---- walking --------------------------------------------------------------------------------- */

/*
 * Returns the table below entry `e` of `table`, and makes it if there is none; NULL: no memory.  Several
 * threads can try to make it at the same time.
 */
static uint64_t *make_table_below(struct as *as, uint64_t *table, uint64_t *e)
{
    uint64_t seen = __atomic_load_n(e, __ATOMIC_ACQUIRE);
    uint64_t *fresh;

    if (likely(seen != 0))
        return pt_table_of(seen);
    fresh = pt_table_alloc();
    if (fresh == NULL)
        return NULL;
    if (unlikely(!reserve_table(&as->resv))) {
        pt_table_free(fresh);
        return NULL;
    }
    if (__atomic_compare_exchange_n(e, &seen, virt_to_phys(fresh) | PTE_TABLE, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        __atomic_fetch_add(&pt_page(table)->pt_live, 1, __ATOMIC_RELAXED);
        return fresh;
    }
    reserve_table_gone(&as->resv);
    pt_table_free(fresh);
    return pt_table_of(seen);
}

uint64_t *pt_pd_make(struct as *as, uint64_t addr)
{
    uint64_t *pdpt = make_table_below(as, as->pml4, pt_entry(as->pml4, addr, PT_L4));

    return pdpt != NULL ? make_table_below(as, pdpt, pt_entry(pdpt, addr, PT_L3)) : NULL;
}

uint64_t *pt_leaf_make(struct as *as, uint64_t addr)
{
    uint64_t *pd = pt_pd_make(as, addr);

    return pd != NULL ? make_table_below(as, pd, pt_entry(pd, addr, PT_L2)) : NULL;
}

uint64_t pt_find(struct as *as, uint64_t addr, bool *huge)
{
    uint64_t *pd = pt_pd(as, addr);
    uint64_t e = pd != NULL ? *pt_entry(pd, addr, PT_L2) : 0;

    *huge = (e & PTE_PS) != 0;
    if (e == 0 || *huge)
        return e;
    return pt_table_of(e)[pt_slot(addr)];
}

uint64_t pt_next_present(struct as *as, uint64_t addr, uint64_t end, uint64_t **pd)
{
    while (addr < end) {
        uint64_t e = *pt_entry(as->pml4, addr, PT_L4);
        unsigned skip = PT_L4;

        if (e != 0) {
            e = *pt_entry(pt_table_of(e), addr, PT_L3);
            skip = PT_L3;
            if (e != 0) {
                *pd = pt_table_of(e);
                skip = PT_L2;
                if (*pt_entry(*pd, addr, PT_L2) != 0)
                    return addr;
            }
        }
        addr = ((addr >> skip) + 1) << skip;
    }
    return end;
}

/* ---- entries --------------------------------------------------------------------------------- */

/*
 * Adjusts the counters for an entry that has been removed.  The function ignores PTE_D, because a page of a
 * file is mapped writable only while it is already marked dirty (fault.c, is_shared_writable).
 */
static inline void uncount_mapping(struct as *as, uint64_t old)
{
    struct page *pg = pte_page(old);

    atomic_fetch_sub_explicit(&pg->mapcount, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&as->rss_pages, (old & PTE_PS) != 0 ? PT_ENTRIES : 1,
                              memory_order_relaxed);
}

/*
 * Empties an entry.  Returns whether the entry was in use.  If so, the caller adjusts pt_live of the table.
 * Another thread that walks from a page to its mappings (rmap.c) can empty the same entry at any time, but only
 * one of the two finds it in use.
 */
static inline bool clear_pt_entry(struct as *as, uint64_t *entry)
{
    uint64_t old = __atomic_exchange_n(entry, 0, __ATOMIC_ACQ_REL);

    if (old != 0)
        uncount_mapping(as, old);
    return old != 0;
}

/*
 * Clears all bits of an entry except `keep`, and sets `add`; an empty entry stays empty.  Returns whether the
 * entry changed.
 */
static inline bool change_entry(uint64_t *entry, uint64_t keep, uint64_t add)
{
    uint64_t old = __atomic_load_n(entry, __ATOMIC_RELAXED), fresh;

    do {
        fresh = (old & keep) | add;
        if (old == 0 || old == fresh)
            return false;
    } while (!__atomic_compare_exchange_n(entry, &old, fresh, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return true;
}

bool pt_change(struct as *as, uint64_t *table, unsigned slot, struct page *pg, uint64_t bits)
{
    uint64_t old = __atomic_load_n(&table[slot], __ATOMIC_RELAXED), fresh = page_to_phys(pg) | bits;

    if (((old ^ fresh) & PTE_ADDR) == 0 && old != 0) { /* the same page: add rights */
        __atomic_fetch_or(&table[slot], bits & (PTE_P | PTE_W), __ATOMIC_RELAXED);
        if ((bits & PTE_NX) == 0) {
            __atomic_fetch_and(&table[slot], ~PTE_NX, __ATOMIC_RELAXED);
            page_has_code(pg, (bits & PTE_PS) != 0 ? PT_ENTRIES : 1);
        }
        return false;
    }
    atomic_fetch_add_explicit(&pg->mapcount, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&as->rss_pages, (bits & PTE_PS) != 0 ? PT_ENTRIES : 1,
                              memory_order_relaxed);
    old = __atomic_exchange_n(&table[slot], fresh, __ATOMIC_ACQ_REL);
    if (old != 0)
        uncount_mapping(as, old);
    else
        __atomic_fetch_add(&pt_page(table)->pt_live, 1, __ATOMIC_RELAXED);
    if (unlikely((bits & PTE_NX) == 0)) /* remembered until the page is freed */
        page_has_code(pg, (bits & PTE_PS) != 0 ? PT_ENTRIES : 1);
    return old != 0;
}

bool pt_clear_page(struct as *as, uint64_t *table, unsigned slot, struct page *pg)
{
    uint64_t old = __atomic_load_n(&table[slot], __ATOMIC_RELAXED);

    do
        if (old == 0 || pte_page(old) != pg)
            return false;
    while (!__atomic_compare_exchange_n(&table[slot], &old, 0, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
    __atomic_fetch_sub(&pt_page(table)->pt_live, 1, __ATOMIC_RELAXED);
    uncount_mapping(as, old);
    return true;
}

/* Updates the peak of rss_pages.  Called before rss_pages may fall. */
static void update_peak_rss(struct as *as)
{
    int64_t rss = atomic_load_explicit(&as->rss_pages, memory_order_relaxed);

    if (rss > atomic_load_explicit(&as->peak_pages, memory_order_relaxed))
        atomic_store_explicit(&as->peak_pages, rss, memory_order_relaxed);
}

bool pt_zap(struct as *as, uint64_t start, uint64_t end)
{
    bool any = false;
    uint64_t *pd = NULL;

    ASSERT(end <= USER_TOP, "as.h I6");
    update_peak_rss(as);
    for (uint64_t a = pt_next_present(as, start, end, &pd); a < end;
         a = pt_next_present(as, a, end, &pd)) {
        uint64_t stop = min_of(round_down(a, PT_SPAN) + PT_SPAN, end);
        uint64_t *e = pt_entry(pd, a, PT_L2);

        bool huge = (*e & PTE_PS) != 0;
        uint64_t *table = huge ? pd : pt_table_of(*e);
        unsigned slot = huge ? (unsigned)(e - pd) : pt_slot(a);
        unsigned last = huge ? slot + 1 : slot + (unsigned)((stop - a) >> PAGE_SHIFT);
        uint16_t *live = &pt_page(table)->pt_live, n = 0;

        irq_push(); /* no delay here: rmap_unmap() may spin until mapcount is adjusted */
        for (; slot < last && n < __atomic_load_n(live, __ATOMIC_RELAXED); slot++)
            if (table[slot] != 0 && clear_pt_entry(as, &table[slot]))
                n++;
        irq_pop();
        __atomic_fetch_sub(live, n, __ATOMIC_RELAXED);
        any |= n != 0;
        a = stop;
    }
    return any;
}

/* change_entry() for all entries of [start, end).  Returns whether one changed. */
static bool change_range_bits(struct as *as, uint64_t start, uint64_t end, uint64_t keep,
                              uint64_t add)
{
    bool any = false;
    uint64_t *pd = NULL;

    for (uint64_t a = pt_next_present(as, start, end, &pd); a < end;
         a = pt_next_present(as, a, end, &pd)) {
        uint64_t stop = min_of(round_down(a, PT_SPAN) + PT_SPAN, end);
        uint64_t *e = pt_entry(pd, a, PT_L2);
        bool huge = (*e & PTE_PS) != 0;
        uint64_t *table = huge ? pd : pt_table_of(*e);
        unsigned slot = huge ? (unsigned)(e - pd) : pt_slot(a);
        unsigned last = huge ? slot + 1 : slot + (unsigned)((stop - a) >> PAGE_SHIFT);

        for (; slot < last; slot++)
            any |= change_entry(&table[slot], keep, add);
        a = stop;
    }
    return any;
}

bool pt_restrict(struct as *as, uint64_t start, uint64_t end, unsigned prot)
{
    return change_range_bits(as, start, end, (prot & PROT_WRITE) != 0 ? ~0ul : ~PTE_W,
                             (prot & PROT_EXEC) != 0 ? 0 : PTE_NX);
}

void pt_mark_locked(struct as *as, uint64_t start, uint64_t end, bool on)
{
    change_range_bits(as, start, end, on ? ~0ul : ~PTE_LOCKED, on ? PTE_LOCKED : 0);
}

/* The arguments of pt_free_range(), and the tables that are to be freed. */
struct extent {
    uint64_t start, end, lo, hi;
    struct list freed; /* frames of the tables, by page.link */
};

/*
 * Unlinks the tables of `x` at and below entry `slot` of `table`, and puts them on x->freed.
 * @level  each entry of `table` covers 1 << level bytes
 * @base   first address of the entry's range
 */
static void free_tables_below(uint64_t *table, unsigned slot, unsigned level, uint64_t base,
                              struct extent *x)
{
    uint64_t e = table[slot], span = 1ul << level;
    uint64_t *sub;

    if ((e & PTE_PS) != 0)
        return;
    sub = pt_table_of(e);
    if (level > PT_L2) {
        unsigned step = level - 9;
        unsigned i = x->start > base ? (unsigned)((x->start - base) >> step) : 0;
        unsigned last =
            x->end - base >= span ? PT_ENTRIES - 1 : (unsigned)((x->end - base - 1) >> step);

        for (; i <= last && pt_page(sub)->pt_live != 0; i++)
            if (sub[i] != 0)
                free_tables_below(sub, i, step, base + ((uint64_t)i << step), x);
    }
    if (x->lo <= base && base + span <= x->hi) {
        table[slot] = 0;
        pt_page(table)->pt_live--;
        list_push_back(&x->freed, &pt_page(sub)->link);
    }
}

void pt_free_range(struct as *as, uint64_t start, uint64_t end, uint64_t lo, uint64_t hi)
{
    struct extent x = {.start = start, .end = end, .lo = lo, .hi = hi};
    unsigned last = (unsigned)((end - 1) >> PT_L4);
    struct page *pg;

    list_init(&x.freed);
    for (unsigned i = (unsigned)(start >> PT_L4); i <= last && pt_page(as->pml4)->pt_live != 0; i++)
        if (as->pml4[i] != 0)
            free_tables_below(as->pml4, i, PT_L4, (uint64_t)i << PT_L4, &x);
    if (list_empty(&x.freed))
        return;
    tlb_flush_tables(as); /* because processors cache entries of upper levels too */
    while ((pg = list_pop(&x.freed, struct page, link)) != NULL) {
        pt_table_free(page_to_virt(pg));
        reserve_table_gone(&as->resv);
    }
}
