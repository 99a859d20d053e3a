// SPDX-License-Identifier: MIT
/*
 * class.c - scheduling classes: what priority a thread has, and for how long it may run.
 *
 * THEORY      Six classes share one scale of global priorities, as in Solaris.
 *             TS, IA  time sharing: a thread moves between 60 levels.  Using up its time slice costs 10 levels, waking
 *                     from a sleep lifts it to 50 or above, and one that has waited for a second without running is
 *                     lifted too. Low levels have long slices (200 ms at 0, 20 ms at 59).
 *             FX      fixed at its user priority, 0 to 60.
 *             FSS     fair share: the more a thread has run lately for its number of shares, the lower it is.
 *             RT      fixed, 100 to 159, before everything else but interrupt threads.
 *             SYS     kernel threads, 60 to 99.
 * LOCKING     callers hold t->lock
 * TUNABLES    ts_maxwait
 * SEE ALSO    docs/dispatcher.md; ts_dptbl(4), FSS(7) of Solaris 9
 */
#include "disp/disp.h"

#include "lib/errno.h"
#include "stat/tunable.h"

enum { TS_START = 29, TS_EXPIRE_COST = 10, TS_SLEEP_RETURN = 50, FSS_SHARES = 1 };
enum { FSS_LEVEL_US = 20000, FSS_USAGE_MAX = 60000000 }; /* use per share that costs a level; the most counted */

static uint32_t ts_maxwait = 1;
TUNABLE(ts_maxwait, 0, 3600, "seconds a time-sharing thread may wait before it is lifted; 1; class.c");

static uint64_t tsc_per_ms;

static int clamp(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

void class_recompute(struct thread *t)
{
    int cost;

    switch (t->cls) {
    case CLASS_TS:
    case CLASS_IA:
        t->base_pri = (int16_t)clamp(t->ts_level + t->upri, PRI_MIN, PRI_USER_MAX);
        break;
    case CLASS_FSS:
        cost = (int)(t->fss_usage / FSS_LEVEL_US / max_of(t->shares, (uint16_t)1));
        t->base_pri = (int16_t)clamp(PRI_USER_MAX - cost + t->upri, 1, PRI_USER_MAX);
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
    t->shares = FSS_SHARES;
    if (creator != NULL) {
        t->cls = creator->cls;
        t->upri = creator->upri;
        t->ts_level = creator->ts_level;
        t->shares = creator->shares;
        t->base_pri = creator->base_pri;
        class_recompute(t);
    }
}

uint64_t class_quantum(const struct thread *t)
{
    static const uint8_t ts_slice_ms[] = {200, 160, 120, 80, 40, 20}; /* by level / 10 */
    unsigned             ms = 100;

    if (t->cls == CLASS_TS || t->cls == CLASS_IA)
        ms = ts_slice_ms[t->ts_level / 10];
    else if (t->cls == CLASS_FSS)
        ms = 110;
    if (tsc_per_ms == 0)
        tsc_per_ms = clock_tsc_per_ms();
    return ms * tsc_per_ms;
}

void class_quantum_expired(struct thread *t)
{
    if (t->cls == CLASS_TS || t->cls == CLASS_IA)
        t->ts_level = (int16_t)max_of(t->ts_level - TS_EXPIRE_COST, 0);
    class_recompute(t);
}

void class_slept(struct thread *t)
{
    if ((t->cls == CLASS_TS || t->cls == CLASS_IA) && t->ts_level < TS_SLEEP_RETURN) {
        t->ts_level = (int16_t)(TS_SLEEP_RETURN + t->ts_level / 10);
        class_recompute(t);
    }
}

void class_yield(struct thread *t)
{
    if (t->cls == CLASS_TS || t->cls == CLASS_IA)
        t->ts_level = (int16_t)max_of(t->ts_level - 1, 0);
    class_recompute(t);
}

void class_charge(struct thread *t, uint64_t tsc)
{
    if (t->cls == CLASS_FSS) {
        t->fss_usage = (uint32_t)min_of(t->fss_usage + tsc * 1000 / clock_tsc_per_ms(), (uint64_t)FSS_USAGE_MAX);
        class_recompute(t);
    }
}

/* Lifts what has waited too long, decays shares' usage. */
void class_second(void)
{
    struct thread *t;

    spin_lock(&all_threads_lock);
    LIST_FOREACH(t, &all_threads, all_link) {
        if (t->cls != CLASS_TS && t->cls != CLASS_IA && t->cls != CLASS_FSS)
            continue;
        spin_lock(&t->lock);
        if (t->cls == CLASS_FSS) {
            t->fss_usage -= t->fss_usage / 4;
            class_recompute(t);
        } else if (t->state == TS_RUNNABLE && lbolt - t->last_ran > ts_maxwait * HZ) {
            t->ts_level = (int16_t)max_of(t->ts_level, (int16_t)TS_SLEEP_RETURN);
            class_recompute(t);
        }
        spin_unlock(&t->lock);
    }
    spin_unlock(&all_threads_lock);
}

int thread_set_class(struct thread *t, enum sched_class cls, int upri)
{
    static const struct {
        int lo, hi;
    } range[] = {[CLASS_TS] = {-60, 60}, [CLASS_IA] = {-60, 60}, [CLASS_FX] = {0, 60}, [CLASS_FSS] = {-60, 60},
                 [CLASS_RT] = {0, 59}};

    if (cls > CLASS_RT || upri < range[cls].lo || upri > range[cls].hi)
        return -EINVAL;
    spin_lock(&t->lock);
    t->cls = (uint8_t)cls;
    t->upri = (int16_t)upri;
    class_recompute(t);
    spin_unlock(&t->lock);
    return 0;
}

void thread_set_nice(struct thread *t, int nice)
{
    spin_lock(&t->lock);
    if (t->cls == CLASS_TS || t->cls == CLASS_IA || t->cls == CLASS_FSS) {
        t->upri = (int16_t)(-3 * nice);
        class_recompute(t);
    }
    spin_unlock(&t->lock);
}

void thread_inherit(struct thread *t, int pri)
{
    t->inherit_pri = (int16_t)pri;
    disp_set_pri(t, thread_effective_pri(t));
}
