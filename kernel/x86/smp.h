// SPDX-License-Identifier: MIT
/*
 * smp.h - starting the other CPUs.
 */
#ifndef X86_SMP_H
#define X86_SMP_H

/*
 * smp_start - start all CPUs in cpus[] but the running one, at the same time.  Each calls `enter`, never to return,
 * when it has its tables; cpus[i]->arch->started tells.  Returns at once.
 */
void smp_start(void (*enter)(void));

#endif
