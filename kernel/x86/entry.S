// SPDX-License-Identifier: MIT
/*
 * entry.S - the ways into the kernel and back (exceptions, interrupts, system calls), and the context switch.
 *
 * THEORY      Every entry builds a struct regs on the stack, calls C code with its address, and restores the
 *             registers from it.  Before a return to user mode the thread does its pending work (an AST: a
 *             signal, a reschedule).  SYSRET is the fast way back, but it loads rip from rcx and rflags from
 *             r11.  So it is used where these agree, as after most system calls; all other returns use IRET.
 *             A call without pending work has changed only rax, and C code preserves rbx and r12-r15.
 * INVARIANTS  I1  in the kernel the GS base is this CPU's struct cpu: SWAPGS is executed whenever the
 *                 privilege level changes, and only then
 *             I2  the registers of the interrupted program lie at the top of the thread's kernel stack (struct regs)
 *             I3  SYSRET is used only when rcx == rip, r11 == rflags and rip is a user address
 *             I4  a system call that changes other saved registers than rax sets AST_REGS
 * SEE ALSO    regs.h, trap.c
 */
#include "x86/trap_offsets.h"

    .text
/* Pushes rax and the fields before it in struct regs; then %rsp points to a whole struct regs. */
.macro SAVE_REGS
    pushq %rax
    pushq %r9
    pushq %r8
    pushq %r10
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %rcx
    pushq %r11
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
.endm
.macro RESTORE_REGS
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    popq %r11
    popq %rcx
    popq %rdi
    popq %rsi
    popq %rdx
    popq %r10
    popq %r8
    popq %r9
    popq %rax
.endm

    .globl syscall_entry
    .balign 16
syscall_entry:
    swapgs
    movq %rsp, %gs:OFF_CPU_USER_RSP
    movq %gs:OFF_CPU_KSTACK, %rsp
    pushq $0x1b                     /* ss: SEL_UDATA */
    pushq %gs:OFF_CPU_USER_RSP
    pushq %r11
    pushq $0x23                     /* cs: SEL_UCODE */
    pushq %rcx
    pushq $0
    movl %eax, %eax                 /* as on Linux, only 32 bits of the number count */
    pushq %rax
    SAVE_REGS
    movb $0, %gs:OFF_CPU_IN_USER
    sti
    movq %rsp, %rdi
    xorl %ebp, %ebp
    call syscall_dispatch
    cli
    movq %gs:OFF_CPU_CURTHREAD, %rcx
    cmpl $0, OFF_THREAD_AST(%rcx)
    jne syscall_with_ast
    movb $1, %gs:OFF_CPU_IN_USER    /* SYSCALL has loaded rcx and r11 from rip and rflags: I3, I4 */
    movq 4 * 8(%rsp), %rbp
    addq $6 * 8, %rsp
    popq %r11
    popq %rcx
    popq %rdi
    popq %rsi
    popq %rdx
    popq %r10
    popq %r8
    popq %r9
    movq 6 * 8(%rsp), %rsp          /* past rax, orig_rax, err, rip, cs, rflags: user rsp */
    swapgs
    sysretq

return_fast:
    movb $1, %gs:OFF_CPU_IN_USER
    movq 17 * 8(%rsp), %rcx         /* rip */
    cmpq %rcx, 7 * 8(%rsp)          /* is rcx == rip?  (I3) */
    jne return_iret
    movq 19 * 8(%rsp), %r11         /* rflags */
    cmpq %r11, 6 * 8(%rsp)
    jne return_iret
    movq %rcx, %rax
    shrq $47, %rax
    jnz return_iret
    RESTORE_REGS
    movq 5 * 8(%rsp), %rsp          /* past orig_rax, err, rip, cs, rflags: user rsp */
    swapgs
    sysretq

return_iret:
    RESTORE_REGS
    addq $16, %rsp
    swapgs
iret_user:
    iretq
    .pushsection .ex_table, "a"
    .quad iret_user, iret_failed
    .popsection
iret_failed:                        /* IRET refused the frame: send a signal */
    movq %gs:OFF_CPU_KSTACK, %rsp
    subq $SIZE_REGS, %rsp           /* I2: the new registers lie there */
    xorl %ebp, %ebp
    call x86_bad_return

syscall_with_ast:
    movq %rax, 14 * 8(%rsp)
