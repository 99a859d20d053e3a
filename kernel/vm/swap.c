// SPDX-License-Identifier: MIT
/*
 * swap.c - anonymous pages on disk.
 *
 * THEORY      A page that goes to swap is replaced by a stand-in: a struct page without a frame, with PG_SWAPPED, that
 *             says where its bytes are.  It takes the page's place in every object that named it, as a page does that
 *             moves to another board, with the same counts of references and sharers.  So fork, exit and munmap treat
 *             it like any page; only who needs the bytes has to look (fault.c, anon.c), and swaps them in: the
 *             stand-in is replaced by a new frame.  The last reference of a stand-in gives its slot back.
 *             While it is written the page is busy (PG_LOCKED) and unmapped; while it is read the stand-in is busy.
 *             A swap area is a bitmap of page-sized slots on a disk, or in a file whose blocks are looked up once, when
 *             it is added.  Slots are given in rising order, so that pages which go together lie together.
 *             A slot that could not be written is not tried again: so a disk that fails runs out of slots, and who
 *             wants memory learns that there is none.
 * INVARIANTS  I1  a slot is in use exactly while a stand-in names it, or for ever once it could not be written
 *             I2  a stand-in is never mapped
 * LOCKING     areas_lock (RANK_VM_TLB) for bitmaps and counts; areas_mutex for adding and removing; family or object
 *             for the places of pages
 * SEE ALSO    docs/pageout.md
 */
#include "vm/swap.h"

#include "blk/blk.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/cpustat.h"
#include "stat/panic.h"
#include "vm/pageout.h"
#include "vm/pcache.h"
#include "vm/place.h"
#include "vm/reserve.h"
#include "vm/rmap.h"

enum { AREAS = 8, SECTORS = PAGE_SIZE / SECTOR_SIZE };

struct area {
    struct vnode *vn;     /* held; NULL: no area here                            */
    struct disk  *disk;
    uint64_t     *sector; /* of each slot, in a file; NULL: slot n at page n      */
    uint64_t     *used;   /* bitmap                                              */
    uint64_t      pages, next;
    uint64_t      usable, free; /* slots: all but the label's and bad ones; of these, not in use */
    bool          leaving; /* no new pages */
    char          name[64];
};

static struct area        areas[AREAS];
static struct spinlock    areas_lock = SPINLOCK_INIT(RANK_VM_TLB);
static struct mutex       areas_mutex;
static struct kmem_cache *standin_cache;

/* A stand-in's place: in fields that only frames use otherwise. */
static inline unsigned area_of(const struct page *pg)
{
    return pg->swap_area;
}
static inline uint64_t slot_of(const struct page *pg)
{
    return pg->swap_slot;
}

