// SPDX-License-Identifier: MIT
/*
 * unixmsg.c - the data of AF_UNIX sockets: writing, queues, reading.
 *
 * THEORY      A writer copies its bytes into a message, together with its ids and the files that it passes, and
 *             appends the message to the queue of the receiver.  A stream writes long data in pieces, and its reader
 *             does not see where one message ends and the next begins, unless a message carries files or, with
 *             SO_PASSCRED, comes from another process.  The reader of a datagram or seqpacket socket gets one message
 *             at a time.
 *             A queue has limits, so a writer waits for room.  A message counts with its bytes and MSG_OVERHEAD.  A
 *             stream may write while the queue is shorter than the receiver's SO_RCVBUF.  Other messages must fit
 *             the sender's SO_SNDBUF together with what is queued.  A datagram socket that is not connected to its
 *             sender queues DGRAM_QUEUE messages and one more.
 *             Queued messages are charged to the user that wrote them (mem/usermem.h).  They do not use the
 *             network's memory, so a user that fills its buffers does not affect other users.
 * LOCKING     netpriv.h.  A message is read with rlock held, and is removed with rlock and net_lock held.
 * SEE ALSO    unix.c, unixgc.c; recv(2), send(2), unix(7) of Linux's manual
 */
#include "net/unixpriv.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/usermem.h"

/* DGRAM_QUEUE is Linux's net.unix.max_dgram_qlen.  Linux refuses messages longer than SO_SNDBUF minus TOO_LONG. */
enum { MSG_OVERHEAD = 256, DGRAM_QUEUE = 10, TOO_LONG = 32 };

/* ---- messages ---- */

static size_t unix_msg_size(size_t n, uint32_t namelen)
{
    return sizeof(struct unix_msg) + n + namelen;
}

static void free_unix_msg(struct unix_msg *u)
{
    usermem_return(u->payer, unix_msg_size(u->n, u->namelen));
    kmem_free(u);
}

void unix_free_messages(struct list *msgs)
{
    struct unix_msg *u;

    while ((u = list_pop(msgs, struct unix_msg, link)) != NULL)
        free_unix_msg(u);
}

/* The ids that a message passes if the sender names none: those of a process, as Linux does with the real ids. */
static struct sock_ids ids_of_sender(const struct sock_msg *m)
{
    const struct cred *cr = proc_cred();

    return m->has_ids ? m->ids : (struct sock_ids){proc_self_pid(), cr->uid, cr->gid};
}

/*
 * Makes a message of the next n bytes of m, from the sender with this name.  -ENOBUFS: no memory, or the user's limit
 * is reached; -EFAULT.
 */
static int make_unix_msg(struct sock_msg *m, size_t n, const struct sock_addr *name,
                         struct unix_msg **out)
{
    size_t size = unix_msg_size(n, name->len);
    struct usermem *payer = usermem_charge(size);
    struct unix_msg *u;

    if (payer == NULL)
        return -ENOBUFS;
    u = kmem_alloc(size);
    if (u == NULL) {
        usermem_return(payer, size);
        return -ENOBUFS;
    }
    u->payer = payer;
    u->rights = NULL;
    u->ids = ids_of_sender(m);
    u->n = (uint32_t)n;
    u->namelen = name->len;
    u->skip = 0;
    memcpy(u->bytes + n, name, name->len);
    if (uio_move(u->bytes, n, m->uio) != 0) {
        free_unix_msg(u);
        return -EFAULT;
    }
    *out = u;
    return 0;
}

/* ---- the queue; all callers hold net_lock ---- */

static struct unix_msg *first_unix_msg(struct socket *s)
{
    return list_empty(&s->dgrams) ? NULL : list_first(&s->dgrams, struct unix_msg, link);
}

static uint32_t queue_use(const struct socket *s)
{
    return s->rx_bytes + s->rx_msgs * MSG_OVERHEAD;
}

