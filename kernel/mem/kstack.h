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
 * kstack_alloc - allocate a stack of KSTACK_SIZE bytes, page-aligned, in frames of memory node `node` or
 * near it.  Returns its lowest address.  Its contents are undefined.  NULL: no memory, or KSTACK_MAX stacks
 * in use.  Waits while memory is short; no locks are held.
 * kstack_free - free a stack, on which no thread runs any more.  Any context.
 */
void *kstack_alloc(unsigned node);
void kstack_free(void *stack);
/*
 * kstack_reap - free all stacks that are not in use.  Returns the number of frames.  No spin locks are
 * held.
 */
unsigned kstack_reap(void);
/* kstack_many - whether more unused stacks are kept than new threads are likely to need.  Any context. */
bool kstack_many(void);
void kstack_init(void);
extern _Atomic uint64_t kstack_tables; /* page tables for stacks; they are never freed */

#endif
