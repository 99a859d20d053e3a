// SPDX-License-Identifier: MIT
/*
 * memcopy.c - the MPO white paper's memory-copy microbenchmark: a(i) = b(i) on doubles, in
 * parallel.
 *
 * THEORY      Each thread owns one slice of both arrays, initialises it and copies it.  With
 * first touch every page then lies on the board of the thread that uses it; with
 *             madvise(MADV_ACCESS_MANY) pages lie anywhere.  meminfo(2) tells, page by page,
 * which it was, and the breakdown is printed as in the paper's Table 3-4. INVARIANTS  I1 slices
 * are whole pages, so a page has one initialising thread I2  the main thread is thread 0: -t n
 * means n LWPs, as with a compiler's threads I3  arrays are mapped afresh for each placement,
 * and advised before the first touch OUTPUT      The rate is wall-clock time: under QEMU it
 * says nothing about boards.  The page counts are the result. SEE ALSO    docs/memory.md,
 * tests/test_memcopy.py
 */
#include <sys/mman.h>
#include <sys/lgrp_user.h>
#include <sys/processor.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "homeroom.h"

#define MAX_THREADS   1024
#define BATCH         MAX_MEMINFO_CNT
#define HUGE_2M       (21 << 26) /* mmap's encoding of 2 MiB pages       */
#define DEFAULT_SLICE 32768      /* doubles per thread and array: 256 KiB */
#define P_ALARM       1e-6       /* chi-square: less likely is an error   */

enum placement { FIRST, RANDOM };

static const char *const placement_name[] = {"first", "random"};

/* What was asked for. */
static int nthreads;
static size_t elements; /* doubles per array                              */
static size_t npages;   /* -P: pages of both arrays together; 0: not given */
static size_t page_size = 4096;
static int iterations = 10;
static bool bind_threads, do_placement[2] = {true, false};

/* The run in progress. */
static double *a, *b;
static size_t slice; /* doubles per thread and array, whole pages */
static pthread_barrier_t barrier;
static double seconds; /* of all iterations, measured by thread 0 */
static int home[MAX_THREADS];

static void die(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fprintf(stderr, "memcopy: ");
    vfprintf(stderr, format, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    exit(2);
}

static void usage(void)
{
    fprintf(stderr,
            "usage: memcopy [-t threads] [-n elements | -P pages] [-s 4k|2m] [-i iterations]\n"
            "               [-p first|random|both] [-b]\n"
            "  -t  threads (default: one per CPU)\n"
            "  -n  doubles in each of the two arrays (default: %d a thread); k, m: * 1024, * "
            "1024^2\n"
            "  -P  instead of -n: pages of both arrays together\n"
            "  -s  page size (default 4k)\n"
            "  -i  copies of the whole array (default 10)\n"
            "  -p  placement: first touch (default), random, or both in turn\n"
            "  -b  bind thread i to the i-th CPU\n",
            DEFAULT_SLICE);
    exit(2);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* -b: binds the calling thread to the i-th on-line CPU, wrapping round. */
static void bind_self(int i)
{
    static int cpus[HR_MAXCPU];
    static int n;

    if (n == 0) /* thread 0 comes here before it creates the others */
        for (int cpu = 0; cpu < HR_MAXCPU; cpu++)
            if (p_online(cpu, P_STATUS) == P_ONLINE || p_online(cpu, P_STATUS) == P_NOINTR)
                cpus[n++] = cpu;
    if (n == 0 || processor_bind(P_LWPID, (id_t)P_MYID, cpus[i % n], NULL) != 0)
        die("cannot bind thread %d: %s", i, strerror(errno));
}

static void copy(double *restrict to, const double *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
}

static void *work(void *argument)
{
    int self = (int)(intptr_t)argument;
    double *mine_a = a + (size_t)self * slice, *mine_b = b + (size_t)self * slice;
    double start = 0.0;

    if (bind_threads && self != 0)
        bind_self(self);
    home[self] = gethomelgroup();
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < slice; i++) {
        mine_a[i] = 0.0;
        mine_b[i] = (double)i;
    }
    pthread_barrier_wait(&barrier);
    if (self == 0)
        start = now();
    for (int round = 0; round < iterations; round++) {
        copy(mine_a, mine_b, slice);
        pthread_barrier_wait(&barrier);
    }
    if (self == 0)
        seconds = now() - start;
    return NULL;
}

static void run_threads(void)
{
    pthread_t thread[MAX_THREADS];
    pthread_attr_t attr;
    int error;

    pthread_barrier_init(&barrier, NULL, (unsigned)nthreads);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 * 1024);
    if (bind_threads)
        bind_self(0);
    for (int i = 1; i < nthreads; i++)
        if ((error = pthread_create(&thread[i], &attr, work, (void *)(intptr_t)i)) != 0)
            die("cannot create thread %d: %s", i, strerror(error));
    work(NULL);
    for (int i = 1; i < nthreads; i++)
        pthread_join(thread[i], NULL);
    pthread_attr_destroy(&attr);
    pthread_barrier_destroy(&barrier);
}

