// SPDX-License-Identifier: MIT
/*
 * t_proc.c - processes: fork, exec, wait, process groups, limits, credentials.
 */
#include "check.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>

static const struct timespec moment = {0, 20 * 1000 * 1000};

static pid_t child(void (*run)(void))
{
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid == 0) {
        run();
        _exit(0);
    }
    return pid;
}

static int status_of(pid_t pid)
{
    int status = -1;

    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

static void exits_7(void)
{
    _exit(7);
}

static void kills_itself(void)
{
    raise(SIGKILL);
}

static void waits_forever(void)
{
    for (;;)
        pause();
}

static void wait_status(void)
{
    int status = status_of(child(exits_7));

    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    status = status_of(child(kills_itself));
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_ERR(wait(NULL), ECHILD);
    EXPECT_ERR(waitpid(getpid(), NULL, 0), ECHILD);
    EXPECT_ERR(waitpid(-1, NULL, 0x1234567), EINVAL);
}

static void wait_nohang(void)
{
    pid_t pid = child(waits_forever);
    int status;

    EXPECT_EQ(waitpid(pid, &status, WNOHANG), 0);
    EXPECT_EQ(kill(pid, SIGTERM), 0);
    EXPECT_EQ(waitpid(-1, &status, 0), pid);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void stop_and_continue(void)
{
    pid_t pid = child(waits_forever);
    int status;

    EXPECT_EQ(kill(pid, SIGSTOP), 0);
    EXPECT_EQ(waitpid(pid, &status, WUNTRACED), pid);
    EXPECT(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    EXPECT_EQ(waitpid(pid, &status, WNOHANG | WUNTRACED), 0);
    EXPECT_EQ(kill(pid, SIGCONT), 0);
    EXPECT_EQ(waitpid(pid, &status, WCONTINUED), pid);
    EXPECT(WIFCONTINUED(status));
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT(WIFSIGNALED(status_of(pid)));
}

static void many_children(void)
{
    pid_t pid[50];
    int seen = 0;

    for (int i = 0; i < 50; i++)
        if ((pid[i] = fork()) == 0)
            _exit(i);
    for (int i = 0; i < 50; i++) {
        int status;
        pid_t done = wait(&status);

        for (int k = 0; k < 50; k++)
            if (pid[k] == done && WEXITSTATUS(status) == k)
                seen++;
    }
    EXPECT_EQ(seen, 50);
}

static void orphan_is_adopted(void)
{
    pid_t parent = getpid();
    int fd[2], status;
    pid_t found = -1;

    (void)parent;
    EXPECT_EQ(pipe(fd), 0);
    if (fork() == 0) {
        pid_t middle = getpid();

        if (fork() == 0) {
            while (getppid() == middle)
                nanosleep(&moment, NULL);
            found = getppid();
            _exit(write(fd[1], &found, sizeof found) != sizeof found);
        }
        _exit(0);
    }
    EXPECT(wait(&status) > 0);
    EXPECT_EQ(read(fd[0], &found, sizeof found), sizeof found);
    EXPECT(found >= 1);
}

static void become_user(uid_t uid)
{
    EXPECT_EQ(setgroups(0, NULL), 0);
    EXPECT_EQ(setresgid(uid, uid, uid), 0);
    EXPECT_EQ(setresuid(uid, uid, uid), 0);
}

/* Waits for the end of the parent `middle` and SIGUSR1.  Returns it, 0 if none came in the time, -1 for a fault. */
static int take_death_signal(pid_t middle, int wait_seconds)
{
    struct timespec limit = {.tv_sec = wait_seconds};
    siginfo_t info;
    sigset_t set;

    while (getppid() == middle)
        nanosleep(&moment, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (sigtimedwait(&set, &info, &limit) < 0)
        return errno == EAGAIN ? 0 : -1;
    return info.si_code == SI_USER && info.si_pid == middle ? SIGUSR1 : -1;
}

/*
 * A child of `middle` waits for the end of its parent.  `how`: 0 asks for SIGUSR1, 1 withdraws it, 2 changes its user,
 * 3 leaves the wait to its own child, which does not inherit it.  Returns the signal, 0 for none, -1 for a fault.
 */
static int death_signal_after(int how)
{
    int fd[2], sig = 0, got;
    sigset_t set;

    EXPECT_EQ(pipe(fd), 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    EXPECT_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    if (fork() == 0) {
        pid_t middle = getpid();
        int ready[2];
        char c;

        EXPECT_EQ(pipe(ready), 0);
        if (fork() == 0) {
            EXPECT_EQ(prctl(PR_SET_PDEATHSIG, SIGUSR1), 0);
            EXPECT_EQ(prctl(PR_GET_PDEATHSIG, &sig), 0);
            EXPECT_EQ(sig, SIGUSR1);
            if (how == 1)
                EXPECT_EQ(prctl(PR_SET_PDEATHSIG, 0), 0);
            if (how == 2)
                become_user(1000);
            if (how == 3 && fork() != 0)
                pause();
            if (how == 3)
                middle = getppid();
            EXPECT_EQ(prctl(PR_GET_PDEATHSIG, &sig), 0);
            EXPECT_EQ(sig, how == 0 ? SIGUSR1 : 0);
            EXPECT_EQ(write(ready[1], "x", 1), 1);
            if (how == 3)
                kill(middle, SIGKILL);
            got = take_death_signal(middle, how == 0 ? 30 : 1);
            _exit(write(fd[1], &got, sizeof got) != sizeof got);
        }
        EXPECT_EQ(read(ready[0], &c, 1), 1);
        _exit(0);
    }
    EXPECT_EQ(close(fd[1]), 0);
    EXPECT(wait(NULL) > 0);
    EXPECT_EQ(read(fd[0], &got, sizeof got), sizeof got);
    return got;
}

static void death_signal(void)
{
    EXPECT_ERR(prctl(PR_SET_PDEATHSIG, 65), EINVAL);
    EXPECT_ERR(prctl(PR_SET_PDEATHSIG, -1), EINVAL);
    EXPECT_ERR(prctl(PR_GET_PDEATHSIG, 1), EFAULT);
    EXPECT_EQ(death_signal_after(0), SIGUSR1);
    EXPECT_EQ(death_signal_after(1), 0);
    EXPECT_EQ(death_signal_after(3), 0);
    if (geteuid() == 0)
        EXPECT_EQ(death_signal_after(2), 0);
}

static void vfork_shares(void)
{
    volatile int shared = 0;
    int status;
    pid_t pid = vfork();

    if (pid == 0) {
        shared = 5;
        _exit(3);
    }
    EXPECT_EQ(shared, 5);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(WEXITSTATUS(status), 3);
}

/*
 * At the end of a thread the kernel clears the word of set_tid_address() for the threads and processes that still use
 * the memory.  After a vfork() whose child is gone there is none, so the word keeps its value.
 */
static void end_after_vfork(void)
{
    volatile int *word =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    EXPECT(word != MAP_FAILED);
    for (int forks = 0; forks < 2; forks++) {
        pid_t pid = fork();

        if (pid == 0) {
            if (forks != 0 && (pid = vfork()) == 0)
                _exit(0);
            if (forks != 0)
                waitpid(pid, NULL, 0);
            syscall(SYS_set_tid_address, word);
            *word = 7;
            _exit(0);
        }
        EXPECT_EQ(waitpid(pid, NULL, 0), pid);
        EXPECT_EQ(*word, 7);
        *word = 0;
    }
}

static void exec_arguments(void)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"[ \"$0 $1 $V\" = \"a b c\" ] && exit 9",
                    (char *)"a",  (char *)"b",  NULL};
    char *envp[] = {(char *)"V=c", NULL};
    pid_t pid = fork();

    if (pid == 0) {
        execve("/bin/sh", argv, envp);
        _exit(1);
    }
    EXPECT_EQ(WEXITSTATUS(status_of(pid)), 9);
}

static void exec_errors(void)
{
    char *argv[] = {(char *)"x", NULL};
    char name[] = "/tmp/t_proc.XXXXXX";
    int fd = mkstemp(name);

    EXPECT_ERR(execv("/no/such/program", argv), ENOENT);
    EXPECT_ERR(execv("/tmp", argv), EACCES);
    EXPECT_ERR(execv(name, argv), EACCES); /* not executable */
    EXPECT_EQ(write(fd, "not a program\n", 14), 14);
    EXPECT_EQ(fchmod(fd, 0755), 0);
    close(fd);
    EXPECT_ERR(execv(name, argv), ENOEXEC);
    unlink(name);
}

static void exec_script(void)
{
    char name[] = "/tmp/t_proc.XXXXXX";
    int fd = mkstemp(name);
    char *argv[] = {name, (char *)"seven", NULL};
    pid_t pid;

    EXPECT_EQ(dprintf(fd, "#!/bin/sh\n[ $1 = seven ] && exit 7\n"), 35);
    EXPECT_EQ(fchmod(fd, 0755), 0);
    close(fd);
    if ((pid = fork()) == 0) {
        execv(name, argv);
        _exit(1);
    }
    EXPECT_EQ(WEXITSTATUS(status_of(pid)), 7);
    unlink(name);
}

static void exec_closes(void)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"test -e /proc/self/fd/50", NULL};
    int keep = dup2(0, 50);
    pid_t pid;

    EXPECT_EQ(keep, 50);
    for (int flag = 0; flag <= 1; flag++) {
        EXPECT_EQ(fcntl(50, F_SETFD, flag ? FD_CLOEXEC : 0), 0);
        if ((pid = fork()) == 0) {
            execv("/bin/sh", argv);
            _exit(99);
        }
        EXPECT_EQ(WEXITSTATUS(status_of(pid)), flag);
    }
}

static void groups_and_sessions(void)
{
    pid_t pid = child(waits_forever);
    int status;

    EXPECT_EQ(setpgid(pid, pid), 0);
    EXPECT_EQ(getpgid(pid), pid);
    EXPECT_EQ(kill(-pid, SIGUSR1), 0);
    status = status_of(pid);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    EXPECT_ERR(kill(-pid, 0), ESRCH);
    if ((pid = fork()) == 0)
        _exit(setsid() == getpid() && getsid(0) == getpid() && getpgrp() == getpid() ? 0 : 1);
    EXPECT_EQ(status_of(pid), 0);
    EXPECT_ERR(setpgid(0, INT_MAX), EPERM);
}

static void limits(void)
{
    struct rlimit limit;
    int fds[32], n = 0;

    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 20;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (n < 32 && (fds[n] = dup(0)) >= 0)
        n++;
    EXPECT_EQ(errno, EMFILE);
    EXPECT(n < 20);
    EXPECT_EQ(getrlimit(RLIMIT_STACK, &limit), 0);
    EXPECT(limit.rlim_cur >= 1 << 20);
    EXPECT_ERR(getrlimit(99, &limit), EINVAL);
}

static void file_size_limit(void)
{
    struct rlimit limit = {8192, 8192};
    char name[] = "/tmp/t_proc.XXXXXX", page[4096] = {0};
    int fd = mkstemp(name);

    unlink(name);
    signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_EQ(write(fd, page, 4096), 4096);
    EXPECT_EQ(write(fd, page, 4096), 4096);
    EXPECT_ERR(write(fd, page, 1), EFBIG);
}

static void usage_is_counted(void)
{
    struct rusage usage;
    struct tms times_now;
    clock_t until = clock() + CLOCKS_PER_SEC / 10;

    while (clock() < until)
        ;
    EXPECT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    EXPECT(usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec +
               usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec >=
           50000);
    EXPECT(times(&times_now) != (clock_t)-1);
    EXPECT(usage.ru_minflt > 0);
}

static void names(void)
{
    struct utsname u;
    char name[16];

    EXPECT_EQ(uname(&u), 0);
    EXPECT(strcmp(u.sysname, "Linux") == 0 && strcmp(u.machine, "x86_64") == 0);
    EXPECT_EQ(prctl(PR_SET_NAME, "a-long-name-that-is-cut"), 0);
    EXPECT_EQ(prctl(PR_GET_NAME, name), 0);
    EXPECT(strcmp(name, "a-long-name-tha") == 0);
    EXPECT_EQ(personality(0xffffffff), 0);
    EXPECT_EQ(personality(PER_LINUX), 0);
    if (on_homeroom()) /* flags, such as no random addresses, do not exist */
        EXPECT_ERR(personality(ADDR_NO_RANDOMIZE), EINVAL);
}

/* A program may write a name over its arguments, and on into its environment: cmdline then ends with the first NUL. */
static void long_title(void)
{
    char text[1024], *at;
    unsigned long begin, end;
    int fd = open("/proc/self/stat", O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);

    EXPECT(n > 0);
    text[n] = '\0';
    at = strrchr(text, ')');
    for (int field = 2; field < 48; field++)
        at = strchr(at + 1, ' ');
    EXPECT_EQ(sscanf(at, " %lu %lu", &begin, &end), 2); /* arg_start, arg_end */
    close(fd);
    memset((void *)begin, 'x', end - begin + 4);
    memset((void *)(end + 4), 0, 1);
    fd = open("/proc/self/cmdline", O_RDONLY);
    EXPECT_EQ(read(fd, text, sizeof text), end - begin + 5);
    EXPECT(text[end - begin + 3] == 'x' && text[end - begin + 4] == '\0');
    memset((void *)(end - 1), 0, 1);
    EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
    EXPECT_EQ(read(fd, text, sizeof text), end - begin);
}

/* Descriptors of a process's directories lead to nothing when the process has ended. */
static void directories_of_the_dead(void)
{
    const char *names[] = {"", "/fd", "/task", "/task/%d"},
               *files[] = {"status", "0", "%d", "stat"};
    char text[64], name[64], buf[1024];
    int dir[4], status, hold[2];
    pid_t pid;

    EXPECT_EQ(pipe(hold), 0);
    pid = fork();
    if (pid == 0) {
        close(hold[1]);
        _exit(read(hold[0], buf, 1) != 0);
    }
    close(hold[0]);
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "/proc/%d%s", pid, names[i]);
        snprintf(name, sizeof name, text, pid);
        dir[i] = open(name, O_RDONLY | O_DIRECTORY);
        snprintf(name, sizeof name, files[i], pid);
        EXPECT_EQ(faccessat(dir[i], name, F_OK, AT_EACCESS) == 0 || i == 1, 1);
        EXPECT(syscall(SYS_getdents64, dir[i], buf, sizeof buf) > 0);
        EXPECT_EQ(lseek(dir[i], 0, SEEK_SET), 0);
    }
    close(hold[1]);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, files[i], pid);
        errno = 0;
        EXPECT_EQ(openat(dir[i], name, O_RDONLY), -1);
        EXPECT_EQ(errno == ENOENT || errno == ESRCH, 1);
        EXPECT_ERR(syscall(SYS_getdents64, dir[i], buf, sizeof buf), ENOENT);
    }
}

