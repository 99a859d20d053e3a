// SPDX-License-Identifier: MIT
/*
 * tcp.c - TCP sockets over lwIP's raw interface.
 *
 * THEORY      TCP carries a stream of bytes between two programs: in order, without loss, and no faster than
 *             the receiver reads.  lwIP implements the protocol; this file makes sockets of its connections.
 *             lwIP calls the on_tcp_*() functions when a connection is established, has data, has buffer
 *             space, or has failed.  These functions run under net_lock; they queue data at the socket and wake
 *             its threads.  Received data stays in lwIP's buffers until a reader has copied it.  Only then does
 *             tcp_recved() open the receive window again, so at most TCP_WND bytes from a peer wait here.
 *             An established connection waits in its listener's queue as a complete socket, so it can receive
 *             data before accept(2).  The listener's backlog limits these connections and the
 *             half-open connections.
 * INVARIANTS  I1 .. I3 of netpriv.h
 *             I4  a connection in a listener's queue has `listener` set and is counted in accept_len
 * LOCKING     See netpriv.h.  A reader holds rlock while it copies, but not while it waits.
 * SEE ALSO    tcpsend.c, tcpopt.c, stream.c; RFC 793; tests/test_net.py
 */
#include "net/netpriv.h"
#include "net/port/hooks.h"

#include "lib/errno.h"

#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"

enum { IPPROTO_TCP = 6, BACKLOG_MAX = 255, SHUT_RD = 0, SHUT_WR = 1 };
enum { POLLRDHUP = 0x2000 };

struct list tcp_sockets = LIST_INIT(tcp_sockets);

static const struct sock_ops tcp_ops;
static uint8_t ext_id; /* index of the socket in a pcb's extra arguments (tcp_ext_arg) */

static inline struct tcp_pcb *tcp_pcb_of(struct socket *s)
{
    return s->pcb;
}

/* ---- lwIP calls (net_lock held) ---- */

static err_t on_tcp_data(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    struct socket *s = arg;

    if (p == NULL) {
        s->rx_eof = true;
        socket_wake_reader(s);
        return ERR_OK;
    }
    if (s->rx_shut) { /* no thread will read the data */
        tcp_recved(pcb, p->tot_len);
        pbuf_free(p);
        return ERR_OK;
    }
    s->rx_small = p->tot_len % pcb->mss != 0;
    stream_add(s, p);
    return ERR_OK;
}

static err_t on_tcp_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    if (tcp_has_send_room(arg))
        socket_wake_writer(arg);
    return ERR_OK;
}

/* lwIP calls this function twice a second.  Lets a writer that found no memory try again. */
static err_t on_tcp_poll(void *arg, struct tcp_pcb *pcb)
{
    struct socket *s = arg;

    if (s->starved) {
        s->starved = false;
        socket_wake_writer(s);
    }
    return ERR_OK;
}

static void on_tcp_error(void *arg, err_t err)
{
    struct socket *s = arg;

    if (s == NULL)
        return;
    s->pcb = NULL; /* lwIP has freed the pcb */
    if (s->state == SS_CONNECTING)
        s->err = err == ERR_RST ? ECONNREFUSED : ETIMEDOUT;
    else if (err == ERR_RST)
        s->err = ECONNRESET;
    else if (err == ERR_ABRT)
        s->err = ETIMEDOUT;
    else if (err != ERR_CLSD) /* ERR_CLSD is not an error: both sides have closed the connection */
        s->err = -net_errno(err);
    s->state = SS_CLOSED;
    s->rx_eof = true;
    socket_wake_reader(s);
    socket_wake_writer(s);
}

static err_t on_tcp_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct socket *s = arg;

    tcp_fix_segment_size(pcb);
    s->state = SS_CONNECTED;
    socket_wake_writer(s);
    return ERR_OK;
}

/* lwIP calls this function when it frees the pcb.  At the end of TIME_WAIT it calls no other function. */
static void on_tcp_pcb_destroyed(u8_t id, void *data)
{
    if (data != NULL)
        ((struct socket *)data)->pcb = NULL;
}

