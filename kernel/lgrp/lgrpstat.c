// SPDX-License-Identifier: MIT
/*
 * lgrpstat.c - the kstats of the lgroups: see lgrpstat.h.
 *
 * THEORY      When a program reads the kstat, the counters are copied and the other values (CPUs, pages,
 *             load, threads, dispatches) are computed.  A privileged write sets the counters of the lgroup to
 *             0; it does not change the other values.
 * LOCKING     This file has no locks of its own.
 */
#include "lgrp/lgrpstat.h"
#include "lgrp/lgrp.h"
#include "lib/printf.h"
#include "mem/kmem.h"
#include "mem/page.h"
#include "stat/kstat.h"
#include "stat/panic.h"

struct lgrp_counters lgrp_counters[LGRP_MAX];

static const char *const names[] = {
#define X(id, name) name,
    LGRP_STATS(X)
#undef X
        "cpus",
    "pages free",
    "pages avail",
    "pages installed",
    "load average",
    "threads waiting",
    "threads running",
    "threads at home",
    "dispatches at home",
    "dispatches remote",
};

static void lgrp_stats_snapshot(struct kstat *ks, uint64_t *out)
{
    unsigned lgrp = (unsigned)ks->instance;
    uint64_t nfree = 0, avail = 0, installed = 0;
    struct lgrp_activity now;

    for (unsigned i = 0; i < LGRP_STAT_COUNT; i++)
        *out++ = atomic_load_explicit(&lgrp_counters[lgrp].v[i], memory_order_relaxed);
    for (uint64_t n = lgrp_topo.lgrp_nodes[lgrp]; n != 0; n &= n - 1) {
        nfree += mem_free_pages(bit_first(n));
        avail += mem_nodes[bit_first(n)].navail_pages;
        installed += mem_nodes[bit_first(n)].ninstalled_pages;
    }
    *out++ = pset_lgrp_cpus(lgrp);
    *out++ = nfree;
    *out++ = avail;
    *out++ = installed;
    *out++ = pset_lgrp_load(lgrp);
    pset_lgrp_activity(lgrp, &now);
    *out++ = now.waiting;
    *out++ = now.running;
    *out++ = now.homed;
    *out++ = now.disp_home;
    *out++ = now.disp_remote;
}

static void lgrp_stats_clear(struct kstat *ks)
{
    for (unsigned i = 0; i < LGRP_STAT_COUNT; i++)
        atomic_store_explicit(&lgrp_counters[ks->instance].v[i], 0, memory_order_relaxed);
}

void lgrp_stats_init(void)
{
    struct kstat *ks = kmem_zalloc(lgrp_topo.nlgrps * sizeof *ks);

    if (ks == NULL)
        panic("no memory for lgroup statistics");
    for (unsigned i = 0; i < lgrp_topo.nlgrps; i++, ks++) {
        *ks = (struct kstat){.module = "lgrp",
                             .instance = (int)i,
                             .kclass = "misc",
                             .names = names,
                             .nstat = array_size(names),
                             .snapshot = lgrp_stats_snapshot,
                             .clear = lgrp_stats_clear};
        snprintf(ks->name, sizeof ks->name, "lgrp%u", i);
        kstat_register(ks);
    }
}
