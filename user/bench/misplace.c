// SPDX-License-Identifier: MIT
/*
 * misplace.c - programs whose first touch places memory badly, or whose use of memory changes.
 *
 * THEORY      First touch is right if the thread that touches a page first is also the one that uses it.  Here it is
 *             not: one thread initialises memory that all use, or its users change.  Each row is such a program.
 *             Two rows have nothing to gain from moving pages: in `all` each page is used by all threads and the pages
 *             are spread evenly, and the processes of `short` end soon.
 *             A *slice* is the memory of one thread, 512 KiB by default: twice the external cache of the model at the
 *             scale of the papers' experiments.  A visit reads a random line of a slice or of a table, and writes every
 *             fourth line that it reads.  So half of the visits to a slice are misses.  The row `hot` reads in order
 *             instead: each line is a miss, and bandwidth is the limit.
 *             A run does a fixed number of visits, so less modelled time is better.
 * INVARIANTS  I1  threads are not bound, so the kernel may move them
 * OUTPUT      result: bench=misplace row=ROW placement=first|random threads= visits= (of each thread) and the times and
 *             counters of bench.h
 * SEE ALSO    make experiment-balance, docs/results/balance.md, docs/lgroups.md
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    misplace - memory that first touch places badly\n"
    "\n"
    "SYNOPSIS\n"
    "    misplace [-t threads] [-n visits] [-k kib] [-p first|random|both] row\n"
    "\n"
    "DESCRIPTION\n"
    "    Threads read and write memory that another thread has initialised, or\n"
    "    that other threads have used before.  The program prints the modelled time\n"
    "    of a fixed amount of work, and the misses to local and remote memory.  k\n"
    "    and m after a number are * 1024 and * 1024 * 1024.  The rows:\n"
    "\n"
    "    init    one thread initialises the slices of all; then each thread uses its\n"
    "            own slice\n"
    "    hot     one thread initialises a table; then all threads read it in order\n"
    "    table   one thread initialises a table; then all threads read it at random,\n"
    "            and each fourth visit is in a slice of the thread's own\n"
    "    phases  each thread initialises its slice; then, in three phases, slices\n"
    "            change hands\n"
    "    all     all threads initialise a table together, and use it at random\n"
    "    short   each worker starts 16 processes, one after the other; each of them\n"
    "            initialises a slice and uses it\n"
    "\n"
    "OPTIONS\n"
    "    -k kib        size of a slice (512)\n"
    "    -n visits     visits of each thread (2m)\n"
    "    -p placement  first touch (default), random, or both in turn\n"
    "    -t threads    threads or processes (one for each CPU)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    memcopy, docs/lgroups.md\n";

#define PAGE     4096
#define LINE     8 /* words */
#define PHASES   3
#define CHILDREN 16

static int nthreads;
static size_t visits = 2u << 20;
static size_t slice_bytes = 512u << 10;
static enum bench_placement placement;

static uint64_t *area;   /* a slice for each thread, or the table */
static uint64_t *second; /* row `table`: a slice for each thread */

static size_t area_bytes(void)
{
    return (size_t)nthreads * slice_bytes;
}

static uint64_t *slice_of(uint64_t *base, int i)
{
    return base + (size_t)(i % nthreads) * (slice_bytes / sizeof *base);
}

static void fill(uint64_t *base, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *base; i += LINE)
        base[i] = i;
}

/* Visits `count` random lines of an area of `bytes`.  @writes  every fourth visit writes */
static void visit(volatile uint64_t *base, size_t bytes, size_t count, bool writes, uint64_t *rng)
{
    size_t lines = bytes / sizeof *base / LINE;
    uint64_t state = *rng; /* in a register */

    for (size_t i = 0; i < count; i++) {
        uint64_t r = bench_random(&state);
        volatile uint64_t *p = base + (r >> 32) * lines / (1ull << 32) * LINE;
        uint64_t value = *p;

        if (writes && (r & 3) == 0)
            *p = value + 1;
    }
    *rng = state;
}

static void fill_by_one(int self, uint64_t *base, size_t bytes)
{
    if (self == 0)
        fill(base, bytes);
    bench_barrier();
}

static void work_init(int self)
{
    uint64_t rng = bench_seed(1, (uint64_t)self);

    fill_by_one(self, area, area_bytes());
    bench_start(self);
    visit(slice_of(area, self), slice_bytes, visits, true, &rng);
    bench_stop(self);
}

