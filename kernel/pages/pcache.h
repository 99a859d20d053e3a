// SPDX-License-Identifier: MIT
/*
 * pcache.h - inside the page cache: shared by pcache.c, pcache_read.c and object.c.
 */
#ifndef PAGES_PCACHE_H
#define PAGES_PCACHE_H

#include "pages/object.h"
#include "pages/paging.h"

void pcache_boot(void);
/* pcache_cluster - pages of the largest transfer (maxphys). */
uint64_t pcache_cluster(void);
/* pcache_tag_dirty, pcache_untag_dirty - set, clear PG_DIRTY of a page in the tree, where it is not so.  o->lock. */
void pcache_tag_dirty(struct vm_object *o, struct page *pg);
void pcache_untag_dirty(struct vm_object *o, struct page *pg);
/* pcache_forget - a page is about to leave the tree, whatever it holds.  o->lock. */
void pcache_forget(struct vm_object *o, struct page *pg);
/* pcache_unmapped - nobody maps the file any more: pages first .. last that are clean go onto the cache list. */
void pcache_unmapped(struct vm_object *o, uint64_t first, uint64_t last);
/* pcache_kind - what its pages are to the pageout daemon. */
static inline enum page_kind pcache_kind(const struct vm_object *o)
{
    return o->io->exec ? KIND_EXEC : KIND_FILE;
}
/* pcache_count_in, pcache_count_out - n pages come from the disk, or go there, with one request. */
void pcache_count_in(enum page_kind kind, unsigned n);
void pcache_count_out(enum page_kind kind, unsigned n);
/* pcache_count_around - n neighbours of a needed page are read; they have PG_AHEAD. */
void pcache_count_around(unsigned n);
/* page_touch_ahead - the first touch of a page with PG_AHEAD, if it is one: counts for what is read around. */
void page_touch_ahead(struct page *pg, struct around *a);
/* pcache_count_reclaim - a page was found on the cache list. */
void pcache_count_reclaim(void);
/* object_hurry - the running thread begins to wait for pages of the object that are being written, or read. */
void object_hurry(struct vm_object *o, bool write);
/* pcache_pin, pcache_unpin - keep an object that has a dirty page from going (object_io_fini).  pin: with o->lock. */
void pcache_pin(struct vm_object *o);
void pcache_unpin(struct vm_object *o);

#endif
