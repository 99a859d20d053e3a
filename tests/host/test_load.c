// SPDX-License-Identifier: MIT
/*
 * test_load.c - load averages compared with the published numbers, and the homes that parallel programs get.
 *
 * The published numbers are those of the 2005 sources, where one CPU-bound thread on one CPU is 65536. struct lpl keeps
 * its averages in that unit, and lpl_load() maps 65536 to LGRP_LOAD_FULL.  The second half simulates a machine: a clock
 * in milliseconds, load updates each 100 ms (late ones merged, as on a slow host), threads that run, block or exit, and
 * a program that creates threads.
 */
#include "lgrp/home.h"
#include "lgrp/lgrp.h"
#include "lgrp/load.h"
#include "tests/host/check.h"

#include <string.h>

#define MS 1000000ull

static struct lgrp_part part;

static bool now_known; /* whether the threads of `s` are the only ones that run */

static void machine(unsigned lgrps, unsigned cpus)
{
    lgrp_part_init(&part);
    now_known = false;
    for (unsigned g = 0; g < lgrps; g++)
        for (unsigned c = 0; c < cpus; c++)
            lgrp_part_cpu(&part, g, 1);
}

static void updates(unsigned n, uint16_t runnable)
{
    uint16_t r[LGRP_MAX] = {runnable};

    while (n-- > 0)
        lgrp_part_update(&part, r);
}

/* ---- arithmetic ---- */

TEST(step_response)
{
    static const struct {
        unsigned updates;
        uint32_t avg;
    } row[] = {{1, 3196}, {5, 14493}, {10, 25781}, {20, 41419}, {50, 60146}, {100, 65085}};

    for (unsigned i = 0; i < array_size(row); i++) {
        machine(1, 1);
        updates(row[i].updates, 1);
        CHECK_EQ(part.lpl[0].avg, row[i].avg);
    }
    updates(1000, 1);
    CHECK_EQ(part.lpl[0].avg, 65516);
    CHECK_NEAR(lpl_load(&part.lpl[0]), LGRP_LOAD_FULL, 11);
}

TEST(decay)
{
    machine(1, 1);
    updates(1000, 1);
    updates(10, 0);
    CHECK_NEAR(part.lpl[0].avg, 39735, 20);
    updates(10, 0);
    CHECK_NEAR(part.lpl[0].avg, 24097, 20);
    updates(30, 0);
    CHECK_NEAR(part.lpl[0].avg, 5370, 20);
    updates(1000, 0);
    CHECK_EQ(part.lpl[0].avg, 0);
}

TEST(limits_on_four_cpus)
{
    machine(1, 4);
    updates(1000, 1);
    CHECK_NEAR(part.lpl[0].avg, 16020, 5);
    updates(1000, 8);
    CHECK_NEAR(part.lpl[0].avg, 131000, 20);
    CHECK_NEAR(lpl_load(&part.lpl[0]), 2 * LGRP_LOAD_FULL, 50);
}

TEST(full_is_full_for_every_size)
{
    for (unsigned n = 1; n <= 64; n++) {
        machine(1, n);
        updates(1000, (uint16_t)n);
        /* because of rounding */
        CHECK_NEAR(lpl_load(&part.lpl[0]), LGRP_LOAD_FULL, LGRP_LOAD_FULL / 40);
        updates(20, 0); /* one time constant */
        CHECK_NEAR(lpl_load(&part.lpl[0]), LGRP_LOAD_FULL * 0.368, LGRP_LOAD_FULL / 50);
    }
}

TEST(average_does_not_wrap)
{
    machine(1, 1);
    updates(3000, UINT16_MAX);
    CHECK(part.lpl[0].avg > 4000000000u);
    CHECK(lpl_load(&part.lpl[0]) > 2000000000u);
    machine(1, 1);
    lgrp_part_cpu(&part, 0, -1);
    CHECK_EQ(part.lgrps, 0);
    CHECK_EQ(lpl_load(&part.lpl[0]), UINT32_MAX);
    updates(1, 1);
}

/* ---- single arrivals ---- */

static struct lgrp_proc proc;
static struct lgrp_thread one;

