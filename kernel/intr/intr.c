// SPDX-License-Identifier: MIT
/*
 * intr.c - interrupts: dispatching them, moving them between CPUs, counting them.
 *
 * THEORY      A device interrupts a CPU when it needs the kernel.  Each kind of interrupt has a number, its
 *             vector.  A device interrupt can be sent to any one CPU.  It should go to a CPU near the device's
 *             work, and must never go to a CPU that must not be disturbed.
 *             Vectors VEC_IRQ0 + irq are those of the ISA interrupts (irq 0 .. 15) and of messages of PCI
 *             devices (irq 16 and up, one each).  The few vectors from VEC_TIMER on are those of the kernel:
 *             timer, cross-calls.  A vector has the same meaning on every CPU.  So to move an interrupt, only
 *             its target is changed.  If an interrupt is on its way to the old CPU, that CPU handles it as
 *             usual.
 *             A handler runs on the stack of the interrupted thread, with interrupts off, before any thread.
 *             In Solaris a handler has its own thread, so that it can block.  Handlers of this kernel never
 *             block.  In mpstat, the column for interrupt threads shows device interrupts.
 *             To move a message, its entry is masked, rewritten and unmasked.  If an interrupt comes while
 *             the entry is masked, the device remembers it and sends it afterwards (PCI 3.0, 6.8.3.5).  To
 *             move an input of an IOAPIC, its target register is written, without masking: an edge that comes
 *             while the input is masked would be lost.  The target may change while a level-triggered
 *             interrupt is being handled, because the EOI message contains only the vector, which does not
 *             change.
 *             A CPU that must take no more device interrupts gets one last interrupt of the lowest priority.
 *             When the CPU has taken this interrupt, no interrupt that was sent to the CPU before it is left.
 *             After a move, the next interrupt may arrive on the new CPU while the handler still runs on the
 *             old one.  The new CPU only counts it in `pending`, and the CPU that runs the handler runs it
 *             again.
 * INVARIANTS  I1  a handler runs on one CPU at a time, and a run begins after the last interrupt that was
 *             counted
 *             I2  source.cpu is in source.allowed and in intr_cpus, once a CPU takes interrupts
 * LOCKING     [c] constant once registered: at boot, by one CPU  [i] intr_lock  [a] atomic
 * SEE ALSO    docs/psets.md, tests/test_intr.py
 */
#include "intr/intr.h"

#include "disp/disp.h"
#include "intr/route.h"
#include "lib/cpu.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/cpustat.h"
#include "stat/kstat.h"
#include "stat/panic.h"
#include "stat/trace.h"
#include "x86/apic.h"
#include "x86/trap.h"

/* The target's APIC id in bits 12-19; fixed delivery, edge triggered: Intel SDM vol. 3, 10.11. */
#define MSI_ADDR 0xfee00000ul

static struct source {
    void (*fn)(void *);       /* [c] handler; NULL: the interrupt is not in use */
    void *arg;                /* [c] */
    struct intr_msi msi;      /* [c] .set NULL: an input of an IOAPIC */
    unsigned wanted;          /* [c] CPU where the interrupt should arrive */
    unsigned cpu;             /* [i] CPU where the interrupt arrives */
    struct cpumask allowed;   /* [i] CPUs where the interrupt is allowed to arrive */
    uint64_t moves;           /* [i] times that the interrupt has moved to another CPU */
    _Atomic uint32_t pending; /* [a] arrivals that the handler has not served yet */
} source[INTR_MAX];

const char *intr_names[INTR_MAX];
static unsigned nirq = INTR_NISA; /* [i] 1 + highest number in use or reserved */
static struct cpumask intr_cpus;  /* [i] CPUs that take device interrupts */
static uint16_t narrive[CPU_MAX]; /* [i] by CPU: device interrupts that arrive on it */
static struct spinlock intr_lock = SPINLOCK_INIT(RANK_INTR);

/* Names of the counts of each CPU; from FIRST_POKE on, the reasons of pokes. */
static const char *const cpu_names[] = {"device",     "timer", "poke", "tlb", "settle", "spurious",
#define X(id, name) name,
                                        INTR_POKES(X)
#undef X
};
enum { FIRST_POKE = 6 };

/* ---- taking interrupts ---- */

/*
 * Handles one arrival of device interrupt `irq`, or leaves the arrival to the CPU that is running
 * the handler now (I1).
 */
static void handle_device_intr(unsigned irq)
{
    struct source *s = &source[irq];
    struct cpu *c = this_cpu();
    struct intr_cpu *ic = c->intr;
    uint64_t begin = rdtsc();
    uint32_t n;

    c->stat->ithr++;
    ic->dev[irq].count++;
    if (atomic_fetch_add(&s->pending, 1) == 0)
        do {
            n = atomic_load(&s->pending);
            s->fn(s->arg);
        } while (atomic_fetch_sub(&s->pending, n) != n);
    apic_eoi();
    ic->dev[irq].tsc += rdtsc() - begin;
}

