// SPDX-License-Identifier: MIT
/*
 * soak.c - mixed load for a long time: fork, exec, threads, pipes, mmap, signals, files, binding, processor sets.
 *
 *     usage: soak [-t seconds] [-j workers of each kind] [-s seed] [-m MiB] [-d directory]
 *         -m  one more worker and its child use this much memory again and again; if the machine has less, it is paged
 *         -d  workers write, map, cut and sync files in this directory, on a disk
 *
 * THEORY      Every worker is a process that repeats one kind of work and checks its results.  A wrong result ends the
 *             worker with a message and the run with a failure.  A first short round fills the caches, and then the
 *             machine's free memory is recorded.  After the real round as much must be free again, up to a margin: what
 *             is missing has leaked.
 * INVARIANTS  I1  a worker leaves nothing behind: no child, no file
 * SEE ALSO    tools/soak, tests/test_hardening.py
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/lgrp_user.h>
#include <sys/mman.h>
#include <sys/processor.h>
#include <sys/pset.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE        4096
#define WARM_UP     5 /* seconds */
#define MAX_WORKERS 256
/* The growth of caches: of the machine, and of each CPU's magazines. */
#define MARGIN_KIB  (4096 + 64 * sysconf(_SC_NPROCESSORS_CONF))

static time_t end;
static unsigned rounds;
static size_t memory_mib;     /* -m; 0: none */
static const char *directory; /* -d; NULL: none */

static void fail(const char *what)
{
    printf("soak: %s (errno %d)\n", what, errno);
    fflush(stdout);
    _exit(1);
}

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail(#condition);                                                                      \
    } while (0)

static int status_of(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        REQUIRE(errno == EINTR);
    return status;
}

static void forking(void)
{
    pid_t pid[8];

    for (int i = 0; i < 8; i++) {
        REQUIRE((pid[i] = fork()) >= 0);
        if (pid[i] == 0)
            _exit(i);
    }
    for (int i = 0; i < 8; i++)
        REQUIRE(WEXITSTATUS(status_of(pid[i])) == i);
}

static void executing(void)
{
    pid_t pid = fork();

    REQUIRE(pid >= 0);
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "x=$(echo a b c | wc -w); exit $((x))", (char *)NULL);
        _exit(99);
    }
    REQUIRE(WEXITSTATUS(status_of(pid)) == 3);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *count(void *arg)
{
    for (int i = 0; i < 500; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
        if (i % 50 == 0)
            sched_yield();
    }
    return arg;
}

static void threading(void)
{
    pthread_t thread[8];

    counter = 0;
    for (int i = 0; i < 8; i++)
        REQUIRE(pthread_create(&thread[i], NULL, count, NULL) == 0);
    for (int i = 0; i < 8; i++)
        REQUIRE(pthread_join(thread[i], NULL) == 0);
    REQUIRE(counter == 8 * 500);
}

static void piping(void)
{
    unsigned char buf[5000];
    int fd[2];
    long got = 0;
    ssize_t n;
    pid_t pid;

    REQUIRE(pipe(fd) == 0);
    REQUIRE((pid = fork()) >= 0);
    if (pid == 0) {
        for (int i = 0; i < 20; i++) {
            for (size_t k = 0; k < sizeof buf; k++)
                buf[k] = (unsigned char)(i * sizeof buf + k);
            for (size_t at = 0; at < sizeof buf; at += (size_t)n)
                if ((n = write(fd[1], buf + at, sizeof buf - at)) <= 0)
                    _exit(1);
        }
        _exit(0);
    }
    close(fd[1]);
    while ((n = read(fd[0], buf, sizeof buf)) > 0)
        for (ssize_t k = 0; k < n; k++, got++)
            REQUIRE(buf[k] == (unsigned char)got);
    close(fd[0]);
    REQUIRE(got == 20 * (long)sizeof buf);
    REQUIRE(status_of(pid) == 0);
}

