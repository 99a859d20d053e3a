// SPDX-License-Identifier: MIT
/*
 * limits.c - the cost of an operation while there are n of something: threads, mappings, segments, locks, names, CPUs.
 *
 * THEORY      A case makes n objects and then measures operations on one of them, or on one more.  If the kernel walks
 *             all objects for an operation, its cost grows with n.  Operations that must visit all objects (fork,
 *             exit) are divided by n.  Costs are in ticks of the time-stamp counter: with QEMU's -icount shift=0 these
 *             are instructions.  A figure is the smallest of REPS batches, so a clock interrupt in one batch does not
 *             count.  Operations that may wait for a disk are measured in processor time in ns, which with -icount is
 *             in instructions, too.
 * OUTPUT      result: bench=limits row=CASE.OPERATION/N cost= (of one operation)
 * SEE ALSO    make limits, docs/results/limits.md
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    limits - what an operation costs while there are n of something\n"
    "\n"
    "SYNOPSIS\n"
    "    limits [-d directory] case n\n"
    "\n"
    "DESCRIPTION\n"
    "    The program makes n objects and prints what operations cost then, in ticks\n"
    "    of the time-stamp counter; with ICOUNT=1 these are instructions.  Costs of\n"
    "    operations that must visit all objects are divided by n.  The cases:\n"
    "\n"
    "    threads   n threads of this process sleep\n"
    "    maps      n mappings of one file, each of another page\n"
    "    same      n mappings of one page of a file\n"
    "    procs     n processes, each maps another page of one file\n"
    "    segments  n segments in the address space\n"
    "    advice    n ranges of private memory with advice\n"
    "    advice-shared  n ranges of shared memory with advice\n"
    "    locks     n record locks in one file\n"
    "    names     n names in one directory\n"
    "    cpus      a machine of n CPUs; n is only a divisor\n"
    "\n"
    "OPTIONS\n"
    "    -d directory  where files are made (/tmp)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    osbench, contend, docs/benchmarks.md\n";

#define PAGE  4096ul
#define REPS  3
#define BATCH 100 /* operations in a batch, at most */
#define FEW   10  /* those that need private pages of each of n processes */

static const char *which, *dir = "/tmp";
static long n;
static char path[PATH_MAX];
static pid_t creator;

static void must(bool ok, const char *what)
{
    if (!ok)
        bench_die("%s: %s", what, strerror(errno));
}

/* ---- measuring ---- */

