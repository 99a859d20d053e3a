// SPDX-License-Identifier: MIT
/*
 * test_promise.c - the load that new threads are expected to add, without averages: the test sets how many other
 * threads seem to run.
 */
#include "tests/host/check.h"

#include <string.h>

#include "lgrp/promise.h"

#define MS 1000000ull

enum { LGRPS = 3, CPUS = 4, PROCS = 3, THREADS = 60 };

uint32_t lgrp_loadavg_max_effect = LGRP_LOAD_FULL, lgrp_create_hold = 20;
uint64_t lgrp_min_nsec = 100 * MS;

static struct lgrp_part part, other;
static struct lgrp_proc proc[PROCS];
static struct lgrp_thread t[THREADS];
static unsigned seen; /* threads in each lgroup, with the creator */

uint16_t lgrp_threads_seen(const struct lgrp_part *p, unsigned lgrp, unsigned excluded)
{
    return (uint16_t)(seen > excluded ? seen - excluded : 0);
}

static void start(void)
{
    memset(&part, 0, sizeof part);
    memset(&other, 0, sizeof other);
    memset(proc, 0, sizeof proc);
    memset(t, 0, sizeof t);
    for (unsigned g = 0; g < LGRPS; g++)
        part.lpl[g].ncpus = other.lpl[g].ncpus = CPUS;
    seen = 0;
}

/* Thread i of process k gets its home in lgroup g.  Its creator is a thread of that process, or NULL. */
static struct lgrp_thread *arrive(unsigned i, unsigned k, unsigned g, struct lgrp_thread *creator,
                                  uint64_t now_ns)
{
    struct lgrp_proc *p = &proc[k];

    if (creator != NULL)
        promise_creation(&part, p, creator);
    if ((p->bitmap >> g & 1) == 0) {
        p->bitmap |= 1ull << g;
        p->homed[g] = p->held[g] = 0;
    }
    p->homed[g]++;
    t[i].proc = p;
    t[i].part = &part;
    t[i].home = (uint8_t)g;
    t[i].at_ns = now_ns;
    promise_load(&t[i]);
    part.lpl[g].homed++;
    return &t[i];
}

static void leave(struct lgrp_thread *th, uint64_t now_ns)
{
    promise_take_back(th, now_ns);
    th->part->lpl[th->home].homed--;
    if (--th->proc->homed[th->home] == 0)
        th->proc->bitmap &= ~(1ull << th->home);
    th->part = NULL;
}

static void updates(unsigned n)
{
    while (n-- > 0) {
        part.updates++;
        promises_expire(&part);
    }
}

/* I2: the load held in a record is the sum over the processes that create threads. */
static void check_held(void)
{
    for (unsigned g = 0; g < LGRPS; g++) {
        unsigned held = 0;

        for (unsigned k = 0; k < PROCS; k++)
            if (proc[k].creating_in == &part && (proc[k].bitmap >> g & 1) != 0)
                held += proc[k].held[g];
        CHECK_EQ(part.lpl[g].held, held);
    }
}

/* ---- single arrivals ---- */

/* One thread is expected to load one CPU, a quarter of this lgroup. */
TEST(an_arrival_is_charged)
{
    start();
    arrive(0, 0, 1, NULL, 0);
    CHECK_NEAR(part.lpl[1].antic, AVG_FULL / CPUS, 1);
    CHECK_EQ(part.lpl[1].held, 0);
    CHECK(part.creating == NULL);
    arrive(1, 1, 1, NULL, 0);
    CHECK_NEAR(part.lpl[1].antic, 2 * AVG_FULL / CPUS, 2);
}

/* The charge is taken back if the thread leaves soon.  Later the average contains its load. */
TEST(a_charge_is_taken_back)
{
    uint32_t before;

    start();
    leave(arrive(0, 0, 1, NULL, 1000 * MS), 1099 * MS);
    CHECK_EQ(part.lpl[1].antic, 0);
    arrive(0, 0, 1, NULL, 1000 * MS);
    before = part.lpl[1].antic;
    leave(&t[0], 1100 * MS);
    CHECK_EQ(part.lpl[1].antic, before);
    part.lpl[1].antic = 5; /* it has decayed meanwhile */
    leave(arrive(0, 0, 1, NULL, 0), 0);
    CHECK(part.lpl[1].antic <= 5);
}

/* The charge depends on the number of CPUs at the arrival, also if CPUs have come or gone since. */
TEST(a_charge_remembers_the_cpus)
{
    start();
    part.lpl[1].ncpus = 1;
    arrive(0, 0, 1, NULL, 0);
    CHECK_NEAR(part.lpl[1].antic, AVG_FULL, 1);
    part.lpl[1].ncpus = 16;
    leave(&t[0], 0);
    CHECK_EQ(part.lpl[1].antic, 0);
    part.lpl[2].ncpus = 0;
    leave(arrive(0, 0, 2, NULL, 0), 0); /* an lgroup without CPUs has no load */
    CHECK_EQ(part.lpl[2].antic, 0);
}

TEST(extreme_charges)
{
    start();
    lgrp_loadavg_max_effect = UINT32_MAX;
    for (unsigned i = 0; i < 10; i++)
        arrive(i, 0, 1, NULL, 0);
    CHECK_EQ(part.lpl[1].antic, UINT32_MAX);
    lgrp_loadavg_max_effect = 0;
    arrive(10, 0, 2, NULL, 0);
    CHECK_EQ(part.lpl[2].antic, 0);
    lgrp_loadavg_max_effect = LGRP_LOAD_FULL;
}

