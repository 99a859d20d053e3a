// SPDX-License-Identifier: MIT
/* t_net.c - sockets over the loopback: the results of each call, and each error; as on Linux. */
#include "check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>

static struct sockaddr_in loopback(unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static int tcp(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    EXPECT(fd >= 0);
    return fd;
}

/* A listener on a port that the system chooses. */
static int listener(struct sockaddr_in *a)
{
    socklen_t len = sizeof *a;
    int fd = tcp();

    *a = loopback(0);
    EXPECT_EQ(bind(fd, (struct sockaddr *)a, sizeof *a), 0);
    EXPECT_EQ(listen(fd, 16), 0);
    EXPECT_EQ(getsockname(fd, (struct sockaddr *)a, &len), 0);
    EXPECT_EQ(len, sizeof *a);
    EXPECT(a->sin_port != 0);
    return fd;
}

/* Makes a connection; fd[] gets both ends. */
static void connection(int fd[2])
{
    struct sockaddr_in a;
    int l = listener(&a);

    fd[0] = tcp();
    EXPECT_EQ(connect(fd[0], (struct sockaddr *)&a, sizeof a), 0);
    fd[1] = accept(l, NULL, NULL);
    EXPECT(fd[1] >= 0);
    close(l);
}

/* Calls that want no bytes: they wait for data, except read(), and fail without a connection. */
static void no_bytes(void)
{
    int fd[2], s = socket(AF_INET, SOCK_STREAM, 0);
    char c = 'x';

    EXPECT_EQ(read(s, &c, 0), 0);
    EXPECT_ERR(recv(s, &c, 0, 0), ENOTCONN);
    EXPECT_ERR(send(s, &c, 0, MSG_NOSIGNAL), EPIPE);
    EXPECT_EQ(listen(s, 1), 0);
    EXPECT_EQ(read(s, &c, 0), 0);
    EXPECT_ERR(recv(s, &c, 0, 0), ENOTCONN);
    EXPECT_ERR(send(s, &c, 1, MSG_NOSIGNAL), EPIPE);
    s = socket(AF_INET, SOCK_DGRAM, 0);
    EXPECT_EQ(read(s, &c, 0), 0);
    EXPECT_ERR(recv(s, &c, 0, MSG_DONTWAIT), EAGAIN);
    connection(fd);
    EXPECT_ERR(recv(fd[0], &c, 0, MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(send(fd[1], &c, 1, 0), 1);
    EXPECT_EQ(recv(fd[0], &c, 0, 0), 0);
    EXPECT_EQ(recv(fd[0], &c, 1, 0), 1);
    EXPECT_EQ(shutdown(fd[1], SHUT_WR), 0);
    EXPECT_EQ(recv(fd[0], &c, 0, 0), 0);
}

static void making(void)
{
    int fd;

    EXPECT_ERR(socket(12345, SOCK_STREAM, 0), EAFNOSUPPORT);
    EXPECT_ERR(socket(AF_INET, 7, 0), ESOCKTNOSUPPORT);
    EXPECT_ERR(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    EXPECT(fd >= 0);
    EXPECT_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_ERR(lseek(fd, 0, SEEK_SET), ESPIPE);
}

static void errors(void)
{
    struct sockaddr_in a = loopback(1);
    struct stat st;
    socklen_t len = sizeof a;
    int fd = tcp(), file = open("/dev/null", O_RDWR), v = 0;

    EXPECT_ERR(connect(fd, (struct sockaddr *)&a, sizeof a), ECONNREFUSED);
    close(fd);
    fd = tcp();
    EXPECT_ERR(bind(file, (struct sockaddr *)&a, sizeof a), ENOTSOCK);
    EXPECT_ERR(bind(-1, (struct sockaddr *)&a, sizeof a), EBADF);
    EXPECT_ERR(bind(fd, (struct sockaddr *)&a, 3), EINVAL);
    EXPECT_ERR(bind(fd, (void *)8, sizeof a), EFAULT);
    EXPECT_ERR(accept(fd, NULL, NULL), EINVAL);
    EXPECT_ERR(getpeername(fd, (struct sockaddr *)&a, &len), ENOTCONN);
    EXPECT_ERR(recv(fd, &v, 4, 0), ENOTCONN);
    EXPECT_ERR(send(fd, &v, 4, MSG_NOSIGNAL), EPIPE);
    EXPECT_ERR(shutdown(fd, SHUT_RDWR), ENOTCONN);
    EXPECT_ERR(shutdown(fd, 17), EINVAL);
    EXPECT_ERR(setsockopt(fd, SOL_SOCKET, 9999, &v, sizeof v), ENOPROTOOPT);
    EXPECT_ERR(getsockopt(fd, SOL_SOCKET, SO_TYPE, &v, (void *)8), EFAULT);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT(S_ISSOCK(st.st_mode));
}

static void ports(void)
{
    struct sockaddr_in a;
    int l = listener(&a), fd = tcp(), on = 1, v = 0;
    socklen_t len = sizeof v;

    EXPECT_ERR(bind(fd, (struct sockaddr *)&a, sizeof a), EADDRINUSE);
    a.sin_addr.s_addr = inet_addr("203.0.113.9");
    a.sin_port = 0;
    EXPECT_ERR(bind(fd, (struct sockaddr *)&a, sizeof a), EADDRNOTAVAIL);
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &v, &len), 0);
    EXPECT_EQ(v, 1);
    EXPECT_EQ(getsockopt(l, SOL_SOCKET, SO_ACCEPTCONN, &v, &len), 0);
    EXPECT_EQ(v, 1);
}

/* SO_REUSEADDR does not share a port with a listener: connections go to the first listener. */
static void ports_of_listeners(void)
{
    struct sockaddr_in any = loopback(0), one, other;
    int l = tcp(), fd = tcp(), first = tcp(), second = tcp(), on = 1;
    socklen_t len = sizeof any;

    setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(first, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(second, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    any.sin_addr.s_addr = htonl(INADDR_ANY);
    EXPECT_EQ(bind(l, (struct sockaddr *)&any, sizeof any), 0);
    EXPECT_EQ(getsockname(l, (struct sockaddr *)&any, &len), 0);
    EXPECT_EQ(listen(l, 4), 0);
    one = loopback(ntohs(any.sin_port));
    EXPECT_ERR(bind(fd, (struct sockaddr *)&one, sizeof one), EADDRINUSE);
    EXPECT_ERR(bind(fd, (struct sockaddr *)&any, sizeof any), EADDRINUSE);
    close(l);
    EXPECT_EQ(bind(fd, (struct sockaddr *)&one, sizeof one), 0);
    EXPECT_EQ(listen(fd, 4), 0);
    EXPECT_ERR(bind(first, (struct sockaddr *)&any, sizeof any), EADDRINUSE);
    /* two sockets may have the port while none listens; then the first that calls listen() has it */
    other = loopback(0);
    EXPECT_EQ(bind(first, (struct sockaddr *)&other, sizeof other), 0);
    EXPECT_EQ(getsockname(first, (struct sockaddr *)&other, &len), 0);
    any.sin_port = other.sin_port;
    EXPECT_EQ(bind(second, (struct sockaddr *)&any, sizeof any), 0);
    EXPECT_EQ(listen(second, 4), 0);
    EXPECT_ERR(listen(first, 4), EADDRINUSE);
}

/*
 * A thread that waits for another writer of its socket, which waits for room, can be killed, and O_NONBLOCK applies to
 * it.
 */
static void second_writer(const int fd[2])
{
    static char bytes[1 << 20];
    int status;
    pid_t first, second;

    if ((first = fork()) == 0)
        for (;;)
            EXPECT(write(fd[0], bytes, sizeof bytes) > 0);
    do
        usleep(100000);
    while (send(fd[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0);
    EXPECT_EQ(errno, EAGAIN);
    if ((second = fork()) == 0)
        _exit(write(fd[0], bytes, 1) == 1);
    usleep(100000);
    kill(second, SIGKILL);
    EXPECT_EQ(waitpid(second, &status, 0), second);
    EXPECT(WIFSIGNALED(status));
    kill(first, SIGKILL);
    EXPECT_EQ(waitpid(first, &status, 0), first);
}

static void writers_wait(void)
{
    int fd[2];

    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    second_writer(fd);
    connection(fd);
    second_writer(fd);
}

/* Setting an option that Homeroom lacks is an error, unless it asks for what holds anyway. */
/* SO_REUSEADDR and SO_REUSEPORT are two options.  Both let sockets for datagrams share a port. */
static void reuse_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a, size = sizeof(int);
    int on = 1, got = 1, one = tcp(), two;

    EXPECT_EQ(setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    EXPECT_EQ(getsockopt(one, SOL_SOCKET, SO_REUSEPORT, &got, &size), 0);
    EXPECT_EQ(got, 0);
    one = socket(AF_INET, SOCK_DGRAM, 0);
    two = socket(AF_INET, SOCK_DGRAM, 0);
    EXPECT_EQ(setsockopt(one, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    EXPECT_EQ(getsockopt(one, SOL_SOCKET, SO_REUSEADDR, &got, &size), 0);
    EXPECT_EQ(got, 0);
    EXPECT_EQ(bind(one, (struct sockaddr *)&a, sizeof a), 0);
    EXPECT_EQ(getsockname(one, (struct sockaddr *)&a, &len), 0);
    EXPECT_ERR(bind(two, (struct sockaddr *)&a, sizeof a), EADDRINUSE);
    EXPECT_EQ(setsockopt(two, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    EXPECT_EQ(bind(two, (struct sockaddr *)&a, sizeof a), 0);
}

static int datagrams(int reuse)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    EXPECT(fd >= 0);
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse), 0);
    return fd;
}

/* The socket that gets a datagram for `to`; the two others get none. */
static int receiver_of(int from, struct sockaddr_in *to, const int fd[3])
{
    struct pollfd p[3];
    int got = -1;
    char c;

    for (int i = 0; i < 3; i++)
        p[i] = (struct pollfd){fd[i], POLLIN, 0};
    EXPECT_EQ(sendto(from, "x", 1, 0, (struct sockaddr *)to, sizeof *to), 1);
    EXPECT(poll(p, 3, 10000) > 0); /* a busy system delivers it later */
    for (int i = 0; i < 3; i++)
        if (recv(fd[i], &c, 1, MSG_DONTWAIT) == 1)
            got = got < 0 ? i : 3;
    return got;
}

/* Datagrams for a shared port go to the socket that was bound last, unless another one is connected to the sender. */
static void reuse_address(void)
{
    int fd[3] = {datagrams(1), datagrams(1), datagrams(1)}, other = datagrams(0),
        from = datagrams(0);
    struct sockaddr_in a = loopback(0), sender = loopback(0);
    socklen_t len = sizeof a;

    EXPECT_EQ(bind(from, (struct sockaddr *)&sender, sizeof sender), 0);
    EXPECT_EQ(getsockname(from, (struct sockaddr *)&sender, &len), 0);
    EXPECT_EQ(bind(fd[0], (struct sockaddr *)&a, sizeof a), 0);
    EXPECT_EQ(getsockname(fd[0], (struct sockaddr *)&a, &len), 0);
    EXPECT_EQ(receiver_of(from, &a, fd), 0);
    EXPECT_ERR(bind(other, (struct sockaddr *)&a, sizeof a), EADDRINUSE);
    a.sin_addr.s_addr = htonl(INADDR_ANY);
    EXPECT_ERR(bind(other, (struct sockaddr *)&a, sizeof a), EADDRINUSE);
    a = loopback(ntohs(a.sin_port));
    for (int i = 1; i < 3; i++) {
        EXPECT_EQ(bind(fd[i], (struct sockaddr *)&a, sizeof a), 0);
        for (int k = 0; k < 3; k++)
            EXPECT_EQ(receiver_of(from, &a, fd), i);
    }
    EXPECT_EQ(connect(fd[0], (struct sockaddr *)&sender, sizeof sender), 0);
    EXPECT_EQ(receiver_of(from, &a, fd), 0);
    EXPECT_EQ(receiver_of(other, &a, fd), 2);
    close(fd[0]);
    close(fd[2]);
    fd[0] = fd[2] = fd[1];
    EXPECT_EQ(receiver_of(from, &a, fd), 0);
    EXPECT_ERR(bind(datagrams(0), (struct sockaddr *)&a, sizeof a), EADDRINUSE);
}

/* close() with the option SO_LINGER and time 0 sends a reset; what has arrived before can still be read. */
static void linger_resets(void)
{
    struct linger at_once = {1, 0};
    struct sockaddr_in a, b;
    int l = listener(&a), fd[2], err = 0;
    socklen_t len = sizeof b, size = sizeof err;
    struct pollfd p = {.events = POLLIN | POLLOUT | POLLRDHUP};
    char c[8];

    for (int i = 0; i < 4;
         i++) { /* at the end that connects, or at that which accepts; with data, or without */
        fd[0] = tcp();
        EXPECT_EQ(connect(fd[0], (struct sockaddr *)&a, sizeof a), 0);
        fd[1] = accept(l, NULL, NULL);
        EXPECT(fd[1] >= 0);
        EXPECT_EQ(getsockname(fd[0], (struct sockaddr *)&b, &len), 0);
        EXPECT_EQ(setsockopt(fd[i % 2], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
        if (i >= 2) {
            EXPECT_EQ(write(fd[i % 2], "abc", 3), 3);
            EXPECT_EQ(recv(fd[1 - i % 2], c, 3, MSG_PEEK | MSG_WAITALL), 3);
        }
        EXPECT_EQ(close(fd[i % 2]), 0);
        p.fd = fd[1 - i % 2];
        do
            EXPECT_EQ(poll(&p, 1, 10000), 1);
        while ((p.revents & POLLERR) == 0);
        EXPECT_EQ(p.revents, POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
        if (i >= 2)
            EXPECT_EQ(read(p.fd, c, sizeof c), 3);
        if (i % 2 == 0)
            EXPECT_ERR(read(p.fd, c, 1), ECONNRESET);
        else
            EXPECT_EQ(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &err, &size) == 0 ? err : -1,
                      ECONNRESET);
        EXPECT_EQ(read(p.fd, c, 1), 0);
        EXPECT_ERR(send(p.fd, c, 1, MSG_NOSIGNAL), EPIPE);
        close(p.fd);
        fd[0] = tcp(); /* there is no TIME_WAIT */
        EXPECT_EQ(bind(fd[0], (struct sockaddr *)&b, sizeof b), 0);
        close(fd[0]);
    }
}

static void options_not_here(void)
{
    static const struct {
        int level, name, off;
    } o[] = {
        {SOL_SOCKET, SO_DONTROUTE, 0},    {SOL_SOCKET, SO_TIMESTAMP, 0},
        {SOL_SOCKET, SO_RCVLOWAT, 1},     {IPPROTO_IP, IP_PKTINFO, 0},
        {IPPROTO_IP, IP_RECVTTL, 0},      {IPPROTO_IP, IP_RECVTOS, 0},
        {IPPROTO_IP, IP_RECVOPTS, 0},     {IPPROTO_IP, IP_FREEBIND, 0},
        {IPPROTO_IP, IP_MTU_DISCOVER, 1}, {IPPROTO_TCP, TCP_USER_TIMEOUT, 0},
    };
    int fd = tcp();

    for (unsigned i = 0; i < sizeof o / sizeof o[0]; i++) {
        int v = o[i].off, on = v + 1;

        EXPECT_EQ(setsockopt(fd, o[i].level, o[i].name, &v, sizeof v), 0);
        if (on_homeroom())
            EXPECT_ERR(setsockopt(fd, o[i].level, o[i].name, &on, sizeof on), ENOPROTOOPT);
    }
    EXPECT_EQ(setsockopt(fd, IPPROTO_IP, IP_OPTIONS, NULL, 0), 0);
}

static void options(void)
{
    struct timeval tv = {1, 500000}, back = {0, 0};
    socklen_t len = sizeof back;
    int fd = tcp(), v = 1, got = 0;
    char name[16];

    EXPECT_EQ(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &v, sizeof v), 0);
    len = sizeof got;
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &got, &len), 0);
    EXPECT(got != 0);
    v = 65536;
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &v, sizeof v), 0);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &got, &len), 0);
    EXPECT_EQ(got, 131072);
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv), 0);
    len = sizeof back;
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &back, &len), 0);
    EXPECT(back.tv_sec == 1 && back.tv_usec >= 490000);
    len = sizeof name;
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
    EXPECT_ERR(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "no-such", 7), ENOENT);
    len = sizeof got;
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_TYPE, &got, &len), 0);
    EXPECT_EQ(got, SOCK_STREAM);
}

