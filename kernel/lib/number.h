// SPDX-License-Identifier: MIT
/*
 * number.h - unique numbers for objects, such as inode numbers, assigned at first use and never used again.
 *
 * Most objects never need their number, so this is cheaper than giving each object a number.
 *
 * INVARIANTS  I1  a place that is not 0 never changes
 *             I2  no two places get the same number from the same counter
 * LOCKING     The operations are atomic, so there are no locks.
 */
#ifndef LIB_NUMBER_H
#define LIB_NUMBER_H

#include "lib/types.h"

/*
 * number_at - return the number in *place.  If *place is 0, first store there the next number of counter *last,
 * which starts at 1.  Can be called in any context.
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