TEST(first_thread_is_charged_at_once_and_refunded)
{
    machine(1, 4);
    lgrp_proc_init(&proc);
    CHECK_EQ(lgrp_thread_home(&part, &one, &proc, NULL, 1000 * MS, 0), 0);
    CHECK_EQ(proc.bitmap, 1);
    CHECK_NEAR(lpl_load(&part.lpl[0]), LGRP_LOAD_FULL / 4, 2);
    lgrp_thread_leave(&one, 1099 * MS);
    CHECK_EQ(lpl_load(&part.lpl[0]), 0);
    CHECK_EQ(proc.bitmap, 0);
    CHECK(one.part == NULL);
    lgrp_thread_leave(&one, 1099 * MS); /* has no effect */
}

TEST(later_departure_is_not_refunded_beyond_who_is_left)
{
    struct lgrp_proc p2;
    struct lgrp_thread t2;

    machine(1, 4);
    lgrp_proc_init(&proc);
    lgrp_proc_init(&p2);
    lgrp_thread_home(&part, &one, &proc, NULL, 0, 0);
    lgrp_thread_home(&part, &t2, &p2, NULL, 0, 0);
    updates(2, 2);
    lgrp_thread_leave(&one, 200 * MS);
    /* I1: one thread has its home here */
    CHECK_NEAR(lpl_load(&part.lpl[0]), LGRP_LOAD_FULL / 4, 2);
    CHECK(part.lpl[0].antic > 0);
    lgrp_thread_leave(&t2, 200 * MS);
    CHECK_EQ(lpl_load(&part.lpl[0]), 0);
}

TEST(charge_ages_like_the_average)
{
    machine(1, 1);
    lgrp_proc_init(&proc);
    lgrp_thread_home(&part, &one, &proc, NULL, 0, 0);
    updates(10, 0);
    CHECK_NEAR(part.lpl[0].avg + part.lpl[0].antic, 39735, 30);
}

TEST(bitmap_follows_the_homes)
{
    static struct lgrp_thread t[8];

    machine(2, 4);
    lgrp_proc_init(&proc);
    for (unsigned i = 0; i < 8; i++) {
        t[i].proc = &proc;
        lgrp_thread_join(&part, &t[i], i % 2, 0);
    }
    CHECK_EQ(proc.bitmap, 3);
    for (unsigned i = 0; i < 8; i += 2)
        lgrp_thread_leave(&t[i], 0);
    CHECK_EQ(proc.bitmap, 2);
    CHECK_EQ(proc.homed[1], 4);
}

TEST(rehome_when_a_board_goes_off_line)
{
    machine(2, 2);
    lgrp_proc_init(&proc);
    unsigned g = lgrp_thread_home(&part, &one, &proc, NULL, 0, 0);

    lgrp_part_cpu(&part, g, -1);
    lgrp_part_cpu(&part, g, -1);
    CHECK_EQ(lgrp_thread_rehome(&part, &one, NULL, 0, 0), 1 - g);
    CHECK_EQ(part.lpl[g].homed, 0);
    CHECK_EQ(proc.bitmap, 1ull << (1 - g));
    lgrp_part_cpu(&part, 1 - g, -1);
    lgrp_part_cpu(&part, 1 - g, -1);
    CHECK_EQ(lgrp_thread_rehome(&part, &one, NULL, 0, 0), LGRP_NONE);
    CHECK(one.part == NULL);
}

/* ---- a simulated machine ---- */

enum behaviour { RUN, BLOCK_AT_ONCE, BLOCK_LATER, ON_AND_OFF, BEHAVIOURS };

struct sim_thread {
    struct lgrp_thread lt;
    enum behaviour how;
    uint64_t born_ms;
    bool live;
    bool slept; /* asleep in this millisecond */
};

static struct {
    struct sim_thread thread[512];
    unsigned n, lgrps;
    uint64_t ms, next_update;
    bool noise; /* short-lived activity of daemons */
} s;

static bool runs(const struct sim_thread *t)
{
    uint64_t age = s.ms - t->born_ms;

    if (!t->live || t->slept)
        return false;
    switch (t->how) {
    case RUN:
        return true;
    case BLOCK_AT_ONCE:
        return age == 0;
    case BLOCK_LATER:
        return age < 30;
    default:
        return age / 7 % 2 == 0;
    }
}

