// SPDX-License-Identifier: MIT
/*
 * t_event.c - eventfd, timerfd, signalfd, timers of processes: results, limits, races, and each error; as on Linux.
 */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

#define BAD_ADDRESS ((void *)8)
#define MS          1000000L
#define ROUNDS      2000

static uint64_t take(int fd)
{
    uint64_t n = 0;

    EXPECT_EQ(read(fd, &n, sizeof n), sizeof n);
    return n;
}

static void give(int fd, uint64_t n)
{
    EXPECT_EQ(write(fd, &n, sizeof n), sizeof n);
}

/* The events of fd that are ready now. */
static int ready(int fd)
{
    struct pollfd p = {fd, POLLIN | POLLOUT, 0};

    EXPECT(poll(&p, 1, 0) >= 0);
    return p.revents;
}

/* Waits until fd can be read. */
static void wait_for(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};

    EXPECT_EQ(poll(&p, 1, 30000), 1);
    EXPECT_EQ(p.revents, POLLIN);
}

static int epoll_with(int fd, unsigned events)
{
    struct epoll_event ev = {.events = events};
    int ep = epoll_create1(0);

    EXPECT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
    return ep;
}

static unsigned events_of(int ep, int ms)
{
    struct epoll_event ev = {0};
    int n = epoll_wait(ep, &ev, 1, ms);

    EXPECT(n >= 0);
    return n == 0 ? 0 : ev.events;
}

static void expect_link(int fd, const char *name)
{
    char path[40], got[64] = "";

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    EXPECT(readlink(path, got, sizeof got - 1) > 0);
    EXPECT_EQ(strcmp(got, name), 0);
}

static void expect_file_system(int fd, const char *path, long magic)
{
    struct statfs by_fd, by_path;

    EXPECT_EQ(fstatfs(fd, &by_fd), 0);
    EXPECT_EQ(statfs(path, &by_path), 0);
    EXPECT_EQ(by_fd.f_type, magic);
    EXPECT_EQ(by_path.f_type, magic);
}

/* What can be done to a file that is not a node of a tree, by its descriptor and by its name in /proc. */
static void expect_no_node(int fd)
{
    struct stat st, by_path;
    char c, path[32];

    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_mode, 0600);
    EXPECT(st.st_uid == 0 && st.st_gid == 0); /* the node is the kernel's */
    for (int whence = SEEK_SET; whence <= 4; whence++)
        EXPECT_EQ(lseek(fd, 5, whence), 0);
    EXPECT_ERR(lseek(fd, 0, 5), EINVAL);
    EXPECT_ERR(pread(fd, &c, 1, 0), ESPIPE);
    EXPECT_ERR(pwrite(fd, &c, 1, 0), ESPIPE);
    EXPECT_ERR(syscall(SYS_fallocate, fd, 0, 0L, 1L), ENODEV);
    EXPECT_ERR(syscall(SYS_fallocate, fd, 0, -1L, 1L), EINVAL);
    EXPECT_ERR(syscall(SYS_fallocate, fd, 0, 0L, 0L), EINVAL);
    EXPECT_ERR(syscall(SYS_fallocate, fd, 0x1000, 0L, 1L), EOPNOTSUPP);
    for (int advice = POSIX_FADV_NORMAL; advice <= POSIX_FADV_NOREUSE; advice++)
        EXPECT_EQ(syscall(SYS_fadvise64, fd, 0L, 0L, advice), 0);
    EXPECT_ERR(syscall(SYS_fadvise64, fd, 0L, 0L, POSIX_FADV_NOREUSE + 1), EINVAL);
    EXPECT_ERR(syscall(SYS_fadvise64, fd, 0L, -1L, POSIX_FADV_NORMAL), EINVAL);
    EXPECT_EQ(syscall(SYS_fcntl, fd, F_GETFL) & 0100000, 0); /* O_LARGEFILE is of open(2) only */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    EXPECT_EQ(stat(path, &by_path), 0);
    EXPECT(by_path.st_mode == 0600 && by_path.st_ino == st.st_ino);
    if (geteuid() == 0) {
        EXPECT_EQ(access(path, R_OK | W_OK), 0);
        EXPECT_ERR(open(path, O_RDONLY), ENXIO);
    } else {
        EXPECT_ERR(access(path, R_OK | W_OK), EACCES);
        EXPECT_ERR(open(path, O_RDONLY), EACCES);
    }
    expect_file_system(fd, path, 0x09041934);
    EXPECT_ERR(truncate(path, 0), EINVAL);
    EXPECT_ERR(linkat(AT_FDCWD, path, AT_FDCWD, "/tmp/t_event.name", AT_SYMLINK_FOLLOW), EXDEV);
    EXPECT_EQ(fstat(open(path, O_PATH), &by_path), 0);
    if (!on_homeroom())
        return; /* before Linux 6.17 a change is of all these files */
    EXPECT_ERR(fchmod(fd, 0600), EOPNOTSUPP);
    EXPECT_ERR(fchown(fd, 0, 0), EOPNOTSUPP);
    EXPECT_ERR(chmod(path, 0600), EOPNOTSUPP);
    EXPECT_ERR(utimensat(AT_FDCWD, path, (struct timespec[2]){{1, 0}, {1, 0}}, 0), EOPNOTSUPP);
    EXPECT_ERR(utimensat(AT_FDCWD, path, NULL, 0), geteuid() == 0 ? EOPNOTSUPP : EACCES);
}

static void files_without_a_node(void)
{
    sigset_t set;
    char path[32];
    int pair[2];

    sigemptyset(&set);
    expect_no_node(eventfd(0, 0));
    expect_no_node(timerfd_create(CLOCK_MONOTONIC, 0));
    expect_no_node(signalfd(-1, &set, 0));
    expect_no_node(epoll_create1(0));
    EXPECT_EQ(pipe(pair), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", pair[1]);
    expect_file_system(pair[1], path, 0x50495045);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", pair[1]);
    expect_file_system(pair[1], path, 0x534f434b);
}

/* Whether fd is open in a program that this process starts. */
static bool survives_exec(int fd)
{
    char command[40];
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        snprintf(command, sizeof command, "readlink /proc/self/fd/%d > /dev/null", fd);
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(99);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    return WEXITSTATUS(status) == 0;
}

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * MS};

    while (nanosleep(&t, &t) != 0)
        ;
}

