// SPDX-License-Identifier: MIT
/*
 * range.c - changes a range of addresses that can contain any number of segments: munmap, mprotect, brk.
 *
 * THEORY      A range is always removed in this order: remove translations, flush TLBs, remove segments (also
 *             from their objects), drop private pages, free empty page tables.  After the flush no thread can
 *             access the pages.  After the segments and private pages are gone, reverse mapping cannot find the
 *             page tables any more (pt.h), so they can be freed.
 * LOCKING     as->lock is held for writing.
 * SEE ALSO    docs/memory.md
 */
#include "lib/errno.h"
#include "pages/rangepolicy.h"
#include "vm/pt.h"

/* Adds `by` to as->zaps, and to obj->zaps of each segment in [start, end) (as.h I8). */
static void adjust_zap_counts(struct as *as, uint64_t start, uint64_t end, uint32_t by)
{
    atomic_fetch_add(&as->zaps, by);
    for (struct seg *s = seg_after(as, start); s != NULL && s->n.start < end; s = seg_next(s))
        if (s->obj != NULL)
            atomic_fetch_add(&s->obj->zaps, by);
}

bool range_zap(struct as *as, uint64_t start, uint64_t end)
{
    bool any;

    /* until the flush, TLBs may hold old translations (as.h I8) */
    adjust_zap_counts(as, start, end, 1);
    any = pt_zap(as, start, end);
    if (any)
        tlb_flush(as, start, end);
    adjust_zap_counts(as, start, end, -1u);
    return any;
}

/* Is neither end of [start, end) inside a 2 MiB page? */
static bool is_huge_aligned(struct as *as, uint64_t start, uint64_t end)
{
    struct seg *s = seg_find(as, start);

    if (s != NULL && seg_huge(s) && start % HUGE_SIZE != 0)
        return false;
    s = seg_find(as, end - 1);
    return s == NULL || !seg_huge(s) || end % HUGE_SIZE == 0;
}

int range_unmap(struct as *as, uint64_t start, uint64_t end)
{
    struct seg *s = seg_after(as, start), *prev;
    uint64_t lo, hi;
    int err;

    if (s == NULL || s->n.start >= end)
        return 0;
    if (!is_huge_aligned(as, start, end))
        return -EINVAL;
    err = seg_isolate(as, start, end);
    if (err != 0)
        return err;
    range_zap(as, start, end);
    s = seg_after(as, start);
    prev = seg_of(segtree_prev(&as->segs, &s->n));
    lo = prev != NULL ? prev->n.end : 0;
    while (s != NULL && s->n.start < end) {
        struct seg *next = seg_next(s);

        seg_delete(s);
        s = next;
    }
    hi = s != NULL ? s->n.start : USER_TOP + PAGE_SIZE;
    anon_drop(as, start, end);
    pt_free_range(as, start, end, lo, hi);
    return 0;
}

/* Checks a range and rounds *len up.  0, -EINVAL (misaligned start) or -ENOMEM (outside the user half). */
static int check_user_range(uint64_t addr, uint64_t *len)
{
    if (addr % PAGE_SIZE != 0)
        return -EINVAL;
    if (*len > USER_TOP || addr > USER_TOP - round_up(*len, PAGE_SIZE))
        return -ENOMEM;
    *len = round_up(*len, PAGE_SIZE);
    return 0;
}

int as_unmap(struct as *as, uint64_t addr, uint64_t len)
{
    int err = check_user_range(addr, &len);

    if (err != 0 || len == 0)
        return -EINVAL;
    rw_enter_write(&as->lock);
    err = range_unmap(as, addr, addr + len);
    as_unlock(as);
    return err;
}

int as_detach(struct as *as, uint64_t addr, struct vm_object **obj)
{
    struct seg *s;
    int err = -EINVAL;

    rw_enter_write(&as->lock);
    s = seg_find(as, addr);
    if (s != NULL && s->n.start == addr && s->obj != NULL && s->obj->sysv && s->obj_first == 0) {
        *obj = s->obj;
        err = 0;
    }
    /* The mapping may be several segments (mprotect) and may have holes (munmap). */
    while (err == 0 && s != NULL && s->obj == *obj &&
           s->obj_first == (s->n.start - addr) >> PAGE_SHIFT) {
        uint64_t end = s->n.end;

        err = range_unmap(as, s->n.start, end);
        s = seg_after(as, end);
    }
    as_unlock(as);
    return err;
}

/* ---- protection ------------------------------------------------------------------------------ */

/*
 * Is [start, end) allowed to get `prot`?  If so, reserves the memory that the range then needs.
 * 0, -ENOMEM (a hole, a limit, no memory), -EACCES (forbidden by the file), -EINVAL (cuts a 2 MiB page).
 */
