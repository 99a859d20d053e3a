// SPDX-License-Identifier: MIT
/*
 * fdiff.c - the MPO white paper's finite-difference microbenchmark: thirteen matrices, three sets of equations.
 *
 * THEORY      The paper's program iterates over three sets of equations on thirteen N1 x N2 matrices; a fourteenth is
 *             used in the initialisation only.  Each matrix is split into M grids.  Each of M threads initialises its
 *             grid and computes on it alone ("perfectly separable").  The equations here are those of shallow water
 *             (Sadourny, "The dynamics of finite-difference models of the shallow-water equations", J. Atmos. Sci. 32,
 *             1975) with a leap-frog step and a Robert filter.  The matrices are u, v and p, each at three times, and
 *             between them the mass fluxes cu and cv, the potential vorticity z and the head h: 3 * 3 + 4 = 13.  The
 *             fourteenth is the stream function psi, from which the first winds come.  Each grid is periodic in itself,
 *             so no thread reads another thread's grid.
 *
 *             Elements are contiguous along the first dimension.  Each set is one plain loop nest whose inner loop goes
 *             across columns, N1 * 8 bytes further in each turn.  The paper mentions "nice spatial locality" and an
 *             access pattern with which "data prefetch is relatively ineffective", and says that latency limits the
 *             program, not bandwidth.  So it is here: each line is used in eight turns of the outer loop, and no two
 *             successive misses are to sequential lines.  (Inner loops along a column would give streams, which are
 *             prefetched.)  Successive stores go to different lines, so lines leave the write cache before they are
 *             complete, and must be read first.
 *             A line and its neighbours are used in eight turns, and then not again until the whole grid has passed.
 *             So a point costs 26 / 8 = 3.25 lines in an iteration: 7 in the first set (3 read, 4 written), 10 in the
 *             second (7 and 3), 9 in the third (9 read, 6 of them written).
 *             Matrices begin at different lines of a page, as arrays do that follow each other.  Otherwise the lines of
 *             one turn would share a few sets of the cache.
 *             A thread's grid has 13 * 8 * N1 * N2 / M bytes.  The paper's N1 = N2 = 3802 with 72 threads gives 20.9
 *             MB, 2.6 times the 8 MB external cache ("each iteration effectively swamps" it).  The default N1 = N2 =
 *             672 keeps that ratio with caches of 256 KiB: 3802 / sqrt(32) = 672.
 * INVARIANTS  I1  each grid of each matrix begins on a page, so each page has one initialising thread
 *             I2  the result of a grid does not depend on the thread that computes it: with a fixed number of grids the
 *                 results are equal to the last bit for any number of threads, and -c checks it
 *             I3  the sum of p is constant except for rounding: the flux form loses no mass
 * SEE ALSO    docs/benchmarks.md, tests/test_bench.py
 */
#include <sys/mman.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

#define PAGE      4096u
#define DEFAULT_N 672
/* doubles between the offsets of two matrices in their first pages: an odd number of lines */
#define STAGGER   40
#define LOST_MASS 1e-10 /* relative; rounding may change the sum by no more in a run */

#define DX        1e5   /* metres between points */
#define DT        90.0  /* seconds in a step */
#define MEAN_P    5e4   /* geopotential, m^2/s^2 */
#define AMPLITUDE 1e6   /* of the stream function, m^2/s */
#define FILTER    0.001 /* of the Robert filter */

enum { U, V, P, UNEW, VNEW, PNEW, UOLD, VOLD, POLD, CU, CV, Z, H, NMATRIX, PSI = NMATRIX, NALL };

/* The options. */
static int nthreads, ngrids, iterations = 2;
static size_t n1 = DEFAULT_N, n2 = DEFAULT_N;
static bool bind_threads, check, do_placement[BENCH_PLACEMENTS] = {true};

/* The run in progress. */
static double *matrix[NALL];
static size_t part; /* doubles of one grid of one matrix, in whole pages */

/* A grid: `columns` columns of n1 elements in each matrix. */
struct grid {
    double *m[NALL];
    size_t columns;
};

