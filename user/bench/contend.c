// SPDX-License-Identifier: MIT
/*
 * contend.c - operations a second of threads or processes that contend for one address space or one directory.
 *
 * THEORY      Workers start together and repeat one operation, each on memory or a file of its own.  What they share is
 *             the kernel's data: the address space, the directory, the lists of free frames.  The figure is the total
 *             of all workers in a fixed interval of the monotonic clock.  If all CPUs share one thread of the host
 *             (QEMU's thread=single), n workers have as much processor time as one.  Then the total of n workers is
 *             the rate of one, less what it costs that they contend.
 *             The scheduler places the workers, as it does for any program.  They run for a quarter of the interval
 *             before it begins, so that they are placed then.
 *             A worker reads the clock after each batch of operations, and stops when the interval is over.  Its rate
 *             is the number of operations since the interval began, divided by the time until its last batch ended.
 *             Of the batch in which the interval began it counts the part that lies in the interval.  So each worker
 *             counts at least a part of a batch, and no rate is 0.
 * OUTPUT      result: bench=contend row=ROW/WORKERS seconds= (the interval) rate= (operations a second, all workers)
 *             least= (of the slowest worker) cpus= (number of CPUs on which the workers ended)
 * SEE ALSO    make contention, docs/results/contention.md
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    contend - what threads cost each other in the kernel\n"
    "\n"
    "SYNOPSIS\n"
    "    contend [-n workers] [-t ms] row\n"
    "\n"
    "DESCRIPTION\n"
    "    Workers start together and repeat one operation, each on memory or a file\n"
    "    of its own.  The program prints how many operations all of them did in a\n"
    "    second.  Files are in a new directory in /tmp.  The rows:\n"
    "\n"
    "    map           map and unmap 1 MiB\n"
    "    protect       make a page read-only and writable again, and write to it\n"
    "    create        create and remove a file, all in one directory\n"
    "    create-proc   the same, with processes as workers; else they are threads\n"
    "    touch         map 1 MiB, write to each of its 256 pages, unmap it\n"
    "    fault         write to each of 256 mapped pages, then give them back\n"
    "                  (madvise MADV_DONTNEED)\n"
    "    stat          stat of a file, all in one directory\n"
    "    null          getppid\n"
    "\n"
    "OPTIONS\n"
    "    -n workers    how many (as many as there are CPUs)\n"
    "    -t ms         time that is measured (1000)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    osbench, docs/benchmarks.md\n";

#define PAGE    4096
#define PAGES   256
#define WARM_UP 0.25 /* part of the interval for which workers run before it begins */

/* What a worker has of its own. */
struct own {
    volatile char *area; /* PAGES pages */
    char path[64];
};

struct row {
    const char *name;
    void (*once)(struct own *own); /* does one operation */
    int batch;                     /* operations between two looks at the clock */
    bool processes;
    bool file; /* the worker's file exists */
};

/* What the workers share; processes, too. */
struct shared {
    double begin;           /* of the interval */
    double rate[BENCH_MAX]; /* operations a second of each worker */
    int cpu[BENCH_MAX];
};

static struct own owns[BENCH_MAX];
static struct shared *shared;
static const struct row *row;
static int workers;
static double interval = 1; /* s */
static pid_t creator;
static char directory[] = "/tmp/contend.XXXXXX";

static void must(bool ok, const char *what)
{
    if (!ok)
        bench_die("%s: %s", what, strerror(errno));
}

static void *map_area(void)
{
    void *area =
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    must(area != MAP_FAILED, "mmap");
    return area;
}

static void write_pages(volatile char *area)
{
    for (int i = 0; i < PAGES; i++)
        area[i * PAGE] = 1;
}

static void once_map(struct own *own)
{
    must(munmap(map_area(), PAGES * PAGE) == 0, "munmap");
}

/* Without the write, a kernel could leave the page read-only, and the next call would change nothing. */
static void once_protect(struct own *own)
{
    void *page = (void *)own->area;

    must(mprotect(page, PAGE, PROT_READ) == 0, "mprotect");
    must(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
    own->area[0] = 1;
}

static void create_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

    must(fd >= 0, path);
    close(fd);
}

