// SPDX-License-Identifier: MIT
/* help.c - prints a program's manual page, or the part of it for a wrong command line. */
#include "help.h"

#include <stdlib.h>
#include <string.h>

static const char *const name_heading = "NAME\n    ", *const synopsis_heading = "\nSYNOPSIS\n";

enum { INDENT = 4 };

void hr_help(char **argv, const char *help)
{
    if (argv[0] == NULL || argv[1] == NULL || strcmp(argv[1], "--help") != 0)
        return;
    fputs(help, stdout);
    exit(fflush(stdout) != 0);
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
