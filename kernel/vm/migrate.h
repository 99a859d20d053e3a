// SPDX-License-Identifier: MIT
/*
 * migrate.h - moves pages to the board of the thread that touches them next.  See migrate.c.
 */
#ifndef VM_MIGRATE_H
#define VM_MIGRATE_H

#include "vm/segplace.h"

/*
 * migrate_mark - mark the pages of [start, end) of a segment, and drop their translations.  Pages that are
 * busy, on swap or otherwise in use are not marked.  Locked memory is not marked, either.  The caller holds
 * as->lock for writing.
 */
void migrate_mark(struct seg *s, uint64_t start, uint64_t end);

/*
 * migrate_touch - curthread touches a marked page of `o`: move the page if the policy chooses another lgroup.
 * The caller holds o->lock; the function releases it.  Can sleep.
 * true: the page has moved, is already in the right place, or was busy; the caller looks the page
 * up again.
 * false: the page cannot be moved now.  The page stays marked, and the caller maps the page in its
 * present place.
 */
bool migrate_touch(struct vm_object *o, struct page *pg, const struct placement *pl);
/*
 * migrate_to - move a page of `o` from its lgroup to another one, `to`.  The caller holds o->lock; the function
 * releases it.  Can sleep.  true: the page has moved, or was busy.  false: it cannot be moved now.
 * @why  for the trace
 */
bool migrate_to(struct vm_object *o, struct page *pg, unsigned to, enum trace_moved why);

/*
 * migrate_busy - move a page of `o` to the frame `fresh`.  The caller has made the page PG_LOCKED, taken it from
 * the cache list, and holds a reference to each frame; the function drops all of these.  The caller holds no
 * spin lock.  Returns whether the page has moved; if not, it is in use or locked in memory, and stays.
 * @why  for the trace
 */
bool migrate_busy(struct vm_object *o, struct page *pg, struct page *fresh, enum trace_moved why);

#endif
