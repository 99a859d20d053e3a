// SPDX-License-Identifier: MIT
/*
 * number.h - unique numbers for objects, such as inode numbers, assigned at first use and never used again.
 *
 * Most objects never need their number, so this is cheaper than a number for each.
 *
 * INVARIANTS  I1  a place that is not 0 never changes
 *             I2  no two places get the same number from the same counter
 * LOCKING     none: atomic operations
 */
#ifndef LIB_NUMBER_H
#define LIB_NUMBER_H

#include "lib/types.h"

/*
 * number_at - the number in *place.  If that is 0, first stores there the next number of counter *last, which
 * counts from 1 on.  Any context.
 */
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