static void talk(void)
{
    struct sockaddr_in a, b;
    socklen_t len = sizeof a;
    char buf[32] = {0};
    int fd[2], n = -1;

    connection(fd);
    EXPECT_EQ(getpeername(fd[0], (struct sockaddr *)&a, &len), 0);
    EXPECT_EQ(getsockname(fd[1], (struct sockaddr *)&b, &len), 0);
    EXPECT_EQ(a.sin_port, b.sin_port);
    EXPECT_EQ(write(fd[0], "hello", 5), 5);
    EXPECT_EQ(recv(fd[1], buf, 3, MSG_PEEK), 3);
    EXPECT_EQ(ioctl(fd[1], FIONREAD, &n), 0);
    EXPECT_EQ(n, 5);
    EXPECT_EQ(read(fd[1], buf, 3), 3);
    EXPECT_EQ(recv(fd[1], buf + 3, 8, 0), 2);
    EXPECT(strcmp(buf, "hello") == 0);
    EXPECT_ERR(recv(fd[1], buf, 1, MSG_DONTWAIT), EAGAIN);
    EXPECT_ERR(recv(fd[1], (void *)8, 1, MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(send(fd[1], "x", 1, 0), 1);
    EXPECT_ERR(read(fd[0], (void *)8, 1), EFAULT);
    EXPECT_EQ(read(fd[0], buf, 1), 1); /* a failed copy loses no data */
    EXPECT_ERR(write(fd[0], (void *)8, 1), EFAULT);
}

static void halves(void)
{
    char buf[8];
    int fd[2];

    signal(SIGPIPE, SIG_IGN);
    connection(fd);
    EXPECT_EQ(shutdown(fd[0], SHUT_WR), 0);
    EXPECT_EQ(read(fd[1], buf, 1), 0);
    EXPECT_EQ(write(fd[1], "back", 4), 4);
    EXPECT_EQ(read(fd[0], buf, 8), 4);
    EXPECT_ERR(write(fd[0], "x", 1), EPIPE);
    close(fd[1]);
    EXPECT_EQ(read(fd[0], buf, 1), 0);
}

static volatile int piped;

static void on_pipe(int sig)
{
    piped = sig;
}

static void sigpipe(void)
{
    int fd[2];

    signal(SIGPIPE, on_pipe);
    connection(fd);
    shutdown(fd[0], SHUT_WR);
    EXPECT_ERR(send(fd[0], "x", 1, MSG_NOSIGNAL), EPIPE);
    EXPECT_EQ(piped, 0);
    EXPECT_ERR(send(fd[0], "x", 1, 0), EPIPE);
    EXPECT_EQ(piped, SIGPIPE);
}

/* Closing a socket with unread data resets the connection. */
static void reset(void)
{
    char buf[4];
    int fd[2];

    signal(SIGPIPE, SIG_IGN);
    connection(fd);
    EXPECT_EQ(write(fd[0], "data", 4), 4);
    EXPECT_EQ(recv(fd[1], buf, 4, MSG_PEEK), 4);
    close(fd[1]);
    EXPECT_ERR(read(fd[0], buf, 4), ECONNRESET);
    EXPECT_ERR(write(fd[0], "x", 1), EPIPE);
}

static void nonblocking(void)
{
    struct sockaddr_in a;
    struct pollfd p;
    socklen_t len = sizeof(int);
    int l = listener(&a), fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), s, r, err = -1;
    char block[4096] = {0};
    long sent = 0;

    fcntl(l, F_SETFL, O_NONBLOCK);
    EXPECT_ERR(accept(l, NULL, NULL), EAGAIN);
    r = connect(fd, (struct sockaddr *)&a, sizeof a) == 0 ? 0 : errno;
    EXPECT(r == 0 || r == EINPROGRESS);
    p = (struct pollfd){.fd = fd, .events = POLLOUT};
    EXPECT_EQ(poll(&p, 1, 10000), 1);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
    EXPECT_EQ(err, 0);
    p = (struct pollfd){.fd = l, .events = POLLIN};
    EXPECT_EQ(poll(&p, 1, 10000), 1);
    s = accept4(l, NULL, NULL, SOCK_NONBLOCK);
    EXPECT(s >= 0);
    EXPECT_ERR(read(s, block, 1), EAGAIN);
    p = (struct pollfd){.fd = fd, .events = POLLOUT};
    do { /* what is sent makes room when it arrives, which can be later */
        while ((r = (int)write(fd, block, sizeof block)) > 0)
            sent += r;
        EXPECT_EQ(r, -1);
        EXPECT_EQ(errno, EAGAIN);
    } while (poll(&p, 1, 200) != 0);
    EXPECT(sent > 65536);
    while (sent > 0) {
        p = (struct pollfd){.fd = s, .events = POLLIN};
        EXPECT_EQ(poll(&p, 1, 10000), 1);
        while ((r = (int)read(s, block, sizeof block)) > 0)
            sent -= r;
        EXPECT_EQ(r, -1);
    }
    p = (struct pollfd){.fd = fd, .events = POLLOUT};
    EXPECT_EQ(poll(&p, 1, 10000), 1);
    close(fd);
    p = (struct pollfd){.fd = s, .events = POLLIN | POLLRDHUP};
    EXPECT_EQ(poll(&p, 1, 10000), 1);
    EXPECT(p.revents & POLLRDHUP);
    EXPECT_EQ(read(s, block, 1), 0);
}

static void refused_later(void)
{
    struct sockaddr_in a;
    struct pollfd p;
    socklen_t len = sizeof(int);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), l = listener(&a), err = 0;

    close(l);
    err = connect(fd, (struct sockaddr *)&a, sizeof a) == 0 ? 0 : errno;
    if (err == ECONNREFUSED) /* refused at once */
        return;
    EXPECT_EQ(err, EINPROGRESS);
    p = (struct pollfd){.fd = fd, .events = POLLOUT};
    EXPECT_EQ(poll(&p, 1, 10000), 1);
    EXPECT(p.revents & POLLERR);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
    EXPECT_EQ(err, ECONNREFUSED);
}

