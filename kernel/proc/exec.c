// SPDX-License-Identifier: MIT
/*
 * exec.c - replace the program of a process.
 *
 * THEORY      exec gives a process a new program: new memory, a new stack, and registers that start at the
 *             program's entry.  The pid, the open files and most other properties stay.
 *             All steps that can fail are done while the old program still exists:
 *               1. The file is found and checked.
 *               2. A new address space is built.
 *               3. Shared handlers and descriptors are copied.
 *               4. The other LWPs end, and parts that they have shared meanwhile are copied.
 *             Then commit_exec(), which cannot fail, replaces the old address space by the new one and sets the
 *             registers.  If there is no memory for the copies of step 4, the old program can no longer continue,
 *             because its other threads are gone: the process is killed.
 *             A file that begins with `#!` names another program.  Then the argument list is rewritten and
 *             the search starts again with that program.
 *             While a program runs, its file cannot be opened for writing (-ETXTBSY).
 * INVARIANTS  X1  after an error the calling LWP continues in the old program, unless the
 *                 process is being killed
 *             X2  after the other LWPs have ended, exec does not sleep where only a signal could wake it
 *             X3  the calling LWP survives, and the pid of the process becomes its tid
 * LOCKING     The steps that build new parts hold no lock.  proc_lock and [s] are needed to end the other LWPs and
 *             to replace the handlers; p->mutex to replace the other parts.
 * SEE ALSO    execload.c, execstack.c, elf.c; user/test/t_race.c
 */
#include "proc/exec.h"

#include "disp/context.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "proc/ptimer.h"
#include "proc/ptrace.h"
#include "stat/cpustat.h"
#include "stat/trace.h"
#include "x86/trap.h"

enum { SCRIPT_DEPTH = 4, SCRIPT_LINE = 256 };

int exec_program_open(struct program *pr, struct vnode *vn, const char *path)
{
    struct fs_ctx ctx;
    int err = 0;

    fs_context(&ctx);
    if (vn != NULL)
        vn_hold(vn);
    else
        err = name_lookup(&ctx, NULL, path, NAME_FOLLOW, &vn);
    if (err == 0) {
        if (vn->type != VREG || (vn->mode & 0111) == 0 || (vn->vfs->flags & MS_NOEXEC) != 0)
            err = -EACCES;
        if (err == 0)
            err = vn_access(vn, 1, ctx.cred);
        if (err == 0)
            err = vn_deny_write(vn);
        if (err != 0)
            vn_release(vn);
    }
    fs_context_done(&ctx);
    if (err != 0)
        return err;
    pr->vn = vn;
    pr->nhead = vn_read_kernel(vn, pr->head, sizeof pr->head, 0);
    if (pr->nhead < 0)
        return (int)pr->nhead;
    return pr->nhead == 0 ? -ENOEXEC : 0;
}

void exec_program_close(struct program *pr)
{
    if (pr->vn == NULL)
        return;
    vn_allow_write(pr->vn);
    vn_release(pr->vn);
    pr->vn = NULL;
}

static bool is_space_or_tab(uint8_t c)
{
    return c == ' ' || c == '\t';
}

/*
 * Split the first line of a script, line[n], into interpreter and optional argument (NULL: none).  -ENOEXEC:
 * the line names no interpreter, or is too long.
 */
static int parse_script(uint8_t *line, size_t n, char **interp, char **arg)
{
    uint8_t *p = line + 2, *end = memchr(line, '\n', n);

    if (end == NULL) {
        if (n == SCRIPT_LINE)
            return -ENOEXEC; /* the line may be longer than SCRIPT_LINE */
        end = line + n;
    }
    while (end > p && is_space_or_tab(end[-1]))
        end--;
    while (p < end && is_space_or_tab(*p))
        p++;
    *end = '\0';
    if (p == end || *p == '\0')
        return -ENOEXEC;
    *interp = (char *)p;
    while (p < end && !is_space_or_tab(*p))
        p++;
    while (p < end && is_space_or_tab(*p))
        *p++ = '\0';
    *arg = p < end ? (char *)p : NULL;
    return 0;
}

/*
 * Make argv: interpreter, [argument,] path of the script, and the old argv without its
 * first string.  -ENOMEM.
 */
