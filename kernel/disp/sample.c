// SPDX-License-Identifier: MIT
/*
 * sample.c - what the trace gets from the dispatcher: the running thread, and values that change all the time.
 *
 * THEORY      Free memory, misses and the traffic of boards change too often for an event at each change.  So while
 *             these events are traced, each tick of the clock records their values.  All of them go into the ring of
 *             the CPU that keeps the clock.  So free memory that is the same as at the last tick is recorded only ten
 *             times a second.  The first tick after a pause records all values.
 *             Misses and traffic are those that the interconnect model counts, as last published
 *             (include/uapi/fireplane.h).  Without the model they are not recorded.
 * LOCKING     Only clock_tick() samples, which runs on one CPU at a time, so the values of the last tick need no lock.
 * SEE ALSO    include/uapi/trace.h, docs/trace.md
 */
#include "disp/disp.h"
#include "lib/string.h"
#include "mem/page.h"
#include "stat/modelled.h"

void trace_self(enum trace_type type, unsigned info, uint64_t a, uint64_t b)
{
    trace_put(type, curthread->tid, info, a, b);
}

static void sample_memory(bool all)
{
    static uint64_t last[NODE_MAX];

    for (unsigned i = 0; i < nnodes; i++) {
        uint64_t now = mem_free_pages(i);

        if (mem_nodes[i].ninstalled_pages != 0 && (all || now != last[i]))
            trace_self(TRACE_MEMORY, i, now, mem_nodes[i].ninstalled_pages);
        last[i] = now;
    }
}

static void sample_misses(unsigned nboards)
{
    static uint64_t local[FP_MAX_BOARDS], remote[FP_MAX_BOARDS];

    memset(local, 0, sizeof local);
    memset(remote, 0, sizeof remote);
    for (unsigned i = 0; i < ncpu; i++) {
        const struct fp_cpu *c = FP_CPU(modelled_page, i);

        local[c->board % FP_MAX_BOARDS] += c->counts.miss_local;
        remote[c->board % FP_MAX_BOARDS] += c->counts.miss_remote;
    }
    for (unsigned i = 0; i < nboards; i++)
        trace_self(TRACE_MISSES, i, local[i], remote[i]);
}

static void sample_links(unsigned nboards)
{
    uint64_t(*traffic)[FP_MAX_BOARDS] = FP_TRAFFIC(modelled_page);
    uint64_t now_ps = 0;

    for (unsigned i = 0; i < ncpu; i++)
        now_ps = max_of(now_ps, FP_CPU(modelled_page, i)->counts.time_ps);
    for (unsigned i = 0; i < nboards; i++) {
        uint64_t bytes = 0;

        for (unsigned j = 0; j < nboards; j++)
            if (j != i)
                bytes += traffic[i][j] + traffic[j][i];
        trace_self(TRACE_LINK, i, bytes, now_ps);
    }
}

void trace_sample(uint64_t tick)
{
    static uint64_t last_tick;
    bool all = tick != last_tick + 1 || tick % (HZ / 10) == 0;
    const struct fp_header *h = modelled_page;

    last_tick = tick;
    if (TRACE_ON(MEMORY))
        sample_memory(all);
    if (h != NULL && TRACE_ON(MISSES))
        sample_misses(h->nboards);
    if (h != NULL && TRACE_ON(LINK))
        sample_links(h->nboards);
}
