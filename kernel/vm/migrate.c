// SPDX-License-Identifier: MIT
/*
 * migrate.c - moves pages to the board of the thread that touches them next.
 *
 * THEORY      A page is placed at its first touch.  If other threads use it later, it is on the wrong board.
 *             A program can then give advice: madvise(3C) with MADV_ACCESS_LWP or MADV_ACCESS_MANY.  It marks
 *             the pages in memory and drops their translations, so that the next access faults.
 *             The fault lets the policy choose an lgroup for the thread that faults.  If the page is already
 *             there, only the mark is cleared.  Otherwise the fault allocates a page there, copies the
 *             contents, and puts the new page in the place of the old one in each object that names the old
 *             page.  A page that cannot be moved (no free frame there, or the frame is in use) stays where it
 *             is, and stays marked until the next fault.  A page that some process has locked (mlock.c) does
 *             not move.  While a page moves it is busy (PG_LOCKED), so faults and reads of it wait.  Once
 *             nothing maps it, and only its objects and this thread hold references, no other thread can change
 *             it.
 *             A page that processes share after fork() is read-only everywhere, and moves for all of them.
 * INVARIANTS  I1  a page is busy from before it is unmapped until its successor is in place
 * LOCKING     The family is locked before the object.  A page is copied without locks.
 * SEE ALSO    docs/memory.md; kstats lgrp:N "pages migrated to" and so on
 */
#include "vm/migrate.h"
#include "disp/thread.h"
#include "lgrp/lgrpstat.h"
#include "stat/trace.h"
#include "pages/busy.h"
#include "pages/cachelist.h"
#include "vm/pt.h"
#include "vm/rmap.h"

static unsigned lgrp_of_page(const struct page *pg)
{
    return lgrp_topo.node_lgrp[pg->node];
}

static inline uint64_t base_pages(const struct page *pg)
{
    return 1ul << pg->order;
}

/* ---- marking --------------------------------------------------------------------------------- */

/*
 * Marks pages first .. last of an object.  Drops the translations of marked pages.  If only one space uses a
 * private page, the caller must drop the translation.
 */
static void mark_object_pages(struct vm_object *o, uint64_t first, uint64_t last,
                              struct tlb_batch *b)
{
    bool private = o->family != NULL;
    struct page *pg;

    for (;;) {
        uint64_t step;

        spin_lock(&o->lock);
        pg = radix_next(&o->tree, &first);
        if (pg == NULL || first > last) {
            spin_unlock(&o->lock);
            return;
        }
        step = base_pages(pg);
        if ((atomic_load(&pg->flags) & (PG_LOCKED | PG_SWAPPED)) != 0 || !page_has_only(pg, 0) ||
            (!private && rmap_locked_shared(o, pg))) {
            lgrp_count(lgrp_of_page(pg), LGRP_STAT_MARK_FAIL, step);
            pg = NULL;
        } else {
            atomic_fetch_or_explicit(&pg->flags, PG_MARKED, memory_order_relaxed);
            lgrp_count(lgrp_of_page(pg), LGRP_STAT_MARKED, step);
            page_hold(pg);
            if (!private)
                rmap_unmap(page_owner_of(o), pg, b);
        }
        spin_unlock(&o->lock);
        if (pg != NULL) {
            if (private && atomic_load_explicit(&pg->nsharers, memory_order_relaxed) > 1) {
                spin_lock(&o->family->lock);
                rmap_unmap(page_owner_of(o), pg, b);
                spin_unlock(&o->family->lock);
            }
            page_release(pg);
        }
        first += step;
    }
}

void migrate_mark(struct seg *s, uint64_t start, uint64_t end)
{
    struct tlb_batch b;

    if (s->locked) /* locked pages do not move */
        return;
    tlb_batch_init(&b);
    if (!seg_shared(s)) {
        mark_object_pages(&s->as->anon, start >> PAGE_SHIFT, (end >> PAGE_SHIFT) - 1, &b);
        if (range_zap(s->as, start, end)) /* for pages that only this space uses */
            s->as->anon_all_mapped = false;
    }
    if (s->obj != NULL)
        mark_object_pages(s->obj, seg_index(s, start), seg_index(s, end) - 1, &b);
    tlb_batch_done(&b);
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Drops all translations of a busy page and flushes.  Returns whether the page then has no other user. */
static bool unmap_busy_page(struct vm_object *o, struct page *pg)
{
    struct page_owner own = page_owner_of(o);
    struct tlb_batch b;
    bool idle;

    tlb_batch_init(&b);
    page_owner_lock(own);
    idle = own.family != NULL || !rmap_locked_shared(o, pg);
    if (idle) {
        rmap_unmap(own, pg, &b);
        idle = page_has_only(pg, 1) && atomic_load(&pg->mapcount) == 0;
    }
    page_owner_unlock(own);
    tlb_batch_done(&b);
    return idle;
}

bool migrate_busy(struct vm_object *o, struct page *pg, struct page *fresh, enum trace_moved why)
{
    unsigned from = lgrp_of_page(pg), to = lgrp_of_page(fresh), order = pg->order;
    uint32_t flags;

    if (!unmap_busy_page(o, pg)) {
        lgrp_count(from, LGRP_STAT_MIGR_FAIL_FROM, 1ul << order);
        page_release(fresh);
        page_unlock(pg);
        page_release(pg);
        return false;
    }
    page_copy(fresh, pg, order);
    flags = atomic_load(&pg->flags) & ~(uint32_t)(PG_LOCKED | PG_MARKED | PG_HEAD | PG_SLOT);
    fresh->observed = pg->observed;
    TRACE(PAGE, pg->node | (unsigned)why << 8, pg->index << PAGE_SHIFT, fresh->node);
    page_replace_unlock(page_owner_of(o), pg, fresh, flags);
    lgrp_count(from, LGRP_STAT_MIGR_FROM, 1ul << order);
    lgrp_count(to, LGRP_STAT_MIGR_TO, 1ul << order);
    return true;
}

bool migrate_to(struct vm_object *o, struct page *pg, unsigned to, enum trace_moved why)
{
    struct page *fresh;

    if ((atomic_fetch_or(&pg->flags, PG_LOCKED) & PG_LOCKED) !=
        0) { /* another thread made the page busy first */
        spin_unlock(&o->lock);
        page_lock_wait(pg);
        return true;
    }
    cachelist_take(pg);
    page_hold(pg);
    spin_unlock(&o->lock);
    fresh = place_strict(to, pg);
    if (fresh != NULL)
        return migrate_busy(o, pg, fresh, why);
    lgrp_count(to, LGRP_STAT_MIGR_FAIL_TO, 1ul << pg->order);
    page_unlock(pg);
    page_release(pg);
    return false;
}

bool migrate_touch(struct vm_object *o, struct page *pg, const struct placement *pl)
{
    unsigned to = place_lgrp(pl);

    if (lgrp_of_page(pg) != to)
        return migrate_to(o, pg, to, TRACE_MOVED_ADVICE);
    atomic_fetch_and(&pg->flags, ~(uint32_t)PG_MARKED);
    spin_unlock(&o->lock);
    return true;
}
