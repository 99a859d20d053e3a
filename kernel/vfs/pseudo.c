// SPDX-License-Identifier: MIT
/*
 * pseudo.c - the framework of procfs and sysfs: vnodes made by look-ups, text made by reads.
 *
 * THEORY      See pseudo.h.  A vnode holds a reference to its parent and keeps its name, so that ".." and
 *             getcwd() need no search.  An inode number is a hash of node and arg, so that a file has the
 *             same number each time its vnode is made.
 *             Positions in a directory: 0 is ".", 1 is "..", then the entries of the table,
 *             then COMPUTED + key.
 * INVARIANTS  P1  an open text file's f->data is its struct open_text until close
 * LOCKING     open_text.lock (sleeping) guards the text of one open file, which several threads can
 *             share
 * SEE ALSO    pseudo.h
 */
#include "vfs/pseudo.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"

enum { COMPUTED = 1 << 16, STORE_MAX = 4096 };

struct pseudo_vnode {
    struct vnode vn;
    const struct pseudo_node *node;
    struct pseudo_arg arg;
    struct vnode *parent; /* the directory, with a reference; NULL: this is the root */
    char name[PSEUDO_NAME_MAX];
};

struct open_text {
    struct mutex lock;
    struct text text;
    bool made;
};

static const struct vnodeops pseudo_ops, pseudo_direct_ops;
static const struct fileops text_fileops;

static struct pseudo_vnode *pseudo_vnode_of(struct vnode *vn)
{
    return container_of(vn, struct pseudo_vnode, vn);
}

const struct pseudo_arg *pseudo_arg(struct vnode *vn)
{
    return vn->op == &pseudo_ops ? &pseudo_vnode_of(vn)->arg : NULL;
}

static uint64_t hash_inode_number(const struct pseudo_node *n, struct pseudo_arg arg)
{
    uint64_t h = (uintptr_t)n * 0x9e3779b97f4a7c15ull;

    h = (h ^ arg.a) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ (h >> 29) ^ arg.b) * 0x94d049bb133111ebull;
    return (h >> 20 & 0xffffffffull) + 2;
}

static int make_pseudo_vnode(struct vfs *vfs, struct vnode *parent, const struct pseudo_node *n,
                             struct pseudo_arg arg, const char *name, struct vnode **out)
{
    struct pseudo_vnode *pv = kmem_zalloc(sizeof *pv);

    if (pv == NULL)
        return -ENOMEM;
    vn_init(&pv->vn, vfs, n->type, n->follow != NULL ? &pseudo_direct_ops : &pseudo_ops, NULL);
    pv->node = n;
    pv->arg = arg;
    pv->parent = parent;
    pv->vn.ino = hash_inode_number(n, arg);
    pv->vn.mode = n->mode;
    pv->vn.rdev = n->type == VCHR ? arg.b : 0;
    pv->vn.nlink = n->type == VDIR ? 2 : 1;
    str_copy(pv->name, name, sizeof pv->name);
    vn_times_now(&pv->vn, VA_ATIME | VA_MTIME);
    if (parent != NULL) {
        vn_hold(parent);
        pv->vn.uid = parent->uid;
        pv->vn.gid = parent->gid;
    }
    if (n->owner != NULL)
        n->owner(n, arg, &pv->vn.uid, &pv->vn.gid);
    *out = &pv->vn;
    return 0;
}

static void pseudo_inactive(struct vnode *vn)
{
    struct vnode *parent = pseudo_vnode_of(vn)->parent;

    kmem_free(pseudo_vnode_of(vn));
    if (parent != NULL)
        vn_release(parent);
}

/* ---- directories ----------------------------------------------------------------------------- */

/*
 * Parses a name that is `prefix` and a decimal number of at most 9 digits without leading
 * zeros.  false: the name has another form.
 */
static bool parse_key(const char *name, size_t len, const char *prefix, uint64_t *key)
{
    size_t plen = strlen(prefix);

    if (len <= plen || len > plen + 9 || memcmp(name, prefix, plen) != 0 ||
        (name[plen] == '0' && len > plen + 1))
        return false;
    *key = 0;
    for (size_t i = plen; i < len; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        *key = *key * 10 + (uint64_t)(name[i] - '0');
    }
    return true;
}

static bool is_vanished(const struct pseudo_vnode *d)
{
    return d->node->exists != NULL && !d->node->exists(d->node, d->arg);
}

