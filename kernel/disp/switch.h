// SPDX-License-Identifier: MIT
/*
 * switch.h - private to disp/: the switch from one thread to the next.
 */
#ifndef DISP_SWITCH_H
#define DISP_SWITCH_H

#include "disp/thread.h"

#define STACK_GUARD 0x57acc0de57acc0deull /* the lowest word of each kernel stack */

/*
 * switch_to - switch from curthread `prev` to `next`, which is ONPROC on this CPU.  The caller holds prev's
 * lock and no other.  If prev is RUNNABLE, the function queues prev.  Returns when prev runs again,
 * with its lock released.
 */
void switch_to(struct thread *prev, struct thread *next);

/* ---- entry.S ---- */
/*
 * context_switch - save prev's registers on prev's stack and continue `next`.  Returns in next's context; the
 * result is the thread that `next` has replaced.
 * context_begin - the code at which a new thread starts; calls thread_begin() (switch.c) with the replaced
 * thread.
 */
struct thread *context_switch(struct thread *prev, struct thread *next);
void context_begin(void);
void thread_begin(struct thread *prev);

#endif
