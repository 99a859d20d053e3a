// SPDX-License-Identifier: MIT
/*
 * dgram.c - sockets for messages: their receive queue, UDP, and raw IP.
 *
 * THEORY      UDP carries single messages (datagrams); any of them may be lost.  A received message is queued
 *             with its sender's address if the receive buffer (SO_RCVBUF) has space.  Otherwise it is dropped
 *             and counted.  A message to send is copied to the kernel and handed to lwIP.  It is lost without
 *             an error if lwIP finds no memory or the card has no free buffer.
 *             Raw sockets get copies of all packets of their protocol, including the IP header.  lwIP's own
 *             implementation of the protocol also gets the packets.
 * LOCKING     netpriv.h
 * SEE ALSO    RFC 768; packet.c
 */
#include "net/netpriv.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"

#include "lwip/inet.h"
#include "lwip/raw.h"
#include "lwip/udp.h"

enum {
    IPPROTO_UDP = 17,
    IPPROTO_ICMP = 1,
    UDP_MAX = 65507,
    RAW_MAX = 65515,
    SHUT_RD = 0,
    SHUT_WR = 1
};
enum { OVERHEAD = 256 }; /* bytes that are added to the size of each queued message */
enum { IPPROTO_IP = 0, IP_HDRINCL = 3 };

struct list udp_sockets = LIST_INIT(udp_sockets), raw_sockets = LIST_INIT(raw_sockets);

/* ---- the queue ---- */

void dgram_add(struct socket *s, struct pbuf *p, const struct sock_addr *from)
{
    struct dgram *d = NULL;

    if (!s->rx_shut && s->rx_bytes + p->tot_len + OVERHEAD <= s->rcvbuf)
        d = kmem_alloc(sizeof *d);
    if (d == NULL) {
        s->rx_drops++;
        pbuf_free(p);
        return;
    }
    d->p = p;
    d->from = *from;
    list_push_back(&s->dgrams, &d->link);
    s->rx_bytes += p->tot_len + (uint32_t)OVERHEAD;
    socket_wake_reader(s);
}

/*
 * Returns the first message, and removes it from the queue if !peek; NULL: the queue is empty.  The
 * caller holds net_lock and rlock.
 */
static struct dgram *take_or_peek_dgram(struct socket *s, bool peek)
{
    struct dgram *d;

    if (list_empty(&s->dgrams))
        return NULL;
    d = list_first(&s->dgrams, struct dgram, link);
    if (!peek) {
        list_remove(&d->link);
        s->rx_bytes -= d->p->tot_len + (uint32_t)OVERHEAD;
    }
    return d;
}

/*
 * Copies a message and its sender to m.  Returns the number of bytes copied, or -EFAULT.  If `real_length` (MSG_TRUNC
 * was set), returns the length of the message instead, which can be larger.
 */
static long copy_dgram_to_uio(const struct dgram *d, struct sock_msg *m, bool real_length)
{
    size_t done = 0, want = min_of((size_t)d->p->tot_len, m->uio->resid);
    int err = 0;

    for (const struct pbuf *p = d->p; p != NULL && done < want && err == 0; p = p->next) {
        size_t n = min_of((size_t)p->len, want - done);

        err = uio_move(p->payload, n, m->uio);
        done += n;
    }
    m->name = d->from;
    m->flags = want < d->p->tot_len ? MSG_TRUNC : 0;
    if (err != 0)
        return err;
    return real_length ? d->p->tot_len : (long)want;
}

long dgram_receive(struct socket *s, struct sock_msg *m, bool nonblock)
{
    uint64_t deadline = socket_deadline(nonblock, s->rcvtimeo_ns);
    bool peek = (m->flags & MSG_PEEK) != 0, real_length = (m->flags & MSG_TRUNC) != 0;
    int err = 0;

    m->name.len = 0;
    for (;;) {
        struct dgram *d = NULL;
        long n = 0;

        mutex_enter(&s->rlock);
        net_enter();
        if (s->err != 0) /* as on Linux, the error is returned before the queued messages */
            err = socket_error(s);
        else
            d = take_or_peek_dgram(s, peek);
        net_exit();
        if (d != NULL)
            n = copy_dgram_to_uio(d, m, real_length);
        mutex_exit(&s->rlock);
        if (d != NULL) {
            if (!peek) {
                pbuf_free(d->p);
                kmem_free(d);
            }
            return n;
        }
        net_enter();
        while (err == 0 && s->err == 0 && list_empty(&s->dgrams))
            err = s->rx_shut ? 1 : socket_wait(&s->rcv, deadline, s->rcvtimeo_ns, "socket read");
        net_exit();
        if (err != 0) {
            m->flags = 0;
            return err == 1 ? 0 : err;
        }
    }
}

