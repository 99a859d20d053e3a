// SPDX-License-Identifier: MIT
/*
 * nameop.c - making, linking, removing and renaming files.
 *
 * THEORY      Each function does the work of one system call: find the directory, check permissions, lock the
 *             directory, call the file system's operation.  The check whether a name exists and the change of
 *             the entry form one critical section of the directory's lock, so that no other thread can change
 *             the entry in between.
 *             To change a directory, the caller needs write and search permission in it.  To remove or rename
 *             an entry of a sticky directory, the caller must also own the file or the directory.
 * INVARIANTS  I1  no directory becomes its own ancestor.  Only one thread at a time moves files between
 *                 directories of a file system (vfs->rename_lock), so the check of ancestors stays true until
 *                 the move is done
 * LOCKING     rename_lock -> directory -> child directory.  Of two directories the ancestor is locked first;
 *             unrelated directories are locked in order of address.  A directory that will be removed or
 *             replaced is also locked, so that no entry is made in it meanwhile.
 * SEE ALSO    name.c
 */
#include "vfs/name.h"

#include "lib/errno.h"
#include "lib/string.h"

#define S_ISVTX 01000u
#define S_ISGID 02000u

/*
 * Checks that `cr` is allowed to add an entry to `dir` (victim NULL), or to remove the entry of `victim`.
 * 0, -EACCES -EPERM -EROFS.
 */
static int may_change_entry(struct vnode *dir, const struct vnode *victim, const struct cred *cr)
{
    int err = vn_access(dir, 3, cr);

    if (err != 0 || victim == NULL)
        return err;
    if ((dir->attr & VN_APPEND) || (victim->attr & (VN_APPEND | VN_IMMUTABLE)))
        return -EPERM;
    if ((dir->mode & S_ISVTX) && cr->fsuid != 0 && cr->fsuid != victim->uid &&
        cr->fsuid != dir->uid)
        return -EPERM;
    return 0;
}

/* Whether the entry exists.  The answer only decides between two errors. */
static bool entry_exists(const struct fs_ctx *ctx, struct vnode *dir, const char *name, size_t len)
{
    struct vnode *vn;

    if (dir_lookup(ctx, dir, name, len, &vn) != 0)
        return false;
    vn_release(vn);
    return true;
}

int dir_create(const struct fs_ctx *ctx, struct vnode *dir, const char *name, size_t len,
               enum vtype type, uint32_t mode, uint64_t rdev, const char *target,
               struct vnode **out)
{
    int err = may_change_entry(dir, NULL, ctx->cred);

    if (err == 0 && dir->op->create == NULL)
        err = -EPERM;
    if (err != 0)
        return entry_exists(ctx, dir, name, len) ? -EEXIST : err;
    if ((dir->mode & S_ISGID) != 0) { /* the file system gives the file the directory's group */
        if (type == VDIR)
            mode |= S_ISGID;
        else if ((mode & (S_ISGID | 010)) == (S_ISGID | 010) && ctx->cred->fsuid != 0 &&
                 !cred_in_group(ctx->cred, dir->gid))
            mode &= ~S_ISGID;
    }
    rw_enter_write(&dir->lock);
    err = dir->op->create(dir, name, len, type, mode & 07777, ctx->cred, rdev, target, out);
    rw_exit_write(&dir->lock);
    if (err != 0)
        return err;
    err = vn_changed(dir, false, 0);
    if (err != 0)
        vn_release(*out);
    return err;
}

int name_create(const struct fs_ctx *ctx, struct vnode *at, const char *path, enum vtype type,
                uint32_t mode, uint64_t rdev, const char *target)
{
    struct vnode *vn;
    struct walk w;
    int err = walk_start(&w, ctx, at, path);

    if (err == 0)
        err = walk_parent(&w);
    if (err == 0) {
        if (name_is_special(w.last, w.len))
            err = -EEXIST;
        else if (w.slash && type != VDIR)
            err = entry_exists(ctx, w.dir, w.last, w.len) ? -EEXIST : -ENOENT;
        else if ((type == VCHR || type == VBLK) && ctx->cred->fsuid != 0)
            err = -EPERM;
        else if (type == VLNK && target[0] == '\0')
            err = -ENOENT;
        else
            err = dir_create(ctx, w.dir, w.last, w.len, type, mode, rdev, target, &vn);
    }
    if (err == 0)
        vn_release(vn);
    walk_end(&w);
    return err;
}

/*
 * Whether `cr` is allowed to make a further name for a file (Linux's protected_hardlinks).  The owner and root
 * are allowed to do this.  Other users must be able to read and write the file, and it must be a
 * regular file that is not set-id.  Otherwise a user could keep an old set-uid program after its
 * removal, or use up the quota of another user.
 */