static uint64_t now(void)
{
    uint32_t low, high;

    __asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

/* Processor time of this thread in ns; with -icount one instruction is one ns. */
static uint64_t now_cpu(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void print(const char *op, double cost)
{
    printf("result: bench=limits row=%s.%s/%ld cost=%.1f\n", which, op, n, cost);
    fflush(stdout);
}

/* The number of operations in a batch, if each needs an object of its own in each of REPS batches. */
static long batch(void)
{
    return n >= 4 * BATCH ? BATCH : n >= 4 ? n / 4 : 1;
}

/* An object for operation i; neighbours in time are far from each other. */
static long pick(long i)
{
    return (long)((unsigned long)i * 7919 % (unsigned long)n);
}

static double least_of(uint64_t (*clock)(void), void (*once)(long i), long ops)
{
    uint64_t from, took, least = UINT64_MAX;

    for (long i = 0; i < REPS * ops;) {
        from = clock();
        for (long stop = i + ops; i < stop; i++)
            once(i);
        took = clock() - from;
        least = took < least ? took : least;
    }
    return (double)least;
}

static void measure(const char *op, uint64_t (*clock)(void), void (*once)(long i), long ops)
{
    print(op, least_of(clock, once, ops) / (double)ops);
}

/* An operation that visits all objects. */
static void measure_all(const char *op, uint64_t (*clock)(void), void (*once)(long i))
{
    print(op, least_of(clock, once, 1) / (double)n);
}

/* An operation that visits all objects and can be done only once. */
static void measure_once(const char *op, uint64_t (*clock)(void), void (*once)(void))
{
    uint64_t from = clock();

    once();
    print(op, (double)(clock() - from) / (double)n);
}

static void fork_exit(long i)
{
    pid_t pid = fork();

    must(pid >= 0, "fork");
    if (pid == 0)
        _exit(0);
    must(waitpid(pid, NULL, 0) == pid, "waitpid");
}

static void *map_anon(size_t bytes, int flags)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    must(p != MAP_FAILED, "mmap");
    return p;
}

/* Removes the file when the process that made it ends. */
static void remove_file(void)
{
    if (getpid() == creator)
        unlink(path);
}

/* A new file `path` in the directory, with `pages` written pages. */
static int make_file(long pages)
{
    static char block[PAGE];
    int fd;

    snprintf(path, sizeof path, "%s/limits.XXXXXX", dir);
    fd = mkstemp(path);
    must(fd >= 0, path);
    creator = getpid();
    atexit(remove_file);
    for (long i = 0; i < pages; i++)
        must(write(fd, block, PAGE) == (ssize_t)PAGE, "write");
    must(fsync(fd) == 0, "fsync");
    return fd;
}

/* Reads `file` of each entry of directory `top` whose name is a number; "" means the entry itself is enough. */
static void read_entries(const char *top, const char *file)
{
    static char text[4096];
    char name[512];
    struct dirent *e;
    long seen = 0;
    DIR *d = opendir(top);

    must(d != NULL, top);
    while ((e = readdir(d)) != NULL) {
        int fd;

        if (e->d_name[0] < '0' || e->d_name[0] > '9')
            continue;
        seen++;
        if (*file == '\0')
            continue;
        snprintf(name, sizeof name, "%s/%s/%s", top, e->d_name, file);
        fd = open(name, O_RDONLY);
        must(fd >= 0 && read(fd, text, sizeof text) > 0, name);
        close(fd);
    }
    closedir(d);
    if (seen < n)
        bench_die("%s: %ld entries, not %ld", top, seen, n);
}

/* ---- threads ---- */

struct sleeper {
    pthread_t thread;
    _Atomic int word;
};

static struct sleeper *sleepers;
static _Atomic int answer, stop, nready;

static void futex_wait(_Atomic int *word, int value)
{
    while (*word == value)
        syscall(SYS_futex, word, 128 /* FUTEX_WAIT | FUTEX_PRIVATE_FLAG */, value, NULL, NULL, 0);
}

static void futex_set(_Atomic int *word, int value)
{
    *word = value;
    syscall(SYS_futex, word, 129 /* FUTEX_WAKE | FUTEX_PRIVATE_FLAG */, 1, NULL, NULL, 0);
}

static void *sleep_until_stop(void *arg)
{
    struct sleeper *s = arg;

    for (nready++;;) {
        futex_wait(&s->word, 0);
        if (stop)
            return NULL;
        s->word = 0;
        futex_set(&answer, 1);
    }
}

static pthread_t start_thread(void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    pthread_t t;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 16384);
    pthread_attr_setguardsize(&attr, 0);
    errno = pthread_create(&t, &attr, run, arg);
    must(errno == 0, "pthread_create");
    return t;
}

static void start_sleepers(void)
{
    sleepers = calloc((size_t)n, sizeof *sleepers);
    must(sleepers != NULL, "calloc");
    for (long i = 0; i < n; i++)
        sleepers[i].thread = start_thread(sleep_until_stop, &sleepers[i]);
    while (nready < n)
        sched_yield();
}

static void stop_sleepers(void)
{
    stop = 1;
    for (long i = 0; i < n; i++)
        futex_set(&sleepers[i].word, 1);
    for (long i = 0; i < n; i++)
        pthread_join(sleepers[i].thread, NULL);
}

static void *nothing(void *arg)
{
    return arg;
}

static void once_thread(long i)
{
    pthread_join(start_thread(nothing, NULL), NULL);
}

static void once_wake(long i)
{
    answer = 0;
    futex_set(&sleepers[pick(i)].word, 1);
    futex_wait(&answer, 0);
}

static void *yield_until_stop(void *arg)
{
    while (!*(_Atomic int *)arg)
        sched_yield();
    return NULL;
}

static void once_yield(long i)
{
    sched_yield();
}

static void once_tasks(long i)
{
    read_entries("/proc/self/task", "");
}

