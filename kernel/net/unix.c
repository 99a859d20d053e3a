// SPDX-License-Identifier: MIT
/*
 * unix.c - sockets between programs on this machine (AF_UNIX): names, connections, options.
 *
 * THEORY      A connection (stream or seqpacket) is two sockets that point to each other.  Bytes written to one
 *             socket are queued at its peer.  A listener is found by the file to which it is bound, or by an
 *             abstract name (Linux's names that begin with a NUL byte).  The system-call layer creates and
 *             looks up the file: sock_addr.vn.
 *             A datagram socket has at most one peer, to which it sends, but the peer need not point back.  It
 *             can also send to any socket that has a name.  A socket knows the sockets whose peer it is, because
 *             they lose their peer when it is closed.
 * INVARIANTS  I5, I6 of unixpriv.h
 * LOCKING     netpriv.h
 * SEE ALSO    unixmsg.c (data), unixgc.c (open files in messages), stream.c, unix(7) of Linux's manual
 */
#include "net/unixpriv.h"

#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"

enum { SHUT_RD = 0, SHUT_WR = 1, BACKLOG_MAX = 4096, POLLRDHUP = 0x2000 };
/* Abstract names that the kernel chooses have five hexadecimal digits. */
enum { AUTO_NAMES = 0x100000 };

struct list unix_sockets = LIST_INIT(unix_sockets);
struct cv unix_room_cv;

static const struct sock_ops unix_ops, unix_dgram_ops;

static struct socket *unix_new(int type)
{
    struct socket *s =
        socket_new(type == SOCK_DGRAM ? &unix_dgram_ops : &unix_ops, AF_UNIX, type, 0);

    if (s != NULL)
        s->peer_ids = (struct sock_ids){0, UINT32_MAX, UINT32_MAX};
    return s;
}

/* The ids that the other end of a connection gets by SO_PEERCRED. */
static struct sock_ids ids_of_caller(void)
{
    return (struct sock_ids){proc_self_pid(), proc_cred()->euid, proc_cred()->egid};
}

/* ---- names; all callers hold net_lock ---- */

static bool is_bound_to(const struct socket *s, const struct sock_addr *a, int type)
{
    if (a->vn != NULL)
        return s->vn == a->vn;
    return s->vn == NULL && s->type == type && s->name.len == a->len &&
           memcmp(&s->name, a, a->len) == 0;
}

/* The socket bound to `a`, or NULL. */
static struct socket *find_bound_socket(const struct sock_addr *a, int type)
{
    struct socket *s;

    LIST_FOREACH (s, &unix_sockets, link)
        if (s->bound && is_bound_to(s, a, type))
            return s;
    return NULL;
}

int unix_find_bound(const struct sock_addr *a, int type, struct socket **to)
{
    *to = find_bound_socket(a, type);
    if (*to == NULL)
        return -ECONNREFUSED;
    return (*to)->type == type ? 0 : -EPROTOTYPE;
}

static void give_name(struct socket *s, const struct sock_addr *a)
{
    s->name = *a;
    s->bound = true;
    s->vn = a->vn;
    if (s->vn != NULL)
        vn_hold(s->vn);
}

int unix_autobind(struct socket *s)
{
    static unsigned last;
    struct sock_addr a = {.family = AF_UNIX, .len = 2 + 1 + 5};

    if (s->name.len != 0)
        return 0;
    for (unsigned i = 0; i < AUTO_NAMES; i++) {
        last = (last + 1) % AUTO_NAMES;
        snprintf((char *)a.data + 1, 6, "%05x", last);
        if (find_bound_socket(&a, s->type) == NULL) {
            give_name(s, &a);
            return 0;
        }
    }
    return -EADDRINUSE;
}

static int unix_bind(struct socket *s, const struct sock_addr *a)
{
    int err = 0;

    net_enter();
    if (a->len == 2) /* only a family: the kernel chooses a name, unless there is one */
        err = unix_autobind(s);
    else if (s->name.len != 0)
        err = -EINVAL;
    else if (find_bound_socket(a, s->type) != NULL)
        err = -EADDRINUSE;
    else
        give_name(s, a);
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

/* ---- connections ---- */

static void connect_peers(struct socket *a, struct socket *b)
{
    a->peer = b;
    b->peer = a;
    a->state = b->state = SS_CONNECTED;
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
        s->ids = ids_of_caller();
    }
    net_exit();
    return err;
}

