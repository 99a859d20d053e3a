// SPDX-License-Identifier: MIT
/*
 * victims.c - pages on their way out of memory.
 *
 * THEORY      To take a page, the kernel unmaps it and makes it busy (PG_LOCKED) while its owner is locked.
 *             After some dozens of such pages, the TLBs of all CPUs are flushed once.  Then clean file pages
 *             are freed or go onto the cache list, and anonymous pages go to swap.
 * INVARIANTS  I1  a page is freed only when no CPU's TLB can have a translation of it
 * LOCKING     scan_lock() or the caller has locked the owner of a page.  The caller of victims_finish() holds
 *             no lock.
 * SEE ALSO    pageout.c, vm/cold.c, docs/pageout.md
 */
#include "pages/victims.h"

#include "stat/cpustat.h"
#include "pages/busy.h"
#include "pages/cachelist.h"
#include "pages/pageout.h"
#include "pages/pcache.h"

void victims_take_file(struct victims *v, const struct scan_page *sp)
{
    struct page *pg = sp->pg;

    rmap_unmap(sp->own, pg, &v->tlb);
    atomic_fetch_or_explicit(&pg->flags, PG_LOCKED, memory_order_relaxed);
    page_hold(pg);
    v->file[v->nfile++] = pg;
    scan_unlock(sp);
}

bool victims_take_anon(struct victims *v, const struct scan_page *sp)
{
    struct page *pg = sp->pg;

    if (!page_owner_hold(sp->own))
        return false;
    atomic_fetch_or(&pg->flags, PG_LOCKED);
    page_hold(pg);
    rmap_unmap(sp->own, pg, &v->tlb);
    v->owner[v->nanon] = sp->own;
    v->anon[v->nanon++] = pg;
    return true;
}

bool page_referenced(const struct scan_page *sp, bool clear, struct tlb_batch *b)
{
    bool called = (atomic_load_explicit(&sp->pg->flags, memory_order_relaxed) & PG_REFERENCED) != 0;

    if (clear && called)
        atomic_fetch_and_explicit(&sp->pg->flags, ~(uint32_t)PG_REFERENCED, memory_order_relaxed);
    return rmap_referenced(sp->own, sp->pg, clear, b) || called;
}

struct page_seen page_seen_now(const struct scan_page *sp, struct tlb_batch *b)
{
    uint32_t flags = atomic_load(&sp->pg->flags);
    bool anon = (flags & PG_ANON) != 0;
    struct page_seen s = {
        .kind = anon ? KIND_ANON : pcache_kind(sp->own.obj),
        .busy = (flags & (PG_LOCKED | PG_WRITEBACK | PG_CACHED)) != 0 ||
                /* 1 for a family: the scanner's reference */
                !page_has_only(sp->pg, sp->own.family != NULL) ||
                (sp->own.obj != NULL && sp->own.obj->locked),
        .dirty = anon || (flags & PG_DIRTY) != 0,
        .spaces = atomic_load(&sp->pg->mapcount),
    };

    s.referenced = !s.busy && page_referenced(sp, false, b);
    return s;
}

/*
 * Frees a busy page of a file, or puts it on the cache list, unless the page is in use.  Drops the caller's
 * reference.
 */
static void free_file_page_unlock(struct page *pg)
{
    struct vm_object *o = pg->obj; /* cannot be freed while the page is busy */
    bool exec = pcache_kind(o) == KIND_EXEC, listed = cachelist_on, gone = false;

    spin_lock(&o->lock);
    if (listed) {
        page_unlock(pg);
        cachelist_put(pg, false);
    } else if (page_has_only(pg, 1) && (atomic_load(&pg->flags) & PG_DIRTY) == 0) {
        pcache_forget(o, pg);
        object_remove_page(o, pg);
        gone = true;
        page_unlock(pg);
    } else {
        page_unlock(pg);
    }
    spin_unlock(&o->lock);
    if (gone)
        page_release(pg); /* the reference of the tree */
    page_release(pg);
    if (!listed && !gone)
        return;
    CPUSTAT_INC(dfree);
    if (exec)
        CPUSTAT_INC(execfree);
    else
        CPUSTAT_INC(fsfree);
}

struct swap_out_result victims_finish(struct victims *v)
{
    struct swap_out_result went = {0};

    tlb_batch_done(&v->tlb); /* I1 */
    for (unsigned i = 0; i < v->nfile; i++)
        free_file_page_unlock(v->file[i]);
    if (v->nanon != 0)
        went = swap_out(v->anon, v->owner, v->nanon);
    went.freed += v->nfile;
    if (went.freed + went.writing != 0)
        pageout_freed();
    v->nfile = v->nanon = 0;
    return went;
}
