// SPDX-License-Identifier: MIT
/*
 * ipi.h - interrupting other CPUs.
 *
 * LOCKING  any context; may be called with spin locks held.  CPUs are named by CPU id.
 */
#ifndef X86_IPI_H
#define X86_IPI_H

#include "lib/cpumask.h"

enum { IPI_RESCHED = 0xf0, IPI_TLB = 0xf1, VEC_TIMER = 0xef, VEC_SPURIOUS = 0xff, VEC_IRQ0 = 0x30 };

/* x86_send_ipi - to one CPU; x86_send_ipi_mask - to each CPU of the mask (the caller itself excluded). */
void x86_send_ipi(unsigned cpu, unsigned vector);
void x86_send_ipi_mask(const struct cpumask *m, unsigned vector);

#endif
