// SPDX-License-Identifier: MIT
/*
 * sys_proc.c - system calls that create, replace, end and wait for processes.
 *
 * THEORY      These functions copy arguments to the kernel and results back; kernel/proc/ does the work.
 *             The strings of execve are collected in one buffer, whose size is doubled when it is full.  As on
 *             Linux, its maximum size depends on the stack limit (RLIMIT_STACK).
 * SEE ALSO    proc/proc.h; docs/processes.md
 */
#include "sys/sys.h"

#include "disp/context.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "proc/proc.h"
#include "stat/trace.h"
#include "sys/path.h"
#include "sys/rusage.h"
#include "x86/trap.h"
#include "x86/uaccess.h"

enum { ARG_FIRST = 2048, ARG_MAX = 2 << 20, ARG_STRING_MAX = 128 << 10, ARG_MIN = 128 << 10 };
enum { CSIGNAL = 0xff, CLONE_VM = 0x100, CLONE_VFORK = 0x4000 };

long sys_getpid(struct regs *r)
{
    (void)r;
    return curproc()->pid;
}

long sys_gettid(struct regs *r)
{
    (void)r;
    return (long)curthread->tid;
}

long sys_getppid(struct regs *r)
{
    (void)r;
    return curproc()->ppid;
}

long sys_set_tid_address(struct regs *r)
{
    curlwp()->clear_tid = r->arg[0];
    return (long)curthread->tid;
}

long sys_fork(struct regs *r)
{
    struct clone_args ca = {.exit_signal = SIGCHLD};

    return proc_clone(&ca, r);
}

long sys_vfork(struct regs *r)
{
    struct clone_args ca = {.flags = CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD};

    return proc_clone(&ca, r);
}

long sys_clone(struct regs *r)
{
    struct clone_args ca = {
        .flags = r->arg[0] & 0xffffffff & ~(uint64_t)CSIGNAL,
        .stack = r->arg[1],
        .parent_tid = r->arg[2],
        .child_tid = r->arg[3],
        .tls = r->arg[4],
        .exit_signal = (int)(r->arg[0] & CSIGNAL),
    };

    return proc_clone(&ca, r);
}

long sys_exit(struct regs *r)
{
    lwp_exit((int)(r->arg[0] & 0xff) << 8);
}

long sys_exit_group(struct regs *r)
{
    proc_exit_group((int)(r->arg[0] & 0xff) << 8);
}

/*
 * The strings of execve's arguments and environment, each ended by a NUL.  The sizes are in bytes.
 */
struct arg_buf {
    char *buf;
    size_t size, len, max;
};

/* Doubles the buffer.  0, -E2BIG, -ENOMEM. */
static int grow_arg_buf(struct arg_buf *b)
{
    size_t size = b->size == 0 ? ARG_FIRST : b->size * 2;
    char *n;

    if (b->size >= b->max)
        return -E2BIG;
    n = kmem_alloc(size);
    if (n == NULL)
        return -ENOMEM;
    memcpy(n, b->buf, b->len);
    kmem_free(b->buf);
    b->buf = n;
    b->size = size;
    return 0;
}

/* Appends the string at user address `uaddr`.  0, -E2BIG, -ENOMEM, -EFAULT. */
static int add_arg_string(struct arg_buf *b, uint64_t uaddr)
{
    for (;;) {
        size_t room = b->size - b->len;
        long n = room > 1 ? copy_in_str(b->buf + b->len, uaddr, room) : -ENAMETOOLONG;
        int err;

        if (n >= 0) {
            b->len += (size_t)n + 1;
            return n < ARG_STRING_MAX ? 0 : -E2BIG;
        }
        if (n != -ENAMETOOLONG)
            return (int)n;
        err = grow_arg_buf(b);
        if (err != 0)
            return err;
    }
}

/*
 * Appends the strings of the NULL-terminated pointer array at `uaddr` and stores their number in *count.
 * Reads up to 16 pointers at a time, but never beyond the page of the next pointer, because the following page is
 * perhaps not mapped.
 */
