// SPDX-License-Identifier: MIT
/*
 * cluster.h - how much of a file to read ahead, and how much to gather before writing.
 *
 * THEORY      Reading.  A reader who misses the page after the one he touched last reads sequentially.  The first
 *             such miss starts a window of READAHEAD_FIRST pages; each further window is twice as long, up to
 *             the limit.  The first page of a window that nobody waits for yet is its mark: when it is touched the
 *             next window starts, so that the disk works while the reader does.  A miss elsewhere reads what was
 *             asked for and forgets the window.
 *             Writing.  Blocks that are complete are not written at once but gathered while each follows the one
 *             before; the cluster is pushed when it is long enough or when a block lies elsewhere (UFS since SunOS 4.1:
 *             McVoy and Kleiman, "Extent-like Performance from a UNIX File System", USENIX Winter 1991).  A block that
 *             is written once more while it is gathered stays where it is: who goes round in less than a cluster has
 *             his pages written by fsync or fsflush, not each time round.
 * LOCKING     the caller's; pure
 * SEE ALSO    docs/pagecache.md, tests/host/test_cluster.c
 */
#ifndef PAGES_CLUSTER_H
#define PAGES_CLUSTER_H

#include "lib/types.h"

#define READAHEAD_FIRST 4u /* pages of the first window */

/* What is remembered of the reads of an open file, or of those of a file without one; all zero at first. */
struct readahead {
    uint64_t next; /* page that a sequential reader touches next            */
    uint64_t end;  /* pages below it have been asked for                    */
    uint64_t mark; /* touching it starts the next window; meaningful if size */
    uint32_t size; /* pages of the last window; 0: not sequential           */
};

struct page_run {
    uint64_t first, n; /* pages; n 0: none */
};

/*
 * What a program has said of how it will read: madvise(2) of a segment, posix_fadvise(2) of an open file.  RANDOM and
 * SEQUENTIAL exclude each other.
 */
enum read_advice {
    READ_RANDOM = 1,     /* only what is needed, nothing ahead              */
    READ_SEQUENTIAL = 2, /* windows of the full length from the first miss on */
    READ_ONCE = 4,       /* a touch is no reason to keep the page           */
};

/* How a file is read. */
struct read_how {
    struct readahead *ra; /* the reader's; NULL: that of the file itself */
    unsigned advice;      /* enum read_advice                            */
};

/* readahead_plain - a touch of `index`, which is there, asks for nothing: the usual case, inline. */
static inline bool readahead_plain(struct readahead *ra, uint64_t index)
{
    if (ra->size != 0 && index == ra->mark)
        return false;
    ra->next = index + 1;
    return true;
}

/*
 * readahead_touch - page `index` is touched.
 * @want   pages that the caller will touch from here on, at least 1
 * @there  the page is in memory
 * @eof    pages of the file, more than index
 * @limit  longest window, at least 1
 * Returns the pages to start reading; they begin at `index` when it is not there.
 * readahead_advised - the same for a reader that has said how it goes on.  RANDOM leaves *ra alone.
 * @advice  enum read_advice
 */
struct page_run readahead_touch(struct readahead *ra, uint64_t index, uint64_t want, bool there,
                                uint64_t eof, uint32_t limit);
struct page_run readahead_advised(struct readahead *ra, uint64_t index, uint64_t want, bool there,
                                  uint64_t eof, uint32_t limit, unsigned advice);

/* Pages that were completed and not yet pushed; all zero at first. */
struct writebehind {
    uint64_t first, n;
};

/*
 * writebehind_put - pages first .. first + n - 1 are complete.  Returns what is to be written now.
 * @cluster  pages of a full cluster
 */
struct page_run writebehind_put(struct writebehind *wb, uint64_t first, uint64_t n,
                                uint64_t cluster);

#endif
