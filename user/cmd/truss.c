// SPDX-License-Identifier: MIT
/*
 * truss.c - runs a command and prints each system call that it makes.
 *
 * THEORY      The kernel writes one line of numbers for each call into a pipe (SYS_truss, include/uapi/homeroom.h).
 *             This program translates the numbers into names.  The child turns tracing on and calls exec.  The pipe
 *             ends with the last traced process.  The meaning of a call's arguments is a string of letters in call[]: d
 *             number, x hexadecimal, o octal, p path (which the kernel sends), f open flags, s signal.
 * SEE ALSO    docs/userland.md; Solaris truss(1)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

struct call {
    const char *name;
    const char *args;
};

#define CALL(name, args) [SYS_##name] = {#name, args}

static const struct call call[] = {
    CALL(read, "dxd"),
    CALL(write, "dxd"),
    CALL(open, "pfo"),
    CALL(close, "d"),
    CALL(stat, "px"),
    CALL(fstat, "dx"),
    CALL(lstat, "px"),
    CALL(poll, "xdd"),
    CALL(lseek, "ddd"),
    CALL(mmap, "xdxxdx"),
    CALL(mprotect, "xdx"),
    CALL(munmap, "xd"),
    CALL(brk, "x"),
    CALL(rt_sigaction, "sxxd"),
    CALL(rt_sigprocmask, "dxxd"),
    CALL(rt_sigreturn, ""),
    CALL(ioctl, "dxx"),
    CALL(pread64, "dxdd"),
    CALL(pwrite64, "dxdd"),
    CALL(readv, "dxd"),
    CALL(writev, "dxd"),
    CALL(access, "pd"),
    CALL(pipe, "x"),
    CALL(select, "dxxxx"),
    CALL(sched_yield, ""),
    CALL(mremap, "xddxx"),
    CALL(msync, "xdx"),
    CALL(mincore, "xdx"),
    CALL(madvise, "xdx"),
    CALL(shmget, "xdx"),
    CALL(shmat, "dxx"),
    CALL(shmctl, "ddx"),
    CALL(dup, "d"),
    CALL(dup2, "dd"),
    CALL(pause, ""),
    CALL(nanosleep, "xx"),
    CALL(getitimer, "dx"),
    CALL(alarm, "d"),
    CALL(setitimer, "dxx"),
    CALL(getpid, ""),
    CALL(sendfile, "ddxd"),
    CALL(socket, "ddd"),
    CALL(connect, "dxd"),
    CALL(accept, "dxx"),
    CALL(sendto, "dxdxxd"),
    CALL(recvfrom, "dxdxxx"),
    CALL(sendmsg, "dxx"),
    CALL(recvmsg, "dxx"),
    CALL(shutdown, "dd"),
    CALL(bind, "dxd"),
    CALL(listen, "dd"),
    CALL(getsockname, "dxx"),
    CALL(getpeername, "dxx"),
    CALL(socketpair, "dddx"),
    CALL(setsockopt, "dddxd"),
    CALL(getsockopt, "dddxx"),
    CALL(clone, "xxxxx"),
    CALL(fork, ""),
    CALL(vfork, ""),
    CALL(execve, "pxx"),
    CALL(exit, "d"),
    CALL(wait4, "dxxx"),
    CALL(kill, "ds"),
    CALL(uname, "x"),
    CALL(semget, "xdx"),
    CALL(semop, "dxd"),
    CALL(semctl, "dddx"),
    CALL(shmdt, "x"),
    CALL(fcntl, "ddx"),
    CALL(flock, "dx"),
    CALL(fsync, "d"),
    CALL(fdatasync, "d"),
    CALL(truncate, "pd"),
    CALL(ftruncate, "dd"),
    CALL(getcwd, "xd"),
    CALL(chdir, "p"),
    CALL(fchdir, "d"),
    CALL(rename, "px"),
    CALL(mkdir, "po"),
    CALL(rmdir, "p"),
    CALL(creat, "po"),
    CALL(link, "px"),
    CALL(unlink, "p"),
    CALL(symlink, "px"),
    CALL(readlink, "pxd"),
    CALL(chmod, "po"),
    CALL(fchmod, "do"),
    CALL(chown, "pdd"),
    CALL(fchown, "ddd"),
    CALL(lchown, "pdd"),
    CALL(umask, "o"),
    CALL(gettimeofday, "xx"),
    CALL(getrlimit, "dx"),
    CALL(getrusage, "dx"),
    CALL(sysinfo, "x"),
    CALL(times, "x"),
    CALL(ptrace, "ddxx"),
    CALL(getuid, ""),
    CALL(syslog, "dxd"),
    CALL(getgid, ""),
    CALL(setuid, "d"),
    CALL(setgid, "d"),
    CALL(geteuid, ""),
    CALL(getegid, ""),
    CALL(setpgid, "dd"),
    CALL(getppid, ""),
    CALL(getpgrp, ""),
    CALL(setsid, ""),
    CALL(setreuid, "dd"),
    CALL(setregid, "dd"),
    CALL(getgroups, "dx"),
    CALL(setgroups, "dx"),
    CALL(setresuid, "ddd"),
    CALL(getresuid, "xxx"),
    CALL(setresgid, "ddd"),
    CALL(getresgid, "xxx"),
    CALL(getpgid, "d"),
    CALL(setfsuid, "d"),
    CALL(setfsgid, "d"),
    CALL(getsid, "d"),
    CALL(rt_sigpending, "xd"),
    CALL(rt_sigtimedwait, "xxxd"),
    CALL(rt_sigqueueinfo, "dsx"),
    CALL(rt_sigsuspend, "xd"),
    CALL(sigaltstack, "xx"),
    CALL(utime, "px"),
    CALL(mknod, "pox"),
    CALL(personality, "x"),
    CALL(statfs, "px"),
    CALL(fstatfs, "dx"),
    CALL(getpriority, "dd"),
    CALL(setpriority, "ddd"),
    CALL(sched_setparam, "dx"),
    CALL(sched_getparam, "dx"),
    CALL(sched_setscheduler, "ddx"),
    CALL(sched_getscheduler, "d"),
    CALL(sched_get_priority_max, "d"),
    CALL(sched_get_priority_min, "d"),
    CALL(sched_rr_get_interval, "dx"),
    CALL(mlock, "xd"),
    CALL(munlock, "xd"),
    CALL(mlockall, "x"),
    CALL(munlockall, ""),
    CALL(prctl, "dxxxx"),
    CALL(arch_prctl, "xx"),
    CALL(setrlimit, "dx"),
    CALL(chroot, "p"),
    CALL(sync, ""),
    CALL(settimeofday, "xx"),
    CALL(mount, "xpxxx"),
    CALL(umount2, "pd"),
    CALL(swapon, "px"),
    CALL(swapoff, "p"),
    CALL(reboot, "xxxx"),
    CALL(sethostname, "xd"),
    CALL(setdomainname, "xd"),
    CALL(gettid, ""),
    CALL(setxattr, "pxxdx"),
    CALL(lsetxattr, "pxxdx"),
    CALL(fsetxattr, "dxxdx"),
    CALL(getxattr, "pxxd"),
    CALL(lgetxattr, "pxxd"),
    CALL(fgetxattr, "dxxd"),
    CALL(listxattr, "pxd"),
    CALL(llistxattr, "pxd"),
    CALL(flistxattr, "dxd"),
    CALL(removexattr, "px"),
    CALL(lremovexattr, "px"),
    CALL(fremovexattr, "dx"),
    CALL(tkill, "ds"),
    CALL(time, "x"),
    CALL(futex, "xdddxx"),
    CALL(sched_setaffinity, "ddx"),
    CALL(sched_getaffinity, "ddx"),
    CALL(epoll_create, "d"),
    CALL(getdents64, "dxd"),
    CALL(set_tid_address, "x"),
    CALL(restart_syscall, ""),
    CALL(semtimedop, "dxdx"),
    CALL(fadvise64, "dddd"),
    CALL(timer_create, "dxx"),
    CALL(timer_settime, "dxxx"),
    CALL(timer_gettime, "dx"),
    CALL(timer_getoverrun, "d"),
    CALL(timer_delete, "d"),
    CALL(clock_settime, "dx"),
    CALL(clock_gettime, "dx"),
    CALL(clock_getres, "dx"),
    CALL(clock_nanosleep, "ddxx"),
    CALL(exit_group, "d"),
    CALL(epoll_wait, "dxdd"),
    CALL(epoll_ctl, "dddx"),
    CALL(tgkill, "dds"),
    CALL(utimes, "px"),
    CALL(mbind, "xddxdx"),
    CALL(set_mempolicy, "dxd"),
    CALL(get_mempolicy, "xxdxx"),
    CALL(waitid, "ddxxx"),
    CALL(ioprio_set, "ddx"),
    CALL(ioprio_get, "dd"),
    CALL(migrate_pages, "ddxx"),
    CALL(openat, "dpfo"),
    CALL(mkdirat, "dpo"),
    CALL(mknodat, "dpox"),
    CALL(fchownat, "dpddx"),
    CALL(futimesat, "dpx"),
    CALL(newfstatat, "dpxx"),
    CALL(unlinkat, "dpx"),
    CALL(renameat, "dpdx"),
    CALL(linkat, "dpdxx"),
    CALL(symlinkat, "pdx"),
    CALL(readlinkat, "dpxd"),
    CALL(fchmodat, "dpo"),
    CALL(faccessat, "dpd"),
    CALL(pselect6, "dxxxxx"),
    CALL(ppoll, "xdxxd"),
    CALL(set_robust_list, "xd"),
    CALL(get_robust_list, "dxx"),
    CALL(sync_file_range, "dddx"),
    CALL(move_pages, "ddxxxx"),
    CALL(utimensat, "dpxx"),
    CALL(epoll_pwait, "dxddxd"),
    CALL(signalfd, "dxd"),
    CALL(timerfd_create, "dx"),
    CALL(eventfd, "d"),
    CALL(fallocate, "dxdd"),
    CALL(timerfd_settime, "dxxx"),
    CALL(timerfd_gettime, "dx"),
    CALL(accept4, "dxxx"),
    CALL(signalfd4, "dxdx"),
    CALL(eventfd2, "dx"),
    CALL(epoll_create1, "x"),
    CALL(dup3, "ddx"),
    CALL(pipe2, "xx"),
    CALL(preadv, "dxddd"),
    CALL(pwritev, "dxddd"),
    CALL(rt_tgsigqueueinfo, "ddsx"),
    CALL(recvmmsg, "dxdxx"),
    CALL(prlimit64, "ddxx"),
    CALL(syncfs, "d"),
    CALL(sendmmsg, "dxdx"),
    CALL(getcpu, "xxx"),
    CALL(renameat2, "dpdxx"),
    CALL(getrandom, "xdx"),
    CALL(memfd_create, "xx"),
    CALL(execveat, "dpxxx"),
    CALL(copy_file_range, "dxdxdx"),
    CALL(preadv2, "dxdddx"),
    CALL(pwritev2, "dxdddx"),
    CALL(statx, "dpxxx"),
    CALL(rseq, "xdxx"),
    CALL(clone3, "xd"),
    CALL(close_range, "ddx"),
    CALL(faccessat2, "dpdx"),
    [450] = {"set_mempolicy_home_node", "xddx"}, /* musl has no name for it */
    CALL(meminfo, "xdxdxx"),
    CALL(gethomelgroup, ""),
    CALL(getcpuid, ""),
    CALL(p_online, "dd"),
    CALL(processor_info, "dx"),
    CALL(processor_bind, "dddx"),
    CALL(pset_create, "x"),
    CALL(pset_destroy, "d"),
    CALL(pset_assign, "ddxd"),
    CALL(pset_bind, "dddxd"),
    CALL(pset_info, "dxxx"),
    CALL(pset_list, "xx"),
    CALL(pset_setattr, "dx"),
    CALL(pset_getloadavg, "dxd"),
    CALL(pset_getattr, "dx"),
    CALL(lgrp, "ddddd"),
    CALL(memcntl, "xddxxx"),
    CALL(tunable, "dxx"),
    CALL(priocntl, "dddx"),
    CALL(truss, "d"),
    CALL(track, "d"),
};
#define NCALLS ((long)(sizeof call / sizeof call[0]))

