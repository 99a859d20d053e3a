// SPDX-License-Identifier: MIT
/*
 * loadavg.c - the three load averages of uptime(1).
 *
 * THEORY      Each is an exponentially decaying mean: every 5 s,  avg = avg * e + n * (1 - e),
 *             with e = exp(-5 s / period) in fixed point.
 * SEE ALSO    loadavg.h, getloadavg(3)
 */
#include "disp/loadavg.h"
#include "disp/disp.h"

#define ONE (1u << LOADAVG_SHIFT)

_Atomic uint32_t loadavg[3];

void loadavg_update(_Atomic uint32_t avg[3], unsigned runnable)
{
    /* 2048 * exp(-5/60), 2048 * exp(-5/300), 2048 * exp(-5/900) */
    static const uint32_t decay[3] = {1884, 2014, 2037};

    for (unsigned i = 0; i < 3; i++) {
        uint64_t up = runnable * ONE > avg[i] ? ONE - 1 : 0; /* round up while the average rises */

        avg[i] = (uint32_t)((avg[i] * (uint64_t)decay[i] +
                             (uint64_t)runnable * ONE * (ONE - decay[i]) + up) >>
                            LOADAVG_SHIFT);
    }
}

unsigned disp_runnable(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < ncpu; i++) {
        const struct disp_cpu *d = cpus[i] != NULL ? cpus[i]->disp : NULL;

        if (d != NULL)
            n += d->q.nrun + (atomic_load_explicit(&d->runpri, memory_order_relaxed) >= 0);
    }
    for (unsigned i = 0; i < cpupart_end; i++)
        n += cpuparts[i] != NULL ? cpuparts[i]->rt.nrun : 0;
    return n;
}