static int pid_state(pid_t pid, pid_t tid)
{
    char path[64], line[256] = "", *end;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    fd = open(path, O_RDONLY);
    if (fd >= 0)
        (void)!read(fd, line, sizeof line - 1);
    close(fd);
    end = strrchr(line, ')');
    return end != NULL ? end[2] : 0;
}

/* Waits until thread `*tid`, which a new thread sets, sleeps in a system call. */
static void wait_until_asleep(volatile pid_t *tid)
{
    while (*tid == 0 || pid_state(getpid(), *tid) != 'S')
        sched_yield();
}

struct reader {
    pthread_t thread;
    volatile pid_t tid;
    int fd;
    uint64_t n;
    ssize_t got;
};

static void *read_one(void *arg)
{
    struct reader *r = arg;

    r->tid = (pid_t)syscall(SYS_gettid);
    r->got = read(r->fd, &r->n, sizeof r->n);
    return NULL;
}

static void start_reader(struct reader *r, int fd)
{
    *r = (struct reader){.fd = fd};
    EXPECT_EQ(pthread_create(&r->thread, NULL, read_one, r), 0);
    wait_until_asleep(&r->tid);
}

static void end_reader(struct reader *r, uint64_t n)
{
    EXPECT_EQ(pthread_join(r->thread, NULL), 0);
    EXPECT_EQ(r->got, sizeof r->n);
    EXPECT_EQ(r->n, n);
}

/* ---- eventfd ---- */

static void eventfd_errors(void)
{
    uint64_t most = UINT64_MAX, n = 1;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    char small[7] = "";

    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR | O_NONBLOCK);
    EXPECT_ERR(eventfd(0, 2), EINVAL);
    EXPECT_ERR(eventfd(0, O_APPEND), EINVAL);
    EXPECT_ERR(read(fd, small, sizeof small), EINVAL);
    EXPECT_ERR(write(fd, small, sizeof small), EINVAL);
    EXPECT_ERR(write(fd, &most, sizeof most), EINVAL);
    EXPECT_ERR(read(fd, &n, sizeof n), EAGAIN);
    EXPECT_ERR(write(fd, BAD_ADDRESS, 8), EFAULT);
    EXPECT_ERR(read(fd, BAD_ADDRESS, 8), EAGAIN);
    give(fd, 7);
    EXPECT_ERR(read(fd, BAD_ADDRESS, 8), EFAULT);
    if (on_homeroom()) /* Linux forgets it */
        EXPECT_EQ(take(fd), 7);
    EXPECT_ERR(ioctl(fd, 0x5401, small), ENOTTY);
    EXPECT_ERR(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0, ENODEV);
    expect_link(fd, "anon_inode:[eventfd]");
    EXPECT_EQ(survives_exec(fd), false);
    EXPECT_EQ(survives_exec(dup(fd)), true);
}

static void eventfd_counts(void)
{
    uint64_t n = UINT64_MAX - 1;
    char large[64];
    int fd = eventfd(3, EFD_NONBLOCK), sem = eventfd(2, EFD_NONBLOCK | EFD_SEMAPHORE);

    EXPECT_EQ(ready(fd), POLLIN | POLLOUT);
    give(fd, 4);
    EXPECT_EQ(take(fd), 7);
    EXPECT_EQ(ready(fd), POLLOUT);
    give(fd, 0);
    EXPECT_EQ(ready(fd), POLLOUT);
    EXPECT_EQ(write(fd, &n, sizeof n), 8);
    EXPECT_EQ(ready(fd), POLLIN);
    n = 1;
    EXPECT_ERR(write(fd, &n, sizeof n), EAGAIN);
    EXPECT_EQ(read(fd, large, sizeof large), 8); /* more than 8 bytes do not matter */
    EXPECT_EQ(take(sem), 1);
    EXPECT_EQ(take(sem), 1);
    EXPECT_ERR(read(sem, &n, sizeof n), EAGAIN);
    fd = (int)syscall(SYS_eventfd, 5);
    EXPECT_EQ(take(fd), 5);
}

