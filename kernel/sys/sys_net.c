// SPDX-License-Identifier: MIT
/*
 * sys_net.c - system calls on sockets.
 *
 * THEORY      Each call first copies addresses, options and message headers to the kernel, then does its
 *             work, then copies the results back.  Data moves through a struct uio.  An AF_UNIX path is
 *             looked up here and passed on as a vnode, because kernel/net does not use paths.  Only AF_UNIX
 *             sockets have control messages (cmsg.c).
 * SEE ALSO    net/net.h, docs/network.md, socket(2) and others of Linux's manual
 */
#include "net/net.h"

#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "sys/cmsg.h"
#include "sys/path.h"
#include "sys/sys.h"
#include "sys/utime.h"

enum {
    IOV_MAX = 1024,
    IOV_STACK = 8,
    MMSG_MAX = 1024,
    MSG_WAITFORONE = 0x10000,
    UNIX_PATH_MAX = 108
};
#define MAX_RW 0x7ffff000ul /* maximum number of bytes that one call moves */

struct user_msghdr {
    uint64_t name;
    uint32_t namelen, pad;
    uint64_t iov, iovlen, control, controllen;
    int32_t flags, pad2;
};
_Static_assert(sizeof(struct user_msghdr) == 56, "as Linux's");

/* ---- addresses ---- */

static int copy_in_sockaddr(struct sock_addr *a, uint64_t uaddr, uint64_t len)
{
    memset(a, 0, sizeof *a);
    if ((int)len < 0 || (uint32_t)len > SOCK_ADDR_MAX)
        return -EINVAL;
    a->len = (uint32_t)len;
    return copy_in(a, uaddr, a->len);
}

/*
 * Returns an address as accept(2) does: copies as much as fits into the int *ulen bytes at uaddr, and stores
 * the real length in *ulen.  Does nothing if either address is 0.
 */
static int copy_out_sockaddr(const struct sock_addr *a, uint64_t uaddr, uint64_t ulen)
{
    int32_t room, len = (int32_t)a->len;
    int err;

    if (uaddr == 0 || ulen == 0)
        return 0;
    err = copy_in(&room, ulen, sizeof room);
    if (err != 0)
        return err;
    if (room < 0)
        return -EINVAL;
    err = copy_out(uaddr, a, (size_t)min_of(room, len));
    if (err != 0)
        return err;
    return copy_out(ulen, &len, sizeof len);
}

/*
 * Looks up the socket file of an AF_UNIX address, or creates it if `create`, and stores it in a->vn with a
 * reference.  For an abstract name a->vn stays NULL.  -EINVAL; -EADDRINUSE (create); -ECONNREFUSED: the file is no
 * socket; errors of the look-up.
 */
static int unix_resolve(struct sock_addr *a, bool create)
{
    char path[UNIX_PATH_MAX + 1];
    struct fs_ctx ctx;
    size_t n = a->len - 2;
    int err = 0;

    if (a->family != AF_UNIX || a->len <= 2 || a->data[0] == '\0')
        return a->family != AF_UNIX || a->len <= 2 ? -EINVAL : 0;
    if (n > UNIX_PATH_MAX)
        return -EINVAL;
    memcpy(path, a->data, n);
    path[n] = '\0';
    fs_context(&ctx);
    if (create)
        err = name_create(&ctx, NULL, path, VSOCK, 0777 & ~curproc()->fs->umask, 0, NULL);
    if (err == -EEXIST)
        err = -EADDRINUSE;
    if (err == 0)
        err = name_lookup(&ctx, NULL, path, NAME_FOLLOW, &a->vn);
    if (err == 0) {
        err = a->vn->type != VSOCK ? -ECONNREFUSED : vn_access(a->vn, 2, ctx.cred);
        if (err != 0) {
            vn_release(a->vn);
            a->vn = NULL;
        }
    }
    fs_context_done(&ctx);
    return err;
}

/*
 * bind(2), connect(2): calls fn with the socket and the address in the arguments.
 */
