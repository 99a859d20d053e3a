// SPDX-License-Identifier: MIT
/*
 * rmap.c - from a page to all its mappings.
 *
 * THEORY      Page tables lead from an address to a page.  To move a page, to write it to swap or to truncate
 *             a file, the kernel needs the opposite: all page-table entries that map a page (reverse
 *             mapping).  A page of a file or shared object is mapped by segments in the object's tree; the
 *             tree finds those that contain the page.  Its address there follows from its index.
 *             A private page can be mapped by each address space whose private object names it.  These
 *             objects are on the family's list, and the address is index * 4 KiB.  If only one object names a
 *             page, it moves to the front of the list, because its other pages are probably wanted next.
 *             So nothing has to be stored per page or per mapping.
 * LOCKING     The family is locked before the object.  While an object's lock is held, no segment leaves the
 *             object's tree and no page leaves its tree.  So the page tables for them cannot be freed (pt.h).
 * SEE ALSO    docs/memory.md
 */
#include "vm/rmap.h"

#include "stat/panic.h"
#include "vm/pt.h"

enum { COUNTS_SOON = 100000000 }; /* turns to wait for mapcount; pt_zap() needs far fewer */

/*
 * Drops the translation of `pg` at `addr` of `as`, if there is one.  If it drops one, or if another thread has
 * emptied entries and not flushed yet (as.h I8), adds `as` to the batch.
 */
static void unmap_page_at(struct as *as, uint64_t addr, struct page *pg, struct tlb_batch *b)
{
    bool huge = pg->order != 0;
    uint64_t *table = huge ? pt_pd(as, addr) : pt_leaf(as, addr);
    unsigned slot = huge ? (unsigned)(addr >> HUGE_SHIFT) % PT_ENTRIES : pt_slot(addr);

    if ((table != NULL && pt_clear_page(as, table, slot, pg)) || atomic_load(&as->zaps) != 0)
        tlb_batch_add(b, as);
}

/* Whether `pg` is mapped at `addr` of `as` by a locked segment (mlock.c). */
static bool is_locked_at(struct as *as, uint64_t addr, const struct page *pg)
{
    uint64_t *table = pt_leaf(as, addr);
    uint64_t e = table != NULL ? __atomic_load_n(&table[pt_slot(addr)], __ATOMIC_RELAXED) : 0;

    return (e & PTE_LOCKED) != 0 && pte_page(e) == pg;
}

/* The address of page `index` of the object in a segment that contains the page. */
static uint64_t addr_of_index(const struct seg *s, uint64_t index)
{
    return s->n.start + ((index - s->obj_first) << PAGE_SHIFT);
}

/* rmap_unmap() for a page of a file or shared object. */
static unsigned unmap_shared_page(struct vm_object *o, struct page *pg, struct tlb_batch *b)
{
    uint64_t index = pg->index;
    unsigned walked = 0;
    struct seg *s;

    if (atomic_load(&pg->mapcount) == 0 && atomic_load(&o->zaps) == 0)
        return 0;
    ITREE_FOREACH (s, &o->segs, obj_link, index, index) {
        walked++;
        unmap_page_at(s->as, addr_of_index(s, index), pg, b);
    }
    /*
     * Another thread may have emptied an entry and not adjusted mapcount yet (pt_zap()): wait for
     * that thread.
     */
    for (unsigned i = 0; unlikely(atomic_load(&pg->mapcount) != 0); i++) {
        ASSERT(i < COUNTS_SOON, "rmap: a segment is in its object's tree");
        cpu_pause();
    }
    return walked;
}

bool rmap_locked_shared(struct vm_object *o, struct page *pg)
{
    uint64_t index = pg->index;
    struct seg *s;

    if (atomic_load_explicit(&pg->mapcount, memory_order_relaxed) == 0)
        return false;
    ITREE_FOREACH (s, &o->segs, obj_link, index, index)
        if (s->locked && is_locked_at(s->as, addr_of_index(s, index), pg))
            return true;
    return false;
}

/* Makes the translations of [addr, end) read-only. */
static void write_protect_range(struct as *as, uint64_t addr, uint64_t end)
{
    while (addr < end) {
        uint64_t stop = min_of(round_down(addr, PT_SPAN) + PT_SPAN, end),
                 *table = pt_leaf(as, addr);

        for (; table != NULL && addr < stop; addr += PAGE_SIZE)
            if ((table[pt_slot(addr)] & PTE_W) != 0)
                __atomic_fetch_and(&table[pt_slot(addr)], ~PTE_W, __ATOMIC_RELAXED);
        addr = stop;
    }
}

