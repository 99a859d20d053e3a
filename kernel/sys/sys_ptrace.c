// SPDX-License-Identifier: MIT
/*
 * sys_ptrace.c - ptrace(2): the requests of a tracer.
 *
 * THEORY      Requests that read or change a stopped tracee work on the copy of its state in struct ptrace, those for
 *             memory on its address space.  Requests are those of Linux for x86-64.  There is no emulation of
 *             calls, no list of pending signals, no seccomp, and debug registers can only be set to 0: debuggers
 *             then use breakpoints in the code, and single steps instead of watchpoints.
 *             Data is copied from and to the tracer while no lock is held.
 * LOCKING     ptrace_lock(): proc_lock and the tracee's [s]
 * SEE ALSO    proc/ptrace.h, user/test/t_ptrace.c; ptrace(2)
 */
#include "sys/sys.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "proc/ptrace.h"
#include "x86/uaccess.h"

enum {
    PTRACE_TRACEME = 0,
    PTRACE_PEEKTEXT = 1,
    PTRACE_PEEKDATA = 2,
    PTRACE_PEEKUSER = 3,
    PTRACE_POKETEXT = 4,
    PTRACE_POKEDATA = 5,
    PTRACE_POKEUSER = 6,
    PTRACE_CONT = 7,
    PTRACE_KILL = 8,
    PTRACE_SINGLESTEP = 9,
    PTRACE_GETREGS = 12,
    PTRACE_SETREGS = 13,
    PTRACE_GETFPREGS = 14,
    PTRACE_SETFPREGS = 15,
    PTRACE_ATTACH = 16,
    PTRACE_DETACH = 17,
    PTRACE_SYSCALL = 24,
    PTRACE_ARCH_PRCTL = 30,
    PTRACE_SETOPTIONS = 0x4200,
    PTRACE_GETEVENTMSG = 0x4201,
    PTRACE_GETSIGINFO = 0x4202,
    PTRACE_SETSIGINFO = 0x4203,
    PTRACE_GETREGSET = 0x4204,
    PTRACE_SETREGSET = 0x4205,
    PTRACE_SEIZE = 0x4206,
    PTRACE_INTERRUPT = 0x4207,
    PTRACE_LISTEN = 0x4208,
    PTRACE_GETSIGMASK = 0x420a,
    PTRACE_SETSIGMASK = 0x420b,
    PTRACE_GET_SYSCALL_INFO = 0x420e,
};
enum { NT_PRSTATUS = 1, NT_FPREGSET = 2, NT_X86_XSTATE = 0x202 };
enum { AUDIT_ARCH = 0xc000003e }; /* x86-64 */

/* Linux's struct user: what PTRACE_PEEKUSER reads; only the registers are stored. */
enum { USER_DEBUGREG = 848, USER_DEBUGREG_END = 912, USER_SIZE = 928 };

/* What a request moves between tracer and tracee. */
union payload {
    uint64_t word;
    struct user_regs regs;
    struct fpu_area fpu;
    struct siginfo info;
    struct call_info {
        uint8_t op, pad;
        uint16_t flags;
        uint32_t arch;
        uint64_t ip, sp;
        union {
            struct {
                uint64_t nr, arg[6];
            } entry;
            struct {
                int64_t value;
                uint8_t is_error;
            } exit;
        };
    } call;
};

/* ---- registers and other state --------------------------------------------------------------------------- */

static int set_all_regs(struct ptrace_state *at, const struct user_regs *u, size_t bytes)
{
    struct ptrace_state old = {.regs = at->regs, .fsbase = at->fsbase, .gsbase = at->gsbase};
    int err = 0;

    for (unsigned i = 0; i < bytes / sizeof(uint64_t) && err == 0; i++)
        err = user_regs_set(at, i, ((const uint64_t *)u)[i]);
    if (err != 0) {
        at->regs = old.regs;
        at->fsbase = old.fsbase;
        at->gsbase = old.gsbase;
    }
    return err;
}

static void set_fpu(struct ptrace_state *at, const void *from, size_t bytes)
{
    memcpy(&at->fpu, from, bytes);
    x86_fpu_sanitise(&at->fpu);
}

