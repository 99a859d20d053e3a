// SPDX-License-Identifier: MIT
/*
 * crng.c - see crng.h.
 */
#include "lib/crng.h"

#include "lib/cpu.h"
#include "lib/string.h"

static inline uint32_t rotl(uint32_t v, unsigned n)
{
    return v << n | v >> (32 - n);
}

static inline void quarter_round(uint32_t *s, unsigned a, unsigned b, unsigned c, unsigned d)
{
    s[a] += s[b], s[d] = rotl(s[d] ^ s[a], 16);
    s[c] += s[d], s[b] = rotl(s[b] ^ s[c], 12);
    s[a] += s[b], s[d] = rotl(s[d] ^ s[a], 8);
    s[c] += s[d], s[b] = rotl(s[b] ^ s[c], 7);
}

void chacha20_block(const uint32_t key[8], uint32_t block, const uint32_t nonce[3],
                    uint8_t out[CRNG_BLOCK])
{
    uint32_t first[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}; /* "expand 32-byte k" */
    uint32_t s[16];

    memcpy(first + 4, key, CRNG_KEY);
    first[12] = block;
    memcpy(first + 13, nonce, 12);
    memcpy(s, first, sizeof s);
    for (unsigned i = 0; i < 10; i++) {
        quarter_round(s, 0, 4, 8, 12);
        quarter_round(s, 1, 5, 9, 13);
        quarter_round(s, 2, 6, 10, 14);
        quarter_round(s, 3, 7, 11, 15);
        quarter_round(s, 0, 5, 10, 15);
        quarter_round(s, 1, 6, 11, 12);
        quarter_round(s, 2, 7, 8, 13);
        quarter_round(s, 3, 4, 9, 14);
    }
    for (unsigned i = 0; i < 16; i++)
        s[i] += first[i];
    memcpy(out, s, sizeof s); /* the CPU and the format of `out` are both little-endian */
}

void crng_seed(struct crng *c, uint64_t seed, uint32_t number)
{
    *c = (struct crng){.key = {(uint32_t)seed, (uint32_t)(seed >> 32), number}};
}

/*
 * Makes CRNG_BLOCKS new blocks.  The first CRNG_KEY bytes of the new blocks become the next key,
 * and are erased from `out`.
 */
static void refill_crng_output(struct crng *c)
{
    static const uint32_t nonce[3];

    for (unsigned i = 0; i < CRNG_BLOCKS; i++)
        chacha20_block(c->key, i, nonce, c->out + i * CRNG_BLOCK);
    memcpy(c->key, c->out, CRNG_KEY);
    memset(c->out, 0, CRNG_KEY);
    c->left = sizeof c->out - CRNG_KEY;
}

void crng_take(struct crng *c, void *buf, size_t n)
{
    uint8_t *to = buf;

    while (n > 0) {
        uint8_t *from;
        size_t k;

        if (c->left == 0)
            refill_crng_output(c);
        k = min_of(n, (size_t)c->left);
        from = c->out + sizeof c->out - c->left;
        memcpy(to, from, k);
        memset(from, 0, k);
        c->left -= (unsigned)k;
        to += k;
        n -= k;
    }
}

void crng_bytes(void *buf, size_t n)
{
    enum { PIECE = 4096 }; /* largest number of bytes made with interrupts off */
    uint8_t *to = buf;

    for (size_t k; n > 0; to += k, n -= k) {
        k = min_of(n, (size_t)PIECE);
        irq_push();
        crng_take(&this_cpu()->crng, to, k);
        irq_pop();
    }
}

uint32_t crng_below(uint32_t n)
{
    uint32_t r;

    crng_bytes(&r, sizeof r);
    return (uint32_t)(((uint64_t)r * n) >> 32);
}
