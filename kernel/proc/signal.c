// SPDX-License-Identifier: MIT
/*
 * signal.c - sending signals: queues, masks, permission, and which LWP is woken.
 *
 * THEORY      A signal is a small number that is sent to a process, or to one LWP, to report an event.  It is
 *             pending until an LWP takes it.  The queue of a process holds signals that any of its LWPs can
 *             take; the queue of an LWP holds signals for that LWP alone.
 *             A queue has a set, which shows which signals are pending, and a list of sigentries, which keep
 *             the sender and value of each.  Signals below 32 are pending at most once.  A real-time signal
 *             is queued as often as it is sent, up to RLIMIT_SIGPENDING of the receiver's user.
 *             The sender does not run the action of the signal.  It sets AST_SIGNAL of one LWP that can take
 *             the signal and wakes that LWP, which acts in sig_deliver() before it returns to user mode.
 *             There are two exceptions, because no process can block them: SIGKILL marks the process as
 *             exiting and interrupts every LWP; SIGCONT lets a stopped process run.
 * INVARIANTS  S1  if a signal is pending for an LWP that does not block it, then this LWP, or another LWP of the
 *                 process that does not block the signal, has AST_SIGNAL
 *             S2  only an LWP itself clears its AST_SIGNAL, under [s], when no signal is pending for it
 *             S3  SIGKILL and SIGSTOP are in no program's mask
 * LOCKING     p->sig->lock [s] guards queues, masks and handlers.  p->sig changes only in exec, under proc_lock,
 *             when its process has one LWP left.  Therefore a sender to another process holds proc_lock.  The
 *             lists of LWPs need proc_lock too.  In the common case an LWP sends a signal to its own process and
 *             does not block this signal.  Then it needs only [s].
 * SEE ALSO    sigdeliver.c, sigframe.c, sys/sys_signal.c, user/test/t_signal.c
 */
#include "proc/proc_impl.h"

#include "lib/bitmap.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "proc/itimer.h"
#include "proc/ptrace.h"
#include "proc/signalfd.h"
#include "stat/panic.h"
#include "x86/trap.h"

enum { SIGRTMIN = 32, SI_QUEUE = -1 };
#define STOP_SIGNALS    (SIGBIT(SIGSTOP) | SIGBIT(SIGTSTP) | SIGBIT(SIGTTIN) | SIGBIT(SIGTTOU))
#define IGNORED_SIGNALS (SIGBIT(SIGCHLD) | SIGBIT(SIGURG) | SIGBIT(SIGWINCH) | SIGBIT(SIGCONT))
#define UNBLOCKABLE     (SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))

static struct kmem_cache *entry_cache;

void signal_init(void)
{
    entry_cache = kmem_cache_create("sigentry", sizeof(struct sigentry), 0);
    if (entry_cache == NULL)
        panic("no memory for the cache of sigentry");
}

void sigqueue_init(struct sigqueue *q)
{
    q->set = 0;
    list_init(&q->infos);
}

/* The end of an entry that has left its queue; `info` as in sigentry.taken [S]. */
static void end_sigentry(struct sigentry *e, struct siginfo *info)
{
    if (unlikely(e->taken != NULL)) {
        e->taken(e, info);
        return;
    }
    atomic_fetch_sub_explicit(&e->ucount->nsignals, 1, memory_order_relaxed);
    kmem_cache_free(entry_cache, e);
}

void sigqueue_flush(struct sigqueue *q, sigset_t set)
{
    struct sigentry *e, *tmp;

    if ((q->set & set) == 0)
        return;
    q->set &= ~set;
    LIST_FOREACH_SAFE (e, tmp, &q->infos, link)
        if (set & SIGBIT(e->info.signo)) {
            list_remove(&e->link);
            end_sigentry(e, NULL);
        }
}

bool sig_default_ignored(int sig)
{
    return (IGNORED_SIGNALS & SIGBIT(sig)) != 0;
}

bool sig_is_stop(int sig)
{
    return (STOP_SIGNALS & SIGBIT(sig)) != 0;
}

