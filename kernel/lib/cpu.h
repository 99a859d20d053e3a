// SPDX-License-Identifier: MIT
/*
 * cpu.h - the running CPU: its own data and its interrupt flag.
 *
 * THEORY      Data that only one CPU uses needs no lock and stays in that CPU's cache.  So each CPU has a
 *             struct cpu, in the memory of its own board; in the kernel the GS base points to it.  Each
 *             subsystem keeps its per-CPU state in its own struct, and struct cpu has a pointer to it.  So a
 *             subsystem does not see the state of another.  While interrupts are on, a thread can be preempted
 *             and continue on another CPU.  So code that uses per-CPU data turns interrupts off.
 * INVARIANTS  I1  nlock > 0 implies interrupts off
 *             I2  cpu->self == cpu (this_cpu() reads it)
 * LOCKING     [o] only by its own CPU with interrupts off  [a] atomic  [c] constant after boot
 */
#ifndef LIB_CPU_H
#define LIB_CPU_H

#include "lib/crng.h"
#include "lib/types.h"

struct thread;
#define CPU_HELD_MAX 8

struct cpu {
    struct cpu *self;      /* [c] assembly uses offsets 0, 8, 16, 24: trap_offsets.h */
    struct thread *thread; /* [o] the running thread: curthread */
    uint64_t kstack_top;   /* [o] top of the kernel stack of the current thread */
    uint64_t user_rsp;     /* [o] scratch of the system-call entry */
    uint32_t id;           /* [c] dense id, 0 is the boot CPU */
    uint32_t apic_id;      /* [c] */
    uint32_t node;         /* [c] memory node of the CPU's board */
    uint32_t lgrp;         /* [c] leaf lgroup of the CPU */
    uint32_t nlock;        /* [o] spin locks held + irq_push() depth */
    uint32_t irq_depth;    /* [o] nested interrupt handlers */
    uint64_t irq_flags;    /* [o] RFLAGS to restore (only IF) when nlock falls to 0 */
    _Atomic bool in_user;  /* [a] the CPU is in user mode: for the clock's time accounting */
    _Atomic bool idle;     /* [a] the CPU runs its idle thread */
    bool user_interrupted; /* [o] the current interrupt has interrupted user mode */
    struct disp_cpu *disp; /* [c] run queue, idle thread, counters of the dispatcher */
    struct mem_cpu *mem;   /* [c] page and slab magazines */
    int32_t unpageable;    /* [o] frames not yet added to the sum of mem_unpageable() */
    struct x86_cpu *arch;  /* [c] GDT, TSS, APIC state */
    struct vm_cpu *vm;     /* [c] active address space, TLB shootdown mailbox */
    struct cpu_stat *stat; /* [c] counters (stat/cpustat.h) */
    struct intr_cpu *intr; /* [c] counts of the CPU's interrupts (intr/intr.h) */
    /* [a] last events of the CPU (stat/trace.h); NULL: the trace was never on */
    struct trace_ring *trace;
    _Atomic uint32_t park;     /* [a] PARK_*: whether this CPU waits for another CPU (lib/park.h) */
    _Atomic uint64_t park_key; /* [a] the event for which this CPU waits */
    uint64_t rng;              /* [o] generator of the kernel's random numbers (lib/rng.h) */
    void *held[CPU_HELD_MAX];  /* [o] spin locks held, for rank checks (test builds) */
    struct crng crng;          /* [o] generator of programs' random numbers (lib/crng.h) */
};

extern struct cpu *cpus[CPU_MAX]; /* [c] by id; NULL for ids that do not exist */
extern unsigned ncpu;             /* [c] CPUs that exist */

/* this_cpu - the running CPU.  The result stays valid only while interrupts are off. */
static inline struct cpu *this_cpu(void)
{
    struct cpu *c;

    __asm__ volatile("movq %%gs:0, %0" : "=r"(c));
    return c;
}

/* this_cpu_id - the id of the running CPU; valid only while interrupts are off. */
static inline uint32_t this_cpu_id(void)
{
    uint32_t id;

    __asm__ volatile("movl %%gs:%c1, %0" : "=r"(id) : "i"(offsetof(struct cpu, id)));
    return id;
}

/* The current thread.  A preemption does not change the result, so interrupts can be on. */
static inline struct thread *curthread_get(void)
{
    struct thread *t;

    __asm__("movq %%gs:8, %0" : "=r"(t));
    return t;
}
#define curthread curthread_get()

/*
 * cpu_context - the reasons why this CPU must not switch threads.  Low 32 bits: nlock; high 32 bits: irq_depth.
 * 0: the thread is allowed to sleep.  One instruction reads both, so that both are from the same CPU.
 */
_Static_assert(offsetof(struct cpu, irq_depth) == offsetof(struct cpu, nlock) + 4,
               "cpu_context() reads both");
static inline uint64_t cpu_context(void)
{
    uint64_t v;

    __asm__ volatile("movq %%gs:%c1, %0" : "=r"(v) : "i"(offsetof(struct cpu, nlock)));
    return v;
}

static inline void cpu_pause(void)
{
    __asm__ volatile("pause" ::: "memory");
}

static inline uint64_t rdtsc(void)
{
    uint32_t lo, hi;

    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi)::"memory");
    return (uint64_t)hi << 32 | lo;
}

#define RFLAGS_IF 0x200 /* interrupts are on */

static inline bool irq_enabled(void)
{
    uint64_t f;

    __asm__ volatile("pushfq; popq %0" : "=r"(f)::"memory");
    return (f & RFLAGS_IF) != 0;
}

static inline void irq_disable(void)
{
    __asm__ volatile("cli" ::: "memory");
}

static inline void irq_enable(void)
{
    __asm__ volatile("sti" ::: "memory");
}

/*
 * irq_push, irq_pop - turn interrupts (and so preemption) off and on again.  Calls can be nested: the last
 * irq_pop() restores the state before the first irq_push().  Between them this_cpu() stays the same.
 */
static inline void irq_push(void)
{
    /* Until CLI, another CPU may continue the thread.  nlock is 0 on both CPUs then (I1). */
    __asm__ volatile("cmpl $0, %%gs:%c0\n jne 1f\n pushfq\n cli\n popq %%gs:%c1\n"
                     "1: incl %%gs:%c0" ::"i"(offsetof(struct cpu, nlock)),
                     "i"(offsetof(struct cpu, irq_flags))
                     : "memory", "cc");
}

static inline void irq_pop(void)
{
    __asm__ volatile("decl %%gs:%c0\n jne 1f\n testl %2, %%gs:%c1\n je 1f\n sti\n"
                     "1:" ::"i"(offsetof(struct cpu, nlock)),
                     "i"(offsetof(struct cpu, irq_flags)), "i"(RFLAGS_IF)
                     : "memory", "cc");
}

#endif
