// SPDX-License-Identifier: MIT
/*
 * features.c - reads the processor's features from CPUID, and enables them in CR4.
 *
 * SEE ALSO    Intel SDM vol. 2, CPUID; vol. 3, 2.5 (control registers)
 */
#include "x86/features.h"

#include "x86/asm.h"

bool cpu_has_smep, cpu_has_smap, cpu_has_umip, cpu_has_fsgsbase, cpu_has_gbpages, cpu_has_rdrand,
    cpu_has_rdtscp, cpu_has_pge;

void features_init(void)
{
    uint32_t r[4], max;

    cpuid(0, 0, r);
    max = r[0];
    cpuid(1, 0, r);
    cpu_has_rdrand = r[2] >> 30 & 1;
    cpu_has_pge = r[3] >> 13 & 1;
    if (max >= 7) {
        cpuid(7, 0, r);
        cpu_has_fsgsbase = r[1] & 1;
        cpu_has_smep = r[1] >> 7 & 1;
        cpu_has_smap = r[1] >> 20 & 1;
        cpu_has_umip = r[2] >> 2 & 1;
    }
    cpuid(0x80000001, 0, r);
    cpu_has_gbpages = r[3] >> 26 & 1;
    cpu_has_rdtscp = r[3] >> 27 & 1;
}

void features_enable(void)
{
    uint64_t cr4 = read_cr4() | CR4_OSFXSR | CR4_OSXMMEXCPT;

    if (cpu_has_pge)
        cr4 |= CR4_PGE;
    if (cpu_has_smep)
        cr4 |= CR4_SMEP;
    if (cpu_has_smap)
        cr4 |= CR4_SMAP;
    if (cpu_has_umip)
        cr4 |= CR4_UMIP;
    write_cr4(cr4);
}

bool cpu_rdrand(uint64_t *out)
{
    for (int i = 0; cpu_has_rdrand && i < 10; i++) {
        uint8_t ok;

        __asm__ volatile("rdrand %0; setc %1" : "=r"(*out), "=qm"(ok)::"cc");
        if (ok)
            return true;
    }
    return false;
}