struct socket *tcp_socket(const struct tcp_pcb *pcb)
{
    return tcp_ext_arg_get(pcb, ext_id);
}

static const struct tcp_ext_arg_callbacks ext_callbacks = {.destroy = on_tcp_pcb_destroyed};

static void attach_pcb_to_socket(struct socket *s, struct tcp_pcb *pcb)
{
    s->pcb = pcb;
    tcp_ext_arg_set_callbacks(pcb, ext_id, &ext_callbacks);
    tcp_ext_arg_set(pcb, ext_id, s);
    tcp_arg(pcb, s);
    tcp_recv(pcb, on_tcp_data);
    tcp_sent(pcb, on_tcp_sent);
    tcp_err(pcb, on_tcp_error);
    tcp_poll(pcb, on_tcp_poll, 1);
}

static err_t on_tcp_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct socket *l = arg, *s;

    if (err != ERR_OK || pcb == NULL || l == NULL)
        return ERR_VAL;
    s = socket_new(&tcp_ops, AF_INET, SOCK_STREAM, IPPROTO_TCP);
    if (s == NULL)
        return ERR_MEM; /* lwIP ends the connection */
    s->state = SS_CONNECTED;
    s->sndbuf = l->sndbuf;
    s->rcvbuf = l->rcvbuf;
    s->keepalive = l->keepalive;
    s->linger = l->linger;
    s->linger_s = l->linger_s;
    s->listener = l;
    attach_pcb_to_socket(s, pcb);
    tcp_fix_segment_size(pcb);
    tcp_backlog_delayed(pcb);
    list_push_back(&tcp_sockets, &s->link);
    list_push_back(&l->accepted, &s->accept_link);
    l->accept_len++;
    socket_wake_reader(l);
    return ERR_OK;
}

/* ---- bind, connect, listen ---- */

/*
 * Whether a socket listens on this port at address `ip`; INADDR_ANY overlaps every address.  As on Linux,
 * SO_REUSEADDR does not allow a second socket on the port of a listening socket.  The caller holds net_lock.
 */
static bool port_has_listener(uint32_t ip, uint16_t port)
{
    for (const struct tcp_pcb_listen *l = tcp_listen_pcbs.listen_pcbs; l != NULL; l = l->next)
        if (l->local_port == port &&
            (ip == IPADDR_ANY || l->local_ip.addr == IPADDR_ANY || l->local_ip.addr == ip))
            return true;
    return false;
}

static int tcp_bind_socket(struct socket *s, const struct sock_addr *a)
{
    ip_addr_t ip;
    uint16_t port;
    int err = inet_get(a, &ip.addr, &port);

    if (err != 0)
        return err;
    if (!inet_may_bind(port))
        return -EACCES;
    net_enter();
    if (s->state != SS_NEW || s->pcb == NULL || tcp_pcb_of(s)->local_port != 0) {
        err = -EINVAL;
    } else if (!iface_may_bind(ip.addr)) {
        err = -EADDRNOTAVAIL;
    } else if (port != 0 && port_has_listener(ip.addr, port)) {
        err = -EADDRINUSE;
    } else {
        if (s->reuse || s->reuse_port)
            ip_set_option(tcp_pcb_of(s), SOF_REUSEADDR);
        err = net_errno(tcp_bind(tcp_pcb_of(s), &ip, port));
    }
    net_exit();
    return err;
}

/*
 * Waits until the connection is established or has failed.  0 or -errno; -EINPROGRESS: the
 * connection is not established yet.  The caller holds net_lock.
 */
static int await_connection(struct socket *s, bool nonblock)
{
    uint64_t deadline = socket_deadline(nonblock, s->sndtimeo_ns);
    int err = 0;

    while (s->state == SS_CONNECTING && err == 0)
        err = socket_wait(&s->snd, deadline, s->sndtimeo_ns, "connect");
    if (s->state == SS_CONNECTED)
        return 0;
    if (s->state == SS_CLOSED && s->err != 0)
        return socket_error(s);
    return err == -EAGAIN ? -EINPROGRESS : err;
}

