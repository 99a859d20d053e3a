// SPDX-License-Identifier: MIT
/*
 * cmsg.c - control messages of sendmsg(2) and recvmsg(2) in user memory.
 *
 * THEORY      A control message has a header with its length, level and type, and then data: descriptors
 *             (SCM_RIGHTS) or ids (SCM_CREDENTIALS).  The next one begins at the next multiple of 8.  The buffer is
 *             copied to the kernel once, because the program can change it meanwhile.
 *             A received file gets a descriptor in the receiver's table.  A message that does not fit is shortened,
 *             and the receiver sees MSG_CTRUNC.
 * SEE ALSO    net/net.h, cmsg(3), unix(7) of Linux's manual
 */
#include "sys/cmsg.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "proc/proc.h"
#include "x86/uaccess.h"

enum { SOL_SOCKET = 1, SCM_RIGHTS = 1, SCM_CREDENTIALS = 2 };
enum { CONTROL_MAX = 20480 }; /* Linux's net.core.optmem_max */

struct cmsghdr {
    uint64_t len; /* header and data */
    int32_t level, type;
};

static bool is_one_of(uint32_t id, uint32_t a, uint32_t b, uint32_t c)
{
    return id == a || id == b || id == c;
}

/*
 * SCM_CREDENTIALS: an ordinary user can only pass its own ids, root those of any process.  0, -EINVAL, -EPERM,
 * -ESRCH.  Takes proc_lock.
 */
static int parse_credentials(struct sock_msg *m, const void *data, size_t len)
{
    const struct cred *cr = curcred();

    if (len != sizeof m->ids)
        return -EINVAL;
    memcpy(&m->ids, data, sizeof m->ids);
    m->has_ids = true;
    if (cred_superuser(cr))
        return proc_next(m->ids.pid) == m->ids.pid ? 0 : -ESRCH;
    return m->ids.pid == curproc()->pid && is_one_of(m->ids.uid, cr->uid, cr->euid, cr->suid) &&
                   is_one_of(m->ids.gid, cr->gid, cr->egid, cr->sgid)
               ? 0
               : -EPERM;
}

/* SCM_RIGHTS: adds the files of `n` descriptors to m->rights, which has room for them.  0 or -EBADF. */
static int parse_rights(struct sock_msg *m, const uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct file *f;
        int32_t fd;

        memcpy(&fd, data + i * sizeof fd, sizeof fd);
        f = fd_get(curproc()->files, fd);
        if (f == NULL)
            return -EBADF;
        m->rights->file[m->rights->n++] = f;
    }
    return 0;
}

/*
 * Goes through the control messages in buf[len].  Messages of other levels are ignored, as on Linux.  The first pass
 * (*nfiles) counts the descriptors; the second (nfiles == NULL) puts files and ids into m.
 */
static int parse_control(struct sock_msg *m, const uint8_t *buf, size_t len, size_t *nfiles)
{
    struct cmsghdr h;
    int err = 0;

    for (size_t at = 0; err == 0 && at + sizeof h <= len; at += round_up(h.len, 8ul)) {
        const uint8_t *data = buf + at + sizeof h;

        memcpy(&h, buf + at, sizeof h);
        if (h.len < sizeof h || h.len > len - at)
            return -EINVAL;
        if (h.level != SOL_SOCKET)
            continue;
        if (h.type != SCM_RIGHTS && h.type != SCM_CREDENTIALS)
            return -EINVAL;
        if (h.type == SCM_RIGHTS && nfiles != NULL)
            *nfiles += (h.len - sizeof h) / sizeof(int32_t);
        else if (h.type == SCM_RIGHTS)
            err = parse_rights(m, data, (h.len - sizeof h) / sizeof(int32_t));
        else if (nfiles == NULL)
            err = parse_credentials(m, data, h.len - sizeof h);
    }
    return err;
}