static int add_arg_vector(struct arg_buf *b, uint64_t uaddr, unsigned *count)
{
    uint64_t ptr[16];
    size_t n;
    int err;

    *count = 0;
    if (uaddr == 0)
        return 0;
    for (;; uaddr += n * sizeof ptr[0]) {
        n = min_of(array_size(ptr), (size_t)(PAGE_SIZE - uaddr % PAGE_SIZE) / sizeof ptr[0]);
        n = max_of(n, (size_t)1);
        err = copy_in(ptr, uaddr, n * sizeof ptr[0]);
        if (err != 0)
            return err;
        for (size_t i = 0; i < n; i++) {
            if (ptr[i] == 0)
                return 0;
            if ((*count + 1) * sizeof ptr[0] > b->max)
                return -E2BIG;
            err = add_arg_string(b, ptr[i]);
            if (err != 0)
                return err;
            (*count)++;
        }
    }
}

/* execve with the path in kernel memory.  vn: the program's file, or NULL: look up the path. */
static long do_execve(struct vnode *vn, const char *path, uint64_t argv, uint64_t envp,
                      struct regs *r)
{
    struct arg_buf b = {
        .max = min_of(max_of(limit(RLIMIT_STACK) / 4, (uint64_t)ARG_MIN), (uint64_t)ARG_MAX)};
    struct exec_args ea = {.program = vn};
    int err = grow_arg_buf(&b);

    if (err == 0)
        err = add_arg_vector(&b, argv, &ea.nargs);
    if (err == 0 && ea.nargs == 0) {
        b.buf[b.len++] = '\0'; /* an empty argv[0], because programs expect that argv[0] exists */
        ea.nargs = 1;
    }
    if (err == 0)
        err = add_arg_vector(&b, envp, &ea.nenvs);
    ea.strings = b.buf;
    ea.len = b.len;
    if (err == 0)
        err = proc_exec(path, &ea, r);
    kmem_free(ea.strings);
    return err;
}

long sys_execve(struct regs *r)
{
    char *path = kmem_alloc(PATH_MAX);
    long ret;

    if (path == NULL)
        return -ENOMEM;
    ret = copy_in_str(path, r->arg[0], PATH_MAX);
    if (ret >= 0)
        ret = ret == 0 ? -ENOENT : do_execve(NULL, path, r->arg[1], r->arg[2], r);
    kmem_free(path);
    return ret;
}

/*
 * execveat: executes a path relative to a directory descriptor or, with AT_EMPTY_PATH, an open file, even if its
 * name has been removed.  As on Linux, the interpreter of a script gets a path below /dev/fd.
 */
