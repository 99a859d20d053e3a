// SPDX-License-Identifier: MIT
/*
 * sched.c - attacks on CPU time: forbidden priorities, and large numbers of permitted calls.
 *
 * SEE ALSO    attack.h
 */
#include "attack.h"

#include "uapi/homeroom.h"

#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include <sys/times.h>

enum { STORM_THREADS = 16 };

/* Sleeping processes have CPU-time timers. */
static bool sleeping_timers(void)
{
    struct itimerval soon = {{0, 1000}, {0, 1000}};
    int n = 0;
    pid_t pid;

    while (n < 700 && (pid = fork()) >= 0) {
        if (pid == 0) {
            setitimer(ITIMER_PROF, &soon, NULL);
            setitimer(ITIMER_VIRTUAL, &soon, NULL);
            for (;;)
                pause();
        }
        n++;
    }
    answer("goes on");
    sleep(1);
    return n == 0;
}

/* Computes for 4 ms at a time, and sleeps so often that its priority stays high. */
static void compute_and_nap(useconds_t nap)
{
    struct timespec now, end;

    for (;; usleep(nap)) {
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_nsec += 4000000;
        do
            clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec < end.tv_nsec);
    }
}

/*
 * Threads of the lowest priority read the root directory, and so hold its lock as readers, while others run before them
 * on every CPU.  Some try to change the directory; the kernel must look it up to find that they may not.
 */
static bool starved_reader(void)
{
    enum { READERS = 24, HOGS = 8 };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    char bytes[32768];
    struct sched_param p = {0};

    for (int i = 0; i < READERS; i++)
        if (fork() == 0) {
            int fd = open("/", O_RDONLY | O_DIRECTORY);

            sched_setscheduler(0, SCHED_IDLE, &p);
            for (;;)
                if (i % 6 == 5)
                    chmod("/", 01777); /* the directory is not the user's */
                else if (syscall(SYS_getdents64, fd, bytes, sizeof bytes) <= 0)
                    lseek(fd, 0, SEEK_SET);
        }
    sleep(1);
    for (int i = 0; i < HOGS * cpus; i++)
        if (fork() == 0)
            compute_and_nap((useconds_t)(50 + i * 7));
    answer("goes on");
    sleep(2);
    return false;
}

static bool real_time(void)
{
    struct sched_param p = {.sched_priority = 1};

    return allowed("fifo", syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &p)) |
           allowed("rr", syscall(SYS_sched_setscheduler, 0, SCHED_RR, &p)) |
           allowed("nice", setpriority(PRIO_PROCESS, 0, -20));
}

/* The same with Solaris's calls; Linux has none of these numbers. */
static bool classes(void)
{
    struct hr_pcinfo rt = {.cls = HR_CLASS_RT}, fair = {.cls = HR_CLASS_FSS, .shares = 65535},
                     high = {.cls = HR_CLASS_TS, .upri = 60};

    return allowed("RT", syscall(SYS_priocntl, HR_P_PID, getpid(), PC_SET, &rt)) |
           allowed("shares", syscall(SYS_priocntl, HR_P_PID, getpid(), PC_SET, &fair)) |
           allowed("TS 60", syscall(SYS_priocntl, HR_P_PID, getpid(), PC_SET, &high));
}

static bool processors(void)
{
    int set = -1, old;
    char name[] = "lotsfree";

    return allowed("off-line", syscall(SYS_p_online, 1, 2)) |
           allowed("create", syscall(SYS_pset_create, &set)) |
           allowed("assign", syscall(SYS_pset_assign, 1, 1, &old, 1)) |
           allowed("destroy", syscall(SYS_pset_destroy, 1)) |
           allowed("tunable", syscall(SYS_tunable, 1, name, NULL));
}

static void *compute(void *arg)
{
    for (volatile unsigned n = 0;; n++)
        ;
    return arg;
}

static bool storm(void *(*fn)(void *))
{
    pthread_t t;
    int n = 0;

    while (n < STORM_THREADS && pthread_create(&t, NULL, fn, NULL) == 0)
        n++;
    usleep(500000);
    answer("goes on");
    return n == 0;
}

static bool computing(void)
{
    return storm(compute);
}

static void *yield(void *arg)
{
    for (;;)
        sched_yield();
    return arg;
}

static bool yields(void)
{
    return storm(yield);
}

static void *fork_and_end(void *arg)
{
    for (pid_t pid;;) {
        if ((pid = fork()) == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
    return arg;
}

static bool forks(void)
{
    return storm(fork_and_end);
}

static int word;

static void *wake_and_wait(void *arg)
{
    enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 };
    static const struct timespec soon = {0, 1000};

    for (;;) {
        syscall(SYS_futex, &word, FUTEX_WAIT, 0, &soon, NULL, 0);
        syscall(SYS_futex, &word, FUTEX_WAKE, 1000, NULL, NULL, 0);
    }
    return arg;
}

static bool futexes(void)
{
    return storm(wake_and_wait);
}

static void *to_and_fro(void *arg)
{
    int p[2];
    char c = 0;

    if (pipe(p) == 0)
        for (;;)
            if (write(p[1], &c, 1) != 1 || read(p[0], &c, 1) != 1)
                break;
    return arg;
}

static bool calls(void)
{
    return storm(to_and_fro);
}

static void ignore(int sig)
{
    (void)sig;
}

static bool alarms(void)
{
    struct itimerval fast = {{0, 1}, {0, 1}};

    signal(SIGALRM, ignore);
    tried("1 us", setitimer(ITIMER_REAL, &fast, NULL));
    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            setitimer(ITIMER_REAL, &fast, NULL);
            compute(NULL);
        }
    usleep(500000);
    return false;
}

