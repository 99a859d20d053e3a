// SPDX-License-Identifier: MIT
/*
 * tmpfs.h - the nodes of memory file systems; used by tmpfs.c, tmpfs_dir.c and devfs.c.
 */
#ifndef FS_TMPFS_TMPFS_H
#define FS_TMPFS_TMPFS_H

#include "vfs/vnode.h"

struct file;
struct tnode;

#define TDIR_INLINE 4 /* hash buckets of a new directory */

/*
 * An entry of a directory.  Only the field hnext can change, and node, by a rename to an existing name.
 */
struct tdirent {
    struct tdirent *hnext; /* next on the hash chain                 */
    struct tnode *dir;     /* the directory that contains this entry */
    struct tnode *node;    /* the file that the entry names; the entry has a reference to it */
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
    struct radix order;                 /* entries by cookie */
    struct tdirent *first[TDIR_INLINE]; /* buckets of a small directory */
};

/* Lock key: [m] tmount.lock  [d] vn.lock  [c] constant  [a] atomic */
struct tnode {
    /*
     * Must be the first field, because tnode_of() converts a vnode pointer to a tnode pointer.
     * vn.nlink is [m].
     */
    struct vnode vn;
    struct list all; /* [m] tmount.nodes                                          */
    /* [m] an entry that names the file, for finding its parent; NULL: none is known */
    struct tdirent *entry;
    unsigned nentries; /* [m] number of entries that name the file */
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
    /* [m] number of nodes, plus their names beyond the first; its limit */
    uint64_t nnodes, max_nodes;
    uint64_t next_ino;      /* [m] */
    _Atomic uint64_t pages; /* [a] pages in use by file data */
    uint64_t max_pages;     /* [a] remount may change it */
    bool reserve; /* [c] the last 1/16 of max_nodes and of max_pages is reserved for root */
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

/*
 * tnode_create - a node without a directory entry, with one reference.  NULL: no memory, or no node is left.
 */
struct tnode *tnode_create(struct vfs *vfs, enum vtype type, uint32_t mode, uint32_t uid,
                           uint32_t gid);
/* tmount_node_fits - whether the calling thread can make one more node or further name.  The caller holds tm->lock. */
bool tmount_node_fits(const struct tmount *tm);

/* Directories (tmpfs_dir.c); locks as for the vnode operations of the same names. */
void tdir_init(struct tdir *d);
void tdir_destroy(struct tdir *d);
/* tdir_clear - remove all entries without dropping their references to files (unmount). */
void tdir_clear(struct tnode *dir);
/*
 * tdir_add - make an entry for `node`; it takes over the caller's reference.  0, -EEXIST, -ENOMEM, -ENOENT:
 * `dir` was removed.
 */
int tdir_add(struct tnode *dir, const char *name, size_t len, struct tnode *node);
int tmpfs_lookup(struct vnode *dir, const char *name, size_t len, struct vnode **out);
int tmpfs_link(struct vnode *dir, const char *name, size_t len, struct vnode *target);
int tmpfs_unlink(struct vnode *dir, const char *name, size_t len, struct vnode *victim);
int tmpfs_rename(struct vnode *odir, const char *oname, size_t olen, struct vnode *ndir,
                 const char *nname, size_t nlen, struct vnode *moved, struct vnode *replaced);
int tmpfs_readdir(struct vnode *dir, uint64_t off, dirent_fn fn, void *arg);
int tmpfs_parent(struct vnode *vn, struct vnode **parent, char *buf, size_t size);

/* tmpfs_mount - make a new instance; options "size=BYTES[k|m|g],mode=OCTAL".  0, -EINVAL, -ENOMEM. */
int tmpfs_mount(const char *source, const char *options, unsigned flags, struct vfs **out);
/*
 * tmpfs_unlimit - remove the limits of the root file system, before it is filled at boot.
 * tmpfs_limit - set the limits afterwards.  The limit of pages is the larger of two values: tmpfs_max_percent of
 *               memory; and the pages in use plus the smaller of tmpfs_max_percent and 1/16 of memory.  The limit
 *               of nodes is computed in the same way.
 * tmpfs_reserve_for_root - reserve the last 1/16 of both limits for root.
 * All run before there are processes, and take no locks.
 */
void tmpfs_unlimit(struct vfs *vfs);
void tmpfs_limit(struct vfs *vfs);
void tmpfs_reserve_for_root(struct vfs *vfs);
void tmpfs_init(void);
/*
 * memfd_create - a new open file in memory that has no name; `name` is only shown.  0; -ENOMEM, also when the files of
 * this kind are too many; -ENFILE.
 * memfd_init - at boot, after fs_init().
 */
int memfd_create(const char *name, struct file **out);
void memfd_init(void);
void devfs_init(void);
void devmem_init(void);

#endif
