// SPDX-License-Identifier: MIT
/*
 * prstat.c - the processes or threads that use the machine most, in Solaris's layout.
 *
 * THEORY      All figures of a process or thread are in one file, its `status` in /proc, as of one moment.  The kernel
 *             computes the share of CPU, as a mean that decays: so the program keeps nothing between two reports, the
 *             first report is as good as the others, and processes may begin and end at any time.
 *             A process has no state of its own, its threads have.  If a process that used a CPU lately gets a line,
 *             its threads are read, too, and the line shows the state of one that runs or ran most.
 *             A name may contain any byte, so those that a terminal would obey are printed as question marks.
 * SEE ALSO    kernel/procfs/procfs_pid.c (status), docs/dispatcher.md, tests/test_prstat.py; Solaris prstat(1M)
 */
#include <sys/processor.h>

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"
#include "report.h"

enum {
    LINES = 15,        /* lines of processes where no screen limits them */
    USER_LINES = 5,    /* lines of users there */
    USER_PART = 4,     /* a quarter of a screen is for users */
    WHOLE_CPU = 10000, /* the unit of `recent` */
    PRI_RT = 100,      /* the least priority of class RT, which has no nice value */
    NAME_SHOWN = 16,   /* bytes of a name */
};

/* What `status` shows of a process or thread. */
struct entry {
    long pid, uid; /* uid: the effective one */
    long threads,
        lwpid; /* lwpid: what is printed behind the name, so for a process the number of threads */
    long size, rss; /* KiB */
    long cpu;       /* on which the thread runs; -1: on none */
    long pri, nice, home;
    long time;   /* of CPU, ms */
    long recent; /* share of CPU lately; WHOLE_CPU: one CPU */
    char state, name[32];
};

/* Sums over the processes of a user. */
struct user {
    long uid, count, size, rss, time, recent; /* count: processes, or threads with -L */
};

enum key { BY_CPU, BY_TIME, BY_SIZE, BY_RSS, BY_PRI, NKEYS };
static const char *const key_names[NKEYS] = {"cpu", "time", "size", "rss", "pri"};

/* The operand of -p or -u; n is 0 without that option, and then all are wanted. */
struct list {
    long *id;
    int n;
};

/* The options. */
static bool below, by_thread, show_home, show_users, users_only, ascending;
static enum key sort_key = BY_CPU;
static int max_lines, max_users; /* 0: as many as the screen has, or LINES and USER_LINES */
static struct list pids, uids;

/* The report. */
static struct entry *entry;
static struct user *user;
static size_t nentries, nusers, room, user_room;
static long nprocesses, nthreads;
static long ncpus, memory; /* on-line CPUs, memory in KiB */

static const char help[] HR_MANUAL =
    "NAME\n"
    "    prstat - show the processes or threads that use the machine most\n"
    "\n"
    "SYNOPSIS\n"
    "    prstat [-acHLt] [-n lines[,users]] [-p pid,...] [-s key | -S key]\n"
    "           [-u user,...] [interval [count]]\n"
    "\n"
    "DESCRIPTION\n"
    "    A report every 5 seconds, or every interval, until q or Ctrl-C is typed.\n"
    "    On a terminal it replaces the one before and is cut to the screen.\n"
    "    Columns: effective user, size of all mappings and of what is in memory,\n"
    "    state (cpu and its number, run: waits for a CPU, sleep, stop, zombie),\n"
    "    priority (0 to 59, real time from 100) and nice value, CPU time as\n"
    "    hours, minutes and seconds, the share of all CPUs of the machine, and\n"
    "    name and number of threads.  The share is a mean that decays by a\n"
    "    quarter each second: a thread that has just begun to run comes near its\n"
    "    full share in 10 seconds.\n"
    "    State, priority and home of a process are those of a thread that runs\n"
    "    or ran most lately, or of its first thread if none did.\n"
    "    Sums of users count pages that processes share more than once.\n"
    "\n"
    "OPTIONS\n"
    "    -a            also the sums of each user, below\n"
    "    -c            one report below the other\n"
    "    -H            also the home lgroup (column LGRP)\n"
    "    -L            a line for each thread, with its number behind the name\n"
    "    -n lines[,users]\n"
    "                  at most so many lines of processes, and of users\n"
    "    -p pids       these processes only\n"
    "    -s key        sort by cpu (default), time, size, rss or pri, most first\n"
    "    -S key        sort by key, least first\n"
    "    -t            the sums of each user only\n"
    "    -u users      processes with these effective users only: names or ids\n"
    "\n"
    "EXAMPLES\n"
    "    prstat -LH -p $$\n"
    "    prstat -a -n 10,3 2 5\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 no process of -p exists, or an error, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    lgrptop, plgrp, priocntl, docs/dispatcher.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

