// SPDX-License-Identifier: MIT
/*
 * vnode.h - files as the rest of the kernel sees them.
 *
 * THEORY      Programs use the same system calls on every file, but the kernel has several file systems, and
 *             each stores its files differently.  A vnode hides the difference.  It represents one file of
 *             one file system: the common part (type, size, owner, lock) is here, and a table of operations
 *             (vnodeops) leads to the code of the file system.
 *             File data has one copy: the pages of the vnode's vm_object, which read, write, mmap and exec
 *             share.  vn_read_pages() and vn_write_pages() implement read and write for every file system
 *             that keeps its data in these pages.  Names are looked up one directory
 *             after the other (name.c).
 * LOCKING     vn->lock (sleeping rwlock): a thread holds it for writing to change size, data or directory
 *             entries, and for reading to read entries.  A directory is locked before its child.  Of two
 *             directories the ancestor is locked first; unrelated directories are locked in order of address.
 *             rename takes the file system's rename mutex before both.
 *             The fields marked [W] change under vn->lock held for writing and may be read without it.
 * INVARIANTS  I1  a vnode in use has refs > 0; the last vn_release() calls op->inactive
 *             I2  in the last page, the bytes beyond the size are zero, and no page lies beyond the last
 *                 page; a thread that holds vn->lock for writing may break this rule for a moment
 */
#ifndef VFS_VNODE_H
#define VFS_VNODE_H

#include "disp/sync.h"
#include "lib/list.h"
#include "lib/types.h"
#include "pages/object.h"
#include "x86/uaccess.h"

/* VANON: an open file that is not a node of a tree and that has no type in st_mode, for example an eventfd. */
enum vtype { VREG = 1, VDIR, VLNK, VCHR, VBLK, VFIFO, VSOCK, VANON };

struct vnode;
struct vfs;
struct file;
struct pipe;
struct filelock;
struct disk;

/* The credentials of a process, against which permissions are checked. */
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
    uint64_t ino, size, blocks; /* `blocks` counts units of 512 bytes */
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

/* readdir calls this for each entry.  A result other than 0 stops readdir; the entry then counts as not read. */
typedef int (*dirent_fn)(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type,
                         uint64_t next_off);

