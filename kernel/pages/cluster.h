// SPDX-License-Identifier: MIT
/*
 * cluster.h - how many pages of a file to read ahead, and how many to gather before a write.
 *
 * THEORY      A disk needs little more time to transfer many consecutive blocks than to transfer one.  So a
 *             file is read ahead and written behind in clusters of pages.
 *             Reading.  A reader reads sequentially if it misses the page after the page that it
 *             touched last.  The first such miss starts a window of READAHEAD_FIRST pages.  Each
 *             further window is twice as long, up to the limit.  The mark of a window is its first
 *             page that the reader did not request.  When the mark is touched, the next window is
 *             started.  So the disk reads while the program computes.  A miss elsewhere reads only
 *             the requested pages and ends sequential reading.
 *             Writing.  Complete blocks are not written at once, but gathered while each follows
 *             the previous block.  The cluster is written when it is long enough, or when a block
 *             does not follow its end (UFS since SunOS 4.1: McVoy and Kleiman, "Extent-like
 *             Performance from a UNIX File System", USENIX Winter 1991).  A block that is written
 *             again while it is gathered does not change the cluster.  So a writer that cycles
 *             within one cluster does not trigger write-behind; fsync or fsflush writes those
 *             pages.
 * LOCKING     The functions are pure; the caller provides the locks.
 * SEE ALSO    docs/pagecache.md, tests/host/test_cluster.c
 */
#ifndef PAGES_CLUSTER_H
#define PAGES_CLUSTER_H

#include "lib/types.h"

#define READAHEAD_FIRST 4u /* pages of the first window */

/*
 * History of the reads through one open file, or of all reads of a file without an open file; all
 * zero at first.
 */
struct readahead {
    uint64_t next; /* page that a sequential reader touches next             */
    uint64_t end;  /* all pages below this one have been requested           */
    uint64_t mark; /* page whose touch starts the next window; valid only if size is not 0 */
    uint32_t size; /* pages of the last window; 0: the reader is not sequential */
};

struct page_run {
    uint64_t first, n; /* pages first .. first + n - 1; n 0: no pages */
};

/*
 * Advice of a program about its reads: madvise(2) of a segment, posix_fadvise(2) of an open file.  RANDOM
 * and SEQUENTIAL exclude each other.
 */
enum read_advice {
    READ_RANDOM = 1,     /* only the needed pages, no read-ahead              */
    READ_SEQUENTIAL = 2, /* windows of the full length from the first miss on */
    READ_ONCE = 4,       /* a touch does not keep the page in memory          */
};

/* How a file is read. */
struct read_how {
    struct readahead *ra; /* history of the reader; NULL: use the history of the file itself */
    unsigned advice;      /* enum read_advice                                     */
};

/*
 * readahead_plain - touch page `index`, which is in memory: the usual case, inline.  false: the caller must
 * call readahead_touch().
 */
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
 * @limit  longest window in pages, at least 1
 * Returns the pages to start reading; they begin at `index` if it is not in memory.
 * readahead_advised - like readahead_touch(), but follow the advice of a program.  RANDOM leaves *ra unchanged.
 * @advice  enum read_advice
 */
struct page_run readahead_touch(struct readahead *ra, uint64_t index, uint64_t want, bool there,
                                uint64_t eof, uint32_t limit);
struct page_run readahead_advised(struct readahead *ra, uint64_t index, uint64_t want, bool there,
                                  uint64_t eof, uint32_t limit, unsigned advice);

/* Pages that are complete and not yet written; all zero at first. */
struct writebehind {
    uint64_t first, n;
};

/*
 * writebehind_put - pages first .. first + n - 1 are complete.  Returns the pages to write now.
 * @cluster  pages of a full cluster
 */
struct page_run writebehind_put(struct writebehind *wb, uint64_t first, uint64_t n,
                                uint64_t cluster);

#endif
