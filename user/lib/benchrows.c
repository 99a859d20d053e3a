// SPDX-License-Identifier: MIT
/*
 * benchrows.c - areas of rows: filling, reading with a check, updating.
 *
 * SEE ALSO  user/include/benchrows.h
 */
#include "benchrows.h"

#include "bench.h"

#define FNV_START 0xcbf29ce484222325ull /* FNV-1a, 64 bits: draft-eastlake-fnv */
#define FNV_PRIME 0x100000001b3ull

#define WALK_FACTOR 1664525u    /* of the generator; equal to 1 modulo 4 (Knuth vol. 2, 3.3.4) */
#define WALK_ADD    1013904223u /* odd, so that the period is full */

static uint64_t checksum(const struct bench_row *row)
{
    const unsigned char *key = (const unsigned char *)&row->key;
    uint64_t hash = FNV_START;

    for (size_t i = 0; i < sizeof row->key; i++)
        hash = (hash ^ key[i]) * FNV_PRIME;
    for (size_t i = 0; i < sizeof row->text; i++)
        hash = (hash ^ row->text[i]) * FNV_PRIME;
    return hash;
}

void bench_area_init(struct bench_area *area, void *memory, size_t bytes, uint64_t seed)
{
    *area = (struct bench_area){.row = memory, .rows = bytes / sizeof(struct bench_row)};
    if (bytes < 4096 || (bytes & (bytes - 1)) != 0)
        bench_die("an area of %zu bytes: a power of 2, at least 4096", bytes);
    area->at = seed & (area->rows - 1);
}

void bench_area_fill(struct bench_area *area, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct bench_row *row = &area->row[i];
        uint64_t state = bench_seed(i, 0);

        row->key = i;
        atomic_init(&row->balance, 0);
        for (size_t k = 0; k < sizeof row->text; k += sizeof state) {
            uint64_t word = bench_random(&state);

            __builtin_memcpy(row->text + k, &word, sizeof word);
        }
        row->sum = checksum(row);
    }
}

void bench_row_visit(struct bench_area *area, size_t i, uint64_t amount)
{
    struct bench_row *row = &area->row[i];

    area->bad += checksum(row) != row->sum;
    if (amount != 0) {
        atomic_fetch_add_explicit(&row->balance, amount, memory_order_relaxed);
        area->added += amount;
    }
}

void bench_area_walk(struct bench_area *area, uint64_t amount)
{
    bench_row_visit(area, area->at, amount);
    area->at = (area->at * WALK_FACTOR + WALK_ADD) & (area->rows - 1);
}

uint64_t bench_area_balance(const struct bench_area *area)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < area->rows; i++)
        sum += atomic_load_explicit(&area->row[i].balance, memory_order_relaxed);
    return sum;
}
