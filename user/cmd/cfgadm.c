// SPDX-License-Identifier: MIT
/*
 * cfgadm.c - shows the LPA registers of a CPU, as the MPO white paper does to find out whether the hardware has MPO.
 *
 * THEORY      The "local physical address" registers of a CPU hold the range of the memory on its own board.  `cfgadm
 *             -x passthru -o showlpa SB1::cpu0` prints them for CPU 0 of board 1.  Board n is lgroup n.  A port number
 *             is 32 * board + CPU, as on the Sun Fire 15K.  If all are zero, the hardware has no MPO: the machine has
 *             one lgroup.
 * SEE ALSO    white paper, Appendix A, "Detecting MPO Status", step 3
 */
#include <sys/lgrp_user.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

#define PORTS_PER_BOARD 32

static const char help[] HR_MANUAL =
    "NAME\n"
    "    cfgadm - show the range of memory on the board of a CPU\n"
    "\n"
    "SYNOPSIS\n"
    "    cfgadm -x passthru -o showlpa SB<board>::cpu<number>\n"
    "\n"
    "DESCRIPTION\n"
    "    One question of Solaris's cfgadm is answered: what the LPA (\"local\n"
    "    physical address\") registers of a CPU hold.  They hold the base and the\n"
    "    bound of the memory on the CPU's own board.  Board n is lgroup n, and a\n"
    "    port number is 32 * board + CPU, as on the Sun Fire 15K.  Zero in both is\n"
    "    a machine with one lgroup.\n"
    "\n"
    "OPTIONS\n"
    "    -x passthru   the function; there is no other\n"
    "    -o showlpa    the option of the function; there is no other\n"
    "\n"
    "EXAMPLES\n"
    "    cfgadm -x passthru -o showlpa SB1::cpu0\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 there is no such CPU, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    lgrpinfo, psrinfo, docs/lgroups.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

/* Prints the registers of one attachment point.  Returns the exit status. */
static int show(const char *ap_id)
{
    lgrp_cookie_t cookie = lgrp_init(LGRP_VIEW_OS);
    uint64_t base = 0, bound = 0;
    int board, cpu, end = 0, ncpus;

    if (sscanf(ap_id, "SB%d::cpu%d%n", &board, &cpu, &end) != 2 || ap_id[end] != '\0' ||
        board < 0 || cpu < 0) {
        fprintf(stderr, "cfgadm: '%s' is no attachment point\n", ap_id);
        usage();
    }
    if (cookie == LGRP_COOKIE_NONE) {
        hr_perror("cfgadm", "no lgroup information");
        return 1;
    }
    if (lgrp_nlgrps(cookie) == 1) {
        /* with one lgroup boards are not visible: every name is valid, and its registers are zero */
        ncpus = PORTS_PER_BOARD;
    } else {
        ncpus = lgrp_cpus(cookie, board, NULL, 0, LGRP_CONTENT_DIRECT);
        if (board == lgrp_root(cookie) || ncpus < 0 || cpu >= ncpus ||
            lgrp_phys_range(cookie, board, &base, &bound) != 0)
            ncpus = -1;
    }
    lgrp_fini(cookie);
    if (ncpus < 0) {
        fprintf(stderr,
                "cfgadm: Attachment point not found: %s (lgrpinfo -c lists boards and CPUs)\n",
                ap_id);
        return 1;
    }
    printf("showlpa %s portid %d, base pa %" PRIx64 ", bound pa %" PRIx64 "\n", ap_id,
           board * PORTS_PER_BOARD + cpu, base, bound);
    return 0;
}

int main(int argc, char **argv)
{
    const char *function = "", *option = "";
    int opt, status = 0;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "x:o:")) != -1) {
        if (opt == 'x')
            function = optarg;
        else if (opt == 'o')
            option = optarg;
        else
            usage();
    }
    if (strcmp(function, "passthru") != 0 || strcmp(option, "showlpa") != 0 || optind == argc) {
        fprintf(
            stderr,
            "cfgadm: -x %s -o %s: the only function is -x passthru -o showlpa, with attachment points\n",
            function, option);
        usage();
    }
    for (int i = optind; i < argc; i++)
        status |= show(argv[i]);
    return status;
}
