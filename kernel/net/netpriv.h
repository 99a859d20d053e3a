// SPDX-License-Identifier: MIT
/*
 * netpriv.h - what the files of this room share: the lock, the socket, its operations.
 *
 * THEORY      One lock guards lwIP and all sockets' fields.  lwIP calls us, with the lock held, when something has
 *             arrived; we queue it at the socket and wake who waits.  Bytes move between a program and the kernel
 *             without the lock, since that may sleep.
 *             A socket belongs to one open file, or waits in its listener's queue; who frees it first takes its pcb
 *             (lwIP's word for a connection) away, or tells the pcb that it is alone.
 * INVARIANTS  I1  a pcb's callback argument is its socket, whose `pcb` is that pcb, or NULL
 *             I2  bytes of the receive queue are taken off by the holder of `rlock` only; others add at its end
 *             I3  rx_bytes is the sum of the queue's lengths, less rx_skip
 * LOCKING     rlock, wlock (sleeping; readers, writers, one at a time) -> net_lock (RANK_NET) -> driver, pollers, cv.
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
 * net_enter, net_exit - take and leave the lock.  net_exit() first carries to its end what the loopback holds, a
 * packet at a time, letting others in between.  Interrupts are off within, but for these moments.
 */
static inline void net_enter(void)
{
    spin_lock(&net_lock);
}
void net_exit(void);

/* How a kind of socket does what sockets do.  NULL: -EOPNOTSUPP.  Called without net_lock. */
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
    /* Options that only this kind has; -ENOPROTOOPT.  get: int options only. */
    int (*set_option)(struct socket *s, int level, int name, const void *val, unsigned len);
    int (*get_option)(struct socket *s, int level, int name, void *val, unsigned *len);
    long (*readable)(struct socket *s); /* FIONREAD; under net_lock */
    /* Streams, under net_lock: why a read with an empty queue ends (1: end of file, or an error; 0: it waits) */
    int (*read_end)(struct socket *s);
    void (*consumed)(struct socket *s, size_t n);         /* n bytes have been read */
    void (*accepted)(struct socket *l, struct socket *n); /* n has left l's queue */
    void (*close)(struct socket *s);                      /* the socket is freed next */
};

enum sock_state { SS_NEW, SS_CONNECTING, SS_CONNECTED, SS_LISTENING, SS_CLOSED };

struct socket {
    const struct sock_ops *ops;               /* [c]                                              */
    uint16_t family;                          /* [c]                                              */
    uint8_t type;                             /* [c]                                              */
    uint8_t state;                            /* [n] enum sock_state                              */
    int protocol;                             /* [c]                                              */
    struct list link;                         /* [n] all sockets of its kind                      */
    void *pcb;                                /* [n] lwIP's, or NULL: gone (I1)                   */
    int err;                                  /* [n] SO_ERROR: a positive errno                   */
    bool rx_eof, rx_shut, tx_shut;            /* [n] the peer has ended; shutdown() was called    */
    bool starved;                             /* [n] a writer waits for memory                    */
    uint8_t lent;                             /* [n] TCP: lwIP sees a window so much larger       */
    bool reuse, broadcast, keepalive, linger; /* [n]                                       */
    int linger_s;                             /* [n]                                              */
    uint32_t rcvbuf, sndbuf;                  /* [n] bytes                                        */
    uint64_t rcvtimeo_ns, sndtimeo_ns;        /* [n] 0: none                                      */
    struct cv rcv, snd;                       /* who waits to read or accept; to write or connect */
    struct pollhead ph;
    struct mutex rlock, wlock;
    _Atomic unsigned nwait_write;    /* [a] writers that wait for wlock, on snd          */
    struct pbuf *rx_first, *rx_last; /* [n] stream: a chain by ->next                    */
    uint32_t rx_skip;                /* [r] bytes of rx_first already read               */
    uint32_t rx_bytes;               /* [n]                                              */
    struct list dgrams;              /* [n] struct dgram                                 */
    uint64_t rx_drops;               /* [n]                                              */
    struct list accepted;            /* [n] listening: connections that wait             */
    struct list accept_link;         /* [n] place there                                  */
    unsigned naccepted, backlog;     /* [n]                                              */
    struct socket *listener;         /* [n] while it waits there                         */
    struct socket *peer;             /* [n] AF_UNIX                                      */
    struct vnode *vn;                /* [n] AF_UNIX: the name it is bound to             */
    struct sock_addr name;           /* [n] AF_UNIX, AF_PACKET: what it is bound to      */
    uint32_t ifindex;                /* [n] only this interface; 0: any                  */
    uint16_t ethertype;              /* [n] AF_PACKET: protocol, network order           */
    uint32_t inode, uid;             /* [c]                                              */
    struct usermem *payer;           /* [c] NULL: nobody yet                              */
};

