// SPDX-License-Identifier: MIT
/*
 * sync.h - locks that sleep: adaptive mutexes, reader-writer locks, condition variables.
 *
 * THEORY      A mutex spins while its owner runs on a CPU and sleeps otherwise; a sleeper lends its priority to the
 *             owner (priority inheritance).  Waiters of a condition variable queue in order.  Each of them may be
 *             taken only by a thread that holds no spin lock, except that cv_*_spin releases the one it is given.
 *             Each checks that its caller may sleep, whether it does this time or not (lib/spinlock.h, I3).
 * LOCKING     each has one internal spin lock of RANK_CV
 */
#ifndef DISP_SYNC_H
#define DISP_SYNC_H

#include "lib/list.h"
#include "lib/spinlock.h"
#include "lib/types.h"

struct thread;

struct mutex {
    _Atomic uintptr_t owner; /* thread that holds it; bit 0: there are sleepers */
    struct spinlock lock;
    struct list waiters;
    enum sleeprank rank;
};

struct rwlock {
    _Atomic int64_t word; /* readers * 4 | WRITER 1 | WAITERS 2 */
    struct spinlock lock;
    struct list waiters;
    enum sleeprank rank;
};

struct cv {
    struct spinlock lock;
    struct list waiters;
};

/*
 * mutex_enter - take `m`, sleeping (deaf to signals) until it is free; not for its owner, nor with a spin lock held.
 * mutex_tryenter - take it if that needs no waiting; whether it did.
 * mutex_exit - by the owner; the first waiter becomes the owner.
 */
void mutex_init(struct mutex *m, enum sleeprank rank);
void mutex_enter(struct mutex *m);
bool mutex_tryenter(struct mutex *m);
void mutex_exit(struct mutex *m);

/*
 * rw_enter_read, rw_enter_write - take `rw` together with other readers, or alone; sleep (deaf to signals) until then.
 * A reader does not enter again while a writer may wait: it would wait for itself.
 * rw_tryenter_read - enter if that needs no waiting; whether it did.
 */
void rw_init(struct rwlock *rw, enum sleeprank rank);
void rw_enter_read(struct rwlock *rw);
void rw_enter_write(struct rwlock *rw);
bool rw_tryenter_read(struct rwlock *rw);
void rw_exit_read(struct rwlock *rw);
void rw_exit_write(struct rwlock *rw);

/*
 * sleeprank_enter - the caller begins to hold `what`, for which others may sleep.  sleeprank_exit - it ends to.
 * sleeprank_none - it holds nothing of the kind.  Test builds check it (lib/lockrank.h); a lock's functions call them.
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

/* thread_sleep_ns - sleep for `ns` nanoseconds, deaf to signals. */
void thread_sleep_ns(uint64_t ns);

#define NO_DEADLINE UINT64_MAX

void cv_init(struct cv *cv);
/*
 * cv_wait - release `m`, sleep until woken, take `m` again.
 * cv_wait_sig - as above, but returns -EINTR on a signal and -ETIMEDOUT at `deadline` (ns of clock_mono_ns(),
 * NO_DEADLINE for none); 0 when woken.  The *_spin forms take a spin lock instead of a mutex.  `what` is for people.
 */
void cv_wait(struct cv *cv, struct mutex *m, const char *what);
int cv_wait_sig(struct cv *cv, struct mutex *m, uint64_t deadline, const char *what);
void cv_wait_spin(struct cv *cv, struct spinlock *l, const char *what);
/* cv_wait_disk - cv_wait_spin() for what a disk is to do: while this CPU is idle it counts as waiting (mpstat's wt). */
void cv_wait_disk(struct cv *cv, struct spinlock *l, const char *what);
int cv_wait_sig_spin(struct cv *cv, struct spinlock *l, uint64_t deadline, const char *what);
/* cv_signal wakes the first waiter, cv_broadcast all.  Returns how many.  Any context, locks below RANK_CV. */
unsigned cv_signal(struct cv *cv);
unsigned cv_broadcast(struct cv *cv);

#endif
