// SPDX-License-Identifier: MIT
/*
 * scan.h - visits all frames in turn, and locks the owner of a frame.  See scan.c.
 */
#ifndef PAGES_SCAN_H
#define PAGES_SCAN_H

#include "pages/owner.h"
#include "pages/paging.h"

/* A position in the circle of all frames. */
struct scan_pos {
    unsigned stretch;
    struct page *at;
};

/*
 * scan_start - return the position `offset` frames after the first one.  scan_total - number of frames in the
 * circle.
 */
struct scan_pos scan_start(uint64_t offset);
uint64_t scan_total(void);
/*
 * scan_next - return the frame at *pos and advance *pos.  Sets *wrapped when *pos starts again at the first
 * frame.
 */
struct page *scan_next(struct scan_pos *pos, bool *wrapped);

/*
 * Use of a frame.  SCAN_UNPAGEABLE: mem_unpageable() or reserve_table() counts it, or it belongs to a slab
 * of kmem_cache_pageable().  SCAN_OTHER: the frame cannot be freed, and is not counted elsewhere.
 */
enum scan_use { SCAN_FREE, SCAN_UNPAGEABLE, SCAN_OTHER, SCAN_DISK, SCAN_ANON };
/* scan_use - guess the use without a lock.  The guess is good enough to count frames, and to pass over some. */
enum scan_use scan_use(const struct page *pg);

/* A page whose owner is locked.  The scanner also has a reference to a private page. */
struct scan_page {
    struct page *pg;
    struct page_owner own; /* the owner of the page, locked                                 */
    struct vm_object *in;  /* an object that names the page; not freed while the family is locked */
};
/*
 * scan_lock - lock the owner of a page, so that the page stays in its tree.  false: a lock is not free, or the
 * page is in no tree; then no lock is held.
 * scan_unlock - release the lock, and the reference to a private page.
 * @who  the caller's number, below SCANNERS
 */
enum { SCAN_PAGEOUT, SCAN_FSFLUSH, SCANNERS };
bool scan_lock(unsigned who, struct page *pg, struct scan_page *out);
/*
 * scan_neighbour - get the page at `index` of the same object, with a reference if it is private.
 * false: that page is not in memory.
 */
bool scan_neighbour(const struct scan_page *sp, uint64_t index, struct scan_page *out);
void scan_unlock(const struct scan_page *sp);

#endif
