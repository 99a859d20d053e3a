// SPDX-License-Identifier: MIT
/*
 * package.h - the socket and core of a CPU, by its APIC id, and the processor's model and features.
 *
 * THEORY   An APIC id is three bit fields: thread within core, core within package, package.  Their
 *          widths come from CPUID and are the same on every CPU of the machine.
 */
#ifndef X86_PACKAGE_H
#define X86_PACKAGE_H

#include "lib/types.h"

struct cpu_place {
    unsigned package, core, thread; /* core: within the package; thread: within the core */
};

/* cpu_place_of - decode an APIC id.  Works in any context. */
struct cpu_place cpu_place_of(uint32_t apic_id);

struct cpu_model {
    char vendor[13];
    char name[49];
    unsigned family, model, stepping;
    /* Feature words of CPUID leaves 1 (features_*), 0x80000001 (ext_*) and 7. */
    uint32_t features_edx, features_ecx, ext_edx, ext_ecx, leaf7_ebx;
};
/* cpu_model_get - describe the running CPU. */
void cpu_model_get(struct cpu_model *m);

#endif
