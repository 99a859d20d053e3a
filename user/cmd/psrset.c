// SPDX-License-Identifier: MIT
/*
 * psrset.c - creates, fills, shows and destroys processor sets, binds processes to them, keeps interrupts away from
 * their CPUs.
 *
 * THEORY      One option says what to do; its operands say with which CPUs, processes or sets.  First the program
 *             checks that all operands are numbers or ranges, and that the set which the option names exists.  Then it
 *             handles each operand separately.  If one fails, it prints the reason and goes on with the others (status
 *             1).  But it does not leave a new set empty if processors were named for it.  The words and the order of
 *             the lines are Solaris's.
 *             LWPs of another process are named pid/lwps, as in 411/2,4-8; -4 means up to 4, 4- means from 4 up.
 * SEE ALSO    user/include/sys/pset.h, docs/psets.md, tests/test_commands.py
 */
#include <sys/pset.h>

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

enum { MAX_SETS = 2 * HR_MAXCPU, MAX_LWPS = 4096, MAX_ID = 1 << 30 };

static bool forced;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    psrset - make, show and change processor sets\n"
    "\n"
    "SYNOPSIS\n"
    "    psrset -c [-F] [processor_id ...]\n"
    "    psrset -d processor_set_id ...\n"
    "    psrset -n processor_set_id\n"
    "    psrset -f processor_set_id\n"
    "    psrset -e processor_set_id command [argument(s)...]\n"
    "    psrset -a [-F] processor_set_id processor_id ...\n"
    "    psrset -r [-F] processor_id ...\n"
    "    psrset -p [processor_id ...]\n"
    "    psrset -b processor_set_id pid[/lwpids] ...\n"
    "    psrset -u pid[/lwpids] ...\n"
    "    psrset -q [pid[/lwpids] ...]\n"
    "    psrset -U [processor_set_id] ...\n"
    "    psrset -Q [processor_set_id] ...\n"
    "    psrset [-i] [processor_set_id ...]\n"
    "\n"
    "DESCRIPTION\n"
    "    A processor set is a group of CPUs on which only threads run that are\n"
    "    bound to it.  Such threads run nowhere else.  CPUs are numbers and ranges\n"
    "    (1-4); lwpids are numbers and ranges with commas between them (2,4-8).\n"
    "    All operands are checked before anything is done.  Then each is done by\n"
    "    itself.\n"
    "\n"
    "OPTIONS\n"
    "    -a            assign CPUs to a set\n"
    "    -b            bind processes, or LWPs, to a set\n"
    "    -c            create a set, of these CPUs\n"
    "    -d            destroy sets\n"
    "    -e            run a command in a set\n"
    "    -f            no interrupts of devices on the CPUs of the set\n"
    "    -F            unbind LWPs from the CPUs first\n"
    "    -i            show the CPUs of sets, as without options\n"
    "    -n            interrupts again\n"
    "    -p            show the sets of CPUs\n"
    "    -q            show the sets to which processes are bound\n"
    "    -Q            show the LWPs that are bound to sets\n"
    "    -r            take CPUs out of their sets\n"
    "    -u            unbind processes, or LWPs\n"
    "    -U            unbind all LWPs from sets\n"
    "\n"
    "EXAMPLES\n"
    "    psrset -c 4-7\n"
    "    psrset -e 1 memcopy -t 4\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 something failed, 2 wrong command line or a failed -e\n"
    "\n"
    "SEE ALSO\n"
    "    pbind, psradm, mpstat, docs/psets.md\n";

static void usage(void)
{
    hr_synopsis(stderr, help, "usage:\n\t", "\t");
    fprintf(stderr, "\tpsrset --help tells more\n");
    exit(2);
}

static void must_specify(const char *what)
{
    fprintf(stderr, "psrset: must specify %s\n", what);
    usage();
}

/* Prints what could not be done, with the reason in errno.  Returns 1. */
static int failed(const char *format, int number)
{
    char what[64];
    int error = errno;

    snprintf(what, sizeof what, format, number);
    errno = error;
    hr_perror("psrset", what);
    return 1;
}

static psetid_t parse_set(const char *text)
{
    int set;

    if (hr_parse_int(text, 0, MAX_ID, &set) != 0) {
        fprintf(stderr, "psrset: invalid processor set ID %s (psrset -i lists the sets)\n", text);
        exit(2);
    }
    return set;
}

