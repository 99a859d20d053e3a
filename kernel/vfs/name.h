// SPDX-License-Identifier: MIT
/*
 * name.h - a walk along a path name, for the parts of this room that need more than name_lookup().
 */
#ifndef VFS_NAME_H
#define VFS_NAME_H

#include "vfs/vnode.h"

/* A walk in progress.  Started by walk_start(), ended by walk_end() whatever happened between. */
struct walk {
    const struct fs_ctx *ctx;
    struct vnode *dir; /* where it is now, held                                  */
    const char *rest;  /* what is left of the path                               */
    char *buf;         /* kmem: the path with links put in; `rest` points into it */
    unsigned nlinks;   /* links followed                                         */
    const char *last;  /* walk_parent: the last component                        */
    size_t len;        /* its length; 0: the path ends at `dir` itself           */
    bool slash;        /* walk_parent: a slash follows it                        */
};

int walk_start(struct walk *w, const struct fs_ctx *ctx, struct vnode *at, const char *path);
void walk_end(struct walk *w);
/* walk_parent - go on to the directory of the last component: w->dir, w->last, w->len, w->slash. */
int walk_parent(struct walk *w);
/* walk_all - go to the end: *out held.  Flags NAME_*. */
int walk_all(struct walk *w, unsigned flags, struct vnode **out);
/*
 * walk_follow - put the target of `link`, found in w->dir, in front of `rest`.  *out is NULL, or the file itself (held)
 * when the link names none.
 */
int walk_follow(struct walk *w, struct vnode *link, const char *rest, struct vnode **out);
/* dir_lookup - one component in one directory, with permission and mounts. */
int dir_lookup(const struct fs_ctx *ctx, struct vnode *dir, const char *name, size_t len,
               struct vnode **out);
/* Whether a last component is one that no entry can be made or removed under: "", ".", "..". */
static inline bool name_is_special(const char *name, size_t len)
{
    return len == 0 || (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}
/* dir_create - make a file in `dir`; *out held.  -EEXIST, and what name_create() gives. */
int dir_create(const struct fs_ctx *ctx, struct vnode *dir, const char *name, size_t len,
               enum vtype type, uint32_t mode, uint64_t rdev, const char *target,
               struct vnode **out);
/* vfs_cross - replaces *vn, a directory something is mounted on, by the root of what is mounted. */
void vfs_cross(struct vnode **vn);

#endif
