// SPDX-License-Identifier: MIT
/*
 * hoard.c - an ordinary user's processes take as much from the kernel as they can get, and keep it.
 *
 * `hoard N` makes N processes.  Each takes one kind of object until the kernel refuses, prints how many it has, and
 * keeps them.  When all have done so, hoard prints "full" and waits for SIGTERM.  It does not remove /tmp/hoard.
 * SEE ALSO    tests/test_limits.py
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define DIRECTORY "/tmp/hoard"

static char bytes[65536];

static long pipes(void)
{
    long n = 0;

    for (int p[2]; pipe2(p, O_NONBLOCK) == 0; n++)
        while (write(p[1], bytes, sizeof bytes) > 0)
            ;
    return n;
}

static long sockets(void)
{
    long n = 0;

    for (int s[2]; socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) == 0; n++) {
        while (write(s[0], bytes, sizeof bytes) > 0)
            ;
        if (errno != EAGAIN)
            break;
    }
    return n;
}

static long locks(void)
{
    struct flock f = {.l_type = F_WRLCK, .l_len = 1};
    char name[64];
    long n = 0;
    int fd = -1;

    for (;; n++, f.l_start += 2) {
        /* a new file for each thousand, because the list of locks has no index */
        if (n % 1000 == 0) {
            snprintf(name, sizeof name, DIRECTORY "/lock.%d.%ld", getpid(), n / 1000);
            if ((fd = open(name, O_CREAT | O_RDWR, 0600)) < 0)
                break;
        }
        if (fcntl(fd, F_SETLK, &f) != 0)
            break;
    }
    return n;
}

static long links(void)
{
    char first[64], name[300];
    long n = 0;

    snprintf(first, sizeof first, DIRECTORY "/first.%d", getpid());
    close(open(first, O_CREAT | O_WRONLY, 0600));
    for (;; n++) {
        snprintf(name, sizeof name, DIRECTORY "/%d.%0200ld", getpid(), n);
        if (link(first, name) != 0)
            break;
    }
    return n;
}

static long symlinks(void)
{
    char target[4096], name[64];
    long n = 0;

    memset(target, 'x', sizeof target);
    target[4094] = '\0';
    for (;; n++) {
        snprintf(name, sizeof name, DIRECTORY "/s%d.%ld", getpid(), n);
        if (symlink(target, name) != 0)
            break;
    }
    return n;
}

static long data(void)
{
    char name[64];
    long n = 0;
    int fd;

    snprintf(name, sizeof name, DIRECTORY "/data.%d", getpid());
    fd = open(name, O_CREAT | O_WRONLY, 0600);
    while (write(fd, bytes, sizeof bytes) > 0)
        n++;
    while (write(fd, bytes, 1) > 0)
        n++;
    return n;
}

static long epolls(void)
{
    long n = 0;
    int ep, p[2], fd;

    if (pipe(p) != 0)
        return 0;
    for (;;) {
        struct epoll_event ev = {.events = EPOLLIN};

        if ((ep = epoll_create1(0)) < 0)
            break;
        for (fd = 0; fd < ep; fd++)
            if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0)
                n++;
            else if (errno == ENOSPC || errno == ENOMEM)
                return n;
        if (dup(p[0]) < 0)
            break;
    }
    return n;
}

static long texts(void)
{
    long n = 0;

    for (int fd; (fd = open("/dev/kstat", O_RDONLY)) >= 0 && read(fd, bytes, 1) == 1; n++)
        ;
    return n;
}

static long advices(void)
{
    enum { PAGES = 4096 };
    long n = 0;

    for (;;) {
        char *p = mmap(NULL, PAGES * 4096ul, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        long had = n;

        if (p == MAP_FAILED)
            break;
        for (long i = 0; i < PAGES; i += 2)
            n += madvise(p + i * 4096, 4096, MADV_ACCESS_MANY) == 0;
        if (n == had)
            break;
    }
    return n;
}

/* Connections that are never accepted, and whose other ends are closed again. */
static long connections(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    long n = 0;
    int l, fd;

    for (;;) {
        l = socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "hoard.%d.%d", getpid(), l);
        if (l < 0 || bind(l, (struct sockaddr *)&a, sizeof a) != 0 || listen(l, 4096) != 0)
            return n;
        for (int i = 0; i < 4000; i++, n++) {
            fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
            if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
                return n;
            close(fd);
        }
    }
}

static void *map(size_t bytes)
{
    return mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* Mappings that cannot be joined, in several processes. */
static long mappings(void)
{
    enum { PAGES = 60000, CHILDREN = 20 };
    char *p = map(PAGES * 4096ul);
    long n = 0;
    pid_t pid = 1;

    for (long i = 0; i < PAGES; i += 2, n++)
        if (mprotect(p + i * 4096, 4096, PROT_READ) != 0)
            break;
    for (int i = 0; i < CHILDREN && pid > 0; i++)
        if ((pid = fork()) == 0)
            for (;;)
                pause();
    return n;
}

static const struct kind {
    const char *name;
    long (*take)(void);
} kinds[] = {
    {"pipes", pipes},       {"sockets", sockets},
    {"locks", locks},       {"links", links},
    {"symlinks", symlinks}, {"epolls", epolls},
    {"texts", texts},       {"advices", advices},
    {"data", data},         {"connections", connections},
    {"mappings", mappings},
};
enum { NKINDS = sizeof kinds / sizeof kinds[0] };

static void end(int sig)
{
    (void)sig;
    kill(0, SIGKILL);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : NKINDS, done[2];
    struct rlimit files = {4096, 4096};
    char c;

    setpgid(0, 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, end);
    setrlimit(RLIMIT_NOFILE, &files);
    if ((mkdir(DIRECTORY, 0700) != 0 && errno != EEXIST) || pipe(done) != 0) {
        perror("hoard");
        return 1;
    }
    for (int i = 0, all = n; i < all; i++) {
        pid_t pid = fork();

        if (pid < 0) { /* the other processes have reserved all memory */
            printf("forks 0 %d\n", errno);
            fflush(stdout); /* the next child would print it, too */
            n--;
        }
        if (pid == 0) {
            const struct kind *k = &kinds[i % NKINDS];
            long got = k->take();
            int why = errno;

            printf("%s %ld %d\n", k->name, got, why);
            fflush(stdout);
            if (write(done[1], "", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
    }
    while (n > 0 && read(done[0], &c, 1) == 1)
        n--;
    printf("full\n");
    fflush(stdout);
    for (;;)
        pause();
}
