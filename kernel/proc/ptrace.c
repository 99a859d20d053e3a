// SPDX-License-Identifier: MIT
/*
 * ptrace.c - stops of tracees, and the bond between tracer and tracee.
 *
 * THEORY      See ptrace.h.  A tracee stops only on its way to user mode, or inside a system call where it holds no
 *             lock.  It sleeps on p->stop_cv, like the LWPs of a stopped process.  SIGKILL, exit_group, exec by
 *             another LWP and a core dump end each stop, because an LWP must always be able to end.
 *             To step, the processor's flag TF raises a debug exception after one instruction.  The kernel removes the
 *             flag at the next stop, so the program and the tracer do not see it.
 *             The end of a traced LWP is reported to the tracer like that of a child.  If the whole process ends and
 *             its parent is not the tracer, the parent is told after the tracer has waited.
 * INVARIANTS  those of ptrace.h
 * LOCKING     proc_lock, then the tracee's [s].  Of two processes only one [s] is held at a time.
 * SEE ALSO    sigdeliver.c, wait.c, exit.c; user/test/t_ptrace.c
 */
#include "proc/ptrace.h"

#include "disp/context.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "stat/panic.h"

enum { CALL_ENTRY = 1, CALL_EXIT = 2, SYSGOOD_BIT = 0x80, TRAP_TRACE = 2 };

struct ptrace *ptrace_new(void)
{
    struct ptrace *pt = kmem_zalloc(sizeof *pt);

    if (pt == NULL)
        return NULL;
    pt->refs = 1;
    list_init(&pt->link);
    return pt;
}

void ptrace_release(struct ptrace *pt)
{
    if (atomic_fetch_sub_explicit(&pt->refs, 1, memory_order_acq_rel) == 1)
        kmem_free(pt);
}

/* ---- stops ---------------------------------------------------------------------------------------------- */

/* Tell the tracer of an event of pt: SIGCHLD with CLD_*, and a wake-up [P]. */
static void notify_tracer(struct ptrace *pt, int code, int status)
{
    struct proc *to = pt->tracer;
    struct siginfo info = {.signo = SIGCHLD, .code = code};

    if (code != CLD_TRAPPED || !(to->sig->act[SIGCHLD - 1].flags & SA_NOCLDSTOP)) {
        info.child.pid = pt->tid;
        info.child.uid = pt->proc != NULL ? proc_uid(pt->proc) : 0;
        info.child.status = status;
        sig_send_proc(to, SIGCHLD, &info);
    }
    cv_broadcast(&to->child_cv);
}

/* Copy the state of l, the caller, for the tracer [S]. */
static void save_tracee_state(struct lwp *l, struct regs *r, const struct siginfo *info)
{
    struct ptrace_state *at = &l->pt->at;

    if (l->pt->forced_tf)
        r->rflags &= ~FLAG_TF;
    l->pt->forced_tf = false;
    at->regs = *r;
    at->fsbase = l->t.fsbase;
    at->gsbase = l->t.gsbase;
    at->sigmask = l->sigmask;
    at->has_info = info != NULL;
    if (info != NULL)
        at->info = *info;
    fpu_save(&at->fpu);
}

/* Continue with the state that the tracer has left [S]. */
static void load_tracee_state(struct lwp *l, struct regs *r, struct siginfo *info)
{
    struct ptrace_state *at = &l->pt->at;

    *r = at->regs;
    if (l->pt->step && !(r->rflags & FLAG_TF)) {
        r->rflags |= FLAG_TF;
        l->pt->forced_tf = true;
    }
    if (info != NULL)
        *info = at->info;
    thread_set_fsbase(at->fsbase);
    thread_set_gsbase(at->gsbase);
    irq_push(); /* a switch between these two would overwrite t.fpu */
    memcpy(l->t.fpu, &at->fpu, FPU_SIZE);
    thread_fpu_load(&l->t);
    irq_pop();
}

