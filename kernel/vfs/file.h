// SPDX-License-Identifier: MIT
/*
 * file.h - open files and descriptor tables.
 *
 * THEORY      A program names an open file by a small number, its descriptor.  The kernel keeps two things
 *             apart.  A struct file is the result of one open(2): a position, flags, and operations.  A
 *             descriptor table maps each descriptor of a process to a struct file.  After dup() or fork(),
 *             several descriptors lead to the same struct file and so share its position.  Processes made
 *             with CLONE_FILES share the whole table.
 * LOCKING     The table's lock (RANK_FD) guards the slots.  file->refs is atomic.  file->off_lock guards
 *             file->off; lseek, readdir, and reads and writes at the position of a seekable file take it.
 */
#ifndef VFS_FILE_H
#define VFS_FILE_H

#include "lib/signo.h"
#include "vfs/vnode.h"

struct file;
struct fdtable;
struct poller; /* one waiter for files: a thread in poll(), or an item of an epoll (filepriv.h) */

enum {
    O_RDONLY = 0,
    O_WRONLY = 1,
    O_RDWR = 2,
    O_ACCMODE = 3,
    O_CREAT = 0100,
    O_EXCL = 0200,
    O_NOCTTY = 0400,
    O_TRUNC = 01000,
    O_APPEND = 02000,
    O_NONBLOCK = 04000,
    O_DSYNC = 010000,
    O_ASYNC = 020000,
    O_DIRECT = 040000,
    O_LARGEFILE = 0100000,
    O_DIRECTORY = 0200000,
    O_NOFOLLOW = 0400000,
    O_NOATIME = 01000000,
    O_CLOEXEC = 02000000,
    O_SYNC = 04010000,
    O_PATH = 010000000,
};
enum {
    POLLIN = 1,
    POLLPRI = 2,
    POLLOUT = 4,
    POLLERR = 8,
    POLLHUP = 16,
    POLLNVAL = 32,
    POLLRDNORM = 64,
    POLLWRNORM = 256,
};

struct fileops {
    /*
     * Move bytes.  `off` has a meaning only for seekable files.  For a write, `off` == -1 means the
     * end of the file; in this case the function itself moves f->off.
     * Returns the number of bytes moved, or an error; -ERESTARTSYS: a signal came before the first byte.
     */
    long (*read)(struct file *f, struct uio *uio, loff_t off);
    long (*write)(struct file *f, struct uio *uio, loff_t off);
    /* The events that are ready now.  If `p` is not NULL, also register p for wake-ups (poll_register). */
    unsigned (*poll)(struct file *f, struct poller *p);
    /*
     * `arg` is the third argument of ioctl(2), unchecked; it may be an address for copy_in() and copy_out().
     */
    long (*ioctl)(struct file *f, unsigned cmd, uint64_t arg);
    /* Compute the new position, which file_seek() stores in f->off.  NULL: -ESPIPE. */
    loff_t (*seek)(struct file *f, loff_t off, int whence);
    int (*readdir)(struct file *f, dirent_fn fn, void *arg);
    void (*close)(struct file *f); /* called when the last reference is dropped */
    struct vm_object *object;      /* the pages that mmap of a device maps; NULL: not mappable */
    /* Name of a file without a vnode in /proc/PID/fd, with a colon; or its kind, "socket".  NULL: "pipe". */
    const char *kind;
    uint8_t type; /* type of a file without a vnode, enum vtype; 0: VFIFO    */
};

struct file {
    _Atomic uint32_t refs;
    _Atomic uint32_t flags; /* O_*, as fcntl(F_GETFL) returns them */
    const struct fileops *ops;
    struct vnode *vn; /* with a reference; NULL: pipe, socket or epoll */
    struct mutex off_lock;
    loff_t off;
    void *data;             /* private to `ops`                         */
    bool seekable;          /* [c] reads and writes use and move `off`  */
    bool locked;            /* [a] flock() has been called on the file  */
    _Atomic uint8_t advice; /* [a] enum read_advice: posix_fadvise      */
    struct readahead ra;    /* no lock: a race only makes read-ahead less useful */
    struct epitem *watched; /* list of the epoll items that watch the file (epoll.c) */
    struct sigio *sigio;    /* the record of F_SETOWN and O_ASYNC, or NULL (proc/sigio.c) */
    struct usermem *payer;  /* [c] account of the user that opened the file */
    _Atomic uint64_t ino;   /* [a] result of file_ino(); 0: no number was assigned yet */
    uint32_t uid, gid; /* [c] of the thread that made the file: the owner of a pipe or socket */
};

