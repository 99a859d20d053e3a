// SPDX-License-Identifier: MIT
/*
 * iostat.c - the requests and bytes of the disks, in Solaris's layouts.
 *
 * THEORY      The numbers are differences of two readings of a disk's kstat_io (module sd); the first line is since
 *             boot.  The sums of queue length times time give the mean number of requests that wait (wait) and that are
 *             at the device (actv).  By Little's law they also give the mean time of a request in both queues (svc_t,
 *             in ms; with -n separately as wsvc_t and asvc_t).  The time during which a queue was not empty gives %w
 *             and %b.
 *             The default layout has no `tty` columns, because characters of terminals are not counted.  Solaris counts
 *             no flushes; -f adds them (fl/s).
 * SEE ALSO    docs/disks.md; kernel/blk/iostat.c; Solaris iostat(1M)
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

enum { MAX_DISKS = 64, USUAL_DISKS = 4 };

enum {
    NREAD,
    NWRITTEN,
    READS,
    WRITES,
    WTIME,
    WLENTIME,
    RTIME,
    RLENTIME,
    RERRORS,
    WERRORS,
    FERRORS,
    FLUSHES,
    NFIELDS
};
static const char *const field_name[NFIELDS] = {
    "nread", "nwritten", "reads",   "writes",  "wtime",   "wlentime",
    "rtime", "rlentime", "rerrors", "werrors", "ferrors", "flushes",
};

struct disk {
    char name[32];
    double v[NFIELDS];
};

struct reading {
    double seconds; /* since boot */
    double cpu[4];  /* ticks: user, system, wait, idle */
    int ndisks;
    struct disk disk[MAX_DISKS];
};

static bool extended, by_name, errors, flushes, disks_only, cpu_only;
static struct hr_stat_args args;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    iostat - show what the disks do\n"
    "\n"
    "SYNOPSIS\n"
    "    iostat [-cdefnx] [disk ...] [interval [count]]\n"
    "\n"
    "DESCRIPTION\n"
    "    The first report is about the time since boot, each further one about\n"
    "    the interval before it.  By default a line has, for each disk, kilobytes\n"
    "    and transfers per second and the mean time of a transfer in ms, and then\n"
    "    the shares of CPU time.\n"
    "\n"
    "OPTIONS\n"
    "    -c            CPU time only\n"
    "    -d            disks only\n"
    "    -e            one line for each disk, with its errors\n"
    "    -f            one line for each disk, with its flushes per second\n"
    "    -n            one line for each disk, with times in the queue (wsvc_t)\n"
    "                  and at the device (asvc_t), the name last\n"
    "    -x            one line for each disk: reads and writes per second,\n"
    "                  kilobytes, queue lengths (wait, actv), ms (svc_t), shares\n"
    "                  of time with a queue (%w) and with work (%b)\n"
    "\n"
    "EXAMPLES\n"
    "    iostat -xn 5\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 there is no such disk, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    vmstat, kstat, docs/disks.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static void take_statistic(struct reading *r, const struct hr_kstat *k)
{
    struct disk *d = r->ndisks > 0 ? &r->disk[r->ndisks - 1] : NULL;

    if (strcmp(k->module, "sd") != 0 || !hr_stat_wanted(&args, k->name))
        return;
    if (d == NULL || strcmp(d->name, k->name) != 0) {
        if (r->ndisks == MAX_DISKS)
            return;
        d = &r->disk[r->ndisks++];
        memset(d, 0, sizeof *d);
        snprintf(d->name, sizeof d->name, "%s", k->name);
    }
    for (int i = 0; i < NFIELDS; i++)
        if (strcmp(k->statistic, field_name[i]) == 0)
            d->v[i] = strtod(k->value, NULL);
}

/* The first line of /proc/stat: user nice system idle iowait, in ticks. */
static void read_cpu(struct reading *r)
{
    FILE *f = fopen(hr_path("/proc/stat"), "r");
    double nice = 0;

    memset(r->cpu, 0, sizeof r->cpu);
    if (f != NULL) {
        if (fscanf(f, "cpu %lf %lf %lf %lf %lf", &r->cpu[0], &nice, &r->cpu[1], &r->cpu[3],
                   &r->cpu[2]) == 5)
            r->cpu[0] += nice;
        fclose(f);
    }
}