static int tcp_connect_socket(struct socket *s, const struct sock_addr *a, bool nonblock)
{
    ip_addr_t ip;
    uint16_t port;
    int err = inet_get(a, &ip.addr, &port);

    if (err != 0)
        return err;
    net_enter();
    switch (s->state) {
    case SS_CONNECTING:
        err = nonblock ? -EALREADY : await_connection(s, false);
        break;
    case SS_CONNECTED:
        err = -EISCONN;
        break;
    case SS_NEW:
        if (ip.addr == IPADDR_ANY)
            ip.addr = lwip_htonl(IPADDR_LOOPBACK);
        err = net_errno(tcp_connect(tcp_pcb_of(s), &ip, port, on_tcp_connected));
        if (err == 0) {
            s->state = SS_CONNECTING;
            err = await_connection(s, nonblock);
        } else if (err == -ENOBUFS) {
            err = -EADDRNOTAVAIL; /* no port is free */
        }
        break;
    default:
        err = s->err != 0 ? socket_error(s) : -EINVAL;
    }
    net_exit();
    return err;
}

/* Makes the bound socket listen.  0 or -errno.  The caller holds net_lock. */
static int start_tcp_listening(struct socket *s, uint8_t backlog)
{
    err_t e = ERR_OK;
    struct tcp_pcb *l = tcp_listen_with_backlog_and_err(tcp_pcb_of(s), backlog, &e);

    if (l == NULL)
        return net_errno(e);
    s->pcb = l;
    s->state = SS_LISTENING;
    tcp_arg(l, s);
    tcp_accept(l, on_tcp_accept);
    return 0;
}

static int tcp_listen_socket(struct socket *s, int backlog)
{
    ip_addr_t any = {IPADDR_ANY};
    int err = 0;
    uint8_t n = (uint8_t)min_of((unsigned)max_of(backlog, 1), (unsigned)BACKLOG_MAX);

    net_enter();
    if (s->state == SS_LISTENING) {
        tcp_backlog_set(tcp_pcb_of(s), n);
    } else if (s->state != SS_NEW || s->pcb == NULL) {
        err = -EINVAL;
    } else {
        if (tcp_pcb_of(s)->local_port == 0)
            err = net_errno(tcp_bind(tcp_pcb_of(s), &any, 0));
        else if (port_has_listener(tcp_pcb_of(s)->local_ip.addr, tcp_pcb_of(s)->local_port))
            err = -EADDRINUSE;
        if (err == 0)
            err = start_tcp_listening(s, n);
    }
    net_exit();
    return err;
}

static void tcp_accept_done(struct socket *l, struct socket *n)
{
    if (n->pcb != NULL)
        tcp_backlog_accepted(tcp_pcb_of(n));
}

static int tcp_get_name(struct socket *s, bool peer, struct sock_addr *a)
{
    struct tcp_pcb *pcb;
    int err = 0;

    net_enter();
    pcb = tcp_pcb_of(s);
    if (peer && (pcb == NULL || s->state != SS_CONNECTED))
        err = -ENOTCONN;
    else if (peer)
        inet_put(a, pcb->remote_ip.addr, pcb->remote_port);
    else
        inet_put(a, pcb != NULL ? pcb->local_ip.addr : 0, pcb != NULL ? pcb->local_port : 0);
    net_exit();
    return err;
}

bool tcp_free_out_of_order(void)
{
    for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next)
        if (pcb->ooseq != NULL) {
            tcp_free_ooseq(pcb);
            return true;
        }
    return false;
}

/* ---- reading, polling ---- */

/* Undoes the enlargement of the window by net_tcp_edge().  The socket must have a pcb. */
static void restore_receive_window(struct socket *s)
{
    tcp_pcb_of(s)->rcv_wnd -= s->lent;
    s->lent = 0;
}