/*
 * Stop the caller, if it is traced and need not end, until the tracer lets it run.
 * @code       signal | event << 8, as wait4() reports it
 * @info       what PTRACE_GETSIGINFO shows, and the tracer can change; NULL: nothing
 * @otherwise  the result if there is no tracer, or the tracer ends during the stop
 * Returns the signal with which the tracer lets the LWP continue.
 */
static int stop_for_tracer(struct regs *r, int code, uint64_t message, struct siginfo *info,
                           int otherwise)
{
    struct lwp *l = curlwp();
    struct proc *p = l->proc;
    struct spinlock *lock = &p->sig->lock;
    struct ptrace *pt = l->pt;
    sigset_t mask;
    int sig;

    spin_lock(&proc_lock);
    spin_lock(lock);
    if (pt->tracer == NULL || lwp_must_end(l)) {
        spin_unlock(lock);
        spin_unlock(&proc_lock);
        return otherwise;
    }
    save_tracee_state(l, r, info);
    pt->interrupt = false;
    pt->code = code;
    pt->message = message;
    pt->resume_sig = otherwise;
    pt->state = PT_STOPPED;
    pt->reported = false;
    spin_unlock(lock);
    notify_tracer(pt, CLD_TRAPPED, code & 0x7f);
    spin_unlock(&proc_lock);
    spin_lock(lock);
    while (pt->state != PT_RUNNING && !lwp_must_end(l))
        cv_wait_spin(&p->stop_cv, lock, "ptrace");
    pt->state = PT_RUNNING;
    load_tracee_state(l, r, info);
    sig = pt->resume_sig;
    mask = pt->at.sigmask;
    spin_unlock(lock);
    if (mask != l->sigmask)
        sig_mask_set(mask);
    return sig;
}

/* The siginfo of a stop that no signal causes. */
static struct siginfo event_info(int sig, int code)
{
    struct siginfo info = {.signo = sig, .code = code};

    info.rt.pid = (int32_t)curthread->tid;
    info.rt.uid = curcred()->uid;
    return info;
}

static void stop_at_call(struct regs *r, unsigned which)
{
    struct ptrace *pt = curlwp()->pt;
    int code = SIGTRAP | (pt->options & PT_O_SYSGOOD ? SYSGOOD_BIT : 0), sig;
    struct siginfo info = event_info(SIGTRAP, code);

    sig = stop_for_tracer(r, code, which, &info, 0);
    if (sig != 0)
        sig_send_lwp(curlwp(), sig, NULL);
}

bool ptrace_call_begins(struct regs *r)
{
    struct ptrace *pt = curlwp()->pt;

    if (pt->tracer == NULL || !pt->call_stops)
        return true;
    r->rax = (uint64_t)-ENOSYS; /* the result if the tracer sets the number to -1 */
    stop_at_call(r, CALL_ENTRY);
    return (int)r->orig_rax != -1 && !curproc()->exiting;
}

void ptrace_call_ends(struct regs *r)
{
    struct ptrace *pt = curlwp()->pt;

    /* The program must not see TF; and SYSRET with TF would trap before an instruction runs. */
    if (pt->forced_tf && r->rcx == r->rip)
        r->r11 &= ~FLAG_TF;
    if (pt->tracer == NULL)
        return;
    if (pt->step)
        sig_fault(SIGTRAP, TRAP_TRACE, r->rip);
    else if (pt->call_stops)
        stop_at_call(r, CALL_EXIT);
}

int ptrace_signal(struct regs *r, int sig, struct siginfo *info)
{
    struct ptrace *pt = curlwp()->pt;
    int now;

    if (pt->tracer == NULL && pt->forced_tf && sig == SIGTRAP && info->code == TRAP_TRACE) {
        r->rflags &= ~FLAG_TF; /* the tracer ended before the step did */
        pt->forced_tf = false;
        return 0;
    }
    now = stop_for_tracer(r, sig, 0, info, sig);
    if (now != sig && now != 0)
        *info = (struct siginfo){.signo = now, .code = SI_USER};
    return now;
}

