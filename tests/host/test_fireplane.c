// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_fireplane.c - the interconnect model, with sequences whose results were computed by hand.  test_fireplane_wire.c
 * tests the resources that transfers use; fpmachine.h describes the machine under test.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "level1.h"
#include "tests/host/fpmachine.h"

/* ---- parameters ---------------------------------------------------------------------------- */

static void wrong(const char *more, const char *says)
{
    char text[2048], error[256] = "";
    struct fp_params p;

    snprintf(text, sizeof text, "%smemory_mib = 64\ncpus = 0:4\nwrite_allocate = merge\n%s%s",
             common, mid, more);
    CHECK_EQ(fp_params_parse(&p, text, error, sizeof error), -1);
    if (strstr(error, says) == NULL)
        check_fail(__FILE__, __LINE__, "\"%s\" is not in \"%s\"", says, error);
}

TEST(wrong_parameters_are_named)
{
    char error[256];
    struct fp_params p;

    wrong("speed = 3\n", "unknown parameter 'speed'");
    wrong("???\n", "unknown parameter");
    wrong("own_ps = 180000\n", "own_ps is given twice");
    CHECK_EQ(fp_params_parse(&p, "", error, sizeof error), -1);
    CHECK_STR(error, "memory_mib is missing");
    CHECK_EQ(fp_params_parse(&p, "clock_ps = -1\n", error, sizeof error), -1);
    CHECK_STR(error, "clock_ps = -1: a number from 10 to 1000000");
    CHECK_EQ(fp_params_parse(&p, "bus = ring\n", error, sizeof error), -1);
    CHECK_STR(error, "bus = ring: it is \"machine\" or \"board\"");
    CHECK_EQ(fp_params_parse(&p, "cpus = 0:4 64:1\n", error, sizeof error), -1);
    CHECK_EQ(fp_params_parse(&p, "cpus = 0:257\n", error, sizeof error), -1);
    CHECK_EQ(fp_params_parse(&p, "cpus = 0:-1\n", error, sizeof error), -1);
}

TEST(contradictions_are_refused)
{
    char text[2048], error[256];
    struct fp_params p;
    char *own;

    snprintf(text, sizeof text, "%smemory_mib = 64\ncpus = 0:4\nwrite_allocate = merge\n%s", common,
             mid);
    CHECK_EQ(fp_params_parse(&p, text, error, sizeof error), 0);
    own = strstr(text, "own_ps = 180000");
    memcpy(own, "own_ps = 280000", 15);
    CHECK_EQ(fp_params_parse(&p, text, error, sizeof error), -1);
    CHECK(strstr(error, "must not decrease"));
    memcpy(own, "own_ps = 180000", 15);
    memcpy(strstr(text, "ecache_kib = 8192"), "ecache_kib = 8193", 17);
    CHECK_EQ(fp_params_parse(&p, text, error, sizeof error), -1);
    CHECK(strstr(error, "power of two"));
}

TEST(the_page_says_what_is_modelled)
{
    const struct fp_header *h = (const struct fp_header *)page;

    machine(3, mid, "");
    CHECK_EQ(h->magic, FP_MAGIC);
    CHECK_EQ(h->ncpus, 12);
    CHECK_EQ(h->nboards, 3);
    CHECK_EQ(h->armed, 1);
    CHECK_EQ(h->clock_ps, 1111);
    CHECK_EQ(h->ecache_bytes, 8 << 20);
    CHECK_EQ(FP_CPU(page, 7)->board, 1);
    CHECK(strstr(h->params, "own_ps = 180000\n"));
}

/* ---- latency: Table B-2 -------------------------------------------------------------------- */

TEST(latency_on_the_own_board)
{
    machine(2, mid, "");
    /* Lines 0, 1, 2, 3 are controlled by CPUs 0 to 3.  They are far apart, so that none continues a stream. */
    CHECK_EQ(load(0, 0x1000), 180 * NS);
    CHECK_EQ(load(0, 0x3000 + LINE), 193 * NS);
    CHECK_EQ(load(0, 0x5000 + 2 * LINE), 207 * NS);
    CHECK_EQ(load(0, 0x7000 + 3 * LINE), 207 * NS);
    CHECK_EQ(load(1, 0x9000), 193 * NS);
    CHECK_EQ(load(3, 0xb000), 207 * NS);
    CHECK_EQ(load(3, 0xd000 + 2 * LINE), 193 * NS);
    CHECK_EQ(load(0, 0x1008), 0); /* level 1 */
    CHECK_EQ(n(0)->miss_local, 4);
    CHECK_EQ(n(0)->load_miss_local, 4);
    CHECK_EQ(n(0)->stall_ps, (180 + 193 + 207 + 207) * NS);
}

TEST(latency_of_another_board)
{
    uint64_t hits = 0, misses = 0;

    machine(2, mid, "");
    CHECK_EQ(load(0, BOARD + 0x1000), 240 * NS);
    CHECK_EQ(load(4, BOARD + 0x3000), 180 * NS);
    CHECK_EQ(n(0)->miss_remote, 1);
    machine(2, high, "");
    for (unsigned i = 0; i < 100; i++) {
        uint64_t t = load(0, BOARD + i * 0x2000);

        CHECK(t == 333 * NS || t == 440 * NS);
        hits += t == 333 * NS;
        misses += t == 440 * NS;
    }
    CHECK_EQ(hits, 80);
    CHECK_EQ(misses, 20);
    CHECK_EQ(FP_TRAFFIC(page)[1][0], 100 * LINE);
    CHECK_EQ(FP_TRAFFIC(page)[0][1], 0);
}

TEST(latency_from_a_maxcpu_board)
{
    machine(2, high, "cpus = 0:4 1:4 0:2m\n");
    CHECK_EQ(load(8, 0x1000), 240 * NS);
    CHECK_EQ(n(8)->miss_local, 1);
    CHECK(load(9, BOARD) >= 333 * NS);
    /* the Uniboard's CPUs control memory as before */
    CHECK_EQ(load(2, 0x3000 + 2 * LINE), 180 * NS);
    CHECK_EQ(FP_CPU(page, 9)->board, 0);
}

