// SPDX-License-Identifier: MIT
/*
 * exit.c - the end of LWPs and of processes.
 *
 * THEORY      Every LWP ends itself, in lwp_exit(), because no other thread could release the locks that it
 *             holds.  Another LWP can only request its end: it sets p->exiting (or p->execing) and interrupts
 *             the LWP.  That LWP then reaches sig_deliver() before it returns to user mode.  Long sleeps are
 *             interruptible, so a process with many threads ends at once.
 *             The last LWP releases the parts of the process while it can still sleep.  Only then does the
 *             process become a zombie.  Therefore the memory of a process is free when its parent has waited for
 *             it.  Orphans become children of process 1.
 *             If the parent ignores SIGCHLD, it will not wait for the child.  Then the "reaper", a kernel
 *             thread, frees the zombie.
 * INVARIANTS  I1  an LWP that finds nlwps == 1 under proc_lock is the last one, and no other LWP
 *                 can be added afterwards
 *             I10 from the moment when other threads can find a dead LWP (on p->dead, or in a zombie) until it
 *                 has left its CPU, interrupts are off on that CPU, so a wait for it is short (proc.c, LOCKING)
 * LOCKING     proc_lock, then [s].  The last LWP holds neither while it releases the parts of the process.
 */
#include "proc/proc_impl.h"

#include "lib/errno.h"
#include "proc/itimer.h"
#include "proc/ptimer.h"
#include "proc/ptrace.h"
#include "stat/panic.h"
#include "x86/uaccess.h"

enum {
    ROBUST_LIMIT = 2048,
    FUTEX_WAITERS = 0x80000000,
    FUTEX_OWNER_DIED = 0x40000000,
    FUTEX_TID = 0x3fffffff
};

/*
 * Release one robust mutex of an LWP that ends: mark it FUTEX_OWNER_DIED and wake one waiter.  `pending`: the
 * thread was in the middle of locking or unlocking the mutex, so the mutex is perhaps unlocked already.
 */
static void release_robust_futex(struct lwp *l, uint64_t futex, bool pending)
{
    uint32_t old, seen;

    if (futex % 4 != 0 || user_load32(futex, &old) != 0)
        return;
    if (pending && old == 0) {
        futex_wake(futex, 1, false, UINT32_MAX);
        return;
    }
    for (;;) {
        if ((old & FUTEX_TID) != l->t.tid)
            return;
        if (user_cmpxchg32(futex, old, (old & FUTEX_WAITERS) | FUTEX_OWNER_DIED, &seen) != 0)
            return;
        if (seen == old)
            break;
        old = seen;
    }
    if (old & FUTEX_WAITERS)
        futex_wake(futex, 1, false, UINT32_MAX);
}

/*
 * Release the robust mutexes of l.  The list head in user memory has three words, as in Linux: the first
 * entry, the offset of the futex from an entry, and the entry whose lock is being taken or released.
 */
static void exit_robust_list(struct lwp *l)
{
    uint64_t head[3], entry, next;

    if (copy_in(head, l->robust_list, sizeof head) != 0)
        return;
    entry = head[0];
    for (unsigned i = 0; i < ROBUST_LIMIT && (entry & ~1ul) != l->robust_list; i++) {
        bool ok = copy_in(&next, entry & ~1ul, sizeof next) == 0;

        if ((entry & ~1ul) != (head[2] & ~1ul))
            release_robust_futex(l, (entry & ~1ul) + head[1], false);
        if (!ok)
            break;
        entry = next;
    }
    if (head[2] != 0)
        release_robust_futex(l, (head[2] & ~1ul) + head[1], true);
}

void lwp_leave_memory(struct lwp *l)
{
    if (l->robust_list != 0)
        exit_robust_list(l);
    if (l->clear_tid != 0 && (l->proc->nlwps > 1 || as_is_shared(l->proc->as))) {
        user_store32(l->clear_tid, 0);
        futex_wake(l->clear_tid, 1, false, UINT32_MAX);
    }
    vfork_release(l);
}

void lwps_interrupt(struct proc *p, struct lwp *except)
{
    struct lwp *l;

    LIST_FOREACH (l, &p->lwps, proc_link)
        if (l != except)
            thread_interrupt(&l->t);
}

