// SPDX-License-Identifier: MIT
/*
 * swap.c - anonymous pages on disk: how they are written to swap and read back.
 *
 * THEORY      Anonymous memory has no file to which its pages could be written.  To free such a frame, the
 *             kernel writes the page to a slot of a swap area.
 *             A page that goes to swap is replaced by a stand-in: a struct page without a frame, with
 *             PG_SWAPPED, that records the slot.  The stand-in takes the page's place in every object that
 *             names the page, with the same counts of references and sharers.  A copy of a page takes the
 *             page's place in the same way when the page moves to another board.  So fork, exit and munmap
 *             treat it like any page.  Only code that needs the contents looks at the flag (fault.c, anon.c),
 *             and swaps the page in: a new frame replaces the stand-in.  When the last reference to a stand-in
 *             is dropped, its slot is freed.  While a page is being written it is busy (PG_LOCKED) and
 *             unmapped.  While it is being read, the stand-in is busy.
 *             Pages are written in clusters: neighbours get adjacent slots, and are read back with one
 *             request (around.h).
 *             A page that was read back keeps its slot, with PG_SLOT, until a store to it.  Until then it
 *             can be taken again without a write.  It keeps the slot only if at least half of swap is free;
 *             otherwise other pages may need the slot.
 * INVARIANTS  I1  a slot is in use exactly while a stand-in or a page with PG_SLOT names it, or for ever if
 *                 it could not be written
 *             I2  a stand-in is never mapped
 *             I3  no translation of a page with PG_SLOT is writable, so the page equals its slot
 * LOCKING     The lock of the family or object guards the places of pages.  The code that clears PG_SLOT owns
 *             the slot.
 * TUNABLES    swap_cluster, swap_readaround, swap_keep
 * SEE ALSO    swap_area.c, docs/paging.md
 */
#include "pages/swap_area.h"

#include "blk/blk.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "stat/cpustat.h"
#include "stat/tunable.h"
#include "pages/busy.h"
#include "pages/deferred_release.h"
#include "pages/mapping.h"
#include "pages/pageout.h"
#include "pages/pcache.h"
#include "pages/placement.h"

static uint32_t swap_cluster = SWAP_CLUSTER, swap_readaround = SWAP_CLUSTER, swap_keep = 1;
TUNABLE(
    swap_cluster, 1, SWAP_CLUSTER,
    "default 32 pages, aligned: those that were not touched leave memory together; 1: each by itself");
TUNABLE(swap_readaround, 1, SWAP_CLUSTER,
        "default 32 pages: longest read from swap at a fault; what is used may allow less; 1: one");
TUNABLE(
    swap_keep, 0, 1,
    "default 1: a page keeps its slot of swap until it is written to, while half of swap is free");

static struct kmem_cache *standin_cache;
static _Atomic uint64_t kept; /* pages with PG_SLOT */

uint64_t swap_kept(void)
{
    return kept;
}

unsigned swap_cluster_pages(void)
{
    return swap_cluster;
}

/* The slot of a stand-in, or of a page with PG_SLOT. */
static inline struct swap_place swap_place_of(const struct page *pg)
{
    return (struct swap_place){pg->swap_area, pg->swap_slot};
}

static inline void set_swap_place(struct page *pg, struct swap_place p)
{
    pg->swap_area = p.area;
    pg->swap_slot = (uint32_t)p.slot;
}

/*
 * If the page keeps a slot, takes over the slot and clears PG_SLOT; false: the page keeps no slot.
 */
static bool claim_swap_slot(struct page *pg, struct swap_place *out)
{
    *out = swap_place_of(pg);
    if ((atomic_load_explicit(&pg->flags, memory_order_relaxed) & PG_SLOT) == 0 ||
        (atomic_fetch_and(&pg->flags, ~(uint32_t)PG_SLOT) & PG_SLOT) == 0)
        return false;
    atomic_fetch_sub_explicit(&kept, 1, memory_order_relaxed);
    return true;
}

void swap_forget(struct page *pg)
{
    struct swap_place p;

    if (claim_swap_slot(pg, &p))
        swap_give(p);
}

void swap_free_slot(struct page *pg)
{
    if ((pg->flags & PG_SWAPPED) == 0) {
        swap_forget(pg);
        return;
    }
    if (pg->swap_area != SWAP_AREAS)
        swap_give(swap_place_of(pg));
    kmem_cache_free(standin_cache, pg);
}

/*
 * Makes a stand-in for `pg` at a slot, with one reference; NULL: no memory.  page_replace_unlock() fills in the
 * other fields.
 */
static struct page *standin_new(const struct page *pg, struct swap_place p)
{
    struct page *s = kmem_cache_alloc(standin_cache);

