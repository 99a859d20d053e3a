// SPDX-License-Identifier: MIT
/*
 * cachelist.c - clean file pages that are not mapped, oldest first: Solaris 8's cache list.
 *
 * THEORY      A clean file page that is not mapped can be freed at once, because the disk has its data.
 *             Such a page keeps its place in its file, so that it is found again, but counts as free.  If
 *             free frames are short, the allocator takes pages from the list, without any scan.  A page that
 *             was read or written after it was put on the list is moved to the end.
 *             A page is put on the list under its object's lock and the list's lock.  Reclaiming takes the
 *             locks in the other order.  It holds the list's lock, which keeps the object of a page on the list
 *             alive.  So it must only try to lock that object, and must not wait for the lock.
 * INVARIANTS  I1  a page with PG_CACHED is on its node's list, in its object's tree, clean, unmapped, not
 *                 busy
 * LOCKING     object, then list (RANK_VM_CACHE)
 * SEE ALSO    docs/pageout.md
 */
#include "pages/cachelist.h"

#include "stat/cpustat.h"
#include "pages/object.h"

static struct cachelist {
    struct spinlock lock;
    struct list pages;
    _Atomic uint64_t n;
} cacheline_aligned lists[NODE_MAX];

bool cachelist_on;

void cachelist_boot(void)
{
    for (unsigned i = 0; i < NODE_MAX; i++) {
        spin_init(&lists[i].lock, RANK_VM_CACHE);
        list_init(&lists[i].pages);
    }
}

static inline uint32_t cachelist_page_flags(const struct page *pg)
{
    return atomic_load_explicit(&pg->flags, memory_order_relaxed);
}

void cachelist_put(struct page *pg, bool first)
{
    struct cachelist *l = &lists[pg->node];

    if (!cachelist_on ||
        (cachelist_page_flags(pg) & (PG_DISK | PG_DIRTY | PG_WRITEBACK | PG_LOCKED | PG_CACHED)) !=
            PG_DISK ||
        atomic_load_explicit(&pg->mapcount, memory_order_relaxed) != 0)
        return;
    spin_lock(&l->lock);
    if (first)
        list_push_front(&l->pages, &pg->link);
    else
        list_push_back(&l->pages, &pg->link);
    l->n++;
    atomic_fetch_or_explicit(&pg->flags, PG_CACHED, memory_order_relaxed);
    spin_unlock(&l->lock);
}

void cachelist_take(struct page *pg)
{
    struct cachelist *l = &lists[pg->node];

    if ((cachelist_page_flags(pg) & PG_CACHED) == 0)
        return;
    spin_lock(&l->lock);
    if ((cachelist_page_flags(pg) & PG_CACHED) != 0) {
        list_remove(&pg->link);
        l->n--;
        atomic_fetch_and_explicit(&pg->flags, ~(uint32_t)PG_CACHED, memory_order_relaxed);
    }
    spin_unlock(&l->lock);
}

#define TRIES 64u /* most pages that are looked at while the list's lock is held */

/*
 * Takes the oldest page that can be freed off the list, and locks its object.  NULL: none of the first TRIES
 * pages can be freed.  The caller holds l->lock.
 */
static struct page *pop_oldest_page(struct cachelist *l)
{
    for (unsigned tries = 0; tries < TRIES && !list_empty(&l->pages); tries++) {
        struct page *pg = list_pop(&l->pages, struct page, link);

        if ((cachelist_page_flags(pg) & PG_REFERENCED) != 0) {
            atomic_fetch_and_explicit(&pg->flags, ~(uint32_t)PG_REFERENCED, memory_order_relaxed);
        } else if (spin_trylock(&pg->obj->lock)) {
            if (atomic_load(&pg->refs) == 1)
                return pg;
            spin_unlock(&pg->obj->lock);
        }
        list_push_back(&l->pages, &pg->link);
    }
    return NULL;
}

unsigned cachelist_reclaim(unsigned node, unsigned want)
{
    struct cachelist *l = &lists[node];
    uint64_t fruitless = 0, round = l->n / TRIES + 2; /* enough rounds to look at each page once */
    unsigned n = 0;

    while (n < want && fruitless < round) {
        struct vm_object *o;
        struct page *pg;

        spin_lock(&l->lock);
        pg = pop_oldest_page(l);
        if (pg != NULL) {
            l->n--;
            atomic_fetch_and_explicit(&pg->flags, ~(uint32_t)PG_CACHED, memory_order_relaxed);
        }
        spin_unlock(&l->lock);
        if (pg == NULL) {
            fruitless++;
            continue;
        }
        o = pg->obj;
        object_remove_page(o, pg);
        spin_unlock(&o->lock);
        page_release(pg);
        n++;
    }
    return n;
}

uint64_t cachelist_pages_of(unsigned node)
{
    return lists[node].n;
}

uint64_t cachelist_pages(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < nnodes; i++)
        n += lists[i].n;
    return n;
}
