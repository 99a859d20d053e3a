// SPDX-License-Identifier: MIT
/*
 * load.h - the load of each lgroup, and the load that new threads are expected to add.
 *
 * THEORY      The home of a new thread should be an lgroup with little load.  But a new thread has not run
 *             yet, so a measured load does not include it: 100 threads created at once would all get the same
 *             home.  So the load is a measured average, plus promises for threads that are too young to appear
 *             in the average.
 *             Each processor set ("partition") has a record per lgroup.  The average is that of runnable
 *             threads, and it decays with a time constant of 2 s.  There are two kinds of promise:
 *             - A single arrival (the first thread of a process, a thread that was moved) adds the load of
 *               one thread.  This decays like the average, and is taken back if the thread leaves within
 *               lgrp_min_nsec.
 *             - While a process creates threads, each new thread is *held*.  A held thread counts as one whole
 *               thread, and its promise does not decay, whether the thread runs, blocks on a barrier or was not
 *               dispatched yet.  The creation lasts until lgrp_create_hold updates (2 s) after the last new
 *               thread.  The thread that began the creation is held as half a thread.  That thread may run
 *               together with its children, or sleep until they end.  In both cases half a thread is correct
 *               within the tolerance.
 *             While an lgroup has held threads, its load is (held + others), in whole threads.  `others` is
 *             the number of other threads that seemed to run there when the first held thread arrived.  The
 *             average is not used, because it would count running held threads twice.  A process that creates
 *             threads also sees the lgroups without held threads in whole threads, so their averages, which may
 *             still contain an earlier run, do not count.
 * UNITS       LGRP_LOAD_FULL (INT16_MAX, the unit of the MPO paper): one runnable thread per CPU.  Internally
 *             an average is kept with 65536 = full, because then the arithmetic gives the published numbers.
 * INVARIANTS  I1  avg + antic <= homed threads * one thread's worth after any departure
 *             I2  held == sum over creating processes of their held[] for this record
 *             I3  a process's bitmap has bit g set iff homed[g] > 0
 * LOCKING     cpupart_lock (disp/pset.h) guards all records of partitions, processes and threads.  The caller
 *             of every function holds it.
 * TUNABLES    lgrp_loadavg_max_effect, lgrp_min_nsec, lgrp_create_hold
 * SEE ALSO    load.c, promise.c, homing.c, home.h; docs/lgroups.md, tests/host/test_load.c, test_promise.c
 */
#ifndef LGRP_LOAD_H
#define LGRP_LOAD_H

#include "lib/types.h"

#define LGRP_LOAD_FULL 32767u /* INT16_MAX: every CPU of the lgroup has one runnable thread */

/* Tunable variable: the load up to which a process's threads stay in its lgroups (home.h). */
extern uint32_t lgrp_expand_proc_thresh;

/* The record of one lgroup in one partition. */
struct lpl {
    uint16_t ncpus;     /* on-line CPUs of the lgroup in this partition */
    uint16_t others;    /* while held > 0: threads that run in the lgroup and are not held */
    uint32_t homed;     /* threads whose home is this lgroup */
    uint32_t held;      /* held threads of all processes that create threads, in half threads */
    uint32_t avg;       /* decaying average of runnable threads; 65536: one per CPU */
    uint32_t antic;     /* load promised for single arrivals; same unit and decay as `avg` */
    uint16_t recent[2]; /* runnable threads at the last two updates */
    uint64_t last_homed_ns;
};

struct lgrp_part {
    struct lpl lpl[LGRP_MAX];
    uint64_t lgrps;             /* set of lgroups with ncpus > 0 */
    uint32_t updates;           /* load updates so far */
    struct lgrp_proc *creating; /* processes that are creating threads */
};

/* The record of a process; embedded in struct proc. */
struct lgrp_proc {
    uint64_t bitmap; /* set of lgroups that are homes of threads of the process */
    /* partition whose `creating` list has this record; NULL: no list has it */
    struct lgrp_part *creating_in;
    struct lgrp_proc *next, **prev; /* links of the `creating` list */
    /* value of part->updates when the process last created a thread */
    uint32_t last_create;
    /* number of the present or last creation of threads by this process */
    uint32_t burst;
    /* threads at home in each lgroup; valid where `bitmap` has a bit */
    uint16_t homed[LGRP_MAX];
    /* held half threads in each lgroup; valid while creating_in is not NULL */
    uint16_t held[LGRP_MAX];
};

