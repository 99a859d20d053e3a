// SPDX-License-Identifier: MIT
/*
 * filepriv.h - shared by the source files of this folder that implement open files.
 */
#ifndef VFS_FILEPRIV_H
#define VFS_FILEPRIV_H

#include "vfs/file.h"

extern const struct fileops vnode_fileops; /* regular files and directories */

/*
 * vnode_open - make an open file for `vn`; the caller has checked permissions.  It takes over the reference
 * to `vn`, also when it fails.
 */
int vnode_open(struct vnode *vn, int oflags, struct file **out);
/*
 * cdev_open - open the character device with vn's number: sets f->ops.  -ENXIO: no device has this
 * number.
 */
int cdev_open(struct vnode *vn, int oflags, struct file *f);
/*
 * filelocks_flock_closed - remove the flock locks of an open file.
 * filelocks_drop - remove the fcntl locks that table t has on f's vnode.
 */
void filelocks_flock_closed(struct file *f);
void filelocks_drop(struct file *f, struct fdtable *t);
/* fdtable_set_locked - a lock of table t will be set, so a close must remove locks from now on. */
void fdtable_set_locked(struct fdtable *t);
/* fd_peek - like fd_get(), but takes no reference.  The table must be private, or the caller holds its lock. */
struct file *fd_peek(struct fdtable *t, int fd);
/* fdtable_private - whether the calling thread is the only one that can change the table. */
bool fdtable_private(const struct fdtable *t);

/* A poller waits for files.  It has one poll_entry in the list of each pollhead that may wake it. */
struct poll_entry {
    struct list link; /* on ph->pollers */
    struct pollhead *ph;
    struct poller *poller;
    uint32_t uid; /* [c] effective user id of the thread that registered */
};
struct poller {
    void (*wake)(struct poller *p); /* called with the pollhead's lock held */
    unsigned n, size;               /* entries in use, entries in all; a file needs at most two */
    bool
        nomem; /* set if `entry` had too few elements, or a file has too many pollers for this user */
    struct poll_entry *entry;
};
/*
 * file_events - the events that f is ready for; POLLNVAL for O_PATH.  If p is not NULL, also registers p.
 * poller_leave - take p off all pollheads.
 */
unsigned file_events(struct file *f, struct poller *p);
void poller_leave(struct poller *p);

/*
 * file_new_vnode - make a vnode with type, attributes and number of f, which has none; the caller gets a reference.
 * NULL: no memory.
 */
struct vnode *file_new_vnode(struct file *f, const struct vnodeops *ops);

/* vfs_init() calls these functions. */
void file_init(void);
void fdtable_init(void);
void lock_init(void);

/* ---- implemented by proc/ ---- */
/* sigio_file_gone - the last reference to f is gone, which has f->sigio: free it. */
void sigio_file_gone(struct file *f);

/* ---- implemented by ipc/ ---- */
/*
 * fifo_open - open a named pipe, and wait until the other end is open.  -ENXIO -ERESTARTSYS -ENFILE -ENOMEM.
 * pipe_vnode - make a FIFO vnode for the pipe of f; the caller gets a reference.  NULL: no memory.
 * epoll_file_gone - the last reference to f is gone: remove it from all epolls that watch it.
 */
int fifo_open(struct vnode *vn, int oflags, struct file *f);
struct vnode *pipe_vnode(struct file *f);
void epoll_file_gone(struct file *f);

#endif
