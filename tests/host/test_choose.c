// SPDX-License-Identifier: MIT
/*
 * test_choose.c - the choice of a CPU, the balance of queues, the order of stealing.
 */
#include "disp/choose.h"
#include "tests/host/check.h"
#include "tests/host/mktopo.h"

#include <limits.h>
#include <string.h>

static struct lgrp_topo t;
static struct cpumask allowed, idle;
static int level[CPU_MAX]; /* -1: idle */
static unsigned queued[CPU_MAX], asked;

static int level_of(unsigned cpu)
{
    asked++;
    return level[cpu];
}

static unsigned qlen(unsigned cpu, int pri)
{
    (void)pri;
    return queued[cpu];
}

/* Distances of a machine in pairs of boards: 10, 12 within a pair, 18 to the others. */
static uint8_t pairs(unsigned i, unsigned j)
{
    return i / 2 == j / 2 ? 12 : 18;
}

/* All CPUs run threads of priority 40, so none is idle.  The thread has priority 30 and last ran on CPU 0. */
static struct disp_pick begin(unsigned boards, uint8_t (*far)(unsigned, unsigned))
{
    mk_topo(&t, boards, 4, 0, far);
    memset(&idle, 0, sizeof idle);
    memset(&allowed, 0, sizeof allowed);
    memset(queued, 0, sizeof queued);
    for (unsigned c = 0; c < CPU_MAX; c++)
        level[c] = 40;
    for (unsigned c = 0; c < t.ncpus; c++)
        cpumask_set(&allowed, c);
    asked = 0;
    return (struct disp_pick){.topo = &t,
                              .allowed = &allowed,
                              .idle = &idle,
                              .level = level_of,
                              .bound = -1,
                              .home = 0,
                              .pri = 30};
}

static void make_idle(unsigned cpu)
{
    level[cpu] = -1;
    cpumask_set(&idle, cpu);
}

TEST(bound_thread_goes_where_it_is_bound)
{
    struct disp_pick p = begin(6, NULL);

    p.bound = 17;
    make_idle(1);
    CHECK_EQ(disp_pick_cpu(&p), 17);
}

TEST(warm_cache_keeps_the_last_cpu)
{
    struct disp_pick p = begin(6, NULL);

    p.last = 2;
    p.ticks_since = rechoose_interval;
    make_idle(1);
    CHECK_EQ(disp_pick_cpu(&p), 2);
    p.ticks_since++;
    CHECK_EQ(disp_pick_cpu(&p), 1);
    p.is_current = true; /* it was preempted just now */
    CHECK_EQ(disp_pick_cpu(&p), 2);
}

TEST(returns_home_at_once)
{
    struct disp_pick p = begin(6, NULL);

    p.last = 9; /* a CPU of board 2 */
    make_idle(9);
    make_idle(3);
    CHECK_EQ(disp_pick_cpu(&p), 3);
}

TEST(last_cpu_in_another_set)
{
    struct disp_pick p = begin(6, NULL);

    p.last = 2;
    cpumask_clear(&allowed, 2);
    make_idle(2);
    make_idle(3);
    CHECK_EQ(disp_pick_cpu(&p), 3);
}

TEST(preempts_at_home_before_it_leaves)
{
    struct disp_pick p = begin(6, NULL);

    p.ticks_since = 100;
    level[2] = 29;
    make_idle(20);
    CHECK_EQ(disp_pick_cpu(&p), 2);
    level[2] = 30; /* equal priority is not enough */
    CHECK_EQ(disp_pick_cpu(&p), 20);
}

TEST(leaves_home_only_to_run_at_once)
{
    struct disp_pick p = begin(6, NULL);

    p.ticks_since = 100;
    level[3] = 35;
    level[11] = 30; /* less busy than the home, but the thread would have to wait there */
    CHECK_EQ(disp_pick_cpu(&p), 3);
    level[11] = 29;
    CHECK_EQ(disp_pick_cpu(&p), 11);
}

TEST(nearest_level_first)
{
    struct disp_pick p = begin(6, pairs);

    p.home = 2;
    p.last = 8;
    p.ticks_since = 100;
    make_idle(0);
    make_idle(15); /* board 3, the other board of the pair */
    CHECK_EQ(disp_pick_cpu(&p), 15);
    cpumask_clear(&idle, 15);
    level[15] = 10; /* preempting a near CPU comes before using an idle CPU far away */
    CHECK_EQ(disp_pick_cpu(&p), 15);
    level[15] = 50;
    CHECK_EQ(disp_pick_cpu(&p), 0);
}

TEST(an_idle_cpu_at_home_is_found_without_asking_for_levels)
{
    struct disp_pick p = begin(18, NULL);

    p.ticks_since = 100;
    p.home = 17;
    p.last = 70;
    make_idle(69);
    CHECK_EQ(disp_pick_cpu(&p), 69);
    CHECK_EQ(asked, 0);
}

TEST(boards_overflow_in_different_directions)
{
    struct disp_pick p = begin(6, NULL);

    for (unsigned c = 0; c < 24; c += 4)
        make_idle(c + 3);
    for (unsigned g = 0; g < 6; g++) {
        cpumask_clear(&idle, 4 * g + 3);
        level[4 * g + 3] = 40;
        p.home = g;
        p.last = 4 * g;
        p.ticks_since = 100;
        CHECK_EQ(disp_pick_cpu(&p), (4 * g + 7) % 24);
        make_idle(4 * g + 3);
    }
}