void ptrace_trap_unlock(struct lwp *l, struct regs *r)
{
    struct proc *p = l->proc;
    int sig = p->stopped ? p->stop_sig : SIGTRAP, code = sig | PT_STOP << 8;
    struct siginfo info = event_info(sig, code);
    bool seized = l->pt->seized, stopped = p->stopped;

    l->pt->trap = l->pt->interrupt = false;
    spin_unlock(&p->sig->lock);
    if (seized)
        stop_for_tracer(r, code, 0, &info, 0);
    else if (stopped)
        stop_for_tracer(r, sig, 0, NULL, 0);
}

bool ptrace_handler_begins(struct lwp *l, struct regs *r)
{
    if (l->pt->forced_tf) {
        r->rflags &= ~FLAG_TF;
        l->pt->forced_tf = false;
    }
    return l->pt->step;
}

void ptrace_handler_stop(struct regs *r)
{
    struct siginfo info = event_info(SIGTRAP, SIGTRAP);

    stop_for_tracer(r, SIGTRAP, 0, &info, 0);
}

void ptrace_event(unsigned event, uint64_t message)
{
    int code = SIGTRAP | (int)event << 8;
    struct siginfo info = event_info(SIGTRAP, code);

    if (curlwp()->pt->options & 1u << event)
        stop_for_tracer(curthread->uregs, code, message, &info, 0);
}

void ptrace_exec(int old_tid)
{
    struct ptrace *pt = curlwp()->pt;

    if (pt->tracer == NULL)
        return;
    pt->forced_tf = false; /* the new program starts without TF */
    if (pt->options & 1u << PT_EXEC)
        ptrace_event(PT_EXEC, (uint64_t)old_tid);
    else if (!pt->seized)
        sig_send_lwp(curlwp(), SIGTRAP, NULL);
}

/* ---- the bond ---------------------------------------------------------------------------------------------- */

/*
 * Make `tracer` the tracer of l, which has l->pt and no tracer [P].
 * @by_superuser  the superuser has requested it.  Otherwise set-id programs get no rights, even if the tracer is now
 *                a set-id program: it can drop its rights, and still be the tracer
 */
static void link_tracee(struct lwp *l, struct proc *tracer, bool by_superuser, bool seized,
                        uint32_t options)
{
    struct ptrace *pt = l->pt;

    spin_lock(&l->proc->sig->lock);
    pt->tracer = tracer;
    pt->proc = l->proc;
    pt->lwp = l;
    pt->tid = (int)l->t.tid;
    pt->privileged = by_superuser;
    pt->seized = seized;
    pt->options = options;
    pt->state = PT_RUNNING;
    atomic_fetch_add(&pt->refs, 1);
    list_push_back(&tracer->tracees, &pt->link);
    spin_unlock(&l->proc->sig->lock);
}

/* Remove pt from the list of its tracer, which loses its reference [P]. */
static void unlink_record(struct ptrace *pt)
{
    ASSERT(pt->lwp != NULL || pt->proc == NULL || pt->proc->leader_pt == pt, "ptrace.h T4");
    list_remove(&pt->link);
    pt->tracer = NULL;
    if (pt->lwp == NULL && pt->proc != NULL && pt->proc->leader_pt == pt)
        pt->proc->leader_pt = NULL;
    ptrace_release(pt);
}

/* End the tracing of a living tracee.  sig: the signal with which it continues; -1: as if it were not traced [P]. */
static void unlink_living_tracee(struct ptrace *pt, int sig)
{
    struct lwp *l = pt->lwp;
    struct proc *p = l->proc;

    spin_lock(&p->sig->lock);
    pt->options = 0;
    pt->trap = pt->interrupt = pt->call_stops = pt->step = pt->seized = false;
    if (sig >= 0)
        pt->resume_sig = sig;
    pt->state = PT_RUNNING;
    unlink_record(pt);
    cv_broadcast(&p->stop_cv);
    spin_unlock(&p->sig->lock);
    thread_interrupt(&l->t); /* so that l joins the stop of its process, if there is one */
}

