// SPDX-License-Identifier: MIT
/*
 * trace.c - shows what the kernel did while a command ran: which threads ran on which CPU, wake-ups, faults,
 * interrupts, disks, locks.
 *
 * THEORY      The trace covers the whole machine.  The program turns it on, runs the command and turns it off.  Only
 *             then it reads the trace, so the trace does not contain the reading.  What does not fit into the rings is
 *             lost, the oldest events first; -n makes the rings larger.  Events are printed in the order of time; -o
 *             writes them unchanged, for tools/homeroom/trace.py.
 * SEE ALSO    docs/trace.md, include/uapi/trace.h, kernel/fs/devfs/tracedev.c
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"
#include "uapi/trace.h"

enum { PIECE = 65536 };

static const char *const names[TRACE_TYPES] = {
#define X(id, name, doc) [TRACE_##id] = name,
    TRACE_EVENTS(X)
#undef X
};

/* Their names in a line, " switch wake ...", and with what they mean, each in a line. */
#define NAME_OF(id, name, doc) " " name
#define LINE_OF(id, name, doc) "    " name " - " doc "\n"
#define EVENTS                 TRACE_EVENTS(NAME_OF)

static const char help[] HR_MANUAL =
    "NAME\n"
    "    trace - show what the kernel does while a command runs\n"
    "\n"
    "SYNOPSIS\n"
    "    trace [-e event,...] [-n entries] [-o file] command [argument ...]\n"
    "    trace -i file\n"
    "\n"
    "DESCRIPTION\n"
    "    The kernel records events of the whole machine while the command runs.\n"
    "    When it has ended they are printed by time.  What does not fit into the\n"
    "    buffer of a CPU is lost, the oldest first.  The events are:\n"
    "\n"
    /* clang-format off */
    TRACE_EVENTS(LINE_OF)
    /* clang-format on */
    "\n"
    "OPTIONS\n"
    "    -e event,...  these events only\n"
    "    -i file       print a file that -o has written\n"
    "    -n entries    events that each CPU can hold\n"
    "    -o file       write to a file\n"
    "\n"
    "EXAMPLES\n"
    "    trace -e switch,wake sleep 1\n"
    "\n"
    "EXIT STATUS\n"
    "    that of the command, 128 + signal; 1 there is no trace, or the file of -i\n"
    "    was cut short; 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    truss, docs/trace.md\n";

static void usage(void)
{
    hr_usage(help);
    fprintf(stderr, "events:" EVENTS "\n");
    exit(2);
}

static void fail(const char *what)
{
    hr_perror("trace", what);
    exit(1);
}

/* ---- turning the trace on and off ---- */

/* Sets a kernel variable.  Ends the program after a message if that fails. */
static void set(const char *name, uint64_t value)
{
    struct hr_tunable var;

    if (hr_tunable_get(name, &var) != 0)
        fail(name);
    var.value = value;
    if (hr_tunable_set(name, &var) == 0)
        return;
    if (errno != ERANGE)
        fail(name);
    fprintf(stderr, "trace: %s: allowed are %llu to %llu, not %llu\n", name, var.least,
            var.greatest, var.value);
    exit(1);
}

/* The mask of the events in a list of names.  Ends the program after a message if a name is unknown. */
static uint32_t mask_of(char *list)
{
    uint32_t mask = 0;

    for (char *word = strtok(list, ","); word != NULL; word = strtok(NULL, ",")) {
        int i = 1;

        while (i < TRACE_TYPES && strcmp(names[i], word) != 0)
            i++;
        if (i == TRACE_TYPES) {
            fprintf(stderr, "trace: no event '%s'\n", word);
            usage();
        }
        mask |= 1u << i;
    }
    if (mask == 0) {
        fprintf(stderr, "trace: -e names no event\n");
        usage();
    }
    return mask;
}

static pid_t pid; /* of the command */

