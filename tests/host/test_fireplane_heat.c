// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_fireplane_heat.c - page heat of the interconnect model: exact counts, counts of one miss in several, and the
 * doorbells.  The caches of the machines here are smaller than what is read, so each access of a pattern misses.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "tests/host/fpmachine.h"

enum { PAGE = 4096, LINES = PAGE / LINE, HOT = 120, SEED = 7 };

#define SMALL "ecache_kib = 64\n"

static struct fp_heat *table;

/* Makes a machine of two boards that counts one of `every` misses; 0: none. */
static void heated_machine(uint64_t every)
{
    machine(2, mid, SMALL);
    free(table);
    table = calloc(1, fp_heat_bytes(&m->p));
    if (every != 0)
        CHECK_EQ(fp_heat_begin(m, table, every, SEED), 0);
}

static uint32_t *row_at(uint64_t address)
{
    return (uint32_t *)((char *)table + FP_HEAT_OFFSET) + address / PAGE * table->nboards;
}

static uint64_t misses_of(unsigned cpu)
{
    return n(cpu)->miss_local + n(cpu)->miss_remote;
}

/* The sum of all counts of the table. */
static uint64_t all_counts(void)
{
    uint64_t sum = 0;

    for (uint64_t p = 0; p < 2 * BOARD / PAGE; p++)
        for (unsigned b = 0; b < 2; b++)
            sum += row_at(p * PAGE)[b];
    return sum;
}

/* CPUs of both boards load and store at random addresses of both. */
static void scatter(unsigned accesses)
{
    uint64_t x = 88172645463325252;

    for (unsigned i = 0; i < accesses; i++) {
        uint64_t address;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        address = (x >> 8) % (2 * BOARD) & ~7ull;
        if (x & 1)
            load((unsigned)(x >> 1 & 7), address);
        else
            store_line((unsigned)(x >> 1 & 7), address & ~(uint64_t)(LINE - 1));
    }
}

TEST(each_miss_is_counted_with_1)
{
    uint64_t sum = 0;

    heated_machine(1);
    CHECK_EQ(((struct fp_header *)page)->heat_every, 1);
    CHECK(table->magic == FP_HEAT_MAGIC && table->nboards == 2 && table->every == 1);
    load(0, 3 * PAGE);
    load(0, 3 * PAGE + LINE);
    load(5, BOARD + 7 * PAGE);
    load(1, BOARD + 7 * PAGE);
    store_line(6, 9 * PAGE);
    CHECK(row_at(3 * PAGE)[0] == 2 && row_at(3 * PAGE)[1] == 0);
    CHECK(row_at(BOARD + 7 * PAGE)[0] == 1 && row_at(BOARD + 7 * PAGE)[1] == 1);
    CHECK(row_at(9 * PAGE)[0] == 0 && row_at(9 * PAGE)[1] == 1);
    load(0, 3 * PAGE); /* a hit */
    CHECK_EQ(row_at(3 * PAGE)[0], 2);
    scatter(100000);
    for (unsigned i = 0; i < ncpus; i++)
        sum += misses_of(i);
    CHECK(sum > 50000);
    CHECK_EQ(all_counts(), sum);
}

TEST(heat_changes_nothing_that_is_modelled)
{
    static struct fp_counts counts[3][8];
    static uint64_t clocks[3][8];
    static const uint64_t every[3] = {0, 1, 16};

    for (unsigned k = 0; k < 3; k++) {
        heated_machine(every[k]);
        scatter(100000);
        for (unsigned i = 0; i < ncpus; i++) {
            counts[k][i] = *n(i);
            clocks[k][i] = clock_of(i);
        }
        CHECK_EQ(memcmp(counts[k], counts[0], sizeof counts[0]), 0);
        CHECK_EQ(memcmp(clocks[k], clocks[0], sizeof clocks[0]), 0);
    }
}

/*
 * Loads all lines of HOT pages, which all miss, and compares each page's count times `every` with its misses: at most
 * 3 % apart.  `turns`: pages take turns line by line, so the distance between the misses of a page is a multiple of
 * `every`.
 */
