// SPDX-License-Identifier: MIT
/*
 * init.c - make process 1.
 *
 * THEORY      Process 1 is the only process that is not a copy of another one.  It begins as an LWP
 *             without user memory that runs kernel code.  This code opens the console as descriptors 0, 1
 *             and 2 and execs the first of a few well-known programs that exists.  From then on it is a
 *             process like others, with two exceptions: orphans become its children, and it gets only
 *             signals that it catches.
 */
#include "proc/proc_impl.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "stat/panic.h"
#include "x86/trap.h"

static const char *const init_paths[] = {"/sbin/init", "/init", "/bin/sh"};
static const char init_env[] = "HOME=/\0TERM=linux\0PATH=/bin:/sbin:/usr/bin:/usr/sbin";
enum { INIT_NENVS = 3 };

static void open_console(struct proc *p)
{
    struct fs_ctx ctx;
    struct file *f;
    int err;

    fs_context(&ctx);
    err = file_open(&ctx, NULL, "/dev/console", O_RDWR | O_NOCTTY, 0, &f);
    fs_context_done(&ctx);
    if (err != 0) {
        warn("cannot open /dev/console: error %d", -err);
        return;
    }
    file_hold(f);
    file_hold(f);
    for (int fd = 0; fd < 3; fd++)
        fd_install_at(p->files, f, fd, 0);
}

/* Execute `path` with init_env as environment.  0: *r holds the program's registers; else an error. */
static int try_exec(const char *path, struct regs *r)
{
    size_t n = strlen(path) + 1;
    struct exec_args args = {.len = n + sizeof init_env, .nargs = 1, .nenvs = INIT_NENVS};
    int err;

    args.strings = kmem_alloc(args.len);
    if (args.strings == NULL)
        return -ENOMEM;
    memcpy(args.strings, path, n);
    memcpy(args.strings + n, init_env, sizeof init_env);
    err = proc_exec(path, &args, r);
    kmem_free(args.strings);
    return err;
}

static void init_process_main(void *arg)
{
    struct lwp *l = arg;
    int err;

    open_console(l->proc);
    for (unsigned i = 0; i < array_size(init_paths); i++) {
        err = try_exec(init_paths[i], l->t.uregs);
        if (err == 0)
            x86_return_to_user(l->t.uregs);
        if (err != -ENOENT)
            warn("cannot execute %s: error %d", init_paths[i], -err);
    }
    panic("no program for process 1");
}

void proc_start_init(void)
{
    struct proc *p = proc_new();
    struct fsinfo *fs = kmem_cache_alloc(fsinfo_cache);
    struct session *s;
    struct pgrp *pg;
    struct lwp *l;

    if (p != NULL) {
        p->sig = sighand_copy(NULL);
        p->files = fdtable_create();
    }
    if (p == NULL || fs == NULL || p->sig == NULL || p->files == NULL ||
        lwp_new(p, NULL, "init", init_process_main, &l) != 0)
        panic("no memory for process 1");
    fs->refs = 1;
    fs->umask = 022;
    fs->root = fs->cwd = vfs_root;
    mutex_init(&fs->lock, SLEEP_FSINFO);
    vn_hold(vfs_root);
    vn_hold(vfs_root);
    p->fs = fs;
    limits_init(p->rlim);
    p->xcpu_next_s = RLIM_INFINITY;
    p->start_ns = clock_mono_ns();
    l->cred = cred_root();

    spin_lock(&proc_lock);
    p->pid = id_alloc();
    s = session_new(1);
    pg = s != NULL ? pgrp_new(1, s) : NULL;
    if (p->pid != 1 || pg == NULL)
        panic("process 1 cannot be made");
    if (lwp_charge(l, ucount_get(0), l->cred, RLIM_INFINITY) != 0)
        panic("max_nprocs is %u: no room for process 1", max_nprocs);
    ucount_put(l->ucount);
    l->t.tid = 1;
    l->lwpid = p->next_lwpid = 1;
    p->nlwps = 1;
    p->exit_signal = SIGCHLD;
    proc_initial = p;
    s->leader = p;
    list_push_back(&p->lwps, &l->proc_link);
    list_push_back(&proc_all, &p->all_link);
    proc_hash_add(p);
    lwp_hash_add(l);
    pgrp_join(p, pg);
    spin_unlock(&proc_lock);
    if (thread_set_class(&l->t, CLASS_TS, 0, false) != 0) /* every process inherits the class */
        panic("process 1 cannot be time-shared");
    thread_start(&l->t);
}
