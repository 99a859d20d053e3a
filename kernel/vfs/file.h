// SPDX-License-Identifier: MIT
/*
 * file.h - open files and descriptor tables.
 *
 * THEORY      A struct file is one open(2): a position, flags, and operations.  A descriptor table maps small numbers
 *             to files; processes made with CLONE_FILES share one.
 * LOCKING     table->lock (RANK_FD) guards the slots; file->refs is atomic; file->off belongs to whoever holds
 *             file->off_lock (taken by read, write and lseek of a seekable file only).
 */
#ifndef VFS_FILE_H
#define VFS_FILE_H

#include "vfs/vnode.h"

struct file;
struct fdtable;
struct poller; /* one thread in poll, select or epoll (vfs/poll.c) */

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
     * Move bytes; `off` is meaningful for seekable files only (write: -1 is append, and moves f->off itself).
     * Bytes, or an error: -ERESTARTSYS when a signal came first.
     */
    long (*read)(struct file *f, struct uio *uio, loff_t off);
    long (*write)(struct file *f, struct uio *uio, loff_t off);
    /* Ready events now; if `p` is not NULL also registers p to be woken (poll_register). */
    unsigned (*poll)(struct file *f, struct poller *p);
    /* `arg` is the raw third argument; implementations use copy_in/copy_out on it (tty and devices). */
    long (*ioctl)(struct file *f, unsigned cmd, uint64_t arg);
    loff_t (*seek)(struct file *f, loff_t off,
                   int whence); /* where to: file_seek() moves f->off; NULL: -ESPIPE */
    int (*readdir)(struct file *f, dirent_fn fn, void *arg);
    void (*close)(struct file *f); /* last reference gone */
    struct vm_object *object;      /* what mmap shows of a device; NULL: it cannot be mapped */
    const char *kind;              /* of files without a vnode: "socket"; NULL: "pipe" */
    uint8_t type;                  /* the same as enum vtype; 0: VFIFO */
};

struct file {
    _Atomic uint32_t refs;
    _Atomic uint32_t flags; /* O_* as fcntl(F_GETFL) shows them */
    const struct fileops *ops;
    struct vnode *vn; /* held; NULL for anonymous pipes and the like */
    struct mutex off_lock;
    loff_t off;
    void *data;             /* ops' own */
    bool seekable;          /* [c] reads and writes use and move `off`  */
    bool locked;            /* [a] has held a flock                     */
    _Atomic uint8_t advice; /* [a] enum read_advice: posix_fadvise      */
    struct readahead ra;    /* unlocked: a wrong guess costs a wrong read-ahead */
    struct epitem *watched; /* epoll.c: who watches it; NULL: nobody    */
    struct usermem *payer;  /* [c] the user who opened it               */
    _Atomic uint64_t ino;   /* [a] file_ino(); 0: not asked for yet     */
};

/* file_alloc - a new open file with one reference.  Waits for memory; NULL: none came, or the user has too many. */
struct file *file_alloc(const struct fileops *ops, struct vnode *vn, unsigned flags);
static inline void file_hold(struct file *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
}
void file_release(struct file *f);
/*
 * file_open - open(2) without the descriptor: lookup, create, permissions, truncate.
 * Errors: those of name_lookup, -EEXIST -EISDIR -ENOTDIR -EACCES -ETXTBSY -ENXIO -ELOOP -EROFS -ENFILE -ENOMEM, -EINVAL
 * (also for O_DIRECT, but of disks).
 */
int file_open(const struct fs_ctx *ctx, struct vnode *at, const char *path, int oflags,
              uint32_t mode, struct file **out);
/* file_read, file_write - at the file's own position (off == -1) or at `off` (pread).  Bytes or an error. */
long file_read(struct file *f, struct uio *uio, loff_t off);
long file_write(struct file *f, struct uio *uio, loff_t off);

#define FD_CLOEXEC 1
struct fdtable *fdtable_create(void);            /* NULL: no memory */
struct fdtable *fdtable_copy(struct fdtable *t); /* fork: NULL when there is no memory */
void fdtable_hold(struct fdtable *t);
/* fdtable_share - the owner is about to have a second thread: from now on look-ups take the lock. */
void fdtable_share(struct fdtable *t);
void fdtable_release(struct fdtable *t); /* the last one closes all */
void fdtable_close_on_exec(struct fdtable *t);
/* fd_get - the file behind fd with a reference; NULL: EBADF. */
struct file *fd_get(struct fdtable *t, int fd);
/*
 * fd_install - put `f` (its reference passes to the table) at the lowest free number >= min; returns it, or -EMFILE
 * when it would reach `limit` (RLIMIT_NOFILE), -ENOMEM.  fd_install_at - dup2: closes what is there.
 */
int fd_install(struct fdtable *t, struct file *f, int min, unsigned fdflags, unsigned limit);
int fd_install_at(struct fdtable *t, struct file *f, int fd, unsigned fdflags);
/* fd_full - whether fd_install() would fail with -EMFILE now. */
bool fd_full(struct fdtable *t, unsigned limit);
int fd_close(struct fdtable *t, int fd);
int fd_get_flags(struct fdtable *t, int fd);
int fd_set_flags(struct fdtable *t, int fd, unsigned fdflags);
/* fd_next - lowest open descriptor >= fd, or -1: for /proc/PID/fd and close_range. */
int fd_next(struct fdtable *t, int fd);

