// SPDX-License-Identifier: MIT
/*
 * pcache.c - files on a disk: which pages are dirty, and how they get to the disk.
 *
 * THEORY      A file's pages are a cache of its blocks.  A page that differs from the disk is dirty.  The
 *             object's tree has tags for the dirty pages and for those that are being written, so that writing
 *             a range looks at no other page.
 *             A page is written in these steps.  Under the object's lock all its translations become
 *             read-only, and DIRTY is replaced by WRITEBACK.  Then, without the lock, the TLBs of other
 *             CPUs are flushed, and the file system gets a run of consecutive pages.  A later store faults
 *             or is a write(2), and makes the page dirty again while the write continues.
 *             A write that fails makes its pages dirty again, and is counted.  Each object_sync() writes these
 *             pages again, and compares the count with the count at its start.  A page of its range can stay
 *             dirty only because of a write that failed since then.  So each caller gets the error, not only
 *             the first one.
 *             If memory is short and no thread waits for a write, the pages of the write become dirty again,
 *             and the write is counted separately.  A thread that has begun to wait meanwhile (object_sync)
 *             writes these pages itself.
 *             Objects with dirty pages are on lists, by a hash of their address.  An object joins its list when
 *             its first page becomes dirty, and leaves it when its last dirty page becomes clean.
 * INVARIANTS  I1  a page has RADIX_DIRTY exactly if it has PG_DIRTY, RADIX_WRITEBACK exactly if
 *                 PG_WRITEBACK; ndirty and nwriteback count them
 *             I2  a page of the file is mapped writable only while it is dirty and has all of its blocks.
 *                 Between object_prepare_begin() and object_prepare_end() it may be dirty without all of
 *                 them, and is not mapped writable
 *             I3  a page with PG_WRITEBACK stays in the tree
 *             I4  an object is on a list of dirty objects exactly while ndirty > 0
 * LOCKING     o->lock guards tags, flags DIRTY and WRITEBACK, and counts.  The list's lock (RANK_VM_DIRTY) is
 *             taken after it.  Interrupt handlers call the completion functions.
 * TUNABLES    maxphys: bytes of one transfer; ufs_WRITES, ufs_HW, ufs_LW, maxpout, minpout: throttle.h
 * SEE ALSO    pcache_read.c, docs/pagecache.md, tests/host/test_pcache.c
 */
#include "pages/pcache.h"

#include "lib/errno.h"
#include "stat/iocount.h"
#include "stat/panic.h"
#include "stat/trace.h"
#include "stat/tunable.h"
#include "pages/busy.h"
#include "pages/cachelist.h"
#include "pages/pageout.h"
#include "pages/mapping.h"
#include "pages/throttle.h"

static uint32_t maxphys = 131072;
TUNABLE(maxphys, PAGE_SIZE, PCACHE_CLUSTER_MAX *PAGE_SIZE,
        "default 131072 bytes: largest transfer of file pages; read at each");

static uint32_t ufs_WRITES = 1;
#define UFS_HW 393216
#define UFS_LW 262144
static uint32_t ufs_HW = UFS_HW;
static uint32_t ufs_LW = UFS_LW;
static _Atomic uint32_t ufs_throttles;
TUNABLE_M("ufs", ufs_WRITES, 0, 1, "default 1: 0 turns the write throttle off; read at each write");
TUNABLE_M("ufs", ufs_HW, 0, INT32_MAX,
          "default 393216 bytes: a write sleeps while its file has more on the way to the disk");
TUNABLE_M(
    "ufs", ufs_LW, 0, INT32_MAX,
    "default 262144 bytes: sleepers are woken when so much is left; not below ufs_HW: both get their defaults");
TUNABLE_RO_M("ufs", ufs_throttles, "count: how often a writer slept for ufs_HW");

static uint32_t maxpout, minpout;
TUNABLE(
    maxpout, 0, 1 << 20,
    "default 0 pages, off: a write sleeps while its file has so many pages on the way to the disk");
static _Atomic uint32_t pout_sleeps;
TUNABLE_RO(pout_sleeps, "count: how often a writer slept for maxpout");
TUNABLE(minpout, 0, 1 << 20,
        "default 0 pages: a writer stopped by maxpout goes on when so many are left");

