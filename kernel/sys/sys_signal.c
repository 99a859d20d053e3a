// SPDX-License-Identifier: MIT
/*
 * sys_signal.c - system calls about signals.
 *
 * SEE ALSO  proc/signal.c (sending), proc/sigdeliver.c, proc/sigframe.c
 */
#include "sys/sys.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "proc/proc.h"
#include "proc/proc_impl.h"
#include "x86/uaccess.h"
#include "x86/trap.h"

#define UNBLOCKABLE (SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))
enum { SIGSET_BYTES = 8 };

struct user_timespec {
    int64_t sec, nsec;
};

struct user_stack {
    uint64_t sp;
    int32_t flags, pad;
    uint64_t size;
};
enum { MIN_SIGSTACK = 2048 };

static bool is_valid_signal(int sig)
{
    return sig >= 1 && sig <= NSIG;
}

long sys_rt_sigaction(struct regs *r)
{
    struct lwp *l = curlwp();
    struct proc *p = l->proc;
    int sig = (int)r->arg[0];
    struct sigaction new, old;
    bool forget;

    if (r->arg[3] != SIGSET_BYTES || !is_valid_signal(sig))
        return -EINVAL;
    if (r->arg[1] != 0) {
        if (sig == SIGKILL || sig == SIGSTOP)
            return -EINVAL;
        if (copy_in(&new, r->arg[1], sizeof new) != 0)
            return -EFAULT;
        new.mask &= ~UNBLOCKABLE;
        forget = new.handler == SIG_IGN || (new.handler == SIG_DFL &&sig_default_ignored(sig));
        if (forget)
            spin_lock(&proc_lock);
        spin_lock(&p->sig->lock);
        old = p->sig->act[sig - 1];
        p->sig->act[sig - 1] = new;
        if (forget)
            sig_flush_ignored(p, sig);
        spin_unlock(&p->sig->lock);
        if (forget)
            spin_unlock(&proc_lock);
    } else {
        spin_lock(&p->sig->lock);
        old = p->sig->act[sig - 1];
        spin_unlock(&p->sig->lock);
    }
    return r->arg[2] != 0 ? copy_out(r->arg[2], &old, sizeof old) : 0;
}

long sys_rt_sigprocmask(struct regs *r)
{
    enum { SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK };
    sigset_t old = curlwp()->sigmask, set;

    if (r->arg[3] != SIGSET_BYTES)
        return -EINVAL;
    if (r->arg[1] != 0) {
        if (copy_in(&set, r->arg[1], sizeof set) != 0)
            return -EFAULT;
        switch ((int)r->arg[0]) {
        case SIG_BLOCK:
            set |= old;
            break;
        case SIG_UNBLOCK:
            set = old & ~set;
            break;
        case SIG_SETMASK:
            break;
        default:
            return -EINVAL;
        }
        set &= ~UNBLOCKABLE;
        if (set != old)
            sig_mask_set(set);
    }
    return r->arg[2] != 0 ? copy_out(r->arg[2], &old, sizeof old) : 0;
}

long sys_rt_sigpending(struct regs *r)
{
    struct lwp *l = curlwp();
    struct proc *p = l->proc;
    sigset_t set;

    if (r->arg[1] > SIGSET_BYTES)
        return -EINVAL;
    spin_lock(&p->sig->lock);
    set = (l->pending.set | p->pending.set) & l->sigmask;
    spin_unlock(&p->sig->lock);
    return copy_out(r->arg[0], &set, r->arg[1]);
}

long sys_rt_sigreturn(struct regs *r)
{
    if (sigframe_pop(curlwp(), r) != 0)
        sig_fault(SIGSEGV, SI_KERNEL, 0);
    return (long)r->rax; /* syscall_entry stores this result in r->rax again */
}

/* ---- waiting for signals ---- */

/* Sleeps until a signal that is not blocked arrives.  Returns -ERESTARTNOHAND. */
static long wait_for_signal(void)
{
    struct spinlock *lock = &curproc()->sig->lock;
    struct cv never;

    cv_init(&never);
    spin_lock(lock);
    while (cv_wait_sig_spin(&never, lock, NO_DEADLINE, "signal") == 0)
        ;
    spin_unlock(lock);
    return -ERESTARTNOHAND;
}

long sys_pause(struct regs *r)
{
    (void)r;
    return wait_for_signal();
}

