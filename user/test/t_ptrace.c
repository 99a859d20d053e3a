// SPDX-License-Identifier: MIT
/*
 * t_ptrace.c - ptrace(2), /proc/PID/mem and core files: what a debugger needs, what an ordinary user must not reach,
 * and races between tracers, tracees and SIGKILL.  Most tests begin as root.
 *
 * A tracee is a child of the test.  Numbers of requests are Linux's, because C libraries lack some.
 */
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>

enum { ARCH_SET_GS = 0x1001, ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS };
enum {
    TRACEME = 0,
    PEEK = 2,
    PEEKUSER = 3,
    POKE = 5,
    POKEUSER = 6,
    CONT = 7,
    STEP = 9,
    GETREGS = 12,
    SETREGS = 13,
    GETFPREGS = 14,
    SETFPREGS = 15,
    ATTACH = 16,
    DETACH = 17,
    CALL = 24,
    ARCH_PRCTL = 30,
    SETOPTIONS = 0x4200,
    EVENTMSG = 0x4201,
    GETSIGINFO = 0x4202,
    SETSIGINFO = 0x4203,
    GETREGSET = 0x4204,
    SEIZE = 0x4206,
    INTERRUPT = 0x4207,
    LISTEN = 0x4208,
    GETSIGMASK = 0x420a,
    SETSIGMASK = 0x420b,
    CALL_INFO = 0x420e,
};
enum {
    OPT_SYSGOOD = 1,
    OPT_FORK = 2,
    OPT_VFORK = 4,
    OPT_CLONE = 8,
    OPT_EXEC = 16,
    OPT_VFORKDONE = 32,
    OPT_EXIT = 64,
    OPT_EXITKILL = 1 << 20
};
enum { EV_FORK = 1, EV_VFORK, EV_CLONE, EV_EXEC, EV_VFORKDONE, EV_EXIT, EV_STOP = 128 };
#define EVENT(e) (SIGTRAP | (e) << 8)
enum { USER = 1000, OTHER = 2000 };

static long pt(long request, pid_t pid, unsigned long addr, unsigned long data)
{
    return syscall(SYS_ptrace, request, pid, addr, data);
}

#define P(pointer) ((unsigned long)(pointer))

/* Waits until tracee `pid` stops; returns signal | event << 8. */
static int stopped(pid_t pid)
{
    int status;

    EXPECT_EQ(waitpid(pid, &status, __WALL), pid);
    EXPECT(WIFSTOPPED(status));
    return status >> 8;
}

/* Waits until `pid` ends; returns wait4's status. */
static int ended(pid_t pid)
{
    int status;

    EXPECT_EQ(waitpid(pid, &status, __WALL), pid);
    EXPECT(!WIFSTOPPED(status));
    return status;
}

static int exit_of(pid_t pid)
{
    int status = ended(pid);

    EXPECT(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A child that is traced by the test and has stopped itself; it continues in fn, and exits with its result. */
static pid_t tracee(int (*fn)(void))
{
    pid_t pid = fork();

    if (pid == 0) {
        if (pt(TRACEME, 0, 0, 0) != 0)
            _exit(99);
        raise(SIGSTOP);
        _exit(fn());
    }
    EXPECT(pid > 0);
    EXPECT_EQ(stopped(pid), SIGSTOP);
    return pid;
}

/* A child that is not traced. */
static pid_t child(int (*fn)(void))
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(fn());
    EXPECT(pid > 0);
    return pid;
}

static void become(uid_t uid)
{
    EXPECT_EQ(setgroups(0, NULL), 0);
    EXPECT_EQ(setresgid(uid, uid, uid), 0);
    EXPECT_EQ(setresuid(uid, uid, uid), 0);
    prctl(PR_SET_DUMPABLE, 1);
}

static struct user_regs_struct regs_of(pid_t pid)
{
    struct user_regs_struct r;

    EXPECT_EQ(pt(GETREGS, pid, 0, P(&r)), 0);
    return r;
}

static void go(long request, pid_t pid, int sig)
{
    EXPECT_EQ(pt(request, pid, 0, (unsigned long)sig), 0);
}

static void kill_tracee(pid_t pid)
{
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(ended(pid), SIGKILL);
}

static int seven(void)
{
    return 7;
}

static int sleeps(void)
{
    for (;;)
        pause();
    return 0;
}

static void field(pid_t pid, const char *name, char *out, size_t n)
{
    char path[64], line[256];
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    EXPECT((f = fopen(path, "r")) != NULL);
    out[0] = '\0';
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            snprintf(out, n, "%s", line + strlen(name) + 1);
    fclose(f);
}

static char state_of(pid_t pid)
{
    char value[64];

    field(pid, "State:", value, sizeof value);
    return value[0];
}

/* ---- stops, signals, registers ---- */

static void traceme_and_exec(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        EXPECT_EQ(pt(TRACEME, 0, 0, 0), 0);
        EXPECT_ERR(pt(TRACEME, 0, 0, 0), EPERM);
        execl("/proc/self/exe", "t_ptrace", "exit", "7", NULL);
        _exit(98);
    }
    EXPECT_EQ(stopped(pid), SIGTRAP);
    EXPECT_EQ(regs_of(pid).cs, 0x33);
    go(CONT, pid, 0);
    EXPECT_EQ(exit_of(pid), 7);
    EXPECT_ERR(pt(CONT, pid, 0, 0), ESRCH);
    EXPECT_ERR(pt(12345, getpid(), 0, 0), ESRCH);
}

static __attribute__((noinline)) int target(void)
{
    __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
    return 5;
}

/* A breakpoint changes the code of the tracee, not that of its parent, which has the same pages of the same file. */
static void breakpoint(void)
{
    unsigned long at = P(target), old, now;
    struct user_regs_struct r;
    unsigned char mine[8];
    siginfo_t si;
    pid_t pid = tracee(target);

    memcpy(mine, (void *)at, 8);
    EXPECT_EQ(pt(PEEK, pid, at, P(&old)), 0);
    EXPECT(memcmp(mine, &old, 8) == 0);
    EXPECT_EQ(pt(POKE, pid, at, (old & ~0xfful) | 0xcc), 0);
    EXPECT_EQ(pt(PEEK, pid, at, P(&now)), 0);
    EXPECT_EQ(now & 0xff, 0xcc);
    EXPECT(memcmp(mine, (void *)at, 8) == 0);
    go(CONT, pid, 0);
    EXPECT_EQ(stopped(pid), SIGTRAP);
    EXPECT_EQ(pt(GETSIGINFO, pid, 0, P(&si)), 0);
    EXPECT_EQ(si.si_code, 0x80);
    r = regs_of(pid);
    EXPECT_EQ(r.rip, at + 1);
    r.rip = at;
    EXPECT_EQ(pt(POKE, pid, at, old), 0);
    EXPECT_EQ(pt(SETREGS, pid, 0, P(&r)), 0);
    go(CONT, pid, 0);
    EXPECT_EQ(exit_of(pid), 5);
    EXPECT_EQ(exit_of(child(target)), 5);
}

static volatile long shared_zero;

