// SPDX-License-Identifier: MIT
/* t_time.c - clocks, sleeping, and the vDSO's clock_gettime and getcpu compared with the system calls. */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#define MS 1000000LL

static long long nanoseconds(const struct timespec *t)
{
    return t->tv_sec * 1000000000LL + t->tv_nsec;
}

static long long clock_now(clockid_t clock)
{
    struct timespec t;

    EXPECT_EQ(clock_gettime(clock, &t), 0);
    return nanoseconds(&t);
}

static void never_goes_back(void)
{
    long long last = clock_now(CLOCK_MONOTONIC);

    for (int i = 0; i < 20000; i++) {
        long long now = clock_now(CLOCK_MONOTONIC);

        EXPECT(now >= last);
        last = now;
    }
}

/* Readings on different CPUs must not go back either. */
static void same_on_every_cpu(void)
{
    cpu_set_t all, one;
    long long last = clock_now(CLOCK_MONOTONIC);

    EXPECT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    for (int round = 0; round < 3; round++) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            long long now;

            if (!CPU_ISSET(cpu, &all))
                continue;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
            now = clock_now(CLOCK_MONOTONIC);
            EXPECT(now >= last);
            last = now;
        }
    }
}

static void vdso_agrees(void)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};
    struct timespec t;

    for (int i = 0; i < 2; i++) {
        long long a = clock_now(clocks[i]), b, c;

        EXPECT_EQ(syscall(SYS_clock_gettime, clocks[i], &t), 0);
        b = nanoseconds(&t);
        c = clock_now(clocks[i]);
        EXPECT(a <= b && b <= c);
    }
    EXPECT(getauxval(AT_SYSINFO_EHDR) != 0);
}

static void date_is_plausible(void)
{
    struct timeval tv;
    time_t now = time(NULL);

    EXPECT(now > 1600000000);
    EXPECT_EQ(gettimeofday(&tv, NULL), 0);
    EXPECT(tv.tv_sec >= now && tv.tv_sec <= time(NULL) + 1);
}

static void sleeps_long_enough(void)
{
    static const long long wanted[] = {0, 1 * MS, 20 * MS, 100 * MS};

    for (int i = 0; i < 4; i++) {
        struct timespec t = {0, (long)wanted[i]};
        long long start = clock_now(CLOCK_MONOTONIC), took;

        EXPECT_EQ(nanosleep(&t, NULL), 0);
        took = clock_now(CLOCK_MONOTONIC) - start;
        EXPECT(took >= wanted[i]);
        EXPECT(took < wanted[i] + 5000 * MS);
    }
}

static void sleeps_until(void)
{
    long long goal = clock_now(CLOCK_MONOTONIC) + 50 * MS;
    struct timespec t = {goal / 1000000000, goal % 1000000000};

    EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL), 0);
    EXPECT(clock_now(CLOCK_MONOTONIC) >= goal);
    /* in the past: returns at once */
    EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL), 0);
}

static void bad_arguments(void)
{
    struct timespec bad = {0, 1000000000}, negative = {-1, 0};

    EXPECT_ERR(nanosleep(&bad, NULL), EINVAL);
    EXPECT_ERR(nanosleep(&negative, NULL), EINVAL);
    EXPECT_ERR(syscall(SYS_clock_gettime, 99, &bad), EINVAL);
    EXPECT_ERR(syscall(SYS_nanosleep, (void *)16, NULL), EFAULT);
    EXPECT_ERR(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (void *)16), EFAULT);
}

static void cpu_clocks(void)
{
    long long start = clock_now(CLOCK_PROCESS_CPUTIME_ID), now;
    struct timespec t = {0, 500 * MS};

    nanosleep(&t, NULL);
    now = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    /* sleeping uses no CPU time; but a virtual CPU that waits for one of the host's counts as used */
    EXPECT(now - start < 250 * MS);
    for (volatile int i = 0; i < 20000000; i++)
        ;
    EXPECT(clock_now(CLOCK_PROCESS_CPUTIME_ID) > now);
    EXPECT(clock_now(CLOCK_THREAD_CPUTIME_ID) > 0);
}

