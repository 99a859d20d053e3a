// SPDX-License-Identifier: MIT
/*
 * futex.h - sleeping on a word of user memory.
 *
 * All addresses are user addresses.  `priv` means that the caller promises that only its own
 * process uses the word.
 * All functions may sleep.  All return -EINVAL for a misaligned address and -EFAULT for one that is not
 * mapped.  futex_wake() is in proc.h.
 */
#ifndef IPC_FUTEX_H
#define IPC_FUTEX_H

#include "lib/types.h"

/* futex_init - initialise the hash table; called once at boot. */
void futex_init(void);
#define FUTEX_ANY UINT32_MAX /* bitset that matches every waiter */

/*
 * futex_wait - if the word at uaddr is `val`, sleep until a wake-up whose bitset overlaps `bitset`.
 * @deadline  ns of clock_mono_ns(), or NO_DEADLINE
 * 0: woken; -EAGAIN: the word has another value; -ETIMEDOUT; -EINTR: a signal came.
 */
int futex_wait(uint64_t uaddr, uint32_t val, uint32_t bitset, bool priv, uint64_t deadline);
/*
 * futex_requeue - wake up to nwake waiters of `from`, and move up to nmove others to `to`.
 * @expect  NULL, or the value that the word `from` must have (else -EAGAIN)
 * Returns the number woken plus the number moved, with and without `expect`, as Linux does.
 */
long futex_requeue(uint64_t from, uint64_t to, unsigned nwake, unsigned nmove, bool priv,
                   const uint32_t *expect);
/*
 * futex_wake_op - change the word at uaddr2 as `op` specifies (futex(2), FUTEX_WAKE_OP).  Then wake up to n1
 * waiters of uaddr1 and, if the old value passes op's comparison, up to n2 waiters of uaddr2.  Returns the number
 * woken; -ENOSYS: invalid op.
 */
long futex_wake_op(uint64_t uaddr1, uint64_t uaddr2, unsigned n1, unsigned n2, bool priv,
                   uint32_t op);

#endif
