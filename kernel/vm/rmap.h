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
 * o->lock is held; the caller calls tlb_batch_done() once it has let go of it.  Returns how many segments it looked at.
 */
unsigned rmap_unmap_shared(struct vm_object *o, uint64_t index, struct page *pg,
                           struct tlb_batch *b);
/* rmap_unmap_private - the same for a private page, except where it is locked; its family's lock is held. */
void rmap_unmap_private(struct anon_family *f, struct page *pg, struct tlb_batch *b);
/*
 * page_replace - name `to` instead of `from`, which is busy, unmapped and on no list, wherever it is named: in object
 * `o`, or for a private page (f != NULL) in the objects of family `f`.  `to` gets a reference for each, `from` loses
 * them; the caller holds both.  Takes the family's lock or o->lock.  Any context.
 */
void page_replace(struct vm_object *o, struct anon_family *f, struct page *from, struct page *to);

/*
 * rmap_protect_shared - make every translation of pages first .. last of an object read-only.  o->lock is held.  All
 * spaces that could write there are flushed by tlb_batch_done(), also those whose translation is just being taken away.
 */
void rmap_protect_shared(struct vm_object *o, uint64_t first, uint64_t last, struct tlb_batch *b);

/*
 * rmap_referenced_shared, rmap_referenced_private - has the page been touched through a mapping, or is it locked there?
 * @clear  and forget it, so that the next touch is seen once the batch is done
 * Locks as for rmap_unmap_*.
 */
bool rmap_referenced_shared(struct vm_object *o, uint64_t index, struct page *pg, bool clear,
                            struct tlb_batch *b);
bool rmap_referenced_private(struct anon_family *f, struct page *pg, bool clear,
                             struct tlb_batch *b);

/* page_wait - sleep until no flag of `mask` (PG_LOCKED, PG_WRITEBACK, PG_PREPARE) is set; no spin lock is held. */
void page_wait(struct page *pg, uint32_t mask);
/* page_done - clear them and wake those who wait.  Any context. */
void page_done(struct page *pg, uint32_t mask);
static inline void page_lock_wait(struct page *pg)
{
    page_wait(pg, PG_LOCKED);
}
static inline void page_unlock(struct page *pg)
{
    page_done(pg, PG_LOCKED);
}
void rmap_boot(void);

#endif
