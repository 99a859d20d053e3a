// SPDX-License-Identifier: MIT
/*
 * plgrp.c - shows or changes the homes and lgroup affinities of threads.
 *
 * THEORY      All modes go through the same list of pid/lwp.  For each LWP the program reads the present state, changes
 *             it if requested, reads it again, and prints one row with the old and the new state.  A home is changed as
 *             on Solaris: the lgroup gets the greatest affinity.
 * SEE ALSO    docs/lgroups.md; Solaris plgrp(1)
 */
#include <sys/lgrp_user.h>

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

enum { EXIT_USAGE = 1, EXIT_PARTIAL = 2 };
enum mode { SHOW_HOME, SHOW_AFFINITY, SET_HOME, SET_AFFINITY };

#define MAX_LWPS 4096
#define KEEP     (-1) /* in wanted[]: the request does not name this lgroup */

static enum mode mode = SHOW_HOME;
static lgrp_cookie_t cookie;
static int wanted[HR_MAXLGRP]; /* the requested affinity for each lgroup, or KEEP */
static int nlgrps;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    plgrp - show or change the homes and affinities of threads\n"
    "\n"
    "SYNOPSIS\n"
    "    plgrp [-F] [-h] pid[/lwps] ...\n"
    "    plgrp [-F] -a lgroup_list pid[/lwps] ...\n"
    "    plgrp [-F] -H lgroup_list pid[/lwps] ...\n"
    "    plgrp [-F] -A lgroup_list/none|weak|strong[,...] pid[/lwps] ...\n"
    "\n"
    "DESCRIPTION\n"
    "    A row for each thread (LWP) has its home, and where something is changed\n"
    "    the old and the new value.  lwps are numbers and ranges: 411/2,4-8.\n"
    "    lgroup_list has ids and ranges with commas between them, or is all, root\n"
    "    or leaves.\n"
    "\n"
    "OPTIONS\n"
    "    -a lgroups    show the affinities for these lgroups\n"
    "    -A lgroups/affinity\n"
    "                  set affinities: none, weak or strong\n"
    "    -F            no effect; on Solaris it takes the process over\n"
    "    -h            show homes, as without options\n"
    "    -H lgroups    move the home, by a strong affinity\n"
    "\n"
    "EXAMPLES\n"
    "    plgrp $$\n"
    "    plgrp -H 1 411/2\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 wrong command line, 2 something failed\n"
    "\n"
    "SEE ALSO\n"
    "    lgrpinfo, pmap, pbind, docs/lgroups.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(EXIT_USAGE);
}

static const char *affinity_name(int affinity)
{
    return affinity == LGRP_AFF_STRONG ? "strong" : affinity == LGRP_AFF_WEAK ? "weak" : "none";
}

static int affinity_number(const char *name)
{
    for (int a = 0; a <= LGRP_AFF_STRONG; a++)
        if ((a == LGRP_AFF_NONE || a == LGRP_AFF_WEAK || a == LGRP_AFF_STRONG) && name != NULL &&
            strcmp(name, affinity_name(a)) == 0)
            return a;
    fprintf(stderr, "plgrp: '%s': an affinity is none, weak or strong\n", name != NULL ? name : "");
    exit(EXIT_USAGE);
}

/* Gives each lgroup that one word of an lgroup list names ("3", "0-2", "all", ...) the value `value`. */
static void request(char *word, int value)
{
    char first[16], *dash = strchr(word, '-');
    int low, high;

    if (strcmp(word, "all") == 0 || strcmp(word, "leaves") == 0 || strcmp(word, "root") == 0) {
        low = 0; /* the topology is flat: the root contains all leaves */
        high = nlgrps - 1;
    } else {
        snprintf(first, sizeof first, "%.15s", word);
        first[strcspn(first, "-")] = '\0';
        if (hr_parse_int(first, 0, nlgrps - 1, &low) != 0 ||
            hr_parse_int(dash != NULL ? dash + 1 : word, low, nlgrps - 1, &high) != 0) {
            fprintf(stderr, "plgrp: no such lgroup: '%s' (lgrpinfo -I lists them)\n", word);
            exit(EXIT_USAGE);
        }
    }
    for (int id = low; id <= high; id++)
        wanted[id] = value;
}

