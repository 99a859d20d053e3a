// SPDX-License-Identifier: MIT
/*
 * balance.c - equal shares of CPU time: threads of one lgroup take turns on its busier CPUs.
 *
 * THEORY      An idle CPU steals threads, and a thread that wakes up is queued on the best CPU.  Threads that
 *             compute without end never sleep and leave no CPU idle, so they would stay where they are: three
 *             of them on two CPUs would have shares of 1, 1/2 and 1/2 of a CPU.
 *             So at the end of a time slice a CPU compares its queue with the fullest one of its lgroup.  If
 *             more threads wait there, it takes one of them.  If as many wait, it takes one only if that
 *             thread has lately run clearly less than the thread whose slice has ended.  It takes the thread
 *             of the highest priority, and of these the one that has run least.
 *             Its own thread then waits here.  Now this CPU is the busier one, and another CPU will take a
 *             thread from it.  So the threads take turns on the CPU that has one thread more than the others,
 *             or more interrupts.
 *             Balancing moves no thread out of its home lgroup or its set, and takes no thread of lower
 *             priority than those here.
 * LOCKING     Queue lengths are read without a lock, as hints.  disp_take_from() takes the lock of the queue.
 * TUNABLES    disp_balance_ms
 * SEE ALSO    docs/dispatcher.md, tests/host/test_runq.c
 */
#include "disp/choose.h"
#include "disp/disp.h"
#include "lgrp/lgrp.h"
#include "stat/tunable.h"

static uint32_t disp_balance_ms = 100;
TUNABLE(
    disp_balance_ms, 0, 10000,
    "default 100 ms; a CPU takes a thread from a busier one of its lgroup so often at most; 0: never");

/* For disp_steal_cpu(): number of threads that wait on `cpu` and may leave it. */
static int count_stealable(unsigned cpu)
{
    return cpus[cpu]->disp->nsteal;
}

struct thread *disp_balance(struct cpu *c, const struct thread *t)
{
    struct disp_cpu *d = c->disp;
    struct cpumask near;
    struct thread *next;
    int victim, more;

    if (disp_balance_ms == 0 || lbolt - d->balanced < disp_balance_ms * HZ / 1000 ||
        disp_rt_active != 0)
        return NULL;
    near = cpumask_and(&lgrp_topo.lgrp_cpus[c->lgrp], &d->part->cpus);
    near = cpumask_and(&near, &cpu_queued_mask);
    victim = disp_steal_cpu(&lgrp_topo, c->id, c->lgrp, &near, count_stealable);
    if (victim < 0)
        return NULL;
    more = count_stealable((unsigned)victim) - d->q.nrun;
    if (more < 0)
        return NULL;
    /*
     * If more threads wait on the victim than here, any of them is taken.  Otherwise that thread
     * must have run an eighth less than t.
     */
    next = disp_take_from(cpus[victim], c, max_of((int)t->pri, (int)d->q.maxpri),
                          more > 0 ? UINT64_MAX - 1 : t->lately_tsc - t->lately_tsc / 8);
    if (next != NULL)
        d->balanced = lbolt;
    return next;
}
