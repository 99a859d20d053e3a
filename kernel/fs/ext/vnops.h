// SPDX-License-Identifier: MIT
/*
 * vnops.h - what the kernel's side of the file system (vnops.c, mount.c, pages.c) knows of itself.
 */
#ifndef FS_EXT_VNOPS_H
#define FS_EXT_VNOPS_H

#include "fs/ext/ext.h"

extern const struct pager_ops ext_pager;
extern const struct vnodeops ext_ops;

/* ext_vn_prepare - vnode operation prepare_write. */
int ext_vn_prepare(struct vnode *vn, uint64_t off, uint64_t len);
/*
 * ext_vn_fill_page - the file is to grow from inside a page to `size`.  Where blocks are smaller than pages, all of
 *                    that page gets blocks, also if it is clean and not mapped: another thread may be about to make it
 *                    dirty for the old size (ext_page_mkwrite), and a store to a dirty page does not fault.  [W]
 */
int ext_vn_fill_page(struct vnode *vn, uint64_t size);
/* ext_wait_written - all data of all files that is on its way to the disk has come there. */
void ext_wait_written(struct ext_fs *fs);
/* The struct ext_up of the kernel. */
extern const struct ext_up ext_kernel_up;

#endif
