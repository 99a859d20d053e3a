// SPDX-License-Identifier: MIT
/*
 * test_topo.c - nodes, lgroups and distances from SRAT and SLIT: good machines, and every row of the table of bad
 * tables in docs/lgroups.md.
 */
#include "lgrp/lgrp.h"
#include "lgrp/home.h"
#include "lgrp/load.h"
#include "tests/host/check.h"

#include <stdlib.h>
#include <string.h>

#define GIB (1ull << 30)
#define MIB (1ull << 20)

/* A machine under construction. */
static struct {
    uint32_t apic[CPU_MAX];
    struct lgrp_range mem[LGRP_RANGE_MAX + 8];
    struct acpi_srat srat;
    struct acpi_slit slit;
    struct acpi_hmat hmat;
    uint8_t matrix[65536];
    struct lgrp_input in;
} w;
static struct lgrp_topo t;

static void begin(void)
{
    memset(&w, 0, sizeof w);
    w.in.apic_id = w.apic;
    w.in.mem = w.mem;
    w.in.srat = &w.srat;
    mpo_enable = 1;
    lgrp_expand_proc_thresh = UINT32_MAX; /* not set in /etc/system */
}

static void cpu(uint32_t apic_id, uint32_t pxm)
{
    w.apic[w.in.ncpus++] = apic_id;
    w.srat.cpu[w.srat.ncpus++] = (struct acpi_srat_cpu){apic_id, pxm};
}

static void installed(uint64_t base, uint64_t len)
{
    w.mem[w.in.nmem++] = (struct lgrp_range){base, len};
}

static void srat_mem(uint64_t base, uint64_t len, uint32_t pxm)
{
    w.srat.mem[w.srat.nmem++] = (struct acpi_srat_mem){.base = base, .len = len, .pxm = pxm};
}

static void distances(unsigned n, uint8_t local, uint8_t remote)
{
    w.slit.n = n;
    w.slit.matrix = w.matrix;
    w.in.slit = &w.slit;
    for (unsigned i = 0; i < n * n; i++)
        w.matrix[i] = i / n == i % n ? local : remote;
}

/* Makes `n` boards of `ncpus` CPUs and 256 MiB, as QEMU lays them out: with a hole below 1 MiB. */
static void boards(unsigned n, unsigned ncpus)
{
    begin();
    for (unsigned b = 0; b < n; b++) {
        for (unsigned c = 0; c < ncpus; c++)
            cpu(b * ncpus + c, b);
        srat_mem(b * 256 * MIB, 256 * MIB, b);
    }
    installed(0, 0x9fc00);
    installed(MIB, n * 256 * MIB - MIB);
}

static bool noted(const char *line)
{
    for (unsigned i = 0; i < t.nnotes; i++)
        if (strcmp(t.note[i], line) == 0)
            return true;
    return false;
}