unsigned clock_runnable_now(const struct lgrp_part *p, unsigned lgrp)
{
    unsigned n = 0;

    if (!now_known) /* for a test that sets the number of runnable threads itself */
        return UINT32_MAX;
    for (unsigned i = 0; i < s.n; i++)
        n += s.thread[i].lt.part == p && s.thread[i].lt.home == lgrp && runs(&s.thread[i]);
    return n;
}

static void sim_begin(unsigned boards, unsigned cpus, bool high_end)
{
    memset(&s, 0, sizeof s);
    machine(boards, cpus);
    s.lgrps = boards;
    s.next_update = 100;
    now_known = true;
    lgrp_expand_proc_thresh = high_end ? LGRP_LOAD_FULL * 3 / 4 : LGRP_LOAD_FULL / 4;
    lgrp_expand_proc_diff = LGRP_LOAD_FULL / 4;
    lgrp_loadavg_tolerance = 0x10000;
}

/* Time passes.  If the host stalls for several updates, one update makes up for them. */
static void sim_run(uint64_t ms)
{
    uint64_t end = s.ms + ms;

    while (s.ms < end) {
        s.ms++;
        if (s.ms >= s.next_update) {
            uint16_t r[LGRP_MAX] = {0};

            for (unsigned g = 0; g < s.lgrps; g++) {
                r[g] = (uint16_t)clock_runnable_now(&part, g);
                if (s.noise && check_below(20) == 0)
                    r[g]++;
            }
            lgrp_part_update(&part, r);
            s.next_update = s.ms + 100;
        }
    }
}

static struct sim_thread *sim_thread(struct lgrp_proc *p, struct sim_thread *creator,
                                     enum behaviour how)
{
    struct sim_thread *t = &s.thread[s.n++];

    t->how = how;
    t->born_ms = s.ms;
    lgrp_thread_home(&part, &t->lt, p, creator != NULL ? &creator->lt : NULL, s.ms * MS,
                     (uint32_t)check_random());
    t->live = true;
    return t;
}

static void sim_exit(struct sim_thread *t)
{
    t->live = false;
    lgrp_thread_leave(&t->lt, s.ms * MS);
}

struct program {
    unsigned threads; /* created ones, without the first */
    unsigned gap_ms;  /* ms between two creations; 0: all at once */
    enum behaviour how;
    enum behaviour main_how;
    unsigned lead_ms; /* ms that the first thread works before */
};

/*
 * Runs one program to its end: after the last creation its threads work for a second.  Checks that `per_lgrp` threads
 * have their home on each lgroup: of the created ones and, with `count_main`, the creating one.
 */
static void run_program(const struct program *pr, unsigned per_lgrp, bool count_main)
{
    static struct lgrp_proc p, partner;
    struct sim_thread *first, *mine = &s.thread[s.n];
    unsigned homes[LGRP_MAX] = {0};

    lgrp_proc_init(&p);
    lgrp_proc_init(&partner);
    first = sim_thread(&p, NULL, pr->main_how);
    sim_run(pr->lead_ms);
    sim_thread(&partner, NULL, BLOCK_LATER); /* for example the reader at the other end of a pipe */
    for (struct sim_thread *t = s.thread; t < mine; t++)
        t->born_ms = s.ms; /* the shell that started them is still working */
    sim_run(check_below(30));
    for (unsigned i = 0; i < pr->threads; i++) {
        first->born_ms = s.ms; /* it runs at this moment, whatever it does otherwise */
        sim_thread(&p, first, pr->how);
        sim_run(pr->gap_ms);
    }
    for (struct sim_thread *t = mine + (count_main ? 0 : 1); t < &s.thread[s.n]; t++)
        homes[t->lt.home] += t->lt.proc == &p;
    for (unsigned g = 0; g < s.lgrps; g++)
        CHECK_EQ(homes[g], per_lgrp);
    sim_run(1000);
    for (struct sim_thread *t = mine; t < &s.thread[s.n]; t++)
        sim_exit(t);
    CHECK_EQ(p.bitmap, 0);
    lgrp_proc_exit(&p);
    s.n = (unsigned)(mine - s.thread);
}