sigset_t sig_pending_set(struct lwp *l)
{
    return (l->pending.set | l->proc->pending.set) & ~l->sigmask;
}

void sig_recalc_locked(struct lwp *l)
{
    struct proc *p = l->proc;
    bool on = sig_pending_set(l) != 0 || l->fault_sig != 0 || lwp_must_end(l) ||
              (p->stopped && !l->vfork_wait && !lwp_is_traced(l)) ||
              (lwp_has_trap(l) && !l->vfork_wait);

    if (on)
        atomic_fetch_or(&l->t.ast, AST_SIGNAL);
    else if (atomic_load_explicit(&l->t.ast, memory_order_relaxed) & AST_SIGNAL)
        atomic_fetch_and(&l->t.ast, ~(uint32_t)AST_SIGNAL); /* no signal is pending for l (S2) */
}

void sig_recalc(void)
{
    struct lwp *l = curlwp();

    spin_lock(&l->proc->sig->lock);
    sig_recalc_locked(l);
    spin_unlock(&l->proc->sig->lock);
}

/* Set l's mask.  If l now blocks pending signals of the process, offer these to the other LWPs (S1). */
static void change_signal_mask(struct lwp *l, sigset_t set)
{
    struct proc *p = l->proc;
    sigset_t hidden = set & ~l->sigmask & p->pending.set;
    bool others = hidden != 0 && p->nlwps > 1;

    if (others)
        spin_lock(&proc_lock);
    spin_lock(&p->sig->lock);
    l->sigmask = set;
    sig_recalc_locked(l);
    if (others)
        sig_retarget(p, l);
    spin_unlock(&p->sig->lock);
    if (others)
        spin_unlock(&proc_lock);
}

void sig_mask_set(sigset_t set)
{
    struct lwp *l = curlwp();

    change_signal_mask(l, set);
}

void sig_mask_push(sigset_t set)
{
    struct lwp *l = curlwp();

    l->saved_mask = l->sigmask;
    l->restore_mask = true;
    change_signal_mask(l, set & ~UNBLOCKABLE);
}

void sig_mask_pop(void)
{
    struct lwp *l = curlwp();

    if (l->restore_mask) {
        l->restore_mask = false;
        change_signal_mask(l, l->saved_mask);
    }
}

void sig_retarget(struct proc *p, struct lwp *l)
{
    struct lwp *o;

    LIST_FOREACH (o, &p->lwps, proc_link)
        if (o != l && (p->pending.set & ~(o->sigmask & ~o->sigwait)) != 0)
            thread_interrupt(&o->t);
}

void sig_offer_blocked(struct lwp *l)
{
    struct proc *p = l->proc;

    if ((p->pending.set & l->sigmask) == 0 || p->nlwps < 2)
        return;
    spin_lock(&proc_lock);
    spin_lock(&p->sig->lock);
    sig_retarget(p, l);
    spin_unlock(&p->sig->lock);
    spin_unlock(&proc_lock);
}

/*
 * Whether l takes a pending `sig`: l does not block the signal, or waits for it in sigtimedwait
 * [S].
 */
static bool lwp_may_take(const struct lwp *l, int sig)
{
    return ((l->sigmask & ~l->sigwait) & SIGBIT(sig)) == 0;
}

/*
 * Whether `sig` would have no effect, because the signal is ignored and l does not block it.  (A
 * blocked signal stays pending, because the action can change before the signal is unblocked.  A tracer is told of
 * ignored signals, too.) [S]
 */
static bool is_signal_ignored(const struct proc *p, const struct lwp *l, int sig)
{
    uint64_t h = p->sig->act[sig - 1].handler;

    if (l != NULL && ((l->sigmask & SIGBIT(sig)) || lwp_is_traced(l)))
        return false;
    if (h == SIG_DFL && p == proc_initial && (!sig_default_ignored(sig)))
        return true; /* process 1 gets only signals for which it has a handler */
    return h == SIG_IGN || (h == SIG_DFL && sig_default_ignored(sig));
}

