// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * params.h - the model's parameters, read from the file that the launcher writes.
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

/* A CPU's seat is its place on its board.  The CPUs in seats 0 .. board_cpus-1 control the board's memory. */
/* The seat of a CPU on a MaxCPU board, in the I/O slot of the same expander: it controls no memory. */
#define FP_SEAT_MAXCPU 255

struct fp_params {
    /* machine */
    unsigned ncpus, nboards;
    uint8_t board[FP_MAX_CPUS];        /* of each CPU */
    uint8_t seat[FP_MAX_CPUS];         /* its number on the board, or FP_SEAT_MAXCPU */
    uint8_t board_cpus[FP_MAX_BOARDS]; /* CPUs of each board, without MaxCPU ones */
    uint64_t memory_mib; /* of the machine; physical addresses go up to 4 GiB further */
    /* CPU and caches */
    uint64_t clock_ps; /* length of a CPU clock cycle */
    /* clock cycles from the operands to a floating-point result (fpu.c) */
    uint64_t fp_latency, fp_move_latency;       /* arithmetic; sign, logic, shuffles */
    uint64_t fp_div_latency, fp_sqrt_latency;   /* double precision */
    uint64_t fp_divs_latency, fp_sqrts_latency; /* single precision */
    uint64_t ecache_kib, ecache_ways;
    /* clock cycles that a load waits for the external cache after a miss in level 1 */
    uint64_t ecache_latency;
    uint64_t misses_in_flight, stores_in_flight, writebacks_in_flight; /* up to FP_MAX_FLIGHTS */
    uint64_t store_queue;                                              /* its size, in stores */
    uint64_t streams;    /* streams of misses that each CPU can follow */
    bool write_allocate; /* a store miss reads its line immediately */
    /*
     * Latency, by the CPU that controls the memory or the place of the requester:
     *   own_ps       the requester itself controls the memory
     *   pair_ps      the other CPU of its pair controls the memory
     *   board_ps     another CPU of its board controls the memory
     *   expander_ps  the requester is on a MaxCPU board of the same expander
     *   remote_ps, remote_miss_ps   the requester is on another board
     */
    uint64_t own_ps, pair_ps, board_ps, expander_ps, remote_ps, remote_miss_ps;
    /* share of remote accesses that take remote_ps; the others take remote_miss_ps */
    uint64_t cdc_hit_percent;
    /* bandwidth, megabytes (10^6 bytes) a second */
    uint64_t port_mbps, memory_mbps, bus_mbps, request_mbps, response_mbps, crossbar_mbps;
    bool bus_per_board;      /* an address bus for each board, not one for all */
    bool double_pumped;      /* the data crossbar at half rate */
    uint64_t crossbar_queue; /* size of the queue behind each port, in lines */
    /* time: how far CPUs' clocks may be apart (model.c); length of a bucket (wire.c) */
    uint64_t skew_ps, order_ps, bucket_ps;
};

/*
 * fp_params_parse - read "key = value" lines.
 *
 * Returns 0; or -1 with a message in error[]: a parameter is unknown, missing, repeated, out of range, or contradicts
 * another one.
 */
int fp_params_parse(struct fp_params *p, const char *text, char *error, size_t error_size);

#endif
