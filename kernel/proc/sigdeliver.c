// SPDX-License-Identifier: MIT
/*
 * sigdeliver.c - an LWP acts on its pending signals before it returns to user mode.
 *
 * THEORY      sig_deliver() runs on the way to user mode while AST_SIGNAL is set.  It has three steps:
 *             1. It ends the LWP if the process ends, or if another LWP of the process is in exec.
 *             2. It sleeps while the process is stopped, or the tracer stops the LWP (ptrace.c).
 *             3. It takes the pending signals one by one.  Each is ignored, stops or ends the process, or
 *                gets a frame for its handler (sigframe.c).  If several frames are pushed, the handler of
 *                the last one runs first.
 *             A system call that was interrupted left one of the -ERESTART* codes in rax.  Either the
 *             call returns -EINTR, or it is repeated: then rip goes back to the SYSCALL instruction,
 *             which is 2 bytes long.  The choice depends on the code, on the handler's SA_RESTART, and on
 *             whether any handler runs at all.
 * INVARIANTS  S4  the restart is decided once: orig_rax is -1 afterwards
 *             S5  a synchronous fault is never lost: if its signal is blocked or ignored, the process ends
 * LOCKING     The LWP holds [s] while it chooses a signal, and no lock while it writes the user stack.  To stop the
 *             process, it takes proc_lock, then [s].
 * SEE ALSO    signal.c, sigframe.c
 */
#include "proc/proc_impl.h"

#include "lib/errno.h"
#include "proc/ptrace.h"
#include "x86/trap.h"

enum { NR_restart_syscall = 219 };
/* Signals whose default action writes a core file, as on Linux. */
#define CORE_SIGNALS                                                                               \
    (SIGBIT(SIGQUIT) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) | SIGBIT(SIGABRT) | SIGBIT(SIGBUS) |       \
     SIGBIT(SIGFPE) | SIGBIT(SIGSEGV) | SIGBIT(SIGXCPU) | SIGBIT(SIGXFSZ) | SIGBIT(SIGSYS))

/*
 * Decide whether an interrupted system call is repeated.  `act` is the action of the handler that will run;
 * NULL: no handler will run.
 */
static void decide_restart(struct regs *r, const struct sigaction *act)
{
    int64_t code = (int64_t)r->rax;

    if ((int64_t)r->orig_rax < 0 || code > -ERESTARTSYS || code < -ERESTART_RESTARTBLOCK)
        return;
    if (code == -ERESTARTNOINTR || act == NULL ||
        (code == -ERESTARTSYS && (act->flags & SA_RESTART))) {
        r->rax = code == -ERESTART_RESTARTBLOCK ? NR_restart_syscall : r->orig_rax;
        r->rip -= 2;
    } else {
        r->rax = (uint64_t)-EINTR;
    }
    r->orig_rax = UINT64_MAX; /* the restart is decided only once (S4) */
}

/*
 * Stop the process of l for `sig`, unless SIGCONT or SIGKILL came meanwhile.  An orphaned group is stopped
 * only by SIGSTOP, because no shell could continue it.
 */
static void stop_process(struct lwp *l, int sig)
{
    struct proc *p = l->proc;
    struct lwp *o;
    bool stop;

    spin_lock(&proc_lock);
    stop = sig == SIGSTOP || !pgrp_orphaned(p->pgrp);
    spin_lock(&p->sig->lock);
    stop = stop && p->stop_taken && !p->exiting;
    p->stop_taken = false;
    if (stop) {
        p->stopped = true;
        p->stop_sig = sig;
        p->stop_reported = p->cont_pending = false;
        lwps_interrupt(p, l);
        LIST_FOREACH (o, &p->lwps, proc_link)
            if (o->pt != NULL)
                ptrace_want_trap(o, false);
    }
    spin_unlock(&p->sig->lock);
    if (stop)
        notify_parent(p, CLD_STOPPED, sig);
    spin_unlock(&proc_lock);
}

/* Whether `sig` with this action has no effect. */
static bool is_ignored_action(const struct sigaction *act, int sig)
{
    return act->handler == SIG_IGN || (act->handler == SIG_DFL && sig_default_ignored(sig));
}

/* Returns the next signal to act on, with its *info and *act; 0: there is none [S]. */
static int next_signal(struct lwp *l, struct siginfo *info, struct sigaction *act)
{
    struct sighand *sh = l->proc->sig;
    int sig = l->fault_sig;

    if (sig != 0) {
        l->fault_sig = 0;
        *info = l->fault_info;
        *act = sh->act[sig - 1];
        if ((l->sigmask & SIGBIT(sig)) || act->handler == SIG_IGN)
            /* a synchronous fault whose signal is blocked or ignored ends the process (S5) */
            act->handler = SIG_DFL;
        return sig;
    }
    while ((sig = sig_take(l, ~l->sigmask, info)) != 0) {
        *act = sh->act[sig - 1];
        if (!is_ignored_action(act, sig) || lwp_is_traced(l))
            return sig;
    }
    return 0;
}

