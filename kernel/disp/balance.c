// SPDX-License-Identifier: MIT
/*
 * balance.c - equal shares: threads of one lgroup take turns on its busier CPUs.
 *
 * THEORY      Idle CPUs steal, and a thread that wakes chooses among CPUs.  Threads that compute without end do neither
 *             and stay where they are: three of them on two CPUs would have shares of 1, 1/2 and 1/2.  So at the end of
 *             a time slice a CPU looks whether more threads wait on another one of its lgroup than here, or as many, of
 *             which one has run clearly less lately than the thread whose slice has ended.  It runs, of the most
 *             important there, the one that has run least.  Its own thread waits here, and now this is the busier CPU,
 *             from which another CPU will take a thread: so each thread in turn has the CPU with one thread more, or
 *             with the interrupts.
 *             A thread leaves neither its home nor its set for this, and nothing is taken that is less important than
 *             what is here.
 * LOCKING     lengths are read without a lock, as hints; disp_take_from() takes that of the queue
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

/* Threads that wait on a CPU and may leave it, for disp_steal_cpu(). */
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
    if (victim < 0 || (more = count_stealable((unsigned)victim) - d->q.nrun) < 0)
        return NULL;
    /* If more wait there, any thread will do; else it must have had an eighth less. */
    next = disp_take_from(cpus[victim], c, max_of((int)t->pri, (int)d->q.maxpri),
                          more > 0 ? UINT64_MAX - 1 : t->lately_tsc - t->lately_tsc / 8);
    if (next != NULL)
        d->balanced = lbolt;
    return next;
}