/* Puts n, the other end of s, into the queue of listener l. */
static void join_listener(struct socket *s, struct socket *n, struct socket *l)
{
    n->name = l->name;
    n->name.vn = NULL;
    n->listener = l;
    n->passcred = l->passcred;
    n->peer_ids = ids_of_caller();
    s->peer_ids = l->ids;
    connect_peers(s, n);
    list_push_back(&unix_sockets, &n->link);
    list_push_back(&l->accepted, &n->accept_link);
    l->accept_len++;
    socket_wake_reader(l);
}

/* Whether s can connect now to the listener bound to `a`.  0 and *l; or an error.  The caller holds net_lock. */
static int find_listener(struct socket *s, const struct sock_addr *a, struct socket **l)
{
    int err;

    if (s->state != SS_NEW)
        return s->state == SS_CONNECTED ? -EISCONN : -EINVAL;
    err = unix_find_bound(a, s->type, l);
    if (err == 0 && (*l)->state != SS_LISTENING)
        err = -ECONNREFUSED;
    return err == 0 && s->passcred ? unix_autobind(s) : err;
}

static int unix_connect(struct socket *s, const struct sock_addr *a, bool nonblock)
{
    uint64_t deadline = socket_deadline(nonblock, s->sndtimeo_ns);
    struct socket *n, *l;
    int err;

    if (a->family != AF_UNIX)
        return -EINVAL;
    n = unix_new(s->type);
    /* n is charged separately, because n can outlive s in the queue of the listener */
    err = n == NULL ? -ENOMEM : socket_charge(n);
    net_enter();
    while (err == 0) {
        err = find_listener(s, a, &l);
        if (err == 0 && l->accept_len < l->backlog) {
            join_listener(s, n, l);
            n = NULL;
            break;
        }
        if (err == 0)
            err = socket_wait(&unix_room_cv, deadline, s->sndtimeo_ns, "connect");
    }
    net_exit();
    if (n != NULL)
        socket_free(n);
    return err;
}

static void unix_accept_done(struct socket *l, struct socket *n)
{
    rights_accepted(n);
    cv_broadcast(&unix_room_cv);
}

/* Makes `to` the peer of datagram socket s; NULL: s has no peer any more.  The caller holds net_lock. */
static void set_dgram_peer(struct socket *s, struct socket *to)
{
    list_remove(&s->client_link);
    s->peer = to;
    s->state = to != NULL ? SS_CONNECTED : SS_NEW;
    if (to != NULL)
        list_push_back(&to->clients, &s->client_link);
}

/*
 * connect(2) of a datagram socket.  AF_UNSPEC ends the connection.  If the socket had another peer, the messages in its
 * queue are lost, and a peer that is connected to it learns that by ECONNRESET, as on Linux.
 */
static int unix_connect_dgram(struct socket *s, const struct sock_addr *a, bool nonblock)
{
    struct list msgs, rights;
    struct socket *to = NULL;
    int err = 0;

    list_init(&msgs);
    list_init(&rights);
    mutex_enter(&s->rlock); /* a reader can be copying a message of the queue */
    net_enter();
    if (a->family == AF_UNIX) {
        err = unix_find_bound(a, s->type, &to);
        if (err == 0 && to->peer != NULL && to->peer != s)
            err = -EPERM;
        if (err == 0 && s->passcred)
            err = unix_autobind(s);
    }
    if (err == 0 && s->peer != to) {
        if (s->peer != NULL && s->peer->peer == s && s->rx_msgs > 0)
            s->peer->err = ECONNRESET;
        if (s->peer != NULL)
            unix_empty_queue(s, &msgs, &rights);
        set_dgram_peer(s, to);
        cv_broadcast(&unix_room_cv);
        socket_wake_writer(s);
    } else if (err == 0 && to == NULL) {
        s->state = SS_NEW;
    }
    net_exit();
    mutex_exit(&s->rlock);
    unix_free_messages(&msgs);
    rights_free_all(&rights);
    return err;
}

/* ---- readiness, end ---- */

static unsigned unix_poll(struct socket *s)
{
    bool pair = s->type != SOCK_DGRAM, ended = pair ? unix_ended(s) : s->rx_shut;
    bool mute =
        s->tx_shut || (pair && s->state == SS_CONNECTED && (s->peer == NULL || s->peer->rx_shut));
    unsigned r = 0;

    if (s->state == SS_LISTENING)
        return list_empty(&s->accepted) ? 0 : POLLIN | POLLRDNORM;
    if (s->err != 0)
        r |= POLLERR;
    if (s->rx_msgs != 0 || ended)
        r |= POLLIN | POLLRDNORM;
    if (ended)
        r |= POLLRDHUP;
    if ((ended && mute) || (pair && s->state != SS_CONNECTED))
        r |= POLLHUP;
    if (s->peer == NULL || unix_has_room(s, s->peer, 1))
        r |= POLLOUT | POLLWRNORM;
    return r;
}

