// SPDX-License-Identifier: MIT
/* t_unix.c - AF_UNIX sockets: datagrams, seqpacket, names, ids and files in messages, garbage; as on Linux. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

enum { USER = 1234, FILES_MAX = 253 };

static void pair(int type, int fd[2])
{
    EXPECT_EQ(socketpair(AF_UNIX, type, 0, fd), 0);
}

/* An abstract name that belongs to this process. */
static socklen_t name(struct sockaddr_un *a, const char *what)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)sprintf(a->sun_path + 1, "t_unix.%d.%s", getpid(), what));
}

static int bound(int type, const char *what)
{
    struct sockaddr_un a;
    socklen_t len = name(&a, what);
    int fd = socket(AF_UNIX, type, 0);

    EXPECT_EQ(bind(fd, (struct sockaddr *)&a, len), 0);
    return fd;
}

static int connect_to(int fd, const char *what)
{
    struct sockaddr_un a;
    socklen_t len = name(&a, what);

    return connect(fd, (struct sockaddr *)&a, len);
}

static ssize_t send_to(int fd, const char *what, const char *text)
{
    struct sockaddr_un a;
    socklen_t len = name(&a, what);

    return sendto(fd, text, strlen(text), MSG_DONTWAIT, (struct sockaddr *)&a, len);
}

static int ready(int fd)
{
    struct pollfd p = {fd, POLLIN | POLLOUT | POLLRDHUP, 0};

    poll(&p, 1, 0);
    return p.revents;
}

/* ---- messages with files and ids ---- */

union control {
    struct cmsghdr h;
    char room[CMSG_SPACE(FILES_MAX * sizeof(int)) + CMSG_SPACE(64)];
};

/* Sends `bytes` bytes, 0 or 1, with n files. */
static ssize_t send_some(int s, size_t bytes, const int *fd, int n, int flags)
{
    struct iovec iov = {"x", bytes};
    union control c = {.h = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &c,
                       .msg_controllen = (socklen_t)CMSG_SPACE((size_t)n * sizeof(int))};

    c.h.cmsg_len = (socklen_t)CMSG_LEN((size_t)n * sizeof(int));
    memcpy(CMSG_DATA(&c.h), fd, (size_t)n * sizeof(int));
    return syscall(SYS_sendmsg, s, &m,
                   flags | MSG_NOSIGNAL); /* musl's sendmsg() has no room for so many files */
}

/* Sends one byte with n files. */
static ssize_t send_files(int s, const int *fd, int n, int flags)
{
    return send_some(s, 1, fd, n, flags);
}

/* Receives into buf[size] with room for `max` files in fd[]; *n files came.  Returns the length; *flags: msg_flags. */
static ssize_t receive_files(int s, char *buf, size_t size, int *fd, int max, int *n, int *flags)
{
    struct iovec iov = {buf, size};
    union control c;
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &c,
                       .msg_controllen =
                           max > 0 ? (socklen_t)CMSG_LEN((size_t)max * sizeof(int)) : 0};
    ssize_t got = recvmsg(s, &m, *flags);

    *n = 0;
    if (got < 0)
        return got;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h != NULL; h = CMSG_NXTHDR(&m, h))
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS) {
            *n = (int)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(fd, CMSG_DATA(h), (size_t)*n * sizeof(int));
        }
    *flags = m.msg_flags;
    return got;
}

/* Receives one byte with one file, and returns the file. */
static int receive_file(int s)
{
    int fd, n, flags = 0;
    char c;

    EXPECT_EQ(receive_files(s, &c, 1, &fd, 1, &n, &flags), 1);
    EXPECT_EQ(n, 1);
    return fd;
}

/* Sends the file and closes it, so that only the message refers to it. */
static void give(int s, int fd)
{
    EXPECT_EQ(send_files(s, &fd, 1, 0), 1);
    close(fd);
}

/* ---- datagrams and packets ---- */

