// SPDX-License-Identifier: MIT
/*
 * netpriv.h - what the files of this directory share: the lock, the socket, its operations.
 *
 * THEORY      The TCP/IP protocols are implemented by lwIP, a library.  The files here put sockets on top of
 *             it.
 *             One lock guards lwIP and the fields of all sockets.  When data has arrived, lwIP calls a
 *             function of this directory; the caller of lwIP holds the lock.  That function queues the data at
 *             the socket and wakes the readers.  A thread that copies bytes from or to a program does not hold
 *             the lock, because the copy can sleep.
 *             A socket belongs to one open file, or waits in its listener's queue.  lwIP keeps a
 *             protocol control block (pcb) for each connection.  Before a socket is freed, its pcb is freed
 *             or detached from the socket.
 * INVARIANTS  I1  a pcb's callback argument is NULL, or the socket whose `pcb` is that pcb
 *             I2  only the holder of `rlock` removes bytes from the receive queue; other code
 *                 only appends bytes to the queue
 *             I3  rx_bytes is the sum of the lengths of the queue's buffers, minus rx_skip
 * LOCKING     rlock and wlock are sleeping locks: they allow one reader and one writer at a time.  Order:
 *             rlock, wlock -> net_lock (RANK_NET) -> driver, pollers, cv.
 *             [n] net_lock  [r] rlock  [c] constant
 * SEE ALSO    docs/network.md
 */
#ifndef NET_NETPRIV_H
#define NET_NETPRIV_H

#include "disp/sync.h"
#include "lib/list.h"
#include "lib/spinlock.h"
#include "net/net.h"
#include "net/port/arch/cc.h"

struct socket;
struct pbuf;
struct tcp_pcb;
struct netif;

extern struct spinlock net_lock;
/*
 * net_enter, net_exit - acquire and release net_lock.  Interrupts are off while a thread holds it.  net_exit() first
 * delivers the packets in the queue of the loopback.  It releases the lock for a moment after each packet, so that
 * other CPUs can take the lock.
 */
static inline void net_enter(void)
{
    spin_lock(&net_lock);
}
void net_exit(void);

/*
 * The operations of one kind of socket.  The caller does not hold net_lock, unless noted.  If an operation is NULL,
 * the system call fails with -EOPNOTSUPP.
 */
struct sock_ops {
    int (*bind)(struct socket *s, const struct sock_addr *a);
    int (*connect)(struct socket *s, const struct sock_addr *a, bool nonblock);
    int (*listen)(struct socket *s, int backlog);
    int (*accept)(struct socket *s, bool nonblock, struct socket **out);
    long (*send)(struct socket *s, struct sock_msg *m, bool nonblock);
    long (*receive)(struct socket *s, struct sock_msg *m, bool nonblock);
    unsigned (*poll)(struct socket *s); /* under net_lock */
    int (*shutdown)(struct socket *s, int how);
    int (*name)(struct socket *s, bool peer, struct sock_addr *a);
    /* Options that only this kind has; under net_lock.  -ENOPROTOOPT: the kind has no such option. */
    int (*set_option)(struct socket *s, int level, int name, const void *val, unsigned len);
    int (*get_option)(struct socket *s, int level, int name, void *val, unsigned *len);
    long (*readable)(struct socket *s); /* FIONREAD; under net_lock */
    /*
     * The following operations are called under net_lock, except close.  read_end is called when
     * the queue is empty.  It returns 0: wait; 1: end of file; or -errno.
     */
    int (*read_end)(struct socket *s);
    void (*consumed)(struct socket *s, size_t n);         /* n bytes have been read */
    void (*accepted)(struct socket *l, struct socket *n); /* n has left l's queue */
    void (*close)(struct socket *s);                      /* the caller frees the socket next */
};

enum sock_state { SS_NEW, SS_CONNECTING, SS_CONNECTED, SS_LISTENING, SS_CLOSED };

