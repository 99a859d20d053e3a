// SPDX-License-Identifier: MIT
/*
 * test_net.c - the network with a hostile peer, a hostile card, and a lack of memory: no crash, no access outside of
 * memory, nothing left behind.
 *
 * The test acts as the host at the other end of the card's wire.  Frames are valid ones of each kind (ARP, ICMP,
 * fragments, UDP, TCP for a listener, for no socket, and for an existing connection), with some bytes changed.  Half of
 * them then get valid checksums, so that they are processed further.  The card sometimes reports wrong lengths.
 */
#include "net/netpriv.h"

#include <errno.h>
#include <string.h>

#include "lwip/opt.h"
#include "tests/host/check.h"

enum { FRAMES = 60000, OPERATIONS = 40000, PORT = 5001, PEER_PORT = 4000, ASKING = 5100 };
/* ms, after which TCP has given up everything that it was sending */
enum { DAYS = 3 * 86400 * 1000 };

#define PEER 0x0202000au /* 10.0.2.2, network order */
#define OURS 0x0f02000au /* 10.0.2.15 */

static uint8_t frame[2048];
static unsigned frame_len;

static uint64_t at_rest; /* bytes of the network's memory without any socket or packet */

static void start(void)
{
    static bool started;

    if (!started) {
        net_init("10.0.2.15/24 10.0.2.2\n");
        at_rest = net_bytes_used;
    }
    started = true;
}

/* ---- building frames ---- */

static void put16(unsigned at, unsigned v)
{
    frame[at] = (uint8_t)(v >> 8);
    frame[at + 1] = (uint8_t)v;
}

