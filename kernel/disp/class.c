// SPDX-License-Identifier: MIT
/*
 * class.c - scheduling classes: what priority a thread has, and for how long it may run.
 *
 * THEORY      Six classes share one scale of global priorities, as in Solaris.
 *             TS, IA  time sharing: a thread moves between 60 levels, as a table says (ts_dptbl.c).  Using up its time
 *                     slice costs it 10 levels, waking from a sleep lifts it to 50 or above, and so does a second in
 *                     which neither came to an end, whether it waited or ran.  Low levels have long slices.
 *             FX      fixed at its user priority, 0 to 60.
 *             FSS     fair share, between users: each has a number of shares, and one record of what its threads in
 *                     this class have used lately, however many they are.  Use decays by a quarter each second.  A
 *                     thread has priority 59 less FSS_MEAN_COST times its user's use per share, over the mean of all
 *                     users.  That mean is weighted by use: those who use little do not count.  So users who compute
 *                     meet near priority 9, each with use in proportion to its shares.  The clock works the mean and
 *                     the priorities out ten times a second; a thread that leaves its CPU is charged at once.
 *             RT      fixed, before everything else: 100 to 198, one level for each of POSIX's priorities 1 to 99.
 *                     Solaris has 60, 100 to 159: class_rt_from_solaris().
 *             SYS     kernel threads, 60 to 99.
 *             A thread that is preempted keeps what is left of its slice, and its place before its equals: else one
 *             that is often interrupted would never use up a slice, and sink more slowly than its neighbours.  So does
 *             one that sleeps for a shorter time than it has used of the slice: that is no sleep.  A child goes on with
 *             the slice of its parent.  Else a process could keep others out by short sleeps, or as its own child.
 * LOCKING     callers hold t->lock
 * SEE ALSO    docs/dispatcher.md; ts_dptbl(4), FSS(7) of Solaris 9
 */
#include "disp/disp.h"

#include "lib/errno.h"

enum { TS_START = 29, TS_LIFTED = 50 }; /* a thread that has slept or waited is at 50 or above */
enum { LIFT_TICKS = HZ / 2 };
enum {
    FSS_MEAN_COST = 50,
    FSS_MEAN_LEAST_US = 100000,
    FSS_USAGE_MAX_US = 1 << 30,
    FSS_SECONDS = 60
};

static uint64_t tsc_per_ms;
static _Atomic uint64_t fss_mean_us =
    FSS_MEAN_LEAST_US;           /* use per share that costs FSS_MEAN_COST levels */
static _Atomic bool fss_charged; /* since the last look */

static bool is_time_sharing(const struct thread *t)
{
    return t->cls == CLASS_TS || t->cls == CLASS_IA;
}

static int clamp(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
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
        return; /* it slept for less than it has used */
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

/* The use of `f`, decayed up to this second; [look] of the clock. */
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

void class_fss_update(void)
{
    static uint32_t look;
    uint64_t second = lbolt / HZ, use = 0, square = 0, ms;
    struct thread *t;

    if (!fss_charged && fss_mean_us == FSS_MEAN_LEAST_US)
        return;
    fss_charged = false;
    look++;
    spin_lock(&all_threads_lock);
    LIST_FOREACH (t, &all_threads, all_link) {
        if (t->cls != CLASS_FSS)
            continue;
        spin_lock(&t->lock);
        if (t->fss != NULL && t->fss->seen != look) {
            t->fss->seen = look;
            ms = fss_decay(t->fss, second) / 1000;
            use += ms;
            square += ms * ms / t->fss->shares;
        }
        class_recompute(t);
        spin_unlock(&t->lock);
    }
    spin_unlock(&all_threads_lock);
    fss_mean_us = max_of(square * 1000 / max_of(use, 1ul), (uint64_t)FSS_MEAN_LEAST_US);
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
 * Lifts what has used up no slice and not slept for too long (ts_dptbl.c), above those that sleep again and again as
 * well, and takes what has waited for a second away from where real-time threads compute.  What has waited for
 * LIFT_TICKS and is not lifted by that comes before all programs until it is out of the kernel: it may hold a lock for
 * reading, which lends no priority, and all would wait.
 */
void class_second(void)
{
    struct thread *t;

    spin_lock(&all_threads_lock);
    if (!list_empty(
            &all_threads)) { /* of those lifted to one level the first runs first: another each second */
        t = list_pop(&all_threads, struct thread, all_link);
        list_push_back(&all_threads, &t->all_link);
    }
    LIST_FOREACH (t, &all_threads, all_link) {
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
    return (upri * (RT_LEVELS - 1) + SOLARIS_RT_MAX - 1) /
           SOLARIS_RT_MAX; /* up, so that the way back gives the same */
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
