// SPDX-License-Identifier: MIT
/*
 * driver.c - the lab "sets": a machine with processor sets, threads and interrupts, for the grader.
 *
 * THEORY      Each operation on sets answers with its result and the whole state of the machine (answer_all()).
 * SEE ALSO    labs/sets/tests.py, labs/sets/machine.h
 */
#include "labs/sandbox.h"
#include "labs/sets/machine.h"

#include <asm/prctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "intr/route.h"
#include "lgrp/lgrp.h"
#include "lib/rng.h"
#include "tests/host/mktopo.h"
#include "uapi/homeroom.h"

/* The part beyond; NULL if the student has not written it. */
__attribute__((weak)) int pset_share(int id, unsigned cpu, bool shared);

enum { EACH_PROCESS = 5, DESTROYED = -2, UNKNOWN = -3 };

static struct lgrp_proc proc[THREADS_MAX / EACH_PROCESS];
static unsigned nthreads;

/* ---- answers ---- */

static void answer(long value)
{
    sandbox_answer((uint64_t)value);
}

static int number_of_set(const struct cpupart *p)
{
    return p->live ? p->id : DESTROYED;
}

/* The number of the set in whose load records a thread is counted. */
static int counted_in(const struct thread *th)
{
    for (unsigned i = 0; i < cpupart_end; i++)
        if (th->lg.part == &cpuparts[i]->lgrps)
            return number_of_set(cpuparts[i]);
    return UNKNOWN;
}

static void answer_set(const struct cpupart *p)
{
    answer(p->id);
    answer(p->attr);
    answer(p->nrunnable + p->loadavg[0] + p->loadavg[1] + p->loadavg[2]);
    for (unsigned i = 0; i < ncpu; i++)
        answer(cpumask_test(&p->cpus, i));
    answer((long)p->rng);
    for (unsigned g = 0; g < lgrp_topo.nlgrps; g++) {
        answer(p->lgrps.lpl[g].ncpus);
        answer(p->lgrps.lpl[g].homed);
    }
}

/* The CPU where a thread runs or waits; -1: it is asleep; UNKNOWN: on no queue of a CPU. */
static int place_of(const struct thread *th)
{
    struct disp_queue *q = th->queued_on;

    if (th->state == TS_ONPROC)
        return th->cpu->thread == th ? (int)th->cpu->id : UNKNOWN;
    if (th->state == TS_SLEEP)
        return -1;
    return q != NULL && q->cpu != NULL ? (int)q->cpu->id : UNKNOWN;
}

/* Whether threads are still created in a destroyed set: lgrp_part_end() was not called for it. */
static bool creations_go_on(void)
{
    bool any = false;

    for (unsigned i = 0; i < cpupart_end; i++)
        any |= !cpuparts[i]->live && cpuparts[i]->lgrps.creating != NULL;
    return any;
}

/*
 * The numbers of sets, CPUs, lgroups and threads; then each live set, each CPU (its set, its state, whether it is idle,
 * its queue's length, its lgroup, its pokes by two reasons), and each thread (its set, where it is counted, its home,
 * its binding, its state, its place).
 */
static void answer_state(void)
{
    unsigned live = 0;

    for (unsigned i = 0; i < cpupart_end; i++)
        live += cpuparts[i]->live;
    answer(live);
    answer(ncpu);
    answer(lgrp_topo.nlgrps);
    answer(nthreads);
    for (unsigned i = 0; i < cpupart_end; i++)
        if (cpuparts[i]->live)
            answer_set(cpuparts[i]);
    for (unsigned i = 0; i < ncpu; i++) {
        answer(number_of_set(disp[i].part));
        answer(disp[i].state);
        answer(CPU(i)->thread == &idle[i]);
        answer(disp[i].q.nrun);
        answer(CPU(i)->lgrp);
        answer((long)intr_counts[i].poked[POKE_STEAL]);
        answer((long)intr_counts[i].poked[POKE_MOVE]);
    }
    for (unsigned i = 0; i < nthreads; i++) {
        answer(number_of_set(t[i].part));
        answer(counted_in(&t[i]));
        answer(t[i].lg.home);
        answer(t[i].bound_cpu);
        answer(t[i].state);
        answer(place_of(&t[i]));
    }
}

/*
 * Ends each operation: its result; how often it slept; spin locks held, cpu_lock held, and uses of locks that would
 * hang the kernel or make it panic, against the order, and changes without a lock; a thread whose set had no CPU;
 * how often it took cpu_lock; the result of `meanwhile`; kstats; and the state.
 */
