// SPDX-License-Identifier: MIT
/*
 * syscall.c - dispatches a system call to its handler, by number.
 *
 * THEORY      A program asks the kernel for a service with a system call: it puts the call's number and
 *             arguments into registers and executes `syscall`.  The table calls[] leads from the number to
 *             the handler.  It is made from syscalls.tbl.h and has two parts: Linux's numbers, and Homeroom's
 *             own numbers, from 1024 up.  A call without a handler returns -ENOSYS and is counted under its
 *             name.  So `kstat unix:0:enosys` shows which missing calls a failing program has used.
 *             A handler can return one of the -ERESTART* codes.  The return path to user mode, which handles
 *             signals, turns this code into a restart of the call or into -EINTR.
 * INVARIANTS  I1  a handler runs with interrupts on, and holds no lock when it begins and when it returns
 * LOCKING     enosys_lock guards the growing list of names; the counts are atomic
 * SEE ALSO    docs/syscalls.md, truss.c
 */
#include "sys/sys.h"

#include "disp/sync.h"
#include "lib/errno.h"
#include "lib/spinlock.h"
#include "proc/proc.h"
#include "proc/itimer.h"
#include "proc/ptrace.h"
#include "stat/cpustat.h"
#include "stat/kstat.h"
#include "x86/trap.h"

typedef long (*handler_fn)(struct regs *);

static const handler_fn calls[SYSCALL_LINUX_MAX + SYSCALL_PRIVATE_MAX] = {
#define X(number, name)                                                                            \
    [(number) < SYSCALL_LINUX_MAX ? (number) : (number) - SYSCALL_PRIVATE + SYSCALL_LINUX_MAX] =   \
        sys_##name,
    SYSCALLS(X)
#undef X
};

struct call_name {
    uint16_t number;
    const char *name;
};

/* The names of all calls, including those of parts that are missing in this kernel. */
static const struct call_name call_names[] = {
#define X(number, name) {number, #name},
    SYSCALLS_ABSENT(X) SYSCALLS(X)
#undef X
};

#define NNAMES array_size(call_names)
_Static_assert(NNAMES + 1 <= KSTAT_MAX, "one statistic can show them all");

/*
 * One statistic per missing call, in the order of first use.  The statistic "other" counts calls
 * whose number has no name in call_names[].
 */
static struct spinlock enosys_lock = SPINLOCK_INIT(RANK_PROC_TABLE);
static const char *enosys_names[NNAMES + 1];
static _Atomic uint64_t enosys_counts[NNAMES + 1];
static struct kstat enosys_kstat = {
    .module = "unix",
    .name = "enosys",
    .kclass = "misc",
    .names = enosys_names,
    .values = enosys_counts,
};

static void count_absent(uint64_t number)
{
    const char *name = "other";
    unsigned i;

    for (i = 0; i < NNAMES; i++)
        if (call_names[i].number == number)
            name = call_names[i].name;
    spin_lock(&enosys_lock);
    for (i = 0; i < enosys_kstat.nstat; i++)
        if (enosys_names[i] == name)
            break;
    if (i == enosys_kstat.nstat) {
        enosys_names[i] = name;
        __atomic_store_n(&enosys_kstat.nstat, i + 1, __ATOMIC_RELEASE);
    }
    spin_unlock(&enosys_lock);
    atomic_fetch_add_explicit(&enosys_counts[i], 1, memory_order_relaxed);
}

long syscall_absent(struct regs *r)
{
    count_absent(r->orig_rax);
    return -ENOSYS;
}

/* The index in calls[] of call `n`.  The last index of Linux's part is that of calls which do not exist. */
static inline uint32_t call_index(uint32_t n)
{
    if (likely(n < SYSCALL_LINUX_MAX))
        return n;
    n -= SYSCALL_PRIVATE;
    return n < SYSCALL_PRIVATE_MAX ? n + SYSCALL_LINUX_MAX : SYSCALL_LINUX_MAX - 1;
}

/* Calls the handler of the call in r->orig_rax; returns its result. */
static inline long call_handler(struct regs *r)
{
    handler_fn fn = calls[call_index((uint32_t)r->orig_rax)];

    if (unlikely(curproc()->truss != NULL))
        return truss_call(r, fn != NULL ? fn : syscall_absent);
    return likely(fn != NULL) ? fn(r) : syscall_absent(r);
}

/* The same for an LWP that is or was traced with ptrace(2), whose tracer can change the call or skip it. */
static __attribute__((noinline)) long dispatch_traced(struct regs *r)
{
    if (ptrace_call_begins(r))
        r->rax = (uint64_t)call_handler(r);
    ptrace_call_ends(r);
    atomic_fetch_or(&curthread->ast, AST_REGS); /* the tracer may have changed any register */
    return (long)r->rax;
}

long syscall_dispatch(struct regs *r)
{
    long result;

    CPUSTAT_INC(syscl);
    result = unlikely(curlwp()->pt != NULL) ? dispatch_traced(r) : call_handler(r);
    sleeprank_none();
    return result;
}

void syscall_init(void)
{
    path_init();
    shm_init();
    sem_init();
    time_init();
    kstat_register(&enosys_kstat);
}
