// SPDX-License-Identifier: MIT
/*
 * clone.c - fork, vfork, clone: new processes and new LWPs.
 *
 * THEORY      Each part of a process that clone(2) can share is an object with a reference count.  To make a
 *             process, the kernel either takes a reference to each part or copies it.  A new LWP of the same
 *             process only joins the list of LWPs and uses the existing parts.
 *             The child starts in lwp_begin() on its own kernel stack.  The top of that stack holds a copy of
 *             the parent's user registers, with 0 as the result of the call.
 *             After vfork the parent sleeps until the child no longer uses the parent's memory (after exec or
 *             exit).  Meanwhile the parent blocks every signal except SIGKILL, so only SIGKILL can end this
 *             sleep early.  In that case the parent clears the child's vfork_parent.
 * INVARIANTS  I8  a signal to a group or to all processes reaches a process that is being forked: either the
 *                 child is in the tables already, or the parent sees the signal under proc_lock and repeats
 *                 the call (-ERESTARTNOINTR)
 *             I9  no LWP joins a process that is exiting, or one whose program is being replaced
 * LOCKING     The parent makes the copy without locks, because as_fork() sleeps.  Then it takes proc_lock once, to
 *             charge the copy and to publish it.
 */
#include "proc/proc_impl.h"

#include "disp/context.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "stat/cpustat.h"
#include "proc/ptrace.h"
#include "stat/panic.h"
#include "pages/reserve.h"
#include "x86/trap.h"

/* The first function of every LWP that clone made.  `arg` is the LWP. */
static void lwp_begin(void *arg)
{
    struct lwp *l = arg;

    if (unlikely(l->proc->truss != NULL))
        truss_lwp(l, LWP_BEGINS);
    if (l->set_child_tid != 0)
        user_store32(l->set_child_tid, l->t.tid);
    x86_return_to_user(l->t.uregs);
}

/* Share or copy the parts of l's process into p.  -ENOMEM: proc_discard() releases the parts that p has. */
static int share_or_copy_parts(struct proc *p, struct lwp *l, uint64_t flags)
{
    struct proc *me = l->proc;

    p->as = flags & CLONE_VM ? me->as : as_fork(me->as);
    if (p->as == NULL)
        return -ENOMEM;
    if (flags & CLONE_VM)
        as_hold(p->as);
    p->files = flags & CLONE_FILES ? me->files : fdtable_copy(me->files);
    if (p->files == NULL)
        return -ENOMEM;
    if (flags & CLONE_FILES) {
        fdtable_hold(p->files);
        p->files_shared = me->files_shared = true;
    }
    p->fs = flags & CLONE_FS ? me->fs : fsinfo_copy(me->fs);
    if (p->fs == NULL)
        return -ENOMEM;
    if (flags & CLONE_FS)
        atomic_fetch_add(&p->fs->refs, 1);
    p->sig = flags & CLONE_SIGHAND ? me->sig : sighand_copy(me->sig);
    if (p->sig == NULL)
        return -ENOMEM;
    if (flags & CLONE_SIGHAND)
        atomic_fetch_add(&p->sig->refs, 1);
    return flags & CLONE_SYSVSEM ? sem_undo_share(me, p) : 0;
}

/* Free a process that has not been published, with the parts that it has. */
static void proc_discard(struct proc *p)
{
    if (p->as != NULL)
        as_release(p->as);
    if (p->files != NULL)
        fdtable_release(p->files);
    if (p->fs != NULL)
        fsinfo_release(p->fs);
    if (p->sig != NULL)
        sighand_release(p->sig);
    sem_undo_release(p);
    if (p->exe != NULL) {
        vn_allow_write(p->exe);
        vn_release(p->exe);
    }
    if (p->truss != NULL)
        file_release(p->truss);
    kmem_cache_free(proc_cache, p);
}

/* Make a process as a copy of the process of l, without its LWPs.  0 and *out, or -ENOMEM. */
static int proc_copy(struct lwp *l, uint64_t flags, int exit_signal, struct proc **out)
{
    struct proc *me = l->proc, *p = proc_new();
    int err;

    if (p == NULL)
        return -ENOMEM;
    err = share_or_copy_parts(p, l, flags);
    if (err != 0) {
        proc_discard(p);
        return err;
    }
    mutex_enter(&me->mutex);
    memcpy(p->rlim, me->rlim, sizeof p->rlim);
    p->exe = me->exe;
    if (p->exe != NULL) {
        vn_hold(p->exe);
        vn_deny_write(p->exe); /* cannot fail, because the parent denies writing, too */
    }
    p->arg_start = me->arg_start;
    p->arg_end = me->arg_end;
    p->env_start = me->env_start;
    p->env_end = me->env_end;
    p->auxv_start = me->auxv_start;
    p->auxv_end = me->auxv_end;
    p->truss = me->truss;
    if (p->truss != NULL)
        file_hold(p->truss);
    p->track = me->track;
    mutex_exit(&me->mutex);
    p->exit_signal = exit_signal;
    p->nice = me->nice;
    p->dumpable = me->dumpable;
    p->no_new_privs = me->no_new_privs;
    p->start_ns = clock_mono_ns();
    *out = p;
    return 0;
}

