// SPDX-License-Identifier: MIT
/*
 * lgrpinfo.c - prints the lgroups: which are near each other, their CPUs, memory, load and latencies.
 *
 * THEORY      The options and the layout are Solaris's.  The topology is Solaris 9's: flat, and without a root of its
 *             own.  The operand "root" means the root that liblgrp makes up; the default output does not show it.  Load
 *             is a fraction of the lgroup: 1.00 means that every CPU is busy.
 * SEE ALSO    user/include/sys/lgrp_user.h, docs/lgroups.md
 */
#include <sys/lgrp_user.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

enum { EXIT_NOINFO = 1, EXIT_NOLGRP = 2, EXIT_USAGE = 3 };

#define FULL_LOAD 32767.0
#define NAME_SIZE 1024 /* bytes, enough for a list of all CPUs or lgroups */

static lgrp_cookie_t cookie;
static bool want_cpu, want_latency, want_load, want_memory, want_resources, want_topology;
static bool details; /* an option asks for details of each lgroup */
static bool ids_only, as_tree, as_table, to_children, to_parents;
static char unit; /* of memory sizes; 0: chosen for each number */

static const char help[] HR_MANUAL =
    "NAME\n"
    "    lgrpinfo - show the locality groups\n"
    "\n"
    "SYNOPSIS\n"
    "    lgrpinfo [-aceGlLmrt] [-u unit] [-C|-P] [lgrp] ...\n"
    "    lgrpinfo [-acelmrT] [-u unit] [lgrp] ...\n"
    "    lgrpinfo -I [-c] [-C|-P] [lgrp] ...\n"
    "    lgrpinfo -h\n"
    "\n"
    "DESCRIPTION\n"
    "    For each lgroup it prints children and parent, CPUs, memory, resources,\n"
    "    load (1.00: every CPU is busy) and latencies.  lgrp is an id, all, root,\n"
    "    leaves or intermediate.  The root is not a home: the library makes it up\n"
    "    as the parent of all lgroups.\n"
    "\n"
    "OPTIONS\n"
    "    -a            everything\n"
    "    -c            CPUs\n"
    "    -C            the children of the lgroups\n"
    "    -e            latencies\n"
    "    -G            the view of the system, not of the caller\n"
    "    -h            the usage\n"
    "    -I            ids only; with -c the CPUs of each\n"
    "    -l            load\n"
    "    -L            a table of latencies\n"
    "    -m            memory\n"
    "    -P            the parents of the lgroups\n"
    "    -r            resources\n"
    "    -t            children and parent\n"
    "    -T            a tree\n"
    "    -u unit       unit of memory: b, k, m, g, t, p or e\n"
    "\n"
    "EXAMPLES\n"
    "    lgrpinfo -c\n"
    "    lgrpinfo -m -u k 0\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 no information, 2 there is no such lgroup, 3 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    plgrp, pmap, psrinfo, docs/lgroups.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(EXIT_USAGE);
}

/* Solaris's rule "Numbers under 10 carry one decimal": 2.0G, 788M. */
static char *size_text(char *buf, size_t size, long long bytes)
{
    static const char units[] = "BKMGTPE";
    double value = (double)bytes;
    int u = 0;

    while (unit != 0 ? units[u] != unit : value >= 1024.0 && units[u + 1] != '\0') {
        value /= 1024.0;
        u++;
    }
    if (u == 0)
        snprintf(buf, size, "%lld", bytes);
    else
        snprintf(buf, size, "%.*f%c", value < 10.0 ? 1 : 0, value, units[u]);
    return buf;
}

static char *id_list(char *buf, size_t size, const lgrp_id_t *ids, int n)
{
    return n > 0 ? hr_ranges(buf, size, ids, (size_t)n) : strcpy(buf, "none");
}

static void print_topology(lgrp_id_t id, const char *margin)
{
    lgrp_id_t ids[HR_MAXLGRP];
    char buf[NAME_SIZE];

    printf("%sChildren: %s", margin,
           id_list(buf, sizeof buf, ids, lgrp_children(cookie, id, ids, HR_MAXLGRP)));
    if (id != lgrp_root(cookie))
        printf(", Parent: none");
    printf("\n");
}

static void print_cpus(lgrp_id_t id, const char *margin)
{
    processorid_t cpus[HR_MAXCPU];
    char buf[NAME_SIZE];
    int n = lgrp_cpus(cookie, id, cpus, HR_MAXCPU, LGRP_CONTENT_ALL);

    if (n == 0)
        strcpy(buf, "none");
    else
        hr_ranges(buf, sizeof buf, cpus, (size_t)n);
    printf("%s%s: %s\n", margin, n == 1 ? "CPU" : "CPUs", buf);
}

