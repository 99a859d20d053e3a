// SPDX-License-Identifier: MIT
/*
 * segplace.h - chooses the board for a new page of a segment.  See segplace.c.
 */
#ifndef VM_SEGPLACE_H
#define VM_SEGPLACE_H

#include "vm/as.h"
#include "pages/placement.h"

/* place_of_seg - the placement of a new page at `addr` of a segment. */
struct placement place_of_seg(struct seg *s, uint64_t addr);
/* place_private - place_page() for a new private page at `addr` of a segment. */
struct page *place_private(struct seg *s, uint64_t addr, unsigned order, unsigned flags);

#endif
