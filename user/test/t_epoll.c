// SPDX-License-Identifier: MIT
/* t_epoll.c - epoll: levels, edges, one-shots, closed files, and each error; as on Linux. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

enum { USER = 1234 };

static int add(int ep, int fd, unsigned events)
{
    struct epoll_event ev = {.events = events, .data.u64 = 0x1234567800000000ull | (unsigned)fd};

    return epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
}

static int modify(int ep, int fd, unsigned events)
{
    struct epoll_event ev = {.events = events, .data.u64 = (unsigned)fd};

    return epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev);
}

/* The present events, of one file at most. */
static unsigned now(int ep)
{
    struct epoll_event ev = {0};
    int n = epoll_wait(ep, &ev, 1, 0);

    EXPECT(n >= 0);
    return n == 0 ? 0 : ev.events;
}

static void errors(void)
{
    struct epoll_event ev = {.events = EPOLLIN};
    int ep = epoll_create1(EPOLL_CLOEXEC), p[2], file = open("/tmp", O_RDONLY);

    EXPECT(ep >= 0);
    EXPECT_EQ(fcntl(ep, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(pipe(p), 0);
    EXPECT_ERR(epoll_create1(1), EINVAL);
    EXPECT_ERR(syscall(SYS_epoll_create, 0), EINVAL);
    EXPECT_ERR(add(ep, 999, EPOLLIN), EBADF);
    EXPECT_ERR(add(p[0], p[1], EPOLLIN), EINVAL);
    EXPECT_ERR(add(ep, ep, EPOLLIN), EINVAL);
    EXPECT_ERR(add(ep, file, EPOLLIN), EPERM);
    EXPECT_ERR(add(p[0], file, EPOLLIN), EPERM); /* a file that cannot wait is refused first */
    EXPECT_ERR(add(file, p[0], EPOLLIN), EINVAL);
    EXPECT_ERR(modify(ep, ep, EPOLLIN), EINVAL);
    EXPECT_ERR(modify(ep, epoll_create1(0), EPOLLIN), ENOENT);
    EXPECT_ERR(epoll_ctl(ep, EPOLL_CTL_DEL, epoll_create1(0), &ev), ENOENT);
    EXPECT_ERR(modify(ep, p[0], EPOLLIN), ENOENT);
    EXPECT_ERR(epoll_ctl(ep, EPOLL_CTL_DEL, p[0], &ev), ENOENT);
    EXPECT_EQ(add(ep, p[0], EPOLLIN), 0);
    EXPECT_ERR(add(ep, p[0], EPOLLIN), EEXIST);
    EXPECT_ERR(epoll_ctl(ep, 17, p[0], &ev), EINVAL);
    EXPECT_ERR(syscall(SYS_epoll_ctl, ep, EPOLL_CTL_ADD, p[1], (void *)8), EFAULT);
    EXPECT_ERR(epoll_wait(ep, &ev, 0, 0), EINVAL);
    EXPECT_ERR(epoll_wait(p[0], &ev, 1, 0), EINVAL);
    EXPECT_ERR(epoll_wait(999, &ev, 1, 0), EBADF);
    EXPECT_EQ(epoll_wait(ep, &ev, 1, 5), 0);
}

static void levels(void)
{
    struct epoll_event ev;
    int ep = epoll_create1(0), p[2];
    char c[4];

    EXPECT_EQ(pipe(p), 0);
    EXPECT_EQ(add(ep, p[0], EPOLLIN), 0);
    EXPECT_EQ(now(ep), 0);
    EXPECT_EQ(write(p[1], "ab", 2), 2);
    EXPECT_EQ(epoll_wait(ep, &ev, 1, 10000), 1);
    EXPECT_EQ(ev.events, EPOLLIN);
    EXPECT(ev.data.u64 == (0x1234567800000000ull | (unsigned)p[0]));
    EXPECT_EQ(now(ep), EPOLLIN); /* the level still holds */
    EXPECT_EQ(read(p[0], c, 2), 2);
    EXPECT_EQ(now(ep), 0);
    EXPECT_EQ(add(ep, p[1], EPOLLOUT), 0);
    EXPECT_EQ(now(ep), EPOLLOUT);
    EXPECT_EQ(modify(ep, p[1], 0), 0);
    EXPECT_EQ(now(ep), 0);
    close(p[1]);
    EXPECT_EQ(now(ep), EPOLLHUP);
}

static void edges(void)
{
    int ep = epoll_create1(0), s[2];
    char c[8];

    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
    EXPECT_EQ(add(ep, s[0], EPOLLIN | EPOLLRDHUP | EPOLLET), 0);
    EXPECT_EQ(now(ep), 0);
    EXPECT_EQ(write(s[1], "a", 1), 1);
    EXPECT_EQ(now(ep), EPOLLIN);
    EXPECT_EQ(now(ep), 0); /* only once */
    EXPECT_EQ(write(s[1], "b", 1), 1);
    EXPECT_EQ(now(ep), EPOLLIN); /* again, because more has arrived */
    EXPECT_EQ(read(s[0], c, 8), 2);
    EXPECT_EQ(now(ep), 0);
    EXPECT_EQ(shutdown(s[1], SHUT_WR), 0);
    EXPECT_EQ(now(ep), EPOLLIN | EPOLLRDHUP);
    EXPECT_EQ(now(ep), 0);
}

static void one_shots(void)
{
    int ep = epoll_create1(0), p[2];

    EXPECT_EQ(pipe(p), 0);
    EXPECT_EQ(add(ep, p[0], EPOLLIN | EPOLLONESHOT), 0);
    EXPECT_EQ(write(p[1], "a", 1), 1);
    EXPECT_EQ(now(ep), EPOLLIN);
    EXPECT_EQ(write(p[1], "b", 1), 1);
    EXPECT_EQ(now(ep), 0);
    EXPECT_EQ(modify(ep, p[0], EPOLLIN | EPOLLONESHOT), 0);
    EXPECT_EQ(now(ep), EPOLLIN);
    EXPECT_EQ(now(ep), 0);
}

/* The last close removes a file; a duplicate keeps it. */
static void closing(void)
{
    int ep = epoll_create1(0), p[2], d;

    EXPECT_EQ(pipe(p), 0);
    EXPECT_EQ(add(ep, p[0], EPOLLIN), 0);
    d = dup(p[0]);
    EXPECT_EQ(add(ep, d, EPOLLIN), 0); /* another descriptor is another item */
    EXPECT_EQ(write(p[1], "a", 1), 1);
    EXPECT_EQ(close(p[0]), 0);
    EXPECT_EQ(now(ep), EPOLLIN);
    EXPECT_EQ(close(d), 0);
    EXPECT_EQ(now(ep), 0);
    EXPECT_EQ(pipe(p), 0);
    EXPECT_EQ(add(ep, p[0], EPOLLIN), 0);
    EXPECT_EQ(write(p[1], "a", 1), 1);
    EXPECT_EQ(now(ep), EPOLLIN);
    EXPECT_EQ(close(ep), 0);
    EXPECT_EQ(close(p[0]), 0);
}

static void polled(void)
{
    struct pollfd w;
    int ep = epoll_create1(0), p[2];
    char c;

    EXPECT_EQ(pipe(p), 0);
    EXPECT_EQ(add(ep, p[0], EPOLLIN), 0);
    w = (struct pollfd){.fd = ep, .events = POLLIN};
    EXPECT_EQ(poll(&w, 1, 0), 0);
    EXPECT_EQ(write(p[1], "a", 1), 1);
    EXPECT_EQ(poll(&w, 1, 10000), 1);
    EXPECT_EQ(w.revents, POLLIN);
    EXPECT_EQ(read(p[0], &c, 1), 1);
    EXPECT_EQ(poll(&w, 1, 0), 0);
}

static void *writer(void *arg)
{
    int fd = *(int *)arg;

    for (int i = 0; i < 1000; i++)
        EXPECT_EQ(write(fd, "x", 1), 1);
    close(fd);
    return NULL;
}

/* A thread writes and another waits: no wake-up is lost, with levels or with edges. */
static void wakes(unsigned mode)
{
    struct epoll_event ev;
    pthread_t t;
    int ep = epoll_create1(0), p[2];
    long got = 0, n = 1;
    char c[16];

    EXPECT_EQ(pipe2(p, O_NONBLOCK), 0);
    EXPECT_EQ(fcntl(p[1], F_SETFL, 0), 0);
    EXPECT_EQ(add(ep, p[0], EPOLLIN | mode), 0);
    EXPECT_EQ(pthread_create(&t, NULL, writer, &p[1]), 0);
    while (n != 0) {
        EXPECT_EQ(epoll_wait(ep, &ev, 1, 20000), 1);
        while ((n = read(p[0], c, sizeof c)) > 0)
            got += n;
        if (mode & EPOLLONESHOT)
            EXPECT_EQ(modify(ep, p[0], EPOLLIN | mode), 0);
    }
    EXPECT_EQ(got, 1000);
    pthread_join(t, NULL);
}

static void wakes_level(void)
{
    wakes(0);
}

static void wakes_edge(void)
{
    wakes(EPOLLET);
}

static void wakes_once(void)
{
    wakes(EPOLLONESHOT);
}

/* Many files: each event is reported once, in the order of arrival, a few at a time. */
static void many(void)
{
    enum { N = 200 };
    struct epoll_event ev[7];
    int ep = epoll_create1(0), p[N][2], seen[2048] = {0}, got = 0, n;

    for (int i = 0; i < N; i++) {
        EXPECT_EQ(pipe(p[i]), 0);
        EXPECT_EQ(add(ep, p[i][0], EPOLLIN | EPOLLET), 0);
    }
    for (int i = N - 1; i >= 0; i--)
        EXPECT_EQ(write(p[i][1], "x", 1), 1);
    while ((n = epoll_wait(ep, ev, 7, 0)) > 0)
        for (int i = 0; i < n; i++) {
            EXPECT_EQ((unsigned)ev[i].data.u64, p[N - 1 - got][0]);
            seen[(unsigned)ev[i].data.u64]++;
            got++;
        }
    EXPECT_EQ(n, 0);
    EXPECT_EQ(got, N);
    for (int i = 0; i < N; i++)
        EXPECT_EQ(seen[p[i][0]], 1);
}

/* Skips a test with more watches of one file than an ordinary user of Homeroom may have. */
#define NEED_WATCHES()                                                                             \
    do {                                                                                           \
        if (on_homeroom() && geteuid() != 0)                                                       \
            SKIP("needs root, whose watches of one file are not limited");                         \
    } while (0)

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The time to remove a watch does not depend on how many other items watch the file. */
static void many_watch_one_file(void)
{
    enum { FILES = 300, EPOLLS = 60 };
    int p[2], fd[FILES], ep[EPOLLS];
    double begin = seconds(), added, closed;

    NEED_WATCHES();
    EXPECT_EQ(pipe(p), 0);
    for (int i = 0; i < FILES; i++)
        EXPECT((fd[i] = dup(p[0])) >= 0);
    for (int e = 0; e < EPOLLS; e++) {
        EXPECT((ep[e] = epoll_create1(0)) >= 0);
        for (int i = 0; i < FILES; i++)
            EXPECT_EQ(add(ep[e], fd[i], EPOLLIN), 0);
    }
    added = seconds() - begin;
    begin = seconds();
    for (int e = 0; e < EPOLLS; e++)
        close(ep[e]);
    closed = seconds() - begin;
    printf("  added in %.3f s, closed in %.3f s\n", added, closed);
    /* seconds; a search for each item took 500 times as long */
    EXPECT(closed < 100 * added + 1);
}

/* Watches fd by up to 40 copies with each of 30 epolls.  Returns the number of watches that were possible. */
static int watch_often(const int fd[40], int ep[30])
{
    int n = 0;

    for (int e = 0; e < 30; e++) {
        EXPECT((ep[e] = epoll_create1(0)) >= 0);
        for (int i = 0; i < 40; i++) {
            if (add(ep[e], fd[i], EPOLLIN) == 0)
                n++;
            else
                EXPECT_EQ(errno, ENOSPC);
        }
    }
    return n;
}

/* The watches of one file are limited for an ordinary user, because a wake-up visits them all; not for root. */
static void user_watches_one_file(void)
{
    int p[2], fd[40], ep[30], others[30];
    struct pollfd one = {.events = POLLIN};

    if (!on_homeroom() || geteuid() != 0)
        SKIP("Linux does not limit the watches of one file");
    EXPECT_EQ(pipe(p), 0);
    for (int i = 0; i < 40; i++)
        EXPECT((fd[i] = dup(p[0])) >= 0);
    EXPECT_EQ(seteuid(USER), 0);
    EXPECT_EQ(watch_often(fd, ep), 1024);
    one.fd = p[0];
    EXPECT_ERR(poll(&one, 1, 10), ENOMEM);
    EXPECT_EQ(seteuid(0), 0);
    EXPECT_EQ(seteuid(USER + 1), 0);
    EXPECT_EQ(poll(&one, 1, 1), 0); /* another user can have 32, too */
    EXPECT_EQ(watch_often(fd, others), 32);
    EXPECT_ERR(poll(&one, 1, 1), ENOMEM);
    EXPECT_EQ(seteuid(0), 0);
    EXPECT_EQ(seteuid(USER), 0);
    EXPECT_EQ(write(p[1], "x", 1), 1);
    EXPECT_EQ(poll(&one, 1, -1), 1); /* a file that is ready needs no wake-up */
    EXPECT_EQ(now(ep[0]), EPOLLIN);
    EXPECT_EQ(now(ep[25]), EPOLLIN);
    EXPECT_EQ(read(p[0], fd, 1), 1);
    EXPECT_EQ(seteuid(0), 0);
    EXPECT_EQ(poll(&one, 1, 1), 0);
    EXPECT_EQ(add(ep[29], p[0], EPOLLIN), 0);
    EXPECT_EQ(seteuid(USER), 0);
    EXPECT_ERR(add(ep[28], p[0], EPOLLIN), ENOSPC);
    for (int i = 0; i < 30; i++)
        EXPECT_EQ(close(others[i]), 0);
    EXPECT_EQ(close(ep[0]), 0); /* gives back 40 */
    EXPECT_EQ(add(ep[28], p[0], EPOLLIN), 0);
    EXPECT_EQ(poll(&one, 1, 1), 0);
}

/* The signalfds of all users share lists, so one user must not be able to fill a list. */
static void user_watches_signals(void)
{
    int fd[40], ep[30];
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    EXPECT((fd[0] = signalfd(-1, &set, 0)) >= 0);
    for (int i = 1; i < 40; i++)
        EXPECT((fd[i] = dup(fd[0])) >= 0);
    EXPECT(geteuid() != 0 || seteuid(USER) == 0);
    EXPECT_EQ(watch_often(fd, ep), 30 * 40);
}

/* Echoed output wakes the processes that watch the master, but not again for each byte. */
static void echo_of_a_watched_terminal(void)
{
    enum { FILES = 300, EPOLLS = 20, REPRINTS = 64, VREPRINT_KEY = 18 };
    int m = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK), e, fd[FILES];
    char line[4000], keys[REPRINTS];
    double begin;

    NEED_WATCHES();
    if (m < 0)
        SKIP("no pseudo-terminals");
    memset(line, 'x', sizeof line);
    memset(keys, VREPRINT_KEY, sizeof keys);
    for (int i = 0; i < FILES; i++)
        EXPECT((fd[i] = dup(m)) >= 0);
    for (int n = 0; n < EPOLLS; n++) {
        EXPECT((e = epoll_create1(0)) >= 0);
        for (int i = 0; i < FILES; i++)
            EXPECT_EQ(add(e, fd[i], EPOLLIN), 0);
    }
    begin = seconds();
    EXPECT_EQ(write(m, line, sizeof line), sizeof line);
    EXPECT_EQ(write(m, keys, sizeof keys), sizeof keys);
    printf("  typed in %.3f s\n", seconds() - begin);
    EXPECT(seconds() - begin < 5);
    EXPECT_EQ(poll(&(struct pollfd){.fd = m, .events = POLLIN}, 1, 5000), 1);
    EXPECT(read(m, line, sizeof line) > 0);
}

static void on_alarm(int sig)
{
}

static void interrupted(void)
{
    /* again and again, because the first one may come before the wait */
    struct itimerval tv = {{0, 20000}, {0, 20000}};
    struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct epoll_event ev;
    int ep = epoll_create1(0);

    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &tv, NULL);
    EXPECT_ERR(epoll_wait(ep, &ev, 1, -1), EINTR);
}

static const struct check list[] = {
    {"errors", errors},
    {"levels", levels},
    {"edges", edges},
    {"one_shots", one_shots},
    {"closing", closing},
    {"polled", polled},
    {"wakes_level", wakes_level},
    {"wakes_edge", wakes_edge},
    {"wakes_once", wakes_once},
    {"many", many},
    {"many_watch_one_file", many_watch_one_file},
    {"user_watches_one_file", user_watches_one_file},
    {"user_watches_signals", user_watches_signals},
    {"echo_of_a_watched_terminal", echo_of_a_watched_terminal},
    {"interrupted", interrupted},
};
CHECK_MAIN(list)
