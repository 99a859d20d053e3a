// SPDX-License-Identifier: MIT
/*
 * t_race.c - ends of processes and threads that coincide: exit, exec, kill, stop, wait, all at once; and hostile input
 * to exec and to the return from signal handlers.
 *
 * THEORY      A race test repeats a short collision many times with different delays.  It checks the invariant (one
 *             status for each child, no process left, no process hung), not an order.
 * SEE ALSO    kernel/proc/exit.c, kernel/proc/exec.c, kernel/proc/elf.c, kernel/proc/sigframe.c, kernel/tty/tty_job.c
 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#include "check.h"

static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Passes a little time, different in each call. */
static void dawdle(void)
{
    for (uint64_t n = draw() % 400; n > 0; n--)
        __asm__ volatile("pause");
    if (draw() % 4 == 0)
        sched_yield();
}

static int wait_for(pid_t pid)
{
    int status = -1;

    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noreturn)) void *sleeps(void *arg)
{
    (void)arg;
    for (;;)
        pause();
}

static __attribute__((noreturn)) void *spins(void *arg)
{
    (void)arg;
    for (;;)
        __asm__ volatile("pause");
}

static void thread(void *(*fn)(void *), void *arg)
{
    pthread_attr_t attr;
    pthread_t id;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 32768);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&id, &attr, fn, arg) != 0)
        sleeps(NULL); /* the process is ending, or becoming another program */
}

/* ---- exit ---- */

static void *exits_group(void *arg)
{
    dawdle();
    _exit((int)(intptr_t)arg);
}

/* Several threads call exit_group at once: there is one status, and it is one of theirs. */
static void exits_together(void)
{
    for (int round = 0; round < 60; round++) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            for (intptr_t i = 1; i <= 5; i++)
                thread(exits_group, (void *)i);
            dawdle();
            syscall(SYS_exit, 0); /* ends the first thread only */
        }
        status = wait_for(pid);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) <= 5);
    }
}

static void *exits_alone(void *arg)
{
    (void)arg;
    dawdle();
    syscall(SYS_exit, 3);
    return NULL;
}

/* All threads end one by one; the process ends with the last one. */
static void last_one_out(void)
{
    for (int round = 0; round < 60; round++) {
        pid_t pid = fork();

        if (pid == 0) {
            for (int i = 0; i < 6; i++)
                thread(exits_alone, NULL);
            dawdle();
            syscall(SYS_exit, 3);
        }
        EXPECT(WIFEXITED(wait_for(pid)));
    }
}

/* A process of many sleeping and running threads dies at once. */
static void kill_is_prompt(void)
{
    double start;
    pid_t pid = fork();

    if (pid == 0) {
        for (int i = 0; i < 60; i++)
            thread(i % 10 == 0 ? spins : sleeps, NULL);
        sleeps(NULL);
    }
    usleep(300000);
    start = now();
    kill(pid, SIGKILL);
    EXPECT_EQ(WTERMSIG(wait_for(pid)), SIGKILL);
    EXPECT(now() - start < 5.0);
}

/* A process is killed while it creates threads. */
static void *creates(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++)
        thread(sleeps, NULL);
    return NULL;
}

static void kill_while_creating(void)
{
    for (int round = 0; round < 40; round++) {
        pid_t pid = fork();

        if (pid == 0) {
            thread(creates, NULL);
            creates(NULL);
            sleeps(NULL);
        }
        for (int i = 0; i < round; i++)
            dawdle();
        kill(pid, SIGKILL);
        EXPECT_EQ(WTERMSIG(wait_for(pid)), SIGKILL);
    }
}

/* ---- fork ---- */

/* If a process group is killed while it forks, none of its children survives. */
static void group_kill_catches_forks(void)
{
    for (int round = 0; round < 15; round++) {
        int alive[2];
        char byte;
        pid_t pid;

        EXPECT_EQ(pipe(alive), 0);
        if ((pid = fork()) == 0) {
            setpgid(0, 0);
            close(alive[0]);
            for (int i = 0; i < 30; i++)
                if (fork() == 0) {
                    for (int k = 0; k < 3 && fork() > 0; k++)
                        ;
                    sleeps(NULL);
                }
            sleeps(NULL);
        }
        setpgid(pid, pid);
        close(alive[1]);
        for (int i = 0; i < round * 4; i++)
            dawdle();
        EXPECT_EQ(kill(-pid, SIGKILL), 0);
        wait_for(pid);
        EXPECT_EQ(read(alive[0], &byte, 1), 0); /* end of file: no process holds the other end */
        close(alive[0]);
    }
}