static void print_memory(lgrp_id_t id, const char *margin)
{
    long long installed = lgrp_mem_size(cookie, id, LGRP_MEM_SZ_INSTALLED, LGRP_CONTENT_ALL);
    long long avail = lgrp_mem_size(cookie, id, LGRP_MEM_SZ_FREE, LGRP_CONTENT_ALL);
    char a[32], b[32], c[32];

    if (installed == 0)
        printf("%sMemory: none\n", margin);
    else
        printf("%sMemory: installed %s, allocated %s, free %s\n", margin,
               size_text(a, sizeof a, installed), size_text(b, sizeof b, installed - avail),
               size_text(c, sizeof c, avail));
}

static void print_resources(lgrp_id_t id, const char *margin)
{
    lgrp_id_t ids[HR_MAXLGRP];
    char cpu[NAME_SIZE], mem[NAME_SIZE];

    id_list(cpu, sizeof cpu, ids, lgrp_resources(cookie, id, ids, HR_MAXLGRP, LGRP_RSRC_CPU));
    id_list(mem, sizeof mem, ids, lgrp_resources(cookie, id, ids, HR_MAXLGRP, LGRP_RSRC_MEM));
    printf("%sLgroup resources: %s (CPU); %s (memory)\n", margin, cpu, mem);
}

/* Prints all requested details of one lgroup, each line behind `margin`. */
static void print_details(lgrp_id_t id, const char *margin)
{
    int latency;

    if (want_topology && !as_tree)
        print_topology(id, margin);
    if (want_cpu)
        print_cpus(id, margin);
    if (want_memory)
        print_memory(id, margin);
    if (want_resources)
        print_resources(id, margin);
    if (want_load && id != lgrp_root(cookie))
        printf("%sLoad: %.3g\n", margin, lgrp_load(cookie, id) / FULL_LOAD);
    if (want_latency && (latency = lgrp_latency_cookie(cookie, id, id, LGRP_LAT_CPU_TO_MEM)) >= 0)
        printf("%sLatency: %d\n", margin, latency);
}

static void print_lgroup(lgrp_id_t id)
{
    printf("lgroup %d (%s):\n", id, id == lgrp_root(cookie) ? "root" : "leaf");
    print_details(id, "\t");
}

/* The tree has two levels: the root and its leaves. */
static void print_tree(lgrp_id_t id)
{
    lgrp_id_t child[HR_MAXLGRP];
    int n = lgrp_children(cookie, id, child, HR_MAXLGRP);

    printf("%d\n", id);
    print_details(id, n > 0 ? "|   " : "    ");
    for (int i = 0; i < n; i++) {
        bool last = i == n - 1;

        printf("%s-- %d\n", last ? "`" : "|", child[i]);
        print_details(child[i], last ? "    " : "|   ");
    }
}

static void print_table(const lgrp_id_t *id, int n)
{
    int width = 6 * (n + 1);

    printf("\nLgroup latencies:\n\n");
    for (int i = 0; i < width; i++)
        putchar('-');
    printf("\n    |");
    for (int to = 0; to < n; to++)
        printf("%4d ", id[to]);
    printf("\n");
    for (int i = 0; i < width; i++)
        putchar('-');
    printf("\n");
    for (int from = 0; from < n; from++) {
        printf("%-4d|", id[from]);
        for (int to = 0; to < n; to++) {
            int latency = lgrp_latency_cookie(cookie, id[from], id[to], LGRP_LAT_CPU_TO_MEM);

            if (latency < 0)
                printf("   - ");
            else
                printf("%4d ", latency);
        }
        printf("\n");
    }
    for (int i = 0; i < width; i++)
        putchar('-');
    printf("\n");
}

/* Marks the lgroups that an operand names.  Returns 0; -1 if it names none. */
static int select_operand(const char *operand, bool *chosen)
{
    lgrp_id_t root = lgrp_root(cookie), ids[HR_MAXLGRP];
    int id, n;

    if (strcmp(operand, "root") == 0) {
        chosen[root] = true;
        return 0;
    }
    if (strcmp(operand, "all") == 0 || strcmp(operand, "leaves") == 0) {
        n = lgrp_children(cookie, root, ids, HR_MAXLGRP);
        for (int i = 0; i < n; i++)
            chosen[ids[i]] = true;
        if (n == 0)
            chosen[root] = true; /* the only lgroup is both root and leaf */
        return 0;
    }
    if (hr_parse_int(operand, 0, HR_MAXLGRP, &id) != 0 || lgrp_parents(cookie, id, NULL, 0) < 0)
        return -1; /* also for "intermediate": a flat topology has none */
    chosen[id] = true;
    return 0;
}

