// SPDX-License-Identifier: MIT
/*
 * disp.c - where threads run when their home is too small for them: one scenario in each call, results on stdout.
 *
 * THEORY      Each thread gets its home by binding itself to a CPU of an lgroup and unbinding.  Then the threads
 *             compute, and the program reports where: `cpus` is the set of CPUs that they used, `remote_pages` the
 *             pages first touched in that time that lie outside the home, `home_second` the number of threads that were
 *             at home after their second wake-up.
 *                 disp crowd LGRP THREADS MS    THREADS at home in LGRP compute for MS
 *                 disp leave LGRP THREADS STAY  all except STAY exit, then the others sleep and wake
 *                 disp full PER_CPU             PER_CPU computing threads for each CPU; dispatches in that time
 * OUTPUT      lines `key=value`; exit status 0 unless a call failed
 * SEE ALSO    tests/test_dispatch.py
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/lgrp_user.h>
#include <sys/mman.h>
#include <sys/processor.h>
#include <time.h>
#include <unistd.h>

#include "homeroom.h"

enum { PAGE = 4096, PAGES = 32, MAX_THREADS = 600 };

static int lgrp, nthreads, stay, run_ms;
static pthread_barrier_t start;
static _Atomic int remote_pages, home_second, remote_seen;
static _Atomic unsigned char seen[HR_MAXCPU]; /* CPUs on which a thread computed */
static unsigned char at_home[HR_MAXCPU];      /* CPUs of the lgroup */
static _Atomic int computing;                 /* threads of `full` that compute */
static _Atomic bool ended;                    /* tells computing threads to stop at once */
static pthread_mutex_t leave_lock = PTHREAD_MUTEX_INITIALIZER;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void find_cpus(int *first)
{
    lgrp_cookie_t cookie = lgrp_init(LGRP_VIEW_OS);
    processorid_t ids[HR_MAXCPU];
    int n = lgrp_cpus(cookie, lgrp, ids, HR_MAXCPU, LGRP_CONTENT_DIRECT);

    lgrp_fini(cookie);
    if (n <= 0)
        die("no CPU in that lgroup");
    *first = ids[0];
    for (int i = 0; i < n; i++)
        at_home[ids[i]] = 1;
}

static void settle(int cpu)
{
    if (processor_bind(P_LWPID, (id_t)P_MYID, cpu, NULL) != 0 ||
        processor_bind(P_LWPID, (id_t)P_MYID, PBIND_NONE, NULL) != 0)
        die("processor_bind");
    if (gethomelgroup() != lgrp)
        die("home did not follow the binding");
}

/* Touches new pages one by one and computes in between, until the time is over. */
static void compute(uint64_t until, bool note)
{
    char *pages =
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t addr[PAGES], out[PAGES];
    unsigned what = MEMINFO_VLGRP, valid[PAGES];

    if (pages == MAP_FAILED)
        die("mmap");
    for (int i = 0; atomic_load(&ended) ? false : now_ms() < until; i++) {
        for (volatile int k = 0; k < 5000; k++)
            ;
        __builtin_ia32_pause(); /* CPUs that share a thread of the host let each other run */
        if (i < PAGES)
            pages[i * PAGE] = 1;
        if (note)
            seen[getcpuid()] = 1;
    }
    for (int i = 0; i < PAGES; i++) {
        pages[i * PAGE] = 1;
        addr[i] = (uint64_t)(pages + i * PAGE);
    }
    if (meminfo(addr, PAGES, &what, 1, out, valid) != 0)
        die("meminfo");
    for (int i = 0; i < PAGES; i++)
        remote_pages += out[i] != (uint64_t)gethomelgroup();
}

static void *crowd_thread(void *arg)
{
    settle(*(int *)arg);
    pthread_barrier_wait(&start);
    compute(now_ms() + (uint64_t)run_ms / 2, false); /* until all threads have found a place */
    compute(now_ms() + (uint64_t)run_ms / 2, true);
    return NULL;
}