    if (s == NULL)
        return NULL;
    *s = (struct page){.node = pg->node, .refs = 1};
    s->flags = PG_SWAPPED | PG_ANON | (pg->flags & PG_PRIVATE);
    set_swap_place(s, p);
    return s;
}

/* ---- transfers ------------------------------------------------------------------------------- */

/* Pages with adjacent slots that are being written or read. */
struct swap_transfer {
    struct blk_req req;
    unsigned n;
    struct page *frame[SWAP_CLUSTER], *standin[SWAP_CLUSTER];
    struct page_owner owner[SWAP_CLUSTER];
    struct blk_vec vec[SWAP_CLUSTER];
    struct dying dying;
};

/* Allocates a transfer, and waits for memory if necessary; NULL: no memory. */
static struct swap_transfer *transfer_alloc_wait(void)
{
    struct mem_need need = mem_need();
    struct swap_transfer *t;

    do
        t = kmem_alloc(sizeof *t);
    while (unlikely(t == NULL) && mem_wait(&need) == MEM_FREED);
    return t;
}

static void release_page_unlock(struct page *pg)
{
    page_unlock(pg);
    page_release(pg);
}

/*
 * Drops the last references to objects.  Runs in a thread, because freeing an object takes a mutex, which an
 * interrupt handler must not take.
 */
static void transfer_free(struct dying *d)
{
    struct swap_transfer *t = container_of(d, struct swap_transfer, dying);

    for (unsigned i = 0; i < t->n; i++)
        object_release(t->owner[i].obj);
    kmem_free(t);
}

/* Drops a reference unless it is the last reference.  Returns whether it dropped the reference. */
static bool release_unless_last(struct vm_object *o)
{
    uint32_t n = atomic_load(&o->refs);

    while (n > 1 && !atomic_compare_exchange_weak(&o->refs, &n, n - 1))
        ;
    return n > 1;
}

/* Drops the references to the owners and frees the transfer.  Called by the disk's interrupt. */
static void transfer_end(struct swap_transfer *t)
{
    unsigned last = 0;

    for (unsigned i = 0; i < t->n; i++) {
        if (t->owner[i].family != NULL)
            anon_family_release(t->owner[i].family);
        else if (!release_unless_last(t->owner[i].obj))
            t->owner[last++] = t->owner[i];
    }
    t->n = last;
    if (last != 0)
        dying_later(&t->dying, transfer_free);
    else
        kmem_free(t);
}

static void transfer_add(struct swap_transfer *t, struct page *frame, struct page *standin,
                         struct page_owner own)
{
    t->frame[t->n] = frame;
    t->standin[t->n] = standin;
    t->owner[t->n] = own;
    t->vec[t->n] = (struct blk_vec){frame, 0, PAGE_SIZE};
    t->n++;
}

/* Submits the request for all pages of the transfer; `first` is the slot of the first page. */
static void transfer_begin(struct swap_transfer *t, enum blk_op op, struct swap_place first,
                           void (*done)(struct blk_req *r))
{
    const struct swap_area *a = &swap_areas[first.area];

    t->req = (struct blk_req){.disk = a->disk,
                              .op = (uint8_t)op,
                              .sync = op == BLK_READ,
                              .by = blk_current_owner(),
                              .nvecs = t->n,
                              .vec = t->vec,
                              .sector = swap_sector(a, first.slot),
                              .nsect = t->n * SWAP_SECTORS,
                              .done = done};
    blk_submit(&t->req);
}

/* ---- out ------------------------------------------------------------------------------------- */

static void count_anon_freed(void)
{
    CPUSTAT_INC(dfree);
    CPUSTAT_INC(anonfree);
}

/* Called by the disk's interrupt. */
static void swap_write_done(struct blk_req *r)
{
    struct swap_transfer *t = container_of(r, struct swap_transfer, req);
    unsigned freed = 0;

    for (unsigned i = 0; i < t->n; i++) {
        if ((r->bad >> i & 1) != 0) {
            swap_retire(t->standin[i]->swap_area);
            t->standin[i]->swap_area = SWAP_AREAS; /* so that the bad slot stays marked as in use */
            page_release(t->standin[i]);
            release_page_unlock(t->frame[i]);
        } else { /* this frees the slot if no object names the page any more */
            page_replace_unlock(t->owner[i], t->frame[i], t->standin[i], 0);
            count_anon_freed();
            freed++;
        }
    }
    transfer_end(t);
    if (freed != 0)
        pageout_freed();
}

/*
 * If the page, which has no other user, keeps a slot (and so equals it), replaces the page by a stand-in and
 * drops the caller's reference.  false: the page must be written.
 */
