// SPDX-License-Identifier: MIT
/*
 * kstat.h - named counters, by module, instance and name, after Solaris's kstat(9S).
 *
 * THEORY      A kstat is a table of named 64-bit values that belongs to one subsystem.  Programs read all
 *             kstats through /dev/kstat.  Counters that many CPUs increment are kept per CPU (struct
 *             cpu_stat) or per lgroup.  A snapshot function computes values only when they are read.
 * LOCKING     The functions below take the registry's lock.  The values are atomic, and their owner changes
 *             them without a lock.
 */
#ifndef STAT_KSTAT_H
#define STAT_KSTAT_H

#include "lib/list.h"
#include "lib/types.h"

enum { KSTAT_MAX = 512 }; /* most values of one kstat */

struct kstat {
    const char *module;
    int instance;
    char name[32];
    const char *kclass;
    unsigned nstat;           /* number of values                                       */
    const char *const *names; /* nstat names                                            */
    _Atomic uint64_t *values; /* nstat values, or NULL if `snapshot` computes them      */
    /* fills out[nstat]; NULL: `values` are copied */
    void (*snapshot)(struct kstat *, uint64_t *out);
    void (*clear)(struct kstat *); /* carries out kstat_clear(); NULL: `values` are set to 0    */
    void *arg;
    struct list link;
};

/* kstat_register - make `ks` visible.  The struct must exist until kstat_unregister(). */
void kstat_register(struct kstat *ks);
void kstat_unregister(struct kstat *ks);

/*
 * kstat_text - print all kstats as lines `module:instance:name:statistic\tvalue`.
 * Returns the number of bytes written to buf; if this is `size`, the text may be cut.
 */
size_t kstat_text(char *buf, size_t size);

/*
 * kstat_clear - zero the counters of `module:instance:name`.  -ENOENT: there is no such kstat; -EOPNOTSUPP: the
 * kstat shows states, or counters of other parts of the kernel, which cannot be zeroed.
 */
int kstat_clear(const char *spec);

#endif
