// SPDX-License-Identifier: MIT
/*
 * trampoline.S - the first code of every CPU except the boot CPU.
 *
 * THEORY      A CPU starts in 16-bit real mode, at a page below 1 MiB that the start-up IPI names.  So
 *             smp_start() copies [trampoline, trampoline_end) to TRAMPOLINE_PHYS before it sends the IPI.
 *             This code switches to 64-bit mode, finds the CPU's stack by its APIC id in ap_stacks[], and
 *             calls ap_main().  A CPU without a stack there halts.
 *             All CPUs run this code at the same time, so it keeps its data in registers.  For a moment they
 *             share one stack, but only for a return address that is the same on all CPUs.
 * SEE ALSO    Intel SDM vol. 3, 8.4.4 (MP initialization)
 */
#define TRAMPOLINE_PHYS 0x8000

    .section .rodata
    .globl trampoline, trampoline_end
    .code16
trampoline:
    cli
    cld
    xorw %ax, %ax
    movw %ax, %ds
    lgdtl TRAMPOLINE_PHYS + (gdt_ptr - trampoline)
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $0x18, $(TRAMPOLINE_PHYS + (prot - trampoline))
    .code32
prot:
    movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movl $(TRAMPOLINE_PHYS + 0xff0), %esp
    movl $enable_long_mode, %eax
    call *%eax
    ljmp $0x08, $(TRAMPOLINE_PHYS + (long_mode - trampoline))
    .code64
long_mode:
    movabsq $ap_entry, %rax
    jmp *%rax

    .align 8
gdt:
    .quad 0
    .quad 0x00af9a000000ffff
    .quad 0x00cf92000000ffff
    .quad 0x00cf9a000000ffff
gdt_ptr:
    .word gdt_ptr - gdt - 1
    .long TRAMPOLINE_PHYS + (gdt - trampoline)
trampoline_end:

/* Not part of the copy, because this code loads the kernel's page tables, which do not map the trampoline. */
    .text
ap_entry:
    movq kernel_pml4, %rax
    movq %rax, %cr3
    movl $1, %eax
    cpuid
    shrl $24, %ebx
    movq ap_stacks(, %rbx, 8), %rsp
    testq %rsp, %rsp
    jz 1f
    xorl %ebp, %ebp
    movl %ebx, %edi
    call ap_main
1:  cli
    hlt
    jmp 1b

    .section .note.GNU-stack, "", @progbits
