// SPDX-License-Identifier: MIT
/*
 * cpu_kstats.c - the kstats of CPUs and memory nodes: `cpu:N:sys` and `mem:N:node`.
 *
 * LOCKING  Values are read without a lock, so those of one snapshot may be from slightly different times.
 */
#include "disp/disp.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/page.h"
#include "stat/cpustat.h"
#include "stat/kstat.h"
#include "stat/panic.h"

static const char *const cpu_names[] = {
#define X(name, doc) #name,
    CPU_STATS(X)
#undef X
};

static const char *const node_names[] = {"installed", "free", "local", "fallback", "foreign"};

static void cpu_stat_snapshot(struct kstat *ks, uint64_t *out)
{
    memcpy(out, ks->arg, sizeof(struct cpu_stat));
}

static void cpu_stat_clear(struct kstat *ks)
{
    memset(ks->arg, 0, sizeof(struct cpu_stat));
}

static void node_snapshot(struct kstat *ks, uint64_t *out)
{
    unsigned node = (unsigned)ks->instance;
    struct mem_counts c;

    mem_node_counts(node, &c);
    out[0] = mem_nodes[node].ninstalled_pages;
    out[1] = mem_free_pages(node);
    out[2] = c.local;
    out[3] = c.fallback;
    out[4] = c.foreign;
}

static void node_clear(struct kstat *ks)
{
    mem_node_counts_clear((unsigned)ks->instance);
}

/* Makes a kstat and does not register it.  Panics if there is no memory. */
static struct kstat *kstat_new(const char *module, unsigned instance, const char *name, void *arg)
{
    struct kstat *ks = kmem_zalloc(sizeof *ks);

    if (ks == NULL)
        panic("no memory for kstat %s:%u", module, instance);
    ks->module = module;
    ks->instance = (int)instance;
    ks->kclass = "misc";
    ks->arg = arg;
    str_copy(ks->name, name, sizeof ks->name);
    return ks;
}

void disp_stats_init(void)
{
    for (unsigned i = 0; i < ncpu; i++) {
        struct kstat *ks = kstat_new("cpu", i, "sys", cpus[i]->stat);

        ks->names = cpu_names;
        ks->nstat = array_size(cpu_names);
        ks->snapshot = cpu_stat_snapshot;
        ks->clear = cpu_stat_clear;
        kstat_register(ks);
    }
    for (unsigned i = 0; i < nnodes; i++) {
        struct kstat *ks = kstat_new("mem", i, "node", NULL);

        ks->names = node_names;
        ks->nstat = array_size(node_names);
        ks->snapshot = node_snapshot;
        ks->clear = node_clear;
        kstat_register(ks);
    }
}
