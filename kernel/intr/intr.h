// SPDX-License-Identifier: MIT
/*
 * intr.h - interrupts: who handles a vector, on which CPU it arrives, and what has interrupted each CPU.
 *
 * LOCKING     intr_lock (RANK_INTR) guards where interrupts arrive; counts are a CPU's own
 * SEE ALSO    intr.c, route.h (the policy), docs/psets.md
 */
#ifndef INTR_INTR_H
#define INTR_INTR_H

#include "lib/cpumask.h"
#include "lib/types.h"
#include "x86/ipi.h"

struct cpu;

enum {
    INTR_NISA = 16,
    INTR_MAX = VEC_TIMER - VEC_IRQ0
}; /* interrupts of the ISA bus; of all devices together */

/* Why one CPU interrupts another to look at its run queue. */
#define INTR_POKES(X)                                                                              \
    X(WAKEUP, "poke wakeup")     /* a thread was queued there that is to run at once        */     \
    X(STEAL, "poke steal")       /* a thread waits elsewhere: come and take it               */    \
    X(SLICE, "poke slice")       /* a thread waits there: from now on time slices count      */    \
    X(SIGNAL, "poke signal")     /* the thread that runs there has a signal                  */    \
    X(PRIORITY, "poke priority") /* priorities changed                                       */    \
    X(MOVE, "poke move")         /* its thread may no longer run there: bound, set, off-line */

enum intr_poke {
#define X(id, name) POKE_##id,
    INTR_POKES(X)
#undef X
        POKE_COUNT
};

/* What has interrupted one CPU. */
struct intr_cpu {
    struct {
        uint64_t count;      /* times it arrived here             */
        uint64_t tsc;        /* cycles spent in its handler here  */
    } dev[INTR_MAX];         /* [o] by interrupt number                     */
    uint64_t timer;          /* [o] the CPU's own timer                     */
    uint64_t poke;           /* [o] another CPU's poke                      */
    uint64_t tlb;            /* [o] cross-calls: forget translations        */
    _Atomic uint64_t settle; /* [o] cross-calls: take what is pending       */
    uint64_t spurious;       /* [o] nobody's                                */
    _Atomic uint64_t poked
        [POKE_COUNT]; /* [a] pokes sent to it, by reason; several may arrive as one interrupt */
};

/* intr_init - take over the vectors above 31.  Boot CPU, after apic_init(). */
void intr_init(void);
/* intr_cpu_init - the counts of CPU `c`, in its node's memory; before it takes interrupts. */
void intr_cpu_init(struct cpu *c);
/* intr_stats_init - the kstats; once all CPUs have their data. */
void intr_stats_init(void);

/*
 * intr_register_isa - call fn(arg) in interrupt context for ISA interrupt `irq`, on a CPU where few arrive.
 * -EBUSY: taken; -ENODEV: no IOAPIC has that input.
 */
int intr_register_isa(unsigned irq, void (*fn)(void *), void *arg, const char *name);

/* A message of a device: set() makes entry `entry` of `dev` write `data` to `addr`, and loses none meanwhile. */
struct intr_msi {
    void (*set)(void *dev, unsigned entry, uint64_t addr, uint32_t data);
    void *dev;
    unsigned entry;
};
/*
 * intr_register_msi - call fn(arg) in interrupt context for a message-signalled interrupt, which is to arrive on CPU
 * `cpu` or near it; sets it there.  `name` stays.  -EBUSY: no vector is left.
 */
int intr_register_msi(unsigned cpu, void (*fn)(void *), void *arg, const char *name,
                      const struct intr_msi *msi);

/*
 * intr_allow - from now on interrupt `irq` arrives on CPUs of `m` alone; it moves if it must.
 * -ENOENT: no such interrupt; -EINVAL: no CPU of `m` takes interrupts.
 */
int intr_allow(unsigned irq, const struct cpumask *m);
/*
 * intr_cpu_enable - CPU `cpu` takes device interrupts; those that want it come (back).
 * intr_cpu_disable - those that arrive there move away; none arrives there any more when it returns.  -EBUSY, none
 * moved and the interrupt named in the log: one may arrive nowhere else.  It waits for the CPU: no spin lock is held.
 */
void intr_cpu_enable(unsigned cpu);
int intr_cpu_disable(unsigned cpu);
/*
 * intr_settle - CPU `cpu` has taken all that had arrived there before an interrupt of the lowest priority, which comes
 * now.  Waits for it: no spin lock is held.
 */
void intr_settle(unsigned cpu);
/* intr_poke - make CPU `cpu` look at its run queue. */
void intr_poke(unsigned cpu, enum intr_poke why);

struct intr_info {
    const char *name;
    unsigned irq, vector, cpu; /* irq: 0 .. 15 of the ISA bus, messages from 16 */
    uint64_t moves;            /* times it was given another CPU                */
    struct cpumask allowed;
};
/* intr_next - the first interrupt at or after `irq` that somebody handles; false: there is none. */
bool intr_next(unsigned irq, struct intr_info *out);

/* ---- implemented by vm/ ---- */
/* vm_tlb_ipi - the handler of IPI_TLB: carry out the shootdown requests of other CPUs.  Interrupts off. */
void vm_tlb_ipi(void);

#endif
