// SPDX-License-Identifier: MIT
/*
 * fault.c - page faults: demand paging, copy on write, growing stacks, migration on touch.
 *
 * THEORY      A page fault happens when a program uses an address whose page-table entry is empty or does not
 *             allow the access.  That is an error only if no segment allows it.  Otherwise the kernel brings
 *             the page tables up to date, and the processor repeats the instruction:
 *               private, page in the space's own object   map it; before a write, copy it if a relative of
 *                                                         fork() shares it
 *               private, no page yet, anonymous           map a zeroed page, placed by the policy
 *               private, no page yet, of a file           write: map a private copy;
 *                                                         read: map the file's page, read-only
 *               shared                                    map the object's page
 *             A page that is already in memory is mapped together with up to 15 neighbours.  So a program in
 *             the page cache, or a child after fork(), takes one fault for 16 pages.
 *             An entry is filled while the lock of the object that names the page is held, so that
 *             truncation, migration and copying cannot happen between the look-up and the mapping.
 *             A function that must sleep or allocate first releases these locks.  If the state may have changed
 *             meanwhile, the function returns RETRY and the fault starts again.
 * INVARIANTS  those of as.h; I4 is kept by is_private_writable()
 * LOCKING     as->lock is held for reading, or for writing while a stack grows.  After it come the locks of
 *             object.h.
 * SEE ALSO    docs/memory.md
 */
#include "disp/thread.h"
#include "lib/errno.h"
#include "stat/cpustat.h"
#include "stat/trace.h"
#include "pages/busy.h"
#include "pages/cachelist.h"
#include "vm/migrate.h"
#include "vm/observe.h"
#include "pages/pageout.h"
#include "pages/pcache.h"
#include "vm/pt.h"
#include "vm/rmap.h"
#include "pages/swap.h"
#include "mem/usermem.h"

enum { RETRY = 1 }; /* the fault starts again; never a result of as_fault() */
enum { SIG_BUS = 7, SIG_SEGV = 11, CODE_MAPERR = 1, CODE_ACCERR = 2, CODE_ADRERR = 2 };

struct fault {
    struct as *as;
    struct seg *seg;
    uint64_t addr;   /* address of the page: the fault's address, rounded down to the page size */
    uint64_t index;  /* addr / 4 KiB, the index in as->anon */
    unsigned order;  /* order of the segment's pages */
    unsigned slot;   /* index of the entry for the address in `table` */
    uint64_t *table; /* page table; NULL: not made yet */
    bool write;
    bool keep_marked; /* migration has failed: map the page in its present place */
    int code;         /* si_code if the result is a signal */
    uint32_t tries;   /* attempts that are left for wait_for_memory() (struct mem_need) */
};

/* Finds the page and the page-table entry of the address; `table` is NULL if there is no table. */
static inline void find_small_entry(struct fault *f, uint64_t addr)
{
    f->order = 0;
    f->addr = round_down(addr, PAGE_SIZE);
    f->slot = pt_slot(addr);
    f->table = pt_leaf(f->as, addr);
    f->index = addr >> PAGE_SHIFT;
}

/* Like find_small_entry(), for a segment of 2 MiB pages. */
static __attribute__((noinline)) void find_huge_entry(struct fault *f, uint64_t addr)
{
    f->order = HUGE_ORDER;
    f->addr = round_down(addr, HUGE_SIZE);
    f->slot = (unsigned)(addr >> HUGE_SHIFT) % PT_ENTRIES;
    f->table = pt_pd(f->as, addr);
    f->index = f->addr >> PAGE_SHIFT;
}

/* Makes the page table if there is none.  false: no memory; then the caller returns fail_no_table(). */
static inline bool ensure_page_table(struct fault *f)
{
    if (unlikely(f->table == NULL))
        f->table = f->order != 0 ? pt_pd_make(f->as, f->addr) : pt_leaf_make(f->as, f->addr);
    return likely(f->table != NULL);
}

/*
 * Waits for memory, after an allocation that could not sleep has failed.  The caller holds no spin lock.
 * Returns RETRY, or an error: -ENOMEM or -EINTR.
 */