static void make_signal_pending(struct sigqueue *q, struct proc *p, int sig)
{
    q->set |= SIGBIT(sig);
    signalfd_wake(p);
}

/*
 * Make `sig` pending in q and charge `uc` for its sigentry [S].  0, -EAGAIN: a real-time signal, and `uc` has `limit`
 * entries, or there is no memory.
 */
static int queue_signal(struct sigqueue *q, struct proc *p, struct ucount *uc, int sig,
                        const struct siginfo *info, uint64_t limit)
{
    struct sigentry *e = NULL;

    if (sig < SIGRTMIN && (q->set & SIGBIT(sig)))
        return 0;
    if (info != NULL) {
        if (atomic_load_explicit(&uc->nsignals, memory_order_relaxed) < limit)
            e = kmem_cache_alloc(entry_cache);
        if (e == NULL && sig >= SIGRTMIN && info->code != SI_USER)
            return -EAGAIN;
    }
    if (e != NULL) {
        atomic_fetch_add_explicit(&uc->nsignals, 1, memory_order_relaxed);
        e->ucount = uc;
        e->info = *info;
        e->info.signo = sig;
        e->taken = NULL;
        list_push_back(&q->infos, &e->link);
    }
    make_signal_pending(q, p, sig);
    return 0;
}

void sig_requeue(struct lwp *l, struct sigqueue *q, int sig, const struct siginfo *info)
{
    uint64_t limit = l->proc->rlim[RLIMIT_SIGPENDING].cur, taken = l->proc->nlwps;

    queue_signal(q, l->proc, l->ucount, sig, info, limit + min_of(taken, UINT64_MAX - limit));
}

/* Discard the signals in `set` of the process and of all its LWPs [P] [S]. */
static void flush_pending_signals(struct proc *p, sigset_t set)
{
    struct lwp *l;

    sigqueue_flush(&p->pending, set);
    LIST_FOREACH (l, &p->lwps, proc_link)
        sigqueue_flush(&l->pending, set);
}

void sig_flush_ignored(struct proc *p, int sig)
{
    flush_pending_signals(p, SIGBIT(sig));
}

void sig_end_process(struct proc *p, int status)
{
    p->exit_status = status;
    p->exiting = true;
    p->stopped = false;
    p->stop_taken = false;
    cv_broadcast(&p->stop_cv);
    lwps_interrupt(p, curthread->lwp);
    if (curthread->lwp != NULL && curproc() == p)
        atomic_fetch_or(&curthread->ast, AST_SIGNAL);
}

/* SIGCONT was sent to p: seized tracees stop again, to tell their tracer [P] [S]. */
static void trap_seized_lwps(struct proc *p)
{
    struct lwp *l;

    LIST_FOREACH (l, &p->lwps, proc_link)
        if (l->pt != NULL)
            ptrace_want_trap(l, true);
}

/*
 * Send `sig` to process p or, if l is not NULL, only to LWP l of p [P].  `own`: an entry for sig_send_entry(), instead
 * of `info`, or NULL.  0, -EAGAIN as in queue_signal().
 */
static int send_signal_locked(struct proc *p, struct lwp *l, int sig, const struct siginfo *info,
                              struct sigentry *own)
{
    struct lwp *to = l;
    int err = 0;
    bool cont = false;

