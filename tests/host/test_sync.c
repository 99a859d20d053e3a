// SPDX-License-Identifier: MIT
/*
 * test_sync.c - the locks that sleep (disp/sync.c), with threads that switch at any atomic operation.
 *
 * THEORY      Each thread is a coroutine on a CPU of its own.  A random number decides at each atomic operation and
 *             each pause whether another thread goes on; so the order of the steps depends on the seed alone.  A
 *             thread that was woken up is runnable for a while before it runs, and one that runs may be preempted.
 */
#include "disp/sync.h"

#include <string.h>
#include <ucontext.h>

#include "disp/disp.h"
#include "stat/cpustat.h"
#include "tests/host/check.h"
#include "tests/host/machine.h"

enum { THREADS = 6, STACK = 256 << 10, STEPS_MAX = 400000 };

struct cpu *cpus[CPU_MAX];
unsigned ncpu = THREADS;
uint32_t trace_enable;
bool spin_threads_run = true;

static struct cpu_counted cpu[THREADS + 1]; /* the last is that of the test itself */
static struct thread t[THREADS + 1];
static ucontext_t context[THREADS], tester;
static uint8_t stack[THREADS][STACK];
static bool finished[THREADS];
static bool stopped[THREADS]; /* the thread gets no CPU */
static bool preemption;       /* threads are preempted at random */
/* NULL: none.  Thread 0 gets no CPU when it could take this lock: so it gets the lock only if that is handed to it. */
static const struct sleeplock *unlucky_for;
static bool asked; /* thread 0 has begun to wait */
static uint64_t clock_now, steps;
static const char *wrong; /* what a thread has found */

/* ---- the rest of the kernel ---- */

void panic(const char *fmt, ...)
{
    wrong = fmt;
    for (;;)
        must_switch();
}

void spin_bad_sleep(void)
{
    panic("sleep with a spin lock");
}

void trace_put(enum trace_type type, uint32_t tid, unsigned info, uint64_t a, uint64_t b)
{
}

uint64_t trace_name(const char *name)
{
    return 0;
}

uint64_t tsc_to_ns(uint64_t cycles)
{
    return cycles;
}

uint64_t clock_mono_ns(void)
{
    return clock_now;
}

uint64_t host_tsc(void)
{
    return clock_now += 1000ull << check_below(7);
}

void timer_arm(struct timer *tm, uint64_t deadline_ns, void (*fn)(struct timer *))
{
    panic("no test has a timer");
}

bool timer_cancel(struct timer *tm)
{
    return false;
}

static void leave(void)
{
    unsigned i = this_cpu()->id;

    swapcontext(&context[i], &tester);
}

void must_switch(void)
{
    if (this_cpu()->id != THREADS)
        leave();
}

static bool is_held_back(unsigned i)
{
    return stopped[i] || (i == 0 && asked && unlucky_for != NULL && unlucky_for->word < LOCK_READ);
}

void may_switch(void)
{
    if (unlucky_for != NULL && this_cpu()->nlock != 0)
        return; /* else thread 0 could be held back with a spin lock */
    if (this_cpu()->id != THREADS && check_below(4) == 0) {
        if (preemption && this_cpu()->nlock == 0 && check_below(8) == 0)
            curthread->state = TS_RUNNABLE; /* preempted: the others see that it does not run */
        leave();
    }
}

void swtch(void)
{
    struct thread *self = curthread;

    spin_unlock(&self->lock);
    while (self->state == TS_SLEEP)
        leave();
}

bool thread_wake(struct thread *th, struct thread *from)
{
    bool slept;

    spin_lock(&th->lock);
    slept = th->state == TS_SLEEP;
    if (slept)
        th->state = TS_RUNNABLE;
    spin_unlock(&th->lock);
    return slept;
}

void thread_inherit(struct thread *th, int pri)
{
    th->inherit_pri = (int16_t)pri;
    th->pri = (int16_t)max_of(th->base_pri, pri);
}

/* ---- threads ---- */

static void (*body)(unsigned i);

