// SPDX-License-Identifier: MIT
/*
 * sync.c - mutexes, reader-writer locks and condition variables: see sync.h.
 *
 * THEORY      A thread that must wait puts a struct waiter, on its own stack, on the list of the object and
 *             sleeps.
 *             A mutex is a reader-writer lock that is only taken for writing.  One word (struct sleeplock) has the
 *             writer or the number of readers, and flags.
 *             Whoever releases a lock wakes up the first waiter, but does not give it the lock: until the waiter
 *             runs, any running thread may take the lock.  A lock that is handed over stays unused for the
 *             thousands of instructions until the waiter runs.  Then all threads that need the lock often queue,
 *             and each use of it costs a switch of threads (a *convoy*).
 *             The first waiter, once awake, spins as long as the holder runs.  So the others need not wake it
 *             again (LOCK_AWAKE), and use the lock at full speed meanwhile.  After PASSED_NS, or if it had to sleep
 *             again PASSED_SLEEPS times, it asks for the lock (LOCK_HAND): the next release hands it over.  So no
 *             waiter waits for ever.
 *             The first waiter may get no CPU for long, because of real-time threads.  So if real-time threads wait
 *             for the lock (l->rt), a release wakes up the one of the highest priority, too, and a thread that
 *             becomes the holder inherits this priority.  It need not be that of the first waiter, and the holder
 *             could otherwise be kept from a CPU while no thread that runs can lend it priority.
 *             A wake-up sets `woken`, under the lock of the list, before it calls thread_wake().  The sleeper
 *             reads `woken` under its own thread lock before it sleeps, so a wake-up that comes early is not
 *             lost.
 * INVARIANTS  I1  a waiter for a condition is on a list iff it is not woken; a waiter for a lock is on the list
 *                 until it holds the lock
 *             I2  the word of a lock has LOCK_WAIT set iff its list is not empty (under l->lock)
 *             I3  a free lock has no LOCK_HAND, and its first waiters, and the waiter of the highest real-time
 *                 priority, are awake: woken, and about to claim it
 *             I4  t->n_contended is the number of locks that t holds for writing whose word has LOCK_WAIT
 * LOCKING     each object's own lock (RANK_CV), then thread locks
 */
#include "disp/sync.h"

#include "disp/disp.h"
#include "lib/errno.h"
#include "stat/cpustat.h"
#include "stat/panic.h"

enum {
    SPIN_NS = 10000, /* about the cost of a sleep and a wake-up */
    /* how long others may pass a waiter that is awake; Linux's rwsems have 4 ms, too */
    PASSED_NS = 4000000,
    PASSED_SLEEPS = 32, /* how often a waiter may be woken up and have to sleep again */
};
enum lock_kind { LOCK_MUTEX, LOCK_READER, LOCK_WRITER }; /* values in the trace */

struct waiter {
    struct list link;
    struct thread *t;
    _Atomic bool woken;
    _Atomic bool timed_out;
    bool write;         /* a lock: the thread waits to write */
    _Atomic bool given; /* a lock: the waiter holds it, and is off the list */
    struct timer timer;
};

static inline void waiter_init(struct waiter *w)
{
    w->t = curthread;
    atomic_init(&w->woken, false);
    atomic_init(&w->timed_out, false);
    atomic_init(&w->given, false);
}

/*
 * Marks `w` as woken, and wakes up its thread.  The caller holds the lock of the list.  The waiter takes that lock
 * before it returns: so `w`, which is on its stack, and the object exist until then.
 */
static void waiter_wake(struct waiter *w)
{
    struct thread *t = w->t;

    w->woken = true;
    (void)thread_wake(t, curthread);
}

static inline bool may_sleep_on(const struct waiter *w, bool sig)
{
    return !w->woken && !w->timed_out && !(sig && signal_pending());
}

/* Sleeps until woken, until the timer of `w` expires or, with `sig`, until a signal arrives. */
static void waiter_sleep(struct waiter *w, bool sig)
{
    struct thread *t = w->t;

    do {
        spin_lock(&t->lock);
        if (unlikely(!may_sleep_on(w, sig))) {
            spin_unlock(&t->lock);
            return;
        }
        t->sleep_sig = sig;
        t->state = TS_SLEEP;
        swtch();
    } while (unlikely(may_sleep_on(w, sig)));
}

