// SPDX-License-Identifier: MIT
/*
 * test_home.c - choosing a home: the paper's rule, step by step.
 */
#include "lgrp/home.h"
#include "lgrp/load.h"
#include "lib/bitmap.h"
#include "tests/host/check.h"

#include <string.h>

#define PERCENT(n) (LGRP_LOAD_FULL * (n) / 100)
#define NONE       255

static uint32_t load[LGRP_MAX];
static uint16_t ncpus[LGRP_MAX];
static uint8_t aff[LGRP_MAX];
static struct lgrp_home_in in;

/* `n` idle lgroups of 4 CPUs, a new process, the mid-range defaults, the tolerance for HPC. */
static void begin(unsigned n)
{
    memset(load, 0, sizeof load);
    memset(aff, 0, sizeof aff);
    for (unsigned g = 0; g < LGRP_MAX; g++)
        ncpus[g] = 4;
    in = (struct lgrp_home_in){
        .cand = n < 64 ? (1ull << n) - 1 : ~0ull,
        .load = load,
        .ncpus = ncpus,
        .home = NONE,
        .expand_thresh = PERCENT(25),
        .expand_diff = PERCENT(25),
        .tolerance = 0x1000,
    };
}

/* Chooses with many random starts.  Returns the set of the chosen lgroups. */
static uint64_t choose_many(void)
{
    uint64_t set = 0;

    for (unsigned i = 0; i < 4000; i++) {
        in.rnd = (uint32_t)(check_random() >> 32);
        unsigned g = lgrp_choose_home(&in);

        CHECK(g == NONE || (g < 64 && (in.cand >> g & 1) != 0));
        set |= g == NONE ? 0 : 1ull << g;
    }
    return set;
}

TEST(no_candidate)
{
    begin(6);
    in.cand = 0;
    CHECK_EQ(lgrp_choose_home(&in), NONE);
}

TEST(only_candidates_are_chosen)
{
    begin(64);
    in.cand = 1ull << 7 | 1ull << 40 | 1ull << 63;
    in.spanned = ~in.cand;
    CHECK_EQ(choose_many(), in.cand);
}

TEST(least_loaded_lgroup_for_a_new_process)
{
    begin(6);
    for (unsigned g = 0; g < 6; g++)
        load[g] = PERCENT(50);
    load[3] = PERCENT(20);
    CHECK_EQ(choose_many(), 1 << 3);
}

TEST(equals_are_chosen_at_random)
{
    unsigned count[6] = {0};

    begin(6);
    for (unsigned i = 0; i < 6000; i++) {
        in.rnd = (uint32_t)(check_random() >> 32);
        count[lgrp_choose_home(&in)]++;
    }
    for (unsigned g = 0; g < 6; g++)
        CHECK_NEAR(count[g], 1000, 150);
}

/* Also among those that the process uses, and among the others, wherever these are. */
TEST(equals_of_a_part_are_chosen_at_random)
{
    unsigned count[6] = {0};

    begin(6);
    in.spanned = 1 << 0 | 1 << 3 | 1 << 4;
    for (unsigned i = 0; i < 6000; i++) {
        in.rnd = (uint32_t)(check_random() >> 32);
        count[lgrp_choose_home(&in)]++;
        load[0] = load[3] = load[4] = i < 3000 ? 0 : PERCENT(100);
    }
    for (unsigned g = 0; g < 6; g++)
        CHECK_NEAR(count[g], 1000, 150);
}

TEST(loads_within_the_tolerance_are_equal)
{
    begin(2);
    load[0] = PERCENT(50);
    /* 4 CPUs: a quarter of the tolerance.  A difference equal to it counts as equal load. */
    load[1] = load[0] - 0x1000 / 4;
    CHECK_EQ(choose_many(), 3);
    load[1]--;
    CHECK_EQ(choose_many(), 2);
}

TEST(tolerance_is_divided_by_the_cpus_of_the_candidate)
{
    begin(2);
    load[0] = PERCENT(50);
    load[1] = load[0] - 0x1000 / 4 - 1;
    ncpus[1] = 2;
    CHECK_EQ(choose_many(), 3);
}

TEST(default_tolerance_makes_small_differences_random)
{
    begin(6);
    in.tolerance = 0x10000; /* half an lgroup of 4 CPUs */
    for (unsigned g = 0; g < 6; g++)
        load[g] = g * PERCENT(9);
    CHECK_EQ(choose_many(), 0x3f);
}

/* Among the lgroups that the process uses the least loaded is chosen, however close the others are. */
TEST(tolerance_is_for_new_lgroups_only)
{
    begin(6);
    in.tolerance = 0x10000;
    in.expand_thresh = PERCENT(75);
    in.spanned = 1 << 1 | 1 << 2 | 1 << 5;
    load[1] = load[5] = PERCENT(50);
    load[2] = PERCENT(50) - 1;
    CHECK_EQ(choose_many(), 1 << 2);
    load[1] = load[2] = load[5] = PERCENT(100); /* the process spreads: these are equal */
    load[3] = PERCENT(10);
    CHECK_EQ(choose_many(), 1 << 0 | 1 << 3 | 1 << 4);
}