/* init and a shell, which got their homes a moment ago and sleep; their charges have not yet decayed. */
static void resident_processes(void)
{
    static struct lgrp_proc init, sh;

    lgrp_proc_init(&init);
    lgrp_proc_init(&sh);
    sim_thread(&init, NULL, BLOCK_LATER);
    sim_run(check_below(200));
    sim_thread(&sh, NULL, BLOCK_LATER);
    sim_run(31 + check_below(100));
}

static void every_program(unsigned boards, bool high_end)
{
    static const unsigned gaps[] = {0, 1, 7, 60, 250, 1500};

    for (unsigned g = 0; g < array_size(gaps); g++) {
        for (int how = 0; how < BEHAVIOURS; how++) {
            for (int main_how = 0; main_how < BEHAVIOURS; main_how++) {
                for (int extra = 0; extra < 2; extra++) {
                    struct program pr = {
                        .threads = boards * 4 - 1 + extra,
                        .gap_ms = gaps[g],
                        .how = how,
                        .main_how = main_how,
                        .lead_ms = (unsigned)check_below(300),
                    };
                    sim_begin(boards, 4, high_end);
                    s.noise = check_below(2) != 0;
                    resident_processes();
                    /* the second time with averages that are not zero */
                    for (int again = 0; again < 2; again++) {
                        run_program(&pr, 4, extra == 0);
                        sim_run(1 + check_below(200));
                    }
                }
            }
        }
    }
}

TEST(four_homes_on_each_of_18_boards)
{
    every_program(18, true);
}

TEST(four_homes_on_each_of_6_boards)
{
    every_program(6, false);
}

TEST(four_homes_twenty_times_in_one_boot)
{
    struct program pr = {71, 0, BLOCK_LATER, RUN, 5};

    sim_begin(18, 4, true);
    s.noise = true;
    resident_processes();
    for (int i = 0; i < 20; i++) {
        run_program(&pr, 4, true);
        pr.gap_ms = (unsigned)check_below(20);
        pr.how = (enum behaviour)check_below(BEHAVIOURS);
    }
}

TEST(two_programs_at_once_share_evenly)
{
    static struct lgrp_proc a, b;
    unsigned homes[LGRP_MAX] = {0};

    sim_begin(18, 4, true);
    lgrp_proc_init(&a);
    lgrp_proc_init(&b);
    struct sim_thread *ta = sim_thread(&a, NULL, RUN), *tb = sim_thread(&b, NULL, RUN);

    for (unsigned i = 0; i < 35; i++) {
        sim_thread(&a, ta, BLOCK_AT_ONCE);
        sim_thread(&b, tb, BLOCK_AT_ONCE);
        sim_run(20);
    }
    for (unsigned i = 0; i < s.n; i++)
        homes[s.thread[i].lt.home]++;
    for (unsigned g = 0; g < 18; g++)
        CHECK_NEAR(homes[g], 4, 1);
}

TEST(a_busy_board_gets_fewer)
{
    static struct lgrp_proc hog[2], p;
    unsigned homes[LGRP_MAX] = {0};

    sim_begin(6, 4, false);
    for (unsigned i = 0; i < 2; i++) { /* two CPU-bound processes bound to board 2 */
        struct sim_thread *t = &s.thread[s.n++];

        lgrp_proc_init(&hog[i]);
        t->lt.proc = &hog[i];
        t->live = true;
        lgrp_thread_join(&part, &t->lt, 2, 0);
    }
    sim_run(10000);
    lgrp_proc_init(&p);
    struct sim_thread *first = sim_thread(&p, NULL, RUN);

    for (unsigned i = 0; i < 22; i++)
        sim_thread(&p, first, RUN);
    for (unsigned i = 3; i < s.n; i++) /* the created threads */
        homes[s.thread[i].lt.home]++;
    CHECK_EQ(homes[2], 2);
    for (unsigned g = 0; g < 6; g++)
        CHECK(g == 2 || homes[g] == 4);
}

