// SPDX-License-Identifier: MIT
/*
 * cold.c - pages that a program will not need soon: madvise(2), MADV_COLD and MADV_PAGEOUT.
 *
 * THEORY      COLD clears the reference bits of a page, so that the next hand of the clock that passes takes
 *             the page, even the front hand.  Other pages stay until the back hand comes.  PAGEOUT takes the
 *             page at once, in the same way as the pageout daemon.
 *             Advice must give no power over other processes.  Removing a page slows down its users, and the
 *             time at which the page is read back shows what they do.  So both act only on pages of the caller
 *             alone.  These are private pages that no relative of fork() shares, and pages of files and shared
 *             memory whose only translation is the caller's.
 *             For PAGEOUT, the caller must also own the file or have permission to write to it (Linux's rule).
 *             For shared memory it needs permission to write.  Pages of files without a disk (tmpfs) cannot
 *             leave memory.
 *             Only pages in memory are looked at, and only a few while a lock is held, so a range can have any
 *             size.
 * INVARIANTS  those of pages/victims.c
 * LOCKING     The family or object is locked for some dozens of pages at a time.  as->lock, held for reading,
 *             keeps segment and page tables in existence.
 * SEE ALSO    pages/pageout.c, pages/victims.c, docs/paging.md
 */
#include "vm/cold.h"

#include "mem/usermem.h"
#include "pages/pcache.h"
#include "vm/pt.h"
#include "vm/rmap.h"
#include "pages/victims.h"

#define COLD_PER_HOLD 64u /* most pages looked at while a lock is held */

/* Takes an anonymous page, unless it is busy or there is no room for it on swap.  The caller has locked its owner. */
static void cold_take_anon(struct victims *v, const struct scan_page *sp)
{
    /* A page that keeps its slot needs no write. */
    bool kept = (atomic_load_explicit(&sp->pg->flags, memory_order_relaxed) & PG_SLOT) != 0;

    if ((kept || swap_room()) && !page_seen_now(sp, &v->tlb).busy)
        victims_take_anon(v, sp);
}

/*
 * The first private page of the space at or after *index, in memory or on swap, with a reference.  *index
 * becomes its index.  NULL: there is none up to `last`.  The caller has locked the family.
 */
static struct page *cold_next_private(struct vm_object *o, uint64_t *index, uint64_t last)
{
    struct page *pg;

    spin_lock(&o->lock);
    pg = radix_next(&o->tree, index);
    if (pg != NULL && *index <= last)
        page_hold(pg);
    else
        pg = NULL;
    spin_unlock(&o->lock);
    return pg;
}

/* MADV_COLD, or with `out` MADV_PAGEOUT, for private pages first .. last of the space. */
static void cold_private_pages(struct as *as, uint64_t first, uint64_t last, bool out)
{
    struct vm_object *o = &as->anon;
    struct victims v;
    struct page *pg = NULL;

    victims_init(&v);
    do {
        spin_lock(&o->family->lock);
        for (unsigned n = 0; n < COLD_PER_HOLD && !victims_full(&v); n++, first++) {
            struct scan_page sp = {.own = page_owner_of(o), .in = o};

            pg = sp.pg = cold_next_private(o, &first, last);
            if (pg == NULL)
                break;
            if ((atomic_load(&pg->flags) & PG_SWAPPED) == 0 && atomic_load(&pg->nsharers) == 1) {
                if (out)
                    cold_take_anon(&v, &sp);
                else
                    page_referenced(&sp, true, &v.tlb);
            }
            page_release(pg);
        }
        spin_unlock(&o->family->lock);
        victims_finish(&v);
    } while (pg != NULL && first <= last && !proc_is_ending());
}

/* Is the translation at `addr` of `as` the only one of the page?  The caller has locked the page's object. */
static bool is_sole_mapping(struct as *as, uint64_t addr, const struct page *pg)
{
    bool huge;
    uint64_t e = atomic_load(&pg->mapcount) == 1 ? pt_find(as, addr, &huge) : 0;

    return e != 0 && pte_page(e) == pg;
}

/* Is the caller allowed to evict pages of the segment's object? */
static bool may_evict_object(const struct seg *s)
{
    if (s->obj->kind == OBJ_ANON)
        return (s->max_prot & PROT_WRITE) != 0 || proc_is_superuser();
    return vn_may_write(s->vn);
}

/*
 * Handles some pages of the segment's object from *first on; *first advances.  Returns whether there may be
 * more pages.
 */
static bool cold_object_batch(struct seg *s, uint64_t *first, uint64_t last, bool out,
                              struct victims *v)
{
    struct vm_object *o = s->obj;
    bool more = true;

    spin_lock(&o->lock);
    for (unsigned n = 0; n < COLD_PER_HOLD && !victims_full(v); n++, ++*first) {
        struct scan_page sp = {.own = page_owner_of(o), .in = o};

        sp.pg = radix_next(&o->tree, first);
        if (sp.pg == NULL || *first > last) {
            more = false;
            break;
        }
        if ((atomic_load(&sp.pg->flags) & PG_SWAPPED) != 0 ||
            !is_sole_mapping(s->as, s->n.start + ((*first - s->obj_first) << PAGE_SHIFT), sp.pg))
            continue;
        if (!out) {
            page_referenced(&sp, true, &v->tlb);
        } else if (o->kind == OBJ_ANON) {
            cold_take_anon(v, &sp);
        } else {
            rmap_unmap(sp.own, sp.pg, &v->tlb);
            if ((atomic_load(&sp.pg->flags) & PG_DIRTY) != 0)
                atomic_fetch_or_explicit(&sp.pg->flags, PG_RECLAIM, memory_order_relaxed);
        }
    }
    spin_unlock(&o->lock);
    return more && *first <= last;
}

/* MADV_COLD or MADV_PAGEOUT for the pages of the segment's object that [start, end) maps. */
static void cold_object_pages(struct seg *s, uint64_t start, uint64_t end, bool out)
{
    uint64_t first = seg_index(s, start), last = seg_index(s, end) - 1, from;
    struct victims v;
    bool more;

    victims_init(&v);
    do {
        from = first;
        more = cold_object_batch(s, &first, last, out, &v);
        victims_finish(&v);
        if (out && s->obj->kind == OBJ_VNODE && first > from)
            object_forget_clean(s->obj, from, min_of(first - 1, last));
    } while (more && !proc_is_ending());
}

static void cold_range(struct seg *s, uint64_t start, uint64_t end, bool out)
{
    if (!seg_shared(s))
        cold_private_pages(s->as, start >> PAGE_SHIFT, (end >> PAGE_SHIFT) - 1, out);
    if (s->obj != NULL && (s->obj->kind == OBJ_ANON || s->obj->io != NULL) &&
        (!out || may_evict_object(s)))
        cold_object_pages(s, start, end, out);
}

void cold_mark(struct seg *s, uint64_t start, uint64_t end)
{
    cold_range(s, start, end, false);
}

void cold_out(struct seg *s, uint64_t start, uint64_t end)
{
    cold_range(s, start, end, true);
}
