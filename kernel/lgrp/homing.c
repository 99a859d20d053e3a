// SPDX-License-Identifier: MIT
/*
 * homing.c - the homes of threads: where each thread is counted, and how a home is chosen by load.
 *
 * THEORY      A thread is counted in its home, which is one lgroup of its partition, or in no lgroup.  A new
 *             home is chosen among the lgroups where the partition has CPUs.  This file collects the loads of
 *             these lgroups; home.c chooses.
 * INVARIANTS  I1 and I3 of load.h
 * SEE ALSO    load.h, home.h, promise.h, tests/host/test_load.c
 */
#include "lgrp/home.h"
#include "lgrp/load.h"
#include "lgrp/promise.h"
#include "lib/bitmap.h"

enum { NONE = 255 }; /* LGRP_NONE */

/* Keeps I1: the load of an lgroup is at most that of the threads at home there. */
static void limit_to_homed(struct lpl *l)
{
    uint64_t most = l->ncpus != 0 ? (uint64_t)l->homed * AVG_FULL / l->ncpus : 0;

    if (l->avg > most)
        l->avg = (uint32_t)most;
    if ((uint64_t)l->avg + l->antic > most)
        l->antic = (uint32_t)(most - l->avg);
}

void lgrp_proc_init(struct lgrp_proc *p)
{
    p->bitmap = 0;
    p->creating_in = NULL;
    p->burst = 0;
}

void lgrp_thread_join(struct lgrp_part *part, struct lgrp_thread *t, unsigned lgrp, uint64_t now_ns)
{
    struct lpl *l = &part->lpl[lgrp];
    struct lgrp_proc *p = t->proc;

    if (!bit_test(p->bitmap, lgrp)) {
        p->bitmap |= 1ull << lgrp;
        p->homed[lgrp] = 0;
        p->held[lgrp] = 0;
    }
    p->homed[lgrp]++;
    t->part = part;
    t->home = (uint8_t)lgrp;
    t->touch = t->has_mempolicy ? NONE : (uint8_t)lgrp;
    t->at_ns = now_ns;
    l->last_homed_ns = now_ns;
    promise_load(t);
    l->homed++;
}

void lgrp_thread_leave(struct lgrp_thread *t, uint64_t now_ns)
{
    struct lgrp_proc *p = t->proc;
    struct lpl *l;

    if (t->part == NULL)
        return;
    l = &t->part->lpl[t->home];
    promise_take_back(t, now_ns);
    l->homed--;
    limit_to_homed(l);
    for (unsigned i = 0; i < array_size(l->recent); i++)
        l->recent[i] = (uint16_t)(l->recent[i] - (l->recent[i] != 0));
    if (--p->homed[t->home] == 0)
        p->bitmap &= ~(1ull << t->home);
    t->part = NULL;
}

/*
 * The best home for `t` in `part`, by load and affinities `aff` (NULL: none); NONE: the partition has no CPU.
 */
static unsigned weigh_home_candidates(const struct lgrp_part *part, const struct lgrp_thread *t,
                                      const uint8_t *aff, uint32_t rnd)
{
    uint32_t load[LGRP_MAX];
    uint16_t ncpus[LGRP_MAX];
    struct lgrp_home_in in = {
        .cand = part->lgrps,
        .spanned = t->proc->bitmap,
        .load = load,
        .ncpus = ncpus,
        .aff = aff,
        .home = t->home,
        .expand_thresh = lgrp_expand_proc_thresh,
        .expand_diff = lgrp_expand_proc_diff,
        .tolerance = lgrp_loadavg_tolerance,
        .rnd = rnd,
    };

    if ((in.cand & (in.cand - 1)) == 0) /* one candidate or none: nothing to compare */
        return in.cand != 0 ? bit_first(in.cand) : NONE;
    for (uint64_t left = in.cand; left != 0; left &= left - 1) {
        unsigned g = bit_first(left);
        const struct lpl *l = &part->lpl[g];

        if (l->held == 0 && t->proc->creating_in == part)
            load[g] = lpl_load_of_halves(l, 2ull * lgrp_threads_seen(part, g, 0));
        else
            load[g] = lpl_load(l);
        ncpus[g] = l->ncpus;
    }
    return lgrp_choose_home(&in);
}

unsigned lgrp_thread_home(struct lgrp_part *part, struct lgrp_thread *t, struct lgrp_proc *p,
                          struct lgrp_thread *creator, uint64_t now_ns, uint32_t rnd)
{
    unsigned g;

    t->proc = p;
    t->part = NULL;
    t->home = t->touch = NONE;
    if (creator != NULL && creator->proc == p)
        promise_creation(part, p, creator);
    g = weigh_home_candidates(part, t, NULL, rnd);
    if (g != NONE)
        lgrp_thread_join(part, t, g, now_ns);
    return g;
}

unsigned lgrp_thread_rehome(struct lgrp_part *part, struct lgrp_thread *t, const uint8_t *aff,
                            uint64_t now_ns, uint32_t rnd)
{
    unsigned g;

    lgrp_thread_leave(t, now_ns);
    g = weigh_home_candidates(part, t, aff, rnd);
    if (g != NONE)
        lgrp_thread_join(part, t, g, now_ns);
    return g;
}
