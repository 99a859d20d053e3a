// SPDX-License-Identifier: MIT
/*
 * pt.h - page tables of the user half.
 *
 * THEORY      A page table maps an address to a frame, for the processor.  It is a tree of four levels, with
 *             512 entries in each table.  A table is a frame with PG_PT, whose `pt_live` counts the entries in
 *             use.  Tables have no lock.  An entry is changed by one atomic operation, and the thread whose
 *             operation empties an entry also adjusts the counters.
 *             Other locks protect the contents of an entry.  To fill an entry of a private segment, a thread
 *             holds the space's anon.lock.  For a shared segment, it holds the lock of the segment's object.
 *             Upper levels grow by compare-and-swap.  They shrink only with as->lock held for writing, and
 *             only where no segment is left.  This is safe, because a thread that walks a range either holds
 *             as->lock and has a segment there, or holds the lock of an object that has a page there.
 *             An entry can be *hidden*: PTE_P is clear and the rest is kept.  The entry is in use and counts as a
 *             mapping, but the next access faults.  The fault sets PTE_P again (observe.c).
 *             An empty table contains only zeroes, so each CPU keeps some freed tables, ready for use.
 * INVARIANTS  I1  a freed table has pt_live == 0, and holds only zeroes (a top-level one in its user half)
 *             I2  a frame's mapcount is the number of entries that map it
 * SEE ALSO    docs/memory.md
 */
#ifndef VM_PT_H
#define VM_PT_H

#include "vm/as.h"
#include "vm/tlb.h"
#include "x86/mmu.h"

#define PTE_LOCKED (1ul << 9) /* in a locked segment (mlock.c): pageout must leave the page */
#define PTE_TABLE  (PTE_P | PTE_W | PTE_U | PTE_A)
#define PT_SPAN    HUGE_SIZE /* bytes that one leaf table covers */

static inline unsigned pt_slot(uint64_t addr)
{
    return (unsigned)(addr >> PAGE_SHIFT) % PT_ENTRIES;
}

static inline uint64_t *pt_table_of(uint64_t entry)
{
    return phys_to_virt(entry & PTE_ADDR);
}

static inline struct page *pt_page(const void *table)
{
    return virt_to_page(table);
}

static inline struct page *pte_page(uint64_t pte)
{
    return phys_to_page(pte & PTE_ADDR);
}

/* pt_top - make a top-level table with the kernel half filled in; NULL: no memory.  pt_top_free - free it. */
uint64_t *pt_top(void);
void pt_top_free(uint64_t *pml4);

/* Lowest address bit that a table of each level decodes. */
enum { PT_L4 = 39, PT_L3 = 30, PT_L2 = 21 };

/* The entry for `addr` in a table of a level. */
static inline uint64_t *pt_entry(uint64_t *table, uint64_t addr, unsigned level)
{
    return &table[(addr >> level) % PT_ENTRIES];
}

/*
 * pt_pd - the level-2 table that covers addr, or NULL.  pt_leaf - the leaf table; NULL also for a 2 MiB page.
 */
static inline uint64_t *pt_pd(struct as *as, uint64_t addr)
{
    uint64_t e = *pt_entry(as->pml4, addr, PT_L4);

    if (e == 0)
        return NULL;
    e = *pt_entry(pt_table_of(e), addr, PT_L3);
    return e != 0 ? pt_table_of(e) : NULL;
}

static inline uint64_t *pt_leaf(struct as *as, uint64_t addr)
{
    uint64_t *pd = pt_pd(as, addr);
    uint64_t e = pd != NULL ? *pt_entry(pd, addr, PT_L2) : 0;

    return e != 0 && (e & PTE_PS) == 0 ? pt_table_of(e) : NULL;
}

/* pt_pd_make, pt_leaf_make - like pt_pd(), pt_leaf(), but make absent tables; NULL: no memory. */
uint64_t *pt_pd_make(struct as *as, uint64_t addr);
uint64_t *pt_leaf_make(struct as *as, uint64_t addr);

/* pt_prot - the bits of an entry for a page; PTE_W only if both `prot` and `writable` allow writing. */
static inline uint64_t pt_prot(unsigned prot, bool writable)
{
    uint64_t bits = PTE_P | PTE_U | PTE_A;

    if (writable && (prot & PROT_WRITE) != 0)
        bits |= PTE_W;
    if ((prot & PROT_EXEC) == 0)
        bits |= PTE_NX;
    return bits;
}

/*
 * pt_set - map `pg` with `bits` at an entry, empty or not.  The caller holds the lock that protects the entry
 * (THEORY).  Adjusts mapcount, rss_pages and pt_live.  If the entry already maps `pg`, the function only adds
 * rights, and a hidden entry is no longer hidden.  Returns whether another page was mapped there.  If so, the caller
 * must flush the address.
 * pt_change - like pt_set(), for an entry that is not empty.
 */
bool pt_change(struct as *as, uint64_t *table, unsigned slot, struct page *pg, uint64_t bits);

static inline bool pt_set(struct as *as, uint64_t *table, unsigned slot, struct page *pg,
                          uint64_t bits)
{
    uint64_t empty = 0;

    if (unlikely(!__atomic_compare_exchange_n(&table[slot], &empty, page_to_phys(pg) | bits, false,
                                              __ATOMIC_RELEASE, __ATOMIC_RELAXED)))
        return pt_change(as, table, slot, pg, bits);
    __atomic_fetch_add(&pt_page(table)->pt_live, 1, __ATOMIC_RELAXED);
    atomic_fetch_add_explicit(&pg->mapcount, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&as->rss_pages, (bits & PTE_PS) != 0 ? PT_ENTRIES : 1,
                              memory_order_relaxed);
    return false;
}

/* pt_clear_page - empty an entry if it maps `pg`.  Returns whether it did; if so, the caller must flush. */
bool pt_clear_page(struct as *as, uint64_t *table, unsigned slot, struct page *pg);

/* pt_zap - empty all entries of [start, end).  Returns whether one was in use; if so, the caller must flush. */
bool pt_zap(struct as *as, uint64_t start, uint64_t end);
/*
 * pt_restrict - remove rights that `prot` lacks from entries of [start, end).  Returns whether an entry
 * changed.
 */
bool pt_restrict(struct as *as, uint64_t start, uint64_t end, unsigned prot);
/* pt_mark_locked - set or clear PTE_LOCKED in the entries of [start, end) that are in use. */
void pt_mark_locked(struct as *as, uint64_t start, uint64_t end, bool on);
/*
 * pt_free_range - free the page tables that overlap [start, end) and lie inside [lo, hi).  [lo, hi) is a range
 * around [start, end) that has no segments, so these tables are empty.  The caller holds as->lock for writing,
 * or the space is ending.  Flushes.
 */
void pt_free_range(struct as *as, uint64_t start, uint64_t end, uint64_t lo, uint64_t hi);
/*
 * pt_next_present - the first address in [addr, end) whose level-2 entry is in use; `end`: there is none.
 * @pd  out: the table that holds the entry
 */
uint64_t pt_next_present(struct as *as, uint64_t addr, uint64_t end, uint64_t **pd);
/* pt_find - the entry that maps addr, or 0.  A snapshot.  @huge  out: whether the entry maps a 2 MiB page */
uint64_t pt_find(struct as *as, uint64_t addr, bool *huge);

#endif
