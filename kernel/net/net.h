// SPDX-License-Identifier: MIT
/*
 * net.h - sockets and interfaces as the rest of the kernel sees them.
 *
 * THEORY      Addresses, names of interfaces and messages come here as kernel copies with Linux's layout (the
 *             system-call edge makes them); data moves through a struct uio.
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
    SOCK_TYPE = 15,
    SOCK_NONBLOCK = 04000,
    SOCK_CLOEXEC = 02000000
};
enum {
    MSG_OOB = 1,
    MSG_PEEK = 2,
    MSG_DONTROUTE = 4,
    MSG_TRUNC = 0x20,
    MSG_DONTWAIT = 0x40,
    MSG_WAITALL = 0x100,
    MSG_ERRQUEUE = 0x2000,
    MSG_NOSIGNAL = 0x4000,
    MSG_MORE = 0x8000,
};

/* sockaddr_storage: family first; the rest by family. */
#define SOCK_ADDR_MAX 128u
struct sock_addr {
    uint16_t family;
    uint8_t data[SOCK_ADDR_MAX - 2];
    uint32_t len;     /* bytes, the family included; 0: no address */
    struct vnode *vn; /* AF_UNIX: the file of that name, NULL: the name begins with a NUL */
} __attribute__((aligned(8)));

struct sock_msg {
    struct uio *uio;
    struct sock_addr name; /* send: where to, len 0: where it is connected; receive: where from */
    unsigned flags;        /* MSG_*; receive: out, MSG_TRUNC                                    */
};

/*
 * net_init - make the loopback and an interface for each card; `config`: their addresses, for each card in turn
 * "ADDRESS/BITS GATEWAY" on a line of its own (NULL: none).  Boot thread.
 */
void net_init(const char *config);

/*
 * socket_file - a new socket as an open file.  -EAFNOSUPPORT -EPROTONOSUPPORT -ESOCKTNOSUPPORT -EPERM (raw, packet:
 * root only) -ENFILE -ENOMEM.  socket_pair: two AF_UNIX stream or datagram sockets, connected.
 */
int socket_file(int family, int type, int protocol, unsigned oflags, struct file **out);
int socket_pair(int family, int type, int protocol, unsigned oflags, struct file **a,
                struct file **b);
/* The calls of the same names; -ENOTSOCK if f is none.  Waits end with -ERESTARTSYS when a signal comes, or -EINTR. */
int socket_bind(struct file *f, const struct sock_addr *a);
int socket_listen(struct file *f, int backlog);
int socket_connect(struct file *f, const struct sock_addr *a);
int socket_accept(struct file *f, unsigned oflags, struct sock_addr *from, struct file **out);
int socket_shutdown(struct file *f, int how);
int socket_name(struct file *f, bool peer, struct sock_addr *a);
long socket_send(struct file *f, struct sock_msg *m);
long socket_receive(struct file *f, struct sock_msg *m);
/* Options: `val` is a kernel copy of *len bytes; get: at most *len are stored, *len is set. */
enum { SOCK_OPT_MAX = 256 };
int socket_set_option(struct file *f, int level, int name, const void *val, unsigned len);
int socket_get_option(struct file *f, int level, int name, void *val, unsigned *len);
bool file_is_socket(const struct file *f);
int socket_family(const struct file *f); /* of a file that is one */

/* Text of /proc/net/NAME, one function for each (show.c, iface.c). */
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
int net_show(const struct pseudo_node *n, struct pseudo_arg arg,
             struct text *out); /* n->tag: NET_SHOW_* */

#endif
