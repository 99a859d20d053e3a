// SPDX-License-Identifier: MIT
/*
 * t_vmrace.c - memory under several CPUs at once: what one thread changes, the others see, and nothing gets lost.
 *
 * THEORY      Threads add to counters, one in each page, while another thread forks, moves, protects or drops the
 *             memory.  An addition that went to a frame which no longer belonged to them (a translation that was not
 *             invalidated in time) is missing in the sum at the end.
 */
#include "check.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/lgrp_user.h>
#include <sys/mman.h>
#include <sys/processor.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#define PAGE    4096
#define RW      (PROT_READ | PROT_WRITE)
#define ANON    (MAP_PRIVATE | MAP_ANONYMOUS)
#define THREADS 6
#define PAGES   24

static char *arena;
static _Atomic int stop, ready;
static _Atomic long added;

static _Atomic long *counter(unsigned page)
{
    return (_Atomic long *)(arena + (size_t)page * PAGE);
}

static char *map(size_t bytes, int flags)
{
    char *p = mmap(NULL, bytes, RW, flags, -1, 0);

    EXPECT(p != MAP_FAILED);
    return p;
}

/* Binds the thread to a CPU.  With the variable UNBOUND, only its home goes there, so that the kernel balances. */
static void bind_to(processorid_t cpu)
{
    processor_bind(P_LWPID, (id_t)P_MYID, cpu, NULL);
    if (getenv("UNBOUND") != NULL)
        processor_bind(P_LWPID, (id_t)P_MYID, PBIND_NONE, NULL);
}

/* Spreads the threads over the machine, where that is possible. */
static void bind_round(unsigned n)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    bind_to((processorid_t)((n * 5 + 1) % (unsigned)cpus));
}

/* Lets the others run for a moment, without giving the CPU to one that is bound to it. */
static void moment(void)
{
    for (volatile int i = 0; i < 3000; i++)
        ;
}

/* Adds to all counters in turn until `stop` is set. */
static void *adding(void *arg)
{
    unsigned n = (unsigned)(uintptr_t)arg;
    long mine = 0;

    bind_round(n);
    ready++;
    while (!stop)
        for (unsigned i = 0; i < PAGES; i++, mine++)
            atomic_fetch_add(counter((i + n) % PAGES), 1);
    added += mine;
    return NULL;
}

static pthread_t thread[THREADS];
static unsigned nthreads; /* one CPU is left for the thread that disturbs them */

static void begin(void *(*work)(void *))
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    /* on a CPU without another thread, if there are more than two CPUs */
    bind_to(0);
    nthreads = cpus <= 2 ? 2 : cpus > THREADS ? THREADS : (unsigned)cpus - 1;
    stop = ready = 0;
    added = 0;
    for (unsigned i = 0; i < nthreads; i++)
        EXPECT_EQ(pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i), 0);
    while (ready < (int)nthreads)
        sched_yield();
}

static void end(void)
{
    long sum = 0;

    stop = 1;
    for (unsigned i = 0; i < nthreads; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < PAGES; i++)
        sum += *counter(i);
    EXPECT_EQ(sum, added);
}

static void first_touch_together(void)
{
    for (int round = 0; round < 8; round++) {
        arena = map(PAGES * PAGE, ANON);
        begin(adding);
        end();
        munmap(arena, PAGES * PAGE);
    }
}

/* A child sees a fixed value of each counter, and its own changes stay its own. */
static void snapshot_is_stable(void)
{
    long before[PAGES];

    for (unsigned i = 0; i < PAGES; i++)
        before[i] = *counter(i);
    for (int round = 0; round < 5; round++) {
        sched_yield();
        for (unsigned i = 0; i < PAGES; i++)
            if (*counter(i) != before[i] + round)
                _exit(1);
            else
                atomic_fetch_add(counter(i), 1);
    }
    _exit(0);
}