static void put32(unsigned at, uint32_t v)
{
    put16(at, v >> 16);
    put16(at + 2, v & 0xffff);
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned sum(const uint8_t *p, unsigned n, uint32_t s)
{
    for (unsigned i = 0; i + 1 < n; i += 2)
        s += (uint32_t)(p[i] << 8 | p[i + 1]);
    if (n & 1)
        s += (uint32_t)p[n - 1] << 8;
    while (s >> 16)
        s = (s & 0xffff) + (s >> 16);
    return s;
}

static void ethernet(unsigned type)
{
    static const uint8_t ours[6] = {0x52, 0x54, 0, 0x12, 0x34, 0x56},
                         peer[6] = {0x52, 0x55, 10, 0, 2, 2};

    memset(frame, 0, sizeof frame);
    memcpy(frame, ours, 6);
    memcpy(frame + 6, peer, 6);
    put16(12, type);
}

static void arp(unsigned op)
{
    ethernet(0x0806);
    put16(14, 1), put16(16, 0x800), frame[18] = 6, frame[19] = 4, put16(20, op);
    memcpy(frame + 22, frame + 6, 6);
    put32(28, 0x0a000202);
    put32(38, 0x0a00020f);
    frame_len = 42;
}

static void ip(unsigned protocol, unsigned payload, unsigned fragment)
{
    ethernet(0x0800);
    frame[14] = 0x45;
    put16(16, 20 + payload);
    put16(18, (unsigned)check_below(4));
    put16(20, fragment);
    frame[22] = 64;
    frame[23] = (uint8_t)protocol;
    put32(26, 0x0a000202);
    put32(30, 0x0a00020f);
    frame_len = 34 + payload;
    for (unsigned i = 34; i < frame_len; i++)
        frame[i] = (uint8_t)check_random();
}

static void tcp_segment(unsigned sport, unsigned dport, uint32_t seq, uint32_t ack, unsigned flags,
                        unsigned options, unsigned data)
{
    static const uint8_t some[] = {2, 4,  5, 0xb4, 1, 3, 3, 2, 4, 2, 1, 1,
                                   8, 10, 0, 0,    0, 1, 0, 0, 0, 0, 1, 0};

    ip(6, 20 + options + data, 0x4000);
    put16(34, sport), put16(36, dport), put32(38, seq), put32(42, ack);
    frame[46] = (uint8_t)((20 + options) / 4 << 4);
    frame[47] = (uint8_t)flags;
    put16(48, 65535);
    put16(52, 0);
    memcpy(frame + 54, some, min_of(options, (unsigned)sizeof some));
}

/* An ICMP error about a datagram that port ASKING has sent to the peer's `port`. */
static void icmp_error(unsigned type, unsigned code, unsigned port)
{
    ip(1, 8 + 20 + 8, 0);
    frame[34] = (uint8_t)type, frame[35] = (uint8_t)code;
    frame[42] = 0x45, put16(44, 28), put16(48, 0), frame[51] = 17;
    put32(54, 0x0a00020f), put32(58, 0x0a000202);
    put16(62, ASKING), put16(64, port);
}

/* Corrects the checksums of an IP packet, as far as its headers allow. */
static void mend(void)
{
    unsigned hlen = (frame[14] & 15u) * 4, total = (unsigned)(frame[16] << 8 | frame[17]), n, at;

    if (frame[12] != 8 || frame[13] != 0 || hlen < 20 || total < hlen || 14 + total > sizeof frame)
        return;
    put16(24, 0);
    put16(24, ~sum(frame + 14, hlen, 0) & 0xffff);
    n = total - hlen;
    at = 14 + hlen;
    if (frame[23] == 1 && n >= 4) {
        put16(at + 2, 0);
        put16(at + 2, ~sum(frame + at, n, 0) & 0xffff);
    } else if ((frame[23] == 6 && n >= 20) || (frame[23] == 17 && n >= 8)) {
        unsigned where = at + (frame[23] == 6 ? 16 : 6);

        put16(where, 0);
        put16(where, ~sum(frame + at, n, sum(frame + 26, 8, frame[23] + n)) & 0xffff);
    }
}

static void deliver(void)
{
    host_frame(frame, frame_len, frame_len + 12);
}

/* ---- the sockets that frames are for ---- */

static struct file *make(int type, int protocol)
{
    struct file *f = NULL;

    return socket_file(AF_INET, type, protocol, O_NONBLOCK, &f) == 0 ? f : NULL;
}

static struct sock_addr address(uint32_t ip_network_order, unsigned port)
{
    struct sock_addr a = {0};

    inet_put(&a, ip_network_order, (uint16_t)port);
    return a;
}

static struct file *listening(unsigned port)
{
    struct file *f = make(SOCK_STREAM, 0);
    struct sock_addr a = address(0, port);

    CHECK(f != NULL);
    CHECK_EQ(socket_bind(f, &a), 0);
    CHECK_EQ(socket_listen(f, 8), 0);
    return f;
}

static long receive(struct file *f, void *buf, size_t n)
{
    struct iovec v;
    struct uio uio;
    struct sock_msg m = {.uio = &uio};

    v = (struct iovec){(uintptr_t)buf, n};
    uio = (struct uio){.iov = &v, .niov = 1, .resid = n, .dir = UIO_READ};
    return socket_receive(f, &m);
}

static long transmit(struct file *f, const void *buf, size_t n, const struct sock_addr *to)
{
    struct iovec v = {(uintptr_t)buf, n};
    struct uio uio = {.iov = &v, .niov = 1, .resid = n, .dir = UIO_WRITE};
    struct sock_msg m = {.uio = &uio, .flags = MSG_NOSIGNAL};

    if (to != NULL)
        m.name = *to;
    return socket_send(f, &m);
}

/* One connection made by the peer: its present state. */
static struct {
    struct file *f;
    uint32_t seq, ack;
    unsigned port;
} conn;

static void meet(struct file *l)
{
    struct sock_addr from;
    const uint8_t *s;
    unsigned len;

    if (conn.f != NULL)
        file_release(conn.f);
    conn.f = NULL;
    conn.port = PEER_PORT + (unsigned)check_below(1000);
    conn.seq = (uint32_t)check_random();
    (void)host_sent(&len);
    tcp_segment(conn.port, PORT, conn.seq, 0, 2, 24, 0);
    mend();
    deliver();
    if ((s = host_sent(&len)) == NULL || len < 54 || s[23] != 6 || (s[47] & 0x12) != 0x12)
        return; /* there is no room for it now */
    conn.ack = get32(s + 38) + 1;
    conn.seq++;
    tcp_segment(conn.port, PORT, conn.seq, conn.ack, 0x10, 0, 0);
    mend();
    deliver();
    if (socket_accept(l, O_NONBLOCK, &from, &conn.f) != 0)
        conn.f = NULL;
}

/* ---- the tests ---- */

TEST(a_connection_from_outside)
{
    struct file *l;
    struct sock_addr peer;
    char buf[16];
    const uint8_t *s;
    unsigned len;
    long before;

    start();
    before = host_kmem;
    l = listening(PORT);
    arp(1);
    deliver();
    CHECK(host_sent(&len) != NULL);
    meet(l);
    CHECK(conn.f != NULL);
    CHECK_EQ(socket_name(conn.f, true, &peer), 0);
    tcp_segment(conn.port, PORT, conn.seq, conn.ack, 0x18, 0, 5);
    memcpy(frame + 54, "hello", 5);
    mend();
    deliver();
    CHECK_EQ(receive(conn.f, buf, sizeof buf), 5);
    CHECK(memcmp(buf, "hello", 5) == 0);
    CHECK_EQ(receive(conn.f, buf, sizeof buf), -EAGAIN);
    (void)host_sent(&len);
    CHECK_EQ(transmit(conn.f, "answer", 6, NULL), 6);
    CHECK((s = host_sent(&len)) != NULL);
    CHECK(len >= 60 && memcmp(s + 54, "answer", 6) == 0);
    CHECK_EQ(sum(s + 34, 26, sum(s + 26, 8, 6 + 26)), 0xffff); /* its checksum is valid */
    tcp_segment(conn.port, PORT, conn.seq + 5, conn.ack + 6, 0x14, 0, 0); /* a reset */
    mend();
    deliver();
    CHECK_EQ(receive(conn.f, buf, sizeof buf), -ECONNRESET);
    file_release(conn.f);
    conn.f = NULL;
    file_release(l);
    host_advance(DAYS);
    CHECK_EQ(host_kmem, before);
    CHECK_EQ(net_bytes_used, at_rest);
}

/* Bytes that wait in the queue of f. */
static int waiting(struct file *f)
{
    int n = -1;

    CHECK_EQ(f->ops->ioctl(f, 0x541b /* FIONREAD */, (uintptr_t)&n), 0);
    return n;
}

/* A connection over the loopback; to[] gets its ends. */
static void connect_loopback(unsigned port, struct file *to[2])
{
    struct sock_addr a = address(0x0100007f, port), from;
    struct file *l = listening(port);

    to[0] = make(SOCK_STREAM, 0);
    CHECK(to[0] != NULL);
    CHECK_EQ(socket_connect(to[0], &a), -EINPROGRESS);
    CHECK_EQ(socket_accept(l, O_NONBLOCK, &from, &to[1]), 0);
    file_release(l);
}

/*
 * Small writes never wait for the network's timer: a request in two writes arrives while time stands still, and so
 * does the end of a write that is longer than a segment.
 */
TEST(small_writes_need_no_timer)
{
    struct file *to[2];
    static char buf[TCP_MSS + 10];

    start();
    connect_loopback(5200, to);
    for (unsigned round = 0; round < 40; round++) {
        long got = 0;

        CHECK_EQ(transmit(to[0], "ab", 2, NULL), 2);
        CHECK_EQ(transmit(to[0], "cd", 2, NULL), 2);
        for (unsigned tries = 0; tries < 4 && got < 4; tries++) {
            long n = receive(to[1], buf + got, 4 - (size_t)got);

            CHECK(n > 0 || n == -EAGAIN);
            got += max_of(n, 0l);
        }
        CHECK_EQ(got, 4);
        CHECK_EQ(transmit(to[1], "r", 1, NULL), 1);
        CHECK_EQ(receive(to[0], buf, 1), 1);
    }
    CHECK_EQ(receive(to[1], buf, 1), -EAGAIN);
    CHECK_EQ(transmit(to[0], buf, sizeof buf, NULL), (long)sizeof buf);
    CHECK_EQ(waiting(to[1]), (int)sizeof buf);
    file_release(to[0]);
    file_release(to[1]);
    host_advance(DAYS);
    CHECK_EQ(net_bytes_used, at_rest);
}

/* Both sides hold a small segment back: each acknowledges the other's at the next tick, not after a retransmission. */
TEST(both_sides_hold_back)
{
    struct file *to[2];

    start();
    connect_loopback(5201, to);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned n = 0; n < 2; n++)
            CHECK_EQ(transmit(to[i], "ab", 2, NULL), 2);
    host_advance(300);
    CHECK_EQ(waiting(to[0]), 4);
    CHECK_EQ(waiting(to[1]), 4);
    file_release(to[0]);
    file_release(to[1]);
    host_advance(DAYS);
    CHECK_EQ(net_bytes_used, at_rest);
}

