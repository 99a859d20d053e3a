// SPDX-License-Identifier: MIT
/*
 * futex.c - sleeping on a word of user memory.
 *
 * THEORY      A futex lets user programs build locks that need no system call while there is no contention.
 *             The state of the lock is a word of user memory.  A thread that must wait calls the kernel to
 *             sleep as long as the word has a certain value; a thread that changes the word calls the
 *             kernel to wake the waiters.
 *             A waiter is a record on its own kernel stack, in a hash bucket.  The key is (address space,
 *             address) for private memory and (object's number, offset) for shared memory.  A call with
 *             FUTEX_PRIVATE never meets one without, as on Linux, even if the memory is private.  A waiter
 *             compares the word and queues itself under the bucket's lock.  A waker changes the word
 *             first and then searches the bucket.  Therefore either the waiter sees the new value or the
 *             waker finds the waiter.
 *             The kernel reads user memory under the bucket's lock, without faulting.  If the page is not
 *             resident, the access fails.  Then the kernel releases the lock, brings the page in, and repeats
 *             the access.
 *             A bucket counts its waiters, so a wake-up without waiters takes no lock.
 *             As on Linux, real-time threads are woken first, by the priority that they had when they began
 *             to wait.  Threads of equal priority, and all other threads, are woken in the order of arrival.
 * INVARIANTS  I1  w->bucket is the bucket whose list w is on, or was last on
 *             I2  a waiter leaves its list only under its bucket's lock, and a waker holds that lock until the
 *                 thread is awake; so the record and the thread exist as long as the waker uses them
 *             I3  nwaiters is at least the length of the list
 * LOCKING     bucket->lock (RANK_FUTEX); a thread that needs two bucket locks takes them in order
 *             of address.  The locks of timers and threads are taken under it.
 * SEE ALSO    futex.h, kernel/sys/sys_futex.c, user/test/t_sys.c, user/test/t_thread.c
 */
#include "ipc/futex.h"

#include "disp/sync.h"
#include "disp/thread.h"
#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/spinlock.h"
#include "proc/proc.h"
#include "vm/vm.h"
#include "x86/uaccess.h"

enum { BUCKET_BITS = 9, NBUCKETS = 1 << BUCKET_BITS };

struct bucket {
    struct spinlock lock;
    _Atomic uint32_t nwaiters; /* changed under the lock, read without it */
    struct list waiters;       /* waiter.link, highest waiter.pri first, then oldest first */
} cacheline_aligned;

struct waiter {
    struct list link;
    struct futex_key key;
    struct bucket *_Atomic bucket; /* I1 */
    struct thread *t;
    uint32_t bitset;
    int16_t pri; /* priority of a real-time thread; 0: any other thread */
    bool woken;  /* set by a waker, under the bucket's lock */
    _Atomic bool timed_out;
    struct timer timer;
};

static struct bucket buckets[NBUCKETS];

void futex_init(void)
{
    for (unsigned i = 0; i < NBUCKETS; i++) {
        spin_init(&buckets[i].lock, RANK_FUTEX);
        list_init(&buckets[i].waiters);
    }
}

static inline struct bucket *bucket_of_key(const struct futex_key *k)
{
    return &buckets[((k->a ^ k->b) * 0x9e3779b97f4a7c15ull) >> (64 - BUCKET_BITS)];
}

static inline bool key_equal(const struct futex_key *a, const struct futex_key *b)
{
    return a->a == b->a && a->b == b->b;
}

/* The key of a word.  FUTEX_PRIVATE needs no search in the address space.  0, -EINVAL, -EFAULT. */
static inline int make_futex_key(uint64_t uaddr, bool priv, struct futex_key *key)
{
    struct as *as = curproc()->as;

    if (unlikely(uaddr & 3))
        return -EINVAL;
    if (unlikely(uaddr >= USER_TOP))
        return -EFAULT;
    if (priv) {
        key->a = (uint64_t)as;
        key->b = uaddr | 1;
        return 0;
    }
    return as_futex_key(as, uaddr, key);
}

