// SPDX-License-Identifier: MIT
/*
 * no_observe.c - a kernel without balancing by observation: no page is sampled.
 *
 * SEE ALSO    kernel/profile.mk
 */
#include "absent/absent.h"
#include "proc/proc.h"
#include "stat/panic.h"
#include "vm/observe.h"

void observer_start(void)
{
}

bool observe_touch_unlock(struct seg *s, struct vm_object *o, struct page *pg)
{
    (void)s, (void)o;
    panic("page %p is sampled, but this kernel does not sample pages", pg);
}
