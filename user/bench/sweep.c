// SPDX-License-Identifier: MIT
/*
 * sweep.c - goes through memory as fast as it can, with or without the interconnect model: the cost of the model.
 *
 * THEORY      Each thread reads or copies its own array over and over.  tools/model_speed.py measures from outside: it
 *             reads the CPU time of QEMU when "begin" and "end" are printed.
 * SEE ALSO    make model-speed, docs/fireplane.md
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    sweep - go through memory as fast as possible\n"
    "\n"
    "SYNOPSIS\n"
    "    sweep [-t threads] [-n words] [-i rounds] [-c] [-w]\n"
    "\n"
    "DESCRIPTION\n"
    "    Each thread reads its own array again and again.  What the interconnect\n"
    "    model costs is measured outside, by make model-speed.\n"
    "\n"
    "OPTIONS\n"
    "    -c            copy one half of each array to the other instead\n"
    "    -i rounds     rounds (100)\n"
    "    -n words      words of each array (1024)\n"
    "    -t threads    threads (1)\n"
    "    -w            watched by the interconnect model\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    fabric, docs/fireplane.md\n";

#define GAP 512 /* in words; one page */

static size_t words = 1024;
static int rounds = 100;
static bool copies, watched;
static volatile uint64_t sink;

static uint64_t sum(const uint64_t *from, size_t n)
{
    uint64_t total = 0;

    for (size_t i = 0; i < n; i++) {
        total += from[i];
        /* without this the compiler would load two words at a time */
        __asm__ volatile("" : "+r"(total));
    }
    return total;
}

static void copy(uint64_t *restrict to, const uint64_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = from[i];
        __asm__ volatile("" ::: "memory"); /* without this the compiler would call memcpy */
    }
}

static void work(int self)
{
    /* The halves are an odd number of pages apart, so that they do not share places in QEMU's TLB. */
    size_t all = 2 * words + GAP;
    uint64_t *array = bench_map(all * sizeof *array, 4096, BENCH_FIRST);

    for (size_t i = 0; i < all; i++)
        array[i] = i;
    bench_barrier();
    if (self == 0) {
        if (watched && fp_arm() != 0)
            bench_die("nothing was measured");
    }
    bench_barrier();
    sink = sum(array, all); /* now both halves are in the caches, if they fit */
    bench_barrier();
    if (self == 0) {
        printf("begin\n");
        fflush(stdout);
    }
    bench_barrier();
    for (int round = 0; round < rounds; round++)
        if (copies)
            copy(array, array + words + GAP, words);
        else
            sink += sum(array, words);
    bench_barrier();
    if (self == 0) {
        printf("end %zu\n", (size_t)rounds * words * (copies ? 2 : 1));
        fp_disarm();
    }
}

int main(int argc, char **argv)
{
    int opt, threads = 1;

    hr_help(argv, help);
    bench_init();
    while ((opt = getopt(argc, argv, "t:n:i:cw")) != -1) {
        switch (opt) {
        case 't':
            threads = bench_int(optarg, 1, BENCH_MAX, "threads");
            break;
        case 'n':
            words = bench_count(optarg);
            break;
        case 'i':
            rounds = bench_int(optarg, 1, 1 << 30, "rounds");
            break;
        case 'c':
            copies = true;
            break;
        case 'w':
            watched = true;
            break;
        default:
            hr_usage(help);
            return 2;
        }
    }
    if (optind != argc)
        bench_die("no arguments are taken");
    bench_threads(threads, work, true);
    return 0;
}
