// SPDX-License-Identifier: MIT
/*
 * test_mempolicy.c - Linux's memory policies: which are accepted, and the node of each page.
 */
#include "lgrp/mempolicy.h"
#include "lib/errno.h"
#include "tests/host/check.h"
#include "tests/host/mktopo.h"

static struct lgrp_topo t;
static struct mempolicy mp;

TEST(what_is_accepted)
{
    enum { S = MPOL_F_STATIC_NODES, R = MPOL_F_RELATIVE_NODES };
    static const struct {
        int mode;
        unsigned flags;
        uint64_t asked;
        int err, becomes;
        uint64_t nodes;
    } list[] = {
        {MPOL_DEFAULT, 0, 0, 0, MPOL_DEFAULT, 0},
        {MPOL_DEFAULT, 0, 1, -EINVAL, 0, 0},
        {MPOL_DEFAULT, S, 0, 0, MPOL_DEFAULT, 0},
        {MPOL_PREFERRED, 0, 0, 0, MPOL_LOCAL, 0},
        {MPOL_PREFERRED, S, 0, -EINVAL, 0, 0},
        {MPOL_PREFERRED, 0, 0x34, 0, MPOL_PREFERRED, 4},
        {MPOL_PREFERRED, 0, 0x40, -EINVAL, 0, 0},
        {MPOL_BIND, 0, 0, -EINVAL, 0, 0},
        {MPOL_BIND, 0, 0x24, 0, MPOL_BIND, 0x24},
        {MPOL_BIND, 0, ~0ull, 0, MPOL_BIND, 0x3f},
        {MPOL_BIND, S, 0x43, 0, MPOL_BIND, 3},
        {MPOL_BIND, R, 0x140, 0, MPOL_BIND, 5},
        {MPOL_BIND, R | S, 1, -EINVAL, 0, 0},
        {MPOL_BIND, MPOL_F_NUMA_BALANCING, 1, -EINVAL, 0, 0},
        {MPOL_BIND, 0, 0xfc0, -EINVAL, 0, 0},
        {MPOL_INTERLEAVE, 0, 0x3f, 0, MPOL_INTERLEAVE, 0x3f},
        {MPOL_LOCAL, 0, 0, 0, MPOL_LOCAL, 0},
        {MPOL_LOCAL, 0, 1, -EINVAL, 0, 0},
        {MPOL_LOCAL, S, 0, -EINVAL, 0, 0},
        {MPOL_PREFERRED_MANY, 0, 6, 0, MPOL_PREFERRED_MANY, 6},
        {MPOL_COUNT, 0, 1, -EINVAL, 0, 0},
        {-1, 0, 1, -EINVAL, 0, 0},
    };

    for (unsigned i = 0; i < sizeof list / sizeof list[0]; i++) {
        mp = (struct mempolicy){.mode = 77};
        CHECK_EQ(mempolicy_make(&mp, list[i].mode, list[i].flags, list[i].asked, 6), list[i].err);
        CHECK_EQ(mp.mode, list[i].err != 0 ? 77 : list[i].becomes);
        CHECK_EQ(mp.nodes, list[i].nodes);
    }
    /* the highest possible number of nodes */
    CHECK_EQ(mempolicy_make(&mp, MPOL_INTERLEAVE, 0, ~0ull, 64), 0);
    CHECK_EQ(mp.nodes, ~0ull);
}

static void turns(uint64_t nodes, const unsigned *want, unsigned n)
{
    CHECK_EQ(mempolicy_make(&mp, MPOL_INTERLEAVE, 0, nodes, 64), 0);
    for (unsigned i = 0; i < n; i++) {
        CHECK_EQ(mempolicy_next(&mp), want[i]);
        CHECK_EQ(mempolicy_node(&mp, &t, 0), want[i]);
    }
}

TEST(interleaved_pages_take_turns)
{
    mk_topo(&t, 6, 4, 0, NULL);
    turns(0x3f, (unsigned[]){0, 1, 2, 3, 4, 5, 0, 1}, 8);
    turns(0x12, (unsigned[]){1, 4, 1, 4}, 4);
    turns(1ull << 63 | 4, (unsigned[]){2, 63, 2}, 3);
    turns(8, (unsigned[]){3, 3}, 2);
}

TEST(the_nearest_of_a_set)
{
    mk_topo(&t, 6, 4, 0, NULL);
    for (unsigned home = 0; home < 6; home++)
        for (uint64_t set = 1; set < 64; set++) {
            unsigned node;

            CHECK_EQ(mempolicy_make(&mp, MPOL_BIND, 0, set, 6), 0);
            node = mempolicy_node(&mp, &t, home);
            CHECK(bit_test(set, node));
            if (bit_test(set, home))
                CHECK_EQ(node, home);
        }
    CHECK_EQ(mempolicy_make(&mp, MPOL_PREFERRED, 0, 0x30, 6), 0);
    CHECK_EQ(mempolicy_node(&mp, &t, 1), 4);
    CHECK_EQ(mempolicy_make(&mp, MPOL_LOCAL, 0, 0, 6), 0);
    CHECK_EQ(mempolicy_node(&mp, &t, 3), 3);
}