/*
 * Operations.  [R] and [W] mean that the caller holds vn->lock for reading or for writing.  "*out held" means
 * that the caller gets a reference to *out.  If an operation is NULL, the caller fails with the error in brackets.
 * A name is a pointer and a length of at most 255 bytes, without a NUL, and is never "." or "..".
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
    /* [W on dir; W on victim if it is a directory] Also does rmdir: -ENOTEMPTY */
    int (*unlink)(struct vnode *dir, const char *name, size_t len, struct vnode *victim);
    /* [W on both directories; W on `replaced` if it is a directory]  `replaced` can be NULL. */
    int (*rename)(struct vnode *odir, const char *oname, size_t olen, struct vnode *ndir,
                  const char *nname, size_t nlen, struct vnode *moved, struct vnode *replaced);
    /* [R] Call fn for the entries after position `off`, also for "." and "..". */
    int (*readdir)(struct vnode *dir, uint64_t off, dirent_fn fn, void *arg);
    /* Store the target of a symbolic link, without a NUL.  Returns its length, or an error. */
    int (*readlink)(struct vnode *vn, char *buf, size_t size);
    /*
     * For links whose target is a file and not a name (/proc/PID/fd/N): *out is that file, held.
     * NULL: the link's text is followed as a path name.
     */
    int (*follow)(struct vnode *vn, struct vnode **out);
    /*
     * Correct the attributes in *va for which the vnode's fields are not up to date (procfs); *va already has
     * the values of the fields.  NULL: all fields are correct.
     */
    void (*getattr)(struct vnode *vn, struct vattr *va);
    /* [W] The caller has checked the permissions.  [-EPERM] */
    int (*setattr)(struct vnode *vn, unsigned mask, const struct vattr *va);
    /* Move data.  NULL for the regular files of a page-based file system. */
    long (*read)(struct vnode *vn, struct uio *uio, loff_t off, int oflags);
    long (*write)(struct vnode *vn, struct uio *uio, loff_t off, int oflags);
    /* Called for each open(2) of the vnode; may change f->ops and f->data. */
    int (*open)(struct vnode *vn, int oflags, struct file *f);
    int (*fsync)(struct vnode *vn, bool data_only);
    /*
     * The number of blocks of 512 bytes that the file occupies on the disk.  NULL: the pages of the
     * file are counted.
     */
    uint64_t (*blocks)(struct vnode *vn);
    /*
     * Find the disk sector at which page `index` of the file begins.  0, -EIO, -ENOENT: the page is a hole,
     * or its sectors are not contiguous.  NULL: the file is not on a disk.
     */
    int (*bmap)(struct vnode *vn, uint64_t index, struct disk **disk, uint64_t *sector);
    /*
     * Find the directory that `vn` is in, and store it in *parent with a reference (unless `parent` is NULL).
     * Store the name of `vn` there in buf[size] without a NUL (if size > 0).  Every directory except a file
     * system's root must know its parent, because getcwd and ".." need it.
     * Returns the length of the name, -ENAMETOOLONG, -ENOENT: `vn` never had a name, or has lost it.
     */
    int (*parent)(struct vnode *vn, struct vnode **parent, char *buf, size_t size);
    /*
     * [W] Make the file shorter: set vn->size and obj.size_pages, and free pages and blocks.
     * 0, -EIO, -EROFS, -ENOMEM.  After an error vn->size is either the old size, or the new size with some
     * blocks not freed.  NULL: the caller sets the size and frees the pages.
     */
    int (*shrink)(struct vnode *vn, uint64_t size);
    /*
     * [W] The caller is about to add `pages` pages to the file: count them.  0 or -ENOSPC.  With pages == 0:
     * set the count to the number of pages that the file has now.  NULL: no limit.
     */
    int (*reserve)(struct vnode *vn, uint64_t pages);
    /*
     * [W] A write has failed half way, after pager_ops.prepare_write.  Free the blocks beyond vn->size, and zero
     * the bytes beyond it that the last block may have received.  NULL: nothing to do.
     */
    void (*trim)(struct vnode *vn);
    /* Generic code has changed size, times, mode, owner or link count, which must be written to the disk. */
    void (*dirty_inode)(struct vnode *vn);
    /* Called when the last reference is gone: free the vnode, or keep it in a cache. */
    void (*inactive)(struct vnode *vn);
};

/*
 * Attributes that a file system may store beside the mode; no system call of this kernel sets them.
 * VN_IMMUTABLE  the file cannot be changed or removed and gets no further name, even by root.
 * VN_APPEND     data can only be added at the end of the file, even by root.
 * VN_ACL        the file has an access control list.  The kernel does not evaluate it, so only the owner and
 *               root have access.
 */
enum { VN_IMMUTABLE = 1, VN_APPEND = 2, VN_ACL = 4 };

struct vnode {
    _Atomic uint32_t refs;
    uint8_t type;            /* [c] enum vtype                               */
    uint8_t attr;            /* [c] VN_*, read from the file system          */
    bool text;               /* [a] the file has been executed or mapped for execution */
    bool holes;              /* [c] all data is in the pages (tmpfs), so an absent page is a hole */
    _Atomic int32_t writers; /* [a] > 0: open for writing; < 0: being executed (ETXTBSY) */
    struct rwlock lock;
    const struct vnodeops *op;            /* [c]                                          */
    struct vfs *vfs;                      /* [c]                                          */
    struct vfs *mounted;                  /* [a] file system mounted here, or NULL        */
    struct vm_object obj;                 /* pages, for VREG                              */
    void *data;                           /* [c] private to the file system               */
    uint64_t rdev;                        /* [c] VCHR, VBLK                               */
    struct pipe *fifo;                    /* [a] VFIFO: the pipe, while the FIFO is open  */
    struct itree locks;                   /* byte-range locks; guarded by vfs/filelock.c  */
    uint64_t ino;                         /* [c]                                          */
    uint32_t mode;                        /* [W] permission and set-id bits, 07777        */
    uint32_t uid, gid;                    /* [W]                                          */
    uint32_t nlink;                       /* guarded by a lock of the file system         */
    _Atomic uint64_t size;                /* [W] bytes                                    */
    int64_t atime_ns, mtime_ns, ctime_ns; /* ns since 1970; each set by one store, without a lock */
};

