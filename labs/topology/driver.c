// SPDX-License-Identifier: MIT
/*
 * driver.c - the lab "topology": gives tables of a firmware to the student's code, and shows the topology that results.
 *
 * THEORY      The operations build, distances and group each make a topology.  build takes SRAT, SLIT and HMAT, so it
 *             needs all regions.  distances and group begin with what the other regions would have made.  The other
 *             operations show parts of that topology.
 */
#include "labs/sandbox.h"
#include "lgrp/distance.h"
#include "lgrp/lgrp.h"
#include "lib/string.h"

enum { INSTALLED_MAX = 512, SLIT_N_MAX = 64, NOTE_CHARS = 100 };

static struct lgrp_topo topo;
static struct lgrp_range installed[INSTALLED_MAX];
static uint32_t apic_id[CPU_MAX];
static uint8_t matrix[SLIT_N_MAX * SLIT_N_MAX];
static struct acpi_srat srat;
static struct acpi_slit slit;
static struct acpi_hmat hmat;

/* SLIT and HMAT: their numbers of domains, then their contents.  0 domains: there is no such table. */
static void take_distances(struct lgrp_input *in, const uint64_t *arg)
{
    size_t at = 2;

    slit = (struct acpi_slit){min_of((uint32_t)arg[0], (uint32_t)SLIT_N_MAX), matrix};
    hmat.n = min_of((unsigned)arg[1], (unsigned)ACPI_DOMAIN_MAX);
    for (unsigned i = 0; i < slit.n * slit.n; i++)
        matrix[i] = (uint8_t)arg[at++];
    for (unsigned i = 0; i < hmat.n; i++)
        hmat.pxm[i] = (uint32_t)arg[at++];
    for (unsigned i = 0; i < hmat.n * hmat.n; i++)
        hmat.latency_ps[i / hmat.n][i % hmat.n] = (uint32_t)arg[at++];
    in->slit = slit.n != 0 ? &slit : NULL;
    in->hmat = hmat.n != 0 ? &hmat : NULL;
}

/*
 * build: how many CPUs, installed ranges, CPUs of the SRAT, ranges of the SRAT; the APIC ids of the CPUs; base and
 * length of each installed range; APIC id and domain of each CPU of the SRAT; base, length and domain of each range of
 * the SRAT; the distances.
 */
static void build(const uint64_t *arg, size_t n)
{
    struct lgrp_input in = {.apic_id = apic_id, .mem = installed, .srat = &srat};
    size_t at = 4;

    in.ncpus = min_of((unsigned)arg[0], (unsigned)CPU_MAX);
    in.nmem = min_of((unsigned)arg[1], (unsigned)INSTALLED_MAX);
    srat.ncpus = min_of((unsigned)arg[2], (unsigned)ACPI_SRAT_CPU_MAX);
    srat.nmem = min_of((unsigned)arg[3], (unsigned)ACPI_RANGE_MAX);
    for (unsigned i = 0; i < in.ncpus; i++)
        apic_id[i] = (uint32_t)arg[at++];
    for (unsigned i = 0; i < in.nmem; i++, at += 2)
        installed[i] = (struct lgrp_range){arg[at], arg[at + 1]};
    for (unsigned i = 0; i < srat.ncpus; i++, at += 2)
        srat.cpu[i] = (struct acpi_srat_cpu){(uint32_t)arg[at], (uint32_t)arg[at + 1]};
    for (unsigned i = 0; i < srat.nmem; i++, at += 3)
        srat.mem[i] = (struct acpi_srat_mem){arg[at], arg[at + 1], (uint32_t)arg[at + 2], false};
    take_distances(&in, arg + at);
    lgrp_topo_build(&topo, &in);
}

/* distances: nodes; the domain of each; the distances. */
static void distances(const uint64_t *arg, size_t n)
{
    struct lgrp_input in = {0};

    memset(&topo, 0, sizeof topo);
    topo.nnodes = topo.nmem = min_of((unsigned)arg[0], (unsigned)NODE_MAX);
    for (unsigned i = 0; i < topo.nnodes; i++)
        topo.node_pxm[i] = (uint32_t)arg[1 + i];
    take_distances(&in, arg + 1 + topo.nnodes);
    lgrp_find_distances(&topo, &in);
}

