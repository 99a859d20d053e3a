// SPDX-License-Identifier: MIT
/*
 * pgstats.c - statistics of memory for commands: the kstats unix:0:system_pages and unix:0:swap, all in
 * pages.
 *
 * LOCKING     Each value is read separately, without a lock.
 * SEE ALSO    user/cmd/vmstat.c, user/cmd/swap.c, docs/pageout.md
 */
#include "stat/kstat.h"
#include "pages/cachelist.h"
#include "pages/pageout.h"
#include "pages/reserve.h"
#include "pages/swap.h"

static const char *const page_names[] = {
    "physmem",      "freemem",         "cachelist", "lotsfree",       "desfree",  "minfree",
    "throttlefree", "pageout_reserve", "cachefree", "fastscan",       "slowscan", "handspreadpages",
    "maxpgio",      "po_share",        "needfree",  "pageout_policy",
};

static void pages_snapshot(struct kstat *ks, uint64_t *out)
{
    uint64_t share, waiting;
    struct paging p = pageout_now(&share, &waiting);
    const uint64_t v[] = {p.physmem,   freemem(),  cachelist_pages(), p.lotsfree,
                          p.desfree,   p.minfree,  p.throttlefree,    p.pageout_reserve,
                          p.cachefree, p.fastscan, p.slowscan,        p.handspreadpages,
                          p.maxpgio,   share,      waiting,           p.policy};

    _Static_assert(array_size(v) == array_size(page_names), "a value for each name");
    (void)ks;
    for (unsigned i = 0; i < array_size(v); i++)
        out[i] = v[i];
}

/* reserved + available is the memory and swap that can be promised. */
static const char *const swap_names[] = {"reserved", "available", "disk_total", "disk_free",
                                         "kept"};

static void swap_snapshot(struct kstat *ks, uint64_t *out)
{
    uint64_t limit;

    (void)ks;
    reserve_state(&out[0], &limit);
    out[1] = limit > out[0] ? limit - out[0] : 0;
    swap_total(&out[2], &out[3]);
    out[4] = swap_kept();
}

static struct kstat pages_stat = {
    .module = "unix",
    .name = "system_pages",
    .kclass = "pages",
    .nstat = array_size(page_names),
    .names = page_names,
    .snapshot = pages_snapshot,
};
static struct kstat swap_stat = {
    .module = "unix",
    .name = "swap",
    .kclass = "vm",
    .nstat = array_size(swap_names),
    .names = swap_names,
    .snapshot = swap_snapshot,
};

void pageout_stats_init(void)
{
    kstat_register(&pages_stat);
    kstat_register(&swap_stat);
}
