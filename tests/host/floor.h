// SPDX-License-Identifier: MIT
/*
 * floor.h - what all kernel code needs when parts of it run as a host program: for exthost.h and fshost.h.
 *
 * There is one thread.  Locks only check that they are used correctly: not taken twice, released by the thread that
 * took them, no sleeping lock under a spin lock.  Memory comes from malloc(), so that the sanitizer sees errors that
 * the kernel's allocator would hide.
 */
#ifndef TESTS_HOST_FLOOR_H
#define TESTS_HOST_FLOOR_H

#define LIB_CPU_H
#define LIB_SPINLOCK_H

#include <stdio.h>
#include <stdlib.h>

#include "lib/lockrank.h"
#include "lib/types.h"

struct cpu {
    unsigned node;
};
static inline struct cpu *this_cpu(void)
{
    static struct cpu only;

    return &only;
}

struct spinlock {
    int held, rank;
};
#define SPINLOCK_INIT(r) {0, (r)}
static inline void host_check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "lock misused: %s\n", what);
        abort();
    }
}
static inline void spin_init(struct spinlock *l, enum lockrank rank)
{
    l->held = 0;
    l->rank = rank;
}
extern int host_spins_held;
static inline void spin_lock(struct spinlock *l)
{
    host_check(!l->held, "spin lock taken twice");
    l->held = 1;
    host_spins_held++;
}
static inline void spin_unlock(struct spinlock *l)
{
    host_check(l->held, "spin lock not held");
    l->held = 0;
    host_spins_held--;
}

/* Called once, when a lock is about to be taken for writing: stands for another thread that runs just before. */
extern void (*host_before_write)(void);
/* Called whenever a mutex is about to be taken; NULL: nothing is called. */
extern void (*host_before_mutex)(void);
/* Pieces of kmem in use; one in `host_alloc_fails` allocations fails (0: none), as `host_allocs` counts them. */
extern long host_kmem;
extern unsigned host_alloc_fails, host_allocs;
bool host_no_memory(void); /* whether this allocation fails */

extern bool host_quiet;        /* suppresses warnings */
extern char host_warning[256]; /* the last warning */

#endif
