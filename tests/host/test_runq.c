// SPDX-License-Identifier: MIT
/* test_runq.c - the run queues, on the processors of dispmachine.c: CPUs come when the test says so. */
#include "tests/host/check.h"
#include "tests/host/dispmachine.h"

#include <string.h>

enum { THREADS = 40 };

struct cpupart cpupart_default;

bool disp_cpu_online(const struct cpu *c)
{
    return true;
}

static void start(void)
{
    start_as(BOARDS, EACH);
}

/* ---- tests ---- */

/*
 * Two threads wake on one CPU, which is late.  A CPU of another board leaves the second thread to the home CPU that was
 * poked.
 */
TEST(who_happens_to_look_leaves_it_to_home)
{
    start();
    wake(sleeper(0, 0, 0), 0);
    wake(sleeper(1, 0, 0), 0);
    CHECK(t[1].queued_on == &disp[0].q && poked[1]);
    CHECK(come(EACH) == &idle[EACH]);
    wake(sleeper(2, 1, EACH + 1), EACH); /* nor does a CPU whose thread goes to sleep */
    CHECK(come(EACH + 1) == &t[2]);
    CHECK(block(EACH + 1) == &idle[EACH + 1]);
    CHECK(come(1) == &t[0]);
    CHECK(come(0) == &t[1]);
}

/* The home is full: the poked CPU of another board takes the thread. */
TEST(a_full_home_is_left)
{
    start();
    for (unsigned i = 0; i < EACH; i++) {
        wake(sleeper(i, 0, i), i);
        CHECK(come(i) == &t[i]);
    }
    wake(sleeper(EACH, 0, 0), 0);
    CHECK(poked[EACH]);
    CHECK(come(EACH) == &t[EACH]);
    CHECK_EQ(t[EACH].n_remote, 1);
}

/* A CPU that was poked to steal gets a thread of its own before it comes: the next CPU is poked. */
TEST(who_was_called_and_gets_another)
{
    start();
    wake(sleeper(0, 0, 0), 0);
    CHECK(come(0) == &t[0]);
    wake(sleeper(1, 0, 0), 0);
    CHECK(poked[1]);
    wake(sleeper(2, 0, 1), 5);
    CHECK(t[2].queued_on == &disp[1].q && poked[2]);
    CHECK(come(1) == &t[2]);
    CHECK(come(2) == &t[1]);
}

/* A thread that has just run on a busy CPU waits there for a moment; a new thread looks for another CPU at once. */
TEST(a_new_thread_looks_for_a_cpu)
{
    start();
    wake(sleeper(0, 0, 0), 0);
    CHECK(come(0) == &t[0]);
    wake(sleeper(1, 0, 0), 0);
    CHECK(t[1].queued_on == &disp[0].q);
    on(0);
    sleeper(2, 0, 0)->state = TS_RUNNABLE;
    disp_enqueue(&t[2], QUEUE_NEW);
    CHECK(t[2].queued_on != &disp[0].q && t[2].queued_on->cpu->idle);
}

/* A kernel thread, which does not return to a program, is interrupted when it wakes a more important thread. */
TEST(a_kernel_thread_gives_way)
{
    start();
    t[0].lwp = NULL;
    t[1].bound_cpu = t[2].bound_cpu = 0;
    t[1].pri = 29;
    t[2].pri = 31;
    wake(sleeper(0, 0, 0), 0);
    CHECK(come(0) == &t[0]);
    wake(&t[1], 0);
    CHECK(!poked[0]);
    wake(&t[2], 0);
    CHECK(poked[0]);
    CHECK(come(0) == &t[2]);
}

/* Whatever happens, once the poked CPUs have come, no thread waits that an idle CPU may run. */
TEST(nobody_waits_for_nothing)
{
    start();
    for (unsigned i = 0; i < THREADS; i++) {
        t[i].pri = (int16_t)(20 + check_below(3) * 10);
        t[i].bound_cpu = i % 8 == 0 ? (int)check_below(CPUS) : -1;
        sleeper(i, i % BOARDS, (unsigned)check_below(CPUS));
    }
    for (unsigned step = 0; step < 4000; step++) {
        unsigned some = (unsigned)check_below(8);

        for (unsigned k = 0; k < some; k++) {
            struct thread *th = &t[check_below(THREADS)];
            unsigned id = (unsigned)check_below(CPUS);

            lbolt += check_below(3) == 0;
            if (th->state == TS_SLEEP && check_below(3) != 0)
                wake(th, id);
            else if (CPU(id)->thread != &idle[id])
                block(id);
            else if (check_below(2) == 0)
                come(id);
        }
        poked_come((unsigned)check_below(CPUS));
        for (unsigned i = 0; i < THREADS; i++)
            for (unsigned id = 0; id < CPUS && t[i].queued_on != NULL; id++)
                CHECK(!CPU(id)->idle || !disp_may_run(&t[i], CPU(id)));
    }
}