static __attribute__((noinline)) int wait_for_memory(struct fault *f)
{
    struct mem_need need = mem_need();
    enum mem_wait end;

    need.tries = f->tries;
    end = mem_wait(&need);
    f->tries = need.tries;
    if (end == MEM_FREED)
        return RETRY;
    return end == MEM_ENDING ? -EINTR : -ENOMEM;
}

/*
 * Called when no page table could be made.  If no memory can be reserved for a table, waiting does
 * not help.  Results as of wait_for_memory().
 */
static int fail_no_table(struct fault *f)
{
    return reserve_spares(1) ? wait_for_memory(f) : -ENOMEM;
}

static inline uint64_t seg_pte_bits(const struct seg *s, bool writable)
{
    return pt_prot(s->prot, writable) | (unlikely(s->locked) ? PTE_LOCKED : 0);
}

static inline uint64_t fault_pte_bits(struct fault *f, bool writable)
{
    return seg_pte_bits(f->seg, writable) | (f->order != 0 ? PTE_PS : 0);
}

static inline uint32_t fault_page_flags(const struct page *pg)
{
    return atomic_load_explicit(&pg->flags, memory_order_relaxed);
}

static inline bool is_unshared(const struct page *pg)
{
    return atomic_load_explicit(&pg->nsharers, memory_order_relaxed) == 1;
}

/* May a private page be mapped writable, so that stores to the page do not fault? */
static inline bool is_private_writable(const struct page *pg)
{
    /* unshared (as.h I4), without a copy on swap (swap.c I3) */
    return is_unshared(pg) && (fault_page_flags(pg) & PG_SLOT) == 0;
}

/*
 * Returns the error for a frame that could not be allocated, even after waiting for memory.  For a
 * 2 MiB page the error is SIG_BUS.  There may be enough free single frames, so killing a process
 * would not help.
 */
static int fail_no_frame(struct fault *f)
{
    f->code = CODE_ADRERR;
    if (f->order != 0)
        return SIG_BUS;
    return proc_is_ending() ? -EINTR : -ENOMEM;
}

/* ---- private pages --------------------------------------------------------------------------- */

/* Maps neighbours of f->addr that are in the space's own object.  The caller holds that object's lock. */
static void map_private_around(struct fault *f)
{
    struct radix_node *leaf = radix_leaf(&f->as->anon.tree, f->index);
    unsigned at = f->index % RADIX_SLOTS, base = at - at % AROUND_PAGES;
    uint64_t bits = leaf->present >> base & ((1u << AROUND_PAGES) - 1);
    uint64_t *entry = f->table + f->slot - at % AROUND_PAGES;
    uint64_t first = f->addr - at % AROUND_PAGES * PAGE_SIZE;

    for (bits &= ~(1ull << at % AROUND_PAGES); bits != 0; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctzll(bits);
        uint64_t addr = first + i * PAGE_SIZE;
        struct page *pg = leaf->slot[base + i];

        if (entry[i] == 0 && addr >= f->seg->n.start && addr < f->seg->n.end &&
            (fault_page_flags(pg) & (PG_LOCKED | PG_MARKED | PG_SWAPPED | PG_AHEAD)) == 0)
            pt_set(f->as, f->table, pt_slot(addr), pg,
                   seg_pte_bits(f->seg, is_private_writable(pg)));
    }
}

/*
 * Maps a page of the space's own object, whose lock the caller holds, and releases the lock.  There must be a
 * page table.
 * @around  map neighbours, too; if false, the page is new and has no other user
 */
static inline void map_private_unlock(struct fault *f, struct page *pg, bool around)
{
    bool other =
        pt_set(f->as, f->table, f->slot, pg, fault_pte_bits(f, !around || is_private_writable(pg)));

    if (around && f->order == 0)
        map_private_around(f);
    spin_unlock(&f->as->anon.lock);
    if (other)
        tlb_flush(f->as, f->addr, f->addr + (PAGE_SIZE << f->order));
}

/*
 * Maps a copy instead of the original.  The caller holds the lock of the space's own object; the function
 * releases it.  Another CPU may still read the original through its TLB, so no thread may store into the copy
 * before the flush: until then, the copy is read-only and busy.  The flush is needed even if the entry was empty,
 * because pageout may have emptied it and not flushed yet (rmap_unmap).
 */