static void eventfd_waits(void)
{
    int fd = eventfd(0, 0), copy = dup(fd), ep;
    struct reader r;
    pid_t pid;

    start_reader(&r, fd);
    give(fd, 9);
    end_reader(&r, 9);
    start_reader(&r,
                 fd); /* close() does not end the wait, and the file exists as long as the read */
    EXPECT_EQ(close(fd), 0);
    give(copy, 4);
    end_reader(&r, 4);

    ep = epoll_with(copy, EPOLLIN);
    EXPECT_EQ(events_of(ep, 0), 0);
    give(copy, 1);
    EXPECT_EQ(events_of(ep, 30000), EPOLLIN);
    EXPECT_EQ(events_of(ep, 0), EPOLLIN);
    EXPECT_EQ(take(copy), 1);
    EXPECT_EQ(events_of(ep, 0), 0);
    ep = epoll_with(copy, EPOLLIN | EPOLLET);
    give(copy, 1);
    EXPECT_EQ(events_of(ep, 30000), EPOLLIN);
    EXPECT_EQ(events_of(ep, 0), 0); /* the edge was reported */
    give(copy, 1);
    EXPECT_EQ(events_of(ep, 0), EPOLLIN); /* another edge, although it was not read */

    pid = fork(); /* the counter is shared */
    if (pid == 0) {
        give(copy, 40);
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
    EXPECT_EQ(take(copy), 42);
}

static void *give_many(void *arg)
{
    for (int i = 0; i < ROUNDS; i++)
        give(*(int *)arg, 1);
    return NULL;
}

/* A counter loses nothing between writers and readers that wait for each other. */
static void eventfd_race(void)
{
    int fd = eventfd(UINT32_MAX, 0);
    uint64_t sum = 0;
    pthread_t t[3];

    give(fd, UINT64_MAX - 1 - UINT32_MAX); /* full: the writers wait */
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(pthread_create(&t[i], NULL, give_many, &fd), 0);
    EXPECT(take(fd) == UINT64_MAX - 1);
    while (sum < 3 * ROUNDS)
        sum += take(fd);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(pthread_join(t[i], NULL), 0);
    EXPECT_EQ(sum, 3 * ROUNDS);
}

/* ---- timerfd ---- */

static void set_timer(int fd, int flags, long ns, long interval_ns)
{
    struct itimerspec s = {{interval_ns / 1000000000, interval_ns % 1000000000},
                           {ns / 1000000000, ns % 1000000000}};

    EXPECT_EQ(timerfd_settime(fd, flags, &s, NULL), 0);
}

static void timerfd_errors(void)
{
    struct itimerspec s = {{0, 0}, {0, 1}}, old;
    uint64_t n;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), other = eventfd(0, 0);

    EXPECT(fd >= 0 && timerfd_create(CLOCK_BOOTTIME, 0) >= 0);
    EXPECT_ERR(timerfd_create(CLOCK_THREAD_CPUTIME_ID, 0), EINVAL);
    EXPECT_ERR(timerfd_create(77, 0), EINVAL);
    EXPECT_ERR(timerfd_create(CLOCK_REALTIME, 1), EINVAL);
    EXPECT_ERR(timerfd_settime(fd, 4, &s, NULL), EINVAL);
    EXPECT_ERR(timerfd_settime(999, 0, &s, NULL), EBADF);
    EXPECT_ERR(timerfd_settime(other, 0, &s, NULL), EINVAL);
    EXPECT_ERR(timerfd_gettime(other, &old), EINVAL);
    EXPECT_ERR(timerfd_gettime(999, &old), EBADF);
    EXPECT_ERR(syscall(SYS_timerfd_gettime, fd, BAD_ADDRESS), EFAULT);
    EXPECT_ERR(syscall(SYS_timerfd_settime, fd, 0, BAD_ADDRESS, NULL), EFAULT);
    s.it_value.tv_nsec = 1000000000;
    EXPECT_ERR(timerfd_settime(fd, 0, &s, NULL), EINVAL);
    s.it_value = (struct timespec){0, 1};
    s.it_interval.tv_sec = -1;
    EXPECT_ERR(timerfd_settime(fd, 0, &s, NULL), EINVAL);
    EXPECT_ERR(read(fd, &n, 7), EINVAL);
    EXPECT_ERR(read(fd, &n, 8), EAGAIN);
    EXPECT_ERR(write(fd, &n, 8), EINVAL);
    EXPECT_EQ(ready(fd), 0);
    set_timer(fd, 0, 1, 0);
    wait_for(fd);
    EXPECT_ERR(read(fd, BAD_ADDRESS, 8), EFAULT);
    if (on_homeroom()) /* Linux forgets it */
        EXPECT_EQ(take(fd), 1);
    expect_link(fd, "anon_inode:[timerfd]");
    EXPECT_EQ(survives_exec(fd), false);
}

static void timerfd_expiries(void)
{
    struct itimerspec s;
    uint64_t n;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), ep = epoll_with(fd, EPOLLIN | EPOLLET);

    set_timer(fd, 0, 2 * MS, 0);
    EXPECT_EQ(events_of(ep, 30000), EPOLLIN);
    EXPECT_EQ(events_of(ep, 0), 0);
    EXPECT_EQ(ready(fd), POLLIN);
    EXPECT_EQ(take(fd), 1);
    EXPECT_ERR(read(fd, &n, 8), EAGAIN);
    EXPECT_EQ(timerfd_gettime(fd, &s), 0);
    EXPECT(s.it_value.tv_sec == 0 && s.it_value.tv_nsec == 0);

    set_timer(fd, 0, MS, MS); /* periodic: a read counts */
    sleep_ms(30);
    EXPECT(take(fd) >= 29);
    EXPECT_EQ(timerfd_gettime(fd, &s), 0);
    EXPECT(s.it_value.tv_sec == 0 && s.it_value.tv_nsec <= MS && s.it_interval.tv_nsec == MS);
    EXPECT_EQ(events_of(ep, 30000), EPOLLIN); /* it goes on */

    set_timer(fd, TFD_TIMER_ABSTIME, 1, 1); /* since boot, each nanosecond */
    wait_for(fd);
    n = take(fd);
    EXPECT(n > 1000000);
    for (int i = 0; i < 100; i++) { /* the shortest interval does not stop anything */
        wait_for(fd);
        EXPECT(take(fd) > 0);
    }
    set_timer(fd, 0, 0, MS); /* off; the interval alone does nothing */
    EXPECT_ERR(read(fd, &n, 8), EAGAIN);

    set_timer(fd, 0, 3600 * 1000 * MS, 0);
    s = (struct itimerspec){{0, 0}, {INT64_MAX, 999999999}}; /* the end of time */
    EXPECT_EQ(timerfd_settime(fd, 0, &s, &s), 0);
    EXPECT(s.it_value.tv_sec >= 3500 && s.it_value.tv_sec <= 3600);
    EXPECT_EQ(ready(fd), 0);
}

static void timerfd_waits(void)
{
    int fd = timerfd_create(CLOCK_BOOTTIME, 0), copy = dup(fd);
    struct reader r[2];
    pid_t pid;

    start_reader(&r[0], fd);
    EXPECT_EQ(close(fd), 0);
    set_timer(copy, 0, 1, 0);
    end_reader(&r[0], 1);
    start_reader(&r[0], copy);
    start_reader(&r[1], copy); /* one of them gets each expiry */
    set_timer(copy, 0, 1, 0);
    while (r[0].got == 0 && r[1].got == 0)
        sched_yield();
    set_timer(copy, 0, 1, 0);
    end_reader(&r[0], 1);
    end_reader(&r[1], 1);
    pid = fork(); /* the timer is shared */
    if (pid == 0) {
        set_timer(copy, 0, MS, 0);
        _exit(0);
    }
    EXPECT_EQ(take(copy), 1);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
    set_timer(copy, 0, 1, 1);
    EXPECT_EQ(close(copy), 0); /* while it expires */
}