static long call_with_sockaddr(struct regs *r, int (*fn)(struct file *, const struct sock_addr *),
                               bool create)
{
    struct sock_addr a, old;
    struct file *f = fd_file(r->arg[0]);
    long err;

    if (f == NULL)
        return -EBADF;
    err = file_is_socket(f) ? copy_in_sockaddr(&a, r->arg[1], r->arg[2]) : -ENOTSOCK;
    if (err == 0 && socket_family(f) == AF_UNIX) {
        if (create && socket_name(f, false, &old) == 0 && old.len > 2)
            /* the socket is already bound: fail before a second socket file is created */
            err = a.len == 2 ? 0 : -EINVAL;
        else if ((create && a.len == 2 && a.family == AF_UNIX) ||
                 (!create && a.len >= 2 && a.family == AF_UNSPEC))
            err = 0; /* the kernel chooses a name; a datagram socket loses its peer */
        else
            err = unix_resolve(&a, create);
    }
    if (err == 0) {
        err = fn(f, &a);
        if (a.vn != NULL)
            vn_release(a.vn);
    }
    file_release(f);
    return err;
}

long sys_bind(struct regs *r)
{
    return call_with_sockaddr(r, socket_bind, true);
}

long sys_connect(struct regs *r)
{
    return call_with_sockaddr(r, socket_connect, false);
}

/* ---- creating sockets ---- */

static unsigned oflags_of(unsigned type)
{
    return type & SOCK_NONBLOCK ? O_NONBLOCK : 0;
}

static unsigned fdflags_of(unsigned type)
{
    return type & SOCK_CLOEXEC ? FD_CLOEXEC : 0;
}

/* Installs f in a new descriptor and returns it; on error releases f. */
static long install_socket_fd(struct file *f, unsigned type)
{
    int fd = fd_install(curproc()->files, f, 0, fdflags_of(type), (unsigned)limit(RLIMIT_NOFILE));

    if (fd < 0)
        file_release(f);
    return fd;
}

long sys_socket(struct regs *r)
{
    unsigned type = (unsigned)r->arg[1];
    struct file *f;
    int err;

    if (type & ~(unsigned)(SOCK_TYPE | SOCK_NONBLOCK | SOCK_CLOEXEC))
        return -EINVAL;
    err = socket_file((int)r->arg[0], (int)(type & SOCK_TYPE), (int)r->arg[2], oflags_of(type), &f);
    return err != 0 ? err : install_socket_fd(f, type);
}

long sys_socketpair(struct regs *r)
{
    unsigned type = (unsigned)r->arg[1];
    struct file *a, *b;
    int32_t fd[2];
    int err;

    if (type & ~(unsigned)(SOCK_TYPE | SOCK_NONBLOCK | SOCK_CLOEXEC))
        return -EINVAL;
    err = socket_pair((int)r->arg[0], (int)(type & SOCK_TYPE), (int)r->arg[2], oflags_of(type), &a,
                      &b);
    if (err != 0)
        return err;
    fd[0] = (int32_t)install_socket_fd(a, type);
    if (fd[0] < 0) {
        file_release(b);
        return fd[0];
    }
    fd[1] = (int32_t)install_socket_fd(b, type);
    if (fd[1] < 0) {
        fd_close(curproc()->files, fd[0]);
        return fd[1];
    }
    err = copy_out(r->arg[3], fd, sizeof fd);
    if (err != 0) {
        fd_close(curproc()->files, fd[0]);
        fd_close(curproc()->files, fd[1]);
    }
    return err;
}

static long do_accept(struct regs *r, unsigned flags)
{
    struct file *f, *n;
    struct sock_addr from = {0};
    long fd, err;

    if (flags & ~(unsigned)(SOCK_NONBLOCK | SOCK_CLOEXEC))
        return -EINVAL;
    f = fd_file(r->arg[0]);
    if (f == NULL)
        return -EBADF;
    err = socket_accept(f, oflags_of(flags), &from, &n);
    file_release(f);
    if (err != 0)
        return err;
    err = copy_out_sockaddr(&from, r->arg[1], r->arg[2]);
    if (err != 0) {
        file_release(n);
        return err;
    }
    fd = install_socket_fd(n, flags);
    return fd;
}