unsigned dgram_poll(struct socket *s)
{
    unsigned r = s->state == SS_CLOSED ? POLLHUP : POLLOUT | POLLWRNORM;

    if (s->err != 0)
        r |= POLLERR;
    return !list_empty(&s->dgrams) || s->rx_shut ? r | POLLIN | POLLRDNORM : r;
}

long dgram_readable(struct socket *s)
{
    return list_empty(&s->dgrams) ? 0 : list_first(&s->dgrams, struct dgram, link)->p->tot_len;
}

int pbuf_from_uio(struct uio *uio, size_t n, struct pbuf **out)
{
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, (u16_t)n, PBUF_RAM);

    if (p == NULL)
        return -ENOBUFS;
    if (uio_move(p->payload, n, uio) != 0) {
        pbuf_free(p);
        return -EFAULT;
    }
    *out = p;
    return 0;
}

/* Translates a result of lwIP to the result of send(2).  A lack of memory counts as success: the message is lost. */
static int send_errno(err_t e)
{
    if (e == ERR_MEM || e == ERR_BUF)
        return 0;
    return e == ERR_VAL ? -EACCES : net_errno(e);
}

static int dgram_shutdown(struct socket *s, int how)
{
    int err = 0;

    net_enter();
    if (s->state != SS_CONNECTED)
        err = -ENOTCONN;
    if (how != SHUT_WR)
        s->rx_shut = true;
    if (how != SHUT_RD)
        s->tx_shut = true;
    socket_wake_reader(s);
    net_exit();
    return err;
}

/* ---- UDP ---- */

static inline struct udp_pcb *udp_pcb_of(struct socket *s)
{
    return s->pcb;
}

/*
 * The socket that gets a datagram for which lwIP has chosen `pcb`.  Of sockets that share a port and an address, that
 * is on Linux the one that was bound last, which is the first in udp_pcbs; lwIP chooses the last in this list.
 */
static struct socket *receiver_of_datagram(const struct udp_pcb *pcb)
{
    const struct udp_pcb *o = udp_pcbs;

    if (!ip_get_option(pcb, SOF_REUSEADDR) || (pcb->flags & UDP_FLAGS_CONNECTED) != 0)
        return pcb->recv_arg;
    while (o != pcb &&
           (o->local_port != pcb->local_port || o->local_ip.addr != pcb->local_ip.addr ||
            o->netif_idx != pcb->netif_idx || (o->flags & UDP_FLAGS_CONNECTED) != 0))
        o = o->next;
    return o->recv_arg;
}

static void on_udp_datagram(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *ip,
                            u16_t port)
{
    struct sock_addr from;

    inet_put(&from, ip->addr, port);
    dgram_add(receiver_of_datagram(pcb), p, &from);
}

static int udp_bind_socket(struct socket *s, const struct sock_addr *a)
{
    ip_addr_t ip;
    uint16_t port;
    int err = inet_get(a, &ip.addr, &port);

    if (err != 0)
        return err;
    if (!inet_may_bind(port))
        return -EACCES;
    net_enter();
    if (udp_pcb_of(s)->local_port != 0)
        err = -EINVAL;
    else
        err = iface_may_bind(ip.addr) ? net_errno(udp_bind(udp_pcb_of(s), &ip, port))
                                      : -EADDRNOTAVAIL;
    net_exit();
    return err;
}