static void set_clock(long seconds)
{
    struct timespec t;

    EXPECT_EQ(clock_gettime(CLOCK_REALTIME, &t), 0);
    t.tv_sec += seconds;
    EXPECT_EQ(clock_settime(CLOCK_REALTIME, &t), 0);
}

static timer_t make_timer(clockid_t clock, int notify, int signo, pid_t tid, int *err);

/* A change of the time of day moves what waits for a time of day, and nothing else. */
static void time_of_day(void)
{
    int real = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
    int relative = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
    int cancel = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
    struct timespec now;
    struct itimerspec s = {{0, 0}, {0, 0}};
    siginfo_t info;
    sigset_t usr1;
    timer_t t;
    uint64_t n;

    if (!on_homeroom() || geteuid() != 0)
        SKIP("sets the time of day");
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    t = make_timer(CLOCK_REALTIME, SIGEV_SIGNAL, SIGUSR1, 0, NULL);
    EXPECT_EQ(clock_gettime(CLOCK_REALTIME, &now), 0);
    s.it_value.tv_sec = now.tv_sec + 1000;
    EXPECT_EQ(timerfd_settime(real, TFD_TIMER_ABSTIME, &s, NULL), 0);
    EXPECT_EQ(timerfd_settime(cancel, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &s, NULL), 0);
    EXPECT_EQ(syscall(SYS_timer_settime, t, TIMER_ABSTIME, &s, NULL), 0);
    set_timer(relative, TFD_TIMER_CANCEL_ON_SET, 1000 * 1000 * MS, 0);
    set_clock(500);
    EXPECT_EQ(ready(real), 0);
    EXPECT_EQ(timerfd_gettime(real, &s), 0);
    EXPECT(s.it_value.tv_sec <= 500);
    EXPECT_EQ(ready(cancel), POLLIN);
    EXPECT_ERR(read(cancel, &n, 8), ECANCELED);
    EXPECT_ERR(read(cancel, &n, 8), EAGAIN);
    set_clock(1000);
    wait_for(real);
    EXPECT_EQ(take(real), 1);
    EXPECT_EQ(sigwaitinfo(&usr1, &info), SIGUSR1);
    EXPECT_EQ(ready(relative), 0);
    EXPECT_EQ(timerfd_gettime(relative, &s), 0);
    EXPECT(s.it_value.tv_sec > 500);
    set_clock(-1500);
    EXPECT_EQ(ready(relative), 0);
    EXPECT_ERR(read(real, &n, 8), EAGAIN);
}

static int racing;

static void *change_timers(void *arg)
{
    struct itimerspec s, fast = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};

    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        timerfd_settime(racing, 0, i % 3 == 0 ? &off : &fast, &s);
        timerfd_gettime(racing, &s);
    }
    return NULL;
}

static void *read_timers(void *arg)
{
    uint64_t n;

    (void)arg;
    for (int i = 0; i < ROUNDS; i++)
        if (read(racing, &n, 8) == 8)
            EXPECT(n > 0);
    return NULL;
}

static void *reopen_timers(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

        EXPECT_EQ(dup2(fd, racing), racing); /* closes the former one, perhaps while it expires */
        close(fd);
    }
    return NULL;
}

static void *watch_timers(void *arg)
{
    int ep = epoll_create1(0);

    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct epoll_event ev = {.events = EPOLLIN | EPOLLET};

        epoll_ctl(ep, i % 2 != 0 ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, racing, &ev);
        epoll_wait(ep, &ev, 1, 0);
    }
    close(ep);
    return NULL;
}

/* Changes, reads, closes and epoll of one timer in four threads, while it expires. */
static void timerfd_race(void)
{
    void *(*body[])(void *) = {change_timers, read_timers, reopen_timers, watch_timers};
    pthread_t t[4];

    racing = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(pthread_create(&t[i], NULL, body[i], NULL), 0);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(pthread_join(t[i], NULL), 0);
}

/* ---- signalfd ---- */

static sigset_t block(int a, int b)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, a);
    sigaddset(&set, b);
    EXPECT_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    return set;
}

