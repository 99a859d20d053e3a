// SPDX-License-Identifier: MIT
/*
 * psrinfo.c - prints the state of CPUs and the time of its last change, or which CPUs share a socket and a core.
 *
 * THEORY      A physical processor (-p) is what the machine calls a socket: the chip of a T2000; on Fireplane machines
 *             the pair of CPUs of a Uniboard (a real Uniboard counts each CPU, which is a chip of its own).
 * SEE ALSO    psradm(1); user/include/sys/processor.h
 */
#include <sys/processor.h>

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

static bool verbose, silent, physical;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    psrinfo - show the states of CPUs\n"
    "\n"
    "SYNOPSIS\n"
    "    psrinfo [-v] [processor_id ...]\n"
    "    psrinfo -s processor_id\n"
    "    psrinfo -p [-v]\n"
    "\n"
    "DESCRIPTION\n"
    "    A line for each CPU has its state, on-line, off-line or no-intr, and\n"
    "    since when.\n"
    "\n"
    "OPTIONS\n"
    "    -p            the number of sockets; with -v their CPUs\n"
    "    -s            print 1 if the CPU is on-line, else 0\n"
    "    -v            also type and clock of the CPU\n"
    "\n"
    "EXAMPLES\n"
    "    psrinfo -pv\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 there is no such CPU, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    psradm, lgrpinfo, docs/psets.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static const char *state_name(int state)
{
    switch (state) {
    case P_ONLINE:
        return PS_ONLINE;
    case P_OFFLINE:
        return PS_OFFLINE;
    case P_NOINTR:
        return PS_NOINTR;
    case P_POWEROFF:
        return PS_POWEROFF;
    default:
        return "unknown";
    }
}

static const char *date(time_t when, char *buf, size_t size)
{
    strftime(buf, size, "%m/%d/%Y %H:%M:%S", localtime(&when));
    return buf;
}

static int show(int cpu)
{
    processor_info_t info;
    char since[32], now[32];

    if (processor_info(cpu, &info) != 0) {
        char what[32];

        snprintf(what, sizeof what, "%d", cpu);
        hr_no_cpu("psrinfo", what);
        return 1;
    }
    date(info.pi_since, since, sizeof since);
    if (silent) {
        printf("%d\n", info.pi_state == P_ONLINE);
    } else if (!verbose) {
        printf("%d\t%-8s  since %s\n", cpu, state_name(info.pi_state), since);
    } else {
        printf("Status of virtual processor %d as of: %s\n", cpu,
               date(time(NULL), now, sizeof now));
        printf("  %s since %s.\n", state_name(info.pi_state), since);
        if (info.pi_clock != 0)
            printf("  The %s processor operates at %d MHz,\n", info.pi_processor_type,
                   info.pi_clock);
        else
            printf("  The %s processor operates at an unknown frequency,\n",
                   info.pi_processor_type);
        if (info.pi_fputypes[0] != '\0')
            printf("\tand has a %s floating point processor.\n", info.pi_fputypes);
        else
            printf("\tand has no floating point processor.\n");
    }
    return 0;
}

/* The CPUs that file `name` in the topology of `cpu` lists: "4-5,8".  Without that file the CPU is alone. */
static size_t sharers(int cpu, const char *name, int *list)
{
    FILE *f = fopen(hr_path("/sys/devices/system/cpu/cpu%d/topology/%s", cpu, name), "r");
    size_t n = 0;
    int first, last;

    while (f != NULL && fscanf(f, "%d", &first) == 1) {
        last = first;
        if (fscanf(f, "-%d", &last) < 0 || first < 0 || last >= HR_MAXCPU)
            break;
        while (first <= last)
            list[n++] = first++;
        if (fgetc(f) != ',')
            break;
    }
    if (f != NULL)
        fclose(f);
    if (n == 0)
        list[n++] = cpu;
    return n;
}

/* Prints "8 cores and ", "2 virtual processors (0 1)". */
static void print_count(size_t n, const char *what)
{
    printf("%zu %s%s", n, what, n == 1 ? "" : "s");
}

static void print_processors(const int *list, size_t n)
{
    char text[1024];

    print_count(n, "virtual processor");
    printf(" (%s)\n", hr_ranges(text, sizeof text, list, n));
}

/* -pv: prints one physical processor, and its cores if they have several CPUs. */
static void show_chip(const int *list, size_t n)
{
    int core[HR_MAXCPU];
    size_t cores = 0, ncore;
    processor_info_t info;

    for (size_t i = 0; i < n; i++) {
        sharers(list[i], "core_cpus_list", core);
        cores += core[0] == list[i];
    }
    printf("The physical processor has ");
    if (cores < n) {
        print_count(cores, "core");
        printf(" and ");
    }
    print_processors(list, n);
    for (size_t i = 0; i < n && cores < n; i++) {
        ncore = sharers(list[i], "core_cpus_list", core);
        if (core[0] != list[i])
            continue;
        printf("  The core has ");
        print_processors(core, ncore);
    }
    if (processor_info(list[0], &info) == 0)
        printf("    %s (clock %d MHz)\n", info.pi_processor_type, info.pi_clock);
}

/* -p: prints the physical processors, which are the sockets of the machine.  Each is known by its first CPU. */
static int show_chips(void)
{
    int list[HR_MAXCPU];
    size_t chips = 0;

    for (int cpu = 0; cpu < HR_MAXCPU; cpu++) {
        size_t n;

        if (p_online(cpu, P_STATUS) < 0)
            continue;
        n = sharers(cpu, "package_cpus_list", list);
        if (list[0] != cpu)
            continue;
        chips++;
        if (verbose)
            show_chip(list, n);
    }
    if (!verbose)
        printf("%zu\n", chips);
    return 0;
}

int main(int argc, char **argv)
{
    int opt, cpu, status = 0;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "vsp")) != -1) {
        if (opt == 'v')
            verbose = true;
        else if (opt == 's')
            silent = true;
        else if (opt == 'p')
            physical = true;
        else
            usage();
    }
    if (physical && argc != optind)
        fprintf(stderr, "psrinfo: %s: -p takes no processors\n", argv[optind]);
    if ((silent && (verbose || physical)) || (silent && argc - optind != 1) ||
        (physical && argc != optind))
        usage();
    if (physical)
        return show_chips();
    if (optind == argc)
        for (cpu = 0; cpu < HR_MAXCPU; cpu++)
            if (p_online(cpu, P_STATUS) >= 0)
                status |= show(cpu);
    for (int i = optind; i < argc; i++)
        if (hr_parse_int(argv[i], 0, INT_MAX, &cpu) != 0) {
            hr_no_cpu("psrinfo", argv[i]);
            return 2;
        }
    for (int i = optind; i < argc; i++)
        status |= hr_parse_int(argv[i], 0, INT_MAX, &cpu) != 0 || show(cpu) != 0;
    return status;
}
