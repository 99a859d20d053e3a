// SPDX-License-Identifier: MIT
/*
 * spinlock.c - the slow path of spin locks, their rank checks in test builds, and the table of CPUs.
 */
#include "lib/spinlock.h"

#include "stat/panic.h"

struct cpu *cpus[CPU_MAX];
unsigned ncpu;

void spin_wait(struct spinlock *l, uint16_t n)
{
    for (unsigned turns = 0; atomic_load_explicit(&l->owner, memory_order_acquire) != n; turns++) {
        cpu_pause();
        if (park_on && turns == PARK_TURNS) {
            turns = 0;
            park_begin(park_key(l, n));
            park_end(atomic_load(&l->owner) != n);
        }
    }
}

void spin_pass(struct spinlock *l, uint16_t n)
{
    atomic_store_explicit(&l->owner, n, memory_order_release);
    park_wake(park_key(l, n));
}

bool spin_threads_run;

void spin_bad_sleep(void)
{
    uint64_t context = cpu_context();

    if (spin_threads_run)
        panic("spinlock.h: invariant I3 broken: a sleep with %u spin locks held, in %u interrupts",
              (unsigned)context, (unsigned)(context >> 32));
}

#ifdef HR_TEST
void spin_check_acquire(struct spinlock *l, enum spin_how how)
{
    struct cpu *c = this_cpu();

    if (l->cpu == c->id + 1)
        panic("spin lock %p (rank %u) taken twice by CPU %u", (void *)l, l->rank, c->id);
    for (unsigned i = 0; i < CPU_HELD_MAX; i++) {
        struct spinlock *h = c->held[i];

        if (h != NULL && how != SPIN_TRY &&
            (how == SPIN_PAIR ? h->rank > l->rank : h->rank >= l->rank))
            panic("lock order: rank %u taken while holding rank %u (lockrank.h)", l->rank, h->rank);
    }
    for (unsigned i = 0; i < CPU_HELD_MAX; i++)
        if (c->held[i] == NULL) {
            c->held[i] = l;
            return;
        }
    panic("more than %u spin locks held", CPU_HELD_MAX);
}

void spin_check_release(struct spinlock *l)
{
    struct cpu *c = this_cpu();

    if (l->cpu != c->id + 1)
        panic("spin lock %p (rank %u) released by CPU %u, which does not hold it", (void *)l,
              l->rank, c->id);
    for (unsigned i = 0; i < CPU_HELD_MAX; i++)
        if (c->held[i] == l) {
            c->held[i] = NULL;
            return;
        }
}
#endif