/*
 * Count a waiter that will be queued; b is locked.  This is a full barrier, because a waiter must be
 * counted before it reads the word (I3).  Otherwise a waker could store, find no waiter and return after
 * the waiter has read the word and before it is counted.
 */
static void count_futex_waiter(struct bucket *b)
{
    atomic_fetch_add_explicit(&b->nwaiters, 1, memory_order_seq_cst);
}

static void uncount_futex_waiter(struct bucket *b)
{
    atomic_fetch_sub_explicit(&b->nwaiters, 1, memory_order_relaxed);
}

/* Queue `w`, which is counted, in `b` behind all waiters of equal or higher priority; b is locked. */
static void queue_futex_waiter(struct bucket *b, struct waiter *w)
{
    struct list *before = b->waiters.prev;

    atomic_store_explicit(&w->bucket, b, memory_order_relaxed);
    if (unlikely(w->pri > 0))
        while (before != &b->waiters && container_of(before, struct waiter, link)->pri < w->pri)
            before = before->prev;
    list_link_between(&w->link, before, before->next);
}

/* Take `w` off the list of `b` and decrease the count; b is locked. */
static void unqueue_futex_waiter(struct bucket *b, struct waiter *w)
{
    list_remove(&w->link);
    uncount_futex_waiter(b);
}

/* Wake `w`, whose bucket b is locked. */
static void wake_futex_waiter(struct bucket *b, struct waiter *w)
{
    unqueue_futex_waiter(b, w);
    w->woken = true;
    thread_wake(w->t, curthread);
}

/* Wake up to n waiters for `key` in `b`, which is locked.  Returns their number. */
static unsigned wake_matching_waiters(struct bucket *b, const struct futex_key *key, unsigned n,
                                      uint32_t bitset)
{
    struct waiter *w, *next;
    unsigned woken = 0;

    LIST_FOREACH_SAFE (w, next, &b->waiters, link) {
        if (woken == n)
            break;
        if (key_equal(&w->key, key) && (w->bitset & bitset) != 0) {
            wake_futex_waiter(b, w);
            woken++;
        }
    }
    return woken;
}

long futex_wake(uint64_t uaddr, unsigned n, bool priv, uint32_t bitset)
{
    struct futex_key key;
    struct bucket *b;
    unsigned woken;
    int err = make_futex_key(uaddr, priv, &key);

    if (err != 0)
        return err;
    b = bucket_of_key(&key);
    /* The caller's store to the word must be visible before nwaiters is read (THEORY). */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&b->nwaiters, memory_order_relaxed) == 0)
        return 0;
    spin_lock(&b->lock);
    woken = wake_matching_waiters(b, &key, n, bitset);
    spin_unlock(&b->lock);
    return woken;
}

static void time_out_futex_waiter(struct timer *t)
{
    struct waiter *w = container_of(t, struct waiter, timer);

    atomic_store(&w->timed_out, true);
    thread_wake(w->t, NULL);
}

/*
 * Lock `b` and compare the word with `val`.  Returns 0 with the lock held and a waiter counted.  After an error, the
 * lock is released and no waiter is counted.
 */
static int lock_bucket_if_equal(struct bucket *b, uint64_t uaddr, uint32_t val)
{
    uint32_t now;

    for (;;) {
        int err;

        spin_lock(&b->lock);
        count_futex_waiter(b);
        err = user_load32(uaddr, &now);
        if (likely(err == 0 && now == val))
            return 0;
        uncount_futex_waiter(b);
        spin_unlock(&b->lock);
        if (err == 0)
            return -EAGAIN;
        err = user_load32(uaddr, &now); /* brings the page in, or returns the final error */
        if (err != 0)
            return err;
    }
}

/*
 * Sleep until woken, timed out or interrupted.  The bucket b is locked and `w` is queued on entry.  On return
 * w is on no list, and the caller holds no lock.
 */
