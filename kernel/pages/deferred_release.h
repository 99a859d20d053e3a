// SPDX-License-Identifier: MIT
/*
 * deferred_release.h - lets a kernel thread, which may sleep, free objects after their last
 * reference is dropped.  See deferred_release.c.
 */
#ifndef PAGES_DEFERRED_RELEASE_H
#define PAGES_DEFERRED_RELEASE_H

#include "lib/list.h"

/* Embedded in an object whose destruction may have to sleep. */
struct dying {
    struct list link;
    void (*end)(struct dying *d);
};

/* dying_later - let the kernel thread call end(d), which may sleep.  `d` is not queued yet.  Any context. */
void dying_later(struct dying *d, void (*end)(struct dying *d));
/* dying_start - start the kernel thread; called once at boot, when threads can be created. */
void dying_start(void);

#endif