/* The tracer has waited for a dead tracee, or will not [P]. */
static void forget_dead_tracee(struct ptrace *pt)
{
    struct proc *p = pt->proc;

    ASSERT(p == NULL || p->withheld, "ptrace.h T4");
    if (pt->payer != NULL) {
        ucount_uncharge(pt->payer);
        pt->payer = NULL;
        id_drop(pt->tid);
    }
    pt->proc = NULL;
    unlink_record(pt);
    if (p != NULL) {
        p->withheld = false;
        proc_announce_zombie(p);
    }
}

bool ptrace_permitted(const struct cred *cr, uint32_t uid, uint32_t gid, const struct lwp *l)
{
    const struct cred *to = l->cred;

    return cred_superuser(cr) ||
           (l->proc->dumpable && uid == to->uid && uid == to->euid && uid == to->suid &&
            gid == to->gid && gid == to->egid && gid == to->sgid);
}

/* ptrace_permitted() for ptrace(2), where the real ids of the tracer count [P]. */
static bool may_trace_lwp(const struct cred *cr, const struct lwp *l)
{
    return ptrace_permitted(cr, cr->uid, cr->gid, l);
}

static const struct cred *tracer_cred(const struct proc *tracer)
{
    return list_first(&tracer->lwps, struct lwp, proc_link)->cred;
}

/*
 * Whether the parent with credentials cr may become the tracer of the caller, which requests it.  It must not get
 * privileges in this way.  Linux asks no more: neither other ids nor whether the program is dumpable [P].
 */
static bool may_become_tracer(const struct cred *cr)
{
    const struct cred *to = curcred();

    return cred_superuser(cr) || (to->uid != 0 && to->euid != 0 && to->suid != 0);
}

int ptrace_traceme(void)
{
    struct lwp *l = curlwp();
    struct ptrace *fresh = l->pt == NULL ? ptrace_new() : NULL;
    struct proc *parent;
    int err = -EPERM;

    if (l->pt == NULL && fresh == NULL)
        return -ENOMEM;
    spin_lock(&proc_lock);
    parent = l->proc->parent;
    if (parent != NULL && !lwp_is_traced(l) && may_become_tracer(tracer_cred(parent))) {
        if (l->pt == NULL) {
            __atomic_store_n(&l->pt, fresh, __ATOMIC_RELEASE);
            fresh = NULL;
        }
        link_tracee(l, parent, cred_superuser(l->cred), false, 0);
        err = 0;
    }
    spin_unlock(&proc_lock);
    if (fresh != NULL)
        ptrace_release(fresh);
    return err;
}

int ptrace_attach(int tid, bool seize, uint32_t options)
{
    struct ptrace *fresh = ptrace_new();
    struct lwp *l;
    int err = 0;

    if (fresh == NULL)
        return -ENOMEM;
    spin_lock(&proc_lock);
    l = tid > 0 ? lwp_find(tid) : NULL;
    if (l == NULL)
        err = -ESRCH;
    else if (l->proc == curproc() || l->proc == proc_initial || l->t.exiting || lwp_is_traced(l) ||
             !may_trace_lwp(curcred(), l))
        err = -EPERM;
    if (err == 0) {
        if (l->pt == NULL) {
            __atomic_store_n(&l->pt, fresh, __ATOMIC_RELEASE);
            fresh = NULL;
        }
        link_tracee(l, curproc(), cred_superuser(curcred()), seize, options);
        spin_lock(&l->proc->sig->lock);
        if (l->proc->stopped)
            ptrace_want_trap(l, false);
        spin_unlock(&l->proc->sig->lock);
        if (!seize)
            sig_send_lwp(l, SIGSTOP, NULL);
    }
    spin_unlock(&proc_lock);
    if (fresh != NULL)
        ptrace_release(fresh);
    return err;
}

unsigned ptrace_clone_event(const struct lwp *me, uint64_t flags, int exit_signal)
{
    unsigned event = PT_FORK;

    if (flags & CLONE_VFORK)
        event = PT_VFORK;
    else if (exit_signal != SIGCHLD)
        event = PT_CLONE;
    return (flags & CLONE_UNTRACED) == 0 && (me->pt->options & 1u << event) != 0 ? event : 0;
}