static void run_body(int i)
{
    body((unsigned)i);
    finished[i] = true;
    for (;;)
        leave();
}

static void on(unsigned i)
{
    static const struct machine_ops none;

    machine_start(&cpu[i], &none);
}

static void begin(unsigned n, void (*fn)(unsigned i))
{
    memset(cpu, 0, sizeof cpu);
    memset(t, 0, sizeof t);
    memset(stopped, 0, sizeof stopped);
    preemption = true;
    unlucky_for = NULL;
    asked = false;
    wrong = NULL;
    body = fn;
    steps = 0;
    for (unsigned i = 0; i <= THREADS; i++) {
        cpu[i].cpu = (struct cpu){.self = &cpu[i].cpu, .id = i, .thread = &t[i]};
        t[i] = (struct thread){
            .tid = i + 1, .state = TS_ONPROC, .pri = 10, .base_pri = 10, .inherit_pri = -1};
        if (i == THREADS)
            break;
        cpus[i] = &cpu[i].cpu;
        finished[i] = i >= n;
        getcontext(&context[i]);
        context[i].uc_stack.ss_sp = stack[i];
        context[i].uc_stack.ss_size = STACK;
        makecontext(&context[i], (void (*)(void))run_body, 1, (int)i);
    }
    on(THREADS);
}

/* Lets one thread go on that can; false: none can. */
static bool step(void)
{
    unsigned can[THREADS], n = 0, i;

    for (i = 0; i < THREADS; i++)
        if (!finished[i] && t[i].state != TS_SLEEP && !is_held_back(i))
            can[n++] = i;
    if (n == 0)
        return false;
    i = can[check_below(n)];
    t[i].state = TS_ONPROC;
    on(i);
    swapcontext(&tester, &context[i]);
    on(THREADS);
    if (wrong != NULL)
        check_fail(__FILE__, __LINE__, "%s", wrong);
    CHECK(++steps < STEPS_MAX);
    return true;
}

static void set_pri(unsigned i, int pri)
{
    t[i].pri = t[i].base_pri = (int16_t)pri;
}

/* Runs all threads to their ends. */
static void run_all(void)
{
    while (step())
        ;
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(finished[i]); /* else it sleeps, and no thread will wake it */
}

/* Runs thread i alone, from a state in which it is stopped, until it sleeps or has ended, and stops it. */
static void run_alone(unsigned i)
{
    bool others[THREADS];

    memcpy(others, stopped, sizeof stopped);
    memset(stopped, true, sizeof stopped);
    stopped[i] = false;
    while (!finished[i] && t[i].state != TS_SLEEP)
        CHECK(step());
    memcpy(stopped, others, sizeof stopped);
    stopped[i] = true;
}

static void work(void)
{
    for (uint64_t n = check_below(4); n > 0; n--)
        may_switch();
}

static void fail_unless(bool good, const char *what)
{
    if (!good)
        panic(what);
}

/* ---- mutexes ---- */

static struct mutex mutex[2];
static unsigned inside[2], turns;
static uint64_t entered[2];

static void use_mutex(unsigned which)
{
    if (check_below(8) != 0)
        mutex_enter(&mutex[which]);
    else if (!mutex_tryenter(&mutex[which]))
        return;
    fail_unless(inside[which]++ == 0, "two threads have one mutex");
    fail_unless(lock_writer(mutex[which].l.word) == curthread, "another owner");
    entered[which]++;
    work();
    inside[which]--;
    mutex_exit(&mutex[which]);
}

static void use_mutexes(unsigned i)
{
    for (unsigned n = 0; n < turns; n++) {
        unsigned which = (unsigned)check_below(2);

        if (which == 0 && check_below(4) == 0) {
            mutex_enter(&mutex[0]);
            fail_unless(inside[0]++ == 0, "two threads have one mutex");
            use_mutex(1);
            inside[0]--;
            mutex_exit(&mutex[0]);
        } else {
            use_mutex(which);
        }
        work();
    }
}