static bool swap_out_unwritten(struct page *pg, struct page_owner own)
{
    struct swap_place p;
    struct page *standin;

    if (!claim_swap_slot(pg, &p))
        return false;
    standin = swap_areas[p.area].leaving ? NULL : standin_new(pg, p);
    if (standin == NULL) {
        swap_give(p);
        return false;
    }
    page_replace_unlock(own, pg, standin, 0);
    count_anon_freed();
    return true;
}

/*
 * Starts writing the first of n pages to adjacent slots.  Returns the number of pages done: those being
 * written, and those released because there was no memory for a stand-in.  0: no free slot, or no memory for
 * the transfer.
 */
static unsigned swap_out_cluster(struct page **pages, struct page_owner *owners, unsigned n,
                                 struct swap_out_result *went)
{
    struct swap_transfer *t = kmem_alloc(sizeof *t);
    struct swap_place at = {0};
    unsigned got = t != NULL ? swap_take(min_of(n, SWAP_CLUSTER), &at) : 0, used = 0;

    if (got == 0) {
        kmem_free(t);
        return 0;
    }
    t->n = 0;
    for (unsigned i = 0; i < got; i++) {
        struct swap_place p = {at.area, at.slot + used};
        struct page *standin = standin_new(pages[i], p);

        if (standin != NULL) {
            transfer_add(t, pages[i], standin, owners[i]);
            used++;
        } else {
            release_page_unlock(pages[i]);
            page_owner_release(owners[i]);
        }
    }
    for (unsigned i = used; i < got; i++)
        swap_give((struct swap_place){at.area, at.slot + i});
    if (used == 0) {
        kmem_free(t);
        return got;
    }
    went->writing += used;
    pcache_count_out(KIND_ANON, used);
    transfer_begin(t, BLK_WRITE, at, swap_write_done);
    return got;
}

struct swap_out_result swap_out(struct page **pages, struct page_owner *owners, unsigned n)
{
    struct swap_out_result went = {0};
    unsigned left = 0, done = 0, did = 1;

    for (unsigned i = 0; i < n; i++) {
        bool usable = atomic_load(&pages[i]->mapcount) == 0 && page_has_only(pages[i], 1);

        if (usable && swap_out_unwritten(pages[i], owners[i])) {
            went.freed++;
            page_owner_release(owners[i]);
        } else if (usable) {
            pages[left] = pages[i];
            owners[left++] = owners[i];
        } else {
            release_page_unlock(pages[i]);
            page_owner_release(owners[i]);
        }
    }
    for (; done < left && did != 0; done += did)
        did = swap_out_cluster(pages + done, owners + done, left - done, &went);
    for (; done < left; done++) {
        release_page_unlock(pages[done]);
        page_owner_release(owners[done]);
    }
    return went;
}

/* ---- in -------------------------------------------------------------------------------------- */

/*
 * Called when the contents of a frame have been read.  The frame replaces the stand-in, and takes over the slot
 * if swap_keep and swap_plenty() allow that.  Drops the references to frame and stand-in.
 */
static void install_read_frame(struct page *frame, struct page *standin, struct page_owner own)
{
    uint32_t flags = PG_ANON | PG_UPTODATE | (standin->flags & PG_PRIVATE);

    if (swap_keep != 0 && swap_plenty(standin->swap_area)) {
        set_swap_place(frame, swap_place_of(standin));
        standin->swap_area = SWAP_AREAS;
        flags |= PG_SLOT;
        atomic_fetch_add_explicit(&kept, 1, memory_order_relaxed);
    }
    page_replace_unlock(own, standin, frame, flags);
}

/* Called by the disk's interrupt. */
static void swap_read_done(struct blk_req *r)
{
    struct swap_transfer *t = container_of(r, struct swap_transfer, req);

    for (unsigned i = 0; i < t->n; i++) {
        if ((r->bad >> i & 1) != 0) {
            atomic_fetch_or(&t->standin[i]->flags, PG_BAD);
            page_release(t->frame[i]);
            release_page_unlock(t->standin[i]);
        } else {
            install_read_frame(t->frame[i], t->standin[i], t->owner[i]);
        }
    }
    transfer_end(t);
}

/*
 * Finds the stand-in of page `index` of `o`, takes a reference to it, and makes it busy.  Its slot must be
 * adjacent to that of `next`.  NULL: there is no such stand-in, it is busy, or the last attempt to
 * read its page failed.
 */
