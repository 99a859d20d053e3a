// SPDX-License-Identifier: MIT
/*
 * class.c - scheduling classes: which priority a thread has, and how long it may run.
 *
 * THEORY      Threads differ: an editor must react at once, a computation can wait, a control loop must never
 *             wait.  The class of a thread is the rule by which its priority changes.  Six classes share one
 *             scale of global priorities, as in Solaris; a higher number runs first.
 *             TS, IA  time sharing: a thread moves between 60 levels, by the table in ts_dptbl.c.  Using up a
 *                     time slice lowers it by 10 levels.  Waking up from a sleep lifts it to level 50 or
 *                     above.  So does a second without either, whether the thread waited or ran.  Low levels
 *                     have long slices.
 *             FX      fixed at its user priority, 0 to 60.
 *             FSS     fair share between users: each user has a number of shares and one record of the CPU
 *                     time that its threads in this class have used lately.  The recorded use decays by a
 *                     quarter each second.  The priority of a thread is 59 - FSS_MEAN_COST * (its user's use
 *                     per share) / (the mean of all users).  The mean is weighted by use, so users with little
 *                     use hardly count.  So all users that compute end up near priority 9, each with use in
 *                     proportion to its shares.  The clock computes the mean and the priorities ten times a
 *                     second, or over as many ticks as all threads take; a thread that leaves its CPU is charged
 *                     at once.
 *             RT      real time, fixed, above all others: 100 to 198, one level for each of POSIX's
 *                     priorities 1 to 99.  Solaris has 60 levels, 100 to 159: class_rt_from_solaris().
 *             SYS     kernel threads, 60 to 99.
 *             A preempted thread keeps the rest of its slice and its place before the threads of its
 *             priority.  Otherwise a thread that is often preempted would never use up a slice, and would
 *             sink too slowly.
 *             A thread that sleeps for less time than it has used of its slice also keeps the rest: this does
 *             not count as a sleep.  A child continues the slice of its parent.  Otherwise a process could
 *             keep other threads off the CPU with short sleeps, or by creating child after child.
 * LOCKING     Callers hold t->lock.
 * SEE ALSO    docs/dispatcher.md; ts_dptbl(4), FSS(7) of Solaris 9
 */
#include "disp/disp.h"

#include "lib/errno.h"

/* level of a new thread; least level of a thread that has slept or waited */
enum { TS_START = 29, TS_LIFTED = 50 };
/* threads that the clock looks at in one tick; to age them takes about 6,000 instructions with interrupts off */
enum { AT_ONCE = 128 };
enum { LIFT_TICKS = HZ / 2 }; /* waiting time, in clock ticks, after which a thread is lifted */
enum {
    FSS_MEAN_COST = 50,
    FSS_MEAN_LEAST_US = 100000,
    FSS_USAGE_MAX_US = 1 << 30,
    FSS_SECONDS = 60 /* seconds after which a recorded use has decayed to almost 0 */
};

static uint64_t tsc_per_ms;
/* Mean use per share, microseconds: a user with this use has lost FSS_MEAN_COST levels. */
static _Atomic uint64_t fss_mean_us = FSS_MEAN_LEAST_US;
static _Atomic bool fss_charged; /* a thread was charged since the last class_fss_update() */

static bool is_time_sharing(const struct thread *t)
{
    return t->cls == CLASS_TS || t->cls == CLASS_IA;
}

static int clamp(int v, int lo, int hi)
{
    if (v < lo)
        return lo;
    return v > hi ? hi : v;
}

