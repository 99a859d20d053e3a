// SPDX-License-Identifier: MIT
/*
 * machine.c - privileged instructions for kernel code that runs in a program.
 *
 * THEORY      In user mode these instructions fault.  The handler decodes the bytes, does what the test defines
 *             instead, and skips the instruction.  So kernel files with inline assembly are tested unchanged.
 */
#define _GNU_SOURCE
#include "tests/host/machine.h"

#include <asm/prctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static struct machine_ops ops;

/* There is no model of the interconnect (kernel/stat/modelled.h). */
void *modelled_page;

void modelled_new_frames_now(uint64_t base, uint64_t bytes)
{
}

/* The value of a general register, by its number in machine code. */
static uint64_t reg(const ucontext_t *u, unsigned n)
{
    static const int at[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                               REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                               REG_R12, REG_R13, REG_R14, REG_R15};

    return (uint64_t)u->uc_mcontext.gregs[at[n]];
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    const uint8_t *ip = (const uint8_t *)u->uc_mcontext.gregs[REG_RIP];
    unsigned high = 0, n = 0;

    if ((ip[0] & 0xf0) == 0x40) { /* REX prefix: bit 0 selects r8..r15 */
        high = (ip[0] & 1) * 8u;
        n = 1;
    }
    if (ip[n] == 0xfa || ip[n] == 0xfb) { /* cli, sti */
        n += 1;
    } else if (ip[n] == 0x0f && ip[n + 1] == 0x01 && (ip[n + 2] & 0xf8) == 0x38) {
        /* invlpg (%reg) */
        ops.invlpg(reg(u, high + (ip[n + 2] & 7)));
        n += 3;
    } else if (ip[n] == 0x0f && ip[n + 1] == 0x22 && (ip[n + 2] & 0xf8) == 0xd8) {
        /* mov %reg, %cr3 */
        ops.set_cr3(reg(u, high + (ip[n + 2] & 7)));
        n += 3;
    } else {
        fprintf(stderr, "signal %d at %p, address %p\n", sig, (const void *)ip, info->si_addr);
        signal(SIGSEGV, SIG_DFL);
        return;
    }
    u->uc_mcontext.gregs[REG_RIP] += (greg_t)n;
}

void machine_start(const void *gs, const struct machine_ops *o)
{
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};

    ops = *o;
    if (sigaction(SIGSEGV, &sa, NULL) != 0 || syscall(SYS_arch_prctl, ARCH_SET_GS, gs) != 0) {
        perror("machine_start");
        exit(2);
    }
}

void machine_map(uint64_t addr, size_t len)
{
    void *p = mmap((void *)addr, len, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

    if (p != (void *)addr) {
        perror("machine_map");
        exit(2);
    }
}
