// SPDX-License-Identifier: MIT
/*
 * trap.h - entering and leaving the kernel, and the floating-point state.
 */
#ifndef X86_TRAP_H
#define X86_TRAP_H

#include "lib/types.h"
#include "x86/regs.h"

struct cpu;

/*
 * x86_return_to_user - return to user mode with registers *r, which lie at the top of the thread's kernel
 * stack.  Calls disp_ast() first while the thread has an AST pending.
 */
noreturn void x86_return_to_user(struct regs *r);
#define FPU_SIZE 512 /* bytes of an FXSAVE area */
struct fpu_area {
    uint8_t b[FPU_SIZE];
} __attribute__((aligned(16)));
extern const struct fpu_area fpu_clean; /* the state with which a program starts */
/* fpu_save, fpu_load - save, restore the FPU and SSE state.  `area`: FPU_SIZE bytes, 16-byte aligned. */
static inline void fpu_save(void *area)
{
    __asm__ volatile("fxsave64 (%0)" ::"r"(area) : "memory");
}
static inline void fpu_load(const void *area)
{
    __asm__ volatile("fxrstor64 (%0)" ::"r"(area) : "memory");
}
/* x86_fpu_sanitise - clear bits of an FXSAVE area from user memory that would make FXRSTOR fault. */
void x86_fpu_sanitise(void *fxarea);

/* trap_init_cpu - load the descriptor tables and system-call registers of the running CPU, which is `c`. */
void trap_init_cpu(struct cpu *c);
/* trap_early_init - install exception handlers on the boot CPU, before per-CPU memory exists. */
void trap_early_init(void);
/* trap_set_kstack - set the kernel stack for this CPU's next entry from user mode.  Interrupts are off. */
void trap_set_kstack(uint64_t top);
/* x86_enter_stack - call fn on the stack below `top`.  fn must not return. */
noreturn void x86_enter_stack(uint64_t top, void (*fn)(void));

/* ---- implemented by proc/ ---- */
/*
 * proc_page_fault - resolve a page fault at `addr` in the current address space.  Returns 0; a signal number,
 *                   with its si_code in *code; -ENOMEM; or -EINTR: the process is ending.  Interrupts are on;
 *                   can sleep.
 * sig_fault - send a signal to the current thread for an exception in user mode.  The signal is delivered even
 *             if it is blocked or ignored.
 * oom_page_fault - called when there is no memory for a page fault of the current process.  @user: the fault
 *                  was in user mode, not in the kernel.  Returns true: try again; false: the process ends with
 *                  SIGKILL, and a message was printed.  Sleeps.
 */
int proc_page_fault(uint64_t addr, bool write, bool exec, int *code);
void sig_fault(int sig, int code, uint64_t addr);
bool oom_page_fault(bool user);

/* ---- implemented by sys/ ---- */
/* syscall_dispatch - carry out the call in r->orig_rax; returns its result, for r->rax.  Interrupts are on. */
long syscall_dispatch(struct regs *r);

/* ---- implemented by disp/ ---- */
/*
 * disp_ast - do the pending work (AST) of the current thread before it returns to user mode.  Interrupts are on.
 * disp_interrupted - switch threads if needed, at the end of an interrupt of preemptible kernel code.
 *                    Interrupts are off.
 */
void disp_ast(struct regs *r);
void disp_interrupted(void);

/* ---- implemented by intr/ ---- */
/* intr_dispatch - handle interrupt `vec` (32 and up). */
void intr_dispatch(unsigned vec, struct regs *r);

/* ---- implemented by main.c ---- */
/* report_hang_on_nmi - handle a non-maskable interrupt that is not a wakeup (lib/park.h). */
void report_hang_on_nmi(struct regs *r);

#endif
