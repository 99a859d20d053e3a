// SPDX-License-Identifier: MIT
/*
 * load.c - the load of lgroups: decaying averages, and promises to new threads.
 *
 * THEORY      See load.h for the model.  The arithmetic of the average:
 *             Ten times a second the average of an lgroup of n CPUs takes n steps, one per CPU:
 *                 avg += f * (runnable on that CPU) - ceil(avg * f / 65536),
 *                 f = 65536 * (1 - exp(-1 / (20 n)))
 *             so the time constant is 2 s for any n, and n busy CPUs give 65536.  The runnable threads of the
 *             lgroup are spread evenly over its steps.
 *             For a creating process, threads that are not held count in whole threads (threads_seen).  The
 *             number is the least of four: the threads runnable now, those at each of the last two updates,
 *             and the average, where 3/4 of a thread or more counts as one.  All must agree, because an
 *             average still contains threads that have ended, and the present count may contain a shell that
 *             is about to sleep.
 * INVARIANTS  I1 .. I3 of load.h
 * SEE ALSO    load.h, tests/host/test_load.c
 */
#include "lgrp/load.h"

#include "lgrp/home.h"
#include "lib/bitmap.h"
#include "lib/string.h"

enum {
    NONE = 255,       /* LGRP_NONE */
    AVG_FULL = 65536, /* lpl.avg of an lgroup whose every CPU has one runnable thread */
    HALF = 1,         /* weight of a held thread, in half threads: the creator ... */
    WHOLE = 2,        /* ... and each created thread */
    DECAY_TABLE = 32,
};

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

/* The promise for one thread in an lgroup of `ncpus` CPUs, in units of lpl.antic. */
static uint32_t anticipated_charge(unsigned ncpus)
{
    uint64_t c = (uint64_t)lgrp_loadavg_max_effect * AVG_FULL / LGRP_LOAD_FULL / ncpus;

    return c < UINT32_MAX ? (uint32_t)c : UINT32_MAX;
}

/* An average as a number of threads; 3/4 of a thread or more counts as one. */
static uint32_t whole_threads(const struct lpl *l, uint64_t avg)
{
    return (uint32_t)((avg * l->ncpus + AVG_FULL / 4) / AVG_FULL);
}

/* I1: the load of an lgroup is at most that of the threads at home there. */
static void limit_to_homed(struct lpl *l)
{
    uint64_t most = l->ncpus != 0 ? (uint64_t)l->homed * AVG_FULL / l->ncpus : 0;

    if (l->avg > most)
        l->avg = (uint32_t)most;
    if ((uint64_t)l->avg + l->antic > most)
        l->antic = (uint32_t)(most - l->avg);
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

/* The load of `halves` half threads, in units of LGRP_LOAD_FULL. */
static uint32_t load_of_halves(const struct lpl *l, uint64_t halves)
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
        return load_of_halves(l, l->held + 2ull * l->others);
    return load < UINT32_MAX ? (uint32_t)load : UINT32_MAX;
}

/* Number of threads that seem to run in `lgrp`, less `excluded` ones that are counted elsewhere. */
static uint16_t threads_seen(const struct lgrp_part *part, unsigned lgrp, unsigned excluded)
{
    const struct lpl *l = &part->lpl[lgrp];
    uint32_t n = whole_threads(l, l->avg);

    n = min_of(n, (uint32_t)min_of(l->recent[0], l->recent[1]));
    if (n > excluded)
        n = min_of(n, (uint32_t)clock_runnable_now(part, lgrp));
    return (uint16_t)(n > excluded ? n - excluded : 0);
}

/* Holds `t`, which has a home in its partition, as `halves` half threads. */
static void promise_half_threads(struct lgrp_thread *t, unsigned halves)
{
    struct lgrp_proc *p = t->proc;
    struct lpl *l = &t->part->lpl[t->home];

    l->held += halves;
    p->held[t->home] = (uint16_t)(p->held[t->home] + halves);
    t->burst = p->burst;
    t->charge = (uint8_t)halves;
}

