// SPDX-License-Identifier: MIT
/*
 * trap.c - handles exceptions and interrupts after entry.S has saved the registers.
 *
 * THEORY      The processor enters the kernel for three reasons: a system call; an exception, which the
 *             running instruction causes (page fault, division by zero); and an interrupt, which a device or
 *             another CPU causes.  System calls go from entry.S to syscall_dispatch(); the others come to
 *             trap().  An exception in a program becomes a signal, except a page fault that the VM system can
 *             resolve.  An exception in the kernel is a bug, except at the few instructions that touch user
 *             memory.  The exception table (.ex_table) gives for each of these the address where the kernel
 *             continues.  Interrupt handlers run with interrupts off, on the kernel stack of the interrupted
 *             thread.  If the interrupted kernel code had interrupts on, a thread of higher priority can take
 *             the CPU after the handler (preemption).
 * INVARIANTS  I1  handlers run with the direction flag and AC clear
 * LOCKING     This file has no locks of its own.
 */
#include "x86/trap.h"

#include "lib/cpu.h"
#include "lib/errno.h"
#include "lib/park.h"
#include "lib/string.h"
#include "stat/cpustat.h"
#include "stat/log.h"
#include "stat/panic.h"
#include "x86/apic.h"
#include "x86/asm.h"
#include "x86/features.h"
#include "x86/mmu.h"
#include "x86/trap_offsets.h"
#include "x86/uaccess.h"

_Static_assert(offsetof(struct cpu, thread) == OFF_CPU_CURTHREAD, "trap_offsets.h");
_Static_assert(offsetof(struct cpu, kstack_top) == OFF_CPU_KSTACK, "trap_offsets.h");
_Static_assert(offsetof(struct cpu, user_rsp) == OFF_CPU_USER_RSP, "trap_offsets.h");
_Static_assert(offsetof(struct cpu, in_user) == OFF_CPU_IN_USER, "trap_offsets.h");
_Static_assert(sizeof(struct regs) == SIZE_REGS, "trap_offsets.h");

enum {
    VEC_DE = 0,
    VEC_DB = 1,
    VEC_NMI = 2,
    VEC_BP = 3,
    VEC_OF = 4,
    VEC_BR = 5,
    VEC_UD = 6,
    VEC_DF = 8,
    VEC_GP = 13,
    VEC_PF = 14,
    VEC_MF = 16,
    VEC_AC = 17,
    VEC_XM = 19
};

/* Linux's signal and si_code for each exception a program can cause. */
static const struct {
    uint8_t sig, code;
    const char *name;
} exceptions[32] = {
    [VEC_DE] = {8, 1, "divide error"},        [VEC_DB] = {5, 2, "debug"},
    [VEC_BP] = {5, 0x80, "breakpoint"},       [VEC_OF] = {11, 0x80, "overflow"},
    [VEC_BR] = {11, 0x80, "bound range"},     [VEC_UD] = {4, 2, "invalid opcode"},
    [VEC_DF] = {0, 0, "double fault"},        [VEC_GP] = {11, 0x80, "general protection"},
    [VEC_MF] = {8, 3, "x87 floating point"},  [VEC_AC] = {7, 1, "alignment check"},
    [VEC_XM] = {8, 3, "SIMD floating point"}, [11] = {7, 0x80, "segment not present"},
    [12] = {7, 0x80, "stack segment"},        [VEC_PF] = {11, 1, "page fault"},
};

struct ex_entry {
    uint64_t at, go;
};
extern const struct ex_entry __ex_table_start[], __ex_table_end[];

/* If the faulting instruction is in the exception table, continues at its fixup address and returns true. */
static bool fixup_exception(struct regs *r)
{
    for (const struct ex_entry *e = __ex_table_start; e < __ex_table_end; e++)
        if (e->at == r->rip) {
            r->rip = e->go;
            return true;
        }
    return false;
}

/*
 * Prints the registers and panics.  `addr`: the address that was accessed, for page faults and
 * double faults; else 0.
 */
