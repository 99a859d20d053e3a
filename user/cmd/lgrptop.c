// SPDX-License-Identifier: MIT
/*
 * lgrptop.c - what each lgroup does: load, threads, memory, dispatches, migrated pages.
 *
 * THEORY      All figures are kstats lgrp:N:lgrpN.  Rates are differences of two readings, divided by the time between
 *             them; the first report is about the time since boot, when all counters were 0.
 * SEE ALSO    kernel/lgrp/lgrpstat.c (the kstats), docs/lgroups.md, tests/test_prstat.py
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"
#include "report.h"

enum { PAGES_PER_MIB = 256 };
#define FULL_LOAD 32767.0

// clang-format off
#define STATISTICS(X) \
    X(CPUS, "cpus") X(LOAD, "load average") X(RUNNING, "threads running") X(WAITING, "threads waiting") \
    X(HOME, "threads at home") X(INSTALLED, "pages installed") X(FREE, "pages free") \
    X(LOCAL, "dispatches at home") X(REMOTE, "dispatches remote") \
    X(TO, "pages migrated to") X(FROM, "pages migrated from")
enum {
#define X(id, name) S_##id,
    STATISTICS(X)
#undef X
    NSTATISTICS
};
// clang-format on
static const char *const statistic[NSTATISTICS] = {
#define X(id, name) name,
    STATISTICS(X)
#undef X
};

struct reading {
    double seconds; /* since boot */
    int nlgrps;
    double v[HR_MAXLGRP][NSTATISTICS];
};

static const char help[] HR_MANUAL =
    "NAME\n"
    "    lgrptop - show what each lgroup does\n"
    "\n"
    "SYNOPSIS\n"
    "    lgrptop [interval [count]]\n"
    "\n"
    "DESCRIPTION\n"
    "    A report every 5 seconds, or every interval, until q or Ctrl-C is typed.\n"
    "    On a terminal it replaces the one before.  A line for each lgroup, and\n"
    "    one of sums, with these columns: on-line CPUs, load as the scheduler\n"
    "    counts it (1.00: a thread for every CPU; an average over 2 seconds, to\n"
    "    which a new thread adds its load at once, so it is high for a while where\n"
    "    programs start; the sum is the mean of all CPUs), threads that run on its\n"
    "    CPUs and that wait for one of them, threads that have their home here\n"
    "    wherever they run, MiB installed and free, dispatches by its CPUs of\n"
    "    threads that are at home here and of others, pages that migrated to it\n"
    "    and from it.\n"
    "    The last four columns are per second: in the first report since boot,\n"
    "    in each further one since the one before.  A thread of class RT waits in\n"
    "    a queue of its processor set and is in no lgroup's WAIT.\n"
    "\n"
    "EXAMPLES\n"
    "    lgrptop 2\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 no statistics, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    lgrpinfo, prstat, kstat, mpstat, docs/lgroups.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static void take(struct reading *r)
{
    struct hr_kstat *list;
    struct timespec now;
    long n = hr_kstat_read(&list);

    if (n < 0) {
        hr_perror("lgrptop", "/dev/kstat");
        exit(1);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    memset(r, 0, sizeof *r);
    r->seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    for (long i = 0; i < n; i++) {
        const struct hr_kstat *k = &list[i];

        if (strcmp(k->module, "lgrp") != 0 || k->instance < 0 || k->instance >= HR_MAXLGRP)
            continue;
        if (k->instance >= r->nlgrps)
            r->nlgrps = k->instance + 1;
        for (int s = 0; s < NSTATISTICS; s++)
            if (strcmp(k->statistic, statistic[s]) == 0)
                r->v[k->instance][s] = strtod(k->value, NULL);
    }
    free(list);
}

static void print_row(FILE *out, const char *name, const double v[NSTATISTICS])
{
    fprintf(out, "%4s %4.0f %5.2f %5.0f %5.0f %5.0f %7.0f %7.0f %7.0f %7.0f %6.0f %6.0f\n", name,
            v[S_CPUS], v[S_LOAD] / FULL_LOAD, v[S_RUNNING], v[S_WAITING], v[S_HOME],
            v[S_INSTALLED] / PAGES_PER_MIB, v[S_FREE] / PAGES_PER_MIB, v[S_LOCAL], v[S_REMOTE],
            v[S_TO], v[S_FROM]);
}

/* The rate of a counter, per second; 0 if root has set it to 0 meanwhile. */
static double rate(double old, double now, double seconds)
{
    return seconds > 0 && now > old ? (now - old) / seconds : 0;
}

/* Prints the lgroups, as many as `screen` lines have place for (0: all), and the sums of all. */
static void print_report(FILE *out, const struct reading *old, const struct reading *now,
                         int screen)
{
    double sum[NSTATISTICS] = {0}, seconds = now->seconds - old->seconds;

    fprintf(out,
            "LGRP CPUS  LOAD   RUN  WAIT  HOME    SIZE    FREE   LOCAL  REMOTE  MIGIN MIGOUT\n");
    for (int id = 0; id < now->nlgrps; id++) {
        double row[NSTATISTICS];
        char name[16];

        for (int s = 0; s < NSTATISTICS; s++) {
            row[s] = now->v[id][s];
            if (s >= S_LOCAL)
                row[s] = rate(old->v[id][s], now->v[id][s], seconds);
            sum[s] += s == S_LOAD ? row[s] * row[S_CPUS] : row[s];
        }
        snprintf(name, sizeof name, "%d", id);
        if (screen == 0 || id < screen - 2)
            print_row(out, name, row);
    }
    if (sum[S_CPUS] > 0)
        sum[S_LOAD] /= sum[S_CPUS];
    print_row(out, "sum", sum);
}

int main(int argc, char **argv)
{
    /* the first reading stands for the boot */
    static struct reading r[2];
    FILE *out;
    int screen;

    hr_help(argv, help);
    if (getopt(argc, argv, "") != -1 || hr_report_args("lgrptop", argv + optind) != 0)
        usage();
    hr_report_start(false);
    for (int i = 0;; i++) {
        const struct reading *old = &r[i % 2];
        struct reading *now = &r[(i + 1) % 2];

        take(now);
        out = hr_report_open(&screen);
        print_report(out, old, now, screen);
        if (!hr_report_show())
            return 0;
    }
}
