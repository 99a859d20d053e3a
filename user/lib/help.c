// SPDX-License-Identifier: MIT
/*
 * help.c - prints a program's manual page, or the part of it for a wrong command line; and reports at the end of the
 * program that its output could not be written.
 */
#include "help.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const name_heading = "NAME\n    ", *const synopsis_heading = "\nSYNOPSIS\n";

enum { INDENT = 4 };

static const char *page; /* of the program, which begins with its name */

/* Called when the program ends: if not all of the output could be written, prints why and makes the status 1. */
static void check_output(void)
{
    const char *name = page + strlen(name_heading);

    errno = 0; /* if an earlier write has failed, its reason is not known any more */
    fflush(NULL);
    if (!ferror(stdout))
        return;
    fprintf(stderr, "%.*s: standard output: %s\n", (int)strcspn(name, " "), name,
            errno != 0 ? strerror(errno) : "not all of it could be written");
    _exit(1);
}

void hr_help(char **argv, const char *help)
{
    page = help;
    atexit(check_output);
    if (argv[0] == NULL || argv[1] == NULL || strcmp(argv[1], "--help") != 0)
        return;
    fputs(help, stdout);
    exit(0);
}

void hr_synopsis(FILE *out, const char *help, const char *first, const char *others)
{
    const char *line = strstr(help, synopsis_heading) + strlen(synopsis_heading), *before = first;

    for (; *line == ' '; before = others) {
        size_t length = strcspn(line, "\n");

        fprintf(out, "%s%.*s\n", before, (int)length - INDENT, line + INDENT);
        line += length + 1;
    }
}

void hr_usage(const char *help)
{
    const char *name = help + strlen(name_heading);

    hr_synopsis(stderr, help, "usage: ", "       ");
    fprintf(stderr, "       %.*s --help tells more\n", (int)strcspn(name, " "), name);
}