static void memory_errors(void)
{
    long *ro = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    long *copy = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long word;
    pid_t pid, inner;

    *copy = 1;
    pid = tracee(sleeps);
    EXPECT_ERR(pt(PEEK, pid, 8, P(&word)), EIO);
    EXPECT_ERR(pt(PEEK, pid, 0xffff800000000000, P(&word)), EIO);
    EXPECT_ERR(pt(PEEK, pid, 0x7ffffffffffc, P(&word)), EIO);
    EXPECT_ERR(pt(POKE, pid, 8, 1), EIO);
    EXPECT_ERR(pt(POKE, pid, P(ro), 1), EIO); /* a shared page that the tracee cannot write */
    EXPECT_EQ(pt(POKE, pid, P(copy), 2), 0);
    EXPECT_EQ(*copy, 1); /* the parent has the page of before the fork */
    EXPECT_ERR(pt(PEEK, pid, P(copy), 8), EFAULT);
    EXPECT_ERR(pt(CONT, pid, 0, 65), EIO);
    EXPECT_ERR(pt(99, pid, 0, 0), EIO);
    inner = child(sleeps);
    EXPECT_ERR(pt(PEEK, inner, P(copy), P(&word)), ESRCH);
    kill(inner, SIGKILL);
    ended(inner);
    kill_tracee(pid);
}

static volatile int caught;

static void note_signal(int sig)
{
    caught = caught * 10 + (sig == SIGUSR1 ? 1 : 2);
}

static int raise_three(void)
{
    signal(SIGUSR1, note_signal);
    signal(SIGUSR2, note_signal);
    signal(SIGURG, SIG_IGN);
    raise(SIGUSR1);
    raise(SIGUSR1);
    raise(SIGURG);
    return caught;
}

static int unblocks_term(void)
{
    sigset_t term;

    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &term, NULL);
    return 0;
}

static void signals(void)
{
    pid_t pid = tracee(raise_three);
    siginfo_t si;
    sigset_t term;
    uint64_t mask;

    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    go(CONT, pid, 0);
    EXPECT_EQ(stopped(pid), SIGUSR1);
    EXPECT_EQ(pt(GETSIGINFO, pid, 0, P(&si)), 0);
    EXPECT_EQ(si.si_signo, SIGUSR1);
    EXPECT_EQ(si.si_pid, pid);
    EXPECT_EQ(pt(SETSIGINFO, pid, 0, P(&si)), 0);
    EXPECT_ERR(pt(GETSIGMASK, pid, 4, P(&mask)), EINVAL);
    EXPECT_EQ(pt(GETSIGMASK, pid, 8, P(&mask)), 0);
    EXPECT_EQ(pt(SETSIGMASK, pid, 8, P(&mask)), 0);
    go(CONT, pid, SIGUSR2); /* another signal */
    EXPECT_EQ(stopped(pid), SIGUSR1);
    go(CONT, pid, 0);                /* none */
    EXPECT_EQ(stopped(pid), SIGURG); /* although it is ignored */
    go(CONT, pid, SIGUSR1);
    EXPECT_EQ(exit_of(pid), 21);
    EXPECT_EQ(sigprocmask(SIG_BLOCK, &term, NULL), 0);
    pid = tracee(unblocks_term);
    EXPECT_EQ(sigprocmask(SIG_UNBLOCK, &term, NULL), 0);
    go(CONT, pid, SIGTERM); /* blocked, so it becomes pending */
    EXPECT_EQ(stopped(pid), SIGTERM);
    go(CONT, pid, SIGTERM);
    EXPECT_EQ(ended(pid), SIGTERM);
}

static void registers(void)
{
    struct user_regs_struct r, again;
    struct user_fpregs_struct fp, fp2;
    struct iovec v = {&again, sizeof again};
    unsigned long word;
    pid_t pid = tracee(sleeps);

    r = regs_of(pid);
    EXPECT_EQ(r.cs, 0x33);
    EXPECT_EQ(r.ss, 0x2b);
    EXPECT_EQ(pt(GETREGSET, pid, NT_PRSTATUS, P(&v)), 0);
    EXPECT_EQ(v.iov_len, sizeof again);
    EXPECT(memcmp(&r, &again, sizeof r) == 0);
    v.iov_len = 12;
    EXPECT_ERR(pt(GETREGSET, pid, NT_PRSTATUS, P(&v)), EINVAL);
    EXPECT_ERR(pt(GETREGSET, pid, 0x999, P(&v)), EINVAL);
    EXPECT_EQ(pt(PEEKUSER, pid, offsetof(struct user, regs.rip), P(&word)), 0);
    EXPECT_EQ(word, r.rip);
    EXPECT_ERR(pt(PEEKUSER, pid, 4, P(&word)), EIO);
    EXPECT_ERR(pt(PEEKUSER, pid, 928, P(&word)), EIO);
    EXPECT_EQ(pt(PEEKUSER, pid, offsetof(struct user, u_debugreg[6]), P(&word)), 0);
    EXPECT_EQ(pt(POKEUSER, pid, offsetof(struct user, u_debugreg[7]), 0), 0);
    EXPECT_EQ(pt(POKEUSER, pid, offsetof(struct user, regs.r12), 0x1234), 0);
    EXPECT_EQ(regs_of(pid).r12, 0x1234);
    EXPECT_ERR(pt(POKEUSER, pid, offsetof(struct user, regs.cs), 0x10), EIO);
    EXPECT_ERR(pt(POKEUSER, pid, offsetof(struct user, regs.fs_base), 1ul << 63), EIO);
    EXPECT_EQ(pt(ARCH_PRCTL, pid, P(&word), ARCH_GET_FS), 0);
    EXPECT_EQ(word, r.fs_base);
    EXPECT_EQ(pt(ARCH_PRCTL, pid, 0x1000, ARCH_SET_GS), 0);
    EXPECT_EQ(pt(ARCH_PRCTL, pid, P(&word), ARCH_GET_GS), 0);
    EXPECT_EQ(word, 0x1000);
    EXPECT_ERR(pt(ARCH_PRCTL, pid, 1ul << 63, ARCH_SET_FS), EPERM);
    EXPECT_ERR(pt(ARCH_PRCTL, pid, 8, ARCH_GET_FS), EFAULT);
    EXPECT_ERR(pt(ARCH_PRCTL, pid, P(&word), 0x999), EINVAL);
    EXPECT_ERR(pt(ARCH_PRCTL, getpid(), P(&word), ARCH_GET_FS), ESRCH);
    EXPECT_EQ(pt(POKEUSER, pid, offsetof(struct user, regs.eflags), ~0ul), 0);
    EXPECT_EQ(regs_of(pid).eflags & 0x3000, 0); /* IOPL */
    EXPECT_EQ(pt(POKEUSER, pid, offsetof(struct user, regs.eflags), r.eflags), 0);
    r = regs_of(pid);
    r.r13 = 99;
    r.cs = 8;
    EXPECT_ERR(pt(SETREGS, pid, 0, P(&r)), EIO);
    EXPECT_EQ(pt(GETFPREGS, pid, 0, P(&fp)), 0);
    memset(fp.xmm_space, 0x5a, 16);
    EXPECT_EQ(pt(SETFPREGS, pid, 0, P(&fp)), 0);
    EXPECT_EQ(pt(GETFPREGS, pid, 0, P(&fp2)), 0);
    EXPECT(memcmp(fp.xmm_space, fp2.xmm_space, 16) == 0);
    EXPECT_ERR(pt(GETREGS, pid, 0, 8), EFAULT);
    /* registers that no program could have: it gets SIGSEGV, and the kernel goes on */
    r = regs_of(pid);
    r.rip = r.rcx = 0x8000000000000000;
    r.r11 = r.eflags;
    EXPECT_EQ(pt(SETREGS, pid, 0, P(&r)), 0);
    go(CONT, pid, 0);
    EXPECT_EQ(stopped(pid), SIGSEGV);
    kill_tracee(pid);
}

