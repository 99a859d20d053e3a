// SPDX-License-Identifier: MIT
/*
 * rmap.h - from a page to all its mappings.  See rmap.c.
 */
#ifndef VM_RMAP_H
#define VM_RMAP_H

#include "vm/as.h"
#include "vm/tlb.h"

/*
 * rmap_unmap_shared - drop every translation of the page at `index` of a file or shared object.
 * o->lock is held; the caller calls tlb_batch_done() once it has let go of it.
 */
void rmap_unmap_shared(struct vm_object *o, uint64_t index, struct page *pg, struct tlb_batch *b);
/* rmap_unmap_private - the same for a private page; its family's lock is held, no object's. */
void rmap_unmap_private(struct anon_family *f, struct page *pg, struct tlb_batch *b);
/* rmap_replace_private - name `to` instead of `from` in every object of the family; lock as above. */
void rmap_replace_private(struct anon_family *f, struct page *from, struct page *to);

/* page_lock_wait - sleep until PG_LOCKED is clear; the caller holds a reference and no spin lock. */
void page_lock_wait(struct page *pg);
/* page_unlock - clear PG_LOCKED and wake those who wait. */
void page_unlock(struct page *pg);
void rmap_boot(void);

#endif
