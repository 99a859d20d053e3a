// SPDX-License-Identifier: MIT
/*
 * smp.h - starting the other CPUs.
 */
#ifndef X86_SMP_H
#define X86_SMP_H

/*
 * smp_start - start all CPUs in cpus[] but the running one, at the same time, and wait until each runs its part of
 * main.c (`enter`, never to return).  Panics, naming it, when one does not come.
 */
void smp_start(void (*enter)(void));

#endif
