// SPDX-License-Identifier: MIT
/*
 * spinlock.h - ticket locks for short sections.
 *
 * THEORY      Waiters are served in the order of their tickets.  A spinning CPU executes `pause`, which
 *             on an emulated machine hands the turn to the CPU that holds the lock; where that does not help it halts
 *             (park.h).
 * INVARIANTS  I1  a holder runs with interrupts off and does not sleep
 *             I2  ranks of the locks a CPU holds ascend (lockrank.h; checked in test builds)
 *             I3  whoever may sleep, in a lock or for memory, holds no spin lock and serves no interrupt
 */
#ifndef LIB_SPINLOCK_H
#define LIB_SPINLOCK_H

#include "lib/cpu.h"
#include "lib/lockrank.h"
#include "lib/park.h"
#include "lib/types.h"

struct spinlock {
    _Atomic uint16_t next;  /* ticket the next comer draws */
    _Atomic uint16_t owner; /* ticket being served         */
    uint16_t rank;          /* enum lockrank               */
    uint16_t cpu;           /* holder's id + 1, or 0       */
};

#define SPINLOCK_INIT(r) {.rank = (r)}

static inline void spin_init(struct spinlock *l, enum lockrank rank)
{
    *l = (struct spinlock)SPINLOCK_INIT((uint16_t)rank);
}

enum spin_how {
    SPIN_PLAIN,
    SPIN_PAIR,
    SPIN_TRY
}; /* which rank rule applies: above all held, not below, none */

#ifdef HR_TEST
void spin_check_acquire(struct spinlock *l, enum spin_how how);
void spin_check_release(struct spinlock *l);
#else
static inline void spin_check_acquire(struct spinlock *l, enum spin_how how)
{
    (void)l, (void)how;
}
static inline void spin_check_release(struct spinlock *l)
{
    (void)l;
}
#endif

/*
 * spin_check_sleep - panics unless the caller may sleep: it holds `held` spin locks (0, or 1 that it lets go of), and
 * serves no interrupt (I3).  Before there are threads, it may.
 */
extern bool spin_threads_run; /* set at the end of boot */
void spin_bad_sleep(void);
static inline void spin_check_sleep(uint64_t held)
{
#ifdef HR_HOST
    if (unlikely(cpu_context() != held))
        spin_bad_sleep();
#else
    /* As below, all registers are kept, so that the check costs two instructions. */
    __asm__ volatile("cmpq %0, %%gs:%c1\n je 1f\n call spin_bad_sleep_keep\n1:" ::"er"(held),
                     "i"(offsetof(struct cpu, nlock))
                     : "cc", "memory");
#endif
}

/* spin_wait - wait for the turn of ticket `n`; spin_wake - wake who waits for it, if it halts. */
void spin_wait(struct spinlock *l, uint16_t n);
void spin_wake(struct spinlock *l, uint16_t n);
/* Calls one of them by way of a function that keeps all registers, so that the short path has none to save. */
#ifdef HR_HOST
#define SPIN_CALL(fn, l, n)                                                                        \
    while ((l)->owner != (n))                                                                      \
    cpu_pause()
#else
#define SPIN_CALL(fn, l, n)                                                                        \
    __asm__ volatile("call " #fn "_keep" ::"D"(l), "S"((uint64_t)(n)) : "memory", "cc")
#endif

static inline void spin_take(struct spinlock *l)
{
    uint16_t mine = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);

    if (unlikely(atomic_load_explicit(&l->owner, memory_order_acquire) != mine))
        SPIN_CALL(spin_wait, l, mine);
    l->cpu = (uint16_t)(this_cpu()->id + 1);
}

/* spin_lock - take `l`; interrupts are off from here to the matching spin_unlock(). */
static inline void spin_lock(struct spinlock *l)
{
    irq_push();
    spin_check_acquire(l, SPIN_PLAIN);
    spin_take(l);
}

/* spin_trylock - take `l` if it is free.  Returns whether it did. */
static inline bool spin_trylock(struct spinlock *l)
{
    uint16_t n;

    irq_push();
    n = atomic_load_explicit(&l->owner, memory_order_relaxed);
    if (atomic_compare_exchange_strong_explicit(&l->next, &n, (uint16_t)(n + 1),
                                                memory_order_acquire, memory_order_relaxed)) {
        spin_check_acquire(l, SPIN_TRY);
        l->cpu = (uint16_t)(this_cpu()->id + 1);
        return true;
    }
    irq_pop();
    return false;
}

static inline void spin_unlock(struct spinlock *l)
{
    uint16_t next = (uint16_t)(l->owner + 1);

    spin_check_release(l);
    l->cpu = 0;
    atomic_store_explicit(&l->owner, next, memory_order_release);
    if (unlikely(park_on))
        SPIN_CALL(spin_wake, l, next);
    irq_pop();
}

/* spin_lock_pair - take two locks of one rank, the lower address first; a may equal b. */
static inline void spin_lock_pair(struct spinlock *a, struct spinlock *b)
{
    if (a > b) {
        struct spinlock *t = a;
        a = b;
        b = t;
    }
    spin_lock(a);
    if (a != b) {
        irq_push();
        spin_check_acquire(b, SPIN_PAIR);
        spin_take(b);
    }
}

static inline void spin_unlock_pair(struct spinlock *a, struct spinlock *b)
{
    spin_unlock(a);
    if (a != b)
        spin_unlock(b);
}

/* Whether this CPU holds `l`: for ASSERT. */
static inline bool spin_held(const struct spinlock *l)
{
    return l->cpu == this_cpu()->id + 1;
}

#endif
