// SPDX-License-Identifier: MIT
/*
 * unixpriv.h - what the files about AF_UNIX sockets share: the queued message, room, files in flight.
 *
 * INVARIANTS  I5  stream, seqpacket: a->peer == b if and only if b->peer == a
 *             I6  datagrams: s is in s->peer->clients if and only if s->peer is not NULL
 *             I7  s->inflight is the number of references to the file of s in messages that are in queues
 * LOCKING     netpriv.h
 */
#ifndef NET_UNIXPRIV_H
#define NET_UNIXPRIV_H

#include "net/netpriv.h"

/* Bytes that one thread has written with one call (streams: at most UNIX_PIECE of them) and no thread has read. */
struct unix_msg {
    struct list link;           /* [n] in the receiver's `dgrams` */
    struct usermem *payer;      /* [c] */
    struct sock_rights *rights; /* [n] files; NULL: none, or they have been received */
    struct sock_ids ids;        /* [c] of the sender */
    uint32_t n, namelen; /* [c] bytes of data, and of the sender's name, which follows them */
    uint32_t skip;       /* [r] streams: bytes that were read already */
    uint8_t bytes[];
};
enum { UNIX_PIECE = 7936 };

/* unix.c */
extern struct cv unix_room_cv; /* threads that wait for room in the queue of another socket */
/*
 * unix_find_bound - the socket bound to `a`; an abstract name belongs to one type of sockets.  *to, or -ECONNREFUSED;
 * -EPROTOTYPE: the socket of the path has another type.  The caller holds net_lock.
 */
int unix_find_bound(const struct sock_addr *a, int type, struct socket **to);
/* unix_autobind - bind s to an unused abstract name if it has no name yet.  -EADDRINUSE.  The caller holds net_lock. */
int unix_autobind(struct socket *s);

/* unixmsg.c: sock_ops, and what unix.c needs of the queue. */
long unix_send(struct socket *s, struct sock_msg *m, bool nonblock);
long unix_receive(struct socket *s, struct sock_msg *m, bool nonblock);
long unix_readable(struct socket *s);
/*
 * unix_has_room - whether s can queue a message of n bytes at `to`.  If not, to->wanted is set, so that readers of
 * `to` wake the writers: those that sleep on their `snd` (datagrams: unix_room_cv), and those that poll.  The caller
 * holds net_lock.
 */
bool unix_has_room(const struct socket *s, struct socket *to, size_t n);
/* unix_ended - whether no more bytes will come to s, a stream or seqpacket socket.  The caller holds net_lock. */
bool unix_ended(const struct socket *s);
/*
 * unix_empty_queue - move the messages of s to `msgs` and their files to `rights`.  The caller holds net_lock.
 * unix_free_messages - free the messages of the list.
 */
void unix_empty_queue(struct socket *s, struct list *msgs, struct list *rights);
void unix_free_messages(struct list *msgs);

/*
 * unixgc.c: rights_queued - r is now in the queue of `to`.  rights_taken - r has left its queue.
 * rights_accepted - connection n is no longer in the queue of its listener.
 * rights_peek - a copy of r, for MSG_PEEK, with references of its own; NULL: no memory, or over the limit of the user.
 * rights_collect - move the files in queues of garbage sockets to `dead`, if enough calls have been made for that.  The
 *                  caller then frees `dead`.  See there.
 * The caller of these five holds net_lock.
 * rights_free_all - release the files of the sets in the list, and the sets.  Sleeps.
 */
void rights_queued(struct sock_rights *r, struct socket *to, struct unix_msg *msg);
void rights_taken(struct sock_rights *r);
void rights_accepted(struct socket *n);
struct sock_rights *rights_peek(const struct sock_rights *r);
void rights_collect(struct list *dead);
void rights_free_all(struct list *dead);

#endif
