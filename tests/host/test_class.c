// SPDX-License-Identifier: MIT
/*
 * test_class.c - the arithmetic of the scheduling classes.
 */
#include "tests/host/check.h"
#include "tests/host/machine.h"

#include <stdlib.h>
#include <string.h>

#include "disp/disp.h"
#include "lib/errno.h"
#include "stat/panic.h"

enum { MS = 1000, SLICE_MS = 110 }; /* cycles of the test's clock */

static struct cpu cpu0;
static struct thread t[12];
static struct fss user[3];

struct cpu *cpus[CPU_MAX];
unsigned ncpu = 1;
struct list all_threads = LIST_INIT(all_threads);
unsigned all_threads_count;
struct spinlock all_threads_lock = SPINLOCK_INIT(RANK_VM_TLB);
_Atomic uint64_t lbolt = 1000;

void panic(const char *fmt, ...)
{
    fprintf(stderr, "panic: %s\n", fmt);
    abort();
}

uint64_t clock_tsc_per_ms(void)
{
    return MS;
}

void disp_set_pri(struct thread *th, int pri)
{
    th->pri = (int16_t)pri;
}

static unsigned evaded;

void disp_requeue_behind_rt(struct thread *th)
{
    evaded |= 1u << (th - t);
}

/* Empties the list of all threads, which has these n. */
static void forget_all(struct thread *th, unsigned n)
{
    list_init(&all_threads);
    all_threads_count = 0;
    while (n-- != 0)
        class_forget_thread_locked(th++);
}

/* t[0], t[1], ... are new threads of class `cls`. */
static void start(enum sched_class cls)
{
    static const struct machine_ops none;

    cpu0 = (struct cpu){.self = &cpu0};
    machine_start(&cpu0, &none);
    forget_all(t, array_size(t));
    memset(t, 0, sizeof t);
    memset(user, 0, sizeof user);
    for (unsigned i = 0; i < array_size(user); i++)
        user[i].shares = FSS_SHARES;
    for (unsigned i = 0; i < array_size(t); i++) {
        spin_init(&t[i].lock, RANK_THREAD);
        t[i].inherit_pri = -1;
        class_init_thread(&t[i], NULL);
        CHECK_EQ(t[i].pri, PRI_SYS);
        thread_set_fss(&t[i], &user[i % array_size(user)]);
        CHECK_EQ(thread_set_class(&t[i], cls, 0, false), 0);
        list_push_back(&all_threads, &t[i].all_link);
        all_threads_count++;
    }
}

TEST(ranges)
{
    static const struct {
        enum sched_class cls;
        int lo, hi, at_lo, at_hi;
    } row[] = {{CLASS_TS, -60, 60, 0, 59},
               {CLASS_IA, -60, 60, 0, 59},
               {CLASS_FX, 0, 60, 0, 60},
               {CLASS_FSS, -60, 60, 1, 59},
               {CLASS_RT, 0, 98, 100, 198}};

    start(CLASS_TS);
    for (unsigned i = 0; i < array_size(row); i++) {
        CHECK_EQ(thread_set_class(&t[0], row[i].cls, row[i].lo, false), 0);
        CHECK_EQ(t[0].pri, row[i].at_lo);
        CHECK_EQ(thread_set_class(&t[0], row[i].cls, row[i].hi, false), 0);
        CHECK_EQ(t[0].pri, row[i].at_hi);
        CHECK_EQ(thread_set_class(&t[0], row[i].cls, row[i].lo - 1, false), -EINVAL);
        CHECK_EQ(thread_set_class(&t[0], row[i].cls, row[i].hi + 1, false), -EINVAL);
    }
    CHECK_EQ(thread_set_class(&t[0], CLASS_SYS, 0, false), -EINVAL);
}

/* Solaris's 60 priorities of class RT stay distinct, are returned as they were set, and reach both ends. */
TEST(real_time_of_solaris)
{
    for (int p = 0; p <= 59; p++) {
        CHECK_EQ(class_rt_to_solaris(class_rt_from_solaris(p)), p);
        CHECK(p == 0 || class_rt_from_solaris(p) > class_rt_from_solaris(p - 1));
    }
    CHECK_EQ(class_rt_from_solaris(0), 0);
    CHECK_EQ(class_rt_from_solaris(59), RT_LEVELS - 1);
}

