// SPDX-License-Identifier: MIT
/*
 * trap_offsets.h - offsets of struct fields that assembly code uses, in bytes, and the size of struct regs.
 *
 * _Static_assert in trap.c and disp/context.c checks them.
 */
#ifndef X86_TRAP_OFFSETS_H
#define X86_TRAP_OFFSETS_H

#define OFF_CPU_CURTHREAD 8
#define OFF_CPU_KSTACK    16
#define OFF_CPU_USER_RSP  24
#define OFF_CPU_IN_USER   64
#define OFF_THREAD_AST    8
#define OFF_THREAD_KSP    16
#define SIZE_REGS         176

#endif
