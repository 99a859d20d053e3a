// SPDX-License-Identifier: MIT
/*
 * movepages.h - moves the pages of a range to other nodes at once.  See movepages.c.
 */
#ifndef VM_MOVEPAGES_H
#define VM_MOVEPAGES_H

#include "vm/as.h"

/* Where pages belong: one of the two. */
struct page_target {
    const uint8_t *to; /* a page of node n belongs to node to[n]; NULL: */
    unsigned policy;   /* where this policy with nodes would place it (pages/rangepolicy.h) */
};

/*
 * pages_move - move the pages of [start, end) to where they belong; *failed counts those that did not move.
 * `all`: also pages that other processes use.  0, or -EINTR: the process of the caller is ending.  Takes
 * as->lock for reading.
 */
int pages_move(struct as *as, uint64_t start, uint64_t end, const struct page_target *t, bool all,
               uint64_t *failed);
/* pages_misplaced - whether a page of [start, end), inside `s`, is in another place.  The caller holds as->lock. */
bool pages_misplaced(struct seg *s, uint64_t start, uint64_t end, const struct page_target *t);

#endif
