// SPDX-License-Identifier: MIT
/*
 * sync.h - locks that sleep: adaptive mutexes, reader-writer locks, condition variables.
 *
 * THEORY      A thread that finds a spin lock taken uses the CPU until the lock is free.  That is acceptable
 *             for a few hundred instructions.  For longer waits, the locks here let the thread sleep, so that
 *             other threads run.
 *             A mutex has one owner.  A thread that finds the mutex taken spins for a moment while the owner
 *             runs on a CPU, and sleeps otherwise.  A sleeper lends its priority to the owner (priority
 *             inheritance).  A new owner inherits the priority of real-time threads that wait already.
 *             A reader-writer lock is held by one writer or by many readers.  It works like a mutex in all else.
 *             On a condition variable, threads sleep until another thread signals that a condition may be true
 *             now; they are woken up in the order in which they came.
 *             The caller must hold no spin lock, except the one that cv_wait_spin(), cv_wait_sig_spin() or
 *             cv_wait_disk() releases.  Each function that can sleep checks this on every call, even on calls
 *             that do not sleep (lib/spinlock.h, I3).
 * LOCKING     each object has one internal spin lock of RANK_CV
 */
#ifndef DISP_SYNC_H
#define DISP_SYNC_H

#include "lib/list.h"
#include "lib/spinlock.h"
#include "lib/types.h"

struct thread;

/* A lock that sleeps: the common part of mutexes and rwlocks. */
struct sleeplock {
    /* 0: free; the thread that holds it for writing; or LOCK_READ + LOCK_ONE * readers.  Low bits: flags. */
    _Atomic uintptr_t word;
    struct spinlock lock;
    /* under `lock`, in the order in which they came; but a waiter that asks for the lock becomes the first */
    struct list waiters;
    enum sleeprank rank;
    /* a waiter may have a real-time priority; set in that waiter's lock_claim(), or by lend_priority() */
    _Atomic bool rt;
};

enum {
    LOCK_WAIT = 1,  /* threads wait */
    LOCK_AWAKE = 2, /* those that a release wakes up are awake: no wake-up is needed */
    LOCK_HAND = 4,  /* the first of them has asked for the lock: it must get it next */
    LOCK_FLAGS = 7,
    LOCK_READ = 8,
    LOCK_ONE = 16
};

struct mutex {
    struct sleeplock l;
};

struct rwlock {
    struct sleeplock l;
};

struct cv {
    struct spinlock lock;
    struct list waiters;
};

/*
 * mutex_enter - take `m`; sleep until it is free, even if a signal arrives.  The caller does not own m and
 * holds no spin lock.
 * mutex_tryenter - take `m` if it is free; returns whether the caller now owns it.
 * mutex_exit - release `m`, which the caller owns, and wake up the first waiter and the one of the highest
 * real-time priority.
 */
void mutex_init(struct mutex *m, enum sleeprank rank);
void mutex_enter(struct mutex *m);
bool mutex_tryenter(struct mutex *m);
void mutex_exit(struct mutex *m);

/* lock_writer - the thread that holds a lock with this word for writing; NULL: none. */
static inline struct thread *lock_writer(uintptr_t word)
{
    return (word & LOCK_READ) != 0 ? NULL : (struct thread *)(word & ~(uintptr_t)LOCK_FLAGS);
}

/*
 * rw_enter_read, rw_enter_write - take `rw` for reading (together with other readers) or for writing (alone).
 * Sleep until that is possible, even if a signal arrives.  A reader must not enter a second time: if a writer
 * waits in between, the reader deadlocks.
 * rw_tryenter_read, rw_tryenter_write - take `rw` if that needs no waiting; return whether it was taken.
 */
void rw_init(struct rwlock *rw, enum sleeprank rank);
void rw_enter_read(struct rwlock *rw);
void rw_enter_write(struct rwlock *rw);
bool rw_tryenter_read(struct rwlock *rw);
bool rw_tryenter_write(struct rwlock *rw);
void rw_exit_read(struct rwlock *rw);
void rw_exit_write(struct rwlock *rw);

/*
 * Checks of the lock order, in test builds (lib/lockrank.h).  The lock functions call them.
 * sleeprank_enter - curthread begins to hold `what`, a lock or another resource for which threads may sleep.
 * sleeprank_exit - curthread releases `what`.
 * sleeprank_none - panic if curthread holds any.
 */
#ifdef HR_TEST
void sleeprank_enter(const void *what, enum sleeprank rank);
void sleeprank_exit(const void *what);
void sleeprank_none(void);
#else
static inline void sleeprank_enter(const void *what, enum sleeprank rank)
{
}
static inline void sleeprank_exit(const void *what)
{
}
static inline void sleeprank_none(void)
{
}
#endif

/* thread_sleep_ns - sleep for `ns` nanoseconds, even if a signal arrives. */
void thread_sleep_ns(uint64_t ns);

#define NO_DEADLINE UINT64_MAX

void cv_init(struct cv *cv);
/*
 * cv_wait - release `m`, sleep until woken up, take `m` again.  `what` names the reason in reports.
 * cv_wait_sig - the same, but a signal or the deadline (ns of clock_mono_ns(), or NO_DEADLINE) also ends the
 * sleep.  0: woken up; -EINTR: a signal arrived; -ETIMEDOUT: the deadline has passed.  `m` is held again in
 * each case.
 * cv_wait_spin, cv_wait_sig_spin - the same with a spin lock instead of a mutex.
 */
void cv_wait(struct cv *cv, struct mutex *m, const char *what);
int cv_wait_sig(struct cv *cv, struct mutex *m, uint64_t deadline, const char *what);
void cv_wait_spin(struct cv *cv, struct spinlock *l, const char *what);
/*
 * cv_wait_disk - cv_wait_spin() for disk I/O: if this CPU is idle during the sleep, its clock ticks
 * count as waiting for a disk (column wt of mpstat).
 */
void cv_wait_disk(struct cv *cv, struct spinlock *l, const char *what);
int cv_wait_sig_spin(struct cv *cv, struct spinlock *l, uint64_t deadline, const char *what);
/*
 * cv_signal, cv_broadcast - wake up the first waiter, or all waiters.  Both return the number of
 * threads woken up, and can be called in any context.  The caller may hold spin locks of a rank
 * below RANK_CV.
 */
unsigned cv_signal(struct cv *cv);
unsigned cv_broadcast(struct cv *cv);

#endif
