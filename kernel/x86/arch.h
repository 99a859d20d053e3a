// SPDX-License-Identifier: MIT
/*
 * arch.h - the x86 part of the per-CPU data, in the memory of the CPU's own node.
 */
#ifndef X86_ARCH_H
#define X86_ARCH_H

#include "lib/types.h"

#define GDT_WORDS 7

/* The task-state segment in the layout of 64-bit mode: the stacks that the processor loads at entries. */
struct tss {
    uint32_t reserved0;
    uint64_t rsp0, rsp1, rsp2;
    uint64_t reserved1;
    uint64_t ist[7];
    uint64_t reserved2;
    uint16_t reserved3, iomap;
} __attribute__((packed));

struct x86_cpu {
    uint64_t gdt[GDT_WORDS] __attribute__((aligned(16)));
    struct tss tss __attribute__((aligned(16)));
    _Atomic bool started;                                    /* [a] runs kernel code            */
    uint8_t ist_stack[3][4096] __attribute__((aligned(16))); /* NMI, double fault, machine check */
};

#endif
