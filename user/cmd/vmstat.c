// SPDX-License-Identifier: MIT
/*
 * vmstat.c - memory, paging and CPUs, in Solaris's layouts.
 *
 * THEORY      The numbers are differences of two readings of counters; the first line is since boot.  Amounts of memory
 *             are in KB, rates per second.  `w` (swapped out) and `de` are always 0, because no process is swapped out
 *             as a whole.  `r` is the number of threads that run or want to run at the moment, without this program's
 *             own.
 * SEE ALSO    docs/pageout.md; Solaris vmstat(1M)
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

enum { DISKS = 4, KB = 4 /* in a page */, HEADING = 19 };

/* Counters of CPUs, kstat cpu:N:sys, summed over all CPUs. */
// clang-format off
#define COUNTERS(X) \
    X(pgrec) X(minf) X(mjf) X(pgin) X(pgpgin) X(pgout) X(pgpgout) X(dfree) X(scan) X(rev) \
    X(pgfrec) X(execpgin) X(execpgout) X(execfree) X(anonpgin) X(anonpgout) X(anonfree) \
    X(fspgin) X(fspgout) X(fsfree) X(intr) X(syscl) X(csw) X(forks) X(execs) X(zero_pages) \
    X(cow_faults) X(usr_ticks) X(sys_ticks) X(wt_ticks) X(idl_ticks)
enum {
#define X(name) C_##name,
    COUNTERS(X)
#undef X
    NCOUNTERS
};
// clang-format on
static const char *const counter_name[NCOUNTERS] = {
#define X(name) #name,
    COUNTERS(X)
#undef X
};

struct reading {
    double seconds; /* since boot */
    double c[NCOUNTERS];
    double freemem, available; /* pages */
    double running, blocked;   /* threads */
    int ndisks;
    char disk[DISKS][32];
    double ops[DISKS];
};

static bool paging, swapping;
static struct hr_stat_args args;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    vmstat - show memory, paging, disks and CPUs\n"
    "\n"
    "SYNOPSIS\n"
    "    vmstat [-ipsS] [disk ...] [interval [count]]\n"
    "\n"
    "DESCRIPTION\n"
    "    The first report is about the time since boot, each further one about\n"
    "    the interval before it.  Memory is in KB, rates are per second.  Columns:\n"
    "    threads that run or want to (r) and that wait for a disk (b), free swap\n"
    "    and free memory, pages found again (re), minor faults (mf), KB paged in\n"
    "    and out and freed (pi, po, fr), pages examined (sr), transfers of up to\n"
    "    four disks, interrupts (in), system calls (sy), switches (cs), and shares\n"
    "    of CPU time.\n"
    "\n"
    "OPTIONS\n"
    "    -i            interrupts since boot\n"
    "    -p            paging by kind: executables, anonymous memory, files\n"
    "    -s            counters since boot\n"
    "    -S            si and so in place of re and mf; always 0\n"
    "\n"
    "EXAMPLES\n"
    "    vmstat -p 5\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 there is no such disk, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    iostat, mpstat, kstat, docs/pageout.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static void take_disk(struct reading *r, const struct hr_kstat *k)
{
    int i = r->ndisks - 1;

    if (!hr_stat_wanted(&args, k->name))
        return;
    if (i < 0 || strcmp(r->disk[i], k->name) != 0) {
        if (r->ndisks == DISKS)
            return;
        i = r->ndisks++;
        snprintf(r->disk[i], sizeof r->disk[i], "%s", k->name);
    }
    if (strcmp(k->statistic, "reads") == 0 || strcmp(k->statistic, "writes") == 0)
        r->ops[i] += strtod(k->value, NULL);
    if (strcmp(k->statistic, "wcnt") == 0 || strcmp(k->statistic, "rcnt") == 0)
        r->blocked += strtod(k->value, NULL);
}

static void take_statistic(struct reading *r, const struct hr_kstat *k)
{
    if (strcmp(k->module, "sd") == 0) {
        take_disk(r, k);
    } else if (strcmp(k->module, "cpu") == 0 && strcmp(k->name, "sys") == 0) {
        for (int i = 0; i < NCOUNTERS; i++)
            if (strcmp(k->statistic, counter_name[i]) == 0)
                r->c[i] += strtod(k->value, NULL);
    } else if (strcmp(k->module, "unix") == 0) {
        if (strcmp(k->name, "system_pages") == 0 && strcmp(k->statistic, "freemem") == 0)
            r->freemem = strtod(k->value, NULL);
        if (strcmp(k->name, "swap") == 0 && strcmp(k->statistic, "available") == 0)
            r->available = strtod(k->value, NULL);
    }
}