/*
 * file_alloc - a new open file with one reference; it takes over the caller's reference to `vn`.  Waits for
 * memory.  NULL: no memory, or the user's memory limit is reached; then the caller keeps the reference to `vn`.
 */
struct file *file_alloc(const struct fileops *ops, struct vnode *vn, unsigned flags);
static inline void file_hold(struct file *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
}
void file_release(struct file *f);
/*
 * file_open - open(2) without the descriptor: look-up, creation, permissions, truncation.
 * Errors: those of name_lookup(), -EEXIST -EISDIR -ENOTDIR -EACCES -EPERM -ETXTBSY -ENXIO -ELOOP -EROFS
 * -ENFILE -ENOMEM; -EINVAL, also for O_DIRECT on a file that is not a disk.
 */
int file_open(const struct fs_ctx *ctx, struct vnode *at, const char *path, int oflags,
              uint32_t mode, struct file **out);
/*
 * file_read, file_write - read or write at the file's position if off is -1, else at `off` (pread).
 * The number of bytes moved, or an error.
 */
long file_read(struct file *f, struct uio *uio, loff_t off);
long file_write(struct file *f, struct uio *uio, loff_t off);

#define FD_CLOEXEC 1
struct fdtable *fdtable_create(void);            /* NULL: no memory */
struct fdtable *fdtable_copy(struct fdtable *t); /* for fork; NULL: no memory */
void fdtable_hold(struct fdtable *t);
/* fdtable_share - the owner is about to have a second thread: from now on look-ups take the lock. */
void fdtable_share(struct fdtable *t);
void fdtable_release(struct fdtable *t); /* dropping the last reference closes all files */
/* fdtable_close_on_exec - close the descriptors marked FD_CLOEXEC. */
void fdtable_close_on_exec(struct fdtable *t);
/* fd_get - find the file of descriptor fd, and take a reference to it.  NULL: fd is not open (EBADF). */
struct file *fd_get(struct fdtable *t, int fd);
/*
 * fd_install - give `f` the lowest free descriptor >= min; the table takes over the reference.
 * fd_install_at - give `f` descriptor fd, and close the file that had this descriptor before (dup2).
 * Both return the descriptor, or an error: -EMFILE: the descriptor would be >= limit (RLIMIT_NOFILE);
 * -ENOMEM; fd_install_at() also -EBADF: fd is out of range.  After an error the caller keeps the reference.
 */
int fd_install(struct fdtable *t, struct file *f, int min, unsigned fdflags, unsigned limit);
int fd_install_at(struct fdtable *t, struct file *f, int fd, unsigned fdflags);
/* fd_full - whether fd_install() with min == 0 would fail with -EMFILE now. */
bool fd_full(struct fdtable *t, unsigned limit);
/* fd_close, fd_get_flags, fd_set_flags - -EBADF: fd is not open.  The only flag is FD_CLOEXEC. */
int fd_close(struct fdtable *t, int fd);
int fd_get_flags(struct fdtable *t, int fd);
int fd_set_flags(struct fdtable *t, int fd, unsigned fdflags);
/* fd_next - lowest open descriptor >= fd, or -1: for /proc/PID/fd and close_range. */
int fd_next(struct fdtable *t, int fd);

/*
 * file_vnode - the file's vnode, with a reference.  If the file has none, makes a new one, so that stat(2) of
 * /proc/PID/fd/N succeeds, and a pipe can be opened there.  NULL: there is no memory.
 */
struct vnode *file_vnode(struct file *f);
/* file_is_pipe - whether the file is a pipe or a FIFO. */
bool file_is_pipe(const struct file *f);
/* file_ino - the inode number of a file without a vnode; both ends of a pipe have the same number. */
uint64_t file_ino(struct file *f);
/* file_getattr - fstat: the vnode's attributes; for a file without a vnode, suitable values. */
void file_getattr(struct file *f, struct vattr *va);
/*
 * file_size_seek - fileops.seek for files with a size.  Accepts all five values of `whence`.  Returns the new
 * position, -EINVAL, -ENXIO.
 */