struct socket {
    const struct sock_ops *ops;    /* [c]                                              */
    uint16_t family;               /* [c]                                              */
    uint8_t type;                  /* [c]                                              */
    uint8_t state;                 /* [n] enum sock_state                              */
    int protocol;                  /* [c]                                              */
    struct list link;              /* [n] in the list of all sockets of its kind       */
    void *pcb;                     /* [n] lwIP's pcb; NULL: freed or detached (I1) */
    int err;                       /* [n] SO_ERROR: a positive errno                   */
    bool rx_eof, rx_shut, tx_shut; /* [n] the peer has ended; shutdown() of receiving, of sending */
    bool starved;                  /* [n] a writer waits for memory                    */
    uint8_t lent;                  /* [n] TCP: bytes by which rcv_wnd is now enlarged */
    bool rx_small;                 /* [n] TCP: the last data did not fill its segments */
    bool reuse, broadcast, keepalive, linger; /* [n] SO_* options that are on                     */
    bool reuse_port;                          /* [n] SO_REUSEPORT is on                           */
    int linger_s;                             /* [n] seconds                                      */
    uint32_t rcvbuf, sndbuf;                  /* [n] bytes                                        */
    uint64_t rcvtimeo_ns, sndtimeo_ns;        /* [n] 0: no timeout                                */
    struct cv rcv, snd;                       /* readers, acceptors; writers, connectors          */
    struct pollhead ph;
    struct mutex rlock, wlock;
    _Atomic unsigned nwait_write;    /* [a] writers that wait on snd for wlock           */
    struct pbuf *rx_first, *rx_last; /* [n] stream: received buffers, linked by ->next   */
    uint32_t rx_skip;                /* [r] bytes of rx_first that were already read     */
    uint32_t rx_bytes;               /* [n] bytes in the receive queue (I3)              */
    struct list dgrams;   /* [n] received messages: struct dgram; AF_UNIX: struct unix_msg      */
    uint64_t rx_drops;    /* [n] messages dropped                             */
    struct list accepted; /* [n] listener: connections not yet accepted       */
    struct list accept_link;      /* [n] in the listener's list `accepted`            */
    unsigned accept_len, backlog; /* [n] length of `accepted`, and its maximum        */
    /* [n] the listener whose list `accepted` contains this socket; or NULL */
    struct socket *listener;
    struct socket *peer; /* [n] AF_UNIX: the other end, or NULL; see unixpriv.h */
    /* [n] AF_UNIX datagrams: the sockets that are connected to this one; linked by client_link */
    struct list clients, client_link;
    uint32_t rx_msgs;              /* [n] AF_UNIX: messages in `dgrams` */
    bool wanted;                   /* [n] AF_UNIX: a writer waits for room in the queue */
    bool passcred;                 /* [n] AF_UNIX: SO_PASSCRED */
    struct sock_ids ids, peer_ids; /* [n] AF_UNIX: of the listening process; SO_PEERCRED */
    /* AF_UNIX, files in flight: unixgc.c */
    struct file *file;          /* [c] the open file; NULL: in a listener's queue */
    struct list rights;         /* [n] sets of files in the queue, and in those of `accepted` */
    struct list inflight_link;  /* [n] in the list of sockets that are in flight */
    unsigned inflight, outside; /* [n] references in queues; those from outside of garbage */
    struct list gc_link;        /* [n] */
    uint8_t gc;                 /* [n] */
    struct vnode *vn;           /* [n] AF_UNIX: the file to which the socket is bound, or NULL */
    struct sock_addr name;      /* [n] AF_UNIX: address of the socket               */
    bool bound; /* [n] AF_UNIX: bind() was called; false if `name` is the listener's (accepted) */
    uint32_t ifindex;      /* [n] the interface to which the socket is bound; 0: all */
    uint16_t ethertype;    /* [n] AF_PACKET: protocol, network order           */
    uint32_t inode, uid;   /* [c]                                              */
    struct usermem *payer; /* [c] the charged user; NULL: not charged yet      */
};

