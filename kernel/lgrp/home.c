// SPDX-License-Identifier: MIT
/*
 * home.c - choosing the home lgroup of a thread.
 *
 * THEORY      1. An affinity, if the thread has any, decides: the strictly greatest wins, the
 *             present
 *                home wins ties.
 *             2. The candidates are split into those that the process already uses ("own"; all
 *                of them for a new process) and the others.  In each class the least loaded is
 *                found by one scan that begins at a random one of them and goes round.  A later
 *                one replaces the best so far only if it is less loaded, so among equals the
 *                random start decides.  Where the process is new, or may come to new lgroups,
 *                less loaded means: by more than the tolerance.
 *             3. The best of the others is taken only if the best of the own is loaded above
 *                expand_thresh and the other is less loaded than it by more than expand_diff.
 * INVARIANTS  I1  the result is a member of cand, or LGRP_NONE when cand is empty
 * UNITS       The tolerance is given for an lgroup of one CPU: one thread weighs LGRP_LOAD_FULL
 *             / ncpus, so the tolerance is divided by the candidate's CPUs as well.
 * SEE ALSO    home.h, tests/host/test_home.c, labs/home
 */
#include "lgrp/home.h"

#include "lib/bitmap.h"

enum { NONE = 255 }; /* LGRP_NONE */

/* The member of `set` that has `skip` members below it. */
static unsigned nth_member(uint64_t set, unsigned skip)
{
    while (skip-- > 0)
        set &= set - 1;
    return bit_first(set);
}

/*
 * The least loaded member of `set`, scanning round from a random one; NONE if it is empty.  Loads that differ by
 * `tolerance` / CPUs are equal.
 */
static unsigned least_loaded_lgrp(const struct lgrp_home_in *in, uint64_t set, uint32_t tolerance)
{
    unsigned start =
        set != 0 ? nth_member(set, (unsigned)(((uint64_t)in->rnd * bit_count(set)) >> 32)) : 0;
    uint64_t low = set & ((1ull << start) - 1); /* visited after those from `start` up */
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

/* The member of `cand` with the strictly greatest affinity; NONE if no member has any. */
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