static struct page *lock_neighbour_standin(struct vm_object *o, uint64_t index,
                                           const struct page *next)
{
    bool below = index < next->index;
    struct page *pg;

    spin_lock(&o->lock);
    pg = radix_lookup(&o->tree, index);
    if (pg == NULL || (atomic_load(&pg->flags) & (PG_SWAPPED | PG_LOCKED | PG_BAD)) != PG_SWAPPED ||
        !swap_follows(swap_place_of(below ? pg : next), swap_place_of(below ? next : pg)) ||
        (atomic_fetch_or(&pg->flags, PG_LOCKED) & PG_LOCKED) != 0)
        pg = NULL;
    else
        page_hold(pg);
    spin_unlock(&o->lock);
    return pg;
}

/*
 * Allocates a frame for page `index` of an object, without waiting for memory.  `pl` is the placement of page
 * `of`; the placement of the frame follows from it.
 */
static struct page *alloc_swap_in_frame(const struct placement *pl, uint64_t index, uint64_t of)
{
    struct placement at = *pl;

    at.index += index - of;
    return place_page(&at, 0, 0, index);
}

/*
 * Finds up to `most` neighbours of `pg` on one side, makes their stand-ins busy, and allocates frames with
 * `flags` for them.  Returns their number.  Stores the frames in frame[] and the stand-ins in
 * standin[], the nearest first.
 * @step  the side: -1: before `pg`; 1: after `pg`
 */
static unsigned gather_neighbours(struct vm_object *o, const struct page *pg,
                                  const struct placement *pl, int step, uint64_t most,
                                  uint32_t flags, struct page **frame, struct page **standin)
{
    const struct page *next = pg;
    unsigned n = 0;

    while (n < most && pageout_spare(n + 1)) {
        uint64_t index = next->index + (uint64_t)(int64_t)step;

        standin[n] = lock_neighbour_standin(o, index, next);
        if (standin[n] == NULL)
            break;
        frame[n] = alloc_swap_in_frame(pl, index, pg->index);
        if (frame[n] == NULL) {
            release_page_unlock(standin[n]);
            break;
        }
        atomic_fetch_or_explicit(&frame[n]->flags, flags, memory_order_relaxed);
        next = standin[n++];
    }
    return n;
}

/*
 * Starts reading the page of a stand-in, which the caller has made busy, and its neighbours within
 * *around.  0 or -ENOMEM.
 * @guess  the neighbours are only a guess: they get PG_AHEAD
 */
static int start_swap_in(struct vm_object *o, struct page *pg, const struct placement *pl,
                         struct page_run *around, bool guess)
{
    uint32_t flags = guess ? PG_AHEAD | PG_REFERENCED : PG_REFERENCED;
    struct page *frame = place_page(pl, 0, ALLOC_WAIT, pg->index);
    struct swap_transfer *t = frame != NULL ? transfer_alloc_wait() : NULL;
    struct page *below[SWAP_CLUSTER], *below_standin[SWAP_CLUSTER];
    struct page_owner own = page_owner_of(o);
    struct swap_place first = swap_place_of(pg);
    unsigned nbelow, nabove;

    if (t == NULL) {
        if (frame != NULL)
            page_release(frame);
        return -ENOMEM;
    }
    around->n = min_of(around->n, (uint64_t)SWAP_CLUSTER);
    page_hold(pg);
    nbelow = gather_neighbours(o, pg, pl, -1, min_of(pg->index - around->first, around->n - 1),
                               flags, below, below_standin);
    t->n = 0;
    for (unsigned i = nbelow; i > 0; i--)
        transfer_add(t, below[i - 1], below_standin[i - 1], own);
    if (nbelow != 0)
        first = swap_place_of(below_standin[nbelow - 1]);
    if (!guess)
        atomic_fetch_or_explicit(&frame->flags, PG_REFERENCED, memory_order_relaxed);
    transfer_add(t, frame, pg, own);
    nabove = gather_neighbours(o, pg, pl, 1, around->first + around->n - 1 - pg->index, flags,
                               &t->frame[t->n], &t->standin[t->n]);
    for (unsigned i = 0; i < nabove; i++)
        transfer_add(t, t->frame[t->n], t->standin[t->n], own);
    for (unsigned i = 0; i < t->n; i++)
        page_owner_hold(own);
    pcache_count_in(KIND_ANON, t->n);
    pcache_count_around(guess ? t->n - 1 : 0);
    *around = (struct page_run){pg->index - nbelow, t->n};
    transfer_begin(t, BLK_READ, first, swap_read_done);
    return 0;
}

int swap_in(struct vm_object *o, struct page *pg, const struct placement *pl,
            struct page_run *around, bool wait)
{
    bool there;
    int err = 0;

