// SPDX-License-Identifier: MIT
/*
 * change.c - making, linking, removing and renaming names; changing attributes.
 *
 * THEORY      The rules that hold for every file system are here, once: who may change a
 * directory, what the sticky bit keeps, which kinds of file may replace each other, which bits
 * a change of owner takes away.  The file system's own operation does the change and nothing
 * else. A rename of a directory must not put it below itself.  The file system's rename mutex
 * keeps the tree in shape from the look at the ancestors to the rename itself. INVARIANTS  I1
 * a directory's entries change only under its lock, held for writing I2  no directory is moved
 * below itself LOCKING     rename mutex -> directories, by address -> the vnode removed or
 * replaced SEE ALSO    vnode.h, docs/files.md, tests/test_sys_names.py
 */
#include "fs/change.h"

#include "lib/errno.h"
#include "lib/string.h"

static const struct cred kernel_cred = {.refs = 1};

static bool superuser(const struct cred *cr)
{
    return cr->euid == 0;
}

bool cred_in_group(const struct cred *cr, uint32_t gid)
{
    if (cr->fsgid == gid)
        return true;
    for (unsigned i = 0; i < cr->ngroups; i++)
        if (cr->groups[i] == gid)
            return true;
    return false;
}

/* A name that its directory does not own: ".", ".." or the root. */
static bool is_dots(const char *name, size_t len)
{
    return len == 0 || (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}

/* Whether `cr` may remove the entry for `victim` from `dir` (locked): write access, and the
 * sticky bit. */
static int may_remove(struct vnode *dir, struct vnode *victim, const struct cred *cr)
{
    struct vattr d, v;
    int err = vn_access(dir, 3, cr);

    if (err != 0)
        return err;
    vn_getattr(dir, &d);
    if (!(d.mode & MODE_STICKY) || superuser(cr) || cr->fsuid == d.uid)
        return 0;
    vn_getattr(victim, &v);
    return cr->fsuid == v.uid ? 0 : -EPERM;
}

/* Whether `name` may be made in `dir` (locked for writing): it must not exist. */
static int may_make(struct vnode *dir, const char *name, size_t len, const struct cred *cr)
{
    struct vnode *old;
    int err = vn_access(dir, 1, cr);

    if (err != 0)
        return err;
    err = dir->op->lookup(dir, name, len, &old);
    if (err == 0) {
        vn_release(old);
        return -EEXIST;
    }
    return err == -ENOENT ? vn_access(dir, 2, cr) : err;
}

int fs_make(const struct fs_ctx *ctx, struct vnode *at, const char *path, enum vtype type,
            uint32_t mode, uint64_t rdev, const char *target)
{
    struct vnode *dir, *vn;
    const char *name;
    size_t len;
    bool slash = false;
    int err = name_parent(ctx, at, path, &dir, &name, &len, &slash);

    if (err != 0)
        return err;
    if (is_dots(name, len)) {
        vn_release(dir);
        return -EEXIST;
    }
    rw_enter_write(&dir->lock);
    err = may_make(dir, name, len, ctx->cred);
    if (err == 0 && slash && type != VDIR)
        err = -ENOENT;
    if (err == 0 && dir->op->create == NULL)
        err = -EPERM;
    if (err == 0)
        err = dir->op->create(dir, name, len, type, mode, ctx->cred, rdev, target, &vn);
    rw_exit_write(&dir->lock);
    if (err == 0)
        vn_release(vn);
    vn_release(dir);
    return err;
}

int fs_link(const struct fs_ctx *ctx, struct vnode *vn, struct vnode *at, const char *path)
{
    struct vnode *dir;
    const char *name;
    size_t len;
    bool slash = false;
    int err = name_parent(ctx, at, path, &dir, &name, &len, &slash);

    if (err != 0)
        return err;
    if (is_dots(name, len))
        err = -EEXIST;
    else if (dir->vfs != vn->vfs)
        err = -EXDEV;
    else if (vn->type == VDIR || dir->op->link == NULL)
        err = -EPERM;
    if (err == 0) {
        rw_enter_write(&dir->lock);
        err = may_make(dir, name, len, ctx->cred);
        if (err == 0 && slash)
            err = -ENOENT;
        if (err == 0)
            err = dir->op->link(dir, name, len, vn);
        rw_exit_write(&dir->lock);
    }
    vn_release(dir);
    return err;
}

/* rmdir(2) and unlink(2) of `name` in `dir`, locked for writing. */
static int remove_entry(struct vnode *dir, const char *name, size_t len, bool slash, bool rmdir,
                        const struct cred *cr)
{
    struct vnode *victim;
    int err = vn_access(dir, 1, cr);

    if (err == 0)
        err = dir->op->lookup(dir, name, len, &victim);
    if (err != 0)
        return err;
    err = may_remove(dir, victim, cr);
    if (err == 0) {
        if (victim->type == VDIR && !rmdir)
            err = -EISDIR;
        else if (victim->type != VDIR && (rmdir || slash))
            err = -ENOTDIR;
        else if (victim->mounted != NULL)
            err = -EBUSY;
        else if (dir->op->unlink == NULL)
            err = -EPERM;
    }
    if (err == 0) {
        rw_enter_write(&victim->lock);
        err = dir->op->unlink(dir, name, len, victim);
        rw_exit_write(&victim->lock);
    }
    vn_release(victim);
    return err;
}

int fs_unlink(const struct fs_ctx *ctx, struct vnode *at, const char *path, bool rmdir)
{
    struct vnode *dir;
    const char *name;
    size_t len;
    bool slash = false;
    int err = name_parent(ctx, at, path, &dir, &name, &len, &slash);

    if (err != 0)
        return err;
    if (is_dots(name, len)) {
        err = !rmdir ? -EISDIR : len == 0 ? -EBUSY : len == 1 ? -EINVAL : -ENOTEMPTY;
    } else {
        rw_enter_write(&dir->lock);
        err = remove_entry(dir, name, len, slash, rmdir, ctx->cred);
        rw_exit_write(&dir->lock);
    }
    vn_release(dir);
    return err;
}

/* Whether `above` is `vn` or one of the directories it lies in; the rename mutex is held. */
static bool is_ancestor(struct vnode *above, struct vnode *vn)
{
    struct vnode *root = vn->vfs->root;
    struct fs_ctx ctx = {.root = root, .cwd = root, .cred = &kernel_cred};
    struct vnode *up;
    bool found;

    vn_hold(vn);
    while (vn != above && vn != root && name_lookup(&ctx, vn, "..", 0, &up) == 0) {
        vn_release(vn);
        vn = up;
    }
    found = vn == above;
    vn_release(vn);
    return found;
}

static void lock_dirs(struct vnode *a, struct vnode *b)
{
    rw_enter_write(a < b ? &a->lock : &b->lock);
    if (a != b)
        rw_enter_write(a < b ? &b->lock : &a->lock);
}

static void unlock_dirs(struct vnode *a, struct vnode *b)
{
    rw_exit_write(&a->lock);
    if (a != b)
        rw_exit_write(&b->lock);
}

/* One side of a rename. */
struct end {
    struct vnode *dir;
    const char *name;
    size_t len;
    bool slash;
    struct vnode *vn; /* what the name stands for, held; NULL: nothing */
};

/* Looks the name up in its directory, which is locked.  A name that is not there is no error.
 */
static int end_lookup(struct end *e)
{
    int err;

    e->vn = NULL;
    err = e->dir->op->lookup(e->dir, e->name, e->len, &e->vn);
    if (err != 0)
        e->vn = NULL;
    return err == -ENOENT ? 0 : err;
}

static void end_drop(struct end *e)
{
    if (e->vn != NULL)
        vn_release(e->vn);
    e->vn = NULL;
}

/* The rules of rename(2), directories locked and both names looked up. */
static int may_rename(const struct end *from, const struct end *to, bool noreplace,
                      const struct cred *cr)
{
    int err;

    if (from->vn == NULL)
        return -ENOENT;
    if (to->vn != NULL && noreplace)
        return -EEXIST;
    if (from->vn->type != VDIR && (from->slash || to->slash))
        return -ENOTDIR;
    err = may_remove(from->dir, from->vn, cr);
    if (err == 0)
        err = to->vn != NULL ? may_remove(to->dir, to->vn, cr) : vn_access(to->dir, 3, cr);
    if (err == 0 && from->vn->type == VDIR && from->dir != to->dir)
        err = vn_access(from->vn, 2, cr); /* its ".." changes */
    if (err != 0)
        return err;
    if (to->vn != NULL && from->vn->type == VDIR && to->vn->type != VDIR)
        return -ENOTDIR;
    if (to->vn != NULL && from->vn->type != VDIR && to->vn->type == VDIR)
        return -EISDIR;
    if (from->vn->mounted != NULL || (to->vn != NULL && to->vn->mounted != NULL))
        return -EBUSY;
    return from->dir->op->rename == NULL ? -EPERM : 0;
}

/*
 * The rename itself, under the rename mutex.  Which directory is moved and which replaced is
 * found out first, with one lock at a time, because the walk up the tree takes locks too;
 * -EAGAIN when the names have come to stand for something else by the time that both
 * directories are locked.
 */
static int rename_locked(struct end *from, struct end *to, bool noreplace,
                         const struct cred *cr)
{
    struct vnode *moved, *over;
    int err;

    rw_enter_read(&from->dir->lock);
    err = end_lookup(from);
    rw_exit_read(&from->dir->lock);
    if (err != 0)
        return err;
    moved = from->vn;
    if (moved != NULL && moved->type == VDIR && is_ancestor(moved, to->dir)) {
        end_drop(from);
        return -EINVAL; /* I2 */
    }
    rw_enter_read(&to->dir->lock);
    err = end_lookup(to);
    rw_exit_read(&to->dir->lock);
    over = to->vn;
    if (err == 0 && over != NULL && over->type == VDIR && is_ancestor(over, from->dir))
        err = -ENOTEMPTY;
    end_drop(from);
    end_drop(to);
    if (err != 0)
        return err;

    lock_dirs(from->dir, to->dir);
    err = end_lookup(from);
    if (err == 0)
        err = end_lookup(to);
    if (err == 0 && (from->vn != moved || to->vn != over))
        err = -EAGAIN;
    if (err == 0)
        err = may_rename(from, to, noreplace, cr);
    if (err == 0 && from->vn != to->vn) { /* two names of one file: nothing to do */
        if (to->vn != NULL)
            rw_enter_write(&to->vn->lock);
        err = from->dir->op->rename(from->dir, from->name, from->len, to->dir, to->name,
                                    to->len, from->vn, to->vn);
        if (to->vn != NULL)
            rw_exit_write(&to->vn->lock);
    }
    unlock_dirs(from->dir, to->dir);
    end_drop(from);
    end_drop(to);
    return err;
}

int fs_rename(const struct fs_ctx *ctx, struct vnode *oat, const char *opath, struct vnode *nat,
              const char *npath, bool noreplace)
{
    struct end from = {0}, to = {0};
    int err;

    err = name_parent(ctx, oat, opath, &from.dir, &from.name, &from.len, &from.slash);
    if (err != 0)
        return err;
    err = name_parent(ctx, nat, npath, &to.dir, &to.name, &to.len, &to.slash);
    if (err != 0) {
        vn_release(from.dir);
        return err;
    }
    if (from.dir->vfs != to.dir->vfs)
        err = -EXDEV;
    else if (is_dots(from.name, from.len) || is_dots(to.name, to.len))
        err = -EBUSY;
    if (err == 0)
        err = vn_access(from.dir, 1, ctx->cred);
    if (err == 0)
        err = vn_access(to.dir, 1, ctx->cred);
    if (err == 0) {
        mutex_enter(&from.dir->vfs->rename_lock);
        do
            err = rename_locked(&from, &to, noreplace, ctx->cred);
        while (err == -EAGAIN);
        mutex_exit(&from.dir->vfs->rename_lock);
    }
    vn_release(from.dir);
    vn_release(to.dir);
    return err;
}

/* Stores attributes, the vnode locked for writing. */
static int setattr_locked(struct vnode *vn, unsigned mask, const struct vattr *va)
{
    if (vn->vfs->readonly)
        return -EROFS;
    return vn->op->setattr != NULL ? vn->op->setattr(vn, mask, va) : -EPERM;
}

int fs_chmod(struct vnode *vn, uint32_t mode, const struct cred *cr)
{
    struct vattr va;
    int err;

    rw_enter_write(&vn->lock);
    vn_getattr(vn, &va);
    if (!superuser(cr) && cr->fsuid != va.uid) {
        err = -EPERM;
    } else {
        va.mode = mode & 07777;
        if (!superuser(cr) && !cred_in_group(cr, va.gid))
            va.mode &= ~(uint32_t)MODE_SETGID;
        err = setattr_locked(vn, VA_MODE, &va);
    }
    rw_exit_write(&vn->lock);
    return err;
}

int fs_chown(struct vnode *vn, uint32_t uid, uint32_t gid, const struct cred *cr)
{
    struct vattr va;
    unsigned mask = (uid != UINT32_MAX ? VA_UID : 0) | (gid != UINT32_MAX ? VA_GID : 0);
    int err = 0;

    rw_enter_write(&vn->lock);
    vn_getattr(vn, &va);
    if (!superuser(cr)) {
        if ((mask & VA_UID) && (uid != va.uid || cr->fsuid != va.uid))
            err = -EPERM;
        if ((mask & VA_GID) &&
            (cr->fsuid != va.uid || (gid != va.gid && !cred_in_group(cr, gid))))
            err = -EPERM;
    }
    if (err == 0 && mask != 0) {
        if (vn->type != VDIR && (va.mode & (MODE_SETUID | MODE_SETGID))) {
            va.mode &= ~(uint32_t)MODE_SETUID;
            if (va.mode & 010)
                va.mode &= ~(uint32_t)MODE_SETGID;
            mask |= VA_MODE;
        }
        va.uid = uid;
        va.gid = gid;
        err = setattr_locked(vn, mask, &va);
    }
    rw_exit_write(&vn->lock);
    return err;
}

int fs_utimes(struct vnode *vn, unsigned mask, const struct vattr *times, const struct cred *cr)
{
    struct vattr va;
    int err = 0;

    rw_enter_write(&vn->lock);
    vn_getattr(vn, &va);
    if (!superuser(cr) && cr->fsuid != va.uid) {
        if ((mask & (VA_ATIME | VA_MTIME)) || mask == VA_ATIME_NOW || mask == VA_MTIME_NOW)
            err = -EPERM; /* only "both, now" is open to whoever may write */
        else
            err = vn_access(vn, 2, cr);
    }
    if (err == 0 && mask != 0)
        err = setattr_locked(vn, mask, times);
    rw_exit_write(&vn->lock);
    return err;
}

int fs_truncate(struct vnode *vn, loff_t size)
{
    struct vattr va = {.size = (uint64_t)size};
    int err;

    if (vn->type == VDIR)
        return -EISDIR;
    if (vn->type != VREG)
        return -EINVAL;
    if (atomic_load_explicit(&vn->writers, memory_order_relaxed) < 0)
        return -ETXTBSY;
    rw_enter_write(&vn->lock);
    err = setattr_locked(vn, VA_SIZE, &va);
    rw_exit_write(&vn->lock);
    return err;
}
