// SPDX-License-Identifier: MIT
/*
 * swap.c - swap areas, as Solaris's swap(1M): list, summary, add, delete.
 *
 * swap -l      lists the areas: name, device, first block, blocks and free blocks of 512 bytes
 * swap -s      shows how much memory programs have reserved, and how much is left: memory and swap together
 * swap -a F    adds a disk or a file;  swap -d F  removes it
 *
 * SEE ALSO    docs/pageout.md; busybox's swapon and swapoff
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

enum { BLOCKS = 8, FIRST = 8, KB = 4 /* in a page */ };

static const char help[] HR_MANUAL =
    "NAME\n"
    "    swap - show, add and delete swap areas\n"
    "\n"
    "SYNOPSIS\n"
    "    swap -l | -s | -a swapname | -d swapname\n"
    "\n"
    "DESCRIPTION\n"
    "    A swap area is a disk, a partition, or a file without holes on ext3.\n"
    "    Numbers of -l are blocks of 512 bytes.\n"
    "\n"
    "OPTIONS\n"
    "    -a swapname   add an area\n"
    "    -d swapname   take it away: its pages come back to memory\n"
    "    -l            list the areas: name, device, first block, blocks, free\n"
    "    -s            what programs have been promised, and what is left: memory\n"
    "                  and swap together\n"
    "\n"
    "EXAMPLES\n"
    "    swap -a /dev/vdb\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 it failed, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    vmstat, docs/pageout.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static int list(void)
{
    FILE *f = fopen(hr_path("/proc/swaps"), "r");
    char name[256], type[32], line[512];
    long long size, used;
    int n = 0;

    if (f == NULL) {
        hr_perror("swap", "/proc/swaps");
        return 1;
    }
    while (fgets(line, sizeof line, f) != NULL) {
        struct stat st = {0};

        if (sscanf(line, "%255s %31s %lld %lld", name, type, &size, &used) != 4)
            continue; /* the line of headings */
        if (n++ == 0)
            printf("swapfile             dev  swaplo blocks   free\n");
        stat(name, &st);
        if (S_ISBLK(st.st_mode))
            snprintf(type, sizeof type, "%u,%u", major(st.st_rdev), minor(st.st_rdev));
        else
            snprintf(type, sizeof type, "-");
        printf("%-19s %5s %7d %6lld %6lld\n", name, type, FIRST, size * 2, (size - used) * 2);
    }
    fclose(f);
    if (n == 0)
        fprintf(stderr, "No swap devices configured\n");
    return n == 0;
}

/* Solaris distinguishes allocated memory from memory that is only reserved.  Here all is reserved. */
static void summary(void)
{
    long long reserved = hr_kstat_value("unix", 0, "swap", "reserved", 0) * KB;
    long long available = hr_kstat_value("unix", 0, "swap", "available", 0) * KB;
    long long out = (hr_kstat_value("unix", 0, "swap", "disk_total", 0) -
                     hr_kstat_value("unix", 0, "swap", "disk_free", 0)) *
                    KB;

    printf("total: %lldk bytes allocated + %lldk reserved = %lldk used, %lldk available\n", out,
           reserved - out, reserved, available);
}

/* Adds or removes an area.  `unfit` is the message for a file or disk of the wrong kind. */
static int change(const char *name, int (*call)(const char *), const char *unfit)
{
    if (call(name) == 0)
        return 0;
    fprintf(stderr, "swap: %s: %s\n", name, errno == EINVAL ? unfit : strerror(errno));
    return 1;
}

static int add(const char *name)
{
    return swapon(name, 0);
}

int main(int argc, char **argv)
{
    int opt, status = 0;

    hr_help(argv, help);
    opt = getopt(argc, argv, "lsa:d:");
    if (opt == -1 || optind != argc)
        usage();
    switch (opt) {
    case 'l':
        return list();
    case 's':
        summary();
        break;
    case 'a':
        status = change(
            optarg, add,
            "cannot be swap: that takes a disk, or a file without holes on ext3 with 4 KiB blocks");
        break;
    case 'd':
        status = change(optarg, swapoff, "not in use as swap (swap -l lists what is)");
        break;
    default:
        usage();
    }
    return status;
}