static void credentials_change(void)
{
    uid_t r, e, s;

    NEED_ROOT();
    EXPECT_EQ(setresuid(1000, 1001, 0), 0);
    EXPECT_EQ(getresuid(&r, &e, &s), 0);
    EXPECT(r == 1000 && e == 1001 && s == 0);
    EXPECT_EQ(setuid(0), 0); /* the saved id may come back */
    EXPECT_EQ(geteuid(), 0);
    become_user(1000);
    EXPECT_ERR(setuid(0), EPERM);
    EXPECT_ERR(setgid(0), EPERM);
    EXPECT_ERR(setgroups(0, NULL), EPERM);
    EXPECT_EQ(setuid(1000), 0);
}

/* The status of a new program that is this one, with the argument `what`. */
static int status_of_self(const char *what)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        execl("/proc/self/exe", "t_proc", what, (char *)NULL);
        _exit(126);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

static void *keeps_capabilities(void *arg)
{
    (void)arg;
    return prctl(PR_GET_KEEPCAPS) == 1 && prctl(PR_SET_KEEPCAPS, 0) == 0 ? NULL : "not kept";
}

/* The flag belongs to a thread, and is inherited, but not by a new program. */
static void keep_capabilities(void)
{
    pthread_t t;
    void *result;
    int status;

    EXPECT_EQ(prctl(PR_GET_KEEPCAPS), 0);
    EXPECT_ERR(prctl(PR_SET_KEEPCAPS, 2), EINVAL);
    EXPECT_ERR(prctl(PR_SET_KEEPCAPS, -1), EINVAL);
    EXPECT_EQ(prctl(PR_SET_KEEPCAPS, 1), 0);
    EXPECT_EQ(pthread_create(&t, NULL, keeps_capabilities, NULL), 0);
    EXPECT_EQ(pthread_join(t, &result), 0);
    EXPECT(result == NULL);
    EXPECT_EQ(prctl(PR_GET_KEEPCAPS), 1);
    if (fork() == 0)
        _exit(prctl(PR_GET_KEEPCAPS));
    EXPECT(wait(&status) > 0);
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_EQ(WEXITSTATUS(status_of_self("--keepcaps")), 60);
    if (geteuid() != 0)
        return;
    become_user(1000); /* keeps nothing in effect */
    EXPECT_EQ(prctl(PR_GET_KEEPCAPS), 1);
    EXPECT_ERR(setuid(0), EPERM);
    EXPECT_ERR(chroot("/"), EPERM);
}