static int udp_connect_socket(struct socket *s, const struct sock_addr *a, bool nonblock)
{
    ip_addr_t ip;
    uint16_t port;
    int err = 0;

    if (a->len >= 2 && a->family == AF_UNSPEC) {
        net_enter();
        udp_disconnect(udp_pcb_of(s));
        s->state = SS_NEW;
        net_exit();
        return 0;
    }
    err = inet_get(a, &ip.addr, &port);
    if (err != 0)
        return err;
    if (ip.addr == IPADDR_ANY)
        ip.addr = lwip_htonl(IPADDR_LOOPBACK);
    net_enter();
    if (ip4_route(&ip) == NULL)
        err = -ENETUNREACH;
    else
        err = net_errno(udp_connect(udp_pcb_of(s), &ip, port));
    if (err == 0) {
        s->state = SS_CONNECTED;
        /* getsockname() returns this address, as on Linux */
        if (udp_pcb_of(s)->local_ip.addr == IPADDR_ANY)
            udp_pcb_of(s)->local_ip = *netif_ip_addr4(ip4_route(&ip));
    }
    net_exit();
    return err;
}

static long udp_send_socket(struct socket *s, struct sock_msg *m, bool nonblock)
{
    size_t n = m->uio->resid;
    ip_addr_t ip;
    uint16_t port;
    struct pbuf *p;
    int err = 0;

    if (n > UDP_MAX)
        return -EMSGSIZE;
    if (m->name.len != 0)
        err = inet_get(&m->name, &ip.addr, &port);
    if (err != 0)
        return err;
    if (m->name.len != 0 && port == 0)
        return -EINVAL;
    err = pbuf_from_uio(m->uio, n, &p);
    if (err != 0)
        return err;
    net_enter();
    if (s->tx_shut)
        err = -EPIPE;
    else if (m->name.len == 0 && s->state != SS_CONNECTED)
        err = -EDESTADDRREQ;
    else if (s->err != 0)
        err = socket_error(s);
    else
        err = send_errno(m->name.len != 0 ? udp_sendto(udp_pcb_of(s), p, &ip, port)
                                          : udp_send(udp_pcb_of(s), p));
    pbuf_free(p);
    net_exit();
    if (err == -EPIPE)
        return socket_signal_pipe(m->flags);
    return err != 0 ? err : (long)n;
}

static int udp_get_name(struct socket *s, bool peer, struct sock_addr *a)
{
    int err = 0;

    net_enter();
    if (peer && s->state != SS_CONNECTED)
        err = -ENOTCONN;
    else if (peer)
        inet_put(a, udp_pcb_of(s)->remote_ip.addr, udp_pcb_of(s)->remote_port);
    else
        inet_put(a, udp_pcb_of(s)->local_ip.addr, udp_pcb_of(s)->local_port);
    net_exit();
    return err;
}

static int dgram_set_option(struct socket *s, int level, int name, const void *val, unsigned len)
{
    int v = 0;

    if (s->type == SOCK_RAW && level == IPPROTO_IP && name == IP_HDRINCL && len >= sizeof v) {
        memcpy(&v, val, sizeof v);
        ((struct raw_pcb *)s->pcb)->flags = v != 0 ? RAW_FLAGS_HDRINCL : 0;
        return 0;
    }
    return inet_option_set(s, s->pcb, level, name, val, len);
}

static int dgram_get_option(struct socket *s, int level, int name, void *val, unsigned *len)
{
    return inet_option_get(s, s->pcb, level, name, val, len);
}

static void udp_close(struct socket *s)
{
    net_enter();
    list_remove(&s->link);
    udp_remove(udp_pcb_of(s));
    net_exit();
}

static const struct sock_ops udp_ops = {
    .bind = udp_bind_socket,
    .connect = udp_connect_socket,
    .send = udp_send_socket,
    .receive = dgram_receive,
    .poll = dgram_poll,
    .shutdown = dgram_shutdown,
    .name = udp_get_name,
    .set_option = dgram_set_option,
    .get_option = dgram_get_option,
    .readable = dgram_readable,
    .close = udp_close,
};

