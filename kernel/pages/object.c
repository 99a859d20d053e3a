// SPDX-License-Identifier: MIT
/*
 * object.c - page objects: what every user page belongs to; see object.h.
 *
 * THEORY      A page is made without the lock, because it may have to be zeroed, and is then inserted under the
 *             lock.  If another CPU has inserted a page meanwhile, that page is used and the new one is freed.
 *             If a file system must fill the page, the page is inserted first, busy (PG_LOCKED), so that it is
 *             read only once.
 *             Removing pages works in the opposite order.  They are unmapped and taken out of the tree
 *             under the lock; then, without the lock, TLBs are flushed and the pages are freed.  At most some
 *             dozens of pages are removed at a time, so that interrupts are not off for long.
 * INVARIANTS  those of object.h
 * LOCKING     See object.h.  No function here sleeps while it holds a spin lock.
 * SEE ALSO    docs/memory.md
 */
#include "pages/object.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "stat/panic.h"
#include "pages/busy.h"
#include "pages/cachelist.h"
#include "pages/mapping.h"
#include "pages/pageout.h"
#include "pages/pcache.h"
#include "pages/advice.h"
#include "pages/placement.h"
#include "pages/rangepolicy.h"
#include "pages/reserve.h"

/* a page with one of these flags cannot be removed */
#define IN_THE_WAY (PG_LOCKED | PG_WRITEBACK | PG_MKWRITE)
#define DROP_BATCH 64   /* most pages that are unmapped while the lock is held */
#define DROP_WALK  4096 /* the lock is also released after so many visited segments */

static struct kmem_cache *object_cache;

/* Objects of shmget().  The list is needed because an unattached object cannot be found through an address space. */
static struct list sysv_objects = LIST_INIT(sysv_objects);
static struct mutex sysv_lock;

void object_boot(void)
{
    object_cache = kmem_cache_create("vm_object", sizeof(struct vm_object), 0);
    if (object_cache == NULL)
        panic("no memory for objects");
    mutex_init(&sysv_lock, SLEEP_SYSV);
    pcache_boot();
    cachelist_boot();
}

void object_init_vnode(struct vm_object *o, const struct pager_ops *ops, void *vnode)
{
    *o = (struct vm_object){.kind = OBJ_VNODE, .ops = ops, .owner = vnode, .shared = true};
    spin_init(&o->lock, RANK_VM_OBJ);
    list_init(&o->advised);
    list_init(&o->family_link);
}

struct vm_object *object_create_anon(uint64_t pages, bool huge)
{
    struct vm_object *o = kmem_cache_alloc(object_cache);

    if (o != NULL && reserve_pages(pages) != 0) {
        kmem_cache_free(object_cache, o);
        return NULL;
    }
    if (o == NULL)
        return NULL;
    object_init_vnode(o, NULL, NULL);
    o->kind = OBJ_ANON;
    o->order = huge ? HUGE_ORDER : 0;
    atomic_store_explicit(&o->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&o->size_pages, pages, memory_order_relaxed);
    return o;
}

struct vm_object *object_create_sysv(uint64_t pages, bool huge)
{
    struct vm_object *o = object_create_anon(pages, huge);

    if (o == NULL)
        return NULL;
    o->sysv = true;
    mutex_enter(&sysv_lock);
    list_push_back(&sysv_objects, &o->family_link);
    mutex_exit(&sysv_lock);
    return o;
}

int object_each_sysv(int (*fn)(struct vm_object *o, void *arg), void *arg)
{
    struct vm_object *o;
    int err = 0;

    mutex_enter(&sysv_lock);
    LIST_FOREACH (o, &sysv_objects, family_link)
        if (err == 0)
            err = fn(o, arg);
    mutex_exit(&sysv_lock);
    return err;
}

void object_hold(struct vm_object *o)
{
    if (o->kind == OBJ_ANON)
        atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
}

static void release_unmapped_page(void *arg, void *item)
{
    struct page *pg = item;

    (void)arg;
    ASSERT(atomic_load(&pg->mapcount) == 0, "vm: a page without object is not mapped");
    page_release(pg);
}

