// SPDX-License-Identifier: MIT
/*
 * tracedev.h - /dev/trace.
 */
#ifndef FS_DEVFS_TRACEDEV_H
#define FS_DEVFS_TRACEDEV_H

/* tracedev_init - register the device, and turn the trace on if /etc/system says so.  Once all CPUs run; may sleep. */
void tracedev_init(void);

#endif
