// SPDX-License-Identifier: MIT
/*
 * scan.h - looking at frames one after the other, whatever they are used for, and locking what they belong to.  scan.c.
 */
#ifndef PAGES_SCAN_H
#define PAGES_SCAN_H

#include "pages/object.h"
#include "pages/paging.h"

/* A place in the circle of all frames. */
struct scan_pos {
    unsigned stretch;
    struct page *at;
};

/* scan_start - the frame `offset` pages from the first.  scan_total - frames in the circle. */
struct scan_pos scan_start(uint64_t offset);
uint64_t scan_total(void);
/* scan_next - the frame at *pos, which moves on; *wrapped is set when that was the last of the circle. */
struct page *scan_next(struct scan_pos *pos, bool *wrapped);

/*
 * What a frame holds.  SCAN_UNPAGEABLE: mem_unpageable() or reserve_table() counts it, or it is a slab that goes with
 * other pages (kmem_cache_pageable()).  SCAN_OTHER: it is not counted.
 */
enum scan_use { SCAN_FREE, SCAN_UNPAGEABLE, SCAN_OTHER, SCAN_DISK, SCAN_ANON };
/* scan_use - a guess without a lock: good for counting, and for passing over. */
enum scan_use scan_use(const struct page *pg);

/* A page whose owner is locked.  A private one is held, too. */
struct scan_page {
    struct page *pg;
    struct vm_object *obj;      /* locked; NULL if private */
    struct anon_family *family; /* locked; NULL if not     */
    struct vm_object *in;       /* an object that names it; it stays while the family is locked */
};
/*
 * scan_lock - lock what the page belongs to, so that it stays where it is.  @who  the caller's slot, below SCANNERS.
 * false: it cannot be had at once, or the page is in no tree.  scan_unlock - let go.
 */
enum { SCAN_PAGEOUT, SCAN_FSFLUSH, SCANNERS };
bool scan_lock(unsigned who, struct page *pg, struct scan_page *out);
/* scan_neighbour - the page at `index` of the same object, held if it is private.  false: there is none in memory. */
bool scan_neighbour(const struct scan_page *sp, uint64_t index, struct scan_page *out);
void scan_unlock(const struct scan_page *sp);

#endif