static void file_modes(void)
{
    char name[] = "/tmp/t_proc.XXXXXX", dir[] = "/tmp/t_proc.XXXXXX";
    int fd = mkstemp(name);

    NEED_ROOT();
    EXPECT(mkdtemp(dir) != NULL);
    EXPECT_EQ(fchmod(fd, 0640), 0);
    EXPECT_EQ(fchown(fd, 0, 1000), 0);
    become_user(1000);
    EXPECT(open(name, O_RDONLY) >= 0); /* allowed by the group */
    EXPECT_ERR(open(name, O_RDWR), EACCES);
    EXPECT_ERR(chmod(name, 0777), EPERM);
    EXPECT_ERR(open(dir, O_RDONLY), EACCES);
    EXPECT(rmdir(dir) == -1 && (errno == EPERM || errno == EACCES));
    EXPECT_ERR(unlink(name), EPERM); /* /tmp is sticky */
    EXPECT_ERR(open("/etc/new-file", O_CREAT | O_WRONLY, 0644), EACCES);
}

static void signal_permission(void)
{
    pid_t pid;

    NEED_ROOT();
    pid = child(waits_forever);
    if (fork() == 0) {
        become_user(1000);
        _exit(kill(pid, SIGTERM) == -1 && errno == EPERM ? 0 : 1);
    }
    EXPECT_EQ(waitpid(-1, NULL, 0) != pid, 1);
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    status_of(pid);
}