int cmsg_copy_in(struct sock_msg *m, uint64_t control, uint64_t len)
{
    size_t nfiles = 0;
    uint8_t *buf;
    int err;

    if (len > CONTROL_MAX)
        return -ENOBUFS;
    buf = kmem_alloc(len);
    if (buf == NULL)
        return -ENOBUFS;
    err = copy_in(buf, control, len);
    if (err == 0)
        err = parse_control(m, buf, len, &nfiles);
    if (err == 0 && nfiles > RIGHTS_MAX)
        err = -EINVAL;
    if (err == 0 && nfiles > 0)
        err = rights_new((unsigned)nfiles, limit(RLIMIT_NOFILE), &m->rights);
    if (err == 0)
        err = parse_control(m, buf, len, NULL);
    kmem_free(buf);
    if (err != 0) {
        rights_free(m->rights);
        m->rights = NULL;
    }
    return err;
}

/* The user's buffer for control messages. */
struct control_out {
    uint64_t at, left, used;
};

/* Writes the header of a message with `n` bytes of data, and moves on to the next place. */
static int put_header(struct control_out *o, int type, size_t n)
{
    struct cmsghdr h = {.len = sizeof h + n, .level = SOL_SOCKET, .type = type};
    uint64_t space = min_of(round_up(h.len, 8ul), o->left);
    int err = copy_out(o->at, &h, sizeof h);

    o->at += space;
    o->left -= space;
    o->used += space;
    return err;
}

static int put_credentials(struct sock_msg *m, struct control_out *o)
{
    size_t n = sizeof m->ids;
    int err;

    if (o->left < sizeof(struct cmsghdr)) {
        m->flags |= MSG_CTRUNC;
        return 0;
    }
    if (o->left < sizeof(struct cmsghdr) + n) {
        m->flags |= MSG_CTRUNC;
        n = o->left - sizeof(struct cmsghdr);
    }
    err = copy_out(o->at + sizeof(struct cmsghdr), &m->ids, n);
    return err != 0 ? err : put_header(o, SCM_CREDENTIALS, n);
}

/* Gives f a descriptor and stores its number at uaddr.  0, -EMFILE, -EFAULT, -ENOMEM. */
static int install_received_file(struct file *f, uint64_t uaddr, bool cloexec)
{
    unsigned max = (unsigned)min_of(limit(RLIMIT_NOFILE), (uint64_t)INT32_MAX);
    int32_t fd;
    int err;

    file_hold(f);
    fd = fd_install(curproc()->files, f, 0, cloexec ? FD_CLOEXEC : 0, max);
    if (fd < 0) {
        file_release(f);
        return fd;
    }
    err = copy_out(uaddr, &fd, sizeof fd);
    if (err != 0)
        fd_close(curproc()->files, fd);
    return err;
}

/* Installs as many files as fit; as on Linux, those that cannot be installed are lost, with MSG_CTRUNC. */
static int put_rights(struct sock_msg *m, struct control_out *o, bool cloexec)
{
    uint64_t room = o->left > sizeof(struct cmsghdr) ? o->left - sizeof(struct cmsghdr) : 0;
    unsigned n = (unsigned)min_of(room / sizeof(int32_t), (uint64_t)m->rights->n), done = 0;

    while (done < n && install_received_file(
                           m->rights->file[done],
                           o->at + sizeof(struct cmsghdr) + done * sizeof(int32_t), cloexec) == 0)
        done++;
    if (done < m->rights->n)
        m->flags |= MSG_CTRUNC;
    return done > 0 ? put_header(o, SCM_RIGHTS, done * sizeof(int32_t)) : 0;
}

int cmsg_copy_out(struct sock_msg *m, uint64_t control, uint64_t len, bool cloexec, uint64_t *used)
{
    struct control_out o = {.at = control, .left = control != 0 ? len : 0};
    int err = 0;

    if (m->has_ids)
        err = put_credentials(m, &o);
    if (m->rights != NULL && err == 0)
        err = put_rights(m, &o, cloexec);
    rights_free(m->rights);
    m->rights = NULL;
    *used = o.used;
    return err;
}