/* musl prints errors as sentences; a trace needs the names. */
static const char *const error_name[] = {
    [EPERM] = "EPERM",
    [ENOENT] = "ENOENT",
    [ESRCH] = "ESRCH",
    [EINTR] = "EINTR",
    [EIO] = "EIO",
    [ENXIO] = "ENXIO",
    [E2BIG] = "E2BIG",
    [ENOEXEC] = "ENOEXEC",
    [EBADF] = "EBADF",
    [ECHILD] = "ECHILD",
    [EAGAIN] = "EAGAIN",
    [ENOMEM] = "ENOMEM",
    [EACCES] = "EACCES",
    [EFAULT] = "EFAULT",
    [EBUSY] = "EBUSY",
    [EEXIST] = "EEXIST",
    [EXDEV] = "EXDEV",
    [ENODEV] = "ENODEV",
    [ENOTDIR] = "ENOTDIR",
    [EISDIR] = "EISDIR",
    [EINVAL] = "EINVAL",
    [ENFILE] = "ENFILE",
    [EMFILE] = "EMFILE",
    [ENOTTY] = "ENOTTY",
    [EFBIG] = "EFBIG",
    [ENOSPC] = "ENOSPC",
    [ESPIPE] = "ESPIPE",
    [EROFS] = "EROFS",
    [EMLINK] = "EMLINK",
    [EPIPE] = "EPIPE",
    [EDOM] = "EDOM",
    [ERANGE] = "ERANGE",
    [ELOOP] = "ELOOP",
    [ENOSYS] = "ENOSYS",
    [ETIMEDOUT] = "ETIMEDOUT",
    [ENOTSUP] = "ENOTSUP",
    [ENAMETOOLONG] = "ENAMETOOLONG",
    [ENOTEMPTY] = "ENOTEMPTY",
    [EOVERFLOW] = "EOVERFLOW",
    [EDEADLK] = "EDEADLK",
};