/* ---- real time ---- */

static struct thread *rt_sleeper(unsigned i, int pri, unsigned last)
{
    sleeper(i, 0, last)->pri = (int16_t)pri;
    return &t[i];
}

/* All CPUs run time-sharing threads. */
static void start_busy(void)
{
    start();
    for (unsigned i = 0; i < CPUS; i++) {
        wake(sleeper(i, i / EACH, i), i);
        CHECK(come(i) == &t[i]);
    }
}

/*
 * Threads that last ran on one CPU each get a CPU, although no CPU has come when the last one wakes; one more thread
 * waits.
 */
TEST(each_real_time_thread_gets_a_cpu)
{
    start_busy();
    for (unsigned i = CPUS; i < 2 * CPUS; i++)
        wake(rt_sleeper(i, 120, 0), 0);
    for (unsigned id = 0; id < CPUS; id++) {
        CHECK(poked[id]);
        CHECK_EQ(come(id)->pri, 120);
    }
    wake(rt_sleeper(2 * CPUS, 120, 0), 0);
    for (unsigned id = 0; id < CPUS; id++)
        CHECK(!poked[id]);
    CHECK(block(7) == &t[2 * CPUS]);
}

/* One level makes a difference, at both ends of the range. */
TEST(levels_are_an_order)
{
    start_busy();
    for (unsigned i = CPUS; i < 2 * CPUS; i++)
        wake(rt_sleeper(i, 197, 0), 0);
    for (unsigned id = 0; id < CPUS; id++)
        come(id);
    wake(rt_sleeper(2 * CPUS, 100, 3), 3);
    wake(rt_sleeper(2 * CPUS + 1, 101, 3), 3);
    CHECK(block(3) == &t[2 * CPUS + 1]);
    wake(rt_sleeper(2 * CPUS + 2, 198, 3), 3);
    CHECK(come(3) == &t[2 * CPUS + 2]);
    CHECK(block(3) == &t[2 * CPUS + 1]);
    CHECK(block(3) == &t[2 * CPUS]);
}

/* The poked CPU has become more important before it comes: it must find another CPU. */
TEST(a_promise_that_is_not_kept)
{
    start_busy();
    wake(rt_sleeper(CPUS, 120, 5), 0);
    CHECK(poked[5]);
    t[CPUS + 1].bound_cpu = 5;
    wake(rt_sleeper(CPUS + 1, 150, 5), 0);
    CHECK(come(5) == &t[CPUS + 1]);
    for (unsigned id = 0; id < CPUS; id++)
        if (poked[id])
            come(id);
    CHECK(t[CPUS].state == TS_ONPROC);
    on(0);
    /* lent: it waits on the queue of CPU 5, and moves to that of the set */
    disp_set_pri(&t[5], 130);
    CHECK(t[5].queued_on == &cpupart_default.rt);
    for (unsigned id = 0; id < CPUS; id++)
        if (poked[id])
            come(id);
    CHECK(t[5].state == TS_ONPROC);
}

/*
 * A thread that waits for a real-time thread moves to a CPU without one.  A thread that waits for another thread, or is
 * bound, stays.
 */
TEST(behind_real_time)
{
    start_busy();
    wake(rt_sleeper(CPUS, 120, 5), 0);
    CHECK(come(5) == &t[CPUS]); /* t[5] waits now */
    CHECK(t[5].queued_on == &disp[5].q);
    lbolt += 100;
    t[CPUS + 1].bound_cpu = 5;
    wake(sleeper(CPUS + 1, 5 / EACH, 5), 0);
    disp_requeue_behind_rt(&t[CPUS + 1]);
    CHECK(t[CPUS + 1].queued_on == &disp[5].q);
    disp_requeue_behind_rt(&t[5]);
    CHECK(t[5].queued_on != NULL && t[5].queued_on != &disp[5].q);
    CHECK(t[5].queued_on->cpu->disp->runpri < PRI_RT);
    struct disp_queue *there = t[5].queued_on;
    disp_requeue_behind_rt(&t[5]);
    CHECK(t[5].queued_on == there);
}