/*
 * Parses a list: "0-2,5" if `affinity` is given, or "0,2/strong,1/weak", where each part ends with its affinity.  In
 * the second form the words before a slash stay in the text until their affinity is known.
 */
static void request_list(char *list, int affinity)
{
    char *word, *start = list;

    if (affinity != KEEP) {
        while ((word = strsep(&list, ",")) != NULL)
            request(word, affinity);
        return;
    }
    while (start != NULL) {
        char *slash = strchr(start, '/'), *ids = start;

        if (slash == NULL) {
            fprintf(stderr, "plgrp: '%s': write lgroups and their affinity, as 0,1/strong\n",
                    start);
            exit(EXIT_USAGE);
        }
        *slash = '\0';
        start = slash + 1;
        affinity = affinity_number(strsep(&start, ","));
        while ((word = strsep(&ids, ",")) != NULL)
            request(word, affinity);
    }
}

static int get_affinity(int pid, int lwp, int lgrp)
{
    return (int)hr_call(SYS_lgrp, LGRP_OP_LWP_GET, pid, lwp, lgrp, 0, 0);
}

/* Writes the requested lgroups with their affinities, grouped: "0,2/none,1/weak". */
static void affinity_text(char *buf, size_t size, const int *now)
{
    static const int order[] = {LGRP_AFF_STRONG, LGRP_AFF_WEAK, LGRP_AFF_NONE};
    size_t used = 0;

    buf[0] = '\0';
    for (size_t o = 0; o < sizeof order / sizeof order[0]; o++) {
        int ids[HR_MAXLGRP], n = 0;
        char names[256];

        for (int id = 0; id < nlgrps; id++)
            if (wanted[id] != KEEP && now[id] == order[o])
                ids[n++] = id;
        if (n == 0 || used >= size)
            continue;
        hr_ranges(names, sizeof names, ids, (size_t)n);
        for (char *c = names; *c != '\0'; c++)
            if (*c == ' ')
                *c = ',';
        used += (size_t)snprintf(buf + used, size - used, "%s%s/%s", used > 0 ? "," : "", names,
                                 affinity_name(order[o]));
    }
}

static int home_of(int pid, int lwp)
{
    return (int)hr_call(SYS_lgrp, LGRP_OP_LWP_HOME, pid, lwp, 0, 0, 0);
}

static void read_affinities(int pid, int lwp, int *now)
{
    for (int id = 0; id < nlgrps; id++)
        now[id] = wanted[id] != KEEP ? get_affinity(pid, lwp, id) : 0;
}

static void print_header(void)
{
    printf("%8s/%-8s %s\n", "PID", "LWPID",
           mode == SHOW_AFFINITY  ? "HOME  AFFINITY"
           : mode == SET_AFFINITY ? "HOME       AFFINITY"
                                  : "HOME");
}

/* Shows one LWP, or changes it and shows the change.  Returns 0; -1 after a message. */
static int handle(int pid, int lwp)
{
    int before = home_of(pid, lwp), after, old[HR_MAXLGRP], new[HR_MAXLGRP];
    char what[64], homes[32], was[512], is[512];

    if (before < 0)
        goto failed;
    read_affinities(pid, lwp, old);
    if (mode == SET_HOME || mode == SET_AFFINITY)
        for (int id = 0; id < nlgrps; id++)
            if (wanted[id] != KEEP &&
                hr_call(SYS_lgrp, LGRP_OP_LWP_SET, pid, lwp, id, wanted[id], 0) < 0)
                goto failed;
    after = home_of(pid, lwp);
    read_affinities(pid, lwp, new);
    snprintf(homes, sizeof homes, "%d => %d", before, after);
    affinity_text(was, sizeof was, old);
    affinity_text(is, sizeof is, new);
    printf("%8d/%-8d ", pid, lwp);
    if (mode == SHOW_HOME)
        printf("%d\n", before);
    else if (mode == SHOW_AFFINITY)
        printf("%-5d %s\n", before, was);
    else if (mode == SET_HOME)
        printf("%s\n", homes);
    else
        printf("%-10s %s => %s\n", homes, was, is);
    return 0;
failed:
    snprintf(what, sizeof what, "%d/%d", pid, lwp);
    hr_perror("plgrp", what);
    return -1;
}

