// SPDX-License-Identifier: MIT
/*
 * pcache.h - internal interface of the page cache: shared by pcache.c, pcache_read.c and object.c.
 */
#ifndef PAGES_PCACHE_H
#define PAGES_PCACHE_H

#include "pages/object.h"
#include "pages/paging.h"

void pcache_boot(void);
/* pcache_cluster - number of pages of the largest transfer (maxphys). */
uint64_t pcache_cluster(void);
/*
 * pcache_forget - prepare a page to leave the tree: take it off its list and mark it clean.  The caller holds
 * o->lock.
 */
void pcache_forget(struct vm_object *o, struct page *pg);
/*
 * pcache_unmapped - move the clean pages of first .. last to the cache list, because the file is not mapped any
 * more.
 */
void pcache_unmapped(struct vm_object *o, uint64_t first, uint64_t last);
/* pcache_kind - the kind of the pages of an object, for the pageout daemon. */
static inline enum page_kind pcache_kind(const struct vm_object *o)
{
    return o->io->exec ? KIND_EXEC : KIND_FILE;
}
/*
 * pcache_count_in, pcache_count_out - count one request that reads n pages from the disk, or writes n pages to
 * the disk.
 */
void pcache_count_in(enum page_kind kind, unsigned n);
void pcache_count_out(enum page_kind kind, unsigned n);
/* pcache_count_around - count n neighbours of a needed page that are being read; they have PG_AHEAD. */
void pcache_count_around(unsigned n);
/*
 * page_touch_ahead - called when a page is touched.  If the page has PG_AHEAD, this touch is its first: clear
 * PG_AHEAD, and count the page in *a.
 */
void page_touch_ahead(struct page *pg, struct around *a);
/* pcache_count_reclaim - count a page that was found on the cache list. */
void pcache_count_reclaim(void);
/*
 * object_hurry - tell the file system that the running thread begins to wait for pages of the
 * object that are being read, or with `write`, for pages that are being written.
 */
void object_hurry(struct vm_object *o, bool write);
/*
 * pcache_pin, pcache_unpin - keep an object that has a dirty page from being freed: object_io_fini() waits for
 * the unpin.  The caller of pcache_pin() holds o->lock.
 */
void pcache_pin(struct vm_object *o);
void pcache_unpin(struct vm_object *o);

#endif