static void die(const char *what)
{
    hr_perror("prstat", what);
    exit(1);
}

/* ---- reading ---- */

static bool is_wanted(long id, const struct list *list)
{
    for (int i = 0; i < list->n; i++)
        if (list->id[i] == id)
            return true;
    return list->n == 0;
}

/* Takes one line of `status`, "name:<tab>value". */
static void take_line(struct entry *e, const char *name, char *value)
{
    static const struct {
        const char *name;
        size_t at;
    } number[] = {
        {"Tgid", offsetof(struct entry, pid)},
        {"VmSize", offsetof(struct entry, size)},
        {"VmRSS", offsetof(struct entry, rss)},
        {"Threads", offsetof(struct entry, threads)},
        {"Home_lgrp", offsetof(struct entry, home)},
        {"Lwpid", offsetof(struct entry, lwpid)},
        {"On_cpu", offsetof(struct entry, cpu)},
        {"Priority", offsetof(struct entry, pri)},
        {"Nice", offsetof(struct entry, nice)},
        {"Cpu_time", offsetof(struct entry, time)},
        {"Cpu_recent", offsetof(struct entry, recent)},
    };

    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        if (strcmp(name, number[i].name) == 0)
            *(long *)((char *)e + number[i].at) = strtol(value, NULL, 10);
    if (strcmp(name, "Name") == 0)
        snprintf(e->name, sizeof e->name, "%.*s", (int)strcspn(value, "\n"), value);
    else if (strcmp(name, "State") == 0)
        e->state = value[0];
    else if (strcmp(name, "Uid") == 0 && (value = strchr(value, '\t')) != NULL)
        e->uid = strtol(value, NULL, 10);
}

/* Reads a file `status`.  Returns false if its process or thread has ended. */
static bool read_status(const char *path, struct entry *e)
{
    FILE *f = fopen(path, "re");
    char line[256];

    *e = (struct entry){.cpu = -1, .home = -1};
    if (f == NULL)
        return false;
    while (fgets(line, sizeof line, f) != NULL) {
        char *value = strstr(line, ":\t");

        if (value != NULL) {
            *value = '\0';
            take_line(e, line, value + 2);
        }
    }
    fclose(f);
    return e->pid > 0;
}

/*
 * Calls fn for each thread of a process, until it returns false.  Threads that have ended meanwhile are left out.
 * Returns the number of calls.
 */
static int each_thread(long pid, bool (*fn)(const struct entry *, void *), void *arg)
{
    DIR *dir = opendir(hr_path("/proc/%ld/task", pid));
    struct dirent *d;
    struct entry e;
    bool more = true;
    int n = 0, tid;

    if (dir == NULL)
        return 0;
    while (more && (d = readdir(dir)) != NULL)
        if (hr_parse_int(d->d_name, 1, INT_MAX, &tid) == 0 &&
            read_status(hr_path("/proc/%ld/task/%d/status", pid, tid), &e)) {
            more = fn(&e, arg);
            n++;
        }
    closedir(dir);
    return n;
}

/* Makes place for one more element of `size` bytes in a list of n. */
static void *grow(void *list, size_t n, size_t *have, size_t size)
{
    if (n < *have)
        return list;
    *have = *have * 2 + 64;
    list = reallocarray(list, *have, size);
    if (list == NULL)
        die("list of processes");
    return list;
}

static bool add_entry(const struct entry *e, void *arg)
{
    entry = grow(entry, nentries, &room, sizeof *entry);
    entry[nentries++] = *e;
    return true;
}

static void add_to_user(const struct entry *e)
{
    struct user *u = user;

    while (u < user + nusers && u->uid != e->uid)
        u++;
    if (u == user + nusers) {
        user = grow(user, nusers, &user_room, sizeof *user);
        u = &user[nusers++];
        *u = (struct user){.uid = e->uid};
    }
    u->count += by_thread ? e->threads : 1;
    u->size += e->size;
    u->rss += e->rss;
    u->time += e->time;
    u->recent += e->recent;
}

