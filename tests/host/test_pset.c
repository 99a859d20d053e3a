// SPDX-License-Identifier: MIT
/*
 * test_pset.c - processor sets, states of CPUs and bindings, on the processors of dispmachine.c.
 *
 * THEORY      The run queues, the load records and the files under test are the kernel's.  A call that would sleep
 *             continues at once, after all poked CPUs have come.  After each call the invariants of pset.h must hold.
 *             Once the poked CPUs have come, each thread runs where it may, or waits because no such CPU is idle.
 */
#include "tests/host/check.h"
#include "tests/host/dispmachine.h"

#include <stdlib.h>
#include <string.h>

#include "lgrp/lgrpstat.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "uapi/homeroom.h"

enum { THREADS = 40, EACH_PROCESS = 5 };

static struct lgrp_proc proc[THREADS / EACH_PROCESS];
static unsigned nsleeps, nkstats;
static struct thread *unbinds; /* this thread unbinds itself while a call sleeps; NULL: none does */
static bool no_memory, has_cpu_lock;
static uint64_t now_ns;

struct lgrp_counters lgrp_counters[LGRP_MAX];

/* ---- functions that the files under test call ---- */

void *kmem_zalloc(size_t size)
{
    return no_memory ? NULL : calloc(1, size);
}

void kmem_free(void *p)
{
    free(p);
}

void mutex_enter(struct mutex *m)
{
    CHECK(m == &cpu_lock && !has_cpu_lock);
    CHECK_EQ(this_cpu()->nlock, 0);
    has_cpu_lock = true;
}

void mutex_exit(struct mutex *m)
{
    CHECK(m == &cpu_lock && has_cpu_lock);
    has_cpu_lock = false;
}

void thread_sleep_ns(uint64_t ns)
{
    unsigned id = this_cpu()->id;

    CHECK_EQ(this_cpu()->nlock, 0);
    nsleeps++;
    if (unbinds != NULL)
        CHECK_EQ(thread_bind(unbinds, -1), 0);
    unbinds = NULL;
    poked_come(0);
    on(id);
}

uint64_t clock_mono_ns(void)
{
    return now_ns += 1000000;
}

uint64_t clock_real_ns(void)
{
    return now_ns;
}

unsigned clock_runnable_now(const struct lgrp_part *part, unsigned lgrp)
{
    return 0;
}

void timer_leave(struct cpu *c, struct cpu *to)
{
    CHECK(c != to && to->disp->state == P_ONLINE);
}

void timer_return(struct cpu *c)
{
}

int intr_cpu_disable(unsigned cpu)
{
    return 0;
}

void intr_cpu_enable(unsigned cpu)
{
}

void kstat_register(struct kstat *ks)
{
    nkstats++;
}

void kstat_unregister(struct kstat *ks)
{
    nkstats--;
}

/* ---- the machine ---- */

/* All CPUs are on-line in the default set.  `nthreads` threads have homes; the first `nrunning` of them are awake. */
static void start(unsigned nthreads, unsigned nrunning)
{
    start_as(BOARDS, EACH);
    while (cpupart_end > 1) { /* the sets that the test before has left */
        free(cpuparts[--cpupart_end]);
        cpuparts[cpupart_end] = NULL;
    }
    cpupart_default = (struct cpupart){.id = PS_NONE, .live = true, .attr = PSET_NOESCAPE};
    pset_init();
    memset(&cpu_online_mask, 0, sizeof cpu_online_mask);
    for (unsigned i = 0; i < CPUS; i++) {
        disp_cpu_enter(CPU(i), &cpupart_default);
        cpumask_set(&cpu_online_mask, i);
    }
    for (unsigned i = 0; i < array_size(proc); i++)
        lgrp_proc_init(&proc[i]);
    for (unsigned i = 0; i < nthreads; i++) {
        spin_init(&t[i].lock, RANK_THREAD);
        lgrp_thread_home(&cpupart_default.lgrps, &t[i].lg, &proc[i / EACH_PROCESS], NULL,
                         clock_mono_ns(), (uint32_t)check_random());
        list_push_back(&all_threads, &t[i].all_link);
        if (i < nrunning)
            wake(&t[i], (unsigned)check_below(CPUS));
        poked_come(0);
    }
    nsleeps = 0;
    nkstats = 0;
    no_memory = false;
    has_cpu_lock = false;
    unbinds = NULL;
    on(0);
}

