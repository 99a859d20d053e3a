// SPDX-License-Identifier: MIT
/*
 * timerq.h - the armed timers of one CPU, earliest first: a pairing heap whose links lie in the timers.
 *
 * THEORY      So arming needs no memory and cannot fail.  A heap-ordered tree: each timer is no earlier than its
 *             parent; the first child hangs on `child`, its siblings on `next`.  Two trees are joined by one
 *             comparison.  Removing a timer joins its children in pairs, then the pairs from the last to the first.
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