static void mapping(void)
{
    size_t half = 8 + (size_t)rand() % 120, pages = 2 * half;
    unsigned char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                            -1, 0),
                  *q;
    pid_t pid;

    REQUIRE(p != MAP_FAILED);
    for (size_t i = 0; i < pages; i++)
        p[i * PAGE] = (unsigned char)i;
    REQUIRE((pid = fork()) >= 0);
    if (pid == 0) {
        memset(p, 0xee, pages * PAGE);
        _exit(0);
    }
    REQUIRE(munmap(p + half * PAGE, half * PAGE) == 0);
    q = mremap(p, half * PAGE, 2 * pages * PAGE, MREMAP_MAYMOVE);
    REQUIRE(q != MAP_FAILED);
    for (size_t i = 0; i < 2 * pages; i++)
        REQUIRE(q[i * PAGE] == (i < half ? (unsigned char)i : 0));
    REQUIRE(status_of(pid) == 0);
    REQUIRE(munmap(q, 2 * pages * PAGE) == 0);
}

static volatile sig_atomic_t caught;

static void on_signal(int signal)
{
    (void)signal;
    caught++;
}

static void signalling(void)
{
    struct sigaction sa = {.sa_handler = on_signal};
    pid_t parent = getpid(), pid;
    sigset_t block, old;

    sigaction(SIGUSR1, &sa, NULL);
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    sigprocmask(SIG_BLOCK, &block, &old);
    REQUIRE((pid = fork()) >= 0);
    if (pid == 0) {
        for (int i = 0; i < 20; i++) {
            kill(parent, SIGUSR1);
            sched_yield();
        }
        _exit(0);
    }
    caught = 0;
    while (caught == 0)
        sigsuspend(&old);
    REQUIRE(status_of(pid) == 0);
    sigprocmask(SIG_SETMASK, &old, NULL);
    REQUIRE(caught >= 1 && caught <= 20);
}

static void filing(void)
{
    char name[64], other[64], buf[3 * PAGE];
    int fd;

    snprintf(name, sizeof name, "/tmp/soak.%d.a", (int)getpid());
    snprintf(other, sizeof other, "/tmp/soak.%d.b", (int)getpid());
    REQUIRE((fd = open(name, O_CREAT | O_EXCL | O_RDWR, 0600)) >= 0);
    memset(buf, rand() % 256, sizeof buf);
    for (int i = 0; i < 8; i++)
        REQUIRE(write(fd, buf, sizeof buf) == sizeof buf);
    REQUIRE(rename(name, other) == 0);
    REQUIRE(lseek(fd, 5 * (long)sizeof buf - 10, SEEK_SET) > 0);
    REQUIRE(read(fd, buf, 20) == 20 && buf[0] == buf[19]);
    REQUIRE(ftruncate(fd, 100) == 0);
    REQUIRE(unlink(other) == 0);
    REQUIRE(close(fd) == 0);
}

/* Moves from CPU to CPU, and its memory with it. */
static void binding(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    size_t bytes = 32 * PAGE;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    REQUIRE(p != MAP_FAILED);
    memset(p, 0x5a, bytes);
    for (int i = 0; i < 4; i++) {
        int cpu = (int)(rand() % cpus);
        uint64_t address = (uint64_t)p, lgrp;
        uint_t request = MEMINFO_VLGRP, valid;

        if (processor_bind(P_LWPID, (id_t)P_MYID, cpu, NULL) != 0)
            continue; /* there is no such CPU, or it is off-line now */
        REQUIRE(madvise(p, bytes, i % 2 ? MADV_ACCESS_LWP : MADV_ACCESS_MANY) == 0);
        for (size_t at = 0; at < bytes; at += PAGE)
            REQUIRE(p[at] == 0x5a);
        REQUIRE(meminfo(&address, 1, &request, 1, &lgrp, &valid) == 0 && valid == 3);
    }
    REQUIRE(processor_bind(P_LWPID, (id_t)P_MYID, PBIND_NONE, NULL) == 0);
    REQUIRE(munmap(p, bytes) == 0);
}

/* Takes a CPU off-line and back.  Only the first worker of this kind does it. */
static void switching(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int cpu = (int)(rand() % cpus);
    struct timespec moment = {0, 50 * 1000 * 1000};

    if (p_online(cpu, P_OFFLINE) >= 0) {
        nanosleep(&moment, NULL);
        REQUIRE(p_online(cpu, P_ONLINE) >= 0);
    }
    nanosleep(&moment, NULL);
}

