// SPDX-License-Identifier: MIT
/*
 * bench.h - what the benchmarks share: workers that start and stop together, the measured part, where pages lie.
 *
 * THEORY      A benchmark has n workers, threads or processes.  Each initialises its own data; then all pass
 *             bench_start(), do the measured work and pass bench_stop().  Between the two the interconnect model
 *             (fireplane.h) watches; the time of the measured part is the latest of the workers' (end - begin) on
 *             the modelled clock.  Without the model everything runs, and only wall-clock time is told.
 *             The same programs run on Linux: what only Homeroom has is asked for and done without.
 * INVARIANTS  I1  worker 0 is the caller: n workers are n LWPs, as with a compiler's threads
 *             I2  the barrier sleeps in the kernel and never spins, so a released worker's modelled time is at
 *                 least that of the one that released it
 * SEE ALSO    docs/benchmarks.md, user/lib/bench.c, user/lib/benchpages.c
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fireplane.h"
#include "uapi/homeroom.h"

#define BENCH_MAX 1024 /* workers */

enum bench_placement { BENCH_FIRST, BENCH_RANDOM, BENCH_ANY, BENCH_PLACEMENTS };

/* A measured part. */
struct bench_measure {
    bool model;              /* the model was attached: the next two are valid */
    double modelled_s;       /* latest (end - begin) of the workers, on the modelled clock */
    struct fp_counts counts; /* of all CPUs, for the measured part */
    double busy_s;           /* instructions and stalls of all CPUs, as modelled time */
    double wall_s;           /* worker 0's clock */
};

/* A worker; `self` is 0 .. n-1. */
typedef void bench_work(int self);

/* bench_init - must come first in a program that has workers or a measured part. */
void bench_init(void);

/* benchbase.c: needs no bench_init. */

/* bench_die - "name: message" on standard error, status 2; the name is the program's. */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* bench_now - the monotonic wall clock, in seconds. */
double bench_now(void);
/* bench_processor - the processor time of this process, in seconds. */
double bench_processor(void);

/* bench_count - a positive whole number with an optional k or m (1024, 1024^2); ends the program if it is not. */
size_t bench_count(const char *text);

/* bench_int - a whole number in [low, high], for option `what`; ends the program if it is not. */
int bench_int(const char *text, int low, int high, const char *what);

/* bench.c: workers. */

/* bench_cpus - on-line CPUs, at least 1, at most BENCH_MAX. */
int bench_cpus(void);

/*
 * bench_threads - run work(0) .. work(n-1) as n threads, thread 0 being the caller, and wait for all.
 * With `bind` thread i is bound to the i-th on-line CPU, wrapping round.  Ends the program if one cannot be made.
 */
void bench_threads(int n, bench_work *work, bool bind);

/*
 * bench_processes - run work(0) .. work(n-1) as n child processes, bound in the same way with `bind`, and wait for all.
 * Returns how many did not end with status 0.
 */
int bench_processes(int n, bench_work *work, bool bind);

/* bench_barrier - wait for all workers. */
void bench_barrier(void);

/* bench_start, bench_stop - begin and end of the measured part; every worker calls both. */
void bench_start(int self);
void bench_stop(int self);

/* bench_measured - the last measured part, when all workers have passed bench_stop(). */
const struct bench_measure *bench_measured(void);

/*
 * bench_result_end - ends a "result: ..." line that the caller has begun with modelled_s and wall_s, and prints
 *                    the counters, or that there is no model.
 */
void bench_result_end(void);

/* bench_random - the next number of a generator (xorshift64*, Vigna 2016); the state must not be 0. */
static inline uint64_t bench_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

/* bench_seed - a state for generator number `stream` of a run with `seed` (splitmix64, Steele et al. 2014). */
static inline uint64_t bench_seed(uint64_t seed, uint64_t stream)
{
    uint64_t z = (seed + stream + 1) * 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return z != 0 ? z : 1;
}

/* benchpages.c: where memory lies. */

extern const char *const bench_placement_name[BENCH_PLACEMENTS]; /* "first", "random", "any" */

/* bench_parse_placement - first, random, both or any; ends the program for another word. */
void bench_parse_placement(const char *text, bool chosen[BENCH_PLACEMENTS]);

/*
 * bench_map - fresh zero memory, private to the process, in pages of page_size (4 KiB or 2 MiB).
 * BENCH_RANDOM: pages lie on boards at random (madvise MADV_ACCESS_MANY; on Linux each page is touched under a
 * policy for a random node, with numbers from a fixed seed).  Ends the program if it cannot be had.
 */
void *bench_map(size_t bytes, size_t page_size, enum bench_placement placement);

/*
 * bench_shared - fresh zero memory, shared with the processes that bench_processes() makes; ends the program if it
 * cannot be had.  `large`: in 2 MiB pages, or, with a line that says so, in small ones where there are none.
 */
void *bench_shared(size_t bytes, bool large);

/* bench_home - home lgroup of worker i of the last team, as it was when it began; on Linux the node it ran on. */
int bench_home(int i);

/* bench_home_self - the same of the caller, now. */
int bench_home_self(void);

/* bench_lgroup_now - the lgroup (Linux: node) of the CPU that the caller runs on; -1 if unknown. */
int bench_lgroup_now(void);

/* bench_here - whether a page of 4 KiB is there and lies in the lgroup (Linux: node) of the caller's CPU. */
bool bench_here(void *page);

/* Where the pages of a run's arrays are. */
struct bench_census {
    unsigned long in[HR_MAXLGRP]; /* pages per lgroup */
    unsigned long total;          /* pages asked about */
    unsigned long local;          /* pages on the home of the worker that initialised them */
    unsigned long unknown;        /* pages without an answer, or of another size */
    bool none;                    /* this system does not tell */
};

/*
 * bench_census_add - count the pages of an array of n parts, each of part_bytes, a multiple of page_size; part i was
 *                    initialised by worker i modulo `workers`.
 */
void bench_census_add(struct bench_census *census, const void *array, int n, int workers,
                      size_t part_bytes, size_t page_size);

/* bench_linux_nodes - on Linux, as root: the node of n pages, or -1 each.  0, or -1 if this system does not tell. */
int bench_linux_nodes(void *const where[], int n, int node[]);

/*
 * bench_census_report - print the homes of n workers and where the pages are.
 * Returns 0, or 1 if pages are not where the placement puts them (Homeroom only); BENCH_ANY: wherever they are.
 */
int bench_census_report(const struct bench_census *census, int n, enum bench_placement placement);

#endif
