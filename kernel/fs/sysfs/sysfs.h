// SPDX-License-Identifier: MIT
/*
 * sysfs.h - shared by the source files of sysfs: tables of entries, and functions that find computed entries.
 */
#ifndef FS_SYSFS_SYSFS_H
#define FS_SYSFS_SYSFS_H

#include "vfs/pseudo.h"

/* sysfs_init - register the file system type "sysfs", at boot. */
void sysfs_init(void);

extern const struct pseudo_node sysfs_cpu_files[];    /* /sys/devices/system/cpu        */
extern const struct pseudo_node sysfs_node_files[];   /* /sys/devices/system/node       */
extern const struct pseudo_node sysfs_fw_cfg_files[]; /* /sys/firmware/qemu_fw_cfg     */

/* pseudo_node.next of /sys/devices/system/cpu and .../node */
int sysfs_cpu_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                   struct pseudo_entry *e);
int sysfs_node_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                    struct pseudo_entry *e);
/* pseudo_node.next and .find of /sys/block */
int sysfs_block_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                     struct pseudo_entry *e);
int sysfs_block_find(const struct pseudo_node *dir, struct pseudo_arg arg, const char *name,
                     size_t len, struct pseudo_entry *e);

#endif