static const char help[] HR_MANUAL =
    "NAME\n"
    "    fdiff - finite differences: three sets of equations on thirteen matrices\n"
    "\n"
    "SYNOPSIS\n"
    "    fdiff [-t threads] [-n N1xN2] [-g grids] [-i iterations]\n"
    "            [-p first|random|both|any] [-b] [-c]\n"
    "\n"
    "DESCRIPTION\n"
    "    The equations of shallow water.  Each thread has a grid of its own in\n"
    "    each matrix, and reads no other.\n"
    "\n"
    "OPTIONS\n"
    "    -b            bind thread i to the i-th CPU\n"
    "    -c            compute again with one thread, and compare\n"
    "    -g grids      grids that each matrix is split into (one for each thread)\n"
    "    -i iterations iterations (2)\n"
    "    -n N1xN2      size of each matrix (" HR_NUMBER(DEFAULT_N) "x" HR_NUMBER(
        DEFAULT_N) ")\n"
                   "    -p placement  first touch (default), random, both in turn, or any: none\n"
                   "                  is asked for\n"
                   "    -t threads    threads (one for each CPU)\n"
                   "\n"
                   "EXIT STATUS\n"
                   "    0 ok, 1 FAILED, 2 wrong command line or an error\n"
                   "\n"
                   "SEE ALSO\n"
                   "    memcopy, solvers, docs/benchmarks.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

/* The offset of a grid of matrix k in its first page, in doubles. */
static size_t offset_of(int k)
{
    return (size_t)(k % NMATRIX) * STAGGER;
}

static struct grid grid_of(int i)
{
    size_t n = (size_t)ngrids, from = n2 * (size_t)i / n;
    struct grid g = {.columns = n2 * ((size_t)i + 1) / n - from};

    for (int k = 0; k < NALL; k++)
        g.m[k] = matrix[k] + (size_t)i * part + offset_of(k);
    return g;
}

/* Element (i, j) of matrix k: i along a column, j across. */
#define AT(k, i, j) (g->m[k][(j) * n1 + (i)])

/* The indices after and before i of n, which wrap around. */
static inline size_t after(size_t i, size_t n)
{
    return i + 1 == n ? 0 : i + 1;
}

static inline size_t before(size_t i, size_t n)
{
    return i == 0 ? n - 1 : i - 1;
}

/* psi is a wave, the winds follow from it, and p has a bump whose sum is 0. */
static void initialise(struct grid *g)
{
    double wave_i = 2.0 * M_PI / (double)n1, wave_j = 2.0 * M_PI / (double)g->columns;

    for (size_t j = 0; j < g->columns; j++)
        for (size_t i = 0; i < n1; i++)
            AT(PSI, i, j) =
                AMPLITUDE * sin(wave_i * ((double)i + 0.5)) * sin(wave_j * ((double)j + 0.5));
    for (size_t j = 0; j < g->columns; j++) {
        for (size_t i = 0; i < n1; i++) {
            AT(U, i, j) = AT(UOLD, i, j) = -(AT(PSI, i, after(j, g->columns)) - AT(PSI, i, j)) / DX;
            AT(V, i, j) = AT(VOLD, i, j) = (AT(PSI, after(i, n1), j) - AT(PSI, i, j)) / DX;
            AT(P, i, j) = AT(POLD, i, j) = MEAN_P * (1.0 + 0.01 * cos(2.0 * wave_i * (double)i));
            for (int k = UNEW; k <= PNEW; k++)
                AT(k, i, j) = 0.0;
            for (int k = CU; k <= H; k++)
                AT(k, i, j) = 0.0;
        }
    }
    for (int k = 0; k < NALL; k++) /* up to the end of the page (I1) */
        for (size_t i = g->columns * n1; i < part - offset_of(k); i++)
            g->m[k][i] = 0.0;
}

/* The place of an element: its indices, and those before and after them, which wrap around at the edges. */
struct place {
    size_t i, ib, ia, j, jb, ja;
};

/* A set of equations at one element. */
typedef void equations(struct grid *g, struct place at);

#define SET static inline __attribute__((always_inline)) void

