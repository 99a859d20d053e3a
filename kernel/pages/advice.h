// SPDX-License-Identifier: MIT
/*
 * advice.h - the placement policies that madvise() sets for pages of shared memory and of files.
 *
 * THEORY      Advice on private memory is kept in the segment.  On shared memory and files it is kept in the
 *             object, so that it holds for all mappings.
 */
#ifndef PAGES_ADVICE_H
#define PAGES_ADVICE_H

#include "lib/types.h"

struct vm_object;

/*
 * object_policy - the policy advised for a page of an object (enum lgrp_mem_policy); 0: none.  Takes o->lock
 * if there is advice.
 */
unsigned object_policy(struct vm_object *o, uint64_t index);
/*
 * object_advise - set the policy for pages first .. last (0: no advice).  0 or -ENOMEM: no memory, too many
 * ranges, or too much kernel memory for this user.  Takes o->lock.
 */
int object_advise(struct vm_object *o, uint64_t first, uint64_t last, unsigned policy);
/* object_forget_advice - remove the advice for all pages.  Takes o->lock. */
void object_forget_advice(struct vm_object *o);

#endif