TEST(a_hit_in_the_external_cache_needs_no_transfer)
{
    machine(1, mid, "");
    for (unsigned i = 0; i < 4 * FP_RECENT; i++)
        load(0, i * LINE);
    fp_drain(&m->cpu[0]);
    for (unsigned i = 0; i < 4 * FP_RECENT; i++)
        CHECK_EQ(load(0, i * LINE), 0);
    CHECK_EQ(n(0)->ec_ref, 8 * FP_RECENT);
    CHECK_EQ(n(0)->ec_hit, 4 * FP_RECENT);
}

TEST(a_load_waits_for_the_external_cache)
{
    const uint64_t clocks = 13 * 1111;

    machine(1, mid, "ecache_latency = 13\n");
    CHECK_EQ(load(0, 0x1000), clocks + 180 * NS);
    CHECK_EQ(load(0, 0x1008), 0);
    CHECK_EQ(load(0, 0x1020), clocks);         /* the second half of the line */
    CHECK_EQ(load_float(0, 0x1000 + LINE), 0); /* prefetched: the stream continues */
    CHECK_EQ(load_float(0, 0x1020 + LINE), 0);
    /* prefetched lines are for floating-point loads only */
    CHECK_EQ(load(0, 0x1000 + 2 * LINE), clocks);
    fp_flush_tlb(m, 0);
    CHECK_EQ(load(0, 0x1000), clocks);
    fp_flush_tlb(m, 0);
    CHECK_EQ(store(0, 0x1000), 0);
    CHECK_EQ(load(0, 0x1000), clocks); /* stores bring nothing into level 1 */
    CHECK_EQ(n(0)->ec_hit, 4);
}

/* ---- level 1 ------------------------------------------------------------------------------- */

/* Lines of one set are 16 KB apart in the data cache, and 512 bytes in the prefetch cache. */
TEST(level_one_has_four_ways)
{
    const uint64_t clocks = 13 * 1111, way = 16384;

    machine(1, mid, "ecache_latency = 13\n");
    for (unsigned i = 0; i < 5; i++)
        load(0, i * way);
    for (unsigned i = 1; i < 5; i++)
        CHECK_EQ(load(0, i * way), 0);
    CHECK_EQ(n(0)->ec_hit, 0);
    CHECK_EQ(load(0, 0), clocks); /* the first line was replaced first; now the second is */
    CHECK_EQ(load(0, 2 * way), 0);
    CHECK_EQ(load(0, way), clocks);
    CHECK_EQ(n(0)->ec_hit, 2);

    machine(1, mid, "ecache_latency = 13\nmisses_in_flight = 64\n");
    load_float(0, 0);
    for (unsigned i = 1; i <= 40; i++) /* lines 1 to 40; 32 lines stay */
        CHECK_EQ(load_float(0, i * LINE), 0);
    for (unsigned i = 9; i <= 40; i++)
        CHECK_EQ(load_float(0, i * LINE + 32), 0);
    CHECK_EQ(load_float(0, 8 * LINE), clocks);
    CHECK_EQ(load_float(0, 8 * LINE + 32), clocks);
    CHECK_EQ(n(0)->ec_hit, 2);
}

/* Of four thousand lines many share a place of the filter; level 1 has room for 2,048 halves of lines. */
TEST(what_the_filter_forgets_costs_nothing)
{
    machine(1, mid, "ecache_latency = 13\n");
    for (unsigned i = 0; i < FP_D_LINES / 2; i++)
        for (unsigned half = 0; half < 2; half++)
            load(0, i * LINE + 32 * half);
    fp_drain(&m->cpu[0]);
    for (unsigned i = 0; i < FP_D_LINES / 2; i++)
        CHECK_EQ(load(0, i * LINE), 0);
    machine(1, mid, "ecache_latency = 13\n");
    load(0, 0);
    /* the next line that shares the place of line 0, but is in another set */
    for (uint64_t v = 1; v < 1 << 20; v++)
        if (fp_recent_at(&m->cpu[0], v | m->cpu[0].gen) ==
                fp_recent_at(&m->cpu[0], m->cpu[0].gen) &&
            v % 256 != 0) {
            load(0, v * LINE);
            break;
        }
    CHECK((m->cpu[0].recent[0].tag | FP_BOTH_ABSENT) != (m->cpu[0].gen | FP_BOTH_ABSENT));
    CHECK_EQ(load(0, 0), 0);
    CHECK_EQ(n(0)->ec_hit, 0);
    CHECK_EQ(n(0)->ec_ref, 2);
}

TEST(a_line_that_another_changes_leaves_level_one)
{
    machine(1, mid, "ecache_latency = 13\n");
    load(0, 0x1000);
    load(0, 0x1020);
    load(1, 0x1000);
    store(1, 0x1000);
    CHECK(load(0, 0x1000) > 180 * NS);
    CHECK_EQ(load(0, 0x1020), 13 * 1111); /* the old half is invalid */
    store(0, 0x1000); /* others have copies: these are invalidated, the writer's is not */
    CHECK_EQ(load(0, 0x1000), 0);
    CHECK_EQ(load(0, 0x1020), 0);
    CHECK(load(1, 0x1000) > 180 * NS);
}

TEST(instructions_take_a_clock_each)
{
    machine(1, mid, "");
    fp_run(&m->cpu[2], 10, 10 * 1111);
    CHECK_EQ(clock_of(2), 11110);
    CHECK_EQ(n(2)->instr, 10);
}

/* ---- misses in flight ---------------------------------------------------------------------- */

TEST(misses_of_a_stream_overlap)
{
    machine(1, mid, "");
    CHECK_EQ(load(0, 0), 180 * NS); /* starts the stream */
    for (unsigned i = 1; i <= 8; i++)
        CHECK_EQ(load(0, i * LINE), 0);
    /* All eight were requested at 180 ns.  Line 4, the CPU's own, arrives first. */
    CHECK_EQ(load(0, 9 * LINE), 180 * NS);
    CHECK_EQ(clock_of(0), 360 * NS);
    fp_drain(&m->cpu[0]);
    CHECK_EQ(clock_of(0), (360 + 193) * NS); /* the ninth: line 9 belongs to the pair */
}