void ptrace_adopt(struct lwp *l, struct lwp *me)
{
    if (me->pt == NULL || me->pt->tracer == NULL)
        return;
    link_tracee(l, me->pt->tracer, me->pt->privileged, me->pt->seized, me->pt->options);
    if (l->pt->seized)
        l->pt->trap = true;
    else
        l->pending.set |= SIGBIT(SIGSTOP);
    atomic_fetch_or(&l->t.ast, AST_SIGNAL);
}

void ptrace_want_trap(struct lwp *l, bool seized)
{
    struct ptrace *pt = l->pt;

    if (pt->tracer == NULL || (seized && !pt->seized))
        return;
    pt->trap = true;
    ptrace_wake(l);
}

void ptrace_wake(struct lwp *l)
{
    if (l->pt->state == PT_LISTENING)
        l->pt->state = PT_RUNNING;
    cv_broadcast(&l->proc->stop_cv);
    thread_interrupt(&l->t);
}

bool ptrace_blocks_setid(const struct lwp *l)
{
    return lwp_is_traced(l) && !(l->pt->privileged && cred_superuser(tracer_cred(l->pt->tracer)));
}

void ptrace_new_tid(struct lwp *l)
{
    struct ptrace *leader = l->proc->leader_pt;

    if (leader != NULL) {
        cv_broadcast(&leader->tracer->child_cv); /* perhaps it waits only for this tracee */
        unlink_record(leader);
    }
    if (l->pt != NULL)
        l->pt->tid = l->proc->pid;
}

/* ---- the end of tracee and tracer ---------------------------------------------------------------------- */

/* Keep the end of a tracee for the tracer [P]. */
static void tracee_dead(struct ptrace *pt, int status)
{
    int killed = status & 0x7f;

    pt->code = status;
    pt->state = PT_DEAD;
    notify_tracer(pt, wait_code(status), killed ? killed : status >> 8);
}

void ptrace_lwp_ended(struct lwp *l, int status, bool last)
{
    struct proc *p = l->proc;
    struct ptrace *pt = l->pt, *leader;

    if (pt != NULL) {
        pt->lwp = NULL;
        if (pt->tracer != NULL && pt->tid == p->pid) {
            ASSERT(p->leader_pt == NULL, "ptrace.h T4");
            p->leader_pt = pt;
        } else if (pt->tracer != NULL) {
            pt->proc = NULL;
            pt->pgid = p->pgrp->pgid;
            pt->payer = l->ucount; /* it counts for RLIMIT_NPROC until the tracer waits */
            ucount_charge(l->ucount);
            id_hold(pt->tid);
            tracee_dead(pt, status);
        }
    }
    leader = p->leader_pt;
    if (!last || leader == NULL)
        return;
    if (leader->tracer == p->parent) {
        unlink_record(leader); /* the tracer waits for the zombie itself */
    } else {
        p->leader_pt = NULL;
        p->withheld = true;
        tracee_dead(leader, p->exit_status);
    }
}

void ptrace_tracer_ended(struct proc *p)
{
    struct ptrace *pt, *tmp;

    LIST_FOREACH_SAFE (pt, tmp, &p->tracees, link) {
        if (pt->state == PT_DEAD) {
            forget_dead_tracee(pt);
            continue;
        }
        if (pt->options & PT_O_EXITKILL)
            sig_send_proc(pt->proc, SIGKILL, NULL);
        if (pt->lwp != NULL)
            unlink_living_tracee(pt, -1);
        else
            unlink_record(pt);
    }
}

/* ---- wait ------------------------------------------------------------------------------------------------ */

/* Whether argument `pid` of a wait4(2) by process `me` includes tracee pt [P]. */
static bool wait_covers_tracee(const struct ptrace *pt, const struct proc *me, int pid)
{
    int pgid = pt->proc != NULL ? pt->proc->pgrp->pgid : pt->pgid;

    if (pid > 0)
        return pt->tid == pid;
    if (pid == 0)
        return pgid == me->pgrp->pgid;
    return pid == -1 || pgid == -pid;
}

