// SPDX-License-Identifier: MIT
/*
 * cachelist.h - file pages that nobody maps and that are clean: memory that is as good as free.  See cachelist.c.
 */
#ifndef PAGES_CACHELIST_H
#define PAGES_CACHELIST_H

#include "mem/page.h"

/* cachelist_boot - empty lists.  cachelist_on - whether pages go there at all (pageout_policy 2). */
void cachelist_boot(void);
extern bool cachelist_on; /* [c] after pageout_start() */

/*
 * cachelist_put - a page of a file, in its tree, whose object's lock is held: onto its node's list, if it is fit for
 * it. @first  it will not be needed again: to be reused before all others
 * cachelist_take - off the list, if it is on it: it has become dirty, mapped, or leaves its tree.
 */
void cachelist_put(struct page *pg, bool first);
void cachelist_take(struct page *pg);
/*
 * cachelist_reclaim - free up to `want` pages of a node's list, oldest first.  Returns how many.  Any context but
 * inside mem; the caller holds no spin lock.
 */
unsigned cachelist_reclaim(unsigned node, unsigned want);
/* cachelist_pages - pages on all lists, or on a node's. */
uint64_t cachelist_pages(void);
uint64_t cachelist_pages_of(unsigned node);

#endif
