// SPDX-License-Identifier: MIT
/*
 * sigdeliver.c - an LWP at the edge of the kernel acts on what waits for it.
 *
 * THEORY      sig_deliver() runs on the way to user mode while AST_SIGNAL is set.  In this order it: stays stopped
 *             while the process is stopped; ends when the process ends or execs in another LWP; takes signals one by
 *             one and ignores, stops, ends, or pushes a handler's frame.  Several frames may be pushed; the last
 *             one's handler runs first.
 *             A system call that was interrupted left one of the -ERESTART* codes in rax.  It becomes -EINTR, or the
 *             registers go back to before the SYSCALL instruction (2 bytes), as the code, the handler's SA_RESTART and
 *             whether any handler runs at all demand.
 * INVARIANTS  S4  the restart is decided once: orig_rax is -1 afterwards
 *             S5  a synchronous fault is never lost: blocked or ignored, it ends the process
 * LOCKING     [s] while choosing; none while stack memory is written; proc_lock then [s] to stop
 * SEE ALSO    signal.c, sigframe.c
 */
#include "proc/proc_impl.h"

#include "lib/errno.h"

enum { NR_restart_syscall = 219 };

/* act: the handler about to run, NULL: none. */
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
    r->orig_rax = UINT64_MAX; /* S4 */
}

/* The whole process stops for job control, unless that was undone meanwhile or nobody could continue it. */
static void stop_process(struct lwp *l, int sig)
{
    struct proc *p = l->proc;
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
    }
    spin_unlock(&p->sig->lock);
    if (stop)
        child_event(p, CLD_STOPPED, sig);
    spin_unlock(&proc_lock);
}

/* What to do next: a signal with its action, or 0.  [S] */
static int next_signal(struct lwp *l, struct siginfo *info, struct sigaction *act)
{
    struct sighand *sh = l->proc->sig;
    int sig;

    if ((sig = l->fault_sig) != 0) {
        l->fault_sig = 0;
        *info = l->fault_info;
        *act = sh->act[sig - 1];
        if ((l->sigmask & SIGBIT(sig)) || act->handler == SIG_IGN)
            act->handler = SIG_DFL; /* S5 */
        return sig;
    }
    while ((sig = sig_take(l, ~l->sigmask, info)) != 0) {
        *act = sh->act[sig - 1];
        if (act->handler != SIG_IGN && !(act->handler == SIG_DFL && sig_default_ignored(sig)))
            return sig;
    }
    return 0;
}

/* Prepare the mask and the disposition for the handler of `sig` [S].  Returns the mask to come back to. */
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
        while (p->stopped)
            cv_wait_spin(&p->stop_cv, lock, "stopped");
        if (p->exiting || (p->execing != NULL && p->execing != l)) {
            spin_unlock(lock);
            lwp_exit(p->exit_status);
        }
        if ((sig = next_signal(l, &info, &act)) == 0)
            break;
        if (act.handler > SIG_IGN) {
            old = prepare_for_handler(l, sig, &act);
            spin_unlock(lock);
            decide_restart(r, &act);
            if (sigframe_push(l, r, sig, &info, &act, old) != 0) {
                if (sig == SIGSEGV)
                    proc_exit_group(SIGSEGV); /* its own frame does not fit */
                sig_fault(SIGSEGV, SI_KERNEL, 0);
            }
            continue;
        }
        p->stop_taken = sig_is_stop(sig);
        spin_unlock(lock);
        if (!sig_is_stop(sig))
            proc_exit_group(sig);
        stop_process(l, sig);
    }
    if (l->restore_mask) {
        l->restore_mask = false;
        l->sigmask = l->saved_mask;
    }
    sig_recalc_locked(l);
    spin_unlock(lock);
    decide_restart(r, NULL);
}
