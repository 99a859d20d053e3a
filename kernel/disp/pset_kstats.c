// SPDX-License-Identifier: MIT
/*
 * pset_kstats.c - the counters of processor sets (pset:ID:pset), and those of lgroups over all sets.
 *
 * LOCKING     cpupart_lock guards load records.  Everything else is read without a lock.
 * SEE ALSO    pset.h, docs/psets.md
 */
#include "disp/pset.h"

#include "disp/disp.h"
#include "lgrp/lgrp.h"
#include "lgrp/lgrpstat.h"
#include "lib/printf.h"
#include "stat/cpustat.h"

enum { NBASE = 6, NPERLGRP = 3 };

static char lgrp_stat[LGRP_MAX * NPERLGRP][16];
static const char *stat_names[NBASE + LGRP_MAX * NPERLGRP] = {
    "cpus", "runnable", "avenrun_1min", "avenrun_5min", "avenrun_15min", "attributes"};

static void pset_stats_snapshot(struct kstat *ks, uint64_t *out)
{
    const struct cpupart *p = ks->arg;

    *out++ = cpumask_weight(&p->cpus);
    *out++ = p->nrunnable;
    for (unsigned i = 0; i < array_size(p->loadavg); i++)
        *out++ = p->loadavg[i];
    *out++ = p->attr;
    spin_lock(&cpupart_lock);
    for (unsigned g = 0; g < nlgrps; g++) {
        const struct lpl *l = &p->lgrps.lpl[g];

        *out++ = l->ncpus;
        *out++ = l->ncpus != 0 ? lpl_load(l) : 0;
        *out++ = l->homed;
    }
    spin_unlock(&cpupart_lock);
}

void pset_stats_register(struct cpupart *p)
{
    p->ks = (struct kstat){.module = "pset",
                           .instance = max_of(p->id, 0),
                           .name = "pset",
                           .kclass = "misc",
                           .nstat = NBASE + NPERLGRP * nlgrps,
                           .names = stat_names,
                           .snapshot = pset_stats_snapshot,
                           .arg = p};
    kstat_register(&p->ks);
}

void pset_stats_init(void)
{
    static const char *const what[NPERLGRP] = {"cpus", "load", "homes"};

    for (unsigned i = 0; i < nlgrps * NPERLGRP; i++) {
        snprintf(lgrp_stat[i], sizeof lgrp_stat[i], "lgrp%u %s", i / NPERLGRP, what[i % NPERLGRP]);
        stat_names[NBASE + i] = lgrp_stat[i];
    }
    pset_stats_register(&cpupart_default);
}

uint32_t pset_lgrp_load(unsigned lgrp)
{
    uint64_t sum = 0;
    unsigned n = 0;

    spin_lock(&cpupart_lock);
    for (unsigned i = 0; i < cpupart_end; i++) {
        const struct lpl *l = cpuparts[i] != NULL ? &cpuparts[i]->lgrps.lpl[lgrp] : NULL;

        if (l != NULL && l->ncpus != 0) {
            sum += (uint64_t)lpl_load(l) * l->ncpus;
            n += l->ncpus;
        }
    }
    spin_unlock(&cpupart_lock);
    return n != 0 ? (uint32_t)(sum / n) : 0;
}

unsigned pset_lgrp_cpus(unsigned lgrp)
{
    struct cpumask online = cpumask_and(&lgrp_topo.lgrp_cpus[lgrp], &cpu_online_mask);

    return cpumask_weight(&online);
}

void pset_lgrp_activity(unsigned lgrp, struct lgrp_activity *out)
{
    *out = (struct lgrp_activity){0};
    CPUMASK_FOREACH (i, &lgrp_topo.lgrp_cpus[lgrp]) {
        const struct cpu *c = cpus[i];

        out->disp_home += c->stat->disp_home;
        out->disp_remote += c->stat->disp_remote;
        if (cpumask_test(&cpu_online_mask, i)) {
            out->waiting += c->disp->q.nrun;
            out->running += !c->idle;
        }
    }
    spin_lock(&cpupart_lock);
    for (unsigned i = 0; i < cpupart_end; i++)
        if (cpuparts[i] != NULL)
            out->homed += cpuparts[i]->lgrps.lpl[lgrp].homed;
    spin_unlock(&cpupart_lock);
}
