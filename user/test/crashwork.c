// SPDX-License-Identifier: MIT
/*
 * crashwork.c - work on files, for the test that cuts the power: crashwork DIRECTORY MARKER STEPS
 *
 *     crashwork -m MARKER NUMBER   only writes a number to the marker
 *
 * Each step creates, renames over, unlinks, appends and overwrites, with an fsync after each.  Changes that are never
 * synced come between.  When the k-th fsync has returned, k is written to the device MARKER.  tests/crash.py knows what
 * must then be on the disk:
 *     4n+1  DIRECTORY/c/t has the pattern of n
 *     4n+2  it is now c/N (n), c/N-8 is gone, and `latest` has the pattern of n
 *     4n+3  `log` has the records 0 .. n
 *     4n+4  slot n % 16 of `over` has the pattern of n
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS 16
#define SLOT  4096

static int marker;

static void check(int good, const char *what)
{
    if (good)
        return;
    printf("crashwork: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void mark(uint32_t number)
{
    static uint32_t sector[128] __attribute__((aligned(4096)));

    sector[0] = 0x6b72616d; /* "mark" */
    sector[1] = number;
    check(pwrite(marker, sector, sizeof sector, 0) == sizeof sector, "marker");
}

static void synced(int fd, uint32_t number)
{
    check(fsync(fd) == 0, "fsync");
    mark(number);
}

/* Words that contain the number and the place, so that a wrong block is recognised. */
static void fill(uint32_t *p, size_t bytes, uint32_t number)
{
    for (uint32_t i = 0; i < bytes / 4; i++)
        p[i] = number * 2654435761u + i;
}

static int opened(const char *name, int flags)
{
    int fd = open(name, flags | O_CREAT, 0644);

    check(fd >= 0, name);
    return fd;
}

static uint32_t below(uint32_t n)
{
    static uint64_t state = 88172645463325252ul;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 20) % n;
}

/* Changes that are never synced. */
static void noise(void)
{
    static char data[30000];
    char a[32], b[32];
    int fd;

    snprintf(a, sizeof a, "noise/%u/f%u", below(3), below(12));
    snprintf(b, sizeof b, "noise/%u/f%u", below(3), below(12));
    switch (below(8)) {
    case 0:
    case 1:
    case 2:
        if ((fd = open(a, O_WRONLY | O_CREAT, 0600)) >= 0) {
            if (lseek(fd, below(4) ? below(60000) : 200000 + (off_t)below(1000000), SEEK_SET) >=
                    0 &&
                write(fd, data, below(sizeof data)) < 0)
                check(errno == ENOSPC, "noise");
            close(fd);
        }
        break;
    case 3:
        if (truncate(a, below(20000)) != 0)
            check(errno == ENOENT || errno == EISDIR, "truncate");
        break;
    case 4:
        rename(a, b);
        break;
    case 5:
        if (link(a, b) != 0)
            unlink(b);
        break;
    case 6:
        unlink(a);
        break;
    default:
        if (mkdir(b, 0755) != 0)
            rmdir(b);
    }
}

int main(int argc, char **argv)
{
    static uint32_t data[3 * SLOT];
    char name[40];
    int log, over, dir, top;

    if (argc != 4) {
        printf("usage: crashwork DIRECTORY MARKER STEPS\n");
        return 2;
    }
    marker = open(argv[2], O_WRONLY | O_DIRECT);
    check(marker >= 0, argv[2]);
    if (strcmp(argv[1], "-m") == 0) {
        mark((uint32_t)atoi(argv[3]));
        return 0;
    }
    check(chdir(argv[1]) == 0, argv[1]);
    check(mkdir("c", 0755) == 0 && mkdir("noise", 0755) == 0 && mkdir("noise/0", 0755) == 0 &&
              mkdir("noise/1", 0755) == 0 && mkdir("noise/2", 0755) == 0,
          "mkdir");
    log = opened("log", O_WRONLY | O_APPEND);
    over = opened("over", O_RDWR);
    dir = open("c", O_RDONLY);
    top = open(".", O_RDONLY);
    check(dir >= 0 && top >= 0, "directories");
    for (uint32_t n = 0; n < (uint32_t)atoi(argv[3]); n++) {
        int fd = opened("c/t", O_WRONLY | O_TRUNC);
        size_t bytes = 4 * (100 + n * 37 % 2000);

        fill(data, bytes, n);
        check(write(fd, data, bytes) == (ssize_t)bytes, "write");
        synced(fd, 4 * n + 1);
        close(fd);
        snprintf(name, sizeof name, "c/%u", n);
        check(rename("c/t", name) == 0, "rename");
        if (n >= 8) {
            snprintf(name, sizeof name, "c/%u", n - 8);
            check(unlink(name) == 0, "unlink");
        }
        fd = opened("latest.new", O_WRONLY | O_TRUNC);
        fill(data, 64, n);
        check(write(fd, data, 64) == 64, "write");
        check(fsync(fd) == 0, "fsync");
        close(fd);
        check(rename("latest.new", "latest") == 0, "rename over");
        check(fsync(dir) == 0, "fsync");
        synced(top, 4 * n + 2);
        for (unsigned k = 0; k < 4; k++)
            noise();
        fill(data, 300, n);
        check(write(log, data, 300) == 300, "append");
        synced(log, 4 * n + 3);
        fill(data, SLOT, n);
        check(pwrite(over, data, SLOT, n % SLOTS * SLOT) == SLOT, "overwrite");
        check(fdatasync(over) == 0, "fdatasync");
        synced(over, 4 * n + 4);
    }
    printf("crashwork: %s steps done\n", argv[3]);
    return 0;
}