static void build(void)
{
    static const unsigned flags[] = {2, 0x10, 0x18, 0x11, 0x14, 4, 0x12, 0, 0x29, 0x3f};
    unsigned fl = flags[check_below(10)],
             data = check_below(3) == 0 ? (unsigned)check_below(1400) : 0;

    switch (check_below(10)) {
    case 0:
        arp(1 + (unsigned)check_below(2));
        break;
    case 1:
        ip(1, 8 + (unsigned)check_below(1000), 0);
        frame[34] = check_below(2) ? 8 : (uint8_t)check_random();
        frame[35] = 0;
        break;
    case 2: /* a fragment */
        ip(17, 8 + 8 * (unsigned)check_below(100),
           (unsigned)(check_below(2) << 13 | check_below(200)));
        break;
    case 3:
        ip(17, 8 + data, 0);
        put16(34, PEER_PORT), put16(36, PORT + (unsigned)check_below(3)), put16(38, 8 + data);
        break;
    case 4:
        tcp_segment(PEER_PORT + (unsigned)check_below(50), PORT + (unsigned)check_below(3),
                    (uint32_t)check_random(), (uint32_t)check_random(), fl,
                    4 * (unsigned)check_below(11), data);
        break;
    case 5:
        ip((unsigned)check_below(256), (unsigned)check_below(1480), 0);
        break;
    case 6:
        icmp_error(3, (unsigned)check_below(20), PEER_PORT);
        break;
    default: /* of the connection, near its window */
        tcp_segment(conn.port, PORT,
                    conn.seq + (uint32_t)check_below(3000) - (check_below(2) ? 1500 : 0),
                    conn.ack + (uint32_t)check_below(200) - 100, fl,
                    check_below(3) ? 0 : 4 * (unsigned)check_below(11), data);
    }
}

