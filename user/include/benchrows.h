// SPDX-License-Identifier: MIT
/*
 * benchrows.h - memory areas made of rows, like those of a database, for the business benchmarks.
 *
 * THEORY      A row is one line of memory.  Reading it computes the checksum of its text byte by byte (FNV-1a) and
 *             compares it with the checksum in the row.  This takes about 250 instructions, so a program that misses
 *             the cache on each row has about 4 misses per 1,000 instructions.  This ratio is our choice: the paper
 *             gives no figure for it.  It decides how much the throughput depends on placement; it does not change
 *             which misses are local.
 *             A walk visits all rows of an area once before it visits any row again, in an order without a pattern (a
 *             full-period linear congruential generator: Hull and Dobell 1962).  So a row has left the cache when the
 *             walk returns to it.
 * INVARIANTS  I1  the sum of all balances of an area is the sum of all amounts added to it
 *             I2  key and text never change after they were filled in, and sum is their checksum
 */
#ifndef BENCHROWS_H
#define BENCHROWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_row {
    uint64_t key;
    _Atomic uint64_t balance;
    unsigned char text[40];
    uint64_t sum; /* FNV-1a of key and text */
};

_Static_assert(sizeof(struct bench_row) == 64, "a row is a line");

/* An area, or one process's view of a shared one. */
struct bench_area {
    struct bench_row *row;
    size_t rows;    /* a power of 2 */
    size_t at;      /* the next row of the walk */
    uint64_t added; /* the sum of the amounts added through this view */
    uint64_t bad;   /* rows with a wrong checksum */
};

/*
 * bench_area_init - makes an area of `bytes` (a power of 2, at least 4096) at `memory`.  The walk begins at a row that
 * depends on `seed`.  Touches no memory.
 */
void bench_area_init(struct bench_area *area, void *memory, size_t bytes, uint64_t seed);

/* bench_area_fill - fills in the rows from .. to-1. */
void bench_area_fill(struct bench_area *area, size_t from, size_t to);

/* bench_row_visit - reads row i and checks it; then adds `amount` to its balance if `amount` is not 0. */
void bench_row_visit(struct bench_area *area, size_t i, uint64_t amount);

/* bench_area_walk - visits the next row of the walk. */
void bench_area_walk(struct bench_area *area, uint64_t amount);

/* bench_area_balance - the sum of all balances. */
uint64_t bench_area_balance(const struct bench_area *area);

#endif
