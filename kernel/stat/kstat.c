// SPDX-License-Identifier: MIT
/*
 * kstat.c - the registry of named counters.
 *
 * THEORY      The kstats are in a list, in order of registration.  kstat_text() finds each kstat by its
 *             position.  It copies and prints the values under the lock and releases the lock before the next
 *             kstat.  So interrupts are off for one kstat at a time, and after kstat_unregister() no reader
 *             uses the kstat.
 * INVARIANTS  I1  no kstat has more than KSTAT_MAX values
 * LOCKING     kstat_lock (RANK_KSTAT) guards the list and `scratch`.  It is held while snapshot and clear run.
 * SEE ALSO    kstat.h; kernel/fs/devfs/statdev.c (/dev/kstat); docs/tunables.md
 */
#include "stat/kstat.h"

#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/spinlock.h"
#include "lib/string.h"
#include "stat/panic.h"

enum { LINE_MAX = 192 };

static struct spinlock kstat_lock = SPINLOCK_INIT(RANK_KSTAT);
static struct list kstats = LIST_INIT(kstats);
static uint64_t scratch[KSTAT_MAX]; /* values of one kstat, while kstat_text() prints them */

void kstat_register(struct kstat *ks)
{
    ASSERT(ks->nstat <= KSTAT_MAX, "I1");
    spin_lock(&kstat_lock);
    list_push_back(&kstats, &ks->link);
    spin_unlock(&kstat_lock);
}

void kstat_unregister(struct kstat *ks)
{
    spin_lock(&kstat_lock);
    list_remove(&ks->link);
    spin_unlock(&kstat_lock);
}

/* The kstat at position i, or NULL.  The caller holds the lock. */
static struct kstat *kstat_by_index(unsigned i)
{
    struct kstat *ks;

    LIST_FOREACH (ks, &kstats, link)
        if (i-- == 0)
            return ks;
    return NULL;
}

/* Copies the values of `ks` to scratch and returns their number.  The caller holds the lock. */
static unsigned kstat_copy_values(struct kstat *ks)
{
    unsigned n = __atomic_load_n(&ks->nstat, __ATOMIC_ACQUIRE);

    if (ks->snapshot != NULL)
        ks->snapshot(ks, scratch);
    else
        for (unsigned i = 0; i < n; i++)
            scratch[i] = atomic_load_explicit(&ks->values[i], memory_order_relaxed);
    return n;
}

size_t kstat_text(char *buf, size_t size)
{
    size_t used = 0;
    char line[LINE_MAX];

    for (unsigned i = 0; used < size; i++) {
        struct kstat *ks;
        unsigned n;

        spin_lock(&kstat_lock);
        ks = kstat_by_index(i);
        n = ks != NULL ? kstat_copy_values(ks) : 0;
        for (unsigned k = 0; k < n; k++) {
            int len = snprintf(line, sizeof line, "%s:%d:%s:%s\t%lld\n", ks->module, ks->instance,
                               ks->name, ks->names[k], (long long)scratch[k]);
            size_t put = min_of(min_of((size_t)len, sizeof line - 1), size - used);

            memcpy(buf + used, line, put);
            used += put;
        }
        spin_unlock(&kstat_lock);
        if (ks == NULL)
            break;
    }
    return used;
}

/* Whether `spec` is this kstat's module:instance:name. */
static bool kstat_matches_spec(const struct kstat *ks, const char *spec)
{
    char full[LINE_MAX];

    snprintf(full, sizeof full, "%s:%d:%s", ks->module, ks->instance, ks->name);
    return strcmp(full, spec) == 0;
}

int kstat_clear(const char *spec)
{
    struct kstat *ks;
    int err = -ENOENT;

    spin_lock(&kstat_lock);
    LIST_FOREACH (ks, &kstats, link)
        if (kstat_matches_spec(ks, spec)) {
            err = ks->clear != NULL || ks->values != NULL ? 0 : -EOPNOTSUPP;
            if (ks->clear != NULL)
                ks->clear(ks);
            else
                for (unsigned i = 0; ks->values != NULL && i < ks->nstat; i++)
                    atomic_store_explicit(&ks->values[i], 0, memory_order_relaxed);
        }
    spin_unlock(&kstat_lock);
    return err;
}
