// SPDX-License-Identifier: MIT
/*
 * mpstat.c - the activity of each CPU or each processor set: faults, interrupts, switches, locks, calls, time.
 *
 * THEORY      The numbers are differences of two readings of the counters cpu:N:sys, one second or more apart.  Shares
 *             of time are in clock ticks.  Rates are per second of on-line time.  A CPU takes part in every tick while
 *             it is on-line, so its on-line time is the time between the readings, times its ticks, divided by the
 *             largest number of ticks of any CPU.  (Its ticks divided by 100 would give the same, except that a machine
 *             on a busy host counts fewer ticks.)
 *             The first report covers the time since boot.  So does a report after a change of the sets or of the
 *             on-line CPUs; lines about the change come before it.
 * SEE ALSO    docs/psets.md (what each column counts), kernel/stat/cpustat.h, tests/test_commands.py
 */
#include <sys/pset.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

enum { MAX_SETS = 2 * HR_MAXCPU, HEADING_EVERY = 20 };

// clang-format off
#define COLUMNS(X) \
    X(minf) X(mjf) X(xcal) X(intr) X(ithr) X(csw) X(icsw) X(migr) X(smtx) X(srw) X(syscl) \
    X(usr_ticks) X(sys_ticks) X(wt_ticks) X(idl_ticks)
enum {
#define X(name) C_##name,
    COLUMNS(X)
#undef X
    NCOLUMNS
};
// clang-format on
static const char *const column[NCOLUMNS] = {
#define X(name) #name,
    COLUMNS(X)
#undef X
};

struct reading {
    int set[HR_MAXCPU];     /* of each CPU; PS_NONE also if there is no such CPU */
    bool active[HR_MAXCPU]; /* on-line or no-intr */
    double c[HR_MAXCPU][NCOLUMNS];
    double uptime; /* seconds */
    psetid_t sets[MAX_SETS];
    uint_t nsets;
};

static bool by_set, one_set, aggregate, quiet;
static int wanted_set;
/* seconds between the readings, for each tick of a CPU that was on-line all the time */
static double per_tick;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    mpstat - show what each CPU or each processor set does\n"
    "\n"
    "SYNOPSIS\n"
    "    mpstat [-aq] [-p | -P set] [interval [count]]\n"
    "\n"
    "DESCRIPTION\n"
    "    A row for each CPU that is not off-line.  The first report is about the\n"
    "    time since boot, each further one about the interval before it.  Columns,\n"
    "    per second: page faults without and with I/O (minf, mjf), cross-calls\n"
    "    sent (xcal), interrupts (intr), those of devices (ithr), context switches\n"
    "    and forced ones (csw, icsw), threads that had run elsewhere (migr),\n"
    "    mutexes and reader-writer locks not acquired at once (smtx, srw), system\n"
    "    calls (syscl).  usr, sys, wt and idl are shares of time.\n"
    "\n"
    "OPTIONS\n"
    "    -a            one row for each set: sums of its CPUs\n"
    "    -p            sort by set, and show its number\n"
    "    -P set        this set only\n"
    "    -q            do not report changes of sets and CPUs\n"
    "\n"
    "EXAMPLES\n"
    "    mpstat -p 5\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 there is no such set, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    intrstat, psrset, vmstat, docs/psets.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static void take(struct reading *r)
{
    FILE *f = fopen(hr_path("/proc/uptime"), "r");
    struct hr_kstat *list;
    long n = hr_kstat_read(&list);

    if (n < 0) {
        hr_perror("mpstat", "/dev/kstat");
        exit(1);
    }
    memset(r, 0, sizeof *r);
    if (f != NULL) {
        if (fscanf(f, "%lf", &r->uptime) != 1)
            r->uptime = 0;
        fclose(f);
    }
    for (int cpu = 0; cpu < HR_MAXCPU; cpu++) {
        int state = p_online(cpu, P_STATUS);

        r->active[cpu] = state == P_ONLINE || state == P_NOINTR;
        if (state < 0 || pset_assign(PS_QUERY, cpu, &r->set[cpu]) != 0)
            r->set[cpu] = PS_NONE;
    }
    r->nsets = MAX_SETS;
    if (pset_list(r->sets, &r->nsets) != 0)
        r->nsets = 0;
    for (long i = 0; i < n; i++) {
        const struct hr_kstat *k = &list[i];

        if (strcmp(k->module, "cpu") != 0 || strcmp(k->name, "sys") != 0 || k->instance < 0 ||
            k->instance >= HR_MAXCPU)
            continue;
        for (int c = 0; c < NCOLUMNS; c++)
            if (strcmp(k->statistic, column[c]) == 0)
                r->c[k->instance][c] = strtod(k->value, NULL);
    }
    free(list);
}

