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

bool observe_touch_unlock(struct as *as, struct vm_object *o, struct page *pg)
{
    (void)as, (void)o;
    panic("page %p is sampled, but this kernel does not sample pages", pg);
}