static void mutate(void)
{
    unsigned n = (unsigned)check_below(5);

    while (n-- > 0)
        frame[check_below(3) ? check_below(64) : check_below(frame_len)] =
            (uint8_t)(check_below(3) ? check_random() : 255 * check_below(2));
    if (check_below(16) == 0)
        frame_len = (unsigned)check_below(1515);
    if (check_below(2))
        mend();
}

static void drain(struct file *f)
{
    static uint8_t buf[70000];

    for (int i = 0; i < 20 && f != NULL && receive(f, buf, sizeof buf) > 0; i++)
        ;
}

/* A socket for datagrams, bound to ASKING; connected to the peer's PEER_PORT. */
static struct file *asking(bool connected)
{
    struct file *f = make(SOCK_DGRAM, 0);
    struct sock_addr a = address(0, ASKING), to = address(PEER, PEER_PORT);

    CHECK_EQ(socket_bind(f, &a), 0);
    if (connected)
        CHECK_EQ(socket_connect(f, &to), 0);
    return f;
}

TEST(errors_that_come_back)
{
    static const struct {
        unsigned type, code, port;
        int err;
    } list[] = {
        {3, 3, PEER_PORT, ECONNREFUSED},
        {3, 3, PEER_PORT + 1, 0},
        {3, 0, PEER_PORT, 0},
        {3, 1, PEER_PORT, 0},
        {3, 4, PEER_PORT, 0},
        {3, 13, PEER_PORT, EHOSTUNREACH},
        {3, 16, PEER_PORT, 0},
        {11, 0, PEER_PORT, 0},
        {12, 0, PEER_PORT, EPROTO},
        {0, 3, PEER_PORT, 0},
    };
    struct file *f;
    char c;

    start();
    f = asking(true);
    for (unsigned i = 0; i < sizeof list / sizeof list[0]; i++) {
        icmp_error(list[i].type, list[i].code, list[i].port);
        mend();
        deliver();
        CHECK_EQ(receive(f, &c, 1), list[i].err != 0 ? -list[i].err : -EAGAIN);
        CHECK_EQ(receive(f, &c, 1), -EAGAIN); /* reported once */
    }
    icmp_error(3, 3, PEER_PORT);
    mend();
    frame[36] ^= 1; /* a wrong checksum */
    deliver();
    CHECK_EQ(receive(f, &c, 1), -EAGAIN);
    for (unsigned len = 34; len < 70; len++) { /* incomplete */
        icmp_error(3, 3, PEER_PORT);
        put16(16, len - 14);
        mend();
        frame_len = len;
        deliver();
        CHECK_EQ(receive(f, &c, 1), len >= 66 ? -ECONNREFUSED : -EAGAIN);
    }
    file_release(f);
    f = asking(false);
    icmp_error(3, 3, PEER_PORT);
    mend();
    deliver();
    CHECK_EQ(receive(f, &c, 1), -EAGAIN);
    file_release(f);
    host_advance(DAYS);
    CHECK_EQ(net_bytes_used, at_rest);
}

