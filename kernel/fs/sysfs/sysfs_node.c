// SPDX-License-Identifier: MIT
/*
 * sysfs_node.c - /sys/devices/system/node: boards, in the form in which Linux shows NUMA nodes.
 *
 * THEORY      Node numbers are those of the kernel: dense, first the nodes with memory, then
 *             the nodes that have only CPUs.
 *             The distances are those of the firmware's SLIT, or the values that replace a
 *             missing or bad SLIT.
 * SEE ALSO    sysfs.c, lgrp/lgrp.h, docs/devices.md
 */
#include "fs/sysfs/sysfs.h"
#include "lgrp/lgrp.h"
#include "lib/cpu.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "mem/page.h"

#define SHOW(name)                                                                                 \
    static int name(const struct pseudo_node *n, struct pseudo_arg arg, struct text *out)

enum { NODES_ALL, NODES_WITH_CPU, NODES_WITH_MEMORY };

static void cpus_of_node(uint64_t node, struct cpumask *m)
{
    *m = (struct cpumask){0};
    for (unsigned i = 0; i < ncpu; i++)
        if (lgrp_topo.cpu_node[i] == node)
            cpumask_set(m, i);
}

SHOW(show_nodes)
{
    uint64_t set = 0;

    for (unsigned i = 0; i < lgrp_topo.nnodes; i++) {
        struct cpumask m;

        cpus_of_node(i, &m);
        if (n->tag == NODES_ALL || (n->tag == NODES_WITH_CPU && !cpumask_empty(&m)) ||
            (n->tag == NODES_WITH_MEMORY && i < lgrp_topo.nmem))
            set |= 1ull << i;
    }
    text_list(out, &set, lgrp_topo.nnodes);
    text_str(out, "\n");
    return 0;
}

SHOW(show_cpumap)
{
    struct cpumask m;

    cpus_of_node(arg.a, &m);
    text_mask(out, m.w, ncpu);
    text_str(out, "\n");
    return 0;
}

SHOW(show_cpulist)
{
    struct cpumask m;

    cpus_of_node(arg.a, &m);
    text_list(out, m.w, ncpu);
    text_str(out, "\n");
    return 0;
}

SHOW(show_distance)
{
    for (unsigned i = 0; i < lgrp_topo.nnodes; i++)
        text_add(out, "%s%u", i > 0 ? " " : "", lgrp_topo.node_lat[arg.a][i]);
    text_str(out, "\n");
    return 0;
}

SHOW(show_meminfo)
{
    uint64_t node = arg.a, kb = PAGE_SIZE / 1024, total = 0, free = 0;

    if (node < lgrp_topo.nmem) {
        total = mem_nodes[node].ninstalled_pages;
        free = mem_free_pages((unsigned)node);
    }
    text_add(out, "Node %lu MemTotal:       %8lu kB\n", node, total * kb);
    text_add(out, "Node %lu MemFree:        %8lu kB\n", node, free * kb);
    text_add(out, "Node %lu MemUsed:        %8lu kB\n", node, (total - free) * kb);
    return 0;
}

/*
 * The names are Linux's:
 *   hit      pages wanted on this node and allocated here
 *   miss     pages wanted on another node but allocated here
 *   foreign  pages wanted on this node but allocated on another node
 * This kernel does not count local_node and other_node.
 */
SHOW(show_numastat)
{
    struct mem_counts c;

    if (arg.a < lgrp_topo.nmem) {
        mem_node_counts((unsigned)arg.a, &c);
        text_add(out, "numa_hit %lu\nnuma_miss %lu\nnuma_foreign %lu\n", c.local, c.foreign,
                 c.fallback);
    }
    return 0;
}

static const struct pseudo_node node_files[] = {
    {.name = "cpumap", .type = VREG, .mode = 0444, .show = show_cpumap},
    {.name = "cpulist", .type = VREG, .mode = 0444, .show = show_cpulist},
    {.name = "distance", .type = VREG, .mode = 0444, .show = show_distance},
    {.name = "meminfo", .type = VREG, .mode = 0444, .show = show_meminfo},
    {.name = "numastat", .type = VREG, .mode = 0444, .show = show_numastat},
    {.name = NULL},
};

static const struct pseudo_node node_dir = {.type = VDIR, .mode = 0555, .children = node_files};

int sysfs_node_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                    struct pseudo_entry *e)
{
    if (from >= lgrp_topo.nnodes)
        return -ENOENT;
    *e = (struct pseudo_entry){.key = from, .node = &node_dir, .arg = {from, 0}};
    snprintf(e->name, sizeof e->name, "node%lu", from);
    return 0;
}

const struct pseudo_node sysfs_node_files[] = {
    {.name = "online", .type = VREG, .mode = 0444, .tag = NODES_ALL, .show = show_nodes},
    {.name = "possible", .type = VREG, .mode = 0444, .tag = NODES_ALL, .show = show_nodes},
    {.name = "has_cpu", .type = VREG, .mode = 0444, .tag = NODES_WITH_CPU, .show = show_nodes},
    {.name = "has_memory",
     .type = VREG,
     .mode = 0444,
     .tag = NODES_WITH_MEMORY,
     .show = show_nodes},
    {.name = "has_normal_memory",
     .type = VREG,
     .mode = 0444,
     .tag = NODES_WITH_MEMORY,
     .show = show_nodes},
    {.name = NULL},
};
