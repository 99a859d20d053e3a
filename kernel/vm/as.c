// SPDX-License-Identifier: MIT
/*
 * as.c - address spaces: creating, forking, mapping and destroying them.
 *
 * THEORY      An address space (vm.h) is a tree of segments, a private object and page tables.  exec() makes
 *             an empty one, fork() makes a copy, and dropping the last reference destroys it.
 *             A new mapping goes to the highest free range below map_top, which lies below the stack at a
 *             random distance, chosen at exec().  fork() copies segments and shares private pages (anon.c);
 *             page tables are not copied.
 *             When a space ends, no thread uses it, so its translations need not be flushed range by
 *             range: every CPU that still has it loaded unloads it, then everything is freed.  A counter holds
 *             the number of spaces that are freeing their pages, so that a thread that finds no memory can wait
 *             for them (proc/oom.c).
 *             Users and references are counted apart, as in Linux.  The memory returns when the last user
 *             leaves, so a parent that has waited for its child can use it at once, unless a process is reading the
 *             child's memory just then.  Only the struct stays, without segments, until a TLB flush or a walk
 *             over all spaces drops its reference.
 * INVARIANTS  those of as.h
 * LOCKING     as->lock.  list_lock (RANK_VM_TLB) guards the list of all spaces.  It is held only for a few
 *             instructions, because a walk of the list holds a reference to the current space instead
 *             (as_next).
 * TUNABLES    constants of as.h
 * SEE ALSO    docs/memory.md
 */
#include "vm/as.h"
#include "disp/thread.h"
#include "lib/errno.h"
#include "lib/crng.h"
#include "mem/kmem.h"
#include "stat/panic.h"
#include "stat/vmcoreinfo.h"
#include "vm/pt.h"
#include "vm/rmap.h"
#include "pages/busy.h"
#include "pages/rangepolicy.h"
#include "pages/swap.h"

#define STACK_ROOM   (256ul << 20) /* bytes below USER_TOP that mappings avoid */
#define RANDOM_PAGES 4096u         /* map_top moves down by fewer pages than this */
#define COLOR_STRIDE                                                                               \
    337u /* pages, as in Solaris's get_color_start(): odd, so the offsets use all colours */

static struct spinlock list_lock = SPINLOCK_INIT(RANK_VM_TLB);
static struct list spaces = LIST_INIT(spaces); /* all address spaces; under list_lock */
static uint32_t next_color;                    /* under list_lock */
static struct kmem_cache *as_cache;
static _Atomic unsigned ending; /* spaces whose pages end_space() is freeing now */

void vm_init(void)
{
    as_cache = kmem_cache_create("as", sizeof(struct as), 64);
    if (as_cache == NULL)
        panic("no memory for address spaces");
    radix_boot();
    object_boot();
    seg_boot();
    range_policy_boot();
    busy_boot();
    swap_boot();
}

/*
 * Makes a space without segments, not published, with one user.  @family  as for anon_init().  NULL: no
 * memory.
 */
static struct as *as_new(struct anon_family *family)
{
    struct as *as = kmem_cache_alloc_wait(as_cache);