TEST(malformed_frames)
{
    struct file *l, *u, *r, *c, *p = NULL;
    struct sock_addr a = address(0, PORT), from;
    uint64_t most = 0;
    long before;

    start();
    before = host_kmem;
    l = listening(PORT);
    u = make(SOCK_DGRAM, 0);
    r = make(SOCK_RAW, 1);
    c = asking(true);
    CHECK_EQ(socket_bind(u, &a), 0);
    CHECK_EQ(socket_file(AF_PACKET, SOCK_DGRAM, 0x0008, O_NONBLOCK, &p), 0);
    for (unsigned i = 0; i < FRAMES; i++) {
        struct file *n = NULL;

        host_fail_one_in = i % 4 == 3 ? 8 : 0; /* every fourth frame arrives when memory is short */
        if (conn.f == NULL || check_below(200) == 0)
            meet(l);
        build();
        mutate();
        if (check_below(50) == 0)
            host_frame(frame, frame_len, (uint32_t)check_random());
        else
            deliver();
        if (check_below(8) == 0)
            drain(conn.f);
        if (check_below(16) == 0)
            drain(u), drain(r), drain(c), drain(p);
        if (conn.f != NULL && check_below(16) == 0)
            (void)transmit(conn.f, frame, check_below(1500), NULL);
        if (check_below(32) == 0 && socket_accept(l, O_NONBLOCK, &from, &n) == 0)
            file_release(n);
        if (check_below(64) == 0)
            host_advance((unsigned)check_below(3000));
        most = max_of(most, (uint64_t)net_bytes_used);
    }
    host_fail_one_in = 0;
    CHECK(most <= 16384ul * 1024);
    if (conn.f != NULL)
        file_release(conn.f);
    conn.f = NULL;
    file_release(l);
    file_release(u);
    file_release(r);
    file_release(c);
    file_release(p);
    host_advance(DAYS);
    CHECK_EQ(net_bytes_used, at_rest);
    CHECK_EQ(host_kmem, before);
}

