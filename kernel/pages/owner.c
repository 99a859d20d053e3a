// SPDX-License-Identifier: MIT
/*
 * owner.c - the owner of a page (the object or family that names it); and replacing a page by
 * another page.
 *
 * THEORY      A page changes its frame in three ways.  It moves to a frame on another board (vm/migrate.c).  It
 *             goes to swap, and a stand-in without a frame takes its place (swap.c).  It comes back from swap,
 *             and takes the place of the stand-in.  For the objects that name the page, the three
 *             ways are the same: one struct page replaces another.
 *             The page is busy (PG_LOCKED) from before it is unmapped until its successor is in place.  So a
 *             fault or a read that finds the busy page waits, and then looks the page up again.
 * LOCKING     family, then object
 * SEE ALSO    object.h
 */
#include "pages/owner.h"

#include "mem/kmem.h"
#include "stat/panic.h"
#include "pages/busy.h"
#include "pages/pageout.h"

void anon_family_release(struct anon_family *f)
{
    if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
        return;
    pageout_quiesce();
    kmem_free(f);
}

bool page_owner_hold(struct page_owner own)
{
    uint32_t refs;

    if (own.family != NULL) {
        /* refs is not 0: each object on the family's list has a reference */
        atomic_fetch_add(&own.family->refs, 1);
        return true;
    }
    refs = atomic_load(&own.obj->refs);
    while (refs != 0 && !atomic_compare_exchange_weak(&own.obj->refs, &refs, refs + 1))
        ;
    return refs != 0;
}

void page_owner_release(struct page_owner own)
{
    if (own.family != NULL)
        anon_family_release(own.family);
    else
        object_release(own.obj);
}

/*
 * Replaces `from` by `to` in each object of the family, which is locked.  A space can use `to` as soon as its
 * object names `to`.  If `nsharers` of `to` were 1 at that time, the space would store into a shared page.  So
 * `nsharers` counts all objects from the beginning.
 */
static void replace_in_family(struct anon_family *f, struct page *from, struct page *to)
{
    /* the count can fall, but cannot rise: anon.c I1 */
    uint32_t left = atomic_load(&from->nsharers);
    struct vm_object *o;

    atomic_fetch_add(&to->nsharers, left);
    LIST_FOREACH (o, &f->objs, family_link) {
        if (left == 0)
            break;
        spin_lock(&o->lock);
        if (radix_lookup(&o->tree, from->index) == from) {
            radix_replace(&o->tree, from->index, to);
            page_hold(to);
            atomic_fetch_sub_explicit(&from->nsharers, 1, memory_order_relaxed);
            page_release(from); /* not the last reference: the caller holds one */
            left--;
        }
        spin_unlock(&o->lock);
    }
    atomic_fetch_sub(&to->nsharers, left); /* objects that no longer named `from` */
}

static void replace_in_object(struct vm_object *o, struct page *from, struct page *to)
{
    if (radix_lookup(&o->tree, from->index) != from)
        return;
    radix_replace(&o->tree, from->index, to);
    page_hold(to);
    page_release(from);
}

void page_replace_unlock(struct page_owner own, struct page *from, struct page *to, uint32_t flags)
{
    ASSERT((atomic_load(&from->flags) & (PG_LOCKED | PG_CACHED)) == PG_LOCKED,
           "owner: a page that is replaced is busy");
    /* while the owner is locked, `from` does not move in its space (anon_move) */
    page_owner_lock(own);
    to->priv = from->priv;
    to->index = from->index;
    atomic_fetch_or(&to->flags, flags);
    if (own.family != NULL)
        replace_in_family(own.family, from, to);
    else
        replace_in_object(own.obj, from, to);
    page_owner_unlock(own);
    page_release(to);
    page_unlock(from);
    page_release(from);
}