static bool may_link(struct vnode *vn, const struct cred *cr)
{
    if (vn->attr & (VN_APPEND | VN_IMMUTABLE))
        return false;
    return cr->fsuid == 0 || cr->fsuid == vn->uid ||
           (vn->type == VREG && (vn->mode & 04000) == 0 && (vn->mode & 02010) != 02010 &&
            vn_access(vn, 6, cr) == 0);
}

int name_link(const struct fs_ctx *ctx, struct vnode *target, struct vnode *at, const char *path)
{
    struct walk w;
    int err = walk_start(&w, ctx, at, path);

    if (err == 0)
        err = walk_parent(&w);
    if (err == 0) {
        if (name_is_special(w.last, w.len) || entry_exists(ctx, w.dir, w.last, w.len))
            err = -EEXIST;
        else if (w.slash)
            err = -ENOENT;
        else if (target->vfs != w.dir->vfs)
            err = -EXDEV;
        else if (target->type == VDIR || w.dir->op->link == NULL || !may_link(target, ctx->cred))
            err = -EPERM;
        else
            err = may_change_entry(w.dir, NULL, ctx->cred);
    }
    if (err == 0) {
        rw_enter_write(&w.dir->lock);
        err = w.dir->op->link(w.dir, w.last, w.len, target);
        rw_exit_write(&w.dir->lock);
        err = vn_changed(w.dir, false, err);
    }
    walk_end(&w);
    return err;
}

/*
 * Does the checks of unlink and rmdir that need the victim.  [W] on dir.  `slash`: the name ends with a slash.
 */
static int may_unlink(const struct fs_ctx *ctx, struct vnode *dir, const struct vnode *victim,
                      bool rmdir, bool slash)
{
    int err = may_change_entry(dir, victim, ctx->cred);

    if (err != 0)
        return err;
    if (rmdir && victim->type != VDIR)
        return -ENOTDIR;
    if (!rmdir && victim->type == VDIR)
        return -EISDIR;
    if (!rmdir && slash)
        return -ENOTDIR;
    if (victim->mounted != NULL || victim == ctx->root)
        return -EBUSY;
    return dir->op->unlink == NULL ? -EPERM : 0;
}

/*
 * Finds, checks and removes the entry; [W] on w->dir.  *victim is NULL, or has a reference that the caller must drop.
 */
static int unlink_locked(const struct fs_ctx *ctx, struct walk *w, bool rmdir,
                         struct vnode **victim)
{
    int err = w->dir->op->lookup(w->dir, w->last, w->len, victim);

    if (err != 0) {
        *victim = NULL;
        return err;
    }
    err = may_unlink(ctx, w->dir, *victim, rmdir, w->slash);
    if (err != 0)
        return err;
    if (rmdir)
        rw_enter_write(&(*victim)->lock);
    err = w->dir->op->unlink(w->dir, w->last, w->len, *victim);
    if (rmdir)
        rw_exit_write(&(*victim)->lock);
    return err;
}

/* The error for a last component for which name_is_special() holds: an empty one, "." or "..". */
static int unlink_special_error(const struct walk *w, bool rmdir)
{
    if (!rmdir)
        return -EISDIR;
    if (w->len == 0)
        return -EBUSY;
    return w->len == 1 ? -EINVAL : -ENOTEMPTY;
}

int name_unlink(const struct fs_ctx *ctx, struct vnode *at, const char *path, bool rmdir)
{
    struct vnode *victim = NULL;
    struct walk w;
    int err = walk_start(&w, ctx, at, path);

    if (err == 0)
        err = walk_parent(&w);
    if (err == 0 && name_is_special(w.last, w.len))
        err = unlink_special_error(&w, rmdir);
    if (err == 0) {
        rw_enter_write(&w.dir->lock);
        err = unlink_locked(ctx, &w, rmdir, &victim);
        rw_exit_write(&w.dir->lock);
        err = vn_changed(w.dir, false, err);
    }
    if (victim != NULL)
        vn_release(victim); /* may free the file, so the directory must be unlocked before */
    walk_end(&w);
    return err;
}

/* Whether `a` is `d` or an ancestor of `d`.  The answer stays true while the caller holds vfs->rename_lock. */
static bool is_ancestor(const struct vnode *a, struct vnode *d)
{
    bool yes = false;

    vn_hold(d);
    for (;;) {
        struct vnode *up;

        if (a == d) {
            yes = true;
            break;
        }
        if (d == d->vfs->root || d->op->parent == NULL || d->op->parent(d, &up, NULL, 0) < 0)
            break;
        vn_release(d);
        d = up;
    }
    vn_release(d);
    return yes;
}

