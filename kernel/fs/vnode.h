// SPDX-License-Identifier: MIT
/*
 * vnode.h - files as the rest of the kernel sees them.
 *
 * THEORY      A vnode is one file of one file system; its operations are the file system's.  File data has one copy:
 *             the pages of the vnode's vm_object.  A file system that stores pages fills in getpage and putpage; for
 *             it, vn_rdwr_pages() does read and write.  Names are looked up directory by directory (name.c).
 * LOCKING     vn->lock (sleeping rwlock): write for changes of size, data and directory entries; read for reading
 *             them.  Directory before child; two directories in order of address (rename holds the file system's
 *             rename mutex first).
 * INVARIANTS  I1  a vnode in use has refs > 0; the last vn_release() calls op->inactive
 */
#ifndef FS_VNODE_H
#define FS_VNODE_H

#include "disp/sync.h"
#include "lib/list.h"
#include "lib/types.h"
#include "vm/object.h"
#include "x86/uaccess.h"

enum vtype { VREG = 1, VDIR, VLNK, VCHR, VBLK, VFIFO, VSOCK };

struct vnode;
struct vfs;
struct file;

/* Who asks: the credentials of a process (real from the start). */
#define NGROUPS_MAX 32
struct cred {
    _Atomic uint32_t refs;
    uint32_t uid, euid, suid, fsuid;
    uint32_t gid, egid, sgid, fsgid;
    uint32_t ngroups;
    uint32_t groups[NGROUPS_MAX];
};

/* Linux's time64 pair. */
struct ktime {
    int64_t sec;
    int64_t nsec;
};

struct vattr {
    enum vtype   type;
    uint32_t     mode; /* permission bits and set-id bits, 07777 */
    uint32_t     nlink, uid, gid;
    uint64_t     ino, size, blocks; /* blocks of 512 bytes */
    uint64_t     dev, rdev;
    uint32_t     blksize;
    struct ktime atime, mtime, ctime;
};
enum { VA_MODE = 1, VA_UID = 2, VA_GID = 4, VA_SIZE = 8, VA_ATIME = 16, VA_MTIME = 32, VA_ATIME_NOW = 64, VA_MTIME_NOW = 128 };

/* readdir: one call per entry; returns non-zero to stop (the entry was not taken). */
typedef int (*dirent_fn)(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type, uint64_t next_off);

/*
 * Operations.  Locks named [R]/[W] are vn->lock held by the caller for reading/writing; a NULL operation gives the error
 * in brackets.  Names are (pointer, length), no NUL, never "." or "..", at most 255 bytes.
 */
struct vnodeops {
    /* [R on dir] 0 and *out held; -ENOENT */
    int (*lookup)(struct vnode *dir, const char *name, size_t len, struct vnode **out);
    /* [W on dir] make a file of any type (rdev for devices, target for links); *out held.  -EEXIST -ENOSPC -ENOMEM [-EPERM] */
    int (*create)(struct vnode *dir, const char *name, size_t len, enum vtype type, uint32_t mode, const struct cred *cr,
                  uint64_t rdev, const char *target, struct vnode **out);
    int (*link)(struct vnode *dir, const char *name, size_t len, struct vnode *target);   /* [W on dir] */
    int (*unlink)(struct vnode *dir, const char *name, size_t len, struct vnode *victim); /* [W on dir, W on victim] also rmdir: -ENOTEMPTY */
    int (*rename)(struct vnode *odir, const char *oname, size_t olen, struct vnode *ndir, const char *nname, size_t nlen,
                  struct vnode *moved, struct vnode *replaced); /* [W on both dirs and on replaced] */
    int (*readdir)(struct vnode *dir, uint64_t off, dirent_fn fn, void *arg); /* [R]; "." and ".." included */
    int (*readlink)(struct vnode *vn, char *buf, size_t size);                /* length or error */
    void (*getattr)(struct vnode *vn, struct vattr *va);
    int (*setattr)(struct vnode *vn, unsigned mask, const struct vattr *va);  /* [W]; checks done by the caller */
    /* Data; regular files of page-based file systems leave read and write NULL. */
    long (*read)(struct vnode *vn, struct uio *uio, loff_t off, int oflags);
    long (*write)(struct vnode *vn, struct uio *uio, loff_t off, int oflags);
    int (*open)(struct vnode *vn, int oflags, struct file *f); /* devices, FIFOs: may change f->ops, f->data */
    int (*fsync)(struct vnode *vn, bool data_only);
    void (*inactive)(struct vnode *vn); /* last reference gone: free or cache it */
};

