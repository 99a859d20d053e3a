// SPDX-License-Identifier: MIT
/*
 * truss.c - records the system calls of a process, or the counters of its LWPs, in a file.
 *
 * THEORY      truss(1) shows which system calls a program makes.  A traced process has an open file in
 *             p->truss, which its children inherit.  For such a process the dispatcher calls truss_call().  This
 *             function saves the arguments and the path, carries out the call, and then writes one line to the
 *             file.  For calls that do not return, the line is written before the call.
 *             The traced process itself writes the line, so it waits if the pipe is full.  If the write
 *             fails, tracing ends; a pipe without a reader does not cause SIGPIPE.  If a signal interrupts
 *             the write, the line is lost.
 *             If p->track is set, the lines describe LWPs instead of calls.  A line is written when an LWP
 *             begins, ends or executes a new program.  It contains the counters of the interconnect model for
 *             the LWP.
 * SEE ALSO    include/uapi/homeroom.h (formats), user/cmd/truss.c, user/cmd/cputrack.c
 */
#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "proc/proc.h"
#include "stat/modelled.h"
#include "sys/path.h"
#include "sys/sys.h"
#include "uapi/homeroom.h"

enum { LINE_MAX = 256 + 4 * TRUSS_PATH_MAX };
enum { SYS_execve = 59, SYS_exit = 60, SYS_exit_group = 231, SYS_execveat = 322 };

struct record {
    uint64_t number, arg[6];
    int path_len; /* -1: the call has no path argument */
    char path[TRUSS_PATH_MAX];
};

/* The index of the argument of a call that is a path; -1: none. */
static int path_argument(uint64_t number)
{
    static const struct {
        uint16_t number;
        uint8_t arg;
    } paths[] = {
#define X(number, arg) {number, arg},
        SYSCALL_PATHS(X)
#undef X
    };

    for (unsigned i = 0; i < array_size(paths); i++)
        if (paths[i].number == number)
            return paths[i].arg;
    return -1;
}

/* Saves the number, arguments and path of the call in `r`.  The path is cut at the first byte that cannot be read. */
static void record_syscall(struct record *rec, const struct regs *r)
{
    int which = path_argument(r->orig_rax);
    char c;

    rec->number = r->orig_rax;
    memcpy(rec->arg, r->arg, sizeof rec->arg);
    rec->path_len = which < 0 ? -1 : 0;
    while (which >= 0 && rec->path_len < TRUSS_PATH_MAX &&
           copy_in(&c, r->arg[which] + (unsigned)rec->path_len, 1) == 0 && c != '\0')
        rec->path[rec->path_len++] = c;
}

/* Appends the path in quotes; returns the new length. */
static size_t append_quoted_path(char *line, size_t n, const struct record *rec)
{
    line[n++] = ' ';
    line[n++] = '"';
    for (int i = 0; i < rec->path_len; i++) {
        unsigned char c = (unsigned char)rec->path[i];

        if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
            n += (size_t)snprintf(line + n, 5, "\\x%02X", c);
        else
            line[n++] = (char)c;
    }
    line[n++] = '"';
    return n;
}

/* Returns the file to which the lines are written, with a reference; NULL: tracing has ended. */
static struct file *hold_truss_file(struct proc *p)
{
    struct file *f;

    mutex_enter(&p->mutex);
    f = p->truss;
    if (f != NULL)
        file_hold(f);
    mutex_exit(&p->mutex);
    return f;
}

/* Makes `f` the file of `p` and takes over the caller's reference to `f`; NULL: ends tracing. */
static void set_truss_file(struct proc *p, struct file *f, bool track)
{
    struct file *old;

    mutex_enter(&p->mutex);
    old = p->truss;
    p->truss = f;
    p->track = track;
    mutex_exit(&p->mutex);
    if (old != NULL)
        file_release(old);
}

/*
 * Writes line[len] to the file of `p`.  Ends tracing if the write fails, except when a signal interrupts the write.
 */