/* Locks two directories, which may be the same, in the order that LOCKING defines. */
static void dir_pair_lock(struct vnode *a, struct vnode *b)
{
    if (a == b) {
        rw_enter_write(&a->lock);
        return;
    }
    if (is_ancestor(b, a) || (a > b && !is_ancestor(a, b))) {
        struct vnode *t = a;
        a = b;
        b = t;
    }
    rw_enter_write(&a->lock);
    rw_enter_write(&b->lock);
}

static void dir_pair_unlock(struct vnode *a, struct vnode *b)
{
    rw_exit_write(&a->lock);
    if (a != b)
        rw_exit_write(&b->lock);
}

/* One rename in progress. */
struct renaming {
    struct walk o, n;               /* to the old and to the new name */
    struct vnode *moved, *replaced; /* with references; replaced == NULL: the new name is free */
};

/* Does the checks of a rename that need both files.  The caller has locked both directories. */
static int may_rename(const struct fs_ctx *ctx, struct renaming *r, unsigned flags)
{
    struct vnode *m = r->moved, *x = r->replaced;
    int err;

    if (x != NULL && (flags & RENAME_NOREPLACE))
        return -EEXIST;
    if (m->type != VDIR && (r->o.slash || r->n.slash))
        return -ENOTDIR;
    if (m->type == VDIR && is_ancestor(m, r->n.dir))
        return -EINVAL;
    if (x != NULL && x->type == VDIR && is_ancestor(x, r->o.dir))
        return -ENOTEMPTY;
    err = may_change_entry(r->o.dir, m, ctx->cred);
    if (err == 0)
        err = may_change_entry(r->n.dir, x, ctx->cred);
    if (err != 0)
        return err;
    if (x != NULL && x != m && (m->type == VDIR) != (x->type == VDIR))
        return m->type == VDIR ? -ENOTDIR : -EISDIR;
    if (m->mounted != NULL || (x != NULL && x->mounted != NULL) || m == ctx->root || x == ctx->root)
        return -EBUSY;
    if (m->type == VDIR && r->o.dir != r->n.dir)
        return vn_access(m, 2, ctx->cred); /* because the ".." of this directory changes */
    return 0;
}

static int rename_locked(const struct fs_ctx *ctx, struct renaming *r, unsigned flags)
{
    struct vnode *od = r->o.dir, *nd = r->n.dir;
    bool lock;
    int err;

    err = od->op->lookup(od, r->o.last, r->o.len, &r->moved);
    if (err != 0) {
        r->moved = NULL;
        return err;
    }
    err = nd->op->lookup(nd, r->n.last, r->n.len, &r->replaced);
    if (err != 0)
        r->replaced = NULL;
    if (err != 0 && err != -ENOENT)
        return err;
    err = may_rename(ctx, r, flags);
    if (err != 0)
        return err;
    if (r->moved == r->replaced)
        return 0; /* two names of one file: POSIX requires that nothing happens */
    lock = r->replaced != NULL && r->replaced->type == VDIR;
    if (lock)
        rw_enter_write(&r->replaced->lock);
    err = od->op->rename(od, r->o.last, r->o.len, nd, r->n.last, r->n.len, r->moved, r->replaced);
    if (lock)
        rw_exit_write(&r->replaced->lock);
    return err;
}

static int rename_walked(const struct fs_ctx *ctx, struct renaming *r, unsigned flags)
{
    struct vnode *od = r->o.dir, *nd = r->n.dir;
    bool two = od != nd;
    int err;

    if (name_is_special(r->o.last, r->o.len) || name_is_special(r->n.last, r->n.len))
        return -EBUSY;
    if (od->vfs != nd->vfs)
        return -EXDEV;
    if (od->op->rename == NULL)
        return -EPERM;
    if (two)
        mutex_enter(&od->vfs->rename_lock);
    dir_pair_lock(od, nd);
    err = rename_locked(ctx, r, flags);
    dir_pair_unlock(od, nd);
    if (two)
        mutex_exit(&od->vfs->rename_lock);
    return vn_changed(nd, false, err);
}

int name_rename(const struct fs_ctx *ctx, struct vnode *oat, const char *opath, struct vnode *nat,
                const char *npath, unsigned flags)
{
    struct renaming r;
    int err, nerr;

    if (flags & ~(unsigned)RENAME_NOREPLACE)
        return -EINVAL;
    r.moved = r.replaced = NULL;
    err = walk_start(&r.o, ctx, oat, opath);
    if (err == 0)
        err = walk_parent(&r.o);
    nerr = walk_start(&r.n, ctx, nat, npath);
    if (err == 0 && nerr == 0)
        nerr = walk_parent(&r.n);
    if (err == 0)
        err = nerr;
    if (err == 0)
        err = rename_walked(ctx, &r, flags);
    if (r.moved != NULL)
        vn_release(r.moved);
    if (r.replaced != NULL)
        vn_release(r.replaced);
    walk_end(&r.o);
    walk_end(&r.n);
    return err;
}