static void setuid_program(void)
{
    char name[] = "/tmp/t_proc.XXXXXX", *argv[] = {name, (char *)"--euid", NULL};
    char copy[65536];
    int in = open("/proc/self/exe", O_RDONLY), out = mkstemp(name);
    ssize_t n;
    pid_t pid;

    NEED_ROOT();
    EXPECT(in >= 0 && out >= 0);
    while ((n = read(in, copy, sizeof copy)) > 0)
        EXPECT_EQ(write(out, copy, (size_t)n), n);
    EXPECT_EQ(fchmod(out, 04755), 0);
    close(out);
    if ((pid = fork()) == 0) {
        become_user(1000);
        execv(name, argv);
        _exit(99);
    }
    n = WEXITSTATUS(status_of(pid));
    unlink(name);
    EXPECT_EQ(n, 50); /* euid 0, uid 1000 */
}

static void process_limit(void)
{
    struct rlimit limit = {10, 10};
    int n = 0, ended = 0, error;
    pid_t pid;

    NEED_ROOT();
    become_user(20000 + (uid_t)getpid() % 40000); /* a user without other processes */
    EXPECT_EQ(setrlimit(RLIMIT_NPROC, &limit), 0);
    while (n < 50 && (pid = fork()) >= 0) {
        if (pid == 0)
            waits_forever();
        n++;
    }
    error = errno;
    signal(SIGTERM, SIG_IGN);
    EXPECT_EQ(kill(-1, SIGTERM), 0); /* all processes of this user, and no others */
    while (wait(NULL) > 0)
        ended++;
    EXPECT_EQ(error, EAGAIN);
    EXPECT_EQ(n, 9); /* with this process */
    EXPECT_EQ(ended, n);
}

