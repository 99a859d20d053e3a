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
 *             The fields marked [W] change under vn->lock held for writing and may be read without it.
 * INVARIANTS  I1  a vnode in use has refs > 0; the last vn_release() calls op->inactive
 *             I2  bytes of the last page beyond the size are zero; no page lies beyond it, save under [W]
 */
#ifndef VFS_VNODE_H
#define VFS_VNODE_H

#include "disp/sync.h"
#include "lib/list.h"
#include "lib/types.h"
#include "pages/object.h"
#include "x86/uaccess.h"

enum vtype { VREG = 1, VDIR, VLNK, VCHR, VBLK, VFIFO, VSOCK };

struct vnode;
struct vfs;
struct file;
struct pipe;
struct filelock;
struct disk;

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
    enum vtype type;
    uint32_t mode; /* permission bits and set-id bits, 07777 */
    uint32_t nlink, uid, gid;
    uint64_t ino, size, blocks; /* blocks of 512 bytes */
    uint64_t dev, rdev;
    uint32_t blksize;
    struct ktime atime, mtime, ctime;
};
enum {
    VA_MODE = 1,
    VA_UID = 2,
    VA_GID = 4,
    VA_SIZE = 8,
    VA_ATIME = 16,
    VA_MTIME = 32,
    VA_ATIME_NOW = 64,
    VA_MTIME_NOW = 128,
};

/* readdir: one call per entry; returns non-zero to stop (the entry was not taken). */
typedef int (*dirent_fn)(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type,
                         uint64_t next_off);

/*
 * Operations.  Locks named [R]/[W] are vn->lock held by the caller for reading/writing; a NULL operation gives the
 * error in brackets.  Names are (pointer, length), no NUL, never "." or "..", at most 255 bytes.
 */
struct vnodeops {
    /* [R on dir] 0 and *out held; -ENOENT */
    int (*lookup)(struct vnode *dir, const char *name, size_t len, struct vnode **out);
    /*
     * [W on dir] Make a file of any type (rdev for devices, target for links); *out held.
     * -EEXIST -ENOSPC -ENOMEM [-EPERM]
     */
    int (*create)(struct vnode *dir, const char *name, size_t len, enum vtype type, uint32_t mode,
                  const struct cred *cr, uint64_t rdev, const char *target, struct vnode **out);
    /* [W on dir] */
    int (*link)(struct vnode *dir, const char *name, size_t len, struct vnode *target);
    /* [W on dir; W on victim if a directory] also rmdir: -ENOTEMPTY */
    int (*unlink)(struct vnode *dir, const char *name, size_t len, struct vnode *victim);
    /* [W on both dirs; W on replaced, which may be NULL, if a directory] */
    int (*rename)(struct vnode *odir, const char *oname, size_t olen, struct vnode *ndir,
                  const char *nname, size_t nlen, struct vnode *moved, struct vnode *replaced);
    /* [R] entries after position `off`, "." and ".." included */
    int (*readdir)(struct vnode *dir, uint64_t off, dirent_fn fn, void *arg);
    /* Length, or an error. */
    int (*readlink)(struct vnode *vn, char *buf, size_t size);
    /* Links whose target is a file rather than a name (/proc/PID/fd/N): *out held.  NULL: the name is followed. */
    int (*follow)(struct vnode *vn, struct vnode **out);
    /*
     * Changes to *va, which holds the vnode's fields, where these do not tell the truth (procfs).
     * NULL: they do.
     */
    void (*getattr)(struct vnode *vn, struct vattr *va);
    /* [W]; checks done by the caller */
    int (*setattr)(struct vnode *vn, unsigned mask, const struct vattr *va);
    /* Data; regular files of page-based file systems leave read and write NULL. */
    long (*read)(struct vnode *vn, struct uio *uio, loff_t off, int oflags);
    long (*write)(struct vnode *vn, struct uio *uio, loff_t off, int oflags);
    int (*open)(struct vnode *vn, int oflags,
                struct file *f); /* devices, FIFOs: may change f->ops, f->data */
    int (*fsync)(struct vnode *vn, bool data_only);
    uint64_t (*blocks)(struct vnode *vn); /* of 512 bytes, on the disk; NULL: what its pages take */
    /* Where page `index` of the file lies, all of it in a row.  0 -ENOENT (a hole, or not so) -EIO.  NULL: nowhere */
    int (*bmap)(struct vnode *vn, uint64_t index, struct disk **disk, uint64_t *sector);
    /*
     * The way up: *parent (if not NULL) gets the directory that `vn` is in, held; buf[size] (if size > 0) its name
     * there, without a NUL.  Every directory but a file system's root must know its parent (getcwd, "..").
     * Length of the name, -ENOENT when it has none (any more), -ENAMETOOLONG.
     */
    int (*parent)(struct vnode *vn, struct vnode **parent, char *buf, size_t size);
    /*
     * [W] Make the file shorter: vn->size and obj.size_pages, its pages, its blocks.  -EIO -EROFS -ENOMEM: vn->size is
     * the old one, or the new one and not all blocks are free.  NULL: there is nothing but the size and the pages.
     */
    int (*shrink)(struct vnode *vn, uint64_t size);
    /*
     * [W] About to add `pages` pages at the end of the file: 0 or -ENOSPC; 0 pages: count again what there are.
     * NULL: no limit.
     */
    int (*reserve)(struct vnode *vn, uint64_t pages);
    /*
     * [W] Bytes off .. off+len-1, of one page, which holds them already: give them blocks.  Whoever orders data before
     * metadata marks the page (object_dirty_range) before the change of metadata can be committed; the caller does so
     * when this returns.
     * len 0: after a write that failed half way, give back the blocks beyond vn->size; bytes beyond it that the last
     * block may have got are zeros again.
     * 0 -ENOSPC -EIO -EROFS -ENOMEM.  NULL: nothing to do.
     */
    int (*prepare_write)(struct vnode *vn, uint64_t off, uint64_t len);
    /* The vnode's size, times, mode, owner or link count were changed by generic code: they are to reach the disk. */
    void (*dirty_inode)(struct vnode *vn);
    void (*inactive)(struct vnode *vn); /* last reference gone: free or cache it */
};