/*
 * The tracer of l decides what happens with `sig`, which next_signal() has found.  Returns the signal on which to act,
 * with its *info and *act; 0: none.  The caller holds [s], which is released meanwhile.
 */
static int ask_tracer(struct lwp *l, struct regs *r, int sig, struct siginfo *info,
                      struct sigaction *act)
{
    struct spinlock *lock = &l->proc->sig->lock;
    int now;

    spin_unlock(lock);
    now = ptrace_signal(r, sig, info);
    spin_lock(lock);
    if (now == 0 || lwp_must_end(l))
        return 0;
    if (now != sig) {
        *act = l->proc->sig->act[now - 1];
        if (l->sigmask & SIGBIT(now) & ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))) {
            sig_requeue(l, &l->pending, now, info);
            return 0;
        }
    }
    return is_ignored_action(act, now) ? 0 : now;
}

/*
 * Set l's mask, and its action if SA_RESETHAND, for the handler of `sig` [S].  Returns the mask to restore.
 */
static sigset_t prepare_for_handler(struct lwp *l, int sig, const struct sigaction *act)
{
    sigset_t old = l->restore_mask ? l->saved_mask : l->sigmask;

    l->restore_mask = false;
    l->sigmask |= act->mask;
    if (!(act->flags & SA_NODEFER))
        l->sigmask |= SIGBIT(sig);
    if (act->flags & SA_RESETHAND)
        l->proc->sig->act[sig - 1].handler = SIG_DFL;
    return old;
}

/*
 * Wait while the process of l, the caller, is stopped, or its tracer stops it; end the LWP if it must end.  The caller
 * holds [s], also afterwards.
 */
static void stop_or_end(struct lwp *l, struct regs *r)
{
    struct proc *p = l->proc;
    struct spinlock *lock = &p->sig->lock;

    for (;;) {
        if (p->exiting || (p->execing != NULL && p->execing != l)) {
            spin_unlock(lock);
            lwp_exit(p->exit_status);
        }
        if (p->dumper != NULL && p->dumper != l) {
            spin_unlock(lock);
            coredump_park(l);
            spin_lock(lock);
        } else if (lwp_has_trap(l)) {
            ptrace_trap_unlock(l, r);
            spin_lock(lock);
        } else if (p->stopped && !lwp_is_traced(l)) {
            cv_wait_spin(&p->stop_cv, lock, "stopped");
        } else {
            return;
        }
    }
}

/* The default action of `sig`, which stops or ends the process.  The caller holds [s]; the function releases it. */
static void default_action_unlock(struct lwp *l, int sig, const struct siginfo *info)
{
    struct proc *p = l->proc;

    p->stop_taken = sig_is_stop(sig);
    spin_unlock(&p->sig->lock);
    if (sig_is_stop(sig)) {
        stop_process(l, sig);
        return;
    }
    if (CORE_SIGNALS & SIGBIT(sig))
        coredump_end_process(sig, info);
    proc_exit_group(sig);
}

/* Start the handler of `sig`.  Its frame is pushed without a lock; a frame that does not fit causes SIGSEGV. */
static void start_handler(struct lwp *l, struct regs *r, int sig, const struct siginfo *info,
                          const struct sigaction *act, sigset_t old)
{
    bool stop = unlikely(l->pt != NULL) && ptrace_handler_begins(l, r);

    sig_offer_blocked(l);
    decide_restart(r, act);
    if (sigframe_push(l, r, sig, info, act, old) != 0) {
        if (sig == SIGSEGV)
            proc_exit_group(SIGSEGV); /* the frame of SIGSEGV itself does not fit */
        sig_fault(SIGSEGV, SI_KERNEL, 0);
    } else if (stop) {
        ptrace_handler_stop(r);
    }
}

void sig_deliver(struct regs *r)
{
    struct lwp *l = curlwp();
    struct proc *p = l->proc;
    struct spinlock *lock;
    struct sigaction act;
    struct siginfo info;
    sigset_t old;
    int sig;

    if (unlikely(atomic_load_explicit(&l->t.ast, memory_order_relaxed) & AST_ALARM))
        limit_cpu_check(l);
    if ((atomic_load_explicit(&l->t.ast, memory_order_relaxed) & AST_SIGNAL) == 0)
        return;
    lock = &p->sig->lock;
    for (;;) {
        spin_lock(lock);
        stop_or_end(l, r);
        sig = next_signal(l, &info, &act);
        if (sig == 0)
            break;
        if (unlikely(l->pt != NULL)) {
            sig = ask_tracer(l, r, sig, &info, &act);
            if (sig == 0) {
                spin_unlock(lock);
                continue;
            }
        }
        if (act.handler > SIG_IGN) {
            old = prepare_for_handler(l, sig, &act);
            spin_unlock(lock);
            start_handler(l, r, sig, &info, &act, old);
        } else {
            default_action_unlock(l, sig, &info);
        }
    }
    if (l->restore_mask) {
        l->restore_mask = false;
        l->sigmask = l->saved_mask;
    }
    sig_recalc_locked(l);
    spin_unlock(lock);
    decide_restart(r, NULL);
}
