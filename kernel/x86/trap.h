// SPDX-License-Identifier: MIT
/*
 * trap.h - entering and leaving the kernel, and the floating-point state.
 */
#ifndef X86_TRAP_H
#define X86_TRAP_H

#include "lib/types.h"
#include "x86/regs.h"

struct cpu;

/* x86_return_to_user - leave the kernel with these registers (at the top of the kernel stack).  Handles asts first. */
noreturn void x86_return_to_user(struct regs *r);
#define FPU_SIZE 512 /* FXSAVE area */
struct fpu_area {
    uint8_t b[FPU_SIZE];
} __attribute__((aligned(16)));
extern const struct fpu_area fpu_clean; /* the state a program starts with */
/* fpu_save, fpu_load - the processor's state to and from a 16-byte aligned area of FPU_SIZE bytes. */
static inline void fpu_save(void *area)
{
    __asm__ volatile("fxsave64 (%0)" ::"r"(area) : "memory");
}
static inline void fpu_load(const void *area)
{
    __asm__ volatile("fxrstor64 (%0)" ::"r"(area) : "memory");
}
/* x86_fpu_sanitise - clear bits of a user-provided image that would fault on FXRSTOR. */
void x86_fpu_sanitise(void *fxarea);
/* Call-ups, filled in by the rooms above. */
struct trap_ops {
    /* A page fault at `addr`: as_fault on the current address space.  0 or a signal, *code; -ENOMEM. */
    int (*page_fault)(uint64_t addr, bool write, bool exec, int *code);
    /* A user-mode exception that ends in a signal. */
    void (*signal)(int sig, int code, uint64_t addr);
    /*
     * No memory for a fault of the current process, at an access of `user` code or of the kernel.  Returns true: it is
     * to be tried again; false: the process will end with SIGKILL, and a message says so.  Sleeps.
     */
    bool (*out_of_memory)(bool user);
    void (*syscall)(struct regs *r);
    /* Work is to be done before the thread returns to user mode; interrupts are on. */
    void (*ast)(struct regs *r);
    /* An interrupt of preemptible kernel code was handled: another thread may take over.  Interrupts are off. */
    void (*interrupted)(void);
};
extern struct trap_ops trap_ops;

/* trap_init_cpu - give CPU `c` (the one that runs) its descriptor tables and system-call registers. */
void trap_init_cpu(struct cpu *c);
/* trap_early_init - exception handlers for the boot CPU, before per-CPU memory exists. */
void trap_early_init(void);
/* trap_set_kstack - the stack on which the next entry from user mode starts. */
void trap_set_kstack(uint64_t top);
/* x86_enter_stack - call fn on the stack below `top`, never to return. */
noreturn void x86_enter_stack(uint64_t top, void (*fn)(void));
/* trap_nmi - what to do on a non-maskable interrupt. */
extern void (*trap_nmi)(struct regs *r);
/* irq_dispatch - filled in by intr: handle external vector `vec`. */
extern void (*irq_dispatch)(unsigned vec, struct regs *r);

#endif
