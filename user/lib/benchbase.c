// SPDX-License-Identifier: MIT
/*
 * benchbase.c - what every benchmark needs: messages, the clock, numbers.
 *
 * This is a file of its own so that a small program is not linked with threads and the model.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "homeroom.h"

void bench_die(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    exit(2);
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double bench_processor(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

size_t bench_count(const char *text)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 0);
    if (*end == 'k' || *end == 'm')
        value *= *end++ == 'k' ? 1024 : 1024 * 1024;
    if (end == text || *end != '\0' || *text == '-' || errno != 0 || value == 0 ||
        value > 1ull << 40)
        bench_die("bad number: %s; write 1 to 1099511627776, or with a suffix: 64k, 8m", text);
    return (size_t)value;
}

int bench_int(const char *text, int low, int high, const char *what)
{
    int value;

    if (hr_parse_int(text, low, high, &value) != 0)
        bench_die("%s: %d to %d", what, low, high);
    return value;
}
