// SPDX-License-Identifier: MIT
/*
 * cluster.c - how many pages of a file to read ahead, and how many to gather before a write; see cluster.h.
 */
#include "pages/cluster.h"

struct page_run readahead_touch(struct readahead *ra, uint64_t index, uint64_t want, bool there,
                                uint64_t eof, uint32_t limit)
{
    bool sequential = index == ra->next || index + 1 == ra->next;
    struct page_run run = {index, 0};

    ra->next = index + 1;
    if (there && (ra->size == 0 || index != ra->mark))
        return run;
    if (there) { /* the mark was touched: continue where the last window ended */
        run.first = ra->end;
        ra->size = min_of(ra->size * 2, limit);
        run.n = ra->size;
    } else if (sequential) {
        ra->size = ra->size == 0 ? READAHEAD_FIRST : ra->size * 2;
        ra->size =
            min_of((uint32_t)max_of((uint64_t)ra->size, min_of(want, (uint64_t)limit)), limit);
        run.n = ra->size;
    } else {
        ra->size = 0;
        run.n = min_of(want, (uint64_t)limit);
    }
    run.n = run.first < eof ? min_of(run.n, eof - run.first) : 0;
    ra->mark = run.first + (there || run.n <= want ? 0 : want);
    ra->end = run.first + run.n;
    if (run.n == 0)
        ra->size = 0;
    return run;
}

struct page_run readahead_advised(struct readahead *ra, uint64_t index, uint64_t want, bool there,
                                  uint64_t eof, uint32_t limit, unsigned advice)
{
    if ((advice & READ_RANDOM) != 0)
        return (struct page_run){index,
                                 there ? 0 : min_of(min_of(want, (uint64_t)limit), eof - index)};
    if ((advice & READ_SEQUENTIAL) != 0) {
        if (!there) /* count as if the reader had read full windows up to here */
            ra->next = index;
        if (!there || ra->size != 0)
            ra->size = limit;
    }
    return readahead_touch(ra, index, want, there, eof, limit);
}

/* LAB paging-writebehind: begin */
struct page_run writebehind_put(struct writebehind *wb, uint64_t first, uint64_t n,
                                uint64_t cluster)
{
    struct page_run run = {first, 0};

    /* the pages are in the cluster and were written again */
    if (first >= wb->first && first + n <= wb->first + wb->n)
        return run;
    if (wb->n != 0 && wb->first + wb->n != first) { /* the pages do not follow the cluster */
        run = (struct page_run){wb->first, wb->n};
        wb->n = 0;
    }
    if (wb->n == 0)
        wb->first = first;
    wb->n += n;
    if (wb->n >= cluster && run.n == 0) {
        run = (struct page_run){wb->first, wb->n};
        wb->n = 0;
    }
    return run;
}
/* LAB paging-writebehind: end */