/*
 * What a file system may know of a file beside its mode.
 * VN_IMMUTABLE  nothing of it changes and it gets no further name;  VN_APPEND  it is only written at its end: both bind
 *               root, too, and neither can be set here;  VN_ACL  it has an access control list, which is not evaluated:
 *               only the owner and root have access.
 */
enum { VN_IMMUTABLE = 1, VN_APPEND = 2, VN_ACL = 4 };

struct vnode {
    _Atomic uint32_t refs;
    uint8_t type;            /* [c] enum vtype                               */
    uint8_t attr;            /* [c] VN_*, which the file system knows        */
    bool text;               /* [a] has been executed or mapped for execution */
    bool holes;              /* [c] an absent page is a hole: all data is in the pages (tmpfs) */
    _Atomic int32_t writers; /* [a] > 0: open for writing; < 0: being executed (ETXTBSY) */
    struct rwlock lock;
    const struct vnodeops *op;            /* [c]                                          */
    struct vfs *vfs;                      /* [c]                                          */
    struct vfs *mounted;                  /* [a] file system mounted here, or NULL        */
    struct vm_object obj;                 /* pages, for VREG                              */
    void *data;                           /* [c] the file system's own                    */
    uint64_t rdev;                        /* [c] VCHR, VBLK                               */
    struct pipe *fifo;                    /* [a] VFIFO: the pipe, while it is open        */
    _Atomic(struct filelock *) locks;     /* [a] byte-range locks (vfs/filelock.c), or NULL  */
    uint64_t ino;                         /* [c]                                          */
    uint32_t mode;                        /* [W] permission and set-id bits, 07777        */
    uint32_t uid, gid;                    /* [W]                                          */
    uint32_t nlink;                       /* the file system's lock                       */
    _Atomic uint64_t size;                /* [W] bytes                                    */
    int64_t atime_ns, mtime_ns, ctime_ns; /* single stores, any time; ns since 1970 */
};