static const char *source_name(unsigned vec)
{
    switch (vec) {
    case VEC_TIMER:
        return "timer";
    case IPI_RESCHED:
        return "poke";
    case IPI_TLB:
        return "tlb";
    case IPI_SETTLE:
        return "settle";
    }
    return vec >= VEC_IRQ0 && vec < VEC_IRQ0 + INTR_MAX && source[vec - VEC_IRQ0].fn != NULL
               ? intr_names[vec - VEC_IRQ0]
               : "spurious";
}

void intr_dispatch(unsigned vec, struct regs *r)
{
    struct intr_cpu *ic = this_cpu()->intr;

    TRACE(INTR, vec, trace_name(source_name(vec)), 0);
    if (vec == VEC_TIMER) {
        ic->timer++;
        apic_eoi();
        timer_interrupt();
    } else if (vec == IPI_RESCHED) {
        ic->poke++;
        apic_eoi();
        disp_poked();
    } else if (vec == IPI_TLB) {
        ic->tlb++;
        apic_eoi();
        vm_tlb_ipi();
    } else if (vec == IPI_SETTLE) {
        apic_eoi();
        ic->settle++;
    } else if (vec >= VEC_IRQ0 && vec < VEC_IRQ0 + INTR_MAX && source[vec - VEC_IRQ0].fn != NULL) {
        handle_device_intr(vec - VEC_IRQ0);
    } else {
        ic->spurious++;
        if (vec != VEC_SPURIOUS)
            apic_eoi();
    }
}

void intr_poke(unsigned cpu, enum intr_poke why)
{
    TRACE(POKE, cpu, trace_name(cpu_names[FIRST_POKE + why] + sizeof "poke"), 0);
    atomic_fetch_add_explicit(&cpus[cpu]->intr->poked[why], 1, memory_order_relaxed);
    x86_send_ipi(cpu, IPI_RESCHED);
}

/* ---- where interrupts arrive (intr_lock held) ---- */

/* The CPU on which `s` should arrive; CPU_MAX: no allowed CPU takes interrupts. */
static unsigned choose_intr_cpu(const struct source *s)
{
    struct cpumask cand = cpumask_and(&intr_cpus, &s->allowed);
    struct intr_route r = {
        .topo = &lgrp_topo, .cand = &cand, .narrive = narrive, .wanted = s->wanted};

    return intr_route(&r);
}

/* Moves interrupt `irq` to CPU `cpu`. */
static void aim_source_at_cpu(unsigned irq, unsigned cpu)
{
    struct source *s = &source[irq];

    narrive[s->cpu]--;
    narrive[cpu]++;
    s->cpu = cpu;
    s->moves++;
    if (s->msi.set != NULL)
        s->msi.set(s->msi.dev, s->msi.entry, MSI_ADDR | (uint64_t)cpus[cpu]->apic_id << 12,
                   VEC_IRQ0 + irq);
    else
        ioapic_retarget(irq, cpus[cpu]->apic_id);
}

/*
 * Sets up interrupt `irq` and chooses its CPU; the hardware does not send it there yet.  `wanted`:
 * the wanted CPU, or CPU_MAX.
 */
static void add_intr_source(unsigned irq, unsigned wanted, void (*fn)(void *), void *arg,
                            const char *name)
{
    struct source *s = &source[irq];

    memset(&s->allowed, 0xff, sizeof s->allowed);
    s->arg = arg;
    intr_names[irq] = name;
    s->wanted = wanted;
    s->cpu = choose_intr_cpu(s);
    if (s->cpu == CPU_MAX)
        s->cpu = 0; /* no CPU takes interrupts yet: the boot CPU will be the first */
    if (wanted == CPU_MAX)
        s->wanted = s->cpu;
    narrive[s->cpu]++;
    /* `fn` is set last, because intr_dispatch() calls the handler from now on. */
    atomic_store((void (*_Atomic *)(void *))&s->fn, fn);
}

int intr_register_isa(unsigned irq, void (*fn)(void *), void *arg, const char *name)
{
    int err = irq >= INTR_NISA ? -ENODEV : 0;

    spin_lock(&intr_lock);
    if (err == 0 && source[irq].fn != NULL)
        err = -EBUSY;
    if (err == 0) {
        add_intr_source(irq, CPU_MAX, fn, arg, name);
        err = ioapic_route(irq, VEC_IRQ0 + irq, cpus[source[irq].cpu]->apic_id);
        if (err != 0) {
            narrive[source[irq].cpu]--;
            source[irq].fn = NULL;
        }
    }
    spin_unlock(&intr_lock);
    return err;
}