/* Checks what holds for every topology, with good or bad tables (lgrp.h, INVARIANTS). */
static void sound(void)
{
    uint64_t in = 0, out = 0;

    CHECK(t.nnodes >= 1 && t.nnodes <= NODE_MAX && t.nmem >= 1 && t.nmem <= t.nnodes);
    CHECK(t.nlgrps == 1 || t.nlgrps == t.nnodes);
    for (unsigned c = 0; c < t.ncpus; c++) { /* I1 */
        unsigned groups = 0;

        CHECK(t.cpu_node[c] < t.nnodes);
        for (unsigned g = 0; g < t.nlgrps; g++)
            groups += cpumask_test(&t.lgrp_cpus[g], c);
        CHECK_EQ(groups, 1);
        CHECK(cpumask_test(&t.lgrp_cpus[t.cpu_lgrp[c]], c));
    }
    for (unsigned i = 0; i < t.nranges; i++) { /* I2 */
        CHECK(t.range[i].len > 0);
        CHECK(t.range_node[i] < t.nmem);
        CHECK(i == 0 || t.range[i - 1].base + t.range[i - 1].len <= t.range[i].base);
        CHECK_EQ(lgrp_phys_node(&t, t.range[i].base), t.range_node[i]);
        CHECK_EQ(lgrp_phys_node(&t, t.range[i].base + t.range[i].len - 1), t.range_node[i]);
        out += t.range[i].len;
    }
    for (unsigned i = 0; i < w.in.nmem; i++)
        in += w.mem[i].len;
    CHECK_EQ(in, out);
    for (unsigned n = 1; n < t.nmem; n++) { /* I4 */
        unsigned a = 0, b = 0;

        while (t.range_node[a] != n - 1)
            a++;
        while (t.range_node[b] != n)
            b++;
        CHECK(a < b);
    }
    for (unsigned g = 0; g < t.nlgrps; g++) { /* I3 */
        uint64_t seen = 0;
        struct cpumask cpus = {{0}};
        uint8_t order[NODE_MAX];

        CHECK_EQ(t.near[g][0], g);
        for (unsigned i = 0; i < t.nlgrps; i++) {
            seen |= 1ull << t.near[g][i];
            CHECK(i < 2 || t.lat[g][t.near[g][i - 1]] <= t.lat[g][t.near[g][i]]);
        }
        CHECK_EQ(bit_count(seen), t.nlgrps);
        CHECK_EQ(t.level_end[g][0], 1);
        CHECK_EQ(t.level_end[g][t.nlevels[g] - 1], t.nlgrps);
        for (unsigned k = 0; k < t.nlevels[g]; k++)
            for (unsigned i = 0; i < CPUMASK_WORDS; i++) {
                CHECK((cpus.w[i] & t.level_cpus[g][k].w[i]) == 0);
                cpus.w[i] |= t.level_cpus[g][k].w[i];
            }
        CHECK_EQ(cpumask_weight(&cpus), t.ncpus);
        CHECK_EQ(lgrp_node_order(&t, g, (uint32_t)check_random(), order), t.nmem);
        seen = 0;
        for (unsigned i = 0; i < t.nmem; i++)
            seen |= 1ull << order[i];
        CHECK_EQ(seen, t.nmem < 64 ? (1ull << t.nmem) - 1 : ~0ull);
    }
    CHECK_EQ(nlgrps, t.nlgrps);
}

static void build(void)
{
    lgrp_topo_build(&t, &w.in);
    sound();
}

TEST(sf15k)
{
    boards(18, 4);
    distances(18, 10, 18);
    build();
    CHECK_EQ(t.nlgrps, 18);
    CHECK_EQ(t.nmem, 18);
    CHECK(t.high_end);
    CHECK_EQ(t.nnotes, 0);
    CHECK_EQ(t.cpu_lgrp[71], 17);
    CHECK_EQ(t.node_bytes[17], 256 * MIB);
    CHECK_EQ(t.lat[3][3], 10);
    CHECK_EQ(t.lat[3][4], 18);
    CHECK_EQ(t.nlevels[5], 2);
    /* equidistant boards: each falls back to the next one, not all to board 0 */
    for (unsigned g = 0; g < 18; g++)
        for (unsigned i = 0; i < 18; i++)
            CHECK_EQ(t.near[g][i], (g + i) % 18);
    CHECK_EQ(lgrp_expand_proc_thresh, 24575);
}

TEST(sf6800)
{
    boards(6, 4);
    distances(6, 10, 12);
    build();
    CHECK_EQ(t.nlgrps, 6);
    CHECK(!t.high_end);
    CHECK_EQ(lgrp_expand_proc_thresh, 8191);
    lgrp_expand_proc_thresh = 24575; /* set, although it is the default of the other family */
    build();
    CHECK_EQ(lgrp_expand_proc_thresh, 24575);
}

TEST(maxcpu_boards_belong_to_their_expander)
{
    boards(18, 4);
    for (unsigned b = 0; b < 17; b++) {
        cpu(72 + 2 * b, b);
        cpu(73 + 2 * b, b);
    }
    distances(18, 10, 18);
    build();
    CHECK_EQ(t.ncpus, 106);
    CHECK_EQ(t.nlgrps, 18);
    CHECK_EQ(cpumask_weight(&t.lgrp_cpus[0]), 6);
    CHECK_EQ(cpumask_weight(&t.lgrp_cpus[17]), 4);
}

TEST(uniform_slit_is_one_lgroup_of_several_boards)
{
    boards(4, 2);
    distances(4, 10, 10);
    build();
    CHECK_EQ(t.nlgrps, 1);
    CHECK_EQ(t.nmem, 4);
    CHECK_EQ(t.nnotes, 0);
    CHECK_EQ(t.lgrp_nodes[0], 0xf);
    CHECK_EQ(t.sole_node[0], LGRP_NONE);
}