struct vfs_ops {
    void (*statfs)(struct vfs *vfs, uint64_t *blocks, uint64_t *bfree, uint64_t *files,
                   uint64_t *ffree);
    /* Write the metadata to the disk, and the dirty pages of files if `data` is set.  0 or -EIO.  Sleeps. */
    int (*sync)(struct vfs *vfs, bool data);
    /* Free everything but the struct vfs.  0 or -EBUSY: something is in use, and nothing has changed. */
    int (*unmount)(struct vfs *vfs);
    /* Called before the machine stops: write all to the disk, and change nothing afterwards. */
    void (*shutdown)(struct vfs *vfs);
    /* Apply new options and set vfs->readonly.  0 or -EBUSY [-EINVAL if there are options] */
    int (*remount)(struct vfs *vfs, const char *options, unsigned flags);
};

struct vfs {
    struct vnode *root;
    struct vnode *covered; /* the directory on which it is mounted; NULL: the root file system */
    const struct vfs_ops *op;
    const char *type; /* "tmpfs" */
    char source[32];
    uint64_t dev;      /* st_dev */
    struct disk *disk; /* [c] NULL: its files are in memory */
    unsigned id;       /* [c] number of the mount: /proc/PID/mountinfo */
    _Atomic bool readonly;
    _Atomic uint32_t writers; /* files open for writing, and writable mappings; 0 if read-only */
    _Atomic unsigned flags;   /* MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_SYNCHRONOUS, MS_NOATIME */
    uint32_t magic;           /* statfs f_type */
    struct mutex rename_lock;
    struct list link; /* list of mounts */
    bool leaving;     /* [cross_lock] an unmount is being tried: look-ups wait (vfs.c) */
    void *data;
};

/* vn_init - initialise a vnode that a file system has allocated: one reference, its lock, its object. */
void vn_init(struct vnode *vn, struct vfs *vfs, enum vtype type, const struct vnodeops *op,
             const struct pager_ops *pager);
/*
 * vn_hold - take a reference.  The caller must already have a reference, or hold a lock that keeps the vnode.
 * vn_release() is in pages/object.h.
 */
static inline void vn_hold(struct vnode *vn)
{
    atomic_fetch_add_explicit(&vn->refs, 1, memory_order_relaxed);
}

/* vn_times_now - set times to now.  VA_ATIME: atime;  VA_MTIME: mtime and ctime;  0: ctime alone. */
void vn_times_now(struct vnode *vn, unsigned mask);

/*
 * vn_get_write - count one open for writing.  0, -ETXTBSY: the file is being executed, -EROFS.
 * vn_deny_write, vn_allow_write - begin and end an execution.  -ETXTBSY: the file is open for writing.
 */
int vn_get_write(struct vnode *vn);
int vn_deny_write(struct vnode *vn);
void vn_allow_write(struct vnode *vn);

/*
 * vn_access - check that `cr` may do `mask` (4 read, 2 write, 1 execute or search): 0, -EACCES -EROFS -EPERM.
 */
int vn_access(struct vnode *vn, unsigned mask, const struct cred *cr);
/* vn_getattr - get all attributes: the vnode's fields, corrected by op->getattr. */
void vn_getattr(struct vnode *vn, struct vattr *va);
/*
 * vn_setattr - chmod, chown, truncate, utimensat: check permissions, clear set-id bits, call op->setattr.
 * @mask      VA_*
 * @writable  the call comes through a descriptor that is open for writing: VA_SIZE needs no check of the mode
 * -EPERM -EACCES -EROFS -EISDIR -EINVAL -EFBIG -ETXTBSY, or an error of op->setattr (-ENOSPC, -EIO).  Takes
 * vn->lock for writing.
 */
int vn_setattr(struct vnode *vn, unsigned mask, const struct vattr *va, const struct cred *cr,
               bool writable);
/*
 * vn_setattr_default - op->setattr for file systems that keep the attributes in the vnode's fields only.  [W]
 */
int vn_setattr_default(struct vnode *vn, unsigned mask, const struct vattr *va);
/* vn_mode_without_setid - `mode` without the set-id bits that a change of contents or owner clears. */
uint32_t vn_mode_without_setid(const struct vnode *vn, uint32_t mode);
/* cred_in_group - whether the fsgid or a supplementary group of `cr` is `gid`. */
bool cred_in_group(const struct cred *cr, uint32_t gid);
enum { FALLOC_KEEP_SIZE = 1, FALLOC_PUNCH_HOLE = 2, FALLOC_ZERO_RANGE = 16 };
/*
 * vn_fallocate - fallocate(2) on a page-based file.  The caller must call vn_changed() afterwards.
 * @mode      0 or FALLOC_ZERO_RANGE, with or without FALLOC_KEEP_SIZE; or FALLOC_PUNCH_HOLE with it
 * @off, @len >= 0, > 0
 * -EOPNOTSUPP -ENOSPC -EFBIG -ENODEV -ESPIPE -EIO; -EINTR: the process is ending.
 */
