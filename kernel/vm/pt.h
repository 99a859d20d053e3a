// SPDX-License-Identifier: MIT
/*
 * pt.h - page tables of the user half.
 *
 * THEORY      Four levels of 512 entries.  A table page is a frame with PG_PT, whose `pt_live` counts
 *             the entries in use.  An entry changes by one atomic operation, and whoever takes a
 *             translation out of it is the one that uncounts it; so tables need no lock of their own.
 *             What an entry should say is decided under other locks: the entry of a private segment is
 *             filled with the space's anon.lock held, that of a shared one with its object's.
 *             Upper levels grow by compare-and-swap and shrink only with as->lock held for writing,
 *             where no segment is left: whoever may walk a range has a segment there, or holds the
 *             lock of an object that has a page there.
 *             An empty table is all zeroes, so freed tables are kept per CPU, ready for use.
 * INVARIANTS  I1  a freed table has pt_live == 0 and holds only zeroes
 *             I2  a frame's mapcount is the number of entries that name it
 * SEE ALSO    docs/memory.md
 */
#ifndef VM_PT_H
#define VM_PT_H

#include "vm/as.h"
#include "vm/tlb.h"
#include "x86/mmu.h"

#define PT_ENTRIES 512u
#define PTE_LOCKED (1ul << 9) /* of a locked segment (mlock.c): stays, and counts as touched */
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

/* pt_top - a top-level table with the kernel half filled in; NULL: no memory.  pt_top_free gives it back. */
uint64_t *pt_top(void);
void pt_top_free(uint64_t *pml4);

enum {
    PT_L4 = 39,
    PT_L3 = 30,
    PT_L2 = 21
}; /* first address bit that a table of each level decodes */

static inline uint64_t *pt_entry(uint64_t *table, uint64_t addr, unsigned level)
{
    return &table[(addr >> level) % PT_ENTRIES];
}

/* pt_pd - the level-2 table that covers addr, or NULL.  pt_leaf - the leaf table; NULL also for a 2 MiB entry. */
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

/* pt_pd_make, pt_leaf_make - as above, made when absent; NULL: no memory. */
uint64_t *pt_pd_make(struct as *as, uint64_t addr);
uint64_t *pt_leaf_make(struct as *as, uint64_t addr);

/* pt_prot - entry bits for a page of a segment; `writable` as well as the segment allows. */
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
 * pt_set - fill an empty entry, or change one; the lock that decides about it is held.  Counts mapcount, rss.
 * Returns whether another page was mapped there, so that the address must be flushed.
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

/* pt_clear_page - empty an entry if it names `pg`.  Returns whether it did. */
bool pt_clear_page(struct as *as, uint64_t *table, unsigned slot, struct page *pg);

/* pt_zap - empty all entries of [start, end).  Returns whether there was one: then the caller flushes. */
bool pt_zap(struct as *as, uint64_t start, uint64_t end);
/* pt_restrict - take rights away: entries in [start, end) get no more than `prot`.  Returns as pt_zap. */
bool pt_restrict(struct as *as, uint64_t start, uint64_t end, unsigned prot);
/* pt_mark_locked - set or clear PTE_LOCKED in the entries of [start, end) that are in use. */
void pt_mark_locked(struct as *as, uint64_t start, uint64_t end, bool on);
/*
 * pt_free_range - free the tables, all empty, that cover something of [start, end) and nothing outside
 * [lo, hi), the range without segments around it.  Flushes.
 */
void pt_free_range(struct as *as, uint64_t start, uint64_t end, uint64_t lo, uint64_t hi);
/*
 * pt_next_present - the next address at or after `addr` whose level-2 entry exists, below `end`; `end` if there is
 * none.  *pd is the table that holds the entry.
 */
uint64_t pt_next_present(struct as *as, uint64_t addr, uint64_t end, uint64_t **pd);
/* pt_find - the entry that maps addr, or 0; *huge tells its size.  A snapshot. */
uint64_t pt_find(struct as *as, uint64_t addr, bool *huge);

#endif
