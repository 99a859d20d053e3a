// SPDX-License-Identifier: MIT
/*
 * pcache_read.c - files on a disk: getting pages, with read-ahead.
 *
 * THEORY      A page that must be read first goes into the tree, busy (PG_LOCKED), so that it is read only
 *             once.  The pages after it are probably needed next.  So the reader requests them, too, in runs;
 *             cluster.h decides how many.  A thread that needs a busy page waits for it.  A page whose read
 *             fails leaves the tree.  The next thread that needs the page reads it again, and gets the error.
 *             A fault reads around the page that it needs (around.h), because programs and mapped files are
 *             usually not read from beginning to end.  Such a page has PG_AHEAD until it is touched for the
 *             first time.
 *             A page must lie below the end of the file.  A truncation first moves the end, and then removes
 *             the pages.  So it finds each page that was inserted below the end under the lock.
 * INVARIANTS  I1  a page in the tree that is not PG_LOCKED holds valid data
 * LOCKING     o->lock guards the tree.  No lock is held during disk requests.
 * TUNABLES    file_readaround
 * SEE ALSO    pcache.c, pages/cluster.h, docs/pagecache.md
 */
#include "pages/pcache.h"

#include "lib/errno.h"
#include "blk/blk.h"
#include "stat/panic.h"
#include "stat/trace.h"
#include "stat/tunable.h"
#include "pages/busy.h"
#include "pages/cachelist.h"
#include "pages/pageout.h"
#include "pages/advice.h"
#include "pages/placement.h"

static uint32_t file_readaround = 32;
TUNABLE(
    file_readaround, 1, PCACHE_CLUSTER_MAX,
    "default 32 pages: longest read around a fault on a file; what is used may allow less; 1: off");

#define AROUND_FIRST 16u /* pages, at the first fault on a file */

static inline uint32_t pcache_read_page_flags(const struct page *pg)
{
    return atomic_load_explicit(&pg->flags, memory_order_relaxed);
}

/*
 * Makes a page for `index`, in no tree, with one reference; NULL: no memory.  Without `pl` it is placed as for
 * read() and write().
 * @flags  enum alloc_flags
 */
static struct page *alloc_file_page(struct vm_object *o, uint64_t index, const struct placement *pl,
                                    unsigned flags)
{
    struct placement at = pl != NULL ? *pl : place_of_object(o, index);
    struct page *pg = place_page(&at, 0, flags, index);

    if (pg != NULL) {
        pg->obj = o;
        pg->index = index;
        atomic_fetch_or_explicit(&pg->flags, PG_DISK, memory_order_relaxed);
    }
    return pg;
}

struct page *object_page_new(struct vm_object *o, uint64_t index)
{
    struct page *pg = alloc_file_page(o, index, NULL, ALLOC_WAIT);

    if (pg != NULL)
        atomic_fetch_or_explicit(&pg->flags, PG_UPTODATE, memory_order_relaxed);
    return pg;
}

/* Like insert_file_page(), but does not wait for memory. */
static int try_insert_page(struct vm_object *o, struct page *pg, bool below)
{
    int err = 0;

    spin_lock(&o->lock);
    if (below && pg->index >= atomic_load_explicit(&o->size_pages, memory_order_relaxed))
        err = -ENXIO;
    else
        err = radix_insert(&o->tree, pg->index, pg);
    if (err == 0) {
        page_hold(pg);
        o->npages++;
    }
    spin_unlock(&o->lock);
    return err;
}

/*
 * Puts a page into the tree, which takes its own reference.  0, -EEXIST, -ENOMEM, or with `below` -ENXIO:
 * the page is not below the end of the file.
 */
static int insert_file_page(struct vm_object *o, struct page *pg, bool below)
{
    struct mem_need need = mem_need();
    int err;

    do
        err = try_insert_page(o, pg, below);
    while (unlikely(err == -ENOMEM) && mem_wait(&need) == MEM_FREED);
    return err;
}

int object_page_insert(struct vm_object *o, uint64_t index, struct page *pg)
{
    ASSERT(pg->obj == o && pg->index == index, "pcache: the page was made for another place");
    return insert_file_page(o, pg, false);
}

void object_read_done(struct page *pg, int err)
{
    struct vm_object *o = pg->obj;

    spin_lock(&o->lock);
    if (likely(err == 0)) {
        atomic_fetch_or_explicit(&pg->flags, PG_UPTODATE, memory_order_release);
        page_unlock(pg);
        cachelist_put(pg, false);
        spin_unlock(&o->lock);
        return;
    }
    object_remove_page(o, pg);
    spin_unlock(&o->lock);
    page_unlock(pg);
    page_release(pg);
}