static int take(struct reading *r)
{
    struct hr_kstat *list;
    struct timespec now;
    long n = hr_kstat_read(&list);

    if (n < 0) {
        hr_perror("iostat", "/dev/kstat");
        return -1;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    r->seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    r->ndisks = 0;
    for (long i = 0; i < n; i++)
        take_statistic(r, &list[i]);
    free(list);
    read_cpu(r);
    return 0;
}

/* The difference between two readings of disk i. */
static struct disk difference(const struct reading *a, const struct reading *b, int i)
{
    struct disk d = b->disk[i];

    for (int f = 0; f < NFIELDS; f++)
        d.v[f] -= i < a->ndisks ? a->disk[i].v[f] : 0;
    return d;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static void print_extended(const struct reading *a, const struct reading *b)
{
    double t = b->seconds - a->seconds, ns = t * 1e9;

    printf("                    extended device statistics              %s\n",
           errors ? "---- errors ---" : "");
    if (by_name)
        printf("    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %%w  %%b %s%sdevice\n",
               errors ? "s/w h/w trn tot " : "", flushes ? "  fl/s " : "");
    else
        printf("device       r/s    w/s   kr/s   kw/s wait actv  svc_t  %%w  %%b %s%s\n",
               errors ? "s/w h/w trn tot" : "", flushes ? "   fl/s" : "");
    for (int i = 0; i < b->ndisks; i++) {
        struct disk d = difference(a, b, i);
        double n = d.v[READS] + d.v[WRITES];
        double failed = b->disk[i].v[RERRORS] + b->disk[i].v[WERRORS] + b->disk[i].v[FERRORS];

        if (!by_name)
            printf("%-8.8s ", d.name);
        printf("%7.1f", ratio(d.v[READS], t));
        printf(" %6.1f %6.1f %6.1f %4.1f %4.1f ", ratio(d.v[WRITES], t),
               ratio(d.v[NREAD] / 1024, t), ratio(d.v[NWRITTEN] / 1024, t),
               ratio(d.v[WLENTIME], ns), ratio(d.v[RLENTIME], ns));
        if (by_name)
            printf("%6.1f %6.1f", ratio(d.v[WLENTIME] / 1e6, n), ratio(d.v[RLENTIME] / 1e6, n));
        else
            printf("%6.1f", ratio((d.v[WLENTIME] + d.v[RLENTIME]) / 1e6, n));
        printf(" %3.0f %3.0f", 100 * ratio(d.v[WTIME], ns), 100 * ratio(d.v[RTIME], ns));
        if (errors)
            /* all errors are errors of the device: "hard" */
            printf(" %3d %3.0f %3d %3.0f", 0, failed, 0, failed);
        if (flushes)
            printf(" %6.1f", ratio(d.v[FLUSHES], t));
        printf(by_name ? " %s\n" : " \n", d.name);
    }
}

static void print_usual(const struct reading *a, const struct reading *b, bool heading)
{
    int n = cpu_only ? 0 : b->ndisks < USUAL_DISKS ? b->ndisks : USUAL_DISKS;
    double t = b->seconds - a->seconds, ticks = 0;

    for (int i = 0; i < 4; i++)
        ticks += b->cpu[i] - a->cpu[i];
    if (heading) {
        for (int i = 0; i < n; i++)
            printf("     %-10.10s", b->disk[i].name);
        printf("%s\n", disks_only ? "" : "     cpu");
        for (int i = 0; i < n; i++)
            printf(" kps tps serv  ");
        printf("%s\n", disks_only ? "" : " us sy wt id");
    }
    for (int i = 0; i < n; i++) {
        struct disk d = difference(a, b, i);
        double ended = d.v[READS] + d.v[WRITES];

        printf("%4.0f %3.0f %4.0f  ", ratio((d.v[NREAD] + d.v[NWRITTEN]) / 1024, t),
               ratio(ended, t), ratio((d.v[WLENTIME] + d.v[RLENTIME]) / 1e6, ended));
    }
    for (int i = 0; i < 4 && !disks_only; i++)
        printf(" %2.0f", 100 * ratio(b->cpu[i] - a->cpu[i], ticks));
    printf("\n");
}

int main(int argc, char **argv)
{
    /* the first reading stands for the boot, when all counters were 0 */
    static struct reading r[2];
    int opt;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "cdefnx")) != -1) {
        switch (opt) {
        case 'c':
            cpu_only = true;
            break;
        case 'd':
            disks_only = true;
            break;
        case 'e':
            errors = extended = true;
            break;
        case 'f':
            flushes = extended = true;
            break;
        case 'n':
            by_name = true;
            break;
        case 'x':
            extended = true;
            break;
        default:
            usage();
        }
    }
    if (hr_stat_args("iostat", argv + optind, true, &args) != 0)
        usage();
    if (hr_stat_disks("iostat", &args) != 0)
        return 1;
    for (int i = 0; args.count != 0; i++, args.count--) {
        struct reading *old = &r[i % 2], *new = &r[(i + 1) % 2];

        if (i > 0)
            sleep((unsigned)args.interval);
        if (take(new) != 0)
            return 1;
        if (extended || (by_name && !cpu_only))
            print_extended(old, new);
        else
            print_usual(old, new, i % 19 == 0);
        fflush(stdout);
    }
    return 0;
}
