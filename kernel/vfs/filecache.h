// SPDX-License-Identifier: MIT
/*
 * filecache.h - read and write of files on a disk, one page at a time; used by rdwr.c.
 */
#ifndef VFS_FILECACHE_H
#define VFS_FILECACHE_H

#include "vfs/vnode.h"

/*
 * cache_page_get - get the page with byte `off`, held.  It is read from the disk if it is absent, with
 * read-ahead.  The caller wants uio->resid bytes from `off` on.
 * 0 and *pg (NULL: the file has become shorter), -ENOMEM, -EIO.
 */
int cache_page_get(struct vnode *vn, uint64_t off, const struct uio *uio, struct page **pg);
/*
 * cache_read_end - a read of the n bytes before `off` has ended.  If it is part of a long sequential read,
 * free the pages that it has passed, when memory is short (free-behind).
 * @ra  read-ahead state of the open file; NULL: the read had no open file
 */
void cache_read_end(struct vnode *vn, const struct readahead *ra, uint64_t off, size_t n);
/*
 * cache_write - write up to n bytes at `off`, within one page; *done is the number written, also after an
 * error.  It may be less than n without an error: a write across the end of the file stops at the end.  [W]
 * 0, -EFAULT -ENOSPC -EIO -ENOMEM -EROFS.
 */
int cache_write(struct vnode *vn, struct uio *uio, loff_t off, size_t n, size_t *done);
/*
 * cache_page_allocate - get page `index`, which may lie beyond the end of the file, with blocks for its first
 * n bytes.  *pg is dirty, and held.  Errors as for cache_write().  [W]
 */
int cache_page_allocate(struct vnode *vn, uint64_t index, size_t n, struct page **pg);
/*
 * cache_has_blocks - whether all of page `index` has disk blocks: then a write there cannot fail because the
 * disk is full.  If blocks are smaller than pages, the result may be false although the
 * page has all its blocks.
 */
bool cache_has_blocks(struct vnode *vn, uint64_t index);

#endif
