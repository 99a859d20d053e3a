// SPDX-License-Identifier: MIT
/*
 * types.h - the integer types and the small macros that every file uses.
 */
#ifndef LIB_TYPES_H
#define LIB_TYPES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_SHIFT 12
#define PAGE_SIZE  4096ul
#define PAGE_MASK  (~(PAGE_SIZE - 1))
#define HUGE_SHIFT 21
#define HUGE_SIZE  (1ul << HUGE_SHIFT)
#define HUGE_ORDER (HUGE_SHIFT - PAGE_SHIFT) /* buddy order of a 2 MiB page */

#define CPU_MAX  256 /* xAPIC ids are 8 bits wide */
#define NODE_MAX 64  /* memory nodes (boards) */
#define LGRP_MAX 64

#define round_up(x, a)        (((x) + ((a) - 1)) & ~((typeof(x))(a) - 1))
#define round_down(x, a)      ((x) & ~((typeof(x))(a) - 1))
#define array_size(a)         (sizeof(a) / sizeof((a)[0]))
#define container_of(p, t, m) ((t *)((char *)(p) - offsetof(t, m)))
#define min_of(a, b)                                                                               \
    ({                                                                                             \
        typeof(a) _a = (a);                                                                        \
        typeof(b) _b = (b);                                                                        \
        _a < _b ? _a : _b;                                                                         \
    })
#define max_of(a, b)                                                                               \
    ({                                                                                             \
        typeof(a) _a = (a);                                                                        \
        typeof(b) _b = (b);                                                                        \
        _a > _b ? _a : _b;                                                                         \
    })
#define likely(x)         __builtin_expect(!!(x), 1)
#define unlikely(x)       __builtin_expect(!!(x), 0)
#define noreturn          __attribute__((noreturn))
#define cacheline_aligned __attribute__((aligned(64)))

/* A position in a file, in bytes; signed as in POSIX. */
typedef int64_t loff_t;

#endif
