// SPDX-License-Identifier: MIT
/*
 * name.c - from path names to vnodes, and back.
 *
 * THEORY      A path name such as /usr/bin/ls is resolved one component after the other: look up "usr" in the
 *             root directory, then "bin" in the result, and so on.  This is a walk.  It holds a reference to
 *             one directory at a time.
 *             "." and ".." never reach a file system.  ".." has no effect at the caller's root; from the root
 *             of a mounted file system it continues at the covered directory; elsewhere it calls op->parent.
 *             When the walk meets a symbolic link, it copies the link's target and the rest of the path into
 *             a buffer, and continues there.  There is no recursion, so a chain of links needs no extra
 *             stack.  Until a link that is the last component is followed, the rest is always a suffix of the
 *             path that the caller gave.
 *             name_of() does the opposite: it climbs with op->parent and writes the path from its end.
 * LOCKING     A directory's lock is held for reading during one look-up, so look-ups run in parallel.  No
 *             lock is held between components.
 * SEE ALSO    nameop.c (changes of names), docs/files.md
 */
#include "vfs/name.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"

#define PATH_SIZE  4096
#define NAME_LEN   255
#define LINK_LIMIT 40

int walk_start(struct walk *w, const struct fs_ctx *ctx, struct vnode *at, const char *path)
{
    w->ctx = ctx;
    w->rest = path;
    w->buf = NULL;
    w->nlinks = 0;
    if (path[0] == '/')
        w->dir = ctx->root;
    else
        w->dir = at != NULL ? at : ctx->cwd;
    vn_hold(w->dir);
    return path[0] == '\0' ? -ENOENT : 0;
}

void walk_end(struct walk *w)
{
    vn_release(w->dir);
    if (unlikely(w->buf != NULL))
        kmem_free(w->buf);
}

/* Moves the walk to `next`, and takes over the reference to it. */
static void walk_to(struct walk *w, struct vnode *next)
{
    vn_release(w->dir);
    w->dir = next;
}

/*
 * Whether the walk may follow `link`, which lies in w->dir, as the last component.  In a sticky directory
 * that all users may write to (/tmp), only links of the caller and of the directory's owner are followed.
 * Otherwise another user could put a link there under the name of a file that the caller is going to open.
 */
static bool may_follow(const struct walk *w, const struct vnode *link)
{
    const struct vnode *dir = w->dir;

    return link->uid == w->ctx->cred->fsuid || (dir->mode & 01002) != 01002 ||
           link->uid == dir->uid;
}

int walk_follow(struct walk *w, struct vnode *link, const char *rest, struct vnode **out)
{
    size_t left = strlen(rest);
    const char *p;
    char *buf;
    int n;

    *out = NULL;
    if (++w->nlinks > LINK_LIMIT)
        return -ELOOP;
    for (p = rest; *p == '/'; p++)
        ;
    if (*p == '\0' && !may_follow(w, link))
        return -EACCES;
    if (link->op->follow != NULL) {
        w->rest = rest;
        return link->op->follow(link, out);
    }
    buf = kmem_alloc(PATH_SIZE);
    if (buf == NULL)
        return -ENOMEM;
    n = vn_readlink(link, buf, PATH_SIZE);
    if (n <= 0 || (size_t)n + left + 1 > PATH_SIZE) {
        kmem_free(buf);
        if (n < 0)
            return n;
        return n == 0 ? -ENOENT : -ENAMETOOLONG;
    }
    memcpy(buf + n, rest, left + 1);
    kmem_free(w->buf);
    w->buf = buf;
    w->rest = buf;
    if (buf[0] == '/') {
        vn_hold(w->ctx->root);
        walk_to(w, w->ctx->root);
    }
    return 0;
}

/* Goes to the parent directory.  The caller's root and the root of the whole tree are their own parents. */
static int walk_up(struct walk *w)
{
    for (;;) {
        struct vnode *d = w->dir, *up;

        if (d == w->ctx->root)
            return 0;
        if (d == d->vfs->root) {
            up = d->vfs->covered;
            if (up == NULL)
                return 0;
            vn_hold(up);
            walk_to(w, up);
            continue;
        }
        if (d->op->parent == NULL)
            return -ENOENT;
        int err = d->op->parent(d, &up, NULL, 0);

        if (err < 0)
            return err;
        walk_to(w, up);
        return 0;
    }
}

int dir_lookup(const struct fs_ctx *ctx, struct vnode *dir, const char *name, size_t len,
               struct vnode **out)
{
    int err;

    if (dir->type != VDIR)
        return -ENOTDIR;
    err = vn_access(dir, 1, ctx->cred);
    if (err != 0)
        return err;
    rw_enter_read(&dir->lock);
    err = dir->op->lookup(dir, name, len, out);
    rw_exit_read(&dir->lock);
    if (err == 0 && unlikely((*out)->mounted != NULL))
        vfs_cross(out);
    return err;
}

/* Walks the component "." or "..", which has `len` bytes.  0, -ENOTDIR, or an error of vn_access() or walk_up(). */
static int walk_special(struct walk *w, size_t len)
{
    int err;

    if (w->dir->type != VDIR)
        return -ENOTDIR;
    err = vn_access(w->dir, 1, w->ctx->cred);
    if (err != 0)
        return err;
    return len == 2 ? walk_up(w) : 0;
}

