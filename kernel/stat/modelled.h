// SPDX-License-Identifier: MIT
/*
 * modelled.h - modelled time and counters of threads, when the interconnect model is attached.
 *
 * THEORY      The model (docs/fireplane.md) keeps a clock and counters for each CPU.  They become a thread's here: at
 *             a switch the thread that leaves takes the clock's time along, and what was counted since it came is
 *             its own; the CPU's clock becomes the latest of itself and the time of the thread that comes.  Who
 *             makes another thread go on (wake-up, hand-over of a lock, creation) gives it its own time, so
 *             that nobody goes on before what it waited for has happened.  Interrupts have no time of their own
 *             and give none; nor do kernel threads, whose work is not modelled.
 *             Without the model `modelled_page` is NULL and all of this is one branch not taken.
 * INVARIANTS  I1  a thread's time never goes back
 *             I2  a thread that was made to go on by another is, once it runs, not earlier than that one was then
 *             I3  the counters of all threads that ever were, with those of CPUs without a program, add up to the CPUs'
 * LOCKING     the thread's lock for its struct modelled, save that the CPU it comes to sets `since` and `on` with
 *             `coming` set, without it; a CPU's slot of the page only by that CPU, interrupts off
 * SEE ALSO    include/uapi/fireplane.h, drivers/fireplane.c, disp/thread.c, docs/concurrency.md
 */
#ifndef STAT_MODELLED_H
#define STAT_MODELLED_H

#include "lib/types.h"
#include "uapi/fireplane.h"

struct modelled {
    uint64_t time_ps;       /* its clock, up to its last switch or what others gave it since */
    struct fp_counts used;  /* what it has used, up to its last switch; time_ps: it ran   */
    struct fp_counts since; /* the CPU's counters when it came there                         */
    uint32_t on;            /* 1 + the CPU that counts for it now; 0: none                   */
    _Atomic bool coming;    /* a CPU is about to: `since` and `on` change                    */
};

extern void *modelled_page; /* [c] the page shared with the model; NULL: no model */

void modelled_switch_now(struct modelled *from, struct modelled *to);
void modelled_pass_now(const struct modelled *from, struct modelled *to);

/*
 * modelled_switch - the running CPU goes from a thread to another; NULL: one without modelled time.  The lock of the
 * one that leaves is held, the other is ONPROC here; interrupts are off.
 */
static inline void modelled_switch(struct modelled *from, struct modelled *to)
{
    if (unlikely(modelled_page != NULL))
        modelled_switch_now(from, to);
}

/*
 * modelled_pass - the running thread, `from`, makes another go on, whose lock is held.  NULL: one without modelled
 * time.  Does nothing in an interrupt.
 */
static inline void modelled_pass(const struct modelled *from, struct modelled *to)
{
    if (unlikely(modelled_page != NULL))
        modelled_pass_now(from, to);
}

/*
 * modelled_read - what a thread has used up to now.  Returns its time, in ps.  Its lock is held; that keeps it from
 * leaving a CPU, and one that it is coming to is waited for.  Another CPU's counters may lag a little behind
 * (include/uapi/fireplane.h).
 */
uint64_t modelled_read(const struct modelled *m, struct fp_counts *used);

#endif
