// SPDX-License-Identifier: MIT
/*
 * oltp.c - transactions by many processes, with private memory and one shared region: the on-line transaction
 * processing of the MPO white paper, Tables 3-1 and 3-2.
 *
 * THEORY      Each process has its own data, heap and stack, and all share one region (the paper's SGA).  A transaction
 *             visits rows (benchrows.h), each of which is a line that is not in the cache.  The area of the next row is
 *             drawn at random with the shares of Table 3-1, the paper's distribution of load misses: data 9.46, heap
 *             25.64, stack 6.52, SGA 56.29.  Every fourth row is updated.  The private areas of a process have 896 KiB,
 *             and a walk returns to a line after 30,000 others.  The shared region has 64 MiB, in 2 MiB pages as
 *             databases request them, and is read at random.  So each row is a load miss.  To verify this, and to
 *             measure the mix of misses, there are two more phases, one with private rows only and one with shared rows
 *             only; with -k there are three more, one for each private area.
 *
 *             There are many more processes than CPUs, and most of them sleep, as for I/O. They form rings, one for
 *             each process that may run at a time.  A process that ends a transaction writes a byte to the pipe of the
 *             next process in its ring, which stands for the completion of that process's I/O. Then it sleeps until its
 *             own pipe has a byte.  So the number of running processes is always the same, and does not depend on the
 *             speed of the host.  Which processes run together changes, because transactions have different lengths.
 *             By default half as many run as there are CPUs.  Then a process that wakes finds an idle CPU on its home
 *             board most of the time.
 *
 *             With MPO private pages are local while a process runs at home, and the remote share of all load misses is
 *             ideally 0.57 * (1 - 1/boards); without MPO it is 1 - 1/boards.
 * INVARIANTS  I1  a process touches its private areas first, so its home places them
 *             I2  the sum of all balances is the sum of the amounts that all processes added
 * OUTPUT      A result line for each phase.  remote_load_pct: load misses to other boards.  off_home_pct: the share of
 *             rows visited while the process was not on a CPU of its home lgroup (checked every 16 rows).
 *             off_home_time_pct: the share of modelled time that transactions ran there, where rows cost more.  tps:
 *             transactions in a modelled second.  us_per_tx: modelled CPU time of one.
 * SEE ALSO    docs/benchmarks.md, user/include/benchrows.h
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "benchrows.h"
#include "help.h"

#define KIB  1024u
#define PAGE 4096
#define LOOK 16 /* rows between two checks of where the process runs */

enum area { DATA, HEAP, STACK, SGA, NAREAS };
enum phase { MIXED, PRIVATE, SHARED, IN_DATA, IN_HEAP, IN_STACK, NPHASES };

static const char *const phase_name[NPHASES] = {"mixed", "private", "shared",
                                                "data",  "heap",    "stack"};

/* Of 10,000 rows, how many are in which area: Table 3-1; and its private and its shared part alone. */
static const unsigned share[NPHASES][NAREAS] = {
    [MIXED] = {[DATA] = 946, [HEAP] = 2564, [STACK] = 652, [SGA] = 5629},
    [PRIVATE] = {[DATA] = 946, [HEAP] = 2564, [STACK] = 652},
    [SHARED] = {[SGA] = 5629},
    [IN_DATA] = {[DATA] = 946},
    [IN_HEAP] = {[HEAP] = 2564},
    [IN_STACK] = {[STACK] = 652},
};

/* Private areas: the sizes are nearly proportional to their shares. */
static const size_t area_bytes[SGA] = {[DATA] = 256 * KIB, [HEAP] = 512 * KIB, [STACK] = 128 * KIB};
static unsigned char data_area[256 * KIB] __attribute__((aligned(PAGE)));

/* The options. */
static int nprocs, running, transactions = 12, rows = 400, sga_mib = 64;
static unsigned seed = 1;
static int phases = IN_DATA;
static bool bind_processes;

