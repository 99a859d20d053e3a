// SPDX-License-Identifier: MIT
/*
 * sysfs_cpu.c - /sys/devices/system/cpu: which CPUs exist, which are on-line, which share a package or core.
 *
 * THEORY      Sets of CPUs are computed at each read.  The APIC id of a CPU tells its package and core.
 * SEE ALSO    sysfs.c, x86/package.h, docs/devices.md
 */
#include "disp/disp.h"
#include "fs/sysfs/sysfs.h"
#include "lib/cpumask.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "x86/package.h"

#define SHOW(name)                                                                                 \
    static int name(const struct pseudo_node *n, struct pseudo_arg arg, struct text *out)

enum { SET_POSSIBLE, SET_ONLINE, SET_OFFLINE };
enum { SHARE_PACKAGE, SHARE_CORE, AS_LIST = 0x10 };

static void all_cpus(struct cpumask *m)
{
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < ncpu; i++)
        cpumask_set(m, i);
}

SHOW(show_set)
{
    struct cpumask set;

    all_cpus(&set);
    if (n->tag == SET_ONLINE)
        set = cpumask_and(&set, &cpu_online_mask);
    else if (n->tag == SET_OFFLINE)
        set = cpumask_andnot(&set, &cpu_online_mask);
    text_list(out, set.w, ncpu);
    text_str(out, "\n");
    return 0;
}

SHOW(show_kernel_max)
{
    text_add(out, "%u\n", CPU_MAX - 1);
    return 0;
}

SHOW(show_online)
{
    text_add(out, "%d\n", cpumask_test(&cpu_online_mask, (unsigned)arg.a));
    return 0;
}

static struct cpu_place place_of_cpu(uint64_t cpu)
{
    return cpu_place_of(cpus[cpu]->apic_id);
}

SHOW(show_package_id)
{
    text_add(out, "%u\n", place_of_cpu(arg.a).package);
    return 0;
}

SHOW(show_core_id)
{
    text_add(out, "%u\n", place_of_cpu(arg.a).core);
    return 0;
}

SHOW(show_sharers)
{
    struct cpu_place me = place_of_cpu(arg.a);
    struct cpumask set = {0};

    for (unsigned i = 0; i < ncpu; i++) {
        struct cpu_place other = place_of_cpu(i);

        if (other.package == me.package && ((n->tag & SHARE_CORE) == 0 || other.core == me.core))
            cpumask_set(&set, i);
    }
    if (n->tag & AS_LIST)
        text_list(out, set.w, ncpu);
    else
        text_mask(out, set.w, ncpu);
    text_str(out, "\n");
    return 0;
}

static const struct pseudo_node topology_files[] = {
    {.name = "physical_package_id", .type = VREG, .mode = 0444, .show = show_package_id},
    {.name = "core_id", .type = VREG, .mode = 0444, .show = show_core_id},
    {.name = "package_cpus",
     .type = VREG,
     .mode = 0444,
     .tag = SHARE_PACKAGE,
     .show = show_sharers},
    {.name = "package_cpus_list",
     .type = VREG,
     .mode = 0444,
     .tag = SHARE_PACKAGE | AS_LIST,
     .show = show_sharers},
    {.name = "core_siblings",
     .type = VREG,
     .mode = 0444,
     .tag = SHARE_PACKAGE,
     .show = show_sharers},
    {.name = "core_siblings_list",
     .type = VREG,
     .mode = 0444,
     .tag = SHARE_PACKAGE | AS_LIST,
     .show = show_sharers},
    {.name = "core_cpus", .type = VREG, .mode = 0444, .tag = SHARE_CORE, .show = show_sharers},
    {.name = "core_cpus_list",
     .type = VREG,
     .mode = 0444,
     .tag = SHARE_CORE | AS_LIST,
     .show = show_sharers},
    {.name = "thread_siblings",
     .type = VREG,
     .mode = 0444,
     .tag = SHARE_CORE,
     .show = show_sharers},
    {.name = "thread_siblings_list",
     .type = VREG,
     .mode = 0444,
     .tag = SHARE_CORE | AS_LIST,
     .show = show_sharers},
    {.name = NULL},
};

static const struct pseudo_node cpu_files[] = {
    {.name = "online", .type = VREG, .mode = 0444, .show = show_online},
    {.name = "topology", .type = VDIR, .mode = 0555, .children = topology_files},
    {.name = NULL},
};

static int format_node_link(const struct pseudo_node *n, struct pseudo_arg arg, char *buf,
                            size_t size)
{
    char target[40];

    snprintf(target, sizeof target, "../../node/node%lu", arg.b);
    return (int)min_of(str_copy(buf, target, size), size);
}

static const struct pseudo_node node_entry = {.type = VLNK, .mode = 0777, .link = format_node_link};

/* The one computed entry of cpuN: the link to its node. */
static int cpu_dir_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                        struct pseudo_entry *e)
{
    uint64_t node = cpus[arg.a]->node;

    if (from > node)
        return -ENOENT;
    *e = (struct pseudo_entry){.key = node, .node = &node_entry, .arg = {arg.a, node}};
    snprintf(e->name, sizeof e->name, "node%lu", node);
    return 0;
}

static const struct pseudo_node cpu_dir = {
    .type = VDIR,
    .mode = 0555,
    .children = cpu_files,
    .prefix = "node",
    .next = cpu_dir_next,
};

int sysfs_cpu_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                   struct pseudo_entry *e)
{
    if (from >= ncpu)
        return -ENOENT;
    *e = (struct pseudo_entry){.key = from, .node = &cpu_dir, .arg = {from, 0}};
    snprintf(e->name, sizeof e->name, "cpu%lu", from);
    return 0;
}

const struct pseudo_node sysfs_cpu_files[] = {
    {.name = "online", .type = VREG, .mode = 0444, .tag = SET_ONLINE, .show = show_set},
    {.name = "offline", .type = VREG, .mode = 0444, .tag = SET_OFFLINE, .show = show_set},
    {.name = "possible", .type = VREG, .mode = 0444, .tag = SET_POSSIBLE, .show = show_set},
    {.name = "present", .type = VREG, .mode = 0444, .tag = SET_POSSIBLE, .show = show_set},
    {.name = "kernel_max", .type = VREG, .mode = 0444, .show = show_kernel_max},
    {.name = NULL},
};