static void start_mutexes(void)
{
    for (unsigned i = 0; i < 2; i++) {
        mutex_init(&mutex[i], SLEEP_AS);
        inside[i] = 0;
        entered[i] = 0;
    }
}

TEST(a_mutex_has_one_owner_and_no_sleeper_is_forgotten)
{
    for (unsigned round = 0; round < 60; round++) {
        start_mutexes();
        turns = 60;
        begin(2 + round % (THREADS - 1), use_mutexes);
        for (unsigned i = 0; i < THREADS; i++)
            set_pri(i, check_below(3) == 0 ? PRI_RT + (int)i : 10 + (int)i);
        run_all();
        for (unsigned i = 0; i < 2; i++) {
            CHECK(mutex[i].l.word == 0 && list_empty(&mutex[i].l.waiters));
            CHECK(entered[i] > turns / 2);
        }
        for (unsigned i = 0; i < THREADS; i++)
            CHECK(t[i].n_contended == 0 && t[i].inherit_pri == -1 && t[i].blocked_on == NULL &&
                  t[i].pri == t[i].base_pri);
    }
}

static void greedy(unsigned i)
{
    uint64_t since = 0;

    if (i == 0) {
        while (entered[0] == 0)
            may_switch();
        asked = true;
        mutex_enter(&mutex[0]);
        asked = false;
        mutex_exit(&mutex[0]);
        return;
    }
    for (unsigned n = 0; n < turns; n++) {
        mutex_enter(&mutex[0]);
        entered[0]++;
        since = asked ? since + 1 : 0;
        work();
        mutex_exit(&mutex[0]);
        fail_unless(since < turns / 2, "a waiter is passed over for ever");
    }
}

TEST(a_waiter_is_not_passed_over_for_ever)
{
    for (unsigned round = 0; round < 20; round++) {
        start_mutexes();
        turns = 4000;
        begin(3, greedy);
        unlucky_for = &mutex[0].l;
        run_all();
    }
}

static void lend(unsigned i)
{
    mutex_enter(&mutex[0]);
    while (i == 0 && t[0].pri < 50)
        may_switch(); /* until thread 1, of priority 50, waits */
    mutex_exit(&mutex[0]);
    fail_unless(i == 1 || t[0].pri == 10, "the priority was not given back");
}

static void lend_later(unsigned i)
{
    while (i == 1 && lock_writer(mutex[0].l.word) != &t[0])
        may_switch();
    lend(i);
}

TEST(a_waiter_lends_its_priority)
{
    for (unsigned round = 0; round < 20; round++) {
        start_mutexes();
        begin(2, lend_later);
        set_pri(1, 50);
        run_all();
    }
}

/* ---- real-time threads ---- */

enum { HIGH = PRI_RT + 50 };

static bool stay[THREADS]; /* the thread keeps its mutexes */
static unsigned
    order[THREADS]; /* the threads that have had mutex 0, in the order in which they got it */
static unsigned n_order;

static void visit(unsigned i)
{
    mutex_enter(&mutex[0]);
    order[n_order++] = i;
    while (stay[i])
        must_switch();
    mutex_exit(&mutex[0]);
}

/* Thread 0 takes mutex `which`, and stays; no other thread has begun.  Thread 2 is a real-time thread. */
static void start_with_holder(void (*fn)(unsigned i), unsigned which)
{
    start_mutexes();
    n_order = 0;
    begin(4, fn);
    set_pri(2, HIGH);
    preemption = false;
    memset(stay, false, sizeof stay);
    memset(stopped, true, sizeof stopped);
    stay[0] = true;
    stopped[0] = false;
    while (lock_writer(mutex[which].l.word) != &t[0])
        CHECK(step());
    t[0].state = TS_RUNNABLE; /* preempted: those that wait sleep soon */
    stopped[0] = true;
}

/* Lets thread i run, and no other, until it leaves its mutexes and ends. */
static void leave_and_end(unsigned i)
{
    stay[i] = false;
    run_alone(i);
    CHECK(finished[i]);
}

