// SPDX-License-Identifier: MIT
/*
 * unix.c - stream sockets between programs on this machine (AF_UNIX).
 *
 * THEORY      A connection is two sockets that point to each other.  Bytes written to one socket are queued
 *             at its peer, up to the size of the peer's receive buffer.  A listener is found by the
 *             file to which it is bound, or by an abstract name (Linux's names that begin with a
 *             NUL byte).  The system-call layer creates and looks up the file: sock_addr.vn.
 *             Queued bytes are charged to the user that wrote them (mem/usermem.h).  They do not use the
 *             network's memory, so a user that fills its buffers does not affect other users.
 * INVARIANTS  I5  a->peer == b if and only if b->peer == a
 * LOCKING     netpriv.h
 * SEE ALSO    stream.c, unix(7) of Linux's manual
 */
#include "net/netpriv.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/usermem.h"

#include "lwip/pbuf.h"

enum { PIECE = 7936, SHUT_RD = 0, SHUT_WR = 1, BACKLOG_MAX = 4096, POLLRDHUP = 0x2000 };

struct list unix_sockets = LIST_INIT(unix_sockets);

static const struct sock_ops unix_ops;
static struct cv backlog_cv; /* connecting threads that wait for space in a listener's queue */

static struct socket *unix_new(void)
{
    return socket_new(&unix_ops, AF_UNIX, SOCK_STREAM, 0);
}

static void connect_peers(struct socket *a, struct socket *b)
{
    a->peer = b;
    b->peer = a;
    a->state = b->state = SS_CONNECTED;
}

static bool is_bound_to(const struct socket *s, const struct sock_addr *a)
{
    return a->vn != NULL
               ? s->vn == a->vn
               : s->vn == NULL && s->name.len == a->len && memcmp(&s->name, a, a->len) == 0;
}

/* The socket bound to `a`, or NULL.  The caller holds net_lock. */
static struct socket *find_bound_socket(const struct sock_addr *a)
{
    struct socket *s;

    LIST_FOREACH (s, &unix_sockets, link)
        if (s->bound && is_bound_to(s, a))
            return s;
    return NULL;
}

static int unix_bind(struct socket *s, const struct sock_addr *a)
{
    int err = 0;

    net_enter();
    if (s->name.len != 0) {
        err = -EINVAL;
    } else if (find_bound_socket(a) != NULL) {
        err = -EADDRINUSE;
    } else {
        s->name = *a;
        s->bound = true;
        s->vn = a->vn;
        if (s->vn != NULL)
            vn_hold(s->vn);
    }
    net_exit();
    return err;
}

static int unix_listen(struct socket *s, int backlog)
{
    int err = 0;

    net_enter();
    if (s->name.len == 0 || (s->state != SS_NEW && s->state != SS_LISTENING)) {
        err = -EINVAL;
    } else {
        s->state = SS_LISTENING;
        s->backlog = (unsigned)min_of(max_of(backlog, 1), BACKLOG_MAX);
    }
    net_exit();
    return err;
}

static int unix_connect(struct socket *s, const struct sock_addr *a, bool nonblock)
{
    uint64_t deadline = socket_deadline(nonblock, s->sndtimeo_ns);
    struct socket *n = unix_new();
    /* n is charged separately, because n can outlive s in the queue of the listener */
    int err = n == NULL ? -ENOMEM : socket_charge(n);

    net_enter();
    while (err == 0) {
        struct socket *l = find_bound_socket(a);

        if (s->state != SS_NEW) {
            err = s->state == SS_CONNECTED ? -EISCONN : -EINVAL;
        } else if (l == NULL || l->state != SS_LISTENING) {
            err = -ECONNREFUSED;
        } else if (l->accept_len < l->backlog) {
            n->name = l->name;
            n->name.vn = NULL;
            n->listener = l;
            connect_peers(s, n);
            list_push_back(&unix_sockets, &n->link);
            list_push_back(&l->accepted, &n->accept_link);
            l->accept_len++;
            socket_wake_reader(l);
            n = NULL;
            break;
        } else {
            err = socket_wait(&backlog_cv, deadline, s->sndtimeo_ns, "connect");
        }
    }
    net_exit();
    if (n != NULL)
        socket_free(n);
    return err;
}