static void fork_while_threads_write(void)
{
    arena = map(PAGES * PAGE, ANON);
    begin(adding);
    for (int round = 0; round < 15; round++) {
        pid_t pid[3];
        int status;

        for (int k = 0; k < 3; k++) {
            pid[k] = fork();
            EXPECT(pid[k] >= 0);
            if (pid[k] == 0)
                snapshot_is_stable();
        }
        for (int k = 0; k < 3; k++) {
            EXPECT_EQ(waitpid(pid[k], &status, 0), pid[k]);
            EXPECT_EQ(status, 0);
        }
    }
    end();
}

static void advise_while_threads_write(int flags)
{
    arena = map(PAGES * PAGE, flags);
    begin(adding);
    for (int round = 0; round < 24; round++) {
        bind_round((unsigned)round);
        EXPECT_EQ(madvise(arena, PAGES * PAGE, round % 2 ? MADV_ACCESS_LWP : MADV_ACCESS_MANY), 0);
        for (unsigned i = 0; i < PAGES; i++)
            EXPECT(*counter(i) >= 0);
    }
    end();
}

static void migrate_private(void)
{
    advise_while_threads_write(ANON);
}

static void migrate_shared(void)
{
    advise_while_threads_write(MAP_SHARED | MAP_ANONYMOUS);
}

/* Processes share pages after fork, and one of them moves the pages. */
static void migrate_between_relatives(void)
{
    pid_t pid[4];
    int status;

    arena = map(PAGES * PAGE, ANON);
    for (unsigned i = 0; i < PAGES; i++)
        *counter(i) = 1000 + i;
    for (int k = 0; k < 4; k++) {
        pid[k] = fork();
        EXPECT(pid[k] >= 0);
        if (pid[k] != 0)
            continue;
        for (int round = 0; round < 40; round++) {
            bind_round((unsigned)(round + k));
            madvise(arena, PAGES * PAGE, MADV_ACCESS_LWP);
            for (unsigned i = 0; i < PAGES; i++)
                EXPECT_EQ(*counter(i), 1000 + i + (i % 4 == (unsigned)k ? (unsigned)round : 0));
            for (unsigned i = (unsigned)k; i < PAGES; i += 4)
                (*counter(i))++;
        }
        _exit(0);
    }
    for (int k = 0; k < 4; k++) {
        EXPECT_EQ(waitpid(pid[k], &status, 0), pid[k]);
        EXPECT_EQ(status, 0);
    }
}

static __thread sigjmp_buf escape;

static void on_fault(int signal)
{
    (void)signal;
    siglongjmp(escape, 1);
}

/* Stores until `stop` is set; counts faults, which must be in the arena. */
static void *poking(void *arg)
{
    unsigned n = (unsigned)(uintptr_t)arg;
    volatile unsigned k = 0;

    bind_round(n);
    ready++;
    while (!stop) {
        if (sigsetjmp(escape, 1) == 0)
            for (;; k++) {
                if (stop)
                    return NULL;
                atomic_fetch_add(counter(k % PAGES), 1);
            }
        k++;
    }
    return NULL;
}

/* After mprotect(PROT_READ) has returned, no store succeeds; after munmap, none at all. */
static void rights_go_at_once(void)
{
    struct sigaction sa = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};

    sigaction(SIGSEGV, &sa, NULL);
    arena = map(PAGES * PAGE, ANON);
    begin(poking);
    for (int round = 0; round < 150; round++) {
        long seen[PAGES];

        EXPECT_EQ(mprotect(arena, PAGES * PAGE, PROT_READ), 0);
        for (unsigned i = 0; i < PAGES; i++)
            seen[i] = *counter(i);
        moment();
        for (unsigned i = 0; i < PAGES; i++)
            EXPECT_EQ(*counter(i), seen[i]);
        EXPECT_EQ(mprotect(arena, PAGES * PAGE, RW), 0);
        if (round % 3 == 0) {
            EXPECT(mmap(arena, PAGES * PAGE, PROT_READ, ANON | MAP_FIXED, -1, 0) == arena);
            moment();
            for (unsigned i = 0; i < PAGES; i++)
                EXPECT_EQ(*counter(i), 0); /* new pages, and no store can have reached them */
            EXPECT_EQ(mprotect(arena, PAGES * PAGE, RW), 0);
        }
    }
    stop = 1;
    for (unsigned i = 0; i < nthreads; i++)
        pthread_join(thread[i], NULL);
}

