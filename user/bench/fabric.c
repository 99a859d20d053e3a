// SPDX-License-Identifier: MIT
/*
 * fabric.c - directed loads and stores, each of which uses one resource of the interconnect model.
 *
 * THEORY      Workers, each on a CPU of its own, go through lines of memory of a known board in a known way.  The time
 *             for each line, or the bytes moved in a second, follow from the model's parameters:
 *             tools/homeroom/experiments/fabric.py computes them and compares.
 *             An owner, if there is one, is a worker on one more CPU.  It changes the first worker's lines beforehand,
 *             so they are in its cache.  With rounds the owner and the first worker take turns.
 *             The loops are in assembly, so the number of their instructions is known.
 * OUTPUT      ns: modelled time for each line, of the slowest worker.  mbps: bytes read and written by all workers,
 *             between the begin of the first and the end of the last.
 * SEE ALSO    make experiment-fabric, docs/fireplane.md, tests/test_fabric.py
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

enum {
    LINE = 64,      /* bytes */
    STEP = 33,      /* lines between two loads, so that none continues a stream of misses */
    CONTROLS = 4,   /* CPUs of a board; each controls every fourth line of the board's memory */
    MOST = 1 << 20, /* the most lines of a worker */
    BIND = 2,       /* MPOL_BIND of set_mempolicy(2) */
    /* large pages, so that lines do not push each other out of the external cache */
    PAGE = 2 << 20,
    FILL = 4, /* as many external caches of changed lines fill each of the cache's sets */
};

/* A way to go through lines; p is a worker's memory, `lines` a power of two. */
typedef void walk(char *p, size_t lines, size_t step);

static walk hit, load, store_load, change, stream, write_lines, copy;

static const struct {
    const char *name;
    walk *walk;
    unsigned bytes; /* read and written for each line */
    unsigned parts; /* the memory has so many times the bytes of the lines */
} works[] = {
    {"hit", hit, 0, 1},          {"load", load, LINE, 1},     {"store-load", store_load, LINE, 1},
    {"store", change, LINE, 1},  {"stream", stream, LINE, 1}, {"write", write_lines, LINE, 1},
    {"copy", copy, 2 * LINE, 2},
};
enum { NWORKS = sizeof works / sizeof works[0] };

/* The options. */
static size_t work = 1, lines = 2048;
static int cpu_of[FP_MAX_CPUS + 1], nworkers, owner = -1;
static const char *memory = "own";
static int control = -1; /* uses the lines that the CPU so many seats further controls */
static int passes;       /* over the lines before the measured turns */
static int turns = 1;    /* measured turns */
static int rounds = 1;   /* times that the owner and the first worker take turns */
static size_t word;      /* the byte of each line that the owner changes */
static bool dirty;       /* before, changes as many other lines as the external cache has */

static char *memory_of[FP_MAX_CPUS + 1];
static uint64_t begin_ps[FP_MAX_CPUS + 1], end_ps[FP_MAX_CPUS + 1];

/* ---- ways to go through lines ---- */

/* Five instructions for each line: loads each line once, in an order in which none continues a stream of misses. */
static void load(char *p, size_t n, size_t step)
{
    size_t at = 0, mask = n * step - 1, word_read;

    __asm__ volatile("1: mov (%3,%1), %2\n\t add %4, %1\n\t and %5, %1\n\t dec %0\n\t jnz 1b"
                     : "+r"(n), "+r"(at), "=&r"(word_read)
                     : "r"(p), "r"(step * STEP), "r"(mask)
                     : "memory");
}

/* The same with one line, which stays in level 1. */
static void hit(char *p, size_t n, size_t step)
{
    (void)step;
    __asm__ volatile(
        "1: mov (%1), %%rax\n\t add $0, %%rax\n\t and %%rax, %%rax\n\t dec %0\n\t jnz 1b"
        : "+r"(n)
        : "r"(p)
        : "rax", "memory");
}

/* Six instructions: stores a word of the line, and then loads it. */
static void store_load(char *p, size_t n, size_t step)
{
    size_t at = 0, mask = n * step - 1, word_read = 0;

    __asm__ volatile(
        "1: mov %2, (%3,%1)\n\t mov (%3,%1), %2\n\t add %4, %1\n\t and %5, %1\n\t dec %0\n\t jnz 1b"
        : "+r"(n), "+r"(at), "+r"(word_read)
        : "r"(p), "r"(step * STEP), "r"(mask)
        : "memory");
}

/* Five instructions: stores a word of each line. */
static void change(char *p, size_t n, size_t step)
{
    size_t at = 0, mask = n * step - 1, value = 0;

    __asm__ volatile("1: mov %2, (%3,%1)\n\t add %4, %1\n\t and %5, %1\n\t dec %0\n\t jnz 1b"
                     : "+r"(n), "+r"(at)
                     : "r"(value), "r"(p), "r"(step * STEP), "r"(mask)
                     : "memory");
}

