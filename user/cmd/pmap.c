// SPDX-License-Identifier: MIT
/*
 * pmap.c - prints the address space of a process; -L with the lgroups of the pages, -x with what is resident.
 *
 * THEORY      /proc/PID/maps lists the mappings.  /proc/PID/lgrpmap lists the same mappings as runs of pages in one
 *             lgroup: `start-end perms lgrp pages pagesize name`, where lgrp is `-` if there is no page.  A mapping
 *             without a file is anonymous; -x counts its resident pages as Anon.
 *             /proc/PID/heat can be read only if the interconnect model counts misses by page.  Both files are in the
 *             order of addresses, so -L reads them side by side.
 * SEE ALSO    docs/userland.md; Solaris pmap(1)
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

struct run {
    unsigned long start, end; /* bytes */
    char perms[8];            /* rwxp or rwxs */
    char lgrp[8];             /* "-" if no page */
    unsigned long pages;      /* pages of `pagesize` in memory */
    unsigned long pagesize;   /* bytes */
    char name[512];           /* a path, a word in square brackets, or "" */
};

/* The misses on some pages; `far` are those of CPUs of other lgroups than the page's. */
struct misses {
    unsigned long all, far;
};

/* The open /proc/PID/heat: one of `every` misses is counted; `addr` and `n` are the page that was read last. */
struct heat {
    FILE *f; /* NULL: there are no counts, or no more of them */
    unsigned long every, addr;
    struct misses n;
};

static bool by_lgroup, extended;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    pmap - show the address space of a process\n"
    "\n"
    "SYNOPSIS\n"
    "    pmap [-Lx] pid ...\n"
    "\n"
    "DESCRIPTION\n"
    "    A line for each mapping: address, size, permissions (r, w, x, s shared),\n"
    "    and the file, or heap, stack or anon.\n"
    "\n"
    "OPTIONS\n"
    "    -L            a line for each run of pages in one lgroup, with the\n"
    "                  lgroup; - where there is no page.  If the machine counts\n"
    "                  misses by page (HEAT=), also the misses on these pages, and\n"
    "                  the share of CPUs of other lgroups in them\n"
    "    -x            also the pages that are in memory, anonymous and locked\n"
    "\n"
    "EXAMPLES\n"
    "    pmap -L $$\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 there is no such process, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    lgrpinfo, plgrp, docs/memory.md, docs/heat.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

/* Solaris's flags, 5 columns: read, write, execute, shared, (no swap reserved). */
static const char *flags(const char *perms)
{
    static char out[6];

    snprintf(out, sizeof out, "%c%c%c%c-", perms[0], perms[1], perms[2],
             perms[3] == 's' ? 's' : '-');
    return out;
}

/* The name as Solaris prints it: "[heap]" becomes "[ heap ]", no name "[ anon ]"; a path stays. */
static const char *title(const char *name)
{
    static char out[520];

    if (name[0] == '\0')
        return "  [ anon ]";
    if (name[0] != '[')
        return name;
    snprintf(out, sizeof out, "  [ %.*s ]", (int)strcspn(name + 1, "]"), name + 1);
    return out;
}

static bool anonymous(const struct run *r)
{
    return r->name[0] == '\0' || r->name[0] == '[';
}

/* Parses a line of lgrpmap.  Returns 0; -1 if it is not one. */
static int parse_run(const char *line, struct run *r)
{
    int at = 0;

    if (sscanf(line, "%lx-%lx %7s %7s %lu %lu %n", &r->start, &r->end, r->perms, r->lgrp, &r->pages,
               &r->pagesize, &at) < 6)
        return -1;
    snprintf(r->name, sizeof r->name, "%.*s", (int)strcspn(line + at, "\n"), line + at);
    return 0;
}

/* Parses a line of maps: start-end perms offset device inode [name]. */
static int parse_map(const char *line, struct run *r)
{
    int at = 0;

    memset(r, 0, sizeof *r);
    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %n", &r->start, &r->end, r->perms, &at) < 3)
        return -1;
    snprintf(r->name, sizeof r->name, "%.*s", (int)strcspn(line + at, "\n"), line + at);
    return 0;
}

/* Reads the next page of /proc/PID/heat: `address lgrp lgrp:misses ...`.  At the end it closes the file. */
static void next_hot_page(struct heat *h)
{
    static char *line;
    static size_t space;
    unsigned long own;
    char *at, *end;

    if (getline(&line, &space, h->f) <= 0) {
        fclose(h->f);
        h->f = NULL;
        return;
    }
    h->n = (struct misses){0};
    h->addr = strtoul(line, &at, 16);
    own = strtoul(at, &at, 10);
    for (;;) {
        unsigned long from = strtoul(at, &end, 10), n;

        if (end == at || *end != ':')
            return;
        n = strtoul(end + 1, &at, 10);
        h->n.all += n;
        if (from != own)
            h->n.far += n;
    }
}

/* Opens /proc/PID/heat; h->every is 0 if the machine does not count misses by page. */
static void open_heat(int pid, struct heat *h)
{
    *h = (struct heat){.f = fopen(hr_path("/proc/%d/heat", pid), "r")};
    if (h->f == NULL)
        return;
    if (fscanf(h->f, "every %lu\n", &h->every) == 1) {
        next_hot_page(h);
        return;
    }
    fclose(h->f);
    h->f = NULL;
}

/* The misses on the pages of a run.  The runs of one heat file are asked for in the order of addresses. */
static struct misses misses_of_run(struct heat *h, const struct run *r)
{
    struct misses sum = {0};

    while (h->f != NULL && h->addr < r->end) {
        if (h->addr >= r->start) {
            sum.all += h->n.all;
            sum.far += h->n.far;
        }
        next_hot_page(h);
    }
    return sum;
}

