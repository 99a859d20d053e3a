// SPDX-License-Identifier: MIT
/*
 * test_place.c - where pages go: each policy, the defaults by segment, fallbacks, nodes of an
 * lgroup.
 */
#include "lgrp/place.h"
#include "tests/host/check.h"
#include "tests/host/mktopo.h"

#define MIB (1ull << 20)

static struct lgrp_topo t;
static struct lgrp_mem_in in;
static unsigned count[LGRP_MAX];

static void begin(unsigned boards, uint64_t bare)
{
    mk_topo(&t, boards, 4, bare, NULL);
    in = (struct lgrp_mem_in){.topo = &t, .home = 2, .cpu_lgrp = 3};
    lgrp_mem_default_policy = LGRP_MEM_POLICY_NEXT;
    lgrp_privm_random_thresh = UINT64_MAX;
    lgrp_shm_random_thresh = 8 * MIB;
    lgrp_mem_pset_aware = 0;
}

/* Makes `pages` choices.  Returns the set of lgroups, with the counts in count[]; checks which policy is charged. */
static uint64_t choose(enum lgrp_mem_policy policy, enum lgrp_mem_policy charged, unsigned pages)
{
    uint64_t set = 0;

    for (unsigned g = 0; g < LGRP_MAX; g++)
        count[g] = 0;
    for (in.index = 0; in.index < pages; in.index++) {
        enum lgrp_mem_policy p = policy;

        in.rnd = (uint32_t)(check_random() >> 32);
        unsigned g = lgrp_mem_choose(&p, &in);

        CHECK_EQ(p, charged);
        CHECK(g < t.nlgrps);
        count[g]++;
        set |= 1ull << g;
    }
    return set;
}

TEST(first_touch_is_home_even_when_running_elsewhere)
{
    begin(6, 0);
    CHECK_EQ(choose(LGRP_MEM_POLICY_NEXT, LGRP_MEM_POLICY_NEXT, 100), 1 << 2);
    CHECK_EQ(lgrp_mem_node(&t, 2, 0), 2);
}

TEST(next_cpu_ignores_home)
{
    begin(6, 0);
    CHECK_EQ(choose(LGRP_MEM_POLICY_NEXT_CPU, LGRP_MEM_POLICY_NEXT_CPU, 100), 1 << 3);
}

TEST(random_is_even)
{
    double chi2 = 0;

    begin(18, 0);
    CHECK_EQ(choose(LGRP_MEM_POLICY_RANDOM, LGRP_MEM_POLICY_RANDOM, 18000), 0x3ffff);
    for (unsigned g = 0; g < 18; g++)
        chi2 += (count[g] - 1000.0) * (count[g] - 1000.0) / 1000.0;
    CHECK(chi2 < 61); /* p > 1e-6 with 17 degrees of freedom */
}

TEST(random_never_draws_a_memory_less_lgroup)
{
    begin(6, 1 << 1 | 1 << 4);
    /* nodes with memory come first: domains 0 2 3 5 are lgroups 0..3, domains 1 4 are 4 and 5 */
    CHECK_EQ(choose(LGRP_MEM_POLICY_RANDOM, LGRP_MEM_POLICY_RANDOM, 4000), 0xf);
}

TEST(random_proc_and_pset)
{
    begin(6, 0);
    in.proc_lgrps = 0x22;
    in.pset_lgrps = 0x15;
    CHECK_EQ(choose(LGRP_MEM_POLICY_RANDOM_PROC, LGRP_MEM_POLICY_RANDOM_PROC, 1000), 0x22);
    CHECK_EQ(choose(LGRP_MEM_POLICY_RANDOM_PSET, LGRP_MEM_POLICY_RANDOM_PSET, 1000), 0x15);
    in.proc_lgrps = in.pset_lgrps = 0; /* no set: the whole machine */
    CHECK_EQ(choose(LGRP_MEM_POLICY_RANDOM_PROC, LGRP_MEM_POLICY_RANDOM, 1000), 0x3f);
    CHECK_EQ(choose(LGRP_MEM_POLICY_RANDOM_PSET, LGRP_MEM_POLICY_RANDOM, 1000), 0x3f);
}