/* A visit is a line here, too.  Each thread begins at a place of its own. */
static void work_hot(int self)
{
    size_t words = area_bytes() / sizeof *area;
    size_t at = (size_t)self * slice_bytes / sizeof *area;

    fill_by_one(self, area, area_bytes());
    bench_start(self);
    for (size_t i = 0; i < visits; i++) {
        (void)*(volatile uint64_t *)(area + at);
        at = at + LINE < words ? at + LINE : 0;
    }
    bench_stop(self);
}

static void work_table(int self)
{
    enum { BATCH = 64 };
    uint64_t rng = bench_seed(1, (uint64_t)self), *own = slice_of(second, self);

    fill_by_one(self, area, area_bytes());
    fill(own, slice_bytes);
    bench_start(self);
    for (size_t done = 0; done < visits; done += BATCH) {
        visit(area, area_bytes(), BATCH * 3 / 4, false, &rng);
        visit(own, slice_bytes, BATCH / 4, true, &rng);
    }
    bench_stop(self);
}

/* In each phase a thread uses the slice of the thread that is half of all threads ahead, plus the phase. */
static void work_phases(int self)
{
    uint64_t rng = bench_seed(1, (uint64_t)self);

    fill(slice_of(area, self), slice_bytes);
    bench_start(self);
    for (int phase = 0; phase < PHASES; phase++) {
        int whose = self + phase * (nthreads / 2) + phase / 2;

        visit(slice_of(area, whose), slice_bytes, visits / PHASES, true, &rng);
        bench_barrier();
    }
    bench_stop(self);
}

static void work_all(int self)
{
    uint64_t rng = bench_seed(1, (uint64_t)self);

    fill(slice_of(area, self), slice_bytes);
    bench_start(self);
    visit(area, area_bytes(), visits, true, &rng);
    bench_stop(self);
}

static void live_shortly(int self, int child)
{
    uint64_t rng = bench_seed((uint64_t)child, (uint64_t)self);
    uint64_t *own = bench_map(slice_bytes, PAGE, placement);

    fill(own, slice_bytes);
    visit(own, slice_bytes, visits / CHILDREN, true, &rng);
    _exit(0);
}

static void work_short(int self)
{
    bench_start(self);
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t pid = fork();

        if (pid == 0)
            live_shortly(self, i);
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            bench_die("a child: %s", pid < 0 ? strerror(errno) : "failed");
    }
    bench_stop(self);
}

static const struct row {
    const char *name;
    bench_work *work;
    bool processes, own; /* `own`: with a second area */
} rows[] = {
    {.name = "init", .work = work_init},
    {.name = "hot", .work = work_hot},
    {.name = "table", .work = work_table, .own = true},
    {.name = "phases", .work = work_phases},
    {.name = "all", .work = work_all},
    {.name = "short", .work = work_short, .processes = true},
};

static int run(const struct row *row)
{
    int failed = 0;

    area = row->processes ? NULL : bench_map(area_bytes(), PAGE, placement);
    second = row->own ? bench_map(area_bytes(), PAGE, placement) : NULL;
    if (row->processes)
        failed = bench_processes(nthreads, row->work, false);
    else
        bench_threads(nthreads, row->work, false);
    if (failed != 0)
        return 2;
    printf("result: bench=misplace row=%s placement=%s threads=%d visits=%zu", row->name,
           bench_placement_name[placement], nthreads, visits);
    bench_result_end();
    fflush(stdout);
    if (area != NULL)
        munmap(area, area_bytes());
    if (second != NULL)
        munmap(second, area_bytes());
    return 0;
}

int main(int argc, char **argv)
{
    bool chosen[BENCH_PLACEMENTS] = {true};
    const struct row *row = NULL;
    int opt, status = 0;

    hr_help(argv, help);
    bench_init();
    nthreads = bench_cpus();
    while ((opt = getopt(argc, argv, "k:n:p:t:")) != -1) {
        switch (opt) {
        case 'k':
            slice_bytes = (size_t)bench_int(optarg, 4, 1 << 20, "-k") / 4 * PAGE;
            break;
        case 'n':
            visits = bench_count(optarg);
            break;
        case 'p':
            bench_parse_placement(optarg, chosen);
            break;
        case 't':
            nthreads = bench_int(optarg, 1, BENCH_MAX, "threads");
            break;
        default:
            optind = argc;
        }
    }
    if (optind != argc - 1) {
        hr_usage(help);
        return 2;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, argv[optind]) == 0)
            row = &rows[i];
    if (row == NULL)
        bench_die("%s: no such row; misplace --help lists them", argv[optind]);
    for (placement = BENCH_FIRST; placement < BENCH_ANY && status == 0; placement++)
        if (chosen[placement])
            status = run(row);
    return status;
}