/* User and system time, as returned by one of the calls. */
struct told {
    long long user, sys;
};

static struct told tell(int way)
{
    struct rusage ru;
    struct tms t;
    char text[512];
    unsigned long user, sys;
    FILE *f;

    if (way < 2) {
        EXPECT_EQ(getrusage(way == 0 ? RUSAGE_SELF : RUSAGE_THREAD, &ru), 0);
        return (struct told){ru.ru_utime.tv_sec * 1000000LL + ru.ru_utime.tv_usec,
                             ru.ru_stime.tv_sec * 1000000LL + ru.ru_stime.tv_usec};
    }
    if (way == 2) {
        EXPECT(times(&t) != (clock_t)-1);
        return (struct told){t.tms_utime, t.tms_stime};
    }
    f = fopen(way == 3 ? "/proc/self/stat" : "/proc/thread-self/stat", "r");
    EXPECT(f != NULL && fgets(text, sizeof text, f) != NULL);
    fclose(f);
    EXPECT_EQ(sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                     &user, &sys),
              2);
    return (struct told){(long long)user, (long long)sys};
}

/*
 * Neither part of the CPU time shrinks, whatever the thread does in turn.  Each call is tested with 20 ms of each kind
 * of work.
 */
static void usage_never_goes_back(void)
{
    struct told last[5] = {{0, 0}};

    for (int turn = 0; turn < 12; turn++) {
        long long end = clock_now(CLOCK_THREAD_CPUTIME_ID) + 20 * MS;

        while (clock_now(CLOCK_THREAD_CPUTIME_ID) < end) {
            for (int way = 0; way < 5; way++) {
                struct told now = tell(way);

                EXPECT(now.user >= last[way].user && now.sys >= last[way].sys);
                last[way] = now;
            }
            for (volatile int i = 0; turn % 2 == 0 && i < 100000; i++)
                ;
            usleep(1); /* a switch between threads counts the samples */
        }
    }
}

/* A process with a limit on its CPU time: it computes with two threads and records each SIGXCPU. */
static struct {
    long long at[8]; /* CPU time, in seconds; not exact, because Linux counts ticks */
    _Atomic int n, enough;
    int status; /* of the process, after its end */
} *seen;

static void on_xcpu(int sig)
{
    (void)sig;
    seen->at[seen->n] = (clock_now(CLOCK_PROCESS_CPUTIME_ID) + 500 * MS) / (1000 * MS);
    seen->n++;
}

static void *compute(void *arg)
{
    while (seen->n < seen->enough)
        ;
    _exit(0);
    return arg;
}

/*
 * Runs a process with a limit until its end or until it has had `enough` signals.  Another process sets the limit, it
 * is inherited, and all threads count.  Returns the status of the process.
 */
static int compute_with_limit(rlim_t soft, rlim_t hard, int enough)
{
    struct rlimit limit = {soft, hard};
    int status, go[2];
    pthread_t t;
    pid_t child;
    char c;

    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(seen != MAP_FAILED);
    seen->enough = enough;
    EXPECT_EQ(pipe(go), 0);
    child = fork();
    if (child == 0) {
        EXPECT_EQ(read(go[0], &c, 1), 1);
        if ((child = fork()) == 0) {
            signal(SIGXCPU, on_xcpu);
            pthread_create(&t, NULL, compute, NULL);
            compute(NULL);
        }
        EXPECT_EQ(waitpid(child, &seen->status, 0), child);
        _exit(0);
    }
    EXPECT_EQ(syscall(SYS_prlimit64, child, RLIMIT_CPU, &limit, NULL), 0);
    EXPECT_EQ(write(go[1], "", 1), 1);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return seen->status;
}