struct vnode {
    _Atomic uint32_t       refs;
    uint8_t                type;    /* [c] enum vtype                               */
    bool                   text;    /* [a] has been executed or mapped for execution */
    _Atomic int32_t        writers; /* [a] > 0: open for writing; < 0: being executed (ETXTBSY) */
    struct rwlock          lock;
    const struct vnodeops *op;      /* [c]                                          */
    struct vfs            *vfs;     /* [c]                                          */
    struct vfs            *mounted; /* [a] file system mounted here, or NULL        */
    struct vm_object       obj;     /* pages, for VREG                              */
    void                  *data;    /* [c] the file system's own                    */
    uint64_t               rdev;    /* [c] VCHR, VBLK                               */
};

struct vfs_ops {
    void (*statfs)(struct vfs *vfs, uint64_t *blocks, uint64_t *bfree, uint64_t *files, uint64_t *ffree);
    int (*sync)(struct vfs *vfs);
    int (*unmount)(struct vfs *vfs); /* -EBUSY */
};

struct vfs {
    struct vnode         *root;
    struct vnode         *covered; /* directory it is mounted on; NULL for the root file system */
    const struct vfs_ops *op;
    const char           *type;    /* "tmpfs" */
    char                  source[32];
    uint64_t              dev;     /* st_dev */
    bool                  readonly;
    uint32_t              magic;   /* statfs f_type */
    struct mutex          rename_lock;
    struct list           link;    /* list of mounts */
    void                 *data;
};

/* vn_init - set up a vnode that a file system has allocated: one reference, its lock, its object. */
void vn_init(struct vnode *vn, struct vfs *vfs, enum vtype type, const struct vnodeops *op, const struct pager_ops *pager);
static inline void vn_hold(struct vnode *vn)
{
    atomic_fetch_add_explicit(&vn->refs, 1, memory_order_relaxed);
}
void vn_release(struct vnode *vn);

/* vn_access - 0 if `cr` may do `mask` (4 read, 2 write, 1 execute/search) to vn, else -EACCES (or -EROFS). */
int vn_access(struct vnode *vn, unsigned mask, const struct cred *cr);
/* vn_getattr - op->getattr and the parts that every file system has in common. */
void vn_getattr(struct vnode *vn, struct vattr *va);

/* The place that path names start from: a process's root and working directories. */
struct fs_ctx {
    struct vnode      *root, *cwd;
    const struct cred *cred;
};
enum { NAME_FOLLOW = 1, NAME_DIR = 2 /* must be a directory */ };
/*
 * name_lookup - walk `path` from `at` (NULL: the working directory) to a vnode, held in *out.
 * name_parent - stop before the last component: *dir held, *last points into path, *len its length (a trailing slash sets *slash).
 * -ENOENT -ENOTDIR -EACCES -ELOOP (40 links) -ENAMETOOLONG.
 */
int name_lookup(const struct fs_ctx *ctx, struct vnode *at, const char *path, unsigned flags, struct vnode **out);
int name_parent(const struct fs_ctx *ctx, struct vnode *at, const char *path, struct vnode **dir, const char **last,
                size_t *len, bool *slash);
/* name_of - absolute path of a directory or file as seen from ctx->root (getcwd, /proc/self/fd).  Length or error. */
int name_of(const struct fs_ctx *ctx, struct vnode *vn, char *buf, size_t size);

/* Reading and writing a whole vnode by the kernel itself (exec, mount).  Bytes moved or an error. */
long vn_read_kernel(struct vnode *vn, void *buf, size_t n, loff_t off);
long vn_write_kernel(struct vnode *vn, const void *buf, size_t n, loff_t off);

/*
 * vfs_mount - mount a file system on a directory; type "tmpfs", "proc", "sysfs", "devtmpfs".  -ENODEV -EBUSY -ENOTDIR -ENOMEM.
 * vfs_register_type - called by each file system at start.
 */
struct vfs_type {
    const char  *name;
    int (*mount)(const char *source, const char *options, struct vfs **out);
    struct list  link;
};
void vfs_register_type(struct vfs_type *t);
int  vfs_mount(struct vnode *dir, const char *type, const char *source, const char *options, unsigned flags);
int  vfs_unmount(struct vnode *root, unsigned flags);
/* vfs_root_init - mount tmpfs as root and unpack the initramfs and the overlay into it, then /dev, /proc, /sys. */
int vfs_root_init(const void *initramfs, size_t len, const void *overlay, size_t overlay_len);
extern struct vnode *vfs_root; /* [c] after vfs_root_init(): root of the root file system */

#endif