/*
 * socket_new - allocate an unconnected socket; NULL if there is no memory.  Can be called under net_lock.
 * socket_free - free a socket and the contents of its queues.  Its pcb must be gone.  The caller must not hold
 *               net_lock.
 */
void socket_init(void);
struct socket *socket_new(const struct sock_ops *ops, int family, int type, int protocol);
void socket_free(struct socket *s);
/* socket_charge - charge s to the calling user, unless it is charged already.  0; -ENFILE: over the limit. */
int socket_charge(struct socket *s);
/*
 * socket_wait - sleep on `cv` until woken.  The caller holds net_lock, which is released meanwhile.
 * @deadline  from socket_deadline()
 * @timeo_ns  the socket's timeout; 0: none
 * @what      the reason for the wait, for debugging
 * 0: the caller must test its condition again; -EAGAIN: the deadline has passed; on a signal -ERESTARTSYS, or
 * -EINTR if there is a timeout.
 */
int socket_wait(struct cv *cv, uint64_t deadline, uint64_t timeo_ns, const char *what);
/* Wake the readers and acceptors, or the writers and connectors, and all pollers.  Under net_lock. */
void socket_wake_reader(struct socket *s);
void socket_wake_writer(struct socket *s);
/* socket_of - store the socket of file f in *s.  0 or -ENOTSOCK. */
int socket_of(struct file *f, struct socket **s);
/*
 * socket_write_enter, socket_write_exit - acquire and release wlock.  The holder of wlock can wait for buffer space
 * without limit.  So a signal, the send timeout or `nonblock` ends the wait for wlock.  0, or socket_wait()'s error.
 */
int socket_write_enter(struct socket *s, bool nonblock);
void socket_write_exit(struct socket *s);
/* socket_error - return SO_ERROR as 0 or -errno, and clear it.  Under net_lock. */
int socket_error(struct socket *s);
/* socket_deadline - deadline of a wait that begins now; timeo_ns 0: never; 0 (do not wait) if `nonblock`. */
uint64_t socket_deadline(bool nonblock, uint64_t timeo_ns);
/* socket_signal_pipe - send SIGPIPE to the caller, unless `flags` has MSG_NOSIGNAL.  Returns -EPIPE. */
long socket_signal_pipe(unsigned flags);

/* tcp.c, icmp.c, dgram.c, packet.c, unix.c */
/*
 * tcp_socket - the socket of a connection or listener; NULL if the pcb is detached from its socket.
 * The caller holds net_lock.
 */
struct socket *tcp_socket(const struct tcp_pcb *pcb);
/*
 * tcp_free_out_of_order - free the out-of-order segments of one connection, for a caller that finds no memory.
 * The peer sends them again.  False: no connection has such segments.  Locked; must not be called from a callback
 * of lwIP.
 */
bool tcp_free_out_of_order(void);
void socket_tcp_init(void);
void socket_icmp_init(void);
void socket_unix_init(void);
int socket_make_tcp(int protocol, struct socket **out);
int socket_make_udp(int protocol, struct socket **out);
int socket_make_raw(int protocol, struct socket **out);
int socket_make_packet(int type, int protocol, struct socket **out);
int socket_make_unix(int type, int protocol, struct socket **out);
int unix_pair(int type, int protocol, struct socket *out[2]);
/* Lists of all sockets of a kind: under net_lock, for show.c. */
extern struct list tcp_sockets, udp_sockets, raw_sockets, packet_sockets, unix_sockets;

/*
 * stream.c: stream_add - append a chain of buffers to the receive queue and wake the readers; locked.
 * The other functions are sock_ops of streams.
 */
void stream_add(struct socket *s, struct pbuf *p);
long stream_receive(struct socket *s, struct sock_msg *m, bool nonblock);
int stream_accept(struct socket *l, bool nonblock, struct socket **out);
long stream_readable(struct socket *s);

/* One received message in s->dgrams. */
struct dgram {
    struct list link;
    struct pbuf *p;
    struct sock_addr from;
};
/*
 * dgram_add - queue p at s, or drop and count p if the buffer is full.  Takes over the reference to p.
 * The caller holds net_lock.
 */
