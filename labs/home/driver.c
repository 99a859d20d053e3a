// SPDX-License-Identifier: MIT
/*
 * driver.c - the lab "home": calls lgrp_choose_home() for the grader.
 */
#include "labs/sandbox.h"
#include "lgrp/home.h"
#include "lgrp/lgrp.h"

enum { FIXED = 8 }; /* numbers before the arrays */

/*
 * choose: cand, spanned, home, expand_thresh, expand_diff, tolerance, n, 1 if there are affinities; then `n` loads, `n`
 * numbers of CPUs, `n` affinities; then random numbers.  Answers the choice for each random number.
 */
static void choose(const uint64_t *arg, size_t n)
{
    static uint32_t load[LGRP_MAX];
    static uint16_t ncpus[LGRP_MAX];
    static uint8_t aff[LGRP_MAX];
    size_t lgrps = arg[6] <= LGRP_MAX ? arg[6] : LGRP_MAX;

    for (size_t i = FIXED + 3 * lgrps; i < n; i++) {
        struct lgrp_home_in in = {
            .cand = arg[0],
            .spanned = arg[1],
            .load = load,
            .ncpus = ncpus,
            .aff = arg[7] != 0 ? aff : NULL,
            .home = (unsigned)arg[2],
            .expand_thresh = (uint32_t)arg[3],
            .expand_diff = (uint32_t)arg[4],
            .tolerance = (uint32_t)arg[5],
            .rnd = (uint32_t)arg[i],
        };

        for (size_t g = 0; g < lgrps; g++) {
            load[g] = (uint32_t)arg[FIXED + g];
            ncpus[g] = (uint16_t)arg[FIXED + lgrps + g];
            aff[g] = (uint8_t)arg[FIXED + 2 * lgrps + g];
        }
        sandbox_answer(lgrp_choose_home(&in));
    }
}

void sandbox_prepare(void)
{
}

const struct sandbox_op sandbox_ops[] = {{"choose", choose}, {NULL, NULL}};
