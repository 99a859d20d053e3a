// SPDX-License-Identifier: MIT
/*
 * timerq.h - the armed timers of one CPU: a pairing heap whose root is the earliest timer.
 *
 * THEORY      The links of the heap are in struct timer, so arming needs no memory and cannot fail.  The heap
 *             is a tree in which no timer is earlier than its parent.  `child` points to the first child of a
 *             timer, and `next` links siblings.  Two trees are joined by one comparison.  When a timer is
 *             removed, its children are joined in pairs, and then the pairs are joined from the last to the
 *             first.
 * COST        insert O(1); remove O(log n), amortised
 * INVARIANTS  I1  t->deadline_ns >= its parent's
 *             I2  *t->link == t while armed; link == NULL otherwise
 * LOCKING     the caller's
 * SEE ALSO    Fredman, Sedgewick, Sleator, Tarjan: The Pairing Heap (1986); tests/host/test_timerq.c
 */
#ifndef DISP_TIMERQ_H
#define DISP_TIMERQ_H

#include "disp/timer.h"

/* timerq_insert - add `t`, which is not armed and whose deadline is set, to the heap at *root. */
void timerq_insert(struct timer **root, struct timer *t);
/* timerq_remove - take `t`, which is armed, out of the heap at *root. */
void timerq_remove(struct timer **root, struct timer *t);

#endif