/* Ends the command, and not this program: it must turn the trace off. */
static void pass_on(int number)
{
    kill(pid, number);
}

/* Runs the command.  Returns its status; *ran: it could be started, so there is a trace to show. */
static int run(char **command, bool *ran)
{
    sigset_t ends, before;
    int status, failed[2];
    char c;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    if (pipe2(failed, O_CLOEXEC) != 0)
        fail("pipe");
    sigprocmask(SIG_BLOCK, &ends, &before);
    pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(command[0], command);
        hr_perror("trace", command[0]);
        _exit(write(failed[1], "", 1) == 1 ? 127 : 126);
    }
    close(failed[1]);
    if (pid < 0) {
        hr_perror("trace", "fork");
        return 1;
    }
    signal(SIGINT, SIG_IGN); /* the command decides what Ctrl-C does */
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTERM, pass_on);
    signal(SIGHUP, pass_on);
    sigprocmask(SIG_SETMASK, &before, NULL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    *ran = read(failed[0], &c, 1) == 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- reading ---- */

/*
 * All records of `path`, the header first.  *n: their number.  A TRACE_END and what follows are left out.  *whole:
 * there is a TRACE_END, or `path` is not a file but /dev/trace, which has none.
 */
static struct trace_record *read_all(const char *path, size_t *n, bool *whole)
{
    char *data = NULL;
    size_t used = 0;
    ssize_t got;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const struct trace_header *h;
    struct trace_record *rec;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        fail(path);
    do {
        data = realloc(data, used + PIECE);
        if (data == NULL || (got = read(fd, data + used, PIECE)) < 0)
            fail(path);
        used += (size_t)got;
    } while (got > 0);
    close(fd);
    h = (const struct trace_header *)data;
    if (used < sizeof *h || h->magic != TRACE_MAGIC || h->version != TRACE_VERSION ||
        h->record_bytes != sizeof *rec) {
        fprintf(stderr, "trace: %s: not a trace of version %d\n", path, TRACE_VERSION);
        exit(1);
    }
    rec = (struct trace_record *)data;
    for (*n = 1; *n < used / sizeof *rec && rec[*n].type != TRACE_END; ++*n)
        ;
    *whole = *n < used / sizeof *rec || !S_ISREG(st.st_mode);
    return rec;
}

static void write_all(FILE *f, const char *path, const struct trace_record *rec, size_t n)
{
    static const struct trace_record end = {.type = TRACE_END};

    if (fwrite(rec, sizeof *rec, n, f) != n || fwrite(&end, sizeof end, 1, f) != 1 ||
        fflush(f) != 0 || (fsync(fileno(f)) != 0 && errno != EINVAL) || fclose(f) != 0)
        fail(path);
}

/* ---- printing ---- */

static int by_time(const void *a, const void *b)
{
    const struct trace_record *x = a, *y = b;

    return x->time != y->time ? (x->time < y->time ? -1 : 1) : x->cpu - y->cpu;
}

/* Prints what an event of files and disks contains; for other events nothing. */
static void print_storage(const struct trace_record *e)
{
    static const char *const why[] = {"behind", "waits", "reclaim", "?"};
    const char *end = e->info & TRACE_ENDS ? "end" : "begin";

    switch (e->type) {
    case TRACE_READ:
        printf("%u pages at %" PRIu64 " of file %#" PRIx64, e->info, e->a, e->b);
        break;
    case TRACE_WRITE:
        printf("%u pages at %" PRIu64 " of file %#" PRIx64 ", %s", e->info & 255, e->a, e->b,
               why[e->info >> 8 & 3]);
        break;
    case TRACE_THROTTLE:
        printf("%s, %s, %" PRIu64 " pages of file %#" PRIx64, end,
               e->info & 1 ? "maxpout" : "ufs_HW", e->a, e->b);
        break;
    case TRACE_FSYNC:
        printf("%s, file %#" PRIx64, end, e->b);
        if (!(e->info & TRACE_ENDS) && e->a != 0)
            printf(" on %.8s", (const char *)&e->a);
        break;
    case TRACE_COMMIT:
        printf("%s, transaction %" PRIu64, end, e->a);
        if (e->info & TRACE_ENDS)
            printf(", %" PRIu64 " blocks", e->b);
        else
            printf(" on %.8s", (const char *)&e->b);
        break;
    case TRACE_FLUSH:
        printf("%s, %.8s", end, (const char *)&e->b);
        break;
    }
    if ((e->type == TRACE_FSYNC || e->type == TRACE_FLUSH) && e->info & TRACE_ENDS && e->a != 0)
        printf(", error %" PRIu64, e->a);
}

/* The same for events of placement and for samples. */
static void print_memory(const struct trace_record *e)
{
    /* by number: enum lgrp_mem_policy of the kernel */
    static const char *const names_of[] = {
        "?", "next", "random in process", "random in set", "random", "round robin", "next CPU"};
    unsigned policy = e->info >> 8;

    switch (e->type) {
    case TRACE_TOUCH:
        printf("%#" PRIx64 ", %s: lgroup %u", e->a,
               policy == TRACE_NODES ? "nodes" : names_of[policy < 7 ? policy : 0], e->info & 255);
        if (e->b != TRACE_NO_NODE)
            printf(", node %" PRIu64, e->b);
        break;
    case TRACE_FALLBACK:
        printf("%#" PRIx64 ", lgroup %u: %.8s", e->a, e->info & 255, (const char *)&e->b);
        if (e->info >> 8 != TRACE_NO_NODE)
            printf(", node %u", e->info >> 8);
        break;
    case TRACE_MEMORY:
        printf("node %u: %" PRIu64 " of %" PRIu64 " pages free", e->info, e->a, e->b);
        break;
    case TRACE_MISSES:
        printf("board %u: %" PRIu64 " local, %" PRIu64 " remote", e->info, e->a, e->b);
        break;
    case TRACE_LINK:
        printf("board %u: %" PRIu64 " bytes at %" PRIu64 " ps", e->info, e->a, e->b);
        break;
    }
}

static void print_what(const struct trace_record *e)
{
    static const char *const moved[] = {"", ", advice", ", used there", ", spread", ", call"};
    static const char *const state[] = {"sleeps", "waits", "runs", "ended"};
    static const char *const access[] = {"read", "write", "execute", "?"};
    static const char *const kind[] = {"mutex", "reader", "writer", "?"};
    static const char *const op[] = {"read", "write", "flush", "?"};
    const char *how = e->b & TRACE_WAKE_NEW ? ", new" : e->b & TRACE_WAKE_AGAIN ? ", again" : "";

    switch (e->type) {
    case TRACE_SWITCH:
        printf("to %.16s, before: %s", (const char *)&e->a, state[e->info & 3]);
        break;
    case TRACE_NAME:
        printf("%.16s", (const char *)&e->a);
        break;
    case TRACE_WAKE:
        printf("%" PRIu64 " on CPU %u%s%s", e->a, e->info, how,
               e->b & TRACE_WAKE_INTR ? ", by an interrupt" : "");
        break;
    case TRACE_MIGRATE:
        printf("%" PRIu64 " from CPU %u", e->a, e->info);
        break;
    case TRACE_FAULT:
        printf("%s %#" PRIx64, access[e->info & 3], e->a);
        if (e->b != TRACE_NO_NODE)
            printf(" node %" PRIu64, e->b);
        printf("%s", e->info & 4 ? ", signal" : "");
        break;
    case TRACE_PAGE:
        printf("%#" PRIx64 " from node %u to %" PRIu64 "%s", e->a, e->info & 255, e->b,
               e->info >> 8 <= TRACE_MOVED_CALL ? moved[e->info >> 8] : "");
        break;
    case TRACE_INTR:
        printf("%.8s (vector %u)", (const char *)&e->a, e->info);
        break;
    case TRACE_POKE:
        printf("CPU %u: %.8s", e->info, (const char *)&e->a);
        break;
    case TRACE_XCALL:
        printf("%u CPUs: %#" PRIx64 " to %#" PRIx64, e->info, e->a, e->b);
        break;
    case TRACE_IO:
    case TRACE_IODONE:
        printf("%.8s %s %u at %" PRIu64 "%s", (const char *)&e->b, op[e->a >> 56 & 3], e->info,
               e->a << 8 >> 8, e->a & TRACE_IO_ERROR ? ", error" : "");
        break;
    case TRACE_LOCK:
        printf("%s %#" PRIx64 " %.8s", kind[e->info & 3], e->a, (const char *)&e->b);
        break;
    case TRACE_LOCKED:
        printf("%s %#" PRIx64 " after %" PRIu64 ".%03" PRIu64 " us", kind[e->info & 3], e->a,
               e->b / 1000, e->b % 1000);
        break;
    default:
        print_storage(e);
        print_memory(e);
    }
}

static void print_lost(const struct trace_record *rec, size_t n)
{
    uint64_t lost = 0;

    for (const struct trace_record *e = rec; e < rec + n; e++)
        if (e->type == TRACE_LOST)
            lost += e->a;
    if (lost > 0)
        fprintf(stderr,
                "trace: %" PRIu64
                " older events are lost (-n, or trace_entries, makes room for more)\n",
                lost);
}

static void print_all(struct trace_record *rec, size_t n)
{
    uint64_t begin;

    qsort(rec, n, sizeof *rec, by_time);
    begin = n > 0 ? rec[0].time : 0;
    printf("%14s %4s %8s event\n", "us", "cpu", "thread");
    for (const struct trace_record *e = rec; e < rec + n; e++) {
        if (e->type >= TRACE_TYPES)
            continue;
        printf("%10" PRIu64 ".%03" PRIu64 " %4u %8u %-8s ", (e->time - begin) / 1000,
               (e->time - begin) % 1000, e->cpu, e->tid, names[e->type]);
        print_what(e);
        printf("\n");
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *in = NULL, *out = NULL;
    struct trace_record *rec;
    FILE *to = NULL;
    uint32_t mask = ~0u;
    int opt, entries = 0, status = 0;
    size_t n;
    bool ran = true, whole;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "+e:i:n:o:")) != -1) {
        if (opt == 'e')
            mask = mask_of(optarg);
        else if (opt == 'i')
            in = optarg;
        else if (opt == 'o')
            out = optarg;
        else if (opt != 'n')
            usage();
        else if (hr_parse_int(optarg, 1, 1 << 30, &entries) != 0) {
            fprintf(stderr, "trace: -n %s: write a number of events, 1 to %d\n", optarg, 1 << 30);
            usage();
        }
    }
    if ((in == NULL) == (optind == argc) || (in != NULL && (out != NULL || entries != 0)))
        usage();
    if (out != NULL && (to = fopen(out, "we")) == NULL)
        fail(out); /* is opened before the command runs */
    if (in == NULL) {
        set("trace_enable", 0);
        /* drops the events of an earlier trace */
        free(read_all(hr_path("/dev/trace"), &n, &whole));
        if (entries != 0)
            set("trace_entries", (uint64_t)entries);
        set("trace_enable", mask);
        status = run(argv + optind, &ran);
        set("trace_enable", 0);
        if (!ran)
            return status;
    }
    rec = read_all(in != NULL ? in : hr_path("/dev/trace"), &n, &whole);
    if (out != NULL)
        write_all(to, out, rec, n);
    else
        print_all(rec + 1, n - 1);
    if (in != NULL && !whole) {
        fprintf(stderr, "trace: %s: it has no end mark: perhaps it was cut short\n", in);
        status = 1;
    }
    print_lost(rec + 1, n - 1);
    return status;
}