/* Sends one byte and some of the files over an AF_UNIX socket. */
static void pass_files(struct file *to, struct file **f, unsigned n, const struct sock_addr *a)
{
    struct iovec v = {(uintptr_t)"x", 1};
    struct uio uio = {.iov = &v, .niov = 1, .resid = 1, .dir = UIO_WRITE};
    struct sock_msg m = {.uio = &uio, .flags = MSG_NOSIGNAL};

    if (check_below(4) == 0)
        m.name = *a;
    if (rights_new(1 + (unsigned)check_below(3), 100, &m.rights) != 0)
        return;
    while (m.rights->n < m.rights->size) {
        struct file *one = f[check_below(n)];

        if (one == NULL)
            break;
        file_hold(one);
        m.rights->file[m.rights->n++] = one;
    }
    (void)socket_send(to, &m);
    rights_free(m.rights);
}

/* Receives or peeks, with files or without. */
static void take_files(struct file *from)
{
    static uint8_t buf[3000];
    struct iovec v = {(uintptr_t)buf, check_below(sizeof buf)};
    struct uio uio = {.iov = &v, .niov = 1, .resid = v.len, .dir = UIO_READ};
    struct sock_msg m = {
        .uio = &uio, .flags = check_below(3) ? 0 : MSG_PEEK, .takes_rights = check_below(2)};

    (void)socket_receive(from, &m);
    rights_free(m.rights);
}

/* Calls in any order on sockets in any state, over the loopback, with memory short at times. */
TEST(calls_in_any_order)
{
    enum { N = 24 };
    static uint8_t buf[40000];
    struct file *f[N] = {NULL};
    long before;
    static const int options[] = {2, 6, 7, 8, 9, 13, 20, 21, 25};

    start();
    before = host_kmem;
    for (unsigned i = 0; i < OPERATIONS; i++) {
        unsigned k = (unsigned)check_below(N), len = 64;
        struct sock_addr a =
            address(check_below(4) ? 0x0100007f : OURS, 6000 + (unsigned)check_below(8));
        struct file *n;

        host_fail_one_in = i % 3 == 0 ? 10 : 0;
        if (f[k] == NULL) {
            int type = 1 + (int)check_below(3), family = check_below(3) == 0 ? AF_UNIX : AF_INET;

            if (family == AF_UNIX && type == SOCK_RAW)
                type = SOCK_SEQPACKET;
            if (socket_file(family, type, type == SOCK_RAW ? 1 + (int)check_below(40) : 0,
                            O_NONBLOCK, &f[k]) != 0)
                f[k] = NULL;
            continue;
        }
        if (((struct socket *)f[k]->data)->family == AF_UNIX) {
            memset(&a, 0, sizeof a);
            a.family = AF_UNIX;
            a.data[1] = (uint8_t)check_below(3); /* a name that begins with a NUL */
            a.len = 4;
        }
        switch (check_below(14)) {
        case 0:
            (void)socket_bind(f[k], &a);
            break;
        case 1:
            (void)socket_listen(f[k], (int)check_below(6));
            break;
        case 2:
        case 3:
            (void)socket_connect(f[k], &a);
            break;
        case 4:
            if (socket_accept(f[k], O_NONBLOCK, &a, &n) == 0) {
                unsigned free = 0;

                while (free < N && f[free] != NULL)
                    free++;
                if (free < N)
                    f[free] = n;
                else
                    file_release(n);
            }
            break;
        case 5:
            if (((struct socket *)f[k]->data)->family == AF_UNIX) {
                pass_files(f[k], f, N, &a);
                break;
            }
            (void)transmit(f[k], buf, check_below(sizeof buf), NULL);
            break;
        case 6:
            (void)transmit(f[k], buf, check_below(sizeof buf), NULL);
            break;
        case 7:
            (void)transmit(f[k], buf, check_below(3000), &a);
            break;
        case 8:
            take_files(f[k]);
            break;
        case 9:
            (void)receive(f[k], buf, check_below(sizeof buf));
            break;
        case 10:
            (void)socket_shutdown(f[k], (int)check_below(3));
            break;
        case 11:
            (void)socket_set_option(f[k], check_below(2) ? 1 : (int)check_below(8),
                                    check_below(2) ? options[check_below(9)] : (int)check_below(30),
                                    buf, 16);
            (void)socket_get_option(f[k], (int)check_below(8), (int)check_below(40), buf, &len);
            (void)socket_name(f[k], check_below(2), &a);
            (void)f[k]->ops->poll(f[k], NULL);
            break;
        case 12:
            host_advance((unsigned)check_below(2000));
            break;
        default:
            file_release(f[k]);
            f[k] = NULL;
        }
    }
    host_fail_one_in = 0;
    for (unsigned k = 0; k < N; k++)
        if (f[k] != NULL)
            file_release(f[k]);
    CHECK_EQ(socket_file(AF_UNIX, SOCK_DGRAM, 0, 0, &f[0]), 0);
    file_release(f[0]); /* finds the garbage that the closes above have made */
    host_advance(DAYS);
    CHECK_EQ(net_bytes_used, at_rest);
    CHECK_EQ(host_kmem, before);
}