static int prepend_script_args(struct exec_args *ea, const char *interp, const char *arg,
                               const char *script)
{
    size_t ni = strlen(interp) + 1, na = arg != NULL ? strlen(arg) + 1 : 0, ns = strlen(script) + 1;
    size_t skip = ea->nargs > 0 ? strlen(ea->strings) + 1 : 0;
    size_t len = ni + na + ns + ea->len - skip;
    char *buf = kmem_alloc(len);

    if (buf == NULL)
        return -ENOMEM;
    memcpy(buf, interp, ni);
    if (arg != NULL)
        memcpy(buf + ni, arg, na);
    memcpy(buf + ni + na, script, ns);
    memcpy(buf + ni + na + ns, ea->strings + skip, ea->len - skip);
    kmem_free(ea->strings);
    ea->strings = buf;
    ea->len = len;
    ea->nargs += (ea->nargs > 0 ? 0 : 1) + 1 + (arg != NULL);
    return 0;
}

/* Open the file at the end of a chain of scripts, as x->main.  The caller must close x->main after an error, too. */
static int find_program(struct exec *x)
{
    const char *path = x->path;
    char *interp, *arg, name[SCRIPT_LINE];
    int err;

    for (unsigned depth = 0;; depth++) {
        struct program *pr = &x->main;

        err = exec_program_open(pr, depth == 0 ? x->args->program : NULL, path);
        if (err != 0)
            return err;
        if (pr->nhead < 2 || pr->head[0] != '#' || pr->head[1] != '!')
            return 0;
        if (depth == SCRIPT_DEPTH)
            return -ELOOP;
        err = parse_script(pr->head, (size_t)min_of(pr->nhead, (long)SCRIPT_LINE), &interp, &arg);
        if (err == 0)
            err = prepend_script_args(x->args, interp, arg, path);
        if (err != 0)
            return err;
        str_copy(name, interp, sizeof name);
        path = name;
        exec_program_close(pr);
    }
}

/*
 * Make new credentials if the file is set-uid or set-gid.  For a script, the set-id bits of its interpreter are
 * used, not the bits of the script.  A program that an ordinary user traces gets no new credentials.  Also notes in x
 * whether the caller may read the file.
 * 0, -ENOMEM.
 */
static int make_setid_cred(struct exec *x)
{
    struct vnode *vn = x->main.vn;
    uint32_t mode, owner, group;
    bool traced;

    spin_lock(&proc_lock);
    traced = ptrace_blocks_setid(curlwp());
    spin_unlock(&proc_lock);
    x->readable = vn_access(vn, 4, curcred()) == 0;
    rw_enter_read(&vn->lock); /* so that mode, owner and group are consistent */
    mode = vn->mode;
    owner = vn->uid;
    group = vn->gid;
    rw_exit_read(&vn->lock);
    if ((mode & 02010) != 02010)
        mode &= ~02000u;
    if ((mode & 06000) == 0 || (vn->vfs->flags & MS_NOSUID) != 0 || curproc()->no_new_privs ||
        traced || (curproc()->truss != NULL && !cred_superuser(curcred())))
        return 0;
    x->cred = cred_dup(curcred());
    if (x->cred == NULL)
        return -ENOMEM;
    if (mode & 04000)
        x->cred->euid = x->cred->suid = x->cred->fsuid = owner;
    if (mode & 02000)
        x->cred->egid = x->cred->sgid = x->cred->fsgid = group;
    return 0;
}

/*
 * Copy the parts that exec changes and another process shares: handlers and descriptors.  For a set-id
 * program also copy the directories and umask, because no other process must change them.  A copy that x already
 * has is kept.  0, -ENOMEM.
 */
static int unshare_for_exec(struct exec *x, struct proc *p)
{
    if (x->cred != NULL && x->fs == NULL) {
        x->fs = fsinfo_copy(p->fs);
        if (x->fs == NULL)
            return -ENOMEM;
    }
    if (atomic_load(&p->sig->refs) > 1 && x->sig == NULL) {
        x->sig = sighand_copy(p->sig);
        if (x->sig == NULL)
            return -ENOMEM;
    }
    if (p->files_shared && x->files == NULL) {
        x->files = fdtable_copy(p->files);
        if (x->files == NULL)
            return -ENOMEM;
    }
    return 0;
}