static void unix_accept_done(struct socket *l, struct socket *n)
{
    cv_broadcast(&backlog_cv);
}

/* Bytes that have been written but not read.  They are in a pbuf, because stream.c queues pbufs. */
struct unix_piece {
    struct pbuf_custom pc;
    struct usermem *payer;
    size_t n;
    uint8_t bytes[];
};

static void uncharge_and_free_piece(struct unix_piece *u)
{
    usermem_return(u->payer, sizeof *u + u->n);
    kmem_free(u);
}

/* Called when pbuf_free() has dropped the last reference. */
static void free_piece_of_pbuf(struct pbuf *p)
{
    uncharge_and_free_piece(container_of(p, struct unix_piece, pc.pbuf));
}

/* Makes a piece of the next n bytes of the uio.  -ENOBUFS: no memory, or the user's limit is reached; -EFAULT. */
static int make_unix_piece(struct uio *uio, size_t n, struct pbuf **out)
{
    struct usermem *payer = usermem_charge(sizeof(struct unix_piece) + n);
    struct unix_piece *u;

    if (payer == NULL)
        return -ENOBUFS;
    u = kmem_alloc(sizeof *u + n);
    if (u == NULL) {
        usermem_return(payer, sizeof *u + n);
        return -ENOBUFS;
    }
    u->payer = payer;
    u->n = n;
    u->pc.custom_free_function = free_piece_of_pbuf;
    if (uio_move(u->bytes, n, uio) != 0) {
        uncharge_and_free_piece(u);
        return -EFAULT;
    }
    *out = pbuf_alloced_custom(PBUF_RAW, (u16_t)n, PBUF_RAM, &u->pc, u->bytes, (u16_t)n);
    return 0;
}

static bool rx_buffer_is_full(const struct socket *peer)
{
    return peer->rx_bytes >= peer->rcvbuf;
}

/* 0: a write can continue; or the -errno with which the write ends.  The caller holds net_lock. */
static int check_unix_writable(struct socket *s)
{
    if (s->state == SS_NEW || s->state == SS_LISTENING)
        return -ENOTCONN;
    return s->tx_shut || s->peer == NULL || s->peer->rx_shut ? -EPIPE : 0;
}

/* Queues p at the peer, waiting for space.  Takes over p's reference, also on error.  0 or -errno. */
static int queue_piece_at_peer(struct socket *s, struct pbuf *p, bool nonblock)
{
    uint64_t deadline = socket_deadline(nonblock, s->sndtimeo_ns);
    int err;

    net_enter();
    while ((err = check_unix_writable(s)) == 0 && rx_buffer_is_full(s->peer)) {
        err = socket_wait(&s->snd, deadline, s->sndtimeo_ns, "socket write");
        if (err != 0)
            break;
    }
    if (err == 0)
        stream_add(s->peer, p);
    net_exit();
    if (err != 0)
        pbuf_free(p);
    return err;
}

static long unix_send(struct socket *s, struct sock_msg *m, bool nonblock)
{
    size_t total = m->uio->resid, done = 0;
    int err = 0;

    if (m->name.len != 0)
        return s->state == SS_CONNECTED ? -EISCONN : -EOPNOTSUPP;
    err = socket_write_enter(s, nonblock);
    if (err != 0)
        return err;
    while (done < total && err == 0) {
        size_t n = min_of(total - done, (size_t)PIECE);
        struct pbuf *p;

        err = make_unix_piece(m->uio, n, &p);
        if (err == 0)
            err = queue_piece_at_peer(s, p, nonblock);
        if (err == 0)
            done += n;
    }
    socket_write_exit(s);
    if (done > 0)
        return (long)done;
    return err == -EPIPE ? socket_signal_pipe(m->flags) : err;
}

static int unix_read_end(struct socket *s)
{
    if (s->rx_shut || (s->state == SS_CONNECTED && (s->peer == NULL || s->peer->tx_shut)))
        return 1;
    return s->state == SS_CONNECTED ? 0 : -EINVAL;
}

static void unix_consumed(struct socket *s, size_t n)
{
    if (s->peer != NULL && !rx_buffer_is_full(s))
        socket_wake_writer(s->peer);
}

