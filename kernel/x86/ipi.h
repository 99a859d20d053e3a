// SPDX-License-Identifier: MIT
/*
 * ipi.h - interrupts from one CPU to another (IPIs), and all interrupt vectors.
 *
 * LOCKING  The functions can be called in any context, and the caller can hold spin locks.  Arguments are CPU
 *          ids.
 */
#ifndef X86_IPI_H
#define X86_IPI_H

#include "lib/cpumask.h"

/*
 * A CPU takes the pending interrupt with the highest vector first.  IPI_SETTLE is below all device vectors:
 * when it arrives, no earlier device interrupt is pending on that CPU (intr_settle()).
 */
enum {
    IPI_SETTLE = 0x2f,
    VEC_IRQ0 = 0x30, /* vector of ISA interrupt 0; devices have this vector and those above it */
    VEC_TIMER = 0xef,
    IPI_RESCHED = 0xf0,
    IPI_TLB = 0xf1,
    VEC_SPURIOUS = 0xff
};

/*
 * x86_send_ipi, x86_send_nmi - send to one CPU; x86_send_ipi_mask - send to each CPU of the mask except the
 * caller's.
 */
void x86_send_ipi(unsigned cpu, unsigned vector);
void x86_send_nmi(unsigned cpu);
void x86_send_ipi_mask(const struct cpumask *m, unsigned vector);

#endif
