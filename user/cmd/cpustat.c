// SPDX-License-Identifier: MIT
/*
 * cpustat.c - prints the counters of the CPUs at regular times.
 *
 * THEORY      The counters are the interconnect model's; the program reads them from the model's page.  The model is
 *             armed while the program runs.  The counters of another CPU are as old as their last publication, a
 *             fraction of a millisecond.
 * SEE ALSO    docs/userland.md, user/include/cpc.h; Solaris cpustat(1M)
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cpc.h"
#include "help.h"
#include "homeroom.h"

static struct cpc_sets sets;
static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
    interrupted = sig;
}

static const char help[] HR_MANUAL =
    "NAME\n"
    "    cpustat - show what each CPU counts in the interconnect model\n"
    "\n"
    "SYNOPSIS\n"
    "    cpustat -c events [-c events] ... [-nt] [interval [count]]\n"
    "    cpustat -h\n"
    "\n"
    "DESCRIPTION\n"
    "    Every interval (5 seconds unless given; it may have a fraction) one line\n"
    "    for each on-line CPU shows what was counted since the last line.  This is\n"
    "    done count times, or until Ctrl-C.  At the end comes the sum.  While it\n"
    "    runs the model is armed.\n"
    "\n"
    "    events is [pic0=]event[,[pic1=]event].  Several -c take turns, one for\n"
    "    each sample.  The machine must have been started with MODEL=fireplane.\n"
    "\n"
    "OPTIONS\n"
    "    -c events     what to count\n"
    "    -h            list the events\n"
    "    -n            no heading\n"
    "    -t            one more column: cycles\n"
    "\n"
    "EXAMPLES\n"
    "    cpustat -c pic0=EC_ref,pic1=EC_misses 1 2\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 no model, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    cputrack, docs/userland.md, docs/fireplane.md\n";

static int usage(void)
{
    hr_usage(help);
    return 2;
}

static bool on_line(int cpu)
{
    return hr_call(SYS_p_online, cpu, P_STATUS, 0, 0, 0, 0) != P_OFFLINE;
}

static void line(double time, int cpu, const char *event, int which, const struct fp_counts *c)
{
    printf("%7.3f %3d %5s", time, cpu, event);
    cpc_values(stdout, &sets, which, c);
}

/* Sleeps until `when` on the clock of cpc_now(), or until a signal. */
static void sleep_until(double when)
{
    struct timespec t = {(time_t)when, (long)((when - (double)(time_t)when) * 1e9)};

    while (!interrupted && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static void watch(double interval, int count)
{
    static struct fp_counts before[FP_MAX_CPUS], total[CPC_SETS];
    double start = cpc_now(), elapsed = 0;
    int ncpus = (int)fp_header()->ncpus, seen = 0;

    for (int cpu = 0; cpu < ncpus; cpu++)
        fp_read_cpu(cpu, &before[cpu]);
    for (int i = 0; i != count && !interrupted; i++) {
        int which = i % sets.count;

        sleep_until(start + (i + 1) * interval);
        if (cpc_arm() != 0) /* a benchmark disarms the model after its measured part */
            exit(1);
        seen = 0;
        for (int cpu = 0; cpu < ncpus; cpu++) {
            struct fp_counts now, d;

            fp_read_cpu(cpu, &now);
            elapsed = cpc_now() - start;
            cpc_difference(&d, &now, &before[cpu]);
            before[cpu] = now;
            if (!on_line(cpu))
                continue;
            line(elapsed, cpu, "tick", which, &d);
            cpc_sum(&total[which], &d);
            seen++;
        }
        fflush(stdout);
    }
    for (int i = 0; i < sets.count; i++)
        line(elapsed, seen, "total", i, &total[i]);
}

int main(int argc, char **argv)
{
    struct sigaction act = {.sa_handler = on_signal};
    double interval = 5;
    bool header = true;
    int opt, count = -1;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "c:hnt")) != -1) {
        if (opt == 'c' && cpc_add("cpustat", &sets, optarg) != 0)
            return 2;
        if (opt == 'h') {
            hr_synopsis(stdout, help, "usage: ", "       ");
            cpc_help(stdout);
            return 0;
        }
        header &= opt != 'n';
        sets.cycles |= opt == 't';
        if (opt == '?')
            return usage();
    }
    if (sets.count == 0 || argc - optind > 2)
        return usage();
    if (optind < argc && (cpc_interval(argv[optind], &interval) != 0 || interval < 0.001)) {
        fprintf(stderr, "cpustat: '%s': give the interval in seconds, 0.001 to 86400\n",
                argv[optind]);
        return 2;
    }
    if (optind + 1 < argc && hr_parse_int(argv[optind + 1], 1, 1 << 30, &count) != 0) {
        fprintf(stderr, "cpustat: '%s': give the number of samples, 1 to %d\n", argv[optind + 1],
                1 << 30);
        return 2;
    }
    if (cpc_start("cpustat") != 0)
        return 1;
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    sigaction(SIGPIPE, &act, NULL);
    if (header) {
        printf("   time cpu event");
        cpc_header(stdout, &sets);
        fflush(stdout);
    }
    watch(interval, count);
    cpc_stop();
    /* now the rest of the output ends the program if there is no reader */
    signal(SIGPIPE, SIG_DFL);
    return 0;
}