#define DIRTY_SETS 16

static struct dirty_set {
    struct spinlock lock;
    struct list objs;   /* struct object_io */
    struct cv unpinned; /* object_io_fini() waits here for pins */
} dirty_sets[DIRTY_SETS];

static struct mutex all_mutex; /* lets only one object_writeback_all() run at a time */

void pcache_boot(void)
{
    for (unsigned i = 0; i < DIRTY_SETS; i++) {
        spin_init(&dirty_sets[i].lock, RANK_VM_DIRTY);
        list_init(&dirty_sets[i].objs);
        cv_init(&dirty_sets[i].unpinned);
    }
    mutex_init(&all_mutex, SLEEP_SYNC);
}

uint64_t pcache_cluster(void)
{
    return maxphys >> PAGE_SHIFT;
}

static struct dirty_set *dirty_set_of(const struct vm_object *o)
{
    return &dirty_sets[((uintptr_t)o >> 8) % DIRTY_SETS];
}

void object_io_init(struct vm_object *o, struct object_io *io, struct disk *disk)
{
    *io = (struct object_io){.obj = o, .disk = disk};
    cv_init(&io->throttled);
    cv_init(&io->paced);
    list_init(&io->dirty_link);
    o->io = io;
}

void object_io_fini(struct vm_object *o)
{
    struct dirty_set *set = dirty_set_of(o);

    spin_lock(&o->lock); /* the thread that removed the last page may still hold this lock */
    ASSERT(o->io->ndirty == 0 && o->io->nwriteback == 0,
           "pcache: a file goes with pages to be written");
    spin_unlock(&o->lock);
    spin_lock(&set->lock);
    while (o->io->pins != 0)
        cv_wait_spin(&set->unpinned, &set->lock, "sync");
    spin_unlock(&set->lock);
    pageout_quiesce();
}

static inline uint32_t pcache_page_flags(const struct page *pg)
{
    return atomic_load_explicit(&pg->flags, memory_order_relaxed);
}

/* ---- dirty pages ----------------------------------------------------------------------------- */

/*
 * Marks a page dirty.  This is the only place that sets PG_DIRTY.  Without a disk the flag only allows writable
 * mappings (fault.c).  With a disk, the caller has locked the object, and the page is clean and in its tree.
 */
static void set_page_dirty(struct vm_object *o, struct page *pg)
{
    struct object_io *io = o->io;

    if (io != NULL) {
        cachelist_take(pg);
        ASSERT(pg->obj == o && (pcache_page_flags(pg) & (PG_DISK | PG_DIRTY)) == PG_DISK, "I1");
    }
    atomic_fetch_or_explicit(&pg->flags, PG_DIRTY, memory_order_relaxed);
    if (io == NULL)
        return;
    io_count_disk(0, PAGE_SIZE, 0);
    radix_tag(&o->tree, pg->index, RADIX_DIRTY);
    if (io->ndirty++ == 0) {
        struct dirty_set *set = dirty_set_of(o);

        spin_lock(&set->lock);
        list_push_back(&set->objs, &io->dirty_link);
        spin_unlock(&set->lock);
    }
}

/* Marks a dirty page of a file on a disk clean.  The caller holds o->lock. */
static void set_page_clean(struct vm_object *o, struct page *pg)
{
    struct object_io *io = o->io;

    ASSERT(pg->obj == o && (pcache_page_flags(pg) & PG_DIRTY) != 0, "I1");
    atomic_fetch_and_explicit(&pg->flags, ~(uint32_t)PG_DIRTY, memory_order_relaxed);
    radix_untag(&o->tree, pg->index, RADIX_DIRTY);
    if (--io->ndirty == 0) {
        struct dirty_set *set = dirty_set_of(o);

        spin_lock(&set->lock);
        list_remove(&io->dirty_link);
        spin_unlock(&set->lock);
    }
}

void pcache_forget(struct vm_object *o, struct page *pg)
{
    cachelist_take(pg);
    if ((pcache_page_flags(pg) & PG_DIRTY) == 0)
        return;
    set_page_clean(o, pg);
    io_count_disk(0, 0, PAGE_SIZE);
}