static void take_process(int pid)
{
    struct entry e;

    if (!read_status(hr_path("/proc/%d/status", pid), &e) || !is_wanted(e.uid, &uids))
        return;
    nprocesses++;
    nthreads += e.threads;
    add_to_user(&e);
    if (users_only || (by_thread && each_thread(pid, add_entry, NULL) > 0))
        return;
    /* A zombie has no thread any more, and gets its line also with -L. */
    e.lwpid = e.threads;
    add_entry(&e, NULL);
}

static void take_processes(void)
{
    DIR *dir = opendir(hr_path("/proc"));
    struct dirent *d;
    int pid;

    nentries = nusers = 0;
    nprocesses = nthreads = 0;
    if (dir == NULL)
        die("/proc");
    while ((d = readdir(dir)) != NULL)
        if (hr_parse_int(d->d_name, 1, INT_MAX, &pid) == 0 && is_wanted(pid, &pids))
            take_process(pid);
    closedir(dir);
}

static void take_machine(void)
{
    FILE *f = fopen(hr_path("/proc/meminfo"), "re");

    ncpus = 0;
    for (int cpu = 0; cpu < HR_MAXCPU; cpu++) {
        int state = p_online(cpu, P_STATUS);

        ncpus += state == P_ONLINE || state == P_NOINTR;
    }
    memory = 0;
    if (f != NULL && fscanf(f, "MemTotal: %ld", &memory) != 1)
        memory = 0;
    if (f != NULL)
        fclose(f);
}

/* Whether thread a tells more about its process than thread b: it runs, it waits, it ran more lately. */
static bool tells_more(const struct entry *a, const struct entry *b)
{
    if ((a->cpu >= 0) != (b->cpu >= 0))
        return a->cpu >= 0;
    if ((a->state == 'R') != (b->state == 'R'))
        return a->state == 'R';
    return a->recent > b->recent;
}

static bool take_if_it_tells_more(const struct entry *thread, void *arg)
{
    struct entry *best = arg;

    if (best->lwpid == 0 || tells_more(thread, best))
        *best = *thread;
    return best->cpu < 0;
}

/* Whether the first thread may not speak for the process: another may have run lately, or the first one has ended. */
static bool is_several(const struct entry *e)
{
    return (e->threads > 1 && e->recent > 0) || e->state == 'Z';
}

/* Sets state, priority and home of a process to those of one of its threads. */
static void choose_thread(struct entry *e)
{
    struct entry best = {0};

    if (each_thread(e->pid, take_if_it_tells_more, &best) == 0)
        return;
    e->state = best.state;
    e->cpu = best.cpu;
    e->pri = best.pri;
    e->home = best.home;
}

/* ---- sorting ---- */

static long key_of(const struct entry *e)
{
    switch (sort_key) {
    case BY_TIME:
        return e->time;
    case BY_SIZE:
        return e->size;
    case BY_RSS:
        return e->rss;
    case BY_PRI:
        return e->pri;
    default:
        return e->recent;
    }
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    long one = key_of(x), other = key_of(y);

    if (one != other)
        return (one < other) == ascending ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->lwpid < y->lwpid ? -1 : 1;
}

static int compare_users(const void *a, const void *b)
{
    const struct user *x = a, *y = b;

    if (x->recent != y->recent)
        return x->recent > y->recent ? -1 : 1;
    return x->uid < y->uid ? -1 : 1;
}

/* ---- printing ---- */

/* Solaris's form: "3416K", from 10,000K on in M, from 10,000M on in G. */
static char *size_text(char *buf, size_t size, long kib)
{
    char unit = 'K';

    if (kib >= 10000) {
        kib = (kib + 512) / 1024;
        unit = 'M';
        if (kib >= 10000) {
            kib = (kib + 512) / 1024;
            unit = 'G';
        }
    }
    snprintf(buf, size, "%4ld%c", kib, unit);
    return buf;
}

