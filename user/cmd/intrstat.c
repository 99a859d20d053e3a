// SPDX-License-Identifier: MIT
/*
 * intrstat.c - the interrupts that arrived on each CPU, and the share of time that their handlers took.
 *
 * THEORY      The numbers are differences of two readings.  Interrupts of devices are in /proc/irq/N/counts.  With -k
 *             the program also reads the kstats intr:CPU:cpu, which count the kernel's own interrupts: its timer,
 *             cross-calls, and pokes by reason.  Numbers are per second.  Each block of lines has as many CPUs as fit
 *             into 80 columns.
 * SEE ALSO    docs/psets.md, kernel/intr/intr.h, kernel/procfs/procfs_irq.c
 */
#include <sys/processor.h>

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

enum { MAX_ROWS = 256, PER_BLOCK = 4, NAME = 24 };

struct row {
    char name[NAME];
    bool timed; /* us[] is valid */
    double count[HR_MAXCPU], us[HR_MAXCPU];
};

struct reading {
    struct timespec at;
    unsigned n;
    struct row row[MAX_ROWS];
};

static bool wanted[HR_MAXCPU], kernel_too;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    intrstat - show which interrupts arrive on which CPU\n"
    "\n"
    "SYNOPSIS\n"
    "    intrstat [-k] [-c cpulist] [interval [count]]\n"
    "\n"
    "DESCRIPTION\n"
    "    Every interval (1 second) a table shows, for each CPU and each device,\n"
    "    the interrupts per second and the share of time of their handlers.\n"
    "\n"
    "OPTIONS\n"
    "    -c cpulist    these CPUs only: 0-3,8\n"
    "    -k            also interrupts of the kernel itself: timer, TLB, pokes by\n"
    "                  reason\n"
    "\n"
    "EXAMPLES\n"
    "    intrstat -k -c 3 1 4\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    mpstat, psradm, psrset, docs/psets.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static int by_irq(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The row with this name; a new one if there is none; NULL if there is no room. */
static struct row *row_of(struct reading *r, const char *name)
{
    for (unsigned i = 0; i < r->n; i++)
        if (strcmp(r->row[i].name, name) == 0)
            return &r->row[i];
    if (r->n == MAX_ROWS)
        return NULL;
    snprintf(r->row[r->n].name, NAME, "%s", name);
    return &r->row[r->n++];
}

static void take_irq(struct reading *r, int irq)
{
    FILE *f = fopen(hr_path("/proc/irq/%d/counts", irq), "r");
    char name[NAME];
    struct row *row;
    double count, us;
    int cpu;

    if (f == NULL)
        return;
    if (fscanf(f, "%*d %*d %23s", name) == 1 && (row = row_of(r, name)) != NULL) {
        row->timed = true;
        while (fscanf(f, "%d %lf %lf", &cpu, &count, &us) == 3)
            if (cpu >= 0 && cpu < HR_MAXCPU) {
                row->count[cpu] += count;
                row->us[cpu] += us;
            }
    }
    fclose(f);
}

static void take_devices(struct reading *r)
{
    DIR *dir = opendir(hr_path("/proc/irq"));
    struct dirent *entry;
    int irq[MAX_ROWS], n = 0;

    if (dir == NULL) {
        hr_perror("intrstat", "/proc/irq");
        exit(1);
    }
    while ((entry = readdir(dir)) != NULL && n < MAX_ROWS)
        n += hr_parse_int(entry->d_name, 0, MAX_ROWS, &irq[n]) == 0;
    closedir(dir);
    qsort(irq, (size_t)n, sizeof irq[0], by_irq);
    for (int i = 0; i < n; i++)
        take_irq(r, irq[i]);
}

static void take_kernel(struct reading *r)
{
    struct hr_kstat *list;
    long n = hr_kstat_read(&list);

    for (long i = 0; i < n; i++) {
        const struct hr_kstat *k = &list[i];
        struct row *row;

        if (strcmp(k->module, "intr") == 0 && strcmp(k->statistic, "device") != 0 &&
            k->instance >= 0 && k->instance < HR_MAXCPU && (row = row_of(r, k->statistic)) != NULL)
            row->count[k->instance] = strtod(k->value, NULL);
    }
    if (n >= 0)
        free(list);
}

