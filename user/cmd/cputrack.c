// SPDX-License-Identifier: MIT
/*
 * cputrack.c - runs a command and prints the counters of its LWPs, at regular times and when they end.
 *
 * THEORY      The kernel writes a line into a pipe when an LWP begins, ends or replaces its program (SYS_track), with
 *             the counts of that LWP.  Between these events the program asks for the counts of each LWP (FPIOC_LWP).
 *             The counts of the command itself begin with its exec.  A `tick` line has what an LWP used since its last
 *             tick, `lwp_exit` all that it used, `exit` and `exec` what all LWPs of the process used, including those
 *             that have ended.  The end of the last LWP is printed only with -v (`fini_lwp`), because the end of its
 *             process follows at once.
 * SEE ALSO    docs/userland.md, user/include/cpc.h; Solaris cputrack(1)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpc.h"
#include "help.h"
#include "homeroom.h"

#define NCOUNTERS (sizeof(struct fp_counts) / sizeof(uint64_t))

struct lwp {
    struct lwp *next;
    int id;
    struct fp_counts before; /* the counts at the last tick */
    struct fp_counts base;   /* the counts before the command began */
    struct fp_counts used;   /* the counts since then, as far as they are known */
};

struct process {
    struct process *next;
    int pid;
    bool tracked;
    struct lwp *lwps;
    struct lwp *ended; /* the LWP that ended last, not printed yet; or NULL */
    double ended_at;
    struct fp_counts total; /* the counts of LWPs that have ended */
};

/* A line from the kernel. */
struct event {
    char what[16], name[32];
    int pid, lwp, ppid;
    double time; /* seconds since the start of this program */
    struct fp_counts used;
};

static struct cpc_sets sets;
static struct process *processes;
static bool follow_fork, follow_exec, verbose;
static volatile sig_atomic_t interrupted;
static FILE *out;
static double started;
static int device, current; /* a descriptor of /dev/fireplane; the set whose turn it is */

static void on_signal(int sig)
{
    interrupted = sig;
}

static const char help[] HR_MANUAL =
    "NAME\n"
    "    cputrack - run a command and show what its LWPs count in the model\n"
    "\n"
    "SYNOPSIS\n"
    "    cputrack -c events ... [-efntv] [-N n] [-o file] [-T seconds] command ...\n"
    "    cputrack -h\n"
    "\n"
    "DESCRIPTION\n"
    "    Every second one line (tick) for each LWP shows what it used since its\n"
    "    last line.  lwp_create and lwp_exit are the begin and the end of an LWP,\n"
    "    exit the end of the process, exec its change to another program.  events\n"
    "    is as for cpustat.  The machine must have been started with\n"
    "    MODEL=fireplane.\n"
    "\n"
    "OPTIONS\n"
    "    -c events     what to count\n"
    "    -e            continue after exec\n"
    "    -f            follow child processes; adds a column with the process\n"
    "    -h            list the events\n"
    "    -n            no heading\n"
    "    -N n          stop after so many samples\n"
    "    -o file       write to a file\n"
    "    -t            one more column: cycles\n"
    "    -T seconds    time between samples (1); 0: never\n"
    "    -v            also show init_lwp, fini_lwp and fork\n"
    "\n"
    "EXAMPLES\n"
    "    cputrack -c EC_ref,EC_misses memcopy -t 4\n"
    "\n"
    "EXIT STATUS\n"
    "    that of the command; 1 no model, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    cpustat, docs/userland.md, docs/fireplane.md\n";

static int usage(void)
{
    hr_usage(help);
    return 2;
}

/* ---- printing -------------------------------------------------------------------------------------------------- */

/* Prints the first columns of a line. */
static void place(double time, int pid, int lwp, const char *what)
{
    fprintf(out, "%7.3f ", time);
    if (follow_fork)
        fprintf(out, "%6d ", pid);
    fprintf(out, "%3d %10s", lwp, what);
}