static void packets(void)
{
    static const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET};
    struct stat st;
    char buf[8];
    int fd[2], type, n;
    socklen_t len = sizeof type;

    for (int i = 0; i < 2; i++) {
        pair(types[i] | SOCK_NONBLOCK | SOCK_CLOEXEC, fd);
        EXPECT_EQ(getsockopt(fd[0], SOL_SOCKET, SO_TYPE, &type, &len), 0);
        EXPECT_EQ(type, types[i]);
        EXPECT_ERR(read(fd[0], buf, 8), EAGAIN);
        EXPECT_EQ(write(fd[0], "abc", 3), 3);
        EXPECT_EQ(write(fd[0], "defghi", 6), 6);
        EXPECT_EQ(send(fd[0], "", 0, 0), 0);
        EXPECT_EQ(ioctl(fd[1], FIONREAD, &n), 0);
        EXPECT_EQ(n, types[i] == SOCK_DGRAM ? 3 : 9);
        EXPECT_EQ(recv(fd[1], buf, 8, MSG_PEEK), 3);
        EXPECT_EQ(recv(fd[1], buf, 8, 0), 3);
        EXPECT_EQ(recv(fd[1], buf, 2, MSG_PEEK | MSG_TRUNC), 6);
        EXPECT_EQ(recv(fd[1], buf, 2, 0), 2); /* the rest is lost */
        EXPECT(memcmp(buf, "de", 2) == 0);
        EXPECT_EQ(recv(fd[1], buf, 8, 0), 0);
        EXPECT_ERR(recv(fd[1], buf, 8, 0), EAGAIN);
        EXPECT_EQ(write(fd[1], "back", 4), 4);
        EXPECT_EQ(ready(fd[0]), POLLIN | POLLOUT);
        EXPECT_EQ(read(fd[0], buf, 8), 4);
        EXPECT_ERR(listen(fd[0], 1), types[i] == SOCK_DGRAM ? EOPNOTSUPP : EINVAL);
        EXPECT_ERR(accept(fd[0], NULL, NULL), types[i] == SOCK_DGRAM ? EOPNOTSUPP : EINVAL);
        close(fd[0]);
        close(fd[1]);
    }
    pair(SOCK_STREAM, fd);
    EXPECT(fstat(fd[0], &st) == 0 && st.st_mode == (S_IFSOCK | 0777));
    EXPECT_ERR(socketpair(AF_UNIX, 7, 0, fd), ESOCKTNOSUPPORT);
    EXPECT_ERR(socketpair(AF_UNIX, SOCK_DGRAM, 5, fd), EPROTONOSUPPORT);
}

static void names(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX}, from, abstract;
    int s = socket(AF_UNIX, SOCK_DGRAM, 0), c = socket(AF_UNIX, SOCK_DGRAM, 0), t;
    socklen_t len = sizeof from, alen = name(&abstract, "d");
    char buf[8];

    sprintf(a.sun_path, "/tmp/t_unix.%d", getpid());
    unlink(a.sun_path);
    EXPECT_ERR(sendto(c, "x", 1, 0, (struct sockaddr *)&a, sizeof a), ENOENT);
    EXPECT_ERR(send(c, "x", 1, 0), ENOTCONN);
    EXPECT_EQ(bind(s, (struct sockaddr *)&a, sizeof a), 0);
    EXPECT_EQ(sendto(c, "x", 1, 0, (struct sockaddr *)&a, sizeof a), 1);
    EXPECT_EQ(recvfrom(s, buf, 8, 0, (struct sockaddr *)&from, &len), 1);
    EXPECT_EQ(len, 0); /* the sender has no name */
    from.sun_family = AF_UNIX;
    EXPECT_EQ(bind(c, (struct sockaddr *)&from, sizeof(sa_family_t)),
              0); /* the system chooses one */
    EXPECT_EQ(bind(c, (struct sockaddr *)&from, sizeof(sa_family_t)), 0);
    EXPECT_EQ(sendto(c, "xy", 2, 0, (struct sockaddr *)&a, sizeof a), 2);
    len = sizeof from;
    EXPECT_EQ(recvfrom(s, buf, 8, 0, (struct sockaddr *)&from, &len), 2);
    EXPECT(len == sizeof(sa_family_t) + 6 && from.sun_path[0] == '\0');
    EXPECT_EQ(sendto(s, "back", 4, 0, (struct sockaddr *)&from, len), 4);
    EXPECT_EQ(recv(c, buf, 8, 0), 4);
    t = bound(SOCK_DGRAM, "d");
    EXPECT_ERR(bind(c, (struct sockaddr *)&abstract, alen), EINVAL);
    EXPECT_ERR(bind(socket(AF_UNIX, SOCK_DGRAM, 0), (struct sockaddr *)&abstract, alen),
               EADDRINUSE);
    EXPECT_EQ(send_to(c, "d", "abc"), 3);
    EXPECT_EQ(recv(t, buf, 8, 0), 3);
    close(t);
    EXPECT_ERR(send_to(c, "d", "abc"), ECONNREFUSED);
    bound(SOCK_SEQPACKET, "d"); /* an abstract name is that of one type */
    EXPECT_ERR(send_to(c, "d", "abc"), ECONNREFUSED);
    EXPECT_ERR(connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof a),
               EPROTOTYPE);
    close(s);
    EXPECT_ERR(sendto(c, "x", 1, 0, (struct sockaddr *)&a, sizeof a), ECONNREFUSED);
    unlink(a.sun_path);
}