/*
 * Does the walk.  With `parent`, it stops before the last component, and w->dir, w->last, w->len and w->slash
 * are set (w->len is 0 if the path has no further component).  Without `parent`, it goes to the end, and *out
 * is the vnode there, of any type, with a reference.  *out can be set even after an error.  If *out
 * is set, the caller must release it.
 */
static int walk_path(struct walk *w, bool parent, unsigned flags, struct vnode **out)
{
    for (;;) {
        const char *p = w->rest, *end;
        struct vnode *next, *direct = NULL;
        bool last, slash;
        size_t len;
        int err;

        while (*p == '/')
            p++;
        if (*p == '\0') {
            w->last = p;
            w->len = 0;
            w->slash = false;
            if (!parent) {
                vn_hold(w->dir);
                *out = w->dir;
                return (flags & NAME_DIR) && w->dir->type != VDIR ? -ENOTDIR : 0;
            }
            return 0;
        }
        for (end = p; *end != '\0' && *end != '/'; end++)
            ;
        len = (size_t)(end - p);
        if (len > NAME_LEN)
            return -ENAMETOOLONG;
        w->rest = end;
        while (*end == '/')
            end++;
        last = *end == '\0';
        slash = end != w->rest;
        if (parent && last) {
            w->last = p;
            w->len = len;
            w->slash = slash;
            return w->dir->type != VDIR ? -ENOTDIR : vn_access(w->dir, 1, w->ctx->cred);
        }
        if (name_is_special(p, len)) {
            err = walk_special(w, len);
            if (err != 0)
                return err;
            continue;
        }
        err = dir_lookup(w->ctx, w->dir, p, len, &next);
        if (err != 0)
            return err;
        if (next->type == VLNK && (!last || slash || (flags & NAME_FOLLOW))) {
            err = walk_follow(w, next, w->rest, &direct);
            vn_release(next);
            if (err != 0)
                return err;
            if (direct == NULL)
                continue;
            next = direct;
        }
        if (last && !slash && !parent) {
            *out = next;
            return (flags & NAME_DIR) && next->type != VDIR ? -ENOTDIR : 0;
        }
        if (next->type != VDIR) {
            vn_release(next);
            return -ENOTDIR;
        }
        walk_to(w, next);
    }
}

int walk_parent(struct walk *w)
{
    return walk_path(w, true, 0, NULL);
}

int walk_all(struct walk *w, unsigned flags, struct vnode **out)
{
    int err;

    *out = NULL;
    err = walk_path(w, false, flags, out);
    if (unlikely(err != 0) && *out != NULL) {
        vn_release(*out);
        *out = NULL;
    }
    return err;
}

int name_lookup(const struct fs_ctx *ctx, struct vnode *at, const char *path, unsigned flags,
                struct vnode **out)
{
    struct walk w;
    int err = walk_start(&w, ctx, at, path);

    if (likely(err == 0))
        err = walk_all(&w, flags, out);
    walk_end(&w);
    return err;
}

int name_parent(const struct fs_ctx *ctx, struct vnode *at, const char *path, struct vnode **dir,
                const char **last, size_t *len, bool *slash)
{
    struct walk w;
    int err = walk_start(&w, ctx, at, path);

    if (err == 0)
        err = walk_parent(&w);
    if (err == 0) {
        *last = path + strlen(path) - strlen(w.last); /* w.last is a suffix of the path: THEORY */
        *len = w.len;
        *slash = w.slash;
        vn_hold(w.dir);
        *dir = w.dir;
    }
    walk_end(&w);
    return err;
}

/* Stores "/name" in buf before *pos, and moves *pos there.  -ERANGE: the name does not fit. */
static int prepend_name(char *buf, size_t *pos, const char *name, size_t len)
{
    if (*pos < len + 1)
        return -ERANGE;
    *pos -= len + 1;
    buf[*pos] = '/';
    memcpy(buf + *pos + 1, name, len);
    return 0;
}

int name_of(const struct fs_ctx *ctx, struct vnode *vn, char *buf, size_t size)
{
    char name[NAME_LEN + 1];
    size_t pos = size - 1;
    int err = 0;

    if (size < 2)
        return -ERANGE;
    buf[pos] = '\0';
    vn_hold(vn);
    while (err == 0 && vn != ctx->root) {
        struct vnode *up;

        if (vn == vn->vfs->root) {
            up = vn->vfs->covered;
            if (up == NULL)
                break;
            vn_hold(up);
        } else {
            int n = vn->op->parent == NULL ? -ENOENT : vn->op->parent(vn, &up, name, sizeof name);

            if (n < 0) {
                err = n;
                break;
            }
            err = prepend_name(buf, &pos, name, (size_t)n);
        }
        vn_release(vn);
        vn = up;
    }
    vn_release(vn);
    if (err != 0)
        return err;
    if (buf[pos] == '\0')
        buf[--pos] = '/';
    memmove(buf, buf + pos, size - pos);
    return (int)(size - 1 - pos);
}