TEST(streams_go_down_too_and_nine_are_too_many)
{
    machine(1, mid, "misses_in_flight = 64\n");
    load(0, 0x10000);
    CHECK_EQ(load(0, 0x10000 - LINE), 0);
    CHECK_EQ(load(0, 0x10000 - 2 * LINE), 0);
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 9; i++) {
            uint64_t t = load(0, 0x100000 + i * 0x10000 + round * LINE);

            CHECK(t >= 180 * NS); /* each waits again after its stream was forgotten */
        }
}

/* ---- coherence ----------------------------------------------------------------------------- */

TEST(a_store_makes_other_copies_stale)
{
    machine(2, mid, "");
    load(0, 0x1000);
    load(1, 0x1000);
    load(4, 0x1000);
    CHECK_EQ(n(4)->miss_remote, 1);
    store(1, 0x1000); /* another CPU has a copy: an address transaction without data */
    CHECK_EQ(n(1)->ec_ref, 2);
    CHECK_EQ(n(1)->ec_hit, 1);
    CHECK(load(0, 0x1000) > 0);
    CHECK_EQ(n(0)->miss_local, 2);
    CHECK_EQ(load(1, 0x1000), 0);
    CHECK_EQ(n(1)->ec_ref, 2); /* it is in level 1, although others read it now */
    CHECK(load(4, 0x1000) > 0);
}

TEST(a_modified_line_comes_from_its_owner)
{
    uint64_t memory;

    machine(3, mid, "");
    load(8, BOARD + 0x1000); /* a CPU of board 2 modifies a line of board 1 */
    store(8, BOARD + 0x1000);
    CHECK_EQ(FP_TRAFFIC(page)[1][2], LINE);
    memory = n(0)->queue_ps[FP_RES_MEMORY];
    fp_stall(&m->cpu[4], 1000 * NS); /* later, so that the lines do not meet in the crossbar */
    fp_stall(&m->cpu[0], 2000 * NS);
    CHECK_EQ(load(4, BOARD + 0x1000), 240 * NS); /* the line's home is here, but its data is not */
    CHECK_EQ(n(4)->miss_local, 1);
    CHECK_EQ(FP_TRAFFIC(page)[2][1], LINE);
    CHECK_EQ(n(0)->queue_ps[FP_RES_MEMORY], memory);
    CHECK_EQ(load(0, BOARD + 0x1000), 240 * NS); /* still from the owner */
    CHECK_EQ(FP_TRAFFIC(page)[2][0], LINE);
    CHECK_EQ(n(8)->writeback, 0);
}

TEST(a_line_alone_is_modified_without_a_word)
{
    uint64_t bus;

    machine(1, mid, "");
    load(0, 0x1000);
    bus = m->bucket[m->kind[FP_RES_BUS].first];
    CHECK_EQ(store(0, 0x1000), 0);
    CHECK_EQ(m->bucket[m->kind[FP_RES_BUS].first], bus);
    CHECK_EQ(n(0)->ec_hit, 1);
    CHECK_EQ(store(0, 0x1008), 0);
    CHECK_EQ(n(0)->ec_ref, 2); /* now from level 1 */
}

TEST(a_line_that_is_owned_is_changed_again_without_a_word)
{
    uint64_t bus;

    machine(2, mid, "");
    load(0, 0x1000);
    load(1, 0x1000);
    store(0, 0x1000); /* an address transaction: CPU 1 has a copy */
    bus = m->bucket[m->kind[FP_RES_BUS].first];
    CHECK_EQ(n(0)->ec_ref, 2);
    store(0, 0x1008);
    store(0, 0x1010);
    CHECK_EQ(n(0)->ec_ref, 2);
    CHECK_EQ(m->bucket[m->kind[FP_RES_BUS].first], bus);
}

TEST(a_line_that_left_its_owner_is_shared_with_none)
{
    uint64_t bus, way = 4ul << 20;

    machine(2, mid, "");
    load(0, 0x1000);
    store(0, 0x1000);
    load(0, 0x1000 + way);
    load(0, 0x1000 + 2 * way); /* two ways: the first line is replaced */
    load(1, 0x1000);
    bus = m->bucket[m->kind[FP_RES_BUS].first];
    store(1, 0x1000);
    CHECK_EQ(m->bucket[m->kind[FP_RES_BUS].first], bus);
}

TEST(what_leaves_the_external_cache_is_written_if_modified)
{
    const uint64_t way = 4096; /* bytes */

    machine(1, mid, "ecache_kib = 8\n");
    load(0, 0x10000);
    store(0, 0x10000);
    load(0, 0x10000 + way);
    load(0, 0x10000 + 2 * way); /* the third line in a set of two */
    CHECK_EQ(n(0)->writeback, 1);
    CHECK_EQ(load(0, 0x10000), 0); /* level 1 keeps what the external cache does not */
    fp_flush_tlb(m, 0);
    CHECK(load(0, 0x10000) > 0);
    load(0, 0x10000 + 3 * way);
    CHECK_EQ(n(0)->writeback, 1); /* it was not modified again */
}

/* Two modified lines leave at once.  A write-back to the CPU's own memory takes 180 ns. */
TEST(write_backs_are_a_small_queue)
{
    const uint64_t way = 4096;

    for (uint64_t room = 1; room <= 2; room++) {
        machine(1, mid,
                room == 1 ? "ecache_kib = 8\nwrite_allocate = always\nstores_in_flight = 4\n"
                            "writebacks_in_flight = 1\n"
                          : "ecache_kib = 8\nwrite_allocate = always\nstores_in_flight = 4\n");
        store(0, 0x10000);
        store(0, 0x10000 + way);
        fp_drain(&m->cpu[0]);
        CHECK_EQ(store(0, 0x10000 + 2 * way), 0);
        CHECK_EQ(store(0, 0x10000 + 3 * way), room == 1 ? 180 * NS : 0);
        CHECK_EQ(n(0)->writeback, 2);
    }
}