struct vfs_ops {
    void (*statfs)(struct vfs *vfs, uint64_t *blocks, uint64_t *bfree, uint64_t *files,
                   uint64_t *ffree);
    int (*sync)(struct vfs *vfs,
                bool data); /* on the disk: metadata, and files' pages if `data`.  -EIO.  Sleeps */
    int (*unmount)(struct vfs *vfs); /* -EBUSY */
    void (*shutdown)(
        struct vfs
            *vfs); /* the machine is about to end: all on the disk, nothing changes any more */
    int (*remount)(struct vfs *vfs, const char *options,
                   unsigned flags); /* sets vfs->readonly; -EBUSY [-EINVAL] */
};

struct vfs {
    struct vnode *root;
    struct vnode *covered; /* directory it is mounted on; NULL for the root file system */
    const struct vfs_ops *op;
    const char *type; /* "tmpfs" */
    char source[32];
    uint64_t dev; /* st_dev */
    _Atomic bool readonly;
    _Atomic uint32_t writers; /* openings for writing, and mappings: none while it is read-only */
    _Atomic unsigned flags;   /* MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_SYNCHRONOUS, MS_NOATIME */
    uint32_t magic;           /* statfs f_type */
    struct mutex rename_lock;
    struct list link; /* list of mounts */
    bool leaving;     /* being unmounted, which may fail: look-ups wait (vfs.c: cross_lock) */
    void *data;
};

/* vn_init - set up a vnode that a file system has allocated: one reference, its lock, its object. */
void vn_init(struct vnode *vn, struct vfs *vfs, enum vtype type, const struct vnodeops *op,
             const struct pager_ops *pager);
static inline void vn_hold(struct vnode *vn)
{
    atomic_fetch_add_explicit(&vn->refs, 1, memory_order_relaxed);
}
void vn_release(struct vnode *vn);

/* vn_times_now - set the times in `mask` (VA_MTIME: also ctime; VA_ATIME; 0: ctime alone) to now. */
void vn_times_now(struct vnode *vn, unsigned mask);

/*
 * vn_get_write - count an opening for writing; -ETXTBSY while the file is executed, -EROFS.
 * vn_count_write - n more (or fewer) openings and shared mappings of a file that may be written and is open for it.
 * vn_deny_write, vn_allow_write - exec's side: -ETXTBSY while it is open for writing.
 */
int vn_get_write(struct vnode *vn);
void vn_count_write(struct vnode *vn, int n);
int vn_deny_write(struct vnode *vn);
void vn_allow_write(struct vnode *vn);

/* vn_access - 0 if `cr` may do `mask` (4 read, 2 write, 1 execute/search) to vn, else -EACCES -EROFS -EPERM. */
int vn_access(struct vnode *vn, unsigned mask, const struct cred *cr);
/* vn_getattr - all attributes: the vnode's fields and what op->getattr changes in them. */
void vn_getattr(struct vnode *vn, struct vattr *va);
/*
 * vn_setattr - chmod, chown, truncate, utimensat: checks what `cr` may do, clears set-id bits, calls op->setattr.
 * @mask  VA_*.  `writable`: VA_SIZE through a descriptor open for writing, so without a check of the mode.
 * -EPERM -EACCES -EROFS -EISDIR -EINVAL -EFBIG -ETXTBSY -ENOSPC.  Takes vn->lock for writing.
 */
int vn_setattr(struct vnode *vn, unsigned mask, const struct vattr *va, const struct cred *cr,
               bool writable);
/* vn_setattr_default - op->setattr of file systems whose attributes are the vnode's fields: stores them.  [W] */
int vn_setattr_default(struct vnode *vn, unsigned mask, const struct vattr *va);
/* vn_mode_without_setid - `mode` without the set-id bits that a change of contents or owner takes away. */
uint32_t vn_mode_without_setid(const struct vnode *vn, uint32_t mode);
/* cred_in_group - does `cr` belong to the group, by its fsgid or a supplementary one? */
bool cred_in_group(const struct cred *cr, uint32_t gid);
enum { FALLOC_KEEP_SIZE = 1, FALLOC_PUNCH_HOLE = 2, FALLOC_ZERO_RANGE = 16 };
/*
 * vn_fallocate - fallocate(2) on a page-based file; vn_changed() is the caller's.  -EOPNOTSUPP -EINVAL -ENOSPC -EFBIG
 * -ENODEV.
 */
