// SPDX-License-Identifier: MIT
/*
 * memcopy.c - the MPO white paper's memory-copy microbenchmark: a(i) = b(i) on doubles, in parallel.
 *
 * THEORY      Each thread owns one slice of both arrays, initialises it and copies it.  With first touch every page
 *             then lies on the board of the thread that uses it; with madvise(MADV_ACCESS_MANY) pages lie on random
 *             boards.  meminfo(2) returns the lgroup of each page, and the result is printed as in the paper's Table
 *             3-4.
 *             With -o one thread initialises all slices, as in programs that were made parallel later.  First touch
 *             then puts every page on this thread's board.  With -m it also gives the advice MADV_ACCESS_LWP, so each
 *             page moves to the home of the thread that copies it.
 *             The copy is one 8-byte load and one 8-byte store for each element, unrolled to one line in each turn, as
 *             an optimising compiler translates the paper's loop.  `volatile` prevents a call of memcpy and wider
 *             moves.  Every byte of a line is stored.
 * INVARIANTS  I1  slices are whole pages, so each page has one thread that initialises it and one that copies it
 *             I2  arrays are mapped anew for each placement, and madvise(2) comes before the first touch
 * OUTPUT      modelled_mbps is bytes read plus written divided by modelled time, in 10^6 bytes a second, as the paper's
 *             rates.  The other rate uses wall-clock time: under QEMU it says nothing about boards.
 * SEE ALSO    docs/benchmarks.md, docs/memory.md, tests/test_memcopy.py
 */
#include <sys/mman.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

#define DEFAULT_SLICE 131072 /* doubles of each thread and array: 1 MiB */
#define LINE          8      /* doubles */

/* The options. */
static int nthreads;
static size_t elements; /* doubles in each array */
static size_t npages;   /* -P: pages of both arrays together; 0: not given */
static size_t page_size = 4096;
static int iterations = 10;
static bool bind_threads, one_initialises, pages_move, do_placement[BENCH_PLACEMENTS] = {true};

/* The run in progress. */
static double *a, *b;
static size_t slice; /* doubles of each thread and array, in whole pages */

static const char help[] HR_MANUAL =
    "NAME\n"
    "    memcopy - copy arrays in parallel, and show where their pages are\n"
    "\n"
    "SYNOPSIS\n"
    "    memcopy [-t threads] [-n elements | -P pages] [-s 4k|2m] [-i iterations]\n"
    "            [-p first|random|both|any] [-b] [-o] [-m]\n"
    "\n"
    "DESCRIPTION\n"
    "    Each thread initialises and copies its own slice of two arrays of\n"
    "    doubles.  With first touch each page must be on the home of its thread.\n"
    "    The rate is bytes read and written.  k and m after a number are * 1024\n"
    "    and * 1024 * 1024.\n"
    "\n"
    "OPTIONS\n"
    "    -b            bind thread i to the i-th CPU\n"
    "    -i iterations copies of the whole array (10)\n"
    "    -n elements   doubles in each array (" HR_NUMBER(
        DEFAULT_SLICE) " for each thread)\n"
                       "    -m            like -o, with advice MADV_ACCESS_LWP: each page moves to\n"
                       "                  the thread that copies it\n"
                       "    -o            one thread initialises all slices\n"
                       "    -p placement  first touch (default), random, both in turn, or any: none\n"
                       "                  is asked for\n"
                       "    -P pages      instead of -n: pages of both arrays together\n"
                       "    -s size       size of a page (4k)\n"
                       "    -t threads    threads (one for each CPU)\n"
                       "\n"
                       "EXAMPLES\n"
                       "    memcopy -t 72 -p both\n"
                       "\n"
                       "EXIT STATUS\n"
                       "    0 ok, 1 pages or results are not as they must be, 2 wrong command line or\n"
                       "    an error\n"
                       "\n"
                       "SEE ALSO\n"
                       "    fdiff, lgrpinfo, docs/benchmarks.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static void copy(volatile double *to, const volatile double *from, size_t count)
{
    for (size_t i = 0; i < count; i += LINE)
#pragma GCC unroll 8
        for (size_t k = 0; k < LINE; k++)
            to[i + k] = from[i + k];
}

/* Initialises the slices of a thread. */
static void fill_slices(int thread)
{
    double *its_a = a + (size_t)thread * slice, *its_b = b + (size_t)thread * slice;

    for (size_t i = 0; i < slice; i++) {
        its_a[i] = 0.0;
        its_b[i] = (double)i;
    }
}

/* Initialises all slices, and lets their pages move if -m asks for it. */
static void fill_all(void)
{
    size_t bytes = (size_t)nthreads * slice * sizeof(double);

    for (int thread = 0; thread < nthreads; thread++)
        fill_slices(thread);
    if (pages_move &&
        (madvise(a, bytes, MADV_ACCESS_LWP) != 0 || madvise(b, bytes, MADV_ACCESS_LWP) != 0))
        bench_die("madvise(MADV_ACCESS_LWP): %s", strerror(errno));
}

