// SPDX-License-Identifier: MIT
/*
 * chdev.c - AIX's command, for sys0, the only device with attributes here: `chdev -l sys0 -a maxpout=33 -a minpout=24`.
 *
 * THEORY      All values are checked before any is written: each must be in the range of its variable, and minpout must
 *             be below maxpout unless maxpout is 0, which turns pacing off.  A change takes effect at once and lasts
 *             until the next boot.  A setting in /etc/system lasts longer.
 * SEE ALSO    lsattr.c, docs/pagecache.md
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"
#include "sys0.h"

static unsigned long long value[NSYS0];
static bool given[NSYS0];

static const char help[] HR_MANUAL =
    "NAME\n"
    "    chdev - change the attributes of a device: disk I/O pacing\n"
    "\n"
    "SYNOPSIS\n"
    "    chdev -l sys0 -a attribute=value [-a attribute=value]...\n"
    "\n"
    "DESCRIPTION\n"
    "    AIX's command, for the device sys0.  Its attributes are maxpout and\n"
    "    minpout: a process that writes to a file sleeps when maxpout or more of\n"
    "    its pages are on their way to the disk, until only minpout are left.\n"
    "    maxpout=0 turns this off.  All values are checked before any is changed.  A\n"
    "    change takes effect at once and lasts until the machine ends.\n"
    "\n"
    "OPTIONS\n"
    "    -l device     the device: sys0\n"
    "    -a name=value the attribute and its new value\n"
    "\n"
    "EXAMPLES\n"
    "    chdev -l sys0 -a maxpout=33 -a minpout=24\n"
    "\n"
    "EXIT STATUS\n"
    "    0 changed, 1 a wrong value or not root, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    lsattr, mdb, docs/pagecache.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

_Noreturn static __attribute__((format(printf, 1, 2))) void refuse(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fputs("chdev: ", stderr);
    vfprintf(stderr, format, ap);
    fputs("\n", stderr);
    va_end(ap);
    exit(1);
}

/* Parses "name=value".  Ends the program after a message if it is something else. */
static void take(const char *text)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    char *end;
    int i = 0;

    while (i < NSYS0 &&
           (strlen(sys0[i].name) != length || strncmp(sys0[i].name, text, length) != 0))
        i++;
    if (i == NSYS0)
        refuse("sys0 has no attribute %.*s; it has maxpout and minpout", (int)length, text);
    if (equals == NULL || equals[1] < '0' || equals[1] > '9')
        refuse("%s: write %s=number", text, sys0[i].name);
    errno = 0;
    value[i] = strtoull(equals + 1, &end, 10);
    if (errno != 0 || *end != '\0')
        refuse("%s: write %s=number", text, sys0[i].name);
    given[i] = true;
}

int main(int argc, char **argv)
{
    struct hr_tunable var[NSYS0];
    const char *device = NULL;
    int opt;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "l:a:")) != -1) {
        if (opt == 'l')
            device = optarg;
        else if (opt == 'a')
            take(optarg);
        else
            usage();
    }
    if (device == NULL || optind != argc || !(given[MAXPOUT] || given[MINPOUT]))
        usage();
    if (strcmp(device, "sys0") != 0)
        refuse("no device %s; there is sys0", device);
    for (int i = 0; i < NSYS0; i++) {
        if (hr_tunable_get(sys0[i].name, &var[i]) != 0)
            refuse("%s: %s", sys0[i].name, hr_strerror(errno));
        value[i] = given[i] ? value[i] : var[i].value;
        if (value[i] < var[i].least || value[i] > var[i].greatest)
            refuse("%s=%llu: allowed are %llu to %llu", sys0[i].name, value[i],
                   (unsigned long long)var[i].least, (unsigned long long)var[i].greatest);
    }
    if (value[MAXPOUT] != 0 && value[MINPOUT] >= value[MAXPOUT])
        refuse("minpout=%llu is not below maxpout=%llu", value[MINPOUT], value[MAXPOUT]);
    for (int i = 0; i < NSYS0; i++) {
        var[i].value = value[i];
        if (given[i] && hr_tunable_set(sys0[i].name, &var[i]) != 0)
            refuse("%s: %s", sys0[i].name, hr_strerror(errno));
    }
    printf("sys0 changed\n");
    return 0;
}
