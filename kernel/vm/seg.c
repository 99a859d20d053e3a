// SPDX-License-Identifier: MIT
/*
 * seg.c - segments: creating, splitting and joining them, and the counts of an address space.
 *
 * THEORY      A segment is a range of addresses with one protection, one kind of backing, one policy and one
 *             advice.  Private pages are indexed by address in the space's own object, so no page moves when
 *             a segment is split or when two are joined.  Only obj_first of the upper part must be computed.
 *             Neighbours that differ only in their range are joined again.  Otherwise a program that changes
 *             protection page by page would finally have one segment per page.
 * INVARIANTS  I1  virt_pages and the other counts of struct as are the sums over the segments
 *             I2  a segment with an object is in the object's tree `segs` exactly while it is in the space's tree
 *             I3  while an object's lock is held, each mapping of one of its pages lies in exactly one
 *                 segment in the object's tree.  So this lock is held during a whole split or join
 * TUNABLES    max_map_count
 * LOCKING     as->lock is held for writing.  obj->lock guards the object's tree, and the ranges of the segments
 *             in that tree, because rmap.c reads them.
 * SEE ALSO    vm/segtree.h, docs/memory.md
 */
#include "vm/as.h"
#include "pages/pcache.h"
#include "pages/rangepolicy.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "mem/usermem.h"
#include "stat/panic.h"
#include "stat/tunable.h"

uint32_t max_map_count = 65530; /* the default of Linux's sysctl vm.max_map_count */
TUNABLE(max_map_count, 1024, 1048576,
        "default 65530; segments of one address space; read by mmap, mprotect");

static struct kmem_cache *seg_cache;

void seg_boot(void)
{
    seg_cache = kmem_cache_create("vm_seg", sizeof(struct seg), 0);
    if (seg_cache == NULL)
        panic("no memory for segments");
}

/* Adds a segment's pages to the counts of its space (sign 1), or subtracts them (sign -1). */
static void account_segment(struct seg *s, int64_t sign)
{
    struct as *as = s->as;
    uint64_t pages = (uint64_t)sign * ((s->n.end - s->n.start) >> PAGE_SHIFT);

    as->virt_pages += pages;
    as->resv.need_pages += seg_need(s->prot, s->flags, pages);
    if ((s->flags & MAP_GROWSDOWN) != 0)
        as->stack_pages += pages;
    else if ((s->prot & PROT_WRITE) != 0 && !seg_shared(s))
        as->data_pages += pages;
    if ((s->prot & PROT_EXEC) != 0)
        as->text_pages += pages;
    if (s->locked) {
        as->locked_pages += pages;
        atomic_fetch_add(&locked_total, pages);
    }
}

/* Counts that a segment came into the tree of its object, or grew there.  The caller has locked the object. */
static void count_change(struct seg *s)
{
    s->obj->seg_changes += !seg_shared(s) && s->cut != s->obj->cuts;
}

/* Adds a segment to the segments of its object, which the caller has locked. */
static void link_backing_object_locked(struct seg *s)
{
    count_change(s);
    s->obj_link.first = s->obj_first;
    s->obj_link.last = seg_index(s, s->n.end) - 1;
    itree_insert(&s->obj->segs, &s->obj_link);
}

static void link_backing_object(struct seg *s)
{
    if (s->obj == NULL)
        return;
    spin_lock(&s->obj->lock);
    link_backing_object_locked(s);
    spin_unlock(&s->obj->lock);
}

/*
 * Removes `s` from the tree of its object.  If it was the last segment that maps a file, the clean pages of its range
 * go to the cache list.
 */
static void unlink_backing_object(struct seg *s)
{
    struct vm_object *o = s->obj;
    bool last;

    if (o == NULL)
        return;
    spin_lock(&o->lock);
    itree_remove(&o->segs, &s->obj_link);
    last = itree_empty(&o->segs);
    spin_unlock(&o->lock);
    if (last && o->io != NULL)
        pcache_unmapped(o, s->obj_link.first, s->obj_link.last);
}

/* Can stores to the segment change a file?  If so, the segment counts as a writer of the file. */
static bool writes_file(const struct seg *s)
{
    return s->vn != NULL && seg_shared(s) && (s->max_prot & PROT_WRITE) != 0;
}

static void hold_backing(struct seg *s)
{
    if (s->obj != NULL)
        object_hold(s->obj);
    if (s->vn != NULL)
        vnode_hold(s->vn);
    if (writes_file(s))
        vn_count_write(s->vn, 1);
    range_policy_hold(s->policy);
}