static void sample(uint64_t every, unsigned passes, bool turns)
{
    uint64_t before, exact = (uint64_t)passes * LINES;

    heated_machine(every);
    before = misses_of(0);
    for (unsigned k = 0; k < passes; k++)
        for (unsigned i = 0; i < HOT * LINES; i++) {
            unsigned p = turns ? i % HOT : i / LINES, line = turns ? i / HOT : i % LINES;

            load(0, p * PAGE + line * LINE);
        }
    CHECK_EQ(misses_of(0) - before, exact * HOT);
    for (unsigned p = 0; p < HOT; p++)
        CHECK_NEAR(row_at(p * PAGE)[0] * every, exact, (int64_t)(exact * 3 / 100));
}

TEST(counts_of_one_in_4_are_within_3_percent)
{
    sample(4, 300, false);
}

TEST(counts_are_right_for_a_loop_over_a_multiple_of_the_distance)
{
    sample(4, 1000, true);
}

TEST(each_cpu_chooses_its_own_misses)
{
    uint64_t same = 0;

    heated_machine(16);
    for (unsigned i = 0; i < 64; i++) {
        for (unsigned cpu = 0; cpu < 2; cpu++)
            load(cpu, (cpu * 64 + i) * PAGE);
        same += row_at(i * PAGE)[0] == row_at((64 + i) * PAGE)[0];
    }
    CHECK(same < 64);
}

/* Rings a doorbell of CPU 3.  Returns ret[0]. */
static uint64_t ring(unsigned op, uint64_t a, uint64_t b)
{
    struct fp_cpu *slot = FP_CPU(page, 3);

    slot->arg[0] = a;
    slot->arg[1] = b;
    slot->ret[0] = ~0ull;
    CHECK_EQ(fp_doorbell(m, 3, op), FP_NOTHING);
    return slot->ret[0];
}

TEST(the_guest_reads_the_heat_of_a_page)
{
    const uint32_t *heat = FP_HEAT(page, 3);

    heated_machine(1);
    load(4, 5 * PAGE);
    CHECK_EQ(ring(FP_OP_HEAT, 5 * PAGE + 123, 0), 1);
    CHECK(heat[0] == 0 && heat[1] == 1);
    CHECK_EQ(ring(FP_OP_HEAT, 6 * PAGE, 0), 1);
    CHECK(heat[0] == 0 && heat[1] == 0);
    CHECK_EQ(ring(FP_OP_HEAT, ~0ull, 0), 0);
    CHECK_EQ(ring(FP_OP_HEAT, table->pages * PAGE, 0), 0);
    heated_machine(0);
    load(4, 5 * PAGE);
    CHECK_EQ(ring(FP_OP_HEAT, 5 * PAGE, 0), 0);
    CHECK_EQ(heat[1], 0);
    CHECK_EQ(((struct fp_header *)page)->heat_every, 0);
}

TEST(new_frames_and_arming_begin_at_zero)
{
    heated_machine(1);
    for (unsigned p = 4; p < 8; p++)
        load(0, p * PAGE);
    ring(FP_OP_NEW_FRAMES, 5 * PAGE, 2 * PAGE);
    CHECK_EQ(row_at(4 * PAGE)[0], 1);
    CHECK_EQ(row_at(5 * PAGE)[0], 0);
    CHECK_EQ(row_at(6 * PAGE)[0], 0);
    CHECK_EQ(row_at(7 * PAGE)[0], 1);
    /* what no kernel asks for */
    ring(FP_OP_NEW_FRAMES, ~0ull, PAGE);
    ring(FP_OP_NEW_FRAMES, 0, ~0ull);
    ring(FP_OP_NEW_FRAMES, 4 * PAGE, 0);
    CHECK_EQ(row_at(4 * PAGE)[0], 1);
    fp_doorbell(m, 0, FP_OP_DISARM);
    CHECK_EQ(row_at(4 * PAGE)[0], 1);
    fp_doorbell(m, 0, FP_OP_ARM);
    CHECK_EQ(all_counts(), 0);
}

TEST(without_heat_nothing_is_counted_after_4_billion_misses)
{
    heated_machine(0);
    m->cpu[0].heat_left = 1;
    load(0, 0);
    load(0, LINE);
    CHECK_EQ(misses_of(0), 2);
}

TEST(a_count_ends_at_its_largest_value)
{
    heated_machine(1);
    row_at(0)[0] = UINT32_MAX - 1;
    load(0, 0);
    CHECK_EQ(row_at(0)[0], UINT32_MAX);
    load(0, LINE);
    CHECK_EQ(row_at(0)[0], UINT32_MAX);
    CHECK_EQ(row_at(0)[1], 0);
}