static uint64_t sector_of(const struct area *a, uint64_t slot)
{
    return a->sector != NULL ? a->sector[slot] : slot * SECTORS;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static bool slot_used(const struct area *a, uint64_t slot)
{
    return (a->used[slot / 64] >> slot % 64 & 1) != 0;
}

/* Up to `want` slots in a row, adjacent on the disk.  Returns how many; *area, *first. */
static unsigned slots_take(unsigned want, unsigned *area, uint64_t *first)
{
    unsigned got = 0;

    spin_lock(&areas_lock);
    for (unsigned i = 0; i < AREAS && got == 0; i++) {
        struct area *a = &areas[i];

        if (a->vn == NULL || a->leaving || a->free == 0)
            continue;
        while (slot_used(a, a->next)) /* ends: free > 0 */
            a->next = a->used[a->next / 64] == ~0ull ? round_down(a->next, 64ul) + 64 : a->next + 1,
            a->next = a->next < a->pages ? a->next : 0;
        *area = i;
        *first = a->next;
        while (got < want && a->next < a->pages && !slot_used(a, a->next) &&
               (got == 0 || sector_of(a, a->next) == sector_of(a, a->next - 1) + SECTORS)) {
            a->used[a->next / 64] |= 1ull << a->next % 64;
            a->next++;
            got++;
        }
        if (a->next >= a->pages)
            a->next = 0;
        a->free -= got;
    }
    spin_unlock(&areas_lock);
    return got;
}

static void slot_give(unsigned area, uint64_t slot)
{
    struct area *a = &areas[area];

    spin_lock(&areas_lock);
    a->used[slot / 64] &= ~(1ull << slot % 64);
    a->free++;
    spin_unlock(&areas_lock);
}

bool swap_room(void)
{
    for (unsigned i = 0; i < AREAS; i++)
        if (areas[i].vn != NULL && !areas[i].leaving && areas[i].free != 0)
            return true;
    return false;
}

/* The slot of a stand-in could not be written: it stays in use, and the stand-in names none. */
static void slot_retire(struct page *standin)
{
    struct area *a = &areas[area_of(standin)];
    bool         first;

    spin_lock(&areas_lock);
    first = a->usable-- == a->pages - 1;
    spin_unlock(&areas_lock);
    standin->swap_area = AREAS;
    if (first)
        warn("%s: a page of swap cannot be written", a->name);
}

/* mem_ops.free_swapped */
static void standin_free(struct page *pg)
{
    if (area_of(pg) != AREAS)
        slot_give(area_of(pg), slot_of(pg));
    kmem_cache_free(standin_cache, pg);
}

/* A stand-in for `pg` at a slot, with one reference, in no object. */
static struct page *standin_new(const struct page *pg, unsigned area, uint64_t slot)
{
    struct page *s = kmem_cache_alloc(standin_cache);

    if (s == NULL)
        return NULL;
    *s = (struct page){.node = pg->node, .refs = 1, .index = pg->index};
    s->flags = PG_SWAPPED | PG_ANON | (pg->flags & PG_PRIVATE);
    s->priv = pg->priv;
    s->swap_area = area;
    s->swap_slot = (uint32_t)slot;
    return s;
}

/* ---- the owner of a page: the family of a private one, the object of a shared one ---------------- */

static bool is_private(const struct page *pg)
{
    return (atomic_load(&pg->flags) & PG_PRIVATE) != 0;
}

/* ---- out ------------------------------------------------------------------------------------- */

struct writing {
    struct blk_req      req;
    unsigned            n;
    struct page        *page[SWAP_CLUSTER], *standin[SWAP_CLUSTER];
    struct vm_object   *obj[SWAP_CLUSTER];    /* held; NULL: */
    struct anon_family *family[SWAP_CLUSTER]; /* held        */
    struct blk_vec      vec[SWAP_CLUSTER];
    struct dying        dying;
};

static void let_go(struct page *pg)
{
    page_unlock(pg);
    page_release(pg);
}

static void owner_release(struct vm_object *o, struct anon_family *f)
{
    if (f != NULL)
        anon_family_release(f);
    else
        object_release(o);
}

/* The last references of objects: their end takes a mutex, which the disk's interrupt may not. */
static void writing_end(struct dying *d)
{
    struct writing *w = container_of(d, struct writing, dying);

    for (unsigned i = 0; i < w->n; i++)
        object_release(w->obj[i]);
    kmem_free(w);
}

/* Gives up a reference that is not the last one.  Returns whether it was none. */
static bool release_unless_last(struct vm_object *o)
{
    uint32_t n = atomic_load(&o->refs);

    while (n > 1 && !atomic_compare_exchange_weak(&o->refs, &n, n - 1))
        ;
    return n > 1;
}

/* Called by the disk's interrupt. */
static void written(struct blk_req *r)
{
    struct writing *w = container_of(r, struct writing, req);
    unsigned        freed = 0, last = 0;

    for (unsigned i = 0; i < w->n; i++) {
        if ((r->bad >> i & 1) != 0) {
            slot_retire(w->standin[i]);
        } else {
            page_replace(w->obj[i], w->family[i], w->page[i], w->standin[i]);
            CPUSTAT_INC(dfree);
            CPUSTAT_INC(anonfree);
            freed++;
        }
        page_release(w->standin[i]); /* the last one, if nobody names it: gives the slot back */
        let_go(w->page[i]);
        if (w->family[i] != NULL)
            anon_family_release(w->family[i]);
        else if (!release_unless_last(w->obj[i]))
            w->obj[last++] = w->obj[i];
    }
    w->n = last;
    if (last != 0)
        dying_later(&w->dying, writing_end);
    else
        kmem_free(w);
    if (freed != 0)
        pageout_freed();
}

/* Is the page, which is busy, only in use by the objects that name it and by its holder? */
static bool idle(const struct page *pg)
{
    return atomic_load(&pg->mapcount) == 0 &&
           atomic_load(&pg->refs) == (is_private(pg) ? atomic_load(&pg->share) : 1u) + 1u;
}

/* Adds a page to a request; false: no memory. */
static bool add(struct writing *w, struct page *pg, unsigned area, uint64_t slot, struct swap_owner own)
{
    struct page *s = standin_new(pg, area, slot);

    if (s == NULL)
        return false;
    w->page[w->n] = pg;
    w->standin[w->n] = s;
    w->obj[w->n] = own.obj;
    w->family[w->n] = own.family;
    w->vec[w->n] = (struct blk_vec){pg, 0, PAGE_SIZE};
    w->n++;
    return true;
}

unsigned swap_out(struct page **pages, struct swap_owner *owners, unsigned n)
{
    unsigned done = 0, area = 0, going = 0;
    uint64_t slot = 0;

    while (done < n) {
        struct writing *w = kmem_alloc(sizeof *w);
        unsigned        got = w != NULL ? slots_take(n - done, &area, &slot) : 0, used = 0;

        if (got == 0) {
            kmem_free(w);
            break;
        }
        w->n = 0;
        for (; done < n && used < got; done++) {
            if (idle(pages[done]) && add(w, pages[done], area, slot + used, owners[done])) {
                used++;
            } else {
                let_go(pages[done]);
                owner_release(owners[done].obj, owners[done].family);
            }
        }
        for (unsigned i = used; i < got; i++)
            slot_give(area, slot + i);
        if (w->n == 0) {
            kmem_free(w);
            continue;
        }
        going += w->n;
        pcache_count_out(KIND_ANON, w->n);
        w->req = (struct blk_req){.disk = areas[area].disk, .op = BLK_WRITE, .nvecs = w->n, .vec = w->vec,
                                  .sector = sector_of(&areas[area], slot), .nsect = w->n * SECTORS,
                                  .done = written};
        blk_submit(&w->req);
    }
    for (; done < n; done++) {
        let_go(pages[done]);
        owner_release(owners[done].obj, owners[done].family);
    }
    return going;
}

/* ---- in -------------------------------------------------------------------------------------- */

int swap_in(struct vm_object *o, struct page *pg, const struct placement *pl)
{
    struct area *a = &areas[area_of(pg)];
    struct page *fresh;
    int          err;

    if ((atomic_fetch_or(&pg->flags, PG_LOCKED) & PG_LOCKED) != 0) { /* another process was faster */
        page_lock_wait(pg);
        return 0;
    }
    fresh = place_page(pl, 0, 0, pg->index);
    err = -ENOMEM;
    if (fresh != NULL)
        err = blk_rw(a->disk, BLK_READ, sector_of(a, slot_of(pg)), page_to_virt(fresh), PAGE_SIZE);
    if (err == 0) {
        fresh->priv = pg->priv;
        fresh->index = pg->index;
        atomic_fetch_or_explicit(&fresh->flags, PG_ANON | PG_UPTODATE | (pg->flags & PG_PRIVATE), memory_order_relaxed);
        page_replace(o, o->family, pg, fresh);
        pcache_count_in(KIND_ANON, 1);
        CPUSTAT_INC(mjf);
    }
    if (fresh != NULL)
        page_release(fresh);
    page_unlock(pg);
    return err;
}

/* The first stand-in of an object at or after *index, held. */
static struct page *next_standin(struct vm_object *o, uint64_t *index, uint64_t last)
{
    struct page *pg;

    spin_lock(&o->lock);
    while ((pg = radix_next(&o->tree, index)) != NULL && *index <= last &&
           (atomic_load_explicit(&pg->flags, memory_order_relaxed) & PG_SWAPPED) == 0)
        ++*index;
    pg = pg != NULL && *index <= last ? pg : NULL;
    if (pg != NULL)
        page_hold(pg);
    spin_unlock(&o->lock);
    return pg;
}

static int object_swap_in(struct vm_object *o, uint64_t first, uint64_t last)
{
    struct page *pg;
    int          err = 0;

    while (err == 0 && (pg = next_standin(o, &first, last)) != NULL) {
        struct placement pl = {LGRP_MEM_POLICY_NEXT, PAGE_SIZE, first, true};

        err = swap_in(o, pg, &pl);
        page_release(pg);
    }
    return err;
}

int swap_in_range(struct as *as, uint64_t start, uint64_t end)
{
    return object_swap_in(&as->anon, start >> PAGE_SHIFT, (end - 1) >> PAGE_SHIFT);
}

/* ---- areas ----------------------------------------------------------------------------------- */

void swap_boot(void)
{
    standin_cache = kmem_cache_create("swapped", sizeof(struct page), 64);
    mutex_init(&areas_mutex, SLEEP_SWAP);
    mem_ops.free_swapped = standin_free;
}

int swap_add(const struct swap_new *n)
{
    struct area *a = NULL;
    uint64_t    *used;
    int          err = -ENOMEM;

    if (n->pages < 2 || n->pages > UINT32_MAX)
        return -EINVAL;
    mutex_enter(&areas_mutex);
    for (unsigned i = 0; i < AREAS; i++) {
        if (areas[i].vn == NULL && a == NULL)
            a = &areas[i];
        if (areas[i].vn == n->vn)
            err = -EBUSY;
    }
    used = kmem_zalloc(round_up(n->pages, 64ul) / 8);
    if (err != -EBUSY && a != NULL && used != NULL && n->sector == NULL && disk_claim(n->disk) != 0)
        err = -EBUSY; /* a file's blocks are claimed with its file system */
    if (err != -EBUSY && a != NULL && used != NULL) {
        used[0] = 1; /* the first page keeps what it holds: a label */
        vm_vnode_ops.hold(n->vn);
        str_copy(a->name, n->name, sizeof a->name);
        a->disk = n->disk;
        a->sector = n->sector;
        a->used = used;
        a->pages = n->pages;
        a->usable = a->free = n->pages - 1;
        a->next = 1;
        a->leaving = false;
        atomic_thread_fence(memory_order_seq_cst);
        a->vn = n->vn;
        err = 0;
    } else {
        kmem_free(used);
    }
    mutex_exit(&areas_mutex);
    return err;
}

static int object_all_in(struct vm_object *o)
{
    return object_swap_in(o, 0, UINT64_MAX);
}

/* Brings back all that is on swap of a space. */
static int space_in(struct as *as)
{
    struct seg_node *n;
    int              err;

    rw_enter_read(&as->lock);
    err = swap_in_range(as, 0, USER_TOP);
    LIST_FOREACH (n, &as->segs.order, link)
        if (err == 0 && seg_of(n)->obj != NULL && seg_of(n)->obj->kind == OBJ_ANON)
            err = object_all_in(seg_of(n)->obj);
    rw_exit_read(&as->lock);
    return err;
}

static int all_in(void)
{
    struct as *as, *next;
    int        err = object_each_sysv(object_all_in);

    for (as = as_next(NULL); as != NULL; as = next) {
        if (err == 0)
            err = space_in(as);
        next = as_next(as);
        as_release(as);
    }
    return err;
}

#define TRIES 200 /* of 10 ms: for pages that are on their way out, and spaces on theirs */

int swap_remove(struct vnode *vn)
{
    struct area *a = NULL;
    int          err = -EINVAL;

    mutex_enter(&areas_mutex);
    for (unsigned i = 0; i < AREAS; i++)
        if (areas[i].vn == vn)
            a = &areas[i];
    if (a != NULL) {
        uint64_t used = a->usable - a->free, total, others, promised, limit;

        swap_total(&total, &others);
        reserve_state(&promised, &limit);
        a->leaving = true;
        err = promised + a->usable > limit || used > freemem() + others - a->free ? -ENOMEM : all_in();
        for (unsigned i = 0; err == 0 && a->free != a->usable && i < TRIES; i++) {
            thread_sleep_ns(10000000);
            err = all_in();
        }
        if (err == 0 && a->free != a->usable)
            err = -EBUSY;
        if (err == 0) {
            a->vn = NULL;
            if (a->sector == NULL)
                disk_release(a->disk);
            kmem_free(a->used);
            kmem_free(a->sector);
            vm_vnode_ops.release(vn);
        } else {
            a->leaving = false;
        }
    }
    mutex_exit(&areas_mutex);
    return err;
}

bool swap_next(unsigned i, struct swap_info *out)
{
    for (unsigned k = 0; k < AREAS; k++)
        if (areas[k].vn != NULL && i-- == 0) {
            *out = (struct swap_info){.dev = disk_dev(areas[k].disk), .pages = areas[k].usable,
                                      .free = areas[k].free, .file = areas[k].sector != NULL};
            str_copy(out->name, areas[k].name, sizeof out->name);
            return true;
        }
    return false;
}

void swap_total(uint64_t *pages, uint64_t *free)
{
    *pages = *free = 0;
    for (unsigned i = 0; i < AREAS; i++)
        if (areas[i].vn != NULL && !areas[i].leaving) {
            *pages += areas[i].usable;
            *free += areas[i].free;
        }
}
