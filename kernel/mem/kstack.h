// SPDX-License-Identifier: MIT
/*
 * kstack.h - kernel stacks.  See kstack.c.
 */
#ifndef MEM_KSTACK_H
#define MEM_KSTACK_H

#include "lib/types.h"

#define KSTACK_PAGES 4u
#define KSTACK_SIZE  (KSTACK_PAGES * PAGE_SIZE)

/*
 * kstack_alloc - the lowest byte of a stack of KSTACK_SIZE bytes, page-aligned, in frames of memory node `node` or near
 * it.  Its contents are undefined.  NULL: no memory, or KSTACK_MAX stacks.  Waits while memory is short; no locks held.
 * kstack_free - give it back.  Nobody stands on it.  Any context.
 */
void *kstack_alloc(unsigned node);
void kstack_free(void *stack);
/* kstack_reap - give the frames of all stacks that nobody uses back.  Returns how many.  No spin locks held. */
unsigned kstack_reap(void);
/* kstack_many - whether more stacks wait than the next threads are likely to need.  Any context. */
bool kstack_many(void);
void kstack_init(void);
extern _Atomic uint64_t kstack_tables; /* page tables that map stacks: not free, not leaked */

#endif