static void once_task_stats(long i)
{
    read_entries("/proc/self/task", "stat");
}

/* The longest time for which this thread did not run, in more than a second of the clock. */
static uint64_t longest_pause(void)
{
    uint64_t last = now(), end = last + 1200000000, longest = 0, t;

    while (last < end) {
        t = now();
        longest = t - last > longest ? t - last : longest;
        last = t;
    }
    return longest;
}

/* The smallest of several such times: other threads of the kernel may have run in one of them. */
static void measure_pause(void)
{
    uint64_t t, least = UINT64_MAX;

    for (int i = 0; i < REPS; i++)
        if ((t = longest_pause()) < least)
            least = t;
    print("pause", (double)least);
}

/* Measures in a new process. */
static void in_child(const char *op, uint64_t (*clock)(void), void (*once)(long i), long ops)
{
    pid_t pid = fork();

    must(pid >= 0, "fork");
    if (pid == 0) {
        measure(op, clock, once, ops);
        _exit(0);
    }
    must(waitpid(pid, NULL, 0) == pid, "waitpid");
}

static void measure_process_exit(const char *op, void (*fill)(void))
{
    uint64_t *from = map_anon(PAGE, MAP_SHARED);
    pid_t pid = fork();

    must(pid >= 0, "fork");
    if (pid == 0) {
        fill();
        *from = now();
        _exit(0);
    }
    must(waitpid(pid, NULL, 0) == pid && *from != 0, "waitpid");
    print(op, (double)(now() - *from) / (double)n);
}

static void case_threads(void)
{
    _Atomic int enough = 0;
    pthread_t partner;

    measure_process_exit("exit", start_sleepers);
    measure_once("start", now, start_sleepers);
    measure("create", now, once_thread, BATCH);
    measure("wake", now, once_wake, BATCH);
    partner = start_thread(yield_until_stop, &enough);
    measure("switch", now, once_yield, BATCH);
    enough = 1;
    pthread_join(partner, NULL);
    measure_all("list", now, once_tasks);
    measure_all("stat", now, once_task_stats);
    measure_pause();
    measure_once("end", now, stop_sleepers);
}

/* ---- mappings of a file ---- */

static volatile char **maps;
static int map_fd;

static char *map_page(long index)
{
    char *p =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, (off_t)index * (off_t)PAGE);

    must(p != MAP_FAILED, "mmap");
    return p;
}

static void once_map(long i)
{
    must(munmap(map_page(pick(i)), PAGE) == 0, "munmap");
}

static void once_touch(long i)
{
    (void)*maps[pick(i)];
}

static void once_page_out(long i)
{
    must(madvise((void *)maps[pick(i)], PAGE, 21 /* MADV_PAGEOUT */) == 0, "madvise");
}

static void once_sync(long i)
{
    *maps[pick(i)] = 1;
    must(msync((void *)maps[pick(i)], PAGE, MS_SYNC) == 0, "msync");
}

/* Cuts the last page off, which is mapped once. */
static void once_truncate(long i)
{
    must(ftruncate(map_fd, (n - 1 - i) * (off_t)PAGE) == 0, "ftruncate");
}

static void map_all(void)
{
    for (long i = 0; i < n; i++)
        maps[i] = map_page(strcmp(which, "same") == 0 ? 0 : i);
}

static void touch_all(void)
{
    for (long i = 0; i < n; i++)
        (void)*maps[i];
}

static void unmap_all(void)
{
    for (long i = 0; i < n; i++)
        must(munmap((void *)maps[i], PAGE) == 0, "munmap");
}

static void truncate_all(void)
{
    must(ftruncate(map_fd, 0) == 0, "ftruncate");
}

static void case_maps(void)
{
    map_fd = make_file(n);
    maps = calloc((size_t)n, sizeof *maps);
    must(maps != NULL, "calloc");
    measure_once("start", now, map_all);
    measure("map", now, once_map, BATCH);
    measure("fault", now, once_touch, batch());
    touch_all();
    measure("sync", now_cpu, once_sync, batch());
    measure("pageout", now, once_page_out, batch());
    touch_all();
    measure_all("fork", now, fork_exit);
    measure("truncate", now, once_truncate, batch());
    measure_once("unmap", now, unmap_all);
}