return_with_ast:
    sti
    movq %rsp, %rdi
    call disp_ast
    cli
    movq %gs:OFF_CPU_CURTHREAD, %rax
    cmpl $0, OFF_THREAD_AST(%rax)
    jne return_with_ast
    jmp return_fast

    .globl x86_return_to_user
x86_return_to_user:
    movq %rdi, %rsp
    cli
    movq %gs:OFF_CPU_CURTHREAD, %rax
    cmpl $0, OFF_THREAD_AST(%rax)
    jne return_with_ast
    jmp return_fast

/*
 * One stub of 16 bytes for each vector.  It pushes 0 if the processor pushes no error code, then the vector
 * number.  NMI (2), double fault (8) and machine check (18) go to trap_paranoid.
 */
    .globl trap_stubs
    .balign 16
trap_stubs:
vec = 0
.rept 256
    .balign 16
    .if (vec == 8) || (vec >= 10 && vec <= 14) || (vec == 17) || (vec == 21)
    .else
    pushq $0
    .endif
    pushq $vec
    .if (vec == 2) || (vec == 8) || (vec == 18)
    jmp trap_paranoid
    .else
    jmp trap_common
    .endif
vec = vec + 1
.endr

    .balign 16
trap_common:
    testb $3, 3 * 8(%rsp)
    jz 1f
    swapgs
    movb $0, %gs:OFF_CPU_IN_USER
    SAVE_REGS
    cld
    movq 15 * 8(%rsp), %rsi
    movq $-1, 15 * 8(%rsp)
    movq %rsp, %rdi
    call trap
    cli
    movq %gs:OFF_CPU_CURTHREAD, %rax
    cmpl $0, OFF_THREAD_AST(%rax)
    jne return_with_ast
    movb $1, %gs:OFF_CPU_IN_USER
    jmp return_iret
    /* From kernel mode.  Only there rip is compared: in user mode a program could set it to iret_user. */
1:  cmpq $iret_user, 2 * 8(%rsp)
    je 3f
2:  SAVE_REGS
    cld
    movq 15 * 8(%rsp), %rsi
    movq $-1, 15 * 8(%rsp)
    movq %rsp, %rdi
    pushq 17 * 8(%rsp)              /* rip and rbp: a frame of the interrupted function, for backtraces */
    pushq %rbp
    movq %rsp, %rbp
    call trap
    addq $16, %rsp
    RESTORE_REGS
    addq $16, %rsp
    iretq
3:  swapgs                          /* the IRET to user mode has faulted after the SWAPGS */
    jmp 2b

/*
 * NMI, double fault, machine check.  They may arrive in kernel mode before SWAPGS, so the privilege level
 * does not tell which GS base is loaded.  The MSR does: the kernel's GS base is in the upper half, a
 * program's is not.
 */
trap_paranoid:
    SAVE_REGS
    cld
    movl $0xc0000101, %ecx
    rdmsr
    xorl %ebx, %ebx
    testl %edx, %edx
    js 3f
    swapgs
    movl $1, %ebx
3:  movq 15 * 8(%rsp), %rsi
    movq $-1, 15 * 8(%rsp)
    movq %rsp, %rdi
    call trap
    testl %ebx, %ebx
    jz 4f
    swapgs
4:  RESTORE_REGS
    addq $16, %rsp
    iretq

/*
 * struct thread *context_switch(struct thread *prev, struct thread *next)
 * Saves prev's callee-saved registers on its stack and continues next's.  Returns prev, in next's context.
 */
    .globl context_switch
context_switch:
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, OFF_THREAD_KSP(%rdi)
    movq OFF_THREAD_KSP(%rsi), %rsp
    movq %rdi, %rax
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret

/*
 * A new thread starts here, from context_switch().  thread_begin(prev) finishes the switch and runs
 * the thread.
 */
    .globl context_begin
context_begin:
    movq %rax, %rdi
    xorl %ebp, %ebp
    call thread_begin
    ud2

/* void x86_enter_stack(uint64_t top, void (*fn)(void)): see trap.h */
    .globl x86_enter_stack
x86_enter_stack:
    movq %rdi, %rsp
    xorl %ebp, %ebp
    call *%rsi
    ud2

    .section .note.GNU-stack, "", @progbits