/* Starts reading a run of busy pages; object_read_done() is called for each of them. */
static void submit_page_reads(struct vm_object *o, struct page **run, unsigned n)
{
    int err;

    pcache_count_in(pcache_kind(o), n);
    TRACE_SELF(READ, n, run[0]->index << PAGE_SHIFT, (uintptr_t)o);
    if (o->ops->readpages != NULL) {
        err = o->ops->readpages(o, run, n);
        for (unsigned i = 0; err != 0 && i < n; i++)
            object_read_done(run[i], err);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        object_read_done(run[i], o->ops->getpage(o, run[i]));
}

static bool is_page_present(struct vm_object *o, uint64_t index)
{
    bool there;

    spin_lock(&o->lock);
    there = radix_lookup(&o->tree, index) != NULL;
    spin_unlock(&o->lock);
    return there;
}

/*
 * Inserts a new busy page at `index`.  0, -EEXIST, -ENXIO (beyond the end), -ENOMEM.
 * @guess  no thread waits for the page: it gets PG_AHEAD, and uses only spare memory, without waiting
 */
static int insert_busy_page(struct vm_object *o, uint64_t index, const struct placement *pl,
                            bool guess, struct page **out)
{
    struct page *pg;
    int err;

    if (guess && is_page_present(o, index))
        return -EEXIST;
    if (guess && !pageout_spare(1))
        return -ENOMEM;
    pg = alloc_file_page(o, index, pl, guess ? 0 : ALLOC_WAIT);
    if (pg == NULL)
        return -ENOMEM;
    atomic_fetch_or_explicit(&pg->flags, PG_LOCKED, memory_order_relaxed);
    err = insert_file_page(o, pg, true);
    if (err == 0 && guess)
        atomic_fetch_or_explicit(&pg->flags, PG_AHEAD, memory_order_relaxed);
    page_release(pg); /* the reference that the allocation gave us */
    *out = pg;
    return err;
}

#define NO_PAGE UINT64_MAX

/*
 * Starts reading those pages of `want` that are absent.
 * @need  the page that is needed; NO_PAGE: no page is needed
 * @pl    the placement of the needed page.  The placement of the other pages, which get PG_AHEAD,
 *        follows from their distance to it.  NULL: as for read() and write()
 * @out   the needed page, with a reference; unchanged if its read was not started
 * 0, or the reason why the needed page is not read: -EEXIST, -ENXIO, -ENOMEM.
 */
static int start_reading_run(struct vm_object *o, struct page_run want, uint64_t need,
                             const struct placement *pl, struct page **out)
{
    struct placement at = pl != NULL ? *pl : (struct placement){0};
    struct page *run[PCACHE_CLUSTER_MAX], *pg;
    unsigned n = 0, ahead = 0;
    /* the needed page is being read, so a later error only ends the loop */
    bool sure = need == NO_PAGE;
    uint64_t i;
    int err = 0;

    for (i = want.first; i < want.first + want.n; i++) {
        bool guess = pl != NULL && i != need;

        at.index = pl != NULL ? pl->index + (i - need) : 0;
        err = insert_busy_page(o, i, pl != NULL ? &at : NULL, guess, &pg);
        if (err == 0) {
            run[n++] = pg;
            ahead += guess;
        }
        if (err == 0 && i == need) {
            page_hold(pg);
            *out = pg;
            sure = true;
        }
        if (n != 0 && (err != 0 || n == PCACHE_CLUSTER_MAX)) {
            submit_page_reads(o, run, n);
            n = 0;
        }
        if (err != 0 && (i == need || (sure && err != -EEXIST)))
            break;
    }
    if (n != 0)
        submit_page_reads(o, run, n);
    if (pl != NULL && want.n > 1)
        around_got(&o->io->around, (struct page_run){want.first, i - want.first}, ahead);
    pcache_count_around(ahead);
    return sure ? 0 : err;
}

/* The page at `index`, with a reference, or NULL; *busy: the page is not ready yet. */
static struct page *hold_cached_page(struct vm_object *o, uint64_t index, bool *busy)
{
    struct page *pg;

    spin_lock(&o->lock);
    pg = radix_lookup(&o->tree, index);
    if (pg != NULL) {
        *busy = (pcache_read_page_flags(pg) & PG_LOCKED) != 0;
        page_hold(pg);
    }
    spin_unlock(&o->lock);
    return pg;
}

/*
 * Reads the page at `index`, which was absent, and the rest of `run`.  0, -ENOMEM, -EIO, -ENXIO, or 1: another
 * thread has inserted the page at `index`.
 */
static int read_absent_page(struct vm_object *o, uint64_t index, struct page_run run,
                            const struct placement *pl, struct page **out)
{
    int err;

    *out = NULL;
    err = start_reading_run(o, run, index, pl, out);
    if (err != 0)
        return err == -EEXIST ? 1 : err;
    page_lock_wait(*out);
    if ((atomic_load_explicit(&(*out)->flags, memory_order_acquire) & PG_UPTODATE) != 0)
        return 0;
    page_release(*out);
    *out = NULL;
    return -EIO;
}

/*
 * Records a touch of a page without PG_REFERENCED.  With READ_ONCE the hands of the pageout daemon
 * do not see it.
 */
static void touch_cached_page(struct vm_object *o, struct page *pg, unsigned advice)
{
    uint32_t mark = (advice & READ_ONCE) != 0 ? 0 : PG_REFERENCED;

    if ((atomic_fetch_or_explicit(&pg->flags, mark, memory_order_relaxed) & PG_CACHED) != 0 &&
        mark != 0)
        pcache_count_reclaim();
    page_touch_ahead(pg, &o->io->around);
}

/* The pages to read because the page at `index` is absent.  @fault  the page is needed through a mapping */
static struct page_run choose_read_run(struct vm_object *o, uint64_t index, uint64_t want,
                                       bool fault, const struct read_how *how, uint64_t eof)
{
    uint64_t limit = min_of((uint64_t)file_readaround, pcache_cluster());
    struct page_run run;

    if (!fault || file_readaround == 1) {
        run = readahead_advised(how->ra, index, want, false, eof, (uint32_t)pcache_cluster(),
                                how->advice);
        run.n = max_of(run.n, 1ul);
    } else {
        run = around_advised(&o->io->around, index, AROUND_FIRST, limit,
                             disk_seek_blocks(o->io->disk, PAGE_SIZE / SECTOR_SIZE), how->advice);
        run.n = min_of(run.n, eof - run.first);
    }
    return run;
}

int object_page_read(struct vm_object *o, uint64_t index, uint64_t want, const struct placement *pl,
                     const struct read_how *given, struct page **out)
{
    struct read_how how = given != NULL ? *given : (struct read_how){0};
    uint32_t limit = (uint32_t)pcache_cluster();
    bool fresh = true, busy = false;

    how.ra = how.ra != NULL ? how.ra : &o->io->ra;
    for (;; fresh = false) {
        uint64_t eof = atomic_load_explicit(&o->size_pages, memory_order_relaxed);
        struct page *pg = hold_cached_page(o, index, &busy), *none = NULL;
        struct page_run run = {index, 1};
        int err;

        if (likely(pg != NULL)) {
            if (fresh && pl == NULL && (how.advice & READ_RANDOM) == 0 &&
                unlikely(!readahead_plain(how.ra, index)))
                start_reading_run(
                    o, readahead_advised(how.ra, index, want, true, eof, limit, how.advice),
                    NO_PAGE, pl, &none);
            if (likely(!busy)) {
                if ((pcache_read_page_flags(pg) & PG_REFERENCED) == 0)
                    touch_cached_page(o, pg, how.advice);
                *out = pg;
                return 0;
            }
            object_hurry(o, false);
            page_lock_wait(pg);
            page_release(pg);
            continue;
        }
        *out = NULL;
        if (index >= eof)
            return -ENXIO;
        if (fresh)
            run = choose_read_run(o, index, want, pl != NULL, &how, eof);
        err = read_absent_page(o, index, run, pl, out);
        if (err <= 0)
            return err;
    }
}

/*
 * Moves *first to the first absent page at or after it.  Returns the number of consecutive absent
 * pages from there on, at most `most`; 0: no page up to `last`, or among the first
 * PCACHE_CLUSTER_MAX, is absent.
 */
static uint64_t find_absent_run(struct vm_object *o, uint64_t *first, uint64_t last, uint64_t most)
{
    uint64_t n = 0, looked = 0;

    spin_lock(&o->lock);
    while (*first <= last && looked++ < PCACHE_CLUSTER_MAX &&
           radix_lookup(&o->tree, *first) != NULL)
        ++*first;
    while (n < most && n <= last - min_of(last, *first) &&
           radix_lookup(&o->tree, *first + n) == NULL)
        n++;
    spin_unlock(&o->lock);
    return *first <= last ? n : 0;
}

void object_read_ahead(struct vm_object *o, uint64_t first, uint64_t last, uint64_t *budget)
{
    struct page *none = NULL;

    while (o->io != NULL && *budget != 0 && !proc_is_ending()) {
        uint64_t most = min_of(pcache_cluster(), *budget), eof = o->size_pages, n;

        if (first > last || first >= eof || !pageout_spare(most))
            return;
        n = find_absent_run(o, &first, min_of(last, eof - 1), most);
        if (n != 0)
            start_reading_run(o, (struct page_run){first, n}, NO_PAGE, NULL, &none);
        first += n;
        *budget -= n;
    }
}
