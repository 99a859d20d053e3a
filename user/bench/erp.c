// SPDX-License-Identifier: MIT
/*
 * erp.c - application servers and a database on one machine: the sharing of an enterprise-resource-planning load.
 *
 * THEORY      The MPO white paper (+10 % throughput on 76 CPUs): "transactions typical of sales and distribution, which
 *             can be characterized as OLTP.  About 87 % of the processors were running application servers, while the
 *             remaining ran the database system, in a hostmode fashion."  So of 100 processes here 87 are application
 *             servers and 13 are database servers.
 *             A transaction is four dialog steps.  In a step the application server works on its own session (private)
 *             and on tables that its instance buffers (shared by all).  Then it sends a request to its database server
 *             through a pipe and sleeps until the answer arrives.  The database server visits rows of its private
 *             memory and of the SGA, in the shares of the paper's Table 3-1.  An application server visits 87 rows in a
 *             step.  We assume that 4 of 5 are private; the paper does not say.  The database server visits 13 rows.
 *             By default there are half as many processes as CPUs, as in oltp.
 * INVARIANTS  I1  a process touches its private area first
 *             I2  the sum of all balances is the sum of the amounts that all processes added
 * SEE ALSO    docs/benchmarks.md, oltp.c, user/include/benchrows.h
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "benchrows.h"
#include "help.h"

#define STEPS         4
#define APP_ROWS      87
#define DB_ROWS       13
#define APP_PRIVATE   80 /* of 100 rows */
#define DB_PRIVATE    43 /* of 100 rows: Table 3-1 */
#define PRIVATE_BYTES (1u << 20)
#define BUFFER_BYTES  (16u << 20) /* the instance's buffered tables */
#define SGA_BYTES     (32u << 20)

static int nprocs, ndb, transactions = 40;
static bool bind_processes;
static unsigned seed = 1;
static struct bench_row *buffers, *sga;
/* pipe of process i: requests to a database server, or answers to an application server */
static int (*pipes)[2];

/* The results of a process. */
struct tally {
    uint64_t private_rows, shared_rows, private_added, private_balance, buffers_added, sga_added,
        bad;
};

static struct tally *tally; /* in shared memory */

static const char help[] HR_MANUAL =
    "NAME\n"
    "    erp - application servers and database servers that ask each other\n"
    "\n"
    "SYNOPSIS\n"
    "    erp [-l processes] [-x transactions] [-s seed] [-b]\n"
    "\n"
    "DESCRIPTION\n"
    "    An application server works on private rows and on tables that all\n"
    "    share, asks a database server through a pipe, and sleeps until the answer\n"
    "    comes.  The balances are checked.\n"
    "\n"
    "OPTIONS\n"
    "    -b            bind process i to the i-th CPU, and begin again after the\n"
    "                  last\n"
    "    -l processes  processes, 13 of 100 of them database servers (half as many\n"
    "                  as CPUs, at least 2)\n"
    "    -s seed       seed of what the processes do (1)\n"
    "    -x transactions\n"
    "                  transactions of each application server (40)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 ok, 1 a balance was wrong, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    oltp, dw, docs/benchmarks.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

/*
 * Visits `count` rows, private_share of 100 in the private area, the rest at random in the shared one.  Updates one row
 * in four.
 */
static void visit(struct bench_area *mine, struct bench_area *shared, int count,
                  unsigned private_share, uint64_t *random, struct tally *t)
{
    for (int i = 0; i < count; i++) {
        uint64_t draw = bench_random(random) >> 16, amount = i % 4 == 0 ? 1 + (draw & 255) : 0;

        if ((draw >> 32) % 100 < private_share) {
            bench_area_walk(mine, amount);
            t->private_rows++;
        } else {
            bench_row_visit(shared, (draw >> 8) & (shared->rows - 1), amount);
            t->shared_rows++;
        }
    }
}

static void send(int to, int message)
{
    if (write(pipes[to][1], &message, sizeof message) != sizeof message)
        bench_die("pipe: %s", strerror(errno));
}

static int receive(int self)
{
    int message = 0;

    if (read(pipes[self][0], &message, sizeof message) != sizeof message)
        bench_die("pipe: %s", strerror(errno));
    return message;
}

/*
 * The number of clients of a database server.  Processes 0 .. ndb-1 are database servers; application server i uses
 * number i % ndb.
 */
static int clients(int server)
{
    int n = 0;

    for (int i = ndb; i < nprocs; i++)
        n += i % ndb == server;
    return n;
}

static void serve(int self, struct bench_area *mine, struct bench_area *shared, uint64_t *random,
                  struct tally *t)
{
    for (long left = (long)clients(self) * transactions * STEPS; left > 0; left--) {
        int client = receive(self);

        visit(mine, shared, DB_ROWS, DB_PRIVATE, random, t);
        send(client, self);
    }
}

static void apply(int self, struct bench_area *mine, struct bench_area *shared, uint64_t *random,
                  struct tally *t)
{
    for (int i = 0; i < transactions * STEPS; i++) {
        visit(mine, shared, APP_ROWS, APP_PRIVATE, random, t);
        send(self % ndb, self);
        receive(self);
    }
}

