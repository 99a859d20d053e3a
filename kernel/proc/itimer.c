// SPDX-License-Identifier: MIT
/*
 * itimer.c - sleeping, CPU-time clocks, interval timers.
 *
 * THEORY      An interval timer sends its process a signal when a time has passed: elapsed time (ITIMER_REAL)
 *             or CPU time (ITIMER_VIRTUAL, ITIMER_PROF).
 *             ITIMER_REAL is one timer in struct proc.  If it has an interval, it is armed again when the
 *             process takes the signal, as in Linux, and not in the timer's interrupt.  But a thread of the
 *             process can also send SIGALRM.  If the process takes this signal while the timer's function still
 *             runs on another CPU, the timer is armed on that CPU again.  Without a lower limit, a process could
 *             keep that CPU in its interrupt handler.  So a shorter interval is replaced by MIN_INTERVAL_NS.
 *             ITIMER_VIRTUAL and ITIMER_PROF count CPU time, for which there is no hardware timer.  Each
 *             has a record only while it is set.  The record's timer expires at the earliest moment at which
 *             the CPU time could be used up, if all LWPs ran all the time.  If the CPU time is not used up,
 *             the timer is armed again.
 *             If no LWP has run since the last check, the record is parked until an LWP returns to user mode.
 *             So processes that sleep, or wait for a CPU, cause no timer interrupts.
 *             VIRTUAL counts like PROF in this system, because CPU time is measured at context switches and
 *             not divided into user and kernel time.
 * INVARIANTS  I1  an armed timer of a process is cancelled before the process is freed (itimer_cancel_all)
 *             I2  a parked CPU-time record is not armed, and every LWP of its process has
 *                 AST_ALARM, or is about to arm the record
 * LOCKING     p->sig->lock guards itimer_real's interval; p->mutex guards p->cpu_timer[].  While a record is armed,
 *             only the timer function uses its fields.
 * SEE ALSO    kernel/sys/sys_time.c, user/test/t_time.c, user/test/t_sys.c
 */
#include "proc/itimer.h"

#include "disp/sync.h"
#include "disp/timer.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "proc/proc.h"

enum {
    LOOK_AGAIN_NS = 1000000,  /* shortest time between two checks of the CPU time, ns */
    MIN_INTERVAL_NS = 100000, /* shortest interval of ITIMER_REAL, ns */
};

struct sleeper {
    struct timer timer;
    struct thread *t;
    _Atomic bool done;
};

static void end_timed_sleep(struct timer *tm)
{
    struct sleeper *s = container_of(tm, struct sleeper, timer);

    atomic_store(&s->done, true);
    thread_wake(s->t, NULL);
}

int sleep_until(uint64_t deadline_ns)
{
    struct thread *t = curthread;
    struct sleeper s = {.t = t};

    timer_arm(&s.timer, deadline_ns, end_timed_sleep);
    for (;;) {
        spin_lock(&t->lock);
        if (atomic_load(&s.done) || signal_pending())
            break;
        t->state = TS_SLEEP;
        t->sleep_sig = true;
        t->wait_what = "sleep";
        t->wait_chan = &s;
        swtch();
    }
    spin_unlock(&t->lock);
    timer_cancel(&s.timer);
    return atomic_load(&s.done) ? 0 : -EINTR;
}

uint64_t proc_cpu_ns(struct proc *p)
{
    uint64_t ns = p->runtime_dead_ns;
    struct lwp *l;

    LIST_FOREACH (l, &p->lwps, proc_link)
        ns += thread_runtime_ns(&l->t);
    return ns;
}

/* The first of deadline, deadline + interval, deadline + 2 * interval ... that lies after `now`. */
static uint64_t next_expiry_after(uint64_t deadline, uint64_t interval, uint64_t now)
{
    if (deadline > now)
        return deadline;
    return deadline + ((now - deadline) / interval + 1) * interval;
}