static bool is_online(unsigned cpu)
{
    return disp[cpu].state != P_OFFLINE;
}

/* Checks I1, and the CPUs of each load record. */
static void check_cpus_of(const struct cpupart *p)
{
    unsigned ncpus[LGRP_MAX] = {0};

    for (unsigned i = 0; i < CPUS; i++) {
        bool in = disp[i].part == p && is_online(i);

        CHECK_EQ(cpumask_test(&p->cpus, i), in);
        ncpus[CPU(i)->lgrp] += in;
    }
    for (unsigned g = 0; g < LGRP_MAX; g++) {
        CHECK_EQ(p->lgrps.lpl[g].ncpus, ncpus[g]);
        CHECK_EQ(bit_test(p->lgrps.lgrps, g), ncpus[g] != 0);
    }
}

/* Checks I2 and I3; each thread has its home where its set has a CPU. */
static void check_threads_of(const struct cpupart *p)
{
    unsigned homed[LGRP_MAX] = {0};
    struct thread *th;
    bool any = p == &cpupart_default;

    LIST_FOREACH (th, &all_threads, all_link) {
        if (th->part != p)
            continue;
        any = true;
        CHECK(th->lg.part == &p->lgrps);
        homed[th->lg.home]++;
        CHECK(bit_test(p->lgrps.lgrps, th->lg.home));
        CHECK(th->bound_cpu < 0 || cpumask_test(&p->cpus, (unsigned)th->bound_cpu));
    }
    CHECK(!any || !cpumask_empty(&p->cpus));
    for (unsigned g = 0; g < LGRP_MAX; g++)
        CHECK_EQ(p->lgrps.lpl[g].homed, homed[g]);
}

static void check_sets(void)
{
    struct thread *th;

    CHECK(!has_cpu_lock);
    CHECK_EQ(this_cpu()->nlock, 0);
    for (unsigned i = 0; i < cpupart_end; i++)
        if (cpuparts[i]->live) {
            check_cpus_of(cpuparts[i]);
            check_threads_of(cpuparts[i]);
        }
    for (unsigned i = 0; i < CPUS; i++)
        CHECK(disp[i].part->live);
    LIST_FOREACH (th, &all_threads, all_link)
        CHECK(th->part->live);
}

/* The poked CPUs come.  After that no thread may be where it is not allowed, or wait without a reason. */
static void settle(void)
{
    unsigned id = this_cpu()->id;
    struct thread *th;

    poked_come((unsigned)check_below(CPUS));
    LIST_FOREACH (th, &all_threads, all_link) {
        if (th->state == TS_ONPROC) {
            CHECK(th->cpu->thread == th);
            CHECK(disp_may_run(th, th->cpu) && is_online(th->cpu->id));
        } else if (th->state == TS_RUNNABLE) {
            CHECK(th->queued_on != NULL);
            for (unsigned i = 0; i < CPUS && !th->restricted; i++)
                CHECK(!CPU(i)->idle || !is_online(i) || !disp_may_run(th, CPU(i)));
        }
    }
    on(id);
    check_sets();
}

/* Whether the thread runs or waits on CPU `id`. */
static bool is_on(const struct thread *th, unsigned id)
{
    return th->state == TS_ONPROC ? th->cpu == CPU(id) : th->queued_on == &disp[id].q;
}

/* Makes a set of CPUs first .. last. */
static int set_of(unsigned first, unsigned last)
{
    int id = pset_create();

    for (unsigned i = first; i <= last; i++)
        CHECK_EQ(pset_assign(id, i, false), 0);
    settle();
    return id;
}

/* ---- sets ---- */