static void datagram_peers(void)
{
    int s = bound(SOCK_DGRAM, "s"), c = bound(SOCK_DGRAM, "c"),
        other = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    int size, fd[2];
    socklen_t len = sizeof size;
    char buf[8], *large;

    EXPECT_EQ(connect_to(c, "s"), 0);
    EXPECT_EQ(write(c, "abc", 3), 3);
    EXPECT_EQ(read(s, buf, 8), 3);
    EXPECT_EQ(connect_to(s, "c"), 0);
    EXPECT_ERR(connect_to(other, "s"), EPERM); /* it only talks to c */
    EXPECT_ERR(send_to(other, "s", "x"), EPERM);
    EXPECT_EQ(connect(s, &none, sizeof none), 0);
    EXPECT_EQ(send_to(other, "s", "x"), 1);
    EXPECT_EQ(read(s, buf, 8), 1);
    close(s);
    EXPECT_ERR(write(c, "abc", 3), ECONNREFUSED);
    EXPECT_ERR(write(c, "abc", 3), ENOTCONN);
    EXPECT_ERR(connect_to(c, "s"), ECONNREFUSED);
    pair(SOCK_DGRAM | SOCK_NONBLOCK, fd);
    EXPECT_EQ(getsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &size, &len), 0);
    large = calloc(1, (size_t)size);
    EXPECT_ERR(send(fd[0], large, (size_t)size - 31, 0), EMSGSIZE);
    EXPECT_EQ(send(fd[0], large, 65536, 0), 65536);
    close(fd[1]);
    EXPECT_ERR(write(fd[0], "x", 1), ECONNREFUSED);
    EXPECT_ERR(read(fd[0], buf, 8), EAGAIN); /* no end: other sockets can still send */
    EXPECT_EQ(shutdown(fd[0], SHUT_RD), 0);
    EXPECT_EQ(recv(fd[0], buf, 8, 0) <= 0, true);
}

static void *receive_one(void *arg)
{
    char c;

    while (poll(NULL, 0, 1) == 0 && read(*(int *)arg, &c, 1) != 1)
        ;
    return NULL;
}

/* A sender must wait when the queue of the receiver is full. */
static void flow(void)
{
    int s = bound(SOCK_DGRAM, "s"), c = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), n = 0,
        fd[2];
    struct epoll_event e = {.events = EPOLLOUT};
    int ep = epoll_create1(0);
    pthread_t t;
    char buf[8];

    EXPECT_EQ(connect_to(c, "s"), 0);
    EXPECT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, c, &e), 0);
    EXPECT_EQ(epoll_wait(ep, &e, 1, 0), 1);
    while (write(c, "x", 1) == 1)
        n++;
    EXPECT_EQ(errno, EAGAIN);
    EXPECT(n >= 2 && n <= 1000);
    EXPECT_EQ(ready(c), 0);
    EXPECT_EQ(epoll_wait(ep, &e, 1, 0), 0);
    do
        EXPECT_EQ(read(s, buf, 8), 1);
    while (!on_homeroom() && ready(c) == 0); /* a Linux with long queues wakes late */
    EXPECT_EQ(ready(c), POLLOUT);
    EXPECT_EQ(epoll_wait(ep, &e, 1, 0), 1);
    EXPECT_EQ(write(c, "x", 1), 1);
    EXPECT_EQ(fcntl(c, F_SETFL, 0), 0);
    EXPECT_EQ(pthread_create(&t, NULL, receive_one, &s), 0);
    EXPECT_EQ(write(c, "x", 1), 1); /* waits for the thread */
    pthread_join(t, NULL);
    pair(SOCK_SEQPACKET | SOCK_NONBLOCK, fd);
    for (n = 0; send(fd[0], buf, 8, 0) == 8; n++)
        ;
    EXPECT_EQ(errno, EAGAIN);
    EXPECT(n > 8);
    EXPECT_EQ(ready(fd[0]) & POLLOUT, 0);
    for (; n > 0; n--)
        EXPECT_EQ(read(fd[1], buf, 8), 8);
    EXPECT_EQ(ready(fd[0]), POLLOUT);
}

