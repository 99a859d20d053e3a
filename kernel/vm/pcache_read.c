// SPDX-License-Identifier: MIT
/*
 * pcache_read.c - files on a disk: getting pages, with read-ahead.
 *
 * THEORY      A page that is to be read goes into the tree first, busy (PG_LOCKED), so that it is read once.  The
 *             reader's page and what follows it are asked for in runs; cluster.h says how many.  Whoever needs a busy
 *             page waits for it.  A page whose read fails leaves the tree; then the next who needs it tries again
 *             and gets the error.
 *             A page may lie only below the end of the file: a truncation moves the end first, then takes the pages
 *             out, so a page that is inserted under the lock below the end is seen by it.
 * INVARIANTS  I1  a page in the tree that is not PG_LOCKED holds valid data
 * LOCKING     o->lock for the tree; nothing while the disk is asked
 * SEE ALSO    pcache.c, vm/cluster.h, docs/pagecache.md
 */
#include "vm/pcache.h"

#include "lib/errno.h"
#include "stat/panic.h"
#include "vm/cachelist.h"
#include "vm/pageout.h"
#include "vm/place.h"
#include "vm/rmap.h"

static inline uint32_t flags_of(const struct page *pg)
{
    return atomic_load_explicit(&pg->flags, memory_order_relaxed);
}

static struct page *new_page(struct vm_object *o, uint64_t index, const struct placement *pl)
{
    unsigned         policy = pl == NULL ? object_policy(o, index) : 0;
    struct placement by_call = {policy != 0 ? policy : LGRP_MEM_POLICY_NEXT, PAGE_SIZE, index, policy != 0};
    struct page     *pg = place_page(pl != NULL ? pl : &by_call, 0, 0, index);

    if (pg != NULL) {
        pg->obj = o;
        pg->index = index;
        atomic_fetch_or_explicit(&pg->flags, PG_DISK, memory_order_relaxed);
    }
    return pg;
}

struct page *object_page_new(struct vm_object *o, uint64_t index)
{
    struct page *pg = new_page(o, index, NULL);

    if (pg != NULL)
        atomic_fetch_or_explicit(&pg->flags, PG_UPTODATE, memory_order_relaxed);
    return pg;
}

static int insert_once(struct vm_object *o, struct page *pg, bool below)
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

/* `below`: only below the end of the file (-ENXIO). */
static int insert(struct vm_object *o, struct page *pg, bool below)
{
    unsigned tries = 0;
    int      err;

    do
        err = insert_once(o, pg, below);
    while (unlikely(err == -ENOMEM) && pageout_make_room(tries++));
    return err;
}

int object_page_insert(struct vm_object *o, uint64_t index, struct page *pg)
{
    ASSERT(pg->obj == o && pg->index == index, "pcache: the page was made for another place");
    return insert(o, pg, false);
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
    object_lose(o, pg);
    spin_unlock(&o->lock);
    page_unlock(pg);
    page_release(pg);
}

/* Asks the file system for a run of busy pages. */
static void submit(struct vm_object *o, struct page **run, unsigned n)
{
    int err;

    pcache_count_in(pcache_kind(o), n);
    if (o->ops->readpages != NULL) {
        err = o->ops->readpages(o, run, n);
        for (unsigned i = 0; err != 0 && i < n; i++)
            object_read_done(run[i], err);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        object_read_done(run[i], o->ops->getpage(o, run[i]));
}

/*
 * Starts reading those pages of `want` that are absent.  *first (if not NULL) gets the first of them, held, if it was;
 * for it alone an error matters.
 */
static int read_run(struct vm_object *o, struct page_run want, const struct placement *pl, struct page **first)
{
    struct placement at = pl != NULL ? *pl : (struct placement){0};
    struct page *run[PCACHE_CLUSTER_MAX], *pg;
    unsigned     n = 0;
    int          err = 0;

    for (uint64_t i = 0; i < want.n && (err == 0 || err == -EEXIST); i++, at.index++) {
        pg = new_page(o, want.first + i, pl != NULL ? &at : NULL);
        if (pg == NULL) {
            err = -ENOMEM;
            break;
        }
        atomic_fetch_or_explicit(&pg->flags, PG_LOCKED, memory_order_relaxed);
        err = insert(o, pg, true);
        if (err == 0 && i == 0 && first != NULL) {
            page_hold(pg);
            *first = pg;
        }
        page_release(pg); /* the maker's */
        if (err == 0)
            run[n++] = pg;
        if (n != 0 && (err != 0 || n == PCACHE_CLUSTER_MAX)) {
            submit(o, run, n);
            n = 0;
        }
        if (i == 0 && first != NULL && err != 0)
            return err;
    }
    if (n != 0)
        submit(o, run, n);
    return first != NULL && *first == NULL ? err : 0;
}

/* The page at `index`, held, or NULL; *busy: it is not ready. */
static struct page *look(struct vm_object *o, uint64_t index, bool *busy)
{
    struct page *pg;

    spin_lock(&o->lock);
    pg = radix_lookup(&o->tree, index);
    if (pg != NULL) {
        *busy = (flags_of(pg) & PG_LOCKED) != 0;
        page_hold(pg);
    }
    spin_unlock(&o->lock);
    return pg;
}

/*
 * Reads the page at `index`, which was absent.  1: another reader was faster.
 */
static int read_absent(struct vm_object *o, struct page_run run, const struct placement *pl, struct page **out)
{
    int err;

    *out = NULL;
    run.n = max_of(run.n, 1ul);
    err = read_run(o, run, pl, out);
    if (err != 0)
        return err == -EEXIST ? 1 : err;
    page_lock_wait(*out);
    if ((atomic_load_explicit(&(*out)->flags, memory_order_acquire) & PG_UPTODATE) != 0)
        return 0;
    page_release(*out);
    *out = NULL;
    return -EIO;
}

/* The first touch since the page came, or since a hand passed. */
static void touch(struct page *pg)
{
    if ((atomic_fetch_or_explicit(&pg->flags, PG_REFERENCED, memory_order_relaxed) & PG_CACHED) != 0)
        pcache_count_reclaim();
}

int object_page_read(struct vm_object *o, uint64_t index, uint64_t want, const struct placement *pl, struct page **out)
{
    struct readahead *ra = &o->io->ra;
    uint32_t          limit = (uint32_t)pcache_cluster();
    bool              fresh = true, busy = false;

    for (;; fresh = false) {
        uint64_t        eof = atomic_load_explicit(&o->size_pages, memory_order_relaxed);
        struct page    *pg = look(o, index, &busy);
        struct page_run run = {index, 1};
        int             err;

        if (likely(pg != NULL)) {
            if (fresh && unlikely(!readahead_plain(ra, index)))
                read_run(o, readahead_touch(ra, index, want, true, eof, limit), pl, NULL);
            if (likely(!busy)) {
                if ((flags_of(pg) & PG_REFERENCED) == 0)
                    touch(pg);
                *out = pg;
                return 0;
            }
            page_lock_wait(pg);
            page_release(pg);
            continue;
        }
        *out = NULL;
        if (index >= eof)
            return -ENXIO;
        if (fresh)
            run = readahead_touch(ra, index, want, false, eof, limit);
        err = read_absent(o, run, pl, out);
        if (err <= 0)
            return err;
    }
}
