// SPDX-License-Identifier: MIT
/*
 * sysfs.h - what the files of sysfs share.
 */
#ifndef FS_SYSFS_SYSFS_H
#define FS_SYSFS_SYSFS_H

#include "vfs/pseudo.h"

/* sysfs_init - register the file system type "sysfs": with fs_init(). */
void sysfs_init(void);

extern const struct pseudo_node sysfs_cpu_files[];    /* /sys/devices/system/cpu        */
extern const struct pseudo_node sysfs_node_files[];   /* /sys/devices/system/node       */
extern const struct pseudo_node sysfs_fw_cfg_files[]; /* /sys/firmware/qemu_fw_cfg     */

int sysfs_cpu_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                   struct pseudo_entry *e);
int sysfs_node_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                    struct pseudo_entry *e);
/* /sys/block */
int sysfs_block_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                     struct pseudo_entry *e);
int sysfs_block_find(const struct pseudo_node *dir, struct pseudo_arg arg, const char *name,
                     size_t len, struct pseudo_entry *e);

#endif