/* Prints that there is no such set.  Returns 1. */
static int no_set(psetid_t set)
{
    fprintf(stderr, "psrset: processor set %d: Invalid argument (psrset -i lists the sets)\n", set);
    return 1;
}

static const char *name_set(psetid_t set, const char *none, char buf[16])
{
    if (set == PS_NONE)
        return none;
    snprintf(buf, 16, "%d", set);
    return buf;
}

/* ---- CPUs ---- */

typedef int (*cpu_fn)(processorid_t cpu, psetid_t set);

static int query_cpu(processorid_t cpu, psetid_t set)
{
    char name[16];
    psetid_t old;

    (void)set;
    if (pset_assign(PS_QUERY, cpu, &old) != 0)
        return failed("cannot query processor %d", cpu);
    printf("processor %d: %s\n", cpu, name_set(old, "not assigned", name));
    return 0;
}

static int assign_cpu(processorid_t cpu, psetid_t set)
{
    char was[16], is[16];
    psetid_t old;

    if ((forced ? pset_assign_forced : pset_assign)(set, cpu, &old) != 0)
        return failed(set == PS_NONE ? "cannot remove processor %d" : "cannot assign processor %d",
                      cpu);
    printf("processor %d: was %s, now %s\n", cpu, name_set(old, "not assigned", was),
           name_set(set, "not assigned", is));
    return 0;
}

static void parse_cpus(const char *text, int *first, int *last)
{
    if (hr_parse_cpus(text, first, last) == 0)
        return;
    fprintf(stderr, "psrset: invalid processor ID %s (psrinfo lists the processors)\n", text);
    exit(2);
}

/* Calls fn for a CPU, or for the CPUs that exist in a range. */
static int for_cpus(const char *text, cpu_fn fn, psetid_t set)
{
    int first, last, status = 0;

    parse_cpus(text, &first, &last);
    if (hr_cpus_exist("psrset", text, first, last) != 0)
        return 1;
    for (int cpu = first; cpu <= last && cpu < HR_MAXCPU; cpu++)
        if (p_online(cpu, P_STATUS) >= 0)
            status |= fn(cpu, set);
    return status;
}

/* Checks that each operand names a CPU.  Returns 0; 1 after a message. */
static int check_cpus(char **operand)
{
    int first, last;

    for (; *operand != NULL; operand++) {
        parse_cpus(*operand, &first, &last);
        if (hr_cpus_exist("psrset", *operand, first, last) != 0)
            return 1;
    }
    return 0;
}

static int for_all_cpus(char **operand, cpu_fn fn, psetid_t set)
{
    int status = 0;

    for (; *operand != NULL; operand++)
        status |= for_cpus(*operand, fn, set);
    return status;
}

/* Prints the CPUs that are in a set. */
static int query_assigned(void)
{
    int status = 0;
    psetid_t set;

    for (int cpu = 0; cpu < HR_MAXCPU; cpu++)
        if (pset_assign(PS_QUERY, cpu, &set) == 0 && set != PS_NONE)
            status |= query_cpu(cpu, 0);
    return status;
}

/* ---- LWPs ---- */

typedef int (*lwp_fn)(pid_t pid, int lwp, psetid_t set); /* lwp 0: the whole process */

static const char *what_name(pid_t pid, int lwp, char buf[48])
{
    if (lwp == 0)
        snprintf(buf, 48, "process id %d", (int)pid);
    else
        snprintf(buf, 48, "lwp id %d/%d", (int)pid, lwp);
    return buf;
}

/* Binds one process or LWP, or asks for its binding (PS_QUERY), and prints the result. */
static int bind_lwp(pid_t pid, int lwp, psetid_t set)
{
    char name[48], was[16], is[16];
    psetid_t old;
    int err = lwp == 0 ? pset_bind(set, P_PID, (id_t)pid, &old)
                       : pset_bind_lwp(set, (id_t)lwp, pid, &old);

    if (err != 0)
        return failed(set == PS_QUERY  ? "cannot query pid %d"
                      : set == PS_NONE ? "cannot unbind pid %d"
                                       : "cannot bind pid %d",
                      (int)pid);
    if (set == PS_QUERY)
        printf("%s: %s\n", what_name(pid, lwp, name), name_set(old, "not bound", was));
    else
        printf("%s: was %s, now %s\n", what_name(pid, lwp, name), name_set(old, "not bound", was),
               name_set(set, "not bound", is));
    return 0;
}