static __attribute__((noinline)) int three_calls(void)
{
    long first = syscall(SYS_getppid), second = syscall(SYS_getuid), third = syscall(SYS_getpgrp);

    return (first == getppid()) | (second == -1 && errno == ENOSYS) << 1 | (third == 42) << 2;
}

struct call_info {
    uint8_t op, pad[3];
    uint32_t arch;
    uint64_t ip, sp, value[7];
};

/* Runs to the entry of call `nr`, and returns what PTRACE_GET_SYSCALL_INFO shows there. */
static struct call_info to_call(pid_t pid, uint64_t nr)
{
    struct call_info ci;

    for (;;) {
        go(CALL, pid, 0);
        EXPECT_EQ(stopped(pid), SIGTRAP | 0x80);
        memset(&ci, 0, sizeof ci);
        EXPECT(pt(CALL_INFO, pid, sizeof ci, P(&ci)) > 0);
        EXPECT(ci.op == 1 || ci.op == 2);
        if (ci.op == 1 && ci.value[0] == nr)
            return ci;
    }
}

static void system_calls(void)
{
    pid_t pid = tracee(three_calls);
    struct call_info ci;

    EXPECT_EQ(pt(CALL_INFO, pid, sizeof ci, P(&ci)), 24);
    EXPECT_EQ(ci.op, 0);
    EXPECT_EQ(ci.arch, 0xc000003e);
    EXPECT_ERR(pt(SETOPTIONS, pid, 0, 1 << 30), EINVAL);
    EXPECT_EQ(pt(SETOPTIONS, pid, 0, OPT_SYSGOOD), 0);
    ci = to_call(pid, SYS_getppid);
    EXPECT_EQ(regs_of(pid).rax, (unsigned long)-ENOSYS);
    EXPECT_EQ(regs_of(pid).rip, ci.ip);
    go(CALL, pid, 0);
    EXPECT_EQ(stopped(pid), SIGTRAP | 0x80);
    EXPECT_EQ(pt(CALL_INFO, pid, sizeof ci, P(&ci)), 33);
    EXPECT_EQ(ci.op, 2);
    EXPECT_EQ(ci.value[0], getpid());
    to_call(pid, SYS_getuid);
    EXPECT_EQ(pt(POKEUSER, pid, offsetof(struct user, regs.orig_rax), ~0ul), 0);
    go(CALL, pid, 0);
    EXPECT_EQ(stopped(pid), SIGTRAP | 0x80);
    to_call(pid, SYS_getpgrp);
    go(CALL, pid, 0);
    EXPECT_EQ(stopped(pid), SIGTRAP | 0x80);
    EXPECT_EQ(pt(POKEUSER, pid, offsetof(struct user, regs.rax), 42), 0);
    to_call(pid, SYS_exit_group);
    go(CALL, pid, 0);
    EXPECT_EQ(exit_of(pid), 7);
}

static void single_step(void)
{
    pid_t pid = tracee(target);
    struct user_regs_struct r;
    unsigned long old, at = P(target);
    siginfo_t si;

    /* to the first nop */
    EXPECT_EQ(pt(PEEK, pid, at, P(&old)), 0);
    for (r = regs_of(pid); r.rip < at || r.rip >= at + 8; r = regs_of(pid)) {
        go(STEP, pid, 0);
        EXPECT_EQ(stopped(pid), SIGTRAP);
        EXPECT_EQ(regs_of(pid).eflags & 0x100, 0);
    }
    EXPECT_EQ(pt(GETSIGINFO, pid, 0, P(&si)), 0);
    EXPECT_EQ(si.si_code, 2);
    while (pt(PEEK, pid, r.rip, P(&old)) == 0 && (old & 0xffff) != 0x9090) {
        go(STEP, pid, 0);
        EXPECT_EQ(stopped(pid), SIGTRAP);
        r = regs_of(pid);
    }
    for (int i = 1; i <= 5; i++) {
        go(STEP, pid, 0);
        EXPECT_EQ(stopped(pid), SIGTRAP);
        EXPECT_EQ(regs_of(pid).rip, r.rip + i);
    }
    go(CONT, pid, 0); /* the flag is off again */
    EXPECT_EQ(exit_of(pid), 5);
    /* a step into a handler stops at its first instruction */
    pid = tracee(raise_three);
    go(CONT, pid, 0);
    EXPECT_EQ(stopped(pid), SIGUSR1);
    go(STEP, pid, SIGUSR1);
    EXPECT_EQ(stopped(pid), SIGTRAP);
    EXPECT_EQ(regs_of(pid).rip, P(note_signal));
    EXPECT_EQ(pt(DETACH, pid, 0, 0), 0);
    EXPECT_EQ(exit_of(pid), 11);
}

/* ---- tracers ---- */

static void attach_and_detach(void)
{
    pid_t pid = child(sleeps), other;
    char value[64];
    int status;

    EXPECT_EQ(pt(ATTACH, pid, 0, 0), 0);
    EXPECT_EQ(stopped(pid), SIGSTOP);
    EXPECT_EQ(state_of(pid), 't');
    field(pid, "TracerPid:", value, sizeof value);
    EXPECT_EQ(atoi(value), getpid());
    EXPECT_ERR(pt(ATTACH, pid, 0, 0), EPERM);
    other = fork();
    if (other == 0) {
        EXPECT_ERR(pt(ATTACH, pid, 0, 0), EPERM);
        EXPECT_ERR(pt(SEIZE, pid, 0, 0), EPERM);
        EXPECT_ERR(pt(CONT, pid, 0, 0), ESRCH);
        EXPECT_ERR(pt(ATTACH, getpid(), 0, 0), EPERM);
        _exit(0);
    }
    EXPECT_EQ(exit_of(other), 0);
    EXPECT_EQ(waitpid(pid, &status, __WALL | WNOHANG), 0); /* a stop is reported once */
    EXPECT_EQ(pt(DETACH, pid, 0, 0), 0);
    EXPECT_ERR(pt(CONT, pid, 0, 0), ESRCH);
    field(pid, "TracerPid:", value, sizeof value);
    EXPECT_EQ(atoi(value), 0);
    EXPECT_EQ(pt(ATTACH, pid, 0, 0), 0);
    EXPECT_EQ(stopped(pid), SIGSTOP);
    EXPECT_EQ(pt(DETACH, pid, 0, SIGTERM), 0);
    EXPECT_EQ(ended(pid), SIGTERM);
    EXPECT_ERR(pt(ATTACH, pid, 0, 0), ESRCH);
}