/*
 * A signal comes in each second from the soft limit on, and the hard limit ends the process.  A busy host can let
 * seconds pass without a check: then a signal comes later, and before the hard limit none can come at all.
 */
static void cpu_time_is_limited(void)
{
    int status;

    EXPECT_EQ(compute_with_limit(1, RLIM_INFINITY, 2), 0);
    EXPECT_EQ(seen->n, 2);
    EXPECT(seen->at[0] >= 1 && seen->at[1] >= 2);
    status = compute_with_limit(1, 2, 8);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT(seen->n <= 1);
}

/* Without a handler the signal ends the process, also one that never runs for a whole time slice. */
static void cpu_limit_ends_a_process(void)
{
    struct rlimit limit = {1, RLIM_INFINITY};
    int status;
    pid_t child = fork();

    if (child == 0) {
        EXPECT_EQ(setrlimit(RLIMIT_CPU, &limit), 0);
        for (;;) {
            for (volatile int i = 0; i < 1000000; i++)
                ;
            usleep(1);
        }
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
}

static void set_clock(long seconds)
{
    struct timespec t;

    EXPECT_EQ(clock_gettime(CLOCK_REALTIME, &t), 0);
    t.tv_sec += seconds;
    EXPECT_EQ(clock_settime(CLOCK_REALTIME, &t), 0);
}

/* A sleep until a time of day ends then, also if the clock is set meanwhile; other sleeps are not affected. */
static void sleeps_until_the_clock_is_set(void)
{
    enum { DAY, DAY_FAR, RELATIVE, MONO, KINDS };
    struct timespec t[KINDS] = {{0, 0}};
    pid_t child[KINDS];
    int status;

    if (!on_homeroom() || geteuid() != 0)
        SKIP("sets the time of day");
    EXPECT_EQ(clock_gettime(CLOCK_REALTIME, &t[DAY]), 0);
    EXPECT_EQ(clock_gettime(CLOCK_MONOTONIC, &t[MONO]), 0);
    t[DAY_FAR] = t[DAY];
    t[DAY].tv_sec += 1000;
    t[DAY_FAR].tv_sec += 5000;
    t[RELATIVE].tv_sec = 1000;
    t[MONO].tv_sec += 1000;
    for (int i = 0; i < KINDS; i++) {
        child[i] = fork();
        if (child[i] == 0)
            _exit(clock_nanosleep(i == MONO ? CLOCK_MONOTONIC : CLOCK_REALTIME,
                                  i == RELATIVE ? 0 : TIMER_ABSTIME, &t[i], NULL));
    }
    usleep(50000);
    set_clock(500);
    usleep(20000);
    EXPECT_EQ(waitpid(-1, &status, WNOHANG), 0);
    set_clock(-100);
    set_clock(1000);
    EXPECT_EQ(waitpid(-1, &status, 0), child[DAY]);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(waitpid(-1, &status, WNOHANG), 0);
    EXPECT_EQ(kill(child[DAY_FAR], SIGTERM), 0);
    EXPECT_EQ(waitpid(-1, &status, 0), child[DAY_FAR]);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    set_clock(-1400);
    EXPECT_EQ(waitpid(-1, &status, WNOHANG), 0);
}

static void getcpu_agrees(void)
{
    cpu_set_t all, one;
    unsigned cpu, node;

    EXPECT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    for (int want = 0; want < CPU_SETSIZE; want++) {
        if (!CPU_ISSET(want, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(want, &one);
        EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        EXPECT_EQ(sched_getcpu(), want);
        EXPECT_EQ(syscall(SYS_getcpu, &cpu, &node, NULL), 0);
        EXPECT_EQ(cpu, want);
    }
}

static void alarms(void)
{
    unsigned left;

    signal(SIGALRM, SIG_IGN);
    EXPECT(alarm(100) <= CHECK_SECONDS); /* set by the frame of the test */
    left = alarm(0);
    EXPECT(left > 50 && left <= 100);
}

static void on_alarm(int sig)
{
    (void)sig;
}

static void *send_alarms(void *arg)
{
    for (;;)
        kill(getpid(), SIGALRM);
    return arg;
}

/* A signal taken while the timer's function runs on another CPU arms the timer: neither waits for the other. */
static void alarms_from_threads_too(void)
{
    struct itimerval it = {{0, 50}, {0, 50}};
    pid_t child = fork();
    pthread_t t;

    if (child == 0) {
        signal(SIGALRM, on_alarm);
        for (int i = 0; i < 2; i++)
            EXPECT_EQ(pthread_create(&t, NULL, send_alarms, NULL), 0);
        EXPECT_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
        send_alarms(NULL);
    }
    for (int i = 0; i < 30; i++)
        EXPECT_EQ(usleep(100000), 0);
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(waitpid(child, NULL, 0), child);
}

/* A process's changes to its vDSO do not affect others. */
static void vdso_is_safe(void)
{
    unsigned char *vdso = (unsigned char *)getauxval(AT_SYSINFO_EHDR);
    unsigned char before = vdso[15]; /* padding in the ELF header */
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        madvise(vdso, 4096, MADV_DONTNEED);
        madvise(vdso, 4096, MADV_REMOVE);
        if (mprotect(vdso, 4096, PROT_READ | PROT_WRITE) == 0)
            vdso[15] = (unsigned char)~before;
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(vdso[15], before);
    EXPECT_EQ(vdso[0], 0x7f);
}

/* The interrupts of all CPUs so far. */
static long interrupts(void)
{
    char line[256];
    long n = -1;
    FILE *f = fopen("/proc/stat", "r");

    EXPECT(f != NULL);
    while (n < 0 && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "intr %ld", &n) != 1)
            n = -1;
    fclose(f);
    return n;
}

/* The CPU-time timers of sleeping threads are not checked again and again. */
static void timers_of_who_sleeps(void)
{
    enum { SLEEPERS = 10, ALLOWED = 500 /* the clock makes 100 */ };
    const struct itimerval soon = {{0, 1}, {0, 1}};
    pid_t pid[SLEEPERS];
    long before;

    if (!on_homeroom())
        SKIP("others make interrupts, too");
    for (int i = 0; i < SLEEPERS; i++) {
        EXPECT((pid[i] = fork()) >= 0);
        if (pid[i] == 0) {
            signal(SIGPROF, SIG_IGN);
            signal(SIGVTALRM, SIG_IGN);
            setitimer(ITIMER_PROF, &soon, NULL);
            setitimer(ITIMER_VIRTUAL, &soon, NULL);
            for (;;)
                pause();
        }
    }
    usleep(300000);
    before = interrupts();
    sleep(1);
    before = interrupts() - before;
    printf("  %ld interrupts\n", before);
    EXPECT(before < ALLOWED);
    for (int i = 0; i < SLEEPERS; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
}

static const struct check list[] = {
    {"timers_of_who_sleeps", timers_of_who_sleeps},
    {"never_goes_back", never_goes_back},
    {"same_on_every_cpu", same_on_every_cpu},
    {"vdso_agrees", vdso_agrees},
    {"vdso_is_safe", vdso_is_safe},
    {"date_is_plausible", date_is_plausible},
    {"sleeps_long_enough", sleeps_long_enough},
    {"sleeps_until", sleeps_until},
    {"bad_arguments", bad_arguments},
    {"cpu_clocks", cpu_clocks},
    {"usage_never_goes_back", usage_never_goes_back},
    {"cpu_time_is_limited", cpu_time_is_limited},
    {"cpu_limit_ends_a_process", cpu_limit_ends_a_process},
    {"sleeps_until_the_clock_is_set", sleeps_until_the_clock_is_set},
    {"getcpu_agrees", getcpu_agrees},
    {"alarms", alarms},
    {"alarms_from_threads_too", alarms_from_threads_too},
};
CHECK_MAIN(list)
