// SPDX-License-Identifier: MIT
/*
 * intrload.c - reads from disks while their interrupts move from CPU to CPU, and checks that all reads return.
 *
 *     intrload [-m moves] [-s seconds] [-i irq]... device ...
 *
 * THEORY      Each 4 KiB block of a device begins with its own number, 64 bits.  For each device three processes read
 *             random blocks past the cache and check them, until the parent has moved each named interrupt `moves`
 *             times, each time to another CPU, and `seconds` have passed.  If an interrupt is lost, a read never ends,
 *             and the parent gives up after 100 s.  While interrupts move, the bound readers move, too, so that each
 *             queue of a device is used.  Prints reads=N moves=N wrong=N. The status is 0 if nothing was wrong.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/processor.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    BLOCK = 4096,
    READERS = 3,
    MOVES_A_READ = 50,
    READS_A_CPU = 8,
    MAX_IRQS = 32,
    BLKGETSIZE64_ = (int)0x80081272
};

static struct shared {
    _Atomic unsigned long reads, wrong;
    _Atomic int stop;
} *shared;

/* Stores the CPUs that take interrupts.  Returns their number. */
static int interruptible(int *cpus)
{
    int n = 0;

    for (int cpu = 0, state; (state = p_online(cpu, P_STATUS)) >= 0; cpu++)
        if (state == P_ONLINE)
            cpus[n++] = cpu;
    return n;
}

/* Reads until the parent sets stop.  With `go_round` it uses one CPU after the other, so that each queue is used. */
static void read_blocks(const char *device, unsigned seed, bool go_round)
{
    int fd = open(device, O_RDONLY | O_DIRECT), cpus[HR_MAXCPU], ncpus = interruptible(cpus);
    uint64_t bytes, *buf = aligned_alloc(BLOCK, BLOCK);

    if (fd < 0 || ioctl(fd, BLKGETSIZE64_, &bytes) != 0) {
        perror(device);
        shared->wrong++;
        return;
    }
    for (unsigned k = seed; !shared->stop; k++) {
        uint64_t at;

        if (go_round && k % READS_A_CPU == 0)
            processor_bind(P_LWPID, P_MYID, cpus[k / READS_A_CPU % (unsigned)ncpus], NULL);
        seed = seed * 1103515245 + 12345;
        at = (seed >> 8) % (bytes / BLOCK);
        if (pread(fd, buf, BLOCK, (off_t)(at * BLOCK)) != BLOCK || buf[0] != at)
            shared->wrong++;
        shared->reads++;
    }
}

/* Waits for a read: the load must not fall behind the moves. */
static void await_read(void)
{
    unsigned long reads = shared->reads;

    while (shared->reads == reads && shared->wrong == 0)
        nanosleep(&(struct timespec){0, 100000}, NULL);
}

static long move(const int *irqs, int n, long moves)
{
    int cpus[HR_MAXCPU], ncpus = interruptible(cpus), fd[MAX_IRQS];
    char text[32];
    long done = 0;

    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "/proc/irq/%d/smp_affinity_list", irqs[i]);
        if ((fd[i] = open(text, O_WRONLY)) < 0) {
            perror(text);
            exit(2);
        }
    }
    for (long k = 0; k < moves; k++) {
        for (int i = 0; i < n; i++) {
            int len = snprintf(text, sizeof text, "%d", cpus[(k + i) % ncpus]);

            done += pwrite(fd[i], text, (size_t)len, 0) == len;
        }
        if (k % MOVES_A_READ == 0)
            await_read();
    }
    for (int i = 0; i < n; i++) {
        int len = snprintf(text, sizeof text, "0-%d", cpus[ncpus - 1]);

        (void)!pwrite(fd[i], text, (size_t)len, 0);
    }
    return done;
}

int main(int argc, char **argv)
{
    long moves = 0, moved;
    int opt, irqs[MAX_IRQS], n = 0, status, failed = 0;
    time_t seconds = 0, begin = time(NULL);

    while ((opt = getopt(argc, argv, "m:s:i:")) != -1) {
        if (opt == 'm')
            moves = atol(optarg);
        else if (opt == 's')
            seconds = atol(optarg);
        else if (opt == 'i' && n < MAX_IRQS)
            irqs[n++] = atoi(optarg);
        else
            return 2;
    }
    shared = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = optind; i < argc; i++)
        for (unsigned k = 0; k < READERS; k++)
            if (fork() == 0) {
                read_blocks(argv[i], 1000u * (unsigned)i + k, n > 0);
                _exit(0);
            }
    moved = move(irqs, n, moves);
    while (time(NULL) < begin + seconds)
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    shared->stop = 1;
    alarm(100);
    while (wait(&status) > 0)
        failed |= status;
    printf("reads=%lu moves=%ld wrong=%lu\n", shared->reads, moved, shared->wrong);
    return failed != 0 || shared->wrong != 0;
}