static void *leave_thread(void *arg)
{
    static int left;
    static _Atomic int gone;
    bool leaves;

    settle(*(int *)arg);
    pthread_barrier_wait(&start);
    compute(now_ms() + (uint64_t)run_ms, false);
    pthread_mutex_lock(&leave_lock);
    leaves = left < nthreads - stay;
    left += leaves;
    pthread_mutex_unlock(&leave_lock);
    if (leaves) {
        gone++;
        return NULL;
    }
    while (gone < nthreads - stay)
        usleep(10000);
    usleep(100000); /* until the last of them has ended */
    usleep(50000);
    home_second += at_home[getcpuid()];
    for (int i = 0; i < 20; i++) {
        usleep(5000);
        remote_seen += !at_home[getcpuid()];
    }
    return NULL;
}

static void *full_thread(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&start);
    computing++;
    compute(UINT64_MAX, false);
    return NULL;
}

struct dispatched {
    long home, remote;
    long by[HR_MAXCPU]; /* of each CPU */
};

/* The dispatches so far. */
static struct dispatched dispatches(void)
{
    struct dispatched d = {0};
    struct hr_kstat *list;
    long n = hr_kstat_read(&list);

    if (n < 0)
        die("/dev/kstat");
    for (long i = 0; i < n; i++) {
        long value = atol(list[i].value);
        bool home = strcmp(list[i].statistic, "disp_home") == 0;

        if (!home && strcmp(list[i].statistic, "disp_remote") != 0)
            continue;
        *(home ? &d.home : &d.remote) += value;
        d.by[list[i].instance] += value;
    }
    free(list);
    return d;
}

/* The lowest number of dispatches of a CPU between the two readings. */
static long least(const struct dispatched *from, const struct dispatched *to)
{
    long n = LONG_MAX;

    for (long cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1; cpu >= 0; cpu--)
        if (to->by[cpu] - from->by[cpu] < n)
            n = to->by[cpu] - from->by[cpu];
    return n;
}

/*
 * Counts dispatches while all threads compute.  The count begins when each CPU has dispatched five times for each
 * thread, because the priorities are equal by then.
 */
static void watch(void)
{
    long each = 5l * nthreads / sysconf(_SC_NPROCESSORS_ONLN);
    struct dispatched begun, settled, now;

    while (computing < nthreads)
        usleep(20000);
    begun = dispatches();
    do {
        usleep(20000);
        settled = dispatches();
    } while (least(&begun, &settled) < each);
    do {
        usleep(50000);
        now = dispatches();
    } while (now.home + now.remote - settled.home - settled.remote < 5 * nthreads);
    ended = true;
    printf("dispatched_home=%ld\ndispatched_remote=%ld\n", now.home - settled.home,
           now.remote - settled.remote);
}

static void run(void *(*fn)(void *), int cpu)
{
    pthread_t t[MAX_THREADS];

    if (nthreads > MAX_THREADS)
        die("too many threads");
    if (cpu >= 0)
        /* otherwise this thread would leave an idle CPU on another board, which would help at once */
        settle(cpu);
    pthread_barrier_init(&start, NULL, (unsigned)nthreads + 1);
    for (int i = 0; i < nthreads; i++)
        if (pthread_create(&t[i], NULL, fn, &cpu) != 0)
            die("pthread_create");
    pthread_barrier_wait(&start);
    if (fn == full_thread)
        watch();
    for (int i = 0; i < nthreads; i++)
        pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
    int first = -1;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 5 && strcmp(argv[1], "crowd") == 0) {
        lgrp = atoi(argv[2]);
        nthreads = atoi(argv[3]);
        run_ms = atoi(argv[4]);
        find_cpus(&first);
        run(crowd_thread, first);
    } else if (argc == 5 && strcmp(argv[1], "leave") == 0) {
        lgrp = atoi(argv[2]);
        nthreads = atoi(argv[3]);
        stay = atoi(argv[4]);
        run_ms = 500;
        find_cpus(&first);
        run(leave_thread, first);
    } else if (argc == 3 && strcmp(argv[1], "full") == 0) {
        nthreads = atoi(argv[2]) * (int)sysconf(_SC_NPROCESSORS_ONLN);
        run(full_thread, -1);
    } else {
        fprintf(stderr,
                "usage: disp crowd LGRP THREADS MS | leave LGRP THREADS STAY | full PER_CPU\n");
        return 2;
    }
    printf("remote_pages=%d\nhome_second=%d\nremote_seen=%d\ncpus=", remote_pages, home_second,
           remote_seen);
    for (int i = 0; i < HR_MAXCPU; i++)
        if (seen[i])
            printf("%d ", i);
    printf("\n");
    return 0;
}
