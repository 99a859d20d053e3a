// SPDX-License-Identifier: MIT
/*
 * throttle.h - when a writer has to wait for the disk: two rules, each on or off by itself.
 *
 * THEORY      The write throttle of UFS counts, for each file, the bytes of writes that the disk has been given and has
 *             not finished.  A write(2) that finds more than ufs_HW sleeps; when the count falls to ufs_LW all sleepers
 *             are woken and test again.  Pages that are only dirty do not count.
 *             AIX's disk I/O pacing counts pages: a write that finds maxpout or more sleeps until minpout or
 *             fewer are left.
 *             Both are tested once per write(2), before anything is copied: one write may overshoot.
 * SOURCES     Solaris 8: defaults 384 KiB and 256 KiB (Solaris Tunable Parameters Reference); the rule as in
 *             ufs_rdwr and ufs_iodone.  AIX Performance Tuning Guide, "Disk-I/O Pacing".
 * LOCKING     the caller's; pure
 * SEE ALSO    docs/pagecache.md, tests/host/test_throttle.c
 */
#ifndef PAGES_THROTTLE_H
#define PAGES_THROTTLE_H

#include "lib/types.h"

/* Values in force; live, so each call looks anew. */
struct throttle {
    bool on;         /* ufs_WRITES       */
    uint64_t hw, lw; /* bytes            */
};

/* throttle_blocks - must a write wait while `bytes` of the file are on their way? */
static inline bool throttle_blocks(const struct throttle *t, uint64_t bytes)
{
    return t->on && bytes > t->hw;
}

/*
 * throttle_wakes - are the sleepers woken when the count falls from `before` to `after`?  With the rule's
 * `before >= lw && after <= lw` alone, sleepers would never wake if hw < lw: nothing left wakes them in any case.
 */
static inline bool throttle_wakes(const struct throttle *t, uint64_t before, uint64_t after)
{
    return (t->on && before >= t->lw && after <= t->lw) || after == 0;
}

struct pacing {
    uint64_t maxpout, minpout; /* pages; maxpout 0: off */
};

/* pacing_blocks, pacing_wakes - the same for pages that are on their way. */
static inline bool pacing_blocks(const struct pacing *p, uint64_t pages)
{
    return p->maxpout != 0 && pages >= p->maxpout;
}

static inline bool pacing_wakes(const struct pacing *p, uint64_t pages)
{
    return p->maxpout == 0 || pages <= p->minpout || pages == 0;
}

#endif
