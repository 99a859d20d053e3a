// SPDX-License-Identifier: MIT
/*
 * place.h - chooses the lgroup and the memory node of a new page: pure policy.
 *
 * THEORY      When a page is created, the kernel must choose its board.  A segment (private memory) or an
 *             object (shared memory) has a policy for this choice.  The policy chooses an lgroup, and then a
 *             node of that lgroup is chosen.  The allocator only looks there first.  If the node has no free
 *             page, the allocator tries the others, nearest first, so an allocation never fails because of
 *             locality.
 *             "First touch" means the home of the thread that touches the page, even if the thread now runs on
 *             a CPU elsewhere.
 * LOCKING     The functions take no locks.  They read the constant topology, the tunables and their arguments.
 * TUNABLES    lgrp_mem_default_policy, lgrp_privm_random_thresh, lgrp_shm_random_thresh,
 *             lgrp_mem_pset_aware
 * SEE ALSO    docs/lgroups.md, tests/host/test_place.c
 */
#ifndef LGRP_PLACE_H
#define LGRP_PLACE_H

#include "lgrp/lgrp.h"

/* The numbers are those of Solaris. */
enum lgrp_mem_policy {
    LGRP_MEM_POLICY_DEFAULT,     /* the policy that lgrp_mem_default() returns for the segment */
    LGRP_MEM_POLICY_NEXT,        /* home of the thread that touches the page next: "first touch" */
    LGRP_MEM_POLICY_RANDOM_PROC, /* random among the lgroups where the process has homes */
    LGRP_MEM_POLICY_RANDOM_PSET, /* random among the lgroups of the thread's processor set */
    LGRP_MEM_POLICY_RANDOM,      /* random among all lgroups */
    LGRP_MEM_POLICY_ROUNDROBIN,  /* the lgroups with memory in turn, beginning at the home */
    LGRP_MEM_POLICY_NEXT_CPU,    /* lgroup of the CPU that faults */
    LGRP_MEM_POLICY_COUNT
};

struct lgrp_mem_in {
    const struct lgrp_topo *topo;
    unsigned home;       /* home lgroup of the thread; LGRP_NONE for kernel threads */
    unsigned cpu_lgrp;   /* lgroup of the CPU on which the thread runs */
    uint64_t proc_lgrps; /* lgroups that are homes of threads of the process; 0: none */
    uint64_t pset_lgrps; /* lgroups of the thread's processor set; 0: it is the default set */
    uint64_t seg_bytes;  /* size of the segment, for lgrp_mem_pset_aware */
    uint64_t index;      /* number of the page, for ROUNDROBIN */
    uint32_t rnd;        /* 32 random bits, for the random policies */
};

/*
 * lgrp_mem_choose - choose the lgroup for a page under *policy (not DEFAULT).  *policy is changed to the policy
 * that was really used, for the kstats: another one replaces NEXT for a thread without a home.  The lgroup may
 * have no memory (a board with CPUs only): see lgrp_mem_node().
 */
unsigned lgrp_mem_choose(enum lgrp_mem_policy *policy, const struct lgrp_mem_in *in);

/* lgrp_mem_node_slow - see lgrp_mem_node(). */
unsigned lgrp_mem_node_slow(const struct lgrp_topo *t, unsigned lgrp, uint32_t rnd);

/*
 * lgrp_mem_node - the node to try first for memory of `lgrp`.  Returns a node of lgrp, or, if lgrp
 * has no memory, a node of the nearest lgroup with memory.  `rnd` (32 random bits) chooses among
 * several nodes.
 */
static inline unsigned lgrp_mem_node(const struct lgrp_topo *t, unsigned lgrp, uint32_t rnd)
{
    unsigned node = t->sole_node[lgrp];

    return node != LGRP_NONE ? node : lgrp_mem_node_slow(t, lgrp, rnd);
}

extern uint32_t lgrp_mem_default_policy;
extern uint64_t lgrp_privm_random_thresh;
extern uint64_t lgrp_shm_random_thresh;
extern uint32_t lgrp_mem_pset_aware;

/*
 * lgrp_mem_default - policy of a segment without advice, by its kind and size (bytes).  When a heap or stack
 * grows, pass the new total size.
 */
static inline enum lgrp_mem_policy lgrp_mem_default(bool shared, uint64_t bytes)
{
    uint64_t thresh = shared ? lgrp_shm_random_thresh : lgrp_privm_random_thresh;

    if (bytes > thresh)
        return LGRP_MEM_POLICY_RANDOM;
    return shared ? LGRP_MEM_POLICY_NEXT : (enum lgrp_mem_policy)lgrp_mem_default_policy;
}

#endif