TEST(checksum_is_that_of_the_rfc)
{
    uint8_t b[64];

    for (unsigned i = 0; i < 3000; i++) {
        unsigned n = (unsigned)check_below(61), off = (unsigned)check_below(4);

        for (unsigned k = 0; k < sizeof b; k++)
            b[k] = (uint8_t)(check_below(3) ? check_random() : 255);
        /* ours sums words in the machine's order: the same sum with its bytes exchanged */
        uint16_t ours = net_checksum(b + off, (int)n), theirs = (uint16_t)sum(b + off, n, 0);

        CHECK_EQ((uint16_t)(ours << 8 | ours >> 8), theirs);
    }
}

/* A half-open connection outlives its listener, and /proc shows it. */
TEST(a_listener_goes_first)
{
    struct pseudo_node node = {.tag = NET_SHOW_TCP};
    struct text text = {0};
    struct file *l;
    unsigned len;

    start();
    l = listening(PORT);
    (void)host_sent(&len);
    tcp_segment(PEER_PORT, PORT, 77, 0, 2, 24, 0);
    mend();
    deliver();
    CHECK(host_sent(&len) != NULL);
    file_release(l);
    CHECK_EQ(net_show(&node, (struct pseudo_arg){0}, &text), 0);
    tcp_segment(PEER_PORT, PORT, 78, 1, 0x10, 0, 0);
    mend();
    deliver();
    CHECK_EQ(net_show(&node, (struct pseudo_arg){0}, &text), 0);
    host_advance(DAYS);
    CHECK_EQ(net_bytes_used, at_rest);
}

/*
 * Two programs that write and do not read: both windows close, and the two sides do not answer ACKs with ACKs for ever.
 */
TEST(two_closed_windows)
{
    static uint8_t bytes[8192];
    struct file *l, *one, *two = NULL;
    struct sock_addr to = address(0x0100007f, PORT), from;
    size_t sent[2] = {0, 0}, got[2] = {0, 0};
    long n;

    start();
    l = listening(PORT);
    one = make(SOCK_STREAM, 0);
    (void)socket_connect(one, &to);
    CHECK_EQ(socket_accept(l, O_NONBLOCK, &from, &two), 0);
    /* the last parts of the windows are sent when the sender has waited */
    for (int k = 0; k < 100; k++) {
        while ((n = transmit(one, bytes, sizeof bytes, NULL)) > 0)
            sent[0] += (size_t)n;
        while ((n = transmit(two, bytes, sizeof bytes, NULL)) > 0)
            sent[1] += (size_t)n;
        host_advance(1000);
    }
    for (int k = 0; k < 1000 && (got[0] < sent[1] || got[1] < sent[0]); k++) {
        while ((n = receive(one, bytes, sizeof bytes)) > 0)
            got[0] += (size_t)n;
        while ((n = receive(two, bytes, sizeof bytes)) > 0)
            got[1] += (size_t)n;
        host_advance(1000);
    }
    CHECK(sent[0] > 128 * 1024 && sent[1] > 128 * 1024);
    CHECK_EQ(got[0], sent[1]);
    CHECK_EQ(got[1], sent[0]);
    file_release(one);
    file_release(two);
    file_release(l);
    host_advance(DAYS);
    CHECK_EQ(net_bytes_used, at_rest);
}
