// SPDX-License-Identifier: MIT
/*
 * deferred_release.h - giving up last references in a thread that may sleep.  See deferred_release.c.
 */
#ifndef VM_DEFERRED_RELEASE_H
#define VM_DEFERRED_RELEASE_H

#include "lib/list.h"

/* Part of something that has to end. */
struct dying {
    struct list link;
    void (*end)(struct dying *d);
};

/* dying_later - a thread calls end(d), which may sleep.  `d` is on its way from here on.  Any context. */
void dying_later(struct dying *d, void (*end)(struct dying *d));
/* dying_start - that thread; once there are threads. */
void dying_start(void);

#endif
