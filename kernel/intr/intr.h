// SPDX-License-Identifier: MIT
/*
 * intr.h - interrupts: the handler of each vector, the CPU on which it arrives, and counts for each CPU.
 *
 * LOCKING     intr_lock (RANK_INTR) guards the choice of CPUs.  [o] only by its own CPU  [a] atomic
 * SEE ALSO    intr.c, route.h (the policy), docs/psets.md
 */
#ifndef INTR_INTR_H
#define INTR_INTR_H

#include "lib/cpumask.h"
#include "lib/types.h"
#include "x86/ipi.h"

struct cpu;

/* INTR_NISA: interrupts of the ISA bus.  INTR_MAX: interrupts of all devices together. */
enum { INTR_NISA = 16, INTR_MAX = VEC_TIMER - VEC_IRQ0 };

/* Reasons why a CPU sends a reschedule IPI ("poke") to another CPU. */
#define INTR_POKES(X)                                                                              \
    X(WAKEUP, "poke wakeup")     /* a thread that must run at once was queued there */             \
    X(STEAL, "poke steal")       /* a thread waits on another CPU: steal it */                     \
    X(SLICE, "poke slice")       /* a thread waits there: end time slices again */                 \
    X(SIGNAL, "poke signal")     /* the thread that runs there has a signal */                     \
    X(PRIORITY, "poke priority") /* the priority of a thread there has changed */                  \
    X(MOVE, "poke move")         /* the thread there may have to leave the CPU */

enum intr_poke {
#define X(id, name) POKE_##id,
    INTR_POKES(X)
#undef X
        POKE_COUNT
};

/* The interrupts that one CPU has taken, by kind. */
struct intr_cpu {
    struct {
        uint64_t count;      /* number that arrived on this CPU */
        uint64_t tsc;        /* TSC cycles spent in the handler on this CPU */
    } dev[INTR_MAX];         /* [o] device interrupts, by number */
    uint64_t timer;          /* [o] the CPU's own timer */
    uint64_t poke;           /* [o] reschedule IPIs of other CPUs */
    uint64_t tlb;            /* [o] cross-calls: TLB shootdowns */
    _Atomic uint64_t settle; /* [o] cross-calls: intr_settle() */
    uint64_t spurious;       /* [o] vectors without a handler */
    /* [a] pokes sent to this CPU, by reason; several may arrive as one interrupt */
    _Atomic uint64_t poked[POKE_COUNT];
};

/* [c] the name of the device of each interrupt; NULL: the interrupt is not in use */
extern const char *intr_names[INTR_MAX];

/* intr_init - dispatch all vectors above 31.  Boot CPU, after apic_init(). */
void intr_init(void);
/* intr_cpu_init - allocate the counts of CPU `c`, in its node's memory.  Called before c takes interrupts. */
void intr_cpu_init(struct cpu *c);
/* intr_stats_init - register the kstats.  Called when all CPUs have their counts. */
void intr_stats_init(void);

/*
 * intr_register_isa - call fn(arg) in interrupt context for ISA interrupt `irq`, on a CPU with few
 * interrupts.  `name` must stay valid.  0; -EBUSY: the interrupt already has a handler; -ENODEV: no IOAPIC has
 * that input.
 */
int intr_register_isa(unsigned irq, void (*fn)(void *), void *arg, const char *name);

/*
 * A message-signalled interrupt (MSI) of a device: set() makes entry `entry` of `dev` write `data` to `addr`,
 * and loses no interrupt that comes during the change.
 */
struct intr_msi {
    void (*set)(void *dev, unsigned entry, uint64_t addr, uint32_t data);
    void *dev;
    unsigned entry;
};
/*
 * intr_register_msi - call fn(arg) in interrupt context for message-signalled interrupt *msi, which should
 * arrive on CPU `cpu` or near it (CPU_MAX: on a CPU with few interrupts).  Calls msi->set().  `name` must stay
 * valid.  0, or -EBUSY: no vector is left.
 */
int intr_register_msi(unsigned cpu, void (*fn)(void *), void *arg, const char *name,
                      const struct intr_msi *msi);

/*
 * intr_allow - make interrupt `irq` arrive only on CPUs of `m` from now on.  If the interrupt
 * arrives on a CPU outside `m`, the interrupt moves.  0; -ENOENT: no such interrupt; -EINVAL: no
 * CPU of `m` takes interrupts.
 */
int intr_allow(unsigned irq, const struct cpumask *m);
/*
 * intr_cpu_enable - make CPU `cpu` take device interrupts; interrupts whose wanted CPU is `cpu`
 * move to it.
 * intr_cpu_disable - move all device interrupts away from CPU `cpu`.  After a result of 0, no device interrupt
 * arrives there any more.  -EBUSY: one of the interrupts cannot go to any other CPU; then no
 * interrupt has moved, and the log names that one.  Waits for the CPU, so the caller must hold no
 * spin lock.
 */
void intr_cpu_enable(unsigned cpu);
int intr_cpu_disable(unsigned cpu);
/*
 * intr_settle - wait until CPU `cpu` has taken all device interrupts that were sent to it before.  The caller
 * must hold no spin lock.
 */
void intr_settle(unsigned cpu);
/* intr_poke - send a reschedule IPI to CPU `cpu`, which may be this one, and count the reason `why`. */
void intr_poke(unsigned cpu, enum intr_poke why);

struct intr_info {
    const char *name;
    unsigned irq, vector, cpu; /* irq: 0 .. 15 of the ISA bus, messages from 16 */
    uint64_t moves;            /* times that the interrupt has moved to another CPU */
    struct cpumask allowed;
};
/* intr_next - set *out for the first interrupt at or after `irq` that has a handler; false: there is none. */
bool intr_next(unsigned irq, struct intr_info *out);

/* ---- implemented by vm/ ---- */
/* vm_tlb_ipi - the handler of IPI_TLB: carry out the shootdown requests of other CPUs.  Interrupts are off. */
void vm_tlb_ipi(void);

#endif