long sys_rt_sigsuspend(struct regs *r)
{
    sigset_t set;

    if (r->arg[1] != SIGSET_BYTES)
        return -EINVAL;
    if (copy_in(&set, r->arg[0], sizeof set) != 0)
        return -EFAULT;
    sig_mask_push(set);
    return wait_for_signal(); /* the old mask is restored on the return to user mode */
}

long sys_rt_sigtimedwait(struct regs *r)
{
    uint64_t deadline = NO_DEADLINE;
    struct siginfo info;
    struct user_siginfo out;
    struct user_timespec ts;
    sigset_t set;
    int sig;

    if (r->arg[3] != SIGSET_BYTES)
        return -EINVAL;
    if (copy_in(&set, r->arg[0], sizeof set) != 0 ||
        (r->arg[2] != 0 && copy_in(&ts, r->arg[2], sizeof ts) != 0))
        return -EFAULT;
    if (r->arg[2] != 0) {
        if (ts.sec < 0 || ts.nsec < 0 || ts.nsec >= 1000000000)
            return -EINVAL;
        if (ts.sec < INT32_MAX)
            deadline = clock_mono_ns() + (uint64_t)ts.sec * 1000000000 + (uint64_t)ts.nsec;
    }
    sig = sig_wait(set & ~UNBLOCKABLE, deadline, &info);
    if (sig < 0)
        return sig == -ETIMEDOUT ? -EAGAIN : -EINTR;
    siginfo_to_user(&out, &info);
    return r->arg[1] != 0 && copy_out(r->arg[1], &out, sizeof out) != 0 ? -EFAULT : sig;
}

long sys_restart_syscall(struct regs *r)
{
    struct lwp *l = curlwp();
    long (*fn)(struct lwp *) = l->restart.fn;

    (void)r;
    if (fn == NULL)
        return -EINTR;
    l->restart.fn = NULL;
    return fn(l);
}

long sys_sigaltstack(struct regs *r)
{
    struct lwp *l = curlwp();
    bool on = sig_on_altstack(l, r->rsp);
    struct user_stack new, old = {.sp = l->altstack_sp,
                                  .flags = sig_altstack_flags(l, r->rsp),
                                  .size = l->altstack_size};

    if (r->arg[0] != 0) {
        if (copy_in(&new, r->arg[0], sizeof new) != 0)
            return -EFAULT;
        if (on)
            return -EPERM;
        if (new.flags != 0 && new.flags != SS_ONSTACK &&new.flags != SS_DISABLE)
            return -EINVAL;
        if (new.flags & SS_DISABLE) {
            new.sp = new.size = 0;
        } else if (new.size < MIN_SIGSTACK) {
            return -ENOMEM;
        } else if (new.sp >= USER_TOP || new.size > USER_TOP - new.sp) {
            return -EINVAL;
        }
        l->altstack_sp = new.sp;
        l->altstack_size = new.size;
    }
    return r->arg[1] != 0 ? copy_out(r->arg[1], &old, sizeof old) : 0;
}

/* ---- sending ---- */

static struct siginfo siginfo_from_caller(int sig, int code)
{
    struct siginfo info = {.signo = sig, .code = code};

    info.rt.pid = curproc()->pid;
    info.rt.uid = curcred()->uid;
    return info;
}

/* Sends a signal to one process.  sig 0: only checks the permission.  Returns 0, -EPERM, or another error. */
static int kill_one_process(struct proc *p, int sig, const struct siginfo *info)
{
    if (!sig_permitted(curcred(), p, sig))
        return -EPERM;
    return sig == 0 ? 0 : sig_send_proc(p, sig, info);
}

/*
 * Sends a signal to all processes of group `pgid` (0: the group of the caller).  Returns 0 if the
 * send to one of them succeeded.  The caller holds proc_lock.
 */
static int kill_group(int pgid, int sig, const struct siginfo *info)
{
    struct pgrp *pg = pgid == 0 ? curproc()->pgrp : pgrp_find(pgid);
    struct proc *p;
    int err = -ESRCH, one;

    if (pg == NULL)
        return -ESRCH;
    LIST_FOREACH (p, &pg->members, pgrp_link) {
        one = kill_one_process(p, sig, info);
        if (err != 0)
            err = one;
    }
    return err;
}

/*
 * Sends a signal to all processes except init and the caller.  Returns 0 if the send to one of them
 * succeeded.  The caller holds proc_lock.
 */
