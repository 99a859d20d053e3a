// SPDX-License-Identifier: MIT
/*
 * home.h - choosing the home lgroup of a thread: pure policy.
 *
 * THEORY      The home of a thread is the lgroup in which it should run and where its memory should be.  The
 *             rule is that of the MPO paper ("Scheduler", "System Variables").  The threads of a process stay
 *             together while the least loaded lgroup of the process has a load of at most
 *             lgrp_expand_proc_thresh.  Above that threshold a new lgroup is taken, if its load is lower by
 *             more than lgrp_expand_proc_diff.  When an lgroup is chosen that the process does not use yet,
 *             loads that differ by less than the tolerance are equal.  Between equals the choice is random: the
 *             search begins at a random lgroup.
 *             The paper does not state to which comparisons the tolerance applies.  If it applied to all
 *             comparisons, the default values would spread 72 threads with two to six on each board.  But Table
 *             3-4 of the paper, measured with these values, has four on each board.
 * UNITS       loads and thresholds: LGRP_LOAD_FULL (32767) = every CPU of the lgroup is busy
 * LOCKING     There are no locks: the function uses only its arguments.
 * SEE ALSO    home.c, lgrp/load.h (the caller), docs/lgroups.md, labs/home
 */
#ifndef LGRP_HOME_H
#define LGRP_HOME_H

#include "lib/types.h"

struct lgrp_home_in {
    uint64_t cand;          /* lgroups with an on-line CPU in the thread's partition */
    uint64_t spanned;       /* lgroups that are homes of threads of the process */
    const uint32_t *load;   /* by lgroup id */
    const uint16_t *ncpus;  /* by lgroup id: CPUs in the partition */
    const uint8_t *aff;     /* by lgroup id: affinity (0 none); may be NULL */
    unsigned home;          /* present home, preferred among equal affinities; LGRP_NONE: none */
    uint32_t expand_thresh; /* lgrp_expand_proc_thresh */
    uint32_t expand_diff;   /* lgrp_expand_proc_diff */
    uint32_t tolerance;     /* lgrp_loadavg_tolerance, for an lgroup of one CPU */
    uint32_t rnd;           /* 32 random bits */
};

/* lgrp_choose_home - the home for a thread, a member of cand; LGRP_NONE (255) if cand is empty. */
unsigned lgrp_choose_home(const struct lgrp_home_in *in);

extern uint32_t lgrp_expand_proc_diff;
extern uint32_t lgrp_loadavg_tolerance;

#endif