static void check_real_time(void)
{
    unsigned active = cpupart_default.rt.nrun;

    for (unsigned id = 0; id < CPUS; id++)
        active += disp[id].promised >= 0;
    CHECK_EQ(disp_rt_active, active);
    for (unsigned i = 0; i < THREADS; i++)
        if (t[i].queued_on == &cpupart_default.rt) {
            CHECK(t[i].pri >= PRI_RT && t[i].bound_cpu < 0);
            for (unsigned id = 0; id < CPUS; id++)
                CHECK(!disp_may_run(&t[i], CPU(id)) || disp[id].runpri >= t[i].pri);
        } else if (t[i].queued_on != NULL) {
            CHECK(t[i].pri < PRI_RT || t[i].bound_cpu >= 0);
        }
}

/* I5, whatever happens: wake-ups, ends, bindings, affinities, changed priorities, late CPUs. */
TEST(no_real_time_thread_waits_for_less)
{
    start();
    for (unsigned i = 0; i < THREADS; i++) {
        rt_sleeper(i, check_below(2) ? 100 + (int)check_below(5) * 24 : 30,
                   (unsigned)check_below(CPUS));
        t[i].bound_cpu = i % 8 == 0 ? (int)check_below(CPUS) : -1;
        t[i].restricted = i % 3 == 0;
        for (unsigned k = 0; k < 5; k++)
            cpumask_set(&t[i].affinity, (unsigned)check_below(CPUS));
    }
    for (unsigned step = 0; step < 4000; step++) {
        for (unsigned k = (unsigned)check_below(8); k > 0; k--) {
            struct thread *th = &t[check_below(THREADS)];
            unsigned id = (unsigned)check_below(CPUS);

            on(id);
            if (th->state == TS_SLEEP && check_below(3) != 0)
                wake(th, id);
            else if (check_below(4) == 0)
                disp_set_pri(th, check_below(2) ? 100 + (int)check_below(99) : 30);
            else if (CPU(id)->thread != &idle[id])
                block(id);
            else if (check_below(2) == 0)
                come(id);
        }
        poked_come((unsigned)check_below(CPUS));
        check_real_time();
    }
}

/* ---- equal shares ---- */

static unsigned ran[THREADS_MAX]; /* milliseconds */
/* the millisecond at which the thread on each CPU has used up its slice */
static unsigned slice_end[CPUS];
static unsigned now;

/* CPU `id` has changed to another thread, or not; `was` ran before, until `end`. */
static void begin_slice(unsigned id, struct thread *was, unsigned end)
{
    struct thread *th = CPU(id)->thread;

    if (th == was)
        return;
    was->slice_left = was->state == TS_RUNNABLE && end > now ? end - now : 0;
    slice_end[id] = now + (unsigned)min_of(th->slice_left != 0 ? th->slice_left : UINT64_MAX,
                                           class_quantum(th));
}

/* The slice of CPU `id` is over: does what disp_preempt() of disp/preempt.c does. */
static void expire(unsigned id)
{
    struct thread *was = CPU(id)->thread, *next;

    on(id);
    class_quantum_expired(was);
    slice_end[id] = now + (unsigned)class_quantum(was);
    next = disp_balance(CPU(id), was);
    if (next == NULL)
        next = disp_next_above(CPU(id), was->pri);
    if (next != NULL) {
        was->state = TS_RUNNABLE;
        run(next);
        begin_slice(id, was, slice_end[id]);
        disp_enqueue(was, QUEUE_AGAIN);
    }
}

/* All poked CPUs come. */
static void all_come(void)
{
    for (bool any = true; any;) {
        any = false;
        for (unsigned id = 0; id < ncpu; id++) {
            struct thread *was = CPU(id)->thread;

            if (!poked[id] && was->ast == 0)
                continue;
            come(id);
            begin_slice(id, was, slice_end[id]);
            any = true;
        }
    }
}

/*
 * n threads compute on `ncpus` CPUs of one board for `ms`; `interrupted` others, bound to CPU 0, run for a millisecond
 * in every five.  Returns the smallest share of the n threads, in hundredths of the mean.
 */
