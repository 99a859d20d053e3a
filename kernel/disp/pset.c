// SPDX-License-Identifier: MIT
/*
 * pset.c - processor sets: see pset.h.
 *
 * THEORY      A CPU changes its set in these steps.
 *             1. The CPU leaves the mask of the old set.  From now on no thread is placed on it or bound to it.
 *             2. If threads are still bound to it, the call fails.
 *             3. The threads on its queue move to the queues of other CPUs.
 *             4. It joins the mask of the new set.
 *             5. At the next interrupt, its running thread finds that it is not allowed to stay, and leaves.
 *             A thread is queued under its own lock, and the mask is read under that lock.  So the walk over
 *             all threads, which takes the lock of each, misses none.
 *             When a set is destroyed, its CPUs join the default set, then its threads move there, then the
 *             CPUs leave the old set.  So each thread has a CPU at all times, and keeps its home.
 * LOCKING     pset.h
 * SEE ALSO    tests/host/test_pset.c, tests/test_psets.py, docs/psets.md
 */
#include "disp/pset.h"

#include "disp/disp.h"
#include "lib/errno.h"
#include "lib/rng.h"
#include "mem/kmem.h"
#include "stat/panic.h"
#include "uapi/homeroom.h"

enum { MAX_SETS = 2 * CPU_MAX };

struct cpupart cpupart_default = {
    .id = PS_NONE, .live = true, .attr = PSET_NOESCAPE, .rt.maxpri = -1};
struct cpupart *cpuparts[MAX_SETS + 1] = {&cpupart_default};
unsigned cpupart_end = 1;
struct spinlock cpupart_lock = SPINLOCK_INIT(RANK_PART);

void pset_init(void)
{
    lgrp_part_init(&cpupart_default.lgrps);
    disp_queue_init(&cpupart_default.rt, NULL);
    cpupart_default.rng = rng_next();
}

struct cpupart *pset_find(int id)
{
    if (id == PS_NONE)
        return &cpupart_default;
    return id >= 1 && id < (int)cpupart_end && cpuparts[id] != NULL && cpuparts[id]->live
               ? cpuparts[id]
               : NULL;
}

int pset_of_cpu(unsigned cpu)
{
    return cpus[cpu]->disp->part->id;
}

/* ---- threads ---- */

/* LAB sets-bind: begin */
/* Changes the set of `t`, whose lock is held, and with it the load records in which t is counted (I3). */
static void change_thread_part(struct thread *t, struct cpupart *to)
{
    uint64_t now = clock_mono_ns();

    spin_lock(&cpupart_lock);
    t->part = to;
    if (t->lg.part != NULL) {
        unsigned home = t->lg.home;

        if (to->lgrps.lpl[home].ncpus != 0) {
            lgrp_thread_leave(&t->lg, now);
            lgrp_thread_join(&to->lgrps, &t->lg, home, now);
        } else {
            thread_choose_home(t, to);
        }
    }
    spin_unlock(&cpupart_lock);
}

/* Moves `t`, whose lock is held, to set `to`, and makes it leave a CPU of the old set. */
static void move_thread_to_part(struct thread *t, struct cpupart *to)
{
    bool queued = t->state == TS_RUNNABLE && disp_dequeue(t);

    change_thread_part(t, to);
    if (queued)
        disp_enqueue(t, QUEUE_AGAIN);
    else if (t->state == TS_ONPROC)
        disp_poke(t->cpu, POKE_MOVE);
}

int pset_bind(struct thread *t, struct cpupart *to)
{
    spin_lock(&t->lock);
    if (t->bound_cpu >= 0 && cpus[t->bound_cpu]->disp->part != to) {
        spin_unlock(&t->lock);
        return -EBUSY;
    }
    if (t->part != to)
        move_thread_to_part(t, to);
    spin_unlock(&t->lock);
    if (t == curthread && !disp_may_run(t, this_cpu()))
        thread_leave_cpu();
    return 0;
}
/* LAB sets-bind: end */

void thread_follow(struct thread *t, const struct thread *creator)
{
    if (likely(t->part == creator->part && t->bound_cpu == creator->bound_cpu))
        return;
    spin_lock(&t->lock);
    t->bound_cpu = creator->bound_cpu;
    if (t->part != creator->part)
        change_thread_part(t, creator->part);
    spin_unlock(&t->lock);
}

/* LAB sets-assign: begin */
/* Whether `p` has a thread; with `bound`, whether it has a thread that is bound to a CPU. */
static bool part_has_threads(const struct cpupart *p, bool bound)
{
    struct thread *t;
    bool any = false;

    spin_lock(&all_threads_lock);
    LIST_FOREACH (t, &all_threads, all_link)
        any |= t->part == p && t->state != TS_ZOMBIE && (!bound || t->bound_cpu >= 0);
    spin_unlock(&all_threads_lock);
    return any;
}

/* ---- sets and CPUs (cpu_lock held) ---- */

/* Gives CPU `c`, which is on-line and already out of the mask of its set, to set `to`. */
static void give_cpu_to_part(struct cpu *c, struct cpupart *to)
{
    struct cpupart *from = c->disp->part;

    c->disp->part = to;
    disp_cpu_leave(c, from);
    disp_cpu_enter(c, to);
    disp_recheck_affinities(to);
    disp_poke(c, POKE_MOVE);
    if (this_cpu() == c && !disp_may_run(curthread, c))
        thread_leave_cpu();
}

