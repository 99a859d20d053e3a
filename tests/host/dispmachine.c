// SPDX-License-Identifier: MIT
/*
 * dispmachine.c - see dispmachine.h.
 */
#include "tests/host/dispmachine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disp/switch.h"
#include "stat/panic.h"
#include "tests/host/machine.h"
#include "tests/host/mktopo.h"
#include "uapi/homeroom.h"

struct cpu_counted counted[CPUS];
struct disp_cpu disp[CPUS];
struct thread idle[CPUS], t[THREADS_MAX];
bool poked[CPUS];

static struct lwp *program = (struct lwp *)t; /* a thread of a program, not a kernel thread */

struct cpu *cpus[CPU_MAX];
unsigned ncpu = CPUS;
uint32_t halt_fenced_cpus = 1, trace_enable;
_Atomic uint64_t lbolt = 1000;
struct list all_threads = LIST_INIT(all_threads);
unsigned all_threads_count;
struct spinlock all_threads_lock = SPINLOCK_INIT(RANK_VM_TLB);

void panic(const char *fmt, ...)
{
    fprintf(stderr, "panic: %s\n", fmt);
    abort();
}

void trace_put(enum trace_type type, uint32_t tid, unsigned info, uint64_t a, uint64_t b)
{
}

void timer_program(struct cpu *c)
{
}

uint64_t clock_tsc_per_ms(void)
{
    return 1;
}

/* weak: a program that links kernel/intr/intr.c has that function, and records the poke in x86_send_ipi() */
__attribute__((weak)) void intr_poke(unsigned id, enum intr_poke why)
{
    poked[id] = true;
}

/*
 * disp/switch.c: here both threads go on, `prev` in the code that called.  The idle thread looks at the queues once
 * more, as in its loop.
 */
void switch_to(struct thread *prev, struct thread *next)
{
    unsigned id = this_cpu()->id;

    run(next);
    if (prev->state == TS_RUNNABLE)
        disp_enqueue(prev, QUEUE_AGAIN);
    spin_unlock(&prev->lock);
    if (next == &idle[id])
        come(id);
}

/* ---- processors ---- */

void on(unsigned id)
{
    static const struct machine_ops none;

    machine_start(&counted[id], &none);
}

void run(struct thread *next)
{
    struct cpu *c = this_cpu();
    bool to_idle = next == c->disp->idle_thread;

    c->thread->last_ran = lbolt;
    if (to_idle)
        c->disp->runpri = -1;
    c->idle = to_idle;
    if (to_idle)
        cpumask_set(&cpu_idle_mask, c->id);
    else
        cpumask_clear(&cpu_idle_mask, c->id);
    next->ast = disp_waiting(c) > c->disp->runpri ? AST_RESCHED : 0;
    c->thread = next;
}

struct thread *come(unsigned id)
{
    struct disp_cpu *d = &disp[id];
    struct thread *next;

    on(id);
    poked[id] = false;
    if (curthread != d->idle_thread) {
        disp_preempt();
    } else {
        curthread->ast = 0;
        d->steal_requested = !cpumask_test(&cpu_idle_mask, id);
        cpumask_set(&cpu_idle_mask, id);
        if ((next = disp_next(CPU(id))) != curthread)
            run(next);
    }
    return CPU(id)->thread;
}

void poked_come(unsigned first)
{
    for (bool any = true; any;) {
        any = false;
        for (unsigned i = 0, id = first % ncpu; i < ncpu; i++, id = (id + 1) % ncpu)
            if (poked[id] || CPU(id)->thread->ast != 0) {
                come(id);
                any = true;
            }
    }
}

struct thread *block(unsigned id)
{
    on(id);
    CPU(id)->thread->state = TS_SLEEP;
    run(disp_next(CPU(id)));
    return CPU(id)->thread == &idle[id] ? come(id) : CPU(id)->thread;
}

void wake(struct thread *th, unsigned id)
{
    on(id);
    th->state = TS_RUNNABLE;
    disp_enqueue(th, QUEUE_WOKEN);
}

struct thread *sleeper(unsigned i, unsigned board, unsigned last)
{
    t[i].lg.home = lgrp_topo.cpu_lgrp[board * EACH];
    t[i].cpu = CPU(last);
    t[i].last_ran = lbolt;
    return &t[i];
}

void start_as(unsigned boards, unsigned each)
{
    static const struct machine_ops none;

    mk_topo(&lgrp_topo, boards, each, 0, NULL);
    ncpu = boards * each;
    list_init(&all_threads);
    all_threads_count = 0;
    memset(&cpupart_default, 0, sizeof cpupart_default);
    memset(&cpu_queued_mask, 0, sizeof cpu_queued_mask);
    memset(&cpu_idle_mask, 0, sizeof cpu_idle_mask);
    memset(disp, 0, sizeof disp);
    memset(counted, 0, sizeof counted);
    memset(poked, 0, sizeof poked);
    memset(t, 0, sizeof t);
    machine_start(&counted[0], &none);
    disp_queue_init(&cpupart_default.rt, NULL);
    disp_rt_active = 0;
    for (unsigned i = 0; i < ncpu; i++) {
        *CPU(i) = (struct cpu){.self = CPU(i),
                               .id = i,
                               .lgrp = lgrp_topo.cpu_lgrp[i],
                               .thread = &idle[i],
                               .disp = &disp[i],
                               .stat = &counted[i].stat,
                               .idle = true};
        disp[i] = (struct disp_cpu){.runpri = -1,
                                    .promised = -1,
                                    .idle_thread = &idle[i],
                                    .part = &cpupart_default,
                                    .state = P_ONLINE,
                                    .quantum_end = UINT64_MAX};
        idle[i] =
            (struct thread){.pri = -1, .state = TS_ONPROC, .cpu = CPU(i), .bound_cpu = (int)i};
        disp_queue_init(&disp[i].q, CPU(i));
        cpus[i] = CPU(i);
        cpumask_set(&cpupart_default.cpus, i);
        cpumask_set(&cpu_idle_mask, i);
    }
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        t[i] = (struct thread){.tid = i + 1,
                               .state = TS_SLEEP,
                               .pri = 30,
                               .bound_cpu = -1,
                               .part = &cpupart_default,
                               .lwp = program};
        list_init(&t[i].runq_link);
        sleeper(i, 0, 0);
    }
}
