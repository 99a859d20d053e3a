// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * params.h - the model's parameters, as read from the file that the launcher writes.
 *
 * SEE ALSO  qemu/fireplane.toml (values and their sources), tools/homeroom/model.py (writes the file)
 */
#ifndef FIREPLANE_PARAMS_H
#define FIREPLANE_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uapi/fireplane.h"

#define FP_MAX_FLIGHTS 64 /* transfers in flight of one kind, at most */

/* Where a CPU sits on its board; memory is controlled by the CPUs in seats 0 .. board_cpus-1. */
#define FP_SEAT_MAXCPU 255 /* on a MaxCPU board, in the I/O slot of the same expander */

struct fp_params {
    /* machine */
    unsigned ncpus, nboards;
    uint8_t board[FP_MAX_CPUS];        /* of each CPU                                       */
    uint8_t seat[FP_MAX_CPUS];         /* its number on the board, or FP_SEAT_MAXCPU        */
    uint8_t board_cpus[FP_MAX_BOARDS]; /* CPUs of each board, without MaxCPU ones           */
    uint64_t memory_mib;               /* of the machine; physical addresses go a bit beyond */
    /* CPU and caches */
    uint64_t clock_ps;
    /* clocks from operands to a floating-point result (fpu.c): most; sign, logic, shuffles; doubles; singles */
    uint64_t fp_latency, fp_move_latency;
    uint64_t fp_div_latency, fp_sqrt_latency;
    uint64_t fp_divs_latency, fp_sqrts_latency;
    uint64_t ecache_kib, ecache_ways;
    uint64_t ecache_latency; /* clocks that a load waits for it when its line is not in level 1 */
    uint64_t misses_in_flight, stores_in_flight, writebacks_in_flight; /* up to FP_MAX_FLIGHTS */
    uint64_t store_queue; /* stores that it has room for */
    uint64_t streams;
    bool write_allocate; /* a store miss reads its line at once */
    /* latency */
    uint64_t own_ps, pair_ps, board_ps, expander_ps, remote_ps, remote_miss_ps;
    uint64_t cdc_hit_percent; /* share of remote accesses that take remote_ps, not remote_miss_ps */
    /* bandwidth, megabytes (10^6) a second */
    uint64_t port_mbps, memory_mbps, bus_mbps, request_mbps, response_mbps, crossbar_mbps;
    bool bus_per_board; /* an address bus for each board, not one for all */
    bool double_pumped; /* the data crossbar at half rate                 */
    uint64_t crossbar_queue; /* lines that wait behind each of its ports   */
    /* time */
    uint64_t skew_ps, order_ps, bucket_ps;
};

/*
 * fp_params_parse - read "key = value" lines.
 *
 * Returns 0; or -1 with a sentence in error[] (unknown, missing, repeated, out of range, contradicting).
 */
int fp_params_parse(struct fp_params *p, const char *text, char *error, size_t error_size);

#endif
