// SPDX-License-Identifier: MIT
/*
 * latency.c - how evenly busy processes share the CPUs, and how late a sleeping thread wakes beside them.
 *
 * THEORY      `hogs` processes count loops.  Beside them one thread sleeps 10 ms again and again, as an editor waits
 *             for keys, and records how much later it runs.  It also sends a byte to a process and back through pipes.
 *             The share of a process is its count divided by the mean count.
 * OUTPUT      result: bench=latency row=HOGS late_p50_ms= late_p99_ms= late_max_ms= pipe_p50_ms= pipe_p99_ms=
 *             share_min= share_max= (the mean is 1)
 * SEE ALSO    make experiment-beside, docs/dispatcher.md
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    latency - how late a thread wakes beside busy processes\n"
    "\n"
    "SYNOPSIS\n"
    "    latency [-s seconds] hogs\n"
    "\n"
    "DESCRIPTION\n"
    "    Processes (hogs) count loops.  Beside them one thread sleeps 10 ms again\n"
    "    and again and measures how late it runs, and sends a byte to a process\n"
    "    and back.\n"
    "\n"
    "OPTIONS\n"
    "    -s seconds    how long (8)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    beside, docs/dispatcher.md\n";

#define HOGS     256
#define SAMPLES  20000
#define SLEEP_NS 10000000
#define APART    8 /* words between counters, so that each has a cache line of its own */

static double late[SAMPLES], turn[SAMPLES], share[HOGS];

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static pid_t child(void)
{
    pid_t pid = fork();

    if (pid < 0)
        bench_die("fork: %s", strerror(errno));
    return pid;
}

static _Noreturn void hog(volatile long *counter)
{
    for (;;)
        for (volatile int i = 0; i < 1000; i++)
            if (i == 999)
                ++*counter;
}

static _Noreturn void echo(int in, int out)
{
    char byte;

    while (read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1)
        ;
    _exit(0);
}

int main(int argc, char **argv)
{
    int opt, hogs, seconds = 8, n = 0, there[2], back[2];
    volatile long *counters;
    pid_t pids[HOGS], echoes;
    double begin, sum = 0;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "s:")) != -1) {
        if (opt != 's')
            optind = argc;
        else
            seconds = bench_int(optarg, 1, 100, "-s");
    }
    if (optind != argc - 1) {
        hr_usage(help);
        return 2;
    }
    hogs = bench_int(argv[optind], 1, HOGS, "hogs");
    counters = mmap(NULL, HOGS * APART * sizeof *counters, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counters == MAP_FAILED || pipe(there) != 0 || pipe(back) != 0)
        bench_die("memory or pipes: %s", strerror(errno));
    for (int i = 0; i < hogs; i++)
        if ((pids[i] = child()) == 0)
            hog(&counters[i * APART]);
    if ((echoes = child()) == 0)
        echo(there[0], back[1]);

    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL); /* until all processes run */
    for (int i = 0; i < hogs; i++)
        share[i] = (double)-counters[i * APART];
    begin = bench_now();
    for (; bench_now() - begin < seconds && n < SAMPLES; n++) {
        char byte = 0;
        double start = bench_now();

        nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
        late[n] = bench_now() - start - SLEEP_NS * 1e-9;
        start = bench_now();
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            bench_die("pipe: %s", strerror(errno));
        turn[n] = bench_now() - start;
    }
    for (int i = 0; i < hogs; i++)
        sum += share[i] += (double)counters[i * APART];
    for (int i = 0; i < hogs; i++)
        kill(pids[i], SIGKILL);
    kill(echoes, SIGKILL);
    while (wait(NULL) > 0)
        ;
    qsort(late, (size_t)n, sizeof *late, by_size);
    qsort(turn, (size_t)n, sizeof *turn, by_size);
    qsort(share, (size_t)hogs, sizeof *share, by_size);
    printf("result: bench=latency row=%d late_p50_ms=%.3f late_p99_ms=%.3f late_max_ms=%.3f "
           "pipe_p50_ms=%.3f "
           "pipe_p99_ms=%.3f share_min=%.3f share_max=%.3f\n",
           hogs, late[n / 2] * 1e3, late[n * 99 / 100] * 1e3, late[n - 1] * 1e3, turn[n / 2] * 1e3,
           turn[n * 99 / 100] * 1e3, share[0] * hogs / sum, share[hogs - 1] * hogs / sum);
    return 0;
}