/*
 * A thread that waits in the kernel and is not lifted by its class has priority over all programs until it returns to
 * user mode.
 */
TEST(lifted_out_of_the_kernel)
{
    enum { LOW, NORMAL, KERNEL, YOUNG };

    start(CLASS_TS);
    for (unsigned i = 0; i <= YOUNG; i++) {
        t[i].state = TS_RUNNABLE;
        t[i].last_ran = i == YOUNG ? lbolt : lbolt - 2 * HZ;
        t[i].lwp = i == KERNEL ? NULL : (struct lwp *)&t[i];
        if (i != NORMAL)
            CHECK_EQ(thread_set_class(&t[i], CLASS_TS, -60, false), 0);
    }
    class_tick(true);
    CHECK_EQ(t[LOW].pri, PRI_SYS);
    CHECK(t[LOW].ast & AST_LIFTED);
    CHECK_EQ(t[NORMAL].pri, 52); /* its class has lifted it */
    CHECK_EQ(t[KERNEL].pri, 0);
    CHECK_EQ(t[YOUNG].pri, 0);
    class_lifted(&t[LOW]);
    CHECK_EQ(t[LOW].pri, 0);
    CHECK(!(t[LOW].ast & AST_LIFTED));
}

TEST(time_sharing)
{
    uint64_t slice = 0;

    start(CLASS_TS);
    CHECK_EQ(t[0].pri, 29);
    /* it computes: each time a lower priority and a longer slice */
    for (unsigned i = 0; i < 7; i++) {
        CHECK(class_quantum(&t[0]) >= slice);
        slice = class_quantum(&t[0]);
        class_quantum_expired(&t[0]);
    }
    CHECK_EQ(t[0].pri, 0);
    CHECK_EQ(slice, 200 * MS);
    class_slept(&t[0]);
    CHECK_EQ(t[0].pri, 50);
    CHECK_EQ(class_quantum(&t[0]), 40 * MS);
    class_slept(&t[0]);
    CHECK_EQ(t[0].pri, 58);
    thread_set_nice(&t[0], 10);
    CHECK_EQ(t[0].pri, 28);
    CHECK_EQ(class_quantum(&t[0]), 120 * MS); /* from its present level, with its nice value */
    thread_set_nice(&t[0], -20);
    CHECK_EQ(t[0].pri, PRI_USER_MAX);
    class_yield(&t[1]);
    CHECK_EQ(t[1].pri, 28);
}

/*
 * A thread that has neither used up a slice nor slept for a second is lifted, also on a CPU, but not while it sleeps.
 */
TEST(a_second_lifts)
{
    evaded = 0;
    start(CLASS_TS);
    for (unsigned i = 0; i < 4; i++)
        class_quantum_expired(&t[i]);
    t[0].state = t[1].state = TS_RUNNABLE;
    t[2].state = TS_ONPROC;
    t[3].state = TS_SLEEP;
    t[0].last_ran = lbolt - 101;
    t[1].last_ran = lbolt - 100;
    class_tick(true);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(t[i].pri, 51);
    CHECK_EQ(t[3].pri, 19);
    CHECK_EQ(evaded, 1); /* only thread 0 has waited for more than a second */
    class_tick(true);    /* they still wait: others there sleep, and return at more than 51 */
    CHECK_EQ(t[0].pri, 59);
    for (unsigned i = 0; i < 10; i++)
        class_tick(true);
    CHECK_EQ(t[0].pri, 59);
    CHECK_EQ(t[0].ts_dispwait, 10); /* the highest level waits for a long time */
    class_quantum_expired(&t[0]);
    CHECK_EQ(t[0].pri, 49);
    CHECK_EQ(t[0].ts_dispwait, 0);
}

/* Thousands of threads age some at each tick, and each once in a second. */
TEST(ageing_takes_several_ticks)
{
    enum { MANY = 1000 };
    static struct thread many[MANY];
    unsigned aged = 0, before = 0;

    start(CLASS_TS);
    list_init(&all_threads);
    for (unsigned i = 0; i < MANY; i++) {
        many[i] = t[0];
        many[i].ts_dispwait = 0;
        many[i].ts_level = many[i].base_pri = PRI_USER_MAX; /* this level waits for a long time */
        many[i].state = TS_RUNNABLE;
        many[i].last_ran = lbolt;
        list_push_back(&all_threads, &many[i].all_link);
    }
    all_threads_count = MANY;
    for (unsigned tick = 0; tick < HZ; tick++) {
        class_tick(tick == 0);
        aged = 0;
        for (unsigned i = 0; i < MANY; i++) {
            CHECK(many[i].ts_dispwait <= 1);
            aged += many[i].ts_dispwait;
        }
        CHECK(aged - before <= 128);
        before = aged;
    }
    CHECK_EQ(aged, MANY);
}