static void expire_real_itimer(struct timer *tm)
{
    sig_send_proc(container_of(tm, struct proc, itimer_real), SIGALRM, NULL);
}

void itimer_real_rearm(struct proc *p)
{
    struct timer *tm = &p->itimer_real;
    uint64_t interval = max_of(p->itimer_interval_ns, (uint64_t)MIN_INTERVAL_NS);

    if (p->itimer_interval_ns != 0 && !timer_armed(tm))
        timer_arm(tm, next_expiry_after(tm->deadline_ns, interval, clock_mono_ns()),
                  expire_real_itimer);
}

/* itimer_set() for ITIMER_REAL.  The caller holds p->mutex, or p has no other LWP. */
static void set_real_itimer(struct proc *p, const struct itimer_setting *new,
                            struct itimer_setting *old)
{
    uint64_t now = clock_mono_ns(), end = p->itimer_real.deadline_ns;

    old->interval_ns = p->itimer_interval_ns;
    old->value_ns = 0;
    if (timer_armed(&p->itimer_real))
        old->value_ns = end > now ? end - now : 1;
    if (new == NULL)
        return;
    spin_lock(&p->sig->lock);
    p->itimer_interval_ns = 0;
    spin_unlock(&p->sig->lock);
    timer_cancel(&p->itimer_real);
    spin_lock(&p->sig->lock);
    p->itimer_interval_ns = new->value_ns != 0 ? new->interval_ns : 0;
    if (new->value_ns != 0)
        timer_arm(&p->itimer_real, now + new->value_ns, expire_real_itimer);
    spin_unlock(&p->sig->lock);
}

struct cpu_timer {
    struct proc *p;
    int which; /* ITIMER_VIRTUAL, ITIMER_PROF */
    struct timer timer;
    uint64_t target_ns; /* CPU time (proc_cpu_ns()) at which the next signal is sent */
    uint64_t interval_ns;
    uint64_t seen_ns; /* proc_cpu_ns() at the last check */
    _Atomic bool stopped, parked;
};

/*
 * Returns the CPU time of p in ns.  *nlwps is the number of LWPs of p, which limits how fast the
 * CPU time can grow; 0: p is ending.
 */
static uint64_t cpu_time_now(struct proc *p, unsigned *nlwps)
{
    uint64_t ns;

    spin_lock(&proc_lock);
    ns = proc_cpu_ns(p);
    *nlwps = p->nlwps;
    spin_unlock(&proc_lock);
    return ns;
}

static void expire_cpu_timer(struct timer *tm);

/*
 * Arm ct for the earliest moment at which nlwps LWPs can reach the target; `used`: CPU time of the
 * process now, ns.
 */
static void arm_cpu_timer(struct cpu_timer *ct, uint64_t used, unsigned nlwps)
{
    uint64_t left = ct->target_ns > used ? ct->target_ns - used : 0;

    timer_arm(&ct->timer,
              clock_mono_ns() + max_of(left / max_of(nlwps, 1u), (uint64_t)LOOK_AGAIN_NS),
              expire_cpu_timer);
}

/*
 * Park ct, because no LWP has run since the last check.  The next LWP that returns to user mode arms ct.
 * If an LWP is on a CPU, this LWP has perhaps already passed the place in the code where it would
 * arm ct.  Then ct is not parked.  Returns false if the caller must arm ct.
 */
static bool park_cpu_timer(struct cpu_timer *ct)
{
    bool runs = false;
    struct lwp *l;

    atomic_store(&ct->parked, true);
    spin_lock(&proc_lock);
    LIST_FOREACH (l, &ct->p->lwps, proc_link) {
        atomic_fetch_or(&l->t.ast, AST_ALARM);
        runs |= *(volatile uint8_t *)&l->t.state == TS_ONPROC;
    }
    spin_unlock(&proc_lock);
    return !runs || !atomic_exchange(&ct->parked, false);
}