static void take(struct reading *r)
{
    struct hr_kstat *list;
    struct timespec now;
    long n = hr_kstat_read(&list);
    FILE *f = fopen(hr_path("/proc/loadavg"), "r");
    double running = 0;

    if (n < 0) {
        hr_perror("vmstat", "/dev/kstat");
        exit(1);
    }
    memset(r, 0, sizeof *r);
    clock_gettime(CLOCK_MONOTONIC, &now);
    r->seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    for (long i = 0; i < n; i++)
        take_statistic(r, &list[i]);
    free(list);
    if (f != NULL) {
        if (fscanf(f, "%*f %*f %*f %lf/", &running) == 1 && running > 0)
            r->running = running - 1;
        fclose(f);
    }
}

/* The rate of a counter, per second. */
static double rate(const struct reading *a, const struct reading *b, int c)
{
    double t = b->seconds - a->seconds;

    return t > 0 ? (b->c[c] - a->c[c]) / t : 0;
}

static void print_paging(const struct reading *a, const struct reading *b, bool heading)
{
    if (heading)
        printf("     memory           page          executable      anonymous      filesystem \n"
               "   swap  free  re  mf  fr  de  sr  epi  epo  epf  api  apo  apf  fpi  fpo  fpf\n");
    printf(" %6.0f %5.0f %3.0f %3.0f %3.0f %3d %3.0f", b->available * KB, b->freemem * KB,
           rate(a, b, C_pgrec), rate(a, b, C_minf), rate(a, b, C_dfree) * KB, 0,
           rate(a, b, C_scan));
    for (int c = C_execpgin; c <= C_fsfree; c++)
        printf(" %4.0f", rate(a, b, c) * KB);
    printf("\n");
}

static void print_usual(const struct reading *a, const struct reading *b, bool heading)
{
    double ticks = 0,
           idle = b->c[C_idl_ticks] - a->c[C_idl_ticks] + b->c[C_wt_ticks] - a->c[C_wt_ticks];
    double t = b->seconds - a->seconds;

    for (int c = C_usr_ticks; c <= C_idl_ticks; c++)
        ticks += b->c[c] - a->c[c];
    if (ticks <= 0)
        ticks = 1;
    if (heading) {
        printf(" kthr      memory            page            disk          faults      cpu\n");
        printf(" r b w   swap  free  %s pi po fr de sr", swapping ? "si  so" : "re  mf");
        /* the first letter and the last character of the disk's name: s0, va */
        for (int i = 0; i < b->ndisks; i++)
            printf(" %c%c", b->disk[i][0], b->disk[i][strlen(b->disk[i]) - 1]);
        printf("%*s   in   sy   cs us sy id\n", 3 * (DISKS - b->ndisks), "");
    }
    printf(" %.0f %.0f %d %6.0f %5.0f", b->running, b->blocked, 0, b->available * KB,
           b->freemem * KB);
    printf(" %3.0f %3.0f", swapping ? 0 : rate(a, b, C_pgrec), swapping ? 0 : rate(a, b, C_minf));
    printf(" %2.0f %2.0f %2.0f %2d %2.0f", rate(a, b, C_pgpgin) * KB, rate(a, b, C_pgpgout) * KB,
           rate(a, b, C_dfree) * KB, 0, rate(a, b, C_scan));
    for (int i = 0; i < b->ndisks; i++)
        printf(" %2.0f", t > 0 ? (b->ops[i] - (i < a->ndisks ? a->ops[i] : 0)) / t : 0);
    printf("%*s %4.0f %4.0f %4.0f %2.0f %2.0f %2.0f\n", 3 * (DISKS - b->ndisks), "",
           rate(a, b, C_intr), rate(a, b, C_syscl), rate(a, b, C_csw),
           100 * (b->c[C_usr_ticks] - a->c[C_usr_ticks]) / ticks,
           100 * (b->c[C_sys_ticks] - a->c[C_sys_ticks]) / ticks, 100 * idle / ticks);
}