static void map_copy_unlock(struct fault *f, struct page *copy)
{
    if (tlb_only_here(f->as)) {
        map_private_unlock(f, copy, false);
        return;
    }
    atomic_fetch_or_explicit(&copy->flags, PG_LOCKED, memory_order_relaxed);
    pt_set(f->as, f->table, f->slot, copy, fault_pte_bits(f, false));
    spin_unlock(&f->as->anon.lock);
    tlb_flush(f->as, f->addr, f->addr + (PAGE_SIZE << f->order));
    spin_lock(&f->as->anon.lock);
    pt_set(f->as, f->table, f->slot, copy, fault_pte_bits(f, true));
    spin_unlock(&f->as->anon.lock);
    page_unlock(copy);
}

static void init_private_page(struct fault *f, struct page *pg)
{
    atomic_fetch_or_explicit(&pg->flags, PG_ANON | PG_PRIVATE | PG_UPTODATE, memory_order_relaxed);
    pg->family = f->as->anon.family;
    pg->index = f->index;
    atomic_store_explicit(&pg->nsharers, 1, memory_order_relaxed);
}

/*
 * Adds a new private page at f->index, where there was none, and maps it.  0, or a result of wait_for_memory().
 * @over_file  a page of a file may be mapped there, or may be in the TLB of a CPU
 */
static __attribute__((always_inline)) inline int add_private_page(struct fault *f, struct page *pg,
                                                                  bool over_file)
{
    struct vm_object *o = &f->as->anon;
    int err;

    init_private_page(f, pg);
    if (!ensure_page_table(f)) {
        page_release(pg);
        return fail_no_table(f);
    }
    spin_lock(&o->lock);
    err = radix_insert(&o->tree, f->index, pg);
    if (likely(err == 0)) {
        o->npages += 1ul << f->order;
        if (over_file)
            map_copy_unlock(f, pg);
        else
            map_private_unlock(f, pg, false);
        return 0;
    }
    spin_unlock(&o->lock);
    page_release(pg);
    return err == -EEXIST ? RETRY : wait_for_memory(f);
}

/*
 * Copies a private page that relatives share, because of a write.  The caller holds the object's lock; the
 * function releases it.
 */
static int cow_private_unlock(struct fault *f, struct page *pg)
{
    struct vm_object *o = &f->as->anon;
    struct page *copy;

    page_hold(pg);
    spin_unlock(&o->lock);
    copy = place_private(f->seg, f->addr, f->order, ALLOC_WAIT);
    if (copy == NULL) {
        page_release(pg);
        return fail_no_frame(f);
    }
    page_copy(copy, pg, f->order);
    init_private_page(f, copy);
    spin_lock(&o->lock);
    /* has the page changed meanwhile? */
    if (radix_lookup(&o->tree, f->index) != pg || is_unshared(pg)) {
        spin_unlock(&o->lock);
        page_release(copy);
        page_release(pg);
        return RETRY;
    }
    radix_replace(&o->tree, f->index, copy);
    map_copy_unlock(f, copy);
    atomic_fetch_sub_explicit(&pg->nsharers, 1, memory_order_relaxed);
    page_release(pg); /* the object's reference */
    page_release(pg); /* the reference taken above */
    CPUSTAT_INC(cow_faults);
    return 0;
}

/* Reads a page of `o` that is on swap.  The caller holds the locks; `unlock` releases them. */
static int fault_swapped_unlock(struct fault *f, struct vm_object *o, struct page *pg,
                                void (*unlock)(struct fault *f))
{
    struct placement pl;
    int err;

    page_hold(pg);
    unlock(f);
    pl = place_of_seg(f->seg, f->addr);
    err = swap_in_around(o, pg, &pl, seg_pages(f->seg), &f->seg->around, f->seg->advice);
    page_release(pg);
    f->code = CODE_ADRERR;
    if (err == 0)
        return RETRY;
    return err == -ENOMEM ? err : SIG_BUS;
}

static void unlock_anon(struct fault *f)
{
    spin_unlock(&f->as->anon.lock);
}

/*
 * Resolves a fault on a page that the space's own object has.  The caller holds that object's lock;
 * the function releases it.
 */