    if (p->state != PROC_LIVE || list_empty(&p->lwps))
        return 0;
    spin_lock(&p->sig->lock);
    if (p->exiting) {
        spin_unlock(&p->sig->lock);
        return 0;
    }
    if (sig_is_stop(sig)) {
        flush_pending_signals(p, SIGBIT(SIGCONT));
    } else if (sig == SIGCONT) {
        flush_pending_signals(p, STOP_SIGNALS);
        p->stop_taken = false;
        cont = p->stopped;
        if (cont) {
            p->stopped = false;
            p->cont_pending = true;
            cv_broadcast(&p->stop_cv);
        }
        trap_seized_lwps(p);
    }
    if (to == NULL) {
        to = list_first(&p->lwps, struct lwp, proc_link);
        if (curthread->lwp != NULL && curproc() == p && lwp_may_take(curlwp(), sig))
            to = curlwp();
    }
    if (sig == SIGKILL) {
        if (p != proc_initial)
            sig_end_process(p, SIGKILL);
    } else if (!is_signal_ignored(p, to, sig)) {
        struct sigqueue *q = l != NULL ? &l->pending : &p->pending;

        if (own == NULL) {
            err = queue_signal(q, p, to->ucount, sig, info, p->rlim[RLIMIT_SIGPENDING].cur);
        } else {
            own->queue = q;
            list_push_back(&q->infos, &own->link);
            make_signal_pending(q, p, sig);
            own = NULL;
        }
        if (err == 0 && l == NULL && !lwp_may_take(to, sig))
            LIST_FOREACH (to, &p->lwps, proc_link)
                if (lwp_may_take(to, sig))
                    break;
        if (err == 0 && &to->proc_link != &p->lwps && lwp_may_take(to, sig))
            thread_interrupt(&to->t);
    }
    if (own != NULL)
        own->taken(own, NULL); /* the signal is ignored */
    spin_unlock(&p->sig->lock);
    if (cont)
        notify_parent(p, CLD_CONTINUED, SIGCONT);
    return err;
}

/*
 * The common case, which needs no proc_lock: the caller l sends itself a signal that it catches and does not block.
 * Returns whether this was the case; then *err is the result.
 */
static bool try_send_to_self(struct lwp *l, struct sigqueue *q, int sig, const struct siginfo *info,
                             int *err)
{
    struct proc *p = l->proc;
    bool done = false;

    if ((SIGBIT(sig) & (UNBLOCKABLE | STOP_SIGNALS | SIGBIT(SIGCONT))) != 0)
        return false;
    spin_lock(&p->sig->lock);
    if (p->sig->act[sig - 1].handler > SIG_IGN && lwp_may_take(l, sig) && !p->exiting) {
        *err = queue_signal(q, p, l->ucount, sig, info, p->rlim[RLIMIT_SIGPENDING].cur);
        atomic_fetch_or(&l->t.ast, AST_SIGNAL);
        done = true;
    }
    spin_unlock(&p->sig->lock);
    return done;
}

static bool proc_lock_held(void)
{
    bool held;

    irq_push();
    held = spin_held(&proc_lock);
    irq_pop();
    return held;
}

/* send_signal_locked(), or try_send_to_self(), for callers with and without proc_lock. */
static int send_signal(struct proc *p, struct lwp *l, int sig, const struct siginfo *info)
{
    struct lwp *me = curthread->lwp;
    int err;

    if (proc_lock_held())
        return send_signal_locked(p, l, sig, info, NULL);
    if (me != NULL && me->proc == p && (l == NULL || l == me) &&
        try_send_to_self(me, l == NULL ? &p->pending : &l->pending, sig, info, &err))
        return err;
    spin_lock(&proc_lock);
    err = send_signal_locked(p, l, sig, info, NULL);
    spin_unlock(&proc_lock);
    return err;
}

int sig_send_entry(struct proc *p, int tid, struct sigentry *e)
{
    struct lwp *l = NULL;
    int err = 0;

    spin_lock(&proc_lock);
    if (tid != 0) {
        l = lwp_find(tid);
        err = l == NULL || l->proc != p ? -ESRCH : 0;
    }
    if (err == 0)
        (void)send_signal_locked(p, l, e->info.signo, NULL, e);
    spin_unlock(&proc_lock);
    return err;
}

/* Whether q has an entry for `sig` [S]. */
static bool has_sigentry(const struct sigqueue *q, int sig)
{
    const struct sigentry *e;

    LIST_FOREACH (e, &q->infos, link)
        if (e->info.signo == sig)
            return true;
    return false;
}

