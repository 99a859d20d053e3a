// SPDX-License-Identifier: MIT
/*
 * cachelist.h - clean file pages that are not mapped: memory that is as good as free.  See cachelist.c.
 */
#ifndef PAGES_CACHELIST_H
#define PAGES_CACHELIST_H

#include "mem/page.h"

/* cachelist_boot - make empty lists.  cachelist_on - whether the cache list is used (pageout_policy 2). */
void cachelist_boot(void);
extern bool cachelist_on; /* [c] after pageout_start() */

/*
 * cachelist_put - put a page that is in a file's tree on its node's list, if the page is clean, not mapped and
 * not busy.  The caller holds the object's lock.
 * @first  the page will probably not be needed again: it is reused before all others
 * cachelist_take - remove a page from the list, if it is there.  Called when the page becomes dirty or mapped,
 * or leaves its tree.
 */
void cachelist_put(struct page *pg, bool first);
void cachelist_take(struct page *pg);
/*
 * cachelist_reclaim - free up to `want` pages of a node's list, oldest first.  Returns the number freed.
 * Can be called in any context.  The caller holds no spin lock, and is not inside mem/.
 */
unsigned cachelist_reclaim(unsigned node, unsigned want);
/*
 * cachelist_pages - number of pages on all lists; cachelist_pages_of - number of pages on the list
 * of one node.
 */
uint64_t cachelist_pages(void);
uint64_t cachelist_pages_of(unsigned node);

#endif
