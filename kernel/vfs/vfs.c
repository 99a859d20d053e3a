// SPDX-License-Identifier: MIT
/*
 * vfs.c - file systems: their types, mounting and unmounting.
 *
 * THEORY      All file systems of the machine form one tree of names.  Mounting a file system on a directory
 *             makes path names that reach the directory continue at the root of the file system; the old
 *             contents of the directory are hidden until the file system is unmounted.
 *             Two pointers join them: the directory's `mounted` leads down to the file system, and the file
 *             system's `covered` leads up to the directory.  A look-up that finds a vnode with `mounted` set
 *             goes on at the other side (vfs_cross).
 *             An unmount first sets vfs->leaving, then checks whether the file system is in use.  A look-up
 *             that reaches the mount in between waits.  The look-up must not enter a file system
 *             that is about to be unmounted, and must not see the covered directory, because the
 *             unmount can still fail.
 * INVARIANTS  I1  vn->mounted == vfs iff vfs->covered == vn, and vfs holds a reference to vn
 * LOCKING     mount_mutex is held during mounting and unmounting, and guards the list.  cross_lock (RANK_VNODE)
 *             guards the pair of pointers of I1 and vfs->leaving.  A look-up takes cross_lock to go down.  To
 *             go up, a look-up needs no lock, because its reference to the root keeps the file system mounted.
 * SEE ALSO    name.c, fs/root.c
 */
#include "vfs/bdev.h"
#include "vfs/filepriv.h"
#include "vfs/name.h"

#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"
#include "stat/tunable.h"

struct vnode *vfs_root;

static struct mutex mount_mutex;
static struct spinlock cross_lock = SPINLOCK_INIT(RANK_VNODE);
static struct cv umount_ended; /* with cross_lock: an unmount has succeeded or failed */
static struct list mounts = LIST_INIT(mounts);
static struct list types = LIST_INIT(types);

static const struct cred root_cred = {.refs = 1};

void vfs_register_type(struct vfs_type *t)
{
    list_push_back(&types, &t->link);
}

const struct vfs_type *vfs_next_type(const struct vfs_type *t)
{
    const struct list *next = t == NULL ? types.next : t->link.next;

    return next == &types ? NULL
                          : list_entry((struct list *)(uintptr_t)next, struct vfs_type, link);
}

struct vfs *vfs_alloc(const char *type, const struct vfs_ops *op, const char *source,
                      uint32_t magic)
{
    static _Atomic uint64_t dev = 1;
    struct vfs *vfs = kmem_zalloc(sizeof *vfs);

    if (vfs == NULL)
        return NULL;
    vfs->type = type;
    vfs->op = op;
    vfs->magic = magic;
    vfs->dev = atomic_fetch_add(&dev, 1); /* a disk has its own number */
    vfs->id = (unsigned)vfs->dev;
    str_copy(vfs->source, source, sizeof vfs->source);
    mutex_init(&vfs->rename_lock, SLEEP_RENAME);
    list_init(&vfs->link);
    return vfs;
}

void vfs_free(struct vfs *vfs)
{
    kmem_free(vfs);
}

void vfs_cross(struct vnode **vn)
{
    for (;;) {
        struct vnode *root = NULL;
        struct vfs *vfs;

        spin_lock(&cross_lock);
        while ((vfs = (*vn)->mounted) != NULL && vfs->leaving)
            cv_wait_spin(&umount_ended, &cross_lock, "umount");
        if (vfs != NULL) {
            root = vfs->root;
            vn_hold(root);
        }
        spin_unlock(&cross_lock);
        if (root == NULL)
            return;
        vn_release(*vn);
        *vn = root;
    }
}

