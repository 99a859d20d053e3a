// SPDX-License-Identifier: MIT
/* benchpaging.c - sums the paging statistics of all CPUs and the request statistics of all disks. */
#include "benchpaging.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "homeroom.h"

#define CPU(name)  {"cpu", #name, offsetof(struct bench_paging, name)}
#define DISK(name) {"sd", #name, offsetof(struct bench_paging, name)}
static const struct {
    const char *module, *name;
    size_t offset;
} fields[] = {CPU(pgpgin),   CPU(pgpgout), CPU(scan),      CPU(execpgin),
              CPU(anonpgin), CPU(fspgin),  CPU(execpgout), CPU(anonpgout),
              CPU(fspgout),  CPU(pgrec),   DISK(nread),    DISK(nwritten),
              DISK(reads),   DISK(writes), DISK(wlentime), DISK(rlentime)};

int bench_paging(struct bench_paging *out)
{
    struct hr_kstat *list;
    long n = hr_kstat_read(&list), found = 0;

    memset(out, 0, sizeof *out);
    for (long i = 0; i < n; i++) {
        for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
            if (strcmp(list[i].module, fields[f].module) == 0 &&
                strcmp(list[i].statistic, fields[f].name) == 0) {
                *(unsigned long long *)((char *)out + fields[f].offset) +=
                    strtoull(list[i].value, NULL, 10);
                found++;
            }
    }
    if (n >= 0)
        free(list);
    return found > 0 ? 0 : -1;
}
