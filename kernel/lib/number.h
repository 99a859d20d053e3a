// SPDX-License-Identifier: MIT
/*
 * number.h - numbers for things that few ever ask for, given at the first question and never given again.
 *
 * INVARIANTS  a place that is not 0 keeps its number; no two places have one of the same counter
 * LOCKING     none: atomic operations
 */
#ifndef LIB_NUMBER_H
#define LIB_NUMBER_H

#include "lib/types.h"

/* number_at - the number in *place; if that is 0 it becomes the next of the counter *last, from 1 on.  Any context. */
static inline uint64_t number_at(_Atomic uint64_t *place, _Atomic uint64_t *last)
{
    uint64_t n = atomic_load(place), fresh;

    if (n == 0) {
        fresh = atomic_fetch_add(last, 1) + 1;
        if (atomic_compare_exchange_strong(place, &n, fresh))
            n = fresh;
    }
    return n;
}

#endif
