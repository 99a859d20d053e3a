// SPDX-License-Identifier: MIT
/*
 * sync.c - mutexes, reader-writer locks and condition variables: see sync.h.
 *
 * THEORY      A thread that must wait puts a struct waiter, on its own stack, on the list of the object and
 *             sleeps.  Locks are handed over: the thread that releases a lock makes the first waiter the
 *             owner before it wakes the waiter up.  So no other thread can take the lock in between, and a
 *             thread that wakes up always has the lock.
 *             A wake-up sets `woken`, under the lock of the list, before it calls thread_wake().  The sleeper
 *             reads `woken` under its own thread lock before it sleeps, so a wake-up that comes early is not
 *             lost.
 * INVARIANTS  I1  a waiter is on a list iff it is not woken
 *             I2  the owner word of a mutex has bit 0 set iff its list is not empty (under m->lock)
 *             I3  the word of a rwlock has RW_WAIT set iff its list is not empty (under rw->lock)
 * LOCKING     each object's own lock (RANK_CV), then thread locks
 */
#include "disp/sync.h"

#include "disp/disp.h"
#include "lib/errno.h"
#include "stat/cpustat.h"
#include "stat/panic.h"

enum { SPIN_MAX = 64, RW_WRITER = 1, RW_WAIT = 2, RW_READER = 4 };
enum lock_kind { LOCK_MUTEX, LOCK_READER, LOCK_WRITER }; /* values in the trace */

struct waiter {
    struct list link;
    struct thread *t;
    _Atomic bool woken;
    _Atomic bool timed_out;
    bool write; /* rwlock: the thread waits to write */
    struct timer timer;
};

static void waiter_init(struct waiter *w)
{
    w->t = curthread;
    w->woken = false;
    w->timed_out = false;
    w->timer = (struct timer){0};
}

/*
 * Marks `w`, which is already off its list, as woken, and wakes up its thread.  The caller holds the lock of
 * the list: see wait_for_waker().
 */
static void waiter_wake(struct waiter *w)
{
    struct thread *t = w->t;

    w->woken = true;
    (void)thread_wake(t, curthread);
}

/* Sleeps until woken, until the timer of `w` expires or, with `sig`, until a signal arrives. */
static void waiter_sleep(struct waiter *w, bool sig)
{
    struct thread *t = w->t;

    while (!w->woken && !w->timed_out) {
        if (sig && signal_pending())
            return;
        spin_lock(&t->lock);
        if (w->woken || w->timed_out || (sig && signal_pending())) {
            spin_unlock(&t->lock);
            continue;
        }
        t->sleep_sig = sig;
        t->state = TS_SLEEP;
        swtch();
    }
}

/* waiter_sleep() for lock `lock` named `name`, with trace events before and after. */
static void sleep_for_lock(struct waiter *w, enum lock_kind kind, void *lock, const char *name)
{
    uint64_t begin;

    TRACE(LOCK, kind, (uintptr_t)lock, trace_name(name));
    begin = rdtsc();
    waiter_sleep(w, false);
    TRACE(LOCKED, kind, (uintptr_t)lock, tsc_to_ns(rdtsc() - begin));
}

/*
 * The waker uses the waiter, which is on our stack, and the object until it releases the list's lock `l`.  So
 * this thread must not return before that: the return destroys the waiter, and the caller may free the object.
 */
static void wait_for_waker(struct spinlock *l)
{
    spin_lock(l);
    spin_unlock(l);
}

static void waiter_timeout(struct timer *tm)
{
    struct waiter *w = container_of(tm, struct waiter, timer);
    struct thread *t = w->t;

    w->timed_out = true;
    (void)thread_wake(t, NULL);
}

void thread_sleep_ns(uint64_t ns)
{
    struct waiter w;

    spin_check_sleep(0);
    waiter_init(&w);
    curthread->wait_what = "delay";
    timer_arm(&w.timer, clock_mono_ns() + ns, waiter_timeout);
    waiter_sleep(&w, false);
    timer_cancel(&w.timer); /* from here on the timer's function does not run or use `w` */
}

/* ---- ranks ---- */

static const char *const rank_name[] = {
#define X(rank, name, guards) [rank] = name,
    SLEEPING_LOCKS(X)
#undef X
};

#ifdef HR_TEST
static void record_held_lock(const void *what, enum sleeprank rank)
{
    struct sleep_held *h = curthread->sleep_held;

    for (unsigned i = 0; i < SLEEP_HELD_MAX; i++)
        if (h[i].what == NULL) {
            h[i] = (struct sleep_held){what, rank};
            return;
        }
    panic("more than %u sleeping locks held", SLEEP_HELD_MAX);
}

