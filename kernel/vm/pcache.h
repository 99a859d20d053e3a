// SPDX-License-Identifier: MIT
/*
 * pcache.h - inside the page cache: shared by pcache.c, pcache_read.c and object.c.
 */
#ifndef VM_PCACHE_H
#define VM_PCACHE_H

#include "vm/object.h"

void pcache_boot(void);
/* pcache_cluster - pages of the largest transfer (maxphys). */
uint64_t pcache_cluster(void);
/* pcache_tag_dirty, pcache_untag_dirty - set and clear PG_DIRTY of a page in the tree that has it not, or has it.  o->lock. */
void pcache_tag_dirty(struct vm_object *o, struct page *pg);
void pcache_untag_dirty(struct vm_object *o, struct page *pg);

#endif
