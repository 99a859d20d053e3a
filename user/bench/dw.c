// SPDX-License-Identifier: MIT
/*
 * dw.c - a data-warehouse query: parallel scan of a shared table, aggregation in private memory.
 *
 * THEORY      The MPO white paper's data-warehouse test (+12 % on 72 CPUs) is "a variety of queries executed on a
 *             database of about 3 TB"; the paper says no more.  What such a query does in memory is known: slave
 *             processes, one for each CPU, scan parts of the table in the shared region, and sort or group in private
 *             memory.  A slave that has finished a part takes the next free part.  This program does the same for
 *                 SELECT group, SUM(amount) ... WHERE half of the rows GROUP BY group.
 *             Each row of the table is read once, in order: a miss for each row, in shared memory, placed at random
 *             with or without MPO.  Each selected row updates a random entry of the slave's own hash table of 1 MiB: a
 *             miss in private memory, local with MPO.  There are two shared misses for each private one.  A part is 512
 *             rows, 32 KiB.
 * INVARIANTS  I1  the sums over the groups of all slaves are those of the table's formula, for any number of slaves
 * SEE ALSO    docs/benchmarks.md, user/include/benchrows.h
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "benchrows.h"
#include "help.h"

#define GROUPS 16384u /* entries of a slave's hash table, one line each */
#define PART   512u   /* rows */

/* An entry of the hash table. */
struct group {
    uint64_t key, count, sum, unused[5];
};

/* The results of a slave; in shared memory. */
struct found {
    uint64_t selected, sum, bad;
};

/* The state that slaves share. */
struct query {
    _Atomic size_t next; /* the next part of the table to scan; it counts on through all queries */
};

static int nslaves, queries = 2, table_mib = 64;
static bool bind_slaves;
static struct query *shared;
static struct bench_row *table;
static struct found *found;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    dw - a data-warehouse query: parallel scan of a shared table\n"
    "\n"
    "SYNOPSIS\n"
    "    dw [-l slaves] [-q queries] [-m MiB] [-b]\n"
    "\n"
    "DESCRIPTION\n"
    "    Processes scan parts of a shared table and sum amounts by group in\n"
    "    private memory.  The sums are checked.\n"
    "\n"
    "OPTIONS\n"
    "    -b            bind slave i to the i-th CPU, and begin again after the last\n"
    "    -l slaves     slave processes (one for each CPU)\n"
    "    -m MiB        size of the table, a power of 2 (64)\n"
    "    -q queries    queries, one after the other (2)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 ok, 1 a sum was wrong, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    oltp, erp, docs/benchmarks.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

/* The columns of a row in query q, from a hash of its key. */
static inline uint64_t columns(uint64_t key, int query)
{
    return bench_seed(key, (uint64_t)query);
}

static inline bool selected(uint64_t columns)
{
    return (columns & 1) != 0;
}

static inline uint64_t amount(uint64_t columns)
{
    return columns >> 1 & 1023;
}

static inline size_t group(uint64_t columns)
{
    return columns >> 32 & (GROUPS - 1);
}

static void scan(struct bench_area *area, size_t from, size_t to, int query, struct group *groups)
{
    for (size_t i = from; i < to; i++) {
        uint64_t c;

        bench_row_visit(area, i, 0);
        c = columns(area->row[i].key, query);
        if (!selected(c))
            continue;
        groups[group(c)].count++;
        groups[group(c)].sum += amount(c);
    }
}

static void work(int self)
{
    struct group *groups = bench_map(GROUPS * sizeof *groups, 4096, BENCH_FIRST);
    struct bench_area area;
    size_t from, to;

    bench_area_init(&area, table, (size_t)table_mib << 20, 0);
    from = area.rows * (size_t)self / (size_t)nslaves;
    to = area.rows * ((size_t)self + 1) / (size_t)nslaves;
    bench_area_fill(&area, from, to);
    for (size_t i = 0; i < GROUPS; i++)
        groups[i].key = i;
    bench_start(self);
    for (size_t part, parts = area.rows / PART;
         (part = atomic_fetch_add(&shared->next, 1)) < parts * (size_t)queries;)
        scan(&area, part % parts * PART, (part % parts + 1) * PART, (int)(part / parts), groups);
    bench_stop(self);
    for (size_t i = 0; i < GROUPS; i++) {
        found[self].selected += groups[i].count;
        found[self].sum += groups[i].sum;
    }
    found[self].bad = area.bad;
}

/* Compares the slaves' results with the formula.  Returns 0; 1 if they differ. */
static int check(int failed)
{
    struct found all = {0}, expected = {0};
    size_t rows = ((size_t)table_mib << 20) / sizeof(struct bench_row);

    for (int i = 0; i < nslaves; i++) {
        all.selected += found[i].selected;
        all.sum += found[i].sum;
        all.bad += found[i].bad;
    }
    for (int query = 0; query < queries; query++) {
        for (size_t i = 0; i < rows; i++) {
            uint64_t c = columns(i, query);

            expected.selected += selected(c);
            expected.sum += selected(c) ? amount(c) : 0;
        }
    }
    printf("selected %lu rows, sum %lu\n", all.selected, all.sum);
    if (failed == 0 && all.bad == 0 && all.selected == expected.selected && all.sum == expected.sum)
        return 0;
    printf(
        "dw: %d slaves failed, %lu rows are bad; %lu rows with sum %lu should have been selected\n",
        failed, all.bad, expected.selected, expected.sum);
    return 1;
}

int main(int argc, char **argv)
{
    const struct bench_measure *m;
    double rows;
    int opt, bad;

    hr_help(argv, help);
    bench_init();
    while ((opt = getopt(argc, argv, "l:q:m:b")) != -1) {
        if (opt == 'l')
            nslaves = bench_int(optarg, 1, BENCH_MAX, "slaves");
        else if (opt == 'q')
            queries = bench_int(optarg, 1, 1000, "queries");
        else if (opt == 'm')
            table_mib = bench_int(optarg, 1, 65536, "MiB");
        else if (opt == 'b')
            bind_slaves = true;
        else
            usage();
    }
    if (optind != argc)
        usage();
    if (nslaves == 0)
        nslaves = bench_cpus();
    if ((table_mib & (table_mib - 1)) != 0)
        bench_die("MiB: a power of 2");
    m = bench_measured();
    table = bench_shared((size_t)table_mib << 20, false);
    shared = bench_shared(sizeof *shared, false);
    found = bench_shared((size_t)nslaves * sizeof *found, false);
    rows = (double)((size_t)table_mib << 20) / sizeof(struct bench_row) * queries;
    printf("%d slaves, table of %d MiB, %d queries\n", nslaves, table_mib, queries);
    bad = check(bench_processes(nslaves, work, bind_slaves));
    if (m->model)
        printf("modelled: %.0f rows a second\n", rows / m->modelled_s);
    printf("result: bench=dw slaves=%d queries=%d rows=%.0f", nslaves, queries, rows);
    if (m->model)
        printf(" modelled_rows_per_s=%.1f", rows / m->modelled_s);
    bench_result_end();
    printf("%s\n", bad ? "FAILED" : "ok");
    return bad;
}
