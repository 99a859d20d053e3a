// SPDX-License-Identifier: MIT
/*
 * stubs.c - what pages/ and vm/ call upwards, for host tests without vfs/ and proc/: no files.
 *
 * Weak, so that a test can have its own.
 */
#include "pages/object.h"

__attribute__((weak)) void vnode_hold(struct vnode *vn)
{
    (void)vn;
}

__attribute__((weak)) void vn_release(struct vnode *vn)
{
    (void)vn;
}

__attribute__((weak)) void vn_count_write(struct vnode *vn, int n)
{
    (void)vn, (void)n;
}

__attribute__((weak)) int vn_fsync(struct vnode *vn, bool data_only)
{
    (void)vn, (void)data_only;
    return 0;
}

__attribute__((weak)) bool vn_may_write(struct vnode *vn)
{
    (void)vn;
    return true;
}

__attribute__((weak)) void vfs_sync_inodes(void)
{
}
