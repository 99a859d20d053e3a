// SPDX-License-Identifier: MIT
/*
 * owner.h - the owner of a page (the object or family that names it); and replacing a page by
 * another page.  See owner.c.
 */
#ifndef PAGES_OWNER_H
#define PAGES_OWNER_H

#include "pages/object.h"

struct anon_family {
    struct spinlock lock;  /* RANK_VM_FAMILY                                  */
    struct list objs;      /* private objects that descend from one exec      */
    _Atomic uint32_t refs; /* number of objects on the list, and of pages on their way to swap */
};
/* anon_family_release - drop the reference of an object, or of a page on its way to swap. */
void anon_family_release(struct anon_family *f);
/*
 * anon_family_found - `o` of the family names a page that a search wanted.  Other pages of `o` are probably wanted
 * next, so `o` becomes the first object of the family.  The caller has locked the family, and ends its walk of the
 * list.
 */
static inline void anon_family_found(struct anon_family *f, struct vm_object *o)
{
    list_remove(&o->family_link);
    list_push_front(&f->objs, &o->family_link);
}

/*
 * What names a page: its object, or for a private page its fork family.  The other field is NULL.
 */
struct page_owner {
    struct vm_object *obj;
    struct anon_family *family;
};

/* page_owner_of - the owner of the pages of an object. */
static inline struct page_owner page_owner_of(struct vm_object *o)
{
    return o->family != NULL ? (struct page_owner){NULL, o->family} : (struct page_owner){o, NULL};
}
/* page_owner_lock - lock the owner, so that the page stays where it is.  page_owner_unlock - unlock the owner. */
static inline struct spinlock *page_owner_spinlock(struct page_owner own)
{
    return own.family != NULL ? &own.family->lock : &own.obj->lock;
}
static inline void page_owner_lock(struct page_owner own)
{
    spin_lock(page_owner_spinlock(own));
}
static inline void page_owner_unlock(struct page_owner own)
{
    spin_unlock(page_owner_spinlock(own));
}
/*
 * page_owner_hold - take a reference.  The caller has locked the owner, or already has a reference to it.
 * false: the object is being freed.
 * page_owner_release - drop a reference.  If it is the last one, the object is freed, which sleeps.
 */
bool page_owner_hold(struct page_owner own);
void page_owner_release(struct page_owner own);

/*
 * page_has_only - whether only the page's objects, and the caller with `ours` references, hold the page.  A
 * snapshot.
 */
static inline bool page_has_only(const struct page *pg, uint32_t ours)
{
    bool private = (atomic_load(&pg->flags) & PG_PRIVATE) != 0;

    return atomic_load(&pg->refs) == (private ? atomic_load(&pg->nsharers) : 1u) + ours;
}
/*
 * page_replace_unlock - put `to` in the place of `from` in every object that names `from`, and wake up the
 * threads that wait for `from`.  `from` is busy, not mapped and on no list.  `to`, which no object names, gets
 * the position and owner of `from`, and `flags`.  Either page may be a stand-in for a page on swap.
 * Drops the caller's references to both.  Takes the owner's lock.  Any context.
 */
void page_replace_unlock(struct page_owner own, struct page *from, struct page *to, uint32_t flags);

#endif
