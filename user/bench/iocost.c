// SPDX-License-Identifier: MIT
/*
 * iocost.c - how much processor time reading and writing a disk costs.
 *
 * THEORY      A process of the lowest priority counts on the same processor as the one that reads or writes.  So the
 *             processor is never idle, and the time that the counting process does not get is the cost of the transfer:
 *             system calls, copies, drivers, interrupts.  The time of one step of counting is measured before, without
 *             other work.  With ICOUNT=1 times are instructions.
 *             The data goes through the page cache, which is emptied before each piece of work.
 *               seqread    reads the whole file or disk from its start, 64 KiB with each call
 *               seqwrite   writes it in the same way, with an fsync at the end
 *               randread   reads -n random pages
 *             With -t no process counts: then only elapsed_ns has a meaning.
 * OUTPUT      result: bench=iocost work=... bytes=... cpu_ns=... elapsed_ns=... step_ns=... (of 1000 steps)
 * SEE ALSO    make experiment-idedma, docs/disks.md
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    iocost - what reading and writing a disk costs a processor\n"
    "\n"
    "SYNOPSIS\n"
    "    iocost [-t] [-m MiB] [-n pages] [-s seed] file\n"
    "\n"
    "DESCRIPTION\n"
    "    A process of the lowest priority counts on the same CPU.  What it does\n"
    "    not get is the cost.  Work: seqread, seqwrite with an fsync, randread.\n"
    "\n"
    "OPTIONS\n"
    "    -m MiB        size of sequential work (8)\n"
    "    -n pages      pages of random work (1000)\n"
    "    -s seed       seed of random work (1)\n"
    "    -t            only time: nothing counts beside it\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    fsio, docs/disks.md\n";

#define BLOCK     65536
#define PAGE      4096
#define BLKFLSBUF 0x1261
#define CALIBRATE 200000000l /* ns */
#define NS        1e9

static volatile uint64_t *steps; /* shared with the process that counts */
static const char *name;
static int alone;
static long mib = 8, npages = 1000;
static uint64_t seed = 1;
static char buf[BLOCK] __attribute__((aligned(4096)));

static pid_t start_counting(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        errno = 0;
        if (nice(19) == -1 && errno != 0)
            bench_die("nice: %s", strerror(errno));
        for (;;)
            ++*steps;
    }
    return pid;
}

static void seqread(int fd)
{
    for (long done = 0; done < mib << 20; done += BLOCK)
        if (read(fd, buf, BLOCK) != BLOCK)
            bench_die("read: %s", strerror(errno));
}

static void seqwrite(int fd)
{
    memset(buf, 0x5a, sizeof buf);
    for (long done = 0; done < mib << 20; done += BLOCK)
        if (write(fd, buf, BLOCK) != BLOCK)
            bench_die("write: %s", strerror(errno));
    if (fsync(fd) != 0)
        bench_die("fsync: %s", strerror(errno));
}

static void randread(int fd)
{
    for (long i = 0; i < npages; i++) {
        off_t at = (off_t)(bench_random(&seed) % ((uint64_t)mib << 8)) * PAGE;

        if (pread(fd, buf, PAGE, at) != PAGE)
            bench_die("pread: %s", strerror(errno));
    }
}

/* Measures a piece of work; `step`: seconds that 1000 steps of counting take alone. */
static void measure(const char *work, void (*fn)(int), long bytes, double step)
{
    int fd = open(name, O_RDWR);
    uint64_t counted;
    double begin, elapsed;

    if (fd < 0)
        bench_die("%s: %s", name, strerror(errno));
    ioctl(fd, BLKFLSBUF, 0); /* does nothing for a file: then the caller must empty the cache */
    counted = *steps;
    begin = bench_now();
    fn(fd);
    elapsed = bench_now() - begin;
    counted = *steps - counted;
    printf("result: bench=iocost work=%s bytes=%ld cpu_ns=%.0f elapsed_ns=%.0f step_ns=%.1f\n",
           work, bytes, (elapsed - (double)counted * step / 1000) * NS, elapsed * NS, step * NS);
    fflush(stdout);
    close(fd);
}

int main(int argc, char **argv)
{
    struct timespec wait = {.tv_nsec = CALIBRATE};
    cpu_set_t first;
    uint64_t counted;
    double begin, step = 0;
    pid_t counter = 0;
    int opt;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "tm:n:s:")) != -1) {
        long value = opt == 't' ? 1 : strtol(optarg != NULL ? optarg : "0", NULL, 0);

        if (value <= 0)
            opt = '?';
        if (opt == 't')
            alone = 1;
        else if (opt == 'm')
            mib = value;
        else if (opt == 'n')
            npages = value;
        else if (opt == 's')
            seed = bench_seed((uint64_t)value, 0);
        else
            optind = argc;
    }
    if (optind != argc - 1) {
        hr_usage(help);
        return 2;
    }
    name = argv[optind];
    CPU_ZERO(&first);
    CPU_SET(0, &first); /* the CPU where the interrupts of IDE channels arrive */
    sched_setaffinity(0, sizeof first, &first);
    steps = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (steps == MAP_FAILED || (!alone && (counter = start_counting()) < 0))
        bench_die("start: %s", strerror(errno));
    if (!alone) {
        nanosleep(&wait, NULL);
        begin = bench_now();
        counted = *steps;
        nanosleep(&wait, NULL);
        step = (bench_now() - begin) * 1000 / (double)(*steps - counted);
    }
    measure("seqread", seqread, mib << 20, step);
    measure("seqwrite", seqwrite, mib << 20, step);
    measure("randread", randread, npages * PAGE, step);
    if (!alone) {
        kill(counter, SIGKILL);
        waitpid(counter, NULL, 0);
    }
    return 0;
}