static void signalfd_errors(void)
{
    sigset_t set = block(SIGUSR1, SIGKILL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    struct signalfd_siginfo s;

    EXPECT_ERR(signalfd(-1, &set, 1), EINVAL);
    EXPECT_ERR(signalfd(999, &set, 0), EBADF);
    EXPECT_ERR(signalfd(eventfd(0, 0), &set, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_signalfd4, -1, &set, 7, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_signalfd4, -1, BAD_ADDRESS, 8, 0), EFAULT);
    EXPECT_ERR(read(fd, &s, sizeof s - 1), EINVAL);
    EXPECT_ERR(read(fd, &s, sizeof s), EAGAIN);
    EXPECT_ERR(write(fd, &s, sizeof s), EINVAL);
    EXPECT_EQ(ready(fd), 0);
    raise(SIGUSR1);
    EXPECT_ERR(read(fd, BAD_ADDRESS, sizeof s), EFAULT);
    if (on_homeroom()) /* Linux forgets it */
        EXPECT_EQ(read(fd, &s, sizeof s), sizeof s);
    expect_link(fd, "anon_inode:[signalfd]");
    EXPECT_EQ(survives_exec(fd), false);
}

static struct signalfd_siginfo next_signal(int fd)
{
    struct signalfd_siginfo s;

    memset(&s, 0xff, sizeof s);
    EXPECT_EQ(read(fd, &s, sizeof s), sizeof s);
    return s;
}

static void signalfd_siginfos(void)
{
    int rt = SIGRTMIN + 1, fd, child;
    sigset_t set = block(SIGCHLD, rt), usr1;
    struct signalfd_siginfo s, many[3];
    timer_t t;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    sigaddset(&set, SIGUSR1);
    fd = signalfd(-1, &set, SFD_NONBLOCK);
    EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
    EXPECT_EQ(ready(fd), POLLIN);
    s = next_signal(fd);
    EXPECT_EQ(s.ssi_signo, SIGUSR1);
    EXPECT_EQ(s.ssi_code, SI_USER);
    EXPECT_EQ(s.ssi_pid, getpid());
    EXPECT_EQ(s.ssi_uid, getuid());
    EXPECT_EQ(s.ssi_status, 0);
    EXPECT_EQ(ready(fd), 0);

    child = fork();
    if (child == 0)
        _exit(7);
    wait_for(fd);
    s = next_signal(fd);
    EXPECT_EQ(s.ssi_signo, SIGCHLD);
    EXPECT_EQ(s.ssi_code, CLD_EXITED);
    EXPECT_EQ(s.ssi_pid, child);
    EXPECT_EQ(s.ssi_status, 7);

    for (int i = 0; i < 4; i++)
        EXPECT_EQ(sigqueue(getpid(), rt, (union sigval){.sival_int = i}), 0);
    EXPECT_EQ(read(fd, many, sizeof many + 100), sizeof many); /* whole records only */
    for (int i = 0; i < 3; i++)
        EXPECT(many[i].ssi_signo == (unsigned)rt && many[i].ssi_int == i &&
               many[i].ssi_code == SI_QUEUE);
    EXPECT_EQ(next_signal(fd).ssi_int, 3);

    t = make_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0, NULL);
    EXPECT_EQ(syscall(SYS_timer_settime, t, 0, &(struct itimerspec){{0, 0}, {0, 1}}, NULL), 0);
    wait_for(fd);
    s = next_signal(fd);
    EXPECT_EQ(s.ssi_code, SI_TIMER);
    EXPECT_EQ(s.ssi_ptr, 0x1122334455667788);
    EXPECT_EQ(s.ssi_tid, (long)t);
}

/* A signal whose record cannot be stored is pending again, also above the limit of pending signals.  Linux loses it. */
static void signalfd_loses_nothing(void)
{
    int rt = SIGRTMIN + 1, fd;
    sigset_t set = block(SIGUSR1, rt);
    struct signalfd_siginfo s;

    if (!on_homeroom())
        SKIP("Linux loses the signal");
    fd = signalfd(-1, &set, SFD_NONBLOCK);
    EXPECT_EQ(sigqueue(getpid(), rt, (union sigval){.sival_int = 7}), 0);
    EXPECT_EQ(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 8}), 0);
    EXPECT_EQ(setrlimit(RLIMIT_SIGPENDING, &(struct rlimit){2, 2}), 0);
    EXPECT_ERR(sigqueue(getpid(), rt, (union sigval){.sival_int = 9}), EAGAIN);
    for (int i = 0; i < 3; i++)
        EXPECT_ERR(read(fd, BAD_ADDRESS, sizeof s), EFAULT);
    s = next_signal(fd);
    EXPECT(s.ssi_signo == SIGUSR1 && s.ssi_code == SI_QUEUE && s.ssi_int == 8);
    EXPECT_ERR(read(fd, BAD_ADDRESS, sizeof s), EFAULT);
    s = next_signal(fd);
    EXPECT(s.ssi_signo == (unsigned)rt && s.ssi_code == SI_QUEUE && s.ssi_int == 7);
    EXPECT_ERR(read(fd, &s, sizeof s), EAGAIN);
}

/* What failed reads make pending again is bounded, although a periodic timer has the next signal pending, too. */
static void signalfd_puts_back_few(void)
{
    struct rlimit few = {4, 4};
    int rt = SIGRTMIN + 1, fd, n = 0;
    sigset_t set = block(rt, rt);
    struct signalfd_siginfo s;
    timer_t t;

    fd = signalfd(-1, &set, SFD_NONBLOCK);
    t = make_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL, rt, 0, NULL);
    EXPECT_EQ(setrlimit(RLIMIT_SIGPENDING, &few), 0);
    EXPECT_EQ(syscall(SYS_timer_settime, t, 0, &(struct itimerspec){{0, 1}, {0, 1}}, NULL), 0);
    for (int i = 0; i < 5000; i++) {
        wait_for(fd);
        EXPECT_ERR(read(fd, BAD_ADDRESS, sizeof s), EFAULT);
    }
    EXPECT_EQ(syscall(SYS_timer_delete, t), 0);
    while (read(fd, &s, sizeof s) > 0)
        n++;
    EXPECT(n <= 4 + 1);
}

struct signal_reader {
    pthread_t thread;
    volatile pid_t tid;
    int fd;
    struct signalfd_siginfo s;
};

static void *read_signal(void *arg)
{
    struct signal_reader *r = arg;

    r->tid = (pid_t)syscall(SYS_gettid);
    r->s = next_signal(r->fd);
    return NULL;
}

static void signalfd_waits(void)
{
    int rt = SIGRTMIN + 1, fd, ep, status;
    sigset_t set = block(SIGUSR1, rt), none;
    struct signal_reader r[2] = {0};
    pid_t pid;

    fd = signalfd(-1, &set, 0);
    for (int i = 0; i < 2; i++) {
        r[i].fd = fd;
        EXPECT_EQ(pthread_create(&r[i].thread, NULL, read_signal, &r[i]), 0);
        wait_until_asleep(&r[i].tid);
    }
    for (int i = 1; i <= 2; i++) /* both wake, although the first could take both */
        EXPECT_EQ(sigqueue(getpid(), rt, (union sigval){.sival_int = i}), 0);
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(pthread_join(r[i].thread, NULL), 0);
    EXPECT_EQ(r[0].s.ssi_int + r[1].s.ssi_int, 3);

    ep = epoll_with(fd, EPOLLIN | EPOLLET);
    EXPECT_EQ(events_of(ep, 0), 0);
    EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
    EXPECT_EQ(events_of(ep, 30000), EPOLLIN);
    EXPECT_EQ(events_of(ep, 0), 0);
    EXPECT_EQ(sigqueue(getpid(), rt, (union sigval){0}), 0);
    EXPECT_EQ(events_of(ep, 0), EPOLLIN);

    pid = fork(); /* the child has no pending signals, and reads its own */
    if (pid == 0) {
        EXPECT_EQ(ready(fd), 0);
        raise(SIGUSR1);
        EXPECT_EQ(next_signal(fd).ssi_pid, getpid());
        EXPECT_EQ(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL),
                  0); /* the epoll waits for the child's signals */
        EXPECT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN}), 0);
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    (void)events_of(ep, 0); /* the child is gone; on Linux its end gives an event */
    EXPECT_EQ(close(ep), 0);
    EXPECT_EQ(next_signal(fd).ssi_signo, SIGUSR1);
    EXPECT_EQ(next_signal(fd).ssi_signo, rt);

    sigemptyset(&none);
    EXPECT_EQ(signalfd(fd, &none, 0), fd);
    raise(SIGUSR1);
    EXPECT_EQ(ready(fd), 0);
    EXPECT_EQ(signalfd(fd, &set, 0), fd);
    EXPECT_EQ(ready(fd), POLLIN);
}