static void seize(void)
{
    pid_t pid = child(sleeps);
    int status;

    EXPECT_ERR(pt(SEIZE, pid, 1, 0), EIO);
    EXPECT_EQ(pt(SEIZE, pid, 0, OPT_SYSGOOD), 0);
    EXPECT_EQ(waitpid(pid, &status, __WALL | WNOHANG), 0);
    EXPECT_EQ(pt(INTERRUPT, pid, 0, 0), 0);
    EXPECT_EQ(stopped(pid), SIGTRAP | EV_STOP << 8);
    EXPECT_EQ(pt(INTERRUPT, pid, 0, 0), 0); /* stays pending */
    go(CONT, pid, 0);
    EXPECT_EQ(stopped(pid), SIGTRAP | EV_STOP << 8);
    go(CONT, pid, 0);
    EXPECT_EQ(kill(pid, SIGSTOP), 0);
    EXPECT_EQ(stopped(pid), SIGSTOP);
    EXPECT_ERR(pt(LISTEN, pid, 0, 0), EIO); /* that was no group stop yet */
    go(CONT, pid, SIGSTOP);
    EXPECT_EQ(stopped(pid), SIGSTOP | EV_STOP << 8);
    EXPECT_EQ(pt(LISTEN, pid, 0, 0), 0);
    EXPECT_ERR(pt(CONT, pid, 0, 0), ESRCH);
    EXPECT_EQ(kill(pid, SIGCONT), 0);
    EXPECT_EQ(stopped(pid), SIGTRAP | EV_STOP << 8);
    go(CONT, pid, 0);
    EXPECT_EQ(stopped(pid), SIGCONT);
    EXPECT_EQ(pt(DETACH, pid, 0, SIGKILL), 0);
    EXPECT_EQ(ended(pid), SIGKILL);
}

/* A process that was stopped by a signal stays stopped when the tracer leaves. */
static void detach_stopped(void)
{
    pid_t pid = child(sleeps);
    int status;

    EXPECT_EQ(kill(pid, SIGSTOP), 0);
    EXPECT_EQ(waitpid(pid, &status, WUNTRACED), pid);
    EXPECT_EQ(pt(SEIZE, pid, 0, 0), 0);
    EXPECT_EQ(pt(INTERRUPT, pid, 0, 0), 0);
    EXPECT_EQ(stopped(pid), SIGSTOP | EV_STOP << 8);
    EXPECT_EQ(pt(DETACH, pid, 0, 0), 0);
    while (state_of(pid) != 'T')
        sched_yield();
    EXPECT_EQ(kill(pid, SIGCONT), 0);
    EXPECT_EQ(kill(pid, SIGTERM), 0);
    EXPECT_EQ(ended(pid), SIGTERM);
}

static int fork_exec(void)
{
    pid_t pid = fork();

    if (pid == 0)
        execl("/proc/self/exe", "t_ptrace", "exit", "3", NULL);
    return exit_of(pid);
}

static void fork_events(void)
{
    pid_t pid = tracee(fork_exec), got;
    unsigned long inner, message;
    int status, stops = 0;

    EXPECT_EQ(pt(SETOPTIONS, pid, 0, OPT_FORK | OPT_EXEC | OPT_EXIT | OPT_EXITKILL), 0);
    go(CONT, pid, 0);
    EXPECT_EQ(stopped(pid), EVENT(EV_FORK));
    EXPECT_EQ(pt(EVENTMSG, pid, 0, P(&inner)), 0);
    EXPECT_EQ(stopped((pid_t)inner), SIGSTOP);
    go(CONT, (pid_t)inner, 0);
    EXPECT_EQ(stopped((pid_t)inner), EVENT(EV_EXEC));
    go(CONT, (pid_t)inner, 0);
    EXPECT_EQ(stopped((pid_t)inner), EVENT(EV_EXIT));
    EXPECT_EQ(pt(EVENTMSG, (pid_t)inner, 0, P(&message)), 0);
    EXPECT_EQ(message, 3 << 8);
    go(CONT, (pid_t)inner, 0);
    EXPECT_EQ(WEXITSTATUS(ended((pid_t)inner)), 3); /* the tracer first, then the parent */
    go(CONT, pid, 0);
    while ((got = waitpid(pid, &status, __WALL)) == pid && WIFSTOPPED(status)) {
        stops++;
        go(CONT, pid, status >> 16 != 0 ? 0 : WSTOPSIG(status));
    }
    EXPECT_EQ(WEXITSTATUS(status), 3);
    EXPECT_EQ(stops, 2); /* SIGCHLD and the exit */
}

static int vforks(void)
{
    pid_t pid = vfork();

    if (pid == 0)
        _exit(4);
    return exit_of(pid);
}

static void vfork_events(void)
{
    pid_t pid = tracee(vforks);
    unsigned long inner;

    EXPECT_EQ(pt(SETOPTIONS, pid, 0, OPT_VFORK | OPT_VFORKDONE), 0);
    go(CONT, pid, 0);
    EXPECT_EQ(stopped(pid), EVENT(EV_VFORK));
    EXPECT_EQ(pt(EVENTMSG, pid, 0, P(&inner)), 0);
    EXPECT_EQ(stopped((pid_t)inner), SIGSTOP);
    go(CONT, pid, 0);
    EXPECT_EQ(pt(DETACH, (pid_t)inner, 0, 0), 0);
    EXPECT_EQ(stopped(pid), EVENT(EV_VFORKDONE));
    EXPECT_EQ(pt(DETACH, pid, 0, 0), 0);
    EXPECT_EQ(exit_of(pid), 4);
}

static void *thread_exits(void *arg)
{
    (void)arg;
    return NULL;
}

/* The path of this program.  Linux's /proc/self/exe leads nowhere after the first thread has ended. */
static char program[256];

static void *thread_execs(void *arg)
{
    execl(program, "t_ptrace", "exit", "6", NULL);
    return arg;
}