TEST(mpo_disabled)
{
    boards(18, 4);
    distances(18, 10, 18);
    build();
    mpo_enable = 0; /* as read from /etc/system, after the nodes are known */
    lgrp_topo_group(&t);
    sound();
    CHECK_EQ(t.nlgrps, 1);
    CHECK_EQ(t.nmem, 18);
    CHECK_EQ(cpumask_weight(&t.lgrp_cpus[0]), 72);
    CHECK_EQ(t.cpu_node[71], 17);
    CHECK_EQ(t.lat[0][0], 18);
    mpo_enable = 1;
    lgrp_topo_group(&t);
    sound();
    CHECK_EQ(t.nlgrps, 18);
}

TEST(three_levels)
{
    boards(6, 4);
    distances(6, 10, 40);
    for (unsigned i = 0; i < 6; i++) { /* a ring: neighbours are nearer */
        w.matrix[i * 6 + (i + 1) % 6] = 20;
        w.matrix[(i + 1) % 6 * 6 + i] = 20;
    }
    build();
    const uint8_t *near, *ends;

    CHECK_EQ(lgrp_steal_order(&t, 2, &near, &ends), 3);
    CHECK_EQ(ends[1], 3);
    CHECK_EQ(ends[2], 6);
    CHECK_EQ(near[1], 3); /* 3 before 1: the rotation begins after 2 */
    CHECK_EQ(near[2], 1);
}

TEST(more_distances_than_levels)
{
    boards(16, 1);
    distances(16, 10, 0);
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++)
            if (i != j)
                w.matrix[i * 16 + j] = (uint8_t)(20 + (i > j ? i - j : j - i));
    build();
    CHECK_EQ(t.nlevels[0], LGRP_LEVEL_MAX);
}

/* ---- shapes of machines ---- */

TEST(sparse_domains_are_numbered_by_address)
{
    begin();
    cpu(0, 70000), cpu(1, 7), cpu(2, 7), cpu(3, 70000);
    srat_mem(1 * GIB, GIB, 7);
    srat_mem(0, GIB, 70000);
    installed(0, 2 * GIB);
    build();
    CHECK_EQ(t.nlgrps, 2);
    CHECK_EQ(t.node_pxm[0], 70000);
    CHECK_EQ(t.cpu_lgrp[0], 0);
    CHECK_EQ(t.cpu_lgrp[1], 1);
}

TEST(holes_and_alternating_memory)
{
    begin();
    cpu(0, 0), cpu(1, 1);
    for (unsigned i = 0; i < 8; i++)
        srat_mem(i * GIB, GIB, i % 2);
    installed(5 * GIB + 4096, 2 * GIB); /* in any order */
    installed(0, 3 * GIB);
    build();
    CHECK_EQ(t.nlgrps, 2);
    CHECK_EQ(t.nranges, 6);
    CHECK_EQ(lgrp_phys_node(&t, GIB), 1);
    CHECK_EQ(lgrp_phys_node(&t, 2 * GIB), 0);
    CHECK_EQ(lgrp_phys_node(&t, 3 * GIB), -1);
    CHECK_EQ(lgrp_phys_node(&t, 5 * GIB), -1);
    CHECK_EQ(lgrp_phys_node(&t, 5 * GIB + 4096), 1);
    CHECK_EQ(t.node_bytes[0], 3 * GIB);
    CHECK_EQ(t.node_bytes[1], 2 * GIB);
}

TEST(memory_less_node)
{
    begin();
    cpu(0, 0), cpu(1, 1), cpu(2, 2);
    srat_mem(0, GIB, 0);
    srat_mem(GIB, GIB, 2);
    installed(0, 2 * GIB);
    distances(3, 10, 20);
    build();
    CHECK_EQ(t.nlgrps, 3);
    CHECK_EQ(t.nmem, 2);
    CHECK_EQ(t.node_pxm[2], 1); /* last, although its domain number is lower */
    CHECK_EQ(t.cpu_lgrp[1], 2);
    CHECK_EQ(t.lgrp_nodes[2], 0);
    CHECK_EQ(t.mem_lgrps, 3);
    CHECK_EQ(t.sole_node[2], LGRP_NONE);
}

