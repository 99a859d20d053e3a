// SPDX-License-Identifier: MIT
/*
 * filepriv.h - what the files of this room that implement open files know of each other.
 */
#ifndef VFS_FILEPRIV_H
#define VFS_FILEPRIV_H

#include "vfs/file.h"

extern const struct fileops vnode_fileops; /* regular files and directories */

/* vnode_open - an open file on `vn`, whose reference it takes over (also on failure); permissions have been checked. */
int vnode_open(struct vnode *vn, int oflags, struct file **out);
/* cdev_open - the device with vn's number: sets f->ops.  -ENXIO if there is none. */
int cdev_open(struct vnode *vn, int oflags, struct file *f);
/* fifo_open - a named pipe: waits for the other side.  -ENXIO, -ERESTARTSYS, -ENFILE, -ENOMEM. */
int fifo_open(struct vnode *vn, int oflags, struct file *f);
/* pipe_vnode - a FIFO vnode on the pipe behind f, held; NULL if f is no pipe or there is no memory. */
struct vnode *pipe_vnode(struct file *f);
/* lock_file_closed, lock_table_closed - drop the locks of an open file, of a descriptor table on one vnode. */
void lock_file_closed(struct file *f);
void lock_table_drop(struct file *f, struct fdtable *t);
static inline void lock_table_closed(struct file *f, struct fdtable *t)
{
    if (f->vn != NULL && unlikely(f->vn->locks != NULL))
        lock_table_drop(f, t);
}
/* fd_peek - as fd_get without a reference: for a table that nobody else uses, or under its lock. */
struct file *fd_peek(struct fdtable *t, int fd);
/* fdtable_private - whether the calling thread is the only one that can change the table. */
bool fdtable_private(const struct fdtable *t);

/* One place of a poller in a pollhead's list, and who wants to hear of files: wake() runs under the pollhead's lock. */
struct poll_entry {
    struct list link; /* on ph->pollers */
    struct pollhead *ph;
    struct poller *poller;
};
struct poller {
    void (*wake)(struct poller *p);
    unsigned n, size; /* entries used, entries there are; a file needs two at most */
    bool nomem;       /* there were too few */
    struct poll_entry *entry;
};
/*
 * file_events - what f is ready for, POLLNVAL for O_PATH; with `p` also registers it there.
 * poller_leave - off all pollheads.
 */
unsigned file_events(struct file *f, struct poller *p);
void poller_leave(struct poller *p);

/* epoll_file_gone - f, which is about to be closed for good, is watched no more. */
void epoll_file_gone(struct file *f);

/* What fs_init() calls in each file. */
void file_init(void);
void fdtable_init(void);
void pipe_init(void);
void lock_init(void);
void epoll_init(void);

#endif