static void case_same(void)
{
    map_fd = make_file(1);
    maps = calloc((size_t)n, sizeof *maps);
    must(maps != NULL, "calloc");
    measure_once("start", now, map_all);
    measure_once("touch", now, touch_all);
    measure_all("fork", now, fork_exit);
    measure_once("truncate", now, truncate_all);
    measure_once("unmap", now, unmap_all);
}

/* ---- processes ---- */

static pid_t *children;
static _Atomic long *up; /* children that have touched their page */
static volatile char *private_pages;

/* A child that maps its page and sleeps. */
static void start_child(long i)
{
    pid_t pid = fork();

    must(pid >= 0, "fork");
    if (pid == 0) {
        *map_page(i) = 1;
        ++*up;
        for (;;)
            pause();
    }
    children[i] = pid;
}

static void start_children(void)
{
    for (long i = 0; i < n; i++)
        start_child(i);
    while (*up < n)
        sched_yield();
}

static void end_child(long i)
{
    must(kill(children[i], SIGKILL) == 0 && waitpid(children[i], NULL, 0) == children[i], "kill");
}

static void end_children(void)
{
    for (long i = 0; i < n; i++)
        end_child(i);
}

static void once_replace(long i)
{
    end_child(pick(i));
    start_child(pick(i));
}

/* The first write copies the page: it is shared with all children. */
static void once_cow(long i)
{
    private_pages[i * (long)PAGE] = 2;
}

/* The page is the caller's alone after the write. */
static void once_page_out_private(long i)
{
    once_cow(i);
    must(madvise((void *)(private_pages + i * (long)PAGE), PAGE, 21 /* MADV_PAGEOUT */) == 0,
         "madvise");
}

static void once_processes(long i)
{
    read_entries("/proc", "");
}

static void once_process_stats(long i)
{
    read_entries("/proc", "stat");
}

static void case_procs(void)
{
    map_fd = make_file(n);
    children = calloc((size_t)n, sizeof *children);
    maps = calloc((size_t)n, sizeof *maps);
    must(children != NULL && maps != NULL, "calloc");
    up = map_anon(PAGE, MAP_SHARED);
    private_pages = map_anon(REPS * FEW * PAGE, MAP_PRIVATE);
    memset((void *)private_pages, 1, REPS * FEW * PAGE);
    measure_once("start", now, start_children);
    measure("fork", now, fork_exit, BATCH);
    measure("replace", now, once_replace, batch());
    measure("cow", now, once_cow, FEW);
    in_child("swapout", now_cpu, once_page_out_private, FEW);
    measure_all("list", now, once_processes);
    measure_all("stat", now, once_process_stats);
    measure_pause();
    while (*up < n + REPS * batch())
        sched_yield();
    measure("truncate", now, once_truncate, batch());
    measure_once("end", now, end_children);
}

/* ---- segments ---- */

static char *area;

static void *segment(long i)
{
    return area + 2 * (unsigned long)i * PAGE;
}

/* Alternate pages are read-only: n segments. */
static void make_segments(void)
{
    area = map_anon((size_t)n * PAGE, MAP_PRIVATE);
    for (long i = 0; i < n / 2; i++)
        must(mprotect(segment(i), PAGE, PROT_READ) == 0, "mprotect");
}

static void once_segment_map(long i)
{
    must(munmap(map_anon(PAGE, MAP_SHARED), PAGE) == 0, "munmap");
}

static void once_segment_touch(long i)
{
    *((volatile char *)segment(pick(i) / 2) + PAGE) = 1;
}

static void once_segment_protect(long i)
{
    must(mprotect(segment(pick(i) / 2), PAGE, PROT_NONE) == 0, "mprotect");
    must(mprotect(segment(pick(i) / 2), PAGE, PROT_READ) == 0, "mprotect");
}