    if ((atomic_fetch_or(&pg->flags, PG_LOCKED) & PG_LOCKED) !=
        0) { /* another thread is reading the page */
        if (wait)
            page_lock_wait(pg);
        return 0;
    }
    there = pg->swap_area == SWAP_AREAS; /* the page has been read, and its frame keeps the slot */
    if (!there) {
        atomic_fetch_and(&pg->flags, ~(uint32_t)PG_BAD);
        err = start_swap_in(o, pg, pl, around, wait);
    }
    if (there || err != 0)
        page_unlock(pg);
    if (there || err != 0 || !wait)
        return err;
    page_lock_wait(pg);
    return (atomic_load(&pg->flags) & PG_BAD) != 0 ? -EIO : 0;
}

int swap_in_around(struct vm_object *o, struct page *pg, const struct placement *pl,
                   struct page_run within, struct around *a, unsigned advice)
{
    struct page_run run = {pg->index, 1};
    unsigned area = pg->swap_area; /* SWAP_AREAS: the page has just been read */
    uint64_t end, wanted;
    int err;

    if (swap_readaround > 1 && area != SWAP_AREAS)
        run = around_advised(a, pg->index, 1, swap_readaround,
                             disk_seek_blocks(swap_areas[area].disk, SWAP_SECTORS), advice);
    end = min_of(within.first + within.n, run.first + run.n);
    run.first = max_of(run.first, within.first);
    run.n = end - run.first;
    wanted = run.n;
    err = swap_in(o, pg, pl, &run, true);
    if (wanted > 1 && err == 0)
        around_got(a, run, run.n - 1);
    return err;
}

#define LOOKS_PER_HOLD 128 /* most pages that are looked at while the lock is held */

/*
 * Whether the page is a stand-in that the caller looks for.
 * @ahead  look for any stand-in that is not being read; otherwise, for swapoff, look for a stand-in
 *         on an area that is being removed
 */
static bool is_wanted_standin(const struct page *pg, uint32_t flags, bool ahead)
{
    unsigned area = pg->swap_area;

    if ((flags & PG_SWAPPED) == 0)
        return false;
    return ahead ? (flags & PG_LOCKED) == 0 : area != SWAP_AREAS && swap_areas[area].leaving;
}

/*
 * Looks at some pages from *index on for a wanted stand-in; *index advances.  true: *out is the stand-in, with
 * a reference, or NULL if there is none up to `last`.  false: the caller must call again; the lock was
 * released.  If an area is being removed, the function also frees the slots of this area that pages
 * in memory keep.
 */
static bool look_for_standin(struct vm_object *o, uint64_t *index, uint64_t last, bool ahead,
                             struct page **out)
{
    struct page *pg = NULL;
    bool found = false;

    spin_lock(&o->lock);
    for (unsigned n = 0; n < LOOKS_PER_HOLD && !found; n++, *index += !found) {
        uint32_t flags;

        pg = radix_next(&o->tree, index);
        if (pg == NULL || *index > last) {
            pg = NULL;
            break;
        }
        flags = atomic_load_explicit(&pg->flags, memory_order_relaxed);
        found = is_wanted_standin(pg, flags, ahead);
        if ((flags & (PG_SWAPPED | PG_SLOT)) == PG_SLOT && swap_areas[pg->swap_area].leaving)
            swap_forget(pg);
    }
    *out = found ? pg : NULL;
    if (found)
        page_hold(pg);
    spin_unlock(&o->lock);
    return found || pg == NULL;
}

/*
 * The first wanted stand-in of an object at or after *index, with a reference; *index becomes its index.  NULL:
 * there is none up to `last`.
 */
static struct page *next_standin(struct vm_object *o, uint64_t *index, uint64_t last, bool ahead)
{
    struct page *pg;

    while (!look_for_standin(o, index, last, ahead, &pg))
        ;
    return pg;
}

struct page *swap_find(struct vm_object *o, uint64_t *index, uint64_t last)
{
    return next_standin(o, index, last, true);
}

int swap_in_leaving(struct vm_object *o)
{
    uint64_t first = 0;
    struct page *pg;
    int err = 0;

    while (err == 0 && !proc_is_ending() && !as_anon_is_ending(o) &&
           (pg = next_standin(o, &first, UINT64_MAX, false)) != NULL) {
        struct placement pl = {LGRP_MEM_POLICY_NEXT, PAGE_SIZE, first, true};

        err = swap_in(o, pg, &pl, &(struct page_run){first, SWAP_CLUSTER}, true);
        page_release(pg);
    }
    return err;
}

void swap_boot(void)
{
    standin_cache = kmem_cache_create("swapped", sizeof(struct page), 64);
    swap_areas_boot();
}
