// SPDX-License-Identifier: MIT
/*
 * devfs.c - devices by number, and the file system that shows them (type "devtmpfs", on /dev).
 *
 * THEORY      A program reaches a device through a special file, which stores only the number of
 *             the device.  A driver registers its number and operations in a struct cdev.  Opening
 *             a VCHR vnode of any file system finds the device with the same number here.
 *             /dev is a tmpfs.  It has only one instance.  It has a file for each device with a
 *             name (registered before or after /dev was made), a file for each disk and partition,
 *             and the usual links (/dev/stdin).
 * LOCKING     cdev_lock (RANK_VNODE) guards the list.  Devices are never removed from it.
 * SEE ALSO    devmem.c, tmpfs.c
 */
#include "vfs/filepriv.h"
#include "fs/tmpfs/tmpfs.h"

#include "blk/blk.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"

static struct spinlock cdev_lock = SPINLOCK_INIT(RANK_VNODE);
static struct list cdevs = LIST_INIT(cdevs);
static struct vfs *devfs; /* [c] after /dev is mounted */

static const struct cred root_cred = {.refs = 1};

/* Makes the file `name` in /dev, unless it exists. */
static void devfs_create_node(const char *name, enum vtype type, uint32_t mode, uint64_t rdev,
                              const char *target)
{
    struct vnode *dir = devfs->root, *vn;
    int err;

    rw_enter_write(&dir->lock);
    err = tmpfs_ops.create(dir, name, strlen(name), type, mode, &root_cred, rdev, target, &vn);
    rw_exit_write(&dir->lock);
    if (err == 0)
        vn_release(vn);
    else if (err != -EEXIST)
        warn("/dev/%s: error %d", name, -err);
}

void cdev_register(struct cdev *d)
{
    spin_lock(&cdev_lock);
    list_push_back(&cdevs, &d->link);
    spin_unlock(&cdev_lock);
    if (devfs != NULL && d->name != NULL)
        devfs_create_node(d->name, VCHR, d->mode, d->rdev, NULL);
}

/*
 * The device after `d` in the list; d == NULL: the first.  NULL: there are no more devices.
 * Devices are never removed, so the lock need not be held between two calls.
 */
static struct cdev *next_cdev(struct cdev *d)
{
    struct list *l;

    spin_lock(&cdev_lock);
    l = d == NULL ? cdevs.next : d->link.next;
    spin_unlock(&cdev_lock);
    return l == &cdevs ? NULL : list_entry(l, struct cdev, link);
}

int cdev_open(struct vnode *vn, int oflags, struct file *f)
{
    struct cdev *d = NULL;

    while ((d = next_cdev(d)) != NULL && d->rdev != vn->rdev)
        ;
    if (d == NULL)
        return -ENXIO;
    if (d->ops != NULL)
        f->ops = d->ops;
    return d->open != NULL ? d->open(vn, oflags, f) : 0;
}

static int devfs_mount(const char *source, const char *options, unsigned flags, struct vfs **out)
{
    static const char *const links[][2] = {
        {"fd", "/proc/self/fd"},
        {"stdin", "/proc/self/fd/0"},
        {"stdout", "/proc/self/fd/1"},
        {"stderr", "/proc/self/fd/2"},
    };
    struct cdev *d = NULL;
    int err;

    if (devfs == NULL) {
        err = tmpfs_mount(source, "size=16m,mode=755", flags, &devfs);
        if (err != 0)
            return err;
        devfs->type = "devtmpfs";
        while ((d = next_cdev(d)) != NULL)
            if (d->name != NULL)
                devfs_create_node(d->name, VCHR, d->mode, d->rdev, NULL);
        for (struct disk *k = disk_next(NULL); k != NULL; k = disk_next(k))
            devfs_create_node(disk_name(k), VBLK, 0600, disk_dev(k), NULL);
        for (unsigned i = 0; i < array_size(links); i++)
            devfs_create_node(links[i][0], VLNK, 0777, 0, links[i][1]);
        devfs_create_node("shm", VDIR, 0755, 0, NULL);
        devfs_create_node("pts", VDIR, 0755, 0, NULL);
    }
    *out = devfs;
    return 0;
}

void devfs_init(void)
{
    static struct vfs_type type = {.name = "devtmpfs", .mount = devfs_mount};

    vfs_register_type(&type);
}