/* The table: computing leads down to level 0, waiting up to 59, and slices are longer at lower levels. */
TEST(table_of_time_sharing)
{
    for (int i = 0; i <= PRI_USER_MAX; i++) {
        const struct ts_dpent *e = &ts_dptbl[i];

        CHECK_EQ(e->tqexp, i < 10 ? 0 : i - 10);
        CHECK(e->slpret >= 50 && e->slpret <= PRI_USER_MAX && e->lwait >= e->slpret);
        CHECK_EQ(e->maxwait, i < PRI_USER_MAX ? 0 : 32000);
        CHECK(i == 0 || (e->quantum <= e[-1].quantum && e->slpret >= e[-1].slpret &&
                         e->lwait >= e[-1].lwait));
    }
    CHECK_EQ(ts_dptbl[0].quantum, 200);
    CHECK_EQ(ts_dptbl[49].lwait, PRI_USER_MAX);
    CHECK_EQ(ts_dptbl[PRI_USER_MAX].quantum, 20);
}

TEST(children_inherit)
{
    start(CLASS_TS);
    thread_set_nice(&t[0], 5);
    class_quantum_expired(&t[0]);
    class_init_thread(&t[1], &t[0]);
    CHECK_EQ(t[1].pri, t[0].pri);
    CHECK_EQ(t[1].upri, -15);
    thread_set_class(&t[0], CLASS_RT, 7, false);
    class_init_thread(&t[2], &t[0]);
    CHECK_EQ(t[2].pri, 107);
}

/* A sleep that is shorter than the used part of the slice changes nothing. */
TEST(short_sleeps_are_none)
{
    start(CLASS_TS);
    class_quantum_expired(&t[0]);
    CHECK_EQ(t[0].pri, 19);
    t[0].slice_left = 7;
    t[0].slice_whole = UINT64_MAX / 2;
    class_slept(&t[0]);
    CHECK_EQ(t[0].pri, 19);
    CHECK_EQ(t[0].slice_left, 7);
    t[0].slice_whole = 7; /* no part of it was used */
    class_slept(&t[0]);
    CHECK(t[0].pri > 50);
    CHECK_EQ(t[0].slice_left, 0);
}

TEST(fixed_stay)
{
    start(CLASS_FX);
    thread_set_class(&t[0], CLASS_FX, 33, false);
    class_quantum_expired(&t[0]);
    class_slept(&t[0]);
    class_yield(&t[0]);
    thread_set_nice(&t[0], 19);
    class_charge(&t[0], 5000 * MS);
    class_tick(true);
    class_fss_update(true);
    CHECK_EQ(t[0].pri, 33);
}

TEST(lent_priority)
{
    start(CLASS_TS);
    thread_inherit(&t[0], 120);
    CHECK_EQ(t[0].pri, 120);
    class_quantum_expired(&t[0]);
    CHECK_EQ(t[0].pri, 120);
    thread_inherit(&t[0], -1);
    CHECK_EQ(t[0].pri, 19);
}

/*
 * Simulates `ncpus` CPUs for `seconds`, which run the most important of the first n threads in slices of `ms`.  ran[]:
 * the time of each user, in milliseconds.
 */
static void compute(unsigned ncpus, unsigned n, unsigned seconds, unsigned ms, unsigned ran[])
{
    uint64_t begin = lbolt, tenth = 0;
    unsigned last = 0;

    memset(ran, 0, array_size(user) * sizeof *ran);
    for (unsigned now = 0; now < seconds * 1000; now += ms) {
        bool runs[array_size(t)] = {false};

        for (unsigned c = 0; c < ncpus; c++) {
            unsigned best = n;

            for (unsigned k = 1; k <= n; k++)
                if (!runs[(last + k) % n] && (best == n || t[(last + k) % n].pri > t[best].pri))
                    best = (last + k) % n;
            last = best;
            runs[best] = true;
        }
        for (unsigned i = 0; i < n; i++)
            if (runs[i]) {
                ran[t[i].fss - user] += ms;
                class_charge(&t[i], (uint64_t)ms * MS);
                class_quantum_expired(&t[i]);
            }
        lbolt = begin + now / 10;
        for (; tenth <= now / 100; tenth++)
            class_fss_update(true);
    }
}

