// SPDX-License-Identifier: MIT
/*
 * vnode.c - what all vnodes have in common: references, permissions, attributes.
 *
 * THEORY      The attributes that every file has (mode, owner, size, times) are fields of the vnode, so that
 *             permission checks and stat need no call into the file system.  A file system whose attributes
 *             change without a store to these fields (procfs) corrects them in op->getattr.
 *             A time is one 64-bit word, in nanoseconds since 1970, so that each load and store is atomic.
 *             A caller with fsuid 0 has all permissions, but cannot execute a file that has no execute bit.
 * INVARIANTS  I1  a vnode in use has refs > 0.  A look-up by name finds only vnodes to which the directory
 *                 entry holds a reference, so a count that has fallen to 0 never rises again
 *             I2  vn->writers > 0: the number of opens for writing and of writable shared mappings;
 *                 vn->writers < 0: minus the number of executions
 * LOCKING     vn_setattr() takes vn->lock for writing; all other accesses are atomic or single stores.
 * SEE ALSO    name.c (names), rdwr.c (data), file.c (open files)
 */
#include "vfs/file.h"

#include "disp/timer.h"
#include "vfs/bdev.h"
#include "lib/errno.h"
#include "lib/string.h"

#define S_ISUID 04000u
#define S_ISGID 02000u
#define NS      1000000000

void vn_init(struct vnode *vn, struct vfs *vfs, enum vtype type, const struct vnodeops *op,
             const struct pager_ops *pager)
{
    memset(vn, 0, sizeof *vn);
    vn->refs = 1;
    vn->type = (uint8_t)type;
    vn->op = op;
    vn->vfs = vfs;
    vn->nlink = 1;
    rw_init(&vn->lock, SLEEP_VNODE);
    if (type == VREG)
        object_init_vnode(&vn->obj, pager, vn);
}

void vnode_hold(struct vnode *vn)
{
    vn_hold(vn);
}

void vn_release(struct vnode *vn)
{
    if (atomic_fetch_sub_explicit(&vn->refs, 1, memory_order_acq_rel) == 1)
        vn->op->inactive(vn);
}

void vn_times_now(struct vnode *vn, unsigned mask)
{
    int64_t now = (int64_t)clock_real_ns();

    if (mask & VA_ATIME)
        vn->atime_ns = now;
    if (mask & VA_MTIME)
        vn->mtime_ns = now;
    if (mask != VA_ATIME)
        vn->ctime_ns = now;
}

int vn_get_write(struct vnode *vn)
{
    int32_t n = atomic_load_explicit(&vn->writers, memory_order_relaxed);

    do {
        if (n < 0)
            return -ETXTBSY;
    } while (!atomic_compare_exchange_weak(&vn->writers, &n, n + 1));
    atomic_fetch_add(&vn->vfs->writers, 1);
    /* Test `readonly` after counting: so vfs_set_readonly() sees our count, or we see its flag. */
    if (!vn->vfs->readonly)
        return 0;
    vn_count_write(vn, -1);
    return -EROFS;
}

void vn_count_write(struct vnode *vn, int n)
{
    atomic_fetch_add(&vn->vfs->writers, n);
    atomic_fetch_add(&vn->writers, n);
}

int vn_deny_write(struct vnode *vn)
{
    int32_t n = atomic_load_explicit(&vn->writers, memory_order_relaxed);

    do {
        if (n > 0)
            return -ETXTBSY;
    } while (!atomic_compare_exchange_weak(&vn->writers, &n, n - 1));
    return 0;
}

void vn_allow_write(struct vnode *vn)
{
    atomic_fetch_add(&vn->writers, 1);
}

bool cred_in_group(const struct cred *cr, uint32_t gid)
{
    if (cr->fsgid == gid)
        return true;
    for (unsigned i = 0; i < cr->ngroups; i++)
        if (cr->groups[i] == gid)
            return true;
    return false;
}

/* Do the owner and mode of a file grant the rights in `mask`?  0 or -EACCES. */
static inline int check_mode(const struct vnode *vn, uint32_t mode, uint32_t uid, uint32_t gid,
                             unsigned mask, const struct cred *cr)
{
    if (cr->fsuid == 0)
        return (mask & 1) && vn->type != VDIR && (mode & 0111) == 0 ? -EACCES : 0;
    if (unlikely((vn->attr & VN_ACL) && cr->fsuid != uid))
        return -EACCES;
    if (cr->fsuid == uid)
        mode >>= 6;
    else if (((mode >> 3 ^ mode) & mask) != 0 && cred_in_group(cr, gid))
        mode >>= 3; /* the groups are searched only if group and others have different rights */
    return (mode & mask) == mask ? 0 : -EACCES;
}