static __attribute__((noinline)) int fault_present_unlock(struct fault *f, struct page *pg)
{
    uint32_t flags = fault_page_flags(pg);

    if (unlikely((flags & (PG_LOCKED | PG_MARKED | PG_SAMPLED | PG_SWAPPED | PG_SLOT | PG_AHEAD)) !=
                 0)) {
        if ((flags & PG_SWAPPED) != 0)
            return fault_swapped_unlock(f, &f->as->anon, pg, unlock_anon);
        if ((flags & PG_LOCKED) != 0) {
            spin_unlock(&f->as->anon.lock);
            page_lock_wait(pg);
            return RETRY;
        }
        page_touch_ahead(pg, &f->seg->around);
        if ((flags & PG_SAMPLED) != 0 && observe_touch_unlock(f->seg, &f->as->anon, pg))
            return RETRY;
        if ((flags & PG_MARKED) != 0 && !f->keep_marked) {
            struct placement pl = place_of_seg(f->seg, f->addr);

            f->keep_marked = !migrate_touch(&f->as->anon, pg, &pl);
            return RETRY;
        }
        if (f->write && is_unshared(pg))
            swap_forget(pg);
    }
    if (!ensure_page_table(f)) {
        spin_unlock(&f->as->anon.lock);
        return fail_no_table(f);
    }
    if (f->write && !is_unshared(pg))
        return cow_private_unlock(f, pg);
    map_private_unlock(f, pg, true);
    return 0;
}

/* Makes a private copy of a file's page and maps it, because of a write to a private mapping of the file. */
static __attribute__((noinline)) int copy_file_page(struct fault *f)
{
    struct vm_object *o = f->seg->obj;
    uint64_t index = seg_index(f->seg, f->addr);
    struct placement pl = place_of_seg(f->seg, f->addr);
    struct page *from, *copy;
    int err;

    f->code = CODE_ADRERR;
    if (index >= atomic_load_explicit(&o->size_pages, memory_order_relaxed))
        return SIG_BUS;
    err = object_page_make(o, index, &pl, f->seg->advice, &from);
    if (err != 0)
        return err == -ENOMEM ? err : SIG_BUS;
    /*
     * Test the size again: the file may have been truncated, and a write may be filling a new page
     * there.
     */
    if (index >= atomic_load_explicit(&o->size_pages, memory_order_acquire)) {
        page_release(from);
        return SIG_BUS;
    }
    copy = place_private(f->seg, f->addr, 0, ALLOC_WAIT);
    if (copy != NULL) {
        page_copy(copy, from, 0);
        err = add_private_page(f, copy, true);
    } else {
        err = fail_no_frame(f);
    }
    page_release(from); /* after the flush in add_private_page(): no CPU can read `from` any more */
    return err;
}

static __attribute__((noinline)) int fault_object(struct fault *f);

static int fault_private(struct fault *f)
{
    struct vm_object *o = &f->as->anon;
    struct page *pg;

    /* The usual case is memory that was never touched: it needs no look-up in the object (as.h I5). */
    if (!f->as->anon_all_mapped || f->seg->obj != NULL ||
        (f->table != NULL && f->table[f->slot] != 0)) {
        spin_lock(&o->lock);
        pg = radix_lookup(&o->tree, f->index);
        if (pg != NULL)
            return fault_present_unlock(f, pg);
        spin_unlock(&o->lock);
        if (f->seg->obj != NULL)
            return f->write ? copy_file_page(f) : fault_object(f);
    }
    pg = place_private(f->seg, f->addr, f->order, ALLOC_ZERO | ALLOC_WAIT);
    return likely(pg != NULL) ? add_private_page(f, pg, false) : fail_no_frame(f);
}

/* ---- pages of files and shared memory ---------------------------------------------------------- */

/* Takes the lock of the segment's object, and for a private mapping also that of the space's own object. */
static void lock_fault_objects(struct fault *f)
{
    if (seg_shared(f->seg))
        spin_lock(&f->seg->obj->lock);
    else
        spin_lock_pair(&f->seg->obj->lock, &f->as->anon.lock);
}

static void unlock_fault_objects(struct fault *f)
{
    if (seg_shared(f->seg))
        spin_unlock(&f->seg->obj->lock);
    else
        spin_unlock_pair(&f->seg->obj->lock, &f->as->anon.lock);
}

