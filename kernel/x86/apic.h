// SPDX-License-Identifier: MIT
/*
 * apic.h - local APICs, their timers, and IOAPICs.
 */
#ifndef X86_APIC_H
#define X86_APIC_H

#include "acpi/acpi.h"
#include "x86/ipi.h"

/* apic_init - map the local APIC and the MADT's IOAPICs; mask all IOAPIC inputs.  Boot CPU only. */
void apic_init(const struct acpi_madt *madt);
/* apic_init_cpu - switch on the running CPU's local APIC. */
void apic_init_cpu(void);
/* apic_eoi - end the running CPU's current interrupt, so that the next one can arrive. */
void apic_eoi(void);
/*
 * apic_timer_set - raise VEC_TIMER once on this CPU, after `ticks` ticks of the APIC timer.  0:
 * stop the timer.
 */
void apic_timer_set(uint32_t ticks);
/* apic_timer_read - ticks left until this CPU's timer interrupt; 0: the timer does not run. */
uint32_t apic_timer_read(void);
/*
 * apic_start_all - send INIT and start-up IPIs to all other CPUs at once; the CPUs start at page
 * `page`.
 */
void apic_start_all(unsigned page);

/*
 * ioapic_route - send ISA interrupt `irq` as `vector` to the CPU with local APIC `apic_id`, and unmask it.
 * Returns 0; -ENODEV: no IOAPIC has that input.
 */
int ioapic_route(unsigned irq, unsigned vector, uint32_t apic_id);
/*
 * ioapic_retarget - send a routed interrupt to another CPU from now on.  The interrupt is not masked during the
 * change.
 */
void ioapic_retarget(unsigned irq, uint32_t apic_id);

#endif
