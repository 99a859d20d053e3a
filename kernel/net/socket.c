// SPDX-License-Identifier: MIT
/*
 * socket.c - sockets as open files: what all kinds have in common.
 *
 * THEORY      A socket is made here and given to an open file; each call finds it there and goes to the operations of
 *             its kind.  Waiting, time limits, errors that wait to be asked for, and the options of level SOL_SOCKET
 *             are the same for all.
 * LOCKING     netpriv.h
 * SEE ALSO    tcp.c, dgram.c, packet.c, unix.c; kernel/sys/sys_net.c
 */
#include "net/netpriv.h"

#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "x86/uaccess.h"

#include "lwip/pbuf.h"

#define SOL_SOCKET 1
enum {
    SO_DEBUG = 1, SO_REUSEADDR = 2, SO_TYPE = 3, SO_ERROR = 4, SO_DONTROUTE = 5, SO_BROADCAST = 6, SO_SNDBUF = 7,
    SO_RCVBUF = 8, SO_KEEPALIVE = 9, SO_OOBINLINE = 10, SO_PRIORITY = 12, SO_LINGER = 13, SO_REUSEPORT = 15,
    SO_RCVLOWAT = 18, SO_SNDLOWAT = 19, SO_RCVTIMEO = 20, SO_SNDTIMEO = 21, SO_BINDTODEVICE = 25, SO_TIMESTAMP = 29,
    SO_ACCEPTCONN = 30, SO_SNDBUFFORCE = 32, SO_RCVBUFFORCE = 33, SO_PROTOCOL = 38, SO_DOMAIN = 39,
};
/* Linux's defaults and limits: net.core.rmem_default, rmem_max; SOCK_MIN_RCVBUF. */
enum { BUF_DEFAULT = 212992, BUF_MAX = 212992, BUF_MIN = 2304, SIGPIPE = 13, FIONREAD = 0x541b, SIOCOUTQ = 0x5411 };

static struct kmem_cache *socket_cache;
static _Atomic uint32_t   next_inode = 1;

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
    cv_init(&s->rcv);
    cv_init(&s->snd);
    pollhead_init(&s->ph);
    mutex_init(&s->rlock, "socket read");
    mutex_init(&s->wlock, "socket write");
    s->inode = atomic_fetch_add(&next_inode, 1);
    return s;
}

void socket_free(struct socket *s)
{
    struct pbuf  *p, *next;
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
    kmem_cache_free(socket_cache, s);
}

/* ---- waiting ---- */

uint64_t socket_deadline(bool nonblock, uint64_t timeo_ns)
{
    return nonblock ? 0 : timeo_ns == 0 ? NO_DEADLINE : clock_mono_ns() + timeo_ns;
}