static void *send_blocking(void *arg)
{
    ssize_t n;

    do
        n = send(*(int *)arg, "x", 1, MSG_NOSIGNAL);
    while (n == 1);
    return (void *)(long)errno;
}

/* The receiver is closed while a sender waits for room. */
static void closing_a_full_queue(void)
{
    int s = bound(SOCK_DGRAM, "s"), c = socket(AF_UNIX, SOCK_DGRAM, 0), fd[2];
    pthread_t t, u;
    void *err;

    EXPECT_EQ(connect_to(c, "s"), 0);
    EXPECT_EQ(pthread_create(&t, NULL, send_blocking, &c), 0);
    while (ready(c) & POLLOUT)
        sched_yield();
    close(s);
    pthread_join(t, &err);
    EXPECT_EQ((long)err, ECONNREFUSED);
    pair(SOCK_SEQPACKET, fd);
    EXPECT_EQ(pthread_create(&u, NULL, send_blocking, &fd[0]), 0);
    while (ready(fd[0]) & POLLOUT)
        sched_yield();
    EXPECT_EQ(shutdown(fd[1], SHUT_RD), 0);
    pthread_join(u, &err);
    EXPECT_EQ((long)err, EPIPE);
}

static void connections(void)
{
    static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};
    char buf[8];

    for (int i = 0; i < 2; i++) {
        int l = bound(types[i], "l"), c = socket(AF_UNIX, types[i], 0), s, fd[2];

        EXPECT_ERR(connect_to(c, "l"), ECONNREFUSED);
        EXPECT_EQ(listen(l, 4), 0);
        EXPECT_EQ(connect_to(c, "l"), 0);
        EXPECT_ERR(connect_to(c, "l"), EISCONN);
        EXPECT_EQ(write(c, "abc", 3), 3);
        s = accept(l, NULL, NULL);
        EXPECT_EQ(read(s, buf, 8), 3);
        EXPECT_EQ(shutdown(s, SHUT_WR), 0);
        EXPECT_EQ(read(c, buf, 8), 0);
        EXPECT_EQ(ready(c), POLLIN | POLLOUT | POLLRDHUP);
        EXPECT_ERR(send(s, "x", 1, MSG_NOSIGNAL), EPIPE);
        EXPECT_EQ(write(c, "x", 1), 1);
        close(s); /* with unread data */
        EXPECT_EQ(ready(c) & (POLLERR | POLLHUP), POLLERR | POLLHUP);
        EXPECT_ERR(read(c, buf, 8), ECONNRESET);
        EXPECT_EQ(read(c, buf, 8), 0);
        EXPECT_ERR(send(c, "x", 1, MSG_NOSIGNAL), EPIPE);
        close(l);
        pair(types[i], fd);
        EXPECT_EQ(write(fd[0], "x", 1), 1);
        close(fd[0]);
        EXPECT_EQ(read(fd[1], buf, 8), 1);
        EXPECT_EQ(read(fd[1], buf, 8), 0);
        close(fd[1]);
    }
    EXPECT_ERR(send(socket(AF_UNIX, SOCK_SEQPACKET, 0), "x", 1, 0), ENOTCONN);
    EXPECT_ERR(recv(socket(AF_UNIX, SOCK_SEQPACKET, 0), buf, 1, 0), ENOTCONN);
}

/* ---- ids ---- */

/* Receives one byte with the sender's ids. */
static struct ucred receive_ids(int s)
{
    char c;
    struct iovec iov = {&c, 1};
    union control k;
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &k, .msg_controllen = sizeof k};
    struct ucred u;

    EXPECT_EQ(recvmsg(s, &m, 0), 1);
    EXPECT(m.msg_controllen >= CMSG_LEN(sizeof u) && k.h.cmsg_type == SCM_CREDENTIALS);
    memcpy(&u, CMSG_DATA(&k.h), sizeof u);
    return u;
}

static ssize_t send_ids(int s, struct ucred u)
{
    struct iovec iov = {"x", 1};
    union control c = {.h = {.cmsg_len = CMSG_LEN(sizeof u),
                             .cmsg_level = SOL_SOCKET,
                             .cmsg_type = SCM_CREDENTIALS}};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &c,
                       .msg_controllen = CMSG_SPACE(sizeof u)};

    memcpy(CMSG_DATA(&c.h), &u, sizeof u);
    return sendmsg(s, &m, 0);
}