/* First set: cu and cv at the points of the winds; z and h. */
SET fluxes(struct grid *g, struct place at)
{
    size_t i = at.i, ib = at.ib, ia = at.ia, j = at.j, jb = at.jb, ja = at.ja;

    AT(CU, i, j) = 0.5 * (AT(P, i, j) + AT(P, ib, j)) * AT(U, i, j);
    AT(CV, i, j) = 0.5 * (AT(P, i, j) + AT(P, i, jb)) * AT(V, i, j);
    AT(Z, i, j) = 4.0 / DX * (AT(V, i, j) - AT(V, ib, j) - AT(U, i, j) + AT(U, i, jb)) /
                  (AT(P, ib, jb) + AT(P, i, jb) + AT(P, i, j) + AT(P, ib, j));
    AT(H, i, j) = AT(P, i, j) + 0.25 * (AT(U, ia, j) * AT(U, ia, j) + AT(U, i, j) * AT(U, i, j) +
                                        AT(V, i, ja) * AT(V, i, ja) + AT(V, i, j) * AT(V, i, j));
}

/* Second set: the values at the next time from those at the last time, a leap of 2 dt. */
SET step(struct grid *g, struct place at)
{
    const double leap_8 = 2.0 * DT / 8.0, leap_dx = 2.0 * DT / DX;
    size_t i = at.i, ib = at.ib, ia = at.ia, j = at.j, jb = at.jb, ja = at.ja;

    AT(UNEW, i, j) = AT(UOLD, i, j) +
                     leap_8 * (AT(Z, i, ja) + AT(Z, i, j)) *
                         (AT(CV, i, ja) + AT(CV, ib, ja) + AT(CV, ib, j) + AT(CV, i, j)) -
                     leap_dx * (AT(H, i, j) - AT(H, ib, j));
    AT(VNEW, i, j) = AT(VOLD, i, j) -
                     leap_8 * (AT(Z, ia, j) + AT(Z, i, j)) *
                         (AT(CU, ia, j) + AT(CU, i, j) + AT(CU, i, jb) + AT(CU, ia, jb)) -
                     leap_dx * (AT(H, i, j) - AT(H, i, jb));
    AT(PNEW, i, j) = AT(POLD, i, j) - leap_dx * (AT(CU, ia, j) - AT(CU, i, j)) -
                     leap_dx * (AT(CV, i, ja) - AT(CV, i, j));
}

/* Third set: the filter; and the next time becomes the present one. */
SET filter(struct grid *g, struct place at)
{
    size_t i = at.i, j = at.j;

    AT(UOLD, i, j) = AT(U, i, j) + FILTER * (AT(UNEW, i, j) - 2.0 * AT(U, i, j) + AT(UOLD, i, j));
    AT(VOLD, i, j) = AT(V, i, j) + FILTER * (AT(VNEW, i, j) - 2.0 * AT(V, i, j) + AT(VOLD, i, j));
    AT(POLD, i, j) = AT(P, i, j) + FILTER * (AT(PNEW, i, j) - 2.0 * AT(P, i, j) + AT(POLD, i, j));
    AT(U, i, j) = AT(UNEW, i, j);
    AT(V, i, j) = AT(VNEW, i, j);
    AT(P, i, j) = AT(PNEW, i, j);
}

/*
 * One set on a whole grid: the plain loop nest, with the loop across columns inside.  The first and the last column are
 * handled separately.
 */
SET across(struct grid *g, equations *set)
{
    size_t last = g->columns - 1;

    for (size_t i = 0; i < n1; i++) {
        size_t ib = before(i, n1), ia = after(i, n1);

        set(g, (struct place){i, ib, ia, 0, last, 1});
        for (size_t j = 1; j < last; j++)
            set(g, (struct place){i, ib, ia, j, j - 1, j + 1});
        set(g, (struct place){i, ib, ia, last, last - 1, 0});
    }
}

/* One set on all grids of a thread. */
SET on_grids(int self, equations *set)
{
    for (int i = self; i < ngrids; i += nthreads) {
        struct grid g = grid_of(i);

        across(&g, set);
    }
}