/* ---- creations ---- */

/* A created thread is held as a whole thread and the creator as half a thread, whatever they do. */
TEST(created_threads_are_held)
{
    struct lgrp_thread *first;

    start();
    first = arrive(0, 0, 0, NULL, 0);
    seen = 3; /* this thread, and two others */
    arrive(1, 0, 0, first, 0);
    CHECK_EQ(part.lpl[0].held, 3);
    CHECK_EQ(part.lpl[0].others, 2);
    arrive(2, 0, 1, first, 0);
    CHECK_EQ(part.lpl[1].held, 2);
    CHECK_EQ(part.lpl[1].others, 3);
    arrive(3, 0, 1, &t[2], 0); /* another thread of the process also creates: the same creation */
    CHECK_EQ(part.lpl[1].held, 4);
    CHECK_EQ(part.lpl[1].others, 3); /* as many as there were when the first was held */
    CHECK(part.creating == &proc[0] && proc[0].next == NULL);
    check_held();
    leave(&t[1], 0);
    CHECK_EQ(part.lpl[0].held, 1);
    leave(first, 0);
    CHECK_EQ(part.lpl[0].held, 0);
    check_held();
}

/* While threads are held, other threads that come and go are counted separately. */
TEST(others_come_and_go)
{
    struct lgrp_thread *first;

    start();
    first = arrive(0, 0, 0, NULL, 0);
    arrive(1, 0, 1, first, 0);
    arrive(2, 1, 1, NULL, 0);
    CHECK_EQ(part.lpl[1].others, 1);
    leave(&t[2], 0);
    CHECK_EQ(part.lpl[1].others, 0);
    arrive(2, 1, 1, NULL, 0);
    /* it creates now, so it is one of the held threads and no longer another thread */
    arrive(3, 1, 1, &t[2], 0);
    CHECK_EQ(part.lpl[1].others, 0);
    CHECK_EQ(part.lpl[1].held, 2 + 1 + 2);
    check_held();
}

/* A creation ends lgrp_create_hold updates after the last thread.  Then only averages count. */
TEST(a_creation_ends)
{
    struct lgrp_thread *first;

    start();
    first = arrive(0, 0, 0, NULL, 0);
    arrive(1, 0, 1, first, 0);
    updates(lgrp_create_hold);
    arrive(2, 0, 1, first, 0);
    updates(lgrp_create_hold);
    CHECK(part.creating == &proc[0]);
    CHECK_EQ(part.lpl[1].held, 4);
    updates(1);
    CHECK(part.creating == NULL && proc[0].creating_in == NULL);
    CHECK_EQ(part.lpl[0].held + part.lpl[1].held, 0);
    leave(&t[1], 0); /* held in a creation that has ended: nothing to take back */
    CHECK_EQ(part.lpl[1].held, 0);
    arrive(3, 0, 1, first, 0); /* the next creation */
    CHECK_EQ(part.lpl[1].held, 2);
    leave(&t[2], 0);
    CHECK_EQ(part.lpl[1].held, 2);
    check_held();
}

/* A process creates threads in one partition at a time.  The end of a process or of a partition ends its creation. */
TEST(the_end_of_a_process_or_partition)
{
    struct lgrp_thread *a, *b;

    start();
    a = arrive(0, 0, 0, NULL, 0);
    b = arrive(1, 1, 0, NULL, 0);
    arrive(2, 0, 1, a, 0);
    arrive(3, 1, 1, b, 0);
    CHECK_EQ(part.lpl[1].held, 4);
    promise_creation(&other, &proc[0], a);
    CHECK_EQ(part.lpl[1].held, 2);
    CHECK(other.creating == &proc[0] && part.creating == &proc[1]);
    CHECK_EQ(other.lpl[0].held, 0); /* the creator is counted in the first one */
    lgrp_proc_exit(&proc[1]);
    CHECK(part.creating == NULL);
    CHECK_EQ(part.lpl[0].held + part.lpl[1].held, 0);
    lgrp_proc_exit(&proc[1]); /* has no effect */
    lgrp_part_end(&other);
    CHECK(other.creating == NULL && proc[0].creating_in == NULL);
    arrive(4, 0, 1, a, 0);
    arrive(5, 1, 1, b, 0);
    lgrp_part_end(&part);
    CHECK(part.creating == NULL);
    check_held();
}

/* Whatever threads come and go, no load stays promised when all have left. */
TEST(random_histories)
{
    for (unsigned round = 0; round < 200; round++) {
        uint64_t now_ns = 0;

        start();
        for (unsigned step = 0; step < 500; step++) {
            unsigned i = (unsigned)check_below(THREADS), k = i % PROCS;
            struct lgrp_thread *creator = &t[i % PROCS + PROCS * check_below(THREADS / PROCS)];

            now_ns += check_below(60) * MS;
            seen = (unsigned)check_below(6);
            if (t[i].part != NULL)
                leave(&t[i], now_ns);
            else
                arrive(i, k, (unsigned)check_below(LGRPS), creator->part != NULL ? creator : NULL,
                       now_ns);
            if (check_below(4) == 0)
                updates(1 + (unsigned)check_below(30));
            check_held();
        }
        for (unsigned i = 0; i < THREADS; i++)
            if (t[i].part != NULL)
                leave(&t[i], now_ns);
        for (unsigned g = 0; g < LGRPS; g++)
            CHECK_EQ(part.lpl[g].held, 0);
        updates(lgrp_create_hold + 1);
        CHECK(part.creating == NULL);
    }
}