/*
 * A segment without data at the right edge of the window is acceptable (RFC 793, page 69).  A peer whose
 * window probe was refused sends such a segment one byte beyond the edge.  lwIP treats both kinds of segment as
 * outside the window and answers them with an ACK.  If both sides do so, they answer each other's ACKs forever.
 * So this function enlarges the window, for this one segment, until the window contains the segment.
 */
void net_tcp_edge(struct tcp_pcb *pcb, const struct tcp_hdr *h, const struct pbuf *p)
{
    struct socket *s = pcb->callback_arg;
    uint32_t past; /* number of bytes past the right edge of the window */

    if (pcb->state < ESTABLISHED || pcb->state > CLOSING || s == NULL)
        return;
    restore_receive_window(s);
    past = h->seqno - (pcb->rcv_nxt + pcb->rcv_wnd);
    if (past <= 1 && p->tot_len == 0 && !(TCPH_FLAGS(h) & (TCP_SYN | TCP_FIN))) {
        s->lent = (uint8_t)(past + 1);
        pcb->rcv_wnd += s->lent;
    }
}

static void tcp_consumed(struct socket *s, size_t n)
{
    if (s->pcb != NULL)
        restore_receive_window(s);
    for (; n > 0 && s->pcb != NULL; n -= min_of(n, 0x8000ul))
        tcp_recved(tcp_pcb_of(s), (u16_t)min_of(n, 0x8000ul));
}

/*
 * Acknowledges the last data now, if it did not fill its segments: the program asks for more data, so it has nothing
 * to send with which the acknowledgement could travel.  And the peer perhaps holds the rest of a request back until
 * it gets the acknowledgement (net_tcp_may_send()).  lwIP would wait for the next tick of the network, up to 250 ms.
 * Linux acknowledges at once at the beginning of a connection, and when a program has read everything and has not
 * answered; after an answer it waits 40 ms.  The rule here needs no timer.
 */
static void acknowledge_early(struct socket *s)
{
    if (s->rx_small && s->pcb != NULL && (tcp_pcb_of(s)->flags & TF_ACK_DELAY))
        (void)tcp_send_empty_ack(tcp_pcb_of(s));
}

static int tcp_read_end(struct socket *s)
{
    if (s->err != 0 && s->state == SS_CLOSED)
        return socket_error(s);
    if (s->rx_eof || s->rx_shut)
        return 1;
    if (s->state == SS_CONNECTED)
        acknowledge_early(s);
    return s->state == SS_CONNECTED || s->state == SS_CONNECTING ? 0 : -ENOTCONN;
}

static unsigned tcp_poll_socket(struct socket *s)
{
    unsigned r = 0;

    if (s->state == SS_LISTENING)
        return list_empty(&s->accepted) ? 0 : POLLIN | POLLRDNORM;
    if (s->err != 0)
        r |= POLLERR;
    if (s->rx_bytes != 0 || s->rx_eof || s->rx_shut)
        r |= POLLIN | POLLRDNORM;
    else if (s->state == SS_CONNECTED)
        acknowledge_early(s);
    if (s->rx_eof || s->rx_shut)
        r |= POLLRDHUP;
    if (s->state == SS_NEW || s->state == SS_CLOSED || ((s->rx_eof || s->rx_shut) && s->tx_shut))
        r |= POLLHUP;
    if (s->state != SS_CONNECTING && (s->pcb == NULL || s->tx_shut || tcp_has_send_room(s)))
        r |= POLLOUT | POLLWRNORM;
    return r;
}

/* ---- ending ---- */

static int tcp_shutdown_socket(struct socket *s, int how)
{
    int err = 0;

    net_enter();
    if (s->state == SS_LISTENING && how != SHUT_WR) {
        s->state = SS_CLOSED; /* accept() fails from now on; close() frees the queued connections */
        tcp_arg(tcp_pcb_of(s), NULL);
        (void)tcp_close(tcp_pcb_of(s));
        s->pcb = NULL;
        socket_wake_reader(s);
    } else if (s->state != SS_CONNECTED) {
        err = -ENOTCONN;
    } else {
        if (how != SHUT_WR)
            s->rx_shut = true;
        if (how != SHUT_RD && !s->tx_shut) {
            s->tx_shut = true;
            if (s->pcb != NULL)
                err = net_errno(tcp_shutdown(tcp_pcb_of(s), 0, 1));
        }
        socket_wake_reader(s);
        socket_wake_writer(s);
    }
    net_exit();
    return err;
}

