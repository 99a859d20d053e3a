// SPDX-License-Identifier: MIT
/*
 * tracework.c - does work that a trace must show, and prints the numbers to look for (tests/test_trace.py).
 *
 *     tracework pong CPU1 CPU2 n   two processes, bound to these CPUs, exchange a byte n times: ping= pong= tids
 *     tracework move CPU1 CPU2     touch a page on CPU1, ask for migration, touch it on CPU2: tid= address=
 *     tracework lock               a thread protects, two map and unmap memory, until some have slept for a lock
 */
#include <sys/processor.h>
#include <sys/procset.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "homeroom.h"

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static void bind(int cpu)
{
    must(processor_bind(P_LWPID, P_MYID, cpu, NULL) == 0, "processor_bind");
}

static int pong(int cpu1, int cpu2, int n)
{
    int to[2], fro[2];
    char c = 0;
    pid_t child;

    must(pipe(to) == 0 && pipe(fro) == 0 && (child = fork()) >= 0, "pipe, fork");
    bind(child == 0 ? cpu2 : cpu1);
    for (int i = 0; i < n; i++) {
        if (child != 0)
            must(write(to[1], &c, 1) == 1 && read(fro[0], &c, 1) == 1, "ping");
        else
            must(read(to[0], &c, 1) == 1 && write(fro[1], &c, 1) == 1, "pong");
    }
    if (child == 0)
        _exit(0);
    must(waitpid(child, NULL, 0) == child, "waitpid");
    printf("ping=%d pong=%d\n", (int)getpid(), (int)child);
    return 0;
}

static int move(int cpu1, int cpu2)
{
    volatile char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    must(page != MAP_FAILED, "mmap");
    bind(cpu1);
    *page = 1;
    must(madvise((void *)page, 4096, MADV_ACCESS_LWP) == 0, "madvise");
    bind(cpu2);
    *page = 2;
    printf("tid=%d address=%lu\n", (int)getpid(), (unsigned long)page);
    return 0;
}

static _Atomic int stop;

/* Holds the lock of the address space for long: changes the protection of many pages. */
static void *protect(void *arg)
{
    enum { SIZE = 4 << 20 };
    char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    must(p != MAP_FAILED, "mmap");
    bind(*(int *)arg);
    memset(p, 1, SIZE);
    while (!stop) {
        must(mprotect(p, SIZE, PROT_READ) == 0, "mprotect");
        usleep(100);
        must(mprotect(p, SIZE, PROT_READ | PROT_WRITE) == 0, "mprotect");
        usleep(100);
    }
    return NULL;
}

static void *map_and_unmap(void *arg)
{
    bind(*(int *)arg);
    while (!stop) {
        void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        must(p != MAP_FAILED && munmap(p, 4096) == 0, "mmap");
        usleep(100);
    }
    return NULL;
}

/* rwlocks and mutexes since boot that were not free at the first try */
static long waits(void)
{
    struct hr_kstat *list;
    long n = hr_kstat_read(&list), sum = 0;

    must(n > 0, "kstat");
    for (long i = 0; i < n; i++)
        if (strcmp(list[i].module, "cpu") == 0 && strcmp(list[i].statistic, "srw") == 0)
            sum += strtol(list[i].value, NULL, 10);
    free(list);
    return sum;
}

static int lock(void)
{
    int cpu[] = {1, 2, 3};
    pthread_t thread[3];
    long before = waits();

    for (int i = 0; i < 3; i++)
        must(pthread_create(&thread[i], NULL, i == 0 ? protect : map_and_unmap, &cpu[i]) == 0,
             "pthread_create");
    while (waits() < before + 4)
        usleep(20000);
    stop = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "pong") == 0)
        return pong(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    if (argc == 4 && strcmp(argv[1], "move") == 0)
        return move(atoi(argv[2]), atoi(argv[3]));
    if (argc == 2 && strcmp(argv[1], "lock") == 0)
        return lock();
    return 2;
}
