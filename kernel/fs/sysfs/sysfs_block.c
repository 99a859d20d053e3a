// SPDX-License-Identifier: MIT
/*
 * sysfs_block.c - /sys/block: disks, and in each its partitions.
 *
 * THEORY      arg.a points to the disk that a directory describes (disks are never removed); arg.a
 *             is 0 for /sys/block itself.  The computed entries of /sys/block are the whole disks.
 *             The computed entries of a disk are its partitions.  The key of an entry is its
 *             position in the list of all disks and partitions.
 * SEE ALSO    kernel/blk/blk.h, sysfs.c
 */
#include "blk/blk.h"
#include "fs/sysfs/sysfs.h"
#include "lib/errno.h"
#include "lib/string.h"

enum { F_DEV, F_SIZE, F_START, F_RO, F_REMOVABLE };

static const struct pseudo_node disk_dir, part_dir;

static struct disk *disk_of(struct pseudo_arg arg)
{
    return (struct disk *)(uintptr_t)arg.a;
}

/* Whether `d` has an entry in the directory of disk `of` (NULL: in /sys/block). */
static bool is_disk_in_dir(struct disk *d, struct disk *of)
{
    return of == NULL ? disk_whole(d) == d : d != of && disk_whole(d) == of;
}

static void fill_disk_entry(struct pseudo_entry *e, struct disk *d, uint64_t key)
{
    *e = (struct pseudo_entry){.key = key, .arg = {(uintptr_t)d, 0}};
    e->node = disk_whole(d) == d ? &disk_dir : &part_dir;
    str_copy(e->name, disk_name(d), sizeof e->name);
}

int sysfs_block_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                     struct pseudo_entry *e)
{
    uint64_t key = 0;

    for (struct disk *d = disk_next(NULL); d != NULL; d = disk_next(d), key++)
        if (key >= from && is_disk_in_dir(d, disk_of(arg))) {
            fill_disk_entry(e, d, key);
            return 0;
        }
    return -ENOENT;
}

int sysfs_block_find(const struct pseudo_node *dir, struct pseudo_arg arg, const char *name,
                     size_t len, struct pseudo_entry *e)
{
    uint64_t key = 0;

    for (struct disk *d = disk_next(NULL); d != NULL; d = disk_next(d), key++)
        if (is_disk_in_dir(d, disk_of(arg)) && strlen(disk_name(d)) == len &&
            memcmp(disk_name(d), name, len) == 0) {
            fill_disk_entry(e, d, key);
            return 0;
        }
    return -ENOENT;
}

static int show_disk_file(const struct pseudo_node *n, struct pseudo_arg arg, struct text *out)
{
    struct disk *d = disk_of(arg);

    switch (n->tag) {
    case F_DEV:
        text_add(out, "%lu:%lu\n", disk_dev(d) >> 8, disk_dev(d) & 0xff);
        break;
    case F_SIZE:
        text_add(out, "%lu\n", disk_sectors(d));
        break;
    case F_START:
        text_add(out, "%lu\n", disk_start(d));
        break;
    case F_RO:
        text_add(out, "%d\n", disk_readonly(d));
        break;
    default:
        text_str(out, "0\n");
    }
    return 0;
}

#define FILE(text, which)                                                                          \
    {.name = text, .type = VREG, .mode = 0444, .tag = which, .show = show_disk_file}
static const struct pseudo_node part_files[] = {
    FILE("dev", F_DEV), FILE("size", F_SIZE), FILE("start", F_START),
    FILE("ro", F_RO),   {.name = NULL},
};
static const struct pseudo_node disk_files[] = {
    FILE("dev", F_DEV), FILE("size", F_SIZE), FILE("ro", F_RO), FILE("removable", F_REMOVABLE),
    {.name = NULL},
};

static const struct pseudo_node part_dir = {.type = VDIR, .mode = 0555, .children = part_files};
static const struct pseudo_node disk_dir = {.type = VDIR,
                                            .mode = 0555,
                                            .children = disk_files,
                                            .next = sysfs_block_next,
                                            .find = sysfs_block_find};