static size_t get_call_info(const struct ptrace *pt, struct call_info *ci)
{
    const struct regs *r = &pt->at.regs;

    memset(ci, 0, sizeof *ci);
    ci->arch = AUDIT_ARCH;
    ci->ip = r->rip;
    ci->sp = r->rsp;
    if (pt->at.has_info && pt->at.info.code == (SIGTRAP | 0x80))
        ci->op = (uint8_t)pt->message; /* 1: entry, 2: exit, as ptrace.c sets it */
    if (ci->op == 1) {
        ci->entry.nr = r->orig_rax;
        memcpy(ci->entry.arg, r->arg, sizeof ci->entry.arg);
        return offsetof(struct call_info, entry) + sizeof ci->entry;
    }
    if (ci->op == 2) {
        ci->exit.value = (int64_t)r->rax;
        ci->exit.is_error = ci->exit.value < 0 && ci->exit.value >= -4095;
        return offsetof(struct call_info, exit.is_error) + 1;
    }
    return offsetof(struct call_info, entry);
}

/* Copy what `request` reads from the stopped tracee to *out.  Returns the number of bytes, or an error. */
static long read_state(const struct ptrace *pt, uint64_t request, uint64_t addr, union payload *out)
{
    const struct ptrace_state *at = &pt->at;

    switch (request) {
    case PTRACE_GETREGS:
        user_regs_get(&out->regs, &at->regs, at->fsbase, at->gsbase);
        return sizeof out->regs;
    case PTRACE_GETFPREGS:
        out->fpu = at->fpu;
        return sizeof out->fpu;
    case PTRACE_GETSIGINFO:
        out->info = at->info;
        return at->has_info ? (long)sizeof out->info : -EINVAL;
    case PTRACE_GETEVENTMSG:
        out->word = pt->message;
        return sizeof out->word;
    case PTRACE_GETSIGMASK:
        out->word = at->sigmask;
        return addr == sizeof out->word ? (long)sizeof out->word : -EINVAL;
    case PTRACE_GET_SYSCALL_INFO:
        return (long)get_call_info(pt, &out->call);
    default: /* PTRACE_PEEKUSER */
        if (addr % sizeof out->word != 0 || addr >= USER_SIZE)
            return -EIO;
        user_regs_get(&out->regs, &at->regs, at->fsbase, at->gsbase);
        out->word = addr < sizeof out->regs ? ((uint64_t *)&out->regs)[addr / 8] : 0;
        return sizeof out->word;
    }
}

/* Number of bytes that `request` writes to the tracee from the tracer's memory; 0: none. */
static size_t bytes_to_write(uint64_t request)
{
    switch (request) {
    case PTRACE_SETREGS:
        return sizeof(struct user_regs);
    case PTRACE_SETFPREGS:
        return sizeof(struct fpu_area);
    case PTRACE_SETSIGINFO:
        return sizeof(struct siginfo);
    case PTRACE_SETSIGMASK:
        return sizeof(sigset_t);
    default:
        return 0;
    }
}

/* Change the state of the stopped tracee.  0, or an error; then nothing is changed. */
static int write_state(struct ptrace *pt, uint64_t request, uint64_t addr, const union payload *in,
                       size_t bytes)
{
    struct ptrace_state *at = &pt->at;

    switch (request) {
    case PTRACE_SETREGS:
        return set_all_regs(at, &in->regs, bytes);
    case PTRACE_SETFPREGS:
        set_fpu(at, &in->fpu, bytes);
        return 0;
    case PTRACE_SETSIGINFO:
        if (!at->has_info)
            return -EINVAL;
        at->info = in->info;
        return 0;
    case PTRACE_SETSIGMASK:
        if (addr != sizeof(sigset_t))
            return -EINVAL;
        at->sigmask = in->word & ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP));
        return 0;
    default: /* PTRACE_POKEUSER */
        if (addr % sizeof in->word != 0)
            return -EIO;
        if (addr >= USER_DEBUGREG && addr < USER_DEBUGREG_END)
            return in->word == 0 ? 0 : -EIO;
        return user_regs_set(at, (unsigned)min_of(addr / 8, (uint64_t)USER_REGS), in->word);
    }
}

