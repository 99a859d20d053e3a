// SPDX-License-Identifier: MIT
/*
 * movepages.c - moves pages to other nodes at once: Linux's move_pages(2), migrate_pages(2), and mbind(2) with
 * MPOL_MF_MOVE.
 *
 * THEORY      Solaris marks pages, and each moves at its next touch (migrate.c).  Linux's calls move pages while
 *             the caller waits.  Both use migrate_busy().  A page that has moved has no translations, so the next
 *             touch of each process faults and maps it again.  The presence of a file's page does not show that a
 *             process uses it, only its translation does.  So such a page is mapped again at once.
 *             As in Linux, a process only moves pages that it alone uses; the superuser can move all.  A page is
 *             in use by others if a relative of fork() shares it, or if another entry maps it.
 *             as->lock is released after each page, so a long range does not delay faults that change segments.
 * LOCKING     as->lock is held for reading, and after it the lock of the object that names the page.
 * SEE ALSO    migrate.c, mbind.c, sys/sys_mbind.c, docs/memory.md
 */
#include "vm/movepages.h"

#include "lib/errno.h"
#include "pages/busy.h"
#include "pages/cachelist.h"
#include "pages/rangepolicy.h"
#include "vm/migrate.h"
#include "vm/pt.h"

enum {
    MOVE_TRIES = 10,   /* times to wait for a busy page */
    RECLAIM_PAGES = 64 /* pages of the cache list that are freed at once */
};

/* A page in memory, and the object that names it. */
struct spot {
    struct vm_object *o;
    struct page *pg;
    bool mapped;     /* the space maps the page now */
    uint64_t others; /* other mappings, or relatives that share the page */
};

static uint64_t page_bytes(const struct seg *s)
{
    return seg_huge(s) ? HUGE_SIZE : PAGE_SIZE;
}

/* Pages of the vDSO are the kernel's, and stay. */
static bool is_movable_segment(const struct seg *s)
{
    return s->what != SEG_VDSO;
}

/* Looks a page up in an object.  If it is in memory, returns true with o->lock held. */
static bool lock_page_of(struct seg *s, struct vm_object *o, uint64_t index, uint64_t addr,
                         struct spot *at)
{
    struct page *pg;
    bool huge;

    spin_lock(&o->lock);
    pg = radix_lookup(&o->tree, index);
    if (pg != NULL && (atomic_load(&pg->flags) & PG_SWAPPED) == 0) {
        uint64_t e = pt_find(s->as, addr, &huge);
        bool mapped = e != 0 && pte_page(e) == pg;

        *at = (struct spot){o, pg, mapped, atomic_load(&pg->mapcount) - mapped};
        if (o->family != NULL)
            at->others = atomic_load(&pg->nsharers) - 1;
        if (mapped || o->kind == OBJ_ANON)
            return true;
    }
    spin_unlock(&o->lock);
    return false;
}

/* Finds the page at an address of `s`; as as_query() does.  If it is in memory, returns true with at->o->lock held. */
static bool lock_page_at(struct seg *s, uint64_t addr, struct spot *at)
{
    uint64_t base = round_down(addr, page_bytes(s));

    if (seg_shared(s))
        return lock_page_of(s, s->obj, seg_index(s, base), base, at);
    return lock_page_of(s, &s->as->anon, base >> PAGE_SHIFT, base, at) ||
           (s->obj != NULL && lock_page_of(s, s->obj, seg_index(s, base), base, at));
}

/* The nodes where a page belongs; *first: the one to try first; *near: where distances to others count from. */
static uint64_t nodes_for_page(const struct page_target *t, const struct page *pg, unsigned *first,
                               unsigned *near)
{
    const struct mempolicy *mp;

    if (t->to != NULL) {
        *first = t->to[pg->node];
        *near = lgrp_topo.node_lgrp[*first];
        return 1ull << *first;
    }
    mp = &range_policy_of(t->policy)->mp;
    *first = range_policy_node(t->policy, pg->index >> pg->order, near);
    return mp->mode == MPOL_LOCAL ? 1ull << *first : mp->nodes;
}

/* A free frame like `pg` of `node`, or of the other nodes of the set, nearest first; NULL: there is none. */
static struct page *frame_of_nodes(const struct page *pg, uint64_t nodes, unsigned node,
                                   unsigned near)
{
    for (;;) {
        struct page *fresh;

        do
            fresh = place_on_node(node, pg);
        while (fresh == NULL && cachelist_reclaim(node, RECLAIM_PAGES) != 0);
        nodes &= ~(1ull << node);
        if (fresh != NULL || nodes == 0)
            return fresh;
        node = mempolicy_nearest(&lgrp_topo, near, nodes);
    }
}

/*
 * Moves the page to one of `nodes`.  The caller holds at->o->lock; the function releases it.  The node; -EAGAIN: the
 * page was busy, look it up again; -ENOMEM, -EBUSY.
 */
static int move_page_unlock(const struct spot *at, uint64_t nodes, unsigned first, unsigned near)
{
    struct page *pg = at->pg, *fresh;
    int node;

    page_hold(pg);
    if ((atomic_fetch_or(&pg->flags, PG_LOCKED) & PG_LOCKED) != 0) {
        spin_unlock(&at->o->lock);
        page_lock_wait(pg);
        page_release(pg);
        return -EAGAIN;
    }
    cachelist_take(pg);
    spin_unlock(&at->o->lock);
    fresh = frame_of_nodes(pg, nodes, first, near);
    if (fresh == NULL) {
        page_unlock(pg);
        page_release(pg);
        return -ENOMEM;
    }
    node = fresh->node;
    return migrate_busy(at->o, pg, fresh, TRACE_MOVED_CALL) ? node : -EBUSY;
}

