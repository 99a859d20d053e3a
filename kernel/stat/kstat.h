// SPDX-License-Identifier: MIT
/*
 * kstat.h - named counters, by module, instance and name, after Solaris's kstat(9S).
 *
 * THEORY      A kstat is a table of named 64-bit values that some subsystem owns.  Counters that many
 *             CPUs bump live in struct cpu_stat or are kept per lgroup; a snapshot function fills values
 *             that are computed only when somebody looks.
 * LOCKING     Registration happens at boot, or under the registry's own lock; values are atomics read
 *             without a lock.
 */
#ifndef STAT_KSTAT_H
#define STAT_KSTAT_H

#include "lib/list.h"
#include "lib/types.h"

struct kstat {
    const char *module;
    int instance;
    char name[32];
    const char *kclass;
    unsigned nstat;
    const char *const *names; /* nstat names                                            */
    _Atomic uint64_t *values; /* nstat values, or NULL when `snapshot` computes them     */
    /* fills out[nstat]; NULL: copy `values` */
    void (*snapshot)(struct kstat *, uint64_t *out);
    void (*clear)(struct kstat *); /* what a privileged write does; NULL: zero `values`       */
    void *arg;
    struct list link;
};

/* kstat_register - make `ks` visible; it must live until kstat_unregister(). */
void kstat_register(struct kstat *ks);
void kstat_unregister(struct kstat *ks);

/*
 * kstat_text - print the registry as lines `module:instance:name:statistic\tvalue`.
 * Returns the bytes written to buf; `size` means that there may be more than fitted.
 */
size_t kstat_text(char *buf, size_t size);

/* kstat_clear - zero the counters of `module:instance:name`.  -ENOENT if there is none. */
int kstat_clear(const char *spec);

#endif
