// SPDX-License-Identifier: MIT
/*
 * placement.h - on which board a new page comes to lie: the link between segments and lgrp/place.h.
 */
#ifndef VM_PLACEMENT_H
#define VM_PLACEMENT_H

#include "lgrp/place.h"
#include "vm/as.h"

/* place_of_seg - how a page at `addr` of a segment is to be placed. */
struct placement place_of_seg(struct seg *s, uint64_t addr);
/* place_lgrp - the lgroup that curthread's touch chooses; counted under the policy really used. */
unsigned place_lgrp(const struct placement *pl);
/*
 * place_page - a block of 2^order frames placed for curthread: in the lgroup of the policy, or the
 * nearest one that has memory left (counted as "alloc fail").  `index`: number of the page in its object, for its
 * colour.  NULL: no memory anywhere.
 */
struct page *place_page(const struct placement *pl, unsigned order, unsigned flags, uint64_t index);
/* place_private - the same for a new private page at `addr` of a segment. */
struct page *place_private(struct seg *s, uint64_t addr, unsigned order, unsigned flags);
/* place_strict - a block of the size and colour of `like` in lgroup `lgrp`, or NULL. */
struct page *place_strict(unsigned lgrp, const struct page *like);

/* object_policy - the policy advised for a page of a shared object; 0: none.  Takes o->lock if there are any. */
unsigned object_policy(struct vm_object *o, uint64_t index);
/*
 * object_advise - set it for pages first .. last (0: back to the default).  0 or -ENOMEM, also when there
 * would be too many ranges.
 */
int object_advise(struct vm_object *o, uint64_t first, uint64_t last, unsigned policy);
/* object_forget_advice - forget all.  Takes o->lock. */
void object_forget_advice(struct vm_object *o);

#endif
