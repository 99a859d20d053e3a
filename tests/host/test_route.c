// SPDX-License-Identifier: MIT
/* test_route.c - the CPU at which an interrupt arrives (kernel/intr/route.c). */
#include "intr/route.h"
#include "tests/host/check.h"
#include "tests/host/mktopo.h"

#include <string.h>

static struct lgrp_topo t;
static struct cpumask cand;
static uint16_t narrive[CPU_MAX];

/* Distances of a machine in pairs of boards: 12 within a pair, 18 to the others. */
static uint8_t pairs(unsigned i, unsigned j)
{
    return i / 2 == j / 2 ? 12 : 18;
}

/* Boards of four CPUs, all of which take interrupts; no interrupt is routed yet. */
static void begin(unsigned boards)
{
    mk_topo(&t, boards, 4, 0, pairs);
    memset(&cand, 0, sizeof cand);
    memset(narrive, 0, sizeof narrive);
    for (unsigned c = 0; c < t.ncpus; c++)
        cpumask_set(&cand, c);
}

static unsigned route(unsigned wanted)
{
    struct intr_route r = {.topo = &t, .cand = &cand, .narrive = narrive, .wanted = wanted};

    return intr_route(&r);
}

static void fence(unsigned first, unsigned last)
{
    for (; first <= last; first++)
        cpumask_clear(&cand, first);
}

TEST(wanted_cpu_is_taken_however_many_arrive_there)
{
    begin(4);
    narrive[5] = 9;
    CHECK_EQ(route(5), 5);
}

TEST(wanted_nowhere_goes_where_fewest_arrive)
{
    begin(4);
    for (unsigned i = 0; i < 16; i++) {
        CHECK_EQ(route(CPU_MAX), i);
        narrive[i]++;
    }
    CHECK_EQ(route(CPU_MAX), 0);
    fence(0, 8);
    CHECK_EQ(route(CPU_MAX), 9);
}

TEST(a_fenced_cpu_gives_its_interrupts_to_its_own_board)
{
    begin(4);
    fence(5, 5);
    for (unsigned i = 0; i < 3; i++) {
        static const unsigned next[] = {6, 7, 4};

        CHECK_EQ(route(5), next[i]);
        narrive[next[i]]++;
    }
}

TEST(a_fenced_board_gives_them_to_the_nearest)
{
    begin(4);
    fence(4, 7); /* board 1, whose pair is board 0 */
    narrive[0] = narrive[1] = narrive[3] = 1;
    CHECK_EQ(route(5), 2);
    fence(0, 3);
    CHECK_EQ(route(5), 8);
    narrive[8] = 1;
    CHECK_EQ(route(5), 9);
}

TEST(sixteen_fenced_strands_spread_over_the_other_sixteen)
{
    mk_topo(&t, 1, 32, 0, NULL);
    memset(&cand, 0, sizeof cand);
    memset(narrive, 0, sizeof narrive);
    for (unsigned c = 16; c < 32; c++)
        cpumask_set(&cand, c);
    for (unsigned c = 0; c < 16; c++)
        narrive[route(c)]++;
    for (unsigned c = 16; c < 32; c++)
        CHECK_EQ(narrive[c], 1);
}

TEST(nobody_takes_it)
{
    begin(2);
    fence(0, 7);
    CHECK_EQ(route(3), CPU_MAX);
    CHECK_EQ(route(CPU_MAX), CPU_MAX);
}

TEST(any_set_of_cpus_gives_a_member)
{
    begin(6);
    for (unsigned i = 0; i < 20000; i++) {
        unsigned wanted = (unsigned)check_below(t.ncpus + 1), got;

        for (unsigned w = 0; w < CPUMASK_WORDS; w++)
            cand.w[w] = 0;
        for (unsigned n = (unsigned)check_below(5) + 1; n > 0; n--)
            cpumask_set(&cand, (unsigned)check_below(t.ncpus));
        narrive[check_below(t.ncpus)]++;
        got = route(wanted == t.ncpus ? CPU_MAX : wanted);
        CHECK(got < t.ncpus && cpumask_test(&cand, got));
    }
}
