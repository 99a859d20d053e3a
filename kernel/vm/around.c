// SPDX-License-Identifier: MIT
/*
 * around.c - how many pages a fault reads that nobody has asked for; see around.h.
 */
#include "vm/around.h"

/* So many neighbours are read. */
static void around_count(struct around *a, uint64_t n)
{
    a->read += (uint32_t)n;
    if (a->read > AROUND_MEMORY) {
        a->read /= 2;
        a->touched /= 2;
    }
}

struct page_run around_miss(struct around *a, uint64_t index, uint64_t first, uint64_t limit, uint64_t worth)
{
    uint64_t        n = first;
    struct page_run last = a->last, run;
    bool            up = last.n != 0 && index == last.first + last.n, down = last.n != 0 && index + 1 == last.first;

    a->touched += last.n == 0 ? (uint32_t)first - 1 : atomic_exchange_explicit(&a->used, 0, memory_order_relaxed);
    if (last.n == 1)
        n = up || down ? 2 : 1;
    else if (last.n != 0)
        n = a->touched * (worth + 1) >= a->read ? last.n * 2 : last.n / 2;
    n = min_of(n, limit);
    around_count(a, n - 1);
    if (up)
        run = (struct page_run){index, n};
    else if (down)
        run = (struct page_run){index + 1 - min_of(n, index + 1), min_of(n, index + 1)};
    else
        run = (struct page_run){index - index % n, n};
    a->last = run;
    return run;
}

struct page_run around_advised(struct around *a, uint64_t index, uint64_t first, uint64_t limit, uint64_t worth,
                               unsigned advice)
{
    if ((advice & READ_RANDOM) != 0)
        return (struct page_run){index, 1};
    if ((advice & READ_SEQUENTIAL) == 0)
        return around_miss(a, index, first, limit, worth);
    around_count(a, limit - 1); /* their touches will count, too */
    return (struct page_run){index, limit};
}