/* vn_access() of a file whose owner and mode the file system computes (procfs). */
static __attribute__((noinline)) int check_computed_mode(struct vnode *vn, unsigned mask,
                                                         const struct cred *cr)
{
    struct vattr va;

    vn_getattr(vn, &va);
    return check_mode(vn, va.mode, va.uid, va.gid, mask, cr);
}

int vn_access(struct vnode *vn, unsigned mask, const struct cred *cr)
{
    if ((mask & 2) && vn->vfs->readonly &&
        (vn->type == VREG || vn->type == VDIR || vn->type == VLNK))
        return -EROFS;
    if (unlikely((mask & 2) && (vn->attr & VN_IMMUTABLE)))
        return -EPERM;
    if (unlikely(vn->op->getattr != NULL))
        return check_computed_mode(vn, mask, cr);
    return check_mode(vn, vn->mode, vn->uid, vn->gid, mask, cr);
}

static struct ktime ktime_of(int64_t ns)
{
    struct ktime t = {ns / NS, ns % NS};

    if (t.nsec < 0) {
        t.nsec += NS;
        t.sec--;
    }
    return t;
}

static int64_t ns_of_ktime(const struct ktime *t)
{
    if (t->sec > INT64_MAX / NS - 1)
        return INT64_MAX;
    if (t->sec < INT64_MIN / NS + 1)
        return INT64_MIN;
    return t->sec * NS + t->nsec;
}

void vn_getattr(struct vnode *vn, struct vattr *va)
{
    va->type = (enum vtype)vn->type;
    va->mode = vn->mode;
    va->nlink = vn->nlink;
    va->uid = vn->uid;
    va->gid = vn->gid;
    va->ino = vn->ino;
    va->size = vn->size;
    if (vn->op->blocks != NULL)
        va->blocks = vn->op->blocks(vn);
    else
        va->blocks = vn->type == VREG ? vn->obj.npages * (PAGE_SIZE / 512) : 0;
    va->dev = vn->vfs->dev;
    va->rdev = vn->rdev;
    va->blksize = PAGE_SIZE;
    va->atime = ktime_of(vn->atime_ns);
    va->mtime = ktime_of(vn->mtime_ns);
    va->ctime = ktime_of(vn->ctime_ns);
    if (vn->op->getattr != NULL)
        vn->op->getattr(vn, va);
}

int vn_setattr_default(struct vnode *vn, unsigned mask, const struct vattr *va)
{
    unsigned now = 0;

    if (mask & VA_MODE)
        vn->mode = va->mode;
    if (mask & VA_UID)
        vn->uid = va->uid;
    if (mask & VA_GID)
        vn->gid = va->gid;
    if (mask & VA_ATIME_NOW)
        now |= VA_ATIME;
    else if (mask & VA_ATIME)
        vn->atime_ns = ns_of_ktime(&va->atime);
    if (mask & VA_MTIME_NOW)
        now |= VA_MTIME;
    else if (mask & VA_MTIME)
        vn->mtime_ns = ns_of_ktime(&va->mtime);
    vn_times_now(vn, now);
    vn_times_now(vn, 0);
    return 0;
}

uint32_t vn_mode_without_setid(const struct vnode *vn, uint32_t mode)
{
    if (vn->type == VDIR)
        return mode;
    mode &= ~S_ISUID;
    return mode & 010 ? mode & ~S_ISGID : mode;
}