static void ids(void)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    struct ucred u, mine = {getpid(), getuid(), getgid()};
    struct ucred none = {0, getuid(), getgid()};
    socklen_t len = sizeof u;
    int fd[2], on = 1, status;
    char buf[8];

    for (int i = 0; i < 3; i++) {
        pair(types[i], fd);
        EXPECT_EQ(getsockopt(fd[0], SOL_SOCKET, SO_PEERCRED, &u, &len), 0);
        EXPECT(u.pid == getpid() && u.uid == geteuid() && u.gid == getegid());
        EXPECT_EQ(setsockopt(fd[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
        EXPECT_EQ(write(fd[0], "x", 1), 1);
        u = receive_ids(fd[1]);
        EXPECT(memcmp(&u, &mine, sizeof u) == 0);
        EXPECT_EQ(send_ids(fd[0], mine), 1);
        u = receive_ids(fd[1]);
        EXPECT(memcmp(&u, &mine, sizeof u) == 0);
        EXPECT_ERR(send_ids(fd[0], none), geteuid() == 0 ? ESRCH : EPERM);
        if (fork() == 0) {
            if (geteuid() == 0)
                EXPECT(setgid(USER) == 0 && setuid(USER) == 0);
            for (int field = 0; field < 3; field++) { /* one wrong id is enough */
                u = (struct ucred){getpid(), getuid(), getgid()};
                if (field == 0)
                    u.pid = 1;
                else
                    *(field == 1 ? &u.uid : &u.gid) += 1;
                EXPECT_ERR(send_ids(fd[0], u), EPERM);
            }
            _exit(write(fd[0], "y", 1) == 1 ? 0 : 1);
        }
        wait(&status);
        EXPECT_EQ(status, 0);
        EXPECT_EQ(write(fd[0], "z", 1), 1);
        /* bytes of two processes are not joined */
        EXPECT_EQ(read(fd[1], buf, 8), 1);
        EXPECT_EQ(read(fd[1], buf, 8), 1);
    }
    len = sizeof u;
    EXPECT_EQ(getsockopt(socket(AF_UNIX, SOCK_STREAM, 0), SOL_SOCKET, SO_PEERCRED, &u, &len), 0);
    EXPECT(u.pid == 0 && u.uid == (uid_t)-1 && u.gid == (gid_t)-1);
}

/* ---- files ---- */

/* Bytes that can be read from the pipe's end: -1: none, but there is a writer; 0: the end. */
static int left(int fd)
{
    char c;
    ssize_t n;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    n = read(fd, &c, 1);
    return n < 0 && errno == EAGAIN ? -1 : (int)n;
}

static void files(void)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    int fd[2], p[2], got[4], n, flags, bad = 999;
    char buf[8];

    for (int i = 0; i < 3; i++) {
        pair(types[i], fd);
        EXPECT_EQ(pipe(p), 0);
        give(fd[0], p[1]);
        EXPECT_EQ(left(p[0]), -1); /* the message is a writer */
        flags = MSG_PEEK;
        EXPECT_EQ(receive_files(fd[1], buf, 8, got, 4, &n, &flags), 1);
        EXPECT_EQ(n, 1);
        close(got[0]);
        flags = MSG_CMSG_CLOEXEC;
        EXPECT_EQ(receive_files(fd[1], buf, 8, got, 4, &n, &flags), 1);
        EXPECT_EQ(n, 1);
        EXPECT_EQ(flags & (MSG_CTRUNC | MSG_TRUNC), 0);
        EXPECT_EQ(fcntl(got[0], F_GETFD), FD_CLOEXEC);
        EXPECT_EQ(write(got[0], "a", 1), 1);
        EXPECT_EQ(left(p[0]), 1);
        close(got[0]);
        EXPECT_EQ(left(p[0]), 0);
        EXPECT_ERR(send_files(fd[0], &bad, 1, 0), EBADF);
        /* files that are not taken are closed: by read(), by a buffer that is too small, by the end of the socket */
        for (int how = 0; how < 3; how++) {
            EXPECT_EQ(pipe(p), 0);
            give(fd[0], p[1]);
            flags = 0;
            if (how == 0)
                EXPECT_EQ(read(fd[1], buf, 8), 1);
            else if (how == 1)
                EXPECT_EQ(receive_files(fd[1], buf, 8, got, 0, &n, &flags), 1);
            else
                close(fd[1]);
            if (how == 1)
                EXPECT_EQ(flags & MSG_CTRUNC, MSG_CTRUNC);
            EXPECT_EQ(left(p[0]), 0);
            close(p[0]);
        }
        close(fd[0]);
    }
}

static void many_files(void)
{
    int fd[2], n, flags = 0, many[FILES_MAX + 1];
    char buf[8];
    struct rlimit lim = {300, 300};

    pair(SOCK_STREAM, fd);
    for (int i = 0; i <= FILES_MAX; i++)
        many[i] = fd[i % 2];
    EXPECT_ERR(send_files(fd[0], many, FILES_MAX + 1, 0), EINVAL);
    EXPECT_EQ(send_files(fd[0], many, FILES_MAX, 0), 1);
    EXPECT_EQ(receive_files(fd[1], buf, 8, many, FILES_MAX, &n, &flags), 1);
    EXPECT_EQ(n, FILES_MAX);
    EXPECT_EQ(flags & MSG_CTRUNC, 0);
    EXPECT_EQ(send_files(fd[0], many, FILES_MAX, 0), 1);
    flags = 0;
    EXPECT_EQ(receive_files(fd[1], buf, 8, many, 5, &n, &flags), 1);
    EXPECT_EQ(n, 5);
    EXPECT_EQ(flags & MSG_CTRUNC, MSG_CTRUNC);
    EXPECT_EQ(send_files(fd[0], many, 100, 0), 1);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lim), 0);
    flags = 0;
    EXPECT_EQ(receive_files(fd[1], buf, 8, many, 100, &n, &flags), 1);
    EXPECT(n > 0 && n < 100 && (flags & MSG_CTRUNC));
}

