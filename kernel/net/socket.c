// SPDX-License-Identifier: MIT
/*
 * socket.c - sockets as open files: what all kinds have in common.
 *
 * THEORY      A socket is the end of a connection, or a mailbox for messages, that a program uses through an
 *             open file.  This file creates the socket and its open file.  Each system call finds the socket
 *             in the open file and calls the operation of its kind (struct sock_ops).  Waiting, timeouts and
 *             pending errors (SO_ERROR) are the same for all kinds and are implemented here.
 * LOCKING     see netpriv.h
 * SEE ALSO    sockopt.c, tcp.c, dgram.c, packet.c, unix.c; kernel/sys/sys_net.c
 */
#include "net/netpriv.h"

#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/usermem.h"
#include "x86/uaccess.h"

#include "lwip/pbuf.h"

/* BUF_DEFAULT is Linux's default: net.core.rmem_default. */
enum { BUF_DEFAULT = 212992, FIONREAD = 0x541b, SIOCOUTQ = 0x5411 };
/* Bytes that a user is charged for a socket. */
enum { SOCKET_COST = 2048 };

static struct kmem_cache *socket_cache;
static _Atomic uint32_t next_inode = 1;

void socket_init(void)
{
    socket_cache = kmem_cache_create("socket", sizeof(struct socket), 0);
}

struct socket *socket_new(const struct sock_ops *ops, int family, int type, int protocol)
{
    struct socket *s = socket_cache != NULL ? kmem_cache_alloc(socket_cache) : NULL;

    if (s == NULL)
        return NULL;
    memset(s, 0, sizeof *s);
    s->ops = ops;
    s->family = (uint16_t)family;
    s->type = (uint8_t)type;
    s->protocol = protocol;
    s->rcvbuf = s->sndbuf = BUF_DEFAULT;
    list_init(&s->link);
    list_init(&s->dgrams);
    list_init(&s->accepted);
    list_init(&s->accept_link);
    list_init(&s->clients);
    list_init(&s->client_link);
    list_init(&s->rights);
    list_init(&s->inflight_link);
    list_init(&s->gc_link);
    cv_init(&s->rcv);
    cv_init(&s->snd);
    pollhead_init(&s->ph);
    mutex_init(&s->rlock, SLEEP_SOCKET_READ);
    mutex_init(&s->wlock, SLEEP_SOCKET_WRITE);
    s->inode = atomic_fetch_add(&next_inode, 1);
    return s;
}

void socket_free(struct socket *s)
{
    struct pbuf *p, *next;
    struct dgram *d;

    for (p = s->rx_first; p != NULL; p = next) {
        next = p->next;
        p->next = NULL;
        pbuf_free(p);
    }
    while ((d = list_pop(&s->dgrams, struct dgram, link)) != NULL) {
        pbuf_free(d->p);
        kmem_free(d);
    }
    if (s->vn != NULL)
        vn_release(s->vn);
    if (s->payer != NULL)
        usermem_return(s->payer, SOCKET_COST);
    kmem_cache_free(socket_cache, s);
}

int socket_charge(struct socket *s)
{
    if (s->payer == NULL)
        s->payer = usermem_charge(SOCKET_COST);
    return s->payer != NULL ? 0 : -ENFILE;
}

/* ---- waiting ---- */

uint64_t socket_deadline(bool nonblock, uint64_t timeo_ns)
{
    if (nonblock)
        return 0;
    return timeo_ns == 0 ? NO_DEADLINE : clock_mono_ns() + timeo_ns;
}

int socket_wait(struct cv *cv, uint64_t deadline, uint64_t timeo_ns, const char *what)
{
    int err;

    if (deadline == 0)
        return -EAGAIN;
    /*
     * Perhaps the caller waits for a packet in the queue of the loopback, and perhaps no other CPU will deliver
     * it.  So deliver the packet and let the caller test its condition again.
     */
    if (iface_loop_run())
        return 0;
    err = cv_wait_sig_spin(cv, &net_lock, deadline, what);
    if (err == -ETIMEDOUT)
        return -EAGAIN;
    if (err == -EINTR)
        return timeo_ns != 0 ? -EINTR : -ERESTARTSYS;
    return 0;
}

void socket_wake_reader(struct socket *s)
{
    cv_broadcast(&s->rcv);
    poll_wake(&s->ph);
}