TEST(cpu_less_node)
{
    begin();
    cpu(0, 0), cpu(1, 0);
    srat_mem(0, GIB, 0);
    srat_mem(GIB, GIB, 1);
    installed(0, 2 * GIB);
    build();
    CHECK_EQ(t.nlgrps, 2);
    CHECK(cpumask_empty(&t.lgrp_cpus[1]));
    CHECK_EQ(t.mem_lgrps, 3);
}

TEST(hot_plug_room_is_ignored)
{
    boards(2, 2);
    w.srat.mem[w.srat.nmem++] = (struct acpi_srat_mem){64 * GIB, 64 * GIB, 5, true};
    w.srat.cpu[w.srat.ncpus++] = (struct acpi_srat_cpu){99, 6};
    build();
    CHECK_EQ(t.nlgrps, 2);
}

TEST(memory_unknown_to_srat_joins_what_lies_below)
{
    begin();
    cpu(0, 0), cpu(1, 1);
    srat_mem(GIB, GIB, 0);
    srat_mem(3 * GIB, GIB, 1);
    installed(0, 5 * GIB);
    build();
    CHECK_EQ(lgrp_phys_node(&t, 0), 0);
    CHECK_EQ(lgrp_phys_node(&t, 2 * GIB), 0);
    CHECK_EQ(lgrp_phys_node(&t, 4 * GIB), 1);
}

TEST(sixty_four_boards)
{
    boards(64, 3);
    distances(64, 10, 20);
    build();
    CHECK_EQ(t.nlgrps, 64);
    CHECK_EQ(t.mem_lgrps, -1);
    CHECK_EQ(t.cpu_lgrp[191], 63);
}

/* ---- bad tables, row by row ---- */

static void one_lgroup_because(const char *line)
{
    build();
    CHECK_EQ(t.nlgrps, 1);
    CHECK_EQ(t.nnodes, 1);
    CHECK(line == NULL ? t.nnotes == 0 : noted(line));
}

TEST(row_one_cpu)
{
    boards(2, 2);
    w.in.ncpus = 1;
    one_lgroup_because(NULL);
}

TEST(row_one_domain)
{
    boards(1, 4);
    one_lgroup_because(NULL);
}

TEST(row_no_srat)
{
    boards(6, 4);
    w.in.srat = NULL;
    one_lgroup_because("no SRAT, one lgroup");
    w.in.srat_why = "SRAT is too short";
    one_lgroup_because("SRAT is too short");
}

TEST(row_apic_id_in_two_domains)
{
    boards(6, 4);
    w.srat.cpu[w.srat.ncpus++] = (struct acpi_srat_cpu){3, 1};
    one_lgroup_because("SRAT rejected: the same APIC id is in two domains");
    w.srat.cpu[w.srat.ncpus - 1].pxm = 0; /* named twice in one domain: harmless */
    build();
    CHECK_EQ(t.nlgrps, 6);
}

TEST(row_fewer_entries_than_cpus)
{
    boards(6, 4);
    w.srat.ncpus--;
    one_lgroup_because("SRAT rejected: fewer CPU entries than CPUs");
}

TEST(row_too_many_domains)
{
    boards(64, 1);
    w.srat.cpu[w.srat.ncpus++] = (struct acpi_srat_cpu){200, 64};
    one_lgroup_because("SRAT rejected: more domains than supported");
}

TEST(row_interleaved_memory)
{
    boards(2, 2);
    srat_mem(0, 512 * MIB, 1);
    one_lgroup_because("MPO disabled because memory is interleaved");
    boards(2, 2);
    srat_mem(100 * MIB, MIB, 0); /* the same domain twice: harmless */
    build();
    CHECK_EQ(t.nlgrps, 2);
}

TEST(row_no_installed_memory_named)
{
    begin();
    cpu(0, 0), cpu(1, 1);
    srat_mem(64 * GIB, GIB, 0);
    installed(0, GIB);
    one_lgroup_because("SRAT rejected: it names no installed memory");
}

static void synthetic_because(const char *line)
{
    build();
    CHECK_EQ(t.nlgrps, 6);
    CHECK_EQ(t.lat[2][2], 10);
    CHECK_EQ(t.lat[2][3], 20);
    CHECK(line == NULL || noted(line));
    CHECK(noted("synthetic latencies: local 10, remote 20"));
}

