// SPDX-License-Identifier: MIT
/*
 * procfs.c - /proc: the tree, and the links in it.
 *
 * THEORY      /proc is a file system without a disk: its files show the state of processes and of the kernel
 *             as text.  It has one directory per process, named by the process id.  Directories and files are
 *             made when a program looks them up (vfs/pseudo.h).
 *             A vnode of procfs stores only the pid of its process, and each operation searches for this pid.
 *             If the process no longer exists, the result is -ESRCH, or -ENOENT of a look-up in one of its
 *             directories.  If a new process has the same pid, the file shows the new process.
 *             A thread has a reference to the process (proc_hold) while it makes a file's text.  It holds
 *             proc_lock only during the search and while it reads fields that proc_lock guards, never while
 *             it makes or copies text.
 *             Files belong to the effective user of the process.  Files that could reveal secrets (memory,
 *             descriptors, the program) are open only to that user and to root.  The links exe, cwd, root and
 *             fd/N lead to the file itself, even if its name has changed.
 * LOCKING     proc_lock, and no lock inside it.  p->mutex guards the shared parts (descriptors, directories).
 * SEE ALSO    procfs_pid.c, procfs_mem.c, procfs_system.c; docs/devices.md; proc(5); tests/test_procfs.py
 */
#include "procfs/procfs.h"
#include "vfs/filepriv.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"

struct proc *procfs_hold(uint64_t pid)
{
    struct proc *p;

    spin_lock(&proc_lock);
    p = proc_find((int)pid);
    if (p != NULL)
        proc_hold(p);
    spin_unlock(&proc_lock);
    return p;
}

struct as *procfs_as(uint64_t pid, bool *gone)
{
    struct proc *p = procfs_hold(pid);
    struct as *as;

    *gone = p == NULL;
    if (p == NULL)
        return NULL;
    as = proc_as_hold(p);
    proc_release(p);
    return as;
}

bool proc_may_inspect(struct proc *p)
{
    const struct cred *cr = curcred();

    return p == curproc() || cred_superuser(cr) || (p->dumpable && cr->fsuid == proc_uid(p));
}

int procfs_check_inspect(uint64_t pid)
{
    struct proc *p;
    int err;

    spin_lock(&proc_lock);
    p = proc_find((int)pid);
    if (p == NULL)
        err = -ESRCH;
    else
        err = proc_may_inspect(p) ? 0 : -EACCES;
    spin_unlock(&proc_lock);
    return err;
}

int procfs_path(struct vnode *vn, char *buf, size_t size)
{
    struct fs_ctx ctx = {.root = vfs_root, .cwd = vfs_root, .cred = curcred()};

    return name_of(&ctx, vn, buf, size);
}

static void process_owner(const struct pseudo_node *n, struct pseudo_arg arg, uint32_t *uid,
                          uint32_t *gid)
{
    struct proc *p;

    spin_lock(&proc_lock);
    p = proc_find((int)arg.a);
    if (p != NULL) {
        *uid = proc_uid(p);
        *gid = p->state == PROC_LIVE && !list_empty(&p->lwps)
                   ? list_first(&p->lwps, struct lwp, proc_link)->cred->egid
                   : 0;
    }
    spin_unlock(&proc_lock);
}

/* ---- links -------------------------------------------------------------------------------------------- */

/* Stores the vnode to which the link exe, cwd or root leads, with a reference.  0, -ESRCH, -EACCES, -ENOENT. */
static int follow_process_link(const struct pseudo_node *n, struct pseudo_arg arg,
                               struct vnode **out)
{
    int err = procfs_check_inspect(arg.a);
    struct proc *p;

    if (err != 0)
        return err;
    p = procfs_hold(arg.a);
    if (p == NULL)
        return -ESRCH;
    *out = NULL;
    mutex_enter(&p->mutex);
    if (n->tag == TAG_EXE) {
        *out = p->exe;
    } else if (p->fs != NULL) {
        mutex_enter(&p->fs->lock);
        *out = n->tag == TAG_CWD ? p->fs->cwd : p->fs->root;
        vn_hold(*out);
        mutex_exit(&p->fs->lock);
    }
    if (n->tag == TAG_EXE && *out != NULL)
        vn_hold(*out);
    mutex_exit(&p->mutex);
    proc_release(p);
    return *out != NULL ? 0 : -ENOENT;
}

static int read_process_link(const struct pseudo_node *n, struct pseudo_arg arg, char *buf,
                             size_t size)
{
    struct vnode *vn;
    int r = n->follow(n, arg, &vn);

    if (r != 0)
        return r;
    r = procfs_path(vn, buf, size);
    vn_release(vn);
    return r == -ENOENT ? (int)min_of(str_copy(buf, "/ (deleted)", size), size) : r;
}

/* Stores the file of descriptor arg.b of process arg.a in *out, with a reference.  0, -ESRCH, -EACCES, -ENOENT. */
static int hold_process_file(struct pseudo_arg arg, struct file **out)
{
    int err = procfs_check_inspect(arg.a);
    struct proc *p;

    if (err != 0)
        return err;
    p = procfs_hold(arg.a);
    if (p == NULL)
        return -ESRCH;
    mutex_enter(&p->mutex);
    *out = p->files != NULL ? fd_get(p->files, (int)arg.b) : NULL;
    mutex_exit(&p->mutex);
    proc_release(p);
    return *out != NULL ? 0 : -ENOENT;
}