/* The record of a thread; embedded in struct thread. */
struct lgrp_thread {
    struct lgrp_proc *proc;
    struct lgrp_part *part; /* partition whose records count the thread; NULL: none */
    uint64_t at_ns;         /* time, in ns, at which the thread was counted in its home */
    uint32_t burst;         /* value of proc->burst when the thread was held */
    uint8_t home;           /* lgroup */
    /* lgroup for pages that the thread touches first: `home`, or LGRP_NONE if `has_mempolicy` */
    uint8_t touch;
    bool has_mempolicy; /* the thread has a memory policy of its own (mempolicy.h) */
    /* half threads (0, 1, 2) that were promised for the thread in creation `burst` */
    uint8_t charge;
    /*
     * if the thread was charged as a single arrival: number of CPUs by which the charge was
     * divided, namely those of the lgroup at that time; 0: no such charge
     */
    uint16_t antic;
};

void lgrp_part_init(struct lgrp_part *part);
/* lgrp_part_end - end all creations of threads in `part`.  No thread has its home in part any more. */
void lgrp_part_end(struct lgrp_part *part);
/* lgrp_part_cpu - a CPU of `lgrp` joins (delta +1) or leaves (-1) the partition. */
void lgrp_part_cpu(struct lgrp_part *part, unsigned lgrp, int delta);
/*
 * lgrp_part_update - update all averages; called every 1/10 s.  If the clock is late, the function
 * is called once, not several times.
 * @runnable  by lgroup g: threads queued on CPUs of g, plus threads that run anywhere and are at home in g.
 *            A running thread without a home is not counted
 */
void lgrp_part_update(struct lgrp_part *part, const uint16_t runnable[LGRP_MAX]);

/*
 * lpl_load - load of a record, in units of LGRP_LOAD_FULL; can be more than full.  UINT32_MAX: the record has
 * no CPU.
 */
uint32_t lpl_load(const struct lpl *l);

void lgrp_proc_init(struct lgrp_proc *p);
/*
 * lgrp_proc_exit - end the creation of threads by a process that has no threads left, or that becomes another
 * program (exec).
 */
void lgrp_proc_exit(struct lgrp_proc *p);

/*
 * lgrp_thread_home - choose a home in `part` for new thread `t` of process `p`, and charge it there.  Returns
 * the home; LGRP_NONE: the partition has no CPU, and nothing is charged.
 * @creator  the thread that creates t; for the first thread of a process, NULL or a thread of another process
 * @rnd      32 random bits
 */
unsigned lgrp_thread_home(struct lgrp_part *part, struct lgrp_thread *t, struct lgrp_proc *p,
                          struct lgrp_thread *creator, uint64_t now_ns, uint32_t rnd);
/*
 * lgrp_thread_rehome - choose the home of `t` again.  Called when the old home has no CPU any more, or when the
 * set or affinities of t have changed.
 * @aff  affinity of t by lgroup id (0: none); NULL: t has no affinities
 */
unsigned lgrp_thread_rehome(struct lgrp_part *part, struct lgrp_thread *t, const uint8_t *aff,
                            uint64_t now_ns, uint32_t rnd);
/* lgrp_thread_join - make lgroup `lgrp` the home of `t`, and count t there.  t must not be counted anywhere yet. */
void lgrp_thread_join(struct lgrp_part *part, struct lgrp_thread *t, unsigned lgrp,
                      uint64_t now_ns);
/* lgrp_thread_leave - stop counting `t`.  Called at exit, or before t joins another record. */
void lgrp_thread_leave(struct lgrp_thread *t, uint64_t now_ns);

extern uint32_t lgrp_loadavg_max_effect;
extern uint64_t lgrp_min_nsec;
extern uint32_t lgrp_create_hold;

/* ---- implemented by disp/ ---- */
/*
 * clock_runnable_now - number of threads of the set of `part` that now wait on its CPUs in `lgrp`, or run on
 * any of its CPUs and have their home in `lgrp`.  Takes no lock; the result is a snapshot.
 */
unsigned clock_runnable_now(const struct lgrp_part *part, unsigned lgrp);

#endif