/* ---- changes between two readings ---- */

static bool has_set(const struct reading *r, psetid_t set)
{
    for (uint_t i = 0; i < r->nsets; i++)
        if (r->sets[i] == set)
            return true;
    return false;
}

/* Prints the sets that are in `a` and not in `b`.  Returns whether there are any. */
static bool tell_sets(const struct reading *a, const struct reading *b, const char *what)
{
    bool any = false;

    for (uint_t i = 0; i < a->nsets; i++)
        if (!has_set(b, a->sets[i])) {
            any = true;
            if (!quiet)
                printf("<<pset %s: %d>>\n", what, a->sets[i]);
        }
    return any;
}

/* Prints the CPUs that are active in `a` and not in `b`.  Returns whether there are any. */
static bool tell_cpus(const struct reading *a, const struct reading *b, const char *what)
{
    bool any = false;

    for (int cpu = 0; cpu < HR_MAXCPU; cpu++)
        if (a->active[cpu] && !b->active[cpu]) {
            if (!quiet && !any)
                printf("<<processors %s: ", what);
            if (!quiet)
                printf(any ? ", %d" : "%d", cpu);
            any = true;
        }
    if (any && !quiet)
        printf(">>\n");
    return any;
}

/* Prints what differs between the readings: sets, CPUs, the set of a CPU.  Returns whether anything does. */
static bool changed(const struct reading *old, const struct reading *now)
{
    bool any = tell_sets(now, old, "created");

    for (int cpu = 0; cpu < HR_MAXCPU; cpu++)
        if (old->set[cpu] != now->set[cpu]) {
            any = true;
            if (!quiet)
                printf("<<processor %d moved from pset: %d to: %d>>\n", cpu, old->set[cpu],
                       now->set[cpu]);
        }
    any |= tell_sets(old, now, "destroyed");
    any |= tell_cpus(now, old, "added");
    any |= tell_cpus(old, now, "removed");
    return any;
}

/* ---- printing ---- */

static void print_heading(void)
{
    printf("%s minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl%s\n",
           aggregate ? "SET" : "CPU",
           aggregate ? " sze"
           : by_set  ? " set"
                     : "");
}

static double all_ticks(const double d[NCOLUMNS])
{
    return d[C_usr_ticks] + d[C_sys_ticks] + d[C_wt_ticks] + d[C_idl_ticks];
}

/* The counts of a CPU between two readings; if old is NULL, since boot. */
static void difference(const struct reading *old, const struct reading *now, int cpu,
                       double d[NCOLUMNS])
{
    for (int c = 0; c < NCOLUMNS; c++)
        d[c] = now->c[cpu][c] - (old != NULL ? old->c[cpu][c] : 0);
}

/* Sets per_tick. */
static void measure(const struct reading *old, const struct reading *now)
{
    double most = 0, d[NCOLUMNS];

    for (int cpu = 0; cpu < HR_MAXCPU; cpu++) {
        difference(old, now, cpu, d);
        if (all_ticks(d) > most)
            most = all_ticks(d);
    }
    per_tick = most > 0 ? (now->uptime - (old != NULL ? old->uptime : 0)) / most : 0;
}