/* A read of a stream ends behind a message with files, so that it never gets the files of two. */
static void files_in_a_stream(void)
{
    int fd[2], p[2], got[4], n, flags = 0;
    char buf[16];

    pair(SOCK_STREAM, fd);
    EXPECT_EQ(pipe(p), 0);
    EXPECT_EQ(write(fd[0], "ab", 2), 2);
    EXPECT_EQ(send_files(fd[0], p, 2, 0), 1);
    EXPECT_EQ(send_files(fd[0], p, 1, 0), 1);
    EXPECT_EQ(write(fd[0], "cd", 2), 2);
    EXPECT_EQ(receive_files(fd[1], buf, 16, got, 4, &n, &flags), 3);
    EXPECT_EQ(n, 2);
    flags = MSG_WAITALL;
    EXPECT_EQ(receive_files(fd[1], buf, 16, got, 4, &n, &flags), 1);
    EXPECT_EQ(n, 1);
    EXPECT_EQ(read(fd[1], buf, 16), 2);
    /* a read that fails takes neither the bytes nor the files */
    EXPECT_EQ(send_files(fd[0], p, 1, 0), 1);
    flags = 0;
    EXPECT_ERR(receive_files(fd[1], NULL, 16, got, 4, &n, &flags), EFAULT);
    EXPECT_EQ(receive_files(fd[1], buf, 16, got, 4, &n, &flags), 1);
    EXPECT_EQ(n, 1);
}

/* Calls that want no bytes.  Those of a stream send nothing, but need a peer; read() never waits. */
static void no_bytes(void)
{
    const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    int fd[2], got[4], n, flags = 0;
    char c = 'x';

    for (int i = 0; i < 3; i++) {
        int alone = socket(AF_UNIX, types[i] | SOCK_NONBLOCK, 0);
        bool stream = i == 0;

        EXPECT_EQ(read(alone, &c, 0), 0);
        EXPECT_ERR(recv(alone, &c, 0, 0), stream ? EINVAL : i == 1 ? EAGAIN : ENOTCONN);
        EXPECT_ERR(write(alone, &c, 0), ENOTCONN);
        pair(types[i] | SOCK_NONBLOCK, fd);
        EXPECT_EQ(read(fd[0], &c, 0), 0);
        EXPECT_ERR(recv(fd[0], &c, 0, 0), EAGAIN);
        EXPECT_EQ(write(fd[0], &c, 0), 0);
        if (stream)
            EXPECT_ERR(recv(fd[1], &c, 0, 0), EAGAIN);
        else
            EXPECT_EQ(recv(fd[1], &c, 1, 0), 0); /* an empty message */
        EXPECT_EQ(write(fd[0], &c, 1), 1);
        EXPECT_EQ(read(fd[1], &c, 0), 0);
        EXPECT_EQ(recv(fd[1], &c, 0, MSG_PEEK), 0);
        EXPECT_EQ(recv(fd[1], &c, 1, 0), 1);
        EXPECT_EQ(close(fd[1]), 0);
        EXPECT_ERR(send(fd[0], &c, 0, MSG_NOSIGNAL), i == 1 ? ECONNREFUSED : EPIPE);
        close(alone);
    }
    pair(SOCK_STREAM | SOCK_NONBLOCK, fd);
    EXPECT_EQ(send_some(fd[0], 0, fd, 2, 0), 0); /* without bytes, the files are not sent */
    EXPECT_ERR(receive_files(fd[1], &c, 1, got, 4, &n, &flags), EAGAIN);
    EXPECT_EQ(send_files(fd[0], fd, 2, 0), 1);
    EXPECT_EQ(receive_files(fd[1], &c, 0, got, 4, &n, &flags),
              0); /* takes the files, not the byte */
    EXPECT_EQ(n, 2);
    EXPECT_EQ(receive_files(fd[1], &c, 1, got, 4, &n, &flags), 1);
    EXPECT_EQ(n, 0);
    EXPECT_EQ(shutdown(fd[0], SHUT_WR), 0);
    EXPECT_ERR(send_some(fd[0], 0, fd, 2, 0), EPIPE);
    EXPECT_EQ(recv(fd[1], &c, 0, 0), 0);
}