void itimer_cpu_runs(struct proc *p)
{
    if (likely(p->cpu_timer[0] == NULL && p->cpu_timer[1] == NULL))
        return;
    mutex_enter(&p->mutex);
    for (unsigned i = 0; i < array_size(p->cpu_timer); i++) {
        struct cpu_timer *ct = p->cpu_timer[i];
        unsigned nlwps;
        uint64_t used;

        if (ct == NULL || !atomic_exchange(&ct->parked, false))
            continue;
        used = cpu_time_now(p, &nlwps);
        arm_cpu_timer(ct, used, nlwps);
    }
    mutex_exit(&p->mutex);
}

static void expire_cpu_timer(struct timer *tm)
{
    struct cpu_timer *ct = container_of(tm, struct cpu_timer, timer);
    unsigned nlwps;
    uint64_t used = cpu_time_now(ct->p, &nlwps), seen = ct->seen_ns;
    bool due = used >= ct->target_ns;

    if (nlwps == 0 || atomic_load(&ct->stopped))
        return;
    if (due && ct->interval_ns != 0)
        ct->target_ns = next_expiry_after(ct->target_ns, ct->interval_ns, used);
    ct->seen_ns = used;
    if ((!due || ct->interval_ns != 0) && (used != seen || !park_cpu_timer(ct)))
        arm_cpu_timer(ct, used, nlwps);
    if (due)
        sig_send_proc(ct->p, ct->which == ITIMER_PROF ? SIGPROF : SIGVTALRM, NULL);
}

/* Stop and free a record, if there is one.  The caller holds p->mutex. */
static void drop_cpu_timer(struct cpu_timer **ctp)
{
    struct cpu_timer *ct = *ctp;

    if (ct == NULL)
        return;
    atomic_store(&ct->stopped, true);
    timer_cancel(&ct->timer);
    *ctp = NULL;
    kmem_free(ct);
}

/* itimer_set() for ITIMER_VIRTUAL and ITIMER_PROF.  The caller holds p->mutex.  0, -ENOMEM. */
static int set_cpu_timer(struct proc *p, int which, const struct itimer_setting *new,
                         struct itimer_setting *old)
{
    struct cpu_timer **ctp = &p->cpu_timer[which - ITIMER_VIRTUAL], *ct = *ctp;
    unsigned nlwps;
    uint64_t used = cpu_time_now(p, &nlwps);

    *old = (struct itimer_setting){0};
    if (ct != NULL && (timer_armed(&ct->timer) || atomic_load(&ct->parked))) {
        old->value_ns = ct->target_ns > used ? ct->target_ns - used : 1;
        old->interval_ns = ct->interval_ns;
    }
    if (new == NULL)
        return 0;
    drop_cpu_timer(ctp);
    if (new->value_ns == 0)
        return 0;
    ct = kmem_zalloc(sizeof *ct);
    if (ct == NULL)
        return -ENOMEM;
    ct->p = p;
    ct->which = which;
    ct->target_ns = used + new->value_ns;
    ct->interval_ns = new->interval_ns;
    *ctp = ct;
    arm_cpu_timer(ct, used, nlwps);
    return 0;
}

int itimer_set(int which, const struct itimer_setting *new, struct itimer_setting *old)
{
    struct proc *p = curproc();
    int err = 0;

    switch (which) {
    case ITIMER_REAL:
    case ITIMER_VIRTUAL:
    case ITIMER_PROF:
        mutex_enter(&p->mutex); /* one itimer_set() at a time */
        if (which == ITIMER_REAL)
            set_real_itimer(p, new, old);
        else
            err = set_cpu_timer(p, which, new, old);
        mutex_exit(&p->mutex);
        return err;
    default:
        return -EINVAL;
    }
}

void itimer_cancel_all(struct proc *p)
{
    struct itimer_setting off = {0}, old;

    set_real_itimer(p, &off, &old);
    for (unsigned i = 0; i < array_size(p->cpu_timer); i++)
        drop_cpu_timer(&p->cpu_timer[i]); /* no other LWP is left */
}
