// SPDX-License-Identifier: MIT
/*
 * lsattr.c - AIX's command, for sys0, the only device with attributes here: `lsattr -E -l sys0`.
 *
 * THEORY      Two attributes of sys0 set disk I/O pacing.  On Homeroom they are kernel variables of the same names.  A
 *             line has AIX's format: attribute, value, description, whether it can be changed.
 * SEE ALSO    chdev.c, docs/pagecache.md
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"
#include "sys0.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    lsattr - show the attributes of a device: disk I/O pacing\n"
    "\n"
    "SYNOPSIS\n"
    "    lsattr -E -l sys0 [-a attribute]...\n"
    "\n"
    "DESCRIPTION\n"
    "    AIX's command, for the device sys0.  A line has the attribute (maxpout or\n"
    "    minpout), its value, what it is, and whether it can be changed.\n"
    "\n"
    "OPTIONS\n"
    "    -a attribute  this attribute only\n"
    "    -E            the values in effect; must be given\n"
    "    -l device     the device: sys0\n"
    "\n"
    "EXAMPLES\n"
    "    lsattr -E -l sys0\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 there is no such device or attribute, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    chdev, docs/pagecache.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static void show(int i)
{
    struct hr_tunable var;

    if (hr_tunable_get(sys0[i].name, &var) != 0) {
        fprintf(stderr, "lsattr: %s: %s\n", sys0[i].name, hr_strerror(errno));
        exit(1);
    }
    printf("%-10s %-8llu %-50s %s\n", sys0[i].name, (unsigned long long)var.value,
           sys0[i].description, var.writable == 1 ? "True" : "False");
}

int main(int argc, char **argv)
{
    bool effective = false, chosen[NSYS0] = {false}, some = false;
    const char *device = NULL;
    int opt;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "El:a:")) != -1) {
        int i = 0;

        switch (opt) {
        case 'E':
            effective = true;
            break;
        case 'l':
            device = optarg;
            break;
        case 'a':
            while (i < NSYS0 && strcmp(sys0[i].name, optarg) != 0)
                i++;
            if (i == NSYS0) {
                fprintf(stderr, "lsattr: sys0 has no attribute %s; it has maxpout and minpout\n",
                        optarg);
                return 1;
            }
            chosen[i] = some = true;
            break;
        default:
            usage();
        }
    }
    if (!effective || device == NULL || optind != argc)
        usage();
    if (strcmp(device, "sys0") != 0) {
        fprintf(stderr, "lsattr: no device %s; there is sys0\n", device);
        return 1;
    }
    for (int i = 0; i < NSYS0; i++)
        if (!some || chosen[i])
            show(i);
    return 0;
}