int socket_make_udp(int protocol, struct socket **out)
{
    struct socket *s;

    if (protocol != 0 && protocol != IPPROTO_UDP)
        return -EPROTONOSUPPORT;
    s = socket_new(&udp_ops, AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    if (s == NULL)
        return -ENOMEM;
    net_enter();
    s->pcb = udp_new();
    if (s->pcb != NULL) {
        udp_recv(udp_pcb_of(s), on_udp_datagram, s);
        list_push_back(&udp_sockets, &s->link);
    }
    net_exit();
    if (s->pcb == NULL) {
        socket_free(s);
        return -ENOBUFS;
    }
    *out = s;
    return 0;
}

/* ---- raw IP ---- */

static inline struct raw_pcb *raw_pcb_of(struct socket *s)
{
    return s->pcb;
}

static u8_t on_raw_packet(void *arg, struct raw_pcb *pcb, struct pbuf *p, const ip_addr_t *ip)
{
    struct pbuf *copy = pbuf_clone(PBUF_RAW, PBUF_RAM, p);
    struct sock_addr from;

    inet_put(&from, ip->addr, 0);
    if (copy != NULL)
        dgram_add(arg, copy, &from);
    else
        ((struct socket *)arg)->rx_drops++;
    return 0; /* 0: the protocol itself also gets the packet */
}

static int raw_bind_socket(struct socket *s, const struct sock_addr *a)
{
    ip_addr_t ip;
    uint16_t port;
    int err = inet_get(a, &ip.addr, &port);

    if (err != 0)
        return err;
    net_enter();
    err = iface_may_bind(ip.addr) ? net_errno(raw_bind(raw_pcb_of(s), &ip)) : -EADDRNOTAVAIL;
    net_exit();
    return err;
}

static int raw_connect_socket(struct socket *s, const struct sock_addr *a, bool nonblock)
{
    ip_addr_t ip;
    uint16_t port;
    int err = inet_get(a, &ip.addr, &port);

    if (err != 0)
        return err;
    net_enter();
    err = net_errno(raw_connect(raw_pcb_of(s), &ip));
    if (err == 0)
        s->state = SS_CONNECTED;
    net_exit();
    return err;
}

static long raw_send_socket(struct socket *s, struct sock_msg *m, bool nonblock)
{
    size_t n = m->uio->resid;
    ip_addr_t ip;
    uint16_t port;
    struct pbuf *p;
    int err = 0;

    if (n > RAW_MAX)
        return -EMSGSIZE;
    if (m->name.len != 0)
        err = inet_get(&m->name, &ip.addr, &port);
    if (err == 0)
        err = pbuf_from_uio(m->uio, n, &p);
    if (err != 0)
        return err;
    net_enter();
    if (m->name.len == 0 && s->state != SS_CONNECTED)
        err = -EDESTADDRREQ;
    else
        err = send_errno(m->name.len != 0 ? raw_sendto(raw_pcb_of(s), p, &ip)
                                          : raw_send(raw_pcb_of(s), p));
    pbuf_free(p);
    net_exit();
    return err != 0 ? err : (long)n;
}

static int raw_get_name(struct socket *s, bool peer, struct sock_addr *a)
{
    if (peer && s->state != SS_CONNECTED)
        return -ENOTCONN;
    net_enter();
    inet_put(a, peer ? raw_pcb_of(s)->remote_ip.addr : raw_pcb_of(s)->local_ip.addr, 0);
    net_exit();
    return 0;
}

static void raw_close(struct socket *s)
{
    net_enter();
    list_remove(&s->link);
    raw_remove(raw_pcb_of(s));
    net_exit();
}

static const struct sock_ops raw_ops = {
    .bind = raw_bind_socket,
    .connect = raw_connect_socket,
    .send = raw_send_socket,
    .receive = dgram_receive,
    .poll = dgram_poll,
    .shutdown = dgram_shutdown,
    .name = raw_get_name,
    .set_option = dgram_set_option,
    .get_option = dgram_get_option,
    .readable = dgram_readable,
    .close = raw_close,
};

int socket_make_raw(int protocol, struct socket **out)
{
    struct socket *s;

    if (protocol <= 0 || protocol > 255)
        return -EPROTONOSUPPORT;
    s = socket_new(&raw_ops, AF_INET, SOCK_RAW, protocol);
    if (s == NULL)
        return -ENOMEM;
    net_enter();
    s->pcb = raw_new((u8_t)protocol);
    if (s->pcb != NULL) {
        raw_recv(raw_pcb_of(s), on_raw_packet, s);
        if (protocol == 255) /* IPPROTO_RAW: the program writes the IP header */
            raw_pcb_of(s)->flags = RAW_FLAGS_HDRINCL;
        list_push_back(&raw_sockets, &s->link);
    }
    net_exit();
    if (s->pcb == NULL) {
        socket_free(s);
        return -ENOBUFS;
    }
    *out = s;
    return 0;
}
