// SPDX-License-Identifier: MIT
/*
 * path.h - path names and descriptors as system-call arguments.
 */
#ifndef SYS_PATH_H
#define SYS_PATH_H

#include "proc/proc.h"

#define PATH_MAX 4096 /* bytes, the NUL included */
#define AT_FDCWD (-100)

enum {
    AT_SYMLINK_NOFOLLOW = 0x100,
    AT_REMOVEDIR = 0x200, /* unlinkat  */
    AT_EACCESS = 0x200,   /* faccessat */
    AT_SYMLINK_FOLLOW = 0x400,
    AT_EMPTY_PATH = 0x1000,
};

/*
 * path_get - copy the path name at user address `uaddr` to the kernel; free it with path_put().  May wait for
 * memory.  -EFAULT, -ENAMETOOLONG, -ENOMEM.  For an empty path, the look-up returns -ENOENT.
 */
int path_get(uint64_t uaddr, char **out);
void path_put(char *path);
/* path_alloc - allocate a buffer of PATH_MAX bytes; free it with path_put().  0 or -ENOMEM. */
int path_alloc(char **out);

/* A path name that is relative to a directory descriptor, as in openat(2) and the other *at calls. */
struct at_path {
    struct fs_ctx ctx;
    struct vnode *at; /* directory where the path starts; NULL: the working directory */
    struct file
        *file; /* the descriptor's file, with a reference, or NULL; can be the object itself */
    char *path;
};

/*
 * at_begin - read the arguments (dirfd, path).  The caller must call at_end() after success.  Errors of path_get(),
 * -EBADF, -ENOTDIR.
 */
int at_begin(struct at_path *ap, int dirfd, uint64_t upath);
void at_end(struct at_path *ap);

/*
 * at_vnode - look up (dirfd, path): *out is the vnode, with a reference.  Errors of at_begin() and of the look-up.
 * @empty_ok  AT_EMPTY_PATH: an empty path means the descriptor's own file
 * @nofollow  if the path ends in a symbolic link, return the link itself
 */
int at_vnode(int dirfd, uint64_t upath, bool empty_ok, bool nofollow, struct vnode **out);

/*
 * fd_file - the open file of descriptor `fd`, with a reference.  NULL: `fd` is not open, or was opened with O_PATH;
 * the system call must return -EBADF.
 * fd_file_or_path - the same, but O_PATH is allowed, as in fstat, fchdir and dup.
 */
static inline struct file *fd_file_or_path(uint64_t fd)
{
    return fd_get(curproc()->files, (int)fd);
}

/*
 * fd_give - give the new open file `f` the lowest free descriptor.  Takes over the reference to f, also after an error.
 * The descriptor; -EMFILE: RLIMIT_NOFILE; -ENOMEM.
 */
int fd_give(struct file *f, bool cloexec);

/*
 * copy_between_files - copy up to `count` bytes from position *pos of `in` to *out_pos of `out`, and advance both; if
 * out_pos is NULL, write at out's position.  The caller has checked the access modes.  The bytes copied; 0 at the end
 * of `in`; -ENOMEM; or an error of the read or write if no byte was copied.
 */
long copy_between_files(struct file *in, loff_t *pos, struct file *out, loff_t *out_pos,
                        size_t count);

static inline struct file *fd_file(uint64_t fd)
{
    struct file *f = fd_file_or_path(fd);

    if (f != NULL && unlikely(atomic_load_explicit(&f->flags, memory_order_relaxed) & O_PATH)) {
        file_release(f);
        return NULL;
    }
    return f;
}

#endif
