// SPDX-License-Identifier: MIT
/*
 * ddt.c - a program that needs much memory and reads and writes large files meanwhile, as the AIPS package's DDT test.
 *
 * THEORY      DDT puts a set of radio-astronomical observations through AIPS's main tasks: sorting, gridding and
 *             Fourier transform, cleaning.  Each works in memory, and reads or writes files that are too large to stay
 *             there and would not be wanted again soon if they did.  The question is what the system gives up for the
 *             files' pages.  Here a cycle has three phases:
 *                 sort    reads a file of observations, blocks of 32 KiB here and there, and writes them in order;
 *                         beside each block it visits an equal part of memory;
 *                 map     reads the sorted file from its start, and beside each block visits every second page of
 *                         an equal part of memory;
 *                 clean   four times: writes an image, a file each, from pages here and there, as fast as it may;
 *                         then visits a quarter of the other pages of memory, by columns.
 *             So an image can go to the disk while clean works, unless the writer is made to wait.  With -w a visit
 *             computes for that long beside what it does to the page: the program's own work.
 *             The program's code counts as well: there are 128 copies of the loop that visits a page, each in a
 *             code page of its own, and page p is done by copy p mod 128.
 *             Elapsed time is that from the first block to the last visit; sync_s is what an fsync of the files takes
 *             then.  Pages paged in and out are counted in the same time, for the whole system.  Beside each block and
 *             every 16 visits the free memory is noted, and where it lies between lotsfree and cachefree.
 * INVARIANTS  I1  a word of page p that began as x is x * state[p].power + state[p].shift; looked at in every visit
 * USAGE       ddt -i [-f file-MiB] [-s seed] directory     makes the file of observations
 *             ddt [-m memory-KiB] [-f file-MiB] [-g image-MiB] [-c cycles] [-w work-us] [-s seed] directory
 * OUTPUT      result: bench=ddt memory_kib=... code_kib=... file_mib=... image_mib=... cycles=... elapsed_s=...
 *             sync_s=... (and of each phase) epi=... api=... fpi=... epo=... apo=... fpo=... scan=... free_min=...
 *             free_low_pct=... free_between_pct=...; then ok or FAILED
 * SEE ALSO    make experiment-ddt, docs/benchmarks.md
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "benchpaging.h"
#include "homeroom.h"

#define PAGE    4096u
#define WORDS   (PAGE / sizeof(uint64_t))
#define BLOCK   32768u
#define COLUMNS 16u
#define COPIES  128u

/* ---- code: 128 pages of it ------------------------------------------------------------------- */

typedef void visit_page(uint64_t *page, uint64_t add);

#define VISIT(id)                                                                                  \
    static __attribute__((noinline, no_icf, aligned(4096))) void visit_##id(uint64_t *page, uint64_t add) \
    {                                                                                              \
        for (unsigned i = 0; i < WORDS; i++)                                                       \
            page[i] = page[i] * 3 + add;                                                           \
    }