static int kill_all(int sig, const struct siginfo *info)
{
    struct proc *p;
    int err = -ESRCH, one;

    LIST_FOREACH (p, &proc_all, all_link)
        if (p != proc_initial && p != curproc()) {
            one = kill_one_process(p, sig, info);
            if (err != 0)
                err = one;
        }
    return err;
}

long sys_kill(struct regs *r)
{
    int pid = (int)r->arg[0], sig = (int)r->arg[1], err;
    struct siginfo info = siginfo_from_caller(sig, SI_USER);
    struct proc *p;

    if (sig != 0 && !is_valid_signal(sig))
        return -EINVAL;
    if (pid == curproc()->pid)
        return kill_one_process(curproc(), sig, &info);
    spin_lock(&proc_lock);
    if (pid > 0)
        err = (p = proc_find(pid)) == NULL ? -ESRCH : kill_one_process(p, sig, &info);
    else if (pid == -1)
        err = kill_all(sig, &info);
    else
        err = pid == INT32_MIN ? -ESRCH : kill_group(-pid, sig, &info);
    spin_unlock(&proc_lock);
    return err;
}

/* Sends a signal to LWP `tid` of process `tgid` (0: any); sig 0: only checks.  -EINVAL, -ESRCH, -EPERM. */
static long kill_lwp(int tgid, int tid, int sig, const struct siginfo *info)
{
    struct lwp *l;
    int err;

    if (tid <= 0 || (sig != 0 && !is_valid_signal(sig)))
        return -EINVAL;
    if (tid == (int)curthread->tid && (tgid == 0 || tgid == curproc()->pid))
        return sig == 0 ? 0 : sig_send_lwp(curlwp(), sig, info);
    spin_lock(&proc_lock);
    l = lwp_find(tid);
    if (l == NULL || (tgid != 0 && l->proc->pid != tgid))
        err = -ESRCH;
    else if (!sig_permitted(curcred(), l->proc, sig))
        err = -EPERM;
    else
        err = sig == 0 ? 0 : sig_send_lwp(l, sig, info);
    spin_unlock(&proc_lock);
    return err;
}

long sys_tkill(struct regs *r)
{
    struct siginfo info = siginfo_from_caller((int)r->arg[1], SI_TKILL);

    return kill_lwp(0, (int)r->arg[0], (int)r->arg[1], &info);
}

long sys_tgkill(struct regs *r)
{
    struct siginfo info = siginfo_from_caller((int)r->arg[2], SI_TKILL);

    if ((int)r->arg[0] <= 0)
        return -EINVAL;
    return kill_lwp((int)r->arg[0], (int)r->arg[1], (int)r->arg[2], &info);
}

/*
 * Reads a siginfo that the program has filled in.  Unless the program sends the signal to its own
 * process, the code in the siginfo must not be a code that the kernel, kill(2) or tkill(2) uses.
 * 0, -EFAULT, -EPERM.
 */
static int copy_in_siginfo(struct siginfo *info, uint64_t uaddr, int sig, bool self)
{
    struct user_siginfo u;

    if (copy_in(&u, uaddr, sizeof u) != 0)
        return -EFAULT;
    if (!self && (u.code >= 0 || u.code == SI_TKILL))
        return -EPERM;
    *info = (struct siginfo){.signo = sig, .err = u.err, .code = u.code};
    memcpy(info->raw, u.fields, sizeof info->raw);
    return 0;
}

long sys_rt_sigqueueinfo(struct regs *r)
{
    int pid = (int)r->arg[0], sig = (int)r->arg[1];
    struct siginfo info;
    struct proc *p;
    int err = copy_in_siginfo(&info, r->arg[2], sig, pid == curproc()->pid);

    if (err != 0)
        return err;
    if (sig != 0 && !is_valid_signal(sig))
        return -EINVAL;
    spin_lock(&proc_lock);
    err = (p = proc_find(pid)) == NULL ? -ESRCH : kill_one_process(p, sig, &info);
    spin_unlock(&proc_lock);
    return err;
}

long sys_rt_tgsigqueueinfo(struct regs *r)
{
    int tgid = (int)r->arg[0], sig = (int)r->arg[2];
    struct siginfo info;
    int err = copy_in_siginfo(&info, r->arg[3], sig, tgid == curproc()->pid);

    if (err != 0)
        return err;
    return tgid <= 0 ? -EINVAL : kill_lwp(tgid, (int)r->arg[1], sig, &info);
}
