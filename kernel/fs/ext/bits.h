// SPDX-License-Identifier: MIT
/*
 * bits.h - bitmaps in the on-disk format: bit i is bit i%8 of byte i/8.  Sizes are multiples of 8 bytes.
 */
#ifndef FS_EXT_BITS_H
#define FS_EXT_BITS_H

#include "lib/types.h"

static inline bool bit_get(const uint8_t *p, uint32_t i)
{
    return p[i >> 3] >> (i & 7) & 1;
}

/* bits_set, bits_clear - set or clear bits first .. first+n-1.  bits_all - whether all of them are set. */
static inline void bits_set(uint8_t *p, uint32_t first, uint32_t n)
{
    for (; n != 0 && (first & 7) != 0; n--, first++)
        p[first >> 3] |= (uint8_t)(1 << (first & 7));
    for (; n >= 8; n -= 8, first += 8)
        p[first >> 3] = 0xff;
    for (; n != 0; n--, first++)
        p[first >> 3] |= (uint8_t)(1 << (first & 7));
}

static inline void bits_clear(uint8_t *p, uint32_t first, uint32_t n)
{
    for (; n != 0 && (first & 7) != 0; n--, first++)
        p[first >> 3] &= (uint8_t)~(1 << (first & 7));
    for (; n >= 8; n -= 8, first += 8)
        p[first >> 3] = 0;
    for (; n != 0; n--, first++)
        p[first >> 3] &= (uint8_t)~(1 << (first & 7));
}

static inline bool bits_all(const uint8_t *p, uint32_t first, uint32_t n)
{
    for (; n != 0; n--, first++) {
        if ((first & 7) == 0 && n >= 8) {
            if (p[first >> 3] != 0xff)
                return false;
            n -= 7;
            first += 7;
        } else if (!bit_get(p, first)) {
            return false;
        }
    }
    return true;
}

/* The bitwise OR of word k (64 bits) of two bitmaps; b may be NULL. */
static inline uint64_t bits_word(const uint8_t *a, const uint8_t *b, uint32_t k)
{
    uint64_t w = ((const uint64_t *)a)[k];

    return b == NULL ? w : w | ((const uint64_t *)b)[k];
}

/* bits_next_clear - the first bit in from .. end-1 that is clear in both bitmaps; `end` if there is none. */
static inline uint32_t bits_next_clear(const uint8_t *a, const uint8_t *b, uint32_t from,
                                       uint32_t end)
{
    for (uint32_t k = from / 64; k * 64 < end; k++) {
        uint64_t w = bits_word(a, b, k);

        if (k == from / 64)
            w |= (1ul << from % 64) - 1;
        if (w != ~0ul) {
            uint32_t i = k * 64 + (uint32_t)__builtin_ctzl(~w);

            return i < end ? i : end;
        }
    }
    return end;
}

/*
 * bits_next_byte - the first multiple of 8 at or after `from` whose 8 bits are clear in both bitmaps and lie
 *                  before `end`; `end` if there is none.
 */
static inline uint32_t bits_next_byte(const uint8_t *a, const uint8_t *b, uint32_t from,
                                      uint32_t end)
{
    const uint64_t ones = 0x0101010101010101ul, tops = 0x8080808080808080ul;

    from = round_up(from, 8u);
    for (uint32_t k = from / 64; k * 64 < end; k++) {
        uint64_t w = bits_word(a, b, k), z;

        if (k == from / 64)
            w |= (1ul << from % 64) - 1;
        z = (w - ones) & ~w & tops; /* the lowest set bit marks the lowest zero byte */
        if (z != 0) {
            uint32_t i = k * 64 + ((uint32_t)__builtin_ctzl(z) & ~7u);

            return i + 8 <= end ? i : end;
        }
    }
    return end;
}

#endif
