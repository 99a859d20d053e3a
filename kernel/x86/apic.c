// SPDX-License-Identifier: MIT
/*
 * apic.c - xAPIC (memory mapped, 8-bit ids) and IOAPIC.
 *
 * THEORY      Every CPU has a local APIC, which delivers interrupts to it and contains its timer.  An IOAPIC
 *             takes the interrupt lines of devices and sends each to the local APIC of one CPU.  All CPUs use
 *             the same physical address for the local APIC; each CPU reaches its own APIC there.
 *             To interrupt another CPU, write its APIC id to ICR high, then the vector to ICR low.  The timer
 *             counts down once each time it is set (one-shot).
 * LOCKING     The two writes to ICR belong together, so interrupts are off around them.  A spin lock guards
 *             the IOAPICs' index/data register pairs.
 * SEE ALSO    Intel SDM vol. 3, chapter 10; Intel 82093AA (IOAPIC) data sheet
 */
#include "x86/apic.h"

#include "lib/errno.h"
#include "lib/spinlock.h"
#include "stat/cpustat.h"
#include "stat/panic.h"
#include "x86/asm.h"
#include "x86/mmu.h"
#include "x86/pio.h"

enum {
    REG_TPR = 0x80,
    REG_EOI = 0xb0,
    REG_SVR = 0xf0,
    REG_ICR_LO = 0x300,
    REG_ICR_HI = 0x310,
    REG_LVT_TIMER = 0x320,
    REG_LVT_LINT0 = 0x350,
    REG_LVT_LINT1 = 0x360,
    REG_LVT_ERROR = 0x370,
    REG_TIMER_INIT = 0x380,
    REG_TIMER_CUR = 0x390,
    REG_TIMER_DIV = 0x3e0
};

static volatile uint32_t *lapic;
static struct spinlock ioapic_lock = SPINLOCK_INIT(RANK_UART);
static unsigned nioapic;
static struct {
    volatile uint32_t *regs;
    uint32_t gsi_base, ninputs;
} ioapic[ACPI_IOAPIC_MAX];
static struct acpi_override
    isa[16]; /* by ISA interrupt number: input (GSI), polarity and trigger of the interrupt */

static uint32_t lapic_read(unsigned reg)
{
    return lapic[reg / 4];
}

static void lapic_write(unsigned reg, uint32_t v)
{
    lapic[reg / 4] = v;
}

static uint32_t ioapic_read(unsigned i, uint32_t reg)
{
    ioapic[i].regs[0] = reg;
    return ioapic[i].regs[4];
}

static void ioapic_write(unsigned i, uint32_t reg, uint32_t v)
{
    ioapic[i].regs[0] = reg;
    ioapic[i].regs[4] = v;
}

void apic_init(const struct acpi_madt *madt)
{
    lapic = mmu_map_device(madt->lapic_addr ? madt->lapic_addr : 0xfee00000, PAGE_SIZE);
    for (unsigned i = 0; i < 16; i++)
        isa[i] = (struct acpi_override){.irq = (uint8_t)i, .gsi = i};
    for (unsigned i = 0; i < madt->noverrides; i++)
        if (madt->override[i].irq < 16)
            isa[madt->override[i].irq] = madt->override[i];
    for (unsigned i = 0; i < madt->nioapics; i++) {
        ioapic[i].regs = mmu_map_device(madt->ioapic[i].addr, PAGE_SIZE);
        ioapic[i].gsi_base = madt->ioapic[i].gsi_base;
        ioapic[i].ninputs = (ioapic_read(i, 1) >> 16 & 0xff) + 1;
        for (uint32_t k = 0; k < ioapic[i].ninputs; k++)
            ioapic_write(i, 0x10 + 2 * k, 1 << 16); /* masked */
    }
    nioapic = madt->nioapics;
    outb(0x21, 0xff); /* mask all inputs of the two 8259s, which the kernel does not use */
    outb(0xa1, 0xff);
}

