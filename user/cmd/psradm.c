// SPDX-License-Identifier: MIT
/*
 * psradm.c - takes CPUs off-line, brings them on-line, or keeps interrupts away from them.
 *
 * THEORY      The program calls p_online(2) for each CPU, after a check that all operands name CPUs: 3, or 4-7.  If a
 *             CPU cannot be changed, it prints the reason and goes on with the others.  With -a this is no error,
 *             because "all" means as many as possible.
 * SEE ALSO    psrinfo; user/include/sys/processor.h for the reasons of EBUSY
 */
#include <sys/processor.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

static bool all, verbose, forced;
static int wanted; /* P_ONLINE, P_OFFLINE or P_NOINTR; 0 until an option sets it */

static const char help[] HR_MANUAL =
    "NAME\n"
    "    psradm - change the states of CPUs\n"
    "\n"
    "SYNOPSIS\n"
    "    psradm -f|-i|-n [-vF] processor_id ...\n"
    "    psradm -a -f|-i|-n [-vF]\n"
    "\n"
    "DESCRIPTION\n"
    "    Operands are CPUs and ranges (4-7), and are checked before anything is\n"
    "    changed.  A CPU that cannot be changed is reported and the others are\n"
    "    changed.  The last CPU that takes threads cannot be taken off-line.\n"
    "\n"
    "OPTIONS\n"
    "    -a            all CPUs, as many as possible\n"
    "    -f            off-line: no threads, no interrupts of devices\n"
    "    -F            unbind threads first\n"
    "    -i            no-intr: threads, but no interrupts of devices\n"
    "    -n            on-line\n"
    "    -v            print what was changed\n"
    "\n"
    "EXAMPLES\n"
    "    psradm -fv 3\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 a CPU could not be changed, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    psrinfo, psrset, intrstat, docs/psets.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static void report(int cpu, int before)
{
    const char *action = wanted == P_OFFLINE  ? "taken off-line"
                         : wanted == P_ONLINE ? "brought on-line"
                                              : "set to no-intr";
    const char *state = wanted == P_OFFLINE  ? PS_OFFLINE
                        : wanted == P_ONLINE ? PS_ONLINE
                                             : PS_NOINTR;

    if (before == wanted)
        printf("processor %d already %s.\n", cpu, state);
    else
        printf("processor %d %s.\n", cpu, action);
}

/* Changes one CPU.  Returns 0; -1 after a message. */
static int change(int cpu)
{
    int before = p_online(cpu, wanted | (forced && wanted == P_OFFLINE ? P_FORCED : 0));

    if (before < 0) {
        char what[32];

        if (all && errno == EBUSY)
            return 0;
        snprintf(what, sizeof what, "%d", cpu);
        if (errno == EINVAL)
            return hr_no_cpu("psradm", what);
        snprintf(what, sizeof what, "processor %d", cpu);
        hr_perror("psradm", what);
        return -1;
    }
    if (verbose)
        report(cpu, before);
    return 0;
}

static void want(int state)
{
    if (wanted != 0)
        usage();
    wanted = state;
}

int main(int argc, char **argv)
{
    int opt, cpu, last, failed = 0;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "afinvF")) != -1) {
        switch (opt) {
        case 'a':
            all = true;
            break;
        case 'f':
            want(P_OFFLINE);
            break;
        case 'i':
            want(P_NOINTR);
            break;
        case 'n':
            want(P_ONLINE);
            break;
        case 'v':
            verbose = true;
            break;
        case 'F':
            forced = true;
            break;
        default:
            usage();
        }
    }
    if (wanted == 0 || all != (optind == argc))
        usage();
    for (cpu = 0; all && cpu < HR_MAXCPU; cpu++)
        if (p_online(cpu, P_STATUS) >= 0)
            failed |= change(cpu);
    for (int i = optind; i < argc; i++) /* all operands are checked before the first change */
        if (hr_parse_cpus(argv[i], &cpu, &last) != 0) {
            hr_no_cpu("psradm", argv[i]);
            return 2;
        } else if (hr_cpus_exist("psradm", argv[i], cpu, last) != 0) {
            return 2;
        }
    for (int i = optind; i < argc; i++)
        for (hr_parse_cpus(argv[i], &cpu, &last); cpu <= last && cpu < HR_MAXCPU; cpu++)
            if (p_online(cpu, P_STATUS) >= 0) /* of a range, only the CPUs that exist */
                failed |= change(cpu) != 0;
    return failed != 0;
}