int vn_fallocate(struct vnode *vn, int mode, loff_t off, loff_t len);
/*
 * vn_readlink - get the target of a symbolic link, without a NUL.  Its length; -EINVAL: vn is no such link.
 */
int vn_readlink(struct vnode *vn, char *buf, size_t size);
/* vn_disk_name - the name of the disk that holds a file or, for a block device, that it is; "": none. */
const char *vn_disk_name(const struct vnode *vn);
/*
 * vn_changed - end a system call that has changed the file `vn`, or the entries of the directory `vn`.
 * @sync  write the change to the disk; this is always done on a file system mounted with MS_SYNCHRONOUS
 * @err   the result so far; if it is not 0, the function writes nothing and returns it
 * 0, `err`, or the error of vn_fsync().
 */
int vn_changed(struct vnode *vn, bool sync, int err);
/*
 * vn_read_pages, vn_write_pages - read and write page-based files.  Return the number of bytes moved, or
 * -EFAULT -ENOSPC -EFBIG -ENOMEM -EIO; vn_write_pages() also -EINTR: the process is ending.
 * @oflags  of the open file, for vn_note_read(), which vn_read_pages() calls
 * @off  for a write: on entry the position, or -1 for the end of the file; on return the position
 *       after the bytes
 * vn_truncate_pages - set the size, free the pages beyond it, and zero the rest of the last page.  [W]
 */
long vn_read_pages(struct vnode *vn, struct uio *uio, loff_t off, int oflags);
/*
 * vn_note_read - called for a read by an open file with `oflags`: set the access time if it is not later than the
 * last modification (Linux's relatime) and neither the mount nor O_NOATIME forbids it.
 */
void vn_update_atime(struct vnode *vn, unsigned oflags);
static inline void vn_note_read(struct vnode *vn, unsigned oflags)
{
    if (unlikely(vn->atime_ns <= vn->mtime_ns))
        vn_update_atime(vn, oflags);
}
long vn_write_pages(struct vnode *vn, struct uio *uio, loff_t *off);
int vn_truncate_pages(struct vnode *vn, uint64_t size);

/* Where path names start: a process's root and working directories, and its credentials. */
struct fs_ctx {
    struct vnode *root, *cwd;
    const struct cred *cred;
};
enum { NAME_FOLLOW = 1, NAME_DIR = 2 /* must be a directory */ };
/*
 * name_lookup - walk along `path` from `at` (NULL: the working directory); *out is the vnode, with a reference.
 * name_parent - stop before the last component.  *dir is the directory of this component, with a reference;
 *               *last points to the component in `path`, *len is its length; *slash: a slash
 *               follows the component.
 * -ENOENT -ENOTDIR -EACCES -ELOOP (more than 40 links) -ENAMETOOLONG -ENOMEM.
 */
int name_lookup(const struct fs_ctx *ctx, struct vnode *at, const char *path, unsigned flags,
                struct vnode **out);
int name_parent(const struct fs_ctx *ctx, struct vnode *at, const char *path, struct vnode **dir,
                const char **last, size_t *len, bool *slash);
/*
 * name_of - make the absolute path of a file as seen from ctx->root (getcwd, /proc/self/fd).
 * Its length, -ERANGE: buf[size] is too small, or an error of op->parent.
 */
int name_of(const struct fs_ctx *ctx, struct vnode *vn, char *buf, size_t size);

/*
 * Changes of names.  Each function checks permissions and does the whole work of one system call, except for
 * copying the arguments.  All return 0 or an error of name_parent(), -EROFS -EPERM -EEXIST -ENOSPC, or:
 * name_create   mkdir, mknod, symlink: make a file of any type.  `mode` is without the umask's bits.
 * name_link     give `target` a further name.  -EPERM: it is a directory; -EXDEV: in another file system.
 * name_unlink   with `rmdir`, remove a directory: -ENOTDIR -ENOTEMPTY -EBUSY -EINVAL; else a file of another
 *               type: -EISDIR.
 * name_rename   flags: RENAME_NOREPLACE only.  -EINVAL: a directory would move into itself; -EXDEV -ENOTEMPTY
 *               -EBUSY -ENOTDIR -EISDIR.
 */
