// SPDX-License-Identifier: MIT
/*
 * tunable.h - variables that /etc/system, the boot line and mdb can read and set.
 *
 * THEORY      A tunable is a variable of the kernel that an administrator can change.  TUNABLE() describes it
 *             next to its definition and puts the description into the section "tunables".  So the linker
 *             builds the registry.  The value has the size of the C variable; it is read and written by single
 *             aligned accesses.  A variable that can be set has a range.  The machine must boot and work with
 *             every value of the range.  tunable_set() refuses all other values, so code that uses the variable
 *             does not need to check it.
 */
#ifndef STAT_TUNABLE_H
#define STAT_TUNABLE_H

#include "lib/types.h"

enum tunable_writable {
    TUNABLE_NEVER,
    TUNABLE_LIVE,
    /* set only by /etc/system, because the kernel reads the variable once, at boot */
    TUNABLE_BY_SYSTEM
};

struct tunable {
    const char *module; /* "" or the module of `set module:name=` ("ufs") */
    const char *name;
    void *addr;
    uint64_t size;            /* bytes: 1, 2, 4, 8 */
    uint64_t writable;        /* enum tunable_writable */
    uint64_t least, greatest; /* range of values that may be set, unsigned */
    const char *doc;          /* unit, default, meaning, when it is read */
    /* whether the tunable exists in this configuration; NULL: it always exists */
    bool (*there)(void);
    /*
     * called before the variable is set; an error (-errno) refuses the value; NULL: no such
     * function
     */
    int (*set)(uint64_t value);
} __attribute__((aligned(16)));

#define TUNABLE_WIDEST(var) (UINT64_MAX >> (64 - 8 * sizeof(var)))
#define TUNABLE_ANY(mod, var, wr, least, greatest, text, there, set)                               \
    _Static_assert((greatest) + 0ul - (least) <= (greatest) && (greatest) <= TUNABLE_WIDEST(var),  \
                   "the range of " #var);                                                          \
    static const struct tunable tunable_##var                                                      \
        __attribute__((used, section("tunables"), aligned(16))) = {                                \
            mod, #var, (void *)&(var), sizeof(var), wr, least, greatest, text, there, set}
/*
 * TUNABLE - register the global `var` under its own name.  tunable_set() accepts values from `least` to
 * `greatest`.  The initial value may be outside this range; then the default is computed during boot.
 * `text`: "unit, default N: meaning; when it is read"
 */
#define TUNABLE(var, least, greatest, text) TUNABLE_M("", var, least, greatest, text)
/* TUNABLE_M - a tunable of module `mod`. */
#define TUNABLE_M(mod, var, least, greatest, text)                                                 \
    TUNABLE_ANY(mod, var, TUNABLE_LIVE, least, greatest, text, NULL, NULL)
/* TUNABLE_BOOT, TUNABLE_BOOT_IF - a tunable that is read at boot only, so mdb cannot set it. */
#define TUNABLE_BOOT(var, least, greatest, text) TUNABLE_BOOT_IF(var, NULL, least, greatest, text)
#define TUNABLE_BOOT_IF(var, there, least, greatest, text)                                         \
    TUNABLE_ANY("", var, TUNABLE_BY_SYSTEM, least, greatest, text, there, NULL)
/* TUNABLE_IF - a tunable that exists only while there() returns true. */
#define TUNABLE_IF(var, there, least, greatest, text)                                              \
    TUNABLE_ANY("", var, TUNABLE_LIVE, least, greatest, text, there, NULL)
/*
 * TUNABLE_HOOK - a tunable whose set(value) is called before the variable is set, also by /etc/system.  set()
 * can refuse the value.
 */
#define TUNABLE_HOOK(var, set, least, greatest, text)                                              \
    TUNABLE_ANY("", var, TUNABLE_LIVE, least, greatest, text, NULL, set)
/* TUNABLE_RO, TUNABLE_RO_M - a tunable that can only be read. */
#define TUNABLE_RO(var, text) TUNABLE_RO_M("", var, text)
#define TUNABLE_RO_M(mod, var, text)                                                               \
    TUNABLE_ANY(mod, var, TUNABLE_NEVER, 0, TUNABLE_WIDEST(var), text, NULL, NULL)

/* tunable_find - find a tunable by "name" or "module:name".  NULL if there is none. */
const struct tunable *tunable_find(const char *name);
uint64_t tunable_get(const struct tunable *t);
/*
 * tunable_set - set the value.  -EPERM: the tunable is read-only; -ERANGE: the value is outside the range;
 * -EINVAL: the variable's size is not 1, 2, 4 or 8 bytes; or an error of t->set().  After an error the value is
 * unchanged.
 */
int tunable_set(const struct tunable *t, uint64_t value);
/* tunable_next - the tunable after t, or the first if t is NULL; NULL after the last. */
const struct tunable *tunable_next(const struct tunable *t);

/*
 * system_file_apply - carry out the lines of /etc/system, as system(4) of Solaris 9 defines them.  Warnings
 * with the line number are printed on the console.  text[len] need not end in a NUL.
 */
void system_file_apply(const char *text, size_t len);
/* system_root_fs, system_root_dev - the values of `rootfs:` and `rootdev:`; "" if they were not given. */
extern char system_root_fs[16], system_root_dev[96];

#endif
