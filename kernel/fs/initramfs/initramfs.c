// SPDX-License-Identifier: MIT
/*
 * initramfs.c - filling the root file system from cpio archives.
 *
 * THEORY      The boot loader puts an archive into memory, and the kernel unpacks it into the root file
 *             system, so that programs exist before any disk can be read.
 *             An archive lists its members directory by directory.  So the unpacker keeps the directory of the
 *             last member, and most names need only one look-up.  Missing directories are made.  An existing
 *             file or link is removed before it is replaced; an existing directory gets the new mode and owner.
 *             A file with several links has one member for each of its names, all with the same inode number.
 *             The first name makes the file, and the other names become links.  Any of these members can have
 *             the data; usually the last one has it.
 *             A symbolic link in the middle of a name is followed, with the unpacked tree as its root.
 * LOCKING     The code runs before there are processes, but takes the locks that the vnode operations require.
 * SEE ALSO    cpio.c, tests/test_fs.py
 */
#include "fs/initramfs/initramfs.h"
#include "vfs/name.h"

#include "vfs/file.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"

#define S_IFMT 0170000u
#define NS     1000000000ll

/* A file with several names that has been unpacked under one of them. */
struct linked {
    struct linked *next;
    uint32_t ino, major, minor;
    struct vnode *vn;
};

struct unpack {
    struct cred cred;
    struct fs_ctx ctx;
    struct vnode *dir;   /* directory of the last member, with a reference; NULL at first */
    const char *dirname; /* its name: dirlen bytes, in the archive            */
    size_t dirlen;
    struct linked *links;
};

static const uint8_t type_of_ifmt[16] = {
    [1] = VFIFO, [2] = VCHR, [4] = VDIR, [6] = VBLK, [8] = VREG, [10] = VLNK, [12] = VSOCK,
};

/*
 * Sets u->dir to the directory name[0 .. len-1] (the root if len is 0), and makes the missing directories of the path.
 */
static int enter_dir(struct unpack *u, const char *name, size_t len)
{
    struct vnode *dir = u->ctx.root;
    size_t at = 0;
    int err = 0;

    if (u->dir != NULL && len == u->dirlen && memcmp(name, u->dirname, len) == 0)
        return 0;
    vn_hold(dir);
    while (at < len) {
        const char *slash = memchr(name + at, '/', len - at);
        size_t n = slash != NULL ? (size_t)(slash - name) - at : len - at;
        struct vnode *next;

        err = dir_lookup(&u->ctx, dir, name + at, n, &next);
        if (err == -ENOENT)
            err = dir_create(&u->ctx, dir, name + at, n, VDIR, 0755, 0, NULL, &next);
        if (err == 0 && next->type == VLNK) {
            struct vnode *link = next;
            struct walk w;
            char *target = kmem_zalloc(PAGE_SIZE);

            err = target == NULL ? -ENOMEM : vn_readlink(link, target, PAGE_SIZE - 1);
            if (err == 0) {
                err = -ENOENT; /* a link with an empty target leads nowhere */
            } else if (err > 0) {
                err = walk_start(&w, &u->ctx, dir, target);
                if (err == 0)
                    err = walk_all(&w, NAME_FOLLOW | NAME_DIR, &next);
                walk_end(&w);
            }
            kmem_free(target);
            vn_release(link);
        }
        if (err != 0)
            break;
        vn_release(dir);
        dir = next;
        at += n + 1;
    }
    if (err != 0) {
        vn_release(dir);
        return err;
    }
    if (u->dir != NULL)
        vn_release(u->dir);
    u->dir = dir;
    u->dirname = name;
    u->dirlen = len;
    return 0;
}

static int write_member_data(struct vnode *vn, const struct cpio_entry *e)
{
    long n = e->size == 0 ? 0 : vn_write_kernel(vn, e->data, e->size, 0);

    if (n < 0)
        return (int)n;
    return (size_t)n != e->size ? -ENOSPC : 0;
}

/*
 * Removes the old entry with the name of a new member.  A directory that is replaced by a directory stays, and *kept
 * is this directory, with a reference.  Otherwise *kept is NULL.
 */
static int remove_old_entry(struct unpack *u, const char *last, size_t len, enum vtype type,
                            struct vnode **kept)
{
    struct vnode *vn;
    int err = 0;

    *kept = NULL;
    if (u->dir->op->lookup(u->dir, last, len, &vn) != 0)
        return 0;
    if (vn->type == VDIR && type == VDIR) {
        *kept = vn;
        return 0;
    }
    rw_enter_write(&u->dir->lock);
    err = u->dir->op->unlink(u->dir, last, len, vn);
    rw_exit_write(&u->dir->lock);
    vn_release(vn);
    return err;
}

