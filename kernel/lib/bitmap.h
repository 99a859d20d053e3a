// SPDX-License-Identifier: MIT
/*
 * bitmap.h - small sets of numbers below 64 (lgroups, nodes) in one word.
 */
#ifndef LIB_BITMAP_H
#define LIB_BITMAP_H

#include "lib/types.h"

typedef uint64_t lgrpmask_t; /* bit i: lgroup (or node) i */

static inline bool bit_test(uint64_t set, unsigned i)
{
    return (set >> i) & 1;
}

/* bit_first - the lowest number in the set, which must not be empty. */
static inline unsigned bit_first(uint64_t set)
{
    return (unsigned)__builtin_ctzll(set);
}

static inline unsigned bit_count(uint64_t set)
{
    /* Counts the bits in fields of 2, 4 and 8 bits, then adds up the bytes by a multiplication. */
    set -= set >> 1 & 0x5555555555555555ull;
    set = (set & 0x3333333333333333ull) + (set >> 2 & 0x3333333333333333ull);
    set = (set + (set >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (unsigned)(set * 0x0101010101010101ull >> 56);
}

/* Runs the loop body for each number i in the set, in ascending order. */
#define BITS_FOREACH(i, set)                                                                       \
    for (uint64_t _s = (set), i = 0; _s != 0 && (i = (uint64_t)__builtin_ctzll(_s), true);         \
         _s &= _s - 1)

#endif