/* `p` begins to create threads.  Its thread `creator`, which creates them, is held as half a thread. */
static void creation_begins(struct lgrp_part *part, struct lgrp_proc *p,
                            struct lgrp_thread *creator)
{
    struct lpl *l = &part->lpl[creator->home];

    p->burst++;
    memset(p->held, 0, sizeof p->held);
    p->creating_in = part;
    p->next = part->creating;
    p->prev = &part->creating;
    if (p->next != NULL)
        p->next->prev = &p->next;
    part->creating = p;

    if (creator->part != part || l->ncpus == 0)
        return;
    if (l->held == 0)
        l->others = threads_seen(part, creator->home, 1);
    else if (l->others > 0)
        l->others--; /* the creator was one of them */
    promise_half_threads(creator, HALF);
}

/* Ends the promises for the threads of `p`: from now on only the averages contain them. */
static void creation_ends(struct lgrp_proc *p)
{
    for (uint64_t left = p->bitmap; left != 0; left &= left - 1) {
        unsigned g = bit_first(left);

        p->creating_in->lpl[g].held -= p->held[g];
    }
    *p->prev = p->next;
    if (p->next != NULL)
        p->next->prev = p->prev;
    p->creating_in = NULL;
}

void lgrp_part_end(struct lgrp_part *part)
{
    while (part->creating != NULL)
        creation_ends(part->creating);
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
    for (struct lgrp_proc *p = part->creating, *next; p != NULL; p = next) {
        next = p->next;
        if (part->updates - p->last_create > lgrp_create_hold)
            creation_ends(p);
    }
}

void lgrp_proc_init(struct lgrp_proc *p)
{
    p->bitmap = 0;
    p->creating_in = NULL;
    p->burst = 0;
}

void lgrp_proc_exit(struct lgrp_proc *p)
{
    if (p->creating_in != NULL)
        creation_ends(p);
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
    t->charge = 0;
    t->antic = 0;
    l->last_homed_ns = now_ns;
    if (p->creating_in == part) {
        if (l->held == 0 && l->ncpus != 0)
            l->others = threads_seen(part, lgrp, 0);
        promise_half_threads(t, WHOLE);
    } else if (l->ncpus != 0) {
        t->antic = l->ncpus;
        l->antic += min_of(anticipated_charge(l->ncpus), UINT32_MAX - l->antic);
        if (l->held != 0)
            l->others++;
    }
    l->homed++;
}

void lgrp_thread_leave(struct lgrp_thread *t, uint64_t now_ns)
{
    struct lgrp_proc *p = t->proc;
    struct lpl *l;

    if (t->part == NULL)
        return;
    l = &t->part->lpl[t->home];
    if (t->charge != 0 && p->creating_in == t->part && t->burst == p->burst) {
        l->held -= t->charge;
        p->held[t->home] = (uint16_t)(p->held[t->home] - t->charge);
    } else {
        if (t->antic != 0 && now_ns - t->at_ns < lgrp_min_nsec)
            l->antic -= min_of(anticipated_charge(t->antic), l->antic);
        if (l->held != 0 && l->others != 0)
            l->others--;
    }
    l->homed--;
    limit_to_homed(l);
    for (unsigned i = 0; i < array_size(l->recent); i++)
        l->recent[i] = (uint16_t)(l->recent[i] - (l->recent[i] != 0));
    if (--p->homed[t->home] == 0)
        p->bitmap &= ~(1ull << t->home);
    t->part = NULL;
    t->charge = 0;
    t->antic = 0;
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
            load[g] = load_of_halves(l, 2ull * threads_seen(part, g, 0));
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
    if (creator != NULL && creator->proc == p) {
        if (p->creating_in != NULL && p->creating_in != part)
            creation_ends(p);
        if (p->creating_in == NULL)
            creation_begins(part, p, creator);
        p->last_create = part->updates;
    }
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
