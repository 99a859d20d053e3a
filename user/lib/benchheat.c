// SPDX-License-Identifier: MIT
/*
 * benchheat.c - prints the page heat of a benchmark, for `make experiment-heat` and tests.
 *
 * SEE ALSO    user/include/bench.h, docs/heat.md
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

void bench_print_heat(void)
{
    char *line = NULL;
    size_t space = 0;
    FILE *f;

    if (getenv("BENCH_HEAT") == NULL)
        return;
    f = fopen("/proc/self/heat", "r");
    if (f == NULL || getline(&line, &space, f) <= 0)
        bench_die("BENCH_HEAT: misses are not counted by page: start the machine with HEAT=16");
    do
        printf("heat: %s", line);
    while (getline(&line, &space, f) > 0);
    free(line);
    fclose(f);
}