/* Fill in `l` as a copy of the caller `me`, with the changes that clone(2)'s arguments require. */
static void lwp_copy(struct lwp *l, struct lwp *me, const struct clone_args *ca,
                     const struct regs *r)
{
    uint64_t flags = ca->flags;

    *l->t.uregs = *r;
    l->t.uregs->rax = 0;
    if (ca->stack != 0)
        l->t.uregs->rsp = ca->stack;
    thread_fpu_save(&me->t);
    memcpy(l->t.fpu, me->t.fpu, FPU_SIZE);
    l->t.fsbase = flags & CLONE_SETTLS ? ca->tls : me->t.fsbase;
    l->t.gsbase = me->t.gsbase;
    l->t.as = l->proc->as;
    l->ioprio = me->ioprio;
    l->sigmask = me->sigmask;
    l->keep_caps = me->keep_caps;
    l->cred = me->cred;
    atomic_fetch_add_explicit(&l->cred->refs, 1, memory_order_relaxed);
    if ((flags & (CLONE_VM | CLONE_VFORK)) !=
        CLONE_VM) { /* the memory is a copy, or is that of vfork: keep the alternate stack */
        l->altstack_sp = me->altstack_sp;
        l->altstack_size = me->altstack_size;
        l->altstack_flags = me->altstack_flags;
    }
    if (flags & CLONE_CHILD_CLEARTID)
        l->clear_tid = ca->child_tid;
    if (flags & CLONE_CHILD_SETTID)
        l->set_child_tid = ca->child_tid;
}

/*
 * Put the new LWP, and its process if that is new, into the tables [P].  -EAGAIN, -ENOMEM, -ERESTARTNOINTR.
 */
static int publish_lwp(struct lwp *l, struct lwp *me, uint64_t flags)
{
    struct proc *p = l->proc, *mine = me->proc;
    bool thread = p == mine;
    int id, err;

    spin_lock(&mine->sig->lock);
    sig_recalc_locked(me);
    spin_unlock(&mine->sig->lock);
    if (signal_pending())
        return -ERESTARTNOINTR; /* repeat the call after the signal was handled (I8, I9) */
    if (!reserve_spares(0))
        /* the new LWP has taken kernel memory that is promised to other processes */
        return -ENOMEM;
    err = lwp_charge(l, me->ucount, me->cred, mine->rlim[RLIMIT_NPROC].cur);
    if (err != 0)
        return err;
    id = id_alloc();
    if (id < 0) {
        lwp_uncharge(l);
        return id;
    }
    thread_follow(&l->t, &me->t);
    l->t.tid = (uint32_t)id;
    l->lwpid = ++p->next_lwpid;
    p->nlwps++;
    list_push_back(&p->lwps, &l->proc_link);
    lwp_hash_add(l);
    limit_cpu_inherit(l, !thread);
    if (unlikely(l->pt != NULL))
        ptrace_adopt(l, me);
    if (thread) {
        if (p->stopped)
            atomic_fetch_or(&l->t.ast, AST_SIGNAL);
        return 0;
    }
    p->pid = id;
    p->parent = flags & CLONE_PARENT ? mine->parent : mine;
    p->ppid = p->parent->pid;
    if (flags & CLONE_PARENT)
        p->exit_signal = mine->exit_signal; /* only the signal to which p's parent has agreed */
    list_push_back(&p->parent->children, &p->sibling);
    list_push_back(&proc_all, &p->all_link);
    proc_hash_add(p);
    pgrp_join(p, mine->pgrp);
    if (flags & CLONE_VFORK) {
        l->vfork_parent = me;
        me->vfork_wait = true;
    }
    return 0;
}