loff_t file_size_seek(struct file *f, loff_t off, int whence);
/* file_text_seek - fileops.seek for text that is made when it is read and has no known size: no SEEK_END. */
loff_t file_text_seek(struct file *f, loff_t off, int whence);
/*
 * file_seek - lseek(2): the new position, or -ESPIPE -EINVAL -ENXIO -EBADF.
 * file_readdir - call fn for the entries from f's position on, and move the position.  0, -ENOTDIR -EBADF.
 */
loff_t file_seek(struct file *f, loff_t off, int whence);
int file_readdir(struct file *f, dirent_fn fn, void *arg);

/*
 * Record locks (filelock.c).  A lock set by fcntl belongs to a descriptor table, a lock set by flock to an open
 * file.  It covers the bytes start .. end, both included; type F_UNLCK removes locks.
 * file_lock, file_flock - set or remove a lock.  0, -EAGAIN: another owner's lock conflicts and `wait` is
 *                         false; -ERESTARTSYS; -ENOLCK: the user has too many locks; -ENOMEM -EBADF -EINVAL;
 *                         file_lock() also -EDEADLK.
 * file_lock_test - store in *lr the first lock that conflicts with *lr, or type F_UNLCK if there is none.
 * fd_check_lock - must be called after locking f, the file of descriptor fd.  -EBADF: fd was closed meanwhile,
 *                 and t's locks on the file have been removed.
 */
enum { F_RDLCK, F_WRLCK, F_UNLCK };
struct lock_range {
    int type, pid;
    loff_t start, end;
};
int file_lock(struct file *f, struct fdtable *owner, const struct lock_range *lr, bool wait);
void file_lock_test(struct file *f, struct fdtable *owner, struct lock_range *lr);
int fd_check_lock(struct fdtable *t, int fd, struct file *f);
int file_flock(struct file *f, int type, bool wait);

/* The waiters of one file (poll.c).  A file that can become ready embeds a pollhead. */
struct pollhead {
    struct spinlock lock;
    struct list pollers;
    unsigned npollers; /* [lock] length of `pollers` */
    bool common;       /* [c] files of all users share the list, so no user may fill it: no limit */
};
void pollhead_init(struct pollhead *ph);
/*
 * poll_register - put p on the list of `ph`.  If p has no free entry, or the list is full for the caller's user, sets
 * p->nomem.  Takes ph->lock.
 */
void poll_register(struct poller *p, struct pollhead *ph);
/* poll_wake - wake all pollers of `ph`: its file may have become ready. */
void poll_wake(struct pollhead *ph);
struct pollfd {
    int32_t fd;
    int16_t events, revents;
};
/*
 * poll_files - poll(2) on kernel copies.  Returns the number of ready files; 0: timeout; -EINTR, -ENOMEM.
 * @deadline  in ns; NO_DEADLINE: wait without limit; 0: do not wait
 */
long poll_files(struct fdtable *t, struct pollfd *fds, unsigned n, uint64_t deadline);

/* A character device, found by its number (major:minor).  devtmpfs has a file for each device with a name. */
struct cdev {
    const char *name; /* "null" for /dev/null; NULL: no file in /dev */
    uint64_t rdev;    /* makedev(major, minor) */
    uint32_t mode;    /* mode of the file in /dev, such as 0666 */
    /* Sets f->data; also sets f->ops if the field `ops` is NULL.  NULL: nothing to do. */
    int (*open)(struct vnode *vn, int oflags, struct file *f);
    const struct fileops *ops;
    struct list link;
};
#define makedev(ma, mi) ((uint64_t)(ma) << 8 | (mi))
/* cdev_register - add a device, which is never removed.  Can be called at any time, also before fs_init(). */
void cdev_register(struct cdev *d);

/* ---- implemented by proc/ ---- */
/*
 * All functions are about the calling thread; a kernel thread counts as root without limits.
 * proc_cred - the thread's credentials, valid until the thread changes them.
 * proc_self_pid - its process id; 0 for a kernel thread.
 * proc_fsize_limit - RLIMIT_FSIZE in bytes.
 * proc_signal_self - send the thread a signal.  Takes the lock of its process's signals.
 */
const struct cred *proc_cred(void);
int proc_self_pid(void);
uint64_t proc_fsize_limit(void);
void proc_signal_self(int sig);

#endif