/* The results of a process in one phase. */
struct tally {
    uint64_t visited[NAREAS];
    uint64_t off_home; /* rows visited on an lgroup other than the home */
    /* modelled time in transactions; the part of it on an lgroup other than the home */
    uint64_t ran_ps, away_ps;
    uint64_t added[2], bad; /* amounts added to private areas and to the SGA */
    uint64_t balance;       /* of the private areas at the end */
};

static struct tally (*tally)[NPHASES]; /* of each process; in shared memory */
static struct bench_row *sga;
static int (*pipes)[2];

static const char help[] HR_MANUAL =
    "NAME\n"
    "    oltp - transactions by many processes with one shared region\n"
    "\n"
    "SYNOPSIS\n"
    "    oltp [-l processes] [-r running] [-x transactions] [-w rows] [-m MiB]\n"
    "            [-s seed] [-1 | -k] [-b]\n"
    "\n"
    "DESCRIPTION\n"
    "    A transaction visits rows of the private memory of its process and of a\n"
    "    region that all share.  Then the process wakes another one and sleeps, as\n"
    "    on I/O.  Three phases: the mix, private rows, shared rows.  The balances\n"
    "    are checked.\n"
    "\n"
    "OPTIONS\n"
    "    -1            the mixed phase only\n"
    "    -b            bind process i to the i-th CPU, and begin again after the\n"
    "                  last\n"
    "    -k            also one phase each for data, heap and stack\n"
    "    -l processes  processes (four for each CPU)\n"
    "    -m MiB        size of the shared region, a power of 2 (64)\n"
    "    -r running    how many run at a time (half as many as CPUs)\n"
    "    -s seed       seed of what the processes do (1)\n"
    "    -w rows       rows of a transaction, on average (400)\n"
    "    -x transactions\n"
    "                  transactions of each process (12)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 ok, 1 a balance was wrong, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    dw, erp, docs/benchmarks.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

/*
 * What a transaction needs to know.  It is on the stack of each process: global variables would lie in pages of the
 * parent.
 */
struct job {
    /* a random number below below[i], and not below an earlier one, means area i */
    unsigned below[NAREAS];
    unsigned total, rows;
    int transactions;
    int home;
    int in, out; /* the pipe that wakes this process, and that of the next one */
};

/* The next process in the ring.  Process `self` is number self / running of ring self % running. */
static int next_in_ring(int self)
{
    return self + running < nprocs ? self + running : self % running;
}

static struct job job_of(int self, enum phase phase)
{
    struct job job = {
        .rows = (unsigned)rows,
        .transactions = transactions,
        .home = bench_home_self(),
        .in = pipes[self][0],
        .out = pipes[next_in_ring(self)][1],
    };

    for (int i = 0; i < NAREAS; i++)
        job.below[i] = job.total += share[phase][i];
    return job;
}

static enum area draw(const struct job *job, uint64_t *random)
{
    unsigned at = (unsigned)(bench_random(random) >> 32) % job->total;
    enum area area = DATA;

    while (at >= job->below[area])
        area++;
    return area;
}

/* Where a process was when it last checked. */
struct place {
    uint64_t since_ps;
    bool away;
};

static void look(const struct job *job, struct place *place, struct tally *t)
{
    uint64_t now = fp_now_ps();

    t->ran_ps += now - place->since_ps;
    t->away_ps += place->away ? now - place->since_ps : 0;
    *place = (struct place){now, bench_lgroup_now() != job->home};
}

static void transaction(struct bench_area *area, const struct job *job, uint64_t *random,
                        struct tally *t)
{
    unsigned count = job->rows / 2 + (unsigned)(bench_random(random) >> 32) % job->rows;
    struct place place = {.since_ps = fp_now_ps()};

