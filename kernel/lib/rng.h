// SPDX-License-Identifier: MIT
/*
 * rng.h - pseudo-random numbers for the kernel's own choices: one boot seed, one generator per CPU.
 *
 * A program must not see these numbers, because it could compute the following numbers from them.  Programs get
 * the numbers of crng.h.  The generator is splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
 * generators", OOPSLA 2014).  A run with the same seed on one CPU makes the same choices.
 */
#ifndef LIB_RNG_H
#define LIB_RNG_H

#include "lib/cpu.h"

/* rng_step - advance *state and return its next 64 random bits. */
static inline uint64_t rng_step(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* rng_next - 64 random bits from this CPU's generator. */
static inline uint64_t rng_next(void)
{
    uint64_t r;

    irq_push();
    r = rng_step(&this_cpu()->rng);
    irq_pop();
    return r;
}

/* rng_below - a number in 0 .. n-1; n > 0. */
static inline uint64_t rng_below(uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rng_next() * n) >> 64);
}

#endif
