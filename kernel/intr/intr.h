// SPDX-License-Identifier: MIT
/*
 * intr.h - device interrupts: who handles a vector, and on which CPU it arrives.
 */
#ifndef INTR_INTR_H
#define INTR_INTR_H

#include "lib/types.h"

/* intr_init - take over the vectors above 31.  Boot CPU, after apic_init(). */
void intr_init(void);
/*
 * intr_register_isa - call fn(arg) in interrupt context for ISA interrupt `irq`, on the boot CPU until it is moved.
 * -EBUSY: taken; -ENODEV: no IOAPIC has that input.
 */
int intr_register_isa(unsigned irq, void (*fn)(void *), void *arg, const char *name);

/*
 * intr_register_msi - call fn(arg) in interrupt context, on CPU `cpu`, for a message-signalled interrupt: the device is
 * to write *data to *addr (Intel SDM vol. 3, 10.11).  `name` stays.  -EBUSY: no vector is left.
 */
int intr_register_msi(unsigned cpu, void (*fn)(void *), void *arg, const char *name, uint64_t *addr, uint32_t *data);

/* intr_tlb_handler - call-up: vm answers a TLB shootdown. */
extern void (*intr_tlb_handler)(void);

/* intr_source - the i-th registered source, for /proc/interrupts: false past the last. */
struct intr_info {
    const char *name;
    unsigned    irq, vector, cpu; /* irq: 0 .. 15 of the ISA bus, messages from 16 */
    uint64_t    count;
};
bool intr_source(unsigned i, struct intr_info *out);

#endif