/* Carry out a request that moves state of the tracee from or to `user`, of at most `max` bytes; *moved: how many. */
static long move_state(int tid, uint64_t request, uint64_t addr, uint64_t user, size_t max,
                       size_t *moved)
{
    union payload buf;
    struct ptrace *pt;
    size_t bytes = bytes_to_write(request);
    long n = 0;
    int err;

    *moved = min_of(bytes, max);
    if (request == PTRACE_POKEUSER)
        buf.word = user;
    else if (bytes != 0 && copy_in(&buf, user, *moved) != 0)
        return -EFAULT;
    err = ptrace_lock(tid, true, &pt);
    if (err != 0)
        return err;
    if (bytes != 0 || request == PTRACE_POKEUSER)
        err = write_state(pt, request, addr, &buf, *moved);
    else
        n = read_state(pt, request, addr, &buf);
    ptrace_unlock(pt);
    if (err != 0 || n <= 0)
        return err != 0 ? err : n;
    *moved = min_of((size_t)n, max);
    if (copy_out(user, &buf, *moved) != 0)
        return -EFAULT;
    return request == PTRACE_GET_SYSCALL_INFO ? n : 0;
}

/* PTRACE_ARCH_PRCTL: what arch_prctl(code, addr) would do in the tracee; `addr` is an address of the tracer. */
static long move_segment_base(int tid, uint64_t code, uint64_t addr)
{
    enum { ARCH_SET_GS = 0x1001, ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS };
    bool fs = code == ARCH_SET_FS || code == ARCH_GET_FS;
    uint64_t at = fs ? offsetof(struct user_regs, fsbase) : offsetof(struct user_regs, gsbase);
    size_t moved;
    long err;

    switch (code) {
    case ARCH_GET_FS:
    case ARCH_GET_GS:
        return move_state(tid, PTRACE_PEEKUSER, at, addr, sizeof addr, &moved);
    case ARCH_SET_FS:
    case ARCH_SET_GS:
        err = move_state(tid, PTRACE_POKEUSER, at, addr, 0, &moved);
        return err == -EIO ? -EPERM : err;
    default:
        return -EINVAL;
    }
}

/* PTRACE_GETREGSET, PTRACE_SETREGSET: `iov` is the address of a struct iovec, whose length is set. */
static long move_regset(int tid, bool set, uint64_t type, uint64_t iov)
{
    struct iovec v;
    size_t moved;
    uint64_t request;
    long err;

    if (type == NT_PRSTATUS)
        request = set ? PTRACE_SETREGS : PTRACE_GETREGS;
    else if (type == NT_FPREGSET)
        request = set ? PTRACE_SETFPREGS : PTRACE_GETFPREGS;
    else
        return type == NT_X86_XSTATE ? -ENODEV : -EINVAL; /* the kernel saves no extended state */
    if (copy_in(&v, iov, sizeof v) != 0)
        return -EFAULT;
    if (v.len % sizeof(uint64_t) != 0)
        return -EINVAL;
    err = move_state(tid, request, 0, v.base, v.len, &moved);
    if (err != 0)
        return err;
    v.len = moved;
    return copy_out(iov, &v, sizeof v);
}

/* ---- letting the tracee run ------------------------------------------------------------------------------ */

static long resume_tracee(int tid, uint64_t request, uint64_t sig)
{
    struct ptrace *pt;
    int err;

    err = ptrace_lock(tid, true, &pt);
    if (err != 0)
        return err;
    if (sig > NSIG) {
        ptrace_unlock(pt);
        return -EIO;
    }
    if (request == PTRACE_DETACH)
        ptrace_detach_unlock(pt, (int)sig);
    else
        ptrace_resume_unlock(pt, request == PTRACE_SYSCALL, request == PTRACE_SINGLESTEP, (int)sig);
    return 0;
}

/* PTRACE_INTERRUPT: stop a seized tracee.  PTRACE_LISTEN: let a group stop go on, but report its end. */
static long interrupt_or_listen(int tid, bool listen)
{
    struct ptrace *pt;
    int err = ptrace_lock(tid, listen, &pt);

    if (err != 0)
        return err;
    if (!pt->seized || (listen && pt->code >> 8 != PT_STOP))
        err = -EIO;
    if (err == 0 && listen)
        pt->state = PT_LISTENING;
    if (err == 0 && !listen)
        pt->interrupt = true;
    if (err == 0 && lwp_has_trap(pt->lwp))
        ptrace_wake(pt->lwp);
    ptrace_unlock(pt);
    return err;
}

