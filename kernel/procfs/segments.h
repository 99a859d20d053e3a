// SPDX-License-Identifier: MIT
/*
 * segments.h - a walk over the segments of a process, for the files of /proc/N that list them.  See procfs_mem.c.
 */
#ifndef PROCFS_SEGMENTS_H
#define PROCFS_SEGMENTS_H

#include "procfs/procfs.h"

enum { SEGMENT_PATH_SIZE = 4096, SEGMENT_BATCH = 32 };

/*
 * The state of one walk over an address space.  It is allocated, because it is too large for the
 * stack.
 */
struct segment_walk {
    uint64_t pid;
    struct seg_info seg;
    uint64_t addr[SEGMENT_BATCH];
    struct as_page_info page[SEGMENT_BATCH];
    char path[SEGMENT_PATH_SIZE]; /* the segment's name: of its file, or [heap] */
};

/*
 * procfs_each_segment - call fn for each segment of process `pid`, while there is memory for the text and the reader
 * is not killed.  0, -ESRCH, -EACCES, -ENOMEM.
 */
int procfs_each_segment(uint64_t pid, void (*fn)(struct as *, struct segment_walk *, struct text *),
                        struct text *out);

#endif