TEST(the_least_recently_used_line_leaves)
{
    const uint64_t way = 4096;

    machine(1, mid, "ecache_kib = 8\n");
    load(0, 0x10000);
    load(0, 0x10000 + way);
    fp_flush_tlb(m, 0); /* so that level 1 does not hide it */
    load(0, 0x10000);
    load(0, 0x10000 + 2 * way);
    fp_flush_tlb(m, 0);
    CHECK_EQ(load(0, 0x10000), 0);
    CHECK(load(0, 0x10000 + way) > 0);
}

TEST(an_access_across_two_lines_looks_at_both)
{
    const uint64_t second = 0x1000 + LINE;

    machine(1, mid, "");
    CHECK_EQ(load(0, 0x1000), 180 * NS);
    CHECK_EQ(load(0, second - 8), 0); /* within the first line, its second half */
    CHECK_EQ(n(0)->ec_ref, 2);
    CHECK_EQ(load(0, second - 4), 0); /* the second line is prefetched: no wait, but a miss */
    CHECK_EQ(n(0)->loads, 3);
    CHECK_EQ(n(0)->ec_ref, 3);
    CHECK_EQ(n(0)->load_miss_local, 2);
    CHECK_EQ(load(0, second), 0);
    CHECK_EQ(n(0)->ec_ref, 3);
    CHECK_EQ(load(0, 0x1000 + 32 - 4), 0); /* across two halves that are present */
    CHECK_EQ(load(0, second + 32 - 4), 0); /* across one that is not */
    CHECK_EQ(n(0)->ec_ref, 4);

    machine(1, mid, "");
    CHECK_EQ(load(0, second), 193 * NS);
    CHECK_EQ(load(0, second - 1), 0); /* the first line continues the stream */
    CHECK_EQ(n(0)->load_miss_local, 2);

    machine(1, mid, "");
    CHECK_EQ(load(0, second - 4), 180 * NS); /* neither line is present */
    CHECK_EQ(n(0)->load_miss_local, 2);

    for (unsigned i = 0; i < 2; i++) { /* a store: the CPU owns neither line */
        machine(1, mid, "");
        load(0, 0x1000);
        load(0, second);
        store(0, 0x1000);
        store(0, second);
        load(1, 0x1000 + i * LINE);
        CHECK_EQ(n(1)->load_miss_local, 1);
        store(0, second - 4);
        load(1, 0x1000 + i * LINE);
        CHECK_EQ(n(1)->load_miss_local, 2);
    }
}

/* ---- write cache --------------------------------------------------------------------------- */

TEST(a_whole_line_is_written_without_being_read)
{
    machine(2, mid, "");
    store_line(0, BOARD + 0x1000);
    CHECK_EQ(n(0)->stores, 8);
    CHECK_EQ(n(0)->miss_remote, 1);
    CHECK_EQ(n(0)->writeback, 1);
    CHECK_EQ(clock_of(0), 0);
    CHECK_EQ(FP_TRAFFIC(page)[0][1], LINE);
    CHECK_EQ(FP_TRAFFIC(page)[1][0], 0);
    fp_drain(&m->cpu[0]);
    CHECK_EQ(clock_of(0), 240 * NS);
    CHECK(load(0, BOARD + 0x1000) > 0); /* the line is not in the cache */
}

TEST(a_whole_line_makes_other_copies_stale)
{
    uint64_t before;

    machine(2, mid, "");
    load(1, 0x1000);
    load(1, 0x1008);
    before = n(1)->miss_local;
    store_line(0, 0x1000);
    CHECK(load(1, 0x1000) > 0);
    CHECK_EQ(n(1)->miss_local, before + 1);
}

TEST(bytes_are_merged_whatever_their_size)
{
    machine(1, mid, "");
    for (unsigned i = 0; i < LINE; i++)
        fp_store(&m->cpu[0], 0x1000 + (i * 7) % LINE, 1, 0);
    CHECK_EQ(n(0)->writeback, 1);
    fp_store(&m->cpu[0], 0x2000 + LINE - 4, 8, 0); /* half in each of two lines */
    for (unsigned i = 0; i < LINE - 4; i += 4)
        fp_store(&m->cpu[0], 0x2000 + LINE + 4 + i, 4, 0);
    CHECK_EQ(n(0)->writeback, 2);
    CHECK_EQ(n(0)->miss_local, 2);
}

TEST(an_incomplete_line_is_read_when_it_must_leave)
{
    machine(1, mid, "");
    for (unsigned i = 0; i < FP_WC_WAYS; i++)
        store(0, 0x10000 + i * FP_WC_SETS * LINE);
    CHECK_EQ(n(0)->ec_ref, 0);
    /* a fifth line in the set: the first is read for ownership */
    store(0, 0x10000 + FP_WC_WAYS * FP_WC_SETS * LINE);
    CHECK_EQ(n(0)->ec_ref, 1);
    CHECK_EQ(n(0)->miss_local, 1);
    CHECK_EQ(n(0)->writeback, 0);
    fp_flush_tlb(m, 0);
    CHECK_EQ(load(0, 0x10000), 0);
    CHECK_EQ(n(0)->ec_hit, 1);
}

TEST(a_load_from_an_incomplete_line_reads_it)
{
    machine(1, mid, "");
    store(0, 0x1000);
    CHECK_EQ(load(0, 0x1000), 180 * NS);
    CHECK_EQ(n(0)->miss_local, 1);
    CHECK_EQ(n(0)->load_miss_local, 0);
    CHECK_EQ(store(0, 0x1010), 0);
    CHECK_EQ(n(0)->ec_ref, 1);

    machine(3, mid, "");
    store(0, BOARD + 0x1000); /* from another board's memory */
    CHECK_EQ(load(0, BOARD + 0x1000), 240 * NS);
    CHECK_EQ(FP_TRAFFIC(page)[1][0], LINE);
    load(8, 0x3000); /* from the cache of the CPU that has changed it */
    store(8, 0x3000);
    store(0, 0x3000);
    CHECK_EQ(load(0, 0x3000), 240 * NS);
    CHECK_EQ(FP_TRAFFIC(page)[2][0], LINE);
    CHECK_EQ(FP_TRAFFIC(page)[0][0], 0);
}

