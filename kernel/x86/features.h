// SPDX-License-Identifier: MIT
/*
 * features.h - what this processor can do; decided once on the boot CPU.
 */
#ifndef X86_FEATURES_H
#define X86_FEATURES_H

#include "lib/types.h"

extern bool cpu_has_smep, cpu_has_smap, cpu_has_umip, cpu_has_fsgsbase, cpu_has_gbpages,
    cpu_has_rdrand, cpu_has_rdtscp, cpu_has_pge;

/* features_init - read CPUID; call before anything that tests the flags. */
void features_init(void);
/* features_enable - set the control registers of the running CPU accordingly. */
void features_enable(void);
/* cpu_rdrand - a hardware random number; false when there is none. */
bool cpu_rdrand(uint64_t *out);

#endif
