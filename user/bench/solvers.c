// SPDX-License-Identifier: MIT
/*
 * solvers.c - small solvers of the kinds in the MPO white paper's Table 3-11, each of which checks its result.
 *
 * THEORY      The paper names the kinds and the gain of each on a Sun Fire 6800 with 24 CPUs; it does not describe the
 *             programs.  The gain depends on how much of the data that a thread reads is its own and does not stay in
 *             the cache.  Each kind here has the usual pattern of its kind:
 *               fv    finite volume: diffusion of a density on a grid of N x N cells by fluxes through faces,
 *                     explicit steps.  A thread reads its own rows, in order, and one row of each neighbour.
 *                     (Paper: 3 %)
 *               fea   finite elements: triangles, a step of the implicit Euler method for the heat equation, solved
 *                     by conjugate gradients.  A sparse matrix by rows: the matrix is the thread's own, the vector is
 *                     read through indices, nearly all of them near.  (Paper: solver A, 8 %)
 *               feb   the same with nodes numbered at random, as a mesh generator may leave them: the matrix is the
 *                     thread's own, the elements of the vector are anywhere.  (Paper: solver B, 6 %)
 *               ode   many small systems of ordinary differential equations: Kepler orbits by Runge and Kutta's
 *                     fourth-order method.  Mostly arithmetic; the data stays in the cache.  (Paper: 1 %)
 *               eigen the largest eigenvalue of a dense symmetric matrix by power iteration; each thread's rows of
 *                     the matrix stay in the cache.  (Paper: 0)
 *             The finite-difference solver of the table is fdiff.  Every thread initialises the data on which it
 *             computes.
 *             Checks: fv against the exact solution of the discrete equations, a mode that decays by a known factor in
 *             each step; fea and feb against the vector from which the right-hand side was made; ode against the
 *             starting point, after one period; eigen against the spectrum from which the matrix was made.
 * INVARIANTS  I1  data is split in blocks of rows, whatever the number of threads, and sums are made for each block and
 *                 then over the blocks in order: results do not depend on the number of threads
 * SEE ALSO    docs/benchmarks.md
 */
#include <sys/mman.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

#define BLOCK      256 /* nodes of one partial sum; a page of 4 KiB holds two */
#define MAX_BLOCKS 16384
#define MAX_ARRAYS 8

/* A kind of solver. */
struct kind {
    const char *name;
    size_t n, steps;       /* default size; default steps or iterations */
    void (*setup)(void);   /* maps the arrays; called by the main thread */
    bench_work *work;      /* the part of a thread, with bench_start() and bench_stop() */
    double (*error)(void); /* the distance from the known result */
    double allowed;
};

static int nthreads;
static size_t n, steps;
static bool bind_threads, do_placement[BENCH_PLACEMENTS] = {true};
static enum bench_placement placement;
static double result; /* a number that must be the same for all thread counts */

/* The arrays of a run. */
static struct {
    void *start;
    size_t bytes;
} mapped[MAX_ARRAYS];
static unsigned nmapped;

static double *array(size_t count)
{
    size_t bytes = (count * sizeof(double) + 4095) & ~4095ul;

    mapped[nmapped].bytes = bytes;
    return mapped[nmapped++].start = bench_map(bytes, 4096, placement);
}

static void unmap_arrays(void)
{
    while (nmapped > 0) {
        nmapped--;
        munmap(mapped[nmapped].start, mapped[nmapped].bytes);
    }
}

/* The first of `count` rows or blocks that belongs to thread i. */
static size_t first_of(size_t count, int i)
{
    return count * (size_t)i / (size_t)nthreads;
}

/* ---- fv ---- */

static double *density, *flux_x, *flux_y, *conduct_x, *conduct_y;

#define ALPHA 0.2 /* D dt / dx^2: stable up to 0.25 */

static void fv_setup(void)
{
    double **all[] = {&density, &flux_x, &flux_y, &conduct_x, &conduct_y};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        *all[i] = array(n * n);
}

/* The mode with which the density begins. */
static double fv_mode(size_t row, size_t column)
{
    double wave = 2.0 * M_PI / (double)n;

    return cos(wave * (double)row) * cos(2.0 * wave * (double)column);
}

