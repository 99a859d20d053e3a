// SPDX-License-Identifier: MIT
/*
 * tmpfs_dir.c - directories of memory file systems.
 *
 * THEORY      A directory is a hash table of its entries, for look-ups.  When there are two entries for each
 *             bucket, the table is made four times as large.
 *             Each entry gets a number (cookie) that is larger than all earlier cookies.  The
 *             cookie is the entry's readdir position.  So a program that lists a directory misses
 *             no entry when other entries are made or removed meanwhile.  A radix tree of the entries by cookie
 *             finds the position at which readdir continues.
 *             An entry holds a reference to its file.  The file points to the entry under which it was last
 *             found.  This pointer leads from a directory to its parent, and from an open file to its name.
 * INVARIANTS  I1  one entry names a directory; nlink of the directory is 2 + the number of its
 *                 subdirectories, and 0 after the directory has been removed
 *             I2  node->nentries is the number of entries that name the node; node->entry is one of
 *                 them, or NULL
 *             I3  dir->order has each entry at its cookie, and cookies are at least COOKIE_FIRST
 * LOCKING     The caller holds the directory's vnode lock, as for the operations in vnode.h.  tmount.lock guards
 *             nlink, nentries and entry.
 * SEE ALSO    tmpfs.c
 */
#include "fs/tmpfs/tmpfs.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"

#define COOKIE_DOT    1
#define COOKIE_DOTDOT 2
#define COOKIE_FIRST  3

static uint32_t name_hash(const char *name, size_t len)
{
    uint32_t h = (uint32_t)len;

    while (len >= 4) {
        uint32_t w;

        __builtin_memcpy(&w, name, 4);
        h = (h ^ w) * 0x9e3779b1u;
        h ^= h >> 15;
        name += 4;
        len -= 4;
    }
    while (len-- != 0)
        h = (h ^ (uint8_t)*name++) * 0x9e3779b1u;
    return h ^ h >> 16;
}

static inline bool name_equal(const char *a, const char *b, size_t len)
{
    while (len >= 8) {
        uint64_t x, y;

        __builtin_memcpy(&x, a, 8);
        __builtin_memcpy(&y, b, 8);
        if (x != y)
            return false;
        a += 8, b += 8, len -= 8;
    }
    while (len-- != 0)
        if (*a++ != *b++)
            return false;
    return true;
}

void tdir_init(struct tdir *d)
{
    memset(d, 0, sizeof *d);
    d->bucket = d->first;
    d->mask = TDIR_INLINE - 1;
    d->next_cookie = COOKIE_FIRST;
}

void tdir_destroy(struct tdir *d)
{
    if (d->bucket != d->first)
        kmem_free(d->bucket);
}

/*
 * Returns the address of the pointer in the hash chain that points to the entry `name`.  If there
 * is no such entry, that pointer is NULL.
 */
static struct tdirent **tdir_find_slot(struct tdir *d, const char *name, size_t len, uint32_t hash)
{
    struct tdirent **p = &d->bucket[hash & d->mask];

    for (; *p != NULL; p = &(*p)->hnext)
        if ((*p)->hash == hash && (*p)->len == len && name_equal((*p)->name, name, len))
            break;
    return p;
}

/* Makes the table four times as large.  If there is no memory, the table stays as it is, and look-ups are slower. */
static void tdir_grow(struct tdir *d)
{
    uint32_t n = 4 * (d->mask + 1);
    struct tdirent **b = kmem_zalloc(n * sizeof *b);
    struct tdirent *e, *next;

    if (b == NULL)
        return;
    for (uint32_t i = 0; i <= d->mask; i++)
        for (e = d->bucket[i]; e != NULL; e = next) {
            next = e->hnext;
            e->hnext = b[e->hash & (n - 1)];
            b[e->hash & (n - 1)] = e;
        }
    tdir_destroy(d);
    d->bucket = b;
    d->mask = n - 1;
}

int tmpfs_lookup(struct vnode *dir, const char *name, size_t len, struct vnode **out)
{
    struct tdirent *e = *tdir_find_slot(&tnode_of(dir)->dir, name, len, name_hash(name, len));

    if (e == NULL)
        return -ENOENT;
    if (unlikely(e->node->entry != e)) { /* the file has, or had, another name: record this entry */
        struct tmount *tm = tmount_of(dir);

        spin_lock(&tm->lock);
        e->node->entry = e;
        spin_unlock(&tm->lock);
    }
    *out = &e->node->vn;
    vn_hold(*out);
    return 0;
}