    for (unsigned i = 0; i < count; i++) {
        enum area which = draw(job, random);
        uint64_t draw_row = bench_random(random) >> 16,
                 amount = i % 4 == 0 ? 1 + (draw_row & 255) : 0;

        if (i % LOOK == 0)
            look(job, &place, t);
        if (which == SGA)
            bench_row_visit(&area[SGA], (draw_row >> 8) & (area[SGA].rows - 1), amount);
        else
            bench_area_walk(&area[which], amount);
        t->visited[which]++;
        t->off_home += place.away;
    }
    look(job, &place, t);
}

static void run_phase(int self, enum phase phase, struct bench_area *area, uint64_t *random)
{
    struct job job = job_of(self, phase);
    struct tally t = {0};
    char token = 0;

    for (int i = 0; i < NAREAS; i++)
        area[i].added = area[i].bad = 0;
    bench_start(self);
    for (int i = 0; i < job.transactions; i++) {
        if (read(job.in, &token, 1) != 1)
            bench_die("pipe: %s", strerror(errno));
        transaction(area, &job, random, &t);
        if (write(job.out, &token, 1) != 1)
            bench_die("pipe: %s", strerror(errno));
    }
    bench_stop(self);
    for (int i = 0; i < NAREAS; i++) {
        t.added[i == SGA] += area[i].added;
        t.bad += area[i].bad;
    }
    tally[self][phase] = t;
    bench_barrier();
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0.0 : 100.0 * (double)part / (double)whole;
}

/* Load misses for each row, in the phase that has just ended. */
static double misses_per_row(const struct fp_counts *c, uint64_t visited)
{
    return (double)(c->load_miss_local + c->load_miss_remote) / (double)visited;
}

/* The sum of the tallies of one phase, or of all phases (NPHASES). */
static struct tally total(enum phase phase)
{
    struct tally sum = {0};

    for (int i = 0; i < nprocs * NPHASES; i++) {
        const struct tally *t = &tally[i / NPHASES][i % NPHASES];

        if (phase != NPHASES && i % NPHASES != (int)phase)
            continue;
        for (int area = 0; area < NAREAS; area++)
            sum.visited[area] += t->visited[area];
        sum.off_home += t->off_home;
        sum.ran_ps += t->ran_ps;
        sum.away_ps += t->away_ps;
        sum.added[0] += t->added[0];
        sum.added[1] += t->added[1];
        sum.bad += t->bad;
        sum.balance += t->balance;
    }
    return sum;
}

static uint64_t private_rows(const struct tally *t)
{
    return t->visited[DATA] + t->visited[HEAP] + t->visited[STACK];
}

/*
 * Prints what the phases so far say about Table 3-1 and the simulated columns of Table 3-2: percent of all load misses.
 */
static void report_mix(enum phase phase, const double per_row[NPHASES],
                       const double remote[NPHASES])
{
    static const enum phase of[NAREAS] = {
        [DATA] = IN_DATA, [HEAP] = IN_HEAP, [STACK] = IN_STACK, [SGA] = SHARED};
    static const char *const name[NAREAS] = {"data", "heap", "stack", "sga"};
    double a = (share[MIXED][DATA] + share[MIXED][HEAP] + share[MIXED][STACK]) * per_row[PRIVATE],
           sum = 0.0;
    double b = share[MIXED][SGA] * per_row[SHARED];

    a *= 100.0 / (a + b);
    b = 100.0 - a;
    if (phase == SHARED)
        printf(
            " private_miss_pct=%.2f shared_miss_pct=%.2f private_remote_pct=%.2f private_local_pct=%.2f "
            "shared_remote_pct=%.2f shared_local_pct=%.2f",
            a, b, a * remote[PRIVATE] / 100.0, a - a * remote[PRIVATE] / 100.0,
            b * remote[SHARED] / 100.0, b - b * remote[SHARED] / 100.0);
    for (int i = 0; i < NAREAS; i++)
        sum += share[MIXED][i] * per_row[of[i]];
    for (int i = 0; i < NAREAS && phase == IN_STACK; i++)
        printf(" %s_miss_pct=%.2f", name[i], 100.0 * share[MIXED][i] * per_row[of[i]] / sum);
}