/* Children of a process that ignores SIGCHLD leave no zombies. */
static void ignored_children_vanish(void)
{
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 50; i++)
        if (fork() == 0)
            _exit(1);
    EXPECT_ERR(wait(NULL), ECHILD);
}

/* Zombies count against their user's limit, so a bomb of zombies ends, too. */
static void zombies_are_limited(void)
{
    struct rlimit few = {30, 30};
    int n = 0;
    pid_t pid;

    NEED_ROOT();
    EXPECT_EQ(setrlimit(RLIMIT_NPROC, &few), 0);
    EXPECT_EQ(setuid(20000 + (uid_t)getpid() % 40000), 0); /* a user without other processes */
    while (n < 100 && (pid = fork()) >= 0) {
        if (pid == 0)
            _exit(0);
        n++;
    }
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(n, 29);
    while (wait(NULL) > 0)
        n--;
    EXPECT_EQ(n, 0);
    EXPECT((pid = fork()) >= 0);
    if (pid == 0)
        _exit(0);
    EXPECT_EQ(wait_for(pid), 0);
}

static void *waits_for_any(void *arg)
{
    long *count = arg;

    while (wait(NULL) > 0)
        __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(count + 1, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Several threads wait: each child is reported to one of them. */
static void many_waiters(void)
{
    long count[2] = {0, 0};

    for (int i = 0; i < 40; i++)
        if (fork() == 0) {
            dawdle();
            _exit(0);
        }
    for (int i = 0; i < 4; i++)
        thread(waits_for_any, count);
    while (__atomic_load_n(&count[1], __ATOMIC_SEQ_CST) < 4)
        usleep(1000);
    EXPECT_EQ(count[0], 40);
}

static void wait_without_taking(void)
{
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0)
        _exit(5);
    memset(&info, 0, sizeof info);
    EXPECT_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(info.si_status, 5);
    EXPECT_EQ(info.si_code, CLD_EXITED);
    EXPECT_EQ(info.si_pid, pid);
    EXPECT_EQ(WEXITSTATUS(wait_for(pid)), 5);
    EXPECT_ERR(waitid(P_PID, (id_t)pid, &info, WEXITED), ECHILD);
    EXPECT_ERR(waitid(P_ALL, 0, &info, 0), EINVAL);
}

/* ---- exec ---- */

static char *const true_argv[] = {"true", "nothing", NULL}; /* tells this program to run no test */
static char *const no_env[] = {NULL};

static void *execs(void *arg)
{
    dawdle();
    execve("/bin/true", arg, no_env);
    return NULL;
}

static void *forks_sometimes(void *arg)
{
    (void)arg;
    for (;;) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(0);
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
}

/* Several threads exec, others fork or sleep: the new program runs once, with the process's id. */
static void execs_together(void)
{
    for (int round = 0; round < 40; round++) {
        pid_t pid = fork();

        if (pid == 0) {
            thread(sleeps, NULL);
            thread(forks_sometimes, NULL);
            thread(execs, (void *)true_argv);
            thread(execs, (void *)true_argv);
            if (round % 2 == 0)
                execs((void *)true_argv);
            sleeps(NULL);
        }
        EXPECT_EQ(wait_for(pid), 0);
    }
}

static void kill_during_exec(void)
{
    for (int round = 0; round < 60; round++) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            thread(sleeps, NULL);
            thread(execs, (void *)true_argv);
            sleeps(NULL);
        }
        for (int i = 0; i < round; i++)
            dawdle();
        kill(pid, SIGKILL);
        status = wait_for(pid);
        EXPECT(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    }
}

/* Executes a file with these bytes, for `limit` seconds at most. */
static void exec_file(const char *path, const void *bytes, size_t n, unsigned limit, int *status)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    pid_t pid;

    EXPECT(fd >= 0);
    EXPECT_EQ(write(fd, bytes, n), (ssize_t)n);
    fchmod(fd, 0755);
    close(fd);
    if ((pid = fork()) == 0) {
        struct rlimit small = {limit, limit};

        setrlimit(RLIMIT_CPU, &small);
        alarm(limit);
        close(1);
        execve(path, true_argv, no_env);
        _exit(errno == ENOEXEC ? 100 : errno == ELOOP ? 101 : 102);
    }
    *status = wait_for(pid);
}