TEST(off_lining_cpu_is_never_chosen)
{
    struct disp_pick p = begin(1, NULL);

    p.ticks_since = 100;
    level[0] = level[1] = level[2] = INT_MAX;
    CHECK_EQ(disp_pick_cpu(&p), 3);
}

TEST(real_time_has_no_locality)
{
    struct disp_pick p = begin(6, NULL);

    p.home = LGRP_NONE;
    p.pri = 120;
    p.ticks_since = 100;
    level[22] = 5; /* the least busy of all, but not on the board on which the thread last ran */
    CHECK_EQ(disp_pick_cpu(&p), 22);
}

TEST(home_without_cpus_of_the_set)
{
    struct disp_pick p = begin(6, NULL);

    for (unsigned c = 0; c < 8; c++)
        cpumask_clear(&allowed, c);
    p.last = 1;
    level[14] = 39;
    /* no thread can be preempted: the least busy CPU of the next level */
    CHECK_EQ(disp_pick_cpu(&p), 14);
}

TEST(balance)
{
    struct disp_pick p = begin(6, NULL);

    queued[0] = 3;
    CHECK_EQ(disp_balance_cpu(&p, 0, qlen), 1);
    queued[0] = 2; /* priority 30: the other queue must be shorter by more than 2 */
    CHECK_EQ(disp_balance_cpu(&p, 0, qlen), 0);
    p.pri = 15;
    CHECK_EQ(disp_balance_cpu(&p, 0, qlen), 1);
    queued[1] = 2;
    CHECK_EQ(disp_balance_cpu(&p, 0, qlen), 0);
    queued[3] = 9; /* wraps around inside the lgroup, does not go on to CPU 4 */
    CHECK_EQ(disp_balance_cpu(&p, 3, qlen), 0);
    CHECK_EQ(disp_balance_cpu(&p, 7, qlen), 7); /* a thread that runs remotely is left alone */
    cpumask_clear(&allowed, 1);
    cpumask_clear(&allowed, 2);
    cpumask_clear(&allowed, 3);
    queued[0] = 9; /* the home has one CPU: the search is set-wide */
    CHECK_EQ(disp_balance_cpu(&p, 0, qlen), 4);
}

/* ---- stealing ---- */

static int best[CPU_MAX];

static int best_of(unsigned cpu)
{
    return best[cpu];
}

TEST(steals_nearest_first)
{
    struct cpumask busy = {{0}};

    begin(6, pairs);
    memset(best, -1, sizeof best);
    CHECK_EQ(disp_steal_cpu(&t, 8, 2, &busy, best_of), -1);
    for (unsigned c = 0; c < 24; c++)
        cpumask_set(&busy, c);
    CHECK_EQ(disp_steal_cpu(&t, 8, 2, &busy, best_of), -1); /* all queued threads are bound */
    best[0] = 59;
    CHECK_EQ(disp_steal_cpu(&t, 8, 2, &busy, best_of), 0);
    best[13] = 20; /* the other board of the pair, although its thread is less important */
    CHECK_EQ(disp_steal_cpu(&t, 8, 2, &busy, best_of), 13);
    best[10] = 1; /* its own board */
    CHECK_EQ(disp_steal_cpu(&t, 8, 2, &busy, best_of), 10);
    best[11] = 2; /* within a level the highest priority */
    CHECK_EQ(disp_steal_cpu(&t, 8, 2, &busy, best_of), 11);
    best[8] = 50; /* never from itself */
    CHECK_EQ(disp_steal_cpu(&t, 8, 2, &busy, best_of), 11);
}

TEST(any_choice_is_allowed_and_sensible)
{
    for (unsigned round = 0; round < 20000; round++) {
        unsigned boards = 1 + (unsigned)check_below(9);
        struct disp_pick p = begin(boards, check_below(2) ? pairs : NULL);
        unsigned kept = (unsigned)check_below(t.ncpus);
        bool any_idle = false;

        for (unsigned c = 0; c < t.ncpus; c++) {
            level[c] = (int)check_below(60);
            if (check_below(10) == 0)
                make_idle(c);
            if (c != kept && check_below(3) == 0)
                cpumask_clear(&allowed, c);
            any_idle |= cpumask_test(&allowed, c) && cpumask_test(&idle, c);
        }
        p.home = check_below(5) ? (unsigned)check_below(boards) : LGRP_NONE;
        p.last = (unsigned)check_below(t.ncpus);
        p.pri = (int)check_below(60);
        p.ticks_since = check_below(8);
        unsigned cpu = disp_search_cpu(&p, p.home);

        CHECK(cpu < t.ncpus && cpumask_test(&allowed, cpu));
        if (any_idle) /* there is an idle CPU on which the thread may run, so it must run at once */
            CHECK(cpumask_test(&idle, cpu) || level[cpu] < p.pri);
        cpu = disp_pick_cpu(&p);
        CHECK(cpumask_test(&allowed, cpu));
    }
}