/* Prints one row: the counts of `ncpus` CPUs as rates. */
static void print_row(int id, const double d[NCOLUMNS], int ncpus)
{
    double ticks = all_ticks(d), seconds = ticks * per_tick / ncpus, r[NCOLUMNS];

    for (int c = 0; c < NCOLUMNS; c++)
        r[c] = ticks <= 0         ? 0
               : c >= C_usr_ticks ? d[c] * 100 / ticks
               : seconds > 0      ? d[c] / seconds
                                  : 0;
    printf(
        "%3d %4.0f %3.0f %4.0f %5.0f %4.0f %4.0f %4.0f %4.0f %4.0f %4.0f %5.0f  %3.0f %3.0f %3.0f %3.0f",
        id, r[C_minf], r[C_mjf], r[C_xcal], r[C_intr], r[C_ithr], r[C_csw], r[C_icsw], r[C_migr],
        r[C_smtx], r[C_srw], r[C_syscl], r[C_usr_ticks], r[C_sys_ticks], r[C_wt_ticks],
        r[C_idl_ticks]);
}

/* Prints the CPUs of one set, or of all sets (`any`): a row for each CPU, or one for all. */
static int print_cpus(const struct reading *old, const struct reading *now, int set, bool any)
{
    double sum[NCOLUMNS] = {0};
    int n = 0;

    for (int cpu = 0; cpu < HR_MAXCPU; cpu++) {
        double d[NCOLUMNS];

        if (!now->active[cpu] || (!any && now->set[cpu] != set))
            continue;
        n++;
        difference(old, now, cpu, d);
        for (int c = 0; c < NCOLUMNS; c++)
            sum[c] += d[c];
        if (!aggregate) {
            print_row(cpu, d, 1);
            if (by_set)
                printf(" %3d", now->set[cpu]);
            printf("\n");
        }
    }
    if (aggregate && (n > 0 || set != PS_NONE)) {
        print_row(set, sum, n > 0 ? n : 1);
        printf(" %3d\n", n);
    }
    return n;
}

static void print_sample(const struct reading *old, const struct reading *now, int sample)
{
    int active = 0;

    for (int cpu = 0; cpu < HR_MAXCPU; cpu++)
        active += now->active[cpu] && (!one_set || now->set[cpu] == wanted_set);
    measure(old, now);
    if (active > 1 || sample % HEADING_EVERY == 0)
        print_heading();
    if (one_set) {
        print_cpus(old, now, wanted_set, false);
    } else if (by_set || aggregate) {
        print_cpus(old, now, PS_NONE, false);
        for (uint_t i = 0; i < now->nsets && i < MAX_SETS; i++)
            print_cpus(old, now, now->sets[i], false);
    } else {
        print_cpus(old, now, 0, true);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct reading reading[2];
    struct hr_stat_args args;
    struct timespec at;
    bool since_boot = true;
    int opt;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "apP:q")) != -1) {
        if (opt == 'a')
            aggregate = true;
        else if (opt == 'p' && !one_set)
            by_set = true;
        else if (opt == 'P' && !by_set && hr_parse_int(optarg, -1, MAX_SETS, &wanted_set) == 0)
            one_set = true;
        else if (opt == 'P' && !by_set) {
            fprintf(stderr, "mpstat: %s: invalid processor set ID (psrset lists the sets)\n",
                    optarg);
            usage();
        } else if (opt == 'q')
            quiet = true;
        else
            usage();
    }
    /* A count of 0 is allowed and prints nothing. */
    if (argc - optind == 2 && strcmp(argv[optind + 1], "0") == 0 &&
        hr_parse_int(argv[optind], 1, 1 << 30, &opt) == 0)
        return 0;
    if (hr_stat_args("mpstat", argv + optind, false, &args) != 0)
        usage();
    if (one_set && wanted_set != PS_NONE && pset_info(wanted_set, NULL, NULL, NULL) != 0) {
        fprintf(stderr, "mpstat: pset %d does not exist (psrset lists the sets)\n", wanted_set);
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &at);
    for (int i = 0; args.count < 0 || i < args.count; i++) {
        struct reading *now = &reading[i % 2], *old = &reading[(i + 1) % 2];

        if (i > 0) {
            at.tv_sec += args.interval;
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        }
        take(now);
        if (i > 0)
            since_boot = changed(old, now);
        print_sample(since_boot ? NULL : old, now, i);
    }
    return 0;
}
