// SPDX-License-Identifier: MIT
/*
 * load.h - how loaded each lgroup is, and what newly homed threads are expected to add.
 *
 * THEORY      Each processor set ("partition") has a record per lgroup.  Its load is a decaying
 *             average of runnable threads (time constant 2 s), plus what has been promised to
 *             threads that are too young to show up in it.  There are two kinds of promise:
 *             - A single arrival (the first thread of a process, a thread that was moved) adds
 *               one thread's worth that ages like the average itself, and is taken back when
 *               the thread leaves within lgrp_min_nsec.
 *             - While a process is creating threads, each of its new threads is *held*: counted
 *               in whole threads, not aged, whether it runs, blocks on a barrier or has not
 *               been dispatched at all.  The process counts as creating until lgrp_create_hold
 *               updates (2 s) have passed since its last new thread.  The thread that began the
 *               creation is held as half a thread: it may be about to work beside its children
 *               or to sleep until they are done, and half is right to within the tolerance in
 *               both cases.
 *             While an lgroup has held threads its load is (held + others) in whole threads,
 *             where `others` is what else seemed to run there when the first held thread
 *             arrived: an average would count the running ones of the held threads twice.  A
 *             process that creates threads sees the lgroups that it does not use in the same
 *             way, in whole threads: what an earlier run left in their averages is not there.
 * UNITS       LGRP_LOAD_FULL (INT16_MAX, the paper's unit): one runnable thread per CPU.
 *             Inside, an average is kept at 65536 = full, so that the arithmetic gives the
 *             published numbers.
 * INVARIANTS  I1  avg + antic <= homed threads * one thread's worth after any departure
 *             I2  held == sum over creating processes of their held[] for this record
 *             I3  a process's bitmap has bit g set iff homed[g] > 0
 * LOCKING     one lock, that of the set of CPUs (disp.h), guards partitions, processes
 *             and threads here: the caller of every function holds it
 * TUNABLES    lgrp_loadavg_max_effect, lgrp_min_nsec, lgrp_create_hold
 * SEE ALSO    docs/lgroups.md, tests/host/test_load.c, lgrp/home.h
 */
#ifndef LGRP_LOAD_H
#define LGRP_LOAD_H

#include "lib/types.h"

#define LGRP_LOAD_FULL 32767u /* INT16_MAX: every CPU of the lgroup has one runnable thread */

/* One lgroup as seen by one partition. */
struct lpl {
    uint16_t ncpus;     /* on-line CPUs of the lgroup in this partition */
    uint16_t others;    /* threads, while held > 0: everybody else's load */
    uint32_t homed;     /* threads whose home this is */
    uint32_t held;      /* half threads promised to creating processes */
    uint32_t avg;       /* decaying average of runnable, 65536 = full */
    uint32_t antic;     /* single arrivals' promises, same unit, same decay */
    uint16_t recent[2]; /* runnable threads at the last two updates */
    uint64_t last_homed_ns;
};

struct lgrp_part {
    struct lpl lpl[LGRP_MAX];
    uint64_t lgrps;             /* set of lgroups with ncpus > 0 */
    uint32_t updates;           /* load updates so far */
    struct lgrp_proc *creating; /* processes that are creating threads */
};

/* Per process; embedded in it. */
struct lgrp_proc {
    uint64_t bitmap;                /* lgroups where it has a thread homed */
    struct lgrp_part *creating_in;  /* non-NULL: it is on that partition's creating list */
    struct lgrp_proc *next, **prev; /* that list */
    uint32_t last_create;           /* part->updates at its last new thread */
    uint32_t burst;                 /* number of the present or last creation */
    uint16_t homed[LGRP_MAX];       /* threads per lgroup; valid where bitmap has a bit */
    uint16_t held[LGRP_MAX];        /* half threads promised, while creating_in */
};

/* Per thread; embedded in it. */
struct lgrp_thread {
    struct lgrp_proc *proc;
    struct lgrp_part *part; /* where it is counted; NULL: nowhere */
    uint64_t at_ns;         /* when its load was charged */
    uint32_t burst;         /* proc->burst in which it was held */
    uint8_t home;           /* lgroup */
    uint8_t touch; /* where pages go that it touches first: home, or LGRP_NONE: `has_mempolicy` */
    bool has_mempolicy; /* it has a memory policy of its own (mempolicy.h) */
    uint8_t charge;     /* half threads held (0, 1, 2) in that burst */
    uint16_t antic;     /* single arrival: CPUs the charge was divided by; 0: none */
};

void lgrp_part_init(struct lgrp_part *part);
/* lgrp_part_end - nobody is homed in it any more: processes that created threads there do so no longer. */
void lgrp_part_end(struct lgrp_part *part);
/* lgrp_part_cpu - a CPU of `lgrp` joins (+1) or leaves (-1) the partition: on-line, off-line,
 * assign. */
void lgrp_part_cpu(struct lgrp_part *part, unsigned lgrp, int delta);
/*
 * lgrp_part_update - one step of every average, each 1/10 s.  runnable[g]: threads queued on
 * CPUs of g, plus threads executing anywhere whose home is g.  Threads without a home are not
 * counted. A delayed clock makes one call, not several.
 */
void lgrp_part_update(struct lgrp_part *part, const uint16_t runnable[LGRP_MAX]);

/* lpl_load - load of a record with CPUs, in LGRP_LOAD_FULL units; may exceed full. */
uint32_t lpl_load(const struct lpl *l);

void lgrp_proc_init(struct lgrp_proc *p);
/* lgrp_proc_exit - the process has no threads left, or becomes another program (exec). */
void lgrp_proc_exit(struct lgrp_proc *p);

/*
 * lgrp_thread_home - choose a home for a new thread `t` of process `p` in `part` and charge it.
 * `creator`: the thread that creates it, or NULL / a thread of another process for the first
 * thread (fork, exec of init).  Returns the home; LGRP_NONE and no charge when the partition
 * has no CPU.
 */
unsigned lgrp_thread_home(struct lgrp_part *part, struct lgrp_thread *t, struct lgrp_proc *p,
                          struct lgrp_thread *creator, uint64_t now_ns, uint32_t rnd);
/* lgrp_thread_rehome - choose again, for a thread whose home has no CPU left, or which changed
 * set. */
unsigned lgrp_thread_rehome(struct lgrp_part *part, struct lgrp_thread *t, const uint8_t *aff,
                            uint64_t now_ns, uint32_t rnd);
/* lgrp_thread_join - count `t` (which is counted nowhere) in a given lgroup (processor_bind,
 * affinity). */
void lgrp_thread_join(struct lgrp_part *part, struct lgrp_thread *t, unsigned lgrp,
                      uint64_t now_ns);
/* lgrp_thread_leave - stop counting it: exit, or before it joins elsewhere. */
void lgrp_thread_leave(struct lgrp_thread *t, uint64_t now_ns);

extern uint32_t lgrp_loadavg_max_effect;
extern uint64_t lgrp_min_nsec;
extern uint32_t lgrp_create_hold;

/* ---- implemented by disp/ ---- */
/* clock_runnable_now - threads that wait on CPUs of `lgrp`, or run anywhere and are at home there, at this instant. */
unsigned clock_runnable_now(const struct lgrp_part *part, unsigned lgrp);

#endif
