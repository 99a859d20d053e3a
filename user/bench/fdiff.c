// SPDX-License-Identifier: MIT
/*
 * fdiff.c - the MPO white paper's finite-difference microbenchmark: thirteen matrices, three sets of equations.
 *
 * THEORY      The paper's program iterates over three sets of equations on thirteen N1 x N2 matrices, a fourteenth
 *             being used in initialisation only; each matrix is split into M grids, and each of M threads initialises
 *             its grid and computes on it alone ("perfectly separable").  Here the equations are those of rotating
 *             shallow water (Sadourny, "The dynamics of finite-difference models of the shallow-water equations",
 *             J. Atmos. Sci. 32, 1975) with a leap-frog step and a Robert filter: u, v and p, each at three
 *             times, and between them the mass fluxes cu and cv, the potential vorticity z and the head h make
 *             3 * 3 + 4 = 13; the stream function psi, from which the first winds come, is the fourteenth.  Nothing
 *             varies along y, so each of the N2 columns is a periodic channel of N1 points of its own, and no grid
 *             reads another's.  Derivatives along y are zero and left out; v still moves, by the rotation.
 *
 *             The inner loops walk along the second dimension, across columns, while elements are contiguous along
 *             the first.  So one element after the other is in another line, N1 * 8 bytes further: no
 *             two successive misses are to sequential lines, and every eighth turn of the outer loop misses in every
 *             column of every matrix that it reads or writes.  The lines of one turn, at most 10 matrices * columns of
 *             the thread, are used eight times and then not again before the thread's whole grid has passed:
 *               a point costs 26 / 8 = 3.25 lines an iteration: 7 in the first set (3 read, 4 written), 10 in the
 *               second (7 and 3), 9 in the third (9 read, 6 of them written).
 *             A thread's grid is 13 * 8 * N1 * N2 / M bytes.  The paper's N1 = N2 = 3802 with 72 threads
 *             is 20.9 MB, 2.6 times the 8 MB external cache ("each iteration effectively swamps" it).  The default
 *             N1 = N2 = 672 keeps that ratio with caches of 256 KiB: 3802 / sqrt(32) = 672.
 * INVARIANTS  I1  a thread's grid of each matrix begins on a page, so a page has one initialising thread
 *             I2  every element is computed by the same operations in the same order however the columns are
 *                 split: results are equal to the last bit for all thread counts, and -c checks it
 *             I3  the sum of p is constant but for rounding: the flux form loses no mass
 * SEE ALSO    docs/benchmarks.md, tests/test_bench.py
 */
#include <sys/mman.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define PAGE         4096u
#define DEFAULT_N    672
#define LOST_MASS    1e-10 /* relative: the most that rounding may do in a run */

#define DX           1e5   /* metres between points                       */
#define DT           90.0  /* seconds a step                              */
#define CORIOLIS     1e-4  /* 1/s, at 43 degrees                          */
#define MEAN_P       5e4   /* geopotential, m^2/s^2                       */
#define AMPLITUDE    1e6   /* of the stream function, m^2/s               */
#define FILTER       0.001 /* Robert's                                    */

enum { U, V, P, UNEW, VNEW, PNEW, UOLD, VOLD, POLD, CU, CV, Z, H, NMATRIX, PSI = NMATRIX, NALL };

/* What was asked for. */
static int nthreads, iterations = 2;
static size_t n1 = DEFAULT_N, n2 = DEFAULT_N;
static bool bind_threads, check, do_placement[2] = {true, false};

/* The run in progress. */
static double *matrix[NALL];
static size_t part; /* doubles of one thread's grid of one matrix, whole pages */

/* A grid: `columns` columns of n1 elements of each matrix; the first is column `from` of the whole. */
struct grid {
    double *m[NALL];
    size_t from, columns;
};

static void usage(void)
{
    fprintf(stderr,
            "usage: fdiff [-t threads] [-n N1xN2] [-i iterations] [-p first|random|both] [-b] [-c]\n"
            "  -t  threads (default: one per CPU)\n"
            "  -n  size of each of the thirteen matrices (default %dx%d)\n"
            "  -i  iterations (default 2)\n"
            "  -p  placement: first touch (default), random, or both in turn\n"
            "  -b  bind thread i to the i-th CPU\n"
            "  -c  compute again with one thread and compare\n",
            DEFAULT_N, DEFAULT_N);
    exit(2);
}

/* First column of thread i's grid. */
static size_t first_column(int i)
{
    return n2 * (size_t)i / (size_t)nthreads;
}

static struct grid grid_of(int i)
{
    struct grid g = {.from = first_column(i), .columns = first_column(i + 1) - first_column(i)};

    for (int k = 0; k < NALL; k++)
        g.m[k] = matrix[k] + (size_t)i * part;
    return g;
}

/* Element i of column j of matrix k; `next` and `before` of i, round the channel. */
#define AT(k, i) (g->m[k][j * n1 + (i)])

static inline size_t next(size_t i)
{
    return i + 1 == n1 ? 0 : i + 1;
}

static inline size_t before(size_t i)
{
    return i == 0 ? n1 - 1 : i - 1;
}