void class_recompute(struct thread *t)
{
    uint64_t cost;

    switch (t->cls) {
    case CLASS_TS:
    case CLASS_IA:
        t->base_pri = (int16_t)clamp(t->ts_level + t->upri, PRI_MIN, PRI_USER_MAX);
        break;
    case CLASS_FSS:
        cost = t->fss == NULL
                   ? 0
                   : FSS_MEAN_COST * (uint64_t)t->fss->usage / t->fss->shares / fss_mean_us;
        t->base_pri =
            (int16_t)clamp(PRI_USER_MAX - (int)min_of(cost, 1000ul) + t->upri, 1, PRI_USER_MAX);
        break;
    case CLASS_FX:
        t->base_pri = (int16_t)clamp(t->upri, PRI_MIN, PRI_SYS);
        break;
    case CLASS_RT:
        t->base_pri = (int16_t)(PRI_RT + t->upri);
        break;
    }
    disp_set_pri(t, thread_effective_pri(t));
}

void class_init_thread(struct thread *t, const struct thread *creator)
{
    t->cls = CLASS_SYS;
    t->base_pri = t->pri = PRI_SYS;
    t->ts_level = TS_START;
    if (creator != NULL) {
        t->cls = creator->cls;
        t->upri = creator->upri;
        t->fifo = creator->fifo;
        t->ts_level = creator->ts_level;
        t->fss = creator->fss;
        t->base_pri = creator->base_pri;
        t->lately_tsc = creator->lately_tsc;
        class_recompute(t);
    }
}

uint64_t class_quantum(const struct thread *t)
{
    unsigned ms = 100;

    if (is_time_sharing(t))
        ms = ts_dptbl[t->base_pri].quantum;
    else if (t->cls == CLASS_FSS)
        ms = 110;
    if (tsc_per_ms == 0)
        tsc_per_ms = clock_tsc_per_ms();
    return ms * tsc_per_ms;
}

void class_quantum_expired(struct thread *t)
{
    if (is_time_sharing(t)) {
        t->ts_level = ts_dptbl[t->ts_level].tqexp;
        t->ts_dispwait = 0;
    }
    class_recompute(t);
}

void class_slept(struct thread *t)
{
    unsigned level;

    if (t->slice_left != 0 && t->slice_left + (rdtsc() - t->oncpu_since) < t->slice_whole)
        return; /* t slept for less time than it has used of its slice */
    t->slice_left = 0;
    if (!is_time_sharing(t))
        return;
    t->ts_dispwait = 0;
    level = ts_dptbl[t->ts_level].slpret;
    if (unlikely((int)level != t->ts_level)) {
        t->ts_level = (int16_t)level;
        class_recompute(t);
    }
}

void class_yield(struct thread *t)
{
    if (is_time_sharing(t))
        t->ts_level = (int16_t)max_of(t->ts_level - 1, 0);
    class_recompute(t);
}

void class_charge(struct thread *t, uint64_t tsc)
{
    if (t->cls == CLASS_FSS && t->fss != NULL) {
        uint64_t us = min_of(tsc * 1000 / clock_tsc_per_ms(), (uint64_t)FSS_USAGE_MAX_US);

        if (atomic_fetch_add(&t->fss->usage, (uint32_t)us) + us > FSS_USAGE_MAX_US)
            t->fss->usage = FSS_USAGE_MAX_US;
        fss_charged = true;
        class_recompute(t);
    }
}

/* Decays the use of `f` up to `second` (seconds since boot) and returns it, in microseconds.  Clock only. */
static uint32_t fss_decay(struct fss *f, uint64_t second)
{
    uint32_t u = f->usage;

    for (unsigned n = (unsigned)min_of(second - f->second, (uint64_t)FSS_SECONDS); n > 0; n--)
        u -= u / 4;
    if (f->second != second) {
        atomic_fetch_sub(&f->usage, f->usage - u);
        f->second = second;
    }
    return f->usage;
}

/*
 * The pass of class_fss_update() over all threads.  The list of threads is a circle for the pass: class_tick() moves
 * the first thread to the end, and this does not change the order of the circle.  Under all_threads_lock.
 */
