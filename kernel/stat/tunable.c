// SPDX-License-Identifier: MIT
/*
 * tunable.c - the registry of tunables, which /etc/system and mdb use.
 *
 * THEORY      The linker puts all TUNABLE() descriptors into one array, between __start_tunables and
 *             __stop_tunables.  A name without a module finds a variable of any module, so both `ufs_HW`
 *             (mdb) and `ufs:ufs_HW` (/etc/system) find the same variable.  In a name with a module, the
 *             module must match.
 * LOCKING     There are no locks: values are read and written by single aligned accesses.
 * SEE ALSO    tunable.h, etc_system.c, kernel/sys/sys_solaris.c (the system call)
 */
#include "stat/tunable.h"

#include "lib/errno.h"
#include "lib/string.h"

extern const struct tunable __start_tunables[], __stop_tunables[];

const struct tunable *tunable_next(const struct tunable *t)
{
    do
        t = t == NULL ? __start_tunables : t + 1;
    while (t < __stop_tunables && t->there != NULL && !t->there());
    return t < __stop_tunables ? t : NULL;
}

const struct tunable *tunable_find(const char *name)
{
    const char *colon = strchr(name, ':');
    size_t mlen = colon != NULL ? (size_t)(colon - name) : 0;

    for (const struct tunable *t = tunable_next(NULL); t != NULL; t = tunable_next(t)) {
        if (strcmp(t->name, colon != NULL ? colon + 1 : name) != 0)
            continue;
        if (colon == NULL || (strlen(t->module) == mlen && memcmp(t->module, name, mlen) == 0))
            return t;
    }
    return NULL;
}

uint64_t tunable_get(const struct tunable *t)
{
    switch (t->size) {
    case 1:
        return *(volatile const uint8_t *)t->addr;
    case 2:
        return *(volatile const uint16_t *)t->addr;
    case 4:
        return *(volatile const uint32_t *)t->addr;
    case 8:
        return *(volatile const uint64_t *)t->addr;
    default:
        return 0;
    }
}

int tunable_set(const struct tunable *t, uint64_t value)
{
    int err = 0;

    if (!t->writable)
        return -EPERM;
    if (value < t->least || value > t->greatest)
        return -ERANGE;
    if (t->set != NULL)
        err = t->set(value);
    if (err != 0)
        return err;
    switch (t->size) {
    case 1:
        *(volatile uint8_t *)t->addr = (uint8_t)value;
        return 0;
    case 2:
        *(volatile uint16_t *)t->addr = (uint16_t)value;
        return 0;
    case 4:
        *(volatile uint32_t *)t->addr = (uint32_t)value;
        return 0;
    case 8:
        *(volatile uint64_t *)t->addr = value;
        return 0;
    default:
        return -EINVAL;
    }
}