void socket_wake_writer(struct socket *s)
{
    cv_broadcast(&s->snd);
    poll_wake(&s->ph);
}

int socket_write_enter(struct socket *s, bool nonblock)
{
    uint64_t deadline;
    int err = 0;

    if (likely(mutex_tryenter(&s->wlock)))
        return 0;
    deadline = socket_deadline(nonblock, s->sndtimeo_ns);
    /* before the first try: socket_write_exit() releases wlock, and then reads nwait_write */
    atomic_fetch_add(&s->nwait_write, 1);
    net_enter();
    while (err == 0 && !mutex_tryenter(&s->wlock))
        err = socket_wait(&s->snd, deadline, s->sndtimeo_ns, "socket write");
    net_exit();
    atomic_fetch_sub(&s->nwait_write, 1);
    return err;
}

void socket_write_exit(struct socket *s)
{
    mutex_exit(&s->wlock);
    if (likely(atomic_load(&s->nwait_write) == 0))
        return;
    net_enter();
    cv_broadcast(&s->snd);
    net_exit();
}

int socket_error(struct socket *s)
{
    int err = s->err;

    s->err = 0;
    return -err;
}

long socket_signal_pipe(unsigned flags)
{
    if (!(flags & MSG_NOSIGNAL))
        proc_signal_self(SIGPIPE);
    return -EPIPE;
}

/* ---- as an open file ---- */

static bool is_nonblocking(const struct file *f, unsigned flags)
{
    return (f->flags & O_NONBLOCK) || (flags & MSG_DONTWAIT);
}

static long sock_read(struct file *f, struct uio *uio, loff_t off)
{
    struct sock_msg m = {.uio = uio};

    return uio->resid == 0 ? 0 : socket_receive(f, &m); /* recv(2) of no bytes takes a message */
}

static long sock_write(struct file *f, struct uio *uio, loff_t off)
{
    struct sock_msg m = {.uio = uio, .flags = uio->no_sigpipe ? MSG_NOSIGNAL : 0};

    return socket_send(f, &m);
}

static unsigned sock_poll(struct file *f, struct poller *p)
{
    struct socket *s = f->data;
    unsigned r;

    if (p != NULL)
        poll_register(p, &s->ph);
    net_enter();
    r = s->ops->poll(s);
    net_exit();
    return r;
}

static long sock_ioctl(struct file *f, unsigned cmd, uint64_t arg)
{
    struct socket *s = f->data;
    int n = 0;

    if (cmd == FIONREAD || cmd == SIOCOUTQ) {
        net_enter();
        if (cmd == FIONREAD)
            n = s->ops->readable != NULL ? (int)s->ops->readable(s) : -EINVAL;
        net_exit();
        return n < 0 ? n : copy_out(arg, &n, sizeof n);
    }
    return s->family == AF_UNIX ? -ENOTTY : iface_ioctl(s, cmd, arg);
}

static void sock_close(struct file *f)
{
    struct socket *s = f->data;

    s->ops->close(s);
    socket_free(s);
}

static const struct fileops socket_fileops = {
    .read = sock_read,
    .write = sock_write,
    .poll = sock_poll,
    .ioctl = sock_ioctl,
    .close = sock_close,
    .kind = "socket",
    .type = VSOCK,
};

bool file_is_socket(const struct file *f)
{
    return f->ops == &socket_fileops;
}

int socket_family(const struct file *f)
{
    return ((struct socket *)f->data)->family;
}

int socket_type(const struct file *f)
{
    return ((struct socket *)f->data)->type;
}

/* Creates an open file for s.  After -ENFILE (no memory, or the user's limit is reached) s is closed and freed. */
static int make_socket_file(struct socket *s, unsigned oflags, struct file **out)
{
    struct file *f = NULL;

    if (socket_charge(s) == 0)
        f = file_alloc(&socket_fileops, NULL, O_RDWR | (oflags & O_NONBLOCK));
    if (f == NULL) {
        s->ops->close(s);
        socket_free(s);
        return -ENFILE;
    }
    s->uid = proc_cred()->euid;
    f->data = s;
    s->file = f;
    *out = f;
    return 0;
}