/* The flux through the lower and the left face of each cell of the rows. */
static void fv_fluxes(size_t from, size_t to)
{
    for (size_t r = from; r < to; r++) {
        size_t below = (r == 0 ? n - 1 : r - 1) * n, here = r * n;

        for (size_t c = 0; c < n; c++) {
            size_t left = c == 0 ? n - 1 : c - 1;

            flux_y[here + c] = conduct_y[here + c] * (density[below + c] - density[here + c]);
            flux_x[here + c] = conduct_x[here + c] * (density[here + left] - density[here + c]);
        }
    }
}

static void fv_update(size_t from, size_t to)
{
    for (size_t r = from; r < to; r++) {
        size_t above = (r + 1 == n ? 0 : r + 1) * n, here = r * n;

        for (size_t c = 0; c < n; c++) {
            size_t right = c + 1 == n ? 0 : c + 1;

            density[here + c] +=
                flux_y[here + c] - flux_y[above + c] + flux_x[here + c] - flux_x[here + right];
        }
    }
}

static void fv_work(int self)
{
    size_t from = first_of(n, self), to = first_of(n, self + 1);

    for (size_t i = from * n; i < to * n; i++) {
        density[i] = 1.0 + fv_mode(i / n, i % n);
        flux_x[i] = flux_y[i] = 0.0;
        conduct_x[i] = conduct_y[i] = ALPHA;
    }
    bench_start(self);
    for (size_t step = 0; step < steps; step++) {
        fv_fluxes(from, to);
        bench_barrier();
        fv_update(from, to);
        if (step + 1 < steps)
            bench_barrier();
    }
    bench_stop(self);
}

static double fv_error(void)
{
    double wave = 2.0 * M_PI / (double)n, worst = 0.0;
    double factor =
        pow(1.0 - 2.0 * ALPHA * (1.0 - cos(wave)) - 2.0 * ALPHA * (1.0 - cos(2.0 * wave)),
            (double)steps);

    result = 0.0;
    for (size_t i = 0; i < n * n; i++) {
        worst = fmax(worst, fabs(density[i] - 1.0 - factor * fv_mode(i / n, i % n)));
        result += density[i] * (double)(i % 7);
    }
    return worst;
}

/* ---- fea, feb: n x n nodes of a periodic, distorted mesh; each cell is two triangles ---- */

#define ROW  7   /* nodes of the triangles around a node, the node included */
#define TIME 1.0 /* the time step, in units of a cell's width squared */

/* Node numbers: number[grid position], and its inverse. */
static unsigned *number, *position;
static bool shuffled;
static double *matrix, *solution, *known, *rhs, *residual, *direction, *product;
static unsigned *column;
static double partial[2][MAX_BLOCKS];

/* The triangles around a node, as steps (x, y) to their other two corners, anticlockwise. */
static const int around[6][2][2] = {
    {{1, 0}, {1, 1}},    {{1, 1}, {0, 1}},    {{0, 1}, {-1, 0}},
    {{-1, 0}, {-1, -1}}, {{-1, -1}, {0, -1}}, {{0, -1}, {1, 0}},
};

static void fe_setup(void)
{
    double **all[] = {&solution, &known, &rhs, &residual, &direction, &product};
    uint64_t random = bench_seed(1, 0);

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        *all[i] = array(n * n);
    matrix = array(n * n * ROW);
    column = (unsigned *)array(n * n * ROW / 2 + 1);
    number = malloc(n * n * sizeof *number);
    position = malloc(n * n * sizeof *position);
    if (number == NULL || position == NULL)
        bench_die("no memory");
    for (unsigned i = 0; i < n * n; i++)
        number[i] = i;
    for (size_t i = n * n - 1; shuffled && i > 0; i--) {
        size_t k = (bench_random(&random) >> 16) % (i + 1);
        unsigned t = number[i];

        number[i] = number[k];
        number[k] = t;
    }
    for (unsigned i = 0; i < n * n; i++)
        position[number[i]] = i;
}

static void fea_setup(void)
{
    shuffled = false;
    fe_setup();
}

static void feb_setup(void)
{
    shuffled = true;
    fe_setup();
}

/* The place of corner (x + dx, y + dy) relative to the undistorted node (x, y); a cell is 1 wide. */
static void corner(size_t x, size_t y, const int step[2], double at[2])
{
    double wave = 2.0 * M_PI / (double)n, px = (double)x + step[0], py = (double)y + step[1];

    at[0] = step[0] + 0.2 * sin(wave * 3.0 * py);
    at[1] = step[1] + 0.2 * sin(wave * 2.0 * px);
}

static unsigned node_at(size_t x, size_t y, const int step[2])
{
    return number[((y + n + (size_t)step[1]) % n) * n + (x + n + (size_t)step[0]) % n];
}

