// SPDX-License-Identifier: MIT
/*
 * cold.h - pages that a program says it will not need soon.  See cold.c.
 */
#ifndef PAGES_COLD_H
#define PAGES_COLD_H

#include "vm/as.h"

/*
 * cold_mark - madvise(MADV_COLD): forget that the pages of [start, end), inside the segment, were touched.
 * cold_out - madvise(MADV_PAGEOUT): take them away.  Only pages that no other process maps or shares.
 * The segment is not locked and not of 2 MiB pages.  as->lock is held, for reading at least.  Both end early when the
 * process is ending; cold_out() sleeps while a file system looks for blocks.
 */
void cold_mark(struct seg *s, uint64_t start, uint64_t end);
void cold_out(struct seg *s, uint64_t start, uint64_t end);

#endif
