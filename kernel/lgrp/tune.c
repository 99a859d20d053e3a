// SPDX-License-Identifier: MIT
/*
 * tune.c - the variables of the lgroup code, with the defaults of the MPO paper.
 *
 * THEORY      Names, units and defaults are those of the MPO paper ("System Variables"), if the paper has them.
 *             One default, of lgrp_expand_proc_thresh, depends on the machine family.  The paper distinguishes
 *             families by model; here the distances decide.  If remote memory is at least 1.5 times as far as
 *             local memory, the machine is high-end (12K and 15K: 1.8), otherwise mid-range (3800 to 6800:
 *             1.2).
 * SEE ALSO    docs/lgroups.md
 */
#include "lgrp/home.h"
#include "lgrp/lgrp.h"
#include "lgrp/load.h"
#include "lgrp/place.h"
#include "stat/tunable.h"

#define BY_FAMILY UINT32_MAX /* no value yet: lgrp_apply_family() sets it */
#define LOAD_MAX  (1 << 24)  /* more than load * CPUs of 256 CPUs with two threads each */

uint32_t mpo_enable = 1;
uint32_t nlgrps = 1;

uint32_t lgrp_expand_proc_thresh = BY_FAMILY;
uint32_t lgrp_expand_proc_diff = LGRP_LOAD_FULL / 4;
uint32_t lgrp_loadavg_tolerance = 0x10000;

uint32_t lgrp_loadavg_max_effect = LGRP_LOAD_FULL;
uint64_t lgrp_min_nsec = 100000000;
uint32_t lgrp_create_hold = 20;

uint32_t lgrp_mem_default_policy = LGRP_MEM_POLICY_NEXT;
uint64_t lgrp_privm_random_thresh = UINT64_MAX;
uint64_t lgrp_shm_random_thresh = 8ull << 20;
uint32_t lgrp_mem_pset_aware = 0;

TUNABLE_BOOT(mpo_enable, 0, 1, "0: one lgroup, pages at random over the boards; read at boot");
TUNABLE_RO(nlgrps, "number of lgroups");
TUNABLE(lgrp_expand_proc_thresh, 0, LOAD_MAX,
        "load, 32767 = full: a process spreads above it; high end 24575, mid-range 8191; home.c");
TUNABLE(lgrp_expand_proc_diff, 0, LOAD_MAX,
        "load, 32767 = full: a new lgroup must be less loaded by this; 8191; home.c");
TUNABLE(lgrp_loadavg_tolerance, 0, LOAD_MAX,
        "load * CPUs of the lgroup: closer loads are equal; 0x10000, for HPC 0x1000; home.c");
TUNABLE(lgrp_loadavg_max_effect, 0, LOAD_MAX,
        "load * CPUs of the lgroup charged in advance for one thread; 32767; promise.c");
TUNABLE(lgrp_min_nsec, 0, 60000000000,
        "ns: a thread that leaves sooner has its charge refunded; 100000000; promise.c");
TUNABLE(lgrp_create_hold, 0, 36000,
        "1/10 s: after a new thread its process counts as creating threads; 20; promise.c");
TUNABLE(lgrp_mem_default_policy, LGRP_MEM_POLICY_NEXT, LGRP_MEM_POLICY_COUNT - 1,
        "LGRP_MEM_POLICY_*; 1: first touch; place.c");
TUNABLE(lgrp_privm_random_thresh, 0, UINT64_MAX,
        "bytes: larger private segments are random; never; place.c");
TUNABLE(lgrp_shm_random_thresh, 0, UINT64_MAX,
        "bytes: larger shared segments are random; 8 MiB; place.c");
TUNABLE(lgrp_mem_pset_aware, 0, 1, "1: random placement stays in the processor set; 0; place.c");

void lgrp_apply_family(const struct lgrp_topo *t)
{
    if (lgrp_expand_proc_thresh == BY_FAMILY)
        lgrp_expand_proc_thresh = t->high_end ? LGRP_LOAD_FULL * 3 / 4 : LGRP_LOAD_FULL / 4;
}
