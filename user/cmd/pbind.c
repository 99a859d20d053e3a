// SPDX-License-Identifier: MIT
/*
 * pbind.c - binds processes to a CPU, unbinds them, or prints their binding.
 *
 * SEE ALSO    user/include/sys/processor.h: binding to another board moves the home there
 */
#include <sys/processor.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    pbind - bind processes to a CPU\n"
    "\n"
    "SYNOPSIS\n"
    "    pbind -b processor_id pid ...\n"
    "    pbind -u pid ...\n"
    "    pbind [-q] [pid ...]\n"
    "\n"
    "DESCRIPTION\n"
    "    A process that is bound to a CPU runs on no other, and its home moves to\n"
    "    the board of that CPU.  Without operands the processes that are bound are\n"
    "    listed.\n"
    "\n"
    "OPTIONS\n"
    "    -b cpu        bind to this CPU\n"
    "    -q            show the binding\n"
    "    -u            unbind\n"
    "\n"
    "EXAMPLES\n"
    "    pbind -b 3 $$\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 something failed, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    psrset, plgrp, docs/dispatcher.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static const char *binding(int cpu, char *buf, size_t size)
{
    if (cpu == PBIND_NONE)
        snprintf(buf, size, "not bound");
    else
        snprintf(buf, size, "%d", cpu);
    return buf;
}

/* Binds one process, or with PBIND_QUERY prints its binding.  Returns 0; 1 after a message. */
static int act(int pid, int cpu)
{
    char a[24], b[24], what[64];
    int old;

    if (processor_bind(P_PID, (id_t)pid, cpu, &old) != 0) {
        snprintf(what, sizeof what, "cannot %s pid %d",
                 cpu == PBIND_QUERY  ? "query"
                 : cpu == PBIND_NONE ? "unbind"
                                     : "bind",
                 pid);
        hr_perror("pbind", what);
        return 1;
    }
    if (cpu == PBIND_QUERY)
        printf("process id %d: %s\n", pid, binding(old, a, sizeof a));
    else
        printf("process id %d: was %s, now %s\n", pid, binding(old, a, sizeof a),
               binding(cpu, b, sizeof b));
    return 0;
}

/* A query without operands lists the processes that are bound. */
static int list_bound(void)
{
    DIR *dir = opendir(hr_path("/proc"));
    struct dirent *entry;

    if (dir == NULL) {
        hr_perror("pbind", "cannot read /proc");
        return 1;
    }
    while ((entry = readdir(dir)) != NULL) {
        int pid, cpu;

        if (hr_parse_int(entry->d_name, 1, 1 << 30, &pid) == 0 &&
            processor_bind(P_PID, (id_t)pid, PBIND_QUERY, &cpu) == 0 && cpu != PBIND_NONE)
            printf("process id %d: %d\n", pid, cpu);
    }
    closedir(dir);
    return 0;
}

/* Checks that processes can be bound to `cpu`.  Returns 0; -1 after a message. */
static int check_cpu(int cpu)
{
    char text[16];
    int state = p_online(cpu, P_STATUS);

    snprintf(text, sizeof text, "%d", cpu);
    if (state < 0)
        return hr_no_cpu("pbind", text);
    if (state != P_OFFLINE)
        return 0;
    fprintf(stderr,
            "pbind: processor %d: Invalid argument (it is off-line: psradm -n %d brings it back)\n",
            cpu, cpu);
    return -1;
}

int main(int argc, char **argv)
{
    int opt, pid, status = 0, modes = 0, cpu = PBIND_QUERY;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "b:uq")) != -1) {
        modes++;
        if (opt == 'u')
            cpu = PBIND_NONE;
        else if (opt == 'b' && hr_parse_int(optarg, 0, 1 << 30, &cpu) != 0) {
            fprintf(stderr, "pbind: invalid processor ID %s (psrinfo lists the processors)\n",
                    optarg);
            return 2;
        } else if (opt == '?')
            usage();
    }
    if (modes > 1 || (cpu != PBIND_QUERY && optind == argc))
        usage();
    if (optind == argc)
        return list_bound();
    for (int i = optind; i < argc; i++)
        if (hr_parse_int(argv[i], 1, 1 << 30, &pid) != 0) {
            fprintf(stderr, "pbind: invalid process ID %s (ps lists the processes)\n", argv[i]);
            return 2;
        }
    if (cpu >= 0 && check_cpu(cpu) != 0)
        return 1;
    for (int i = optind; i < argc; i++)
        status |= hr_parse_int(argv[i], 1, 1 << 30, &pid) != 0 || act(pid, cpu) != 0;
    return status;
}