/* A real program with damage in its headers is refused, or runs and ends; the kernel survives. */
static void damaged_programs(void)
{
    static const uint64_t odd[] = {0,          1,          4095,    4096, 0x7ffffffff000,
                                   UINT64_MAX, 1ull << 63, 0x400000};
    char path[] = "/tmp/damaged.XXXXXX", *image;
    struct stat st;
    int fd, status, refused = 0;

    fd = open("/proc/self/exe", O_RDONLY);
    EXPECT(fd >= 0 && fstat(fd, &st) == 0);
    image = malloc((size_t)st.st_size);
    EXPECT(image != NULL);
    close(mkstemp(path));
    for (int round = 0; round < 150; round++) {
        size_t headers = sizeof(Elf64_Ehdr) + 8 * sizeof(Elf64_Phdr);

        EXPECT_EQ(pread(fd, image, (size_t)st.st_size, 0), st.st_size);
        for (uint64_t k = 1 + draw() % 3; k > 0; k--) {
            uint64_t v = draw() % 2 ? odd[draw() % 8] : draw() >> draw() % 64;

            memcpy(image + draw() % (headers / 8) * 8, &v, 8);
        }
        exec_file(path, image, draw() % 8 ? (size_t)st.st_size : draw() % (size_t)st.st_size, 1,
                  &status);
        refused += status != 0; /* refused by exec, or ended by a signal later */
    }
    EXPECT(refused > 20);
    exec_file(path, "#!/bin/true\n", 12, CHECK_SECONDS, &status);
    EXPECT_EQ(status, 0);
    exec_file(path, "#!\n", 3, CHECK_SECONDS, &status);
    EXPECT_EQ(WEXITSTATUS(status), 100);
    exec_file(path, "", 0, CHECK_SECONDS, &status);
    EXPECT_EQ(WEXITSTATUS(status), 100);
    unlink(path);
}

/* A script that names itself as interpreter does not loop for ever. */
static void endless_script(void)
{
    char path[] = "/tmp/script.XXXXXX", line[64];
    int status;

    close(mkstemp(path));
    snprintf(line, sizeof line, "#!%s\n", path);
    exec_file(path, line, strlen(line), CHECK_SECONDS, &status);
    EXPECT_EQ(WEXITSTATUS(status), 101);
    unlink(path);
}

/* ---- signals ---- */

static void spoil_frame(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    uint64_t *word = (uint64_t *)&uc->uc_mcontext;

    (void)signal;
    (void)info;
    for (int i = 0; i < 4; i++) {
        size_t at = draw() % (sizeof uc->uc_mcontext / 8);

        word[at] = draw() % 2 ? draw() : (uint64_t)1 << draw() % 64;
    }
    if (uc->uc_mcontext.fpregs != NULL && (word[23] & 7) == 0 && draw() % 2)
        uc->uc_mcontext.fpregs = NULL;
}

/* A handler returns with random registers: this may end the program, but not the kernel. */
static void wild_frames(void)
{
    struct sigaction act = {.sa_sigaction = spoil_frame, .sa_flags = SA_SIGINFO};

    sigaction(SIGUSR1, &act, NULL);
    for (int round = 0; round < 200; round++) {
        pid_t pid = fork();

        if (pid == 0) {
            alarm(1);
            state += (uint64_t)round * 0x9e3779b97f4a7c15u;
            raise(SIGUSR1);
            _exit(0);
        }
        wait_for(pid);
    }
}

static void count_signal(int signal)
{
    (void)signal;
}

/* Stops, continues and a kill from all sides: wait reports them, and the last one is the kill. */
static void stop_storm(void)
{
    for (int round = 0; round < 10; round++) {
        pid_t pid = fork(), other;
        int status;

        if (pid == 0) {
            signal(SIGCONT, count_signal);
            thread(spins, NULL);
            thread(sleeps, NULL);
            sleeps(NULL);
        }
        if ((other = fork()) == 0) {
            for (int i = 0; i < 50; i++) {
                kill(pid, SIGCONT);
                dawdle();
            }
            _exit(0);
        }
        for (int i = 0; i < 50; i++) {
            kill(pid, i % 2 ? SIGSTOP : SIGCONT);
            dawdle();
        }
        kill(pid, SIGKILL);
        do
            EXPECT_EQ(waitpid(pid, &status, WUNTRACED | WCONTINUED), pid);
        while (!WIFEXITED(status) && !WIFSIGNALED(status));
        EXPECT_EQ(WTERMSIG(status), SIGKILL);
        wait_for(other);
    }
}