/*
 * socket_new - a socket with everything at rest; -ENOMEM is NULL.  Also under net_lock.
 * socket_free - what socket_new() made, and what its queues hold; its pcb is gone.  Without net_lock.
 */
void socket_init(void);
struct socket *socket_new(const struct sock_ops *ops, int family, int type, int protocol);
void socket_free(struct socket *s);
/* socket_charge - let the calling user hold s, unless it is charged already.  0; -ENFILE: the user has too much. */
int socket_charge(struct socket *s);
/*
 * socket_wait - under net_lock: sleep on `cv` (s->rcv or s->snd) until woken.  0: look again; -EAGAIN at `deadline`;
 * -ERESTARTSYS on a signal, or -EINTR if a time limit was set (`timeo_ns`).
 */
int socket_wait(struct cv *cv, uint64_t deadline, uint64_t timeo_ns, const char *what);
/* socket_wake - somebody may read (rcv) or write (snd).  Under net_lock. */
void socket_wake_reader(struct socket *s);
void socket_wake_writer(struct socket *s);
/* socket_of - the socket that a file is.  0 or -ENOTSOCK. */
int socket_of(struct file *f, struct socket **s);
/*
 * socket_write_enter, socket_write_exit - take and leave wlock.  Its holder may wait for room without end, so a signal,
 * a time limit and not waiting at all end this, too: 0, or as socket_wait().
 */
int socket_write_enter(struct socket *s, bool nonblock);
void socket_write_exit(struct socket *s);
/* socket_error - take SO_ERROR and clear it: 0 or negative errno.  Under net_lock. */
int socket_error(struct socket *s);
/* deadline of a wait that begins now: timeo_ns 0 means none; nonblock: 0. */
uint64_t socket_deadline(bool nonblock, uint64_t timeo_ns);
/* socket_signal_pipe - SIGPIPE for a failed send, unless MSG_NOSIGNAL; returns -EPIPE. */
long socket_signal_pipe(unsigned flags);

/* tcp.c, icmp.c, dgram.c, packet.c, unix.c */
/* tcp_socket - the socket of a connection or listener; NULL: none (any more, or yet).  Locked. */
struct socket *tcp_socket(const struct tcp_pcb *pcb);
/*
 * tcp_forget_disorder - free what one connection holds that came out of order, before what is missing; its peer will
 * send it again.  False: there was none.  For who finds no memory, not within lwIP.  Locked.
 */
bool tcp_forget_disorder(void);
void socket_tcp_init(void);
void socket_icmp_init(void);
void socket_unix_init(void);
int socket_make_tcp(int protocol, struct socket **out);
int socket_make_udp(int protocol, struct socket **out);
int socket_make_raw(int protocol, struct socket **out);
int socket_make_packet(int type, int protocol, struct socket **out);
int socket_make_unix(int type, int protocol, struct socket **out);
int unix_pair(int type, struct socket *out[2]);
/* Lists of all sockets of a kind: under net_lock, for show.c. */
extern struct list tcp_sockets, udp_sockets, raw_sockets, packet_sockets, unix_sockets;

