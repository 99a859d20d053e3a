// SPDX-License-Identifier: MIT
/*
 * homeroom.h - what Homeroom's own commands share: kernel statistics, tunables, scheduling classes, and small
 * functions for printing.
 *
 * INVARIANTS  I1  every private system call of the library goes through hr_call(), and every file of the kernel is
 *                 named through hr_path(); tests replace these two and run the commands without a kernel
 *                 (tests/fakekernel.c)
 * SEE ALSO    docs/userland.md, tests/test_commands.py
 */
#ifndef HR_HOMEROOM_H
#define HR_HOMEROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>
#include <uapi/homeroom.h>

/* hr_call - makes system call `number`.  Returns its result; -1 with errno on error. */
long hr_call(long number, long a0, long a1, long a2, long a3, long a4, long a5);

/* hr_path - the name of a file of the running kernel, from a printf format.  Returns a static buffer. */
const char *hr_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One kernel statistic: module:instance:name:statistic and its value, both as text. */
struct hr_kstat {
    char module[32];
    int instance;
    char name[32];
    char statistic[64];
    char value[128];
};

/*
 * hr_kstat_read - reads all statistics, sorted by module, instance and name, and in the kernel's order within one
 * name.  Sets *list, which the caller frees with free().  Returns the count; -1 with errno if /dev/kstat cannot be
 * read.
 */
long hr_kstat_read(struct hr_kstat **list);

/* hr_kstat_value - reads the number of one statistic; returns `missing` if there is none. */
long long hr_kstat_value(const char *module, int instance, const char *name, const char *statistic,
                         long long missing);

/*
 * hr_tunable_get, hr_tunable_set - read and write a kernel variable by name.  Return 0; -1 with ENOENT (no such
 * variable), EPERM (not superuser, or read-only), EINVAL (size).
 */
int hr_tunable_get(const char *name, struct hr_tunable *value);
int hr_tunable_set(const char *name, const struct hr_tunable *value);

/*
 * hr_priocntl - gets (PC_GET) or sets (PC_SET) class and priority of HR_P_PID or HR_P_LWPID `id`.  Returns 0; -1 with
 * EINVAL, EPERM, ESRCH.
 */
int hr_priocntl(int idtype, id_t id, int op, struct hr_pcinfo *info);

/*
 * hr_class_name - "TS", "IA", "FX", "FSS", "RT" or "SYS"; "?" for another number.  hr_class_number - the number of a
 * class by its name, in upper or lower case; -1 if there is none.
 */
const char *hr_class_name(int cls);
int hr_class_number(const char *name);

/* hr_ranges - writes n ascending numbers as "0-3", "0 1", "0 2 4-7" into buf.  Returns buf. */
char *hr_ranges(char *buf, size_t size, const int *number, size_t n);

/* hr_parse_int - parses a whole decimal number in [low, high].  Returns 0 and sets *out, or -1. */
int hr_parse_int(const char *text, long low, long high, int *out);

/* The operands of vmstat and iostat: [name ...] [interval [count]]. */
struct hr_stat_args {
    char **names; /* no names: all are wanted */
    int nnames;
    int interval; /* seconds */
    int count;    /* how many reports to print; negative: until interrupted */
};
/*
 * hr_stat_args - parses the rest of `program`'s argument list, which ends with NULL.  A name does not begin with a
 * digit.  Returns 0; -1 after a message about a wrong interval or count, or about names where `takes_names` is false.
 */
int hr_stat_args(const char *program, char **argv, bool takes_names, struct hr_stat_args *out);
/* hr_stat_disks - checks that each name is that of a disk.  Returns 0; -1 after a message that lists the disks. */
int hr_stat_disks(const char *program, const struct hr_stat_args *args);
/* hr_stat_wanted - whether `name` is among the operands, or there are no names. */
int hr_stat_wanted(const struct hr_stat_args *args, const char *name);

/*
 * hr_console_size - sets the size of terminal `fd` to the one in file `path`, "ROWS COLUMNS".  A missing file, or one
 * with another content, changes nothing.
 */
void hr_console_size(int fd, const char *path);
/*
 * hr_console_input - opens what a command reads when the launcher's own input is no terminal.  File `path` says what
 * that input is.
 *
 * "nothing": returns /dev/null, open.  Otherwise the input comes over the console: starts a process that puts the
 * console into raw mode, writes "@input" to the verdict port when it is ready, and passes on what the launcher then
 * sends, up to its end.  Returns the reading end of the pipe; -1 with errno of open(2), pipe(2) or fork(2).
 */
int hr_console_input(const char *path);

/*
 * hr_parse_cpus - parses "3", or a range "0-7", into *first and *last.  Returns 0 or -1.  hr_cpus_exist - checks that
 * one of these CPUs exists.  Returns 0; -1 after a message.  hr_no_cpu - prints that `text` is no CPU, and which
 * command lists them.  Returns -1.
 */
int hr_parse_cpus(const char *text, int *first, int *last);
int hr_cpus_exist(const char *program, const char *text, int first, int last);
int hr_no_cpu(const char *program, const char *text);

/* hr_lwps - the LWP ids of a process, ascending.  Returns how many it stored (at most max); -1 with ESRCH. */
int hr_lwps(pid_t pid, int *lwps, int max);

/* hr_perror - prints "prog: what: reason" on standard error, with Solaris's words for errno. */
void hr_perror(const char *program, const char *what);

/* hr_strerror - Solaris's words for an errno: "Not owner", "Device busy", ... */
const char *hr_strerror(int error);

#endif
