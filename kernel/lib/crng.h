// SPDX-License-Identifier: MIT
/*
 * crng.h - random numbers that programs may see: knowing some of them tells nothing of the others.
 *
 * THEORY      ChaCha20 (RFC 8439, 2.3) under a key for each CPU that comes from the boot seed, so that a run with the
 *             same seed on one CPU repeats.  Each refill begins with the next key, which replaces the one it was made
 *             with, and what is given out is erased (D. J. Bernstein, "Fast-key-erasure random-number generators",
 *             2017): who reads this state later learns nothing of earlier numbers.
 *             lib/rng.h has the numbers that stay in the kernel, which are quicker; its states come from here.
 * LOCKING     each CPU's state with interrupts off
 * SEE ALSO    tests/host/test_crng.c
 */
#ifndef LIB_CRNG_H
#define LIB_CRNG_H

#include "lib/types.h"

enum { CRNG_KEY = 32, CRNG_BLOCK = 64, CRNG_BLOCKS = 4 };

struct crng {
    uint32_t key[CRNG_KEY / 4];
    unsigned left;                         /* bytes at the end of `out` that were not given out */
    uint8_t out[CRNG_BLOCK * CRNG_BLOCKS]; /* the first CRNG_KEY are the key's                  */
};

/* chacha20_block - 64 bytes of key stream for a key, a block number and a nonce of 96 bits. */
void chacha20_block(const uint32_t key[8], uint32_t block, const uint32_t nonce[3],
                    uint8_t out[CRNG_BLOCK]);
/* crng_seed - set a state from a seed and a number, which is another for each state of a run. */
void crng_seed(struct crng *c, uint64_t seed, uint32_t number);
/* crng_take - n bytes from a state.  The caller keeps others from it. */
void crng_take(struct crng *c, void *buf, size_t n);

/* crng_bytes - n random bytes from this CPU's state.  crng_below - a number in 0 .. n-1; n > 0.  Any context. */
void crng_bytes(void *buf, size_t n);
uint32_t crng_below(uint32_t n);

#endif
