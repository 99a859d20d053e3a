// SPDX-License-Identifier: MIT
/*
 * pset.h - processor sets: CPUs kept apart for the threads that are bound to them (pset_create(2) of Solaris 9).
 *
 * THEORY      Every CPU belongs to one set, and every thread to one: a thread runs on the on-line CPUs of its set only,
 *             and they run nothing else.  All begin in the default set, which has no number; what was never bound stays
 *             there.  A set has load records of its own for each lgroup, so homes are chosen among its boards by its
 *             load.
 *             A set that was destroyed keeps its memory, for whoever looks at it without a lock (a thread's set, a
 *             CPU's); the next one with its number takes it over.
 * INVARIANTS  I1  part->cpus are the on-line CPUs whose disp->part it is, but while it is destroyed
 *             I2  a set with threads has a CPU on-line; the default set always has
 *             I3  a thread's load is counted in the records of its set (t->lg.part == &t->part->lgrps), or nowhere
 * LOCKING     cpu_lock (sleeping) serialises all changes of CPUs and sets; then t->lock, then cpupart_lock
 * SEE ALSO    pset.c, cpu.c, docs/psets.md; lgrp/load.h
 */
#ifndef DISP_PSET_H
#define DISP_PSET_H

#include "disp/sync.h"
#include "disp/thread.h"
#include "lgrp/load.h"
#include "lib/cpumask.h"
#include "lib/spinlock.h"
#include "stat/kstat.h"

/* Runnable threads by global priority: a CPU's, or the real-time threads of a set. */
struct disp_queue {
    struct spinlock lock; /* RANK_RUNQ                                                  */
    struct cpu *cpu;      /* [c] whose it is; NULL: a set's                             */
    uint64_t mask[(NPRI + 63) / 64]; /* [lock] bit p: queue[p] is not empty                    */
    struct list queue[NPRI]; /* [lock]                                                     */
    uint16_t nrun;           /* [lock] threads queued                                      */
    _Atomic int16_t maxpri;  /* [a] highest priority queued; -1: none                      */
};

/* Lock key: [l] cpu_lock  [p] cpupart_lock  [a] atomic  [k] the clock alone writes */
struct cpupart {
    int id;                 /* [l] PS_NONE (-1): the default set                          */
    bool live;              /* [p]                                                        */
    unsigned attr;          /* [a] PSET_NOESCAPE                                          */
    struct cpumask cpus;    /* [a] its on-line CPUs                                       */
    struct lgrp_part lgrps; /* [p] loads and homes per lgroup                             */
    struct disp_queue
        rt;       /* [a] real-time threads that no CPU runs yet: runq.c; kept when it ends */
    uint64_t rng; /* [p] draws homes alone, so that they follow from the seed   */
    uint16_t runnable[LGRP_MAX]; /* [k] threads, at the last sample                           */
    unsigned counting;           /* [k] all of them, while they are counted                    */
    _Atomic unsigned nrunnable;  /* [k] and when they were                                     */
    _Atomic uint32_t loadavg[3]; /* [k] over 1, 5, 15 minutes: loadavg.h                       */
    struct kstat ks;             /* pset:ID:pset                                               */
};

extern struct cpupart cpupart_default;
extern struct cpupart *cpuparts
    []; /* [0]: the default set; else by number, NULL: never used.  cpupart_end: past them */
extern unsigned cpupart_end; /* [a] */
extern struct spinlock cpupart_lock;
extern struct mutex cpu_lock;

/* pset_init - the default set; before the first CPU joins it.  pset_stats_init - its kstat. */
void pset_init(void);
void pset_stats_init(void);

/* pset_create - a new set without CPUs.  Its number, the lowest that is free; -ENOMEM: too many, or no memory. */
int pset_create(void);
/* pset_destroy - unbind its threads, give its CPUs to the default set.  -EINVAL; -EBUSY: a thread is bound to a CPU. */
int pset_destroy(int id);
/*
 * pset_assign - CPU `cpu` belongs to set `id` (PS_NONE: default) from now on; `forced` unbinds threads from it first.
 * Returns 0; -EINVAL: no such set or CPU, or it is off-line; -EBUSY: threads are bound to it (after five looks in
 * 50 ms), or it is the last of a set that has threads.
 */
int pset_assign(int id, unsigned cpu, bool forced);
/* pset_of_cpu - the set of a CPU (PS_NONE: default).  `cpu` exists. */
int pset_of_cpu(unsigned cpu);
/* pset_find - a set by its number; NULL: there is none.  cpu_lock is held, or it may go away. */
struct cpupart *pset_find(int id);
/*
 * pset_bind - from now on `t` belongs to set `to`.  cpu_lock is held, `to` has a CPU; for curthread it may switch: no
 * spin lock may be held then.  -EBUSY: t is bound to a CPU of another set.
 */
int pset_bind(struct thread *t, struct cpupart *to);
/* pset_attr, pset_set_attr - PSET_* of a set; -EINVAL: no such set (or, to set, the default set). */
int pset_attr(int id);
int pset_set_attr(int id, unsigned attr);

#endif