/*
 * Stores the vnode of descriptor arg.b in *out, with a reference.  0; -ENOMEM; or an error of hold_process_file().
 */
static int follow_fd_link(const struct pseudo_node *n, struct pseudo_arg arg, struct vnode **out)
{
    struct file *f;
    int err = hold_process_file(arg, &f);

    if (err != 0)
        return err;
    *out = file_vnode(f);
    file_release(f);
    return *out != NULL ? 0 : -ENOMEM;
}

static int read_fd_link(const struct pseudo_node *n, struct pseudo_arg arg, char *buf, size_t size)
{
    struct file *f;
    int r = hold_process_file(arg, &f);
    const char *kind;
    char name[40];

    if (r != 0)
        return r;
    if (f->vn != NULL) {
        file_release(f);
        return read_process_link(n, arg, buf, size);
    }
    kind = f->ops->kind != NULL ? f->ops->kind : "pipe";
    if (strchr(kind, ':') != NULL)
        str_copy(name, kind, sizeof name);
    else
        snprintf(name, sizeof name, "%s:[%lu]", kind, file_ino(f));
    file_release(f);
    return (int)min_of(str_copy(buf, name, size), size);
}

static const struct pseudo_node fd_entry = {
    .type = VLNK, .mode = 0700, .link = read_fd_link, .follow = follow_fd_link};

static int descriptor_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                           struct pseudo_entry *e)
{
    struct proc *p = procfs_hold(arg.a);
    int fd = -1;

    if (p == NULL)
        return -ENOENT;
    if (procfs_check_inspect(arg.a) == 0) {
        mutex_enter(&p->mutex); /* keeps the table, whose last reference must not be dropped here */
        if (p->files != NULL)
            fd = fd_next(p->files, (int)from);
        mutex_exit(&p->mutex);
    }
    proc_release(p);
    if (fd < 0)
        return -ENOENT;
    *e =
        (struct pseudo_entry){.key = (uint64_t)fd, .node = &fd_entry, .arg = {arg.a, (uint64_t)fd}};
    snprintf(e->name, sizeof e->name, "%d", fd);
    return 0;
}

int procfs_self_link(const struct pseudo_node *n, struct pseudo_arg arg, char *buf, size_t size)
{
    char name[48];

    if (n->tag == TAG_WHOLE)
        snprintf(name, sizeof name, "%d", curproc()->pid);
    else
        snprintf(name, sizeof name, "%d/task/%d", curproc()->pid, curthread->tid);
    return (int)min_of(str_copy(buf, name, size), size);
}

/* ---- the tree ----------------------------------------------------------------------------------------- */

/*
 * The open function of files that need procfs_check_inspect().  Each read makes this check again.
 */
static int open_if_inspectable(const struct pseudo_node *n, struct pseudo_arg arg)
{
    return procfs_check_inspect(arg.a);
}

static const struct pseudo_node task_files[] = {
    {.name = "maps",
     .type = VREG,
     .mode = 0444,
     .show = procfs_show_maps,
     .open = open_if_inspectable},
    {.name = "stat", .type = VREG, .mode = 0444, .tag = TAG_THREAD, .show = procfs_show_stat},
    {.name = "status", .type = VREG, .mode = 0444, .tag = TAG_THREAD, .show = procfs_show_status},
    {.name = "comm",
     .type = VREG,
     .mode = 0644,
     .tag = TAG_THREAD,
     .show = procfs_show_comm,
     .store = procfs_store_comm},
    {.name = "statm", .type = VREG, .mode = 0444, .show = procfs_show_statm},
    {.name = "io",
     .type = VREG,
     .mode = 0400,
     .tag = TAG_THREAD,
     .show = procfs_show_io,
     .open = open_if_inspectable},
    {.name = "cmdline",
     .type = VREG,
     .mode = 0444,
     .tag = TAG_CMDLINE,
     .show = procfs_show_strings},
    {.name = "mem", .type = VREG, .mode = 0600, .open_file = procfs_open_mem},
    {.name = NULL},
};

static const struct pseudo_node task_dir = {
    .type = VDIR,
    .mode = 0555,
    .tag = TAG_THREAD,
    .children = task_files,
    .exists = procfs_exists,
    .owner = process_owner,
};

/*
 * The LWP of p with the lowest tid >= `from`, or NULL.  The caller holds proc_lock.
 *
 * Threads that were made one after the other have adjacent ids.  So a few ids are tried first, at most as many as p has
 * threads; then all threads are looked at.
 */
static struct lwp *next_lwp(struct proc *p, uint64_t from)
{
    struct lwp *l, *best = NULL;