/* ---- timers of processes ---- */

/* The kernel's struct sigevent. */
struct event {
    uint64_t value;
    int signo, notify, tid, pad[11];
};

static timer_t make_timer(clockid_t clock, int notify, int signo, pid_t tid, int *err)
{
    struct event ev = {0x1122334455667788, signo, notify, tid, {0}};
    int id = -1;
    long r = syscall(SYS_timer_create, clock, &ev, &id);

    if (err != NULL)
        *err = r == 0 ? 0 : errno;
    else
        EXPECT_EQ(r, 0);
    return (timer_t)(long)id;
}

static int why(clockid_t clock, int notify, int signo, pid_t tid)
{
    int err;

    (void)make_timer(clock, notify, signo, tid, &err);
    return err;
}

static long arm(timer_t t, long ns, long interval_ns)
{
    struct itimerspec s = {{interval_ns / 1000000000, interval_ns % 1000000000},
                           {ns / 1000000000, ns % 1000000000}};

    return syscall(SYS_timer_settime, t, 0, &s, NULL);
}

static void timer_errors(void)
{
    struct itimerspec s = {{0, 0}, {0, 1000000000}};
    timer_t t = make_timer(CLOCK_BOOTTIME, SIGEV_SIGNAL, SIGUSR1, 0, NULL);

    EXPECT_EQ(why(77, SIGEV_SIGNAL, SIGUSR1, 0), EINVAL);
    EXPECT_EQ(why(CLOCK_MONOTONIC_RAW, SIGEV_SIGNAL, SIGUSR1, 0), EOPNOTSUPP);
    EXPECT_EQ(why(CLOCK_REALTIME, 99, SIGUSR1, 0), EINVAL);
    EXPECT_EQ(why(CLOCK_REALTIME, SIGEV_SIGNAL, 0, 0), EINVAL);
    EXPECT_EQ(why(CLOCK_REALTIME, SIGEV_SIGNAL, 65, 0), EINVAL);
    EXPECT_EQ(why(CLOCK_REALTIME, 4, SIGUSR1, 1), EINVAL); /* not a thread of this process */
    EXPECT_EQ(why(CLOCK_REALTIME, 4, SIGUSR1, 0), EINVAL);
    EXPECT_EQ(why(CLOCK_REALTIME, SIGEV_NONE, 0, 0), 0);
    EXPECT_ERR(syscall(SYS_timer_create, CLOCK_REALTIME, BAD_ADDRESS, &s), EFAULT);
    EXPECT_ERR(syscall(SYS_timer_create, CLOCK_REALTIME, NULL, BAD_ADDRESS), EFAULT);
    EXPECT_ERR(syscall(SYS_timer_settime, t, 0, &s, NULL), EINVAL);
    EXPECT_ERR(syscall(SYS_timer_settime, t, 0, NULL, NULL), EINVAL);
    EXPECT_ERR(syscall(SYS_timer_settime, t, 0, BAD_ADDRESS, NULL), EFAULT);
    EXPECT_ERR(syscall(SYS_timer_gettime, t, BAD_ADDRESS), EFAULT);
    EXPECT_ERR(syscall(SYS_timer_gettime, 77777, &s), EINVAL);
    EXPECT_ERR(syscall(SYS_timer_getoverrun, -1), EINVAL);
    EXPECT_EQ(syscall(SYS_timer_getoverrun, t), 0);
    EXPECT_EQ(syscall(SYS_timer_delete, t), 0);
    EXPECT_ERR(syscall(SYS_timer_delete, t), EINVAL);
    EXPECT_ERR(arm(t, 1, 0), EINVAL);
}