/* May this page be mapped writable in a shared mapping now?  If not, the first store must fault. */
static bool is_shared_writable(const struct vm_object *o, const struct page *pg)
{
    uint32_t flags = fault_page_flags(pg);

    return o->kind == OBJ_ANON ? (flags & PG_SLOT) == 0
                               : (flags & (PG_DIRTY | PG_MKWRITE)) == PG_DIRTY;
}

static bool may_map_writable(const struct fault *f, const struct page *pg)
{
    return seg_shared(f->seg) && is_shared_writable(f->seg->obj, pg);
}

/*
 * Maps the object's page at f->addr, and its neighbours.  The caller holds all locks, and there is a page
 * table.  Returns whether another page was mapped at f->addr.  If so, the caller must flush.
 */
static bool map_object_around(struct fault *f, struct page *pg)
{
    struct vm_object *o = f->seg->obj;
    struct seg *s = f->seg;
    uint64_t first = f->addr - f->addr % (AROUND_PAGES * PAGE_SIZE);
    uint64_t from = max_of(first, s->n.start);
    uint64_t end = min_of(first + AROUND_PAGES * PAGE_SIZE, s->n.end), index;
    uint64_t last = atomic_load_explicit(&o->size_pages, memory_order_relaxed);
    uint32_t exec = (s->prot & PROT_EXEC) != 0 && s->vn != NULL ? PG_EXEC : 0;
    bool other = pt_set(f->as, f->table, f->slot, pg, fault_pte_bits(f, may_map_writable(f, pg)));
    uint64_t *entry;

    if (f->order != 0)
        return other;
    entry = f->table + pt_slot(from);
    index = seg_index(s, from);
    for (; from < end && index < last; from += PAGE_SIZE, entry++, index++) {
        uint32_t flags;

        if (*entry != 0 && from != f->addr)
            continue;
        pg = radix_lookup(&o->tree, index);
        if (pg == NULL)
            continue;
        flags = fault_page_flags(pg);
        if ((exec & ~flags) != 0)
            atomic_fetch_or_explicit(&pg->flags, PG_EXEC, memory_order_relaxed);
        if (*entry == 0 && (flags & (PG_LOCKED | PG_MARKED | PG_SWAPPED | PG_AHEAD)) == 0 &&
            (seg_shared(s) || radix_lookup(&f->as->anon.tree, from >> PAGE_SHIFT) == NULL))
            pt_set(f->as, f->table, pt_slot(from), pg, seg_pte_bits(s, may_map_writable(f, pg)));
        if (unlikely((flags & PG_CACHED) != 0) &&
            atomic_load_explicit(&pg->mapcount, memory_order_relaxed) != 0) {
            cachelist_take(pg);
            pcache_count_reclaim();
        }
    }
    return other;
}

/*
 * Makes a page of a file dirty, because of a write through a shared mapping.  The page is clean, or its blocks
 * are not allocated yet.  The caller holds the lock; the function releases it.  If the file is on a disk,
 * PG_MKWRITE makes a truncation wait until the block is allocated.  The page must not be PG_LOCKED meanwhile.
 * The reason: the file system may wait for a commit, and the commit may wait for this page if a write(2) has
 * made the page dirty.
 */
static int dirty_page_unlock(struct fault *f, struct page *pg)
{
    struct vm_object *o = f->seg->obj;
    int err = 0;

    page_hold(pg);
    if (o->io != NULL &&
        (atomic_fetch_or(&pg->flags, PG_MKWRITE) & PG_MKWRITE) != 0) { /* set by another thread */
        unlock_fault_objects(f);
        page_wait(pg, PG_MKWRITE);
        page_release(pg);
        return RETRY;
    }
    unlock_fault_objects(f);
    if (o->ops != NULL && o->ops->page_mkwrite != NULL)
        err = o->ops->page_mkwrite(o, pg);
    if (err == 0)
        object_dirty(o, pg);
    if (o->io != NULL)
        object_prepare_end(o, pg, err);
    page_release(pg);
    f->code = CODE_ADRERR;
    return err == 0 ? RETRY : SIG_BUS;
}

/*
 * Handles the touch of a page of the segment's object that is marked or sampled.  The caller holds the locks.  Returns
 * whether the function has released them; if so, the fault starts again.
 */