#define TIMES8(X, p)  X(p##0) X(p##1) X(p##2) X(p##3) X(p##4) X(p##5) X(p##6) X(p##7)
#define TIMES64(X, p) TIMES8(X, p##0) TIMES8(X, p##1) TIMES8(X, p##2) TIMES8(X, p##3) \
    TIMES8(X, p##4) TIMES8(X, p##5) TIMES8(X, p##6) TIMES8(X, p##7)

TIMES64(VISIT, a)
TIMES64(VISIT, b)

#define NAME(id) visit_##id,
static visit_page *const visits[COPIES] = {TIMES64(NAME, a) TIMES64(NAME, b)};

/* ---- memory ---------------------------------------------------------------------------------- */

struct page_state {
    uint64_t power, shift; /* I1; power 0: never visited */
};

static uint64_t          *memory;
static struct page_state *state;
static uint64_t           npages = 4096, nvisits, nbad;

/* Compares a number of what kind, with that index, and tells of the first that are wrong. */
static void expect(const char *kind, uint64_t index, uint64_t found, uint64_t expected)
{
    if (found != expected && nbad++ < 5)
        printf("wrong: %s %llu: %#llx, not %#llx\n", kind, (unsigned long long)index, (unsigned long long)found,
               (unsigned long long)expected);
}

/* ---- what is watched ------------------------------------------------------------------------- */

static struct {
    uint64_t lotsfree, cachefree; /* pages; 0: not known */
    uint64_t least, low, between, samples;
} watch = {.least = UINT64_MAX};

static uint64_t tunable(const char *what)
{
    struct hr_tunable t;

    return hr_tunable_get(what, &t) == 0 ? t.value : 0;
}

/* Free pages, with those of files that count as free: MemAvailable.  0: not known. */
static uint64_t free_pages(void)
{
    static int  fd = -1;
    char        text[256];
    const char *at;
    ssize_t     n;

    if (fd < 0)
        fd = open("/proc/meminfo", O_RDONLY);
    n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    at = strstr(text, "MemAvailable:");
    return at != NULL ? strtoull(at + strlen("MemAvailable:"), NULL, 10) * 1024 / PAGE : 0;
}

static void watch_memory(void)
{
    uint64_t free = free_pages();

    watch.least = free < watch.least ? free : watch.least;
    watch.low += free < watch.lotsfree;
    watch.between += free >= watch.lotsfree && free < watch.cachefree;
    watch.samples++;
}

/* ---- work ------------------------------------------------------------------------------------ */

static double work; /* seconds of processor time a visit */

static void compute(void)
{
    double end = bench_processor() + work;

    while (bench_processor() < end)
        ;
}

/* ---- visits ---------------------------------------------------------------------------------- */

/* Word `at` of page p as it should be. */
static uint64_t expected_word(uint64_t p, uint64_t at)
{
    return state[p].power == 0 ? 0 : (p * WORDS + at) * state[p].power + state[p].shift;
}

static void visit(uint64_t p, uint64_t add)
{
    uint64_t *page = memory + p * WORDS;
    uint64_t  at = p % WORDS;

    expect("page of memory", p, page[at], expected_word(p, at));
    if (state[p].power == 0) {
        for (unsigned i = 0; i < WORDS; i++)
            page[i] = p * WORDS + i;
        state[p].power = 1;
    }
    visits[p % COPIES](page, add);
    if (work != 0)
        compute();
    state[p].power *= 3;
    state[p].shift = state[p].shift * 3 + add;
    if (++nvisits % 16 == 0)
        watch_memory();
}

/* Part i of n of memory, every `step`-th page. */
static void visit_part(uint64_t i, uint64_t n, uint64_t step, uint64_t add)
{
    for (uint64_t p = (npages * i / n + step - 1) / step * step; p < npages * (i + 1) / n; p += step)
        visit(p, add);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *directory;
static uint64_t    seed = 1, nblocks = 12 * 32, image_blocks = 4 * 32;
static uint64_t    block[BLOCK / sizeof(uint64_t)];

static int open_file(const char *name, int flags)
{
    char path[256];
    int  fd;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    fd = open(path, flags, 0644);
    if (fd < 0)
        bench_die("%s: %s", path, strerror(errno));
    return fd;
}

static void fill_block(uint64_t number)
{
    for (unsigned i = 0; i < BLOCK / sizeof(uint64_t); i++)
        block[i] = number * BLOCK + i;
}

static void write_block(int fd, uint64_t at)
{
    ssize_t put = pwrite(fd, block, BLOCK, (off_t)(at * BLOCK));

    if (put != BLOCK)
        bench_die("write: %s", put < 0 ? strerror(errno) : "disk full");
}

static void read_block(int fd, const char *kind, uint64_t at, uint64_t number)
{
    ssize_t got = pread(fd, block, BLOCK, (off_t)(at * BLOCK));

    if (got != BLOCK)
        bench_die("read: %s", got < 0 ? strerror(errno) : "file too short; make it with -i");
    for (unsigned i = 0; i < BLOCK / sizeof(uint64_t); i += 64)
        expect(kind, number, block[i], number * BLOCK + i);
}

/* Where observation `number` is in the file that is not sorted yet: an order by a step without a common divisor. */
static uint64_t unsorted(uint64_t number)
{
    uint64_t step = nblocks * 5 / 8 | 1, a = nblocks, b = step;

    for (;;) {
        while (b != 0) {
            uint64_t rest = a % b;

            a = b;
            b = rest;
        }
        if (a == 1)
            return (number * step + seed) % nblocks;
        step += 2;
        a = nblocks;
        b = step;
    }
}

static void make_observations(void)
{
    int fd = open_file("observations", O_RDWR | O_CREAT | O_TRUNC);

    for (uint64_t i = 0; i < nblocks; i++) {
        fill_block(i);
        write_block(fd, unsorted(i));
    }
    if (fsync(fd) != 0 || close(fd) != 0)
        bench_die("fsync: %s", strerror(errno));
}

/* ---- phases ---------------------------------------------------------------------------------- */

static const char *const image_name[] = {"map", "beam", "residual", "components"};

#define IMAGES (sizeof image_name / sizeof image_name[0])

static int observations, sorted, image[IMAGES];

static void sort(void)
{
    for (uint64_t i = 0; i < nblocks; i++) {
        read_block(observations, "observation", unsorted(i), i);
        visit_part(i, nblocks, 1, block[0]);
        write_block(sorted, i);
        watch_memory();
    }
}

static void map(void)
{
    for (uint64_t i = 0; i < nblocks; i++) {
        read_block(sorted, "sorted observation", i, i);
        visit_part(i, nblocks, 2, block[1]);
        watch_memory();
    }
}

static void write_image(int fd)
{
    for (uint64_t i = 0; i < image_blocks; i++) {
        uint64_t p = npages * i / image_blocks;

        memcpy(block, memory + p * WORDS, PAGE);
        expect("page of memory", p, block[0], expected_word(p, 0));
        write_block(fd, i);
        watch_memory();
    }
}

static void clean(void)
{
    for (unsigned i = 0; i < IMAGES; i++) {
        write_image(image[i]);
        for (uint64_t column = i * COLUMNS / IMAGES + 1; column < (i + 1) * COLUMNS / IMAGES; column += 2)
            for (uint64_t p = column; p < npages; p += COLUMNS)
                visit(p, column);
    }
}

static void sync_file(int fd)
{
    if (fsync(fd) != 0)
        bench_die("fsync: %s", strerror(errno));
}

static void run(uint64_t cycles)
{
    static void (*const  phase[])(void) = {sort, map, clean};
    double               begin, elapsed, synced, took[3] = {0};
    struct bench_paging  a, b;

    watch.lotsfree = tunable("lotsfree");
    watch.cachefree = tunable("cachefree");
    bench_paging(&a);
    begin = bench_now();
    for (uint64_t c = 0; c < cycles; c++)
        for (unsigned i = 0; i < 3; i++) {
            double start = bench_now();

            phase[i]();
            took[i] += bench_now() - start;
        }
    elapsed = bench_now() - begin;
    bench_paging(&b);
    sync_file(sorted);
    for (unsigned i = 0; i < IMAGES; i++)
        sync_file(image[i]);
    synced = bench_now() - begin - elapsed;
    printf("result: bench=ddt memory_kib=%llu code_kib=%u file_mib=%llu image_mib=%llu cycles=%llu",
           (unsigned long long)npages * 4, COPIES * PAGE / 1024, (unsigned long long)nblocks / 32,
           (unsigned long long)image_blocks / 32, (unsigned long long)cycles);
    printf(" elapsed_s=%.3f sync_s=%.3f", elapsed, synced);
    printf(" sort_s=%.3f map_s=%.3f clean_s=%.3f", took[0], took[1], took[2]);
    printf(" epi=%llu api=%llu fpi=%llu epo=%llu apo=%llu fpo=%llu scan=%llu", b.execpgin - a.execpgin,
           b.anonpgin - a.anonpgin, b.fspgin - a.fspgin, b.execpgout - a.execpgout, b.anonpgout - a.anonpgout,
           b.fspgout - a.fspgout, b.scan - a.scan);
    printf(" free_min=%llu free_low_pct=%.1f free_between_pct=%.1f\n", (unsigned long long)watch.least,
           100.0 * (double)watch.low / (double)watch.samples, 100.0 * (double)watch.between / (double)watch.samples);
}

static uint64_t number(const char *text, uint64_t most)
{
    uint64_t value = bench_count(text);

    if (value > most)
        bench_die("%s: %llu at most", text, (unsigned long long)most);
    return value;
}

int main(int argc, char **argv)
{
    uint64_t cycles = 1;
    bool     make = false;
    int      opt;

    while ((opt = getopt(argc, argv, "im:f:g:c:w:s:")) != -1) {
        if (opt == 'i')
            make = true;
        else if (opt == 'm')
            npages = (number(optarg, 1u << 30) + 3) / 4;
        else if (opt == 'f')
            nblocks = 32 * number(optarg, 4096);
        else if (opt == 'g')
            image_blocks = 32 * number(optarg, 4096);
        else if (opt == 'c')
            cycles = number(optarg, 1000);
        else if (opt == 'w')
            work = (double)number(optarg, 1000000) * 1e-6;
        else if (opt == 's')
            seed = number(optarg, UINT32_MAX);
        else
            optind = argc + 1;
    }
    if (optind != argc - 1) {
        fprintf(stderr, "usage: ddt [-i] [-m memory-KiB] [-f file-MiB] [-g image-MiB] [-c cycles] [-w work-us] "
                        "[-s seed] directory\n");
        return 2;
    }
    directory = argv[optind];
    if (make) {
        make_observations();
        printf("ok\n");
        return 0;
    }
    memory = bench_map(npages * PAGE, PAGE, BENCH_FIRST);
    state = bench_map((npages * sizeof *state + PAGE - 1) / PAGE * PAGE, PAGE, BENCH_FIRST);
    observations = open_file("observations", O_RDONLY);
    sorted = open_file("sorted", O_RDWR | O_CREAT | O_TRUNC);
    for (unsigned i = 0; i < IMAGES; i++)
        image[i] = open_file(image_name[i], O_RDWR | O_CREAT | O_TRUNC);
    printf("ddt: %llu KiB of memory, files of %llu MiB, images of %llu MiB, seed %llu\n",
           (unsigned long long)npages * 4, (unsigned long long)nblocks / 32, (unsigned long long)image_blocks / 32,
           (unsigned long long)seed);
    fflush(stdout); /* who watches the disks learns when it begins */
    run(cycles);
    printf(nbad == 0 ? "ok\n" : "FAILED\n");
    return nbad != 0;
}
