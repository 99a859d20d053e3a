// SPDX-License-Identifier: MIT
/*
 * observe.h - observes which threads touch which pages, and moves pages and threads.  See observe.c.
 */
#ifndef VM_OBSERVE_H
#define VM_OBSERVE_H

#include "vm/vm.h"

struct page;
struct seg;

#define OBSERVE_COUNTS(X)                                                                          \
    X(SAMPLED, "pages sampled")       /* translations that were hidden */                          \
    X(SAMPLES, "samples")             /* faults on such pages that named an lgroup */              \
    X(MOVED, "pages moved")           /* to the lgroup that uses the page */                       \
    X(SPREAD, "pages spread")         /* from a hot lgroup to a random one */                      \
    X(FAILED, "pages failed to move") /* no free page there, or the page was in use */             \
    X(THREADS, "threads moved")

enum observe_count {
#define X(id, name) OBSERVE_##id,
    OBSERVE_COUNTS(X)
#undef X
        OBSERVE_NCOUNTS
};
extern _Atomic uint64_t observe_counts[OBSERVE_NCOUNTS];

/*
 * observe_as - sample pages of an address space, as many as its process has earned by using CPU time.  Only one thread,
 * the observer, calls this function.  The caller has a reference.  Takes as->lock for reading.  Sleeps.
 * @cpu_ns  CPU time of the process up to now, ns
 * @users   set of lgroups that are homes of threads of the process
 */
void observe_as(struct as *as, uint64_t cpu_ns, uint64_t users);

/*
 * observe_touch_unlock - curthread touches a page of `o` with PG_SAMPLED, through segment `s`: record the sample, and
 * act on it, unless the segment was placed since the page was sampled.  The caller holds o->lock; s must stay.
 * false: the function has not released the lock, and the caller maps the page.
 * true: the function has released the lock, because it has moved the page or has tried to.  It can sleep then.  The
 * caller looks the page up again.
 */
bool observe_touch_unlock(struct seg *s, struct vm_object *o, struct page *pg);

#endif
