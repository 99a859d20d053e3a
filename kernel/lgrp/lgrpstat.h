// SPDX-License-Identifier: MIT
/*
 * lgrpstat.h - the counters of each lgroup: kstat module `lgrp`, instance = lgroup, with the names of Solaris.
 *
 * THEORY      Each policy counts its decisions, so that a test can check where pages came from and why.  A
 *             counter is one atomic word per lgroup.  The counters of an lgroup are in cache lines of their
 *             own.
 * LOCKING     The counters are atomic.
 * SEE ALSO    docs/lgroups.md
 */
#ifndef LGRP_LGRPSTAT_H
#define LGRP_LGRPSTAT_H

#include "lib/types.h"

#define LGRP_STATS(X)                                                                              \
    X(LWP_MIGRATIONS, "lwp migrations") /* threads whose home moved away */                        \
    X(ALLOC_FAIL, "alloc fail")         /* the chosen lgroup had no free page */                   \
    X(MIGR_FROM, "pages migrated from")                                                            \
    X(MIGR_TO, "pages migrated to")                                                                \
    X(MIGR_FAIL_TO, "pages failed to migrate to")     /* no free page there */                     \
    X(MIGR_FAIL_FROM, "pages failed to migrate from") /* page was busy */                          \
    X(MARKED, "pages marked for migration")                                                        \
    X(MARK_FAIL, "pages failed to mark")                                                           \
    X(DEFAULT, "default policy")                                                                   \
    X(NEXT, "next-touch policy")                                                                   \
    X(RANDOM, "random policy")                                                                     \
    X(PROC, "span process policy")                                                                 \
    X(PSET, "span psrset policy")                                                                  \
    X(ROUNDROBIN, "round robin policy")

enum lgrp_stat {
#define X(id, name) LGRP_STAT_##id,
    LGRP_STATS(X)
#undef X
        LGRP_STAT_COUNT
};

struct lgrp_counters {
    _Atomic uint64_t v[LGRP_STAT_COUNT];
} cacheline_aligned;

extern struct lgrp_counters lgrp_counters[LGRP_MAX];

/* lgrp_count - add n to a counter of lgroup `lgrp`. */
static inline void lgrp_count(unsigned lgrp, enum lgrp_stat stat, uint64_t n)
{
    atomic_fetch_add_explicit(&lgrp_counters[lgrp].v[stat], n, memory_order_relaxed);
}

/* lgrp_count_rehome - count that a thread's home was `from` and is `to` now. */
static inline void lgrp_count_rehome(unsigned from, unsigned to)
{
    if (from != to && from < LGRP_MAX)
        lgrp_count(from, LGRP_STAT_LWP_MIGRATIONS, 1);
}

/* lgrp_stats_init - register the kstats of all lgroups.  Called when the topology is known and kmem works. */
void lgrp_stats_init(void);

/* ---- implemented by disp/ ---- */
/*
 * pset_lgrp_load - mean load of the CPUs of an lgroup, over all sets; LGRP_LOAD_FULL: all are busy.  Takes
 * cpupart_lock.
 * pset_lgrp_cpus - number of on-line CPUs of an lgroup.
 * pset_lgrp_activity - what the CPUs of an lgroup do, and how many threads are at home there, over all sets.  The
 * counts are not from one moment.  Takes cpupart_lock.
 */
uint32_t pset_lgrp_load(unsigned lgrp);
unsigned pset_lgrp_cpus(unsigned lgrp);
struct lgrp_activity {
    /* threads that wait on the run queues of the CPUs, and threads that run on them */
    unsigned waiting, running;
    unsigned homed; /* threads with this home */
    /* dispatches by the CPUs since boot: of threads that are at home here, and of others */
    uint64_t disp_home, disp_remote;
};
void pset_lgrp_activity(unsigned lgrp, struct lgrp_activity *out);

#endif