int vn_fallocate(struct vnode *vn, int mode, loff_t off, loff_t len);
/* vn_readlink - target of a symbolic link, without a NUL.  Length, -EINVAL if it is not one. */
int vn_readlink(struct vnode *vn, char *buf, size_t size);
/* vn_fsync - 0 or -EIO. */
int vn_fsync(struct vnode *vn, bool data_only);
/*
 * vn_changed - ends a system call that has changed `vn`, a directory's names included, with the result `err`: on a file
 * system mounted with MS_SYNCHRONOUS, or with `sync`, the change is on the disk when it returns 0.  `err` or -EIO.
 */
int vn_changed(struct vnode *vn, bool sync, int err);
/*
 * vn_read_pages, vn_write_pages - read and write of page-based files.  Bytes or -EFAULT -ENOSPC -EFBIG -ENOMEM -EIO.
 * @off  write: in and out, the position after the bytes; -1: at the end of the file.
 * vn_truncate_pages - set the size: pages beyond it go, the rest of the last one is zeroed.  [W]
 */
long vn_read_pages(struct vnode *vn, struct uio *uio, loff_t off);
/*
 * vn_wants_atime - whether reading by an open file with `oflags` changes the access time: it is not later than the
 * last change (Linux's relatime), and neither the mount nor O_NOATIME says no.  vn_note_read - then change it.
 */
bool vn_wants_atime(const struct vnode *vn, unsigned oflags);
void vn_note_read(struct vnode *vn, unsigned oflags);
long vn_write_pages(struct vnode *vn, struct uio *uio, loff_t *off);
int vn_truncate_pages(struct vnode *vn, uint64_t size);

/* The place that path names start from: a process's root and working directories. */
struct fs_ctx {
    struct vnode *root, *cwd;
    const struct cred *cred;
};
enum { NAME_FOLLOW = 1, NAME_DIR = 2 /* must be a directory */ };
/*
 * name_lookup - walk `path` from `at` (NULL: the working directory) to a vnode, held in *out.
 * name_parent - stop before the last component: *dir held, *last points into path, *len its length (a trailing slash
 *               sets *slash).
 * -ENOENT -ENOTDIR -EACCES -ELOOP (40 links) -ENAMETOOLONG.
 */
int name_lookup(const struct fs_ctx *ctx, struct vnode *at, const char *path, unsigned flags,
                struct vnode **out);
int name_parent(const struct fs_ctx *ctx, struct vnode *at, const char *path, struct vnode **dir,
                const char **last, size_t *len, bool *slash);
/* name_of - absolute path of a directory or file as seen from ctx->root (getcwd, /proc/self/fd).  Length or error. */
int name_of(const struct fs_ctx *ctx, struct vnode *vn, char *buf, size_t size);

/*
 * Changes of names, permissions and all; each is one system call's work below the copying of arguments.
 * name_create   mkdir, mknod, symlink: a file of any type (mode without the umask's bits).  -EEXIST and
 *               name_parent's errors, -EACCES -EROFS -ENOSPC -EPERM.
 * name_link     a further name for `target` (not a directory: -EPERM; other file system: -EXDEV).
 * name_unlink   rmdir: a directory (-ENOTDIR -ENOTEMPTY -EBUSY -EINVAL); else anything but one (-EISDIR).
 * name_rename   flags: RENAME_NOREPLACE only.  -EINVAL (into itself), -EXDEV, -ENOTEMPTY, -EBUSY, ...
 */
enum { RENAME_NOREPLACE = 1 };
int name_create(const struct fs_ctx *ctx, struct vnode *at, const char *path, enum vtype type,
                uint32_t mode, uint64_t rdev, const char *target);