/* Puts CPU `c`, which has left the mask of set `from`, back into that mask. */
static void return_cpu_to_part(struct cpu *c, struct cpupart *from)
{
    cpumask_set_atomic(&from->cpus, c->id);
    disp_recheck_affinities(from);
    disp_poke(c, POKE_STEAL);
}

/* pset_assign() for CPU `c`, which is on-line, and set `to`. */
static int move_cpu_to_part(struct cpu *c, struct cpupart *to, bool forced)
{
    struct cpupart *from = c->disp->part;
    int err;

    if (from == to)
        return 0;
    if (cpumask_weight(&from->cpus) == 1 &&
        (from == &cpupart_default || part_has_threads(from, false)))
        return -EBUSY;
    cpumask_clear_atomic(&from->cpus, c->id);
    err = disp_cpu_unbind(c, forced);
    if (err == 0)
        give_cpu_to_part(c, to);
    else
        return_cpu_to_part(c, from);
    return err;
}

int pset_assign(int id, unsigned cpu, bool forced)
{
    struct cpupart *to;
    struct cpu *c = cpu < ncpu ? cpus[cpu] : NULL;
    int err;

    mutex_enter(&cpu_lock);
    to = pset_find(id);
    if (to == NULL || c == NULL || !disp_cpu_online(c))
        err = -EINVAL;
    else
        err = move_cpu_to_part(c, to, forced);
    mutex_exit(&cpu_lock);
    return err;
}
/* LAB sets-assign: end */

/* The struct of set `id`, made at the first use of that id.  NULL: the id is too high, or no memory. */
static struct cpupart *provide_part(int id)
{
    struct cpupart *p;

    if (id > (int)(2 * ncpu))
        return NULL;
    p = cpuparts[id];
    if (p != NULL)
        return p;
    p = kmem_zalloc(sizeof *p);
    if (p == NULL)
        return NULL;
    p->id = id;
    disp_queue_init(&p->rt, NULL);
    cpuparts[id] = p;
    return p;
}

/* LAB sets-create: begin */
int pset_create(void)
{
    struct cpupart *p;
    int id = 1;

    mutex_enter(&cpu_lock);
    while (id < (int)cpupart_end && cpuparts[id]->live)
        id++;
    p = provide_part(id);
    if (p == NULL) {
        mutex_exit(&cpu_lock);
        return -ENOMEM;
    }
    spin_lock(&cpupart_lock);
    p->attr = 0;
    p->lgrps = (struct lgrp_part){0};
    p->nrunnable = p->loadavg[0] = p->loadavg[1] = p->loadavg[2] = 0;
    p->rng = cpupart_default.rng ^ (uint64_t)id;
    p->rng = rng_step(&p->rng);
    p->live = true;
    cpupart_end = max_of(cpupart_end, (unsigned)id + 1);
    spin_unlock(&cpupart_lock);
    pset_stats_register(p);
    mutex_exit(&cpu_lock);
    return id;
}
/* LAB sets-create: end */

/* LAB sets-destroy: begin */
/* Moves every thread of `p` to the default set. */
static void release_part_threads(struct cpupart *p)
{
    struct thread *t;

    spin_lock(&all_threads_lock);
    LIST_FOREACH (t, &all_threads, all_link) {
        spin_lock(&t->lock);
        if (t->part == p)
            move_thread_to_part(t, &cpupart_default);
        spin_unlock(&t->lock);
    }
    spin_unlock(&all_threads_lock);
}

/* pset_destroy() for set `p`. */
static int dissolve_part(struct cpupart *p)
{
    for (int tries = 0; part_has_threads(p, true); tries++) {
        if (tries == BOUND_TRIES)
            return -EBUSY;
        thread_sleep_ns(BOUND_WAIT_NS);
    }
    CPUMASK_FOREACH (i, &p->cpus)
        disp_cpu_enter(cpus[i], &cpupart_default);
    release_part_threads(p);
    for (unsigned i = 0; i < ncpu; i++)
        if (cpus[i]->disp->part == p) {
            cpumask_clear_atomic(&p->cpus, i);
            cpus[i]->disp->part = &cpupart_default;
            if (disp_cpu_online(cpus[i])) {
                disp_cpu_leave(cpus[i], p);
                /* the CPU must now look at the real-time queue of the default set */
                disp_poke(cpus[i], POKE_STEAL);
            }
        }
    disp_recheck_affinities(&cpupart_default);
    kstat_unregister(&p->ks);
    spin_lock(&cpupart_lock);
    p->live = false;
    lgrp_part_end(&p->lgrps);
    spin_unlock(&cpupart_lock);
    return 0;
}

int pset_destroy(int id)
{
    struct cpupart *p;
    int err;

    mutex_enter(&cpu_lock);
    p = pset_find(id);
    err = p == NULL || p == &cpupart_default ? -EINVAL : dissolve_part(p);
    mutex_exit(&cpu_lock);
    return err;
}
/* LAB sets-destroy: end */

int pset_attr(int id)
{
    struct cpupart *p;
    int attr;

    mutex_enter(&cpu_lock);
    p = pset_find(id);
    attr = p != NULL ? (int)p->attr : -EINVAL;
    mutex_exit(&cpu_lock);
    return attr;
}

int pset_set_attr(int id, unsigned attr)
{
    struct cpupart *p;

    mutex_enter(&cpu_lock);
    p = id != PS_NONE ? pset_find(id) : NULL;
    if (p != NULL)
        p->attr = attr;
    mutex_exit(&cpu_lock);
    return p != NULL ? 0 : -EINVAL;
}
