// SPDX-License-Identifier: MIT
/*
 * load.c - the load of lgroups, as decaying averages.
 *
 * THEORY      See load.h for the model.  The arithmetic of the average:
 *             Ten times a second the average of an lgroup of n CPUs is updated in n steps, one per CPU:
 *                 avg += f * (runnable on that CPU) - ceil(avg * f / 65536),
 *                 f = 65536 * (1 - exp(-1 / (20 n)))
 *             so the time constant is 2 s for any n, and n busy CPUs give 65536.  The runnable threads of the
 *             lgroup are spread evenly over its steps.
 *             For a creating process, threads that are not held count in whole threads (lgrp_threads_seen).
 *             The result is the smallest of four numbers: the threads runnable now, those at each of the last
 *             two updates, and the average, where 3/4 of a thread or more counts as one.  No single number is
 *             enough, because an average still contains threads that have ended, and the present count may
 *             contain a shell that is about to sleep.
 * SEE ALSO    load.h, promise.c, tests/host/test_load.c
 */
#include "lgrp/load.h"

#include "lgrp/promise.h"
#include "lib/bitmap.h"
#include "lib/string.h"

enum { DECAY_TABLE = 32 };

/* By number of CPUs n: round(65536 * (1 - exp(-1 / (20 n)))). */
static const uint16_t decay[DECAY_TABLE] = {
    0,   3196, 1618, 1083, 814, 652, 544, 466, 408, 363, 327, 297, 272, 252, 234, 218,
    204, 192,  182,  172,  164, 156, 149, 142, 136, 131, 126, 121, 117, 113, 109, 106,
};

static uint32_t decay_factor_of(unsigned ncpus)
{
    return ncpus < DECAY_TABLE ? decay[ncpus] : decay[1] / ncpus;
}

/* One step of an average: `runnable` threads on one CPU, decay factor `f`. */
static uint32_t step_load_average(uint32_t avg, uint32_t f, unsigned runnable)
{
    uint64_t lost = ((uint64_t)avg * f + (AVG_FULL - 1)) / AVG_FULL;
    uint64_t next = avg - lost + (uint64_t)f * runnable;

    return next < UINT32_MAX ? (uint32_t)next : UINT32_MAX;
}

/* Converts an average to a number of threads; 3/4 of a thread or more counts as one. */
static uint32_t whole_threads(const struct lpl *l, uint64_t avg)
{
    return (uint32_t)((avg * l->ncpus + AVG_FULL / 4) / AVG_FULL);
}

void lgrp_part_init(struct lgrp_part *part)
{
    memset(part, 0, sizeof *part);
}

void lgrp_part_cpu(struct lgrp_part *part, unsigned lgrp, int delta)
{
    struct lpl *l = &part->lpl[lgrp];

    l->ncpus = (uint16_t)(l->ncpus + delta);
    if (l->ncpus != 0)
        part->lgrps |= 1ull << lgrp;
    else
        part->lgrps &= ~(1ull << lgrp);
}

uint32_t lpl_load_of_halves(const struct lpl *l, uint64_t halves)
{
    uint64_t load = halves * LGRP_LOAD_FULL / (2ull * l->ncpus);

    return load < UINT32_MAX ? (uint32_t)load : UINT32_MAX;
}

uint32_t lpl_load(const struct lpl *l)
{
    uint64_t load = ((uint64_t)l->avg + l->antic) * LGRP_LOAD_FULL / AVG_FULL;

    if (l->ncpus == 0)
        return UINT32_MAX;
    if (l->held != 0)
        return lpl_load_of_halves(l, l->held + 2ull * l->others);
    return load < UINT32_MAX ? (uint32_t)load : UINT32_MAX;
}

uint16_t lgrp_threads_seen(const struct lgrp_part *part, unsigned lgrp, unsigned excluded)
{
    const struct lpl *l = &part->lpl[lgrp];
    uint32_t n = whole_threads(l, l->avg);

    n = min_of(n, (uint32_t)min_of(l->recent[0], l->recent[1]));
    if (n > excluded)
        n = min_of(n, (uint32_t)clock_runnable_now(part, lgrp));
    return (uint16_t)(n > excluded ? n - excluded : 0);
}

void lgrp_part_update(struct lgrp_part *part, const uint16_t runnable[LGRP_MAX])
{
    part->updates++;
    for (uint64_t left = part->lgrps; left != 0; left &= left - 1) {
        unsigned g = bit_first(left);
        struct lpl *l = &part->lpl[g];
        unsigned n = l->ncpus, each = runnable[g] / n, extra = runnable[g] % n;
        uint32_t f = decay_factor_of(n), most;

        for (unsigned i = 0; i < n; i++) {
            l->avg = step_load_average(l->avg, f, each + (i < extra));
            l->antic = step_load_average(l->antic, f, 0);
        }
        l->recent[1] = l->recent[0];
        l->recent[0] = runnable[g];
        most = whole_threads(l, (uint64_t)l->avg + l->antic);
        if (l->others > most)
            l->others = (uint16_t)most;
    }
    promises_expire(part);
}
