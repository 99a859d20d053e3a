// SPDX-License-Identifier: MIT
/*
 * intr.c - see intr.h.
 *
 * THEORY      Vectors VEC_IRQ0 + irq belong to the ISA interrupts (irq 0 .. 15) and to messages of PCI devices (irq 16
 *             and up, one each); the few from VEC_TIMER are the kernel's own: timer, cross-calls.  A handler runs on
 *             the interrupted thread's stack with interrupts off.
 * LOCKING     a source is registered once and stays; its fields are constant afterwards
 */
#include "intr/intr.h"

#include "disp/thread.h"
#include "lib/cpu.h"
#include "lib/errno.h"
#include "stat/cpustat.h"
#include "stat/panic.h"
#include "x86/apic.h"
#include "x86/trap.h"

void timer_interrupt(void);

enum { NISA = 16, NIRQ = VEC_TIMER - VEC_IRQ0 };

#define MSI_ADDR 0xfee00000ul /* the target's APIC id in bits 12-19; fixed delivery, edge triggered */

static struct {
    void (*fn)(void *);
    void       *arg;
    const char *name;
    unsigned    cpu;
    _Atomic uint64_t count;
} source[NIRQ];
static unsigned nmsi; /* messages registered: at boot, by one CPU */

void (*intr_tlb_handler)(void);

static void dispatch(unsigned vec, struct regs *r)
{
    if (vec == VEC_TIMER) {
        apic_eoi();
        timer_interrupt();
    } else if (vec == IPI_RESCHED) {
        apic_eoi();
        atomic_fetch_or(&curthread->ast, AST_RESCHED);
    } else if (vec == IPI_TLB) {
        apic_eoi();
        CPUSTAT_INC(tlb_ipi);
        intr_tlb_handler();
    } else if (vec >= VEC_IRQ0 && vec < VEC_IRQ0 + NIRQ && source[vec - VEC_IRQ0].fn != NULL) {
        source[vec - VEC_IRQ0].count++;
        source[vec - VEC_IRQ0].fn(source[vec - VEC_IRQ0].arg);
        apic_eoi();
    } else if (vec != VEC_SPURIOUS) {
        apic_eoi();
    }
}

void intr_init(void)
{
    irq_dispatch = dispatch;
}

int intr_register_isa(unsigned irq, void (*fn)(void *), void *arg, const char *name)
{
    if (irq >= NISA)
        return -ENODEV;
    if (source[irq].fn != NULL)
        return -EBUSY;
    source[irq].fn = fn;
    source[irq].arg = arg;
    source[irq].name = name;
    source[irq].cpu = 0;
    return ioapic_route(irq, VEC_IRQ0 + irq, cpus[0]->apic_id);
}

int intr_register_msi(unsigned cpu, void (*fn)(void *), void *arg, const char *name, uint64_t *addr, uint32_t *data)
{
    unsigned irq = NISA + nmsi;

    if (irq >= NIRQ)
        return -EBUSY;
    nmsi++;
    source[irq].arg = arg;
    source[irq].name = name;
    source[irq].cpu = cpu;
    source[irq].fn = fn;
    *addr = MSI_ADDR | (uint64_t)cpus[cpu]->apic_id << 12;
    *data = VEC_IRQ0 + irq;
    return 0;
}

bool intr_source(unsigned i, struct intr_info *out)
{
    for (unsigned irq = 0; irq < NIRQ; irq++)
        if (source[irq].fn != NULL && i-- == 0) {
            *out = (struct intr_info){source[irq].name, irq, VEC_IRQ0 + irq, source[irq].cpu, source[irq].count};
            return true;
        }
    return false;
}