enum { RENAME_NOREPLACE = 1 };
int name_create(const struct fs_ctx *ctx, struct vnode *at, const char *path, enum vtype type,
                uint32_t mode, uint64_t rdev, const char *target);
int name_link(const struct fs_ctx *ctx, struct vnode *target, struct vnode *at, const char *path);
int name_unlink(const struct fs_ctx *ctx, struct vnode *at, const char *path, bool rmdir);
int name_rename(const struct fs_ctx *ctx, struct vnode *oat, const char *opath, struct vnode *nat,
                const char *npath, unsigned flags);

/*
 * vn_read_kernel, vn_write_kernel - read and write with a buffer of the kernel (exec).  Bytes, or an error.
 */
long vn_read_kernel(struct vnode *vn, void *buf, size_t n, loff_t off);
long vn_write_kernel(struct vnode *vn, const void *buf, size_t n, loff_t off);

/*
 * vfs_mount - mount a file system of type `type` on a directory; with MS_REMOUNT, change the options of the
 *             mounted one.  -ENODEV: there is no such type;  -EBUSY -ENOTDIR -ENOENT -EINVAL, or an error of
 *             the type's mount().
 * vfs_register_type - each file system calls it once at boot.
 */
struct vfs_type {
    const char *name;
    /* flags: MS_* */
    int (*mount)(const char *source, const char *options, unsigned flags, struct vfs **out);
    bool disk; /* `source` must name a disk */
    struct list link;
};
void vfs_register_type(struct vfs_type *t);
/*
 * vfs_alloc - allocate a struct vfs, which the mount function fills in; its root is NULL.  NULL: no memory.
 */
struct vfs *vfs_alloc(const char *type, const struct vfs_ops *op, const char *source,
                      uint32_t magic);
void vfs_free(struct vfs *vfs);
/*
 * vfs_set_readonly - forbid or allow writing to the file system.  0, -EBUSY: it cannot become read-only,
 * because a file is open for writing.  The caller makes sure that only one remount runs at a time.
 */
int vfs_set_readonly(struct vfs *vfs, bool readonly);
/* vfs_each - call fn for each mount in order, with its path, until fn returns a value other than 0 (/proc/mounts). */
void vfs_each(int (*fn)(struct vfs *vfs, const char *path, void *arg), void *arg);
/*
 * vfs_next_type - the type after `t` (/proc/filesystems).  t == NULL: the first; returns NULL after the last.
 */
const struct vfs_type *vfs_next_type(const struct vfs_type *t);
/*
 * vfs_sync_all - sync(2).  vfs_sync_one - syncfs(2) on a file system that the caller has in use: 0 or -EIO.
 */
void vfs_sync_all(void);
int vfs_sync_one(struct vfs *vfs);
/*
 * vfs_shutdown - call vfs_sync_all(), and leave the disks in the state that an unmount would leave.
 */
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
    /* the flags that vfs->flags keeps */
    MS_KEPT = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_SYNCHRONOUS | MS_NOATIME,
};
int vfs_mount(struct vnode *dir, const char *type, const char *source, const char *options,
              unsigned flags);
/*
 * vfs_unmount - unmount the file system whose root is `root`.  If it returns 0, it has dropped the caller's
 * reference to `root`.
 * @flags  MNT_FORCE makes no difference, as on Linux for a disk.  MNT_DETACH and MNT_EXPIRE: -EINVAL.
 * -EBUSY; -EINVAL: `root` is not the root of a file system that can be unmounted.
 */
enum { MNT_FORCE = 1, UMOUNT_NOFOLLOW = 8 };
int vfs_unmount(struct vnode *root, unsigned flags);
/*
 * vfs_find_type - the type with that name, or NULL.
 * vfs_set_root - make a mounted file system the root of all names; at boot, once.
 * vfs_init - initialise this folder; at boot, after vm_init().
 */
const struct vfs_type *vfs_find_type(const char *name);
void vfs_set_root(struct vfs *vfs);
void vfs_init(void);
extern struct vnode *vfs_root; /* [c] after vfs_set_root(): root of the root file system */

#endif
