// SPDX-License-Identifier: MIT
/*
 * advise.c - madvise(2), msync(2), mincore(2).
 *
 * THEORY      With madvise() a program gives advice on how it will use a range of memory:
 *               NORMAL, RANDOM, SEQUENTIAL   kept in the segment, and used by its faults (around.h)
 *               WILLNEED                     starts to read absent pages
 *               COLD, PAGEOUT                cold.c
 *               DONTNEED, FREE               drop private pages
 *               POPULATE_READ, _WRITE        fault all pages in
 *               HUGEPAGE, MERGEABLE          -EINVAL, because the kernel does not have these features
 *               NOHUGEPAGE, UNMERGEABLE      accepted, because they always hold
 *               DONTDUMP, DODUMP             kept in the segment for coredump.c
 *               ACCESS_* (Solaris)           set the placement policy
 *             The policy of shared memory is kept in the object, that of private memory in the segment.  The
 *             segment is split at the ends of the range, and is joined again with equal neighbours.  Pages that
 *             are already in memory are marked, and move at their next touch (migrate.c).
 *             Advice is applied segment by segment.  After a hole the call continues with the next segment, and
 *             returns -ENOMEM at the end.
 * LOCKING     as->lock is held for writing; by WILLNEED, COLD, PAGEOUT, msync and mincore, for reading.
 * SEE ALSO    docs/memory.md, docs/paging.md; chapter 3C madvise of the Solaris 9 manual
 */
#include "include/uapi/homeroom.h"
#include "lib/errno.h"
#include "mem/usermem.h"
#include "pages/advice.h"
#include "vm/cold.h"
#include "vm/migrate.h"
#include "pages/pageout.h"
#include "vm/pt.h"
#include "pages/swap.h"

enum {
    MADV_NORMAL = 0,
    MADV_RANDOM,
    MADV_SEQUENTIAL,
    MADV_WILLNEED,
    MADV_DONTNEED,
    MADV_FREE = 8,
    MADV_UNMERGEABLE = 13,
    MADV_NOHUGEPAGE = 15,
    MADV_DONTDUMP,
    MADV_DODUMP,
    MADV_COLD = 20,
    MADV_PAGEOUT,
    MADV_POPULATE_READ,
    MADV_POPULATE_WRITE,
    MADV_DONTNEED_LOCKED,
};

enum action {
    NOTHING,
    DUMP,
    READS,
    WILLNEED,
    COLD,
    PAGEOUT,
    DROP,
    FREE,
    POPULATE_READ,
    POPULATE_WRITE,
    ACCESS,
    UNKNOWN
};

static enum action action_of_advice(int advice)
{
    switch (advice) {
    case MADV_UNMERGEABLE:
    case MADV_NOHUGEPAGE:
        return NOTHING;
    case MADV_DONTDUMP:
    case MADV_DODUMP:
        return DUMP;
    case MADV_NORMAL:
    case MADV_RANDOM:
    case MADV_SEQUENTIAL:
        return READS;
    case MADV_WILLNEED:
        return WILLNEED;
    case MADV_COLD:
        return COLD;
    case MADV_PAGEOUT:
        return PAGEOUT;
    case MADV_DONTNEED:
    case MADV_DONTNEED_LOCKED:
        return DROP;
    case MADV_FREE:
        return FREE;
    case MADV_POPULATE_READ:
        return POPULATE_READ;
    case MADV_POPULATE_WRITE:
        return POPULATE_WRITE;
    case HR_MADV_ACCESS_DEFAULT:
    case HR_MADV_ACCESS_LWP:
    case HR_MADV_ACCESS_MANY:
        return ACCESS;
    default:
        return UNKNOWN;
    }
}

/* The LGRP_MEM_POLICY_* for one of HR_MADV_ACCESS_*. */
static unsigned policy_of_advice(int advice)
{
    switch (advice) {
    case HR_MADV_ACCESS_LWP:
        return LGRP_MEM_POLICY_NEXT;
    case HR_MADV_ACCESS_MANY:
        return LGRP_MEM_POLICY_RANDOM;
    default:
        return LGRP_MEM_POLICY_DEFAULT;
    }
}

