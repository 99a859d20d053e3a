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
 * path_get - a kernel copy of the path name at user address `uaddr`, for which it may wait; give it back with
 * path_put(). -EFAULT, -ENAMETOOLONG, -ENOMEM.  The empty path is the look-up's business
 * (-ENOENT).
 */
int path_get(uint64_t uaddr, char **out);
void path_put(char *path);
/* path_alloc - an empty buffer of PATH_MAX bytes for a path name or a link; path_put() it.  0
 * or -ENOMEM. */
int path_alloc(char **out);

/* A path name relative to a directory descriptor, as the *at calls have it. */
struct at_path {
    struct fs_ctx ctx;
    struct vnode *at;  /* where the path starts; NULL: the working directory */
    struct file *file; /* what holds `at`, or the file itself for AT_EMPTY_PATH */
    char *path;
};

/* at_begin - take the arguments (dirfd, path).  path_get()'s errors, -EBADF, -ENOTDIR.  Pair
 * with at_end(). */
int at_begin(struct at_path *ap, int dirfd, uint64_t upath);
void at_end(struct at_path *ap);

/*
 * at_vnode - the vnode that (dirfd, path, AT_* flags) names, held.  With AT_EMPTY_PATH an empty
 * path is the descriptor itself.  `nofollow`: do not follow a last symbolic link.
 */
int at_vnode(int dirfd, uint64_t upath, bool empty_ok, bool nofollow, struct vnode **out);

/*
 * fd_file - the file behind descriptor argument `fd` with a reference; NULL: -EBADF, also when it was opened with
 * O_PATH.  fd_file_or_path - with such a one: fstat, fchdir, dup and few others work on it.
 */
static inline struct file *fd_file_or_path(uint64_t fd)
{
    return fd_get(curproc()->files, (int)fd);
}

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