void apic_init_cpu(void)
{
    wrmsr(MSR_APIC_BASE, rdmsr(MSR_APIC_BASE) | 1 << 11);
    lapic_write(REG_TPR, 0);
    lapic_write(REG_LVT_LINT0, 1 << 16);
    lapic_write(REG_LVT_LINT1, 4 << 8); /* NMI */
    lapic_write(REG_LVT_ERROR, 1 << 16);
    lapic_write(REG_TIMER_DIV, 3); /* divide by 16 */
    lapic_write(REG_LVT_TIMER, VEC_TIMER);
    lapic_write(REG_SVR, 1 << 8 | VEC_SPURIOUS);
}

void apic_eoi(void)
{
    lapic_write(REG_EOI, 0);
}

void apic_timer_set(uint32_t ticks)
{
    lapic_write(REG_TIMER_INIT, ticks);
}

uint32_t apic_timer_read(void)
{
    return lapic_read(REG_TIMER_CUR);
}

/*
 * Sends an interrupt: `hi` is the target's APIC id, `lo` the low half of ICR (vector, delivery mode,
 * shorthand).
 */
static void write_icr(uint32_t hi, uint32_t lo)
{
    irq_push();
    lapic_write(REG_ICR_HI, hi << 24);
    lapic_write(REG_ICR_LO, lo);
    irq_pop();
}

void x86_send_ipi(unsigned cpu, unsigned vector)
{
    write_icr(cpus[cpu]->apic_id, 1 << 14 | vector);
}

void x86_send_nmi(unsigned cpu)
{
    write_icr(cpus[cpu]->apic_id, 1 << 14 | 4 << 8);
}

void x86_send_ipi_mask(const struct cpumask *m, unsigned vector)
{
    irq_push();
    CPUMASK_FOREACH (cpu, m) {
        if (cpu != this_cpu()->id) {
            CPUSTAT_INC(xcal);
            x86_send_ipi(cpu, vector);
        }
    }
    irq_pop();
}

void apic_start_all(unsigned page)
{
    write_icr(0, 3u << 18 | 1 << 14 | 5 << 8);        /* INIT, all but self */
    write_icr(0, 3u << 18 | 1 << 14 | 6 << 8 | page); /* start-up, all but self */
}

/*
 * Finds the IOAPIC and the input of ISA interrupt `irq` (below 16).  -ENODEV: no IOAPIC has that
 * input.
 */
static int find_ioapic_input(unsigned irq, unsigned *which, uint32_t *input)
{
    uint32_t gsi = isa[irq].gsi;

    for (unsigned i = 0; i < nioapic; i++)
        if (gsi >= ioapic[i].gsi_base && gsi - ioapic[i].gsi_base < ioapic[i].ninputs) {
            *which = i;
            *input = gsi - ioapic[i].gsi_base;
            return 0;
        }
    return -ENODEV;
}

int ioapic_route(unsigned irq, unsigned vector, uint32_t id)
{
    unsigned which;
    uint32_t in, mode;
    int err = irq < 16 ? find_ioapic_input(irq, &which, &in) : -ENODEV;

    if (err)
        return err;
    /* MADT flags: polarity in bits 0-1 (3 = active low), trigger in 2-3 (3 = level). */
    mode = ((isa[irq].flags & 3) == 3 ? 1u << 13 : 0) |
           ((isa[irq].flags >> 2 & 3) == 3 ? 1u << 15 : 0);
    spin_lock(&ioapic_lock);
    ioapic_write(which, 0x11 + 2 * in, id << 24);
    ioapic_write(which, 0x10 + 2 * in, mode | vector);
    spin_unlock(&ioapic_lock);
    return 0;
}

void ioapic_retarget(unsigned irq, uint32_t id)
{
    unsigned which;
    uint32_t in;

    if (find_ioapic_input(irq, &which, &in) != 0)
        return;
    spin_lock(&ioapic_lock);
    ioapic_write(which, 0x11 + 2 * in, id << 24);
    spin_unlock(&ioapic_lock);
}