TEST(numbers)
{
    unsigned n;

    start(0, 0);
    for (int id = 1; id <= 3; id++)
        CHECK_EQ(pset_create(), id);
    CHECK_EQ(nkstats, 3);
    CHECK_EQ(pset_destroy(2), 0);
    CHECK(pset_find(2) == NULL && pset_find(3) != NULL && pset_find(4) == NULL &&
          pset_find(0) == NULL);
    CHECK_EQ(pset_destroy(2), -EINVAL);
    CHECK_EQ(pset_destroy(PS_NONE), -EINVAL);
    CHECK_EQ(pset_destroy(-2), -EINVAL);
    CHECK_EQ(pset_create(), 2); /* the lowest free one */
    no_memory = true;
    CHECK_EQ(pset_create(), -ENOMEM);
    CHECK_EQ(pset_destroy(1), 0);
    CHECK_EQ(pset_create(), 1); /* uses the memory of the destroyed one */
    no_memory = false;
    for (n = 3; pset_create() > 0; n++)
        CHECK_EQ(cpupart_end, n + 2);
    CHECK_EQ(n, 2 * CPUS);
    CHECK_EQ(nkstats, n);
    check_sets();
}

TEST(attributes)
{
    int id;

    start(0, 0);
    id = pset_create();
    CHECK_EQ(pset_attr(id), 0);
    CHECK_EQ(pset_set_attr(id, PSET_NOESCAPE), 0);
    CHECK_EQ(pset_attr(id), PSET_NOESCAPE);
    CHECK_EQ(pset_attr(PS_NONE), PSET_NOESCAPE);
    CHECK_EQ(pset_set_attr(PS_NONE, 0), -EINVAL);
    CHECK_EQ(pset_attr(id + 1), -EINVAL);
    CHECK_EQ(pset_set_attr(id + 1, 0), -EINVAL);
    CHECK_EQ(pset_destroy(id), 0);
    CHECK_EQ(pset_create(), id);
    CHECK_EQ(pset_attr(id), 0); /* not the attribute of the destroyed one */
}

/* A CPU that leaves a set takes no thread with it, neither the running one nor waiting ones. */
TEST(a_cpu_changes_its_set)
{
    int id;

    start(THREADS, THREADS);
    CHECK(disp[5].q.nrun > 0);
    id = pset_create();
    CHECK_EQ(pset_of_cpu(5), PS_NONE);
    CHECK_EQ(pset_assign(id, 5, false), 0);
    CHECK_EQ(pset_of_cpu(5), id);
    CHECK_EQ(disp[5].q.nrun, 0);
    settle();
    CHECK(CPU(5)->idle);
    CHECK_EQ(pset_assign(id, 5, false), 0); /* it is already there */
    CHECK_EQ(pset_assign(PS_NONE, 5, false), 0);
    settle();
    CHECK(!CPU(5)->idle);
    CHECK_EQ(nsleeps, 0);
}

TEST(bad_arguments)
{
    int id;

    start(1, 1);
    id = pset_create();
    CHECK_EQ(pset_assign(id + 1, 3, false), -EINVAL);
    CHECK_EQ(pset_assign(0, 3, false), -EINVAL);
    CHECK_EQ(pset_assign(id, CPUS, false), -EINVAL);
    CHECK_EQ(disp_cpu_set_state(3, P_OFFLINE, false), P_ONLINE);
    CHECK_EQ(pset_assign(id, 3, false), -EINVAL);
    CHECK_EQ(disp_cpu_set_state(CPUS, P_OFFLINE, false), -EINVAL);
    CHECK_EQ(disp_cpu_set_state(3, 0, false), -EINVAL);
    CHECK_EQ(thread_bind(&t[0], CPUS), -EINVAL);
    CHECK_EQ(thread_bind(&t[0], 3), -EINVAL); /* the CPU is off-line */
    settle();
}

