// SPDX-License-Identifier: MIT
/*
 * crashfiles.c - many small files, for the test that cuts the power: crashfiles DIRECTORY MARKER ROUNDS
 *
 * In each round two threads make FILES new files of 4 to 16 KiB in DIRS directories, each with one write(2).  Before
 * that they remove the files of the round before the last, so blocks are used again.  No file is synced until sync(2)
 * at the end of the round.  Then the number of the round + 1 is written to the device MARKER.  tests/crash.py knows
 * what must then be on the disk.  A third thread syncs a file of its own again and again, so that transactions close in
 * the middle of a round and of a write.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES   160
#define DIRS    5
#define THREADS 2

static unsigned now; /* the round */
static volatile int done;

static void check(int good, const char *what)
{
    if (good)
        return;
    printf("crashfiles: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void name_of(char name[32], unsigned round, unsigned i)
{
    snprintf(name, 32, "d%u/%u.%u", i % DIRS, round, i);
}

static void make(unsigned i)
{
    uint32_t number = now * FILES + i, words = 1024 + number * 37 % 3073, data[4096];
    char name[32];
    int fd;

    name_of(name, now, i);
    for (uint32_t w = 0; w < words; w++)
        data[w] = number * 2654435761u + w;
    fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    check(fd >= 0 && write(fd, data, words * 4) == (ssize_t)words * 4, name);
    close(fd);
}

static void *work(void *arg)
{
    unsigned first = (unsigned)(uintptr_t)arg;
    char name[32];

    for (unsigned i = first; now >= 2 && i < FILES; i += THREADS) {
        name_of(name, now - 2, i);
        check(unlink(name) == 0, name);
    }
    for (unsigned i = first; i < FILES; i += THREADS)
        make(i);
    return NULL;
}

/* Each fsync also commits what was done so far to the files of the round. */
static void *commit(void *unused)
{
    int fd = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);

    check(fd >= 0, "log");
    while (!done) {
        check(write(fd, "line\n", 5) == 5 && fsync(fd) == 0, "log");
        usleep(2000);
    }
    return unused;
}

static void mark(int marker, uint32_t number)
{
    static uint32_t sector[128] __attribute__((aligned(4096)));

    sector[0] = 0x6b72616d; /* "mark" */
    sector[1] = number;
    check(pwrite(marker, sector, sizeof sector, 0) == sizeof sector, "marker");
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS], commits;
    unsigned rounds;
    int marker;
    char name[16];

    if (argc != 4) {
        printf("usage: crashfiles DIRECTORY MARKER ROUNDS\n");
        return 2;
    }
    rounds = (unsigned)atoi(argv[3]);
    marker = open(argv[2], O_WRONLY | O_DIRECT);
    check(marker >= 0, argv[2]);
    check(chdir(argv[1]) == 0, argv[1]);
    for (unsigned i = 0; i < DIRS; i++) {
        snprintf(name, sizeof name, "d%u", i);
        check(mkdir(name, 0755) == 0, name);
    }
    sync();
    check(pthread_create(&commits, NULL, commit, NULL) == 0, "thread");
    for (now = 0; now < rounds; now++) {
        for (unsigned i = 0; i < THREADS; i++)
            check(pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i) == 0, "thread");
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        sync();
        mark(marker, now + 1);
    }
    done = 1;
    pthread_join(commits, NULL);
    return 0;
}