/* Checks that `cr` is allowed to change the attributes in `mask`, apart from the size.  0, -EPERM, -EACCES. */
static int may_setattr(struct vnode *vn, unsigned mask, const struct vattr *va,
                       const struct cred *cr)
{
    bool owner = cr->fsuid == vn->uid;

    if ((vn->attr & (VN_IMMUTABLE | VN_APPEND)) &&
        (mask & (VA_MODE | VA_UID | VA_GID | VA_ATIME | VA_MTIME)))
        return -EPERM;
    if ((vn->attr & VN_IMMUTABLE) && (mask & (VA_ATIME_NOW | VA_MTIME_NOW)))
        return -EPERM;
    if (cr->fsuid == 0)
        return 0;
    if (vn->type == VANON && !(mask & (VA_ATIME_NOW | VA_MTIME_NOW)))
        return 0; /* setattr refuses the change for all users */
    if ((mask & VA_MODE) && !owner)
        return -EPERM;
    if ((mask & VA_UID) && !(owner && va->uid == vn->uid))
        return -EPERM;
    if ((mask & VA_GID) && !(owner && (va->gid == vn->gid || cred_in_group(cr, va->gid))))
        return -EPERM;
    if ((mask & (VA_ATIME | VA_MTIME)) && !owner)
        return -EPERM;
    if ((mask & (VA_ATIME_NOW | VA_MTIME_NOW)) && !owner)
        return vn_access(vn, 2, cr);
    return 0;
}

/*
 * Checks that `cr` is allowed to set the size; `writable` is as for vn_setattr().  If the size is beyond
 * RLIMIT_FSIZE, also sends SIGXFSZ.
 */
static int may_resize(struct vnode *vn, uint64_t size, const struct cred *cr, bool writable)
{
    if (vn->type == VDIR)
        return -EISDIR;
    if (vn->type != VREG || (int64_t)size < 0)
        return -EINVAL;
    if (!writable) {
        int err = vn_access(vn, 2, cr);

        if (err != 0)
            return err;
    }
    if (vn->attr & VN_APPEND)
        return -EPERM;
    if (size > vn->size && size > proc_fsize_limit()) {
        proc_signal_self(SIGXFSZ);
        return -EFBIG;
    }
    return 0;
}

/* Makes a change that has been permitted: clears set-id bits if the change requires it, calls op->setattr.  [W] */
static int setattr_locked(struct vnode *vn, unsigned mask, const struct vattr *va,
                          const struct cred *cr)
{
    struct vattr v = *va;

    if (mask & VA_MODE) {
        v.mode &= 07777;
        if (cr->fsuid != 0 && !cred_in_group(cr, vn->gid))
            v.mode &= ~S_ISGID;
    } else if ((mask & (VA_UID | VA_GID)) || ((mask & VA_SIZE) && cr->fsuid != 0)) {
        v.mode = vn_mode_without_setid(vn, vn->mode);
        mask |= VA_MODE;
    }
    return vn->op->setattr(vn, mask, &v);
}

static int check_setattr(struct vnode *vn, unsigned mask, const struct vattr *va,
                         const struct cred *cr, bool writable)
{
    int err = may_setattr(vn, mask, va, cr);

    return err == 0 && (mask & VA_SIZE) != 0 ? may_resize(vn, va->size, cr, writable) : err;
}

int vn_setattr(struct vnode *vn, unsigned mask, const struct vattr *va, const struct cred *cr,
               bool writable)
{
    int err;

    if (vn->vfs->readonly)
        return -EROFS;
    if (vn->op->setattr == NULL)
        return -EPERM;
    if ((mask & VA_SIZE) && !writable) {
        /* Check rights first: a caller without rights gets EACCES, not ETXTBSY. */
        err = check_setattr(vn, mask, va, cr, false);
        if (err == 0)
            err = vn_get_write(vn);
        if (err != 0)
            return err;
    }
    rw_enter_write(&vn->lock);
    /* check again, because the owner may have changed */
    err = check_setattr(vn, mask, va, cr, writable);
    if (err == 0)
        err = setattr_locked(vn, mask, va, cr);
    rw_exit_write(&vn->lock);
    if ((mask & VA_SIZE) && !writable)
        vn_count_write(vn, -1);
    return vn_changed(vn, false, err);
}

int vn_readlink(struct vnode *vn, char *buf, size_t size)
{
    if (vn->type != VLNK || vn->op->readlink == NULL)
        return -EINVAL;
    return vn->op->readlink(vn, buf, size);
}

int vn_fsync(struct vnode *vn, bool data_only)
{
    if (vn->type == VBLK)
        return bdev_fsync(vn->rdev);
    if (vn->op->fsync != NULL)
        return vn->op->fsync(vn, data_only);
    return vn->obj.io != NULL ? object_sync(&vn->obj, 0, UINT64_MAX) : 0;
}

int vn_changed(struct vnode *vn, bool sync, int err)
{
    return err == 0 && (sync || (vn->vfs->flags & MS_SYNCHRONOUS) != 0) ? vn_fsync(vn, false) : err;
}