    if (as == NULL)
        return NULL;
    *as = (struct as){.users = 1,
                      .refs = 1,
                      .anon_all_mapped = true,
                      .limits = {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    rw_init(&as->lock, SLEEP_AS);
    segtree_init(&as->segs);
    list_init(&as->dead);
    if (reserve_space(&as->resv) != 0)
        goto no_promise;
    as->pml4 = pt_top();
    if (as->pml4 == NULL)
        goto no_top;
    if (anon_init(as, family) != 0)
        goto no_anon;
    as->cr3 = virt_to_phys(as->pml4);
    return as;

no_anon:
    pt_top_free(as->pml4);
no_top:
    reserve_end(&as->resv);
no_promise:
    kmem_cache_free(as_cache, as);
    return NULL;
}

/* Puts a complete space on the list of all spaces. */
static void as_publish(struct as *as)
{
    spin_lock(&list_lock);
    list_push_back(&spaces, &as->all_link);
    as->color_start = next_color += COLOR_STRIDE;
    spin_unlock(&list_lock);
}

struct as *as_create(void)
{
    struct as *as = as_new(NULL);

    if (as == NULL)
        return NULL;
    as->map_top = USER_TOP - STACK_ROOM - crng_below(RANDOM_PAGES) * PAGE_SIZE;
    as_publish(as);
    return as;
}

struct as *as_fork(struct as *parent)
{
    struct as *child = as_new(parent->anon.family);
    int err;

    if (child == NULL)
        return NULL;
    rw_enter_write(&parent->lock);
    /* as_drop_private() can find the child as soon as it has segments, and must wait until it has their pages */
    if (!rw_tryenter_write(&child->lock))
        panic("a new address space is locked");
    child->limits = parent->limits;
    child->brk_start = parent->brk_start;
    child->brk = parent->brk;
    child->map_top = parent->map_top;
    err = seg_clone_all(child, parent);
    if (err == 0)
        err = anon_clone(child, parent);
    rw_exit_write(&child->lock);
    rw_exit_write(&parent->lock);
    as_publish(child);
    if (err != 0) {
        as_release(child);
        return NULL;
    }
    return child;
}

void as_hold(struct as *as)
{
    atomic_fetch_add_explicit(&as->users, 1, memory_order_relaxed);
}

bool as_is_shared(const struct as *as)
{
    return atomic_load(&as->users) > 1;
}

void as_pin(struct as *as)
{
    uint32_t refs = atomic_fetch_add_explicit(&as->refs, 1, memory_order_relaxed);

    ASSERT(refs != 0, "I9");
}

/* Takes a reference, unless the last one is already gone (false).  The caller holds list_lock. */
static bool pin_unless_gone(struct as *as)
{
    uint32_t refs = atomic_load(&as->refs);

    do
        if (refs == 0)
            return false;
    while (!atomic_compare_exchange_weak(&as->refs, &refs, refs + 1));
    return true;
}

void as_unpin(struct as *as)
{
    if (atomic_fetch_sub_explicit(&as->refs, 1, memory_order_acq_rel) != 1)
        return;
    spin_lock(&list_lock);
    list_remove(&as->all_link);
    spin_unlock(&list_lock);
    kmem_cache_free(as_cache, as);
}

struct as *as_next(struct as *as)
{
    struct list *l;
    struct as *next = NULL;

    spin_lock(&list_lock);
    for (l = as != NULL ? as->all_link.next : spaces.next; l != &spaces && next == NULL;
         l = l->next) {
        next = list_entry(l, struct as, all_link);
        if (!pin_unless_gone(next))
            next = NULL;
    }
    spin_unlock(&list_lock);
    return next;
}

/* as_each_anon() for one space. */
static int each_anon_of_space(struct as *as, int (*fn)(struct vm_object *o, void *arg), void *arg)
{
    struct seg_node *n;
    int err;

    rw_enter_read(&as->lock);
    err = as_has_ended(as) ? 0 : fn(&as->anon, arg);
    LIST_FOREACH (n, &as->segs.order, link)
        if (err == 0 && seg_of(n)->obj != NULL && seg_of(n)->obj->kind == OBJ_ANON)
            err = fn(seg_of(n)->obj, arg);
    rw_exit_read(&as->lock);
    return err;
}

int as_each_anon(int (*fn)(struct vm_object *o, void *arg), void *arg)
{
    struct as *next;
    int err = 0;

    for (struct as *as = as_next(NULL); as != NULL; as = next) {
        if (err == 0)
            err = each_anon_of_space(as, fn, arg);
        next = as_next(as);
        as_unpin(as);
    }
    return err;
}

bool as_anon_is_ending(struct vm_object *o)
{
    return o->family != NULL && as_of_anon(o)->users == 0;
}

enum {
    DROP_WALKS = 4, /* more can be necessary, because an ordinary user can fork all the time */
    /* visited under one hold of the object's lock: limits the time with interrupts off */
    SEGS_PER_HOLD = 128
};

/* A walk over the private segments that map pages first .. last of an object, to each space with copies of them. */
struct drop_walk {
    struct vm_object *o;
    uint64_t first, last;
    uint64_t cut;     /* segments with another number may have copies */
    struct seg *s;    /* the last segment that was visited; it may be gone; NULL: the walk begins */
    uint64_t s_first; /* its first page of the object when it was visited */
    struct as *as;    /* its space, if it may have copies; the walk has a reference */
    uint32_t changes; /* o->seg_changes when the walk began */
    bool changed;     /* whether it was another number at the end */
};

/* Takes up to SEGS_PER_HOLD steps, to the next segment that may have copies.  false: none. */
static bool advance_drop_walk(struct drop_walk *w)
{
    struct itree_node *n = w->s != NULL ? &w->s->obj_link : NULL;

    w->as = NULL;
    spin_lock(&w->o->lock);
    if (n == NULL)
        w->changes = w->o->seg_changes;
    for (unsigned i = 0; i < SEGS_PER_HOLD && w->as == NULL; i++) {
        n = itree_after(&w->o->segs, n, w->s_first, w->first, w->last);
        w->changed = w->o->seg_changes != w->changes;
        if (n == NULL)
            break;
        w->s = container_of(n, struct seg, obj_link);
        w->s_first = n->first;
        if (!seg_shared(w->s) && w->s->cut != w->cut)
            w->as = w->s->as;
    }
    if (w->as != NULL)
        as_pin(w->as); /* I9: a segment of it is in the tree */
    spin_unlock(&w->o->lock);
    return n != NULL;
}

/* Drops the copies of pages >= first of the object in the segment. */
static void drop_private_of_seg(struct seg *s, uint64_t first)
{
    uint64_t start = s->n.start;

    if (s->obj_link.last < first)
        return;
    if (first > s->obj_first)
        start += (first - s->obj_first) << PAGE_SHIFT;
    range_zap(s->as, start, s->n.end);
    anon_drop(s->as, start, s->n.end);
}

/*
 * Drops all copies in the space that the walk has come to.  As this is done under one hold of the lock, no later change
 * of the space can bring copies back, and a process that changes its mappings all the time holds up the walk only once.
 */
static void drop_private_of_space(struct drop_walk *w)
{
    struct seg_node *n;

    /* waits for faults that have seen the old size, and for as_fork() */
    rw_enter_write(&w->as->lock);
    LIST_FOREACH (n, &w->as->segs.order, link) {
        struct seg *s = seg_of(n);

        if (s->obj != w->o || seg_shared(s))
            continue;
        drop_private_of_seg(s, w->first);
        s->cut = w->cut;
    }
    as_unlock(w->as);
    as_unpin(w->as);
}

/*
 * as_drop_private(), one time.  false: meanwhile a private segment that may have copies came into the tree or grew.
 * Copies can have moved to it by fork(), mremap() or a join of segments, from one where the walk had not been, to one
 * that it had passed.
 */
static bool walk_and_drop(struct vm_object *o, uint64_t cut, uint64_t first, uint64_t last)
{
    struct drop_walk w = {.o = o, .cut = cut, .first = first, .last = last};

    while (advance_drop_walk(&w))
        if (w.as != NULL)
            drop_private_of_space(&w);
    return !w.changed;
}

void as_drop_private(struct vm_object *obj, uint64_t first, uint64_t last)
{
    uint64_t cut = ++obj->cuts;

    for (unsigned i = 0; i < DROP_WALKS && !walk_and_drop(obj, cut, first, last); i++)
        ;
}

bool as_memory_returns(void)
{
    return ending != 0;
}

/* Frees the memory of a space that has no user left.  Can sleep, because files are released. */
static void end_space(struct as *as)
{
    struct seg_node *n, *next;

    if (curthread->as == as)
        curthread->as = NULL;
    rw_enter_write(&as->lock);
    ending++;
    tlb_retire(as);
    LIST_FOREACH (n, &as->segs.order, link)
        pt_zap(as, n->start, n->end);
    anon_fini(as);
    ending--; /* what follows can wait for disks, and frees little memory */
    LIST_FOREACH_SAFE (n, next, &as->segs.order, link) {
        uint64_t end = &next->link != &as->segs.order ? next->start : USER_TOP + PAGE_SIZE;

        seg_delete(seg_of(n));
        pt_free_range(as, n->start, n->end, 0, end);
    }
    pt_top_free(as->pml4);
    as->pml4 = NULL;
    reserve_end(&as->resv); /* only the top table is left, as I7 says */
    kmem_free(as->observed);
    as_unlock(as);
}

void as_release(struct as *as)
{
    if (atomic_fetch_sub_explicit(&as->users, 1, memory_order_acq_rel) != 1)
        return;
    end_space(as);
    as_unpin(as);
}

void as_set_limits(struct as *as, const struct as_limits *lim)
{
    rw_enter_write(&as->lock);
    as->limits = *lim;
    rw_exit_write(&as->lock);
}

/* ---- mapping --------------------------------------------------------------------------------- */

#define MAP_HUGE_SHIFT 26
#define MAP_HUGE_MASK  0x3fu

/* The arguments of as_map(), checked and rounded. */
struct request {
    uint64_t addr, len, off;
    int prot, flags;
};

/* Checks a request and rounds its length up; `file`: it maps a file.  0 or an error of as_map(). */
static int check_map_request(struct request *q, bool file)
{
    unsigned huge = ((unsigned)q->flags >> MAP_HUGE_SHIFT) & MAP_HUGE_MASK;
    unsigned type = (unsigned)q->flags & 3;
    uint64_t grain = (q->flags & MAP_HUGETLB) != 0 ? HUGE_SIZE : PAGE_SIZE;

    if (q->len == 0 || type == 0 || q->off % PAGE_SIZE != 0 ||
        (q->prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC)) != 0)
        return -EINVAL;
    if ((q->flags & MAP_HUGETLB) != 0 && (file || (huge != 0 && huge != HUGE_SHIFT)))
        return -EINVAL;
    if (q->len > USER_TOP)
        return -ENOMEM;
    q->len = round_up(q->len, grain);
    if (q->len > USER_TOP - USER_LOW)
        return -ENOMEM;
    if (q->off + q->len < q->off || q->off + q->len > INT64_MAX)
        return -EOVERFLOW;
    if ((q->flags & MAP_FIXED_NOREPLACE) != 0)
        q->flags |= MAP_FIXED;
    if ((q->flags & MAP_FIXED) == 0)
        return 0;
    if (q->addr % grain != 0)
        return -EINVAL;
    if (q->addr > USER_TOP - q->len)
        return -ENOMEM;
    return q->addr < USER_LOW ? -EPERM : 0;
}

/*
 * Returns the address for a request: the hint of the request if the range there is free, else the
 * start of the highest free range.  0: no range is free.
 */
static uint64_t find_free_address(struct as *as, const struct request *q)
{
    uint64_t grain = (q->flags & MAP_HUGETLB) != 0 ? HUGE_SIZE : PAGE_SIZE;
    uint64_t addr = round_down(q->addr, grain), slack = grain - PAGE_SIZE;

    if (addr >= USER_LOW && addr <= USER_TOP - q->len && segtree_is_free(&as->segs, addr, q->len))
        return addr;
    addr = segtree_gap_below(&as->segs, q->len + slack, USER_LOW, as->map_top);
    if (addr == 0)
        addr = segtree_gap_below(&as->segs, q->len + slack, USER_LOW, USER_TOP);
    return addr != 0 ? round_up(addr, grain) : 0;
}

static bool exceeds_map_limits(struct as *as, const struct request *q)
{
    uint64_t pages = q->len >> PAGE_SHIFT;
    bool data = (q->prot & PROT_WRITE) != 0 && (q->flags & (MAP_SHARED | MAP_GROWSDOWN)) == 0;

    return as->virt_pages + pages > as->limits.as_bytes >> PAGE_SHIFT ||
           (data && as->data_pages + pages > as->limits.data_bytes >> PAGE_SHIFT) ||
           as->segs.count >= max_map_count;
}

/* Puts `s` at a free or emptied range.  The caller holds as->lock for writing.  0 or an error of as_map(). */
static int place_segment(struct as *as, struct request *q, struct seg *s)
{
    int err;

    if ((q->flags & MAP_FIXED) == 0) {
        q->addr = find_free_address(as, q);
        if (q->addr == 0)
            return -ENOMEM;
    } else if ((q->flags & MAP_FIXED_NOREPLACE) != 0) {
        struct seg *there = seg_after(as, q->addr);

        if (there != NULL && there->n.start < q->addr + q->len)
            return -EEXIST;
    } else {
        err = range_unmap(as, q->addr, q->addr + q->len);
        if (err != 0)
            return err;
    }
    if (as->lock_future && !as_may_lock(as, q->len >> PAGE_SHIFT))
        return -EAGAIN;
    if (exceeds_map_limits(as, q) ||
        reserve_grow(&as->resv, seg_need(q->prot, s->flags, q->len >> PAGE_SHIFT)) != 0)
        return -ENOMEM;
    s->n.start = q->addr;
    s->n.end = q->addr + q->len;
    s->size = q->len;
    s->locked = s->what != SEG_VDSO ? as->lock_future : (uint8_t)SEG_UNLOCKED;
    s->cut = s->obj != NULL ? s->obj->cuts : 0;
    seg_insert(s);
    seg_join(s);
    return 0;
}

/* Faults in all pages of a new mapping.  Stops without an error at a page that fails, or if the process is ending. */
static void populate_mapping(struct as *as, const struct request *q)
{
    enum fault_access access = (q->prot & PROT_WRITE) != 0 ? FAULT_WRITE : FAULT_READ;
    uint64_t step = (q->flags & MAP_HUGETLB) != 0 ? HUGE_SIZE : PAGE_SIZE;
    int code;

    for (uint64_t a = q->addr; a < q->addr + q->len; a += step)
        if (proc_is_ending() || fault_resolve(as, a, access, &code) != 0)
            return;
}

int as_map(struct as *as, uint64_t *addr, uint64_t len, int prot, int flags, struct vm_object *obj,
           uint64_t off, struct vnode *vn, int never)
{
    struct request q = {*addr, len, obj != NULL ? off : 0, prot, flags};
    struct vm_object *made = NULL;
    struct seg *s;
    int err = check_map_request(&q, vn != NULL);

    if (err != 0)
        return err;
    if (obj == NULL && (flags & MAP_SHARED) != 0) {
        made = object_create_anon(q.len >> PAGE_SHIFT, (flags & MAP_HUGETLB) != 0);
        if (made == NULL)
            return -ENOMEM;
        obj = made;
    }
    s = seg_create(as, 0, 0);
    if (s == NULL) {
        err = -ENOMEM;
    } else {
        s->prot = (uint8_t)prot;
        if ((flags & MAP_SHARED) == 0)
            never &= ~PROT_WRITE; /* stores go to private copies, not to the file */
        s->max_prot = (uint8_t)((PROT_READ | PROT_WRITE | PROT_EXEC) & ~never);
        s->flags =
            ((flags & MAP_SHARED) != 0 ? MAP_SHARED : MAP_PRIVATE) |
            (uint32_t)(flags & (MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_HUGETLB | MAP_NORESERVE));
        if ((flags & MAP_GROWSDOWN) != 0)
            s->what = SEG_STACK;
        else if (obj != NULL && vn == NULL && made == NULL && !obj->sysv)
            s->what = SEG_VDSO;
        else
            s->what = SEG_OTHER;
        if (obj != NULL && obj->io != NULL && (prot & PROT_EXEC) != 0)
            obj->io->exec = true;
        s->obj = obj;
        s->obj_first = q.off >> PAGE_SHIFT;
        s->vn = vn;
        rw_enter_write(&as->lock);
        err = place_segment(as, &q, s);
        as_unlock(as);
        if (err != 0) {
            s->obj = NULL; /* only seg_insert() takes references: seg_free() must not drop any */
            s->vn = NULL;
            seg_free(s);
        }
    }
    if (made != NULL)
        object_release(made);
    if (err != 0)
        return err;
    *addr = q.addr;
    if ((flags & MAP_POPULATE) != 0)
        populate_mapping(as, &q);
    else if (unlikely(as->lock_future))
        as_bring_in_locked(as, q.addr, q.addr + q.len);
    return 0;
}

const struct vmcoreinfo_field vmcoreinfo_as[] = {
    VMCOREINFO_FIELD(as, anon),
    VMCOREINFO_FIELD(as, cr3),
};