static void print_misses(struct misses n)
{
    if (n.all == 0)
        printf(" %10s %4s", "-", "-");
    else
        printf(" %10lu %3lu%%", n.all, (100 * n.far + n.all / 2) / n.all);
}

static void print_heading(int pid)
{
    char command[256] = "";
    FILE *f = fopen(hr_path("/proc/%d/cmdline", pid), "r");
    size_t n = f != NULL ? fread(command, 1, sizeof command - 1, f) : 0;

    if (f != NULL)
        fclose(f);
    for (size_t i = 0; i + 1 < n; i++)
        if (command[i] == '\0')
            command[i] = ' ';
    printf("%d: %s\n", pid, command);
}

/* With -L and heat on, *n are the misses; else n is NULL. */
static void print_run(const struct run *r, const struct misses *n)
{
    unsigned long kbytes = (r->end - r->start) / 1024;

    printf("%08lX %7luK %s", r->start, kbytes, flags(r->perms));
    if (by_lgroup)
        printf("%4s", r->lgrp);
    if (n != NULL)
        print_misses(*n);
    printf("%s%s\n", by_lgroup ? " " : "  ", title(r->name));
}

/* -x prints the runs of one mapping as one line.  A mapping ends where name or perms change. */
static void print_extended(const struct run *sum, unsigned long rss, unsigned long anon)
{
    char anon_text[24] = "-", rss_text[24] = "-";

    if (rss > 0)
        snprintf(rss_text, sizeof rss_text, "%lu", rss);
    if (anon > 0)
        snprintf(anon_text, sizeof anon_text, "%lu", anon);
    printf("%08lX %7lu %7s %7s %7s %-6s %s\n", sum->start, (sum->end - sum->start) / 1024, rss_text,
           anon_text, "-", flags(sum->perms), title(sum->name));
}

static void show_extended(FILE *f)
{
    struct run sum = {0}, r;
    unsigned long rss = 0, total[3] = {0};
    char *line = NULL;
    size_t space = 0;
    bool more, open = false;

    printf(" Address  Kbytes     RSS    Anon  Locked Mode   Mapped File\n");
    do {
        more = getline(&line, &space, f) > 0;
        if (more && parse_run(line, &r) != 0)
            continue;
        if (more && open && r.start == sum.end && strcmp(r.name, sum.name) == 0 &&
            strcmp(r.perms, sum.perms) == 0) {
            sum.end = r.end;
            rss += r.pages * r.pagesize / 1024;
            continue;
        }
        if (open) {
            unsigned long anon = anonymous(&sum) ? rss : 0;

            print_extended(&sum, rss, anon);
            total[0] += (sum.end - sum.start) / 1024;
            total[1] += rss;
            total[2] += anon;
        }
        sum = r;
        rss = r.pages * r.pagesize / 1024;
        open = true;
    } while (more);
    free(line);
    printf("-------- ------- ------- ------- -------\n");
    printf("total Kb %7lu %7lu %7lu %7s\n", total[0], total[1], total[2], "-");
}

static void show_plain(FILE *f)
{
    unsigned long total = 0;
    struct run r;
    char *line = NULL;
    size_t space = 0;

    while (getline(&line, &space, f) > 0) {
        if (parse_map(line, &r) != 0)
            continue;
        print_run(&r, NULL);
        total += (r.end - r.start) / 1024;
    }
    free(line);
    printf(" total%10luK\n", total);
}

static void show_lgroups(FILE *f, int pid)
{
    unsigned long total = 0;
    struct misses sum = {0};
    struct heat heat;
    struct run r;
    char *line = NULL;
    size_t space = 0;

    open_heat(pid, &heat);
    if (heat.every != 0)
        printf("Address      Size Mode Lgrp     Misses  Far Mapped File\n");
    while (getline(&line, &space, f) > 0) {
        struct misses n;

        if (parse_run(line, &r) != 0)
            continue;
        n = misses_of_run(&heat, &r);
        print_run(&r, heat.every != 0 ? &n : NULL);
        total += (r.end - r.start) / 1024;
        sum.all += n.all;
        sum.far += n.far;
    }
    free(line);
    if (heat.f != NULL)
        fclose(heat.f);
    printf(" total%10luK", total);
    if (heat.every != 0) {
        printf("%10s", "");
        print_misses(sum);
    }
    printf("\n");
    if (heat.every > 1)
        printf("one of %lu misses was counted, times %lu\n", heat.every, heat.every);
}

static int show(const char *operand)
{
    FILE *f;
    int pid;

    if (hr_parse_int(operand, 1, 1 << 30, &pid) != 0)
        return 2;
    f = fopen(hr_path("/proc/%d/%s", pid, by_lgroup || extended ? "lgrpmap" : "maps"), "r");
    if (f == NULL) {
        fprintf(stderr, "pmap: cannot examine %s: %s\n", operand,
                errno == ENOENT ? "no such process" : hr_strerror(errno));
        return 1;
    }
    print_heading(pid);
    if (extended)
        show_extended(f);
    else if (by_lgroup)
        show_lgroups(f, pid);
    else
        show_plain(f);
    fclose(f);
    return 0;
}

int main(int argc, char **argv)
{
    int opt, status = 0;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "Lx")) != -1) {
        if (opt == 'L')
            by_lgroup = true;
        else if (opt == 'x')
            extended = true;
        else
            usage();
    }
    if (optind == argc || (by_lgroup && extended))
        usage();
    for (int i = optind; i < argc; i++)
        if (hr_parse_int(argv[i], 1, 1 << 30, &opt) != 0) {
            fprintf(stderr, "pmap: invalid process ID %s (ps lists the processes)\n", argv[i]);
            return 2;
        }
    for (int i = optind; i < argc; i++)
        status |= show(argv[i]);
    return status;
}
