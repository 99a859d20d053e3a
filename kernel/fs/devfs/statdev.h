// SPDX-License-Identifier: MIT
/*
 * statdev.h - /dev/kstat and /dev/kmsg.
 */
#ifndef FS_DEVFS_STATDEV_H
#define FS_DEVFS_STATDEV_H

/* statdev_init - register both devices.  Can be called at any time after boot has set up memory. */
void statdev_init(void);

#endif