static int unix_shutdown(struct socket *s, int how)
{
    net_enter();
    s->rx_shut |= how != SHUT_WR;
    s->tx_shut |= how != SHUT_RD;
    if (s->state == SS_LISTENING && s->rx_shut)
        s->state = SS_CLOSED; /* connect() and accept() fail from now on */
    socket_wake_reader(s);
    socket_wake_writer(s);
    cv_broadcast(&unix_room_cv);
    if (s->peer != NULL) {
        socket_wake_reader(s->peer);
        socket_wake_writer(s->peer);
    }
    net_exit();
    return 0;
}

/* Takes s off the list of sockets and from its peers.  `reset`: data is lost.  The caller holds net_lock. */
static void detach_from_peers(struct socket *s, bool reset)
{
    struct socket *peer = s->peer, *c;

    list_remove(&s->link);
    while ((c = list_pop(&s->clients, struct socket, client_link)) != NULL) {
        c->peer = NULL; /* it is still SS_CONNECTED: its next write fails with ECONNREFUSED */
        socket_wake_writer(c);
    }
    list_remove(&s->client_link);
    s->state = SS_CLOSED;
    s->peer = NULL;
    if (peer != NULL && s->type != SOCK_DGRAM) {
        peer->peer = NULL; /* I5 */
        if (reset)
            peer->err = ECONNRESET;
        socket_wake_reader(peer);
        socket_wake_writer(peer);
    }
}

static void unix_close(struct socket *s)
{
    struct list orphans, msgs, rights;
    struct socket *n;

    list_init(&orphans);
    list_init(&msgs);
    list_init(&rights);
    net_enter();
    while ((n = list_pop(&s->accepted, struct socket, accept_link)) != NULL) {
        detach_from_peers(n, true);
        unix_empty_queue(n, &msgs, &rights);
        list_push_back(&orphans, &n->accept_link);
    }
    detach_from_peers(s, s->rx_msgs > 0);
    unix_empty_queue(s, &msgs, &rights);
    rights_collect(&rights);
    cv_broadcast(&unix_room_cv);
    net_exit();
    unix_free_messages(&msgs);
    while ((n = list_pop(&orphans, struct socket, accept_link)) != NULL)
        socket_free(n);
    rights_free_all(&rights);
}

static const struct sock_ops unix_ops = {
    .bind = unix_bind,
    .connect = unix_connect,
    .listen = unix_listen,
    .accept = stream_accept,
    .accepted = unix_accept_done,
    .send = unix_send,
    .receive = unix_receive,
    .poll = unix_poll,
    .shutdown = unix_shutdown,
    .name = unix_get_name,
    .readable = unix_readable,
    .close = unix_close,
};

static const struct sock_ops unix_dgram_ops = {
    .bind = unix_bind,
    .connect = unix_connect_dgram,
    .send = unix_send,
    .receive = unix_receive,
    .poll = unix_poll,
    .shutdown = unix_shutdown,
    .name = unix_get_name,
    .readable = unix_readable,
    .close = unix_close,
};

void socket_unix_init(void)
{
    cv_init(&unix_room_cv);
}

int socket_make_unix(int type, int protocol, struct socket **out)
{
    if (protocol != 0 && protocol != AF_UNIX)
        return -EPROTONOSUPPORT;
    if (type == SOCK_RAW) /* as on Linux */
        type = SOCK_DGRAM;
    if (type != SOCK_STREAM && type != SOCK_DGRAM && type != SOCK_SEQPACKET)
        return -ESOCKTNOSUPPORT;
    *out = unix_new(type);
    if (*out == NULL)
        return -ENOMEM;
    net_enter();
    list_push_back(&unix_sockets, &(*out)->link);
    net_exit();
    return 0;
}

int unix_pair(int type, int protocol, struct socket *out[2])
{
    int err = socket_make_unix(type, protocol, &out[0]);

    if (err != 0)
        return err;
    err = socket_make_unix(type, protocol, &out[1]);
    if (err != 0) {
        unix_close(out[0]);
        socket_free(out[0]);
        return err;
    }
    net_enter();
    if (out[0]->type == SOCK_DGRAM) {
        set_dgram_peer(out[0], out[1]);
        set_dgram_peer(out[1], out[0]);
    } else {
        connect_peers(out[0], out[1]);
    }
    out[0]->peer_ids = out[1]->peer_ids = ids_of_caller();
    net_exit();
    return 0;
}