static void sleep_in_bucket_unlock(struct bucket *b, struct waiter *w)
{
    struct thread *t = w->t;

    spin_lock(&t->lock);
    if (likely(!signal_pending() && !atomic_load(&w->timed_out))) {
        t->state = TS_SLEEP;
        t->sleep_sig = true;
        t->wait_what = "futex";
        t->wait_chan = w;
        spin_unlock(&b->lock);
        swtch();
    } else {
        spin_unlock(&t->lock);
        spin_unlock(&b->lock);
    }
    for (;;) { /* a requeue can have moved w to another bucket: I1, I2 */
        b = atomic_load_explicit(&w->bucket, memory_order_relaxed);
        spin_lock(&b->lock);
        if (likely(b == atomic_load_explicit(&w->bucket, memory_order_relaxed)))
            break;
        spin_unlock(&b->lock);
    }
    if (unlikely(!w->woken))
        unqueue_futex_waiter(b, w);
    spin_unlock(&b->lock);
}

int futex_wait(uint64_t uaddr, uint32_t val, uint32_t bitset, bool priv, uint64_t deadline)
{
    struct waiter w;
    struct bucket *b;
    int err = make_futex_key(uaddr, priv, &w.key);

    if (err != 0)
        return err;
    b = bucket_of_key(&w.key);
    w.t = curthread;
    w.bitset = bitset;
    w.pri = w.t->base_pri >= PRI_RT ? w.t->base_pri : 0;
    atomic_init(&w.woken, false);
    atomic_init(&w.timed_out, false);
    err = lock_bucket_if_equal(b, uaddr, val);
    if (err != 0)
        return err;
    queue_futex_waiter(b, &w);
    if (deadline != NO_DEADLINE) {
        w.timer = (struct timer){0};
        timer_arm(&w.timer, deadline, time_out_futex_waiter);
    }
    sleep_in_bucket_unlock(b, &w);
    if (deadline != NO_DEADLINE)
        timer_cancel(&w.timer);
    if (likely(w.woken))
        return 0;
    return w.timed_out ? -ETIMEDOUT : -EINTR;
}

static void lock_bucket_pair(struct bucket *a, struct bucket *b)
{
    spin_lock_pair(&a->lock, &b->lock);
}

static void unlock_bucket_pair(struct bucket *a, struct bucket *b)
{
    spin_unlock_pair(&a->lock, &b->lock);
}

/* Move up to n waiters from `from` to the key `to_key` in bucket `to`; both are locked.  Returns their number. */
static unsigned requeue_waiters(struct bucket *from, const struct futex_key *from_key,
                                struct bucket *to, const struct futex_key *to_key, unsigned n)
{
    struct waiter *w, *next;
    unsigned moved = 0;

    LIST_FOREACH_SAFE (w, next, &from->waiters, link) {
        if (moved == n)
            break;
        if (!key_equal(&w->key, from_key))
            continue;
        count_futex_waiter(to);
        unqueue_futex_waiter(from, w);
        w->key = *to_key;
        queue_futex_waiter(to, w);
        moved++;
    }
    return moved;
}

/* The number of waiters with this key in the locked bucket, at most n. */
static unsigned count_matching_waiters(struct bucket *b, const struct futex_key *key, unsigned n)
{
    struct waiter *w;
    unsigned found = 0;

    LIST_FOREACH (w, &b->waiters, link)
        if (found < n && key_equal(&w->key, key))
            found++;
    return found;
}