const struct vfs_type *vfs_find_type(const char *name)
{
    const struct vfs_type *t = NULL;

    while ((t = vfs_next_type(t)) != NULL)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

/*
 * Sets both pointers between vfs and `dir` (I1).  -EBUSY: `dir` is covered already; -ENOENT: `dir` has been removed.
 */
static int attach_mount(struct vfs *vfs, struct vnode *dir)
{
    int err = 0;

    spin_lock(&cross_lock);
    if (dir->mounted != NULL || dir->nlink == 0) {
        err = dir->nlink == 0 ? -ENOENT : -EBUSY;
    } else {
        dir->mounted = vfs;
        vfs->covered = dir;
        vn_hold(dir);
    }
    spin_unlock(&cross_lock);
    return err;
}

int vfs_set_readonly(struct vfs *vfs, bool readonly)
{
    bool before = vfs->readonly;

    vfs->readonly = readonly;
    if (!readonly || vfs->writers == 0)
        return 0;
    vfs->readonly = before;
    return -EBUSY;
}

/*
 * `mount -o remount`: gives new options to the file system whose root is `dir`.  -EINVAL: `dir` is
 * not a root.
 */
static int remount_vfs(struct vnode *dir, const char *options, unsigned flags)
{
    struct vfs *vfs = dir->vfs;
    unsigned before = vfs->flags;
    int err;

    if (vfs->root != dir)
        return -EINVAL;
    mutex_enter(&mount_mutex);
    vfs->flags = flags & MS_KEPT;
    if (vfs->op != NULL && vfs->op->remount != NULL) {
        err = vfs->op->remount(vfs, options, flags);
    } else if (*options != '\0') {
        err = -EINVAL; /* the file system has no options */
    } else {
        err = vfs_set_readonly(vfs, (flags & MS_RDONLY) != 0);
    }
    if (err != 0)
        vfs->flags = before;
    mutex_exit(&mount_mutex);
    return err;
}

/*
 * Attaches to `dir` the vfs that a type's mount function has returned.  After an error of attach_mount(), unmounts and
 * frees it.  -EBUSY also: the type has a single instance, which is mounted already.  The caller holds mount_mutex.
 */
static int attach_new_mount(struct vfs *vfs, struct vnode *dir)
{
    int err;

    if (vfs->covered != NULL)
        return -EBUSY;
    err = attach_mount(vfs, dir);
    if (err == 0)
        list_push_back(&mounts, &vfs->link);
    else if (vfs->op->unmount != NULL && vfs->op->unmount(vfs) == 0)
        vfs_free(vfs);
    return err;
}

int vfs_mount(struct vnode *dir, const char *type, const char *source, const char *options,
              unsigned flags)
{
    /* These flags are accepted and have no effect. */
    const unsigned silent = MS_NODIRATIME | MS_SILENT | MS_RELATIME;
    const struct vfs_type *t = vfs_find_type(type);
    struct vfs *vfs;
    int err;

    if ((flags & ~(MS_RDONLY | MS_REMOUNT | MS_KEPT | silent)) != 0)
        return -EINVAL; /* bind mounts, moving a mount, ... are not supported */
    if (flags & MS_REMOUNT)
        return remount_vfs(dir, options, flags);
    if (t == NULL)
        return -ENODEV;
    if (dir->type != VDIR)
        return -ENOTDIR;
    err = t->mount(source, options, flags, &vfs);
    if (err != 0)
        return err;
    mutex_enter(&mount_mutex);
    if (flags & MS_RDONLY)
        vfs->readonly = true;
    vfs->flags |= flags & MS_KEPT;
    err = attach_new_mount(vfs, dir);
    mutex_exit(&mount_mutex);
    return err;
}

int vfs_unmount(struct vnode *root, unsigned flags)
{
    struct vfs *vfs = root->vfs;
    struct vnode *covered;
    int err;

    if (vfs->root != root || vfs->covered == NULL || (flags & ~(MNT_FORCE | UMOUNT_NOFOLLOW)) != 0)
        return -EINVAL;
    if (vfs->op->unmount == NULL)
        return -EBUSY;
    mutex_enter(&mount_mutex);
    covered = vfs->covered;
    if (covered == NULL) {
        mutex_exit(&mount_mutex);
        return -EINVAL;
    }
    spin_lock(&cross_lock);
    vfs->leaving = true;
    spin_unlock(&cross_lock);
    /* drop the caller's reference, because op->unmount counts each reference as a use */
    vn_release(root);
    err = vfs->op->unmount(vfs);
    if (err != 0)
        vn_hold(root);
    spin_lock(&cross_lock);
    vfs->leaving = false;
    if (err == 0)
        covered->mounted = NULL;
    cv_broadcast(&umount_ended);
    spin_unlock(&cross_lock);
    if (err == 0) {
        list_remove(&vfs->link);
        vfs_free(vfs);
        vn_release(covered);
    }
    mutex_exit(&mount_mutex);
    return err;
}

void vfs_each(int (*fn)(struct vfs *vfs, const char *path, void *arg), void *arg)
{
    struct fs_ctx ctx = {vfs_root, vfs_root, &root_cred};
    struct vfs *vfs;
    char *path = kmem_alloc(PAGE_SIZE);

    if (path == NULL)
        return;
    mutex_enter(&mount_mutex);
    LIST_FOREACH (vfs, &mounts, link) {
        if (name_of(&ctx, vfs->root, path, PAGE_SIZE) < 0)
            continue;
        if (fn(vfs, path, arg) != 0)
            break;
    }
    mutex_exit(&mount_mutex);
    kmem_free(path);
}

static void sync_all_mounts(bool data)
{
    struct vfs *vfs;

    mutex_enter(&mount_mutex);
    LIST_FOREACH (vfs, &mounts, link)
        if (vfs->op->sync != NULL)
            vfs->op->sync(vfs, data);
    mutex_exit(&mount_mutex);
}

void vfs_sync_all(void)
{
    sync_all_mounts(true);
    bdev_sync_all();
}

int vfs_sync_one(struct vfs *vfs)
{
    return vfs->op->sync != NULL ? vfs->op->sync(vfs, true) : 0;
}

/* Writes the metadata of all file systems, but not the pages of files.  For fsflush, which writes pages itself. */
void vfs_sync_inodes(void)
{
    sync_all_mounts(false);
}

void vfs_shutdown(void)
{
    struct vfs *vfs;

    vfs_sync_all();
    mutex_enter(&mount_mutex);
    LIST_FOREACH (vfs, &mounts, link)
        if (vfs->op->shutdown != NULL)
            vfs->op->shutdown(vfs);
    mutex_exit(&mount_mutex);
}

/*
 * Whether the caller owns the file or can write it.  madvise(2) evicts only pages of such files
 * (vm/cold.c).
 */
bool vn_may_write(struct vnode *vn)
{
    const struct cred *cr = proc_cred();

    return cr->fsuid == 0 || cr->fsuid == vn->uid || vn_access(vn, 2, cr) == 0;
}

void vfs_set_root(struct vfs *vfs)
{
    vfs_root = vfs->root;
    list_push_back(&mounts, &vfs->link);
}

void vfs_init(void)
{
    mutex_init(&mount_mutex, SLEEP_MOUNT);
    cv_init(&umount_ended);
    file_init();
    fdtable_init();
    lock_init();
    bdev_init();
}
