// SPDX-License-Identifier: MIT
/*
 * arch.h - what x86 keeps for each CPU, in memory of the CPU's own node.
 */
#ifndef X86_ARCH_H
#define X86_ARCH_H

#include "lib/types.h"

#define GDT_WORDS 7

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
