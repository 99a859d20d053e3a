// SPDX-License-Identifier: MIT
/*
 * promise.c - the load that new threads are expected to add.
 *
 * THEORY      See load.h.  A thread that arrives alone adds its load to lpl.antic.  While a process creates
 *             threads, they are *held*: counted in lpl.held, in half threads.  A creation begins with the first
 *             thread that a thread of the process creates.  It ends lgrp_create_hold updates after the last
 *             one, or when the process creates threads in another partition.
 *             A thread records the number of the creation in which it was held (burst), so that its promise is
 *             not taken back from a later creation.
 * INVARIANTS  I2 of load.h
 * SEE ALSO    promise.h, tests/host/test_promise.c
 */
#include "lgrp/promise.h"

#include "lib/bitmap.h"
#include "lib/string.h"

enum {
    HALF = 1,  /* weight of a creator that is held, in half threads */
    WHOLE = 2, /* weight of each created thread, in half threads */
};

/* The promise for one thread in an lgroup of `ncpus` CPUs, in units of lpl.antic. */
static uint32_t anticipated_charge(unsigned ncpus)
{
    uint64_t c = (uint64_t)lgrp_loadavg_max_effect * AVG_FULL / LGRP_LOAD_FULL / ncpus;

    return c < UINT32_MAX ? (uint32_t)c : UINT32_MAX;
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

/*
 * Called when process `p` begins to create threads.  Holds thread `creator`, which creates them, as
 * half a thread.
 */
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
        l->others = lgrp_threads_seen(part, creator->home, 1);
    else if (l->others > 0)
        l->others--; /* the creator was one of `others` */
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

void promise_creation(struct lgrp_part *part, struct lgrp_proc *p, struct lgrp_thread *creator)
{
    if (p->creating_in != NULL && p->creating_in != part)
        creation_ends(p);
    if (p->creating_in == NULL)
        creation_begins(part, p, creator);
    p->last_create = part->updates;
}

void promise_load(struct lgrp_thread *t)
{
    struct lpl *l = &t->part->lpl[t->home];

    t->charge = 0;
    t->antic = 0;
    if (t->proc->creating_in == t->part) {
        if (l->held == 0 && l->ncpus != 0)
            l->others = lgrp_threads_seen(t->part, t->home, 0);
        promise_half_threads(t, WHOLE);
    } else if (l->ncpus != 0) {
        t->antic = l->ncpus;
        l->antic += min_of(anticipated_charge(l->ncpus), UINT32_MAX - l->antic);
        if (l->held != 0)
            l->others++;
    }
}

void promise_take_back(struct lgrp_thread *t, uint64_t now_ns)
{
    struct lgrp_proc *p = t->proc;
    struct lpl *l = &t->part->lpl[t->home];

    if (t->charge != 0 && p->creating_in == t->part && t->burst == p->burst) {
        l->held -= t->charge;
        p->held[t->home] = (uint16_t)(p->held[t->home] - t->charge);
    } else {
        if (t->antic != 0 && now_ns - t->at_ns < lgrp_min_nsec)
            l->antic -= min_of(anticipated_charge(t->antic), l->antic);
        if (l->held != 0 && l->others != 0)
            l->others--;
    }
    t->charge = 0;
    t->antic = 0;
}

void promises_expire(struct lgrp_part *part)
{
    for (struct lgrp_proc *p = part->creating, *next; p != NULL; p = next) {
        next = p->next;
        if (part->updates - p->last_create > lgrp_create_hold)
            creation_ends(p);
    }
}

void lgrp_part_end(struct lgrp_part *part)
{
    while (part->creating != NULL)
        creation_ends(part->creating);
}

void lgrp_proc_exit(struct lgrp_proc *p)
{
    if (p->creating_in != NULL)
        creation_ends(p);
}
