// SPDX-License-Identifier: MIT
/*
 * psrinfo.c - print the state of CPUs, and since when.
 *
 * SEE ALSO  psradm(1); user/include/sys/processor.h
 */
#include <sys/processor.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "homeroom.h"

static bool verbose, silent, physical;

static void usage(void)
{
    fprintf(stderr, "usage: psrinfo [-v] [processor_id ...]\n"
                    "       psrinfo -s processor_id\n"
                    "       psrinfo -p\n");
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

        snprintf(what, sizeof what, "processor %d", cpu);
        hr_perror("psrinfo", what);
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

/* -p: distinct packages among the CPUs, from sysfs; a CPU that does not say is one of its own.
 */
static int count_chips(void)
{
    bool seen[HR_MAXCPU] = {false};
    int chips = 0;

    for (int cpu = 0; cpu < HR_MAXCPU; cpu++) {
        FILE *f;
        int chip = -1;

        if (p_online(cpu, P_STATUS) < 0)
            continue;
        f = fopen(hr_path("/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu),
                  "r");
        if (f == NULL || fscanf(f, "%d", &chip) != 1 || chip < 0 || chip >= HR_MAXCPU ||
            !seen[chip])
            chips++;
        if (chip >= 0 && chip < HR_MAXCPU)
            seen[chip] = true;
        if (f != NULL)
            fclose(f);
    }
    printf("%d\n", chips);
    return 0;
}

int main(int argc, char **argv)
{
    int opt, cpu, status = 0;

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
    if (verbose + silent + physical > 1 || (silent && argc - optind != 1) ||
        (physical && argc != optind))
        usage();
    if (physical)
        return count_chips();
    if (optind == argc)
        for (cpu = 0; cpu < HR_MAXCPU; cpu++)
            if (p_online(cpu, P_STATUS) >= 0)
                status |= show(cpu);
    for (int i = optind; i < argc; i++) {
        if (hr_parse_int(argv[i], 0, HR_MAXCPU - 1, &cpu) != 0) {
            fprintf(stderr, "psrinfo: processor %s: Invalid argument\n", argv[i]);
            return 2;
        }
        status |= show(cpu);
    }
    return status;
}
