// SPDX-License-Identifier: MIT
/*
 * bdev.h - disks as files.
 */
#ifndef VFS_BDEV_H
#define VFS_BDEV_H

#include "vfs/file.h"

struct disk;

/* bdev_open - an open file on the disk with vn's device number: sets f->ops.  -ENXIO: none has it, -EROFS, -ENOMEM. */
int bdev_open(struct vnode *vn, int oflags, struct file *f);
/* bdev_fsync - what was written to the disk with this device number is on stable storage: 0 or -EIO. */
int bdev_fsync(uint64_t rdev);
/* bdev_sync_all - the same for all disks that are open: a part of sync(2). */
void bdev_sync_all(void);
void bdev_init(void);

#endif
