// SPDX-License-Identifier: MIT
/*
 * crashcrowd.c - several threads that work on files side by side, for the test that cuts the power: crashcrowd
 * DIRECTORY MARKER CYCLES
 *
 * There are three workers, each in a directory of its own, w0 .. w2.  A step ends when its result must be on the disk.
 * Then the worker writes the number of the step + 1 to its sector of the device MARKER.  Step 6q + j of a worker:
 *     0  the new file a<q> is written through O_SYNC
 *     1  the new file b<q> is written, and fsync is called on another descriptor of it
 *     2  b<q> is cut to half its size, fdatasync
 *     3  b<q> becomes c<q>, which also gets the name d<q> and other permissions
 *     4  two cycles later: a and d lose their names, c is written anew with O_TRUNC
 *     5  a page of m is changed through a mapping, msync; the directory e<q> with a file f is made; that of three
 *        cycles ago is removed
 * tests/crash.py knows what must then be on the disk.  Three more threads write, cut, rename and remove files of zeros
 * that are never synced, one of them in a directory with an index.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORKERS 3
#define NOISES  3
#define PAGES   8

static int marker;
static unsigned cycles;
static volatile int done;

static void check(int good, const char *what)
{
    if (good)
        return;
    printf("crashcrowd: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void mark(unsigned worker, uint32_t number)
{
    static uint32_t sectors[WORKERS][1024] __attribute__((aligned(4096)));

    sectors[worker][0] = 0x6b72616d; /* "mark" */
    sectors[worker][1] = number;
    check(pwrite(marker, sectors[worker], 512, worker * 512) == 512, "marker");
}

static void fill(uint32_t *p, size_t bytes, uint32_t number)
{
    for (uint32_t i = 0; i < bytes / 4; i++)
        p[i] = number * 2654435761u + i;
}

static size_t size_of(uint32_t step)
{
    return 8 * (50 + step * 37 % 1500);
}

struct worker {
    unsigned id;
    int dir, map_fd;
    uint8_t *map;
    uint32_t data[4096];
};

/* Opens a file in the worker's directory. */
static int file_at(struct worker *w, const char *kind, unsigned q, int flags)
{
    char name[32];
    int fd;

    snprintf(name, sizeof name, "%s%u", kind, q);
    fd = openat(w->dir, name, flags, 0644);
    check(fd >= 0, name);
    return fd;
}

static void put(struct worker *w, int fd, uint32_t step)
{
    uint32_t number = step * WORKERS + w->id;

    fill(w->data, size_of(step), number);
    check(write(fd, w->data, size_of(step)) == (ssize_t)size_of(step), "write");
}

static void drop(struct worker *w, const char *kind, unsigned q, int flags)
{
    char name[32];

    snprintf(name, sizeof name, "%s%u", kind, q);
    check(unlinkat(w->dir, name, flags) == 0, name);
}

static void change_names(struct worker *w, unsigned q)
{
    char b[32], c[32], d[32];

    snprintf(b, sizeof b, "b%u", q);
    snprintf(c, sizeof c, "c%u", q);
    snprintf(d, sizeof d, "d%u", q);
    check(renameat(w->dir, b, w->dir, c) == 0, "rename");
    check(linkat(w->dir, c, w->dir, d, 0) == 0, "link");
    check(fchmodat(w->dir, c, 0600 | (q & 077), 0) == 0, "chmod");
}

static void change_page(struct worker *w, uint32_t step, unsigned q)
{
    uint8_t *page = w->map + q % PAGES * 4096;

    fill((uint32_t *)page, 4096, step * WORKERS + w->id);
    check(msync(page, 4096, MS_SYNC) == 0, "msync");
}

static void change_dirs(struct worker *w, uint32_t step, unsigned q)
{
    char name[32];
    int dir, fd;

    snprintf(name, sizeof name, "e%u", q);
    check(mkdirat(w->dir, name, 0755) == 0, "mkdir");
    dir = file_at(w, "e", q, O_RDONLY | O_DIRECTORY);
    fd = openat(dir, "f", O_WRONLY | O_CREAT | O_DSYNC, 0644);
    check(fd >= 0, "f");
    put(w, fd, step);
    close(fd);
    check(fsync(dir) == 0, "fsync");
    close(dir);
    if (q >= 3) {
        dir = file_at(w, "e", q - 3, O_RDONLY | O_DIRECTORY);
        check(unlinkat(dir, "f", 0) == 0, "unlink f");
        close(dir);
        drop(w, "e", q - 3, AT_REMOVEDIR);
    }
    check(fsync(w->dir) == 0, "fsync");
}

