// SPDX-License-Identifier: MIT
/*
 * t_observe.c - balancing by observation (lgrp_balance=1): pages and threads come together, and placed ones stay.
 *
 * THEORY      Threads get their homes by binding themselves to a CPU and unbinding again.  How long a test takes
 *             depends on the host: it ends when the pages are where they belong, or fails after a minute.
 *             With the variable STAY the kernel does not balance.  Then the same phases must move nothing.
 * SEE ALSO    tests/test_observe.py, kernel/vm/observe.c
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/lgrp_user.h>
#include <sys/mman.h>
#include <sys/processor.h>
#include <sys/syscall.h>
#include <time.h>

#include "homeroom.h"

#define PAGE    4096
#define RW      (PROT_READ | PROT_WRITE)
#define ANON    (MAP_PRIVATE | MAP_ANONYMOUS)
#define PAGES   256
#define THREADS 8 /* as many as the sf3800 has CPUs, so both boards are full */

static bool balances;
static char *area; /* PAGES pages */
static _Atomic int phase;
static pthread_barrier_t begin;

static char *map_area(int flags)
{
    char *p = mmap(NULL, PAGES * PAGE, RW, flags, -1, 0);

    EXPECT(p != MAP_FAILED);
    return p;
}

static int first_cpu_of(int lgrp)
{
    lgrp_cookie_t cookie = lgrp_init(LGRP_VIEW_OS);
    processorid_t cpus[HR_MAXCPU];

    EXPECT(lgrp_cpus(cookie, lgrp, cpus, HR_MAXCPU, LGRP_CONTENT_DIRECT) > 0);
    lgrp_fini(cookie);
    return cpus[0];
}

/* Makes `lgrp` the home of the calling thread. */
static void live_in(int lgrp)
{
    EXPECT_EQ(processor_bind(P_LWPID, (id_t)P_MYID, first_cpu_of(lgrp), NULL), 0);
    EXPECT_EQ(processor_bind(P_LWPID, (id_t)P_MYID, PBIND_NONE, NULL), 0);
    EXPECT_EQ(lgrp_home(P_LWPID, (id_t)P_MYID), lgrp);
}

/* How many pages of the area are in an lgroup. */
static int pages_in(int lgrp)
{
    uint_t request = MEMINFO_VLGRP, valid[PAGES];
    uint64_t where[PAGES], answer[PAGES];
    int n = 0;

    for (int i = 0; i < PAGES; i++)
        where[i] = (uint64_t)(uintptr_t)area + (uint64_t)i * PAGE;
    EXPECT_EQ(meminfo(where, PAGES, &request, 1, answer, valid), 0);
    for (int i = 0; i < PAGES; i++)
        n += (valid[i] & 3) == 3 && answer[i] == (uint64_t)lgrp;
    return n;
}

static void touch(int i)
{
    atomic_fetch_add((_Atomic long *)(area + (size_t)i * PAGE), 1);
}

