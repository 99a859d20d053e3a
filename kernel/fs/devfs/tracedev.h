// SPDX-License-Identifier: MIT
/*
 * tracedev.h - /dev/trace.
 */
#ifndef FS_DEVFS_TRACEDEV_H
#define FS_DEVFS_TRACEDEV_H

/*
 * tracedev_init - register the device; turn the trace on if /etc/system sets
 * trace_enable.  Must be called when all CPUs run.
 */
void tracedev_init(void);

#endif
