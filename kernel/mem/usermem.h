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

/*
 * Calls upwards, filled in by proc: the account of the calling thread's user, whether it is the superuser now, whether
 * so many pages can be spared beside what programs were promised, and whether memory is going to be freed by processes
 * that end: looks for one to end, and sleeps (proc/oom.c).
 */
struct usermem_ops {
    struct usermem *(*account)(void);
    bool (*superuser)(void);
    bool (*spares)(uint64_t pages);
    bool (*returns)(void);
};
extern struct usermem_ops usermem_ops;

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

#endif
