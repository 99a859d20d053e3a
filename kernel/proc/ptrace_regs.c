// SPDX-License-Identifier: MIT
/*
 * ptrace_regs.c - registers in Linux's layout, for ptrace(2) and core files.
 *
 * THEORY      The layout has more fields than the kernel saves: the selectors of user segments are constants here.
 *             Debuggers compare cs with the value of Linux (0x33) to tell 64-bit from 32-bit programs, so cs and ss
 *             have Linux's values and not those of our descriptor table.
 * SEE ALSO    ptrace.h
 */
#include "lib/errno.h"
#include "proc/ptrace.h"
#include "x86/uaccess.h"

enum { LINUX_CS = 0x33, LINUX_SS = 0x2b };

_Static_assert(sizeof(struct user_regs) == 216, "layout of Linux");

/* Where struct regs has the register at an offset of struct user_regs. */
#define REG(name) [offsetof(struct user_regs, name) / 8] = offsetof(struct regs, name) / 8 + 1
static const uint8_t regs_word[USER_REGS] = {
    REG(r15), REG(r14), REG(r13), REG(r12),    REG(rbp),      REG(rbx), REG(r11),
    REG(r10), REG(r9),  REG(r8),  REG(rax),    REG(rcx),      REG(rdx), REG(rsi),
    REG(rdi), REG(rip), REG(rsp), REG(rflags), REG(orig_rax),
};
#undef REG

void user_regs_get(struct user_regs *u, const struct regs *r, uint64_t fsbase, uint64_t gsbase)
{
    const uint64_t *from = (const uint64_t *)r;
    uint64_t *to = (uint64_t *)u;

    for (unsigned i = 0; i < USER_REGS; i++)
        to[i] = regs_word[i] != 0 ? from[regs_word[i] - 1] : 0;
    u->cs = LINUX_CS;
    u->ss = LINUX_SS;
    u->fsbase = fsbase;
    u->gsbase = gsbase;
}

int user_regs_set(struct ptrace_state *at, unsigned i, uint64_t value)
{
    if (i >= USER_REGS)
        return -EIO;
    switch (i * 8) {
    case offsetof(struct user_regs, rflags):
        at->regs.rflags = (value & USER_FLAGS) | FLAG_FIXED;
        return 0;
    case offsetof(struct user_regs, fsbase):
    case offsetof(struct user_regs, gsbase):
        if (value >= USER_TOP)
            return -EIO;
        if (i * 8 == offsetof(struct user_regs, fsbase))
            at->fsbase = value;
        else
            at->gsbase = value;
        return 0;
    case offsetof(struct user_regs, cs):
    case offsetof(struct user_regs, ss):
        return (value & 3) == 3 ? 0 : -EIO;
    default:
        if (regs_word[i] != 0)
            ((uint64_t *)&at->regs)[regs_word[i] - 1] = value;
        return 0;
    }
}