/* Whether `lwp` is in a list such as "2,3,4-8,-4,4-" (NULL: every LWP). */
static bool in_list(const char *list, int lwp)
{
    while (list != NULL && *list != '\0') {
        char *end;
        long low = isdigit((unsigned char)*list) ? strtol(list, &end, 10) : (end = (char *)list, 0);
        long high = low;

        if (*end == '-')
            high = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10)
                                                  : (end++, (long)MAX_LWPS);
        if (lwp >= low && lwp <= high)
            return true;
        if (*end != ',')
            return false;
        list = end + 1;
    }
    return list == NULL;
}

/* Handles an operand, "pid" or "pid/lwps".  Returns 0; -1 after a message. */
static int handle_operand(char *operand)
{
    static int lwps[MAX_LWPS];
    char *list = strchr(operand, '/');
    int pid, n, status = 0, done = 0;

    if (list != NULL)
        *list++ = '\0';
    if (hr_parse_int(operand, 1, 1 << 30, &pid) != 0)
        return -1;
    if ((n = hr_lwps(pid, lwps, MAX_LWPS)) < 0) {
        hr_perror("plgrp", operand);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        if (in_list(list, lwps[i])) {
            done++;
            if (handle(pid, lwps[i]) != 0)
                status = -1;
        }
    }
    if (done == 0) {
        fprintf(stderr, "plgrp: %s/%s: no such LWP\n", operand, list != NULL ? list : "");
        status = -1;
    }
    return status;
}

/* Ends the program after a message if the operand is neither pid nor pid/lwps. */
static void check_operand(const char *operand)
{
    char copy[16];
    int pid;

    snprintf(copy, sizeof copy, "%.*s", (int)strcspn(operand, "/"), operand);
    if (hr_parse_int(copy, 1, 1 << 30, &pid) == 0)
        return;
    fprintf(stderr, "plgrp: invalid process ID %s (ps lists the processes)\n", operand);
    exit(EXIT_USAGE);
}

static void set_mode(enum mode new_mode, char *list, int affinity)
{
    if (mode != SHOW_HOME)
        usage();
    mode = new_mode;
    request_list(list, affinity);
}

int main(int argc, char **argv)
{
    int opt, failed = 0;

    hr_help(argv, help);
    if ((cookie = lgrp_init(LGRP_VIEW_OS)) == LGRP_COOKIE_NONE) {
        hr_perror("plgrp", "no lgroup information");
        return EXIT_USAGE;
    }
    nlgrps = lgrp_nlgrps(cookie);
    for (int id = 0; id < HR_MAXLGRP; id++)
        wanted[id] = KEEP;
    while ((opt = getopt(argc, argv, "Fha:H:A:")) != -1) {
        switch (opt) {
        case 'F':
            /* Solaris: takes control from another process; not needed here, as only calls are used */
        case 'h':
            break;
        case 'a':
            set_mode(SHOW_AFFINITY, optarg, LGRP_AFF_NONE);
            break;
        case 'H':
            set_mode(SET_HOME, optarg, LGRP_AFF_STRONG);
            break;
        case 'A':
            set_mode(SET_AFFINITY, optarg, KEEP);
            break;
        default:
            usage();
        }
    }
    if (optind == argc)
        usage();
    for (int i = optind; i < argc; i++)
        check_operand(argv[i]);
    print_header();
    for (int i = optind; i < argc; i++)
        failed |= handle_operand(argv[i]);
    return failed ? EXIT_PARTIAL : 0;
}