/* ---- garbage: sockets that only messages refer to ---- */

/* Whether the pipe has no writer any more.  Linux can take a while to find garbage. */
static bool ends(int fd)
{
    struct pollfd p = {fd, 0, 0};

    return poll(&p, 1, on_homeroom() ? 0 : 20000) == 1 && (p.revents & POLLHUP);
}

/* Closes two sockets: with few files in messages, each close makes the kernel look for garbage. */
static void collect(void)
{
    int fd[2];

    pair(SOCK_DGRAM, fd);
    close(fd[0]);
    close(fd[1]);
}

/* A pipe whose writing end is in the queue of the peer of s; returns the reading end. */
static int witness(int s)
{
    int p[2];

    EXPECT_EQ(pipe(p), 0);
    give(s, p[1]);
    return p[0];
}

static void garbage(void)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    int a[2], b[2], w[2], l, c;

    for (int i = 0; i < 3; i++) {
        pair(types[i], a); /* a socket in its own queue, and its peer too */
        w[0] = witness(a[0]);
        EXPECT_EQ(send_files(a[0], a, 2, 0), 1);
        close(a[0]);
        close(a[1]);
        collect();
        EXPECT(ends(w[0]));
        pair(types[i], a); /* two pairs, each in a queue of the other */
        pair(types[i], b);
        w[0] = witness(a[0]);
        w[1] = witness(b[0]);
        EXPECT_EQ(send_files(a[0], b, 2, 0), 1);
        EXPECT_EQ(send_files(b[0], a, 2, 0), 1);
        close(a[0]);
        close(a[1]);
        close(b[0]);
        collect();
        EXPECT_EQ(left(w[0]), -1); /* one descriptor is left: nothing is garbage */
        EXPECT_EQ(left(w[1]), -1);
        close(b[1]);
        collect();
        EXPECT(ends(w[0]));
        EXPECT(ends(w[1]));
    }
    /* a listener in the queue of a connection that it has not accepted */
    l = bound(SOCK_STREAM, "l");
    c = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(listen(l, 4), 0);
    EXPECT_EQ(connect_to(c, "l"), 0);
    w[0] = witness(c);
    collect();
    EXPECT_EQ(left(w[0]), -1);
    give(c, l);
    collect();
    EXPECT(ends(w[0]));
    /* a connection and a socket in each other's queues; one was sent before the connection was accepted */
    l = bound(SOCK_STREAM, "l");
    c = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(listen(l, 4), 0);
    EXPECT_EQ(connect_to(c, "l"), 0);
    pair(SOCK_STREAM, a);
    w[0] = witness(a[0]);
    give(c, a[1]);
    collect();
    EXPECT_EQ(left(w[0]), -1);
    give(a[0], accept(l, NULL, NULL));
    collect();
    EXPECT(ends(w[0]));
}

/* What can still be received is no garbage, although only messages refer to it. */
static void no_garbage(void)
{
    int a[2], b[2], c[2], w, fd;

    pair(SOCK_STREAM, a);
    pair(SOCK_STREAM, b);
    pair(SOCK_STREAM, c);
    w = witness(a[0]);
    give(b[0], a[1]); /* a[1] in the queue of b[1], and that in the queue of c[1] */
    give(c[0], b[1]);
    collect();
    EXPECT_EQ(left(w), -1);
    fd = receive_file(receive_file(c[1]));
    fd = receive_file(fd);
    EXPECT_EQ(write(fd, "x", 1), 1);
    EXPECT_EQ(left(w), 1);
}