/* group: nodes, nodes with memory, CPUs; the distances of the nodes, row by row; the node of each CPU. */
static void group(const uint64_t *arg, size_t n)
{
    size_t at = 3;

    memset(&topo, 0, sizeof topo);
    topo.nnodes = min_of((unsigned)arg[0], (unsigned)NODE_MAX);
    topo.nmem = min_of((unsigned)arg[1], topo.nnodes);
    topo.ncpus = min_of((unsigned)arg[2], (unsigned)CPU_MAX);
    for (unsigned i = 0; i < topo.nnodes; i++)
        for (unsigned j = 0; j < topo.nnodes; j++)
            topo.node_lat[i][j] = (uint8_t)arg[at++];
    for (unsigned c = 0; c < topo.ncpus; c++)
        topo.cpu_node[c] = (uint8_t)min_of(arg[at++], topo.nnodes - 1ul);
    lgrp_topo_group(&topo);
}

/* nodes: answers how many there are, how many have memory, and the domain of each. */
static void show_nodes(const uint64_t *arg, size_t n)
{
    sandbox_answer(topo.nnodes);
    sandbox_answer(topo.nmem);
    for (unsigned i = 0; i < min_of(topo.nnodes, (unsigned)NODE_MAX); i++)
        sandbox_answer(topo.node_pxm[i]);
}

/* memory: answers base, length and node of each range. */
static void show_memory(const uint64_t *arg, size_t n)
{
    for (unsigned i = 0; i < min_of(topo.nranges, (unsigned)LGRP_RANGE_MAX); i++) {
        sandbox_answer(topo.range[i].base);
        sandbox_answer(topo.range[i].len);
        sandbox_answer(topo.range_node[i]);
    }
}

/* cpus: answers the node of each. */
static void show_cpus(const uint64_t *arg, size_t n)
{
    for (unsigned c = 0; c < topo.ncpus; c++)
        sandbox_answer(topo.cpu_node[c]);
}

/* latencies: answers whether all memory is equally far, then the distances of the nodes, row by row. */
static void show_latencies(const uint64_t *arg, size_t n)
{
    unsigned nodes = min_of(topo.nnodes, (unsigned)NODE_MAX);

    sandbox_answer(topo.uniform);
    for (unsigned i = 0; i < nodes * nodes; i++)
        sandbox_answer(topo.node_lat[i / nodes][i % nodes]);
}

/* notes: answers their characters; a 0 ends each. */
static void show_notes(const uint64_t *arg, size_t n)
{
    for (unsigned i = 0; i < min_of(topo.nnotes, (unsigned)LGRP_NOTE_MAX); i++) {
        for (unsigned c = 0; c < NOTE_CHARS && topo.note[i][c] != 0; c++)
            sandbox_answer((uint8_t)topo.note[i][c]);
        sandbox_answer(0);
    }
}

/* near: answers the number of lgroups, then near[] of each lgroup. */
static void show_near(const uint64_t *arg, size_t n)
{
    sandbox_answer(topo.nlgrps);
    for (unsigned g = 0; g < topo.nlgrps; g++)
        for (unsigned i = 0; i < topo.nlgrps; i++)
            sandbox_answer(topo.near[g][i]);
}

/* levels: for each lgroup answers the number of its levels, and of each level its end and the words of its CPUs. */
static void show_levels(const uint64_t *arg, size_t n)
{
    for (unsigned g = 0; g < topo.nlgrps; g++) {
        unsigned levels = min_of((unsigned)topo.nlevels[g], (unsigned)LGRP_LEVEL_MAX);

        sandbox_answer(levels);
        for (unsigned k = 0; k < levels; k++) {
            sandbox_answer(topo.level_end[g][k]);
            for (unsigned w = 0; w < CPUMASK_WORDS; w++)
                sandbox_answer(topo.level_cpus[g][k].w[w]);
        }
    }
}

void sandbox_prepare(void)
{
}

const struct sandbox_op sandbox_ops[] = {
    {"build", build},
    {"distances", distances},
    {"group", group},
    {"nodes", show_nodes},
    {"memory", show_memory},
    {"cpus", show_cpus},
    {"notes", show_notes},
    {"latencies", show_latencies},
    {"near", show_near},
    {"levels", show_levels},
    {NULL, NULL},
};
