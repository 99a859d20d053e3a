// SPDX-License-Identifier: MIT
/*
 * asm.h - single machine instructions as functions: model-specific and control registers, CPUID, TLB, halt.
 */
#ifndef X86_ASM_H
#define X86_ASM_H

#include "lib/types.h"

#define MSR_APIC_BASE 0x1b
#define MSR_EFER      0xc0000080
#define MSR_STAR      0xc0000081
#define MSR_LSTAR     0xc0000082
#define MSR_FMASK     0xc0000084
#define MSR_FSBASE    0xc0000100
#define MSR_GSBASE    0xc0000101
#define MSR_KGSBASE   0xc0000102
#define MSR_TSC_AUX   0xc0000103

#define CR4_OSFXSR     (1ul << 9)
#define CR4_OSXMMEXCPT (1ul << 10)
#define CR4_PGE        (1ul << 7)
#define CR4_UMIP       (1ul << 11)
#define CR4_FSGSBASE   (1ul << 16)
#define CR4_SMEP       (1ul << 20)
#define CR4_SMAP       (1ul << 21)

static inline uint64_t rdmsr(uint32_t msr)
{
    uint32_t lo, hi;

    __asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
    return (uint64_t)hi << 32 | lo;
}
static inline void wrmsr(uint32_t msr, uint64_t v)
{
    __asm__ volatile("wrmsr" ::"c"(msr), "a"((uint32_t)v), "d"((uint32_t)(v >> 32)) : "memory");
}
static inline void cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4])
{
    __asm__ volatile("cpuid"
                     : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
                     : "a"(leaf), "c"(sub));
}
#define CR_ACCESS(n)                                                                               \
    static inline uint64_t read_cr##n(void)                                                        \
    {                                                                                              \
        uint64_t v;                                                                                \
        __asm__ volatile("movq %%cr" #n ", %0" : "=r"(v)::"memory");                               \
        return v;                                                                                  \
    }                                                                                              \
    static inline void write_cr##n(uint64_t v)                                                     \
    {                                                                                              \
        __asm__ volatile("movq %0, %%cr" #n ::"r"(v) : "memory");                                  \
    }
CR_ACCESS(0)
CR_ACCESS(2)
CR_ACCESS(3)
CR_ACCESS(4)
#undef CR_ACCESS

static inline void invlpg(uint64_t va)
{
    __asm__ volatile("invlpg (%0)" ::"r"(va) : "memory");
}

/* Turns interrupts on and halts the CPU until an interrupt, without a gap in which one could be missed. */
static inline void sti_hlt(void)
{
    __asm__ volatile("sti; hlt" ::: "memory");
}

#endif