static int find_computed_entry(struct pseudo_vnode *d, const char *name, size_t len,
                               struct pseudo_entry *e)
{
    const struct pseudo_node *n = d->node;
    uint64_t key;

    if (n->find != NULL)
        return n->find(n, d->arg, name, len, e);
    if (n->next == NULL || !parse_key(name, len, n->prefix, &key))
        return -ENOENT;
    return n->next(n, d->arg, key, e) == 0 && e->key == key ? 0 : -ENOENT;
}

static int pseudo_lookup(struct vnode *dir, const char *name, size_t len, struct vnode **out)
{
    struct pseudo_vnode *d = pseudo_vnode_of(dir);
    struct pseudo_entry e;
    int err;

    if (is_vanished(d))
        return -ENOENT;
    for (const struct pseudo_node *c = d->node->children; c != NULL && c->name != NULL; c++)
        if (strlen(c->name) == len && memcmp(c->name, name, len) == 0)
            return make_pseudo_vnode(dir->vfs, dir, c, d->arg, c->name, out);
    err = find_computed_entry(d, name, len, &e);
    if (err != 0)
        return err;
    if (e.name[0] == '\0') {
        memcpy(e.name, name, min_of(len, sizeof e.name - 1));
        e.name[min_of(len, sizeof e.name - 1)] = '\0';
    }
    return make_pseudo_vnode(dir->vfs, dir, e.node, e.arg, e.name, out);
}

static int pseudo_readdir(struct vnode *dir, uint64_t off, dirent_fn fn, void *arg)
{
    struct pseudo_vnode *d = pseudo_vnode_of(dir);
    const struct pseudo_node *c = d->node->children;
    struct vnode *up = d->parent != NULL ? d->parent : dir;
    struct pseudo_entry e;
    uint64_t i = 2;

    if (is_vanished(d))
        return -ENOENT;
    if (off == 0 && fn(arg, ".", 1, dir->ino, VDIR, 1))
        return 0;
    if (off <= 1 && fn(arg, "..", 2, up->ino, VDIR, 2))
        return 0;
    for (; c != NULL && c->name != NULL; c++, i++)
        if (i >= off &&
            fn(arg, c->name, strlen(c->name), hash_inode_number(c, d->arg), c->type, i + 1))
            return 0;
    if (d->node->next == NULL)
        return 0;
    for (i = off > COMPUTED ? off - COMPUTED : 0; d->node->next(d->node, d->arg, i, &e) == 0;
         i = e.key + 1)
        if (fn(arg, e.name, strlen(e.name), hash_inode_number(e.node, e.arg), e.node->type,
               COMPUTED + e.key + 1))
            return 0;
    return 0;
}

static int pseudo_parent(struct vnode *vn, struct vnode **parent, char *buf, size_t size)
{
    struct pseudo_vnode *pv = pseudo_vnode_of(vn);
    size_t len = strlen(pv->name);

    if (pv->parent == NULL)
        return -ENOENT;
    if (size > 0 && len > size)
        return -ENAMETOOLONG;
    if (size > 0)
        memcpy(buf, pv->name, len);
    if (parent != NULL) {
        vn_hold(pv->parent);
        *parent = pv->parent;
    }
    return (int)len;
}

/* ---- links and files ------------------------------------------------------------------------- */

static int pseudo_readlink(struct vnode *vn, char *buf, size_t size)
{
    struct pseudo_vnode *pv = pseudo_vnode_of(vn);

    return pv->node->link(pv->node, pv->arg, buf, size);
}

static int pseudo_follow(struct vnode *vn, struct vnode **out)
{
    struct pseudo_vnode *pv = pseudo_vnode_of(vn);

    return pv->node->follow(pv->node, pv->arg, out);
}

static int make_vnode_text(struct vnode *vn, struct text *t)
{
    struct pseudo_vnode *pv = pseudo_vnode_of(vn);
    int err;

    text_clear(t);
    err = pv->node->show(pv->node, pv->arg, t);
    return err == 0 && t->failed ? -ENOMEM : err;
}

