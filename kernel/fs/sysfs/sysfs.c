// SPDX-License-Identifier: MIT
/*
 * sysfs.c - /sys: the upper part of the tree.
 *
 * THEORY      On Linux, programs read /sys to learn which hardware there is.  This tree has only the files
 *             that programs for NUMA nodes and CPUs read (numactl, lstopo, libc's sysconf), the disks, and
 *             the files of fw_cfg.
 *             A node here is a memory node of the kernel, that is, a board.  A node is not an lgroup: with
 *             mpo_enable=0, all nodes are in lgroup 0.  The program lgrpinfo shows the lgroups.
 * SEE ALSO    pseudo.h, sysfs_cpu.c, sysfs_node.c, sysfs_block.c, sysfs_fw_cfg.c, docs/devices.md
 */
#include "fs/sysfs/sysfs.h"

static const struct pseudo_node system_dirs[] = {
    {.name = "cpu",
     .type = VDIR,
     .mode = 0555,
     .children = sysfs_cpu_files,
     .prefix = "cpu",
     .next = sysfs_cpu_next},
    {.name = "node",
     .type = VDIR,
     .mode = 0555,
     .children = sysfs_node_files,
     .prefix = "node",
     .next = sysfs_node_next},
    {.name = NULL},
};

static const struct pseudo_node devices_dirs[] = {
    {.name = "system", .type = VDIR, .mode = 0555, .children = system_dirs},
    {.name = NULL},
};

static const struct pseudo_node firmware_dirs[] = {
    {.name = "qemu_fw_cfg", .type = VDIR, .mode = 0555, .children = sysfs_fw_cfg_files},
    {.name = NULL},
};

static const struct pseudo_node top_dirs[] = {
    {.name = "devices", .type = VDIR, .mode = 0555, .children = devices_dirs},
    {.name = "firmware", .type = VDIR, .mode = 0555, .children = firmware_dirs},
    {.name = "block",
     .type = VDIR,
     .mode = 0555,
     .next = sysfs_block_next,
     .find = sysfs_block_find},
    {.name = "class", .type = VDIR, .mode = 0555},
    {.name = "bus", .type = VDIR, .mode = 0555},
    {.name = "kernel", .type = VDIR, .mode = 0555},
    {.name = NULL},
};

static const struct pseudo_node root = {.type = VDIR, .mode = 0555, .children = top_dirs};

static int sysfs_mount(const char *source, const char *options, unsigned flags, struct vfs **out)
{
    return pseudo_mount("sysfs", source, 0x62656572, &root, out);
}

void sysfs_init(void)
{
    static struct vfs_type type = {.name = "sysfs", .mount = sysfs_mount};

    vfs_register_type(&type);
}