static void work(int self)
{
    bool db = self < ndb;
    uint64_t random = bench_seed(seed, (uint64_t)self);
    struct bench_area mine, shared;
    struct tally t = {0};

    bench_area_init(&mine, bench_map(PRIVATE_BYTES, 4096, BENCH_FIRST), PRIVATE_BYTES,
                    bench_random(&random));
    bench_area_fill(&mine, 0, mine.rows); /* I1 */
    bench_area_init(&shared, db ? sga : buffers, db ? SGA_BYTES : BUFFER_BYTES, 0);
    if (db)
        bench_area_fill(&shared, shared.rows * (size_t)self / (size_t)ndb,
                        shared.rows * ((size_t)self + 1) / (size_t)ndb);
    else
        bench_area_fill(&shared, shared.rows * (size_t)(self - ndb) / (size_t)(nprocs - ndb),
                        shared.rows * (size_t)(self - ndb + 1) / (size_t)(nprocs - ndb));
    for (size_t i = 0; i < shared.rows; i += 4096 / sizeof(struct bench_row)) /* maps every page */
        (void)*(volatile uint64_t *)&shared.row[i].key;
    bench_start(self);
    if (db)
        serve(self, &mine, &shared, &random, &t);
    else
        apply(self, &mine, &shared, &random, &t);
    bench_stop(self);
    t.private_added = mine.added;
    t.private_balance = bench_area_balance(&mine);
    *(db ? &t.sga_added : &t.buffers_added) = shared.added;
    t.bad = mine.bad + shared.bad;
    tally[self] = t;
}

/* Compares the sums (I2).  Returns 0; 1 if they are wrong. */
static int check(int failed)
{
    struct bench_area area[2];
    struct tally all = {0};

    bench_area_init(&area[0], buffers, BUFFER_BYTES, 0);
    bench_area_init(&area[1], sga, SGA_BYTES, 0);
    for (int i = 0; i < nprocs; i++) {
        const uint64_t *one = (const uint64_t *)&tally[i];

        for (size_t k = 0; k < sizeof all / sizeof(uint64_t); k++)
            ((uint64_t *)&all)[k] += one[k];
    }
    printf("rows: %lu private, %lu shared\n", all.private_rows, all.shared_rows);
    if (failed == 0 && all.bad == 0 && all.private_balance == all.private_added &&
        bench_area_balance(&area[0]) == all.buffers_added &&
        bench_area_balance(&area[1]) == all.sga_added)
        return 0;
    printf(
        "erp: %d processes failed, %lu rows are bad; balances: private %lu, buffers %lu, SGA %lu; "
        "added: %lu, %lu, %lu\n",
        failed, all.bad, all.private_balance, bench_area_balance(&area[0]),
        bench_area_balance(&area[1]), all.private_added, all.buffers_added, all.sga_added);
    return 1;
}

static void read_options(int argc, char **argv)
{
    int opt;

    while ((opt = getopt(argc, argv, "l:x:s:b")) != -1) {
        if (opt == 'l')
            nprocs = bench_int(optarg, 2, BENCH_MAX, "processes");
        else if (opt == 'x')
            transactions = bench_int(optarg, 1, 1000000, "transactions");
        else if (opt == 's')
            seed = (unsigned)bench_int(optarg, 0, 1000000000, "seed");
        else if (opt == 'b')
            bind_processes = true;
        else
            usage();
    }
    if (optind != argc)
        usage();
    if (nprocs == 0)
        nprocs = bench_cpus() < 4 ? 2 : bench_cpus() / 2;
    ndb = (nprocs * 13 + 50) / 100;
    if (ndb == 0)
        ndb = 1;
}

int main(int argc, char **argv)
{
    const struct bench_measure *m;
    double done;
    int bad;

    hr_help(argv, help);
    bench_init();
    read_options(argc, argv);
    m = bench_measured();
    tally = bench_shared((size_t)nprocs * sizeof *tally, false);
    buffers = bench_shared(BUFFER_BYTES, false);
    sga = bench_shared(SGA_BYTES, false);
    if ((pipes = calloc((size_t)nprocs, sizeof *pipes)) == NULL)
        bench_die("no memory");
    for (int i = 0; i < nprocs; i++)
        if (pipe(pipes[i]) != 0)
            bench_die("cannot make %d pipes: %s", nprocs, strerror(errno));
    done = (double)(nprocs - ndb) * transactions;
    printf("%d application servers, %d database servers, %.0f transactions\n", nprocs - ndb, ndb,
           done);
    bad = check(bench_processes(nprocs, work, bind_processes));
    if (m->model)
        printf("modelled: %.0f transactions a second\n", done / m->modelled_s);
    printf("result: bench=erp processes=%d db=%d transactions=%.0f", nprocs, ndb, done);
    if (m->model)
        printf(" tps=%.1f", done / m->modelled_s);
    bench_result_end();
    printf("%s\n", bad ? "FAILED" : "ok");
    return bad;
}