static void timer_signals(void)
{
    sigset_t set = block(SIGUSR1, SIGALRM), usr1;
    struct itimerspec s;
    siginfo_t info;
    timer_t t, other, none;
    int id = -1, n;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    EXPECT_EQ(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &id), 0); /* SIGALRM with the id */
    EXPECT_EQ(arm((timer_t)(long)id, 1, 0), 0);
    EXPECT_EQ(sigwaitinfo(&set, &info), SIGALRM);
    EXPECT(info.si_code == SI_TIMER && info.si_value.sival_int == id && info.si_timerid == id);
    EXPECT_EQ(info.si_overrun, 0);

    t = make_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0, NULL);
    other = make_timer(CLOCK_REALTIME, SIGEV_SIGNAL, SIGUSR1, 0, NULL);
    EXPECT_EQ(arm(t, MS, MS), 0);
    sleep_ms(30);
    EXPECT_EQ(sigwaitinfo(&set, &info), SIGUSR1);
    n = info.si_overrun;
    EXPECT(n >= 28);
    EXPECT_EQ(syscall(SYS_timer_getoverrun, t), n);
    EXPECT_EQ(sigwaitinfo(&set, &info), SIGUSR1); /* it goes on */
    EXPECT_EQ(info.si_timerid, (long)t);
    EXPECT_EQ(syscall(SYS_timer_gettime, t, &s), 0);
    EXPECT(s.it_value.tv_sec == 0 && s.it_value.tv_nsec <= MS && s.it_interval.tv_nsec == MS);
    EXPECT_EQ(arm(t, 1, 0), 0); /* two timers with one signal: two signals */
    EXPECT_EQ(arm(other, 1, 0), 0);
    sleep_ms(20);
    EXPECT_EQ(sigwaitinfo(&set, &info), SIGUSR1);
    n = info.si_timerid;
    EXPECT_EQ(sigwaitinfo(&set, &info), SIGUSR1);
    EXPECT_EQ(n + info.si_timerid, (long)t + (long)other);
    EXPECT_ERR(sigtimedwait(&set, &info, &(struct timespec){0, 0}), EAGAIN);

    none = make_timer(CLOCK_MONOTONIC, SIGEV_NONE, SIGUSR1, 0, NULL);
    EXPECT_EQ(arm(none, 1, 1000 * 1000 * MS), 0);
    sleep_ms(2);
    EXPECT_EQ(syscall(SYS_timer_gettime, none, &s), 0);
    EXPECT(s.it_value.tv_sec > 500 && s.it_value.tv_sec <= 1000);
    EXPECT_ERR(sigtimedwait(&set, &info, &(struct timespec){0, 0}), EAGAIN);
    EXPECT_EQ(arm(t, 1, 1), 0);
    sleep_ms(2);
    EXPECT_EQ(syscall(SYS_timer_delete, t), 0); /* with its signal */
    EXPECT_EQ(syscall(SYS_timer_delete, other), 0);
    if (on_homeroom()) /* POSIX and old versions of Linux leave the signal */
        EXPECT_ERR(sigtimedwait(&set, &info, &(struct timespec){0, 0}), EAGAIN);
}

static volatile sig_atomic_t caught;

static void catch (int sig)
{
    (void)sig;
    caught++;
}

/* A timer goes on while its signal is ignored, and when a pending one is discarded. */
static void timer_ignored(void)
{
    timer_t t = make_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0, NULL);
    sigset_t none, set;

    sigemptyset(&none);
    signal(SIGUSR1, SIG_IGN);
    EXPECT_EQ(arm(t, MS, MS), 0);
    sleep_ms(3);
    signal(SIGUSR1, catch);
    while (caught == 0)
        sigsuspend(&none);
    set = block(SIGUSR1, SIGUSR2);
    sleep_ms(3); /* it is pending */
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR1, catch);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    for (int seen = caught; caught == seen;)
        sigsuspend(&none);
}

struct target {
    volatile pid_t tid;
    volatile int done;
};

static void *be_target(void *arg)
{
    struct target *me = arg;
    sigset_t usr2;

    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    me->tid = (pid_t)syscall(SYS_gettid);
    while (!me->done) { /* only this thread can take it */
        siginfo_t info;

        if (sigwaitinfo(&usr2, &info) == SIGUSR2)
            me->done = 1;
    }
    return NULL;
}

static void notified(union sigval v)
{
    give(v.sival_int, 1);
}

static void timer_threads(void)
{
    struct target target = {0};
    struct sigevent ev = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notified};
    pthread_t thread;
    siginfo_t info;
    timer_t t;
    sigset_t set = block(SIGUSR1, SIGUSR2);

    EXPECT_EQ(pthread_create(&thread, NULL, be_target, &target), 0);
    while (target.tid == 0)
        sched_yield();
    t = make_timer(CLOCK_MONOTONIC, 4, SIGUSR2, target.tid, NULL);
    EXPECT_EQ(arm(t, MS, 0), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    EXPECT_EQ(target.done, 1);
    EXPECT_EQ(arm(t, 1, MS), 0); /* the thread is gone: its signals go nowhere */
    EXPECT_ERR(sigtimedwait(&set, &info, &(struct timespec){0, 5 * MS}), EAGAIN);

    ev.sigev_value.sival_int = eventfd(0, 0); /* the C library's threads */
    EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &ev, &t), 0);
    EXPECT_EQ(timer_settime(t, 0, &(struct itimerspec){{0, 0}, {0, MS}}, NULL), 0);
    EXPECT_EQ(take(ev.sigev_value.sival_int), 1);
    EXPECT_EQ(timer_delete(t), 0);
}

/* fork does not copy timers, exec deletes them and their pending signals. */
static void timer_fork_exec(void)
{
    timer_t t = make_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0, NULL);
    sigset_t set = block(SIGUSR1, SIGUSR2);
    siginfo_t info;
    int status;
    pid_t pid;

    EXPECT_EQ(arm(t, 1, MS), 0);
    pid = fork();
    if (pid == 0) {
        EXPECT_ERR(syscall(SYS_timer_gettime, t, &(struct itimerspec){0}), EINVAL);
        EXPECT_ERR(sigtimedwait(&set, &info, &(struct timespec){0, 5 * MS}), EAGAIN);
        t = make_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR2, 0, NULL);
        EXPECT_EQ(arm(t, 1, MS), 0);
        sleep_ms(3);
        sigpending(&set);
        EXPECT_EQ(sigismember(&set, SIGUSR2), 1);
        execl("/bin/sh", "sh", "-c",
              "grep -q '^ShdPnd:.*000$' /proc/self/status && exec sleep 0.01", NULL);
        _exit(99);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(sigwaitinfo(&set, &info), SIGUSR1); /* the parent's goes on */
}

static void *delete_timers(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        int err;
        timer_t t = make_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 2, 0, &err);

        if (err == 0) {
            arm(t, 1 + i % 7 * 1000, i % 2 * MS);
            syscall(SYS_timer_getoverrun, t);
            if (i % 3 == 0)
                sched_yield();
            EXPECT_EQ(syscall(SYS_timer_delete, t), 0);
        }
    }
    return NULL;
}

