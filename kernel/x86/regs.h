// SPDX-License-Identifier: MIT
/*
 * regs.h - the registers saved on every entry to the kernel, at the top of the thread's kernel stack.
 *
 * entry.S saves them in this order, so that the six system-call arguments form an array.
 */
#ifndef X86_REGS_H
#define X86_REGS_H

#include "lib/types.h"

struct regs {
    uint64_t r15, r14, r13, r12, rbp, rbx, r11, rcx;
    union {
        uint64_t arg[6]; /* system-call arguments */
        struct {
            uint64_t rdi, rsi, rdx, r10, r8, r9;
        };
    };
    uint64_t rax;
    uint64_t orig_rax; /* system-call number; -1: entered by an exception or interrupt */
    uint64_t err;      /* the processor's error code of an exception; 0: the exception has none */
    uint64_t rip, cs, rflags, rsp, ss;
};

#define SEL_KCODE 0x08
#define SEL_KDATA 0x10
#define SEL_UDATA (0x18 | 3)
#define SEL_UCODE (0x20 | 3)
#define SEL_TSS   0x28

/* regs_user - whether the registers are those of user mode, that is, whether the entry came from user mode. */
static inline bool regs_user(const struct regs *r)
{
    return (r->cs & 3) == 3;
}

#endif