void sleeprank_enter(const void *what, enum sleeprank rank)
{
    const struct sleep_held *h = curthread->sleep_held;

    for (unsigned i = 0; i < SLEEP_HELD_MAX; i++)
        if (h[i].what != NULL && (h[i].rank > rank || (h[i].rank == rank && rank != SLEEP_VNODE)))
            panic("lock order: %s taken while holding %s (lockrank.h)", rank_name[rank],
                  rank_name[h[i].rank]);
    record_held_lock(what, rank);
}

void sleeprank_exit(const void *what)
{
    struct sleep_held *h = curthread->sleep_held;

    for (unsigned i = 0; i < SLEEP_HELD_MAX; i++)
        if (h[i].what == what) {
            h[i].what = NULL;
            return;
        }
    panic("a sleeping lock is left by a thread that does not hold it");
}

void sleeprank_none(void)
{
    const struct sleep_held *h = curthread->sleep_held;

    for (unsigned i = 0; i < SLEEP_HELD_MAX; i++)
        if (h[i].what != NULL)
            panic("lock order: back to the program while holding %s", rank_name[h[i].rank]);
}
#else
static inline void record_held_lock(const void *what, enum sleeprank rank)
{
}
#endif

/* ---- mutex ---- */

void mutex_init(struct mutex *m, enum sleeprank rank)
{
    m->owner = 0;
    spin_init(&m->lock, RANK_CV);
    list_init(&m->waiters);
    m->rank = rank;
}

/*
 * Lends priority `pri` to the owner of `m`, whose lock is held.  If the owner sleeps for another
 * mutex, lends the priority to the owner of that mutex, too, and so on along the chain.
 * While m->lock is held and the list of waiters of m is not empty, the owner cannot release m.
 * While the owner's thread lock is held, the owner cannot wake up, so the mutex that it sleeps for
 * exists.  The lock of that mutex is only tried (spin_trylock), because that lock comes before
 * thread locks in the lock order.  If the lock is taken, its holder is about to change the chain.
 */
static void lend_priority(struct mutex *m, int pri)
{
    struct mutex *first = m;

    for (int depth = 0; depth < 8 && m != NULL; depth++) {
        struct thread *o = (struct thread *)(m->owner & ~1ul);
        struct mutex *next;

        spin_lock(&o->lock);
        if (o->pri >= pri) {
            next = NULL;
        } else {
            thread_inherit(o, pri);
            next = o->state == TS_SLEEP ? o->blocked_on : NULL;
            if (next != NULL && !spin_trylock(&next->lock))
                next = NULL;
        }
        spin_unlock(&o->lock);
        if (m != first)
            spin_unlock(&m->lock);
        m = next;
    }
    if (m != NULL && m != first)
        spin_unlock(&m->lock);
}

/* Takes `m` if it is free by now; otherwise sleeps until curthread owns it. */
static void mutex_sleep(struct mutex *m)
{
    struct thread *t = curthread, *o;
    struct waiter w;
    uintptr_t v;

    waiter_init(&w);
    spin_lock(&m->lock);
    for (v = m->owner;;) {
        if (v == 0) {
            if (atomic_compare_exchange_strong(&m->owner, &v, (uintptr_t)t)) {
                spin_unlock(&m->lock);
                return;
            }
        } else if (atomic_compare_exchange_strong(&m->owner, &v, v | 1)) {
            break;
        }
    }
    o = (struct thread *)(v & ~1ul);
    ASSERT(o != t, "a mutex is not entered twice by its owner");
    list_push_back(&m->waiters, &w.link);
    o->n_contended += (v & 1) == 0;
    t->blocked_on = m;
    t->wait_what = rank_name[m->rank];
    t->wait_chan = m;
    if (o->pri < t->pri)
        lend_priority(m, t->pri);
    spin_unlock(&m->lock);
    sleep_for_lock(&w, LOCK_MUTEX, m, rank_name[m->rank]);
    wait_for_waker(&m->lock);
}

void mutex_enter(struct mutex *m)
{
    uintptr_t free = 0;

    spin_check_sleep(0);
    sleeprank_enter(m, m->rank);
    if (likely(atomic_compare_exchange_strong_explicit(&m->owner, &free, (uintptr_t)curthread,
                                                       memory_order_acquire, memory_order_relaxed)))
        return;
    CPUSTAT_INC(smtx);
    for (unsigned i = 0; i < SPIN_MAX; i++) {
        struct thread *o = (struct thread *)(free & ~1ul);

        if (free & 1 || (o != NULL && o->state != TS_ONPROC))
            break;
        cpu_pause();
        free = 0;
        if (atomic_compare_exchange_strong(&m->owner, &free, (uintptr_t)curthread))
            return;
    }
    mutex_sleep(m);
}

