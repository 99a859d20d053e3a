// SPDX-License-Identifier: MIT
/*
 * name.h - a walk along a path name, for the files of this folder that need more than name_lookup().
 */
#ifndef VFS_NAME_H
#define VFS_NAME_H

#include "vfs/vnode.h"

/* A walk in progress.  After walk_start(), even if it failed, the caller must call walk_end(). */
struct walk {
    const struct fs_ctx *ctx;
    struct vnode *dir; /* the directory where the walk is now; has a reference   */
    const char *rest;  /* the rest of the path                                   */
    /*
     * NULL, or from kmem_alloc(): a link's target and the path after the link; `rest` points into
     * buf
     */
    char *buf;
    unsigned nlinks;  /* symbolic links followed so far                         */
    const char *last; /* walk_parent: the last component                        */
    size_t len;       /* length of `last`; 0: the path ends at `dir` itself     */
    bool slash;       /* walk_parent: a slash follows the last component        */
};

int walk_start(struct walk *w, const struct fs_ctx *ctx, struct vnode *at, const char *path);
void walk_end(struct walk *w);
/* walk_parent - go to the directory of the last component.  Sets w->dir, w->last, w->len, w->slash. */
int walk_parent(struct walk *w);
/* walk_all - go to the end of the path: *out is the vnode there, with a reference.  Flags NAME_*. */
int walk_all(struct walk *w, unsigned flags, struct vnode **out);
/*
 * walk_follow - continue with the target of `link`, which was found in w->dir, followed by `rest`.
 * *out is NULL.  But if the link leads to a file and not to a name (op->follow), *out is that file,
 * with a reference.
 * 0, -ELOOP -EACCES -ENOMEM -ENAMETOOLONG -ENOENT, or an error of reading the link.
 */
int walk_follow(struct walk *w, struct vnode *link, const char *rest, struct vnode **out);
/*
 * dir_lookup - look up one component in `dir`: check search permission and cross mounts.  The caller gets a
 * reference to *out.
 */
int dir_lookup(const struct fs_ctx *ctx, struct vnode *dir, const char *name, size_t len,
               struct vnode **out);
/* Whether the name is "", "." or "..": no directory entry with this name can be made or removed. */
static inline bool name_is_special(const char *name, size_t len)
{
    return len == 0 || (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}
/* dir_create - make a file in `dir`; the caller gets a reference to *out.  Errors as for name_create(). */
int dir_create(const struct fs_ctx *ctx, struct vnode *dir, const char *name, size_t len,
               enum vtype type, uint32_t mode, uint64_t rdev, const char *target,
               struct vnode **out);
/*
 * vfs_cross - if a file system is mounted on *vn, replace *vn by the root of that file system, with a reference.
 * May sleep.
 */
void vfs_cross(struct vnode **vn);

#endif
