// SPDX-License-Identifier: MIT
/*
 * root.c - which file systems there are, and what is mounted at boot.
 *
 * THEORY      The root file system is the disk that /etc/system names (rootdev:, rootfs:), or else a tmpfs
 *             filled from the initramfs.  In both cases the overlay archive is then unpacked over it.  Then the
 *             file systems that the kernel makes itself are mounted: /dev, /dev/pts, /dev/shm, /proc and /sys.
 *             A type that this kernel was built without is left out.
 * LOCKING     None: the code runs before there are processes.
 * SEE ALSO    vfs/vfs.c (mounting), docs/files.md
 */
#include "fs/root.h"

#include "fs/ext/ext_init.h"
#include "fs/initramfs/initramfs.h"
#include "fs/tmpfs/tmpfs.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "mem/page.h"
#include "stat/panic.h"
#include "stat/tunable.h"
#include "vfs/name.h"

static const struct cred root_cred = {.refs = 1};

/* Mounts `type` on the directory `path`, which is made if it is missing.  An unknown type is skipped. */
static void mount_at(const char *path, const char *type, const char *options)
{
    struct fs_ctx ctx = {vfs_root, vfs_root, &root_cred};
    struct vnode *dir;
    int err;

    if (vfs_find_type(type) == NULL)
        return;
    name_create(&ctx, NULL, path, VDIR, 0755, 0, NULL);
    err = name_lookup(&ctx, NULL, path, NAME_DIR, &dir);
    if (err == 0) {
        err = vfs_mount(dir, type, type, options, 0);
        vn_release(dir);
    }
    if (err != 0)
        warn("cannot mount %s on %s: error %d", type, path, -err);
}

/* Mounts /dev/shm.  It gets an eighth of memory, so that programs have enough memory when it and others are full. */
static void mount_shm(void)
{
    struct fs_ctx ctx = {vfs_root, vfs_root, &root_cred};
    struct vnode *dir;
    char options[48];

    snprintf(options, sizeof options, "size=%luk,mode=1777",
             mem_total_pages() / 8 * (PAGE_SIZE / 1024));
    mount_at("/dev/shm", "tmpfs", options);
    if (name_lookup(&ctx, NULL, "/dev/shm", NAME_DIR, &dir) != 0)
        return;
    if (dir->op == &tmpfs_ops)
        tmpfs_reserve_for_root(dir->vfs);
    vn_release(dir);
}

/*
 * Mounts the root disk that /etc/system names (rootdev:, rootfs:).  NULL: /etc/system names no
 * disk, or mounting failed.
 */
static struct vfs *mount_disk_root(void)
{
    const char *name = system_root_fs[0] != '\0' ? system_root_fs : "ext3";
    const struct vfs_type *t = vfs_find_type(name);
    struct vfs *vfs;
    int err = -ENODEV;

    if (system_root_dev[0] == '\0')
        return NULL;
    if (t != NULL && t->disk)
        err = t->mount(system_root_dev, "", 0, &vfs);
    if (err == 0)
        return vfs;
    warn("cannot mount %s of type %s as root: error %d; the root is in memory", system_root_dev,
         name, -err);
    return NULL;
}

int fs_mount_root(const void *initramfs, size_t len, const void *overlay, size_t overlay_len)
{
    struct vfs *vfs = mount_disk_root();
    bool memory = vfs == NULL;
    int err = memory ? tmpfs_mount("tmpfs", "", 0, &vfs) : 0;

    if (err != 0)
        return err;
    vfs_set_root(vfs);
    if (memory)
        tmpfs_unlimit(vfs);
    if (memory && initramfs != NULL)
        initramfs_unpack("initramfs", initramfs, len);
    if (overlay != NULL)
        initramfs_unpack("overlay", overlay, overlay_len);
    if (memory) {
        tmpfs_limit(vfs);
        tmpfs_reserve_for_root(vfs);
    }
    mount_at("/dev", "devtmpfs", "");
    mount_at("/dev/pts", "devpts", "");
    mount_shm(); /* a separate tmpfs, so that a user program that fills it does not fill /dev */
    mount_at("/proc", "proc", "");
    mount_at("/sys", "sysfs", "");
    return 0;
}

void fs_init(void)
{
    vfs_init();
    tmpfs_init();
    devfs_init();
    devmem_init();
    ext_init();
}