/*
 * Prints a phase.  Process 0 does it when all have stored their results.  The mix of misses is known after the last
 * phase.
 */
static void report_phase(enum phase phase)
{
    static double per_row[NPHASES], remote[NPHASES];
    const struct bench_measure *m = bench_measured();
    struct tally sum = total(phase);
    uint64_t private = private_rows(&sum), shared = sum.visited[SGA],
             done = (uint64_t)nprocs * (uint64_t)transactions;

    printf("phase %s: %lu transactions, %lu rows, private %.2f %%, shared %.2f %%\n",
           phase_name[phase], done, private + shared, percent(private, private + shared),
           percent(shared, private + shared));
    printf("rows visited off the home lgroup: %.2f %%\n", percent(sum.off_home, private + shared));
    if (m->model) {
        const struct fp_counts *c = &m->counts;

        per_row[phase] = misses_per_row(c, private + shared);
        remote[phase] = percent(c->load_miss_remote, c->load_miss_local + c->load_miss_remote);
        printf(
            "load misses: %.2f %% remote, %.3f a row; %.0f transactions a modelled second, %.1f us each\n",
            remote[phase], per_row[phase], (double)done / m->modelled_s,
            m->busy_s * 1e6 / (double)done);
    }
    printf(
        "result: bench=oltp phase=%s processes=%d running=%d transactions=%lu rows=%lu private_pct=%.3f "
        "off_home_pct=%.3f",
        phase_name[phase], nprocs, running, done, private + shared,
        percent(private, private + shared), percent(sum.off_home, private + shared));
    if (m->model)
        printf(
            " off_home_time_pct=%.3f remote_load_pct=%.3f misses_per_row=%.4f tps=%.1f us_per_tx=%.3f",
            percent(sum.away_ps, sum.ran_ps), remote[phase], per_row[phase],
            (double)done / m->modelled_s, m->busy_s * 1e6 / (double)done);
    if (m->model)
        report_mix(phase, per_row, remote);
    bench_result_end();
    fflush(stdout);
}

static __attribute__((noinline)) void live(int self)
{
    _Alignas(PAGE) struct bench_row on_stack[128 * KIB / sizeof(struct bench_row)];
    uint64_t random = bench_seed(seed, (uint64_t)self), balance = 0;
    struct bench_area area[NAREAS];
    void *memory[SGA] = {
        [DATA] = data_area, [HEAP] = aligned_alloc(PAGE, area_bytes[HEAP]), [STACK] = on_stack};

    if (memory[HEAP] == NULL)
        bench_die("no memory for the heap");
    for (int i = 0; i < SGA; i++) {
        bench_area_init(&area[i], memory[i], area_bytes[i], bench_random(&random));
        bench_area_fill(&area[i], 0, area[i].rows); /* I1 */
    }
    bench_area_init(&area[SGA], sga, (size_t)sga_mib << 20, 0);
    bench_area_fill(&area[SGA], area[SGA].rows * (size_t)self / (size_t)nprocs,
                    area[SGA].rows * ((size_t)self + 1) / (size_t)nprocs);
    bench_lgroup_now(); /* reads the lgroups before anything is measured */
    if (self < running && write(pipes[self][1], "", 1) != 1)
        bench_die("pipe: %s", strerror(errno));
    for (enum phase phase = MIXED; phase < (enum phase)phases; phase++) {
        run_phase(self, phase, area, &random);
        if (self == 0)
            report_phase(phase);
    }
    for (int i = 0; i < SGA; i++)
        balance += bench_area_balance(&area[i]);
    tally[self][MIXED].balance = balance;
}

/*
 * A page of the stack that the parent had written before it made this process stays near the parent: the parent writes
 * it first after the fork, and so gets the copy.  What lies below the next page belongs to this process from the first
 * touch.
 */
static void work(int self)
{
    char parents[2 * PAGE];

    __asm__ volatile("" : : "r"(parents) : "memory"); /* keeps it on the stack before the call */
    live(self);
    __asm__ volatile("" : : "r"(parents) : "memory"); /* and after it */
}