static void step(struct worker *w, uint32_t n)
{
    unsigned q = n / 6;
    int fd, other;

    switch (n % 6) {
    case 0:
        fd = file_at(w, "a", q, O_WRONLY | O_CREAT | O_SYNC);
        put(w, fd, n);
        close(fd);
        break;
    case 1:
        fd = file_at(w, "b", q, O_WRONLY | O_CREAT);
        other = file_at(w, "b", q, O_RDONLY);
        put(w, fd, n);
        check(fsync(other) == 0 && fsync(w->dir) == 0, "fsync");
        close(fd);
        close(other);
        break;
    case 2:
        fd = file_at(w, "b", q, O_RDWR);
        check(ftruncate(fd, (off_t)size_of(n - 1) / 2) == 0, "ftruncate");
        check(fdatasync(fd) == 0, "fdatasync");
        close(fd);
        break;
    case 3:
        change_names(w, q);
        check(fsync(w->dir) == 0, "fsync");
        break;
    case 4:
        if (q < 2)
            break;
        drop(w, "a", q - 2, 0);
        drop(w, "d", q - 2, 0);
        fd = file_at(w, "c", q - 2, O_WRONLY | O_TRUNC);
        put(w, fd, n);
        check(fsync(fd) == 0 && fsync(w->dir) == 0, "fsync");
        close(fd);
        break;
    default:
        change_page(w, n, q);
        change_dirs(w, n, q);
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;

    for (uint32_t n = 0; n < cycles * 6; n++) {
        step(w, n);
        mark(w->id, n + 1);
    }
    return NULL;
}

static uint32_t below(uint64_t *state, uint32_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 20) % n;
}

/* Work that is never synced: all bytes are zero.  Every error except a full disk or a missing file is a fault. */
static void *noise(void *arg)
{
    static const char zeros[60000];
    unsigned id = (unsigned)(uintptr_t)arg;
    uint64_t s = 88172645463325252ul * (id + 1);
    char a[200], b[200], pad[100];
    int fd;

    memset(pad, 'x', sizeof pad);
    pad[id == 0 ? 90 : 1] = '\0'; /* long names give the directory an index */
    while (!done) {
        snprintf(a, sizeof a, "noise/%u/%s%u", id == 0 ? 0 : 1 + below(&s, 2), pad,
                 below(&s, id == 0 ? 60 : 10));
        snprintf(b, sizeof b, "noise/%u/%s%u", id == 0 ? 0 : 1 + below(&s, 2), pad,
                 below(&s, id == 0 ? 60 : 10));
        switch (below(&s, 8)) {
        case 0:
        case 1:
        case 2:
            if ((fd = open(a, O_WRONLY | O_CREAT | (below(&s, 2) ? O_TRUNC : 0), 0600)) >= 0) {
                uint32_t n = below(&s, id == 0 ? 2000 : sizeof zeros);

                if (pwrite(fd, zeros, n, below(&s, 4) ? 0 : below(&s, 100000)) < 0)
                    check(errno == ENOSPC, "noise");
                close(fd);
            } else {
                check(errno == ENOSPC, a);
            }
            break;
        case 3:
            if (truncate(a, below(&s, 30000)) != 0)
                check(errno == ENOENT, "truncate");
            break;
        case 4:
            if (rename(a, b) != 0)
                check(errno == ENOENT || errno == ENOSPC, "rename");
            break;
        case 5:
            if (link(a, b) != 0)
                unlink(b);
            break;
        case 6:
            unlink(a);
            break;
        default:
            chmod(a, 0600 | below(&s, 64));
            usleep(below(&s, 4000));
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker w[WORKERS];
    pthread_t worker[WORKERS], other[NOISES];
    char name[16];

    if (argc != 4) {
        printf("usage: crashcrowd DIRECTORY MARKER CYCLES\n");
        return 2;
    }
    cycles = (unsigned)atoi(argv[3]);
    marker = open(argv[2], O_WRONLY | O_DIRECT);
    check(marker >= 0, argv[2]);
    check(chdir(argv[1]) == 0, argv[1]);
    check(mkdir("noise", 0755) == 0 && mkdir("noise/0", 0755) == 0 && mkdir("noise/1", 0755) == 0 &&
              mkdir("noise/2", 0755) == 0,
          "mkdir");
    for (unsigned i = 0; i < WORKERS; i++) {
        snprintf(name, sizeof name, "w%u", i);
        check(mkdir(name, 0755) == 0, name);
        w[i].id = i;
        w[i].dir = open(name, O_RDONLY | O_DIRECTORY);
        check(w[i].dir >= 0, name);
        w[i].map_fd = openat(w[i].dir, "m", O_RDWR | O_CREAT, 0644);
        check(w[i].map_fd >= 0 && ftruncate(w[i].map_fd, PAGES * 4096) == 0, "m");
        w[i].map = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, w[i].map_fd, 0);
        check(w[i].map != MAP_FAILED, "mmap");
    }
    sync();
    for (unsigned i = 0; i < WORKERS; i++)
        check(pthread_create(&worker[i], NULL, work, &w[i]) == 0, "thread");
    for (unsigned i = 0; i < NOISES; i++)
        check(pthread_create(&other[i], NULL, noise, (void *)(uintptr_t)i) == 0, "thread");
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(worker[i], NULL);
    done = 1;
    for (unsigned i = 0; i < NOISES; i++)
        pthread_join(other[i], NULL);
    printf("crashcrowd: %u cycles done\n", cycles);
    return 0;
}