bool unix_has_room(const struct socket *s, struct socket *to, size_t n)
{
    bool room;

    if (s->type == SOCK_STREAM)
        room = queue_use(to) < to->rcvbuf;
    else if (s->type == SOCK_DGRAM && to != s && to->peer != s && to->rx_msgs > DGRAM_QUEUE)
        room = false;
    else
        room = to->rx_msgs == 0 || queue_use(to) + n + MSG_OVERHEAD <= s->sndbuf;
    to->wanted |= !room;
    return room;
}

/* Queues u at `to`, with the files of m. */
static void queue_unix_msg(struct socket *to, struct unix_msg *u, struct sock_msg *m)
{
    list_push_back(&to->dgrams, &u->link);
    to->rx_bytes += u->n;
    to->rx_msgs++;
    if (m->rights != NULL)
        rights_queued(m->rights, to, u);
    m->rights = NULL;
    socket_wake_reader(to);
}

/* Bytes have left the queue of s: wakes the threads that wait for room in it. */
static void wake_unix_writers(struct socket *s)
{
    struct socket *c;

    if (!s->wanted || (s->type == SOCK_STREAM && queue_use(s) >= s->rcvbuf))
        return;
    s->wanted = false;
    if (s->peer != NULL)
        socket_wake_writer(s->peer);
    if (s->type != SOCK_DGRAM)
        return;
    cv_broadcast(&unix_room_cv);
    LIST_FOREACH (c, &s->clients, client_link)
        poll_wake(&c->ph);
}

static void unlink_unix_msg(struct socket *s, struct unix_msg *u)
{
    list_remove(&u->link);
    s->rx_bytes -= u->n - u->skip;
    s->rx_msgs--;
}

void unix_empty_queue(struct socket *s, struct list *msgs, struct list *rights)
{
    struct unix_msg *u;

    while ((u = first_unix_msg(s)) != NULL) {
        struct sock_rights *r = u->rights;

        unlink_unix_msg(s, u);
        list_push_back(msgs, &u->link);
        if (r != NULL) {
            rights_taken(r);
            list_push_back(rights, &r->link);
        }
    }
    wake_unix_writers(s);
}

/*
 * Gives the files of u to m; with `peek`, a copy of the set.  If there is no memory for a copy, the receiver learns
 * from MSG_CTRUNC that files are missing.
 */
static void give_rights(struct unix_msg *u, struct sock_msg *m, bool peek)
{
    struct sock_rights *r = u->rights;

    if (r == NULL)
        return;
    if (!peek) {
        rights_taken(r);
        m->rights = r;
        return;
    }
    if (m->takes_rights)
        m->rights = rights_peek(r);
    if (m->rights == NULL)
        m->flags |= MSG_CTRUNC;
}

long unix_readable(struct socket *s)
{
    if (s->state == SS_LISTENING)
        return -EINVAL;
    if (s->type != SOCK_DGRAM)
        return (long)s->rx_bytes;
    return list_empty(&s->dgrams) ? 0 : (long)first_unix_msg(s)->n;
}

/* ---- writing ---- */

/* 0: the stream is connected, and its peer reads; -ENOTCONN; -EPIPE.  The caller holds net_lock. */
static int check_unix_connected(const struct socket *s)
{
    if (s->state == SS_NEW || s->state == SS_LISTENING)
        return -ENOTCONN;
    return s->tx_shut || s->peer == NULL || s->peer->rx_shut ? -EPIPE : 0;
}

/* 0: a write to the stream can continue; or the -errno with which it ends.  The caller holds net_lock. */
static int check_unix_writable(struct socket *s)
{
    return s->err != 0 ? socket_error(s) : check_unix_connected(s);
}