/* A line from the kernel. */
struct event {
    int pid, lwp;
    long number;
    uint64_t arg[6];
    bool returns;
    long result;
    uint64_t ns;
    char path[4 * TRUSS_PATH_MAX + 4]; /* with its quotes, or "" */
};

/* -c: sums for each call; calls without a name share the last row. */
static struct {
    uint64_t ns;
    long calls, errors;
} sum[NCALLS + 1];

static bool count_only, follow;
static FILE *out;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    truss - run a command and print its system calls\n"
    "\n"
    "SYNOPSIS\n"
    "    truss [-cf] [-o file] command [argument ...]\n"
    "\n"
    "DESCRIPTION\n"
    "    A line for each system call has its name, its arguments, and its result\n"
    "    or its error.\n"
    "\n"
    "OPTIONS\n"
    "    -c            count calls, errors and time instead\n"
    "    -f            follow child processes\n"
    "    -o file       write to a file, not to standard error\n"
    "\n"
    "EXAMPLES\n"
    "    truss -f sh -c 'ls | wc'\n"
    "\n"
    "EXIT STATUS\n"
    "    that of the command, 128 + signal; 1 no file, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    trace, docs/syscalls.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static int parse(const char *line, struct event *e)
{
    char result[24];
    int at = 0;

    if (sscanf(line,
               "%d %d %ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
               " %23s %" SCNu64 " %n",
               &e->pid, &e->lwp, &e->number, &e->arg[0], &e->arg[1], &e->arg[2], &e->arg[3],
               &e->arg[4], &e->arg[5], result, &e->ns, &at) < 11)
        return -1;
    e->returns = strcmp(result, "-") != 0;
    e->result = strtol(result, NULL, 10);
    snprintf(e->path, sizeof e->path, "%.*s", (int)strcspn(line + at, "\n"), line + at);
    return 0;
}

