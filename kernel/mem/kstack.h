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
 * near it.  Returns the lowest address of the stack.  The contents are undefined.  NULL: no memory,
 * or KSTACK_MAX stacks in use.  Waits while memory is short, so the caller must hold no locks.
 * kstack_free - free a stack on which no thread runs any more.  Can be called in any context.
 */
void *kstack_alloc(unsigned node);
void kstack_free(void *stack);
/*
 * kstack_reap - free all stacks that are not in use.  Returns the number of frames.  The caller must hold no
 * spin locks.
 */
unsigned kstack_reap(void);
/* kstack_many - whether there are more unused stacks than new threads will probably need.  Any context. */
bool kstack_many(void);
void kstack_init(void);
extern _Atomic uint64_t kstack_tables; /* page tables for stacks; they are never freed */

#endif
