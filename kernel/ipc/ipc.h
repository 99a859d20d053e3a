// SPDX-License-Identifier: MIT
/*
 * ipc.h - pipes and epoll: open files through which processes communicate, or wait for other files.
 */
#ifndef IPC_IPC_H
#define IPC_IPC_H

#include "vfs/file.h"

/* pipe_create - pipe(2): both ends, with one reference each; flags: O_NONBLOCK.  0, -ENFILE, -ENOMEM. */
int pipe_create(struct file **rd, struct file **wr, unsigned flags);
/*
 * epoll_create - epoll_create(2): *out is the open file.  0 or -ENFILE, also when memory is short.
 * epoll_change - epoll_ctl(2) on `f`, which is at descriptor fd.  `op` and the event bits are Linux's.
 *                0, -EEXIST -ENOENT -EINVAL -ENOMEM; -EPERM: a file of this type cannot be watched; -ENOSPC:
 *                the user has too many items, or the file has too many waiters for an ordinary user.
 * epoll_take - epoll_wait(2): store up to n events; `deadline` as for poll_files().  Returns the
 * number of events, -EINVAL or -EINTR.
 */
enum { EPOLL_CTL_ADD = 1, EPOLL_CTL_DEL, EPOLL_CTL_MOD };
struct epoll_event {
    uint32_t events;
    uint64_t data;
} __attribute__((packed));
int epoll_create(struct file **out);
int epoll_change(struct file *epf, int op, struct file *f, int fd, const struct epoll_event *ev);
long epoll_take(struct file *epf, struct epoll_event *out, unsigned n, uint64_t deadline);

/* pipe_size - the capacity of a pipe in bytes.  -EBADF: f is no pipe. */
long pipe_size(struct file *f);
/*
 * pipe_set_size - fcntl(F_SETPIPE_SZ): give a pipe at least `bytes`, rounded up to a power of two of pages.  Returns
 * the new capacity in bytes.  -EBADF: f is no pipe; -EINVAL: over 2 GiB; -EBUSY: the pipe holds more bytes; -ENOMEM;
 * -EPERM: the caller is not the superuser, and wants more than PIPE_MAX_SIZE or than usermem.h gives.  Takes the pipe's
 * lock.  A pipe that grows is charged to the caller from then on.
 */
enum { PIPE_MAX_SIZE = 1 << 20 }; /* Linux's default of /proc/sys/fs/pipe-max-size */
long pipe_set_size(struct file *f, uint32_t bytes);

/* pipe_init, epoll_init - at boot, after vfs_init(). */
void pipe_init(void);
void epoll_init(void);

#endif
