// SPDX-License-Identifier: MIT
/*
 * beside.c - how a streaming write slows down other work on the same disk and on another disk.
 *
 * THEORY      A stream writes a file with write(2) calls of 64 KiB, and ends with fsync.  While it runs, other threads
 *             read or write.  Each pauses after each piece of work and records the time of each piece.
 *             A cold reader reads 4 KiB at each place of the file DIR/cold, in random order and once each, so no place
 *             is in memory.  It ends early when it has read all places.  Several readers divide the places among
 *             themselves.
 * OUTPUT      result: bench=beside stream_s= (until the last stream has ended) first_share= (the share of the stream
 *             that ended first in all that the streams wrote, at a constant rate);
 *             then for each kind of other work (read, append, seq, other) KIND_n= pieces of work, KIND_p50_ms=
 *             KIND_p95_ms= KIND_max_ms= their times; seq_kib_s= for -q
 * SEE ALSO    make experiment-beside
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    beside - what a streaming write does to other work on its disk\n"
    "\n"
    "SYNOPSIS\n"
    "    beside [-m MiB] [-n streams] [-r ms] [-t readers] [-a ms] [-q] [-o dir]\n"
    "            directory\n"
    "\n"
    "DESCRIPTION\n"
    "    A stream writes a file, 64 KiB with each write, and ends with fsync.\n"
    "    While it runs, other threads read or write, with a pause after each piece\n"
    "    of work, and measure how long each piece took.  A cold reader reads 4 KiB\n"
    "    of the file cold of the directory at places in random order.\n"
    "\n"
    "OPTIONS\n"
    "    -a ms         append 4 KiB and fsync, with this pause\n"
    "    -m MiB        size of a stream (48)\n"
    "    -n streams    streams at the same time (1)\n"
    "    -o dir        in this directory write 1 MiB and fsync, each 100 ms\n"
    "    -q            read the file cold from its beginning\n"
    "    -r ms         cold reader with this pause\n"
    "    -t readers    so many cold readers (1)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    fsio, latency, docs/experiments.md\n";

#define PIECE       4096
#define BLOCK       65536
#define SAMPLES     20000 /* the most for each thread */
#define THREADS     16
#define PAUSE_OTHER 100 /* ms */

struct work {
    const char *kind;
    void (*once)(struct work *w); /* does one piece of the work; may set `over` */
    const char *dir;
    const char *file;
    int flags; /* of open(2) */
    int pause_ms;
    int number, of; /* the number of this reader, and how many there are */
    int fd;
    bool over;
    unsigned place;
    unsigned done, places;
    int count;
    double took[SAMPLES];
    char buf[BLOCK];
};

static atomic_bool stop;
static struct work works[THREADS];
static int work_count;
static int mib = 48;
static const char *directory;

static int open_in(const char *dir, const char *file, int flags)
{
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s/%s", dir, file);
    if ((fd = open(path, flags, 0644)) < 0)
        bench_die("%s: %s", path, strerror(errno));
    return fd;
}

static void must(bool ok, const char *what)
{
    if (!ok)
        bench_die("%s: %s", what, strerror(errno));
}

/*
 * Reads the next place.  The order visits each of the places, a power of two, once (a linear congruence of full
 * period).
 */
static void read_cold(struct work *w)
{
    do {
        w->place = (w->place * 1664525u + 1013904223u) & (w->places - 1);
        w->done++;
    } while ((int)(w->done % (unsigned)w->of) != w->number);
    must(pread(w->fd, w->buf, PIECE, (off_t)w->place * PIECE) == PIECE, "cold");
    w->over = w->done + (unsigned)w->of > w->places;
}

static void append(struct work *w)
{
    must(write(w->fd, w->buf, PIECE) == PIECE && fsync(w->fd) == 0, "append");
}

static void read_on(struct work *w)
{
    ssize_t n = read(w->fd, w->buf, PIECE);

    must(n >= 0, "cold");
    w->over = n == 0;
}

static void write_other(struct work *w)
{
    for (int i = 0; i < 16; i++)
        must(pwrite(w->fd, w->buf, BLOCK, (off_t)i * BLOCK) == BLOCK, "other");
    must(fsync(w->fd) == 0, "other");
}

static void *run_work(void *arg)
{
    struct work *w = arg;
    struct timespec pause = {w->pause_ms / 1000, w->pause_ms % 1000 * 1000000l};

    while (!stop && !w->over && w->count < SAMPLES) {
        double begin = bench_now();

        w->once(w);
        w->took[w->count++] = bench_now() - begin;
        if (w->pause_ms > 0)
            nanosleep(&pause, NULL);
    }
    return NULL;
}

