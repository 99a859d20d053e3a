// SPDX-License-Identifier: MIT
/*
 * mbind.c - mbind(2): the nodes from which the pages of a range come.
 *
 * THEORY      The policy of private memory is kept in the segment, that of shared memory in the object, as with
 *             madvise(MADV_ACCESS_*) (advise.c); the later call replaces the earlier.  A file on a disk is an
 *             exception.  As in Linux, the policy of a shared mapping of such a file only is the mapping's: it can be
 *             read back, and MPOL_MF_MOVE moves pages, but new pages of the file are placed by the thread that reads
 *             them.  Otherwise a process could choose the nodes of another's files.
 *             The call first checks the whole range, so that most errors change nothing.
 * LOCKING     as->lock is held for writing
 * SEE ALSO    pages/rangepolicy.h, movepages.c, docs/lgroups.md
 */
#include "lib/errno.h"
#include "mem/usermem.h"
#include "pages/advice.h"
#include "pages/rangepolicy.h"
#include "vm/movepages.h"

/* Whether the policy of a part of this segment is kept in its object. */
static bool keeps_policy_in_object(const struct seg *s)
{
    return seg_shared(s) && s->obj->io == NULL;
}

static unsigned range_policy_at(struct seg *s, uint64_t addr)
{
    return keeps_policy_in_object(s) ? object_policy(s->obj, seg_index(s, addr)) : s->policy;
}

/* Rounds the length up, as Linux does: to 0 if it is too large, and sets *end.  0; -EINVAL: not a range of pages. */
static int check_page_range(uint64_t addr, uint64_t len, uint64_t *end)
{
    *end = addr + round_up(len, PAGE_SIZE);
    return addr % PAGE_SIZE != 0 || *end < addr ? -EINVAL : 0;
}

/*
 * Whether the policy of the range can be set.  @strict  where all pages must lie; NULL: anywhere.  0 or an error of
 * as_mbind().
 */
static int check_mbind_range(struct as *as, uint64_t addr, uint64_t end,
                             const struct page_target *strict)
{
    struct seg *s = seg_find(as, addr);

    for (uint64_t at = addr; at < end; at = s->n.end, s = seg_next(s)) {
        uint64_t stop;

        if (s == NULL || s->n.start > at)
            return -EFAULT;
        stop = min_of(s->n.end, end);
        if (seg_huge(s) && (at | stop) % HUGE_SIZE != 0)
            return -EINVAL;
        if (keeps_policy_in_object(s) && (s->max_prot & PROT_WRITE) == 0 && s->what != SEG_VDSO &&
            !proc_is_superuser())
            return -EACCES;
        if (strict != NULL && pages_misplaced(s, at, stop, strict))
            return -EIO;
    }
    return 0;
}

/* Sets the policy of [start, end), inside `s`.  @np  the same policy; NULL: none.  0 or -ENOMEM. */
static int set_range_policy(struct seg *s, uint64_t start, uint64_t end, unsigned policy,
                            const struct nodes_policy *np)
{
    uint64_t first, last;

    if (s->what == SEG_VDSO)
        return 0;
    if (!keeps_policy_in_object(s))
        return seg_set_policy(s, start, end, policy);
    first = seg_index(s, start);
    last = seg_index(s, end) - 1;
    return np != NULL ? object_set_nodes(s->obj, first, last, np)
                      : object_advise(s->obj, first, last, LGRP_MEM_POLICY_DEFAULT);
}

/* Checks the range and sets its policy.  Arguments and result as of check_mbind_range() and set_range_policy(). */
static int bind_range(struct as *as, uint64_t addr, uint64_t end, const struct page_target *strict,
                      unsigned policy, const struct nodes_policy *np)
{
    int err;

    rw_enter_write(&as->lock);
    err = check_mbind_range(as, addr, end, strict);
    while (err == 0 && addr < end) {
        struct seg *s = seg_find(as, addr);
        uint64_t stop = min_of(s->n.end, end);

        err = set_range_policy(s, addr, stop, policy, np);
        addr = stop;
    }
    as_unlock(as);
    return err;
}

int as_mbind(struct as *as, uint64_t addr, uint64_t len, const struct mempolicy *mp, unsigned flags)
{
    bool none = mp->mode == MPOL_DEFAULT, move = (flags & (MPOL_MF_MOVE | MPOL_MF_MOVE_ALL)) != 0;
    struct nodes_policy np = {*mp, NODE_MAX};
    bool strict = (flags & MPOL_MF_STRICT) != 0 && !none;
    struct page_target t = {NULL, 0};
    uint64_t end, failed = 0;
    int err = check_page_range(addr, len, &end);

    if (err != 0 || addr == end)
        return err;
    if (none)
        np.mp.mode = MPOL_LOCAL; /* the pages that exist move to the home of the caller */
    err = range_policy_new(&np, &t.policy);
    if (err != 0)
        return err;
    err = bind_range(as, addr, end, strict && !move ? &t : NULL, none ? 0 : t.policy,
                     none ? NULL : &np);
    if (err == 0 && move)
        err = pages_move(as, addr, end, &t, (flags & MPOL_MF_MOVE_ALL) != 0, &failed);
    range_policy_drop(t.policy);
    return err == 0 && strict && failed != 0 ? -EIO : err;
}

/* Sets the home node of the policy of [start, end), inside `s`.  *found: there was one.  0 or an error of the call. */
static int set_policy_home(struct seg *s, uint64_t start, uint64_t end, unsigned node, bool *found)
{
    struct nodes_policy np;
    unsigned policy;
    int err;

    if (keeps_policy_in_object(s) || !is_range_policy(s->policy))
        return 0;
    if (seg_huge(s) && (start | end) % HUGE_SIZE != 0)
        return -EINVAL;
    np = *range_policy_of(s->policy);
    *found = true;
    if (np.mp.mode != MPOL_BIND && np.mp.mode != MPOL_PREFERRED_MANY)
        return -EOPNOTSUPP;
    np.home = (uint8_t)node;
    err = range_policy_new(&np, &policy);
    if (err != 0)
        return err;
    err = seg_set_policy(s, start, end, policy);
    range_policy_drop(policy);
    return err;
}

int as_set_home_node(struct as *as, uint64_t addr, uint64_t len, unsigned node)
{
    uint64_t end;
    bool found = false;
    int err = check_page_range(addr, len, &end);

    if (err != 0 || addr == end)
        return err;
    rw_enter_write(&as->lock);
    while (err == 0 && addr < end) {
        struct seg *s = seg_after(as, addr);
        uint64_t stop;

        if (s == NULL || s->n.start >= end)
            break;
        stop = min_of(s->n.end, end);
        err = set_policy_home(s, max_of(addr, s->n.start), stop, node, &found);
        addr = stop;
    }
    as_unlock(as);
    if (err != 0)
        return err;
    return found ? 0 : -ENOENT;
}

int as_policy_at(struct as *as, uint64_t addr, struct mempolicy *out)
{
    struct seg *s;
    unsigned policy = 0;

    *out = (struct mempolicy){.mode = MPOL_DEFAULT};
    rw_enter_read(&as->lock);
    s = addr < USER_TOP ? seg_find(as, addr) : NULL;
    if (s != NULL)
        policy = range_policy_at(s, addr);
    if (is_range_policy(policy))
        *out = range_policy_of(policy)->mp;
    rw_exit_read(&as->lock);
    return s != NULL ? 0 : -EFAULT;
}