TEST(fair_shares)
{
    unsigned ran[3];

    start(CLASS_FSS);
    user[0].shares = 10;
    user[1].shares = 30;
    user[2].shares = 60;
    compute(1, 3, 100, SLICE_MS, ran);
    CHECK_NEAR(ran[0], 10000, 1500);
    CHECK_NEAR(ran[1], 30000, 2500);
    CHECK_NEAR(ran[2], 60000, 4000);
}

TEST(fair_shares_of_short_runs)
{
    unsigned ran[3];

    start(CLASS_FSS);
    user[1].shares = 3;
    compute(1, 2, 100, 1, ran); /* each thread releases the CPU after 1 ms */
    CHECK_NEAR(ran[0], 25000, 3000);
    CHECK_NEAR(ran[1], 75000, 3000);
}

/* A user's share is that of all his threads together, on any number of CPUs. */
TEST(many_threads_are_one_share)
{
    unsigned ran[3];

    for (unsigned ncpus = 1; ncpus <= 4; ncpus *= 2) {
        start(CLASS_FSS);
        for (unsigned i = 0; i < array_size(t); i++) /* 8 threads against 4 */
            thread_set_fss(&t[i], &user[i < 8 ? 0 : 1]);
        compute(ncpus, array_size(t), 100, SLICE_MS, ran);
        CHECK_NEAR(ran[0], 50000 * ncpus, 4000 * ncpus);
        user[1].shares = 3;
        compute(ncpus, array_size(t), 100, SLICE_MS, ran);
        CHECK_NEAR(ran[1], 75000 * ncpus, 5000 * ncpus);
    }
    start(CLASS_FSS);
    for (unsigned i = 0; i < array_size(t); i++) /* 11 threads against 1 */
        thread_set_fss(&t[i], &user[i < 11 ? 0 : 1]);
    compute(1, array_size(t), 100, SLICE_MS, ran);
    CHECK_NEAR(ran[0], 50000, 4000);
}

TEST(usage_does_not_wrap)
{
    start(CLASS_FSS);
    for (unsigned i = 0; i < 100; i++)
        class_charge(&t[0], 3600ull * 1000 * MS);
    CHECK_EQ(t[0].pri, 1);
    for (unsigned i = 0; i < 600; i++) {
        lbolt += HZ / 10;
        class_fss_update(true);
    }
    CHECK(t[0].pri >= 58);
}

/* Of a thousand threads the clock looks at 128 in one tick, so that interrupts are not off for long. */
TEST(shares_of_many_threads)
{
    enum { MANY = 1000, AT_ONCE = 128 };
    static struct thread many[MANY];
    unsigned done = 0, ticks = 0;

    start(CLASS_FSS);
    forget_all(t, array_size(t));
    for (unsigned i = 0; i < MANY; i++) {
        spin_init(&many[i].lock, RANK_THREAD);
        many[i].inherit_pri = -1;
        class_init_thread(&many[i], &t[0]);
        list_push_back(&all_threads, &many[i].all_link);
    }
    all_threads_count = MANY;
    class_charge(&many[0], 1000 * MS);
    for (unsigned i = 0; i < MANY; i++)
        many[i].pri = -1; /* until the clock computes it */
    class_fss_update(false);
    CHECK_EQ(many[0].pri, -1); /* no pass has begun */
    for (bool begin = true; done < MANY - 1; begin = false, ticks++) {
        unsigned before = done;

        class_fss_update(begin);
        class_tick(ticks == 3); /* turns the list */
        done = 0;
        for (unsigned i = 0; i < MANY; i++)
            done += many[i].pri != -1;
        CHECK(done - before <= AT_ONCE);
        if (ticks == 2) { /* the thread that is next ends */
            struct thread *next = &many[done];

            CHECK_EQ(next->pri, -1);
            class_forget_thread_locked(next);
            list_remove(&next->all_link);
            all_threads_count--;
        }
        CHECK(ticks < MANY);
    }
    CHECK_EQ(ticks, (MANY + AT_ONCE - 1) / AT_ONCE);
    forget_all(many, MANY);
}