TEST(promises_end_after_the_last_creation)
{
    static struct lgrp_proc p;

    sim_begin(6, 4, false);
    lgrp_proc_init(&p);
    struct sim_thread *first = sim_thread(&p, NULL, BLOCK_AT_ONCE);

    for (unsigned i = 0; i < 23; i++)
        sim_thread(&p, first, BLOCK_AT_ONCE);
    sim_run(1900);
    for (unsigned g = 0; g < 6; g++)
        CHECK(lpl_load(&part.lpl[g]) > LGRP_LOAD_FULL * 3 / 4);
    CHECK(part.creating == &p);
    sim_run(300);
    CHECK(part.creating == NULL);
    for (unsigned g = 0; g < 6; g++) {
        CHECK_EQ(part.lpl[g].held, 0);
        CHECK(lpl_load(&part.lpl[g]) < LGRP_LOAD_FULL / 8); /* none of these threads ever ran */
    }
    for (unsigned i = 0; i < s.n; i++)
        sim_exit(&s.thread[i]);
    for (unsigned g = 0; g < 6; g++)
        CHECK_EQ(part.lpl[g].homed, 0);
}

TEST(running_threads_are_not_counted_twice)
{
    static struct lgrp_proc p;

    sim_begin(6, 4, false);
    lgrp_proc_init(&p);
    struct sim_thread *first = sim_thread(&p, NULL, RUN);

    for (unsigned i = 0; i < 23; i++) {
        sim_thread(&p, first, RUN);
        sim_run(500);
    }
    for (unsigned g = 0; g < 6; g++)
        CHECK(lpl_load(&part.lpl[g]) <= LGRP_LOAD_FULL);
    sim_run(8000);
    CHECK(part.creating == NULL);
    for (unsigned g = 0; g < 6; g++)
        CHECK_NEAR(lpl_load(&part.lpl[g]), LGRP_LOAD_FULL, LGRP_LOAD_FULL / 10);
}

/* Random calls leave the records consistent (load.h, INVARIANTS). */
TEST(random_histories)
{
    static struct lgrp_proc p[8];

    for (unsigned round = 0; round < 60; round++) {
        unsigned boards = 1 + (unsigned)check_below(8);

        sim_begin(boards, 1 + (unsigned)check_below(6), check_below(2));
        for (unsigned i = 0; i < 8; i++)
            lgrp_proc_init(&p[i]);
        for (unsigned op = 0; op < 400; op++) {
            unsigned at = (unsigned)check_below(s.n + 1);
            struct sim_thread *t = at < s.n ? &s.thread[at] : NULL;

            switch (check_below(6)) {
            case 0:
            case 1:
                sim_thread(&p[check_below(8)], t != NULL && t->lt.proc != NULL ? t : NULL,
                           (enum behaviour)check_below(BEHAVIOURS));
                break;
            case 2:
                if (t != NULL)
                    sim_exit(t);
                break;
            case 3:
                if (t != NULL && t->live) {
                    lgrp_thread_leave(&t->lt, s.ms * MS);
                    lgrp_thread_join(&part, &t->lt, (unsigned)check_below(boards), s.ms * MS);
                }
                break;
            case 4:
                lgrp_proc_exit(&p[check_below(8)]);
                break;
            default:
                sim_run(check_below(700));
            }
            uint32_t held[LGRP_MAX] = {0}, homed[LGRP_MAX] = {0};

            for (unsigned i = 0; i < s.n; i++)
                if (s.thread[i].lt.part != NULL)
                    homed[s.thread[i].lt.home]++;
            for (unsigned i = 0; i < 8; i++)
                for (unsigned g = 0; g < boards; g++) {
                    bool in = (p[i].bitmap >> g & 1) != 0;

                    CHECK(!in || p[i].homed[g] > 0); /* I3 */
                    if (in && p[i].creating_in != NULL)
                        held[g] += p[i].held[g];
                }
            for (unsigned g = 0; g < boards; g++) {
                CHECK_EQ(part.lpl[g].homed, homed[g]);
                CHECK_EQ(part.lpl[g].held, held[g]); /* I2 */
            }
        }
    }
}
