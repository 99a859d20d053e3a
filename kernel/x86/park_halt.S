// SPDX-License-Identifier: MIT
/*
 * park_halt.S - what lib/park.h and lib/spinlock.h need in assembly.
 */
    .text

/* void park_halt(const uint32_t *state) - halt unless *state is 0; an NMI between look and halt skips the halt. */
    .globl park_halt, park_halted
park_halt:
    cmpl $0, (%rdi)
    je park_halted
    hlt
park_halted:
    ret

/* NAME_keep: NAME(%rdi, %rsi) without changing any register. */
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
    KEEP spin_wake
    KEEP spin_bad_sleep

    .section .note.GNU-stack, "", @progbits
