// SPDX-License-Identifier: MIT
/*
 * runtime.h - private to disp/: the CPU time that a thread uses, and the rest of its time slice.
 */
#ifndef DISP_RUNTIME_H
#define DISP_RUNTIME_H

#include "disp/disp.h"

/*
 * charge_runtime - charge running thread `t` (t->lock held) for the TSC cycles from oncpu_since to
 * `now`.
 */
static inline void charge_runtime(struct thread *t, uint64_t now)
{
    t->runtime_tsc += now - t->oncpu_since;
    if (unlikely(t->runtime_tsc >= t->alarm_tsc))
        atomic_fetch_or(&t->ast, AST_ALARM);
    if (unlikely(t->cls == CLASS_FSS)) /* the only class for which it does anything */
        class_charge(t, now - t->oncpu_since);
    t->oncpu_since = now;
}

/* slice_rest - rest of the running thread's slice at TSC `now`, in cycles; 0: the slice is over, a new one begins. */
static inline uint64_t slice_rest(const struct disp_cpu *d, uint64_t now)
{
    return d->quantum_end > now ? d->quantum_end - now : 0;
}

#endif
