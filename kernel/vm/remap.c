// SPDX-License-Identifier: MIT
/*
 * remap.c - mremap(2): makes a mapping larger or smaller, or moves it.
 *
 * THEORY      A mapping grows in place if the addresses above it are free.  Otherwise it moves: a new segment
 *             is made elsewhere, and the private pages move to it by a change of their index.  A page that
 *             relatives of fork() share is copied, because a page has only one index in the whole family.
 *             For pages of an object there is nothing to do: faults find them through the new segment.
 *             If there is no memory for a further page, the pages that have moved go back, and the old mapping stays
 *             whole.  The way back needs memory for the index only, but other threads may have taken what the way
 *             there has freed.  Therefore move_pages_back() tries until it gets this memory.
 * LOCKING     as->lock is held for writing.
 * SEE ALSO    anon.c, docs/memory.md
 */
#include "lib/errno.h"
#include "vm/pt.h"

enum { MREMAP_MAYMOVE = 1, MREMAP_FIXED = 2 };
#define RETRY_NS 10000000u /* 10 ms: wait between two attempts to move the pages back */

struct remap {
    struct as *as;
    uint64_t old, old_len, new_len;
    int flags;
    uint64_t to; /* in: new address (MREMAP_FIXED); out: where the mapping is now */
};

static bool exceeds_grow_limits(struct as *as, const struct seg *s, uint64_t more)
{
    bool data = (s->prot & PROT_WRITE) != 0 && !seg_shared(s);

    more >>= PAGE_SHIFT;
    return as->virt_pages + more > as->limits.as_bytes >> PAGE_SHIFT ||
           (data && as->data_pages + more > as->limits.data_bytes >> PAGE_SHIFT);
}

/* Splits the segment of the old range so that it covers only this range, and returns it; NULL: no memory. */
static struct seg *isolate_old_range(struct remap *m)
{
    return seg_isolate(m->as, m->old, m->old + m->old_len) == 0 ? seg_find(m->as, m->old) : NULL;
}

/* Sets m->to to a free range; MREMAP_FIXED: checks and empties the given range.  0, -EINVAL or -ENOMEM. */
static int choose_new_address(struct remap *m, const struct seg *s)
{
    uint64_t grain = seg_huge(s) ? HUGE_SIZE : PAGE_SIZE;
    int err;

    if ((m->flags & MREMAP_FIXED) == 0) {
        m->to = segtree_gap_below(&m->as->segs, m->new_len + grain - PAGE_SIZE, USER_LOW,
                                  m->as->map_top);
        m->to = round_up(m->to, grain);
        return m->to != 0 ? 0 : -ENOMEM;
    }
    if (m->to % grain != 0 || m->to < USER_LOW || m->new_len > USER_TOP ||
        m->to > USER_TOP - m->new_len ||
        (m->to < m->old + m->old_len && m->old < m->to + m->new_len))
        return -EINVAL;
    err = range_unmap(m->as, m->to, m->to + m->new_len);
    return err;
}

/*
 * Moves the pages back after anon_move() has failed.  They belong to this space alone now, so none is copied or read.
 * Sleeps until all have moved.  The pages of a process that is ending are dropped instead.
 */
static void move_pages_back(struct remap *m, uint64_t len)
{
    while (anon_move(m->as, m->to, m->old, len) != 0) {
        if (proc_is_ending()) {
            anon_drop(m->as, m->to, m->to + len);
            break;
        }
        thread_sleep_ns(RETRY_NS);
    }
}