/* psi is a wave, different in each column; v balances it, u is a fraction of it, and p a bump. */
static void initialise(struct grid *g, size_t room)
{
    double wave = 2.0 * M_PI / (double)n1;

    for (int k = 0; k < NALL; k++) /* up to the page's end: I1 */
        for (size_t i = g->columns * n1; i < room; i++)
            g->m[k][i] = 0.0;

    for (size_t j = 0; j < g->columns; j++) {
        double phase = 2.0 * M_PI * (double)(g->from + j) / (double)n2;

        for (size_t i = 0; i < n1; i++)
            AT(PSI, i) = AMPLITUDE * sin(wave * (double)i + phase);
        for (size_t i = 0; i < n1; i++) {
            AT(V, i) = AT(VOLD, i) = (AT(PSI, next(i)) - AT(PSI, i)) / DX;
            AT(U, i) = AT(UOLD, i) = AT(PSI, i) / (2.0 * DX);
            AT(P, i) = AT(POLD, i) = MEAN_P * (1.0 + 0.01 * cos(2.0 * wave * (double)i + phase));
            for (int k = UNEW; k <= PNEW; k++)
                AT(k, i) = 0.0;
            for (int k = CU; k <= H; k++)
                AT(k, i) = 0.0;
        }
    }
    for (int k = 0; k < NMATRIX; k++) /* threads have equal parts, but some have a column less */
        memset(&g->m[k][g->columns * n1], 0, (part - g->columns * n1) * sizeof(double));
}

/* First set: cu, cv at the velocity's points; z and h. */
static void fluxes(struct grid *g)
{
    for (size_t i = 0; i < n1; i++) {
        size_t b = before(i), n = next(i);

        for (size_t j = 0; j < g->columns; j++) {
            AT(CU, i) = 0.5 * (AT(P, i) + AT(P, b)) * AT(U, i);
            AT(CV, i) = AT(P, i) * AT(V, i);
            AT(Z, i) = 2.0 * (CORIOLIS + (AT(V, i) - AT(V, b)) / DX) / (AT(P, b) + AT(P, i));
            AT(H, i) = AT(P, i) + 0.25 * (AT(U, n) * AT(U, n) + AT(U, i) * AT(U, i)) + 0.5 * AT(V, i) * AT(V, i);
        }
    }
}

/* Second set: the values at the next time from those at the last, a leap of 2 dt. */
static void step(struct grid *g, double leap)
{
    double leap_dx = leap / DX;

    for (size_t i = 0; i < n1; i++) {
        size_t b = before(i), n = next(i);

        for (size_t j = 0; j < g->columns; j++) {
            AT(UNEW, i) = AT(UOLD, i) + leap * AT(Z, i) * 0.5 * (AT(CV, i) + AT(CV, b)) - leap_dx * (AT(H, i) - AT(H, b));
            AT(VNEW, i) = AT(VOLD, i) - leap * 0.25 * (AT(Z, n) + AT(Z, i)) * (AT(CU, n) + AT(CU, i));
            AT(PNEW, i) = AT(POLD, i) - leap_dx * (AT(CU, n) - AT(CU, i));
        }
    }
}

/* Third set: the filter, and the next time becomes this one. */
static void filter(struct grid *g)
{
    for (size_t i = 0; i < n1; i++) {
        for (size_t j = 0; j < g->columns; j++) {
            AT(UOLD, i) = AT(U, i) + FILTER * (AT(UNEW, i) - 2.0 * AT(U, i) + AT(UOLD, i));
            AT(VOLD, i) = AT(V, i) + FILTER * (AT(VNEW, i) - 2.0 * AT(V, i) + AT(VOLD, i));
            AT(POLD, i) = AT(P, i) + FILTER * (AT(PNEW, i) - 2.0 * AT(P, i) + AT(POLD, i));
            AT(U, i) = AT(UNEW, i);
            AT(V, i) = AT(VNEW, i);
            AT(P, i) = AT(PNEW, i);
        }
    }
}

static void work(int self)
{
    struct grid g = grid_of(self);

    bench_barrier();
    initialise(&g, part);
    bench_start(self);
    for (int n = 0; n < iterations; n++) { /* the barriers are those at the end of OpenMP's loops */
        fluxes(&g);
        bench_barrier();
        step(&g, 2.0 * DT);
        bench_barrier();
        filter(&g);
        if (n + 1 < iterations)
            bench_barrier();
    }
    bench_stop(self);
}

/* Sums of |u|, |v| and p over all columns in order, whatever the split. */
struct sums {
    double u, v, p;
};

static void add_grid(struct sums *sums, const struct grid *g)
{
    for (size_t j = 0; j < g->columns; j++) {
        for (size_t i = 0; i < n1; i++) {
            sums->u += fabs(AT(U, i));
            sums->v += fabs(AT(V, i));
            sums->p += AT(P, i);
        }
    }
}

static struct sums all_sums(void)
{
    struct sums sums = {0};

    for (int i = 0; i < nthreads; i++) {
        struct grid g = grid_of(i);

        add_grid(&sums, &g);
    }
    return sums;
}