/* I2: neither the default set nor a set with threads loses its last CPU. */
TEST(the_last_cpu_stays)
{
    int id;

    start(THREADS, THREADS);
    id = set_of(4, 4);
    CHECK_EQ(pset_assign(PS_NONE, 4, false), 0); /* it had no threads */
    CHECK_EQ(pset_assign(id, 4, false), 0);
    CHECK_EQ(pset_bind(&t[7], pset_find(id)), 0);
    CHECK_EQ(pset_assign(PS_NONE, 4, true), -EBUSY);
    CHECK_EQ(disp_cpu_set_state(4, P_OFFLINE, true), -EBUSY);
    CHECK_EQ(pset_assign(id, 5, false), 0);
    CHECK_EQ(pset_assign(PS_NONE, 4, false), 0);
    settle();
    for (unsigned i = 0; i < CPUS - 1; i++)
        if (i != 5)
            CHECK_EQ(pset_assign(id, i, false), 0);
    CHECK_EQ(pset_assign(id, CPUS - 1, true), -EBUSY);
    settle();
    CHECK_EQ(nsleeps, 0);
}

/* ---- threads ---- */

/* A thread that changes its set leaves its CPU or its queue, and then runs only on CPUs of the new set. */
TEST(a_thread_changes_its_set)
{
    struct cpupart *p;

    start(THREADS, THREADS / 2);
    p = pset_find(set_of(8, 9));
    for (unsigned i = 0; i < THREADS; i++) { /* running, waiting and asleep */
        CHECK_EQ(pset_bind(&t[i], p), 0);
        CHECK(t[i].part == p);
        settle();
    }
    CHECK_EQ(disp[8].q.nrun + disp[9].q.nrun, THREADS / 2 - 2);
    for (unsigned i = 0; i < CPUS; i++)
        CHECK_EQ(CPU(i)->idle, i != 8 && i != 9);
    wake(&t[THREADS - 1], 0);
    settle();
    CHECK(t[THREADS - 1].queued_on->cpu->disp->part == p);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK_EQ(pset_bind(&t[i], &cpupart_default), 0);
    settle();
    CHECK(CPU(8)->idle && CPU(9)->idle);
}

/* The home stays if the new set has a CPU there.  Otherwise one of the boards of the new set is chosen. */
TEST(the_home_follows_the_set)
{
    struct cpupart *two, *one;
    unsigned home;

    start(1, 0);
    home = t[0].lg.home;
    CHECK_EQ(thread_bind(&t[0], 0), 0); /* its home is now board 0 */
    CHECK_EQ(thread_bind(&t[0], -1), 0);
    home = t[0].lg.home;
    CHECK_EQ(home, CPU(0)->lgrp);
    two = pset_find(set_of(3, 4)); /* of boards 0 and 1 */
    one = pset_find(set_of(9, 9)); /* of board 2 */
    CHECK_EQ(pset_bind(&t[0], two), 0);
    CHECK_EQ(t[0].lg.home, home);
    CHECK_EQ(pset_bind(&t[0], one), 0);
    CHECK_EQ(t[0].lg.home, CPU(9)->lgrp);
    CHECK_EQ(pset_bind(&t[0], &cpupart_default), 0);
    CHECK_EQ(t[0].lg.home, CPU(9)->lgrp);
    CHECK_EQ(pset_bind(&t[0], one), 0);
    CHECK_EQ(pset_assign(one->id, 2, false), 0);
    CHECK_EQ(pset_assign(PS_NONE, 9, false), 0); /* the last CPU that its home has in this set */
    CHECK_EQ(t[0].lg.home, CPU(2)->lgrp);
    settle();
}

/* A new thread gets the set and the binding that its creator has when it starts, not those at thread_prepare(). */
TEST(a_new_thread_follows_its_creator)
{
    struct cpupart *p;

    start(2, 1);
    p = pset_find(set_of(8, 9));
    CHECK_EQ(pset_bind(&t[0], p), 0);
    CHECK_EQ(thread_bind(&t[0], 9), 0);
    thread_follow(&t[1], &t[0]);
    CHECK(t[1].part == p);
    CHECK_EQ(t[1].bound_cpu, 9);
    settle();
}

/* ---- bindings ---- */