    for (uint64_t i = 0; i < p->nlwps; i++) {
        l = lwp_find((int)(from + i));
        if (l != NULL && l->proc == p && (uint64_t)l->t.tid == from + i)
            return l;
    }
    LIST_FOREACH (l, &p->lwps, proc_link)
        if ((uint64_t)l->t.tid >= from && (best == NULL || l->t.tid < best->t.tid))
            best = l;
    return best;
}

static int task_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                     struct pseudo_entry *e)
{
    struct proc *p;
    struct lwp *l;
    uint64_t tid = 0;

    spin_lock(&proc_lock);
    p = proc_find((int)arg.a);
    l = p != NULL ? next_lwp(p, from) : NULL;
    if (l != NULL)
        tid = (uint64_t)l->t.tid;
    spin_unlock(&proc_lock);
    if (tid == 0)
        return -ENOENT;
    *e = (struct pseudo_entry){.key = tid, .node = &task_dir, .arg = {arg.a, tid}};
    snprintf(e->name, sizeof e->name, "%lu", tid);
    return 0;
}

static const struct pseudo_node pid_files[] = {
    {.name = "stat", .type = VREG, .mode = 0444, .tag = TAG_WHOLE, .show = procfs_show_stat},
    {.name = "statm", .type = VREG, .mode = 0444, .show = procfs_show_statm},
    {.name = "status", .type = VREG, .mode = 0444, .tag = TAG_WHOLE, .show = procfs_show_status},
    {.name = "cmdline",
     .type = VREG,
     .mode = 0444,
     .tag = TAG_CMDLINE,
     .show = procfs_show_strings},
    {.name = "comm",
     .type = VREG,
     .mode = 0644,
     .tag = TAG_WHOLE,
     .show = procfs_show_comm,
     .store = procfs_store_comm},
    {.name = "environ",
     .type = VREG,
     .mode = 0400,
     .tag = TAG_ENVIRON,
     .show = procfs_show_strings,
     .open = open_if_inspectable},
    {.name = "auxv",
     .type = VREG,
     .mode = 0400,
     .tag = TAG_AUXV,
     .show = procfs_show_strings,
     .open = open_if_inspectable},
    {.name = "mem", .type = VREG, .mode = 0600, .open_file = procfs_open_mem},
    {.name = "maps",
     .type = VREG,
     .mode = 0444,
     .show = procfs_show_maps,
     .open = open_if_inspectable},
    {.name = "lgrpmap",
     .type = VREG,
     .mode = 0444,
     .show = procfs_show_lgrpmap,
     .open = open_if_inspectable},
    {.name = "heat",
     .type = VREG,
     .mode = 0444,
     .show = procfs_show_heat,
     .open = open_if_inspectable},
    {.name = "numa_maps",
     .type = VREG,
     .mode = 0444,
     .show = procfs_show_numa_maps,
     .open = open_if_inspectable},
    {.name = "limits", .type = VREG, .mode = 0444, .show = procfs_show_limits},
    {.name = "io",
     .type = VREG,
     .mode = 0400,
     .tag = TAG_WHOLE,
     .show = procfs_show_io,
     .open = open_if_inspectable},
    {.name = "mounts", .type = VREG, .mode = 0444, .show = procfs_show_mounts},
    {.name = "mountinfo", .type = VREG, .mode = 0444, .show = procfs_show_mountinfo},
    {.name = "exe",
     .type = VLNK,
     .mode = 0777,
     .tag = TAG_EXE,
     .link = read_process_link,
     .follow = follow_process_link},
    {.name = "cwd",
     .type = VLNK,
     .mode = 0777,
     .tag = TAG_CWD,
     .link = read_process_link,
     .follow = follow_process_link},
    {.name = "root",
     .type = VLNK,
     .mode = 0777,
     .tag = TAG_ROOT,
     .link = read_process_link,
     .follow = follow_process_link},
    {.name = "fd",
     .type = VDIR,
     .mode = 0500,
     .exists = procfs_exists,
     .prefix = "",
     .next = descriptor_next},
    {.name = "task",
     .type = VDIR,
     .mode = 0555,
     .exists = procfs_exists,
     .prefix = "",
     .next = task_next},
    {.name = NULL},
};

static const struct pseudo_node pid_dir = {
    .type = VDIR,
    .mode = 0555,
    .children = pid_files,
    .exists = procfs_exists,
    .owner = process_owner,
};

static int process_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                        struct pseudo_entry *e)
{
    int pid = proc_next((int)max_of(from, (uint64_t)1));

    if (pid <= 0)
        return -ENOENT;
    *e = (struct pseudo_entry){.key = (uint64_t)pid, .node = &pid_dir, .arg = {(uint64_t)pid, 0}};
    snprintf(e->name, sizeof e->name, "%d", pid);
    return 0;
}

static const struct pseudo_node root = {
    .type = VDIR,
    .mode = 0555,
    .children = procfs_system_files,
    .prefix = "",
    .next = process_next,
};

static int mount_procfs(const char *source, const char *options, unsigned flags, struct vfs **out)
{
    return pseudo_mount("proc", source, 0x9fa0, &root, out);
}

void procfs_init(void)
{
    static struct vfs_type type = {.name = "proc", .mount = mount_procfs};

    vfs_register_type(&type);
}
