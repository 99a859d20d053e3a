// SPDX-License-Identifier: MIT
/*
 * apic.h - local APICs, their timers, and IOAPICs.
 */
#ifndef X86_APIC_H
#define X86_APIC_H

#include "acpi/acpi.h"
#include "x86/ipi.h"

/* apic_init - map the local APIC and the IOAPICs of the MADT; mask everything.  Boot CPU. */
void apic_init(const struct acpi_madt *madt);
/* apic_init_cpu - switch on the running CPU's local APIC. */
void apic_init_cpu(void);
void apic_eoi(void);
/* apic_timer_set - interrupt VEC_TIMER once after `ticks` of the APIC timer (0: off). */
void apic_timer_set(uint32_t ticks);
uint32_t apic_timer_read(void);
/* apic_start_all - INIT and start-up IPIs to all other CPUs at once; they begin at `page` << 12. */
void apic_start_all(unsigned page);

/*
 * ioapic_route - connect ISA interrupt `irq` to `vector` on the CPU with local APIC `apic_id`; unmasked.
 * -ENODEV when no IOAPIC has that input.
 */
int ioapic_route(unsigned irq, unsigned vector, uint32_t apic_id);
/* ioapic_retarget - from now on a connected interrupt arrives on another CPU; it is not masked meanwhile. */
void ioapic_retarget(unsigned irq, uint32_t apic_id);

#endif
