// SPDX-License-Identifier: MIT
/*
 * t_thread.c - threads: pthreads on top of clone and futex, and futex by itself.
 */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

/* Linux's numbers, for which musl has no header. */
#define FUTEX_WAIT            0
#define FUTEX_WAKE            1
#define FUTEX_REQUEUE         3
#define FUTEX_WAIT_PRIVATE    128
#define FUTEX_WAKE_PRIVATE    129
#define FUTEX_REQUEUE_PRIVATE 131
#define FUTEX_WAKE_REALTIME   (FUTEX_WAKE_PRIVATE | 256) /* with FUTEX_CLOCK_REALTIME */

#define THREADS 16
#define ROUNDS  2000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long counter;
static __thread long own;

static void start(pthread_t *thread, int n, void *(*run)(void *))
{
    for (intptr_t i = 0; i < n; i++)
        EXPECT_EQ(pthread_create(&thread[i], NULL, run, (void *)i), 0);
}

static void join(const pthread_t *thread, int n)
{
    for (int i = 0; i < n; i++)
        EXPECT_EQ(pthread_join(thread[i], NULL), 0);
}

static void *returns_argument(void *arg)
{
    return arg;
}

static void create_and_join(void)
{
    for (intptr_t i = 0; i < 200; i++) {
        pthread_t thread;
        void *result;

        EXPECT_EQ(pthread_create(&thread, NULL, returns_argument, (void *)i), 0);
        EXPECT_EQ(pthread_join(thread, &result), 0);
        EXPECT_EQ((intptr_t)result, i);
    }
}

static void *locks_and_counts(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
        if (i % 64 == 0)
            sched_yield();
    }
    return NULL;
}

static void mutual_exclusion(void)
{
    pthread_t thread[THREADS];

    start(thread, THREADS, locks_and_counts);
    join(thread, THREADS);
    EXPECT_EQ(counter, THREADS * ROUNDS);
}

static void *sets_own(void *arg)
{
    own = (intptr_t)arg;
    for (int i = 0; i < 50; i++) {
        sched_yield();
        EXPECT_EQ(own, (intptr_t)arg);
    }
    return NULL;
}

static void thread_local_storage(void)
{
    pthread_t thread[THREADS];

    own = -1;
    start(thread, THREADS, sets_own);
    join(thread, THREADS);
    EXPECT_EQ(own, -1);
}

static void *waits_for_turn(void *arg)
{
    pthread_mutex_lock(&mutex);
    while (counter != (intptr_t)arg)
        pthread_cond_wait(&cond, &mutex);
    counter++;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void conditions(void)
{
    pthread_t thread[THREADS];

    start(thread, THREADS, waits_for_turn);
    join(thread, THREADS);
    EXPECT_EQ(counter, THREADS);
}

static void condition_times_out(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 30 * 1000 * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &until), ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
}

static pthread_barrier_t barrier;

static void *meets(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        __atomic_add_fetch(&counter, 1, __ATOMIC_SEQ_CST);
        pthread_barrier_wait(&barrier);
        EXPECT_EQ(__atomic_load_n(&counter, __ATOMIC_SEQ_CST), (i + 1) * THREADS);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void barriers(void)
{
    pthread_t thread[THREADS];

    pthread_barrier_init(&barrier, NULL, THREADS);
    start(thread, THREADS, meets);
    join(thread, THREADS);
}

static sem_t semaphore;

static void *posts(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++)
        sem_post(&semaphore);
    return NULL;
}

static void semaphores(void)
{
    pthread_t thread[4];

    sem_init(&semaphore, 0, 0);
    start(thread, 4, posts);
    for (int i = 0; i < 400; i++)
        EXPECT_EQ(sem_wait(&semaphore), 0);
    join(thread, 4);
}

static void *sleeps_long(void *arg)
{
    (void)arg;
    sleep(1000);
    return NULL;
}

static void cancellation(void)
{
    pthread_t thread;
    void *result;

    start(&thread, 1, sleeps_long);
    sched_yield();
    EXPECT_EQ(pthread_cancel(thread), 0);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT(result == PTHREAD_CANCELED);
}

static void exit_ends_all(void)
{
    pthread_t thread[4];
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        start(thread, 4, sleeps_long);
        _exit(6);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(WEXITSTATUS(status), 6);
}

static void *execs(void *arg)
{
    (void)arg;
    execl("/bin/sh", "sh", "-c", "exit 8", (char *)NULL);
    return NULL;
}

static void exec_from_thread(void)
{
    pthread_t thread[4];
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        start(thread, 3, sleeps_long);
        start(thread + 3, 1, execs);
        sleep(100);
        _exit(1);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 8);
}

