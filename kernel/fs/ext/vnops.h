// SPDX-License-Identifier: MIT
/*
 * vnops.h - internal interface of the kernel's side of the file system: vnops.c, mount.c, pages.c.
 */
#ifndef FS_EXT_VNOPS_H
#define FS_EXT_VNOPS_H

#include "fs/ext/ext.h"

extern const struct pager_ops ext_pager;
extern const struct vnodeops ext_ops;

/* ext_vn_trim - vnode operation trim. */
void ext_vn_trim(struct vnode *vn);
/* ext_page_block - the block of page `index`; 0: the page is a hole, or its blocks are not consecutive; -EIO. */
int ext_page_block(struct ext_inode *i, uint64_t index, uint32_t *pblk);
/*
 * ext_vn_fill_page - must be called before a file whose end lies inside a page grows to `size`.  If blocks are
 *                    smaller than pages, it allocates blocks for the rest of that page, up to `size`.  This
 *                    is necessary even if the page is clean and not mapped.  At the same time another thread can
 *                    make the page dirty for the old size (ext_page_mkwrite), and later stores to a dirty page
 *                    do not fault.  [W]  0 or an error.
 */
int ext_vn_fill_page(struct vnode *vn, uint64_t size);
/*
 * ext_wait_written - wait for the end of all writes of pages, of all files, that are in progress.  Pages whose write
 *                    was put off because memory was short are written now.
 */
void ext_wait_written(struct ext_fs *fs);
/* The functions that ext_mount() gets in the kernel; the host tests pass other functions. */
extern const struct ext_up ext_kernel_up;

#endif
