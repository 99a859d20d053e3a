// SPDX-License-Identifier: MIT
/*
 * park_halt.S - the assembly part of lib/park.h and lib/spinlock.h.
 */
    .text

/*
 * void park_halt(const uint32_t *state) - halt unless *state is 0 (PARK_NONE).
 * If a wakeup's NMI arrives between the test and the halt, park_nmi() moves rip to park_halted.  So no wakeup
 * is missed.
 */
    .globl park_halt, park_halted
park_halt:
    cmpl $0, (%rdi)
    je park_halted
    hlt
park_halted:
    ret

/*
 * void park_unblock_nmi(void) - return by IRET, which ends the blocking of NMIs.
 */
    .globl park_unblock_nmi
park_unblock_nmi:
    movq (%rsp), %rax
    leaq 8(%rsp), %rcx
    pushq $0x10                     /* SEL_KDATA */
    pushq %rcx
    pushfq
    pushq $0x08                     /* SEL_KCODE */
    pushq %rax
    iretq

/*
 * NAME_keep: calls NAME(%rdi, %rsi) and preserves all registers, so that inline assembly can call it cheaply.
 */
    .macro KEEP name
    .globl \name\()_keep
\name\()_keep:
    pushq %rbp
    movq %rsp, %rbp
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    call \name
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    popq %rbp
    ret
    .endm

    KEEP spin_wait
    KEEP spin_pass
    KEEP spin_bad_sleep

    .section .note.GNU-stack, "", @progbits