/* Makes a set of one CPU, works in it, and destroys it.  The CPU may be off-line, or the last one outside of sets. */
static void fencing(void)
{
    psetid_t set;
    int cpu = (int)(rand() % sysconf(_SC_NPROCESSORS_CONF));

    REQUIRE(pset_create(&set) == 0);
    if (pset_assign(set, cpu, NULL) == 0 && pset_bind(set, P_PID, P_MYID, NULL) == 0)
        threading();
    REQUIRE(pset_destroy(set) == 0);
}

static void protecting(void)
{
    enum { PAGES = 64 };
    unsigned char *p =
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    REQUIRE(p != MAP_FAILED);
    for (int i = 0; i < PAGES; i++)
        p[i * PAGE] = (unsigned char)(i + 1);
    for (int i = 0; i < PAGES; i += 4)
        REQUIRE(mprotect(p + i * PAGE, 2 * PAGE, i % 8 ? PROT_READ : PROT_NONE) == 0);
    REQUIRE(munmap(p + 16 * PAGE, 8 * PAGE) == 0);
    for (int i = 0; i < PAGES; i += 8)
        REQUIRE(i == 16 || mprotect(p + i * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE) == 0);
    for (int i = 0; i < PAGES; i++)
        REQUIRE((i >= 16 && i < 24) || p[i * PAGE] == i + 1);
    REQUIRE(munmap(p, PAGES * PAGE) == 0);
}