enum { BULK = 8 << 20 };

static unsigned char pattern(long i)
{
    return (unsigned char)((unsigned long)i * 2654435761u >> 24);
}

static void *bulk_sender(void *arg)
{
    static unsigned char block[50000];
    int fd = *(int *)arg;

    for (long sent = 0; sent < BULK;) {
        long n = BULK - sent < (long)sizeof block ? BULK - sent : (long)sizeof block;

        for (long i = 0; i < n; i++)
            block[i] = pattern(sent + i);
        n = write(fd, block, (size_t)n);
        EXPECT(n > 0);
        sent += n;
    }
    EXPECT_EQ(shutdown(fd, SHUT_WR), 0);
    return NULL;
}

static void bulk(void)
{
    static unsigned char block[33333];
    pthread_t t;
    int fd[2];
    long got = 0, n;

    connection(fd);
    EXPECT_EQ(pthread_create(&t, NULL, bulk_sender, &fd[0]), 0);
    while ((n = read(fd[1], block, sizeof block)) > 0) {
        for (long i = 0; i < n; i++)
            EXPECT_EQ(block[i], pattern(got + i));
        got += n;
    }
    EXPECT_EQ(n, 0);
    EXPECT_EQ(got, BULK);
    pthread_join(t, NULL);
}

static void time_limit(void)
{
    struct timeval tv = {0, 20000};
    char c;
    int fd[2];

    connection(fd);
    EXPECT_EQ(setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv), 0);
    EXPECT_ERR(read(fd[0], &c, 1), EAGAIN);
}