long sys_accept(struct regs *r)
{
    return do_accept(r, 0);
}

long sys_accept4(struct regs *r)
{
    return do_accept(r, (unsigned)r->arg[3]);
}

long sys_listen(struct regs *r)
{
    struct file *f = fd_file(r->arg[0]);
    long err;

    if (f == NULL)
        return -EBADF;
    err = socket_listen(f, (int)r->arg[1]);
    file_release(f);
    return err;
}

long sys_shutdown(struct regs *r)
{
    struct file *f = fd_file(r->arg[0]);
    long err;

    if (f == NULL)
        return -EBADF;
    err = socket_shutdown(f, (int)r->arg[1]);
    file_release(f);
    return err;
}

static long do_socket_name(struct regs *r, bool peer)
{
    struct sock_addr a = {0};
    struct file *f = fd_file(r->arg[0]);
    long err;

    if (f == NULL)
        return -EBADF;
    err = socket_name(f, peer, &a);
    file_release(f);
    if (err == 0 && (r->arg[1] == 0 || r->arg[2] == 0))
        err = -EFAULT;
    return err != 0 ? err : copy_out_sockaddr(&a, r->arg[1], r->arg[2]);
}

long sys_getsockname(struct regs *r)
{
    return do_socket_name(r, false);
}

long sys_getpeername(struct regs *r)
{
    return do_socket_name(r, true);
}

/* ---- options ---- */

long sys_setsockopt(struct regs *r)
{
    uint64_t val[SOCK_OPT_MAX / 8];
    struct file *f;
    int len = (int)r->arg[4];
    long err;

    f = fd_file(r->arg[0]);
    if (f == NULL)
        return -EBADF;
    if (!file_is_socket(f))
        err = -ENOTSOCK;
    else if (len < 0)
        err = -EINVAL;
    else
        err = copy_in(val, r->arg[3], min_of((size_t)len, sizeof val));
    if (err == 0)
        err = socket_set_option(f, (int)r->arg[1], (int)r->arg[2], val,
                                (unsigned)min_of((size_t)len, sizeof val));
    file_release(f);
    return err;
}

long sys_getsockopt(struct regs *r)
{
    uint64_t val[SOCK_OPT_MAX / 8] = {0};
    struct file *f;
    int32_t room;
    unsigned len;
    long err;

    f = fd_file(r->arg[0]);
    if (f == NULL)
        return -EBADF;
    err = file_is_socket(f) ? copy_in(&room, r->arg[4], sizeof room) : -ENOTSOCK;
    if (err == 0 && room < 0)
        err = -EINVAL;
    if (err == 0) {
        len = (unsigned)min_of((size_t)room, sizeof val);
        err = socket_get_option(f, (int)r->arg[1], (int)r->arg[2], val, &len);
    }
    if (err == 0)
        err = copy_out(r->arg[3], val, len);
    if (err == 0)
        err = copy_out(r->arg[4], &len, sizeof len);
    file_release(f);
    return err;
}

/* ---- messages ---- */

/* Makes a uio over the buffer uaddr[len] of the program; *one must exist as long as the uio.  0 or -EFAULT. */
static int setup_user_uio(struct uio *uio, struct iovec *one, uint64_t uaddr, uint64_t len,
                          enum uio_dir dir)
{
    len = min_of(len, MAX_RW);
    if (len > 0 && (uaddr >= USER_TOP || len > USER_TOP - uaddr))
        return -EFAULT;
    *one = (struct iovec){.base = uaddr, .len = len};
    *uio = (struct uio){.iov = one, .niov = 1, .resid = len, .dir = dir, .user = true};
    return 0;
}