/* Lets thread i run until it has mutex 0, and stays. */
static void run_until_holder(unsigned i)
{
    stay[i] = true;
    stopped[i] = false;
    while (order[n_order - 1] != i)
        CHECK(step());
    stopped[i] = true;
}

/* Lets thread i, which is awake, be passed over until it asks for mutex 0. */
static void run_until_asked(unsigned i)
{
    stopped[i] = false;
    while ((mutex[0].l.word & LOCK_HAND) == 0)
        CHECK(step());
    stopped[i] = true;
}

static void end_all(void)
{
    memset(stay, false, sizeof stay);
    memset(stopped, false, sizeof stopped);
    run_all();
    for (unsigned i = 0; i < 4; i++)
        CHECK(t[i].pri == t[i].base_pri && t[i].n_contended == 0);
}

/* Thread 0 has mutex 0; threads 1 and 2 wait, in this order. */
static void start_with_waiters(void)
{
    start_with_holder(visit, 0);
    run_alone(1);
    run_alone(2);
    CHECK(t[1].state == TS_SLEEP && t[2].state == TS_SLEEP);
    CHECK_EQ(t[0].pri, HIGH);
}

TEST(a_real_time_waiter_does_not_wait_until_an_earlier_waiter_gets_a_cpu)
{
    start_with_waiters();
    leave_and_end(0);
    leave_and_end(2); /* thread 1 still has no CPU */
    leave_and_end(3);
    end_all();
    CHECK(n_order == 4 && order[0] == 0 && order[1] == 2 && order[2] == 3 && order[3] == 1);
}

TEST(a_waiter_that_gets_the_lock_inherits)
{
    start_with_waiters();
    leave_and_end(0);
    run_until_holder(1);
    CHECK_EQ(t[1].pri, HIGH);
    end_all();
}

TEST(a_thread_that_passes_the_waiters_inherits)
{
    start_with_waiters();
    leave_and_end(0);
    run_until_holder(3);
    CHECK_EQ(t[3].pri, HIGH);
    end_all();
}

TEST(a_waiter_to_which_the_lock_is_handed_inherits)
{
    start_with_holder(visit, 0);
    run_alone(1);
    leave_and_end(0);
    run_until_holder(3);
    run_until_asked(1);
    run_alone(2);
    leave_and_end(3);
    CHECK(lock_writer(mutex[0].l.word) == &t[1]);
    CHECK_EQ(t[1].pri, HIGH);
    end_all();
}

TEST(the_lock_is_handed_to_the_waiter_that_has_asked)
{
    start_with_waiters();
    leave_and_end(0);
    run_until_holder(3);
    run_until_asked(2);
    stopped[1] = false;
    for (unsigned n = 0; n < 4000; n++) /* thread 1 spins: more than 4 ms */
        CHECK(step());
    t[3].state = TS_RUNNABLE; /* preempted: thread 1 would ask, too, and sleeps */
    run_alone(1);
    CHECK(t[1].state == TS_SLEEP);
    leave_and_end(3);
    CHECK(lock_writer(mutex[0].l.word) == &t[2]);
    end_all();
}

/* Threads 0 and 1 use mutex 1, thread 2 mutex 0, and thread 3 both. */
static void visit_chain(unsigned i)
{
    if (i >= 2)
        mutex_enter(&mutex[0]);
    if (i != 2)
        mutex_enter(&mutex[1]);
    while (stay[i])
        must_switch();
    if (i != 2)
        mutex_exit(&mutex[1]);
    if (i >= 2)
        mutex_exit(&mutex[0]);
}

/* Thread 0 has mutex 1; threads 1 and 3 wait for it, in this order; thread 3 has mutex 0. */
static void start_chain(void)
{
    start_with_holder(visit_chain, 1);
    run_alone(1);
    run_alone(3);
    CHECK(t[1].state == TS_SLEEP && t[3].state == TS_SLEEP);
}