static void add_entry(size_t row, unsigned to, double value)
{
    size_t k = row * ROW;

    while (k < row * ROW + ROW - 1 && column[k] != to && matrix[k] != 0.0)
        k++;
    column[k] = to;
    matrix[k] += value;
}

/*
 * Computes row i of M + TIME K for linear triangles: mass area/6 and area/12, stiffness from the edges (any textbook).
 */
static void assemble(size_t i)
{
    static const int origin[2] = {0, 0};
    size_t x = position[i] % n, y = position[i] / n;

    for (size_t k = 0; k < ROW; k++) {
        column[i * ROW + k] = (unsigned)i;
        matrix[i * ROW + k] = 0.0;
    }
    for (int t = 0; t < 6; t++) {
        double a[2], b[2], c[2], area, edge_a[2], edge_b[2], edge_c[2];

        corner(x, y, origin, a);
        corner(x, y, around[t][0], b);
        corner(x, y, around[t][1], c);
        area = 0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]));
        for (int d = 0; d < 2; d++) { /* each edge is opposite its corner */
            edge_a[d] = c[d] - b[d];
            edge_b[d] = a[d] - c[d];
            edge_c[d] = b[d] - a[d];
        }
        add_entry(i, (unsigned)i,
                  area / 6.0 +
                      TIME * (edge_a[0] * edge_a[0] + edge_a[1] * edge_a[1]) / (4.0 * area));
        add_entry(i, node_at(x, y, around[t][0]),
                  area / 12.0 +
                      TIME * (edge_a[0] * edge_b[0] + edge_a[1] * edge_b[1]) / (4.0 * area));
        add_entry(i, node_at(x, y, around[t][1]),
                  area / 12.0 +
                      TIME * (edge_a[0] * edge_c[0] + edge_a[1] * edge_c[1]) / (4.0 * area));
    }
}

static void multiply(double *to, const double *vector, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        double sum = 0.0;

        for (size_t k = i * ROW; k < i * ROW + ROW; k++)
            sum += matrix[k] * vector[column[k]];
        to[i] = sum;
    }
}

/*
 * The scalar product of two vectors; all threads get the same value (I1).  `which` alternates, so one barrier is
 * enough.
 */
static double dot(const double *a, const double *b, size_t from, size_t end, int which)
{
    size_t blocks = (n * n + BLOCK - 1) / BLOCK;
    double sum = 0.0;

    for (size_t block = from / BLOCK; block * BLOCK < end; block++) {
        double part = 0.0;

        for (size_t i = block * BLOCK; i < end && i < (block + 1) * BLOCK; i++)
            part += a[i] * b[i];
        partial[which][block] = part;
    }
    bench_barrier();
    for (size_t block = 0; block < blocks; block++)
        sum += partial[which][block];
    return sum;
}

static void fe_solve(size_t from, size_t end)
{
    double rr = dot(residual, residual, from, end, 0);

    for (size_t step = 0; step < steps; step++) {
        double alpha, next;

        multiply(product, direction, from, end);
        alpha = rr / dot(direction, product, from, end, 1);
        for (size_t i = from; i < end; i++) {
            solution[i] += alpha * direction[i];
            residual[i] -= alpha * product[i];
        }
        next = dot(residual, residual, from, end, 0);
        for (size_t i = from; i < end; i++)
            direction[i] = residual[i] + next / rr * direction[i];
        rr = next;
        bench_barrier();
    }
}

static void fe_work(int self)
{
    size_t blocks = (n * n + BLOCK - 1) / BLOCK, from = first_of(blocks, self) * BLOCK,
           end = first_of(blocks, self + 1) * BLOCK;

    if (end > n * n)
        end = n * n;
    for (size_t i = from; i < end; i++) {
        double x = (double)(position[i] % n) / (double)n, y = (double)(position[i] / n) / (double)n;

        assemble(i);
        known[i] = sin(2.0 * M_PI * x) * cos(4.0 * M_PI * y) + (double)(i % 13) / 13.0;
        solution[i] = product[i] = 0.0;
    }
    bench_barrier();
    multiply(rhs, known, from, end);
    for (size_t i = from; i < end; i++)
        residual[i] = direction[i] = rhs[i];
    bench_start(self);
    fe_solve(from, end);
    bench_stop(self);
}