bool mutex_tryenter(struct mutex *m)
{
    uintptr_t free = 0;

    if (!atomic_compare_exchange_strong(&m->owner, &free, (uintptr_t)curthread))
        return false;
    record_held_lock(m, m->rank);
    return true;
}

void mutex_exit(struct mutex *m)
{
    struct thread *t = curthread;
    uintptr_t mine = (uintptr_t)t;
    struct waiter *w;

    sleeprank_exit(m);
    if (likely(atomic_compare_exchange_strong_explicit(&m->owner, &mine, 0, memory_order_release,
                                                       memory_order_relaxed)))
        return;
    ASSERT((mine & ~1ul) == (uintptr_t)t, "a mutex is left by its owner");
    spin_lock(&m->lock);
    w = list_pop(&m->waiters, struct waiter, link);
    ASSERT(w != NULL, "I2");
    if (--t->n_contended == 0 && t->inherit_pri >= 0) {
        spin_lock(&t->lock);
        if (t->n_contended == 0) /* still no thread waits for another mutex of t */
            thread_inherit(t, -1);
        spin_unlock(&t->lock);
    }
    w->t->blocked_on = NULL;
    if (!list_empty(&m->waiters)) {
        w->t->n_contended++;
        m->owner = (uintptr_t)w->t | 1;
    } else {
        m->owner = (uintptr_t)w->t;
    }
    waiter_wake(w);
    spin_unlock(&m->lock);
}

/* ---- reader-writer lock ---- */

void rw_init(struct rwlock *rw, enum sleeprank rank)
{
    rw->word = 0;
    spin_init(&rw->lock, RANK_CV);
    list_init(&rw->waiters);
    rw->rank = rank;
}