TEST(a_load_from_an_incomplete_line_comes_after_earlier_stores)
{
    machine(1, mid, "ecache_latency = 13\n");
    store(0, 0x1000);
    CHECK_EQ(load(0, 0x1000), 13 * 1111 + 180 * NS);
    /* the first line is read for ownership, for 180 ns */
    for (unsigned i = 0; i < FP_WC_WAYS + 1; i++)
        store(0, 0x10000 + i * FP_WC_SETS * LINE);
    store(0, 0x20000 + LINE);
    CHECK_EQ(load(0, 0x20000 + LINE), (180 + 193) * NS);
}

TEST(a_line_filled_through_two_address_spaces)
{
    machine(1, mid, "");
    for (unsigned i = 0; i < 4; i++)
        store(0, 0x1000 + i * 8);
    fp_flush_tlb(m, 0);
    for (unsigned i = 4; i < 8; i++)
        store(0, 0x1000 + i * 8);
    CHECK_EQ(n(0)->writeback, 1);
}

TEST(with_write_allocate_a_store_miss_reads_its_line)
{
    machine(1, mid, "write_allocate = always\n");
    CHECK_EQ(store(0, 0x1000), 0); /* the CPU does not wait */
    CHECK_EQ(n(0)->miss_local, 1);
    CHECK_EQ(store(0, 0x1008), 0);
    CHECK_EQ(n(0)->ec_ref, 1);
    CHECK_EQ(n(0)->writeback, 0);
    fp_drain(&m->cpu[0]);
    CHECK_EQ(clock_of(0), 180 * NS);
}

/* The first lines of pages take 180 ns each. */
TEST(stores_own_their_lines_in_order)
{
    machine(1, mid, "write_allocate = always\nstore_queue = 3\n");
    CHECK_EQ(store(0, 0x1000), 0);
    CHECK_EQ(store(0, 0x1008), 0);
    /* requested when the first store has its line; three stores are in the queue */
    CHECK_EQ(store(0, 0x3000), 0);
    /* a load is requested at once; the first line has arrived by then, too */
    CHECK_EQ(load(0, 0x5000), 180 * NS);
    CHECK_EQ(store(0, 0x7000), 0); /* requested at 360 ns */
    CHECK_EQ(store(0, 0x7008), 0);
    CHECK_EQ(store(0, 0x7010), 180 * NS); /* waits until the store to 0x3000 has left */
    CHECK_EQ(store(0, 0x7018), 180 * NS); /* waits until the store to 0x7000 has left */
    fp_drain(&m->cpu[0]);
    CHECK_EQ(clock_of(0), 540 * NS);

    machine(1, mid, "write_allocate = always\nstores_in_flight = 2\nstore_queue = 1\n");
    CHECK_EQ(store(0, 0x1000), 0);
    CHECK_EQ(store(0, 0x3000), 180 * NS);
    CHECK_EQ(store(0, 0x5000), 180 * NS);
    fp_drain(&m->cpu[0]);
    CHECK_EQ(clock_of(0), 540 * NS);

    machine(1, mid, "write_allocate = always\nstores_in_flight = 2\n");
    CHECK_EQ(store(0, 0x1000), 0);
    CHECK_EQ(store(0, 0x3000), 0);
    CHECK_EQ(store(0, 0x5000), 0); /* requested at 180 ns */
    CHECK_EQ(store(0, 0x7000), 0); /* this, too: the second line had arrived as well */
    fp_drain(&m->cpu[0]);
    CHECK_EQ(clock_of(0), 360 * NS);
}

TEST(a_store_to_a_shared_line_waits_its_turn)
{
    machine(1, mid, "store_queue = 1\n");
    for (unsigned c = 0; c < 2; c++) {
        load(c, 0x1000);
        load(c, 0x3000);
    }
    CHECK_EQ(store(1, 0x1000), 0);
    CHECK_EQ(store(1, 0x3000), 193 * NS); /* an address transaction takes as long */
}

/*
 * The eighth store behind one that must own its line waits for that one, also if it completes a line that is not read.
 */
TEST(stores_wait_in_the_store_queue)
{
    machine(1, mid, "misses_in_flight = 7\n");
    /* because of the last store the first line is read */
    for (unsigned i = 0; i < FP_WC_WAYS + 1; i++)
        store(0, 0x10000 + i * FP_WC_SETS * LINE);
    CHECK_EQ(n(0)->ec_ref, 1);
    for (unsigned i = 0; i < 7; i++) /* in another set */
        CHECK_EQ(store(0, 0x20000 + LINE + 8 * i), 0);
    CHECK_EQ(store(0, 0x20000 + LINE + 56), 180 * NS);
    CHECK_EQ(n(0)->writeback, 1);
    for (unsigned i = 2; i < FP_WC_SETS; i++) /* no store waits any more */
        store_line(0, 0x20000 + i * LINE);
    CHECK_EQ(n(0)->writeback, FP_WC_SETS - 1);
    CHECK_EQ(clock_of(0), 180 * NS);
}

/* ---- clocks -------------------------------------------------------------------------------- */

TEST(a_cpu_ahead_of_the_others_gives_way)
{
    machine(1, mid, "");
    for (unsigned c = 0; c < 4; c++)
        fp_run(&m->cpu[c], 1, 1111);
    memset(yielded, 0, sizeof yielded);
    fp_run(&m->cpu[0], 900, 900 * 1111);
    CHECK(!yielded[0]); /* 999.9 ns ahead */
    fp_run(&m->cpu[0], 1, 1111);
    CHECK(yielded[0]);
    fp_run(&m->cpu[1], 100, 100 * 1111);
    fp_slice(&m->cpu[1]);
    fp_pause(m, 2);
    fp_idle(m, 3);
    yielded[0] = false;
    fp_run(&m->cpu[0], 1, 1111); /* CPU 1 is the slowest now */
    CHECK(!yielded[0]);
    CHECK_EQ(m->cpu[0].limit, 101 * 1111 + 1000 * NS);
}

