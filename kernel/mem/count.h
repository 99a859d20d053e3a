// SPDX-License-Identifier: MIT
/*
 * count.h - how frames are counted as unpageable: see mem_unpageable() in page.h.
 *
 * LOCKING     There are no locks, because each CPU has its own count.
 */
#ifndef MEM_COUNT_H
#define MEM_COUNT_H

#include "lib/cpu.h"
#include "mem/page.h"

/* mem_unpageable_publish - add the count of this CPU to that of the machine. */
void mem_unpageable_publish(void);

/*
 * mem_unpageable_add - add n frames to the count of this CPU: a single instruction, because an interrupt
 * handler can add, too.
 */
static inline void mem_unpageable_add(int n)
{
    int known;

    __asm__ volatile("addl %1, %%gs:%c0" ::"i"(offsetof(struct cpu, unpageable)), "r"(n)
                     : "memory", "cc");
    known = this_cpu()->unpageable;
    if (unlikely(known >= UNPAGEABLE_BATCH || known <= -UNPAGEABLE_BATCH))
        mem_unpageable_publish();
}

#endif