long futex_requeue(uint64_t from, uint64_t to, unsigned nwake, unsigned nmove, bool priv,
                   const uint32_t *expect)
{
    struct futex_key k1, k2;
    struct bucket *b1, *b2;
    unsigned woken, moved;
    uint32_t now;
    int err = make_futex_key(from, priv, &k1);

    if (err == 0)
        err = make_futex_key(to, priv, &k2);
    if (err != 0)
        return err;
    b1 = bucket_of_key(&k1);
    b2 = bucket_of_key(&k2);
    for (;;) {
        lock_bucket_pair(b1, b2);
        count_futex_waiter(b2); /* so that b2 does not count as empty before waiters are moved */
        if (expect == NULL)
            break;
        err = user_load32(from, &now);
        if (err == 0 && now == *expect)
            break;
        uncount_futex_waiter(b2);
        unlock_bucket_pair(b1, b2);
        if (err == 0)
            return -EAGAIN;
        err = user_load32(from, &now);
        if (err != 0)
            return err;
    }
    woken = wake_matching_waiters(b1, &k1, nwake, FUTEX_ANY);
    if (key_equal(&k1, &k2)) /* they stay where they are, and count as moved */
        moved = count_matching_waiters(b1, &k1, nmove);
    else
        moved = requeue_waiters(b1, &k1, b2, &k2, nmove);
    uncount_futex_waiter(b2);
    unlock_bucket_pair(b1, b2);
    return woken + moved;
}

/* Apply FUTEX_WAKE_OP's operation to the value `old`, and store the result in *new; false: no such operation. */
static bool compute_wake_op(uint32_t op, uint32_t old, uint32_t *new)
{
    uint32_t arg = (uint32_t)((int32_t)(op << 8) >> 20);

    if (op & 0x80000000u)
        arg = 1u << (arg & 31);
    switch ((op >> 28) & 7) {
    case 0:
        *new = arg;
        return true;
    case 1:
        *new = old + arg;
        return true;
    case 2:
        *new = old | arg;
        return true;
    case 3:
        *new = old & ~arg;
        return true;
    case 4:
        *new = old ^ arg;
        return true;
    default:
        return false;
    }
}

/* Whether `old` passes op's comparison; the caller has checked that the comparison exists. */
static bool wake_op_matches(uint32_t op, uint32_t old)
{
    int32_t arg = (int32_t)(op << 20) >> 20, v = (int32_t)old;

    switch ((op >> 24) & 15) {
    case 0:
        return v == arg;
    case 1:
        return v != arg;
    case 2:
        return v < arg;
    case 3:
        return v <= arg;
    case 4:
        return v > arg;
    default:
        return v >= arg;
    }
}

/*
 * Apply `op` to the word at uaddr atomically; *old becomes the old value. -EFAULT: the page is not
 * resident or not writable, as with user_cmpxchg32().
 */
static int apply_wake_op(uint64_t uaddr, uint32_t op, uint32_t *old)
{
    uint32_t seen, new = 0;
    int err = user_load32(uaddr, &seen);

    while (err == 0) {
        *old = seen;
        compute_wake_op(op, *old, &new);
        err = user_cmpxchg32(uaddr, *old, new, &seen);
        if (err == 0 && seen == *old)
            break;
    }
    return err;
}

long futex_wake_op(uint64_t uaddr1, uint64_t uaddr2, unsigned n1, unsigned n2, bool priv,
                   uint32_t op)
{
    struct futex_key k1, k2;
    struct bucket *b1, *b2;
    uint32_t old, scratch;
    unsigned woken;
    int err = make_futex_key(uaddr1, priv, &k1);

    if (!compute_wake_op(op, 0, &scratch) || ((op >> 24) & 15) > 5)
        return -ENOSYS;
    if (err == 0)
        err = make_futex_key(uaddr2, priv, &k2);
    if (err != 0)
        return err;
    b1 = bucket_of_key(&k1);
    b2 = bucket_of_key(&k2);
    for (;;) {
        lock_bucket_pair(b1, b2);
        err = apply_wake_op(uaddr2, op, &old);
        if (err == 0)
            break;
        unlock_bucket_pair(b1, b2);
        err = user_load32(uaddr2, &scratch); /* bring the page in, writable */
        if (err == 0)
            err = user_cmpxchg32(uaddr2, scratch, scratch, &scratch);
        if (err != 0)
            return err;
    }
    woken = wake_matching_waiters(b1, &k1, n1, FUTEX_ANY);
    if (wake_op_matches(op, old))
        woken += wake_matching_waiters(b2, &k2, n2, FUTEX_ANY);
    unlock_bucket_pair(b1, b2);
    return woken;
}