static void *thread_sleeps(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static int one_thread(void)
{
    pthread_t t;

    pthread_create(&t, NULL, thread_exits, NULL);
    pthread_join(t, NULL);
    raise(
        SIGSTOP); /* once the process ends, its status is also that of a thread which was not waited for */
    return 8;
}

static int leader_exits(void)
{
    pthread_t t;

    pthread_create(&t, NULL, thread_execs, NULL);
    syscall(SYS_exit, 0);
    return 0;
}

/* A thread is a tracee of its own, and its end is reported. */
static void thread_events(void)
{
    pid_t pid = tracee(one_thread);
    unsigned long tid;
    int status;

    EXPECT_EQ(pt(SETOPTIONS, pid, 0, OPT_CLONE), 0);
    go(CONT, pid, 0);
    EXPECT_EQ(stopped(pid), EVENT(EV_CLONE));
    EXPECT_EQ(pt(EVENTMSG, pid, 0, P(&tid)), 0);
    EXPECT_EQ(stopped((pid_t)tid), SIGSTOP);
    go(CONT, pid, 0); /* first, because it holds a lock that the thread needs */
    go(CONT, (pid_t)tid, 0);
    EXPECT_EQ(ended((pid_t)tid), 0);
    EXPECT_ERR(waitpid((pid_t)tid, &status, __WALL), ECHILD);
    EXPECT_EQ(stopped(pid), SIGSTOP);
    go(CONT, pid, 0);
    EXPECT_EQ(exit_of(pid), 8);
}

/* exec by another thread than the first: it becomes the process's only thread, with the pid as its id. */
static void exec_by_thread(void)
{
    unsigned long tid, old;
    pid_t pid;

    EXPECT(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    pid = tracee(leader_exits);
    EXPECT_EQ(pt(SETOPTIONS, pid, 0, OPT_CLONE | OPT_EXEC), 0);
    go(CONT, pid, 0);
    EXPECT_EQ(stopped(pid), EVENT(EV_CLONE));
    EXPECT_EQ(pt(EVENTMSG, pid, 0, P(&tid)), 0);
    EXPECT_EQ(stopped((pid_t)tid), SIGSTOP);
    go(CONT, pid, 0);
    go(CONT, (pid_t)tid, 0);
    EXPECT_EQ(stopped(pid), EVENT(EV_EXEC));
    EXPECT_EQ(pt(EVENTMSG, pid, 0, P(&old)), 0);
    EXPECT_EQ(old, tid);
    EXPECT_ERR(pt(CONT, (pid_t)tid, 0, 0), ESRCH);
    go(CONT, pid, 0);
    EXPECT_EQ(exit_of(pid), 6);
}

static int start[2], ready[2]; /* pipes */

static void *thread_execs_later(void *arg)
{
    char c;

    if (read(start[0], &c, 1) == 1)
        execl(program, "t_ptrace", "ready", (char *)NULL);
    _exit(96);
    return arg;
}

/* Another thread execs; the first thread ends before (and the other one starts it), or is ended by that. */
static int leader_ends(bool itself)
{
    pthread_t t;

    dup2(ready[1], 101);
    pthread_create(&t, NULL, thread_execs_later, NULL);
    if (itself)
        syscall(SYS_exit, 0);
    return sleeps();
}

static int leader_ends_itself(void)
{
    char c;

    return read(start[0], &c, 1) == 1 ? leader_ends(true) : 96;
}

static int leader_is_ended(void)
{
    return leader_ends(false);
}

static void signal_pipe(int end)
{
    EXPECT_EQ(write(end, "x", 1), 1);
}

static void await_pipe(int end)
{
    char c;

    EXPECT_EQ(read(end, &c, 1), 1);
}

/*
 * The first thread is traced, and a thread that is not traced execs.  Then the process is not traced any more, without
 * an event, and can be traced anew.  The tracer is the parent, or another process that waits for the tracee meanwhile.
 */
static void exec_by_untraced_thread(void)
{
    char value[64];

    EXPECT(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    for (int kind = 0; kind < 4; kind++) {
        pid_t pid, tracer = 0;
        int status;

        EXPECT(pipe(start) == 0 && pipe(ready) == 0);
        pid = child(kind & 1 ? leader_ends_itself : leader_is_ended);
        if (kind & 2) {
            tracer = fork();
            if (tracer == 0) {
                EXPECT_EQ(pt(SEIZE, pid, 0, OPT_EXITKILL), 0);
                signal_pipe(ready[1]);
                EXPECT_ERR(waitpid(-1, &status, __WALL), ECHILD); /* Linux: a wait for pid hangs */
                signal_pipe(ready[1]);
                _exit(0); /* and kills nothing */
            }
            await_pipe(ready[0]);
            while (state_of(tracer) != 'S')
                sched_yield();
        } else {
            EXPECT_EQ(pt(SEIZE, pid, 0, OPT_EXITKILL), 0);
        }
        for (int i = 0; i <= (kind & 1); i++)
            signal_pipe(start[1]);
        await_pipe(ready[0]); /* from the new program */
        if (tracer != 0) {
            await_pipe(ready[0]);
            EXPECT_EQ(exit_of(tracer), 0);
        }
        field(pid, "TracerPid:", value, sizeof value);
        EXPECT_EQ(atoi(value), 0);
        EXPECT_EQ(pt(SEIZE, pid, 0, 0), 0);
        EXPECT_EQ(pt(INTERRUPT, pid, 0, 0), 0);
        EXPECT_EQ(stopped(pid), SIGTRAP | EV_STOP << 8);
        kill_tracee(pid);
        EXPECT_ERR(waitpid(-1, &status, __WALL | WNOHANG), ECHILD);
        close(start[0]), close(start[1]), close(ready[0]), close(ready[1]);
    }
}

/* Exits with the status of `pid`, of which the test is the parent and a grandchild the tracer. */
static void tracer_ends(void)
{
    static const struct {
        unsigned long options;
        int want;
    } kind[] = {{0, SIGTERM}, {OPT_EXITKILL, SIGKILL}};

    for (int i = 0; i < 2; i++) {
        pid_t pid = child(sleeps), tracer = fork();

        if (tracer == 0) {
            EXPECT_EQ(pt(SEIZE, pid, 0, kind[i].options), 0);
            EXPECT_EQ(pt(INTERRUPT, pid, 0, 0), 0);
            EXPECT_EQ(stopped(pid), SIGTRAP | EV_STOP << 8);
            _exit(0);
        }
        EXPECT_EQ(exit_of(tracer), 0);
        kill(pid, SIGTERM);
        EXPECT_EQ(ended(pid), kind[i].want);
    }
}

/* The tracer, which is not the parent, waits first; if it never does, its end hands the zombie to the parent. */
static void zombie_of_two(void)
{
    pid_t pid = child(sleeps), tracer;
    int ready[2], status;
    char c;

    EXPECT_EQ(pipe(ready), 0);
    tracer = fork();
    if (tracer == 0) {
        EXPECT_EQ(pt(SEIZE, pid, 0, 0), 0);
        EXPECT_EQ(write(ready[1], "x", 1), 1);
        pause();
    }
    EXPECT_EQ(read(ready[0], &c, 1), 1);
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    while (state_of(pid) != 'Z')
        sched_yield();
    EXPECT_EQ(waitpid(pid, &status, WNOHANG), 0);
    EXPECT_EQ(kill(tracer, SIGKILL), 0);
    EXPECT_EQ(ended(tracer), SIGKILL);
    EXPECT_EQ(ended(pid), SIGKILL);
}

static void kill_stopped(void)
{
    pid_t pid = tracee(sleeps);
    unsigned long word;

    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(ended(pid), SIGKILL);
    EXPECT_ERR(pt(PEEK, pid, P(&shared_zero), P(&word)), ESRCH);
    pid = tracee(sleeps);
    EXPECT_EQ(pt(8 /* PTRACE_KILL */, pid, 0, 0), 0);
    EXPECT_EQ(ended(pid), SIGKILL);
}

static void wait_by_waitid(void)
{
    pid_t pid = tracee(seven);
    siginfo_t si;

    go(CONT, pid, SIGSTOP); /* a group stop */
    EXPECT_EQ(waitid(P_PID, (id_t)pid, &si, WSTOPPED | WNOWAIT), 0);
    EXPECT_EQ(si.si_code, CLD_TRAPPED);
    EXPECT_EQ(si.si_status, SIGSTOP);
    EXPECT_EQ(stopped(pid), SIGSTOP);
    EXPECT_ERR(pt(GETSIGINFO, pid, 0, P(&si)), EINVAL);
    go(CONT, pid, 0);
    EXPECT_EQ(exit_of(pid), 7);
}

/* ---- /proc/PID/mem ---- */

static int mem_of(pid_t pid, int mode)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    return open(path, mode);
}

static void memory_file(void)
{
    unsigned char byte, mine = *(volatile unsigned char *)P(target);
    pid_t pid = tracee(target);
    int fd = mem_of(pid, O_RDWR), self;
    char name[] = "/proc/self/auxv";

    EXPECT(fd >= 0);
    EXPECT_EQ(pread(fd, &byte, 1, (off_t)P(target)), 1);
    EXPECT_EQ(byte, mine);
    byte = 0xcc;
    EXPECT_EQ(pwrite(fd, &byte, 1, (off_t)P(target)), 1);
    EXPECT_EQ(*(volatile unsigned char *)P(target), mine);
    EXPECT_ERR(pread(fd, &byte, 1, 8), EIO);
    EXPECT_ERR(pwrite(fd, &byte, 1, 8), EIO);
    EXPECT_EQ(lseek(fd, (off_t)P(target), SEEK_SET), (off_t)P(target));
    EXPECT_EQ(read(fd, &byte, 1), 1);
    EXPECT_EQ(byte, 0xcc);
    go(CONT, pid, 0);
    EXPECT_EQ(stopped(pid), SIGTRAP);
    kill_tracee(pid);
    EXPECT_EQ(pread(fd, &byte, 1, (off_t)P(target)), 0); /* the memory is gone */
    /* the file belongs to one program: exec makes it empty */
    pid = fork();
    if (pid == 0) {
        self = mem_of(getpid(), O_RDWR);
        EXPECT(self >= 0);
        dup2(self, 100);
        execl("/proc/self/exe", "t_ptrace", "mem", NULL);
        _exit(97);
    }
    EXPECT_EQ(exit_of(pid), 0);
    EXPECT((fd = open(name, O_RDONLY)) >= 0);
    EXPECT(read(fd, &self, sizeof self) == sizeof self);
}

/* ---- other users ---- */

static void other_users(void)
{
    pid_t root_child, mine, pid;

    NEED_ROOT();
    root_child = child(sleeps);
    pid = fork();
    if (pid == 0) {
        become(USER);
        EXPECT_ERR(pt(ATTACH, root_child, 0, 0), EPERM);
        EXPECT_ERR(pt(SEIZE, root_child, 0, 0), EPERM);
        EXPECT_ERR(pt(ATTACH, 1, 0, 0), EPERM);
        EXPECT_ERR(pt(ATTACH, getppid(), 0, 0), EPERM);
        EXPECT_ERR(pt(ATTACH, 0, 0, 0), ESRCH);
        EXPECT_ERR(pt(ATTACH, -1, 0, 0), ESRCH);
        EXPECT_ERR(mem_of(root_child, O_RDONLY), EACCES);
        EXPECT_ERR(mem_of(1, O_RDONLY), EACCES);
        mine = child(sleeps); /* one's own process */
        EXPECT_EQ(pt(SEIZE, mine, 0, 0), 0);
        kill_tracee(mine);
        mine = fork();
        if (mine == 0) {
            prctl(PR_SET_DUMPABLE, 0);
            raise(SIGSTOP);
            _exit(0);
        }
        EXPECT_EQ(waitpid(mine, NULL, WUNTRACED), mine);
        EXPECT_ERR(pt(SEIZE, mine, 0, 0), EPERM);
        EXPECT_ERR(mem_of(mine, O_RDONLY), EACCES);
        kill(mine, SIGKILL);
        ended(mine);
        _exit(0);
    }
    EXPECT_EQ(exit_of(pid), 0);
    EXPECT_EQ(kill(root_child, SIGKILL), 0);
    ended(root_child);
}

/* A process that is not dumpable can ask to be traced, but an ordinary tracer does not get at its memory. */
static void not_dumpable(void)
{
    pid_t pid, tracer = fork();
    unsigned long word;

    if (tracer == 0) {
        if (geteuid() == 0)
            become(USER);
        pid = fork();
        if (pid == 0) {
            prctl(PR_SET_DUMPABLE, 0);
            if (pt(TRACEME, 0, 0, 0) != 0)
                _exit(93);
            raise(SIGSTOP);
            prctl(PR_SET_DUMPABLE, 1);
            raise(SIGSTOP);
            _exit(9);
        }
        EXPECT_EQ(stopped(pid), SIGSTOP);
        EXPECT_EQ(regs_of(pid).cs, 0x33);
        EXPECT_ERR(pt(PEEK, pid, P(&shared_zero), P(&word)), EIO);
        EXPECT_ERR(pt(POKE, pid, P(&shared_zero), 1), EIO);
        go(CONT, pid, 0);
        EXPECT_EQ(stopped(pid), SIGSTOP);
        EXPECT_EQ(pt(PEEK, pid, P(&shared_zero), P(&word)), 0);
        EXPECT_EQ(word, 0);
        go(CONT, pid, 0);
        _exit(exit_of(pid));
    }
    EXPECT_EQ(exit_of(tracer), 9);
}

/* Makes a set-user-id copy of this program that another user can execute. */
static void copy_setid(const char *name)
{
    char buf[65536];
    int from = open("/proc/self/exe", O_RDONLY),
        to = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    ssize_t n;

    EXPECT(from >= 0 && to >= 0);
    while ((n = read(from, buf, sizeof buf)) > 0)
        EXPECT_EQ(write(to, buf, (size_t)n), n);
    EXPECT_EQ(fchmod(to, 04755), 0);
    close(from);
    close(to);
}

static void setid_program(void)
{
    enum { USER_TRACES, ROOT_TRACES, ROOT_DROPS_RIGHTS };
    char dir[] = "/tmp/t_ptrace.XXXXXX", name[64];
    pid_t pid, tracer;

    NEED_ROOT();
    EXPECT(mkdtemp(dir) != NULL);
    EXPECT_EQ(chmod(dir, 0755), 0);
    snprintf(name, sizeof name, "%s/prog", dir);
    copy_setid(name);
    for (int kind = 0; kind < 3; kind++) {
        tracer = fork();
        if (tracer == 0) {
            if (kind == USER_TRACES)
                become(USER);
            pid = fork();
            if (pid == 0) {
                if (kind != USER_TRACES)
                    become(USER);
                raise(SIGSTOP);
                execl(name, "prog", "euid", NULL);
                _exit(95);
            }
            EXPECT_EQ(waitpid(pid, NULL, WUNTRACED), pid);
            EXPECT_EQ(pt(SEIZE, pid, 0, 0), 0);
            if (kind == ROOT_DROPS_RIGHTS)
                become(USER);
            EXPECT_EQ(pt(INTERRUPT, pid, 0, 0), 0);
            EXPECT_EQ(stopped(pid), SIGSTOP | EV_STOP << 8);
            EXPECT_EQ(pt(SETOPTIONS, pid, 0, OPT_EXEC), 0);
            EXPECT_EQ(kill(pid, SIGCONT), 0);
            do
                go(CONT, pid, 0);
            while (stopped(pid) != EVENT(EV_EXEC));
            go(CONT, pid, 0);
            _exit(exit_of(pid));
        }
        /* 0: the program ran as root.  Linux goes by the tracer's rights when it began */
        EXPECT_EQ(exit_of(tracer),
                  kind == USER_TRACES || (kind == ROOT_DROPS_RIGHTS && on_homeroom()));
    }
    tracer = fork(); /* a set-user-id program must not make its caller its tracer */
    if (tracer == 0) {
        become(USER);
        pid = fork();
        if (pid == 0) {
            execl(name, "prog", "traceme", NULL);
            _exit(94);
        }
        _exit(exit_of(pid));
    }
    EXPECT_EQ(exit_of(tracer), EPERM);
    unlink(name);
    rmdir(dir);
}

/* ---- core files ---- */

static volatile int core_mark = 0x5eed;

static int crash(void)
{
    pthread_t t;

    pthread_create(&t, NULL, thread_sleeps, NULL);
    raise(SIGABRT);
    return 0;
}

static int crash_alone(void)
{
    volatile int *volatile nowhere = NULL;

    *nowhere = 1;
    return 0;
}

enum { SECRET = 0x5ec4e7 };
static int *secret; /* four pages; MADV_DONTDUMP for two, and MADV_DODUMP again for one of them */

static int crash_with_secret(void)
{
    secret = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(secret != MAP_FAILED);
    for (int i = 0; i < 4; i++)
        secret[i * 1024] = SECRET + i;
    EXPECT_EQ(madvise(secret + 1024, 2 * 4096, MADV_DONTDUMP), 0);
    EXPECT_EQ(madvise(secret + 2048, 4096, MADV_DODUMP), 0);
    if (fork() == 0) /* fork keeps it */
        return crash_alone();
    wait(NULL);
    return 0;
}

/* Ends a child with fn and a limit of `kib` for core files; returns its status. */
static int crashed(int (*fn)(void), unsigned long kib, uid_t uid)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct rlimit rl = {kib << 10, kib << 10};

        EXPECT_EQ(setrlimit(RLIMIT_CORE, &rl), 0);
        if (uid != 0)
            become(uid);
        core_mark = 0xc0de;
        _exit(fn());
    }
    return ended(pid);
}

