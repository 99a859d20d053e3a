// SPDX-License-Identifier: MIT
/*
 * kstat.c - reads kernel statistics and kernel variables.
 *
 * THEORY      /dev/kstat consists of lines `module:instance:name:statistic<TAB>value`.  The name of a statistic may
 *             contain blanks ("lwp migrations") but no colon or tab.  A reader gets the whole file in one open, and
 *             that is one snapshot of the registry.
 */
#include "homeroom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Copies the text up to `stop` into out, at most `size` bytes, and sets *text behind it.  Returns 0; -1 if there is no
 * `stop`.
 */
static int field(char **text, char stop, char *out, size_t size)
{
    char *end = strchr(*text, stop);
    size_t len;

    if (end == NULL)
        return -1;
    len = (size_t)(end - *text);
    if (len >= size)
        len = size - 1;
    memcpy(out, *text, len);
    out[len] = '\0';
    *text = end + 1;
    return 0;
}

/* Splits a line into its five fields.  Returns 0; -1 if it is not of that form. */
static int parse(char *line, struct hr_kstat *k)
{
    char instance[16];

    if (field(&line, ':', k->module, sizeof k->module) != 0 ||
        field(&line, ':', instance, sizeof instance) != 0 ||
        field(&line, ':', k->name, sizeof k->name) != 0 ||
        field(&line, '\t', k->statistic, sizeof k->statistic) != 0 ||
        field(&line, '\n', k->value, sizeof k->value) != 0)
        return -1;
    k->instance = atoi(instance);
    return 0;
}

/* A statistic with its place in the file, for a stable sort. */
struct placed {
    struct hr_kstat k;
    long place;
};

static int by_name(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int c = strcmp(x->k.module, y->k.module);

    if (c == 0 && x->k.instance != y->k.instance)
        c = x->k.instance < y->k.instance ? -1 : 1;
    if (c == 0)
        c = strcmp(x->k.name, y->k.name);
    if (c == 0)
        c = x->place < y->place ? -1 : 1;
    return c;
}

long hr_kstat_read(struct hr_kstat **list)
{
    FILE *f = fopen(hr_path("/dev/kstat"), "r");
    struct placed *all = NULL;
    char *line = NULL;
    size_t space = 0;
    long n = 0, room = 0;

    if (f == NULL)
        return -1;
    while (getline(&line, &space, f) > 0) {
        if (n == room) {
            struct placed *more = reallocarray(all, (size_t)(room = room * 2 + 256), sizeof *all);

            if (more == NULL)
                break;
            all = more;
        }
        all[n].place = n;
        if (parse(line, &all[n].k) == 0)
            n++;
    }
    free(line);
    fclose(f);
    if (n > 0)
        qsort(all, (size_t)n, sizeof *all, by_name);
    *list = calloc((size_t)n + 1, sizeof **list);
    if (*list == NULL)
        n = -1;
    for (long i = 0; i < n; i++)
        (*list)[i] = all[i].k;
    free(all);
    return n;
}

long long hr_kstat_value(const char *module, int instance, const char *name, const char *statistic,
                         long long missing)
{
    struct hr_kstat *list;
    long n = hr_kstat_read(&list);
    long long value = missing;

    for (long i = 0; i < n; i++)
        if (strcmp(list[i].module, module) == 0 && list[i].instance == instance &&
            strcmp(list[i].name, name) == 0 && strcmp(list[i].statistic, statistic) == 0)
            value = strtoll(list[i].value, NULL, 0);
    if (n >= 0)
        free(list);
    return value;
}

int hr_tunable_get(const char *name, struct hr_tunable *value)
{
    return (int)hr_call(SYS_tunable, TUNABLE_GET, (long)name, (long)value, 0, 0, 0);
}

int hr_tunable_set(const char *name, const struct hr_tunable *value)
{
    return (int)hr_call(SYS_tunable, TUNABLE_SET, (long)name, (long)value, 0, 0, 0);
}
