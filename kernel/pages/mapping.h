// SPDX-License-Identifier: MIT
/*
 * mapping.h - what the page cache needs of address spaces.
 *
 * THEORY      Programs map pages, and the page tables belong to vm/.  Before a page is written or removed, its
 *             translations must change.  The functions below change them while the owner of the page is locked.
 *             They collect in a batch the address spaces whose TLB entries are then out of date.  A TLB flush
 *             waits for other CPUs, so it is done later, when no spin lock is held, and once for many pages.
 */
#ifndef PAGES_MAPPING_H
#define PAGES_MAPPING_H

#include "pages/owner.h"

struct as;

/* Address spaces to flush later, collected while spin locks are held. */
#define TLB_BATCH 6
struct tlb_batch {
    unsigned n;
    bool everyone;            /* more than TLB_BATCH spaces: flush all that CPUs have loaded */
    struct as *as[TLB_BATCH]; /* the spaces; the batch has a reference to each */
};
static inline void tlb_batch_init(struct tlb_batch *b)
{
    b->n = 0;
    b->everyone = false;
}

/* ---- implemented by vm/ ---- */
/*
 * rmap_unmap - drop every translation of a page, except locked translations of a private page.  The caller has
 * locked the page's owner.  Returns the number of segments looked at.
 * rmap_protect_shared - make every translation of pages first .. last of an object read-only.  o->lock is
 * held.  All spaces that could write there go into the batch, because another thread may have cleared an entry
 * and not yet flushed.
 * rmap_referenced - was the page touched through a mapping, or is it locked in one?  For a shared page, touches
 * through mappings with MADV_SEQUENTIAL do not count.  The caller has locked the page's owner.
 * @clear  clear the accessed bits.  After tlb_batch_done() the next touch sets them again
 * tlb_batch_flush - flush the collected spaces; the batch is empty afterwards.  The caller must hold no spin
 * lock.
 * as_each_anon - call fn(o, arg) for the private object of each address space, and for each shared object without
 * a file that an address space maps, until a call fails.  Returns 0 or that error.  Sleeps.  During
 * a call of fn, the space is locked.
 * as_anon_is_ending - whether `o` is the private object of a space without users, whose pages will be freed.  Takes no
 * locks.
 */
unsigned rmap_unmap(struct page_owner own, struct page *pg, struct tlb_batch *b);
void rmap_protect_shared(struct vm_object *o, uint64_t first, uint64_t last, struct tlb_batch *b);
bool rmap_referenced(struct page_owner own, struct page *pg, bool clear, struct tlb_batch *b);
void tlb_batch_flush(struct tlb_batch *b);
int as_each_anon(int (*fn)(struct vm_object *o, void *arg), void *arg);
bool as_anon_is_ending(struct vm_object *o);

/*
 * tlb_batch_done - call tlb_batch_flush() if the batch is not empty.  The caller has released the locks of its
 * owners.
 */
static inline void tlb_batch_done(struct tlb_batch *b)
{
    if (b->n != 0 || b->everyone)
        tlb_batch_flush(b);
}

#endif
