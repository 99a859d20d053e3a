// SPDX-License-Identifier: MIT
/*
 * stubs.c - stubs of functions in higher folders, for host tests of pages/ and vm/ without vfs/ and proc/.  In
 * these tests there are no files.  The functions are weak, so that a test can define its own.
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