/* Prints a line with the values of the current set. */
static void line(double time, int pid, int lwp, const char *what, const struct fp_counts *c)
{
    place(time, pid, lwp, what);
    cpc_values(out, &sets, current, c);
}

/* Prints one line for each set. */
static void totals(double time, const struct process *p, int lwp, const char *what,
                   const struct fp_counts *c)
{
    int now = current;

    for (current = 0; current < sets.count; current++)
        line(time, p->pid, lwp, what, c);
    current = now;
}

/* ---- processes and LWPs ---------------------------------------------------------------------------------------- */

/* Returns `memory`, or ends the program if it is NULL. */
static void *need(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "cputrack: no memory\n");
        exit(1);
    }
    return memory;
}

static struct process *process_of(int pid)
{
    struct process *p = processes;

    while (p != NULL && p->pid != pid)
        p = p->next;
    return p;
}

static struct process *add_process(int pid, bool tracked)
{
    struct process *p = need(calloc(1, sizeof *p));

    p->pid = pid;
    p->tracked = tracked;
    p->next = processes;
    return processes = p;
}

/* The LWP `id` of p; makes a record if there is none.  The list is in the order of the ids. */
static struct lwp *lwp_of(struct process *p, int id)
{
    struct lwp **at = &p->lwps, *l;

    while (*at != NULL && (*at)->id < id)
        at = &(*at)->next;
    if (*at != NULL && (*at)->id == id)
        return *at;
    l = need(calloc(1, sizeof *l));
    l->id = id;
    l->next = *at;
    return *at = l;
}

/* Forgets all LWPs except `keep` (0: all). */
static void drop_lwps(struct process *p, int keep)
{
    struct lwp **at = &p->lwps, *l;

    while ((l = *at) != NULL) {
        if (l->id == keep) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        free(l);
    }
}

static void drop_process(struct process *p)
{
    struct process **at = &processes;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    drop_lwps(p, 0);
    free(p->ended);
    free(p);
}

/* The sum of what all LWPs of p have used, as far as it is known. */
static struct fp_counts total_of(const struct process *p)
{
    struct fp_counts sum = p->total;

    for (const struct lwp *l = p->lwps; l != NULL; l = l->next)
        cpc_sum(&sum, &l->used);
    return sum;
}

/* ---- events ---- */

/*
 * Prints and forgets the LWP that ended last.  `event` is the name of the line: whether other LWPs of the process still
 * run is known only now.  NULL: prints nothing.
 */
static void print_ended(struct process *p, const char *event)
{
    if (p->ended != NULL && event != NULL)
        line(p->ended_at, p->pid, p->ended->id, event, &p->ended->used);
    free(p->ended);
    p->ended = NULL;
}

static void lwp_begins(const struct event *e)
{
    struct process *p = process_of(e->pid), *parent = process_of(e->ppid);

    if (p == NULL) {
        p = add_process(e->pid, follow_fork && parent != NULL && parent->tracked);
        if (p->tracked && verbose) {
            place(e->time, e->ppid, 1, "fork");
            fprintf(out, " %9s %9s # %d\n", "", "", e->pid);
            line(e->time, e->pid, e->lwp, "init_lwp", &e->used);
        }
    } else if (p->tracked) {
        print_ended(p, "lwp_exit");
        line(e->time, e->pid, e->lwp, "lwp_create", &e->used);
    }
    lwp_of(p, e->lwp);
}

static void lwp_ends(const struct event *e)
{
    struct process *p = process_of(e->pid);
    struct lwp **at, *l;

    if (p == NULL)
        return;
    l = lwp_of(p, e->lwp);
    cpc_difference(&l->used, &e->used, &l->base);
    cpc_sum(&p->total, &l->used);
    for (at = &p->lwps; *at != l; at = &(*at)->next)
        ;
    *at = l->next;
    print_ended(p, p->tracked ? "lwp_exit" : NULL);
    p->ended = l;
    p->ended_at = e->time;
}