/* socket_send(), after the look-up of the path in m->name; only datagram sockets use that name. */
static long send_to_name(struct file *f, struct sock_msg *m)
{
    long n = 0;

    if (m->name.len != 0 && file_is_socket(f) && socket_family(f) == AF_UNIX &&
        socket_type(f) == SOCK_DGRAM)
        n = unix_resolve(&m->name, false);
    if (n == 0)
        n = socket_send(f, m);
    if (m->name.vn != NULL)
        vn_release(m->name.vn);
    return n;
}

long sys_sendto(struct regs *r)
{
    struct iovec one;
    struct uio uio;
    struct sock_msg m = {.uio = &uio, .flags = (unsigned)r->arg[3]};
    struct file *f = fd_file(r->arg[0]);
    long n;

    if (f == NULL)
        return -EBADF;
    n = setup_user_uio(&uio, &one, r->arg[1], r->arg[2], UIO_WRITE);
    if (n == 0 && r->arg[4] != 0)
        n = copy_in_sockaddr(&m.name, r->arg[4], r->arg[5]);
    if (n == 0)
        n = send_to_name(f, &m);
    file_release(f);
    return n;
}

long sys_recvfrom(struct regs *r)
{
    struct iovec one;
    struct uio uio;
    struct sock_msg m = {.uio = &uio, .flags = (unsigned)r->arg[3]};
    struct file *f = fd_file(r->arg[0]);
    long n, err;

    if (f == NULL)
        return -EBADF;
    n = setup_user_uio(&uio, &one, r->arg[1], r->arg[2], UIO_READ);
    if (n == 0)
        n = socket_receive(f, &m);
    file_release(f);
    if (n < 0 || r->arg[4] == 0)
        return n;
    err = copy_out_sockaddr(&m.name, r->arg[4], r->arg[5]);
    return err != 0 ? err : n;
}

/* Kernel copy of a message header and its iovecs. */
struct kernel_msghdr {
    struct user_msghdr h;
    struct iovec few[IOV_STACK], *v;
    struct uio uio;
    struct sock_msg m;
};

static int copy_in_msg_iovec(struct kernel_msghdr *k)
{
    size_t n = k->h.iovlen;
    int err;

    if (n > IOV_MAX)
        return -EMSGSIZE;
    k->v = k->few;
    if (n > IOV_STACK)
        k->v = kmem_alloc(n * sizeof *k->v);
    if (k->v == NULL)
        return -ENOMEM;
    err = copy_in(k->v, k->h.iov, n * sizeof *k->v);
    for (size_t i = 0; err == 0 && i < n; i++) {
        struct iovec *v = &k->v[i];

        if ((int64_t)v->len < 0)
            err = -EINVAL;
        v->len = min_of(v->len, MAX_RW - k->uio.resid);
        if (v->len > 0 && (v->base >= USER_TOP || v->len > USER_TOP - v->base))
            err = -EFAULT;
        k->uio.resid += v->len;
    }
    if (err != 0 && k->v != k->few)
        kmem_free(k->v);
    return err;
}

/* Reads the message header at `uaddr` and sets up k->m.  After success, the caller must call release_msghdr(). */
static int copy_in_msghdr(struct kernel_msghdr *k, uint64_t uaddr, unsigned flags, enum uio_dir dir)
{
    int err = copy_in(&k->h, uaddr, sizeof k->h);

    if (err != 0)
        return err;
    k->m = (struct sock_msg){.uio = &k->uio, .flags = flags};
    if (dir == UIO_WRITE && k->h.name != 0)
        err = copy_in_sockaddr(&k->m.name, k->h.name, k->h.namelen);
    if (err != 0)
        return err;
    k->uio = (struct uio){.niov = (unsigned)k->h.iovlen, .dir = dir, .user = true};
    err = copy_in_msg_iovec(k);
    if (err != 0)
        return err;
    k->uio.iov = k->v;
    return 0;
}

static void release_msghdr(struct kernel_msghdr *k)
{
    if (k->v != k->few)
        kmem_free(k->v);
}

