// SPDX-License-Identifier: MIT
/*
 * bdev.h - disks as files.
 */
#ifndef VFS_BDEV_H
#define VFS_BDEV_H

#include "vfs/file.h"

struct disk;

/*
 * bdev_open - open the disk with vn's device number: sets f->ops.  0, -ENXIO: no such disk; -EROFS, -ENOMEM.
 */
int bdev_open(struct vnode *vn, int oflags, struct file *f);
/* bdev_fsync - write the disk's dirty pages to stable storage, and wait.  0, -EIO or -ENOMEM. */
int bdev_fsync(uint64_t rdev);
/*
 * bdev_sync_all - do what bdev_fsync() does for all disks that were ever opened: a part of sync(2).
 */
void bdev_sync_all(void);
void bdev_init(void);

#endif
