// SPDX-License-Identifier: MIT
/*
 * proc.c - making and freeing the structures behind processes and LWPs.
 *
 * THEORY      The tables hold one reference to each process.  It lasts from clone until a parent has waited
 *             for the process (or until the reaper frees it, if no parent will wait).  proc_hold() adds
 *             references, for example for readers of /proc.
 *             A zombie keeps only its struct proc and its last LWP.  Its memory, descriptors and directories
 *             were released when it exited.
 *             An LWP that exits cannot free the kernel stack on which it runs.  In a living process it puts
 *             itself on p->dead, and the next LWP of the process that clones a thread, execs or exits frees
 *             it.  The last LWP is freed with its process.
 * INVARIANTS  I1 .. I4 in proc.h
 *             I6  a process is freed without memory, descriptors, directories, signals or live LWPs; test
 *                 builds check this as "leak at exit"
 * LOCKING     proc_lock guards the tables.  A thread that frees structures does not hold it, because
 *             thread_destroy() waits until the dead thread has left its CPU.  That wait is short, because
 *             lwp_exit() keeps interrupts off from the moment when others can see the dead LWP until it has
 *             switched away.
 * SEE ALSO    ids.c, clone.c, exit.c; docs/processes.md
 */
#include "proc/proc_impl.h"

#include "blk/blk.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "proc/ptrace.h"
#include "stat/panic.h"
#include "x86/trap.h"

struct spinlock proc_lock = SPINLOCK_INIT(RANK_PROC_TABLE);
struct list proc_all = LIST_INIT(proc_all);
struct proc *proc_initial;

struct kmem_cache *proc_cache, *lwp_cache, *sighand_cache, *fsinfo_cache;

static struct kmem_cache *make_proc_cache(const char *name, size_t size)
{
    struct kmem_cache *c = kmem_cache_create(name, size, 64);

    if (c == NULL)
        panic("no memory for the cache of %s", name);
    return c;
}

/*
 * Handles a page fault at a user address.  Returns 0, or the signal to send
 * with its code in *code.
 */
int proc_page_fault(uint64_t addr, bool write, bool exec, int *code)
{
    struct thread *t = curthread;
    enum fault_access access = write ? FAULT_WRITE : FAULT_READ;
    int sig;

    if (t->as == NULL) { /* a kernel thread, or a process without memory yet */
        *code = 1;
        return SIGSEGV;
    }
    if (exec)
        access = FAULT_EXEC;
    sig = as_fault(t->as, addr, access, code);
    if (sig == 0)
        t->lwp->starved = 0;
    return sig;
}

uint16_t lwp_ioprio(const struct lwp *l)
{
    return l->ioprio >> IOPRIO_SHIFT != IOPRIO_NONE ? l->ioprio
                                                    : IOPRIO(IOPRIO_BE, (l->proc->nice + 20) / 5);
}

/* The process, priority and user of a disk request that the current thread makes. */
struct blk_owner blk_current_owner(void)
{
    struct blk_owner by = {0};

    if (curthread->lwp != NULL) {
        by.pid = (uint32_t)curproc()->pid;
        by.prio = curthread->disk_kernel_pri ? 0 : lwp_ioprio(curlwp());
        by.user = curcred()->uid;
    }
    return by;
}

void proc_init(void)
{
    proc_cache = make_proc_cache("proc", sizeof(struct proc));
    lwp_cache = make_proc_cache("lwp", sizeof(struct lwp));
    sighand_cache = make_proc_cache("sighand", sizeof(struct sighand));
    fsinfo_cache = make_proc_cache("fsinfo", sizeof(struct fsinfo));
    ids_init();
    limits_setup();
    cred_init();
    signal_init();
    reaper_start();
    oom_init();
}

struct proc *proc_new(void)
{
    struct proc *p = kmem_cache_alloc_wait(proc_cache);

    if (p == NULL)
        return NULL;
    memset(p, 0, sizeof *p);
    p->refs = 1;
    list_init(&p->children);
    list_init(&p->sibling);
    list_init(&p->hash_link);
    list_init(&p->all_link);
    list_init(&p->pgrp_link);
    list_init(&p->lwps);
    list_init(&p->dead);
    list_init(&p->tracees);
    sigqueue_init(&p->pending);
    mutex_init(&p->mutex, SLEEP_PROC);
    cv_init(&p->child_cv);
    cv_init(&p->stop_cv);
    lgrp_proc_init(&p->lgrp);
    p->dumpable = true;
    return p;
}

int lwp_new(struct proc *p, struct lwp *creator, const char *name, void (*entry)(void *),
            struct lwp **out)
{
    struct lwp *l = kmem_cache_alloc_wait(lwp_cache);
    int err;

    if (l == NULL)
        return -ENOMEM;
    memset((char *)l + sizeof l->t, 0, sizeof *l - sizeof l->t);
    thread_prepare(&l->t, creator != NULL ? &creator->t : NULL);
    l->t.lwp = l;
    l->proc = p;
    if (creator != NULL) {
        l->sched_policy = creator->sched_policy;
        l->sched_prio = creator->sched_prio;
    }
    list_init(&l->proc_link);
    list_init(&l->hash_link);
    sigqueue_init(&l->pending);
    thread_home_new(&l->t, &p->lgrp, creator != NULL ? &creator->t : NULL);
    err = thread_init(&l->t, name, entry, l);
    if (err != 0) {
        thread_unhome(&l->t);
        kmem_cache_free(lwp_cache, l);
        return err;
    }
    *out = l;
    return 0;
}