/* Moves the old range to another address.  0, -EINVAL, -ENOMEM or -EIO. */
static int move_mapping(struct remap *m)
{
    struct seg *from, *to;
    uint64_t keep = min_of(m->old_len, m->new_len);
    int err = choose_new_address(m, seg_find(m->as, m->old));

    if (err != 0)
        return err;
    from = isolate_old_range(m);
    to = seg_create(m->as, m->to, m->to + m->new_len);
    if (from == NULL || to == NULL) {
        if (to != NULL)
            seg_free(to);
        return -ENOMEM;
    }
    to->prot = from->prot;
    to->max_prot = from->max_prot;
    to->policy = from->policy;
    to->advice = from->advice;
    to->nodump = from->nodump;
    to->what = SEG_OTHER;
    to->locked = from->locked;
    to->flags = from->flags;
    to->obj = from->obj;
    to->obj_first = from->obj_first;
    to->cut = from->cut;
    to->vn = from->vn;
    range_zap(m->as, m->old, m->old + m->old_len);
    if (!seg_shared(from)) {
        err = anon_move(m->as, m->old, m->to, keep);
        if (err != 0) {
            move_pages_back(m, keep);
            to->obj = NULL;
            to->vn = NULL;
            to->policy = 0;
            seg_free(to);
            return err;
        }
    }
    seg_insert(to);
    /* The old range is one segment, so this cannot fail.  If `to` were joined with it before, it would be split. */
    err = range_unmap(m->as, m->old, m->old + m->old_len);
    seg_join(to);
    return err;
}

/* as_remap(), when the caller holds as->lock for writing. */
static int remap_range(struct remap *m)
{
    struct seg *s = seg_find(m->as, m->old);
    uint64_t grain, end;

    if (s == NULL || m->old_len == 0 || m->old + m->old_len > s->n.end)
        return -EFAULT;
    grain = seg_huge(s) ? HUGE_SIZE : PAGE_SIZE;
    if ((m->old | m->old_len | m->new_len) % grain != 0)
        return -EINVAL;
    end = m->old + m->old_len;
    if ((m->flags & MREMAP_FIXED) == 0 && m->new_len <= m->old_len) {
        m->to = m->old;
        return m->new_len < m->old_len ? range_unmap(m->as, m->old + m->new_len, end) : 0;
    }
    if (m->new_len > m->old_len && s->locked &&
        !as_may_lock(m->as, (m->new_len - m->old_len) >> PAGE_SHIFT))
        return -EAGAIN;
    if (m->new_len > m->old_len &&
        (exceeds_grow_limits(m->as, s, m->new_len - m->old_len) ||
         reserve_grow(&m->as->resv,
                      seg_need(s->prot, s->flags, (m->new_len - m->old_len) >> PAGE_SHIFT)) != 0))
        return -ENOMEM;
    if ((m->flags & MREMAP_FIXED) == 0 && s->n.end == end &&
        end <= USER_TOP - (m->new_len - m->old_len) &&
        segtree_is_free(&m->as->segs, end, m->new_len - m->old_len)) {
        seg_resize(s, s->n.start, m->old + m->new_len);
        s->size = max_of(s->size, s->n.end - s->n.start);
        seg_join(s);
        m->to = m->old;
        return 0;
    }
    return (m->flags & MREMAP_MAYMOVE) != 0 ? move_mapping(m) : -ENOMEM;
}

int as_remap(struct as *as, uint64_t old, uint64_t old_len, uint64_t new_len, int flags,
             uint64_t *new_addr)
{
    struct remap m = {as,    old,      round_up(old_len, PAGE_SIZE), round_up(new_len, PAGE_SIZE),
                      flags, *new_addr};
    bool locked;
    int err;

    if (old % PAGE_SIZE != 0 || new_len == 0 || new_len > USER_TOP || old_len > USER_TOP ||
        old > USER_TOP || (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED)) != 0 ||
        (flags & (MREMAP_MAYMOVE | MREMAP_FIXED)) == MREMAP_FIXED)
        return -EINVAL;
    rw_enter_write(&as->lock);
    err = remap_range(&m);
    locked = as->locked_pages != 0;
    as_unlock(as);
    if (err == 0 && locked)
        as_bring_in_locked(as, m.to, m.to + m.new_len);
    *new_addr = m.to;
    return err;
}
