// SPDX-License-Identifier: MIT
/*
 * around.c - how many neighbours of the needed page a fault reads; see around.h.
 */
#include "pages/around.h"

struct page_run around_miss(struct around *a, uint64_t index, uint64_t first, uint64_t limit,
                            uint64_t worth)
{
    uint64_t n = first, was = a->window;
    struct page_run last = a->last, run;
    bool up = last.n != 0 && index == last.first + last.n,
         down = last.n != 0 && index + 1 == last.first;

    a->touched += was == 0 ? (uint32_t)first - 1
                           : atomic_exchange_explicit(&a->used, 0, memory_order_relaxed);
    if (was == 1)
        n = up || down ? 2 : 1;
    else if (was != 0)
        n = a->touched * (worth + 1) >= a->read ? was * 2 : was / 2;
    n = min_of(n, limit);
    if (up)
        run = (struct page_run){index, n};
    else if (down)
        run = (struct page_run){index + 1 - min_of(n, index + 1), min_of(n, index + 1)};
    else
        run = (struct page_run){index - index % n, n};
    a->window = (uint32_t)n;
    a->last = run;
    return run;
}

struct page_run around_advised(struct around *a, uint64_t index, uint64_t first, uint64_t limit,
                               uint64_t worth, unsigned advice)
{
    if ((advice & READ_RANDOM) != 0)
        return (struct page_run){index, 1};
    if ((advice & READ_SEQUENTIAL) == 0)
        return around_miss(a, index, first, limit, worth);
    return (struct page_run){index, limit};
}

void around_got(struct around *a, struct page_run run, uint64_t neighbours)
{
    a->last = run;
    a->read += (uint32_t)neighbours;
    if (a->read > AROUND_MEMORY) {
        a->read /= 2;
        a->touched /= 2;
    }
}