static noreturn void panic_on_exception(struct regs *r, unsigned vec, uint64_t addr)
{
    log_enter_panic(); /* this CPU may hold the log's lock */
    kprintf("rax %016lx rbx %016lx rcx %016lx rdx %016lx\n", r->rax, r->rbx, r->rcx, r->rdx);
    kprintf("rsi %016lx rdi %016lx rbp %016lx rsp %016lx\n", r->rsi, r->rdi, r->rbp, r->rsp);
    kprintf("r8  %016lx r9  %016lx r10 %016lx r11 %016lx\n", r->r8, r->r9, r->r10, r->r11);
    kprintf("r12 %016lx r13 %016lx r14 %016lx r15 %016lx\n", r->r12, r->r13, r->r14, r->r15);
    /* a double fault in the guard pages of a stack (mem/kstack.c) */
    if (vec == VEC_DF && mmu_on_stack((const void *)addr))
        panic("a kernel stack is used up at %#lx", r->rip);
    panic("%s in the kernel at %#lx, error %#lx, address %#lx",
          vec < 32 && exceptions[vec].name ? exceptions[vec].name : "exception", r->rip, r->err,
          addr);
}

static void handle_page_fault(struct regs *r)
{
    uint64_t addr = read_cr2();
    bool write = (r->err & 2) != 0, exec = (r->err & 16) != 0;
    int sig, code = 0;

    if (regs_user(r)) {
        irq_enable();
        /*
         * A supervisor access from user mode happens when iret or lret reads a descriptor for a bad
         * selector.
         */
        if ((r->err & 4) == 0) {
            sig_fault(11, 0x80, 0);
            return;
        }
        sig = proc_page_fault(addr, write, exec, &code);
        if (sig > 0)
            sig_fault(sig, code, addr);
        else if (sig == -ENOMEM)
            oom_page_fault(true);
        return;
    }
    /* The kernel accesses user memory only in instructions of the exception table, and without spin locks. */
    if (addr < USER_TOP && (r->err & 8) == 0 && (r->rflags & 0x200) && this_cpu()->nlock == 0 &&
        !exec) {
        const struct ex_entry *e = __ex_table_start;

        while (e < __ex_table_end && e->at != r->rip)
            e++;
        if (e < __ex_table_end) {
            irq_enable();
            while ((sig = proc_page_fault(addr, write, false, &code)) == -ENOMEM &&
                   oom_page_fault(false))
                ;
            irq_disable();
            if (sig != 0)
                r->rip = e->go;
            return;
        }
    }
    if (!fixup_exception(r))
        panic_on_exception(r, VEC_PF, addr);
}

/* trap - handle exception or interrupt `vec`.  entry.S calls it with interrupts off. */
void trap(struct regs *r, unsigned vec);
void trap(struct regs *r, unsigned vec)
{
    struct cpu *c;

    if (cpu_has_smap)
        __asm__ volatile("clac" ::: "cc");
    if (vec == VEC_PF) {
        handle_page_fault(r);
        return;
    }
    if (vec >= 32) {
        c = this_cpu();
        c->irq_depth++;
        c->stat->intr++;
        c->user_interrupted = regs_user(r);
        intr_dispatch(vec, r);
        c->irq_depth--;
        if (!regs_user(r) && c->irq_depth == 0 && c->nlock == 0 && (r->rflags & 0x200) != 0)
            disp_interrupted();
        return;
    }
    if (vec == VEC_NMI && park_nmi(r) && !atomic_load(&park_nmi_is_all))
        return;
    if (vec == VEC_NMI) {
        report_hang_on_nmi(r);
        return;
    }
    if (regs_user(r) && exceptions[vec].sig != 0) {
        irq_enable();
        sig_fault(exceptions[vec].sig, exceptions[vec].code, vec == VEC_GP ? 0 : r->rip);
        return;
    }
    if (vec == VEC_GP && fixup_exception(r))
        return;
    panic_on_exception(r, vec, vec == VEC_DF ? read_cr2() : 0);
}

/*
 * x86_bad_return - IRET to user mode has faulted on the saved registers.  Sends SIGSEGV to the thread and
 * returns to user mode with cleared registers.  entry.S calls it.
 */
void x86_bad_return(void);
void x86_bad_return(void)
{
    struct regs *r = (struct regs *)this_cpu()->kstack_top - 1;

    *r = (struct regs){.orig_rax = UINT64_MAX, .cs = SEL_UCODE, .ss = SEL_UDATA, .rflags = 0x202};
    irq_enable();
    sig_fault(11, 0x80, 0);
    x86_return_to_user(r);
}

const struct fpu_area fpu_clean = {
    .b = {0x7f, 0x03, [24] = 0x80, [25] = 0x1f}}; /* FCW 037f, MXCSR 1f80 */

void x86_fpu_sanitise(void *fxarea)
{
    /*
     * MXCSR: FXRSTOR faults on a reserved bit.  The DAZ bit is cleared, too, because some
     * processors do not have that bit.
     */
    *(uint32_t *)((char *)fxarea + 24) &= 0xffbf;
}