int name_link(const struct fs_ctx *ctx, struct vnode *target, struct vnode *at, const char *path);
int name_unlink(const struct fs_ctx *ctx, struct vnode *at, const char *path, bool rmdir);
int name_rename(const struct fs_ctx *ctx, struct vnode *oat, const char *opath, struct vnode *nat,
                const char *npath, unsigned flags);

/* Reading and writing a whole vnode by the kernel itself (exec, mount).  Bytes moved or an error. */
long vn_read_kernel(struct vnode *vn, void *buf, size_t n, loff_t off);
long vn_write_kernel(struct vnode *vn, const void *buf, size_t n, loff_t off);

/*
 * vfs_mount - mount a file system on a directory; type "tmpfs", "proc", "sysfs", "devtmpfs".  -ENODEV -EBUSY
 *             -ENOTDIR -ENOMEM.
 * vfs_register_type - called by each file system at start.
 */
struct vfs_type {
    const char *name;
    int (*mount)(const char *source, const char *options, unsigned flags,
                 struct vfs **out); /* flags: MS_* */
    bool disk;                      /* source is a disk */
    struct list link;
};
void vfs_register_type(struct vfs_type *t);
/* vfs_alloc - a struct vfs for a mount function to fill in: dev is set, root is NULL.  vfs_free.  NULL: no memory. */
struct vfs *vfs_alloc(const char *type, const struct vfs_ops *op, const char *source,
                      uint32_t magic);
void vfs_free(struct vfs *vfs);
/*
 * vfs_set_readonly - from now on nothing is opened for writing, or it may be again.  -EBUSY: something is open so, and
 * nothing changes.  The caller lets one remount happen at a time.
 */
int vfs_set_readonly(struct vfs *vfs, bool readonly);
/* vfs_each - call fn for each mount in order, with its path, until it returns non-zero (/proc/mounts). */
void vfs_each(int (*fn)(struct vfs *vfs, const char *path, void *arg), void *arg);
/* vfs_next_type - names of the types in turn (/proc/filesystems); NULL gives the first, NULL after the last. */
const struct vfs_type *vfs_next_type(const struct vfs_type *t);
/* vfs_sync_all - sync(2).  vfs_sync_one - syncfs(2), of a file system that is in use: 0 or -EIO. */
void vfs_sync_all(void);
int vfs_sync_one(struct vfs *vfs);
/* vfs_shutdown - the same, and disks are left as if they had been unmounted. */
void vfs_shutdown(void);
enum {
    MS_RDONLY = 1,
    MS_NOSUID = 2,
    MS_NODEV = 4,
    MS_NOEXEC = 8,
    MS_SYNCHRONOUS = 16,
    MS_REMOUNT = 32,
    MS_NOATIME = 1024,
    MS_NODIRATIME = 2048,
    MS_SILENT = 32768,
    MS_RELATIME = 1 << 21,
    MS_STRICTATIME = 1 << 24,
    MS_KEPT =
        MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_SYNCHRONOUS | MS_NOATIME, /* what a mount remembers */
};
int vfs_mount(struct vnode *dir, const char *type, const char *source, const char *options,
              unsigned flags);
/*
 * vfs_unmount - the file system whose root this is; if that goes well the caller's reference is gone.
 * @flags  MNT_FORCE makes no difference, as on Linux for a disk.  -EBUSY; -EINVAL: also for MNT_DETACH and MNT_EXPIRE.
 */
enum { MNT_FORCE = 1, UMOUNT_NOFOLLOW = 8 };
int vfs_unmount(struct vnode *root, unsigned flags);
/* vfs_root_init - mount tmpfs as root and unpack the initramfs and the overlay into it, then /dev, /proc, /sys. */
int vfs_root_init(const void *initramfs, size_t len, const void *overlay, size_t overlay_len);
/* fs_init - caches and file system types; after vm_init(). */
void fs_init(void);
extern struct vnode *vfs_root; /* [c] after vfs_root_init(): root of the root file system */

#endif