int socket_wait(struct cv *cv, uint64_t deadline, uint64_t timeo_ns, const char *what)
{
    int err;

    if (deadline == 0)
        return -EAGAIN;
    /* What the loopback holds may be what we wait for, and nobody else may come to carry it: the caller looks again. */
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

int socket_error(struct socket *s)
{
    int err = s->err;

    s->err = 0;
    return -err;
}

long socket_signal_pipe(unsigned flags)
{
    if (!(flags & MSG_NOSIGNAL))
        fs_upcalls.signal(SIGPIPE);
    return -EPIPE;
}

/* ---- as an open file ---- */

static bool nonblocking(const struct file *f, unsigned flags)
{
    return (f->flags & O_NONBLOCK) || (flags & MSG_DONTWAIT);
}

static long sock_read(struct file *f, struct uio *uio, loff_t off)
{
    struct sock_msg m = {.uio = uio};

    return uio->resid == 0 && ((struct socket *)f->data)->type == SOCK_STREAM ? 0 : socket_receive(f, &m);
}

static long sock_write(struct file *f, struct uio *uio, loff_t off)
{
    struct sock_msg m = {.uio = uio};

    return socket_send(f, &m);
}

static unsigned sock_poll(struct file *f, struct poller *p)
{
    struct socket *s = f->data;
    unsigned       r;

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
    int            n;

    if (cmd == FIONREAD || cmd == SIOCOUTQ) {
        net_enter();
        n = cmd == SIOCOUTQ ? 0 : s->ops->readable != NULL ? (int)s->ops->readable(s) : -EINVAL;
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
    .read = sock_read, .write = sock_write, .poll = sock_poll, .ioctl = sock_ioctl, .close = sock_close,
    .kind = "socket", .type = VSOCK,
};

bool file_is_socket(const struct file *f)
{
    return f->ops == &socket_fileops;
}

int socket_family(const struct file *f)
{
    return ((struct socket *)f->data)->family;
}

/* An open file for s; when there is no memory, s goes, too. */
static int make_file(struct socket *s, unsigned oflags, struct file **out)
{
    struct file *f = file_alloc(&socket_fileops, NULL, O_RDWR | (oflags & O_NONBLOCK));

    if (f == NULL) {
        s->ops->close(s);
        socket_free(s);
        return -ENFILE;
    }
    if (fs_upcalls.cred != NULL)
        s->uid = fs_upcalls.cred()->euid;
    f->data = s;
    *out = f;
    return 0;
}

static int make_socket(int family, int type, int protocol, struct socket **out)
{
    bool root = fs_upcalls.cred == NULL || fs_upcalls.cred()->euid == 0;

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
    int            err = make_socket(family, type, protocol, &s);

    return err != 0 ? err : make_file(s, oflags, out);
}

int socket_pair(int family, int type, int protocol, unsigned oflags, struct file **a, struct file **b)
{
    struct socket *s[2];
    int            err;

    if (family != AF_UNIX)
        return family == AF_INET ? -EOPNOTSUPP : -EAFNOSUPPORT;
    if (protocol != 0 && protocol != AF_UNIX)
        return -EPROTONOSUPPORT;
    if ((err = unix_pair(type, s)) != 0)
        return err;
    if ((err = make_file(s[0], oflags, a)) != 0) {
        s[1]->ops->close(s[1]);
        socket_free(s[1]);
    } else if ((err = make_file(s[1], oflags, b)) != 0) {
        file_release(*a);
    }
    return err;
}

/* ---- the calls ---- */

static int sock_of(struct file *f, struct socket **s)
{
    if (!file_is_socket(f))
        return -ENOTSOCK;
    *s = f->data;
    return 0;
}

int socket_bind(struct file *f, const struct sock_addr *a)
{
    struct socket *s;
    int            err = sock_of(f, &s);

    return err != 0 ? err : s->ops->bind != NULL ? s->ops->bind(s, a) : -EOPNOTSUPP;
}

int socket_listen(struct file *f, int backlog)
{
    struct socket *s;
    int            err = sock_of(f, &s);

    return err != 0 ? err : s->ops->listen != NULL ? s->ops->listen(s, backlog) : -EOPNOTSUPP;
}

int socket_connect(struct file *f, const struct sock_addr *a)
{
    struct socket *s;
    int            err = sock_of(f, &s);

    return err != 0 ? err : s->ops->connect != NULL ? s->ops->connect(s, a, nonblocking(f, 0)) : -EOPNOTSUPP;
}

int socket_accept(struct file *f, unsigned oflags, struct sock_addr *from, struct file **out)
{
    struct socket *s, *n = NULL;
    int            err = sock_of(f, &s);

    if (err == 0)
        err = s->ops->accept != NULL ? s->ops->accept(s, nonblocking(f, 0), &n) : -EOPNOTSUPP;
    if (err == 0)
        err = make_file(n, oflags, out);
    if (err == 0 && n->ops->name(n, true, from) != 0)
        from->len = 0; /* it has gone again */
    return err;
}

int socket_shutdown(struct file *f, int how)
{
    struct socket *s;
    int            err = sock_of(f, &s);

    if (err != 0)
        return err;
    if (how < 0 || how > 2)
        return -EINVAL;
    return s->ops->shutdown != NULL ? s->ops->shutdown(s, how) : -EOPNOTSUPP;
}

int socket_name(struct file *f, bool peer, struct sock_addr *a)
{
    struct socket *s;
    int            err = sock_of(f, &s);

    return err != 0 ? err : s->ops->name(s, peer, a);
}

long socket_send(struct file *f, struct sock_msg *m)
{
    struct socket *s;
    int            err = sock_of(f, &s);

    if (err != 0)
        return err;
    if (m->flags & MSG_OOB)
        return -EOPNOTSUPP;
    return s->ops->send(s, m, nonblocking(f, m->flags));
}

long socket_receive(struct file *f, struct sock_msg *m)
{
    struct socket *s;
    int            err = sock_of(f, &s);

    if (err != 0)
        return err;
    if (m->flags & MSG_OOB)
        return -EINVAL;
    return s->ops->receive(s, m, nonblocking(f, m->flags));
}

/* ---- options ---- */

struct linger {
    int32_t on, seconds;
};

static int set_buffer(struct socket *s, int name, int v)
{
    uint32_t bytes = 2 * (uint32_t)min_of(max_of(v, BUF_MIN / 2), BUF_MAX); /* Linux doubles what is asked for */

    *(name == SO_SNDBUF || name == SO_SNDBUFFORCE ? &s->sndbuf : &s->rcvbuf) = bytes;
    return 0;
}

static int set_timeout(struct socket *s, int name, const void *val, unsigned len)
{
    struct {
        int64_t sec, usec;
    } tv;
    uint64_t ns;

    if (len < sizeof tv)
        return -EINVAL;
    memcpy(&tv, val, sizeof tv);
    if (tv.usec < 0 || tv.usec >= 1000000)
        return -EDOM;
    ns = tv.sec < 0 ? 1 : tv.sec > 1000000000 ? 0 : (uint64_t)tv.sec * 1000000000 + (uint64_t)tv.usec * 1000;
    *(name == SO_RCVTIMEO ? &s->rcvtimeo_ns : &s->sndtimeo_ns) = ns;
    return 0;
}

static int set_generic(struct socket *s, int name, const void *val, unsigned len)
{
    struct linger l;
    int           v;

    if (name == SO_RCVTIMEO || name == SO_SNDTIMEO)
        return set_timeout(s, name, val, len);
    if (len < sizeof v)
        return -EINVAL;
    memcpy(&v, val, sizeof v);
    switch (name) {
    case SO_REUSEADDR:
    case SO_REUSEPORT:
        s->reuse = v != 0;
        break;
    case SO_BROADCAST:
        s->broadcast = v != 0;
        break;
    case SO_KEEPALIVE:
        s->keepalive = v != 0;
        break;
    case SO_LINGER:
        if (len < sizeof l)
            return -EINVAL;
        memcpy(&l, val, sizeof l);
        s->linger = l.on != 0;
        s->linger_s = l.seconds;
        break;
    case SO_SNDBUF:
    case SO_RCVBUF:
    case SO_SNDBUFFORCE:
    case SO_RCVBUFFORCE:
        return set_buffer(s, name, v);
    case SO_DONTROUTE:
    case SO_OOBINLINE:
    case SO_PRIORITY:
    case SO_RCVLOWAT:
    case SO_TIMESTAMP:
        break; /* nothing here depends on them */
    default:
        return -ENOPROTOOPT;
    }
    return 0;
}

int socket_set_option(struct file *f, int level, int name, const void *val, unsigned len)
{
    struct socket *s;
    int            err = sock_of(f, &s);

    if (err != 0)
        return err;
    net_enter();
    err = level == SOL_SOCKET ? set_generic(s, name, val, len) : -ENOPROTOOPT;
    /* The kind of socket hears of the generic ones, too, once they are stored, and may know more. */
    if ((err == 0 || err == -ENOPROTOOPT) && s->ops->set_option != NULL) {
        int special = s->ops->set_option(s, level, name, val, len);

        if (special != -ENOPROTOOPT)
            err = special;
    }
    net_exit();
    return err;
}

/* The value of an option that is a number; false: there is none. */
static bool get_number(struct socket *s, int name, int *v)
{
    switch (name) {
    case SO_TYPE: *v = s->type; return true;
    case SO_ERROR: *v = -socket_error(s); return true;
    case SO_SNDBUF: *v = (int)s->sndbuf; return true;
    case SO_RCVBUF: *v = (int)s->rcvbuf; return true;
    case SO_REUSEADDR: case SO_REUSEPORT: *v = s->reuse; return true;
    case SO_BROADCAST: *v = s->broadcast; return true;
    case SO_KEEPALIVE: *v = s->keepalive; return true;
    case SO_ACCEPTCONN: *v = s->state == SS_LISTENING; return true;
    case SO_PROTOCOL: *v = s->protocol; return true;
    case SO_DOMAIN: *v = s->family; return true;
    case SO_RCVLOWAT: case SO_SNDLOWAT: *v = 1; return true;
    case SO_DEBUG: case SO_DONTROUTE: case SO_OOBINLINE: case SO_PRIORITY: *v = 0; return true;
    }
    return false;
}

static int get_generic(struct socket *s, int name, void *val, unsigned *len)
{
    uint64_t      ns = name == SO_RCVTIMEO ? s->rcvtimeo_ns : s->sndtimeo_ns;
    int64_t       tv[2] = {(int64_t)(ns / 1000000000), (int64_t)(ns % 1000000000 / 1000)};
    struct linger l = {s->linger, s->linger_s};
    int           v;
    const void   *from = &v;
    unsigned      size = sizeof v;

    if (name == SO_RCVTIMEO || name == SO_SNDTIMEO)
        from = tv, size = sizeof tv;
    else if (name == SO_LINGER)
        from = &l, size = sizeof l;
    else if (!get_number(s, name, &v))
        return -ENOPROTOOPT;
    *len = min_of(*len, size);
    memcpy(val, from, *len);
    return 0;
}

int socket_get_option(struct file *f, int level, int name, void *val, unsigned *len)
{
    struct socket *s;
    int            err = sock_of(f, &s);

    if (err != 0)
        return err;
    net_enter();
    if (level == SOL_SOCKET)
        err = get_generic(s, name, val, len);
    else
        err = s->ops->get_option != NULL ? s->ops->get_option(s, level, name, val, len) : -ENOPROTOOPT;
    net_exit();
    return err;
}
