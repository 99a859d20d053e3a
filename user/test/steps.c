// SPDX-License-Identifier: MIT
/*
 * steps.c - one piece of work for the kernel, between two calls of getppid (tools/homeroom/steps.py).
 *
 *     steps touch        the first touch of a page of private memory
 *     steps write FILE   4 KiB written to the file, and fsync
 *     steps wake CPU     a thread wakes another one that sleeps on that CPU
 *
 * The work is done several times before, so that caches of frames, tables and descriptors are filled.
 */
#include <sys/processor.h>
#include <sys/procset.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, TIMES = 8 };
enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE }; /* <linux/futex.h> */

static _Atomic uint32_t word;
static _Atomic int sleeps;

static void must(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(1);
    }
}

static void touch(void)
{
    char *p = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    must(p != MAP_FAILED, "mmap");
    for (int i = 0; i <= TIMES; i++) {
        getppid();
        ((volatile char *)p)[i * PAGE] = 1;
        getppid();
    }
}

static void write_one(const char *name)
{
    static char page[PAGE];
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    must(fd >= 0, name);
    for (int i = 0; i <= TIMES; i++) {
        memset(page, i, PAGE);
        usleep(50000); /* until the work of the last round is done */
        getppid();
        must(write(fd, page, PAGE) == PAGE && fsync(fd) == 0, "write");
        getppid();
    }
}

static void *sleeper(void *cpu)
{
    must(processor_bind(P_LWPID, P_MYID, *(int *)cpu, NULL) == 0, "processor_bind");
    for (uint32_t i = 0; i <= TIMES; i++) {
        sleeps = 1;
        while (word == i)
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
        getppid();
    }
    return NULL;
}

static void wake(int cpu)
{
    pthread_t thread;

    must(processor_bind(P_LWPID, P_MYID, 0, NULL) == 0, "processor_bind");
    must(pthread_create(&thread, NULL, sleeper, &cpu) == 0, "pthread_create");
    for (int i = 0; i <= TIMES; i++) {
        while (!sleeps)
            ; /* no system call, because that would be a step */
        sleeps = 0;
        usleep(50000);
        getppid();
        word++;
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "touch") == 0)
        touch();
    else if (argc == 3 && strcmp(argv[1], "write") == 0)
        write_one(argv[2]);
    else if (argc == 3 && strcmp(argv[1], "wake") == 0)
        wake(atoi(argv[2]));
    else
        return 2;
    return 0;
}