static void answer_all(int result)
{
    locks_compare();
    answer(result);
    answer(calls.sleeps);
    answer(this_cpu()->nlock);
    answer(calls.has_cpu_lock);
    answer(calls.bad_locks);
    answer(calls.bad_order);
    answer(calls.unguarded);
    answer((long)calls.stranded - 1);
    answer(creations_go_on());
    answer(calls.enters);
    answer(calls.meanwhile.result);
    answer(calls.kstats);
    answer_state();
    calls.meanwhile.at = 0;
    calls.sleeps = calls.enters = calls.bad_order = calls.unguarded = calls.stranded = 0;
    for (unsigned i = 0; i < ncpu; i++)
        memset(intr_counts[i].poked, 0, sizeof intr_counts[i].poked);
}

/* ---- operations ---- */

/* machine: boards, CPUs of each, threads, how many of these are awake, a seed for the homes. */
static void op_machine(const uint64_t *arg, size_t n)
{
    start_as((unsigned)arg[0], (unsigned)arg[1]);
    nlgrps = lgrp_topo.nlgrps;
    nthreads = (unsigned)min_of(arg[2], (uint64_t)THREADS_MAX);
    CPU(0)->rng = arg[4];
    cpupart_default = (struct cpupart){.id = PS_NONE, .live = true, .attr = PSET_NOESCAPE};
    pset_init();
    pset_stats_init();
    for (unsigned i = 0; i < ncpu; i++) {
        CPU(i)->intr = &intr_counts[i];
        CPU(i)->apic_id = i;
        disp_cpu_enter(CPU(i), &cpupart_default);
        cpumask_set(&cpu_online_mask, i);
        intr_cpu_enable(i);
    }
    for (unsigned i = 0; i < array_size(proc); i++)
        lgrp_proc_init(&proc[i]);
    for (unsigned i = 0; i < nthreads; i++) {
        spin_init(&t[i].lock, RANK_THREAD);
        lgrp_thread_home(&cpupart_default.lgrps, &t[i].lg, &proc[i / EACH_PROCESS], NULL,
                         clock_mono_ns(), (uint32_t)rng_next());
        list_push_back(&all_threads, &t[i].all_link);
        if (i < arg[3])
            wake(&t[i], 0);
        settle(0);
    }
    calls.sleeps = calls.enters = calls.bad_locks = calls.stranded = 0;
    answer_all(0);
}

static void op_create(const uint64_t *arg, size_t n)
{
    answer_all(pset_create());
}

/* destroy: set */
static void op_destroy(const uint64_t *arg, size_t n)
{
    answer_all(pset_destroy((int)arg[0]));
}

/* assign: set, CPU, forced */
static void op_assign(const uint64_t *arg, size_t n)
{
    answer_all(pset_assign((int)arg[0], (unsigned)arg[1], arg[2] != 0));
}

/* share: set, CPU, 1 if the set is to share it.  No answer: the part beyond is not written. */
static void op_share(const uint64_t *arg, size_t n)
{
    if (pset_share != NULL)
        answer_all(pset_share((int)arg[0], (unsigned)arg[1], arg[2] != 0));
}

/* The set with this number; the default set if there is none. */
static struct cpupart *set_numbered(uint64_t id)
{
    struct cpupart *p = pset_find((int)id);

    return p != NULL ? p : &cpupart_default;
}

/* bind: thread, set.  cpu_lock is held, as in sys_pset_bind(). */
static void op_bind(const uint64_t *arg, size_t n)
{
    int err;

    calls.has_cpu_lock = true;
    err = pset_bind(&t[arg[0]], set_numbered(arg[1]));
    if (!calls.has_cpu_lock)
        calls.bad_locks++;
    calls.has_cpu_lock = false;
    answer_all(err);
}

/* pbind: thread, CPU or -1 */
static void op_pbind(const uint64_t *arg, size_t n)
{
    answer_all(thread_bind(&t[arg[0]], (int)arg[1]));
}

/* affinity: thread, the only CPU of its mask */
static void op_affinity(const uint64_t *arg, size_t n)
{
    struct cpumask m = {0};

    cpumask_set(&m, (unsigned)arg[1]);
    answer_all(thread_set_affinity(&t[arg[0]], &m));
}

/* p_online: CPU, state, forced */
static void op_p_online(const uint64_t *arg, size_t n)
{
    answer_all(disp_cpu_set_state((unsigned)arg[0], (int)arg[1], arg[2] != 0));
}

/* follow: new thread, creator */
static void op_follow(const uint64_t *arg, size_t n)
{
    thread_follow(&t[arg[0]], &t[arg[1]]);
    answer_all(0);
}

/*
 * homeless: a sleeping thread that no load record counts from now on, as a kernel thread; 1 if it is a zombie from now
 * on
 */
