// SPDX-License-Identifier: MIT
/*
 * util.c - small helpers of the commands: number lists, numbers, LWP ids, error words.
 */
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
            used += (size_t)snprintf(buf + used, size - used, "%s%d-%d", gap, number[i],
                                     number[last]);
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
    /* LWP ids are small and reused from 1 up: ask for each until all threads are found. */
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

int hr_stat_args(char **argv, struct hr_stat_args *out)
{
    int numbers = 0, number;

    *out = (struct hr_stat_args){.names = argv, .count = 1};
    for (; *argv != NULL; argv++) {
        if (hr_parse_int(*argv, 1, 1 << 30, &number) != 0) {
            if (numbers > 0)
                return -1;
            out->nnames++;
        } else if (numbers++ == 0) {
            out->interval = number;
            out->count = -1;
        } else if (numbers == 2) {
            out->count = number;
        } else {
            return -1;
        }
    }
    return 0;
}

int hr_stat_wanted(const struct hr_stat_args *args, const char *name)
{
    for (int i = 0; i < args->nnames; i++)
        if (strcmp(args->names[i], name) == 0)
            return 1;
    return args->nnames == 0;
}