void rmap_protect_shared(struct vm_object *o, uint64_t first, uint64_t last, struct tlb_batch *b)
{
    struct seg *s;

    ITREE_FOREACH (s, &o->segs, obj_link, first, last) {
        if (!seg_shared(s) || (s->max_prot & PROT_WRITE) == 0)
            continue;
        write_protect_range(s->as, addr_of_index(s, max_of(first, s->obj_first)),
                            addr_of_index(s, min_of(last, s->obj_link.last) + 1));
        tlb_batch_add(b, s->as);
    }
}

/* rmap_unmap() for a private page; locked translations stay. */
static void unmap_private_page(struct anon_family *f, struct page *pg, struct tlb_batch *b)
{
    struct vm_object *o;
    uint32_t found = 0;

    LIST_FOREACH (o, &f->objs, family_link) {
        if (found == atomic_load_explicit(&pg->nsharers, memory_order_relaxed))
            return;
        /*
         * A fault that found the page before the page became busy holds this lock until it has
         * mapped the page.
         */
        spin_lock(&o->lock);
        as_of_anon(o)->anon_all_mapped = false;
        if (radix_lookup(&o->tree, pg->index) == pg) {
            found++;
            if (!is_locked_at(as_of_anon(o), pg->index << PAGE_SHIFT, pg))
                unmap_page_at(as_of_anon(o), pg->index << PAGE_SHIFT, pg, b);
        }
        spin_unlock(&o->lock);
    }
}

unsigned rmap_unmap(struct page_owner own, struct page *pg, struct tlb_batch *b)
{
    if (own.family == NULL)
        return unmap_shared_page(own.obj, pg, b);
    unmap_private_page(own.family, pg, b);
    return 0;
}

/* Whether the entry of `pg` at `addr` of `as` has the accessed bit (which `clear` clears), or is locked. */
static bool test_referenced_at(struct as *as, uint64_t addr, struct page *pg, bool clear,
                               struct tlb_batch *b)
{
    uint64_t *table = pt_leaf(as, addr), e;

    if (table == NULL)
        return false;
    e = __atomic_load_n(&table[pt_slot(addr)], __ATOMIC_RELAXED);
    if (e == 0 || pte_page(e) != pg || (e & (PTE_A | PTE_LOCKED)) == 0)
        return false;
    if ((e & PTE_LOCKED) != 0)
        return true;
    if (clear) {
        while (e != 0 && pte_page(e) == pg &&
               !__atomic_compare_exchange_n(&table[pt_slot(addr)], &e, e & ~PTE_A, false,
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ;
        tlb_batch_add(b, as);
    }
    return true;
}

static bool is_shared_page_referenced(struct vm_object *o, struct page *pg, bool clear,
                                      struct tlb_batch *b)
{
    uint64_t index = pg->index;
    struct seg *s;
    bool yes = false;

    if (atomic_load_explicit(&pg->mapcount, memory_order_relaxed) == 0)
        return false;
    ITREE_FOREACH (s, &o->segs, obj_link, index, index)
        yes |= test_referenced_at(s->as, addr_of_index(s, index), pg, clear, b) &&
               (s->advice != READ_SEQUENTIAL ||
                s->locked); /* a sequential reader does not need the page again */
    return yes;
}

static bool is_private_page_referenced(struct anon_family *f, struct page *pg, bool clear,
                                       struct tlb_batch *b)
{
    struct vm_object *o;
    uint32_t found = 0;
    bool yes = false;

    LIST_FOREACH (o, &f->objs, family_link) {
        if (found == atomic_load_explicit(&pg->nsharers, memory_order_relaxed))
            break;
        spin_lock(&o->lock);
        if (radix_lookup(&o->tree, pg->index) == pg) {
            found++;
            yes |= test_referenced_at(as_of_anon(o), pg->index << PAGE_SHIFT, pg, clear, b);
        }
        spin_unlock(&o->lock);
        if (found == 1 && atomic_load_explicit(&pg->nsharers, memory_order_relaxed) == 1) {
            anon_family_found(f, o); /* ends the walk */
            break;
        }
    }
    return yes;
}

bool rmap_referenced(struct page_owner own, struct page *pg, bool clear, struct tlb_batch *b)
{
    return own.family != NULL ? is_private_page_referenced(own.family, pg, clear, b)
                              : is_shared_page_referenced(own.obj, pg, clear, b);
}