static double fe_error(void)
{
    double worst = 0.0;

    result = 0.0;
    for (size_t i = 0; i < n * n; i++) {
        worst = fmax(worst, fabs(solution[i] - known[i]));
        result += solution[i] * (double)(i % 7);
    }
    free(number);
    free(position);
    return worst;
}

/* ---- ode: n orbits; a state is x, y, vx, vy ---- */

static double *state;

static void ode_setup(void)
{
    state = array(4 * n);
}

static void kepler(const double s[4], double d[4])
{
    double r2 = s[0] * s[0] + s[1] * s[1], r3 = r2 * sqrt(r2);

    d[0] = s[2];
    d[1] = s[3];
    d[2] = -s[0] / r3;
    d[3] = -s[1] / r3;
}

static void runge_kutta(double s[4], double h)
{
    static const double at[4] = {0.0, 0.5, 0.5, 1.0},
                        weight[4] = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
    double slope[4] = {0}, sum[4] = {0};

    for (int stage = 0; stage < 4; stage++) {
        double point[4];

        for (int k = 0; k < 4; k++)
            point[k] = s[k] + h * at[stage] * slope[k];
        kepler(point, slope);
        for (int k = 0; k < 4; k++)
            sum[k] += weight[stage] * slope[k];
    }
    for (int k = 0; k < 4; k++)
        s[k] += h * sum[k];
}

/* Orbit i begins at its nearest point.  Its semi-major axis is 1, so its period is 2 pi. */
static void ode_begin(size_t i, double s[4])
{
    double eccentricity = 0.2 * (double)(i % 17) / 17.0;

    s[0] = 1.0 - eccentricity;
    s[1] = s[2] = 0.0;
    s[3] = sqrt((1.0 + eccentricity) / (1.0 - eccentricity));
}

static void ode_work(int self)
{
    size_t from = first_of(n, self), end = first_of(n, self + 1);

    for (size_t i = from; i < end; i++)
        ode_begin(i, state + 4 * i);
    bench_start(self);
    for (size_t step = 0; step < steps; step++)
        for (size_t i = from; i < end; i++)
            runge_kutta(state + 4 * i, 2.0 * M_PI / (double)steps);
    bench_stop(self);
}

static double ode_error(void)
{
    double worst = 0.0;

    result = 0.0;
    for (size_t i = 0; i < n; i++) {
        double s[4];

        ode_begin(i, s);
        for (int k = 0; k < 4; k++)
            worst = fmax(worst, fabs(s[k] - state[4 * i + (size_t)k]));
        result += state[4 * i] + 2.0 * state[4 * i + 1];
    }
    return worst;
}

/* ---- eigen: an n x n matrix with one eigenvalue 10; the others are at most 5 ---- */

static double *dense, *vector[2], eigenvalue;

static void eigen_setup(void)
{
    dense = array(n * n);
    vector[0] = array(n);
    vector[1] = array(n);
}

static double spectrum(size_t i)
{
    return i == 0 ? 10.0 : 5.0 * (double)i / (double)n;
}

/* Entry (i, j) of H D H, where H = 1 - 2 v v' is the reflection of the unit vector v with equal elements. */
static double eigen_entry(size_t i, size_t j, double trace)
{
    double vv = 1.0 / (double)n;

    return (i == j ? spectrum(i) : 0.0) - 2.0 * vv * (spectrum(i) + spectrum(j)) +
           4.0 * vv * vv * trace;
}

static void eigen_work(int self)
{
    size_t from = first_of(n, self), end = first_of(n, self + 1);
    double trace = 0.0, norm = 0.0;

    for (size_t i = 0; i < n; i++)
        trace += spectrum(i);
    for (size_t i = from; i < end; i++) {
        vector[0][i] = i == 0 ? 1.0 : 0.5;
        for (size_t j = 0; j < n; j++)
            dense[i * n + j] = eigen_entry(i, j, trace);
    }
    bench_start(self);
    for (size_t step = 0; step < steps; step++) {
        const double *x = vector[step % 2];
        double *y = vector[(step + 1) % 2];

        norm = 0.0;
        for (size_t j = 0; j < n; j++)
            norm += x[j] * x[j];
        norm = sqrt(norm);
        for (size_t i = from; i < end; i++) {
            double sum = 0.0;

            for (size_t j = 0; j < n; j++)
                sum += dense[i * n + j] * x[j];
            y[i] = sum / norm;
        }
        bench_barrier();
    }
    bench_stop(self);
}