/* Sleep until the child no longer uses the memory of the caller, or until the caller is killed. */
static void vfork_sleep(struct lwp *me, struct lwp *child)
{
    sigset_t old = me->sigmask;

    sig_mask_set(~SIGBIT(SIGKILL));
    spin_lock(&proc_lock);
    while (me->vfork_wait) {
        if (cv_wait_sig_spin(&me->proc->child_cv, &proc_lock, NO_DEADLINE, "vfork") == 0 ||
            !me->vfork_wait)
            continue;
        spin_lock(&me->proc->sig->lock);
        sig_recalc_locked(me);
        spin_unlock(&me->proc->sig->lock);
        if (signal_pending()) {
            child->vfork_parent = NULL; /* the child still exists, because vfork_wait is set */
            me->vfork_wait = false;
        }
    }
    spin_unlock(&proc_lock);
    sig_mask_set(old);
}

void vfork_release(struct lwp *l)
{
    if (l->vfork_parent == NULL)
        return;
    spin_lock(&proc_lock);
    if (l->vfork_parent != NULL) {
        l->vfork_parent->vfork_wait = false;
        cv_broadcast(&l->vfork_parent->proc->child_cv);
        l->vfork_parent = NULL;
    }
    spin_unlock(&proc_lock);
}

/*
 * Checks the arguments of a clone.  0; -EINVAL: unknown flags or an invalid combination; -EPERM:
 * tls is no user address.
 */
static int check_clone_flags(const struct clone_args *ca, const struct proc *me)
{
    uint64_t f = ca->flags;
    uint64_t known = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_VFORK |
                     CLONE_PARENT | CLONE_THREAD | CLONE_SETTLS | CLONE_PARENT_SETTID |
                     CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | CLONE_SYSVSEM;
    uint64_t without = CLONE_PTRACE | CLONE_DETACHED | CLONE_UNTRACED |
                       CLONE_IO; /* flags that have no effect in this kernel */

    if ((f & ~(known | without)) != 0 || ca->exit_signal < 0 || ca->exit_signal > NSIG)
        return -EINVAL;
    if (((f & CLONE_THREAD) && !(f & CLONE_SIGHAND)) || ((f & CLONE_SIGHAND) && !(f & CLONE_VM)))
        return -EINVAL;
    if ((f & CLONE_THREAD) && (f & CLONE_VFORK))
        return -EINVAL;
    if ((f & CLONE_PARENT) && me->parent == NULL)
        return -EINVAL;
    if ((f & CLONE_SETTLS) && ca->tls >= USER_TOP)
        return -EPERM;
    return 0;
}

/*
 * If the new LWP l will have the tracer of `me`, give it a record.  *event: the event to report.  0, -ENOMEM.
 */
static int give_tracer_record(struct lwp *l, struct lwp *me, const struct clone_args *ca,
                              unsigned *event)
{
    *event = ptrace_clone_event(me, ca->flags, (ca->flags & CLONE_THREAD) ? 0 : ca->exit_signal);
    if (*event == 0 && !(ca->flags & CLONE_PTRACE))
        return 0;
    l->pt = ptrace_new();
    return l->pt != NULL ? 0 : -ENOMEM;
}

long proc_clone(const struct clone_args *ca, struct regs *r)
{
    struct lwp *me = curlwp(), *l;
    struct proc *p = me->proc;
    struct list dead;
    bool thread = (ca->flags & CLONE_THREAD) != 0;
    unsigned event = 0;
    int err = check_clone_flags(ca, p), id;

    if (err == 0 && !thread)
        err = proc_copy(me, ca->flags, ca->exit_signal, &p);
    if (err != 0)
        return err;
    if (thread)
        fdtable_share(p->files);
    err = lwp_new(p, me, me->t.name, lwp_begin, &l);
    if (err != 0) {
        if (!thread)
            proc_discard(p);
        return err;
    }
    lwp_copy(l, me, ca, r);
    if (unlikely(me->pt != NULL))
        err = give_tracer_record(l, me, ca, &event);
    list_init(&dead);
    spin_lock(&proc_lock);
    if (err == 0)
        err = publish_lwp(l, me, ca->flags);
    if (err == 0 && thread)
        lwps_take_dead(p, &dead);
    id = (int)l->t.tid;
    spin_unlock(&proc_lock);
    if (err != 0) {
        lwp_free(l);
        if (!thread)
            proc_discard(p);
        return err;
    }
    CPUSTAT_INC(forks);
    if (ca->flags & CLONE_PARENT_SETTID)
        user_store32(ca->parent_tid, (uint32_t)id);
    thread_start(&l->t);
    lwp_free_list(&dead);
    if (unlikely(event != 0))
        ptrace_event(event, (uint64_t)id);
    if (ca->flags & CLONE_VFORK) {
        vfork_sleep(me, l);
        if (unlikely(me->pt != NULL))
            ptrace_event(PT_VFORK_DONE, (uint64_t)id);
    }
    return id;
}