static void *kills_the_process(void *arg)
{
    (void)arg;
    __asm__ volatile("ud2");
    return NULL;
}

static void death_takes_all(void)
{
    pthread_t thread[3];
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        start(thread, 2, sleeps_long);
        start(thread + 2, 1, kills_the_process);
        sleep(100);
        _exit(1);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGILL);
}

static long futex(int *word, int op, int value, const void *timeout_or_count, int *word2,
                  int value3)
{
    return syscall(SYS_futex, word, op, value, timeout_or_count, word2, value3);
}

static void futex_errors(void)
{
    struct timespec moment = {0, 20 * 1000 * 1000}, bad = {0, 2000000000};
    int word = 5;

    EXPECT_ERR(futex(&word, FUTEX_WAIT, 4, NULL, NULL, 0), EAGAIN);
    EXPECT_ERR(futex(&word, FUTEX_WAIT, 5, &moment, NULL, 0), ETIMEDOUT);
    EXPECT_ERR(futex(&word, FUTEX_WAIT, 5, &bad, NULL, 0), EINVAL);
    EXPECT_ERR(futex((int *)((char *)&word + 1), FUTEX_WAKE, 1, NULL, NULL, 0), EINVAL);
    EXPECT_ERR(futex((int *)16, FUTEX_WAIT, 5, NULL, NULL, 0), EFAULT);
    EXPECT_EQ(futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0), 0);
}

/* Waits until so many threads wait on a word.  A requeue to the same word moves nothing, and counts. */
static void until_waiting(int *word, int threads, int op)
{
    while (futex(word, op, 0, (void *)1000, word, 0) != threads)
        nanosleep(&(struct timespec){0, 1000 * 1000}, NULL);
}

static int gate, second_gate;

static void *waits_at_gate(void *arg)
{
    (void)arg;
    futex(&gate, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    __atomic_add_fetch(&counter, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void futex_requeue(void)
{
    struct timespec moment = {0, 100 * 1000 * 1000};
    pthread_t thread[4];
    long moved;

    start(thread, 4, waits_at_gate);
    until_waiting(&gate, 4, FUTEX_REQUEUE_PRIVATE);
    moved = futex(&gate, FUTEX_REQUEUE_PRIVATE, 0, (void *)3, &gate, 0);
    EXPECT_EQ(moved, 3); /* to the same word: they stay, and count */
    EXPECT_EQ(futex(&gate, FUTEX_WAKE_REALTIME, 1, NULL, NULL, 0), -1);
    EXPECT_EQ(errno, ENOSYS);
    moved = futex(&gate, FUTEX_REQUEUE_PRIVATE, 1, (void *)100, &second_gate, 0);
    EXPECT_EQ(moved, 4); /* 1 was woken, and 3 were moved */
    do
        nanosleep(&moment, NULL);
    while (__atomic_load_n(&counter, __ATOMIC_SEQ_CST) == 0);
    EXPECT_EQ(__atomic_load_n(&counter, __ATOMIC_SEQ_CST), 1);
    EXPECT_EQ(futex(&second_gate, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0), 3);
    join(thread, 4);
}

/* Threads of several real-time priorities on one CPU; each waits for its own word or for a common one. */
enum { RT_THREADS = 6 };
static const int rt_pri[RT_THREADS] = {1, 3, 2, 3, 1, 2}; /* neighbours have different priorities */
static int rt_word[RT_THREADS], rt_order[RT_THREADS], rt_count;
static bool rt_common;

static void real_time(int priority)
{
    struct sched_param p = {.sched_priority = priority};

    EXPECT_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &p), 0);
}

static void *waits_in_real_time(void *arg)
{
    long i = (long)arg;

    real_time(rt_pri[i]);
    futex(rt_common ? &rt_word[0] : &rt_word[i], FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    rt_order[rt_count++] = (int)i; /* one CPU, and no thread sleeps in between */
    return NULL;
}

/* Starts them one after the other: each waits before the next one is started. */
static void start_real_time(pthread_t *thread, bool common)
{
    cpu_set_t all, one;
    int cpu = 0;

    EXPECT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    real_time(99);
    rt_common = common;
    rt_count = 0;
    for (long i = 0; i < RT_THREADS; i++) {
        EXPECT_EQ(pthread_create(&thread[i], NULL, waits_in_real_time, (void *)i), 0);
        until_waiting(&rt_word[common ? 0 : i], common ? (int)i + 1 : 1, FUTEX_REQUEUE_PRIVATE);
    }
}

static void expect_order(const int *want)
{
    for (int i = 0; i < RT_THREADS; i++)
        EXPECT_EQ(rt_order[i], want[i]);
}

/* A futex wakes the highest priority first, and threads of equal priority in the order of arrival. */
static void futex_wakes_by_priority(void)
{
    pthread_t thread[RT_THREADS];
    struct timespec moment = {0, 10 * 1000 * 1000};

    if (geteuid() != 0)
        SKIP("real time is the superuser's");
    start_real_time(thread, true);
    for (int i = 0; i < RT_THREADS; i++) {
        EXPECT_EQ(futex(&rt_word[0], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0), 1);
        while (__atomic_load_n(&rt_count, __ATOMIC_SEQ_CST) == i)
            nanosleep(&moment, NULL);
    }
    expect_order((const int[]){1, 3, 2, 5, 0, 4});
    join(thread, RT_THREADS);
}

/* Runnable threads run by priority, in whatever order they were woken. */
static void cpus_run_by_priority(void)
{
    pthread_t thread[RT_THREADS];

    if (geteuid() != 0)
        SKIP("real time is the superuser's");
    start_real_time(thread, false);
    for (int i = 0; i < RT_THREADS; i++)
        EXPECT_EQ(futex(&rt_word[i], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0), 1);
    join(thread, RT_THREADS);
    expect_order((const int[]){1, 3, 2, 5, 0, 4});
}

static void futex_between_processes(void)
{
    int *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == 0)
            futex(word, FUTEX_WAIT, 0, NULL, NULL, 0);
        _exit(3);
    }
    nanosleep(&(struct timespec){0, 50 * 1000 * 1000}, NULL);
    __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
    futex(word, FUTEX_WAKE, 1, NULL, NULL, 0);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(WEXITSTATUS(status), 3);
}