static void process_ends(const struct event *e)
{
    struct process *p = process_of(e->pid);
    struct fp_counts all;

    if (p == NULL)
        return;
    if (p->tracked) {
        print_ended(p, verbose ? "fini_lwp" : NULL);
        all = total_of(p);
        totals(e->time, p, e->lwp, "exit", &all);
    }
    drop_process(p);
}

/* An exec.  The first one of our child is the begin of the command. */
static void program_begins(const struct event *e, pid_t command)
{
    struct process *p = process_of(e->pid);
    struct fp_counts all;
    struct lwp *l;

    if (p == NULL && e->pid == command) {
        l = lwp_of(add_process(e->pid, true), e->lwp);
        l->base = l->before = e->used;
        if (verbose)
            line(e->time, e->pid, e->lwp, "init_lwp", &l->used);
        return;
    }
    if (p == NULL)
        return;
    /* the other LWPs have ended, and the one that called exec now has the id 1 */
    drop_lwps(p, e->lwp);
    l = lwp_of(p, e->lwp);
    cpc_difference(&l->used, &e->used, &l->base);
    if (!p->tracked)
        return;
    print_ended(p, "lwp_exit");
    if (verbose)
        line(e->time, p->pid, e->lwp, "fini_lwp", &l->used);
    all = total_of(p);
    totals(e->time, p, e->lwp, "exec", &all);
    p->tracked = follow_exec;
    if (verbose) {
        place(e->time, p->pid, e->lwp, "exec");
        fprintf(out, " %9s %9s # '%s'\n", "", "", e->name);
        if (follow_exec)
            line(e->time, p->pid, e->lwp, "init_lwp", &l->used);
    }
}

/* Parses a line from the kernel.  Returns 0; -1 if it is not complete. */
static int parse(const char *text, struct event *e)
{
    uint64_t ns, *counter = (uint64_t *)&e->used;
    int at = 0;
    char *end;

    if (sscanf(text, "%15s %d %d %d %" SCNu64 "%n", e->what, &e->pid, &e->lwp, &e->ppid, &ns,
               &at) != 5)
        return -1;
    for (unsigned i = 0; i < NCOUNTERS; i++, at = (int)(end - text)) {
        counter[i] = strtoull(text + at, &end, 10);
        if (end == text + at)
            return -1;
    }
    e->time = (double)ns * 1e-9 - started;
    snprintf(e->name, sizeof e->name, "%.*s", (int)strcspn(text + at + 1, "\n"), text + at + 1);
    return 0;
}

static void handle(const char *text, pid_t command)
{
    struct event e;

    if (parse(text, &e) != 0)
        return;
    if (strcmp(e.what, "lwp_create") == 0)
        lwp_begins(&e);
    else if (strcmp(e.what, "lwp_exit") == 0)
        lwp_ends(&e);
    else if (strcmp(e.what, "exec") == 0)
        program_begins(&e, command);
    else if (strcmp(e.what, "exit") == 0)
        process_ends(&e);
}

/*
 * Prints a tick for each LWP of the tracked processes.  An LWP that has just ended is left out; its line is in the
 * pipe.
 */
static void tick(void)
{
    for (struct process *p = processes; p != NULL; p = p->next)
        for (struct lwp *l = p->tracked ? p->lwps : NULL; l != NULL; l = l->next) {
            struct fp_lwp q = {.pid = p->pid, .lwpid = l->id};
            struct fp_counts d;

            if (ioctl(device, FPIOC_LWP, &q) != 0 || q.lwpid != l->id)
                continue;
            cpc_difference(&d, &q.used, &l->before);
            cpc_difference(&l->used, &q.used, &l->base);
            l->before = q.used;
            line(cpc_now() - started, p->pid, l->id, "tick", &d);
        }
    current = (current + 1) % sets.count;
}