/* Take l, which ends with `status`, off the tables, and add the times of l to those of the process [P]. */
static void lwp_detach(struct lwp *l, int status)
{
    struct proc *p = l->proc;

    list_remove(&l->hash_link);
    if (unlikely(l->pt != NULL || p->leader_pt != NULL))
        ptrace_lwp_ended(l, p->exiting ? p->exit_status : status, p->nlwps == 1);
    if ((int)l->t.tid != p->pid)
        id_drop((int)l->t.tid);
    times_add_dead(p, l);
    thread_unhome(&l->t);
    if (--p->nlwps > 0)
        lwp_uncharge(l); /* the last LWP counts until the zombie is freed */
    spin_lock(&p->sig->lock);
    sigqueue_flush(&l->pending, ~0ul);
    if (p->nlwps > 0 && p->pending.set != 0)
        sig_retarget(p, l);
    spin_unlock(&p->sig->lock);
}

void lwps_take_dead(struct proc *p, struct list *dead)
{
    list_init(dead);
    if (!list_empty(&p->dead)) {
        list_link_between(dead, p->dead.prev, p->dead.next);
        list_init(&p->dead);
    }
}

/* Release the memory, files and directories of p, which ends.  Sleeps. */
static void release_proc_parts(struct proc *p)
{
    struct fdtable *files;
    struct fsinfo *fs;
    struct as *as;
    struct vnode *exe;
    struct file *truss;

    mutex_enter(&p->mutex);
    files = p->files, p->files = NULL;
    fs = p->fs, p->fs = NULL;
    as = p->as, p->as = NULL;
    exe = p->exe, p->exe = NULL;
    truss = p->truss, p->truss = NULL;
    mutex_exit(&p->mutex);
    sem_undo_release(p);
    fdtable_release(files);
    if (truss != NULL)
        file_release(truss);
    fsinfo_release(fs);
    curthread->as =
        NULL; /* the page tables can stay loaded on this CPU for a while; vm handles this */
    rss_note(p, as);
    as_release(as);
    if (exe != NULL) {
        vn_allow_write(exe);
        vn_release(exe);
    }
}

/* Zombies for which no parent will wait. */
static struct list reaper_list = LIST_INIT(reaper_list); /* [p] proc.all_link */
static struct cv reaper_cv;

static void reaper_main(void *arg)
{
    struct proc *p;

    (void)arg;
    for (;;) {
        spin_lock(&proc_lock);
        while (list_empty(&reaper_list))
            cv_wait_spin(&reaper_cv, &proc_lock, "reaper");
        p = list_pop(&reaper_list, struct proc, all_link);
        spin_unlock(&proc_lock);
        proc_release(p);
    }
}

void reaper_start(void)
{
    cv_init(&reaper_cv);
    if (kthread_create("reaper", PRI_SYS, reaper_main, NULL) == NULL)
        panic("no memory for the reaper");
}

void proc_unlink(struct proc *p)
{
    p->state = PROC_REAPED;
    list_remove(&p->sibling);
    list_remove(&p->all_link);
    list_remove(&p->hash_link);
    pgrp_leave(p);
    lwp_uncharge(list_first(&p->lwps, struct lwp, proc_link));
    id_drop(p->pid);
}

void notify_parent(struct proc *p, int code, int status)
{
    struct proc *parent = p->parent;
    struct sigaction act = parent->sig->act[SIGCHLD - 1];
    int sig = code >= CLD_STOPPED ? SIGCHLD : p->exit_signal;
    struct siginfo info = {.signo = sig, .code = code};

    if (sig != 0 && !(code >= CLD_STOPPED && (act.flags & SA_NOCLDSTOP))) {
        struct rusage_kernel ru;

        rusage_collect(p, &ru);
        info.child.pid = p->pid;
        info.child.uid = proc_uid(p);
        info.child.status = status;
        info.child.utime = (int64_t)(ru.utime_us / (1000000 / HZ));
        info.child.stime = (int64_t)(ru.stime_us / (1000000 / HZ));
        sig_send_proc(parent, sig, &info);
    }
    cv_broadcast(&parent->child_cv);
}

void proc_announce_zombie(struct proc *p)
{
    int killed = p->exit_status & 0x7f;
    struct sigaction act = p->parent->sig->act[SIGCHLD - 1];

    notify_parent(p, wait_code(p->exit_status), killed ? killed : p->exit_status >> 8);
    if (p->exit_signal == SIGCHLD && (act.handler == SIG_IGN || (act.flags & SA_NOCLDWAIT))) {
        proc_unlink(p);
        list_push_back(&reaper_list, &p->all_link);
        cv_signal(&reaper_cv);
    }
}

