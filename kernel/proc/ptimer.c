// SPDX-License-Identifier: MIT
/*
 * ptimer.c - timers of processes that send a signal, made by timer_create(2).
 *
 * THEORY      A process has any number of these timers, unlike the three interval timers of setitimer(2).  Each belongs
 *             to a clock, has a signal of its own, and a value that the signal carries.
 *             The siginfo of its signal is part of the timer.  So a signal cannot be lost because there is no memory,
 *             and the signal of one timer is pending at most once.  A periodic timer is armed again when an LWP takes
 *             its signal (taken_ptimer).  At this time the expiries meanwhile are counted: the overrun, which siginfo
 *             contains.  As on Linux, each timer counts for RLIMIT_SIGPENDING of the user that made it.
 *             A signal that is ignored is never taken.  Then the timer is armed again at once, but not earlier than
 *             after IGNORED_NS, so that it costs little.  When an LWP takes a signal while the timer's function still
 *             runs on another CPU, the timer is armed on that CPU.  MIN_INTERVAL_NS limits how often (see itimer.c).
 *             SIGEV_NONE only sets a deadline; nothing is armed.
 * INVARIANTS  I1  while a timer exists, p->sig does not change, because exec deletes the timers first
 *             I2  a timer whose entry is in a queue of signals is not armed
 * LOCKING     p->mutex guards the tree p->ptimers, and is held while a timer is changed.  p->sig->lock [S] guards the
 *             fields of a timer that change when it expires.
 * SEE ALSO    itimer.c (setitimer), ipc/ctimer.c, timer_create(2) of Linux's manual, user/test/t_event.c
 */
#include "proc/ptimer.h"

#include "lib/errno.h"
#include "mem/kmem.h"
#include "proc/proc_impl.h"

enum {
    MIN_INTERVAL_NS =
        100000, /* shortest time after which a timer whose signal was taken expires again, ns */
    IGNORED_NS = 1000000000, /* the same for a timer whose signal is ignored, ns */
};

struct ptimer {
    struct itree_node node; /* [m] in p->ptimers: the interval that has only `id` */
    struct proc *p;         /* [c] */
    int id;                 /* [c] */
    int notify, tid;        /* [c] as in struct ptimer_event */
    enum ctimer_clock clock;
    struct clock_timer ct; /* [S] */
    int overrun;           /* [S] of the signal that was taken last */
    struct sigentry entry; /* [S] */
};

/* The timer's function. */
static void expire_ptimer(struct timer *tm)
{
    struct ptimer *t = container_of(tm, struct ptimer, ct.timer);

    (void)sig_send_entry(t->p, t->tid, &t->entry);
}

/* sigentry.taken: the signal was delivered, or was discarded (info is NULL).  Arm a periodic timer again [S]. */
static void taken_ptimer(struct sigentry *e, struct siginfo *info)
{
    struct ptimer *t = container_of(e, struct ptimer, entry);
    uint64_t n = ctimer_passed(&t->ct);

    if (info != NULL) {
        t->overrun = n > 1 ? (int)min_of(n - 1, (uint64_t)INT32_MAX) : 0;
        info->timer.overrun = t->overrun;
    }
    if (!t->ct.set || t->ct.interval_ns == 0)
        return;
    t->ct.deadline_ns += n * t->ct.interval_ns;
    ctimer_arm(&t->ct, expire_ptimer, info != NULL ? MIN_INTERVAL_NS : IGNORED_NS);
}

/* clock_timer.clock_set */
static void move_ptimer(struct clock_timer *ct)
{
    struct ptimer *t = container_of(ct, struct ptimer, ct);

    spin_lock(&t->p->sig->lock);
    if (timer_armed(&ct->timer))
        ctimer_arm(ct, expire_ptimer, 0);
    spin_unlock(&t->p->sig->lock);
}

static struct ptimer *find_ptimer(const struct proc *p, int id)
{
    struct itree_node *n = itree_next(&p->ptimers, NULL, (uint32_t)id, (uint32_t)id);

    return n != NULL ? container_of(n, struct ptimer, node) : NULL;
}

/* Charges the calling LWP's user for one signal.  -EAGAIN: RLIMIT_SIGPENDING. */
static int charge_ptimer(struct ptimer *t)
{
    struct ucount *uc = curlwp()->ucount;

    if (atomic_fetch_add(&uc->nsignals, 1) >= t->p->rlim[RLIMIT_SIGPENDING].cur) {
        atomic_fetch_sub(&uc->nsignals, 1);
        return -EAGAIN;
    }
    t->entry.ucount = uc;
    return 0;
}

static bool is_own_lwp(const struct proc *p, int tid)
{
    struct lwp *l;
    bool yes;

    spin_lock(&proc_lock);
    l = lwp_find(tid);
    yes = l != NULL && l->proc == p;
    spin_unlock(&proc_lock);
    return yes;
}

/* Chooses the id, and puts t into the tree.  The caller holds p->mutex. */
static void publish_ptimer(struct proc *p, struct ptimer *t)
{
    do
        t->id = p->next_ptimer++ & INT32_MAX;
    while (find_ptimer(p, t->id) != NULL);
    t->node.first = t->node.last = (uint32_t)t->id;
    itree_insert(&p->ptimers, &t->node);
}