static void enter_directory(void)
{
    char dir[] = "/tmp/t_ptrace.XXXXXX";

    EXPECT(mkdtemp(dir) != NULL);
    EXPECT_EQ(chmod(dir, 0777), 0);
    EXPECT_EQ(chdir(dir), 0);
}

static void set_pattern(const char *text)
{
    int fd = open("/proc/sys/kernel/core_pattern", O_WRONLY);

    EXPECT(fd >= 0);
    EXPECT_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* Whether the file has this word at the beginning of a page of memory. */
static bool core_has(const char *name, int word)
{
    int fd = open(name, O_RDONLY), got;
    bool found = false;

    EXPECT(fd >= 0);
    for (off_t at = 0; pread(fd, &got, sizeof got, at) == sizeof got; at += 4096)
        found |= got == word;
    close(fd);
    return found;
}

/* Reads the file: its notes, by type, and the word at `addr` in *word.  Returns the number of NT_PRSTATUS notes. */
static int read_core(const char *name, unsigned long addr, int *word, unsigned *types)
{
    int fd = open(name, O_RDONLY), threads = 0;
    struct stat st;
    char *m;
    Elf64_Ehdr *eh;
    Elf64_Phdr *ph;

    EXPECT(fd >= 0 && fstat(fd, &st) == 0);
    EXPECT_EQ(st.st_mode & 07777, 0600);
    m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    EXPECT(m != MAP_FAILED);
    close(fd);
    eh = (Elf64_Ehdr *)m;
    ph = (Elf64_Phdr *)(m + eh->e_phoff);
    EXPECT_EQ(eh->e_type, ET_CORE);
    *word = 0;
    *types = 0;
    for (int i = 0; i < eh->e_phnum; i++) {
        EXPECT(ph[i].p_offset + ph[i].p_filesz <= (unsigned long)st.st_size);
        if (ph[i].p_type == PT_LOAD && addr >= ph[i].p_vaddr &&
            addr < ph[i].p_vaddr + ph[i].p_filesz)
            *word = *(int *)(m + ph[i].p_offset + (addr - ph[i].p_vaddr));
        if (ph[i].p_type != PT_NOTE)
            continue;
        for (char *n = m + ph[i].p_offset; n < m + ph[i].p_offset + ph[i].p_filesz;) {
            Elf64_Nhdr *nh = (Elf64_Nhdr *)n;

            threads += nh->n_type == NT_PRSTATUS;
            *types |= nh->n_type < 32 ? 1u << nh->n_type : 1;
            n += sizeof *nh + ((nh->n_namesz + 3) & ~3u) + ((nh->n_descsz + 3) & ~3u);
        }
    }
    munmap(m, (size_t)st.st_size);
    return threads;
}

static void core_file(void)
{
    struct stat st;
    int word, status;
    unsigned types;

    NEED_ROOT();
    if (!on_homeroom())
        SKIP("changes core_pattern");
    enter_directory();
    status = crashed(crash_alone, 0, 0);
    EXPECT(WTERMSIG(status) == SIGSEGV && !WCOREDUMP(status));
    EXPECT_ERR(stat("core", &st), ENOENT);
    EXPECT_EQ(symlink("/tmp/t_ptrace.elsewhere", "core"), 0); /* removed, not followed */
    status = crashed(crash, 1 << 20, USER);
    EXPECT(WTERMSIG(status) == SIGABRT && WCOREDUMP(status));
    EXPECT_ERR(stat("/tmp/t_ptrace.elsewhere", &st), ENOENT);
    EXPECT_EQ(lstat("core", &st), 0);
    EXPECT_EQ(st.st_uid, USER);
    EXPECT_EQ(read_core("core", P(&core_mark), &word, &types), 2);
    EXPECT_EQ(word, 0xc0de);
    EXPECT_EQ(types & 0x4e, 0x4e); /* PRSTATUS FPREGSET PRPSINFO AUXV */
    crashed(crash_with_secret, 1 << 20, USER);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(core_has("core", SECRET + i), i != 1);
    set_pattern("x.%e.%s.%u%%%z");
    status = crashed(crash_alone, 1 << 20, USER);
    EXPECT(WCOREDUMP(status));
    EXPECT_EQ(read_core("x.t_ptrace.11.1000%", P(&core_mark), &word, &types), 1);
    set_pattern("core");
    unlink("core");
    status = crashed(crash_alone, 8, USER); /* a limit cuts the file, and the status says so */
    EXPECT(WTERMSIG(status) == SIGSEGV && !WCOREDUMP(status));
    EXPECT_EQ(lstat("core", &st), 0);
    EXPECT(st.st_size <= 8192);
    word = open("/proc/sys/kernel/core_pattern", O_WRONLY);
    EXPECT_ERR(write(word, "|/bin/true", 10), EINVAL);
}

static int crash_undumpable(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    return crash_alone();
}

static void no_core_file(void)
{
    struct stat st;
    int status, fd;

    NEED_ROOT();
    if (!on_homeroom())
        SKIP("depends on core_pattern");
    enter_directory();
    status = crashed(crash_undumpable, 1 << 20, 0);
    EXPECT(WTERMSIG(status) == SIGSEGV && !WCOREDUMP(status));
    EXPECT_ERR(stat("core", &st), ENOENT);
    EXPECT_EQ(mkdir("core", 0755), 0); /* cannot be replaced */
    status = crashed(crash_alone, 1 << 20, 0);
    EXPECT(WTERMSIG(status) == SIGSEGV && !WCOREDUMP(status));
    /* nor can another user's file or link, in a directory such as /tmp: it is not written through it */
    EXPECT_EQ(rmdir("core"), 0);
    EXPECT_EQ(chmod(".", 01777), 0);
    for (int i = 0; i < 2; i++) {
        fd = open(i ? "target" : "core", O_WRONLY | O_CREAT, 0666);
        EXPECT(fd >= 0);
        EXPECT_EQ(fchmod(fd, 0666), 0);
        if (i)
            EXPECT_EQ(symlink("target", "core"), 0);
        status = crashed(crash_alone, 1 << 20, USER);
        EXPECT(WTERMSIG(status) == SIGSEGV && !WCOREDUMP(status));
        EXPECT_EQ(fstat(fd, &st), 0);
        EXPECT_EQ(st.st_size, 0);
        close(fd);
        EXPECT_EQ(unlink("core"), 0);
    }
}

/* ---- races ---- */

static unsigned seed = 20;

static unsigned draw(unsigned n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % n;
}

static int many_threads(void)
{
    pthread_t t[4];

    for (;;) {
        for (int i = 0; i < 4; i++)
            pthread_create(&t[i], NULL, thread_exits, NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(t[i], NULL);
    }
    return 0;
}

static int many_forks(void)
{
    for (;;) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
    return 0;
}

/* A tracer of everything: lets each stop go on in a random way, until no tracee is left. */
static int trace_all(pid_t pid)
{
    static const int way[] = {CONT, CALL, STEP, CALL};
    int status;
    pid_t got;

    if (pt(SEIZE, pid, 0,
           OPT_FORK | OPT_CLONE | OPT_EXIT | OPT_SYSGOOD | (draw(2) ? OPT_EXITKILL : 0)) != 0)
        return 1;
    pt(INTERRUPT, pid, 0, 0);
    for (int i = 0; i < 400 && (got = waitpid(-1, &status, __WALL)) > 0; i++) {
        int sig = status >> 8 & 0x7f;

        if (WIFSTOPPED(status))
            pt(way[draw(4)], got, 0, (unsigned long)(sig == SIGTRAP || sig == SIGSTOP ? 0 : sig));
        if (draw(50) == 0)
            pt(DETACH, got, 0, 0);
    }
    return 0;
}

/* Tracees with threads and children, a tracer that is killed or leaves, tracees that are killed. */
static void kill_races(void)
{
    printf("  seed %u\n", seed);
    for (int i = 0; i < 24; i++) {
        pid_t pid = fork(), tracer;
        int status;

        if (pid == 0) {
            setpgid(0, 0);
            _exit(i % 2 ? many_threads() : many_forks());
        }
        seed += 17;
        tracer = fork();
        if (tracer == 0)
            _exit(trace_all(pid));
        usleep(1000 * draw(20));
        if (draw(2)) {
            kill(tracer, SIGKILL);
            usleep(100 * draw(20));
            kill(pid, SIGKILL);
        } else {
            kill(pid, SIGKILL);
            usleep(100 * draw(20));
            kill(tracer, SIGKILL);
        }
        ended(tracer);
        status = ended(
            pid); /* the tracer may have ended between a step and its stop: SIGTRAP, as on Linux */
        EXPECT(status == SIGKILL || (status & 0x7f) == SIGTRAP);
    }
}

/* Queues 100 signals to itself, which the tracer replaces; returns how many of the replacements are pending. */
static int take_replaced_signals(void)
{
    struct rlimit few = {4, 4};
    struct timespec now = {0, 0};
    sigset_t set;
    int n = 0;

    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    EXPECT_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    EXPECT_EQ(setrlimit(RLIMIT_SIGPENDING, &few), 0);
    for (int i = 0; i < 100; i++)
        EXPECT_EQ(raise(SIGUSR1), 0);
    while (sigtimedwait(&set, NULL, &now) > 0)
        n++;
    return n;
}

/* A tracer cannot make more signals pending than the limit, and the one that the tracee has taken. */
static void replaced_signals_are_limited(void)
{
    pid_t pid = tracee(take_replaced_signals);
    int status, replaced = 0;

    go(CONT, pid, 0);
    for (;;) {
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
        if (!WIFSTOPPED(status))
            break;
        EXPECT_EQ(WSTOPSIG(status), SIGUSR1);
        replaced++;
        go(CONT, pid, SIGRTMIN);
    }
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) <= 4 + 1);
    EXPECT_EQ(replaced, 100);
}