static const char *name_of(long number, char *buf, size_t size)
{
    if (number >= 0 && number < NCALLS && call[number].name != NULL)
        return call[number].name;
    snprintf(buf, size, "syscall_%ld", number);
    return buf;
}

static bool failed(const struct event *e)
{
    return e->returns && e->result < 0 && e->result > -4096;
}

static size_t print_flags(char *buf, size_t size, uint64_t flags)
{
    static const struct {
        unsigned bits;
        const char *name;
    } flag[] = {{O_CREAT, "O_CREAT"},    {O_EXCL, "O_EXCL"},         {O_TRUNC, "O_TRUNC"},
                {O_APPEND, "O_APPEND"},  {O_NONBLOCK, "O_NONBLOCK"}, {O_DIRECTORY, "O_DIRECTORY"},
                {O_CLOEXEC, "O_CLOEXEC"}};
    static const char *const mode[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};
    size_t n = (size_t)snprintf(buf, size, "%s", mode[flags & O_ACCMODE]);

    for (size_t i = 0; i < sizeof flag / sizeof flag[0]; i++)
        if (flags & flag[i].bits)
            n += (size_t)snprintf(buf + n, size - n, "|%s", flag[i].name);
    return n;
}

static size_t print_argument(char *buf, size_t size, char kind, const struct event *e, int i)
{
    int64_t value = (int64_t)e->arg[i];

    if (kind == 'p' && e->path[0] != '\0')
        return (size_t)snprintf(buf, size, "%s", e->path);
    if (kind == 'f')
        return print_flags(buf, size, e->arg[i]);
    if (kind == 'o')
        return (size_t)snprintf(buf, size, "%#" PRIo64, e->arg[i]);
    if (kind == 'x' || kind == 'p')
        return (size_t)snprintf(buf, size, "%#" PRIX64, e->arg[i]);
    if (value >> 32 == 0)
        value = (int)value; /* an int argument: -1 arrives as 0xffffffff */
    if (value == AT_FDCWD)
        return (size_t)snprintf(buf, size, "AT_FDCWD");
    return (size_t)snprintf(buf, size, "%" PRId64, value);
}