static struct work *add_work(const char *kind, void (*once)(struct work *), const char *file,
                             int flags, int pause_ms)
{
    struct work *w = &works[work_count++];

    *w = (struct work){.kind = kind,
                       .once = once,
                       .dir = directory,
                       .file = file,
                       .flags = flags,
                       .pause_ms = pause_ms,
                       .of = 1,
                       .place = 7};
    return w;
}

/* when all threads began; seconds until the first stream ended, 0: none has */
static double begun, first_s;
static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;

static void *stream(void *arg)
{
    static const char block[BLOCK];
    char name[32];
    int fd;

    snprintf(name, sizeof name, "stream%ld", (long)arg);
    fd = open_in(directory, name, O_WRONLY | O_CREAT);
    for (int i = 0; i < mib * 16; i++)
        must(write(fd, block, BLOCK) == BLOCK, "stream");
    must(fsync(fd) == 0, "stream");
    pthread_mutex_lock(&first_lock);
    if (first_s == 0)
        first_s = bench_now() - begun;
    pthread_mutex_unlock(&first_lock);
    close(fd);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Prints what all threads of a kind recorded. */
static void show(const char *kind)
{
    static double all[THREADS * SAMPLES];
    int n = 0;

    for (int i = 0; i < work_count; i++)
        if (strcmp(works[i].kind, kind) == 0) {
            memcpy(all + n, works[i].took, (size_t)works[i].count * sizeof *all);
            n += works[i].count;
        }
    if (n == 0)
        return;
    qsort(all, (size_t)n, sizeof *all, by_size);
    printf(" %s_n=%d %s_p50_ms=%.2f %s_p95_ms=%.2f %s_max_ms=%.2f", kind, n, kind, all[n / 2] * 1e3,
           kind, all[n * 95 / 100] * 1e3, kind, all[n - 1] * 1e3);
}

int main(int argc, char **argv)
{
    int opt, streams = 1, read_ms = -1, readers = 1, append_ms = -1;
    bool sequential = false;
    const char *other = NULL;
    pthread_t threads[THREADS], writers[THREADS];
    double took;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "m:n:r:t:a:qo:")) != -1) {
        switch (opt) {
        case 'm':
            mib = bench_int(optarg, 1, 4096, "-m");
            break;
        case 'n':
            streams = bench_int(optarg, 1, THREADS, "-n");
            break;
        case 'r':
            read_ms = bench_int(optarg, 0, 10000, "-r");
            break;
        case 't':
            readers = bench_int(optarg, 1, 8, "-t");
            break;
        case 'a':
            append_ms = bench_int(optarg, 0, 10000, "-a");
            break;
        case 'q':
            sequential = true;
            break;
        case 'o':
            other = optarg;
            break;
        default:
            optind = argc;
        }
    }
    if (optind != argc - 1) {
        hr_usage(help);
        return 2;
    }
    directory = argv[optind];
    for (int i = 0; read_ms >= 0 && i < readers; i++) {
        struct work *w = add_work("read", read_cold, "cold", O_RDONLY, read_ms);

        w->number = i;
        w->of = readers;
    }
    if (append_ms >= 0)
        add_work("append", append, "log", O_RDWR | O_CREAT | O_APPEND, append_ms);
    if (sequential)
        add_work("seq", read_on, "cold", O_RDONLY, 0);
    if (other != NULL)
        add_work("other", write_other, "other", O_RDWR | O_CREAT, PAUSE_OTHER)->dir = other;
    for (int i = 0; i < work_count; i++) {
        struct stat st;

        works[i].fd = open_in(works[i].dir, works[i].file, works[i].flags);
        must(fstat(works[i].fd, &st) == 0, works[i].file);
        for (works[i].places = 1; (off_t)works[i].places * 2 * PIECE <= st.st_size;)
            works[i].places *= 2;
    }

    begun = bench_now();
    for (int i = 0; i < work_count; i++)
        must(pthread_create(&threads[i], NULL, run_work, &works[i]) == 0, "thread");
    for (long i = 0; i < streams; i++)
        must(pthread_create(&writers[i], NULL, stream, (void *)i) == 0, "thread");
    for (int i = 0; i < streams; i++)
        pthread_join(writers[i], NULL);
    took = bench_now() - begun;
    stop = true;
    for (int i = 0; i < work_count; i++)
        pthread_join(threads[i], NULL);

    printf("result: bench=beside stream_s=%.3f first_share=%.2f", took, took / first_s / streams);
    show("read");
    show("append");
    show("other");
    for (int i = 0; i < work_count; i++)
        if (strcmp(works[i].kind, "seq") == 0) {
            double busy = 0;

            for (int k = 0; k < works[i].count; k++)
                busy += works[i].took[k];
            printf(" seq_n=%d seq_kib_s=%.1f", works[i].count,
                   busy > 0 ? works[i].count * PIECE / 1024 / busy : 0);
        }
    printf("\n");
    return 0;
}
