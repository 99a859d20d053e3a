// SPDX-License-Identifier: MIT
/*
 * editor.c - how long an editor hesitates while other processes read a large file.
 *
 * THEORY      An editor has some memory and waits for keys.  At each key it touches the next 64 pages of its memory and
 *             wraps around at the end.  So each page is touched from time to time, and none all the time.  Meanwhile
 *             two processes read a large file: one reads it from begin to end, again and again, the other reads random
 *             pages.  If the file is larger than memory, the system must give up pages for it.  The question is which
 *             pages, and what that costs the readers.
 *             A pause is the time of one key.  Most keys need no disk access, so the longest pauses in a hundred
 *             matter.
 * OUTPUT      result: bench=editor keys=... p50_ms=... p99_ms=... max_ms=... majflt=... seq_kib_s=... random_s=...
 *             the last two: what the readers read in a second
 * SEE ALSO    docs/benchmarks.md
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

enum { PAGE = 4096, KEY_PAGES = 64, BLOCK = 65536, KEYS_MAX = 100000 };

static int memory_mib = 16, keys = 200, interval_ms = 50;

/* What the readers have read so far; shared with them. */
static struct readers {
    _Atomic uint64_t blocks, pages;
} *got;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    editor - how long an editor hesitates while others read a large file\n"
    "\n"
    "SYNOPSIS\n"
    "    editor [-m MiB] [-k keys] [-i ms] file\n"
    "\n"
    "DESCRIPTION\n"
    "    At each key the editor touches 64 pages of its memory.  One process reads\n"
    "    the file again and again, another reads pages of it at random.\n"
    "\n"
    "OPTIONS\n"
    "    -i ms         time between keys (50)\n"
    "    -k keys       keys (200)\n"
    "    -m MiB        the editor's memory (16)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    ddt, mkeyed, docs/benchmarks.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static _Noreturn void read_through(int fd)
{
    static char buf[BLOCK];

    for (off_t at = 0;; at += BLOCK) {
        ssize_t n = pread(fd, buf, BLOCK, at);

        if (n < 0)
            _exit(1);
        if (n < BLOCK)
            at = -BLOCK;
        got->blocks++;
    }
}

static _Noreturn void read_at_random(int fd, off_t size)
{
    static char buf[PAGE];
    uint64_t x = 88172645463325252ull;

    for (;;) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if (pread(fd, buf, PAGE, (off_t)(x % (uint64_t)(size / PAGE)) * PAGE) != PAGE)
            _exit(1);
        got->pages++;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* One key.  Returns the seconds that it took. */
static double key(volatile char *memory, size_t pages, size_t *next)
{
    double begun = bench_now();

    for (int i = 0; i < KEY_PAGES; i++) {
        memory[*next * PAGE]++;
        *next = *next + 1 < pages ? *next + 1 : 0;
    }
    return bench_now() - begun;
}

int main(int argc, char **argv)
{
    static double pause[KEYS_MAX];
    struct rusage used;
    size_t pages, next = 0;
    char *memory;
    double begun, took;
    pid_t child[2];
    off_t size;
    int fd, c;

    hr_help(argv, help);
    while ((c = getopt(argc, argv, "m:k:i:")) != -1) {
        if (c == 'm')
            memory_mib = bench_int(optarg, 1, 1 << 20, "-m");
        else if (c == 'k')
            keys = bench_int(optarg, 1, KEYS_MAX, "-k");
        else if (c == 'i')
            interval_ms = bench_int(optarg, 1, 60000, "-i");
        else
            usage();
    }
    if (optind + 1 != argc)
        usage();
    fd = open(argv[optind], O_RDONLY);
    size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    if (size < BLOCK)
        bench_die("%s: cannot be read, or is shorter than %d bytes", argv[optind], BLOCK);
    pages = (size_t)memory_mib << 8;
    memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    got = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || got == MAP_FAILED)
        bench_die("no memory");
    memset(memory, 1, pages * PAGE);
    for (int i = 0; i < 2; i++) {
        child[i] = fork();
        if (child[i] == 0 && i == 0)
            read_through(open(argv[optind], O_RDONLY)); /* its own open file, with its own offset */
        if (child[i] == 0)
            read_at_random(fd, size);
        if (child[i] < 0)
            bench_die("no process");
    }
    begun = bench_now();
    for (int i = 0; i < keys; i++) {
        usleep((useconds_t)interval_ms * 1000);
        pause[i] = key(memory, pages, &next) * 1000;
    }
    took = bench_now() - begun;
    for (int i = 0; i < 2; i++) {
        kill(child[i], SIGKILL);
        waitpid(child[i], NULL, 0);
    }
    getrusage(RUSAGE_SELF, &used);
    qsort(pause, (size_t)keys, sizeof *pause, by_value);
    printf(
        "result: bench=editor keys=%d p50_ms=%.3f p99_ms=%.3f max_ms=%.3f majflt=%ld seq_kib_s=%.0f random_s=%.1f\n",
        keys, pause[keys / 2], pause[keys * 99 / 100], pause[keys - 1], used.ru_majflt,
        (double)got->blocks * (BLOCK / 1024) / took, (double)got->pages / took);
    return 0;
}