TEST(a_cpu_that_moved_data_gives_way_sooner)
{
    machine(1, mid, "order_ps = 20000\n");
    for (unsigned c = 0; c < 4; c++)
        fp_run(&m->cpu[c], 1, 1111);
    fp_slice(&m->cpu[0]); /* it was the only active CPU before */
    fp_slice(&m->cpu[1]);
    memset(yielded, 0, sizeof yielded);
    fp_run(&m->cpu[1], 200, 200 * 1111);
    CHECK(!yielded[1]); /* 222 ns ahead, and none of its transfers can affect the others */
    load(0, 0x1000);
    fp_run(&m->cpu[0], 1, 1111);
    CHECK(yielded[0]);
}

/*
 * Otherwise the CPU would run on alone until the CPUs that it woke get their turns, and they would start at its clock.
 */
TEST(a_cpu_alone_gives_way_too)
{
    machine(1, mid, "");
    yielded[0] = false;
    fp_run(&m->cpu[0], 1, 1111);
    CHECK(!yielded[0]); /* its first turn */
    fp_run(&m->cpu[0], 900, 900 * 1111);
    CHECK(!yielded[0]);
    fp_run(&m->cpu[0], 1, 1111);
    CHECK(yielded[0]);
    CHECK_EQ(clock_of(0), 902 * 1111);
}

TEST(who_waited_catches_up_with_the_slowest)
{
    machine(1, mid, "");
    fp_run(&m->cpu[0], 100, 111100);
    fp_run(&m->cpu[1], 300, 333300);
    fp_run(&m->cpu[2], 1, 1111); /* was inactive: its clock is set to at least CPU 0's */
    CHECK_EQ(clock_of(2), 111100);
    fp_pause(m, 2);
    fp_run(&m->cpu[0], 100, 111100);
    fp_slice(&m->cpu[0]);
    fp_run(&m->cpu[2], 1, 1111);
    CHECK_EQ(clock_of(2), 222200);
    CHECK_EQ(n(2)->instr, 2);
}

TEST(slices_in_turn_keep_the_skew)
{
    machine(2, mid, "");
    for (unsigned c = 0; c < ncpus; c++)
        fp_run(&m->cpu[c], 1, 1111);
    for (unsigned round = 0; round < 1000; round++)
        for (unsigned c = 0; c < ncpus; c++) {
            yielded[c] = false;
            while (!yielded[c])
                fp_run(&m->cpu[c], c + 1, (c + 1) * 1111);
            for (unsigned k = 0; k < ncpus; k++)
                CHECK(clock_of(c) < clock_of(k) + 1000 * NS + 2 * ncpus * 1111);
        }
}

TEST(a_switch_waits_for_misses_and_brings_the_threads_time)
{
    struct fp_cpu *slot;

    machine(1, mid, "");
    slot = FP_CPU(page, 1);
    fp_run(&m->cpu[0], 9000, 9000 * 1111);
    fp_run(&m->cpu[1], 1, 1111); /* its clock catches up */
    fp_pause(m, 0);
    store_line(1, 0x1000);
    slot->arg[0] = 0;
    fp_doorbell(m, 1, FP_OP_SWITCH);
    CHECK_EQ(slot->ret[0], 9000 * 1111 + 193 * NS);
    CHECK_EQ(slot->counts.time_ps, slot->ret[0]);
    CHECK_EQ(slot->active, 0);
    slot->arg[0] = ~0ull; /* invalid: later than any CPU ever was */
    fp_doorbell(m, 1, FP_OP_SWITCH);
    CHECK_EQ(clock_of(1), slot->ret[0]);
    FP_CPU(page, 2)->arg[0] = slot->ret[0];
    fp_doorbell(m, 2, FP_OP_SWITCH);
    CHECK_EQ(FP_CPU(page, 2)->ret[0], 0);
    CHECK_EQ(clock_of(2), slot->ret[0]);
}

TEST(a_time_that_was_published_can_be_handed_on_at_once)
{
    machine(1, mid, "");
    fp_run(&m->cpu[0], 1, 1111);         /* begins a slice */
    fp_run(&m->cpu[0], 100, 100 * 1111); /* within the slice */
    fp_doorbell(m, 0, FP_OP_SYNC);
    CHECK_EQ(clock_of(0), 101 * 1111);
    FP_CPU(page, 1)->arg[0] = FP_CPU(page, 0)->counts.time_ps;
    fp_doorbell(m, 1, FP_OP_SWITCH);
    CHECK_EQ(clock_of(1), 101 * 1111);
}

TEST(what_waits_for_floating_point_is_told_apart)
{
    machine(1, mid, "");
    fp_run(&m->cpu[0], 900, 900 * 1111);
    fp_slice(&m->cpu[0]);
    fp_run(&m->cpu[1], 10, 14 * 1111); /* less than what is skipped: CPU 0's time */
    load(1, 0x1000);
    fp_run(&m->cpu[1], 3, 3 * 1111);
    fp_doorbell(m, 1, FP_OP_SYNC);
    CHECK_EQ(n(1)->time_ps, 903 * 1111 + 193 * NS);
    CHECK_EQ(n(1)->fp_stall_ps, 4 * 1111);
    CHECK_EQ(n(1)->stall_ps, 193 * NS);
    FP_CPU(page, 0)->arg[0] = n(1)->time_ps;
    fp_doorbell(m, 0, FP_OP_SWITCH); /* a thread brings a later time */
    fp_doorbell(m, 0, FP_OP_SYNC);
    CHECK_EQ(n(0)->time_ps, n(1)->time_ps);
    CHECK_EQ(n(0)->fp_stall_ps, 0);
    fp_doorbell(m, 0, FP_OP_DISARM);
    fp_doorbell(m, 0, FP_OP_ARM); /* and all CPUs do */
    CHECK_EQ(n(2)->time_ps, n(1)->time_ps);
    CHECK_EQ(n(2)->fp_stall_ps, 0);
    CHECK_EQ(n(1)->fp_stall_ps, 4 * 1111);
}

