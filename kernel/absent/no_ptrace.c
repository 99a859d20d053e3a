// SPDX-License-Identifier: MIT
/*
 * no_ptrace.c - a kernel without debugging of processes: no LWP is traced, and no core file is written.
 *
 * SEE ALSO    kernel/profile.mk
 */
#include "absent/absent.h"
#include "lib/errno.h"
#include "proc/ptrace.h"
#include "procfs/procfs.h"
#include "stat/panic.h"

ABSENT_CALL(ptrace)

/* A function that is only called for an LWP that was traced. */
#define ABSENT_TRACE(type, name, ...)                                                              \
    type name(__VA_ARGS__)                                                                         \
    {                                                                                              \
        panic("an LWP is traced, but this kernel has no ptrace");                                  \
    }
ABSENT_TRACE(bool, ptrace_call_begins, struct regs *r)
ABSENT_TRACE(void, ptrace_call_ends, struct regs *r)
ABSENT_TRACE(int, ptrace_signal, struct regs *r, int sig, struct siginfo *info)
ABSENT_TRACE(void, ptrace_trap_unlock, struct lwp *l, struct regs *r)
ABSENT_TRACE(bool, ptrace_handler_begins, struct lwp *l, struct regs *r)
ABSENT_TRACE(void, ptrace_handler_stop, struct regs *r)
ABSENT_TRACE(void, ptrace_event, unsigned event, uint64_t message)
ABSENT_TRACE(void, ptrace_exec, int old_tid)
ABSENT_TRACE(unsigned, ptrace_clone_event, const struct lwp *me, uint64_t flags, int exit_signal)
ABSENT_TRACE(void, ptrace_adopt, struct lwp *l, struct lwp *me)
ABSENT_TRACE(struct ptrace *, ptrace_new, void)
ABSENT_TRACE(void, ptrace_release, struct ptrace *pt)
ABSENT_TRACE(void, ptrace_want_trap, struct lwp *l, bool seized)
ABSENT_TRACE(void, ptrace_new_tid, struct lwp *l)
ABSENT_TRACE(void, ptrace_lwp_ended, struct lwp *l, int status, bool last)
ABSENT_TRACE(void, ptrace_tracer_ended, struct proc *p)
ABSENT_TRACE(int, ptrace_take_news, struct proc *me, int pid, unsigned options,
             struct wait_result *res, bool *any)
ABSENT_TRACE(void, coredump_park, struct lwp *l)

bool ptrace_blocks_setid(const struct lwp *l)
{
    (void)l;
    return false;
}

void coredump_end_process(int sig, const struct siginfo *info)
{
    (void)sig, (void)info;
}

void core_pattern_get(char *buf)
{
    buf[0] = '\0';
}

int core_pattern_set(const char *pattern, size_t len)
{
    (void)pattern, (void)len;
    return -EINVAL;
}

int procfs_open_mem(const struct pseudo_node *n, struct pseudo_arg arg, struct file *f)
{
    (void)n, (void)arg, (void)f;
    return -ENOSYS;
}
