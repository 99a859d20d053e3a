// SPDX-License-Identifier: MIT
/*
 * usermem.h - memory of the kernel that users hold: open files, buffers of pipes and sockets, record locks.
 *
 * THEORY      Each such object counts with the user whose thread made it, for as long as it exists, whatever process it
 *             has gone to meanwhile.  A user has one account for all kinds, so the sum is bounded, and not only each
 *             kind; an ordinary user may hold user_kmem_percent of memory, the superuser what there is.
 * INVARIANTS  I1  u->bytes is the sum over the objects that were charged to u and are not returned
 * LOCKING     none: atomic counters.  usermem_charge() is for threads; usermem_return() for any context.
 * TUNABLES    user_kmem_percent
 * SEE ALSO    proc/limits.c (struct ucount), docs/processes.md, tests/test_limits.py
 */
#ifndef MEM_USERMEM_H
#define MEM_USERMEM_H

#include "lib/types.h"

struct usermem {
    _Atomic uint64_t bytes;
};

/* usermem_init - the limit, from the size of memory; after the tunables are set. */
void usermem_init(void);
/*
 * usermem_charge - count `bytes` with the calling thread's user.  The account, for usermem_return(); NULL: the user is
 * not the superuser and would hold more than it may, or all that is left is promised.  Takes no locks.
 */
struct usermem *usermem_charge(size_t bytes);
static inline void usermem_return(struct usermem *u, size_t bytes)
{
    atomic_fetch_sub_explicit(&u->bytes, bytes, memory_order_relaxed);
}
/* usermem_scarce - does the caller, an ordinary user, hold more than half of what it may? */
bool usermem_scarce(void);

/* ---- implemented by proc/ ---- */
/*
 * proc_usermem - the account of the calling thread's user; that of root for a thread of the kernel.
 * proc_is_superuser - whether the calling thread is the superuser now, as threads of the kernel are.
 * oom_frees - the calling thread has waited in vain for a frame.  Looks for a process to end, and sleeps.  Returns
 *             whether memory is going to be freed by processes that end.
 */
struct usermem *proc_usermem(void);
bool proc_is_superuser(void);
bool oom_frees(void);

/* ---- implemented by pages/ ---- */
/*
 * reserve_spares - whether `pages` could be taken for good, beside the memory that programs were promised.  It
 *                  reserves nothing: another thread may take them first.
 */
bool reserve_spares(uint64_t pages);

#endif
