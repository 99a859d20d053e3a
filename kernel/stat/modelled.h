// SPDX-License-Identifier: MIT
/*
 * modelled.h - simulated time and counters of threads, if the model of the interconnect is attached.
 *
 * THEORY      The model (docs/fireplane.md) simulates a large machine and keeps a clock and counters for each
 *             of its CPUs.  The functions here attribute clock and counters to threads.  The result is the
 *             modelled time of each thread.
 *             At a switch, the thread that leaves saves the CPU's time as its own time, and is charged for the
 *             events that were counted since it came.  Then the CPU's clock advances to the time of the thread
 *             that comes, if that time is later.
 *             A thread that lets another thread continue (wake-up, hand-over of a lock, creation) passes its
 *             own time to that thread.  So a thread never continues before the simulated time of the event for
 *             which it waited.  Interrupts and kernel threads have no simulated time and pass none.  Without
 *             the model `modelled_page` is NULL, and the cost is one branch that is not taken.
 * INVARIANTS  I1  a thread's time never decreases
 *             I2  the time of a thread, once it runs, is not earlier than the time at which another thread
 *                 let it continue
 *             I3  the counters of all threads that ever existed, plus the counts of CPUs without a program,
 *                 add up to the counters of the CPUs
 * LOCKING     The thread's lock guards its struct modelled.  Exception: the CPU to which the thread comes sets
 *             `since` and `on` without the lock, while `coming` is set.  A CPU's slot of the page is used only
 *             by that CPU, with interrupts off.
 * SEE ALSO    include/uapi/fireplane.h, drivers/fireplane.c, disp/switch.c, docs/concurrency.md
 */
#ifndef STAT_MODELLED_H
#define STAT_MODELLED_H

#include "lib/types.h"
#include "uapi/fireplane.h"

struct modelled {
    /* the thread's clock at its last switch, or a later time that was passed to the thread */
    uint64_t time_ps;
    /* the thread's counts at its last switch; used.time_ps: picoseconds that the thread has run */
    struct fp_counts used;
    struct fp_counts since; /* the CPU's counters when the thread came to the CPU */
    uint32_t on;            /* 1 + id of the CPU that counts for the thread now; 0: no CPU */
    _Atomic bool coming;    /* a CPU is setting `since` and `on` */
};

extern void *modelled_page; /* [c] the page shared with the model; NULL: no model */

void modelled_new_frames_now(uint64_t base, uint64_t bytes);
void modelled_switch_now(struct modelled *from, struct modelled *to);
void modelled_pass_now(const struct modelled *from, struct modelled *to);

/*
 * modelled_new_frames - called when the frames of `bytes` bytes from physical address `base` on are allocated: the
 * model forgets how often CPUs missed on the pages that were there before (page heat).  The model is called whether
 * heat is on or not, so that heat changes nothing in the kernel.  Takes no locks; any context.
 */
static inline void modelled_new_frames(uint64_t base, uint64_t bytes)
{
    if (unlikely(modelled_page != NULL))
        modelled_new_frames_now(base, bytes);
}

/*
 * modelled_switch - called when this CPU switches between two threads; NULL: a thread without simulated time.
 * The caller holds the lock of `from`, `to` is ONPROC on this CPU, and interrupts are off.
 */
static inline void modelled_switch(struct modelled *from, struct modelled *to)
{
    if (unlikely(modelled_page != NULL))
        modelled_switch_now(from, to);
}

/*
 * modelled_pass - called when the running thread `from` lets thread `to` continue.  The caller holds the lock
 * of `to`.  NULL: a thread without simulated time.  Does nothing in an interrupt handler.
 */
static inline void modelled_pass(const struct modelled *from, struct modelled *to)
{
    if (unlikely(modelled_page != NULL))
        modelled_pass_now(from, to);
}

/*
 * modelled_read - store the counts of a thread up to now in *used and return its time, in ps.  The caller
 * holds the thread's lock, so the thread cannot leave its CPU; if the thread is just coming to a CPU, this
 * function waits until it has come.  The counters of another CPU may be slightly out of date
 * (include/uapi/fireplane.h).
 */
uint64_t modelled_read(const struct modelled *m, struct fp_counts *used);

#endif
