// SPDX-License-Identifier: MIT
/*
 * net.h - sockets and interfaces as the rest of the kernel sees them.
 *
 * THEORY      A socket is an open file through which a program exchanges data with another program or
 *             machine.  The functions below implement the system calls of the same names.  Addresses,
 *             interface names and options arrive as kernel copies in Linux's layout; the system-call layer
 *             makes these copies.  Data moves through a struct uio.
 * SEE ALSO    docs/network.md
 */
#ifndef NET_NET_H
#define NET_NET_H

#include "vfs/file.h"
#include "vfs/pseudo.h"

enum { AF_UNSPEC = 0, AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10, AF_NETLINK = 16, AF_PACKET = 17 };
enum {
    SOCK_STREAM = 1,
    SOCK_DGRAM = 2,
    SOCK_RAW = 3,
    SOCK_SEQPACKET = 5,
    SOCK_TYPE = 15,
    SOCK_NONBLOCK = 04000,
    SOCK_CLOEXEC = 02000000
};
enum {
    MSG_OOB = 1,
    MSG_PEEK = 2,
    MSG_DONTROUTE = 4,
    MSG_CTRUNC = 8,
    MSG_TRUNC = 0x20,
    MSG_DONTWAIT = 0x40,
    MSG_WAITALL = 0x100,
    MSG_ERRQUEUE = 0x2000,
    MSG_NOSIGNAL = 0x4000,
    MSG_MORE = 0x8000,
    MSG_CMSG_CLOEXEC = 0x40000000,
};

/* Linux's struct sockaddr_storage: the family, then an address whose layout depends on the family. */
#define SOCK_ADDR_MAX 128u
struct sock_addr {
    uint16_t family;
    uint8_t data[SOCK_ADDR_MAX - 2];
    uint32_t len;     /* bytes, including the family; 0: no address */
    struct vnode *vn; /* AF_UNIX: the file of a path; NULL: an abstract name (first byte NUL) */
} __attribute__((aligned(8)));

/* Ids of a process, as it can pass them over an AF_UNIX socket: Linux's struct ucred. */
struct sock_ids {
    int32_t pid;
    uint32_t uid, gid;
};

/*
 * Open files that a message over an AF_UNIX socket carries, each with a reference.
 * rights_new  - make an empty set for n files (1 to RIGHTS_MAX), charged to the caller's user.  -ETOOMANYREFS: with
 *               these, the user has more than `limit` files in messages (the superuser has no limit); -ENOMEM.
 *               Takes net_lock, and can release files of others (unixgc.c).  Sleeps.
 * rights_free - release the files and the set; NULL is allowed.  Sleeps.
 */
enum { RIGHTS_MAX = 253 }; /* Linux's SCM_MAX_FD */
struct sock_rights {
    struct list link;      /* [n] in the list of the socket whose queue has the message */
    struct unix_msg *msg;  /* [n] that message; NULL: the set is in no queue */
    struct usermem *payer; /* [c] */
    unsigned size;         /* [c] files that are charged */
    unsigned n;            /* [c] files */
    struct file *file[];
};
int rights_new(unsigned n, uint64_t limit, struct sock_rights **out);
void rights_free(struct sock_rights *r);

struct sock_msg {
    struct uio *uio;
    struct sock_addr name; /* send: destination; len 0: the connected peer.  receive: the sender */
    unsigned flags;        /* MSG_*; after a receive: 0 or MSG_TRUNC                            */
    /* The rest is for AF_UNIX. */
    struct sock_ids ids; /* send: the ids to pass, if has_ids; receive: those of the sender */
    bool has_ids;        /* receive: the socket has SO_PASSCRED */
    bool takes_rights;   /* receive: the caller takes files; otherwise they are released */
    /* send: files to pass; NULL again when they are on their way.  receive: files that came; the caller frees them */
    struct sock_rights *rights;
};

/*
 * net_init - create the loopback interface and one interface per card.  Called by the boot thread.
 * @config  the cards' addresses, one line "ADDRESS/BITS GATEWAY" per card, in order; NULL: no addresses
 */
void net_init(const char *config);

/*
 * socket_file - create a socket and an open file for it.  -EAFNOSUPPORT, -EPROTONOSUPPORT, -ESOCKTNOSUPPORT,
 * -EPERM (raw and packet sockets need root), -ENFILE, -ENOMEM, -ENOBUFS.
 * socket_pair - create two connected AF_UNIX sockets.  The same errors, and -EOPNOTSUPP for AF_INET.
 */
int socket_file(int family, int type, int protocol, unsigned oflags, struct file **out);
int socket_pair(int family, int type, int protocol, unsigned oflags, struct file **a,
                struct file **b);
/*
 * The system calls of the same names.  -ENOTSOCK if f is not a socket.  A signal ends a wait with
 * -ERESTARTSYS, or with -EINTR if the socket has a timeout (SO_RCVTIMEO, SO_SNDTIMEO).
 */
int socket_bind(struct file *f, const struct sock_addr *a);
int socket_listen(struct file *f, int backlog);
int socket_connect(struct file *f, const struct sock_addr *a);
int socket_accept(struct file *f, unsigned oflags, struct sock_addr *from, struct file **out);
int socket_shutdown(struct file *f, int how);
int socket_name(struct file *f, bool peer, struct sock_addr *a);
long socket_send(struct file *f, struct sock_msg *m);
long socket_receive(struct file *f, struct sock_msg *m);
/*
 * `val` is a kernel copy of `len` bytes.  get: stores at most *len bytes and sets *len to the number stored.
 */
enum { SOCK_OPT_MAX = 256 };
int socket_set_option(struct file *f, int level, int name, const void *val, unsigned len);
int socket_get_option(struct file *f, int level, int name, void *val, unsigned *len);
bool file_is_socket(const struct file *f);
int socket_family(const struct file *f); /* f must be a socket */
int socket_type(const struct file *f);   /* SOCK_*; f must be a socket */

/* The files of /proc/net (show.c). */
enum {
    NET_SHOW_TCP,
    NET_SHOW_UDP,
    NET_SHOW_RAW,
    NET_SHOW_UNIX,
    NET_SHOW_DEV,
    NET_SHOW_ROUTE,
    NET_SHOW_ARP,
    NET_SHOW_PACKET,
};
/* net_show - write the text of the file that n->tag (NET_SHOW_*) selects to `out`.  Returns 0. */
int net_show(const struct pseudo_node *n, struct pseudo_arg arg, struct text *out);

#endif
