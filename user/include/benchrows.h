// SPDX-License-Identifier: MIT
/*
 * benchrows.h - memory areas made of rows, as a database has them, for the business benchmarks.
 *
 * THEORY      A row is one line of memory.  Reading it computes the checksum of its text and compares it with the
 *             one that it carries, byte by byte (FNV-1a), about 250 instructions; so a program that misses the
 *             cache on each row has some 4 misses per 1,000 instructions.  That is the benchmarks' own choice: the
 *             paper gives no figure for it.  It decides how much throughput depends on placement, and has no part in
 *             which misses are local.
 *             A walk visits all rows of an area once before any row again, in an order without pattern
 *             (a full-period linear congruential generator: Hull and Dobell 1962), so that rows are out of the
 *             cache when their turn comes.
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
    size_t at;      /* the walk's next row */
    uint64_t added; /* amounts added through this view */
    uint64_t bad;   /* rows whose checksum was wrong */
};

/* bench_area_init - an area of `bytes` (a power of 2, at least 4096) at `memory`, the walk beginning at a row
 * that depends on `seed`.  Touches nothing. */
void bench_area_init(struct bench_area *area, void *memory, size_t bytes, uint64_t seed);

/* bench_area_fill - fill in rows from .. to-1. */
void bench_area_fill(struct bench_area *area, size_t from, size_t to);

/* bench_row_visit - read row i and check it; then add `amount` to its balance, if it is not 0. */
void bench_row_visit(struct bench_area *area, size_t i, uint64_t amount);

/* bench_area_walk - visit the walk's next row. */
void bench_area_walk(struct bench_area *area, uint64_t amount);

/* bench_area_balance - the sum of all balances. */
uint64_t bench_area_balance(const struct bench_area *area);

#endif