/* Queues u at the peer, waiting for room; frees u on error.  0 or -errno. */
static int queue_at_peer(struct socket *s, struct unix_msg *u, struct sock_msg *m, bool nonblock)
{
    uint64_t deadline = socket_deadline(nonblock, s->sndtimeo_ns);
    int err;

    net_enter();
    while ((err = check_unix_writable(s)) == 0 && !unix_has_room(s, s->peer, u->n)) {
        err = socket_wait(&s->snd, deadline, s->sndtimeo_ns, "socket write");
        if (err != 0)
            break;
    }
    if (err == 0)
        queue_unix_msg(s->peer, u, m);
    net_exit();
    if (err != 0)
        free_unix_msg(u);
    return err;
}

static long send_unix_stream(struct socket *s, struct sock_msg *m, bool nonblock)
{
    static const struct sock_addr no_name;
    size_t total = m->uio->resid, done = 0;
    int err = 0;

    if (m->name.len != 0)
        return s->state == SS_CONNECTED ? -EISCONN : -EOPNOTSUPP;
    err = socket_write_enter(s, nonblock);
    if (err != 0)
        return err;
    if (total == 0) { /* sends nothing, not even files, but needs a peer, as on Linux */
        net_enter();
        err = check_unix_connected(s);
        net_exit();
    }
    while (done < total && err == 0) {
        size_t n = min_of(total - done, (size_t)UNIX_PIECE);
        struct unix_msg *u;

        err = make_unix_msg(m, n, &no_name, &u);
        if (err == 0)
            err = queue_at_peer(s, u, m, nonblock);
        if (err == 0)
            done += n;
    }
    socket_write_exit(s);
    if (done > 0)
        return (long)done;
    return err == -EPIPE ? socket_signal_pipe(m->flags) : err;
}

/* The socket that gets a message of s; errors as those of send(2).  The caller holds net_lock. */
static int find_receiver(struct socket *s, const struct sock_msg *m, struct socket **to)
{
    int err = 0;

    if (s->err != 0)
        return socket_error(s);
    if (s->tx_shut)
        return -EPIPE;
    *to = s->peer;
    if (s->type == SOCK_SEQPACKET)
        return s->peer == NULL || s->peer->rx_shut ? -EPIPE : 0;
    if (m->name.len != 0) {
        err = unix_find_bound(&m->name, s->type, to);
    } else if (s->peer == NULL) {
        err = s->state == SS_CONNECTED ? -ECONNREFUSED : -ENOTCONN;
        s->state = SS_NEW; /* the peer was closed: the next call fails with -ENOTCONN */
    }
    if (err != 0)
        return err;
    if ((*to)->peer != NULL && (*to)->peer != s)
        return -EPERM;
    return (*to)->rx_shut ? -EPIPE : 0;
}

/* The checks of a message before its bytes are copied.  Stores the name of s in *name.  0 or the error of send(2). */
static int prepare_message(struct socket *s, const struct sock_msg *m, struct sock_addr *name)
{
    int err = 0;

    net_enter();
    if (s->type == SOCK_SEQPACKET && s->state != SS_CONNECTED)
        err = -ENOTCONN;
    else if (s->type == SOCK_DGRAM && m->name.len == 0 && s->state != SS_CONNECTED)
        err = -ENOTCONN;
    else if (s->type == SOCK_DGRAM && s->passcred)
        err = unix_autobind(s);
    *name = s->name;
    net_exit();
    if (err != 0)
        return err;
    return m->uio->resid > s->sndbuf - TOO_LONG ? -EMSGSIZE : 0;
}