TEST(arming_sets_all_clocks_to_the_latest_and_empties_the_caches)
{
    machine(1, mid, "");
    load(3, 0x1000);
    fp_run(&m->cpu[3], 1, 1111);
    CHECK_EQ(fp_doorbell(m, 0, FP_OP_ARM), FP_NOTHING);
    CHECK_EQ(fp_doorbell(m, 0, FP_OP_DISARM), FP_REWATCH);
    CHECK_EQ(fp_doorbell(m, 0, FP_OP_DISARM), FP_NOTHING);
    CHECK_EQ(((struct fp_header *)page)->armed, 0);
    CHECK_EQ(((struct fp_header *)page)->disarmed, 1);
    CHECK_EQ(FP_CPU(page, 3)->counts.load_miss_local, 1);
    CHECK_EQ(fp_doorbell(m, 0, FP_OP_ARM), FP_REWATCH);
    for (unsigned c = 0; c < 4; c++)
        CHECK_EQ(clock_of(c), 207 * NS + 1111);
    CHECK(load(3, 0x1000) > 0);
}

/* ---- invalid requests of guests ---- */

TEST(probes_that_make_no_sense_are_refused)
{
    static const uint64_t bad[][4] = {
        {0, 0, 0, 0},                  /* empty */
        {0x100000, 0, 0x1000, 0},      /* address outside */
        {0x1000, 0x1001, 0x1000, 0},   /* not page-aligned */
        {0, 0, 0x1000, 99},            /* no such board */
        {0, 0, 1ull << 60, 0},         /* beyond all memory */
        {~0ull, ~0xfffull, 0x1000, 0}, /* at the end of the address space */
        {0x2000, 0x2000, 0x1000, 0},   /* inside a known range */
        {BOARD - 0x1000, BOARD - 0x1000, 0x2000, 0},
    };

    machine(1, mid, "");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memcpy(FP_CPU(page, 2)->arg, bad[i], sizeof bad[i]);
        FP_CPU(page, 2)->ret[0] = 7;
        fp_doorbell(m, 2, FP_OP_PROBE);
        CHECK_EQ(FP_CPU(page, 2)->ret[0], 1);
        fp_probe(m, 2, RAW + bad[i][0]);
        CHECK_EQ(FP_CPU(page, 2)->ret[0], 1);
    }
    CHECK_EQ(m->nranges, 1);
    probe_board(0); /* the same range again is no fault */
    CHECK_EQ(FP_CPU(page, 0)->ret[0], 0);
}

TEST(memory_of_no_board_is_counted_but_costs_nothing)
{
    machine(1, mid, "");
    CHECK_EQ(load(0, 4 * BOARD), 0);
    CHECK_EQ(store(0, 4 * BOARD), 0);
    CHECK_EQ(n(0)->loads + n(0)->stores, 2);
    CHECK_EQ(n(0)->ec_ref, 0);
}

/* L1 of level1.h */
static void check_level1(struct fp_cpu_state *c)
{
    for (unsigned i = 0; i < FP_RECENT; i++) {
        const struct fp_recent *l = &c->recent[i];
        uint64_t vline = (l->tag & ~FP_BOTH_ABSENT) ^ c->gen;

        if (vline < FP_GENERATION && *l->wordp == l->word && l->tag != 0)
            CHECK((absent(c, vline, version_of(l->word)) & ~l->tag) == 0);
    }
}

static void check_invariants(const struct fp_counts *before)
{
    for (unsigned c = 0; c < ncpus; c++) {
        const uint64_t *old = (const uint64_t *)&before[c], *now = (const uint64_t *)n(c);
        struct fp_cpu_state *s = &m->cpu[c];

        check_level1(s);
        s->n.time_ps = s->clock;
        for (size_t i = 0; i < sizeof *before / sizeof *old; i++)
            CHECK(now[i] >= old[i]);                                                 /* M1 */
        CHECK_EQ(n(c)->ec_ref, n(c)->ec_hit + n(c)->miss_local + n(c)->miss_remote); /* M2 */
        CHECK(2 * (n(c)->loads + n(c)->stores) >= n(c)->ec_ref); /* an access may cross two lines */
        CHECK(n(c)->load_miss_local <= n(c)->miss_local &&
              n(c)->load_miss_remote <= n(c)->miss_remote);
        for (unsigned w = 0; w < FP_WC_LINES; w++) { /* M4 */
            uint32_t line = s->wc_line[w];
            const struct fp_ec *e = &s->ec[((line - 1) & (m->ec_sets - 1)) * m->p.ecache_ways];

            for (unsigned i = 0; line && i < m->p.ecache_ways; i++)
                CHECK(e[i].line != line || (e[i].version & ~FP_WROTE) != m->word[line - 1] >> 32);
            CHECK(!line || s->wc[w].need != 0);
        }
    }
    for (uint64_t line = 0; line < 2048; line++) { /* M3 */
        uint64_t word = m->word[line];
        const struct fp_ec *e;
        bool there = false;

        if (!(word & FP_DIRTY))
            continue;
        CHECK((word & FP_OWNER) >= 1 && (word & FP_OWNER) <= ncpus);
        e = &m->cpu[(word & FP_OWNER) - 1].ec[(line & (m->ec_sets - 1)) * m->p.ecache_ways];
        for (unsigned i = 0; i < m->p.ecache_ways; i++)
            there |= e[i].line == line + 1 && e[i].version == (word >> 32 | FP_WROTE);
        CHECK(there);
    }
}

