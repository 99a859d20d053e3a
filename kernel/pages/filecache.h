// SPDX-License-Identifier: MIT
/*
 * filecache.h - read and write of files on a disk, one page at a time; used by vfs/rdwr.c.
 */
#ifndef PAGES_FILECACHE_H
#define PAGES_FILECACHE_H

#include "pages/object.h"
#include "x86/uaccess.h"

/*
 * One write(2) to a file.  The caller fills in the first fields once.  Each step writes to one page at most.
 * Then the caller advances `off`, `left` and `size` by `done`.  The last fields are for cache_write() alone.
 */
struct file_write {
    struct vm_object *obj; /* the file's pages          */
    struct uio *uio;       /* the program's bytes       */
    uint64_t off;          /* file offset of the next byte to write  */
    size_t left;           /* bytes still to write      */
    uint64_t size;         /* size of the file in bytes */
    size_t done;           /* bytes of this step that were written */
    size_t n;              /* bytes of this step        */
    struct page *pg; /* page of this step, with a reference; NULL: the page is not in the tree */
};

/*
 * cache_page_get - get the page with byte `off`, with a reference.  If absent, it is read from the disk, with
 * read-ahead.  The caller wants uio->resid bytes from `off` on.
 * Returns 0 and *pg (NULL: the file has become shorter), -ENOMEM, -EIO.
 */
int cache_page_get(struct vm_object *o, uint64_t off, const struct uio *uio, struct page **pg);
/*
 * cache_read_end - a read of the n bytes before `off` has ended.  If the read is part of a long sequential read
 * and memory is short, free the pages that were read (free-behind).
 * @ra  read-ahead state of the open file; NULL: the read had no open file
 */
void cache_read_end(struct vm_object *o, const struct readahead *ra, uint64_t off, size_t n);
/*
 * cache_write - do one step of a write to a file on a disk: up to the end of the page, or up to the end of the
 * file if that lies in the page.  w->done is the number of bytes written, also after an error.  The caller
 * holds the file's lock for writing.  0, -EFAULT -ENOSPC -EIO -ENOMEM -EROFS.
 */
int cache_write(struct file_write *w);
/*
 * cache_page_allocate - get page `index`, which may lie beyond the end of the file, with blocks for its first
 * n bytes.  *pg is dirty, and has a reference for the caller.  Errors and lock as for cache_write().
 */
int cache_page_allocate(struct vm_object *o, uint64_t index, size_t n, struct page **pg);
/*
 * cache_has_blocks - whether all of page `index` has disk blocks.  If so, a write there cannot fail because the
 * disk is full.  If blocks are smaller than pages, the result may be false although the page has all its
 * blocks.
 */
bool cache_has_blocks(struct vm_object *o, uint64_t index);

#endif
