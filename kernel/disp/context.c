// SPDX-License-Identifier: MIT
/*
 * context.c - the processor state that belongs to a thread: see context.h.
 *
 * THEORY      The kernel itself does not use the FPU.  So the FPU state of a user thread stays in the CPU
 *             while the thread runs in the kernel, and is saved only when the CPU switches to another thread.
 */
#include "disp/context.h"
#include "disp/disp.h"

#include "lib/string.h"
#include "mem/kstack.h"
#include "x86/asm.h"
#include "x86/trap_offsets.h"
#include "x86/trap.h"

_Static_assert(offsetof(struct thread, ast) == OFF_THREAD_AST, "trap_offsets.h");
_Static_assert(offsetof(struct thread, ksp) == OFF_THREAD_KSP, "trap_offsets.h");

struct regs *thread_regs(struct thread *t)
{
    return (struct regs *)(t->kstack + KSTACK_SIZE) - 1;
}

void thread_fpu_save(struct thread *t)
{
    fpu_save(t->fpu);
}

void thread_fpu_load(struct thread *t)
{
    fpu_load(t->fpu);
}

void thread_fpu_init(struct thread *t)
{
    memcpy(t->fpu, &fpu_clean, FPU_SIZE);
    if (t == curthread)
        fpu_load(t->fpu);
}

void thread_set_fsbase(uint64_t base)
{
    irq_push();
    curthread->fsbase = base;
    wrmsr(MSR_FSBASE, base);
    irq_pop();
}

void thread_set_gsbase(uint64_t base)
{
    irq_push();
    curthread->gsbase = base;
    wrmsr(MSR_KGSBASE, base);
    irq_pop();
}

void disp_ast(struct regs *r)
{
    atomic_fetch_and(&curthread->ast, ~(uint32_t)AST_REGS); /* entry.S now loads all registers */
    if (unlikely(atomic_load(&curthread->ast) & AST_LIFTED))
        class_lifted(curthread);
    if (atomic_load(&curthread->ast) & AST_RESCHED)
        disp_preempt();
    sig_deliver(r);
}

void disp_interrupted(void)
{
    if (atomic_load_explicit(&curthread->ast, memory_order_relaxed) & AST_RESCHED)
        disp_preempt();
}