/* Parses a range: "2", "4-8", "-4", "4-".  Returns 0 or -1. */
static int parse_range(char *text, int *first, int *last)
{
    char *dash = strchr(text, '-');

    *first = 1;
    *last = MAX_ID;
    if (dash == NULL) {
        if (hr_parse_int(text, 1, MAX_ID, first) != 0)
            return -1;
        *last = *first;
        return 0;
    }
    *dash++ = '\0';
    if ((*text == '\0' && *dash == '\0') ||
        (*text != '\0' && hr_parse_int(text, 1, MAX_ID, first) != 0) ||
        (*dash != '\0' && hr_parse_int(dash, 1, MAX_ID, last) != 0))
        return -1;
    return 0;
}

/*
 * Splits pid[/lwps] in `copy` into *pid and *lwps (NULL: the process).  Ends the program after a message if it is
 * neither.
 */
static void parse_lwps(const char *text, char copy[128], int *pid, char **lwps)
{
    char parts[128], *rest = parts, *part;
    int first, last;

    snprintf(copy, 128, "%s", text);
    *lwps = strchr(copy, '/');
    if (*lwps != NULL)
        *(*lwps)++ = '\0';
    if (hr_parse_int(copy, 1, MAX_ID, pid) != 0) {
        fprintf(stderr, "psrset: invalid process ID %s (ps lists the processes)\n", text);
        exit(2);
    }
    snprintf(parts, sizeof parts, "%s", *lwps != NULL ? *lwps : "1");
    while ((part = strsep(&rest, ",")) != NULL)
        if (parse_range(part, &first, &last) != 0) {
            fprintf(stderr, "psrset: invalid lwp ID %s (write pid/2,4-8)\n", text);
            exit(2);
        }
}

/* Handles an operand, pid or pid/lwps. */
static int for_lwps(const char *text, psetid_t set)
{
    static int lwps[MAX_LWPS];
    char copy[128], *list;
    int pid, first, last, n, status = 0;

    parse_lwps(text, copy, &pid, &list);
    if (list == NULL)
        return bind_lwp(pid, 0, set);
    if ((n = hr_lwps(pid, lwps, MAX_LWPS)) < 0)
        return failed(set == PS_QUERY ? "cannot query pid %d" : "cannot bind pid %d", pid);
    for (char *part = strtok(list, ","); part != NULL && parse_range(part, &first, &last) == 0;
         part = strtok(NULL, ",")) {
        bool any = false;

        for (int i = 0; i < n; i++)
            if (lwps[i] >= first && lwps[i] <= last) {
                any = true;
                status |= bind_lwp(pid, lwps[i], set);
            }
        if (!any) {
            errno = ESRCH;
            status = failed(set == PS_QUERY ? "cannot query pid %d" : "cannot bind pid %d", pid);
        }
    }
    return status;
}

/* Calls fn for each process. */
static int for_processes(int (*fn)(pid_t pid, psetid_t set), psetid_t set)
{
    DIR *dir = opendir(hr_path("/proc"));
    struct dirent *entry;
    int pid, status = 0;

    if (dir == NULL)
        return failed("cannot read /proc", 0);
    while ((entry = readdir(dir)) != NULL)
        if (hr_parse_int(entry->d_name, 1, MAX_ID, &pid) == 0)
            status |= fn(pid, set);
    closedir(dir);
    return status;
}

static int show_if_bound(pid_t pid, psetid_t set)
{
    char name[16];
    psetid_t in;

    (void)set;
    if (pset_bind(PS_QUERY, P_PID, (id_t)pid, &in) == 0 && in != PS_NONE)
        printf("process id %d: %s\n", (int)pid, name_set(in, "", name));
    return 0;
}

