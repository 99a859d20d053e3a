// SPDX-License-Identifier: MIT
/*
 * tunable.h - variables that /etc/system, the boot line and mdb can read and set.
 *
 * THEORY      TUNABLE() puts a descriptor into the section "tunables", so that the registry is the linker's
 *             work and each variable is described where it is defined.  The value has the size of the C
 *             variable; reads and writes of it are single aligned accesses.
 *             Each variable that can be set declares its range.  Every value of the range leaves a machine that boots
 *             and works; tunable_set() refuses all others, so the readers need not look.
 */
#ifndef STAT_TUNABLE_H
#define STAT_TUNABLE_H

#include "lib/types.h"

enum tunable_writable {
    TUNABLE_NEVER,
    TUNABLE_LIVE,
    TUNABLE_BY_SYSTEM /* by /etc/system alone: read at boot */
};

struct tunable {
    const char *module; /* "" or the module of `set module:name=` ("ufs") */
    const char *name;
    void *addr;
    uint64_t size;              /* bytes: 1, 2, 4, 8                              */
    uint64_t writable;          /* enum tunable_writable                        */
    uint64_t least, greatest;   /* values that may be set, unsigned      */
    const char *doc;            /* unit, meaning, who reads it                    */
    bool (*there)(void);        /* whether it exists in this configuration; NULL: always */
    int (*set)(uint64_t value); /* called before it is set: 0, or why not; NULL: nothing to do */
} __attribute__((aligned(16)));

#define TUNABLE_WIDEST(var) (UINT64_MAX >> (64 - 8 * sizeof(var)))
#define TUNABLE_ANY(mod, var, wr, least, greatest, text, there, set)                               \
    _Static_assert((greatest) + 0ul - (least) <= (greatest) && (greatest) <= TUNABLE_WIDEST(var),  \
                   "the range of " #var);                                                          \
    static const struct tunable tunable_##var                                                      \
        __attribute__((used, section("tunables"), aligned(16))) = {                                \
            mod, #var, (void *)&(var), sizeof(var), wr, least, greatest, text, there, set}
/*
 * TUNABLE - register the global `var` under its own name.  The range is what tunable_set() accepts; `var` itself may
 * begin outside it, as a mark that the default is yet to be computed.
 * `text`: "default 75 %, share of ...; read by ..."
 */
#define TUNABLE(var, least, greatest, text) TUNABLE_M("", var, least, greatest, text)
/* TUNABLE_M - one of a module. */
#define TUNABLE_M(mod, var, least, greatest, text)                                                 \
    TUNABLE_ANY(mod, var, TUNABLE_LIVE, least, greatest, text, NULL, NULL)
/* TUNABLE_BOOT, TUNABLE_BOOT_IF - one that is read at boot: mdb cannot set it. */
#define TUNABLE_BOOT(var, least, greatest, text) TUNABLE_BOOT_IF(var, NULL, least, greatest, text)
#define TUNABLE_BOOT_IF(var, there, least, greatest, text)                                         \
    TUNABLE_ANY("", var, TUNABLE_BY_SYSTEM, least, greatest, text, there, NULL)
/* TUNABLE_IF - one that exists only while there() says so. */
#define TUNABLE_IF(var, there, least, greatest, text)                                              \
    TUNABLE_ANY("", var, TUNABLE_LIVE, least, greatest, text, there, NULL)
/* TUNABLE_HOOK - one whose set(value) is called before it is set, and may refuse.  /etc/system calls it, too. */
#define TUNABLE_HOOK(var, set, least, greatest, text)                                              \
    TUNABLE_ANY("", var, TUNABLE_LIVE, least, greatest, text, NULL, set)
/* TUNABLE_RO, TUNABLE_RO_M - one that can only be read. */
#define TUNABLE_RO(var, text) TUNABLE_RO_M("", var, text)
#define TUNABLE_RO_M(mod, var, text)                                                               \
    TUNABLE_ANY(mod, var, TUNABLE_NEVER, 0, TUNABLE_WIDEST(var), text, NULL, NULL)

/* tunable_find - by name, or "module:name".  NULL if there is none. */
const struct tunable *tunable_find(const char *name);
uint64_t tunable_get(const struct tunable *t);
/*
 * tunable_set - give it a value.  -EPERM if it is read only, -ERANGE if the value is outside its range, -EINVAL for an
 * odd size, or the error of t->set; then it keeps its value.
 */
int tunable_set(const struct tunable *t, uint64_t value);
/* tunable_next - iterate: NULL gives the first; returns NULL after the last. */
const struct tunable *tunable_next(const struct tunable *t);

/*
 * system_file_apply - carry out the lines of an /etc/system (semantics of Solaris 9's system(4)); warnings
 * go to the console with the line's number.  `text` need not end in a NUL.
 */
void system_file_apply(const char *text, size_t len);
/* system_root_fs, system_root_dev - what `rootfs:` and `rootdev:` named; "" if they were not given. */
extern char system_root_fs[16], system_root_dev[96];

#endif