/* Timers expire while threads change and delete them; then no signal is left. */
static void timer_race(void)
{
    pthread_t thread[4];
    sigset_t set;

    signal(SIGRTMIN + 2, catch);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(pthread_create(&thread[i], NULL, delete_timers, NULL), 0);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < 64; i++) { /* processes that end while their timers expire */
        pid_t pid = fork();

        if (pid == 0) {
            arm(make_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 2, 0, NULL), 1, MS);
            _exit(0);
        }
        EXPECT_EQ(waitpid(pid, NULL, 0), pid);
    }
    sigpending(&set);
    EXPECT_EQ(sigismember(&set, SIGRTMIN + 2), 0);
}

/* ---- limits ---- */

/* Makes timers until there is an error; their number.  All are armed. */
static int timers_until(int error)
{
    for (int n = 0;; n++) {
        int err;
        timer_t t = make_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0, &err);

        if (err != 0) {
            EXPECT_EQ(err, error);
            return n;
        }
        EXPECT_EQ(arm(t, 1, 0), 0);
    }
}

static void as_user(uid_t uid)
{
    EXPECT_EQ(setgid(uid), 0);
    EXPECT_EQ(setuid(uid), 0);
}

/* Each call finds its timer among many, whatever the order in which they were made and deleted. */
static void many_timers(void)
{
    enum { TIMERS = 600 };
    struct sigevent ev = {.sigev_notify = SIGEV_NONE};
    struct itimerspec it = {.it_value.tv_sec = 1000}, now;
    int id[TIMERS], again;

    for (int i = 0; i < TIMERS; i++)
        EXPECT_EQ(syscall(SYS_timer_create, CLOCK_MONOTONIC, &ev, &id[i]), 0);
    for (int i = 0; i < TIMERS; i++) {
        it.it_value.tv_sec = 1000 + 10 * i;
        EXPECT_EQ(syscall(SYS_timer_settime, id[i], 0, &it, NULL), 0);
    }
    for (int i = 0; i < TIMERS; i += 3)
        EXPECT_EQ(syscall(SYS_timer_delete, id[(i * 7) % TIMERS]), 0);
    for (int i = 0; i < TIMERS; i++) {
        if (i % 3 == 0) {
            EXPECT_ERR(syscall(SYS_timer_gettime, id[i], &now), EINVAL);
            continue;
        }
        EXPECT_EQ(syscall(SYS_timer_gettime, id[i], &now), 0);
        EXPECT(now.it_value.tv_sec > 1000 + 10 * (i - 1) && now.it_value.tv_sec <= 1000 + 10 * i);
    }
    EXPECT_EQ(syscall(SYS_timer_create, CLOCK_MONOTONIC, &ev, &again), 0);
    for (int i = 0; i < TIMERS; i++)
        EXPECT(again != id[i]);
    EXPECT_ERR(syscall(SYS_timer_gettime, -1, &now), EINVAL);
}

/* Timers count for RLIMIT_SIGPENDING, and no longer when their process has ended. */
static void timer_limit(void)
{
    struct rlimit few = {20, 20};
    sigset_t set = block(SIGUSR1, SIGUSR2);

    NEED_ROOT();
    as_user(20000 + (uid_t)getpid() % 40000); /* a user without other processes */
    EXPECT_EQ(setrlimit(RLIMIT_SIGPENDING, &few), 0);
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            EXPECT_EQ(timers_until(EAGAIN), 20);
            sleep_ms(3);
            EXPECT_EQ(timers_until(EAGAIN), 0); /* those that are pending count once */
            EXPECT_EQ(syscall(SYS_timer_delete, 0), 0);
            while (sigtimedwait(&set, NULL, &(struct timespec){0, 0}) > 0)
                ; /* Linux keeps the signal of a deleted timer, which counts */
            EXPECT_EQ(timers_until(EAGAIN), 1);
            _exit(0);
        }
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT_EQ(status, 0);
    }
}

/* An ordinary user makes files of events until there are no descriptors; then root makes one. */
static void file_limit(void)
{
    struct rlimit many = {4096, 4096};
    sigset_t set = block(SIGUSR1, SIGUSR2);
    int status, made = 0, err;
    pid_t pid;

    NEED_ROOT();
    if (setrlimit(RLIMIT_NOFILE, &many) != 0)
        SKIP("cannot raise the limit");
    pid = fork();
    if (pid == 0) {
        as_user(54322);
        for (;; made++) {
            int kind = made % 3, fd;

            if (kind == 0)
                fd = eventfd(0, 0);
            else
                fd = kind == 1 ? timerfd_create(CLOCK_REALTIME, 0) : signalfd(-1, &set, 0);
            err = errno;
            if (fd < 0)
                break;
            if (kind == 1)
                set_timer(fd, TFD_TIMER_ABSTIME, 1, 1);
        }
        EXPECT(err == EMFILE || err == ENFILE);
        EXPECT(made > 1000);
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT(eventfd(0, 0) >= 0);
}

static const struct check checks[] = {
    {"files_without_a_node", files_without_a_node},
    {"eventfd_errors", eventfd_errors},
    {"eventfd_counts", eventfd_counts},
    {"eventfd_waits", eventfd_waits},
    {"eventfd_race", eventfd_race},
    {"timerfd_errors", timerfd_errors},
    {"timerfd_expiries", timerfd_expiries},
    {"timerfd_waits", timerfd_waits},
    {"timerfd_race", timerfd_race},
    {"time_of_day", time_of_day},
    {"signalfd_errors", signalfd_errors},
    {"signalfd_siginfos", signalfd_siginfos},
    {"signalfd_loses_nothing", signalfd_loses_nothing},
    {"signalfd_puts_back_few", signalfd_puts_back_few},
    {"signalfd_waits", signalfd_waits},
    {"timer_errors", timer_errors},
    {"timer_signals", timer_signals},
    {"timer_ignored", timer_ignored},
    {"timer_threads", timer_threads},
    {"timer_fork_exec", timer_fork_exec},
    {"timer_race", timer_race},
    {"many_timers", many_timers},
    {"timer_limit", timer_limit},
    {"file_limit", file_limit},
};

CHECK_MAIN(checks)