static unsigned compute(unsigned ncpus, unsigned n, unsigned interrupted, unsigned ms)
{
    enum { WARM_UP_MS = 500 };
    unsigned least = UINT32_MAX, sum = 0;

    start_as(1, ncpus);
    memset(ran, 0, sizeof ran);
    now = 0;
    for (unsigned i = 0; i < n + interrupted; i++) {
        spin_init(&t[i].lock, RANK_THREAD);
        t[i].inherit_pri = -1;
        t[i].cls = CLASS_TS;
        t[i].ts_level = 29;
        t[i].bound_cpu = i < n ? -1 : 0;
        class_recompute(&t[i]);
        list_push_back(&all_threads, &t[i].all_link);
        all_threads_count++;
        if (i < n)
            wake(&t[i], 0);
        all_come();
    }
    for (; now < WARM_UP_MS + ms; now++) {
        if (now == WARM_UP_MS)
            memset(ran, 0, sizeof ran);
        if (now % 1000 == 999)
            class_tick(true);
        for (unsigned i = n; i < n + interrupted && now % 5 == 0; i++)
            if (t[i].state == TS_SLEEP) {
                class_slept(&t[i]);
                wake(&t[i], 0);
            }
        all_come();
        for (unsigned id = 0; id < ncpus; id++) {
            struct thread *was = CPU(id)->thread;

            if (was == &idle[id])
                continue;
            ran[was - t]++;
            was->runtime_tsc++;
            if (was - t >= n) {
                block(id);
                begin_slice(id, was, slice_end[id]);
            } else if (now + 1 >= slice_end[id]) {
                expire(id);
            }
        }
        lbolt += now % 10 == 9;
    }
    for (unsigned i = 0; i < n; i++) {
        least = min_of(least, ran[i]);
        sum += ran[i];
    }
    return least * 100 * n / sum;
}

/*
 * For any number of computing threads, also one that is no multiple of the number of CPUs, all get about the same time.
 */
TEST(equal_shares)
{
    static const struct {
        unsigned cpus, threads;
    } row[] = {{2, 3}, {2, 4}, {2, 5}, {2, 8},  {2, 12}, {2, 24},
               {4, 5}, {4, 7}, {8, 9}, {8, 16}, {8, 32}, {8, 100}};

    for (unsigned i = 0; i < array_size(row); i++) {
        unsigned least = compute(row[i].cpus, row[i].threads, 0, 8000);

        if (least < 85)
            check_fail(__FILE__, __LINE__, "%u threads on %u CPUs: one has %u %% of the mean",
                       row[i].threads, row[i].cpus, least);
    }
}

/* A thread that is interrupted again and again still uses up its slices, and gets no more than the others. */
TEST(equal_shares_beside_one_that_sleeps)
{
    for (unsigned n = 3; n <= 24; n++) {
        unsigned least = compute(2, n, 1, 8000);

        if (least < 80) /* 68 without balancing */
            check_fail(__FILE__, __LINE__, "%u threads: one has %u %% of the mean", n, least);
    }
}

/* Thread i waits on CPU `id`, with its home on `board`; it may be taken from there. */
static void waits_on(unsigned i, unsigned board, unsigned id, int pri)
{
    sleeper(i, board, id)->pri = (int16_t)pri;
    t[i].bound_cpu = (int)id;
    wake(&t[i], id);
    CHECK(disp_dequeue(&t[i]));
    t[i].bound_cpu = -1;
    t[i].restricted = true;
    cpumask_set(&t[i].affinity, id);
    disp_enqueue(&t[i], QUEUE_AGAIN);
    t[i].restricted = false;
    CHECK(t[i].queued_on == &disp[id].q);
}

/*
 * Balancing does not move a thread that is bound, has its home elsewhere, is less important, or has run as much; and it
 * does not act every time.
 */
TEST(balance_takes_only_what_it_may)
{
    start_as(2, EACH);
    for (unsigned i = 0; i < 3; i++) { /* each CPU is busy, and one more thread waits on CPU 0 */
        t[i].bound_cpu = (int)i % 2;
        wake(sleeper(i, 0, i % 2), i % 2);
        all_come();
    }
    on(1);
    lbolt += 100;
    CHECK(disp_balance(CPU(1), &t[1]) == NULL); /* it is bound */
    waits_on(3, 1, 0, 30);
    on(1);
    CHECK(disp_balance(CPU(1), &t[1]) == NULL); /* its home is on the other board */
    waits_on(4, 0, 0, 29);
    on(1);
    CHECK(disp_balance(CPU(1), &t[1]) == NULL); /* less important */
    waits_on(5, 0, 0, 30);
    waits_on(6, 0, 0, 30);
    t[5].lately_tsc = 800;
    t[6].lately_tsc = 700;
    on(1);
    CHECK(disp_balance(CPU(1), &t[1]) == &t[6]); /* it has run less */
    CHECK(disp_balance(CPU(1), &t[1]) == NULL);  /* too soon */
    lbolt += 100;
    for (unsigned i = 7; i < 10; i++) {
        t[i].bound_cpu = 1;
        wake(sleeper(i, 0, 1), 1);
    }
    on(1);
    t[1].lately_tsc = 800;
    CHECK_EQ(disp[0].nsteal, disp[1].q.nrun);
    CHECK(disp_balance(CPU(1), &t[1]) == NULL); /* as many wait here, and have run about as long */
    t[1].lately_tsc = 1000;
    CHECK(disp_balance(CPU(1), &t[1]) == &t[5]);
}