static void *signal_oneself(void *arg)
{
    for (;;)
        kill(getpid(), SIGUSR1);
    return arg;
}

static bool signals(void)
{
    signal(SIGUSR1, ignore);
    return storm(signal_oneself);
}

/* Leaves the CPU before each tick, so that a kernel that counts ticks does not see it run. */
static bool between_ticks(void)
{
    struct tms before, after;
    struct timespec began, now, mark;
    double used, told;

    times(&before);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
    for (int i = 0; i < 100; i++) {
        clock_gettime(CLOCK_MONOTONIC, &mark);
        do
            clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - mark.tv_sec) * 1000000000L + now.tv_nsec - mark.tv_nsec < 5000000);
        usleep(1000);
    }
    times(&after);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    used = (double)(now.tv_sec - began.tv_sec) + (double)(now.tv_nsec - began.tv_nsec) / 1e9;
    told = (double)(after.tms_utime + after.tms_stime - before.tms_utime - before.tms_stime) /
           (double)sysconf(_SC_CLK_TCK);
    answer("%s", told > used / 2 ? "all of it is told" : "hidden");
    return told <= used / 2;
}

static void run_for_ever(void)
{
    struct rlimit one = {1, 1};

    setrlimit(RLIMIT_CPU, &one);
    compute(NULL);
}

static bool past_its_limit(void)
{
    return survived("RLIMIT_CPU", in_child(run_for_ever));
}

static double cpu_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double real_time_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One process for each CPU, which computes for 1 ms and continues as its own child. */
static bool own_child(void)
{
    for (long n = sysconf(_SC_NPROCESSORS_ONLN); n > 0; n--)
        if (fork() == 0)
            for (;;) {
                double end = cpu_time() + 0.001;

                while (cpu_time() < end)
                    ;
                if (fork() > 0)
                    _exit(0);
            }
    answer("goes on");
    return false;
}

/* One process for each CPU, which computes for 10 ms and sleeps for a microsecond. */
static bool short_sleeps(void)
{
    for (long n = sysconf(_SC_NPROCESSORS_ONLN); n > 0; n--)
        if (fork() == 0)
            for (;; usleep(1)) {
                double end = cpu_time() + 0.010;

                while (cpu_time() < end)
                    ;
            }
    answer("goes on");
    return false;
}

/*
 * Root computes beside as many processes of USER on each CPU, so its share is half.  true: it gets less than a quarter.
 */
static bool root_has_no_share(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    double *got = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
           all = 0, begin;

    if (got == MAP_FAILED || cpus > (long)(PAGE / sizeof *got))
        return true;
    begin = real_time_now();
    for (long i = 0; i < cpus; i++)
        if (fork() == 0) {
            while (real_time_now() < begin + 3)
                ;
            got[i] = cpu_time();
            _exit(0);
        }
    for (long i = 0; i < cpus; i++)
        wait(NULL);
    for (long i = 0; i < cpus; i++)
        all += got[i];
    all /= (real_time_now() - begin) * (double)cpus;
    if (all < 0.25)
        printf("  root has %.2f of the processors\n", all);
    return all < 0.25;
}

static const struct attack list[] = {
    {"real_time", "a real-time priority", real_time, NULL, NULL},
    {"classes", "a class, shares, a user priority", classes, NULL, NULL},
    {"processors", "processors, sets, tunables", processors, NULL, NULL},
    {"computing", "16 threads that compute", computing, NULL, NULL},
    {"yields", "16 threads that yield", yields, NULL, NULL},
    {"forks", "16 threads that fork", forks, NULL, NULL},
    {"futexes", "16 threads on one futex", futexes, NULL, NULL},
    {"calls", "16 threads in system calls", calls, NULL, NULL},
    {"sleeping_timers", "ITIMER_PROF and ITIMER_VIRTUAL of 700 processes that sleep",
     sleeping_timers, NULL, NULL},
    {"starved_reader", "a reader of the root directory that gets no CPU, and a writer",
     starved_reader, NULL, NULL},
    {"alarms", "nine timers of a microsecond", alarms, NULL, NULL},
    {"signals", "16 threads that signal their process", signals, NULL, NULL},
    {"between_ticks", "running between ticks only", between_ticks, NULL, NULL},
    {"own_child", "going on as one's own child each millisecond", own_child, root_has_no_share,
     NULL},
    {"short_sleeps", "computing with sleeps of a microsecond", short_sleeps, root_has_no_share,
     NULL},
    {"past_its_limit", "more than RLIMIT_CPU", past_its_limit, NULL, NULL},
};
ATTACK_MAIN(list)
