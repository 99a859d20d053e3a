// SPDX-License-Identifier: MIT
/*
 * ddt.c - a program that needs much memory and also reads and writes large files, like the DDT test of the AIPS
 * package.
 *
 * THEORY      AIPS's help text (HELP/DDT.HLP in its sources) describes DDT: seven steps - SORT, UVMAP, APCLN, CALIB,
 *             MXmap, MXclean, VTESS - on a set of visibilities and the images made from it.  The large version has
 *             images of 1024 x 1024 pixels, thus 4 MiB, and 77,000 visibilities, thus about as much.  There are eleven
 *             files: the visibilities, and the master version of the result of each step.  A step reads masters and
 *             writes its own version.  The version of an image is compared with its master.
 *             Between that a step consists of passes.  A pass reads a file, works in memory, and writes a file:
 *               sort        three: "two areas are needed as scratch files and one" for the output (UVSRT.HLP)
 *               map         visibilities on a grid; then a Fourier transform each for map and beam (UVMAP.HLP)
 *               clean       cycles of two transforms; VTESS's are "roughly equivalent" (VTESS.HLP).  With MX a cycle
 *                           subtracts the components from the visibilities, grids these, and transforms once
 *               transform   one: AIPS's array processor, 1.25 million words since it is software (PAPC.INC), holds a
 *                           whole image, and "if the FFT all fits in AP memory then the intermediate result is not
 *                           written to disk" (DSKFFT.FOR).  Each row is read and then transformed; then each column is
 *                           transformed and then written (PASS2.FOR)
 *             All other passes read, work and write one piece at a time, as AIPS does with visibilities.  So the
 *             computing is spread over the reads and writes.
 *             Our choices: ten cycles where AIPS takes 15 to 30, so that a run is short.  For each page of the image a
 *             pass visits two pages of `memory`, which stands for the memory of AIPS and its tasks, because a transform
 *             goes over rows and columns.  Each pass continues where the last one stopped, and wraps around at the end
 *             of `memory`.  The question is which pages the system gives up for the pages of the files.
 *             With -w each visit of a page also computes for that time: the program's own work.
 *             The program's code takes memory, too: there are 128 copies of the loop that visits a page, each in a code
 *             page of its own.  Page p is visited by copy p mod 128.
 *             Elapsed time is the time of all steps; sync_s is the time of an fsync of all files after them.  Pages
 *             paged in and out are counted in the same time, for the whole system.  At each block and every 16 visits
 *             the free memory is sampled and compared with lotsfree and cachefree.
 * INVARIANTS  I1  a word of page p that began as x is x * state[p].power + state[p].shift; each visit checks one
 *             I2  word i of file f, written for the n-th time, is f * 2^56 + n * 2^40 + i; every 64th is checked
 * OUTPUT      result: bench=ddt memory_kib=... code_kib=... image_mib=... passes=... repetitions=... elapsed_s=...
 *             sync_s=... (and of each step) epi=... api=... fpi=... epo=... apo=... fpo=... scan=... free_min=...
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
#include "help.h"
#include "homeroom.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    ddt - a program that needs much memory and reads and writes large files\n"
    "\n"
    "SYNOPSIS\n"
    "    ddt [-i] [-m memory-KiB] [-g image-MiB] [-r repetitions] [-w work-us]\n"
    "            directory\n"
    "\n"
    "DESCRIPTION\n"
    "    The seven steps of the test DDT of the package AIPS: passes that read a\n"
    "    file, visit pages of memory, and write a file.  All words are checked.\n"
    "    The program is on the disk of its experiment only, because its code is\n"
    "    large.\n"
    "\n"
    "OPTIONS\n"
    "    -g image-MiB  size of an image (4)\n"
    "    -i            make the visibilities and the masters\n"
    "    -m KiB        memory (16384)\n"
    "    -r repetitions\n"
    "                  how often (1)\n"
    "    -w work-us    computing for each visit of a page (0)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 ok, 1 a word was wrong, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    mkeyed, editor, docs/benchmarks.md\n";

#define PAGE   4096u
#define WORDS  (PAGE / sizeof(uint64_t))
#define BLOCK  32768u
#define COPIES 128u

/* ---- code: 128 pages ---- */

typedef void visit_page(uint64_t *page, uint64_t add);