long sys_execveat(struct regs *r)
{
    int fd = (int)r->arg[0];
    uint64_t flags = r->arg[4];
    char *path;
    struct vnode *vn = NULL;
    long ret, n = 0;

    if (flags & ~(uint64_t)(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
        return -EINVAL;
    path = kmem_alloc(2 * PATH_MAX);
    if (path == NULL)
        return -ENOMEM;
    ret = copy_in_str(path + PATH_MAX, r->arg[1], PATH_MAX);
    if (ret >= 0)
        ret = at_vnode(fd, r->arg[1], flags & AT_EMPTY_PATH, flags & AT_SYMLINK_NOFOLLOW, &vn);
    if (ret == 0 && vn->type == VLNK)
        ret = -ELOOP;
    if (ret == 0) {
        if (path[PATH_MAX] != '/' && fd != AT_FDCWD)
            n = snprintf(path, PATH_MAX, path[PATH_MAX] != '\0' ? "/dev/fd/%d/" : "/dev/fd/%d", fd);
        memmove(path + n, path + PATH_MAX, strlen(path + PATH_MAX) + 1);
        ret = do_execve(vn, path, r->arg[2], r->arg[3], r);
    }
    if (vn != NULL)
        vn_release(vn);
    kmem_free(path);
    return ret;
}

/* ---- waiting ---- */

struct user_rusage {
    int64_t utime_sec, utime_usec, stime_sec, stime_usec;
    int64_t maxrss, ixrss, idrss, isrss, minflt, majflt, nswap, inblock, oublock, msgsnd, msgrcv,
        nsignals;
    int64_t nvcsw, nivcsw;
};

int rusage_copy_out(uint64_t to, const struct rusage_kernel *ru)
{
    struct user_rusage u = {
        .utime_sec = (int64_t)(ru->utime_us / 1000000),
        .utime_usec = (int64_t)(ru->utime_us % 1000000),
        .stime_sec = (int64_t)(ru->stime_us / 1000000),
        .stime_usec = (int64_t)(ru->stime_us % 1000000),
        .maxrss = (int64_t)ru->maxrss_kb,
        .minflt = (int64_t)ru->minflt,
        .majflt = (int64_t)ru->majflt,
        .nvcsw = (int64_t)ru->nvcsw,
        .nivcsw = (int64_t)ru->nivcsw,
    };

    return to == 0 ? 0 : copy_out(to, &u, sizeof u);
}

long sys_wait4(struct regs *r)
{
    struct wait_result res;
    unsigned options = (unsigned)r->arg[2];
    long ret;

    if (options & ~(WNOHANG | WSTOPPED | WCONTINUED | W_NOTHREAD | W_ALL | W_CLONE))
        return -EINVAL;
    if ((int)r->arg[0] == INT32_MIN)
        return -ESRCH;
    ret = proc_wait((int)r->arg[0], options | WEXITED, &res);
    if (ret <= 0)
        return ret;
    if (r->arg[1] != 0 && user_store32(r->arg[1], (uint32_t)res.status) != 0)
        return -EFAULT;
    return rusage_copy_out(r->arg[3], &res.ru) != 0 ? -EFAULT : ret;
}

/* si_status of waitid(2): the exit status, or the signal that ended, stopped or continued the child. */
static int siginfo_status(const struct wait_result *res)
{
    if (res->code == CLD_KILLED || res->code == CLD_DUMPED)
        return res->status & 0x7f;
    return res->code == CLD_CONTINUED ? SIGCONT : res->status >> 8;
}

long sys_waitid(struct regs *r)
{
    enum { P_ALL, P_PID, P_PGID };
    struct wait_result res = {0};
    struct siginfo info = {0};
    unsigned options = (unsigned)r->arg[3];
    int id = (int)r->arg[1], pid;
    long ret;

    if ((options &
         ~(WNOHANG | WNOWAIT | WEXITED | WSTOPPED | WCONTINUED | W_NOTHREAD | W_ALL | W_CLONE)) ||
        !(options & (WEXITED | WSTOPPED | WCONTINUED)))
        return -EINVAL;
    switch ((int)r->arg[0]) {
    case P_ALL:
        pid = -1;
        break;
    case P_PID:
        if (id <= 0)
            return -EINVAL;
        pid = id;
        break;
    case P_PGID:
        if (id < 0 || id == 1)
            return id < 0 ? -EINVAL : -ECHILD;
        pid = -id;
        break;
    default:
        return -EINVAL;
    }
    ret = proc_wait(pid, options, &res);
    if (ret < 0)
        return ret;
    if (ret > 0) {
        info.signo = SIGCHLD;
        info.code = res.code;
        info.child.pid = (int32_t)ret;
        info.child.uid = res.uid;
        info.child.status = siginfo_status(&res);
    }
    if (r->arg[2] != 0 && copy_out(r->arg[2], &info, sizeof info) != 0)
        return -EFAULT;
    return ret > 0 && rusage_copy_out(r->arg[4], &res.ru) != 0 ? -EFAULT : 0;
}

/* ---- threads of the caller ---- */

long sys_arch_prctl(struct regs *r)
{
    enum { ARCH_SET_GS = 0x1001, ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS };
    uint64_t v = r->arg[1];

    switch ((int)r->arg[0]) {
    case ARCH_SET_FS:
    case ARCH_SET_GS:
        if (v >= USER_TOP)
            return -EPERM;
        if (r->arg[0] == ARCH_SET_FS)
            thread_set_fsbase(v);
        else
            thread_set_gsbase(v);
        return 0;
    case ARCH_GET_FS:
        return copy_out(v, &curthread->fsbase, sizeof v);
    case ARCH_GET_GS:
        return copy_out(v, &curthread->gsbase, sizeof v);
    default:
        return -EINVAL;
    }
}

long sys_prctl(struct regs *r)
{
    enum {
        PR_SET_PDEATHSIG = 1,
        PR_GET_PDEATHSIG = 2,
        PR_GET_DUMPABLE = 3,
        PR_SET_DUMPABLE = 4,
        PR_GET_KEEPCAPS = 7,
        PR_SET_KEEPCAPS = 8,
        PR_SET_NAME = 15,
        PR_GET_NAME = 16,
        PR_SET_NO_NEW_PRIVS = 38,
        PR_GET_NO_NEW_PRIVS = 39,
    };
    struct proc *p = curproc();
    char name[sizeof curthread->name];
    int sig = p->death_sig;
    long n;

    switch ((int)r->arg[0]) {
    case PR_SET_PDEATHSIG:
        if (r->arg[1] > NSIG)
            return -EINVAL;
        proc_set_death_signal((int)r->arg[1]);
        return 0;
    case PR_GET_PDEATHSIG:
        return copy_out(r->arg[1], &sig, sizeof sig);
    case PR_SET_NAME:
        memset(name, 0, sizeof name);
        n = copy_in_str(name, r->arg[1], sizeof name);
        if (n < 0 && n != -ENAMETOOLONG)
            return n;
        name[sizeof name - 1] = '\0';
        memcpy(curthread->name, name, sizeof name);
        TRACE(NAME, 0, trace_name(name), trace_name_rest(name));
        return 0;
    case PR_GET_NAME:
        memset(name, 0, sizeof name);
        str_copy(name, curthread->name, sizeof name);
        return copy_out(r->arg[1], name, sizeof name);
    case PR_GET_DUMPABLE:
        return p->dumpable;
    case PR_SET_DUMPABLE:
        if (r->arg[1] > 1)
            return -EINVAL;
        p->dumpable = r->arg[1] != 0;
        return 0;
    case PR_GET_KEEPCAPS:
        return curlwp()->keep_caps;
    case PR_SET_KEEPCAPS:
        if (r->arg[1] > 1)
            return -EINVAL;
        curlwp()->keep_caps = r->arg[1] != 0;
        return 0;
    case PR_SET_NO_NEW_PRIVS:
        if (r->arg[1] != 1 || r->arg[2] != 0 || r->arg[3] != 0 || r->arg[4] != 0)
            return -EINVAL;
        p->no_new_privs = true;
        return 0;
    case PR_GET_NO_NEW_PRIVS:
        return p->no_new_privs;
    default:
        return -EINVAL;
    }
}

/* personality(persona): there is only Linux's own, 0, and no flags: addresses are always random. */
long sys_personality(struct regs *r)
{
    uint32_t persona = (uint32_t)r->arg[0];

    return persona == 0 || persona == UINT32_MAX ? 0 : -EINVAL; /* UINT32_MAX: only asks */
}

long sys_set_robust_list(struct regs *r)
{
    if (r->arg[1] != 24)
        return -EINVAL;
    curlwp()->robust_list = r->arg[0];
    return 0;
}

long sys_get_robust_list(struct regs *r)
{
    uint64_t head = 0, size = 24;
    struct lwp *l;
    int err = 0;

    spin_lock(&proc_lock);
    l = r->arg[0] == 0 ? curlwp() : lwp_find((int)r->arg[0]);
    if (l == NULL)
        err = -ESRCH;
    else if (l->proc != curproc() && !cred_superuser(curcred()))
        err = -EPERM;
    else
        head = l->robust_list;
    spin_unlock(&proc_lock);
    if (err == 0 && (copy_out(r->arg[1], &head, sizeof head) != 0 ||
                     copy_out(r->arg[2], &size, sizeof size) != 0))
        err = -EFAULT;
    return err;
}