static long send_one_message(struct file *f, uint64_t uaddr, unsigned flags)
{
    struct kernel_msghdr k;
    long n = copy_in_msghdr(&k, uaddr, flags, UIO_WRITE);

    if (n != 0)
        return n;
    if (k.h.controllen != 0)
        n = socket_family(f) == AF_UNIX ? cmsg_copy_in(&k.m, k.h.control, k.h.controllen) : -EINVAL;
    if (n == 0)
        n = send_to_name(f, &k.m);
    rights_free(k.m.rights); /* of a message that was not sent */
    release_msghdr(&k);
    return n;
}

static long receive_one_message(struct file *f, uint64_t uaddr, unsigned flags)
{
    struct kernel_msghdr k;
    long n = copy_in_msghdr(&k, uaddr, flags, UIO_READ), err = 0;

    if (n != 0)
        return n;
    k.m.takes_rights = true;
    n = socket_receive(f, &k.m);
    release_msghdr(&k);
    if (n < 0)
        return n;
    err = cmsg_copy_out(&k.m, k.h.control, k.h.controllen, (flags & MSG_CMSG_CLOEXEC) != 0,
                        &k.h.controllen);
    if (k.h.name != 0 && err == 0)
        err = copy_out(k.h.name, &k.m.name, min_of(k.m.name.len, k.h.namelen));
    k.h.namelen = k.m.name.len;
    k.h.flags = (int32_t)((k.m.flags & (MSG_TRUNC | MSG_CTRUNC)) | (flags & MSG_CMSG_CLOEXEC));
    if (err == 0)
        err = copy_out(uaddr, &k.h, sizeof k.h);
    return err != 0 ? err : n;
}

static long do_one_message(struct regs *r, long (*one)(struct file *, uint64_t, unsigned))
{
    struct file *f = fd_file(r->arg[0]);
    long n;

    if (f == NULL)
        return -EBADF;
    n = file_is_socket(f) ? one(f, r->arg[1], (unsigned)r->arg[2]) : -ENOTSOCK;
    file_release(f);
    return n;
}

long sys_sendmsg(struct regs *r)
{
    return do_one_message(r, send_one_message);
}

long sys_recvmsg(struct regs *r)
{
    return do_one_message(r, receive_one_message);
}

/* sendmmsg, recvmmsg: returns the number of messages transferred, or an error if there are none. */
static long do_many_messages(struct regs *r, long (*one)(struct file *, uint64_t, unsigned),
                             uint64_t deadline)
{
    enum { STRIDE = sizeof(struct user_msghdr) + 8 };
    unsigned n = (unsigned)min_of(r->arg[2] & UINT32_MAX, (uint64_t)MMSG_MAX), done = 0;
    unsigned flags = (unsigned)r->arg[3];
    struct file *f = fd_file(r->arg[0]);
    long err = 0;

    if (f == NULL)
        return -EBADF;
    if (!file_is_socket(f))
        err = -ENOTSOCK;
    while (err == 0 && done < n) {
        uint64_t at = r->arg[1] + (uint64_t)done * STRIDE;
        uint32_t len;

        err = one(f, at, flags & ~(unsigned)MSG_WAITFORONE);
        if (err < 0)
            break;
        len = (uint32_t)err;
        err = copy_out(at + sizeof(struct user_msghdr), &len, sizeof len);
        if (err == 0)
            done++;
        if (flags & MSG_WAITFORONE)
            flags |= MSG_DONTWAIT;
        if (deadline != NO_DEADLINE && clock_mono_ns() >= deadline)
            break;
    }
    file_release(f);
    return done > 0 ? (long)done : err;
}

long sys_sendmmsg(struct regs *r)
{
    return do_many_messages(r, send_one_message, NO_DEADLINE);
}

long sys_recvmmsg(struct regs *r)
{
    uint64_t deadline = NO_DEADLINE;
    int64_t ns;
    int err;

    if (r->arg[4] != 0) {
        err = timespec_in(r->arg[4], &ns);
        if (err != 0)
            return err;
        deadline = clock_mono_ns() + (uint64_t)ns;
    }
    return do_many_messages(r, receive_one_message, deadline);
}