TEST(pset_aware)
{
    begin(6, 0);
    in.pset_lgrps = 0x3;
    in.seg_bytes = 511 * MIB; /* the set's boards have 512 MiB */
    CHECK_EQ(choose(LGRP_MEM_POLICY_RANDOM, LGRP_MEM_POLICY_RANDOM, 1000), 0x3f);
    lgrp_mem_pset_aware = 1;
    CHECK_EQ(choose(LGRP_MEM_POLICY_RANDOM, LGRP_MEM_POLICY_RANDOM_PSET, 1000), 0x3);
    in.seg_bytes = 512 * MIB; /* the segment would fill them */
    CHECK_EQ(choose(LGRP_MEM_POLICY_RANDOM, LGRP_MEM_POLICY_RANDOM, 1000), 0x3f);
    in.seg_bytes = 1;
    in.pset_lgrps = 0; /* not in a set */
    CHECK_EQ(choose(LGRP_MEM_POLICY_RANDOM, LGRP_MEM_POLICY_RANDOM, 1000), 0x3f);
}

TEST(round_robin)
{
    begin(6, 0);
    CHECK_EQ(choose(LGRP_MEM_POLICY_ROUNDROBIN, LGRP_MEM_POLICY_ROUNDROBIN, 12), 0x3f);
    for (unsigned g = 0; g < 6; g++)
        CHECK_EQ(count[g], 2);
    enum lgrp_mem_policy p = LGRP_MEM_POLICY_ROUNDROBIN;

    in.index = 0;
    CHECK_EQ(lgrp_mem_choose(&p, &in), 2);
    in.index = 5;
    CHECK_EQ(lgrp_mem_choose(&p, &in), 1);
    begin(6, 1 << 3); /* domain 3 becomes lgroup 5, without memory */
    CHECK_EQ(choose(LGRP_MEM_POLICY_ROUNDROBIN, LGRP_MEM_POLICY_ROUNDROBIN, 10), 0x1f);
}

TEST(thread_without_home_gets_random)
{
    begin(6, 0);
    in.home = LGRP_NONE;
    CHECK_EQ(choose(LGRP_MEM_POLICY_NEXT, LGRP_MEM_POLICY_RANDOM, 1000), 0x3f);
}

TEST(nonsense_policy_is_random)
{
    begin(6, 0);
    CHECK_EQ(choose((enum lgrp_mem_policy)99, LGRP_MEM_POLICY_RANDOM, 1000), 0x3f);
}

TEST(defaults_by_segment)
{
    begin(6, 0);
    CHECK_EQ(lgrp_mem_default(false, 1ull << 40), LGRP_MEM_POLICY_NEXT);
    CHECK_EQ(lgrp_mem_default(true, 8 * MIB), LGRP_MEM_POLICY_NEXT);
    CHECK_EQ(lgrp_mem_default(true, 8 * MIB + 1), LGRP_MEM_POLICY_RANDOM);
    lgrp_privm_random_thresh = MIB;
    CHECK_EQ(lgrp_mem_default(false, MIB), LGRP_MEM_POLICY_NEXT);
    CHECK_EQ(lgrp_mem_default(false, MIB + 1), LGRP_MEM_POLICY_RANDOM);
    lgrp_mem_default_policy = LGRP_MEM_POLICY_ROUNDROBIN;
    CHECK_EQ(lgrp_mem_default(false, MIB), LGRP_MEM_POLICY_ROUNDROBIN);
}

TEST(home_without_memory_uses_the_nearest_board)
{
    begin(6, 1 << 5);
    CHECK_EQ(t.lgrp_nodes[5], 0);
    CHECK_EQ(lgrp_mem_node(&t, 5, 0), t.near[5][1]);
}

TEST(one_lgroup_of_many_boards_draws_its_nodes_evenly)
{
    unsigned nodes[18] = {0};
    uint8_t order[NODE_MAX];

    begin(18, 0);
    mpo_enable = 0;
    lgrp_topo_group(&t);
    for (unsigned i = 0; i < 18000; i++)
        nodes[lgrp_mem_node(&t, 0, (uint32_t)(check_random() >> 32))]++;
    for (unsigned n = 0; n < 18; n++)
        CHECK_NEAR(nodes[n], 1000, 150);
    for (unsigned i = 0; i < 100; i++) { /* the fallback order begins with the same random choice */
        uint32_t rnd = (uint32_t)(check_random() >> 32);

        CHECK_EQ(lgrp_node_order(&t, 0, rnd, order), 18);
        CHECK_EQ(order[0], lgrp_mem_node(&t, 0, rnd));
    }
    mpo_enable = 1;
    lgrp_topo_group(&t);
}

TEST(fallback_is_nearest_first)
{
    uint8_t order[NODE_MAX];

    begin(6, 0);
    CHECK_EQ(lgrp_node_order(&t, 4, 0, order), 6);
    for (unsigned i = 0; i < 6; i++)
        CHECK_EQ(order[i], (4 + i) % 6);
}