/* file_vnode - the file's vnode, held; for a pipe one is made, so that /proc/PID/fd/N can be opened.  NULL: none. */
struct vnode *file_vnode(struct file *f);
/* file_ino - the inode number of a file without a vnode; the ends of a pipe have the same. */
uint64_t file_ino(struct file *f);
/* file_getattr - fstat: of the vnode or, for a pipe, made up. */
void file_getattr(struct file *f, struct vattr *va);
/* file_size_seek - fileops.seek of files with a size (SEEK_SET, SEEK_CUR, SEEK_END): the new position or -EINVAL. */
loff_t file_size_seek(struct file *f, loff_t off, int whence);
/* file_text_seek - the same for text that is made when it is read, and has no size before (SEEK_SET, SEEK_CUR). */
loff_t file_text_seek(struct file *f, loff_t off, int whence);
/* file_seek - lseek(2).  file_readdir - entries from f's position on, which moves.  -ESPIPE -EINVAL -ENOTDIR -EBADF. */
loff_t file_seek(struct file *f, loff_t off, int whence);
int file_readdir(struct file *f, dirent_fn fn, void *arg);

/*
 * Record locks (filelock.c): fcntl's belong to a descriptor table, flock's to an open file.  type F_RDLCK 0, F_WRLCK 1,
 * F_UNLCK 2; bytes start .. end inclusive.
 * file_lock, file_flock: -EAGAIN (wait false), -ERESTARTSYS, -ENOLCK (the user has too many), -ENOMEM, -EBADF, -EINVAL;
 * file_lock -EDEADLK.  file_lock_test: fills *lr with the lock in the way that starts first, or type F_UNLCK.
 * fd_check_lock - after f, which was behind fd, was locked: -EBADF if fd was closed meanwhile, with t's locks dropped.
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

/* Calls upwards, filled in by proc: who is running, what limits it, the signals that writing may bring. */
struct fs_upcalls {
    const struct cred *(*cred)(void);
    uint64_t (*fsize_limit)(void); /* RLIMIT_FSIZE, bytes */
    void (*signal)(int sig);       /* to the calling thread: SIGPIPE 13, SIGXFSZ 25 */
    bool (*killed)(void);          /* the calling process is ending: long calls end, too */
};
extern struct fs_upcalls fs_upcalls;

/* pipe_create - both ends, one reference each.  -ENFILE, -ENOMEM.  FIFOs open through their vnode. */
int pipe_create(struct file **rd, struct file **wr, unsigned flags);

/* Waiting for several files (poll.c). */
struct pollhead {
    struct spinlock lock;
    struct list pollers;
};
void pollhead_init(struct pollhead *ph);
void poll_register(struct poller *p, struct pollhead *ph);
/* poll_wake - something may have become ready. */
void poll_wake(struct pollhead *ph);
struct pollfd {
    int32_t fd;
    int16_t events, revents;
};
/* poll_files - poll(2) on kernel copies; deadline in ns, NO_DEADLINE, 0: no wait.  Ready count, -EINTR, -ENOMEM. */
long poll_files(struct fdtable *t, struct pollfd *fds, unsigned n, uint64_t deadline);

/*
 * epoll (epoll.c): epoll_create - the open file.  epoll_change - epoll_ctl(2) on `f`, which is descriptor fd; op and
 * events are Linux's.  -EEXIST -ENOENT -EPERM (f cannot be waited for) -EINVAL -ENOMEM -ENOSPC (the user has too many).
 * epoll_take - epoll_wait(2): up to n events; deadline as poll_files().  Count, -EINVAL, -EINTR.
 */
enum { EPOLL_CTL_ADD = 1, EPOLL_CTL_DEL, EPOLL_CTL_MOD };
struct epoll_event {
    uint32_t events;
    uint64_t data;
} __attribute__((packed));
int epoll_create(struct file **out);
int epoll_change(struct file *epf, int op, struct file *f, int fd, const struct epoll_event *ev);
long epoll_take(struct file *epf, struct epoll_event *out, unsigned n, uint64_t deadline);

/*
 * pipe_buffered - bytes in a pipe (FIONREAD); pipe_size - bytes that fit into it (F_GETPIPE_SZ).  -ENOTTY if f is none.
 */
long pipe_buffered(struct file *f);
long pipe_size(struct file *f);

/* Character devices, by major:minor; devtmpfs shows them.  May be called at any time, also before fs_init(). */
struct cdev {
    const char *name; /* "null": /dev/null; NULL: its file is elsewhere */
    uint64_t rdev;
    uint32_t mode; /* 0666 */
    int (*open)(struct vnode *vn, int oflags,
                struct file *f); /* sets f->ops, f->data; NULL: uses ops */
    const struct fileops *ops;
    struct list link;
};
#define makedev(ma, mi) ((uint64_t)(ma) << 8 | (mi))
void cdev_register(struct cdev *d);

#endif