static double *map_array(enum placement placement)
{
    size_t bytes = (size_t)nthreads * slice * sizeof(double);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *p;

    if (page_size != 4096)
        flags |= MAP_HUGETLB | HUGE_2M;
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p == MAP_FAILED)
        die("cannot map %zu bytes: %s", bytes, strerror(errno));
    if (placement == RANDOM && madvise(p, bytes, MADV_ACCESS_MANY) != 0)
        die("madvise(MADV_ACCESS_MANY): %s", strerror(errno));
    return p;
}

/* What meminfo said about the pages of one run. */
struct census {
    unsigned long in[HR_MAXLGRP]; /* pages per lgroup                            */
    unsigned long total;          /* pages asked about                           */
    unsigned long local;          /* pages on the home of the initialising thread */
    unsigned long unknown;        /* pages without an answer, or of another size  */
};

/* Counts the pages of one array.  0, or -1 if there is no meminfo(2) here. */
static int count_pages(const double *array, struct census *census)
{
    static const uint_t request[] = {MEMINFO_VLGRP, MEMINFO_VPAGESIZE};
    size_t per_slice = slice * sizeof(double) / page_size;
    size_t pages = per_slice * (size_t)nthreads;

    for (size_t first = 0; first < pages; first += BATCH) {
        uint64_t where[BATCH], answer[BATCH * 2];
        uint_t valid[BATCH];
        size_t n = pages - first < BATCH ? pages - first : BATCH;

        for (size_t i = 0; i < n; i++)
            where[i] = (uint64_t)array + (first + i) * page_size;
        if (meminfo(where, (int)n, request, 2, answer, valid) != 0) {
            if (errno == ENOSYS)
                return -1;
            die("meminfo: %s", strerror(errno));
        }
        for (size_t i = 0; i < n; i++) {
            uint64_t lgrp = answer[i * 2];

            census->total++;
            if (valid[i] != 7 || lgrp >= HR_MAXLGRP || answer[i * 2 + 1] != page_size) {
                census->unknown++;
                continue;
            }
            census->in[lgrp]++;
            census->local += (uint64_t)home[(first + i) / per_slice] == lgrp;
        }
    }
    return 0;
}

static void print_homes(void)
{
    int lwps[MAX_THREADS];

    for (int lgrp = 0; lgrp < HR_MAXLGRP; lgrp++) {
        char list[4 * MAX_THREADS];
        int n = 0;

        for (int i = 0; i < nthreads; i++)
            if (home[i] == lgrp)
                lwps[n++] = i;
        if (n > 0)
            printf("home lgroup %02d: %d thread%s: %s\n", lgrp, n, n == 1 ? "" : "s",
                   hr_ranges(list, sizeof list, lwps, (size_t)n));
    }
}

/* Table 3-4: three lgroups a line, those that have pages. */
static void print_breakdown(const struct census *census, int nlgrps)
{
    int column = 0;

    for (int lgrp = 0; lgrp < HR_MAXLGRP; lgrp++) {
        char text[48];

        if (census->in[lgrp] == 0)
            continue;
        snprintf(text, sizeof text, "lgroup %0*d: %lu pages", nlgrps > 10 ? 2 : 1, lgrp,
                 census->in[lgrp]);
        printf(column == 2 ? "%s\n" : "%-24s", text);
        column = (column + 1) % 3;
    }
    if (column != 0)
        printf("\n");
}

/* The probability that chi-square with df degrees of freedom is above x: Q(df/2, x/2). */
static double chi_square_p(double x, int df)
{
    double s = df / 2.0, y = x / 2.0, term, sum;

    if (x <= 0.0)
        return 1.0;
    if (y < s + 1.0) { /* series for the lower part */
        term = sum = 1.0 / s;
        for (int k = 1; k < 1000 && term > sum * 1e-12; k++)
            sum += term *= y / (s + k);
        return 1.0 - sum * exp(-y + s * log(y) - lgamma(s));
    }
    double low = 1e-300, bb = y + 1.0 - s, c = 1.0 / low, d = 1.0 / bb, h = d;

    for (int k = 1; k < 1000; k++) { /* continued fraction for the upper part */
        double an = -k * (k - s), step;

        bb += 2.0;
        d = 1.0 / (an * d + bb);
        c = bb + an / c;
        step = d * c;
        h *= step;
        if (fabs(step - 1.0) < 1e-12)
            break;
    }
    return h * exp(-y + s * log(y) - lgamma(s));
}

/* Are the pages evenly random over the lgroups that have memory?  Prints the test; 0, or 1 if
 * not. */
