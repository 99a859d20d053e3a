// SPDX-License-Identifier: MIT
/*
 * t_fireplane.c - the interconnect model as programs see it: the device, time that moves with threads, counters.
 *
 * THEORY      The first test applies without the model, the others with it.  `page` needs only a page with a model's
 *             header; the rest needs the model itself.  Nothing here depends on wall-clock time: the test reads
 *             /proc/PID/task until a thread sleeps.
 * SEE ALSO    tests/test_fireplane_guest.py
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"
#include "fireplane.h"
#include "uapi/homeroom.h"

enum { BURN = 200000, THREADS = 12, NOBODY = 65534 };

static void need_model(void)
{
    if (fp_open() != 0)
        SKIP("no model");
}

static void need_counting(void)
{
    need_model();
    if (fp_header()->boards_known == 0 || fp_header()->params[0] == '\0')
        SKIP("a page, but no model behind it");
    fp_arm();
}

/* Executes user instructions and some accesses to memory. */
static void burn(int loops)
{
    static _Thread_local volatile uint64_t cell[512];

    for (int i = 0; i < loops; i++)
        cell[i % 512]++;
}

static void run_on(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(sched_getcpu(), cpu);
}

static int ask(int fd, int pid, int lwpid, struct fp_lwp *q)
{
    *q = (struct fp_lwp){.pid = pid, .lwpid = lwpid};
    return ioctl(fd, FPIOC_LWP, q);
}

/* ---- the device ---- */

static void no_model(void)
{
    struct fp_counts c;

    if (fp_open() == 0)
        SKIP("there is a model");
    EXPECT_EQ(errno, ENODEV);
    EXPECT_ERR(open("/dev/fireplane", O_RDONLY), ENODEV);
    EXPECT_EQ(fp_now_ps(), 0);
    memset(&c, 1, sizeof c);
    fp_read(&c);
    EXPECT(c.time_ps == 0 && c.instr == 0 && c.queue_ps[FP_RES_COUNT - 1] == 0);
    EXPECT_EQ(fp_read_cpu(0, &c), -1);
    EXPECT(fp_header() == NULL);
    fp_arm();
    fp_disarm();
    EXPECT_ERR(syscall(SYS_track, 1), ENODEV);
}

/*
 * A process that finds the model armed leaves it armed.  A process that armed it gets an error when another has
 * disarmed it.
 */