/* The same with one thread, column after column. */
static struct sums serial_sums(void)
{
    struct sums sums = {0};
    struct grid g = {.columns = 1};
    double *memory = malloc(NALL * n1 * sizeof(double));

    if (memory == NULL)
        bench_die("no memory for -c");
    for (int k = 0; k < NALL; k++)
        g.m[k] = memory + (size_t)k * n1;
    for (g.from = 0; g.from < n2; g.from++) {
        initialise(&g, n1);
        for (int n = 0; n < iterations; n++) {
            fluxes(&g);
            step(&g, 2.0 * DT);
            filter(&g);
        }
        add_grid(&sums, &g);
    }
    free(memory);
    return sums;
}

/* 0, or 1 if the result is not what it must be (I2, I3). */
static int check_sums(void)
{
    double mass = MEAN_P * (double)n1 * (double)n2; /* the bump's sum is 0 */
    struct sums sums = all_sums(), serial;
    int bad = 0;

    printf("sums: u %.15g v %.15g p %.15g\n", sums.u, sums.v, sums.p);
    if (!(fabs(sums.p - mass) < LOST_MASS * mass) || !isfinite(sums.u) || !isfinite(sums.v)) {
        printf("fdiff: the sum of p is %.15g and should have stayed %.15g\n", sums.p, mass);
        bad = 1;
    }
    if (!check)
        return bad;
    serial = serial_sums();
    if (serial.u != sums.u || serial.v != sums.v || serial.p != sums.p) {
        printf("fdiff: one thread gives u %.15g v %.15g p %.15g\n", serial.u, serial.v, serial.p);
        bad = 1;
    }
    return bad;
}

static int report_pages(enum bench_placement placement)
{
    static struct bench_census census;

    memset(&census, 0, sizeof census);
    for (int k = 0; k < NMATRIX; k++)
        bench_census_add(&census, matrix[k], nthreads, part * sizeof(double), PAGE);
    return bench_census_report(&census, nthreads, placement);
}

static int run(enum bench_placement placement)
{
    const struct bench_measure *m = bench_measured();
    size_t bytes = part * sizeof(double) * (size_t)nthreads;
    int bad = 0;

    printf("placement %s: %d threads, 13 matrices of %zu x %zu, %zu bytes of them a thread, %d iterations\n",
           bench_placement_name[placement], nthreads, n1, n2, NMATRIX * n1 * n2 * sizeof(double) / (size_t)nthreads,
           iterations);
    for (int k = 0; k < NALL; k++)
        matrix[k] = bench_map(bytes, PAGE, placement);
    bench_threads(nthreads, work, bind_threads);
    bad |= report_pages(placement);
    if (m->model)
        printf("modelled time: %.6f s an iteration\n", m->modelled_s / iterations);
    printf("result: bench=fdiff placement=%s threads=%d n1=%zu n2=%zu iterations=%d",
           bench_placement_name[placement], nthreads, n1, n2, iterations);
    if (m->model)
        printf(" modelled_s_per_iteration=%.9f", m->modelled_s / iterations);
    bench_result_end();
    bad |= check_sums();
    for (int k = 0; k < NALL; k++)
        munmap(matrix[k], bytes);
    printf("%s\n", bad ? "FAILED" : "ok");
    fflush(stdout);
    return bad;
}

/* "N1xN2" */
static void read_size(const char *text)
{
    char end;
    unsigned a, b;

    if (sscanf(text, "%ux%u%c", &a, &b, &end) != 2 || a < 3 || b < 1 || a > 16384 || b > 16384)
        bench_die("size: N1xN2, at least 3x1, at most 16384x16384");
    n1 = a;
    n2 = b;
}

static void read_options(int argc, char **argv)
{
    int opt;

    while ((opt = getopt(argc, argv, "t:n:i:p:bc")) != -1) {
        switch (opt) {
        case 't':
            nthreads = bench_int(optarg, 1, BENCH_MAX, "threads");
            break;
        case 'n':
            read_size(optarg);
            break;
        case 'i':
            iterations = bench_int(optarg, 1, 100000, "iterations");
            break;
        case 'p':
            if (bench_parse_placement(optarg, do_placement) != 0)
                usage();
            break;
        case 'b':
            bind_threads = true;
            break;
        case 'c':
            check = true;
            break;
        default:
            usage();
        }
    }
    if (optind != argc)
        usage();
}

int main(int argc, char **argv)
{
    size_t most, per_page = PAGE / sizeof(double);
    int bad = 0;

    bench_init("fdiff");
    read_options(argc, argv);
    if (nthreads == 0)
        nthreads = bench_cpus();
    if ((size_t)nthreads > n2)
        bench_die("%d threads: at most one for each of the %zu columns", nthreads, n2);
    most = (n2 + (size_t)nthreads - 1) / (size_t)nthreads * n1;
    part = (most + per_page - 1) / per_page * per_page; /* I1 */
    for (enum bench_placement placement = BENCH_FIRST; placement <= BENCH_RANDOM; placement++)
        if (do_placement[placement])
            bad |= run(placement);
    return bad;
}
