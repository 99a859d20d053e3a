// SPDX-License-Identifier: MIT
/*
 * pt.h - page tables of the user half.
 *
 * THEORY      Four levels of 512 entries.  A table page is a frame with PG_PT: `ptlock` guards its
 *             entries, `pt_live` counts those in use.  Entries of leaf tables (and 2 MiB entries of
 *             the level above) are changed under the lock of their table; upper levels grow by
 *             compare-and-swap and shrink only with as->lock held for writing, where no segment is
 *             left: whoever may walk a range has a segment there, or holds the lock of an object that
 *             has a page there.
 *             An empty table is all zeroes, so freed tables are kept per CPU, ready for use.
 * INVARIANTS  I1  a freed table has pt_live == 0 and holds only zeroes
 * SEE ALSO    docs/memory.md
 */
#ifndef VM_PT_H
#define VM_PT_H

#include "vm/as.h"
#include "vm/tlb.h"
#include "x86/mmu.h"

#define PT_ENTRIES  512u
#define PTE_TABLE   (PTE_P | PTE_W | PTE_U | PTE_A)
#define PT_SPAN     HUGE_SIZE       /* bytes that one leaf table covers */

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

static inline struct spinlock *pt_lock_of(const void *table)
{
    return &virt_to_page(table)->ptlock;
}

static inline struct page *pte_page(uint64_t pte)
{
    return phys_to_page(pte & PTE_ADDR);
}

/* pt_top - a top-level table with the kernel half filled in; NULL: no memory.  pt_top_free gives it back. */
uint64_t *pt_top(void);
void      pt_top_free(uint64_t *pml4);

/* pt_pd - the level-2 table that covers addr, or NULL.  pt_leaf - the leaf table; NULL also for a 2 MiB entry. */
uint64_t *pt_pd(struct as *as, uint64_t addr);
uint64_t *pt_leaf(struct as *as, uint64_t addr);
/* pt_pd_make, pt_leaf_make - as above, made when absent; NULL: no memory. */
uint64_t *pt_pd_make(struct as *as, uint64_t addr);
uint64_t *pt_leaf_make(struct as *as, uint64_t addr);

/* pt_prot - entry bits for a page of a segment; `writable` as well as the segment allows. */
uint64_t pt_prot(unsigned prot, bool writable);

/*
 * pt_set - fill an empty entry, or change one; the table's lock is held.  Counts pages, mapcount, rss.
 * Returns whether another page was mapped there, so that the address must be flushed.
 */
bool pt_set(struct as *as, uint64_t *table, unsigned slot, struct page *pg, uint64_t bits);
/* pt_clear - empty an entry that is in use; the table's lock is held.  Counts; a dirty file page is marked. */
void pt_clear(struct as *as, uint64_t *table, unsigned slot);

/* pt_zap - empty all entries of [start, end).  Returns whether there was one: then the caller flushes. */
bool pt_zap(struct as *as, uint64_t start, uint64_t end);
/* pt_restrict - take rights away: entries in [start, end) get no more than `prot`.  Returns as pt_zap. */
bool pt_restrict(struct as *as, uint64_t start, uint64_t end, unsigned prot);
/*
 * pt_free_range - free the tables, all empty, that cover something of [start, end) and nothing outside
 * [lo, hi), the range without segments around it.  Flushes.
 */
void pt_free_range(struct as *as, uint64_t start, uint64_t end, uint64_t lo, uint64_t hi);
/* pt_find - the entry that maps addr, or 0; *huge tells its size.  A snapshot. */
uint64_t pt_find(struct as *as, uint64_t addr, bool *huge);

#endif