void object_release(struct vm_object *o)
{
    struct radix pages;

    if (o->kind != OBJ_ANON || atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1)
        return;
    ASSERT(itree_empty(&o->segs), "vm: a mapped object has references");
    if (o->sysv) {
        mutex_enter(&sysv_lock);
        list_remove(&o->family_link);
        mutex_exit(&sysv_lock);
    }
    spin_lock(&o->lock); /* the pageout daemon may be using the tree */
    pages = o->tree;
    o->tree = (struct radix){NULL, NULL};
    spin_unlock(&o->lock);
    radix_destroy(&pages, release_unmapped_page, NULL);
    pageout_quiesce(); /* no page names the object any more */
    object_forget_advice(o);
    object_forget_nodes(o);
    reserve_return(atomic_load_explicit(&o->size_pages, memory_order_relaxed));
    kmem_cache_free(object_cache, o);
}

/* ---- getting pages --------------------------------------------------------------------------- */

/*
 * Called before wait_busy_page().  If the object is on a disk, takes a reference to the page, which could
 * otherwise be freed when its I/O ends.  For other objects it takes no reference, because a page
 * that is being moved (migrate.c) must have no other user.  The frame of such a page may be reused
 * meanwhile.  This causes no error, because the caller looks up the page again afterwards.
 */
static inline void hold_busy_page(struct vm_object *o, struct page *pg)
{
    if (o->io != NULL)
        page_hold(pg);
}

/* Waits until all flags of `mask` are clear, and undoes hold_busy_page(). */
static void wait_busy_page(struct vm_object *o, struct page *pg, uint32_t mask)
{
    page_wait(pg, mask);
    if (o->io != NULL)
        page_release(pg);
}

/* object_page_find() of a page `pg` that is busy. */
static __attribute__((noinline)) struct page *find_busy_page_unlock(struct vm_object *o,
                                                                    uint64_t index, struct page *pg)
{
    hold_busy_page(o, pg);
    spin_unlock(&o->lock);
    wait_busy_page(o, pg, PG_LOCKED | PG_WRITEBACK);
    return object_page_find(o, index);
}

struct page *object_page_find(struct vm_object *o, uint64_t index)
{
    struct page *pg;

    index = round_down(index, 1ul << o->order);
    spin_lock(&o->lock);
    pg = radix_lookup(&o->tree, index);
    if (pg != NULL) {
        if (unlikely(atomic_load_explicit(&pg->flags, memory_order_relaxed) & PG_LOCKED))
            return find_busy_page_unlock(o, index, pg);
        page_hold(pg);
    }
    spin_unlock(&o->lock);
    return pg;
}

/* Fills a page that is in the tree and busy, and unlocks it.  If that fails the page leaves the tree. */
static int fill_page_unlock(struct vm_object *o, struct page *pg)
{
    int err = o->ops->getpage(o, pg);

    if (err == 0) {
        atomic_fetch_or_explicit(&pg->flags, PG_UPTODATE, memory_order_release);
    } else {
        spin_lock(&o->lock);
        object_remove_page(o, pg);
        spin_unlock(&o->lock);
        page_release(pg);
    }
    page_unlock(pg);
    return err;
}

/*
 * Gets the page at `index` with a reference, and makes the page if it is absent.  0, -ENOMEM, or an error of
 * getpage.
 * @overwrite  the caller will overwrite the page: a new page is neither zeroed nor read
 */
