// SPDX-License-Identifier: MIT
/*
 * futex.h - sleeping on a word of user memory.
 *
 * Addresses are user addresses; `priv`: the caller promises that only its own process uses the
 * word. All may sleep. -EINVAL: misaligned; -EFAULT: not there.
 */
#ifndef IPC_FUTEX_H
#define IPC_FUTEX_H

#include "lib/types.h"

/* futex_init - once at boot. */
void futex_init(void);
#define FUTEX_ANY UINT32_MAX /* bitset that matches every waiter */

/*
 * futex_wait - sleep if the word at uaddr is `val`, until woken with a bitset that meets
 * `bitset`.
 * @deadline  ns of clock_mono_ns(), or NO_DEADLINE
 * 0 woken, -EAGAIN another value, -ETIMEDOUT, -EINTR a signal came.
 */
int futex_wait(uint64_t uaddr, uint32_t val, uint32_t bitset, bool priv, uint64_t deadline);
/*
 * futex_requeue - wake nwake waiters of `from`, move up to nmove others to `to`.
 * @expect  NULL, or the value that `from` must hold (-EAGAIN)
 * Returns the number woken, plus the number moved if expect is given.
 */
long futex_requeue(uint64_t from, uint64_t to, unsigned nwake, unsigned nmove, bool priv,
                   const uint32_t *expect);
/*
 * futex_wake_op - change the word at uaddr2 as `op` says (futex(2), FUTEX_WAKE_OP), wake n1
 * waiters of uaddr1 and, if the old value passes op's comparison, n2 of uaddr2.  Returns how
 * many; -ENOSYS: bad op.
 */
long futex_wake_op(uint64_t uaddr1, uint64_t uaddr2, unsigned n1, unsigned n2, bool priv,
                   uint32_t op);

#endif