/* A copy of `from` for a space that has `count` segments.  NULL: no memory, or the user's account is full. */
static struct seg *seg_alloc(const struct seg *from, size_t count)
{
    struct usermem *payer = NULL;
    struct seg *s;

    if (unlikely(count >= SEG_COUNT_FREE)) {
        payer = usermem_charge(sizeof *s);
        if (payer == NULL)
            return NULL;
    }
    s = kmem_cache_alloc_wait(seg_cache);
    if (s == NULL) {
        if (payer != NULL)
            usermem_return(payer, sizeof *s);
        return NULL;
    }
    *s = *from;
    s->payer = payer;
    return s;
}

struct seg *seg_create(struct as *as, uint64_t start, uint64_t end)
{
    struct seg s = {.n = {.start = start, .end = end}, .as = as, .size = end - start};

    return seg_alloc(&s, as->segs.count);
}

void seg_insert(struct seg *s)
{
    ASSERT(s->n.start < s->n.end && s->n.end <= USER_TOP, "as.h I6");
    hold_backing(s);
    s->n.guard = (s->flags & MAP_GROWSDOWN) != 0 ? STACK_GUARD : 0;
    segtree_insert(&s->as->segs, &s->n);
    account_segment(s, 1);
    link_backing_object(s);
}

void seg_free(struct seg *s)
{
    range_policy_drop(s->policy);
    if (s->obj != NULL)
        object_release(s->obj);
    if (writes_file(s))
        vn_count_write(s->vn, -1);
    if (s->vn != NULL)
        vn_release(s->vn);
    if (unlikely(s->payer != NULL))
        usermem_return(s->payer, sizeof *s);
    kmem_cache_free(seg_cache, s);
}

void seg_delete(struct seg *s)
{
    unlink_backing_object(s);
    segtree_remove(&s->as->segs, &s->n);
    account_segment(s, -1);
    list_push_back(&s->as->dead, &s->n.link);
}

void as_unlock(struct as *as)
{
    struct list dead = LIST_INIT(dead);
    struct seg_node *n;

    reserve_settle(&as->resv);
    if (likely(list_empty(&as->dead))) {
        rw_exit_write(&as->lock);
        return;
    }
    list_link_between(&dead, as->dead.prev, as->dead.next); /* moves the list to `dead` */
    list_init(&as->dead);
    rw_exit_write(&as->lock);
    while ((n = list_pop(&dead, struct seg_node, link)) != NULL)
        seg_free(seg_of(n));
}

static void lock_backing_object(const struct seg *s)
{
    if (s->obj != NULL)
        spin_lock(&s->obj->lock);
}

static void unlock_backing_object(const struct seg *s)
{
    if (s->obj != NULL)
        spin_unlock(&s->obj->lock);
}

/* Changes the range of a segment, and the counts.  The caller has locked the segment's object. */
static void set_segment_range(struct seg *s, uint64_t start, uint64_t end)
{
    ASSERT(start < end && end <= USER_TOP, "as.h I6");
    account_segment(s, -1);
    segtree_resize(&s->as->segs, &s->n, start, end);
    if (s->obj != NULL) {
        count_change(s);
        itree_set_last(&s->obj->segs, &s->obj_link, seg_index(s, end) - 1);
    }
    account_segment(s, 1);
}

void seg_resize(struct seg *s, uint64_t start, uint64_t end)
{
    lock_backing_object(s);
    set_segment_range(s, start, end);
    unlock_backing_object(s);
}

void seg_set_prot(struct seg *s, int prot)
{
    account_segment(s, -1);
    s->prot = (uint8_t)prot;
    account_segment(s, 1);
}

void seg_set_locked(struct seg *s, enum seg_lock locked)
{
    account_segment(s, -1);
    s->locked = (uint8_t)locked;
    account_segment(s, 1);
}

struct seg *seg_split(struct seg *s, uint64_t addr)
{
    struct seg *upper;

