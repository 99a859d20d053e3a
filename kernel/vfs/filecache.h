// SPDX-License-Identifier: MIT
/*
 * filecache.h - read and write of files on a disk, one page at a time: filecache.c, for rdwr.c.
 */
#ifndef VFS_FILECACHE_H
#define VFS_FILECACHE_H

#include "vfs/vnode.h"

/*
 * cache_page_get - the page with byte `off`, held, read if need be, with read-ahead; uio->resid bytes are wanted from
 * there on.
 * 0 and *pg (NULL: the file has become shorter), -ENOMEM, -EIO.
 */
int cache_page_get(struct vnode *vn, uint64_t off, const struct uio *uio, struct page **pg);
/*
 * cache_read_end - a read of `n` bytes of an open file, or of the file itself if `ra` is NULL, has ended before byte
 * `off`: free what a long sequential reader left behind.
 */
void cache_read_end(struct vnode *vn, const struct readahead *ra, uint64_t off, size_t n);
/*
 * cache_write - write up to n bytes, of one page, at `off`; *done tells how many.  [W]
 * 0, -EFAULT -ENOSPC -EIO -ENOMEM -EROFS.
 */
int cache_write(struct vnode *vn, struct uio *uio, loff_t off, size_t n, size_t *done);
/*
 * cache_page_allocate - page `index`, which may lie beyond the end, with blocks for its first n bytes: dirty, held.
 * [W]  As cache_write.
 */
int cache_page_allocate(struct vnode *vn, uint64_t index, size_t n, struct page **pg);
/*
 * cache_has_blocks - whether all of page `index` has blocks: a write there cannot fail for want of room when it has
 * begun.  Where blocks are smaller than pages it may say no although it has.
 */
bool cache_has_blocks(struct vnode *vn, uint64_t index);

#endif