/* Replaces the chosen lgroups by their parents or their children. */
static void step(bool *chosen)
{
    bool next[HR_MAXLGRP + 1] = {false};
    lgrp_id_t ids[HR_MAXLGRP];

    for (int id = 0; id <= HR_MAXLGRP; id++) {
        int n;

        if (!chosen[id])
            continue;
        n = to_children ? lgrp_children(cookie, id, ids, HR_MAXLGRP)
                        : lgrp_parents(cookie, id, ids, HR_MAXLGRP);
        for (int i = 0; i < n; i++)
            next[ids[i]] = true;
    }
    memcpy(chosen, next, sizeof next);
}

/* -I: prints the ids on one line; with -c the CPUs of each lgroup on a line of its own. */
static void print_ids(const lgrp_id_t *id, int n)
{
    char buf[NAME_SIZE];

    if (!want_cpu) {
        for (int i = 0; i < n; i++)
            printf("%s%d", i > 0 ? " " : "", id[i]);
        printf("\n");
        return;
    }
    for (int i = 0; i < n; i++) {
        processorid_t cpus[HR_MAXCPU];
        int ncpus = lgrp_cpus(cookie, id[i], cpus, HR_MAXCPU, LGRP_CONTENT_ALL);

        printf("%s\n", hr_ranges(buf, sizeof buf, cpus, (size_t)ncpus));
    }
}

static lgrp_view_t read_options(int argc, char **argv)
{
    lgrp_view_t view = LGRP_VIEW_CALLER;
    int opt;

    while ((opt = getopt(argc, argv, "aceGhIlLmrtTu:CP")) != -1) {
        details |= strchr("celmrt", opt) != NULL;
        switch (opt) {
        case 'a':
            want_topology = want_cpu = want_memory = want_resources = want_load = want_latency =
                details = true;
            break;
        case 'c':
            want_cpu = true;
            break;
        case 'e':
            want_latency = true;
            break;
        case 'G':
            view = LGRP_VIEW_OS;
            break;
        case 'I':
            ids_only = true;
            break;
        case 'l':
            want_load = true;
            break;
        case 'L':
            as_table = true;
            break;
        case 'm':
            want_memory = true;
            break;
        case 'r':
            want_resources = true;
            break;
        case 't':
            want_topology = true;
            break;
        case 'T':
            as_tree = true;
            break;
        case 'u':
            unit = (char)toupper((unsigned char)optarg[0]);
            if (strlen(optarg) != 1 || strchr("BKMGTPE", unit) == NULL) {
                fprintf(stderr, "lgrpinfo: -u '%s': a unit is b, k, m, g, t, p or e\n", optarg);
                usage();
            }
            break;
        case 'C':
            to_children = true;
            break;
        case 'P':
            to_parents = true;
            break;
        default:
            usage();
        }
    }
    if ((to_children && to_parents) || (as_tree && as_table))
        usage();
    if (!details && !as_tree && !ids_only && !as_table)
        want_topology = want_cpu = want_memory = want_resources = want_load = want_latency = true;
    return view;
}

int main(int argc, char **argv)
{
    bool chosen[HR_MAXLGRP + 1] = {false};
    lgrp_id_t id[HR_MAXLGRP + 1];
    int n = 0, status = 0;

    hr_help(argv, help);
    if ((cookie = lgrp_init(read_options(argc, argv))) == LGRP_COOKIE_NONE) {
        hr_perror("lgrpinfo", "no lgroup information");
        return EXIT_NOINFO;
    }
    if (optind == argc)
        select_operand(as_tree ? "root" : "all", chosen);
    for (int i = optind; i < argc; i++) {
        if (select_operand(argv[i], chosen) != 0) {
            fprintf(stderr, "lgrpinfo: no such lgroup: '%s' (lgrpinfo -I lists them)\n", argv[i]);
            status = EXIT_NOLGRP;
        }
    }
    if (to_children || to_parents)
        step(chosen);
    for (int i = 0; i <= HR_MAXLGRP; i++)
        if (chosen[i])
            id[n++] = i;
    if (n == 0 && status == 0)
        fprintf(stderr,
                "lgrpinfo: %s: none of these lgroups has any (lgrpinfo -T shows the tree)\n",
                to_children ? "-C: children" : "-P: parents");
    if (ids_only && n > 0)
        print_ids(id, n);
    else if (!as_table || details)
        for (int i = 0; i < n; i++)
            as_tree ? print_tree(id[i]) : print_lgroup(id[i]);
    if (as_table)
        print_table(id, n);
    return n == 0 ? EXIT_NOLGRP : status;
}
