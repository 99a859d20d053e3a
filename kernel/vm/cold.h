// SPDX-License-Identifier: MIT
/*
 * cold.h - pages that a program will not need soon, by its own advice.  See cold.c.
 */
#ifndef VM_COLD_H
#define VM_COLD_H

#include "vm/as.h"

/*
 * cold_mark - madvise(MADV_COLD): clear the reference bits of the pages of [start, end), which lies inside the
 * segment.
 * cold_out - madvise(MADV_PAGEOUT): free these pages, after writing them where necessary.
 * Both act only on pages that no other process maps or shares.  The segment must not be locked or have 2 MiB
 * pages.  The caller holds as->lock, at least for reading.  Both stop early if the process is ending.
 * cold_out() sleeps while a file system looks up blocks.
 */
void cold_mark(struct seg *s, uint64_t start, uint64_t end);
void cold_out(struct seg *s, uint64_t start, uint64_t end);

#endif