/* Threads map, use and unmap memory of their own side by side, so page tables come and go beside each other. */
static void *mapping(void *arg)
{
    unsigned n = (unsigned)(uintptr_t)arg;

    bind_round(n);
    ready++;
    for (unsigned round = 0; round < 300; round++) {
        size_t bytes = (1 + (round * 7 + n) % 40) * PAGE;
        char *p = map(bytes, ANON), *q;

        for (size_t at = 0; at < bytes; at += PAGE)
            p[at] = (char)(n + at / PAGE);
        q = mremap(p, bytes, bytes * 2, MREMAP_MAYMOVE);
        EXPECT(q != MAP_FAILED);
        for (size_t at = 0; at < 2 * bytes; at += PAGE)
            EXPECT_EQ(q[at], at < bytes ? (char)(n + at / PAGE) : 0);
        EXPECT_EQ(munmap(q, 2 * bytes), 0);
    }
    return NULL;
}

static void map_side_by_side(void)
{
    begin(mapping);
    for (unsigned i = 0; i < nthreads; i++)
        pthread_join(thread[i], NULL);
}

/* A small request succeeds while other processes ask for more memory than there is. */
static void refused_processes_refuse_no_others(void)
{
    pid_t child[2];

    for (unsigned i = 0; i < 2; i++) {
        child[i] = fork();
        if (child[i] != 0)
            continue;
        alarm(CHECK_SECONDS); /* the end, if the test fails */
        bind_round(i);
        for (;;) {
            char *p = mmap(NULL, (size_t)1 << 45, RW, ANON, -1, 0);

            if (p != MAP_FAILED)
                munmap(p, (size_t)1 << 45);
        }
    }
    bind_to(0);
    for (unsigned round = 0; round < 10000; round++)
        EXPECT_EQ(munmap(map((1 + round % 2) << 22, ANON), (1 + round % 2) << 22), 0);
    for (unsigned i = 0; i < 2; i++) {
        kill(child[i], SIGKILL);
        waitpid(child[i], NULL, 0);
    }
}

/* Two processes and a file: stores through both mappings, while it shrinks and grows. */
static void truncate_under_mappings(void)
{
    char name[] = "/tmp/t_vmrace.XXXXXX";
    int fd = mkstemp(name), status;
    struct sigaction sa = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    pid_t pid;

    EXPECT(fd >= 0);
    unlink(name);
    sigaction(SIGBUS, &sa, NULL);
    EXPECT_EQ(ftruncate(fd, PAGES * PAGE), 0);
    arena = mmap(NULL, PAGES * PAGE, RW, MAP_SHARED, fd, 0);
    EXPECT(arena != MAP_FAILED);
    pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        alarm(CHECK_SECONDS);
        begin(poking);
        for (;;)
            pause();
    }
    for (int round = 0; round < 200; round++) {
        EXPECT_EQ(ftruncate(fd, PAGES / 2 * PAGE), 0);
        if (round % 8 == 0)
            sched_yield();
        EXPECT_EQ(ftruncate(fd, PAGES * PAGE), 0);
        if (sigsetjmp(escape, 1) == 0)
            for (unsigned i = 0; i < PAGES; i++)
                atomic_fetch_add(counter(i), 1);
    }
    kill(pid, SIGKILL);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A file of PAGES pages, mapped at `arena`. */
static int map_file(void)
{
    char name[] = "/tmp/t_vmrace.XXXXXX";
    int fd = mkstemp(name);

    EXPECT(fd >= 0);
    unlink(name);
    EXPECT_EQ(ftruncate(fd, PAGES * PAGE), 0);
    arena = mmap(NULL, PAGES * PAGE, RW, MAP_SHARED, fd, 0);
    EXPECT(arena != MAP_FAILED);
    return fd;
}

/* Cuts the mapping and joins it again. */
static void *cutting(void *arg)
{
    (void)arg;
    ready++;
    while (!stop) {
        mprotect(arena + PAGES / 4 * PAGE, PAGES / 4 * PAGE, PROT_READ);
        mprotect(arena + PAGES / 4 * PAGE, PAGES / 4 * PAGE, RW);
    }
    return NULL;
}

