// SPDX-License-Identifier: MIT
/*
 * busy.h - waiting for a busy page.  See busy.c.
 */
#ifndef PAGES_BUSY_H
#define PAGES_BUSY_H

#include "mem/page.h"

/* page_wait - sleep until all flags of `mask` (of PG_LOCKED, PG_WRITEBACK, PG_MKWRITE) are clear. */
void page_wait(struct page *pg, uint32_t mask);
/* page_done - clear the flags of `mask` and wake up the threads in page_wait().  Any context. */
void page_done(struct page *pg, uint32_t mask);
static inline void page_lock_wait(struct page *pg)
{
    page_wait(pg, PG_LOCKED);
}
static inline void page_unlock(struct page *pg)
{
    page_done(pg, PG_LOCKED);
}
void busy_boot(void);

#endif