/* Counts entry `e` in its file's nentries and, if the file is a directory, in the parent's nlink. */
static void count_dir_entry(struct tdirent *e)
{
    struct tnode *n = e->node;
    struct tmount *tm = tmount_of(&n->vn);

    spin_lock(&tm->lock);
    n->entry = e;
    n->nentries++;
    if (n->vn.type == VDIR)
        e->dir->vn.nlink++;
    spin_unlock(&tm->lock);
}

/* Undoes count_dir_entry(). */
static void uncount_dir_entry(struct tdirent *e)
{
    struct tnode *n = e->node;
    struct tmount *tm = tmount_of(&n->vn);

    spin_lock(&tm->lock);
    if (n->entry == e)
        n->entry = NULL;
    n->nentries--;
    if (n->vn.type == VDIR)
        e->dir->vn.nlink--;
    spin_unlock(&tm->lock);
}

int tdir_add(struct tnode *dir, const char *name, size_t len, struct tnode *node)
{
    struct tdir *d = &dir->dir;
    uint32_t hash = name_hash(name, len);
    struct tdirent **p, *e;

    if (dir->vn.nlink == 0)
        return -ENOENT;
    if (*tdir_find_slot(d, name, len, hash) != NULL)
        return -EEXIST;
    e = kmem_alloc(sizeof *e + len);
    if (e == NULL || radix_insert(&d->order, d->next_cookie, e) != 0) {
        kmem_free(e);
        return -ENOMEM;
    }
    if (d->count > 2 * d->mask + 1)
        tdir_grow(d);
    p = &d->bucket[hash & d->mask];
    e->hnext = *p;
    *p = e;
    e->dir = dir;
    e->node = node;
    e->cookie = d->next_cookie++;
    e->hash = hash;
    e->len = (uint8_t)len;
    memcpy(e->name, name, len);
    d->count++;
    count_dir_entry(e);
    vn_times_now(&dir->vn, VA_MTIME);
    return 0;
}

/*
 * Removes the entry at *p from its directory and frees it.  The caller takes over the entry's reference to the file.
 */
static struct tnode *tdir_remove_entry(struct tdirent **p)
{
    struct tdirent *e = *p;
    struct tnode *node = e->node, *dir = e->dir;

    *p = e->hnext;
    radix_remove(&dir->dir.order, e->cookie);
    dir->dir.count--;
    uncount_dir_entry(e);
    kmem_free(e);
    vn_times_now(&dir->vn, VA_MTIME);
    return node;
}

void tdir_clear(struct tnode *dir)
{
    for (unsigned i = 0; i <= dir->dir.mask; i++)
        while (dir->dir.bucket[i] != NULL)
            tdir_remove_entry(&dir->dir.bucket[i]);
}

/*
 * Reduces the link count after a name was removed.  A removed directory gets nlink 0.  If the file
 * has other names, also reduces the mount's count of nodes.
 */
static void drop_node_link(struct tnode *n)
{
    struct tmount *tm = tmount_of(&n->vn);

    spin_lock(&tm->lock);
    n->vn.nlink = n->vn.type == VDIR ? 0 : n->vn.nlink - 1;
    if (n->vn.nlink != 0)
        tm->nnodes--;
    spin_unlock(&tm->lock);
    vn_times_now(&n->vn, 0);
}

int tmpfs_link(struct vnode *dir, const char *name, size_t len, struct vnode *target)
{
    struct tnode *n = tnode_of(target);
    struct tmount *tm = tmount_of(target);
    int err = 0;

    spin_lock(&tm->lock);
    if (target->nlink == 0)
        err = -ENOENT; /* the file was unlinked meanwhile */
    else if (!tmount_node_fits(tm))
        err = -ENOSPC;
    else
        target->nlink++, tm->nnodes++;
    spin_unlock(&tm->lock);
    if (err != 0)
        return err;
    vn_hold(target);
    err = tdir_add(tnode_of(dir), name, len, n);
    if (err != 0) {
        drop_node_link(n);
        vn_release(target);
        return err;
    }
    vn_times_now(target, 0);
    return 0;
}

