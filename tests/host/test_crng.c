// SPDX-License-Identifier: MIT
/*
 * test_crng.c - the generator of random numbers for programs.
 */
#include "tests/host/check.h"
#include "lib/crng.h"

#include <string.h>

/* RFC 8439, 2.3.2. */
TEST(block_of_the_rfc)
{
    static const uint8_t want[64] = {
        0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15, 0x50, 0x0f, 0xdd, 0x1f, 0xa3,
        0x20, 0x71, 0xc4, 0xc7, 0xd1, 0xf4, 0xc7, 0x33, 0xc0, 0x68, 0x03, 0x04, 0x22,
        0xaa, 0x9a, 0xc3, 0xd4, 0x6c, 0x4e, 0xd2, 0x82, 0x64, 0x46, 0x07, 0x9f, 0xaa,
        0x09, 0x14, 0xc2, 0xd7, 0x05, 0xd9, 0x8b, 0x02, 0xa2, 0xb5, 0x12, 0x9c, 0xd1,
        0xde, 0x16, 0x4e, 0xb9, 0xcb, 0xd0, 0x83, 0xe8, 0xa2, 0x50, 0x3c, 0x4e,
    };
    const uint32_t nonce[3] = {0x09000000, 0x4a000000, 0};
    uint8_t key[32], out[64];
    uint32_t words[8];

    for (unsigned i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)i;
    memcpy(words, key, sizeof words);
    chacha20_block(words, 1, nonce, out);
    CHECK(memcmp(out, want, sizeof want) == 0);
}

TEST(same_seed_same_numbers)
{
    static struct crng a, b, c;
    uint8_t one[1000], other[1000], third[1000];

    crng_seed(&a, 7, 3);
    crng_seed(&b, 7, 3);
    crng_seed(&c, 7, 4);
    crng_take(&a, one, sizeof one);
    for (unsigned i = 0; i < sizeof other; i += 8) /* in pieces: gives the same bytes */
        crng_take(&b, other + i, 8);
    crng_take(&c, third, sizeof third);
    CHECK(memcmp(one, other, sizeof one) == 0);
    CHECK(memcmp(one, third, 16) != 0);
}

/* The state no longer contains the bytes that were returned, nor the key from which they came. */
TEST(the_past_is_erased)
{
    static struct crng c, before;
    uint8_t got[8];

    crng_seed(&c, 1, 0);
    crng_take(&c, got, sizeof got);
    before = c;
    for (unsigned i = 0; i + sizeof got <= sizeof c; i++)
        CHECK(memcmp((uint8_t *)&c + i, got, sizeof got) != 0);
    for (unsigned i = 0; i < 224 - sizeof got; i++)
        crng_take(&c, got, 1);
    CHECK_EQ(c.left, 0);
    crng_take(&c, got, 1);
    CHECK(memcmp(c.key, before.key, sizeof c.key) != 0);
}