/*
 * Moves the page at `addr` of `s` to where it belongs.  The caller holds as->lock for reading.  The node where it is
 * now; or an error of as_move_page().
 * @lost  out: the space mapped a page of a file there, and no longer does
 */
static int move_page_at(struct seg *s, uint64_t addr, const struct page_target *t, bool all,
                        bool *lost)
{
    *lost = false;
    for (unsigned tries = 0; tries < MOVE_TRIES; tries++) {
        struct spot at;
        uint64_t nodes;
        unsigned first, near;
        int r;

        if (!lock_page_at(s, addr, &at))
            return -ENOENT;
        nodes = nodes_for_page(t, at.pg, &first, &near);
        if ((nodes >> at.pg->node & 1) != 0)
            r = at.pg->node;
        else
            r = at.others != 0 && !all ? -EACCES : 0;
        if ((nodes >> at.pg->node & 1) != 0 || r != 0) {
            spin_unlock(&at.o->lock);
            return r;
        }
        *lost |= at.mapped && at.o->kind == OBJ_VNODE;
        r = move_page_unlock(&at, nodes, first, near);
        if (r != -EAGAIN)
            return r;
    }
    return -EBUSY;
}

int as_move_page(struct as *as, uint64_t addr, unsigned node, bool all)
{
    uint8_t to[NODE_MAX];
    struct page_target t = {.to = to};
    bool lost = false;
    struct seg *s;
    int r = -EFAULT, code;

    for (unsigned n = 0; n < NODE_MAX; n++)
        to[n] = (uint8_t)node;
    rw_enter_read(&as->lock);
    s = addr < USER_TOP ? seg_find(as, addr) : NULL;
    if (s != NULL && is_movable_segment(s))
        r = move_page_at(s, addr, &t, all, &lost);
    rw_exit_read(&as->lock);
    if (lost)
        fault_resolve(as, addr, FAULT_READ, &code);
    return r;
}

int as_page_node(struct as *as, uint64_t addr)
{
    struct spot at;
    struct seg *s;
    int r = -EFAULT;

    rw_enter_read(&as->lock);
    s = addr < USER_TOP ? seg_find(as, addr) : NULL;
    if (s != NULL) {
        r = -ENOENT;
        if (lock_page_at(s, addr, &at)) {
            r = at.pg->node;
            spin_unlock(&at.o->lock);
        }
    }
    rw_exit_read(&as->lock);
    return r;
}

int pages_move(struct as *as, uint64_t start, uint64_t end, const struct page_target *t, bool all,
               uint64_t *failed)
{
    while (start < end) {
        uint64_t at = start, stop;
        bool lost = false;
        struct seg *s;
        int r = 0, code;

        if (proc_is_ending())
            return -EINTR;
        rw_enter_read(&as->lock);
        s = seg_after(as, start);
        if (s == NULL || s->n.start >= end) {
            rw_exit_read(&as->lock);
            break;
        }
        stop = min_of(s->n.end, end);
        at = max_of(start, s->n.start);
        start = stop;
        if (is_movable_segment(s)) {
            at = seg_skip_absent(s, at, stop);
            if (at < stop) {
                r = move_page_at(s, at, t, all, &lost);
                start = min_of(round_down(at, page_bytes(s)) + page_bytes(s), stop);
            }
        }
        rw_exit_read(&as->lock);
        if (r < 0 && r != -ENOENT)
            ++*failed;
        if (lost)
            fault_resolve(as, at, FAULT_READ, &code);
    }
    return 0;
}

int as_move_pages(struct as *as, const uint8_t *to, bool all, uint64_t *failed)
{
    struct page_target t = {.to = to};

    return pages_move(as, 0, USER_TOP, &t, all, failed);
}

bool pages_misplaced(struct seg *s, uint64_t start, uint64_t end, const struct page_target *t)
{
    bool found = false;

    if (!is_movable_segment(s))
        return false;
    while (!found && (start = seg_skip_absent(s, start, end)) < end) {
        struct spot at;
        unsigned first, near;

        if (lock_page_at(s, start, &at)) {
            found = (nodes_for_page(t, at.pg, &first, &near) >> at.pg->node & 1) == 0;
            spin_unlock(&at.o->lock);
        }
        start = round_down(start, page_bytes(s)) + page_bytes(s);
    }
    return found;
}

/* Adds the page at `addr` to *out. */
static void count_page_node(struct seg *s, uint64_t addr, struct as_node_usage *out)
{
    struct spot at;
    bool huge;

    if (!lock_page_at(s, addr, &at))
        return;
    out->pages++;
    out->on_node[at.pg->node]++;
    if ((atomic_load(&at.pg->flags) & PG_ANON) != 0)
        out->anon++;
    if ((atomic_load(&at.pg->flags) & PG_DIRTY) != 0 ||
        (at.mapped && (pt_find(s->as, addr, &huge) & PTE_D) != 0))
        out->dirty++;
    out->max_users = max_of(out->max_users, at.others + 1);
    spin_unlock(&at.o->lock);
}

void as_count_nodes(struct as *as, uint64_t start, uint64_t end, struct as_node_usage *out)
{
    struct seg *s;

    *out = (struct as_node_usage){0};
    rw_enter_read(&as->lock);
    for (s = seg_after(as, start); s != NULL && s->n.start < end; s = seg_next(s)) {
        uint64_t stop = min_of(s->n.end, end), at = max_of(start, s->n.start);

        while (is_movable_segment(s) && (at = seg_skip_absent(s, at, stop)) < stop) {
            count_page_node(s, at, out);
            at = round_down(at, page_bytes(s)) + page_bytes(s);
        }
    }
    rw_exit_read(&as->lock);
}
