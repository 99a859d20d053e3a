// SPDX-License-Identifier: MIT
/*
 * placement.h - chooses the board for a new page: the link between segments and lgrp/place.h.
 */
#ifndef VM_PLACEMENT_H
#define VM_PLACEMENT_H

#include "lgrp/place.h"
#include "vm/as.h"

/* place_of_seg - the placement of a new page at `addr` of a segment. */
struct placement place_of_seg(struct seg *s, uint64_t addr);
/* place_lgrp - the lgroup that the policy chooses for curthread; counted under the policy really used. */
unsigned place_lgrp(const struct placement *pl);
/*
 * place_page - a block of 2^order frames for curthread: in the lgroup that the policy chooses, else in the
 * nearest lgroup with free memory (counted as "alloc fail").  NULL: no memory, with ALLOC_WAIT also after
 * waiting for it.  No spin lock is held.
 * @flags  enum alloc_flags
 * @index  number of the page in its object, which chooses the colour
 */
struct page *place_page(const struct placement *pl, unsigned order, unsigned flags, uint64_t index);
/* place_private - the same for a new private page at `addr` of a segment. */
struct page *place_private(struct seg *s, uint64_t addr, unsigned order, unsigned flags);
/* place_strict - a block in lgroup `lgrp` with the size and colour of `like`, or NULL.  Does not sleep. */
struct page *place_strict(unsigned lgrp, const struct page *like);

#endif
