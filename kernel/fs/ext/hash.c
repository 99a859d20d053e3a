// SPDX-License-Identifier: MIT
/*
 * hash.c - the hash functions of hashed directories.
 *
 * THEORY      The index of a directory is ordered by the hash of the name (htree.c).  The format of the disk
 *             has three hash functions:
 *               half MD4  a shorter form of MD4 (RFC 1320): 8 words at a time, 24 steps
 *               TEA       the cipher TEA (Wheeler and Needham, 1994), used as a hash
 *               legacy    a simple function of the first version
 *             Each function exists in two forms, for compilers with signed and with unsigned `char`.  A flag in
 *             the superblock tells which form the disk uses.
 *             It is easy to construct many names with the same legacy hash.  Readers of a directory need a
 *             second hash that distinguishes such names.  This hash is not stored on the disk.  For names with
 *             a legacy hash, the second hash is half MD4 with the secret seed of the disk.
 * SEE ALSO    htree.c; the command dx_hash of debugfs prints the same numbers
 */
#include "fs/ext/ext.h"

#include "lib/string.h"

/* Byte i of the name as a number, as a signed or an unsigned `char`. */
static inline int name_char_value(const char *p, size_t i, bool is_unsigned)
{
    return is_unsigned ? (int)(uint8_t)p[i] : (int)(int8_t)p[i];
}

static uint32_t hash_name_legacy(const char *p, size_t len, bool is_unsigned)
{
    uint32_t h0 = 0x12a3fe2d, h1 = 0x37abe8f9;

    for (size_t i = 0; i < len; i++) {
        uint32_t h = h1 + (h0 ^ (uint32_t)(name_char_value(p, i, is_unsigned) * 7152373));

        if (h & 0x80000000)
            h -= 0x7fffffff;
        h1 = h0;
        h0 = h;
    }
    return h0 << 1;
}

/* Packs the name into `num` words.  The rest of the words is filled with the length of the name. */
static void pack_name_words(const char *p, size_t len, uint32_t *out, unsigned num,
                            bool is_unsigned)
{
    uint32_t pad = (uint32_t)len | (uint32_t)len << 8, v;

    pad |= pad << 16;
    v = pad;
    len = min_of(len, (size_t)num * 4);
    for (size_t i = 0; i < len; i++) {
        v = (uint32_t)name_char_value(p, i, is_unsigned) + (v << 8);
        if (i % 4 == 3) {
            *out++ = v;
            v = pad;
            num--;
        }
    }
    if (num != 0) {
        *out++ = v;
        num--;
    }
    while (num-- != 0)
        *out++ = pad;
}

static inline uint32_t rotate_word_left(uint32_t x, unsigned s)
{
    return x << s | x >> (32 - s);
}

static uint32_t half_md4_function(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
    if (round == 0)
        return d ^ (b & (c ^ d));
    return round == 1 ? (b & c) + ((b ^ c) & d) : b ^ c ^ d;
}

static void half_md4_transform(uint32_t buf[4], const uint32_t in[8])
{
    static const uint8_t order[3][8] = {
        {0, 1, 2, 3, 4, 5, 6, 7}, {1, 3, 5, 7, 0, 2, 4, 6}, {3, 7, 2, 6, 1, 5, 0, 4}};
    static const uint8_t shift[3][4] = {{3, 7, 11, 19}, {3, 5, 9, 13}, {3, 9, 11, 15}};
    static const uint32_t k[3] = {0, 0x5a827999, 0x6ed9eba1};
    uint32_t a = buf[0], b = buf[1], c = buf[2], d = buf[3];

    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 8; i++) {
            uint32_t f = half_md4_function(round, b, c, d);
            uint32_t t =
                rotate_word_left(a + f + in[order[round][i]] + k[round], shift[round][i % 4]);

            a = d;
            d = c;
            c = b;
            b = t;
        }
    buf[0] += a;
    buf[1] += b;
    buf[2] += c;
    buf[3] += d;
}

static void tea_transform(uint32_t buf[4], const uint32_t in[4])
{
    uint32_t sum = 0, b0 = buf[0], b1 = buf[1];

    for (unsigned i = 0; i < 16; i++) {
        sum += 0x9e3779b9;
        b0 += ((b1 << 4) + in[0]) ^ (b1 + sum) ^ ((b1 >> 5) + in[1]);
        b1 += ((b0 << 4) + in[2]) ^ (b0 + sum) ^ ((b0 >> 5) + in[3]);
    }
    buf[0] += b0;
    buf[1] += b1;
}

uint32_t ext_hash(const struct ext_super *sb, unsigned version, const char *name, size_t len,
                  uint32_t *minor)
{
    bool is_unsigned = version >= HASH_UNSIGNED;
    uint32_t buf[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}, in[8], h;
    unsigned kind = version % HASH_UNSIGNED;
    bool md4 = kind != HASH_TEA;
    size_t step = md4 ? 32 : 16;

    if (kind != HASH_LEGACY || minor != NULL) {
        if ((sb->hash_seed[0] | sb->hash_seed[1] | sb->hash_seed[2] | sb->hash_seed[3]) != 0)
            memcpy(buf, sb->hash_seed, sizeof buf);
        for (size_t i = 0; i < len; i += step) {
            pack_name_words(name + i, len - i, in, (unsigned)step / 4, is_unsigned);
            if (md4)
                half_md4_transform(buf, in);
            else
                tea_transform(buf, in);
        }
    }
    h = md4 ? buf[1] : buf[0];
    if (kind == HASH_LEGACY)
        h = hash_name_legacy(name, len, is_unsigned);
    if (minor != NULL)
        *minor = md4 ? buf[2] : buf[1];
    h &= ~1u;
    return h == 0xfffffffe ? 0xfffffffc : h;
}