/* Compares the sums and the mix of rows.  Returns 0; 1 if they are wrong. */
static int check(int failed)
{
    struct tally all = total(NPHASES), mixed = total(MIXED);
    struct bench_area whole;
    double n = (double)(private_rows(&mixed) + mixed.visited[SGA]), expected = 4162.0 / 9791.0;
    double share_found = (double)private_rows(&mixed) / n;
    uint64_t in_sga;
    int bad = failed;

    bench_area_init(&whole, sga, (size_t)sga_mib << 20, 0);
    in_sga = bench_area_balance(&whole);
    if (failed != 0)
        printf("oltp: %d processes failed\n", failed);
    if (all.bad != 0) {
        printf("oltp: %lu rows with a wrong checksum\n", all.bad);
        bad = 1;
    }
    if (all.balance != all.added[0] || in_sga != all.added[1]) {
        printf("oltp: the balances are %lu private and %lu shared, added were %lu and %lu\n",
               all.balance, in_sga, all.added[0], all.added[1]);
        bad = 1;
    }
    if (!(fabs(share_found - expected) < 5.0 * sqrt(0.25 / n))) { /* five standard deviations */
        printf("oltp: %.2f %% private rows, not %.2f\n", 100.0 * share_found, 100.0 * expected);
        bad = 1;
    }
    return bad != 0;
}

static void read_options(int argc, char **argv)
{
    int opt;

    while ((opt = getopt(argc, argv, "l:r:x:w:m:s:1kb")) != -1) {
        switch (opt) {
        case 'l':
            nprocs = bench_int(optarg, 1, BENCH_MAX, "processes");
            break;
        case 'r':
            running = bench_int(optarg, 1, BENCH_MAX, "running");
            break;
        case 'x':
            transactions = bench_int(optarg, 1, 1000000, "transactions");
            break;
        case 'w':
            rows = bench_int(optarg, 2, 1000000, "rows");
            break;
        case 'm':
            sga_mib = bench_int(optarg, 1, 65536, "MiB");
            break;
        case 's':
            seed = (unsigned)bench_int(optarg, 0, 1000000000, "seed");
            break;
        case '1':
            phases = PRIVATE;
            break;
        case 'k':
            phases = NPHASES;
            break;
        case 'b':
            bind_processes = true;
            break;
        default:
            usage();
        }
    }
    if (optind != argc)
        usage();
    if (nprocs == 0)
        nprocs = 4 * bench_cpus() < BENCH_MAX ? 4 * bench_cpus() : BENCH_MAX;
    if (running == 0)
        running = bench_cpus() > 1 ? bench_cpus() / 2 : 1;
    if (running > nprocs)
        bench_die("%d running: at most the %d processes", running, nprocs);
    if ((sga_mib & (sga_mib - 1)) != 0)
        bench_die("MiB: a power of 2");
}

int main(int argc, char **argv)
{
    int failed, bad;

    hr_help(argv, help);
    bench_init();
    read_options(argc, argv);
    tally = bench_shared((size_t)nprocs * sizeof *tally, false);
    sga = bench_shared((size_t)sga_mib << 20, true);
    if ((pipes = calloc((size_t)nprocs, sizeof *pipes)) == NULL)
        bench_die("no memory");
    for (int i = 0; i < nprocs; i++)
        if (pipe(pipes[i]) != 0)
            bench_die("cannot make %d pipes: %s", nprocs, strerror(errno));
    printf("%d processes, %d at a time; %zu KiB private each, %d MiB shared\n", nprocs, running,
           (area_bytes[DATA] + area_bytes[HEAP] + area_bytes[STACK]) / KIB, sga_mib);
    failed = bench_processes(nprocs, work, bind_processes);
    bad = check(failed);
    printf("%s\n", bad ? "FAILED" : "ok");
    return bad;
}