static double eigen_error(void)
{
    const double *x = vector[steps % 2];

    eigenvalue = 0.0; /* y = A x / |x|, so |y| is the eigenvalue if x is the eigenvector */
    for (size_t i = 0; i < n; i++)
        eigenvalue += x[i] * x[i];
    eigenvalue = result = sqrt(eigenvalue);
    return fabs(eigenvalue - spectrum(0));
}

static const struct kind kinds[] = {
    {"fv", 768, 6, fv_setup, fv_work, fv_error, 1e-11},
    {"fea", 320, 30, fea_setup, fe_work, fe_error, 1e-8},
    {"feb", 320, 30, feb_setup, fe_work, fe_error, 1e-8},
    {"ode", 6144, 100, ode_setup, ode_work, ode_error, 1e-3},
    {"eigen", 256, 2000, eigen_setup, eigen_work, eigen_error, 1e-9},
};

#define KINDS (sizeof kinds / sizeof kinds[0])

static const char help[] HR_MANUAL =
    "NAME\n"
    "    solvers - small numerical solvers, each of which checks its result\n"
    "\n"
    "SYNOPSIS\n"
    "    solvers [-k kind] [-t threads] [-n size] [-i steps]\n"
    "            [-p first|random|both|any] [-b]\n"
    "\n"
    "DESCRIPTION\n"
    "    fv is finite volume, fea finite elements, feb the same with nodes\n"
    "    numbered at random, ode ordinary differential equations, eigen the\n"
    "    largest eigenvalue of a dense matrix.  Results do not depend on the\n"
    "    number of threads.\n"
    "\n"
    "OPTIONS\n"
    "    -b            bind thread i to the i-th CPU\n"
    "    -i steps      steps or iterations (each kind has its own)\n"
    "    -k kind       fv, fea, feb, ode or eigen (all in turn)\n"
    "    -n size       cells or nodes of a side, orbits, rows of the matrix (each\n"
    "                  kind has its own)\n"
    "    -p placement  first touch (default), random, both in turn, or any: none\n"
    "                  is asked for\n"
    "    -t threads    threads (one for each CPU)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 ok, 1 FAILED, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    fdiff, docs/benchmarks.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static int run(const struct kind *kind)
{
    double error;

    kind->setup();
    bench_threads(nthreads, kind->work, bind_threads);
    error = kind->error();
    unmap_arrays();
    printf(
        "result: bench=solvers kind=%s placement=%s threads=%d size=%zu steps=%zu value=%.15g error=%.2g",
        kind->name, bench_placement_name[placement], nthreads, n, steps, result, error);
    bench_result_end();
    if (!(error < kind->allowed))
        printf("solvers: %s is off by %g; allowed: %g\n", kind->name, error, kind->allowed);
    return !(error < kind->allowed);
}

int main(int argc, char **argv)
{
    size_t size = 0, count = 0;
    const char *only = NULL;
    int opt, bad = 0, found = 0;

    hr_help(argv, help);
    bench_init();
    while ((opt = getopt(argc, argv, "k:t:n:i:p:b")) != -1) {
        if (opt == 'k')
            only = optarg;
        else if (opt == 't')
            nthreads = bench_int(optarg, 1, BENCH_MAX, "threads");
        else if (opt == 'n')
            size = (size_t)bench_int(optarg, 4, 1000000, "size");
        else if (opt == 'i')
            count = (size_t)bench_int(optarg, 1, 1000000, "steps");
        else if (opt == 'b')
            bind_threads = true;
        else if (opt == 'p')
            bench_parse_placement(optarg, do_placement);
        else
            usage();
    }
    if (optind != argc)
        usage();
    if (nthreads == 0)
        nthreads = bench_cpus();
    for (size_t i = 0; i < KINDS; i++) {
        if (only != NULL && strcmp(only, kinds[i].name) != 0)
            continue;
        found = 1;
        n = size != 0 ? size : kinds[i].n;
        steps = count != 0 ? count : kinds[i].steps;
        if (kinds[i].work == fe_work && n * n > (size_t)MAX_BLOCKS * BLOCK)
            bench_die("size: at most 2048 for finite elements");
        for (placement = BENCH_FIRST; placement < BENCH_PLACEMENTS; placement++)
            if (do_placement[placement])
                bad |= run(&kinds[i]);
    }
    if (!found) {
        fprintf(stderr, "solvers: no kind %s\n", only);
        usage();
    }
    printf("%s\n", bad ? "FAILED" : "ok");
    return bad;
}