/* Sets the placement policy of [start, end), inside `s`, and marks its pages.  0, -EACCES or -ENOMEM. */
static int advise_access(struct seg *s, uint64_t start, uint64_t end, int advice)
{
    struct as *as = s->as;
    unsigned policy = policy_of_advice(advice), old;
    int err;

    if (seg_shared(s) && (s->max_prot & PROT_WRITE) == 0 && !proc_is_superuser())
        /* the advice would affect other users of the object, and move their pages */
        return -EACCES;
    if (nlgrps <= 1)
        return 0;
    if (seg_huge(s)) {
        start = round_down(start, HUGE_SIZE);
        end = round_up(end, HUGE_SIZE);
    }
    if (seg_shared(s)) {
        old = object_policy(s->obj, seg_index(s, start));
        err = object_advise(s->obj, seg_index(s, start), seg_index(s, end) - 1, policy);
        if (err != 0)
            return err;
    } else {
        old = s->policy;
        err = seg_set_policy(s, start, end, policy);
        if (err != 0)
            return err;
        s = seg_find(as, start);
    }
    if (policy != LGRP_MEM_POLICY_DEFAULT && (policy == LGRP_MEM_POLICY_NEXT || policy != old))
        migrate_mark(s, start, end);
    return 0;
}

/*
 * Unmaps [start, end), inside `s`, and drops its private pages.  -EINVAL: the range is locked, unless `locked` allows
 * that, or would cut a 2 MiB page.
 */
static int advise_drop(struct seg *s, uint64_t start, uint64_t end, bool locked)
{
    if ((s->locked && !locked) || (seg_huge(s) && (start | end) % HUGE_SIZE != 0))
        return -EINVAL;
    range_zap(s->as, start, end);
    if (!seg_shared(s))
        anon_drop(s->as, start, end);
    return 0;
}

/* The READ_* bit of an advice of the action READS; 0: none. */
static uint8_t read_pattern_of_advice(int advice)
{
    switch (advice) {
    case MADV_RANDOM:
        return READ_RANDOM;
    case MADV_SEQUENTIAL:
        return READ_SEQUENTIAL;
    default:
        return 0;
    }
}

/* Stores how [start, end), inside `s`, will be read.  -EAGAIN: the segment cannot be split. */
static int advise_read_pattern(struct seg *s, uint64_t start, uint64_t end, int advice)
{
    uint8_t how = read_pattern_of_advice(advice);

    if (s->advice == how || seg_huge(s)) /* 2 MiB pages are never read from a disk */
        return 0;
    if (seg_isolate(s->as, start, end) != 0)
        return -EAGAIN;
    s = seg_find(s->as, start);
    s->advice = how;
    seg_join(s);
    return 0;
}

/*
 * Stores whether [start, end), inside `s`, is in core files.  -EAGAIN: the segment cannot be split; -EINVAL: the range
 * would cut a 2 MiB page.
 */
static int advise_dump(struct seg *s, uint64_t start, uint64_t end, bool nodump)
{
    if (s->nodump == nodump)
        return 0;
    if (seg_huge(s) && (start | end) % HUGE_SIZE != 0)
        return -EINVAL;
    if (seg_isolate(s->as, start, end) != 0)
        return -EAGAIN;
    s = seg_find(s->as, start);
    s->nodump = nodump;
    seg_join(s);
    return 0;
}

/*
 * Starts to read those pages first .. last of `o` that are on swap, without waiting for them.  `o` is the
 * segment's object or its space's own object.  Stops early if memory would become short, or if the process is
 * ending.
 */
static void swap_in_ahead(struct seg *s, struct vm_object *o, uint64_t first, uint64_t last)
{
    uint64_t base = seg_pages(s).first;
    struct page *pg;
    int err = 0;

    while (err == 0 && pageout_spare(SWAP_CLUSTER) && !proc_is_ending() &&
           (pg = swap_find(o, &first, last)) != NULL) {
        struct placement pl = place_of_seg(s, s->n.start + ((first - base) << PAGE_SHIFT));
        struct page_run run = {first, min_of(last - first, SWAP_CLUSTER - 1ul) + 1};

        err = swap_in(o, pg, &pl, &run, false);
        page_release(pg);
        if (first++ == last)
            break;
    }
}