/* Make the children of p children of process 1, and send the signals for which they have asked [P]. */
static void orphan_children(struct proc *p)
{
    struct siginfo info = {.code = SI_USER};
    struct proc *c;

    info.rt.pid = p->pid;
    info.rt.uid = proc_uid(p);
    while ((c = list_pop(&p->children, struct proc, sibling)) != NULL) {
        c->parent = proc_initial;
        c->ppid = 1;
        c->exit_signal = SIGCHLD;
        list_push_back(&proc_initial->children, &c->sibling);
        if (unlikely(c->death_sig != 0) && c->state == PROC_LIVE) {
            info.signo = c->death_sig;
            sig_send_proc(c, c->death_sig, &info);
        }
        if (c->state == PROC_ZOMBIE && !c->withheld)
            proc_announce_zombie(c);
    }
}

void proc_set_death_signal(int sig)
{
    spin_lock(&proc_lock);
    curproc()->death_sig = (uint8_t)sig;
    spin_unlock(&proc_lock);
}

/* End the process.  The caller `l` is the last LWP of the process. */
static noreturn void process_end(struct lwp *l, int status)
{
    struct proc *p = l->proc;
    struct session *led;

    if (p == proc_initial)
        panic("process 1 (%s) ended with status %#x", l->t.name, status);
    spin_lock(&proc_lock);
    spin_lock(&p->sig->lock);
    if (!p->exiting)
        p->exit_status = status;
    p->exiting = true;
    spin_unlock(&p->sig->lock);
    led = p->pgrp->session->leader == p ? p->pgrp->session : NULL;
    spin_unlock(&proc_lock);

    if (unlikely(p->truss != NULL))
        truss_lwp(l, LWP_PROC_ENDS);
    itimer_cancel_all(p);
    ptimer_delete_all();
    if (led != NULL)
        tty_leader_exit(led); /* the session exists while its leader is in one of its groups */
    release_proc_parts(p);

    irq_disable(); /* until this LWP has left its CPU (I10) */
    spin_lock(&proc_lock);
    lwp_detach(l, status);
    spin_lock(&p->sig->lock);
    sigqueue_flush(&p->pending, ~0ul);
    spin_unlock(&p->sig->lock);
    pgrp_check_orphans(p);
    if (led != NULL)
        led->leader = NULL;
    orphan_children(p);
    if (unlikely(!list_empty(&p->tracees)))
        ptrace_tracer_ended(p);
    p->stopped = p->cont_pending = false;
    p->state = PROC_ZOMBIE;
    if (likely(!p->withheld))
        proc_announce_zombie(p);
    spin_unlock(&proc_lock);
    thread_exit_switch();
}

noreturn void lwp_exit(int status)
{
    struct lwp *l = curlwp();
    struct proc *p = l->proc;
    struct list dead;

    if (unlikely(l->pt != NULL))
        ptrace_event(PT_EXIT, (uint64_t)status);
    if (unlikely(p->truss != NULL))
        truss_lwp(l, LWP_ENDS);
    lwp_leave_memory(l);
    l->t.exiting = true;
    spin_lock(&proc_lock);
    lwps_take_dead(p, &dead);
    if (p->nlwps == 1) {
        spin_unlock(&proc_lock);
        lwp_free_list(&dead);
        process_end(l, status); /* l is the last LWP (I1) */
    }
    spin_unlock(&proc_lock);
    lwp_free_list(&dead);
    curthread->as = NULL; /* the reference belongs to the process, not to the LWP */
    irq_disable();        /* until this LWP has left its CPU (I10) */
    spin_lock(&proc_lock);
    if (p->nlwps == 1) { /* the other LWPs have ended meanwhile */
        spin_unlock(&proc_lock);
        irq_enable();
        process_end(l, status);
    }
    lwp_detach(l, status);
    list_remove(&l->proc_link);
    list_push_back(&p->dead, &l->proc_link);
    if ((p->nlwps == 1 && p->execing != NULL) || p->dumper != NULL)
        cv_broadcast(&p->child_cv);
    spin_unlock(&proc_lock);
    thread_exit_switch();
}

noreturn void proc_exit_group(int status)
{
    struct lwp *l = curlwp();
    struct proc *p = l->proc;

    if (unlikely(l->pt != NULL)) /* here, because no LWP of an exiting process stops */
        ptrace_event(PT_EXIT, (uint64_t)status);
    spin_lock(&proc_lock);
    spin_lock(&p->sig->lock);
    if (!p->exiting && (p->execing == NULL || p->execing == l))
        sig_end_process(p, status);
    spin_unlock(&p->sig->lock);
    spin_unlock(&proc_lock);
    lwp_exit(status);
}

bool proc_is_ending(void)
{
    return curthread->lwp != NULL &&
           atomic_load_explicit(&curproc()->exiting, memory_order_relaxed);
}
