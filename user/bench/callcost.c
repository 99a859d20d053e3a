// SPDX-License-Identifier: MIT
/*
 * callcost.c - the cost of a system call in many processes, one after the other.
 *
 * THEORY      The program runs itself as -p processes.  Each calls getppid 20,000 times and prints the mean cost.  If a
 *             call is slower in some processes than in others, the median and the maximum are far apart.
 * OUTPUT      result: bench=callcost n= p50_ns= p95_ns= max_ns= slow_pct= (processes with more than twice the lowest
 *             cost)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    callcost - what a system call costs in many processes\n"
    "\n"
    "SYNOPSIS\n"
    "    callcost [-1] [-p processes]\n"
    "\n"
    "DESCRIPTION\n"
    "    The program runs itself as processes, one after the other.  Each calls\n"
    "    getppid 20,000 times.  A call that is slower in some processes than in\n"
    "    others shows in the distance from the median to the maximum.\n"
    "\n"
    "OPTIONS\n"
    "    -1            what one of these processes does: print the mean cost\n"
    "    -p processes  how many (60)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    osbench, docs/experiments.md\n";

#define PROCESSES 1000
#define CALLS     20000

static double cost[PROCESSES];

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double measure(void)
{
    double begin = bench_now();

    for (int i = 0; i < CALLS; i++)
        syscall(SYS_getppid);
    return (bench_now() - begin) / CALLS * 1e9;
}

/* The cost in a new process, in ns. */
static double in_new_process(const char *program)
{
    char text[64];
    int ends[2], status;
    pid_t pid;
    ssize_t n;

    if (pipe(ends) != 0 || (pid = fork()) < 0)
        bench_die("process: %s", strerror(errno));
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execlp(program, program, "-1", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    n = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    if (waitpid(pid, &status, 0) != pid || status != 0 || n <= 0)
        bench_die("%s -1 failed", program);
    text[n] = '\0';
    return atof(text);
}

int main(int argc, char **argv)
{
    int n = 60, opt, slow = 0;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "1p:")) != -1) {
        switch (opt) {
        case '1':
            printf("%.1f\n", measure());
            return 0;
        case 'p':
            n = bench_int(optarg, 1, PROCESSES, "-p");
            break;
        default:
            optind = argc + 1;
        }
    }
    if (optind != argc) {
        hr_usage(help);
        return 2;
    }
    for (int i = 0; i < n; i++)
        cost[i] = in_new_process(argv[0]);
    qsort(cost, (size_t)n, sizeof *cost, by_size);
    for (int i = 0; i < n; i++)
        slow += cost[i] > 2 * cost[0];
    printf("result: bench=callcost n=%d p50_ns=%.0f p95_ns=%.0f max_ns=%.0f slow_pct=%.1f\n", n,
           cost[n / 2], cost[n * 95 / 100], cost[n - 1], 100.0 * slow / n);
    return 0;
}
