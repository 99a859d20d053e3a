// SPDX-License-Identifier: MIT
/*
 * park.h - parking: a CPU that has spun for a while halts until another CPU wakes it up.
 *
 * THEORY      QEMU can run each CPU in its own host thread.  If there are more CPUs than host cores, the host
 *             may have stopped the thread of CPU A, which holds a spin lock or must answer a TLB shootdown.  A
 *             CPU that spins while it waits for A then uses the host core that A needs, for one time slice of
 *             the host or for hundreds.
 *             So after PARK_TURNS turns a spinning CPU halts, and the CPU that ends its wait wakes it up.
 *             Guests of hypervisors do the same for their spin locks (T. Friebel, S. Biemueller, "How to Deal
 *             with Lock Holder Preemption", Xen Summit 2008; Linux's kvm_wait, kvm_kick_cpu).  The halted CPU
 *             has interrupts off, so the wakeup is an NMI.
 *             Each wait has a key, which names the event.  park_begin() sets cpu->park to PARK_WAITS.  The
 *             CPU that ends the wait changes it to PARK_WOKEN and sends one NMI; the NMI's handler changes it
 *             to PARK_NONE.  If no CPU has sent a wakeup, the waiting CPU changes it to PARK_NONE itself.
 *             If one host thread runs all CPUs, `pause` lets the next CPU run, and parking is off (park_on).
 * INVARIANTS  I1  each PARK_WOKEN comes with one NMI; park_end() does not return before that NMI has arrived
 *             I2  the waiting CPU announces its wait, executes a full barrier, and then tests its condition;
 *                 the other CPU changes the condition, executes a full barrier, and then looks for waits.  So
 *                 at least one of the two sees the other
 *             I3  an NMI that arrives while another is pending is lost, so a CPU can mistake an NMI to all CPUs
 *                 for a wakeup.  Therefore the CPU that handles such an NMI sets park_nmi_is_all, and sends the
 *                 NMI again to all CPUs
 * SEE ALSO    docs/boot.md, "The host's cores"
 */
#ifndef LIB_PARK_H
#define LIB_PARK_H

#include "lib/types.h"

struct regs;

enum { PARK_NONE, PARK_WAITS, PARK_WOKEN }; /* cpu->park */
/* Measured with forks on 24 CPUs and two host cores: of 30, 100, 300, 1000 and 3000, 100 took the least time. */
enum { PARK_TURNS = 100 };

#ifdef HR_HOST
enum { park_on = false };
#else
extern bool park_on; /* set at boot */
#endif

/* park_key - the key of a wait for the object at address `what`; `n` distinguishes waits for the same object. */
static inline uint64_t park_key(const void *what, uint16_t n)
{
    return (uint64_t)what << 16 | n;
}

/*
 * park_begin - announce this CPU's wait.  The caller then tests the condition and calls park_end().  Interrupts
 * are off.
 */
void park_begin(uint64_t key);
/*
 * park_end - end the wait.  @halt: the condition is not true yet, so halt until a wakeup.
 * park_end() can return although the condition is still not true, so the caller must test the
 * condition again.
 */
void park_end(bool halt);
/* park_wake - wake up the CPUs that wait with this key.  Called in any context, after the condition has become true. */
void park_wake(uint64_t key);
/* park_nmi_is_all - set when an NMI to all CPUs is handled: from then on every NMI counts as one of these. */
extern _Atomic bool park_nmi_is_all;
/*
 * park_nmi - called first for every NMI.  Returns whether it is a wakeup, that is, cpu->park is PARK_WOKEN.
 */
bool park_nmi(struct regs *r);

#endif
