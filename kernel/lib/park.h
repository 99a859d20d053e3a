// SPDX-License-Identifier: MIT
/*
 * park.h - CPUs that wait for one another halt, where each has a host thread of its own.
 *
 * THEORY      A CPU that spins keeps a core of the host from the CPU it waits for, if that has none: for whole time
 *             slices of the host, and with more CPUs than cores for hundreds of them.  So after PARK_TURNS turns it
 *             halts, and who ends its wait wakes it.  Guests of hypervisors do the same for their spin locks
 *             (T. Friebel, S. Biemueller, "How to Deal with Lock Holder Preemption", Xen Summit 2008; Linux's kvm_wait,
 *             kvm_kick_cpu).  Interrupts are off, so what wakes is an NMI.
 *             Each wait has a key, which says what for.  cpu->park is PARK_WAITS from park_begin() on; who ends the
 *             wait makes that PARK_WOKEN and sends one NMI, whose handler makes it PARK_NONE; a CPU that nobody has
 *             woken does that itself.  With all CPUs in one thread of the host, `pause` gives the turn to the next,
 *             and none of this is needed.
 * INVARIANTS  I1  one NMI for each PARK_WOKEN, and the CPU is in park_end() until it has come
 *             I2  a wait is announced before the last look whether it is over, and looked for after it was ended, each
 *                 with a full barrier between: one of the two sees the other
 *             I3  an NMI that comes while another is pending is lost: one for all CPUs may be taken for a wake.  Who
 *                 handles that one sets park_nmi_is_all and sends another, which no wake takes
 * SEE ALSO    docs/boot.md, "The host's cores"
 */
#ifndef LIB_PARK_H
#define LIB_PARK_H

#include "lib/types.h"

struct regs;

enum { PARK_NONE, PARK_WAITS, PARK_WOKEN }; /* cpu->park */
enum { PARK_TURNS = 100 }; /* forks, 24 CPUs, two cores: the least of 30, 100, 300, 1000, 3000 */

#ifdef HR_HOST
enum { park_on = false };
#else
extern bool park_on; /* set at boot */
#endif

/* park_key - a wait for the thing at `what`, and for number `n` of it. */
static inline uint64_t park_key(const void *what, uint16_t n)
{
    return (uint64_t)what << 16 | n;
}

/* park_begin - announce a wait; park_end() must follow.  Interrupts are off. */
void park_begin(uint64_t key);
/* park_end - halt until woken if `halt`, that is, if the wait is not over yet.  It may return before that is so. */
void park_end(bool halt);
/* park_wake - wake who waits with this key, after the wait was ended.  Looks at the parked CPUs only; any context. */
void park_wake(uint64_t key);
/* park_nmi_is_all - an NMI for all CPUs is handled: whatever else an NMI was, it is that as well. */
extern _Atomic bool park_nmi_is_all;
/* park_nmi - what an NMI does first.  Returns whether it was a park_wake()'s. */
bool park_nmi(struct regs *r);

#endif
