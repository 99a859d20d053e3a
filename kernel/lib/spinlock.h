// SPDX-License-Identifier: MIT
/*
 * spinlock.h - spin locks: a CPU that waits for a spin lock tests it again and again instead of sleeping.
 *
 * THEORY      Two CPUs that change the same data at the same time can corrupt it.  A lock lets only one CPU
 *             change the data at a time.  Spin locks are for short sections, where a sleep would cost more than
 *             the wait.  These are ticket locks: a CPU that needs the lock takes the next ticket number, and
 *             gets the lock when its number comes.  So no CPU waits for ever.
 *             A spinning CPU executes `pause`.  If one host thread runs all CPUs, `pause` lets QEMU run the
 *             next CPU, and so finally the holder.  If each CPU has its own host thread, a CPU that has spun
 *             for a while halts (park.h).
 * INVARIANTS  I1  a CPU that holds a lock has interrupts off and does not sleep
 *             I2  a CPU takes locks in ascending order of rank (lockrank.h; checked in test builds)
 *             I3  code that can sleep, for a lock or for memory, holds no spin lock and handles no interrupt
 */
#ifndef LIB_SPINLOCK_H
#define LIB_SPINLOCK_H

#include "lib/cpu.h"
#include "lib/lockrank.h"
#include "lib/park.h"
#include "lib/types.h"

struct spinlock {
    _Atomic uint16_t next;  /* the next ticket to draw */
    _Atomic uint16_t owner; /* the ticket that holds the lock; equal to `next`: the lock is free */
    uint16_t rank;          /* enum lockrank */
    uint16_t cpu;           /* id + 1 of the CPU that holds the lock; 0: free */
};

#define SPINLOCK_INIT(r) {.rank = (r)}

static inline void spin_init(struct spinlock *l, enum lockrank rank)
{
    *l = (struct spinlock)SPINLOCK_INIT((uint16_t)rank);
}

/* The rank that a lock must have when the CPU holds other locks. */
enum spin_how {
    SPIN_PLAIN, /* above the ranks of all held locks */
    SPIN_PAIR,  /* not below the rank of any held lock */
    SPIN_TRY    /* any rank, because spin_trylock() does not wait */
};

/* spin_check_acquire, spin_check_release - in test builds, keep cpu->held[] and panic if I2 is broken. */
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
 * spin_check_sleep - panic if the caller must not sleep (I3).  The caller must handle no interrupt and hold
 * exactly `held` spin locks: 0, or 1 that it releases before the sleep.  Checks nothing before threads run.
 */
extern bool spin_threads_run; /* set at the end of boot */
void spin_bad_sleep(void);
static inline void spin_check_sleep(uint64_t held)
{
#ifdef HR_HOST
    if (unlikely(cpu_context() != held))
        spin_bad_sleep();
#else
    /* spin_bad_sleep_keep preserves all registers, so that the check costs only two instructions. */
    __asm__ volatile("cmpq %0, %%gs:%c1\n je 1f\n call spin_bad_sleep_keep\n1:" ::"er"(held),
                     "i"(offsetof(struct cpu, nlock))
                     : "cc", "memory");
#endif
}

/*
 * spin_wait - wait until ticket `n` holds the lock; spin_pass - pass the lock to ticket `n`, and wake up
 * the CPU with this ticket if it halts.
 */
void spin_wait(struct spinlock *l, uint16_t n);
void spin_pass(struct spinlock *l, uint16_t n);
/*
 * Calls spin_wait() or spin_pass() through NAME_keep (park_halt.S).  That preserves all registers, so fast
 * paths save none.
 */
#ifdef HR_HOST
#define SPIN_CALL(fn, l, n)                                                                        \
    while ((l)->owner != (n))                                                                      \
    cpu_pause()
#else
#define SPIN_CALL(fn, l, n)                                                                        \
    __asm__ volatile("call " #fn "_keep" ::"D"(l), "S"((uint64_t)(n)) : "memory", "cc")
#endif

/* Takes a ticket and waits until this ticket holds the lock.  Interrupts are off. */
static inline void spin_take(struct spinlock *l)
{
    uint16_t mine = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);

    if (unlikely(atomic_load_explicit(&l->owner, memory_order_acquire) != mine))
        SPIN_CALL(spin_wait, l, mine);
    l->cpu = (uint16_t)(this_cpu_id() + 1);
}

/* spin_lock - take `l`; interrupts are off from here to the matching spin_unlock(). */
static inline void spin_lock(struct spinlock *l)
{
    irq_push();
    spin_check_acquire(l, SPIN_PLAIN);
    spin_take(l);
}

/* spin_trylock - take `l` if it is free.  Returns whether it was taken; if so, interrupts are off. */
static inline bool spin_trylock(struct spinlock *l)
{
    uint16_t n;

    irq_push();
    n = atomic_load_explicit(&l->owner, memory_order_relaxed);
    if (atomic_compare_exchange_strong_explicit(&l->next, &n, (uint16_t)(n + 1),
                                                memory_order_acquire, memory_order_relaxed)) {
        spin_check_acquire(l, SPIN_TRY);
        l->cpu = (uint16_t)(this_cpu_id() + 1);
        return true;
    }
    irq_pop();
    return false;
}

/* spin_unlock - release `l`, and restore interrupts if the CPU holds no other lock. */
static inline void spin_unlock(struct spinlock *l)
{
    spin_check_release(l);
    l->cpu = 0;
    if (unlikely(park_on))
        SPIN_CALL(spin_pass, l, (uint16_t)(l->owner + 1));
    else /* only the holder changes `owner`, so LOCK is not needed */
        __asm__ volatile("incw %0" : "+m"(l->owner)::"memory", "cc");
    irq_pop();
}

/* spin_lock_pair - take two locks of the same rank, the one at the lower address first.  a may equal b. */
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

/* spin_held - whether this CPU holds `l`; for ASSERT. */
static inline bool spin_held(const struct spinlock *l)
{
    return l->cpu == this_cpu_id() + 1;
}

#endif