int intr_register_msi(unsigned cpu, void (*fn)(void *), void *arg, const char *name,
                      const struct intr_msi *msi)
{
    int err = -EBUSY;

    spin_lock(&intr_lock);
    if (nirq < INTR_MAX) {
        source[nirq].msi = *msi;
        add_intr_source(nirq, cpu, fn, arg, name);
        aim_source_at_cpu(nirq, source[nirq].cpu);
        source[nirq++].moves = 0;
        err = 0;
    }
    spin_unlock(&intr_lock);
    return err;
}

int intr_allow(unsigned irq, const struct cpumask *m)
{
    int err = 0;

    if (irq >= INTR_MAX || source[irq].fn == NULL)
        return -ENOENT;
    spin_lock(&intr_lock);
    if (!cpumask_intersects(m, &intr_cpus)) {
        err = -EINVAL;
    } else {
        source[irq].allowed = *m;
        if (!cpumask_test(m, source[irq].cpu))
            aim_source_at_cpu(irq, choose_intr_cpu(&source[irq]));
    }
    spin_unlock(&intr_lock);
    return err;
}

void intr_cpu_enable(unsigned cpu)
{
    spin_lock(&intr_lock);
    cpumask_set(&intr_cpus, cpu);
    for (unsigned irq = 0; irq < nirq; irq++) {
        struct source *s = &source[irq];

        if (s->fn != NULL && s->wanted == cpu && s->cpu != cpu && cpumask_test(&s->allowed, cpu))
            aim_source_at_cpu(irq, cpu);
    }
    spin_unlock(&intr_lock);
}

void intr_settle(unsigned cpu)
{
    _Atomic uint64_t *n = &cpus[cpu]->intr->settle;
    uint64_t before = *n;

    x86_send_ipi(cpu, IPI_SETTLE);
    while (*n == before)
        cpu_pause();
}

int intr_cpu_disable(unsigned cpu)
{
    unsigned stuck = INTR_MAX;

    spin_lock(&intr_lock);
    cpumask_clear(&intr_cpus, cpu);
    for (unsigned irq = 0; irq < nirq && stuck == INTR_MAX; irq++)
        if (source[irq].fn != NULL && source[irq].cpu == cpu &&
            choose_intr_cpu(&source[irq]) == CPU_MAX)
            stuck = irq;
    if (stuck != INTR_MAX)
        cpumask_set(&intr_cpus, cpu);
    for (unsigned irq = 0; irq < nirq && stuck == INTR_MAX; irq++)
        if (source[irq].fn != NULL && source[irq].cpu == cpu)
            aim_source_at_cpu(irq, choose_intr_cpu(&source[irq]));
    spin_unlock(&intr_lock);
    if (stuck == INTR_MAX) {
        intr_settle(cpu);
        return 0;
    }
    warn("CPU %u keeps its interrupts: %s (irq %u) may arrive nowhere else", cpu, intr_names[stuck],
         stuck);
    return -EBUSY;
}

bool intr_next(unsigned irq, struct intr_info *out)
{
    for (; irq < INTR_MAX; irq++) {
        const struct source *s = &source[irq];

        if (s->fn == NULL)
            continue;
        spin_lock(&intr_lock);
        *out =
            (struct intr_info){intr_names[irq], irq, VEC_IRQ0 + irq, s->cpu, s->moves, s->allowed};
        spin_unlock(&intr_lock);
        return true;
    }
    return false;
}

/* ---- counting interrupts ---- */

static void intr_cpu_snapshot(struct kstat *ks, uint64_t *out)
{
    const struct cpu *c = ks->arg;
    const struct intr_cpu *ic = c->intr;

    *out++ = c->stat->ithr;
    *out++ = ic->timer;
    *out++ = ic->poke;
    *out++ = ic->tlb;
    *out++ = ic->settle;
    *out++ = ic->spurious;
    for (unsigned i = 0; i < POKE_COUNT; i++)
        *out++ = ic->poked[i];
}

void intr_stats_init(void)
{
    for (unsigned i = 0; i < ncpu; i++) {
        struct kstat *ks = kmem_zalloc(sizeof *ks);

        if (ks == NULL)
            panic("no memory for the interrupt statistics of CPU %u", i);
        *ks = (struct kstat){.module = "intr",
                             .instance = (int)i,
                             .name = "cpu",
                             .kclass = "misc",
                             .nstat = array_size(cpu_names),
                             .names = cpu_names,
                             .snapshot = intr_cpu_snapshot,
                             .arg = cpus[i]};
        kstat_register(ks);
    }
}

void intr_cpu_init(struct cpu *c)
{
    c->intr = kmem_alloc_node(sizeof *c->intr, c->node);
    if (c->intr == NULL)
        panic("no memory for the interrupt counts of CPU %u", c->id);
    memset(c->intr, 0, sizeof *c->intr);
}

void intr_init(void)
{
}