static int check_and_reserve_protect(struct as *as, uint64_t start, uint64_t end, int prot)
{
    struct seg *s = seg_find(as, start);
    uint64_t more_data = 0, more = 0;

    for (uint64_t at = start; at < end; at = s->n.end, s = seg_next(s)) {
        if (s == NULL || s->n.start > at)
            return -ENOMEM;
        if ((prot & ~s->max_prot) != 0)
            return -EACCES;
        if ((prot & PROT_WRITE) != 0 && (s->prot & PROT_WRITE) == 0 && !seg_shared(s))
            more_data += (min_of(s->n.end, end) - at) >> PAGE_SHIFT;
        if ((prot & PROT_WRITE) != 0)
            more += seg_need(prot, s->flags, (min_of(s->n.end, end) - at) >> PAGE_SHIFT) -
                    seg_need(s->prot, s->flags, (min_of(s->n.end, end) - at) >> PAGE_SHIFT);
    }
    if (more_data != 0 && as->data_pages + more_data > as->limits.data_bytes >> PAGE_SHIFT)
        return -ENOMEM;
    if (!is_huge_aligned(as, start, end))
        return -EINVAL;
    return reserve_grow(&as->resv, more);
}

/* as_protect() for a checked range.  The caller holds as->lock for writing. */
static int protect_range(struct as *as, uint64_t start, uint64_t end, int prot)
{
    int err = check_and_reserve_protect(as, start, end, prot);
    struct seg *s;
    bool less = false;

    if (err == 0)
        err = seg_isolate(as, start, end);
    if (err != 0)
        return err;
    for (s = seg_find(as, start); s != NULL && s->n.start < end; s = seg_next(s)) {
        less |= (s->prot & ~prot) != 0;
        seg_set_prot(s, prot);
        s = seg_join(s);
    }
    if (less && prot == 0 && range_zap(as, start, end))
        as->anon_all_mapped = false;
    else if (less && prot != 0 && pt_restrict(as, start, end, (unsigned)prot))
        tlb_flush(as, start, end);
    return 0;
}

int as_protect(struct as *as, uint64_t addr, uint64_t len, int prot)
{
    int err = check_user_range(addr, &len);

    if (err == 0 && (prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC)) != 0)
        err = -EINVAL;
    if (err != 0 || len == 0)
        return err;
    rw_enter_write(&as->lock);
    err = protect_range(as, addr, addr + len, prot);
    as_unlock(as);
    return err;
}

/* ---- the heap -------------------------------------------------------------------------------- */

void as_brk_init(struct as *as, uint64_t start)
{
    rw_enter_write(&as->lock);
    as->brk_start = as->brk = start;
    as_unlock(as);
}

/* Grows the heap from `old` to `end`, both multiples of PAGE_SIZE.  false: no memory or over a limit. */
static bool heap_grow(struct as *as, uint64_t old, uint64_t end)
{
    uint64_t pages = (end - old) >> PAGE_SHIFT;
    struct seg *s = old > 0 ? seg_find(as, old - 1) : NULL;
    bool extends =
        s != NULL && s->what == SEG_HEAP && s->n.end == old &&
        s->prot == (PROT_READ | PROT_WRITE) &&
        /* mlock(), mbind() or MADV_DONTDUMP of the old part does not hold for the new part */
        s->locked == as->lock_future && !is_range_policy(s->policy) && !s->nodump;

    if (end > USER_TOP || as->virt_pages + pages > as->limits.as_bytes >> PAGE_SHIFT ||
        (as->lock_future && !as_may_lock(as, pages)) ||
        (end - as->brk_start) > as->limits.data_bytes ||
        !segtree_is_free(&as->segs, old, end - old + PAGE_SIZE) ||
        reserve_grow(&as->resv, pages) != 0)
        return false;
    if (extends) {
        /* the segment keeps an advised policy; otherwise s->size decides the policy */
        seg_resize(s, s->n.start, end);
    } else {
        s = seg_create(as, old, end);
        if (s == NULL)
            return false;
        s->prot = PROT_READ | PROT_WRITE;
        s->max_prot = PROT_READ | PROT_WRITE | PROT_EXEC;
        s->flags = MAP_PRIVATE | MAP_ANONYMOUS;
        s->what = SEG_HEAP;
        s->locked = as->lock_future;
        seg_insert(s);
    }
    s->size = end - round_down(as->brk_start, PAGE_SIZE);
    return true;
}

uint64_t as_brk(struct as *as, uint64_t want)
{
    uint64_t old = 0, end = 0;
    bool ok = false, locked;

    rw_enter_write(&as->lock);
    locked = as->lock_future == SEG_LOCKED;
    if (want >= as->brk_start && want <= USER_TOP) {
        old = round_up(as->brk, PAGE_SIZE);
        end = round_up(want, PAGE_SIZE);
        if (end > old)
            ok = heap_grow(as, old, end);
        else
            ok = end == old || range_unmap(as, end, old) == 0;
        if (ok)
            as->brk = want;
    }
    want = as->brk;
    as_unlock(as);
    if (unlikely(locked) && ok && end > old)
        as_bring_in_locked(as, old, end);
    return want;
}