static int good_or_bus(int status)
{
    return status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

/* A 2 MiB page, shared with a child until the child writes.  If there is no such page left, a touch gives SIGBUS. */
static void huge(void)
{
    enum { BYTES = 2 << 20 };
    pid_t pid = fork();

    REQUIRE(pid >= 0);
    if (pid == 0) {
        unsigned char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

        REQUIRE(p != MAP_FAILED);
        for (size_t at = 0; at < BYTES; at += PAGE)
            p[at] = (unsigned char)(at / PAGE);
        REQUIRE((pid = fork()) >= 0);
        if (pid == 0) {
            p[BYTES - 1] = 1;
            _exit(p[PAGE] == 1 ? 0 : 1);
        }
        REQUIRE(good_or_bus(status_of(pid)) && p[BYTES - 1] == 0);
        _exit(0);
    }
    REQUIRE(good_or_bus(status_of(pid)));
}

/* Private memory whose words contain their places; a child changes its whole copy. */
static void paging(void)
{
    size_t words = memory_mib << 17, step = PAGE / sizeof(uint64_t);
    uint64_t *p =
        mmap(NULL, words * sizeof *p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t tag = (uint64_t)rand() << 32;
    pid_t pid;

    REQUIRE(p != MAP_FAILED);
    for (size_t i = 0; i < words; i += step)
        p[i] = tag + i;
    REQUIRE((pid = fork()) >= 0);
    if (pid == 0) {
        for (size_t i = 0; i < words; i += step)
            if (p[i]++ != tag + i)
                _exit(1);
        for (size_t i = 0; i < words; i += step)
            if (p[i] != tag + i + 1)
                _exit(2);
        _exit(0);
    }
    for (size_t i = 0; i < words; i += step)
        REQUIRE(p[i] == tag + i);
    REQUIRE(status_of(pid) == 0);
    REQUIRE(munmap(p, words * sizeof *p) == 0);
}

/* A file on the disk is written, written through a mapping, synced, cut and checked. */
static void syncing(void)
{
    enum { PAGES = 24, CUT = 9 * PAGE + 100 };
    char name[128], buf[PAGE];
    unsigned char value = (unsigned char)(1 + rand() % 255), *p;
    int fd;

    snprintf(name, sizeof name, "%s/soak.%d", directory, (int)getpid());
    REQUIRE((fd = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600)) >= 0);
    memset(buf, value, sizeof buf);
    for (int i = 0; i < PAGES; i++)
        REQUIRE(pwrite(fd, buf, sizeof buf, (off_t)i * PAGE) == PAGE);
    REQUIRE((p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) !=
            MAP_FAILED);
    for (int i = 0; i < PAGES; i += 3)
        p[i * PAGE] = 0;
    REQUIRE(rand() % 2 ? fsync(fd) == 0 : msync(p, PAGES * PAGE, MS_SYNC) == 0);
    REQUIRE(ftruncate(fd, CUT) == 0);
    for (int i = 0; i * PAGE < CUT; i++)
        REQUIRE(p[i * PAGE] == (i % 3 ? value : 0) && p[i * PAGE + 1] == value);
    REQUIRE(munmap(p, PAGES * PAGE) == 0);
    REQUIRE(ftruncate(fd, PAGES * PAGE) == 0);
    REQUIRE(pread(fd, buf, sizeof buf, CUT - 1) == PAGE && (unsigned char)buf[0] == value &&
            buf[1] == 0);
    REQUIRE(close(fd) == 0 && unlink(name) == 0);
}

static const struct kind {
    const char *name;
    void (*work)(void);
    /* ONE: a single worker, whatever -j says; MEMORY: the same, with -m; DISK: with -d */
    enum { EACH, ONE, MEMORY, DISK } who;
} kinds[] = {
    {"fork", forking, EACH},    {"exec", executing, EACH},     {"threads", threading, EACH},
    {"pipes", piping, EACH},    {"mmap", mapping, EACH},       {"signals", signalling, EACH},
    {"files", filing, EACH},    {"binding", binding, EACH},    {"switching", switching, ONE},
    {"sets", fencing, ONE},     {"protect", protecting, EACH}, {"huge", huge, ONE},
    {"memory", paging, MEMORY}, {"syncs", syncing, DISK},
};

static int workers(const struct kind *k, int jobs)
{
    switch (k->who) {
    case EACH:
        return jobs;
    case ONE:
        return 1;
    case MEMORY:
        return memory_mib != 0;
    case DISK:
        return directory != NULL ? jobs : 0;
    }
    return 0;
}
#define NKINDS ((int)(sizeof kinds / sizeof kinds[0]))

static long long free_kib(void)
{
    lgrp_cookie_t cookie = lgrp_init(LGRP_VIEW_OS);
    long long bytes =
        cookie == LGRP_COOKIE_NONE
            ? 0
            : lgrp_mem_size(cookie, lgrp_root(cookie), LGRP_MEM_SZ_FREE, LGRP_CONTENT_ALL);

    if (cookie != LGRP_COOKIE_NONE)
        lgrp_fini(cookie);
    return bytes / 1024;
}

/* One round of all kinds.  Returns the number of workers that failed. */
static int round_of_work(int seconds, int jobs, unsigned seed)
{
    pid_t pid[MAX_WORKERS];
    int n = 0, failed = 0;

    end = time(NULL) + seconds;
    for (int k = 0; k < NKINDS; k++) {
        for (int j = 0; j < workers(&kinds[k], jobs) && n < MAX_WORKERS; j++) {
            fflush(stdout);
            if ((pid[n] = fork()) < 0)
                fail("fork of a worker");
            if (pid[n] == 0) {
                srand(seed + (unsigned)n);
                while (time(NULL) < end) {
                    kinds[k].work();
                    rounds++;
                }
                if (j == 0 && seconds > WARM_UP)
                    printf("soak: %-9s %u rounds\n", kinds[k].name, rounds);
                fflush(stdout);
                _exit(0);
            }
            n++;
        }
    }
    for (int i = 0; i < n; i++)
        failed += status_of(pid[i]) != 0;
    return failed;
}

int main(int argc, char **argv)
{
    int seconds = 60, jobs = 2, failed, opt;
    unsigned seed = (unsigned)time(NULL);
    long long before, after;

    while ((opt = getopt(argc, argv, "t:j:s:m:d:")) != -1) {
        if (opt == 't')
            seconds = atoi(optarg);
        else if (opt == 'j')
            jobs = atoi(optarg);
        else if (opt == 's')
            seed = (unsigned)strtoul(optarg, NULL, 0);
        else if (opt == 'm')
            memory_mib = strtoul(optarg, NULL, 0);
        else if (opt == 'd')
            directory = optarg;
        else
            return 2;
    }
    printf("soak: %d seconds, %d workers of each kind, seed %u\n", seconds, jobs, seed);
    failed = round_of_work(WARM_UP, jobs, seed);
    before = free_kib();
    failed += round_of_work(seconds, jobs, seed + MAX_WORKERS);
    after = free_kib();
    printf("soak: free memory %lld KiB before, %lld KiB after\n", before, after);
    if (after < before - MARGIN_KIB) {
        printf("soak: %lld KiB are gone\n", before - after);
        failed++;
    }
    printf("soak: %s\n", failed ? "FAILED" : "ok");
    return failed != 0;
}