static int find_or_create_page(struct vm_object *o, uint64_t index, const struct placement *pl,
                               bool overwrite, struct page **out)
{
    bool fill = !overwrite && o->ops != NULL && o->ops->getpage != NULL;
    uint32_t flags = fill ? PG_LOCKED : PG_UPTODATE;
    unsigned how = (overwrite || fill ? 0 : ALLOC_ZERO) |
                   (o->kind == OBJ_ANON ? 0 : ALLOC_UNPAGEABLE) | ALLOC_WAIT;
    struct mem_need need = mem_need();
    struct page *pg;
    int err;

    index = round_down(index, 1ul << o->order);
    while ((pg = object_page_find(o, index)) == NULL) {
        pg = place_page(pl, o->order, how, index);
        if (pg == NULL)
            return -ENOMEM;
        pg->obj = o;
        pg->index = index;
        if (o->kind == OBJ_ANON)
            flags |= PG_ANON;
        atomic_fetch_or_explicit(&pg->flags, flags, memory_order_relaxed);
        page_hold(pg); /* one reference for the tree, one for the caller */
        spin_lock(&o->lock);
        err = radix_insert(&o->tree, index, pg);
        if (err == 0)
            o->npages += 1ul << o->order;
        spin_unlock(&o->lock);
        if (err == 0 && fill)
            err = fill_page_unlock(o, pg);
        else if (err != 0)
            page_release(pg); /* the reference of the tree */
        if (err == 0)
            break;
        page_release(pg);
        if (err != -EEXIST && (err != -ENOMEM || mem_wait(&need) != MEM_FREED))
            return err;
    }
    *out = pg;
    return 0;
}

int object_page_make(struct vm_object *o, uint64_t index, const struct placement *pl,
                     unsigned advice, struct page **out)
{
    if (unlikely(o->io != NULL))
        return object_page_read(o, index, 1, pl, &(struct read_how){NULL, advice}, out);
    return find_or_create_page(o, index, pl, false, out);
}

int object_page_get(struct vm_object *o, uint64_t index, struct page **out)
{
    struct placement pl;

    if (unlikely(o->io != NULL))
        return object_page_read(o, index, 1, NULL, NULL, out);
    *out = object_page_find(o, index);
    if (*out != NULL)
        return 0;
    pl = place_of_object(o, index);
    return find_or_create_page(o, index, &pl, false, out);
}

int object_page_get_overwrite(struct vm_object *o, uint64_t index, struct page **out)
{
    struct placement pl = place_of_object(o, index); /* a page beyond the end is rarely present */

    return find_or_create_page(o, index, &pl, true, out);
}

/* ---- taking pages away ----------------------------------------------------------------------- */

/*
 * Unmaps up to DROP_BATCH pages of first .. last and moves them from the tree to `dead`.  *more: there may be
 * more such pages.  If a busy page stops the function, it returns that page, for wait_busy_page();
 * otherwise NULL.  Takes o->lock.
 */
static struct page *detach_page_batch(struct vm_object *o, uint64_t first, uint64_t last,
                                      struct list *dead, struct tlb_batch *b, bool *more)
{
    struct page *pg, *busy = NULL;
    unsigned n = 0, walked = 0;

    *more = false;
    spin_lock(&o->lock);
    while ((pg = radix_next(&o->tree, &first)) != NULL && first <= last) {
        if (n++ == DROP_BATCH || walked > DROP_WALK) {
            *more = true;
            break;
        }
        if ((atomic_load(&pg->flags) & IN_THE_WAY) != 0) {
            hold_busy_page(o, pg);
            busy = pg;
            *more = true;
            break;
        }
        walked += rmap_unmap(page_owner_of(o), pg, b);
        if (o->io != NULL)
            pcache_forget(o, pg);
        object_remove_page(o, pg);
        list_push_back(dead, &pg->link);
    }
    spin_unlock(&o->lock);
    return busy;
}

void object_punch(struct vm_object *o, uint64_t first, uint64_t last)
{
    struct list dead = LIST_INIT(dead);
    struct tlb_batch b;
    struct page *pg, *busy;
    bool more;

    if (o->tree.root == NULL)
        return;
    do {
        tlb_batch_init(&b);
        busy = detach_page_batch(o, first, last, &dead, &b, &more);
        tlb_batch_done(&b);
        while ((pg = list_pop(&dead, struct page, link)) != NULL)
            page_release(pg);
        if (busy != NULL)
            wait_busy_page(o, busy, IN_THE_WAY);
    } while (more);
}

void object_truncate(struct vm_object *o, uint64_t first)
{
    object_punch(o, first, UINT64_MAX);
    if (first == 0)
        object_forget_advice(o);
}