static void *computes(void *arg)
{
    double x = (double)(intptr_t)arg + 1.0, sum = 0.0;

    for (int i = 0; i < 20000; i++) {
        sum += x / (i + 1);
        if (i % 1000 == 0)
            sched_yield();
    }
    double again = 0.0;

    for (int i = 0; i < 20000; i++)
        again += x / (i + 1);
    EXPECT(sum == again);
    return NULL;
}

static void fpu_per_thread(void)
{
    pthread_t thread[THREADS];

    start(thread, THREADS, computes);
    join(thread, THREADS);
}

enum { GONE_PAGES = 100 };

static void *new_shared_page(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    EXPECT(page != MAP_FAILED);
    return page;
}

static void *waits_on(void *word)
{
    futex(word, FUTEX_WAIT, 0, NULL, NULL, 0);
    return NULL;
}

/*
 * A thread that waits on memory that was then unmapped is not woken through other memory, even if the kernel uses the
 * frame again.
 */
static void futex_of_gone_memory(void)
{
    void *page[GONE_PAGES];
    pthread_t thread;
    pthread_attr_t small;

    EXPECT_EQ(pthread_attr_init(&small), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&small, 32768), 0);
    for (int i = 0; i < GONE_PAGES; i++) {
        page[i] = new_shared_page();
        EXPECT_EQ(pthread_create(&thread, &small, waits_on, page[i]), 0);
    }
    for (int i = 0; i < GONE_PAGES; i++)
        until_waiting(page[i], 1, FUTEX_REQUEUE);
    for (int i = 0; i < GONE_PAGES; i++)
        EXPECT_EQ(munmap(page[i], 4096), 0);
    for (int i = 0; i < 5 * GONE_PAGES; i++)
        EXPECT_EQ(futex(new_shared_page(), FUTEX_WAKE, 1, NULL, NULL, 0), 0);
}

static void *tells_id(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)syscall(SYS_gettid);
}

static void ids(void)
{
    pthread_t thread;
    void *id;

    EXPECT_EQ(syscall(SYS_gettid), getpid());
    start(&thread, 1, tells_id);
    EXPECT_EQ(pthread_join(thread, &id), 0);
    EXPECT((intptr_t)id != getpid());
}

static const struct check list[] = {
    {"create_and_join", create_and_join},
    {"mutual_exclusion", mutual_exclusion},
    {"thread_local_storage", thread_local_storage},
    {"conditions", conditions},
    {"condition_times_out", condition_times_out},
    {"barriers", barriers},
    {"semaphores", semaphores},
    {"cancellation", cancellation},
    {"exit_ends_all", exit_ends_all},
    {"exec_from_thread", exec_from_thread},
    {"death_takes_all", death_takes_all},
    {"futex_errors", futex_errors},
    {"futex_requeue", futex_requeue},
    {"futex_wakes_by_priority", futex_wakes_by_priority},
    {"cpus_run_by_priority", cpus_run_by_priority},
    {"futex_between_processes", futex_between_processes},
    {"futex_of_gone_memory", futex_of_gone_memory},
    {"fpu_per_thread", fpu_per_thread},
    {"ids", ids},
};
CHECK_MAIN(list)