static void print_totals(void)
{
    static const struct {
        int counter; /* -1: always 0 */
        const char *text;
    } line[] = {
        {-1, "swap ins"},
        {-1, "swap outs"},
        {-1, "pages swapped in"},
        {-1, "pages swapped out"},
        {C_minf, "total address trans. faults taken"},
        {C_pgin, "page ins"},
        {C_pgout, "page outs"},
        {C_pgpgin, "pages paged in"},
        {C_pgpgout, "pages paged out"},
        {C_pgrec, "total reclaims"},
        {C_pgfrec, "reclaims from free list"},
        {C_minf, "micro (hat) faults"},
        {C_minf, "minor (as) faults"},
        {C_mjf, "major faults"},
        {C_cow_faults, "copy-on-write faults"},
        {C_zero_pages, "zero fill page faults"},
        {C_scan, "pages examined by the clock daemon"},
        {C_rev, "revolutions of the clock hand"},
        {C_dfree, "pages freed by the clock daemon"},
        {C_forks, "forks"},
        {-1, "vforks"},
        {C_execs, "execs"},
        {C_csw, "cpu context switches"},
        {C_intr, "device interrupts"},
        {C_mjf, "traps"},
        {C_syscl, "system calls"},
        {C_execpgin, "executable pages paged in"},
        {C_execpgout, "executable pages paged out"},
        {C_execfree, "executable pages freed"},
        {C_anonpgin, "anonymous pages paged in"},
        {C_anonpgout, "anonymous pages paged out"},
        {C_anonfree, "anonymous pages freed"},
        {C_fspgin, "file system pages paged in"},
        {C_fspgout, "file system pages paged out"},
        {C_fsfree, "file system pages freed"},
        {C_usr_ticks, "user   cpu"},
        {C_sys_ticks, "system cpu"},
        {C_idl_ticks, "idle   cpu"},
        {C_wt_ticks, "wait   cpu"},
    };
    struct reading r;

    take(&r);
    for (unsigned i = 0; i < sizeof line / sizeof line[0]; i++)
        printf("%9.0f %s\n", line[i].counter < 0 ? 0 : r.c[line[i].counter], line[i].text);
}

/* Prints the interrupts of each device and their sum: number, and rate since boot. */
static int print_interrupts(void)
{
    FILE *f = fopen(hr_path("/proc/interrupts"), "r");
    char text[4096];
    double total = 0;
    struct timespec now;

    if (f == NULL) {
        hr_perror("vmstat", "/proc/interrupts");
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("interrupt         total     rate\n--------------------------------\n");
    if (fgets(text, sizeof text, f) != NULL)
        while (fgets(text, sizeof text, f) != NULL) {
            char *p = strchr(text, ':'), *name = strrchr(text, ' '), *end;
            double n = 0;

            if (p == NULL || name == NULL || p == text || p[-1] < '0' || p[-1] > '9')
                continue; /* a row of timers or cross-calls, not of a device, has words there */
            name[strcspn(name, "\n")] = '\0';
            for (p++;; p = end) { /* one number for each CPU */
                double v = strtod(p, &end);

                if (end == p)
                    break;
                n += v;
            }
            printf("%-12.12s %10.0f %8.0f\n", name + 1, n, n / (double)(now.tv_sec + 1));
            total += n;
        }
    fclose(f);
    printf("--------------------------------\n%-12s %10.0f %8.0f\n", "Total", total,
           total / (double)(now.tv_sec + 1));
    return 0;
}

int main(int argc, char **argv)
{
    /* the first reading stands for the boot, when all counters were 0 */
    static struct reading r[2];
    int opt;
    bool totals = false, interrupts = false;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "ipsS")) != -1) {
        switch (opt) {
        case 'i':
            interrupts = true;
            break;
        case 'p':
            paging = true;
            break;
        case 's':
            totals = true;
            break;
        case 'S':
            swapping = true;
            break;
        default:
            usage();
        }
    }
    if (hr_stat_args("vmstat", argv + optind, true, &args) != 0)
        usage();
    if ((totals || interrupts) && optind < argc) {
        fprintf(stderr, "vmstat: '%s': -s and -i print once, about all: nothing comes after them\n",
                argv[optind]);
        usage();
    }
    if (hr_stat_disks("vmstat", &args) != 0)
        return 1;
    if (totals || interrupts) {
        if (totals)
            print_totals();
        return interrupts ? print_interrupts() : 0;
    }
    for (int i = 0; args.count != 0; i++, args.count--) {
        struct reading *old = &r[i % 2], *new = &r[(i + 1) % 2];

        if (i > 0)
            sleep((unsigned)args.interval);
        take(new);
        if (paging)
            print_paging(old, new, i % HEADING == 0);
        else
            print_usual(old, new, i % HEADING == 0);
        fflush(stdout);
    }
    return 0;
}