/* Calls fn for each LWP of a process that is in `set`, or with PS_MYID in any set. */
static int for_bound_lwps(pid_t pid, psetid_t set, lwp_fn fn, psetid_t to)
{
    static int lwps[MAX_LWPS];
    int n = hr_lwps(pid, lwps, MAX_LWPS), status = 0;
    psetid_t in;

    for (int i = 0; i < n; i++)
        if (pset_bind_lwp(PS_QUERY, (id_t)lwps[i], pid, &in) == 0 && in != PS_NONE &&
            (set == PS_MYID || in == set))
            status |= fn(pid, lwps[i], to);
    return status;
}

static int show_lwps(pid_t pid, psetid_t set)
{
    return for_bound_lwps(pid, set, bind_lwp, PS_QUERY);
}

static int unbind_quietly(pid_t pid, int lwp, psetid_t set)
{
    if (pset_bind_lwp(set, (id_t)lwp, pid, NULL) == 0 || errno == ESRCH)
        return 0;
    return failed("cannot unbind pid %d", (int)pid);
}

static int unbind_lwps(pid_t pid, psetid_t set)
{
    return for_bound_lwps(pid, set, unbind_quietly, PS_NONE);
}

/* -Q, -U: handles the LWPs of the named sets, or of all sets. */
static int for_sets_lwps(char **operand, int (*fn)(pid_t pid, psetid_t set))
{
    int status = 0;

    if (*operand == NULL)
        return for_processes(fn, PS_MYID);
    for (; *operand != NULL; operand++) {
        psetid_t set = parse_set(*operand);

        if (pset_info(set, NULL, NULL, NULL) != 0)
            status = no_set(set);
        else
            status |= for_processes(fn, set);
    }
    return status;
}

/* ---- sets ---- */

static int show_set(psetid_t set)
{
    processorid_t list[HR_MAXCPU];
    uint_t n = HR_MAXCPU;
    int type;

    if (pset_info(set, &type, &n, list) != 0)
        return no_set(set);
    printf("%s processor set %d:", type == PS_SYSTEM ? "system" : "user", set);
    printf(n == 0 ? " empty" : n == 1 ? " processor" : " processors");
    for (uint_t i = 0; i < n && i < HR_MAXCPU; i++)
        printf(" %d", list[i]);
    printf("\n");
    return 0;
}

static int show_sets(char **operand)
{
    psetid_t list[MAX_SETS];
    uint_t n = MAX_SETS;
    int status = 0;

    for (char **o = operand; *o != NULL; o++)
        status |= show_set(parse_set(*o));
    if (*operand == NULL) {
        if (pset_list(list, &n) != 0)
            return failed("cannot get list of processor sets", 0);
        for (uint_t i = 0; i < n && i < MAX_SETS; i++)
            status |= show_set(list[i]);
    }
    return status;
}

static int create(char **cpus)
{
    processorid_t list[HR_MAXCPU];
    psetid_t set;
    uint_t n = HR_MAXCPU;
    int status;

    if (pset_create(&set) != 0)
        return failed("could not create processor set", 0);
    printf("created processor set %d\n", set);
    status = for_all_cpus(cpus, assign_cpu, set);
    if (status != 0 && pset_info(set, NULL, &n, list) == 0 && n == 0 && pset_destroy(set) == 0)
        printf("removed processor set %d\n", set);
    return status;
}

static int destroy(char **operand)
{
    int status = 0;

    for (char **o = operand; *o != NULL; o++)
        if (pset_info(parse_set(*o), NULL, NULL, NULL) != 0)
            /* all operands are checked before the first set is destroyed */
            return no_set(parse_set(*o));
    for (; *operand != NULL; operand++) {
        psetid_t set = parse_set(*operand);

        if (pset_destroy(set) != 0)
            status =
                errno == EINVAL ? no_set(set) : failed("could not remove processor set %d", set);
        else
            printf("removed processor set %d\n", set);
    }
    return status;
}

/* -f, -n: the state belongs to each CPU, not to the set. */
static int set_interrupts(psetid_t set, int wanted)
{
    processorid_t list[HR_MAXCPU];
    uint_t n = HR_MAXCPU;
    int status = 0;

    if (pset_info(set, NULL, &n, list) != 0)
        return failed("cannot set interrupt status for processor set %d", set);
    for (uint_t i = 0; i < n && i < HR_MAXCPU; i++) {
        int state = p_online(list[i], P_STATUS);

        if (state != P_OFFLINE && state != P_POWEROFF && state != wanted &&
            p_online(list[i], wanted) < 0)
            status = failed("processor %d", list[i]);
    }
    return status;
}

