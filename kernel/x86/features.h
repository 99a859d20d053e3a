// SPDX-License-Identifier: MIT
/*
 * features.h - the processor's optional features, read once on the boot CPU and assumed on all CPUs.
 */
#ifndef X86_FEATURES_H
#define X86_FEATURES_H

#include "lib/types.h"

extern bool cpu_has_smep, cpu_has_smap, cpu_has_umip, cpu_has_fsgsbase, cpu_has_gbpages,
    cpu_has_rdrand, cpu_has_rdtscp, cpu_has_pge;

/* features_init - set the flags above from CPUID.  Must run before any code reads them. */
void features_init(void);
/* features_enable - enable the features in CR4 of the running CPU, and SSE. */
void features_enable(void);
/*
 * cpu_rdrand - read 64 random bits into *out.  False: there is no RDRAND, or RDRAND has failed ten
 * times.
 */
bool cpu_rdrand(uint64_t *out);

#endif