static int check_spread(const struct census *census, lgrp_cookie_t cookie, int nlgrps)
{
    int with_memory = 0;
    double chi = 0.0, expected, p;

    for (int lgrp = 0; lgrp < nlgrps; lgrp++)
        with_memory += lgrp_mem_size(cookie, lgrp, LGRP_MEM_SZ_INSTALLED, LGRP_CONTENT_ALL) > 0;
    if (with_memory < 2)
        return 0;
    expected = (double)census->total / with_memory;
    for (int lgrp = 0; lgrp < nlgrps; lgrp++)
        if (lgrp_mem_size(cookie, lgrp, LGRP_MEM_SZ_INSTALLED, LGRP_CONTENT_ALL) > 0)
            chi += ((double)census->in[lgrp] - expected) *
                   ((double)census->in[lgrp] - expected) / expected;
    p = chi_square_p(chi, with_memory - 1);
    printf("chi-square over %d lgroups: %.1f, p %.3g\n", with_memory, chi, p);
    return p > P_ALARM ? 0 : 1;
}

/* Prints and judges where the pages are.  0, or 1 if they are not where they belong. */
static int report_pages(enum placement placement)
{
    struct census census = {0};
    lgrp_cookie_t cookie = LGRP_COOKIE_NONE;
    int nlgrps, bad = 0;

    if (count_pages(a, &census) != 0 || count_pages(b, &census) != 0 ||
        (cookie = lgrp_init(LGRP_VIEW_OS)) == LGRP_COOKIE_NONE) {
        printf("pages: this system has no meminfo(2), their lgroups are not known\n");
        return 0;
    }
    nlgrps = lgrp_nlgrps(cookie);
    print_homes();
    print_breakdown(&census, nlgrps);
    printf("pages on the home of the thread that initialised them: %lu of %lu\n", census.local,
           census.total);
    if (census.unknown != 0) {
        printf("memcopy: %lu pages are not mapped, or not with the page size asked for\n",
               census.unknown);
        bad = 1;
    }
    if (placement == FIRST && census.local != census.total)
        bad = 1;
    if (placement == RANDOM)
        bad |= check_spread(&census, cookie, nlgrps);
    lgrp_fini(cookie);
    return bad;
}

/* 0, or 1 if a was not copied from b everywhere. */
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

static int run(enum placement placement)
{
    size_t bytes = (size_t)nthreads * slice * sizeof(double);
    int bad;

    printf("placement %s: %d threads, 2 x %zu pages of %s, %d iterations\n",
           placement_name[placement], nthreads, bytes / page_size,
           page_size == 4096 ? "4K" : "2M", iterations);
    a = map_array(placement);
    b = map_array(placement);
    run_threads();
    bad = report_pages(placement);
    printf("rate: %.0f MB/s (bytes read plus written, wall-clock time)\n",
           2.0 * (double)bytes * iterations / 1e6 / (seconds > 0.0 ? seconds : 1e-9));
    bad |= check_copy();
    munmap(a, bytes);
    munmap(b, bytes);
    printf("%s\n", bad ? "FAILED" : "ok");
    fflush(stdout);
    return bad;
}

/* A count with an optional k or m. */
static size_t parse_count(const char *text)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 0);

    if (*end == 'k' || *end == 'm')
        value *= *end++ == 'k' ? 1024 : 1024 * 1024;
    if (end == text || *end != '\0' || value == 0 || value > 1ull << 40)
        die("bad number: %s", text);
    return (size_t)value;
}

static void read_options(int argc, char **argv)
{
    int opt;

    while ((opt = getopt(argc, argv, "t:n:P:s:i:p:b")) != -1) {
        switch (opt) {
        case 't':
            if (hr_parse_int(optarg, 1, MAX_THREADS, &nthreads) != 0)
                die("threads: 1 to %d", MAX_THREADS);
            break;
        case 'n':
            elements = parse_count(optarg);
            break;
        case 'P':
            npages = parse_count(optarg);
            break;
        case 's':
            if (strcasecmp(optarg, "4k") != 0 && strcasecmp(optarg, "2m") != 0)
                die("page sizes: 4k and 2m");
            page_size = strcasecmp(optarg, "4k") == 0 ? 4096 : 2 << 20;
            break;
        case 'i':
            if (hr_parse_int(optarg, 1, 1000000, &iterations) != 0)
                die("iterations: 1 to 1000000");
            break;
        case 'p':
            do_placement[FIRST] = strcmp(optarg, "first") == 0 || strcmp(optarg, "both") == 0;
            do_placement[RANDOM] = strcmp(optarg, "random") == 0 || strcmp(optarg, "both") == 0;
            if (!do_placement[FIRST] && !do_placement[RANDOM])
                usage();
            break;
        case 'b':
            bind_threads = true;
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

    read_options(argc, argv);
    if (nthreads == 0) {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);

        nthreads = cpus < 1 ? 1 : (int)(cpus > MAX_THREADS ? MAX_THREADS : cpus);
    }
    per_page = page_size / sizeof(double);
    if (npages != 0)
        elements = npages / 2 * per_page;
    if (elements == 0)
        elements = (size_t)nthreads * DEFAULT_SLICE;
    slice = (elements + (size_t)nthreads - 1) / (size_t)nthreads;
    slice = (slice + per_page - 1) / per_page * per_page; /* I1 */
    for (enum placement placement = FIRST; placement <= RANDOM; placement++)
        if (do_placement[placement])
            bad |= run(placement);
    return bad;
}
