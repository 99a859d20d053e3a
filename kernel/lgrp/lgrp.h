// SPDX-License-Identifier: MIT
/*
 * lgrp.h - locality groups: which CPUs and which memory are near each other.
 *
 * THEORY      A large machine consists of boards, each with CPUs and memory.  A CPU reads the memory of its
 *             own board faster than that of another board.  So a thread should run near its memory.  The
 *             kernel must know which CPUs and which memory belong together: a locality group (lgroup) is such
 *             a set of CPUs and memory.
 *             A memory node is one ACPI proximity domain (a board).  A domain with CPUs but without memory is
 *             also a node, without page frames.  The rest of the kernel and programs see lgroups.  Normally
 *             there is one lgroup per node, with the same number.  There is only lgroup 0 if all memory is
 *             equally distant, or if `mpo_enable` is 0.
 *             near[] lists all lgroups, nearest first.  The order of equally distant lgroups is rotated by the
 *             lgroup's own number, so that 18 equidistant boards do not all fall back on board 0.  level_end[]
 *             cuts near[] into groups of equal distance (the "levels" of the dispatcher).
 * INVARIANTS  I1  every CPU is in exactly one lgroup
 *             I2  ranges are sorted, do not overlap, and each belongs to one node
 *             I3  near[g][0] == g
 *             I4  nodes 0 .. nmem-1 have memory, in ascending order of their lowest address
 * LOCKING     The boot CPU builds the topology before the other CPUs start.  Afterwards it is constant.
 * TUNABLES    mpo_enable
 * SEE ALSO    docs/lgroups.md, tests/host/test_topo.c, tests/test_acpi_boot.py
 */
#ifndef LGRP_LGRP_H
#define LGRP_LGRP_H

#include "acpi/acpi.h"
#include "lib/bitmap.h"
#include "lib/cpumask.h"
#include "lib/types.h"

enum {
    LGRP_RANGE_MAX = 320, /* memory ranges of the machine */
    LGRP_LEVEL_MAX = 8,   /* distances that are distinguished, the lgroup's own included */
    LGRP_NOTE_MAX = 6,
    LGRP_LAT_LOCAL = 10, /* synthetic latencies, in SLIT units */
    LGRP_LAT_REMOTE = 20,
    LGRP_NONE = 255,
};

struct lgrp_range {
    uint64_t base; /* bytes */
    uint64_t len;
};

struct lgrp_topo {
    unsigned nnodes; /* proximity domains in use, memory-less ones included */
    unsigned nmem;   /* nodes 0 .. nmem-1 have memory */
    unsigned nlgrps;
    unsigned ncpus;
    bool high_end; /* remote memory is at least 1.5 times as far as local */
    bool uniform;  /* in the SLIT all memory is equally far: one lgroup */

    unsigned nranges;
    struct lgrp_range range[LGRP_RANGE_MAX];
    uint8_t range_node[LGRP_RANGE_MAX];

    uint32_t node_pxm[NODE_MAX];
    uint64_t node_bytes[NODE_MAX];
    uint8_t node_lgrp[NODE_MAX];
    uint8_t cpu_node[CPU_MAX];
    uint8_t cpu_lgrp[CPU_MAX];

    struct cpumask lgrp_cpus[LGRP_MAX];
    uint64_t lgrp_nodes[LGRP_MAX]; /* nodes with memory, as a set */
    uint64_t mem_lgrps;            /* lgroups with memory, as a set */
    uint8_t sole_node[LGRP_MAX];   /* the lgroup's one memory node; LGRP_NONE: 0 or 2+ */

    uint8_t node_lat[NODE_MAX][NODE_MAX];        /* SLIT units */
    uint8_t lat[LGRP_MAX][LGRP_MAX];             /* [from CPU][to memory] */
    uint8_t near[LGRP_MAX][LGRP_MAX];            /* lgroups, nearest first */
    uint8_t nlevels[LGRP_MAX];                   /* >= 1 */
    uint8_t level_end[LGRP_MAX][LGRP_LEVEL_MAX]; /* level k ends before this index of near[] */
    struct cpumask level_cpus[LGRP_MAX][LGRP_LEVEL_MAX]; /* CPUs of level k */

    unsigned nnotes;
    const char *note[LGRP_NOTE_MAX]; /* one line each for the console */
};

struct lgrp_input {
    unsigned ncpus;
    const uint32_t *apic_id; /* by CPU id */
    unsigned nmem;
    const struct lgrp_range *mem; /* usable RAM, any order; must not overlap */
    const struct acpi_srat *srat; /* NULL: there is none, or it is bad (srat_why) */
    const struct acpi_slit *slit;
    const struct acpi_hmat *hmat;
    const char *srat_why; /* reason, if the SRAT is bad; else NULL */
    const char *slit_why; /* reason, if the SLIT is bad; else NULL */
};

extern struct lgrp_topo lgrp_topo; /* the machine's, filled in at boot */

/*
 * lgrp_topo_build - compute nodes, distances and lgroups from the ACPI tables.  The function always
 * succeeds: a bad SRAT is replaced by one node, bad distances by synthetic latencies, with a line
 * in note[].  The input is not needed afterwards.
 */
void lgrp_topo_build(struct lgrp_topo *t, const struct lgrp_input *in);

/*
 * lgrp_topo_group - divide nodes and CPUs into lgroups, according to mpo_enable, and set nlgrps.
 * This part of lgrp_topo_build() can be repeated before the other CPUs start.  Nodes do not change.
 */
void lgrp_topo_group(struct lgrp_topo *t);

/*
 * lgrp_apply_family - set the default of lgrp_expand_proc_thresh, which depends on the machine
 * family, unless the tunable has already been set.  The function is a part of lgrp_topo_build().
 */
void lgrp_apply_family(const struct lgrp_topo *t);

/* lgrp_phys_node - node of a physical address; -1: no memory is installed there. */
int lgrp_phys_node(const struct lgrp_topo *t, uint64_t pa);

/*
 * lgrp_node_order - write to `out` all nodes with memory, best first, for an allocation for lgroup `lgrp`.
 * First come the nodes of lgrp, then those of the lgroups of near[].  If an lgroup has several nodes, a random
 * one of them comes first (`rnd`: 32 random bits).  Returns the number of nodes.
 */
unsigned lgrp_node_order(const struct lgrp_topo *t, unsigned lgrp, uint32_t rnd,
                         uint8_t out[NODE_MAX]);

/*
 * lgrp_steal_order - lgroups by distance from `lgrp`: level k of the list *near ends before index (*ends)[k].
 * Returns the number of levels.
 */
static inline unsigned lgrp_steal_order(const struct lgrp_topo *t, unsigned lgrp,
                                        const uint8_t **near, const uint8_t **ends)
{
    *near = t->near[lgrp];
    *ends = t->level_end[lgrp];
    return t->nlevels[lgrp];
}

extern uint32_t mpo_enable;
extern uint32_t nlgrps; /* lgroups of this machine, for `mdb` */

#endif