static long kill_tracee(int tid)
{
    struct ptrace *pt;
    int err = ptrace_lock(tid, false, &pt);

    if (err != 0)
        return err;
    spin_unlock(&pt->proc->sig->lock);
    sig_send_proc(pt->proc, SIGKILL, NULL);
    spin_unlock(&proc_lock);
    return 0;
}

static long set_options(int tid, uint64_t options)
{
    struct ptrace *pt;
    int err = ptrace_lock(tid, true, &pt);

    if (err != 0)
        return err;
    if (options & ~(uint64_t)PT_O_ALL)
        err = -EINVAL;
    else
        pt->options = (uint32_t)options;
    ptrace_unlock(pt);
    return err;
}

/* PTRACE_PEEKDATA stores a word of the tracee's memory at user address `data`, PTRACE_POKEDATA stores `data` there. */
static long move_word(int tid, bool poke, uint64_t addr, uint64_t data)
{
    uint64_t word = data;
    int err = ptrace_access(tid, addr, &word, sizeof word, poke);

    return err == 0 && !poke ? copy_out(data, &word, sizeof word) : err;
}

/* A request that does not exist: -EIO, or -ESRCH if tid is no stopped tracee either. */
static int unknown_request(int tid)
{
    struct ptrace *pt;
    int err = ptrace_lock(tid, true, &pt);

    if (err != 0)
        return err;
    ptrace_unlock(pt);
    return -EIO;
}

/* Requests that need a tracee; the others are in sys_ptrace(). */
static long request_to_tracee(uint64_t request, int tid, uint64_t addr, uint64_t data)
{
    size_t moved;

    switch (request) {
    case PTRACE_PEEKTEXT:
    case PTRACE_PEEKDATA:
    case PTRACE_POKETEXT:
    case PTRACE_POKEDATA:
        return move_word(tid, request == PTRACE_POKETEXT || request == PTRACE_POKEDATA, addr, data);
    case PTRACE_PEEKUSER:
    case PTRACE_POKEUSER:
    case PTRACE_GETREGS:
    case PTRACE_SETREGS:
    case PTRACE_GETFPREGS:
    case PTRACE_SETFPREGS:
    case PTRACE_GETEVENTMSG:
    case PTRACE_GETSIGINFO:
    case PTRACE_SETSIGINFO:
    case PTRACE_GETSIGMASK:
    case PTRACE_SETSIGMASK:
        return move_state(tid, request, addr, data, sizeof(union payload), &moved);
    case PTRACE_GET_SYSCALL_INFO:
        return move_state(tid, request, addr, data, addr, &moved);
    case PTRACE_ARCH_PRCTL:
        return move_segment_base(tid, data, addr);
    case PTRACE_GETREGSET:
    case PTRACE_SETREGSET:
        return move_regset(tid, request == PTRACE_SETREGSET, addr, data);
    case PTRACE_CONT:
    case PTRACE_SYSCALL:
    case PTRACE_SINGLESTEP:
    case PTRACE_DETACH:
        return resume_tracee(tid, request, data);
    case PTRACE_KILL:
        return kill_tracee(tid);
    case PTRACE_SETOPTIONS:
        return set_options(tid, data);
    case PTRACE_INTERRUPT:
    case PTRACE_LISTEN:
        return interrupt_or_listen(tid, request == PTRACE_LISTEN);
    default:
        return unknown_request(tid);
    }
}

/* ptrace(request, tid, addr, data) */
long sys_ptrace(struct regs *r)
{
    uint64_t request = r->arg[0], addr = r->arg[2], data = r->arg[3];
    int tid = (int)r->arg[1];

    switch (request) {
    case PTRACE_TRACEME:
        return ptrace_traceme();
    case PTRACE_ATTACH:
        return ptrace_attach(tid, false, 0);
    case PTRACE_SEIZE:
        if (addr != 0 || (data & ~(uint64_t)PT_O_ALL) != 0)
            return -EIO;
        return ptrace_attach(tid, true, (uint32_t)data);
    default:
        return request_to_tracee(request, tid, addr, data);
    }
}