/* Removes the translations of a part of the mapping. */
static void *dropping(void *arg)
{
    (void)arg;
    ready++;
    while (!stop)
        madvise(arena + PAGES / 2 * PAGE, PAGES / 2 * PAGE, MADV_DONTNEED);
    return NULL;
}

/* Whatever happens to the mapping beside it, the part that was cut off a file is gone from all of the mapping. */
static void truncate_beside(void *(*work)(void *))
{
    /* threads that cut hold the lock of the address space nearly all the time, and CPUs may be shared */
    time_t late = time(NULL) + 5;
    int fd = map_file();

    begin(work);
    for (long round = 1; round <= 2000 && time(NULL) < late; round++) {
        atomic_store(counter(PAGES - 1), round);
        EXPECT_EQ(ftruncate(fd, 0), 0);
        EXPECT_EQ(ftruncate(fd, PAGES * PAGE), 0);
        EXPECT_EQ(atomic_load(counter(PAGES - 1)), 0);
    }
    stop = 1;
    for (unsigned i = 0; i < nthreads; i++)
        pthread_join(thread[i], NULL);
}

static void truncate_while_segments_are_cut(void)
{
    truncate_beside(cutting);
}

static void truncate_while_translations_go(void)
{
    truncate_beside(dropping);
}

/* What truncate_while_copies_fork() and its children share. */
struct cuts {
    _Atomic int begun, done; /* truncations */
    _Atomic int met, left; /* processes that met one after they had copies; copies that were left */
};

enum { COPIES = 20 };

/* Counts the copies that this process has although a truncation has begun and ended after `begun` others. */
static void look_for_copies(struct cuts *cuts, char *const copy[COPIES], int begun)
{
    if (cuts->done <= begun)
        return;
    cuts->met++;
    for (volatile int i = 0; i < COPIES; i++)
        if (sigsetjmp(escape, 1) == 0)
            cuts->left += *copy[i] != 0;
}

/* Forks for ever, with private copies of a page of file fd, and with much other memory, so that forks take long. */
static void fork_with_copies(struct cuts *cuts, int fd)
{
    enum { BYTES = 32 << 20 };
    char *other = map(BYTES, ANON), *copy[COPIES];
    struct sigaction sa = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};

    sigaction(SIGBUS, &sa, NULL);
    memset(other, 1, BYTES);
    for (;;) {
        int begun;
        pid_t pid;

        for (volatile int i = 0; i < COPIES; i++) {
            copy[i] = mmap(NULL, PAGE, RW, MAP_PRIVATE, fd, (PAGES - 1) * PAGE);
            EXPECT(copy[i] != MAP_FAILED && copy[i] < other); /* fork copies these first */
            if (sigsetjmp(escape, 1) == 0)
                *copy[i] = 1;
        }
        begun = cuts->begun;
        pid = fork();
        look_for_copies(cuts, copy, begun);
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
        for (int i = 0; i < COPIES; i++)
            EXPECT_EQ(munmap(copy[i], PAGE), 0);
    }
}

/* A file loses pages while a process that has private copies of them forks: at any moment, by real-time priority. */
static void truncate_while_copies_fork(void)
{
    struct sched_param p = {.sched_priority = 1};
    struct cuts *cuts = (struct cuts *)map(PAGE, MAP_SHARED | MAP_ANONYMOUS);
    time_t late = time(NULL) + 30; /* a busy host makes a round long */
    int fd = map_file(), status;
    pid_t pid;

    NEED_ROOT();
    bind_to(0);
    pid = fork();
    if (pid == 0)
        fork_with_copies(cuts, fd);
    EXPECT_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &p), 0);
    for (int round = 0; round < 10000 && cuts->met < 100 && time(NULL) < late; round++) {
        usleep(1000 + (useconds_t)round * 37 % 3000);
        cuts->begun++;
        EXPECT_EQ(ftruncate(fd, PAGES / 2 * PAGE), 0);
        EXPECT_EQ(ftruncate(fd, PAGES * PAGE), 0);
        cuts->done++;
    }
    kill(pid, SIGKILL);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_EQ(cuts->left, 0);
}