/* A CPU stays in its set while a thread is bound to it, and continues to work; `forced` unbinds the thread. */
TEST(a_bound_thread_holds_its_cpu)
{
    int id;

    start(THREADS, THREADS);
    id = pset_create();
    CHECK_EQ(thread_bind(&t[0], 5), 0);
    settle();
    CHECK(is_on(&t[0], 5) && t[0].lg.home == CPU(5)->lgrp);
    CHECK_EQ(pset_assign(id, 5, false), -EBUSY);
    CHECK_EQ(nsleeps, BOUND_TRIES);
    CHECK_EQ(pset_of_cpu(5), PS_NONE);
    settle();
    CHECK_EQ(disp_cpu_set_state(5, P_OFFLINE, false), -EBUSY);
    CHECK_EQ(nsleeps, 2 * BOUND_TRIES);
    CHECK_EQ(disp[5].state, P_ONLINE);
    settle();
    unbinds = &t[0]; /* before the call gives up */
    CHECK_EQ(pset_assign(id, 5, false), 0);
    CHECK_EQ(nsleeps, 2 * BOUND_TRIES + 1);
    settle();
    CHECK_EQ(thread_bind(&t[0], 6), 0);
    CHECK_EQ(pset_assign(id, 6, true), 0);
    CHECK_EQ(t[0].bound_cpu, -1);
    settle();
}

TEST(a_bound_thread_stays_in_its_set)
{
    struct cpupart *p;

    start(2, 2);
    p = pset_find(set_of(8, 9));
    CHECK_EQ(thread_bind(&t[0], 8), -EINVAL); /* a CPU of another set */
    CHECK_EQ(thread_bind(&t[0], 1), 0);
    CHECK_EQ(pset_bind(&t[0], p), -EBUSY);
    CHECK(t[0].part == &cpupart_default);
    CHECK_EQ(thread_bind(&t[0], -1), 0);
    CHECK_EQ(pset_bind(&t[0], p), 0);
    CHECK_EQ(thread_bind(&t[0], 8), 0);
    CHECK_EQ(pset_bind(&t[0], p), 0); /* where it already is */
    settle();
    CHECK(t[0].cpu == CPU(8));
}

/* ---- the end of a set ---- */

TEST(a_set_is_destroyed)
{
    struct cpupart *p;

    start(THREADS, THREADS);
    p = pset_find(set_of(2, 5));
    pset_stats_init();
    for (unsigned i = 0; i < THREADS; i += 2)
        CHECK_EQ(pset_bind(&t[i], p), 0);
    CHECK_EQ(disp_cpu_set_state(3, P_OFFLINE, false), P_ONLINE);
    CHECK_EQ(thread_bind(&t[4], 5), 0);
    settle();
    CHECK_EQ(pset_destroy(p->id), -EBUSY);
    CHECK_EQ(nsleeps, BOUND_TRIES);
    settle();
    unbinds = &t[4];
    CHECK_EQ(pset_destroy(p->id), 0);
    CHECK(!p->live && cpumask_empty(&p->cpus));
    CHECK_EQ(nkstats, 1); /* the one of the default set */
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(t[i].part == &cpupart_default);
    for (unsigned i = 0; i < CPUS; i++) /* also the off-line one */
        CHECK_EQ(pset_of_cpu(i), PS_NONE);
    settle();
    for (unsigned i = 0; i < CPUS; i++)
        CHECK_EQ(CPU(i)->idle, i == 3);
    CHECK_EQ(disp_cpu_set_state(3, P_ONLINE, false), P_OFFLINE);
    settle();
    CHECK(!CPU(3)->idle);
}

/* ---- states of CPUs ---- */