static void print(const struct event *e)
{
    char line[2048], name[32];
    bool known = e->number >= 0 && e->number < NCALLS && call[e->number].name != NULL;
    const char *args = known ? call[e->number].args : "xxxxxx";
    size_t n = (size_t)snprintf(line, sizeof line, "%s(", name_of(e->number, name, sizeof name));

    for (int i = 0; args[i] != '\0'; i++) {
        if (i > 0)
            n += (size_t)snprintf(line + n, sizeof line - n, ", ");
        n += print_argument(line + n, sizeof line - n, args[i], e, i);
    }
    snprintf(line + n, sizeof line - n, ")");
    if (follow)
        fprintf(out, "%d/%d:\t", e->pid, e->lwp);
    if (!e->returns)
        fprintf(out, "%s\n", line);
    else if (failed(e))
        fprintf(out, "%-40s Err#%ld %s\n", line, -e->result,
                -e->result < (long)(sizeof error_name / sizeof error_name[0]) &&
                        error_name[-e->result] != NULL
                    ? error_name[-e->result]
                    : "");
    else if (e->result >= 0 && e->result < 1 << 20)
        fprintf(out, "%-40s = %ld\n", line, e->result);
    else
        fprintf(out, "%-40s = 0x%lX\n", line, e->result);
}

static void add(const struct event *e)
{
    long row = e->number >= 0 && e->number < NCALLS && call[e->number].name ? e->number : NCALLS;

    sum[row].ns += e->ns;
    sum[row].calls++;
    sum[row].errors += failed(e);
}

static void print_sums(double elapsed)
{
    double seconds = 0.0;
    long calls = 0, errors = 0;
    struct rusage usage;

    fprintf(out, "%-20s %8s %7s %7s\n", "syscall", "seconds", "calls", "errors");
    for (long i = 0; i <= NCALLS; i++) {
        if (sum[i].calls == 0)
            continue;
        fprintf(out, "%-20s %8.3f %7ld", i < NCALLS ? call[i].name : "other",
                (double)sum[i].ns * 1e-9, sum[i].calls);
        if (sum[i].errors > 0)
            fprintf(out, " %7ld", sum[i].errors);
        fprintf(out, "\n");
        seconds += (double)sum[i].ns * 1e-9;
        calls += sum[i].calls;
        errors += sum[i].errors;
    }
    getrusage(RUSAGE_CHILDREN, &usage);
    fprintf(out, "%-20s %8s %7s %7s\n", "", "--------", "------", "----");
    fprintf(out, "%-20s %8.3f %7ld %7ld\n", "sys totals:", seconds, calls, errors);
    fprintf(out, "%-20s %8.3f\n",
            "usr time:", (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6);
    fprintf(out, "%-20s %8.3f\n", "elapsed:", elapsed);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Starts the command with its trace in a pipe.  Returns the reading end. */
static FILE *start(char **command, pid_t *pid)
{
    int fd[2];

    if (pipe2(fd, O_CLOEXEC) != 0 || (*pid = fork()) < 0) {
        hr_perror("truss", "cannot start");
        exit(1);
    }
    if (*pid == 0) {
        if (hr_call(SYS_truss, fd[1], 0, 0, 0, 0, 0) < 0) {
            hr_perror("truss", "cannot trace");
            _exit(126);
        }
        execvp(command[0], command);
        hr_call(SYS_truss, -1, 0, 0, 0, 0, 0);
        hr_perror("truss", command[0]);
        _exit(127);
    }
    close(fd[1]);
    signal(SIGINT, SIG_IGN); /* the command decides what Ctrl-C does */
    signal(SIGQUIT, SIG_IGN);
    return fdopen(fd[0], "r");
}

int main(int argc, char **argv)
{
    const char *file = NULL;
    char *line = NULL;
    size_t space = 0;
    struct event event;
    FILE *trace;
    double begun;
    int opt, status;
    pid_t pid;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "+cfo:")) != -1) {
        if (opt == 'c')
            count_only = true;
        else if (opt == 'f')
            follow = true;
        else if (opt == 'o')
            file = optarg;
        else
            usage();
    }
    if (optind == argc)
        usage();
    out = file != NULL ? fopen(file, "we") : stderr;
    if (out == NULL) {
        hr_perror("truss", file);
        return 1;
    }
    begun = now();
    trace = start(argv + optind, &pid);
    while (getline(&line, &space, trace) > 0) {
        if (parse(line, &event) != 0 || (event.pid != pid && !follow))
            continue;
        if (count_only)
            add(&event);
        else
            print(&event);
    }
    free(line);
    waitpid(pid, &status, 0);
    if (count_only)
        print_sums(now() - begun);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
