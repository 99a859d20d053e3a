// SPDX-License-Identifier: MIT
/*
 * smp.c - see smp.h.
 *
 * THEORY      After reset only the boot CPU runs.  The others wait for an INIT and a start-up IPI, which
 *             names the page of low memory where they begin (trampoline.S).  The boot CPU sends both to all
 *             CPUs at once, so that no CPU waits for another.  Each CPU finds its own first stack
 *             by its APIC id (ap_stacks).  The boot CPU has calibrated the clocks, so the other
 *             CPUs do not measure them again.
 */
#include "x86/smp.h"

#include "lib/cpu.h"
#include "lib/string.h"
#include "x86/apic.h"
#include "x86/arch.h"
#include "x86/layout.h"
#include "x86/mmu.h"
#include "x86/trap.h"

#define TRAMPOLINE_PHYS 0x8000ul

extern char trampoline[], trampoline_end[];
void ap_main(uint32_t apic_id);

/* The top of each CPU's first stack, by APIC id; 0: the CPU must not start.  trampoline.S reads it. */
uint64_t ap_stacks[CPU_MAX];

static struct cpu *by_apic_id[CPU_MAX];
static void (*ap_enter)(void);

/* The first C code of each CPU except the boot CPU.  trampoline.S calls it with the CPU's APIC id. */
void ap_main(uint32_t id)
{
    struct cpu *c = by_apic_id[id];

    trap_init_cpu(c);
    apic_init_cpu();
    c->arch->started = true;
    ap_enter();
}

void smp_start(void (*enter)(void))
{
    ap_enter = enter;
    memcpy(phys_to_virt(TRAMPOLINE_PHYS), trampoline, (size_t)(trampoline_end - trampoline));
    for (unsigned i = 1; i < ncpu; i++) {
        by_apic_id[cpus[i]->apic_id] = cpus[i];
        ap_stacks[cpus[i]->apic_id] = cpus[i]->kstack_top;
    }
    if (ncpu > 1)
        apic_start_all(TRAMPOLINE_PHYS >> PAGE_SHIFT);
}