static long send_unix_message(struct socket *s, struct sock_msg *m, bool nonblock)
{
    uint64_t deadline = socket_deadline(nonblock, s->sndtimeo_ns);
    size_t n = m->uio->resid;
    struct sock_addr name;
    struct unix_msg *u;
    struct socket *to;
    int err = prepare_message(s, m, &name);

    if (err == 0)
        err = make_unix_msg(m, n, &name, &u);
    if (err != 0)
        return err;
    net_enter();
    while ((err = find_receiver(s, m, &to)) == 0 && !unix_has_room(s, to, n)) {
        err = socket_wait(s->type == SOCK_DGRAM ? &unix_room_cv : &s->snd, deadline, s->sndtimeo_ns,
                          "socket write");
        if (err != 0)
            break;
    }
    if (err == 0)
        queue_unix_msg(to, u, m);
    net_exit();
    if (err != 0)
        free_unix_msg(u); /* without SIGPIPE: only streams send it, as on Linux */
    return err != 0 ? err : (long)n;
}

long unix_send(struct socket *s, struct sock_msg *m, bool nonblock)
{
    return s->type == SOCK_STREAM ? send_unix_stream(s, m, nonblock)
                                  : send_unix_message(s, m, nonblock);
}

/* ---- reading ---- */

bool unix_ended(const struct socket *s)
{
    return s->rx_shut || (s->state == SS_CONNECTED && (s->peer == NULL || s->peer->tx_shut));
}

/* What a read of an empty queue returns: 0: wait; 1: the end; or -errno.  The caller holds net_lock. */
static int unix_read_end(struct socket *s)
{
    if (s->err != 0)
        return socket_error(s);
    if (s->type == SOCK_DGRAM)
        return s->rx_shut;
    if (unix_ended(s))
        return 1;
    if (s->state == SS_CONNECTED)
        return 0;
    return s->type == SOCK_STREAM ? -EINVAL : -ENOTCONN;
}

/* Waits until the queue is not empty.  0; 1: the end of the data; or -errno. */
static int await_unix_msg(struct socket *s, uint64_t deadline)
{
    int end = 0;

    net_enter();
    while (end == 0 && (list_empty(&s->dgrams) || (s->err != 0 && s->type != SOCK_STREAM))) {
        end = unix_read_end(s);
        if (end == 0)
            end = socket_wait(&s->rcv, deadline, s->rcvtimeo_ns, "socket read");
    }
    net_exit();
    return end;
}

static bool same_ids(const struct sock_ids *a, const struct sock_ids *b)
{
    return a->pid == b->pid && a->uid == b->uid && a->gid == b->gid;
}

/* The progress of one read from a stream. */
struct stream_read {
    size_t total;
    bool peek;
    bool found; /* there was a message; a call that wants no bytes ends with it */
    bool stop;  /* the next byte belongs to another call */
};

/*
 * Finds the message to read next: the first, or with `peek` the one after `last`.  NULL: there is none, or it must not
 * be joined with what was read.  The caller holds rlock.
 */
static struct unix_msg *next_stream_msg(struct socket *s, struct sock_msg *m,
                                        struct stream_read *rd, struct unix_msg *last)
{
    struct unix_msg *u = NULL;

    net_enter();
    if (last == NULL)
        u = first_unix_msg(s);
    else if (last->link.next != &s->dgrams)
        u = list_entry(last->link.next, struct unix_msg, link);
    if (u != NULL && rd->total > 0 && s->passcred && !same_ids(&u->ids, &m->ids)) {
        rd->stop = true;
        u = NULL;
    }
    if (u != NULL)
        m->ids = u->ids;
    net_exit();
    return u;
}

/* n bytes of u were copied: gives its files to m and, without `peek`, removes the bytes.  The caller holds rlock. */
static void pass_stream_msg(struct socket *s, struct unix_msg *u, struct sock_msg *m,
                            struct stream_read *rd, size_t n)
{
    bool all = !rd->peek && u->skip + n == u->n;

    rd->total += n;
    net_enter();
    rd->stop = u->rights != NULL;
    give_rights(u, m, rd->peek);
    if (rd->peek) {
        net_exit();
        return;
    }
    if (all)
        unlink_unix_msg(s, u);
    else
        s->rx_bytes -= (uint32_t)n;
    u->skip += (uint32_t)n;
    wake_unix_writers(s);
    net_exit();
    if (all)
        free_unix_msg(u);
}