static void take(struct reading *r)
{
    memset(r, 0, sizeof *r);
    clock_gettime(CLOCK_MONOTONIC, &r->at);
    take_devices(r);
    if (kernel_too)
        take_kernel(r);
}

static void print_block(const struct reading *old, const struct reading *now, const int *cpu, int n)
{
    double seconds = (double)(now->at.tv_sec - old->at.tv_sec) +
                     (double)(now->at.tv_nsec - old->at.tv_nsec) / 1e9;

    printf("\n      device |");
    for (int i = 0; i < n; i++)
        printf(" %*scpu%d %%tim", cpu[i] < 10 ? 5 : cpu[i] < 100 ? 4 : 3, "", cpu[i]);
    printf("\n-------------+");
    for (int i = 0; i < n; i++)
        printf("---------------");
    printf("\n");
    for (unsigned k = 0; k < now->n; k++) {
        const struct row *b = &now->row[k], *a = k < old->n ? &old->row[k] : NULL;

        printf("%12.12s |", b->name);
        for (int i = 0; i < n; i++) {
            double count = b->count[cpu[i]] - (a != NULL ? a->count[cpu[i]] : 0);
            double us = b->us[cpu[i]] - (a != NULL ? a->us[cpu[i]] : 0);

            printf(" %9.0f", seconds > 0 ? count / seconds : 0);
            if (b->timed)
                printf(" %4.1f", seconds > 0 ? us / seconds / 1e4 : 0);
            else
                printf("    -");
        }
        printf("\n");
    }
}

static void print_sample(const struct reading *old, const struct reading *now)
{
    int block[PER_BLOCK], n = 0;

    for (int cpu = 0; cpu < HR_MAXCPU; cpu++) {
        int state = wanted[cpu] ? p_online(cpu, P_STATUS) : -1;

        if (state >= 0 && state != P_OFFLINE)
            block[n++] = cpu;
        if (n == PER_BLOCK || (n > 0 && cpu == HR_MAXCPU - 1)) {
            print_block(old, now, block, n);
            n = 0;
        }
    }
    fflush(stdout);
}

/*
 * Parses a list of CPUs, "0,2-4".  Each part must name at least one CPU of the machine.  Returns 0; -1 after a message.
 */
static int parse_cpus(char *text)
{
    char *part;

    while ((part = strsep(&text, ",")) != NULL) {
        int first, last;

        if (hr_parse_cpus(part, &first, &last) != 0) {
            fprintf(stderr, "intrstat: -c '%s': write processors as 0,2-4\n", part);
            return -1;
        }
        if (hr_cpus_exist("intrstat", part, first, last) != 0)
            return -1;
        for (; first <= last && first < HR_MAXCPU; first++)
            wanted[first] = true;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct reading reading[2];
    struct hr_stat_args args;
    bool some = false;
    int opt;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "c:k")) != -1) {
        if (opt == 'c') {
            if (parse_cpus(optarg) != 0)
                return 2;
            some = true;
        } else if (opt == 'k') {
            kernel_too = true;
        } else {
            usage();
        }
    }
    if (hr_stat_args("intrstat", argv + optind, false, &args) != 0)
        usage();
    if (args.interval == 0) { /* without operands: every second, until interrupted */
        args.interval = 1;
        args.count = -1;
    }
    for (int cpu = 0; cpu < HR_MAXCPU && !some; cpu++)
        wanted[cpu] = true;
    take(&reading[0]);
    for (int i = 1; args.count < 0 || i <= args.count; i++) {
        struct timespec wait = {args.interval, 0};

        nanosleep(&wait, NULL);
        take(&reading[i % 2]);
        print_sample(&reading[(i + 1) % 2], &reading[i % 2]);
    }
    return 0;
}
