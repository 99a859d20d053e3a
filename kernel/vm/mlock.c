// SPDX-License-Identifier: MIT
/*
 * mlock.c - locked memory, whose pages stay in memory: mlock(2), mlockall(2).
 *
 * THEORY      A program that must not wait for a disk (a real-time program, for example) can lock memory: its
 *             pages then stay in memory until it unlocks them.
 *             A segment is locked as a whole.  Its page-table entries have the bit PTE_LOCKED, which reverse
 *             mapping reads: a page with such an entry always counts as touched (rmap.c), so pageout does not
 *             take it.  If the page is private, it does not migrate, either.
 *             To lock a segment, the kernel first sets the segment's flag and the bit in its entries.  From
 *             then on, faults set the bit in new entries.  Then the kernel brings in the missing pages; with
 *             MCL_ONFAULT each page comes in when it is first touched, also in later segments (SEG_LOCKED_ON_FAULT).
 *             A child of fork() has no locked memory.  mprotect() to PROT_NONE removes the entries, so the
 *             pages are not locked until they are touched again.
 * INVARIANTS  I1  as->locked_pages counts the pages of locked segments; locked_total is
 *                 its sum over all spaces
 * LOCKING     as->lock is held for writing.  While pages are brought in, the locks are those of fault.c.
 * SEE ALSO    docs/memory.md, user/test/t_mlock.c
 */
#include "lib/errno.h"
#include "mem/page.h"
#include "vm/pt.h"

_Atomic uint64_t locked_total;

/* Limit of locked pages on the machine: the rest lets other programs run (Solaris: pages_pp_maximum). */
static uint64_t locked_max(void)
{
    uint64_t all = mem_total_pages();

    return all - all / 8;
}

/* Can `more` pages be locked?  0; -ENOMEM: over `limit` (bytes); -EAGAIN: over the machine's limit. */
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

/* Pages of [start, end) that are not locked.  @err  out: 0, or -ENOMEM: there is a hole */
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

/* Locks or unlocks [start, end), which has no hole.  0 or -ENOMEM.  The caller holds as->lock for writing. */
static int set_range_locked(struct as *as, uint64_t start, uint64_t end, bool on)
{
    struct seg *s;
    int err = seg_isolate(as, start, end);

    if (err != 0)
        return err;
    for (s = seg_find(as, start); s != NULL && s->n.start < end; s = seg_next(s)) {
        if (on && s->what == SEG_VDSO)
            continue;
        seg_set_locked(s, on ? SEG_LOCKED : SEG_UNLOCKED);
        s = seg_join(s);
    }
    pt_mark_locked(as, start, end, on);
    return 0;
}

/*
 * Brings in the pages of SEG_LOCKED segments in [start, end).  0, or -ENOMEM: a fault failed, or the process is ending.
 * @ignore  after a failed fault, skip the rest of the segment: without memory, each page would wait again
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
        locked = s->locked == SEG_LOCKED;
        if (seg_huge(s))
            step = HUGE_SIZE;
        if ((s->prot & PROT_WRITE) != 0 &&
            !seg_shared(s)) /* copy the page now, so that no later store must do it */
            access = FAULT_WRITE;
        rw_exit_read(&as->lock);
        for (; locked && at < stop; at += step)
            if (proc_is_ending() || fault_resolve(as, at, access, &code) != 0) {
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
    uint8_t how = (flags & MCL_ONFAULT) != 0 ? SEG_LOCKED_ON_FAULT : SEG_LOCKED;
    struct seg_node *n, *next;
    int err = 0;

    if (flags != 0 &&
        ((flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) != 0 || flags == MCL_ONFAULT))
        return -EINVAL;
    rw_enter_write(&as->lock);
    if ((flags & MCL_CURRENT) != 0)
        err = check_lock_limits(as, as->virt_pages - as->locked_pages, limit);
    if (err == 0) {
        as->lock_future = (flags & MCL_FUTURE) != 0 ? how : (uint8_t)SEG_UNLOCKED;
        as->lock_limit = limit;
    }
    if (err == 0 && (flags == 0 || (flags & MCL_CURRENT) != 0))
        LIST_FOREACH_SAFE (n, next, &as->segs.order, link)
            if (seg_of(n)->what != SEG_VDSO || flags == 0) {
                seg_set_locked(seg_of(n), flags != 0 ? how : SEG_UNLOCKED);
                pt_mark_locked(as, n->start, n->end, flags != 0);
            }
    as_unlock(as);
    if (err == 0 && (flags & MCL_CURRENT) != 0)
        as_bring_in_locked(as, 0, USER_TOP); /* as on Linux, a missing page is no error */
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