static struct {
    struct thread *next; /* the thread that is next; NULL: the first of the list */
    unsigned left;       /* threads that are left in the pass; 0: no pass */
    uint32_t number;     /* of the pass: users that it has counted have this in `seen` */
    uint64_t use,
        square; /* sums over these users: use, and use squared per share, in milliseconds */
} fss_pass;

static struct thread *next_in_circle(struct thread *t)
{
    struct list *l = t->all_link.next;

    return list_entry(l != &all_threads ? l : l->next, struct thread, all_link);
}

void class_forget_thread_locked(struct thread *t)
{
    if (fss_pass.next == t)
        fss_pass.next = all_threads_count > 1 ? next_in_circle(t) : NULL;
}

/* Counts the user of `t`, which is of class FSS, and computes the priority of `t`. */
static void fss_visit(struct thread *t, uint64_t second)
{
    uint64_t ms;

    spin_lock(&t->lock);
    if (t->fss != NULL && t->fss->seen != fss_pass.number) {
        t->fss->seen = fss_pass.number;
        ms = fss_decay(t->fss, second) / 1000;
        fss_pass.use += ms;
        fss_pass.square += ms * ms / t->fss->shares;
    }
    class_recompute(t);
    spin_unlock(&t->lock);
}

/* The number of threads that the clock looks at in one tick when `left` threads are left. */
static unsigned threads_at_once(unsigned left)
{
    return min_of(left, max_of((unsigned)AT_ONCE, all_threads_count / HZ + 1));
}

/* Begins a pass.  The caller holds all_threads_lock. */
static void begin_fss_pass(void)
{
    fss_charged = false;
    fss_pass.number++;
    fss_pass.use = fss_pass.square = 0;
    fss_pass.left = all_threads_count;
}

void class_fss_update(bool begin)
{
    unsigned n;

    if (fss_pass.left == 0 && (!begin || (!fss_charged && fss_mean_us == FSS_MEAN_LEAST_US)))
        return;
    spin_lock(&all_threads_lock);
    if (fss_pass.left == 0)
        begin_fss_pass();
    fss_pass.left = min_of(fss_pass.left, all_threads_count);
    n = threads_at_once(fss_pass.left);
    fss_pass.left -= n;
    if (fss_pass.next == NULL && n != 0)
        fss_pass.next = list_first(&all_threads, struct thread, all_link);
    for (; n != 0; n--, fss_pass.next = next_in_circle(fss_pass.next))
        if (fss_pass.next->cls == CLASS_FSS)
            fss_visit(fss_pass.next, lbolt / HZ);
    if (fss_pass.left == 0)
        fss_mean_us =
            max_of(fss_pass.square * 1000 / max_of(fss_pass.use, 1ul), (uint64_t)FSS_MEAN_LEAST_US);
    spin_unlock(&all_threads_lock);
}

void class_lifted(struct thread *t)
{
    spin_lock(&t->lock);
    t->lifted = false;
    atomic_fetch_and(&t->ast, ~(uint32_t)AST_LIFTED);
    disp_set_pri(t, thread_effective_pri(t));
    spin_unlock(&t->lock);
}

/*
 * Ageing, so that every thread runs at some time:
 * - A TS or IA thread that has neither used up a slice nor slept for longer than maxwait gets level lwait
 *   (ts_dptbl.c).  If lwait is 50 and the thread still waits a second later, the thread gets level
 *   59, above threads that sleep often.
 * - A thread that has waited for more than a second behind a real-time thread is queued anew (disp_requeue_behind_rt).
 * - A user thread below TS_LIFTED that has waited for more than LIFT_TICKS gets priority PRI_SYS until it
 *   returns to user mode.  The reason: the thread may hold a rwlock for reading and so block many
 *   threads, and a rwlock lends no priority.
 */
