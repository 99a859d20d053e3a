// SPDX-License-Identifier: MIT
/*
 * lgrp.h - locality groups: which CPUs and which memory are near each other.
 *
 * THEORY      A memory node is one ACPI proximity domain with memory (a board).  An lgroup is
 *             what the rest of the kernel and programs see: normally one per node, numbered
 *             alike; exactly one, number 0, when there is nothing to tell apart or `mpo_enable`
 *             is 0.  A domain with CPUs only (no memory) is an lgroup and a node without
 *             frames. near[] lists all lgroups, nearest first; equally distant ones follow in
 *             an order rotated by the lgroup's own number, so that 18 equidistant boards do not
 *             all fall back on board 0. level_end[] cuts near[] into groups of equal distance
 *             (the "levels" of the dispatcher).
 * INVARIANTS  I1  every CPU is in exactly one lgroup
 *             I2  ranges are sorted, do not overlap, and each belongs to one node
 *             I3  near[g][0] == g
 *             I4  nodes 0 .. nmem-1 have memory, in ascending order of their lowest address
 * LOCKING     built by the boot CPU before the others start, constant afterwards
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
    LGRP_LEVEL_MAX = 8,   /* distances told apart, the lgroup's own included */
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
    bool uniform;  /* the SLIT says that all memory is equally far: one lgroup */

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

    uint8_t node_lat[NODE_MAX][NODE_MAX];                /* SLIT units */
    uint8_t lat[LGRP_MAX][LGRP_MAX];                     /* [from CPU][to memory] */
    uint8_t near[LGRP_MAX][LGRP_MAX];                    /* lgroups, nearest first */
    uint8_t nlevels[LGRP_MAX];                           /* >= 1 */
    uint8_t level_end[LGRP_MAX][LGRP_LEVEL_MAX];         /* level k: near[] below this */
    struct cpumask level_cpus[LGRP_MAX][LGRP_LEVEL_MAX]; /* CPUs of level k */

    unsigned nnotes;
    const char *note[LGRP_NOTE_MAX]; /* one line each for the console */
};

struct lgrp_input {
    unsigned ncpus;
    const uint32_t *apic_id; /* by CPU id */
    unsigned nmem;
    const struct lgrp_range *mem; /* usable RAM, any order; must not overlap */
    const struct acpi_srat *srat; /* NULL: none, or rejected because of `srat_why` */
    const struct acpi_slit *slit;
    const struct acpi_hmat *hmat;
    const char *srat_why; /* NULL: there is no such table */
    const char *slit_why;
};

extern struct lgrp_topo lgrp_topo; /* the machine's, filled in at boot */

/*
 * lgrp_topo_build - work out nodes, distances and lgroups; always succeeds: what cannot be
 * believed is replaced by one node (CPUs, memory) or by synthetic latencies (distances), with a
 * line in note[]. The input may be thrown away afterwards.
 */
void lgrp_topo_build(struct lgrp_topo *t, const struct lgrp_input *in);

/*
 * lgrp_topo_group - divide nodes and CPUs into lgroups, obeying mpo_enable, and set nlgrps; a part
 * of lgrp_topo_build() that may be repeated before the other CPUs start.  Nodes do not change.
 */
void lgrp_topo_group(struct lgrp_topo *t);

/*
 * lgrp_apply_family - give a tunable that differs by machine family its default, unless
 * /etc/system has set it; a part of lgrp_topo_build().
 */
void lgrp_apply_family(const struct lgrp_topo *t);

/* lgrp_phys_node - node of a physical address, or -1 if it is not installed memory. */
int lgrp_phys_node(const struct lgrp_topo *t, uint64_t pa);

/*
 * lgrp_node_order - all nodes with memory, best first, for memory of lgroup `lgrp`: its own
 * nodes, then those of near[]; several nodes of one lgroup in an order rotated by `rnd`.
 * Returns how many.
 */
unsigned lgrp_node_order(const struct lgrp_topo *t, unsigned lgrp, uint32_t rnd,
                         uint8_t out[NODE_MAX]);

/* lgrp_steal_order - lgroups by distance from `lgrp`: *near is the list, ends[k] where level k
 * ends. */
static inline unsigned lgrp_steal_order(const struct lgrp_topo *t, unsigned lgrp,
                                        const uint8_t **near, const uint8_t **ends)
{
    *near = t->near[lgrp];
    *ends = t->level_end[lgrp];
    return t->nlevels[lgrp];
}

extern uint32_t mpo_enable;
extern uint32_t nlgrps; /* what `mdb` reads: lgroups of this machine */

#endif