/* Sockets in each other's queues, many levels deep: the close of the last one is no deep recursion. */
static void deep(void)
{
    enum { LEVELS = 900 };
    int a[2], b[2], w;

    pair(SOCK_DGRAM, a);
    w = witness(a[0]);
    for (int i = 0; i < LEVELS; i++) {
        pair(SOCK_DGRAM, b);
        close(a[0]);
        if (send_files(b[0], &a[1], 1, 0) != 1)
            SKIP("this system permits few levels");
        close(a[1]);
        memcpy(a, b, sizeof a);
    }
    close(a[0]);
    collect();
    EXPECT_EQ(left(w), -1);
    close(a[1]);
    EXPECT(ends(w));
}

/* An ordinary user cannot have more files in messages than descriptors, and garbage does not count for ever. */
static void limits(void)
{
    struct rlimit lim = {64, 64};
    int status;

    NEED_ROOT();
    if (fork() == 0) {
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lim), 0);
        EXPECT_EQ(setuid(USER), 0);
        for (int round = 0; round < (on_homeroom() ? 20 : 1); round++) {
            int fd[2], n = 0;

            pair(SOCK_STREAM | SOCK_NONBLOCK, fd);
            while (send_files(fd[0], fd, 2, 0) == 1)
                n += 2;
            EXPECT_EQ(errno, ETOOMANYREFS);
            EXPECT(n >= 32 && n <= 66);
            EXPECT_EQ(write(fd[0], "x", 1), 1);
            close(fd[0]); /* now they are garbage */
            close(fd[1]);
        }
        _exit(0);
    }
    wait(&status);
    EXPECT_EQ(status, 0);
}

/* ---- races ---- */

static int shared[2];
static _Atomic int stop;

static void *keep_sending(void *arg)
{
    while (!stop) {
        int fd[2];

        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fd) != 0)
            continue;
        send_files(fd[0], fd, 2, MSG_DONTWAIT); /* garbage */
        send_files(shared[0], fd, 2, MSG_DONTWAIT);
        send_files(shared[0], shared, 2, MSG_DONTWAIT);
        close(fd[0]);
        close(fd[1]);
    }
    return NULL;
}

/* Receives until `stop`, or with stop == 2 until the queue is empty.  arg != NULL: only peeks. */
static void *keep_receiving(void *arg)
{
    while (stop != 1) {
        int fd[4], n, flags = (arg != NULL ? MSG_PEEK : 0) | MSG_DONTWAIT;
        char c;

        if (receive_files(shared[1], &c, 1, fd, 4, &n, &flags) == 1)
            for (int i = 0; i < n; i++)
                close(fd[i]);
        else if (stop == 2)
            break;
    }
    return NULL;
}

/* Threads pass sockets, peek at them and close them while the kernel looks for garbage. */
static void races(void)
{
    enum { THREADS = 6, ROUNDS = 20 };
    int w;

    for (int r = 0; r < ROUNDS; r++) {
        pthread_t t[THREADS];

        stop = 0;
        pair(r % 2 ? SOCK_STREAM : SOCK_SEQPACKET, shared);
        for (long i = 0; i < THREADS; i++)
            EXPECT_EQ(pthread_create(&t[i], NULL, i < 3 ? keep_sending : keep_receiving,
                                     i == 5 ? &stop : NULL),
                      0);
        for (int i = 0; i < 200; i++)
            collect();
        stop = 1;
        for (int i = 0; i < THREADS; i++)
            pthread_join(t[i], NULL);
        stop = 2;
        keep_receiving(NULL); /* makes room */
        w = witness(shared[0]);
        close(shared[0]);
        close(shared[1]);
        for (int i = 0; i < 100 && !ends(w); i++)
            collect(); /* with many files in messages, only some closes look for garbage */
        EXPECT(ends(w));
        close(w);
    }
}

static const struct check list[] = {
    {"packets", packets},
    {"names", names},
    {"datagram_peers", datagram_peers},
    {"flow", flow},
    {"closing_a_full_queue", closing_a_full_queue},
    {"connections", connections},
    {"ids", ids},
    {"files", files},
    {"many_files", many_files},
    {"files_in_a_stream", files_in_a_stream},
    {"no_bytes", no_bytes},
    {"garbage", garbage},
    {"no_garbage", no_garbage},
    {"deep", deep},
    {"limits", limits},
    {"races", races},
};

CHECK_MAIN(list)
