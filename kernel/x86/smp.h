// SPDX-License-Identifier: MIT
/*
 * smp.h - starting the other CPUs.
 */
#ifndef X86_SMP_H
#define X86_SMP_H

/*
 * smp_start - start all CPUs in cpus[] but the boot CPU, which calls this, at the same time.  Each loads its
 * tables, sets cpus[i]->arch->started, and calls `enter`, which must not return.  Does not wait for them.
 */
void smp_start(void (*enter)(void));

#endif
