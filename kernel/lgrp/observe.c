// SPDX-License-Identifier: MIT
/*
 * observe.c - balancing by observation: decides from sampled touches which pages and threads move.  See observe.h.
 *
 * THEORY      The record of a page has 16 bits, because it must fit into the page's descriptor: the lgroup that
 *             touched the page in the last sample, the lowest bits of the thread, the number of samples in succession
 *             with this lgroup, and how mixed the page is.
 */
#include "lgrp/observe.h"

#include "lgrp/load.h"
#include "lib/bitmap.h"

enum { NONE = 255 }; /* LGRP_NONE */
enum {
    RUN_MAX = 7,
    MIXED_MAX = 3,
    THREAD_BITS = 3
}; /* after RUN_MAX samples a page is no longer mixed */
enum {
    RUN_PHASE = 2, /* a user that was seen so often has left in a change of phase */
    SHARED = 2,    /* `mixed` from which on a page counts as shared */
};

/* Samples in succession that move a page, by `mixed`. */
static const uint8_t needed[MIXED_MAX + 1] = {2, 3, 5, 7};

/* The record of a page, as the bits of `seen` from the lowest on. */
struct view {
    unsigned last;   /* 7 bits: 1 + lgroup that touched the page last; 0: never sampled */
    unsigned run;    /* 3 bits: samples in succession with this lgroup, at most RUN_MAX */
    unsigned mixed;  /* 2 bits: changes of the user */
    unsigned spread; /* 1 bit: the page was spread */
    unsigned thread; /* 3 bits: lowest bits of the thread's id */
};

static struct view view_of(uint16_t seen)
{
    return (struct view){seen & 127u, seen >> 7 & 7u, seen >> 10 & 3u, seen >> 12 & 1u,
                         seen >> 13 & 7u};
}

static uint16_t pack_view(const struct view *v)
{
    return (uint16_t)(v->last | v->run << 7 | v->mixed << 10 | v->spread << 12 | v->thread << 13);
}

/* Records the user of a sample, and how mixed the page then is. */
static void note_user(struct view *v, const struct observe_sample *s)
{
    if (v->last == s->user + 1u) {
        v->run += v->run < RUN_MAX;
        if (v->run == RUN_MAX)
            v->mixed = v->spread = 0;
    } else {
        if (v->last != 0 && v->run < RUN_PHASE)
            v->mixed += v->mixed < MIXED_MAX;
        v->last = s->user + 1u;
        v->run = 1;
    }
    v->thread = s->thread & ((1u << THREAD_BITS) - 1);
}

struct observe_result observe_page(uint16_t *seen, const struct observe_sample *s)
{
    struct view v = view_of(*seen);
    struct observe_result r = {.verdict = OBSERVE_STAY, .known = v.last != 0};
    bool enough;

    r.own = v.last == s->user + 1u && v.thread == (s->thread & ((1u << THREAD_BITS) - 1));
    enough = v.last == s->user + 1u && v.run + 1 >= needed[v.mixed];
    note_user(&v, s);
    *seen = pack_view(&v);
    if (s->user != s->at && enough)
        r.verdict = OBSERVE_MOVE;
    else if (v.mixed >= SHARED)
        r.verdict = OBSERVE_SHARED;
    else if (s->user != s->at)
        r.verdict = OBSERVE_WAIT;
    return r;
}

bool observe_page_spread(uint16_t *seen)
{
    struct view v = view_of(*seen);
    bool before = v.spread != 0;

    v.spread = 1;
    *seen = pack_view(&v);
    return before;
}

void observe_thread_add(struct observe_thread *t, bool own, unsigned at)
{
    t->samples++;
    if (own)
        t->own[at]++;
}

bool observe_thread_leans(const struct observe_thread *t, unsigned at)
{
    return t->own[at] * 4u >= t->samples * 3u;
}

unsigned observe_thread_choose(struct observe_thread *t)
{
    unsigned to = NONE;

    if (t->samples < OBSERVE_THREAD_ENOUGH)
        return NONE;
    for (unsigned g = 0; g < LGRP_MAX; g++)
        if (observe_thread_leans(t, g))
            to = g;
    *t = (struct observe_thread){0};
    return to;
}

bool observe_has_room(uint32_t there, unsigned ncpus, uint32_t home, uint32_t thresh)
{
    return ncpus != 0 && (uint64_t)there + LGRP_LOAD_FULL / ncpus * 3 / 4 <= max_of(home, thresh);
}

uint32_t observe_rate(uint32_t rate, uint32_t samples, uint32_t wrong)
{
    if (wrong > samples / 4)
        return min_of(rate * 2, (uint32_t)OBSERVE_RATE_MAX);
    if (wrong < samples / 16)
        return max_of(rate / 2, (uint32_t)OBSERVE_RATE_MIN);
    return rate;
}

unsigned observe_hot(const uint32_t shared[LGRP_MAX], uint64_t users, unsigned hot)
{
    uint64_t total = 0, nusers = bit_count(users);
    unsigned most = 0;

    for (unsigned g = 0; g < LGRP_MAX; g++) {
        total += shared[g];
        if (shared[g] > shared[most])
            most = g;
    }
    if (nusers < 2 || total < OBSERVE_ENOUGH / 2)
        return NONE;
    /* An equal share is 1/nusers.  An lgroup becomes hot halfway from this to all, and cools down at 3/2 of it. */
    if (shared[most] * nusers * 2 >= total * (nusers + 1))
        return most;
    return hot == most && shared[most] * nusers * 2 > total * 3 ? hot : NONE;
}