/* Reads without an open text file (for the kernel itself).  The text is made for this one read. */
static long pseudo_read(struct vnode *vn, struct uio *uio, loff_t off, int oflags)
{
    struct pseudo_vnode *pv = pseudo_vnode_of(vn);
    struct text t = {0};
    long r;

    if (pv->node->read != NULL)
        return pv->node->read(pv->node, pv->arg, uio, off);
    if (pv->node->show == NULL)
        return -EINVAL;
    r = make_vnode_text(vn, &t);
    if (r == 0)
        r = text_read(&t, uio, off);
    text_clear(&t);
    return r;
}

static long pseudo_write(struct vnode *vn, struct uio *uio, loff_t off, int oflags)
{
    struct pseudo_vnode *pv = pseudo_vnode_of(vn);
    size_t n = uio->resid;
    char *buf;
    int err;

    if (pv->node->store == NULL || n >= STORE_MAX)
        return -EINVAL;
    buf = kmem_alloc(n + 1);
    if (buf == NULL)
        return -ENOMEM;
    err = uio_move(buf, n, uio);
    buf[n] = '\0';
    if (err == 0)
        err = pv->node->store(pv->node, pv->arg, buf, n);
    kmem_free(buf);
    return err != 0 ? err : (long)n;
}

static int pseudo_open(struct vnode *vn, int oflags, struct file *f)
{
    struct pseudo_vnode *pv = pseudo_vnode_of(vn);
    struct open_text *ot;
    int err = pv->node->open != NULL ? pv->node->open(pv->node, pv->arg) : 0;

    if (err != 0)
        return err;
    if (pv->node->open_file != NULL)
        return pv->node->open_file(pv->node, pv->arg, f);
    if (vn->type != VREG || pv->node->show == NULL)
        return 0;
    ot = kmem_zalloc(sizeof *ot);
    if (ot == NULL)
        return -ENOMEM;
    mutex_init(&ot->lock, SLEEP_PSEUDO);
    f->ops = &text_fileops;
    f->data = ot; /* P1 */
    f->seekable = true;
    return 0;
}

static const struct vnodeops pseudo_ops = {
    .lookup = pseudo_lookup,
    .readdir = pseudo_readdir,
    .readlink = pseudo_readlink,
    .read = pseudo_read,
    .write = pseudo_write,
    .open = pseudo_open,
    .parent = pseudo_parent,
    .inactive = pseudo_inactive,
};

/* The operations of links that lead to a file and not to a name. */
static const struct vnodeops pseudo_direct_ops = {
    .readlink = pseudo_readlink,
    .follow = pseudo_follow,
    .parent = pseudo_parent,
    .inactive = pseudo_inactive,
};

static long text_file_read(struct file *f, struct uio *uio, loff_t off)
{
    struct open_text *ot = f->data;
    long r = 0;

    mutex_enter(&ot->lock);
    if (off == 0 || !ot->made) {
        r = make_vnode_text(f->vn, &ot->text);
        ot->made = r == 0;
    }
    if (r == 0)
        r = text_read(&ot->text, uio, off);
    mutex_exit(&ot->lock);
    return r;
}

static long text_file_write(struct file *f, struct uio *uio, loff_t off)
{
    return pseudo_write(f->vn, uio, off, 0);
}

static void text_file_close(struct file *f)
{
    struct open_text *ot = f->data;

    text_clear(&ot->text);
    kmem_free(ot);
}

static const struct fileops text_fileops = {
    .read = text_file_read,
    .write = text_file_write,
    .seek = file_text_seek,
    .close = text_file_close,
};

/* ---- mounting -------------------------------------------------------------------------------- */

static void pseudo_statfs(struct vfs *vfs, uint64_t *blocks, uint64_t *bfree, uint64_t *files,
                          uint64_t *ffree)
{
    *blocks = *bfree = *files = *ffree = 0;
}

static const struct vfs_ops pseudo_vfs_ops = {.statfs = pseudo_statfs};

int pseudo_mount(const char *type, const char *source, uint32_t magic,
                 const struct pseudo_node *root, struct vfs **out)
{
    struct vfs *vfs = vfs_alloc(type, &pseudo_vfs_ops, source, magic);
    int err;

    if (vfs == NULL)
        return -ENOMEM;
    err = make_pseudo_vnode(vfs, NULL, root, (struct pseudo_arg){0}, "", &vfs->root);
    if (err != 0) {
        vfs_free(vfs);
        return err;
    }
    vfs->root->ino = 1;
    *out = vfs;
    return 0;
}
