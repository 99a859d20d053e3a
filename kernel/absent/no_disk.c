// SPDX-License-Identifier: MIT
/*
 * no_disk.c - a kernel without disks: there are no block devices, and no file systems on disks.
 *
 * Device nodes with the number of a disk can be made, but not opened.
 *
 * SEE ALSO    kernel/profile.mk
 */
#include "blk/blk.h"
#include "fs/ext/ext_init.h"
#include "fs/sysfs/sysfs.h"
#include "lib/errno.h"
#include "procfs/procfs.h"
#include "stat/panic.h"
#include "vfs/bdev.h"

void disks_init(void)
{
}

void disks_report(void)
{
}

struct disk *disk_next(struct disk *d)
{
    (void)d;
    return NULL;
}

const char *disk_name(const struct disk *d)
{
    panic("disk %p: this kernel has no disks", d);
}

uint64_t disk_dev(const struct disk *d)
{
    panic("disk %p: this kernel has no disks", d);
}

void ext_init(void)
{
}

void bdev_init(void)
{
}

int bdev_open(struct vnode *vn, int oflags, struct file *f)
{
    (void)vn, (void)oflags, (void)f;
    return -ENXIO;
}

int bdev_fsync(uint64_t rdev)
{
    panic("disk %#lx is open, but this kernel has no disks", rdev);
}

void bdev_sync_all(void)
{
}

const char *vn_disk_name(const struct vnode *vn)
{
    (void)vn;
    return "";
}

int sysfs_block_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                     struct pseudo_entry *e)
{
    (void)dir, (void)arg, (void)from, (void)e;
    return -ENOENT;
}

int sysfs_block_find(const struct pseudo_node *dir, struct pseudo_arg arg, const char *name,
                     size_t len, struct pseudo_entry *e)
{
    (void)dir, (void)arg, (void)name, (void)len, (void)e;
    return -ENOENT;
}

PROCFS_SHOW(procfs_show_partitions)
{
    text_str(out, "major minor  #blocks  name\n\n");
    return 0;
}

PROCFS_SHOW(procfs_show_diskstats)
{
    return 0;
}