/* The time that the truncation of a file to half of its pages takes, ns. */
static long cut_ns(int fd)
{
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    EXPECT_EQ(ftruncate(fd, PAGES / 2 * PAGE), 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    EXPECT_EQ(ftruncate(fd, PAGES * PAGE), 0);
    return (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
}

/* Cuts a private mapping of a part of file fd, and joins it again, for ever. */
static void cut_mapping(int fd)
{
    struct sched_param p = {.sched_priority = 1};
    char *last = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, (PAGES - 2) * PAGE);

    EXPECT(last != MAP_FAILED);
    EXPECT_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &p), 0);
    for (;; usleep(100)) {
        mprotect(last, PAGE, PROT_NONE);
        mprotect(last, PAGE, PROT_READ);
    }
}

/*
 * A process that changes its mappings of a file all the time holds up a truncation of the file for a few walks over all
 * mappings only.  Runs if MODELLED is set, on a machine whose time is a number of instructions.
 */
static void truncate_is_not_held_up(void)
{
    enum { MAPPINGS = 5000 }; /* a walk takes several ms */
    int fd = map_file();
    long quiet, busy;

    if (getenv("MODELLED") == NULL)
        SKIP("compares times");
    for (int i = 0; i < MAPPINGS; i++)
        EXPECT(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (PAGES - 1) * PAGE) != MAP_FAILED);
    quiet = cut_ns(fd);
    if (fork() == 0)
        cut_mapping(fd); /* and has as many mappings */
    usleep(10000);
    busy = cut_ns(fd);
    printf("  %ld us, %ld us beside a process that maps the file\n", quiet / 1000, busy / 1000);
    EXPECT(busy < 40 * quiet);
}

/* Makes a private mapping of a page of file fd and removes it, for ever. */
static void map_and_unmap(int fd)
{
    for (;;)
        munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (PAGES - 1) * PAGE), PAGE);
}

static long sleeps(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return r.ru_nvcsw;
}

/*
 * A truncation takes the lock of each process with mappings of the file once, not once for each mapping: processes that
 * use their locks all the time let it wait for each lock.  A thread that waits for a lock sleeps a few dozen times.
 */
static void truncate_takes_each_lock_once(void)
{
    enum { MAPPINGS = 500, PROCESSES = 4 };
    int fd = map_file(), status;
    pid_t pid[PROCESSES];
    long before, slept;

    for (int i = 0; i < MAPPINGS; i++)
        EXPECT(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (PAGES - 1) * PAGE) != MAP_FAILED);
    for (int i = 0; i < PROCESSES; i++)
        if ((pid[i] = fork()) == 0)
            map_and_unmap(fd);
    usleep(100000);
    before = sleeps();
    cut_ns(fd);
    slept = sleeps() - before;
    for (int i = 0; i < PROCESSES; i++) {
        kill(pid[i], SIGKILL);
        EXPECT_EQ(waitpid(pid[i], &status, 0), pid[i]);
    }
    printf("  slept %ld times\n", slept);
    EXPECT(slept < MAPPINGS);
}

static const struct check list[] = {
    {"truncate_while_segments_are_cut", truncate_while_segments_are_cut},
    {"truncate_while_translations_go", truncate_while_translations_go},
    {"truncate_while_copies_fork", truncate_while_copies_fork},
    {"truncate_is_not_held_up", truncate_is_not_held_up},
    {"truncate_takes_each_lock_once", truncate_takes_each_lock_once},
    {"first_touch_together", first_touch_together},
    {"fork_while_threads_write", fork_while_threads_write},
    {"migrate_private", migrate_private},
    {"migrate_shared", migrate_shared},
    {"migrate_between_relatives", migrate_between_relatives},
    {"rights_go_at_once", rights_go_at_once},
    {"map_side_by_side", map_side_by_side},
    {"refused_processes_refuse_no_others", refused_processes_refuse_no_others},
    {"truncate_under_mappings", truncate_under_mappings},
};
CHECK_MAIN(list)
