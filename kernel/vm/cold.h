// SPDX-License-Identifier: MIT
/*
 * cold.h - pages that a program will not need soon, by its own advice.  See cold.c.
 */
#ifndef VM_COLD_H
#define VM_COLD_H

#include "vm/as.h"

/*
 * cold_mark - madvise(MADV_COLD): clear the reference bits of the pages of [start, end), inside the
 * segment.
 * cold_out - madvise(MADV_PAGEOUT): free these pages, after writing them where necessary.
 * Only pages that no other process maps or shares.  The segment is not locked and not of 2 MiB pages.
 * as->lock is held, for reading at least.  Both stop early when the process is ending.  cold_out() sleeps
 * while a file system looks up blocks.
 */
void cold_mark(struct seg *s, uint64_t start, uint64_t end);
void cold_out(struct seg *s, uint64_t start, uint64_t end);

#endif
