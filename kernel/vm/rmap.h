// SPDX-License-Identifier: MIT
/*
 * rmap.h - from a page to all its mappings.  See rmap.c.
 */
#ifndef VM_RMAP_H
#define VM_RMAP_H

#include "vm/as.h"
#include "vm/tlb.h"

/*
 * rmap_unmap_shared - drop every translation of the page at `index` of a file or shared object.  o->lock is
 * held.  After releasing it, the caller calls tlb_batch_done().  Returns the number of segments looked at.
 */
unsigned rmap_unmap_shared(struct vm_object *o, uint64_t index, struct page *pg,
                           struct tlb_batch *b);
/* rmap_locked_shared - whether a locked segment maps the page at `index` of such an object.  o->lock is held. */
bool rmap_locked_shared(struct vm_object *o, uint64_t index, struct page *pg);
/* rmap_unmap_private - the same for a private page, but locked translations stay.  f->lock is held. */
void rmap_unmap_private(struct anon_family *f, struct page *pg, struct tlb_batch *b);
/*
 * page_replace - put `to` in the place of `from` in every object that names it: in `o`, or for a private
 * page (f != NULL) in the objects of family `f`.  `from` is busy, unmapped and on no list.  For each
 * object `to` gets a reference and `from` loses one; the caller holds a reference to both.  Takes f->lock
 * or o->lock.  Any context.
 */
void page_replace(struct vm_object *o, struct anon_family *f, struct page *from, struct page *to);

/*
 * rmap_protect_shared - make every translation of pages first .. last of an object read-only.  o->lock is
 * held.  The batch gets all spaces that could write there, because another thread may have emptied an
 * entry and not flushed yet.
 */
void rmap_protect_shared(struct vm_object *o, uint64_t first, uint64_t last, struct tlb_batch *b);

/*
 * rmap_referenced_shared, rmap_referenced_private - was the page touched through a mapping, or is it locked
 * in one?  Of a shared page, touches through mappings with MADV_SEQUENTIAL do not count.
 * @clear  clear the accessed bits.  After tlb_batch_done() the next touch sets them again
 * The locks are those of rmap_unmap_shared() and rmap_unmap_private().
 */
bool rmap_referenced_shared(struct vm_object *o, uint64_t index, struct page *pg, bool clear,
                            struct tlb_batch *b);
bool rmap_referenced_private(struct anon_family *f, struct page *pg, bool clear,
                             struct tlb_batch *b);

#endif
