// SPDX-License-Identifier: MIT
/*
 * desc.c - descriptor tables: segments and task state of each CPU, one interrupt table for all CPUs.
 *
 * THEORY      64-bit mode uses segments only for privilege levels.  The task-state segment names the stack on
 *             which an entry from user mode starts.  It also names three separate stacks (IST), for
 *             non-maskable interrupts, double faults and machine checks.  These can occur at any instruction,
 *             even while the stack pointer is still that of the program, or when the kernel stack is used up.
 * SEE ALSO    Intel SDM vol. 3, 3.4.5, 6.14, 7.7; AMD64 APM vol. 2, 6.1 (SYSCALL)
 */
#include "lib/cpu.h"
#include "stat/panic.h"
#include "x86/arch.h"
#include "x86/asm.h"
#include "x86/features.h"
#include "x86/trap.h"

struct idt_gate {
    uint16_t off_lo, sel;
    uint8_t ist, type;
    uint16_t off_mid;
    uint32_t off_hi, zero;
};

struct desc_ptr {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

extern char trap_stubs[]; /* 256 entries of 16 bytes each (entry.S) */
extern void syscall_entry(void);

static struct idt_gate idt[256] __attribute__((aligned(16)));

static const uint64_t gdt_template[GDT_WORDS] = {
    0,
    0x00af9a000000ffff, /* 0x08 kernel code */
    0x00cf92000000ffff, /* 0x10 kernel data */
    0x00cff2000000ffff, /* 0x18 user data   */
    0x00affa000000ffff, /* 0x20 user code   */
};

static void idt_load(void)
{
    struct desc_ptr p = {sizeof idt - 1, (uint64_t)idt};

    __asm__ volatile("lidt %0" ::"m"(p));
}

/* Points a vector at its stub in entry.S.  `ist`: number of the separate stack, 1 to 3; 0: none. */
static void set_idt_gate(unsigned vec, uint8_t ist)
{
    uint64_t a = (uint64_t)trap_stubs + vec * 16;

    idt[vec] = (struct idt_gate){
        .off_lo = (uint16_t)a,
        .sel = SEL_KCODE,
        .ist = ist,
        .type = vec == 3 || vec == 4 ? 0xee : 0x8e, /* programs may execute int3 and into */
        .off_mid = (uint16_t)(a >> 16),
        .off_hi = (uint32_t)(a >> 32)};
}

void trap_early_init(void)
{
    for (unsigned v = 0; v < 256; v++)
        set_idt_gate(v, 0);
    idt_load();
}

/* Loads the GDT and all segment registers.  This clears the GS base, so the caller must set it again. */
static void gdt_load(uint64_t *gdt)
{
    struct desc_ptr p = {GDT_WORDS * 8 - 1, (uint64_t)gdt};

    __asm__ volatile("lgdt %0\n"
                     "movw %w1, %%ds\n movw %w1, %%es\n movw %w1, %%ss\n"
                     "xorl %%eax, %%eax\n movw %%ax, %%fs\n movw %%ax, %%gs\n"
                     "pushq %2\n leaq 1f(%%rip), %%rax\n pushq %%rax\n lretq\n"
                     "1:" ::"m"(p),
                     "r"(SEL_KDATA), "i"((uint64_t)SEL_KCODE)
                     : "rax", "memory");
}

void trap_init_cpu(struct cpu *c)
{
    struct x86_cpu *a = c->arch;
    uint64_t tss = (uint64_t)&a->tss;

    for (unsigned i = 0; i < GDT_WORDS; i++)
        a->gdt[i] = gdt_template[i];
    a->gdt[5] = 0x0000890000000000 | ((tss & 0xffffff) << 16) | ((tss >> 24 & 0xff) << 56) |
                (sizeof a->tss - 1);
    a->gdt[6] = tss >> 32;
    for (unsigned i = 0; i < 3; i++)
        a->tss.ist[i] = (uint64_t)a->ist_stack[i] + sizeof a->ist_stack[i];
    a->tss.iomap = sizeof a->tss;
    gdt_load(a->gdt);
    wrmsr(MSR_GSBASE, (uint64_t)c);
    wrmsr(MSR_KGSBASE, 0);
    __asm__ volatile("ltr %w0" ::"r"(SEL_TSS));
    if (c->id == 0) {
        set_idt_gate(2, 1);
        set_idt_gate(8, 2);
        set_idt_gate(18, 3);
    }
    idt_load();

    wrmsr(MSR_EFER, rdmsr(MSR_EFER) | 1); /* SCE */
    /* SYSCALL loads cs 0x08, ss 0x10; SYSRET adds to 0x10, so it loads ss 0x18|3, cs 0x20|3. */
    wrmsr(MSR_STAR, (uint64_t)0x10 << 48 | (uint64_t)SEL_KCODE << 32);
    wrmsr(MSR_LSTAR, (uint64_t)syscall_entry);
    wrmsr(MSR_FMASK, 0x47700); /* SYSCALL clears TF, IF, DF, IOPL, NT, AC */
    if (cpu_has_rdtscp)
        wrmsr(MSR_TSC_AUX, (uint64_t)c->lgrp << 12 | c->id);
    features_enable();
}

void trap_set_kstack(uint64_t top)
{
    struct cpu *c = this_cpu();

    c->kstack_top = top;
    c->arch->tss.rsp0 = top;
}
