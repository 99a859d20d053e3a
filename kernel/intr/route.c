// SPDX-License-Identifier: MIT
/*
 * route.c - on which CPU a device interrupt arrives: see route.h.
 */
#include "intr/route.h"

/* LAB sets-route: begin */
/*
 * The member of `m` where the fewest interrupts arrive; among equals, the first at or after `from`, wrapping
 * around.  CPU_MAX: m is empty.
 */
static unsigned cpu_with_fewest_intrs(const struct intr_route *r, const struct cpumask *m,
                                      unsigned from)
{
    unsigned best = CPU_MAX, low = cpumask_next(m, 0), cpu = cpumask_next(m, from),
             n = cpumask_weight(m);

    for (; n > 0; n--) {
        if (cpu == CPU_MAX)
            cpu = low;
        if (best == CPU_MAX || r->narrive[cpu] < r->narrive[best])
            best = cpu;
        cpu = cpumask_next(m, cpu + 1);
    }
    return best;
}

unsigned intr_route(const struct intr_route *r)
{
    unsigned lgrp;

    if (r->wanted == CPU_MAX)
        return cpu_with_fewest_intrs(r, r->cand, 0);
    if (cpumask_test(r->cand, r->wanted))
        return r->wanted;
    lgrp = r->topo->cpu_lgrp[r->wanted];
    for (unsigned k = 0; k < r->topo->nlevels[lgrp]; k++) {
        struct cpumask m = cpumask_and(&r->topo->level_cpus[lgrp][k], r->cand);
        unsigned cpu = cpu_with_fewest_intrs(r, &m, r->wanted + 1);

        if (cpu != CPU_MAX)
            return cpu;
    }
    return CPU_MAX;
}
/* LAB sets-route: end */