static char *time_text(char *buf, size_t size, long ms)
{
    long s = ms / 1000;

    snprintf(buf, size, "%3ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    return buf;
}

/* A share of a whole in percent: "0.2", "25"; not more than 100. */
static char *share_text(char *buf, size_t size, long part, long whole)
{
    double percent = whole > 0 ? 100.0 * (double)part / (double)whole : 0;

    if (percent > 100)
        percent = 100;
    snprintf(buf, size, percent < 9.95 ? "%.1f" : "%.0f", percent);
    return buf;
}

static const char *state_text(char *buf, size_t size, const struct entry *e)
{
    switch (e->state) {
    case 'R':
        if (e->cpu < 0)
            return "run";
        snprintf(buf, size, "cpu%ld", e->cpu);
        return buf;
    case 'T':
    case 't':
        return "stop";
    case 'Z':
        return "zombie";
    default:
        return "sleep";
    }
}

static const char *user_name(char *buf, size_t size, long uid)
{
    struct passwd *pw = getpwuid((uid_t)uid);

    if (pw != NULL)
        return pw->pw_name;
    snprintf(buf, size, "%ld", uid);
    return buf;
}

static void print_heading(FILE *out)
{
    fprintf(out, "   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU%s PROCESS/%s\n",
            show_home ? " LGRP" : "", by_thread ? "LWPID" : "NLWP");
}

static void print_entry(FILE *out, const struct entry *e)
{
    char name[NAME_SHOWN + 1], nice[24] = "-", home[24] = "-";
    char u[24], size[24], rss[24], state[24], used[24], share[24];

    for (int i = 0; i <= NAME_SHOWN; i++)
        name[i] =
            (char)(e->name[i] == '\0' || isprint((unsigned char)e->name[i]) ? e->name[i] : '?');
    name[NAME_SHOWN] = '\0';
    if (e->pri < PRI_RT && e->state != 'Z')
        snprintf(nice, sizeof nice, "%ld", e->nice);
    if (e->home >= 0)
        snprintf(home, sizeof home, "%ld", e->home);
    fprintf(out, "%6ld %-8.8s %5s %5s %-6s %3ld  %3s %9s %3s%%", e->pid,
            user_name(u, sizeof u, e->uid), size_text(size, sizeof size, e->size),
            size_text(rss, sizeof rss, e->rss), state_text(state, sizeof state, e), e->pri, nice,
            time_text(used, sizeof used, e->time),
            share_text(share, sizeof share, e->recent, ncpus * WHOLE_CPU));
    if (show_home)
        fprintf(out, " %4s", home);
    fprintf(out, " %s/%ld\n", name, e->lwpid);
}

static void print_users(FILE *out, int lines)
{
    fprintf(out, "%6s USERNAME  SIZE   RSS MEMORY      TIME  CPU\n", by_thread ? "NLWP" : "NPROC");
    for (size_t i = 0; i < nusers && i < (size_t)lines; i++) {
        char name[24], size[24], rss[24], share[24], used[24], cpu[24];

        fprintf(out, "%6ld %-8.8s %5s %5s   %3s%% %9s %3s%%\n", user[i].count,
                user_name(name, sizeof name, user[i].uid),
                size_text(size, sizeof size, user[i].size), size_text(rss, sizeof rss, user[i].rss),
                share_text(share, sizeof share, user[i].rss, memory),
                time_text(used, sizeof used, user[i].time),
                share_text(cpu, sizeof cpu, user[i].recent, ncpus * WHOLE_CPU));
    }
}

static void print_total(FILE *out)
{
    FILE *f = fopen(hr_path("/proc/loadavg"), "re");
    double load[3] = {0};

    if (f != NULL) {
        if (fscanf(f, "%lf %lf %lf", &load[0], &load[1], &load[2]) != 3)
            memset(load, 0, sizeof load);
        fclose(f);
    }
    fprintf(out, "Total: %ld processes, %ld lwps, load averages: %3.2f, %3.2f, %3.2f\n", nprocesses,
            nthreads, load[0], load[1], load[2]);
}

/* The number of lines for users.  `screen`: lines of the screen without that of the totals; 0: no screen. */
static int lines_for_users(int screen)
{
    int lines = max_users;

    if (lines == 0 && screen == 0)
        lines = users_only ? LINES : USER_LINES;
    else if (lines == 0)
        lines = users_only ? screen - 1 : screen / USER_PART;
    if (lines < 1)
        lines = 1;
    return nusers < (size_t)lines ? (int)nusers : lines;
}

static void print_report(FILE *out, int screen)
{
    int users = 0, lines = max_lines > 0 ? max_lines : LINES;

    screen -= screen > 0; /* the line of the totals */
    if (show_users || users_only)
        users = lines_for_users(screen);
    if (screen > 0 && max_lines == 0)
        lines = screen - 1 - (show_users ? users + 1 : 0);
    if (!users_only) {
        qsort(entry, nentries, sizeof *entry, compare_entries);
        print_heading(out);
        for (int i = 0; i < lines && (size_t)i < nentries; i++) {
            if (!by_thread && is_several(&entry[i]))
                choose_thread(&entry[i]);
            print_entry(out, &entry[i]);
        }
    }
    if (show_users || users_only) {
        qsort(user, nusers, sizeof *user, compare_users);
        print_users(out, users);
    }
    print_total(out);
}

/* ---- the command line ---- */

static int parse_pid(const char *word, long *pid)
{
    int number;

    if (hr_parse_int(word, 1, INT_MAX, &number) != 0)
        return -1;
    *pid = number;
    return 0;
}

static int parse_user(const char *word, long *uid)
{
    struct passwd *pw = getpwnam(word);
    int number;

    if (pw != NULL) {
        *uid = (long)pw->pw_uid;
        return 0;
    }
    if (hr_parse_int(word, 0, INT_MAX, &number) != 0)
        return -1;
    *uid = number;
    return 0;
}

/* Parses "1,2 3" with `parse`.  Ends the program after a message if a word is wrong: `what` it is, and a `remedy`. */
static void parse_list(char *text, struct list *list, int (*parse)(const char *, long *),
                       const char *what, const char *remedy)
{
    char *word;

    list->id = calloc(strlen(text) + 1, sizeof *list->id);
    list->n = 0;
    if (list->id == NULL)
        die("option");
    while ((word = strsep(&text, ", ")) != NULL)
        if (parse(word, &list->id[list->n++]) != 0) {
            fprintf(stderr, "prstat: %s %s (%s)\n", what, word, remedy);
            usage();
        }
}

static void parse_key(const char *word, bool least_first)
{
    ascending = least_first;
    for (sort_key = 0; sort_key < NKEYS; sort_key++)
        if (strcmp(word, key_names[sort_key]) == 0)
            return;
    fprintf(stderr, "prstat: invalid sort key -- %s (keys are cpu, time, size, rss and pri)\n",
            word);
    usage();
}

static void parse_lines(char *text)
{
    char *lines = strsep(&text, ",");

    if (hr_parse_int(lines, 1, INT_MAX, &max_lines) == 0 &&
        (text == NULL || hr_parse_int(text, 1, INT_MAX, &max_users) == 0))
        return;
    fprintf(stderr, "prstat: invalid argument for -n (numbers of lines and users are 1 to %d)\n",
            INT_MAX);
    usage();
}

static void parse_options(int argc, char **argv)
{
    int opt;

    while ((opt = getopt(argc, argv, "acHLn:p:s:S:tu:")) != -1) {
        switch (opt) {
        case 'a':
            show_users = true;
            break;
        case 'c':
            below = true;
            break;
        case 'H':
            show_home = true;
            break;
        case 'L':
            by_thread = true;
            break;
        case 'n':
            parse_lines(optarg);
            break;
        case 'p':
            parse_list(optarg, &pids, parse_pid, "invalid process ID", "ps lists the processes");
            break;
        case 's':
        case 'S':
            parse_key(optarg, opt == 'S');
            break;
        case 't':
            users_only = true;
            break;
        case 'u':
            parse_list(optarg, &uids, parse_user, "unknown user --", "/etc/passwd lists the users");
            break;
        default:
            usage();
        }
    }
    if (show_users && users_only) {
        fprintf(stderr, "prstat: -t option cannot be used with -a\n");
        usage();
    }
    if (users_only && max_users == 0)
        max_users = max_lines;
}

/* Reports each process of -p that does not exist.  Returns whether none exists. */
static bool none_exists(void)
{
    int found = 0;

    for (int i = 0; i < pids.n; i++) {
        if (access(hr_path("/proc/%ld", pids.id[i]), F_OK) == 0)
            found++;
        else
            fprintf(stderr, "prstat: process %ld: No such process\n", pids.id[i]);
    }
    return pids.n > 0 && found == 0;
}

int main(int argc, char **argv)
{
    FILE *out;
    int screen;

    hr_help(argv, help);
    parse_options(argc, argv);
    if (hr_report_args("prstat", argv + optind) != 0)
        usage();
    if (none_exists())
        return 1;
    hr_report_start(below);
    do {
        take_machine();
        take_processes();
        out = hr_report_open(&screen);
        print_report(out, screen);
    } while (hr_report_show());
    return 0;
}