static void fuzz(const char *family, const char *more)
{
    static struct fp_counts before[FP_MAX_CPUS];

    machine(2, family, more);
    for (unsigned i = 0; i < 300000; i++) {
        unsigned c = (unsigned)check_below(ncpus), size = 1u << check_below(5);
        uint64_t near = check_below(2048 * LINE), far = check_below(3 * BOARD);
        uint64_t at = check_below(20) ? near : far;

        switch (check_below(40)) {
        case 0:
            for (unsigned k = 0; k < 4; k++)
                FP_CPU(page, c)->arg[k] =
                    check_below(2) ? check_random() : check_below(BOARD) & ~0xfffull;
            fp_doorbell(m, (unsigned)check_below(ncpus + 3), (unsigned)check_below(7));
            fp_probe(m, c, check_random() >> check_below(64));
            break;
        case 1:
            fp_pause(m, c);
            break;
        case 2:
            fp_flush_tlb(m, c);
            break;
        case 3:
            for (unsigned k = 0; k < 4; k++)
                store_line(c, (at & ~63ull) + k * LINE);
            break;
        case 4: /* the guest writes random bytes to the page */
            page[check_below(sizeof page)] = (char)check_random();
            break;
        default:
            if (check_below(3))
                fp_run(&m->cpu[c], 5, 5555);
            if (check_below(2))
                fp_load(&m->cpu[c], at, size, check_below(2) ? FP_FLOATING : 0);
            else
                fp_store(&m->cpu[c], at, size, 0);
        }
        if (i % 1000 == 0) {
            check_invariants(before);
            for (unsigned k = 0; k < ncpus; k++)
                before[k] = *n(k);
        }
    }
    memset(before, 0, sizeof before);
}

TEST(fuzz_mid_range)
{
    fuzz(mid, "");
    fuzz(mid, "ecache_kib = 8\n");
}

TEST(fuzz_high_end)
{
    fuzz(high, "ecache_kib = 16\n");
    fuzz(high, "ecache_kib = 4\nwrite_allocate = always\nmisses_in_flight = 1\n");
    fuzz(high, "ecache_kib = 4\nstores_in_flight = 3\nstore_queue = 2\n");
}

/* ---- instructions -------------------------------------------------------------------------- */

TEST(any_bytes_are_some_instruction)
{
    for (unsigned i = 0; i < 100000; i++) {
        /* up to the end, so that the sanitizer sees a read beyond it */
        uint8_t bytes[16], *code = bytes + check_below(sizeof bytes + 1);
        unsigned op = 0;

        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)(check_below(4) ? check_random() : 0x0f);
        CHECK(fp_decode(code, (size_t)(bytes + sizeof bytes - code), &op) <= FP_INSN_DOORBELL);
    }
}

TEST(instructions_are_told_apart)
{
    static const struct {
        const char *code;
        size_t length;
        enum fp_insn kind;
    } rows[] = {
        {"\x8b\x07", 2, FP_INSN_ONE_LOAD},              /* mov (%rdi),%eax */
        {"\x48\x8b\x07", 3, FP_INSN_ONE_LOAD},          /* mov (%rdi),%rax */
        {"\x48\x8b\xc7", 3, FP_INSN_OTHER},             /* mov %rdi,%rax */
        {"\x89\x07", 2, FP_INSN_ONE_STORE},             /* mov %eax,(%rdi) */
        {"\x01\x07", 2, FP_INSN_OTHER},                 /* add %eax,(%rdi): both */
        {"\xf0\x48\x0f\xb1\x17", 5, FP_INSN_OTHER},     /* lock cmpxchg */
        {"\xf2\x0f\x10\x07", 4, FP_INSN_ONE_LOAD},      /* movsd (%rdi),%xmm0 */
        {"\xf2\x44\x0f\x11\x07", 5, FP_INSN_ONE_STORE}, /* movsd %xmm8,(%rdi) */
        {"\x0f\x10\x07", 3, FP_INSN_OTHER},             /* movups */
        {"\x66\x0f\x6f\x07", 4, FP_INSN_OTHER},         /* movdqa */
        {"\x55", 1, FP_INSN_ONE_STORE},                 /* push %rbp */
        {"\x41\x5c", 2, FP_INSN_ONE_LOAD},              /* pop %r12 */
        {"\xc3", 1, FP_INSN_ONE_LOAD},                  /* ret */
        {"\xf3\xc3", 2, FP_INSN_ONE_LOAD},              /* rep ret */
        {"\xf3\x48\xa5", 3, FP_INSN_REP_STORE},         /* rep movsq */
        {"\x67\xf3\x48\xab", 4, FP_INSN_REP_STORE},     /* rep stosq with a 32-bit address */
        {"\xf2\xae", 2, FP_INSN_REP_LOAD},              /* repne scasb */
        {"\xf3\x48\xad", 3, FP_INSN_REP_LOAD},          /* rep lodsq */
        {"\xf3\xa6", 2, FP_INSN_REP_LOADS},             /* repe cmpsb */
        {"\xa5", 1, FP_INSN_OTHER},                     /* movsl: both */
        {"\x2e\x8b\x07", 3, FP_INSN_ONE_LOAD},          /* mov %cs:(%rdi),%eax */
        {"\xf3\x90", 2, FP_INSN_PAUSE},
        {"\x90", 1, FP_INSN_OTHER},
        {"\xf4", 1, FP_INSN_HALT},
        {"\x0f\x01\xc9", 3, FP_INSN_HALT}, /* mwait */
        {"\x0f\x22\xd8", 3, FP_INSN_MMU},  /* mov %rax,%cr3 */
        {"\x41\x0f\x22\xd8", 4, FP_INSN_MMU},
        {"\x0f\x22\xc0", 3, FP_INSN_OTHER},       /* mov %rax,%cr0 */
        {"\x0f\x01\x38", 3, FP_INSN_MMU},         /* invlpg (%rax) */
        {"\x0f\x01\xf8", 3, FP_INSN_OTHER},       /* swapgs */
        {"\x66\x0f\x38\x82\x00", 5, FP_INSN_MMU}, /* invpcid */
        {"\x0f\x1f\x84\x00\x02\x00\x50\x46", 8, FP_INSN_DOORBELL},
        {"\x0f\x1f\x84\x00\x02\x00\x51\x46", 8, FP_INSN_OTHER},
        {"\x66", 1, FP_INSN_OTHER},
        {"\x48", 1, FP_INSN_OTHER},
        {"\x0f", 1, FP_INSN_OTHER},
        {"", 0, FP_INSN_OTHER},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned op = 0;
        enum fp_insn kind = fp_decode((const uint8_t *)rows[i].code, rows[i].length, &op);

        if (kind != rows[i].kind)
            check_fail(__FILE__, __LINE__, "row %zu is %d, not %d", i, kind, rows[i].kind);
        CHECK(kind != FP_INSN_DOORBELL || op == FP_OP_ARM);
    }
}