static void affinity(void)
{
    cpu_set_t set, saved;

    EXPECT_EQ(sched_getaffinity(0, sizeof saved, &saved), 0);
    EXPECT(CPU_COUNT(&saved) >= 1);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &saved))
            continue;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
        EXPECT_EQ(sched_getcpu(), cpu);
    }
    EXPECT_EQ(sched_setaffinity(0, sizeof saved, &saved), 0);
    CPU_ZERO(&set);
    EXPECT_ERR(sched_setaffinity(0, sizeof set, &set), EINVAL);
    EXPECT_ERR(sched_setaffinity(-1, sizeof saved, &saved), ESRCH);
    EXPECT_ERR(sched_getaffinity(-1, sizeof saved, &saved), ESRCH);
}

/* A process that makes a sibling (CLONE_PARENT) cannot choose the signal that its parent gets when the sibling ends. */
static void sibling_signals_as_its_maker(void)
{
    int told[2];
    pid_t maker, sibling = -1;

    EXPECT_EQ(pipe(told), 0);
    maker = fork();
    if (maker == 0) {
        sibling = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGTERM, NULL, NULL, NULL, NULL);
        if (sibling != 0)
            write(told[1], &sibling, sizeof sibling);
        _exit(0);
    }
    EXPECT_EQ(read(told[0], &sibling, sizeof sibling), sizeof sibling);
    EXPECT_EQ(status_of(maker), 0);
    EXPECT_EQ(status_of(sibling), 0); /* and no SIGTERM has ended this process */
    close(told[0]);
    close(told[1]);
}