static int run_in(psetid_t set, char **command)
{
    char what[128];

    if (pset_bind(set, P_PID, (id_t)P_MYID, NULL) != 0) {
        failed("cannot exec in processor set %d", set);
        return 2;
    }
    execvp(command[0], command);
    snprintf(what, sizeof what, "%s: cannot exec in processor set %d", command[0], set);
    hr_perror("psrset", what);
    return 2;
}

/* ---- options ---- */

/* Ends the program after a message if an operand is not of the kind that the option `what` takes. */
static void check_operands(int what, char **operand)
{
    char copy[128], *lwps;
    int first, last, pid;

    for (; *operand != NULL; operand++) {
        if (strchr("acpr", what) != NULL)
            parse_cpus(*operand, &first, &last);
        else if (strchr("bqu", what) != NULL)
            parse_lwps(*operand, copy, &pid, &lwps);
        else if (strchr("diQU", what) != NULL)
            (void)parse_set(*operand);
    }
}

/* Checks that the set that the option names exists, and has CPUs to run on (-b, -e).  Returns 0; 1 after a message. */
static int check_set(int what, psetid_t set)
{
    processorid_t list[HR_MAXCPU];
    uint_t n = HR_MAXCPU;

    if (pset_info(set, NULL, &n, list) != 0)
        return no_set(set);
    if (n > 0 || strchr("be", what) == NULL)
        return 0;
    fprintf(stderr, "psrset: processor set %d is empty (psrset -a %d processor_id fills it)\n", set,
            set);
    return 1;
}

static int act(int what, char **operand)
{
    bool takes_set = strchr("abefn", what) != NULL;
    psetid_t set = PS_NONE;
    int status = 0;

    if (forced && strchr("acr", what) == NULL)
        usage();
    if ((takes_set || what == 'd') && *operand == NULL)
        must_specify("a processor set");
    if (takes_set)
        set = parse_set(*operand++);
    if (strchr("ar", what) != NULL && *operand == NULL)
        must_specify("at least one processor");
    if (strchr("bu", what) != NULL && *operand == NULL)
        must_specify("at least one pid");
    if (what == 'e' && *operand == NULL)
        must_specify("command");
    if (strchr("fn", what) != NULL && *operand != NULL)
        usage();
    check_operands(what, operand);
    if (takes_set && check_set(what, set) != 0)
        return what == 'e' ? 2 : 1;
    if (strchr("acr", what) != NULL && check_cpus(operand) != 0)
        return 1;
    switch (what) {
    case 'a':
        return for_all_cpus(operand, assign_cpu, set);
    case 'r':
        return for_all_cpus(operand, assign_cpu, PS_NONE);
    case 'c':
        return create(operand);
    case 'd':
        return destroy(operand);
    case 'e':
        return run_in(set, operand);
    case 'f':
        return set_interrupts(set, P_NOINTR);
    case 'n':
        return set_interrupts(set, P_ONLINE);
    case 'p':
        return *operand == NULL ? query_assigned() : for_all_cpus(operand, query_cpu, 0);
    case 'Q':
        return for_sets_lwps(operand, show_lwps);
    case 'U':
        return for_sets_lwps(operand, unbind_lwps);
    case 'i':
        return show_sets(operand);
    default: /* b, u, q */
        if (*operand == NULL)
            return for_processes(show_if_bound, 0);
        for (; *operand != NULL; operand++)
            status |= for_lwps(*operand, what == 'b' ? set : what == 'u' ? PS_NONE : PS_QUERY);
        return status;
    }
}

int main(int argc, char **argv)
{
    int opt, what = 0;

    hr_help(argv, help);
    /* "+": options after the command of -e belong to the command. */
    while ((opt = getopt(argc, argv, "+abcdefFinpqQruU")) != -1) {
        if (opt == '?')
            usage();
        if (opt == 'F') {
            forced = true;
        } else {
            if (what != 0)
                usage();
            what = opt;
        }
    }
    return act(what != 0 ? what : 'i', argv + optind);
}
