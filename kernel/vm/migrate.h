// SPDX-License-Identifier: MIT
/*
 * migrate.h - moving pages to whoever touches them next.  See migrate.c.
 */
#ifndef VM_MIGRATE_H
#define VM_MIGRATE_H

#include "vm/placement.h"

/* migrate_mark - mark every page of [start, end) of a segment and drop its translations.  as->lock held for writing. */
void migrate_mark(struct seg *s, uint64_t start, uint64_t end);

/*
 * migrate_touch - a marked page of `o` is touched by curthread.  Called with o->lock held, returns without it.
 * Returns whether the page is where the policy wants it now (not marked any more): look it up again.
 * Otherwise it stays where it is, marked, and is to be mapped there.
 */
bool migrate_touch(struct vm_object *o, struct page *pg, const struct placement *pl);

#endif
