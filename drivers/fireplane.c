// SPDX-License-Identifier: MIT
/*
 * fireplane.c - see fireplane.h.
 */
#include "drivers/fireplane.h"

#include "drivers/pci.h"
#include "lib/cpu.h"
#include "mem/mem_init.h"
#include "mem/page.h"
#include "stat/modelled.h"
#include "stat/panic.h"

static struct pci_bar window; /* the window with the page; len 0: there is no device */

void fireplane_find(void)
{
    struct pci_fn f;

    if (!pci_find(FP_PCI_VENDOR, FP_PCI_DEVICE, &f))
        return;
    if (pci_bar(f, FP_PCI_BAR, &window) != 0 || window.io || window.len < FP_SHARED_BYTES) {
        warn("fireplane: the device's page is missing or too small: no model");
        window.len = 0;
        return;
    }
    pci_enable(f, PCI_CMD_MEMORY);
    mem_device(window.base, FP_SHARED_BYTES);
}

/* The reason why the page cannot be used; NULL: it can be used. */
static const char *why_model_unusable(const struct fp_header *h)
{
    if (h->magic != FP_MAGIC)
        return "no model has written to the device's page (wrong magic)";
    if (h->version != FP_VERSION)
        return "the model is of another version";
    if (h->ncpus < ncpu || h->ncpus > FP_MAX_CPUS || h->nboards == 0 || h->nboards > FP_MAX_BOARDS)
        return "the model is of another machine";
    return NULL;
}

/*
 * Announces one memory range to the model.  The load instruction must follow the doorbell directly, and lie in
 * the same page of code.  Returns whether the model has refused the range.
 */
static bool probe_memory_range(struct fp_cpu *slot, uint64_t base, uint64_t len, unsigned board)
{
    uint64_t value;

    slot->arg[0] = slot->arg[1] = base;
    slot->arg[2] = len;
    slot->arg[3] = board;
    __asm__ volatile(".balign 32\n\t.byte 0x0f, 0x1f, 0x84, 0x00\n\t.long %c2\n\tmovq (%1), %0"
                     : "=r"(value)
                     : "r"(phys_to_virt(base)), "i"(FP_TAG | FP_OP_PROBE)
                     : "memory");
    return slot->ret[0] != 0;
}

void fireplane_attach(const struct lgrp_topo *topo)
{
    void *page = phys_to_virt(window.base);
    struct fp_header *h = page;
    unsigned refused = 0;
    const char *fault;

    if (window.len == 0)
        return;
    fault = why_model_unusable(h);
    if (fault != NULL) {
        warn("fireplane: %s: no model", fault);
        return;
    }
    for (unsigned i = 0; i < topo->nranges; i++)
        refused += probe_memory_range(FP_CPU(page, this_cpu()->id), topo->range[i].base,
                                      topo->range[i].len, topo->range_node[i]);
    modelled_page = page;
    if (h->ecache_ways != 0)
        page_coloring_init(
            (unsigned)min_of(h->ecache_bytes / h->ecache_ways / PAGE_SIZE, (uint64_t)UINT32_MAX));
    kprintf("fireplane: model of %u CPUs on %u boards, external caches of %lu KiB", h->ncpus,
            h->nboards, h->ecache_bytes >> 10);
    if (refused > 0)
        warn("fireplane: the model refused %u of %u memory ranges", refused, topo->nranges);
}
