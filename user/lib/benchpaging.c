// SPDX-License-Identifier: MIT
/*
 * benchpaging.c - sums what the CPUs' statistics say of paging.
 */
#include "benchpaging.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "homeroom.h"

#define FIELD(name) {#name, offsetof(struct bench_paging, name)}
static const struct {
    const char *name;
    size_t offset;
} fields[] = {FIELD(pgpgin),   FIELD(pgpgout),   FIELD(scan),      FIELD(execpgin), FIELD(anonpgin),
              FIELD(fspgin),   FIELD(execpgout), FIELD(anonpgout), FIELD(fspgout),  FIELD(pgrec)};

int bench_paging(struct bench_paging *out)
{
    struct hr_kstat *list;
    long n = hr_kstat_read(&list), found = 0;

    memset(out, 0, sizeof *out);
    for (long i = 0; i < n; i++) {
        if (strcmp(list[i].module, "cpu") != 0)
            continue;
        for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
            if (strcmp(list[i].statistic, fields[f].name) == 0) {
                *(unsigned long long *)((char *)out + fields[f].offset) += strtoull(list[i].value, NULL, 10);
                found++;
            }
    }
    if (n >= 0)
        free(list);
    return found > 0 ? 0 : -1;
}