static void write_truss_line(struct proc *p, char *line, size_t len)
{
    struct file *f = hold_truss_file(p);
    struct iovec v;
    struct uio uio;
    long n = 0;

    if (f == NULL)
        return;
    for (size_t done = 0; n >= 0 && done < len; done += (size_t)n) {
        uio_init_kernel(&uio, &v, line + done, len - done, UIO_WRITE);
        uio.no_sigpipe = true;
        n = file_write(f, &uio, -1);
    }
    file_release(f);
    if (n < 0 && n != -EINTR && n != -ERESTARTSYS)
        set_truss_file(p, NULL, false);
}

static void write_call_record(const struct record *rec, const char *result, uint64_t ns)
{
    struct lwp *l = curlwp();
    char line[LINE_MAX];
    size_t n = (size_t)snprintf(line, LINE_MAX, "%d %d %lu %lx %lx %lx %lx %lx %lx %s %lu",
                                l->proc->pid, l->lwpid, rec->number, rec->arg[0], rec->arg[1],
                                rec->arg[2], rec->arg[3], rec->arg[4], rec->arg[5], result, ns);

    if (rec->path_len >= 0)
        n = append_quoted_path(line, n, rec);
    line[n++] = '\n';
    write_truss_line(l->proc, line, n);
}

/*
 * Writes the counters of l, the running LWP.  `event` is a name from the format in include/uapi/homeroom.h.
 */
static void write_lwp_counts(struct lwp *l, const char *event)
{
    struct proc *p = l->proc;
    struct fp_counts used;
    char line[512];
    size_t n;

    spin_lock(&l->t.lock);
    modelled_read(l->t.modelled, &used);
    spin_unlock(&l->t.lock);
    n = (size_t)snprintf(line, sizeof line, "%s %d %d %d %lu", event, p->pid, l->lwpid, p->ppid,
                         clock_mono_ns());
    for (unsigned i = 0; i < sizeof used / sizeof(uint64_t); i++)
        n += (size_t)snprintf(line + n, sizeof line - n, " %lu", ((const uint64_t *)&used)[i]);
    n += (size_t)snprintf(line + n, sizeof line - n, " %s\n", l->t.name);
    write_truss_line(p, line, n);
}

void truss_lwp(struct lwp *l, enum lwp_event what)
{
    static const char *const name[] = {"lwp_create", "lwp_exit", "exit"};

    if (l->proc->track)
        write_lwp_counts(l, name[what]);
}

static long track_call(struct regs *r, long (*handler)(struct regs *))
{
    uint64_t number = r->orig_rax;
    long ret = handler(r);

    if (ret == 0 && (number == SYS_execve || number == SYS_execveat))
        write_lwp_counts(curlwp(), "exec");
    return ret;
}

long truss_call(struct regs *r, long (*handler)(struct regs *))
{
    struct record rec;
    char result[24];
    uint64_t start;
    long ret;

    if (curproc()->track)
        return track_call(r, handler);
    record_syscall(&rec, r);
    if (rec.number == SYS_exit || rec.number == SYS_exit_group) {
        write_call_record(&rec, "-", 0);
        return handler(r);
    }
    start = clock_mono_ns();
    ret = handler(r);
    snprintf(result, sizeof result, "%ld", ret <= -ERESTARTSYS && ret > -4095 ? -EINTR : ret);
    write_call_record(&rec, result, clock_mono_ns() - start);
    return ret;
}

static long set_caller_truss(uint64_t fd, bool track)
{
    struct file *f;

    if ((int)fd == -1) {
        set_truss_file(curproc(), NULL, false);
        return 0;
    }
    f = fd_file(fd);
    if (f == NULL)
        return -EBADF;
    if ((atomic_load(&f->flags) & O_ACCMODE) == O_RDONLY) {
        file_release(f);
        return -EBADF;
    }
    set_truss_file(curproc(), f, track);
    return 0;
}

/* truss(fd): record the caller's system calls in the file of fd; -1: stop. */
long sys_truss(struct regs *r)
{
    return set_caller_truss(r->arg[0], false);
}

/* track(fd): record the counters of the caller's LWPs in the same way; -ENODEV: there is no model. */
long sys_track(struct regs *r)
{
    if (modelled_page == NULL)
        return -ENODEV;
    return set_caller_truss(r->arg[0], true);
}
