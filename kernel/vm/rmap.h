// SPDX-License-Identifier: MIT
/*
 * rmap.h - from a page to all its mappings.  See rmap.c.
 */
#ifndef VM_RMAP_H
#define VM_RMAP_H

#include "vm/as.h"
#include "vm/tlb.h"

/*
 * rmap_unmap - drop every translation of a page, but of a private page the locked ones stay.  Its owner is
 * locked.  After releasing it, the caller calls tlb_batch_done().  Returns the number of segments looked at.
 */
unsigned rmap_unmap(struct page_owner own, struct page *pg, struct tlb_batch *b);
/* rmap_locked_shared - whether a locked segment maps the page of a file or shared object.  o->lock is held. */
bool rmap_locked_shared(struct vm_object *o, struct page *pg);
/*
 * rmap_protect_shared - make every translation of pages first .. last of an object read-only.  o->lock is
 * held.  The batch gets all spaces that could write there, because another thread may have emptied an
 * entry and not flushed yet.
 */
void rmap_protect_shared(struct vm_object *o, uint64_t first, uint64_t last, struct tlb_batch *b);
/*
 * rmap_referenced - was the page touched through a mapping, or is it locked in one?  Of a shared page, touches
 * through mappings with MADV_SEQUENTIAL do not count.  Its owner is locked.
 * @clear  clear the accessed bits.  After tlb_batch_done() the next touch sets them again
 */
bool rmap_referenced(struct page_owner own, struct page *pg, bool clear, struct tlb_batch *b);

#endif