TEST(a_waiter_lends_its_priority_along_the_chain)
{
    start_chain();
    run_alone(2);
    CHECK_EQ(t[3].pri, HIGH);
    CHECK_EQ(t[0].pri, HIGH);
    leave_and_end(0);
    leave_and_end(3); /* thread 1 still has no CPU */
    leave_and_end(2);
    end_all();
}

TEST(a_sleeper_that_inherits_takes_a_free_lock)
{
    start_chain();
    leave_and_end(0);
    CHECK(t[1].state == TS_RUNNABLE && t[3].state == TS_SLEEP);
    run_alone(2);
    leave_and_end(3); /* thread 1 still has no CPU */
    leave_and_end(2);
    end_all();
}

/* ---- reader-writer locks ---- */

static struct rwlock rw;
static unsigned readers, writers, most_readers;

static void read_once(void)
{
    readers++;
    most_readers = max_of(most_readers, readers);
    fail_unless(writers == 0, "a reader beside a writer");
    work();
    readers--;
    rw_exit_read(&rw);
}

static void use_rw(unsigned i)
{
    for (unsigned n = 0; n < turns; n++) {
        switch (check_below(4)) {
        case 0:
            rw_enter_write(&rw);
            fail_unless(writers++ == 0 && readers == 0, "a writer is not alone");
            work();
            writers--;
            rw_exit_write(&rw);
            break;
        case 1:
            if (rw_tryenter_read(&rw))
                read_once();
            break;
        default:
            rw_enter_read(&rw);
            read_once();
        }
        work();
    }
}

TEST(a_writer_is_alone_and_no_sleeper_is_forgotten)
{
    most_readers = 0;
    for (unsigned round = 0; round < 60; round++) {
        rw_init(&rw, SLEEP_AS);
        turns = 60;
        begin(2 + round % (THREADS - 1), use_rw);
        run_all();
        CHECK(rw.l.word == 0 && list_empty(&rw.l.waiters));
    }
    CHECK(most_readers >= 3);
}

static uint64_t others; /* entries since thread 0 began to wait */

/* Thread 0 wants to write once, or to read; the others read all the time, or write. */
static bool one_writes;

static void against_all(unsigned i)
{
    bool write = (i == 0) == one_writes;

    for (unsigned n = 0; n < (i == 0 ? 1 : turns); n++) {
        if (i == 0) {
            while (others < 10)
                may_switch();
            asked = true;
        }
        write ? rw_enter_write(&rw) : rw_enter_read(&rw);
        others++;
        work();
        write ? rw_exit_write(&rw) : rw_exit_read(&rw);
        if (i == 0)
            asked = false;
        else if (!asked)
            entered[0] = others;
        fail_unless(others - entered[0] < turns / 2, "a waiter is passed over for ever");
    }
}

TEST(neither_a_writer_nor_a_reader_is_passed_over_for_ever)
{
    for (unsigned round = 0; round < 20; round++) {
        rw_init(&rw, SLEEP_AS);
        turns = 4000;
        one_writes = round % 2 == 0;
        others = entered[0] = 0;
        begin(4, against_all);
        unlucky_for = &rw.l;
        run_all();
    }
}

/* ---- condition variables ---- */

static struct cv cv;
static unsigned tokens, taken;

static void pass_tokens(unsigned i)
{
    for (unsigned n = 0; n < turns; n++) {
        mutex_enter(&mutex[0]);
        if (i < THREADS / 2) {
            tokens++;
            if (check_below(2) == 0)
                (void)cv_signal(&cv);
            else
                (void)cv_broadcast(&cv);
        } else {
            while (tokens == 0)
                cv_wait(&cv, &mutex[0], "token");
            tokens--;
            taken++;
        }
        mutex_exit(&mutex[0]);
        work();
    }
}

TEST(no_signal_is_lost)
{
    for (unsigned round = 0; round < 40; round++) {
        start_mutexes();
        cv_init(&cv);
        turns = 40;
        tokens = taken = 0;
        begin(THREADS, pass_tokens);
        run_all();
        CHECK(tokens == 0 && taken == turns * THREADS / 2 && list_empty(&cv.waiters));
    }
}
