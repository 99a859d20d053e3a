// SPDX-License-Identifier: MIT
/*
 * fshost.h - the floor under the files of kernel/fs when they run as a host program: included
 * before everything.
 *
 * One thread; locks only check that they are used rightly (not taken twice, released by who
 * took them, no sleeping lock under a spin lock).  Pages come from malloc, so that the
 * sanitizer sees what the kernel's allocator would not.
 */
#ifndef TESTS_HOST_FSHOST_H
#define TESTS_HOST_FSHOST_H

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
extern int host_spins_held;
#define SPINLOCK_INIT(r)                                                                       \
    {                                                                                          \
        0, (r)                                                                                 \
    }
static inline void spin_init(struct spinlock *l, enum lockrank rank)
{
    l->held = 0;
    l->rank = rank;
}
static inline void host_check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "lock misused: %s\n", what);
        abort();
    }
}
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

#include "mem/page.h"

struct host_page {
    struct page pg;
    uint8_t *data;
};
#define page_to_virt(p) ((void *)((struct host_page *)(p))->data)

/* Pages in use, and how many more may be taken before there is no memory (-1: no limit). */
extern long host_pages, host_page_limit;
/* Objects of kmem in use. */
extern long host_kmem;
/* What uio_move does after so many more bytes: fault.  -1: never. */
extern long host_fault_after;
/* Signals that the code under test has sent. */
extern int host_signals;

#endif