int ptimer_create(enum ctimer_clock clock, const struct ptimer_event *ev)
{
    struct proc *p = curproc();
    struct ptimer *t;
    int err;

    if (ev->notify == SIGEV_THREAD_ID && !is_own_lwp(p, ev->tid))
        return -EINVAL;
    t = kmem_zalloc(sizeof *t);
    if (t == NULL)
        return -ENOMEM;
    t->p = p;
    t->clock = clock;
    t->notify = ev->notify;
    t->tid = ev->notify == SIGEV_THREAD_ID ? ev->tid : 0;
    t->ct.clock_set = move_ptimer;
    list_init(&t->ct.watch);
    list_init(&t->entry.link);
    t->entry.taken = taken_ptimer;
    err = charge_ptimer(t);
    if (err != 0) {
        kmem_free(t);
        return err;
    }
    mutex_enter(&p->mutex);
    publish_ptimer(p, t);
    t->entry.info = (struct siginfo){.signo = ev->signo, .code = SI_TIMER};
    t->entry.info.timer.tid = t->id;
    t->entry.info.timer.value = ev->value_is_id ? (uint64_t)t->id : ev->value;
    mutex_exit(&p->mutex);
    return t->id;
}

/* Stops t, and takes back its signal.  The caller holds p->mutex. */
static void stop_ptimer(struct ptimer *t)
{
    struct spinlock *lock = &t->p->sig->lock;

    spin_lock(lock);
    t->ct.set = false; /* from now on taken_ptimer() does not arm it */
    spin_unlock(lock);
    ctimer_unwatch(&t->ct);
    timer_cancel(&t->ct.timer);
    spin_lock(lock);
    sig_unsend_entry(&t->entry);
    spin_unlock(lock);
}

static void read_ptimer_setting(struct ptimer *t, struct itimer_setting *s)
{
    spin_lock(&t->p->sig->lock);
    s->value_ns = ctimer_left(&t->ct);
    s->interval_ns = t->ct.interval_ns;
    spin_unlock(&t->p->sig->lock);
}

/* ptimer_set() for the timer t.  The caller holds p->mutex. */
static void change_ptimer(struct ptimer *t, bool absolute, const struct itimer_setting *new,
                          struct itimer_setting *old)
{
    read_ptimer_setting(t, old);
    stop_ptimer(t);
    if (new->value_ns != 0 && absolute && t->clock == CTIMER_REAL)
        ctimer_watch(
            &t->ct); /* before it is armed, so that no change of the time of day is missed */
    spin_lock(&t->p->sig->lock);
    ctimer_set(&t->ct, t->clock, absolute, new->value_ns, new->interval_ns);
    t->overrun = 0;
    if (t->ct.set && t->notify != SIGEV_NONE)
        ctimer_arm(&t->ct, expire_ptimer, 0);
    spin_unlock(&t->p->sig->lock);
}

int ptimer_set(int id, bool absolute, const struct itimer_setting *new, struct itimer_setting *old)
{
    struct proc *p = curproc();
    struct ptimer *t;

    mutex_enter(&p->mutex);
    t = find_ptimer(p, id);
    if (t != NULL)
        change_ptimer(t, absolute, new, old);
    mutex_exit(&p->mutex);
    return t != NULL ? 0 : -EINVAL;
}

int ptimer_get(int id, struct itimer_setting *now)
{
    struct proc *p = curproc();
    struct ptimer *t;

    mutex_enter(&p->mutex);
    t = find_ptimer(p, id);
    if (t != NULL)
        read_ptimer_setting(t, now);
    mutex_exit(&p->mutex);
    return t != NULL ? 0 : -EINVAL;
}

int ptimer_overrun(int id)
{
    struct proc *p = curproc();
    struct ptimer *t;
    int n = -EINVAL;

    mutex_enter(&p->mutex);
    t = find_ptimer(p, id);
    if (t != NULL)
        n = t->overrun;
    mutex_exit(&p->mutex);
    return n;
}

/* Stops and frees t, and takes it out of the tree.  The caller holds p->mutex. */
static void drop_ptimer(struct ptimer *t)
{
    stop_ptimer(t);
    itree_remove(&t->p->ptimers, &t->node);
    atomic_fetch_sub(&t->entry.ucount->nsignals, 1);
    kmem_free(t);
}

int ptimer_delete(int id)
{
    struct proc *p = curproc();
    struct ptimer *t;

    mutex_enter(&p->mutex);
    t = find_ptimer(p, id);
    if (t != NULL)
        drop_ptimer(t);
    mutex_exit(&p->mutex);
    return t != NULL ? 0 : -EINVAL;
}

void ptimer_delete_all(void)
{
    struct proc *p = curproc();

    mutex_enter(&p->mutex);
    while (!itree_empty(&p->ptimers))
        drop_ptimer(container_of(p->ptimers.root, struct ptimer, node));
    p->next_ptimer = 0;
    mutex_exit(&p->mutex);
}