/* A stopped process group that loses its last tie to its session gets SIGHUP. */
static void orphaned_group_is_hung_up(void)
{
    int told[2];
    char what = 0;
    pid_t middle, stopped;

    EXPECT_EQ(pipe(told), 0);
    if ((middle = fork()) == 0) {
        /* in a container, the process that adopts orphans may be in this session, which would be a tie */
        setsid();
        if ((stopped = fork()) == 0) {
            setpgid(0, 0);
            raise(SIGSTOP); /* then SIGHUP ends it, which closes `told` */
            write(told[1], "c", 1);
            _exit(0);
        }
        setpgid(stopped, stopped);
        waitpid(stopped, NULL, WUNTRACED);
        _exit(0);
    }
    wait_for(middle);
    close(told[1]);
    EXPECT_EQ(read(told[0], &what, 1), 0);
}

/* A parent in vfork can be killed; its child goes on. */
static void vfork_parent_is_killed(void)
{
    int told[2];
    char byte;
    pid_t parent;

    EXPECT_EQ(pipe(told), 0);
    if ((parent = fork()) == 0) {
        parent = getpid();
        if (vfork() == 0) {
            write(told[1], "v", 1);
            while (getppid() == parent)
                usleep(10000);
            write(told[1], "x", 1);
            _exit(0);
        }
        _exit(1);
    }
    close(told[1]);
    EXPECT_EQ(read(told[0], &byte, 1), 1);
    kill(parent, SIGKILL);
    EXPECT_EQ(WTERMSIG(wait_for(parent)), SIGKILL);
    EXPECT_EQ(read(told[0], &byte, 1), 1);
    EXPECT_EQ(read(told[0], &byte, 1), 0);
}

/* Passes a shorter time, in finer steps. */
static void linger(unsigned most)
{
    for (volatile uint64_t n = draw() % most; n > 0; n--)
        ;
}

/* What a session leader does while its terminal ends. */
enum { OPENS, TAKES, EXITS, WAYS };

/* The leader: waits for the start, then acts while the master is being closed. */
static __attribute__((noreturn)) void lead(const char *name, int way, _Atomic int *go)
{
    int fd = -1;

    setsid();
    alarm(60); /* nothing else ends this process if the test is ended */
    signal(SIGHUP, SIG_IGN);
    if (way != OPENS)
        fd = open(name, O_RDWR | (way == TAKES ? O_NOCTTY : 0));
    if (way == EXITS)
        close(fd);
    *go = 1;
    while (*go < 2)
        ;
    linger(500);
    if (way == EXITS)
        _exit(0);
    if (way == OPENS)
        fd = open(name, O_RDWR);
    else
        (void)ioctl(fd, TIOCSCTTY, 0);
    while (*go != 3)
        ;
    close(fd);
    /* the terminal is gone: the session has none */
    EXPECT(open("/dev/tty", O_RDWR | O_NOCTTY) < 0);
    _exit(0);
}

static void terminal_beside_its_end(void)
{
    _Atomic int *go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    EXPECT(go != MAP_FAILED);
    for (int way = 0; way < WAYS; way++) {
        for (double end = now() + 1; now() < end;) {
            int master = posix_openpt(O_RDWR | O_NOCTTY);
            char name[64];
            pid_t pid;

            EXPECT(master >= 0 && unlockpt(master) == 0 &&
                   ptsname_r(master, name, sizeof name) == 0);
            *go = 0;
            pid = fork();
            if (pid == 0) {
                close(master);
                lead(name, way, go);
            }
            while (*go != 1)
                ;
            *go = 2;
            draw(); /* otherwise parent and child would draw the same number */
            linger(way == EXITS ? 3500 : 500);
            close(master);
            *go = 3;
            EXPECT_EQ(wait_for(pid), 0);
        }
    }
}

static const struct check list[] = {
    {"exits_together", exits_together},
    {"last_one_out", last_one_out},
    {"kill_is_prompt", kill_is_prompt},
    {"kill_while_creating", kill_while_creating},
    {"group_kill_catches_forks", group_kill_catches_forks},
    {"ignored_children_vanish", ignored_children_vanish},
    {"zombies_are_limited", zombies_are_limited},
    {"many_waiters", many_waiters},
    {"wait_without_taking", wait_without_taking},
    {"execs_together", execs_together},
    {"kill_during_exec", kill_during_exec},
    {"damaged_programs", damaged_programs},
    {"endless_script", endless_script},
    {"wild_frames", wild_frames},
    {"stop_storm", stop_storm},
    {"orphaned_group_is_hung_up", orphaned_group_is_hung_up},
    {"vfork_parent_is_killed", vfork_parent_is_killed},
    {"terminal_beside_its_end", terminal_beside_its_end},
};
CHECK_MAIN(list)