/*
 * Separates a connection from its socket, and removes the socket from tcp_sockets.  lwIP closes the connection
 * with a FIN, but sends a reset if `hard` is set or if there is unread data.  The caller holds net_lock.
 */
static void detach_pcb_from_socket(struct socket *s, bool hard)
{
    struct tcp_pcb *pcb = tcp_pcb_of(s);

    list_remove(&s->link);
    s->pcb = NULL;
    if (pcb == NULL)
        return;
    tcp_arg(pcb, NULL);
    tcp_ext_arg_set(pcb, ext_id, NULL);
    if (pcb->state == LISTEN) {
        tcp_accept(pcb, NULL);
        (void)tcp_close(pcb);
        return;
    }
    tcp_recv(pcb, NULL);
    tcp_sent(pcb, NULL);
    tcp_err(pcb, NULL);
    tcp_poll(pcb, NULL, 0);
    if (hard || s->rx_bytes != 0 || tcp_close(pcb) != ERR_OK)
        tcp_abort(pcb); /* a reset tells the peer about unread data (RFC 1122, 4.2.2.13) */
}

static void tcp_close_socket(struct socket *s)
{
    struct list orphans;
    struct socket *n;

    list_init(&orphans);
    net_enter();
    while ((n = list_pop(&s->accepted, struct socket, accept_link)) != NULL) {
        if (n->pcb != NULL)
            tcp_backlog_accepted(tcp_pcb_of(n));
        detach_pcb_from_socket(n, true);
        list_push_back(&orphans, &n->accept_link);
    }
    detach_pcb_from_socket(s, s->linger && s->linger_s == 0);
    net_exit();
    while ((n = list_pop(&orphans, struct socket, accept_link)) != NULL)
        socket_free(n);
}

static int tcp_set_option(struct socket *s, int level, int name, const void *val, unsigned len)
{
    return tcp_option_set(s, tcp_pcb_of(s), level, name, val, len);
}

static int tcp_get_option(struct socket *s, int level, int name, void *val, unsigned *len)
{
    return tcp_option_get(s, tcp_pcb_of(s), level, name, val, len);
}

static const struct sock_ops tcp_ops = {
    .bind = tcp_bind_socket,
    .connect = tcp_connect_socket,
    .listen = tcp_listen_socket,
    .accept = stream_accept,
    .accepted = tcp_accept_done,
    .send = tcp_send_socket,
    .receive = stream_receive,
    .read_end = tcp_read_end,
    .consumed = tcp_consumed,
    .poll = tcp_poll_socket,
    .shutdown = tcp_shutdown_socket,
    .name = tcp_get_name,
    .set_option = tcp_set_option,
    .get_option = tcp_get_option,
    .readable = stream_readable,
    .close = tcp_close_socket,
};

void socket_tcp_init(void)
{
    ext_id = tcp_ext_arg_alloc_id();
}

int socket_make_tcp(int protocol, struct socket **out)
{
    struct tcp_pcb *pcb;
    struct socket *s;

    if (protocol != 0 && protocol != IPPROTO_TCP)
        return -EPROTONOSUPPORT;
    s = socket_new(&tcp_ops, AF_INET, SOCK_STREAM, IPPROTO_TCP);
    if (s == NULL)
        return -ENOMEM;
    net_enter();
    pcb = tcp_new();
    if (pcb != NULL) {
        attach_pcb_to_socket(s, pcb);
        list_push_back(&tcp_sockets, &s->link);
    }
    net_exit();
    if (pcb == NULL) {
        socket_free(s);
        return -ENOBUFS;
    }
    *out = s;
    return 0;
}
