// SPDX-License-Identifier: MIT
/*
 * procfs_heat.c - /proc/N/heat: how often the CPUs of each lgroup missed on each page of a process.
 *
 * THEORY      The interconnect model counts misses by page of physical memory and by board, if its page heat is on.
 *             The file shows these counts at the addresses of a process.  The first line is `every N`: the model
 *             counts one of N misses.  The next lines are pages of 4 KiB with at least one counted miss:
 *                 address lgrp lgrp:misses ...
 *             The first lgrp is that of the page, the others are those of the CPUs that missed.  Each number of
 *             misses is the count times N.  A page that several processes share has the misses of all of them.
 *             Without the model, or with heat off, a read fails with ENODEV.
 *             A doorbell makes the model copy the counts of one page to this CPU's place in the kernel's part of the
 *             shared page (include/uapi/fireplane.h).
 * LOCKING     Only vm's functions take as->lock.  A CPU's slot is used with interrupts off.
 * SEE ALSO    procfs_mem.c (the walk), pmap(1), docs/heat.md
 */
#include "lgrp/lgrp.h"
#include "lib/cpu.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/page.h"
#include "procfs/segments.h"
#include "stat/modelled.h"

/* Copies the counts of the page at a physical address into heat[]. */
static void read_page_heat(uint64_t phys, uint32_t heat[FP_MAX_BOARDS])
{
    struct fp_cpu *slot;

    irq_push();
    slot = FP_CPU(modelled_page, this_cpu()->id);
    slot->arg[0] = phys;
    FP_DOORBELL(FP_OP_HEAT);
    memcpy(heat, FP_HEAT(modelled_page, this_cpu()->id), FP_MAX_BOARDS * sizeof *heat);
    irq_pop();
}

static void show_page_heat(uint64_t addr, const struct as_page_info *pg, struct text *out)
{
    const struct fp_header *h = modelled_page;
    uint32_t heat[FP_MAX_BOARDS];
    bool any = false;

    read_page_heat(pg->phys, heat);
    for (unsigned i = 0; i < min_of(h->nboards, nnodes); i++) {
        if (heat[i] == 0)
            continue;
        if (!any)
            text_add(out, "%08lx %u", addr, pg->lgrp);
        any = true;
        text_add(out, " %u:%lu", lgrp_topo.node_lgrp[i], heat[i] * h->heat_every);
    }
    if (any)
        text_str(out, "\n");
}

static void show_segment_heat(struct as *as, struct segment_walk *w, struct text *out)
{
    uint64_t va = w->seg.start;

    while (va < w->seg.end && !out->failed && !proc_is_ending()) {
        uint64_t base = as_skip_absent(as, va, w->seg.end);
        unsigned n = (unsigned)min_of((w->seg.end - base) >> PAGE_SHIFT, (uint64_t)SEGMENT_BATCH);

        for (unsigned i = 0; i < n; i++)
            w->addr[i] = base + i * PAGE_SIZE;
        as_query(as, w->addr, n, w->page);
        for (unsigned i = 0; i < n; i++)
            if (w->page[i].present)
                show_page_heat(w->addr[i], &w->page[i], out);
        va = base + n * PAGE_SIZE;
    }
}

PROCFS_SHOW(procfs_show_heat)
{
    const struct fp_header *h = modelled_page;

    if (h == NULL || h->heat_every == 0)
        return -ENODEV;
    text_add(out, "every %lu\n", h->heat_every);
    return procfs_each_segment(arg.a, show_segment_heat, out);
}
