// SPDX-License-Identifier: MIT
/*
 * thread_home.c - the homes of threads: chosen when a thread is created, and changed by bindings and
 * affinities.
 *
 * THEORY      lgrp/homing.c counts threads in lgroups and chooses homes, without locks, clock or random
 *             numbers.  This file calls those functions for a struct thread, and adds locks, clock and random
 *             numbers.
 * LOCKING     cpupart_lock (RANK_PART)
 * SEE ALSO    lgrp/load.h, docs/lgroups.md, tests/host/test_pset.c
 */
#include "disp/disp.h"
#include "lgrp/lgrpstat.h"
#include "lib/errno.h"
#include "lib/rng.h"
#include "mem/kmem.h"

unsigned thread_home_new(struct thread *t, struct lgrp_proc *p, struct thread *creator)
{
    struct cpupart *part = t->part;
    uint64_t now = clock_mono_ns();

    spin_lock(&cpupart_lock);
    if (t->bound_cpu >= 0) {
        t->lg.proc = p;
        lgrp_thread_join(&part->lgrps, &t->lg, cpus[t->bound_cpu]->lgrp, now);
    } else {
        lgrp_thread_home(&part->lgrps, &t->lg, p, creator != NULL ? &creator->lg : NULL, now,
                         (uint32_t)rng_step(&part->rng));
    }
    spin_unlock(&cpupart_lock);
    return t->lg.home;
}

void thread_unhome(struct thread *t)
{
    struct lgrp_proc *p = t->lg.proc;

    spin_lock(&cpupart_lock);
    lgrp_thread_leave(&t->lg, clock_mono_ns());
    if (p != NULL && p->bitmap == 0) /* t was the last thread of the process */
        lgrp_proc_exit(p);
    spin_unlock(&cpupart_lock);
}

void thread_new_program(struct thread *t)
{
    spin_lock(&cpupart_lock);
    if (t->lg.proc != NULL)
        lgrp_proc_exit(t->lg.proc);
    spin_unlock(&cpupart_lock);
}

void thread_rehome(struct thread *t, unsigned lgrp)
{
    spin_lock(&cpupart_lock);
    if (t->lg.part != NULL && t->lg.home != lgrp) {
        lgrp_count_rehome(t->lg.home, lgrp);
        lgrp_thread_leave(&t->lg, clock_mono_ns());
        lgrp_thread_join(&t->part->lgrps, &t->lg, lgrp, clock_mono_ns());
    }
    spin_unlock(&cpupart_lock);
}

void thread_choose_home(struct thread *t, struct cpupart *part)
{
    unsigned old = t->lg.home;

    lgrp_count_rehome(old, lgrp_thread_rehome(&part->lgrps, &t->lg, t->lgrp_aff, clock_mono_ns(),
                                              (uint32_t)rng_step(&part->rng)));
}

void thread_follow_affinity(struct thread *t)
{
    spin_lock(&cpupart_lock);
    if (t->lg.part != NULL && t->lgrp_aff != NULL)
        thread_choose_home(t, t->part);
    spin_unlock(&cpupart_lock);
}

int thread_set_lgrp_affinity(struct thread *t, unsigned lgrp, unsigned level)
{
    uint8_t *spare = level != 0 ? kmem_zalloc(LGRP_MAX) : NULL;
    unsigned any = 0;

    if (level != 0 && spare == NULL)
        return -ENOMEM;
    spin_lock(&cpupart_lock);
    if (t->lgrp_aff == NULL) {
        t->lgrp_aff = spare;
        spare = NULL;
    }
    if (t->lgrp_aff != NULL) {
        t->lgrp_aff[lgrp] = (uint8_t)level;
        for (unsigned i = 0; i < LGRP_MAX; i++)
            any |= t->lgrp_aff[i];
        if (any == 0) {
            spare = t->lgrp_aff;
            t->lgrp_aff = NULL;
        }
        if (t->lg.part != NULL && t->bound_cpu < 0)
            thread_choose_home(t, t->part);
    }
    spin_unlock(&cpupart_lock);
    kmem_free(spare);
    return 0;
}

unsigned thread_lgrp_affinity(struct thread *t, unsigned lgrp)
{
    unsigned level;

    spin_lock(&cpupart_lock);
    level = t->lgrp_aff != NULL ? t->lgrp_aff[lgrp] : 0;
    spin_unlock(&cpupart_lock);
    return level;
}

void thread_set_mempolicy(const struct mempolicy *mp)
{
    struct thread *t = curthread;

    spin_lock(&cpupart_lock); /* the home must not change between read and write */
    t->mempolicy = *mp;
    t->lg.has_mempolicy = mp->mode != MPOL_DEFAULT;
    t->lg.touch = t->lg.has_mempolicy ? LGRP_NONE : t->lg.home;
    spin_unlock(&cpupart_lock);
}

void thread_get_mempolicy(struct thread *t, struct mempolicy *out)
{
    spin_lock(&cpupart_lock);
    *out = t->mempolicy;
    spin_unlock(&cpupart_lock);
}
