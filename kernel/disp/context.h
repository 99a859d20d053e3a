// SPDX-License-Identifier: MIT
/*
 * context.h - the processor state that belongs to a thread: user registers, floating point, segment bases.
 *
 * LOCKING  each is used by the thread itself, or on a thread that does not run yet
 */
#ifndef DISP_CONTEXT_H
#define DISP_CONTEXT_H

#include "disp/thread.h"
#include "x86/trap.h"

/* thread_regs - place of the user registers: the top of the kernel stack. */
struct regs *thread_regs(struct thread *t);
/* thread_fpu_save - store curthread's live state in t->fpu.  thread_fpu_load - the reverse. */
void thread_fpu_save(struct thread *t);
void thread_fpu_load(struct thread *t);
/* thread_fpu_init - the state a program starts with, in t->fpu and, for curthread, in the processor. */
void thread_fpu_init(struct thread *t);
/* thread_set_fsbase, thread_set_gsbase - curthread's user segment base (bytes), now and after each switch. */
void thread_set_fsbase(uint64_t base);
void thread_set_gsbase(uint64_t base);

#endif
