// SPDX-License-Identifier: MIT
/*
 * netstorm.c - opens and closes many TCP connections over the loopback: netstorm [-h] [N]; netstorm -u PORT
 *
 * Every eighth connection carries one byte in each direction.  In turn the client, the server, or a reset ends a
 * connection.  With -h the program keeps what it has at the end and waits to be killed: a listener with connections
 * that were not accepted, one with data on its way, a UDP socket, a raw socket, an epoll.  Prints the number of
 * connections.  With -u it sends one datagram back to its sender.
 *
 * SEE ALSO    tests/test_net.py
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *what, long n)
{
    printf("connection %ld: %s: %s\n", n, what, strerror(errno));
    exit(1);
}

static int tcp(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0)
        fail("socket", -1);
    return fd;
}

static void one(int l, const struct sockaddr_in *a, long n)
{
    struct linger hard = {1, 0};
    int c = tcp(), s;
    char b = (char)n, back = 0;

    if (connect(c, (const struct sockaddr *)a, sizeof *a) != 0)
        fail("connect", n);
    if ((s = accept(l, NULL, NULL)) < 0)
        fail("accept", n);
    if (n % 8 == 0 && (write(c, &b, 1) != 1 || read(s, &back, 1) != 1 || back != b ||
                       write(s, &b, 1) != 1 || read(c, &back, 1) != 1))
        fail("a byte", n);
    if (n % 3 == 2)
        setsockopt(c, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(n % 3 == 1 ? s : c);
    close(n % 3 == 1 ? c : s);
}

static void hold(int l, const struct sockaddr_in *a)
{
    struct epoll_event ev = {.events = EPOLLIN};
    int c[4], s, ep = epoll_create1(0);
    static char data[100000];

    for (int i = 0; i < 4; i++) {
        c[i] = tcp();
        if (connect(c[i], (const struct sockaddr *)a, sizeof *a) != 0)
            fail("connect", i);
        epoll_ctl(ep, EPOLL_CTL_ADD, c[i], &ev);
    }
    s = accept(l, NULL, NULL);
    send(s, data, sizeof data, MSG_DONTWAIT);
    send(c[1], data, sizeof data, MSG_DONTWAIT);
    if (socket(AF_INET, SOCK_DGRAM, 0) < 0 || socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) < 0)
        fail("socket", -1);
    printf("holding\n");
    fflush(stdout);
    pause();
}

/* Receives a datagram and sends it back. */
static int echo(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}, from;
    socklen_t len = sizeof from;
    char buf[2000];
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    long n;

    if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0)
        fail("bind", -1);
    printf("ready\n");
    fflush(stdout);
    n = recvfrom(fd, buf, sizeof buf, 0, (struct sockaddr *)&from, &len);
    if (n < 0 || sendto(fd, buf, (size_t)n, 0, (struct sockaddr *)&from, len) != n)
        fail("a datagram", -1);
    return 0;
}

int main(int argc, char **argv)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    int holds = argc > 1 && strcmp(argv[1], "-h") == 0, l = tcp();
    long n = argc > 1 + holds ? atol(argv[1 + holds]) : 0;

    if (argc == 3 && strcmp(argv[1], "-u") == 0)
        return echo(atoi(argv[2]));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(l, (struct sockaddr *)&a, sizeof a) != 0 || listen(l, 16) != 0 ||
        getsockname(l, (struct sockaddr *)&a, &len) != 0)
        fail("listen", -1);
    for (long i = 0; i < n; i++)
        one(l, &a, i);
    printf("%ld connections\n", n);
    if (holds)
        hold(l, &a);
    return 0;
}
