// SPDX-License-Identifier: MIT
/*
 * bdev.h - disks as files.
 */
#ifndef FS_BDEV_H
#define FS_BDEV_H

#include "fs/file.h"

struct disk;

/* bdev_open - an open file on the disk with vn's device number: sets f->ops.  -ENXIO: there is none, -EROFS. */
int bdev_open(struct vnode *vn, int oflags, struct file *f);
/* bdev_fsync - what was written to the disk with this device number is on stable storage: 0, -EIO, -ENXIO. */
int bdev_fsync(uint64_t rdev);

#endif
