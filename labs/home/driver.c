// SPDX-License-Identifier: MIT
/*
 * driver.c - the lab "home": calls lgrp_choose_home() for the grader.
 */
#include "labs/sandbox.h"
#include "lgrp/home.h"
#include "lgrp/lgrp.h"

enum { FIXED = 8 }; /* numbers before the arrays */

/* The part beyond; NULL if the student has not written it. */
__attribute__((weak)) unsigned lgrp_home_with_hysteresis(const struct lgrp_home_in *in,
                                                         uint32_t hysteresis);

static uint32_t hysteresis;

static unsigned choose_with_hysteresis(const struct lgrp_home_in *in)
{
    return lgrp_home_with_hysteresis(in, hysteresis);
}

/*
 * Answers what `rule` chooses for each random number.  Arguments: cand, spanned, home, expand_thresh, expand_diff,
 * tolerance, n, 1 if there are affinities; then `n` loads, `n` numbers of CPUs, `n` affinities; then random numbers.
 */
static void choose_by(unsigned (*rule)(const struct lgrp_home_in *in), const uint64_t *arg,
                      size_t n)
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
        sandbox_answer(rule(&in));
    }
}

static void choose(const uint64_t *arg, size_t n)
{
    choose_by(lgrp_choose_home, arg, n);
}

/* hysteresis: this number, and the arguments of choose.  No answer: the part beyond is not written. */
static void stay(const uint64_t *arg, size_t n)
{
    hysteresis = (uint32_t)arg[0];
    if (lgrp_home_with_hysteresis != NULL)
        choose_by(choose_with_hysteresis, arg + 1, n - 1);
}

void sandbox_prepare(void)
{
}

const struct sandbox_op sandbox_ops[] = {{"choose", choose}, {"hysteresis", stay}, {NULL, NULL}};
