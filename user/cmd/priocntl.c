// SPDX-License-Identifier: MIT
/*
 * priocntl.c - shows or sets the scheduling class and priority of processes, or runs a command in a class.
 *
 * SEE ALSO    docs/dispatcher.md for the classes; Solaris priocntl(1)
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

struct class_fact {
    int cls;
    const char *title, *column;
    int low, high; /* the range of user priorities */
};

static const struct class_fact fact[] = {
    {HR_CLASS_TS, "TIME SHARING", "TSUPRI", -60, 60},
    {HR_CLASS_IA, "INTERACTIVE CLASS", "IAUPRI", -60, 60},
    {HR_CLASS_FX, "FIXED PRIORITY", "FXUPRI", 0, 60},
    {HR_CLASS_FSS, "FAIR SHARE", "FSSUPRI", -60, 60},
    {HR_CLASS_RT, "REAL TIME", "RTPRI", 0, 59},
};
#define NFACTS ((int)(sizeof fact / sizeof fact[0]))

static const char help[] HR_MANUAL =
    "NAME\n"
    "    priocntl - show or set scheduling classes and priorities\n"
    "\n"
    "SYNOPSIS\n"
    "    priocntl -l\n"
    "    priocntl -d [-i pid] [pid ...]\n"
    "    priocntl -s [-c class] [-p priority] [-i pid] pid ...\n"
    "    priocntl -e [-c class] [-p priority] command [argument ...]\n"
    "\n"
    "DESCRIPTION\n"
    "    class is TS (time sharing), IA (interactive), FX (fixed priority), FSS\n"
    "    (fair share) or RT (real time).  Without -c the class stays as it is;\n"
    "    without -p a new class begins with priority 0.  RT and higher priorities\n"
    "    are for root.\n"
    "\n"
    "OPTIONS\n"
    "    -c class      the class\n"
    "    -d            show class and priority\n"
    "    -e            run a command with them\n"
    "    -i pid        operands are processes; there is nothing else\n"
    "    -l            list the classes and their priorities\n"
    "    -p priority   the user priority\n"
    "    -s            set them\n"
    "\n"
    "EXAMPLES\n"
    "    priocntl -e -c FX -p 20 cmd\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 something failed, 2 wrong command line; -e: that of the\n"
    "    command, 127 if it cannot be run\n"
    "\n"
    "SEE ALSO\n"
    "    psrset, docs/dispatcher.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static int list_classes(void)
{
    printf("CONFIGURED CLASSES\n==================\n\nSYS (System Class)\n");
    for (int i = 0; i < NFACTS; i++)
        printf("\n%s (%s)\n\tConfigured %s User Priority Range: %d through %d\n",
               hr_class_name(fact[i].cls), fact[i].title, hr_class_name(fact[i].cls), fact[i].low,
               fact[i].high);
    return 0;
}

/* Prints the reason in errno.  Returns 1. */
static int complain(int pid)
{
    char what[32];

    snprintf(what, sizeof what, "process %d", pid);
    hr_perror("priocntl", what);
    return 1;
}

/* Prints the given processes, class by class. */
static int display(const int *pid, int n)
{
    int status = 0;

    for (int c = 0; c < NFACTS; c++) {
        bool titled = false;

        for (int i = 0; i < n; i++) {
            struct hr_pcinfo info;

            if (hr_priocntl(HR_P_PID, (id_t)pid[i], PC_GET, &info) != 0) {
                if (c == 0)
                    status |= complain(pid[i]);
                continue;
            }
            if (info.cls != fact[c].cls)
                continue;
            if (!titled)
                printf("%s PROCESSES:\n    PID    %7s\n", fact[c].title, fact[c].column);
            titled = true;
            printf("%7d    %7d\n", pid[i], info.upri);
        }
    }
    return status;
}

/* Parses a user priority of class `cls`.  Returns 0; 1 after a message. */
static int parse_priority(const char *text, int cls, int *upri)
{
    int c = 0;

    while (c < NFACTS && fact[c].cls != cls)
        c++;
    if (c == NFACTS || hr_parse_int(text, fact[c].low, fact[c].high, upri) == 0)
        return 0;
    fprintf(stderr, "priocntl: %s priorities are %d to %d\n", hr_class_name(cls), fact[c].low,
            fact[c].high);
    return 1;
}

/*
 * Sets the class (-1: leaves it) and the priority (NULL: leaves it, or 0 in a new class).  Returns 0; 1 after a
 * message.
 */
static int set(int pid, int cls, const char *priority)
{
    struct hr_pcinfo info;

    if (hr_priocntl(HR_P_PID, (id_t)pid, PC_GET, &info) != 0)
        return complain(pid);
    if (cls >= 0 && cls != info.cls) {
        info.cls = cls;
        info.upri = 0;
    }
    if (priority != NULL && parse_priority(priority, info.cls, &info.upri) != 0)
        return 1;
    return hr_priocntl(HR_P_PID, (id_t)pid, PC_SET, &info) != 0 ? complain(pid) : 0;
}

int main(int argc, char **argv)
{
    const char *priority = NULL;
    int opt, mode = 0, cls = -1, status = 0, npids = 0;
    int *pids;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "+ldsec:p:i:")) != -1) {
        if (opt == 'c' && (cls = hr_class_number(optarg)) < 0) {
            fprintf(stderr, "priocntl: %s: no such class; there are TS, IA, FX, FSS and RT\n",
                    optarg);
            return 1;
        } else if (opt == 'p') {
            priority = optarg;
        } else if (opt == 'i' && strcmp(optarg, "pid") != 0) {
            fprintf(stderr, "priocntl: -i %s: the only kind of id is pid\n", optarg);
            usage();
        } else if (opt == '?' || (strchr("ldse", opt) != NULL && mode != 0)) {
            usage();
        } else if (strchr("ldse", opt) != NULL) {
            mode = opt;
        }
    }
    if (mode == 'l' && optind == argc)
        return list_classes();
    if (mode == 'l')
        fprintf(stderr, "priocntl: %s: nothing comes after -l\n", argv[optind]);
    if (cls >= 0 && priority != NULL && parse_priority(priority, cls, &opt) != 0)
        return 1;
    if (mode == 'e' && optind < argc) {
        if (set(getpid(), cls, priority) != 0)
            return 1;
        execvp(argv[optind], argv + optind);
        hr_perror("priocntl", argv[optind]);
        return 127;
    }
    if ((mode != 'd' && mode != 's') || (mode == 's' && optind == argc))
        usage();
    if ((pids = calloc((size_t)argc, sizeof *pids)) == NULL)
        return 1;
    if (optind == argc)
        pids[npids++] = getpid();
    for (int i = optind; i < argc; i++)
        if (hr_parse_int(argv[i], 1, 1 << 30, &pids[npids++]) != 0) {
            fprintf(stderr, "priocntl: invalid process ID %s (ps lists the processes)\n", argv[i]);
            return 2;
        }
    if (mode == 'd')
        status = display(pids, npids);
    else
        for (int i = 0; i < npids; i++)
            status |= set(pids[i], cls, priority);
    free(pids);
    return status;
}
