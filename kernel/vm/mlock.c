// SPDX-License-Identifier: MIT
/*
 * mlock.c - memory that stays: mlock(2), mlockall(2).
 *
 * THEORY      A segment is locked or not.  The translations of a locked segment carry PTE_LOCKED, so whoever comes from
 *             a page to its mappings sees it: such a page counts as touched for ever (rmap.c), and neither pageout nor
 *             migration takes the translation away.  Locking first sets the segment's flag and marks what is mapped, so
 *             that faults mark what they map; then it brings in what is missing.
 *             A child of fork() has nothing locked.  An access that is taken away (mprotect) takes the lock with it
 *             until the next touch.
 * INVARIANTS  I1  as->locked_pages is the sum over locked segments; locked_total that over all spaces
 * LOCKING     as->lock for writing; as for any fault while pages come in
 * SEE ALSO    docs/memory.md, user/test/t_mlock.c
 */
#include "lib/errno.h"
#include "mem/page.h"
#include "vm/pt.h"

_Atomic uint64_t locked_total;

/* Pages that may be locked on the whole machine: what is left lets everybody else run (Solaris's pages_pp_maximum). */
static uint64_t locked_max(void)
{
    uint64_t all = mem_total_pages();

    return all - all / 8;
}

static int check_lock_limits(const struct as *as, uint64_t more, uint64_t limit)
{
    if (more == 0)
        return 0;
    if (as->locked_pages + more > limit >> PAGE_SHIFT)
        return -ENOMEM;
    return locked_total + more > locked_max() ? -EAGAIN : 0;
}

bool as_may_lock(const struct as *as, uint64_t pages)
{
    return check_lock_limits(as, pages, as->lock_limit) == 0;
}

/* Pages of [start, end) that would become locked; -ENOMEM in *err for a hole. */
static uint64_t count_unlocked_pages(struct as *as, uint64_t start, uint64_t end, int *err)
{
    uint64_t n = 0;
    struct seg *s = seg_find(as, start);

    *err = 0;
    for (uint64_t at = start; at < end; at = s->n.end, s = seg_next(s)) {
        if (s == NULL || s->n.start > at) {
            *err = -ENOMEM;
            return 0;
        }
        if (!s->locked)
            n += (min_of(s->n.end, end) - at) >> PAGE_SHIFT;
    }
    return n;
}

/* All segments of [start, end), which has no hole.  as->lock for writing. */
static int set_range_locked(struct as *as, uint64_t start, uint64_t end, bool on)
{
    struct seg *s;
    int err = seg_isolate(as, start, end);

    if (err != 0)
        return err;
    for (s = seg_find(as, start); s != NULL && s->n.start < end; s = seg_next(s)) {
        if (on && s->what == SEG_VDSO)
            continue;
        seg_set_locked(s, on);
        s = seg_join(s);
    }
    pt_mark_locked(as, start, end, on);
    return 0;
}

/*
 * Brings in the pages of locked segments in [start, end).  0; -ENOMEM: one cannot be had.  With `ignore` the rest of
 * that segment is left out: if there is no memory, each page would be waited for.
 */
static int fault_in_locked(struct as *as, uint64_t start, uint64_t end, bool ignore)
{
    int code;

    for (uint64_t at = start, stop; at < end; at = stop) {
        enum fault_access access = FAULT_READ;
        uint64_t step = PAGE_SIZE;
        bool locked;
        struct seg *s;

        rw_enter_read(&as->lock);
        s = seg_after(as, at);
        if (s == NULL || s->n.start >= end) {
            rw_exit_read(&as->lock);
            break;
        }
        at = max_of(at, s->n.start);
        stop = min_of(s->n.end, end);
        locked = s->locked;
        if (seg_huge(s))
            step = HUGE_SIZE;
        if ((s->prot & PROT_WRITE) != 0 &&
            !seg_shared(s)) /* a copy, so that no later store needs one */
            access = FAULT_WRITE;
        rw_exit_read(&as->lock);
        for (; locked && at < stop; at += step)
            if (fault_resolve(as, at, access, &code) != 0) {
                if (!ignore)
                    return -ENOMEM;
                break;
            }
    }
    return 0;
}

int as_mlock(struct as *as, uint64_t addr, uint64_t len, bool on, uint64_t limit)
{
    uint64_t start = round_down(addr, PAGE_SIZE), end, more;
    int err;

    if (addr > USER_TOP || len > USER_TOP - addr)
        return -ENOMEM;
    end = round_up(addr + len, PAGE_SIZE);
    if (start == end)
        return 0;
    rw_enter_write(&as->lock);
    more = count_unlocked_pages(as, start, end, &err);
    if (err == 0 && on) {
        err = check_lock_limits(as, more, limit);
        as->lock_limit = limit;
    }
    if (err == 0)
        err = set_range_locked(as, start, end, on);
    as_unlock(as);
    return err == 0 && on ? fault_in_locked(as, start, end, false) : err;
}

int as_mlockall(struct as *as, int flags, uint64_t limit)
{
    struct seg_node *n, *next;
    int err = 0;

    if (flags != 0 &&
        ((flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) != 0 || flags == MCL_ONFAULT))
        return -EINVAL;
    rw_enter_write(&as->lock);
    if ((flags & MCL_CURRENT) != 0)
        err = check_lock_limits(as, as->virt_pages - as->locked_pages, limit);
    if (err == 0) {
        as->lock_future = (flags & MCL_FUTURE) != 0;
        as->lock_limit = limit;
    }
    if (err == 0 && (flags == 0 || (flags & MCL_CURRENT) != 0))
        LIST_FOREACH_SAFE (n, next, &as->segs.order, link)
            if (seg_of(n)->what != SEG_VDSO || flags == 0) {
                seg_set_locked(seg_of(n), flags != 0);
                pt_mark_locked(as, n->start, n->end, flags != 0);
            }
    as_unlock(as);
    if (err == 0 && (flags & (MCL_CURRENT | MCL_ONFAULT)) == MCL_CURRENT)
        as_bring_in_locked(as, 0, USER_TOP); /* as on Linux: what cannot come in is no error */
    return err;
}

uint64_t vm_locked_pages(void)
{
    return locked_total;
}

void as_bring_in_locked(struct as *as, uint64_t start, uint64_t end)
{
    (void)fault_in_locked(as, start, end, true);
}
