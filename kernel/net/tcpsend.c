// SPDX-License-Identifier: MIT
/*
 * tcpsend.c - writing to a TCP socket.
 *
 * THEORY      The writer first copies the data to the kernel in pieces.  It does not hold net_lock, because the
 *             copy can sleep in a page fault.  Then lwIP copies the data to segments, which hold
 *             the data until the peer has acknowledged it.  The segments hold at most TCP_SND_BUF
 *             bytes, or fewer if SO_SNDBUF is smaller.
 *             A writer that finds no space waits until the peer has acknowledged data.  A writer that finds
 *             no memory is also woken twice a second (on_tcp_poll), because other connections can free memory.
 *             A program that writes single bytes must not send a packet for each.  So a small segment waits while
 *             data is in flight (Nagle).  As on Linux, only another small segment makes it wait (Minshall), so the
 *             rest of a long write is sent at once.  The receiver's part is acknowledge_early() of tcp.c.
 * LOCKING     See netpriv.h.  A writer holds wlock from its first byte to its last, also while it waits.
 * SEE ALSO    tcp.c; RFC 896 (Nagle); draft-minshall-nagle-01
 */
#include "net/netpriv.h"

#include "lib/errno.h"
#include "mem/kmem.h"

#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "net/port/hooks.h"

enum { PIECE = 8192, SMALL = 256, LEAST = 64 };

static inline struct tcp_pcb *sender_pcb_of(struct socket *s)
{
    return s->pcb;
}

/* Bytes that lwIP accepts now.  The caller holds net_lock. */
static uint32_t tcp_sendable_bytes(const struct socket *s)
{
    struct tcp_pcb *pcb = sender_pcb_of((struct socket *)s);
    uint32_t held = TCP_SND_BUF - pcb->snd_buf, limit = min_of(s->sndbuf, (uint32_t)TCP_SND_BUF);

    return held >= limit || pcb->snd_queuelen >= TCP_SND_QUEUELEN - 2 ? 0 : limit - held;
}

bool tcp_has_send_room(const struct socket *s)
{
    return tcp_sendable_bytes(s) >= min_of(s->sndbuf, (uint32_t)TCP_SND_BUF) / 3;
}

/*
 * 0: a write can continue; -EAGAIN: not connected yet; else the -errno with which the write ends.
 * The caller holds net_lock.
 */
static int check_tcp_writable(struct socket *s)
{
    if (s->err != 0)
        return socket_error(s);
    if (s->tx_shut)
        return -EPIPE;
    if (s->state == SS_CONNECTING)
        return -EAGAIN;
    return s->state == SS_CONNECTED ? 0 : -EPIPE;
}

/*
 * If the answer is "no", lwIP's tcp_output() sends nothing at all.  So an acknowledgement that is due is sent here:
 * otherwise two sides that both wait for each other's acknowledgement would wait for a retransmission.
 */
int net_tcp_may_send(struct tcp_pcb *pcb)
{
    const struct tcp_seg *first = pcb->unsent;
    bool small = false;

    if ((pcb->flags & (TF_NODELAY | TF_INFR)) || first->next != NULL || first->len >= pcb->mss ||
        pcb->snd_buf == 0 || pcb->snd_queuelen >= TCP_SND_QUEUELEN)
        return 1;
    for (const struct tcp_seg *s = pcb->unacked; s != NULL && !small; s = s->next)
        small = s->len > 0 && s->len < pcb->mss;
    if (small && (pcb->flags & (TF_ACK_NOW | TF_NAGLEMEMERR | TF_FIN)) == TF_ACK_NOW)
        (void)tcp_send_empty_ack(pcb);
    return !small;
}

/*
 * Gives n bytes to lwIP, waiting for space.  `more`: the caller has more data, so the last segment gets no
 * PSH flag.  Returns the number of bytes accepted; if lwIP accepted no bytes, an error.  The caller
 * holds wlock.
 */
static long write_bytes_to_lwip(struct socket *s, const uint8_t *data, size_t n, bool more,
                                bool nonblock)
{
    uint64_t deadline = socket_deadline(nonblock, s->sndtimeo_ns);
    size_t done = 0;
    int err = 0;

    net_enter();
    while (done < n && err == 0) {
        uint32_t free = 0;
        size_t len;
        err_t e;

        err = check_tcp_writable(s);
        if (err == 0)
            free = tcp_sendable_bytes(s);
        if (err == -EAGAIN || (err == 0 && free == 0)) {
            err = socket_wait(&s->snd, deadline, s->sndtimeo_ns, "socket write");
            continue;
        }
        if (err != 0)
            break;
        len = 2 * min_of(n - done, (size_t)free);
        do { /* if memory is short or segments are tiny, lwIP perhaps accepts a smaller piece */
            len = max_of(len / 2, 1ul);
            e = tcp_write(sender_pcb_of(s), data + done, (u16_t)len,
                          TCP_WRITE_FLAG_COPY | (more || done + len < n ? TCP_WRITE_FLAG_MORE : 0));
        } while (e == ERR_MEM && len > LEAST);
        if (e == ERR_OK) {
            done += len;
        } else if (
            e == ERR_MEM) { /* wait for an acknowledgement of data in flight, or for free memory */
            s->starved = true;
            err = socket_wait(&s->snd, deadline, s->sndtimeo_ns, "network memory");
        } else {
            err = net_errno(e);
        }
        if (s->pcb != NULL)
            tcp_output(sender_pcb_of(s));
    }
    net_exit();
    return done > 0 ? (long)done : err;
}

long tcp_send_socket(struct socket *s, struct sock_msg *m, bool nonblock)
{
    uint8_t few[SMALL], *buf = few;
    struct uio *uio = m->uio;
    size_t size = min_of(uio->resid, (size_t)PIECE), total = 0;
    long n = 0;

    if (size > sizeof few)
        buf = kmem_alloc(size);
    if (buf == NULL)
        return -ENOBUFS;
    n = socket_write_enter(s, nonblock);
    if (n != 0)
        goto out;
    do {
        size_t len = min_of(uio->resid, size);

        if (len == 0) {
            net_enter();
            n = check_tcp_writable(s);
            net_exit();
            break;
        }
        n = uio_move(buf, len, uio);
        if (n != 0)
            break;
        n = write_bytes_to_lwip(s, buf, len, uio->resid > 0 || (m->flags & MSG_MORE), nonblock);
        if (n > 0)
            total += (size_t)n;
        if (n < (long)len)
            break;
    } while (uio->resid > 0);
    socket_write_exit(s);
out:
    if (buf != few)
        kmem_free(buf);
    if (total > 0)
        return (long)total;
    return n == -EPIPE ? socket_signal_pipe(m->flags) : n;
}
