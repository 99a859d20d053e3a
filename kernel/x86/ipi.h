// SPDX-License-Identifier: MIT
/*
 * ipi.h - interrupting other CPUs.
 *
 * LOCKING  any context; may be called with spin locks held.  CPUs are named by CPU id.
 */
#ifndef X86_IPI_H
#define X86_IPI_H

#include "lib/cpumask.h"

/* A pending interrupt of a higher vector is taken first: IPI_SETTLE comes after all of devices (VEC_IRQ0 and up). */
enum {
    IPI_SETTLE = 0x2f,
    VEC_IRQ0 = 0x30,
    VEC_TIMER = 0xef,
    IPI_RESCHED = 0xf0,
    IPI_TLB = 0xf1,
    VEC_SPURIOUS = 0xff
};

/* x86_send_ipi, x86_send_nmi - to one CPU; x86_send_ipi_mask - to each CPU of the mask (the caller itself excluded). */
void x86_send_ipi(unsigned cpu, unsigned vector);
void x86_send_nmi(unsigned cpu);
void x86_send_ipi_mask(const struct cpumask *m, unsigned vector);

#endif