static void op_homeless(const uint64_t *arg, size_t n)
{
    thread_unhome(&t[arg[0]]);
    t[arg[0]].lg.home = t[arg[0]].lg.touch = LGRP_NONE;
    if (arg[1] != 0)
        t[arg[0]].state = TS_ZOMBIE;
    answer_all(0);
}

/* creates: an unbound sleeping thread, which the other thread has just created in its set */
static void op_creates(const uint64_t *arg, size_t n)
{
    struct thread *new = &t[arg[0]], *creator = &t[arg[1]];

    thread_unhome(new);
    spin_lock(&new->lock);
    new->part = creator->part;
    spin_unlock(&new->lock);
    (void)thread_home_new(new, creator->lg.proc, creator);
    answer_all(0);
}

/* wake: thread */
static void op_wake(const uint64_t *arg, size_t n)
{
    wake(&t[arg[0]], 0);
    answer_all(0);
}

/* settle: the CPU that looks first */
static void op_settle(const uint64_t *arg, size_t n)
{
    settle((unsigned)arg[0]);
    answer_all(0);
}

/* meanwhile: at which sleep of the next operation, thread, CPU or -1 or WAKES */
static void op_meanwhile(const uint64_t *arg, size_t n)
{
    calls.meanwhile.at = (unsigned)arg[0];
    calls.meanwhile.t = &t[arg[1]];
    calls.meanwhile.cpu = (int)arg[2];
    calls.meanwhile.result = 0;
}

/* attr: set, attributes */
static void op_attr(const uint64_t *arg, size_t n)
{
    answer_all(pset_set_attr((int)arg[0], (unsigned)arg[1]));
}

/* load: set, what the clock has measured in it */
static void op_load(const uint64_t *arg, size_t n)
{
    struct cpupart *p = set_numbered(arg[0]);

    p->nrunnable = (unsigned)arg[1];
    p->loadavg[0] = p->loadavg[1] = p->loadavg[2] = (uint32_t)arg[1];
    answer_all(0);
}

/* ---- interrupts ---- */

static void set_message(void *dev, unsigned entry, uint64_t addr, uint32_t data)
{
}

static void handle_nothing(void *arg)
{
}

static void answer_irqs(void)
{
    struct intr_info info = {0};

    for (unsigned irq = 0; intr_next(irq, &info); irq = info.irq + 1)
        answer(info.cpu);
}

/* irqs: the wanted CPU of each new interrupt.  Answers the CPU of each interrupt. */
static void op_irqs(const uint64_t *arg, size_t n)
{
    static const struct intr_msi msi = {.set = set_message};

    for (size_t i = 0; i < n; i++)
        (void)intr_register_msi((unsigned)arg[i], handle_nothing, NULL, "device", &msi);
    answer_irqs();
}

static uint8_t pairs_of_boards(unsigned i, unsigned j)
{
    return i / 2 == j / 2 ? 12 : 18;
}

/*
 * route: boards, CPUs of each, 1 if boards are in pairs, the wanted CPU; for each CPU whether it takes interrupts, then
 * for each how many arrive there.
 */
static void op_route(const uint64_t *arg, size_t n)
{
    static struct lgrp_topo topo;
    static uint16_t narrive[CPU_MAX];
    struct cpumask cand = {0};
    struct intr_route r = {
        .topo = &topo, .cand = &cand, .narrive = narrive, .wanted = (unsigned)arg[3]};

    memset(&topo, 0, sizeof topo);
    mk_topo(&topo, (unsigned)arg[0], (unsigned)arg[1], 0, arg[2] != 0 ? pairs_of_boards : NULL);
    for (unsigned i = 0; i < topo.ncpus; i++) {
        if (arg[4 + i] != 0)
            cpumask_set(&cand, i);
        narrive[i] = (uint16_t)arg[4 + topo.ncpus + i];
    }
    answer(intr_route(&r));
}

void sandbox_prepare(void)
{
    if (syscall(SYS_arch_prctl, ARCH_SET_GS, CPU(0)) != 0)
        _exit(2);
}

const struct sandbox_op sandbox_ops[] = {
    {"machine", op_machine},   {"create", op_create},
    {"destroy", op_destroy},   {"assign", op_assign},
    {"bind", op_bind},         {"pbind", op_pbind},
    {"affinity", op_affinity}, {"p_online", op_p_online},
    {"follow", op_follow},     {"homeless", op_homeless},
    {"creates", op_creates},   {"wake", op_wake},
    {"settle", op_settle},     {"meanwhile", op_meanwhile},
    {"attr", op_attr},         {"load", op_load},
    {"irqs", op_irqs},         {"route", op_route},
    {"share", op_share},       {NULL, NULL},
};