/* stream.c: stream_add - queue a chain of bytes and wake the reader; locked.  The others: sock_ops of streams. */
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
/* dgram_add - queue `p` (whose reference passes over) at s if its buffer has room; else drop it and count.  Locked. */
void dgram_add(struct socket *s, struct pbuf *p, const struct sock_addr *from);
/* dgram_receive - sock_ops.receive of all sockets with messages.  dgram_poll: .poll.  dgram_drop_all: at the end. */
long dgram_receive(struct socket *s, struct sock_msg *m, bool nonblock);
unsigned dgram_poll(struct socket *s);
long dgram_readable(struct socket *s);
/* pbuf_from_uio - a pbuf of `n` bytes with room for headers, filled from the uio.  -EFAULT -ENOBUFS. */
int pbuf_from_uio(struct uio *uio, size_t n, struct pbuf **out);

/* memory.c */
void net_memory_init(void);
unsigned net_pool_used(unsigned which);
extern _Atomic uint64_t net_bytes_used, net_alloc_failed;
enum { NET_POOL_NAMES_MAX = 24 };

/* core.c: lwIP's errors as ours: 0 or negative errno. */
int net_errno(int lwip_err);
void net_timer_kick(void); /* something now needs the clock's ticks; under net_lock */

/* iface.c */
void iface_init(const char *config);
long iface_ioctl(struct socket *s, unsigned cmd, uint64_t arg);
struct netif *iface_by_index(unsigned index); /* 1: lo; NULL: none */
struct netif *iface_by_name(const char *name);
bool iface_may_bind(
    uint32_t ip); /* an address of ours, or none in particular; network order; locked */
unsigned iface_index(const struct netif *n);
bool iface_loop_run(void); /* one packet of the loopback, under net_lock; false: there was none */
/* packet.c: copies of a frame that came in on interface n go to the packet sockets.  Locked. */
void packet_input(struct netif *n, struct pbuf *p);

/* sockaddr_in */
struct inet_addr {
    uint16_t family;
    uint16_t port; /* network order */
    uint32_t ip;   /* network order */
    uint8_t zero[8];
};
/* inet_may_bind - may the caller use this port?  Those below 1024 are the superuser's. */
bool inet_may_bind(uint16_t port);
/* inet_get - *a as an internet address.  -EINVAL: too short; -EAFNOSUPPORT. */
int inet_get(const struct sock_addr *a, uint32_t *ip, uint16_t *port_host_order);
void inet_put(struct sock_addr *a, uint32_t ip, uint16_t port_host_order);

/* inet.c: options of level IP, and those of SOL_SOCKET that the pcb has to know.  Locked.  -ENOPROTOOPT -EINVAL. */
struct ip_pcb;
int inet_option_set(struct socket *s, struct ip_pcb *pcb, int level, int name, const void *val,
                    unsigned len);
int inet_option_get(struct socket *s, struct ip_pcb *pcb, int level, int name, void *val,
                    unsigned *len);
/* tcpopt.c: the same of level TCP; the others go to inet.c. */
int tcp_option_set(struct socket *s, struct tcp_pcb *pcb, int level, int name, const void *val,
                   unsigned len);
int tcp_option_get(struct socket *s, struct tcp_pcb *pcb, int level, int name, void *val,
                   unsigned *len);
/* tcpsend.c: .send of TCP.  tcp_roomy - whether there is so much room that a writer is to be woken; locked. */
long tcp_send_socket(struct socket *s, struct sock_msg *m, bool nonblock);
bool tcp_roomy(const struct socket *s);
/* tcp_fix_segment_size - of a connection that has just been made; locked.  See net_tcp_judge(). */
void tcp_fix_segment_size(struct tcp_pcb *pcb);
/* tcp_linux_state - Linux's number for a pcb's state (TCP_INFO, /proc/net/tcp). */
unsigned tcp_linux_state(const struct tcp_pcb *pcb);

#endif