static const struct check list[] = {
    {"wait_status", wait_status},
    {"wait_nohang", wait_nohang},
    {"stop_and_continue", stop_and_continue},
    {"many_children", many_children},
    {"orphan_is_adopted", orphan_is_adopted},
    {"death_signal", death_signal},
    {"sibling_signals_as_its_maker", sibling_signals_as_its_maker},
    {"vfork_shares", vfork_shares},
    {"end_after_vfork", end_after_vfork},
    {"exec_arguments", exec_arguments},
    {"exec_errors", exec_errors},
    {"exec_script", exec_script},
    {"exec_closes", exec_closes},
    {"groups_and_sessions", groups_and_sessions},
    {"limits", limits},
    {"file_size_limit", file_size_limit},
    {"usage_is_counted", usage_is_counted},
    {"names", names},
    {"long_title", long_title},
    {"directories_of_the_dead", directories_of_the_dead},
    {"credentials_change", credentials_change},
    {"keep_capabilities", keep_capabilities},
    {"file_modes", file_modes},
    {"signal_permission", signal_permission},
    {"setuid_program", setuid_program},
    {"process_limit", process_limit},
    {"affinity", affinity},
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--euid") == 0) /* see setuid_program */
        return geteuid() == 0 && getuid() == 1000 ? 50 : 51;
    if (argc == 2 && strcmp(argv[1], "--keepcaps") == 0) /* see keep_capabilities */
        return 60 + prctl(PR_GET_KEEPCAPS);
    return check_main(list, sizeof list / sizeof list[0], argc, argv);
}