/* Joins three segments, and splits them again. */
static void once_segment_join(long i)
{
    void *p = segment(pick(i) / 2);

    must(mprotect(p, PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
    must(mprotect(p, PAGE, PROT_READ) == 0, "mprotect");
}

static void once_segment_unmap(long i)
{
    void *p = segment(pick(i) / 2);

    must(munmap(p, PAGE) == 0, "munmap");
    must(mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, "mmap");
}

static void once_segment_list(long i)
{
    static char text[4096];
    int fd = open("/proc/self/maps", O_RDONLY);

    must(fd >= 0, "/proc/self/maps");
    while (read(fd, text, sizeof text) > 0)
        ;
    close(fd);
}

static void unmap_area(void)
{
    must(munmap(area, (size_t)n * PAGE) == 0, "munmap");
}

static void case_segments(void)
{
    measure_process_exit("exit", make_segments);
    measure_once("start", now, make_segments);
    measure("map", now, once_segment_map, BATCH);
    measure("fault", now, once_segment_touch, batch() / 2 + 1);
    measure("protect", now, once_segment_protect, BATCH);
    measure("join", now, once_segment_join, BATCH);
    measure("unmap", now, once_segment_unmap, BATCH);
    measure_all("fork", now, fork_exit);
    measure_all("list", now, once_segment_list);
    measure_once("end", now, unmap_area);
}

/* ---- advice ---- */

static void advise_all(void)
{
    for (long i = 0; i < n; i++)
        must(madvise(segment(i), PAGE, HR_MADV_ACCESS_LWP) == 0, "madvise");
}

static void once_advise(long i)
{
    must(madvise(segment(pick(i)), PAGE, HR_MADV_ACCESS_MANY) == 0, "madvise");
    must(madvise(segment(pick(i)), PAGE, HR_MADV_ACCESS_LWP) == 0, "madvise");
}

/* The page after an advised one, which has no advice. */
static void once_touch_between(long i)
{
    *((volatile char *)segment(pick(i)) + PAGE) = 1;
}

static void once_unadvise(long i)
{
    must(madvise(segment(pick(i)), PAGE, HR_MADV_ACCESS_DEFAULT) == 0, "madvise");
}

static void measure_advice(int flags)
{
    area = map_anon(2 * (size_t)n * PAGE, flags);
    measure_once("start", now, advise_all);
    measure("advise", now, once_advise, BATCH);
    measure("fault", now, once_touch_between, batch());
    measure("unadvise", now, once_unadvise, batch());
}

static void case_advice(void)
{
    measure_advice(MAP_PRIVATE);
}

static void case_advice_shared(void)
{
    measure_advice(MAP_SHARED);
}

/* ---- record locks ---- */

static int lock_command(int command, short type, long at)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = 2 * at, .l_len = 1};

    return fcntl(map_fd, command, &l);
}

static void lock_all(void)
{
    for (long i = 0; i < n; i++)
        must(lock_command(F_SETLK, F_WRLCK, i) == 0, "F_SETLK");
}

static void once_relock(long i)
{
    must(lock_command(F_SETLK, F_UNLCK, pick(i)) == 0, "F_SETLK");
    must(lock_command(F_SETLK, F_WRLCK, pick(i)) == 0, "F_SETLK");
}

static void once_lock_type(long i)
{
    must(lock_command(F_SETLK, F_RDLCK, pick(i)) == 0, "F_SETLK");
    must(lock_command(F_SETLK, F_WRLCK, pick(i)) == 0, "F_SETLK");
}

/* A child looks for a lock that conflicts. */
static void once_lock_test(long i)
{
    must(lock_command(F_GETLK, F_WRLCK, pick(i)) == 0, "F_GETLK");
}

/* A process without locks opens and closes the file. */
static void once_open(long i)
{
    int fd = open(path, O_RDWR);

    must(fd >= 0 && close(fd) == 0, path);
}

static void unlock_all(void)
{
    close(dup(map_fd));
}

static void case_locks(void)
{
    map_fd = make_file(0);
    measure_once("start", now, lock_all);
    measure("lock", now, once_relock, BATCH);
    measure("type", now, once_lock_type, BATCH);
    in_child("test", now, once_lock_test, BATCH);
    in_child("open", now, once_open, BATCH);
    measure_once("end", now, unlock_all);
}

/* ---- names ---- */

static const char *name_of(long i)
{
    static char name[PATH_MAX + 24];

    snprintf(name, sizeof name, "%s/n%ld", path, i);
    return name;
}

