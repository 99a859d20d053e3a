// SPDX-License-Identifier: MIT
/* util.c - small functions that commands share: number lists, numbers, LWP ids, error messages. */
#include "homeroom.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

char *hr_ranges(char *buf, size_t size, const int *number, size_t n)
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0, last; i < n && used < size; i = last + 1) {
        const char *gap = used > 0 ? " " : "";

        for (last = i; last + 1 < n && number[last + 1] == number[last] + 1;)
            last++;
        if (last < i + 2)
            last = i; /* two neighbours are listed, three make a range */
        if (last > i)
            used +=
                (size_t)snprintf(buf + used, size - used, "%s%d-%d", gap, number[i], number[last]);
        else
            used += (size_t)snprintf(buf + used, size - used, "%s%d", gap, number[i]);
    }
    return buf;
}

int hr_parse_int(const char *text, long low, long high, int *out)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < low || value > high)
        return -1;
    *out = (int)value;
    return 0;
}

/* The number of threads that /proc shows for a process, or -1. */
static int count_tasks(pid_t pid)
{
    DIR *dir = opendir(hr_path("/proc/%d/task", (int)pid));
    struct dirent *entry;
    int n = 0;

    if (dir == NULL)
        return -1;
    while ((entry = readdir(dir)) != NULL)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

int hr_lwps(pid_t pid, int *lwps, int max)
{
    int ntasks = count_tasks(pid), n = 0;

    if (ntasks < 0) {
        errno = ESRCH;
        return -1;
    }
    /* LWP ids are small and reused, from 1 upwards: this asks for each id until all threads are found. */
    for (int lwp = 1; n < ntasks && n < max && lwp <= ntasks + SHRT_MAX; lwp++)
        if (hr_call(SYS_lgrp, LGRP_OP_LWP_HOME, pid, lwp, 0, 0, 0) >= 0)
            lwps[n++] = lwp;
    return n;
}

const char *hr_strerror(int error)
{
    switch (error) {
    case EPERM:
        return "Not owner";
    case EBUSY:
        return "Device busy";
    case ENOTSUP:
        return "Operation not supported";
    default:
        return strerror(error);
    }
}

void hr_perror(const char *program, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", program, what, hr_strerror(errno));
}

int hr_no_cpu(const char *program, const char *text)
{
    fprintf(stderr, "%s: processor %s: Invalid argument (psrinfo lists the processors)\n", program,
            text);
    return -1;
}

int hr_parse_cpus(const char *text, int *first, int *last)
{
    char copy[32], *dash;

    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return -1;
    if ((dash = strchr(copy, '-')) != NULL)
        *dash++ = '\0';
    if (hr_parse_int(copy, 0, INT_MAX - 1, first) != 0)
        return -1;
    return hr_parse_int(dash != NULL ? dash : copy, 0, INT_MAX - 1, last);
}

int hr_cpus_exist(const char *program, const char *text, int first, int last)
{
    for (int cpu = first; cpu <= last && cpu < HR_MAXCPU; cpu++)
        if (hr_call(SYS_p_online, cpu, P_STATUS, 0, 0, 0, 0) >= 0)
            return 0;
    if (strchr(text, '-') == NULL)
        return hr_no_cpu(program, text);
    fprintf(stderr, "%s: no processors in range %s (psrinfo lists them)\n", program, text);
    return -1;
}

int hr_stat_args(const char *program, char **argv, bool takes_names, struct hr_stat_args *out)
{
    int numbers = 0, number;

    *out = (struct hr_stat_args){.names = argv, .count = 1};
    for (; *argv != NULL; argv++) {
        if (takes_names && numbers == 0 && (**argv < '0' || **argv > '9')) {
            out->nnames++;
            continue;
        }
        if (numbers == 2 || hr_parse_int(*argv, 1, 1 << 30, &number) != 0) {
            fprintf(stderr, "%s: '%s': %s\n", program, *argv,
                    numbers == 2
                        ? "nothing comes after interval and count"
                        : "interval (in seconds) and count are whole numbers from 1 to 1073741824");
            return -1;
        }
        if (numbers++ == 0) {
            out->interval = number;
            out->count = -1;
        } else {
            out->count = number;
        }
    }
    return 0;
}

int hr_stat_disks(const char *program, const struct hr_stat_args *args)
{
    struct hr_kstat *list;
    long n = hr_kstat_read(&list);
    int status = 0;

    if (n < 0) {
        hr_perror(program, "/dev/kstat");
        return -1;
    }
    for (int i = 0; i < args->nnames && status == 0; i++) {
        const char *last = "";
        bool found = false;

        for (long k = 0; k < n; k++)
            found |= strcmp(list[k].module, "sd") == 0 && strcmp(list[k].name, args->names[i]) == 0;
        if (found)
            continue;
        fprintf(stderr, "%s: there is no disk '%s'; there are:", program, args->names[i]);
        for (long k = 0; k < n; k++)
            if (strcmp(list[k].module, "sd") == 0 && strcmp(list[k].name, last) != 0)
                fprintf(stderr, " %s", last = list[k].name);
        fprintf(stderr, "%s\n", *last == '\0' ? " none (DISK= gives the machine some)" : "");
        status = -1;
    }
    free(list);
    return status;
}

int hr_stat_wanted(const struct hr_stat_args *args, const char *name)
{
    for (int i = 0; i < args->nnames; i++)
        if (strcmp(args->names[i], name) == 0)
            return 1;
    return args->nnames == 0;
}