static void age_thread(struct thread *t)
{
    spin_lock(&t->lock);
    t->lately_tsc = t->lately_tsc / 4 * 3 + t->runtime_tsc - t->second_tsc;
    t->second_tsc = t->runtime_tsc;
    if (is_time_sharing(t) && t->state != TS_SLEEP &&
        ++t->ts_dispwait > ts_dptbl[t->base_pri].maxwait) {
        t->ts_level = ts_dptbl[t->ts_level].lwait;
        t->ts_dispwait = 0;
        class_recompute(t);
    }
    if (t->state == TS_RUNNABLE && lbolt - t->last_ran > HZ)
        disp_requeue_behind_rt(t);
    if (t->state == TS_RUNNABLE && t->lwp != NULL && t->pri < TS_LIFTED &&
        lbolt - t->last_ran > LIFT_TICKS) {
        t->lifted = true;
        atomic_fetch_or(&t->ast, AST_LIFTED);
        disp_set_pri(t, thread_effective_pri(t));
    }
    spin_unlock(&t->lock);
}

struct class_always class_always;

static void age_class_always(void)
{
    uint64_t now = rdtsc();

    if (class_always.second_tsc !=
        0) /* the time before the first second began is not that of threads */
        class_always.lately_tsc = class_always.lately_tsc / 4 * 3 + now - class_always.second_tsc;
    class_always.second_tsc = now;
}

/* Moves the first thread of the list to its end, and returns it.  The caller holds all_threads_lock. */
static struct thread *rotate_all_threads(void)
{
    struct thread *t = list_pop(&all_threads, struct thread, all_link);

    list_push_back(&all_threads, &t->all_link);
    return t;
}

void class_tick(bool second)
{
    static unsigned left; /* threads that have not aged in this second; all_threads_lock */
    unsigned n;

    spin_lock(&all_threads_lock);
    /* Of threads lifted to one level, the first in the list runs first: rotate the list each second. */
    if (second && all_threads_count != 0)
        rotate_all_threads();
    if (second || class_always.second_tsc == 0)
        age_class_always();
    left = second ? all_threads_count : min_of(left, all_threads_count);
    n = threads_at_once(left);
    left -= n;
    while (n-- != 0)
        age_thread(rotate_all_threads());
    spin_unlock(&all_threads_lock);
}

int thread_set_class(struct thread *t, enum sched_class cls, int upri, bool fifo)
{
    static const struct {
        int lo, hi;
    } range[] = {[CLASS_TS] = {-60, 60},
                 [CLASS_IA] = {-60, 60},
                 [CLASS_FX] = {0, 60},
                 [CLASS_FSS] = {-60, 60},
                 [CLASS_RT] = {0, RT_LEVELS - 1}};

    if (cls > CLASS_RT || upri < range[cls].lo || upri > range[cls].hi)
        return -EINVAL;
    spin_lock(&t->lock);
    t->cls = (uint8_t)cls;
    t->upri = (int16_t)upri;
    t->fifo = fifo;
    class_recompute(t);
    spin_unlock(&t->lock);
    return 0;
}

enum { SOLARIS_RT_MAX = 59 };

int class_rt_from_solaris(int upri)
{
    /* Rounded up, so that class_rt_to_solaris() returns the same value. */
    return (upri * (RT_LEVELS - 1) + SOLARIS_RT_MAX - 1) / SOLARIS_RT_MAX;
}

int class_rt_to_solaris(int upri)
{
    return upri * SOLARIS_RT_MAX / (RT_LEVELS - 1);
}

void thread_set_nice(struct thread *t, int nice)
{
    spin_lock(&t->lock);
    if (is_time_sharing(t) || t->cls == CLASS_FSS) {
        t->upri = (int16_t)(-3 * nice);
        class_recompute(t);
    }
    spin_unlock(&t->lock);
}

void thread_set_fss(struct thread *t, struct fss *fss)
{
    spin_lock(&t->lock);
    t->fss = fss;
    spin_unlock(&t->lock);
}

void thread_inherit(struct thread *t, int pri)
{
    t->inherit_pri = (int16_t)pri;
    disp_set_pri(t, thread_effective_pri(t));
}