static void udp_messages(void)
{
    struct sockaddr_in a = loopback(0), from;
    socklen_t len = sizeof a;
    char buf[16] = {0};
    int s = socket(AF_INET, SOCK_DGRAM, 0), c = socket(AF_INET, SOCK_DGRAM, 0), n = -1;
    static char big[65536];

    EXPECT_EQ(bind(s, (struct sockaddr *)&a, sizeof a), 0);
    EXPECT_EQ(getsockname(s, (struct sockaddr *)&a, &len), 0);
    EXPECT_ERR(send(c, "x", 1, 0), EDESTADDRREQ);
    EXPECT_EQ(sendto(c, "hello", 5, 0, (struct sockaddr *)&a, sizeof a), 5);
    EXPECT_EQ(sendto(c, "", 0, 0, (struct sockaddr *)&a, sizeof a), 0);
    EXPECT_EQ(recv(s, buf, sizeof buf, MSG_PEEK), 5); /* waits until it has arrived */
    EXPECT_EQ(ioctl(s, FIONREAD, &n), 0);
    EXPECT_EQ(n, 5);
    /* the rest of the message is lost */
    EXPECT_EQ(recvfrom(s, buf, 2, MSG_TRUNC, (struct sockaddr *)&from, &len), 5);
    EXPECT_EQ(len, sizeof from);
    EXPECT_EQ(from.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    EXPECT_EQ(recv(s, buf, sizeof buf, 0), 0);
    EXPECT_ERR(recv(s, buf, sizeof buf, MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(connect(s, (struct sockaddr *)&from, sizeof from), 0);
    EXPECT_EQ(send(s, "answer", 6, 0), 6);
    EXPECT_EQ(recv(c, buf, sizeof buf, 0), 6);
    EXPECT_ERR(sendto(c, big, sizeof big, 0, (struct sockaddr *)&a, sizeof a), EMSGSIZE);
    EXPECT_EQ(sendto(c, big, 60000, 0, (struct sockaddr *)&a, sizeof a), 60000);
    EXPECT_EQ(recv(s, big, sizeof big, 0), 60000);
}

/* Waits until an error has arrived for the socket. */
static void await_error(int fd)
{
    struct pollfd p = {.fd = fd};

    EXPECT_EQ(poll(&p, 1, 10000), 1);
    EXPECT_EQ(p.revents, POLLERR);
}

/*
 * A port that no socket has: the next call of a connected socket reports the error, whichever call it is, once; another
 * socket gets no error.
 */
static void udp_refused(void)
{
    struct sockaddr_in a = loopback(0), mine;
    socklen_t len = sizeof a, size = sizeof(int);
    int s = socket(AF_INET, SOCK_DGRAM, 0), c = socket(AF_INET, SOCK_DGRAM, 0), err = 0;
    char buf[4];

    EXPECT_EQ(bind(s, (struct sockaddr *)&a, sizeof a), 0);
    EXPECT_EQ(getsockname(s, (struct sockaddr *)&a, &len), 0);
    EXPECT_EQ(connect(c, (struct sockaddr *)&a, sizeof a), 0);
    EXPECT_EQ(getsockname(c, (struct sockaddr *)&mine, &len), 0);
    EXPECT_EQ(sendto(s, "first", 5, 0, (struct sockaddr *)&mine, sizeof mine), 5);
    close(s);
    EXPECT_EQ(send(c, "x", 1, 0), 1);
    await_error(c);
    /* before data that has already arrived */
    EXPECT_ERR(recv(c, buf, sizeof buf, 0), ECONNREFUSED);
    EXPECT_EQ(recv(c, buf, sizeof buf, 0), 4);
    EXPECT_ERR(recv(c, buf, sizeof buf, MSG_DONTWAIT), EAGAIN);
    EXPECT_EQ(send(c, "x", 1, 0), 1);
    await_error(c);
    EXPECT_ERR(send(c, "x", 1, 0), ECONNREFUSED);
    EXPECT_EQ(send(c, "x", 1, 0), 1);
    await_error(c);
    EXPECT_EQ(getsockopt(c, SOL_SOCKET, SO_ERROR, &err, &size), 0);
    EXPECT_EQ(err, ECONNREFUSED);
    EXPECT_ERR(recv(c, buf, sizeof buf, MSG_DONTWAIT), EAGAIN);
    s = socket(AF_INET, SOCK_DGRAM, 0);
    EXPECT_EQ(sendto(s, "x", 1, 0, (struct sockaddr *)&a, sizeof a), 1);
    EXPECT_EQ(sendto(s, "x", 1, 0, (struct sockaddr *)&a, sizeof a), 1);
    EXPECT_ERR(recv(s, buf, sizeof buf, MSG_DONTWAIT), EAGAIN);
}

static void *refused_sender(void *arg)
{
    EXPECT_EQ(send(*(int *)arg, "x", 1, 0), 1);
    return NULL;
}

/* A waiting thread is woken. */
static void udp_refused_waiting(void)
{
    struct sockaddr_in a = loopback(0);
    socklen_t len = sizeof a;
    int s = socket(AF_INET, SOCK_DGRAM, 0), c = socket(AF_INET, SOCK_DGRAM, 0);
    pthread_t t;
    char b;

    EXPECT_EQ(bind(s, (struct sockaddr *)&a, sizeof a), 0);
    EXPECT_EQ(getsockname(s, (struct sockaddr *)&a, &len), 0);
    EXPECT_EQ(connect(c, (struct sockaddr *)&a, sizeof a), 0);
    close(s);
    EXPECT_EQ(pthread_create(&t, NULL, refused_sender, &c), 0);
    EXPECT_ERR(recv(c, &b, 1, 0), ECONNREFUSED);
    pthread_join(t, NULL);
}

static void gather(void)
{
    struct sockaddr_in a = loopback(0), from;
    socklen_t len = sizeof a;
    char x[4] = {0}, y[8] = {0};
    struct iovec out[2] = {{"abc", 3}, {"defgh", 5}}, in[2] = {{x, 3}, {y, 4}};
    struct msghdr m = {.msg_name = &a, .msg_namelen = sizeof a, .msg_iov = out, .msg_iovlen = 2};
    int s = socket(AF_INET, SOCK_DGRAM, 0), c = socket(AF_INET, SOCK_DGRAM, 0), fd[2];

    EXPECT_EQ(bind(s, (struct sockaddr *)&a, sizeof a), 0);
    EXPECT_EQ(getsockname(s, (struct sockaddr *)&a, &len), 0);
    EXPECT_EQ(sendmsg(c, &m, 0), 8);
    m = (struct msghdr){
        .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = in, .msg_iovlen = 2};
    EXPECT_EQ(recvmsg(s, &m, 0), 7);
    EXPECT(m.msg_flags & MSG_TRUNC);
    EXPECT_EQ(m.msg_namelen, sizeof from);
    EXPECT(memcmp(x, "abc", 3) == 0 && memcmp(y, "defg", 4) == 0);
    EXPECT_ERR(syscall(SYS_recvmsg, s, (void *)8, 0), EFAULT);
    connection(fd);
    EXPECT_EQ(writev(fd[0], out, 2), 8);
    EXPECT_EQ(recv(fd[1], y, 8, MSG_WAITALL), 8);
    EXPECT(memcmp(y, "abcdefgh", 8) == 0);
}

/* Control messages of a TCP socket are refused, and there is no queue of errors to read. */
static void control_messages(void)
{
    struct iovec iov = {"x", 1};
    union {
        struct cmsghdr h;
        char room[CMSG_SPACE(sizeof(int))];
    } c = {.h = {.cmsg_len = CMSG_LEN(sizeof(int)),
                 .cmsg_level = SOL_SOCKET,
                 .cmsg_type = SCM_RIGHTS}};
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof c};
    char got;
    int fd[2], udp = socket(AF_INET, SOCK_DGRAM, 0);

    connection(fd);
    if (!on_homeroom())
        c.h.cmsg_type = 99; /* Linux drops the files and sends the byte */
    EXPECT_ERR(sendmsg(fd[0], &m, 0), EINVAL);
    EXPECT_ERR(recv(fd[1], &got, 1, MSG_DONTWAIT), EAGAIN);
    if (on_homeroom())
        EXPECT_ERR(recv(udp, &got, 1, MSG_ERRQUEUE | MSG_DONTWAIT), EINVAL);
}

static void unix_streams(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX}, b = {.sun_family = AF_UNIX};
    char buf[8];
    int fd[2], l, c, s;

    sprintf(a.sun_path, "/tmp/t_net.%d", getpid());
    sprintf(b.sun_path, "/tmp/t_net.%d.b", getpid());
    signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    EXPECT_EQ(write(fd[0], "abc", 3), 3);
    EXPECT_EQ(read(fd[1], buf, 8), 3);
    close(fd[0]);
    EXPECT_EQ(read(fd[1], buf, 8), 0);
    EXPECT_ERR(write(fd[1], "x", 1), EPIPE);
    unlink(a.sun_path);
    l = socket(AF_UNIX, SOCK_STREAM, 0);
    c = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_ERR(connect(c, (struct sockaddr *)&a, sizeof a), ENOENT);
    EXPECT_EQ(bind(l, (struct sockaddr *)&a, sizeof a), 0);
    EXPECT_ERR(bind(l, (struct sockaddr *)&b, sizeof b), EINVAL);
    EXPECT_ERR(unlink(b.sun_path), ENOENT);
    EXPECT_ERR(connect(c, (struct sockaddr *)&a, sizeof a), ECONNREFUSED);
    EXPECT_EQ(listen(l, 4), 0);
    EXPECT_EQ(connect(c, (struct sockaddr *)&a, sizeof a), 0);
    s = accept(l, NULL, NULL);
    EXPECT_EQ(write(c, "hello", 5), 5);
    EXPECT_EQ(read(s, buf, 8), 5);
    s = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_ERR(bind(s, (struct sockaddr *)&a, sizeof a), EADDRINUSE);
    EXPECT_EQ(unlink(a.sun_path), 0);
}

static const struct check list[] = {
    {"making", making},
    {"no_bytes", no_bytes},
    {"errors", errors},
    {"ports", ports},
    {"options", options},
    {"talk", talk},
    {"ports_of_listeners", ports_of_listeners},
    {"writers_wait", writers_wait},
    {"reuse_port", reuse_port},
    {"reuse_address", reuse_address},
    {"linger_resets", linger_resets},
    {"options_not_here", options_not_here},
    {"halves", halves},
    {"sigpipe", sigpipe},
    {"reset", reset},
    {"nonblocking", nonblocking},
    {"refused_later", refused_later},
    {"bulk", bulk},
    {"time_limit", time_limit},
    {"udp_messages", udp_messages},
    {"udp_refused", udp_refused},
    {"udp_refused_waiting", udp_refused_waiting},
    {"gather", gather},
    {"control_messages", control_messages},
    {"unix_streams", unix_streams},
};
CHECK_MAIN(list)
