// SPDX-License-Identifier: MIT
/*
 * mktopo.c - see mktopo.h.
 */
#include "tests/host/mktopo.h"

#include <string.h>

#define BOARD (256ull << 20)

void mk_topo(struct lgrp_topo *t, unsigned n, unsigned ncpus, uint64_t bare,
             uint8_t (*far)(unsigned i, unsigned j))
{
    static uint32_t apic[CPU_MAX];
    static struct lgrp_range mem[NODE_MAX];
    static struct acpi_srat srat;
    static uint8_t matrix[NODE_MAX * NODE_MAX];
    struct acpi_slit slit = {n, matrix};
    struct lgrp_input in = {.apic_id = apic, .mem = mem, .srat = &srat, .slit = &slit};

    memset(&srat, 0, sizeof srat);
    for (unsigned b = 0; b < n; b++) {
        for (unsigned c = 0; c < ncpus; c++) {
            apic[in.ncpus] = in.ncpus;
            srat.cpu[srat.ncpus++] = (struct acpi_srat_cpu){in.ncpus++, b};
        }
        for (unsigned i = 0; i < n; i++)
            matrix[b * n + i] = b == i ? 10 : far != NULL ? far(b, i) : 20;
        if (bit_test(bare, b))
            continue;
        mem[in.nmem++] = (struct lgrp_range){b * BOARD, BOARD};
        srat.mem[srat.nmem++] = (struct acpi_srat_mem){.base = b * BOARD, .len = BOARD, .pxm = b};
    }
    lgrp_topo_build(t, &in);
}
