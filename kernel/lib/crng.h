// SPDX-License-Identifier: MIT
/*
 * crng.h - random numbers for programs.  A program that knows some of these numbers cannot compute others.
 *
 * THEORY      The generator is the cipher ChaCha20 (RFC 8439, 2.3).  Each CPU has its own key, made from the
 *             boot seed, so that a run with the same seed on one CPU repeats.  The first bytes of each refill
 *             are the next key, which replaces the key that made them.  Numbers are erased when they are
 *             returned to a caller.  So an attacker that later reads this state cannot compute earlier numbers
 *             (D. J.  Bernstein, "Fast-key-erasure random-number generators", 2017).
 *             lib/rng.h has the generator for numbers that stay in the kernel.  It is faster; its first state
 *             comes from this generator.
 * LOCKING     Each CPU uses its own state, with interrupts off.
 * SEE ALSO    tests/host/test_crng.c
 */
#ifndef LIB_CRNG_H
#define LIB_CRNG_H

#include "lib/types.h"

enum { CRNG_KEY = 32, CRNG_BLOCK = 64, CRNG_BLOCKS = 4 };

struct crng {
    uint32_t key[CRNG_KEY / 4];
    /* bytes at the end of `out` that no caller has got yet */
    unsigned left;
    /* random bytes; the first CRNG_KEY bytes became the key, and are 0 now */
    uint8_t out[CRNG_BLOCK * CRNG_BLOCKS];
};

/* chacha20_block - make 64 bytes of key stream from a key, a block number and a nonce of 96 bits. */
void chacha20_block(const uint32_t key[8], uint32_t block, const uint32_t nonce[3],
                    uint8_t out[CRNG_BLOCK]);
/* crng_seed - set a state from a seed and `number`, which must differ between the states of a run. */
void crng_seed(struct crng *c, uint64_t seed, uint32_t number);
/*
 * crng_take - take n bytes from a state.  The caller must make sure that no other code uses the state during
 * the call.
 */
void crng_take(struct crng *c, void *buf, size_t n);

/*
 * crng_bytes - n random bytes from this CPU's state; crng_below - a number in 0 .. n-1; n > 0.  Both work in
 * any context.
 */
void crng_bytes(void *buf, size_t n);
uint32_t crng_below(uint32_t n);

#endif