/* Starts to read absent pages of [start, end), inside `s`.  @budget  how many pages of files can still be read */
static void advise_willneed(struct seg *s, uint64_t start, uint64_t end, uint64_t *budget)
{
    if (seg_huge(s))
        return;
    if (!seg_shared(s))
        swap_in_ahead(s, &s->as->anon, start >> PAGE_SHIFT, (end >> PAGE_SHIFT) - 1);
    if (s->obj != NULL && s->obj->kind == OBJ_ANON)
        swap_in_ahead(s, s->obj, seg_index(s, start), seg_index(s, end) - 1);
    else if (s->obj != NULL)
        object_read_ahead(s->obj, seg_index(s, start), seg_index(s, end) - 1, budget);
}

/* Applies the advice to [start, end), inside `s`.  0 or an error of as_advise(). */
static int advise_segment(struct seg *s, uint64_t start, uint64_t end, int advice, uint64_t *budget)
{
    enum action what = action_of_advice(advice);

    switch (what) {
    case DUMP:
        return advise_dump(s, start, end, advice == MADV_DONTDUMP);
    case READS:
        return advise_read_pattern(s, start, end, advice);
    case WILLNEED:
        advise_willneed(s, start, end, budget);
        return proc_is_ending() ? -EINTR : 0;
    case COLD:
    case PAGEOUT:
        if (s->locked || seg_huge(s))
            return -EINVAL;
        (what == COLD ? cold_mark : cold_out)(s, start, end);
        return proc_is_ending() ? -EINTR : 0;
    case FREE:
        if (s->obj != NULL)
            return -EINVAL; /* only private memory without a file */
        return advise_drop(s, start, end, false);
    case DROP:
        return advise_drop(s, start, end, advice == MADV_DONTNEED_LOCKED);
    case ACCESS:
        return advise_access(s, start, end, advice);
    default:
        return 0;
    }
}

static int advise_range(struct as *as, uint64_t start, uint64_t end, int advice)
{
    uint64_t budget = pageout_spare_pages();
    int err = 0;
    bool hole = false;

    for (uint64_t at = start; at < end && err == 0;) {
        /* look the segment up again, because advice splits and joins segments */
        struct seg *s = seg_after(as, at);
        uint64_t stop;

        if (s == NULL || s->n.start >= end)
            return -ENOMEM;
        hole |= s->n.start > at;
        at = max_of(at, s->n.start);
        stop = min_of(s->n.end, end);
        err = advise_segment(s, at, stop, advice, &budget);
        at = stop;
    }
    if (err != 0)
        return err;
    return hole ? -ENOMEM : 0;
}

/* The error of MADV_POPULATE_* for a result of fault_resolve(), as on Linux: see as_advise(). */
static int populate_error(int r, int code)
{
    enum { SIG_BUS = 7, SIG_SEGV = 11, CODE_MAPERR = 1 };

    if (r == SIG_SEGV)
        return code == CODE_MAPERR ? -ENOMEM : -EINVAL;
    return r == SIG_BUS ? -EFAULT : r;
}

/* Faults all pages of [start, end) in.  0 or an error of as_advise(). */
static int populate_range(struct as *as, uint64_t start, uint64_t end, enum fault_access access)
{
    int code, err = 0;

    for (uint64_t a = start; a < end && err == 0; a += PAGE_SIZE)
        err = proc_is_ending() ? -EINTR : populate_error(fault_resolve(as, a, access, &code), code);
    return err;
}

