// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_fireplane_crossbar.c - the data crossbar: ports that move one line at a time, in or out, and queues behind them.
 *
 * THEORY      The tests request lines from fp_crossbar() at times that are whole slots after START.  The result is the
 *             slot in which the receiver's wires take the line.
 * SEE ALSO    qemu/fireplane/crossbar.c (X1 to X3), test_fireplane_wire.c (rates)
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include "tests/host/fpmachine.h"

#define START 1000u

/* The slot, counted from START, of a line that is requested at slot `at`. */
static uint64_t line(unsigned from, unsigned to, uint64_t at)
{
    return fp_crossbar(m, from, to, (START + at) * m->slot_ps) / m->slot_ps - START;
}

TEST(an_idle_crossbar_makes_no_line_wait)
{
    machine(3, high, "");
    CHECK_EQ(m->slot_ps, 13333);
    for (uint64_t t = 5; t < 1000000; t += 70001)
        CHECK_EQ(fp_crossbar(m, 0, 1, t), t);
}

TEST(a_port_moves_one_line_at_a_time_in_or_out)
{
    machine(5, high, "");
    CHECK_EQ(line(0, 1, 0), 0);
    CHECK_EQ(line(2, 1, 0), 1); /* the receiver's wires are busy */
    CHECK_EQ(line(0, 3, 0), 1); /* the sender's wires are busy */
    CHECK_EQ(line(1, 4, 0), 2); /* lines arrive at 1 in these slots, so it can send none */
    CHECK_EQ(line(3, 0, 0), 2); /* 0 sends in slots 0 and 1; 3 receives a line in slot 1 */
}

TEST(a_line_holds_up_those_behind_it)
{
    machine(8, high, "");
    for (unsigned i = 0; i < 10; i++)
        CHECK_EQ(line(2 + i % 4, 1, 0), i);
    CHECK_EQ(line(0, 1, 0), 10); /* its receiver is busy until then */
    CHECK_EQ(line(0, 7, 0), 11); /* the receiver is idle */
    CHECK_EQ(line(7, 6, 0), 0);  /* a line of another board is not delayed */
}

TEST(a_full_queue_keeps_lines_from_the_senders_wires)
{
    for (unsigned depth = 1; depth <= 3; depth++) {
        char set[32];

        snprintf(set, sizeof set, "crossbar_queue = %u\n", depth);
        machine(8, high, set);
        for (unsigned i = 0; i < 10; i++)
            line(2 + i % 4, 1, 0);
        CHECK_EQ(line(0, 1, 0), 10);
        for (unsigned i = 1; i < 5; i++)
            CHECK_EQ(line(0, 7, 0), 10 + i);
        /* the wires of 0 were taken in slots 0 .. depth-1, and again when the first line had left: */
        for (unsigned i = depth; i < 10; i++)
            CHECK_EQ(line(6, 0, depth), i);
    }
}

TEST(lines_of_later_times_are_behind)
{
    machine(8, high, "");
    for (unsigned i = 0; i < 30; i++)
        CHECK_EQ(line(0, 1 + i % 3, 60 + i), 60 + i);
    CHECK_EQ(line(0, 1, 10), 10); /* by a CPU whose clock is behind */
    CHECK_EQ(line(4, 1, 10), 11);
    CHECK_EQ(line(0, 5, 75), 90); /* all slots of the wires are taken until then */
}

TEST(what_was_long_ago_is_forgotten)
{
    machine(3, high, "");
    CHECK_EQ(line(0, 1, 0), 0);
    CHECK_EQ(line(0, 1, 0), 1);
    CHECK_EQ(line(0, 1, 10 * FP_SLOTS + 7), 10 * FP_SLOTS + 7);
    CHECK_EQ(line(0, 1, 0), 0);
    CHECK_EQ(line(0, 1, 0), 0);
    CHECK_EQ(line(0, 1, 11 * FP_SLOTS + 7), 11 * FP_SLOTS + 7);
    CHECK_EQ(line(0, 1, 11 * FP_SLOTS + 7), 11 * FP_SLOTS + 8);
}

/*
 * Simulates boards that always have 16 lines to send to random boards, in the order of time.  Returns the used part of
 * the wires' time, in thousandths.
 */
static unsigned used_at_random(const char *depth)
{
    enum { PORTS = 18, BUSY = 16, LINES = 40000 };
    static uint64_t free_at[PORTS][BUSY];
    static bool took[PORTS][8 * LINES]; /* X1: whether a port has taken a line in a slot */
    uint64_t end = 0;

    machine(PORTS, high, depth);
    memset(free_at, 0, sizeof free_at);
    memset(took, 0, sizeof took);
    srand(7);
    for (unsigned i = 0; i < LINES; i++) {
        uint64_t *next = &free_at[0][0];
        unsigned from, to;

        for (unsigned k = 1; k < PORTS * BUSY; k++)
            if ((&free_at[0][0])[k] < *next)
                next = &free_at[0][0] + k;
        from = (unsigned)((next - &free_at[0][0]) / BUSY);
        to = (from + 1 + (unsigned)rand() % (PORTS - 1)) % PORTS;
        *next = line(from, to, *next) + 1;
        CHECK(*next <= 8 * LINES && !took[to][*next - 1]);
        took[to][*next - 1] = true;
        if (*next > end)
            end = *next;
    }
    return (unsigned)(2000ull * LINES / (end * PORTS));
}

TEST(queues_cost_a_part_of_the_rate_when_receivers_are_chosen_at_random)
{
    unsigned one = used_at_random("crossbar_queue = 1\n"),
             four = used_at_random("crossbar_queue = 4\n"),
             sixteen = used_at_random("crossbar_queue = 16\n");

    printf("wires in use, thousandths: queues of 1: %u, of 4: %u, of 16: %u\n", one, four, sixteen);
    CHECK(one < four && four <= sixteen && sixteen < 1000);
}