TEST(threads_stay_together_below_the_threshold)
{
    begin(6);
    in.spanned = 1 << 2;
    load[2] = in.expand_thresh; /* equal to the threshold, not above it */
    CHECK_EQ(choose_many(), 1 << 2);
}

TEST(process_spreads_above_the_threshold)
{
    begin(6);
    in.spanned = 1 << 2;
    load[2] = in.expand_thresh + 1;
    CHECK_EQ(choose_many(), 0x3f & ~(1 << 2));
}

TEST(least_loaded_of_its_own_decides_whether_to_spread)
{
    begin(6);
    in.spanned = 1 << 1 | 1 << 2;
    load[1] = PERCENT(100);
    load[2] = PERCENT(24);
    CHECK_EQ(choose_many(), 1 << 2);
}

TEST(no_spreading_to_lgroups_as_busy)
{
    begin(6);
    in.spanned = 1 << 2;
    for (unsigned g = 0; g < 6; g++)
        load[g] = PERCENT(100);
    CHECK_EQ(choose_many(), 1 << 2);
    load[4] = load[2] - in.expand_diff; /* the difference must be greater than that */
    CHECK_EQ(choose_many(), 1 << 2);
    load[4]--;
    CHECK_EQ(choose_many(), 1 << 4);
}

TEST(spreading_takes_the_least_loaded_other)
{
    begin(6);
    in.spanned = 1 << 2;
    load[2] = PERCENT(100);
    for (unsigned g = 0; g < 6; g++)
        load[g] = g == 2 ? PERCENT(100) : PERCENT(60 - 10 * g);
    CHECK_EQ(choose_many(), 1 << 5);
}

TEST(threshold_of_the_high_end)
{
    begin(18);
    in.expand_thresh = LGRP_LOAD_FULL * 3 / 4;
    in.spanned = 1 << 9;
    load[9] = 3 * LGRP_LOAD_FULL / 4; /* three threads: 75 % is not above 75 % */
    CHECK_EQ(choose_many(), 1 << 9);
    load[9] = LGRP_LOAD_FULL;
    CHECK_EQ(choose_many(), 0x3ffff & ~(1 << 9));
}

TEST(no_overflow_at_the_ends)
{
    begin(4);
    in.spanned = 1;
    in.tolerance = UINT32_MAX;
    in.expand_diff = UINT32_MAX;
    for (unsigned g = 0; g < 4; g++) {
        load[g] = UINT32_MAX;
        ncpus[g] = 1;
    }
    load[3] = 0;
    CHECK_EQ(choose_many(), 1);
    in.expand_diff = 0;
    in.spanned = 0;
    CHECK_EQ(choose_many(), 0xf);
}

TEST(affinity_decides_first)
{
    begin(6);
    in.aff = aff;
    in.spanned = 1 << 0;
    aff[3] = 0x10;
    aff[4] = 0x10;
    load[3] = PERCENT(300);
    CHECK_EQ(bit_count(choose_many()), 1);
    in.home = 4; /* the home is chosen among equals */
    CHECK_EQ(choose_many(), 1 << 4);
    aff[5 - 0] = 0x10;
    aff[3] = 0x100 - 1;
    CHECK_EQ(choose_many(), 1 << 3);
    in.cand &= ~(1ull << 3); /* there is no CPU */
    CHECK_EQ(choose_many(), 1 << 4);
    memset(aff, 0, sizeof aff);
    CHECK_EQ(choose_many(), 1 << 0);
}

/* A process that creates one thread for each CPU, each counted at once, fills every lgroup. */
static void fill(unsigned lgrps, unsigned cpus, uint32_t thresh, uint32_t tolerance)
{
    begin(lgrps);
    in.expand_thresh = thresh;
    in.tolerance = tolerance;
    unsigned homes[LGRP_MAX] = {0};

    for (unsigned i = 0; i < lgrps * cpus; i++) {
        in.rnd = (uint32_t)check_random();
        unsigned g = lgrp_choose_home(&in);

        CHECK(g < lgrps);
        homes[g]++;
        in.spanned |= 1ull << g;
        load[g] = homes[g] * LGRP_LOAD_FULL / cpus;
        ncpus[g] = (uint16_t)cpus;
    }
    for (unsigned g = 0; g < lgrps; g++)
        CHECK_EQ(homes[g], cpus);
}

TEST(one_thread_per_cpu_fills_every_lgroup)
{
    for (unsigned i = 0; i < 20; i++) {
        /* the paper's recommendation; the default */
        uint32_t tolerance = i % 2 == 0 ? 0x1000 : 0x10000;

        fill(18, 4, PERCENT(75), tolerance);
        fill(6, 4, PERCENT(25), tolerance);
        fill(64, 4, PERCENT(75), tolerance);
        fill(2, 4, PERCENT(25), tolerance);
        fill(1, 4, PERCENT(25), tolerance);
    }
}