static unsigned unix_poll(struct socket *s)
{
    unsigned r = 0;
    bool ended = s->rx_shut || (s->state == SS_CONNECTED && (s->peer == NULL || s->peer->tx_shut));

    if (s->state == SS_LISTENING)
        return list_empty(&s->accepted) ? 0 : POLLIN | POLLRDNORM;
    if (s->rx_bytes != 0 || ended)
        r |= POLLIN | POLLRDNORM;
    if (ended)
        r |= POLLRDHUP;
    if (s->state == SS_NEW || (s->state == SS_CONNECTED && s->peer == NULL))
        r |= POLLHUP;
    if (s->peer == NULL || !rx_buffer_is_full(s->peer))
        r |= POLLOUT | POLLWRNORM;
    return r;
}

static int unix_shutdown(struct socket *s, int how)
{
    int err = 0;

    net_enter();
    if (s->state != SS_CONNECTED) {
        err = -ENOTCONN;
    } else {
        s->rx_shut |= how != SHUT_WR;
        s->tx_shut |= how != SHUT_RD;
        socket_wake_reader(s);
        socket_wake_writer(s);
        if (s->peer != NULL) {
            socket_wake_reader(s->peer);
            socket_wake_writer(s->peer);
        }
    }
    net_exit();
    return err;
}

static int unix_get_name(struct socket *s, bool peer, struct sock_addr *a)
{
    struct socket *of;
    int err = 0;

    net_enter();
    of = peer ? s->peer : s;
    *a = (struct sock_addr){.family = AF_UNIX, .len = 2};
    if (of == NULL)
        err = -ENOTCONN;
    else if (of->name.len != 0)
        *a = of->name;
    a->vn = NULL;
    net_exit();
    return err;
}

/* Removes s from the list of sockets and ends its connection.  The caller holds net_lock. */
static void detach_from_peer(struct socket *s)
{
    struct socket *peer = s->peer;

    list_remove(&s->link);
    s->state = SS_CLOSED;
    s->peer = NULL;
    if (peer != NULL) {
        peer->peer = NULL; /* I5 */
        socket_wake_reader(peer);
        socket_wake_writer(peer);
    }
}

static void unix_close(struct socket *s)
{
    struct list orphans;
    struct socket *n;

    list_init(&orphans);
    net_enter();
    while ((n = list_pop(&s->accepted, struct socket, accept_link)) != NULL) {
        detach_from_peer(n);
        list_push_back(&orphans, &n->accept_link);
    }
    detach_from_peer(s);
    cv_broadcast(&backlog_cv);
    net_exit();
    while ((n = list_pop(&orphans, struct socket, accept_link)) != NULL)
        socket_free(n);
}

static const struct sock_ops unix_ops = {
    .bind = unix_bind,
    .connect = unix_connect,
    .listen = unix_listen,
    .accept = stream_accept,
    .accepted = unix_accept_done,
    .send = unix_send,
    .receive = stream_receive,
    .poll = unix_poll,
    .shutdown = unix_shutdown,
    .name = unix_get_name,
    .readable = stream_readable,
    .read_end = unix_read_end,
    .consumed = unix_consumed,
    .close = unix_close,
};

void socket_unix_init(void)
{
    cv_init(&backlog_cv);
}

int socket_make_unix(int type, int protocol, struct socket **out)
{
    if (type != SOCK_STREAM)
        return -ESOCKTNOSUPPORT;
    if (protocol != 0 && protocol != AF_UNIX)
        return -EPROTONOSUPPORT;
    *out = unix_new();
    if (*out == NULL)
        return -ENOMEM;
    net_enter();
    list_push_back(&unix_sockets, &(*out)->link);
    net_exit();
    return 0;
}

int unix_pair(int type, struct socket *out[2])
{
    int err = socket_make_unix(type, 0, &out[0]);

    if (err != 0)
        return err;
    err = socket_make_unix(type, 0, &out[1]);
    if (err != 0) {
        unix_close(out[0]);
        socket_free(out[0]);
        return err;
    }
    net_enter();
    connect_peers(out[0], out[1]);
    net_exit();
    return 0;
}