void dgram_add(struct socket *s, struct pbuf *p, const struct sock_addr *from);
/* sock_ops of all sockets that receive messages. */
long dgram_receive(struct socket *s, struct sock_msg *m, bool nonblock);
unsigned dgram_poll(struct socket *s);
long dgram_readable(struct socket *s);
/* pbuf_from_uio - make a pbuf of `n` bytes of the uio, with space for headers.  -EFAULT, -ENOBUFS. */
int pbuf_from_uio(struct uio *uio, size_t n, struct pbuf **out);

/* memory.c */
void net_memory_init(void);
unsigned net_pool_used(unsigned which);
extern _Atomic uint64_t net_bytes_used, net_alloc_failed;
enum { NET_POOL_NAMES_MAX = 24 };

/* core.c: net_errno - translate an error of lwIP to 0 or -errno. */
int net_errno(int lwip_err);
void net_timer_kick(void); /* start the network timer if the timer is stopped; under net_lock */

/* iface.c */
void iface_init(const char *config);
long iface_ioctl(struct socket *s, unsigned cmd, uint64_t arg);
struct netif *iface_by_index(unsigned index); /* index 1: lo; NULL: no interface has this index */
struct netif *iface_by_name(const char *name);
/*
 * iface_may_bind - whether `ip` (network order) is local, broadcast, multicast or INADDR_ANY.  The
 * caller holds net_lock.
 */
bool iface_may_bind(uint32_t ip);
unsigned iface_index(const struct netif *n);
/* deliver one packet of the loopback; false: there is no packet.  Locked */
bool iface_loop_run(void);
/* packet_input - give copies of a frame received on interface n to the packet sockets.  The caller holds net_lock. */
void packet_input(struct netif *n, struct pbuf *p);

/* Linux's struct sockaddr_in. */
struct inet_addr {
    uint16_t family;
    uint16_t port; /* network order */
    uint32_t ip;   /* network order */
    uint8_t zero[8];
};
/* inet_may_bind - whether the caller is allowed to bind to this port (host order).  1 to 1023: only root is. */
bool inet_may_bind(uint16_t port);
/* inet_get - decode *a; `ip` is in network order.  -EINVAL: too short; -EAFNOSUPPORT.  inet_put - encode. */
int inet_get(const struct sock_addr *a, uint32_t *ip, uint16_t *port_host_order);
void inet_put(struct sock_addr *a, uint32_t ip, uint16_t port_host_order);

/*
 * inet.c: options of level IP, and SOL_SOCKET options for the pcb.  The caller holds net_lock.
 * -ENOPROTOOPT, -EINVAL.
 */
struct ip_pcb;
int inet_option_set(struct socket *s, struct ip_pcb *pcb, int level, int name, const void *val,
                    unsigned len);
int inet_option_get(struct socket *s, struct ip_pcb *pcb, int level, int name, void *val,
                    unsigned *len);
/* tcpopt.c: options of level TCP; options of other levels are passed to inet.c. */
int tcp_option_set(struct socket *s, struct tcp_pcb *pcb, int level, int name, const void *val,
                   unsigned len);
int tcp_option_get(struct socket *s, struct tcp_pcb *pcb, int level, int name, void *val,
                   unsigned *len);
/* tcpsend.c: sock_ops.send of TCP.  tcp_has_send_room - whether there is enough space to wake a writer; locked. */
long tcp_send_socket(struct socket *s, struct sock_msg *m, bool nonblock);
bool tcp_has_send_room(const struct socket *s);
/* tcp_fix_segment_size - limit the segment size of a new connection; locked.  See net_tcp_judge(). */
void tcp_fix_segment_size(struct tcp_pcb *pcb);
/* tcp_linux_state - Linux's number for a pcb's state (TCP_INFO, /proc/net/tcp). */
unsigned tcp_linux_state(const struct tcp_pcb *pcb);

#endif