static void arming(void)
{
    int go[2], done[2], status;
    char byte = 0;
    pid_t child;

    need_counting();
    fp_disarm();
    FP_DOORBELL(FP_OP_DISARM);
    EXPECT(pipe(go) == 0 && pipe(done) == 0);
    child = fork(); /* is made before the parent arms the model */
    if (child == 0) {
        EXPECT_EQ(read(go[0], &byte, 1), 1);
        EXPECT(fp_arm() == 0 && fp_disarm() == 0 && fp_header()->armed);
        EXPECT_EQ(write(done[1], &byte, 1), 1);
        EXPECT_EQ(read(go[0], &byte, 1), 1);
        FP_DOORBELL(FP_OP_DISARM);
        _exit(CHECK_PASS);
    }
    EXPECT_EQ(fp_arm(), 0);
    EXPECT(write(go[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1);
    EXPECT_EQ(fp_disarm(), 0);
    EXPECT(!fp_header()->armed);
    EXPECT_EQ(fp_arm(), 0);
    EXPECT_EQ(write(go[1], &byte, 1), 1);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT_EQ(fp_disarm(), -1);
}

static void page(void)
{
    struct fp_lwp q;
    struct fp_counts c;
    char *map, *copy;
    pid_t child;
    int fd, status;

    need_model();
    EXPECT_ERR(open("/dev/fireplane", O_RDWR), EACCES);
    EXPECT_ERR(open("/dev/fireplane", O_WRONLY), EACCES);
    fd = open("/dev/fireplane", O_RDONLY);
    EXPECT(fd >= 0);
    EXPECT_ERR(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0,
               EACCES);
    map = mmap(NULL, FP_PUBLIC_BYTES + 4096, PROT_READ, MAP_SHARED, fd, 0);
    copy = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    EXPECT(map != MAP_FAILED && copy != MAP_FAILED);
    EXPECT(((struct fp_header *)map)->magic == FP_MAGIC &&
           ((struct fp_header *)copy)->magic == FP_MAGIC);
    EXPECT_ERR(mprotect(map, 4096, PROT_READ | PROT_WRITE), EACCES);
    copy[0] = 'x';
    EXPECT(map[0] == 'F');
    /* The pages of the device stay where they are.  A user gives no advice on pages that others write. */
    if (geteuid() == 0)
        EXPECT_EQ(madvise(map, FP_PUBLIC_BYTES, HR_MADV_ACCESS_LWP), 0);
    else
        EXPECT_ERR(madvise(map, FP_PUBLIC_BYTES, HR_MADV_ACCESS_LWP), EACCES);
    run_on((int)fp_header()->ncpus - 1);
    EXPECT(map[0] == 'F' && map[FP_PUBLIC_BYTES - 1] == 0);
    child = fork();
    if (child == 0)
        _exit(map[FP_PUBLIC_BYTES]); /* the kernel's part */
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    child = fork();
    if (child == 0) {
        *(volatile char *)map = 'x';
        _exit(0);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);

    EXPECT_ERR(ioctl(fd, 0x5401, &q), ENOTTY);
    EXPECT_ERR(ioctl(fd, FPIOC_LWP, (void *)8), EFAULT);
    EXPECT_ERR(ask(fd, 32767, 1, &q), ESRCH);
    EXPECT_ERR(ask(fd, -5, 1, &q), ESRCH);
    EXPECT_ERR(ask(fd, 0, 2, &q), ESRCH);
    EXPECT_EQ(ask(fd, 0, -1, &q), 0);
    EXPECT(q.pid == getpid() && q.lwpid == 1);
    EXPECT_EQ(fp_read_cpu((int)fp_header()->ncpus, &c), -1);
    EXPECT_EQ(fp_read_cpu(-1, &c), -1);
    EXPECT_EQ(fp_read_cpu(0, &c), 0);
    EXPECT_EQ(munmap(map, FP_PUBLIC_BYTES + 4096), 0);
    EXPECT(geteuid() != 0 || setresuid(NOBODY, NOBODY, NOBODY) == 0);
    EXPECT_EQ(ask(fd, 0, 1, &q), 0);
    EXPECT_ERR(ask(fd, 1, 1, &q), EACCES);
    EXPECT_ERR(syscall(SYS_track, 99), EBADF);
    EXPECT_ERR(syscall(SYS_track, fd), EBADF);
}

/* The doorbells about memory of all users do nothing in user mode. */
static void doorbells_of_the_kernel(void)
{
    const volatile struct fp_cpu *slot;

    need_counting();
    run_on(0);
    burn(BURN);
    slot = FP_CPU(fp_header(), 0);
    while (slot->ret[0] <= 1) /* it will be the time of the last switch to this thread */
        sched_yield();
    FP_DOORBELL(FP_OP_HEAT); /* would give 0, or 1 if each miss is counted */
    EXPECT(slot->ret[0] > 1);
    fp_disarm();
}

/* ---- time ---- */

/* Moving from CPU to CPU, and sleeping, never moves a thread back in time. */
static void monotonic(void)
{
    uint64_t last = 0, first, now;

    need_counting();
    first = fp_now_ps();
    for (int round = 0; round < 3; round++)
        for (int cpu = 0; cpu < (int)fp_header()->ncpus; cpu++) {
            struct timespec ms = {0, 1000000};

            run_on((cpu * 5 + round) % (int)fp_header()->ncpus);
            for (int i = 0; i < 3; i++) {
                now = fp_now_ps();
                EXPECT(now >= last);
                last = now;
                burn(1000);
                if (i == 1)
                    nanosleep(&ms, NULL);
            }
        }
    fp_disarm();
    EXPECT(last - first > 3 * fp_header()->ncpus * 3 * 1000 * fp_header()->clock_ps);
    last = fp_now_ps();
    burn(1000);
    EXPECT_EQ(fp_now_ps(), last); /* the model no longer watches */
}

/* The ways in which one thread waits for another, and how the other lets it go on. */
static int pipe_fd[2], lock_fd;
static sem_t sem;
static pthread_barrier_t barrier;
static sigset_t usr1;
static volatile int ready;
/* the time of one thread before it released the other; the time of the other after that */
static uint64_t released, resumed;

static char byte;
static void pipe_wait(void)
{
    EXPECT_EQ(read(pipe_fd[0], &byte, 1), 1);
}
static void pipe_go(pthread_t t)
{
    EXPECT_EQ(write(pipe_fd[1], "x", 1), 1);
}
static void sem_wait_(void)
{
    EXPECT_EQ(sem_wait(&sem), 0);
}
static void sem_go(pthread_t t)
{
    EXPECT_EQ(sem_post(&sem), 0);
}
static void barrier_wait(void)
{
    pthread_barrier_wait(&barrier);
}
static void barrier_go(pthread_t t)
{
    pthread_barrier_wait(&barrier);
}
static void signal_go(pthread_t t)
{
    EXPECT_EQ(pthread_kill(t, SIGUSR1), 0);
}
static void signal_wait(void)
{
    int sig;

    EXPECT_EQ(sigwait(&usr1, &sig), 0);
}

static void lock_wait(void)
{
    int fd = open("/tmp/t_fireplane.lock", O_RDWR);

    EXPECT(fd >= 0);
    EXPECT_EQ(flock(fd, LOCK_EX), 0);
    close(fd);
}

static void lock_go(pthread_t t)
{
    EXPECT_EQ(flock(lock_fd, LOCK_UN), 0);
}

struct way {
    const char *name;
    void (*wait)(void);
    void (*go)(pthread_t waiter);
};
static const struct way ways[] = {
    {"pipe", pipe_wait, pipe_go},          {"semaphore", sem_wait_, sem_go},
    {"barrier", barrier_wait, barrier_go}, {"signal", signal_wait, signal_go},
    {"file lock", lock_wait, lock_go},
};

static int waiter_tid;

static void *waiter(void *arg)
{
    const struct way *way = arg;

    run_on(0);
    waiter_tid = (int)syscall(SYS_gettid);
    ready = 1;
    way->wait();
    resumed = fp_now_ps();
    return NULL;
}

/* Waits until the thread of a process sleeps. */
static void until_asleep(int pid, int tid)
{
    char path[64], text[256], *state;
    struct timespec ms = {0, 1000000};

    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    do {
        int fd = open(path, O_RDONLY);
        ssize_t n;

        EXPECT(fd >= 0);
        n = read(fd, text, sizeof text - 1);
        EXPECT(n > 0);
        text[n] = '\0';
        close(fd);
        state = strrchr(text, ')');
        nanosleep(&ms, NULL);
    } while (state == NULL || state[2] != 'S');
}

static void wake(void)
{
    pthread_t t;

    need_counting();
    EXPECT_EQ(pipe(pipe_fd), 0);
    EXPECT_EQ(sem_init(&sem, 0, 0), 0);
    EXPECT_EQ(pthread_barrier_init(&barrier, NULL, 2), 0);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    lock_fd = open("/tmp/t_fireplane.lock", O_RDWR | O_CREAT, 0600);
    EXPECT_EQ(flock(lock_fd, LOCK_EX), 0);
    run_on((int)fp_header()->ncpus - 1);
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        ready = 0;
        EXPECT_EQ(pthread_create(&t, NULL, waiter, (void *)&ways[i]), 0);
        while (!ready)
            sched_yield();
        until_asleep(getpid(), waiter_tid);
        burn(BURN);
        released = fp_now_ps();
        ways[i].go(t);
        pthread_join(t, NULL);
        printf("  %s: released at %" PRIu64 ", went on at %" PRIu64 "\n", ways[i].name, released,
               resumed);
        EXPECT(resumed >= released);
        EXPECT(fp_now_ps() >= released);
    }
    fp_disarm();
}

static void *report_time(void *arg)
{
    resumed = fp_now_ps();
    return NULL;
}

/*
 * A new thread or process begins no earlier than it was made.  A thread that waits for its end goes on no earlier than
 * that end.
 */
static void creation(void)
{
    volatile uint64_t *shared =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_t t;
    pid_t child;
    int status;

    need_counting();
    run_on(1);
    burn(BURN);
    released = fp_now_ps();
    EXPECT_EQ(pthread_create(&t, NULL, report_time, NULL), 0);
    pthread_join(t, NULL);
    EXPECT(resumed >= released);
    burn(BURN);
    released = fp_now_ps();
    child = fork();
    if (child == 0) {
        shared[0] = fp_now_ps();
        run_on((int)fp_header()->ncpus - 1);
        /* a parent that does not wait yet when the child ends gets no time from it */
        until_asleep(getppid(), getppid());
        burn(4 * BURN);
        shared[1] = fp_now_ps();
        _exit(0);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT(shared[0] >= released && shared[1] > shared[0]);
    EXPECT(fp_now_ps() >= shared[1]);
    fp_disarm();
}

static double deadline; /* of the sleeper, in wall-clock time */

static double wall(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *sleeper(void *arg)
{
    struct timespec t = {(time_t)deadline, 0};

    run_on(0);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    resumed = fp_now_ps();
    return NULL;
}

/*
 * A timer wakes a thread at the thread's own time, not at the time of the CPU that takes the interrupt.  One success is
 * enough: if the CPU runs something else meanwhile, its clock advances by that.
 */
static void timer(void)
{
    int seconds = 2;
    pthread_t t;

    need_counting();
    run_on((int)fp_header()->ncpus - 1);
    for (int i = 0; i < 5; i++) {
        bool in_time;

        deadline = wall() + seconds;
        EXPECT_EQ(pthread_create(&t, NULL, sleeper, NULL), 0);
        burn(10 * BURN);
        released = fp_now_ps();
        in_time = wall() < deadline - 1;
        pthread_join(t, NULL);
        printf("  slept until %" PRIu64 ", the other was at %" PRIu64 "\n", resumed, released);
        if (!in_time)
            seconds *= 2; /* it woke while the other still ran: no result */
        else if (resumed < released)
            break;
    }
    EXPECT(resumed < released);
    fp_disarm();
}

/* ---- counters ---- */

static pthread_barrier_t begin, end;

static void *worker(void *arg)
{
    pthread_barrier_wait(&begin);
    for (int i = 0; i < 20; i++) {
        burn(2000 + (int)(intptr_t)arg * 100);
        sched_yield();
    }
    pthread_barrier_wait(&end);
    pthread_barrier_wait(&begin); /* keeps the thread until all counts are read */
    return NULL;
}

struct lwp_used {
    int pid, lwp;
    struct fp_counts used;
};

/* Stores the counts of each LWP of all processes, at most `max`.  Returns their number. */
static int all_lwps(int fd, struct lwp_used *list, int max)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int n = 0;

    EXPECT(proc != NULL);
    while ((entry = readdir(proc)) != NULL) {
        int pid = atoi(entry->d_name);
        struct fp_lwp q = {0};

        for (int lwp = 1; pid > 0 && ask(fd, pid, lwp, &q) == 0; lwp = q.lwpid + 1, n++) {
            EXPECT(q.used.time_ps ==
                   q.used.instr * fp_header()->clock_ps + q.used.stall_ps + q.used.fp_stall_ps);
            EXPECT(n < max);
            list[n] = (struct lwp_used){pid, q.lwpid, q.used};
        }
    }
    closedir(proc);
    return n;
}

/*
 * *sum: what the LWPs of `after` have used since `before`.  false: an LWP has ended meanwhile, so the sum is
 * incomplete.
 */
static bool used_since(const struct lwp_used *before, int n, const struct lwp_used *after, int m,
                       struct fp_counts *sum)
{
    int still = 0;

    memset(sum, 0, sizeof *sum);
    for (int j = 0; j < m; j++) {
        struct fp_counts was = {0};

        for (int i = 0; i < n; i++)
            if (before[i].pid == after[j].pid && before[i].lwp == after[j].lwp) {
                was = before[i].used;
                still++;
            }
        for (unsigned k = 0; k < sizeof *sum / sizeof(uint64_t); k++)
            ((uint64_t *)sum)[k] +=
                ((const uint64_t *)&after[j].used)[k] - ((const uint64_t *)&was)[k];
    }
    return still == n;
}

/* Processes and threads made since the machine started. */
static unsigned long forks(void)
{
    static char text[16384];
    int fd = open("/proc/stat", O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);
    char *line;

    EXPECT(fd >= 0 && n > 0);
    text[n] = '\0';
    close(fd);
    line = strstr(text, "\nprocesses ");
    EXPECT(line != NULL);
    return strtoul(line + strlen("\nprocesses "), NULL, 10);
}

/*
 * Runs threads: *used is what they and all others used, *cpus what the CPUs counted.  false: a process was made or has
 * ended meanwhile, so *used may be incomplete.
 */
static bool count_threads(int fd, struct fp_counts *used, struct fp_counts *cpus)
{
    static struct lwp_used before[200], after[200];
    struct fp_counts cpus_before;
    pthread_t t[THREADS];
    unsigned long made;
    bool all;
    int n;

    for (int i = 0; i < THREADS; i++)
        EXPECT_EQ(pthread_create(&t[i], NULL, worker, (void *)(intptr_t)i), 0);
    made = forks();
    n = all_lwps(fd, before, 200);
    EXPECT(n > THREADS);
    fp_read(&cpus_before);
    fp_arm();
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    fp_disarm();
    fp_read(cpus);
    all = used_since(before, n, after, all_lwps(fd, after, 200), used) && forks() == made;
    pthread_barrier_wait(&begin);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (unsigned i = 0; i < sizeof *cpus / sizeof(uint64_t); i++)
        ((uint64_t *)cpus)[i] -= ((uint64_t *)&cpus_before)[i];
    return all;
}

/* Threads share CPUs and move: what they used is equal to what the CPUs counted, to the last load. */
static void counts(void)
{
    struct fp_counts cpus, used;
    int fd = open("/dev/fireplane", O_RDONLY);

    need_counting();
    fp_disarm();
    EXPECT_EQ(fp_header()->boards_known, fp_header()->nboards);
    EXPECT_EQ(pthread_barrier_init(&begin, NULL, THREADS + 1), 0);
    EXPECT_EQ(pthread_barrier_init(&end, NULL, THREADS + 1), 0);
    while (!count_threads(fd, &used, &cpus))
        printf("  a process came or went: once more\n");
    EXPECT(used.instr > THREADS * 20 * 2000);
    for (unsigned i = 1; i < sizeof used / sizeof(uint64_t); i++) /* counter 0 is the clock */
        EXPECT_EQ(((uint64_t *)&used)[i], ((uint64_t *)&cpus)[i]);
}

/*
 * A loop of two sums.  Each waits for the one before, so they are 4 clocks apart, and a turn of four instructions takes
 * 8 clocks.  The first turn may be in the same block as the code before it.
 */
static void sums(void)
{
    uint64_t turns = BURN, waits;
    struct fp_lwp before, after;
    int fd = open("/dev/fireplane", O_RDONLY);

    need_counting();
    EXPECT_EQ(ask(fd, 0, 1, &before), 0);
    __asm__ volatile(".p2align 5\n1: addsd %%xmm1, %%xmm0\n addsd %%xmm1, %%xmm0\n dec %0\n jnz 1b"
                     : "+r"(turns)
                     :
                     : "xmm0", "cc");
    EXPECT_EQ(ask(fd, 0, 1, &after), 0);
    fp_disarm();
    waits = (after.used.fp_stall_ps - before.used.fp_stall_ps) / fp_header()->clock_ps;
    printf("  %d turns waited %" PRIu64 " clocks\n", BURN, waits);
    EXPECT(waits == 4ul * BURN || waits == 4ul * BURN - 1);
    close(fd);
}

/* ---- colours ---- */

static unsigned color_of(const char *p, unsigned colors)
{
    const uint_t physical = MEMINFO_VPHYSICAL;
    uint64_t in = (uint64_t)(uintptr_t)p, out;
    uint_t valid;

    EXPECT_EQ(meminfo(&in, 1, &physical, 1, &out, &valid), 0);
    EXPECT_EQ(valid, 3);
    return (unsigned)(out / 4096 % colors);
}

/*
 * Consecutive pages have consecutive colours, in whatever order they are touched; at each multiple of a cache way one
 * colour is left out.
 */
static void colors(void)
{
    unsigned colors, n;
    char *p;

    need_counting();
    fp_disarm();
    colors = (unsigned)(fp_header()->ecache_bytes / fp_header()->ecache_ways / 4096);
    EXPECT(colors > 1);
    n = 3 * colors;
    p = mmap(NULL, n * 4096ul, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(p != MAP_FAILED);
    /* 37 has no divisor in common with n, so every page is touched */
    for (unsigned i = 0; i < n; i++)
        p[(i * 37ul + 11) % n * 4096] = 1;
    for (unsigned i = 0; i + 1 < n; i++) {
        const char *next = p + (i + 1) * 4096ul;
        unsigned step = (uintptr_t)next / 4096 % colors == 0 ? 2 : 1;

        EXPECT_EQ(color_of(next, colors), (color_of(next - 4096, colors) + step) % colors);
    }
    munmap(p, n * 4096ul);
}

static const struct check list[] = {
    {"no_model", no_model},
    {"arming", arming},
    {"page", page},
    {"monotonic", monotonic},
    {"wake", wake},
    {"creation", creation},
    {"timer", timer},
    {"counts", counts},
    {"sums", sums},
    {"colors", colors},
    {"doorbells", doorbells_of_the_kernel},
};
CHECK_MAIN(list)