static __attribute__((noinline)) bool touch_marked_unlock(struct fault *f, struct page *pg,
                                                          uint64_t index)
{
    struct vm_object *o = f->seg->obj;
    uint32_t flags = fault_page_flags(pg);
    struct placement pl;

    if ((flags & PG_SAMPLED) != 0 && observe_touch_unlock(f->seg, o, pg))
        return true;
    if ((flags & PG_MARKED) == 0 || f->keep_marked)
        return false;
    unlock_fault_objects(f);
    pl = place_of_seg(f->seg, f->addr);
    spin_lock(&o->lock);
    if (radix_lookup(&o->tree, index) == pg &&
        (fault_page_flags(pg) & (PG_LOCKED | PG_MARKED)) == PG_MARKED)
        f->keep_marked = !migrate_touch(o, pg, &pl);
    else
        spin_unlock(&o->lock);
    return true;
}

/*
 * Handles a fault that maps a page of the segment's object: in a shared mapping, or a read in a private mapping
 * of a file.
 */
static int fault_object(struct fault *f)
{
    struct vm_object *o = f->seg->obj;
    uint64_t index = seg_index(f->seg, f->addr);
    struct placement pl;
    struct page *pg;
    bool other;
    int err;

    if (!ensure_page_table(f))
        return fail_no_table(f);
    lock_fault_objects(f);
    if (index >= atomic_load_explicit(&o->size_pages, memory_order_relaxed)) {
        /* This test needs the lock, because beyond the end there may be a page that a write has not filled yet. */
        unlock_fault_objects(f);
        f->code = CODE_ADRERR;
        return SIG_BUS;
    }
    pg = radix_lookup(&o->tree, index);
    if (pg == NULL) {
        unlock_fault_objects(f);
        pl = place_of_seg(f->seg, f->addr);
        err = object_page_make(o, index, &pl, f->seg->advice, &pg);
        f->code = CODE_ADRERR;
        if (err != 0)
            return err == -ENOMEM ? fail_no_frame(f) : SIG_BUS;
        page_release(pg);
        return RETRY;
    }
    if (unlikely((fault_page_flags(pg) & PG_SWAPPED) != 0))
        return fault_swapped_unlock(f, o, pg, unlock_fault_objects);
    if (unlikely((fault_page_flags(pg) & PG_LOCKED) != 0)) {
        unlock_fault_objects(f);
        page_lock_wait(pg);
        return RETRY;
    }
    if (unlikely((fault_page_flags(pg) & (PG_AHEAD | PG_SLOT)) != 0)) {
        page_touch_ahead(pg, o->io != NULL ? &o->io->around : &f->seg->around);
        if (f->write)
            swap_forget(pg);
    }
    if (unlikely((fault_page_flags(pg) & (PG_MARKED | PG_SAMPLED)) != 0) &&
        touch_marked_unlock(f, pg, index))
        return RETRY;
    if (f->write && !is_shared_writable(o, pg))
        return dirty_page_unlock(f, pg);
    if (!seg_shared(f->seg) && radix_lookup(&f->as->anon.tree, f->index) != NULL) {
        unlock_fault_objects(f); /* another thread has just made a private copy */
        return RETRY;
    }
    other = map_object_around(f, pg);
    unlock_fault_objects(f);
    if (other)
        tlb_flush(f->as, f->addr, f->addr + (PAGE_SIZE << f->order));
    return 0;
}

/* ---- the entry point ------------------------------------------------------------------------- */

/*
 * Extends the stack above `addr` down to `addr`.  false: that is not allowed.  The caller holds as->lock for
 * writing.
 */
static bool grow_stack(struct as *as, uint64_t addr)
{
    struct seg *s = seg_after(as, addr), *prev;
    uint64_t start = round_down(addr, PAGE_SIZE), more;

    if (s == NULL || s->n.start <= addr)
        return s != NULL; /* another thread has already grown the stack */
    prev = seg_of(segtree_prev(&as->segs, &s->n));
    more = (s->n.start - start) >> PAGE_SHIFT;
    if ((s->flags & MAP_GROWSDOWN) == 0 || s->n.end - start > as->limits.stack_bytes ||
        as->virt_pages + more > as->limits.as_bytes >> PAGE_SHIFT ||
        start < USER_LOW + STACK_GUARD || (s->locked && !as_may_lock(as, more)) ||
        (prev != NULL && prev->n.end > start - STACK_GUARD) || reserve_grow(&as->resv, more) != 0)
        return false;
    seg_resize(s, start, s->n.end);
    s->size = s->n.end - start;
    return true;
}

