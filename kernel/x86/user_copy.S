// SPDX-License-Identifier: MIT
/*
 * user_copy.S - the instructions that access user memory, each with its entry in the exception table.
 *
 * The callers (uaccess.c) have checked that the user addresses are below USER_TOP.
 *
 * size_t user_copy(void *dst, const void *src, size_t n)    the number of bytes not copied
 * long   user_strncpy(char *dst, const char *src, size_t n) the length; n: no NUL found; -14 (-EFAULT)
 * int    user_get32(uint32_t *dst, const uint32_t *src)     0 or -14
 * int    user_put32(uint32_t *dst, uint32_t val)            0 or -14
 * int    user_cas32(uint32_t *p, uint32_t expect, uint32_t val, uint32_t *old)   0 or -14
 */
/* A fault at `at` continues at `go`. */
.macro EX at, go
    .pushsection .ex_table, "a"
    .quad \at, \go
    .popsection
.endm
/* Permit and forbid access to user memory (STAC, CLAC).  These are invalid opcodes on a CPU without SMAP. */
.macro OPEN
    cmpb $0, cpu_has_smap
    je 901f
    stac
901:
.endm
.macro CLOSE
    cmpb $0, cpu_has_smap
    je 902f
    clac
902:
.endm

    .text
    .globl user_copy
user_copy:
    OPEN
    movq %rdx, %rcx
    shrq $3, %rcx
1:  rep movsq
    movl %edx, %ecx
    andl $7, %ecx
    jz 3f
2:  rep movsb
3:  CLOSE
    xorl %eax, %eax
    ret
4:  leaq (, %rcx, 8), %rax          /* not copied: the words left, and the tail */
    andl $7, %edx
    addq %rdx, %rax
    CLOSE
    ret
5:  movq %rcx, %rax
    CLOSE
    ret
    EX 1b, 4b
    EX 2b, 5b

    .globl user_strncpy
user_strncpy:
    OPEN
    xorl %eax, %eax
    testq %rdx, %rdx
    jz 3f
2:  movb (%rsi, %rax), %cl
    movb %cl, (%rdi, %rax)
    testb %cl, %cl
    jz 3f
    incq %rax
    cmpq %rdx, %rax
    jne 2b
3:  CLOSE
    ret
4:  CLOSE
    movq $-14, %rax
    ret
    EX 2b, 4b

    .globl user_get32
user_get32:
    OPEN
1:  movl (%rsi), %eax
    CLOSE
    movl %eax, (%rdi)
    xorl %eax, %eax
    ret
2:  CLOSE
    movl $-14, %eax
    ret
    EX 1b, 2b

    .globl user_put32
user_put32:
    OPEN
1:  movl %esi, (%rdi)
    CLOSE
    xorl %eax, %eax
    ret
2:  CLOSE
    movl $-14, %eax
    ret
    EX 1b, 2b

    .globl user_cas32
user_cas32:
    OPEN
    movl %esi, %eax
    movq %rcx, %r8
1:  lock cmpxchgl %edx, (%rdi)
    CLOSE
    movl %eax, (%r8)
    xorl %eax, %eax
    ret
2:  CLOSE
    movl $-14, %eax
    ret
    EX 1b, 2b

    .section .note.GNU-stack, "", @progbits