void lwp_free(struct lwp *l)
{
    if (!l->t.exiting) /* the LWP has never run */
        thread_unhome(&l->t);
    thread_destroy(&l->t);
    if (unlikely(l->pt != NULL))
        ptrace_release(l->pt);
    cred_release(l->cred);
    kmem_free(l->t.lgrp_aff);
    kmem_free(l->t.observed);
    kmem_cache_free(lwp_cache, l);
}

void lwp_free_list(struct list *dead)
{
    struct lwp *l;

    while ((l = list_pop(dead, struct lwp, proc_link)) != NULL)
        lwp_free(l);
}

void proc_hold(struct proc *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

void proc_release(struct proc *p)
{
    if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    ASSERT(p->as == NULL && p->files == NULL && p->fs == NULL && p->exe == NULL, "I6");
    ASSERT(p->nlwps == 0 && list_empty(&p->pending.infos) && list_empty(&p->children), "I6");
    ASSERT(list_empty(&p->tracees) && p->leader_pt == NULL && !p->withheld, "ptrace.h T1, T3");
    ASSERT(p->lgrp.bitmap == 0 && p->lgrp.creating_in == NULL, "I3");
    lwp_free_list(&p->lwps);
    lwp_free_list(&p->dead);
    sighand_release(p->sig);
    kmem_cache_free(proc_cache, p);
}

struct as *proc_as_hold(struct proc *p)
{
    struct as *as;

    mutex_enter(&p->mutex);
    as = p->as;
    if (as != NULL)
        as_hold(as);
    mutex_exit(&p->mutex);
    return as;
}

/* The credentials of p's first LWP; NULL: p has no LWP.  The caller holds proc_lock. */
static const struct cred *cred_of(struct proc *p)
{
    return list_empty(&p->lwps) ? NULL : list_first(&p->lwps, struct lwp, proc_link)->cred;
}

bool proc_may_change_sched(const struct cred *cr, struct proc *p)
{
    const struct cred *to = cred_of(p);

    return cred_superuser(cr) || p == curproc() ||
           (to != NULL && (cr->euid == to->uid || cr->euid == to->euid));
}

bool proc_may_change_limits(const struct cred *cr, struct proc *p)
{
    const struct cred *to = cred_of(p);

    return cred_superuser(cr) || p == curproc() ||
           (to != NULL && cr->uid == to->uid && cr->uid == to->euid && cr->uid == to->suid &&
            cr->gid == to->gid && cr->gid == to->egid && cr->gid == to->sgid);
}

uint32_t proc_uid(struct proc *p)
{
    return list_empty(&p->lwps) ? 0 : list_first(&p->lwps, struct lwp, proc_link)->cred->euid;
}

struct fsinfo *fsinfo_copy(struct fsinfo *fs)
{
    struct fsinfo *n = kmem_cache_alloc_wait(fsinfo_cache);

    if (n == NULL)
        return NULL;
    n->refs = 1;
    mutex_init(&n->lock, SLEEP_FSINFO);
    mutex_enter(&fs->lock);
    n->root = fs->root;
    n->cwd = fs->cwd;
    n->umask = fs->umask;
    vn_hold(n->root);
    vn_hold(n->cwd);
    mutex_exit(&fs->lock);
    return n;
}

void fsinfo_release(struct fsinfo *fs)
{
    if (atomic_fetch_sub_explicit(&fs->refs, 1, memory_order_acq_rel) != 1)
        return;
    vn_release(fs->root);
    vn_release(fs->cwd);
    kmem_cache_free(fsinfo_cache, fs);
}

void fs_context(struct fs_ctx *ctx)
{
    struct fsinfo *fs = curproc()->fs;

    mutex_enter(&fs->lock);
    ctx->root = fs->root;
    ctx->cwd = fs->cwd;
    vn_hold(ctx->root);
    vn_hold(ctx->cwd);
    mutex_exit(&fs->lock);
    ctx->cred = curcred();
}

void fs_context_done(struct fs_ctx *ctx)
{
    vn_release(ctx->root);
    vn_release(ctx->cwd);
}

struct sighand *sighand_copy(const struct sighand *sh)
{
    struct sighand *n = kmem_cache_alloc_wait(sighand_cache);

    if (n == NULL)
        return NULL;
    n->refs = 1;
    spin_init(&n->lock, RANK_SIGHAND);
    if (sh != NULL)
        memcpy(n->act, sh->act, sizeof n->act);
    else
        memset(n->act, 0, sizeof n->act);
    return n;
}

void sighand_release(struct sighand *sh)
{
    if (atomic_fetch_sub_explicit(&sh->refs, 1, memory_order_acq_rel) == 1)
        kmem_cache_free(sighand_cache, sh);
}