void sig_unsend_entry(struct sigentry *e)
{
    if (list_empty(&e->link))
        return;
    list_remove(&e->link);
    if (!has_sigentry(e->queue, e->info.signo))
        e->queue->set &= ~SIGBIT(e->info.signo);
}

int sig_send_proc(struct proc *p, int sig, const struct siginfo *info)
{
    return send_signal(p, NULL, sig, info);
}

int sig_send_lwp(struct lwp *l, int sig, const struct siginfo *info)
{
    return send_signal(l->proc, l, sig, info);
}

void sig_fault(int sig, int code, uint64_t addr)
{
    struct lwp *l = curlwp();

    l->fault_sig = sig;
    l->fault_info = (struct siginfo){.signo = sig, .code = code};
    l->fault_info.fault.addr = addr;
    atomic_fetch_or(&l->t.ast, AST_SIGNAL);
}

bool sig_permitted(const struct cred *cr, struct proc *p, int sig)
{
    const struct cred *to;

    if (cred_superuser(cr) || p == curproc())
        return true;
    if (sig == SIGCONT && p->pgrp != NULL && p->pgrp->session == curproc()->pgrp->session)
        return true;
    if (list_empty(&p->lwps))
        return false;
    to = list_first(&p->lwps, struct lwp, proc_link)->cred;
    return cr->euid == to->uid || cr->euid == to->suid || cr->uid == to->uid || cr->uid == to->suid;
}

/*
 * Remove the oldest `sig` from q.  Returns whether the signal has a siginfo; if so, *info is that
 * siginfo [S].
 */
static bool take_queued_signal(struct sigqueue *q, int sig, struct siginfo *info)
{
    struct sigentry *e, *tmp, *first = NULL;
    bool more = false;

    LIST_FOREACH_SAFE (e, tmp, &q->infos, link) {
        if (e->info.signo != sig)
            continue;
        if (first != NULL) {
            more = true;
            break;
        }
        first = e;
        *info = e->info;
        list_remove(&e->link);
    }
    if (!more)
        q->set &= ~SIGBIT(sig);
    if (first != NULL)
        end_sigentry(first, info);
    return first != NULL;
}

int sig_take(struct lwp *l, sigset_t set, struct siginfo *info)
{
    struct sigqueue *q = (l->pending.set & set) != 0 ? &l->pending : &l->proc->pending;
    int sig;

    if ((q->set & set) == 0)
        return 0;
    sig = (int)bit_first(q->set & set) + 1;
    if (!take_queued_signal(q, sig, info))
        *info = (struct siginfo){.signo = sig, .code = SI_KERNEL};
    if (sig == SIGALRM)
        itimer_real_rearm(l->proc);
    return sig;
}

int sig_wait(sigset_t set, uint64_t deadline, struct siginfo *info)
{
    struct lwp *l = curlwp();
    struct proc *p = l->proc;
    int sig, err = deadline == 0 ? -ETIMEDOUT : 0;
    bool more;
    struct cv never;

    cv_init(&never);
    spin_lock(&p->sig->lock);
    l->sigwait = set;
    while ((sig = sig_take(l, set, info)) == 0 && err == 0) {
        err = cv_wait_sig_spin(&never, &p->sig->lock, deadline, "signal");
        /* the signal can be in `set`, or another LWP can have taken the signal */
        if (err == -EINTR) {
            sig_recalc_locked(l);
            err = signal_pending() ? -EINTR : 0;
        }
    }
    l->sigwait = 0;
    sig_recalc_locked(l);
    more = p->nlwps > 1 && (p->pending.set & set) != 0;
    spin_unlock(&p->sig->lock);
    if (more) { /* they were offered to this LWP, which takes no more: others may wait for them */
        spin_lock(&proc_lock);
        spin_lock(&p->sig->lock);
        sig_retarget(p, l);
        spin_unlock(&p->sig->lock);
        spin_unlock(&proc_lock);
    }
    return sig != 0 ? sig : err;
}

void proc_signal_self(int sig)
{
    sig_send_lwp(curlwp(), sig, NULL);
}