static struct linked *find_link(struct unpack *u, const struct cpio_entry *e)
{
    struct linked *l = u->links;

    while (l != NULL && (l->ino != e->ino || l->major != e->dev_major || l->minor != e->dev_minor))
        l = l->next;
    return l;
}

static int remember_link(struct unpack *u, const struct cpio_entry *e, struct vnode *vn)
{
    struct linked *l = kmem_alloc(sizeof *l);

    if (l == NULL)
        return -ENOMEM;
    vn_hold(vn);
    *l = (struct linked){u->links, e->ino, e->dev_major, e->dev_minor, vn};
    u->links = l;
    return 0;
}

static int make_hard_link(struct unpack *u, const char *last, size_t len, struct vnode *vn)
{
    int err;

    rw_enter_write(&u->dir->lock);
    err = u->dir->op->link(u->dir, last, len, vn);
    rw_exit_write(&u->dir->lock);
    return err;
}

/*
 * A copy of a symbolic link's target, followed by a NUL, which the archive does not contain.  NULL: the size is
 * not valid, or there is no memory.
 */
static char *copy_link_target(const struct cpio_entry *e)
{
    char *t = e->size == 0 || e->size >= PAGE_SIZE ? NULL : kmem_alloc(e->size + 1);

    if (t != NULL) {
        memcpy(t, e->data, e->size);
        t[e->size] = '\0';
    }
    return t;
}

/* The last component of the member's path, and its length in *len. */
static const char *last_component(const struct cpio_entry *e, size_t *len)
{
    for (size_t i = e->nlen; i-- > 0;)
        if (e->name[i] == '/') {
            *len = e->nlen - i - 1;
            return e->name + i + 1;
        }
    *len = e->nlen;
    return e->name;
}

static int unpack_member(struct unpack *u, const struct cpio_entry *e)
{
    enum vtype type = (enum vtype)type_of_ifmt[(e->mode & S_IFMT) >> 12];
    size_t len;
    const char *last = last_component(e, &len);
    char *target = NULL;
    struct linked *known = NULL;
    struct vnode *vn;
    int err;

    if (type == 0)
        return -EINVAL;
    if (len == 1 && last[0] == '.') { /* the root itself */
        u->ctx.root->mode = e->mode & 07777;
        return 0;
    }
    err = enter_dir(u, e->name, last == e->name ? 0 : (size_t)(last - e->name) - 1);
    if (err != 0)
        return err;
    err = remove_old_entry(u, last, len, type, &vn);
    if (err != 0)
        return err;
    if (type == VREG && e->nlink > 1)
        known = find_link(u, e);
    if (known != NULL) {
        err = make_hard_link(u, last, len, known->vn);
        return err != 0 || e->size == 0 ? err : write_member_data(known->vn, e);
    }
    if (type == VLNK)
        target = copy_link_target(e);
    if (type == VLNK && target == NULL)
        return -EINVAL;
    if (vn == NULL)
        err = dir_create(&u->ctx, u->dir, last, len, type, e->mode & 07777,
                         makedev(e->rdev_major, e->rdev_minor), target, &vn);
    kmem_free(target);
    if (err != 0)
        return err;
    if (type == VREG)
        err = write_member_data(vn, e);
    vn->mode = e->mode & 07777;
    vn->uid = e->uid;
    vn->gid = e->gid;
    vn->mtime_ns = (int64_t)e->mtime * NS;
    if (err == 0 && type == VREG && e->nlink > 1)
        err = remember_link(u, e, vn);
    vn_release(vn);
    return err;
}

int initramfs_unpack(const char *what, const void *archive, size_t len)
{
    struct unpack *u = kmem_zalloc(sizeof *u);
    struct cpio_entry e;
    const char *why = NULL;
    size_t pos = 0;
    int err;

    if (u == NULL)
        return -ENOMEM;
    u->cred.refs = 1;
    u->ctx = (struct fs_ctx){vfs_root, vfs_root, &u->cred};
    while ((err = cpio_next(archive, len, &pos, &e, &why)) == 1) {
        err = unpack_member(u, &e);
        if (err != 0) {
            warn("%s: %.200s: error %d; the rest is left out", what, e.name, -err);
            break;
        }
    }
    if (why != NULL)
        warn("%s: %s at byte %lu; the rest is left out", what, why, (unsigned long)pos);
    while (u->links != NULL) {
        struct linked *l = u->links;

        u->links = l->next;
        vn_release(l->vn);
        kmem_free(l);
    }
    if (u->dir != NULL)
        vn_release(u->dir);
    kmem_free(u);
    return err;
}
