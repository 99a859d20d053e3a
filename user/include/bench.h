// SPDX-License-Identifier: MIT
/*
 * bench.h - what the benchmarks share: workers that start and stop together, the measured part, the places of pages.
 *
 * THEORY      A benchmark has n workers, which are threads or processes.  Each initialises its own data.  Then all
 *             pass bench_start(), do the measured work and pass bench_stop().  Between the two calls the interconnect
 *             model (fireplane.h) is armed.  The time of the measured part is the longest (end - begin) of all workers
 *             on the modelled clock.  Without the model everything runs, and only wall-clock time is printed.
 *             The same programs run on Linux.  There they do without what only Homeroom has.
 * INVARIANTS  I1  worker 0 is the caller: n workers are n LWPs, as with a compiler's threads
 *             I2  the barrier sleeps in the kernel and never spins, so the modelled time of a released worker is at
 *                 least that of the worker that released it
 * SEE ALSO    docs/benchmarks.md, user/lib/bench.c, user/lib/benchpages.c
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fireplane.h"
#include "uapi/homeroom.h"

#define BENCH_MAX 1024 /* the most workers */

enum bench_placement { BENCH_FIRST, BENCH_RANDOM, BENCH_ANY, BENCH_PLACEMENTS };

/* A measured part. */
struct bench_measure {
    bool model;              /* the model was attached: the next three are valid */
    double modelled_s;       /* the longest (end - begin) of the workers, on the modelled clock */
    struct fp_counts counts; /* of all CPUs, in the measured part */
    double busy_s;           /* instructions and stalls of all CPUs, as modelled time */
    double wall_s;           /* on worker 0's clock */
};

/* The work of one worker; `self` is 0 .. n-1. */
typedef void bench_work(int self);

/* bench_init - must be called first in a program with workers or a measured part. */
void bench_init(void);

/* The functions of benchbase.c need no bench_init(). */

/*
 * bench_die - prints "name: message" on standard error, with the program's name, and ends the program with status 2.
 */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* bench_now - the monotonic wall clock, in seconds. */
double bench_now(void);
/* bench_processor - the processor time of this process, in seconds. */
double bench_processor(void);

/*
 * bench_count - a positive whole number with an optional k or m (1024, 1024^2).  Ends the program if `text` is not
 * one.
 */
size_t bench_count(const char *text);

/* bench_int - the value of option `what`, a whole number in [low, high].  Ends the program if `text` is not one. */
int bench_int(const char *text, int low, int high, const char *what);

/* The functions of bench.c: workers. */

/* bench_cpus - the number of on-line CPUs, 1 to BENCH_MAX. */
int bench_cpus(void);

/*
 * bench_threads - runs work(0) .. work(n-1) as n threads and waits for all; thread 0 is the caller.  With `bind`
 * thread i is bound to the i-th on-line CPU; i wraps around at their number.  Ends the program if it cannot create a
 * thread.
 */
void bench_threads(int n, bench_work *work, bool bind);

/*
 * bench_processes - runs work(0) .. work(n-1) as n child processes and waits for all.  `bind` is as for
 * bench_threads().  Returns how many did not end with status 0.
 */
int bench_processes(int n, bench_work *work, bool bind);

/* bench_barrier - waits for all workers. */
void bench_barrier(void);

/* bench_start, bench_stop - the begin and end of the measured part; every worker calls both. */
void bench_start(int self);
void bench_stop(int self);

/* bench_measured - the last measured part; valid when all workers have passed bench_stop(). */
const struct bench_measure *bench_measured(void);

/*
 * bench_result_end - completes a "result: ..." line that the caller has begun: prints modelled_s and wall_s, and then
 * the counters, or that there is no model.
 */
void bench_result_end(void);

/*
 * bench_print_heat - with BENCH_HEAT in the environment, prints the lines of /proc/self/heat, each after "heat: ".
 * Ends the program if the machine does not count misses by page.  bench_result_end() calls it.
 */
void bench_print_heat(void);

/* bench_random - the next number of a generator (xorshift64*, Vigna 2016).  The state must not be 0. */
static inline uint64_t bench_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

/* bench_seed - the first state of generator `stream` in a run with `seed` (splitmix64, Steele et al. 2014). */
static inline uint64_t bench_seed(uint64_t seed, uint64_t stream)
{
    uint64_t z = (seed + stream + 1) * 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return z != 0 ? z : 1;
}

/* The functions of benchpages.c: the places of memory. */

extern const char *const bench_placement_name[BENCH_PLACEMENTS]; /* "first", "random", "any" */

/* bench_parse_placement - parses first, random, both or any.  Ends the program for another word. */
void bench_parse_placement(const char *text, bool chosen[BENCH_PLACEMENTS]);

/*
 * bench_map - maps new zero memory, private to the process, in pages of page_size (4 KiB or 2 MiB).
 *
 * BENCH_RANDOM: the pages lie on random boards (madvise MADV_ACCESS_MANY; on Linux each page is touched under a policy
 * that prefers a random node, with numbers from a fixed seed).  Ends the program if there is no memory.
 */
void *bench_map(size_t bytes, size_t page_size, enum bench_placement placement);

/*
 * bench_shared - maps new zero memory that is shared with the processes of bench_processes().  `large`: in 2 MiB
 * pages; if there are none, prints a line and uses small ones.  Ends the program if there is no memory.
 */
void *bench_shared(size_t bytes, bool large);

/*
 * bench_home - the home lgroup of worker i of the last team when the worker began; on Linux the node on which it ran.
 */
int bench_home(int i);

/* bench_home_self - the home lgroup of the caller now; on Linux the node on which it runs. */
int bench_home_self(void);

/* bench_lgroup_now - the lgroup (Linux: node) of the CPU that the caller runs on; -1 if unknown. */
int bench_lgroup_now(void);

/* bench_here - whether a page of 4 KiB is in memory and in the lgroup (Linux: node) of the caller's CPU. */
bool bench_here(void *page);

/* The places of the pages of a run's arrays. */
struct bench_census {
    unsigned long in[HR_MAXLGRP]; /* pages per lgroup */
    unsigned long total;          /* pages counted */
    unsigned long local;          /* pages on the home of the worker that initialised them */
    unsigned long unknown;        /* pages whose place is unknown, or that have another size */
    bool none;                    /* this system does not show the places of pages */
};

/*
 * bench_census_add - counts the pages of an array of n parts, each of part_bytes, a multiple of page_size.  Part i was
 * initialised by worker i modulo `workers`.
 */
void bench_census_add(struct bench_census *census, const void *array, int n, int workers,
                      size_t part_bytes, size_t page_size);

/*
 * bench_linux_nodes - on Linux, as root: the nodes of n pages, -1 where unknown.  Returns 0; -1 if the system does not
 * show them.
 */
int bench_linux_nodes(void *const where[], int n, int node[]);

/*
 * bench_census_report - prints the homes of n workers and the places of the pages.  Returns 0; 1 if pages are not
 * where the placement puts them (Homeroom only; never for BENCH_ANY).
 */
int bench_census_report(const struct bench_census *census, int n, enum bench_placement placement);

#endif