/* Creates the socket of socket_file(), which lists the errors. */
static int make_socket(int family, int type, int protocol, struct socket **out)
{
    bool root = proc_cred()->euid == 0;

    if (family == AF_UNIX)
        return socket_make_unix(type, protocol, out);
    if (family == AF_PACKET)
        return root ? socket_make_packet(type, protocol, out) : -EPERM;
    if (family != AF_INET)
        return -EAFNOSUPPORT;
    switch (type) {
    case SOCK_STREAM:
        return socket_make_tcp(protocol, out);
    case SOCK_DGRAM:
        return socket_make_udp(protocol, out);
    case SOCK_RAW:
        return root ? socket_make_raw(protocol, out) : -EPERM;
    }
    return -ESOCKTNOSUPPORT;
}

int socket_file(int family, int type, int protocol, unsigned oflags, struct file **out)
{
    struct socket *s = NULL;
    int err = make_socket(family, type, protocol, &s);

    return err != 0 ? err : make_socket_file(s, oflags, out);
}

int socket_pair(int family, int type, int protocol, unsigned oflags, struct file **a,
                struct file **b)
{
    struct socket *s[2];
    int err;

    if (family != AF_UNIX)
        return family == AF_INET ? -EOPNOTSUPP : -EAFNOSUPPORT;
    err = unix_pair(type, protocol, s);
    if (err != 0)
        return err;
    err = make_socket_file(s[0], oflags, a);
    if (err != 0) {
        s[1]->ops->close(s[1]);
        socket_free(s[1]);
        return err;
    }
    err = make_socket_file(s[1], oflags, b);
    if (err != 0)
        file_release(*a);
    return err;
}

/* ---- system calls ---- */

int socket_of(struct file *f, struct socket **s)
{
    if (!file_is_socket(f))
        return -ENOTSOCK;
    *s = f->data;
    return 0;
}

int socket_bind(struct file *f, const struct sock_addr *a)
{
    struct socket *s;
    int err = socket_of(f, &s);

    if (err != 0)
        return err;
    return s->ops->bind != NULL ? s->ops->bind(s, a) : -EOPNOTSUPP;
}

int socket_listen(struct file *f, int backlog)
{
    struct socket *s;
    int err = socket_of(f, &s);

    if (err != 0)
        return err;
    return s->ops->listen != NULL ? s->ops->listen(s, backlog) : -EOPNOTSUPP;
}

int socket_connect(struct file *f, const struct sock_addr *a)
{
    struct socket *s;
    int err = socket_of(f, &s);

    if (err != 0)
        return err;
    return s->ops->connect != NULL ? s->ops->connect(s, a, is_nonblocking(f, 0)) : -EOPNOTSUPP;
}

int socket_accept(struct file *f, unsigned oflags, struct sock_addr *from, struct file **out)
{
    struct socket *s, *n = NULL;
    int err = socket_of(f, &s);

    if (err == 0)
        err = s->ops->accept != NULL ? s->ops->accept(s, is_nonblocking(f, 0), &n) : -EOPNOTSUPP;
    if (err == 0)
        err = make_socket_file(n, oflags, out);
    if (err == 0 && n->ops->name(n, true, from) != 0)
        from->len = 0; /* the connection has ended already */
    return err;
}

int socket_shutdown(struct file *f, int how)
{
    struct socket *s;
    int err = socket_of(f, &s);

    if (err != 0)
        return err;
    if (how < 0 || how > 2)
        return -EINVAL;
    return s->ops->shutdown != NULL ? s->ops->shutdown(s, how) : -EOPNOTSUPP;
}

int socket_name(struct file *f, bool peer, struct sock_addr *a)
{
    struct socket *s;
    int err = socket_of(f, &s);

    return err != 0 ? err : s->ops->name(s, peer, a);
}

long socket_send(struct file *f, struct sock_msg *m)
{
    struct socket *s;
    int err = socket_of(f, &s);

    if (err != 0)
        return err;
    if (m->flags & MSG_OOB)
        return -EOPNOTSUPP;
    return s->ops->send(s, m, is_nonblocking(f, m->flags));
}

long socket_receive(struct file *f, struct sock_msg *m)
{
    struct socket *s;
    long n = socket_of(f, &s);

    if (n != 0)
        return n;
    if (m->flags & (MSG_OOB | MSG_ERRQUEUE)) /* urgent data and error queues do not exist here */
        return -EINVAL;
    n = s->ops->receive(s, m, is_nonblocking(f, m->flags));
    if (m->rights != NULL && (n < 0 || !m->takes_rights)) {
        rights_free(m->rights);
        m->rights = NULL;
    }
    return n;
}