    if (s->as->segs.count >= max_map_count)
        return NULL;
    upper = seg_create(s->as, addr, s->n.end);
    if (upper == NULL)
        return NULL;
    upper->prot = s->prot;
    upper->max_prot = s->max_prot;
    upper->policy = s->policy;
    upper->advice = s->advice;
    upper->nodump = s->nodump;
    upper->what = s->what;
    upper->locked = s->locked;
    upper->flags = s->flags;
    upper->size = s->size;
    upper->obj = s->obj;
    upper->obj_first = s->obj != NULL ? seg_index(s, addr) : 0;
    upper->cut = s->cut;
    upper->vn = s->vn;
    hold_backing(upper);
    lock_backing_object(s); /* held during the whole split (I3) */
    set_segment_range(s, s->n.start, addr);
    segtree_insert(&s->as->segs, &upper->n);
    if (s->obj != NULL)
        link_backing_object_locked(upper);
    unlock_backing_object(s);
    account_segment(upper, 1);
    if ((upper->flags & MAP_GROWSDOWN) != 0) /* no guard gap: the lower part is directly below */
        upper->n.guard = 0;
    return upper;
}

int seg_isolate(struct as *as, uint64_t start, uint64_t end)
{
    struct seg *s = seg_find(as, start);

    if (s != NULL && s->n.start < start && seg_split(s, start) == NULL)
        return -ENOMEM;
    s = seg_find(as, end - 1);
    if (s != NULL && s->n.end > end && seg_split(s, end) == NULL)
        return -ENOMEM;
    return 0;
}

/* Can `high` be joined to `low`?  It can if it follows low directly and has the same attributes. */
static bool can_join_segments(const struct seg *low, const struct seg *high)
{
    return low->n.end == high->n.start && low->prot == high->prot &&
           low->max_prot == high->max_prot && range_policy_equal(low->policy, high->policy) &&
           low->advice == high->advice && low->nodump == high->nodump &&
           low->flags == high->flags && low->what == high->what && low->locked == high->locked &&
           low->vn == high->vn && low->obj == high->obj &&
           (low->obj == NULL || seg_index(low, low->n.end) == high->obj_first);
}

/* Extends `low` over `high`, and deletes `high`. */
static void absorb_segment(struct seg *low, struct seg *high)
{
    uint64_t end = high->n.end;

    low->size = max_of(low->size, high->size);
    if (low->cut != high->cut)
        low->cut = 0;         /* less than a number that a walk is looking for: those begin at 1 */
    lock_backing_object(low); /* held during the whole join (I3) */
    if (high->obj != NULL)
        itree_remove(&high->obj->segs, &high->obj_link);
    segtree_remove(&high->as->segs, &high->n);
    set_segment_range(low, low->n.start, end);
    unlock_backing_object(low);
    account_segment(high, -1);
    list_push_back(&high->as->dead, &high->n.link);
}

struct seg *seg_join(struct seg *s)
{
    struct seg *next = seg_next(s);
    struct seg *prev = seg_of(segtree_prev(&s->as->segs, &s->n));

    if (next != NULL && can_join_segments(s, next))
        absorb_segment(s, next);
    if (prev != NULL && can_join_segments(prev, s)) {
        absorb_segment(prev, s);
        s = prev;
    }
    return s;
}

int seg_set_policy(struct seg *s, uint64_t start, uint64_t end, unsigned policy)
{
    if (range_policy_equal(s->policy, policy))
        return 0;
    if (seg_isolate(s->as, start, end) != 0)
        return -ENOMEM;
    s = seg_find(s->as, start);
    range_policy_hold(policy);
    range_policy_drop(s->policy);
    s->policy = policy;
    seg_join(s);
    return 0;
}

/*
 * Copies a segment to the space `arg` for segtree_clone().  The copy is not locked in memory, and not yet in an
 * object's tree.
 */
static struct seg_node *clone_segment(void *arg, struct seg_node *n)
{
    struct seg *s = seg_of(n), *copy = seg_alloc(s, s->as->segs.count);

    if (copy == NULL)
        return NULL;
    copy->as = arg;
    copy->locked = SEG_UNLOCKED;
    hold_backing(copy);
    return &copy->n;
}

int seg_clone_all(struct as *to, struct as *from)
{
    struct seg_node *n;

    if (reserve_grow(&to->resv, from->resv.need_pages) != 0)
        return -ENOMEM;
    if (!segtree_clone(&to->segs, &from->segs, clone_segment, to)) {
        while ((n = list_pop(&to->segs.order, struct seg_node, link)) != NULL)
            seg_free(seg_of(n));
        segtree_init(&to->segs);
        return -ENOMEM;
    }
    LIST_FOREACH (n, &to->segs.order, link)
        link_backing_object(seg_of(n));
    to->virt_pages = from->virt_pages;
    to->data_pages = from->data_pages;
    to->stack_pages = from->stack_pages;
    to->text_pages = from->text_pages;
    to->resv.need_pages = from->resv.need_pages;
    return 0;
}