int tmpfs_unlink(struct vnode *dir, const char *name, size_t len, struct vnode *victim)
{
    struct tdirent **p = tdir_find_slot(&tnode_of(dir)->dir, name, len, name_hash(name, len));

    if (victim->type == VDIR && tnode_of(victim)->dir.count != 0)
        return -ENOTEMPTY;
    ASSERT(*p != NULL && &(*p)->node->vn == victim, "I2");
    drop_node_link(tdir_remove_entry(p));
    vn_release(victim); /* the reference of the entry; the caller has its own reference */
    return 0;
}

/*
 * Makes entry `e` name `moved`, and takes over the caller's reference to `moved`.  Drops the reference to the file that
 * the entry named before.
 */
static void replace_entry_node(struct tdirent *e, struct tnode *moved)
{
    struct tnode *old = e->node;

    uncount_dir_entry(e);
    e->node = moved;
    count_dir_entry(e);
    drop_node_link(old);
    vn_release(&old->vn);
    vn_times_now(&e->dir->vn, VA_MTIME);
}

int tmpfs_rename(struct vnode *odir, const char *oname, size_t olen, struct vnode *ndir,
                 const char *nname, size_t nlen, struct vnode *moved, struct vnode *replaced)
{
    struct tdir *od = &tnode_of(odir)->dir, *nd = &tnode_of(ndir)->dir;
    struct tdirent **p;
    int err = 0;

    if (replaced != NULL && replaced->type == VDIR && tnode_of(replaced)->dir.count != 0)
        return -ENOTEMPTY;
    if (replaced == NULL)
        err = tdir_add(tnode_of(ndir), nname, nlen, tnode_of(moved));
    else
        replace_entry_node(*tdir_find_slot(nd, nname, nlen, name_hash(nname, nlen)),
                           tnode_of(moved));
    if (err != 0)
        return err;
    /*
     * The new entry has taken over the old entry's reference, so the reference is not dropped with
     * the old entry.
     */
    p = tdir_find_slot(od, oname, olen, name_hash(oname, olen));
    ASSERT(*p != NULL && &(*p)->node->vn == moved, "I2");
    tdir_remove_entry(p);
    vn_times_now(moved, 0);
    return 0;
}

int tmpfs_parent(struct vnode *vn, struct vnode **parent, char *buf, size_t size)
{
    struct tmount *tm = tmount_of(vn);
    int n = -ENOENT;

    spin_lock(&tm->lock);
    struct tdirent *e = tnode_of(vn)->entry;

    if (e != NULL) {
        n = e->len;
        if (size != 0 && (size_t)n > size)
            n = -ENAMETOOLONG;
        else if (size != 0)
            memcpy(buf, e->name, e->len);
    }
    if (n >= 0 && parent != NULL) {
        *parent = &e->dir->vn;
        vn_hold(*parent);
    }
    spin_unlock(&tm->lock);
    return n;
}

/*
 * Passes the entries from cookie `next` on to fn, until it returns non-zero.  The lock is held for reading, so this
 * function does not use the hint of the tree.
 */
static void list_entries(struct tdir *d, uint64_t next, dirent_fn fn, void *arg)
{
    struct radix_node *leaf;
    struct tdirent *e;

    while ((leaf = radix_next_leaf(&d->order, next)) != NULL) {
        unsigned first = leaf->prefix == next / RADIX_SLOTS ? (unsigned)(next % RADIX_SLOTS) : 0;

        for (uint64_t bits = leaf->present & ~0ull << first; bits != 0; bits &= bits - 1) {
            e = leaf->slot[__builtin_ctzll(bits)];
            if (fn(arg, e->name, e->len, e->node->vn.ino, (enum vtype)e->node->vn.type,
                   e->cookie) != 0)
                return;
        }
        next = (leaf->prefix + 1) * RADIX_SLOTS;
    }
}

int tmpfs_readdir(struct vnode *dir, uint64_t off, dirent_fn fn, void *arg)
{
    struct vnode *up;

    if (off < COOKIE_DOT && fn(arg, ".", 1, dir->ino, VDIR, COOKIE_DOT) != 0)
        return 0;
    if (off < COOKIE_DOTDOT) {
        uint64_t ino = dir->ino;

        if (tmpfs_parent(dir, &up, NULL, 0) >= 0) {
            ino = up->ino;
            vn_release(up);
        }
        if (fn(arg, "..", 2, ino, VDIR, COOKIE_DOTDOT) != 0)
            return 0;
    }
    list_entries(&tnode_of(dir)->dir, max_of(off + 1, (uint64_t)COOKIE_FIRST), fn, arg);
    return 0;
}