#define VISIT(id)                                                                                  \
    static __attribute__((noinline, no_icf, aligned(4096))) void visit_##id(uint64_t *page,        \
                                                                            uint64_t add)          \
    {                                                                                              \
        for (unsigned i = 0; i < WORDS; i++)                                                       \
            page[i] = page[i] * 3 + add;                                                           \
    }
// clang-format off
#define TIMES8(X, p)  X(p##0) X(p##1) X(p##2) X(p##3) X(p##4) X(p##5) X(p##6) X(p##7)
#define TIMES64(X, p) TIMES8(X, p##0) TIMES8(X, p##1) TIMES8(X, p##2) TIMES8(X, p##3) \
                      TIMES8(X, p##4) TIMES8(X, p##5) TIMES8(X, p##6) TIMES8(X, p##7)
// clang-format on

TIMES64(VISIT, a)
TIMES64(VISIT, b)

#define NAME(id) visit_##id,
static visit_page *const visits[COPIES] = {TIMES64(NAME, a) TIMES64(NAME, b)};

/* ---- memory ---------------------------------------------------------------------------------- */

struct page_state {
    uint64_t power, shift; /* for I1; power 0: never visited */
};

static uint64_t *memory;
static struct page_state *state;
static uint64_t npages = 4096, nvisits, nbad;

/* Compares word `index` of `kind` with the expected value.  Prints the first few that are wrong. */
static void expect(const char *kind, uint64_t index, uint64_t found, uint64_t expected)
{
    if (found != expected && nbad++ < 5)
        printf("wrong: %s %llu: %#llx, not %#llx\n", kind, (unsigned long long)index,
               (unsigned long long)found, (unsigned long long)expected);
}

/* ---- samples of free memory ---- */

static struct {
    uint64_t lotsfree, cachefree; /* pages; 0: unknown */
    uint64_t least, low, between, samples;
} watch = {.least = UINT64_MAX};

static uint64_t tunable(const char *what)
{
    struct hr_tunable t;

    return hr_tunable_get(what, &t) == 0 ? t.value : 0;
}

/* Free pages, including pages of files that count as free: MemAvailable.  0: unknown. */
static uint64_t free_pages(void)
{
    static int fd = -1;
    char text[256];
    const char *at;
    ssize_t n;

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

static double work; /* seconds of processor time for each visit */

static void compute(void)
{
    double end = bench_processor() + work;

    while (bench_processor() < end)
        ;
}

/* ---- visits ---------------------------------------------------------------------------------- */

/* What word `at` of page p must be. */
static uint64_t expected_word(uint64_t p, uint64_t at)
{
    return state[p].power == 0 ? 0 : (p * WORDS + at) * state[p].power + state[p].shift;
}

static void visit(uint64_t p, uint64_t add)
{
    uint64_t *page = memory + p * WORDS;
    uint64_t at = p % WORDS;

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

/* Visits the next n pages of memory; wraps around at its end. */
static void visit_next(uint64_t n)
{
    static uint64_t next, round = 1;

    for (; n > 0; n--) {
        visit(next, round);
        if (++next == npages) {
            next = 0;
            round++;
        }
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The visibilities and what is made from them, each as a master and as this test's version; then scratch files. */
enum { UVDATA, UVSRT, UVMAP, UVBEAM, APCLN, APRES, CALIB, MXMAP, MXBEAM, MXCLN, VTESS, NDATA };

static const char *const data_name[NDATA] = {"uvdata", "uvsrt", "uvmap", "uvbeam",
                                             "apcln",  "apres", "calib", "mxmap",
                                             "mxbeam", "mxcln", "vtess"};

struct file {
    int fd;
    uint64_t id, writes; /* for I2 */
};

static const char *directory;
static uint64_t image_blocks = 4 * 32;
static uint64_t block[BLOCK / sizeof(uint64_t)];
static struct file master[NDATA], test[NDATA], scratch[2];

static void open_file(struct file *f, uint64_t id, const char *prefix, const char *name, int flags)
{
    char path[256];

    f->id = id;
    snprintf(path, sizeof path, "%s/%s%s", directory, prefix, name);
    f->fd = open(path, flags, 0644);
    if (f->fd < 0)
        bench_die("%s: %s", path, strerror(errno));
}

static void open_masters(int flags)
{
    for (unsigned i = 0; i < NDATA; i++) {
        open_file(&master[i], i, "m.", data_name[i], flags);
        master[i].writes = 1;
    }
}

static uint64_t word_of(const struct file *f, uint64_t i)
{
    return (f->id << 56) + (f->writes << 40) + i;
}

/* Writes block `at` of f.  The first block begins the next version of the file. */
static void write_block(struct file *f, uint64_t at)
{
    ssize_t put;

    f->writes += at == 0;
    for (unsigned i = 0; i < BLOCK / sizeof(uint64_t); i++)
        block[i] = word_of(f, at * BLOCK / sizeof(uint64_t) + i);
    put = pwrite(f->fd, block, BLOCK, (off_t)(at * BLOCK));
    if (put != BLOCK)
        bench_die("write: %s", put < 0 ? strerror(errno) : "disk full");
    watch_memory();
}

static void read_block(const struct file *f, uint64_t at)
{
    ssize_t got = pread(f->fd, block, BLOCK, (off_t)(at * BLOCK));
    uint64_t first = at * BLOCK / sizeof(uint64_t);

    if (got != BLOCK)
        bench_die("read: %s", got < 0 ? strerror(errno) : "file too short; make it with -i");
    for (unsigned i = 0; i < BLOCK / sizeof(uint64_t); i += 64)
        expect("word of a file", first + i, block[i], word_of(f, first + i));
    watch_memory();
}

static void read_file(const struct file *f)
{
    for (uint64_t at = 0; at < image_blocks; at++)
        read_block(f, at);
}

static void sync_file(const struct file *f)
{
    if (fsync(f->fd) != 0)
        bench_die("fsync: %s", strerror(errno));
}

static void make_masters(void)
{
    open_masters(O_RDWR | O_CREAT | O_TRUNC);
    for (unsigned i = 0; i < NDATA; i++) {
        master[i].writes = 0;
        for (uint64_t at = 0; at < image_blocks; at++)
            write_block(&master[i], at);
        sync_file(&master[i]);
    }
}

/* ---- passes ---------------------------------------------------------------------------------- */

#define CYCLES 10
#define PASSES (14 + 7 * CYCLES)       /* in a repetition; run() checks the number */
#define VISITS (2ull * (BLOCK / PAGE)) /* for each block of a pass's file */

static uint64_t npasses;

/* A pass that works on one block at a time. */
static void stream(const struct file *from, struct file *to)
{
    for (uint64_t at = 0; at < image_blocks; at++) {
        read_block(from, at);
        visit_next(VISITS);
        write_block(to, at);
    }
    npasses++;
}

/* A pass that reads the whole file before it writes. */
static void transform(const struct file *from, struct file *to)
{
    for (uint64_t at = 0; at < image_blocks; at++) {
        read_block(from, at);
        visit_next(VISITS / 2);
    }
    for (uint64_t at = 0; at < image_blocks; at++) {
        visit_next(VISITS / 2);
        write_block(to, at);
    }
    npasses++;
}

static void compare(int data)
{
    read_file(&test[data]);
    read_file(&master[data]);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void sort(void)
{
    stream(&master[UVDATA], &scratch[0]);
    stream(&scratch[0], &scratch[1]);
    stream(&scratch[1], &test[UVSRT]);
}

static void map(int visibilities, int image, int beam)
{
    stream(&master[visibilities], &scratch[1]);
    transform(&scratch[1], &test[image]);
    transform(&scratch[1], &test[beam]);
    compare(image);
    compare(beam);
}

static void uvmap(void)
{
    map(UVSRT, UVMAP, UVBEAM);
}

/* Leaves the result in scratch[1]. */
static void deconvolve(int image, int beam)
{
    read_file(&master[beam]);
    for (unsigned i = 0; i < CYCLES; i++) {
        transform(i == 0 ? &master[image] : &scratch[1], &scratch[0]);
        transform(&scratch[0], &scratch[1]);
    }
}

static void apcln(void)
{
    deconvolve(UVMAP, UVBEAM);
    stream(&scratch[1], &test[APCLN]);
    stream(&scratch[1], &test[APRES]);
    compare(APCLN);
    compare(APRES);
}

static void calib(void)
{
    transform(&master[APCLN], &scratch[1]);
    stream(&master[UVSRT], &test[CALIB]);
}

static void mxmap(void)
{
    map(CALIB, MXMAP, MXBEAM);
}

static void mxclean(void)
{
    for (unsigned i = 0; i < CYCLES; i++) {
        stream(&master[CALIB], &scratch[0]);
        stream(&scratch[0], &scratch[1]);
        transform(&scratch[1], &test[MXCLN]);
    }
    compare(MXCLN);
}

static void vtess(void)
{
    deconvolve(MXMAP, MXBEAM);
    stream(&scratch[1], &test[VTESS]);
    compare(VTESS);
}

static const struct {
    const char *name;
    void (*run)(void);
} step[] = {{"sort", sort},   {"uvmap", uvmap},     {"apcln", apcln}, {"calib", calib},
            {"mxmap", mxmap}, {"mxclean", mxclean}, {"vtess", vtess}};

#define STEPS (sizeof step / sizeof step[0])

static void run(uint64_t repetitions)
{
    double begin, elapsed, synced, took[STEPS] = {0};
    struct bench_paging a, b;

    watch.lotsfree = tunable("lotsfree");
    watch.cachefree = tunable("cachefree");
    bench_paging(&a);
    begin = bench_now();
    for (uint64_t r = 0; r < repetitions; r++)
        for (unsigned i = 0; i < STEPS; i++) {
            double start = bench_now();

            step[i].run();
            took[i] += bench_now() - start;
        }
    elapsed = bench_now() - begin;
    bench_paging(&b);
    expect("number of passes", 0, npasses, PASSES * repetitions);
    for (unsigned i = 1; i < NDATA; i++)
        sync_file(&test[i]);
    for (unsigned i = 0; i < 2; i++)
        sync_file(&scratch[i]);
    synced = bench_now() - begin - elapsed;
    printf(
        "result: bench=ddt memory_kib=%llu code_kib=%u image_mib=%llu passes=%llu repetitions=%llu",
        (unsigned long long)npages * 4, COPIES * PAGE / 1024, (unsigned long long)image_blocks / 32,
        (unsigned long long)npasses, (unsigned long long)repetitions);
    printf(" elapsed_s=%.3f sync_s=%.3f", elapsed, synced);
    for (unsigned i = 0; i < STEPS; i++)
        printf(" %s_s=%.3f", step[i].name, took[i]);
    printf(" epi=%llu api=%llu fpi=%llu epo=%llu apo=%llu fpo=%llu scan=%llu",
           b.execpgin - a.execpgin, b.anonpgin - a.anonpgin, b.fspgin - a.fspgin,
           b.execpgout - a.execpgout, b.anonpgout - a.anonpgout, b.fspgout - a.fspgout,
           b.scan - a.scan);
    printf(" free_min=%llu free_low_pct=%.1f free_between_pct=%.1f\n",
           (unsigned long long)watch.least, 100.0 * (double)watch.low / (double)watch.samples,
           100.0 * (double)watch.between / (double)watch.samples);
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
    uint64_t repetitions = 1;
    bool make = false;
    int opt;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "im:g:r:w:")) != -1) {
        if (opt == 'i')
            make = true;
        else if (opt == 'm')
            npages = (number(optarg, 1u << 30) + 3) / 4;
        else if (opt == 'g')
            image_blocks = 32 * number(optarg, 4096);
        else if (opt == 'r')
            repetitions = number(optarg, 1000);
        else if (opt == 'w')
            work = (double)number(optarg, 1000000) * 1e-6;
        else
            optind = argc + 1;
    }
    if (optind != argc - 1) {
        hr_usage(help);
        return 2;
    }
    directory = argv[optind];
    if (make) {
        make_masters();
        printf("ok\n");
        return 0;
    }
    memory = bench_map(npages * PAGE, PAGE, BENCH_FIRST);
    state = bench_map((npages * sizeof *state + PAGE - 1) / PAGE * PAGE, PAGE, BENCH_FIRST);
    open_masters(O_RDONLY);
    for (unsigned i = 1; i < NDATA; i++)
        open_file(&test[i], NDATA + i, "t.", data_name[i], O_RDWR | O_CREAT | O_TRUNC);
    open_file(&scratch[0], 2 * NDATA, "", "scratch0", O_RDWR | O_CREAT | O_TRUNC);
    open_file(&scratch[1], 2 * NDATA + 1, "", "scratch1", O_RDWR | O_CREAT | O_TRUNC);
    printf("ddt: %llu KiB of memory, files of %llu MiB\n", (unsigned long long)npages * 4,
           (unsigned long long)image_blocks / 32);
    /* a program that watches the disks learns from this line when the test begins */
    fflush(stdout);
    run(repetitions);
    printf(nbad == 0 ? "ok\n" : "FAILED\n");
    return nbad != 0;
}