static void make_name(long i)
{
    int fd = open(name_of(i), O_WRONLY | O_CREAT | O_EXCL, 0600);

    must(fd >= 0, name_of(i));
    close(fd);
}

static void make_names(void)
{
    for (long i = 0; i < n; i++)
        make_name(i);
}

static void once_create(long i)
{
    make_name(n + i);
}

static void once_stat(long i)
{
    struct stat st;

    must(stat(name_of(pick(i)), &st) == 0, "stat");
}

static void once_absent(long i)
{
    struct stat st;

    must(stat(name_of(-1 - i), &st) < 0 && errno == ENOENT, "stat");
}

static void once_remove(long i)
{
    must(unlink(name_of(pick(i))) == 0, "unlink");
}

static void once_readdir(long i)
{
    DIR *d = opendir(path);
    long seen = 0;

    must(d != NULL, path);
    while (readdir(d) != NULL)
        seen++;
    closedir(d);
    if (seen < n)
        bench_die("%s: %ld names, not %ld", path, seen, n);
}

static void remove_names(void)
{
    for (long i = 0; i < n + REPS * BATCH; i++)
        must(unlink(name_of(i)) == 0 || errno == ENOENT, name_of(i));
    must(rmdir(path) == 0, path);
}

static void case_names(void)
{
    snprintf(path, sizeof path, "%s/limits.XXXXXX", dir);
    must(mkdtemp(path) != NULL, path);
    measure_once("start", now_cpu, make_names);
    measure("create", now_cpu, once_create, BATCH);
    measure("stat", now_cpu, once_stat, batch());
    measure("absent", now_cpu, once_absent, BATCH);
    measure_all("readdir", now_cpu, once_readdir);
    measure("remove", now_cpu, once_remove, batch());
    measure_once("end", now_cpu, remove_names);
}

/* ---- CPUs ---- */

static void once_null(long i)
{
    syscall(SYS_getppid);
}

static void once_partner(long i)
{
    answer = 0;
    futex_set(&sleepers[0].word, 1);
    futex_wait(&answer, 0);
}

static uint64_t spin(long loops)
{
    uint64_t from = now();

    while (loops-- != 0)
        __asm__ volatile("" ::: "memory");
    return now() - from;
}

/* The cost of so many loops without an interrupt. */
static double spin_alone(long loops)
{
    uint64_t t, least = UINT64_MAX;

    for (int i = 0; i < 100; i++)
        if ((t = spin(loops)) < least)
            least = t;
    return (double)least;
}

/* What interrupts of all CPUs cost in a second of the clock. */
static double cost_of_ticks(void)
{
    const long loops = 400000000, few = 10000;
    double loop = (spin_alone(2 * few) - spin_alone(few)) / (double)few, took = (double)spin(loops);

    return (took - loop * (double)loops) / took * 1e9;
}

static void case_cpus(void)
{
    static struct sleeper one;

    sleepers = &one;
    one.thread = start_thread(sleep_until_stop, &one);
    measure("null", now, once_null, BATCH);
    measure("fork", now, fork_exit, BATCH);
    measure("thread", now, once_thread, BATCH);
    measure("wake", now, once_partner, BATCH);
    measure("map", now, once_segment_map, BATCH);
    print("tick", cost_of_ticks() / (double)n);
    measure_pause();
}

/* ---- the program ---- */

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"threads", case_threads},
    {"maps", case_maps},
    {"same", case_same},
    {"procs", case_procs},
    {"segments", case_segments},
    {"advice", case_advice},
    {"advice-shared", case_advice_shared},
    {"locks", case_locks},
    {"names", case_names},
    {"cpus", case_cpus},
};

int main(int argc, char **argv)
{
    int opt;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "d:")) != -1) {
        if (opt == 'd')
            dir = optarg;
        else
            optind = argc;
    }
    if (optind != argc - 2) {
        hr_usage(help);
        return 2;
    }
    which = argv[optind];
    n = bench_int(argv[optind + 1], 8, 10000000, "n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, which) == 0) {
            cases[i].run();
            return 0;
        }
    bench_die("%s: no such case; limits --help lists them", which);
}