TEST(row_no_slit)
{
    boards(6, 4);
    synthetic_because(NULL);
    CHECK_EQ(t.nnotes, 1);
    w.in.slit_why = "SLIT is too short";
    synthetic_because("SLIT is too short");
    boards(2, 4); /* few nodes: no message */
    build();
    CHECK_EQ(t.nnotes, 0);
}

TEST(row_slit_not_symmetric)
{
    boards(6, 4);
    distances(6, 10, 30);
    w.matrix[1] = 31;
    synthetic_because("SLIT rejected: not symmetric");
}

TEST(row_slit_diagonals_differ)
{
    boards(6, 4);
    distances(6, 10, 30);
    w.matrix[7] = 11;
    synthetic_because("SLIT rejected: local distances differ");
}

TEST(row_slit_remote_not_farther)
{
    boards(6, 4);
    distances(6, 10, 30);
    w.matrix[1] = w.matrix[6] = 10;
    synthetic_because("SLIT rejected: remote is not farther than local");
    w.matrix[1] = w.matrix[6] = 9;
    synthetic_because("SLIT rejected: remote is not farther than local");
}

TEST(row_slit_leaves_out_a_domain)
{
    boards(6, 4);
    distances(5, 10, 30);
    synthetic_because("SLIT rejected: it leaves out a domain of the SRAT");
    distances(6, 0, 0);
    synthetic_because("SLIT rejected: it is all zeros");
}

TEST(row_slit_zeros_are_skipped)
{
    boards(6, 4);
    distances(6, 10, 30);
    w.matrix[1] = 0;
    w.matrix[2] = w.matrix[12] = 0;
    w.matrix[7] = 0;
    build();
    CHECK_EQ(t.nnotes, 0);
    CHECK_EQ(t.lat[0][1], 30);
    CHECK_EQ(t.lat[0][2], 30);
    CHECK_EQ(t.lat[1][1], 10);
}

TEST(slit_rows_of_unknown_domains_are_ignored)
{
    boards(2, 2);
    distances(4, 10, 25);
    w.matrix[15] = 99; /* domain 3 has no node */
    build();
    CHECK_EQ(t.nnotes, 0);
    CHECK_EQ(t.lat[0][1], 25);
}

TEST(hmat_takes_the_place_of_a_missing_slit)
{
    boards(6, 4);
    w.in.hmat = &w.hmat;
    w.hmat.n = 6;
    for (unsigned i = 0; i < 6; i++) {
        w.hmat.pxm[i] = 5 - i;
        for (unsigned j = 0; j < 6; j++)
            w.hmat.latency_ps[i][j] = i == j ? 180000 : 240000;
    }
    build();
    CHECK_EQ(t.lat[0][0], 10);
    CHECK_EQ(t.lat[0][1], 13);
    CHECK_EQ(t.nnotes, 0);
    w.hmat.latency_ps[2][3] = 0; /* incomplete */
    synthetic_because(NULL);
}

TEST(any_tables_give_a_sound_topology)
{
    for (unsigned round = 0; round < 3000; round++) {
        unsigned n = 1 + (unsigned)check_below(8), at = 0;

        begin();
        for (unsigned i = 0; i < n; i++) {
            cpu((uint32_t)check_below(20), (uint32_t)check_below(9));
            if (check_below(8) != 0) /* usually only one entry for each APIC id */
                for (unsigned j = 0; j < i; j++)
                    if (w.srat.cpu[j].apic_id == w.srat.cpu[i].apic_id)
                        w.srat.cpu[i].pxm = w.srat.cpu[j].pxm;
            installed(at, 1 + check_below(1000));
            at += 1000 + (unsigned)check_below(300);
        }
        for (unsigned i = 0, base = 0; i < 12; i++) {
            unsigned len = (unsigned)check_below(1500);

            srat_mem(base, len + 1, (uint32_t)check_below(9));
            base += len + (unsigned)check_below(200) + (check_below(20) != 0);
        }
        distances(1 + (unsigned)check_below(10), 10, (uint8_t)(9 + check_below(20)));
        if (check_below(2))
            w.matrix[check_below(100)] = (uint8_t)check_random();
        mpo_enable = check_below(4) != 0;
        build();
    }
    mpo_enable = 1;
}
