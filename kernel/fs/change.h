// SPDX-License-Identifier: MIT
/*
 * change.h - changes to the name space and to attributes, with the permission rules of POSIX.
 *
 * Everything here may sleep, takes vnode locks itself, and works on kernel copies of names.
 */
#ifndef FS_CHANGE_H
#define FS_CHANGE_H

#include "fs/vnode.h"

enum { MODE_SETUID = 04000, MODE_SETGID = 02000, MODE_STICKY = 01000 };

/*
 * fs_make - create a directory, device, FIFO, socket name, symbolic link or empty regular file.
 * @rdev    for VCHR and VBLK   @target  for VLNK, else NULL   @mode  umask already applied
 * -EEXIST, -ENOENT (also a trailing slash after what is not a directory), -EACCES, -EROFS,
 * -ENOTDIR, -EPERM (the file system has no such thing), -ENOSPC, -ENOMEM and the errors of
 * name_lookup().
 */
int fs_make(const struct fs_ctx *ctx, struct vnode *at, const char *path, enum vtype type,
            uint32_t mode, uint64_t rdev, const char *target);
/* fs_link - give `vn` another name.  As fs_make(); -EPERM for a directory, -EXDEV. */
int fs_link(const struct fs_ctx *ctx, struct vnode *vn, struct vnode *at, const char *path);
/*
 * fs_unlink - remove a name; `dir`: rmdir(2).  -ENOENT -EISDIR -ENOTDIR -ENOTEMPTY -EBUSY
 * (mounted on) -EINVAL (".") -EPERM (sticky directory) -EACCES -EROFS.
 */
int fs_unlink(const struct fs_ctx *ctx, struct vnode *at, const char *path, bool dir);
/*
 * fs_rename - rename(2); `noreplace`: -EEXIST rather than replace.  As fs_unlink(); -EINVAL
 * when the new name lies below the old one, -EXDEV.
 */
int fs_rename(const struct fs_ctx *ctx, struct vnode *oat, const char *opath, struct vnode *nat,
              const char *npath, bool noreplace);

/* fs_chmod, fs_chown (-1: leave), fs_utimes (va's times by mask) - -EPERM -EACCES -EROFS. */
int fs_chmod(struct vnode *vn, uint32_t mode, const struct cred *cr);
int fs_chown(struct vnode *vn, uint32_t uid, uint32_t gid, const struct cred *cr);
int fs_utimes(struct vnode *vn, unsigned mask, const struct vattr *va, const struct cred *cr);
/* fs_truncate - set the size; the caller has checked that it may write.  -EISDIR -EINVAL
 * -ETXTBSY -EROFS. */
int fs_truncate(struct vnode *vn, loff_t size);

/* cred_in_group - whether gid is among the groups that count for file access. */
bool cred_in_group(const struct cred *cr, uint32_t gid);

#endif
