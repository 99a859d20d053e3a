// SPDX-License-Identifier: MIT
/*
 * sockopt.c - setsockopt(2) and getsockopt(2): the options of level SOL_SOCKET, which all sockets have.
 *
 * THEORY      The value of a SOL_SOCKET option is kept in the socket.  Then the set_option operation of the
 *             socket's kind is called, because lwIP may need the value.  Options of other levels belong to the
 *             kind.
 * LOCKING     All code here runs under net_lock.
 * SEE ALSO    inet.c, tcpopt.c, socket(7) of Linux's manual
 */
#include "net/netpriv.h"

#include "lib/errno.h"
#include "lib/string.h"

#define SOL_SOCKET 1
enum {
    SO_DEBUG = 1,
    SO_REUSEADDR = 2,
    SO_TYPE = 3,
    SO_ERROR = 4,
    SO_DONTROUTE = 5,
    SO_BROADCAST = 6,
    SO_SNDBUF = 7,
    SO_RCVBUF = 8,
    SO_KEEPALIVE = 9,
    SO_OOBINLINE = 10,
    SO_PRIORITY = 12,
    SO_PASSCRED = 16,
    SO_PEERCRED = 17,
    SO_LINGER = 13,
    SO_REUSEPORT = 15,
    SO_RCVLOWAT = 18,
    SO_SNDLOWAT = 19,
    SO_RCVTIMEO = 20,
    SO_SNDTIMEO = 21,
    SO_BINDTODEVICE = 25,
    SO_TIMESTAMP = 29,
    SO_ACCEPTCONN = 30,
    SO_SNDBUFFORCE = 32,
    SO_RCVBUFFORCE = 33,
    SO_PROTOCOL = 38,
    SO_DOMAIN = 39,
};
/* Linux's limits of a buffer: net.core.rmem_max and SOCK_MIN_RCVBUF. */
enum { BUF_MAX = 212992, BUF_MIN = 2304 };

struct linger {
    int32_t on, seconds;
};

static int set_buffer_size(struct socket *s, int name, int v)
{
    uint32_t bytes =
        2 * (uint32_t)min_of(max_of(v, BUF_MIN / 2), BUF_MAX); /* doubled as by Linux */

    *(name == SO_SNDBUF || name == SO_SNDBUFFORCE ? &s->sndbuf : &s->rcvbuf) = bytes;
    return 0;
}

static int set_timeout_option(struct socket *s, int name, const void *val, unsigned len)
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
    if (tv.sec < 0)
        ns = 1;
    else if (tv.sec > 1000000000)
        ns = 0;
    else
        ns = (uint64_t)tv.sec * 1000000000 + (uint64_t)tv.usec * 1000;
    *(name == SO_RCVTIMEO ? &s->rcvtimeo_ns : &s->sndtimeo_ns) = ns;
    return 0;
}

static int set_generic_option(struct socket *s, int name, const void *val, unsigned len)
{
    struct linger l;
    int v;

    if (name == SO_RCVTIMEO || name == SO_SNDTIMEO)
        return set_timeout_option(s, name, val, len);
    if (len < sizeof v)
        return -EINVAL;
    memcpy(&v, val, sizeof v);
    switch (name) {
    case SO_REUSEADDR:
        s->reuse = v != 0;
        break;
    case SO_REUSEPORT:
        s->reuse_port = v != 0;
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
        return set_buffer_size(s, name, v);
    case SO_PASSCRED:
        if (s->family != AF_UNIX)
            return -ENOPROTOOPT;
        s->passcred = v != 0;
        break;
    case SO_PRIORITY:  /* no effect, because there is only one queue */
    case SO_OOBINLINE: /* urgent data is always delivered in line with the rest */
        break;
    case SO_DONTROUTE:
    case SO_TIMESTAMP:
        return v != 0 ? -ENOPROTOOPT : 0; /* the option is not implemented: it can only be off */
    case SO_RCVLOWAT:
        return v > 1 ? -ENOPROTOOPT : 0;
    default:
        return -ENOPROTOOPT;
    }
    return 0;
}

int socket_set_option(struct file *f, int level, int name, const void *val, unsigned len)
{
    struct socket *s;
    int err = socket_of(f, &s);

    if (err != 0)
        return err;
    net_enter();
    err = level == SOL_SOCKET ? set_generic_option(s, name, val, len) : -ENOPROTOOPT;
    /* set_option also gets the generic options, after they are stored, and can accept more options. */
    if ((err == 0 || err == -ENOPROTOOPT) && s->ops->set_option != NULL) {
        int special = s->ops->set_option(s, level, name, val, len);

        if (special != -ENOPROTOOPT)
            err = special;
    }
    net_exit();
    return err;
}

/*
 * Stores the value of an option of type int in *v.  False: there is no such option.  Reading
 * SO_ERROR clears it.
 */
static bool get_int_option(struct socket *s, int name, int *v)
{
    switch (name) {
    case SO_TYPE:
        *v = s->type;
        return true;
    case SO_ERROR:
        *v = -socket_error(s);
        return true;
    case SO_SNDBUF:
        *v = (int)s->sndbuf;
        return true;
    case SO_RCVBUF:
        *v = (int)s->rcvbuf;
        return true;
    case SO_REUSEADDR:
        *v = s->reuse;
        return true;
    case SO_REUSEPORT:
        *v = s->reuse_port;
        return true;
    case SO_BROADCAST:
        *v = s->broadcast;
        return true;
    case SO_KEEPALIVE:
        *v = s->keepalive;
        return true;
    case SO_ACCEPTCONN:
        *v = s->state == SS_LISTENING;
        return true;
    case SO_PASSCRED:
        *v = s->passcred;
        return s->family == AF_UNIX;
    case SO_PROTOCOL:
        *v = s->protocol;
        return true;
    case SO_DOMAIN:
        *v = s->family;
        return true;
    case SO_RCVLOWAT:
    case SO_SNDLOWAT:
        *v = 1;
        return true;
    case SO_DEBUG:
    case SO_DONTROUTE:
    case SO_OOBINLINE:
    case SO_PRIORITY:
        *v = 0;
        return true;
    }
    return false;
}

static int get_generic_option(struct socket *s, int name, void *val, unsigned *len)
{
    uint64_t ns = name == SO_RCVTIMEO ? s->rcvtimeo_ns : s->sndtimeo_ns;
    int64_t tv[2] = {(int64_t)(ns / 1000000000), (int64_t)(ns % 1000000000 / 1000)};
    struct linger l = {s->linger, s->linger_s};
    int v;
    const void *from = &v;
    unsigned size = sizeof v;

    if (name == SO_RCVTIMEO || name == SO_SNDTIMEO)
        from = tv, size = sizeof tv;
    else if (name == SO_LINGER)
        from = &l, size = sizeof l;
    else if (name == SO_PEERCRED && s->family == AF_UNIX)
        from = &s->peer_ids, size = sizeof s->peer_ids;
    else if (!get_int_option(s, name, &v))
        return -ENOPROTOOPT;
    *len = min_of(*len, size);
    memcpy(val, from, *len);
    return 0;
}

int socket_get_option(struct file *f, int level, int name, void *val, unsigned *len)
{
    struct socket *s;
    int err = socket_of(f, &s);

    if (err != 0)
        return err;
    net_enter();
    if (level == SOL_SOCKET)
        err = get_generic_option(s, name, val, len);
    else
        err = s->ops->get_option != NULL ? s->ops->get_option(s, level, name, val, len)
                                         : -ENOPROTOOPT;
    net_exit();
    return err;
}