#define UNMAPPED_BATCH 64 /* most pages that are looked at while the lock is held */

void pcache_unmapped(struct vm_object *o, uint64_t first, uint64_t last)
{
    struct page *pg;

    while (cachelist_on && first <= last) {
        spin_lock(&o->lock);
        for (unsigned n = 0; n < UNMAPPED_BATCH; n++, first++) {
            pg = radix_next(&o->tree, &first);
            if (pg == NULL || first > last) {
                spin_unlock(&o->lock);
                return;
            }
            cachelist_put(pg, false);
        }
        spin_unlock(&o->lock);
    }
}

void pcache_pin(struct vm_object *o)
{
    struct dirty_set *set = dirty_set_of(o);

    spin_lock(&set->lock);
    o->io->pins++;
    spin_unlock(&set->lock);
}

void object_set_dirty(struct vm_object *o, struct page *pg)
{
    if (o->io == NULL) {
        set_page_dirty(o, pg);
        return;
    }
    spin_lock(&o->lock);
    if ((pcache_page_flags(pg) & PG_DIRTY) == 0 && radix_lookup(&o->tree, pg->index) == pg)
        set_page_dirty(o, pg);
    spin_unlock(&o->lock);
}

void object_dirty_range(struct vm_object *o, uint64_t first, uint64_t last)
{
    struct page *pg;

    spin_lock(&o->lock);
    for (; (pg = radix_next(&o->tree, &first)) != NULL && first <= last; first++)
        if ((pcache_page_flags(pg) & PG_DIRTY) == 0)
            set_page_dirty(o, pg);
    spin_unlock(&o->lock);
}

void object_prepare_begin(struct page *pg)
{
    while ((atomic_fetch_or(&pg->flags, PG_MKWRITE) & PG_MKWRITE) != 0)
        page_wait(pg, PG_MKWRITE);
}

void object_prepare_end(struct vm_object *o, struct page *pg, int err)
{
    if (err != 0)
        object_writeback(o, pg->index, pg->index, WRITE_SYNC);
    page_done(pg, PG_MKWRITE);
}

/*
 * Whether the page is clean, not mapped and not in use (only the tree has a reference).  The caller has locked
 * the object.
 */
static bool is_idle_page(struct vm_object *o, struct page *pg)
{
    return (pcache_page_flags(pg) & (PG_DIRTY | PG_WRITEBACK | PG_LOCKED)) == 0 &&
           atomic_load(&pg->mapcount) == 0 && atomic_load(&pg->refs) == 1 &&
           atomic_load(&o->zaps) == 0; /* as.h I8 */
}

void object_free_behind(struct vm_object *o, const struct readahead *ra, uint64_t first,
                        uint64_t last)
{
    struct list dead = LIST_INIT(dead);
    struct page *pg;

    if ((ra != NULL ? ra : &o->io->ra)->size == 0 || !pageout_low_file_memory())
        return;
    spin_lock(&o->lock);
    for (; (pg = radix_next(&o->tree, &first)) != NULL && first <= last; first++) {
        if (!is_idle_page(o, pg))
            continue;
        atomic_fetch_and_explicit(&pg->flags, ~(uint32_t)PG_REFERENCED, memory_order_relaxed);
        cachelist_take(pg);
        if (cachelist_on) {
            cachelist_put(pg, true);
        } else {
            object_remove_page(o, pg);
            list_push_back(&dead, &pg->link);
        }
    }
    spin_unlock(&o->lock);
    while ((pg = list_pop(&dead, struct page, link)) != NULL)
        page_release(pg);
}