/* take_news() for a tracee [P]. */
static bool take_tracee_news(struct ptrace *pt, unsigned options, struct wait_result *res)
{
    bool take = !(options & WNOWAIT);

    *res = (struct wait_result){0};
    if (pt->state == PT_DEAD && (options & WEXITED)) {
        res->status = pt->code;
        res->code = wait_code(pt->code);
    } else if (pt->state == PT_STOPPED && pt->lwp != NULL && !pt->reported) {
        res->status = pt->code << 8 | 0x7f;
        res->code = CLD_TRAPPED;
        pt->reported = take;
    } else {
        return false;
    }
    if (pt->proc != NULL) {
        res->uid = proc_uid(pt->proc);
        rusage_collect(pt->proc, &res->ru);
    }
    if (pt->state == PT_DEAD && take)
        forget_dead_tracee(pt);
    return true;
}

int ptrace_take_news(struct proc *me, int pid, unsigned options, struct wait_result *res, bool *any)
{
    struct ptrace *pt, *tmp;
    int tid;

    LIST_FOREACH_SAFE (pt, tmp, &me->tracees, link) {
        if (!wait_covers_tracee(pt, me, pid))
            continue;
        *any = true;
        tid = pt->tid;
        if (take_tracee_news(pt, options, res))
            return tid;
    }
    return 0;
}

/* ---- requests of the tracer ------------------------------------------------------------------------------ */

int ptrace_lock(int tid, bool stopped, struct ptrace **out)
{
    struct lwp *l;
    struct ptrace *pt;

    spin_lock(&proc_lock);
    l = lwp_find(tid);
    pt = l != NULL ? l->pt : NULL;
    if (pt != NULL && pt->tracer == curproc()) {
        spin_lock(&l->proc->sig->lock);
        if (!stopped || (pt->state == PT_STOPPED && !lwp_must_end(l))) {
            *out = pt;
            return 0;
        }
        spin_unlock(&l->proc->sig->lock);
    }
    spin_unlock(&proc_lock);
    return -ESRCH;
}

void ptrace_unlock(struct ptrace *pt)
{
    spin_unlock(&pt->proc->sig->lock);
    spin_unlock(&proc_lock);
}

void ptrace_resume_unlock(struct ptrace *pt, bool call_stops, bool step, int sig)
{
    pt->call_stops = call_stops;
    pt->step = step;
    pt->resume_sig = sig;
    pt->state = PT_RUNNING;
    cv_broadcast(&pt->proc->stop_cv);
    ptrace_unlock(pt);
}

void ptrace_detach_unlock(struct ptrace *pt, int sig)
{
    spin_unlock(&pt->proc->sig->lock);
    unlink_living_tracee(pt, sig);
    spin_unlock(&proc_lock);
}

int ptrace_access(int tid, uint64_t addr, void *buf, size_t n, bool write)
{
    struct ptrace *pt;
    struct proc *p;
    struct as *as;
    bool allowed = false;
    long done = 0;
    int err = ptrace_lock(tid, true, &pt);

    if (err != 0)
        return err;
    p = pt->proc;
    proc_hold(p);
    ptrace_unlock(pt);
    as = proc_as_hold(p);
    /* Check again: an exec by another LWP ends this tracee before the process has the memory of another program. */
    err = ptrace_lock(tid, true, &pt);
    if (err == 0) {
        allowed = as != NULL && pt->proc == p && (p->dumpable || cred_superuser(curcred()));
        ptrace_unlock(pt);
    }
    if (allowed)
        done = as_access_remote(as, addr, buf, n, write ? ACCESS_FORCE : ACCESS_READ);
    if (as != NULL)
        as_release(as);
    proc_release(p);
    if (err != 0)
        return err;
    return done == (long)n ? 0 : -EIO;
}