TEST(off_line_and_back)
{
    long since;
    uint32_t changes;

    start(THREADS, THREADS);
    changes = lgrp_generation;
    now_ns = 7000000000;
    CHECK_EQ(disp_cpu_set_state(5, P_OFFLINE, false), P_ONLINE);
    CHECK_EQ(disp_cpu_state(5, &since), P_OFFLINE);
    CHECK_EQ(since, 7);
    CHECK_EQ(disp_cpu_state(CPUS, NULL), -EINVAL);
    CHECK_EQ(lgrp_generation, changes + 1);
    settle();
    CHECK(CPU(5)->idle);
    CHECK_EQ(disp_cpu_set_state(5, P_OFFLINE, false), P_OFFLINE); /* no change */
    CHECK_EQ(lgrp_generation, changes + 1);
    CHECK_EQ(disp_cpu_set_state(5, P_NOINTR, false), P_OFFLINE);
    settle();
    CHECK(!CPU(5)->idle);
    CHECK_EQ(disp_cpu_state(5, NULL), P_NOINTR);
    CHECK_EQ(disp_cpu_set_state(5, P_ONLINE, false), P_NOINTR);
    settle();
}

/* One CPU must take interrupts. */
TEST(one_cpu_takes_interrupts)
{
    start(0, 0);
    for (unsigned i = 1; i < CPUS; i++)
        CHECK_EQ(disp_cpu_set_state(i, i % 2 ? P_NOINTR : P_OFFLINE, false), P_ONLINE);
    CHECK_EQ(disp_cpu_set_state(0, P_NOINTR, false), -EBUSY);
    CHECK_EQ(disp_cpu_set_state(0, P_OFFLINE, false), -EBUSY);
    CHECK_EQ(disp[0].state, P_ONLINE);
    CHECK_EQ(disp_cpu_set_state(1, P_ONLINE, false), P_NOINTR);
    CHECK_EQ(disp_cpu_set_state(0, P_NOINTR, false), P_ONLINE);
    check_sets();
}

/* A mask without an on-line CPU of the set is ignored, and is used again when such a CPU comes. */
TEST(affinities)
{
    struct cpumask m = {0}, allowed;

    start(THREADS, THREADS);
    cpumask_set(&m, 5);
    CHECK_EQ(thread_set_affinity(&t[0], &m), 0);
    settle();
    CHECK(is_on(&t[0], 5));
    CHECK_EQ(disp_cpu_set_state(5, P_OFFLINE, false), P_ONLINE);
    thread_get_affinity(&t[0], &allowed);
    CHECK_EQ(cpumask_weight(&allowed), CPUS - 1);
    settle();
    CHECK_EQ(thread_set_affinity(&t[1], &m), -EINVAL);
    CHECK_EQ(disp_cpu_set_state(5, P_ONLINE, false), P_OFFLINE);
    thread_get_affinity(&t[0], &allowed);
    CHECK(cpumask_weight(&allowed) == 1 && cpumask_test(&allowed, 5));
    settle();
    CHECK(is_on(&t[0], 5));
}

/* ---- counters ---- */

TEST(counters)
{
    struct cpupart *p;
    uint64_t v[64];

    start(THREADS, 0);
    pset_stats_init();
    p = pset_find(set_of(2, 5)); /* two CPUs each of boards 0 and 1 */
    for (unsigned i = 0; i < 10; i++)
        CHECK_EQ(pset_bind(&t[i], p), 0);
    p->nrunnable = 7;
    p->loadavg[2] = 9;
    CHECK(p->ks.nstat <= array_size(v));
    CHECK_STR(p->ks.names[0], "cpus");
    CHECK_STR(p->ks.names[6], "lgrp0 cpus");
    CHECK_STR(p->ks.names[p->ks.nstat - 1], "lgrp2 homes");
    p->ks.snapshot(&p->ks, v);
    CHECK_EQ(v[0], 4);
    CHECK_EQ(v[1], 7);
    CHECK_EQ(v[4], 9);
    for (unsigned g = 0, homes = 0; g < BOARDS; g++) {
        unsigned cpus_there = g == CPU(2)->lgrp || g == CPU(4)->lgrp ? 2 : 0;

        CHECK_EQ(v[6 + 3 * g], cpus_there);
        CHECK(v[7 + 3 * g] == 0 || cpus_there != 0);
        homes += (unsigned)v[8 + 3 * g];
        CHECK(g < BOARDS - 1 || homes == 10);
    }
    CHECK_EQ(pset_lgrp_cpus(CPU(2)->lgrp), EACH); /* of all sets */
    CHECK_EQ(disp_cpu_set_state(2, P_OFFLINE, false), P_ONLINE);
    CHECK_EQ(pset_lgrp_cpus(CPU(2)->lgrp), EACH - 1);
}

