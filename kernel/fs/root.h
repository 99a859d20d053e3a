// SPDX-License-Identifier: MIT
/*
 * root.h - file systems at boot.
 */
#ifndef FS_ROOT_H
#define FS_ROOT_H

#include "lib/types.h"

/* fs_init - initialise the vnode layer and register the file system types below fs/.  Call it after vm_init(). */
void fs_init(void);
/*
 * fs_mount_root - mount the root file system: the disk that /etc/system names, else a tmpfs filled from the
 * initramfs.  Then unpack the overlay into it, and mount /dev, /dev/pts, /dev/shm, /proc and /sys.  Each
 * archive can be NULL.  0 or -ENOMEM.
 */
int fs_mount_root(const void *initramfs, size_t len, const void *overlay, size_t overlay_len);

#endif
