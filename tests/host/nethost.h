// SPDX-License-Identifier: MIT
/*
 * nethost.h - what is below kernel/net and the driver of network cards when they run as a host program: included before
 * everything else.
 *
 * There is one thread.  Locks only check that they are used correctly.  Memory comes from malloc(), so that the
 * sanitizer sees each access beyond a packet.  Time stands still until the test moves it.  A call that would wait
 * returns as if a signal had arrived.
 */
#ifndef TESTS_HOST_NETHOST_H
#define TESTS_HOST_NETHOST_H

#define LIB_CPU_H
#define LIB_SPINLOCK_H

#include <stdio.h>
#include <stdlib.h>

#include "lib/lockrank.h"
#include "lib/types.h"

struct cpu {
    unsigned node;
};
extern struct cpu *cpus[1];
extern unsigned ncpu;
#define curthread ((struct thread *)NULL)
static inline struct cpu *this_cpu(void)
{
    return cpus[0];
}
static inline void cpu_pause(void)
{
}

struct spinlock {
    int held, rank;
};
extern int host_spins_held;
#define SPINLOCK_INIT(r) {0, (r)}
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

/* Pieces of memory in use; one of `host_fail_one_in` allocations fails (0: none). */
extern long host_kmem;
extern unsigned host_fail_one_in;

/* host_advance - lets that many milliseconds pass and runs the timers that expire. */
void host_advance(unsigned ms);

/*
 * A network card.  host_frame - the device stores a frame of `len` bytes in the next receive buffer, reports that it
 * has written `written` bytes, and interrupts.  host_sent - the newest frame that was sent since the last call, and its
 * length in *len; NULL: none.
 */
void host_frame(const void *frame, unsigned len, uint32_t written);
const uint8_t *host_sent(unsigned *len);

#endif