static void work(int self)
{
    double *mine_a = a + (size_t)self * slice, *mine_b = b + (size_t)self * slice;

    bench_barrier(); /* all threads exist now, so none is alone on a board when it begins */
    if (!one_initialises)
        fill_slices(self);
    else if (self == 0)
        fill_all();
    bench_start(self);
    for (int round = 0; round < iterations; round++) {
        copy(mine_a, mine_b, slice);
        if (round + 1 < iterations)
            bench_barrier();
    }
    bench_stop(self);
}

static int report_pages(enum bench_placement placement)
{
    static struct bench_census census;
    int placers = one_initialises && !pages_move ? 1 : nthreads; /* whose homes have the pages */

    memset(&census, 0, sizeof census);
    bench_census_add(&census, a, nthreads, placers, slice * sizeof(double), page_size);
    bench_census_add(&census, b, nthreads, placers, slice * sizeof(double), page_size);
    return bench_census_report(&census, nthreads, placement);
}

/* Checks that all of b was copied to a.  Returns 0 or 1. */
static int check_copy(void)
{
    for (size_t i = 0; i < slice * (size_t)nthreads; i++) {
        if (a[i] != (double)(i % slice)) {
            printf("memcopy: element %zu is %g after the copy, not %g\n", i, a[i],
                   (double)(i % slice));
            return 1;
        }
    }
    return 0;
}

static int run(enum bench_placement placement)
{
    const struct bench_measure *m = bench_measured();
    size_t bytes = (size_t)nthreads * slice * sizeof(double);
    double megabytes = 2.0 * (double)bytes * iterations / 1e6; /* read plus written */
    int bad;

    printf("placement %s: %d threads, 2 x %zu pages of %s, %d iterations\n",
           bench_placement_name[placement], nthreads, bytes / page_size,
           page_size == 4096 ? "4K" : "2M", iterations);
    a = bench_map(bytes, page_size, placement);
    b = bench_map(bytes, page_size, placement);
    bench_threads(nthreads, work, bind_threads);
    bad = report_pages(placement);
    printf("rate: %.0f MB/s (bytes read plus written, wall-clock time)\n",
           megabytes / (m->wall_s > 0.0 ? m->wall_s : 1e-9));
    if (m->model)
        printf("modelled rate: %.0f MB/s\n", megabytes / m->modelled_s);
    printf("result: bench=memcopy placement=%s threads=%d bytes=%zu iterations=%d page=%zu",
           bench_placement_name[placement], nthreads, 2 * bytes, iterations, page_size);
    if (m->model)
        printf(" modelled_mbps=%.1f", megabytes / m->modelled_s);
    bench_result_end();
    bad |= check_copy();
    munmap(a, bytes);
    munmap(b, bytes);
    printf("%s\n", bad ? "FAILED" : "ok");
    fflush(stdout);
    return bad;
}

static void read_options(int argc, char **argv)
{
    int opt;

    while ((opt = getopt(argc, argv, "t:n:P:s:i:p:bom")) != -1) {
        switch (opt) {
        case 't':
            nthreads = bench_int(optarg, 1, BENCH_MAX, "threads");
            break;
        case 'n':
            elements = bench_count(optarg);
            break;
        case 'P':
            npages = bench_count(optarg);
            break;
        case 's':
            if (strcasecmp(optarg, "4k") != 0 && strcasecmp(optarg, "2m") != 0)
                bench_die("page sizes: 4k and 2m");
            page_size = strcasecmp(optarg, "4k") == 0 ? 4096 : 2 << 20;
            break;
        case 'i':
            iterations = bench_int(optarg, 1, 1000000, "iterations");
            break;
        case 'p':
            bench_parse_placement(optarg, do_placement);
            break;
        case 'b':
            bind_threads = true;
            break;
        case 'm':
            pages_move = true;
            one_initialises = true;
            break;
        case 'o':
            one_initialises = true;
            break;
        default:
            usage();
        }
    }
    if (optind != argc || (npages != 0 && elements != 0))
        usage();
}

int main(int argc, char **argv)
{
    size_t per_page;
    int bad = 0;

    hr_help(argv, help);
    bench_init();
    read_options(argc, argv);
    if (nthreads == 0)
        nthreads = bench_cpus();
    per_page = page_size / sizeof(double);
    if (npages != 0)
        elements = npages / 2 * per_page;
    if (elements == 0)
        elements = (size_t)nthreads * DEFAULT_SLICE;
    slice = (elements + (size_t)nthreads - 1) / (size_t)nthreads;
    slice = (slice + per_page - 1) / per_page * per_page; /* I1 */
    for (enum bench_placement placement = BENCH_FIRST; placement < BENCH_PLACEMENTS; placement++)
        if (do_placement[placement])
            bad |= run(placement);
    return bad;
}