/* One attempt to enter: a writer needs a free lock, a reader a lock without writer and without waiters. */
static bool rw_try(struct rwlock *rw, bool write)
{
    int64_t v = atomic_load_explicit(&rw->word, memory_order_relaxed);

    while (write ? v == 0 : (v & (RW_WRITER | RW_WAIT)) == 0)
        if (atomic_compare_exchange_weak_explicit(&rw->word, &v,
                                                  v + (write ? RW_WRITER : RW_READER),
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    return false;
}

/* Takes `rw` if it is free by now; otherwise sleeps until curthread holds it. */
static void rw_sleep(struct rwlock *rw, bool write)
{
    struct waiter w;

    CPUSTAT_INC(srw);
    waiter_init(&w);
    w.write = write;
    spin_lock(&rw->lock);
    atomic_fetch_or(&rw->word, RW_WAIT); /* now all threads need rw->lock to enter or leave */
    if ((rw->word & ~(int64_t)RW_WAIT) == 0 && list_empty(&rw->waiters)) {
        /* The lock has become free. */
        rw->word = write ? RW_WRITER : RW_READER;
        spin_unlock(&rw->lock);
        return;
    }
    list_push_back(&rw->waiters, &w.link);
    curthread->wait_what = rank_name[rw->rank];
    curthread->wait_chan = rw;
    spin_unlock(&rw->lock);
    sleep_for_lock(&w, write ? LOCK_WRITER : LOCK_READER, rw, rank_name[rw->rank]);
    wait_for_waker(&rw->lock);
}

/*
 * Hands over a free lock for which threads wait.  If the first waiter is a writer, this writer gets
 * the lock; otherwise all readers before the first writer get it.  The caller holds rw->lock.
 */
static void rw_hand_over(struct rwlock *rw)
{
    struct waiter *w, *tmp;
    struct list go = LIST_INIT(go);
    int64_t word = 0;

    LIST_FOREACH_SAFE (w, tmp, &rw->waiters, link) {
        if (word != 0 && w->write)
            break;
        list_remove(&w->link);
        list_push_back(&go, &w->link);
        word += w->write ? RW_WRITER : RW_READER;
        if (w->write)
            break;
    }
    rw->word = word | (list_empty(&rw->waiters) ? 0 : RW_WAIT);
    while ((w = list_pop(&go, struct waiter, link)) != NULL)
        waiter_wake(w);
}

void rw_enter_read(struct rwlock *rw)
{
    spin_check_sleep(0);
    sleeprank_enter(rw, rw->rank);
    if (unlikely(!rw_try(rw, false)))
        rw_sleep(rw, false);
}

void rw_enter_write(struct rwlock *rw)
{
    spin_check_sleep(0);
    sleeprank_enter(rw, rw->rank);
    if (unlikely(!rw_try(rw, true)))
        rw_sleep(rw, true);
}

bool rw_tryenter_read(struct rwlock *rw)
{
    if (!rw_try(rw, false))
        return false;
    record_held_lock(rw, rw->rank);
    return true;
}

void rw_exit_read(struct rwlock *rw)
{
    int64_t v = atomic_load_explicit(&rw->word, memory_order_relaxed);

    sleeprank_exit(rw);
    while (!(v & RW_WAIT))
        if (atomic_compare_exchange_weak_explicit(&rw->word, &v, v - RW_READER,
                                                  memory_order_release, memory_order_relaxed))
            return;
    spin_lock(&rw->lock);
    if (atomic_fetch_sub(&rw->word, RW_READER) - RW_READER == RW_WAIT)
        rw_hand_over(rw);
    spin_unlock(&rw->lock);
}

void rw_exit_write(struct rwlock *rw)
{
    int64_t v = RW_WRITER;

    sleeprank_exit(rw);
    if (atomic_compare_exchange_strong_explicit(&rw->word, &v, 0, memory_order_release,
                                                memory_order_relaxed))
        return;
    ASSERT(v & RW_WRITER, "a rwlock is left by its writer");
    spin_lock(&rw->lock);
    rw->word = RW_WAIT;
    rw_hand_over(rw);
    spin_unlock(&rw->lock);
}

/* ---- condition variable ---- */

void cv_init(struct cv *cv)
{
    spin_init(&cv->lock, RANK_CV);
    list_init(&cv->waiters);
}

/*
 * The common part of cv_wait() and its variants.  The caller holds `m`, or `l` if m is NULL; that lock is
 * released during the sleep.  0, -EINTR (only with `sig`) or -ETIMEDOUT.
 */
static int cv_sleep(struct cv *cv, struct mutex *m, struct spinlock *l, bool sig, uint64_t deadline,
                    const char *what)
{
    struct waiter w;
    int err = 0;

    spin_check_sleep(l != NULL ? 1 : 0);
    if (sig && signal_pending())
        return -EINTR;
    waiter_init(&w);
    w.t->wait_what = what;
    w.t->wait_chan = cv;
    spin_lock(&cv->lock);
    list_push_back(&cv->waiters, &w.link);
    spin_unlock(&cv->lock);
    if (m != NULL)
        mutex_exit(m);
    else
        spin_unlock(l);
    if (deadline != NO_DEADLINE)
        timer_arm(&w.timer, deadline, waiter_timeout);
    waiter_sleep(&w, sig);
    if (deadline != NO_DEADLINE)
        timer_cancel(&w.timer);
    spin_lock(&cv->lock); /* as in wait_for_waker(): the waker may still use `w` */
    if (!w.woken) {
        list_remove(&w.link);
        err = w.timed_out ? -ETIMEDOUT : -EINTR;
    }
    spin_unlock(&cv->lock);
    if (m != NULL)
        mutex_enter(m);
    else
        spin_lock(l);
    return err;
}

void cv_wait(struct cv *cv, struct mutex *m, const char *what)
{
    (void)cv_sleep(cv, m, NULL, false, NO_DEADLINE, what);
}

int cv_wait_sig(struct cv *cv, struct mutex *m, uint64_t deadline, const char *what)
{
    return cv_sleep(cv, m, NULL, true, deadline, what);
}

void cv_wait_spin(struct cv *cv, struct spinlock *l, const char *what)
{
    (void)cv_sleep(cv, NULL, l, false, NO_DEADLINE, what);
}

void cv_wait_disk(struct cv *cv, struct spinlock *l, const char *what)
{
    struct disp_cpu *d = this_cpu()->disp;

    d->ndiskwait++;
    curthread->disk_waits++;
    (void)cv_sleep(cv, NULL, l, false, NO_DEADLINE, what);
    d->ndiskwait--;
}

int cv_wait_sig_spin(struct cv *cv, struct spinlock *l, uint64_t deadline, const char *what)
{
    return cv_sleep(cv, NULL, l, true, deadline, what);
}

unsigned cv_signal(struct cv *cv)
{
    struct waiter *w;

    if (list_empty(&cv->waiters))
        return 0;
    spin_lock(&cv->lock);
    w = list_pop(&cv->waiters, struct waiter, link);
    if (w != NULL)
        waiter_wake(w);
    spin_unlock(&cv->lock);
    return w != NULL;
}

unsigned cv_broadcast(struct cv *cv)
{
    struct waiter *w;
    unsigned n = 0;

    if (list_empty(&cv->waiters))
        return 0;
    spin_lock(&cv->lock);
    while ((w = list_pop(&cv->waiters, struct waiter, link)) != NULL) {
        waiter_wake(w);
        n++;
    }
    spin_unlock(&cv->lock);
    return n;
}
