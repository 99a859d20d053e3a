// SPDX-License-Identifier: MIT
/*
 * stream.c - what TCP and AF_UNIX streams share: the receive queue, and the queue of new connections.
 *
 * THEORY      The receive queue is a chain of buffers in order of arrival.  Senders append at its end under
 *             net_lock.  Only the holder of rlock removes bytes from its front.  So a reader with rlock does not
 *             need net_lock to copy the bytes that it has seen.  This is necessary because a copy to the
 *             program's memory can sleep in a page fault.  A reader waits for data without rlock, so that a
 *             non-blocking read of the same socket need not wait for this reader.
 * INVARIANTS  I2, I3 of netpriv.h
 * LOCKING     netpriv.h
 */
#include "net/netpriv.h"

#include "lib/errno.h"

#include "lwip/pbuf.h"

void stream_add(struct socket *s, struct pbuf *p)
{
    if (s->rx_first == NULL)
        s->rx_first = p;
    else
        s->rx_last->next = p;
    s->rx_bytes += p->tot_len;
    while (p->next != NULL)
        p = p->next;
    s->rx_last = p;
    socket_wake_reader(s);
}

/*
 * Copies the first `n` bytes of the queue, which must have so many, to the uio.  Returns the number
 * of bytes, or -EFAULT.  The caller holds rlock.
 */
static long copy_stream_bytes(struct socket *s, struct uio *uio, size_t n)
{
    struct pbuf *p = s->rx_first;
    size_t skip = s->rx_skip, done = 0;
    int err = 0;

    while (done < n && err == 0) {
        size_t len = min_of((size_t)p->len - skip, n - done), before = uio->resid;

        err = uio_move((uint8_t *)p->payload + skip, len, uio);
        done += before - uio->resid;
        skip = 0;
        if (done < n && err == 0)
            p = p->next;
    }
    return done > 0 ? (long)done : err;
}

/* Removes the first `n` bytes from the queue and frees their buffers.  The caller holds net_lock and rlock. */
static void consume_stream_bytes(struct socket *s, size_t n)
{
    size_t left = n;

    while (left > 0) {
        struct pbuf *p = s->rx_first;
        size_t here = p->len - s->rx_skip;

        if (left < here) {
            s->rx_skip += (uint32_t)left;
            break;
        }
        left -= here;
        s->rx_skip = 0;
        s->rx_first = p->next;
        p->next = NULL;
        p->tot_len = p->len;
        pbuf_free(p);
    }
    s->rx_bytes -= (uint32_t)n;
    s->ops->consumed(s, n);
}

/*
 * Reads at most uio->resid bytes without waiting.  Returns the number of bytes; 0: the queue is
 * empty; -EFAULT.  The caller holds rlock.
 */
static long read_stream_queue(struct socket *s, struct uio *uio, bool peek)
{
    size_t avail;
    long n;

    net_enter();
    avail = min_of((size_t)s->rx_bytes, uio->resid);
    net_exit();
    if (avail == 0)
        return 0;
    n = copy_stream_bytes(s, uio, avail);
    if (n > 0 && !peek) {
        net_enter();
        consume_stream_bytes(s, (size_t)n);
        net_exit();
    }
    return n;
}

long stream_receive(struct socket *s, struct sock_msg *m, bool nonblock)
{
    uint64_t deadline = socket_deadline(nonblock, s->rcvtimeo_ns);
    bool peek = (m->flags & MSG_PEEK) != 0, all = (m->flags & MSG_WAITALL) && !peek;
    size_t total = 0;
    int end = 0;

    m->name.len = 0;
    m->flags = 0;
    for (;;) {
        long n;

        mutex_enter(&s->rlock);
        n = read_stream_queue(s, m->uio, peek);
        mutex_exit(&s->rlock);
        if (n < 0)
            return total > 0 ? (long)total : n;
        total += (size_t)n;
        if (total > 0 && (m->uio->resid == 0 || !all))
            return (long)total;
        net_enter();
        while (end == 0 && s->rx_bytes == 0) {
            end = s->ops->read_end(s);
            if (end == 0)
                end = socket_wait(&s->rcv, deadline, s->rcvtimeo_ns, "socket read");
        }
        net_exit();
        if (end < 0 && total == 0)
            return end;
        if (end != 0 || m->uio->resid == 0) /* a read of no bytes waits for data, as on Linux */
            return (long)total;
    }
}

int stream_accept(struct socket *l, bool nonblock, struct socket **out)
{
    uint64_t deadline;
    struct socket *n = NULL;
    int err = 0;

    net_enter();
    deadline = socket_deadline(nonblock, l->rcvtimeo_ns);
    while (err == 0 && n == NULL) {
        if (l->state != SS_LISTENING) {
            err = -EINVAL;
            break;
        }
        n = list_pop(&l->accepted, struct socket, accept_link);
        if (n == NULL)
            err = socket_wait(&l->rcv, deadline, l->rcvtimeo_ns, "accept");
    }
    if (n != NULL) {
        l->accept_len--;
        n->listener = NULL;
        l->ops->accepted(l, n);
        *out = n;
    }
    net_exit();
    return n != NULL ? 0 : err;
}

long stream_readable(struct socket *s)
{
    return s->state == SS_LISTENING ? -EINVAL : (long)s->rx_bytes;
}