int as_advise(struct as *as, uint64_t addr, uint64_t len, int advice)
{
    enum action what = action_of_advice(advice);
    uint64_t end = addr + round_up(len, PAGE_SIZE);
    int err;

    if (what == UNKNOWN || addr % PAGE_SIZE != 0 || (len == 0 && what == ACCESS) || end < addr ||
        round_up(len, PAGE_SIZE) < len)
        return -EINVAL;
    if (end > USER_TOP)
        return -ENOMEM;
    if (what == POPULATE_READ || what == POPULATE_WRITE)
        return populate_range(as, addr, end, what == POPULATE_READ ? FAULT_READ : FAULT_WRITE);
    if (what == WILLNEED || what == COLD || what == PAGEOUT) {
        rw_enter_read(&as->lock);
        err = advise_range(as, addr, end, advice);
        rw_exit_read(&as->lock);
        return err;
    }
    rw_enter_write(&as->lock);
    err = advise_range(as, addr, end, advice);
    as_unlock(as);
    return err;
}

int as_msync(struct as *as, uint64_t addr, uint64_t len, int flags)
{
    enum { MS_ASYNC = 1, MS_INVALIDATE = 2, MS_SYNC = 4 };
    uint64_t end = addr + round_up(len, PAGE_SIZE);
    bool wait = (flags & MS_SYNC) != 0;
    int err = 0;

    if (addr % PAGE_SIZE != 0 || (flags & ~(MS_ASYNC | MS_INVALIDATE | MS_SYNC)) != 0 ||
        (flags & (MS_ASYNC | MS_SYNC)) == (MS_ASYNC | MS_SYNC))
        return -EINVAL;
    if (len > USER_TOP || end > USER_TOP || end < addr)
        return -ENOMEM;
    rw_enter_read(&as->lock);
    while (addr < end && err == 0) {
        struct seg *s = seg_find(as, addr);
        uint64_t stop = s != NULL ? min_of(s->n.end, end) : end;
        struct vnode *vn;

        if (s == NULL) {
            err = -ENOMEM;
        } else if (!seg_shared(s) || s->obj->io == NULL) {
            /* nothing to do: no disk, and read, write and mappings use the same pages */
        } else if (!wait) {
            err =
                object_writeback(s->obj, seg_index(s, addr), seg_index(s, stop) - 1, WRITE_BEHIND);
        } else {
            vn = s->vn;
            vnode_hold(vn);
            /* fsync can take long, and takes locks that come before as->lock in the lock order. */
            rw_exit_read(&as->lock);
            err = vn_fsync(vn, true);
            vn_release(vn);
            rw_enter_read(&as->lock);
        }
        addr = stop;
    }
    rw_exit_read(&as->lock);
    return err;
}

/* Is the page at `addr` in memory, mapped or not?  The caller holds as->lock. */
static bool in_core(struct seg *s, uint64_t addr)
{
    struct vm_object *o = seg_shared(s) ? s->obj : &s->as->anon;
    uint64_t index = seg_shared(s) ? seg_index(s, addr) : addr >> PAGE_SHIFT;
    struct page *pg;
    bool in;

    if (seg_huge(s))
        index = round_down(index, 1ul << HUGE_ORDER);
    spin_lock(&o->lock);
    pg = radix_lookup(&o->tree, index);
    in = pg != NULL && (atomic_load(&pg->flags) & PG_SWAPPED) == 0;
    spin_unlock(&o->lock);
    if (pg != NULL || seg_shared(s) || s->obj == NULL)
        return in;
    spin_lock(&s->obj->lock);
    in = radix_lookup(&s->obj->tree, seg_index(s, addr)) != NULL;
    spin_unlock(&s->obj->lock);
    return in;
}

int as_mincore(struct as *as, uint64_t addr, uint64_t len, uint8_t *vec)
{
    uint64_t end = addr + round_up(len, PAGE_SIZE);
    int err = 0;

    if (addr % PAGE_SIZE != 0)
        return -EINVAL;
    if (len > USER_TOP || end > USER_TOP || end < addr)
        return -ENOMEM;
    rw_enter_read(&as->lock);
    for (; addr < end && err == 0; addr += PAGE_SIZE) {
        struct seg *s = seg_find(as, addr);

        if (s == NULL)
            err = -ENOMEM;
        else
            *vec++ = in_core(s, addr);
    }
    rw_exit_read(&as->lock);
    return err;
}