/* End the other LWPs, and give the caller the pid as its tid.  -EINTR: the process or this LWP is ending. */
static int end_other_lwps(struct lwp *l)
{
    struct proc *p = l->proc;
    struct list dead;
    int err = 0;

    spin_lock(&proc_lock);
    spin_lock(&p->sig->lock);
    if (p->exiting || p->execing != NULL || p->dumper != NULL) {
        err = -EINTR;
    } else {
        p->execing = l;
        lwps_interrupt(p, l);
        cv_broadcast(&p->stop_cv); /* for stopped tracees */
    }
    spin_unlock(&p->sig->lock);
    while (err == 0 && p->nlwps > 1)
        cv_wait_spin(&p->child_cv, &proc_lock, "exec");
    if (err == 0) {
        spin_lock(&p->sig->lock);
        p->execing = NULL;
        if (p->exiting)
            err = -EINTR;
        spin_unlock(&p->sig->lock);
    }
    if (err == 0 && (int)l->t.tid != p->pid) { /* the calling LWP gets the pid as its tid (X3) */
        id_drop((int)l->t.tid);
        list_remove(&l->hash_link);
        l->t.tid = (uint32_t)p->pid;
        lwp_hash_add(l);
        if (unlikely(l->pt != NULL || p->leader_pt != NULL))
            ptrace_new_tid(l);
    }
    lwps_take_dead(p, &dead);
    spin_unlock(&proc_lock);
    lwp_free_list(&dead);
    return err;
}

/* Install x's handlers if there are any; every caught signal gets its default action.  No alternate stack. */
static void reset_signal_handlers(struct exec *x, struct proc *p, struct lwp *l)
{
    struct sighand *old = NULL;

    if (x->sig != NULL) { /* p->sig must change only under proc_lock and p->sig->lock */
        spin_lock(&proc_lock);
        spin_lock(&p->sig->lock);
        old = p->sig;
        p->sig = x->sig;
        x->sig = NULL;
        spin_unlock(&old->lock);
        spin_unlock(&proc_lock);
        sighand_release(old);
    }
    spin_lock(&p->sig->lock);
    for (unsigned i = 0; i < NSIG; i++)
        if (p->sig->act[i].handler > SIG_IGN)
            p->sig->act[i] = (struct sigaction){0};
    spin_unlock(&p->sig->lock);
    l->altstack_sp = l->altstack_size = 0;
    l->altstack_flags = 0;
}

/* Name the LWP after the last part of the path. */
static void set_program_name(struct lwp *l, const char *path)
{
    const char *slash = strrchr(path, '/');

    str_copy(l->t.name, slash != NULL ? slash + 1 : path, sizeof l->t.name);
    TRACE(NAME, 0, trace_name(l->t.name), trace_name_rest(l->t.name));
}