/* Reads what is queued, at most uio->resid bytes, without waiting.  0 or -EFAULT; counts in *rd.  Takes rlock. */
static int read_unix_stream(struct socket *s, struct sock_msg *m, struct stream_read *rd)
{
    struct unix_msg *u = NULL;
    int err = 0;

    mutex_enter(&s->rlock);
    do {
        size_t before = m->uio->resid, n;

        u = next_stream_msg(s, m, rd, u);
        if (u == NULL)
            break;
        rd->found = true;
        n = min_of((size_t)u->n - u->skip, before);
        err = uio_move(u->bytes + u->skip, n, m->uio);
        n = before - m->uio->resid;
        if (n > 0 || err == 0) /* otherwise nothing is lost */
            pass_stream_msg(s, u, m, rd, n);
        if (!rd->peek)
            u = NULL;
    } while (err == 0 && !rd->stop && m->uio->resid > 0);
    mutex_exit(&s->rlock);
    return err;
}

static long receive_unix_stream(struct socket *s, struct sock_msg *m, bool nonblock)
{
    uint64_t deadline = socket_deadline(nonblock, s->rcvtimeo_ns);
    struct stream_read rd = {.peek = (m->flags & MSG_PEEK) != 0};
    bool all = (m->flags & MSG_WAITALL) && !rd.peek;
    int err;

    m->name.len = 0;
    m->flags = 0;
    m->has_ids = s->passcred;
    for (;;) {
        err = read_unix_stream(s, m, &rd);
        if (err == 0 && rd.found && (m->uio->resid == 0 || rd.stop || !all))
            return (long)rd.total;
        if (err == 0)
            err = await_unix_msg(s, deadline);
        if (err != 0)
            return rd.total > 0 || err > 0 ? (long)rd.total : err;
    }
}

/* Copies message u to m.  Returns its number of bytes, or -EFAULT; see copy_dgram_to_uio() of dgram.c. */
static long copy_unix_msg(struct unix_msg *u, struct sock_msg *m, bool real_length)
{
    size_t n = min_of((size_t)u->n, m->uio->resid);
    int err = uio_move(u->bytes, n, m->uio);

    m->ids = u->ids;
    memcpy(&m->name, u->bytes + u->n, u->namelen);
    m->name.len = u->namelen;
    if (n < u->n)
        m->flags |= MSG_TRUNC;
    if (err != 0)
        return err;
    return real_length ? (long)u->n : (long)n;
}

static long receive_unix_message(struct socket *s, struct sock_msg *m, bool nonblock)
{
    uint64_t deadline = socket_deadline(nonblock, s->rcvtimeo_ns);
    bool peek = (m->flags & MSG_PEEK) != 0, real_length = (m->flags & MSG_TRUNC) != 0;

    m->name.len = 0;
    m->flags = 0;
    m->has_ids = s->passcred;
    for (;;) {
        struct unix_msg *u;
        long n = 0;

        mutex_enter(&s->rlock);
        net_enter();
        u = s->err == 0 ? first_unix_msg(s) : NULL; /* an error is returned first, as on Linux */
        if (u != NULL) {
            give_rights(u, m, peek);
            if (!peek) {
                unlink_unix_msg(s, u);
                wake_unix_writers(s);
            }
        }
        net_exit();
        if (u != NULL)
            n = copy_unix_msg(u, m, real_length);
        mutex_exit(&s->rlock);
        if (u != NULL) {
            if (!peek)
                free_unix_msg(u);
            return n;
        }
        n = await_unix_msg(s, deadline);
        if (n != 0)
            return n == 1 ? 0 : n;
    }
}

long unix_receive(struct socket *s, struct sock_msg *m, bool nonblock)
{
    return s->type == SOCK_STREAM ? receive_unix_stream(s, m, nonblock)
                                  : receive_unix_message(s, m, nonblock);
}