/* Four instructions: a floating-point load from each line, in order. */
static void stream(char *p, size_t n, size_t step)
{
    __asm__ volatile("1: movsd (%1), %%xmm0\n\t add %2, %1\n\t dec %0\n\t jnz 1b"
                     : "+r"(n), "+r"(p)
                     : "r"(step)
                     : "xmm0", "memory");
}

/* Seven instructions: stores all bytes of each line, in order. */
static void write_lines(char *p, size_t n, size_t step)
{
    __asm__ volatile(
        "1: movups %%xmm0, (%1)\n\t movups %%xmm0, 16(%1)\n\t movups %%xmm0, 32(%1)\n\t"
        "movups %%xmm0, 48(%1)\n\t add %2, %1\n\t dec %0\n\t jnz 1b"
        : "+r"(n), "+r"(p)
        : "r"(step)
        : "memory");
}

/* Twelve instructions: copies a line to the other half of the memory. */
static void copy(char *p, size_t n, size_t step)
{
    char *to = p + n * step;

    __asm__ volatile(
        "1: movups (%1), %%xmm0\n\t movups 16(%1), %%xmm1\n\t movups 32(%1), %%xmm2\n\t"
        "movups 48(%1), %%xmm3\n\t movups %%xmm0, (%2)\n\t movups %%xmm1, 16(%2)\n\t"
        "movups %%xmm2, 32(%2)\n\t movups %%xmm3, 48(%2)\n\t"
        "add %3, %1\n\t add %3, %2\n\t dec %0\n\t jnz 1b"
        : "+r"(n), "+r"(p), "+r"(to)
        : "r"(step)
        : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
}

/* ---- workers ---- */

static void go_to(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        bench_die("cannot run on CPU %d", cpu);
}

static int board_of(int cpu)
{
    return (int)FP_CPU(fp_header(), cpu)->board;
}

/* Memory for a worker, on the board of option -m, with all pages touched. */
static char *place(int cpu, size_t bytes)
{
    unsigned long node;
    int boards = (int)fp_header()->nboards, board = board_of(cpu);
    char *p;

    if (strcmp(memory, "random") == 0) {
        p = bench_map(bytes, 4096, BENCH_RANDOM);
    } else {
        if (memory[0] == '+')
            board = (board + atoi(memory + 1)) % boards;
        else if (memory[0] == '^')
            board = (board ^ atoi(memory + 1)) % boards;
        else if (strcmp(memory, "own") != 0)
            board = bench_int(memory, 0, boards - 1, "board");
        node = 1ul << board;
        if (syscall(SYS_set_mempolicy, BIND, &node, 8 * sizeof node + 1) != 0)
            bench_die("no memory of board %d", board);
        p = bench_map((bytes + PAGE - 1) / PAGE * PAGE, PAGE, BENCH_ANY);
    }
    for (size_t at = 0; at < bytes; at += 4096)
        p[at] = 0;
    return p;
}

/* Where a worker's lines begin; *step: bytes from one line to the next. */
static char *first_line(int self, size_t *step)
{
    int cpu = cpu_of[self == nworkers ? 0 : self];

    *step = control < 0 ? LINE : CONTROLS * LINE;
    return memory_of[self == nworkers ? 0 : self] +
           (control < 0 ? 0 : (cpu + control) % CONTROLS * LINE);
}

static void play_owner(void)
{
    size_t step;
    char *p;

    p = first_line(nworkers, &step) + word;
    for (int round = 0; round < rounds; round++) {
        store_load(p, lines, step);
        bench_barrier();
        bench_barrier();
    }
}

static void play_worker(int self)
{
    size_t step, other = FILL * fp_header()->ecache_bytes / LINE;
    char *p = first_line(self, &step);

    for (int pass = 0; pass < passes; pass++)
        works[work].walk(p, lines, step);
    if (dirty)
        store_load(memory_of[self] + lines * step, other, LINE);
    for (int round = 0; round < rounds; round++) {
        bench_barrier();
        begin_ps[self] = fp_now_ps();
        for (int turn = 0; turn < turns; turn++)
            works[work].walk(p, lines, step);
        end_ps[self] = fp_now_ps();
        bench_barrier();
    }
}

static void run_worker(int self)
{
    size_t step = control < 0 ? LINE : CONTROLS * LINE, all = lines * step * works[work].parts;

    go_to(cpu_of[self]);
    if (self != nworkers)
        memory_of[self] = place(cpu_of[self], all + (dirty ? FILL * fp_header()->ecache_bytes : 0));
    bench_start(self);
    if (self == nworkers)
        play_owner();
    else
        play_worker(self);
    bench_stop(self);
}

/* ---- options ---- */

/* Parses "0-3,8" (numbers and ranges), or "all". */
static void read_cpus(const char *text)
{
    int last = (int)fp_header()->ncpus - 1;

    if (strcmp(text, "all") == 0) {
        while (nworkers <= last) {
            cpu_of[nworkers] = nworkers;
            nworkers++;
        }
        return;
    }
    for (char *end;; text = end + 1) {
        long from = strtol(text, &end, 10), to = from;

        if (end != text && *end == '-')
            to = strtol(text = end + 1, &end, 10);
        if (end == text || (*end != ',' && *end != '\0') || from < 0 || to < from || to > last)
            bench_die("CPUs: write 0-3,8 or all; 0 to %d", last);
        for (; from <= to && nworkers < FP_MAX_CPUS; from++)
            cpu_of[nworkers++] = (int)from;
        if (*end == '\0')
            return;
    }
}

static const char help[] HR_MANUAL =
    "NAME\n"
    "    fabric - each latency and rate of the interconnect model alone\n"
    "\n"
    "SYNOPSIS\n"
    "    fabric [-w work] [-c CPUs] [-m memory] [-l lines] [-k seats] [-p passes]\n"
    "            [-t turns] [-o CPU [-r rounds] [-d byte]] [-e]\n"
    "\n"
    "DESCRIPTION\n"
    "    Workers, each on a CPU of its own, go through lines of memory of a known\n"
    "    board in a known way.  The modelled time of a line and the bytes per\n"
    "    second follow from the parameters of the model.\n"
    "\n"
    "OPTIONS\n"
    "    -c CPUs       a worker on each (0): 0-3,8 or all\n"
    "    -d byte       the byte of each line that the CPU of -o changes (0)\n"
    "    -e            before, fill the external cache with other lines, changed\n"
    "    -k seats      only lines that the CPU so many seats further controls: 0\n"
    "                  to 3\n"
    "    -l lines      lines of a worker, a power of two (2048)\n"
    "    -m memory     memory of which board: own (default), +N N further, ^N own\n"
    "                  ^ N, N, or random\n"
    "    -o CPU        this CPU changes the first worker's lines before\n"
    "    -p passes     passes over the lines before what is measured (0)\n"
    "    -r rounds     the CPU of -o and the first worker take turns (1)\n"
    "    -t turns      passes that are measured (1)\n"
    "    -w work       hit, load (default), store-load, store, stream, write, copy\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 no model, wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    sweep, fptest, docs/fireplane.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static size_t work_named(const char *name)
{
    for (size_t i = 0; i < NWORKS; i++)
        if (strcmp(works[i].name, name) == 0)
            return i;
    bench_die("no work %s", name);
}

static void read_options(int argc, char **argv)
{
    int opt;

    while ((opt = getopt(argc, argv, "w:c:m:l:k:p:t:o:r:d:e")) != -1) {
        switch (opt) {
        case 'w':
            work = work_named(optarg);
            break;
        case 'c':
            read_cpus(optarg);
            break;
        case 'm':
            memory = optarg;
            break;
        case 'l':
            lines = (size_t)bench_int(optarg, 64, MOST, "lines");
            break;
        case 'k':
            control = bench_int(optarg, 0, CONTROLS - 1, "seats");
            break;
        case 'p':
            passes = bench_int(optarg, 0, 100, "passes");
            break;
        case 't':
            turns = bench_int(optarg, 1, 1000, "turns");
            break;
        case 'o':
            owner = bench_int(optarg, 0, (int)fp_header()->ncpus - 1, "owner");
            break;
        case 'r':
            rounds = bench_int(optarg, 1, 100, "rounds");
            break;
        case 'd':
            word = (size_t)bench_int(optarg, 0, LINE - 8, "byte");
            break;
        case 'e':
            dirty = true;
            break;
        default:
            usage();
        }
    }
    if (optind != argc)
        usage();
    if ((lines & (lines - 1)) != 0)
        bench_die("lines: a power of two");
}

int main(int argc, char **argv)
{
    uint64_t longest = 0, begin = UINT64_MAX, end = 0;

    hr_help(argv, help);
    bench_init();
    if (fp_open() != 0)
        bench_die("start the machine with MODEL=fireplane");
    read_options(argc, argv);
    if (nworkers == 0)
        read_cpus("0");
    cpu_of[nworkers] = owner;
    bench_threads(nworkers + (owner >= 0), run_worker, false);
    for (int i = 0; i < nworkers; i++) {
        longest = end_ps[i] - begin_ps[i] > longest ? end_ps[i] - begin_ps[i] : longest;
        begin = begin_ps[i] < begin ? begin_ps[i] : begin;
        end = end_ps[i] > end ? end_ps[i] : end;
    }
    printf("result: bench=fabric work=%s workers=%d lines=%zu ns=%.4f mbps=%.2f", works[work].name,
           nworkers, lines, (double)longest / 1e3 / (double)(lines * (size_t)turns),
           (double)nworkers * (double)(lines * (size_t)turns) * works[work].bytes * 1e6 /
               (double)(end - begin));
    bench_result_end();
    printf("ok\n");
    return 0;
}