static const struct check list[] = {
    {"traceme_and_exec", traceme_and_exec},
    {"breakpoint", breakpoint},
    {"memory_errors", memory_errors},
    {"signals", signals},
    {"replaced_signals_are_limited", replaced_signals_are_limited},
    {"registers", registers},
    {"system_calls", system_calls},
    {"single_step", single_step},
    {"attach_and_detach", attach_and_detach},
    {"seize", seize},
    {"detach_stopped", detach_stopped},
    {"fork_events", fork_events},
    {"vfork_events", vfork_events},
    {"thread_events", thread_events},
    {"exec_by_thread", exec_by_thread},
    {"exec_by_untraced_thread", exec_by_untraced_thread},
    {"tracer_ends", tracer_ends},
    {"zombie_of_two", zombie_of_two},
    {"kill_stopped", kill_stopped},
    {"wait_by_waitid", wait_by_waitid},
    {"memory_file", memory_file},
    {"other_users", other_users},
    {"not_dumpable", not_dumpable},
    {"setid_program", setid_program},
    {"core_file", core_file},
    {"no_core_file", no_core_file},
    {"kill_races", kill_races},
};

/*
 * What the tests execute: exit with a number; with whether the program does not run as root; with errno of TRACEME.
 * "ready" says so, and sleeps.
 */
int main(int argc, char **argv)
{
    char c;

    if (argc == 3 && strcmp(argv[1], "exit") == 0)
        return atoi(argv[2]);
    if (argc == 2 && strcmp(argv[1], "euid") == 0)
        return geteuid() != 0;
    if (argc == 2 && strcmp(argv[1], "ready") == 0)
        return write(101, "x", 1) == 1 ? sleeps() : 1;
    if (argc == 2 && strcmp(argv[1], "traceme") == 0)
        return pt(TRACEME, 0, 0, 0) == 0 ? 0 : errno;
    if (argc == 2 && strcmp(argv[1], "mem") == 0)
        return pread(100, &c, 1, (off_t)P(target)) != 0 || pwrite(100, &c, 1, (off_t)P(target)) > 0;
    return check_main(list, sizeof list / sizeof list[0], argc, argv);
}