/* Each thread that runs or waits is counted where its CPU or queue is, and each thread where its home is. */
TEST(activity_of_lgroups)
{
    unsigned running = 0, waiting = 0, homed = 0;
    uint64_t dispatches = 0, home = 0, remote = 0;

    start(THREADS, THREADS);
    CHECK_EQ(pset_bind(&t[0], pset_find(set_of(2, 5))), 0);
    settle();
    for (unsigned g = 0; g < BOARDS; g++) {
        unsigned busy = 0;
        struct lgrp_activity a;

        pset_lgrp_activity(g, &a);
        for (unsigned i = 0; i < CPUS; i++)
            busy += CPU(i)->lgrp == g && !CPU(i)->idle;
        CHECK_EQ(a.running, busy);
        running += a.running;
        waiting += a.waiting;
        homed += a.homed;
        home += a.disp_home;
        remote += a.disp_remote;
    }
    for (unsigned i = 0; i < CPUS; i++)
        dispatches += CPU(i)->stat->disp_home + CPU(i)->stat->disp_remote;
    CHECK_EQ(running + waiting, THREADS);
    CHECK_EQ(homed, THREADS);
    CHECK_EQ(home + remote, dispatches);
    CHECK(home != 0);
}

/* ---- random changes ---- */

static void change_something(void)
{
    struct thread *th = &t[check_below(THREADS)];
    unsigned cpu = (unsigned)check_below(CPUS);
    int id = (int)check_below(5);
    struct cpumask m = {0};
    struct cpupart *p;
    bool forced = check_below(2) == 0;

    if (id == 0)
        id = PS_NONE;
    switch (check_below(9)) {
    case 0:
        if (cpupart_end < 5)
            (void)pset_create();
        break;
    case 1:
        if (check_below(8) == 0)
            (void)pset_destroy(id);
        break;
    case 2:
    case 3:
        (void)pset_assign(id, cpu, forced);
        break;
    case 4:
    case 5:
        p = pset_find(id);
        if (p != NULL && !cpumask_empty(&p->cpus))
            (void)pset_bind(th, p);
        break;
    case 6:
        (void)thread_bind(th, check_below(2) == 0 ? -1 : (int)cpu);
        break;
    case 7:
        if (curthread == &idle[cpu]) /* the idle thread makes no call, and so cannot stop its CPU */
            break;
        (void)disp_cpu_set_state(cpu,
                                 check_below(3) == 0 ? P_OFFLINE
                                 : check_below(2)    ? P_ONLINE
                                                     : P_NOINTR,
                                 forced);
        break;
    case 8:
        for (unsigned k = 1 + (unsigned)check_below(CPUS); k > 0; k--)
            cpumask_set(&m, (unsigned)check_below(CPUS));
        /* otherwise an idle CPU may overlook a thread that waits behind it */
        if (th->pri < PRI_RT)
            (void)thread_set_affinity(th, &m);
        break;
    }
}

/* Random changes from random CPUs, while threads run, sleep and wake up. */
TEST(whatever_is_changed)
{
    start(THREADS, THREADS / 2);
    for (unsigned i = 0; i < THREADS; i++)
        disp_set_pri(&t[i], i % 7 == 0 ? PRI_RT + (int)i : 20 + (int)i % 3 * 10);
    for (unsigned step = 0; step < 20000; step++) {
        unsigned id = (unsigned)check_below(CPUS);
        struct thread *th = &t[check_below(THREADS)];

        lbolt += check_below(3) == 0;
        if (th->state == TS_SLEEP && check_below(2) == 0) {
            wake(th, id);
        } else if (CPU(id)->thread != &idle[id] && check_below(2) == 0) {
            block(id);
        } else {
            on(id);
            change_something();
            check_sets();
        }
        if (check_below(3) == 0)
            settle();
    }
}
