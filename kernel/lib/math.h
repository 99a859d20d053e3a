// SPDX-License-Identifier: MIT
/*
 * math.h - arithmetic for which the compiler would call its run-time library.
 */
#ifndef LIB_MATH_H
#define LIB_MATH_H

#include "lib/types.h"

/* mul_div - a * b / c with a 128-bit product; c > 0.  A quotient beyond 64 bits is a divide error. */
static inline uint64_t mul_div(uint64_t a, uint64_t b, uint64_t c)
{
    unsigned __int128 p = (unsigned __int128)a * b;
    uint64_t lo = (uint64_t)p, hi = (uint64_t)(p >> 64), q;

    __asm__("divq %3" : "=a"(q), "+d"(hi) : "a"(lo), "r"(c) : "cc");
    return q;
}

#endif
