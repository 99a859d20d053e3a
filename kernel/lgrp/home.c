// SPDX-License-Identifier: MIT
/*
 * home.c - choosing the home lgroup of a thread.
 *
 * THEORY      1. If the thread has an affinity to any candidate, the candidate with the greatest affinity is
 *                taken.  Among equals this is the present home, or else the lgroup with the lowest number.
 *             2. Otherwise the candidates are split into those that the process already uses ("own") and the
 *                others.  In each class one scan finds the least loaded member.  The scan begins at a random
 *                member and wraps around.  A later member replaces the best so far only if its load is lower,
 *                so the random start decides between equals.  In the class of the others (all candidates, for a
 *                new process) the load must be lower by more than the tolerance.
 *             3. The best of the others is taken only if the load of the best own candidate is above
 *                expand_thresh, and the load of the other is lower than that by more than expand_diff.
 * INVARIANTS  I1  the result is a member of cand, or LGRP_NONE when cand is empty
 * UNITS       The tolerance is given for an lgroup of one CPU.  The load of one thread is LGRP_LOAD_FULL /
 *             ncpus, so the tolerance is also divided by the number of CPUs of the candidate.
 * SEE ALSO    home.h, tests/host/test_home.c, labs/home
 */
#include "lgrp/home.h"

#include "lib/bitmap.h"

enum { NONE = 255 }; /* LGRP_NONE */

/* LAB home: begin */
/* The member of `set` that has `skip` members below it; `set` has more than `skip` members. */
static unsigned nth_member(uint64_t set, unsigned skip)
{
    while (skip-- > 0)
        set &= set - 1;
    return bit_first(set);
}

/*
 * The least loaded member of `set`; NONE if the set is empty.  The scan starts at a random member and wraps
 * around.  Loads that differ by `tolerance` / CPUs or less are equal.
 */
static unsigned least_loaded_lgrp(const struct lgrp_home_in *in, uint64_t set, uint32_t tolerance)
{
    unsigned start =
        set != 0 ? nth_member(set, (unsigned)(((uint64_t)in->rnd * bit_count(set)) >> 32)) : 0;
    uint64_t low = set & ((1ull << start) - 1); /* members below `start`, visited last */
    uint64_t left = set & ~low;
    unsigned best = NONE;

    for (int half = 0; half < 2; half++, left = low) {
        for (; left != 0; left &= left - 1) {
            unsigned g = bit_first(left);
            uint64_t fudge = in->ncpus[g] != 0 ? tolerance / in->ncpus[g] : 0;

            if (best == NONE || in->load[g] + fudge < in->load[best])
                best = g;
        }
    }
    return best;
}

/*
 * The member of `cand` with the greatest affinity; among equals the home, or else the first.  NONE: all
 * affinities are 0.
 */
static unsigned highest_affinity_lgrp(const struct lgrp_home_in *in)
{
    unsigned best = NONE, most = 0;

    if (in->aff == NULL)
        return NONE;
    if (in->home != NONE && bit_test(in->cand, in->home)) {
        most = in->aff[in->home];
        best = most != 0 ? in->home : NONE;
    }
    for (uint64_t left = in->cand; left != 0; left &= left - 1) {
        unsigned g = bit_first(left);

        if (in->aff[g] > most) {
            most = in->aff[g];
            best = g;
        }
    }
    return best;
}

unsigned lgrp_choose_home(const struct lgrp_home_in *in)
{
    uint64_t own = in->cand & in->spanned;
    unsigned best, other;

    if (in->cand == 0)
        return NONE;
    best = highest_affinity_lgrp(in);
    if (best != NONE)
        return best;
    if (own == 0)
        return least_loaded_lgrp(in, in->cand, in->tolerance);

    best = least_loaded_lgrp(in, own, 0);
    other = least_loaded_lgrp(in, in->cand & ~own, in->tolerance);
    if (other != NONE && in->load[best] > in->expand_thresh &&
        (uint64_t)in->load[other] + in->expand_diff < in->load[best])
        return other;
    return best;
}
/* LAB home: end */
