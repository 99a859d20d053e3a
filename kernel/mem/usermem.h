// SPDX-License-Identifier: MIT
/*
 * usermem.h - kernel memory held by users: open files, buffers of pipes and sockets, record locks.
 *
 * THEORY      Programs cause the kernel to allocate memory, and without a limit one user could take all of
 *             it.  So each such object is charged to the user whose thread made it.  The charge stays until
 *             the object is freed, even if the object has been passed to a process of another user.
 *             A user has one account for all kinds of objects, so the sum over all kinds is limited.  An
 *             ordinary user can hold at most user_kmem_percent of memory.  The superuser has no limit.
 * INVARIANTS  I1  u->bytes is the sum over the objects that were charged to u and are not returned
 * LOCKING     The counters are atomic, so there are no locks.  usermem_charge() must be called by a thread.
 *             usermem_return() can be called in any context.
 * TUNABLES    user_kmem_percent
 * SEE ALSO    proc/limits.c (struct ucount), docs/processes.md, tests/test_limits.py
 */
#ifndef MEM_USERMEM_H
#define MEM_USERMEM_H

#include "lib/types.h"

struct usermem {
    _Atomic uint64_t bytes;
    _Atomic uint32_t in_flight; /* files in messages of AF_UNIX sockets (net/unixgc.c) */
};

/* usermem_init - set the limit from the size of memory.  Called after the tunables are set. */
void usermem_init(void);
/*
 * usermem_charge - charge `bytes` to the calling thread's user.  Returns the account, for
 * usermem_return().  NULL: the caller is not the superuser, and either its user would exceed the limit, or all
 * remaining memory is promised.  Takes no locks.
 */
struct usermem *usermem_charge(size_t bytes);
static inline void usermem_return(struct usermem *u, size_t bytes)
{
    atomic_fetch_sub_explicit(&u->bytes, bytes, memory_order_relaxed);
}
/* usermem_scarce - whether the caller, an ordinary user, holds more than half of its limit. */
bool usermem_scarce(void);

/* ---- implemented by proc/ ---- */
/*
 * proc_usermem - the account of the calling thread's user; root's for a kernel thread.
 * proc_is_superuser - whether the calling thread has the rights of the superuser now; true for a kernel
 * thread.
 * oom_frees - called when the calling thread has waited in vain for a frame.  Can choose a process and end it;
 * sleeps.  Returns whether a process that is ending will free memory.
 */
struct usermem *proc_usermem(void);
bool proc_is_superuser(void);
bool oom_frees(void);

/* ---- implemented by pages/ ---- */
/*
 * reserve_spares - whether `pages` pages could be taken permanently without using memory that was promised to
 * programs.  The function reserves nothing, so another thread may take the pages first.
 */
bool reserve_spares(uint64_t pages);

#endif
