// SPDX-License-Identifier: MIT
/*
 * context.h - the processor state that belongs to a thread: user registers, FPU, segment bases.
 *
 * LOCKING  No locks: the caller is the thread itself, or the thread was not started yet.
 */
#ifndef DISP_CONTEXT_H
#define DISP_CONTEXT_H

#include "disp/thread.h"
#include "x86/trap.h"

/* thread_regs - where the user registers of `t` are saved: at the top of its kernel stack. */
struct regs *thread_regs(struct thread *t);
/* thread_fpu_save - save the FPU state of this CPU in t->fpu.  thread_fpu_load - load it from there. */
void thread_fpu_save(struct thread *t);
void thread_fpu_load(struct thread *t);
/* thread_fpu_init - set a program's initial FPU state: in t->fpu and, for curthread, in the CPU. */
void thread_fpu_init(struct thread *t);
/* thread_set_fsbase, thread_set_gsbase - set curthread's user segment base (a virtual address). */
void thread_set_fsbase(uint64_t base);
void thread_set_gsbase(uint64_t base);

#endif