/* Replace the old program by x.  Nothing fails from here on. */
static void commit_exec(struct exec *x, struct proc *p, struct lwp *l, struct regs *r)
{
    struct as *old_as;
    struct fdtable *old_files = NULL;
    struct fsinfo *old_fs = NULL;
    struct file *truss = NULL;
    struct cred *old_cred = NULL;
    struct proc *child;
    struct program old = {.vn = NULL};

    ptimer_delete_all();
    lwp_leave_memory(l);
    l->clear_tid = l->robust_list = 0;
    mutex_enter(&p->mutex);
    if (!x->readable || x->cred != NULL)
        p->dumpable = false; /* the old credentials must not let others inspect the new memory */
    old_as = p->as;
    p->as = x->as;
    x->as = NULL;
    old.vn = p->exe;
    p->exe = x->main.vn;
    x->main.vn = NULL;
    p->arg_start = x->arg_start;
    p->arg_end = x->arg_end;
    p->env_start = x->env_start;
    p->env_end = x->env_end;
    p->auxv_start = x->auxv_start;
    p->auxv_end = x->auxv_end;
    p->image = 0;
    p->files_shared = false;
    if (x->files != NULL) {
        old_files = p->files;
        p->files = x->files;
        x->files = NULL;
    }
    if (x->fs != NULL) {
        old_fs = p->fs;
        p->fs = x->fs;
        x->fs = NULL;
    }
    /* tracing may have begun after make_setid_cred(): end it */
    if (x->cred != NULL && !cred_superuser(l->cred)) {
        truss = p->truss;
        p->truss = NULL;
        p->track = false;
    }
    mutex_exit(&p->mutex);
    irq_push();
    l->t.as = p->as;
    as_activate(&l->t);
    irq_pop();
    if (old_as != NULL) {
        rss_note(p, old_as);
        as_release(old_as);
    }
    exec_program_close(&old);
    if (old_files != NULL)
        fdtable_release(old_files);
    if (old_fs != NULL)
        fsinfo_release(old_fs);
    if (truss != NULL)
        file_release(truss);
    fdtable_close_on_exec(p->files);
    reset_signal_handlers(x, p, l);
    spin_lock(&proc_lock);
    if (x->cred != NULL && !ptrace_blocks_setid(l)) { /* tracing may have begun meanwhile */
        old_cred = l->cred;
        l->cred = x->cred;
        x->cred = NULL;
        p->death_sig = 0;
    }
    LIST_FOREACH (child, &p->children, sibling) /* the new program perhaps expects only SIGCHLD */
        child->exit_signal = SIGCHLD;
    spin_unlock(&proc_lock);
    cred_release(old_cred);
    p->dumpable = x->readable && l->cred->euid == l->cred->uid && l->cred->egid == l->cred->gid;
    l->keep_caps = false;
    l->lwpid = p->next_lwpid = 1;
    p->exit_signal = SIGCHLD;
    p->has_execed = true;
    set_program_name(l, x->path);
    thread_new_program(&l->t);

    thread_fpu_init(&l->t);
    thread_set_fsbase(0);
    thread_set_gsbase(0);
    atomic_fetch_or(&l->t.ast, AST_REGS);
    *r = (struct regs){.orig_rax = UINT64_MAX,
                       .rip = x->entry,
                       .rcx = x->entry,
                       .rsp = x->sp,
                       .cs = SEL_UCODE,
                       .ss = SEL_UDATA,
                       .rflags = 0x202,
                       .r11 = 0x202};
}

/* All of exec that can fail.  On return 0 the calling LWP is the only one, and commit_exec() comes next. */
static int prepare_exec(struct exec *x, struct proc *p, struct lwp *l)
{
    int err = find_program(x);

    if (err == 0)
        err = make_setid_cred(x);
    if (err == 0)
        err = exec_load(x);
    if (err == 0)
        err = exec_stack(x);
    if (err == 0)
        err = unshare_for_exec(x, p);
    if (err != 0 || (p->nlwps == 1 && (int)l->t.tid == p->pid))
        return err;
    err = end_other_lwps(l);
    if (err != 0)
        return err;
    err = unshare_for_exec(x, p); /* copy parts that another LWP has shared meanwhile */
    if (err != 0)
        sig_send_proc(p, SIGKILL, NULL); /* X1 */
    return err;
}

int proc_exec(const char *path, struct exec_args *ea, struct regs *r)
{
    struct lwp *l = curlwp();
    struct proc *p = l->proc;
    struct exec *x = kmem_alloc(sizeof *x);
    int err, old_tid = (int)l->t.tid;

    if (x == NULL)
        return -ENOMEM;
    x->path = path;
    x->args = ea;
    x->main.vn = x->interp.vn = NULL;
    x->main.base = x->interp.base = 0;
    x->as = NULL;
    x->cred = NULL;
    x->sig = NULL;
    x->files = NULL;
    x->fs = NULL;
    err = prepare_exec(x, p, l);
    if (err == 0) {
        CPUSTAT_INC(execs);
        commit_exec(x, p, l, r);
    }
    exec_program_close(&x->main);
    exec_program_close(&x->interp);
    if (x->as != NULL)
        as_release(x->as);
    if (x->files != NULL)
        fdtable_release(x->files);
    if (x->sig != NULL)
        sighand_release(x->sig);
    if (x->fs != NULL)
        fsinfo_release(x->fs);
    cred_release(x->cred);
    kmem_free(x);
    if (err == 0 && unlikely(l->pt != NULL))
        ptrace_exec(old_tid);
    return err;
}