/* Reads lines until the pipe ends, `count` ticks are printed, or a signal arrives. */
static void watch(int fd, pid_t command, double interval, int count)
{
    char buf[16384];
    size_t have = 0;
    double next = started + interval;

    for (int ticks = 0; !interrupted && ticks != count;) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        double left = interval > 0 ? next - cpc_now() : 60;
        int ready = poll(&pfd, 1, left <= 0 ? 0 : (int)(left * 1000) + 1);
        char *at = buf, *end;
        ssize_t n;

        fflush(out);
        if (ready == 0 && interval > 0) {
            tick();
            ticks += processes != NULL; /* ticks before the begin of the command do not count */
            for (double now = cpc_now(); next <= now;)
                next += interval;
        }
        if (ready <= 0)
            continue;
        n = read(fd, buf + have, sizeof buf - have);
        if (n <= 0)
            return;
        for (have += (size_t)n; (end = memchr(at, '\n', have - (size_t)(at - buf))) != NULL;
             at = end + 1) {
            *end = '\0';
            handle(at, command);
        }
        have -= (size_t)(at - buf);
        memmove(buf, at, have);
    }
}

/* Starts the command, tracked into a pipe.  Returns the reading end; -1 after a message. */
static int start(char **command, pid_t *pid)
{
    int fd[2];

    if (pipe2(fd, O_CLOEXEC) != 0 || (*pid = fork()) < 0) {
        hr_perror("cputrack", "cannot start");
        return -1;
    }
    if (*pid == 0) {
        if (hr_call(SYS_track, fd[1], 0, 0, 0, 0, 0) < 0) {
            hr_perror("cputrack", "cannot track");
            _exit(126);
        }
        execvp(command[0], command);
        hr_call(SYS_track, -1, 0, 0, 0, 0, 0);
        hr_perror("cputrack", command[0]);
        _exit(127);
    }
    close(fd[1]);
    return fd[0];
}

int main(int argc, char **argv)
{
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = 0};
    const char *file = NULL;
    double interval = 1;
    bool header = true;
    int opt, fd, status, count = -1;
    pid_t pid;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "+c:efhnN:o:tT:v")) != -1) {
        if (opt == '?' || (opt == 'c' && cpc_add("cputrack", &sets, optarg) != 0))
            return opt == '?' ? usage() : 2;
        if (opt == 'h') {
            hr_synopsis(stdout, help, "usage: ", "       ");
            cpc_help(stdout);
            return 0;
        }
        follow_exec |= opt == 'e';
        follow_fork |= opt == 'f';
        verbose |= opt == 'v';
        sets.cycles |= opt == 't';
        header &= opt != 'n';
        file = opt == 'o' ? optarg : file;
        if ((opt == 'T' && cpc_interval(optarg, &interval) != 0) ||
            (opt == 'N' && hr_parse_int(optarg, 1, 1 << 30, &count) != 0)) {
            fprintf(stderr, "cputrack: -%c '%s': give %s\n", opt, optarg,
                    opt == 'T' ? "seconds, 0 to 86400" : "a number of samples, 1 to 1073741824");
            return 2;
        }
    }
    if (sets.count == 0 || optind == argc)
        return usage();
    if (cpc_start("cputrack") != 0)
        return 1;
    device = open("/dev/fireplane", O_RDONLY | O_CLOEXEC);
    out = file != NULL ? fopen(file, "we") : stdout;
    if (out == NULL || device < 0) {
        hr_perror("cputrack", out == NULL ? file : "/dev/fireplane");
        cpc_stop();
        return 1;
    }
    if (header) {
        fprintf(out, "   time ");
        fprintf(out, follow_fork ? "   pid lwp      event" : "lwp      event");
        cpc_header(out, &sets);
        fflush(out);
    }
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    started = cpc_now();
    fd = start(argv + optind, &pid);
    if (fd < 0) {
        cpc_stop();
        return 1;
    }
    signal(SIGINT, SIG_IGN); /* the command decides what Ctrl-C does */
    signal(SIGQUIT, SIG_IGN);
    watch(fd, pid, interval, count);
    fflush(out);
    cpc_stop();
    close(fd);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