void object_forget_clean(struct vm_object *o, uint64_t first, uint64_t last)
{
    struct list dead = LIST_INIT(dead);
    struct page *pg = NULL;

    object_writeback(o, first, last, WRITE_BEHIND);
    do {
        spin_lock(&o->lock);
        for (unsigned n = 0; n < UNMAPPED_BATCH; n++, first++) {
            pg = radix_next(&o->tree, &first);
            if (pg == NULL || first > last)
                break;
            if (!is_idle_page(o, pg))
                continue;
            cachelist_take(pg);
            object_remove_page(o, pg);
            list_push_back(&dead, &pg->link);
        }
        spin_unlock(&o->lock);
        for (struct page *idle; (idle = list_pop(&dead, struct page, link)) != NULL;)
            page_release(idle);
    } while (pg != NULL && first <= last);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Consecutive pages that one writepages() call gets. */
struct run {
    struct page *page[PCACHE_CLUSTER_MAX];
    unsigned n;
    struct page *busy; /* a busy page to wait for, with a reference */
    struct tlb_batch tlb;
};

/* Makes the pages of a run read-only, replaces DIRTY by WRITEBACK and takes references.  The caller holds o->lock. */
static void begin_writeback(struct vm_object *o, struct run *r)
{
    uint64_t first = r->page[0]->index;

    if (!itree_empty(&o->segs))
        rmap_protect_shared(o, first, first + r->n - 1, &r->tlb);
    for (unsigned i = 0; i < r->n; i++) {
        struct page *pg = r->page[i];

        set_page_clean(o, pg);
        atomic_fetch_or_explicit(&pg->flags, PG_WRITEBACK, memory_order_relaxed);
        radix_tag(&o->tree, pg->index, RADIX_WRITEBACK);
        page_hold(pg);
    }
    o->io->nwriteback += r->n;
}

/*
 * Takes the next run of dirty pages of *first .. last; *first moves behind it.
 * @sync  stop at a page that is busy or being written, and set r->busy to it; otherwise such pages are skipped
 */
static void take_dirty_run(struct vm_object *o, uint64_t *first, uint64_t last, bool sync,
                           struct run *r)
{
    uint64_t at = *first, cluster = pcache_cluster();
    struct page *pg;

    r->n = 0;
    r->busy = NULL;
    tlb_batch_init(&r->tlb);
    spin_lock(&o->lock);
    for (; r->n < cluster && (pg = radix_next_tagged(&o->tree, &at, RADIX_DIRTY)) != NULL &&
           at <= last;
         at++) {
        if (r->n != 0 && at != r->page[0]->index + r->n)
            break;
        if ((pcache_page_flags(pg) & (PG_LOCKED | PG_WRITEBACK)) == 0) {
            r->page[r->n++] = pg;
        } else if (r->n != 0) {
            break;
        } else if (sync) {
            r->busy = pg;
            page_hold(pg);
            break;
        }
    }
    if (r->n != 0) {
        begin_writeback(o, r);
        *first = r->page[0]->index + r->n;
    }
    spin_unlock(&o->lock);
}

void object_hurry(struct vm_object *o, bool write)
{
    if (o->ops->hurry != NULL)
        o->ops->hurry(o, write);
}

int object_writeback(struct vm_object *o, uint64_t first, uint64_t last, enum write_why why)
{
    struct run r;
    int err = 0, e;

    if (o->io == NULL)
        return 0;
    while (first <= last) {
        take_dirty_run(o, &first, last, why == WRITE_SYNC, &r);
        if (r.busy != NULL) {
            object_hurry(o, true);
            page_wait(r.busy, PG_LOCKED | PG_WRITEBACK);
            page_release(r.busy);
            continue;
        }
        if (r.n == 0)
            break;
        tlb_batch_done(&r.tlb);
        pcache_count_out(pcache_kind(o), r.n);
        TRACE_SELF(WRITE, r.n | (unsigned)why << 8, r.page[0]->index << PAGE_SHIFT, (uintptr_t)o);
        e = o->ops->writepages(o, r.page, r.n, why);
        for (unsigned i = 0; e != 0 && i < r.n; i++)
            object_write_done(r.page[i], e);
        if (err == 0)
            err = e;
    }
    return err;
}

/*
 * A page has been written.  If the pageout daemon started the write in order to free the page, and
 * the page is still clean and unused, takes the page out of the tree and returns true: the caller
 * then drops the tree's reference.  With a cache list, puts the page on that list instead.  The
 * caller holds o->lock; after its release the object may be freed (I3).
 */
static bool end_page_writeback(struct vm_object *o, struct page *pg)
{
    uint32_t reclaim = pcache_page_flags(pg) & PG_RECLAIM;

    page_done(pg, PG_WRITEBACK | PG_RECLAIM);
    if (atomic_load(&o->zaps) != 0)
        return false; /* a TLB can have a translation that no page table has: as.h I8 */
    if (cachelist_on) {
        cachelist_put(pg, false);
        return false;
    }
    if (reclaim == 0 || (pcache_page_flags(pg) & (PG_DIRTY | PG_LOCKED)) != 0 ||
        atomic_load(&pg->mapcount) != 0 || atomic_load(&pg->refs) != 2)
        return false;
    object_remove_page(o, pg);
    return true;
}

/*
 * One of `before` pages in flight has been written: wakes up the writers that need not wait any
 * longer.
 */
static void wake_throttled_writers(struct object_io *io, uint64_t before)
{
    struct throttle t = {ufs_WRITES != 0, ufs_HW, ufs_LW};
    struct pacing p = {maxpout, minpout};

    if (io->nthrottled != 0 && throttle_wakes(&t, before << PAGE_SHIFT, (before - 1) << PAGE_SHIFT))
        cv_broadcast(&io->throttled);
    if (io->npaced != 0 && pacing_wakes(&p, before - 1))
        cv_broadcast(&io->paced);
}

void object_write_done(struct page *pg, int err)
{
    struct vm_object *o = pg->obj;
    struct object_io *io = o->io;
    uint64_t before;
    bool drop;

    spin_lock(&o->lock);
    ASSERT((pcache_page_flags(pg) & PG_WRITEBACK) != 0, "pcache: done once");
    radix_untag(&o->tree, pg->index, RADIX_WRITEBACK);
    before = io->nwriteback--;
    if (unlikely(err != 0)) {
        if (err == -EAGAIN) {
            io->tally.put_off++;
            io->behind = true;
        } else {
            io->tally.failed++;
            io->error = err;
        }
        if ((pcache_page_flags(pg) & PG_DIRTY) == 0)
            set_page_dirty(o, pg);
    }
    if (unlikely((io->nthrottled | io->npaced) != 0))
        wake_throttled_writers(io, before);
    drop = end_page_writeback(o, pg);
    spin_unlock(&o->lock);
    if (drop)
        page_release(pg); /* the reference of the tree */
    page_release(pg);
}

/* Sleeps until none of the pages first .. last is being written. */
static void wait_range_writeback(struct vm_object *o, uint64_t first, uint64_t last)
{
    struct page *pg;

    for (;; first++) {
        spin_lock(&o->lock);
        pg = radix_next_tagged(&o->tree, &first, RADIX_WRITEBACK);
        if (pg == NULL || first > last)
            break;
        page_hold(pg);
        spin_unlock(&o->lock);
        object_hurry(o, true);
        page_wait(pg, PG_WRITEBACK);
        page_release(pg);
    }
    spin_unlock(&o->lock);
}

/* The counts of failed writes; *err: the error of the last failed write. */
static struct write_tally get_write_tally(struct vm_object *o, int *err)
{
    struct write_tally t;

    spin_lock(&o->lock);
    t = o->io->tally;
    *err = o->io->error;
    spin_unlock(&o->lock);
    return t;
}

/* A sync of the whole object has ended, which began its last turn with the count `put_off`. */
static void end_whole_sync(struct vm_object *o, uint32_t put_off)
{
    spin_lock(&o->lock);
    if (o->io->tally.put_off == put_off)
        o->io->behind = false;
    spin_unlock(&o->lock);
}

int object_sync(struct vm_object *o, uint64_t first, uint64_t last)
{
    struct write_tally start, before, after;
    int err;

    if (o->io == NULL)
        return 0;
    start = after = get_write_tally(o, &err);
    do {
        /*
         * repeat if a write that had begun before was postponed, because its pages are dirty again
         */
        before = after;
        if (atomic_load_explicit(&o->io->nwriteback, memory_order_relaxed) != 0)
            object_hurry(o, true);
        object_writeback(o, first, last, WRITE_SYNC);
        wait_range_writeback(o, first, last);
        after = get_write_tally(o, &err);
    } while (unlikely(after.put_off != before.put_off));
    if (first == 0 && last == UINT64_MAX)
        end_whole_sync(o, after.put_off);
    return after.failed != start.failed ? err : 0;
}

/* Pins the first object of a set and moves it to the end of the list; NULL: the set is empty. */
static struct object_io *pin_first_object(struct dirty_set *set)
{
    struct object_io *io = NULL;

    spin_lock(&set->lock);
    if (!list_empty(&set->objs)) {
        io = list_pop(&set->objs, struct object_io, dirty_link);
        list_push_back(&set->objs, &io->dirty_link);
        io->pins++;
    }
    spin_unlock(&set->lock);
    return io;
}

void pcache_unpin(struct vm_object *o)
{
    struct dirty_set *set = dirty_set_of(o);

    spin_lock(&set->lock);
    if (--o->io->pins == 0)
        cv_broadcast(&set->unpinned);
    spin_unlock(&set->lock);
}

static unsigned count_dirty_objects(struct dirty_set *set)
{
    struct object_io *io;
    unsigned n = 0;

    spin_lock(&set->lock);
    LIST_FOREACH (io, &set->objs, dirty_link)
        n++;
    spin_unlock(&set->lock);
    return n;
}

void object_writeback_all(bool (*want)(void *owner, void *arg), void *arg)
{
    mutex_enter(&all_mutex);
    for (unsigned i = 0; i < DIRTY_SETS; i++)
        for (unsigned n = count_dirty_objects(&dirty_sets[i]); n > 0; n--) {
            /* one attempt for each object: objects that cannot be written stay on the list */
            struct object_io *io = pin_first_object(&dirty_sets[i]);

            if (io == NULL)
                break;
            if (want(io->obj->owner, arg))
                object_writeback(io->obj, 0, UINT64_MAX, WRITE_SYNC);
            pcache_unpin(io->obj);
        }
    mutex_exit(&all_mutex);
}

/* ---- waiting before a write -------------------------------------------------------------------- */

/* If the watermarks are in the wrong order, both get their defaults, as in Solaris. */
static void check_ufs_watermarks(void)
{
    if (likely(ufs_HW > ufs_LW))
        return;
    warn("ufs_HW, %u, is not above ufs_LW, %u: both get their defaults", ufs_HW, ufs_LW);
    ufs_HW = UFS_HW;
    ufs_LW = UFS_LW;
}

/* Sleeps on `cv`, and records it as a wait by rule `kind` of the event `throttle`.  The caller holds o->lock. */
static void wait_throttled(struct vm_object *o, unsigned kind, struct cv *cv, const char *what)
{
    TRACE_SELF(THROTTLE, kind, o->io->nwriteback, (uintptr_t)o);
    cv_wait_spin(cv, &o->lock, what);
    TRACE_SELF(THROTTLE, kind | TRACE_ENDS, o->io->nwriteback, (uintptr_t)o);
}

void object_throttle(struct vm_object *o)
{
    struct object_io *io = o->io;
    bool paced = false;

    check_ufs_watermarks();
    if (likely(io->nwriteback == 0))
        return;
    spin_lock(&o->lock);
    for (;;) {
        struct throttle t = {ufs_WRITES != 0, ufs_HW, ufs_LW};
        struct pacing p = {maxpout, minpout};

        if (throttle_blocks(&t, (uint64_t)io->nwriteback << PAGE_SHIFT)) {
            atomic_fetch_add_explicit(&ufs_throttles, 1, memory_order_relaxed);
            io->nthrottled++;
            wait_throttled(o, 0, &io->throttled, "write throttle");
            io->nthrottled--;
        } else if (paced ? !pacing_wakes(&p, io->nwriteback) : pacing_blocks(&p, io->nwriteback)) {
            if (!paced)
                atomic_fetch_add_explicit(&pout_sleeps, 1, memory_order_relaxed);
            paced = true;
            io->npaced++;
            wait_throttled(o, 1, &io->paced, "disk I/O pacing");
            io->npaced--;
        } else {
            break;
        }
    }
    spin_unlock(&o->lock);
}
