// SPDX-License-Identifier: MIT
/*
 * tmpfs.h - the nodes of memory file systems, for the files that implement them (tmpfs.c, tmpfs_dir.c, devfs.c).
 */
#ifndef FS_TMPFS_TMPFS_H
#define FS_TMPFS_TMPFS_H

#include "vfs/vnode.h"

struct tnode;

#define TDIR_INLINE 4 /* hash buckets of a directory that has just been made */

/* An entry of a directory.  All but `order` and `hnext` is constant, except `node` (rename onto a name that exists). */
struct tdirent {
    struct list order;     /* tdir.order, cookies ascending          */
    struct tdirent *hnext; /* next in the hash bucket                */
    struct tnode *dir;     /* the directory it is in                 */
    struct tnode *node;    /* the file it names; holds a reference   */
    uint64_t cookie;       /* readdir position after this entry      */
    uint32_t hash;
    uint8_t len;
    char name[];
};

/* Guarded by the directory's vnode lock. */
struct tdir {
    struct tdirent **bucket;
    uint32_t mask;  /* buckets - 1 */
    uint32_t count; /* entries     */
    uint64_t next_cookie;
    struct list order;
    struct tdirent *first[TDIR_INLINE]; /* buckets of a small directory */
};

/* Lock key: [m] tmount.lock  [d] vn.lock  [c] constant  [a] atomic */
struct tnode {
    struct vnode vn;       /* first: tnode == vnode; vn.nlink is [m]                    */
    struct list all;       /* [m] tmount.nodes                                          */
    struct tdirent *entry; /* [m] an entry that names it: the way up; NULL: none known */
    unsigned nentries;     /* [m] entries that name it                               */
    union {
        struct tdir dir;          /* [d] VDIR                                           */
        _Atomic uint64_t charged; /* [a] VREG: pages counted against the mount          */
        struct {
            char *target; /* [c] VLNK */
            size_t len;
        } link;
    };
};

/* One mounted instance: vfs->data. */
struct tmount {
    struct spinlock lock; /* RANK_VNODE */
    struct list nodes;
    uint64_t nnodes, max_nodes; /* [m] nodes, and their names beyond the first */
    uint64_t next_ino;          /* [m] */
    _Atomic uint64_t pages;     /* [a] in use by file data */
    uint64_t max_pages;         /* [a] remount may change it */
    bool reserve;               /* [c] the last of both is the superuser's */
};

static inline struct tnode *tnode_of(struct vnode *vn)
{
    return (struct tnode *)vn;
}
static inline struct tmount *tmount_of(const struct vnode *vn)
{
    return vn->vfs->data;
}

extern const struct vnodeops tmpfs_ops;

/* tnode_create - a node on no directory, one reference.  NULL: no memory, or no node left. */
struct tnode *tnode_create(struct vfs *vfs, enum vtype type, uint32_t mode, uint32_t uid,
                           uint32_t gid);
/* tmount_node_fits - may the calling thread take one more node or name?  Both cost memory, too.  tm->lock is held. */
bool tmount_node_fits(const struct tmount *tm);

/* Directories (tmpfs_dir.c); locks as for the vnode operations of the same names. */
void tdir_init(struct tdir *d);
void tdir_destroy(struct tdir *d);
/* tdir_clear - take all entries out and leave their references behind (unmount). */
void tdir_clear(struct tnode *dir);
/* tdir_add - name `node`, whose reference passes to the entry.  -EEXIST, -ENOENT (dir was removed), -ENOMEM. */
int tdir_add(struct tnode *dir, const char *name, size_t len, struct tnode *node);
int tmpfs_lookup(struct vnode *dir, const char *name, size_t len, struct vnode **out);
int tmpfs_link(struct vnode *dir, const char *name, size_t len, struct vnode *target);
int tmpfs_unlink(struct vnode *dir, const char *name, size_t len, struct vnode *victim);
int tmpfs_rename(struct vnode *odir, const char *oname, size_t olen, struct vnode *ndir,
                 const char *nname, size_t nlen, struct vnode *moved, struct vnode *replaced);
int tmpfs_readdir(struct vnode *dir, uint64_t off, dirent_fn fn, void *arg);
int tmpfs_parent(struct vnode *vn, struct vnode **parent, char *buf, size_t size);

/* tmpfs_mount - a fresh instance of any type name; options "size=BYTES[k|m|g],mode=OCTAL". */
int tmpfs_mount(const char *source, const char *options, unsigned flags, struct vfs **out);
/*
 * tmpfs_unlimit, tmpfs_limit - before and after the root file system is filled at boot: no limit but memory; then
 * tmpfs_max_percent, but as much as that, or a sixteenth of memory, more than what is there, of which a sixteenth is
 * reserved for the superuser.  Before there are processes; no locks.
 */
void tmpfs_unlimit(struct vfs *vfs);
void tmpfs_limit(struct vfs *vfs);
void tmpfs_init(void);
void devfs_init(void);
void devmem_init(void);

#endif
