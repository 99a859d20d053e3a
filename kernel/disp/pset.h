// SPDX-License-Identifier: MIT
/*
 * pset.h - processor sets: CPUs reserved for the threads that are bound to them (pset_create(2) of Solaris
 * 9).
 *
 * THEORY      A processor set gives some threads CPUs of their own, so that other threads cannot disturb
 *             them.
 *             Every CPU belongs to one set, and so does every thread.  A thread runs only on the on-line CPUs
 *             of its set, and these run no other threads.  At first all CPUs and threads are in the default
 *             set, which has no number.  A set has its own load record for each lgroup, so the homes of its
 *             threads are chosen by its own load among the boards on which it has CPUs.
 *             The memory of a destroyed set is never freed, because other CPUs may read it without a lock (as
 *             the set of a thread or CPU).  The next set with the same number uses it again.
 * INVARIANTS  I1  part->cpus are the on-line CPUs whose disp->part is this set, except while it is destroyed
 *             I2  a set with threads has an on-line CPU; the default set always has one
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

/* A run queue: the threads that wait for one CPU, or the waiting real-time threads of a set; by global priority. */
struct disp_queue {
    struct spinlock lock; /* RANK_RUNQ */
    /* [c] CPU for which the threads wait; NULL: the queue of a set */
    struct cpu *cpu;
    uint64_t mask[(NPRI + 63) / 64]; /* [lock] bit p: queue[p] is not empty */
    struct list queue[NPRI];         /* [lock] */
    uint16_t nrun;          /* [lock] number of threads on the queue; may be read unlocked */
    _Atomic int16_t maxpri; /* [a] highest queued priority; -1: none */
};

/* Lock key: [l] cpu_lock  [p] cpupart_lock  [a] atomic  [k] only the clock writes it */
struct cpupart {
    int id;                 /* [l] PS_NONE (-1): the default set */
    bool live;              /* [p] false: the set was destroyed */
    unsigned attr;          /* [a] PSET_NOESCAPE */
    struct cpumask cpus;    /* [a] on-line CPUs of the set */
    struct lgrp_part lgrps; /* [p] loads and homes per lgroup */
    struct disp_queue rt;   /* [a] real-time threads that wait (runq.c); not reset for a new set */
    /*
     * [p] generator of random numbers that are used only to choose homes, so that the boot seed
     * determines the homes
     */
    uint64_t rng;
    uint16_t runnable[LGRP_MAX]; /* [k] threads that run or wait, per lgroup, at the last sample */
    /* [k] threads of the set that run or wait, while the clock counts them */
    unsigned counting;
    _Atomic unsigned nrunnable;  /* [k] threads of the set that run or wait, at the last sample */
    _Atomic uint32_t loadavg[3]; /* [k] load averages over 1, 5 and 15 minutes (loadavg.h) */
    struct kstat ks;             /* pset:ID:pset */
};

extern struct cpupart cpupart_default;
/* [0]: the default set; [n]: set n, also when destroyed; NULL: never used. */
extern struct cpupart *cpuparts[];
extern unsigned cpupart_end; /* [a] 1 + highest number in use so far */
extern struct spinlock cpupart_lock;
extern struct mutex cpu_lock;

/* pset_init - initialise the default set; before the first CPU joins it. */
void pset_init(void);
/*
 * pset_stats_init - register the kstat of the default set, once the lgroups are known.
 * pset_stats_register - register the kstat of new set `p`.
 */
void pset_stats_init(void);
void pset_stats_register(struct cpupart *p);

/* pset_create, pset_destroy, pset_assign, pset_attr and pset_set_attr take cpu_lock and may sleep. */
/*
 * pset_create - make a set without CPUs.  Returns its number, the lowest free one, or -ENOMEM: there are too
 * many sets, or no memory.
 */
int pset_create(void);
/*
 * pset_destroy - move the threads and CPUs of set `id` to the default set.  0; -EINVAL: no such set; -EBUSY:
 * after BOUND_TRIES waits of BOUND_WAIT_NS, one of its threads is still bound to a CPU.
 */
int pset_destroy(int id);
/*
 * pset_assign - move CPU `cpu` to set `id` (PS_NONE: default); `forced` unbinds threads from it first.
 * Returns 0, or:
 * -EINVAL: no such set or CPU, or the CPU is off-line;
 * -EBUSY: after BOUND_TRIES waits of BOUND_WAIT_NS, threads are still bound to the CPU; or the CPU is the last
 * one of the default set or of a set that has threads.
 */
int pset_assign(int id, unsigned cpu, bool forced);
/* pset_of_cpu - the number of the set of a CPU (PS_NONE: default).  `cpu` exists.  Takes no lock. */
int pset_of_cpu(unsigned cpu);
/*
 * pset_find - a set by its number; NULL: there is none.  The caller holds cpu_lock; otherwise the set may be
 * destroyed.
 */
struct cpupart *pset_find(int id);
/*
 * pset_bind - move `t` to set `to`, which has a CPU.  The caller holds cpu_lock.  0, or -EBUSY: t is bound to a
 * CPU of another set.  If t is curthread, the call may switch threads, so the caller must hold no spin lock.
 */
int pset_bind(struct thread *t, struct cpupart *to);
/*
 * pset_attr, pset_set_attr - get or set PSET_* of a set.  -EINVAL: no such set, or pset_set_attr() is called
 * for the default set.
 */
int pset_attr(int id);
int pset_set_attr(int id, unsigned attr);

#endif