static void waiter_timeout(struct timer *tm)
{
    struct waiter *w = container_of(tm, struct waiter, timer);
    struct thread *t = w->t;

    w->timed_out = true;
    (void)thread_wake(t, NULL);
}

static void waiter_arm(struct waiter *w, uint64_t deadline)
{
    w->timer = (struct timer){0};
    timer_arm(&w->timer, deadline, waiter_timeout);
}

void thread_sleep_ns(uint64_t ns)
{
    struct waiter w;

    spin_check_sleep(0);
    waiter_init(&w);
    curthread->wait_what = "delay";
    waiter_arm(&w, clock_mono_ns() + ns);
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

/* ---- locks ---- */

static void lock_init(struct sleeplock *l, enum sleeprank rank)
{
    l->word = 0;
    spin_init(&l->lock, RANK_CV);
    list_init(&l->waiters);
    l->rank = rank;
    l->rt = false;
}

static inline bool is_free(uintptr_t word)
{
    return word < LOCK_READ;
}

/*
 * May a lock with this word be free soon?  A writer that does not run on a CPU keeps it for long.  Nothing is known
 * of readers: a waiter has patience with them until it asks for the lock.
 */
static inline bool worth_spinning(uintptr_t word)
{
    const struct thread *o = lock_writer(word);

    return o != NULL ? o->state == TS_ONPROC : (word & LOCK_HAND) == 0;
}

/*
 * May a thread enter a lock with this word?  @awake: it is one of the first waiters.  Others must not join
 * readers for which a thread waits, else a writer could wait for ever; nor enter if a waiter has asked for the lock.
 */
static inline bool may_enter(uintptr_t word, bool write, bool awake)
{
    if (is_free(word))
        return true;
    return !write && (word & LOCK_READ) != 0 && (awake || (word & (LOCK_WAIT | LOCK_HAND)) == 0);
}

/* The word after `t`, or one more reader, has entered. */
static inline uintptr_t add_holder(uintptr_t word, bool write, const struct thread *t)
{
    return write ? word | (uintptr_t)t : (word | LOCK_READ) + LOCK_ONE;
}

/* The word after curthread, or one reader, has left. */
static inline uintptr_t remove_holder(uintptr_t word, bool write)
{
    word -= write ? (uintptr_t)curthread : LOCK_ONE;
    return word < LOCK_READ + LOCK_ONE ? word & ~(uintptr_t)LOCK_READ : word;
}

static void enter_before_waiters(struct sleeplock *l);

/* One attempt to enter.  Most locks are free and have no waiters: their word is 0. */
static inline bool lock_try(struct sleeplock *l, bool write)
{
    uintptr_t v = 0;

    do
        if (likely(atomic_compare_exchange_strong_explicit(
                &l->word, &v, add_holder(v, write, curthread), memory_order_acquire,
                memory_order_relaxed))) {
            if (unlikely(v != 0) && write) /* a free lock has no other flags than waiters' */
                enter_before_waiters(l);
            return true;
        }
    while (may_enter(v, write, false));
    return false;
}

/* Tries to enter for SPIN_NS, unless the holder does not run or a waiter has asked for the lock. */
static bool lock_spin(struct sleeplock *l, bool write)
{
    uint64_t begin = rdtsc();

    do {
        uintptr_t v = atomic_load_explicit(&l->word, memory_order_relaxed);

        if ((v & LOCK_HAND) != 0 || !worth_spinning(v))
            return false;
        cpu_pause();
        if (lock_try(l, write))
            return true;
    } while (tsc_to_ns(rdtsc() - begin) < SPIN_NS);
    return false;
}

/* The waiter for `l` that has the highest priority; of several, the first.  NULL: none.  l->lock is held. */
static struct waiter *highest_waiter(struct sleeplock *l)
{
    struct waiter *w, *best = NULL;

    LIST_FOREACH (w, &l->waiters, link)
        if (best == NULL || w->t->pri > best->t->pri)
            best = w;
    return best;
}

/* Wakes up the waiter for `l`, which is free, that has the highest priority, if it may be a real-time one. */
static void wake_highest(struct sleeplock *l)
{
    struct waiter *w = l->rt ? highest_waiter(l) : NULL;

    if (w != NULL && !w->woken)
        waiter_wake(w);
}

/*
 * Takes l->lock, if it is free, after a thread that sleeps for `l` has got priority `pri`; that thread's lock is held.
 * In any case the next holder of `l` inherits.
 */
static bool lock_of_raised_sleeper(struct sleeplock *l, int pri)
{
    if (pri >= PRI_RT)
        l->rt = true;
    return spin_trylock(&l->lock);
}

/*
 * Lends priority `pri` to the writer that holds `l`, if any; l->lock is held.  If that thread sleeps for another
 * lock, lends the priority to the writer that holds that lock, too, and so on along the chain.
 * A sleeper with a new priority may have to be woken up before the first waiter: now, if its lock is free, else
 * by the next release.  So LOCK_AWAKE is cleared.
 * While l->lock is held, the list of waiters of l is not empty and LOCK_AWAKE is clear, the holder cannot release l.
 * While the holder's thread lock is held, the holder cannot wake up, so the lock that it sleeps for
 * exists.  The spin lock of that lock is only tried (spin_trylock), because it comes before
 * thread locks in the lock order.  If it is taken, its holder is about to change the chain.
 */
static void lend_priority(struct sleeplock *l, int pri)
{
    struct sleeplock *first = l;

    for (int depth = 0; depth < 8 && l != NULL; depth++) {
        uintptr_t v = atomic_fetch_and(&l->word, ~(uintptr_t)LOCK_AWAKE);
        struct thread *o = lock_writer(v);
        struct sleeplock *next = NULL;

        if (is_free(v))
            wake_highest(l);
        if (o != NULL) {
            spin_lock(&o->lock);
            if (o->pri < pri) {
                thread_inherit(o, pri);
                next = o->state == TS_SLEEP ? o->blocked_on : NULL;
                if (next != NULL && !lock_of_raised_sleeper(next, pri))
                    next = NULL;
            }
            spin_unlock(&o->lock);
        }
        if (l != first)
            spin_unlock(&l->lock);
        l = next;
    }
    if (l != NULL && l != first)
        spin_unlock(&l->lock);
}

/*
 * Gives the highest priority of the waiters for `l` to the writer that holds it, if any, and if a waiter may have a
 * real-time priority.  (Other threads need not lend to a new holder: the clock lifts a holder that gets no CPU.)
 * The caller holds l->lock.
 */
static void lend_from_waiters(struct sleeplock *l)
{
    const struct waiter *w;

    if (likely(!l->rt))
        return;
    w = highest_waiter(l);
    if (w != NULL)
        lend_priority(l, w->t->pri);
    else
        l->rt = false;
}

/* curthread has taken `l` for writing, although threads wait: it was free.  I4. */
static __attribute__((noinline)) void enter_before_waiters(struct sleeplock *l)
{
    curthread->n_contended++;
    if (unlikely(l->rt)) {
        spin_lock(&l->lock);
        lend_from_waiters(l);
        spin_unlock(&l->lock);
    }
}

/* Takes back what waiters have lent to curthread, if no thread waits for a lock that it holds. */
static __attribute__((noinline)) void return_priority(void)
{
    struct thread *t = curthread;

    spin_lock(&t->lock);
    if (t->n_contended == 0)
        thread_inherit(t, -1);
    spin_unlock(&t->lock);
}

/*
 * Takes `l` for waiter `w` of curthread, which then leaves the list, if that is possible.  Otherwise tells the
 * holder that there are waiters, and with `hand` asks for the lock, unless another waiter has.  The caller holds
 * l->lock.
 */
static bool lock_claim(struct sleeplock *l, struct waiter *w, bool hand)
{
    uintptr_t v = l->word, next, asked = hand ? LOCK_WAIT | LOCK_HAND : LOCK_WAIT;
    uintptr_t others = list_is_only(&l->waiters, &w->link) ? 0 : LOCK_WAIT;
    struct thread *o;
    bool enter;

    if (w->t->pri >= PRI_RT)
        l->rt = true; /* before the word changes: a thread that enters later reads this */
    do {
        enter = may_enter(v, w->write, w->woken);
        next = v | asked;
        if (enter)
            next = add_holder(v & ~(uintptr_t)LOCK_FLAGS, w->write, w->t) | others;
    } while (!atomic_compare_exchange_strong(&l->word, &v, next));
    o = lock_writer(v);
    if (enter) {
        list_remove(&w->link);
        w->t->n_contended += w->write && others != 0;
        lend_from_waiters(l);
        return true;
    }
    if (hand && (v & LOCK_HAND) == 0) { /* the lock is handed to the first */
        list_remove(&w->link);
        list_push_front(&l->waiters, &w->link);
    }
    if (o != NULL) {
        ASSERT(o != w->t, "a lock is not entered twice by its holder");
        o->n_contended += (v & LOCK_WAIT) == 0;
        if (o->pri < w->t->pri)
            lend_priority(l, w->t->pri);
    }
    return false;
}

/*
 * Waits, awake, until `w` may claim the lock, or was given it, or should ask for it, or the wait may be long.
 * @since  time at which `w` was woken up last, in TSC cycles
 * Returns whether PASSED_NS have passed since then.
 */
static bool spin_as_first(struct sleeplock *l, const struct waiter *w, uint64_t since)
{
    uintptr_t v;
    bool passed;

    do {
        cpu_pause();
        v = atomic_load_explicit(&l->word, memory_order_relaxed);
        passed = tsc_to_ns(rdtsc() - since) >= PASSED_NS;
    } while (!w->given && !may_enter(v, w->write, true) && worth_spinning(v) &&
             (!passed || (v & LOCK_HAND) != 0));
    return passed;
}

/* lock_wait() with waiter `w`, which is on the list.  The caller holds l->lock. */
static void lock_wait_as(struct sleeplock *l, struct waiter *w, enum lock_kind kind)
{
    uint64_t begin = 0, since = 0;
    unsigned sleeps = 0;
    bool hand = false;

    while (!w->given && !lock_claim(l, w, hand)) {
        if (w->woken && worth_spinning(l->word)) {
            spin_unlock(&l->lock);
            hand = spin_as_first(l, w, since);
        } else if (is_free(atomic_fetch_and(&l->word, ~(uintptr_t)LOCK_AWAKE))) {
            continue; /* the holder left meanwhile, and because of LOCK_AWAKE woke up no thread */
        } else {
            w->woken = false;
            spin_unlock(&l->lock);
            if (sleeps++ == 0) {
                TRACE(LOCK, kind, (uintptr_t)l, trace_name(rank_name[l->rank]));
                begin = rdtsc();
            }
            waiter_sleep(w, false);
            since = rdtsc();
            hand = sleeps > PASSED_SLEEPS;
        }
        spin_lock(&l->lock);
    }
    if (sleeps > 0)
        TRACE(LOCKED, kind, (uintptr_t)l, tsc_to_ns(rdtsc() - begin));
}

/* Waits until curthread holds `l`. */
static __attribute__((noinline)) void lock_wait(struct sleeplock *l, enum lock_kind kind)
{
    struct thread *t = curthread;
    struct waiter w;

    if (lock_spin(l, kind != LOCK_READER))
        return;
    waiter_init(&w);
    w.write = kind != LOCK_READER;
    spin_lock(&l->lock);
    list_push_back(&l->waiters, &w.link);
    t->blocked_on = l;
    t->wait_what = rank_name[l->rank];
    t->wait_chan = l;
    lock_wait_as(l, &w, kind);
    t->blocked_on = NULL;
    spin_unlock(&l->lock);
}

/*
 * Wakes up the first waiter, and with a reader all readers before the first writer; and, if that may be another,
 * the waiter of the highest real-time priority.  The caller holds l->lock.
 * @hand  makes them holders, instead of curthread, which was the last
 */
static void wake_first(struct sleeplock *l, bool hand)
{
    struct waiter *w, *tmp;
    uintptr_t word = 0;

    LIST_FOREACH_SAFE (w, tmp, &l->waiters, link) {
        if (!may_enter(word, w->write, true))
            break;
        word = add_holder(word, w->write, w->t);
        if (hand) {
            list_remove(&w->link);
            w->t->n_contended += w->write && !list_empty(&l->waiters);
            w->given = true;
        }
        if (!w->woken)
            waiter_wake(w);
    }
    if (hand) {
        l->word = word | (list_empty(&l->waiters) ? 0 : LOCK_WAIT);
        lend_from_waiters(l);
    } else {
        wake_highest(l);
    }
}

/* Releases `l`, for which threads wait. */
static __attribute__((noinline)) void release_to_waiter(struct sleeplock *l, bool write)
{
    uintptr_t v, next;
    bool hand, wake;

    spin_lock(&l->lock);
    v = l->word;
    do {
        next = remove_holder(v, write);
        wake = is_free(next) && (next & LOCK_WAIT) != 0;
        hand = wake && (v & LOCK_HAND) != 0;
        next |= wake ? LOCK_AWAKE : 0;
    } while (!hand && !atomic_compare_exchange_strong(&l->word, &v, next));
    if (wake)
        wake_first(l, hand);
    spin_unlock(&l->lock);
}

/* lock_leave() of a lock that has waiters or more readers: its word is `v`. */
static __attribute__((noinline)) void leave_shared(struct sleeplock *l, uintptr_t v, bool write)
{
    uintptr_t next;

    ASSERT(write ? lock_writer(v) == curthread : (v & LOCK_READ) != 0,
           "a lock is left by its holder");
    do {
        next = remove_holder(v, write);
        if (unlikely(is_free(next) && (next & LOCK_WAIT) != 0 &&
                     (next & (LOCK_HAND | LOCK_AWAKE)) != LOCK_AWAKE)) {
            release_to_waiter(l, write);
            break;
        }
    } while (unlikely(!atomic_compare_exchange_weak_explicit(
        &l->word, &v, next, memory_order_release, memory_order_relaxed)));
    if ((next & LOCK_WAIT) != 0 && write && --curthread->n_contended == 0 &&
        curthread->inherit_pri >= 0)
        return_priority();
}

static inline void lock_leave(struct sleeplock *l, bool write)
{
    uintptr_t v = add_holder(0, write, curthread); /* no other holder, and no waiter */

    if (unlikely(!atomic_compare_exchange_strong_explicit(&l->word, &v, 0, memory_order_release,
                                                          memory_order_relaxed)))
        leave_shared(l, v, write);
}

void mutex_init(struct mutex *m, enum sleeprank rank)
{
    lock_init(&m->l, rank);
}

void mutex_enter(struct mutex *m)
{
    spin_check_sleep(0);
    sleeprank_enter(m, m->l.rank);
    if (likely(lock_try(&m->l, true)))
        return;
    CPUSTAT_INC(smtx);
    lock_wait(&m->l, LOCK_MUTEX);
}

bool mutex_tryenter(struct mutex *m)
{
    if (!lock_try(&m->l, true))
        return false;
    record_held_lock(m, m->l.rank);
    return true;
}

void mutex_exit(struct mutex *m)
{
    sleeprank_exit(m);
    lock_leave(&m->l, true);
}

void rw_init(struct rwlock *rw, enum sleeprank rank)
{
    lock_init(&rw->l, rank);
}

void rw_enter_read(struct rwlock *rw)
{
    spin_check_sleep(0);
    sleeprank_enter(rw, rw->l.rank);
    if (likely(lock_try(&rw->l, false)))
        return;
    CPUSTAT_INC(srw);
    lock_wait(&rw->l, LOCK_READER);
}

void rw_enter_write(struct rwlock *rw)
{
    spin_check_sleep(0);
    sleeprank_enter(rw, rw->l.rank);
    if (likely(lock_try(&rw->l, true)))
        return;
    CPUSTAT_INC(srw);
    lock_wait(&rw->l, LOCK_WRITER);
}

bool rw_tryenter_read(struct rwlock *rw)
{
    if (!lock_try(&rw->l, false))
        return false;
    record_held_lock(rw, rw->l.rank);
    return true;
}

bool rw_tryenter_write(struct rwlock *rw)
{
    if (!lock_try(&rw->l, true))
        return false;
    record_held_lock(rw, rw->l.rank);
    return true;
}

void rw_exit_read(struct rwlock *rw)
{
    sleeprank_exit(rw);
    lock_leave(&rw->l, false);
}

void rw_exit_write(struct rwlock *rw)
{
    sleeprank_exit(rw);
    lock_leave(&rw->l, true);
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
        waiter_arm(&w, deadline);
    waiter_sleep(&w, sig);
    if (deadline != NO_DEADLINE)
        timer_cancel(&w.timer);
    spin_lock(&cv->lock); /* the waker may still use `w` and the list */
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
