// SPDX-License-Identifier: MIT
/*
 * home.h - choosing the home lgroup of a thread: pure policy.
 *
 * THEORY      The rule of the MPO paper ("Scheduler", "System Variables").  Threads of a
 *             process stay together until the least loaded lgroup that they already use is
 *             busier than lgrp_expand_proc_thresh; then a new lgroup is taken, provided that it
 *             is less loaded by more than lgrp_expand_proc_diff.  Where an lgroup is chosen that
 *             the process does not use yet, loads closer than the tolerance are equal, and
 *             between equals the choice is random: the scan begins at a random lgroup.
 *             READING: the paper does not say which comparisons the tolerance is for.  If it
 *             were for all, 72 threads would have two to six on a board with the default
 *             values, and the paper's Table 3-4, measured with these, has four on each.
 * UNITS       loads and thresholds: LGRP_LOAD_FULL (32767) = every CPU of the lgroup is busy
 * LOCKING     none: works on its arguments only
 * SEE ALSO    home.c, lgrp/load.h (who calls it), docs/lgroups.md, labs/home
 */
#ifndef LGRP_HOME_H
#define LGRP_HOME_H

#include "lib/types.h"

struct lgrp_home_in {
    uint64_t cand;          /* lgroups with an on-line CPU in its partition */
    uint64_t spanned;       /* lgroups where its process has a home */
    const uint32_t *load;   /* by lgroup id */
    const uint16_t *ncpus;  /* by lgroup id: CPUs in the partition */
    const uint8_t *aff;     /* by lgroup id: affinity (0 none); may be NULL */
    unsigned home;          /* present home, wins ties; LGRP_NONE: none */
    uint32_t expand_thresh; /* lgrp_expand_proc_thresh */
    uint32_t expand_diff;   /* lgrp_expand_proc_diff */
    uint32_t
        tolerance; /* lgrp_loadavg_tolerance, for one CPU: between lgroups that are new to the process */
    uint32_t rnd; /* 32 random bits */
};

/* lgrp_choose_home - the lgroup to live in; LGRP_NONE (255) if cand is empty. */
unsigned lgrp_choose_home(const struct lgrp_home_in *in);

extern uint32_t lgrp_expand_proc_thresh;
extern uint32_t lgrp_expand_proc_diff;
extern uint32_t lgrp_loadavg_tolerance;

#endif
