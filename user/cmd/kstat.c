// SPDX-License-Identifier: MIT
/*
 * kstat.c - prints kernel statistics.
 *
 * THEORY      A selection is four shell patterns: module, instance, name, statistic.  They come from -m -i -n -s, or
 *             from an operand `module:instance:name:statistic` whose parts may be empty.  Every statistic of Homeroom
 *             has the class misc.
 * SEE ALSO    docs/userland.md; Solaris kstat(1M)
 */
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

enum { MODULE, INSTANCE, NAME, STATISTIC, NPARTS };
#define MAX_SELECTIONS 32

typedef const char *selection[NPARTS]; /* NULL: anything */

static bool parsable, list_names, quiet;
static selection chosen[MAX_SELECTIONS];
static int nchosen;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    kstat - print kernel statistics\n"
    "\n"
    "SYNOPSIS\n"
    "    kstat [-lpq] [-m module] [-i instance] [-n name] [-s statistic]\n"
    "            [interval [count]]\n"
    "    kstat [-lpq] module:instance:name:statistic ... [interval [count]]\n"
    "\n"
    "DESCRIPTION\n"
    "    A statistic is named by four parts.  Each part of a selection is a\n"
    "    pattern of the shell, and an empty part fits everything.  Root sets the\n"
    "    counters of a kstat to zero by writing its first three parts to\n"
    "    /dev/kstat.\n"
    "\n"
    "OPTIONS\n"
    "    -i instance   this instance\n"
    "    -l            names only\n"
    "    -m module     this module\n"
    "    -n name       this name\n"
    "    -p            one statistic on a line, for programs\n"
    "    -q            print nothing: the status says whether there are any\n"
    "    -s statistic  this statistic\n"
    "\n"
    "EXAMPLES\n"
    "    kstat -p lgrp:::'pages free'\n"
    "    echo lgrp:0:lgrp0 > /dev/kstat\n"
    "\n"
    "EXIT STATUS\n"
    "    0 something was selected, 1 nothing was, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    mdb, vmstat, docs/trace.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static bool matches_one(const struct hr_kstat *k, const selection sel)
{
    char instance[16];
    const char *part[NPARTS] = {k->module, instance, k->name, k->statistic};

    snprintf(instance, sizeof instance, "%d", k->instance);
    for (int i = 0; i < NPARTS; i++)
        if (sel[i] != NULL && sel[i][0] != '\0' && fnmatch(sel[i], part[i], 0) != 0)
            return false;
    return true;
}

/* Whether one of the selections matches; without selections all statistics match. */
static bool matches(const struct hr_kstat *k)
{
    for (int i = 0; i < nchosen; i++)
        if (matches_one(k, chosen[i]))
            return true;
    return nchosen == 0;
}

static bool same_kstat(const struct hr_kstat *a, const struct hr_kstat *b)
{
    return strcmp(a->module, b->module) == 0 && a->instance == b->instance &&
           strcmp(a->name, b->name) == 0;
}

static void print_parsable(const struct hr_kstat *k)
{
    printf("%s:%d:%s:%s", k->module, k->instance, k->name, k->statistic);
    if (list_names)
        printf("\n");
    else
        printf("\t%s\n", k->value);
}

/* Solaris's default layout: a heading for each kstat, then names and values. */
static void print_default(const struct hr_kstat *k, bool first_of_kstat)
{
    if (first_of_kstat) {
        printf("module: %-30.30s  instance: %-6d\n", k->module, k->instance);
        printf("name:   %-30.30s  class:    %-.30s\n", k->name, "misc");
    }
    printf("\t%-30s  %s\n", k->statistic, k->value);
}

/* Prints one sample.  Returns the number of statistics printed; -1 after a message. */
static long sample(void)
{
    struct hr_kstat *list;
    long n = hr_kstat_read(&list), shown = 0, last = -1;

    if (n < 0) {
        hr_perror("kstat", "/dev/kstat");
        return -1;
    }
    for (long i = 0; i < n; i++) {
        if (!matches(&list[i]))
            continue;
        shown++;
        if (quiet)
            continue;
        if (parsable || list_names) {
            print_parsable(&list[i]);
            continue;
        }
        if (last >= 0 && !same_kstat(&list[last], &list[i]))
            printf("\n");
        print_default(&list[i], last < 0 || !same_kstat(&list[last], &list[i]));
        last = i;
    }
    if (last >= 0)
        printf("\n");
    free(list);
    fflush(stdout);
    return shown;
}

static void select_operand(char *operand)
{
    if (nchosen == MAX_SELECTIONS) {
        fprintf(stderr, "kstat: there may be %d selections\n", MAX_SELECTIONS);
        exit(2);
    }
    for (int i = 0; i < NPARTS; i++)
        chosen[nchosen][i] = strsep(&operand, ":");
    nchosen++;
    if (operand != NULL) {
        fprintf(stderr,
                "kstat: ':%s': a selection has four parts, module:instance:name:statistic\n",
                operand);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    selection by_option = {NULL};
    struct hr_stat_args args;
    int opt;
    long shown;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "lpqm:i:n:s:")) != -1) {
        switch (opt) {
        case 'l':
            list_names = true;
            break;
        case 'p':
            parsable = true;
            break;
        case 'q':
            quiet = true;
            break;
        case 'm':
            by_option[MODULE] = optarg;
            break;
        case 'i':
            by_option[INSTANCE] = optarg;
            break;
        case 'n':
            by_option[NAME] = optarg;
            break;
        case 's':
            by_option[STATISTIC] = optarg;
            break;
        default:
            usage();
        }
    }
    if (by_option[MODULE] != NULL || by_option[INSTANCE] != NULL || by_option[NAME] != NULL ||
        by_option[STATISTIC] != NULL)
        memcpy(chosen[nchosen++], by_option, sizeof by_option);
    if (hr_stat_args("kstat", argv + optind, true, &args) != 0)
        usage();
    for (int i = 0; i < args.nnames; i++)
        select_operand(args.names[i]);
    shown = sample();
    if (shown == 0 && !quiet)
        fprintf(stderr, "kstat: no statistic is selected (kstat -l lists them)\n");
    while (shown > 0 && --args.count != 0) {
        sleep((unsigned)args.interval);
        shown = sample();
    }
    return shown <= 0;
}
