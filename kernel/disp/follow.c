// SPDX-License-Identifier: MIT
/*
 * follow.c - threads whose home follows their pages, for balancing by observation.
 *
 * THEORY      vm/observe.c finds out that a thread uses pages of another lgroup only.  Its home can then become that
 *             lgroup, if the load there allows it.  A thread that a program has bound, or for which it has set an
 *             affinity or a memory policy, keeps its home.
 * LOCKING     cpupart_lock (RANK_PART)
 * SEE ALSO    thread_home.c, lgrp/observe.h
 */
#include "disp/disp.h"
#include "lgrp/lgrpstat.h"
#include "lgrp/observe.h"

bool thread_is_placed(const struct thread *t)
{
    return t->bound_cpu >= 0 || t->restricted || t->lgrp_aff != NULL || t->lg.has_mempolicy;
}

bool thread_follow_pages(struct thread *t, unsigned lgrp, bool move)
{
    uint64_t now = clock_mono_ns();
    struct lgrp_part *part;
    bool may;

    spin_lock(&cpupart_lock);
    part = t->lg.part;
    may = part != NULL && !thread_is_placed(t) &&
          observe_has_room(lpl_load(&part->lpl[lgrp]), part->lpl[lgrp].ncpus,
                           lpl_load(&part->lpl[t->lg.home]), lgrp_expand_proc_thresh);
    if (may && move) {
        lgrp_count_rehome(t->lg.home, lgrp);
        lgrp_thread_leave(&t->lg, now);
        lgrp_thread_join(part, &t->lg, lgrp, now);
    }
    spin_unlock(&cpupart_lock);
    return may;
}