static void work(int self)
{
    bench_barrier();
    for (int i = self; i < ngrids; i += nthreads) {
        struct grid g = grid_of(i);

        initialise(&g);
    }
    bench_start(self);
    /* these barriers stand for those at the ends of OpenMP's loops */
    for (int n = 0; n < iterations; n++) {
        on_grids(self, fluxes);
        bench_barrier();
        on_grids(self, step);
        bench_barrier();
        on_grids(self, filter);
        if (n + 1 < iterations)
            bench_barrier();
    }
    bench_stop(self);
}

/* The sums of |u|, |v| and p over all grids, in order. */
struct sums {
    double u, v, p;
};

static struct sums all_sums(void)
{
    struct sums sums = {0};

    for (int k = 0; k < ngrids; k++) {
        struct grid one = grid_of(k), *g = &one;

        for (size_t j = 0; j < g->columns; j++) {
            for (size_t i = 0; i < n1; i++) {
                sums.u += fabs(AT(U, i, j));
                sums.v += fabs(AT(V, i, j));
                sums.p += AT(P, i, j);
            }
        }
    }
    return sums;
}

/* Computes the same again with one thread, grid after grid. */
static struct sums serial_sums(void)
{
    for (int k = 0; k < ngrids; k++) {
        struct grid g = grid_of(k);

        initialise(&g);
        for (int n = 0; n < iterations; n++) {
            across(&g, fluxes);
            across(&g, step);
            across(&g, filter);
        }
    }
    return all_sums();
}

/* Checks the result (I2, I3).  Returns 0; 1 if it is wrong. */
static int check_sums(void)
{
    double mass = MEAN_P * (double)n1 * (double)n2; /* the sum of the bump is 0 */
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
        bench_census_add(&census, matrix[k], ngrids, nthreads, part * sizeof(double), PAGE);
    return bench_census_report(&census, nthreads, placement);
}

static int run(enum bench_placement placement)
{
    const struct bench_measure *m = bench_measured();
    size_t bytes = part * sizeof(double) * (size_t)ngrids;
    int bad = 0;

    printf(
        "placement %s: %d threads, 13 matrices of %zu x %zu, %zu bytes of them a thread, %d iterations\n",
        bench_placement_name[placement], nthreads, n1, n2,
        NMATRIX * n1 * n2 * sizeof(double) / (size_t)nthreads, iterations);
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

/* Parses "N1xN2". */
static void read_size(const char *text)
{
    char end;
    unsigned a, b;

    if (sscanf(text, "%ux%u%c", &a, &b, &end) != 2 || a < 3 || b < 2 || a > 16384 || b > 16384)
        bench_die("size: N1xN2, at least 3x2, at most 16384x16384");
    n1 = a;
    n2 = b;
}

static void read_options(int argc, char **argv)
{
    int opt;

    while ((opt = getopt(argc, argv, "t:n:g:i:p:bc")) != -1) {
        switch (opt) {
        case 't':
            nthreads = bench_int(optarg, 1, BENCH_MAX, "threads");
            break;
        case 'n':
            read_size(optarg);
            break;
        case 'g':
            ngrids = bench_int(optarg, 1, BENCH_MAX, "grids");
            break;
        case 'i':
            iterations = bench_int(optarg, 1, 100000, "iterations");
            break;
        case 'p':
            bench_parse_placement(optarg, do_placement);
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

    hr_help(argv, help);
    bench_init();
    read_options(argc, argv);
    if (nthreads == 0)
        nthreads = bench_cpus();
    if (ngrids == 0)
        ngrids = nthreads;
    if (ngrids < nthreads || (size_t)ngrids > n2 / 2)
        bench_die(
            "%d grids: at least one for each of the %d threads, and two of the %zu columns for each",
            ngrids, nthreads, n2);
    most = (n2 + (size_t)ngrids - 1) / (size_t)ngrids * n1;
    part = (most + offset_of(NMATRIX - 1) + per_page - 1) / per_page * per_page; /* I1 */
    for (enum bench_placement placement = BENCH_FIRST; placement < BENCH_PLACEMENTS; placement++)
        if (do_placement[placement])
            bad |= run(placement);
    return bad;
}