/*
 * The segment of `addr`, after growing a stack if needed; NULL: none.  Can release as->lock and take it again,
 * for reading.
 */
static struct seg *find_segment_or_grow(struct as *as, uint64_t addr)
{
    struct seg *s = seg_find(as, addr);
    bool grown;

    if (likely(s != NULL))
        return s;
    s = seg_after(as, addr);
    if (s == NULL || (s->flags & MAP_GROWSDOWN) == 0)
        return NULL;
    rw_exit_read(&as->lock);
    rw_enter_write(&as->lock);
    grown = grow_stack(as, addr);
    rw_exit_write(&as->lock);
    rw_enter_read(&as->lock);
    return grown ? seg_find(as, addr) : NULL;
}

static const uint8_t needs[] = {
    /* Any of these rights is enough, because on x86 a page that can be written or executed can also be read. */
    [FAULT_READ] = PROT_READ | PROT_WRITE | PROT_EXEC,
    [FAULT_WRITE] = PROT_WRITE,
    [FAULT_EXEC] = PROT_EXEC,
    [FAULT_FORCE] = PROT_READ | PROT_WRITE | PROT_EXEC,
};

/*
 * Tries once to resolve a fault.  The caller holds as->lock for reading.  Returns the result of as_fault(), or
 * RETRY.
 */
static __attribute__((noinline)) int fault_once(struct fault *f, uint64_t addr,
                                                enum fault_access access)
{
    struct seg *s = find_segment_or_grow(f->as, addr);

    if (unlikely(s == NULL)) {
        f->code = CODE_MAPERR;
        return SIG_SEGV;
    }
    if (unlikely((s->prot & needs[access]) == 0 ||
                 (access == FAULT_FORCE && seg_shared(s) && (s->prot & PROT_WRITE) == 0))) {
        f->code = CODE_ACCERR;
        return SIG_SEGV;
    }
    f->seg = s;
    if (unlikely(seg_huge(s)))
        find_huge_entry(f, addr);
    else
        find_small_entry(f, addr);
    return seg_shared(s) ? fault_object(f) : fault_private(f);
}

/* Records a fault in the trace, with the page's node.  If the page is already gone, records nothing. */
static __attribute__((noinline)) void trace_fault(struct as *as, uint64_t addr,
                                                  enum fault_access access, int r)
{
    uint64_t node = TRACE_NO_NODE, entry;
    bool huge;

    if (r == 0) {
        rw_enter_read(&as->lock); /* keeps the page tables in existence */
        entry = pt_find(as, addr, &huge);
        if ((entry & PTE_P) != 0)
            node = pte_page(entry)->node;
        rw_exit_read(&as->lock);
    }
    trace_put(TRACE_FAULT, curthread->tid, (unsigned)access | (r != 0 ? 4 : 0), addr, node);
}

int fault_resolve(struct as *as, uint64_t addr, enum fault_access access, int *code)
{
    struct thread *t = curthread;
    struct fault f;
    uint64_t waits = t->disk_waits;
    int r = SIG_SEGV;

    f.as = as;
    f.write = access == FAULT_WRITE || access == FAULT_FORCE;
    f.keep_marked = false;
    f.tries = MEM_TRIES;
    f.code = CODE_MAPERR;
    if (likely(addr < USER_TOP)) {
        rw_enter_read(&as->lock);
        do
            r = fault_once(&f, addr, access);
        while (r == RETRY);
        rw_exit_read(&as->lock);
    }
    *code = f.code;
    if (TRACE_ON(FAULT))
        trace_fault(as, addr, f.write ? FAULT_WRITE : access, r);
    if (unlikely(t->disk_waits != waits)) {
        CPUSTAT_INC(mjf);
        t->majflt++;
    } else {
        CPUSTAT_INC(minf);
        t->minflt++;
    }
    return r;
}

int as_fault(struct as *as, uint64_t addr, enum fault_access access, int *code)
{
    return fault_resolve(as, addr, access, code);
}
