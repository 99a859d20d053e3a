// SPDX-License-Identifier: MIT
/*
 * smp.h - starting the other CPUs.
 */
#ifndef X86_SMP_H
#define X86_SMP_H

/*
 * smp_start - start all CPUs in cpus[] at the same time, except the boot CPU, which calls this function.  Each
 * CPU loads its tables, sets cpus[i]->arch->started, and calls `enter`, which must not return.  Does not wait
 * for them.
 */
void smp_start(void (*enter)(void));

#endif