static void once_create(struct own *own)
{
    create_file(own->path);
    must(unlink(own->path) == 0, own->path);
}

static void once_touch(struct own *own)
{
    void *area = map_area();

    write_pages(area);
    must(munmap(area, PAGES * PAGE) == 0, "munmap");
}

static void once_fault(struct own *own)
{
    write_pages(own->area);
    must(madvise((void *)own->area, PAGES * PAGE, MADV_DONTNEED) == 0, "madvise");
}

static void once_stat(struct own *own)
{
    struct stat st;

    must(stat(own->path, &st) == 0, own->path);
}

static void once_null(struct own *own)
{
    syscall(SYS_getppid);
}

static const struct row rows[] = {
    {.name = "map", .once = once_map, .batch = 16},
    {.name = "protect", .once = once_protect, .batch = 16},
    {.name = "create", .once = once_create, .batch = 16},
    {.name = "create-proc", .once = once_create, .batch = 16, .processes = true},
    {.name = "touch", .once = once_touch, .batch = 1},
    {.name = "fault", .once = once_fault, .batch = 1},
    {.name = "stat", .once = once_stat, .batch = 16, .file = true},
    {.name = "null", .once = once_null, .batch = 256},
};

static void work(int self)
{
    struct own *own = &owns[self];
    double begin, before, now, done = 0;

    own->area = map_area();
    own->area[0] = 1;
    if (row->file)
        create_file(own->path);
    bench_barrier();
    if (self == 0)
        shared->begin = bench_now() + interval * WARM_UP;
    bench_barrier();
    begin = shared->begin;
    do {
        before = bench_now();
        for (int i = 0; i < row->batch; i++)
            row->once(own);
        now = bench_now();
        if (now > begin)
            done += row->batch * (before < begin ? (now - begin) / (now - before) : 1);
    } while (now < begin + interval);
    shared->rate[self] = done / (now - begin);
    shared->cpu[self] = sched_getcpu();
}

static void report(void)
{
    bool used[HR_MAXCPU] = {false};
    double total = 0, least = shared->rate[0];
    int cpus = 0;

    for (int i = 0; i < workers; i++) {
        int cpu = shared->cpu[i];

        total += shared->rate[i];
        least = shared->rate[i] < least ? shared->rate[i] : least;
        if (cpu >= 0 && cpu < HR_MAXCPU && !used[cpu]) {
            used[cpu] = true;
            cpus++;
        }
    }
    printf("result: bench=contend row=%s/%d seconds=%.3f rate=%.1f least=%.1f cpus=%d\n", row->name,
           workers, interval, total, least, cpus);
}

/* Removes the directory and the files in it when the process that made it ends. */
static void remove_directory(void)
{
    if (getpid() != creator)
        return;
    for (int i = 0; i < workers; i++)
        unlink(owns[i].path);
    rmdir(directory);
}

/* Makes a directory, and names the workers' files in it. */
static void make_directory(void)
{
    must(mkdtemp(directory) != NULL, directory);
    for (int i = 0; i < workers; i++)
        snprintf(owns[i].path, sizeof owns[i].path, "%s/%d", directory, i);
    creator = getpid();
    atexit(remove_directory);
}

int main(int argc, char **argv)
{
    int opt, failed = 0;

    hr_help(argv, help);
    workers = bench_cpus();
    while ((opt = getopt(argc, argv, "n:t:")) != -1) {
        switch (opt) {
        case 'n':
            workers = bench_int(optarg, 1, BENCH_MAX, "-n");
            break;
        case 't':
            interval = bench_int(optarg, 1, 1000000, "-t") / 1e3;
            break;
        default:
            optind = argc;
        }
    }
    if (optind != argc - 1) {
        hr_usage(help);
        return 2;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, argv[optind]) == 0)
            row = &rows[i];
    if (row == NULL)
        bench_die("%s: no such row; contend --help lists them", argv[optind]);
    bench_init();
    shared = bench_shared(sizeof *shared, false);
    make_directory();
    if (row->processes)
        failed = bench_processes(workers, work, false);
    else
        bench_threads(workers, work, false);
    if (failed != 0)
        return 2;
    report();
    return 0;
}