/* Touches each step'th page from `first` on, then gives QEMU's only thread to another CPU of the machine. */
static void touch_pages(int first, int step)
{
    for (int i = first; i < PAGES; i += step)
        touch(i);
    __builtin_ia32_pause();
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Threads at home in lgroup 1 work in odd phases, each with pages of its own; the others compute. */
static void *work_in_phases(void *arg)
{
    int self = (int)(intptr_t)arg, group = self % 2;

    live_in(group);
    pthread_barrier_wait(&begin);
    while (phase >= 0)
        touch_pages(phase % 2 == group ? self / 2 : PAGES, THREADS / 2);
    return NULL;
}

/* Waits until all pages are in `lgrp`, but not longer than `most` seconds.  Returns how many are. */
static int wait_for_pages(int lgrp, double most)
{
    struct timespec nap = {0, 50000000};
    double end = seconds() + most;

    while (seconds() < end && pages_in(lgrp) < PAGES)
        nanosleep(&nap, NULL);
    return pages_in(lgrp);
}

/* Four phases; the user of each page changes from board to board. */
static void run_phases(int flags)
{
    pthread_t thread[THREADS];

    area = map_area(flags);
    phase = 0;
    pthread_barrier_init(&begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        EXPECT_EQ(pthread_create(&thread[i], NULL, work_in_phases, (void *)(intptr_t)i), 0);
    EXPECT_EQ(wait_for_pages(0, CHECK_SECONDS), PAGES); /* the first touch */
    for (phase = 1; phase < 4; phase++) {
        if (balances) {
            EXPECT_EQ(wait_for_pages(phase % 2, CHECK_SECONDS), PAGES);
        } else {
            sleep(1);
            EXPECT_EQ(pages_in(0), PAGES);
        }
    }
    phase = -1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    munmap(area, PAGES * PAGE);
}

static void pages_move_to_their_users(void)
{
    run_phases(ANON);
}

static void shared_memory_moves_to_its_users(void)
{
    run_phases(MAP_SHARED | MAP_ANONYMOUS);
}

/* A thread that is alone on its board uses pages of the other one, where no thread runs: it moves there. */
static void *work_far_away(void *arg)
{
    struct timespec rest = {8, 0}; /* until the loads of earlier threads have decayed */
    double end = seconds() + CHECK_SECONDS / 4;

    (void)arg;
    live_in(1);
    nanosleep(&rest, NULL);
    while (seconds() < end && lgrp_home(P_LWPID, (id_t)P_MYID) == 1)
        touch_pages(0, 1);
    return (void *)(intptr_t)lgrp_home(P_LWPID, (id_t)P_MYID);
}

static void a_thread_moves_to_its_pages(void)
{
    pthread_t thread;
    void *home;

    if (!balances)
        SKIP("the kernel does not balance");
    live_in(0);
    area = map_area(ANON);
    touch_pages(0, 1);
    EXPECT_EQ(pthread_create(&thread, NULL, work_far_away, NULL), 0);
    EXPECT_EQ(pthread_join(thread, &home), 0);
    EXPECT_EQ((intptr_t)home, 0);
    EXPECT(pages_in(0) > PAGES * 3 / 4); /* a few may have moved first */
}

/* The pages of a process with a bound thread stay. */
static void *work_bound(void *arg)
{
    double end = seconds() + 2;

    (void)arg;
    EXPECT_EQ(processor_bind(P_LWPID, (id_t)P_MYID, first_cpu_of(1), NULL), 0);
    while (seconds() < end)
        touch_pages(0, 1);
    return NULL;
}

static void a_bound_process_is_left_alone(void)
{
    pthread_t thread;

    live_in(0);
    area = map_area(ANON);
    touch_pages(0, 1);
    EXPECT_EQ(pthread_create(&thread, NULL, work_bound, NULL), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    EXPECT_EQ(pages_in(0), PAGES);
}

/* Pages with advice, and locked pages, stay; the others of the same process move. */
static void placed_memory_stays(void)
{
    char *advised = map_area(ANON), *locked = map_area(ANON), *free = map_area(ANON);
    pthread_t thread[THREADS];

    if (!balances)
        SKIP("the kernel does not balance");
    live_in(0);
    EXPECT_EQ(madvise(advised, PAGES * PAGE, MADV_ACCESS_LWP), 0);
    for (int i = 0; i < PAGES; i++)
        advised[i * PAGE] = locked[i * PAGE] = free[i * PAGE] = 1;
    EXPECT_EQ(mlock(locked, PAGES * PAGE), 0);
    phase = 1;
    pthread_barrier_init(&begin, NULL, THREADS);
    for (char **p = (char *[]){advised, locked, free, NULL}; *p != NULL; p++) {
        phase = 1;
        area = *p;
        for (int i = 0; i < THREADS; i++)
            EXPECT_EQ(pthread_create(&thread[i], NULL, work_in_phases, (void *)(intptr_t)i), 0);
        if (*p == free) {
            EXPECT_EQ(wait_for_pages(1, CHECK_SECONDS), PAGES);
        } else {
            sleep(2);
            EXPECT_EQ(pages_in(0), PAGES);
        }
        phase = -1;
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
}

static const struct check list[] = {
    {"pages_move_to_their_users", pages_move_to_their_users},
    {"shared_memory_moves_to_its_users", shared_memory_moves_to_its_users},
    {"a_thread_moves_to_its_pages", a_thread_moves_to_its_pages},
    {"a_bound_process_is_left_alone", a_bound_process_is_left_alone},
    {"placed_memory_stays", placed_memory_stays},
};

int main(int argc, char **argv)
{
    balances = getenv("STAY") == NULL;
    return check_main(list, sizeof list / sizeof *list, argc, argv);
}
